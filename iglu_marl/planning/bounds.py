"""A lower bound on the length of plans: no sequence of actions makes the edits in fewer steps.

The bound adds up steps that cannot be shared (`Bound`); docs/planning.md argues why each term holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.kernels import records as rules
from iglu_marl.planning.chances import (
    EYE_ON_GROUND,
    JUMP_RISE,
    PUSH,
    Spots,
    Wings,
    first_chances,
    latest_end,
    turns_to,
)
from iglu_marl.planning.edits import desired_grid
from iglu_marl.planning.sight import Floats
from iglu_marl.planning.site import private_world
from iglu_marl.planning.sweep import least_sweep

Grid = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]

AROUND = tuple(d for d in product((-1, 0, 1), repeat=3) if any(d))
STRIDE = rules.WALK_SPEED * rules.STEP_S
LINE_SLACK = 0.125  # half of what `collide` may push a body aside between two acts


@dataclass(frozen=True)
class Bound:
    """How many steps any plan takes at least, and what they are spent on.

    acts: placements and removals. lead: steps before the first act. Flying only: late: steps more, because some acts
    cannot begin before a later time. Walking only: selects: choices of a colour; turns: steps that turn or go from one
    line of columns to the next; jumps: jumps without which nobody gets high enough; sweep: in place of the lead, the
    turns and the jumps, where it is more: going, turning and jumping until all cells have been looked at.
    """

    acts: int
    lead: int = 0
    late: int = 0
    selects: int = 0
    turns: int = 0
    jumps: int = 0
    sweep: int = 0

    @property
    def steps(self) -> int:
        """The bound: the sum of all."""
        return self.acts + self.lead + self.late + self.selects + self.turns + self.jumps + self.sweep


def lower_bound(world: Any, edits: Any, controls: ControlsName = "walking") -> Bound:
    """A number of steps that no plan is shorter than; arguments as of `plan`. 0 when there is nothing to do."""
    start = private_world(world)
    grid = np.array(start.grid[0])
    desired = desired_grid(grid, edits)
    if np.array_equal(grid, desired):
        return Bound(0)
    extra = bridges(grid, desired)
    acts = _edits(grid, desired) + 2 * extra
    pose, speed = start.pose[0], float(start.speed[0])
    if controls == "flying":
        blocks = bool(grid.any())
        lead = _lead(grid, desired, Wings(pose, speed, blocks), extra > 0)
        return Bound(acts, lead, max(0, latest_end(grid, desired, Wings(pose, speed, True)) - acts - lead))
    leads = [_lead(grid, desired, _eye(grid, pose, speed, jumping), extra > 0) for jumping in (False, True)]
    placed = set(np.unique(desired[(desired != grid) & (desired != 0)]).tolist())
    selects = len(placed - {int(start.active[0])})
    jumps = _jumps(grid, desired, float(pose[1]), speed)
    lead = leads[1] if jumps else min(leads[0], leads[1] + 1)
    parted = Bound(acts, lead, selects=selects, turns=_turns(grid, desired), jumps=jumps)
    asked = np.argwhere(grid != desired)[:, [1, 0, 2]] - (5, 1, 5)
    swept = Bound(acts, selects=selects, sweep=least_sweep(asked, pose, speed, jumps))
    return max(parted, swept, key=lambda bound: bound.steps)


def _edits(grid: Grid, desired: Grid) -> int:
    wrong = grid != desired
    return int(wrong.sum()) + int((wrong & (grid != 0) & (desired != 0)).sum())


# -- bridges: cells that must be filled in between


def bridges(grid: Grid, desired: Grid) -> int:
    """How many cells that are air before and after must be filled in between, at least.

    Whatever is placed touches, with one of the 26 cells around it, the ground or a block. So every block hangs on to
    the ground, or to a block of the start, by a chain of cells that are filled at some time. Around every group of
    blocks that does not, shells can be drawn, each of which such a chain crosses; shells that have no cell in common
    are counted.
    """
    solid = (grid != 0) | (desired != 0)
    rooted = np.zeros_like(solid)
    rooted[0] = solid[0]
    rooted |= grid != 0
    groups = [group for group in _groups(solid) if not (group & rooted).any()]
    if not groups:
        return 0
    ground = np.zeros_like(solid)
    ground[0] = True  # every cell down here touches the ground
    gaps = [_gap(group, solid) for group in groups]
    roots = [int(min(gap[ground].min(), gap[rooted].min() if rooted.any() else math.inf)) for gap in gaps]
    best = max(roots)
    radii: list[int] = []
    for number, gap in enumerate(gaps):
        apart = [int(gap[groups[other]].min()) - radii[other] for other in range(number)]
        radii.append(max(0, min([roots[number], *apart])))
    return max(best, sum(radii))


def _gap(group: Mask, solid: Mask) -> npt.NDArray[np.float64]:
    """For every cell, how many cells of air a chain from the group to it fills, the cell itself included."""
    cost = np.where(group, 0.0, math.inf)
    while True:
        near = np.pad(cost, 1, constant_values=math.inf)
        best = np.min([near[1 + a : 10 + a, 1 + b : 12 + b, 1 + c : 12 + c] for a, b, c in AROUND], axis=0)
        new = np.minimum(cost, best + ~solid)
        if np.array_equal(new, cost):
            return cost
        cost = new


def _groups(solid: Mask) -> list[Mask]:
    """The sets of filled cells that hang together by faces, edges or corners."""
    left, groups = solid.copy(), []
    while left.any():
        group = np.zeros_like(solid)
        group[tuple(np.argwhere(left)[0])] = True
        while True:
            near = np.pad(group, 1)
            grown = np.any(
                [near[1 + a : 10 + a, 1 + b : 12 + b, 1 + c : 12 + c] for a, b, c in AROUND], axis=0
            )
            grown = (grown | group) & left
            if np.array_equal(grown, group):
                break
            group = grown
        groups.append(group)
        left &= ~group
    return groups


# -- lead: steps before the first act


@dataclass(frozen=True)
class _Eye:
    """Where a walker's eye can be before the first act, by the number of steps that move it."""

    pose: Floats
    low: float
    high: float
    stride: float
    slack: float

    def box(self, moves: int) -> tuple[Floats, Floats]:
        """Lower and upper corner, float64 [3] each."""
        level = moves * self.stride + self.slack
        x, _, z = (float(v) for v in self.pose[:3])
        return np.array([x - level, self.low, z - level]), np.array([x + level, self.high, z + level])


def _eye(grid: Grid, pose: Floats, speed: float, jumping: bool) -> _Eye:
    stride, y = STRIDE, float(pose[1])
    floors = np.flatnonzero(grid.any(axis=(1, 2)))
    slack = 0.0
    if len(floors):  # crossing a border of cells, one may be pushed ahead by 1/4 cell
        stride, slack = stride * 4 / 3, 2 * PUSH
    high = max(y + _rise(speed), EYE_ON_GROUND) + slack / 2
    if jumping:
        top = float(floors.max()) - 1.0 if len(floors) else float(rules.GROUND_Y)
        high = max(high, top + 1.75) + JUMP_RISE
    return _Eye(pose, min(y, EYE_ON_GROUND), high, stride, slack)


def _rise(speed: float) -> float:
    """How far a vertical speed carries, in cells."""
    return max(speed, 0.0) ** 2 / (2 * rules.GRAVITY)


def _lead(grid: Grid, desired: Grid, eye: _Eye | Wings, counted: bool) -> int:
    """The steps before the first act, jumps aside.

    The first act is at a cell that differs, or at another one, which then has to be put right by two acts more
    (`counted`: those are counted already). A block that is broken is met by the ray. A block is placed where one sample
    of the ray lies in its cell and the next, 1/5 cell on, in something solid.
    """
    cells = {(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(grid != desired)}
    blocks = {(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(grid != 0)}
    floor = {(x, rules.GROUND_Y, z) for x in range(-6, 7) for z in range(-6, 7)}
    solid = blocks | floor
    pairs = [
        (cell, hit)
        for cell in sorted(cells - blocks)
        for hit in ((cell[0] + a, cell[1] + b, cell[2] + c) for a, b, c in AROUND)
        if hit in solid
    ]
    whole = np.array(sorted(cells & blocks), float).reshape(-1, 3)
    one, other = (np.array([pair[i] for pair in pairs], float).reshape(-1, 3) for i in (0, 1))
    sample = 1.0 / rules.RAY_SAMPLES_PER_CELL
    low = np.concatenate([whole - 0.5, np.maximum(one - 0.5, other - 0.5 - sample)])
    high = np.concatenate([whole + 0.5, np.minimum(one + 0.5, other + 0.5 + sample)])
    anywhere = np.array(sorted(solid), float)
    toll = 0 if counted else 2
    first = _wait(Spots(low, high), eye)
    return min(first, _wait(Spots(anywhere - 0.5, anywhere + 0.5), eye) + toll)


def _wait(spots: Spots, eye: _Eye | Wings, limit: int = 200) -> int:
    """The fewest steps, of moving and turning, until a ray meets one of the boxes within reach."""
    if isinstance(eye, Wings):
        return int(first_chances(spots, eye, limit, any_will_do=True).min(initial=limit))
    best = limit
    for moves in range(limit if len(spots.low) else 0):
        if moves >= best:
            break
        yaw, pitch = turns_to(spots, eye.pose, *eye.box(moves))
        best = int(min(best, moves + (yaw + pitch).min()))
    return best


# -- walking: turns between lines, and jumps


def _turns(grid: Grid, desired: Grid) -> int:
    """Steps of yaw or of going, after the first act, that lead from one line of columns to the next.

    Acts without such a step between them are at columns that one straight line passes, seen from above: neither looking
    up or down nor jumping changes that.
    """
    columns = np.argwhere((grid != desired).any(axis=0)).astype(float)
    if len(columns) < 2:
        return 0
    return math.ceil(len(columns) / _most_on_a_line(columns)) - 1


def _most_on_a_line(columns: Floats) -> int:
    """The largest number of columns, float64 [k, 2], that a straight line passes within their (widened) squares."""
    half = 0.5 + LINE_SLACK
    corners = (columns[:, None] + half * np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])).reshape(-1, 2)
    corners = np.unique(corners, axis=0)
    most = 1
    for first in range(len(corners)):
        ways = corners[first + 1 :] - corners[first]
        # A line passes a square where the square's corners are not all on one side of it.
        offsets = columns - corners[first]
        side = np.abs(ways[:, :1] * offsets[None, :, 1] - ways[:, 1:] * offsets[None, :, 0])
        passed = side <= half * np.abs(ways).sum(axis=1)[:, None] + 1e-9
        most = max(most, int(passed.sum(axis=1).max(initial=1)))
    return most


def _jumps(grid: Grid, desired: Grid, eye: float, speed: float) -> int:
    """Jumps without which the eye is never high enough for the first block at the greatest height.

    Where nothing stands as high as that before, the first block there is placed against a lower one, so the ray points
    down, from an eye above the cell's bottom.
    """
    missing = np.flatnonzero(((desired != 0) & (grid == 0)).any(axis=(1, 2)))
    standing = np.flatnonzero(grid.any(axis=(1, 2)))
    if not len(missing) or (len(standing) and standing.max() >= missing.max()):
        return 0
    needed = float(missing.max()) - 1.0 - 0.5
    have = max(eye + _rise(speed), EYE_ON_GROUND) + PUSH
    return max(0, math.ceil((needed - have) / JUMP_RISE - 1e-9))
