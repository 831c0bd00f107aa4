"""`iglu-marl show`: draw structures and tasks; write games and people's sessions as pictures, videos and pages."""

from __future__ import annotations

import os
import re
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from typer import Argument, CallbackParam, Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import print_json, progress_bar, text_console
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import check_writable, made_folder
from iglu_marl.core.grid import BlockGrid
from iglu_marl.tasks.named import is_imported

if TYPE_CHECKING:
    from iglu_marl.recording.films import Film

PAGE, VIDEOS = ".html", (".mp4", ".gif")
OF_GAMES = (".png", *VIDEOS, PAGE)
# What is shown, and the options that have an effect on it, besides `output` and `as_json`.
EFFECTS: dict[str, frozenset[str]] = {
    "a recording": frozenset(("episode",)),
    "a session": frozenset(("data",)),
    "a file's structure": frozenset(("width",)),
    "a structure": frozenset(("view", "width", "tasks", "data")),
}
SESSION = re.compile(r"B\d+-A\d+-C\d+-\d+")  # a name in the Minecraft Dialogue Corpus


def _writable(_: CallbackParam, output: Path) -> Path:
    return check_writable(output, ConfigError, parents=True)


def show(
    source: Annotated[
        str,
        Argument(
            metavar="SOURCE",
            help="A structure (kite, C7), a task of --task-source, a structure's file (.vox, .schem; FILE:scale or "
            "FILE:crop: fitted), a recording (.jsonl), a "
            "person's session (a world file, PACK/MEMBER, or a session of the Minecraft Dialogue Corpus).",
        ),
    ],
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            help="Picture (.png), video (.mp4, .gif) or page (.html).",
            callback=_writable,
        ),
    ],
    view: Annotated[
        str | None,
        opt.choice(
            *("sheet", "orbit", "top", "layers"),
            about="kind of a structure's picture. Default: sheet; orbit for a turn: its start, and what to change",
        ),
    ] = None,
    width: Annotated[
        int | None,
        Option(
            help="Width of a structure's picture in pixels; the height follows.",
            callback=opt.within(128, 4096, "pixels"),
        ),
    ] = None,
    tasks: opt.TaskSource = None,
    data: opt.PackPath = None,
    episode: opt.Episode = 0,
    as_json: opt.Json = False,
) -> None:
    """Show SOURCE as a picture, video or page: the ending of the file decides. A structure is a picture.

    Examples: iglu-marl show kite -o kite.png; iglu-marl show games.jsonl --episode 2 -o game.html; iglu-marl show
    bundled/builder-data/1-bridge/step-2 -o session.mp4
    """
    kind = _kind_of(source, output)
    given: dict[str, Any] = {
        "view": view,
        "width": width,
        "tasks": tasks,
        "data": data,
        "episode": episode,
    }
    for name, value in given.items():
        default = signature(show).parameters[name].default
        option = "--task-source" if name == "tasks" else f"--{name.replace('_', '-')}"
        opt.expect(option, value, value == default or name in EFFECTS[kind], f"none: no effect on {kind}")
    if kind in ("a recording", "a session"):
        expect_file(output, f"a file that ends in {', '.join(OF_GAMES)}", *OF_GAMES)
    else:
        expect_file(output, f".png for {kind}; `iglu-marl demo --task` plays and shows a game", ".png")
    made_folder(output.parent)
    if kind == "a recording":
        facts = _show_recording(Path(source), output, episode, as_json)
    elif kind == "a session":
        from iglu_marl.recording.films import write_film

        film = _film(source, data)
        with progress_bar(as_json) as progress:
            write_film(film, output, progress)
        facts = {"title": film.title, **film.facts, "scenes": len(film.scenes)}
        facts["recorded_s"] = round(film.scenes[-1].time_s - film.scenes[0].time_s, 1)
    elif kind == "a file's structure":
        facts = _draw_import(source, output, width)
    else:
        facts = _draw(source, output, view, width, tasks, data)
    facts["file"] = str(output)
    if not print_json(as_json, facts):
        shown = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in facts.items() if key != "file")
        text_console().print(f"Written: {output.resolve()}: {shown}")


def _kind_of(source: str, output: Path) -> str:
    """Return what is shown, a key of `EFFECTS`."""
    ending = output.suffix.lower()
    if os.path.isfile(source) and source.lower().endswith(".jsonl"):
        return "a recording"
    file = source.rpartition(":")[0] or source
    if ending == ".png" and is_imported(file):
        return "a file's structure"
    if SESSION.fullmatch(source) or os.path.isfile(source) or "/" in source:
        return "a session"
    return "a structure"


def expect_file(output: Path, expected: str, *endings: str) -> None:
    """Raise `ConfigError` unless a file has one of some endings."""
    opt.expect("--output", output, output.suffix.lower() in endings, expected)


def _show_recording(source: Path, output: Path, episode: int, as_json: bool) -> dict[str, Any]:
    from iglu_marl.recording import read_recording
    from iglu_marl.recording.videos import write_recording

    games = read_recording(source)
    opt.expect("--episode", episode, episode < len(games), f"0..{len(games) - 1}")
    with progress_bar(as_json) as progress:
        game = write_recording(games[episode], output, progress)
    return {"task": game.task.task_id, "moves": len(games[episode].moves), "completed": game.completed}


def _film(source: str, data: Path | None) -> Film:
    """Return the film of a person's session."""
    from iglu_marl.recording import films

    if SESSION.fullmatch(source):
        return films.film_of_session(source, data)
    return films.film_of_world_file(*films.load_world_file(source, data))


def _pictures_of(name: str, tasks: str | None, data: Path | None) -> tuple[str, BlockGrid, BlockGrid]:
    """Return the title, start and target of a structure or task.

    The name is one of the source, else of the bundled set, or of the Minecraft Dialogue Corpus (C1..C157).
    """
    from iglu_marl.commands.task_selection import all_tasks
    from iglu_marl.tasks import StructureTasks, TaskSet
    from iglu_marl.tasks.named import as_source

    source = None if tasks is None else as_source(tasks)
    if not isinstance(source, StructureTasks):
        listed = all_tasks(tasks)
        if name in listed:
            return name, listed[name].start_grid, listed[name].target_grid
        if tasks is not None or name not in TaskSet.LISTED:
            corpus = f"C1..C{len(TaskSet.LISTED)}"
            opt.expect_one_of("SOURCE", name, listed if tasks is not None else [*listed, corpus])
        source = TaskSet([name], path=data, dialog=False)
    opt.expect_one_of("SOURCE", name, source.structures)
    structure = source.structures[name]
    title = structure.key if structure.key == structure.name else f"{structure.key}: {structure.name}"
    return title, np.zeros_like(structure.grid), structure.grid


def _draw_import(source: str, output: Path, width: int | None) -> dict[str, Any]:
    """Draw the structure of a file as it is in the game."""
    from iglu_marl.rendering import contact_sheet, write_png
    from iglu_marl.rendering.sheets import SHEET_SIZE
    from iglu_marl.tasks.imported import FITS, fitted
    from iglu_marl.tasks.voxel_files import read_voxels

    file, _, fit = source.rpartition(":") if ":" in source else (source, "", "refuse")
    opt.expect("SOURCE", source, fit in FITS, f"FILE, or FILE: with one of {', '.join(FITS)}")
    model = read_voxels(file)
    grid = fitted(model, fit)  # type: ignore[arg-type]
    high, wide = SHEET_SIZE
    size = (high, wide) if width is None else (round(high * width / wide), width)
    write_png(output, contact_sheet(grid, title=model.name, size=size))
    facts: dict[str, Any] = {"title": model.name, "blocks_in_file": len(model.cells), "size": model.size}
    facts["blocks"] = int((grid != 0).sum())
    if model.unknown:
        facts["unknown_blocks"] = model.unknown
    return facts


def _draw(
    name: str, output: Path, view: str | None, width: int | None, tasks: str | None, data: Path | None
) -> dict[str, Any]:
    """Draw a structure, or what a turn changes."""
    from iglu_marl.rendering import orbit, sheets, top_down, write_png

    title, start, grid = _pictures_of(name, tasks, data)
    views: dict[str, Any] = {
        "sheet": (partial(sheets.contact_sheet, grid, title=title), sheets.SHEET_SIZE),
        "orbit": (partial(orbit.orbit_view, start, ghost=grid, smoothing=3), (640, 640)),
        "top": (partial(top_down.top_view, grid), (640, 640)),
        "layers": (partial(top_down.layers_view, grid), (640, 960)),
    }
    if not start.any():
        views["orbit"] = partial(orbit.orbit_view, grid, smoothing=3), (640, 640)
    draw, (high, wide) = views[view or ("orbit" if start.any() else "sheet")]
    size = (high, wide) if width is None else (round(high * width / wide), width)
    write_png(output, draw(size=size))
    return {"title": title, "blocks": int((grid != 0).sum())}
