"""Faults around a server of studies (`tests/web/server_faults.py`). The amount is a number of participants for each."""

from __future__ import annotations

from server_faults import make_faults
from trust.driver import main

QUICK, FULL = 4, 40


if __name__ == "__main__":
    main(make_faults, (QUICK, FULL))
