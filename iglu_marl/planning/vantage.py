"""Walking shorter still: climb to where the whole site lies in view, and build it by turning the head.

From above and from some way off neighbouring cells are one or two camera steps apart, and nothing has to be climbed
again. `vantages` ranks the places, `work_from_here` builds from one; what it leaves, the beam search does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import cell_index
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.beam import Beam
from iglu_marl.planning.crane import Crane, Order, Result, Weights
from iglu_marl.planning.crane_kernels import YAWS
from iglu_marl.planning.outlook import Taste
from iglu_marl.planning.sight import REACH
from iglu_marl.planning.site import Job, Site
from iglu_marl.planning.strolls import Strolls
from iglu_marl.planning.support import bridge_cells, scaffold_color
from iglu_marl.planning.terrain import Stand, Terrain
from iglu_marl.planning.trimming import Trimmer
from iglu_marl.planning.walking import (
    BREAK,
    EYE,
    HOTBAR,
    LOOK_DOWN,
    LOOK_UP,
    PLACE,
    TURN_LEFT,
    TURN_RIGHT,
    Walker,
)  # fmt: skip

Grid = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]

WALK_COST, PILLAR_COST, LOOK_COST, TIDY_COST = 4.0, 9.5, 10.0, 14.0  # actions, roughly
CHEAP_LEFT, LEFT_COST = 12.0, 22.0  # for a change that is left to others: it depends
TRIES, TRIAL_WIDTH = 120, 4  # places for which the work is tried out in the head, and how widely
HIGH, STAGE = 4, 3  # levels: a climb of more has stops, so far apart
HIGHER, FEW_LEFT = 2, 2  # one stop more: so many levels up, when at least so many changes are left
PLACES = 2  # to begin from, for each unit of width
WORK_WIDTH = 16
WEIGHTS = (Weights(), Weights(turn=0.5), Weights(turn=1.0, hidden=30.0), Weights(hidden=8.0))
SPARE = 1.08  # what trimming may still shorten
TASTES = (Taste(side=0.7, least=0.5, mean=0.5), Taste(side=0.7, hidden=8.0, least=0.5, mean=0.5))
LEVELS = (-2, -1, 0, 1)  # of the feet above the highest asked change


class Vantage(NamedTuple):
    """A stand on what is there at the start, and how many blocks are put under the feet where one stops to work.

    price: in actions, roughly, without the changes that it leaves to others, of which there are `left`.
    """

    stand: Stand
    stops: tuple[int, ...]
    price: float
    left: int = 0
    upright: bool = False  # scaffolds, see `bridge_cells`

    @property
    def levels(self) -> int:
        """Blocks put under the feet in all."""
        return self.stops[-1]

    def whole(self, left_cost: float) -> float:
        """The price of the whole plan, at so many actions for a change that is left."""
        return self.price + left_cost * self.left


def vantages(start: Worlds, desired: Grid, count: int) -> list[Vantage]:
    """The most promising places to build from."""
    grid = start.grid[0]
    asked = np.argwhere(grid != desired)[:, [1, 0, 2]] - (5, 1, 5)
    ranked = sorted(_places(start, desired, asked), key=lambda place: place.whole(LEFT_COST))[:TRIES]
    tried = []
    for upright in (False, True):
        bridges = bridge_cells(grid, desired, start.inventory[0], upright)
        if not upright or bridges.any():
            tried += [_tried(start, desired, bridges, place._replace(upright=upright)) for place in ranked]
    rankings = [sorted(tried, key=lambda place: place.whole(cost)) for cost in (CHEAP_LEFT, LEFT_COST)]
    return list(dict.fromkeys(chain.from_iterable(zip(*rankings, strict=True))))[:count]


def _places(start: Worlds, desired: Grid, asked: npt.NDArray[np.int_]) -> list[Vantage]:
    """All stands with all levels, priced by the way there and by what is out of reach."""
    terrain = Terrain(start.grid[0])
    top = int(asked[:, 1].max())
    places = []
    for x in range(-5, 6):
        for z in range(-5, 6):
            floor = terrain.floor_below(x, 8, z)
            for levels in {max(0, top + level - floor) for level in LEVELS}:
                if not _roomy(desired, (x, z, floor), levels):
                    continue
                eye = np.array([x, floor + levels + EYE, z])
                far = np.linalg.norm(asked - eye, axis=1)
                left = int((far > REACH).sum()) if levels <= HIGH else 0
                place = Vantage((x, z, floor), _stops(levels), 0.5 * float(np.abs(far - 4.0).mean()), left)
                places.append(place._replace(price=place.price + _way(start, place)))
    return places


def _roomy(desired: Grid, stand: Stand, levels: int) -> bool:
    """Whether one can stand there, so high, without being in the way of what is to be built."""
    x, z, floor = stand
    feet = floor + levels + 1
    return feet <= 7 and not (levels and desired[feet + 1 : feet + 3, x + 5, z + 5].any())


def _stops(levels: int) -> tuple[int, ...]:
    """The levels at which to work: at the top; on a long climb lower ones too, from where the bottom is in reach."""
    return (levels,) if levels <= HIGH else tuple(range(levels, 1, -STAGE))[::-1]


def _tried(start: Worlds, desired: Grid, bridges: Mask, place: Vantage) -> Vantage:
    """The same place, priced by what can be done from there; with one stop more, higher up, where that is better."""
    yard = _Yard(start.grid[0].copy(), start.inventory[0].copy(), int(start.active[0]))
    stops: tuple[int, ...] = ()
    price, left, best = 0.0, 0, place._replace(price=math.inf)
    for stop in (*place.stops, place.levels + HIGHER):
        if stops == place.stops and (left < FEW_LEFT or not _roomy(desired, place.stand, stop)):
            break
        result = _work_in_the_head(start, desired, bridges, place.stand, (stops or (0,))[-1], stop, yard)
        price, left = price + result.cost + (LOOK_COST if stop else 0.0), result.left
        stops = (*stops, stop)
        if len(stops) >= len(place.stops):
            now = place._replace(stops=stops, left=left)
            now = now._replace(price=_way(start, now) + price)
            best = min(best, now, key=lambda vantage: vantage.whole(LEFT_COST))
    return best


@dataclass
class _Yard:
    """What stands, what is in hand, and the colour in hand: while the work is only thought of."""

    grid: Grid
    inventory: npt.NDArray[np.int16]
    active: int


def _work_in_the_head(
    start: Worlds, desired: Grid, bridges: Mask, stand: Stand, below: int, stop: int, yard: _Yard
) -> Result:
    """Go up from one level to the next, and do there what can be done."""
    x, z, floor = stand
    column = slice(floor + 2 + below, floor + 2 + stop), x + 5, z + 5
    spare = scaffold_color(yard.grid, desired, yard.inventory, yard.active) or 1
    filling = np.where(desired[column], desired[column], spare)
    yard.grid[column] = filling
    np.subtract.at(yard.inventory, filling - 1, 1)
    yard.active = int(filling[-1]) if len(filling) else yard.active
    pitch = -75.0 if stop else float(start.pose[0, 4])
    pose = np.array([x, floor + stop + EYE, z, float(start.pose[0, 3]), pitch])
    order = _order(start.grid[0], yard.grid, desired, bridges)
    result = Crane(pose).search(yard.grid, yard.inventory, yard.active, order, TRIAL_WIDTH, Weights())
    for act in result.acts:
        at = cell_index(*act.cell)
        yard.inventory[(act.color or int(yard.grid[at])) - 1] += -1 if act.color else 1
        yard.grid[at], yard.active = act.color, act.color or yard.active
    return result


def _way(start: Worlds, place: Vantage) -> float:
    """The actions to get there, and to take the blocks under the feet away again."""
    x, z, _ = place.stand
    way = abs(x - float(start.pose[0, 0])) + abs(z - float(start.pose[0, 2]))
    return WALK_COST * way + PILLAR_COST * place.levels + (TIDY_COST if place.levels else 0.0)


def _unwanted(first: Grid, grid: Grid, desired: Grid) -> Mask:
    unwanted: Mask = (grid != 0) & (desired == 0) & (first == 0)
    return unwanted


def _order(first: Grid, grid: Grid, desired: Grid, bridges: Mask) -> Order:
    return Order(desired, bridges, _unwanted(first, grid, desired) & ~bridges)


def shortest_from_above(start: Worlds, desired: Grid, width: int, limit: int) -> list[int] | None:
    """The shortest plan found, of fewer than `limit` actions, that begins with a climb; None without one."""
    best: list[int] | None = None
    first = start.grid[0]
    for site in _openings(start, desired, width):
        for taste in TASTES:
            left = int(limit * SPARE) - len(site.actions)
            rest, done = Beam(Strolls(desired, taste), desired, width, tidy_last=True).run(
                site.worlds, left, first
            )
            if done:
                actions = Trimmer(start, [*site.actions, *rest]).trim()
                if len(actions) < limit:
                    best, limit = actions, len(actions)
    return best


def _openings(start: Worlds, desired: Grid, width: int) -> Iterator[Site]:
    """Ways to begin, to be finished by others: up to a vantage, and the work there."""
    first = start.grid[0]
    for place in vantages(start, desired, PLACES * width):
        site = Site(start, "walking", desired)
        if not _climb(site, place, first, True):
            continue
        yield site
        if place.levels == 0:
            site = Site(start, "walking", desired)
            if _climb(site, place, first, False):
                yield site


def _climb(site: Site, place: Vantage, first: Grid, works: bool) -> bool:
    """Go to the stand, put blocks under the feet, and work; False when one cannot get there."""
    walker = Walker(site)
    if not walker.walk_to(place.stand):
        return False
    for level in range(place.levels + 1):
        if level and not walker.pillar_up():
            return False
        if works and level in place.stops:
            bridges = bridge_cells(site.grid, site.desired, site.inventory, place.upright)
            work_from_here(site, _order(first, site.grid, site.desired, bridges), WORK_WIDTH)
    return True


def work_from_here(site: Site, order: Order, width: int, tastes: tuple[Weights, ...] = WEIGHTS) -> None:
    """All that can be done by turning the head, short."""
    crane = Crane(site.pose.copy())
    grid, held = site.grid.copy(), site.inventory.copy()
    found = [crane.search(grid, held, site.active, order, width, weights) for weights in tastes]
    result = min(found, key=lambda result: result.cost + LEFT_COST * result.left)
    yaw = pitch = 0
    for act in result.acts:
        around = (act.yaw - yaw + YAWS // 2) % YAWS - YAWS // 2
        up = act.pitch - pitch
        turns = [TURN_RIGHT if around > 0 else TURN_LEFT] * abs(around) + [
            LOOK_UP if up > 0 else LOOK_DOWN
        ] * abs(up)
        select = [HOTBAR + act.color] if act.color not in (0, site.active) else []
        for action in [*select, *turns, PLACE if act.color else BREAK]:
            site.step(action)
        yaw, pitch = act.yaw, act.pitch
        if not site.changed(Job(act.cell, act.color)):
            return
