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
from iglu_marl.commands.corpora import CORPORA, open_corpus
from iglu_marl.commands.output import print_json, progress_bar, text_console
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import check_writable, made_folder
from iglu_marl.core.grid import BlockGrid
from iglu_marl.tasks.named import is_imported

if TYPE_CHECKING:
    from iglu_marl.core.task import Task
    from iglu_marl.recording.films import Film

PAGE, VIDEOS = ".html", (".mp4", ".gif")
OF_GAMES = (".png", *VIDEOS, PAGE)
# What is shown, and the options that have an effect on it, besides `output` and `as_json`.
EFFECTS: dict[str, frozenset[str]] = {
    "a dataset": frozenset(("data", "structure", "overwrite")),
    "a recording": frozenset(("episode",)),
    "a session": frozenset(("data",)),
    "a file's structure": frozenset(("width",)),
    "a structure's picture": frozenset(("view", "before", "width", "tasks", "data")),
    "a structure's game": frozenset(("tasks", "data", "controls", "seed")),
}
SESSION = re.compile(r"B\d+-A\d+-C\d+-\d+")  # a name in the Minecraft Dialogue Corpus


def _writable(_: CallbackParam, output: Path) -> Path:
    return check_writable(output, ConfigError, folder=not output.suffix, parents=True)


def show(
    source: Annotated[
        str,
        Argument(
            metavar="SOURCE",
            help="A structure (kite, C7), a task of --task-source, a structure's file (.vox, .schem; FILE:scale or "
            "FILE:crop: fitted), a recording (.jsonl), a "
            "person's session (a world file, PACK/MEMBER, or a session of the Minecraft Dialogue Corpus), "
            f"or a dataset ({', '.join(CORPORA)}).",
        ),
    ],
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            help="Picture (.png), video (.mp4, .gif) or page (.html); for a dataset, a folder of pages.",
            callback=_writable,
        ),
    ],
    view: Annotated[
        str | None,
        opt.choice(
            *("sheet", "orbit", "top", "layers"),
            about="kind of a structure's picture. Default: sheet",
        ),
    ] = None,
    before: Annotated[
        str | None, Option(help="A structure: draw before, after and difference. For a turn: its start.")
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
    controls: opt.ScriptedControls = "walking",
    seed: opt.Seed = 0,
    structure: opt.Structures = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Show SOURCE as a picture, video or page: the ending of the file decides.

    A video or page of a structure is a new game of the scripted agents, who build it.

    Examples: iglu-marl show kite -o kite.png; iglu-marl show games.jsonl --episode 2 -o game.html; iglu-marl show
    bundled/builder-data/1-bridge/step-2 -o session.mp4
    """
    kind = _kind_of(source, output)
    given: dict[str, Any] = {
        "view": view,
        "before": before,
        "width": width,
        "tasks": tasks,
        "data": data,
        "episode": episode,
        "controls": controls,
        "seed": seed,
        "structure": structure,
        "overwrite": overwrite,
    }
    for name, value in given.items():
        default = signature(show).parameters[name].default
        option = "--task-source" if name == "tasks" else f"--{name.replace('_', '-')}"
        opt.expect(option, value, value == default or name in EFFECTS[kind], f"none: no effect on {kind}")
    if source in CORPORA:
        show_dataset(source, output, data, structure, overwrite, as_json)
        return
    expect_file(output, *OF_GAMES)
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
    elif kind == "a structure's picture":
        facts = _draw(source, output, view or "sheet", before, width, tasks, data)
    else:
        facts = _show_game(source, output, tasks, data, controls, seed, as_json)
    facts["file"] = str(output)
    if not print_json(as_json, facts):
        shown = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in facts.items() if key != "file")
        text_console().print(f"Written: {output.resolve()}: {shown}")


def _kind_of(source: str, output: Path) -> str:
    """Return what is shown, a key of `EFFECTS`."""
    ending = output.suffix.lower()
    if source in CORPORA:
        return "a dataset"
    if os.path.isfile(source) and source.lower().endswith(".jsonl"):
        return "a recording"
    file = source.rpartition(":")[0] or source
    if ending == ".png" and is_imported(file):
        return "a file's structure"
    if SESSION.fullmatch(source) or os.path.isfile(source) or "/" in source:
        return "a session"
    return f"a structure's {'picture' if ending == '.png' else 'game'}"


def expect_file(output: Path, *endings: str) -> None:
    """Raise `ConfigError` unless a file has one of some endings."""
    expected = f"a file that ends in {', '.join(endings)}"
    opt.expect("--output", output, output.suffix.lower() in endings, expected)


def show_dataset(
    source: str, output: Path, data: Path | None, structures: list[str] | None, overwrite: bool, as_json: bool
) -> None:
    """Write a dataset as a folder of pages."""
    from iglu_marl.data import MultiturnDataset, bundled
    from iglu_marl.recording.corpus_films import write_corpus_pages

    opt.expect("--output", output, not output.suffix, "a folder: a dataset becomes a folder of pages")
    if source == "bundled":
        corpus: Any = MultiturnDataset(path=str(bundled.files()))
    else:
        corpus = open_corpus(source, data)
    facts = write_corpus_pages(
        source,
        corpus,
        output,
        path=data,
        structures=structures or (),
        overwrite=overwrite,
        progress=False if as_json else None,
    )
    if not print_json(as_json, facts):
        left_out = len(facts["left_out"])
        without = f"; {left_out} without poses are left out" if left_out else ""
        text_console().print(f"Written: {facts['sessions']} sessions{without}. Open {facts['file']}")


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


def _pictures_of(name: str, tasks: str | None, data: Path | None) -> tuple[str, BlockGrid, BlockGrid, str]:
    """Return the title, start and target of a structure or task, and the instruction of a turn."""
    from iglu_marl.commands.task_selection import all_tasks, find_structure
    from iglu_marl.tasks import StructureTasks
    from iglu_marl.tasks.named import as_source

    if tasks is not None and not isinstance(as_source(tasks), StructureTasks):
        found = all_tasks(tasks)
        opt.expect_one_of("SOURCE", name, found)
        task: Task = found[name]
        return name, task.start_grid, task.target_grid, task.instruction
    title, grid = find_structure(name, tasks, data)
    return title, np.zeros_like(grid), grid, ""


def _draw_import(source: str, output: Path, width: int | None) -> dict[str, Any]:
    """Draw the structure of a file beside that in the game."""
    from iglu_marl.rendering import write_png
    from iglu_marl.rendering.voxels import IMPORT_SIZE, import_sheet
    from iglu_marl.tasks.imported import FITS, fitted
    from iglu_marl.tasks.voxel_files import read_voxels

    file, _, fit = source.rpartition(":") if ":" in source else (source, "", "refuse")
    opt.expect("SOURCE", source, fit in FITS, f"FILE, or FILE: with one of {', '.join(FITS)}")
    model = read_voxels(file)
    grid = fitted(model, fit)  # type: ignore[arg-type]
    high, wide = IMPORT_SIZE
    size = (high, wide) if width is None else (round(high * width / wide), width)
    write_png(output, import_sheet(model.cells, model.colors, grid, title=model.name, size=size))
    facts: dict[str, Any] = {"title": model.name, "blocks_in_file": len(model.cells), "size": model.size}
    facts["blocks"] = int((grid != 0).sum())
    if model.unknown:
        facts["unknown_blocks"] = model.unknown
    return facts


def _draw(
    name: str,
    output: Path,
    view: str,
    before: str | None,
    width: int | None,
    tasks: str | None,
    data: Path | None,
) -> dict[str, Any]:
    """Draw a structure, or the difference that a turn or two structures make."""
    from iglu_marl.rendering import orbit, sheets, top_down, write_png

    title, start, grid, instruction = _pictures_of(name, tasks, data)
    if before is not None:
        old, start = _pictures_of(before, tasks, data)[::2]
        title, instruction = f"{old} to {title}", ""
    views: dict[str, Any] = {
        "sheet": (partial(sheets.contact_sheet, title=title), sheets.SHEET_SIZE),
        "orbit": (partial(orbit.orbit_view, smoothing=3), (640, 640)),
        "top": (top_down.top_view, (640, 640)),
        "layers": (top_down.layers_view, (640, 960)),
    }
    differs = before is not None or bool(start.any())
    draw, (high, wide) = views[view]
    if differs and view == "sheet":
        draw, (high, wide) = (
            partial(sheets.change_sheet, start, title=title, caption=instruction),
            sheets.CHANGE_SIZE,
        )
    size = (high, wide) if width is None else (round(high * width / wide), width)
    write_png(output, draw(grid, size=size))
    facts: dict[str, Any] = {"title": title, "blocks": int((grid != 0).sum())}
    if differs:
        change = top_down.change_of(start, grid)
        facts |= {key: int(mask.sum()) for key, mask in change._asdict().items()}
    return facts


def _show_game(
    name: str,
    output: Path,
    tasks: str | None,
    data: Path | None,
    controls: str,
    seed: int,
    as_json: bool,
) -> dict[str, Any]:
    """Show a new game of the scripted agents, who build a structure."""
    from iglu_marl.commands.demo import game_of
    from iglu_marl.commands.task_selection import choose_task
    from iglu_marl.recording.rollout import play
    from iglu_marl.recording.videos import GameMoments

    env, agents = game_of(choose_task(tasks, data, name, seed), controls)
    moments = GameMoments()
    game = play(env, agents, seed=seed, on_step=moments)
    with progress_bar(as_json) as progress:
        moments.write(output, game.task.task_id, progress)
    env.close()
    return {"task": game.task.task_id, "completed": game.completed, "steps": game.builder_steps}
