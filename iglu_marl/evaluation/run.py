"""One driver of evaluations: jobs become rows, which a log keeps; a job whose row is there is not done again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar

from iglu_marl.core.errors import ServiceError, ServiceRefusedError
from iglu_marl.core.jobs import MakeWorker, do_jobs
from iglu_marl.evaluation.log import RowLog

Job = TypeVar("Job")
Row = TypeVar("Row")


def run(
    make: MakeWorker[Job, Row],
    jobs: Iterable[Job],
    log: RowLog[Row],
    *,
    job_id: Callable[[Job], Hashable],
    row_id: Callable[[Row], Hashable],
    is_done: Callable[[Job, Row], bool],
    on_done: Callable[[], None] = lambda: None,
    **where: Any,
) -> list[Row]:
    """Do the jobs that have no row in the log, add their rows to it, and close it. Return the rows of all jobs.

    Args:
        make: see `core.jobs.do_jobs`.
        jobs: the jobs.
        log: the log, which may have rows.
        job_id: identifies a job.
        row_id: the same of a row.
        is_done: whether the row of a job stays; otherwise the job is done again, and its later row counts.
        on_done: called for each job.
        where: `processes` and `concurrency` of `do_jobs`.

    """
    known = {row_id(row): row for row in log.rows}
    rows: dict[int, Row] = {}
    missing: list[int] = []

    def left() -> Iterator[Job]:
        for number, job in enumerate(jobs):
            row = known.get(job_id(job))
            if row is not None and is_done(job, row):
                rows[number] = row
                on_done()
            else:
                missing.append(number)
                yield job

    try:
        for number, row in do_jobs(make, left(), **where):
            rows[missing[number]] = row
            log.add(row)
            on_done()
    finally:
        log.close()
    return [row for _, row in sorted(rows.items(), key=lambda entry: entry[0])]


class Stopped(Exception):
    """A job was cancelled because another one ended the run."""


def row_error(fault: Exception, on_error: str) -> tuple[str, bool]:
    """Return the text of an error for a row, and whether the row counts in averages; or raise what ends the run.

    A row whose service failed does not count. on_error: "raise" other errors, or "count" them.
    """
    failed = isinstance(fault, ServiceError)
    if isinstance(fault, (ServiceRefusedError, Stopped)) or (on_error == "raise" and not failed):
        raise fault
    return f"{type(fault).__name__}: {fault}"[:300], not failed
