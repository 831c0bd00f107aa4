"""Short flights: the compiled parts agree with the rules, offers come out as promised, and plans are short."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Block, replays, world_with

from iglu_marl.core.actions import CAMERA_STEP_DEG
from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning import plan
from iglu_marl.planning.flying import kernels
from iglu_marl.planning.flying.kernels import Weights
from iglu_marl.planning.flying.search import shortest_flight
from iglu_marl.planning.flying.successors import _ALLOWED, _AROUND, Successors
from iglu_marl.planning.problem import Problem


def clutter(seed: int, count: int = 18) -> np.ndarray:
    rng = np.random.default_rng(seed)
    cells = {tuple(rng.integers((-3, -1, -3), (4, 3, 4)).tolist()) for _ in range(count)}
    return blocks_to_grid([(*cell, 1) for cell in sorted(cells)])


# --- compiled parts -----------------------------------------------------------------------------------------


def test_camera_steps_are_those_of_the_controls() -> None:
    assert kernels.CAMERA_DEG == CAMERA_STEP_DEG == Controls("flying").camera_limit


TURNS = [(45, 0, 1, 0), (100, 0, 1, 10), (350, 0, 1, 10), (45, 0, 2, 45), (100, 0, 2, 10)]
TURNS += [(100, 0, 3, 100), (45, 0, 3, 135), (45, 0, 4, 225), (0, 0, 4, 180), (270, 3, 2, 90)]


@pytest.mark.parametrize(("yaw", "begin", "size", "degrees"), TURNS)
def test_turns_until_quadrants_are_seen(yaw: float, begin: int, size: int, degrees: float) -> None:
    assert kernels.turn_to(float(yaw), begin, size) == pytest.approx(degrees)


@pytest.mark.parametrize(("arc", "degrees"), [(0, 0), (4, 45), (8, 135), (12, 225)])
def test_an_arc_costs_the_turn_to_it_and_the_cells_that_it_misses(arc: int, degrees: float) -> None:
    """The yaw is 45; arcs of one to four quadrants from the first one on, all others miss many cells."""
    counts, weights = np.full(kernels.ARCS, 99), Weights(side=0.5, short=2.2)
    counts[arc] = 3
    expected = 3 * 2.2 + 0.5 * degrees / kernels.CAMERA_DEG
    assert kernels.side_price(405.0, counts, weights) == pytest.approx(expected)


def test_from_which_sides_a_block_can_be_placed() -> None:
    """Against what lies to the north, by one who looks north (quadrants 0 and 3), and what hangs on to that, too."""
    cells = np.array([(0, 3, 1), (0, 3, 2), (0, 3, -1), (1, 4, 1), (4, 4, 4)])
    grid = np.array(blocks_to_grid([(0, 3, 0, 1)]))
    reached = kernels.sides(grid, cells, np.ones(5, bool), _AROUND, _ALLOWED)
    short = (reached[:, None] >> np.arange(kernels.ARCS)) & 1 == 0
    assert short[:, :4].tolist() == [
        [False, True, True, False],
        [False, True, True, False],
        [True, False, False, True],
        [True, True, True, False],  # diagonally, to the south-east: looking north-west
        [True, True, True, True],  # it touches nothing
    ]
    assert short[:, 12].tolist() == [False] * 4 + [True]
    assert (kernels.sides(grid, cells, np.zeros(5, bool), _AROUND, _ALLOWED) == kernels.ALL_ARCS).all()


# --- offers -------------------------------------------------------------------------------------------------


def test_offers_come_out_as_promised() -> None:
    kept = total = 0
    for seed in range(3):
        target = clutter(seed)
        start = world_with([], Pose(0.3, 0.4, 2.0, 20.0 * seed, -20.0))
        successors = Successors(Problem.of(start, target, "flying"))
        node = successors.root()
        for _ in range(12):
            offers = sorted(successors.offers(node, Weights()), key=lambda offer: offer.price)
            nodes = [successors.settle(offer) for offer in offers]
            for offer, new in zip(offers, nodes, strict=True):
                total += 1
                if new is not None:
                    kept += 1
                    assert new.steps == node.steps + offer.steps == len(new.actions())
                    np.testing.assert_array_equal(new.grid, offer.grid)
            node = next(new for new in nodes if new is not None)
    assert kept > 0.95 * total > 100


# --- plans --------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[list[Block], int]] = {
    "wall": ([(x, y, -3, 1) for x in range(-2, 3) for y in range(-1, 3)], 22),
    "floor": ([(x, -1, z, 2) for x in range(-2, 3) for z in range(-4, 0)], 22),
    "tower": ([(0, y, -3, 3) for y in range(-1, 7)], 18),
    "table": (
        [(x, 1, z, 4) for x in (-1, 0, 1) for z in (-2, -3, -4)] + [(0, y, -3, 4) for y in (-1, 0)],
        28,
    ),
    "behind": ([(x, -1, 4, 5) for x in range(-1, 2)], 10),
    "around": ([(x, -1, z, 6) for x in range(-2, 3) for z in range(-2, 3) if max(abs(x), abs(z)) == 2], 19),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_plans_are_short(name: str) -> None:
    blocks, steps = SHAPES[name]
    target = blocks_to_grid(blocks)
    made = plan(Worlds(1), target, "flying")
    assert made.built
    assert replays(Worlds(1), made.actions, "flying", target)
    assert len(made) <= steps


def test_a_search_without_success_finds_nothing() -> None:
    target = clutter(1)
    problem = Problem.of(Worlds(1), target, "flying")
    assert shortest_flight(problem, np.count_nonzero(target) + 6) is None
