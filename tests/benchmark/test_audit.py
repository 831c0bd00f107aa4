"""Audits: controls that find what can be had without sense, and levels that do not pass."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.audits import _imitated, audit, is_defined, write_audits
from benchmarks.baselines import (
    BuilderGames,
    cells_of_tasks,
    climbed,
    expert_actions,
    features_for,
    imitate,
    open_loop,
    random_play,
)
from iglu_marl import DataError, Task
from iglu_marl.benchmark import Level, find, levels
from iglu_marl.benchmark.audits import CONTROLS, Audit, read_audits
from iglu_marl.benchmark.splits import NEAR, HeldOut, PlacedBlocks, Turned, content_digest, some_of

EASY = dataclasses.replace(
    find("see-ground-v2"), content=PlacedBlocks(), max_steps=6
)  # 4 cells, one direction
TOLD = dataclasses.replace(
    EASY,
    content=Turned(PlacedBlocks(wordings=4)),
    sees=("grid", "pose", "inventory", "dialog"),
    sees_target=False,
)
# What a blind player solves: two colours of one block in one place, and as many tries as there is time for.
GIVEN_AWAY = dataclasses.replace(
    EASY,
    name="see-nothing-v0",
    content=PlacedBlocks(NEAR[:1], (1, 2, 5)),
    held_out=(HeldOut("squares", 3),),
    spare=None,
)


@pytest.mark.slow
def test_a_level_that_a_blind_player_solves_does_not_pass() -> None:
    found = audit(GIVEN_AWAY, budget=30_000, games=1, controls=("random", "open loop", "oracle"))
    assert (found.tasks, found.chance) == (2, 0.5)
    assert found.shares["open loop"] == 1.0  # one colour, break, the other
    assert not found.passes
    honest = audit(dataclasses.replace(GIVEN_AWAY, spare=0), budget=6000, games=1, controls=("open loop",))
    assert honest.shares["open loop"] == 0.5
    assert honest.passes


def test_controls_are_defined_where_they_take_something_away() -> None:
    undefined = {
        "see-ground-v2": {"muted", "scrambled", "scripted"},
        "told-ground-v2": {"blind"},
        "pictures-structures-v2": {"blind"},
        "symbols-two-v2": {"blind", "scrambled", "scripted"},
        "symbols-ground-v2": {*CONTROLS} - {"random", "oracle"},
    }
    for name, missing in undefined.items():
        assert {control for control in CONTROLS if not is_defined(find(name), control)} == missing, name


def test_the_learner_of_the_controls_learns_what_it_sees() -> None:
    """So that it means something when it does not learn what it cannot see."""
    tasks, actions = expert_actions(EASY, list(EASY.tasks("train")))
    sighted = imitate(EASY, tasks, actions, ("grid", "pose", "target"), 0)
    assert sighted.successes(tasks).all()
    assert imitate(EASY, tasks, actions, ("grid", "pose"), 0).successes(tasks).sum() <= 1


def test_controls_are_decided_by_their_seed() -> None:
    tasks = some_of(EASY.tasks("train"), 10)
    assert random_play(EASY, tasks, 20, 1) == random_play(EASY, tasks, 20, 1)
    assert open_loop(EASY, tasks, 3000, 1) == open_loop(EASY, tasks, 3000, 1) <= 0.1
    first, second, third = (
        imitate(EASY, *expert_actions(EASY, tasks), (), seed, updates=2) for seed in (2, 2, 3)
    )
    assert all(map(np.array_equal, first.weights, second.weights))
    assert not np.array_equal(first.weights[0], third.weights[0])


def test_a_sequence_is_climbed_to() -> None:
    """Each of six actions that is in its place completes an episode."""
    wanted = np.arange(6)
    assert climbed(lambda tried: (tried == wanted, (int((tried == wanted).sum()), 0.0)), 6, 6, 2000, 0).all()
    assert climbed(lambda tried: (tried == wanted, (int((tried == wanted).sum()), 0.0)), 6, 6, 1, 0).sum() < 6


class Posed(PlacedBlocks):
    """One block, with a start direction for each task."""

    def all(self) -> tuple[Task, ...]:
        """Return all tasks."""
        tasks = super().all() or ()
        return tuple(task.replace(pose=(0, 0, 0, 0, number)) for number, task in enumerate(tasks))


def test_no_start_gives_a_measured_task_away() -> None:
    """Where starts differ, a learner without the message could recognise the tasks that it was trained on."""
    place, layers = TOLD, find("pictures-layers-v2")
    assert _imitated(place, 9) == list(place.tasks("test")), "each target from each start"
    tested = some_of(layers.tasks("test"), 8)
    assert not set(map(content_digest, _imitated(layers, 8))) & set(map(content_digest, tested))
    posed = dataclasses.replace(place, content=Posed())
    assert not set(map(content_digest, _imitated(posed, 8))) & set(map(content_digest, posed.tasks("test")))


def test_a_wrong_block_ends_the_hope_of_a_success() -> None:
    tasks = [task for task in EASY.tasks("train") if task.target_grid[0, 4, 5] or task.target_grid[0, 5, 4]][
        :4
    ]
    north = [number for number, task in enumerate(tasks) if task.target_grid[0, 5, 4]]
    games = BuilderGames(
        EASY, len(tasks), features_for(EASY, ("pose", "grid", "target"), cells_of_tasks(tasks))
    )
    games.begin(tasks)
    games.step(np.full(len(tasks), 4))  # look down
    colors = np.array([int(task.target_grid.max()) for task in tasks])
    features, rewards = games.step(10 + colors)  # each its colour, all of them in the north
    assert np.flatnonzero(games.success).tolist() == north
    assert not games.playing.any()
    assert (rewards > 0).tolist() == games.success.tolist()
    assert features.shape == (len(tasks), 6 + 2 * (7 * int(cells_of_tasks(tasks).sum()) + 6))
    assert games.step(np.zeros(len(tasks), int))[1].tolist() == [0.0] * len(tasks)


def test_a_control_has_power_where_its_learner_succeeds_with_everything() -> None:
    found = audit(EASY, controls=("blind", "full"))
    assert found.shares["blind"] <= found.chance < found.shares["full"]
    assert found.verdict == "passes"
    weak = found._replace(shares={**found.shares, "full": found.shares["blind"]})
    assert (weak.passes, weak.verdict) == (True, "no power")
    assert found._replace(shares={**found.shares, "blind": 0.9}).verdict == "fails"


# ----------------------------------------------------------------------------------------------------------- files


def test_audits_are_added_to_their_file(tmp_path: Path) -> None:
    path = tmp_path / "audits.json"
    first = Audit("a-v0", "0" * 12, 4, 0.25, {"random": 0.1})
    second = first._replace(level="b-v0", shares={"timed": 0.5})
    write_audits([first], path)
    write_audits([second], path)
    assert read_audits(path) == {"a-v0": first, "b-v0": second}
    assert (first.passes, second.passes) == (True, False)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "version": 99}))
    with pytest.raises(DataError, match="version 99"):
        read_audits(path)
    path.write_text("[")
    with pytest.raises(DataError, match=r"audits\.json is no file of audits"):
        read_audits(path)


@pytest.mark.parametrize("level", levels(), ids=lambda level: level.name)
def test_a_level_has_passed_its_audit_as_it_is(level: Level) -> None:
    """The file is made by `python -m benchmarks.audit --output iglu_marl/benchmark/audits.json`."""
    if not is_defined(level, "oracle"):
        pytest.skip("teams and strangers have controls of their own")
    known = read_audits()[level.name]
    assert known.digest == level.digest
    assert known.passes
    assert known.shares["oracle"] >= 0.9
