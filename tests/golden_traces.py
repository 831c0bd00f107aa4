"""Reading recorded traces of the peer environment, and what they should be replayed by."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from requirements import ROOT

OWN = ROOT / "tests" / "golden"
CONTROLS = {"walking_discrete": "walking", "walking_dict": "human-level", "flying": "flying"}
KEYS = ("forward", "back", "left", "right", "jump", "attack", "use")
# These leave the spaces on purpose (huge actions or starting poses), so they are replayed through `Worlds`.
OUT_OF_RANGE = (
    "s103_fly_build",
    "075_walking_dict_sap_mix_scatter",
    "s092_long_fall",
    "s093_fall_outside_zone",
)


class Trace(NamedTuple):
    """A recorded episode: its settings, columns, actions in our encodings, and the grid after every step."""

    meta: dict[str, Any]
    columns: dict[str, np.ndarray]
    actions: list[Any]

    def grids(self) -> list[np.ndarray]:
        """The dense grid (2022 ids) in row 0 .. T."""
        grid = dense(self.columns["start_blocks"])
        changes = {int(row[0]): row for row in self.columns["changes"]}
        rows = [grid]
        for step in range(len(self.actions)):
            if step in changes:
                _, x, y, z, old, new = changes[step]
                grid = grid.copy()
                assert grid[y + 1, x + 5, z + 5] == old
                grid[y + 1, x + 5, z + 5] = new
            rows.append(grid)
        return rows


def dense(blocks: np.ndarray) -> np.ndarray:
    """A dense grid of recorded blocks, ids untouched."""
    grid = np.zeros((9, 11, 11), np.int8)
    for x, y, z, color in blocks:
        grid[y + 1, x + 5, z + 5] = color
    return grid


def _actions(kind: str, columns: dict[str, np.ndarray]) -> list[Any]:
    steps = range(len(columns["done"]))
    if kind == "walking_discrete":
        return [int(action) for action in columns["action"]]
    camera, hotbar = columns["camera"], columns["hotbar"]
    if kind == "walking_dict":
        buttons = columns["buttons"]
        return [
            dict(zip(KEYS, map(int, buttons[t]), strict=True), camera=camera[t], hotbar=int(hotbar[t]))
            for t in steps
        ]
    movement, placement = columns["movement"], columns["placement"]
    return [
        {
            "movement": movement[t],
            "camera": camera[t],
            "inventory": int(hotbar[t]),
            "placement": int(placement[t]),
        }
        for t in steps
    ]


@lru_cache(maxsize=4)
def load(path: Path) -> Trace:
    """Read one trace file."""
    with np.load(path) as file:
        columns = dict(file)
    meta = json.loads(str(columns.pop("meta")))
    return Trace(meta, columns, _actions(meta["action_space"], columns))


def names(folder: Path) -> list[str]:
    """All traces of a folder, in order."""
    return sorted(path.stem for path in folder.glob("*.npz"))
