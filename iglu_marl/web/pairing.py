"""Participants who wait for partners: who is there, who is offered to whom, and whether both are ready."""

from __future__ import annotations

from dataclasses import dataclass

GONE_S = 10.0  # a participant whose page is silent for this long has left the queue
READY_S = 20.0  # in which both have to confirm that they are there


@dataclass(eq=False)
class Waiting:
    """A participant in a queue.

    team: number of the pair with whose members alone this one plays, None = any who have none. since, seen,
    offered_at: seconds (monotonic).
    """

    participant: int
    team: int | None
    since: float
    seen: float
    other: Waiting | None = None  # who is offered
    offered_at: float = 0.0
    ready: bool = False


class Queue:
    """The participants who wait for the same game, in order of arrival."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []

    def ask(self, participant: int, team: int | None, now: float, ready: bool) -> Waiting:
        """Note that a participant is there, and return its place.

        The first two of a pair, or of those without one, are offered to each other. Both have `READY_S` to confirm it
        by `ready`. Then who did not leaves the queue, and the other stays the first in it.
        """
        for one in tuple(self._waiting):
            late = one.other is not None and not one.ready and now - one.offered_at > READY_S
            if (late or now - one.seen > GONE_S) and one.participant != participant:
                self.remove(one.participant)
        mine = next((one for one in self._waiting if one.participant == participant), None)
        if mine is None:
            mine = Waiting(participant, team, now, now)
            self._waiting.append(mine)
        mine.seen, mine.team = now, team
        if mine.other is not None and not mine.ready and now - mine.offered_at > READY_S:
            self._withdraw(mine)
        if mine.other is None:
            free = (
                one for one in self._waiting if one is not mine and one.other is None and one.team == team
            )
            if (other := next(free, None)) is not None:
                mine.other, other.other = other, mine
                for one in (mine, other):
                    one.offered_at, one.ready = now, False
        mine.ready = mine.other is not None and (mine.ready or ready)
        return mine

    def remove(self, participant: int) -> None:
        """Remove a participant; one who was offered to it waits on."""
        for one in [one for one in self._waiting if one.participant == participant]:
            self._withdraw(one)
            self._waiting.remove(one)

    @staticmethod
    def _withdraw(one: Waiting) -> None:
        for part in (one, one.other):
            if part is not None:
                part.other, part.ready = None, False
