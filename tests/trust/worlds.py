"""Worlds under random controls of all encodings, with invariants checked after every step.

The amount is a number of steps. Checked in each world: ranges of fields, at most one changed cell and its `change`,
stock and number of blocks, clocks, turns, reward, ends; in some, score and completion against a second implementation,
and that a single world gives the same bytes as in a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import reference_scores
from trust.driver import Figures, expect, main, show_progress

from iglu_marl.core.controls import CONTROLS, Controls
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.records import ARCHITECT, COVER, EpisodeRules
from iglu_marl.core.state_bounds import check_state
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Worlds

QUICK, FULL = 300_000, 10_000_000
COUNT = 1024  # worlds
EPISODE = 120  # steps per episode
ALONE, ASKED = 4, 6  # worlds that are also stepped alone, and whose score is asked for again
RULES = (
    EpisodeRules(),
    EpisodeRules(completion="cover", step_cost=0.25, turn_steps=7, max_steps=90, max_turns=6),
    EpisodeRules(shifts="inside", right_scale=3.0, wrong_scale=0.5, completion_reward=1.5),
    EpisodeRules(shifts="inside", completion="cover", size_reward=True, completion_reward=2.0, max_steps=50),
)

BEFORE = (
    "grid",
    "best",
    "record",
    "blocks",
    "steps",
    "steps_in_turn",
    "floor",
)  # what a step is compared with


def drive(amount: int, seed: int) -> Figures:
    rng = np.random.default_rng(seed)
    figures = {"steps": 0, "edits": 0, "completed": 0, "scores": 0, "alone": 0}
    encodings = [*(Controls(name, can_yield=True) for name in CONTROLS), Controls("cells")]
    number = 0
    while figures["steps"] < amount:
        controls = encodings[number % len(encodings)]
        Round(rng, controls, f"seed {seed}, round {number}, {controls.name}").run(figures)
        number += 1
        show_progress(figures)
    return figures


class Round:
    """An episode of many worlds, each with its own task."""

    def __init__(self, rng: np.random.Generator, controls: Controls, place: str) -> None:
        self.rng, self.controls, self.place = rng, controls, place
        self.worlds = Worlds(COUNT)
        tasks = [(drawn_task(rng), RULES[index % len(RULES)]) for index in range(64)]
        self.chosen = [tasks[index] for index in rng.integers(0, len(tasks), COUNT)]
        for index, (task, rules) in enumerate(self.chosen):
            self.worlds.spawn(index, task, rules, drawn_pose(rng))
        self.stock = self.worlds.inventory + colors_of(self.worlds.grid)

    def run(self, figures: dict[str, int]) -> None:
        """Step and check."""
        worlds = self.worlds
        fixed = {
            name: worlds.state[name].copy()
            for name in ("start", "target", "shifts", "target_blocks", "asked")
        }
        watched = self.rng.choice(COUNT, ALONE, replace=False)
        singles = [Worlds(1) for _ in watched]
        for single, index in zip(singles, watched, strict=True):
            single.set_state(worlds.get_state()[index : index + 1])
        for step in range(EPISODE):
            before = {name: worlds.state[name].copy() for name in BEFORE}
            records, numbers = self.controls.encode_many(drawn_actions(self.rng, self.controls), COUNT)
            controls = records[numbers]
            worlds.step(controls)
            for said, holds in self.invariants(before, controls):
                self.expect(holds, said, step)
            for single, index in zip(singles, watched, strict=True):
                single.step(controls[index : index + 1])
            figures["steps"] += COUNT
            figures["edits"] += int((worlds.grid != before["grid"]).sum())
            figures["completed"] += int((worlds.terminated != 0).sum())
            if step % 20 == 19:
                figures["scores"] += self.check_scores()
                self.expect(
                    (worlds.inventory + colors_of(worlds.grid) == self.stock).all(),
                    "the stock is not kept",
                    step,
                )
            if step % 7 == 6:  # the architect speaks
                spoke = self.rng.random(COUNT) < 0.5
                worlds.turns[spoke] += 1
                worlds.steps_in_turn[spoke] = 0
                worlds.floor[spoke] = 1
                for single, index in zip(singles, watched, strict=True):
                    single.set_state(worlds.get_state()[index : index + 1])
        for single, index in zip(singles, watched, strict=True):
            self.expect(
                single.state.tobytes() == worlds.state[index : index + 1].tobytes(),
                f"world {index} does something else alone",
                EPISODE,
            )
            figures["alone"] += 1
        for name, value in fixed.items():
            self.expect((worlds.state[name] == value).all(), f"{name} has changed", EPISODE)

    def expect(self, holds: Any, said: str, step: int) -> None:
        """Raise `Broken` with the place unless `holds`."""
        expect(
            np.all(holds),
            f"{said} ({self.place}, step {step}, worlds {np.flatnonzero(~np.atleast_1d(holds))[:5]})",
        )

    def invariants(self, before: dict[str, Any], controls: Any) -> Iterator[tuple[str, Any]]:
        """Yield what must hold in every world after a step, bool [worlds], with the message if it does not."""
        worlds, state = self.worlds, self.worlds.state
        check_state(state, COUNT)
        differs = (worlds.grid != before["grid"]).reshape(COUNT, -1)
        edits = differs.sum(axis=1)
        yield "more than one cell has changed", edits <= 1
        change = state["change"].astype(int)
        edited = change[:, 3] != change[:, 4]
        yield "the edit is not reported", edited == (edits == 1)
        made = np.flatnonzero(edited)
        at = np.ravel_multi_index((change[made, 1] + 1, change[made, 0] + 5, change[made, 2] + 5), ZONE_SHAPE)
        yield "another cell is reported", differs[made, at]
        yield "another old colour is reported", before["grid"].reshape(COUNT, -1)[made, at] == change[made, 3]
        yield "another new colour is reported", worlds.grid.reshape(COUNT, -1)[made, at] == change[made, 4]
        grown = (change[:, 4] != 0).astype(int) - (change[:, 3] != 0)
        yield "the blocks are not counted", state["blocks"] == before["blocks"] + grown
        yield "the event does not match the edit", np.isin(state["event"], (1, 2)) == edited
        # clocks and ends
        yield "the steps are not counted", state["steps"] == before["steps"] + 1
        yield "the steps of the turn are not counted", state["steps_in_turn"] == before["steps_in_turn"] + 1
        gives = (controls["yields"] != 0) | (
            (state["turn_steps"] > 0) & (state["steps_in_turn"] >= state["turn_steps"])
        )
        yield "another has the floor", state["floor"] == np.where(gives, ARCHITECT, before["floor"])
        late = (state["max_steps"] > 0) & (state["steps"] >= state["max_steps"])
        silent = (
            (state["max_turns"] > 0) & (state["turns"] >= state["max_turns"]) & (state["floor"] == ARCHITECT)
        )
        yield "it is cut off at another time", (state["truncated"] != 0) == (late | silent)
        exact = (state["best"] == state["target_blocks"]) & (state["blocks"] == state["target_blocks"])
        covers = state["completion"] == COVER
        yield "it ends at another time", ((state["terminated"] != 0) == exact) | covers
        done = (state["target"] == state["start"]) | (state["target"] == worlds.grid)
        yield "what is missing", state["missing"] == (~done).reshape(COUNT, -1).sum(axis=1)
        yield "a covered task does not end", (state["terminated"] != 0) | (state["missing"] > 0) | ~covers
        # score and pay
        yield "the record", state["record"] == np.maximum(before["record"], state["best"])
        fixed = state["invariant"] == 0
        equal = ((worlds.grid == state["target"]) & (worlds.grid != 0)).reshape(COUNT, -1).sum(axis=1)
        yield "the intersection in place", (state["best"] == equal) | ~fixed
        yield "an intersection below that in place", state["best"] >= equal
        gain = state["best"].astype(int) - before["best"]
        sized = np.maximum(0, state["best"].astype(int) - before["record"])
        paid = np.where(gain != 0, np.sign(gain) * state["right_scale"], -state["wrong_scale"] * grown)
        paid = np.where(edited, np.where(state["size_reward"] != 0, sized, paid), 0.0)
        paid = paid + np.where(state["terminated"] != 0, state["completion_reward"], 0.0) - state["step_cost"]
        yield "another reward", np.abs(state["reward"] - paid) < 1e-9
        # body and senses
        pose = state["pose"]
        yield "a pose that is no number", np.isfinite(pose).all(axis=1)
        yield "out of bounds", (np.abs(pose[:, [0, 2]]) <= 7.5).all(axis=1)
        yield "under the ground, or in the sky", (pose[:, 1] >= -1.3) & (pose[:, 1] <= 14)
        yield "a gaze out of range", (pose[:, 3] >= 0) & (pose[:, 3] < 360.0001) & (np.abs(pose[:, 4]) <= 90)
        yield "the seen pose", (state["seen_pose"] == pose[:, [0, 1, 2, 4, 3]].astype(np.float32)).all(axis=1)
        yield "the seen stock", (state["seen_inventory"] == np.maximum(0, state["inventory"])).all(axis=1)

    def check_scores(self) -> int:
        """Compare scores and completion of some worlds with the second implementation."""
        state = self.worlds.state
        for index in self.rng.choice(COUNT, ASKED, replace=False):
            task, rules = self.chosen[index]
            one = state[index]
            extent = one["target"] if task.full_grid is None else task.in_ids("iglu").full_grid
            allowed = reference_scores.admissible(extent, rules.shifts == "inside", bool(one["invariant"]))
            counts = reference_scores.match_counts(one["grid"], one["target"]) * allowed
            expect((counts == one["matches"]).all(), f"match counts of world {index} ({self.place})")
            expect(counts.max() == one["best"], f"the intersection of world {index} ({self.place})")
            if rules.completion == "cover":
                ends = reference_scores.covered(one["grid"], one["start"], one["target"], allowed)
                expect(ends == bool(one["terminated"]), f"the completion of world {index} ({self.place})")
        return ASKED


def colors_of(grids: Any) -> Any:
    """Return the blocks of each colour, [n, 6]."""
    flat = grids.reshape(len(grids), -1)
    return np.stack([(flat == color).sum(axis=1) for color in range(1, 7)], axis=1)


def drawn_task(rng: np.random.Generator) -> Task:
    """Return a task with a small target low in the middle, half of them with initial blocks."""
    target, start = (np.zeros(ZONE_SHAPE, np.int8) for _ in range(2))
    for grid, most in ((target, 9), (start, 6)):
        for _ in range(int(rng.integers(1, most))):
            grid[rng.integers(0, 3), rng.integers(3, 8), rng.integers(3, 8)] = rng.integers(1, 7)
    if rng.random() < 0.5:
        start[:] = 0
    elif rng.random() < 0.5:
        target = np.where(target != 0, target, start)
    return Task("", target, starting_grid=start, invariant=bool(rng.integers(2)))


def drawn_pose(rng: np.random.Generator) -> tuple[float, ...]:
    x, z = rng.uniform(-4, 4, 2)
    return x, rng.uniform(1, 5), z, rng.uniform(0, 359), rng.uniform(-80, -10)


def drawn_actions(rng: np.random.Generator, controls: Controls) -> Any:
    """Return actions that place and break more often than uniform ones."""
    if controls.on_cells:
        cells = rng.integers(0, (4, 11, 11, 7), (COUNT, 4))
        cells[:, 1:3] = np.where(rng.random((COUNT, 1)) < 0.9, rng.integers(3, 8, (COUNT, 2)), cells[:, 1:3])
        return cells
    if controls.name == "walking":
        return rng.choice(19, COUNT, p=odds())
    made = {}
    for key, space in controls.space.spaces.items():  # type: ignore[attr-defined]
        if hasattr(space, "n"):
            made[key] = rng.integers(0, space.n, COUNT) * (
                rng.random(COUNT) < (0.05 if key == "yield" else 0.5)
            )
        else:
            shape = (COUNT, *space.shape)
            made[key] = (rng.uniform(-1, 1, shape) * np.minimum(space.high, 20.0)).astype(np.float32)
    return made


def odds() -> Any:
    weights = np.ones(19)
    weights[16:18] = 6
    weights[18] = 0.5
    return weights / weights.sum()


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
