"""What `iglu-marl render` does: pictures of structures and changes, and pages that replay games."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from iglu_marl.commands.demo import DemoOptions, choose, scripted_game
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.rollout import Trajectory, play
from iglu_marl.tasks import BundledTasks, StructureTasks, TaskSet

WIDTHS = (128, 4096)
_EMPTY: BlockGrid = np.zeros((9, 11, 11), np.int8)

Picture = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Named:
    """A structure with the name that a picture shows."""

    title: str
    grid: BlockGrid


def find_structure(name: str, tasks: Path | None = None, data: Path | None = None) -> Named:
    """A structure of a file, of the bundled set, or of the Minecraft Dialogue Corpus (C1..C157), by its name.

    tasks: the file. data: where the corpus is, by default where `TaskSet` looks for it.

    Raises `ConfigError` or `TaskError` for names that do not exist, `DataError` where data is missing.
    """
    if tasks is not None:
        (structure,) = StructureTasks(tasks, name).structures.values()
        return Named(_title(structure.key, structure.name), structure.grid)
    for task in BundledTasks(mode="structures"):
        if task.task_id == name:
            return Named(name, task.target_grid)
    if name in TaskSet.LISTED:
        (structure,) = TaskSet([name], path=data, dialog=False).structures.values()
        return Named(_title(structure.key, structure.name), structure.grid)
    names = ", ".join(str(task.task_id) for task in BundledTasks(mode="structures"))
    raise ConfigError(
        f"there is no structure {name!r}, expected C1..C{len(TaskSet.LISTED)} or one of {names}"
    )


def _title(key: str, name: str) -> str:
    return key if key == name else f"{key}  {name}"


def _written(picture: Picture, output: Path | None, name: str, as_json: bool, **facts: Any) -> Path:
    """Write a picture to `output`, or to a file named after what it shows, and say so."""
    from iglu_marl.rendering import write_png

    path = write_png(output or Path(f"{name}.png"), picture)
    return _said(path, as_json, **facts)


def _said(path: Path, as_json: bool, **facts: Any) -> Path:
    if as_json:
        print(json.dumps({**facts, "file": str(path)}))
    else:
        Console(highlight=False, soft_wrap=True).print(f"Written: [bold]{path.resolve()}[/]")
    return path


def _check_width(width: int | None) -> None:
    if width is not None and not WIDTHS[0] <= width <= WIDTHS[1]:
        raise ConfigError(f"--width is {width}, expected {WIDTHS[0]}..{WIDTHS[1]} pixels")


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


def run_structure(
    name: str,
    output: Path | None = None,
    *,
    tasks: Path | None = None,
    data: Path | None = None,
    view: str = "sheet",
    width: int | None = None,
    as_json: bool = False,
) -> Path:
    """Write a picture of a structure: the six-view sheet, or one view. Returns its path."""
    known = _views()
    if view not in known:
        raise ConfigError(f"--view is {view!r}, expected one of {', '.join(known)}")
    _check_width(width)
    found = find_structure(name, tasks, data)
    draw, (high, wide) = known[view]
    size = (high, wide) if width is None else (round(high * width / wide), width)
    picture = draw(found.grid, size=size, **({"title": found.title} if view == "sheet" else {}))
    facts = {"structure": name, "view": view, "blocks": int((found.grid != 0).sum())}
    return _written(picture, output, name, as_json, **facts)


# --------------------------------------------------------------------------------------------------------- diff


def _numbered(values: Any, number: int, what: str) -> Any:
    if not 1 <= number <= len(values):
        raise ConfigError(f"--{what} is {number}, expected 1..{len(values)}")
    return values[number - 1]


def find_turn(name: str, session: int, turn: int) -> Task:
    """A turn of a bundled session; both are counted from 1. Raises `ConfigError` for what there is not."""
    sessions = BundledTasks().tasks
    if name not in sessions:
        raise ConfigError(f"there is no session of {name!r}, expected one of {', '.join(sessions)}")
    chosen: Subtasks = _numbered(sessions[name], session, "session")
    task: Task = _numbered(list(chosen), turn, "turn")
    return task


def run_diff(
    name: str,
    output: Path | None = None,
    *,
    to: str | None = None,
    session: int = 1,
    turn: int | None = None,
    tasks: Path | None = None,
    data: Path | None = None,
    width: int | None = None,
    as_json: bool = False,
) -> Path:
    """Write before, after and difference of a turn, of two structures, or of nothing and one. Returns the path."""
    from iglu_marl.rendering import sheets
    from iglu_marl.rendering.top_down import change_of

    _check_width(width)
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
        old, new = find_structure(name, tasks, data), find_structure(to, tasks, data)
        before, after, title = old.grid, new.grid, f"{old.title} to {new.title}"
    else:
        found = find_structure(name, tasks, data)
        before, after, title = _EMPTY, found.grid, found.title
    high, wide = sheets.CHANGE_SIZE
    size = (high, wide) if width is None else (round(high * width / wide), width)
    picture = sheets.change_sheet(before, after, title=title, caption=caption, size=size)
    change = change_of(before, after)
    counts = {key: int(mask.sum()) for key, mask in change._asdict().items()}
    return _written(picture, output, f"{name}-diff", as_json, title=title, **counts)


# ------------------------------------------------------------------------------------------------------- replay


def run_replay(
    game: Path | None = None,
    output: Path = Path("replay.html"),
    *,
    episode: int = 0,
    tasks: Path | None = None,
    data: Path | None = None,
    task: str | None = None,
    controls: str = "walking",
    seed: int = 0,
    as_json: bool = False,
) -> Path:
    """Write a page that replays a game, and return its path.

    game: a recording (`iglu_marl.Recorder`), of which the `episode`-th is simulated again, or a replay's own
    .json or .html; None: one that the scripted pair plays now.
    """
    from iglu_marl.rendering import ReplayRecorder, read_replay, write_replay

    if game is not None and game.suffix.lower() in (".html", ".htm", ".json"):
        page = read_replay(game)
        return _said(write_replay(output, page), as_json, title=page["title"], moments=page["moments"])
    if game is not None:
        from iglu_marl.recording import replay

        recorder = ReplayRecorder()
        replayed = replay(game, episode=episode, on_step=recorder)
        return _said(recorder.write(output), as_json, **_facts(recorder, replayed))
    chosen = choose(DemoOptions(tasks=tasks, data=data, task=task, controls=controls, seed=seed))
    env, agents = scripted_game(chosen, cast(ControlsName, controls))
    recorder = ReplayRecorder()
    bars = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
    )
    with Progress(
        *bars, TimeElapsedColumn(), console=Console(stderr=True, quiet=as_json), transient=True
    ) as progress:
        bar = progress.add_task("blocks", total=chosen.target_size)

        def watch(seen: Any) -> None:
            recorder(seen)
            progress.update(bar, completed=int(seen.unwrapped.episode.worlds.best[0]))

        trajectory = play(env, agents, seed=seed, on_step=watch)
    env.close()
    return _said(recorder.write(output), as_json, **_facts(recorder, trajectory))


def _facts(recorder: Any, trajectory: Trajectory) -> dict[str, Any]:
    data = recorder.data
    return {"title": data["title"], "moments": data["moments"], "completed": trajectory.completed}
