"""Walking short: what can be done next after a few steps, a jump and a turn of the camera; else by a longer way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.actions import CAMERA_STEP_DEG
from iglu_marl.core.controls import Controls
from iglu_marl.core.kernels.step import step_at, step_many
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.beam import Node
from iglu_marl.planning.outlook import (
    PLAIN,
    Taste,
    climb_steps,
    helpers,
    missing_groups,
    side_steps,
    way_ahead,
)
from iglu_marl.planning.sight import Floats, RayCaster, bearing, blocked_by_body, turn_deg
from iglu_marl.planning.site import Job, Site
from iglu_marl.planning.support import scaffold_color
from iglu_marl.planning.walking import (
    BACK,
    BREAK,
    FORWARD,
    HOTBAR,
    JUMP,
    LEFT,
    LOOK_DOWN,
    LOOK_UP,
    NOOP,
    PLACE,
    RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
    Walker,
)  # fmt: skip

NEAR_TURNS, FAR_TURNS = 10, 40  # camera steps: after a walk, and where one stands
AIR_STEPS = 10
KEPT = 2  # ways for each cell
FAR_COST = 14.0  # when nothing is nearer, a longer way is looked for too
TURN_RATE, RANGE_COST, BEST_RANGE = 8.0, 0.5, 3.5
HELPER_COST, PILLAR_COST = 8.0, 2.0


def _paths() -> list[tuple[int, ...]]:
    """Keys to press: along one axis, around one corner, a jump with or without a direction."""
    keys = (FORWARD, BACK, LEFT, RIGHT)
    paths: list[tuple[int, ...]] = [()]
    paths += [(key,) * count for key in keys for count in (1, 2, 3, 4, 5, 6, 8, 10)]
    paths += [
        (one,) * m + (two,) * n
        for one in (FORWARD, BACK)
        for two in (LEFT, RIGHT)
        for m, n in ((2, 2), (4, 4), (2, 5), (5, 2), (7, 7))
    ]
    paths += [(JUMP,) + (NOOP,) * count for count in range(AIR_STEPS)]
    paths += [(JUMP,) + (key,) * count for key in keys for count in (2, 4, 6)]
    return paths


_PATHS = _paths()
_KEYS = np.array(
    [[*path, *[NOOP] * (max(map(len, _PATHS)) - len(path))] for path in _PATHS]
).T  # [steps, paths]


def _turns(limit: int) -> tuple[npt.NDArray[np.int_], npt.NDArray[np.int_]]:
    """Camera steps (yaw, pitch) int [k, 2] within a number of them in all, and that number [k]."""
    yaw, pitch = np.meshgrid(np.arange(-36, 36), np.arange(-36, 37), indexing="ij")
    both = np.stack([yaw.ravel(), pitch.ravel()], axis=1)
    count = np.abs(both).sum(axis=1)
    return both[count <= limit], count[count <= limit]


class _Rays(NamedTuple):
    poses: Floats  # [k, 5]
    path: npt.NDArray[np.int_]  # index of _PATHS
    turns: npt.NDArray[np.int_]  # camera steps (yaw, pitch) after it, [k, 2]
    cost: npt.NDArray[np.int_]  # steps in all, with the act


def _gazes() -> _Rays:
    """All gazes after all paths, without the poses."""
    parts = []
    for number, path in enumerate(_PATHS):
        turns, spent = _turns(NEAR_TURNS if path else FAR_TURNS)
        parts.append((np.zeros((len(turns), 0)), np.full(len(turns), number), turns, len(path) + spent + 1))
    return _Rays(*(np.concatenate(column) for column in zip(*parts, strict=True)))


_GAZES = _gazes()


class Strolls:
    """`Moves` of a walker."""

    def __init__(self, desired: npt.NDArray[np.int8], taste: Taste = PLAIN) -> None:
        self._desired, self._taste = desired, taste
        self._site = Site(Worlds(1), "walking", desired)
        self._walker = Walker(self._site)
        self._sight, self._view = RayCaster(), RayCaster(64)
        self._table = Controls("walking").encode(NOOP)[0]
        self._worlds = Worlds(len(_PATHS))

    def root(self, world: Worlds) -> Node:
        """The empty beginning."""
        return _node(world.state[:1].copy())

    def expand(self, node: Node, jobs: list[Job]) -> Iterator[Node]:
        """Ways to do one of the jobs next."""
        near = jobs + self._helpers(node)
        best = FAR_COST + 1.0
        for cost, new in self._near(node, near):
            best = min(best, cost)
            yield new
        if best > FAR_COST:
            new_far = self._far(node, jobs)
            if new_far is not None:
                yield new_far

    # -- a few steps away

    def _near(self, node: Node, jobs: list[Job]) -> Iterator[tuple[float, Node]]:
        if not jobs:
            return
        rays = self._rays(node)
        self._sight.look_at(node.grid)
        hit, before = self._sight.cast(rays.poses)
        to_place = np.full((9, 11, 11), -1)
        to_break = np.full((9, 11, 11), -1)
        for number, (x, y, z) in enumerate(job.cell for job in jobs):
            (to_place if jobs[number].color else to_break)[y + 1, x + 5, z + 5] = number
        placing, breaking = _look_up(to_place, before), _look_up(to_break, hit)
        placing[blocked_by_body(rays.poses, before.astype(int))] = -1
        for owner in (placing, breaking):
            index = np.flatnonzero(owner >= 0)
            if len(index):
                yield from self._choose(node, jobs, rays, index, owner[index])

    def _choose(
        self,
        node: Node,
        jobs: list[Job],
        rays: _Rays,
        index: npt.NDArray[np.int_],
        owner: npt.NDArray[np.int_],
    ) -> Iterator[tuple[float, Node]]:
        poses = rays.poses[index]
        price = rays.cost[index] + self._outlook(poses, owner, jobs)
        kept: dict[int, int] = {}
        tried: dict[int, int] = {}
        for at in np.argsort(price, kind="stable"):
            number = int(owner[at])
            if kept.get(number, 0) >= KEPT or tried.get(number, 0) >= 3 * KEPT:
                continue
            tried[number] = tried.get(number, 0) + 1
            new = self._emit(
                node, jobs[number], rays, int(index[at]), float(price[at] - rays.cost[index[at]])
            )
            if new is not None:
                kept[number] = kept.get(number, 0) + 1
                yield float(rays.cost[index[at]]), new

    def _rays(self, node: Node) -> _Rays:
        """All gazes from all places."""
        count = len(_PATHS)
        worlds = self._worlds
        worlds.state[:] = node.state[0]
        longest = len(_KEYS)
        track = np.empty((longest + FAR_TURNS + 1, count, 3))
        for step in range(longest):
            track[step] = worlds.pose[:, :3]
            step_many(worlds.state, self._table[_KEYS[step]])
        controls = np.repeat(self._table[NOOP : NOOP + 1], count)
        for step in range(longest, len(track)):
            track[step] = worlds.pose[:, :3]
            if step < longest + NEAR_TURNS:
                step_many(worlds.state, controls)
        pitch = node.pose[4] + CAMERA_STEP_DEG * _GAZES.turns[:, 1]
        fits = (pitch <= 90.0) & (pitch >= -90.0)
        path, turns = _GAZES.path[fits], _GAZES.turns[fits]
        poses = np.empty((len(path), 5))
        poses[:, :3] = track[_GAZES.cost[fits] - 1, path]
        poses[:, 3] = node.pose[3] + CAMERA_STEP_DEG * turns[:, 0]
        poses[:, 4] = pitch[fits]
        return _Rays(poses, path, turns, _GAZES.cost[fits])

    def _outlook(self, poses: Floats, done: npt.NDArray[np.int_], jobs: list[Job]) -> Floats:
        """How many steps the act after this one is away, roughly, for poses [k, 5]."""
        offsets = np.array([job.cell for job in jobs], float)[None] - poses[:, None, :3]
        looks = bearing(offsets)
        turn = np.abs(turn_deg(poses[:, None, 3], looks[..., 0])) + np.abs(looks[..., 1] - poses[:, None, 4])
        price = turn / TURN_RATE + RANGE_COST * np.abs(np.linalg.norm(offsets, axis=-1) - BEST_RANGE)
        mean = price.mean(axis=1)
        price[np.arange(len(poses)), done] = np.inf
        least = price.min(axis=1) if len(jobs) > 1 else np.zeros(len(poses))
        colors = np.array([job.color for job in jobs])[done]
        select = 1.0 * ((colors != 0) & (colors != self._active))
        penalty = np.array([job.penalty for job in jobs])[done]
        total: Floats = self._taste.least * least + self._taste.mean * mean + penalty + select
        return total

    _active = 0

    def _emit(self, node: Node, job: Job, rays: _Rays, at: int, outlook: float) -> Node | None:
        """The node after this act, or None when it does not come out so."""
        body = [HOTBAR + job.color] if job.color and node.active != job.color else []
        body += _PATHS[int(rays.path[at])]
        yaw, pitch = (int(v) for v in rays.turns[at])
        body += [TURN_RIGHT if yaw > 0 else TURN_LEFT] * abs(yaw)
        body += [LOOK_UP if pitch > 0 else LOOK_DOWN] * abs(pitch)
        body.append(PLACE if job.color else BREAK)
        state = node.state.copy()
        for action in body:
            step_at(state, 0, self._table, action)
        change = state["change"][0]
        if tuple(change[:3]) != job.cell or change[4] != job.color or change[3] == change[4]:
            return None
        return self._judged(node, state, tuple(body), outlook)

    def _judged(self, node: Node, state: npt.NDArray[Any], body: tuple[int, ...], outlook: float) -> Node:
        grid, pose = state["grid"][0], state["pose"][0]
        groups = missing_groups(grid, self._desired)
        if groups:
            cells = np.concatenate([group.cells for group in groups])
            self._view.look_at(grid)
            outlook += self._taste.hidden * self._view.hidden(pose[:3].copy(), cells)
            outlook += self._taste.side * way_ahead(groups, side_steps(pose, CAMERA_STEP_DEG))
            outlook += self._taste.climb * climb_steps(groups, grid, float(pose[1]))
        return _node(state, node, body, outlook)

    def _helpers(self, node: Node) -> list[Job]:
        """Scaffolds that spare a turn or lift the builder."""
        self._active = node.active
        color = scaffold_color(node.grid, self._desired, node.inventory, node.active)
        if not color:
            return []
        groups = missing_groups(node.grid, self._desired)
        cells = helpers(groups, side_steps(node.pose, CAMERA_STEP_DEG), node.grid, self._desired)
        jobs = [Job(cell, color, HELPER_COST) for cell in cells]
        if climb_steps(groups, node.grid, float(node.pose[1])) > 0.0:
            x, y, z = (int(v) for v in np.rint(node.pose[:3]))
            below = (x, y - 1, z)
            if max(abs(x), abs(z)) <= 5 and -1 <= y - 1 <= 7 and not self._desired[y, x + 5, z + 5]:
                jobs.append(Job(below, color, PILLAR_COST))
        return jobs

    # -- farther away

    def _far(self, node: Node, jobs: list[Job]) -> Node | None:
        """By the longer ways of `Walker`: around, up and down, over pillars."""
        site = self._site
        site.worlds.state[:] = node.state
        site.actions.clear()
        for _ in range(8):
            way = self._walker.find(jobs)
            if way is None:
                return None
            if self._walker.perform(way):
                return self._judged(node, site.worlds.state.copy(), tuple(site.actions), way.job.penalty)
        return None


def _look_up(table: npt.NDArray[np.int_], cells: npt.NDArray[np.int8]) -> npt.NDArray[np.int_]:
    """The entries of a table over the zone for cells int8 [k, 3]; -1 outside."""
    x, y, z = (cells[:, a].astype(int) for a in range(3))
    inside = (np.abs(x) <= 5) & (np.abs(z) <= 5) & (y >= -1) & (y <= 7)
    found = np.full(len(cells), -1)
    found[inside] = table[y[inside] + 1, x[inside] + 5, z[inside] + 5]
    return found


def _node(
    state: npt.NDArray[Any], parent: Node | None = None, body: tuple[int, ...] = (), outlook: float = 0.0
) -> Node:
    steps = 0 if parent is None else parent.steps + len(body)
    return Node(
        state, state["grid"][0], state["inventory"][0], state["pose"][0], int(state["active"][0]),
        steps, body, (), parent, outlook,
    )  # fmt: skip
