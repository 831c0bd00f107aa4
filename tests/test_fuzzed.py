"""What fuzzing has found stays mended: each input of `tests/fuzzed/`, and the good ones, through its target."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")

from fuzz_targets import TARGETS, run_target, scratch

CASES = sorted(Path(__file__).with_name("fuzzed").glob("*/*"))


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_MARL_CACHE", str(scratch() / "cache"))
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_good_inputs(name: str) -> None:
    for data in TARGETS[name].seeds():
        run_target(name, data)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_what_broke_something(case: Path) -> None:
    run_target(case.parent.name, case.read_bytes())
