"""Participants who wait for partners: who is there, who is offered to whom, and whether all are ready."""

from __future__ import annotations

import math
from dataclasses import dataclass

GONE_S = 10.0  # a participant whose page is silent for this long has left the queue
READY_S = 20.0  # in which all have to confirm that they are there


@dataclass(eq=False)
class Waiting:
    """A participant in a queue.

    team: number of the team with whose members alone this one plays, None = any who have none. since, seen,
    offered_at: seconds (monotonic).
    """

    participant: int
    team: int | None
    since: float
    seen: float
    others: tuple[Waiting, ...] = ()  # who are offered
    offered_at: float = 0.0
    ready: bool = False

    @property
    def matched(self) -> bool:
        """Whether all are ready."""
        return bool(self.others) and all(one.ready for one in (self, *self.others))


class Queue:
    """The participants who wait for the same game, in order of arrival."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []

    def ask(
        self,
        participant: int,
        team: int | None,
        now: float,
        ready: bool,
        size: int = 2,
        patience_s: float = math.inf,
    ) -> Waiting:
        """Note that a participant is there, and return its place.

        The first `size` of a team, or of those without one, are offered to each other, and after `patience_s` those who
        are there. All have `READY_S` to confirm it by `ready`. Then who did not leaves the queue, and the others stay
        the first in it.
        """
        for one in tuple(self._waiting):
            late = one.others and not one.ready and now - one.offered_at > READY_S
            if (late or now - one.seen > GONE_S) and one.participant != participant:
                self.remove(one.participant)
        mine = next((one for one in self._waiting if one.participant == participant), None)
        if mine is None:
            mine = Waiting(participant, team, now, now)
            self._waiting.append(mine)
        mine.seen, mine.team = now, team
        if mine.others and not mine.ready and now - mine.offered_at > READY_S:
            self._withdraw(mine)
        if not mine.others:
            free = [one for one in self._waiting if one is not mine and not one.others and one.team == team]
            wanted = size - 1 if now - mine.since < patience_s else min(size - 1, len(free))
            if 0 < wanted <= len(free):
                chosen = (mine, *free[:wanted])
                for one in chosen:
                    one.others = tuple(other for other in chosen if other is not one)
                    one.offered_at, one.ready = now, False
        mine.ready = bool(mine.others) and (mine.ready or ready)
        return mine

    def remove(self, participant: int) -> None:
        """Remove a participant; those who were offered to it wait on."""
        for one in [one for one in self._waiting if one.participant == participant]:
            self._withdraw(one)
            self._waiting.remove(one)

    @staticmethod
    def _withdraw(one: Waiting) -> None:
        for part in (one, *one.others):
            part.others, part.ready = (), False
