"""The benchmark of what people said: its figures are what they are called."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from iglu_marl.core.grid import blocks_to_grid

RED = 6


@pytest.fixture(scope="module")
def benchmark_module(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("human", root / "benchmarks" / "human_instructions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["human"] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    return module


def grid_of(*blocks: tuple[int, int, int, int]) -> np.ndarray:
    return np.array(blocks_to_grid(list(blocks)), dtype=np.int8)


def figures(module: ModuleType, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert module.main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_table_gives_the_share_that_is_understood(
    benchmark_module: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "GameId,InputInstruction,IsInstructionClear\n"
        "1,Destroy all red blocks.,Yes\n"
        "2,Stack three red blocks in the middle of the map.,Yes\n"
        "3,Make it look like a flower.,Yes\n"
        "4,Destroy all red blocks.,No\n"
        "1,Destroy all red blocks.,Yes\n",
        encoding="utf-8",
    )
    found = figures(benchmark_module, capsys, "--data", str(table))
    assert found["summary"]["instructions"] == 3
    assert found["summary"]["understood"] == 2
    assert found["summary"]["results"] == {"parsed": 2, "unknown word": 1}
    assert benchmark_module.main(["--data", str(table), "--examples", "1"]) == 0
    assert "flower" in capsys.readouterr().out


def test_results_are_compared_with_both_people(benchmark_module: ModuleType) -> None:
    start, empty = grid_of((0, -1, 0, RED)), grid_of()
    judge, sample = benchmark_module.judge, benchmark_module.Sample
    rows = [
        judge(sample("a", "Destroy the red block.", start, empty, empty)),
        judge(sample("b", "Destroy the red block.", start, start, empty)),
        judge(sample("c", "Destroy the blue block.", start, empty, empty)),
        judge(sample("d", "Build a flower.", start, empty, empty)),
    ]
    assert [row["result"] for row in rows] == [
        "equal",
        "different",
        "cannot be followed: nothing matches",
        "unknown word",
    ]
    summary = benchmark_module.summary(rows)
    assert (summary["instructions"], summary["understood"]) == (4, 3)
    assert (summary["something_was_built"], summary["followed"], summary["equal_to_the_build"]) == (3, 1, 1)
    assert (
        summary["share_equal_to_the_build"] == summary["share_equal_to_build_or_original"] == round(1 / 3, 4)
    )
    assert summary["share_equal_to_build_or_original_of_followed"] == 1.0
    assert summary["share_in_which_build_and_original_agree"] == 1.0


def test_the_author_s_world_counts_where_the_second_person_built_another(
    benchmark_module: ModuleType,
) -> None:
    start, empty, other = grid_of((0, -1, 0, RED)), grid_of(), grid_of((0, -1, 0, RED), (1, -1, 0, RED))
    row = benchmark_module.judge(benchmark_module.Sample("a", "Destroy the red block.", start, other, empty))
    summary = benchmark_module.summary([row])
    assert (summary["share_equal_to_the_build"], summary["share_equal_to_build_or_original"]) == (0.0, 1.0)
    assert summary["share_in_which_build_and_original_agree"] == 0.0


@pytest.mark.slow
def test_people_are_understood_as_often_as_the_docs_say(
    benchmark_module: ModuleType, capsys: pytest.CaptureFixture[str], shared: Path
) -> None:
    found = figures(benchmark_module, capsys, "--data", str(shared / "data" / "iglu-singleturn.zip"))[
        "summary"
    ]
    assert found["instructions"] == 1416
    assert found["share_understood"] >= 0.65
    assert found["share_equal_to_build_or_original"] >= 0.52
    assert found["share_equal_to_build_or_original_of_followed"] >= 0.95
    assert found["equal_to_the_build"] <= found["results"]["equal"]
