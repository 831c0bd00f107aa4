"""The game as a PettingZoo AEC environment: the architect speaks, then the builder has up to `turn_steps` steps."""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv
from pettingzoo.utils import OrderEnforcingWrapper

from iglu_marl.core.dialogue import Role
from iglu_marl.envs.stage import StageState
from iglu_marl.envs.two_agent import AGENTS, ARCHITECT, BUILDER, ROLES, TwoAgentGame
from iglu_marl.game.config import GameConfig


class AECGame(TwoAgentGame, AECEnv[str, Any, Any]):  # type: ignore[misc]
    """Architect and builder take turns of variable length; see `GameConfig` for the options."""

    def __init__(self, config: GameConfig | None = None, **options: Any) -> None:
        super().__init__()
        self._set_up(GameConfig.of(config, options))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode. options: `task` (a `Task`) and `pose` (five numbers, see `Pose`)."""
        self._stage.start(seed, options)
        self.agents = list(AGENTS)
        self._cut = dict.fromkeys(AGENTS, False)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos = {agent: self._info(agent) for agent in AGENTS}
        self.agent_selection = ARCHITECT
        self._skip_agent_selection = None

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent sees now; shares no memory with the environment."""
        return self._observers[agent].observe(self._episode)

    def step(self, action: Any) -> None:
        """One move of the agent whose turn it is."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        move = self._read_architect(action) if agent == ARCHITECT else self._read_builder(action)
        outcome = self._episode.advance({ROLES[agent]: move})
        self._cumulative_rewards[agent] = 0.0
        for name in AGENTS:
            self.rewards[name] = outcome.rewards[ROLES[name]]
            self._cumulative_rewards[name] += self.rewards[name]
            self.infos[name] = self._info(name)
        if outcome.terminated or outcome.truncated:
            self.terminations = dict.fromkeys(AGENTS, outcome.terminated)
            self.truncations = dict.fromkeys(AGENTS, outcome.truncated)
        self.agent_selection = BUILDER if self._episode.floor is Role.BUILDER else ARCHITECT
        if self.render_mode == "human":
            self.render()

    def get_state(self) -> StageState:
        """Everything needed to go on from here: one record copy and a few values."""
        fields = (self.agents, self.rewards, self._cumulative_rewards, self.terminations, self.truncations)
        infos = {agent: dict(info) for agent, info in self.infos.items()}
        return self._save((*(part.copy() for part in fields), infos, self.agent_selection))

    def set_state(self, state: StageState) -> None:
        """Put back what `get_state` gave."""
        agents, rewards, cumulative, terminations, truncations, infos, selected = self._restore(state)
        self.agents, self.rewards, self._cumulative_rewards = list(agents), dict(rewards), dict(cumulative)
        self.terminations, self.truncations = dict(terminations), dict(truncations)
        self.infos = {agent: dict(info) for agent, info in infos.items()}
        self.agent_selection = selected
        self._skip_agent_selection = None


def raw_env(config: GameConfig | None = None, **options: Any) -> AECGame:
    """The bare AEC environment, without any wrapper. Options: the fields of `GameConfig`."""
    return AECGame(config, **options)


def env(config: GameConfig | None = None, **options: Any) -> Any:
    """The AEC environment with PettingZoo's order-enforcing wrapper. Options: the fields of `GameConfig`."""
    return OrderEnforcingWrapper(raw_env(config, **options))
