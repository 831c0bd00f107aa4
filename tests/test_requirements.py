"""The helper that decides between skipped and failed must itself be able to do both."""

from __future__ import annotations

from pathlib import Path

import pytest
from requirements import require, shared_folder


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
