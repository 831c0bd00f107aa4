"""A camera that projects points to pixels, for drawing over painted pictures; and the cell that an eye looks at."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import BlockGrid, Cell
from iglu_marl.core.kernels.ray import cast_many
from iglu_marl.core.kernels.records import NO_CELL
from iglu_marl.rendering.renderer import Lens, Viewpoint

Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Camera:
    """An eye (x, y, z, yaw, pitch) with a lens and a picture size (height, width)."""

    pose: Viewpoint
    lens: Lens
    size: tuple[int, int]

    @property
    def axes(self) -> Points:
        """Unit vectors right, up and forward, float64[3, 3]."""
        return axes_of(self.pose[3], self.pose[4])

    def project(self, points: npt.ArrayLike) -> Points:
        """Return pixel coordinates (column, row), float64[n, 2], of points float64[n, 3] in front of the eye."""
        across, above, depth = self.axes @ (np.asarray(points, float) - self.pose[:3]).T
        scale = self.size[0] / (2 * self.lens.tangent) / depth
        return np.stack([0.5 * self.size[1] + across * scale, 0.5 * self.size[0] - above * scale], axis=1)

    def pixels_per_cell(self, point: npt.ArrayLike) -> float:
        """Return the size in pixels of a cell near a point."""
        distance = np.linalg.norm(np.asarray(point, float) - self.pose[:3])
        return float(self.size[0] / (2 * self.lens.tangent) / distance)


def axes_of(yaw_deg: float, pitch_deg: float) -> Points:
    """Return unit vectors right, up and forward of a line of sight, float64[3, 3]."""
    yaw, pitch = math.radians(yaw_deg), math.radians(pitch_deg)
    right = (math.cos(yaw), 0.0, math.sin(yaw))
    forward = (math.sin(yaw) * math.cos(pitch), math.sin(pitch), -math.cos(yaw) * math.cos(pitch))
    return np.array([right, np.cross(right, forward), forward])


def cell_in_sight(grid: BlockGrid, pose: Viewpoint) -> Cell | None:
    """Return the solid cell within reach on the line of sight, or None; the ground has y = -2."""
    hit, before = np.empty((2, 1, 3), np.int8)
    cast_many(np.array(grid, np.int8), np.array([pose], np.float64), hit, before)
    x, y, z = hit[0].tolist()
    return None if x == NO_CELL else (x, y, z)
