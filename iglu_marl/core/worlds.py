"""`Worlds`: a batch of worlds in one structured array.

The rules are in `core/kernels/`. This module lays out memory, prepares tasks and saves states.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import PoseError, StateError
from iglu_marl.core.kernels.records import (
    COMPLETIONS,
    CONTROL,
    RULE_BOUNDS,
    WORLD,
    EpisodeRules,
)
from iglu_marl.core.kernels.score import alignment_at
from iglu_marl.core.kernels.spawn import prepare_at, retarget_at
from iglu_marl.core.kernels.step import rewrite_at, sense_at, step_many
from iglu_marl.core.pose import POSE_HIGH as POSE_HIGH
from iglu_marl.core.pose import POSE_LOW as POSE_LOW
from iglu_marl.core.pose import Pose as Pose
from iglu_marl.core.pose import as_pose as as_pose
from iglu_marl.core.scoring import Alignment, align
from iglu_marl.core.state_bounds import check_state
from iglu_marl.core.task import Task, as_task
from iglu_marl.core.threads import exclusive

DEFAULT_RULES = EpisodeRules()


def _extent(task: Task) -> npt.NDArray[np.int8]:
    """Return the structure that shifts "inside" keep in the zone: the session's full one, or the target."""
    return task.target_grid if task.full_grid is None else task.full_grid


@lru_cache(maxsize=1024)
def prepare(task: Task, rules: EpisodeRules = DEFAULT_RULES) -> npt.NDArray[Any]:
    """Return the first state of an episode, WORLD[1], read-only. `Worlds.spawn` copies it."""
    if task.pose is not None:  # scored once for all poses
        state = prepare(task.replace(pose=None), rules).copy()
        state["pose"] = task.pose if isinstance(task.pose, Pose) else task.pose["builder_0"]
        sense_at(state, 0)
        state.setflags(write=False)
        return state
    task = task.in_ids("iglu")
    state = np.zeros(1, WORLD)
    record = state[0]
    record["start"], record["target"] = task.start_grid, task.target_grid
    record["invariant"] = task.is_invariant
    record["completion"] = COMPLETIONS.index(rules.completion)
    for name in RULE_BOUNDS:
        record[name] = getattr(rules, name)
    prepare_at(state, 0, _extent(task), rules.shifts == "inside")
    state.setflags(write=False)
    return state


@lru_cache(maxsize=1)
def _empty() -> npt.NDArray[Any]:
    """Return the state before the first episode; created on demand, since it needs compiled kernels."""
    return prepare(Task("", np.zeros((9, 11, 11), dtype=np.int8)))


class Worlds:
    """n independent worlds, stepped by one kernel call; one world is a batch of one.

    `state` is a structured array WORLD[n]; its fields are views and attributes of this object: `pose` float64 [n, 5]
    (x, y, z, yaw_deg, pitch_deg), `speed` float64 [n] (cells/s), `slices`, `inventory` int16 [n, 6] (signed),
    `active` int8 [n], `grid`, `start`, `target` int8 [n, 9, 11, 11], `best`, `reward`, `terminated`, `truncated`,
    `floor`, `event`, … Results do not depend on n.
    """

    grid: npt.NDArray[np.int8]
    target: npt.NDArray[np.int8]
    pose: npt.NDArray[np.float64]
    position: npt.NDArray[np.float64]

    def __init__(self, n: int = 1) -> None:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise StateError(f"the number of worlds is {n!r}, expected an integer of 1 or more")
        try:
            self.state = np.repeat(_empty(), n)
        except (MemoryError, OverflowError, ValueError):
            raise StateError(
                f"the number of worlds is {n!r:.80}, expected as many as memory holds, {WORLD.itemsize} bytes each"
            ) from None
        self._name_fields()

    def _name_fields(self) -> None:
        self.thread_lock = RLock()
        for name in WORLD.names or ():
            setattr(self, name, self.state[name])
        self.position = self.pose[:, :3]

    def __len__(self) -> int:
        return len(self.state)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Worlds has no field {name!r}; expected one of {', '.join(WORLD.names or ())}")

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.state = np.array(saved["state"])  # the fields are views and have to be views of this very array
        self._name_fields()

    # -- episodes

    def spawn(
        self, index: int, task: Task, rules: EpisodeRules = DEFAULT_RULES, pose: Sequence[float] | None = None
    ) -> None:
        """Start an episode in one world. Nothing is carried over from the last one.

        pose: (x, y, z, yaw_deg, pitch_deg), anywhere; default: the task's. Raises `PoseError` unless it is five finite
        numbers.
        """
        if pose is not None:
            try:
                numbers = np.asarray(pose)
            except ValueError:  # lists of different lengths inside
                numbers = np.array(None)
            if numbers.shape != (5,) or numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all():
                raise PoseError(
                    f"pose is {pose!r}, expected five finite numbers (x, y, z, yaw_deg, pitch_deg)"
                )
        self.spawn_prepared(index, prepare(as_task(task), rules), pose)

    def spawn_prepared(
        self, index: int, prepared: npt.NDArray[Any], pose: Sequence[float] | None = None
    ) -> None:
        """Start an episode from a state of `prepare`. The pose is not checked."""
        self.state[index] = prepared[0]
        if pose is not None:
            self.pose[index] = pose
            sense_at(self.state, index)

    def retarget(self, index: int, task: Task, rules: EpisodeRules = DEFAULT_RULES) -> None:
        """Continue in the same world with another task. Its changes count from its own start; the score is reset.

        Whether shifts and rotations are allowed stays, unless the task decides it: the build continues in place.
        """
        task = task.in_ids("iglu")
        self.start[index], self.target[index] = task.start_grid, task.target_grid
        if task.invariant is not None:
            self.invariant[index] = task.invariant
        retarget_at(self.state, index, _extent(task), rules.shifts == "inside")

    def rewrite(self, row: int, blocks: npt.ArrayLike) -> None:
        """Set cells of the one world that all rows share, with blocks of the builder in a row. Nobody is paid for it.

        blocks: x, y, z, color id (0: air), int [k, 4], of which no two share a cell. They are not checked.
        """
        rewrite_at(self.state, row, np.asarray(blocks, np.int64).reshape(-1, 4))

    def row(self, index: int) -> Worlds:
        """Return one world as a batch of its own. It shares its memory with this one."""
        one = Worlds.__new__(Worlds)
        one.state = self.state[index : index + 1]
        one._name_fields()
        return one

    # -- time

    @exclusive
    def step(self, controls: npt.NDArray[Any]) -> None:
        """Run one builder step in every world. controls: CONTROL[n], as from `Controls.encode_batch`."""
        if (
            not isinstance(controls, np.ndarray)
            or controls.dtype != CONTROL
            or controls.shape != self.state.shape
        ):
            got = (
                f"{getattr(controls, 'dtype', type(controls).__name__)}{list(getattr(controls, 'shape', []))}"
            )
            raise StateError(f"controls are {got}, expected CONTROL[{len(self)}]")
        step_many(self.state, controls)

    # -- reading

    def alignment(self, index: int) -> Alignment:
        """Return an alignment with the maximal intersection now; the identity if it is one."""
        return Alignment(*alignment_at(self.state, index))

    def aligned_target(self, index: int) -> npt.NDArray[np.int8]:
        """Return the target at the current best alignment with the build, int8 [9, 11, 11]."""
        return align(self.target[index], self.alignment(index))

    # -- saving

    def get_state(self) -> npt.NDArray[Any]:
        """Return a copy of all states, WORLD[n]."""
        # As bytes: copying a structured array field by field takes twenty times as long.
        return self.state.view(np.uint8).copy().view(WORLD)

    def set_state(self, state: npt.NDArray[Any]) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        check_state(state, len(self))
        self.state.view(np.uint8)[:] = np.ascontiguousarray(state).view(np.uint8)
