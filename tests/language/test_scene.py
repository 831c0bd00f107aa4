"""The scene graph: which things there are, and how they stand to each other, on worlds made by hand and by chance."""

from __future__ import annotations

import numpy as np
import pytest
import reference_evaluator as witness
from hypothesis import given, settings
from hypothesis import strategies as st

from iglu_marl import GridError, LanguageError, Worlds
from iglu_marl.core.grid import blocks_to_grid, color_id
from iglu_marl.language.scene.graph import Scene, quarter_of
from iglu_marl.language.scene.program import RELATIONS

R, B, G = (color_id(name) for name in ("red", "blue", "green"))


def scene(*blocks: tuple[int, int, int, int], yaw: float = 0.0) -> Scene:
    return Scene(blocks_to_grid(blocks), yaw)


def names(things: object) -> list[str]:
    return sorted(str(thing) for thing in things)  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------------ things


def test_an_empty_world_holds_nothing() -> None:
    assert len(scene()) == 0
    assert scene().things == ()
    assert repr(scene()) == "Scene(empty)"


def test_one_block_is_a_block_and_nothing_else() -> None:
    (block,) = scene((1, -1, 2, R)).things
    assert (block.shape, block.color, block.size, block.whole) == ("block", "red", 1, True)
    assert (block.height, block.level, block.layers) == (1, 1, 1)
    assert block.low == block.high == (1, -1, 2)
    assert block.cells == ((1, -1, 2),)


def test_rows_and_towers_are_as_long_as_they_can_be_and_of_one_colour() -> None:
    world = scene(*[(x, -1, 0, R) for x in (-1, 0, 1)], (2, -1, 0, B), (0, 0, 0, B), (0, 1, 0, B))
    assert names(world.find("row", whole=True)) == ["mixed row of 4 blocks at (-1, -1, 0)"]
    assert names(world.find("row", whole=False)) == ["red row of 3 blocks at (-1, -1, 0)"]
    assert names(world.find("tower", whole=False)) == ["blue tower of 2 blocks at (0, 0, 0)"]
    (tower,) = world.find("tower", color="blue")
    assert (tower.level, tower.height, tower.layers) == (2, 3, 2)
    assert world.find("row", color="red")[0].cells == ((-1, -1, 0), (0, -1, 0), (1, -1, 0))


def test_shapes_other_than_lines_are_all_of_a_group() -> None:
    cube = [(x, y, z, B) for x in (0, 1) for y in (-1, 0) for z in (0, 1)]
    assert len(scene(*cube).find("group")) == 1
    assert scene(*cube).find("square") == ()


DRAWN = {
    "square": ["xx", "xx"],
    "rectangle": ["xxx", "xxx"],
    "l": ["x..", "x..", "xxx"],
    "t": ["xxx", ".x."],
    "plus": [".x.", "xxx", ".x."],
    "u": ["x.x", "xxx"],
    "ring": ["xxxx", "x..x", "xxxx"],
    "diagonal": ["x..", ".x.", "..x"],
    "staircase": ["x..", "xx.", "xxx"],
    "wall": ["xxx", "xxx"],
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("upright", [False, True])
def test_shapes_of_one_colour_and_of_several(name: str, upright: bool) -> None:
    drawn = [
        (i, j) for j, line in enumerate(reversed(DRAWN[name])) for i, mark in enumerate(line) if mark == "x"
    ]
    cells = [(i, j - 1, 0) if upright else (i, -1, j) for i, j in drawn]
    expected = 1 if upright or name not in ("wall", "staircase") else 0
    red = scene(*[(*cell, R) for cell in cells])
    assert [thing.color for thing in red.find(name)] == ["red"] * expected
    assert red.find(name, whole=True) == red.find(name)
    mixed = scene((*cells[0], B), *[(*cell, R) for cell in cells[1:]])
    assert [t.color for t in mixed.find(name, whole=True) if t.size == len(cells)] == ["mixed"] * expected
    one_more = scene(*[(*cell, R) for cell in cells], (cells[-1][0], cells[-1][1] + 1, cells[-1][2] + 1, R))
    touching = scene(*[(*cell, R) for cell in cells], (cells[-1][0], cells[-1][1], cells[-1][2] + 1, R))
    if name == "diagonal":
        assert one_more.find(name, size=len(cells)) == ()
    assert touching.find(name, size=len(cells)) == ()


def test_groups_hang_together_by_faces_whatever_their_colours() -> None:
    world = scene((0, -1, 0, R), (1, -1, 0, B), (2, -1, 1, B), (4, -1, 4, G), (4, 0, 4, G), (0, 5, 0, R))
    assert names(world.find("group")) == [
        "green group of 2 blocks at (4, -1, 4)",
        "mixed group of 2 blocks at (0, -1, 0)",
    ]
    parted = scene((0, -1, 0, R), (1, -1, 0, B), (2, -1, 0, B))
    assert names(parted.find("group", whole=False)) == ["blue group of 2 blocks at (1, -1, 0)"]
    assert world.find("group")[0].cells == ((0, -1, 0), (1, -1, 0))


def test_a_full_zone_is_no_problem() -> None:
    full = Scene(np.full((9, 11, 11), R, np.int8))
    assert {name: len(found) for name, found in full.by_shape.items() if found} == {
        "block": 1089,
        "row": 198,
        "tower": 121,
        "group": 1,
    }
    checkered = (np.indices((9, 11, 11)).sum(axis=0) % 2 + 1).astype(np.int8)
    assert len(Scene(checkered)) == 1089 + 198 + 121 + 1


# --------------------------------------------------------------------------------------------------- relations


def test_the_builders_frame_turns_with_it() -> None:
    blocks = ((0, -1, 0, R), (0, -1, -3, G))  # green is north of red
    frames = {0: "behind", 90: "left", 180: "front", 270: "right"}
    for yaw, relation in frames.items():
        world = scene(*blocks, yaw=yaw)
        green = world.find("block", color="green")[0]
        assert [
            r for r in RELATIONS[4:8] if green in world.related(world.find("block", color="red")[0], r)
        ] == [relation]
    quarters = {0: 0, 44: 0, 46: 1, 134: 1, 136: 2, 315: 0, 316: 0, 360: 0, -90: 3}
    assert {yaw: quarter_of(yaw) for yaw in quarters} == quarters


def test_unknown_names_are_refused() -> None:
    world = scene((0, -1, 0, R))
    with pytest.raises(LanguageError, match="unknown relation 'near'"):
        world.related(world.things[0], "near")
    for wrong in ({"shape": "pyramid"}, {"color": "pink"}, {"weight": 3}):
        with pytest.raises(LanguageError, match="find got"):
            world.find(**wrong)


@pytest.mark.parametrize(
    "grid", [np.zeros((3, 3)), np.full((9, 11, 11), 7, np.int8), np.full((9, 11, 11), -1, np.int8), "x"]
)
def test_wrong_grids_are_refused(grid: object) -> None:
    with pytest.raises(GridError):
        Scene(grid)  # type: ignore[arg-type]


def test_a_wrong_yaw_is_refused() -> None:
    for yaw in (float("nan"), float("inf"), "north"):
        with pytest.raises(GridError, match="yaw_deg"):
            Scene(np.zeros((9, 11, 11), np.int8), yaw)  # type: ignore[arg-type]


def test_read_only_and_strided_grids_are_welcome() -> None:
    grid = blocks_to_grid([(0, -1, 0, R)])
    worlds = Worlds(3)
    worlds.grid[1] = grid
    assert not grid.flags.writeable
    for same in (worlds.grid[1], grid.astype(float)):
        assert names(Scene(same).things) == names(Scene(grid).things)


# ------------------------------------------------------------------------------------------- against the witness


def _worlds() -> st.SearchStrategy[np.ndarray]:  # small and crowded, so that things touch and merge
    cells = st.tuples(st.integers(3, 7), st.integers(0, 3), st.integers(3, 7), st.integers(1, 3))
    return st.lists(cells, max_size=45).map(_grid)


def _grid(cells: list[tuple[int, int, int, int]]) -> np.ndarray:
    grid = np.zeros((9, 11, 11), np.int8)
    for x, y, z, color in cells:
        grid[y, x, z] = color
    return grid


@settings(max_examples=60, deadline=None)
@given(_worlds())
def test_things_are_those_of_the_definitions(grid: np.ndarray) -> None:
    things, parts = Scene(grid).things, witness.parts(grid)
    assert witness.agrees(parts, things)
    assert len(things) == len(parts)
    for thing in things:
        part = witness.Part(thing.shape, thing.color, frozenset(thing.cells))
        assert (thing.size, thing.height, thing.level, thing.layers, thing.whole) == (
            *(part.size, part.height, part.level, part.layers),
            witness.is_whole(part, parts),
        )


@settings(max_examples=25, deadline=None)
@given(_worlds(), st.floats(0, 360), st.integers(0, 10**6))
def test_relations_are_those_of_the_definitions(grid: np.ndarray, yaw: float, pick: int) -> None:
    world = Scene(grid, yaw)
    if not world.things:
        return
    thing = world.things[pick % len(world.things)]
    parts = {t.number: witness.Part(t.shape, t.color, frozenset(t.cells)) for t in world.things}
    for relation in RELATIONS:
        expected = [
            n for n, part in parts.items() if witness.stands(part, parts[thing.number], relation, yaw)
        ]
        assert [other.number for other in world.related(thing, relation)] == expected, relation
