"""Mutation testing: single wrong edits of the package, each of which a test must detect.

A random part of the edits that people picked (`tests/mutations/picked*.json`) is applied, one at a time, to a copy of
the checkout. `tests/mutations.py` does it, and draws edits that nobody picked.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mutations import LISTS, Copy, found
from trust.driver import Figures, expect, main

MUTATIONS: list[dict[str, Any]] = [
    change for path in sorted(LISTS.glob("picked*.json")) for change in json.loads(path.read_text("utf-8"))
]
QUICK, FULL = 4, len(MUTATIONS)
SHARE = 0.95  # of the mutations, which has to be noticed
LIMIT_S = 900  # for the tests of one


def drive(amount: int, seed: int) -> Figures:
    """Try `amount` mutations; print a table to stderr."""
    chosen = random.Random(seed).sample(MUTATIONS, min(amount, FULL))
    for change in MUTATIONS:
        expect(found(change), f"{change['file']} has {change['old']!r} not once")
    unnoticed = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), LIMIT_S)
        for change in chosen:
            begun = time.perf_counter()
            noticed = copy.notices(change, "not slow")
            what = f"{change['file']}: {change['old'].strip()} -> {change['new'].strip()}".replace("\n", " ")
            if not noticed:
                unnoticed.append(what)
            word, seconds = "noticed" if noticed else "UNNOTICED", time.perf_counter() - begun
            print(f"{word:9} {seconds:4.0f} s  {what:.150}", file=sys.stderr, flush=True)
    noticed_count = len(chosen) - len(unnoticed)
    expect(
        noticed_count >= SHARE * len(chosen),
        f"{noticed_count} of {len(chosen)} mutations are noticed; not:",
        *unnoticed,
    )
    return {"mutations": len(chosen), "noticed": noticed_count, "unnoticed": unnoticed}


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
