"""Constants of the world, the rules of an episode, and the two records that all kernels work on.

A world is one record of `WORLD`. The act of a builder in one step is one record of `CONTROL`.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np

STEP_S = 0.05  # seconds per step
GRAVITY = 20.0  # cells/s²
JUMP_SPEED = 6.928203230275509  # cells/s, √48
WALK_SPEED = 5.0  # cells/s
FLY_SPEED = 15.0  # cells/s
TERMINAL_SPEED = 50.0  # cells/s
PADDING = 0.25  # cells kept between the eye and a wall
EYE_HEIGHT = 0.75  # eye above the centre of the legs' cell when standing
LIMIT = 2  # cells around the build zone in which one may move
GROUND_Y = -2  # cells at this height are the ground
GROUND_RADIUS = 18
RAY_SAMPLES = 40
RAY_SAMPLES_PER_CELL = 5.0
RADIANS = math.pi / 180.0
DEGREES = 180.0 / math.pi

WALKING, FLYING, DISCRETE, CONTINUOUS, CELL, CELL_IN_REACH = 0, 1, 2, 3, 4, 5  # CONTROL["mode"]
ARCHITECT, BUILDER = 0, 1  # WORLD["floor"]
EXACT, COVER = 0, 1  # WORLD["completion"]

# WORLD["event"]: what the hands did
NOTHING = 0
PLACED = 1
REMOVED = 2
PLACE_NO_HIT, PLACE_EYE_INSIDE, PLACE_OUTSIDE, PLACE_NONE_LEFT, PLACE_IN_THE_WAY = 3, 4, 5, 6, 7
REMOVE_NO_HIT, REMOVE_GROUND, BOTH_HANDS = 8, 9, 10
NO_CELL = 127

CONTROL = np.dtype(
    [
        # walking, flying, discrete: (back - forward, right - left, up); continuous: (x, y, z) in cells;
        # cell: the cell (x, y, z) that gets the colour `hotbar` (0: air; -1: nothing is done)
        ("move", np.float64, (3,)),
        ("camera", np.float64, (2,)),  # yaw and pitch change in degrees, pitch up positive
        ("mode", np.int8),
        ("hotbar", np.int8),  # 0 none, 1..6 select a colour
        ("place", np.int8),
        ("remove", np.int8),
        ("yields", np.int8),  # ends the builder's turn
    ],
    align=True,
)

Shifts = Literal["all", "inside"]
SHIFTS: tuple[Shifts, ...] = ("all", "inside")
Completion = Literal["exact", "cover"]
COMPLETIONS: tuple[Completion, ...] = ("exact", "cover")  # by number: EXACT, COVER


@dataclasses.dataclass(frozen=True)
class EpisodeRules:
    """The options that the kernels need: score, rewards and budgets (0 = no limit).

    `GameConfig` has an option of the same name for each; the weights of its option `shaping` are `shaping_…`, all 0
    without it, as is the scale. Every number and flag is a field of `WORLD`, with the bounds
    of `RULE_BOUNDS`. Append new ones: those after `turn_steps` follow at the end of the record, as float64.
    """

    shifts: Shifts = "all"
    completion: Completion = "exact"
    right_scale: float = 2.0
    wrong_scale: float = 1.0
    step_cost: float = 0.0
    size_reward: bool = False
    max_steps: int = 0
    max_turns: int = 0
    turn_steps: int = 0
    completion_reward: float = 0.0
    shaping_scale: float = 0.0
    shaping_distance: float = 0.0
    shaping_yaw: float = 0.0
    shaping_pitch: float = 0.0
    shaping_aim: float = 0.0
    shaping_color: float = 0.0


_LARGEST = float(np.finfo(np.float64).max)  # any finite number
_BOUNDS = {bool: (0, 1), int: (0, 2**31 - 1), float: (-_LARGEST, _LARGEST)}
RULE_BOUNDS = {
    rule.name: _BOUNDS[type(rule.default)]
    for rule in dataclasses.fields(EpisodeRules)
    if type(rule.default) in _BOUNDS
}
"""The smallest and the largest value of each rule in `WORLD`."""

_FIELDS: list[Any] = [
    ("pose", np.float64, (5,)),  # eye x, y, z in cells; yaw, pitch in degrees
    ("speed", np.float64),  # vertical, cells/s
    ("reward", np.float64),  # of the last step
    ("right_scale", np.float64),
    ("wrong_scale", np.float64),
    ("step_cost", np.float64),
    ("steps", np.int32),  # builder steps so far
    ("turns", np.int32),  # architect turns so far
    ("steps_in_turn", np.int32),  # builder steps in this turn
    ("max_steps", np.int32),  # budgets; 0 = none
    ("max_turns", np.int32),
    ("turn_steps", np.int32),
    ("seen_pose", np.float32, (5,)),  # x, y, z, pitch, yaw as observed
    ("seen_inventory", np.float32, (6,)),  # max(0, n)
    ("seen_compass", np.float32, (1,)),  # yaw wrapped into -180..180; 0 = north, 90 = east
    ("inventory", np.int16, (6,)),  # signed: starting blocks are not limited
    ("blocks", np.int16),  # in the build
    ("target_blocks", np.int16),
    ("asked", np.int16),  # cells that the task asks to change
    ("missing", np.int16),  # of those, cells (at their place) that are not yet as asked
    ("best", np.int16),  # the maximal intersection now
    ("record", np.int16),  # the largest so far
    ("matches", np.int16, (4, 21, 21)),  # equal blocks by rotation of the target, dx + 10, dz + 10
    ("shifts", np.int8, (4, 4)),  # admissible dx min, max, dz min, max by rotation; min > max = none
    ("invariant", np.int8),
    ("slices", np.int8),  # slices of motion in the next step
    ("active", np.int8),  # selected colour 1..6
    ("floor", np.int8),  # whose turn it is
    ("completion", np.int8),
    ("size_reward", np.int8),
    ("terminated", np.int8),
    ("truncated", np.int8),
    ("event", np.int8),
    ("hit", np.int8, (3,)),  # solid cell found by the ray; NO_CELL without
    ("before", np.int8, (3,)),  # the cell sampled just before it
    ("change", np.int8, (5,)),  # x, y, z, old, new of the last step's edit; old == new without
    ("grid", np.int8, (9, 11, 11)),
    ("start", np.int8, (9, 11, 11)),
    ("target", np.int8, (9, 11, 11)),
    ("spare", np.int8),  # fills the record up, so that equal worlds are equal bytes
]
# Recordings compare the fields above (see `recording.values.checksum`); further rules and fields follow.
_ADDED: list[Any] = [
    (name, np.float64) for name in RULE_BOUNDS if name not in [field[0] for field in _FIELDS]
]
_ADDED.insert(
    1, ("edits", np.int64)
)  # from outside, in this episode; each step reads it and the scale behind it
_ADDED += [
    ("shaping", np.float64),  # reward of the last step besides `reward`
    ("potential", np.float64),  # whose gain is paid as shaping
    ("has_potential", np.int64),  # whether it is that of the present state
]
WORLD = np.dtype(_FIELDS + _ADDED, align=True)
