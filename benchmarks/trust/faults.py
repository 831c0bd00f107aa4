"""Kills, full disks, read-only homes, clock jumps, and two processes at once.

The amount is a number of kills, spread over recording, evaluating, fetching, caching, training and serving. A child
works for a few milliseconds, reports through a pipe what has been saved, and is killed (SIGKILL); then its files are
read, checked and resumed. The other faults run once each.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from benchmarks.trust.driver import ROOT, Broken, Figures, expect, main, show_progress
from iglu_marl import IgluMarlError, Recorder, Task, evaluate, replay
from iglu_marl.data.packs.cache import cached
from iglu_marl.data.packs.fetch import Download, download
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.results import row_from_json
from iglu_marl.recording import read_recording
from iglu_marl.rendering import write_video

from file_server import file_server  # isort: skip  # the tests' own helpers
from test_damaged_input import GAME_ROW, GRID, SETTINGS  # isort: skip

QUICK, FULL = 30, 300
LONGEST_S = 0.15  # until a child is killed, after it began


def killed(rng: np.random.Generator, work: Callable[[Callable[[int], None]], None]) -> int:
    """Run work in a child until it is killed; return the last number that it reported."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(reading)
            os.write(writing, b"begun\n")
            work(lambda number: os.write(writing, b"%d\n" % number) and None)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as answers:
        select.select([answers], [], [], 60)
        time.sleep(float(rng.uniform(0, LONGEST_S)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines = answers.readall().split(b"\n")[:-1]
    return int(lines[-1]) if len(lines) > 1 else -1


# ------------------------------------------------------------------------------------------------- the kills


def recording(rng: np.random.Generator, folder: Path) -> None:
    """All reported moves are in the recording, and the next game is appended to it."""
    path = folder / "games.jsonl"

    def work(report: Callable[[int], None]) -> None:
        with Recorder(path) as recorder:
            env = recorder.wrap(gym.make("IGLUGridworldVector-v0", tasks=Task("", GRID), max_steps=40))
            env.reset(seed=0)
            for number in range(10**6):
                *_, terminated, truncated, _ = env.step(int(number % 18))
                report(number)
                if terminated or truncated:
                    env.reset()

    before = moves_in(path)
    reported = killed(rng, work) + 1
    Recorder(path).close()  # what it cuts off was never reported
    kept = moves_in(path) - before
    expect(reported <= kept <= reported + 1, f"{reported} moves were made, {kept} are in the recording")
    if kept and rng.random() < 0.2:
        for game in read_recording(path)[-2:]:
            replay(game)


def moves_in(path: Path) -> int:
    """Return the moves in a recording, all of whose lines must be complete."""
    if not path.exists():
        return 0
    return sum("act" in json.loads(line) for line in path.read_bytes().split(b"\n") if line)


def evaluating(rng: np.random.Generator, folder: Path) -> None:
    """All finished games are in the log, and the evaluation resumes."""

    def log() -> RowLog[Any]:
        return RowLog(
            folder / "log.jsonl", SETTINGS, form=("e", 1), what="games", from_json=row_from_json, to_json=dict
        )

    def work(report: Callable[[int], None]) -> None:
        rows = log()
        for number in range(10**6):
            rows.add({**GAME_ROW, "seed": number, "task": "t" * int(number % 3000)})
            report(number)

    begun = len(log_of(log))
    reported = killed(rng, work) + 1
    kept = log_of(log)[begun:]
    expect(reported <= len(kept) <= reported + 1, f"{reported} games were played, {len(kept)} are in the log")
    expect([row["seed"] for row in kept] == list(range(len(kept))), "other games are in the log")
    if len(kept) + begun > 3000:
        (folder / "log.jsonl").unlink()


def log_of(log: Callable[[], RowLog[Any]]) -> list[Any]:
    opened = log()
    opened.close()
    return opened.rows


def whole_evaluation(rng: np.random.Generator, folder: Path) -> None:
    """An evaluation that was killed and resumed has the same result as an uninterrupted one."""
    options: dict[str, Any] = {
        "tasks": [Task("a", GRID), Task("b", GRID[:1])],
        "episodes": 2,
        "progress": False,
    }
    output = folder / f"evaluation-{rng.integers(10**9)}"
    killed(rng, lambda _: evaluate("scripted", "scripted", output=output, **options) and None)
    found = evaluate("scripted", "scripted", output=output, **options)
    wanted = evaluate("scripted", "scripted", **options)
    expect(
        [row["steps"] for row in found.rows] == [row["steps"] for row in wanted.rows], "another evaluation"
    )
    expect({path.name for path in output.iterdir()} >= {"evaluation.json", "evaluation.md"}, "no report")


def fetching(rng: np.random.Generator, folder: Path) -> None:
    """A download resumes, is installed completely, and leaves no temporary files."""
    body = hashlib.shake_256(b"body").digest(300_000)
    with file_server() as files:
        files.serve("/pack.zip", body, slow_s=0.002)
        target = folder / "pack.zip"
        digest = hashlib.sha256(body).hexdigest()
        plan = Download(files.url("/pack.zip"), target, len(body), digest, backoff_s=0.01)
        for _ in range(2):
            killed(rng, lambda _: download(plan, progress=False) and None)
            expect(
                not target.exists() or target.read_bytes() == body, "a file that is not whole was installed"
            )
        kept = plan.part.stat().st_size if plan.part.exists() else 0
        sent = files.sent
        expect(download(plan, progress=False).read_bytes() == body, "another file was installed")
        expect(files.sent - sent <= len(body) - kept + 1 or not kept, "what was there was fetched again")
        expect(
            {path.name for path in folder.iterdir()} <= {"pack.zip", "pack.zip.lock"},
            "something was left behind",
        )
    target.unlink()


class Pack:
    """The attributes of a pack that the cache uses."""

    location, fingerprint = "somewhere", "f"


def caching(rng: np.random.Generator, folder: Path) -> None:
    """A cache entry is complete, or made again."""
    os.environ["IGLU_MARL_CACHE"] = str(folder / "cache")
    arrays = {"a": np.arange(200_000), "b": np.array(["x", "yy"])}

    def work(report: Callable[[int], None]) -> None:
        for number in range(10**6):
            cached(Pack(), "kind", str(number % 3), lambda: arrays)
            report(number)

    killed(rng, work)
    for version in ("0", "1", "2"):
        found = cached(Pack(), "kind", version, lambda: arrays)
        expect(all((found[name] == arrays[name]).all() for name in arrays), "other arrays are in the cache")
    left = [
        path.name for path in (folder / "cache" / "parsed").iterdir() if path.suffix not in (".npz", ".lock")
    ]
    expect(not left, f"the cache keeps {left}")


def training(rng: np.random.Generator, folder: Path) -> None:
    """Weights that are written repeatedly are complete, with their card or the next one."""
    import torch

    from iglu_marl.agents.learned import pov_builder

    model = pov_builder.PovModel(30, False)
    path = folder / "model.npz"

    def work(report: Callable[[int], None]) -> None:
        for number in range(10**6):
            with torch.no_grad():
                next(model.parameters()).fill_(number % 1000)
            pov_builder.save(model, path, {"number": number})
            report(number)

    reported = killed(rng, work)
    if path.exists():
        weights = next(pov_builder.load(path).parameters())
        expect(len(weights.unique()) == 1, "weights of two moments")
        card = json.loads(path.with_suffix(".json").read_text()) if path.with_suffix(".json").exists() else {}
        expect(reported < 0 or card.get("number", -1) >= reported - 1, "a card of another moment")
    expect(reported < 0 or path.exists(), "the weights are gone")
    for left in folder.glob(".model-*"):  # a killed process cannot remove what it was writing
        left.unlink()


def serving(rng: np.random.Generator, folder: Path) -> None:
    """All reported rows are in the database of a study, which can be opened again."""
    import sqlalchemy as sql

    from iglu_marl.web import store as db

    url = f"sqlite:///{folder / 'study.db'}"

    def work(report: Callable[[int], None]) -> None:
        store = db.Store(url)
        for number in range(10**6):
            store.do(insert, number)
            report(number)

    def insert(connection: Any, number: int) -> None:
        connection.execute(sql.insert(db.PARTICIPANTS).values(study="s", code=f"{begun + number}", token="t"))

    def count(connection: Any) -> int:
        return int(connection.execute(sql.select(sql.func.count()).select_from(db.PARTICIPANTS)).scalar())

    store = db.Store(url)
    begun = store.do(count)
    store.close()
    reported = killed(rng, work) + 1
    store = db.Store(url)
    kept = store.do(count) - begun
    store.close()
    expect(reported <= kept <= reported + 1, f"{reported} were reported as saved, {kept} are")


KILLS = {
    recording: 22, evaluating: 22, whole_evaluation: 4, fetching: 6, caching: 18, training: 12, serving: 16,
}  # fmt: skip
PER_ROUND = {fetching: 2}  # a download is killed twice


# ------------------------------------------------------------------------------------------------ other faults


@contextlib.contextmanager
def small_disk(size: str) -> Iterator[Path | None]:
    """Return a folder on a small disk; None if none can be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="small-"))
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    try:
        yield None if done.returncode else folder
    finally:
        if not done.returncode:
            subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


def full_disk(folder: Path) -> str:
    """A full disk leads to an error of ours or is ignored; no incomplete file remains."""
    with small_disk("64k") as disk:
        if disk is None:
            return "no disk could be mounted"
        frames = [np.random.default_rng(n).integers(0, 255, (120, 160, 3), np.uint8) for n in range(20)]
        for name in ("film.mp4", "film.gif"):
            refused(lambda name=name: write_video(disk / name, frames))
            expect(not list(disk.iterdir()), f"{name} left {list(disk.iterdir())}")
        env = gym.make("IGLUGridworldVector-v0", tasks=Task("", GRID))

        def record() -> None:
            with Recorder(disk / "games.jsonl") as recorder:
                wrapped = recorder.wrap(env)
                wrapped.reset(seed=0)
                for _ in range(10_000):
                    wrapped.step(0)

        refused(record)
        content = (disk / "games.jsonl").read_bytes()
        expect(
            content.endswith(b"\n") and moves_in(disk / "games.jsonl") > 100,
            "half a line is in the recording",
        )
        (disk / "games.jsonl").unlink()
        (disk / "fill").write_bytes(b"x" * 60_000)
        refused(lambda: evaluate(tasks=[Task("a", GRID)], output=disk / "out", progress=False))
        os.environ["IGLU_MARL_CACHE"] = str(disk / "cache")
        found = cached(Pack(), "kind", "1", lambda: {"a": np.arange(100_000)})
        expect(len(found["a"]) == 100_000, "without a cache nothing is read")
        left = [path.name for path in disk.glob("cache/parsed/*") if path.suffix != ".lock"]
        expect(not left, f"half an entry is in the cache: {left}")
    with small_disk("16k") as disk:
        assert disk is not None
        in_process({"IGLU_MARL_CACHE": str(disk), "NUMBA_CACHE_DIR": str(disk), "HOME": str(disk)}, PLAYED)
    return "recorder, video, gif, report, cache, kernels"


def refused(call: Callable[[], object]) -> None:
    """Expect a call to raise an error of ours."""
    try:
        call()
    except IgluMarlError:
        return
    raise Broken("a full disk was not noticed")


PLAYED = """
import gymnasium as gym, iglu_marl
env = gym.make("IGLUGridworldVector-v0")
env.reset(seed=0)
for _ in range(20): env.step(env.action_space.sample())
print("played")
"""


def in_process(environment: dict[str, str], code: str) -> None:
    """Run code in a process with another environment; it must print "played" and nothing on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    expect(done.stdout.strip().endswith("played"), f"{environment}: {done.stderr[-1500:]}")
    expect("Traceback" not in done.stderr, done.stderr[-1500:])


def read_only_home(folder: Path) -> str:
    """Run with a read-only home, and without one."""
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere", "IGLU_MARL_CACHE": ""}
    in_process(nowhere, PLAYED)
    code = PLAYED + "from iglu_marl.data.packs.cache import cached\nimport numpy as np\n"
    code += "class P: location = fingerprint = 'x'\n"
    code += "assert len(cached(P, 'k', '1', lambda: {'a': np.arange(3)})['a']) == 3\nprint('played')"
    in_process(nowhere, code)
    return "plays, caches nothing"


JUMPS = """
import itertools, time
true, jumps = time.time, itertools.cycle((0, -3e8, 5e8, -1e9, 2e9))
time.time = lambda: true() + next(jumps)
time.time_ns = lambda: int(time.time() * 1e9)
"""


def clock_jumps(folder: Path) -> str:
    """Run with a clock that jumps by years."""
    code = (
        JUMPS
        + PLAYED
        + f"""
from iglu_marl import Recorder, Task, evaluate, replay
from iglu_marl.recording import read_recording
with Recorder({str(folder / "clock.jsonl")!r}) as recorder:
    game = recorder.wrap(env)
    game.reset(seed=0)
    for _ in range(30): game.step(env.action_space.sample())
replay(read_recording({str(folder / "clock.jsonl")!r})[0])
evaluate(tasks=[Task("a", [(0, -1, 0, 1)])], output={str(folder / "clock")!r}, progress=False)
from iglu_marl.web.limits import Allowance
allowed = Allowance(1.0, 5)
assert sum(allowed.take() for _ in range(1000)) <= 7
print("played")
"""
    )
    in_process({}, code)
    return "plays, records, evaluates, limits"


def two_at_once(folder: Path) -> str:
    """Two processes use each shared file: the second is refused or waits, and nothing is lost."""
    with Recorder(folder / "two.jsonl") as recorder:
        env = recorder.wrap(gym.make("IGLUGridworldVector-v0", tasks=Task("", GRID)))
        env.reset(seed=0)
        expect(in_child(lambda: Recorder(folder / "two.jsonl")) == "DataError", "two record into one file")
        env.step(0)
    expect(moves_in(folder / "two.jsonl") == 1, "a move is lost")
    tasks = [Task("a", GRID)]
    held = RowLog(
        folder / "two-log", SETTINGS, form=("e", 1), what="x", from_json=row_from_json, to_json=dict
    )
    opened = {"form": ("e", 1), "what": "x", "from_json": row_from_json, "to_json": dict}
    second = in_child(lambda: RowLog(folder / "two-log", SETTINGS, **opened))  # type: ignore[arg-type]
    expect(second == "DataError", "two evaluate into one log")
    held.add(GAME_ROW)
    held.close()
    one, other = (both_evaluate(folder / "both", tasks) for _ in range(2))
    expect(sorted((one.wait(), other.wait())) in ([0, 0], [0, 1]), "two evaluations into one folder")
    expect((folder / "both" / "evaluation.json").exists(), "no report of either")
    with file_server() as files:
        files.serve("/x.zip", bytes(300_000), slow_s=0.005)
        plan = Download(files.url("/x.zip"), folder / "shared.zip", 300_000)
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                download(plan, progress=False)
            os._exit(0)
        expect(download(plan, progress=False).stat().st_size == 300_000, "another file")
        os.waitpid(child, 0)
        expect(files.sent <= 300_000, f"two fetch the same file: {files.sent} bytes were sent")
    return "recording, log, folder, download"


def in_child(call: Callable[[], object]) -> str:
    """Return the name of the error that a call raises in another process; "" for none."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        name = b""
        try:
            call()
        except BaseException as error:
            name = type(error).__name__.encode()
        os.write(writing, name)
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as answer:
        return answer.read().decode()


def both_evaluate(output: Path, tasks: Any) -> subprocess.Popen[bytes]:
    code = f"from iglu_marl import Task, evaluate; tasks = [Task('a', {GRID!r})]\n"
    code += f"evaluate(tasks=tasks, output={str(output)!r}, progress=False)"
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, cwd=ROOT)


FAULTS = (full_disk, read_only_home, clock_jumps, two_at_once)


def drive(amount: int, seed: int) -> Figures:
    """Kill about `amount` times; then run the other faults."""
    rng = np.random.default_rng(seed)
    figures: Figures = {"kills": 0}
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    os.environ["IGLU_MARL_OFFLINE"] = "1"
    try:
        share = sum(KILLS.values())
        for work, weight in KILLS.items():
            place = folder / work.__name__
            place.mkdir()
            for _ in range(max(1, round(amount * weight / share / PER_ROUND.get(work, 1)))):
                work(rng, place)
                figures["kills"] += PER_ROUND.get(work, 1)
                show_progress(figures)
        for fault in FAULTS:
            figures[fault.__name__] = fault(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
