"""Concurrent work in threads, for jobs that wait for services."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from iglu_marl.core.arguments import as_count

MOST_AT_ONCE = 10_000
Item = TypeVar("Item")
Result = TypeVar("Result")
Own = TypeVar("Own")


def in_flight(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    at_once: int,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with its result, in the order of completion, with up to `at_once` in progress.

    Items are taken from their iterator in the calling thread. After the first error, `stop` is called, running work is
    awaited, its results are yielded, and the error is raised. Raises `ConfigError` for another `at_once` than 1..10000.
    """
    if as_count("concurrency", at_once, 1, MOST_AT_ONCE) == 1:
        for item in items:
            yield item, work(item)
        return
    under_way: dict[Future[Result], Item] = {}
    with ThreadPoolExecutor(at_once) as pool:

        def finished() -> Iterator[tuple[Item, Result]]:
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            in_order = sorted(done, key=lambda future: future.exception() is not None)  # errors last
            yield from ((under_way.pop(future), future.result()) for future in in_order)

        try:
            for item in items:
                under_way[pool.submit(work, item)] = item
                while len(under_way) >= at_once:
                    yield from finished()
            while under_way:
                yield from finished()
        except BaseException:
            stop()
            pool.shutdown(cancel_futures=True)
            raise


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
