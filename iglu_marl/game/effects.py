"""Where options have an effect: in which kinds of environments, and with which other options.

An option that is given where it has no effect is an error. The table of options (`iglu_marl.game.config`) names for
each option the kinds without effect, with what to use instead, and what else the option needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from iglu_marl.core.controls import CELL_CONTROLS

if TYPE_CHECKING:
    from iglu_marl.game.config import GameConfig

Kind = Literal["aec", "parallel", "live", "vector", "single", "instructed", "goal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FIXED: Mapping[Kind, Mapping[str, Any]] = {
    "parallel": {"turn_steps": 1},
    "vector": {"turn_steps": 1},
    "live": {"turn_steps": None, "builder_can_ask": True},
    "single": {"turn_steps": None, "max_turns": None},
    "goal": {"turn_steps": None, "max_turns": None},
}
"""Values that a kind of environment sets itself. A config may have them, too."""


class Setting(NamedTuple):
    """The environment in which options are to have an effect.

    Attributes:
        kind: its kind.
        name: its name, for errors.
        sees: what the builder observes, as names of `builder_sees`; None: what that option says.
        besides: further observations of the builder, by key.
        without: further options without effect, with what to use instead.
        aliases: names of options as they were given, if those are others.

    """

    kind: Kind
    name: str
    sees: tuple[str, ...] | None = None
    besides: tuple[str, ...] = ()
    without: Mapping[str, str] = {}
    aliases: Mapping[str, str] = {}

    def shows(self, config: GameConfig, *names: str) -> bool:
        """Return whether the builder observes one of these."""
        seen = (*(config.builder_sees if self.sees is None else self.sees), *self.besides)
        return any(name in seen for name in names)

    def shows_target(self, config: GameConfig) -> bool:
        """Return whether a builder observes the whole target."""
        if self.kind in ("single", "instructed"):
            return "target_grid" in self.besides
        return any(map(config.sees_target, config.agents[config.architects :]))

    @property
    def target_option(self) -> str:
        """What lets a builder observe the whole target, for errors."""
        if self.kind in ("single", "instructed"):
            return "it needs target_in_obs=True, which the ids of IGLUGridworld have"
        return "it needs a builder that sees the whole target, as with sees={'builder_0': 'all'}"

    def shows_architect(self, config: GameConfig, *names: str) -> bool:
        """Return whether there is an architect that observes one of these."""
        return self.has_architect(config) and any(name in config.architect_sees for name in names)

    def has_architect(self, config: GameConfig) -> bool:
        """Return whether somebody plays the architect while the builder acts."""
        return self.kind not in ("single", "goal") and config.architects > 0


class Need(NamedTuple):
    """What an option needs to have an effect: `text` says it, for tables and errors."""

    text: str
    holds: Callable[[GameConfig, Setting], bool]


def _speaks(config: GameConfig, setting: Setting) -> bool:
    return setting.has_architect(config) or config.builder_can_ask or setting.kind == "live"


def _reads(config: GameConfig, setting: Setting) -> bool:
    return setting.shows(config, "dialog") or setting.shows_architect(config, "dialog")


def _reads_cut(config: GameConfig, setting: Setting) -> bool:
    in_state = config.chat == "tokens" and setting.kind not in ("single", "instructed")
    return in_state or _reads(config, setting) or setting.shows_architect(config, "goal")


def _has_pictures(config: GameConfig, setting: Setting) -> bool:
    return setting.shows(config, "pov") or setting.shows_architect(config, "target_view", "grid_view")


def _is_shared(config: GameConfig, setting: Setting) -> bool:
    return setting.has_architect(config) or config.builders > 1


ARCHITECT = Need("with an architect", lambda config, setting: setting.has_architect(config))
AUDIENCE = Need("with several agents", _is_shared)
CUT_DIALOG = Need("where `dialog` is observed", _reads_cut)
DIALOG = Need("where `dialog` is observed", _reads)
EGOCENTRIC = Need(
    "with `egocentric` or `target_egocentric`",
    lambda config, setting: setting.shows(config, "egocentric", "target_egocentric"),
)
HANDS = Need(
    "with controls in which the builder moves", lambda config, setting: config.controls not in CELL_CONTROLS
)
PICTURES = Need("with pictures: `pov`, `target_view` or `grid_view`", _has_pictures)
POV = Need("with `pov`", lambda config, setting: setting.shows(config, "pov"))
SCALES = Need(
    "without `size_reward` and `sparse_reward`",
    lambda config, setting: not (config.size_reward or config.sparse_reward),
)
SHAPING = Need("with `shaping`", lambda config, setting: bool(config.shaping))
SPEECH = Need("where somebody speaks", _speaks)
TALK = Need(
    "where `dialog` is observed",
    lambda config, setting: setting.kind != "single" or setting.shows(config, "dialog"),
)
TOKENS = Need("with `chat='tokens'`", lambda config, setting: config.chat == "tokens")
WRONG_CELLS = Need(
    "with `wrong_cells` in builder_sees", lambda config, setting: setting.shows(config, "wrong_cells")
)

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
