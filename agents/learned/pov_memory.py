"""Memory of walkers: a map of the blocks that they have seen, and a fading trace of their own actions.

The map is carved from pictures: a cell whose centre shows ground or sky is empty; if it shows a block, that cell or
one before it is filled. Walls that were felt and own actions are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.learned import pov_senses as senses
from iglu_marl.rendering import palette

LAYERS = 4  # that are remembered, from the ground up
FADES = np.array([0.7, 0.9, 0.97], np.float32)  # what is left of a trace after a step
FILLED, DOUBTED = 0.25, 0.05  # that a look at a block adds to a cell: an unknown one, one taken for empty
REACH, ASIDE = 6.0, 0.9  # cells from the eye, and from the gaze, in which a placed block may be
BUMP = 0.55  # cells from the middle of the body to where a wall is felt
MOVED = 0.3  # cells by which the place may change without a step, before the map is forgotten
CELLS = np.array(
    [(x - 5, y - 1, z - 5) for y in range(LAYERS) for x in range(11) for z in range(11)], np.float32
)
_RING = np.array([(angle, far) for far in (0.8, 1.6, 2.4) for angle in range(0, 360, 45)], np.float32)
_LINE = np.array([(part, aside) for part in (0.3, 0.55, 0.8) for aside in (-0.8, 0.0, 0.8)], np.float32)
_FEET_HEAD = np.array([-1.0, 0.0], np.float32)
MEMORIES = 2 * len(_RING) + 2 * len(_LINE) + len(senses.AROUND) + 2 + len(FADES) * senses.ACTIONS


class Recollection:
    """The memories of n walkers.

    map: -1 where a cell is empty, 0 unknown, up to 1 the oftener a block was seen there, float32 [n, LAYERS, 11, 11].
    trace: of each action, float32 [n, fades, ACTIONS].
    """

    def __init__(self, n: int) -> None:
        self.map = np.zeros((n, LAYERS, 11, 11), np.float32)
        self.trace = np.zeros((n, len(FADES), senses.ACTIONS), np.float32)
        self.start, self.held = np.zeros((n, 2), np.float32), np.zeros(n, np.float32)

    def forget(self, chosen: Any) -> None:
        """Reset chosen walkers."""
        self.map[chosen], self.trace[chosen], self.held[chosen] = 0.0, 0.0, 0.0

    def act(self, actions: npt.NDArray[np.int64]) -> None:
        """Add actions to the trace."""
        self.trace *= FADES[:, None]
        self.trace[np.arange(len(actions)), :, actions] += 1.0

    def look(
        self,
        pictures: senses.Pictures,
        frame: senses.Floats,
        eye: senses.Floats,
        odometry: senses.Odometry,
        hands: senses.Floats,
    ) -> None:
        """Process pictures. frame: `axes`; eye: position in the map, float32 [n, 3]; hands: blocks, [n, 6]."""
        n = len(pictures)
        start = eye[:, [0, 2]] - odometry.way
        self.map[np.abs(start - self.start).max(1) > MOVED] = 0.0
        self.start = start
        flat = self.map.reshape(n, -1)
        points = (CELLS - eye[:, None]) @ frame.transpose(0, 2, 1)  # right, up, forward
        held = hands.sum(1)
        along, off = points[..., 2], np.hypot(points[..., 0], points[..., 1])
        placed = (held < self.held)[:, None] & (along > 0) & (along < REACH) & (off < ASIDE)
        flat[placed] = np.maximum(flat[placed], 0.0)
        self.held = held
        row, column, inside = senses.pixels(points)
        inside &= along < senses.FARTHEST
        shown = pictures[np.arange(n)[:, None], row, column]
        block = inside & (shown >= palette.FIRST_BLOCK) & (shown < senses.NOWHERE)
        flat[inside & ~block & (shown < senses.NOWHERE)] = -1.0
        flat[block] = np.minimum(flat[block] + np.where(flat[block] < 0, DOUBTED, FILLED), 1.0)
        felt = np.flatnonzero(odometry.blocked)
        if len(felt):
            at = eye[felt][:, [0, 2]] + BUMP * odometry.walked_into[felt] / senses.PACE
            x, z = np.rint(at).astype(int).T + 5
            there = (np.minimum(x, z) >= 0) & (np.maximum(x, z) < 11)
            where = felt[there], slice(0, 2), x[there], z[there]
            self.map[where] = np.minimum(self.map[where] + 2 * FILLED, 1.0)

    def sample(self, points: senses.Floats) -> senses.Floats:
        """Return the map at points [n, k, 3]: the ground is filled, cells around the arena are empty, above it
        unknown.
        """
        x, y, z = np.moveaxis(np.rint(points).astype(int) + (5, 1, 5), -1, 0)
        beside = (np.minimum(x, z) < 0) | (np.maximum(x, z) > 10)
        rows = np.arange(len(points))[:, None]
        found = self.map[rows, np.clip(y, 0, LAYERS - 1), np.clip(x, 0, 10), np.clip(z, 0, 10)]
        found = np.select([y < 0, beside, y >= LAYERS], [1.0, -1.0, 0.0], found)
        return found.astype(np.float32)

    def features(
        self,
        eye: senses.Floats,
        yaw_deg: senses.Floats,
        quarters: npt.NDArray[np.int64],
        cells: senses.Floats,
    ) -> senses.Floats:
        """Return features for the policy, float32 [n, MEMORIES].

        They are the cells around the body, by its heading; those on the way to the target cell; those around that, by
        `quarters` (see `pov_senses.turned`), with the rest of the yaw; and the traces.
        """
        n, place, goal = len(eye), eye[:, [0, 2]], cells[:, [0, 2]]
        bearing = np.radians(yaw_deg[:, None] + _RING[:, 0])
        ring = place[:, None] + _RING[:, 1:] * np.stack([np.sin(bearing), -np.cos(bearing)], -1)
        way = goal - place
        right = np.stack([-way[:, 1], way[:, 0]], 1) / np.maximum(np.hypot(*way.T), 1e-3)[:, None]
        line = place[:, None] + _LINE[:, :1] * way[:, None] + _LINE[:, 1:] * right[:, None]
        level = np.repeat(np.concatenate([ring, line], 1), 2, axis=1)
        height = np.tile(_FEET_HEAD, level.shape[1] // 2)
        around = np.stack([level[..., 0], np.broadcast_to(height, level.shape[:2]), level[..., 1]], -1)
        points = np.concatenate([around, cells[:, None] + senses.turned(senses.AROUND, quarters)], 1).astype(
            np.float32
        )
        more = (yaw_deg - 90 * quarters)[:, None] / 45
        trace = self.trace.reshape(n, -1) / 3
        return np.hstack((self.sample(points), more, np.abs(more), trace)).astype(np.float32)
