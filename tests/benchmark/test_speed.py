"""`python -m benchmarks.speed` measures."""

from __future__ import annotations

import json

import pytest

from benchmarks import speed
from benchmarks.speed import time_of
from benchmarks.speed_cases import CASES, BenchCase, Workload
from iglu_marl.core.kernels.records import WORLD


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "QUICK_ROUND_S", 0.001)


def test_figures_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    speed.speed(quick=True, only="vector state: N = 16", as_json=True)
    figures = json.loads(capsys.readouterr().out)
    (row,) = figures["measures"]
    assert row["group"] == "vector state"
    assert len(row["rounds_us"]) == 5
    assert min(row["rounds_us"]) <= row["median_us"] <= max(row["rounds_us"])
    assert row["per_second"] == pytest.approx(1e6 / row["median_us"])
    assert figures["cores"] >= 1


def test_times_are_per_unit_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000))  # each look at the clock is a second later
    monkeypatch.setattr(speed.time, "perf_counter", lambda: next(now))
    calls: list[int] = []
    case = BenchCase("group", "name", lambda: Workload(lambda: calls.append(1), 4))
    figures = time_of(case, 3.0)
    assert len(calls) == 2 + 5 * 3, "three calls fill a round of three seconds"
    assert figures["median_us"] == pytest.approx(1e6 / 3 / 4)


def test_every_case_runs() -> None:
    """Each of the quick ones, and the smallest of every other kind."""
    names = [f"{case.group}: {case.name}" for case in CASES]
    assert len(names) == len(set(names))
    for case in CASES:
        if case.count <= 64:
            prepared = case.prepare()
            assert prepared.units > 0
            prepared.run()


def test_a_world_is_small() -> None:
    assert WORLD.itemsize <= 8192
