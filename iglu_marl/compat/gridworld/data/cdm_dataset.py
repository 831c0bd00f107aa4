"""`gridworld.data.cdm_dataset`: `CDMDataset`."""

from __future__ import annotations

from iglu_marl.compat.gridworld.data import BUILD_ZONE_SIZE, CDMDataset

__all__ = ["BUILD_ZONE_SIZE", "CDMDataset"]
