"""Games of several architects and builders, or of agents that see, hear or hold different things.

A team of m builders is m rows of `Worlds` that share one build: each row has the pose and inventory of its builder,
and the kernel applies the edit of one to all others. Agents act in the order of their names: in a turn each architect
says something, then the builders act, one step each, until all have ended their turn. A builder that has ended its
turn stands still until then. Without architects, turns of the builders follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import Dialogue, Role, speakers_of
from iglu_marl.core.errors import StateError
from iglu_marl.core.grid import BLOCKS_PER_COLOR
from iglu_marl.core.kernels.records import BUILDER
from iglu_marl.core.kernels.step import sense_at, speak_at, step_member_at
from iglu_marl.core.pose import Pose
from iglu_marl.core.worlds import Worlds
from iglu_marl.game.chat import Chat
from iglu_marl.game.config import GameConfig, Renderer
from iglu_marl.game.episode import Act, Episode, EpisodeState, Move, Outcome, Say
from iglu_marl.game.knowledge import Parts

Array = npt.NDArray[Any]
# Fields of `WORLD` that are equal in all rows of a team between two steps.
SHARED = ("grid", "start", "target", "matches", "blocks", "best", "record", "missing", "turns")


class AgentView:
    """What the observer of one agent reads of a team's episode. Its target has only the parts that the agent sees."""

    written = None

    def __init__(self, episode: TeamEpisode, number: int) -> None:
        config, self._episode = episode.config, episode
        self.agent, self.chat, self.renderer = episode.agents[number], episode.chat, episode.renderer
        self.number = max(0, number - config.architects)  # of the world: a builder's own, or the first
        self.worlds = episode.worlds.row(self.number)
        self.poses: Array = episode.worlds.seen_pose
        self.eyes: Array = episode.worlds.pose
        self.others = np.array([k for k in range(config.builders) if k != self.number], np.intp)
        self.parts = Parts(config.parts_of(self.agent))
        self.learn()
        self._heard = config.heard_by(self.agent)

    def learn(self) -> None:
        """Read the parts of the target that the agent sees, after the target changed."""
        target = self._episode.worlds.target[:1]
        self.mask = self.parts.mask(target[0])
        self.sides = self.parts.sides(target[0])
        self.worlds.target = target * self.mask

    @property
    def dialogue(self) -> Dialogue:
        """What the agent has heard or said."""
        return self._episode.dialogue.of_speakers(self._heard)

    @property
    def objective(self) -> Any:
        """The objective, for an agent that sees the whole target."""
        return self._episode.objective if self.parts.whole else None


class TeamEpisode(Episode):
    """One game of a team, advanced by moves. `turn`: the number of the agent that moves next."""

    _step: Callable[..., None] = staticmethod(step_member_at)

    def __init__(self, config: GameConfig, controls: Controls, chat: Chat, renderer: Renderer) -> None:
        super().__init__(config, controls, chat, renderer)
        self.agents = config.agents
        self.speakers = speakers_of(config.architects, config.builders)
        self.worlds = Worlds(config.builders)
        self.turn = 0
        self._make_views()

    def _make_views(self) -> None:
        self._views = {agent: AgentView(self, number) for number, agent in enumerate(self.agents)}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_views": None}  # their worlds are views

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._make_views()

    def view(self, agent: str) -> AgentView:
        """Return what the observer of an agent reads."""
        return self._views[agent]

    def _learn(self) -> None:
        for view in self._views.values():
            view.learn()

    # -- course

    def _spawn(self, prepared: Array, poses: Sequence[Pose] | None) -> None:
        super()._spawn(prepared, poses)
        worlds, config = self.worlds, self.config
        for row, builder in enumerate(self.builders):
            held = (config.inventories or {}).get(builder)
            if held is not None:
                worlds.inventory[row] += np.array(held, np.int16) - BLOCKS_PER_COLOR
                sense_at(worlds.state, row)
        self.turn = 0
        self._find_turn()
        self._learn()

    @property
    def floor(self) -> Role:
        """The role of the agent whose turn it is."""
        return Role.ARCHITECT if self.turn < self.config.architects else Role.BUILDER

    @property
    def next_agent(self) -> str:
        """The agent whose turn it is."""
        return self.agents[self.turn]

    def advance(self, moves: Mapping[str, Move]) -> Outcome:
        """Apply moves by agent, one after the other: of the agent whose turn it is, or of all."""
        if self.task is None:
            raise StateError("the episode has not begun: call reset() before step()")
        config, worlds = self.config, self.worlds
        words, earned, over = [0] * config.architects, [0.0] * config.builders, False
        for _ in range(len(moves)):
            number = self.turn
            move = moves[self.agents[number]]
            if isinstance(move, Say) and move.text:
                role, place = self.speakers[number]
                self.dialogue = self.dialogue.say(role, move.text, place)
            if number < config.architects:
                if config.message_cost and isinstance(move, Say):
                    words[number] = self.chat.words(move.text)
            else:
                control = self.controls.yielding() if isinstance(move, Say) else move
                earned[number - config.architects] += self.builder_acts(*control, number - config.architects)
            self.turn += 1
            for row, reward in self._find_turn():
                earned[row] += reward
            over = any(worlds.terminated.tolist())
            if over:
                break
        rewards = dict(zip(self.agents, config.pay_team(earned, words), strict=True))
        return Outcome(rewards, over, all(worlds.truncated.tolist()), self.take_shaping())

    def tick(self, said: Mapping[str, str], acts: Sequence[Act]) -> Outcome:
        """Advance a game in real time, see `Episode`. Nobody has to wait for a turn."""
        outcome = super().tick(said, acts)
        self.turn = self.config.architects if BUILDER in self.worlds.floor.tolist() else 0
        return outcome

    def _find_turn(self) -> list[tuple[int, float]]:
        """Find the agent that moves next: the one at `turn`, or one after it.

        Builders that have ended their turn stand still for a step. Return their rows, and their rewards.
        """
        worlds, first, waited = self.worlds, self.config.architects, []
        while self.turn >= first:
            row, acting = self.turn - first, worlds.floor.tolist()
            if row == len(worlds):
                self.turn = first if BUILDER in acting else 0
                continue
            if row == 0 and BUILDER not in acting:  # the architects have spoken
                for each in range(len(worlds)):
                    speak_at(worlds.state, each)
                break
            if acting[row] == BUILDER or any(worlds.terminated.tolist()):
                break
            waited.append((row, self.builder_acts(*self.controls.yielding(), row)))
            self.turn += 1
        return waited

    def next_subtask(self) -> None:
        """Continue with the next turn of a progressive task, see `Episode`."""
        super().next_subtask()
        self._learn()

    # -- saving

    def get_state(self) -> EpisodeState:
        """Return a copy of the records, and the immutable dialogue and task."""
        return super().get_state()._replace(turn=self.turn)

    def set_state(self, state: EpisodeState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        turn = getattr(state, "turn", None)
        if not isinstance(turn, int) or not 0 <= turn < len(self.agents):
            raise StateError(
                f"the state's turn is {turn!r:.80}, expected an integer in 0..{len(self.agents) - 1}"
            )
        world = state.world
        if isinstance(world, np.ndarray) and world.dtype == self.worlds.state.dtype and world.ndim == 1:
            for name in SHARED:
                if (world[name] != world[name][:1]).any():
                    raise StateError(f"the state's {name} differ between the builders, expected one world")
        super().set_state(state)
        self.turn = turn
        self._learn()
