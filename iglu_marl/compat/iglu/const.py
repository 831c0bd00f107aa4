"""`iglu.const`: `id2color`."""

from __future__ import annotations

from iglu_marl.const import id2color

__all__ = ["id2color"]
