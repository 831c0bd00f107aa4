"""Docstrings and signatures of the environments, generated from `GameConfig` and the spaces.

Each decorator adds the options to the signature, and tables of agents, observations, rewards, ends and options to the
docstring: `@documented` for the two-agent game, `@builder_documented` for single-agent environments,
`@goal_documented` for goals in words, `@batch_documented` for many worlds.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces

from iglu_marl.core.controls import ALL_CONTROLS, Controls, ControlsName
from iglu_marl.core.conventions import Conventions
from iglu_marl.game.chat import make_chat
from iglu_marl.game.config import ARCHITECT_SIGHTS, BUILDER_SIGHTS, TARGET_SIGHTS, Game, GameConfig
from iglu_marl.game.effects import Kind
from iglu_marl.game.observations import Observer, architect_observer, builder_observer

Documented = TypeVar("Documented", bound=Callable[..., Any])

_TERMINATED = (
    "terminated: the build is the target (completion='exact') or covers it ('cover'), up to the allowed"
)
ENDS = (
    _TERMINATED,
    "rotation and shift; truncated: max_steps builder steps or max_turns architect turns are over.",
)
BUILDER_ENDS = (
    _TERMINATED,
    "rotation and shift; truncated: max_steps builder steps are over, or max_turns turns of a live architect.",
)
_GAMES: tuple[Kind, ...] = ("aec", "parallel", "live", "vector")
_LONE: tuple[Kind, ...] = ("single", "instructed")
_GOAL_REWARDS = [("the goal holds after the step", "", 1.0), ("it does not", "", 0.0)]
GOAL_ENDS = (
    "terminated: the goal holds, unless terminate_on_success=False; truncated: max_steps builder steps are over.",
)


def reward_rows(game: Game) -> list[tuple[str, str, str]]:
    """Return the rows of the table of rewards: event, reward by options, reward by default."""
    rows = [*(_GOAL_REWARDS if game == "goal" else ()), *GameConfig.payments(game)]
    return [(event, by_option, f"{amount + 0.0:g}") for event, by_option, amount in rows]  # no -0


def spelled(space: spaces.Space[Any]) -> str:
    """Return a space in one line, with short bounds: for a matrix, those of one row."""
    if isinstance(space, spaces.MultiDiscrete):
        sizes = space.nvec.tolist()
        return f"MultiDiscrete({f'[{sizes[0]}] * {len(sizes)}' if len(set(sizes)) == 1 else sizes})"
    if not isinstance(space, spaces.Box):
        return str(space)
    bounds = []
    for bound in (space.low, space.high):
        distinct = np.unique(bound).tolist()
        values = distinct if len(distinct) == 1 else bound.reshape(-1, bound.shape[-1])[0].tolist()
        text = ", ".join(f"{value:g}" for value in values)
        bounds.append(text if len(distinct) == 1 else f"[{text}]")
    return f"Box({bounds[0]}, {bounds[1]}, {space.shape}, {space.dtype})"


def sight_rows(names: tuple[str, ...], field: str) -> list[tuple[str, str, str, bool]]:
    """Return name, key, space and default of each name that `field` may hold."""
    rows = []
    for name in names:
        sees = {"builder_0": "all"} if name in TARGET_SIGHTS else None
        config = GameConfig(**{field: (name,), "sees": sees})  # type: ignore[arg-type]
        shown = observer_of(config, field)
        ((key, space),) = (shown.only((name,)) if sees else shown).space.items()
        rows.append((name, key, spelled(space), name in getattr(GameConfig(), field)))
    return rows


def observer_of(config: GameConfig, field: str) -> Observer:
    """Return the observer for `field`, "architect_sees" or "builder_sees", without a game."""
    chat = make_chat(config, None)
    if field == "builder_sees":
        return builder_observer(config, chat)
    return architect_observer(config, chat, _no_view)


def _no_view(grid: Any, size: tuple[int, int]) -> Any:
    raise AssertionError("only spaces are asked for")


def _table(title: str, rows: Iterable[tuple[str, ...]]) -> list[str]:
    listed = [tuple(map(str, row)) for row in rows]
    widths = [max(len(row[k]) for row in listed) for k in range(len(listed[0]) - 1)]
    lines = [
        "  ".join([*(part.ljust(width) for part, width in zip(row, widths, strict=False)), row[-1]])
        for row in listed
    ]
    return [f"{title}:", *(f"    {line}".rstrip() for line in lines), ""]


def _fields(kinds: Iterable[Kind]) -> list[dataclasses.Field[Any]]:
    """Return the fields of `GameConfig` that have an effect in one of these kinds of environments."""
    return [
        item
        for item in dataclasses.fields(GameConfig)
        if not all(kind in item.metadata["without"] for kind in kinds)
    ]


@cache
def options_table(*kinds: Kind, **defaults: Any) -> list[str]:
    """Return the fields of `GameConfig` with default and meaning; `defaults`: different ones."""
    return _table(
        "Options (keyword arguments, the fields of GameConfig)",
        [
            (item.name, repr(defaults.get(item.name, item.default)), item.metadata["doc"])
            for item in _fields(kinds)
        ],
    )


@cache
def game_tables() -> list[str]:
    """Return tables of agents, actions, observations, rewards and ends of the two-agent game."""
    config = GameConfig()
    actions = (make_chat(config, None).action_space(), config.make_controls(can_yield=True).space)
    agents = zip(("architect_0", "builder_0"), map(spelled, actions), strict=True)
    lines = _table("Agents and their actions by default", agents)
    for agent, field, names in (
        ("architect_0", "architect_sees", ARCHITECT_SIGHTS),
        ("builder_0", "builder_sees", (*BUILDER_SIGHTS, *TARGET_SIGHTS)),
    ):
        rows = [
            (name, key, "yes" if shown else "no", space)
            for name, key, space, shown in sight_rows(names, field)
        ]
        lines += _table(f"Observations of {agent}", [(f"in {field}", "key", "default", "space"), *rows])
    return [
        *lines,
        *_table("Rewards", reward_rows("pair")),
        *_table("Ends", [(row,) for row in ENDS]),
    ]


def builder_tables(
    make_observer: Callable[..., Observer], conventions: Conventions, controls: ControlsName, thing: Any
) -> list[str]:
    """Return tables of actions, observations, rewards and ends of a single builder.

    The observations are those of `make_observer`, by names of `builder_sees` and by its flags.
    """
    parameters = inspect.signature(make_observer).parameters.values()
    flags = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    default = inspect.signature(thing).parameters["default_sees"].default

    def shown(name: str, /, **flags: bool) -> dict[str, spaces.Space[Any]]:
        config = GameConfig(builder_sees=(name,))
        return dict(make_observer(config, make_chat(config, None), conventions, **flags).space)

    rows = []
    for name in BUILDER_SIGHTS:
        ((key, space),) = shown(name).items()
        rows.append((key, f"{name!r} in builder_sees" + ", by default" * (name in default), spelled(space)))
    if "target_in_obs" in flags:
        space = shown("wrong_cells", target_in_obs=True)["wrong_cells"]
        rows.append(("wrong_cells", "'wrong_cells' in builder_sees, with target_in_obs=True", spelled(space)))
    for flag in flags:
        seen = shown("hotbar", **{flag: True})
        rows += [(key, f"{flag}=True", spelled(space)) for key, space in seen.items() if key != "hotbar"]
    return _lone_tables(action_rows(controls), sorted(rows), "builder", BUILDER_ENDS)


def action_rows(default: ControlsName) -> list[tuple[str, str, str]]:
    """Return name, default and space of each encoding."""
    return [
        (name, "yes" if name == default else "no", spelled(Controls(name).space)) for name in ALL_CONTROLS
    ]


def _lone_tables(
    actions: Iterable[tuple[str, str, str]],
    seen: Iterable[tuple[str, str, str]],
    game: Game,
    ends: Iterable[str],
) -> list[str]:
    return [
        *_table("Actions", [("action_space", "default", "space"), *actions]),
        *_table("Observations", [("key", "when", "space"), *seen]),
        *_table("Rewards", reward_rows(game)),
        *_table("Ends", [(row,) for row in ends]),
    ]


def _option_parameters(*kinds: Kind, **defaults: Any) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            item.name, kind, default=defaults.get(item.name, item.default), annotation=item.type
        )
        for item in _fields(kinds)
    ]


def _document(thing: Documented, lines: list[str], more: Iterable[inspect.Parameter]) -> Documented:
    """Append lines to a docstring, and replace `**options` in the signature by `more`."""
    given = inspect.signature(thing).parameters
    named = {name: one for name, one in given.items() if one.kind is not inspect.Parameter.VAR_KEYWORD}
    for parameter in more:
        named.setdefault(parameter.name, parameter)
    thing.__signature__ = inspect.Signature(list(named.values()))  # type: ignore[attr-defined]
    thing.__doc__ = "\n".join([inspect.cleandoc(thing.__doc__ or ""), "", *lines]).rstrip() + "\n"
    return thing


def documented(thing: Documented) -> Documented:
    """Document a function or class of the two-agent game."""
    return _document(thing, [*game_tables(), *options_table(*_GAMES)], _option_parameters(*_GAMES))


def builder_documented(
    make_observer: Callable[..., Observer], conventions: Conventions, controls: ControlsName
) -> Callable[[Documented], Documented]:
    """Document a single-agent environment; `controls` is its default encoding."""

    def document(thing: Documented) -> Documented:
        tables = builder_tables(make_observer, conventions, controls, thing)
        lines = [*tables, *options_table(*_LONE, controls=controls)]
        return _document(thing, lines, _option_parameters(*_LONE, controls=controls))

    return document


def goal_documented(
    seen: Iterable[tuple[str, str, str]], **defaults: Any
) -> Callable[[Documented], Documented]:
    """Document a maker of environments with goals in words.

    seen: key, condition and space of each observation. defaults: different defaults of `GameConfig`.
    """

    def document(thing: Documented) -> Documented:
        options = _option_parameters("goal", **defaults)
        lines = [
            *_lone_tables(action_rows("walking"), seen, "goal", GOAL_ENDS),
            *options_table("goal", **defaults),
        ]
        return _document(thing, lines, options)

    return document


def batch_documented(
    batch: Callable[..., Any], single: Callable[..., Any]
) -> Callable[[Documented], Documented]:
    """Document many worlds of the environment `single`, with the options of `batch`."""

    def document(thing: Documented) -> Documented:
        parameters = [
            *inspect.signature(batch).parameters.values(),
            *inspect.signature(single).parameters.values(),
        ]
        more = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        taken = [one for one in more if one.name not in ("prototype", "architect")]
        tables = inspect.cleandoc(single.__doc__ or "").partition("\nActions:\n")
        return _document(thing, ["".join(tables[1:]).strip("\n")], taken)

    return document
