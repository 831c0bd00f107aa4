"""Do many jobs in threads, for jobs that wait for services, or in processes, for jobs that compute.

Each thread or process has a worker of its own. Results do not depend on where a job is done.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from functools import partial
from itertools import chain, islice
from multiprocessing.util import Finalize
from typing import Any, Generic, TypeVar

from iglu_marl.core.arguments import as_count
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.processes import end_with_parent

MOST_AT_ONCE = 10_000
MOST_PROCESSES = 1024
SHARED_FOLDER = "IGLU_MARL_SPENDING"
"""Environment variable with the folder in which the processes of a job share what they count."""

Job = TypeVar("Job")
Result = TypeVar("Result")
Own = TypeVar("Own")
IsStopped = Callable[[], bool]
MakeWorker = Callable[[IsStopped], Callable[[Job], Result]]
"""Makes the worker of a thread or process: a function of a job, which may have a method `close()`.

The argument is whether another job has ended them all, which a worker with long jobs looks at.
"""


class ThreadPerCall(Executor):
    """Runs each call in a daemon thread of its own, for which nobody waits: calls that wait for a service."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Begin a call, which cannot be canceled."""
        done: Future[Any] = Future()
        done.set_running_or_notify_cancel()
        work = partial(function, *arguments, **options)
        threading.Thread(target=settle, args=(done, work), daemon=True).start()
        return done


def settle(done: Future[Any], work: Callable[[], Any]) -> None:
    """Do a work, and give its result or error to a future."""
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)


def do_jobs(
    make: MakeWorker[Job, Result],
    jobs: Iterable[Job],
    *,
    processes: int = 1,
    concurrency: int = 1,
    in_order: bool = False,
) -> Iterator[tuple[int, Result]]:
    """Yield the number of each job, from 0, with its result, in the order of completion.

    After an error no job begins. Those under way are awaited, their results are yielded, and the error is raised.

    Args:
        make: makes the worker of each thread or process. For processes it must be picklable.
        jobs: the jobs, of which only a few are taken ahead.
        processes: worker processes.
        concurrency: worker threads, in one process.
        in_order: whether to yield the results in the order of the jobs.

    Raises:
        ConfigError: if `processes` or `concurrency` is out of range, or both are above 1.

    """
    as_count("concurrency", concurrency, 1, MOST_AT_ONCE)
    as_count("processes", processes, 1, MOST_PROCESSES)
    if processes > 1 < concurrency:
        raise ConfigError(f"concurrency is {concurrency}, expected 1 in each of {processes} processes")
    jobs = iter(jobs)
    first = list(islice(jobs, processes))  # fewer jobs need fewer processes
    jobs = chain(first, jobs)
    if len(first) < 2:
        yield from _in_threads(make, jobs, concurrency, in_order)
    else:
        yield from _in_processes(make, jobs, len(first), in_order)


def each(work: Callable[[Job], Result]) -> MakeWorker[Job, Result]:
    """Let all threads share a function, for workers with nothing of their own."""
    return partial(_same_worker, work)


def _same_worker(work: Callable[[Job], Result], is_stopped: IsStopped) -> Callable[[Job], Result]:
    return work


def slices(count: int, parts: int) -> list[tuple[int, int]]:
    """Return at most `parts` ranges (first, end) of about the same size that cover 0..count - 1."""
    size = max(1, -(-count // parts))
    return [(first, min(first + size, count)) for first in range(0, count, size)]


class PerThread(Generic[Own]):
    """A value per thread, made at its first use. `made` lists the values of all threads."""

    def __init__(self, make: Callable[[], Own]) -> None:
        self._make = make
        self._own = threading.local()
        self.made: list[Own] = []

    def get(self) -> Own:
        """Return the value of this thread."""
        if not hasattr(self._own, "value"):
            self._own.value = self._make()
            self.made.append(self._own.value)
        value: Own = self._own.value
        return value


def _results(
    pool: Executor,
    work: Callable[[Job], Result],
    jobs: Iterable[Job],
    at_once: int,
    stop: Callable[[], None],
    in_order: bool,
) -> Iterator[tuple[int, Result]]:
    """Yield numbered results of a pool, with at most `at_once` open jobs."""
    numbered, under_way = enumerate(jobs), dict[Future[Result], int]()
    ready: dict[int, Result] = {}
    following, fault = 0, None
    while True:
        while fault is None and len(under_way) + len(ready) < at_once:
            number, job = next(numbered, (-1, None))
            if number < 0:
                break
            under_way[pool.submit(work, job)] = number  # type: ignore[arg-type]
        if not under_way:
            break
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            number, error = under_way.pop(future), future.exception()
            if error is None:
                ready[number] = future.result()
            elif fault is None:
                fault = error
                stop()
        while ready and (not in_order or following in ready):
            number = following if in_order else next(iter(ready))
            yield number, ready.pop(number)
            following += 1
    if fault is not None:
        raise fault


def _in_threads(
    make: MakeWorker[Job, Result], jobs: Iterable[Job], at_once: int, in_order: bool
) -> Iterator[tuple[int, Result]]:
    stopped = threading.Event()
    workers = PerThread(lambda: make(stopped.is_set))
    pool = ThreadPoolExecutor(at_once)
    try:
        if at_once == 1:
            for number, job in enumerate(jobs):
                yield number, workers.get()(job)
        else:
            yield from _results(pool, lambda job: workers.get()(job), jobs, at_once, stopped.set, in_order)
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
        for worker in workers.made:
            getattr(worker, "close", lambda: None)()


def _in_processes(
    make: MakeWorker[Job, Result], jobs: Iterable[Job], processes: int, in_order: bool
) -> Iterator[tuple[int, Result]]:
    context = multiprocessing.get_context("spawn")  # forks inherit locks of threads
    owner, folder, stopped = os.getpid(), tempfile.mkdtemp(), context.Event()
    arguments = (make, stopped.is_set, folder)
    pool = ProcessPoolExecutor(processes, context, initializer=_start_process, initargs=arguments)
    try:
        yield from _results(pool, _do, jobs, 2 * processes, stopped.set, in_order)
    finally:
        if os.getpid() == owner:  # a forked process shares the folder, but not the jobs
            stopped.set()
            pool.shutdown(cancel_futures=True)
            shutil.rmtree(folder, ignore_errors=True)


class _Process:
    """The worker of a process, made for its first job, so that its errors are the job's."""

    make: MakeWorker[Any, Any]
    is_stopped: IsStopped
    worker: Callable[[Any], Any] | None = None


def _start_process(make: MakeWorker[Any, Any], is_stopped: IsStopped, folder: str) -> None:
    end_with_parent()
    os.environ[SHARED_FOLDER] = folder
    _Process.make, _Process.is_stopped = staticmethod(make), staticmethod(is_stopped)


def _do(job: Any) -> Any:
    if _Process.is_stopped():
        raise CancelledError
    if _Process.worker is None:
        worker = _Process.make(_Process.is_stopped)
        Finalize(None, getattr(worker, "close", lambda: None), exitpriority=1)
        _Process.worker = staticmethod(worker)
    return _Process.worker(job)
