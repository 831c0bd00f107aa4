"""What all tests of the server share."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from iglu_marl.web.warming import warm_up


@pytest.fixture(scope="session", autouse=True)
def _compiled() -> None:
    """Games are played against the clock: nothing is to be compiled meanwhile."""
    warm_up()


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the databases that a test opened."""
    if find_spec("sqlalchemy") is None:  # the one test that says so runs without the extra
        yield
        return
    from iglu_marl.web.store import Store

    opened, open_it = [], Store.__init__

    def opening(store: Store, *arguments: Any) -> None:
        open_it(store, *arguments)
        opened.append(store)

    monkeypatch.setattr(Store, "__init__", opening)
    yield
    for store in opened:
        store.close()
