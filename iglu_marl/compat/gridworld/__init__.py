"""`gridworld` (IGLU 2022): importing it registers `IGLUGridworld-v0` and `IGLUGridworldVector-v0`."""

from __future__ import annotations

import iglu_marl  # noqa: F401 (registers the environments)
