"""A builder that sees the target and walks, on a level of the benchmark: DAgger with the planner as teacher.

    python examples/walking_builder.py --level see-few-v2 --frames 300000

The network of `silent-walker-v0` points at one of the nearest cells in which build and target differ, and acts. In each
of 64 games, planner and network take turns; what the planner does is learned (Ross et al., A Reduction of Imitation
Learning to No-Regret Online Learning, 2011). Needs the extra `rl`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer

from iglu_marl import Controls, Task, Worlds, benchmark
from iglu_marl.benchmark.batches import judged_many
from iglu_marl.benchmark.report import markdown
from iglu_marl.benchmark.splits import some_of
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import cells_of
from iglu_marl.core.kernels.sights import see_many
from iglu_marl.game.observations import make_sights
from iglu_marl.planning import plan

with extra("rl", script=True):
    import torch
    from torch.nn.functional import cross_entropy

    from iglu_marl.agents.learned.silent import (
        NOWHERE,
        RADIUS,
        Memory,
        SilentModel,
        Surroundings,
        act_view,
        choice_of,
        decide,
        place_of,
        scene_of,
    )

GAMES = 64  # side by side
KEPT, BATCH, RATE = 150_000, 512, 1e-3  # frames that are remembered; frames of an update; learning rate
FIRST, FRESH, UPDATES = 30_000, 8_000, 80  # frames of the planner alone; frames and updates of a round
SHOWS, PLAYS = (20, 80), (5, 80)  # steps that the planner shows and the network plays
SLIPS = 0.01  # share of random actions while the planner alone plays
CONTROLS = Controls("walking")
# What the planner did, a row a step: cells to point at, which exist, the right one; input for acting; action.
Frames = tuple[np.ndarray, ...]


class Walker:
    """A network as a `BatchPlayer` of the benchmark."""

    def __init__(self, net: SilentModel) -> None:
        self.net = net

    def begin(self, count: int, seed: int) -> None:
        self.worlds, self.memory, self.rng = Worlds(count), Memory(count), np.random.default_rng(seed)
        self.around = make_sights(count, ("aim", "egocentric"), radius=RADIUS)
        self.wanted = make_sights(count, ("egocentric",), radius=RADIUS)

    def look(self, seen: Any) -> Surroundings:
        """Return what the walkers see of build and target around them."""
        state, pose = self.worlds.state, seen["agentPos"]
        state["pose"] = pose[:, [0, 1, 2, 4, 3]]
        for key, sights in (("target_grid", self.wanted), ("grid", self.around)):
            state["grid"] = seen[key]
            see_many(state, sights, 0, len(state))
        parts = {"aim": self.around.aim, "egocentric": self.around.egocentric}
        return scene_of({"agentPos": pose, "target_egocentric": self.wanted.egocentric, **parts})

    def act(self, observations: Any) -> np.ndarray:
        actions, goals = decide(self.net, self.look(observations), self.memory, self.rng)
        self.memory.keep(actions, observations["agentPos"][:, 1], goals)
        return actions


def shown(state: Any, target: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Return what the planner does in 100 steps up to an edit, the next step last: actions, and cells of edits."""
    own = Worlds(1)
    own.state[0] = state
    actions = plan(own, target, "walking", teach=True, max_actions=100).actions[:100]
    steps: list[tuple[int, np.ndarray]] = []
    for place, action in enumerate(actions):
        before = own.grid[0].copy()
        own.step(CONTROLS.encode_batch([action]))
        if (changed := cells_of(own.grid[0] != before)).size:
            steps += [(one, changed[0]) for one in actions[len(steps) : place + 1]]
    return steps[::-1]


class School:
    """Games in which planner and network take turns. left: steps until the other plays. steps: of all games so far."""

    def __init__(self, level: benchmark.Level, net: SilentModel, seed: int) -> None:
        self.env = benchmark.make(level, "train", GAMES, autoreset_mode="SameStep", copy=False)
        self.seen, _ = self.env.reset(seed=seed)
        self.walker, self.alone, self.steps = Walker(net), True, 0
        self.walker.begin(GAMES, seed)
        self.plans: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(GAMES)]
        self.teaching, self.left = np.zeros(GAMES, bool), np.zeros(GAMES, np.int64)

    def frames(self, count: int) -> Frames:
        """Return at least `count` frames."""
        found: list[Frames] = []
        while sum(len(one[-1]) for one in found) < count:
            found.append(self._step())
        return tuple(map(np.concatenate, zip(*found, strict=True)))

    def _step(self) -> Frames:
        alone, rng, memory = self.alone, self.walker.rng, self.walker.memory
        for game in np.flatnonzero(self.left <= 0):
            self.teaching[game] = alone or not self.teaching[game]
            self.left[game], self.plans[game] = rng.integers(*(SHOWS if self.teaching[game] else PLAYS)), []
        for game in np.flatnonzero(self.teaching):
            if not self.plans[game]:
                state = self.env.unwrapped.worlds.state[game]
                self.plans[game] = shown(state, self.seen["target_grid"][game])
                if not self.plans[game]:  # no plan from here: the network or random actions go on
                    self.teaching[game], self.left[game] = False, 10
        scene = self.walker.look(self.seen)
        actions, goals = rng.integers(18, size=GAMES), memory.goal.copy()
        if not alone:
            actions, goals = decide(self.walker.net, scene, memory, rng)
        memory.goal[rng.random(GAMES) < 0.5] = NOWHERE  # so that it learns to choose one
        choice, taught = choice_of(scene, memory), np.flatnonzero(self.teaching)
        for game in taught:
            actions[game], goals[game] = self.plans[game].pop()
        wanted = place_of(goals, scene.cell, scene.quarter)
        same = (choice.places == wanted[:, None]).all(-1) & choice.there
        rows = taught[same[taught].any(1)]
        parts = (choice.features, choice.there, same.argmax(1), act_view(scene, memory, wanted), actions)
        found = tuple(part[rows].copy() for part in parts)
        for game in taught[rng.random(len(taught)) < SLIPS] if alone else ():
            actions[game], self.plans[game] = rng.integers(18), []  # the planner shows how to go on
        memory.keep(actions, self.seen["agentPos"][:, 1].copy(), goals)
        self.seen, _, done, cut, _ = self.env.step(actions)
        over = np.flatnonzero(done | cut)
        memory.forget(over)
        self.left -= 1
        self.left[over] = 0
        self.steps += GAMES
        return found


def successes(level: benchmark.Level, tasks: list[Task], net: SilentModel) -> float:
    """Return the share of tasks that a network solves."""
    env = benchmark.make(level, "validation", num_envs=len(tasks), copy=False)
    played = judged_many(level, env, None, Walker(net), tasks, range(len(tasks)))
    return float(np.mean([one.success for one, _ in played]))


def train(level: benchmark.Level, frames: int, seed: int) -> tuple[SilentModel, list[tuple[int, float]]]:
    """Return the network of a run, and its success on the validation split by environment steps."""
    level, rng = level.fold(seed), np.random.default_rng(seed)
    torch.manual_seed(seed)
    net, tasks = SilentModel(), some_of(level.tasks("validation"), 40, seed)
    school = School(level, net, seed)
    optimizer = torch.optim.Adam(net.parameters(), RATE)
    data, curve = school.frames(min(frames, FIRST)), []
    school.alone = False
    rounds = max(1, (frames - FIRST) // FRESH)
    for number in range(rounds + 1):
        if number:
            more = school.frames(min(frames, FRESH))
            data = tuple(np.concatenate(both)[-KEPT:] for both in zip(data, more, strict=True))
        optimizer.param_groups[0]["lr"] = RATE * max(0.05, 1 - number / rounds)
        for _ in range(UPDATES if number else 5 * UPDATES):
            rows = rng.integers(len(data[-1]), size=BATCH)
            features, there, pointed, seen, actions = (torch.as_tensor(part[rows]) for part in data)
            loss = cross_entropy(net.point(features, there), pointed) + cross_entropy(net.act(seen), actions)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if number % max(1, rounds // 4) == 0:
            curve.append((school.steps, successes(level, tasks, net)))
            share = f"{curve[-1][1]:.2f} of the validation split"
            print(f"seed {seed}: {share} after {school.steps:,} steps", flush=True)
    return net, curve


def main(
    level: str = "see-few-v2",
    frames: int = 300_000,
    seeds: int = 5,
    episodes: int = 40,
    output: Path | None = None,
) -> benchmark.Result:
    """Train for each seed, measure all runs on the test split, and show the report.

    frames: steps that the planner shows. episodes: test games per run. output: the result file.
    """
    torch.set_num_threads(1)  # networks as small as this one are slower on several
    chosen = benchmark.find(level)
    nets, curves = zip(*(train(chosen, frames, seed) for seed in range(seeds)), strict=True)
    options = f"--level {level} --frames {frames} --seeds {seeds} --episodes {episodes}"
    result = benchmark.run(
        chosen,
        [lambda env, net=net: Walker(net) for net in nets],
        name="pointing walker (DAgger)",
        episodes=episodes,
        curves=curves,
        budget=max(curve[-1][0] for curve in curves),
        supervision=["demonstrations", "planner"],
        command=f"examples/walking_builder.py {options}",
        output=output,
        record=output is not None,
    )
    print(markdown([result]))
    return result


if __name__ == "__main__":
    typer.run(main)
