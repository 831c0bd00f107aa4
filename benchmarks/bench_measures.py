"""The measures of `iglu-marl bench` under pytest-benchmark: per unit of work, which a measure's name says."""

from __future__ import annotations

from typing import Any

import pytest

from iglu_marl.commands.bench import ROUND_S, ROUNDS, time_of
from iglu_marl.commands.measures import MEASURES, Measure, starts


def report(benchmark: Any, values: list[float], group: str) -> None:
    """Enter seconds measured elsewhere as this benchmark's rounds."""
    benchmark.group = group
    benchmark.pedantic(lambda: None, rounds=len(values))
    benchmark.stats.stats.data = values


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: f"{measure.group}: {measure.name}")
def bench_measure(benchmark: Any, measure: Measure) -> None:
    figures = time_of(measure, ROUND_S)
    report(benchmark, [value * 1e-6 for value in figures["rounds_us"]], measure.group)


def bench_import(benchmark: Any) -> None:
    """A new process, less the start of Python itself."""
    report(benchmark, starts(ROUNDS, compile_too=False)[0].seconds, "start")
