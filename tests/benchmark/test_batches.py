"""Games side by side: the same outcomes as one by one, with live architects and with players of many games."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from iglu_marl import ConfigError, Role, Task
from iglu_marl.agents.scripted.architect import ScriptedArchitect
from iglu_marl.benchmark import find, make, run, verify
from iglu_marl.benchmark.catalog import Level, builder_env
from iglu_marl.benchmark.splits import SPLITS, HeldOut, PlacedBlocks

LIVE = dataclasses.replace(
    find("pictures-structures-v2"),
    max_steps=70,
    sees=("grid", "pose", "dialog"),
    architects=dict.fromkeys(SPLITS, ("scripted",)),
)
ENUMERATED = dataclasses.replace(LIVE, content=PlacedBlocks(), held_out=(HeldOut("squares", 6),))


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("level", [LIVE, ENUMERATED], ids=["endless", "enumerated"])
def test_live_architects_say_in_many_worlds_what_they_say_in_one(level: Level, mode: AutoresetMode) -> None:
    many = make(level, num_envs=3, autoreset_mode=mode)
    singles = SyncVectorEnv([lambda: builder_env(level, "train")] * 3, autoreset_mode=mode)
    rng, heard = np.random.default_rng(0), set()
    ours, theirs = many.reset(seed=5)[0], singles.reset(seed=5)[0]
    for _ in range(150):
        assert set(ours) == set(theirs)
        assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
        heard |= {tuple(row) for row in ours["dialog"]}
        actions = rng.integers(18, size=3)
        ours, *outcomes, _ = many.step(actions)
        theirs, *expected, _ = singles.step(actions)
        assert all(np.array_equal(one, other) for one, other in zip(outcomes, expected, strict=True))
    assert len(heard) >= 6


def test_architects_of_vector_environments_by_name() -> None:
    envs: Any = gym.make_vec(
        "IGLUGridworldVector-v0", num_envs=2, turn_steps=5, make_architect=ScriptedArchitect
    )
    seen, _ = envs.reset(seed=0)
    assert all(text.startswith("<Architect> ") for text in seen["dialog"])
    with pytest.raises(ConfigError, match="expected both or none"):
        gym.make_vec("IGLUGridworldVector-v0", num_envs=2, architect=ScriptedArchitect())


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_every_world_with_a_live_architect_samples_all_tasks(mode: AutoresetMode) -> None:
    """Each of 4 tasks in about a quarter of a world's 40 episodes, as far as chance goes (4 standard deviations)."""
    tasks = [Task(str(number), [(number, -1, 0, 1)]) for number in range(4)]
    envs: Any = gym.make_vec(
        "IGLUGridworldVector-v0", num_envs=2, tasks=tasks, max_steps=1, autoreset_mode=mode,
        make_architect=ScriptedArchitect,
    )  # fmt: skip
    envs.reset(seed=3)
    played = []
    for _ in range(40):
        played.append([tasks.index(task) for task in envs.tasks])
        for _ in range(2 if mode is AutoresetMode.NEXT_STEP else 1):
            envs.step(np.zeros(2, np.int64))
    for world in zip(*played, strict=True):
        counts = np.bincount(world, minlength=4)
        assert (abs(counts - 10) < 4 * np.sqrt(40 * 0.25 * 0.75)).all(), counts
    assert len({*zip(*played, strict=True)}) == 2


class Cheering(ScriptedArchitect):
    """A user's architect, which speaks every third time."""

    turns = 0

    def act(self, observation: Any) -> Any:
        self.turns += 1
        return super().act(observation) or "Go on!" * (self.turns % 3 == 0)


def test_an_architect_with_an_act_of_its_own_is_asked_each_turn() -> None:
    envs: Any = gym.make_vec("IGLUGridworldVector-v0", num_envs=1, turn_steps=2, make_architect=Cheering)
    envs.reset(seed=0)
    for _ in range(12):
        seen, *_ = envs.step(np.zeros(1, np.int64))
    assert seen["dialog"][0].count("Go on!") == 2


class Guessing:
    """A player of many games whose actions depend on all that it observes."""

    def __init__(self, env: Any) -> None:
        space = env.action_space if isinstance(env, gym.Env) else env.action_space("builder_0")
        self.asks = isinstance(space, gym.spaces.Dict)
        own: Any = space["act"] if isinstance(space, gym.spaces.Dict) else space
        self.silence = np.zeros(space["say"].shape if self.asks else own.shape, np.int64)
        self.actions = int(own.nvec[0] if isinstance(own, gym.spaces.MultiDiscrete) else own.n)
        self.count = self.step = 0

    def begin(self, count: int, seed: int) -> None:
        self.count, self.step = count, 0

    def act(self, observations: Any) -> Any:
        self.step += 1
        parts = [np.asarray(observations[key]) for key in sorted(observations) if key != "pov"]
        sums = sum(part.reshape(self.count, -1).astype(np.float64).sum(axis=1).round(1) for part in parts)
        acts = (7 * self.step + np.abs(sums)).astype(np.int64) % self.actions
        if self.step <= 2:  # look down, and place a block
            acts = np.full(self.count, 4) if self.step == 1 else 11 + acts % 6
        silence = np.broadcast_to(self.silence, (self.count, *self.silence.shape))
        if self.asks:
            return {"act": acts, "say": silence}
        return np.concatenate([acts[:, None], silence[:, 1:]], axis=1) if self.silence.shape else acts


class Alone(Guessing):
    """The same as a player of one game."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.reset = lambda role, seed: Guessing.begin(self, 1, 0)
        self.begin = None  # type: ignore[assignment]  # no player of many games

    def act(self, observation: Any) -> Any:
        chosen = super().act({key: np.asarray(value)[None] for key, value in observation.items()})
        return {key: value[0] for key, value in chosen.items()} if self.asks else chosen[0]

    def close(self) -> None:
        pass


LEVELS = ("see-ground-v2", "told-ground-v2", "pictures-ground-v2", "symbols-two-v2")


@pytest.mark.parametrize("name", LEVELS)
def test_players_of_many_games_get_the_results_of_single_games(name: str, tmp_path: Path) -> None:
    level, path = find(name), tmp_path / "kept.json"
    many, single = (("random", player) if level.is_pair else player for player in (Guessing, Alone))
    together = run(level, [many, many], episodes=13, output=path, record=True)
    alone = run(level, [single, single], episodes=13)
    assert together.rows == alone.rows
    assert together.runs == alone.runs
    assert any(row.changes for row in together.rows) or name != "see-ground-v2"
    assert verify(path) == 26 * (1 + len(together.runs[0].controls))


def test_a_live_level_is_played_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    found = run("pictures-structures-v2", [Guessing], episodes=2, controls=False, output=path, record=True)
    assert {row.steps for row in found.rows} == {find("pictures-structures-v2").max_steps}
    assert verify(path) == 2
    assert Role.BUILDER.value in path.with_suffix(".games.jsonl").read_text()
