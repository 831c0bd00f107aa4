"""Wrappers for libraries that cannot take these environments as they are.

Each function takes an environment and returns one of the same kind: a Gymnasium environment, an AEC or parallel
PettingZoo environment, a Gymnasium vector environment or a `VectorGame`. They can be applied to each other's results.

| | |
|---|---|
| `tokenize` | texts as tokens |
| `flatten` | observations as one float32 Box |
| `discretize` | Dict actions as `Discrete` or `MultiDiscrete` |
| `align` | both agents with one and the same Box and action space |
| `mask` | which actions have any effect |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from iglu_marl.core.dialogue import Codec
from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.envs.wrappers.action_masks import ActionMask
from iglu_marl.envs.wrappers.actions import KINDS, Digits, Kind, Shared, action_table
from iglu_marl.envs.wrappers.adapters import (
    AgentChange,
    AgentSpaces,
    CombinedChange,
    GameHost,
    MaskedHost,
    Recipe,
    spaces_of,
    wrap,
)
from iglu_marl.envs.wrappers.flatten import Grids, Style, Vector, Words
from iglu_marl.envs.wrappers.tokens import TokenizedTexts
from iglu_marl.game.chat import TokenChat
from iglu_marl.game.config import GameConfig

__all__ = ["action_table", "align", "discretize", "flatten", "mask", "tokenize"]


def tokenize(
    env: Any,
    *,
    vocabulary: str | int | Codec = "templates",
    dialog_length: int | None = None,
    max_message_length: int | None = None,
) -> Any:
    """Texts as tokens: observed ones as Box int32 [dialog_length], spoken ones as MultiDiscrete [max_message_length].

    Tokens and lengths (default 256 and 16) are those of `chat="tokens"`, whose spaces these are; an environment
    with that is returned as it is. Words that the vocabulary lacks become its token for the unknown. Raises
    `ConfigError` for vector environments, which have `chat="tokens"` for this.
    """
    from iglu_marl.language import make_codec

    config = GameConfig(
        chat="tokens",
        vocabulary=vocabulary,
        dialog_length=dialog_length,
        max_message_length=max_message_length,
    )
    length, words = config.dialog_length, config.max_message_length
    assert length is not None  # filled in by the config, as is the next
    assert words is not None
    if not any(_has_text(part) for given in spaces_of(env).values() for part in given[1:]):
        return env
    if isinstance(env, VectorEnv):
        raise ConfigError("env is a vector environment with texts, expected chat='tokens' when it is made")

    def change(given: AgentSpaces) -> AgentChange:
        return TokenizedTexts(given, TokenChat(make_codec(vocabulary), words, length))

    arguments = {
        "vocabulary": vocabulary,
        "dialog_length": dialog_length,
        "max_message_length": max_message_length,
    }
    return wrap(env, change, Recipe("tokenize", arguments))


def _has_text(space: Any) -> bool:
    if isinstance(space, spaces.Dict):
        return any(_has_text(part) for part in space.values())
    return isinstance(space, spaces.Text) or (
        isinstance(space, spaces.Tuple) and any(map(_has_text, space.spaces))
    )


def flatten(env: Any, *, drop: Iterable[str] = (), grids: Grids = "one-hot", words: Words = "counts") -> Any:
    """Each agent's observation as one float32 Box of numbers that are 0 or more.

    drop: keys to leave out. grids: "one-hot" has 6 numbers for each cell, one of each colour (all 0 = air); "scaled"
    has one, the id as a fraction. words: of dialogs in tokens, "counts" has one number for each token of the
    vocabulary and the two speakers' marks, how often it occurs; "one-hot" has so many for each place in the dialog;
    "scaled" has the id of each place as a fraction. Everything else is scaled from its bounds to 0..1. Entries stand
    in the order of their keys; `env.changes[agent].layout` says where. In infos, `event` becomes its number in
    `iglu_marl.game.episode.EVENTS`. Raises `ConfigError` for texts (see `tokenize`).
    """
    style = Style(_keys(drop), grids, words).check()
    return wrap(env, lambda given: Vector(given, (given,), style), Recipe("flatten", style._asdict()))


def _keys(drop: Any) -> tuple[str, ...]:
    if isinstance(drop, str) or not isinstance(drop, Iterable):
        raise ConfigError(f"drop is {drop!r}, expected observation keys in a tuple")
    return tuple(drop)


def discretize(
    env: Any,
    kind: Kind = "discrete",
    *,
    camera_deg: float = 5.0,
    table: Iterable[Mapping[str, Any]] | None = None,
) -> Any:
    """The builder's Dict actions as numbers; action 0 (or all digits 0) does nothing. Other actions stay as they are.

    kind: "discrete" does one thing at a time, by `table` or `action_table(space, camera_deg)`; "multidiscrete" has a
    digit for each component: a choice as it is, and 0, - and + for a number. camera_deg: how far the camera turns.
    table: dicts with the keys that are not 0. A builder that asks has MultiDiscrete in any case: the digits of its act,
    then its tokens. `env.changes["builder_0"].table` has the actions. Raises `ConfigError` for what does not fit.
    """
    if kind not in KINDS:
        raise ConfigError(f"kind is {kind!r}, expected one of {', '.join(map(repr, KINDS))}")
    if table is not None and kind != "discrete":
        raise ConfigError("table is given, expected none with kind='multidiscrete'")
    rows = None if table is None else list(table)
    arguments = {"kind": kind, "camera_deg": camera_deg, "table": rows}
    return wrap(env, lambda given: Digits(given, kind, camera_deg, rows), Recipe("discretize", arguments))


def align(
    env: Any,
    *,
    drop: Iterable[str] = (),
    grids: Grids = "one-hot",
    words: Words = "counts",
    actions: Kind = "multidiscrete",
) -> Any:
    """Architect and builder with the same Box and the same action space, for one network or for stacking.

    Observations are those of `flatten` with an entry for everything that either sees, 0 where the agent itself does
    not, and the one-hot role at the end. actions: "multidiscrete" has the digits of words, then those of the builder's
    acts, and each agent uses its own; "discrete" is for agents with one number each: actions that an agent does not
    have count as 0 (see `mask`). Infos of a single game keep what both agents have. Raises `ConfigError` for a lone
    builder, texts and Dict actions.
    """
    if actions not in KINDS:
        raise ConfigError(f"actions is {actions!r}, expected one of {', '.join(map(repr, KINDS))}")
    style, both = Style(_keys(drop), grids, words).check(), spaces_of(env)
    if len(both) == 1:
        raise ConfigError("env has one agent, expected two to align; use flatten() for one")

    def change(given: AgentSpaces) -> AgentChange:
        return CombinedChange(Vector(given, tuple(both.values()), style), Shared(given, both, actions))

    return wrap(env, change, Recipe("align", {**style._asdict(), "actions": actions}))


def mask(env: Any, *, in_observation: bool = False) -> Any:
    """`action_mask`, int8 [n], for every agent with `Discrete` actions: 0 where an action has no effect now.

    An action is masked when it leads to the very world that doing nothing leads to, and when it is an earlier action
    under another number (as `align` makes them). The first action that does nothing stays allowed. The builder's
    actions have to be Discrete; an architect that speaks in rows of tokens has no mask.

    in_observation: observations become {"observation": …, "action_mask": …}; else the mask is in the infos, and a
    Gymnasium environment also has `action_masks()`, as sb3-contrib asks for it. Costs about 60 µs a world and step.
    Raises `ConfigError` for builders with other actions, and for masks in the observations of vector environments.
    """
    many = isinstance(env, (VectorEnv, VectorGame, GameHost))
    if many and in_observation:
        raise ConfigError(
            "in_observation is True, expected False for many worlds: their masks are in the infos"
        )

    def change(given: AgentSpaces) -> AgentChange:
        return ActionMask(given, env, in_observation, lambda action: _innermost(env, given.agent, action))

    recipe = Recipe("mask", {"in_observation": in_observation})
    if isinstance(env, gymnasium.Env):
        return MaskedHost(env, change, recipe)
    return wrap(env, change, recipe)


def _innermost(env: Any, agent: str, action: Any) -> Any:
    """An action as the innermost environment gets it."""
    while hasattr(env, "env"):  # a language goal is unwrapped, and holds another
        if hasattr(env, "changes"):
            action = env.changes[agent].act(action)
        env = env.env
    return action
