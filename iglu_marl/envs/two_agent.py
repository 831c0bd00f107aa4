"""Common parts of the AEC and the parallel environment: agents, spaces, reading of actions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ActionError, AgentError, StateError
from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLORS, ZONE_SHAPE
from iglu_marl.core.kernels.records import CONTROL, TERMINAL_SPEED
from iglu_marl.core.worlds import POSE_HIGH, Worlds
from iglu_marl.envs.base import FRAMES_PER_SECOND, EnvCore, draw_view
from iglu_marl.envs.batch_observations import batched
from iglu_marl.game.chat import Chat, TokenChat
from iglu_marl.game.config import GameConfig
from iglu_marl.game.episode import EVENTS, Act, Episode, Move, Say
from iglu_marl.game.observations import Observer, architect_observer, builder_observer
from iglu_marl.tasks.bundled import default_tasks

ARCHITECT, BUILDER = "architect_0", "builder_0"
AGENTS = (ARCHITECT, BUILDER)
ROLES = {ARCHITECT: Role.ARCHITECT, BUILDER: Role.BUILDER}

METADATA: dict[str, Any] = {
    "name": "architect_builder_v0",
    "render_modes": ["human", "rgb_array", "ansi"],
    "render_fps": FRAMES_PER_SECOND,
    "is_parallelizable": True,
}

_ARCHITECTS_ACTION = f"the action of {ARCHITECT}"
_Value = TypeVar("_Value")
_CELLS = int(np.prod(ZONE_SHAPE))
_CLOCKS = slice(14, 17)  # of the columns of `state()`
_UNLIMITED = 100  # what counts half of a clock without a budget


def check_by_agent(agents: Any, **values: tuple[Any, type]) -> None:
    """Raise `StateError` unless these are agents, and each value is a dict of one type for them."""
    names = agents if isinstance(agents, tuple) else (None,)
    if any(not isinstance(name, str) or name not in AGENTS for name in names) or len(set(names)) < len(names):
        raise StateError(f"the state's agents are {agents!r:.80}, expected a tuple of some of {AGENTS}")
    for name, (value, kind) in values.items():
        fits = isinstance(value, dict) and set(names) <= value.keys() <= set(AGENTS)
        if not fits or not all(isinstance(one, kind) and one == one for one in value.values()):  # nor nan
            raise StateError(
                f"the state's {name} are {value!r:.80}, expected a {kind.__name__} for each agent"
            )


class SpacesByAgent:
    """Mixin: PettingZoo's functions for spaces by agent."""

    observation_spaces: dict[str, spaces.Space[Any]]
    action_spaces: dict[str, spaces.Space[Any]]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations (in one game); the same object at each call."""
        return self.choose(agent, self.observation_spaces)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions (in one game); the same object at each call."""
        return self.choose(agent, self.action_spaces)

    @staticmethod
    def choose(agent: str, values: Mapping[str, _Value]) -> _Value:
        """Return an agent's value. Raises `AgentError` for an unknown agent."""
        if not isinstance(agent, str) or agent not in AGENTS:
            raise AgentError(f"there is no agent {agent!r}, expected one of {', '.join(AGENTS)}")
        return values[agent]


class BatchedSpacesByAgent(SpacesByAgent):
    """Mixin: spaces of many games."""

    _batched: dict[str, tuple[spaces.Space[Any], spaces.Space[Any]]]

    def _set_batched(self, count: int) -> None:
        self._batched = {
            agent: (batched(self.observation_spaces[agent], count), batched(space, count))
            for agent, space in self.action_spaces.items()
        }

    def batched_observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations in all games."""
        return self.choose(agent, self._batched)[0]

    def batched_action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions in all games."""
        return self.choose(agent, self._batched)[1]


class ScaledState:
    """Scaling of `state()` for one game or many.

    Without tokens these are: pose, vertical speed, inventory, active colour, floor, three clocks, two grids.
    """

    def __init__(self, config: GameConfig, chat: Chat) -> None:
        budgets = (config.max_steps, config.max_turns, config.turn_steps)
        parts = [*POSE_HIGH, TERMINAL_SPEED, *[BLOCKS_PER_COLOR] * 6, len(COLORS), 1]
        parts += [1 if budget is None else budget for budget in budgets]
        self._unlimited = [_CLOCKS.start + k for k, budget in enumerate(budgets) if budget is None]
        self._tokens = isinstance(chat, TokenChat)
        columns = [np.array(parts, np.float64), np.full(2 * _CELLS, len(COLORS))]
        if isinstance(chat, TokenChat):
            columns.append(np.full(chat.dialog_length, chat.codec.size + 1))
        self._factors = (1 / np.concatenate(columns)).astype(np.float32)
        self.space = spaces.Box(-1, 1, self._factors.shape, np.float32)

    def read(self, worlds: Worlds, dialogs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the states of all worlds, float32 [n, columns]; dialogs: tokens, int32 [n, length]."""
        parts = [worlds.seen_pose, worlds.speed, worlds.inventory, worlds.active]
        parts += [worlds.floor, worlds.steps, worlds.turns, worlds.steps_in_turn, worlds.grid, worlds.target]
        if self._tokens:
            parts.append(dialogs)
        rows = [part.reshape(len(worlds), -1) for part in parts]
        state = np.concatenate(rows, axis=1, dtype=np.float32, casting="unsafe")
        state *= self._factors
        for column in self._unlimited:
            state[:, column] /= state[:, column] + _UNLIMITED
        np.clip(state[:, : _CLOCKS.stop], -1, 1, out=state[:, : _CLOCKS.stop])
        return state


class TwoAgentGame(SpacesByAgent):
    """Mixin: the game behind a PettingZoo environment."""

    metadata = METADATA

    def _set_up(self, config: GameConfig) -> None:
        self.config = config
        self.render_mode = config.render_mode
        self._setup = EnvCore(
            config, config.make_controls(can_yield=True), partial(default_tasks, "structures")
        )
        self._control = np.zeros(1, CONTROL)
        episode = self._episode = self._setup.episode
        self._observers: dict[str, Observer] = {
            ARCHITECT: architect_observer(config, episode.chat, draw_view),
            BUILDER: builder_observer(config, episode.chat),
        }
        self.observation_spaces = {agent: observer.space for agent, observer in self._observers.items()}
        self.action_spaces = {ARCHITECT: episode.chat.action_space(), BUILDER: self._builder_space()}
        self.scaled_state = ScaledState(config, episode.chat)
        self._cut = dict.fromkeys(AGENTS, False)
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []

    def _builder_space(self) -> spaces.Space[Any]:
        act = self._setup.controls.space
        if not self.config.builder_can_ask:
            return act
        return spaces.Dict({"act": act, "say": self._episode.chat.action_space()})

    @property
    def episode(self) -> Episode:
        """The game itself: worlds, dialogue, task. For reading."""
        return self._episode

    @property
    def setup(self) -> EnvCore:
        """Tasks, controls and renderer."""
        return self._setup

    # -- spaces

    @property
    def state_space(self) -> spaces.Box:
        """The space of `state()`: float32, flat, within -1..1."""
        return self.scaled_state.space

    def state(self) -> npt.NDArray[np.float32]:
        """Return the whole game for a centralised critic, float32 [n], each number within -1..1.

        In order, divided by: eye x, y, z (8, 13.25, 8), pitch (90), yaw (360); vertical speed (50); inventory (6
        numbers, signed; 20); active colour (6); floor (0 architect, 1 builder); builder steps, architect turns, steps
        in this turn (by their budgets; k without one is k / (k + 100)); grid (1089 ids; 6); target grid (the same);
        with token chat also the observed dialogue (tokens, by the largest). Values are cut to -1..1.
        """
        dialogs = np.zeros((1, 0))
        if isinstance(self._episode.chat, TokenChat):
            dialogs = self._episode.chat.show(self._episode.dialogue)[None]
        return self.scaled_state.read(self._episode.worlds, dialogs)[0]

    # -- actions

    def _read_architect(self, action: Any) -> tuple[Say, bool]:
        """Return the architect's move, and whether its text was cut. Changes nothing."""
        text, cut = self._episode.chat.read(action, _ARCHITECTS_ACTION)
        return Say(text), cut

    def _read_builder(self, action: Any) -> tuple[Move, bool]:
        """Return the builder's move, and whether its text was cut. Changes nothing."""
        if not self.config.builder_can_ask:
            return Act(*self._setup.controls.encode(action, out=self._control)), False
        if not isinstance(action, Mapping) or action.keys() != {"act", "say"}:
            raise ActionError(
                f"the action of {BUILDER} is {action!r:.80}, expected a dict with the keys act and say"
            )
        act = Act(*self._setup.controls.encode(action["act"], out=self._control))
        text, cut = self._episode.chat.read(action["say"], f"action['say'] of {BUILDER}")
        return (Say(text) if text.strip() else act), cut

    # -- information

    def _info(self, agent: str) -> dict[str, Any]:
        """Return a new info. The builder's does not depend on the target."""
        worlds = self._episode.worlds
        info: dict[str, Any] = {"event": EVENTS[worlds.event[0]]}
        if agent == ARCHITECT:
            info["intersection"] = int(worlds.best[0])
            info["target_blocks"] = int(worlds.target_blocks[0])
            info["blocks"] = int(worlds.blocks[0])
        if self._cut[agent]:
            info["message_cut"] = True
        return info

    @property
    def task(self) -> Any:
        """The task of this episode."""
        return self._episode.task

    # -- pictures and saving

    def render(self) -> Any:
        """Return the composed frame (uint8 [height, width, 3]), a text, or None after showing it in a window."""
        return self._setup.render(self.render_mode)

    def close(self) -> None:
        """Close window and renderer."""
        self._setup.close()
