"""Which options which kinds of environments have.

An option that is given where it has no effect is an error. The table of options (`iglu_marl.game.config`) names for
each option the kinds that lack it, with what to use instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

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
        without: further options without effect, with what to use instead.
        aliases: names of options as they were given, if those are others.

    """

    kind: Kind
    name: str
    target_in_obs: bool = False
    without: Mapping[str, str] = {}
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
