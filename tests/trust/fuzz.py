"""Fuzzing of all readers of external data (`tests/fuzz_targets.py`).

`python -m trust fuzz --amount 60` gives each target 60 seconds of CPU time; `--target zip` runs one.
Hypothesis draws edits of known inputs. Inputs that break something are written to `tests/fuzzed/`, where a test runs
them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from trust.driver import ROOT, Broken, Figures

QUICK, FULL = 3, 20  # seconds of processor time a target
HANGS_S = 10  # of processor time: an input that takes longer is a crash
LONGEST = 1 << 14  # bytes of an input
CASES = ROOT / "tests" / "fuzzed"


class Hangs(BaseException):
    """An input takes too long."""


def place_of(error: BaseException) -> str:
    """Return the kind of an error, and the last line of this package in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/iglu_marl/" in frame.filename or "/agents/" in frame.filename]
    last = (ours or frames)[-1]
    return f"{type(error).__name__} {Path(last.filename).name}:{last.lineno}"


class Watch:
    """Runs inputs of a target; keeps the first input of each kind of crash."""

    def __init__(self, target: str, run: Callable[[str, bytes], None]) -> None:
        self.target, self._run = target, run
        self.runs, self.crashes, self.begun = 0, {}, time.process_time()  # type: ignore[var-annotated]
        signal.signal(signal.SIGPROF, self._late)

    @staticmethod
    def _late(_number: int, _frame: FrameType | None) -> None:
        raise Hangs

    def __call__(self, data: bytes) -> None:
        """Run one input."""
        self.runs += 1
        signal.setitimer(signal.ITIMER_PROF, HANGS_S)
        try:
            self._run(self.target, data)
        except (Exception, Hangs) as error:
            place = place_of(error)
            if place not in self.crashes:
                self.crashes[place] = f"{error!s:.200}"
                name = f"{hashlib.sha256(data).hexdigest()[:12]}.bin"
                (CASES / self.target).mkdir(parents=True, exist_ok=True)
                (CASES / self.target / name).write_bytes(data)
                print(f"{self.target}: {place}: {error!s:.300} ({name})", file=sys.stderr, flush=True)
                traceback.print_exc(limit=-4)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def report(self) -> Figures:
        """Return the figures."""
        seconds = round(time.process_time() - self.begun, 1)
        return {"runs": self.runs, "cpu_s": seconds, "crashes": self.crashes}


def fuzz(target: str, seconds: float, seed: int) -> Figures:
    """Fuzz a target with edits of its corpus that Hypothesis draws."""
    import hypothesis
    from hypothesis import strategies as st

    watch, corpus = begun(target)
    from fuzz_targets import TARGETS

    inserted = st.binary(max_size=8) | st.sampled_from((b"", *TARGETS[target].words))
    edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 64), inserted), max_size=8)

    def once(data: bytes, edits: list[tuple[float, int, bytes]]) -> None:
        for place, removed, new in edits:
            at = int(place * len(data))
            data = data[:at] + new + data[at + removed :]
        watch(data[:LONGEST])

    settings = hypothesis.settings(
        max_examples=200, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    run = settings(hypothesis.given(st.sampled_from(corpus or [b""]), edits)(once))
    until = time.process_time() + seconds
    while time.process_time() < until:
        hypothesis.seed(seed)(run)()
        seed += 1
    return {"corpus": len(corpus), **watch.report()}


def begun(target: str) -> tuple[Watch, list[bytes]]:
    """Return the target, and its initial corpus."""
    os.environ.setdefault("IGLU_MARL_OFFLINE", "1")
    from fuzz_targets import TARGETS, run_target, scratch

    os.environ["IGLU_MARL_CACHE"] = str(scratch() / "cache")
    found = TARGETS[target].seeds()
    for data in found:
        with suppress(Exception):  # reported later; compiles before the first input
            run_target(target, data)
    folder = CASES / target
    found += [path.read_bytes() for path in sorted(folder.glob("*"))] if folder.is_dir() else []
    return Watch(target, run_target), found


def drive(amount: int, seed: int, targets: list[str] | None = None) -> Figures:
    """Fuzz each target for `amount` seconds."""
    from fuzz_targets import TARGETS

    figures: Figures = {"targets": 0, "runs": 0, "cpu_s": 0.0, "crashes": {}}
    for target in targets or list(TARGETS):
        found = fuzz(target, amount, seed)
        print(f"{target}: {json.dumps(found)}", file=sys.stderr, flush=True)
        figures["targets"] += 1
        figures["runs"] += found["runs"]
        figures["cpu_s"] = round(figures["cpu_s"] + found["cpu_s"], 1)
        figures["crashes"] |= {f"{target}: {place}": text for place, text in found["crashes"].items()}
    if figures["crashes"]:
        raise Broken(f"inputs in {CASES} break {json.dumps(figures, indent=1)}")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--amount", type=int, default=FULL, help="seconds a target")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} seconds a target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", help="one of them, by name")
    given = parser.parse_args()
    print(json.dumps(drive(QUICK if given.quick else given.amount, given.seed, given.target)))


if __name__ == "__main__":
    main()
