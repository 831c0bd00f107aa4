"""From messages of a page to actions of a builder: checked, in order, bounded.

A page sends one command frame for each 1/20 s with input, and the game takes one per tick. So a walk is as long as the
keys were down, whatever the network's delay, and the last frame taken shows the page which ones are still waiting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from iglu_marl.agents.human.controls import BACK, FAST, FORWARD, LEFT, RIGHT, UP, InputMapper
from iglu_marl.core import schema
from iglu_marl.core.controls import ControlsName

KEYS = (FORWARD, BACK, LEFT, RIGHT, UP, FAST)  # by bit
MOST_FRAMES = 8  # in the queue; with more, the two oldest are merged
MOST_EVENTS = 16  # in a frame
MOST_DEG = 720.0  # of a turn
DELAY_STEPS = 10  # if the queue was never empty for this many steps, two frames are merged
_EVENTS = {"place": 0, "remove": 0, "yield": 0, "choose": 1, "turn": 2}  # event: how many numbers it has


class CommandFrame(NamedTuple):
    """The keys that are down in a step (bits of `KEYS`), and the events in it, in order."""

    number: int
    held: int
    events: tuple[tuple[Any, ...], ...]


def _is_event(event: Any) -> bool:
    if not isinstance(event, list) or not event or _EVENTS.get(str(event[0])) != len(event) - 1:
        return False
    if not all(type(value) in (int, float) and abs(value) <= MOST_DEG for value in event[1:]):  # nor nan
        return False
    return event[0] != "choose" or event[1] in range(1, 7)


def _are_events(events: Any) -> bool:
    return isinstance(events, list) and len(events) <= MOST_EVENTS and all(map(_is_event, events))


_FRAME = {
    "n": schema.whole(1, 2**53 - 1),
    "held": schema.whole(0, (1 << len(KEYS)) - 1),
    "events": schema.Field(
        _are_events, f"{MOST_EVENTS} at most of {', '.join(_EVENTS)}, each with its numbers"
    ),
}


def read_frame(message: Mapping[str, Any]) -> CommandFrame:
    """Return the frame of a message {"n": number, "held": bits, "events": [[name, numbers...]...]}.

    Raises `DataError` if the message is invalid.
    """
    content = {"n": message.get("n"), "held": message.get("held", 0), "events": message.get("events", [])}
    schema.check(_FRAME, content)
    return CommandFrame(content["n"], content["held"], tuple(map(tuple, content["events"])))


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
        elif name == "place":
            self.inputs.place()
        elif name == "remove":
            self.inputs.remove()
        else:
            self.inputs.yield_turn()
