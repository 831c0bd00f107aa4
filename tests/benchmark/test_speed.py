"""`python -m benchmarks.speed` measures and prints, and `docs/assets/speed.py` draws."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from requirements import ROOT

from benchmarks import speed
from benchmarks.speed import show, time_of
from benchmarks.speed_cases import CASES, COUNTS, BenchCase, Workload
from iglu_marl import ConfigError
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
    assert figures["machine"]["cores"] >= 1


def test_figures_as_a_table() -> None:
    words = [sys.executable, "-m", "benchmarks.speed", "--quick", "--only", "score"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert "maximal_intersection from" in done.stdout


def test_times_are_per_unit_of_work() -> None:
    now = iter(range(1000))  # each look at the clock is a second later

    class Clock:
        perf_counter = process_time = staticmethod(lambda: next(now))

    calls = []
    case = BenchCase("group", "name", lambda: Workload(lambda: calls.append(1), 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speed, "time", Clock)
        figures = time_of(case, 3.0)
    assert len(calls) == 2 + 5 * 3, "three calls fill a round of three seconds"
    assert figures["median_us"] == pytest.approx(2 * 1e6 / 3 / 4)  # two looks at the other clock in between


def test_every_case_runs() -> None:
    """Each of the quick ones, and the smallest of every other kind."""
    names = [f"{case.group}: {case.name}" for case in CASES]
    assert len(names) == len(set(names))
    for case in CASES:
        if case.count <= 64:
            prepared = case.prepare()
            assert prepared.units > 0
            prepared.run()


@pytest.mark.parametrize(("quick", "expected"), [(True, (1, False)), (False, (speed.ROUNDS, True))])
def test_new_processes_are_timed_as_often_as_the_rest(
    quick: bool, expected: tuple[int, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once and without the compilation, or in all rounds and with it."""
    given = []
    monkeypatch.setattr("benchmarks.speed_cases.starts", lambda *args: given.append(args) or [])
    figures = speed.measure_all(quick, speed.START, speed.Console())
    assert given == [expected]
    assert figures["measures"] == figures["start"] == []


def test_a_busy_machine_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    measure = {
        "group": "g",
        "name": "n",
        "median_us": 5.0,
        "processor_us": 2.0,
        "per_second": 2e5,
    }
    figures: dict[str, Any] = {"machine": speed.machine(), "measures": [measure], "start": []}
    show(figures, speed.Console(width=100))
    assert "The machine is busy" in capsys.readouterr().out
    measure.update(median_us=3.0, processor_us=3.0)
    show(figures, speed.Console(width=100))
    assert "busy" not in capsys.readouterr().out


def test_the_plot() -> None:
    figures = {
        "measures": [
            {"group": "vector state", "name": f"N = {n:,}", "worlds": n, "per_second": 1e5 * n**0.4}
            for n in COUNTS
        ]
    }
    draw_plot = runpy.run_path(str(ROOT / "docs" / "assets" / "speed.py"))["draw_plot"]
    circles = ET.fromstring(draw_plot(figures)).findall("{http://www.w3.org/2000/svg}circle")
    heights = [float(circle.get("cy", "nan")) for circle in circles]
    assert len(circles) == len(COUNTS)
    assert heights == sorted(heights, reverse=True), "faster is higher"


def test_wrong_options_are_named() -> None:
    with pytest.raises(ConfigError, match="--only is 'lunch'"):
        speed.speed(only="lunch")


def test_a_world_is_small() -> None:
    assert WORLD.itemsize <= 8192
