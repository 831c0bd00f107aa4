"""Run robustness drivers; see `tests/trust/__main__.py`."""

import sys

from benchmarks.trust import run

if __name__ == "__main__":
    sys.exit(run("trust"))
