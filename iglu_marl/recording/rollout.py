"""`play(env, agents)`: play one episode in any of the views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from pettingzoo import AECEnv

from iglu_marl.core.dialogue import Dialogue, Role, role_of
from iglu_marl.core.errors import AgentError
from iglu_marl.core.task import Task
from iglu_marl.envs.two_agent import BUILDER
from iglu_marl.game.agent import Agent, begin, is_idle
from iglu_marl.game.seats import check_agent, players_of, seats_of

_AS = "as in the mapping that iglu_marl.agents.agents_for(env) returns"
OnStep = Callable[[Any], None]
Player = Role | str
"""Who plays: a role, or in a game of a team the name of an agent."""


class Turn(NamedTuple):
    """One action: the player, the action, and its immediate reward."""

    role: Player
    action: Any
    reward: float


@dataclass
class Trajectory:
    """Result of one episode."""

    task: Task
    seed: int | None
    turns: list[Turn] = field(default_factory=list)
    returns: dict[Player, float] = field(default_factory=dict)
    terminated: bool = False
    truncated: bool = False
    dialogue: Dialogue = field(default_factory=Dialogue)
    grid: npt.NDArray[np.int8] | None = None  # final world, [9, 11, 11]
    intersection: int = 0
    target_blocks: int = 0
    builder_steps: int = 0
    architect_turns: int = 0
    edits: int = 0  # changes of the world from outside the game

    def check_unedited(self) -> None:
        """Raise `AgentError` if the world was changed from outside the game, so that it cannot be measured."""
        if self.edits:
            raise AgentError(
                f"the world of the game with seed {self.seed} was edited from outside ({self.edits} times), expected "
                "0 edits in a game that is measured"
            )

    @property
    def completed(self) -> bool:
        """Whether the task is completed (`terminated`)."""
        return self.terminated

    def _finish(self, episode: Any, broken_off: bool = False) -> None:
        worlds = episode.worlds
        self.task, self.dialogue, self.grid = episode.task, episode.dialogue, worlds.grid[0].copy()
        self.intersection, self.target_blocks = int(worlds.best[0]), int(worlds.target_blocks[0])
        self.builder_steps, self.architect_turns = int(worlds.steps.max()), int(worlds.turns[0])
        self.edits = int(worlds.edits[0])
        self.terminated, truncated = episode.ended
        self.truncated = truncated or (broken_off and not self.terminated)


def _by_player(agents: Mapping[Any, Agent] | Agent, env: Any) -> dict[Player, Agent]:
    """Return agents by player, from a mapping with roles or PettingZoo names as keys, or from a single builder.

    Raises `AgentError` unless they fit the environment.
    """
    players = players_of(env)
    if not isinstance(agents, Mapping):
        agents = {Role.BUILDER: agents}
    found: dict[Player, Agent] = {}
    for key, agent in agents.items():
        name = str(key) if str(key) in players else f"{key}_0"
        if name not in players:
            raise AgentError(f"agents has the key {key!r}, expected {', '.join(players)}, {_AS}")
        found[players[name]] = agent
    if missing := [str(player) for player in players.values() if player not in found]:
        raise AgentError(f"agents lacks {' and '.join(missing)}, expected an agent for each role, {_AS}")
    for name, seat in seats_of(env).items():
        check_agent(found[players[name]], seat)
    return {player: found[player] for player in players.values()}


def play(
    env: Any,
    agents: Mapping[Any, Agent] | Agent,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    on_step: OnStep | None = None,
) -> Trajectory:
    """Play one episode to its end. The agents are reset but not closed.

    A game ends early (`truncated`) when all agents are `idle` (see `Agent`) and remain so after each of them has acted
    again; a single-agent game does not.

    Args:
        env: an AEC, parallel or single-agent environment of this package, wrapped or not.
        agents: `{"architect": …, "builder": …}` (or architect_0, builder_0), of a team `{"architect_0": …, …}`; in a
            single-agent game the builder.
        seed: passed to `env.reset`; the agents' seeds derive from it.
        options: passed to `env.reset`.
        on_step: called with the environment after the reset and after each step. A method `follow` (see `Recorder`) is
            first called with the trajectory, whose turns grow with the game.

    Raises:
        AgentError: if an agent is missing or cannot play in this environment, or `env` is none of this package.

    """
    by_player = _by_player(agents, env)
    single, players = isinstance(env, gymnasium.Env), players_of(env)
    steps = _single_steps if single else _aec_steps if isinstance(env, AECEnv) else _parallel_steps
    shown: OnStep = (lambda _: None) if on_step is None else on_step
    began = env.reset(seed=seed, options=options)
    trajectory = Trajectory(env.unwrapped.task, seed, returns=dict.fromkeys(by_player, 0.0))
    for number, (player, agent) in enumerate(by_player.items()):
        begin(agent, role_of(player), None if seed is None else agent_seed(seed, number), trajectory.task)
    if hasattr(shown, "follow"):
        shown.follow(trajectory)
    shown(env)
    standstill = Standstill(by_player)
    for acted in steps(env, {name: by_player[player] for name, player in players.items()}, trajectory, began):
        shown(env)
        if not single and standstill.after(*acted):
            break
    trajectory._finish(env.unwrapped.episode, standstill.reached)
    return trajectory


def own_rewards(env: Any, paid: Mapping[str, float]) -> Mapping[str, float]:
    """Return the rewards of the last step by agent without `shaping`, which is no part of a game's result.

    paid: what the environment returned.
    """
    own: Mapping[str, float] | None = getattr(env.unwrapped, "own_rewards", None)
    return paid if own is None else own


def agent_seed(seed: int, number: int) -> int:
    """Return the seed of the agent with this number in a game of this seed."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


class Standstill:
    """Detects that all agents are idle, and still are after each of them has acted again."""

    def __init__(self, agents: Mapping[Any, Agent]) -> None:
        self._agents = agents
        self._rested: set[Player] = set()
        self._idle = False

    @property
    def reached(self) -> bool:
        """Whether the game stands still."""
        return len(self._rested) == len(self._agents)

    def after(self, *players: Player) -> bool:
        """Return `reached` after these players have acted."""
        before, self._idle = self._idle, all(is_idle(agent) for agent in self._agents.values())
        self._rested = self._rested.union(players) if before and self._idle else set()
        return self.reached


def _aec_steps(
    env: Any, agents: dict[str, Agent], trajectory: Trajectory, _: None
) -> Iterator[tuple[Player, ...]]:
    """Play, and yield the acting players after each step."""
    players = players_of(env)
    for name in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        action = agents[name].act(observation)
        env.step(action)
        rewards = own_rewards(env, env.rewards)
        trajectory.turns.append(Turn(players[name], action, float(rewards[name])))
        for other, paid in players.items():
            trajectory.returns[paid] += rewards[other]
        yield (players[name],)


def _parallel_steps(
    env: Any, agents: dict[str, Agent], trajectory: Trajectory, began: tuple[Any, Any]
) -> Iterator[tuple[Player, ...]]:
    observations, _ = began
    players = players_of(env)
    while env.agents:
        actions = {name: agent.act(observations[name]) for name, agent in agents.items()}
        observations, paid, _, _, _ = env.step(actions)
        rewards = own_rewards(env, paid)
        for name, player in players.items():
            trajectory.turns.append(Turn(player, actions[name], float(rewards[name])))
            trajectory.returns[player] += rewards[name]
        yield tuple(players.values())


def _single_steps(
    env: Any, agents: dict[str, Agent], trajectory: Trajectory, began: tuple[Any, Any]
) -> Iterator[tuple[Player, ...]]:
    observation, _ = began
    over = False
    while not over:
        action = agents[BUILDER].act(observation)
        observation, paid, terminated, truncated, _ = env.step(action)
        reward = own_rewards(env, {BUILDER: paid})[BUILDER]
        trajectory.turns.append(Turn(Role.BUILDER, action, float(reward)))
        trajectory.returns[Role.BUILDER] += float(reward)
        over = terminated or truncated
        yield (Role.BUILDER,)
