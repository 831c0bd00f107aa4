"""The information barrier: in the two-agent game, nothing the builder gets changes when only the target does."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from probing import frozen

import iglu_marl
from iglu_marl import ConfigError, Task
from iglu_marl.core.controls import CONTROLS
from iglu_marl.game.config import BUILDER_SIGHTS

CHATS: tuple[dict[str, Any], ...] = (
    {"chat": "text"},
    {"chat": "tokens"},
    {"chat": "tokens", "vocabulary": 7},
)
START = [(2, -1, 2, 3), (2, 0, 2, 4)]


def targets() -> list[np.ndarray]:
    """Structures so far from each other that the builder cannot happen to complete one of them."""
    row, tower = np.zeros((2, 9, 11, 11), np.int8)
    row[0, :, 0] = 6
    tower[:, 10, 10] = 1
    return [row, tower]


@pytest.mark.parametrize("can_ask", [False, True])
@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: str(chat.get("vocabulary", chat["chat"])))
@pytest.mark.parametrize("controls", CONTROLS)
def test_the_builder_learns_nothing_of_the_target(controls: str, chat: dict[str, Any], can_ask: bool) -> None:
    games = []
    for target in targets():
        env = iglu_marl.parallel_env(
            controls=controls,
            builder_can_ask=can_ask,
            builder_sees=BUILDER_SIGHTS,
            pov_size=(24, 32),
            shaping=True,
            **chat,
        )
        observations, infos = env.reset(
            seed=3, options={"task": Task("<Architect> Same words.", target, starting_grid=START)}
        )
        games.append((env, observations["builder_0"], infos["builder_0"]))
    spaces = games[0][0].action_space("architect_0"), games[0][0].action_space("builder_0")
    for number, space in enumerate(spaces):
        space.seed(number)
    assert games[0][0].observation_space("builder_0") == games[1][0].observation_space("builder_0")
    edits = 0
    for _ in range(70):
        assert frozen(games[0][1:]) == frozen(games[1][1:])
        moves = {"architect_0": spaces[0].sample(), "builder_0": spaces[1].sample()}
        after = []
        for env, *_ in games:
            observations, _, terminations, _, infos = env.step(moves)
            assert not terminations["builder_0"]
            after.append((env, observations["builder_0"], infos["builder_0"]))
            edits += infos["builder_0"]["event"] in ("placed", "removed")
        games = after
    architects = [env.unwrapped._observations()["architect_0"] for env, *_ in games]
    assert frozen(architects[0]) != frozen(architects[1]), "the architect does see the target"
    if controls in ("human-level", "continuous", "flying") and not can_ask:
        assert edits


@pytest.mark.parametrize("turn_steps", [1, 7])
def test_the_same_through_aec_turns(turn_steps: int) -> None:
    stories = []
    for target in targets():
        env = iglu_marl.env(turn_steps=turn_steps, builder_sees=BUILDER_SIGHTS)
        env.reset(seed=0, options={"task": Task("", target)})
        space, said, story = env.action_space("builder_0"), itertools.count(), []
        space.seed(5)
        for agent in itertools.islice(env.agent_iter(), 120):
            observation, _, terminated, truncated, info = env.last()
            if agent == "builder_0":
                story.append((observation, info, terminated, truncated))
                env.step(space.sample())
            else:
                env.step(f"message {next(said)}")
        stories.append(story)
    assert len(stories[0]) == len(stories[1]) > 40
    assert frozen(stories[0]) == frozen(stories[1])


@pytest.mark.parametrize("name", ["target_grid", "target_view", "intersection"])
def test_no_configuration_shows_it_the_target(name: str) -> None:
    with pytest.raises(ConfigError, match="builder_sees"):
        iglu_marl.parallel_env(builder_sees=("pov", name))


def test_a_recorded_dialogue_is_hidden_from_the_builder() -> None:
    """The task's text may describe the target: in the two-agent game only the architect's own words arrive."""
    env = iglu_marl.parallel_env()
    task = Task("<Architect> A red row in the west.", targets()[0])
    observations, _ = env.reset(options={"task": task})
    assert observations["builder_0"]["dialog"] == ""
