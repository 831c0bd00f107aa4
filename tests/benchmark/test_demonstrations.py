"""Demonstrations: the expert's games have what the level shows, in its own actions, and a split of their own."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from requirements import ROOT, require

from iglu_marl import AgentError, ConfigError, StateError, Task
from iglu_marl.benchmark import find, make
from iglu_marl.benchmark.demonstrations import demonstrate, grid_actions, observed, write_demonstrations
from iglu_marl.benchmark.splits import in_split


@pytest.mark.parametrize(
    ("name", "games"),
    [
        ("see-ground-v2", 6),
        ("symbols-two-v2", 4),
        ("told-ground-v2", 2),
    ],
)
def test_an_expert_completes_the_tasks_with_the_actions_of_the_level(name: str, games: int) -> None:
    level = find(name).fold(2)
    found = demonstrate(level, "train", games)
    assert len(found) == games
    for game, fields in zip(found, observed(level, "train", found), strict=True):
        steps = len(fields["rewards"])
        assert fields["terminations"] == [False] * (steps - 1) + [True]
        assert steps <= level.max_steps
        assert in_split(game.task, level.held_out, "train")
        assert {len(part) for part in fields["observations"].values()} == {steps + 1}
    single = make(level, "train")
    seen = single.reset(seed=found[0].seed, options={"task": found[0].task})[0]
    first = next(observed(level, "train", found[:1]))
    own = seen["builder_0"] if level.is_pair else seen
    assert all(np.array_equal(first["observations"][key][0], own[key]) for key in own)


def test_grid_actions_are_shortest() -> None:
    below = Task("", [(0, -1, -1, 3)], invariant=False)
    assert grid_actions(below) == [4, 13]  # look down, place green
    assert len(grid_actions(Task("", [(0, -1, 1, 3)], invariant=False))) == 3
    with pytest.raises(AgentError, match="grid actions do not reach"):
        grid_actions(Task("", [(0, 6, 0, 3)], invariant=False))


@pytest.mark.parametrize("name", ["see-ground-v2", "told-ground-v2", "symbols-two-v2"])
def test_the_environment_of_demonstrations_is_recovered(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an episode's options, its actions give its observations, rewards and ends again."""
    require("minari", importlib.util.find_spec("minari") is not None, "Minari is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    import minari

    write_demonstrations(name, "iglu/games-v1", "test", games=3, fold=1)
    dataset: Any = minari.load_dataset("iglu/games-v1")
    env = dataset.recover_environment()
    assert (env.observation_space, env.action_space) == (dataset.observation_space, dataset.action_space)
    tasks = set()
    for episode, facts in zip(dataset, dataset.storage.get_episode_metadata(range(3)), strict=True):
        observation, _ = env.reset(seed=facts["seed"], options=facts["options"])
        tasks.add(facts["task"])
        for step, reward in enumerate(episode.rewards):
            assert all(
                np.array_equal(value[step], observation[key]) for key, value in episode.observations.items()
            )
            assert env.observation_space.contains(observation)
            observation, paid, terminated, _, _ = env.step(episode.actions[step])
            assert (paid, terminated) == (reward, episode.terminations[step])
        assert all(np.array_equal(value[-1], observation[key]) for key, value in episode.observations.items())
        with pytest.raises(StateError):
            env.step(episode.actions[0])
    assert len(tasks) > 1
    again, other = env.reset(seed=5)[0], env.reset(seed=5)[0]
    assert all(np.array_equal(again[key], other[key]) for key in again)
    env.close()


def test_the_environment_of_another_level_is_not_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A level of one's own has the name of another one."""
    require("minari", importlib.util.find_spec("minari") is not None, "Minari is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    level = dataclasses.replace(find("see-ground-v2"), max_steps=23)
    dataset: Any = write_demonstrations(level, "iglu/games-v1", games=1)
    with pytest.raises(ConfigError, match=level.fold(0).digest):
        dataset.recover_environment()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("minari", importlib.util.find_spec("minari") is not None, "Minari is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    words = ["see-ground-v2", "--games", "3", "--split", "test", "--fold", "2", "--json"]
    command = [sys.executable, "-m", "benchmarks.demonstrate", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    made = json.loads(done.stdout)
    assert (made["dataset"], made["episodes"]) == ("iglu/see-ground-test-fold2-v2", 3)
    assert (tmp_path / "iglu" / "see-ground-test-fold2-v2").is_dir()
