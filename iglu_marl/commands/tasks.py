"""`iglu-marl tasks`: list structures, and draw them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.table import Table

from iglu_marl.commands.options import Data, Json, TaskSource, output_folder
from iglu_marl.commands.output import print_json, progress_bar, text_console
from iglu_marl.core.files import made_folder
from iglu_marl.core.task import Task

SIZE = (480, 480)  # of a picture


def tasks(
    tasks: TaskSource = None,
    data: Data = None,
    pictures: Annotated[
        Path | None,
        output_folder("Folder for a picture of each structure, NAME.png, and of all, all.png.", "--pictures"),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the structures that --task accepts, and draw them.

    Examples: iglu-marl tasks; iglu-marl tasks --task-source structures.json
    """
    from iglu_marl.commands.task_selection import all_tasks

    found = all_tasks(tasks, data, progress=False if as_json else None)
    rows = [{"name": name, **_facts(task)} for name, task in found.items()]
    if pictures is not None:
        _draw(found, pictures, as_json)
    if print_json(as_json, rows):
        return
    table = Table("name", "blocks", "colors", "height")
    for row in rows:
        table.add_row(row["name"], str(row["blocks"]), ", ".join(row["colours"]), str(row["height"]))
    console = text_console(as_json)
    console.print(table)
    for row in rows:
        if row["impossible"]:
            console.print(f"{row['name']} is impossible: {row['impossible']}")
    if pictures is not None:
        console.print(f"Pictures: {(pictures / 'all.png').resolve()}, and one per structure")


def _facts(task: Task) -> dict[str, Any]:
    from iglu_marl.core.grid import color_name
    from iglu_marl.core.worlds import Worlds
    from iglu_marl.planning import reason_impossible

    grid, worlds = task.target_grid, Worlds(1)
    worlds.spawn(0, task)
    return {
        "blocks": int((grid != 0).sum()),
        "colours": [color_name(color) for color in np.unique(grid[grid != 0]).tolist()],
        "height": int(grid.any(axis=(1, 2)).sum()),
        "impossible": reason_impossible(worlds),
    }


def _draw(found: dict[str, Task], folder: Path, as_json: bool) -> None:
    """Write a picture of all structures in rows, and one of each."""
    from iglu_marl.rendering import write_png
    from iglu_marl.rendering.orbit import orbit_view
    from iglu_marl.rendering.sheets import gallery

    made_folder(folder)
    write_png(folder / "all.png", gallery({name: task.target_grid for name, task in found.items()}))
    with progress_bar(as_json) as progress:
        for name, task in progress.track(found.items(), description="pictures"):
            write_png(folder / f"{name}.png", orbit_view(task.target_grid, size=SIZE, smoothing=3))
