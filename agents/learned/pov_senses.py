"""Perception of many walkers: positions and features from pictures, compass, inventory and own actions.

Geometry is given, not learned: the effect of a step on the body (odometry), the position of a ground pixel relative to
the eye, and the position of a cell in the picture. A model learns the rest (see `pov_builder.py`).

All coordinates use the map's axes (x east, z south). Positions are relative to the start, as odometry gives them; the
start is estimated from pictures.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.const import EYE_HEIGHT, STEP_S, WALK_SPEED
from iglu_marl.core.actions import CAMERA_STEP_DEG, Action
from iglu_marl.planning.walking.controller import jump_height
from iglu_marl.rendering import palette

Floats = npt.NDArray[np.float32]
Pictures = npt.NDArray[np.uint8]  # palette indices [n, 64, 64]

SIDE = 64  # pixels of a picture, each way; it shows 90 degrees
EYE_Y = -1.0 + EYE_HEIGHT  # of one who stands on the ground, in cells
GROUND_TOP = -1.5  # the ground's upper side
PACE = WALK_SPEED * STEP_S  # cells
NOWHERE = palette.SIZE  # the index of what lies outside of the picture
FARTHEST = 16.0  # cells, on the level, of ground that counts
REACHES, GROUND = 12, 17  # of what is remembered of the ground: how far it reaches, and all
CLEAR, SLIP = 8.0, 0.12  # sum of lines near by that can be relied on; cells that are not taken for noise
NONE = 24.0  # cells added to how far ground reaches, so that 0 says that there is none
_WALKS = {Action.FORWARD: 0.0, Action.RIGHT: 90.0, Action.BACK: 180.0, Action.LEFT: 270.0}
ACTIONS = 18


def _jump() -> Floats:
    """Return the height of the eye above its rest position by steps since the start of a jump, float32 [k]."""
    heights = [0.0]
    while len(heights) < 2 or heights[-1] > 0.0:
        heights.append(max(0.0, jump_height(len(heights))))
    return np.array(heights, np.float32)


JUMP = _jump()
_TURN_DEG = np.zeros((ACTIONS, 2), np.float32)  # yaw, pitch
_TURN_DEG[[Action.TURN_LEFT, Action.TURN_RIGHT], 0] = -CAMERA_STEP_DEG, CAMERA_STEP_DEG
_TURN_DEG[[Action.LOOK_DOWN, Action.LOOK_UP], 1] = -CAMERA_STEP_DEG, CAMERA_STEP_DEG
_WALK = np.zeros((ACTIONS, 2), np.float32)  # ° from the yaw, cells
for _action, _deg in _WALKS.items():
    _WALK[_action] = _deg, PACE


@lru_cache(maxsize=1)
def _inverse() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    rgb = palette.RGB.astype(np.int64)
    packed = rgb[:, 0] << 16 | rgb[:, 1] << 8 | rgb[:, 2]
    order = np.argsort(packed, kind="stable")
    return packed[order], order.astype(np.uint8)


def palette_indices(pov: npt.NDArray[np.uint8]) -> Pictures:
    """Return pictures [..., 3] as palette indices [...]; other colours become the nearest below."""
    packed, order = _inverse()
    rgb = pov.astype(np.int64)
    at = np.searchsorted(packed, rgb[..., 0] << 16 | rgb[..., 1] << 8 | rgb[..., 2], side="right") - 1
    return order[np.maximum(at, 0)]


class Odometry:
    """What n walkers know of their bodies without looking, but for the compass: from their own actions.

    way: cells walked east and south since the start, float32 [n, 2]. pitch: degrees, level at the start. air: steps
    since a jump began, 0 on the ground. active: the colour in hand. last: the last two actions, int [n, 2], -1 at the
    start. A step after which the picture has not changed was no step: something blocked it.
    """

    def __init__(self, n: int) -> None:
        self.way, self.pitch = np.zeros((n, 2), np.float32), np.zeros(n, np.float32)
        self.air, self.active = np.zeros(n, np.int64), np.ones(n, np.int64)
        self.last = np.full((n, 2), -1)
        self.walked, self.blocked = np.zeros((n, 2), np.float32), np.zeros(n, bool)

    def act(self, actions: npt.NDArray[np.int64], yaw_deg: Floats) -> None:
        """Update the body by actions; yaw_deg: before them."""
        self.pitch = np.clip(self.pitch + _TURN_DEG[actions, 1], -90.0, 90.0)
        bearing = np.radians(yaw_deg + _WALK[actions, 0])
        far = _WALK[actions, 1]
        self.walked = np.stack([far * np.sin(bearing), -far * np.cos(bearing)], 1).astype(np.float32)
        self.way = self.way + self.walked
        self.air = np.where((self.air > 0) | (actions == Action.JUMP), self.air + 1, 0)
        self.air = np.where(self.air >= len(JUMP) - 1, 0, self.air)
        hotbar = (actions >= Action.HOTBAR_1) & (actions <= Action.HOTBAR_6)
        self.active = np.where(hotbar, actions - Action.HOTBAR_1 + 1, self.active)
        self.last = np.stack([actions, self.last[:, 0]], 1)

    def look(self, changed: npt.NDArray[np.bool_]) -> None:
        """Return whether the picture changed with the last action, bool [n]; if not, a wall blocked it."""
        self.blocked = self.walked.any(1) & ~changed
        self.way -= self.walked * ~changed[:, None]
        self.walked = self.walked * changed[:, None]

    @property
    def eye_y(self) -> Floats:
        """Height of the eyes in the map, float32 [n], as if standing on the ground."""
        return EYE_Y + JUMP[self.air]


def axes(yaw_deg: Floats, pitch_deg: Floats) -> Floats:
    """Return right, up and forward of view directions in the map, float32 [n, 3, 3]."""
    yaw, pitch = np.radians(yaw_deg), np.radians(pitch_deg)
    zero, sy, cy, sp, cp = np.zeros_like(yaw), np.sin(yaw), np.cos(yaw), np.sin(pitch), np.cos(pitch)
    rows = [(cy, zero, sy), (-sy * sp, cp, cy * sp), (sy * cp, sp, -cy * cp)]
    return np.stack([np.stack(row, -1) for row in rows], 1).astype(np.float32)


@lru_cache(maxsize=4096)
def _on_ground(pitch_deg: float, eye_y: float) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return where pixels show the ground, ahead and right of the eye, float32 [2, SIDE * SIDE], and which do."""
    side = (np.arange(SIDE) - (SIDE - 1) / 2) / (SIDE / 2)
    right, up = np.meshgrid(side, -side)
    sine, cosine = np.sin(np.radians(pitch_deg)), np.cos(np.radians(pitch_deg))
    along = (GROUND_TOP - eye_y) / np.minimum(sine + up * cosine, -1e-3)
    ahead, aside = along * (cosine - up * sine), along * right
    return np.stack([ahead.ravel(), aside.ravel()]).astype(np.float32), np.hypot(
        ahead, aside
    ).ravel() < FARTHEST


def seen_ground(
    pictures: Pictures, yaw_deg: Floats, pitch_deg: Floats, eye_y: Floats, way: Floats, turn: int
) -> Floats:
    """Return what pictures show of the ground, relative to the start, float32 [n, GROUND].

    The extent of white and grey to the east, south, west and north, and the distance of the grey there, in cells plus
    `NONE` (0: not seen); then the phase of nearby lines, as sums. turn: which half of the pixels.
    """
    n = len(pictures)
    chosen = np.arange(turn % 2, SIDE * SIDE, 2) ^ ((np.arange(SIDE * SIDE // 2) // (SIDE // 2)) % 2)
    tables = [_on_ground(float(tilt), round(float(y), 4)) for tilt, y in zip(pitch_deg, eye_y, strict=True)]
    ahead, aside = np.stack([table[0][:, chosen] for table in tables], 1)
    valid = np.stack([table[1][chosen] for table in tables])
    sine, cosine = np.sin(np.radians(yaw_deg))[:, None], np.cos(np.radians(yaw_deg))[:, None]
    east, south = ahead * sine + aside * cosine, aside * sine - ahead * cosine
    seen = pictures.reshape(n, -1)[:, chosen]
    white = valid & ((seen == palette.WHITE_FILL) | (seen == palette.WHITE_LINE))
    grey = valid & ((seen == palette.GREY_FILL) | (seen == palette.GREY_LINE))
    line = valid & ((seen == palette.WHITE_LINE) | (seen == palette.GREY_LINE))
    more = np.abs(east) > np.abs(south)
    rows = []
    for part, gone, quarter in ((east, way[:, :1], more), (south, way[:, 1:], ~more)):
        for sign in (1.0, -1.0):
            side = sign * (part + gone) + NONE
            begin = NONE - sign * (part + gone)
            towards = grey & quarter & (sign * part > 0)
            rows += [
                np.where(kind, value, 0.0).max(1)
                for kind, value in ((white, side), (grey, side), (towards, begin))
            ]
    near = line / (1 + ahead**2 + aside**2)
    for part, gone in ((east, way[:, :1]), (south, way[:, 1:])):
        angle = 2 * np.pi * (part + gone)
        rows += [(near * np.sin(angle)).sum(1), (near * np.cos(angle)).sum(1)]
    return np.stack([*rows, near.sum(1)], 1).astype(np.float32)


def slipped(memory: Floats, seen: Floats) -> Floats:
    """Return the offset in cells between seen and remembered lines, float32 [n, 2], each in -0.5..0.5.

    It is the error of odometry; 0 if the lines are not visible enough.
    """
    turns = []
    for part in (seen, memory):
        sine, cosine = part[:, REACHES : GROUND - 1 : 2], part[:, REACHES + 1 : GROUND - 1 : 2]
        turns.append(np.arctan2(sine, cosine) / (2 * np.pi))
    off = turns[0] - turns[1]
    off -= np.rint(off)
    clear = np.minimum(memory[:, -1:], seen[:, -1:]) > CLEAR
    return np.where(clear & (np.abs(off) > SLIP), off, 0.0).astype(np.float32)


def remembered(memory: Floats, seen: Floats) -> Floats:
    """Return the memory of the ground after one more look, float32 [n, GROUND]."""
    far = np.maximum(memory[:, :REACHES], seen[:, :REACHES])
    return np.concatenate([far, memory[:, REACHES:] + seen[:, REACHES:]], 1)


OUTLINE = 29  # of what is seen of blocks of a colour
LEAST_SEEN = 3  # pixels by which a block is recognised


def outlines(
    pictures: Pictures, colors: npt.NDArray[np.int64], yaw_deg: Floats, pitch_deg: Floats, eye_y: Floats
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return what pictures show of blocks of a colour each: outlines, bearings, and whether there are enough pixels.

    outlines: float32 [n, OUTLINE], with smallest, largest and mean slope to the right and upwards of all pixels and of
    those of upper sides, relative to the mean pixel's bearing. bearings: of the mean pixel, degrees right of the gaze
    on the level, float32 [n].
    """
    n = len(pictures)
    side = ((np.arange(SIDE) - (SIDE - 1) / 2) / (SIDE / 2)).astype(np.float32)
    right, up = (part.ravel() for part in np.meshgrid(side, -side))
    sine, cosine = np.sin(np.radians(pitch_deg))[:, None], np.cos(np.radians(pitch_deg))[:, None]
    ahead, rise = cosine - up * sine, sine + up * cosine
    flat = pictures.reshape(n, -1)
    part = flat.astype(np.int64) - palette.FIRST_BLOCK - palette.ENTRIES_PER_COLOR * (colors[:, None] - 1)
    mine = (part >= 0) & (part < palette.ENTRIES_PER_COLOR)
    upper = mine & (part // 2 == palette.SHADE_TOP)
    count = mine.sum(1)
    many = np.maximum(count, 1)
    bearing = np.arctan2((right * mine).sum(1) / many, (ahead * mine).sum(1) / many)
    turned = np.cos(bearing)[:, None] * ahead + np.sin(bearing)[:, None] * right
    aside = np.cos(bearing)[:, None] * right - np.sin(bearing)[:, None] * ahead
    slopes = [part / np.maximum(turned, 0.05) for part in (aside, rise)]
    columns: list[Any] = []
    for kind in (mine, upper):
        size = kind.sum(1)
        some = size > 0
        columns += [np.log1p(size) / 4, some]
        for slope in slopes:
            slope = np.clip(slope, -6.0, 6.0)
            low, high = np.where(kind, slope, 9.0).min(1), np.where(kind, slope, -9.0).max(1)
            mean = np.where(kind, slope, 0.0).sum(1) / np.maximum(size, 1)
            columns += [np.where(some, value, 0.0) for value in (low, high, mean)]
    frame = mine.reshape(n, SIDE, SIDE)
    columns += [frame[:, 0].any(1), frame[:, -1].any(1), frame[:, :, 0].any(1), frame[:, :, -1].any(1)]
    around = np.radians(yaw_deg) + bearing
    columns += [np.sin(2 * around), np.cos(2 * around), np.sin(4 * around), np.cos(4 * around)]
    columns += [
        np.sin(np.radians(pitch_deg)),
        np.cos(np.radians(pitch_deg)),
        eye_y - EYE_Y,
        1 / many,
        4 / np.sqrt(many),
    ]
    table = np.stack(columns, 1).astype(np.float32)
    return table, np.degrees(bearing).astype(np.float32), count >= LEAST_SEEN


AROUND = np.array([(x, y, z) for y in range(-2, 3) for x in (-1, 0, 1) for z in (-1, 0, 1)], np.float32)
FACES = np.array(
    [(0, -0.5, 0), (0.45, 0, 0), (-0.45, 0, 0), (0, 0, 0.45), (0, 0, -0.45), (0, 0.5, 0)], np.float32
)
_SIGHTS = np.concatenate([AROUND, FACES])
_SCREEN = np.array([(row, column) for row in range(4, SIDE, 8) for column in range(4, SIDE, 8)])
_CENTRE = np.array([(row, column) for row in range(24, 41, 4) for column in range(24, 41, 4)])
GLIMPSES = len(_SIGHTS) + len(_SCREEN) + len(_CENTRE)


def pixels(
    points: npt.NDArray[np.floating[Any]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return rows and columns of points, [..., 3] right, up and forward of the eye, and which are visible."""
    depth = np.maximum(points[..., 2], 1e-3)
    column = (SIDE - 1) / 2 + SIDE / 2 * points[..., 0] / depth
    row = (SIDE - 1) / 2 - SIDE / 2 * points[..., 1] / depth
    inside = (points[..., 2] > 0.05) & (np.abs(row - 31.5) < 32) & (np.abs(column - 31.5) < 32)
    row, column = (np.where(inside, np.rint(part), 0).astype(int) for part in (row, column))
    return row, column, inside


def glimpses(pictures: Pictures, frame: Floats, offset: Floats) -> npt.NDArray[np.uint8]:
    """Return palette indices uint8 [n, GLIMPSES] around the target and all over the picture.

    frame: `axes`; offset: from the eye to the target cell's centre in the map, float32 [n, 3].
    """
    n = len(pictures)
    row, column, inside = pixels((offset[:, None] + _SIGHTS) @ frame.transpose(0, 2, 1))
    near = np.where(inside, pictures[np.arange(n)[:, None], row, column], NOWHERE)
    fixed = np.concatenate([_SCREEN, _CENTRE])
    return np.concatenate([near, pictures[:, fixed[:, 0], fixed[:, 1]]], 1).astype(np.uint8)


def _scales(angle: Floats, *limits: float) -> list[Floats]:
    return [np.clip(angle / limit, -1, 1) for limit in limits]


def _turned(far: Floats, aside: Floats, yaw_deg: Floats) -> tuple[Floats, Floats]:
    """Return east and south of points ahead and to the right."""
    yaw = np.radians(yaw_deg)
    return far * np.sin(yaw) + aside * np.cos(yaw), aside * np.sin(yaw) - far * np.cos(yaw)


FEATURES = 47 + len(JUMP) + 6 * 3 + 2 * (ACTIONS + 1) + 9


def features(
    odometry: Odometry,
    yaw_deg: Floats,
    offset: Floats,
    doubt: Floats,
    request: npt.NDArray[np.int64],
    gained: Floats,
) -> Floats:
    """Return the policy's features besides pictures, float32 [n, FEATURES].

    offset: from the eye to the target cell's centre, float32 [n, 3]. doubt: uncertainty of the position, 0..1.
    request: verb (1 place, 2 remove, else 0) and colour, int [n, 2]. gained: blocks in hand since the request, float32
    [n, 6].
    """
    n, (east, up, south) = len(yaw_deg), offset.T
    level = np.hypot(east, south)
    around = (np.degrees(np.arctan2(east, -south)) - yaw_deg + 180.0) % 360.0 - 180.0
    turn = np.radians(around)
    parts = [np.sin(turn), np.cos(turn), *_scales(around, 180, 40, 10, 4)]
    for height in (-0.5, 0.0, 0.5):
        tilt = np.degrees(np.arctan2(up + height, level)) - odometry.pitch
        parts += _scales(tilt, 90, 30, 10, 4)
    ahead = np.stack([np.cos(np.radians(odometry.pitch)), np.sin(np.radians(odometry.pitch))])
    for height in (-0.5, 0.5):  # where the gaze meets the lower and the upper plane of the target cell
        along = (up + height) / np.where(np.abs(ahead[1]) < 1e-3, 1e-3, ahead[1])
        meets = (along > 0) & (along < 8)
        far = np.where(meets, along * ahead[0], 8.0) - level * np.cos(turn)
        aside = -level * np.sin(turn)
        parts += [meets, *_scales(far, 3, 0.7), *_scales(aside, 3, 0.7)]
        parts += [meets & (np.maximum(*np.abs(_turned(far, aside, yaw_deg))) < 0.5)]
    over = level * np.cos(turn) * ahead[1] / np.maximum(ahead[0], 1e-3) - up  # at the distance of its centre
    parts += _scales(over, 3, 0.7)
    parts += [level / 8, *_scales(level - 2.0, 1.0, 0.4), *_scales(level - 1.25, 0.5), up / 2]
    parts += [level * np.sin(turn) / 4, level * np.cos(turn) / 4, odometry.pitch / 45, doubt]
    verb, color = request.T
    parts += [
        verb == 1,
        verb == 2,
        verb == 0,
        odometry.active == color,
        gained.sum(1) / 3,
        gained.sum(1) == 0,
    ]
    table = np.stack(parts, 1).astype(np.float32)
    colors = np.arange(1, 7)
    rows = np.arange(n)
    air = np.zeros((n, len(JUMP)), np.float32)
    air[rows, odometry.air] = 1.0
    last = np.zeros((n, 2, ACTIONS + 1), np.float32)
    for age in range(2):
        last[rows, age, odometry.last[:, age]] = 1.0
    hands = [color[:, None] == colors, odometry.active[:, None] == colors, np.clip(gained, -3, 3) / 3]
    mine = np.where(color > 0, gained[rows, np.maximum(color, 1) - 1], 0.0)
    due = np.select([verb == 1, verb == 2], [-1.0, 1.0])
    selects = (color[:, None] == colors) & ((verb == 1) & (odometry.active != color))[:, None]
    news = [mine / 3, (mine == due) & (gained.sum(1) == due), odometry.blocked]
    return np.concatenate([table, air, *hands, last.reshape(n, -1), selects, np.stack(news, 1)], 1).astype(
        np.float32
    )
