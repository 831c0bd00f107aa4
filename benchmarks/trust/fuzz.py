"""Fuzzing of all readers of external data (`tests/fuzz_targets.py`).

`python -m benchmarks.trust.fuzz --amount 60` gives each target 60 seconds of CPU time in its own process; `--target
zip` runs one. atheris chooses the inputs if it is installed, and keeps those that reach new lines in `.fuzzed/`; else
Hypothesis draws edits of known inputs. Inputs that break something are written to `tests/fuzzed/`, where a test runs
them.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from benchmarks.trust.driver import ROOT, Broken, Figures

QUICK, FULL = 3, 20  # seconds of processor time a target
HANGS_S = 10  # of processor time: an input that takes longer is a crash
LONGEST = 1 << 14  # bytes of an input
KEPT, CASES = ROOT / ".fuzzed", ROOT / "tests" / "fuzzed"
# What Numba compiles cannot be instrumented.
COMPILED = [
    *ROOT.glob("iglu_marl/**/kernels/*.py"),
    *ROOT.glob("iglu_marl/**/kernels.py"),
    ROOT / "iglu_marl/core/grid.py",
]


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


def by_hypothesis(target: str, seconds: float, seed: int) -> Figures:
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
    return {"engine": "hypothesis", "corpus": len(corpus), **watch.report()}


def begun(target: str) -> tuple[Watch, list[bytes]]:
    """Return the target, and its initial corpus."""
    os.environ.setdefault("IGLU_MARL_OFFLINE", "1")
    from fuzz_targets import TARGETS, run_target, scratch

    os.environ["IGLU_MARL_CACHE"] = str(scratch() / "cache")
    found = TARGETS[target].seeds()
    for data in found:
        with suppress(Exception):  # reported later; compiles before the first input
            run_target(target, data)
    for folder in (KEPT / target, CASES / target):
        found += [path.read_bytes() for path in sorted(folder.glob("*"))] if folder.is_dir() else []
    return Watch(target, run_target), found


def keep(target: str, data: bytes) -> None:
    (KEPT / target).mkdir(parents=True, exist_ok=True)
    (KEPT / target / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def by_atheris(target: str, seconds: float, seed: int) -> None:
    """Fuzz a target with atheris, which ends the process; the findings are written to a file."""
    import atheris

    compiled = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in COMPILED]
    with atheris.instrument_imports(include=["iglu_marl"], exclude=compiled):
        watch, corpus = begun(target)
    from fuzz_targets import TARGETS

    for data in corpus:  # libFuzzer reads a folder
        keep(target, data)
    words = KEPT / f"{target}.words"
    spelled = (
        "".join(rf"\x{byte:02x}" for byte in word) for word in TARGETS[target].words if len(word) < 128
    )
    words.write_text("".join(f'"{word}"\n' for word in spelled))
    report = KEPT / f"{target}.json"
    begun_s = time.process_time()

    def once(data: bytes) -> None:
        watch(data)
        if time.process_time() > begun_s + seconds:  # it ends the process either way
            found = {"engine": "atheris", "corpus": len(os.listdir(KEPT / target)), **watch.report()}
            report.write_text(json.dumps(found))
            os._exit(0)

    options = [
        f"-max_len={LONGEST}",
        f"-seed={seed + 1}",
        f"-dict={words}",
        f"-artifact_prefix={KEPT}/",
        "-verbosity=0",
        "-rss_limit_mb=4096",
        "-timeout=3600",
    ]
    atheris.Setup([sys.argv[0], *options, str(KEPT / target)], once)
    atheris.Fuzz()


def drive(amount: int, seed: int, targets: list[str] | None = None) -> Figures:
    """Fuzz each target for `amount` seconds."""
    from fuzz_targets import TARGETS

    KEPT.mkdir(exist_ok=True)
    engine = "atheris" if importlib.util.find_spec("atheris") else "hypothesis"
    figures: Figures = {"engine": engine, "targets": 0, "runs": 0, "cpu_s": 0.0, "crashes": {}}
    for target in targets or list(TARGETS):
        report = KEPT / f"{target}.json"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "benchmarks.trust.fuzz", "--only", target]
        command += ["--amount", str(amount), "--seed", str(seed)]
        with (KEPT / f"{target}.log").open("ab") as log:
            done = subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=False)
        if not report.exists():
            raise Broken(
                f"the process that fuzzed {target} ended with {done.returncode} and reported nothing"
            )
        found = json.loads(report.read_text())
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
    parser.add_argument("--only", help=argparse.SUPPRESS)  # in this very process
    given = parser.parse_args()
    amount = QUICK if given.quick else given.amount
    if given.only is None:
        print(json.dumps(drive(amount, given.seed, given.target)))
    elif importlib.util.find_spec("atheris"):
        by_atheris(given.only, amount, given.seed)
    else:
        (KEPT / f"{given.only}.json").write_text(json.dumps(by_hypothesis(given.only, amount, given.seed)))


if __name__ == "__main__":
    main()
