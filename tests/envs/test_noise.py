"""Noise on the channel: its probabilities, its seeds, who hears what, and recordings that replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iglu_marl
from iglu_marl import ActionError, ConfigError
from iglu_marl.envs import VectorGame
from iglu_marl.envs.wrappers import discretize, flatten, noise
from iglu_marl.recording import Recorder, read_recording, replay
from iglu_marl.tasks import RandomTasks

ARCHITECT, BUILDER = "architect_0", "builder_0"
SYMBOLS, LENGTH = 8, 4
GAME: dict[str, Any] = {
    "tasks": RandomTasks(max_blocks=4, num_colors=3),
    "chat": "tokens",
    "vocabulary": SYMBOLS,
    "max_message_length": LENGTH,
    "dialog_length": LENGTH + 1,
    "builder_sees": ("dialog", "pose", "grid"),
    "max_steps": 300,
    "max_turns": None,
}
TOKENS = ("vocabulary", "max_message_length", "dialog_length")
MESSAGE = np.array([1, 7, 3, 2])


def heard(env: Any, steps: int, seed: int | None = 0, message: Any = MESSAGE) -> list[Any]:
    """What the builder hears of a message that is sent again and again; silence where it is lost."""
    env.reset(seed=seed)
    before = len(env.unwrapped.episode.dialogue)
    found = []
    rest = env.action_space(BUILDER).sample()
    for _ in range(steps):
        seen = env.step({ARCHITECT: message, BUILDER: rest})[0]
        now = len(env.unwrapped.episode.dialogue)
        found.append(seen[BUILDER]["dialog"][1:].tolist() if now > before else None)
        before = now
    return found


def still(**options: Any) -> Any:
    """A game in which nothing happens but messages."""
    given = {**GAME, "controls": "human-level", **options}
    if given["chat"] == "text":
        given = {key: value for key, value in given.items() if key not in TOKENS}
    return iglu_marl.parallel_env(**given)


def test_a_channel_without_noise_changes_nothing() -> None:
    assert heard(noise(still()), 20) == heard(still(), 20) == [MESSAGE.tolist()] * 20


def test_messages_get_lost_as_often_as_said() -> None:
    found = heard(noise(still(), drop=0.25), 200)
    lost = sum(message is None for message in found)
    assert abs(lost - 50) < 4 * np.sqrt(200 * 0.25 * 0.75)
    assert all(message in (None, MESSAGE.tolist()) for message in found)
    assert heard(noise(still(), drop=1.0), 20) == [None] * 20


def test_symbols_become_others_each_as_likely() -> None:
    found = np.array(heard(noise(still(), replace=0.5), 280))
    changed = found != MESSAGE
    assert abs(changed.mean() - 0.5) < 4 * np.sqrt(0.25 / changed.size)
    others = found[changed[:, 1], 1]
    assert set(others) == {1, 2, 3, 4, 5, 6, 8}
    assert np.delete(np.bincount(others), [0, 7]).min() > len(others) / 7 / 3
    assert (np.array(heard(noise(still(), replace=1.0), 20)) != MESSAGE).all()
    (short,) = heard(noise(still(), replace=1.0), 1, message=np.array([5, 0, 0, 0]))
    assert short[0] not in (0, 5)
    assert short[1:] == [0, 0, 0]


def test_the_speaker_hears_what_arrived() -> None:
    env = noise(still(architect_sees=("dialog", "target_grid")), replace=1.0)
    env.reset(seed=0)
    seen = env.step({ARCHITECT: MESSAGE, BUILDER: env.action_space(BUILDER).sample()})[0]
    assert np.array_equal(seen[ARCHITECT]["dialog"], seen[BUILDER]["dialog"])
    assert (MESSAGE == [1, 7, 3, 2]).all()  # the action itself is left alone


def test_the_noise_follows_from_the_seed() -> None:
    env = noise(still(), drop=0.3, replace=0.3)
    first = heard(env, 30, seed=5)
    assert heard(env, 30, seed=5) == first == heard(noise(still(), drop=0.3, replace=0.3), 30, seed=5)
    assert heard(env, 30, seed=6) != first
    assert heard(env, 30, seed=None) != heard(env, 30, seed=None)


@pytest.mark.parametrize("controls", ["flying", "human-level"])
@pytest.mark.parametrize("change", [lambda env: env, discretize], ids=["Dict", "digits"])
def test_questions_of_builders_get_lost_and_take_their_step(change: Any, controls: str) -> None:
    env, plain = (change(still(builder_can_ask=True, controls=controls)) for _ in range(2))
    env = noise(env, drop=1.0)
    env.action_space(BUILDER).seed(0)
    env.reset(seed=3)
    plain.reset(seed=3)
    silence = np.zeros(LENGTH, np.int64)
    for _ in range(30):
        act = env.action_space(BUILDER).sample()
        env.step({ARCHITECT: silence, BUILDER: act})
        plain.step({ARCHITECT: silence, BUILDER: act})
    first, second = env.unwrapped.episode, plain.unwrapped.episode
    assert np.array_equal(first.worlds.grid, second.worlds.grid)
    assert np.array_equal(first.worlds.pose, second.worlds.pose)
    assert (len(first.dialogue), len(second.dialogue) > 20) == (0, True)


def test_texts_get_lost() -> None:
    env = noise(still(chat="text"), drop=0.5)
    env.reset(seed=0)
    for _ in range(40):
        env.step({ARCHITECT: "Hello!", BUILDER: env.action_space(BUILDER).sample()})
    assert 8 < len(env.unwrapped.episode.dialogue) < 32


def test_many_games_are_noisy_each_by_itself() -> None:
    env = noise(discretize(VectorGame(64, **{**GAME, "controls": "flying"})), drop=0.5, replace=0.5)
    messages = np.tile(MESSAGE, (64, 1))
    runs = []
    for _ in range(2):
        env.reset(seed=1)
        seen = env.step({ARCHITECT: messages, BUILDER: np.zeros(64, np.int64)})[0]
        runs.append(seen[BUILDER]["dialog"].copy())
    assert np.array_equal(*runs)
    assert 16 < (runs[0] == 0).all(axis=1).sum() < 48
    assert len(np.unique(runs[0], axis=0)) > 10
    assert flatten(env).observation_space(BUILDER).dtype == np.float32


@pytest.mark.parametrize("view", ["aec", "parallel"])
def test_recorded_games_replay_bit_for_bit(view: str, tmp_path: Path) -> None:
    inner = iglu_marl.raw_env(**GAME) if view == "aec" else iglu_marl.parallel_env(**GAME)
    with Recorder(tmp_path / "game.jsonl") as recorder:
        env = noise(recorder.wrap(inner), drop=0.3, replace=0.3)
        env.reset(seed=4)
        for _ in range(40):
            if view == "aec":
                env.step(env.action_space(env.agent_selection).sample())
            else:
                env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        dialogue = env.unwrapped.episode.dialogue
    (recording,) = read_recording(tmp_path / "game.jsonl")
    assert replay(recording).dialogue == dialogue


def test_what_cannot_be_is_named() -> None:
    for value in (-0.1, 1.5, "often", float("nan")):
        with pytest.raises(ConfigError, match=r"drop is .*expected a number in 0\.\.1"):
            noise(still(), drop=value)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="expected 0 with texts"):
        noise(still(chat="text"), replace=0.1)
    with pytest.raises(ConfigError, match="vocabulary of one symbol"):
        noise(still(vocabulary=1), replace=0.1)
    with pytest.raises(ConfigError, match="expected an AEC or parallel environment"):
        noise(gym.make("IGLUGridworldVector-v0"), drop=0.1)
    env = noise(still(), drop=0.5, replace=0.5)
    env.reset(seed=0)
    for wrong in (3, "hello", np.array([1.5] * LENGTH), np.array([1, 2, 3, 99, 4])):
        with pytest.raises(ActionError):
            env.step({ARCHITECT: wrong, BUILDER: env.action_space(BUILDER).sample()})
