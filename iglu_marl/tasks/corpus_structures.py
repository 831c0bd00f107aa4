"""The structures of the Minecraft Dialogue Corpus, C1 to C157, as the IGLU documentation lists them."""

from __future__ import annotations

from dataclasses import dataclass

# name, number of blocks, number of colors; C38 has no numbers
_LISTING = """
bell 29 5, black-hole 20 2, blue-original-L 3 1, flower_new 17 4, overlapping-chain-links 20 2,
rectangle-chain 40 4, scissors 23 2, table2 12 2, asterisk 33 2, concentric_semicircles 21 3,
broken_heart 21 2, diagonal-Ls 18 6, eye 29 3, diagonal-zigzag 16 3, double_stairs 36 4, bloody-sword 24 4,
orange-flat-original-L 3 1, overlapping-reticles 12 3, slide_with_arch 48 3, rainbow-lasso 9 6,
spectacles 29 2, smiley 6 5, suspension_bridge 68 4, cup 46 4, music-notes 18 2,
rainbow-diagonal-stack 15 6, funny-Ts 25 4, duck 21 2, tetris 20 5, 3d-triangle 20 6, hot 20 3,
bigger-original-L 5 1, connected_diamonds_with_missing_blocks 14 2, complex_five 13 3,
strange-triangles 20 6, street_lamps 31 3, embedded_fives 56 6, l-shape, three-squares 24 3,
cross-stack 9 6, multiple_concepts 19 3, rubiks 18 4, girl_with_frock 29 3, hollow_diseased_rectangle 19 4,
u-3 14 2, wtf 11 6, staircase 18 3, umbrella 37 4, letter-cube 36 4, 3d-x_s 15 3,
interlocking-magnets 16 4, hut_and_trees 31 3, funny-cube 20 4, 3d-diagonals 10 3, chains 19 3,
color-wheel 25 4, four-three 17 2, ducks_in_pool 24 2, parallel-bars 20 4, diagonal-2 20 6, chair2 19 2,
chair3 32 3, question 6 1, torch 17 2, superhero 15 3, connected_triangles 30 3, storm-cloud 25 2,
christmas-tree 25 6, pickup_truck 38 5, random_snake 29 2, connected_rows_with_missing_blocks 15 4,
cat 37 4, x_equals_y 18 3, random_objects 14 4, creative-five 11 6, double_tripod 16 5, 3d-maze 40 5,
random_objects_2 24 3, connected_crosses 25 4, lunging-man 18 4, cube-x 17 3, eiffel-tower 40 4,
pyramid-table 33 4, trident 13 2, upvote 9 2, butterfly 24 3, sickles 10 1, sun_and_birds 19 2,
m-and-m 23 2, wind-farm 30 4, castle 41 5, cherries 16 2, L-back-to-back 8 2, disappearing-tunnel 35 6,
chimney 26 3, four-corners 16 4, omega-u-corner 14 2, insects 24 6, keys 35 2, wannabe_olympic_rings 42 4,
connected_tunnels 31 3, man_on_broom 16 4, rotating_chair 19 1, clothesline 36 2, lol_ethylene 34 3,
minimal_tree 18 2, colorful_alien 20 3, illinois-i 29 2, waving-flag 11 2, color-loop 16 4,
color-cube 16 4, color-spiral 33 5, numbers 43 4, e3 18 2, hollow_stools 23 4,
diagonal_arch_and_triangle 17 4, pyramid_with_horns 20 4, random_objects_3 12 2, funny_chair 38 3,
h_1_plus 14 2, 2d_giraffe 19 3, funny_bird 25 4, footballer 26 3, connected_triangles_2 29 3,
fail_hourglass 22 3, teapot 20 2, backpack 26 3, weird_chain 16 4, rhombuses_with_ring 34 3,
differently_oriented_squares 24 2, table_with_objects 35 6, diagonal_slab_with_pattern 20 2,
adjacent_gates 28 3, parachute 28 6, bent-arrow 11 1, waving-man 17 4, no-u-turn 39 2, color-Us 42 6,
minimalistic-mouse 16 3, weird-rows 28 4, dancing-banana 19 4, potted-weeds 28 3, drooping-flower 21 5,
curly-R 20 3, pulse 19 1, boxy-to-diagonal 17 5, pi 26 4, headphones 40 4, drink-with-umbrella 37 4,
checkerboard 16 6, hanger 16 3, ballerina 24 3, cursive-ok 27 2, gateway-to-stairs 52 6,
sickles-difficult 24 2, sun_and_birds-difficult 19 2, butterfly-difficult 24 3
"""


@dataclass(frozen=True)
class Listed:
    """An entry of the list: name, and numbers of blocks and colors (None if not listed).

    The numbers are those of the IGLU documentation. The corpus differs for some structures.
    """

    name: str
    blocks: int | None = None
    colors: int | None = None

    def __str__(self) -> str:
        if self.blocks is None:
            return self.name
        return f"{self.name} ({self.blocks} blocks, {self.colors} colors)"


def _entry(text: str) -> Listed:
    name, *counts = text.split()
    return Listed(name, *(int(count) for count in counts))


LISTED = {f"C{number}": _entry(text) for number, text in enumerate(_LISTING.split(","), start=1)}
