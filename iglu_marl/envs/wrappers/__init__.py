"""Wrappers for learning libraries.

Each function takes an environment and returns one of the same kind: a Gymnasium environment, an AEC or parallel
PettingZoo environment, a Gymnasium vector environment or a `VectorGame`. They can be applied to each other's results.

| | |
|---|---|
| `flatten` | observations as one Box |
| `discretize` | Dict actions as `Discrete` or `MultiDiscrete` |
| `align` | the same Box and action space for all agents |
| `mask` | masks of actions without effect |
| `noise` | messages that get lost, symbols that become others |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
from pettingzoo import AECEnv, ParallelEnv

from iglu_marl.core.arguments import as_number
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
    uncommon_infos,
    wrap,
)
from iglu_marl.envs.wrappers.flatten import Numbers, Style, Vector, Words
from iglu_marl.envs.wrappers.noise import NoisyMessages

__all__ = ["action_table", "align", "discretize", "flatten", "mask", "noise"]


def flatten(
    env: Any,
    *,
    drop: Iterable[str] = (),
    words: Words = "counts",
    dtype: Numbers = "float32",
    crop: tuple[int, int] | None = None,
) -> Any:
    """Flatten each agent's observation to one Box of numbers of 0 or more.

    Args:
        env: the environment.
        drop: keys to leave out.
        words: for dialogs in tokens, "counts": occurrences of each token and of the two speakers' marks; "one-hot":
            one-hot token at each position.
        dtype: "float32", or "uint8": a quarter of the memory.
        crop: (layers, radius): keep the lowest layers of build and target, up to `radius` cells from the centre.

    Grids have 6 numbers per cell, one per colour (air: all 0). Other entries are scaled from their bounds to 0..1, in
    uint8 to 0..255 and rounded. Entries are in the order of their keys, see `env.changes[agent].layout`. In infos,
    `event` becomes its index in `iglu_marl.game.episode.EVENTS`, and `events` an array of these by builder. Infos of a
    single game have the keys of all agents of the role only. With `copy=False`, many worlds return the same vectors in
    every step. Raises `ConfigError` for texts: use `chat="tokens"`.

    """
    style = Style(_keys(drop), words, dtype, crop).check()

    def change(given: AgentSpaces) -> AgentChange:
        role = given.agent.rpartition("_")[0]
        return Vector(given, (given,), style, uncommon_infos(env, role))

    return wrap(env, change, Recipe("flatten", style._asdict()))


def _keys(drop: Any) -> tuple[str, ...]:
    if isinstance(drop, str) or not isinstance(drop, Iterable):
        raise ConfigError(f"drop is {drop!r}, expected observation keys in a tuple")
    return tuple(drop)


def discretize(
    env: Any,
    kind: Kind = "discrete",
    *,
    camera_deg: float | None = None,
    table: Iterable[Mapping[str, Any] | Sequence[int] | None] | None = None,
) -> Any:
    """Convert the builder's Dict actions to numbers; action 0 (or all digits 0) does nothing.

    Args:
        env: the environment.
        kind: "discrete": one thing at a time, by `table` or `action_table(space, camera_deg)`; "multidiscrete": a digit
            per component, with 0, - and + for a number.
        camera_deg: camera change in degrees; None: 5, and for whole cells (`controls="discrete"`) turns by 90 and looks
            up and down by 45.
        table: dicts with the non-zero keys; of builders that act on cells, rows (y, x, z, color), and None for nothing.

    A builder that asks always has MultiDiscrete: the digits of its act, then its tokens.
    `env.changes["builder_0"].table` has the actions. Raises `ConfigError` for arguments that do not fit.

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
    words: Words = "counts",
    dtype: Numbers = "float32",
    crop: tuple[int, int] | None = None,
    actions: Kind = "multidiscrete",
) -> Any:
    """Give all agents the same Box and the same action space, for one network or for stacking.

    Observations are those of `flatten`, with all entries of all agents, and the one-hot agent at the end. An entry that
    an agent does not observe is 0; a shorter one (a builder's own pose, where an architect sees those of a team) ends
    in 0.
    actions: "multidiscrete": the digits of messages, then of the builder's acts, of which each agent uses its own;
    "discrete": for agents with one number each; actions that an agent lacks count as 0 (see `mask`). Infos of a single
    game have the keys of all agents only. Raises `ConfigError` for a single builder, texts and Dict actions.
    """
    if actions not in KINDS:
        raise ConfigError(f"actions is {actions!r}, expected one of {', '.join(map(repr, KINDS))}")
    style, all_spaces = Style(_keys(drop), words, dtype, crop).check(), spaces_of(env)
    if len(all_spaces) == 1:
        raise ConfigError("env has one agent, expected more to align; use flatten() for one")

    def change(given: AgentSpaces) -> AgentChange:
        seen = Vector(given, tuple(all_spaces.values()), style, uncommon_infos(env))
        return CombinedChange(seen, Shared(given, all_spaces, actions))

    return wrap(env, change, Recipe("align", {**style._asdict(), "actions": actions}))


def mask(env: Any) -> Any:
    """Add `action_mask`, int8 [n], for every agent with `Discrete` actions: 0 for actions without effect now.

    An action is masked if the world after it equals the world after doing nothing, or if it duplicates an earlier
    action (as with `align`). The first action that does nothing is allowed. Architects with token rows have no mask.
    The mask of a builder in a team is that of a step in which the other builders do nothing.

    Masks are in the infos, and a Gymnasium environment has `action_masks()`, for sb3-contrib. Every action is tried in
    a copy of the world. Raises `ConfigError` if the builder's actions are not Discrete.
    """

    def change(given: AgentSpaces) -> AgentChange:
        return ActionMask(given, env, lambda action: _innermost(env, given.agent, action))

    kind = MaskedHost if isinstance(env, gymnasium.Env) else wrap
    return kind(env, change, Recipe("mask", {}))


def noise(env: Any, *, drop: float = 0.0, replace: float = 0.0) -> Any:
    """Make the channel noisy: messages get lost, and symbols become others.

    All agents hear what arrives, the speaker too. The noise follows from the seed of `reset`; in a `VectorGame` from
    the seeds of all games. To record games that replay, put the recorder inside: `noise(recorder.wrap(env), drop=0.1)`
    writes what arrived.

    Args:
        env: an AEC or parallel environment, or a `VectorGame`.
        drop: probability that a message is lost as a whole.
        replace: probability that a symbol becomes another one, each as likely; for `chat="tokens"`.

    Raises:
        ConfigError: if a probability is not in 0..1, symbols cannot be replaced, or `env` has one agent.

    """
    drop, replace = as_number("drop", drop, 1), as_number("replace", replace, 1)
    if not isinstance(env, (AECEnv, ParallelEnv, VectorGame, GameHost)):
        raise ConfigError(f"env is {env!r:.80}, expected an AEC or parallel environment, or a VectorGame")
    config = env.unwrapped.config
    if config.chat == "text" and replace:
        raise ConfigError(f"replace is {replace}, expected 0 with texts: symbols are those of chat='tokens'")
    length = int(config.max_message_length or 0) if config.chat == "tokens" else 0
    numbers = {agent: number for number, agent in enumerate(env.possible_agents)}

    def change(given: AgentSpaces) -> AgentChange:
        speaks = given.agent.startswith("architect") or config.builder_can_ask
        if not speaks:
            return NoisyMessages(given, 0, numbers[given.agent], 0.0, 0.0)
        return NoisyMessages(given, length, numbers[given.agent], drop, replace)

    return wrap(env, change, Recipe("noise", {"drop": drop, "replace": replace}))


def _innermost(env: Any, agent: str, action: Any) -> Any:
    """Return an action in the form of the innermost environment."""
    while hasattr(env, "env"):  # a language goal is unwrapped, and holds another
        if hasattr(env, "changes"):
            action = env.changes[agent].act(action)
        env = env.env
    return action
