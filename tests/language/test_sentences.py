"""Sentences and what they change: places, parts, names, corrections, choices, and what is refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from iglu_marl.core.grid import blocks_to_grid, cells_of, color_at, color_id
from iglu_marl.language import Context, Failure
from iglu_marl.language.grammar.spelling import singular
from iglu_marl.language.talk.repair import is_remark, understand

EMPTY = blocks_to_grid([])


def built(*texts: str) -> dict[tuple[int, int, int], int]:
    """The blocks after these texts, each of which has to be followed."""
    grid, context = EMPTY, Context(yaw_deg=0.0)
    for text in texts:
        heard = understand(text, grid, context)
        assert not isinstance(heard.found, Failure), (text, heard.found)
        context = context.after(heard.instruction, grid, heard.found[0])
        grid = heard.found[0].grid
    return {(x, y, z): color_at(grid, (x, y, z)) for x, y, z in cells_of(grid != 0).tolist()}


def column(x: int, z: int, color: str, *levels: int) -> dict[tuple[int, int, int], int]:
    return {(x, level - 2, z): color_id(color) for level in levels}


@pytest.mark.parametrize(
    ("texts", "blocks"),
    [
        # pieces in any order
        (["one red column 5 high dead center"], column(0, 0, "red", 1, 2, 3, 4, 5)),
        # properties with their noun before them, also behind the request; several things described one by one
        (["A tower in the centre, colour red, height of 3."], column(0, 0, "red", 1, 2, 3)),
        (["Two towers: blue, 2 high, in the northwest and southeast corners."],
         column(-5, -5, "blue", 1, 2) | column(5, 5, "blue", 1, 2)),
        # sizes, by whatever words, and numbers of blocks that they imply
        (["Three red blocks, three high, in the centre."], column(0, 0, "red", 1, 2, 3)),
        (["nine yellow blocks, 3x3, in the centre, one layer"],
         {(x, -1, z): color_id("yellow") for x in (-1, 0, 1) for z in (-1, 0, 1)}),
        # places of the map, of which each gets one; the second part of the same thing; both sides of one thing
        (["a blue block in the centre", "four green blocks diagonally around it, so it looks like a flower"],
         column(0, 0, "blue", 1) | {(x, -1, z): color_id("green") for x in (-1, 1) for z in (-1, 1)}),
        # a comma ends a noun phrase; a name is known behind its place; the same again behind a count
        (["a red block in the centre, that's the cargo. A blue block two squares west of the cargo."],
         column(0, 0, "red", 1) | column(-2, 0, "blue", 1)),
        # corners and ends of what was built last, open corners, the peak, two steps from the centre
        (["a tower of 3 blue in the centre", "a green block on the peak"],
         column(0, 0, "blue", 1, 2, 3) | column(0, 0, "green", 4)),
        (["a green block on the floor, two rows north of the centre and one column west of it"],
         column(-1, -2, "green", 1)),
    ],
)  # fmt: skip
def test_sentences_are_followed(texts: list[str], blocks: dict[tuple[int, int, int], int]) -> None:
    assert built(*texts) == blocks


@pytest.mark.parametrize(
    "text",
    [
        "a red lamp in the center, and wobble the frobnitz",
        "put a yellow lamp on the roof of the castle",  # neither was named
        "one red block in the centre, without the blue one",
        "a red lamp in the centre, a blue one high",
        "a red block on the roof in the north-west corner and another in the south-east corner",
        "Put a red block in the centre, it can't float",
        "Put a red block in the centre, they must touch",
        "Put a red block in the centre, beside the bench",
        "Put a red block in the centre, it can have a blue one",
        "Remove the lid, put a red block in the centre",  # what comes first is no announcement
        "The tower is too plain. Put a red block on the one in the corner.",
        "You placed a red block in the centre!",
        "They built a red tower in the centre.",
    ],
)
def test_a_part_that_is_not_read_is_no_guess(text: str) -> None:
    heard = understand(text, EMPTY, Context())
    assert isinstance(heard.found, Failure), heard


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("Great job so far!", True),
        ("hi there", True),
        ("no", False),
        ("Yes, from west to east.", False),
        ("castle gate", False),
        ("make a bench", False),
        ("Setze einen roten Block in die Mitte", False),
        ("We are nearly finished.", True),
        ("the other one", False),
        ("put it yonder", False),
    ],
)
def test_remarks_and_requests_are_distinguished(text: str, remark: bool) -> None:
    assert is_remark(text, Context()) == remark


@pytest.mark.parametrize(
    ("word", "one"),
    [("legs", "leg"), ("feet", "foot"), ("benches", "bench"), ("berries", "berry"), ("glass", "glass")],
)
def test_nouns_are_known_in_both_numbers(word: str, one: str) -> None:
    assert singular(word) == (one, word != one)


def cells(text: str) -> dict[tuple[int, int, int], int]:
    """The blocks of "red 0,1,0 2..4,1,0; blue ..." (x, level, z); "-": none is left."""
    found = {}
    for part in filter(None, text.split(";")):
        color, *spots = part.split()
        for spot in spots:
            ends = [(axis.split("..") * 2)[:2] for axis in spot.split(",")]
            for x, level, z in product(*(range(int(low), int(high) + 1) for low, high in ends)):
                found[x, level - 2, z] = 0 if color == "-" else color_id(color)
    return found


def changed(world: str, text: str) -> dict[tuple[int, int, int], int] | None:
    """The cells that a text changes in a world, with their new colour ids; None if it is not followed."""
    grid = blocks_to_grid([(*cell, color) for cell, color in cells(world).items()])
    heard = understand(text, grid, Context(yaw_deg=0.0))
    if isinstance(heard.found, Failure):
        return None
    after = heard.found[0].grid
    return {(x, y, z): color_at(after, (x, y, z)) for x, y, z in cells_of(after != grid).tolist()}


ROW, PLATE = "blue -2..2,1,0", "blue -2..2,1,-1..1"


@pytest.mark.parametrize(
    ("world", "text", "blocks"),
    [
        # in the middle of a longer line
        (ROW, "put 3 purple blocks on the row, centred", "purple -1..1,2,0"),
        (ROW, "put 3 purple blocks on the row", None),
        (ROW, "put 2 purple blocks on the row, centred", None),
        (PLATE, "3 red blocks on top of the south edge of the rectangle, centred", "red -1..1,2,1"),
        ("", "a yellow row of 7 along the south edge, centered", "yellow -3..3,1,5"),
        ("", "along the west edge put 4 red blocks, centred", None),
    ],
)  # fmt: skip
def test_a_placement_changes_these_cells(world: str, text: str, blocks: str | None) -> None:
    assert changed(world, text) == (None if blocks is None else cells(blocks))


TOWER, TWO = "blue 0,1..3,0", "blue -3,1..3,0; yellow 3,1..2,0"
BEAM, ARMS = "purple -2..2,4,0", "blue 1..3,1,0 -3..-1,1,0; red 0,1,0"
ROUND = "green 1,{0},0 -1,{0},0 0,{0},1 0,{0},-1"
TOPPED = "blue 0,1..3,0 3,1..3,0; red 0,4,0"
SPREAD = "blue -4,1,0 0,1,0 2,1,0; red 4,1,0"
WALL = "blue -1..1,1..3,0"


@pytest.mark.parametrize(
    ("world", "text", "blocks"),
    [
        # shares: the number must agree
        (TOWER, "Around the top block of the tower, place three green blocks, one against each of its four sides.",
         None),
        (TOWER, "three yellow blocks, one on the north side of the tower and one on its south side", None),
        ("", "three purple blocks, one in each corner", None),
        # a colour that something has
        (TWO, "put a block in the centre, same colour as the blue tower", "blue 0,1,0"),
        (TWO, "put a red block in the centre, same colour as the yellow tower", None),
        # the place before the verb
        (BEAM, "three orange blocks dangle from the west end of the row", "orange -2,1..3,0"),
        (BEAM, "four orange blocks dangle from the west end of the row", None),
        # relative clauses
        (TOPPED, "put a yellow block on the tower that has blue on top", None),
        (TWO, "put a red block on the tower that's further east", "red 3,3,0"),
        ("blue -2,1,0 2,1,0; red 0,1,0", "remove the blue block which is furthest from the red block", None),
        # nothing is near to or far from itself
        (SPREAD, "Remove the block nearest to the red block.", "- 2,1,0"),
        ("blue 0,1..2,0; red 1,1,0", "Remove the block closest to the red block.", "- 0,1,0"),
        ("red 4,1,0", "Remove the block nearest to the red block.", None),
        (ARMS, "make the blue row pointing west yellow", "yellow -3..-1,1,0"),
        # sizes and levels by comparison
        ("blue -1..1,1,0", "a yellow wall on top of the row, as wide as the row and two blocks high",
         "yellow -1..1,2..3,0"),
        (TWO, "a red tower in the centre, it must be one less high than the blue tower", "red 0,1..2,0"),
        (TWO, "a red block east of the blue tower at the same height as the yellow tower", None),
        # parts
        (TWO, "put two red blocks on the east side of the blue tower, against its top two blocks",
         "red -2,2..3,0"),
        (WALL, "make the bottom two rows of the wall green", "green -1..1,1..2,0"),
        (ARMS, "put a green block on the near end of each blue row", None),
    ],
)  # fmt: skip
def test_comparisons_and_shares(world: str, text: str, blocks: str | None) -> None:
    assert changed(world, text) == (None if blocks is None else cells(blocks))


HULL, SHIP = "blue -3..3,1,0", "blue -3..3,1,0; orange 0,2..4,0"
LEGS = "red -1,1,-1 2,1,-1 -1,1,1 2,1,1"
DOG = f"{LEGS}; orange -1..2,2,-1..1"
LETTER = "yellow 0,1..4,0 -1..1,5,0"
STAIRS = "green 0,1,0 1,1..2,0 2,1..3,0"
CROSS = "purple -2..2,1,0 0,1,-2..-1 0,1,1..2"
WALL = "red -2..2,1..3,0"
TOWERS = "red -3,1..2,-3 3,1..2,-3 -3,1..2,3 3,1..2,3"
MIXED = "blue -4,1..2,0; red 4,1,0; yellow 4,2,0; green 4,3,0"


@pytest.mark.parametrize(
    ("world", "text", "blocks"),
    [
        # a noun that nobody has used before: the only thing, or what makes no difference
        (SHIP, "remove the mast", None),
        (SHIP, "make the snake green", None),
        (LEGS, "put a yellow block on the paw", None),
        (LETTER, "remove the handle", None),
        # other unknown words are refused
        (HULL, "put a green block besidewise the boat", None),
        (HULL, "frobnicate the boat", None),
        ("", "put a red block on top of the trunk", None),
        # layers, rows, columns and blocks by their numbers
        (WALL, "In the wall, replace the block in row 3 (counted from the ground), column 2 (from the west) with blue.",
         "blue -1,3,0"),
        (WALL, "In the middle row change the second and the fourth block to yellow.", "yellow -1,2,0 1,2,0"),
        (WALL, "change layers 1 and 3 of the wall to green", "green -2..2,1,0 -2..2,3,0"),
        (WALL, "make the wall blue except the middle row", "blue -2..2,1,0 -2..2,3,0"),
        (WALL, "remove the bottom block in the middle of the wall", "- 0,1,0"),
        (WALL, "remove the fourth layer", None),
        (HULL, "remove the second and sixth block of the row", "- -2,1,0 2,1,0"),
        (HULL, "remove the second block of the row", None),  # from which end
        (HULL, "remove every second block of the row, and begin with the second from the west", "- -2,1,0 0,1,0 2,1,0"),
        (HULL, "remove every second block of the row", None),
        (HULL, "make the last two blocks at the east end red", "red 2..3,1,0"),
        (HULL, "the last block at the east end is the head of the snake, make it red", "red 3,1,0"),
        (TOWERS, "remove completely the two northern ones", "- -3,1..2,-3 3,1..2,-3"),
        # whole things and their parts
        (HULL, "one on top of the middle block, any colour except red", "blue 0,2,0"),
        (CROSS, "make the one in the middle red", "red 0,1,0"),
        (TOWER, "put a red block west of the second block up", "red -1,2,0"),
        (HULL, "make the north end of the row red", None),
        # what the second of two parts does not repeat
        (TOWER, "a red block touching the tower on its north side, and one on the south side", "red 0,1,-1 0,1,1"),
        (TOWER, "one green block east and one green block west of the second block up", "green 1,2,0 -1,2,0"),
        ("", "a row of four going west from the centre: red, blue, green", None),
    ],
)  # fmt: skip
def test_names_parts_and_what_is_not_repeated(world: str, text: str, blocks: str | None) -> None:
    assert changed(world, text) == (None if blocks is None else cells(blocks))


LOW, ALTERNATE = "red 0,1..3,0; green 3,1..2,0; yellow -3,1,0", "red -2,1,0 0,1,0; blue -1,1,0 1,1,0"


@pytest.mark.parametrize(
    ("world", "text", "blocks"),
    [
        # take and put, move: the place by several pieces
        (LOW, "Take the top 2 blocks off the red tower, then stack them on the green tower.",
         "- 0,2..3,0; red 3,3..4,0"),
        (LOW, "Move the yellow block to the other side of the red tower", None),  # the green tower is there
        (LOW, "Swap the positions of the red tower and the green tower.", "green 0,1..2,0; - 0,3,0; red 3,1..3,0"),
        # copies
        (LOW, "Copy the green tower, offset 2 cells south, in blue.", "blue 3,1..2,2"),
        (TOWER, "another tower just like it, to the east of it, with two empty spaces in between", "blue 3,1..3,0"),
        (TOWER, "Make two more towers like this one, in a line to the east. Leave one empty space between them.",
         "blue 2,1..3,0 4,1..3,0"),
        (TOWER, "same thing again on the north side, but in red", "red 0,1..3,-1"),
        # growth
        (ALTERNATE, "Continue the row to the east with 3 blocks, same pattern", "red 2,1,0 4,1,0; blue 3,1,0"),
        (ALTERNATE, "keep going with the pattern, 2 more blocks to the west", "red -4,1,0; blue -3,1,0"),
        ("red 0,1,0 1,1,1", "Continue the diagonal 2 blocks further to the south-east, but with green",
         "green 2,1,2 3,1,3"),
        ("red 0,1..2,0; blue 0,3,0", "continue the tower by 2 up with the same pattern", None),
        (ROW, "put two more layers on top, same colour", "blue -2..2,2..3,0"),
        (ROW, "put a second layer on the row, all around, but in yellow", "yellow -2..2,2,0"),
        # lines from place to place; halfway
        ("", "Lay a red path from the west edge to the east edge, straight through the middle.", "red -5..5,1,0"),
        ("blue -2,1,0 2,1,0", "Exactly halfway between the two blue blocks, build a red tower of height 2.",
         "red 0,1..2,0"),
        # the green one that was there before, or the new one?
        ("red -2,1,0; green 2,1,0", "put a green block on the red one and a red block on the green one", None),
    ],
)  # fmt: skip
def test_verbs_with_places_and_copies(world: str, text: str, blocks: str | None) -> None:
    assert changed(world, text) == (None if blocks is None else cells(blocks))


RED_BLOCK = ("put a red block in the centre", "put a red block 2 east of it")


@pytest.mark.parametrize(
    ("before", "text", "blocks"),
    [
        (RED_BLOCK, "no, yellow", column(0, 0, "red", 1) | column(2, 0, "yellow", 1)),
        (RED_BLOCK, "one higher", column(0, 0, "red", 1) | column(2, 0, "red", 2)),
        (RED_BLOCK, "on the other side", column(0, 0, "red", 1) | column(-2, 0, "red", 1)),
        (RED_BLOCK, "now the same on the other side",
         column(0, 0, "red", 1) | column(2, 0, "red", 1) | column(-2, 0, "red", 1)),
        (("put a red block in the centre and a red block 3 east of it", "put a green block on the left one"),
         "no, the other one", column(0, 0, "red", 1) | column(3, 0, "red", 1) | column(3, 0, "green", 2)),
    ],
)  # fmt: skip
def test_a_correction_changes_the_last_request(
    before: tuple[str, ...], text: str, blocks: dict[tuple[int, int, int], int]
) -> None:
    assert built(*before, text) == blocks


def test_a_total_that_is_wrong_is_said() -> None:
    heard = understand("a row of 3 green in the centre going east. That makes 4.", EMPTY, Context())
    assert isinstance(heard.found, Failure)


@pytest.mark.parametrize(
    "text",
    [
        "put a red block halfway between 2 steps left and the north east corner",  # no place of the map
        "replace it with a border around the red block",  # a border is no line of blocks
    ],
)
def test_words_that_do_not_fit_together_are_refused(text: str) -> None:
    heard = understand(text, np.zeros((9, 11, 11), np.int8))
    assert heard.instruction is None
    assert isinstance(heard.found, Failure)


TWO_TOWERS = [(x, y, 0, color_id(color)) for x, color in ((-3, "green"), (3, "blue")) for y in (-1, 0, 1)]
TWO_REDS = [(0, -1, 0, color_id("red")), (3, -1, 0, color_id("red"))]


def changes(text: str, blocks: list[tuple[int, int, int, int]]) -> set[tuple[int, int, int]] | None:
    """The cells that the first world of a text changes; None if it is refused or asked about."""
    grid = blocks_to_grid(blocks)
    heard = understand(text, grid)
    if isinstance(heard.found, Failure):
        return None
    return {(x, y, z) for x, y, z in cells_of(heard.found[0].grid != grid).tolist()}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("put a yellow block on top of either tower, I don't mind which", [{(-3, 2, 0)}, {(3, 2, 0)}]),
        ("stick a red one on one of the towers", [{(-3, 2, 0)}, {(3, 2, 0)}]),
        ("Doesn't matter which one, just put a red block on top of the tower.", [{(-3, 2, 0)}, {(3, 2, 0)}]),
        ("a red block in whichever corner you prefer", [{(x, -1, z)} for x in (-5, 5) for z in (-5, 5)]),
        ("a row of 3 red blocks in the middle, direction doesn't matter",
         [{(x, -1, 0) for x in (-1, 0, 1)}, {(0, -1, z) for z in (-1, 0, 1)}]),
        ("put a red block on top of the tower", []),
        ("put a red block in a corner", []),
        ("put a red block on the tower, any colour is fine", []),
        ("one of the towers is wrong, remove it", []),
    ],
)  # fmt: skip
def test_the_builder_chooses_if_the_architect_lets_it(
    text: str, options: list[set[tuple[int, int, int]]]
) -> None:
    found = changes(text, TWO_TOWERS)
    assert found in options if options else found is None


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Remove the green tower. The blue one stays.", True),
        ("Remove both towers. The blue one stays.", False),
        ("Paint the green tower red, keep the other one", True),
        ("remove the green tower and keep the other two", False),
        ("put a red block on the blue tower, so that it's 5 tall", False),
        ("remove the two top blocks of the blue tower. that leaves one", True),
        ("remove the two top blocks of the blue tower. that leaves two", False),
        ("put a red block in the middle. nothing under it", False),
        ("paint the green tower red, keep it green", False),
        ("move the green tower 2 north, keep it as it is otherwise", True),
        ("copy the green tower 2 north and leave the original where it is", True),
        ("move the green tower 2 north and leave the original where it is", False),
    ],
)
def test_what_is_said_of_the_result_must_hold(text: str, holds: bool) -> None:
    below = [(0, y, 0, 1) for y in (-1,) if text.startswith("put a red block in the middle")]
    assert bool(changes(text, TWO_TOWERS + below)) == holds


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("put a red block halfway between the two", {(0, y, 0) for y in (-1, 0, 1)}),
        ("top off the green tower with a yelow block", {(-3, 2, 0)}),
    ],
)
def test_places_above_and_between_things(text: str, cells: set[tuple[int, int, int]]) -> None:
    found = changes(text, TWO_TOWERS)
    assert found is not None
    assert found <= cells
