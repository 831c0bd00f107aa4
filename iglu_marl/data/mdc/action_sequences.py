"""Builder actions between utterances: what was done after what had been said, in the Minecraft Dialogue Corpus.

A sequence begins with the first change of the world after an utterance and ends before the next one. Where a state
shows new words and new blocks at once (56 of 33,461), the blocks came first: nobody reacts within that second, but
people comment on what they have just done. What was placed and taken away again within a sequence is no part of it:
the actions are net edits, as in the builder action prediction task (Jayannavar, Narayan-Chen and Hockenmaier, Learning
to Execute Instructions in a Minecraft Dialogue, ACL 2020). Edits outside the build zone are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.grid import BlockGrid, Cell, NetAction, in_zone
from iglu_marl.core.task import Subtasks
from iglu_marl.data.mdc.corpus import Session

Action = NetAction  # its name in `iglu_marl.data`


@dataclass(frozen=True)
class ActionSequence:
    """What a builder did between two utterances, with everything that it could know.

    session: where it is from; its `split`, `structure`, poses and times are there. number: which one of its session,
    those without a net edit counted too.
    first_state, last_state: of the session's states, those in which the world changed first and last.
    heard: how many utterances there had been; new_from: the first of them that came after the sequence before.
    actions: net edits in the order in which the cells got their final contents; a recolouring is a removal followed
    by a placement. dropped: edits outside the zone that were left out.
    """

    session: Session
    number: int
    first_state: int
    last_state: int
    heard: int
    new_from: int
    actions: tuple[NetAction, ...]
    dropped: int = 0

    @property
    def name(self) -> str:
        """An id: the session's name and the number."""
        return f"{self.session.name}/{self.number}"

    @property
    def dialogue(self) -> Dialogue:
        """Everything said so far."""
        return self.session.dialogue[: self.heard]

    @property
    def new_dialogue(self) -> Dialogue:
        """What was said since the sequence before."""
        return self.session.dialogue[self.new_from : self.heard]

    @property
    def before(self) -> BlockGrid:
        """The world before the first action, int8 [9, 11, 11]."""
        if self.first_state == 0:
            return np.zeros_like(self.session.grids[0])
        return self.session.grids[self.first_state - 1]

    @property
    def after(self) -> BlockGrid:
        """The world after the last action, int8 [9, 11, 11]."""
        return self.session.grids[self.last_state]

    @property
    def leaves_zone(self) -> bool:
        """Whether blocks stood outside the zone before it, or at some moment of it."""
        return any(
            self.session.outside(state) for state in range(max(0, self.first_state - 1), self.last_state + 1)
        )

    @property
    def pose(self) -> tuple[float, float, float, float, float] | None:
        """Where the builder was before the first action: eye and gaze (see `WorldState.pose`); None if unknown."""
        return self.session[max(0, self.first_state - 1)].pose()


def _net(edits: list[list[int]]) -> tuple[NetAction, ...]:
    """The net edits of (state, x, y, z, before, after), by the order of the last change of each cell."""
    first: dict[Cell, int] = {}
    last: dict[Cell, int] = {}
    for _, x, y, z, old, new in edits:
        cell = (x, y, z)
        first.setdefault(cell, old)
        last.pop(cell, None)  # to its end
        last[cell] = new
    actions = []
    for cell, new in last.items():
        old = first[cell]
        if old and old != new:
            actions.append(NetAction(False, *cell, old))
        if new and old != new:
            actions.append(NetAction(True, *cell, new))
    return tuple(actions)


def action_sequences(session: Session, *, empty: bool = False) -> list[ActionSequence]:
    """The action sequences of a session, in order.

    empty: also those without a net edit (a block that was placed and taken away again, say).
    """
    heard = session.heard.tolist()
    by_state: dict[int, list[list[int]]] = {}
    for edit in session.edits.tolist():
        by_state.setdefault(edit[0], []).append(edit)
    found: list[ActionSequence] = []
    parts: list[tuple[int, int, list[list[int]]]] = []  # utterances heard before, last state, edits
    open_at = -1  # how much had been heard when the open sequence began
    for state in sorted(by_state):
        known = heard[state - 1] if state else 0
        if known != open_at:
            parts.append((known, state, []))
            open_at = known
        parts[-1] = (known, state, parts[-1][2] + by_state[state])
    new_from = 0
    for number, (known, last_state, edits) in enumerate(parts):
        inside = [edit for edit in edits if in_zone(*edit[1:4])]
        actions = _net(inside)
        if not actions and not empty:
            continue
        dropped = len(edits) - len(inside)
        found.append(
            ActionSequence(session, number, edits[0][0], last_state, known, new_from, actions, dropped)
        )
        new_from = known
    return found


def turns(session: Session, *, progressive: bool = False, invariant: bool | None = None) -> Subtasks | None:
    """A session as turns: what was said since the last net change of the world, and the world after the next one.

    Words after the last change belong to no turn. None for a session in which nothing was built.
    """
    sequences = action_sequences(session)
    if not sequences:
        return None
    return Subtasks(
        [sequence.new_dialogue for sequence in sequences],
        [sequence.after for sequence in sequences],
        task_id=session.name,
        ids="iglu",
        progressive=progressive,
        invariant=invariant,
    )


def bap_samples(sessions: Iterator[Session] | list[Session]) -> Iterator[ActionSequence]:
    """The samples of the builder action prediction task: every action sequence with a net edit."""
    for session in sessions:
        yield from action_sequences(session)
