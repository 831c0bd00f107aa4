"""The exact state of a builder: a private world that takes the same steps as the real one.

Observations are float32 and lack the vertical speed and the colour in hand, which `iglu_marl.planning` needs. The
state follows from the observed start, since the dynamics are deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import Controls, Task, Worlds
from iglu_marl.core.actions import CAMERA_STEP_DEG, Action
from iglu_marl.core.controls import END_TURN, ControlsName
from iglu_marl.core.grid import index_of
from iglu_marl.core.pose import NEAR_CELLS, Pose
from iglu_marl.planning import Plan, plan
from iglu_marl.planning.ordering import order_edits
from iglu_marl.planning.problem import PlanLevel

# Controls -> controls to plan with: "human-level" has the keys of walking.
PLANNED_AS: dict[str, ControlsName] = {
    "walking": "walking",
    "human-level": "walking",
    "flying": "flying",
    "discrete": "discrete",
    "continuous": "continuous",
}

_NO_TARGET = np.zeros((9, 11, 11), dtype=np.int8)


@lru_cache(maxsize=256)
def _searched(state: bytes, target: bytes, controls: ControlsName, level: PlanLevel) -> Plan:
    """Return the plan of a long search. Cached, since the same tasks recur with every partner."""
    world = Worlds(1)
    world.state[:] = np.frombuffer(state, world.state.dtype)
    return plan(world, np.frombuffer(target, np.int8).reshape(9, 11, 11), controls, level)


class StateTracker:
    """The private world of a builder with one of the encodings that can be planned for.

    controls: any of the game's. select_and_place, can_yield: as in the game's builder action space.
    """

    def __init__(self, controls: ControlsName, *, select_and_place: bool, can_yield: bool) -> None:
        self.controls = Controls(controls, select_and_place=select_and_place, can_yield=can_yield)
        self.world = Worlds(1)
        self._pending = 0  # colour to select with the next placement
        # Failed plans by world, target and level.
        self._hopeless: dict[tuple[bytes, PlanLevel], Plan] = {}

    @property
    def grid(self) -> npt.NDArray[np.int8]:
        """The present build, int8 [9, 11, 11]; a view."""
        return self.world.grid[0]

    def begin(self, grid: npt.NDArray[Any], pose: Sequence[float]) -> None:
        """Start from a grid and a pose (x, y, z, yaw_deg, pitch_deg), at rest."""
        start = np.asarray(grid, dtype=np.int8)
        self.world.spawn(0, Task("", _NO_TARGET, starting_grid=start), pose=pose)
        self._pending = 0
        self._hopeless.clear()

    def correct(self, grid: npt.NDArray[Any], pose: Sequence[float]) -> None:
        """Take over an observed grid and pose; keep the last selected colour.

        Coordinates that agree are kept: on the border of two cells, the observation is too coarse to decide between
        them.
        """
        active, own = int(self.world.active[0]), self.world.pose[0].tolist()
        seen = [mine if abs(mine - new) < NEAR_CELLS else new for mine, new in zip(own, pose, strict=True)]
        self.begin(grid, seen)
        self.world.active[0] = active

    def agrees(self, grid: npt.NDArray[Any], pose: Pose) -> bool:
        """Return whether an observed grid and pose equal those of the private world."""
        return np.array_equal(grid, self.grid) and pose.near(Pose(*self.world.pose[0].tolist()))

    def plan(self, target: npt.NDArray[np.int8], level: PlanLevel = "fast") -> Plan:
        """Return a plan from here to a grid, in the actions of "walking" or "flying"; `level` as in `planning.plan`."""
        self._pending = 0
        world = self.world
        parts = (world.grid, world.pose, world.inventory, np.asarray(target))
        key = b"".join(part.tobytes() for part in parts), level
        if key in self._hopeless:
            return self._hopeless[key]
        if self.controls.on_cells:
            return self._plan_cells(np.asarray(target, np.int8))
        controls = PLANNED_AS[self.controls.name]
        if level == "fast":
            found = plan(world, target, controls, level)
        else:
            found = _searched(world.state.tobytes(), np.asarray(target, np.int8).tobytes(), controls, level)
            found = replace(found, actions=list(found.actions))
        if found.verdict != "built":
            self._hopeless[key] = found
        return found

    def _plan_cells(self, target: npt.NDArray[np.int8]) -> Plan:
        """Return the edits in a good order, as actions on cells, and whether they make the target."""
        world = Worlds(1)
        world.set_state(self.world.get_state())
        actions = []
        for edit in order_edits(self.grid, target):
            actions.append(np.array([*index_of(edit.cell), edit.color]))
            world.step(self.controls.encode_batch(actions[-1:]))
        name = self.controls.name
        if np.array_equal(world.grid[0], target):
            return Plan(actions, "built", "", controls=name)
        return Plan(actions, "unresolved", f"a block cannot be set with controls={name!r}", controls=name)

    def do(self, planned: Any) -> Any:
        """Return the action of a planned step in the encoding of the game; advance the private world."""
        if self.controls.on_cells:
            self._step(*self.controls.encode(planned))
            return planned
        how = PLANNED_AS[self.controls.name]
        action = (
            self._walked(planned)
            if how == "walking"
            else self._flown(planned)
            if how == "flying"
            else {**self._still(), **planned}
        )
        self._step(*self.controls.encode(action))
        return action

    def wait(self) -> Any:
        """Return the idle action."""
        if self.controls.on_cells:  # air stays air
            return self.do(np.append(np.argwhere(self.grid == 0)[-1], 0))
        self._step(*self.controls.noop())
        return int(Action.NOOP) if self.controls.name == "walking" else self._still()

    def rest(self) -> Any:
        """Return the action that ends the turn, or the idle action if turns cannot be ended."""
        if self.controls.on_cells and self.controls.can_yield:
            return self.do(np.array([0, 0, 0, END_TURN]))
        action = self.wait()
        if not self.controls.can_yield:
            return action
        return int(Action.YIELD) if self.controls.name == "walking" else {**action, "yield": 1}

    def _step(self, records: npt.NDArray[Any], index: int) -> None:
        self.world.step(records[index : index + 1])

    def _still(self) -> dict[str, Any]:
        action: dict[str, Any] = {
            key: np.zeros(space.shape, np.float32) if space.shape else 0
            for key, space in self.controls.space.spaces.items()  # type: ignore[attr-defined]
        }
        return action

    def _walked(self, planned: int) -> Any:
        number = self._select_late(int(planned)) if self.controls.select_and_place else int(planned)
        if self.controls.name == "walking":
            return number
        action = self._still()
        for key, value in _KEYS.get(number, {}).items():
            action[key] = np.array(value, np.float32) if key == "camera" else value
        action["hotbar"] = Action(number).color
        return action

    def _select_late(self, number: int) -> int:
        """Select a colour in the step that places it, for encodings in which selecting also places."""
        if Action(number).color:
            self._pending = number
            return int(Action.NOOP)
        if number == Action.PLACE and self._pending:
            number, self._pending = self._pending, 0
        return number

    def _flown(self, planned: Mapping[str, Any]) -> dict[str, Any]:
        action = {**self._still(), **planned}
        if self.controls.select_and_place:
            self._pending = action["inventory"] or self._pending
            action["inventory"] = 0
            if action["placement"] == 1:
                action["inventory"], self._pending = self._pending, 0
        return action


# The walking actions as keys of the encoding "human-level".
_KEYS: dict[int, dict[str, Any]] = {
    Action.FORWARD: {"forward": 1},
    Action.BACK: {"back": 1},
    Action.LEFT: {"left": 1},
    Action.RIGHT: {"right": 1},
    Action.JUMP: {"jump": 1},
    Action.TURN_LEFT: {"camera": (-CAMERA_STEP_DEG, 0.0)},
    Action.TURN_RIGHT: {"camera": (CAMERA_STEP_DEG, 0.0)},
    Action.LOOK_UP: {"camera": (0.0, CAMERA_STEP_DEG)},
    Action.LOOK_DOWN: {"camera": (0.0, -CAMERA_STEP_DEG)},
    Action.BREAK: {"attack": 1},
    Action.PLACE: {"use": 1},
}
