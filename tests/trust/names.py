"""Calls of all exported names (`tests/called_names.py`). The amount is seconds of CPU time."""

from __future__ import annotations

from called_names import call_names
from trust.driver import Figures, expect, main

QUICK, FULL = 20, 300


def drive(amount: int, seed: int) -> Figures:
    """Call all names in turn for `amount` seconds."""
    figures: Figures = {}
    faults = call_names(amount, seed, figures)
    expect(figures["names"] > 200, f"only {figures['names']} names are exported")
    expect(not faults, f"{len(faults)} faults, the first of each place: {faults}")
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
