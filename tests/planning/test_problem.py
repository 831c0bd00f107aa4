"""What can be asked of a planner, and what the errors say of the rest."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl.core.errors import PlanningError
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning import plan

BAD = {
    "outside": ([(6, -1, 0, 1)], r"edits\[0\] at \(6, -1, 0\) lies outside the build zone"),
    "colour": ([(0, -1, 0, 1), (1, -1, 0, 7)], r"edits\[1\] at \(1, -1, 0\) has color id 7, expected 0..6"),
    "fraction": ([(0, -1, 0.5, 1)], r"edits\[0\] is .* expected four integers"),
    "short": ([(0, -1, 1)], r"edits\[0\] is \(0, -1, 1\), expected four integers"),
    "no list": (7, r"edits is 7, expected a list"),
    "twice": ([(0, -1, 0, 1), (0, -1, 0, 2)], r"edits\[1\] asks for a second color at \(0, -1, 0\)"),
    "shape": (np.zeros((9, 11, 10), int), r"target has shape \(9, 11, 10\), expected \(9, 11, 11\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_edits(name: str) -> None:
    edits, message = BAD[name]
    with pytest.raises(PlanningError, match=message):
        plan(Worlds(1), edits)


def test_controls_that_cannot_be_planned() -> None:
    with pytest.raises(PlanningError, match="controls is 'swimming', expected one of walking, flying"):
        plan(Worlds(1), [], "swimming")  # type: ignore[arg-type]
