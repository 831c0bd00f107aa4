"""Where options have an effect: in which kinds of environments, and with which other options.

An option that is given where it has no effect is an error. The table of options (`iglu_marl.game.config`) names for
each option the kinds that lack it, with what to use instead; `NEEDS` here, what else an option needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from iglu_marl.core.controls import CELL_CONTROLS

if TYPE_CHECKING:
    from iglu_marl.game.config import GameConfig

Kind = Literal["aec", "parallel", "live", "vector", "single", "instructed", "goal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LONE: tuple[Kind, ...] = ("single", "instructed", "goal")  # without other agents
FIXED: Mapping[Kind, Mapping[str, Any]] = {
    "parallel": {"turn_steps": 1},
    "vector": {"turn_steps": 1},
    "live": {"turn_steps": None, "builder_can_ask": True},
    "single": {"turn_steps": None, "max_turns": None},
    "goal": {"turn_steps": None, "max_turns": None},
}
"""Values that a kind of environment sets itself. A config may have them, too."""


class Setting(NamedTuple):
    """The environment that options are for.

    Attributes:
        kind: its kind.
        name: its name, for errors.
        target_in_obs: whether a lone builder observes the target.
        besides: what a lone builder observes besides `builder_sees`.
        aliases: names of options as they were given, if those are others.

    """

    kind: Kind
    name: str
    target_in_obs: bool = False
    besides: tuple[str, ...] = ()
    aliases: Mapping[str, str] = {}

    def shows_target(self, config: GameConfig) -> bool:
        """Return whether a builder observes the whole target."""
        if self.kind in LONE:
            return self.target_in_obs
        return any(map(config.sees_target, config.agents[config.architects :]))

    @property
    def target_option(self) -> str:
        """What lets a builder observe the whole target, for errors."""
        if self.kind in LONE:
            return "it needs target_in_obs=True, which the ids of IGLUGridworld have"
        return "it needs a builder that sees the whole target, as with sees={'builder_0': 'all'}"

    def missing(self, name: str, config: GameConfig) -> str | None:
        """Return what an option lacks to have an effect, for errors; None: nothing."""
        if name not in NEEDS or (self.kind == "goal" and name != "select_and_place"):
            return None
        need, holds = NEEDS[name]
        return None if holds(config, {*config.builder_sees, *self.besides}) else need


def _has_architect(config: GameConfig, _: set[str]) -> bool:
    return config.architects > 0


def _has_scales(config: GameConfig, _: set[str]) -> bool:
    return not (config.size_reward or config.sparse_reward)


def _has_pictures(config: GameConfig, seen: set[str]) -> bool:
    return "pov" in seen or bool({"target_view", "grid_view"} & {*config.architect_sees})


NEEDS: Mapping[str, tuple[str, Callable[[GameConfig, set[str]], bool]]] = {
    "select_and_place": (
        "with controls in which the builder moves",
        lambda config, _: config.controls not in CELL_CONTROLS,
    ),
    "vocabulary": ("with `chat='tokens'`", lambda config, _: config.chat == "tokens"),
    "architect_sees": ("with an architect", _has_architect),
    "message_cost": ("with an architect", _has_architect),
    "right_scale": ("without `size_reward` and `sparse_reward`", _has_scales),
    "wrong_scale": ("without `size_reward` and `sparse_reward`", _has_scales),
    "shaping_scale": ("with `shaping`", lambda config, _: bool(config.shaping)),
    "egocentric_radius": (
        "with `egocentric` or `target_egocentric`",
        lambda _, seen: bool({"egocentric", "target_egocentric"} & seen),
    ),
    "max_wrong_cells": ("with `wrong_cells` in builder_sees", lambda _, seen: "wrong_cells" in seen),
    "pov_size": ("with pictures: `pov`, `target_view` or `grid_view`", _has_pictures),
    "renderer": ("with `pov`", lambda _, seen: "pov" in seen),
}
"""What else an option needs, in words, and the check on a config and on what the builder observes."""

_PAIR = "iglu_marl.env or parallel_env, where architects and builders play"
_LIVE = "architect=…, a live architect, or iglu_marl.env"
_REWARD = "terminate_on_success and step_cost: reaching the goal pays 1.0"
_CHAT = "goal_in_obs, the form of the goal"
PAIRS_ONLY: Mapping[Kind, str] = {"single": _PAIR, "instructed": _PAIR, "goal": _PAIR}
ARCHITECTS_ONLY: Mapping[Kind, str] = {"single": _LIVE, "goal": _PAIR}
SPEECH_ONLY: Mapping[Kind, str] = {"single": _LIVE, "goal": _CHAT}
NO_CHAT: Mapping[Kind, str] = {"goal": _CHAT}
NO_TARGET: Mapping[Kind, str] = {"goal": _REWARD}
NOT_CUT = "max_message_length: utterances are arrays of that length"
