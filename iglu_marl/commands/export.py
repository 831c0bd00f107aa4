"""What `iglu-marl data export` does: sessions and tasks in a form that other tools read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import replacing
from iglu_marl.core.grid import color_name, grid_to_blocks
from iglu_marl.core.task import Task
from iglu_marl.data import (
    CDMDataset,
    MultiturnDataset,
    SingleturnDataset,
    bundled,
    export_minari,
    find_pack,
    read_recording,
    write_sessions,
)
from iglu_marl.rendering import Painter
from iglu_marl.tasks import SessionTasks

SOURCES = ("bundled", "iglu-multiturn", "iglu-singleturn", "mdc")
FORMATS = ("tasks", "layout", "minari")


def _dataset(name: str, path: Path | None) -> Any:
    """The tasks of a source; the worlds alone of a multi-turn pack without its table."""
    if name == "bundled":
        return SessionTasks(bundled.load())
    if name == "mdc":
        return CDMDataset(path=path)
    if name == "iglu-singleturn":
        return SingleturnDataset(path=path)
    with find_pack(name, path) as pack:
        dialogs = pack.has("dialogs.csv")
    return MultiturnDataset(path=path, dialogs=dialogs)


def _row(name: str, task: Task) -> dict[str, Any]:
    """A task in the fields of `iglu_marl.data.own`, with colours by name."""
    row: dict[str, Any] = {"id": name, "dialog": task.dialog}
    for key, grid in (("target", task.target_grid), ("start", task.starting_grid)):
        if grid is not None:
            row[key] = [[x, y, z, color_name(color)] for x, y, z, color in grid_to_blocks(grid)]
    if task.invariant is not None:
        row["invariant"] = task.invariant
    return row


def write_tasks(path: Path, tasks: Iterable[Task]) -> int:
    """Write tasks as JSON lines that `tasks_from_folder` reads; the file appears whole. Returns how many."""
    seen: Counter[str] = Counter()  # the turns of a session have its name: they are numbered
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for task in tasks:
            name = task.task_id or "task"
            seen[name] += 1
            row = _row(f"{name}/{seen[name]}", task.in_ids("iglu"))
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return seen.total()


def _recordings(name: str, path: Path | None) -> Iterator[Any]:
    """The recorded world files of an IGLU pack."""
    with find_pack(name, path) as pack:
        for member in pack.names():
            if "builder-data" in member and not member.endswith((".DS_Store", ".csv")):
                yield read_recording(pack.read(member), name=member)


def run_export(
    name: str, form: str, output: str, *, path: Path | None, pixels: bool, as_json: bool
) -> dict[str, Any]:
    """Export a source and return the figures."""
    if name not in SOURCES:
        raise ConfigError(f"source is {name!r}, expected one of {', '.join(SOURCES)}")
    if form not in FORMATS:
        raise ConfigError(f"--format is {form!r}, expected one of {', '.join(FORMATS)}")
    console = Console(quiet=as_json, highlight=False, soft_wrap=True)
    facts: dict[str, Any] = {"source": name, "format": form, "output": output}
    if form == "minari":
        if name not in ("iglu-multiturn", "iglu-singleturn"):
            raise ConfigError(f"--format minari needs recorded tapes, which {name} has not")
        shown = track(_recordings(name, path), "tapes", console=console, transient=True)
        made = export_minari(shown, output, renderer=Painter() if pixels else None)
        facts |= {"episodes": int(made.total_episodes), "steps": int(made.total_steps)}
    elif form == "tasks":
        tasks = _dataset(name, path)
        facts["tasks"] = write_tasks(
            Path(output), track(tasks, "tasks", total=len(tasks), console=console, transient=True)
        )
    else:
        if name == "iglu-singleturn":
            raise ConfigError(
                "--format layout is for sessions of several turns, which iglu-singleturn has not"
            )
        report = write_sessions(output, _dataset(name, path).tasks)
        facts |= {"sessions": report.sessions, "turns": report.turns, "noted": report.counts}
    if as_json:
        print(json.dumps(facts))
    else:
        console.print(", ".join(f"{key} {value}" for key, value in facts.items()))
    return facts
