"""A partner that gives prepared instructions, one per round, and judges the build after each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from iglu_marl.agents.llm.world_text import coordinates_text
from iglu_marl.core.dialogue import Role, Utterance
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.task import Task

if TYPE_CHECKING:
    from iglu_marl.text.game import TextGame

ALL_SAID = "I have said all that you need."


class InstructedRound(NamedTuple):
    """An instruction and the build that it asks for.

    text: the instruction; "" if `before` ends with it. start, target: int8 [9, 11, 11]. answer: reply to any question.
    ask: whether a question is "needed" or "needless"; "never" if there are none on the level. guess: whether
    the context suggests the target, if something is left out. before: earlier utterances. pose: the builder's
    x, y, z, yaw and pitch.
    """

    text: str
    start: BlockGrid
    target: BlockGrid
    answer: str = ""
    ask: Literal["needed", "needless", "never"] = "never"
    guess: bool = True
    before: tuple[Utterance, ...] = ()
    pose: tuple[float, float, float, float, float] | None = None


class Played(NamedTuple):
    """Outcome of a round. built: the world. asked: number of questions."""

    right: bool
    built: BlockGrid
    asked: int


class Rounds:
    """Give the instruction of each round, answer questions, and take the first build as the result.

    After a build the world is that of the next round, whatever was built, so that a mistake is not repeated by the
    next round and a correction helps no build. A reply without changes and without a message is an empty build.

    Args:
        rounds: at least one.
        feedback: comment on each build: "none", "right" or "target" (also how it should have been).

    """

    def __init__(
        self, rounds: Sequence[InstructedRound], feedback: Literal["none", "right", "target"] = "right"
    ) -> None:
        self.rounds, self.feedback = tuple(rounds), feedback
        self.can_ask = any(part.ask != "never" for part in rounds)
        self.reset(None, 0)

    def reset(self, task: Task | None, seed: int) -> None:
        """Start with the first round."""
        self.played: list[Played] = []
        self.over, self._asked = False, 0

    @property
    def task(self) -> Task:
        """The task of the first round, to start the game with."""
        return Task("", self.rounds[0].target, starting_grid=self.rounds[0].start, invariant=False)

    def answer(self, game: TextGame, said: str) -> None:
        """Answer a question, or judge the build and give the next instruction."""
        if game.counts["replies"] == 0:
            self._instruct(game, "")
            return
        current = self.rounds[len(self.played)]
        if said and self.can_ask and (game.grid == current.start).all():
            self._asked += 1
            game.dialogue = game.dialogue.say(Role.ARCHITECT, current.answer or ALL_SAID)
            return
        right = bool((game.grid == current.target).all())
        self.played.append(Played(right, game.grid, self._asked))
        self._asked, self.over = 0, len(self.played) == len(self.rounds)
        if not self.over:
            self._instruct(game, self._comment(current, right))

    def _comment(self, current: InstructedRound, right: bool) -> str:
        if self.feedback == "none":
            return ""
        if right or self.feedback == "right":
            return "That was right. " if right else "That was not what I meant; it has been put right. "
        meant = coordinates_text(np.where(current.target != current.start, current.target, 0))
        return f"That was not what I meant. It should have been: {'; '.join(meant.splitlines())}. "

    def _instruct(self, game: TextGame, comment: str) -> None:
        """Set the world of the next round, and give its instruction."""
        current = self.rounds[len(self.played)]
        game.begin_round(current.start, current.target)
        if current.pose is not None:
            x, y, z, yaw, pitch = current.pose
            game.pose = np.array([x, y, z, pitch, yaw])
        for utterance in current.before:
            game.dialogue = game.dialogue.say(utterance.role, utterance.text)
        if current.text:
            game.dialogue = game.dialogue.say(Role.ARCHITECT, comment + current.text)
