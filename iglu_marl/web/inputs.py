"""From messages of a page to actions of a builder: checked, in order, bounded.

A page sends one command frame for each 1/20 s with input, and the game takes one per tick. So a walk is as long as the
keys were down, whatever the network's delay, and the last frame taken shows the page which ones are still waiting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from iglu_marl.agents.human.controls import BACK, FAST, FORWARD, LEFT, RIGHT, UP, InputMapper
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.errors import ActionError

KEYS = (FORWARD, BACK, LEFT, RIGHT, UP, FAST)  # by bit
MOST_FRAMES = 8  # in the queue; with more, the two oldest are merged
MOST_EVENTS = 16  # in a frame
DELAY_STEPS = 10  # if the queue was never empty for this many steps, two frames are merged
_EVENTS = {"place": 0, "remove": 0, "yield": 0, "choose": 1, "turn": 2}  # event: how many numbers it has


class CommandFrame(NamedTuple):
    """The keys that are down in a step (bits of `KEYS`), and the events in it, in order."""

    number: int
    held: int
    events: tuple[tuple[Any, ...], ...]


def read_frame(message: Mapping[str, Any]) -> CommandFrame:
    """Return the frame of a message {"n": number, "held": bits, "events": [[name, numbers...]...]}.

    Raises `ActionError` if the message is invalid.
    """
    number, held, events = message.get("n"), message.get("held", 0), message.get("events", [])
    if type(number) is not int or not 0 < number < 2**53:
        raise ActionError(f"n is {number!r:.40}, expected the number of a frame")
    if type(held) is not int or not 0 <= held < 1 << len(KEYS):
        raise ActionError(f"held is {held!r:.40}, expected bits in 0..{(1 << len(KEYS)) - 1}")
    if not isinstance(events, list) or len(events) > MOST_EVENTS:
        raise ActionError(f"events are {events!r:.60}, expected a list of {MOST_EVENTS} at most")
    for event in events:
        if not isinstance(event, list) or not event or _EVENTS.get(str(event[0])) != len(event) - 1:
            raise ActionError(
                f"an event is {event!r:.60}, expected one of {', '.join(_EVENTS)} with its numbers"
            )
        if not all(type(value) in (int, float) and abs(value) <= 720 for value in event[1:]):  # nor nan
            raise ActionError(f"an event is {event!r:.60}, expected numbers in -720..720")
        if event[0] == "choose" and event[1] not in range(1, 7):
            raise ActionError(f"the color is {event[1]!r:.40}, expected 1..6")
    return CommandFrame(number, held, tuple(map(tuple, events)))


class RemoteHands:
    """A remote builder's input: frames in, one action per tick out. `ack`: number of the last frame taken.

    options: as of `InputMapper`.
    """

    def __init__(self, controls: ControlsName, **options: bool) -> None:
        self.inputs = InputMapper(controls, **options)
        self._frames: deque[CommandFrame] = deque()
        self._newest = 0
        self._seen = [0]  # lengths of the queue in the last steps
        self.ack = 0

    def take(self, frame: CommandFrame) -> None:
        """Queue a frame; one that is not newer than the last is ignored."""
        if frame.number <= self._newest:
            return
        self._newest = frame.number
        self._frames.append(frame)
        if len(self._frames) > MOST_FRAMES:
            self._join_oldest()

    def _join_oldest(self) -> None:
        """Merge the two oldest frames."""
        first, second = self._frames.popleft(), self._frames.popleft()
        self._frames.appendleft(second._replace(events=(first.events + second.events)[-MOST_EVENTS:]))

    def forget(self) -> None:
        """Discard all input; the person is gone. Frames are numbered from 1 again."""
        self.inputs.release()
        self._frames.clear()
        self._seen = [0]
        self._newest = self.ack = 0

    def action(self, yaw_deg: float, pitch_deg: float) -> Any:
        """Return this tick's action for a builder with this line of sight, or None without input."""
        self._seen.append(len(self._frames))
        if len(self._seen) > DELAY_STEPS:
            if min(self._seen) > 1:  # all that time: one who goes on would be behind for ever
                self._join_oldest()
            self._seen.clear()
        waits = any(self.inputs.look_deg) or self.inputs.busy
        held = 0
        if self._frames:
            frame = self._frames.popleft()
            held, self.ack, waits = frame.held, frame.number, True
            for name, *values in frame.events:
                self._do(name, values, pitch_deg)
        for bit, key in enumerate(KEYS):
            self.inputs.hold(key, bool(held >> bit & 1))
        return self.inputs.action(yaw_deg) if waits else None

    def _do(self, name: str, values: list[Any], pitch_deg: float) -> None:
        if name == "turn":
            self.inputs.turn(float(values[0]), float(values[1]))
            self.inputs.face(pitch_deg)
        elif name == "choose":
            self.inputs.choose(int(values[0]))
        else:
            {"place": self.inputs.place, "remove": self.inputs.remove, "yield": self.inputs.yield_turn}[
                name
            ]()
