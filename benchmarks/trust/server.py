"""Faults around a server of studies (`tests/web/server_faults.py`). The amount is a number of participants for each."""

from __future__ import annotations

from benchmarks.trust.driver import main

from server_faults import make_faults  # isort: skip  # in tests/web

QUICK, FULL = 4, 40


if __name__ == "__main__":
    main(make_faults, (QUICK, FULL))
