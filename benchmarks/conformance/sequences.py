"""Random programs of calls of `gridworld`: run in a checkout of it, or here, with the state after each call.

`python sequences.py SEED COUNT CHECKOUT` or, of this package, `python sequences.py SEED COUNT`. Standard library and
NumPy only. Standard output, last line: a JSON list with a program's options, calls and states in each element.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import warnings
from typing import Any

import numpy as np

CALLS = 12
Program = dict[str, Any]


# --- programs: plain data, equal for both sides ------------------------------------------------------------------


def _cell(rng: random.Random) -> list[int]:
    return [rng.randint(-3, 3), rng.choice((-1, -1, -1, 0, 1)), rng.randint(-3, 3), rng.randint(1, 6)]


def _blocks(rng: random.Random, most: int) -> list[list[int]]:
    cells = {tuple(cell[:3]): cell for cell in (_cell(rng) for _ in range(rng.randint(0, most)))}
    return list(cells.values())


def _task(rng: random.Random) -> Program:
    start = _blocks(rng, 4)
    target = {tuple(cell[:3]): cell for cell in (*start[rng.randint(0, 1) :], *_blocks(rng, 4), _cell(rng))}
    whole = {**target, **{tuple(cell[:3]): cell for cell in _blocks(rng, 3)}}
    return {
        "chat": f"<Architect> {rng.randint(0, 999)}",
        "target": list(target.values()),
        "start": start,
        "full": list(whole.values()) if rng.random() < 0.3 else None,
        "invariant": rng.random() < 0.7,
    }


def _pose(rng: random.Random) -> list[float]:
    yaw, pitch = rng.choice(((0, 360, 1), (-720, 720, 45))), rng.choice(((-90, 90, 1), (-200, 360, 5)))
    return [
        *(rng.choice((rng.randint(-5, 5), round(rng.uniform(-7, 7), 2))) for _ in range(1)),
        rng.choice((0, 0, 1, 3, round(rng.uniform(-0.25, 6), 2))),
        *(rng.choice((rng.randint(-5, 5), round(rng.uniform(-7, 7), 2))) for _ in range(1)),
        rng.randrange(*yaw),
        rng.randrange(*pitch),
    ]


def _walk(rng: random.Random) -> list[int]:
    """Numbered actions: often a look down, a block and a look round."""
    if rng.random() < 0.4:
        return [rng.randrange(18) for _ in range(rng.randint(1, 15))]
    down = [14] * rng.randint(5, 12)
    acts = [rng.choice((rng.randint(6, 11), 16, 17, 5, 1, 12, 13, 13)) for _ in range(rng.randint(2, 8))]
    return down + acts


def _keys(rng: random.Random) -> list[Program]:
    names = ("forward", "back", "left", "right", "jump", "attack", "use")
    actions = []
    for _ in range(rng.randint(1, 12)):
        action: Program = {name: int(rng.random() < 0.2) for name in names}
        action["camera"] = [rng.choice((0, 5, -5, 2.5)), rng.choice((0, -5, -5, 5))]
        action["hotbar"] = rng.choice((0, 0, rng.randint(1, 6)))
        actions.append(action)
    return actions


def _flight(rng: random.Random) -> list[Program]:
    return [
        {
            "movement": [rng.choice((0, 0, 1, -1, 0.5)) for _ in range(3)],
            "camera": [rng.choice((0, 5, -5)), rng.choice((0, -5, 5))],
            "inventory": rng.choice((0, 0, rng.randint(1, 6))),
            "placement": rng.choice((0, 1, 2)),
        }
        for _ in range(rng.randint(1, 12))
    ]


_ASSIGNED = {
    "max_steps": (3, 10, 40),
    "right_placement_scale": (2, 0.5),
    "wrong_placement_scale": (1, 0.25),
    "initial_position": ([1, 0, 2], [-2.5, 1, 3]),
    "initial_rotation": ([90, 0], [45, -30]),
    "select_and_place": (True, False),
    "step_no": (0, 7),
    "vector_state": (True, False),
    "target_in_obs": (True, False),
}


def _call(rng: random.Random, kind: str) -> list[Any]:
    name = rng.choices(
        ("step", "reset", "set_task", "set_session", "set_generator", "drop_generator", "initialize",
         "deinitialize", "assign"),
        (12, 3, 4, 1, 2, 1, 4, 2, 3),
    )[0]  # fmt: skip
    if name == "step":
        return [name, {"walking": _walk, "keys": _keys, "flying": _flight}[kind](rng)]
    if name == "set_task":
        return [name, _task(rng)]
    if name == "set_session":
        return [name, [_task(rng)["target"] for _ in range(4)], rng.randint(-1, 2)]
    if name == "set_generator":
        return [name, [_task(rng) for _ in range(3)]]
    if name == "initialize":
        return [name, rng.choice((None, _blocks(rng, 5), _blocks(rng, 5))), _pose(rng)]
    if name == "assign":
        attribute = rng.choice(sorted(_ASSIGNED))
        return [name, attribute, rng.choice(_ASSIGNED[attribute])]
    return [name]


def program(seed: int) -> Program:
    """Return a program: how the environment is made, and its calls."""
    rng = random.Random(seed)
    kind = rng.choice(("walking", "walking", "walking", "keys", "flying"))
    options = {
        "discretize": kind != "keys",
        "action_space": "flying" if kind == "flying" else "walking",
        "select_and_place": rng.random() < 0.7,
        "max_steps": rng.choice((20, 60, 250)),
        "right_placement_scale": rng.choice((1, 2, 0.5)),
        "wrong_placement_scale": rng.choice((0.1, 1)),
    }
    made = rng.choice(("GridWorld", "GridWorld", "create_env", "make"))
    if made != "GridWorld":
        options["size_reward"] = rng.random() < 0.4
    first = ["set_task", _task(rng)]
    calls = [_call(rng, kind) if n or rng.random() < 0.1 else first for n in range(CALLS)]
    return {"seed": seed, "made": made, "options": options, "calls": calls}


# --- running them -------------------------------------------------------------------------------------------------


class _Generator:
    def __init__(self, tasks: list[Any]) -> None:
        self.tasks, self.given = tasks, 0

    def reset(self) -> Any:
        self.given += 1
        return self.tasks[self.given % len(self.tasks)]


class Side:
    """One of the two packages."""

    def __init__(self, checkout: str | None) -> None:
        if checkout is None:
            from iglu_marl.compat import gym
            from iglu_marl.compat.gridworld import env, tasks
            from iglu_marl.compat.gridworld.tasks import task
        else:
            sys.path.insert(0, checkout)
            import gym  # type: ignore[import-not-found,no-redef]
            from gridworld import env, tasks  # type: ignore[import-not-found,no-redef]
            from gridworld.tasks import task  # type: ignore[import-not-found,no-redef]
        self.gym, self.env, self.tasks, self.sessions = gym, env, tasks, task.Subtasks

    def task(self, said: Program) -> Any:
        """Return a task of this side."""
        dense = self.tasks.Tasks.to_dense
        return self.tasks.Task(
            said["chat"],
            dense(said["target"]),
            starting_grid=[tuple(block) for block in said["start"]],
            full_grid=None if said["full"] is None else dense(said["full"]),
            invariant=said["invariant"],
        )

    def make(self, made: str, options: Program) -> Any:
        """Return an environment of this side."""
        if made == "GridWorld":
            return self.env.GridWorld(render=False, vector_state=True, **options)
        options = {"render": False, "vector_state": True, **options}
        return (
            self.env.create_env(**options)
            if made == "create_env"
            else self.gym.make("IGLUGridworld-v0", **options)
        )

    def run(self, one: Program) -> list[Any]:
        """Return the state after each call of a program."""
        env = self.make(one["made"], one["options"])
        if one["made"] == "make":  # its outer wrapper asks for a reset first
            env = env.env if hasattr(env, "env") and "Order" in type(env).__name__ else env
        states = []
        for call in one["calls"]:
            rewards: list[Any] = []
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    seen = self.call(env, call, rewards)
                states.append({**self.state(env), "rewards": rewards, "seen": seen})
            except ValueError:
                states.append({"error": "ValueError", "rewards": rewards})
        return states

    def call(self, env: Any, call: list[Any], rewards: list[Any]) -> Any:
        """Make one call. Return what was observed last, and append rewards and ends."""
        name, *given = call
        world = env.unwrapped
        if name == "step":
            observation = None
            for action in given[0]:
                observation, reward, done, _ = env.step(_as_action(action))
                rewards.append([float(reward), bool(done)])
            return _seen(observation)
        if name == "reset":
            return _seen(env.reset())
        if name == "set_task":
            env.set_task(self.task(given[0]))
        elif name == "set_session":
            said = [[f"<Architect> turn {n}"] for n in range(len(given[0]))]
            worlds = [[tuple(block) for block in blocks] for blocks in given[0]]
            session = self.sessions(said, worlds, invariant=True, progressive=False)
            session.next = given[1]
            env.set_task(session)
        elif name == "set_generator":
            env.set_task_generator(_Generator([self.task(task) for task in given[0]]))
        elif name == "drop_generator":
            env.set_task_generator(None)
        elif name == "initialize":
            blocks = None if given[0] is None else [tuple(block) for block in given[0]]
            env.initialize_world(blocks, tuple(given[1]))
        elif name == "deinitialize":
            env.deinitialize_world()
        else:
            setattr(world, given[0], tuple(given[1]) if isinstance(given[1], list) else given[1])
        return None

    def state(self, env: Any) -> Program:
        """Return what there is besides observations."""
        world = env.unwrapped
        cells = np.argwhere(world.grid)
        return {
            "grid": [[*cell, int(world.grid[tuple(cell)])] for cell in cells.tolist()],
            "position": [float(x) for x in world.agent.position],
            "rotation": [float(x) for x in world.agent.rotation],
            "speed": float(world.agent.dy),
            "inventory": [int(n) for n in world.agent.inventory],
            "active": int(world.agent.active_block),
            "step_no": world.step_no,
            "max_int": int(world.max_int),
            "chat": world.task.chat,
        }


def _as_action(action: Any) -> Any:
    if not isinstance(action, dict):
        return action
    return {
        key: np.array(value, np.float32) if isinstance(value, list) else value
        for key, value in action.items()
    }


def _seen(observation: Any) -> Any:
    return {
        key: value.tolist() if isinstance(value, np.ndarray) and key != "grid" else str(np.sum(value != 0))
        for key, value in (observation or {}).items()
        if key not in ("dialog", "target_grid")
    }


def is_close(one: Any, other: Any) -> bool:
    """Return whether two results are equal, numbers to nine digits."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_close, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return isinstance(other, (int, float)) and abs(one - other) < 1e-9
    return bool(one == other)


def main() -> None:
    """Run programs and print their states."""
    seed, count, *checkout = sys.argv[1:]
    with contextlib.redirect_stdout(sys.stderr):
        side = Side(*checkout or [None])  # type: ignore[list-item]
        programs = [program(number) for number in range(int(seed), int(seed) + int(count))]
        results = [{**one, "states": side.run(one)} for one in programs]
    print("\n" + json.dumps(results))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
