"""Players of many games at a time, and games that they play side by side.

A `BatchPlayer` acts in a batch of games. `AgentBatch` makes one from agents that play a single game each.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.catalog import Level
from iglu_marl.benchmark.controls import Change
from iglu_marl.benchmark.games import Judged, judgement
from iglu_marl.core.dialogue import Role
from iglu_marl.core.kernels.records import PLACED, REMOVED
from iglu_marl.core.task import Task
from iglu_marl.envs.batch_observations import rows
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER, ROLES
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.agent import Agent, can_rest
from iglu_marl.recording.rollout import Trajectory, agent_seed
from iglu_marl.recording.values import to_json

Array = npt.NDArray[Any]


class BatchPlayer(Protocol):
    """An agent that plays one role in a batch of games."""

    def begin(self, count: int, seed: int) -> None:
        """Start `count` games; the seed determines all randomness."""

    def act(self, observations: Any) -> Any:
        """Return a batch of actions for a batch of observations, which may hold only until the next step."""


def is_batch(agent: Any) -> bool:
    """Whether an agent is a `BatchPlayer`."""
    return all(callable(getattr(agent, name, None)) for name in ("begin", "act"))


class AgentBatch:
    """A `BatchPlayer` made of one agent per game.

    spec: an agent, as for `iglu_marl.evaluation.evaluate`. env: a single game like those of the batch. playing: games
    in which the agents act; in others, the last action is repeated.
    """

    def __init__(self, spec: Any, role: Role, env: Any) -> None:
        self._make, self._role, self._env = factory(spec, role), role, env
        self.agents: list[Agent] = []
        self.playing = np.zeros(0, np.bool_)
        self._seen: dict[str, Array] = {}

    def begin(self, count: int, seed: int) -> None:
        """Reset an agent for each game."""
        self.start([seed + number for number in range(count)])

    def start(self, seeds: Sequence[int]) -> None:
        """Reset an agent for each seed."""
        while len(self.agents) < len(seeds):
            self.agents.append(self._make(self._env))
        for agent, seed in zip(self.agents, seeds, strict=False):
            agent.reset(self._role, seed)
        self.playing, self._seen = np.ones(len(seeds), np.bool_), {}
        self._actions: list[Any] = [None] * len(seeds)

    def act(self, observations: Any) -> Any:
        """Return the actions of all agents. One that waits acts again when its observation or the time demands it."""
        same = self._same(observations).tolist()
        poses = [pose.tobytes() for pose in observations["agentPos"]] if any(same) else []
        for game in np.flatnonzero(self.playing).tolist():
            agent = self.agents[game]
            if not (same[game] and agent.rest(poses[game])):  # type: ignore[attr-defined]
                self._actions[game] = agent.act(rows(observations, game))
        return _stacked(self._actions)

    def _same(self, observations: Any) -> Array:
        """Return the games whose agent can rest, and sees what it saw before but for the pose, bool [n]."""
        same = np.zeros(len(self.playing), np.bool_)
        if can_rest(self.agents[0]) and "agentPos" in observations:
            seen = {key: part.copy() for key, part in observations.items() if key != "agentPos"}
            if self._seen:
                parts = (part == self._seen[key] for key, part in seen.items())
                same = np.logical_and.reduce([part.reshape(len(same), -1).all(axis=1) for part in parts])
            self._seen = seen
        return same

    def close(self) -> None:
        """Close the agents."""
        for agent in self.agents:
            agent.close()


def _stacked(actions: Sequence[Any]) -> Any:
    if isinstance(actions[0], Mapping):
        return {key: _stacked([action[key] for action in actions]) for key in actions[0]}
    return np.stack([np.asarray(action) for action in actions])


def judged_many(
    level: Level,
    env: Any,
    architect: BatchPlayer | None,
    builder: BatchPlayer,
    tasks: Sequence[Task],
    seeds: Sequence[int],
    change: Mapping[str, Change] | None = None,
    record: bool = False,
) -> list[tuple[Judged, dict[str, list[Any]]]]:
    """Play games side by side; return each outcome, as of `judged`, with the actions by role (with `record`).

    Args:
        level: the level.
        env: `make(level, split, num_envs=len(tasks))`.
        architect: the architect of a two-agent level.
        builder: the builder.
        tasks: the tasks of the games.
        seeds: the seeds of the games.
        change: what a control changes, by agent.
        record: whether to return the actions, as JSON.

    """
    seen, _ = env.reset(seed=list(seeds), options={"task": list(tasks)})
    if isinstance(architect, AgentBatch):
        architect.start([agent_seed(seed, 0) for seed in seeds])
    elif architect is not None:
        architect.begin(len(tasks), seeds[0])
    builder.begin(len(tasks), seeds[0])
    worlds = env.unwrapped.worlds
    playing, changes = np.ones(len(tasks), np.bool_), np.zeros(len(tasks), np.int64)
    found: list[Any] = [None] * len(tasks)
    players = {BUILDER: builder} if architect is None else {ARCHITECT: architect, BUILDER: builder}
    changes_by_agent = {agent: (change or {}).get(agent, Change()) for agent in players}
    acted: list[dict[str, Any]] = []  # of all games, by step
    while playing.any():
        own = {BUILDER: seen} if architect is None else seen
        acts = {
            agent: changes_by_agent[agent].did(player.act(changes_by_agent[agent].see(own[agent])))
            for agent, player in players.items()
        }
        seen, _, *ends = env.step(acts[BUILDER] if architect is None else acts)
        terminated, truncated, _ = ends if architect is None else (part[BUILDER] for part in ends)
        if record:
            acted.append(copy.deepcopy(acts))
        changes += playing & ((worlds.event == PLACED) | (worlds.event == REMOVED))
        over = playing & (terminated | truncated)
        for game in np.flatnonzero(over).tolist() if over.any() else ():
            end = Trajectory(
                tasks[game],
                seeds[game],
                terminated=bool(terminated[game]),
                grid=worlds.grid[game].copy(),
                edits=int(worlds.edits[game]),
            )
            found[game] = (
                judgement(level, end, int(changes[game]), int(worlds.steps[game])),
                {
                    ROLES[agent].value: [to_json(rows(step[agent], game)) for step in acted]
                    for agent in players
                },
            )
        playing &= ~over
        if isinstance(architect, AgentBatch):
            architect.playing = playing
    return found
