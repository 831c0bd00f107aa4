"""Reading recordings: the episodes of a file as data, and the environments in which they were played."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError, IgluMarlError
from iglu_marl.core.task import Task
from iglu_marl.recording.games import make_game
from iglu_marl.recording.values import FORMAT, VERSION, from_json, task_from_json


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
        """One of "aec", "parallel" and "single"."""
        return str(self.header["view"])

    @property
    def seed(self) -> int | None:
        """The seed that the environment was reset with."""
        return cast("int | None", self.header["seed"])

    @property
    def task(self) -> Task:
        """The task of the episode, at its start."""
        return task_from_json(self.header["task"])

    def make_env(self, *, vocabulary: Any = None, render_mode: str | None = None) -> Any:
        """A bare environment in which the moves can be made again, not yet reset.

        vocabulary: the codec, where the recorded one was an object. Raises `ConfigError` without it.
        """
        codec = self.header["config"].get("vocabulary")
        try:
            return make_game(self.header, vocabulary=vocabulary, render_mode=render_mode)
        except (KeyError, TypeError, AttributeError, IgluMarlError) as error:
            if isinstance(codec, dict) and vocabulary is None:
                raise ConfigError(f"{self.path}: {error}") from None
            raise DataError(f"{self.path}, line {self.line}: the header cannot be used: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The lines of a file, numbered from 1; None for one that was cut off while it was written."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    rows = content.split(b"\n")
    if rows and not rows[-1]:
        rows.pop()
    parsed: list[dict[str, Any] | None] = []
    for row in rows:
        try:
            value = json.loads(row)
        except (ValueError, RecursionError):
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
        place = f"{file}, line {number}"
        if "format" in line:
            _check_header(line, place)
            found.append(Recording(file, number, line))
        elif not found:
            raise DataError(f"{place}: expected a header with format {FORMAT!r}, got {str(line)[:60]}")
        elif "end" in line:
            found[-1].end = line["end"]
        elif "controls" in line:
            controls = line["controls"]
        else:
            found[-1].moves.append(_move(line, number, len(found[-1].moves), place, controls))
            controls = None
    if not found:
        raise DataError(f"{file} holds no episode of a recording")
    return found


_HEADER_KEYS = ("view", "config", "controls", "seed", "task", "pose", "recorded", "layout", "state")


def _check_header(line: dict[str, Any], place: str) -> None:
    if line["format"] != FORMAT:
        raise DataError(f"{place}: format is {line['format']!r:.60}, expected {FORMAT!r}")
    if line.get("version") != VERSION:
        raise DataError(f"{place}: version is {line.get('version')!r:.20}, expected {VERSION}")
    if missing := [key for key in _HEADER_KEYS if key not in line]:
        raise DataError(f"{place}: the header lacks {', '.join(missing)}")
    if line["view"] not in ("aec", "parallel", "single"):
        raise DataError(f"{place}: view is {line['view']!r:.20}, expected aec, parallel or single")


def _move(line: dict[str, Any], number: int, count: int, place: str, controls: Any) -> RecordedMove:
    if line.get("n") != count:
        raise DataError(f"{place}: move {line.get('n')!r:.20}, expected move {count}")
    try:
        return RecordedMove(
            number,
            {Role(name): from_json(action) for name, action in line["act"].items()},
            {Role(name): float(value) for name, value in line.get("rewards", {}).items()},
            line.get("heard"),
            str(line["state"]),
            controls,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{place}: no move of a recording: {error!r:.100}") from None
