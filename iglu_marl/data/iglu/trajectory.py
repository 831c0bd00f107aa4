"""Trajectories of recorded builders in this project's coordinates: poses and edits, and controls that follow them.

`trajectory_of(recording)` reads an action log. `nearest_controls(trajectory)` returns actions of the encoding
"continuous" that follow the trajectory in this project's world, with their errors.

In the engine's coordinates a block fills [x, x + 1), the ground is at y = 63 and yaw is counter-clockwise. Here cells
are centered on integers, the ground is at y = -1.5 and yaw 90 degrees is east.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import Controls
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import MIN_Y, BlockGrid, Cell, blocks_to_grid, color_at, in_zone, index_of
from iglu_marl.core.kernels import ray
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Worlds
from iglu_marl.data.iglu.action_log import AvatarMoved, BuildRecording, Changed, Looked, to_block, to_blocks
from iglu_marl.data.iglu.world_files import FLOOR_Y, VoxelWorld
from iglu_marl.data.situations import EYE_HEIGHT

RECORDED_EYE_HEIGHT = 1.12  # cells above the feet, the camera of the browser tool
START_POSITION = (0.0, 63.0, 0.0)  # of an avatar that has not moved yet

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RecordedEdit:
    """One block that was placed (color 1..6) or removed (color 0) in the zone, at a frame of the trajectory."""

    frame: int
    cell: Cell
    color: int


@dataclass(frozen=True)
class RecordedTrajectory:
    """A builder's work after the given world was set up, with one frame per log index at which anything changed."""

    name: str  # name of the recording
    # Indices in the log, int64 [n], up to 60 per second. The first frame is the start, without edits.
    ticks: npt.NDArray[np.int64]
    # Eye x, y, z (cells), yaw 0..360 and pitch (degrees) after each frame, float64 [n, 5].
    poses: npt.NDArray[np.float64]
    edits: tuple[RecordedEdit, ...]  # changes of blocks, in order
    start: BlockGrid  # world before, int8 [9, 11, 11]
    end: BlockGrid  # world after, int8 [9, 11, 11]
    # (frame, cell, voxel id) of changes outside the zone or of an unknown id.
    odd: tuple[tuple[int, Cell, int], ...] = ()

    def __len__(self) -> int:
        return len(self.ticks)

    def grids(self) -> Iterator[BlockGrid]:
        """Yield the world after each frame. The array is the same each time, updated in place."""
        grid = np.array(self.start)
        waiting = iter(self.edits)
        edit = next(waiting, None)
        for frame in range(len(self)):
            while edit is not None and edit.frame <= frame:
                grid[index_of(edit.cell)] = edit.color
                edit = next(waiting, None)
            yield grid


def to_pose(
    position: Sequence[float], pitch: float, yaw: float, eye_height: float = EYE_HEIGHT
) -> tuple[float, float, float, float, float]:
    """Convert the engine's feet and look (radians) to a pose (eye x, y, z, yaw_deg, pitch_deg)."""
    x, y, z = position
    turned = math.degrees(-yaw) % 360.0 % 360.0  # twice: a tiny negative angle gives 360 the first time
    up = min(90.0, max(-90.0, math.degrees(pitch)))
    return x - 0.5, y - FLOOR_Y - 0.5 + eye_height, z - 0.5, turned, up


def trajectory_of(recording: BuildRecording, *, eye_height: float = EYE_HEIGHT) -> RecordedTrajectory:
    """Return the trajectory of a recording, after the set-up of the given world.

    Args:
        recording: a world file with its action log.
        eye_height: height of the poses above the feet; `RECORDED_EYE_HEIGHT` is that of the recorder's camera.

    """
    begin = recording.start
    position, look = START_POSITION, (0.0, 0.0)
    ticks = [begin]
    poses = [to_pose(position, *look, eye_height)]
    edits: list[RecordedEdit] = []
    odd: list[tuple[int, Cell, int]] = []
    for tick, events in itertools.groupby(recording.log.events, key=lambda event: event.tick):
        seen = False
        for event in events:
            if isinstance(event, AvatarMoved):
                position, seen = event.position, True
            elif isinstance(event, Looked):
                look, seen = (event.pitch, event.yaw), True
            elif isinstance(event, Changed):
                seen = True
                if tick > begin:
                    for cell, _, voxel in event.changes:
                        block = to_block(cell, voxel)
                        if block is None:
                            odd.append((len(ticks), (cell[0], cell[1] - FLOOR_Y, cell[2]), voxel))
                        else:
                            edits.append(RecordedEdit(len(ticks), block[:3], block[3]))
        pose = to_pose(position, *look, eye_height)
        if tick <= begin:
            poses[0] = pose
        elif seen:
            ticks.append(tick)
            poses.append(pose)
    before = recording.log.world(begin)
    return RecordedTrajectory(
        recording.name,
        np.array(ticks, np.int64),
        np.array(poses, np.float64).reshape(-1, 5),
        tuple(edits),
        _grid(before),
        _grid(recording.log.world()),
        tuple(odd),
    )


def _grid(world: VoxelWorld) -> BlockGrid:
    return blocks_to_grid(to_blocks(world))


@dataclass(frozen=True)
class ControlSequence:
    """Actions of the encoding "continuous" that follow a trajectory, and their errors."""

    trajectory: RecordedTrajectory  # the trajectory
    actions: list[dict[str, Any]]  # elements of the action space
    # Distance from the recorded eye after each action in cells, float64 [n].
    position_error: npt.NDArray[np.float64]
    # Angle to the recorded gaze after each action in degrees, float64 [n].
    gaze_error: npt.NDArray[np.float64]
    done: npt.NDArray[np.bool_]  # for each edit of the trajectory whether it was made, bool
    added: int  # number of actions that only serve to reach a block
    grid: BlockGrid  # resulting world, int8 [9, 11, 11]
    grid_error: int  # number of its cells that differ from the recorded end

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def residual(self) -> dict[str, float]:
        """Summary of the errors: mean and largest errors, edits made, wrong cells, added actions."""

        def worst(errors: Array) -> float:
            return float(errors.max()) if len(errors) else 0.0

        def mean(errors: Array) -> float:
            return float(errors.mean()) if len(errors) else 0.0

        return {
            "position_mean": mean(self.position_error),
            "position_max": worst(self.position_error),
            "gaze_mean_deg": mean(self.gaze_error),
            "gaze_max_deg": worst(self.gaze_error),
            "edits": float(len(self.done)),
            "edits_made": float(self.done.sum()),
            "cells_wrong": float(self.grid_error),
            "actions": float(len(self)),
            "actions_added": float(self.added),
        }

    def replay(self) -> Iterator[Worlds]:
        """Yield the world before the first action and after each action: one `Worlds(1)`, updated in place."""
        worlds = _begin(self.trajectory)
        controls = Controls("continuous")
        yield worlds
        for action in self.actions:
            records, index = controls.encode(action)
            step_at(worlds.state, 0, records, index)
            yield worlds


def _begin(path: RecordedTrajectory) -> Worlds:
    """Return the world at the start of a trajectory. Its task is to build the recorded end at the same place."""
    worlds = Worlds(1)
    task = Task("", path.end, starting_grid=path.start, invariant=False, task_id=path.name, ids="iglu")
    worlds.spawn(0, task, pose=_reachable(path.poses[0]).tolist())
    return worlds


def _reachable(pose: Array) -> Array:
    """Return the nearest pose inside the zone."""
    near = np.array(pose, np.float64)
    near[:3] = np.clip(near[:3], (-5.0, -0.25, -5.0), (5.0, 8.75, 5.0))
    return near


def nearest_controls(path: RecordedTrajectory, *, stride: int = 1) -> ControlSequence:
    """Return actions of the encoding "continuous" that follow a trajectory closely.

    An action moves at most one cell along each axis and stays in the zone, while people flew up to 12 cells outside.
    An edit uses the first of these that works: the recorded gaze, the nearest other gaze from the same place, a gaze
    from a place near the block (the actions `added`). Impossible edits, such as a color that is used up, are skipped.

    Args:
        path: the trajectory.
        stride: use every n-th frame, and all frames with edits.

    Raises:
        DataError: if `stride` is below 1.

    """
    if stride < 1:
        raise DataError(f"stride is {stride}, expected an integer of 1 or more")
    return _Follower(path).follow(stride)


class _Follower:
    def __init__(self, path: RecordedTrajectory) -> None:
        self.path = path
        self.worlds = _begin(path)
        self.trial = Worlds(1)
        self.controls = Controls("continuous")
        self.actions: list[dict[str, Any]] = []
        self.errors: list[tuple[float, float]] = []
        self.added = 0
        self.wanted = path.poses[0]  # of the frame that is followed

    def follow(self, stride: int) -> ControlSequence:
        path = self.path
        by_frame: dict[int, list[int]] = {}
        for number, edit in enumerate(path.edits):
            by_frame.setdefault(edit.frame, []).append(number)
        done = np.zeros(len(path.edits), bool)
        for frame in range(len(path)):
            self.wanted = path.poses[max(frame - 1, 0)]
            for number in by_frame.get(frame, ()):
                done[number] = self._edit(path.edits[number])
            if frame and (frame % stride == 0 or frame in by_frame or frame == len(path) - 1):
                self.wanted = path.poses[frame]
                self._do(self._towards(self.wanted))
        errors = np.array(self.errors, np.float64).reshape(-1, 2)
        grid = self.worlds.grid[0].copy()
        grid.setflags(write=False)
        wrong = int(np.count_nonzero(grid != path.end))
        return ControlSequence(path, self.actions, errors[:, 0], errors[:, 1], done, self.added, grid, wrong)

    def _act(self, worlds: Worlds, parts: dict[str, Any]) -> dict[str, Any]:
        action: dict[str, Any] = {
            "move_x": np.zeros((), np.float32),
            "move_y": np.zeros((), np.float32),
            "move_z": np.zeros((), np.float32),
            "camera": np.zeros(2, np.float32),
            "attack": 0,
            "use": 0,
            "hotbar": 0,
            **parts,
        }
        records, index = self.controls.encode(action)
        step_at(worlds.state, 0, records, index)
        return action

    def _do(self, parts: dict[str, Any]) -> None:
        """Make one action, and note it with its distance from the recorded pose."""
        self.actions.append(self._act(self.worlds, parts))
        now = self.worlds.pose[0]
        self.errors.append((float(np.linalg.norm(now[:3] - self.wanted[:3])), _angle(now, self.wanted)))

    def _towards(self, pose: Array) -> dict[str, Any]:
        now = self.worlds.pose[0]
        x, y, z = np.clip(_reachable(pose)[:3] - now[:3], -1.0, 1.0).astype(np.float32)
        return {
            "move_x": np.array(x),
            "move_y": np.array(y),
            "move_z": np.array(z),
            "camera": _turn(now, pose),
        }

    def _edit(self, edit: RecordedEdit) -> bool:
        """Make an edit, after breaking a block in its cell; return whether it was made."""
        there = color_at(self.worlds.grid[0], edit.cell)
        if there == edit.color:
            return True
        in_the_way = there and edit.color
        if in_the_way and not self._edit_once(RecordedEdit(edit.frame, edit.cell, 0)):
            return False
        return self._edit_once(edit)

    def _edit_once(self, edit: RecordedEdit) -> bool:
        pose = self.worlds.pose[0].copy()
        if any(self._edit_here(edit, gaze) for gaze in self._gazes(edit, pose, self.wanted)):
            return True
        for place in _places(edit.cell, pose):
            for gaze in self._aims(edit, place):
                if self._works(edit, place, _hands(edit, place, gaze)):
                    self._go_to(place)
                    if self._edit_here(edit, gaze):
                        return True
        return False

    def _edit_here(self, edit: RecordedEdit, gaze: tuple[float, float]) -> bool:
        pose = self.worlds.pose[0].copy()
        hands = _hands(edit, pose, gaze)
        works = self._works(edit, pose, hands)
        if works:
            self._do(hands)
        return works

    def _go_to(self, place: Array) -> None:
        for _ in range(16):  # the zone is 11 cells wide
            if np.abs(self.worlds.pose[0][:3] - place[:3]).max() < 1e-6:
                return
            self._do(self._towards(place))
            self.added += 1

    def _works(self, edit: RecordedEdit, pose: Array, hands: dict[str, Any]) -> bool:
        """Whether these controls make the edit from a pose, tried in a copy of the world."""
        self.trial.state[:] = self.worlds.state
        self.trial.pose[0] = pose
        self._act(self.trial, hands)
        *cell, before, after = self.trial.state["change"][0].tolist()[:5]
        return tuple(cell) == edit.cell and after == edit.color and before != after

    def _gazes(self, edit: RecordedEdit, pose: Array, wanted: Array) -> Iterator[tuple[float, float]]:
        """Yield the recorded gaze, then gazes at the block's faces by their angle to it."""
        yield float(wanted[3]), float(wanted[4])
        yield from sorted(
            self._aims(edit, pose), key=lambda gaze: _angle(np.array([0.0, 0.0, 0.0, *gaze]), wanted)
        )

    def _aims(self, edit: RecordedEdit, pose: Array) -> list[tuple[float, float]]:
        """Return gazes from a pose at points of the faces through which the edit can be made."""
        cell = np.array(edit.cell, np.float64)
        found = []
        for axis, sign in itertools.product(range(3), (-1, 1)):
            step = np.zeros(3)
            step[axis] = sign
            x, y, z = (cell + step).astype(int).tolist()
            if edit.color and not is_solid(self.worlds.grid[0], (x, y, z)):
                continue
            for u, v in itertools.product((0.0, -0.3, 0.3), repeat=2):
                point = cell + 0.5 * step
                point[(axis + 1) % 3] += u
                point[(axis + 2) % 3] += v
                found.append(gaze_along(point - pose[:3]))
        return found


def _hands(edit: RecordedEdit, pose: Array, gaze: tuple[float, float]) -> dict[str, Any]:
    camera = _turn(pose, np.array([*pose[:3], *gaze]))
    return {
        "camera": camera,
        "use": int(edit.color > 0),
        "attack": int(edit.color == 0),
        "hotbar": edit.color,
    }


def is_solid(world: BlockGrid, cell: Cell) -> bool:
    """Whether a cell holds a block or is below the ground."""
    return cell[1] < MIN_Y or (in_zone(*cell) and color_at(world, cell) != 0)


def _places(cell: Cell, pose: Array) -> list[Array]:
    """Return poses around a cell from which it may be reached, the nearest to `pose` first."""
    places = []
    for distance in (2.0, 3.0, 1.5):
        for dx, dy, dz in itertools.product((-1, 0, 1), repeat=3):
            if dx or dy or dz:
                away = np.array((dx, dy, dz)) / math.sqrt(dx * dx + dy * dy + dz * dz) * distance
                place = np.array([*(np.array(cell) + away), pose[3], pose[4]])
                if np.array_equal(place, _reachable(place)):
                    places.append(place)
    return sorted(places, key=lambda place: float(np.abs(place[:3] - pose[:3]).max()))


def _turn(now: Array, wanted: Array) -> npt.NDArray[np.float32]:
    """Return the smallest camera change from one gaze to another."""
    yaw = (wanted[3] - now[3] + 180.0) % 360.0 - 180.0
    return np.array([yaw, np.clip(wanted[4], -90.0, 90.0) - now[4]], np.float32)


def gaze_along(direction: Array) -> tuple[float, float]:
    """Return the yaw 0..360 and pitch in degrees of a gaze along a vector."""
    x, y, z = direction.tolist()
    return math.degrees(math.atan2(x, -z)) % 360.0, math.degrees(math.atan2(y, math.hypot(x, z)))


def _angle(one: Array, other: Array) -> float:
    cosine = float(np.dot(ray.gaze(*one[3:]), ray.gaze(*other[3:])))
    return math.degrees(math.acos(min(1.0, max(-1.0, cosine))))
