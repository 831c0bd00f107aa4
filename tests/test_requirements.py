"""The helper that decides between skipped and failed must itself be able to do both."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest
from requirements import ROOT, require, shared_folder


def test_a_met_requirement_lets_the_test_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_MARL_REQUIRE", "opengl")
    require("opengl", True, "never said")


@pytest.mark.parametrize("value", [None, "", "shared,packaging"])
def test_an_unmet_requirement_skips(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("IGLU_MARL_REQUIRE", raising=False)
    if value is not None:
        monkeypatch.setenv("IGLU_MARL_REQUIRE", value)
    with pytest.raises(pytest.skip.Exception, match="opengl: no context"):
        require("opengl", None, "no context")


@pytest.mark.parametrize("value", ["opengl", "shared, opengl"])
def test_an_unmet_requirement_that_is_demanded_fails(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("IGLU_MARL_REQUIRE", value)
    with pytest.raises(pytest.fail.Exception, match="no context"):
        require("opengl", False, "no context")


def test_the_shared_folder_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IGLU_MARL_SHARED", str(tmp_path))
    monkeypatch.setenv("IGLU_MARL_REQUIRE", "shared")
    with pytest.raises(pytest.fail.Exception, match="golden"):
        shared_folder()
    (tmp_path / "golden").mkdir()
    assert shared_folder() == tmp_path


def test_golden_traces_are_looked_for_there_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "golden" / "traces").mkdir(parents=True)
    (tmp_path / "golden" / "traces" / "made.npz").touch()
    monkeypatch.setenv("IGLU_MARL_SHARED", str(tmp_path))
    module = runpy.run_path(str(ROOT / "tests" / "core" / "test_golden_traces.py"))
    assert module["SHARED_NAMES"] == ["made"]


def test_one_place_knows_where_the_shared_folder_is() -> None:
    """Nothing else builds a path from the name of the folder beside the repository."""
    for path in (
        path for folder in ("tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                part = node.right
                named = isinstance(part, ast.Constant) and str(part.value).split("/")[0] == "shared"
                assert not named or path.name == "requirements.py", f"{path.relative_to(ROOT)}:{node.lineno}"
