"""`iglu.const`: `id2color`, `BUILD_ZONE_SIZE`."""

from __future__ import annotations

from iglu_marl.compat.absent import absent_names
from iglu_marl.const import id2color
from iglu_marl.core.grid import ZONE_SHAPE as BUILD_ZONE_SIZE

__all__ = ["BUILD_ZONE_SIZE", "id2color"]

BUILD_ZONE_SIZE_Y, BUILD_ZONE_SIZE_X, BUILD_ZONE_SIZE_Z = BUILD_ZONE_SIZE
_names = ("block_map", "block2id", "block_short2id", "id2block")
__getattr__ = absent_names(__name__, dict.fromkeys(_names, "id2color: there are no blocks of Minecraft"))
