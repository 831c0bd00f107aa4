"""Planning: what is called built is built, what is called impossible is, and the rest is rare."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import world_with

from iglu_marl.agents import OracleBuilder
from iglu_marl.core.controls import Controls
from iglu_marl.core.errors import PlanningError
from iglu_marl.core.grid import blocks_to_grid, color_id, grid_to_blocks
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning import Edit, Executor, Plan, edits_between, lower_bound, order_edits, plan, replays
from iglu_marl.planning.problem import PLAN_LEVELS
from iglu_marl.planning.support import supported_cells
from iglu_marl.planning.walking.navigation import Terrain

BOTH = pytest.mark.parametrize("controls", ["walking", "flying"])


def carry_out(worlds: Worlds, made: Plan) -> np.ndarray:
    """The grid after the plan's actions, by the encoding and kernel that every environment uses."""
    encoding, state = Controls(made.controls), worlds.get_state()  # type: ignore[arg-type]
    for action in made.actions:
        assert encoding.space.contains(action)
        records, index = encoding.encode(action)
        step_at(state, 0, records, index)
    return state["grid"][0]


def structure(rng: np.random.Generator, blocks: int = 8, levels: int = 3) -> np.ndarray:
    """A random structure without floating blocks, within two cells of a centre."""
    grid = np.zeros((9, 11, 11), np.int8)
    near = np.zeros(grid.shape, bool)
    x, z = rng.integers(1, 10, 2)
    near[:levels, max(0, x - 2) : x + 3, max(0, z - 2) : z + 3] = True
    for _ in range(int(rng.integers(1, blocks + 1))):
        free = np.argwhere(supported_cells(grid != 0) & near & (grid == 0))
        grid[tuple(free[rng.integers(len(free))])] = rng.integers(1, 7)
    return grid


def dev_structures(shared: Path) -> Iterator[tuple[str, np.ndarray]]:
    data = json.loads((shared / "data" / "structures-dev.json").read_text(encoding="utf-8"))
    names = {int(number): name for number, name in data["colours"].items()}
    for key, entry in data["structures"].items():
        blocks = [(x, y, z, color_id(names[c])) for x, y, z, c in entry["blocks"]]
        yield key, blocks_to_grid(blocks)


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


@BOTH
@pytest.mark.parametrize("name", EDITS)
def test_an_edit(name: str, controls: str) -> None:
    blocks, edits = EDITS[name]
    worlds = world_with(blocks)
    before = worlds.get_state().tobytes()
    made = plan(worlds, edits, controls)
    assert made.verdict == "built", made.reason
    assert worlds.get_state().tobytes() == before, "the caller's world was touched"
    wanted = np.array(worlds.grid[0])
    for x, y, z, color in edits:
        wanted[y + 1, x + 5, z + 5] = color
    np.testing.assert_array_equal(carry_out(worlds, made), wanted)
    for x, y, z in made.scaffolds:
        assert wanted[y + 1, x + 5, z + 5] == 0


@BOTH
def test_nothing_to_do(controls: str) -> None:
    worlds = world_with([(1, -1, 1, 3)])
    for edits in ([], [(1, -1, 1, 3)], [(2, 2, 2, 0)], np.array(worlds.grid[0])):
        made = plan(worlds, edits, controls)
        assert (made.verdict, made.actions) == ("built", [])


def test_a_near_block_takes_few_actions() -> None:
    assert len(plan(Worlds(1), [(0, -1, -2, 1)], "walking")) <= 12
    assert len(plan(Worlds(1), [(0, -1, -2, 1)], "flying")) <= 10


@BOTH
def test_any_state_will_do(controls: str) -> None:
    worlds = world_with([(0, -1, -3, 2)], Pose(3.3, 6.0, -4.1, 123.4, 17.3))
    worlds.speed[0], worlds.slices[0], worlds.active[0] = -6.0, 4, 5
    made = plan(worlds, [(0, 0, -3, 4)], controls)
    assert made.built, made.reason
    assert grid_to_blocks(carry_out(worlds, made)) == [(0, -1, -3, 2), (0, 0, -3, 4)]


@BOTH
def test_a_grid_and_a_pose_stand_for_a_fresh_episode(controls: str) -> None:
    grid = blocks_to_grid([(0, -1, -3, 2)])
    made = plan((grid, (1.0, 0.0, 2.0, 90.0, 0.0)), [(0, 0, -3, 4)], controls)
    assert made.actions
    worlds = world_with([(0, -1, -3, 2)], Pose(1.0, 0.0, 2.0, 90.0, 0.0))
    assert grid_to_blocks(carry_out(worlds, made)) == [(0, -1, -3, 2), (0, 0, -3, 4)]


@BOTH
def test_plans_are_the_same_every_time(controls: str) -> None:
    target = structure(np.random.default_rng(3))
    first, second = (plan(Worlds(1), target, controls) for _ in range(2))
    assert [str(action) for action in first.actions] == [str(action) for action in second.actions]


@BOTH
def test_out_of_a_closed_cell(controls: str) -> None:
    box = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    inside = {(0, -1, 0), (0, 0, 0)}
    blocks = [(*cell, 1 + number % 6) for number, cell in enumerate(box) if cell not in inside]
    worlds = world_with(blocks)
    assert not Terrain(worlds.grid[0]).escapes((0, 0, -2))
    made = plan(worlds, [(4, -1, 4, 6)], controls)
    assert made.built, made.reason
    assert grid_to_blocks(carry_out(worlds, made)) == sorted([*blocks, (4, -1, 4, 6)])


@BOTH
def test_out_of_a_block(controls: str) -> None:
    blocks = [(0, -1, 0, 2), (0, 0, 0, 3), (1, 0, 0, 4), (-1, 0, 0, 4)]
    made = plan(world_with(blocks), [(0, 1, 0, 6)], controls)
    assert made.built, made.reason
    assert grid_to_blocks(carry_out(world_with(blocks), made)) == sorted([*blocks, (0, 1, 0, 6)])


def test_a_cell_shut_in_by_others_is_reached() -> None:
    rng = np.random.default_rng(1)
    blocks = [(x, y, z, int(rng.integers(1, 7))) for x in (1, 2, 3) for y in (-1, 0, 1) for z in (1, 2, 3)]
    for controls in ("walking", "flying"):
        made = plan(world_with(blocks), [(2, 0, 2, 0)], controls)
        assert made.built, made.reason


# --- whole structures ---------------------------------------------------------------------------------------


@BOTH
def test_random_structures(controls: str) -> None:
    lengths = []
    for seed in range(25):
        target = structure(np.random.default_rng(seed))
        made = plan(Worlds(1), target, controls, "fast")
        assert made.built, (seed, made.reason)
        np.testing.assert_array_equal(carry_out(Worlds(1), made), target)
        lengths.append(len(made) / np.count_nonzero(target))
    assert np.median(lengths) <= (40 if controls == "walking" else 10)


@BOTH
def test_a_search_makes_plans_shorter(controls: str) -> None:
    """Never longer than the fast one, never shorter than the bound, and on the whole much shorter."""
    total = dict.fromkeys(PLAN_LEVELS, 0)
    for seed in range(200, 206):
        target = structure(np.random.default_rng(seed), 10)
        lengths = []
        for level in PLAN_LEVELS:
            made = plan(Worlds(1), target, controls, level)
            np.testing.assert_array_equal(carry_out(Worlds(1), made), target)
            lengths.append(len(made))
            total[level] += len(made)
        assert lower_bound(Worlds(1), target, controls).steps <= min(lengths)
        assert max(lengths) == lengths[0]
    assert total["shortest"] <= total["short"] < (0.95 if controls == "walking" else 0.75) * total["fast"]


def test_width_is_a_level_by_its_old_name() -> None:
    target = structure(np.random.default_rng(4))
    for width, level in ((0, "fast"), (1, "short"), (3, "shortest")):
        with pytest.warns(DeprecationWarning, match="width is now called level"):
            old = plan(Worlds(1), target, "walking", width=width)
        assert old.actions == plan(Worlds(1), target, "walking", level).actions
    with pytest.warns(DeprecationWarning, match="width is now called level"):
        assert Executor([], width=2).level == "short"
    with pytest.warns(DeprecationWarning, match="width is now called level"):
        OracleBuilder(width=0)
    with pytest.raises(PlanningError, match="level is 'best', expected one of fast, short, shortest"):
        plan(Worlds(1), target, level="best")  # type: ignore[arg-type]


@BOTH
def test_random_structures_block_by_block(controls: str) -> None:
    for seed in range(100, 108):
        worlds = Worlds(1)
        target = structure(np.random.default_rng(seed))
        for edit in order_edits(worlds.grid[0], target, controls):
            made = plan(worlds, [edit], controls)
            assert made.built, (seed, edit, made.reason)
            worlds.grid[0] = carry_out(worlds, made)
            worlds.inventory[0] = 20 - np.bincount(worlds.grid[0].ravel(), minlength=7)[1:]
        np.testing.assert_array_equal(worlds.grid[0], target)


@BOTH
def test_one_structure_into_another(controls: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        start, target = structure(rng, 12), structure(rng, 12)
        worlds = world_with(grid_to_blocks(start))
        made = plan(worlds, edits_between(start, target), controls, ("fast", "short")[seed % 2])
        assert made.built, (seed, made.reason)
        np.testing.assert_array_equal(carry_out(worlds, made), target)


@BOTH
def test_structures_of_the_corpus(controls: str, shared: Path) -> None:
    """Every eighth, by the first plan that is found; a run over all of them takes ten times as long."""
    chosen = list(dev_structures(shared))[::8]
    assert len(chosen) >= 9
    for key, target in chosen:
        made = plan(Worlds(1), target, controls, "fast")
        assert made.built, (key, made.reason)
        np.testing.assert_array_equal(carry_out(Worlds(1), made), target)


cells = st.tuples(st.integers(-5, 5), st.integers(-1, 7), st.integers(-5, 5))


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
    made = plan(worlds, [(*cell, color) for cell, color in edits.items()], controls, "fast")
    assert made.built, made.reason
    after = {**start, **edits}
    blocks = sorted((*cell, color) for cell, color in after.items() if color)
    assert grid_to_blocks(carry_out(worlds, made)) == blocks


# --- verdicts -----------------------------------------------------------------------------------------------


@BOTH
def test_too_few_blocks_is_proved(controls: str) -> None:
    rows = [(x, -1, z, 3) for z in (-2, 2) for x in range(-5, 5)]
    made = plan(world_with(rows), [(0, -1, 0, 3)], controls)
    assert (made.verdict, made.actions) == ("impossible", [])
    assert "not enough green blocks: 1 to place, 0 in the inventory" in made.reason
    assert made.proof == {"kind": "too few blocks", "color": 3}
    # With one that comes back it can be done.
    assert plan(world_with(rows), [(0, -1, 0, 3), (*rows[0][:3], 0)], controls).built


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


def test_a_budget_ends_the_search() -> None:
    made = plan(Worlds(1), structure(np.random.default_rng(0)), "walking", max_actions=5)
    assert made.verdict == "unresolved"
    assert "5 actions" in made.reason


@BOTH
def test_one_who_cannot_move(controls: str) -> None:
    worlds = world_with([], Pose(8.0, 0.0, 8.0))
    made = plan(worlds, [(5, -1, 5, 2), (-5, -1, -5, 1)], controls)
    assert made.verdict == "impossible"
    assert "(-5, -1, -5) is out of reach" in made.reason
    assert plan(worlds, [(5, -1, 5, 1)], controls).verdict in ("built", "unresolved")


def test_a_plan_that_does_not_build_is_noticed() -> None:
    target = blocks_to_grid([(0, -1, -2, 1)])
    made = plan(Worlds(1), target, "walking")
    assert replays(Worlds(1), made.actions, "walking", target)
    assert not replays(Worlds(1), made.actions[:-1], "walking", target)


BAD = {
    "outside": ([(6, -1, 0, 1)], r"edits\[0\] at \(6, -1, 0\) lies outside the build zone"),
    "colour": ([(0, -1, 0, 1), (1, -1, 0, 7)], r"edits\[1\] at \(1, -1, 0\) has colour id 7, expected 0..6"),
    "fraction": ([(0, -1, 0.5, 1)], r"edits\[0\] is .* expected four integers"),
    "short": ([(0, -1, 1)], r"edits\[0\] is \(0, -1, 1\), expected four integers"),
    "no list": (7, r"edits is 7, expected a list"),
    "twice": ([(0, -1, 0, 1), (0, -1, 0, 2)], r"edits\[1\] asks for a second colour at \(0, -1, 0\)"),
    "shape": (np.zeros((9, 11, 10), int), r"target has shape \(9, 11, 10\), expected \(9, 11, 11\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_edits(name: str) -> None:
    edits, message = BAD[name]
    with pytest.raises(PlanningError, match=message):
        plan(Worlds(1), edits)


def test_controls_that_cannot_be_planned() -> None:
    with pytest.raises(PlanningError, match="controls is 'swimming', expected one of walking, flying"):
        plan(Worlds(1), [], "swimming")  # type: ignore[arg-type]


# --- order --------------------------------------------------------------------------------------------------


@BOTH
def test_the_order_makes_all_edits_and_each_is_supported(controls: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        start, target = structure(rng, 15), structure(rng, 15)
        grid = start.copy()
        for edit in order_edits(start, target, controls):
            at = (edit.y + 1, edit.x + 5, edit.z + 5)
            if edit.color:
                assert grid[at] == 0
                assert supported_cells(grid != 0)[at], (seed, edit)
            else:
                assert grid[at] != 0
            grid[at] = edit.color
        np.testing.assert_array_equal(grid, target)


def test_the_order_fills_the_inside_first() -> None:
    cube = [(x, y, z, 1 + (x + y + z) % 6) for x in (0, 1, 2) for y in (-1, 0, 1) for z in (0, 1, 2)]
    ordered = [edit.cell for edit in order_edits(np.zeros((9, 11, 11)), blocks_to_grid(cube), "walking")]
    around = [
        (1 + dx, 0 + dy, 1 + dz) for dx, dy, dz in ((1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1), (0, 1, 0))
    ]
    assert ordered.index((1, 0, 1)) < max(ordered.index(cell) for cell in around)


# --- carrying out -------------------------------------------------------------------------------------------


@BOTH
def test_an_executor_carries_on_after_a_push(controls: str) -> None:
    worlds, encoding = world_with([]), Controls(controls)  # type: ignore[arg-type]
    executor = Executor([Edit(2, -1, 2, 4), Edit(2, 0, 2, 5)], controls)  # type: ignore[arg-type]
    for number in range(400):
        action = executor.next_action(worlds)
        if action is None:
            break
        records, index = encoding.encode(action)
        step_at(worlds.state, 0, records, index)
        if number == 6:
            worlds.pose[0] += (0.7, 0.0, -1.3, 20.0, 0.0)
        if number == 9:
            worlds.grid[0, 3, 3, 3], worlds.inventory[0, 0] = 1, 19  # somebody else has put a block there
    assert grid_to_blocks(worlds.grid[0]) == [(2, -1, 2, 4), (2, 0, 2, 5)]
    assert executor.plan is not None
    assert executor.plan.built


def test_an_executor_gives_up_on_the_impossible() -> None:
    worlds = world_with([])
    worlds.inventory[0] = 0
    executor = Executor([Edit(2, -1, 2, 4)])
    assert executor.next_action(worlds) is None
    assert executor.plan is not None
    assert executor.plan.verdict == "impossible"
