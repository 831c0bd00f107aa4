"""A silent builder of whole structures, walking: DAgger with the planner as teacher, in one file.

    python examples/dagger_silent_builder.py --minutes 5 --save runs/silent

The builder sees the target and has the 18 actions of 2022. Structures have 6 to 20 blocks: new random ones in every
episode, and three quarters of the bundled ones. At random times the planner (`plan(..., teach=True)`) takes over from
the learner for some steps, which are the training data (Ross et al., A Reduction of Imitation Learning to No-Regret
Online Learning, 2011). In the end it is tested on held-out structures, also without the target (hidden), without build
and aim (blind), and at random. With `--blind` and `--hidden` it also learns without them.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

import iglu_marl  # noqa: F401 - registers the environments
from iglu_marl import Controls, Task, Worlds
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import cells_of
from iglu_marl.evaluation.metrics import bootstrap
from iglu_marl.planning import plan
from iglu_marl.tasks import BundledTasks, RandomTasks, TaskSource

with extra("rl", script=True):
    import torch
    from torch.nn.functional import cross_entropy

    from iglu_marl.agents.learned.silent import (
        ACT_FEATURES,
        ACTIONS,
        CELL_FEATURES,
        NEAREST,
        OUTSIDE,
        RADIUS,
        Memory,
        SilentModel,
        act_view,
        choice_of,
        decide,
        place_of,
        scene_of,
    )

LEAST, MOST = 6, 20  # blocks
CONTROLS = Controls("walking")


class Settings(NamedTuple):
    """Settings of a run."""

    seed: int = 0
    minutes: float = 5.0  # of the processor
    blind: bool = False
    hidden: bool = False
    worlds: int = 64
    limit: int = 1000  # steps in an episode
    first: int = 30_000  # frames that the teacher alone shows, before the learner plays
    fresh: int = 8_000  # frames shown between two rounds of learning
    kept: int = 150_000  # frames that are remembered
    batches: int = 80  # of a round
    batch: int = 512
    rate: float = 1e-3
    shows: tuple[int, int] = (20, 80)  # steps that the teacher shows
    plays: tuple[int, int] = (5, 80)  # steps that the learner plays
    every: int = 15  # rounds between measurements
    tests: int = 200  # structures of the last one
    slips: float = 0.01  # share of random actions while the teacher alone shows


class Structures(TaskSource):
    """Random structures of 6 to 20 blocks, half of them from `known` if given."""

    def __init__(self, known: list[Task] | None = None) -> None:
        self.known = known or []
        self.made = RandomTasks(max_blocks=MOST, height_levels=3, max_dist=4, num_colors=6)

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        rng = self.rng if rng is None else rng
        if self.known and rng.random() < 0.5:
            return self.known[int(rng.integers(len(self.known)))]
        while True:
            task = self.made.sample(rng)
            if LEAST <= np.count_nonzero(task.target_grid) <= MOST:
                return task


def bundled(held_out: bool) -> list[Task]:
    """Return the bundled structures of 6 to 20 blocks; every fourth is held out."""
    tasks = [
        task
        for task in BundledTasks(mode="structures")
        if LEAST <= np.count_nonzero(task.target_grid) <= MOST
    ]
    return [task for number, task in enumerate(tasks) if (number % 4 == 3) == held_out]


def make(tasks: Any, count: int, limit: int) -> Any:
    """Return worlds with the observations of the builder."""
    return gym.make_vec(
        "IGLUGridworldVector-v0",
        num_envs=count,
        tasks=tasks,
        vector_state=True,
        target_egocentric=True,
        builder_sees=("aim", "egocentric"),
        egocentric_radius=RADIUS,
        max_steps=limit,
        autoreset_mode="SameStep",
        copy=False,
    ).unwrapped


def taken_away(seen: dict[str, np.ndarray], settings: Settings) -> dict[str, np.ndarray]:
    """Return the observations of a control."""
    seen = dict(seen)
    if settings.hidden:
        seen["target_egocentric"] = np.where(seen["target_egocentric"] == OUTSIDE, OUTSIDE, 0)
    if settings.blind:
        seen["egocentric"] = np.where(seen["egocentric"] == OUTSIDE, OUTSIDE, 0)
        seen["aim"] = seen["aim"] * 0
    return seen


def shown(worlds: Worlds, number: int, most: int = 100) -> list[tuple[int, np.ndarray]]:
    """What the teacher does first from where a world stands, up to its last edit among `most` steps.

    It builds the target as the score aligns it with the build. Actions with the cell of the map that the next edit is
    about; the next one last.
    """
    own = Worlds(1)
    own.state[0] = worlds.state[number]
    actions = plan(own, own.aligned_target(0), "walking", teach=True, max_actions=most).actions[:most]
    steps: list[tuple[int, np.ndarray]] = []
    for place, action in enumerate(actions):
        before = own.grid[0].copy()
        own.step(CONTROLS.encode_batch([action]))
        if (changed := cells_of(own.grid[0] != before)).size:
            steps += [(one, changed[0]) for one in actions[len(steps) : place + 1]]
    return steps[::-1]


class Frames(NamedTuple):
    """Actions of the teacher, one row per frame: candidate cells, the chosen one, features, action."""

    features: np.ndarray
    there: np.ndarray
    pointed: np.ndarray
    seen: np.ndarray
    actions: np.ndarray


class Lessons:
    """Worlds in which learner and teacher take turns."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.rng = settings, np.random.default_rng(settings.seed)
        self.env = make(Structures(bundled(held_out=False)), settings.worlds, settings.limit)
        self.seen, _ = self.env.reset(seed=settings.seed)
        self.memory = Memory(settings.worlds)
        self.plans: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(settings.worlds)]
        self.left = np.zeros(settings.worlds, np.int64)  # steps until the other takes over
        self.teaching = np.zeros(settings.worlds, bool)

    def frames(self, net: SilentModel | None, count: int) -> Frames:
        """Return at least `count` frames."""
        found, total = [], 0
        while total < count:
            found.append(self._step(net))
            total += len(found[-1].actions)
        return Frames(*map(np.concatenate, zip(*found, strict=True)))

    def _step(self, net: SilentModel | None) -> Frames:
        s, env, rng = self.settings, self.env, self.rng
        for number in np.flatnonzero(self.left <= 0):
            self.teaching[number] = net is None or not self.teaching[number]
            self.left[number] = rng.integers(*(s.shows if self.teaching[number] else s.plays))
            self.plans[number] = []
        for number in np.flatnonzero(self.teaching):
            if not self.plans[number]:
                self.plans[number] = shown(env.worlds, number)
                if not self.plans[number]:  # no plan from here: the learner or a random policy continues
                    self.teaching[number], self.left[number] = False, 10
        scene = scene_of(taken_away(self.seen, s))
        actions, goals = rng.integers(ACTIONS, size=s.worlds), self.memory.goal.copy()
        if net is not None and not self.teaching.all():
            actions, goals = decide(net, scene, self.memory, rng)
        taught = np.flatnonzero(self.teaching)
        steps = [self.plans[number].pop() for number in taught]
        labels = np.array([action for action, _ in steps], np.int64)
        # Half of the time the goal is hidden, so that the policy learns to choose one.
        self.memory.goal[rng.random(s.worlds) < 0.5] = -99
        choice = choice_of(scene, self.memory)
        frames = Frames(
            choice.features, choice.there, labels, labels, labels
        )  # nothing yet, where nothing is taught
        if len(taught):
            goals[taught] = np.stack([cell for _, cell in steps])
            wanted = place_of(goals, scene.cell, scene.quarter)
            same = (choice.places == wanted[:, None]).all(-1) & choice.there
            frames = Frames(
                choice.features, choice.there, same.argmax(1), act_view(scene, self.memory, wanted), actions
            )
        usable = taught[same[taught].any(1)] if len(taught) else taught
        actions[taught] = labels
        frames = Frames(*(part[usable].copy() for part in frames)) if len(usable) else NOTHING
        if net is None:  # slips, from which the teacher shows how to go on
            slips = taught[rng.random(len(taught)) < s.slips]
            actions[slips] = rng.integers(ACTIONS, size=len(slips))
            for number in slips:
                self.plans[number] = []
        heights = self.seen["agentPos"][:, 1].copy()
        self.seen, _, done, cut, _ = env.step(actions)
        self.memory.keep(actions, heights, goals)
        over = np.flatnonzero(done | cut)
        self.memory.forget(over)
        self.left -= 1
        self.left[over] = 0
        return frames


NOTHING = Frames(
    np.zeros((0, NEAREST, CELL_FEATURES), np.float32),
    np.zeros((0, NEAREST), bool),
    np.zeros(0, np.int64),
    np.zeros((0, ACT_FEATURES), np.float32),
    np.zeros(0, np.int64),
)


class Played(NamedTuple):
    """Results of games, [tasks]: whether the target was completed, and the largest share of it."""

    completed: np.ndarray
    share: np.ndarray


def play(
    net: SilentModel | None, tasks: list[Task], settings: Settings, temperature: float = 1.0, seed: int = 1
) -> Played:
    """Play with the learner, or at random without one."""
    env, rng = make(tasks[0], len(tasks), settings.limit), np.random.default_rng(seed)
    seen, _ = env.reset(seed=seed, options={"task": tasks})
    memory, running = Memory(len(tasks)), np.ones(len(tasks), bool)
    completed, share = np.zeros(len(tasks), bool), np.zeros(len(tasks))
    for _ in range(settings.limit):
        if not running.any():
            break
        actions, goals = rng.integers(ACTIONS, size=len(tasks)), memory.goal
        if net is not None:
            actions, goals = decide(net, scene_of(taken_away(seen, settings)), memory, rng, temperature)
        heights = seen["agentPos"][:, 1].copy()
        before = env.worlds.best / np.maximum(env.worlds.target_blocks, 1)
        share[running] = np.maximum(share, before)[running]
        seen, _, done, cut, _ = env.step(actions)
        memory.keep(actions, heights, goals)
        completed |= done & running
        running &= ~(done | cut)
    share[completed] = 1.0
    return Played(completed, share)


def held_out(count: int, seed: int = 10_000) -> dict[str, list[Task]]:
    """Return test structures: new random ones, and the held-out bundled ones."""
    rng, source = np.random.default_rng(seed), Structures()
    return {"random": [source.sample(rng) for _ in range(count)], "bundled": bundled(held_out=True)}


def train(settings: Settings, save: Path | None = None, report: bool = True) -> SilentModel:
    """Return a trained builder; `save`: file without suffix for weights and curve, from which a run resumes."""
    torch.manual_seed(settings.seed)
    net = SilentModel()
    curve: list[dict[str, float]] = []
    used, rounds = 0.0, 0
    if save is not None and save.with_suffix(".pt").exists():
        net.load_state_dict(torch.load(save.with_suffix(".pt"), weights_only=True))
        curve = json.loads(save.with_suffix(".json").read_text(encoding="utf-8"))["curve"]
        used = curve[-1]["minutes"]
    optimizer = torch.optim.Adam(net.parameters(), settings.rate)
    lessons, began = Lessons(settings), time.process_time()
    tests = held_out(24)
    data = lessons.frames(net if curve else None, settings.first)
    frames = len(data.actions) + (int(curve[-1]["frames"]) if curve else 0)
    order = np.random.default_rng(settings.seed + 1)
    while True:
        minutes = used + (time.process_time() - began) / 60
        left = 1 - minutes / settings.minutes if settings.minutes else 0.0
        optimizer.param_groups[0]["lr"] = settings.rate * max(0.05, left)
        losses = []
        for _ in range(settings.batches * (1 if rounds or curve else 5)):
            rows = order.integers(len(data.actions), size=settings.batch)
            features, there, pointed, seen, actions = (torch.as_tensor(part[rows]) for part in data)
            which = cross_entropy(net.point(features, there), pointed)
            what = cross_entropy(net.act(seen), actions)
            optimizer.zero_grad()
            (which + what).backward()
            optimizer.step()
            losses.append((which.item(), what.item()))
        rounds += 1
        over = minutes >= settings.minutes
        if rounds % settings.every == 0 or over:
            played = {name: play(net, tasks, settings) for name, tasks in tests.items()}
            minutes = used + (time.process_time() - began) / 60
            point_loss, act_loss = np.mean(losses, axis=0).tolist()
            row = {"minutes": minutes, "frames": frames, "point loss": point_loss, "act loss": act_loss}
            for name, part in played.items():
                row |= {name: float(part.completed.mean()), f"{name}, share": float(part.share.mean())}
            curve.append(row)
            if report:
                print(json.dumps({key: round(value, 3) for key, value in row.items()}), flush=True)
            if save is not None:
                save.parent.mkdir(parents=True, exist_ok=True)
                torch.save(net.state_dict(), save.with_suffix(".pt"))
                text = json.dumps({"settings": settings._asdict(), "curve": curve})
                save.with_suffix(".json").write_text(text, encoding="utf-8")
        if over:
            return net
        more = lessons.frames(net, settings.fresh)
        frames += len(more.actions)
        both = zip(data, more, strict=True)
        data = Frames(*(np.concatenate([old, new])[-settings.kept :] for old, new in both))


def main(save: str | None = None, **options: Any) -> float:
    """Train a builder and report the share of held-out structures that it completes."""
    torch.set_num_threads(1)
    settings = Settings(**options)
    net = train(settings, None if save is None else Path(save))
    players = {
        "learned": (net, settings),
        "hidden": (net, settings._replace(hidden=True)),
        "blind": (net, settings._replace(blind=True)),
        "at random": (None, settings),
    }
    shares = []
    for name, tasks in held_out(settings.tests, seed=20_000).items():
        for player, (model, known) in players.items():
            completed, share = play(model, tasks if player == "learned" else tasks[:50], known)
            shares.append(float(completed.mean()))
            print(
                f"{name}, {player}: {bootstrap(completed.tolist()).text()} of {len(completed)} completed,",
                end=" ",
            )
            print(f"{bootstrap(share.tolist()).text()} of the blocks")
    return shares[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.set_defaults(
        **{key: value for key, value in Settings()._asdict().items() if not isinstance(value, tuple)}
    )
    parser.add_argument("--seed", type=int)
    parser.add_argument("--minutes", type=float, help="of the processor")
    parser.add_argument("--limit", type=int, help="steps in an episode")
    parser.add_argument("--first", type=int, help="frames that the teacher alone shows")
    parser.add_argument("--batches", type=int, help="of a round")
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--hidden", action="store_true")
    parser.add_argument("--save", help="weights and curve, without suffix")
    main(**vars(parser.parse_args()))
