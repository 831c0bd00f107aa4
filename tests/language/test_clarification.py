"""The benchmark of what is left open: its controls, and what the scripted understanding reaches."""

from __future__ import annotations

import numpy as np
import pytest
from underspecified import MISSING, make_case, rates, talk


@pytest.mark.slow
def test_what_is_missing_is_asked_for_and_the_answer_used() -> None:
    rows = rates(36, 3)
    assert set(rows) == {*MISSING, "all"}
    assert rows["all"]["cases"] == 36
    for row in rows.values():
        assert row["asked"] == row["about"] == row["used"] == row["success"] == 1.0
        assert row["needless"] == 0.0
        assert row["whole"] == 1.0
    assert rows["all"]["guess"] < 0.3


@pytest.mark.parametrize("missing", ["color", "referent"])
def test_without_an_answer_nothing_is_built(missing: str) -> None:
    case = make_case(missing, np.random.default_rng(1))
    row = talk(case, case.vague, lambda what: None)
    assert row == {"asked": True, "about": True, "used": False, "success": False, "turns": 2}
