"""Playing the games of an evaluation, in this process or in several."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing.util import Finalize
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ServiceError, ServiceRefusedError
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.core.task import Task
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.evaluation.metrics import game_metrics, skills
from iglu_marl.evaluation.results import Row
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.agent import Agent, check_service
from iglu_marl.game.config import GameConfig
from iglu_marl.recording.rollout import Trajectory, play


class EvaluationJob(NamedTuple):
    """One game to be played."""

    architect: str
    builder: str
    task: int
    key: str  # of the task: its digest, and which one it is of equal ones
    episode: int

    @property
    def id(self) -> tuple[str, str, str, int]:
        """What tells this game from the others, whatever else is played."""
        return self.architect, self.builder, self.key, self.episode


@dataclass(frozen=True)
class EvaluationPlan:
    """Everything that is needed to play any of the games; travels to the processes once."""

    architects: dict[str, Any]
    builders: dict[str, Any]
    tasks: list[Task]
    keys: list[str]
    episodes: int
    config: dict[str, Any]
    view: str
    seed: int
    examples: frozenset[int]
    on_error: str

    def jobs(self) -> Iterator[EvaluationJob]:
        """All games, in the order of the result."""
        for architect in self.architects:
            for builder in self.builders:
                for task, key in enumerate(self.keys):
                    for episode in range(self.episodes):
                        yield EvaluationJob(architect, builder, task, key, episode)

    def settings(self) -> dict[str, Any]:
        """What games have to have in common to stand in one table."""
        config = {
            name: list(value) if isinstance(value, tuple) else value for name, value in self.config.items()
        }
        found = {"seed": self.seed, "view": self.view, "config": json.loads(json.dumps(config, default=repr))}
        agents = {
            "architects": _described(self.architects, Role.ARCHITECT),
            "builders": _described(self.builders, Role.BUILDER),
        }
        return {**found, "agents": agents} if any(agents.values()) else found

    def make_env(self) -> Any:
        """The environment of all games."""
        make = parallel_env if self.view == "parallel" else raw_env
        return make(GameConfig.of(None, dict(self.config)))


class Arena:
    """Plays games of a plan; agents are made once and reset for each game."""

    def __init__(self, plan: EvaluationPlan) -> None:
        self.plan = plan
        self.env = plan.make_env()
        self._made: dict[tuple[Role, str], Agent] = {}

    def _agent(self, role: Role, name: str) -> Agent:
        if (role, name) not in self._made:
            specs = self.plan.architects if role is Role.ARCHITECT else self.plan.builders
            self._made[role, name] = factory(specs[name], role)(self.env)
        return self._made[role, name]

    def play(self, job: EvaluationJob) -> Row:
        """One game and its measures, JSON-ready; `scored`: whether they say how the agents play."""
        plan, task = self.plan, self.plan.tasks[job.task]
        sequence = np.random.SeedSequence([plan.seed, int(job.key.replace("/", ""), 16), job.episode])
        seed = int(sequence.generate_state(1)[0])
        agents = {
            Role.ARCHITECT: self._agent(Role.ARCHITECT, job.architect),
            Role.BUILDER: self._agent(Role.BUILDER, job.builder),
        }
        began, error, scored = time.perf_counter(), "", True
        try:
            game = play(
                self.env,
                agents,
                seed=seed,
                options={"task": task},
                on_step=lambda _: check_service(agents.values()),
            )
        except ServiceRefusedError:
            raise
        except Exception as fault:
            scored = not isinstance(fault, ServiceError)
            if scored and plan.on_error == "raise":
                raise
            error = f"{type(fault).__name__}: {fault}"[:300]
            game = Trajectory(task, seed)
            game._finish(self.env.unwrapped.episode)
        row = {
            **job._asdict(),
            "task": task.task_id or f"task-{job.task}",
            "seed": seed,
            "skills": list(skills(task.in_ids("iglu").target_grid, task.in_ids("iglu").start_grid)),
            **game_metrics(game, shifts=self.env.unwrapped.config.shifts),
            "error": error,
            "scored": scored,
            "seconds": round(time.perf_counter() - began, 3),
        }
        if counted := {role.value: found for role, agent in agents.items() if (found := _counts(agent))}:
            row["models"] = counted
        if job.task in plan.examples and job.episode == 0:
            assert game.grid is not None
            row["dialogue"] = [[said.role.value, said.text] for said in game.dialogue]
            row["grid"] = [list(block) for block in grid_to_blocks(game.grid)]
        return row

    def close(self) -> None:
        """Close the agents and the environment."""
        for agent in self._made.values():
            agent.close()
        self.env.close()


def _counts(agent: Agent) -> dict[str, Any]:
    """What an agent has counted in this game, where it counts: its `stats.as_dict()` (LLM agents)."""
    stats: Any = getattr(agent, "stats", None)
    return dict(stats.as_dict()) if hasattr(stats, "as_dict") else {}


def _described(specs: dict[str, Any], role: Role) -> dict[str, Any]:
    """The settings that agents do not get from here: what `describe()` of their classes says, by name."""
    classes: dict[str, Any] = {
        name: getattr(factory(spec, role), "__self__", None) for name, spec in specs.items()
    }
    return {name: made.describe() for name, made in classes.items() if hasattr(made, "describe")}


_arena: Arena | None = None  # of a process of the pool


def _start_process(plan: EvaluationPlan) -> None:
    global _arena
    _end_with_parent()
    _arena = Arena(plan)
    Finalize(None, _arena.close, exitpriority=10)


def _end_with_parent() -> None:
    """A process of the pool ends when the one that started it was killed; else it would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _play_in_process(job: EvaluationJob) -> Row:
    assert _arena is not None
    return _arena.play(job)


def games(plan: EvaluationPlan, jobs: list[EvaluationJob], processes: int) -> Iterator[Row]:
    """The rows of all jobs, in the order in which they are done."""
    if processes == 1 or len(jobs) < 2:
        arena = Arena(plan)
        try:
            for job in jobs:
                yield arena.play(job)
        finally:
            arena.close()
        return
    pool = ProcessPoolExecutor(
        min(processes, len(jobs)),
        mp_context=multiprocessing.get_context("spawn"),  # forks inherit locks of threads
        initializer=_start_process,
        initargs=(plan,),
    )
    try:
        for future in as_completed([pool.submit(_play_in_process, job) for job in jobs]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
