"""`Episode`: the text shell around a batch of one world.

It holds the dialogue, the task and its turns, and lets moves happen in the one order that there is: utterances first,
then the builder's act. Clocks, floor, reward and end come from the kernel; every view asks here and decides nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import Dialogue, Role
from iglu_marl.core.errors import StateError
from iglu_marl.core.kernels.records import BUILDER
from iglu_marl.core.kernels.step import speak_at, step_at
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Pose, Worlds, prepare
from iglu_marl.game.chat import Chat
from iglu_marl.game.config import GameConfig
from iglu_marl.game.objective import Objective

# What the hands did in a step, by `worlds.event`.
EVENTS = (
    "nothing",
    "placed",
    "removed",
    "place: nothing in reach",
    "place: eye inside a block",
    "place: outside the zone",
    "place: none left",
    "place: builder in the way",
    "remove: nothing in reach",
    "remove: ground",
    "both hands",
)


class Renderer(Protocol):
    """Who draws the builder's picture."""

    def render(self, worlds: Worlds, indices: Sequence[int], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
        """First-person pictures uint8 [k, height, width, 3] of k worlds; size = (height, width)."""

    def close(self) -> None:
        """Release what is held. May be called more than once."""


class Say(NamedTuple):
    """An utterance. Of the builder it costs one step, cancels that step's act and ends its turn."""

    text: str


class Act(NamedTuple):
    """A builder's step: the control `records[number]`, as `Controls.encode` gives it."""

    records: npt.NDArray[Any]
    number: int


Move = Say | Act


class Outcome(NamedTuple):
    """What a move led to: rewards by role, and whether the episode is over."""

    rewards: dict[Role, float]
    terminated: bool
    truncated: bool


class EpisodeState(NamedTuple):
    """A saved episode: the world's record WORLD[1], and the values around it."""

    world: npt.NDArray[Any]
    dialogue: Dialogue
    task: Task | None
    recorded: bool


class Episode:
    """One game from `begin` to its end, advanced by moves."""

    def __init__(self, config: GameConfig, controls: Controls, chat: Chat, renderer: Renderer) -> None:
        self.config, self.controls, self.chat, self.renderer = config, controls, chat, renderer
        self.terms = config.terms()
        self.worlds = Worlds(1)
        self.dialogue = Dialogue()
        self.task: Task | None = None
        self.objective: Objective | None = None  # None: the target, which the kernel scores
        self.recorded = False

    # -- course

    def begin(
        self,
        task: Task,
        pose: Pose | None = None,
        recorded: bool = False,
        wrong_scale: float | None = None,
    ) -> None:
        """Start an episode; the architect has the floor. Nothing is carried over from the last one.

        `recorded`: the dialogue is the one that the task tells, and goes on with it; else it begins empty, and only the
        two who play add to it. `wrong_scale`: that of this episode, where the configuration has a schedule of it.
        """
        self.worlds.spawn_prepared(0, prepare(task, self.terms), pose)
        if wrong_scale is not None:
            self.worlds.wrong_scale[0] = wrong_scale
        self.task, self.objective = task, task.objective
        self.recorded = recorded
        self.dialogue = task.dialogue if recorded else Dialogue()

    @property
    def played_config(self) -> GameConfig:
        """The configuration with the number that this episode is played with, in place of a schedule."""
        if self.config.wrong_schedule is None:
            return self.config
        return dataclasses.replace(self.config, wrong_scale=float(self.worlds.wrong_scale[0]))

    @property
    def written(self) -> str | None:
        """The recorded conversation as its task has it; None where those who play write it."""
        return self.task.dialog if self.recorded and self.task is not None else None

    @property
    def floor(self) -> Role:
        """Whose turn it is."""
        return Role.BUILDER if self.worlds.floor[0] == BUILDER else Role.ARCHITECT

    def advance(self, moves: Mapping[Role, Move]) -> Outcome:
        """Let the moves of one moment happen: utterances, then the builder's act."""
        if self.task is None:
            raise StateError("the episode has not begun: call reset() before step()")
        cost = 0.0
        said = moves.get(Role.ARCHITECT)
        if said is not None:
            cost = self.architect_says(said.text if isinstance(said, Say) else "")
        move = moves.get(Role.BUILDER)
        return self._outcome(0.0 if move is None else self._builder_moves(move), cost)

    def tick(self, said: Mapping[Role, str], act: Act) -> Outcome:
        """A moment of a game in real time: what was said, in this order, then the builder's step.

        Both may speak at any time. Of the builder it costs nothing and leaves its act and the floor as they are.
        """
        if self.task is None:
            raise StateError("the episode has not begun: call reset() before tick()")
        cost = 0.0
        for role, text in said.items():
            if role == Role.BUILDER:
                self.dialogue = self.dialogue.say(role, text)
            else:
                cost += self.architect_says(text)
        return self._outcome(self.builder_acts(act.records, act.number), cost)

    def _outcome(self, reward: float, cost: float) -> Outcome:
        shared = reward if self.config.rewards == "shared" else 0.0
        worlds = self.worlds
        return Outcome(
            {Role.ARCHITECT: shared - cost, Role.BUILDER: reward},
            bool(worlds.terminated[0]),
            bool(worlds.truncated[0]),
        )

    def architect_says(self, text: str) -> float:
        """The architect's turn: an utterance, perhaps silence; then the builder has the floor. Returns its cost."""
        speak_at(self.worlds.state, 0)
        if not text:
            return 0.0
        self.dialogue = self.dialogue.say(Role.ARCHITECT, text)
        return self.config.message_cost * self.chat.words(text) if self.config.message_cost else 0.0

    def _builder_moves(self, move: Move) -> float:
        if isinstance(move, Act):
            return self.builder_acts(move.records, move.number)
        if isinstance(move, Say):
            self.dialogue = self.dialogue.say(Role.BUILDER, move.text)
        return self.builder_acts(*self.controls.yielding())

    def builder_acts(self, records: npt.NDArray[Any], index: int) -> float:
        """One builder step; returns the building reward. In a progressive task, a reached turn leads to the next."""
        worlds = self.worlds
        step_at(worlds.state, 0, records, index)
        if self.objective is not None:
            rewards, reached = self.objective.score(worlds, (0,))
            worlds.reward[0] = rewards[0] - self.terms.step_cost
            worlds.terminated[0] = reached[0]
        reward = float(worlds.reward[0])
        if worlds.terminated[0]:
            self.go_on()
        return reward

    def go_on(self) -> None:
        """Take up the next turn of a progressive task; one that asks for no change is over with its words."""
        while self.worlds.terminated[0] and self.task is not None and self.task.next_task is not None:
            following = self.task.next_task
            if following.ids is None and self.task.ids is not None:
                following = following.replace(ids=self.task.ids)
            if self.recorded:
                known = len(self.task.dialogue)
                self.dialogue = Dialogue((*self.dialogue, *following.dialogue.utterances[known:]))
            self.task, self.objective = following, following.objective
            if not following.is_complete_at_start:
                self.worlds.retarget(0, following, self.terms)

    # -- saving

    def get_state(self) -> EpisodeState:
        """A copy of the world's record and the (immutable) dialogue and task."""
        return EpisodeState(self.worlds.get_state(), self.dialogue, self.task, self.recorded)

    def set_state(self, state: EpisodeState) -> None:
        """Put back what `get_state` gave. Raises `StateError` when it does not fit; nothing is changed then."""
        if not isinstance(state, EpisodeState):
            raise StateError(
                f"state is a {type(state).__name__}, expected an EpisodeState as get_state returns it"
            )
        kinds = {"dialogue": Dialogue, "task": Task | None, "recorded": bool}
        for name, kind in kinds.items():
            if not isinstance(getattr(state, name), kind):
                got = type(getattr(state, name)).__name__
                raise StateError(f"the state's {name} is a {got}, expected what get_state returns")
        self.worlds.set_state(state.world)
        self.dialogue, self.task, self.recorded = state.dialogue, state.task, state.recorded
        self.objective = None if self.task is None else self.task.objective
