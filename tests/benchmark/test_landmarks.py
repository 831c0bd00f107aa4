"""Levels with landmarks: tasks, instructions and a walker who sees nothing, at chance there alone."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from iglu_marl import Pose, Role
from iglu_marl.benchmark import find, run
from iglu_marl.benchmark.contents import (
    GROUND,
    ChangedByColor,
    Content,
    PlacedBeside,
    PlacedBlocks,
    ShapesBeside,
    Spawned,
)
from iglu_marl.benchmark.splits import HeldOut
from iglu_marl.core.actions import Action
from iglu_marl.core.edits import net_actions
from iglu_marl.core.grid import ZONE_SHAPE, index_of
from iglu_marl.language import CellEdit, Context, Place, parse, understand
from iglu_marl.language.meaning.shapes import VECTORS, scaled
from iglu_marl.planning import plan

WALL = 7.0  # cells from the centre, where x and z end
GAMES = 10


@pytest.mark.parametrize(
    ("content", "removed", "placed"),
    [(PlacedBeside(), {0}, {1}), (ChangedByColor(), {1}, {1}), (ShapesBeside(), {0}, set(range(12, 21)))],
)
def test_instructions_lead_to_the_target(content: Content, removed: set[int], placed: set[int]) -> None:
    rng = np.random.default_rng(3)
    for task in (content.sample(rng) for _ in range(20)):
        changes = [change.place for change in net_actions(task.start_grid, task.target_grid)]
        assert changes.count(False) in removed
        assert changes.count(True) in placed
        found = understand(task.instruction, task.start_grid, Context()).found
        assert found[0].grid.tolist() == task.target_grid.tolist()  # type: ignore[index,union-attr]


@pytest.mark.parametrize("content", [PlacedBeside(), ChangedByColor(), ShapesBeside()])
def test_no_instruction_tells_a_place_on_the_map(content: Content) -> None:
    """The same words fit a world that is shifted by a cell."""
    rng, shifted = np.random.default_rng(4), 0
    for task in (content.sample(rng) for _ in range(30)):
        start, target = (np.roll(grid, 1, axis=1) for grid in (task.start_grid, task.target_grid))
        if task.start_grid[:, -1].any() or task.target_grid[:, -1].any():
            continue
        found = understand(task.instruction, start, Context()).found
        assert found[0].grid.tolist() == target.tolist()  # type: ignore[index,union-attr]
        shifted += 1
    assert shifted >= 5


class Feeler:
    """A builder that never looks: it feels its way into a corner, and from there follows a plan."""

    def __init__(self) -> None:
        self.queue: list[int] = []

    @classmethod
    def for_env(cls, env: Any) -> Feeler:
        return cls()

    def reset(self, role: Role, seed: int | None) -> None:
        self.queue, self.begun = [], False

    def act(self, observation: Any) -> int:
        if not self.begun:
            self.queue, self.begun = self.way(float(observation["compass"][0]), observation["dialog"]), True
        return self.queue.pop(0) if self.queue else int(Action.NOOP)

    def way(self, yaw_deg: float, dialog: str) -> list[int]:
        edit: Any = parse(dialog.partition("> ")[2])
        if isinstance(edit, CellEdit):
            cell = edit.cell
        else:  # as if the landmark were in the middle: as good a guess as any
            assert isinstance(edit, Place)
            ((way, steps),) = edit.where.offset
            x, y, z = scaled(VECTORS[way], steps)
            cell = x, y - 1, z
        east, south = (1 if cell[axis] >= 0 else -1 for axis in (0, 2))
        turns = round((round(yaw_deg / 90) * 90 - yaw_deg) / 5)  # to look along an axis
        yaw_deg = (yaw_deg + 5 * turns) % 360
        turn = [Action.TURN_RIGHT if turns > 0 else Action.TURN_LEFT] * abs(turns)
        keys = [Action.FORWARD, Action.RIGHT, Action.BACK, Action.LEFT]
        quarter = round(yaw_deg / 90)
        to_x, to_z = (keys[(way - quarter) % 4] for way in (2 - east, 1 + south))
        away = keys[(2 + east - quarter) % 4]  # lest it be held up by the first wall
        walk = [*turn, *[to_x] * 50, *[away] * 3, *[to_z] * 50]
        target = np.zeros(ZONE_SHAPE, np.int8)
        target[index_of(cell)] = edit.color
        pose = Pose((WALL - 0.85) * east, 0.0, (WALL - 0.1) * south, yaw_deg, 0.0)
        return [*map(int, walk), *map(int, plan((np.zeros_like(target), pose), target).actions)]

    def close(self) -> None:
        pass


def test_a_walker_who_sees_nothing_needs_a_place_on_the_map() -> None:
    level = find("pictures-ground-v2")
    on_the_map = dataclasses.replace(
        level, content=Spawned(PlacedBlocks(GROUND, wordings=8)), held_out=(HeldOut("squares", 6),)
    )
    shares = {}
    for name, chosen in (("on the map", on_the_map), ("landmarks", level)):
        chosen = dataclasses.replace(chosen, game={"chat": "text"}, max_steps=250)
        found = run(chosen, [Feeler], episodes=GAMES, controls=False)
        shares[name] = float(np.mean(found.scores("success")))
    assert shares["on the map"] >= 0.6  # the test has power
    assert shares["landmarks"] <= 0.05
