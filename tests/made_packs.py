"""Small packs of data made for tests, in the layouts of the IGLU releases, and where the shared ones are read to."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iglu_marl.core.grid import BlockGrid, color_id, grid_to_blocks
from iglu_marl.data.iglu.action_log import ActionLog, Broke, Placed
from iglu_marl.data.iglu.world_files import VoxelWorld

# The voxel engine's ids of the colours: as inherited from the start world, and as placed by the annotator.
FIRST = {"blue": 57, "yellow": 50, "green": 59, "orange": 47, "purple": 56, "red": 60}
SECOND = {"blue": 86, "yellow": 87, "green": 88, "orange": 89, "purple": 90, "red": 91}
# The ids of stats.json, by name.
STATS_NAMES = {1: "blue", 2: "green", 3: "red", 4: "orange", 5: "purple", 6: "yellow"}

GAME_COLUMNS = (
    "GameId,ClarifyingQuestion,InitializedWorldPath,InputInstruction,IsInstructionClear,Partition,qrel,qbank"
)
DIALOG_COLUMNS = (
    "PartitionKey,RowKey,StepId,structureId,attemptId,Role,IsHITQualified,WorkerId,Timestamp,instruction,views,"
    "IsBuiltStructureComplete,InputInstruction,InputViews,InputScreenshotPath,IsInstructionClear,"
    "ClarifyingQuestion,InputClarifyingQuestion,IsClarifyingQuestionClear,Answer4ClarifyingQuestion,"
    "InputAnswer4ClarifyingQuestion,IsInstructionQAClear"
)


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One folder for what has been read, for all tests of a run; no other place is looked at."""
    folder = tmp_path_factory.getbasetemp() / "datasets-cache"
    monkeypatch.setenv("IGLU_MARL_CACHE", str(folder))
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    return folder


def world(*blocks: tuple[int, int, int, str], ids: Mapping[str, int] = FIRST, **more: Any) -> bytes:
    """A world file with blocks (x, y, z, colour name) in our coordinates."""
    entries = [[x, y + 64, z, ids[color]] for x, y, z, color in blocks]
    content = {
        "gameId": 19,
        "stepId": 1,
        "avatarInfo": {"pos": [0, 63, 1.5], "look": [-0.5, 1]},
        "worldEndingState": {"blocks": entries},
        "tape": "",
        "clarification_question": "null",
    }
    return json.dumps({**content, **more}).encode()


def tower(height: int, color: str = "red") -> tuple[tuple[int, int, int, str], ...]:
    return tuple((0, level - 1, 0, color) for level in range(height))


def table(columns: str, rows: Iterable[Mapping[str, Any]]) -> bytes:
    """CSV with those columns; rows give some of them."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns.split(","), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def game(number: int | str, start: str = "1-c7/step-2", clear: str = "Yes", **more: str) -> dict[str, str]:
    return {
        "GameId": f"CQ-game-{number}",
        "InitializedWorldPath": f"initial_world_states/builder-data/{start}",
        "InputInstruction": f"instruction {number}",
        "IsInstructionClear": clear,
        "Partition": "train",
        **more,
    }


def start_file(start: str) -> str:
    return f"initial_world_states/builder-data/{start}"


def rebuilt_file(number: int | str, session: str = "1-c7") -> str:
    return f"target_world_states/builder-data/cq-game-{number}/step-{session}"


def original_file(number: int | str) -> str:
    return f"target_world_states/builder-data/actionHit/game-{number}/game-{number}-step-action"


def step_file(session: str, step: int) -> str:
    return f"builder-data/{session}/step-{step}"


def mdc_state(said: list[str], *blocks: tuple[str, int, int, int]) -> dict[str, Any]:
    """A state of the Minecraft Dialogue Corpus; coordinates are the corpus's, with the floor's layer at 1."""
    return {
        "Timestamp": "2018-03-30 18:35:07",
        "ChatHistory": said,
        "BlocksInGrid": [
            {"AbsoluteCoordinates": {"X": x, "Y": y, "Z": z}, "Type": f"cwc_minecraft_{color}_rn"}
            for color, x, y, z in blocks
        ],
        "BuilderPosition": {"X": 0, "Y": 1, "Z": 2, "Yaw": 3, "Pitch": 4},
        "BuilderInventory": [{"Type": "cwc_minecraft_red_rn", "Quantity": 19}],
        "ScreenshotPath": "1.png",
    }


def write_zip(path: Path, files: Mapping[str, bytes], method: int = zipfile.ZIP_LZMA) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def write_folder(path: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return path


def blocks_by_color(grids: Iterable[BlockGrid]) -> dict[str, int]:
    """Number of blocks of each colour, by name."""
    counts = sum((np.bincount(grid.ravel(), minlength=7) for grid in grids), np.zeros(7, dtype=int))
    return {name: int(counts[color_id(name)]) for name in STATS_NAMES.values()}


def stats_blocks(listed: Sequence[Sequence[int]]) -> list[tuple[int, int, int, int]]:
    """Blocks of stats.json in our ids, translated by name."""
    return sorted((x, y, z, color_id(STATS_NAMES[color])) for x, y, z, color in listed)


def our_blocks(grid: BlockGrid) -> list[tuple[int, int, int, int]]:
    return grid_to_blocks(grid)


def world_by_actions(log: ActionLog) -> VoxelWorld:
    """Return the world that the placements and removals give, without the recorded changes of cells."""
    world: VoxelWorld = {}
    for event in log.events:
        if isinstance(event, Placed):
            world[event.cell] = event.voxel
        elif isinstance(event, Broke):
            world.pop(event.cell, None)
    return world


def first_hit(is_solid: Callable[[Any], bool], start: Any, view: Any, reach: float = 30) -> tuple[Any, Any]:
    """Return the first solid cell along a line of sight, in steps of a hundredth, and the cell before it.

    A cell (x, y, z) fills [x, x + 1). None: there is no such cell.
    """
    before = None
    for distance in np.arange(0, reach, 0.01):
        cell = tuple(int(value) for value in np.floor(np.asarray(start) + np.asarray(view) * distance))
        if cell != before:
            if is_solid(cell):
                return cell, before
            before = cell
    return None, None
