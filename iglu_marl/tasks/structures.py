"""Named structures from files, as tasks without dialogue."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iglu_marl.core.errors import DataError, GridError, TaskError
from iglu_marl.core.files import usable_path
from iglu_marl.core.grid import BlockGrid, blocks_to_grid, color_id
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.core.task import Task
from iglu_marl.core.text import similar
from iglu_marl.data.packs.registry import DATA_PATH_VARIABLE
from iglu_marl.tasks.source import FiniteSource

FILE_LIMIT = 256 * MIB  # bytes
_AXES = ["x", "y", "z", "colour_id"]

_PICKLED = """\
{file} is a pickle, which may run any code: it is not read here. Convert a goals.pkl of IGLU Gridworld that you trust:
python -c "import json, pickle; goals = pickle.load(open('goals.pkl', 'rb')); json.dump({{
'colours': dict(zip('123456', 'blue yellow green orange purple red'.split())), 'structures': {{
name: {{'blocks': [[int(n) for n in block] for block in blocks]}} for name, blocks in goals.items()}}}},
open('goals.json', 'w'))\""""


@dataclass(frozen=True)
class Structure:
    """A structure: its key in the file, its name, and its grid, int8 [9, 11, 11] in this project's ids."""

    key: str
    name: str
    grid: BlockGrid

    def task(self) -> Task:
        """Return the task to build it from an empty world, without dialogue."""
        return Task("", self.grid, task_id=self.key, ids="iglu", structure=self.key)


def _colors(table: Any, path: Path) -> dict[int, int]:
    """Map the file's color ids to this project's, by color name."""
    if not isinstance(table, Mapping) or not table:
        raise DataError(f'{path}: \'colours\' is {table!r:.80}, expected a table such as {{"1": "blue"}}')
    try:
        return {int(number): color_id(name) for number, name in table.items()}
    except (GridError, ValueError) as error:
        raise DataError(f"{path}: the color table is wrong: {error!s:.200}") from None


def _structure(key: str, entry: Any, colors: dict[int, int], lift: int, path: Path) -> Structure:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("blocks"), list):
        raise DataError(f"{path}: structure {key!r} has no list of 'blocks'")
    blocks = []
    for number, row in enumerate(entry["blocks"]):
        whole = isinstance(row, list) and len(row) == 4 and all(type(value) is int for value in row)
        if not whole or row[3] not in colors:
            raise DataError(
                f"{path}: block {number} of structure {key!r} is {row!r:.80}, "
                f"expected four integers with a color id of {sorted(colors)}"
            )
        x, y, z, color = row
        blocks.append((x, y + lift, z, colors[color]))
    try:
        return Structure(key, str(entry.get("name", key)), blocks_to_grid(blocks))
    except GridError as error:
        raise DataError(f"{path}: structure {key!r}: {error}") from None


def load_structures(path: str | os.PathLike[str]) -> dict[str, Structure]:
    """Return the structures of a JSON file, by key, in order.

    | field | content |
    |---|---|
    | `colours` | the file's table of color ids, such as {"1": "blue"} |
    | `block_order` | `["x", "y", "z", "colour_id"]`, the entries of a block; optional |
    | `ground_y` | y of the layer on the ground; default: -1 |
    | `structures` | for each key `blocks` and optionally `name` |

    Raises `DataError` if the file is missing or damaged, or a block is invalid.
    """
    file = usable_path(path, named=False)
    if not file.exists():
        raise DataError(f"{file} does not exist; expected a JSON file of structures")
    if file.suffix == ".pkl":
        raise DataError(_PICKLED.format(file=file))
    with wrap_errors(str(file)):
        return _structures(parse_json(read_file(file, FILE_LIMIT), str(file)), file)


def _structures(content: Any, file: Path) -> dict[str, Structure]:
    """Return the structures of the parsed file."""
    structures = content.get("structures") if isinstance(content, Mapping) else None
    if not isinstance(structures, Mapping) or not structures:
        raise DataError(
            f"{file} has no 'structures', expected an object with one entry per structure; "
            "iglu_marl.data.tasks_from_folder reads files of tasks"
        )
    ground = content.get("ground_y", -1)
    if type(ground) is not int:
        raise DataError(f"{file}: 'ground_y' is {ground!r:.60}, expected an integer")
    colors = _colors(content.get("colours", content.get("colors")), file)
    if content.get("block_order", _AXES) != _AXES:
        raise DataError(f"{file}: 'block_order' is {content['block_order']!r:.80}, expected {_AXES}")
    return {key: _structure(key, entry, colors, -1 - ground, file) for key, entry in structures.items()}


def find_structure_files() -> list[Path]:
    """Return the structure files at `IGLU_DATA_PATH`: the file itself, or `structures*.json` in the folder."""
    place = os.environ.get(DATA_PATH_VARIABLE)
    if not place:
        return []
    path = Path(place).expanduser()
    if path.is_file():
        return [path] if path.suffix == ".json" else []
    return sorted(path.glob("structures*.json"))


class StructureTasks(FiniteSource):
    """The structures of a file as tasks: `StructureTasks("my-structures.json", preset=["C7"])`.

    `source["C7"]` is the task of one structure, `source.structures` has all structures.

    Args:
        path: the file (see `iglu_marl.tasks.structures.load_structures`).
        preset: keys to use (default: all).

    Raises:
        DataError: if the file is wrong.
        TaskError: if it lacks a key.

    """

    def __init__(self, path: str | os.PathLike[str], preset: str | Iterable[str] | None = None) -> None:
        self.path = Path(path)
        everything = load_structures(path)
        keys = list(everything) if preset is None else [preset] if isinstance(preset, str) else list(preset)
        for key in keys:
            if key not in everything:
                raise TaskError(
                    f"{path} has no structure {key!r}{similar(key, everything)}, expected one of "
                    f"{', '.join(everything)}"
                )
        self.structures = {key: everything[key] for key in keys}
        super().__init__(
            [structure.task() for structure in self.structures.values()], f"StructureTasks({str(path)!r})"
        )

    def __getitem__(self, key: int | str) -> Task:
        if isinstance(key, str):
            if key not in self.structures:
                raise TaskError(f"no structure {key!r} here, expected one of {', '.join(self.structures)}")
            return self[list(self.structures).index(key)]
        return super().__getitem__(key)
