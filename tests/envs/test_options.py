"""Each option has an effect in an environment, or raises there."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import gymnasium as gym
import pytest
from evaluated_agents import Silent
from probing import IDS

import iglu_marl
from iglu_marl import ConfigError, GameConfig, Task
from iglu_marl.agents import ScriptedArchitect
from iglu_marl.envs import GridworldEnv, LiveGame, SilentBuilderEnv, VectorGame
from iglu_marl.envs.language import make_language_goal

PLAIN, VECTOR, SILENT, VISUAL = IDS
FIELDS = {item.name for item in dataclasses.fields(GameConfig)}
TEAM = {"architects", "builders", "sees", "hearers", "inventories"}
OF_PAIRS = TEAM | {"rewards", "message_cost", "builder_can_ask"}
OF_ARCHITECTS = {"turn_steps", "max_turns", "architect_sees", "max_message_length", "strict"}
VALUES: dict[str, Any] = {  # other than the default
    "tasks": Task("", [(0, -1, 0, 6)]), "controls": "continuous", "select_and_place": True, "chat": "tokens",
    "vocabulary": 7, "max_message_length": 5, "dialog_length": 10, "strict": False, "turn_steps": 3,
    "max_steps": 4, "max_turns": 2, "builder_can_ask": True, "architect_sees": ("grid",),
    "builder_sees": ("compass", "hotbar"), "egocentric_radius": 2, "max_wrong_cells": 2, "right_scale": 3.0,
    "wrong_scale": 0.25, "completion_reward": 10.0, "message_cost": 0.5, "step_cost": 0.125, "shaping": True,
    "shaping_scale": 0.5, "rewards": "builder", "size_reward": True, "sparse_reward": True, "completion": "cover",
    "shifts": "inside", "pov_size": (8, 12), "renderer": "painter", "render_mode": "ansi", "architects": 2,
    "builders": 2, "sees": {"builder_0": "all"}, "hearers": {"architect_0": ()}, "inventories": {"builder_0": [3] * 6},
}  # fmt: skip
NEEDS: dict[str, dict[str, Any]] = {
    "vocabulary": {"chat": "tokens"}, "egocentric_radius": {"builder_sees": ("egocentric",)},
    "shaping_scale": {"shaping": True}, "pov_size": {"builder_sees": ("pov",)}, "renderer": {"builder_sees": ("pov",)},
}  # fmt: skip


LIVE = {"architect": Silent()}
TOKENS = {"chat": "tokens"}
KINDS: list[
    tuple[str, Any, dict[str, Any], set[str]]
] = [  # name, environment, its options, what raises in it
    ("raw_env", iglu_marl.raw_env, {}, set()),
    ("parallel_env", iglu_marl.parallel_env, {}, {"turn_steps"}),
    ("LiveGame", LiveGame, {}, {"turn_steps", "builder_can_ask", "shaping", "shaping_scale"}),
    ("VectorGame", partial(VectorGame, 2), TOKENS, {"strict", "turn_steps"}),
    *((name, partial(gym.make, name), {}, OF_PAIRS | OF_ARCHITECTS) for name in IDS),
    *((f"{name}, live", partial(gym.make, name), LIVE, OF_PAIRS) for name in IDS),
]


@pytest.mark.parametrize(
    ("make", "base", "expected"), [kind[1:] for kind in KINDS], ids=[kind[0] for kind in KINDS]
)
def test_an_option_arrives_or_raises(make: Any, base: dict[str, Any], expected: set[str]) -> None:
    assert VALUES.keys() == FIELDS
    for name in FIELDS - {"max_wrong_cells"} - base.keys():  # which needs more
        given = {**NEEDS.get(name, {}), name: VALUES[name]}
        if name in expected:
            with pytest.raises(ConfigError, match=r" is .*, expected"):
                make(**base, **given)
            continue
        env = make(**{**base, **given})
        assert name == "tasks" or getattr(env.unwrapped.config, name) == getattr(GameConfig(**given), name), (
            name
        )
        env.close()


ALONE = {"architect": ScriptedArchitect()}


@pytest.mark.parametrize(
    ("make", "options", "name"),
    [
        (GridworldEnv, {"controls": "flying", "discretize": False}, "discretize"),
        (GridworldEnv, {"controls": "flying", "action_space": "walking"}, "action_space"),
        (GridworldEnv, {"pov_size": (8, 8), "render_size": (9, 9)}, "render_size"),
        (SilentBuilderEnv, {"controls": "flying", "action_space": "walking"}, "action_space"),
        (make_language_goal, {"controls": "cells", "select_and_place": True}, "select_and_place"),
        # a keyword is given, whatever its value
        (GridworldEnv, {"turn_steps": 50}, "turn_steps"),
        (GridworldEnv, {**LIVE, "builder_can_ask": False}, "builder_can_ask"),
        (GridworldEnv, {"hearers": None}, "hearers"),
        (iglu_marl.parallel_env, {"turn_steps": 1}, "turn_steps"),
        # what another option has to allow
        (iglu_marl.raw_env, {"vocabulary": 20}, "vocabulary"),
        (iglu_marl.raw_env, {"egocentric_radius": 3}, "egocentric_radius"),
        (iglu_marl.raw_env, {"max_wrong_cells": 3}, "max_wrong_cells"),
        (iglu_marl.raw_env, {"controls": "cells", "select_and_place": True}, "select_and_place"),
        (iglu_marl.raw_env, {"builder_sees": ("grid",), "pov_size": (8, 8)}, "pov_size"),
        (iglu_marl.raw_env, {"builder_sees": ("grid",), "renderer": "painter"}, "renderer"),
        (iglu_marl.raw_env, {"size_reward": True, "right_scale": 3.0}, "right_scale"),
        (iglu_marl.raw_env, {"sparse_reward": True, "wrong_scale": 3.0}, "wrong_scale"),
        (iglu_marl.raw_env, {"shaping_scale": 2.0}, "shaping_scale"),
        (iglu_marl.raw_env, {"architects": 0, "architect_sees": ("grid",)}, "architect_sees"),
        (iglu_marl.raw_env, {"architects": 0, "message_cost": 1}, "message_cost"),
        (GridworldEnv, {"builder_sees": ("grid",), "pov_size": (8, 8)}, "pov_size"),
        (GridworldEnv, {"render": False, "render_size": (8, 8)}, "render_size"),
        (SilentBuilderEnv, {"egocentric_radius": 3}, "egocentric_radius"),
    ],
)
def test_an_option_without_effect_raises(make: Any, options: dict[str, Any], name: str) -> None:
    with pytest.raises(ConfigError, match=rf"\b{name} is "):
        make(**options)


KEYS = {"pose": "agentPos", "dialog": "dialog"}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize(
    "sees", [("pov",), ("pov", "grid"), ("pose", "dialog", "hotbar"), ("grid", "pov", "pose")]
)
def test_builder_sees_chooses_what_a_lone_builder_observes(name: str, sees: tuple[str, ...]) -> None:
    named = KEYS | ({"dialog": "chat"} if "Silent" in name else {})
    keys = {named.get(sight, sight) for sight in sees}
    many = gym.make_vec(name, num_envs=2, vectorization_mode="vector_entry_point", builder_sees=sees)
    made = [gym.make(name, builder_sees=sees), gym.make(name, config=GameConfig(builder_sees=sees))]
    for env in made:
        observation, _ = env.reset(seed=0)
        assert observation.keys() == env.observation_space.keys() == keys
        assert env.config.builder_sees == sees
    assert many.reset(seed=0)[0].keys() == many.single_observation_space.keys() == keys
    many.close()


def test_render_and_vector_state_change_what_an_id_shows() -> None:
    words = {"compass", "dialog", "inventory"}
    for options, keys in (
        ({}, {"pov"}),
        ({"render": False}, set()),
        ({"vector_state": True}, {"pov", "agentPos", "grid"}),
        ({"render": True, "vector_state": False}, {"pov"}),
        ({"target_in_obs": True}, {"pov", "target_grid"}),
    ):
        assert gym.make(PLAIN, **options).observation_space.keys() == words | keys
    assert gym.make(VECTOR, render=True).observation_space.keys() == words | {"pov", "agentPos", "grid"}
    assert gym.make(VECTOR, vector_state=False).observation_space.keys() == words
    assert gym.make(VISUAL, visual=False).observation_space == gym.make(SILENT).observation_space
    more = gym.make(VECTOR, vector_state=True, render=True, builder_sees=("aim",))
    assert more.observation_space.keys() == {"aim", "pov", "agentPos", "grid"}
    assert gym.make(PLAIN, render=False, builder_sees=("aim",)).observation_space.keys() == {"aim"}


@pytest.mark.parametrize(
    ("make", "flags", "sees"),
    [
        (GridworldEnv, {"vector_state": False}, ("pose",)),
        (GridworldEnv, {"render": False}, ("pov",)),
        (SilentBuilderEnv, {"visual": True}, ("pov", "grid")),
    ],
)
def test_flags_that_leave_out_what_builder_sees_names_raise(
    make: Any, flags: Any, sees: tuple[str, ...]
) -> None:
    (flag,) = flags
    for given in ({"builder_sees": sees}, {"config": GameConfig(builder_sees=sees)}):
        with pytest.raises(ConfigError, match=f"{flag} is .* and builder_sees is"):
            make(**flags, **given)


def test_a_config_is_read_for_what_an_environment_has() -> None:
    kept = {
        "controls": "flying", "chat": "tokens", "max_steps": 33, "step_cost": 0.25,
        "builder_sees": ("grid", "dialog", "egocentric"), "egocentric_radius": 2,
    }  # fmt: skip
    live = {"strict": False, "turn_steps": 7, "max_turns": 9, "architect_sees": ("grid",)}
    pair = GameConfig(**kept, **live, builder_can_ask=True, message_cost=0.5, rewards="builder")
    assert GridworldEnv(config=pair).config == GameConfig(**kept, turn_steps=None, max_turns=None)
    assert GridworldEnv(config=pair, **ALONE).config == GameConfig(**kept, **live)
    assert iglu_marl.raw_env(pair).unwrapped.config == pair
    assert iglu_marl.parallel_env(pair).unwrapped.config == dataclasses.replace(pair, turn_steps=1)
    with pytest.raises(ConfigError, match="builders is 2"):
        GridworldEnv(config=GameConfig(builders=2))


@pytest.mark.parametrize("field", ["builder_sees", "architect_sees"])
@pytest.mark.parametrize(("given", "meant"), [("agentPos", "pose"), ("chat", "dialog"), ("gird", "grid")])
def test_a_key_that_is_no_sight_leads_to_the_sight(field: str, given: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no '{given}' .did you mean '{meant}'"):
        GameConfig(**{field: (given,)})


def test_default_lengths_follow_the_chat() -> None:
    tokens = GameConfig(chat="tokens", dialog_length=99)
    text = iglu_marl.raw_env(tokens, chat="text").unwrapped.config
    assert (text.max_message_length, text.dialog_length) == (200, 99)
