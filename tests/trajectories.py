"""Long trajectories as hashes, the same on every machine of a kind: `tests/golden/hashes.json` has what they were.

What is done is drawn from hashes, not from a generator of NumPy, so that no release of a library changes it. At each of
`LENGTHS` steps stands the hash of all bytes of all states until then, and of pictures of the last. Run it to see them:
`python tests/trajectories.py 100`. `--check` compares, `--freeze` writes the file, which changes only with the rules.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl import Task
from iglu_marl.core.controls import CONTROLS, Controls
from iglu_marl.core.kernels.records import WORLD, EpisodeRules
from iglu_marl.core.worlds import Worlds
from iglu_marl.rendering.painter import paint_scenes

# Bytes of a record when the hashes were frozen: `completion_reward` was its last field. Rules that follow it are left
# out, so that a new one with its default changes no hash.
KNOWN = WORLD.fields["completion_reward"][1] + 8  # type: ignore[index]
FROZEN = Path(__file__).with_name("golden") / "hashes.json"
LENGTHS = (30, 300, 3000)
NAMES = (*CONTROLS, "perfect")
TARGET = [(0, -1, -1, 1), (1, -1, -1, 2), (1, 0, -1, 2), (3, -1, 2, 3), (-4, -1, 4, 6)]
START = [(0, -1, -3, 2), (0, 0, -3, 4), (2, -1, 0, 5)]
TASKS = (
    Task("", TARGET),
    Task("", TARGET, starting_grid=START),
    Task("", TARGET, starting_grid=START, invariant=True),
)
RULES = (
    EpisodeRules(step_cost=0.25, turn_steps=7),
    EpisodeRules(completion="cover", shifts="inside"),
    EpisodeRules(size_reward=True),
)
POSES = ((0.3, -0.25, 0.6, 350.0, -40.0), (-2.0, 0.5, 3.0, 10.0, -60.0))
SIZE = (18, 24)  # of pictures, in pixels
EYES = np.array([[0.0, 2.0, 4.0, 0.0, -30.0], [-3.0, 1.0, 3.0, 45.0, -10.0]])


def drawn(name: str, step: int, shape: tuple[int, ...]) -> Any:
    """Numbers in 0..1 of a step, float64 [shape]."""
    size = int(np.prod(shape))
    octets = hashlib.shake_256(f"{name} {step}".encode()).digest(4 * size)
    return (np.frombuffer(octets, "<u4") / 2**32).reshape(shape)


def actions(controls: Controls, step: int, count: int) -> Any:
    """What all worlds do in a step."""
    if controls.on_cells:
        low, high = np.array((0, 3, 3, 0)), np.array((4, 8, 8, 7))
        return (low + drawn("cells", step, (count, 4)) * (high - low)).astype(np.int64)
    if controls.name == "walking":
        return (drawn("walking", step, (count,)) * 18).astype(np.int64)
    made: dict[str, Any] = {}
    for key, space in controls.space.spaces.items():  # type: ignore[attr-defined]
        if hasattr(space, "n"):
            made[key] = (drawn(key, step, (count,)) * space.n).astype(np.int64)
        else:
            span = np.minimum(space.high, 9.0)
            made[key] = ((2 * drawn(key, step, (count, *space.shape)) - 1) * span).astype(np.float32)
    return made


def hashes(name: str, steps: int) -> dict[str, str]:
    """The hashes of a trajectory under one encoding, by its length, up to `steps`."""
    controls = Controls("cells") if name == "perfect" else Controls(name)  # type: ignore[arg-type]
    cases = [(task, rules) for task in TASKS for rules in RULES]
    worlds = Worlds(len(cases))
    for index, (task, rules) in enumerate(cases):
        worlds.spawn(index, task, rules, POSES[index % 2])
    seen, found = hashlib.sha256(), {}
    for step in range(1, min(steps, LENGTHS[-1]) + 1):
        records, numbers = controls.encode_many(actions(controls, step, len(cases)), len(cases))
        worlds.step(records[numbers])
        records = np.ascontiguousarray(worlds.state).view(np.uint8).reshape(len(cases), -1)
        seen.update(np.ascontiguousarray(records[:, :KNOWN]).tobytes())
        if step in LENGTHS:
            grids = np.ascontiguousarray(worlds.grid[: len(EYES)])
            own = paint_scenes(
                np.ascontiguousarray(worlds.grid[:2]), np.ascontiguousarray(worlds.pose[:2]), SIZE
            )
            pictures = hashlib.sha256(paint_scenes(grids, EYES, SIZE).tobytes() + own.tobytes())
            found[str(step)] = f"{seen.hexdigest()[:24]} {pictures.hexdigest()[:24]}"
    return found


def all_hashes(steps: int) -> dict[str, dict[str, str]]:
    """Of all encodings."""
    return {name: hashes(name, steps) for name in NAMES}


def of_batch(threads: int) -> str:
    """The hash of what a batch shows, pictures included, led by that many threads."""
    import gymnasium as gym

    env = gym.make_vec(
        "IGLUGridworld-v0",
        num_envs=2100,
        num_threads=threads,
        tasks=list(TASKS),
        max_steps=3,
        render_size=(24, 18),
    )
    env.reset(seed=0)
    seen = hashlib.sha256()
    for step in range(5):
        shown, *results, _ = env.step((drawn("batch", step, (2100,)) * 18).astype(np.int64))
        for part in (*(shown[key] for key in sorted(shown) if isinstance(shown[key], np.ndarray)), *results):
            seen.update(
                repr(part.tolist()).encode() if part.dtype == object else np.ascontiguousarray(part).tobytes()
            )
    env.close()
    return seen.hexdigest()[:24]


def main() -> None:
    """Print the hashes of so many steps, freeze them, or compare them with the frozen ones."""
    freeze, check = (word in sys.argv for word in ("--freeze", "--check"))
    steps = LENGTHS[-1] if freeze or check else int(sys.argv[1])
    found: dict[str, Any] = all_hashes(steps)
    if not os.environ.get("NUMBA_DISABLE_JIT"):
        found["batch"] = {str(threads): of_batch(threads) for threads in (1, 2, 3)}
    text = json.dumps(found, indent=1) + "\n"
    if check:
        sys.exit(text != FROZEN.read_text(encoding="utf-8"))
    if freeze:
        FROZEN.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
