"""`iglu.const`: `id2color`, `BUILD_ZONE_SIZE`."""

from __future__ import annotations

from iglu_marl.const import id2color
from iglu_marl.core.grid import ZONE_SHAPE as BUILD_ZONE_SIZE

__all__ = ["BUILD_ZONE_SIZE", "id2color"]
