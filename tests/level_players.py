"""Players that lack something, on the test split of the benchmark's levels: `python tests/level_players.py`.

No code of the audits is used: only environments, tasks, and the agents that the demonstrations are made with.

| player | |
|---|---|
| constant | the best of all single actions and of all "turn, look down, place this color" |
| open loop | the most frequent action of each step of the demonstrations |
| blind | a learner that hears what is said, and observes nothing else |
| muted | the same learner, which hears nothing; on `see` levels, which does not observe the target |
| full | the same learner with all observations |

The learner counts, on demonstrations of the oracle from the training split and apart for each step, how often each
feature of the observation goes with each action: words, pairs of words, blocks, their places and colors, pose, patches
of the picture, its own last action, words together with that or with its direction. It follows the feature that
leaves the least doubt. The best constant player is chosen on the measured tasks if these are the whole split, else on
others. Single actions are repeated for at most 400 steps. Where the chat has symbols, this script says place and color
of each block.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

import iglu_marl
from iglu_marl import DataError, Role, Task
from iglu_marl.agents import agents_for
from iglu_marl.benchmark import Level, find, levels, make

AUDITS = Path(iglu_marl.__file__).parent / "benchmark" / "audits.json"
SEEN = ("see", "did")
HEARD = ("hear", "did", "hear did")
PLAYERS = {"open loop": (), "blind": HEARD, "muted": SEEN, "full": (*SEEN, *HEARD, "target", "hear facing")}
COMPASS = ((0, -1), (1, 0), (0, 1), (-1, 0))  # north, east, south, west
TURN, MOVE = ((), (1,), (3,), (2,)), (6, 8, 7, 9)  # grid actions towards the quarters, clockwise from ahead
GRID = [[*turn, 4, color] for turn in TURN for color in range(11, 17)]
TURNS = ((), (12,) * 18, (13,) * 18, (13,) * 36)  # by 5° each
WALKING = [[*turn, *[15] * down, color, 17] for turn in TURNS for down in (6, 8) for color in range(6, 12)]
Choice = Callable[
    [str, Mapping[str, Any], int, int], int | None
]  # of builder, observation, last action, step


def features(seen: Mapping[str, Any], did: int, keys: Sequence[str]) -> set[tuple[Any, ...]]:
    """Return what is observed under some keys, in parts."""
    found: set[tuple[Any, ...]] = {("did", did)}
    for key in keys:
        value = seen[key]
        if key == "dialog":
            words = value.split() if isinstance(value, str) else value[value != 0].tolist()
            symbols = len(words) < 8  # which stand at fixed places
            found |= {("hear", place * symbols, word) for place, word in enumerate(words)}
            found |= {("hear", *pair) for pair in pairwise(words)}
        elif key in ("grid", "target_grid"):
            tag = "target" if key == "target_grid" else "see"
            blocks = [(*cell, int(value[tuple(cell)])) for cell in np.argwhere(value).tolist()]
            found |= {part for block in blocks for part in ((tag, *block), (tag, *block[:3]))}
            found |= {(tag, place, part) for block in blocks for place, part in enumerate(block)}
        else:
            if key == "pov":
                value = value.reshape(8, len(value) // 8, 8, len(value) // 8, 3).mean((1, 3)) / 64
            found |= {("see", key, place, round(float(part))) for place, part in enumerate(np.ravel(value))}
    heard = [part for part in found if part[0] == "hear"]
    facing = [part for part in found if part[:3] in (("see", "compass", 0), ("see", "agentPos", 4))]
    found |= {("hear facing", *pair) for pair in product(heard, facing)}
    return found | {("hear did", part, did) for part in heard}


class Learner:
    """Follow the surest feature of each step. games: features and actions. parts: kinds of features to use."""

    def __init__(self, games: Sequence[Sequence[tuple[Any, int]]], parts: Sequence[str]) -> None:
        counts: dict[Any, Counter[int]] = defaultdict(Counter)
        for step, (seen, action) in (row for game in games for row in enumerate(game)):
            for part in [("any",), *(part for part in seen if part[0] in parts)]:
                counts[step, part][action] += 1
        self._surest = {
            key: max((often / (found.total() + 1), -action) for action, often in found.items())
            for key, found in counts.items()
        }

    def __call__(self, seen: set[tuple[Any, ...]], step: int) -> int | None:
        """Return an action; None after the longest demonstration."""
        known = [self._surest[step, part] for part in (("any",), *seen) if (step, part) in self._surest]
        return -max(known)[1] if known else None


def encoded(space: Any, number: int) -> Any:
    """Return a builder's action without words."""
    if isinstance(space, spaces.Dict):
        return {key: encoded(part, number if key == "act" else 0) for key, part in space.items()}
    if isinstance(space, spaces.Discrete):
        return number
    return "" if isinstance(space, spaces.Text) else np.array([number] + [0] * (space.shape[0] - 1))


class Games:
    """Games of a split of a level. pictures: whether the builder gets pictures, if the level has any."""

    def __init__(self, level: Level, split: Any, pictures: bool = True) -> None:
        own = [name for name in level.sees if pictures or name != "pov"]
        self.keys = [name.replace("pose", "agentPos") for name in own] + ["target_grid"] * level.sees_target
        self.level, self.grid, self.pair = level, level.controls == "grid", level.is_pair
        self.env = env = make(replace(level, sees=tuple(dict.fromkeys([*own, "grid", "pose"]))), split)
        agents = getattr(env, "possible_agents", ["builder_0"])
        self.builders = [agent for agent in agents if agent.startswith("builder")]
        self.architects = [agent for agent in agents if agent not in self.builders]
        self.spaces = {one: env.action_space(one) if self.pair else env.action_space for one in agents}
        space = self.spaces["builder_0"]
        space = space["act"] if isinstance(space, spaces.Dict) else space
        self.actions = int(space.n if isinstance(space, spaces.Discrete) else space.nvec[0])
        self.symbols = level.game.get("max_message_length", 0) if "vocabulary" in level.game else 0
        names = ("random",) if self.symbols else level.architects.get(split, ("scripted",))
        found = [agents_for(env, name, "random" if self.grid else "oracle") for name in names]
        self.teams = [
            {f"{one.value}_0" if isinstance(one, Role) else one: agent for one, agent in team.items()}
            for team in found
        ]

    def code(self, task: Task) -> Any:
        """Return place and color of each block as symbols; silence if they do not fit."""
        cells = np.argwhere(task.target_grid != task.start_grid).tolist()
        if 2 * len(cells) > self.symbols:
            return np.zeros(self.symbols, np.int64)
        first, colors = (
            10 if self.symbols > 2 else 1,
            list(getattr(self.level.content, "content", self.level.content).colors),
        )
        places = [((x - 4) * 3 + z - 3, int(task.target_grid[y, x, z])) for y, x, z in cells]
        return np.ravel([(place, first + colors.index(color)) for place, color in places])

    def play(self, task: Task, number: int, choose: Choice) -> bool:
        """Play a task; return whether it is a success."""
        needed = np.count_nonzero(task.start_grid != task.target_grid)
        allowed = np.inf if self.level.spare is None else needed + self.level.spare
        seen, _ = self.env.reset(seed=number, options={"task": task})
        own = seen if self.pair else {"builder_0": seen}
        team, changes, did = self.teams[number % len(self.teams)], 0, dict.fromkeys(self.builders, -1)
        for one in self.architects:
            team[one].reset(Role.ARCHITECT, number)
        for step in range(self.level.max_steps):
            before = own["builder_0"]["grid"].copy()
            acts = {
                one: self.code(task) if self.symbols else team[one].act(own[one]) for one in self.architects
            }
            for one in self.builders:
                if (chosen := choose(one, own[one], did[one], step)) is None:
                    return False
                did[one], acts[one] = chosen, encoded(self.spaces[one], chosen)
            seen, _, *ends, _ = self.env.step(acts if self.pair else acts["builder_0"])
            own = seen if self.pair else {"builder_0": seen}
            changes += np.count_nonzero(before != own["builder_0"]["grid"])
            completed, late = (end["builder_0"] if self.pair else end for end in ends)
            if completed or late or changes > allowed:
                return bool(completed and changes <= allowed)
        return False

    def share(self, tasks: Sequence[Task], choose: Choice) -> float:
        """Return the share of successes."""
        return float(np.mean([self.play(task, number, choose) for number, task in enumerate(tasks)]))

    def shown(self, task: Task, number: int, plan: list[int]) -> dict[str, list[Any]] | None:
        """Return features and actions of the oracle by builder, or those of a plan; None if it fails."""
        team, rows = self.teams[number % len(self.teams)], {one: list[Any]() for one in self.builders}
        waits = self.code(task).any() if self.symbols else bool(self.architects or self.level.architects)

        def choose(one: str, seen: Any, did: int, step: int) -> int:
            chosen = 0
            if not waits or did > 0 or (len(seen["dialog"]) and np.any(seen["dialog"] != 0)):
                action = (plan.pop(0) if plan else 0) if self.grid else team[one].act(seen)
                chosen = int(action["act"] if isinstance(action, Mapping) else action)
            rows[one].append((features(seen, did, self.keys), chosen))
            return chosen

        for one in () if self.grid else self.builders:
            team[one].reset(Role.BUILDER, number, task=task)
        return rows if self.play(task, number, choose) else None


def fixed(actions: Sequence[int]) -> Choice:
    """Return the choice of these actions, one after the other."""
    return lambda *now: actions[now[-1]] if now[-1] < len(actions) else None


def plans(task: Task) -> list[list[int]]:
    """Return grid actions that place the blocks of a task on the ground, if none is in the way, the shortest first."""
    cells = np.argwhere(task.target_grid != task.start_grid).tolist()
    blocks = [(x - 5, z - 5, 10 + int(task.target_grid[y, x, z])) for y, x, z in cells]
    start = round(task.pose.yaw_deg / 90) if task.pose else 0
    found = []
    for order, quarters in product(permutations(blocks), product(range(4), repeat=len(blocks))):
        steps, here, heading, looks = list[int](), (0, 0), start, [4]
        for (x, z, color), quarter in zip(order, quarters, strict=True):
            goal = (x - COMPASS[quarter][0], z - COMPASS[quarter][1])
            ways = [1 if goal[0] > here[0] else 3] * abs(goal[0] - here[0])
            ways += [2 if goal[1] > here[1] else 0] * abs(goal[1] - here[1])
            steps += [MOVE[(way - heading) % 4] for way in ways]
            steps += [*TURN[(quarter - heading) % 4], *looks, color]
            here, heading, looks = goal, quarter, []
        found.append(steps)
    return sorted(found, key=len)


def tasks_of(level: Level, split: Any, count: int, seed: int) -> list[Task]:
    """Return tasks of a split: all, if these are no more than `count`."""
    source, rng = level.tasks(split), np.random.default_rng(seed)
    if not hasattr(source, "__len__"):
        return [source.sample(rng) for _ in range(count)]
    return [source[int(number)] for number in sorted(rng.permutation(len(source))[:count])]


def by_learning(
    level: Level, demonstrations: Sequence[Any], parts: Sequence[str], tested: Sequence[Task]
) -> float:
    """Return the share of successes of a learner."""
    games = Games(level, "test", pictures="see" in parts)
    learners = {one: Learner([rows[one] for rows in demonstrations], parts) for one in games.builders}

    def choose(one: str, seen: Any, did: int, step: int) -> int | None:
        return learners[one](features(seen, did, games.keys) if parts else set(), step)

    return games.share(tested, choose)


def scores(level: Level, tests: int) -> tuple[int, int, dict[str, float | None]]:
    """Return numbers of contents and demonstrations, and the successes of each player; None: nothing is said."""
    tested, others = (tasks_of(level, "test", tests, seed) for seed in (0, 1))
    plain, train, longest = (
        Games(level, "test", pictures=False),
        Games(level, "train"),
        min(400, level.max_steps),
    )
    ways = [[action] * longest for action in range(plain.actions)]
    ways += [[*way, 0, 0] for way in (GRID if train.grid else WALKING)]
    best = max((fixed(way) for way in ways), key=lambda choose: plain.share(others, choose))
    found: dict[str, float | None] = {"constant": plain.share(tested, best)}
    demonstrations = []
    for number, task in enumerate(tasks_of(level, "train", 4 * tests, 2)):
        tries = (train.shown(task, number, plan) for plan in (plans(task) if train.grid else [[]]))
        demonstrations += [rows for rows in [next(filter(None, tries), None)] if rows]
    heard = any(part[0] == "hear" for rows in demonstrations for part in rows["builder_0"][-1][0])
    for name, parts in PLAYERS.items():
        possible = demonstrations and (heard or name != "blind")
        found[name] = by_learning(level, demonstrations, parts, tested) if possible else None
    contents = {task.start_grid.tobytes() + task.target_grid.tobytes() for task in tested}
    return len(contents), len(demonstrations), found


def interval(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's interval for 95 %."""
    z, middle = 1.96, share + 1.96**2 / (2 * count)
    wide = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, (middle - wide) / (1 + z * z / count)), (middle + wide) / (1 + z * z / count)


def row(level: Level, tests: int) -> str:
    """Return a row of the table."""
    start = time.process_time()
    chance = json.loads(AUDITS.read_text(encoding="utf-8"))["levels"][level.name]["chance"]
    count, shown, found = scores(level, tests)
    cells, beyond = [], []
    for name, share in found.items():
        low, high = (0.0, 1.0) if share is None else interval(share, count)
        cells.append("–" if share is None else f"{100 * share:.1f} ({100 * low:.1f}–{100 * high:.1f})")
        beyond += [name] if low > chance else []
    parts = [f"`{level.name}`", count, shown, f"{100 * chance:.1f}", *cells, ", ".join(beyond) or "–"]
    return f"| {' | '.join(map(str, parts))} | {time.process_time() - start:.0f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("levels", nargs="*", help="names; by default, all of version 1")
    parser.add_argument("--tests", type=int, help="tasks of the test split; by default 16 to 100")
    args = parser.parse_args()
    names = ("level", "contents", "shown", "chance", "constant", *PLAYERS, "above chance", "seconds")
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for level in map(find, args.levels) if args.levels else levels():
        try:
            print(row(level, args.tests or min(100, max(16, 16_000 // level.max_steps))), flush=True)
        except DataError as error:
            print(f"{level.name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
