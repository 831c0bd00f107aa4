"""Metrics against independent brute force, and against cases worked out by hand."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_scores
from hypothesis import given
from hypothesis import strategies as st

from iglu_marl import ConfigError, Dialogue, GridError, Role, Task, Trajectory
from iglu_marl.core.edits import net_actions
from iglu_marl.core.grid import NetAction, blocks_to_grid
from iglu_marl.core.scoring import Counts, micro
from iglu_marl.evaluation.metrics import (
    PROPERTIES,
    about_skills,
    action_counts,
    bootstrap,
    change_counts,
    clustered,
    clusters_text,
    exact_match,
    game_metrics,
    iglu2022_counts,
    intersection_counts,
    properties,
    share_interval,
    skills,
    talk_counts,
)

Blocks = dict[tuple[int, int, int], int]

near = st.tuples(st.integers(-2, 2), st.integers(-1, 1), st.integers(-2, 2))
structures = st.dictionaries(near, st.integers(1, 3), max_size=12)


def grid(blocks: Blocks) -> Any:
    return blocks_to_grid([(*cell, color) for cell, color in blocks.items()])


# ---------------------------------------------------------------------------------------------- brute force


def official_f1(start: Any, target: Any, built: Any, corrected: bool) -> float:
    """The score of IGLU 2022, from its description: F1 of the difference at the first best alignment."""
    asked, made = target - start, built - start
    allowed = reference_scores.admissible(asked, True, True)
    counts = reference_scores.match_counts(made if corrected else built, asked) * allowed
    best = np.argwhere(counts == counts.max())[0] if counts.max() else (0, 10, 10)
    right = reference_scores.match_counts(made, asked)[tuple(best)]
    total = np.count_nonzero(asked) + np.count_nonzero(made)
    return float(2 * right / total) if total else 1.0


@pytest.mark.parametrize("corrected", [False, True])
def test_the_score_of_2022_is_that_of_its_description(corrected: bool) -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        start, target, built = (
            rng.integers(0, 7, (3, 9, 11, 11)) * (rng.random((3, 9, 11, 11)) < 0.006)
        ).astype(int)
        built[:, 4:7, 4:7] = target[:, 4:7, 4:7]
        found = iglu2022_counts(start, target, built, corrected=corrected).f1
        assert found == pytest.approx(official_f1(start, target, built, corrected))
        assert iglu2022_counts(start, target, start, corrected=corrected).f1 == 0.0
        assert iglu2022_counts(start, target, target, corrected=True).f1 == 1.0


def test_the_tool_of_2022_may_align_a_perfect_build_with_the_start() -> None:
    """A red block is placed beside two: on the whole build the first shift with a match is that of another one."""
    start = grid({(0, -1, 0): 6, (0, -1, 1): 6})
    target = grid({(0, -1, 0): 6, (0, -1, 1): 6, (-3, -1, 0): 6})
    assert iglu2022_counts(start, target, target) == (0, 1, 1)
    assert iglu2022_counts(start, target, target, corrected=True) == (1, 1, 1)


def test_clusters_are_drawn_together() -> None:
    above, below = [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0]
    found = clustered(above, below, ["a", "b", "a", "b"], rng=1)
    assert found == bootstrap([4.0, 6.0], [6.0, 8.0], rng=1)
    assert clusters_text([("C1", "t"), ("C1", "u"), ("", "v")]) == "1 structure and 1 task"


def test_a_build_with_more_than_the_target_is_no_match() -> None:
    target, more = blocks_to_grid([(0, -1, 0, 1)]), blocks_to_grid([(0, -1, 0, 1), (2, -1, 0, 1)])
    found = [exact_match(built, target) for built in (target, more, np.zeros_like(target))]
    assert found == [True, False, False]


@pytest.mark.slow
@given(structures, structures, structures)
def test_changes_are_counted_cell_by_cell(start: Blocks, target: Blocks, built: Blocks) -> None:
    every = start.keys() | target.keys() | built.keys()
    made = {cell for cell in every if start.get(cell, 0) != built.get(cell, 0)}
    asked = {cell for cell in every if start.get(cell, 0) != target.get(cell, 0)}
    right = {cell for cell in made & asked if built.get(cell, 0) == target.get(cell, 0)}
    counts = change_counts(grid(start), grid(target), grid(built))
    assert counts == (len(right), len(made), len(asked))


@pytest.mark.slow
@given(structures, structures, structures)
def test_net_actions_are_counted_as_sets(start: Blocks, target: Blocks, built: Blocks) -> None:
    def actions(after: Blocks) -> set[tuple[str, tuple[int, int, int], int]]:
        gone = {("remove", cell, color) for cell, color in start.items() if after.get(cell) != color}
        come = {("place", cell, color) for cell, color in after.items() if start.get(cell) != color}
        return gone | come

    counts = action_counts(grid(start), grid(target), grid(built))
    assert counts == (len(actions(target) & actions(built)), len(actions(built)), len(actions(target)))


@given(structures, structures, st.integers(0, 3), st.integers(-2, 2), st.integers(-2, 2))
def test_free_changes_do_not_care_where_the_build_stands(
    built: Blocks, target: Blocks, turns: int, dx: int, dz: int
) -> None:
    moved = dict(built)
    for _ in range(turns):
        moved = {(z, y, -x): color for (x, y, z), color in moved.items()}
    moved = {(x + dx, y, z + dz): color for (x, y, z), color in moved.items()}
    nothing = grid({})
    assert change_counts(nothing, grid(target), grid(moved), invariant=True) == change_counts(
        nothing, grid(target), grid(built), invariant=True
    )
    # Without starting blocks, changes are the blocks.
    assert change_counts(nothing, grid(target), grid(built), invariant=True) == intersection_counts(
        grid(built), grid(target)
    )


# --------------------------------------------------------------------------------------------------- by hand


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (Counts(3, 4, 6), (0.75, 0.5, 0.6)),
        (Counts(0, 0, 0), (1.0, 1.0, 1.0)),  # nothing asked, nothing made
        (Counts(0, 0, 2), (0.0, 0.0, 0.0)),
        (Counts(0, 3, 0), (0.0, 0.0, 0.0)),
        (Counts(2, 2, 2), (1.0, 1.0, 1.0)),
    ],
)
def test_scores_of_counts(counts: Counts, expected: tuple[float, float, float]) -> None:
    assert (counts.precision, counts.recall, counts.f1) == pytest.approx(expected)


def test_a_recolouring_is_one_change_and_two_net_actions() -> None:
    start, target = grid({(0, -1, 0): 1, (1, -1, 0): 2}), grid({(0, -1, 0): 6, (2, -1, 0): 3})
    asked = {
        NetAction(False, 0, -1, 0, 1),
        NetAction(True, 0, -1, 0, 6),
        NetAction(False, 1, -1, 0, 2),
        NetAction(True, 2, -1, 0, 3),
    }
    assert net_actions(start, target) == asked
    built = grid({(0, -1, 0): 6, (1, -1, 0): 2, (2, -1, 0): 4})  # recoloured, not removed, wrong colour
    assert change_counts(start, target, built) == (1, 2, 3)
    assert action_counts(start, target, built) == (2, 3, 4)


def test_the_micro_average_is_of_sums_and_not_of_scores() -> None:
    games = [Counts(1, 1, 1), Counts(0, 1, 9)]
    assert micro(games) == (1, 2, 10)
    assert micro(games).f1 == pytest.approx(2 / 12)
    assert np.mean([game.f1 for game in games]) == 0.5
    assert micro([]) == (0, 0, 0)


def test_the_full_grid_bounds_shifts_inside() -> None:
    built, target = grid({(3, -1, 0): 1}), grid({(0, -1, 0): 1})
    wide = grid({(0, -1, 0): 1, (3, -1, 0): 2, (-3, -1, 0): 2, (0, -1, 5): 1, (0, -1, -5): 1})
    assert intersection_counts(built, target, shifts="inside").right == 1
    assert intersection_counts(built, target, shifts="inside", full_grid=wide).right == 0


def test_talk_is_counted() -> None:
    said = Dialogue().say(Role.ARCHITECT, "Place a red block.").say(Role.BUILDER, "Where? And how high?")
    said = said.say(Role.ARCHITECT, "In the\nmiddle").say(Role.BUILDER, "Done.")
    assert talk_counts(said) == (2, 7, 1)
    assert talk_counts(Dialogue()) == (0, 0, 0)


def test_bad_grids_are_refused() -> None:
    with pytest.raises(GridError, match="before has shape"):
        net_actions(np.zeros((3, 3)), np.zeros((9, 11, 11)))
    with pytest.raises(GridError, match="color id"):
        change_counts(np.full((9, 11, 11), 9), np.zeros((9, 11, 11)), np.zeros((9, 11, 11)))
    with pytest.raises(GridError, match="no grid"):
        game_metrics(Trajectory(Task("", [(0, -1, 0, 1)]), 0))


# ---------------------------------------------------------------------------------------------------- skills

ROW = {(x, -1, 0): 1 for x in range(3)}
TOWER = {(0, y, 0): 1 for y in range(-1, 3)}


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ({}, ()),
        (ROW, ("on-ground",)),
        ({(0, -1, 0): 1, (0, 0, 0): 1}, ()),
        ({(0, -1, 0): 1, (0, 0, 0): 1, (0, 1, 0): 1}, ()),  # the third layer: in a jump
        (TOWER, ("high",)),
        ({(0, 0, 0): 1}, ("floating",)),
        ({(0, -1, 0): 1, (0, 1, 0): 1}, ("floating",)),
        ({(0, -1, 0): 1, (1, 0, 0): 1}, ("floating", "edge-joined")),
        ({(0, -1, 0): 1, (1, -1, 1): 1}, ("on-ground",)),  # diagonal on the ground only
        ({(0, -1, 0): 1, (1, -1, 0): 1, (1, 0, 0): 1}, ()),  # an edge, but with a block between
        ({(0, -1, 0): 1, (0, 0, 0): 1, (1, 0, 0): 1}, ("enclosed",)),  # hangs
        ({(0, -1, z): 1 for z in (0, 2)} | {(0, 0, z): 1 for z in range(3)}, ("enclosed",)),  # an arch
        ({(0, -1, 0): 1, (0, 0, 0): 1, (1, 1, 0): 1, (2, -1, 0): 1}, ("floating", "edge-joined")),
    ],
)
def test_properties_of_small_structures(blocks: Blocks, expected: tuple[str, ...]) -> None:
    assert properties(grid(blocks)) == expected


def test_a_hidden_block_is_enclosed() -> None:
    heap = {(x, -1, z): 1 for x in (-1, 0, 1) for z in (-1, 0, 1)}
    assert properties(grid(heap)) == ("on-ground",)
    assert properties(grid({**heap, (0, 0, 0): 1})) == ("enclosed",)
    open_side = {cell: color for cell, color in heap.items() if cell != (1, -1, 0)}
    assert properties(grid({**open_side, (0, 0, 0): 1})) == ()


def test_properties_are_of_what_is_to_be_placed() -> None:
    assert properties(grid({**TOWER, (3, -1, 0): 2}), grid(TOWER)) == ("on-ground",)
    assert properties(grid({**TOWER, (0, 3, 0): 2}), grid(TOWER)) == ("high",)
    assert properties(grid(ROW), grid({**ROW, **TOWER})) == ()  # only removals
    assert set(PROPERTIES) == {"on-ground", "floating", "edge-joined", "enclosed", "high"}


def test_skills_are_the_competitions_where_its_labels_are_on_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path))
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path))
    assert skills(grid(ROW), structure="C7") == ("on-ground",)
    assert "not the competition's" in about_skills(["on-ground", "plain"])
    (tmp_path / "skills.yaml").write_text(
        "C7: [tricky, flying, tall, diagonal, colors: 2]\nC8: [colors: 2]\n"
    )
    assert skills(grid(ROW), structure="c7") == ("flying", "diagonal", "tricky", "tall")
    assert skills(grid(ROW), structure="C8") == ()
    assert skills(grid(ROW), structure="bridge") == skills(grid(ROW)) == ("on-ground",)
    assert about_skills(["flying"]).startswith(
        "flat, flying, diagonal, tricky, tall: the competition's labels"
    )


# ------------------------------------------------------------------------------------------------- intervals


def all_resamples(above: list[float], below: list[float]) -> list[float]:
    """The ratio of sums of every one of the n^n resamples."""
    found = []
    for drawn in itertools.product(range(len(above)), repeat=len(above)):
        if total := sum(below[number] for number in drawn):
            found.append(sum(above[number] for number in drawn) / total)
    return found


@pytest.mark.parametrize("below", [None, [2.0, 1.0, 0.0, 4.0, 1.0]])
def test_intervals_are_those_of_all_resamples(below: list[float] | None) -> None:
    above = [2.0, 0.5, 0.0, 1.0, 1.0]
    exact = all_resamples(above, below or [1.0] * 5)
    value, low, high = bootstrap(above, below, resamples=20_000, rng=1)
    assert value == pytest.approx(sum(above) / sum(below or [1.0] * 5))
    assert (low, high) == pytest.approx(tuple(np.quantile(exact, [0.025, 0.975])), abs=0.03)


def test_intervals_cover_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        _, low, high = bootstrap(rng.random(60), resamples=300, rng=rng)
        hits += low <= 0.5 <= high
    assert 0.88 <= hits / 300 <= 0.99


def test_intervals_at_the_edges() -> None:
    assert bootstrap([1.0, 1.0, 1.0]) == (1.0, 1.0, 1.0)
    assert np.isnan(bootstrap([], [])).all()
    assert bootstrap([2.0], [4.0])[0] == 0.5
    assert np.isnan(bootstrap([2.0], [4.0])[1:]).all(), "one entry has nothing to vary with"
    told = [bootstrap(values).text() for values in ([0.5, 0.5], [0.5], [])]
    assert told == ["0.500 (0.500–0.500)", "0.500", "–"]
    assert np.isnan(bootstrap([0.0, 0.0], [0.0, 0.0])).all()
    assert bootstrap([1, 0, 1], rng=3) == bootstrap([1, 0, 1], rng=3)
    many = np.zeros(3_000_000)  # more than a block of draws
    assert bootstrap(many, resamples=2) == (0.0, 0.0, 0.0)
    for wrong in ({"resamples": 0}, {"denominators": [1.0]}):
        with pytest.raises(ConfigError):
            bootstrap([1.0, 2.0], **wrong)


# -------------------------------------------------------------------------------------------------- one game


def test_all_metrics_of_a_game() -> None:
    target, built = grid({**ROW, (0, 0, 0): 2}), grid({(x, -1, z): 1 for x, z in ((2, 2), (2, 3), (2, 4))})
    said = Dialogue().say(Role.ARCHITECT, "Put three blocks").say(Role.BUILDER, "Where?")
    game = Trajectory(
        Task("", target),
        0,
        returns={Role.BUILDER: 6.0},
        dialogue=said,
        grid=np.array(built),
        builder_steps=40,
        architect_turns=2,
    )
    found = game_metrics(game)
    assert found["blocks"] == [3, 3, 4]  # turned and shifted
    assert found["actions"] == [0, 3, 4]  # at their very cells
    assert (found["precision"], found["recall"], found["f1"]) == pytest.approx((1.0, 0.75, 6 / 7))
    assert found["change_f1"] == found["f1"]
    assert not found["exact"]
    assert not found["completed"]
    assert {name: found[name] for name in ("steps", "turns", "words", "questions", "return")} == {
        "steps": 40, "turns": 2, "words": 3, "questions": 1, "return": 6.0
    }  # fmt: skip
    game.task = Task("", target, starting_grid=grid({(0, 0, 0): 2}))  # the frame is fixed now
    assert game_metrics(game)["changes"] == [0, 4, 3]


def test_wilsons_interval_of_a_share() -> None:
    """Against values of statsmodels' proportion_confint(method="wilson")."""
    assert share_interval(0.8, 10) == pytest.approx((0.8, 0.490163, 0.943318), abs=1e-6)
    none, every = share_interval(0.0, 20), share_interval(1.0, 20)
    assert none == pytest.approx((0.0, 0.0, 0.161125), abs=1e-6)
    assert (every.low, every.high) == pytest.approx((1 - none.high, 1.0))
    with pytest.raises(ConfigError, match="count is 0"):
        share_interval(0.5, 0)
    with pytest.raises(ConfigError, match=r"found is 1\.2, expected a number in 0\.\.1"):
        share_interval(1.2, 3)
