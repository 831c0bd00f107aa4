"""Reading recordings: the episodes of a file as data, and the environments in which they were played."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import JsonLines, replacing
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


def _rows(content: bytes) -> list[bytes]:
    """The lines of a file; the last one may have been cut off."""
    return content.removesuffix(b"\n").split(b"\n")


def _parsed(row: bytes, place: str) -> dict[str, Any] | None:
    """A line as an object; None for one that is none, such as one that was cut off while it was written."""
    try:
        value = parse_json(row, place, verbatim=True)  # half a character that was said comes back
    except DataError:
        return None
    return value if isinstance(value, dict) else None


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The lines of a file, numbered from 1; None for one that was cut off while it was written."""
    rows = _rows(read_file(path, FILE_LIMIT))
    parsed = [_parsed(row, str(path)) for row in rows]
    for number, line in enumerate(parsed, start=1):
        if line is None:
            following = parsed[number] if number < len(parsed) else {"format": FORMAT}
            if following is None or "format" not in following:
                raise DataError(f"{path}, line {number}: no JSON object: {rows[number - 1][:60]!r}")
        yield number, line


class _Episodes:
    """The episodes of a file, line by line."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: list[Recording] = []
        self._controls: dict[str, Any] | None = None

    def take(self, number: int, line: dict[str, Any]) -> None:
        """The next line. Raises `DataError`, naming it, for one that does not belong there."""
        found, controls = self.found, self._controls
        with reading(f"{self.file}, line {number}"):
            if "format" in line:
                _check_header(line)
                found.append(Recording(self.file, number, line))
                self._controls = None
            elif not found:
                raise DataError(f"expected a header with format {FORMAT!r}, got {line!s:.60}")
            elif "end" in line:
                found[-1].end = _checked(line, "end", _END)
            elif "controls" in line:
                self._controls = _checked(line, "controls", _CONTROLS)
            else:
                found[-1].moves.append(_move(line, number, len(found[-1].moves), controls))
                self._controls = None


def read_recording(path: str | os.PathLike[str]) -> list[Recording]:
    """The episodes of a file. A last line that was cut off is left out.

    Raises `DataError`, naming file and line, for a file that is no recording, or of a later version; what is whole of
    a damaged one can be had by `repair`.
    """
    episodes = _Episodes(Path(path))
    for number, line in _lines(episodes.file):
        if line is not None:
            episodes.take(number, line)
    if not episodes.found:
        raise DataError(f"{path} holds no episode of a recording")
    return episodes.found


@dataclass(frozen=True)
class Repaired:
    """What came of `repair`: episodes and lines kept, the numbers of the lines lost, where the damaged file is now.

    damaged: None where nothing was lost; the file is then as it was.
    """

    episodes: int
    kept: int
    lost: list[int]
    damaged: Path | None


def repair(path: str | os.PathLike[str]) -> Repaired:
    """Leave of a damaged recording what can be read: of each episode its lines up to the first that is damaged.

    What follows in that episode is lost with it, since moves cannot be made again without those before. The file as it
    was is kept beside it, as `<name>.damaged`.
    Raises `DataError` where no episode can be read (the file is then as it was), where `<name>.damaged` exists
    already, and where another process is writing the recording.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file} does not exist, expected a recording to repair")
    read_file(file, FILE_LIMIT)
    with contextlib.closing(JsonLines(file)) as lines:
        content = lines.read()
        rows, episodes = _rows(content), _Episodes(file)
        kept: list[dict[str, Any]] = []
        lost: list[int] = []
        whole = 0  # bytes that stay as they are
        broken = False
        for number, row in enumerate(rows, start=1):
            line = _parsed(row, str(file))
            try:
                if line is None or (broken and "format" not in line):
                    raise DataError("no line of an episode whose lines before are there")
                episodes.take(number, line)
            except DataError:
                broken = True
                lost.append(number)
                continue
            broken = False
            if lost or whole + len(row) == len(content):  # the line feed of the last line is missing
                kept.append(line)
            else:
                whole += len(row) + 1
        if not episodes.found:
            raise DataError(f"{file} holds no episode of a recording that can be read")
        if whole == len(content):
            return Repaired(len(episodes.found), len(rows), lost, None)
        damaged = file.with_name(f"{file.name}.damaged")
        if damaged.exists():
            raise DataError(f"{damaged} exists already; move it first: the damaged recording is kept there")
        with replacing(damaged, mode=stat.S_IMODE(file.stat().st_mode)) as copy:
            copy.write_bytes(content)
        lines.cut(whole)
        for line in kept:
            lines.append(line)
    return Repaired(len(episodes.found), len(rows) - len(lost), lost, damaged)


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
