"""Removal of unnecessary steps from walking plans, verified by simulation."""

from __future__ import annotations

import numpy as np

from iglu_marl.core.actions import Action
from iglu_marl.core.kernels.records import PLACED, REMOVED
from iglu_marl.core.kernels.step import step_until_change
from iglu_marl.planning.problem import Problem, WorldArray
from iglu_marl.planning.simulation import encoding, step

LONGEST_CUT = 6  # steps removed together
ACTS_AHEAD = 4  # acts between a step and its inverse
PASSES = 3
_PAIRS = (
    (Action.FORWARD, Action.BACK),
    (Action.LEFT, Action.RIGHT),
    (Action.TURN_LEFT, Action.TURN_RIGHT),
    (Action.LOOK_UP, Action.LOOK_DOWN),
)
_UNDOES: dict[int, int] = {**dict(_PAIRS), **{other: one for one, other in _PAIRS}}


def shorten(problem: Problem, actions: list[int]) -> list[int]:
    """Remove actions as long as the same blocks change in the same order."""
    return _Shortener(problem, actions).run()


class _Shortener:
    """A plan in parts, each of which ends with an act that changes a block; the change has to stay the same."""

    def __init__(self, problem: Problem, actions: list[int]) -> None:
        self._controls, _ = encoding("walking").encode(Action.NOOP)  # of all actions
        self.parts: list[list[int]] = []
        self._changes: list[bytes] = []
        state = problem.start.copy()
        self._states = [state.copy()]  # before each part, and after the last
        part: list[int] = []
        for action in actions:
            part.append(action)
            step(state, "walking", action)
            if state["event"][0] in (PLACED, REMOVED):
                self.parts.append(part)
                self._changes.append(state["change"][0].tobytes())
                self._states.append(state.copy())
                part = []

    def _states_after(self, first: int, parts: list[list[int]]) -> list[WorldArray] | None:
        """Return the states after each of some consecutive parts; None if an act changes."""
        states, state = [], self._states[first].copy()
        for number, part in enumerate(parts, start=first):
            done = step_until_change(state, 0, self._controls, np.array(part))
            if done < len(part) or state["change"][0].tobytes() != self._changes[number]:
                return None
            states.append(state.copy())
        return states

    def _accept(self, first: int, changed: list[list[int]]) -> bool:
        """Replace parts from `first` on if all acts stay the same."""
        parts = changed + self.parts[first + len(changed) :]
        states = self._states_after(first, parts)
        if states is None:
            return False
        self.parts[first:], self._states[first + 1 :] = parts, states
        return True

    def run(self) -> list[int]:
        """Return the remaining actions."""
        for _ in range(PASSES):
            before = sum(map(len, self.parts))
            for number in range(len(self.parts)):
                self._leave_out(number)
                self._cancel(number)
            if sum(map(len, self.parts)) == before:
                break
        return [action for part in self.parts for action in part]

    def _leave_out(self, number: int) -> None:
        for length in range(LONGEST_CUT, 0, -1):
            at = 0
            while at + length < len(self.parts[number]):
                part = self.parts[number]
                if not self._accept(number, [part[:at] + part[at + length :]]):
                    at += 1

    def _cancel(self, number: int) -> None:
        """Remove a step and its later inverse."""
        at = 0
        while at < len(self.parts[number]) - 1:
            if not self._cancelled(number, at):
                at += 1

    def _cancelled(self, number: int, at: int) -> bool:
        part = self.parts[number]
        opposite = _UNDOES.get(part[at])
        if opposite is None or (at and part[at - 1] == part[at]):
            return False  # of equal steps in a row, only the first is tried
        rest = [part[:at] + part[at + 1 :], *self.parts[number + 1 : number + 1 + ACTS_AHEAD]]
        for count, other in enumerate(rest):
            begin = 0 if count else at
            if opposite in other[begin:-1]:
                there = other.index(opposite, begin)
                if self._accept(number, [*rest[:count], other[:there] + other[there + 1 :]]):
                    return True
        return False
