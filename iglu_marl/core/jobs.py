"""Do many jobs in threads or in processes, and give their results as they come.

| where | how | for |
|---|---|---|
| `concurrency` threads | each has a worker of its own | jobs that wait for services |
| `processes` | each takes the next job when it is free | jobs that compute |

Results do not depend on where a job is done.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar

from iglu_marl.core.arguments import as_count
from iglu_marl.core.processes import end_with_parent

MOST_AT_ONCE = 10_000
MOST_PROCESSES = 1024
SHARED_FOLDER = "IGLU_MARL_SPENDING"
"""Environment variable with the folder in which the processes of a job share what they count."""
_POLL_S = 0.2

Job = TypeVar("Job")
Result = TypeVar("Result")
Own = TypeVar("Own")
IsStopped = Callable[[], bool]
MakeWorker = Callable[[IsStopped], Callable[[Job], Result]]
"""Makes the worker of a thread: a function of a job, which may have a method `close()`.

The argument is whether another job has ended them all, which a worker with long jobs looks at.
"""


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
        make: makes the worker of each thread. For processes it must be picklable.
        jobs: the jobs, of which only a few are taken ahead.
        processes: worker processes.
        concurrency: jobs at once in each process.
        in_order: whether to yield the results of processes in the order of the jobs.

    Raises:
        ConfigError: if `processes` or `concurrency` is out of range.

    """
    as_count("concurrency", concurrency, 1, MOST_AT_ONCE)
    as_count("processes", processes, 1, MOST_PROCESSES)
    jobs = iter(jobs)
    first = list(islice(jobs, processes))  # fewer jobs need fewer processes
    jobs = chain(first, jobs)
    if len(first) < 2:
        yield from _in_threads(make, jobs, concurrency)
    else:
        yield from _in_processes(make, jobs, len(first), concurrency, in_order)


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


# -------------------------------------------------------------------------------------------------------- threads


def _in_threads(
    make: MakeWorker[Job, Result], jobs: Iterable[Job], at_once: int
) -> Iterator[tuple[int, Result]]:
    stopped = threading.Event()
    workers = PerThread(lambda: make(stopped.is_set))
    try:
        if at_once == 1:
            for number, job in enumerate(jobs):
                yield number, workers.get()(job)
        else:
            yield from _at_once(lambda job: workers.get()(job), jobs, at_once, stopped)
    finally:
        for worker in workers.made:
            getattr(worker, "close", lambda: None)()


def _at_once(
    work: Callable[[Job], Result], jobs: Iterable[Job], at_once: int, stopped: threading.Event
) -> Iterator[tuple[int, Result]]:
    under_way: dict[Future[Result], int] = {}
    with ThreadPoolExecutor(at_once) as pool:

        def finished() -> Iterator[tuple[int, Result]]:
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            errors_last = sorted(done, key=lambda future: future.exception() is not None)
            yield from ((under_way.pop(future), future.result()) for future in errors_last)

        try:
            for number, job in enumerate(jobs):
                under_way[pool.submit(work, job)] = number
                while len(under_way) >= at_once:
                    yield from finished()
            while under_way:
                yield from finished()
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise


# ------------------------------------------------------------------------------------------------------ processes


class _Shared(NamedTuple):
    """What the processes share. jobs: queue of numbered jobs, None at the end. results: a pipe with a lock."""

    make: MakeWorker[Any, Any]
    jobs: Any
    results: Any
    lock: Any
    stopped: Any
    folder: str


_shared: _Shared | None = None  # of a process of the pool


class _Sending:
    """A worker that sends its results, numbered as the jobs."""

    def __init__(self, shared: _Shared, is_stopped: IsStopped) -> None:
        self._shared, self._worker = shared, shared.make(is_stopped)

    def __call__(self, numbered: tuple[int, Any]) -> None:
        number, job = numbered
        result = self._worker(job)
        with self._shared.lock:
            self._shared.results.send((number, result))

    def close(self) -> None:
        getattr(self._worker, "close", lambda: None)()


def _start_process(shared: _Shared) -> None:
    global _shared
    end_with_parent()
    os.environ[SHARED_FOLDER] = shared.folder
    _shared = shared


def _serve(at_once: int) -> None:
    """Do jobs in a process until none is left."""
    shared = _shared
    assert shared is not None

    def left() -> Iterator[tuple[int, Any]]:
        while (numbered := shared.jobs.get()) is not None and not shared.stopped.is_set():
            yield numbered

    for _ in _in_threads(lambda is_stopped: _Sending(shared, is_stopped), left(), at_once):
        pass


def _in_processes(
    make: MakeWorker[Job, Result], jobs: Iterable[Job], processes: int, at_once: int, in_order: bool
) -> Iterator[tuple[int, Result]]:
    context = multiprocessing.get_context("spawn")  # forks inherit locks of threads
    receiving, sending = context.Pipe(duplex=False)
    owner, folder = os.getpid(), tempfile.mkdtemp()
    shared = _Shared(make, context.Queue(), sending, context.Lock(), context.Event(), folder)
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_start_process, initargs=(shared,))
    serving = [pool.submit(_serve, at_once) for _ in range(processes)]
    sending.close()  # so that the pipe ends with the processes
    open_jobs: dict[int, None] = {}  # numbers of jobs whose result was not yielded
    results: dict[int, Result] = {}

    def yielded(most_open: int) -> Iterator[tuple[int, Result]]:
        """Yield results until no more than `most_open` jobs are open."""
        while len(open_jobs) > most_open:
            if any(future.done() and future.exception() is not None for future in serving):
                raise _Ended
            if not receiving.poll(_POLL_S):
                continue
            number, result = receiving.recv()
            results[number] = result
            for number in list(open_jobs if in_order else results):
                if number not in results:
                    break
                del open_jobs[number]
                yield number, results.pop(number)

    def end() -> Iterator[tuple[int, Result]]:
        """Stop the processes, and yield the results of the jobs that were under way."""
        shared.stopped.set()
        for _ in serving:
            shared.jobs.put(None)
        while not all(future.done() for future in serving) or receiving.poll():
            try:
                if receiving.poll(_POLL_S):
                    yield receiving.recv()
            except EOFError:  # all processes were killed
                break

    try:
        for number, job in enumerate(jobs):
            open_jobs[number] = None
            shared.jobs.put((number, job))
            yield from yielded((at_once + 1) * processes - 1)
        for _ in serving:
            shared.jobs.put(None)
        yield from yielded(0)
    except (_Ended, EOFError, KeyboardInterrupt):
        yield from results.items()
        yield from end()
        for future in serving:
            future.result()
        raise
    finally:
        if os.getpid() == owner:  # a forked process shares the queues and the folder, but not the jobs
            for _ in end():
                pass
            pool.shutdown(cancel_futures=True)
            shared.jobs.close()
            shared.jobs.cancel_join_thread()  # nobody takes what is left
            receiving.close()
            shutil.rmtree(folder, ignore_errors=True)


class _Ended(Exception):
    """A process ended with an error."""
