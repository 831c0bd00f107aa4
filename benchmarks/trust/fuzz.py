"""Coverage-guided fuzzing of all readers of external data (`tests/fuzz_targets.py`).

`python -m benchmarks.trust.fuzz --amount 60` gives each target 60 seconds of CPU time in its own process; `--target
zip` runs one. atheris chooses the inputs if it is installed, else `Engine`. Inputs that reach new lines are kept in
`.fuzzed/`; those that break something are written to `tests/fuzzed/`, where a test runs them.
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
from types import CodeType, FrameType
from typing import Any

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


class Engine:
    """Makes inputs from others that reached new lines of the package."""

    def __init__(self, corpus: list[bytes], words: tuple[bytes, ...], seed: int) -> None:
        import numpy as np

        self.corpus, self.words, self.rng = corpus or [b""], words, np.random.default_rng(seed)
        self.lines: set[tuple[CodeType, int]] = set()
        self._whole: dict[CodeType, int] = {}  # lines of a code that are not yet reached
        self._ours: dict[CodeType, bool] = {}

    # -- which lines are reached

    def _is_ours(self, code: CodeType) -> bool:
        found = self._ours.get(code)
        if found is None:
            name = code.co_filename
            found = self._ours[code] = (
                "iglu_marl" in name.replace("agents", "iglu_marl") and "kernels" not in name
            )
            self._whole[code] = len({line for *_, line in code.co_lines() if line})
        return found

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and (frame.f_code, frame.f_lineno) not in self.lines:
            self.lines.add((frame.f_code, frame.f_lineno))
            self._whole[frame.f_code] -= 1
        return self._line

    def _call(self, frame: FrameType, _event: str, _: Any) -> Any:
        code = frame.f_code
        return self._line if self._is_ours(code) and self._whole[code] > 0 else None

    def reaches_new(self, run: Callable[[bytes], None], data: bytes) -> bool:
        """Run an input; return whether it reached a new line."""
        before = len(self.lines)
        sys.settrace(self._call)
        try:
            run(data)
        finally:
            sys.settrace(None)
        return len(self.lines) > before

    # -- inputs

    def _one(self) -> bytes:
        newest = self.rng.random() < 0.5
        first = max(0, len(self.corpus) - 8) if newest else 0
        return self.corpus[int(self.rng.integers(first, len(self.corpus)))]

    def changed(self) -> bytes:
        """Return a mutated input of the corpus."""
        rng, data = self.rng, bytearray(self._one())
        for _ in range(int(2 ** rng.integers(0, 5))):
            at = int(rng.integers(len(data) + 1))
            end = min(len(data), at + int(2 ** rng.integers(0, 8)))
            kind = int(rng.integers(8))
            if kind == 0 and at < len(data):
                data[at] ^= 1 << int(rng.integers(8))
            elif kind == 1 and at < len(data):
                data[at] = int(rng.integers(256))
            elif kind == 2:
                del data[at:end]
            elif kind == 3:
                data[at:at] = data[at:end] * int(rng.integers(1, 4))
            elif kind == 4:
                other = self._one()
                begin = int(rng.integers(len(other) + 1))
                data[at:end] = other[begin : begin + int(2 ** rng.integers(0, 9))]
            elif kind == 5:
                data[at:at] = rng.bytes(int(rng.integers(1, 5)))
            elif self.words:
                word = self.words[int(rng.integers(len(self.words)))]
                data[at : end if kind == 6 else at] = word
        return bytes(data[:LONGEST])


def own(target: str, seconds: float, seed: int) -> Figures:
    watch, corpus = begun(target)
    from fuzz_targets import TARGETS

    until = time.process_time() + seconds
    engine = Engine([], TARGETS[target].words, seed)
    for data in corpus:  # which of them are still of use
        if engine.reaches_new(watch, data):
            engine.corpus.append(data)
        if time.process_time() > until:
            break
    while time.process_time() < until:
        data = engine.changed()
        if engine.reaches_new(watch, data):
            engine.corpus.append(data)
            keep(target, data)
    return {"engine": "own", "lines": len(engine.lines), "corpus": len(engine.corpus), **watch.report()}


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
    engine = "atheris" if importlib.util.find_spec("atheris") else "own"
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
        (KEPT / f"{given.only}.json").write_text(json.dumps(own(given.only, amount, given.seed)))


if __name__ == "__main__":
    main()
