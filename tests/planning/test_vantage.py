"""Plans that begin with a climb: what one sees from a place is what the kernel sees, and what is promised is done."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl.agents.scripted.state_tracker import StateTracker, _searched
from iglu_marl.core.grid import cell_index
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning import lower_bound, plan, replays
from iglu_marl.planning.crane import CENTRES, Act, Crane, Order, Weights
from iglu_marl.planning.crane_kernels import AIR, END, GROUND
from iglu_marl.planning.edits import desired_grid, supported_cells
from iglu_marl.planning.sight import Sight
from iglu_marl.planning.site import Site, private_world
from iglu_marl.planning.support import bridge_cells
from iglu_marl.planning.sweep import least_sweep
from iglu_marl.planning.vantage import shortest_from_above, vantages, work_from_here
from iglu_marl.planning.walking import Walker

NOTHING = np.zeros((9, 11, 11), bool)
TOWER = [(0, y, -1, 1 + y % 2) for y in range(-1, 5)]
WALL = [(x, y, -1, 1 + (x + y) % 3) for x in range(-2, 3) for y in range(-1, 3)]
BRIDGE = [(x, 2, -1, 4) for x in range(-2, 3)] + [(-2, y, -1, 3) for y in range(-1, 2)]
FLOATING = [(x, 2, z, 5) for x in range(2, 4) for z in range(-2, 0)] + [(4, -1, 4, 2), (4, 0, 4, 2)]
SITES = pytest.mark.parametrize(
    "blocks", [TOWER, WALL, BRIDGE, FLOATING], ids=["tower", "wall", "bridge", "floating"]
)


def random_grid(rng: np.random.Generator, count: int) -> np.ndarray:
    grid = np.zeros((9, 11, 11), np.int8)
    cells = rng.integers((0, 1, 1), (5, 10, 10), (count, 3))
    grid[tuple(cells.T)] = rng.integers(1, 7, count)
    return grid


def world_with(grid: np.ndarray, pose: tuple[float, ...]) -> Worlds:
    return private_world((grid, pose))


# --- what is seen ----------------------------------------------------------------------------------------


def first_solid(rays: np.ndarray, grid: np.ndarray) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """(hit, before) of one row of a crane's rays, as cells x, y, z; the ground and what is outside count as None."""
    last, flat = AIR, grid.ravel()
    for cell in rays:
        if cell == END:
            return None, None
        if cell == GROUND or (cell >= 0 and flat[cell]):
            hit = tuple(int(v) for v in CENTRES[cell]) if cell >= 0 else None
            return hit, (tuple(int(v) for v in CENTRES[last]) if last >= 0 else None)
        last = cell
    raise AssertionError("a ray without an end")


@pytest.mark.parametrize("seed", range(6))
def test_rays_meet_what_the_kernel_meets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = random_grid(rng, 60)
    pose = np.array(
        [*rng.uniform((-5, 0, -5), (5, 6, 5)), 5.0 * rng.integers(72), 5.0 * rng.integers(-18, 19)]
    )
    grid[tuple(np.rint(pose[[1, 0, 2]]).astype(int) + (1, 5, 5))] = 0  # the eye in the open
    crane = Crane(pose)
    aims = rng.integers(0, len(crane._rays), 400)
    looks = np.tile(pose, (len(aims), 1))
    looks[:, 3] += 5.0 * (aims // crane.rows)
    looks[:, 4] += 5.0 * (aims % crane.rows - crane.level)
    sight = Sight()
    sight.look_at(grid)
    hits, befores = sight.cast(looks)
    zone = lambda cell: max(abs(cell[0]), abs(cell[2])) <= 5 and -1 <= cell[1] <= 7  # noqa: E731
    different = 0
    for aim, hit, before in zip(aims, hits.tolist(), befores.tolist(), strict=True):
        foreseen = first_solid(crane._rays[aim], grid)
        seen = tuple(hit) if zone(hit) else None, tuple(before) if zone(before) else None
        different += foreseen != seen
    assert different <= 1  # the kernel's angles are rounded in another order: a sample may lie on a border


# --- what is promised ------------------------------------------------------------------------------------


def on_a_pillar(blocks: list[tuple[int, ...]], height: int) -> Site:
    """Standing on a pillar of the start, with the blocks to be built around it."""
    grid = np.zeros((9, 11, 11), np.int8)
    grid[:height, 5, 7] = 6
    start = world_with(grid, (0.0, height - 0.25, 2.0, 0.0, -75.0))
    return Site(start, "walking", desired_grid(grid, blocks))


def price_of(acts: list[Act], active: int) -> int:
    """Camera steps, choices of a colour and acts, counted one by one."""
    price = yaw = pitch = 0
    for act in acts:
        around = abs(act.yaw - yaw) % 72
        price += min(around, 72 - around) + abs(act.pitch - pitch) + 1 + (act.color not in (0, active))
        yaw, pitch, active = act.yaw, act.pitch, act.color or active
    return price


@SITES
@pytest.mark.parametrize("height", [3, 5])
def test_what_is_promised_is_done_at_the_promised_price(blocks: list[tuple[int, ...]], height: int) -> None:
    site = on_a_pillar(blocks, height)
    bridges = bridge_cells(site.grid, site.desired, site.inventory)
    order = Order(site.desired, bridges, NOTHING)
    result = Crane(site.pose.copy()).search(site.grid, site.inventory, site.active, order, 8, Weights())
    assert result.cost == price_of(result.acts, site.active)
    assert len({act.cell for act in result.acts}) >= 5
    moment = site.save()
    for weights in (Weights(), Weights(turn=0.5)):
        promise = Crane(site.pose.copy()).search(site.grid, site.inventory, site.active, order, 4, weights)
        work_from_here(site, order, 4, (weights,))
        assert len(site.actions) == promise.cost
        assert np.count_nonzero((site.grid != site.desired) & ~bridges) == promise.left
        site.restore(moment)


def test_scaffolds_are_placed_and_removed() -> None:
    site = on_a_pillar(FLOATING, 5)
    bridges = bridge_cells(site.grid, site.desired, site.inventory)
    assert bridges.sum() >= 3
    order = Order(site.desired, bridges, NOTHING)
    result = Crane(site.pose.copy()).search(site.grid, site.inventory, site.active, order, 8, Weights())
    filled = [act.cell for act in result.acts if act.color and bridges[cell_index(*act.cell)]]
    broken = [act.cell for act in result.acts if not act.color]
    assert filled
    assert set(broken) <= set(filled)


@SITES
def test_bridges_hold_everything(blocks: list[tuple[int, ...]]) -> None:
    grid, desired = np.zeros((9, 11, 11), np.int8), desired_grid(NOTHING.astype(np.int8), blocks)
    bridges = bridge_cells(grid, desired, np.full(6, 20, np.int16))
    assert not bridges[desired != 0].any()
    built, wanted = grid.copy(), (desired != 0) | bridges
    while (ready := wanted & (built == 0) & supported_cells(built != 0)).any():
        built[ready] = 1
    assert ((built != 0) == wanted).all()
    assert bridges.any() == (blocks is FLOATING)


# --- whole plans -----------------------------------------------------------------------------------------


@SITES
def test_plans_from_above(blocks: list[tuple[int, ...]]) -> None:
    start = Worlds(1)
    desired = desired_grid(start.grid[0], blocks)
    first = plan(start, blocks, "walking", width=0)
    found = shortest_from_above(start, desired, 3, 10_000)
    assert found is not None
    assert replays(start, found, "walking", desired)
    assert lower_bound(start, blocks, "walking").steps <= len(found) < len(first)
    assert shortest_from_above(start, desired, 1, len(found) // 2) is None


def test_the_best_places_can_be_reached() -> None:
    start = Worlds(1)
    places = vantages(start, desired_grid(start.grid[0], WALL), 5)
    assert len(set(places)) == len(places) == 5
    for place in places:
        site = Site(start, "walking", desired_grid(start.grid[0], WALL))
        walker = Walker(site)
        assert walker.walk_to(place.stand)
        assert all(walker.pillar_up() for _ in range(place.levels))
        x, z, floor = place.stand
        assert site.pose[1] == floor + place.levels + 1.75
        assert (abs(site.pose[[0, 2]] - (x, z)) < 0.2).all()


def test_a_long_search_is_made_once_for_the_same_beginning() -> None:
    _searched.cache_clear()
    target = desired_grid(NOTHING.astype(np.int8), TOWER)
    plans = []
    for width in (1, 1, 2):
        body = StateTracker("walking", select_and_place=False, can_yield=True)
        body.begin(NOTHING, (0.0, -0.25, 0.0, 0.0, 0.0))
        plans.append(body.plan(target, width=width))
    assert _searched.cache_info().misses == 2
    assert plans[0] == plans[1]
    plans[0].actions.clear()
    assert plans[1].actions  # nobody else's list
    body.begin(NOTHING, (0.0, -0.25, 1.0, 0.0, 0.0))
    assert replays(body.world, body.plan(target, width=1).actions, "walking", target)
    assert _searched.cache_info().misses == 3


def test_no_way_to_a_place() -> None:
    grid = np.zeros((9, 11, 11), np.int8)
    grid[0:3, 4:7, 4:7] = 1
    grid[0:3, 5, 5] = 0  # walled in
    site = Site(world_with(grid, (0.0, -0.25, 0.0, 0.0, 0.0)), "walking", grid)
    assert not Walker(site).walk_to((4, 4, -2))
    assert not Walker(site).walk_to((0, 0, 5))


# --- the bound -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "least"),
    [
        ([(0, -1, -3)], 1),  # ahead: only down
        ([(0, -1, 5)], 13),  # behind
        ([(5, -1, -5), (-5, -1, 5)], 13),  # in opposite corners
        ([(0, 7, -5)], 6),  # high up: jumps
    ],
)
def test_sweeps(cells: list[tuple[int, int, int]], least: int) -> None:
    sweep = least_sweep(np.array(cells), np.array([0.0, -0.25, 0.0, 0.0, 0.0]), 0.0, 0)
    assert sweep >= least
