"""Observations as one vector, with the position and encoding of each entry."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.arguments import as_count
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.envs.wrappers.adapters import AgentChange, AgentSpaces
from iglu_marl.game.episode import EVENTS
from iglu_marl.game.observations import GRIDS

Words = Literal["counts", "one-hot"]
Numbers = Literal["float32", "uint8"]
Array = npt.NDArray[Any]

_WORDS = ("dialog", "chat", "goal")
_EVENT_NUMBERS: dict[str | None, int] = {None: 0, **{name: number for number, name in enumerate(EVENTS)}}
_KINDS = 6  # of blocks
_CROPPED = ("grid", "target_grid", "target_mask", "target_sides")


class Style(NamedTuple):
    """Options of `flatten`."""

    drop: tuple[str, ...] = ()
    words: Words = "counts"
    dtype: Numbers = "float32"
    crop: tuple[int, int] | None = None

    def check(self) -> Style:
        """Return the options. Raises `ConfigError` for a wrong value."""
        if isinstance(self.drop, str) or not all(isinstance(key, str) for key in self.drop):
            raise ConfigError(f"drop is {self.drop!r}, expected a tuple of observation keys")
        for name, value, known in (
            ("words", self.words, ("counts", "one-hot")),
            ("dtype", self.dtype, ("float32", "uint8")),
        ):
            if value not in known:
                raise ConfigError(f"{name} is {value!r}, expected one of {', '.join(map(repr, known))}")
        if self.crop is None:
            return self
        if not isinstance(self.crop, (tuple, list)) or len(self.crop) != 2:
            raise ConfigError(f"crop is {self.crop!r}, expected (layers, radius) or None")
        layers, radius = self.crop
        crop = (
            as_count("crop[0]", layers, 1, ZONE_SHAPE[0]),
            as_count("crop[1]", radius, 0, ZONE_SHAPE[1] // 2),
        )
        return self._replace(crop=crop)

    def part(self, key: str) -> tuple[slice, ...]:
        """Return the part of an entry that `crop` keeps."""
        if self.crop is None or key not in _CROPPED:
            return ()
        layers, radius = self.crop
        middle = ZONE_SHAPE[1] // 2
        near = slice(middle - radius, middle + radius + 1)
        return (slice(None), slice(layers), near) if key == "target_sides" else (slice(layers), near, near)


class Entry:
    """One entry of an observation: path, length, and upper bound of its numbers. The base class scales numbers.

    Numbers lie in 0..`high`: fractions in 0..1 as float32, and in 0..255 as uint8.
    """

    def __init__(self, path: tuple[str, ...], space: spaces.Box, style: Style) -> None:
        self.path, self.shape = path, space.shape
        self._part: Any = (..., *style.part(path[-1]))
        low, high = space.low[self._part], space.high[self._part]
        self.size, self.high = low.size, 255 if style.dtype == "uint8" else 1
        self._low = low.astype(np.float32)
        self._extent = (high.astype(np.float64) - low).astype(np.float32)

    def write(self, value: Array, out: Array, first: int) -> None:
        """Write values [n, *shape] into the columns of `out` from `first` on."""
        scaled = (value[self._part].astype(np.float32) - self._low) / self._extent
        np.clip(scaled, 0, 1, out=scaled)  # rounding may lead past the bounds
        if self.high > 1:
            scaled = np.rint(scaled * self.high)
        out[:, first : first + self.size] = scaled.reshape(len(value), -1)


class Cells(Entry):
    """Blocks, one-hot by cell. `shown` are the ids that the vectors show, where these are used again."""

    def __init__(self, path: tuple[str, ...], space: spaces.Box, style: Style) -> None:
        super().__init__(path, space, style)
        low, high = int(space.low.min()), int(space.high.max())
        self._kinds = (
            _KINDS + 1 if path[-1].endswith("egocentric") else _KINDS
        )  # outside the zone is one more
        counts_from_0 = (low, high) == (-1, self._kinds - 1)
        self._air = -1 if counts_from_0 else 0  # the ids of 2021 count colours from 0
        self.size, self.high = self.size * self._kinds, 1
        self._shown: Array | None = None

    def write(self, value: Array, out: Array, first: int) -> None:
        """Write ids into columns of zeros."""
        self._write(self._ids(value), np.array(self._air, value.dtype), out, first)

    def update(self, value: Array, out: Array, first: int) -> None:
        """Write ids into columns that show those of the last call, or zeros."""
        value = self._ids(value)
        if self._shown is None:
            self._shown = np.full(value.shape, self._air, value.dtype)
        self._write(value, self._shown, out, first)

    def _ids(self, value: Array) -> Array:
        """Return the ids of the cells that are kept. Sides that are not seen are air."""
        kept = value[self._part]
        return np.maximum(kept, 0) if self.path[-1] == "target_sides" else kept

    def _write(self, value: Array, shown: Array, out: Array, first: int) -> None:
        """Write the cells that differ from what is shown."""
        changed = np.flatnonzero(value != shown)
        rows, cells = np.divmod(changed, self.size // self._kinds)
        columns = first + cells * self._kinds - 1 - self._air
        new = value.reshape(-1)[changed]
        there = new != self._air
        if shown.shape:
            old = shown.reshape(-1)[changed]
            gone = old != self._air
            out[rows[gone], columns[gone] + old[gone]] = 0
            shown.reshape(-1)[changed] = new
        out[rows[there], columns[there] + new[there]] = 1


class Tokens(Entry):
    """Tokens, counted, or one-hot by position."""

    def __init__(self, path: tuple[str, ...], space: spaces.Box, style: Style) -> None:
        super().__init__(path, space, style)
        positions, self._tokens = self.size, int(space.high.max())
        if style.words == "counts":
            self._stride, self.size, self.high = 0, self._tokens, positions
        else:
            self._stride, self.size, self.high = self._tokens, positions * self._tokens, 1
        if style.dtype == "uint8" and self.high > 255:
            raise ConfigError(
                f"dtype is 'uint8', expected 'float32' where {positions} tokens of {path[-1]!r} are counted"
            )

    def write(self, value: Array, out: Array, first: int) -> None:
        """Write tokens; 0 is none."""
        out[:, first : first + self.size] = 0
        rows, positions = np.nonzero(value)
        columns = first + positions * self._stride + value[rows, positions] - 1
        np.add.at(out, (rows, columns), 1)


def _entry(path: tuple[str, ...], space: Any, style: Style) -> Entry:
    if isinstance(space, spaces.Text):
        raise ConfigError(
            f"{path[-1]!r} is text, which has no place in a vector: make the environment with chat='tokens' (a goal "
            "with goal_in_obs='tokens'), or drop it"
        )
    if not isinstance(space, spaces.Box) or not space.is_bounded():
        raise ConfigError(f"{path[-1]!r} is {space}, expected a bounded Box")
    if path[-1] in (*GRIDS, "target_sides"):
        return Cells(path, space, style)
    if path[-1] in _WORDS:
        return Tokens(path, space, style)
    return Entry(path, space, style)


def _entries(space: Any, style: Style, path: tuple[str, ...] = ()) -> Iterator[Entry]:
    if isinstance(space, spaces.Dict):
        for key, part in space.items():
            if key not in style.drop:
                yield from _entries(part, style, (*path, key))
    else:
        yield _entry(path, space, style)


class Vector(AgentChange):
    """Observations of one agent as one vector.

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
        self._dtype: Any = np.dtype(style.dtype).type
        self.observation_space = spaces.Box(0, high.astype(self._dtype), dtype=self._dtype)
        self._length = len(high)
        self._kept: Array | None = None

    def observe(self, observation: Any, env: Any) -> Any:
        """Return the observation as a vector [length], or [worlds, length].

        Where many worlds return the same arrays in each step (`copy=False`), so does this.
        """
        values = []
        for _, entry in self._parts:
            value = observation
            for key in entry.path:
                value = value[key]
            values.append(np.asarray(value))
        entry = self._parts[0][1]
        if values[0].ndim == len(entry.shape):  # of one world
            out = np.zeros((1, self._length), self._dtype)
            self._write([value[None] for value in values], out)
            return out[0]
        if getattr(env, "copy", True):
            out = np.zeros((len(values[0]), self._length), self._dtype)
            self._write(values, out)
            return out
        if self._kept is None:
            self._kept = np.zeros((len(values[0]), self._length), self._dtype)
        self._write(values, self._kept, again=True)
        return self._kept

    def _write(self, values: list[Array], out: Array, again: bool = False) -> None:
        """Write the values of all entries. again: whether `out` shows those of the last call."""
        for (first, entry), value in zip(self._parts, values, strict=True):
            if again and isinstance(entry, Cells):
                entry.update(value, out, first)
            else:
                entry.write(value, out, first)
        if self._role is not None:
            out[:, self._role] = 1

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
    return np.array([*map(_EVENT_NUMBERS.__getitem__, events.tolist())], np.int64)
