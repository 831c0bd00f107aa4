"""`iglu-marl data export`: sessions, tasks and recordings in a form that other tools read."""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from rich.progress import track
from typer import Argument, Option

from iglu_marl import data
from iglu_marl.commands.options import Json, PackPath, one_of
from iglu_marl.commands.output import text_console
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.grid import color_name, grid_to_blocks
from iglu_marl.core.task import Task


def _dataset(name: str, path: Path | None) -> Any:
    """The tasks of a source; the worlds alone of a multi-turn pack without its table."""
    if name == "bundled":
        from iglu_marl.tasks import SessionTasks

        return SessionTasks(data.bundled.load())
    if name == "mdc":
        return data.CDMDataset(path=path)
    if name == "iglu-singleturn":
        return data.SingleturnDataset(path=path)
    with data.find_pack(name, path) as pack:
        dialogs = pack.has("dialogs.csv")
    return data.MultiturnDataset(path=path, dialogs=dialogs)


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
    temporary = path.with_name(f".{path.name}-{uuid.uuid4().hex[:8]}")
    seen: Counter[str] = Counter()  # the turns of a session have its name: they are numbered
    try:
        with temporary.open("w", encoding="utf-8") as file:
            for task in tasks:
                name = task.task_id or "task"
                seen[name] += 1
                row = _row(f"{name}/{seen[name]}", task.in_ids("iglu"))
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        os.replace(temporary, path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return seen.total()


def _recordings(name: str, path: Path | None) -> Iterator[Any]:
    """The recorded world files of an IGLU pack."""
    with data.find_pack(name, path) as pack:
        for member in pack.names():
            if "builder-data" in member and not member.endswith((".DS_Store", ".csv")):
                yield data.read_recording(pack.read(member), name=member)


def export(
    source: Annotated[
        str,
        Argument(
            metavar="SOURCE",
            help="bundled, iglu-multiturn, iglu-singleturn or mdc",
            callback=one_of("bundled", "iglu-multiturn", "iglu-singleturn", "mdc"),
        ),
    ],
    output: Annotated[
        str, Option("--output", "-o", help="File (tasks), new folder (layout), or dataset id (minari).")
    ],
    form: Annotated[
        str,
        Option(
            "--format",
            help="tasks: JSON lines; layout: IGLU's multi-turn files; minari: recorded tapes as an offline dataset.",
            callback=one_of("tasks", "layout", "minari"),
        ),
    ] = "tasks",
    path: PackPath = None,
    pixels: Annotated[bool, Option("--pixels", help="With minari: also a picture of each step.")] = False,
    as_json: Json = False,
) -> None:
    """Write tasks, sessions or recordings in a form that other tools read."""
    console = text_console(as_json)
    facts: dict[str, Any] = {"source": source, "format": form, "output": output}
    if form == "minari":
        if source not in ("iglu-multiturn", "iglu-singleturn"):
            raise ConfigError(f"--format minari needs recorded tapes, which {source} has not")
        from iglu_marl.rendering import Painter

        shown = track(_recordings(source, path), "tapes", console=console, transient=True)
        made = data.export_minari(shown, output, renderer=Painter() if pixels else None)
        facts |= {"episodes": int(made.total_episodes), "steps": int(made.total_steps)}
    elif form == "tasks":
        tasks = _dataset(source, path)
        facts["tasks"] = write_tasks(
            Path(output), track(tasks, "tasks", total=len(tasks), console=console, transient=True)
        )
    else:
        if source == "iglu-singleturn":
            raise ConfigError(
                "--format layout is for sessions of several turns, which iglu-singleturn has not"
            )
        report = data.write_sessions(output, _dataset(source, path).tasks)
        facts |= {"sessions": report.sessions, "turns": report.turns, "noted": report.counts}
    if as_json:
        print(json.dumps(facts))
    else:
        console.print(", ".join(f"{key} {value}" for key, value in facts.items()))
