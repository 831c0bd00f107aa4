"""Your own tasks in files: JSON, JSON lines or CSV, in one form; `write_tasks` writes it.

A task is an object with these fields (only a target is needed):

========================  ==================================================================================
`target`                  the world to build: blocks, or a dense grid. Also `target_grid`, `blocks`
`start`                   the world to begin with (default: empty). Also `starting_grid`, `starting_blocks`
`dialog`                  what has been said: text with `<Architect> …` and `<Builder> …` lines, or a list of
                          texts and of {"role": "builder", "text": "…"}. Also `chat`
`instruction`             the current instruction; added to the dialog unless that has it
`full`                    the final structure, where the target is only a part of it. Also `full_grid`
`id`                      a name (default: the file and the line). Also `task_id`
`structure`               what is built, a name by which tasks can be kept together (default: the id)
`invariant`               whether the build may be rotated and shifted (default: only without a start)
`ids`                     which numbers colours have: "iglu" (default: 1 blue, 2 yellow, 3 green, 4 orange,
                          5 purple, 6 red) or "iglu2022" (1 blue, 2 green, 3 red, 4 orange, 5 purple, 6 yellow)
`turns`                   instead of a target: a list of such objects, one per turn of a session, each with a
                          `target` and a `dialog` or `instruction` of its own
========================  ==================================================================================

Blocks are a list of [x, y, z, color] or {"x": …, "y": …, "z": …, "color": …}, with x, z in -5..5, y in -1..7
(-1 is the layer on the ground) and a colour's name or number; names are safer. Dense grids are numbers
[9][11][11] with axes [y, x, z]. A JSON file holds one task, a list of them, or {"tasks": […]}; a file of JSON
lines (`.jsonl`) one task per line. A CSV file has the same fields as columns, in every row one task; `target`,
`start` and `full` are JSON there, or blocks such as `0 -1 0 red; 1 -1 0 blue`.

Other fields are refused, so that a misspelt one is noticed. Errors name the file and the line.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from iglu_marl.core.dialogue import Dialogue, Utterance
from iglu_marl.core.errors import DataError, DialogueError, GridError, TaskError
from iglu_marl.core.files import replacing
from iglu_marl.core.grid import (
    IGLU_ID_OF_IGLU2022,
    Block,
    BlockGrid,
    as_grid,
    blocks_to_grid,
    color_id,
    color_name,
    grid_to_blocks,
)
from iglu_marl.core.task import ID_TABLES, Subtasks, Task
from iglu_marl.core.text import plain_number
from iglu_marl.data.dataset import Dataset, Entry, Record, changes
from iglu_marl.data.iglu.multiturn import TABLE
from iglu_marl.data.report import Report, Skipped, SkipReason

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv")

_NAMES = {
    "target": "target",
    "target_grid": "target",
    "target_blocks": "target",
    "blocks": "target",
    "start": "start",
    "starting_grid": "start",
    "starting_blocks": "start",
    "start_grid": "start",
    "dialog": "dialog",
    "chat": "dialog",
    "instruction": "instruction",
    "last_instruction": "instruction",
    "full": "full",
    "full_grid": "full",
    "id": "id",
    "task_id": "id",
    "structure": "structure",
    "invariant": "invariant",
    "ids": "ids",
    "turns": "turns",
}
_GRIDS = ("target", "start", "full")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class TaskFileSkip(SkipReason):
    """Why a task of a file is left out."""

    BAD_TASK = "a task that is wrong"


# --------------------------------------------------------------------------------------- one task's fields


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a task by their first names, without the empty ones."""
    if not isinstance(value, Mapping):
        raise DataError(f"a task is {_shown(value)}, expected an object with a 'target'")
    fields: dict[str, Any] = {}
    for key, content in value.items():
        if key not in _NAMES:
            raise DataError(f"unknown field {key!r}, expected some of {', '.join(dict.fromkeys(_NAMES))}")
        if _NAMES[key] in fields:
            raise DataError(f"field {key!r} says again what another field says")
        if content is not None:
            fields[_NAMES[key]] = content
    return fields


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _grid(value: Any, name: str, ids: str) -> BlockGrid:
    """A world in our ids, from blocks or from a dense grid."""
    if not isinstance(value, (list, tuple)):
        raise DataError(f"{name!r} is {_shown(value)}, expected blocks [x, y, z, color] or a dense grid")
    first = value[0] if value else None
    if isinstance(first, list) and first and isinstance(first[0], list):
        grid = as_grid(value, name)
    else:
        blocks = [_block(entry, number, name, ids) for number, entry in enumerate(value)]
        return blocks_to_grid(blocks, name)
    return grid if ids == "iglu" else IGLU_ID_OF_IGLU2022[grid]


def _block(entry: Any, number: int, name: str, ids: str) -> Block:
    parts = entry
    if isinstance(entry, Mapping):
        color = entry.get("color", entry.get("colour"))
        parts = [entry.get("x"), entry.get("y"), entry.get("z"), color]
    if not isinstance(parts, (list, tuple)) or len(parts) != 4:
        raise DataError(f"{name}[{number}] is {_shown(entry)}, expected [x, y, z, color]")
    x, y, z, color = parts
    if isinstance(color, str):
        found = color_id(color)
        if found == 0:
            raise DataError(f"{name}[{number}] is a block of air; leave it out")
        return x, y, z, found
    if ids == "iglu2022" and type(color) is int and 1 <= color <= 6:
        color = int(IGLU_ID_OF_IGLU2022[color])
    return x, y, z, color


def _dialog(value: Any) -> str | Dialogue:
    """A text as it is; a list as a `Dialogue`."""
    if isinstance(value, list):
        return Dialogue.of([_utterance(part) for part in value])
    return value if isinstance(value, str) else Dialogue.of(value)


def _utterance(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    if set(part) != {"role", "text"}:
        raise DataError(f"an utterance is {_shown(part)}, expected {{'role': ..., 'text': ...}}")
    role = str(part["role"]).strip().lower()
    return Utterance(role, part["text"])  # type: ignore[arg-type]


def _ids(fields: dict[str, Any]) -> str:
    ids = fields.pop("ids", "iglu")
    if ids not in ID_TABLES:
        raise DataError(f"'ids' is {ids!r}, expected 'iglu' or 'iglu2022'")
    return str(ids)


def _entry(value: Any, name: str) -> tuple[Entry, str]:
    """A task or a session, and the name of its structure. Raises some `IgluMarlError` without a place."""
    fields = _fields(value)
    name = str(fields.pop("id", name))
    structure = str(fields.pop("structure", name))
    ids = _ids(fields)
    invariant = fields.pop("invariant", None)
    if invariant is not None and not isinstance(invariant, bool):
        raise DataError(f"'invariant' is {invariant!r}, expected true or false")
    turns = fields.pop("turns", None)
    grids = {key: _grid(fields.pop(key), key, ids) for key in _GRIDS if key in fields}
    if turns is not None:
        return _session(turns, fields, grids, name, ids, invariant), structure
    if "target" not in grids:
        raise DataError("it has no 'target'")
    task = Task(
        _dialog(fields.get("dialog", "")),
        grids["target"],
        fields.get("instruction"),
        grids.get("start"),
        grids.get("full"),
        invariant,
        task_id=name,
        ids="iglu",
    )
    return task, structure


def _session(
    turns: Any,
    fields: dict[str, Any],
    grids: dict[str, BlockGrid],
    name: str,
    ids: str,
    invariant: bool | None,
) -> Subtasks:
    besides = [key for key in (*fields, *grids) if key not in ("start", "full")]
    if besides:
        raise DataError(f"a session with 'turns' has {', '.join(besides)} besides, which belong to its turns")
    if not isinstance(turns, list) or not turns:
        raise DataError(f"'turns' is {_shown(turns)}, expected a list with at least one turn")
    said, worlds = [], []
    for number, turn in enumerate(turns):
        own = _fields(turn)
        strange = [key for key in own if key not in ("target", "dialog", "instruction")]
        if strange or "target" not in own:
            what = f"has {', '.join(strange)}" if strange else "has no 'target'"
            raise DataError(f"turn {number} {what}; expected 'target' with 'dialog' or 'instruction'")
        worlds.append(_grid(own["target"], f"turns[{number}].target", ids))
        said.append(_turn_dialog(own))
    return Subtasks(
        said,
        worlds,
        starting_grid=grids.get("start"),
        full_grid=grids.get("full"),
        invariant=invariant,
        task_id=name,
        ids="iglu",
    )


def _turn_dialog(turn: Mapping[str, Any]) -> Dialogue:
    said, instruction = Dialogue.of(_dialog(turn.get("dialog", ""))), Dialogue.of(turn.get("instruction", ""))
    known = all(utterance in said.utterances for utterance in instruction)
    return said if known else said + instruction


# ----------------------------------------------------------------------------------------------- the files


def _json_tasks(text: str) -> Iterator[tuple[int, Any]]:
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        yield error.lineno, DataError(f"no JSON: {error.msg} (column {error.colno})")
    except (ValueError, RecursionError) as error:  # a number of too many digits, brackets in brackets
        yield 1, DataError(f"no JSON that can be read: {error}")
    else:
        within = isinstance(whole, dict) and set(whole) == {"tasks"} and isinstance(whole["tasks"], list)
        if within or isinstance(whole, list):
            yield from _entries(text, text.index("[") + 1)
        else:
            before = len(text) - len(text.lstrip())
            yield 1 + text.count("\n", 0, before), whole


def _entries(text: str, position: int) -> Iterator[tuple[int, Any]]:
    """The entries of the list that begins before a position, each with its line. The text is known to be JSON."""
    decode, line = json.JSONDecoder().raw_decode, 1 + text.count("\n", 0, position)
    while True:
        while text[position] in " \t\r\n,":
            line += text[position] == "\n"
            position += 1
        if text[position] == "]":
            return
        value, end = decode(text, position)
        yield line, value
        line += text.count("\n", position, end)
        position = end


def _line_tasks(text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, DataError(f"no JSON: {error}")


def _csv_tasks(text: str) -> Iterator[tuple[int, Any]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    known = {*_NAMES} - {"turns"}
    header = [name.strip() for name in reader.fieldnames or ()]
    strange = [name for name in header if name not in known]
    if strange or not header:
        what = f"unknown columns {', '.join(map(repr, strange))}" if strange else "no header"
        yield 1, DataError(f"{what}, expected some of {', '.join(sorted(known))}")
        return
    try:
        for record in reader:
            inside = sum(str(cell).count("\n") for cell in record.values())  # a record may take many lines
            yield reader.line_num - inside, _csv_task(record)
    except csv.Error as error:
        yield reader.line_num, DataError(f"no CSV: {error}")


def _csv_task(record: Mapping[str, Any]) -> Any:
    if "" in record:
        return DataError(f"more cells than the header has: {_shown(record[''])}")
    task: dict[str, Any] = {}
    for column, cell in record.items():
        if cell is None or not cell.strip():
            continue
        name = column.strip()
        try:
            task[name] = _cell(_NAMES[name], cell.strip())
        except DataError as error:
            return DataError(f"{name}: {error}")
    return task


def _cell(name: str, cell: str) -> Any:
    if name == "invariant":
        if cell.lower() not in _FLAGS:
            raise DataError(f"{cell!r}, expected true or false")
        return _FLAGS[cell.lower()]
    if name not in _GRIDS:
        return cell
    if cell.startswith("["):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError) as error:
            raise DataError(f"no JSON: {error}") from None
    return [_written_block(part) for part in cell.split(";") if part.strip()]


def _written_block(text: str) -> list[Any]:
    parts = text.replace(",", " ").split()
    try:
        x, y, z, color = parts
        number = plain_number(color)
        return [int(x), int(y), int(z), color if number is None else number]
    except ValueError:
        raise DataError(f"{text.strip()!r} is no block, expected `x y z color`") from None


_READERS: dict[str, Callable[[str], Iterator[tuple[int, Any]]]] = {
    ".json": _json_tasks,
    ".jsonl": _line_tasks,
    ".ndjson": _line_tasks,
    ".csv": _csv_tasks,
}


def _read(
    file: Path, shown: str, names: dict[str, str]
) -> Iterator[tuple[str, tuple[Entry, str] | DataError]]:
    """Each task of a file and its structure, with its place; a `DataError` (with its place) for each that is wrong.

    names: the places of ids so far, kept up to date.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield shown, DataError(f"{shown}: no UTF-8 text: {error}")
        return
    except OSError as error:
        yield shown, DataError(f"{shown}: it cannot be read: {error.strerror or error}")
        return
    for line, value in _READERS[file.suffix.lower()](text):
        place = f"{shown}:{line}"
        try:
            if isinstance(value, DataError):
                raise value
            entry, structure = _entry(value, place)
            name = str(entry.task_id)
            if name in names:
                raise DataError(f"the id {name!r} is also that of {names[name]}")
            names[name] = place
            yield place, (entry, structure)
        except (DataError, GridError, TaskError, DialogueError) as error:
            yield place, DataError(f"{place}: {error}")


def _files(place: Path) -> list[Path]:
    """The files of tasks at a place, sorted by their paths."""
    if place.is_file():
        if place.suffix.lower() not in SUFFIXES:
            raise DataError(f"{place} is no file of tasks, expected one that ends in {', '.join(SUFFIXES)}")
        return [place]
    if not place.is_dir():
        raise DataError(f"{place} does not exist; expected a file of tasks or a folder with some")
    if (place / TABLE).is_file():
        raise DataError(f"{place} is in the multi-turn layout ({TABLE}): use MultiturnDataset(path=...)")
    found = [
        file
        for file in sorted(place.rglob("*"))
        if file.is_file()
        and file.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(place).parts)
    ]
    if not found:
        raise DataError(
            f"{place} has no file of tasks in it, expected some that end in {', '.join(SUFFIXES)}"
        )
    return found


class OwnTasks(Dataset):
    """Tasks and sessions from your own files (the module's documentation tells their form).

    path: a file, or a folder whose files are all read, those in folders inside it too. on_error: "raise" at the
    first task that is wrong, or "skip" them; then `skipped_tasks` has them.

    `tasks["boats.jsonl"]` are those of one file, `by_id` finds one by its name. Raises `DataError`, naming the
    file and the line, for a wrong task, for two of one name, and when there is none.
    """

    groups = ("id", "file", "structure")

    def __init__(self, path: str | os.PathLike[str], *, on_error: str = "raise") -> None:
        if on_error not in ("raise", "skip"):
            raise DataError(f"on_error is {on_error!r}, expected 'raise' or 'skip'")
        place = Path(path).expanduser()
        self.location, self.dataset_version = str(place), ""
        self._report = Report()
        self.tasks = {}
        self._structures: dict[str, str] = {}
        names: dict[str, str] = {}
        for file in _files(place):
            shown = file.name if place.is_file() else file.relative_to(place).as_posix()
            for where, read in _read(file, shown, names):
                if not isinstance(read, DataError):
                    entry, structure = read
                    self.tasks.setdefault(shown, []).append(entry)
                    self._structures[str(entry.task_id)] = structure
                elif on_error == "raise":
                    raise read
                else:
                    self._report.skip(
                        TaskFileSkip.BAD_TASK, where, None, str(read).removeprefix(f"{where}: ")
                    )
        self._report.tasks = len(self)
        if not self.tasks:
            raise DataError(f"{place} holds no task that could be read; {len(self.skipped_tasks)} are wrong")

    @property
    def skipped_tasks(self) -> list[Skipped[TaskFileSkip]]:
        """The tasks that were left out, by file and line (`name`), and what is wrong with them (`detail`)."""
        return self.report().skipped

    def structure_of(self, name: str, entry: Entry) -> str:
        """The structure that the file tells, else the id."""
        return self._structures[str(entry.task_id)]

    def _records(self, name: str, entry: Entry) -> list[Record]:
        tasks = [entry] if isinstance(entry, Task) else list(entry)
        return [
            {
                "id": entry.task_id,
                "file": name,
                "structure": self._structures[str(entry.task_id)],
                "turn": number,
                "clear": None,
                "instruction": task.instruction,
                "dialog": task.dialog,
                **changes(task.start_grid, task.target_grid),
            }
            for number, task in enumerate(tasks)
        ]


def tasks_from_folder(path: str | os.PathLike[str], *, on_error: str = "raise") -> OwnTasks:
    """Your own tasks from a file or a folder of files; see `OwnTasks`."""
    return OwnTasks(path, on_error=on_error)


# ------------------------------------------------------------------------------------------------- writing


def _blocks(grid: BlockGrid, ids: str | None) -> list[list[Any]]:
    mapping = IGLU_ID_OF_IGLU2022 if ids == "iglu2022" else range(7)
    return [[x, y, z, color_name(int(mapping[color]))] for x, y, z, color in grid_to_blocks(grid)]


def _row(entry: Entry) -> dict[str, Any]:
    """A task or session in the fields of this form, with colours by name."""
    row: dict[str, Any] = {}
    grids = {"start": entry.starting_grid, "full": entry.full_grid}
    if isinstance(entry, Task):
        row["dialog"], grids["target"] = entry.dialog, entry.target_grid
        asked = entry.instruction
        # One that reads like another's words would be added to the dialog; it is the last thing said there.
        if Task(entry.dialog, entry.target_grid, asked).dialog == entry.dialog:
            row["instruction"] = asked
    else:
        row["turns"] = [
            {
                "dialog": [{"role": said.role.value, "text": said.text} for said in turn],
                "target": _blocks(world, entry.ids),
            }
            for turn, world in zip(entry.turns, entry.structures, strict=True)
        ]
    row |= {name: _blocks(grid, entry.ids) for name, grid in grids.items() if grid is not None}
    if entry.invariant is not None:
        row["invariant"] = entry.invariant
    return row


def write_tasks(path: str | os.PathLike[str], tasks: Iterable[Entry] | Mapping[str, Iterable[Entry]]) -> int:
    """Write tasks and sessions as JSON lines, one line each, from which `tasks_from_folder` reads the same ones.

    tasks: in a row, or by the names of their structures, as `dataset.tasks` has them. What has an id that another
    one had gets a number behind it. The file appears whole. Returns how many tasks they are, the turns of sessions
    counted. Raises `DataError` when it cannot be written.
    """
    grouped: Mapping[str, Iterable[Entry]] = tasks if isinstance(tasks, Mapping) else {"": tasks}
    seen: Counter[str] = Counter()
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for structure, entries in grouped.items():
            for entry in entries:
                name = entry.task_id or "task"
                seen[name] += 1
                row = {"id": name if seen[name] == 1 else f"{name}/{seen[name]}", **_row(entry)}
                if structure:
                    row["structure"] = structure
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1 if isinstance(entry, Task) else len(entry)
    return count
