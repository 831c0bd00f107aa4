"""`iglu-marl render`: draw structures and changes, and write pages that replay games."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from typer import Argument, Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import print_json, text_console
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.text import similar

if TYPE_CHECKING:
    from iglu_marl.core.task import Subtasks, Task
    from iglu_marl.rendering.renderer import Picture

StructureName = Annotated[
    str,
    Argument(
        metavar="NAME",
        help="Structure: a bundled one, C1..C157, or one of --task-source.",
        autocompletion=opt.a_structure,
    ),
]
PngFile = Annotated[Path | None, opt.output_file("Picture to write, .png. Default: NAME.png.")]
Width = Annotated[
    int | None, Option(help="Width in pixels; the height follows.", callback=opt.within(128, 4096, "pixels"))
]
_EMPTY: BlockGrid = np.zeros((9, 11, 11), np.int8)


def _report(path: Path, as_json: bool, **facts: Any) -> None:
    if not print_json(as_json, {**facts, "file": str(path)}):
        text_console().print(f"Written: {path.resolve()}")


# ---------------------------------------------------------------------------------------------------- structure


def _views() -> dict[str, tuple[Callable[..., Picture], tuple[int, int]]]:
    """Return the drawing functions of a structure by name, with their default sizes."""
    from iglu_marl.rendering import orbit, sheets, top_down

    return {
        "sheet": (sheets.contact_sheet, sheets.SHEET_SIZE),
        "orbit": (partial(orbit.orbit_view, smoothing=3), (640, 640)),
        "top": (top_down.top_view, (640, 640)),
        "layers": (top_down.layers_view, (640, 960)),
    }


def render_structure(
    name: StructureName,
    output: PngFile = None,
    tasks: opt.TaskSource = None,
    data: opt.Data = None,
    view: Annotated[str, opt.choice("sheet", "orbit", "top", "layers", about="kind of picture")] = "sheet",
    width: Width = None,
    as_json: opt.Json = False,
) -> None:
    """Draw a structure from four sides, from above and layer by layer, or in one of these views."""
    from iglu_marl.commands.task_selection import find_structure
    from iglu_marl.rendering import write_png

    title, grid = find_structure(name, tasks, data)
    draw, (high, wide) = _views()[view]
    size = (high, wide) if width is None else (round(high * width / wide), width)
    picture = draw(grid, size=size, **({"title": title} if view == "sheet" else {}))
    facts = {"structure": name, "view": view, "blocks": int((grid != 0).sum())}
    _report(write_png(output or Path(f"{name}.png"), picture), as_json, **facts)


# --------------------------------------------------------------------------------------------------------- diff


def _numbered(values: Any, number: int, what: str) -> Any:
    opt.expect(f"--{what}", number, 1 <= number <= len(values), f"1..{len(values)}")
    return values[number - 1]


def find_turn(name: str, session: int, turn: int) -> Task:
    """Return a turn of a bundled session; both are counted from 1. Raises `ConfigError` if one does not exist."""
    from iglu_marl.tasks import BundledTasks

    sessions = BundledTasks().tasks
    if name not in sessions:
        raise ConfigError(
            f"there is no session of {name!r}{similar(name, sessions)}, expected one of {', '.join(sessions)}"
        )
    chosen: Subtasks = _numbered(sessions[name], session, "session")
    task: Task = _numbered(list(chosen), turn, "turn")
    return task


def render_diff(
    name: StructureName,
    output: PngFile = None,
    to: Annotated[
        str | None, Option(help="Second structure. Default: compare NAME with the empty world.")
    ] = None,
    session: Annotated[int, Option(help="Number of a bundled session of NAME, from 1.")] = 1,
    turn: Annotated[int | None, Option(help="Number of a turn of the session, from 1.")] = None,
    tasks: opt.TaskSource = None,
    data: opt.Data = None,
    width: Width = None,
    as_json: opt.Json = False,
) -> None:
    """Draw before, after and difference: of a turn of a session, or of two structures."""
    from iglu_marl.commands.task_selection import find_structure
    from iglu_marl.rendering import sheets, write_png
    from iglu_marl.rendering.top_down import change_of

    caption = ""
    if turn is not None:
        if to is not None or tasks is not None:
            raise ConfigError("--turn names a turn of a bundled session; it excludes --to and --task-source")
        task = find_turn(name, session, turn)
        before, after = task.start_grid, task.target_grid
        title, caption = f"{name}, session {session}, turn {turn}", task.instruction
    elif to is not None:
        (old, before), (new, after) = find_structure(name, tasks, data), find_structure(to, tasks, data)
        title = f"{old} to {new}"
    else:
        before, (title, after) = _EMPTY, find_structure(name, tasks, data)
    high, wide = sheets.CHANGE_SIZE
    size = (high, wide) if width is None else (round(high * width / wide), width)
    picture = sheets.change_sheet(before, after, title=title, caption=caption, size=size)
    change = change_of(before, after)
    counts = {key: int(mask.sum()) for key, mask in change._asdict().items()}
    _report(write_png(output or Path(f"{name}-diff.png"), picture), as_json, title=title, **counts)


# ------------------------------------------------------------------------------------------------------- replay


def render_replay(
    game: Annotated[
        Path | None,
        Argument(metavar="[GAME]", help="Recording, or replay data (.json, .html). Default: play a game."),
    ] = None,
    episode: opt.Episode = 0,
    output: Annotated[Path, opt.output_file("Page (.html) or its data (.json) to write.")] = Path(
        "replay.html"
    ),
    tasks: opt.TaskSource = None,
    data: opt.Data = None,
    task: opt.TaskId = None,
    controls: opt.ScriptedControls = "walking",
    seed: opt.Seed = 0,
    as_json: opt.Json = False,
) -> None:
    """Write a page that replays a recorded game, or a new one of the scripted agents, in a browser."""
    from iglu_marl.rendering import ReplayRecorder
    from iglu_marl.rendering.html import read_replay, write_replay

    recorder = ReplayRecorder()
    if game is not None and game.suffix.lower() in (".html", ".htm", ".json"):
        page = read_replay(game)
        _report(write_replay(output, page), as_json, title=page["title"], moments=page["moments"])
        return
    if game is not None:
        from iglu_marl.recording import replay

        trajectory = replay(game, episode=episode, on_step=recorder)
    else:
        from iglu_marl.commands.demo import game_of
        from iglu_marl.commands.task_selection import choose_task
        from iglu_marl.recording.rollout import play

        chosen = choose_task(tasks, data, task, seed)
        env, agents = game_of(chosen, controls)
        trajectory = play(env, agents, seed=seed, on_step=recorder)
        env.close()
    page = recorder.data
    facts = {"title": page["title"], "moments": page["moments"], "completed": trajectory.completed}
    _report(recorder.write(output), as_json, **facts)
