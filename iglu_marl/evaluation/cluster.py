"""Work on a Ray cluster: parts of a job as tasks, each with one result, also where machines are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from iglu_marl.core.extras import extra

Part = TypeVar("Part")
Result = TypeVar("Result")

LOCAL = "local"


def on_ray(
    address: str, work: Callable[[Any, Part], Result], job: Any, parts: Sequence[Part]
) -> Iterator[tuple[int, Result]]:
    """Yield the number of each part with `work(job, part)`, in the order of completion. Needs Ray.

    Ray starts a part again if its machine is lost, so that `work` must give the same result again.

    Args:
        address: "auto" or the address of a running cluster, on whose machines this package is installed; "local"
            starts one on this machine. A connection that exists already is used.
        work: a function.
        job: its first argument, which is sent once.
        parts: its second arguments.

    """
    with extra("rllib"):
        import ray
    own = not ray.is_initialized()
    if own:
        ray.init(address, include_dashboard=False if address == LOCAL else None, log_to_driver=False)
    try:
        task = ray.remote(max_retries=-1)(work)
        shared = ray.put(job)
        waiting = {task.remote(shared, part): number for number, part in enumerate(parts)}
        while waiting:
            (done, *_), _ = ray.wait(list(waiting), num_returns=1)
            yield waiting.pop(done), ray.get(done)
    finally:
        if own:
            ray.shutdown()


def slices(count: int, parts: int) -> list[tuple[int, int]]:
    """Return at most `parts` ranges (first, end) of about the same size that cover 0..count - 1."""
    size = -(-count // max(1, min(parts, count)))
    return [(first, min(first + size, count)) for first in range(0, count, size)]
