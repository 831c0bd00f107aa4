"""Pieces of work that wait for something outside, many of them under way at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Own = TypeVar("Own")


def in_flight(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    at_once: int,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Item, Result]]:
    """Each item and what comes of it, in the order in which they are done; so many are worked on at once, in threads.

    The items are taken from their iterator in this thread, when there is room. The first error ends it: `stop` is
    called, what is under way is waited for, and what was done is given out before the error is raised.
    """
    if at_once == 1:
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
    """Something that each thread has for itself, made when it first asks. `made` has those of all threads."""

    def __init__(self, make: Callable[[], Own]) -> None:
        self._make = make
        self._own = threading.local()
        self.made: list[Own] = []

    def get(self) -> Own:
        """That of this thread."""
        if not hasattr(self._own, "value"):
            self._own.value = self._make()
            self.made.append(self._own.value)
        value: Own = self._own.value
        return value
