"""`GameConfig`, the table of options: types, defaults, meanings, checks and payments.

A new option is a field of `GameConfig` and its type in `GameOptions`. One that the kernels need is a field of
`EpisodeRules` as well.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from typing_extensions import TypedDict

from iglu_marl.core.arguments import as_count, as_flag, as_number
from iglu_marl.core.controls import ALL_CONTROLS, Controls, ControlsName
from iglu_marl.core.dialogue import Codec, Role, Speaker, Utterance, speakers_of
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.kernels.records import COMPLETIONS, SHIFTS, Completion, EpisodeRules, Shifts
from iglu_marl.core.schedule import Schedule
from iglu_marl.core.task import Task
from iglu_marl.core.task_source import TaskSource
from iglu_marl.core.text import similar
from iglu_marl.core.worlds import Worlds
from iglu_marl.game import effects
from iglu_marl.game.effects import FIXED, LONE, Kind, Setting
from iglu_marl.game.knowledge import agents_of, read_hearers, read_inventories, read_sees
from iglu_marl.game.profiles import hint, team_options

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
COMPUTED_SIGHTS = ("aim", "egocentric", "hotbar")  # computed of the state
BUILDER_SIGHTS = (
    "pov",
    "inventory",
    "compass",
    "dialog",
    "pose",
    "grid",
    *COMPUTED_SIGHTS,
)  # none of the target
TARGET_SIGHTS = ("target_egocentric", "wrong_cells")  # computed, of builders that see the whole target
SHAPING: Mapping[str, float] = {"distance": 0.075, "yaw": 0.4, "pitch": 0.4, "aim": 0.25, "color": 0.25}
"""The terms of `shaping` with their default weights."""
SIGHT_OF_KEY = {"agentPos": "pose", "chat": "dialog"}  # keys of observations that are no names of sights
MAX_VOCABULARY = 65_536
MAX_PIXELS = 4096
MAX_RADIUS = 20  # sees the whole zone from anywhere
MAX_CELLS = 1089  # of the zone
MAX_AGENTS = 16  # of a role
LENGTHS = {
    "text": {"max_message_length": 200, "dialog_length": 4000},
    "tokens": {"max_message_length": 16, "dialog_length": 256},
}
"""Lengths by `chat`, where the options are None."""
TEAM_OPTIONS = ("architects", "builders", "sees", "hearers", "inventories")


class Renderer(Protocol):
    """The interface of objects that draw the builder's picture."""

    def render(self, worlds: Worlds, indices: Sequence[int], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
        """Return first-person pictures of k worlds, uint8 [k, height, width, 3]; size is (height, width)."""

    def close(self) -> None:
        """Release resources. May be called more than once."""


class SamplesTasks(Protocol):
    """An object with `sample`, as task sources of other tools have it."""

    def sample(self, *args: Any, **kwargs: Any) -> Any:
        """Return a task."""


class ResetsTasks(Protocol):
    """An object with `reset`, as the task generators of IGLU Gridworld have it."""

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Return a task."""


TasksOption = (
    str
    | Task
    | TaskSource
    | list[Any]
    | tuple[Any, ...]
    | Mapping[Any, Any]
    | Iterator[Any]
    | Callable[..., Any]
    | SamplesTasks
    | ResetsTasks
    | None
)
"""What `as_source` of `iglu_marl.tasks.named` accepts; None: the bundled tasks."""


class GameOptions(TypedDict, total=False):
    """The fields of `GameConfig` as keyword arguments, for type checkers and editors."""

    tasks: TasksOption
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
    max_wrong_cells: int
    right_scale: float
    wrong_scale: float | Schedule
    completion_reward: float
    message_cost: float
    step_cost: float
    shaping: bool | Mapping[str, float] | None
    shaping_scale: float | Schedule
    rewards: Literal["shared", "builder", "own"]
    size_reward: bool
    sparse_reward: bool
    completion: Completion
    shifts: Shifts
    pov_size: tuple[int, int]
    renderer: str | Renderer
    render_mode: Literal["human", "rgb_array", "ansi"] | None
    architects: int
    builders: int
    sees: Mapping[str, str | tuple[str, ...]] | None
    hearers: Mapping[str, str | tuple[str, ...]] | None
    inventories: Mapping[str, Mapping[str, int] | Sequence[int]] | None


def _choice(*choices: str | None) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        if not (value is None or isinstance(value, str)) or value not in choices:
            raise _error(name, value, "one of " + ", ".join(map(repr, choices)))
        return value

    return check


def _count(low: int, high: int, optional: bool = True) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        if optional and value is None:
            return None
        return as_count(name, value, low, high, " or None" if optional else "")

    return check


def _sights(known: tuple[str, ...]) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> tuple[str, ...]:
        expected = "a tuple of distinct names from " + ", ".join(known)
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise _error(name, value, expected)
        try:
            names = tuple(value)
        except TypeError:  # an array without dimensions
            raise _error(name, value, expected) from None
        if not all(isinstance(part, str) for part in names):
            raise _error(name, value, expected)
        unknown = next((part for part in names if part not in known), None)
        if not names or len(set(names)) != len(names) or unknown is not None:
            more = "" if unknown is None else unknown_sight(unknown, known)
            if unknown == "target_grid":
                more = (
                    "; the target never reaches the builder this way, see the option sees, or target_in_obs"
                )
            raise _error(name, value, expected + more)
        return names

    return check


def unknown_sight(name: str, known: Iterable[str]) -> str:
    """Return what an error adds about a name that is no sight: the one that was perhaps meant, or ""."""
    meant = SIGHT_OF_KEY.get(name, "")
    suggestion = f" (did you mean {meant!r}?)" if meant in known else similar(name, known)
    return f"; there is no {name!r}{suggestion}" if suggestion else ""


def _number_or_schedule(name: str, value: Any) -> float | Schedule:
    return value if isinstance(value, Schedule) else as_number(name, value)


def _shaping(name: str, value: Any) -> dict[str, float] | None:
    if value is None or value is False:
        return None
    if value is True:
        return dict(SHAPING)
    expected = f"True, or a dict of weights of 0 or more by terms of {', '.join(SHAPING)}"
    if not isinstance(value, Mapping) or not value or any(term not in SHAPING for term in value):
        raise _error(name, value, expected)
    try:
        return {term: as_number(term, weight) for term, weight in value.items()}
    except ConfigError:
        raise _error(name, value, expected) from None


def _vocabulary(name: str, value: Any) -> str | int | Codec:
    if isinstance(value, Codec):
        return value
    if isinstance(value, str):
        return str(_choice("templates")(name, value))
    return as_count(name, value, 1, MAX_VOCABULARY, ', "templates" or a Codec')


def _size(name: str, value: Any) -> tuple[int, int]:
    try:
        height, width = (operator.index(side) for side in value)
        if any(isinstance(side, bool) for side in value):
            raise TypeError
        if not (1 <= height <= MAX_PIXELS and 1 <= width <= MAX_PIXELS):
            raise ValueError
    except (TypeError, ValueError):
        raise _error(name, value, f"(height, width), two integers in 1..{MAX_PIXELS}") from None
    return height, width


def _renderer(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _choice(*RENDERERS)(name, value)
    if not all(callable(getattr(value, method, None)) for method in ("render", "close")):
        expected = "one of " + ", ".join(map(repr, RENDERERS)) + ", or an object with render and close"
        raise _error(name, value, expected)
    return value


def _error(name: str, value: Any, expected: str) -> ConfigError:
    return ConfigError(f"{name} is {value!r}, expected {expected}")


def _option(
    default: Any,
    doc: str,
    check: Callable[[str, Any], Any] | None = None,
    *,
    without: Mapping[Kind, str] | None = None,
) -> Any:
    """Return a row of the table of options.

    Args:
        default: the default.
        doc: the meaning, for the tables of options.
        check: returns the value in its standard form; raises `ConfigError` if it is not allowed.
        without: the kinds of environments in which it has no effect, with what to use instead.

    """
    return field(default=default, metadata={"doc": doc, "check": check, "without": without or {}})


_BUDGET = _count(1, 2**31 - 1)


@dataclass(frozen=True)
class GameConfig:
    """The options of a game: the table from which checks, signatures, documentation and rules follow.

    The fields are the keyword arguments of `iglu_marl.env`, `raw_env` and `parallel_env`. `GameConfig.table()` returns
    them as a Markdown table. A field with the name of one of `EpisodeRules` reaches the kernels.

    Raises:
        ConfigError: if a value is not allowed; it names field, value and expectation.

    """

    tasks: TasksOption = _option(
        None,
        "task source, `Task`, list of tasks, or a name: bundled, turns, random, iglu-singleturn:test, FILE.json, "
        "FILE.py:Class; None = the bundled ones",
        without={"goal": "scenes, where worlds come from, and goals, what to do in them"},
    )
    controls: ControlsName = _option(
        "walking", "the builder's action encoding: " + ", ".join(ALL_CONTROLS), _choice(*ALL_CONTROLS)
    )
    select_and_place: bool = _option(False, "choosing a colour also places a block", as_flag)
    chat: Literal["text", "tokens"] = _option(
        "text",
        "how utterances are passed: text, or arrays of token ids",
        _choice("text", "tokens"),
        without=effects.NO_CHAT,
    )
    vocabulary: str | int | Codec = _option(
        "templates",
        'for token chat: "templates", a number of meaningless symbols, or a `Codec` of your own',
        _vocabulary,
        without=effects.NO_CHAT,
    )
    max_message_length: int | None = _option(
        None,
        "longest utterance; None = 200 characters or 16 tokens",
        _count(1, 1_000_000),
        without=effects.SPEECH_ONLY,
    )
    dialog_length: int | None = _option(
        None,
        "longest observed dialog; None = 4,000 characters or 256 tokens",
        _count(1, 10_000_000),
        without=effects.NO_CHAT,
    )
    strict: bool = _option(
        True,
        "an over-long text raises; if False it is cut, and `info['message_cut']` says so",
        as_flag,
        without={**effects.SPEECH_ONLY, "vector": effects.NOT_CUT},
    )
    turn_steps: int | None = _option(
        50,
        "builder steps in a turn at most; None = no limit",
        _BUDGET,
        without={
            **effects.ARCHITECTS_ONLY,
            "parallel": "max_turns, for each step is a turn, or iglu_marl.env",
            "vector": "max_turns, for each step is a turn, or iglu_marl.raw_env",
            "live": "max_turns, or iglu_marl.env",
        },
    )
    max_steps: int | None = _option(500, "builder steps in an episode at most; None = no limit", _BUDGET)
    max_turns: int | None = _option(
        100,
        "architect turns in an episode at most (silent ones count); None = no limit",
        _BUDGET,
        without=effects.ARCHITECTS_ONLY,
    )
    builder_can_ask: bool = _option(
        False,
        "the builder's action is Dict(act, say)",
        as_flag,
        without={**effects.PAIRS_ONLY, "live": "iglu_marl.env: here builders can always ask"},
    )
    architect_sees: tuple[str, ...] = _option(
        ("target_grid", "grid", "dialog", "pose"),
        "from: " + ", ".join(ARCHITECT_SIGHTS),
        _sights(ARCHITECT_SIGHTS),
        without=effects.ARCHITECTS_ONLY,
    )
    builder_sees: tuple[str, ...] = _option(
        ("pov", "inventory", "compass", "dialog"),
        f"from: {', '.join(BUILDER_SIGHTS)}; for builders that see the target also {', '.join(TARGET_SIGHTS)}",
        _sights((*BUILDER_SIGHTS, *TARGET_SIGHTS)),
        without={"goal": "obs_type"},
    )
    egocentric_radius: int = _option(
        5,
        "cells that `egocentric` shows to each side of the builder's own",
        _count(1, MAX_RADIUS, optional=False),
        without={"goal": "IGLUGridworldVector-v0, and LanguageGoal around it"},
    )
    max_wrong_cells: int = _option(
        4,
        "number of rows of `wrong_cells`",
        _count(1, MAX_CELLS, optional=False),
        without={"goal": "IGLUGridworldVector-v0, and LanguageGoal around it"},
    )
    right_scale: float = _option(
        2.0,
        "reward when the maximal intersection grows (minus it when it shrinks)",
        as_number,
        without=effects.NO_TARGET,
    )
    wrong_scale: float | Schedule = _option(
        1.0,
        "reward for removing, minus it for adding, a block when it does not change; or a `Schedule` of it",
        _number_or_schedule,
        without=effects.NO_TARGET,
    )
    completion_reward: float = _option(
        0.0,
        "added when the target is completed",
        as_number,
        without=effects.NO_TARGET,
    )
    message_cost: float = _option(
        0.0,
        "paid by the architect for each word it says",
        as_number,
        without=effects.PAIRS_ONLY,
    )
    step_cost: float = _option(
        0.0,
        "paid for each builder step",
        as_number,
    )
    shaping: bool | Mapping[str, float] | None = _option(
        None,
        "reward for coming nearer to the next wrong cell, to the builder alone: True, or weights of "
        + ", ".join(SHAPING),
        _shaping,
        without={**effects.NO_TARGET, "live": "iglu_marl.env or parallel_env, in which agents learn"},
    )
    shaping_scale: float | Schedule = _option(
        1.0,
        "factor of `shaping`; or a `Schedule` of it",
        _number_or_schedule,
        without={**effects.NO_TARGET, "live": "iglu_marl.env or parallel_env, in which agents learn"},
    )
    rewards: Literal["shared", "builder", "own"] = _option(
        "shared",
        'who gets the building reward of all builders: all agents, or builders alone ("builder"); "own": all, but '
        "each builder its own",
        _choice("shared", "builder", "own"),
        without=effects.PAIRS_ONLY,
    )
    size_reward: bool = _option(
        False,
        "reward is the gain of the best intersection so far, in blocks, instead",
        as_flag,
        without=effects.NO_TARGET,
    )
    sparse_reward: bool = _option(
        False,
        "reward is 1 when the target is completed, else 0, instead",
        as_flag,
        without=effects.NO_TARGET,
    )
    completion: Completion = _option(
        "exact",
        'episode ends when the build is the target ("exact"), or covers it ("cover")',
        _choice(*COMPLETIONS),
        without=effects.NO_TARGET,
    )
    shifts: Shifts = _option(
        "all",
        'shifts of the intersection: "all" (published), "inside" (2022 implementation)',
        _choice(*SHIFTS),
        without=effects.NO_TARGET,
    )
    pov_size: tuple[int, int] = _option(
        (64, 64),
        "height and width of the builder's picture in pixels",
        _size,
    )
    renderer: str | Renderer = _option(
        "auto",
        'who draws: "auto", "painter", "opengl", or an object with `render` and `close`',
        _renderer,
    )
    render_mode: Literal["human", "rgb_array", "ansi"] | None = _option(
        None, "what `render()` gives: " + ", ".join(RENDER_MODES), _choice(None, *RENDER_MODES)
    )
    architects: int = _option(
        1,
        "number of architects",
        _count(0, MAX_AGENTS, optional=False),
        without=effects.PAIRS_ONLY,
    )
    builders: int = _option(
        1,
        "number of builders, all in one world",
        _count(1, MAX_AGENTS, optional=False),
        without=effects.PAIRS_ONLY,
    )
    sees: Mapping[str, str | tuple[str, ...]] | None = _option(
        None,
        "parts of the target by agent; None = architects see all of it, builders nothing",
        without=effects.PAIRS_ONLY,
    )
    hearers: Mapping[str, str | tuple[str, ...]] | None = _option(
        None,
        "who hears the messages of an agent, by speaker; None = all agents",
        without=effects.PAIRS_ONLY,
    )
    inventories: Mapping[str, Mapping[str, int] | Sequence[int]] | None = _option(
        None,
        "blocks by builder and colour, 0..20; None = 20 of each colour",
        without=effects.PAIRS_ONLY,
    )

    def __post_init__(self) -> None:
        for item in fields(self):
            if item.metadata["check"] is not None:
                value = item.metadata["check"](item.name, getattr(self, item.name))
                object.__setattr__(self, item.name, value)
        if self.sparse_reward and self.size_reward:
            raise _error("size_reward", True, "False with sparse_reward=True")
        if self.sparse_reward and self.completion_reward:
            expected = "0 with sparse_reward=True, which pays 1"
            raise _error("completion_reward", self.completion_reward, expected)
        known = self.agents
        for name, read, names in (
            ("sees", read_sees, known),
            ("hearers", read_hearers, known),
            ("inventories", read_inventories, known[self.architects :]),
        ):
            if (value := getattr(self, name)) is not None:
                try:
                    object.__setattr__(self, name, read(value, names))
                except ConfigError as error:
                    raise ConfigError(f"{name} is {value!r:.200}: {error}") from None
        for name, length in LENGTHS[self.chat].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, length)

    @classmethod
    def of(cls, config: GameConfig | str | None, options: Mapping[str, Any]) -> GameConfig:
        """Return the config, or the game of a team with this name, with some fields replaced.

        Raises `ConfigError` for unknown field names or teams.
        """
        known = [item.name for item in fields(cls)]
        for name in options:
            if name not in known:
                raise ConfigError(
                    f"unknown option {name!r}{hint(name, known)}, expected one of {', '.join(known)}"
                )
        if isinstance(config, str):
            return cls.of(None, team_options(config, options))
        if config is None:
            return cls(**options)
        if not isinstance(config, cls):
            raise ConfigError(f"config is {config!r:.80}, expected a GameConfig")
        return config._with(options)

    @classmethod
    def read(
        cls,
        setting: Setting,
        config: GameConfig | str | None,
        options: Mapping[str, Any],
        given: Iterable[str] | None = None,
    ) -> GameConfig:
        """Return what `of` returns, for an environment, with the values that its kind fixes.

        Args:
            setting: the environment.
            config: as in `of`. Its options that the environment lacks are ignored, except those of a team.
            options: as in `of`.
            given: the names of `options` that raise where they have no effect; None: all.

        Raises:
            ConfigError: if a given option has no effect, or the environment is not for a team.

        """
        read = cls.of(config, options)
        for name in options if given is None else given:
            instead = _METADATA[name]["without"].get(setting.kind)
            if instead is not None:
                expected = f"no such option in {setting.name}: it has no effect there; use {instead}"
                raise _error(setting.aliases.get(name, name), getattr(read, name), expected)
            if (need := setting.missing(name, read)) is not None:
                expected = f"no such option here: it has an effect only {need}"
                raise _error(setting.aliases.get(name, name), getattr(read, name), expected)
        if setting.kind in LONE:
            read.check_pair(setting.name)
        hidden = [name for name in read.builder_sees if name in TARGET_SIGHTS]
        if hidden and setting.kind != "goal" and not setting.shows_target(read):
            expected = f"no {hidden[0]!r} in {setting.name}: {setting.target_option}"
            raise _error("builder_sees", read.builder_sees, expected)
        lacking = (name for name, item in _METADATA.items() if setting.kind in item["without"])
        return read._with({**{name: _DEFAULTS[name] for name in lacking}, **FIXED.get(setting.kind, {})})

    def _with(self, options: Mapping[str, Any]) -> GameConfig:
        """Return a copy with some fields replaced. Default lengths follow `chat`."""
        lengths = LENGTHS[self.chat].items() if options.get("chat", self.chat) != self.chat else ()
        defaults = {name: None for name, length in lengths if getattr(self, name) == length}
        return replace(self, **{**defaults, **options})

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of all agents, in the order in which they act: architects, then builders."""
        return agents_of(self.architects, self.builders)

    @property
    def is_team(self) -> bool:
        """Whether an option of `TEAM_OPTIONS` is not the default."""
        return any(
            item.name in TEAM_OPTIONS and getattr(self, item.name) != item.default for item in fields(self)
        )

    def parts_of(self, agent: str) -> tuple[str, ...]:
        """Return the names of the parts of the target that an agent sees."""
        seen: dict[str, tuple[str, ...]] = self.sees or read_sees({}, self.agents)  # type: ignore[assignment]
        return seen[agent]

    def hearers_of(self, agent: str) -> tuple[str, ...]:
        """Return the other agents who hear an agent."""
        heard = (self.hearers or {}).get(agent, self.agents)
        return tuple(one for one in self.agents if one in heard and one != agent)

    def heard_by(self, agent: str) -> set[Speaker] | None:
        """Return the speakers whose messages an agent hears, with itself; None for all."""
        speakers = dict(zip(self.agents, speakers_of(self.architects, self.builders), strict=True))
        heard = {speakers[one] for one in self.agents if one == agent or agent in self.hearers_of(one)}
        return None if len(heard) == len(speakers) else heard

    @property
    def players(self) -> dict[str, Role | str]:
        """The player of each agent by its name: its role, or in a game of a team the name itself."""
        team = self.is_team
        return {agent: agent if team else Role(agent.rpartition("_")[0]) for agent in self.agents}

    @property
    def speakers(self) -> dict[Role | str, str]:
        """How dialogues name each player, see `Utterance.speaker`."""
        said = (Utterance(role, "", number) for role, number in speakers_of(self.architects, self.builders))
        return {player: one.speaker for player, one in zip(self.players.values(), said, strict=True)}

    def check_pair(self, what: str) -> None:
        """Raise `ConfigError` if this is a game of a team. what: what supports none, for the message."""
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in TEAM_OPTIONS and value != item.default:
                raise ConfigError(
                    f"{item.name} is {value!r:.80}, expected {item.default!r}: {what} supports no teams yet"
                )

    @property
    def schedules(self) -> dict[str, Schedule]:
        """The schedules in effect, by option. Worlds have a field of that name."""
        used = {"wrong_scale": not self.sparse_reward, "shaping_scale": bool(self.shaping)}
        values = {name: getattr(self, name) for name, is_used in used.items() if is_used}
        return {name: value for name, value in values.items() if isinstance(value, Schedule)}

    def rules(self) -> EpisodeRules:
        """Return what the kernels need: None becomes 0 (no limit), a schedule its first value."""
        named = {rule.name for rule in fields(EpisodeRules)} & _DEFAULTS.keys()
        values = {name: getattr(self, name) for name in named}
        chosen: dict[str, Any] = {name: 0 if value is None else value for name, value in values.items()}
        for name, value in chosen.items():
            if isinstance(value, Schedule):
                chosen[name] = float(value.value(0))
        if self.sparse_reward:
            chosen |= {"right_scale": 0.0, "wrong_scale": 0.0, "completion_reward": 1.0}
        if self.shaping:
            chosen |= {f"shaping_{term}": weight for term, weight in dict(self.shaping).items()}  # type: ignore[arg-type]
        else:
            chosen["shaping_scale"] = 0.0
        return EpisodeRules(**chosen)

    def pay(self, reward: Any, words: Any) -> tuple[Any, Any]:
        """Return the rewards of architect and builder: numbers, or arrays [n] of n games.

        Args:
            reward: the reward of the build.
            words: number of words that the architect said.

        """
        earned = 0.0 if self.rewards == "builder" else reward
        return earned - self.message_cost * words, reward

    def sees_target(self, agent: str) -> bool:
        """Return whether an agent sees the whole target."""
        return "all" in self.parts_of(agent)

    def pay_team(self, earned: Sequence[float], words: Sequence[int]) -> list[float]:
        """Return the rewards of all agents.

        Args:
            earned: the reward that each builder's acts brought.
            words: number of words that each architect said.

        """
        total = sum(earned)
        architects = [self.pay(total, count)[0] for count in words]
        return [*architects, *(earned if self.rewards == "own" else [total] * len(earned))]

    def make_controls(self, can_yield: bool) -> Controls:
        """Return the builder's action encoding."""
        return Controls(self.controls, select_and_place=self.select_and_place, can_yield=can_yield)

    @classmethod
    def table(cls) -> str:
        """Return all fields with default and meaning, as a Markdown table."""
        rows = ["| field | default | meaning |", "|---|---|---|"]
        for item in fields(cls):
            rows.append(f"| `{item.name}` | `{item.default!r}` | {item.metadata['doc']} |")
        return "\n".join(rows)


_METADATA: Mapping[str, Mapping[str, Any]] = {item.name: item.metadata for item in fields(GameConfig)}
_DEFAULTS: Mapping[str, Any] = {item.name: item.default for item in fields(GameConfig)}


def check_pair(env: Any, what: str) -> None:
    """Raise `ConfigError` if an environment plays games of a team, see `GameConfig.check_pair`."""
    config = getattr(getattr(env, "unwrapped", env), "config", None)
    if isinstance(config, GameConfig):
        config.check_pair(what)
