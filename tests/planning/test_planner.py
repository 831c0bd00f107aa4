"""Planning: what is called built is built, what is called impossible is, and the rest is rare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import BOTH, built, carry_out, dev_structures, replays, scenes, structure, world_with

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.errors import PlanningError
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning import plan
from iglu_marl.planning.problem import PLAN_LEVELS, PlanLevel, edits_between

# --- single edits -------------------------------------------------------------------------------------------

EDITS = {
    "on the ground": ([], [(2, -1, -3, 6)]),
    "under oneself": ([], [(0, -1, 0, 2)]),
    "where the head is": ([], [(0, 0, 0, 2)]),
    "on a block": ([(0, -1, -2, 1)], [(0, 0, -2, 5)]),
    "in the farthest corner": ([], [(-5, -1, 5, 4)]),
    "high on a tower": ([(3, y, 3, 1) for y in range(-1, 7)], [(3, 7, 3, 3)]),
    "under a roof": ([(1, -1, 0, 1), (1, 0, 0, 1), (0, 1, 0, 1), (1, 1, 0, 1)], [(0, -1, 0, 2)]),
    "hanging": ([(4, y, 0, 1) for y in range(-1, 4)] + [(3, 3, 0, 1)], [(3, 2, 0, 2)]),
    "floating": ([], [(2, 3, 2, 5)]),
    "floating at the top of a corner": ([], [(5, 7, -5, 5)]),
    "removal": ([(1, -1, 1, 3), (1, 0, 1, 4)], [(1, 0, 1, 0)]),
    "removal from below": ([(1, -1, 1, 3), (1, 0, 1, 4)], [(1, -1, 1, 0)]),
    "another colour": ([(1, -1, 1, 3)], [(1, -1, 1, 2)]),
    "half a colour at the rim": ([(x, -1, 5, 1) for x in range(-5, 5)], [(5, -1, 5, 1)]),
    "remove the only support, place beside": ([(2, -1, 2, 1), (2, 0, 2, 1)], [(2, 0, 2, 0), (3, 0, 2, 4)]),
}


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("name", EDITS)
def test_an_edit(name: str, controls: str) -> None:
    blocks, edits = EDITS[name]
    made = built(world_with(blocks), edits, controls)
    left = {(x, y, z) for x, y, z, color in (*blocks, *edits) if color}
    assert left.isdisjoint(made.scaffolds)


NEAR = [name for name in EDITS if not name.startswith("floating")]  # those whose search is short
STEPS: dict[tuple[str, PlanLevel], list[int]] = {
    ("walking", "fast"): [12, 14, 21, 5, 31, 155, 13, 23, 142, 276, 9, 15, 23, 30, 33],
    ("walking", "shortest"): [12, 14, 21, 5, 31, 151, 13, 23, 9, 15, 21, 30, 31],
    ("flying", "fast"): [4, 5, 9, 2, 10, 22, 4, 6, 30, 63, 10, 5, 7, 11, 9],
    ("flying", "shortest"): [3, 5, 7, 2, 10, 20, 3, 5, 3, 4, 6, 11, 9],
    ("discrete", "fast"): [1, 2, 4, 1, 1, 34, 2, 1, 22, 50, 1, 1, 2, 1, 5],
    ("continuous", "fast"): [1, 2, 4, 1, 1, 8, 2, 1, 12, 30, 1, 1, 2, 1, 5],
}

WALKED = [50, 46, 69, 12, 41, 51, 40, 40, 50, 71, 24, 75, 17, 31, 22, 47, 13, 27, 51, 81]
WALKED += [34, 32, 26, 63, 25, 18, 15, 19, 24, 47, 39, 66, 27, 64, 63, 25, 44, 71, 37, 53]


@pytest.mark.parametrize(("controls", "level"), STEPS)
def test_plans_stay_as_they_are(controls: ControlsName, level: PlanLevel) -> None:
    """A change of these numbers of steps changes the demonstrations of every seed: the changelog has to say so."""
    names = EDITS if level == "fast" else NEAR
    steps = [len(plan(world_with(EDITS[name][0]), EDITS[name][1], controls, level)) for name in names]
    assert steps == STEPS[controls, level]


def test_plans_between_columns_stay_as_they_are() -> None:
    assert [len(plan(world, target, level="fast")) for world, target in scenes(1, len(WALKED))] == WALKED


@BOTH
def test_nothing_to_do(controls: str) -> None:
    worlds = world_with([(1, -1, 1, 3)])
    for edits in ([], [(1, -1, 1, 3)], [(2, 2, 2, 0)], np.array(worlds.grid[0])):
        made = plan(worlds, edits, controls)
        assert (made.verdict, made.actions) == ("built", [])


@BOTH
def test_any_state_will_do(controls: str) -> None:
    worlds = world_with([(0, -1, -3, 2)], Pose(3.3, 6.0, -4.1, 123.4, 17.3))
    worlds.speed[0], worlds.slices[0], worlds.active[0] = -6.0, 4, 5
    built(worlds, [(0, 0, -3, 4)], controls)


@BOTH
def test_a_grid_and_a_pose_stand_for_a_fresh_episode(controls: str) -> None:
    grid = blocks_to_grid([(0, -1, -3, 2)])
    made = plan((grid, Pose(1.0, 0.0, 2.0, 90.0, 0.0)), [(0, 0, -3, 4)], controls)
    assert made.actions
    worlds = world_with([(0, -1, -3, 2)], Pose(1.0, 0.0, 2.0, 90.0, 0.0))
    assert grid_to_blocks(carry_out(worlds, made)) == [(0, -1, -3, 2), (0, 0, -3, 4)]


# --- whole structures ---------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_a_search_makes_plans_shorter(controls: str) -> None:
    """Never longer than the fast one, and on the whole much shorter."""
    total = dict.fromkeys(PLAN_LEVELS, 0)
    for seed in range(200, 203):
        target = structure(np.random.default_rng(seed), 10)
        lengths = []
        for level in PLAN_LEVELS:
            lengths.append(len(built(Worlds(1), target, controls, level)))
            total[level] += lengths[-1]
        assert max(lengths) == lengths[0]
    assert total["shortest"] < (0.95 if controls == "walking" else 0.75) * total["fast"]


def test_unknown_levels_are_refused() -> None:
    with pytest.raises(PlanningError, match="level is 'best', expected one of fast, shortest"):
        plan(Worlds(1), [(0, -1, 0, 1)], level="best")  # type: ignore[arg-type]


@pytest.mark.slow
@BOTH
def test_one_structure_into_another(controls: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        start, target = structure(rng, 12), structure(rng, 12)
        worlds = world_with(grid_to_blocks(start))
        built(worlds, edits_between(start, target), controls, ("fast", "shortest")[seed % 2])


@pytest.mark.slow
@BOTH
def test_structures_of_the_corpus(controls: str, shared: Path) -> None:
    """Every eighth, by the first plan that is found; a run over all of them takes ten times as long."""
    chosen = list(dev_structures(shared))[::8]
    assert len(chosen) >= 9
    for _, target in chosen:
        built(Worlds(1), target, controls, "fast")


cells = st.tuples(st.integers(-5, 5), st.integers(-1, 7), st.integers(-5, 5))


@pytest.mark.slow
@BOTH
@given(
    start=st.dictionaries(cells, st.integers(1, 6), max_size=6),
    edits=st.dictionaries(cells, st.integers(0, 6), min_size=1, max_size=4),
)
@settings(max_examples=25)
def test_whatever_is_asked_is_built(
    controls: str, start: dict[tuple[int, int, int], int], edits: dict[tuple[int, int, int], int]
) -> None:
    worlds = world_with([(*cell, color) for cell, color in start.items()], Pose(6.0, 0.0, 6.0))
    built(worlds, [(*cell, color) for cell, color in edits.items()], controls, "fast")


# --- verdicts -----------------------------------------------------------------------------------------------


@BOTH
def test_too_few_blocks_is_proved(controls: str) -> None:
    rows = [(x, -1, z, 3) for z in (-2, 2) for x in range(-5, 5)]
    made = plan(world_with(rows), [(0, -1, 0, 3)], controls)
    assert (made.verdict, made.actions, made.lacking) == ("impossible", [], 3)
    assert "not enough green blocks: 1 to place, 0 in the inventory" in made.reason
    # With one that comes back it can be done.
    assert plan(world_with(rows), [(0, -1, 0, 3), (*rows[0][:3], 0)], controls).built


@pytest.mark.slow
@BOTH
def test_the_last_block_needs_something_to_hold_on_to(controls: str) -> None:
    worlds = world_with([])
    worlds.inventory[0] = (0, 0, 0, 0, 1, 0)
    made = plan(worlds, [(0, 2, 0, 5)], controls)
    assert made.verdict == "impossible"
    assert "floats alone" in made.reason
    assert plan(worlds, [(0, -1, -2, 5)], controls).built
    worlds.inventory[0, 0] = 4  # enough for a scaffold
    assert plan(worlds, [(0, 2, 0, 5)], controls).built


@pytest.mark.slow
def test_a_budget_ends_the_search() -> None:
    made = plan(Worlds(1), structure(np.random.default_rng(0)), "walking", max_actions=5)
    assert made.verdict == "unresolved"
    assert "5 actions" in made.reason


def test_a_plan_that_does_not_build_is_noticed() -> None:
    target = blocks_to_grid([(0, -1, -2, 1)])
    made = plan(Worlds(1), target, "walking")
    assert replays(Worlds(1), made.actions, "walking", target)
    assert not replays(Worlds(1), made.actions[:-1], "walking", target)
