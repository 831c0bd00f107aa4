"""The games of an evaluation, and the arena that plays them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.agents.registry import seated
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.core.task import Task
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.evaluation.metrics import game_metrics, skills
from iglu_marl.evaluation.results import Row
from iglu_marl.evaluation.run import Stopped, row_error
from iglu_marl.evaluation.selection import described, games_at_once
from iglu_marl.evaluation.team import TeamTally
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
    examples: frozenset[int]
    on_error: str
    impossible: Mapping[str, str]  # why a target cannot be completed, by key of the task

    def jobs(self) -> Iterator[EvaluationJob]:
        """Yield all games, in the order of the result."""
        for architect in self.architects:
            for builder in self.builders:
                for task, key in enumerate(self.keys):
                    for episode in range(self.episodes):
                        yield EvaluationJob(architect, builder, task, key, episode)

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
        return self.plan.architects if role_of(seat) is Role.ARCHITECT else self.plan.builders

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
        tally = TeamTally() if self.env.unwrapped.config.is_team else None
        began, error, scored = time.perf_counter(), "", True
        try:
            game = play(
                self.env,
                agents,
                seed=seed,
                options={"task": task},
                on_step=lambda env: self._watch(env, agents.values(), tally),
            )
        except Exception as fault:
            error, scored = row_error(fault, plan.on_error)
            game = Trajectory(task, seed)
            game._finish(self.env.unwrapped.episode)
        game.check_unedited()
        plain = task.in_ids("iglu")
        row = {
            **job._asdict(),
            "task": task.task_id,
            "seed": seed,
            "impossible": plan.impossible.get(job.key, ""),
            "skills": list(skills(plain.target_grid, plain.start_grid, getattr(task, "structure", ""))),
            **game_metrics(game, shifts=self.env.unwrapped.config.shifts),
            "read": 0,
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
        if tally is not None:
            row["team"] = tally.counts
        if job.task in plan.examples and job.episode == 0:
            assert game.grid is not None
            row["dialogue"] = [[said.speaker, said.text] for said in game.dialogue]
            row["grid"] = [list(block) for block in grid_to_blocks(game.grid)]
        return row

    def _watch(self, env: Any, agents: Iterable[Agent], tally: TeamTally | None) -> None:
        if tally is not None:
            tally(env)
        if self._is_stopped():
            raise Stopped
        check_service(agents)

    def close(self) -> None:
        """Close the agents and the environment."""
        for agent in self._made.values():
            agent.close()
        self.env.close()
