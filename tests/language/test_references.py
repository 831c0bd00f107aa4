"""References: which blocks, groups and places a description means, and when it means none or too many."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iglu_marl.core.grid import blocks_to_grid, cells_of, grid_to_blocks
from iglu_marl.language import At, Blocks, Context, Failure, Place, outcomes
from iglu_marl.language.meaning.blocks import Reason
from iglu_marl.language.meaning.context import Resolution, Unresolved
from iglu_marl.language.meaning.matching import find_items
from iglu_marl.language.meaning.references import (
    Anaphor,
    Beside,
    BuilderPosition,
    LastBlock,
    NextTo,
    PluralAnaphor,
    resolve,
)
from iglu_marl.language.meaning.shapes import Kind
from iglu_marl.language.meaning.verbs import Remove

BLUE, YELLOW, GREEN, ORANGE, PURPLE, RED = range(1, 7)

# A red row of three to the east, a blue tower of three at its end, a green block apart, a red block on the tower.
SCENE = [
    *((x, -1, 0, RED) for x in range(3)),
    *((3, y, 0, BLUE) for y in range(-1, 2)),
    (3, 2, 0, RED),
    (-4, -1, -4, GREEN),
]


def world(*blocks: tuple[int, int, int, int]) -> np.ndarray:
    return np.array(blocks_to_grid(list(blocks)), dtype=np.int8)


def meant(reference: Any, *blocks: tuple[int, int, int, int], **context: Any) -> Any:
    """The items that a reference means, as sets of cells, or the reason why there are none."""
    setting = Resolution.of(world(*(blocks or SCENE)), Context(**context))
    try:
        return [set(item) for item in resolve(reference, setting)]
    except Unresolved as error:
        return error.failure.reason


TOWER = {(3, y, 0) for y in range(-1, 2)}
ROW = {(x, -1, 0) for x in range(3)}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (Blocks((GREEN,)), [{(-4, -1, -4)}]),
        (Blocks((RED,)), Reason.AMBIGUOUS),
        (Blocks((YELLOW,)), Reason.NO_MATCH),
        (Blocks((RED,), count=4), [{(0, -1, 0)}, {(1, -1, 0)}, {(2, -1, 0)}, {(3, 2, 0)}]),
        (Blocks((RED,), count=3), Reason.AMBIGUOUS),
        (Blocks((RED,), "row"), [ROW]),
        (Blocks((RED,), "row", size=2), Reason.NO_MATCH),
        (Blocks((), "row"), [ROW | {(3, -1, 0)}]),
        (Blocks((BLUE,), "tower"), [TOWER]),
        (Blocks((), "structure"), [ROW | TOWER | {(3, 2, 0)}]),
        (Blocks((RED,), "structure"), [ROW]),
        (Blocks((), "l"), [ROW | TOWER | {(3, 2, 0)}]),
        (Blocks((RED,), extreme="up"), [{(3, 2, 0)}]),
        (Blocks((RED,), extreme="down"), Reason.AMBIGUOUS),
        (Blocks((RED,), count=None, extreme="down"), [{(0, -1, 0)}, {(1, -1, 0)}, {(2, -1, 0)}]),
        (Blocks((BLUE,), count=2, extreme="up"), [{(3, 1, 0)}, {(3, 0, 0)}]),
        (Blocks((BLUE,), extreme="up", rank=2), [{(3, 0, 0)}]),
        (Blocks((BLUE,), extreme="up", rank=4), Reason.NO_MATCH),
        (Blocks((BLUE,), middle=True), [{(3, 0, 0)}]),
        (Blocks((RED,), middle=True), Reason.AMBIGUOUS),
        (Blocks((RED,), where=Beside((("up", 1),), Blocks((BLUE,), "tower"))), [{(3, 2, 0)}]),
        (Blocks((BLUE,), where=NextTo(Blocks((RED,), "row"))), [{(3, -1, 0)}]),
        (Blocks((RED,), where=At((1, -1, 0))), [{(1, -1, 0)}]),
        (Blocks((RED,), "row", where=At((1, -1, 0))), [ROW]),
        (Blocks((RED,), extreme="left"), Reason.NO_VIEW),
        (Anaphor(), Reason.NO_MATCH),
    ],
)
def test_what_a_description_means(reference: Any, expected: Any) -> None:
    assert meant(reference) == expected


def test_it_and_the_last_block() -> None:
    last = ((0, -1, 0), (1, -1, 0))
    assert meant(Anaphor(), last=last) == [set(last)]
    assert meant(LastBlock(), last=last) == [{(1, -1, 0)}]


def test_extremes_as_the_builder_sees_them() -> None:
    for yaw, cell in ((0.0, 0), (180.0, 2)):
        assert meant(
            Blocks((RED,), extreme="left", where=NextTo(Blocks((RED,), count=None))), *SCENE[:3], yaw_deg=yaw
        ) == [{(cell, -1, 0)}]
    assert meant(Blocks((RED,), extreme="front"), *((0, -1, z, RED) for z in range(3)), yaw_deg=0.0) == [
        {(0, -1, 2)}
    ]


def test_what_is_in_front_of_you_is_the_nearest_that_you_look_at() -> None:
    blocks = ((0, -1, -3, RED), (0, -1, -5, RED), (0, -1, 2, RED))
    for yaw, cell in ((0.0, (0, -1, -3)), (180.0, (0, -1, 2))):
        ahead = Blocks((RED,), where=Beside((("front", 1),), BuilderPosition()))
        assert meant(ahead, *blocks, yaw_deg=yaw, position=(0.0, -0.25, 0.0)) == [{cell}]


def spots(where: Any) -> Any:
    """The cells in which something may be placed: for each of the worlds that a placement may lead to."""
    before = world(*SCENE)
    found = outcomes(Place(YELLOW, where), before)
    if isinstance(found, Failure):
        return found.reason
    return {frozenset(map(tuple, cells_of(outcome.grid != before).tolist())) for outcome in found}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Beside((("up", 1),), Blocks((GREEN,))), [[(-4, 0, -4)]]),
        (Beside((("up", 2), ("east", 1)), Blocks((GREEN,))), [[(-3, 1, -4)]]),
        (Beside((("west", 1),), Blocks((RED,), "row")), [[(-1, -1, 0)]]),
        (Beside((("north", 1),), Blocks((BLUE,), "tower")), [[(3, -1, -1)]]),
        (Beside((("up", 2),), Blocks((BLUE,), "tower")), [[(3, 3, 0)]]),
        (Beside((("up", 1),), Blocks((BLUE,), "tower")), Reason.OCCUPIED),
        (Beside((("north", 1),), Blocks((RED,), "row")), Reason.AMBIGUOUS),
        (Beside((("north", 2),), Blocks((GREEN,))), Reason.OUTSIDE),
        (Beside((), Blocks((GREEN,))), Reason.OCCUPIED),
        (
            Beside((("up", 1),), Blocks((RED,), count=None)),
            [[(0, 0, 0)], [(1, 0, 0)], [(2, 0, 0)], [(3, 3, 0)]],
        ),
        (NextTo(Blocks((GREEN,))), [[(-4, -1, -5), (-3, -1, -4), (-4, -1, -3), (-5, -1, -4)]]),
    ],
)
def test_where_a_place_is(where: Any, expected: Any) -> None:
    if isinstance(expected, list):  # one list of choices for each thing that the place is told from
        expected = set(map(frozenset, product(*expected)))
    assert spots(where) == expected


def test_an_ambiguous_reference_says_between_what() -> None:
    failure = outcomes(Remove(Blocks((BLUE,))), world(*SCENE))
    assert isinstance(failure, Failure)
    assert failure.reason is Reason.AMBIGUOUS
    assert failure.reference == Blocks((BLUE,))
    assert set(failure.choices) == {((3, y, 0),) for y in range(-1, 2)}
    assert "3 of blue block" in str(failure)


# --- against plain definitions ----------------------------------------------------------------------------------

worlds = st.dictionaries(
    st.tuples(st.integers(-2, 2), st.integers(-1, 2), st.integers(-2, 2)),
    st.sampled_from([BLUE, RED]),
    max_size=40,
).map(lambda cells: world(*((*cell, color) for cell, color in cells.items())))


@settings(max_examples=150, deadline=None)
@given(worlds, st.sampled_from([(), (RED,), (RED, BLUE)]))
def test_runs_and_groups_by_definition(grid: np.ndarray, colors: tuple[int, ...]) -> None:
    setting = Resolution.of(grid, Context())
    layers = [{color} for color in colors] or [{BLUE, RED}]
    rows, towers = set(), set()
    for layer in layers:
        cells = {(x, y, z) for x, y, z, color in grid_to_blocks(grid) if color in layer}
        for (dx, dy, dz), found in (((1, 0, 0), rows), ((0, 0, 1), rows), ((0, 1, 0), towers)):
            for (x, y, z), length in product(cells, range(2, 6)):
                run = [(x + i * dx, y + i * dy, z + i * dz) for i in range(-1, length + 1)]
                if set(run[1:-1]) <= cells and run[0] not in cells and run[-1] not in cells:
                    found.add(frozenset(run[1:-1]))
    assert {frozenset(item) for item in find_items(setting, Kind.ROW, colors)} == rows
    assert {frozenset(item) for item in find_items(setting, Kind.TOWER, colors)} == towers
    structures = [set(item) for item in find_items(setting, Kind.STRUCTURE, colors)]
    wanted = {(x, y, z) for x, y, z, color in grid_to_blocks(grid) if not colors or color in colors}
    touching = {
        c for c in wanted if any(sum(abs(p - q) for p, q in zip(c, d, strict=True)) == 1 for d in wanted)
    }
    assert set().union(*structures) == touching
    assert sum(map(len, structures)) == len(touching)
    for one, other in product(structures, structures):
        if one is not other:
            assert all(sum(abs(p - q) for p, q in zip(a, b, strict=True)) > 1 for a in one for b in other)


def test_it_is_the_only_thing_as_long_as_nothing_was_changed() -> None:
    tower = [(0, y, 0, RED) for y in range(-1, 2)]
    alone, two = blocks_to_grid(tower), blocks_to_grid([*tower, (3, -1, 0, BLUE)])
    above = outcomes(Place(BLUE, Beside((("up", 1),), Anaphor())), alone, Context())
    assert not isinstance(above, Failure)
    assert above[0].cells == ((0, 2, 0),)
    which = outcomes(Remove(Anaphor()), two, Context())
    assert isinstance(which, Failure)
    assert which.reason is Reason.NO_MATCH


def test_both_are_the_two_things_that_were_placed_last() -> None:
    first, second = [(tuple((x, y, 0) for y in (-1, 0))) for x in (0, 2)]
    grid = blocks_to_grid([(*cell, RED) for cell in (*first, *second)])
    setting = Resolution(second, earlier=((), first), grid=grid)
    assert sorted(resolve(PluralAnaphor(both=True), setting)) == [first, second]
    assert sorted(resolve(PluralAnaphor(), setting)) == [(cell,) for cell in second]
