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
import importlib.util
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


def _structures() -> None:
    """Write small structures, under ids of the corpus, where both tools look for them."""
    blocks = {
        "C1": [[0, -1, 0, 1]],
        "C2": [[0, -1, 0, 1], [1, -1, 0, 1]],
        "C8": [[0, -1, 0, 1], [0, 0, 0, 1]],
    }
    data = {"colours": {"1": "blue"}, "structures": {key: {"blocks": one} for key, one in blocks.items()}}
    Path("structures.json").write_text(json.dumps(data), "utf-8")
    os.environ["IGLU_DATA_PATH"] = os.getcwd()


def _submission() -> dict[str, Any]:
    """Run `test_submission.py`, the local evaluation of a baseline, with an agent that acts at random."""
    rng = np.random.RandomState(5)

    class Agent:
        def __init__(self, action_space: Any) -> None:
            self.space = action_space

        def act(self, observation: Any, reward: float, done: bool, info: Any) -> Any:
            action = self.space.no_op()
            key = ("forward", "left", "use", "attack", "jump", "hotbar", "camera", "camera")[rng.randint(8)]
            action[key] = np.array([15.0, 10.0]) if key == "camera" else 1
            return action

    play = _module_of("test_submission.py")
    _stub("yaml")
    stats = play._play_game(Agent, {"action_space": "human-level"})["<fake_task_id>"]
    return {key: value for key, value in stats.items() if key != "action_space"}


def _world_of_2021(env: Any) -> list[Any]:
    """Return what a program of 2021 can read, and that the score is that of the task."""
    inner = env.unwrapped
    return [inner.task.task_monitor.max_int, int(np.count_nonzero(inner.tasks.current.target_grid))]


def rllib_of_2021() -> dict[str, Any]:
    """iglu-builder-baseline-rllib: `build_env` of its training, with its wrappers, on three kinds of tasks."""
    for name in ("ray.tune.models", "wandb", "cv2"):
        _stub(name)
    sys.modules["ray"].tune = sys.modules["ray.tune"]  # type: ignore[attr-defined]
    for name, wanted in {
        "ray.rllib.models": ["ModelCatalog"],
        "ray.tune.logger": ["DEFAULT_LOGGERS"],
        "ray.tune.integration.wandb": ["WandbLogger"],
        "filelock": ["FileLock"],
        "ray.rllib.evaluation.metrics": ["collect_episodes", "summarize_episodes"],
        "minerl_patched.herobraine.hero": ["spaces"],
        "model": ["GridBaselineModel", "PovBaselineModel"],
    }.items():
        _stub(name, **dict.fromkeys(wanted))
    _structures()
    build_env = importlib.import_module("train").build_env
    found = {}
    for mode, visual in (
        ("random_tasks", False),
        ("random_tasks", True),
        ("one_task", False),
        ("many_tasks", False),
    ):
        task_id = "C8" if mode == "one_task" else ["C1", "C2", "C8"]
        env = build_env(
            {
                "action_space": "human-level",
                "visual": visual,
                "size_reward": True,
                "task_mode": mode,
                "task_id": task_id,
                "random_tasks": {"max_blocks": 3},
                "time_limit": 100,
            }
        )
        rng = np.random.RandomState(3)

        def act(rng: Any = rng) -> int:
            return int(rng.choice([*range(18), *[9] * 6]))

        world = functools.partial(_world_of_2021, env)
        found[f"{mode}, {'pictures' if visual else 'grids'}"] = _episodes(env, act, world, 5)
    return found | {"test_submission.py": _submission()}


def dreamer_of_2021() -> dict[str, Any]:
    """iglu-builder-baseline-dreamer: `common.envs.Iglu` in the wrappers of its training."""
    _structures()
    envs = _module_of("common/envs.py")
    iglu = envs.Iglu("C8", asymmetric=True)
    env, game = envs.OneHotAction(iglu), iglu._env
    for wrap in (lambda one: envs.TimeLimit(one, 200), envs.RewardObs, envs.ResetObs):
        env = wrap(env)
    rng = np.random.RandomState(4)
    count = env.action_space["action"].n

    def act() -> dict[str, Any]:
        return {"action": np.eye(count, dtype=np.float32)[rng.choice([*range(count), *[9] * 6])]}

    found = {"training": _episodes(env, act, lambda: _world_of_2021(game), 10)}
    return found | {"test_submission.py": _submission()}


def _module_of(path: str) -> Any:
    """Import one file of the program without its package."""
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAMS: dict[str, Callable[[], dict[str, Any]]] = {
    "iglu-2022-rl-baseline": baseline_of_2022,
    "gridworld": loop_of_2022,
    "iglu-builder-baseline-rllib": rllib_of_2021,
    "iglu-builder-baseline-dreamer": dreamer_of_2021,
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
