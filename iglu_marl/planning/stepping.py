"""The encodings of 2021, which move by whole cells: sliding through blocks, and hopping from cell to cell.

Both turn by any angle in one step, so that a job costs the way to a place from which it can be seen, and one step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from itertools import product
from typing import Any

import numpy as np

from iglu_marl.core.grid import Cell, cells_of, in_zone
from iglu_marl.core.kernels.motion import hop
from iglu_marl.core.kernels.records import PADDING
from iglu_marl.planning.flying.controller import Flier, Hover
from iglu_marl.planning.kernels import REACH
from iglu_marl.planning.problem import Job
from iglu_marl.planning.raycast import Floats, turn_deg
from iglu_marl.planning.simulation import Simulation, has_done

_AROUND = np.array(
    [*product((-3, -2, -1, 0, 1, 2, 3), (-1.5, -0.75, 0.0, 0.6, 1.2, 2.2, 3.5), (-3, -2, -1, 0, 1, 2, 3))]
)
_LOW, _HIGH = np.array([-5.0, -0.25, -5.0]), np.array([5.0, 8.75, 5.0])  # where one can slide to
# Who looks north: (move, strafe) of `Discrete(3)`, and the back and right that the kernel is told.
_HOPS = (((1, 0), (-1.0, 0.0)), ((2, 0), (1.0, 0.0)), ((0, 1), (0.0, 1.0)), ((0, 2), (0.0, -1.0)))

Place = tuple[float, float, float]


class Stepper(Flier, ABC):
    """Does jobs from places that are reached in whole steps, turning at once."""

    def _turns(self, looks: Floats) -> Floats:
        return np.zeros(len(looks))

    def perform(self, way: Hover) -> bool:
        """Go there and do it; undone, and False, when it does not come out as foreseen."""
        start = self.simulation.save()
        if self._go(way.eye):
            self._do_it(way)
            if has_done(self.simulation.state, way.job):
                self._banned.clear()
                return True
        self.simulation.restore(start)
        self._banned.add((way.job.cell, way.eye))
        return False

    def _do_it(self, way: Hover) -> None:
        yaw = float(turn_deg(self.simulation.pose[3], way.yaw_deg))
        hands = {"use": int(bool(way.job.color)), "attack": int(not way.job.color), "hotbar": way.job.color}
        self.simulation.step({**self._still(), **hands, "camera": self._camera_by(yaw, way.pitch_deg)})

    def _camera_by(self, yaw_deg: float, pitch_deg: float) -> Any:
        return np.array((yaw_deg, pitch_deg - self.simulation.pose[4]), np.float32)

    @abstractmethod
    def _still(self) -> dict[str, Any]:
        """The action that does nothing."""

    @abstractmethod
    def _go(self, eye: Place) -> bool:
        """Go to a place of the eye."""


class Slider(Stepper):
    """Slides along the map's axes, a cell in a step and through blocks."""

    def ways_out(self) -> list[Job]:
        """None: nothing shuts it in."""
        return []

    def _still(self) -> dict[str, Any]:
        zero = np.array(0.0, np.float32)
        return {
            "move_x": zero,
            "move_y": zero,
            "move_z": zero,
            "camera": np.zeros(2, np.float32),
        } | dict.fromkeys(("use", "attack", "hotbar"), 0)

    def _steps(self, eyes: Floats) -> Floats:
        steps: Floats = np.ceil(np.abs(eyes - self.simulation.pose[:3]).max(axis=1) - 1e-6)
        return steps

    def _eyes_near(self, job: Job) -> Floats:
        eyes = np.concatenate([self.simulation.pose[None, :3], np.clip(_AROUND + job.cell, _LOW, _HIGH)])
        apart = np.linalg.norm(eyes - job.cell, axis=1)
        eyes = eyes[(apart > 0.9) & (apart < REACH)]
        filled = {tuple(cell) for cell in cells_of(self.simulation.grid != 0).tolist()}
        free = [tuple(cell) not in filled for cell in np.rint(eyes).astype(int).tolist()]
        found: Floats = eyes[np.array(free, bool)]
        return found

    def _go(self, eye: Place) -> bool:
        pose = self.simulation.pose
        for _ in range(40):
            way = np.array(eye) - pose[:3]
            if np.abs(way).max() < 1e-5:
                return True
            x, y, z = (np.array(part, np.float32) for part in np.clip(way, -1.0, 1.0))
            self.simulation.step({**self._still(), "move_x": x, "move_y": y, "move_z": z})
        return False


class Hopper(Stepper):
    """Hops from cell to cell, climbs one block at a time, and falls at once; what is too high needs stairs."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._ways: dict[
            Place, tuple[tuple[int, int], ...]
        ] = {}  # place of the eye -> the hops that lead there

    def find(self, jobs: list[Job]) -> Hover | None:
        """The cheapest way to do one of the jobs from where one can get to."""
        self._ways = self._reachable()
        return super().find(jobs)

    def ways_out(self) -> list[Job]:
        """Blocks around the body, when no hop leads anywhere."""
        if len({(round(x), round(z)) for x, _, z in self._reachable()}) > 1:
            return []
        x, y, z = np.rint(self.simulation.pose[:3]).astype(int).tolist()
        around = [(x + dx, y + dy, z + dz) for dx, dz in ((1, 0), (-1, 0), (0, 1), (0, -1)) for dy in (0, -1)]
        return [
            Job(cell, 0)
            for cell in (*around, (x, y + 1, z))
            if in_zone(*cell) and self.simulation.color_at(cell)
        ]

    def steps_up(self) -> list[Cell]:
        """The lowest free cells of the columns next to the highest places, those with the least to fill first."""
        simulation = self.simulation
        feet = {(round(x), round(y + PADDING) - 2, round(z)) for x, y, z in self._reachable()}
        found: list[tuple[int, int, Cell]] = []
        left = [(x, y, z) for x, y, z in cells_of(simulation.difference()).tolist()]
        for x, ground, z in feet:
            for dx, dz in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                column = [(x + dx, y, z + dz) for y in range(-1, ground + 2)]
                missing = [cell for cell in column if in_zone(*cell) and not simulation.color_at(cell)]
                if missing and in_zone(x + dx, -1, z + dz) and (x + dx, ground + 1, z + dz) in missing:
                    near = min(abs(x - cell[0]) + abs(z - cell[2]) for cell in left)
                    found.append((-10 * ground + 4 * len(missing) + near, near, missing[0]))
        return list(dict.fromkeys(cell for _, _, cell in sorted(found)))[:12]

    def _still(self) -> dict[str, Any]:
        keys = ("move", "strafe", "jump", "use", "attack", "hotbar")
        return dict.fromkeys(keys, 0) | {"camera": np.zeros(2, np.float32)}

    def _reachable(self) -> dict[Place, tuple[tuple[int, int], ...]]:
        """All places of the eye that hops lead to, with the shortest ways there; by the kernel."""
        scratch = self.simulation.state.copy()
        pose = scratch["pose"][0]
        here: Place = tuple(pose[:3].tolist())
        ways: dict[Place, tuple[tuple[int, int], ...]] = {here: ()}
        todo = deque([here])
        while todo:
            place = todo.popleft()
            for keys, (back, right) in _HOPS:
                pose[:3], pose[3] = place, 0.0
                hop(scratch[0], back, right, True)
                reached: Place = tuple(pose[:3].tolist())
                if reached not in ways:
                    ways[reached] = (*ways[place], keys)
                    todo.append(reached)
        return ways

    def _steps(self, eyes: Floats) -> Floats:
        return np.array([float(len(self._ways[tuple(eye)])) for eye in eyes.tolist()])

    def _eyes_near(self, job: Job) -> Floats:
        eyes = np.array(list(self._ways))
        apart = np.linalg.norm(eyes - job.cell, axis=1)
        near: Floats = eyes[(apart > 0.6) & (apart < REACH)]
        return near

    def _go(self, eye: Place) -> bool:
        simulation = self.simulation
        for number, (step, strafe) in enumerate(self._ways[eye]):
            north = float(turn_deg(simulation.pose[3], 0.0)) if number == 0 else 0.0
            camera = np.array((north, 0.0), np.float32)
            simulation.step({**self._still(), "move": step, "strafe": strafe, "jump": 1, "camera": camera})
        return bool(np.abs(simulation.pose[:3] - eye).max() < 1e-4)
