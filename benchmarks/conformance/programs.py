"""Public programs around the older tools, run in a checkout of the tool or, with other imports alone, here.

`python programs.py NAME CHECKOUT TOOL` runs a program of a checkout with the tool of another, and
`python programs.py NAME CHECKOUT` with this package. Standard library and NumPy only. Standard output, last line: JSON
with the return of each episode, its length, and a digest of all worlds, poses, stocks, rewards and ends.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import os
import random
import shutil
import sys
import tempfile
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from runner import migrated  # type: ignore[import-not-found]

EPISODES = 60


class _MultiAgent:
    """Stands for Sample Factory's wrapper of one agent: lists of one."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self) -> list[Any]:
        return [self.env.reset()]

    def step(self, actions: list[Any]) -> tuple[list[Any], ...]:
        observation, reward, done, info = self.env.step(actions[0])
        return [observation], [reward], [done], [info]


def _stub(name: str, **names: Any) -> None:
    """Make a module importable that the environment's code does not need."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        path = ".".join(parts[:count])
        module = sys.modules.setdefault(path, types.ModuleType(path))
        module.__path__ = []
        if count > 1:
            setattr(sys.modules[".".join(parts[: count - 1])], parts[count - 1], module)
    vars(sys.modules[name]).update(names)


def _episodes(env: Any, act: Callable[[], Any], world: Callable[[], list[Any]], count: int) -> dict[str, Any]:
    """Play episodes. Return returns, lengths and the digest."""
    digest, returns, lengths = hashlib.sha256(), [], []
    for _ in range(count):
        env.reset()
        total, steps, done = 0.0, 0, False
        while not done:
            _, reward, done, info = env.step(act())
            reward = float(np.sum(reward))
            done, info = (done[0], info[0]) if isinstance(done, list) else (done, info)
            total, steps = total + reward, steps + 1
            seen = [*world(), round(reward, 9), bool(done), str(info.get("done"))]
            digest.update(json.dumps(seen).encode())
        returns.append(round(total, 6))
        lengths.append(steps)
    return {"returns": returns, "lengths": lengths, "digest": digest.hexdigest()}


def _state(env: Any) -> list[Any]:
    env = env.unwrapped
    cells = np.argwhere(env.grid).tolist()
    pose = [round(float(x), 9) for x in (*env.agent.position, *env.agent.rotation)]
    return [cells, pose, [int(n) for n in env.agent.inventory]]


def baseline_of_2022() -> dict[str, Any]:
    """iglu-2022-rl-baseline: `utils.create_env.make_iglu`, random actions that look down and place."""
    _stub("sample_factory.algorithms.utils.multi_agent_wrapper", MultiAgentWrapper=_MultiAgent)
    _stub("cv2")
    _stub("matplotlib.pyplot")
    env = importlib.import_module("utils.create_env").make_iglu()
    rng = np.random.RandomState(1)
    odds = np.array([1, 2, 1, 1, 1, 2, *[2] * 6, 3, 3, 6, 2, 3, 1], float)

    def act() -> list[int]:
        return [int(rng.choice(18, p=odds / odds.sum()))]

    return _episodes(env, act, lambda: _state(env), EPISODES)


def loop_of_2022() -> dict[str, Any]:
    """The loop of gridworld's README with a task that the tool can step, by numbers, keys and flight."""
    gym = importlib.import_module(_GYM)
    tasks = importlib.import_module(_NAME.format("gridworld.tasks"))
    importlib.import_module(_NAME.format("gridworld"))
    found = {}
    for name, options in {
        "default": {},
        "scales": {"size_reward": False},
        "plain": {"select_and_place": False},
    }.items():
        env = gym.make("IGLUGridworld-v0", vector_state=True, **options)
        rng = np.random.RandomState(2)
        target = tasks.Tasks.to_dense([(0, -1, -2, 1), (0, -1, -1, 2)])
        env.set_task(tasks.Task("", target, starting_grid=[]))

        def act(rng: Any = rng) -> int:
            return int(rng.choice([*range(18), *[14] * 6]))

        found[name] = _episodes(env, act, functools.partial(_state, env), 10)
    return found


PROGRAMS: dict[str, Callable[[], dict[str, Any]]] = {
    "iglu-2022-rl-baseline": baseline_of_2022,
    "gridworld": loop_of_2022,
}
_GYM, _NAME = "gym", "{}"


def _copy(checkout: Path, folder: Path, change: Callable[[str], str]) -> None:
    """Copy the Python files of a checkout with changed imports."""
    for file in checkout.rglob("*.py"):
        place = folder / file.relative_to(checkout)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(change(file.read_text("utf-8")), "utf-8")


def main() -> None:
    """Run a program and print what became of it."""
    global _GYM, _NAME
    name, checkout, *tool = sys.argv[1:]
    if not hasattr(np, "int"):  # older code uses this alias
        np.int = int  # type: ignore[attr-defined]  # noqa: NPY001
    folder = Path(tempfile.mkdtemp())
    try:
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if tool:
                sys.path.insert(0, tool[0])
            else:
                _GYM, _NAME = "iglu_marl.compat.gym", "iglu_marl.compat.{}"
            if name != "gridworld":
                _copy(Path(checkout).resolve(), folder, str if tool else migrated)
                sys.path.insert(0, str(folder))
            os.chdir(folder)
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002 (the programs draw from it)
            found = PROGRAMS[name]()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + json.dumps(found))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
