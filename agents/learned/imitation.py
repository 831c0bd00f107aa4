"""Imitation of a teacher by a builder that sees pictures: games, labels, and what is held out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from iglu_marl.agents.learned import pov_senses as senses
from iglu_marl.agents.learned.pov_builder import Body, Knows, Seen, decide
from iglu_marl.agents.learned.pov_model import DONE, PLACE, REMOVE, PovModel
from iglu_marl.const import PLACED, REMOVED
from iglu_marl.core.actions import Action
from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import BLOCKS_PER_COLOR
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning import plan
from iglu_marl.rendering import Painter

LAYERS = 3
HELD_OUT = 0.15  # of the pairs of colour and cell
BUDGET = 60, 90, 120  # steps that a learner has, by layer
LATEST = 45, 60, 75  # steps after which the teacher takes over, at most, by layer
LATE = 0.5  # of the games in which it may do so in all the time that a test allows: most are done before
# Of the lessons are short; their steps, and those of the next try, on average.
SHORT, LESSON, PRACTICE = 0.6, 12, 20
ENDING = 0.4  # share of finished requests that end the game; the others are followed by another request
AFTER = 2  # labels that say that nothing is left to be done


def is_held_out(cell: tuple[int, int, int], color: int) -> bool:
    """Whether a pair of cell and colour is held out for tests."""
    digest = hashlib.blake2b(repr((*map(int, cell), int(color))).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") < HELD_OUT * 2**32


class Request(NamedTuple):
    """One cell to change, and the grid afterwards, int8 [9, 11, 11]."""

    cell: tuple[int, int, int]
    verb: int
    color: int
    target: npt.NDArray[np.int8]


def random_request(
    rng: np.random.Generator,
    grid: npt.NDArray[np.int8],
    held_out: bool,
    near: tuple[int, int, int] | None = None,
) -> Request | None:
    """Return a cell of the three lowest layers to fill or to clear, mostly near a given cell; None if there is none."""
    level = int(rng.choice(LAYERS, p=(0.45, 0.3, 0.25)))
    what = REMOVE if rng.random() < 0.3 else PLACE
    filled = grid != 0
    fit = filled[level] if what == REMOVE else ~filled[level]
    if what == PLACE and rng.random() < 0.8:  # mostly where it has something to hold on to
        fit = fit & supported(filled)[level]
    columns = np.argwhere(fit)
    if near is not None and rng.random() < 0.7:
        columns = columns[np.abs(columns - (near[0] + 5, near[2] + 5)).max(1) <= 2]
    if not len(columns):
        return None
    ix, iz = columns[rng.integers(len(columns))].tolist()
    cell = ix - 5, level - 1, iz - 5
    color = int(grid[level, ix, iz]) if what == REMOVE else int(rng.integers(1, 7))
    if is_held_out(cell, color) != held_out:
        return None
    target = grid.copy()
    target[level, ix, iz] = 0 if what == REMOVE else color
    return Request(cell, what, color, target)


def supported(filled: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the cells, bool [9, 11, 11], that share a face with the ground or a block."""
    padded = np.pad(filled, 1)
    padded[0] = True  # the ground
    core = (slice(1, -1),) * 3
    return np.logical_or.reduce([np.roll(padded, sign, axis)[core] for axis in range(3) for sign in (1, -1)])


class Site(NamedTuple):
    """An initial world, grid int8 [9, 11, 11] and pose float64 [5], and its request."""

    grid: npt.NDArray[np.int8]
    pose: npt.NDArray[np.float64]
    asked: Request


def random_site(rng: np.random.Generator, held_out: bool) -> Site:
    """Return up to seven columns, a builder in the open, and a request."""
    while True:
        grid = np.zeros((9, 11, 11), np.int8)
        for x, z in rng.integers(0, 11, (rng.integers(0, 8), 2)):
            high = rng.integers(1, LAYERS + 1)
            grid[:high, x, z] = rng.integers(1, 7, high)
            grid[: rng.integers(0, high + 1) if rng.random() < 0.15 else 0, x, z] = 0  # what floats
        asked = random_request(rng, grid, held_out)
        x, z = rng.uniform(-5.5, 5.5, 2)
        at = np.rint((x, z)).astype(int) + 5
        beside = grid[:2, max(at[0] - 1, 0) : at[0] + 2, max(at[1] - 1, 0) : at[1] + 2]
        if asked is not None and not beside.any():
            pose = np.array([x, senses.EYE_Y, z, 5.0 * rng.integers(72), 0.0])
            return Site(grid, pose, asked)


@lru_cache(maxsize=1)
def controls_table() -> npt.NDArray[Any]:
    """CONTROL[19]: the walking actions, and no action for `DONE`."""
    encode = Controls("walking").encode
    found = (encode(action) for action in (*range(DONE), Action.NOOP))
    return np.concatenate([table[[row]] for table, row in found])


class Attempt(NamedTuple):
    """Outcome of an episode: whether the build is exact without needless changes, and the request."""

    exact: bool
    first_try: bool
    layer: int
    verb: int
    steps: int
    error: float


@dataclass
class Labelled:
    """Labelled steps."""

    features: senses.Floats
    glimpses: npt.NDArray[np.uint8]
    colors: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]


class School:
    """n games at once, in which a learner plays until the teacher takes over, at a random step, to the end or for some
    steps, after which the learner tries again.

    knows: what the learner may know. teach: without it the learner plays on its own, for a test, and each game that
    was begun counts. alone: the share of games in which the learner begins. games: largest number; None: no
    limit.
    """

    def __init__(
        self,
        n: int,
        model: PovModel,
        rng: np.random.Generator,
        knows: Knows = "pictures",
        *,
        teach: bool = True,
        held_out: bool = False,
        temperature: float = 1.0,
        alone: float = 1.0,
        games: int | None = None,
    ) -> None:
        self.n, self.model, self.rng, self.teach, self.held_out = n, model, rng, teach, held_out
        self.temperature, self.alone = temperature, alone
        self.worlds, self.body = Worlds(n), Body(n, model, knows)
        self.asked: list[Request] = [None] * n  # type: ignore[list-item]
        self.ways: list[list[int] | None] = [None] * n  # the teacher's, the next action last
        self.takeover, self.lesson = np.zeros(n, int), np.zeros(n, int)  # the steps that are left of a lesson
        self.steps, self.changes, self.needed = (np.zeros(n, int) for _ in range(3))
        self.request, self.cells = np.zeros((n, 2), int), np.zeros((n, 3), np.float32)
        self.outcomes: list[Attempt] = []
        self.games, self.begun = games, 0
        self.idle = np.zeros(n, bool)
        self.plans = self.failed = 0
        self._pictures = np.zeros((n, senses.SIDE, senses.SIDE), np.uint8)
        self._scene = np.zeros((n, 9, 11, 11), np.int8), np.zeros((n, 5))
        self._paint = Painter().bind(*self._scene, (senses.SIDE, senses.SIDE), "index", self._pictures)
        for index in range(n):
            self._begin(index)

    def _begin(self, index: int) -> None:
        """Start a new game, unless the maximum is reached."""
        self.begun += 1
        if self.games is not None and self.begun > self.games:
            self.idle[index] = True
            return
        site = random_site(self.rng, self.held_out)
        world = Worlds(1)
        world.grid[0], world.pose[0] = site.grid, site.pose
        world.inventory[0] = BLOCKS_PER_COLOR - np.bincount(site.grid.ravel(), minlength=7)[1:]
        self.worlds.state[index] = world.state[0]
        self.body.forget(index, self._hands(index))
        self._ask(index, site.asked)
        if not self.teach:
            self.needed[index] = _changes(world, plan(world, site.asked.target, teach=True).actions)

    def _go_on(self, index: int) -> bool:
        """Make another request in the same game; return False if there is none."""
        grid = self.worlds.grid[index]
        asked = random_request(self.rng, grid, self.held_out, near=self.asked[index].cell)
        if asked is None or (self.worlds.inventory[index] < 1).any():
            return False
        self.body.hands[index] = self._hands(index)
        self._ask(index, asked)
        return True

    def _ask(self, index: int, asked: Request) -> None:
        self.asked[index] = asked
        self.request[index], self.cells[index] = (asked.verb, asked.color), asked.cell
        self.steps[index] = self.changes[index] = 0
        self.ways[index] = None
        layer = asked.cell[1] + 1
        latest = 2 * BUDGET[layer] if self.rng.random() < LATE else LATEST[layer]
        late = int(self.rng.integers(0, latest))
        self.takeover[index] = late if self.rng.random() < self.alone else 0

    def _hands(self, index: int) -> senses.Floats:
        return np.maximum(self.worlds.inventory[index], 0).astype(np.float32)

    def _label(self, index: int) -> int | None:
        """Return the teacher's action after it has taken over; None before."""
        if not self.teach:
            return None
        tried = self.steps[index] >= 2 * BUDGET[self.asked[index].cell[1] + 1]
        if self.ways[index] is not None and self.lesson[index] <= 0 and not tried:
            self.ways[index] = None
            self.takeover[index] = self.steps[index] + self.rng.geometric(1 / PRACTICE)
        self.lesson[index] -= 1
        way = self.ways[index]
        if way is None:
            resting = self.body.odometry.air[index] == 0 and self.worlds.speed[index] == 0.0
            done = (self.worlds.grid[index] == self.asked[index].target).all()
            if (self.steps[index] < self.takeover[index] and not done) or not resting:
                return None
            world = Worlds(1)
            world.state[0] = self.worlds.state[index]
            shown = plan(world, self.asked[index].target, teach=True)
            self.plans += 1
            self.failed += not shown.built
            way = self.ways[index] = [DONE] * AFTER + shown.actions[::-1] if shown.built else []
            short = not done and self.rng.random() < SHORT
            self.lesson[index] = self.rng.geometric(1 / LESSON) if short else len(way) + 1
        return way.pop() if way else -1

    @torch.no_grad()
    def round(self) -> Labelled:
        """Step all games; return the steps that the teacher labelled."""
        n, worlds, body = self.n, self.worlds, self.body
        self._scene[0][:], self._scene[1][:] = worlds.grid, worlds.pose
        self._paint(np.arange(n), 0, n)
        yaw = worlds.pose[:, 3].astype(np.float32)
        hands = np.maximum(worlds.inventory, 0).astype(np.float32)
        seen = body.see(self._pictures.copy(), yaw, hands, self.request, self.cells, worlds.pose)
        labels = [self._label(index) for index in range(n)]
        given = np.array([label is not None and label >= 0 for label in labels])
        labelled = np.array([0 if label is None else max(label, 0) for label in labels])
        actions = labelled.copy()
        if not given.all():
            free = Seen(seen.features[~given], seen.glimpses[~given])
            actions[~given] = decide(self.model, free, self.request[~given, 1], self.temperature, self.rng)
        over = np.array([label == -1 for label in labels])
        body.act(actions, yaw)
        worlds.step(controls_table()[actions])
        self.steps += 1
        self.changes += (worlds.event == PLACED) | (worlds.event == REMOVED)
        self._end(over)
        return Labelled(seen.features[given], seen.glimpses[given], self.request[given, 1], labelled[given])

    def _end(self, over: npt.NDArray[np.bool_]) -> None:
        """Start other requests or games after the end of an episode."""
        for index in np.flatnonzero(over if self.teach else ~self.idle).tolist():
            asked = self.asked[index]
            if self.teach:
                if self.rng.random() < ENDING or not self._go_on(index):
                    self._begin(index)
                continue
            exact = bool((self.worlds.grid[index] == asked.target).all())
            layer, steps = asked.cell[1] + 1, int(self.steps[index])
            if exact or steps >= 2 * BUDGET[layer]:
                first = exact and bool(self.changes[index] <= self.needed[index])
                error = float(self.body.error[index])
                self.outcomes.append(Attempt(exact, first, layer, asked.verb, steps, error))
                self._begin(index)


def _changes(world: Worlds, actions: list[int]) -> int:
    copy, count = Worlds(1), 0
    copy.state[0] = world.state[0]
    table = controls_table()
    for action in actions:
        copy.step(table[[action]])
        count += int(copy.event[0] in (PLACED, REMOVED))
    return count
