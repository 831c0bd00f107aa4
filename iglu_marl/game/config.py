"""`GameConfig`: everything that can be chosen about a game, validated once, documented from itself."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from typing_extensions import TypedDict

from iglu_marl.core.arguments import as_count, as_number
from iglu_marl.core.controls import CONTROLS, Controls, ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.schedule import Schedule
from iglu_marl.core.scoring import SHIFTS, Shifts
from iglu_marl.core.worlds import COMPLETIONS, Completion, Terms
from iglu_marl.game.profiles import hint

RENDER_MODES = ("human", "rgb_array", "ansi")
RENDERERS = ("auto", "painter", "opengl")
ARCHITECT_SIGHTS = (
    "target_grid",
    "grid",
    "dialog",
    "pose",
    "target_view",
    "grid_view",
    "goal",
    "goal_program",
)
COMPUTED_SIGHTS = ("aim", "egocentric")  # what follows from pose and grid
BUILDER_SIGHTS = (
    "pov",
    "inventory",
    "compass",
    "dialog",
    "pose",
    "grid",
    *COMPUTED_SIGHTS,
)  # none of the target
MAX_VOCABULARY = 65_536
MAX_PIXELS = 4096
MAX_RADIUS = 20  # sees the whole zone from anywhere


class GameOptions(TypedDict, total=False):
    """The fields of `GameConfig` as keyword arguments, for type checkers and editors."""

    tasks: Any
    controls: ControlsName
    select_and_place: bool
    chat: Literal["text", "tokens"]
    vocabulary: str | int | Codec
    max_message_length: int | None
    dialog_length: int | None
    strict: bool
    turn_steps: int | None
    max_steps: int | None
    max_turns: int | None
    builder_can_ask: bool
    architect_sees: tuple[str, ...]
    builder_sees: tuple[str, ...]
    egocentric_radius: int
    right_scale: float
    wrong_scale: float | Schedule
    completion_reward: float
    message_cost: float
    step_cost: float
    rewards: Literal["shared", "builder"]
    size_reward: bool
    sparse_reward: bool
    completion: Completion
    shifts: Shifts
    pov_size: tuple[int, int]
    renderer: Any
    render_mode: Literal["human", "rgb_array", "ansi"] | None


def _doc(default: Any, text: str) -> Any:
    return field(default=default, metadata={"doc": text})


@dataclass(frozen=True)
class GameConfig:
    """The choices of a game. Frozen; a wrong value raises `ConfigError` naming field, value and expectation.

    The fields are the keyword arguments of `iglu_marl.env`, `raw_env` and `parallel_env`; `GameConfig.table()` gives
    them as a Markdown table.
    """

    tasks: Any = _doc(None, "task source, `Task`, or list of tasks; None = the bundled ones")
    controls: ControlsName = _doc("walking", "the builder's action encoding: " + ", ".join(CONTROLS))
    select_and_place: bool = _doc(False, "choosing a colour also places a block")
    chat: Literal["text", "tokens"] = _doc("text", "how utterances are passed: text, or arrays of token ids")
    vocabulary: str | int | Codec = _doc(
        "templates", 'for token chat: "templates", a number of meaningless symbols, or a `Codec` of your own'
    )
    max_message_length: int | None = _doc(None, "longest utterance; None = 200 characters or 16 tokens")
    dialog_length: int | None = _doc(None, "longest observed dialog; None = 4,000 characters or 256 tokens")
    strict: bool = _doc(
        True, "an over-long text raises; if False it is cut, and `info['message_cut']` says so"
    )
    turn_steps: int | None = _doc(50, "builder steps in a turn at most; None = no limit")
    max_steps: int | None = _doc(500, "builder steps in an episode at most; None = no limit")
    max_turns: int | None = _doc(
        100, "architect turns in an episode at most (silent ones count); None = no limit"
    )
    builder_can_ask: bool = _doc(False, "the builder's action is Dict(act, say)")
    architect_sees: tuple[str, ...] = _doc(
        ("target_grid", "grid", "dialog", "pose"), "from: " + ", ".join(ARCHITECT_SIGHTS)
    )
    builder_sees: tuple[str, ...] = _doc(
        ("pov", "inventory", "compass", "dialog"), "from: " + ", ".join(BUILDER_SIGHTS)
    )
    egocentric_radius: int = _doc(5, "cells that `egocentric` shows to each side of the builder's own")
    right_scale: float = _doc(2.0, "reward when the maximal intersection grows (minus it when it shrinks)")
    wrong_scale: float | Schedule = _doc(
        1.0,
        "reward for removing, minus it for adding, a block when it does not change; or a `Schedule` of it",
    )
    completion_reward: float = _doc(0.0, "added when the target is completed")
    message_cost: float = _doc(0.0, "paid by the architect for each word it says")
    step_cost: float = _doc(0.0, "paid for each builder step")
    rewards: Literal["shared", "builder"] = _doc(
        "shared", "who gets the building reward: both, or the builder alone"
    )
    size_reward: bool = _doc(False, "reward is the gain of the best intersection so far, in blocks, instead")
    sparse_reward: bool = _doc(False, "reward is 1 when the target is completed, else 0, instead")
    completion: Completion = _doc(
        "exact", 'episode ends when the build is the target ("exact"), or covers it ("cover")'
    )
    shifts: Shifts = _doc(
        "all", 'shifts of the intersection: "all" (published), "inside" (2022 implementation)'
    )
    pov_size: tuple[int, int] = _doc((64, 64), "height and width of the builder's picture in pixels")
    renderer: Any = _doc(
        "auto", 'who draws: "auto", "painter", "opengl", or an object with `render` and `close`'
    )
    render_mode: Literal["human", "rgb_array", "ansi"] | None = _doc(
        None, "what `render()` gives: " + ", ".join(RENDER_MODES)
    )

    def __post_init__(self) -> None:
        for name, options in (
            ("controls", CONTROLS),
            ("chat", ("text", "tokens")),
            ("rewards", ("shared", "builder")),
            ("completion", COMPLETIONS),
            ("shifts", SHIFTS),
            ("render_mode", (None, *RENDER_MODES)),
        ):
            self._check_option(name, options)
        for name in ("select_and_place", "strict", "builder_can_ask", "size_reward", "sparse_reward"):
            if not isinstance(getattr(self, name), bool):
                raise self._error(name, "True or False")
        for name in ("right_scale", "wrong_scale", "completion_reward", "message_cost", "step_cost"):
            if name != "wrong_scale" or not isinstance(self.wrong_scale, Schedule):
                object.__setattr__(self, name, as_number(name, getattr(self, name)))
        if self.sparse_reward and self.size_reward:
            raise self._error("size_reward", "False with sparse_reward=True")
        if self.sparse_reward and self.completion_reward:
            raise self._error("completion_reward", "0 with sparse_reward=True, which pays 1")
        for name in ("turn_steps", "max_steps", "max_turns"):
            if getattr(self, name) is not None:
                self._check_count(name, 1, 2**31 - 1, " or None")
        self._check_sights("architect_sees", ARCHITECT_SIGHTS)
        self._check_sights("builder_sees", BUILDER_SIGHTS)
        self._check_count("egocentric_radius", 1, MAX_RADIUS)
        self._check_chat()
        self._check_pictures()

    # -- validation

    def _error(self, name: str, expected: str) -> ConfigError:
        return ConfigError(f"{name} is {getattr(self, name)!r}, expected {expected}")

    def _check_option(self, name: str, options: Iterable[Any]) -> None:
        value = getattr(self, name)
        if not (value is None or isinstance(value, str)) or value not in options:
            raise self._error(name, "one of " + ", ".join(repr(option) for option in options))

    def _check_count(self, name: str, low: int, high: int, more: str = "") -> None:
        object.__setattr__(self, name, as_count(name, getattr(self, name), low, high, more))

    def _check_sights(self, name: str, known: tuple[str, ...]) -> None:
        value = getattr(self, name)
        expected = "a tuple of distinct names from " + ", ".join(known)
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise self._error(name, expected)
        try:
            names = tuple(value)
        except TypeError:  # an array without dimensions
            raise self._error(name, expected) from None
        if not all(isinstance(part, str) for part in names):
            raise self._error(name, expected)
        if not names or len(set(names)) != len(names) or any(part not in known for part in names):
            hint = (
                "; the target never reaches the builder"
                if "target_grid" in names and "target_grid" not in known
                else ""
            )
            raise self._error(name, expected + hint)
        object.__setattr__(self, name, names)

    def _check_chat(self) -> None:
        tokens = self.chat == "tokens"
        if isinstance(self.vocabulary, str):
            self._check_option("vocabulary", ("templates",))
        elif not isinstance(self.vocabulary, Codec):
            self._check_count("vocabulary", 1, MAX_VOCABULARY, ', "templates" or a Codec')
        if self.max_message_length is None:
            object.__setattr__(self, "max_message_length", 16 if tokens else 200)
        if self.dialog_length is None:
            object.__setattr__(self, "dialog_length", 256 if tokens else 4000)
        self._check_count("max_message_length", 1, 1_000_000)
        self._check_count("dialog_length", 1, 10_000_000)

    def _check_pictures(self) -> None:
        expected = f"(height, width), two integers in 1..{MAX_PIXELS}"
        try:
            height, width = (operator.index(side) for side in self.pov_size)
            if any(isinstance(side, bool) for side in self.pov_size):
                raise TypeError
        except (TypeError, ValueError):
            raise self._error("pov_size", expected) from None
        if not (1 <= height <= MAX_PIXELS and 1 <= width <= MAX_PIXELS):
            raise self._error("pov_size", expected)
        object.__setattr__(self, "pov_size", (height, width))
        if isinstance(self.renderer, str):
            self._check_option("renderer", RENDERERS)
        elif not all(callable(getattr(self.renderer, name, None)) for name in ("render", "close")):
            raise self._error(
                "renderer",
                "one of " + ", ".join(map(repr, RENDERERS)) + ", or an object with render and close",
            )

    # -- what follows from it

    @classmethod
    def of(cls, config: GameConfig | None, fields: Mapping[str, Any]) -> GameConfig:
        """The config itself with some fields replaced; raises `ConfigError` for unknown field names."""
        known = [item.name for item in dataclasses.fields(cls)]
        for name in fields:
            if name not in known:
                raise ConfigError(
                    f"unknown option {name!r}{hint(name, known)}, expected one of {', '.join(known)}"
                )
        if config is None:
            return cls(**fields)
        if not isinstance(config, cls):
            raise ConfigError(f"config is {config!r:.80}, expected a GameConfig")
        return dataclasses.replace(config, **fields)

    @property
    def wrong_schedule(self) -> Schedule | None:
        """By what the `wrong_scale` of an episode goes; None where it is the same in all."""
        return self.wrong_scale if isinstance(self.wrong_scale, Schedule) and not self.sparse_reward else None

    def terms(self) -> Terms:
        """What the kernel needs to know of this (0 = no limit); of a schedule, its beginning."""
        sparse, wrong = self.sparse_reward, self.wrong_scale
        if isinstance(wrong, Schedule):
            wrong = float(wrong.value(0))
        return Terms(
            shifts=self.shifts,
            completion=self.completion,
            right_scale=0.0 if sparse else self.right_scale,
            wrong_scale=0.0 if sparse else wrong,
            completion_reward=1.0 if sparse else self.completion_reward,
            step_cost=self.step_cost,
            size_reward=self.size_reward,
            max_steps=self.max_steps or 0,
            max_turns=self.max_turns or 0,
            turn_steps=self.turn_steps or 0,
        )

    def make_controls(self, can_yield: bool) -> Controls:
        """The builder's action encoding."""
        return Controls(self.controls, select_and_place=self.select_and_place, can_yield=can_yield)

    @classmethod
    def table(cls) -> str:
        """All fields with default and meaning, as a Markdown table."""
        rows = ["| field | default | meaning |", "|---|---|---|"]
        for item in dataclasses.fields(cls):
            rows.append(f"| `{item.name}` | `{item.default!r}` | {item.metadata['doc']} |")
        return "\n".join(rows)
