"""Compiled and interpreted kernels do the same, to the last bit."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from probing import digest, frozen
from requirements import TEST_FOLDERS

from iglu_marl import Task
from iglu_marl.core.controls import CONTROLS, Controls
from iglu_marl.core.kernels.records import EpisodeRules
from iglu_marl.core.scoring import Target
from iglu_marl.core.worlds import Worlds

STEPS = 60
TARGET = [(0, -1, -1, 1), (1, -1, -1, 2), (1, 0, -1, 2), (3, -1, 2, 3), (-4, -1, 4, 6)]
START = [(0, -1, -3, 2), (0, 0, -3, 4), (2, -1, 0, 5)]
TASKS = {
    "free": Task("", TARGET),
    "from a start": Task("", TARGET, starting_grid=START),
    "free from a start": Task("", TARGET, starting_grid=START, invariant=True),
}
RULES = {
    "exact": EpisodeRules(step_cost=0.25, turn_steps=7, max_steps=50, max_turns=5),
    "cover": EpisodeRules(completion="cover", shifts="inside", right_scale=3.0, wrong_scale=0.5),
    "size": EpisodeRules(size_reward=True, completion_reward=2.0),
}
POSE = (0.3, -0.25, 0.6, 350, -40)


def mixed(controls: Controls, rng: np.random.Generator) -> object:
    """A random action that mostly looks down and often uses its hands."""
    if controls.on_cells:
        return rng.integers(0, (3, 11, 11, 7))
    if controls.name == "walking":
        return int(rng.choice([0, 1, 2, 3, 4, 5, 7, 9, 12, 13, 14, 15, 16, 17, 17, 17, 18]))
    action = controls.space.sample()
    if rng.random() < 0.7:
        action["camera"] = (rng.uniform(-1, 1, 2) * (5, 2)).astype(np.float32)
    for key in ("use", "placement"):
        if key in action and rng.random() < 0.4:
            action[key] = 1
    action["yield"] = int(rng.random() < 0.1)
    return action


def story(name: str) -> str:
    """Every byte of every state along a play of one encoding, over all tasks and rules, as a digest."""
    seen = hashlib.sha256()
    controls = Controls("cells") if name == "perfect" else Controls(name, can_yield=True)  # type: ignore[arg-type]
    controls.space.seed(5)
    rng = np.random.default_rng(5)
    cases = [(task, rules) for task in TASKS.values() for rules in RULES.values()]
    worlds = Worlds(len(cases))
    for index, (task, rules) in enumerate(cases):
        worlds.spawn(index, task, rules, POSE)
    for step in range(STEPS):
        worlds.step(controls.encode_batch([mixed(controls, rng) for _ in cases]))
        if step == STEPS // 2:
            for index, (task, rules) in enumerate(cases):
                worlds.retarget(index, task.replace(full_grid=task.target_grid), rules)
        seen.update(worlds.get_state().tobytes())
        seen.update(repr([worlds.alignment(index) for index in range(len(cases))]).encode())
    events = sorted(set(map(int, worlds.event)))
    return f"{seen.hexdigest()} {events} {worlds.blocks.tolist()}"


def scores() -> str:
    """The score as a function, over random grids."""
    rng = np.random.default_rng(6)
    seen = []
    for _ in range(3):
        grid, target = (rng.integers(0, 3, (9, 11, 11)) * (rng.random((9, 11, 11)) < 0.03) for _ in range(2))
        for shifts in ("all", "inside"):
            seen.append(frozen(Target(target, shifts).match_counts(grid)))
    return digest(seen)


def stories() -> dict[str, str]:
    return {**{name: story(name) for name in (*CONTROLS, "perfect")}, "scores": scores()}


@pytest.fixture(scope="module")
def interpreted() -> dict[str, str]:
    paths = os.pathsep.join([TEST_FOLDERS, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    code = "import json, test_interpreted; print(json.dumps(test_interpreted.stories()))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CONTROLS, "perfect", "scores"])
def test_compiled_is_interpreted(name: str, interpreted: dict[str, str]) -> None:
    assert (scores() if name == "scores" else story(name)) == interpreted[name]
