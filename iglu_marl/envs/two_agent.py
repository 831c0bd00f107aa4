"""Common parts of the AEC and the parallel environment: agents, spaces, reading of actions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ActionError, AgentError
from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLORS, ZONE_SHAPE
from iglu_marl.core.kernels.records import CONTROL, TERMINAL_SPEED
from iglu_marl.core.worlds import POSE_HIGH, Worlds
from iglu_marl.envs.base import FRAMES_PER_SECOND, EnvCore, draw_view
from iglu_marl.envs.batch_observations import batched
from iglu_marl.game.chat import Chat, TokenChat
from iglu_marl.game.config import GameConfig
from iglu_marl.game.episode import EVENTS, Act, Episode, Move, Outcome, Say
from iglu_marl.game.observations import Observer, architect_observer, builder_observer
from iglu_marl.tasks.bundled import BundledTasks

ARCHITECT, BUILDER = "architect_0", "builder_0"
ROLES = {ARCHITECT: Role.ARCHITECT, BUILDER: Role.BUILDER}

METADATA: dict[str, Any] = {
    "name": "architect_builder_v0",
    "render_modes": ["human", "rgb_array", "ansi"],
    "render_fps": FRAMES_PER_SECOND,
    "is_parallelizable": True,
}

_Value = TypeVar("_Value")
_CELLS = int(np.prod(ZONE_SHAPE))
_UNLIMITED = 100  # what counts half of a clock without a budget


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
        if not isinstance(agent, str) or agent not in values:
            raise AgentError(f"there is no agent {agent!r}, expected one of {', '.join(values)}")
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

    Without tokens these are: pose, vertical speed, inventory, active colour, floor, three clocks, two grids. Of a team,
    each of the first four has the values of all builders, one after the other.
    """

    def __init__(self, config: GameConfig, chat: Chat) -> None:
        budgets = (config.max_steps, config.max_turns, config.turn_steps)
        self._team = team = config.builders
        parts = [*POSE_HIGH] * team + [TERMINAL_SPEED] * team + [BLOCKS_PER_COLOR * team] * 6 * team
        parts += [len(COLORS)] * team + [1]
        self._clocks = slice(len(parts), len(parts) + len(budgets))
        parts += [1 if budget is None else budget for budget in budgets]
        self._unlimited = [self._clocks.start + k for k, budget in enumerate(budgets) if budget is None]
        self._tokens = isinstance(chat, TokenChat)
        columns = [np.array(parts, np.float64), np.full(2 * _CELLS, len(COLORS))]
        if isinstance(chat, TokenChat):
            columns.append(np.full(chat.dialog_length, chat.highest))
        self._factors = (1 / np.concatenate(columns)).astype(np.float32)
        self.space = spaces.Box(-1, 1, self._factors.shape, np.float32)

    def read(self, worlds: Worlds, dialogs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the states of n games, float32 [n, columns]; dialogs: tokens, int32 [n, length]."""
        team, games = self._team, len(worlds) // self._team
        parts = [worlds.seen_pose, worlds.speed, worlds.inventory, worlds.active]
        parts.append(worlds.floor if team == 1 else worlds.floor.reshape(games, team).max(axis=1))
        shared = (worlds.steps, worlds.turns, worlds.steps_in_turn, worlds.grid, worlds.target)
        parts += [part[::team] for part in shared]
        if self._tokens:
            parts.append(dialogs)
        rows = [part.reshape(games, -1) for part in parts]
        state = np.concatenate(rows, axis=1, dtype=np.float32, casting="unsafe")
        state *= self._factors
        for column in self._unlimited:
            state[:, column] /= state[:, column] + _UNLIMITED
        senses = state[:, : self._clocks.stop]
        np.clip(senses, -1, 1, out=senses)
        return state


class TwoAgentGame(SpacesByAgent):
    """Mixin: the game behind a PettingZoo environment."""

    metadata = METADATA
    own_rewards: dict[str, float] | None = None
    """Rewards of the last step without shaping, by agent; None where they are the rewards."""
    _shaping: Mapping[str, float] = {}  # in the last step, by builder

    def _set_up(self, config: GameConfig) -> None:
        self.config = config
        agents = self.possible_agents = list(config.agents)
        self.render_mode = config.render_mode
        self._setup = EnvCore(
            config, config.make_controls(can_yield=True), partial(BundledTasks, mode="structures"), teams=True
        )
        episode = self._episode = self._setup.episode
        chat, architects, builders = episode.chat, agents[: config.architects], agents[config.architects :]
        self._builders = {agent: number for number, agent in enumerate(builders)}
        self._scored = {agent for agent in architects if "all" in config.parts_of(agent)}
        self._where = {agent: f"the action of {agent}" for agent in agents}  # for messages
        self._control = {agent: np.zeros(1, CONTROL) for agent in builders}
        self._observers: dict[str, Observer] = {
            **{agent: architect_observer(config, chat, draw_view) for agent in architects},
            **{agent: builder_observer(config, chat, agent) for agent in builders},
        }
        self.observation_spaces = {agent: observer.space for agent, observer in self._observers.items()}
        self.action_spaces = {
            **{agent: chat.action_space() for agent in architects},
            **{agent: self._builder_space() for agent in builders},
        }
        self.scaled_state = ScaledState(config, episode.chat)
        self._cut = dict.fromkeys(agents, False)
        self.agents: list[str] = []

    def _builder_space(self) -> spaces.Space[Any]:
        act = self.config.make_controls(can_yield=True).space
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

    def _pay(self, outcome: Outcome) -> dict[str, float]:
        """Return the rewards of a move by agent, with shaping."""
        self._shaping = outcome.shaping
        self.own_rewards = outcome.rewards if outcome.shaping else None
        return outcome.paid

    def _read(self, agent: str, action: Any) -> tuple[Move, bool]:
        """Return an agent's move, and whether its text was cut. Changes nothing."""
        if agent not in self._builders:
            text, cut = self._episode.chat.read(action, self._where[agent])
            return Say(text), cut
        control = self._control[agent]
        if not self.config.builder_can_ask:
            return Act(*self._setup.controls.encode(action, out=control)), False
        if not isinstance(action, Mapping) or action.keys() != {"act", "say"}:
            raise ActionError(
                f"the action of {agent} is {action!r:.80}, expected a dict with the keys act and say"
            )
        act = Act(*self._setup.controls.encode(action["act"], out=control))
        text, cut = self._episode.chat.read(action["say"], f"action['say'] of {agent}")
        return (Say(text) if text.strip() else act), cut

    # -- information

    def observe(self, agent: str) -> dict[str, Any]:
        """Return an agent's observation; it shares no memory with the game."""
        return self.choose(agent, self._observers).observe(self._episode.view(agent))

    def _info(self, agent: str) -> dict[str, Any]:
        """Return a new info. Only that of architects who see the whole target depends on it."""
        worlds, builders = self._episode.worlds, self._builders
        row = builders.get(agent)
        if row is None and len(builders) > 1:
            info: dict[str, Any] = {
                "events": {name: EVENTS[worlds.event[row]] for name, row in builders.items()}
            }
        else:
            info = {"event": EVENTS[worlds.event[row or 0]]}
        if agent in self._scored:
            info["intersection"] = int(worlds.best[0])
            info["target_blocks"] = int(worlds.target_blocks[0])
            info["blocks"] = int(worlds.blocks[0])
            if self.config.shaping:
                by_builder = {name: self._shaping.get(name, 0.0) for name in builders}
                info["shaping"] = by_builder if len(builders) > 1 else by_builder[BUILDER]
        if self._cut[agent]:
            info["message_cut"] = True
        return info

    @property
    def task(self) -> Any:
        """The task of this episode."""
        return self._episode.task

    # -- changes from outside

    def edit(self, blocks: Any, *, builder: str = BUILDER) -> None:
        """Change the world of the running game. Score, stock and everything derived follow; nobody is paid.

        The next observations show it. A target that it completes ends the game with the next builder step. Recordings
        have it as a move; evaluations refuse the game.

        Args:
            blocks: cells (x, y, z, color id) to set, with 0 for air; or the new world, dense [9, 11, 11].
            builder: whose stock gives the new blocks and gets the old ones.

        Raises:
            GridError: for wrong blocks.
            AgentError: for an unknown builder.
            StateError: if the game is over or has not begun, or a builder of a team has too few blocks.
                Nothing has changed then.

        """
        self._episode.edit(blocks, builder)
        if self.render_mode == "human":
            self.render()

    # -- pictures and saving

    def render(self) -> Any:
        """Return the composed frame (uint8 [height, width, 3]), a text, or None after showing it in a window."""
        return self._setup.render(self.render_mode)

    def close(self) -> None:
        """Close window and renderer."""
        self._setup.close()
