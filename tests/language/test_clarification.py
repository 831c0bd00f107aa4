"""The benchmark of what is left open: its controls, and what the scripted understanding reaches."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def clarification(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("clarification", root / "benchmarks" / "clarification.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["clarification"] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_what_is_missing_is_asked_for_and_the_answer_used(
    clarification: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clarification.main(["--count", "36", "--seed", "3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["synthetic"]
    assert set(rows) == {*clarification.MISSING, "all"}
    assert rows["all"]["cases"] == 36
    for row in rows.values():
        assert row["asked"] == row["about"] == row["used"] == row["success"] == 1.0
        assert row["needless"] == 0.0
        assert row["whole"] == 1.0
    assert rows["all"]["guess"] < 0.3


@pytest.mark.parametrize("missing", ["color", "referent"])
def test_without_an_answer_nothing_is_built(clarification: ModuleType, missing: str) -> None:
    case = clarification.make_case(missing, np.random.default_rng(1))
    row = clarification.talk(case, case.vague, lambda what: None)
    assert row == {"asked": True, "about": True, "used": False, "success": False, "turns": 2}


@pytest.mark.slow
def test_unclear_instructions_of_people_are_told_better_than_by_asking_always(
    clarification: ModuleType, capsys: pytest.CaptureFixture[str], shared: Path
) -> None:
    pack = str(shared / "data" / "iglu-singleturn.zip")
    assert clarification.main(["--count", "6", "--data", pack, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["people"]
    assert (found["instructions"], found["unclear"]) == (1638, 187)
    assert found["f1_unclear"] > found["always_ask"]["f1_unclear"] + 0.05
    assert found["recall"] > 0.8
