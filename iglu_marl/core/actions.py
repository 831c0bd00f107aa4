"""The walking actions, in the numbering of IGLU Gridworld's documentation."""

from __future__ import annotations

from enum import IntEnum

CAMERA_STEP_DEG = 5.0  # of one action that turns the camera


class Action(IntEnum):
    """Actions of a walking builder. `YIELD` is in spaces that let the builder end its turn."""

    NOOP = 0
    FORWARD = 1
    BACK = 2
    LEFT = 3
    RIGHT = 4
    JUMP = 5
    HOTBAR_1 = 6
    HOTBAR_2 = 7
    HOTBAR_3 = 8
    HOTBAR_4 = 9
    HOTBAR_5 = 10
    HOTBAR_6 = 11
    TURN_LEFT = 12
    TURN_RIGHT = 13
    LOOK_UP = 14
    LOOK_DOWN = 15
    BREAK = 16
    PLACE = 17
    YIELD = 18

    @classmethod
    def hotbar(cls, color: int) -> Action:
        """Return the action that selects a colour 1..6."""
        return cls(cls.HOTBAR_1 + color - 1)

    @property
    def color(self) -> int:
        """The colour 1..6 that the action selects; 0 for other actions."""
        return self - Action.HOTBAR_1 + 1 if Action.HOTBAR_1 <= self <= Action.HOTBAR_6 else 0


WALKING_ACTIONS = tuple(action.name.lower() for action in Action)
