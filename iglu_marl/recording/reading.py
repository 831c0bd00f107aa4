"""Reading recordings: the episodes of a file as data, and the environments in which they were played."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.parsing import MIB, parse_json, read_file, reading
from iglu_marl.core.task import Task
from iglu_marl.recording.games import make_game
from iglu_marl.recording.values import FORMAT, VERSION, from_json, task_from_json

FILE_LIMIT = 4096 * MIB  # bytes


@dataclass(frozen=True)
class RecordedMove:
    """A recorded move: where it stands in the file, actions and rewards by role, what was heard, the checksum.

    controls: the builder's new encoding, where it changed before this move.
    """

    line: int
    actions: dict[Role, Any]
    rewards: dict[Role, float]
    heard: str | None
    state: str
    controls: dict[str, Any] | None = None


@dataclass
class Recording:
    """One episode of a file, as it was written. `end` is None when the game was broken off."""

    path: Path
    line: int
    header: dict[str, Any]
    moves: list[RecordedMove] = field(default_factory=list)
    end: dict[str, Any] | None = None

    @property
    def view(self) -> str:
        """One of "aec", "parallel", "live" and "single"."""
        return str(self.header["view"])

    @property
    def seed(self) -> int | None:
        """The seed that the environment was reset with."""
        return cast("int | None", self.header["seed"])

    @property
    def task(self) -> Task:
        """The task of the episode, at its start."""
        with reading(self._place):
            return task_from_json(self.header["task"])

    @property
    def _place(self) -> str:
        return f"{self.path}, line {self.line}"

    def make_env(self, *, vocabulary: Any = None, render_mode: str | None = None) -> Any:
        """A bare environment in which the moves can be made again, not yet reset.

        vocabulary: the codec, where the recorded one was an object. Raises `ConfigError` without it.
        """
        codec = self.header["config"].get("vocabulary")
        needs_codec = isinstance(codec, dict) and vocabulary is None
        place = str(self.path) if needs_codec else f"{self._place}: the header cannot be used"
        with reading(place, ConfigError if needs_codec else DataError):
            return make_game(self.header, vocabulary=vocabulary, render_mode=render_mode)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The lines of a file, numbered from 1; None for one that was cut off while it was written."""
    rows = read_file(path, FILE_LIMIT).split(b"\n")
    if rows and not rows[-1]:
        rows.pop()
    parsed: list[dict[str, Any] | None] = []
    for row in rows:
        try:
            value = parse_json(row, str(path), verbatim=True)  # half a character that was said comes back
        except DataError:
            value = None
        parsed.append(value if isinstance(value, dict) else None)
    for number, line in enumerate(parsed, start=1):
        if line is None:
            following = parsed[number] if number < len(parsed) else {"format": FORMAT}
            if following is None or "format" not in following:
                raise DataError(f"{path}, line {number}: no JSON object: {rows[number - 1][:60]!r}")
        yield number, line


def read_recording(path: str | os.PathLike[str]) -> list[Recording]:
    """The episodes of a file. A last line that was cut off is left out.

    Raises `DataError`, naming file and line, for a file that is no recording, or of a later version.
    """
    file = Path(path)
    found: list[Recording] = []
    controls = None
    for number, line in _lines(file):
        if line is None:
            continue
        with reading(f"{file}, line {number}"):
            if "format" in line:
                _check_header(line)
                found.append(Recording(file, number, line))
            elif not found:
                raise DataError(f"expected a header with format {FORMAT!r}, got {line!s:.60}")
            elif "end" in line:
                found[-1].end = _checked(line, "end", _END)
            elif "controls" in line:
                controls = _checked(line, "controls", _CONTROLS)
            else:
                found[-1].moves.append(_move(line, number, len(found[-1].moves), controls))
                controls = None
    if not found:
        raise DataError(f"{file} holds no episode of a recording")
    return found


_HEADER_KEYS = ("view", "config", "controls", "seed", "task", "pose", "recorded", "layout", "state")
_HEADER = {
    "config": dict, "controls": dict, "task": dict, "seed": (int, type(None)), "layout": str, "state": str,
    "heard": (list, type(None)), "versions": dict,
}  # fmt: skip
_CONTROLS = {"name": str, "select_and_place": bool}
_END = {"terminated": bool, "truncated": bool}
_MOVE = {"act": dict, "rewards": dict, "heard": (str, type(None)), "state": str}


def _checked(line: dict[str, Any], key: str, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The object of that key. Raises `DataError` where it is none, or an entry is of another type."""
    value = line[key]
    if not isinstance(value, dict):
        raise DataError(f"{key} is {value!r:.60}, expected an object")
    _check_kinds(value, kinds)
    return value


def _check_kinds(value: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    for name, kind in kinds.items():
        if name in value and not isinstance(value[name], kind):
            raise DataError(f"{name} is {value[name]!r:.60}, which a recording does not have there")


def _check_header(line: dict[str, Any]) -> None:
    if line["format"] != FORMAT:
        raise DataError(f"format is {line['format']!r:.60}, expected {FORMAT!r}")
    if line.get("version") != VERSION:
        raise DataError(f"version is {line.get('version')!r:.20}, expected {VERSION}")
    if missing := [key for key in _HEADER_KEYS if key not in line]:
        raise DataError(f"the header lacks {', '.join(missing)}")
    if line["view"] not in ("aec", "parallel", "live", "single"):
        raise DataError(f"view is {line['view']!r:.20}, expected aec, parallel, live or single")
    _check_kinds(line, _HEADER)


def _move(line: dict[str, Any], number: int, count: int, controls: Any) -> RecordedMove:
    if line.get("n") != count:
        raise DataError(f"move {line.get('n')!r:.20}, expected move {count}")
    with reading("no move of a recording"):
        _check_kinds(line, _MOVE)
        return RecordedMove(
            number,
            {Role(name): from_json(action) for name, action in line["act"].items()},
            {Role(name): float(value) for name, value in line.get("rewards", {}).items()},
            line.get("heard"),
            line["state"],
            controls,
        )
