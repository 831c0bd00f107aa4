"""What a builder knows before it acts, and what a person did then: samples of builder action prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.grid import BlockGrid, NetAction, as_grid

EYE_HEIGHT = 1.25  # cells of a builder's eye above its feet


@dataclass(frozen=True)
class Situation:
    """All that a builder knows before it acts.

    Args:
        dialogue: the dialogue so far.
        grid: the world, int8 [9, 11, 11], read-only.
        new_from: index of the first utterance since the builder last acted.
        pose: eye x, y, z in cells, yaw and pitch in degrees; None: unknown.
        history: the builder's net actions so far, a tuple for each time it acted; (): unknown.

    Raises:
        GridError: if the grid is invalid.

    """

    dialogue: Dialogue
    grid: BlockGrid
    new_from: int = 0
    pose: tuple[float, float, float, float, float] | None = None
    history: tuple[tuple[NetAction, ...], ...] = ()

    def __post_init__(self) -> None:
        grid = as_grid(self.grid, "grid").astype(np.int8)
        grid.setflags(write=False)
        object.__setattr__(self, "grid", grid)


@dataclass(frozen=True)
class Sample:
    """A situation, and the world that a person made of it.

    Args:
        name: id of the sample.
        unit: id of the session; samples of a session are not independent.
        target: the world that the person made.
        actions: the person's net actions in their order.
        structure: name of the structure.
        tags: groups for tables.
        invariant: whether changes count up to a rotation and shift (`change_counts`); actions never do.
        states: first and last state of the recorded session in which the person acted.
        unbuilt: whether the person built nothing although the dialogue asks for it.

    """

    name: str
    unit: str
    situation: Situation
    target: BlockGrid
    actions: tuple[NetAction, ...]
    structure: str = ""
    tags: tuple[str, ...] = ()
    invariant: bool = False
    states: tuple[int, int] | None = None
    unbuilt: bool = False


Predictor = Callable[[Situation], "Iterable[tuple[bool, int, int, int, int]] | npt.NDArray[Any]"]
"""Maps a situation to actions (place, x, y, z, color), or to the world afterwards [9, 11, 11]."""
