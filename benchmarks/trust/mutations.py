"""Run the mutation tests; see `tests/trust/mutations.py`."""

import sys

from benchmarks.trust import run

if __name__ == "__main__":
    sys.exit(run("trust.mutations"))
