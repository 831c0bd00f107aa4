"""The cases of `iglu-marl bench` under pytest-benchmark: per unit of work, which a case's name says."""

from __future__ import annotations

from typing import Any

import pytest

from iglu_marl.commands.bench import ROUND_S, ROUNDS, time_of
from iglu_marl.commands.bench_cases import CASES, BenchCase, starts


def report(benchmark: Any, values: list[float], group: str) -> None:
    """Enter seconds measured elsewhere as the rounds of this benchmark."""
    benchmark.group = group
    benchmark.pedantic(lambda: None, rounds=len(values))
    benchmark.stats.stats.data = values


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.group}: {case.name}")
def bench_case(benchmark: Any, case: BenchCase) -> None:
    figures = time_of(case, ROUND_S)
    report(benchmark, [value * 1e-6 for value in figures["rounds_us"]], case.group)


def bench_import(benchmark: Any) -> None:
    """Start of a new process, without the start of Python itself."""
    report(benchmark, starts(ROUNDS, compile_too=False)[0].seconds, "start")
