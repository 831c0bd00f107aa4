"""World and context in which references are resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Utterance
from iglu_marl.core.grid import ZONE_SHAPE, Cell, as_grid, cell_index, color_at, in_zone
from iglu_marl.language.meaning.blocks import CellEdit, Failure, Reason
from iglu_marl.language.meaning.shapes import COMPASS, VECTORS, Direction, Kind, facing, on_map

Offset = tuple[tuple[Direction, int], ...]
"""Steps, such as (("north", 2), ("east", 1))."""


MAX_DISTANCE = 20


@dataclass(frozen=True)
class NamedCells:
    """What a name stands for: cells; plural: several things that may touch."""

    cells: tuple[Cell, ...] = ()
    plural: bool = False


@dataclass(frozen=True)
class Context:
    """What an instruction may refer to besides the blocks.

    Args:
        last: cells that the last instruction changed, in its order.
        yaw_deg, position: yaw and eye (x, y, z) of the builder, None when unknown.
        earlier: cells of the instructions before `last`, oldest first.
        before: the last instruction and the grid that it met, for "undo", "the same again" and corrections.
        further: the grids before that.
        names: what names stand for, by their singular.
        mentioned: cells of what was talked about since the last instruction.
        shapes: the kinds of things that were built, with their cells, the newest first: a wall with a hole stays "the
            wall".
        said: the dialogue before, the oldest utterance first.
        done: number of an architect's utterance in `said`, and the edits that were made until its next one.
        color: that was announced for what follows.
        inventory: blocks left of each colour, None when unknown.

    """

    last: tuple[Cell, ...] = ()
    yaw_deg: float | None = None
    position: tuple[float, float, float] | None = None
    earlier: tuple[tuple[Cell, ...], ...] = ()
    before: tuple[Any, npt.NDArray[np.int8]] | None = field(default=None, compare=False)
    further: tuple[npt.NDArray[np.int8], ...] = field(default=(), compare=False)
    names: Mapping[str, NamedCells] = field(default_factory=dict, hash=False)
    mentioned: tuple[Cell, ...] = ()
    shapes: tuple[tuple[Kind, tuple[Cell, ...]], ...] = ()
    said: tuple[Utterance, ...] = field(default=(), compare=False)
    done: tuple[tuple[int, tuple[CellEdit, ...]], ...] = field(default=(), compare=False)
    color: int | None = None
    inventory: tuple[float, ...] | None = field(default=None, compare=False)

    def after(self, instruction: Any, grid: npt.NDArray[np.int8], outcome: Any) -> Context:
        """Return the context that follows `instruction`, carried out on `grid` with this `ExpectedWorld`."""
        parts = getattr(instruction, "parts", (instruction,))
        if all(part.only_names for part in parts):  # nothing to repeat or to correct
            return replace(self, names={**self.names, **outcome.names})
        instruction = instruction.expanded(self.before)
        built = getattr(instruction, "new", None) or getattr(instruction, "shape", None)
        kind = Kind(getattr(built, "kind", Kind.BLOCK))
        undone = type(instruction).__name__ == "Undo" and self.before is not None
        again = self.before[0] if undone and self.before else None  # what "again" repeats
        colors = {color_at(outcome.grid, cell) for cell in outcome.cells if in_zone(*cell)} - {0}
        return replace(
            self,
            last=outcome.cells,
            earlier=(*self.earlier, self.last, *outcome.earlier),
            before=(instruction, grid) if again is None else (again, outcome.grid),
            further=self.further[1:] if again is not None else (grid, *self.further),
            names={**self.names, **outcome.names},
            mentioned=outcome.about,
            color=self.color if colors <= {self.color} else None,
            shapes=((kind, outcome.cells), *self.shapes) if kind is not Kind.BLOCK else self.shapes,
        )


class Unresolved(Exception):
    """An instruction cannot be followed; `failure` says why."""

    def __init__(self, reason: Reason, detail: str, **more: Any) -> None:
        super().__init__(str(reason), detail)
        self.failure = Failure(reason, detail, **more)


class NoFurtherChoice(Unresolved):
    """All choices were tried."""


@dataclass(frozen=True, eq=False)
class Resolution(Context):
    """World and context in which references are resolved.

    Args:
        grid: int8 [9, 11, 11], read only.
        start: the grid before the whole request.
        free: what the builder may choose where several fit: "which" thing, "where", or "any".
        kept: cells that must be at the end as they are at the start.

    """

    grid: npt.NDArray[np.int8] = field(default_factory=lambda: np.zeros(ZONE_SHAPE, np.int8))
    start: npt.NDArray[np.int8] | None = None
    free: frozenset[str] = frozenset()
    kept: tuple[Cell, ...] = ()

    @classmethod
    def of(cls, grid: npt.ArrayLike, context: Context) -> Resolution:
        """Combine a grid and a context."""
        return cls(**{**vars(context), "last": tuple(context.last)}, grid=as_grid(grid, "grid"))

    @property
    def chooses_which(self) -> bool:
        """Whether the builder may choose a thing where several fit."""
        return not self.free <= {"where"}

    @property
    def chooses_where(self) -> bool:
        """Whether the builder may choose a place or a direction where several fit."""
        return not self.free <= {"which"}

    @cached_property
    def view(self) -> Direction | None:
        """The compass direction that counts as straight on, None = unknown."""
        return None if self.yaw_deg is None else facing(self.yaw_deg)

    def then(self, grid: npt.NDArray[np.int8], last: tuple[Cell, ...]) -> Resolution:
        """Return the resolution after a change."""
        return replace(self, grid=grid, last=last, earlier=(*self.earlier, last), mentioned=())

    def facing(self, view: Direction) -> Resolution:
        """Return the resolution for somebody who looks that way."""
        return replace(self, yaw_deg=90.0 * COMPASS.index(view))

    @cached_property
    def blocks(self) -> dict[Cell, int]:
        """Colour ids by cell."""
        found = np.argwhere(self.grid).tolist()
        return {(x - 5, y - 1, z - 5): int(self.grid[y, x, z]) for y, x, z in found}

    def color_at(self, cell: Cell) -> int:
        """The colour id at a cell, 0 for air and outside."""
        return int(self.grid[cell_index(*cell)]) if in_zone(*cell) else 0

    def on_map(self, direction: Direction) -> Direction:
        """Return a direction of the compass; raises `Unresolved` if the view is needed and unknown."""
        found = on_map(direction, self.view)
        if found is None:
            raise Unresolved(Reason.NO_VIEW, str(direction))
        return found

    def vector_of(self, direction: Direction) -> Cell:
        """Return the unit vector of a direction; raise `Unresolved` if the view is needed and unknown."""
        return VECTORS[self.on_map(direction)]

    def vector(self, offset: Offset, flipped: bool = False) -> Cell:
        """Return the sum of steps; flipped: front and behind are those of the builder itself."""
        total = [0, 0, 0]
        for way, count in offset:
            if flipped and way in (Direction.FRONT, Direction.BEHIND):
                way = way.opposite
            for axis, part in enumerate(VECTORS[self.on_map(way)]):
                total[axis] += count * part
        return total[0], total[1], total[2]
