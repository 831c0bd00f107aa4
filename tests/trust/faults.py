"""Kills, spread over recording, evaluating, fetching, caching, training and serving.

The amount is a number of kills. A child works for a few milliseconds, reports through a pipe what has been saved, and
is killed (SIGKILL); then its files are read, checked and resumed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import select
import shutil
import signal
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from file_server import file_server
from test_damaged_input import GAME_ROW, GRID, SETTINGS
from trust.driver import Figures, expect, main, show_progress

from iglu_marl import Recorder, Task, evaluate, replay
from iglu_marl.data.packs.cache import cached
from iglu_marl.data.packs.fetch import fetch_pack
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.results import row_from_json
from iglu_marl.recording import read_recording

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
    """A download is installed completely, and leaves no temporary files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data/logs/splits.json", hashlib.shake_256(b"body").digest(300_000))
    body, target = stream.getvalue(), folder / "mdc.zip"
    with file_server() as files:
        files.serve("/pack.zip", body, slow_s=0.002)
        address = files.url("/pack.zip")
        for _ in range(2):
            killed(rng, lambda _: fetch_pack("mdc", folder, url=address, progress=False) and None)
            expect(
                not target.exists() or target.read_bytes() == body, "a file that is not whole was installed"
            )
        fetch_pack("mdc", folder, url=address, progress=False)
        expect(target.read_bytes() == body, "another file was installed")
        expect(
            {path.name for path in folder.iterdir()} <= {"mdc.zip", "mdc.zip.lock"},
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
    from iglu_marl.agents.learned import zoo

    card = dict(zoo.pretrained("silent-walker-v0").card)
    path = folder / "model.npz"

    def work(report: Callable[[int], None]) -> None:
        for number in range(10**6):
            zoo.save("model", {**card, "budget": f"{number}"}, {"w": np.full(50_000, number)}, folder)
            report(number)

    reported = killed(rng, work)
    if path.exists():
        with np.load(path) as arrays:
            expect(len(np.unique(arrays["w"])) == 1, "weights of two moments")
        path = path.with_suffix(".json")
        found = int(json.loads(path.read_text())["budget"]) if path.exists() else -1
        expect(reported < 0 or found >= reported - 1, "a card of another moment")
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


def drive(amount: int, seed: int) -> Figures:
    """Kill about `amount` times."""
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
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
