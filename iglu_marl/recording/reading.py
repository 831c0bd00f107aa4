"""Reader of recordings: the episodes of a file, and their environments."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import JsonLines, atomic_write, json_line, usable_path
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.core.task import Task
from iglu_marl.game.episode import WorldEdit
from iglu_marl.recording.games import make_game
from iglu_marl.recording.values import (
    FORMAT,
    VERSION,
    chained_line,
    checked_link,
    from_json,
    player_of,
    task_from_json,
)

FILE_LIMIT = 4096 * MIB  # bytes


@dataclass(frozen=True)
class RecordedMove:
    """A recorded move: its line in the file, actions and rewards by player, the utterance heard, and the checksum.

    `controls` is the builder's new encoding, if it changed before this move; `edits` are the changes of the world from
    outside before it.
    """

    line: int
    actions: dict[Role | str, Any]
    rewards: dict[Role | str, float]
    heard: str | None
    state: str
    controls: dict[str, Any] | None = None
    edits: tuple[WorldEdit, ...] = ()


@dataclass
class Recording:
    """One episode of a file. `end` is None if the game is unfinished. `last_edits` are those after the last move.

    `chain` is the hash of the last line, which depends on all lines of the episode.
    """

    path: Path
    line: int
    header: dict[str, Any]
    moves: list[RecordedMove] = field(default_factory=list)
    end: dict[str, Any] | None = None
    chain: str = ""
    last_edits: tuple[WorldEdit, ...] = ()

    def __post_init__(self) -> None:
        with wrap_errors(self._place):
            _check_header(self.header)

    @property
    def view(self) -> str:
        """One of "aec", "parallel", "live" and "single"."""
        return str(self.header["view"])

    @property
    def edits(self) -> int:
        """Number of changes of the world from outside."""
        return sum(len(move.edits) for move in self.moves) + len(self.last_edits)

    def check_unedited(self, what: str) -> None:
        """Raise `DataError` if the world was changed from outside. what: what needs the moves of players alone."""
        if self.edits:
            raise DataError(
                f"{self._place}: the world of the game was edited from outside ({self.edits} times), expected 0 edits "
                f"in {what}"
            )

    @property
    def seed(self) -> int | None:
        """Seed of the reset."""
        return cast("int | None", self.header["seed"])

    @property
    def task(self) -> Task:
        """Task at the start of the episode."""
        with wrap_errors(self._place):
            return task_from_json(self.header["task"])

    @property
    def _place(self) -> str:
        return f"{self.path}, line {self.line}"

    def make_env(self, *, vocabulary: Any = None, render_mode: str | None = None) -> Any:
        """Make the environment of the episode, not yet reset.

        `vocabulary` is the codec if the recorded one was an object; without it, `ConfigError` is raised.
        """
        codec = self.header["config"].get("vocabulary")
        needs_codec = isinstance(codec, dict) and vocabulary is None
        place = str(self.path) if needs_codec else f"{self._place}: the header cannot be used"
        with wrap_errors(place, ConfigError if needs_codec else DataError):
            return make_game(self.header, vocabulary=vocabulary, render_mode=render_mode)


def _rows(content: bytes) -> list[bytes]:
    """Return the lines of a file; the last one may be incomplete."""
    return content.removesuffix(b"\n").split(b"\n")


def _parsed(row: bytes, place: str) -> dict[str, Any] | None:
    """Parse a line as an object; None if it is not one, such as an incomplete line."""
    try:
        value = parse_json(row, place, verbatim=True)  # keeps lone surrogates of utterances
    except DataError:
        return None
    return value if isinstance(value, dict) else None


class _Episodes:
    def __init__(self, file: Path, verify: bool = True, ordered: bool = True) -> None:
        self.file, self.verify, self.ordered = file, verify, verify and ordered
        self.found: list[Recording] = []
        self._controls: dict[str, Any] | None = None

    def take(self, number: int, line: dict[str, Any], row: bytes) -> None:
        """Add the next line. Raises `DataError` if it is not expected here, or its hash is wrong."""
        found, controls = self.found, self._controls
        with wrap_errors(f"{self.file}, line {number}"):
            if "format" in line:
                begun = Recording(self.file, number, line)
                begun.chain = self._chain_of(line, row, "")
                previous = found[-1].chain if found else ""
                if self.ordered and line.get("previous", previous) != previous:  # before 0.4: without
                    raise DataError(
                        "an episode before this one is missing, was added or moved (verify=False skips the "
                        "comparison; `repair` accepts the order)"
                    )
                found.append(begun)
                self._controls = None
                return
            if not found:
                raise DataError(f"expected a header with format {FORMAT!r}, got {line!s:.60}")
            chain = self._chain_of(line, row, found[-1].chain)
            if "end" in line:
                found[-1].end = _checked(line, "end", _END)
            elif "controls" in line:
                self._controls = _checked(line, "controls", _CONTROLS)
            elif "edit" in line:
                found[-1].last_edits += (_edit(line),)
            else:
                move = _move(line, number, len(found[-1].moves), controls, found[-1].last_edits)
                found[-1].moves.append(move)
                self._controls, found[-1].last_edits = None, ()
            found[-1].chain = chain

    def _chain_of(self, line: dict[str, Any], row: bytes, previous: str) -> str:
        """Return the `chain` of a line, checked if hashes are to be verified."""
        return checked_link(row, previous) if self.verify else str(line.get("chain"))


_WHOLE = re.compile(rb',"chain":"[0-9a-f]{32}"}')  # the end of a line; what comes after it is damage


def read_recording(path: str | os.PathLike[str], *, verify: bool = True) -> list[Recording]:
    """Return the episodes of a file, without an incomplete last line.

    Args:
        path: the file.
        verify: compare the hash of each line.

    Raises:
        DataError: with file and line, if the file is damaged or was changed (see `repair`), is not a recording, or is
            of a version before 0.3 or a later one than this.

    """
    file = Path(path)
    return _episodes(file, read_file(file, FILE_LIMIT), verify)[0]


def _episodes(file: Path, content: bytes, verify: bool = True) -> tuple[list[Recording], int]:
    """Return the episodes, and the number of bytes before an incomplete last line."""
    episodes, whole = _Episodes(file, verify), len(content)
    rows = _rows(content)
    for number, row in enumerate(rows, start=1):
        line = _parsed(row, str(file))
        if line is not None:
            episodes.take(number, line, row.removesuffix(b"\r"))
        elif number < len(rows) or content.endswith(b"\n") or _WHOLE.search(row):
            raise DataError(f"{file}, line {number}: the line is {row[:60]!r}, expected a JSON object")
        else:
            whole -= len(row)
    if not episodes.found:
        raise DataError(f"{file} has no episode of a recording")
    return episodes.found, whole


def begin_appending(lines: JsonLines) -> str:
    """Prepare a recording for more lines. Return the hash of its last line, "" for a new one.

    Raises `DataError`, and writes nothing, if it is damaged or no recording.
    """
    content = lines.read()
    begun = json_line({"format": FORMAT})[:20].startswith(content[:20])
    if begun and b"\n" not in content and _parsed(content, "") is None:
        lines.cut(0)  # an incomplete header
        return ""
    if FORMAT.encode() not in content.partition(b"\n")[0]:
        raise DataError(
            f"{lines.path} is not a recording, expected one or an empty file; nothing was written"
        )
    with wrap_errors(f"{lines.path} cannot be appended to, see `repair`"):
        episodes, whole = _episodes(lines.path, content)
    lines.cut(whole)
    if not content[:whole].endswith(b"\n"):
        lines.append(b"\n")
    return episodes[-1].chain


@dataclass(frozen=True)
class Repaired:
    """Result of `repair`: counts of episodes and lines kept, numbers of lost lines, new name of the damaged file.

    `damaged` is None if the file is unchanged.
    """

    episodes: int
    kept: int
    lost: list[int]
    damaged: Path | None


def repair(path: str | os.PathLike[str]) -> Repaired:
    """Remove damaged lines from a recording, and the lines after them in the same episode.

    Moves cannot be replayed without the moves before. Lines after a lost one, and episodes in another order, get new
    hashes. The damaged file is kept as `<name>.damaged`.

    Raises:
        DataError: if no episode can be read (the file is then unchanged), `<name>.damaged` exists, or another process
            writes the recording.

    """
    file = usable_path(path)
    if not file.is_file():
        raise DataError(f"{file} does not exist, expected a recording to repair")
    read_file(file, FILE_LIMIT)
    with contextlib.closing(JsonLines(file)) as lines:
        content = lines.read()
        rows, episodes = _rows(content), _Episodes(file, ordered=False)
        kept: list[bytes] = []  # the lines from the first change on, with new hashes
        chain = ""
        lost: list[int] = []
        whole = 0  # unchanged bytes
        broken = False
        for number, row in enumerate(rows, start=1):
            line = _parsed(row, str(file))
            try:
                if line is None or (broken and "format" not in line):
                    raise DataError("a line after a damaged one")
                episodes.take(number, line, row.removesuffix(b"\r"))
            except DataError:
                broken = True
                lost.append(number)
                continue
            broken = False
            if lost or kept or line.get("previous", chain) != chain:
                relinked = {key: value for key, value in line.items() if key != "chain"}
                if "previous" in line:
                    relinked["previous"] = chain
                row, chain = chained_line(relinked, "" if "format" in line else chain)
                kept.append(row)
                continue
            chain = episodes.found[-1].chain
            if whole + len(row) == len(content):  # the line feed of the last line is missing
                kept.append(row + b"\n")
            else:
                whole += len(row) + 1
        if not episodes.found:
            raise DataError(f"{file} has no readable episode of a recording")
        if whole == len(content):
            return Repaired(len(episodes.found), len(rows), lost, None)
        damaged = file.with_name(f"{file.name}.damaged")
        if damaged.exists():
            raise DataError(f"{damaged} exists already; move it first: the damaged recording is kept there")
        with atomic_write(damaged, mode=stat.S_IMODE(file.stat().st_mode)) as copy:
            copy.write_bytes(content)
        lines.cut(whole)
        for row in kept:
            lines.append(row)
    return Repaired(len(episodes.found), len(rows) - len(lost), lost, damaged)


_HEADER_KEYS = (
    *("view", "config", "controls", "seed", "task", "pose", "recorded"),
    *("observes", "heard", "agents", "note", "versions", "layout", "state"),
)
_HEADER = {
    "config": dict,
    "controls": dict,
    "task": dict,
    "seed": (int, type(None)),
    "observes": (dict, type(None)),
    "heard": (list, type(None)),
    "versions": dict,
    "layout": str,
    "state": str,
    "chain": str,
}
_CONTROLS = {"name": str, "select_and_place": bool}
_END = {"terminated": bool, "truncated": bool}
_MOVE = {"act": dict, "rewards": dict, "heard": (str, type(None)), "state": str}


def _checked(line: dict[str, Any], key: str, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object at a key. Raises `DataError` if it is not an object, or an entry has a wrong type."""
    value = line[key]
    if not isinstance(value, dict):
        raise DataError(f"{key} is {value!r:.60}, expected an object")
    _check_kinds(value, kinds)
    return value


def _check_kinds(value: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    for name, kind in kinds.items():
        if name in value and not isinstance(value[name], kind):
            types = kind if isinstance(kind, tuple) else (kind,)
            expected = " or ".join(each.__name__ for each in types)
            raise DataError(f"{name} is {value[name]!r:.60}, expected {expected}")


def _check_header(line: dict[str, Any]) -> None:
    if line["format"] != FORMAT:
        raise DataError(f"format is {line['format']!r:.60}, expected {FORMAT!r}")
    if line.get("version") != VERSION:
        raise DataError(f"version is {line.get('version')!r:.20}, expected {VERSION}")
    if "chain" not in line:
        raise DataError(
            "the header has no hash, expected one, as iglu_marl 0.3.0 and later write it; 0.3.0 reads "
            "recordings of versions before"
        )
    if missing := [key for key in _HEADER_KEYS if key not in line]:
        raise DataError(f"the header lacks {', '.join(missing)}")
    if line["view"] not in ("aec", "parallel", "live", "single"):
        raise DataError(f"view is {line['view']!r:.20}, expected aec, parallel, live or single")
    _check_kinds(line, _HEADER)


def _edit(line: dict[str, Any]) -> WorldEdit:
    with wrap_errors("no edit of a recording"):
        _check_kinds(line, {"edit": list, "builder": str})
        return WorldEdit(tuple((x, y, z, color) for x, y, z, color in line["edit"]), line["builder"])


def _move(
    line: dict[str, Any], number: int, count: int, controls: Any, edits: tuple[WorldEdit, ...]
) -> RecordedMove:
    if line.get("n") != count:
        raise DataError(f"move {line.get('n')!r:.20}, expected move {count}")
    with wrap_errors("no move of a recording"):
        _check_kinds(line, _MOVE)
        return RecordedMove(
            number,
            {player_of(name): from_json(action) for name, action in line["act"].items()},
            {player_of(name): float(value) for name, value in line.get("rewards", {}).items()},
            line.get("heard"),
            line["state"],
            controls,
            edits,
        )
