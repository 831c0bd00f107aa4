"""An architect that repeats the utterances of a recorded one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, Dialogue, Role, Task, maximal_intersection
from iglu_marl.agents.scripted.dialogue_tracker import SHOW_ARCHITECT, require_entry
from iglu_marl.agents.settings import MESSAGE_CHARACTERS, Settings, check_pair
from iglu_marl.core.task import of_task

PATIENCE = 2


class _ScriptTurn(NamedTuple):
    """Messages before a phase of building, and the task with its target."""

    messages: tuple[str, ...]
    task: Task


class ReplayArchitect:
    """Say the architect's part of a recorded dialogue, turn by turn.

    The next turn starts when the world equals the recorded one (up to shift and rotation, if the task allows it), or
    after `patience` turns without a change of the world or the observed pose. The builder's utterances are not said.

    The utterances come from the task: the current and following turns of a progressive task, the whole dialogue of a
    task with an empty start, or the current instruction. The agent is privileged: `play` gives it
    the task. `turn` is the number of the current turn, and `finished` whether all is said.

    Args:
        message_length: characters of an utterance; longer ones are split.
        patience: turns without a change before the next turn starts.

    Raises:
        AgentError: for token chat, whose vocabulary does not have people's words.

    """

    privileged = True

    def __init__(self, *, message_length: int = MESSAGE_CHARACTERS, patience: int = PATIENCE) -> None:
        if message_length < 1 or patience < 1:
            raise AgentError(
                f"message_length is {message_length} and patience {patience}, expected 1 or more"
            )
        self.message_length, self.patience = message_length, patience
        self._turns: list[_ScriptTurn] = []
        self._restart()

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> ReplayArchitect:
        """Return an architect for the chat of an environment. Raises `AgentError` for a game of a team."""
        check_pair(env, cls)
        settings = Settings.of(env)
        if settings.tokens:
            raise AgentError("the environment has chat='tokens', expected 'text' for a ReplayArchitect")
        return cls(**{"message_length": settings.message_length, **options})

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat, see `iglu_marl.game.seats.GameSeat`."""
        needs: dict[str, Any] = {"role": Role.ARCHITECT, "pair": True, "chat": "text"}
        return {**needs, "max_characters": self.message_length}

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

    def check_task(self, task: Task) -> None:
        """Raise `AgentError` if a task has no recorded utterances of an architect."""
        if not any(self._messages(words) for words, _ in _recorded_turns(task)):
            raise AgentError(
                "the task has no utterances of an architect, expected a recorded dialogue, as in the tasks "
                f"'turns'{of_task(task.task_id)}"
            )

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the architect, or without a task."""
        if role != Role.ARCHITECT or task is None:
            raise AgentError(
                f"a ReplayArchitect plays the architect and needs the task, got {role} and {task!r:.60}"
            )
        self._turns = [
            _ScriptTurn(self._messages(words), about) for words, about in _recorded_turns(task.in_ids("iglu"))
        ]
        self._restart()

    def act(self, observation: Any) -> str:
        """Return the next utterance; "" while the builder works."""
        if not self._turns:
            raise AgentError(
                "the ReplayArchitect has no dialogue: call reset(role, seed, task=task) before act()"
            )
        grid = np.asarray(require_entry(observation, ("grid",), "ReplayArchitect", SHOW_ARCHITECT))
        pose = np.asarray(observation["agentPos"]) if "agentPos" in observation else np.zeros(0)
        seen = (grid.tobytes(), pose.tobytes())
        self._idle = self._idle + 1 if seen == self._seen else 0
        self._seen = seen
        if not self._begun:
            self._start_turn(0)
        elif not self._waiting and not self.finished:
            if self._idle >= self.patience or _is_built(grid, self._turns[self.turn].task):
                self._start_turn(self.turn + 1)
        return self._waiting.pop(0) if self._waiting else ""

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def _start_turn(self, turn: int) -> None:
        self._begun, self.turn, self._idle = True, turn, 0
        self._waiting = list(self._turns[turn].messages)

    def _messages(self, words: Dialogue) -> tuple[str, ...]:
        """Join the architect's utterances of a turn into as few messages as possible."""
        messages: list[str] = []
        for utterance in words:
            if utterance.role is not Role.ARCHITECT:
                continue
            for part in _split_text(utterance.text, self.message_length):
                if messages and len(messages[-1]) + 1 + len(part) <= self.message_length:
                    messages[-1] += f"\n{part}"
                else:
                    messages.append(part)
        return tuple(messages)


def _recorded_turns(task: Task) -> list[tuple[Dialogue, Task]]:
    """Return the turns to say: dialogue and task of each."""
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


def _split_text(text: str, limit: int) -> list[str]:
    """Split a text into parts of at most `limit` characters, between words if possible."""
    parts = []
    while len(text) > limit:
        cut = text.rfind(" ", 1, limit + 1)
        cut = limit if cut < 0 else cut
        parts.append(text[:cut].strip())
        text = text[cut:].strip()
    return [part for part in (*parts, text) if part]


def _is_built(grid: npt.NDArray[Any], task: Task) -> bool:
    """Return whether a world is the target of a task, at any allowed place."""
    if np.array_equal(grid, task.target_grid):
        return True
    size = task.target_size
    if not task.is_invariant or np.count_nonzero(grid) != size:
        return False
    return bool(maximal_intersection(grid, task.target_grid) == size)
