"""`gridworld.data`: `IGLUDataset`, the multi-turn data."""

from __future__ import annotations

from iglu_marl.data.iglu.multiturn_dataset import IGLUDataset, MultiturnDataset
from iglu_marl.data.iglu.singleturn import SingleturnDataset

__all__ = ["IGLUDataset", "MultiturnDataset", "SingleturnDataset"]
