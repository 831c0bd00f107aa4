"""Short walking plans: climb to a viewpoint, and do the visible work by turning the camera.

From above and at some distance, neighbouring cells are one or two camera steps apart. Viewpoints are evaluated by
`camera_search` without motion. The best ones are simulated, and the greedy builder does the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iglu_marl.core.actions import Action
from iglu_marl.core.grid import MAX_X, MAX_Y, MAX_Z, MIN_X, MIN_Z, BlockGrid, cells_of, index_of
from iglu_marl.planning.greedy import build
from iglu_marl.planning.kernels import REACH
from iglu_marl.planning.problem import Job, Problem
from iglu_marl.planning.simulation import Simulation, has_done
from iglu_marl.planning.support import pillars, scaffold_color
from iglu_marl.planning.walking.camera_search import CameraPlan, CameraSearch, assignment
from iglu_marl.planning.walking.controller import EYE, Walker, camera_actions
from iglu_marl.planning.walking.kernels import YAWS, Assignment
from iglu_marl.planning.walking.navigation import PILLAR_COST, WALK_COST, Stand, Terrain
from iglu_marl.planning.walking.shortening import shorten

TRIED = 120  # viewpoints evaluated without motion
CLIMBED = 6  # viewpoints simulated
LOOK_COST, CLEANUP_COST = 10.0, 14.0  # estimates in actions: of a stop, of removing a pillar
LEFT_COST = 22.0  # for a change that is left
BEST_RANGE, RANGE_COST = 4.0, 0.5
TRIAL_WIDTH, WORK_WIDTH = 2, 32
HIGH, STAGE = 4, 3  # levels: a higher climb has stops at this interval
FEET_LEVELS = (-2, -1, 0, 1)  # of the feet, relative to the highest change
PITCH_ON_PILLAR = -75.0
SPARE = 1.08  # factor that shortening may still save


class ViewpointPlan(NamedTuple):
    """A stand in the initial grid, and the heights of the pillar at which the builder works.

    price: estimate of the whole plan in actions.
    """

    stand: Stand
    stops: tuple[int, ...]
    price: float


def shortest_walk(problem: Problem, limit: int) -> list[int] | None:
    """Return the shortest plan found from a viewpoint with fewer than `limit` actions, or None."""
    best: list[int] | None = None
    for viewpoint in viewpoints(problem, TRIED)[:CLIMBED]:
        simulation = Simulation(problem)
        if work_from(simulation, viewpoint) and not build(simulation, limit * SPARE):
            actions = shorten(problem, simulation.actions)
            if len(actions) < limit:
                best, limit = actions, len(actions)
    return best


def viewpoints(problem: Problem, tried: int) -> list[ViewpointPlan]:
    """Return the most promising viewpoints, `tried` of which are evaluated by `camera_search`."""
    ranked = sorted(_candidates(problem), key=lambda viewpoint: viewpoint.price)[:tried]
    priced = [_price_by_trial(problem, viewpoint) for viewpoint in ranked]
    return sorted(priced, key=lambda viewpoint: viewpoint.price)


def _candidates(problem: Problem) -> list[ViewpointPlan]:
    """Return all stands with all heights, priced by the way there and the cells out of reach."""
    terrain, desired = Terrain(problem.grid), problem.desired
    asked = cells_of(problem.grid != desired)
    top = int(asked[:, 1].max())
    places = []
    for x in range(MIN_X, MAX_X + 1):
        for z in range(MIN_Z, MAX_Z + 1):
            floor = terrain.floor_below(x, MAX_Y + 1, z)
            for levels in {max(0, top + level - floor) for level in FEET_LEVELS}:
                feet = floor + levels + 1
                if feet > MAX_Y or (levels and desired[feet + 1 : feet + 3, x - MIN_X, z - MIN_Z].any()):
                    continue  # the builder would stand in cells that are to be filled
                stand = (x, z, floor)
                stops = (levels,) if levels <= HIGH else tuple(range(levels, 1, -STAGE))[::-1]
                far = np.linalg.norm(asked - (x, floor + levels + EYE, z), axis=1)
                price = _way_price(problem, stand, levels) + RANGE_COST * float(
                    np.abs(far - BEST_RANGE).mean()
                )
                if len(stops) == 1:
                    price += LEFT_COST * int((far > REACH).sum())
                places.append(ViewpointPlan(stand, stops, price))
    return places


def _way_price(problem: Problem, stand: Stand, levels: int) -> float:
    way = abs(stand[0] - problem.pose[0]) + abs(stand[1] - problem.pose[2])
    return WALK_COST * float(way) + PILLAR_COST * levels + (CLEANUP_COST if levels else 0.0)


def _price_by_trial(problem: Problem, viewpoint: ViewpointPlan) -> ViewpointPlan:
    """Return the viewpoint, priced by the acts that are possible from there."""
    world = problem.start[0].copy()
    price, below, left = _way_price(problem, viewpoint.stand, viewpoint.stops[-1]), 0, 0
    for stop in viewpoint.stops:
        result = _simulate_stop(problem, world, viewpoint.stand, below, stop)
        price, below, left = price + result.cost + (LOOK_COST if stop else 0.0), stop, result.left
    return viewpoint._replace(price=price + LEFT_COST * left)


def _simulate_stop(problem: Problem, world: np.void, stand: Stand, below: int, stop: int) -> CameraPlan:
    """Do in `world`, without motion, the acts that are possible after climbing from one stop to the next."""
    (x, z, floor), grid, held = stand, world["grid"], world["inventory"]
    iy, ix, iz = index_of((x, floor + 1, z))
    column = slice(iy + below, iy + stop), ix, iz
    spare = scaffold_color(grid, problem.desired, held, int(world["active"])) or 1
    filling = np.where(problem.desired[column], problem.desired[column], spare)
    grid[column] = filling
    np.subtract.at(held, filling - 1, 1)
    world["active"] = filling[-1] if len(filling) else world["active"]
    yaw, pitch = problem.pose[3:].tolist()
    pose = np.array([x, floor + stop + EYE, z, yaw, PITCH_ON_PILLAR if stop else pitch])
    task = _assignment(grid, problem.desired, stand)
    result = CameraSearch(pose).search(grid, held, int(world["active"]), task, TRIAL_WIDTH)
    for act in result.acts:
        at = index_of(act.cell)
        held[(act.color or int(grid[at])) - 1] += -1 if act.color else 1
        grid[at], world["active"] = act.color, act.color or world["active"]
    return result


def _assignment(grid: BlockGrid, desired: BlockGrid, stand: Stand) -> Assignment:
    """Return all changes, with scaffolds below floating blocks; the pillar under the feet stays."""
    fixed = np.zeros(grid.shape, bool)
    column = (slice(None), *index_of((stand[0], 0, stand[1]))[1:])
    if max(map(abs, stand[:2])) <= MAX_X:
        fixed[column] = (grid[column] != 0) & (desired[column] == 0)
    return assignment(desired, pillars(grid, desired) & ~fixed, fixed)


def work_from(simulation: Simulation, viewpoint: ViewpointPlan) -> bool:
    """Go to the stand, climb, and work at the stops. Returns False if that fails."""
    walker = Walker(simulation)
    if not walker.walk_to(viewpoint.stand):
        return False
    for level in range(viewpoint.stops[-1] + 1):
        if level and not walker.pillar_up():
            return False
        if level in viewpoint.stops:
            work_from_here(simulation)
    return True


def work_from_here(simulation: Simulation) -> None:
    """Do all acts that need camera actions only."""
    x, _, z = np.rint(simulation.pose[:3]).astype(int).tolist()
    grid = simulation.grid
    task = _assignment(grid, simulation.desired, (x, z, 0))
    search = CameraSearch(simulation.pose)
    yaw = pitch = 0
    for act in search.search(grid, simulation.inventory, simulation.active, task, WORK_WIDTH).acts:
        around = (act.yaw - yaw + YAWS // 2) % YAWS - YAWS // 2
        select = [Action.hotbar(act.color)] if act.color not in (0, simulation.active) else []
        turns = camera_actions(around, act.pitch - pitch)
        simulation.step(*select, *turns, Action.PLACE if act.color else Action.BREAK)
        yaw, pitch = act.yaw, act.pitch
        if not has_done(simulation.state, Job(act.cell, act.color)):
            return
