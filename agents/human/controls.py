"""From keys and mouse to a builder's actions, in each of the five encodings. Needs no window."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from iglu_marl import ActionError, AgentError, Controls
from iglu_marl.core.actions import CAMERA_STEP_DEG, Action
from iglu_marl.core.controls import CONTROLS, ControlsName

FORWARD, BACK, LEFT, RIGHT, UP, DOWN, FAST = "forward", "back", "left", "right", "up", "down", "fast"
_ACTION = {action.name.lower(): int(action) for action in Action}
_REPEAT_STEPS = 5  # between repeated whole-cell moves
_FLY_STEPS = 3  # flying moves in every third step (5 cells/s), unless it is fast
_RISE = 0.6  # share of the greatest vertical speed
_SLIDE_CELLS = 0.25  # cells a step along the axes without collisions
_AIMED_DEG = 1e-3
_MOST_DEEDS = 64  # waiting actions; later ones are dropped
_MOST_DEG = 3600.0  # waiting turn
_MOVES = frozenset({FORWARD, BACK, LEFT, RIGHT, UP, DOWN, FAST})


@dataclass
class _Deed:
    """An action to do once; yaw_deg and pitch_deg: the turn that was asked for before it and is still to be made."""

    name: str  # "hotbar", "break", "place" or "yield"
    color: int = 0
    yaw_deg: float = 0.0
    pitch_deg: float = 0.0


class InputMapper:
    """Collects keys, turns and single actions, and returns one action a step.

    A single action happens with the line of sight at the time it was asked for, however far the mouse has moved since.
    A key that was only tapped counts for one step. At most 64 actions wait; later ones are dropped. Unknown moves,
    turns and colours raise `ActionError`. controls, select_and_place, can_yield: as in the game.
    """

    def __init__(
        self, controls: ControlsName, *, select_and_place: bool = False, can_yield: bool = True
    ) -> None:
        self.controls = Controls(controls, select_and_place=select_and_place, can_yield=can_yield)
        if self.controls.on_cells:
            raise AgentError(
                f"controls is {controls!r}, and keys move a builder; expected one of {', '.join(CONTROLS)}"
            )
        self.can_yield, self.select_and_place = can_yield, select_and_place
        self.active = 1
        parts = getattr(self.controls.space, "spaces", {})  # none where an action is a number
        self._nothing: dict[str, Callable[[], Any]] = {
            key: partial(np.zeros, space.shape, np.float32) if isinstance(space, spaces.Box) else int
            for key, space in parts.items()
        }
        self._fill = {
            "walking": self._walk, "flying": self._fly, "human-level": self._press, "discrete": self._hop,
            "continuous": self._slide,
        }[controls]  # fmt: skip
        self.begin()

    def begin(self) -> None:
        """Release everything, and take the first colour in hand."""
        self.active = 1
        self.release()

    def release(self) -> None:
        """Release all keys, and drop all waiting actions."""
        self._held: set[str] = set()
        self._tapped: dict[str, None] = {}
        self._deeds: deque[_Deed] = deque()
        self._look = [0.0, 0.0]
        self._step = 0
        self._turned_last = False

    # -- what is asked for

    @property
    def look_deg(self) -> tuple[float, float]:
        """The turn (yaw, pitch) that is still to be made."""
        if self.controls.name == "walking":
            yaw, pitch = (round(angle / CAMERA_STEP_DEG) * CAMERA_STEP_DEG for angle in self._look)
            return yaw, pitch
        return self._look[0], self._look[1]

    @property
    def busy(self) -> bool:
        """Whether single actions are waiting."""
        return bool(self._deeds)

    @property
    def is_flying(self) -> bool:
        """Whether there is no gravity."""
        return self.controls.name in ("flying", "continuous")

    def hold(self, what: str, down: bool) -> None:
        """Start or stop moving: forward, back, left, right, up (or jump), down, fast."""
        if what not in _MOVES:
            raise ActionError(f"the move is {what!r:.40}, expected one of {', '.join(sorted(_MOVES))}")
        if down:
            self._held.add(what)
            self._tapped[what] = None
        else:
            self._held.discard(what)

    def turn(self, yaw_deg: float, pitch_deg: float) -> None:
        """Turn right and up."""
        if not (abs(yaw_deg) <= _MOST_DEG and abs(pitch_deg) <= _MOST_DEG):  # nor nan
            raise ActionError(
                f"the turn is {yaw_deg!r:.40}, {pitch_deg!r:.40}, expected at most {_MOST_DEG:g} degrees"
            )
        self._look[0] = max(-_MOST_DEG, min(_MOST_DEG, self._look[0] + yaw_deg))
        self._look[1] = max(-180.0, min(180.0, self._look[1] + pitch_deg))

    def face(self, pitch_deg: float) -> None:
        """Limit the waiting turn to straight up and down, given the current pitch."""
        self._look[1] = max(-90.0 - pitch_deg, min(90.0 - pitch_deg, self._look[1]))

    def choose(self, color: int) -> None:
        """Take a colour in hand (1..6)."""
        if type(color) is not int or not 1 <= color <= 6:
            raise ActionError(f"the color is {color!r:.40}, expected an integer in 1..6")
        self._ask("hotbar", color)

    def place(self) -> None:
        """Place a block."""
        self._ask("hotbar" if self.select_and_place else "place", self.active)

    def remove(self) -> None:
        """Break a block."""
        self._ask("break")

    def yield_turn(self) -> None:
        """End the turn, if the game has turns."""
        if self.can_yield:
            self._ask("yield")

    def _ask(self, name: str, color: int = 0) -> None:
        if name == "hotbar":
            self.active = color
        if len(self._deeds) < _MOST_DEEDS:
            self._deeds.append(_Deed(name, color, *self._look))

    # -- actions

    def still(self) -> Any:
        """Return the action that does nothing."""
        return {key: make() for key, make in self._nothing.items()} if self._nothing else 0

    def action(self, yaw_deg: float) -> Any:
        """Return the action of this step. yaw_deg: of the current line of sight."""
        self._step += 1
        action = self._fill(yaw_deg)
        self._tapped.clear()
        return action

    def _wants(self, what: str) -> bool:
        return what in self._held or what in self._tapped

    def _axis(self, plus: str, minus: str) -> int:
        return int(self._wants(plus)) - int(self._wants(minus))

    def _turn(self, limit: float) -> tuple[float, float]:
        """Return the turn of this step, within the limit: to the next action's aim, or all that waits."""
        deed = self._deeds[0] if self._deeds else None
        goal = self._look if deed is None else (deed.yaw_deg, deed.pitch_deg)
        made = tuple(float(np.float32(max(-limit, min(limit, angle)))) for angle in goal)
        self._turned(made[0], made[1])
        return made[0], made[1]

    def _turned(self, yaw_deg: float, pitch_deg: float) -> None:
        self._look[0] -= yaw_deg
        self._look[1] -= pitch_deg
        for deed in self._deeds:
            deed.yaw_deg -= yaw_deg
            deed.pitch_deg -= pitch_deg

    def _ready(self, deed: _Deed, within: float = _AIMED_DEG) -> bool:
        return max(abs(deed.yaw_deg), abs(deed.pitch_deg)) <= within

    def _dict(self, color_key: str) -> tuple[dict[str, Any], str]:
        """Return a Dict action with camera, colour and yield, and what the hands do: "break", "place" or ""."""
        action: dict[str, Any] = self.still()
        if self._deeds and self._deeds[0].name == "yield":  # replaces all other actions of this step
            self._deeds.popleft()
            action["yield"] = 1
            self._tapped.clear()
            return action, ""
        action["camera"] = np.array(self._turn(self.controls.camera_limit), np.float32)
        hands = ""
        while self._deeds and self._ready(self._deeds[0]):
            deed = self._deeds[0]
            busy = bool(hands) or (self.select_and_place and action[color_key])
            if busy or deed.name == "yield" or (deed.name == "hotbar" and action[color_key]):
                break  # the rest comes in the next step
            if deed.name == "hotbar":
                action[color_key] = deed.color
            else:
                hands = deed.name
            self._deeds.popleft()
        return action, hands

    def _press(self, _: float) -> Any:
        action, hands = self._dict("hotbar")
        for key in (FORWARD, BACK, LEFT, RIGHT):
            action[key] = int(self._wants(key))
        action["jump"] = int(self._wants(UP))
        action["attack"], action["use"] = int(hands == "break"), int(hands == "place")
        return action

    def _hop(self, _: float) -> Any:
        action, hands = self._dict("hotbar")
        again = self._step % _REPEAT_STEPS == 0
        moving = {*self._tapped, *(self._held if again else ())}
        fore, side = (FORWARD in moving) - (BACK in moving), (RIGHT in moving) - (LEFT in moving)
        action["move"], action["strafe"] = fore % 3, side % 3  # 1 forward, 2 back; 1 right, 2 left
        action["jump"] = int(self._wants(UP))
        action["attack"], action["use"] = int(hands == "break"), int(hands == "place")
        return action

    def _fly(self, _: float) -> Any:
        action, hands = self._dict("inventory")
        now = self._step % _FLY_STEPS == 0 or FAST in self._held
        fore, side = self._axis(BACK, FORWARD), self._axis(RIGHT, LEFT)
        if not now and not self._tapped.keys() & {FORWARD, BACK, LEFT, RIGHT}:
            fore = side = 0
        action["movement"] = np.array([fore, side, _RISE * self._axis(UP, DOWN)], np.float32)
        action["placement"] = {"": 0, "place": 1, "break": 2}[hands]
        return action

    def _slide(self, yaw_deg: float) -> Any:
        action, hands = self._dict("hotbar")
        yaw = math.radians(yaw_deg)
        fore, side = self._axis(FORWARD, BACK), self._axis(RIGHT, LEFT)
        cells = _SLIDE_CELLS * (4 if FAST in self._held else 1)
        east, south = fore * math.sin(yaw) + side * math.cos(yaw), side * math.sin(yaw) - fore * math.cos(yaw)
        for key, share in (("move_x", east), ("move_y", self._axis(UP, DOWN)), ("move_z", south)):
            action[key] = np.array(max(-1.0, min(1.0, cells * share)), np.float32)
        action["attack"], action["use"] = int(hands == "break"), int(hands == "place")
        return action

    def _walk(self, _: float) -> Any:
        """Return one action a step: waiting actions first, each after its turn; then turns and moves alternate."""
        deed = self._deeds[0] if self._deeds else None
        half = CAMERA_STEP_DEG / 2
        if deed is not None and self._ready(deed, half):
            self._deeds.popleft()
            if deed.name == "hotbar":
                return int(Action.hotbar(deed.color))
            return _ACTION[deed.name]
        yaw, pitch = self._look if deed is None else (deed.yaw_deg, deed.pitch_deg)
        moves = [what for what in (UP, FORWARD, BACK, LEFT, RIGHT) if self._wants(what)]
        turning = max(abs(yaw), abs(pitch)) > half
        if turning and (deed is not None or not moves or not self._turned_last):
            self._turned_last = True
            if abs(yaw) >= abs(pitch):
                self._turned(math.copysign(CAMERA_STEP_DEG, yaw), 0.0)
                return _ACTION["turn_right" if yaw > 0 else "turn_left"]
            self._turned(0.0, math.copysign(CAMERA_STEP_DEG, pitch))
            return _ACTION["look_up" if pitch > 0 else "look_down"]
        self._turned_last = False
        if not moves:
            return 0
        jumping = moves[0] == UP and (len(moves) == 1 or self._step % 2 == 0)
        chosen = (
            UP
            if jumping
            else [what for what in moves if what != UP][self._step % (len(moves) - (UP in moves))]
        )
        return _ACTION["jump" if chosen == UP else chosen]
