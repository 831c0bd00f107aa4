"""Short flights: the compiled parts agree with the rules, offers come out as promised, and plans are short."""

from __future__ import annotations

import math

import numpy as np
import pytest
from worlds import Block, world_with

from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.kernels.records import GROUND_Y, NO_CELL
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning import flight_kernels as kernels
from iglu_marl.planning import lower_bound, plan, replays
from iglu_marl.planning.flight_search import FlightSearch, after
from iglu_marl.planning.flights import _ALLOWED, AROUND, WEIGHTS, Flair, Flights, routes
from iglu_marl.planning.sight import Sight, blocked_by_body


def clutter(seed: int, count: int = 18) -> np.ndarray:
    rng = np.random.default_rng(seed)
    cells = {tuple(rng.integers((-3, -1, -3), (4, 3, 4)).tolist()) for _ in range(count)}
    return blocks_to_grid([(*cell, 1) for cell in sorted(cells)])


def box_of(grid: np.ndarray) -> np.ndarray:
    """The cells that stop a ray, as the kernels want them."""
    solid = np.zeros(kernels.BOX, bool)
    solid[GROUND_Y - kernels.LOW_Y] = True
    y, x, z = -1 - kernels.LOW_Y, -5 - kernels.LOW_X, -5 - kernels.LOW_Z
    solid[y : y + 9, x : x + 11, z : z + 11] |= grid != 0
    return solid


# --- compiled parts -----------------------------------------------------------------------------------------


def test_rays_and_bodies_are_those_of_the_rules() -> None:
    seen = 0
    for seed in range(4):
        grid, rng, sight = clutter(seed), np.random.default_rng(seed), Sight()
        sight.look_at(grid)
        poses = rng.uniform((-7, -2.4, -7, 0, -90), (7, 9, 7, 360, 90), (800, 5))
        hits, befores = sight.cast(poses)
        for pose, hit, before in zip(poses, hits.astype(int), befores.astype(int), strict=True):
            at, last = kernels.hit_from(box_of(grid), *pose)
            assert at == (-1 if hit[0] == NO_CELL else kernels.code(hit))
            if at >= 0:
                assert last == (-1 if before[0] == NO_CELL else kernels.code(before))
                seen += 1
            for cell in (before, np.rint(pose[:3] - (0, 1, 0)).astype(int)):
                assert kernels.in_the_way(pose[:3], cell) == blocked_by_body(pose[None], cell)[0]
    assert seen > 1000


def test_angles() -> None:
    for degrees in np.arange(-179.5, 180.0, 0.5):
        y, x = 3.0 * math.sin(math.radians(degrees)), 3.0 * math.cos(math.radians(degrees))
        assert abs(kernels.arctan(y, x) - degrees) < 0.3
        assert kernels.wrapped(degrees + 720.0) == pytest.approx(degrees)
    assert kernels.arctan(0.0, 0.0) == 0.0


TURNS = [(45, 0, 1, 0), (100, 0, 1, 10), (350, 0, 1, 10), (45, 0, 2, 45), (100, 0, 2, 10)]
TURNS += [(100, 0, 3, 100), (45, 0, 3, 135), (45, 0, 4, 225), (0, 0, 4, 180), (270, 3, 2, 90)]


@pytest.mark.parametrize(("yaw", "begin", "size", "degrees"), TURNS)
def test_turns_until_quadrants_are_seen(yaw: float, begin: int, size: int, degrees: float) -> None:
    assert kernels.turn_to(float(yaw), begin, size) == pytest.approx(degrees)


def test_from_which_sides_a_block_can_be_placed() -> None:
    """Against what lies to the north, by one who looks north (quadrants 0 and 3), and what hangs on to that, too."""
    solid = box_of(blocks_to_grid([(0, 3, 0, 1)]))
    cells = np.array([(0, 3, 1), (0, 3, 2), (0, 3, -1), (1, 4, 1), (4, 4, 4)])
    missing = np.ones(5, bool)
    short = [kernels.short_cells(solid, cells, missing, AROUND, _ALLOWED, arc) for arc in range(13)]
    assert np.array(short[:4]).T.tolist() == [
        [False, True, True, False],
        [False, True, True, False],
        [True, False, False, True],
        [True, True, True, False],  # diagonally, to the south-east: looking north-west
        [True, True, True, True],  # it touches nothing
    ]
    assert not short[12][:4].any()
    assert short[12][4]


def test_scaffolds_that_spare_a_turn() -> None:
    grid = blocks_to_grid([(0, -1, 0, 1), (0, 0, 0, 1)])
    cells = np.array([(0, 0, -1), (0, 4, 0)])
    desired = np.zeros((9, 11, 11), bool)
    desired[1, 5, 4] = desired[5, 5, 5] = True
    levels = np.zeros((kernels.LEVELS, 9, 11, 11), np.int64)
    kernels.scaffold_levels(box_of(grid), desired, AROUND, _ALLOWED, levels)
    each = np.zeros((2, kernels.ARCS), np.int64)
    kernels.scaffolds_each(cells, np.ones(2, bool), levels, AROUND, _ALLOWED, each)
    assert each[0, :4].tolist() == [1, 0, 0, 1]  # beneath it, on the ground
    assert each[1, :4].tolist() == [3, 3, 3, 3]  # a pillar
    gains = np.zeros((9, 11, 11))
    kernels.first_scaffolds(box_of(grid), desired, AROUND, _ALLOWED, 0, cells[:1], gains)
    assert gains[0, :, 4].any()
    assert not gains[1:].any()


def test_the_tree_joins_all_that_is_left() -> None:
    none, row = np.full(3, 127), np.array([(x, 0, 0) for x in range(5)])
    assert kernels.tree_price(row, -1, none, WEIGHTS) == pytest.approx(5 * WEIGHTS[0])
    assert kernels.tree_price(row, 4, none, WEIGHTS) == pytest.approx(4 * WEIGHTS[0])
    far = kernels.tree_price(row, -1, np.array((10, 0, 0)), WEIGHTS)
    assert far == pytest.approx(6 * WEIGHTS[0] + WEIGHTS[1] * (6 - WEIGHTS[3]))


def test_routes_are_many_and_begin_with_none() -> None:
    assert routes(0).tolist() == [[0.0] * 6]
    for steps in (1, 2, 5, 39):
        table = routes(steps)
        assert 20 < len(table) <= 512
        np.testing.assert_allclose(np.hypot(table[:, 0], table[:, 1]), table[:, 2] > 0)
        assert (table[:, [2, 4]] <= steps).all()


# --- offers -------------------------------------------------------------------------------------------------


def test_offers_come_out_as_promised() -> None:
    kept = total = 0
    for seed in range(3):
        target = clutter(seed)
        flights = Flights(target, np.zeros_like(target))
        node = flights.root(world_with([], Pose(0.3, 0.4, 2.0, 20.0 * seed, -20.0)))
        for _ in range(12):
            offers = sorted(flights.offers(node, Flair()), key=lambda offer: offer.price)
            nodes = [flights.settle(offer) for offer in offers]
            for offer, new in zip(offers, nodes, strict=True):
                total += 1
                if new is not None:
                    kept += 1
                    assert new.steps == node.steps + offer.steps == len(new.actions())
                    np.testing.assert_array_equal(new.grid, after(offer))
            node = next(new for new in nodes if new is not None)
    assert kept > 0.95 * total > 300


# --- plans --------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[list[Block], float]] = {
    "wall": ([(x, y, -3, 1) for x in range(-2, 3) for y in range(-1, 3)], 1.1),
    "floor": ([(x, -1, z, 2) for x in range(-2, 3) for z in range(-4, 0)], 1.1),
    "tower": ([(0, y, -3, 3) for y in range(-1, 7)], 2.0),
    "table": (
        [(x, 1, z, 4) for x in (-1, 0, 1) for z in (-2, -3, -4)] + [(0, y, -3, 4) for y in (-1, 0)],
        1.5,
    ),
    "behind": ([(x, -1, 4, 5) for x in range(-1, 2)], 2.0),
    "around": ([(x, -1, z, 6) for x in range(-2, 3) for z in range(-2, 3) if max(abs(x), abs(z)) == 2], 1.2),
}


@pytest.mark.parametrize("name", SHAPES)
def test_plans_are_near_the_bound(name: str) -> None:
    blocks, ratio = SHAPES[name]
    target = blocks_to_grid(blocks)
    made = plan(Worlds(1), target, "flying")
    assert made.built
    assert replays(Worlds(1), made.actions, "flying", target)
    assert len(made) <= ratio * lower_bound(Worlds(1), target, "flying").steps


def test_later_searches_go_on_from_the_best() -> None:
    target = clutter(7)
    search = FlightSearch(Worlds(1), target, 1)
    actions, reached = search.run(Flair(), 500)
    assert reached
    for since in (0.3, 0.7, 1.0):
        more, reached = search.run(Flair(since=since, hidden=1.0), len(actions))
        assert reached
        assert len(more) <= len(actions)
        assert replays(Worlds(1), more, "flying", target)
        kept = max(0, int(since * np.count_nonzero(target)) - 12)  # acts, and at least one step each
        assert [str(a) for a in more[:kept]] == [str(a) for a in actions[:kept]]
        actions = more


def test_a_search_without_success_says_how_far_it_got() -> None:
    target = clutter(1)
    limit = np.count_nonzero(target) + 6
    actions, reached = FlightSearch(Worlds(1), target, 1).run(Flair(), limit)
    assert not reached
    assert 0 < len(actions) < limit
    assert not replays(Worlds(1), actions, "flying", target)
