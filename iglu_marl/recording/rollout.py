"""`play(env, agents)`: play one episode in any of the views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from pettingzoo import AECEnv

from iglu_marl.core.dialogue import Dialogue, Role
from iglu_marl.core.errors import AgentError
from iglu_marl.core.task import Task
from iglu_marl.game.agent import Agent, begin, is_idle
from iglu_marl.game.config import check_pair

OnStep = Callable[[Any], None]


class Turn(NamedTuple):
    """One action: role, action, and its immediate reward."""

    role: Role
    action: Any
    reward: float


@dataclass
class Trajectory:
    """Result of one episode."""

    task: Task
    seed: int | None
    turns: list[Turn] = field(default_factory=list)
    returns: dict[Role, float] = field(default_factory=dict)
    terminated: bool = False
    truncated: bool = False
    dialogue: Dialogue = field(default_factory=Dialogue)
    grid: npt.NDArray[np.int8] | None = None  # final world, [9, 11, 11]
    intersection: int = 0
    target_blocks: int = 0
    builder_steps: int = 0
    architect_turns: int = 0

    @property
    def completed(self) -> bool:
        """Whether the task is completed (`terminated`)."""
        return self.terminated

    def _finish(self, episode: Any, broken_off: bool = False) -> None:
        worlds = episode.worlds
        self.task, self.dialogue, self.grid = episode.task, episode.dialogue, worlds.grid[0].copy()
        self.intersection, self.target_blocks = int(worlds.best[0]), int(worlds.target_blocks[0])
        self.builder_steps, self.architect_turns = int(worlds.steps[0]), int(worlds.turns[0])
        self.terminated = bool(worlds.terminated[0])
        self.truncated = bool(worlds.truncated[0]) or (broken_off and not self.terminated)


def _by_role(agents: Mapping[Any, Agent] | Agent, needed: tuple[Role, ...]) -> dict[Role, Agent]:
    """Return agents by role, from a mapping with roles or PettingZoo names as keys, or from a single builder."""
    if not isinstance(agents, Mapping):
        agents = {Role.BUILDER: agents}
    found: dict[Role, Agent] = {}
    for key, agent in agents.items():
        name = str(key).removesuffix("_0")
        if name not in tuple(Role):
            raise AgentError(f"agents has the key {key!r}, expected 'architect' and 'builder'")
        if not isinstance(agent, Agent):
            raise AgentError(f"the {name} is {agent!r:.80}, expected an object with reset, act and close")
        found[Role(name)] = agent
    if missing := [role.value for role in needed if role not in found]:
        raise AgentError(f"agents lacks {' and '.join(missing)}, expected an agent for each role")
    return {role: found[role] for role in needed}


def play(
    env: Any,
    agents: Mapping[Any, Agent] | Agent,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    on_step: OnStep | None = None,
) -> Trajectory:
    """Play one episode to its end. The agents are reset but not closed.

    A two-agent game ends early (`truncated`) when both agents are `idle` (see `Agent`) and remain so after each of
    them has acted again.

    Args:
        env: an AEC, parallel or single-agent environment of this package, wrapped or not.
        agents: `{"architect": …, "builder": …}` (or architect_0, builder_0); in a single-agent game the builder.
        seed: passed to `env.reset`; the agents' seeds derive from it.
        options: passed to `env.reset`.
        on_step: called with the environment after the reset and after each step. A method `follow` (see `Recorder`) is
            first called with the trajectory, whose turns grow with the game.

    Raises:
        AgentError: if an agent is missing.
        ConfigError: for a game of a team.

    """
    check_pair(env, "play()")
    single = isinstance(env, gymnasium.Env)
    by_role = _by_role(agents, (Role.BUILDER,) if single else (Role.ARCHITECT, Role.BUILDER))
    steps = _single_steps if single else _aec_steps if isinstance(env, AECEnv) else _parallel_steps
    shown = on_step or (lambda _: None)
    began = env.reset(seed=seed, options=options)
    trajectory = Trajectory(env.unwrapped.task, seed, returns=dict.fromkeys(by_role, 0.0))
    for number, (role, agent) in enumerate(by_role.items()):
        begin(agent, role, None if seed is None else agent_seed(seed, number), trajectory.task)
    if hasattr(shown, "follow"):
        shown.follow(trajectory)
    shown(env)
    standstill = Standstill(by_role)
    for acted in steps(env, by_role, trajectory, began):
        shown(env)
        if not single and standstill.after(*acted):
            break
    trajectory._finish(env.unwrapped.episode, standstill.reached)
    return trajectory


def agent_seed(seed: int, number: int) -> int:
    """Return the seed of the agent with this number in a game of this seed."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


class Standstill:
    """Detects that all agents are idle, and still are after each of them has acted again."""

    def __init__(self, agents: Mapping[Role, Agent]) -> None:
        self._agents = agents
        self._rested: set[Role] = set()
        self._idle = False

    @property
    def reached(self) -> bool:
        """Whether the game stands still."""
        return len(self._rested) == len(self._agents)

    def after(self, *roles: Role) -> bool:
        """Return `reached` after these roles have acted."""
        before, self._idle = self._idle, all(is_idle(agent) for agent in self._agents.values())
        self._rested = self._rested.union(roles) if before and self._idle else set()
        return self.reached


def _aec_steps(
    env: Any, agents: dict[Role, Agent], trajectory: Trajectory, _: None
) -> Iterator[tuple[Role, ...]]:
    """Play, and yield the acting roles after each step."""
    for name in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        role = Role(name.removesuffix("_0"))
        action = agents[role].act(observation)
        env.step(action)
        trajectory.turns.append(Turn(role, action, float(env.rewards[name])))
        for paid in agents:
            trajectory.returns[paid] += env.rewards[f"{paid.value}_0"]
        yield (role,)


def _parallel_steps(
    env: Any, agents: dict[Role, Agent], trajectory: Trajectory, began: tuple[Any, Any]
) -> Iterator[tuple[Role, ...]]:
    observations, _ = began
    names = {role: f"{role.value}_0" for role in agents}
    while env.agents:
        actions = {names[role]: agent.act(observations[names[role]]) for role, agent in agents.items()}
        observations, rewards, _, _, _ = env.step(actions)
        for role, name in names.items():
            trajectory.turns.append(Turn(role, actions[name], float(rewards[name])))
            trajectory.returns[role] += rewards[name]
        yield tuple(agents)


def _single_steps(
    env: Any, agents: dict[Role, Agent], trajectory: Trajectory, began: tuple[Any, Any]
) -> Iterator[tuple[Role, ...]]:
    observation, _ = began
    over = False
    while not over:
        action = agents[Role.BUILDER].act(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        trajectory.turns.append(Turn(Role.BUILDER, action, float(reward)))
        trajectory.returns[Role.BUILDER] += float(reward)
        over = terminated or truncated
        yield (Role.BUILDER,)
