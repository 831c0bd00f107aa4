"""`Worlds`: a batch of worlds in one structured array, and how an episode is put into it.

All that happens is decided by `core/kernels/`; this module lays out memory, prepares tasks and saves states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import PoseError, StateError
from iglu_marl.core.kernels.records import CONTROL, WORLD
from iglu_marl.core.kernels.score import alignment_at
from iglu_marl.core.kernels.spawn import prepare_at, retarget_at
from iglu_marl.core.kernels.step import sense_at, step_many
from iglu_marl.core.pose import POSE_HIGH as POSE_HIGH
from iglu_marl.core.pose import POSE_LOW as POSE_LOW
from iglu_marl.core.pose import Pose as Pose
from iglu_marl.core.pose import as_pose as as_pose
from iglu_marl.core.scoring import Alignment, Shifts, align
from iglu_marl.core.state_bounds import check_state
from iglu_marl.core.task import Task, as_task

Completion = Literal["exact", "cover"]
COMPLETIONS: tuple[Completion, ...] = ("exact", "cover")


@dataclass(frozen=True)
class Terms:
    """What a world is played by, besides its task: score, pay and budgets (0 = no limit)."""

    shifts: Shifts = "all"
    completion: Completion = "exact"
    right_scale: float = 2.0
    wrong_scale: float = 1.0
    completion_reward: float = 0.0
    step_cost: float = 0.0
    size_reward: bool = False
    max_steps: int = 0
    max_turns: int = 0
    turn_steps: int = 0


DEFAULT_TERMS = Terms()


def _extent(task: Task, terms: Terms) -> npt.NDArray[np.int8]:
    """What must stay inside the zone when shifts are "inside": the session's full structure, or the target."""
    return task.target_grid if task.full_grid is None else task.full_grid


@lru_cache(maxsize=1024)
def prepare(task: Task, terms: Terms = DEFAULT_TERMS) -> npt.NDArray[Any]:
    """The ready-made first state of an episode, WORLD[1], read-only: what `Worlds.spawn` copies."""
    if task.pose is not None:  # scored once, wherever it begins
        state = prepare(task.replace(pose=None), terms).copy()
        state["pose"] = task.pose
        sense_at(state, 0)
        state.setflags(write=False)
        return state
    task = task.in_ids("iglu")
    state = np.zeros(1, WORLD)
    record = state[0]
    record["start"], record["target"] = task.start_grid, task.target_grid
    record["invariant"] = task.is_invariant
    record["completion"] = COMPLETIONS.index(terms.completion)
    for name in (
        "right_scale",
        "wrong_scale",
        "completion_reward",
        "step_cost",
        "size_reward",
        "max_steps",
        "max_turns",
        "turn_steps",
    ):
        record[name] = getattr(terms, name)
    prepare_at(state, 0, _extent(task, terms), terms.shifts == "inside")
    state.setflags(write=False)
    return state


@lru_cache(maxsize=1)
def _empty() -> npt.NDArray[Any]:
    """What worlds are before their first episode; made when first asked for, as it needs compiled kernels."""
    return prepare(Task("", np.zeros((9, 11, 11), dtype=np.int8)))


class Worlds:
    """n independent worlds, stepped by one kernel call; one world is a batch of one.

    `state` is a structured array WORLD[n]; its fields are views and attributes of this object: `pose` float64 [n, 5]
    (x, y, z, yaw_deg, pitch_deg), `speed` float64 [n] (cells/s), `slices`, `inventory` int16 [n, 6] (signed),
    `active` int8 [n], `grid`, `start`, `target` int8 [n, 9, 11, 11], `best`, `reward`, `terminated`, `truncated`,
    `floor`, `event`, … Results do not depend on n.
    """

    grid: npt.NDArray[np.int8]
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
        self, index: int, task: Task, terms: Terms = DEFAULT_TERMS, pose: Sequence[float] | None = None
    ) -> None:
        """Begin an episode in one world. Everything is restored; nothing is carried over from the last.

        Without a pose the task's own counts. One given here (x, y, z, yaw_deg, pitch_deg) may lie anywhere; raises
        `PoseError` unless it is five finite numbers.
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
        self.spawn_prepared(index, prepare(as_task(task), terms), pose)

    def spawn_prepared(
        self, index: int, prepared: npt.NDArray[Any], pose: Sequence[float] | None = None
    ) -> None:
        """`spawn` with what `prepare` made earlier; the pose is taken as it is."""
        self.state[index] = prepared[0]
        if pose is not None:
            self.pose[index] = pose
            sense_at(self.state, index)

    def retarget(self, index: int, task: Task, terms: Terms = DEFAULT_TERMS) -> None:
        """Go on in the same world with another task, whose changes count from its own start; baselines begin anew.

        Whether shifts and rotations are allowed stays as it was, unless the task says: what was begun somewhere on
        the map goes on there.
        """
        task = task.in_ids("iglu")
        self.start[index], self.target[index] = task.start_grid, task.target_grid
        if task.invariant is not None:
            self.invariant[index] = task.invariant
        retarget_at(self.state, index, _extent(task, terms), terms.shifts == "inside")

    # -- time

    def step(self, controls: npt.NDArray[Any]) -> None:
        """One builder step in every world. controls: CONTROL[n], as `Controls.encode_batch` makes them."""
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
        """An alignment that attains the maximal intersection now; the map's own where that does."""
        return Alignment(*alignment_at(self.state, index))

    def aligned_target(self, index: int) -> npt.NDArray[np.int8]:
        """The target as it lies over the build at the live best alignment, int8 [9, 11, 11]."""
        return align(self.target[index], self.alignment(index))

    # -- saving

    def get_state(self) -> npt.NDArray[Any]:
        """A copy of everything, WORLD[n]."""
        # As bytes: copying a structured array field by field takes twenty times as long.
        return self.state.view(np.uint8).copy().view(WORLD)

    def set_state(self, state: npt.NDArray[Any]) -> None:
        """Put back what `get_state` gave. Raises `StateError` when it does not fit; nothing is changed then."""
        check_state(state, len(self))
        self.state.view(np.uint8)[:] = np.ascontiguousarray(state).view(np.uint8)
