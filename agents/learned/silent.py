"""A builder that sees the target: the input of its network, the network, and the agent.

It walks with the 18 actions and observes `egocentric`, `target_egocentric`, `aim` and `agentPos`. It knows the colour
in hand, its last action and its goal. It decides in two steps: it points at one of the nearest cells in which build
and target differ (`point`), and acts with this cell in mind (`act`). The two steps and their inputs are designed by
hand; the rest was learned by DAgger, with the planner as teacher (version 0.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from typing_extensions import Unpack

from iglu_marl import AgentError, Pose, Role, Task
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.learned.zoo import Pretrained
from iglu_marl.agents.scripted.state_tracker import StateTracker
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.actions import Action
from iglu_marl.game.observations import fill_sights, make_sights

Array = npt.NDArray[Any]

RADIUS = 7  # of the egocentric sights
NEAREST = 20  # cells that can be pointed at
ACTIONS = 18
OUTSIDE = 7
CELL_FEATURES, ACT_FEATURES = 25, 164
REDECIDES = 0.02  # probability per step of choosing a new goal
_RIGHT_X, _RIGHT_Z = np.array([1, 0, -1, 0]), np.array([0, 1, 0, -1])
_SIDES = np.array([(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)])  # up, right, back
_BODY = np.array([(i, j, k) for i in (-2, -1, 0, 1) for j in range(-2, 3) for k in range(-2, 3)])
_COLORS = np.arange(1, 7)
_ALL_ACTIONS = np.arange(ACTIONS)
NOWHERE = -99


class Memory:
    """What builders know of their last steps, a row a world.

    active: the colour in hand; action: the last one; height: of the eye before it; goal: the cell of the map (x, y, z)
    that it was about.
    """

    def __init__(self, count: int) -> None:
        self.active, self.action = np.ones(count, np.int64), np.zeros(count, np.int64)
        self.height, self.goal = np.zeros(count), np.full((count, 3), NOWHERE)

    def forget(self, rows: Array) -> None:
        """Forget all about some rows."""
        self.active[rows], self.action[rows], self.height[rows], self.goal[rows] = 1, 0, 0.0, NOWHERE

    def keep(self, actions: Array, heights: Array, goals: Array) -> None:
        """Store actions, int [n], heights of the eye before them, float [n], and goal cells, int [n, 3]."""
        picked = (actions >= Action.HOTBAR_1) & (actions <= Action.HOTBAR_6)
        self.active = np.where(picked, actions - Action.HOTBAR_1 + 1, self.active)
        self.action, self.height = actions.astype(np.int64), heights.astype(np.float64)
        self.goal = goals


class Surroundings(NamedTuple):
    """The sights of many worlds, turned to where the builders look.

    build, target: int8 [n, 15, 15, 15] (up, right, back of the eye's cell). cell: int [n, 3], that of the eye; quarter:
    int [n]. off: float [n, 3], where in its cell the eye is (right, up, back); rest: float [n], the yaw within its
    quarter, in degrees. pitch: float [n]. aim: float [n, 8], and aimed, hit: int [n, 3], its cells (up, right, back).
    """

    build: Array
    target: Array
    cell: Array
    quarter: Array
    off: Array
    rest: Array
    pitch: Array
    aim: Array
    aimed: Array
    hit: Array


def scene_of(seen: Mapping[str, Array]) -> Surroundings:
    """Return the scene of observations with a leading axis."""
    pose, aim = seen["agentPos"].astype(np.float64), seen["aim"]
    cell = np.rint(pose[:, :3]).astype(np.int64)
    quarter = np.rint(pose[:, 4] / 90.0).astype(np.int64) % 4
    off = pose[:, :3] - cell
    right, back = _turned(off[:, 0], off[:, 2], quarter)
    return Surroundings(
        seen["egocentric"],
        seen["target_egocentric"],
        cell,
        quarter,
        np.stack([right, off[:, 1], back], 1),
        pose[:, 4] - 90.0 * np.rint(pose[:, 4] / 90.0),
        pose[:, 3],
        aim,
        place_of(aim[:, 4:7], cell, quarter),
        place_of(aim[:, 1:4], cell, quarter),
    )


def _turned(x: Array, z: Array, quarter: Array) -> tuple[Array, Array]:
    right_x, right_z = _RIGHT_X[quarter], _RIGHT_Z[quarter]
    return x * right_x + z * right_z, z * right_x - x * right_z


def place_of(cells: Array, cell: Array, quarter: Array) -> Array:
    """Map cells, [n, 3] as x, y, z, to places in a scene: up, right, back, int [n, 3]."""
    x, y, z = (cells.astype(np.int64) - cell).T
    right, back = _turned(x, z, quarter)
    return np.stack([y, right, back], axis=1) + RADIUS


def cell_of_place(places: Array, cell: Array, quarter: Array) -> Array:
    """Map places in a scene, [n, 3], to cells of the map, [n, 3] as x, y, z."""
    up, right, back = (places - RADIUS).T
    right_x, right_z = _RIGHT_X[quarter], _RIGHT_Z[quarter]
    return np.stack([right * right_x - back * right_z, up, right * right_z + back * right_x], axis=1) + cell


def _codes(blocks: Array, rows: Array, places: Array) -> Array:
    """Return the blocks at places [..., 3] of worlds `rows` [...]; `OUTSIDE` beyond the field of view."""
    inside = ((places >= 0) & (places <= 2 * RADIUS)).all(-1)
    up, right, back = np.moveaxis(np.clip(places, 0, 2 * RADIUS), -1, 0)
    return np.where(inside, blocks[rows, up, right, back], OUTSIDE)


def _solid(codes: Array, places: Array, cell: Array) -> Array:
    """Whether there is a block, or the ground (below y = -1)."""
    ground = places[..., 0] - RADIUS + cell < -1
    return ((codes > 0) & (codes != OUTSIDE)) | ground


def _bearings(scene: Surroundings, rows: Array, places: Array) -> Array:
    """Return the directions of cells from the eye, float [k, 9]."""
    up, right, back = (places - RADIUS).T - scene.off[rows][:, [1, 0, 2]].T
    rest = np.radians(scene.rest[rows])
    ahead, aside = -back * np.cos(rest) + right * np.sin(rest), right * np.cos(rest) + back * np.sin(rest)
    level = np.hypot(ahead, aside)
    around = np.degrees(np.arctan2(aside, ahead))
    above = np.degrees(np.arctan2(up, level)) - scene.pitch[rows]
    parts = (
        ahead / 4,
        aside / 4,
        up / 3,
        level / 4,
        np.minimum(level, 2),
        around / 90,
        np.clip(around / 20, -1, 1),
    )
    return np.stack([*parts, above / 45, np.clip(above / 15, -1, 1)], axis=1)


class Candidates(NamedTuple):
    """Cells to point at: places int [n, 20, 3], which exist, bool [n, 20], features [n, 20, 25]."""

    places: Array
    there: Array
    features: Array


def choice_of(scene: Surroundings, memory: Memory) -> Candidates:
    """Return the nearest cells in which build and target differ."""
    count = len(scene.build)
    other = (scene.build != scene.target) & (scene.build != OUTSIDE) & (scene.target != OUTSIDE)
    rows, *found = np.nonzero(other)
    places = np.stack(found, axis=1)
    bearings = _bearings(scene, rows, places)
    far = np.hypot(bearings[:, 3] * 4, bearings[:, 2] * 3)
    order = np.lexsort((far, rows))
    rows, places, bearings = rows[order], places[order], bearings[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    kept = rank < NEAREST
    rows, places, bearings, rank = rows[kept], places[kept], bearings[kept], rank[kept]
    build, target = _codes(scene.build, rows, places), _codes(scene.target, rows, places)
    beside = places[:, None] + _SIDES
    solid = _solid(_codes(scene.build, rows[:, None], beside), beside, scene.cell[rows, 1][:, None])
    wanted = _codes(scene.target, rows[:, None], beside)
    goal = place_of(memory.goal, scene.cell, scene.quarter)[rows]
    features = [
        bearings,
        (build > 0)[:, None],
        (target > 0)[:, None],
        solid,
        ((wanted > 0) & (wanted != OUTSIDE))[:, :2],
        (target == memory.active[rows])[:, None],
        (places == goal).all(1)[:, None],
        ((places == scene.aimed[rows]).all(1) & (scene.aim[rows, 0] > 0))[:, None],
        ((places == scene.hit[rows]).all(1) & (scene.aim[rows, 0] > 0))[:, None],
        (places[:, :1] - RADIUS + scene.cell[rows, 1][:, None]) / 4,
        rank[:, None] == 0,
    ]
    table = np.concatenate(features, axis=1, dtype=np.float32)
    filled = Candidates(
        np.zeros((count, NEAREST, 3), np.int64),
        np.zeros((count, NEAREST), bool),
        np.zeros((count, NEAREST, CELL_FEATURES), np.float32),
    )
    filled.places[rows, rank], filled.there[rows, rank], filled.features[rows, rank] = places, True, table
    return filled


def act_view(scene: Surroundings, memory: Memory, goals: Array) -> Array:
    """Return the input for acting, float32 [n, 164]. goals: places int [n, 3]."""
    rows = np.arange(len(goals))
    build, target = _codes(scene.build, rows, goals), _codes(scene.target, rows, goals)
    beside, body = goals[:, None] + _SIDES, RADIUS + np.broadcast_to(_BODY, (len(goals), *_BODY.shape))
    height = scene.cell[:, 1][:, None]
    valid = scene.aim[:, :1] > 0
    aimed, hit = (np.clip(cells - goals, -3, 3) / 3 * valid for cells in (scene.aimed, scene.hit))
    eye = scene.off[:, 1] + scene.cell[:, 1]
    parts = [
        _bearings(scene, rows, goals),
        (build > 0)[:, None],
        target[:, None] == _COLORS,
        memory.active[:, None] == _COLORS,
        (target == memory.active)[:, None],
        _solid(_codes(scene.build, rows[:, None], beside), beside, height),
        valid,
        aimed,
        (scene.aimed == goals).all(1)[:, None] & valid,
        hit,
        (scene.hit == goals).all(1)[:, None] & valid,
        scene.aim[:, 7:] / 8,
        scene.off,
        (scene.rest / 45)[:, None],
        (scene.pitch / 90)[:, None],
        np.stack([eye + 0.25, (eye - memory.height) * 4], axis=1),
        memory.action[:, None] == _ALL_ACTIONS,
        _solid(_codes(scene.build, rows[:, None], body), body, height),
    ]
    return np.concatenate(parts, axis=1, dtype=np.float32)


class SilentModel(nn.Module):
    """Scores of the candidate cells, and of the 18 actions given a goal cell."""

    def __init__(self, width: int = 192) -> None:
        super().__init__()
        self.points = nn.Sequential(
            nn.Linear(CELL_FEATURES, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
        )
        self.acts = nn.Sequential(
            nn.Linear(ACT_FEATURES, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, ACTIONS),
        )

    def point(self, features: Tensor, there: Tensor) -> Tensor:
        """Return scores [n, 20]."""
        return self.points(features).squeeze(-1).masked_fill(~there, -1e4)

    def act(self, seen: Tensor) -> Tensor:
        """Return scores [n, 18]."""
        return self.acts(seen)


def decide(
    net: SilentModel, scene: Surroundings, memory: Memory, rng: np.random.Generator, temperature: float = 1.0
) -> tuple[Array, Array]:
    """Return actions int64 [n], and their goal cells in the map, int [n, 3]."""
    again = rng.random(len(memory.goal)) < REDECIDES
    memory.goal[again] = NOWHERE
    choice = choice_of(scene, memory)
    with torch.no_grad():
        scores = net.point(torch.as_tensor(choice.features), torch.as_tensor(choice.there)).double().numpy()
        chosen = (scores + rng.gumbel(size=scores.shape)).argmax(1)
        goals = choice.places[np.arange(len(chosen)), chosen]
        scores = net.act(torch.as_tensor(act_view(scene, memory, goals))).double().numpy()
    if temperature:
        scores = scores / temperature + rng.gumbel(size=scores.shape)
    return scores.argmax(1), cell_of_place(goals, scene.cell, scene.quarter)


class SilentBuilder(BuilderBase):
    """Builds the target of the `Task` that it is given.

    model: of the zoo. temperature: of sampled actions; 0 takes the best. The other arguments are those of
    `ScriptedBuilder`. Its observations are computed from pose and build.
    """

    privileged = True
    reads = ""

    def __init__(self, *, model: Pretrained, temperature: float = 1.0, **options: Unpack[Options]) -> None:
        super().__init__(Settings(**options))
        if self.game.controls != "walking" or self.game.select_and_place:
            raise AgentError(f"{model.name} walks with the 18 actions, the game has {self.game.controls!r}")
        self._net = SilentModel(**model.card["network"])
        weights = {name: torch.as_tensor(part).float() for name, part in model.tensors.items()}
        self._net.load_state_dict(weights)
        self._net.eval()
        self.temperature = temperature
        self._sights = make_sights(1, ("aim", "egocentric", "target_egocentric"), radius=RADIUS)
        self._state = StateTracker("walking", **self.game.only("can_yield", "select_and_place"))
        self._task: Task | None = None

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder, or the task is missing."""
        if role != Role.BUILDER or task is None:
            raise AgentError(
                f"a SilentBuilder plays the builder and needs the task, got {role} and {task!r:.60}"
            )
        super().reset(role, seed)
        self._task, self._began = task.in_ids("iglu"), False
        self._rng = np.random.default_rng(seed)
        self._memory = Memory(1)

    def act(self, observation: Any) -> Any:
        """Return the next step."""
        if self._task is None:
            raise AgentError("the SilentBuilder has no task yet: call reset(role, seed, task=task) first")
        world = self._state.world
        if not self._began:
            world.spawn(0, self._task)
            if "agentPos" in observation:
                world.spawn(0, self._task, pose=Pose.from_observation(observation))
            self._began = True
        fill_sights(world.state, self._sights)
        sights = self._sights
        seen = {
            "agentPos": world.seen_pose,
            "aim": sights.aim,
            "egocentric": sights.egocentric,
            "target_egocentric": sights.target_egocentric,
        }
        actions, goals = decide(self._net, scene_of(seen), self._memory, self._rng, self.temperature)
        self._memory.keep(actions, world.seen_pose[:, 1], goals)
        return self._with_words(self._state.do(int(actions[0])))
