"""`gridworld.core`: `World` and `Agent`."""

from __future__ import annotations

from iglu_marl.compat.gridworld.core.world import Agent, World

__all__ = ["Agent", "World"]
