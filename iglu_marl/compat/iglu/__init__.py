"""`iglu` (IGLU 2021): importing it registers `IGLUSilentBuilder-v0` and `IGLUSilentBuilderVisual-v0`."""

from __future__ import annotations

import iglu_marl  # noqa: F401 (registers the environments)
