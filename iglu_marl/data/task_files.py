"""Task files: JSON or JSON lines. `tasks_from_folder` reads them, `write_tasks` writes JSON lines.

A task is an object with these fields (only `target` is required):

========================  ==================================================================================
`target`                  world to build: blocks, or a dense grid
`start`                   world at the start (default: empty)
`dialog`                  dialogue so far: text with `<Architect> …` and `<Builder> …` lines, or a list of
                          texts and of {"role": "builder", "text": "…"}
`instruction`             current instruction; appended to the dialog if it is not in it
`full`                    final structure, where the target is only a part of it
`id`                      name (default: file and place)
`structure`               name of what is built; a split keeps equal names together (default: the id)
`session`                 recorded session of the task
`split`                   part of the data set, such as "train"
`clear`                   whether the instruction was clear: true or false
`unbuilt`                 whether nobody built the target, so that it equals the start: true or false
`invariant`               whether the build may be rotated and shifted (default: only without a start)
`ids`                     color ids: "iglu" (default: 1 blue, 2 yellow, 3 green, 4 orange, 5 purple, 6 red)
                          or "iglu2022" (1 blue, 2 green, 3 red, 4 orange, 5 purple, 6 yellow)
`turns`                   instead of a target: a list of such objects, one per turn of a session, each with
                          its own `target` and `dialog` or `instruction`
`progressive`             for sessions: whether the task of a turn links to the next one (default: false)
========================  ==================================================================================

- Blocks are a list of [x, y, z, color]. x and z are in -5..5, y is in -1..7 (-1 is the layer on the ground). A color is
  a name (safer) or a number.
- Dense grids are numbers [9][11][11] with axes [y, x, z].
- A JSON file holds one task, a list of tasks, or {"tasks": […]}. A JSON lines file (`.jsonl`) holds one task per line.

Unknown fields are errors, so that a misspelled field is noticed. Errors name the file and the line, or the number of
the task in a list.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import atomic_write, usable_path
from iglu_marl.core.parsing import MIB, decoded, parse_json, read_file, wrap_errors
from iglu_marl.core.task import Task
from iglu_marl.data.dataset import Dataset, changes
from iglu_marl.data.iglu.multiturn import TABLE
from iglu_marl.data.report import Report
from iglu_marl.data.task_fields import LABEL_FIELDS, Entry, Record, entry_fields, read_task

FILE_LIMIT = 1024 * MIB  # bytes
Tasks = Iterable[Entry] | Mapping[str, Iterable[Entry]] | Dataset
SUFFIXES = (".json", ".jsonl", ".ndjson")


def _tasks_in(text: str, shown: str, lines: bool) -> Iterator[tuple[str, Any]]:
    """Yield each task of a file with its place: a line, or the number in a list of JSON."""
    if lines:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                place = f"{shown}:{number}"
                yield place, parse_json(line, place)
        return
    whole = parse_json(text, shown)
    if isinstance(whole, dict) and set(whole) == {"tasks"}:
        whole = whole["tasks"]
    if isinstance(whole, list):
        yield from ((f"{shown}:task {number}", task) for number, task in enumerate(whole, start=1))
    else:
        yield shown, whole


def _read(file: Path, shown: str, places: dict[str, str]) -> Iterator[tuple[Entry, Record]]:
    """Yield each task of a file with its labels. Raises `DataError` for the first that is wrong.

    `places` has the place of each id so far; it is updated.
    """
    text = decoded(read_file(file, FILE_LIMIT), shown)
    for place, value in _tasks_in(text, shown, file.suffix.lower() != ".json"):
        with wrap_errors(place):
            entry, labels = read_task(value, place)
            name = str(entry.task_id)
            if name in places:
                raise DataError(f"the id {name!r:.80} is already used at {places[name]}")
        places[name] = place
        yield entry, labels


def _files(place: Path) -> list[Path]:
    """Return the task files at a place, sorted by path."""
    if usable_path(place, named=False).is_file():
        if place.suffix.lower() not in SUFFIXES:
            raise DataError(f"{place} is not a task file, expected one that ends in {', '.join(SUFFIXES)}")
        return [place]
    if not place.is_dir():
        raise DataError(f"{place} does not exist; expected a task file or a folder of task files")
    if (place / TABLE).is_file():
        raise DataError(f"{place} is in the multi-turn layout ({TABLE}): use MultiturnDataset(path=...)")
    found = [
        file
        for file in sorted(place.rglob("*"))
        if file.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(place).parts)
    ]
    if not found:
        raise DataError(f"{place} has no task file in it, expected some that end in {', '.join(SUFFIXES)}")
    return found


class OwnTasks(Dataset):
    """Tasks and sessions from your own files (`iglu_marl.data.task_files` has the format).

    `tasks["boats.jsonl"]` are the tasks of one file, `by_id` finds a task by its id.

    Args:
        path: a file, or a folder that is searched recursively.

    Raises:
        DataError: if a task is wrong, an id is used twice, or there is no task; names the file and the place.

    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        place = Path(path).expanduser()
        self.location, self.dataset_version = str(place), ""
        self._report = Report()
        self.tasks = {}
        self._labels: dict[str, Record] = {}
        places: dict[str, str] = {}
        for file in _files(place):
            shown = file.name if place.is_file() else file.relative_to(place).as_posix()
            for entry, labels in _read(file, shown, places):
                self.tasks.setdefault(shown, []).append(entry)
                self._labels[str(entry.task_id)] = labels
            if shown not in self.tasks:
                raise DataError(f"{file} holds no task")
        self._report.tasks = len(self)

    def structure_of(self, name: str, entry: Entry) -> str:
        """Return the structure given in the file, or else the id."""
        return str(self._labels[str(entry.task_id)]["structure"])

    def _records(self, name: str, entry: Entry) -> list[Record]:
        labels = self._labels[str(entry.task_id)]
        tasks = [entry] if isinstance(entry, Task) else list(entry)
        return [
            {
                "id": entry.task_id,
                "file": name,
                **labels,
                "turn": number,
                "clear": labels["clear"][number],
                "unbuilt": task.unbuilt,
                "instruction": task.instruction,
                "dialog": task.dialog,
                **changes(task.start_grid, task.target_grid),
            }
            for number, task in enumerate(tasks)
        ]


def tasks_from_folder(path: str | os.PathLike[str]) -> OwnTasks:
    """Read your own tasks from a file or a folder of files; see `OwnTasks`."""
    return OwnTasks(path)


class Labelled(NamedTuple):
    """A task or session with what is known of it."""

    name: str  # its id, with a number where an earlier entry has the same id
    entry: Entry
    labels: Record  # structure, session and split; {} if unknown
    clear: list[bool | None]  # for each of its turns whether it was clear; [] if unknown


def labelled(tasks: Tasks) -> list[Labelled]:
    """Return the entries of a dataset, of a mapping from structures, or of an iterable."""
    found: list[tuple[Entry, Record, list[bool | None]]] = []
    if isinstance(tasks, Dataset):
        parts = tasks.part_names()
        for name, entries in tasks.tasks.items():
            for entry in entries:
                records = tasks._records(name, entry)
                first = {"split": parts.get(str(entry.task_id)), **records[0]}
                labels = {label: first.get(label) for label in LABEL_FIELDS}
                found.append((entry, labels, [record["clear"] for record in records]))
    elif isinstance(tasks, Mapping):
        found = [(entry, {"structure": name}, []) for name, own in tasks.items() for entry in own]
    else:
        for entry in tasks:
            structure = getattr(entry, "structure", "")
            found.append((entry, {"structure": structure} if structure else {}, []))
    names = _unique([entry.task_id or "task" for entry, *_ in found])
    return [Labelled(name, *known) for name, known in zip(names, found, strict=True)]


def _unique(given: list[str]) -> Iterator[str]:
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
    """Write tasks and sessions as JSON lines, one line each; `tasks_from_folder` reads them back equal.

    Colors are written by name, so the tasks read back have this project's ids (`task.in_ids("iglu")`). A number is
    appended to an id that is used twice. The file is replaced atomically.

    Args:
        path: file to write.
        tasks: an iterable of tasks and sessions; a mapping from structures to them, such as `bundled.load()`; or a
            `Dataset`, whose labels (structure, session, split, clear) are written too.

    Returns:
        Number of tasks, where each turn of a session counts.

    Raises:
        DataError: if the file cannot be written, or a task has an objective.

    """
    count = 0
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for name, entry, labels, clear in labelled(tasks):
            row = {"id": name, **entry_fields(entry)}
            row |= {label: value for label, value in labels.items() if value not in (None, "")}
            for part, judged in zip(row.get("turns", [row]), clear, strict=False):
                if judged is not None:
                    part["clear"] = judged
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1 if isinstance(entry, Task) else len(entry)
    return count
