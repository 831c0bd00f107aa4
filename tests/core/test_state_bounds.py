"""Saved states: every field is taken at its bounds, and refused beyond them, by name."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl import StateError
from iglu_marl.core.kernels.records import WORLD
from iglu_marl.core.state_bounds import BOUNDS, check_state
from iglu_marl.core.worlds import Worlds


def test_every_field_has_bounds() -> None:
    assert WORLD.names is not None
    assert BOUNDS.keys() == {*WORLD.names}


@pytest.mark.parametrize("name", BOUNDS)
def test_fields_are_taken_at_their_bounds_and_refused_beyond(name: str) -> None:
    state = Worlds(2).get_state()
    check_state(state, 2)
    for bound, way in zip(BOUNDS[name], (-1, 1), strict=True):
        edge = np.broadcast_to(bound, state[name][1].shape)
        state[name][1] = edge
        check_state(state, 2)
        kind = state.dtype[name].base
        if kind.kind == "f":
            with np.errstate(over="ignore"):  # to infinity
                beyond = np.nextafter(edge.astype(kind), kind.type(way * np.inf))
        else:
            beyond = edge.astype(np.int64) + way
            if not (np.iinfo(kind).min <= beyond.min() and beyond.max() <= np.iinfo(kind).max):
                continue  # the type has no such value
        for wrong in (beyond, np.nan) if kind.kind == "f" else (beyond,):
            state[name][1] = wrong
            with pytest.raises(StateError, match=rf"state's {name}(\[.*\])? of world 1 is"):
                check_state(state, 2)
        state[name][1] = edge


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("active", 1, 6),
        ("grid", 0, 6),
        ("inventory", 20 - 1089, 20 + 1089),
        ("best", 0, 1089),
        ("slices", 1, 12),
        ("shifts", -10, 10),
        ("terminated", 0, 1),
    ],
)
def test_some_bounds_by_hand(name: str, low: int, high: int) -> None:
    """Six colours, a stock of 20 of each, a zone of 9 * 11 * 11 = 1,089 cells."""
    assert BOUNDS[name] == (low, high)


def test_other_arrays_are_no_states() -> None:
    state = Worlds(2).get_state()
    for wrong in (None, state[:1], state.view(np.uint8), [1]):
        with pytest.raises(StateError, match=r"expected WORLD\[2\]"):
            check_state(wrong, 2)
