"""`gym.spaces`: the spaces of Gymnasium."""

from __future__ import annotations

from gymnasium.spaces import *  # noqa: F403
