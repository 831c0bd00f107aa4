"""The score: the definition against recorded cases and brute force, and its incremental form inside episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_scores import admissible, covered, match_counts

from iglu_marl import GridError, Task, Worlds, intersection_scores, maximal_intersection
from iglu_marl.core.controls import Controls
from iglu_marl.core.kernels.hands import set_block
from iglu_marl.core.kernels.records import PLACED, REMOVED, EpisodeRules
from iglu_marl.core.kernels.score import complete
from iglu_marl.core.scoring import Alignment, Target, align

# --- the definition --------------------------------------------------------------------------------------------


def brute_force(grid, target, shifts="all", invariant=True, full_grid=None):
    """The definition by a second implementation."""
    allowed = admissible(target if full_grid is None else full_grid, shifts == "inside", invariant)
    return match_counts(grid, target)[allowed].max(initial=0)


def structure(rng, blocks, colors=3, spread=5, layers=3):
    grid = np.zeros((9, 11, 11), np.int8)
    for _ in range(blocks):
        x, z = rng.integers(-spread, spread + 1, 2)
        grid[rng.integers(layers), x + 5, z + 5] = rng.integers(1, colors + 1)
    return grid


@pytest.mark.parametrize("shifts", ["all", "inside"])
@pytest.mark.parametrize("seed", range(12))
def test_definition_equals_brute_force(shifts, seed):
    rng = np.random.default_rng(seed)
    target = structure(rng, rng.integers(0, 14), spread=int(rng.integers(1, 6)))
    grid = structure(rng, rng.integers(0, 14), spread=int(rng.integers(1, 6)))
    full = np.maximum(target, structure(rng, 6)) if seed % 3 == 0 else None
    invariant = seed % 4 != 1
    found, where = maximal_intersection(
        grid, target, shifts=shifts, invariant=invariant, full_grid=full, return_argmax=True
    )
    assert found == brute_force(grid, target, shifts, invariant, full)
    laid = align(target, where)
    assert ((laid == grid) & (grid != 0)).sum() == found


def test_recorded_cases(shared: Path):
    with np.load(shared / "golden" / "intersection.npz") as file:
        cases = dict(file)
    count = len(cases["grid"])
    assert count == 1500
    for i in range(count):
        grid, target = cases["grid"][i], cases["target"][i]
        full = cases["full_grid"][i] if cases["has_full_grid"][i] else None
        invariant = bool(cases["invariant"][i])
        value, argmax = maximal_intersection(
            grid, target, shifts="inside", invariant=invariant, full_grid=full, return_argmax=True
        )
        assert value == cases["max_int"][i], i
        assert tuple(argmax) == tuple(cases["argmax"][i]), i
        published, where = maximal_intersection(grid, target, return_argmax=True)
        assert published == cases["published_max_int"][i], i
        overlaid = align(target, where)
        assert ((overlaid == grid) & (overlaid != 0)).sum() == published, i
        assert Target(target).size == cases["target_size"][i]


def test_published_and_implemented_definition_differ():
    target, grid = np.zeros((2, 9, 11, 11), np.int8)
    target[0, 0, 5] = target[0, 10, 5] = 1
    grid[0, 5, 5] = 1
    assert maximal_intersection(grid, target) == 1
    assert maximal_intersection(grid, target, shifts="inside") == 0


@pytest.mark.slow
def test_any_integers_are_accepted():
    rng = np.random.default_rng(5)
    small_target, small_grid = structure(rng, 9), structure(rng, 9)
    small_grid[1] = small_target[1]
    names = np.array([0, -7, 10**12, 300], dtype=np.int64)
    expected = brute_force(small_grid, small_target)
    assert maximal_intersection(names[small_grid], names[small_target]) == expected > 0
    assert maximal_intersection(small_grid.astype(float), small_target.astype(np.uint8)) == expected


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (np.zeros((11, 9, 11)), ["(11, 9, 11)", "(9, 11, 11)"]),
        (np.full((9, 11, 11), 0.5), ["fractions", "integers"]),
        (np.full((9, 11, 11), np.nan), ["integers"]),
        (np.full((9, 11, 11), "red"), ["dtype", "integers"]),
    ],
)
def test_wrong_grids_are_refused(grid, words):
    with pytest.raises(GridError) as caught:
        maximal_intersection(grid, np.zeros((9, 11, 11)))
    assert all(word in str(caught.value) for word in words)
    with pytest.raises(GridError, match="shifts"):
        maximal_intersection(np.zeros((9, 11, 11)), np.zeros((9, 11, 11)), shifts="most")


def test_precision_recall_f1():
    target, grid = np.zeros((2, 9, 11, 11), np.int8)
    target[0, 2:6, 5] = 1  # a row of four
    grid[0, 3, 3:6] = 1  # a row of three, turned
    grid[0, 8, 8] = 2  # and a stray block
    scores = intersection_scores(grid, target)
    assert scores == pytest.approx((3 / 4, 3 / 4, 3 / 4, 3))
    assert intersection_scores(np.zeros_like(grid), target) == (0.0, 0.0, 0.0, 0)
    assert intersection_scores(np.zeros_like(grid), np.zeros_like(grid)) == (1.0, 1.0, 1.0, 0)
    assert intersection_scores(grid, np.zeros_like(grid)) == (0.0, 0.0, 0.0, 0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_alignment_undoes_a_rotation_and_shift(seed):
    rng = np.random.default_rng(seed)
    target = structure(rng, 8, spread=2)
    moved = align(target, Alignment(int(rng.integers(-2, 3)), int(rng.integers(-2, 3)), int(rng.integers(4))))
    value, where = maximal_intersection(moved, target, return_argmax=True)
    assert value == np.count_nonzero(target)
    assert (align(target, where) == moved).all()


# --- inside an episode -----------------------------------------------------------------------------------------


def play_edits(seed, rules, invariant=None, with_start=False, steps=250):
    """A flier that places and breaks a lot; yields the worlds after every step."""
    rng = np.random.default_rng(seed)
    controls = Controls("flying")
    start = structure(rng, 10) if with_start else None
    task = Task("", structure(rng, 12, spread=3), starting_grid=start, invariant=invariant)
    worlds = Worlds(1)
    worlds.spawn(0, task, rules, pose=(0, 2, 0, 0, -60))
    yield task, worlds
    for _ in range(steps):
        action = {
            "movement": rng.uniform(-1, 1, 3),
            "camera": np.array([rng.uniform(-5, 5), rng.uniform(-5, 4)]),
            "inventory": int(rng.integers(4)),
            "placement": int(rng.choice(3, p=[0.3, 0.5, 0.2])),
        }
        worlds.step(controls.encode_batch([action]))
        yield task, worlds


@pytest.mark.parametrize("shifts", ["all", "inside"])
@pytest.mark.parametrize("with_start", [False, True])
@pytest.mark.parametrize("invariant", [None, True, False])
def test_incremental_score_equals_the_definition(shifts, with_start, invariant):
    edits = 0
    for task, worlds in play_edits(7, EpisodeRules(shifts=shifts), invariant, with_start):
        target = Target(task.target_grid, shifts, task.is_invariant, task.full_grid)
        assert worlds.best[0] == target.score(worlds.grid[0])
        assert (worlds.matches[0] == target.match_counts(worlds.grid[0])).all()
        assert worlds.blocks[0] == np.count_nonzero(worlds.grid[0])
        edits += worlds.event[0] in (PLACED, REMOVED)
    assert edits > 40
    assert worlds.inventory[0].sum() + worlds.blocks[0] == 120


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 5), st.floats(0, 5), st.sampled_from(["all", "inside"]))
@settings(max_examples=15)
def test_the_return_is_a_potential(seed, right, wrong, shifts):
    """Of any single-block edits: (right + wrong) Δ(maximal intersection) - wrong Δ(blocks), along the whole way."""
    rules = EpisodeRules(right_scale=right, wrong_scale=wrong, shifts=shifts)
    total, first = 0.0, None
    for task, worlds in play_edits(seed, rules, with_start=seed % 2 == 0, steps=120):
        target = Target(task.target_grid, shifts, task.is_invariant)
        now = target.score(worlds.grid[0]), np.count_nonzero(worlds.grid[0])
        first = first or now
        total += worlds.reward[0]
        potential = (right + wrong) * (now[0] - first[0]) - wrong * (now[1] - first[1])
        assert total == pytest.approx(potential, abs=1e-9)


def test_a_step_without_an_edit_pays_nothing_but_its_cost():
    for _, worlds in play_edits(3, EpisodeRules(step_cost=0.25)):
        if worlds.steps[0] and worlds.event[0] not in (PLACED, REMOVED):
            assert worlds.reward[0] == -0.25


def test_size_reward_is_the_gain_of_the_best_so_far():
    best = total = 0
    for _, worlds in play_edits(11, EpisodeRules(size_reward=True)):
        best = max(best, int(worlds.best[0]))
        total += worlds.reward[0]
        assert worlds.reward[0] >= 0
        assert total == best
    assert best >= 2


def test_rewards_stay_as_they_were_until_the_target_is_completed():
    plain, more = (
        [(float(worlds.reward[0]), bool(worlds.terminated[0])) for _, worlds in play_edits(11, rules)]
        for rules in (
            EpisodeRules(completion="cover"),
            EpisodeRules(completion="cover", completion_reward=10.0),
        )
    )
    assert more == [(reward + 10.0 * done, done) for reward, done in plain]


@pytest.mark.slow
@pytest.mark.parametrize("completion", ["exact", "cover"])
def test_completion_equals_its_definition(completion):
    """After random edits around small targets, compared with a look at all alignments with NumPy."""
    ends = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        target = structure(rng, 2, colors=1, spread=1, layers=1)
        start = structure(rng, 2, colors=1, spread=1, layers=1) if seed % 2 else None
        task = Task("", target, starting_grid=start, invariant=seed % 3 == 0 or None)
        worlds = Worlds(1)
        worlds.spawn(0, task, EpisodeRules(completion=completion))
        for _ in range(40):
            x, z, color = rng.integers(-1, 1), rng.integers(-1, 1), rng.choice([0, 0, 1])
            set_block(worlds.state[0], x, -1, z, color)
            expected = done(worlds.grid[0], task, completion)
            assert complete(worlds.state[0]) == expected
            ends.append(expected)
    assert 20 < sum(ends) < len(ends) - 20


def done(grid, task, completion):
    """Exact: some admissible alignment is the target itself. Cover: some alignment has every asked change."""
    allowed = admissible(task.target_grid, False, task.is_invariant)
    if completion == "cover":
        return covered(grid, task.start_grid, task.target_grid, allowed)
    sizes = {np.count_nonzero(grid), np.count_nonzero(task.target_grid)}
    return sizes == {match_counts(grid, task.target_grid)[allowed].max()}
