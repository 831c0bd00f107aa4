"""`shaping` and small observations: equal in every view, paid to builders alone, and never counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probing import LONE_VIEWS, PAIR_VIEWS, driven

import iglu_marl
from iglu_marl import ConfigError, GameConfig, Recorder, Task, Worlds
from iglu_marl.agents import RandomBuilder, agents_for
from iglu_marl.core.controls import Controls
from iglu_marl.envs import LiveGame, VectorGame
from iglu_marl.evaluation.metrics import game_metrics
from iglu_marl.game.config import SHAPING
from iglu_marl.language.goals import GoalTask
from iglu_marl.recording import read_recording, replay

VECTOR = "IGLUGridworldVector-v0"
SMALL = ("aim", "egocentric", "hotbar", "target_egocentric", "wrong_cells")
SEES_ALL = {"builder_0": "all"}
TASK = Task(
    "", [(2, -1, -3, 6), (-2, -1, 0, 1), (-2, 0, 0, 2)], starting_grid=[(4, -1, 4, 3)], invariant=False
)
OPTIONS: dict[str, Any] = {"task": TASK, "pose": (0.0, -0.25, 0.0, 0.0, -30.0)}
ACTIONS = (
    np.random.default_rng(2)
    .choice([1, 1, 1, 2, 3, 4, 11, 12, 13, 13, 13, 14, 15, 16, 17, 17, 6], 120)
    .tolist()
)
CHAT: dict[str, Any] = {"chat": "tokens", "vocabulary": 5, "max_message_length": 1, "dialog_length": 4}
SHOWN: dict[str, Any] = {"builder_sees": SMALL, "egocentric_radius": 2, "max_wrong_cells": 3}
Story = list[tuple[dict[str, Any], float, float | None]]
"""Observation of the builder, its reward, and the architect's, step by step."""


def story(view: str, options: dict[str, Any], builders: int = 1, architects: int = 1) -> Story:
    """The first builder's story in a game of agents that see the target."""
    more: dict[str, Any] = {**options, **SHOWN, "max_steps": len(ACTIONS)}
    if view in LONE_VIEWS:
        more["target_in_obs"] = True
    else:
        chat = CHAT if architects else {"chat": "tokens"}  # without them, nobody speaks
        more |= {**chat, "sees": SEES_ALL, "max_turns": None, "builders": builders, "architects": architects}
    _, act = driven(view, OPTIONS, **more)
    rows: Story = []
    for action in ACTIONS:
        seen, paid, *_ = act(action)
        architect = float(paid["architect_0"]) if "architect_0" in paid else None
        rows.append(({key: seen[key] for key in SMALL}, float(paid["builder_0"]), architect))
    return rows


@pytest.mark.parametrize(
    "options", [{}, {"shaping": True}, {"shaping": {"yaw": 1, "aim": 2}, "shaping_scale": 0.5}], ids=str
)
def test_every_view_shows_and_pays_the_same(options: dict[str, Any]) -> None:
    first = story("single", options)
    own = [reward for _, reward, _ in story("single", {})]
    assert any(own)
    assert bool(options) == ([reward for _, reward, _ in first] != own)
    views = {
        **{view: story(view, options) for view in ("vector", *PAIR_VIEWS)},
        **{f"two builders, {view}": story(view, options, builders=2) for view in PAIR_VIEWS},
        "without architects": story("games", options, architects=0),
    }
    for view, rows in views.items():
        for step, ((seen, reward, paid), (expected, amount, _)) in enumerate(zip(rows, first, strict=True)):
            for key in SMALL:
                np.testing.assert_array_equal(seen[key], expected[key], f"{key} of {view} in step {step}")
            assert reward == pytest.approx(amount, abs=1e-12), (view, step)
            assert paid is None or paid == own[step], (view, step)
    assert {key: value.dtype.name for key, value in first[0][0].items()} == {
        "aim": "float32", "egocentric": "int32", "hotbar": "int32", "target_egocentric": "int32",
        "wrong_cells": "float32",
    }  # fmt: skip


def test_each_builder_of_a_team_is_shaped_by_its_own_pose() -> None:
    options: dict[str, Any] = {
        "builders": 2,
        "shaping": {"yaw": 1},
        "max_steps": None,
        "max_turns": None,
        **CHAT,
    }
    poses = {"builder_0": (0, -0.25, 3, 0, 0), "builder_1": (3, -0.25, 0, 0, 0)}
    start = {"task": Task("", [(0, -1, -4, 6)], invariant=False), "pose": poses}
    env, games = iglu_marl.parallel_env(**options), VectorGame(2, **options)
    env.reset(seed=0, options=start)
    games.reset(seed=0, options=start)
    silence = np.zeros(1, int)
    for first, second in ((12, 12), (13, 0), (0, 12)):
        moves = {"architect_0": silence, "builder_0": first, "builder_1": second}
        _, rewards, _, _, infos = env.step(moves)
        _, many, _, _, more = games.step({agent: np.array([move] * 2) for agent, move in moves.items()})
        turns = {"builder_0": -1 if first == 12 else first == 13, "builder_1": second == 12}
        assert rewards == pytest.approx(
            {"architect_0": 0, **{name: turn * 5 / 90 for name, turn in turns.items()}}
        )
        assert infos["architect_0"]["shaping"] == {name: rewards[name] for name in turns}
        assert "shaping" not in infos["builder_0"]
        for agent, reward in rewards.items():
            assert many[agent].tolist() == [reward] * 2
        assert {name: value[1] for name, value in more["architect_0"]["shaping"].items()} == infos[
            "architect_0"
        ]["shaping"]


def test_infos_tell_it_apart() -> None:
    """Of a lone builder, and of architects who see the whole target."""
    one = gym.make(VECTOR, shaping=True, wrong_scale=0.5)
    many = gym.make_vec(VECTOR, num_envs=2, shaping=True, wrong_scale=0.5)
    games = VectorGame(2, shaping=True, wrong_scale=0.5, **CHAT)
    for env in (one, many, games):
        env.reset(seed=0, options=OPTIONS)
    parts = []
    for action in (12, 17):
        _, reward, _, _, info = one.step(action)
        parts.append((round(reward - info["shaping"], 9), info["shaping"] != 0))
        _, rewards, _, _, infos = many.step(np.full(2, action))
        assert infos["shaping"].tolist() == [info["shaping"]] * 2
        assert rewards.tolist() == [reward] * 2
        _, paid, _, _, found = games.step(
            {"architect_0": np.zeros((2, 1), int), "builder_0": np.full(2, action)}
        )
        assert found["architect_0"]["shaping"].tolist() == [info["shaping"]] * 2
        assert (paid["builder_0"] - paid["architect_0"]).tolist() == pytest.approx([info["shaping"]] * 2)
    assert parts == [(0.0, True), (-0.5, False)]
    assert "shaping" not in gym.make(VECTOR).reset()[1]


# ------------------------------------------------------------------------------------------------------- not counted


def shaped_and_plain(make: Any, **options: Any) -> tuple[Any, Any]:
    return make(**options, shaping=True), make(**options)


@pytest.mark.parametrize(
    "make", [iglu_marl.env, iglu_marl.parallel_env, lambda **more: gym.make(VECTOR, **more)]
)
def test_returns_scores_and_recordings_are_those_of_the_own_game(make: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"tasks": TASK, "max_steps": 300, "builder_sees": ("pose", "grid")}
    results = []
    for number, env in enumerate(shaped_and_plain(make, **options)):
        single = isinstance(env, gym.Env)
        agents: Any = (
            RandomBuilder.for_env(env) if single else agents_for(env, architect="scripted", builder="random")
        )
        path = tmp_path / f"{number}.jsonl"
        with Recorder(path) as recorder:
            game = iglu_marl.play(env, agents, seed=3, options=OPTIONS, on_step=recorder)
        results.append((game_metrics(game), game.returns, [turn.reward for turn in game.turns]))
        assert replay(path).returns == game.returns
        header = read_recording(path)[0].header
        assert "shaping" not in json.dumps(header["config"])
    assert results[0] == results[1]
    assert any(results[0][2])
    texts = [(tmp_path / f"{number}.jsonl").read_bytes() for number in range(2)]
    assert texts[0] == texts[1]


def test_a_wrapped_environment_is_recorded_without_it(tmp_path: Path) -> None:
    with Recorder(tmp_path / "games.jsonl") as recorder:
        env = recorder.wrap(iglu_marl.parallel_env(tasks=TASK, shaping=True, max_steps=4))
        env.reset(seed=0)
        paid = [env.step({"architect_0": "", "builder_0": 13})[1]["builder_0"] for _ in range(4)]
    assert any(paid)
    for recording in read_recording(tmp_path / "games.jsonl"):
        assert replay(recording).returns.get("builder", 0.0) == 0.0
        assert not any(move.rewards for move in recording.moves)


def test_goals_in_words_are_not_shaped() -> None:
    task = GoalTask("There is a red block.", target_grid=TASK.target_grid)
    env = iglu_marl.parallel_env(tasks=task, shaping=True, max_steps=30)
    env.reset(seed=0)
    for _ in range(10):
        _, rewards, *_ = env.step({"architect_0": "", "builder_0": 13})
        assert rewards["architect_0"] == rewards["builder_0"]


# ------------------------------------------------------------------------------------------------------- information


@pytest.mark.parametrize("name", ["wrong_cells", "target_egocentric"])
def test_only_who_sees_the_target_gets_what_is_computed_of_it(name: str) -> None:
    sees = {"builder_sees": (name,)}
    for make in (iglu_marl.env, iglu_marl.parallel_env, LiveGame, lambda **more: VectorGame(2, **more)):
        with pytest.raises(ConfigError, match="needs a builder that sees the whole target"):
            make(**sees)
        with pytest.raises(ConfigError, match="needs a builder that sees the whole target"):
            make(**sees, sees={"builder_0": "layers:0-1"})
        make(**sees, sees=SEES_ALL)
    for lone in (VECTOR, "IGLUSilentBuilder-v0"):
        with pytest.raises(ConfigError, match="needs target_in_obs=True"):
            gym.make(lone, **sees)
        with pytest.raises(ConfigError, match="needs target_in_obs=True"):
            gym.make(lone, config=GameConfig(**sees))
    assert name in gym.make(VECTOR, target_in_obs=True, **sees).observation_space.spaces
    env = iglu_marl.parallel_env("assistant", builder_sees=(name, "grid"))
    assert [name in env.observation_space(agent).spaces for agent in env.possible_agents] == [True, False]


def test_its_forms() -> None:
    assert GameConfig(shaping=True).shaping == SHAPING
    assert GameConfig(shaping=False).shaping is GameConfig().shaping is None
    for make in (LiveGame, lambda **more: gym.make("iglu_marl/LanguageGoal-v0", **more)):
        with pytest.raises(ConfigError, match="shaping is"):
            make(shaping=True)
    with pytest.raises(ConfigError, match="an effect only with `shaping`"):
        gym.make(VECTOR, shaping_scale=0.5)
    worlds = Worlds(1)
    worlds.spawn(0, TASK, GameConfig(shaping={"color": 1}).rules())
    worlds.step(Controls().encode_batch([11]))
    assert worlds.shaping[0] == -1.0  # the next cell wants blue, and red is taken
