"""What all tests of the server share."""

from __future__ import annotations

import pytest

from iglu_marl.web.warming import warm_up


@pytest.fixture(scope="session", autouse=True)
def _compiled() -> None:
    """Games are played against the clock: nothing is to be compiled meanwhile."""
    warm_up()
