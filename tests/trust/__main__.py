"""Run the drivers, each in its own process, and print their findings.

`PYTHONPATH=tests:. python -m trust` (or `make trust`) runs all of them, with `--quick` in five minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

from trust.driver import ROOT

# Driver -> its further arguments, in full and in quick runs.
DRIVERS: dict[str, tuple[list[str], list[str]]] = {
    "worlds": ([], ["--quick"]),
    "fuzz": ([], ["--quick", "--target", "zip", "--target", "LLM reply", "--target", "action"]),
    "names": ([], ["--quick"]),
    "soak": (["--amount", "150"], ["--quick"]),
    "lowest": ([], ["--quick"]),
    "faults": ([], ["--quick"]),
}


def main() -> int:
    """Return the number of drivers that found a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(DRIVERS)}; all by default")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--amount", help="in the unit of the driver")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    unknown = set(given.names) - DRIVERS.keys()
    if unknown:
        parser.error(
            f"there is no driver {', '.join(sorted(unknown))}, expected some of {', '.join(DRIVERS)}"
        )
    broken = 0
    for name in given.names or DRIVERS:
        words = DRIVERS[name][1 if given.quick else 0]
        begun = time.perf_counter()
        words = words if given.amount is None else ["--amount", given.amount]
        command = [sys.executable, "-m", f"trust.{name}", *words, "--seed", str(given.seed)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        broken += done.returncode != 0
        figures = json.loads(done.stdout) if done.returncode == 0 else f"BROKEN, exit code {done.returncode}"
        print(f"{name} ({time.perf_counter() - begun:.0f} s): {json.dumps(figures)}", flush=True)
    return broken


if __name__ == "__main__":
    sys.exit(main())
