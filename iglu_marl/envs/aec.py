"""The game as a PettingZoo AEC environment: the architect speaks, then the builder has up to `turn_steps` steps."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

from pettingzoo import AECEnv
from pettingzoo.utils import OrderEnforcingWrapper
from typing_extensions import Unpack

from iglu_marl.core.errors import ActionError, StateError
from iglu_marl.envs.base import EnvState
from iglu_marl.envs.documentation import PAIR, documented
from iglu_marl.envs.two_agent import BUILDER, METADATA, TwoAgentGame
from iglu_marl.game.config import GameConfig, GameOptions
from iglu_marl.game.effects import Setting

_BY_AGENT: dict[str, type] = {
    "rewards": Real,  # PettingZoo writes whole zeros when an episode is over
    "_cumulative_rewards": Real,
    "terminations": bool,
    "truncations": bool,
    "infos": dict,
    "_cut": bool,
}


class _View(NamedTuple):
    agents: tuple[str, ...]
    selected: str
    skipped: str | None
    by_agent: dict[str, dict[str, Any]]


@documented(*PAIR)
class AECGame(TwoAgentGame, AECEnv[str, Any, Any]):  # type: ignore[misc]
    """Architects and builders take turns of variable length (PettingZoo AEC)."""

    def __init__(self, config: GameConfig | str | None = None, **options: Unpack[GameOptions]) -> None:
        super().__init__()
        self._set_up(GameConfig.read(Setting("aec", "iglu_marl.env"), config, options))
        # PettingZoo's conversion needs agents that step in a cycle.
        self.metadata = {**METADATA, "is_parallelizable": self.config.turn_steps == 1}
        self.rewards: dict[str, float] = {}
        self._cumulative_rewards: dict[str, float] = {}
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self.agent_selection = self.possible_agents[0]
        self._skip_agent_selection = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode. options: `task` (a `Task`) and `pose` (five numbers, see `Pose`; or a dict by builder)."""
        self._setup.start(seed, options)
        agents = self.possible_agents
        self.agents = list(agents)
        self._cut, self._shaping = dict.fromkeys(agents, False), {}
        self.rewards = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        self.infos = {agent: self._info(agent) for agent in agents}
        self.agent_selection = agents[0]
        self._skip_agent_selection = None

    def step(self, action: Any) -> None:
        """Run one move of the agent whose turn it is; None if its episode is over."""
        agent = self.agent_selection
        if agent not in self.agents:
            raise StateError("the episode is over or has not begun: call reset() before step()")
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise ActionError(
                    f"the episode is over and the action of {agent} is {action!r:.80}, expected None"
                )
            self._was_dead_step(action)
            return
        move, cut = self._read(agent, action)
        self._cut[agent] = cut
        outcome = self._episode.advance({agent: move})
        rewards, totals, infos = self.rewards, self._cumulative_rewards, self.infos
        totals[agent] = 0.0
        for name, reward in self._pay(outcome).items():
            rewards[name] = reward
            totals[name] += reward
            infos[name] = self._info(name)
        if outcome.terminated or outcome.truncated:
            self.terminations = dict.fromkeys(self.possible_agents, outcome.terminated)
            self.truncations = dict.fromkeys(self.possible_agents, outcome.truncated)
        self.agent_selection = self._episode.next_agent
        if self.render_mode == "human":
            self.render()

    def edit(self, blocks: Any, *, builder: str = BUILDER) -> None:
        """Change the world of the running game, see `TwoAgentGame.edit`. `infos` follow."""
        super().edit(blocks, builder=builder)
        self.infos = {agent: self._info(agent) for agent in self.infos}

    def get_state(self) -> EnvState:
        """Return everything needed to resume from here: one record copy and a few values."""
        by_agent = {name: dict(getattr(self, name)) for name in _BY_AGENT}
        by_agent["infos"] = {agent: dict(info) for agent, info in self.infos.items()}
        return self._setup.get_state(
            _View(tuple(self.agents), self.agent_selection, self._skip_agent_selection, by_agent)
        )

    def set_state(self, state: EnvState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        view = self._setup.set_state(state, _View)
        self.agents, self.agent_selection = list(view.agents), view.selected
        self._skip_agent_selection = view.skipped
        for name in _BY_AGENT:
            setattr(self, name, dict(view.by_agent[name]))
        self.infos = {agent: dict(info) for agent, info in self.infos.items()}


@documented(*PAIR)
def raw_env(config: GameConfig | str | None = None, **options: Unpack[GameOptions]) -> AECGame:
    """Return the bare AEC environment, without any wrapper."""
    return AECGame(config, **options)


@documented(*PAIR)
def env(
    config: GameConfig | str | None = None, **options: Unpack[GameOptions]
) -> AECEnv[str, dict[str, Any], Any]:
    """Return the AEC environment with PettingZoo's order-enforcing wrapper."""
    return OrderEnforcingWrapper(raw_env(config, **options))
