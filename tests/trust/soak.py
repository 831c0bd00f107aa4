"""Everything at once for a long time: memory and handles must not grow. Then many creations.

The amount is seconds of the first part. Memory is the resident size (RSS) after a round; it may grow by `GROWTH_MIB`
after the first third, the warm-up.
"""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from fuzz_targets import MESSAGES, REPLIES, run_messages, run_text_game
from trust.driver import Figures, expect, main, show_progress

from iglu_marl import Recorder, Task, evaluate, parallel_env, play, raw_env, replay
from iglu_marl.agents import agents_for
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.worlds import prepare
from iglu_marl.envs import VectorGame
from iglu_marl.language import CellEdit, render, understand
from iglu_marl.recording import read_recording
from iglu_marl.rendering import write_video
from iglu_marl.tasks import RandomTasks

QUICK, FULL = 20, 1200
GROWTH_MIB = 5.0
TASKS = RandomTasks(max_blocks=3, max_cache=0)
GRID = [(0, -1, -2, 6), (1, -1, -2, 1)]


def memory_mib() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def handles() -> int:
    """Return the number of open files and sockets."""
    return len(os.listdir("/proc/self/fd"))


def sentence(number: int) -> str:
    return f"place a red block {number % 7} north of the middle, then remove it {number}"


def fill_caches() -> None:
    """Fill the large caches, which would take half an hour of games."""
    for task in itertools.islice(TASKS, 1 << 10):
        prepare(task)
    for number in range(1 << 12):
        understand(sentence(number), np.zeros(ZONE_SHAPE, np.int8))
    for (y, x, z), color in itertools.product(np.ndindex(*ZONE_SHAPE), range(1, 7)):
        render(CellEdit("place", (x - 5, y - 1, z - 5), color))


def everything(rng: np.random.Generator, folder: Path, figures: dict[str, int]) -> None:
    """One round: play, record, replay, evaluate, paint, film, understand, answer models and browsers."""
    env = raw_env(
        tasks=TASKS, builder_can_ask=True, builder_sees=("dialog", "inventory", "pose", "grid"), max_steps=300
    )
    path = folder / "game.jsonl"
    path.unlink(missing_ok=True)
    with Recorder(path) as recorder:
        play(env, agents_for(env), seed=int(rng.integers(2**31)), on_step=recorder)
    replay(read_recording(path)[0])
    env.close()
    evaluate(tasks=[Task("a", GRID)], output=folder / "evaluation", progress=False)
    shutil.rmtree(folder / "evaluation")
    visual = gym.make("IGLUGridworld-v0", tasks=TASKS, max_steps=40)
    shown, _ = visual.reset(seed=int(rng.integers(2**31)))
    frames = [shown["pov"]] + [visual.step(int(rng.integers(18)))[0]["pov"] for _ in range(10)]
    write_video(folder / "film.gif", frames)
    visual.close()
    batch = gym.make_vec("IGLUGridworldVector-v0", num_envs=64, tasks=TASKS, max_steps=20)
    batch.reset(seed=0)
    for _ in range(60):
        batch.step(rng.integers(0, 18, 64))
    batch.close()
    games = VectorGame(16, tasks=TASKS, chat="tokens", vocabulary=7, max_steps=20)
    games.reset(seed=0)
    for _ in range(30):
        games.step({agent: games.batched_action_space(agent).sample() for agent in games.possible_agents})
    grid = np.zeros(ZONE_SHAPE, np.int8)
    for _ in range(20):
        understand(sentence(int(rng.integers(10**6))), grid)
    run_text_game("\0".join(rng.permutation(REPLIES)).encode())
    run_messages(str(rng.choice(MESSAGES)).encode())
    figures["rounds"] += 1


def drive(amount: int, seed: int) -> Figures:
    """Soak for `amount` seconds, then create."""
    os.environ["IGLU_MARL_OFFLINE"] = "1"
    rng = np.random.default_rng(seed)
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    figures: Figures = {"rounds": 0}
    if amount >= FULL // 4:
        fill_caches()
    try:
        begun = time.monotonic()
        held: list[float] = []
        opened: list[int] = []
        while time.monotonic() < begun + amount or len(held) < 9:
            everything(rng, folder, figures)
            held.append(memory_mib())
            opened.append(handles())
            show_progress({**figures, "mib": round(held[-1], 1), "handles": opened[-1]})
        warm = len(held) // 3
        figures |= {"mib_warm": round(held[warm], 1), "mib_end": round(held[-1], 1)}
        figures |= {"handles_warm": opened[warm], "handles_end": opened[-1]}
        grown = min(held[-3:]) - held[warm]
        if amount >= FULL // 4:  # smaller caches fill for a minute
            expect(
                grown <= GROWTH_MIB,
                f"{grown:.1f} MiB more than after the warm-up: {held[:: max(1, len(held) // 20)]}",
            )
        expect(opened[-1] <= opened[warm] + 2, f"handles were {opened[warm]}, are {opened[-1]}")
        figures |= creations(1000 if amount >= FULL else 100)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return figures


def creations(count: int) -> Figures:
    """Create, reset and drop environments."""
    makers: list[Any] = [
        raw_env, parallel_env, lambda: gym.make("IGLUSilentBuilder-v0"), lambda: gym.make("IGLUGridworldVector-v0"),
    ]  # fmt: skip
    for number in range(40):
        makers[number % len(makers)]().reset(seed=number)
    before, files = memory_mib(), handles()
    for number in range(count):
        env = makers[number % len(makers)]()
        env.reset(seed=number)
        env.close()
    grown = memory_mib() - before
    expect(grown <= GROWTH_MIB, f"{count} creations hold {grown:.1f} MiB")
    expect(handles() <= files, f"{count} creations hold {handles() - files} handles")
    return {"creations": count, "creations_mib": round(grown, 1)}


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
