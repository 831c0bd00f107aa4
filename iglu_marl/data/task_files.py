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
`session`                 the recorded session that it is from
`split`                   the part of its data that it belongs to, such as "train"
`clear`                   whether the instruction was clear: true or false
`invariant`               whether the build may be rotated and shifted (default: only without a start)
`ids`                     which numbers colours have: "iglu" (default: 1 blue, 2 yellow, 3 green, 4 orange,
                          5 purple, 6 red) or "iglu2022" (1 blue, 2 green, 3 red, 4 orange, 5 purple, 6 yellow)
`turns`                   instead of a target: a list of such objects, one per turn of a session, each with a
                          `target` and a `dialog` or `instruction` of its own
`progressive`             of a session: whether the task of a turn knows the next one (default: false)
========================  ==================================================================================

Blocks are a list of [x, y, z, color] or {"x": …, "y": …, "z": …, "color": …}, with x, z in -5..5, y in -1..7
(-1 is the layer on the ground) and a colour's name or number; names are safer. Dense grids are numbers
[9][11][11] with axes [y, x, z]. A JSON file holds one task, a list of them, or {"tasks": […]}; a file of JSON
lines (`.jsonl`) one task per line. A CSV file has the same fields as columns, in every row one task; `target`,
`start` and `full` are JSON there, or blocks such as `0 -1 0 red; 1 -1 0 blue`.

Other fields are refused, so that a misspelt one is noticed. Errors name the file and the line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from iglu_marl.core.dialogue import Dialogue, Utterance
from iglu_marl.core.errors import DataError
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
from iglu_marl.core.parsing import MIB, decoded, parse_json, read_file, reading
from iglu_marl.core.task import ID_TABLES, Subtasks, Task
from iglu_marl.core.text import paired_escapes, plain_number
from iglu_marl.data.dataset import Dataset, Entry, Record, changes
from iglu_marl.data.iglu.multiturn import TABLE
from iglu_marl.data.iglu.tables import csv_records
from iglu_marl.data.report import Report, Skipped, SkipReason

FILE_LIMIT = 1024 * MIB  # bytes
Tasks = Iterable[Entry] | Mapping[str, Iterable[Entry]] | Dataset
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
    "session": "session",
    "split": "split",
    "clear": "clear",
    "invariant": "invariant",
    "ids": "ids",
    "turns": "turns",
    "progressive": "progressive",
}
_NAME_LIMIT = 1000
_LABELS = ("structure", "session", "split")  # names that are told about a task besides itself
_GRIDS = ("target", "start", "full")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class TaskFileSkip(SkipReason):
    """Why a task of a file, or a file, is left out."""

    BAD_TASK = "a task that is wrong"
    DEAD_LINK = "a link that leads nowhere"
    EMPTY_FILE = "a file without a task"


# --------------------------------------------------------------------------------------- one task's fields


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a task by their first names, without the empty ones."""
    if not isinstance(value, Mapping):
        raise DataError(f"a task is {_shown(value)}, expected an object with a 'target'")
    fields: dict[str, Any] = {}
    for key, content in value.items():
        if key not in _NAMES:
            raise DataError(
                f"unknown field {_shown(key)}, expected some of {', '.join(dict.fromkeys(_NAMES))}"
            )
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


def _name(fields: dict[str, Any], key: str, default: str) -> str:
    name = fields.pop(key, default)
    if type(name) not in (str, int) or len(str(name)) > _NAME_LIMIT:
        raise DataError(
            f"{key!r} is {_shown(name)}, expected a text of at most {_NAME_LIMIT} characters, or a number"
        )
    return str(name)


def _ids(fields: dict[str, Any]) -> str:
    ids = fields.pop("ids", "iglu")
    if ids not in ID_TABLES:
        raise DataError(f"'ids' is {_shown(ids)}, expected 'iglu' or 'iglu2022'")
    return str(ids)


def _flag(fields: dict[str, Any], name: str) -> bool | None:
    value = fields.pop(name, None)
    if value is not None and not isinstance(value, bool):
        raise DataError(f"{name!r} is {_shown(value)}, expected true or false")
    return value


def _labels(fields: dict[str, Any], name: str) -> Record:
    """What is told about a task besides itself."""
    told = {key: _name(fields, key, "") if key in fields else None for key in _LABELS}
    return {**told, "structure": told["structure"] or name}


def read_task(value: Any, name: str) -> tuple[Entry, Record]:
    """A task or a session from its fields, and what is told about it. Raises some `IgluMarlError` without a place."""
    fields = _fields(value)
    name = _name(fields, "id", name)
    labels = _labels(fields, name)
    ids = _ids(fields)
    invariant, progressive = _flag(fields, "invariant"), _flag(fields, "progressive")
    turns = fields.pop("turns", None)
    grids = {key: _grid(fields.pop(key), key, ids) for key in _GRIDS if key in fields}
    options: dict[str, Any] = {"invariant": invariant, "task_id": name, "ids": "iglu"}
    if turns is not None:
        session, labels["clear"] = _session(
            turns, fields, grids, ids, progressive=bool(progressive), **options
        )
        return session, labels
    labels["clear"] = [_flag(fields, "clear")]
    if progressive is not None:
        raise DataError("'progressive' is for sessions, which have 'turns'")
    if "target" not in grids:
        raise DataError("it has no 'target'")
    task = Task(
        _dialog(fields.get("dialog", "")),
        grids["target"],
        _dialog(fields["instruction"]) if "instruction" in fields else None,
        grids.get("start"),
        grids.get("full"),
        **options,
    )
    return task, labels


def _session(
    turns: Any, fields: dict[str, Any], grids: dict[str, BlockGrid], table: str, **options: Any
) -> tuple[Subtasks, list[bool | None]]:
    """A session, and of each turn whether it was clear."""
    besides = [key for key in (*fields, *grids) if key not in ("start", "full")]
    if besides:
        raise DataError(f"a session with 'turns' has {', '.join(besides)} besides, which belong to its turns")
    if not isinstance(turns, list) or not turns:
        raise DataError(f"'turns' is {_shown(turns)}, expected a list with at least one turn")
    said, worlds, clear = [], [], []
    for number, turn in enumerate(turns):
        own = _fields(turn)
        clear.append(_flag(own, "clear"))
        strange = [key for key in own if key not in ("target", "dialog", "instruction")]
        if strange or "target" not in own:
            what = f"has {', '.join(strange)}" if strange else "has no 'target'"
            raise DataError(f"turn {number} {what}; expected 'target' with 'dialog' or 'instruction'")
        worlds.append(_grid(own["target"], f"turns[{number}].target", table))
        said.append(_turn_dialog(own))
    session = Subtasks(said, worlds, starting_grid=grids.get("start"), full_grid=grids.get("full"), **options)
    return session, clear


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
    records = ((line, cells) for line, cells in csv_records(text, strict=True) if cells != [])
    line, header = next(records, (1, []))
    known = {*_NAMES} - {"turns", "progressive"}
    if isinstance(header, DataError):
        yield line, header
        return
    names = [name.strip() for name in header]
    strange = [name for name in names if name not in known]
    if strange or not names:
        what = f"unknown columns {', '.join(map(repr, strange))}" if strange else "no header"
        yield 1, DataError(f"{what}, expected some of {', '.join(sorted(known))}")
        return
    for line, cells in records:
        yield line, cells if isinstance(cells, DataError) else _csv_task(names, cells)


def _csv_task(names: Sequence[str], cells: Sequence[str]) -> Any:
    if len(cells) > len(names):
        return DataError(f"more cells than the header has: {_shown(cells[len(names) :])}")
    task: dict[str, Any] = {}
    for name, cell in zip(names, cells, strict=False):
        if not cell.strip():
            continue
        try:
            with reading(name):
                task[name] = _cell(_NAMES[name], cell.strip())
        except DataError as error:
            return error
    return task


def _cell(name: str, cell: str) -> Any:
    if name in ("invariant", "clear"):
        if cell.lower() not in _FLAGS:
            raise DataError(f"{cell!r}, expected true or false")
        return _FLAGS[cell.lower()]
    if name not in _GRIDS:
        return cell
    if cell.startswith("["):
        return parse_json(cell, name)
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
) -> Iterator[tuple[str, tuple[Entry, Record] | DataError]]:
    """Each task of a file and what is told about it, with its place; a `DataError` that has it for each that is wrong.

    names: the places of ids so far, kept up to date.
    """
    try:
        text = decoded(read_file(file, FILE_LIMIT), shown)
    except DataError as error:
        yield shown, error
        return
    csv_file = file.suffix.lower() == ".csv"
    for line, value in _READERS[file.suffix.lower()](text if csv_file else paired_escapes(text)):
        place = f"{shown}:{line}"
        try:
            with reading(place):
                if isinstance(value, DataError):
                    raise value
                entry, labels = read_task(value, place)
                name = str(entry.task_id)
                if name in names:
                    raise DataError(f"the id {name!r:.80} is also that of {names[name]}")
        except DataError as error:
            yield place, error
        else:
            names[name] = place
            yield place, (entry, labels)


def _files(place: Path, report: Report[TaskFileSkip]) -> list[Path]:
    """The files of tasks at a place, sorted by their paths. Links that lead nowhere are noted."""
    if place.is_file():
        if place.suffix.lower() not in SUFFIXES:
            raise DataError(f"{place} is no file of tasks, expected one that ends in {', '.join(SUFFIXES)}")
        return [place]
    if not place.is_dir():
        raise DataError(f"{place} does not exist; expected a file of tasks or a folder with some")
    if (place / TABLE).is_file():
        raise DataError(f"{place} is in the multi-turn layout ({TABLE}): use MultiturnDataset(path=...)")
    named = [
        file
        for file in sorted(place.rglob("*"))
        if file.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(place).parts)
    ]
    found = [file for file in named if file.is_file()]
    for file in named:
        if file.is_symlink() and not file.exists():
            report.files.append(Skipped(TaskFileSkip.DEAD_LINK, file.relative_to(place).as_posix()))
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
        self._labels: dict[str, Record] = {}
        names: dict[str, str] = {}
        for file in _files(place, self._report):
            shown = file.name if place.is_file() else file.relative_to(place).as_posix()
            found = list(_read(file, shown, names))
            if not found:
                self._report.files.append(Skipped(TaskFileSkip.EMPTY_FILE, shown))
            for where, read in found:
                if not isinstance(read, DataError):
                    entry, labels = read
                    self.tasks.setdefault(shown, []).append(entry)
                    self._labels[str(entry.task_id)] = labels
                elif on_error == "raise":
                    raise read
                else:
                    self._report.skip(
                        TaskFileSkip.BAD_TASK, where, None, str(read).removeprefix(f"{where}: ")
                    )
        self._report.tasks = len(self)
        if not self.tasks:
            wrong = f"{len(self.skipped_tasks)} are wrong{self._report.example}"
            raise DataError(f"{place} holds no task that could be read; {wrong}")

    @property
    def skipped_tasks(self) -> list[Skipped[TaskFileSkip]]:
        """The tasks that were left out, by file and line (`name`), and what is wrong with them (`detail`)."""
        return self.report().skipped

    def structure_of(self, name: str, entry: Entry) -> str:
        """The structure that the file tells, else the id."""
        return str(self._labels[str(entry.task_id)]["structure"])

    def _records(self, name: str, entry: Entry) -> list[Record]:
        tasks = [entry] if isinstance(entry, Task) else list(entry)
        return [
            {
                "id": entry.task_id,
                "file": name,
                **self._labels[str(entry.task_id)],
                "turn": number,
                "clear": self._labels[str(entry.task_id)]["clear"][number],
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


def block_fields(grid: BlockGrid, ids: str | None = "iglu") -> list[list[Any]]:
    """A world as blocks with colours by name."""
    mapping = IGLU_ID_OF_IGLU2022 if ids == "iglu2022" else range(7)
    return [[x, y, z, color_name(int(mapping[color]))] for x, y, z, color in grid_to_blocks(grid)]


def _utterances(said: Dialogue) -> list[dict[str, str]]:
    return [{"role": utterance.role.value, "text": utterance.text} for utterance in said]


def turn_fields(said: Dialogue, world: BlockGrid, ids: str | None = "iglu") -> dict[str, Any]:
    """A turn of a session: its words, and the world after it."""
    return {"dialog": _utterances(said), "target": block_fields(world, ids)}


def _asked(task: Task) -> Any:
    """The instruction of a task in the form in which it is read as the same: its text, else its utterances."""

    def texts(task: Task) -> tuple[Any, ...]:
        return task.dialog, task.instruction, task.previous_dialogue

    start, end = len(task.previous_dialogue), len(task.dialogue)
    forms: list[Any] = [task.instruction]
    forms += [_utterances(task.dialogue[start:stop]) for stop in range(start + 1, end + 1)]
    same = (form for form in forms if texts(task) == texts(task.replace(instruction=_dialog(form))))
    return next(same, task.instruction)


def _row(entry: Entry) -> dict[str, Any]:
    """A task or session in the fields of this form, with colours by name."""
    row: dict[str, Any] = {}
    grids = {"start": entry.starting_grid, "full": entry.full_grid}
    if isinstance(entry, Task):
        if entry.objective is not None:
            raise DataError(f"the task {entry.task_id!r} has an objective, which no file of tasks can hold")
        row |= {"dialog": entry.dialog, "instruction": _asked(entry)}
        grids["target"] = entry.target_grid
    else:
        worlds = zip(entry.turns, entry.structures, strict=True)
        row["turns"] = [turn_fields(turn, world, entry.ids) for turn, world in worlds]
        if entry.progressive:
            row["progressive"] = True
    row |= {name: block_fields(grid, entry.ids) for name, grid in grids.items() if grid is not None}
    if entry.invariant is not None:
        row["invariant"] = entry.invariant
    return row


def labelled(tasks: Tasks) -> Iterator[tuple[Entry, Record, list[bool | None]]]:
    """Each entry with the names that are told about it, and of each of its turns whether it was clear, if known."""
    if isinstance(tasks, Dataset):
        parts = tasks.part_names()
        for name, entries in tasks.tasks.items():
            for entry in entries:
                records = tasks._records(name, entry)
                told = {"split": parts.get(str(entry.task_id)), **records[0]}
                yield entry, {label: told.get(label) for label in _LABELS}, [r["clear"] for r in records]
    elif isinstance(tasks, Mapping):
        for name, own in tasks.items():
            yield from ((entry, {"structure": name}, []) for entry in own)
    else:
        yield from ((entry, {}, []) for entry in tasks)


def own_names(entries: Iterable[Entry]) -> Iterator[str]:
    """A name for each entry, its own where no other had it before."""
    given = [entry.task_id or "task" for entry in entries]
    taken: set[str] = set()
    known = set(given)
    for name in given:
        own, number = name, 1
        while own in taken or (number > 1 and own in known):
            number += 1
            own = f"{name}/{number}"
        taken.add(own)
        yield own


def write_tasks(path: str | os.PathLike[str], tasks: Tasks) -> int:
    """Write tasks and sessions as JSON lines, one line each, from which `tasks_from_folder` reads the same ones.

    tasks: in a row; by the names of their structures, as `bundled.load()` has them; or a `Dataset`, whose structures,
    sessions and splits (its own, else those of `split()`), and whether instructions were clear, are written too.

    Colours are written by name, so what is read has this project's ids (`task.in_ids("iglu")`). What has an id that
    another one had gets a number behind it. The file appears whole. Returns how many tasks they are, the turns of
    sessions counted. Raises `DataError` when it cannot be written, or for a task with an objective of its own.
    """
    known = list(labelled(tasks))
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for name, (entry, labels, clear) in zip(own_names(entry for entry, *_ in known), known, strict=True):
            row = {"id": name, **_row(entry)}
            row |= {label: value for label, value in labels.items() if value not in (None, "")}
            for part, judged in zip(row.get("turns", [row]), clear, strict=False):
                if judged is not None:
                    part["clear"] = judged
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1 if isinstance(entry, Task) else len(entry)
    return count
