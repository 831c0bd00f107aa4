"""Corpora as data frames and as parquet files.

Parquet needs pyarrow, an optional extra: `pip install '.[parquet]'` in a clone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from iglu_marl._version import __version__
from iglu_marl.core.errors import DataError
from iglu_marl.core.extras import extra
from iglu_marl.core.files import new_folder
from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, grid_to_blocks
from iglu_marl.core.task import Task
from iglu_marl.data.dataset import Dataset, Record
from iglu_marl.data.packs.registry import PackInfo
from iglu_marl.data.task_files import Tasks, labelled
from iglu_marl.data.utterances import UTTERANCE_COLUMNS, Sessions, utterance_frame

CARD = "README.md"
TASK_COLUMNS = {
    "id": "id of the task, or of its session",
    "structure": "what is built",
    "session": "the recorded session",
    "split": "the part of the split",
    "turn": "number in the session, from 0",
    "clear": "whether the instruction was clear",
    "unbuilt": "whether nobody built the target, so that it equals the start",
    "dialog": "dialogue up to the instruction, as `<Architect>` and `<Builder>` lines",
    "instruction": "the current instruction",
    "start": "the world before; null: empty",
    "target": "the world to build",
    "full": "the final structure of the session",
    "invariant": "whether the build may be rotated and shifted; null: only without a start",
}


def task_frame(tasks: Tasks) -> Any:
    """Return a `pandas.DataFrame` with a row per task or turn of a session, and the columns `TASK_COLUMNS`.

    Blocks are lists of (x, y, z, color id) in this project's ids. `tasks` is as for `write_tasks`.
    """
    with extra("data"):
        import pandas as pd

    frame = pd.DataFrame(_task_rows(tasks), columns=list(TASK_COLUMNS), dtype=object)
    return frame.astype({"turn": "int64", "clear": "boolean", "unbuilt": "boolean", "invariant": "boolean"})


def _task_rows(tasks: Tasks) -> Iterator[Record]:
    for name, entry, labels, clear in labelled(tasks):
        turns = [entry] if isinstance(entry, Task) else list(entry)
        for turn, task in enumerate(turns):
            plain = task.in_ids("iglu")
            yield {
                "id": name,
                **labels,
                "turn": turn,
                "clear": clear[turn] if clear else None,
                "unbuilt": task.unbuilt,
                "dialog": plain.dialog,
                "instruction": plain.instruction,
                "start": _blocks(plain.starting_grid) or None,
                "target": _blocks(plain.target_grid),
                "full": _blocks(plain.full_grid),
                "invariant": plain.invariant,
            }


def _blocks(grid: BlockGrid | None) -> list[Any] | None:
    return None if grid is None else grid_to_blocks(grid)


def write_parquet(
    path: str | os.PathLike[str], source: Sessions, *, info: PackInfo | None = None
) -> dict[str, int]:
    """Write a corpus as a folder with tasks.parquet, utterances.parquet and README.md. It is created atomically.

    The columns are `TASK_COLUMNS` and `UTTERANCE_COLUMNS`. `pandas.read_parquet` reads the files.

    Args:
        path: folder to write.
        source: a dataset, or sessions by structure.
        info: origin, licence and citation for README.md.

    Returns:
        Number of rows of each table.

    Raises:
        DataError: if pyarrow is missing, the folder is in use, or there is nothing to write.

    """
    with extra("parquet"):
        import pyarrow as pa  # noqa: F401  # which pandas writes with
    frames = {"tasks": task_frame(source), "utterances": utterance_frame(source)}
    if not len(frames["tasks"]):
        raise DataError(f"there is no task to write to {path}, expected at least one")
    with new_folder(path) as folder:
        for name, frame in frames.items():
            frame.to_parquet(folder / f"{name}.parquet", engine="pyarrow", index=False)
        (folder / CARD).write_text(_card(source, info), encoding="utf-8", newline="")
    return {name: len(frame) for name, frame in frames.items()}


def _card(source: Sessions, info: PackInfo | None) -> str:
    lines = [f"# {'Sessions that come with iglu_marl' if info is None else info.title}", ""]
    if info is not None:
        lines += [info.description, "", f"Source: <{info.page}>. Licence: {info.licence}. Please cite:", ""]
        lines += [f"- {citation}" for citation in info.citation] + [""]
    colors = ", ".join(f"{number} {COLOR_NAMES[number]}" for number in range(1, 7))
    lines.append(
        f"Written by iglu_marl {__version__}. Blocks are lists of [x, y, z, colour id], with x (east) and z (south) in "
        f"-5..5 and y (up) in -1..7, where -1 is the layer on the ground. Colour ids: {colors}."
    )
    for table, columns in (("tasks", TASK_COLUMNS), ("utterances", UTTERANCE_COLUMNS)):
        lines += [
            "",
            f"## {table}.parquet",
            "",
            *(f"- {name}: {meaning}" for name, meaning in columns.items()),
        ]
    if isinstance(source, Dataset):
        lines += ["", f"Left out: {source.report()}."]
    return "\n".join([*lines, ""])
