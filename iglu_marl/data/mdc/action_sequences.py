"""Action sequences of the Minecraft Dialogue Corpus: the builder's net edits between utterances.

A sequence starts with the first change of the world after an utterance and ends before the next utterance. Where a
state has both new utterances and new blocks (56 of 33,461 states), the blocks come first, since nobody reacts within a
second. A block that is placed and removed again within a sequence is not part of it: actions are net edits, as in the
builder action prediction task (Jayannavar, Narayan-Chen and Hockenmaier, Learning to Execute Instructions in a
Minecraft Dialogue, ACL 2020). Edits outside the build zone are left out and counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.grid import BlockGrid, Cell, NetAction, in_zone
from iglu_marl.core.task import Subtasks
from iglu_marl.data.mdc.corpus import Session


@dataclass(frozen=True)
class ActionSequence:
    """The builder's net edits between two utterances, with its context."""

    session: Session  # the session, with split, structure, poses and times
    number: int  # number in the session, where sequences without a net edit count too
    first_state: int  # state of the session in which the world first changed
    last_state: int  # state in which it last changed
    heard: int  # number of utterances so far
    new_from: int  # number of the first utterance after the previous sequence
    # Net edits, in the order of the last change of each cell; a recoloring is a removal and a placement.
    actions: tuple[NetAction, ...]
    dropped: int = 0  # number of edits outside the zone, which are left out

    @property
    def name(self) -> str:
        """Id: the session's name and the number."""
        return f"{self.session.name}/{self.number}"

    @property
    def dialogue(self) -> Dialogue:
        """All utterances so far."""
        return self.session.dialogue[: self.heard]

    @property
    def new_dialogue(self) -> Dialogue:
        """Utterances since the previous sequence."""
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
        """Whether there were blocks outside the zone before or during the sequence."""
        return any(
            self.session.outside(state) for state in range(max(0, self.first_state - 1), self.last_state + 1)
        )

    @property
    def pose(self) -> tuple[float, float, float, float, float] | None:
        """The builder's eye and gaze before the first action (see `Session.poses`); None if unknown."""
        x, y, z, yaw, pitch = self.session.poses()[max(0, self.first_state - 1)].tolist()
        return None if math.isnan(x) else (x, y, z, yaw, pitch)


def _net(edits: list[list[int]]) -> tuple[NetAction, ...]:
    """Return the net edits of (state, x, y, z, before, after), in the order of the last change of each cell."""
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
    """Return the action sequences of a session, in order. `empty` includes those without a net edit."""
    heard = session.heard.tolist()
    by_state: dict[int, list[list[int]]] = {}
    for edit in session.edits.tolist():
        by_state.setdefault(edit[0], []).append(edit)
    found: list[ActionSequence] = []
    parts: list[tuple[int, int, list[list[int]]]] = []  # utterances heard before, last state, edits
    open_at = -1  # number of utterances at the start of the open sequence
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
    """Return a session as turns: the utterances since the last net change, and the world after the next one.

    Utterances after the last change belong to no turn. None if nothing was built.
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
        structure=session.structure,
    )
