"""`gridworld` (IGLU 2022): importing it registers `IGLUGridworld-v0` and `IGLUGridworldVector-v0`."""

from __future__ import annotations

from iglu_marl.compat.gridworld.env import GridWorld

__all__ = ["GridWorld"]
