"""Input and output of planners: `Edit`, `Problem`, `Job`, `Plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.errors import GridError, PlanningError
from iglu_marl.core.grid import (
    BLOCKS_PER_COLOR,
    COLOR_NAMES,
    BlockGrid,
    Cell,
    as_grid,
    cells_of,
    color_at,
    in_zone,
    index_of,
)
from iglu_marl.core.observed import observed_grid, observed_numbers
from iglu_marl.core.worlds import Pose, Worlds, as_pose

Verdict = Literal["built", "impossible", "unresolved"]
PlanLevel = Literal["fast", "shortest"]

WorldArray = npt.NDArray[Any]  # WORLD[1]

PLAN_LEVELS: tuple[PlanLevel, ...] = get_args(PlanLevel)
PLANNED: tuple[ControlsName, ...] = ("walking", "flying", "discrete", "continuous")


class Edit(NamedTuple):
    """A desired cell of the build zone: `color` 1..6, or 0 for air."""

    x: int
    y: int
    z: int
    color: int

    @property
    def cell(self) -> Cell:
        """The cell (x, y, z)."""
        return self.x, self.y, self.z


class Job(NamedTuple):
    """A cell to change now, to `color` or to air (0); `penalty`, in actions, ranks it behind other jobs."""

    cell: Cell
    color: int
    penalty: float = 0.0


class Problem(NamedTuple):
    """Initial state, WORLD[1] (never stepped), desired grid, int8 [9, 11, 11], and controls."""

    start: WorldArray
    desired: BlockGrid
    controls: ControlsName

    @classmethod
    def of(cls, world: Any, edits: Any, controls: ControlsName) -> Problem:
        """Make a problem from the arguments of `plan`. Raises `PlanningError` if they are invalid."""
        if controls not in PLANNED:
            raise PlanningError(f"controls is {controls!r}, expected one of {', '.join(PLANNED)}")
        start = planning_state(world)
        return cls(start, desired_grid(start["grid"][0], edits), controls)

    @property
    def grid(self) -> BlockGrid:
        """The initial grid."""
        return self.start["grid"][0]

    @property
    def pose(self) -> npt.NDArray[np.float64]:
        """The initial pose: x, y, z, yaw_deg, pitch_deg."""
        return self.start["pose"][0]

    @property
    def changes(self) -> int:
        """Number of cells that have to change."""
        return int(np.count_nonzero(self.grid != self.desired))


@dataclass(frozen=True)
class Plan:
    """The result of a planner.

    Attributes:
        actions: one per step, in the single-agent action space of `controls`. Those of an unresolved plan lead as far
            as the planner got, and may leave scaffolds behind.
        verdict: "built" (simulated: the edits and nothing else are done), "impossible" (proved) or "unresolved" (no
            plan found within the budget).
        reason: why the verdict is not "built".
        scaffolds: cells that are filled temporarily, in order of their first use.
        controls: action encoding.
        lacking: the color of which too few blocks make it impossible; 0 for another reason.

    """

    actions: list[Any]
    verdict: Verdict
    reason: str = ""
    scaffolds: list[Cell] = field(default_factory=list)
    controls: str = "walking"
    lacking: int = 0

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def built(self) -> bool:
        """Whether the plan makes all edits."""
        return self.verdict == "built"


def check_level(level: PlanLevel) -> PlanLevel:
    """Return a valid level. Raises `PlanningError` for others."""
    if level not in PLAN_LEVELS:
        raise PlanningError(f"level is {level!r}, expected one of {', '.join(PLAN_LEVELS)}")
    return level


def planning_state(world: Any) -> WorldArray:
    """Return a state for planning from the argument `world` of `plan`; an unknown active color is 0."""
    if isinstance(world, Worlds):
        state = world.state[:1].copy()
    else:
        state = Worlds(1).state
        seen = world if isinstance(world, Mapping) else {}
        state["grid"], state["pose"] = _place_of(world)
        held = BLOCKS_PER_COLOR - np.bincount(state["grid"].ravel(), minlength=7)[1:]
        if "inventory" in seen:  # negative counts are observed as 0
            names = " ".join(COLOR_NAMES[1:])
            shown = observed_numbers(seen, "inventory", names, 0, BLOCKS_PER_COLOR, PlanningError)
            held = np.where(shown > 0, shown, np.minimum(held, 0))
        hand = observed_numbers(seen, "hotbar", "color", 1, 6, PlanningError) if "hotbar" in seen else 0
        state["inventory"], state["active"] = held, hand
    # No score is needed here: an empty target saves its cost per edit.
    for name in ("target", "invariant", "matches", "target_blocks", "best", "completion"):
        state[name] = 0
    return state


def _place_of(world: Any) -> tuple[BlockGrid, Pose]:
    if isinstance(world, Mapping):
        return observed_grid(world), Pose.from_observation(world)
    grid, pose = world if isinstance(world, (tuple, list)) and len(world) == 2 else ((), world)
    if not isinstance(pose, Pose):
        raise PlanningError(
            f"world has the pose {pose!r:.80}, expected an observation with grid and agentPos, Worlds, or a pair of "
            "grid and Pose(x, y, z, yaw_deg, pitch_deg); agentPos has another order, see Pose.from_observation"
        )
    return as_grid(grid), as_pose(pose)


def as_edits(edits: Any) -> list[Edit]:
    """Validate rows (x, y, z, color) as edits. Raises `PlanningError` naming the row."""
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
            raise PlanningError(f"edits[{number}] at {edit.cell} has color id {edit.color}, expected 0..6")
        if checked.setdefault(edit.cell, edit) != edit:
            raise PlanningError(f"edits[{number}] asks for a second color at {edit.cell}")
    return list(checked.values())


def desired_grid(grid: npt.ArrayLike, edits: Any) -> BlockGrid:
    """Return the grid after the edits, int8 [9, 11, 11]; `edits` is a list or a dense target grid."""
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
    """Return the minimal number of placements and removals from one grid to another."""
    wrong = grid != desired
    return int(wrong.sum()) + int((wrong & (grid != 0) & (desired != 0)).sum())


def edits_between(grid: npt.ArrayLike, target: npt.ArrayLike) -> list[Edit]:
    """Return the edits from one dense grid to another, removals first, then bottom-up."""
    before, after = as_grid(grid, "grid"), as_grid(target, "target")
    cells = cells_of(before != after).tolist()
    edits = [Edit(x, y, z, color_at(after, (x, y, z))) for x, y, z in cells]
    return sorted(edits, key=lambda edit: (edit.color != 0, edit.y, edit.x, edit.z))
