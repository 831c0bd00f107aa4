"""A camera that projects points to pixels, for what is drawn over a painted picture."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iglu_marl.rendering.painter import Lens

Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Camera:
    """An eye (x, y, z, yaw, pitch) with a lens and a picture size (height, width)."""

    pose: tuple[float, float, float, float, float]
    lens: Lens
    size: tuple[int, int]

    @property
    def axes(self) -> Points:
        """float64[3, 3]: unit vectors right, up and forward."""
        return axes_of(self.pose[3], self.pose[4])

    def project(self, points: npt.ArrayLike) -> Points:
        """Pixel coordinates (column, row) float64[n, 2] of points float64[n, 3] in front of the eye."""
        across, above, depth = self.axes @ (np.asarray(points, float) - self.pose[:3]).T
        height, width = self.size
        scale = 0.5 * height / math.tan(math.radians(self.lens.fov_deg) / 2) / depth
        return np.stack([0.5 * width + across * scale, 0.5 * height - above * scale], axis=1)


def axes_of(yaw_deg: float, pitch_deg: float) -> Points:
    """float64[3, 3]: unit vectors right, up and forward of a gaze."""
    yaw, pitch = math.radians(yaw_deg), math.radians(pitch_deg)
    right = (math.cos(yaw), 0.0, math.sin(yaw))
    forward = (math.sin(yaw) * math.cos(pitch), math.sin(pitch), -math.cos(yaw) * math.cos(pitch))
    return np.array([right, np.cross(right, forward), forward])
