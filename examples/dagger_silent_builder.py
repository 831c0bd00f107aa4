"""A silent builder of whole structures, walking: DAgger with the planner as teacher, in one file.

    python examples/dagger_silent_builder.py --minutes 20 --save runs/silent

It sees the target and has the 18 actions of 2022. Structures have 6 to 20 blocks: random ones, new in every episode,
and three quarters of the bundled ones. The learner plays; now and then the planner takes over (`plan(..., teach=True)`,
from wherever the learner has got to) and shows for a while how it would go on; what it shows is what is learned (Ross
et al., A Reduction of Imitation Learning to No-Regret Online Learning, 2011). `--blind` (no build, no aim, no pose) and
`--hidden` (no target) are the controls.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch.nn.functional import cross_entropy

import iglu_marl  # noqa: F401 - registers the environments
from iglu_marl import Task, Worlds
from iglu_marl.agents.learned.silent import ACTIONS, RADIUS, Memory, SilentModel, View, tensors_of, view
from iglu_marl.planning import plan
from iglu_marl.tasks import BundledTasks, RandomTasks, TaskSource

LEAST, MOST = 6, 20  # blocks


class Settings(NamedTuple):
    """What a run depends on, besides the code and the speed of the machine."""

    seed: int = 0
    minutes: float = 20.0  # of the processor
    blind: bool = False
    hidden: bool = False
    worlds: int = 64
    limit: int = 1000  # steps in an episode
    first: int = 24_000  # frames that the teacher alone shows, before the learner plays
    fresh: int = 8_000  # frames shown between two rounds of learning
    kept: int = 200_000  # frames that are remembered
    batches: int = 60  # of a round
    batch: int = 512
    rate: float = 1e-3
    shows: tuple[int, int] = (20, 80)  # steps that the teacher shows
    plays: tuple[int, int] = (5, 80)  # steps that the learner plays
    slips: float = 0.01  # share of random actions while the teacher alone shows


class Structures(TaskSource):
    """Random structures of 6 to 20 blocks; with `known`, half of them are these."""

    def __init__(self, known: list[Task] | None = None) -> None:
        self.known = known or []
        self.made = RandomTasks(max_blocks=MOST, height_levels=3, max_dist=4, num_colors=6)

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """A structure."""
        rng = self.rng if rng is None else rng
        if self.known and rng.random() < 0.5:
            return self.known[int(rng.integers(len(self.known)))]
        while True:
            task = self.made.sample(rng)
            if LEAST <= np.count_nonzero(task.target_grid) <= MOST:
                return task


def bundled(held_out: bool) -> list[Task]:
    """The bundled structures of 6 to 20 blocks: every fourth is held out."""
    tasks = [
        task
        for task in BundledTasks(mode="structures")
        if LEAST <= np.count_nonzero(task.target_grid) <= MOST
    ]
    return [task for number, task in enumerate(tasks) if (number % 4 == 3) == held_out]


def make(tasks: Any, count: int, limit: int) -> Any:
    """Worlds with the sights that the builder has."""
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


def taken_away(seen: View, settings: Settings) -> View:
    """The view of a control."""
    if settings.hidden:
        seen = seen._replace(cells=seen.cells // 8 * 8)
    if settings.blind:
        zeros = {name: getattr(seen, name) * 0 for name in ("place", "hit", "kinds", "numbers")}
        seen = seen._replace(cells=seen.cells % 8, **zeros)
    return seen


def shown(worlds: Worlds, number: int, most: int = 100) -> list[int]:
    """The teacher's first actions from where a world stands to the target as the score aligns it; the next one last."""
    own = Worlds(1)
    own.state[0] = worlds.state[number]
    return plan(own, own.aligned_target(0), "walking", teach=True, max_actions=most).actions[:most][::-1]


class Lessons:
    """Many worlds in which learner and teacher take turns."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.rng = settings, np.random.default_rng(settings.seed)
        self.env = make(Structures(bundled(held_out=False)), settings.worlds, settings.limit)
        self.seen, _ = self.env.reset(seed=settings.seed)
        self.memory = Memory(settings.worlds)
        self.plans: list[list[int]] = [[] for _ in range(settings.worlds)]
        self.left = np.zeros(settings.worlds, np.int64)  # steps until the other takes over
        self.teaching = np.zeros(settings.worlds, bool)
        self.completed, self.ended = 0, 0

    def frames(self, net: SilentModel | None, count: int) -> tuple[View, np.ndarray]:
        """What the teacher showed: views, and its actions int64 [count or a few more]."""
        views, actions, total = [], [], 0
        while total < count:
            seen, chosen = self._step(net)
            views.append(seen)
            actions.append(chosen)
            total += len(chosen)
        return View(*map(np.concatenate, zip(*views, strict=True))), np.concatenate(actions)

    def _step(self, net: SilentModel | None) -> tuple[View, np.ndarray]:
        s, env = self.settings, self.env
        for number in np.flatnonzero(self.left <= 0):
            self.teaching[number] = net is None or not self.teaching[number]
            self.left[number] = self.rng.integers(*(s.shows if self.teaching[number] else s.plays))
            self.plans[number] = []
        for number in np.flatnonzero(self.teaching):
            if not self.plans[number]:
                self.plans[number] = shown(env.worlds, number)
                if not self.plans[number]:  # no way from here: the learner goes on, or noise
                    self.teaching[number], self.left[number] = False, 10
        current = taken_away(view(self.seen, self.memory), s)
        choice = self.rng.integers(ACTIONS, size=s.worlds)
        if net is not None and not self.teaching.all():
            with torch.no_grad():
                scores = net(tensors_of(current)).numpy()
            choice = (scores + self.rng.gumbel(size=scores.shape)).argmax(1)
        taught = np.flatnonzero(self.teaching)
        labels = np.array([self.plans[number].pop() for number in taught], np.int64)
        choice[taught] = labels
        if net is None:  # slips, from which the teacher shows how to go on
            slips = taught[self.rng.random(len(taught)) < s.slips]
            choice[slips] = self.rng.integers(ACTIONS, size=len(slips))
            for number in slips:
                self.plans[number] = []
        heights = self.seen["agentPos"][:, 1].copy()
        self.seen, _, done, cut, _ = env.step(choice)
        self.memory.keep(choice, heights)
        over = np.flatnonzero(done | cut)
        self.completed, self.ended = self.completed + int(done.sum()), self.ended + len(over)
        self.memory.forget(over)
        self.left -= 1
        self.left[over] = 0
        return View(*(part[taught].copy() for part in current)), labels


def play(
    net: SilentModel, tasks: list[Task], settings: Settings, temperature: float = 1.0, seed: int = 1
) -> np.ndarray:
    """Which of the tasks the learner completes by itself, bool [tasks]."""
    env, rng = make(tasks[0], len(tasks), settings.limit), np.random.default_rng(seed)
    seen, _ = env.reset(seed=seed, options={"task": tasks})
    memory, running = Memory(len(tasks)), np.ones(len(tasks), bool)
    completed = np.zeros(len(tasks), bool)
    for _ in range(settings.limit):
        rows = np.flatnonzero(running)
        if not len(rows):
            break
        with torch.no_grad():
            current = taken_away(view(seen, memory), settings)
            scores = net(tensors_of(View(*(part[rows] for part in current)))).numpy()
        if temperature:
            scores = scores / temperature + rng.gumbel(size=scores.shape)
        actions = np.zeros(len(tasks), np.int64)
        actions[rows] = scores.argmax(1)
        heights = seen["agentPos"][:, 1].copy()
        seen, _, done, cut, _ = env.step(actions)
        memory.keep(actions, heights)
        completed |= done & running
        running &= ~(done | cut)
    return completed


def held_out(count: int, seed: int = 10_000) -> dict[str, list[Task]]:
    """Test structures: random ones that were never drawn in training, and the bundled ones that were kept back."""
    rng, source = np.random.default_rng(seed), Structures()
    return {"random": [source.sample(rng) for _ in range(count)], "bundled": bundled(held_out=True)}


def train(settings: Settings, save: Path | None = None, report: bool = True) -> SilentModel:
    """A builder; `save`: a file without suffix for weights and curve, which is gone on with if it is there."""
    torch.manual_seed(settings.seed)
    net = SilentModel()
    curve: list[dict[str, float]] = []
    used, rounds = 0.0, 0
    if save is not None and save.with_suffix(".pt").exists():
        net.load_state_dict(torch.load(save.with_suffix(".pt"), weights_only=True))
        curve = json.loads(save.with_suffix(".json").read_text())["curve"]
        used = curve[-1]["minutes"]
    optimizer = torch.optim.Adam(net.parameters(), settings.rate)
    lessons, began = Lessons(settings), time.process_time()
    tests = held_out(24)
    views, actions = lessons.frames(None if used == 0 else net, settings.first)
    frames, order = len(actions), np.random.default_rng(settings.seed + 1)
    while True:
        minutes = used + (time.process_time() - began) / 60
        optimizer.param_groups[0]["lr"] = settings.rate * max(0.1, 1 - minutes / settings.minutes)
        losses = []
        for _ in range(settings.batches * (6 if rounds == 0 else 1)):
            rows = order.integers(len(actions), size=settings.batch)
            scores = net(tensors_of(View(*(part[rows] for part in views))))
            loss = cross_entropy(scores, torch.as_tensor(actions[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        rounds += 1
        over = minutes >= settings.minutes
        if rounds % 15 == 0 or over:
            done = {name: float(play(net, tasks, settings).mean()) for name, tasks in tests.items()}
            minutes = used + (time.process_time() - began) / 60
            curve.append({"minutes": minutes, "frames": frames, "loss": float(np.mean(losses)), **done})
            if report:
                print(json.dumps(curve[-1]), flush=True)
            if save is not None:
                save.parent.mkdir(parents=True, exist_ok=True)
                torch.save(net.state_dict(), save.with_suffix(".pt"))
                told = {"settings": settings._asdict(), "curve": curve}
                save.with_suffix(".json").write_text(json.dumps(told))
        if over:
            return net
        more, labels = lessons.frames(net, settings.fresh)
        frames += len(labels)
        views = View(
            *(np.concatenate([old, new])[-settings.kept :] for old, new in zip(views, more, strict=True))
        )
        actions = np.concatenate([actions, labels])[-settings.kept :]


def main(save: str | None = None, **options: Any) -> float:
    """Train a builder and report the share of held-out structures that it completes."""
    torch.set_num_threads(1)
    settings = Settings(**options)
    net = train(settings, None if save is None else Path(save))
    done = {name: play(net, tasks, settings) for name, tasks in held_out(200, seed=20_000).items()}
    for name, part in done.items():
        print(f"{name}: {part.mean():.3f} of {len(part)} completed")
    return float(done["random"].mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(**Settings()._asdict())
    parser.add_argument("--seed", type=int)
    parser.add_argument("--minutes", type=float, help="of the processor")
    parser.add_argument("--limit", type=int, help="steps in an episode")
    parser.add_argument("--first", type=int, help="frames that the teacher alone shows")
    parser.add_argument("--batches", type=int, help="of a round")
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--hidden", action="store_true")
    parser.add_argument("--save", help="weights and curve, without suffix")
    main(**vars(parser.parse_args()))
