"""What is asked of a planner and what it answers: `Edit`, `Plan`, and the bookkeeping of grids and stocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import GridError, PlanningError
from iglu_marl.core.grid import BlockGrid, Cell, as_grid, cell_index, in_zone

Verdict = Literal["built", "impossible", "unresolved"]

SIDES = ((0, -1, 0), (-1, 0, 0), (1, 0, 0), (0, 0, -1), (0, 0, 1), (0, 1, 0))


class Edit(NamedTuple):
    """One cell of the build zone as it shall become: `color` 1..6, or 0 for air."""

    x: int
    y: int
    z: int
    color: int

    @property
    def cell(self) -> Cell:
        """The cell (x, y, z)."""
        return self.x, self.y, self.z


@dataclass(frozen=True)
class Plan:
    """What a planner found out.

    actions: the builder's actions, one per step, in the format of the single-agent action space of `controls`.
    verdict: "built" (simulated: afterwards the edits and nothing else are done), "impossible" (proved; `reason`
        says why and `proof` is the certificate that `check_certificate` checks), or "unresolved" (no plan found within
        the budget).
        The actions of an unresolved plan lead as far as the planner got and may leave scaffolds behind.
    scaffolds: cells that are filled on the way and empty again at the end, in order of their first use.
    """

    actions: list[Any]
    verdict: Verdict
    reason: str = ""
    scaffolds: list[Cell] = field(default_factory=list)
    controls: str = "walking"
    proof: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def built(self) -> bool:
        """Whether the plan does all that was asked."""
        return self.verdict == "built"


def as_edits(edits: Any) -> list[Edit]:
    """Validated edits from rows (x, y, z, color). Raises `PlanningError` naming the row."""
    if isinstance(edits, Edit):
        edits = [edits]
    try:
        rows = list(edits)
    except TypeError:
        raise PlanningError(
            f"edits is {edits!r}, expected a list of (x, y, z, color) or a target grid"
        ) from None
    checked: dict[Cell, Edit] = {}
    for number, row in enumerate(rows):
        try:
            whole = all(float(value) == int(value) for value in row)
            edit = Edit(*(int(value) for value in row))
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise PlanningError(f"edits[{number}] is {row!r}, expected four integers (x, y, z, color)")
        if not in_zone(*edit.cell):
            raise PlanningError(
                f"edits[{number}] at {edit.cell} lies outside the build zone (x, z in -5..5, y in -1..7)"
            )
        if not 0 <= edit.color <= 6:
            raise PlanningError(f"edits[{number}] at {edit.cell} has colour id {edit.color}, expected 0..6")
        if checked.setdefault(edit.cell, edit) != edit:
            raise PlanningError(f"edits[{number}] asks for a second colour at {edit.cell}")
    return list(checked.values())


def desired_grid(grid: npt.ArrayLike, edits: Any) -> BlockGrid:
    """The grid after the edits, int8 [9, 11, 11]; `edits` is a list of edits or a dense target grid."""
    if isinstance(edits, np.ndarray) and edits.ndim == 3:
        try:
            return as_grid(edits, "target")
        except GridError as error:
            raise PlanningError(str(error)) from None
    wanted = np.array(grid, dtype=np.int8)
    for edit in as_edits(edits):
        wanted[cell_index(*edit.cell)] = edit.color
    wanted.setflags(write=False)
    return wanted


def edits_between(grid: npt.ArrayLike, target: npt.ArrayLike) -> list[Edit]:
    """The edits that turn one dense grid into another, removals first, then bottom-up."""
    before, after = as_grid(grid, "grid"), as_grid(target, "target")
    cells = np.argwhere(before != after)
    edits = [Edit(int(x) - 5, int(y) - 1, int(z) - 5, int(after[y, x, z])) for y, x, z in cells]
    return sorted(edits, key=lambda edit: (edit.color != 0, edit.y, edit.x, edit.z))


def touched_cells(filled: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The cells, bool [9, 11, 11], with the ground or another filled cell among the 26 around them."""
    padded = np.pad(filled, 1)
    padded[0] = True  # the ground
    near = np.zeros_like(filled)
    for dy, dx, dz in product(range(3), repeat=3):
        if (dy, dx, dz) != (1, 1, 1):
            near |= padded[dy : dy + 9, dx : dx + 11, dz : dz + 11]
    return near


def rests_on(filled: npt.NDArray[np.bool_], x: int, y: int, z: int) -> bool:
    """Whether the cell touches the ground or a filled cell (bool [9, 11, 11]) with one of its six sides."""
    if y == -1:
        return True
    around = [(x + dx, y + dy, z + dz) for dx, dy, dz in SIDES]
    return any(in_zone(*cell) and filled[cell_index(*cell)] for cell in around)


def supported_cells(filled: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The cells, bool [9, 11, 11], that touch the ground or a filled cell with a side."""
    near = np.zeros_like(filled)
    near[0] = True
    near[1:] |= filled[:-1]
    near[:-1] |= filled[1:]
    near[:, 1:] |= filled[:, :-1]
    near[:, :-1] |= filled[:, 1:]
    near[:, :, 1:] |= filled[:, :, :-1]
    near[:, :, :-1] |= filled[:, :, 1:]
    return near
