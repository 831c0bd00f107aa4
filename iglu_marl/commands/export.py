"""`iglu-marl data export`: sessions, tasks and recordings in a form that other tools read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from rich.progress import track
from typer import Argument, Option

from iglu_marl import data
from iglu_marl.commands.options import Json, PackPath, one_of
from iglu_marl.commands.output import text_console
from iglu_marl.core.errors import ConfigError


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
        facts["tasks"] = data.write_tasks(output, tasks if isinstance(tasks, data.Dataset) else tasks.tasks)
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
