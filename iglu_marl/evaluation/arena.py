"""The games of an evaluation, and the arena that plays them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.agents.random import RandomArchitect
from iglu_marl.agents.registry import seated
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.core.scoring import Counts, Shifts
from iglu_marl.core.task import Task
from iglu_marl.data.splits import structure_id
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.evaluation.metrics import game_metrics, skills
from iglu_marl.evaluation.results import BASELINE_BUILDERS, NO_ARCHITECT, Row
from iglu_marl.evaluation.run import Stopped, row_error
from iglu_marl.evaluation.selection import described, games_at_once
from iglu_marl.game.agent import Agent, check_service, check_task, counts_of
from iglu_marl.game.config import GameConfig
from iglu_marl.game.seats import players_of
from iglu_marl.recording.rollout import Player, Trajectory, play
from iglu_marl.recording.values import name_of


class EvaluationJob(NamedTuple):
    """One game to play."""

    architect: str
    builder: str
    task: int
    key: str  # of the task: its digest, and which one it is of equal ones
    episode: int

    @property
    def id(self) -> tuple[str, str, str, int]:
        """The job's identity in logs."""
        return self.architect, self.builder, self.key, self.episode


@dataclass(frozen=True)
class EvaluationPlan:
    """All settings of an evaluation's games; sent to each worker process once."""

    architects: dict[str, Any]
    builders: dict[str, Any]
    tasks: list[Task]
    keys: list[str]
    episodes: int
    config: dict[str, Any]
    view: str
    seed: int
    on_error: str
    baselines: bool = True

    @property
    def beside(self) -> tuple[str, ...]:
        """The baselines that are measured: those that are not among the builders."""
        return tuple(name for name in BASELINE_BUILDERS if self.baselines and name not in self.builders)

    def specs(self, role: Role) -> dict[str, Any]:
        """Return the agents of a role by name, with those of the random baseline."""
        if role is Role.ARCHITECT:
            silent = {NO_ARCHITECT: partial(RandomArchitect.for_env, silence=1.0)}
            return self.architects | (silent if "random" in self.beside else {})
        return self.builders | ({"random": "random"} if "random" in self.beside else {})

    def jobs(self) -> Iterator[EvaluationJob]:
        """Yield all games, in the order of the result."""
        for architect in self.architects:
            for builder in self.builders:
                for task, key in enumerate(self.keys):
                    for episode in range(self.episodes):
                        yield EvaluationJob(architect, builder, task, key, episode)
        if "random" in self.beside:
            for task, key in enumerate(self.keys):
                yield EvaluationJob(NO_ARCHITECT, "random", task, key, 0)

    def nothing(self) -> list[Row]:
        """Return the rows of the builder that does nothing, which need no game."""
        if "nothing" not in self.beside:
            return []
        rows = []
        for number, (key, task) in enumerate(zip(self.keys, self.tasks, strict=True)):
            game = Trajectory(task, self.seed, grid=np.array(task.in_ids("iglu").start_grid))
            game.terminated = task.is_complete_at_start
            job = EvaluationJob(NO_ARCHITECT, "nothing", number, key, 0)
            rows.append(self.row(job, game, self.config.get("shifts", "all")))
        return rows

    def row(self, job: EvaluationJob, game: Trajectory, shifts: Shifts) -> Row:
        """Return the measures of a game, JSON-ready."""
        task = self.tasks[job.task]
        plain = task.in_ids("iglu")
        measures = game_metrics(game, shifts=shifts)
        return {
            **job._asdict(),
            "task": task.task_id,
            "structure": structure_id(task.structure),
            "seed": game.seed,
            "skills": list(skills(plain.target_grid, plain.start_grid, task.structure)),
            **measures,
            "best_f1": measures["f1"],
            "read": 0,
            "error": "",
            "scored": True,
            "seconds": 0.0,
        }

    def settings(self) -> dict[str, Any]:
        """Return the settings that games of one table share."""
        config = {
            name: list(value) if isinstance(value, tuple) else value for name, value in self.config.items()
        }
        found = {"seed": self.seed, "view": self.view, "config": json.loads(json.dumps(config, default=repr))}
        agents = {
            "architects": described(self.architects, Role.ARCHITECT),
            "builders": described(self.builders, Role.BUILDER),
        }
        return {**found, "agents": agents} if any(agents.values()) else found

    def concurrency(self) -> int:
        """Return the number of concurrent games that the agents ask for."""
        architects = games_at_once(self.architects, Role.ARCHITECT)
        return max(architects, games_at_once(self.builders, Role.BUILDER))

    def make_env(self) -> Any:
        """Return the environment of the games."""
        make = parallel_env if self.view == "parallel" else raw_env
        return make(GameConfig.of(None, dict(self.config)))


class BestF1:
    """Follow a game, and keep the F1 of the world at its best step (of its last task, if there are several)."""

    def __init__(self) -> None:
        self.value = 0.0
        self._task: Any = None

    def __call__(self, env: Any) -> None:
        """Look at the world after a step."""
        episode = env.unwrapped.episode
        worlds = episode.worlds
        if episode.task is not self._task:
            self._task, self.value = episode.task, 0.0
        matched, built, wanted = (
            int(values[0]) for values in (worlds.best, worlds.blocks, worlds.target_blocks)
        )
        self.value = max(self.value, Counts(matched, built, wanted).f1)


class Arena:
    """A worker that plays games of a plan with agents that are made once and reset for each game.

    Raises `AgentError` if an agent cannot play in the game, or one of the tasks.
    """

    def __init__(self, plan: EvaluationPlan, is_stopped: Callable[[], bool] = lambda: False) -> None:
        self.plan, self._is_stopped = plan, is_stopped
        self.env = plan.make_env()
        self._made: dict[tuple[str, str], Agent] = {}
        self._players = players_of(self.env)
        for seat in self._players:
            for agent in [self._agent(seat, name) for name in self._specs(seat)]:
                for task in plan.tasks:
                    check_task(agent, task)

    def _specs(self, seat: str) -> dict[str, Any]:
        return self.plan.specs(role_of(seat))

    def _agent(self, seat: str, name: str) -> Agent:
        if (seat, name) not in self._made:
            self._made[seat, name] = seated(self._specs(seat)[name], self.env, seat)
        return self._made[seat, name]

    def __call__(self, job: EvaluationJob) -> Row:
        """Play a game and return its measures, JSON-ready."""
        plan, task = self.plan, self.plan.tasks[job.task]
        sequence = np.random.SeedSequence([plan.seed, int(job.key.replace("/", ""), 16), job.episode])
        seed = int(sequence.generate_state(1)[0])
        names = {Role.ARCHITECT: job.architect, Role.BUILDER: job.builder}
        agents: dict[Player, Agent] = {
            player: self._agent(seat, names[role_of(seat)]) for seat, player in self._players.items()
        }
        began, error, scored = time.perf_counter(), "", True
        best = BestF1()

        def watch(env: Any) -> None:
            best(env)
            if self._is_stopped():
                raise Stopped
            check_service(agents.values())

        try:
            game = play(
                self.env,
                agents,
                seed=seed,
                options={"task": task},
                on_step=watch,
            )
        except Exception as fault:
            error, scored = row_error(fault, plan.on_error)
            game = Trajectory(task, seed)
            game._finish(self.env.unwrapped.episode)
        game.check_unedited()
        row = {
            **plan.row(job, game, self.env.unwrapped.config.shifts),
            "best_f1": best.value,
            "error": error,
            "scored": scored,
            "seconds": round(time.perf_counter() - began, 3),
        }
        builders = [agent for player, agent in agents.items() if role_of(player) is Role.BUILDER]
        if "dialog" in self.env.unwrapped.config.builder_sees and any(
            getattr(agent, "reads", True) for agent in builders
        ):
            row["read"] = row["instructions"]
        if counted := {
            name_of(player): found for player, agent in agents.items() if (found := counts_of(agent))
        }:
            row["models"] = counted
        assert game.grid is not None
        row["dialogue"] = [[said.speaker, said.text] for said in game.dialogue]
        row["grid"] = [list(block) for block in grid_to_blocks(game.grid)]
        return row

    def close(self) -> None:
        """Close the agents and the environment."""
        for agent in self._made.values():
            agent.close()
        self.env.close()
