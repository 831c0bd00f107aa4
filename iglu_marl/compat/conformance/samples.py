"""A small data set in the layouts that the tools and this package read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

_DIALOGS = (
    "PartitionKey,StepId,structureId,IsHITQualified,instruction,ClarifyingQuestion,Answer4ClarifyingQuestion"
)
_GAMES = "GameId,InitializedWorldStructureId,InitializedWorldPath,TargetWorldPath,InputInstruction,IsInstructionClear"
_STARTS, _TARGETS = "initial_world_states/builder-data", "target_world_states/builder-data"
_TOWER = [[0, 63 + y, 0, color] for y, color in enumerate((57, 50, 59, 47, 56, 60))]  # all colours


def write_samples(folder: Path) -> None:
    """Write sessions of c73 and c118, and single turns, below a folder, as `IGLU_DATA_PATH` names it."""
    rows: list[list[Any]] = []
    for session in ("10-c118", "2-c118", "1-c73"):
        name = session.partition("-")[2]
        rows += [
            [session, 1, name, True, f"a tower for {session}$$please", "", ""],
            [session, 2, name, True, "", "which colour?", ""],
            [session, 3, name, True, "", "", "blue"],
            [session, 4, name, True, "", "", ""],
            [session, 5, name, True, "now four more", "", ""],
            [session, 6, name, True, "", "", ""],
        ]
        for step, blocks in ((4, _TOWER[:2]), (6, _TOWER)):
            _world(folder / f"data/iglu/builder-data/{session}/step-{step}", blocks)
    _table(folder / "data/iglu/dialogs.csv", _DIALOGS, rows)
    _table(folder / "multi_turn_dialogs.csv", _DIALOGS, [])
    _world(folder / f"{_STARTS}/1-c118/step-2", _TOWER[:1])
    games = []
    for number in (1, 2):
        built, original = f"{_TARGETS}/cq-game-{number}/step-1-c118", f"{_TARGETS}/actionHit/game-{number}"
        original += f"/game-{number}-step-action"
        for name, path in ((f"CQ-game-{number}", built), (f"game-{number}", original)):
            _world(folder / path, _TOWER[: number + 1])
            games.append([name, "c118", f"{_STARTS}/1-c118/step-2", path, f"add {number}", "Yes"])
    _table(folder / "single_turn_instructions.csv", _GAMES, games)
    _table(folder / "clarifying_questions_train.csv", _GAMES, games[::2])


def _world(path: Path, blocks: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"worldEndingState": {"blocks": blocks}}), encoding="utf-8")


def _table(path: Path, header: str, rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header.split(","), *rows])
