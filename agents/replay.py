"""An architect that says what a recorded one said, when the time for it has come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, Dialogue, Role, Subtasks, Task, maximal_intersection
from iglu_marl.agents.scripted.dialogue_tracker import SHOW_ARCHITECT, need
from iglu_marl.agents.settings import MESSAGE_CHARACTERS, Settings

PATIENCE = 2


class _Turn(NamedTuple):
    """What is said before a stretch of building, and the task whose target it leads to."""

    messages: tuple[str, ...]
    task: Task


class ReplayArchitect:
    """Speaks the architect's part of a recorded dialogue, turn by turn, to whoever builds now.

    It goes on to its next turn when the world is what the recorded one was at that point (up to a shift and turn,
    where the task allows it), or when the builder has given the floor back `patience` times without having changed
    anything, its pose included where that is seen. The builder's recorded words are not spoken.

    What is said: the words of `session`, if one is given; of a progressive task, those of its turn and of the ones
    after it; of a task that begins with an empty world, its whole dialogue, an utterance at a time; else the current
    instruction. It is privileged: `play` gives it the task. `turn` is the number of the turn that it is at, and
    `finished` whether all has been said.

    message_length: characters of one utterance; longer ones are said in parts. Raises `AgentError` for token chat,
    whose closed vocabulary cannot say what people said.
    """

    privileged = True

    def __init__(
        self,
        session: Subtasks | None = None,
        *,
        message_length: int = MESSAGE_CHARACTERS,
        patience: int = PATIENCE,
    ) -> None:
        if message_length < 1 or patience < 1:
            raise AgentError(
                f"message_length is {message_length} and patience {patience}, expected 1 or more"
            )
        if session is not None and not isinstance(session, Subtasks):
            raise AgentError(f"session is {session!r:.80}, expected a Subtasks")
        self.session, self.message_length, self.patience = session, message_length, patience
        self._turns: list[_Turn] = []
        self._restart()

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> ReplayArchitect:
        """One that fits an environment's chat."""
        settings = Settings.of(env)
        if settings.tokens:
            raise AgentError(
                "a ReplayArchitect needs chat='text': people's words are not in the vocabulary of tokens"
            )
        return cls(**{"message_length": settings.message_length, **options})

    def _restart(self) -> None:
        self.turn = 0
        self._waiting: list[str] = []
        self._begun = False
        self._idle = 0
        self._seen: tuple[bytes, bytes] | None = None

    @property
    def finished(self) -> bool:
        """Whether all has been said."""
        return self._begun and not self._waiting and self.turn == len(self._turns) - 1

    # -- Agent

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Begin an episode. Raises `AgentError` for another role than the architect's, or without words to say."""
        if role != Role.ARCHITECT or task is None:
            raise AgentError(
                f"a ReplayArchitect plays the architect and needs the task, got {role} and {task!r:.60}"
            )
        self._turns = [
            _Turn(self._messages(words), about)
            for words, about in _recorded(self.session, task.in_ids("iglu"))
        ]
        self._restart()

    def act(self, observation: Any) -> str:
        """What is said next; "" while the builder is at work."""
        if not self._turns:
            raise AgentError(
                "the ReplayArchitect has no dialogue yet: call reset(role, seed, task=task) first"
            )
        grid = np.asarray(need(observation, ("grid",), "ReplayArchitect", SHOW_ARCHITECT))
        pose = np.asarray(observation["agentPos"]) if "agentPos" in observation else np.zeros(0)
        seen = (grid.tobytes(), pose.tobytes())
        self._idle = self._idle + 1 if seen == self._seen else 0
        self._seen = seen
        if not self._begun:
            self._say_turn(0)
        elif not self._waiting and not self.finished:
            if self._idle >= self.patience or _reached(grid, self._turns[self.turn].task):
                self._say_turn(self.turn + 1)
        return self._waiting.pop(0) if self._waiting else ""

    def close(self) -> None:
        """Nothing is held."""

    # -- words

    def _say_turn(self, turn: int) -> None:
        self._begun, self.turn, self._idle = True, turn, 0
        self._waiting = list(self._turns[turn].messages)

    def _messages(self, words: Dialogue) -> tuple[str, ...]:
        """The architect's utterances of a turn in as few messages as hold them."""
        messages: list[str] = []
        for utterance in words:
            if utterance.role is not Role.ARCHITECT:
                continue
            for part in _parts(utterance.text, self.message_length):
                if messages and len(messages[-1]) + 1 + len(part) <= self.message_length:
                    messages[-1] += f"\n{part}"
                else:
                    messages.append(part)
        return tuple(messages)


def _recorded(session: Subtasks | None, task: Task) -> list[tuple[Dialogue, Task]]:
    """The turns to be said: their words, and the task that each leads to."""
    if session is not None:
        return [(words, turn.in_ids("iglu")) for words, turn in zip(session.turns, session, strict=True)]
    if task.next_task is None and not task.start_grid.any():
        return [(Dialogue([utterance]), task) for utterance in task.dialogue if utterance.text] or [
            (Dialogue(), task)
        ]
    found = [(task.dialogue[len(task.previous_dialogue) :], task)]
    known, following = len(task.dialogue), task.next_task
    while following is not None:
        found.append((following.dialogue[known:], following))
        known, following = len(following.dialogue), following.next_task
    return found


def _parts(text: str, limit: int) -> list[str]:
    """A text in parts of at most `limit` characters, cut between words where there are any."""
    parts = []
    while len(text) > limit:
        cut = text.rfind(" ", 1, limit + 1)
        cut = limit if cut < 0 else cut
        parts.append(text[:cut].strip())
        text = text[cut:].strip()
    return [part for part in (*parts, text) if part]


def _reached(grid: npt.NDArray[Any], task: Task) -> bool:
    """Whether a world is what a task asks for, where it may stand."""
    if np.array_equal(grid, task.target_grid):
        return True
    size = task.target_size
    if not task.is_invariant or np.count_nonzero(grid) != size:
        return False
    return bool(maximal_intersection(grid, task.target_grid) == size)
