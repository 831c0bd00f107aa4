"""Observations as one vector, with the position and encoding of each entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.wrappers.adapters import AgentChange, AgentSpaces
from iglu_marl.game.episode import EVENTS
from iglu_marl.game.observations import GRIDS

Grids = Literal["one-hot", "scaled"]
Words = Literal["counts", "one-hot", "scaled"]
Array = npt.NDArray[Any]

_WORDS = ("dialog", "chat", "goal")
_EVENT_NUMBERS = {name: number for number, name in enumerate(EVENTS)}
_KINDS = 6  # of blocks


class Style(NamedTuple):
    """Options of `flatten`."""

    drop: tuple[str, ...] = ()
    grids: Grids = "one-hot"
    words: Words = "counts"

    def check(self) -> Style:
        """Return the options. Raises `ConfigError` for a wrong value."""
        if isinstance(self.drop, str) or not all(isinstance(key, str) for key in self.drop):
            raise ConfigError(f"drop is {self.drop!r}, expected a tuple of observation keys")
        for name, value, known in (
            ("grids", self.grids, ("one-hot", "scaled")),
            ("words", self.words, ("counts", "one-hot", "scaled")),
        ):
            if value not in known:
                raise ConfigError(f"{name} is {value!r}, expected one of {', '.join(map(repr, known))}")
        return self


class Entry(NamedTuple):
    """One entry of an observation: path, length, upper bounds and encoding."""

    path: tuple[str, ...]
    size: int
    high: float
    write: Callable[[Array], Array]  # [..., *shape] to [..., size], the numbers 0..high


# Functions of the module, not lambdas: environments are pickled.


def _scaled(low: Array, extent: Array, value: Array) -> Array:
    lead = value.shape[: value.ndim - low.ndim]
    scaled = (value.astype(np.float32) - low) / extent
    return np.clip(scaled, 0, 1).reshape(*lead, -1)  # rounding may lead past the bounds


def _one_hot_grid(air: int, kinds: int, value: Array) -> Array:
    lead = value.shape[:-3]
    return (value[..., None] == np.arange(1, kinds + 1) + air).reshape(*lead, -1)


def _one_hot_words(size: int, value: Array) -> Array:
    return (value[..., None] == np.arange(1, size + 1)).reshape(*value.shape[:-1], -1)


def _counted_words(size: int, value: Array) -> Array:
    rows = value.reshape(-1, value.shape[-1])
    numbered = rows + np.arange(len(rows))[:, None] * (size + 1)
    counts = np.bincount(numbered.ravel(), minlength=len(rows) * (size + 1))
    return counts.reshape(*value.shape[:-1], size + 1)[..., 1:]


def _entry(path: tuple[str, ...], space: Any, style: Style) -> Entry:
    if isinstance(space, spaces.Text):
        raise ConfigError(
            f"{path[-1]!r} is text, which has no place in a vector; wrap with tokenize() first, or drop it"
        )
    if not isinstance(space, spaces.Box) or not space.is_bounded():
        raise ConfigError(f"{path[-1]!r} is {space}, expected a bounded Box")
    low, high = float(space.low.min()), float(space.high.max())
    count = int(np.prod(space.shape))
    if path[-1] in GRIDS and style.grids == "one-hot":
        kinds = _KINDS + 1 if path[-1].endswith("egocentric") else _KINDS  # outside the zone is one more
        air = -1 if (low, high) == (-1, kinds - 1) else 0  # the ids of 2021 count colours from 0
        return Entry(path, count * kinds, 1, partial(_one_hot_grid, air, kinds))
    if path[-1] in _WORDS and style.words != "scaled":
        size = int(high)
        if style.words == "counts":
            return Entry(path, size, count, partial(_counted_words, size))
        return Entry(path, count * size, 1, partial(_one_hot_words, size))
    extent = (space.high.astype(np.float64) - space.low).astype(np.float32)
    return Entry(path, count, 1, partial(_scaled, space.low.astype(np.float32), extent))


def _entries(space: Any, style: Style, path: tuple[str, ...] = ()) -> Iterator[Entry]:
    if isinstance(space, spaces.Dict):
        for key, part in space.items():
            if key not in style.drop:
                yield from _entries(part, style, (*path, key))
    else:
        yield _entry(path, space, style)


class Vector(AgentChange):
    """Observations of one agent as one float32 vector.

    alike: agents with a common layout. An entry has the same position for all, with zeros for agents that do not
    observe it, and at the end where it is shorter (a builder's own pose where an architect sees those of a team). With
    several agents, the one-hot agent comes last.
    left_out: keys of infos to leave out.
    layout: (path, first, last) of each entry, in order; the path of the agent is ("role",).
    """

    def __init__(
        self, given: AgentSpaces, alike: tuple[AgentSpaces, ...], style: Style, left_out: Collection[str] = ()
    ) -> None:
        super().__init__(given)
        self._left_out = left_out
        found: dict[tuple[str, ...], Entry] = {}
        for other in alike:
            if not isinstance(other.observation_space, spaces.Dict):
                raise ConfigError(f"observations are {other.observation_space}, expected a Dict")
            for entry in _entries(other.observation_space, style):
                if entry.path not in found or entry.size > found[entry.path].size:
                    found[entry.path] = entry
        if not found:
            raise ConfigError(f"drop is {style.drop!r}, which leaves nothing to observe")
        ends = np.cumsum([found[path].size for path in sorted(found)]).tolist()
        high = np.concatenate([np.full(found[path].size, found[path].high) for path in sorted(found)])
        self.layout = [
            (path, last - found[path].size, last) for path, last in zip(sorted(found), ends, strict=True)
        ]
        self._role: int | None = None
        if len(alike) > 1:
            agents = [other.agent for other in alike]
            self._role = ends[-1] + agents.index(given.agent)
            self.layout.append((("role",), ends[-1], ends[-1] + len(agents)))
            high = np.concatenate([high, np.ones(len(agents))])
        own = {entry.path: entry for entry in _entries(given.observation_space, style)}
        self._parts = [(first, own[path]) for path, first, _ in self.layout if path in own]
        self.observation_space = spaces.Box(0, high.astype(np.float32), dtype=np.float32)
        self._length = len(high)

    def observe(self, observation: Any, env: Any) -> Any:
        """Return the observation as float32 [length], or [worlds, length]."""
        vector: Array | None = None
        for first, entry in self._parts:
            value = observation
            for key in entry.path:
                value = value[key]
            numbers = entry.write(np.asarray(value))
            if vector is None:
                vector = np.zeros((*numbers.shape[:-1], self._length), np.float32)
            vector[..., first : first + entry.size] = numbers
        assert vector is not None
        if self._role is not None:
            vector[..., self._role] = 1
        return vector

    def inform(self, info: dict[str, Any], env: Any) -> dict[str, Any]:
        """Return the info with events as their numbers, for libraries that expect numbers.

        `events`, by builder, becomes an array with the number of each, in order.
        """
        numbered = {key: value for key, value in info.items() if key not in self._left_out}
        if "event" in numbered:
            numbered["event"] = _event_numbers(info["event"])
        if "events" in numbered:
            builders = [agent for agent in info["events"] if not agent.startswith("_")]
            numbers = [_event_numbers(info["events"][agent]) for agent in builders]
            numbered["events"] = np.stack(numbers, axis=-1)
        if "final_info" in numbered:
            numbered["final_info"] = self.inform(info["final_info"], env)
        return numbered


def _event_numbers(events: Any) -> Any:
    """Return the numbers of events: of a name, or int64 [worlds] of an array of names (0 for None)."""
    if isinstance(events, str):
        return _EVENT_NUMBERS[events]
    return np.array([_EVENT_NUMBERS.get(event, 0) for event in events], np.int64)
