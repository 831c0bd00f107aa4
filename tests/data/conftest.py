"""What all tests of data use: no other data of this machine, and the true counts of the shared packs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_packs import cache  # noqa: F401 - a fixture


@pytest.fixture(autouse=True)
def nothing_else(cache: Path) -> None:  # noqa: F811
    """No data but those that a test names, no network, and one cache for all."""


@pytest.fixture
def stats(request: pytest.FixtureRequest, shared: Path) -> dict[str, Any]:
    """The part of stats.json that the module names in `STATS`."""
    return json.loads((shared / "data" / "stats.json").read_text(encoding="utf-8"))[request.module.STATS]
