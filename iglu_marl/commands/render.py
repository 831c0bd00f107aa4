"""`iglu-marl render`: pictures of structures and changes, and pages that replay games."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from rich.console import Console
from typer import Argument, Option

from iglu_marl.commands.options import (
    Data,
    Json,
    ScriptedControls,
    Seed,
    TaskId,
    Tasks,
    a_structure,
    choice,
    expect,
    within,
)
from iglu_marl.commands.output import progress_bar
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
        help="Of a bundled structure, or C1..C157, or as in --tasks.",
        autocompletion=a_structure,
    ),
]
PngFile = Annotated[Path | None, Option("--output", "-o", help="The picture, .png. Default: by the name.")]
Width = Annotated[
    int | None, Option(help="Pixels; the height follows.", callback=within(128, 4096, "pixels"))
]
_EMPTY: BlockGrid = np.zeros((9, 11, 11), np.int8)


def _said(path: Path, as_json: bool, **facts: Any) -> None:
    """Say what was written."""
    if as_json:
        print(json.dumps({**facts, "file": str(path)}))
    else:
        Console(highlight=False, soft_wrap=True).print(f"Written: [bold]{path.resolve()}[/]")


# ---------------------------------------------------------------------------------------------------- structure


def _views() -> dict[str, tuple[Callable[..., Picture], tuple[int, int]]]:
    """The pictures of a structure by name, with their usual sizes."""
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
    tasks: Tasks = None,
    data: Data = None,
    view: Annotated[str, choice("sheet", "orbit", "top", "layers")] = "sheet",
    width: Width = None,
    as_json: Json = False,
) -> None:
    """A structure from four sides, from above and layer by layer; or one of these views alone."""
    from iglu_marl.commands.task_selection import find_structure
    from iglu_marl.rendering import write_png

    title, grid = find_structure(name, tasks, data)
    draw, (high, wide) = _views()[view]
    size = (high, wide) if width is None else (round(high * width / wide), width)
    picture = draw(grid, size=size, **({"title": title} if view == "sheet" else {}))
    facts = {"structure": name, "view": view, "blocks": int((grid != 0).sum())}
    _said(write_png(output or Path(f"{name}.png"), picture), as_json, **facts)


# --------------------------------------------------------------------------------------------------------- diff


def _numbered(values: Any, number: int, what: str) -> Any:
    expect(f"--{what}", number, 1 <= number <= len(values), f"1..{len(values)}")
    return values[number - 1]


def find_turn(name: str, session: int, turn: int) -> Task:
    """A turn of a bundled session; both are counted from 1. Raises `ConfigError` for what there is not."""
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
    to: Annotated[str | None, Option(help="Another structure. Default: from nothing to this one.")] = None,
    session: Annotated[int, Option(help="Number of a bundled session, from 1.")] = 1,
    turn: Annotated[int | None, Option(help="Number of a turn in that session, from 1.")] = None,
    tasks: Tasks = None,
    data: Data = None,
    width: Width = None,
    as_json: Json = False,
) -> None:
    """Before, after and difference: of a session's turn, of two structures, or of nothing and one."""
    from iglu_marl.commands.task_selection import find_structure
    from iglu_marl.rendering import sheets, write_png
    from iglu_marl.rendering.top_down import change_of

    caption = ""
    if turn is not None:
        if to is not None or tasks is not None:
            raise ConfigError(
                "--turn is a turn of a bundled session, so it goes with neither --to nor --tasks"
            )
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
    _said(write_png(output or Path(f"{name}-diff.png"), picture), as_json, title=title, **counts)


# ------------------------------------------------------------------------------------------------------- replay


def render_replay(
    game: Annotated[
        Path | None,
        Argument(metavar="[GAME]", help="A recording, or a replay as .json or .html. Default: play one now."),
    ] = None,
    episode: Annotated[int, Option(help="Which one of a recording, from 0.")] = 0,
    output: Annotated[Path, Option("--output", "-o", help="The page, .html, or its data, .json")] = Path(
        "replay.html"
    ),
    tasks: Tasks = None,
    data: Data = None,
    task: TaskId = None,
    controls: ScriptedControls = "walking",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """A page that replays a game in any browser: a recorded game, or one that the scripted pair plays now."""
    from iglu_marl.rendering import ReplayRecorder, read_replay, write_replay

    recorder = ReplayRecorder()
    if game is not None and game.suffix.lower() in (".html", ".htm", ".json"):
        page = read_replay(game)
        _said(write_replay(output, page), as_json, title=page["title"], moments=page["moments"])
        return
    if game is not None:
        from iglu_marl.recording import replay

        trajectory = replay(game, episode=episode, on_step=recorder)
    else:
        from iglu_marl.commands.demo import scripted_game
        from iglu_marl.commands.task_selection import choose_task
        from iglu_marl.recording.rollout import play

        chosen = choose_task(tasks, data, task, seed)
        env, agents = scripted_game(chosen, controls)
        with progress_bar(as_json) as progress:
            bar = progress.add_task("blocks", total=chosen.target_size)

            def watch(seen: Any) -> None:
                recorder(seen)
                progress.update(bar, completed=int(seen.unwrapped.episode.worlds.best[0]))

            trajectory = play(env, agents, seed=seed, on_step=watch)
        env.close()
    page = recorder.data
    facts = {"title": page["title"], "moments": page["moments"], "completed": trajectory.completed}
    _said(recorder.write(output), as_json, **facts)
