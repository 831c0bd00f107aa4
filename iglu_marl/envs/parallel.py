"""The game as a PettingZoo parallel environment: both act in every step, an empty utterance is silence.

Equivalent to the AEC environment with `turn_steps=1`: each step is one turn of the architect, whose utterance applies
before the builder's act. Not a conversion, because AEC turns have variable length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pettingzoo import ParallelEnv
from typing_extensions import Unpack

from iglu_marl.core.errors import ActionError, StateError
from iglu_marl.envs.base import EnvState
from iglu_marl.envs.documentation import PAIR, documented
from iglu_marl.envs.two_agent import TwoAgentGame
from iglu_marl.game.config import GameConfig, GameOptions
from iglu_marl.game.effects import Setting

ByAgent = dict[str, Any]


class _View(NamedTuple):
    agents: tuple[str, ...]


@documented(*PAIR)
class ParallelGame(TwoAgentGame, ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """Architects and builders act at the same time (PettingZoo parallel); `turn_steps` is 1 here."""

    def __init__(self, config: GameConfig | str | None = None, **options: Unpack[GameOptions]) -> None:
        self._set_up(GameConfig.read(Setting("parallel", "parallel_env"), config, options))

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        """Start an episode. options: `task` (a `Task`) and `pose` (five numbers, see `Pose`; or a dict by builder)."""
        self._setup.start(seed, options)
        agents = self.possible_agents
        self.agents = list(agents)
        self._cut, self._shaping = dict.fromkeys(agents, False), {}
        return self._observations(), {agent: self._info(agent) for agent in agents}

    def _observations(self) -> ByAgent:
        view = self._episode.view
        return {agent: observer.observe(view(agent)) for agent, observer in self._observers.items()}

    def step(self, actions: Mapping[str, Any]) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Run one step of all agents: observations, rewards, terminations, truncations, infos by agent."""
        if not self.agents:
            raise StateError("the episode is over or has not begun: call reset() before step()")
        if not isinstance(actions, Mapping) or actions.keys() != self._observers.keys():
            got = sorted(map(str, actions)) if isinstance(actions, Mapping) else repr(actions)
            raise ActionError(
                f"actions are for {got}, expected a dict with one action each for {self.possible_agents}"
            )
        agents = self.possible_agents
        read = {agent: self._read(agent, actions[agent]) for agent in agents}
        self._cut = {agent: cut for agent, (_, cut) in read.items()}
        outcome = self._episode.advance({agent: move for agent, (move, _) in read.items()})
        rewards = self._pay(outcome)
        if outcome.terminated or outcome.truncated:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        return (
            self._observations(),
            rewards,
            dict.fromkeys(agents, outcome.terminated),
            dict.fromkeys(agents, outcome.truncated),
            {agent: self._info(agent) for agent in agents},
        )

    def get_state(self) -> EnvState:
        """Return everything needed to resume from here: one record copy and a few values."""
        return self._setup.get_state(_View(tuple(self.agents)))

    def set_state(self, state: EnvState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        self.agents = list(self._setup.set_state(state, _View).agents)


@documented(*PAIR)
def parallel_env(config: GameConfig | str | None = None, **options: Unpack[GameOptions]) -> ParallelGame:
    """Return the parallel environment: both act in every step; `turn_steps` is always 1."""
    return ParallelGame(config, **options)
