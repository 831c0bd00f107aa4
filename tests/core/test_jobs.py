"""Jobs in threads and processes: every result once, errors as they are, nothing lost and nothing left waiting."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from iglu_marl import ConfigError
from iglu_marl.core.jobs import SHARED_FOLDER, do_jobs, each, slices


def squared(number: int) -> int:
    time.sleep(0.01 * (number % 3))
    return number**2


def unlucky(number: int) -> int:
    if number == 5:
        raise ArithmeticError("five")
    time.sleep(0.2)
    return number


def killed(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class Noting:
    """A worker that writes what it does to a file of its own."""

    def __init__(self, folder: Path, is_stopped: Callable[[], bool]) -> None:
        self.path = folder / f"{os.getpid()}-{threading.get_ident()}"
        self.path.write_text("made ")

    def __call__(self, number: int) -> str:
        time.sleep(0.05)
        return os.environ.get(SHARED_FOLDER, "")

    def close(self) -> None:
        self.path.write_text(self.path.read_text() + "closed")


WHERE = [{}, {"concurrency": 3}, {"processes": 2}]
IDS = ["one", "threads", "processes"]


@pytest.mark.parametrize("where", WHERE, ids=IDS)
def test_every_job_has_its_result(where: dict[str, int]) -> None:
    assert sorted(do_jobs(each(squared), range(20), **where)) == [(n, n**2) for n in range(20)]
    assert list(do_jobs(each(squared), iter([]), **where)) == []


def test_results_of_processes_come_in_order_if_asked() -> None:
    found = list(do_jobs(each(squared), range(20), processes=2, in_order=True))
    assert found == [(n, n**2) for n in range(20)]


@pytest.mark.parametrize("where", WHERE, ids=IDS)
def test_an_error_is_raised_after_the_results_under_way_and_no_job_begins(where: dict[str, int]) -> None:
    found, begun = [], []

    def jobs() -> Iterator[int]:
        for number in range(100):
            begun.append(number)
            yield number

    def received() -> None:
        for result in do_jobs(each(unlucky), jobs(), **where):
            found.append(result)

    with pytest.raises(ArithmeticError, match="five"):
        received()
    assert found
    assert all(number == result != 5 for number, result in found)
    assert len(begun) < 20


@pytest.mark.parametrize("where", WHERE, ids=IDS)
def test_a_worker_is_made_and_closed_in_each_thread(where: dict[str, int], tmp_path: Path) -> None:
    folders = {result for _, result in do_jobs(functools.partial(Noting, tmp_path), range(12), **where)}
    workers = [path.read_text() for path in tmp_path.iterdir()]
    assert set(workers) == {"made closed"}
    assert len(workers) <= max(where.values(), default=1)
    assert len(folders) == 1  # one of all processes, and none without them
    assert bool(folders.pop()) == ("processes" in where)


def test_a_killed_process_is_an_error() -> None:
    with pytest.raises(BrokenProcessPool):
        list(do_jobs(each(killed), range(20), processes=2))


def test_jobs_that_nobody_waits_for_end() -> None:
    for _ in do_jobs(each(squared), iter(range(1000)), processes=2):
        break


@pytest.mark.parametrize(
    "wrong",
    [{"concurrency": 0}, {"processes": 0}, {"concurrency": 10**6}, {"processes": 2, "concurrency": 2}],
)
def test_wrong_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        list(do_jobs(each(squared), range(3), **wrong))


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000])
def test_slices_cover_all(count: int) -> None:
    ends = slices(count, 64)
    assert len(ends) <= 64
    assert [number for first, end in ends for number in range(first, end)] == list(range(count))
