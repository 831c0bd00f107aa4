"""`Episode`: one world with its dialogue and task.

It applies moves in order: utterances first, then the builder's act. Clocks, turns, reward and end come from the kernel.
All environments of one game use it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import PAIR, Dialogue, Role
from iglu_marl.core.errors import AgentError, GridError, StateError
from iglu_marl.core.grid import Block, as_grid, cells_of, color_name, index_of, set_blocks
from iglu_marl.core.kernels.records import BUILDER, EpisodeRules
from iglu_marl.core.kernels.step import speak_at, step_at
from iglu_marl.core.pose import Pose
from iglu_marl.core.task import Task, is_block_list
from iglu_marl.core.worlds import Worlds, prepare
from iglu_marl.game.chat import Chat
from iglu_marl.game.config import GameConfig, Renderer
from iglu_marl.game.knowledge import agents_of
from iglu_marl.game.objective import Objective, pay_objective

# Result of placing or breaking in a step, by `worlds.event`.
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


AGENTS = agents_of(1, 1)


class Say(NamedTuple):
    """An utterance. The builder's takes a step, in place of its act, and ends its turn."""

    text: str


class Act(NamedTuple):
    """An act of the builder: the control `records[number]`, as from `Controls.encode`."""

    records: npt.NDArray[Any]
    number: int


Move = Say | Act


class WorldEdit(NamedTuple):
    """A change of the world from outside: cells x, y, z with their new color id, and the builder whose stock pays."""

    blocks: tuple[Block, ...]
    builder: str


class Outcome(NamedTuple):
    """Result of a move: rewards by agent, end of the episode, and shaping by builder ({} without that option)."""

    rewards: dict[str, float]
    terminated: bool
    truncated: bool
    shaping: Mapping[str, float] = {}

    @property
    def paid(self) -> dict[str, float]:
        """The rewards with shaping."""
        if not self.shaping:
            return self.rewards
        return {agent: reward + self.shaping.get(agent, 0.0) for agent, reward in self.rewards.items()}


class EpisodeState(NamedTuple):
    """A saved episode: a record WORLD for each builder, and the values around it. turn: see `TeamEpisode`."""

    world: npt.NDArray[Any]
    dialogue: Dialogue
    task: Task | None
    recorded: bool
    turn: int = 0


def _edited(grid: npt.NDArray[np.int8], blocks: Any) -> npt.NDArray[np.int8]:
    """Return the grid after an edit. Raises `GridError` for wrong blocks."""
    if is_block_list(blocks):
        return set_blocks(grid, blocks)
    try:
        return as_grid(blocks, "blocks")
    except GridError as error:
        raise GridError(f"{error}; or a list of blocks (x, y, z, color id), 0 for air") from None


class Episode:
    """One game of an architect and a builder, advanced by moves."""

    agents, speakers = AGENTS, PAIR
    _step: Callable[..., None] = staticmethod(step_at)

    def __init__(self, config: GameConfig, controls: Controls, chat: Chat, renderer: Renderer) -> None:
        self.config, self.controls, self.chat, self.renderer = config, controls, chat, renderer
        self.rules = config.rules()
        self.worlds = Worlds(1)
        self.dialogue = Dialogue()
        self.task: Task | None = None
        self.objective: Objective | None = None  # None: the target, which the kernel scores
        self.recorded = False
        self.edits: list[WorldEdit] = []  # of this episode
        # Of each builder in the last move; empty without that option.
        self._shaping = dict.fromkeys(self.builders, 0.0) if config.shaping else {}

    # -- course

    def begin(
        self,
        task: Task,
        poses: Sequence[Pose] | None = None,
        recorded: bool = False,
        scales: Mapping[str, float] | None = None,
    ) -> None:
        """Start an episode with the architect's turn. Nothing is carried over from the last one.

        Args:
            task: the task.
            poses: of each builder; None: where the task has no pose.
            recorded: whether the dialogue is the task's; else it begins empty.
            scales: values of this episode in place of schedules, see `GameConfig.schedules`.

        """
        self._spawn(prepare(task, self.rules), poses)
        for name, scale in (scales or {}).items():
            getattr(self.worlds, name)[:] = scale
        self.task, self.objective = task, task.objective
        self.recorded, self.edits = recorded, []
        self.dialogue = task.dialogue if recorded else Dialogue()
        self.take_shaping()

    def _spawn(self, prepared: npt.NDArray[Any], poses: Sequence[Pose] | None) -> None:
        for row in range(len(self.worlds)):
            self.worlds.spawn_prepared(row, prepared, None if poses is None else poses[row])

    def view(self, agent: str) -> Any:
        """Return what the observer of an agent reads: an object with the attributes of this one."""
        return self

    @property
    def next_agent(self) -> str:
        """The agent whose turn it is."""
        return AGENTS[self.worlds.floor[0]]  # which is 0 or 1

    @property
    def ended(self) -> tuple[bool, bool]:
        """Whether the episode is terminated, and whether it is truncated."""
        return any(self.worlds.terminated.tolist()), all(self.worlds.truncated.tolist())

    @property
    def played_config(self) -> GameConfig:
        """The configuration with this episode's values in place of schedules."""
        scales = {name: float(getattr(self.worlds, name)[0]) for name in self.config.schedules}
        return dataclasses.replace(self.config, **scales) if scales else self.config  # type: ignore[arg-type]

    @property
    def builders(self) -> tuple[str, ...]:
        """The names of the builders."""
        return self.config.agents[self.config.architects :]

    @property
    def written(self) -> str | None:
        """The recorded conversation as written in the task; None in live games."""
        return self.task.dialog if self.recorded and self.task is not None else None

    @property
    def instruction(self) -> str:
        """The task's instruction; in live games the architect's last utterance, "" if there is none."""
        if self.recorded and self.task is not None:
            return self.task.instruction
        last = self.dialogue.last(Role.ARCHITECT)
        return "" if last is None else last.text

    @property
    def floor(self) -> Role:
        """Whose turn it is."""
        return Role.BUILDER if self.worlds.floor[0] == BUILDER else Role.ARCHITECT

    def advance(self, moves: Mapping[str, Move]) -> Outcome:
        """Apply simultaneous moves by agent: utterances, then the builder's act."""
        if self.task is None:
            raise StateError("the episode has not begun: call reset() before step()")
        words = 0
        said = moves.get("architect_0")
        if said is not None:
            words = self.architect_says(said.text if isinstance(said, Say) else "")
        move = moves.get("builder_0")
        return self._outcome(0.0 if move is None else self._builder_moves(move), words)

    def tick(self, said: Mapping[str, str], acts: Sequence[Act]) -> Outcome:
        """Advance a game in real time: utterances by agent in this order, then the acts of the builders.

        All may speak at any time. A builder's utterances cost nothing and do not end its turn.
        """
        if self.task is None:
            raise StateError("the episode has not begun: call reset() before tick()")
        config, worlds = self.config, self.worlds
        words, earned = [0] * config.architects, [0.0] * len(acts)
        for agent, text in said.items():
            number = self.agents.index(agent)
            if number < config.architects:
                for row in range(len(worlds)):
                    speak_at(worlds.state, row)
                words[number] = self.chat.words(text) if text and config.message_cost else 0
            role, place = self.speakers[number]
            self.dialogue = self.dialogue.say(role, text, place)
        for row, act in enumerate(acts):
            earned[row] = self.builder_acts(act.records, act.number, row)
            if worlds.terminated[row]:
                break
        rewards = dict(zip(self.agents, config.pay_team(earned, words), strict=True))
        return Outcome(rewards, *self.ended)

    def take_shaping(self) -> dict[str, float]:
        """Return the shaping since the last call."""
        taken, self._shaping = self._shaping, dict.fromkeys(self._shaping, 0.0)
        return taken

    def _outcome(self, reward: float, words: int) -> Outcome:
        architect, builder = self.config.pay(reward, words)
        rewards = {"architect_0": architect, "builder_0": builder}
        ends = bool(self.worlds.terminated[0]), bool(self.worlds.truncated[0])
        return Outcome(rewards, *ends, self.take_shaping())

    def architect_says(self, text: str) -> int:
        """Play the architect's turn: an utterance or silence (""). Return the number of words to pay for."""
        speak_at(self.worlds.state, 0)
        if not text:
            return 0
        self.dialogue = self.dialogue.say(Role.ARCHITECT, text)
        return self.chat.words(text) if self.config.message_cost else 0

    def _builder_moves(self, move: Move) -> float:
        if isinstance(move, Act):
            return self.builder_acts(move.records, move.number)
        if isinstance(move, Say):
            self.dialogue = self.dialogue.say(Role.BUILDER, move.text)
        return self.builder_acts(*self.controls.yielding())

    def builder_acts(self, records: npt.NDArray[Any], index: int, builder: int = 0) -> float:
        """Run a step of one builder and return its reward. A completed turn leads to the next one."""
        worlds = self.worlds
        self._step(worlds.state, builder, records, index)
        if self.objective is not None:
            pay_objective(self.objective.score, worlds, [builder])
        reward = float(worlds.reward[builder])
        if self._shaping:
            self._shaping[self.builders[builder]] += float(worlds.shaping[builder])
        if worlds.terminated[builder]:
            self.next_subtask()
        return reward

    def next_subtask(self) -> None:
        """Continue with the next turn of a progressive task. Turns without a change are skipped."""
        while self.worlds.terminated.any() and (following := _following(self.task)) is not None:
            assert self.task is not None
            if self.recorded:
                known = len(self.task.dialogue)
                self.dialogue = Dialogue((*self.dialogue, *following.dialogue.utterances[known:]))
            self.task, self.objective = following, following.objective
            if not following.is_complete_at_start:
                for builder in range(len(self.worlds)):
                    self.worlds.retarget(builder, following, self.rules)

    def edit(self, blocks: Any, builder: str = AGENTS[-1]) -> None:
        """Change the world from outside the game, as `edit` of the environments describes it."""
        if self.task is None or any(self.ended):
            raise StateError("the episode is over or has not begun: call reset() before edit()")
        builders = self.builders
        if builder not in builders:
            raise AgentError(f"builder is {builder!r:.80}, expected one of {', '.join(builders)}")
        colors = np.array(self.controls.conventions.color_of_action_id, np.int8)  # by the environment's ids
        now = np.argsort(colors).astype(np.int8)[self.worlds.grid[0]]
        wanted = _edited(now, blocks)
        cells = cells_of(wanted != now)
        if not len(cells):
            return
        ids, row = wanted[index_of(cells.T)], builders.index(builder)
        if len(builders) > 1:
            self._check_stock(row, builder, self.worlds.grid[0][index_of(cells.T)], colors[ids])
        self.worlds.rewrite(row, np.column_stack((cells, colors[ids])))
        rows = np.column_stack((cells, ids)).tolist()
        self.edits.append(WorldEdit(tuple((x, y, z, color) for x, y, z, color in rows), builder))

    def _check_stock(
        self, row: int, builder: str, old: npt.NDArray[np.int8], new: npt.NDArray[np.int8]
    ) -> None:
        """Raise `StateError` if a builder of a team has too few blocks: others could take what was never there."""
        held = self.worlds.inventory[row].tolist()
        for color in range(1, 7):
            taken = int(np.count_nonzero(new == color) - np.count_nonzero(old == color))
            if taken > max(0, held[color - 1]):
                raise StateError(
                    f"the edit takes {taken} {color_name(color)} blocks from {builder}, which holds {held[color - 1]}, "
                    "expected as many as it holds; name another builder"
                )

    def reason_impossible(self) -> str:
        """Return why no builder can complete the task, with its following turns, from here; "" if not proved."""
        from iglu_marl.planning import reason_impossible

        worlds, task = self.worlds, self.task
        reason = ""
        while task is not None and task.objective is None and not reason:
            reason = reason_impossible(worlds)
            if (task := _following(task)) is not None:
                worlds = _after(worlds, task, self.rules)
        return reason

    # -- saving

    def get_state(self) -> EpisodeState:
        """Return a copy of the records, and the immutable dialogue and task."""
        return EpisodeState(self.worlds.get_state(), self.dialogue, self.task, self.recorded)

    def set_state(self, state: EpisodeState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
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


def _following(task: Task | None) -> Task | None:
    """Return the next turn of a progressive task, in the ids of this one; None if there is none."""
    following = None if task is None else task.next_task
    if following is None or task is None or following.ids is not None or task.ids is None:
        return following
    return following.replace(ids=task.ids)


def _after(worlds: Worlds, following: Task, rules: EpisodeRules) -> Worlds:
    """Return copies of worlds in which the next turn begins: its starting blocks were taken from the inventories."""
    after = Worlds(len(worlds))
    after.set_state(worlds.get_state())
    grid = following.in_ids("iglu").start_grid
    counts = [np.bincount(blocks.ravel(), minlength=7)[1:] for blocks in (grid, worlds.grid[0])]
    after.inventory[0] -= (counts[0] - counts[1]).astype(np.int16)
    after.grid[:] = grid
    for row in range(len(after)):
        after.retarget(row, following, rules)
    return after
