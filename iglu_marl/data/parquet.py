"""Corpora as data frames and as parquet files with a data card, and their statistics.

Parquet needs pyarrow, an optional extra: `pip install '.[parquet]'` in a clone.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from iglu_marl._version import __version__
from iglu_marl.core.errors import DataError
from iglu_marl.core.extras import extra
from iglu_marl.core.files import new_folder
from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, grid_to_blocks
from iglu_marl.core.tables import Markup, Table, markdown_table
from iglu_marl.core.task import Task
from iglu_marl.data.dataset import Dataset, Record, changes
from iglu_marl.data.mdc.dataset import count_colors
from iglu_marl.data.packs.registry import PackInfo
from iglu_marl.data.task_files import Tasks, labelled
from iglu_marl.data.utterances import UTTERANCE_COLUMNS, Sessions, utterance_frame

CARD = "README.md"
UNSPLIT = "unsplit"  # file name for entries in no part of the split
TASK_COLUMNS = {
    "id": ("string", "id of the task, or of its session"),
    "structure": ("string", "what is built"),
    "session": ("string", "the recorded session"),
    "split": ("string", "the part of the split"),
    "turn": ("int", "number in the session, from 0"),
    "clear": ("bool", "whether the instruction was clear"),
    "unbuilt": ("bool", "whether nobody built the target, so that it equals the start"),
    "dialog": ("string", "dialogue up to the instruction, as `<Architect>` and `<Builder>` lines"),
    "instruction": ("string", "the current instruction"),
    "start": ("blocks", "the world before; null: empty"),
    "target": ("blocks", "the world to build"),
    "full": ("blocks", "the final structure of the session"),
    "invariant": ("bool", "whether the build may be rotated and shifted; null: only without a start"),
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


def _schema(columns: dict[str, tuple[str, str]]) -> Any:
    with extra("parquet"):
        import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "int": pa.int32(),
        "bool": pa.bool_(),
        "float": pa.float64(),
        "blocks": pa.list_(pa.list_(pa.int8())),
    }
    return pa.schema([(name, kinds[kind]) for name, (kind, _) in columns.items()])


def write_parquet(
    path: str | os.PathLike[str], source: Sessions, *, info: PackInfo | None = None
) -> dict[str, int]:
    """Write a corpus as a folder of parquet files with a data card. The folder is created atomically.

    The tables `tasks` and `utterances` (`TASK_COLUMNS`, `UTTERANCE_COLUMNS`) have a file per part of the split:
    `datasets.load_dataset("folder", "utterances")`, `pandas.read_parquet("folder/tasks/train.parquet")`.

    Args:
        path: folder to write.
        source: a dataset, or sessions by structure.
        info: origin, licence and citation for the data card.

    Returns:
        Number of rows of each table.

    Raises:
        DataError: if pyarrow is missing, the folder is in use, or there is nothing to write.

    """
    tables = {
        "tasks": (_schema(TASK_COLUMNS), task_frame(source)),
        "utterances": (_schema(UTTERANCE_COLUMNS), utterance_frame(source)),
    }
    if not len(tables["tasks"][1]):
        raise DataError(f"there is no task to write to {path}, expected at least one")
    sizes: dict[str, dict[str, int]] = {}
    with new_folder(path) as folder:
        for table, (schema, frame) in tables.items():
            for part, rows in frame.groupby(frame["split"].fillna(UNSPLIT), sort=True):
                (folder / table).mkdir(exist_ok=True)
                file = folder / table / f"{part}.parquet"
                rows.to_parquet(file, engine="pyarrow", index=False, schema=schema)
                sizes.setdefault(table, {})[str(part)] = len(rows)
        (folder / CARD).write_text(_card(source, info, sizes), encoding="utf-8", newline="")
    return {table: sum(parts.values()) for table, parts in sizes.items()}


def _card(source: Sessions, info: PackInfo | None, sizes: dict[str, dict[str, int]]) -> str:
    title = "Sessions that come with iglu_marl" if info is None else info.title
    licence = "MIT" if info is None else info.licence
    head = ["---", f"license: {'mit' if licence == 'MIT' else 'other'}"]
    if licence != "MIT":
        head.append(f"license_name: {json.dumps(licence)}")
    head += [f"pretty_name: {json.dumps(title)}", "language: [en]", "configs:"]
    for number, (table, parts) in enumerate(sizes.items()):
        head += [f"- config_name: {table}", *(["  default: true"] if not number else []), "  data_files:"]
        for part in parts:
            head += [f"  - split: {part}", f"    path: {table}/{part}.parquet"]
    text = [*head, "---", "", f"# {title}", ""]
    if info is not None:
        text += [info.description, "", f"Source: <{info.page}>. Licence: {licence}. Please cite:", ""]
        text += [f"- {citation}" for citation in info.citation] + [""]
    colors = ", ".join(f"{number} {COLOR_NAMES[number]}" for number in range(1, 7))
    text.append(
        f"Written by iglu_marl {__version__}. Blocks are lists of [x, y, z, colour id], with x (east) and z (south) in "
        f"-5..5 and y (up) in -1..7, where -1 is the layer on the ground. Colour ids: {colors}."
    )
    for table, columns in (("tasks", TASK_COLUMNS), ("utterances", UTTERANCE_COLUMNS)):
        if table in sizes:
            rows = ", ".join(f"{count:,} {part}" for part, count in sizes[table].items())
            cells = [[Markup(name), kind, Markup(meaning)] for name, (kind, meaning) in columns.items()]
            title = f"{table}: {rows}"
            text += ["", markdown_table(Table(("column", "type", "meaning"), cells, title)).rstrip()]
    if isinstance(source, Dataset):
        text += ["", "## What is left out", "", f"{source.report()}."]
    text += ["", "## Use", "", "```python", "import datasets", ""]
    text += ['tasks = datasets.load_dataset("this/folder", "tasks")', "```", ""]
    return "\n".join(text)


def statistics(source: Sessions) -> dict[str, Any]:
    """Count sessions, structures, tasks, utterances, words, blocks and changes of a corpus, as JSON values.

    Words are runs of letters and digits in lower case. `clear` counts the tasks whose clarity is known.
    `changes` are blocks added, removed and recolored from start to target, summed over the tasks.
    """
    known = labelled(source)
    tasks = [task for _, entry, *_ in known for task in ([entry] if isinstance(entry, Task) else entry)]
    splits = [str(one.labels.get("split") or UNSPLIT) for one in known]
    utterances = utterance_frame(source)
    words = [re.findall(r"[^\W_]+", text.lower()) for text in utterances["text"]]
    builder_texts = utterances["text"][utterances["speaker"] == "builder"]
    edits: Counter[str] = Counter()
    for task in tasks:
        edits.update(changes(task.start_grid, task.target_grid))
    return {
        "entries": len(known),
        "entries_by_split": _counted(splits),
        "structures": len({one.labels.get("structure") for one in known}),
        "tasks": len(tasks),
        "clear": _counted(value for one in known for value in one.clear if value is not None),
        "utterances": len(utterances),
        "utterances_by_speaker": _counted(utterances["speaker"]),
        "builder_questions": sum("?" in text for text in builder_texts),
        "words": sum(map(len, words)),
        "distinct_words": len({word for row in words for word in row}),
        "words_per_utterance": round(sum(map(len, words)) / max(1, len(words)), 2),
        "target_blocks_by_color": count_colors(task.in_ids("iglu").target_grid for task in tasks),
        "changes": {name: edits[name] for name in ("added", "removed", "recolored")},
    }


def _counted(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(Counter(values).items())}
