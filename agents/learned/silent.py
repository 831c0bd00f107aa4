"""A silent builder that sees the target: what its network sees, the network, and the agent that plays with it.

It walks with the 18 actions. It sees `egocentric`, `target_egocentric`, `aim` and `agentPos`, and knows the colour in
its hand and its last action. How it learned: examples/dagger_silent_builder.py. It needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot, relu
from typing_extensions import Unpack

from iglu_marl import AgentError, Role, Task
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.learned.zoo import Pretrained
from iglu_marl.agents.scripted.state_tracker import StateTracker
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.actions import Action
from iglu_marl.core.kernels.sights import see_many
from iglu_marl.game.observations import make_sights

Array = npt.NDArray[Any]

RADIUS = 7  # of the egocentric sights
BELOW, ABOVE = 4, 3  # layers of them that are used, from the eye's own
ACTIONS = 18
OUTSIDE = 63  # both build and target are outside the zone
NEAR = np.array(
    [(i, j, k) for i in (-1, 0, 1) for j in range(-2, 3) for k in range(-2, 3)]
)  # up, right, back
_RIGHT_X, _RIGHT_Z = np.array([1, 0, -1, 0]), np.array([0, 1, 0, -1])


class View(NamedTuple):
    """What the network sees, a row a world.

    cells: uint8 [n, 8, 15, 15], build * 8 + target around the eye (up, right, back). place, hit: int64 [n, 3], the
    places in `cells` of the cell aimed at and of the one that is hit. kinds: int64 [n, 5]: pitch and yaw within its
    quarter in steps of 5 degrees, the colour in hand, the last action, whether anything is aimed at. numbers: float32
    [n, 5]: where in its cell the eye is, how it rose in the last step, and how far the aim is.
    """

    cells: Array
    place: Array
    hit: Array
    kinds: Array
    numbers: Array


class Memory:
    """What a builder knows of its last step: the colour in hand, the action, the height. Arrays with a row a world."""

    def __init__(self, count: int) -> None:
        self.active = np.ones(count, np.int64)
        self.action = np.zeros(count, np.int64)
        self.height = np.zeros(count)

    def forget(self, chosen: Any) -> None:
        """Begin anew in some worlds."""
        self.active[chosen], self.action[chosen], self.height[chosen] = 1, 0, 0.0

    def keep(self, actions: Array, heights: Array) -> None:
        """Remember what was done, int [n], and how high the eye was before, float [n]."""
        picked = (actions >= Action.HOTBAR_1) & (actions <= Action.HOTBAR_6)
        self.active = np.where(picked, actions - Action.HOTBAR_1 + 1, self.active)
        self.action, self.height = actions.astype(np.int64), heights.astype(np.float64)


def view(seen: Mapping[str, Array], memory: Memory) -> View:
    """The network's view of observations with a leading axis."""
    pose, aim = seen["agentPos"].astype(np.float64), seen["aim"]
    build, target = (
        seen[key][:, RADIUS - BELOW : RADIUS + ABOVE + 1].astype(np.uint8)
        for key in ("egocentric", "target_egocentric")
    )
    cell = np.rint(pose[:, :3]).astype(np.int64)
    quarter = np.rint(pose[:, 4] / 90.0).astype(np.int64) % 4
    right_x, right_z = _RIGHT_X[quarter], _RIGHT_Z[quarter]

    def turned(x: Array, z: Array) -> tuple[Array, Array]:
        return x * right_x + z * right_z, z * right_x - x * right_z

    def place_of(target: Array) -> Array:
        x, y, z = (target.astype(np.int64) - cell).T
        right, back = turned(x, z)
        return np.stack([y + BELOW, right + RADIUS, back + RADIUS], axis=1)

    off = pose[:, :3] - cell
    right, back = turned(off[:, 0], off[:, 2])
    rest = np.rint((pose[:, 4] - 90.0 * np.rint(pose[:, 4] / 90.0)) / 5.0).astype(np.int64) + 9
    pitch = np.rint(pose[:, 3] / 5.0).astype(np.int64) + 18
    kinds = np.stack([pitch, rest, memory.active, memory.action, aim[:, 0].astype(np.int64)], axis=1)
    numbers = np.stack([right, off[:, 1], back, pose[:, 1] - memory.height, aim[:, 7] / 8.0], axis=1)
    hit, place = place_of(aim[:, 1:4]), place_of(aim[:, 4:7])
    return View(build * 8 + target, place, hit, kinds, numbers.astype(np.float32))


class SilentModel(nn.Module):
    """From a `View` to scores of the 18 actions.

    It reads the columns around the builder, and looks more closely at the cells around the one aimed at: it cuts them
    out of `cells`.
    """

    def __init__(self, width: int = 256, kinds: int = 4) -> None:
        super().__init__()
        self.cell, self.met = nn.Embedding(64, kinds), nn.Embedding(64, 8)
        self.hand = nn.Embedding(8 * 7, 8)  # the colour wanted there, and the one in hand
        self.column = nn.Linear((BELOW + ABOVE + 1) * kinds, 8)
        self.around = nn.Linear(8 * (2 * RADIUS + 1) ** 2, 128)
        self.near = nn.Linear(len(NEAR) * kinds, 128)
        small = 37 + 19 + 7 + ACTIONS + 1 + 5 + 3 + 8 * 3
        self.trunk = nn.Sequential(
            nn.Linear(256 + small, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.out = nn.Linear(width, ACTIONS)
        self.register_buffer("nearby", torch.as_tensor(NEAR), persistent=False)

    def forward(self, seen: tuple[Tensor, ...]) -> Tensor:
        """Scores [n, 18]. seen: the fields of a `View` as tensors."""
        cells, place, hit, kinds, numbers = seen
        codes = cells.long()
        columns = self.cell(codes).permute(0, 2, 3, 1, 4).flatten(3)  # [n, right, back, up * kinds]
        around = relu(self.around(relu(self.column(columns)).flatten(1)))
        valid = kinds[:, 4:]
        near = self._at(codes, place[:, None] + self.nearby)
        close = relu(self.near(self.cell(near).flatten(1))) * valid
        there, met = self._at(codes, place[:, None])[:, 0], self._at(codes, hit[:, None])[:, 0]
        details = [self.met(there), self.met(met), self.hand(there % 8 * 7 + kinds[:, 2])]
        sizes = (37, 19, 7, ACTIONS)
        flags = [one_hot(kinds[:, k], size) for k, size in enumerate(sizes)]
        offset = (place - torch.tensor([BELOW, RADIUS, RADIUS])) / 8.0
        parts = [around, close, *(part * valid for part in (*details, offset)), *flags, valid, numbers]
        return self.out(self.trunk(torch.cat([part.float() for part in parts], dim=1)))

    def _at(self, codes: Tensor, places: Tensor) -> Tensor:
        """The codes [n, k] at places [n, k, 3]; `OUTSIDE` beyond what is seen."""
        sizes = torch.tensor(codes.shape[1:])
        inside = ((places >= 0) & (places < sizes)).all(-1)
        up, right, back = (places.clamp(min=0).minimum(sizes - 1)).unbind(-1)
        rows = torch.arange(len(codes))[:, None]
        return torch.where(inside, codes[rows, up, right, back], OUTSIDE)


def tensors_of(seen: View) -> tuple[Tensor, ...]:
    """A view for the network."""
    return tuple(torch.as_tensor(part) for part in seen)


class SilentBuilder(BuilderBase):
    """Builds the target of the `Task` that it is given as it learned to.

    model: of the zoo. temperature: of the actions that it draws; 0 takes the best. The other arguments are those of
    `ScriptedBuilder`. The sights that it needs follow from pose and build, which it tracks by itself.
    """

    privileged = True

    def __init__(self, *, model: Pretrained, temperature: float = 1.0, **options: Unpack[Options]) -> None:
        super().__init__(Settings(**options))
        if self.game.controls != "walking" or self.game.select_and_place:
            raise AgentError(f"{model.name} walks with the 18 actions, the game has {self.game.controls!r}")
        self._net = SilentModel(**model.card["network"])
        weights = {name: torch.as_tensor(part).float() for name, part in model.tensors.items()}
        self._net.load_state_dict(weights)
        self._net.eval()
        self.temperature = temperature
        self._sights = make_sights(1, aim=True, egocentric=True, target_egocentric=True, radius=RADIUS)
        self._state = StateTracker("walking", **self.game.only("can_yield", "select_and_place"))
        self._task: Task | None = None

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Begin an episode. Raises `AgentError` for another role than the builder's, or without the task."""
        if role != Role.BUILDER or task is None:
            raise AgentError(
                f"a SilentBuilder plays the builder and needs the task, got {role} and {task!r:.60}"
            )
        super().reset(role, seed)
        self._task, self._began = task.in_ids("iglu"), False
        self._rng = np.random.default_rng(seed)
        self._memory = Memory(1)

    def act(self, observation: Any) -> Any:
        """The next step."""
        if self._task is None:
            raise AgentError("the SilentBuilder has no task yet: call reset(role, seed, task=task) first")
        world = self._state.world
        if not self._began:
            world.spawn(0, self._task)
            if "agentPos" in observation:
                x, y, z, pitch, yaw = np.asarray(observation["agentPos"], np.float64).tolist()
                world.spawn(0, self._task, pose=(x, y, z, yaw, pitch))
            self._began = True
        see_many(world.state, self._sights, 0, 1)
        seen = {"agentPos": world.seen_pose, **self._sights._asdict()}
        with torch.no_grad():
            scores = self._net(tensors_of(view(seen, self._memory)))[0].double().numpy()
        if self.temperature:
            scores = scores / self.temperature + self._rng.gumbel(size=ACTIONS)
        action = int(scores.argmax())
        self._memory.keep(np.array([action]), world.seen_pose[:, 1])
        return self._with_words(self._state.do(action))
