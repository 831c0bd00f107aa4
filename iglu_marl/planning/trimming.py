"""Walking shorter: leaves out steps that a plan does not need, one bit after the other, checked by the kernel."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from iglu_marl.core.controls import Controls
from iglu_marl.core.kernels import records as rules
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.walking import (
    BACK,
    FORWARD,
    LEFT,
    LOOK_DOWN,
    LOOK_UP,
    NOOP,
    RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
)

LONGEST = 6  # steps left out together
AHEAD = 4  # acts between a step and the one that undoes it
PASSES = 3
_UNDOES = {
    FORWARD: BACK, BACK: FORWARD, LEFT: RIGHT, RIGHT: LEFT,
    TURN_LEFT: TURN_RIGHT, TURN_RIGHT: TURN_LEFT, LOOK_UP: LOOK_DOWN, LOOK_DOWN: LOOK_UP,
}  # fmt: skip

State = npt.NDArray[Any]


class Trimmer:
    """A plan in parts: each ends with an act that changes a block, and has to change the same block ever after."""

    def __init__(self, world: Worlds, actions: list[int]) -> None:
        self._table = Controls("walking").encode(NOOP)[0]
        self._start = world.state[:1].copy()
        self.parts: list[list[int]] = []
        self._changes: list[bytes] = []
        self._split(actions)
        self._states = self._run(0, self.parts) or []

    def _split(self, actions: list[int]) -> None:
        state, part = self._start.copy(), []
        for action in actions:
            part.append(action)
            step_at(state, 0, self._table, action)
            if state["event"][0] in (rules.PLACED, rules.REMOVED):
                self.parts.append(part)
                self._changes.append(state["change"][0].tobytes())
                part = []

    def _run(self, first: int, parts: list[list[int]]) -> list[State] | None:
        """The states before each of some consecutive parts, and after the last; None when an act fails."""
        states = [self._start if first == 0 else self._states[first]]
        for number, part in enumerate(parts, start=first):
            state = states[-1].copy()
            for action in part[:-1]:
                step_at(state, 0, self._table, action)
                if state["event"][0] in (rules.PLACED, rules.REMOVED):
                    return None
            step_at(state, 0, self._table, part[-1])
            if state["change"][0].tobytes() != self._changes[number]:
                return None
            states.append(state)
        return states

    def _accept(self, first: int, changed: list[list[int]]) -> bool:
        """Take over other parts from `first` on, when all acts come out as before."""
        parts = changed + self.parts[first + len(changed) :]
        states = self._run(first, parts)
        if states is None:
            return False
        self.parts[first:] = parts
        self._states[first:] = states
        return True

    def trim(self) -> list[int]:
        """The actions that are left."""
        for _ in range(PASSES):
            before = sum(map(len, self.parts))
            for number in range(len(self.parts)):
                self._shorten(number)
                self._cancel(number)
            if sum(map(len, self.parts)) == before:
                break
        return [action for part in self.parts for action in part]

    def _shorten(self, number: int) -> None:
        """Leave out steps next to each other."""
        for length in range(LONGEST, 0, -1):
            at = 0
            while at + length < len(self.parts[number]):
                part = self.parts[number]
                if not self._accept(number, [part[:at] + part[at + length :]]):
                    at += 1

    def _cancel(self, number: int) -> None:
        """Leave out a step and the one that undoes it later."""
        at = 0
        while at < len(self.parts[number]) - 1:
            if not self._cancelled(number, at):
                at += 1

    def _cancelled(self, number: int, at: int) -> bool:
        part = self.parts[number]
        opposite = _UNDOES.get(part[at])
        if opposite is None or (at and part[at - 1] == part[at]):
            return False  # of equal steps in a row, the first will do
        changed = [part[:at] + part[at + 1 :]]
        if opposite in changed[0][at:-1]:
            there = changed[0].index(opposite, at)
            if self._accept(number, [changed[0][:there] + changed[0][there + 1 :]]):
                return True
        for other in self.parts[number + 1 : number + 1 + AHEAD]:
            if opposite in other[:-1]:
                there = other.index(opposite)
                if self._accept(number, [*changed, other[:there] + other[there + 1 :]]):
                    return True
            changed.append(other)
        return False
