"""What is asked of a planner and what it answers: `Edit`, `Problem`, `Job`, `Plan`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.errors import GridError, PlanningError
from iglu_marl.core.grid import (
    BLOCKS_PER_COLOR,
    BlockGrid,
    Cell,
    as_grid,
    cells_of,
    color_at,
    in_zone,
    index_of,
)
from iglu_marl.core.worlds import Worlds, as_pose

Verdict = Literal["built", "impossible", "unresolved"]
PlanLevel = Literal["fast", "short", "shortest"]

WorldArray = npt.NDArray[Any]  # WORLD[1]

PLAN_LEVELS: tuple[PlanLevel, ...] = get_args(PlanLevel)
PLANNED: tuple[ControlsName, ...] = ("walking", "flying", "discrete", "continuous")


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


class Job(NamedTuple):
    """A cell to change now: to `color`, or to air when 0; `penalty` in actions says how little it is wanted yet."""

    cell: Cell
    color: int
    penalty: float = 0.0


class Problem(NamedTuple):
    """From which state, WORLD[1] and never stepped, to which grid, int8 [9, 11, 11], and by which controls."""

    start: WorldArray
    desired: BlockGrid
    controls: ControlsName

    @classmethod
    def of(cls, world: Any, edits: Any, controls: ControlsName) -> Problem:
        """From the arguments of `plan`. Raises `PlanningError` where they make no sense."""
        if controls not in PLANNED:
            raise PlanningError(f"controls is {controls!r}, expected one of {', '.join(PLANNED)}")
        start = private_state(world)
        return cls(start, desired_grid(start["grid"][0], edits), controls)

    @property
    def grid(self) -> BlockGrid:
        """What stands at the start."""
        return self.start["grid"][0]

    @property
    def pose(self) -> npt.NDArray[np.float64]:
        """Where the builder is at the start: x, y, z, yaw_deg, pitch_deg."""
        return self.start["pose"][0]

    @property
    def changes(self) -> int:
        """How many cells have to change."""
        return int(np.count_nonzero(self.grid != self.desired))


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


def level_of(level: PlanLevel, width: int | None = None) -> PlanLevel:
    """The checked level; `width`, deprecated, is what it was called before: 0 (fast), 1 and 2 (short), 3 and more."""
    if width is not None:
        warnings.warn("width is now called level: 'fast', 'short' or 'shortest'", DeprecationWarning, 3)
        return PLAN_LEVELS[(width > 0) + (width > 2)]
    if level not in PLAN_LEVELS:
        raise PlanningError(f"level is {level!r}, expected one of {', '.join(PLAN_LEVELS)}")
    return level


def private_state(world: Any) -> WorldArray:
    """A copy to plan in: of world 0 of `Worlds`, or of a (grid, pose) pair with a full inventory less the blocks."""
    if isinstance(world, Worlds):
        state = world.state[:1].copy()
    else:
        grid, pose = world
        state = Worlds(1).state
        state["grid"], state["pose"] = as_grid(grid), as_pose(pose)
        state["inventory"] = BLOCKS_PER_COLOR - np.bincount(state["grid"].ravel(), minlength=7)[1:]
    # Nobody keeps the score here: an empty target in its place costs nothing per edit.
    for name in ("target", "invariant", "matches", "target_blocks", "best", "completion"):
        state[name] = 0
    return state


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
        wanted[index_of(edit.cell)] = edit.color
    wanted.setflags(write=False)
    return wanted


def acts_between(grid: BlockGrid, desired: BlockGrid) -> int:
    """How many placements and removals lead from one grid to another at least."""
    wrong = grid != desired
    return int(wrong.sum()) + int((wrong & (grid != 0) & (desired != 0)).sum())


def edits_between(grid: npt.ArrayLike, target: npt.ArrayLike) -> list[Edit]:
    """The edits that turn one dense grid into another, removals first, then bottom-up."""
    before, after = as_grid(grid, "grid"), as_grid(target, "target")
    cells = cells_of(before != after).tolist()
    edits = [Edit(x, y, z, color_at(after, (x, y, z))) for x, y, z in cells]
    return sorted(edits, key=lambda edit: (edit.color != 0, edit.y, edit.x, edit.z))
