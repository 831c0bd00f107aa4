"""Every command that writes, with every fault: SIGKILL, SIGINT, SIGTERM, a full disk, and a second writer.

A row of `COMMANDS` is run once undisturbed, for its time and sizes, and then with each fault at random moments.
Whatever happens: no traceback; a file under its own name is whole (of JSON lines: to the last line); after all faults
but SIGKILL no process is left, and nothing half-written; after SIGKILL the same command can be run again.
The amount is the number of runs with SIGKILL. The figures are a table: command, fault, runs that held.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from trust.driver import ROOT, Broken, Figures, expect, main, show_progress

from iglu_marl.core.errors import DataError
from iglu_marl.recording import read_recording

QUICK, FULL = 1, 3
LIMIT_S = 120
# OUT is a folder of the run, IN the folder of what `INPUTS` made.
COMMANDS: dict[str, str] = {
    "demo": "demo --output OUT/demo",
    "new": "new builder my_own --output OUT",
    "evaluate": "evaluate --count 6 --no-baselines --max-steps 100 --output OUT/games",
    "evaluate, two processes": "evaluate --count 6 --no-baselines --max-steps 100 --processes 2 --output OUT/games",
    "record": "record OUT/a.jsonl --episodes 4",
    "record, appending": "record IN/appended.jsonl --append --episodes 2",
    "record --repair": "record IN/damaged.jsonl --repair",
    "data export": "data export bundled -o OUT/tasks.jsonl",
    "data browse": "data browse bundled -o OUT/pages",
    "benchmark run": "benchmark run told-ground-v2 --builder scripted --episodes 100 -o OUT/result.json",
    "llm export": "llm export generated --count 3 -o OUT/prompts",
    "predict": "predict --corpus bundled --split train --builder nothing --count 8 --output OUT/predictions",
    "replay --upstream": "replay IN/game.jsonl --upstream OUT/layout",
    "show, a page": "show IN/game.jsonl -o OUT/game.html",
    "show, a picture": "show kite -o OUT/kite.png",
    "benchmark site": "benchmark site OUT/board IN/result.json",
    "benchmark report": "benchmark report IN/result.json -o OUT/report",
}
INPUTS = (
    "record IN/game.jsonl --episodes 2",
    "benchmark run told-ground-v2 --builder scripted --episodes 100 -o IN/result.json",
)


def words(line: str, out: Path, given: Path) -> list[str]:
    parts = [part.replace("OUT", str(out)).replace("IN/", f"{given}/") for part in line.split()]
    return [sys.executable, "-W", "ignore", "-m", "iglu_marl", *parts]


class Place:
    """A folder with fresh inputs and an empty output. A command that writes to its input has it as output."""

    def __init__(self, folder: Path, made: Path) -> None:
        self.out, self.given = folder / "out", folder / "in"
        self.out.mkdir(parents=True)
        shutil.copytree(made, self.given)
        game = (self.given / "game.jsonl").read_bytes()
        (self.given / "appended.jsonl").write_bytes(game)
        lines = game.splitlines(keepends=True)
        (self.given / "damaged.jsonl").write_bytes(b"".join([*lines[:3], lines[3][:20] + b"\n", *lines[4:]]))

    def start(self, line: str, limit: int | None = None) -> subprocess.Popen[str]:
        """Start a command. limit: bytes that a file can have."""

        def confine() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.Popen(
            words(line, self.out, self.given),
            cwd=self.out,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=confine,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def files(self) -> list[Path]:
        return [path for path in (*self.out.rglob("*"), *self.given.rglob("*")) if path.is_file()]

    def check(self, name: str, killed: bool) -> None:
        """Raise `Broken` if a file is cut, or half-written ones are left."""
        for path in self.files():
            if any(part.startswith(".") for part in path.relative_to(self.out.parent).parts):
                expect(killed or path.suffix == ".lock", name, "left", path.name)
                continue
            content = path.read_bytes()
            if path.suffix == ".json":
                json.loads(content)
            elif path.suffix == ".jsonl" and path.name != "damaged.jsonl":
                for line in content.split(b"\n")[:-1]:
                    json.loads(line)
                if b'"iglu_marl recording"' in content[:60] and content.count(b"\n") > 1:
                    read_recording(path)
            elif path.suffix in (".html", ".gif", ".png"):
                expect(content, name, "left an empty", path.name)
            elif path.suffix == ".npz":
                expect(zipfile.is_zipfile(path), name, "cut", path.name)


def end(process: subprocess.Popen[str]) -> str:
    """Wait for a command; return what it wrote on the error stream."""
    try:
        return process.communicate(timeout=LIMIT_S)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise Broken(f"{process.args} does not end in {LIMIT_S} s") from None


def signalled(place: Place, line: str, number: signal.Signals, pause_s: float) -> tuple[int, str]:
    process = place.start(line)
    time.sleep(pause_s)
    if number == signal.SIGINT:  # as a terminal sends it
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    code, complaint = process.wait(LIMIT_S), end(process)
    until = time.monotonic() + 20
    while (left := members(process.pid)) and time.monotonic() < until:
        time.sleep(0.2)
    expect(not left or number == signal.SIGKILL, number.name, "left processes of", line)
    return code, complaint


def members(session: int) -> str:
    """Return the processes of a session."""
    return subprocess.run(
        ["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True, check=False
    ).stdout.strip()


def faults(
    name: str, line: str, made: Path, scratch: Path, rng: random.Random, runs: int
) -> dict[str, int | str]:
    """Run a command with each fault; return by fault the number of runs, or what broke."""
    counter = iter(range(10**6))

    def place() -> Place:
        return Place(scratch / str(next(counter)), made)

    whole = place()
    begun = time.perf_counter()
    complaint = end(process := whole.start(line))
    expect(process.returncode == 0, name, complaint)
    seconds = time.perf_counter() - begun
    whole.check(name, killed=False)
    written = [path for path in whole.files() if path.is_relative_to(whole.out)] or whole.files()
    largest = max(path.stat().st_size for path in written)

    def kill() -> None:
        here = place()
        signalled(here, line, signal.SIGKILL, rng.uniform(0.3, 1) * seconds)
        here.check(f"{name}, killed,", killed=True)
        complaint = end(process := here.start(line))
        expect(process.returncode in (0, 1, 2), name, "after SIGKILL:", complaint)
        expect("Traceback" not in complaint, name, "after SIGKILL:", complaint)
        here.check(f"{name}, killed and run again,", killed=True)

    def interrupt(number: signal.Signals) -> None:
        here = place()
        code, complaint = signalled(here, line, number, rng.uniform(0.5, 1) * seconds)
        expect(code in (0, 1, 128 + number, -number), name, number.name, "ends with", code, complaint)
        expect("Traceback" not in complaint or "<frozen importlib" in complaint, name, number.name, complaint)
        here.check(f"{name}, {number.name},", killed=False)

    def full() -> None:
        here = place()
        complaint = end(process := here.start(line, limit=int(largest * rng.uniform(0.05, 0.95))))
        expect(process.returncode in (0, 1, 2), name, "full disk:", process.returncode, complaint)
        expect("Traceback" not in complaint, name, "full disk:", complaint)
        expect(process.returncode == 0 or complaint, name, "says nothing about a full disk")
        here.check(f"{name}, disk full,", killed=False)

    def two() -> None:
        here = place()
        both = [here.start(line) for _ in range(2)]
        complaints = [end(process) for process in both]
        expect(
            0 in [process.returncode for process in both], name, "two writers, and no result:", *complaints
        )
        expect("Traceback" not in "".join(complaints), name, "two writers:", *complaints)
        here.check(f"{name}, two writers,", killed=False)

    results: dict[str, int | str] = {}
    kinds: dict[str, Callable[[], None]] = {
        "SIGKILL": kill,
        "SIGINT": partial(interrupt, signal.SIGINT),
        "SIGTERM": partial(interrupt, signal.SIGTERM),
        "disk full": full,
        "two writers": two,
    }
    for fault, run in kinds.items():
        repeats = runs if fault == "SIGKILL" else 1
        try:
            for _ in range(repeats):
                run()
            results[fault] = repeats
        except (Broken, ValueError, DataError) as error:
            results[fault] = f"{name}, {fault}: {error}"
    return results


def drive(amount: int, seed: int) -> Figures:
    """Run all commands with all faults."""
    rng = random.Random(seed)
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made")
        made.mkdir()
        for line in INPUTS:
            subprocess.run(words(line, made, made), check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S)
        for number, (name, line) in enumerate(COMMANDS.items()):
            figures[name] = faults(name, line, made, Path(folder, str(number)), rng, amount)
            show_progress(figures)
    broken = [result for row in figures.values() for result in row.values() if isinstance(result, str)]
    expect(not broken, "\n".join(broken))
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
