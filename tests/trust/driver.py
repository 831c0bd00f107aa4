"""Shared by the drivers: the error for a violated guarantee, and the command line."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

Figures = dict[str, Any]


class Broken(AssertionError):
    """A violated guarantee of the package; the message has the reproduction."""


def expect(holds: object, *said: object) -> None:
    """Raise `Broken` unless `holds`."""
    if not holds:
        raise Broken(" ".join(map(str, said)))


_shown_at = time.monotonic()


def show_progress(figures: Mapping[str, Any]) -> None:
    """Print the figures to stderr, three times a minute at most."""
    global _shown_at
    if time.monotonic() > _shown_at + 20:
        _shown_at = time.monotonic()
        print(json.dumps(dict(figures)), file=sys.stderr, flush=True)


def main(drive: Callable[[int, int], Mapping[str, Any]], amounts: tuple[int, int]) -> None:
    """Run a driver by its command line (`--quick`, `--amount N`, `--seed N`); print its figures as JSON."""
    parser = argparse.ArgumentParser(description=sys.modules[drive.__module__].__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{amounts[0]:,} instead of {amounts[1]:,}")
    parser.add_argument("--amount", type=int, help="how much, in the driver's own unit")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    amount = given.amount or amounts[0 if given.quick else 1]
    begun = time.perf_counter()
    figures = dict(drive(amount, given.seed))
    print(json.dumps({**figures, "seconds": round(time.perf_counter() - begun, 1)}))
