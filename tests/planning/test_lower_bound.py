"""Lower bounds and certificates: never above what can be done, never true of what can be done."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from worlds import Block, world_with

from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.kernels.step import step_at, step_many
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning import Bound, check_certificate, lower_bound, plan
from iglu_marl.planning.bounds import bridges
from iglu_marl.planning.chances import Spots, Wings, first_chances, latest_end
from iglu_marl.planning.proofs import prove_impossible

BOTH = pytest.mark.parametrize("controls", ["walking", "flying"])

# --- against an exhaustive search ---------------------------------------------------------------------------

FIELDS = ("pose", "speed", "slices", "active", "inventory", "grid")


def shortest(worlds: Worlds, target: np.ndarray, limit: int) -> int | None:
    """Steps of the shortest walking plan, by trying every action in every state; None if above the limit."""
    table = Controls("walking").encode(0)[0][:18]
    states = worlds.get_state()[:1]
    seen: set[bytes] = set()
    for steps in range(limit + 1):
        if (states["grid"] == target).all(axis=(1, 2, 3)).any():
            return steps
        if steps == limit:
            return None
        grown = []
        for start in range(0, len(states), 512):
            many = np.repeat(states[start : start + 512], len(table))
            step_many(many, np.tile(table, len(many) // len(table)))
            keys = np.concatenate(
                [np.ascontiguousarray(many[f]).reshape(len(many), -1).view(np.uint8) for f in FIELDS], 1
            )
            fresh = []
            for number, key in enumerate(keys):
                if (known := key.tobytes()) not in seen:
                    seen.add(known)
                    fresh.append(number)
            grown.append(many[fresh])
        states = np.concatenate(grown)
    return None


TINY: dict[str, tuple[list[Block], Pose, list[Block], int]] = {
    "look down and place": ([], Pose(0, -0.25, 0, 0, -5), [(0, -1, -4, 1)], 5),
    "another colour": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -2, 3)], 4),
    "two in a row": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -2, 1), (0, -1, -1, 1)], 5),
    "two side by side": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -3, 1), (1, -1, -3, 1)], 5),
    "a step aside": ([], Pose(0.4, -0.25, 0, 0, -30), [(1, -1, -2, 1)], 4),
    "break": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -10), [], 4),
    "recolour": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -35), [(0, -1, -2, 4)], 5),
    "on top": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -5), [(0, -1, -2, 1), (0, 0, -2, 1)], 5),
    "to the left": ([], Pose(0, -0.25, 0, 315, -20), [(-3, -1, -2, 1)], 4),
}


@pytest.mark.parametrize("name", TINY)
def test_no_plan_is_shorter(name: str) -> None:
    blocks, pose, wanted, limit = TINY[name]
    worlds, target = world_with(blocks, pose), blocks_to_grid(wanted)
    found = shortest(worlds, target, limit)
    assert found is not None
    bound = lower_bound(worlds, target, "walking").steps
    assert found - 2 <= bound <= found
    made = plan(worlds, target, "walking")
    assert made.built
    assert found <= len(made) <= found + 1


# --- against whatever happens to be built -------------------------------------------------------------------


def games(controls: str, count: int, steps: int) -> Iterator[tuple[Worlds, np.ndarray, int]]:
    """(start, a grid that was reached, after so many steps): random acts from random starts."""
    encoding = Controls(controls)  # type: ignore[arg-type]
    for seed in range(count):
        rng = np.random.default_rng(seed)
        blocks = {
            tuple(int(v) for v in rng.integers((-3, -1, -3), (4, 3, 4))): int(rng.integers(1, 7))
            for _ in range(int(rng.integers(0, 9)))
        }
        pose = Pose(*rng.uniform((-4, 0, -4, 0, -80), (4, 3, 4, 360, 30)))
        start = world_with([(*cell, color) for cell, color in blocks.items()], pose)
        start.inventory[0] = rng.integers(-1, 4, 6)
        start.speed[0] = rng.choice([0.0, 3.0, -2.0])
        state, reached = start.get_state(), {start.grid[0].tobytes(): 0}
        for number in range(steps):
            records, index = encoding.encode(act(controls, encoding, rng, number))
            step_at(state, 0, records, index)
            key = state["grid"][0].tobytes()
            if key not in reached:
                reached[key] = number + 1
                yield start, state["grid"][0].copy(), number + 1


def act(controls: str, encoding: Controls, rng: np.random.Generator, number: int) -> Any:
    if controls == "walking":
        weights = np.array([1, 3, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 3, 3, 2, 3, 4, 9.0])
        return int(rng.choice(18, p=weights / weights.sum()))
    return {
        "movement": rng.choice([-1, 0, 0, 1], 3).astype(np.float32),
        "camera": rng.uniform(-5, 5, 2).astype(np.float32),
        "inventory": int(rng.choice([0, 0, 0, 1, 2, 3, 4, 5, 6])),
        "placement": int(rng.choice([0, 1, 1, 2])),
    }


@BOTH
def test_neither_bound_nor_proof_denies_what_was_done(controls: str) -> None:
    tight = checked = 0
    for start, grid, steps in games(controls, 60, 25):
        bound = lower_bound(start, grid, controls)  # type: ignore[arg-type]
        assert bound.steps <= steps, (bound, steps)
        reason, _ = prove_impossible(start, grid, controls)  # type: ignore[arg-type]
        assert not reason
        checked += 1
        tight += bound.steps == steps
    assert checked > 60
    assert tight > 5


# --- where a flier can be, and what it can meet ----------------------------------------------------------


def flights(count: int, steps: int) -> Iterator[tuple[Worlds, list[np.ndarray]]]:
    """(start, states before every step and after the last): fliers that mostly keep going the same way."""
    encoding = Controls("flying")
    for seed in range(count):
        rng = np.random.default_rng(seed)
        cells = {tuple(int(v) for v in rng.integers((-3, -1, -3), (4, 3, 4))) for _ in range(seed % 3 * 12)}
        low = -0.25 if seed % 2 else -1.4
        start = world_with(
            [(*c, 1) for c in cells], Pose(*rng.uniform((-3, low, -3, 0, -60), (3, 3, 3, 360, 60)))
        )
        start.speed[0] = rng.choice([0.0, 0.0, 3.0, -14.0])
        state, states = start.get_state(), []
        move, turn = rng.choice([-1.0, 0.0, 1.0], 3), rng.choice([-5.0, 0.0, 5.0], 2)
        for _ in range(steps):
            states.append(state[0].copy())
            if rng.random() < 0.2:
                move, turn = rng.choice([-1.0, 0.0, 1.0], 3), rng.choice([-5.0, 0.0, 5.0], 2)
            action = {"movement": move.astype(np.float32), "camera": turn.astype(np.float32)}
            records, index = encoding.encode({**action, "inventory": 0, "placement": int(rng.random() < 0.3)})
            step_at(state, 0, records, index)
        yield start, [*states, state[0].copy()]


def test_a_flier_is_where_it_can_be() -> None:
    """Pushed by blocks and by the ground, thrown by a jump before, along the line of sight and by the throttle."""
    for start, states in flights(150, 14):
        placed = start.grid.any()
        for moves, state in enumerate(states):
            eye = state["pose"][:3]
            placed = placed or state["grid"].any()
            lows, highs = Wings(start.pose[0], float(start.speed[0]), bool(placed)).parts(moves)
            if eye[1] >= -1.5:  # deeper, there is nothing but ground to see
                assert ((lows <= eye + 1e-9) & (eye <= highs + 1e-9)).all(axis=1).any(), (moves, eye)


def test_a_ray_meets_no_cell_before_its_first_chance() -> None:
    cells = np.array([(x, y, z) for x in range(-5, 6) for y in range(-1, 8) for z in range(-5, 6)], float)
    met = 0
    for start, states in flights(40, 14):
        first = first_chances(
            Spots(cells - 0.5, cells + 0.5), Wings(start.pose[0], float(start.speed[0]), True), limit=14
        )
        for steps, (before, after) in enumerate(pairwise(states)):
            yaw, pitch = np.radians(after["pose"][3] - 90.0), np.radians(after["pose"][4])
            way = np.array([np.cos(yaw) * np.cos(pitch), np.sin(pitch), np.sin(yaw) * np.cos(pitch)])
            points = before["pose"][:3] + way * np.arange(40)[:, None] / 5.0
            if before["pose"][1] < -1.5:
                continue
            for cell in {tuple(point) for point in np.rint(points).astype(int).tolist()}:
                at = np.flatnonzero((cells == cell).all(axis=1))
                if len(at):
                    met += 1
                    assert first[at[0]] <= steps, (cell, steps)
    assert met > 1000


FLYING: dict[str, tuple[list[Block], Pose, list[Block]]] = {
    **{name: case[:3] for name, case in TINY.items()},
    "behind": ([], Pose(0, -0.25, 0, 180, -20), [(0, -1, -3, 1)]),
    "one near, two far": ([], Pose(0, 0, 0, 0, -20), [(0, -1, -2, 1), (4, -1, 2, 1), (4, -1, 3, 1)]),
}


@pytest.mark.parametrize("name", FLYING)
def test_flights_are_near_the_bound(name: str) -> None:
    blocks, pose, wanted = FLYING[name]
    worlds, target = world_with(blocks, pose), blocks_to_grid(wanted)
    bound = lower_bound(worlds, target, "flying")
    made = plan(worlds, target, "flying")
    assert made.built
    assert bound.steps <= len(made) <= bound.steps + 4


def test_acts_at_far_cells_are_late() -> None:
    world, near = world_with([], Pose(0, 0, 0, 0, -20)), [(0, -1, -2, 1)]
    behind = [(x, -1, 5, 1) for x in (-1, 0, 1)]
    assert lower_bound(world, near, "flying") == Bound(1, 1)
    bound = lower_bound(world, near + behind, "flying")
    eye = Wings(world.pose[0], 0.0, True)
    assert (bound.acts, bound.lead) == (4, 1)
    assert bound.late > 0
    target = blocks_to_grid(near + behind)
    assert bound.steps == latest_end(np.array(world.grid[0]), target, eye)


# --- parts of the bound -------------------------------------------------------------------------------------


def test_nothing_to_do_takes_no_steps() -> None:
    assert lower_bound(world_with([(0, -1, 0, 1)]), [(0, -1, 0, 1)]) == Bound(0)


def test_bridges_to_what_floats() -> None:
    empty = np.zeros((9, 11, 11), np.int8)
    assert bridges(empty, blocks_to_grid([(0, -1, 0, 1)])) == 0
    assert bridges(empty, blocks_to_grid([(0, 3, 0, 1)])) == 4
    assert bridges(empty, blocks_to_grid([(0, 3, 0, 1), (1, 4, 1, 1)])) == 4
    assert bridges(empty, blocks_to_grid([(-5, 3, -5, 1), (5, 3, 5, 1)])) == 8
    assert bridges(empty, blocks_to_grid([(-1, 3, 0, 1), (1, 3, 0, 1)])) == 4  # one more would do for both
    tower = blocks_to_grid([(0, y, 0, 1) for y in range(-1, 6)])
    assert bridges(tower, np.where(tower, tower, blocks_to_grid([(2, 3, 0, 1)]))) == 1


def test_selects_and_jumps() -> None:
    bound = lower_bound(Worlds(1), [(0, y, -3, 1 + (y > 0)) for y in range(-1, 6)], "walking")
    assert (bound.acts, bound.selects) == (7, 1)
    assert 4 <= bound.jumps <= 6
    assert lower_bound(Worlds(1), [(0, 0, -3, 1), (0, -1, -3, 1)], "walking").jumps == 0


# --- certificates -------------------------------------------------------------------------------------------


def impossible_cases() -> Iterator[tuple[str, Worlds, Any, str]]:
    many = [(x, -1, z, 6) for x in range(-3, 4) for z in range(3)]
    overdrawn = [(x, -1, z, 3) for z in (-2, 0, 2) for x in range(-5, 5)]
    for controls in ("walking", "flying"):
        yield "too few blocks", world_with([]), many, controls
        yield "too few blocks", world_with(overdrawn), [(0, 0, 0, 3)], controls
        one = world_with([])
        one.inventory[0] = (0, 0, 0, 0, 1, 0)
        yield "no last step", one, [(0, 2, 0, 5)], controls
        yield "out of reach", world_with([], Pose(8.0, 0.0, 8.0)), [(-5, -1, -5, 1)], controls
    yield "out of reach", world_with([], Pose(0.0, 12.0, 0.0)), [(0, -1, 0, 1)], "flying"


CASES = list(impossible_cases())


@pytest.mark.parametrize(
    ("kind", "worlds", "edits", "controls"), CASES, ids=[f"{c[0]}-{c[3]}" for c in CASES]
)
def test_every_proof_is_a_certificate(kind: str, worlds: Worlds, edits: Any, controls: Any) -> None:
    made = plan(worlds, edits, controls)
    assert (made.verdict, made.proof.get("kind")) == ("impossible", kind)
    assert check_certificate(worlds, edits, controls, made.proof)
    for bad in corrupted(made.proof):
        assert not check_certificate(worlds, edits, controls, bad), bad


def corrupted(proof: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every number changed, every entry left out, one too many, another kind."""
    yield {}
    yield {**proof, "more": 1}
    for kind in ("too few blocks", "no last step", "out of reach", "trust me"):
        if kind != proof["kind"]:
            yield {**proof, "kind": kind}
    for key, value in proof.items():
        yield {k: v for k, v in proof.items() if k != key}
        if isinstance(value, int):
            for other in (value + 1, value - 1, None, "7"):
                yield {**proof, key: other}
        elif key != "kind":
            for at in range(len(value)):
                changed = list(copy.deepcopy(value))
                changed[at] += 1
                if key != "cell":  # another cell may well be out of reach, too
                    yield {**proof, key: changed}


def test_certificates_are_of_their_own_case() -> None:
    """A true certificate proves nothing about a world in which the edits can be made."""
    for _, worlds, edits, controls in CASES:
        proof = plan(worlds, edits, controls).proof  # type: ignore[arg-type]
        rich = world_with([])
        assert not check_certificate(rich, edits[:1], controls, proof)  # type: ignore[arg-type]
        assert not check_certificate(worlds, [], controls, proof)  # type: ignore[arg-type]
