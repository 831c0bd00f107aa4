"""Both packs of IGLU data, made small, where `IGLU_DATA_PATH` leads to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_packs import (
    GAME_COLUMNS,
    cache,  # noqa: F401 - a fixture
    game,
    rebuilt_file,
    start_file,
    table,
    tower,
    world,
    write_folder,
)

SESSIONS = """PartitionKey,StepId,structureId,IsHITQualified,instruction,ClarifyingQuestion,Answer4ClarifyingQuestion
1-c73,1,c73,True,put a red block,,
1-c73,2,c73,True,,where?,
1-c73,3,c73,True,,,in the middle
1-c73,4,c73,True,,,
1-c73,5,c73,True,one more on top,,
1-c73,6,c73,True,,,
2-c118,1,c118,True,build three,,
2-c118,2,c118,True,,,
"""
STRUCTURES = {
    "colours": {"1": "blue"},
    "structures": {f"C{number}": {"blocks": [[0, -1, number, 1]]} for number in (1, 2, 3)},
}


@pytest.fixture
def packs(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Both packs under their upstream names, and three structures, in the folder that IGLU_DATA_PATH names."""
    heights = {("1-c73", 4): 1, ("1-c73", 6): 2, ("2-c118", 2): 3}
    steps = {f"builder-data/{name}/step-{step}": world(*tower(n)) for (name, step), n in heights.items()}
    write_folder(tmp_path / "multiturn", {"dialogs.csv": SESSIONS.encode(), **steps})
    single = {
        "clarifying_questions_train.csv": table(GAME_COLUMNS, [game(1), game(2)]),
        start_file("1-c7/step-2"): world(*tower(1)),
        rebuilt_file(1): world(*tower(2)),
        rebuilt_file(2): world(*tower(3)),
    }
    write_folder(tmp_path / "singleturn", single)
    (tmp_path / "structures.json").write_text(json.dumps(STRUCTURES), encoding="utf-8")
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path))
