"""`plan`: from edits to a checked sequence of actions, with a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.errors import PlanningError
from iglu_marl.core.grid import Cell
from iglu_marl.planning.feasibility import prove_impossible
from iglu_marl.planning.flying.search import shortest_flight
from iglu_marl.planning.greedy import build
from iglu_marl.planning.problem import Plan, PlanLevel, Problem, level_of, private_state
from iglu_marl.planning.simulation import Simulation, step
from iglu_marl.planning.walking.shortening import shortened
from iglu_marl.planning.walking.teaching import Teacher
from iglu_marl.planning.walking.viewpoints import shortest_walk

# Of the others there is only the plan of the greedy builder.
SEARCH_OF: dict[str, Callable[[Problem, PlanLevel, int], list[Any] | None]] = {
    "walking": shortest_walk,
    "flying": shortest_flight,
}


def plan(
    world: Any,
    edits: Any,
    controls: ControlsName = "walking",
    level: PlanLevel = "shortest",
    *,
    max_actions: int = 20_000,
    width: int | None = None,
    teach: bool = False,
) -> Plan:
    """Actions that make the edits, and nothing else, in a world.

    world: `Worlds` (index 0 is planned for, in any state; it is not changed), or a pair (grid, pose) that stands for a
        fresh episode with this starting grid.
    edits: `Edit`s or rows (x, y, z, color), 0 = remove; or a whole target grid [9, 11, 11].
    controls: "walking" (actions are integers 0..17), "flying", "discrete" or "continuous" (dicts).
    level: "fast" takes the plan of the greedy builder, on foot without the steps that make no difference;
        "short" searches for a shorter one, or for one at all; "shortest" searches longer. See docs/planning.md.
    max_actions: budget; a longer plan is given up.
    teach: on foot, as one shows it to a learner: turns to what it is about first and looks at it, walks forwards,
        and aims at the middle of faces. Such a plan is longer and made in less time; `level` does not count.
    width: deprecated; 0 is the level "fast", 1 and 2 are "short", more is "shortest".

    The verdict "built" is given after a simulation of all actions with the kernel. Raises `PlanningError` for
    controls that cannot be planned and for edits that make no sense.
    """
    level = level_of(level, width)
    if teach and controls != "walking":
        raise PlanningError(f"controls is {controls!r}, expected 'walking' with teach=True")
    problem = Problem.of(world, edits, controls)
    reason, proof = prove_impossible(problem)
    if proof:
        return Plan([], "impossible", reason, controls=controls, proof=proof)
    simulation = Simulation(problem)
    reason = build(simulation, max_actions, Teacher(simulation) if teach else None)
    actions = simulation.actions
    if controls == "walking" and not reason and not teach:
        actions = shortened(problem, actions)
    if level != "fast" and not teach and problem.changes and controls in SEARCH_OF:
        found = SEARCH_OF[controls](problem, level, max_actions if reason else len(actions))
        reason, actions = ("", found) if found else (reason, actions)
    scaffolds = built_on_the_way(problem, actions)
    if not reason and scaffolds is None:
        reason = "the plan did not survive its check by simulation"
    return Plan(actions, "unresolved" if reason else "built", reason, scaffolds or [], controls)


def built_on_the_way(problem: Problem, actions: list[Any]) -> list[Cell] | None:
    """By the kernel: the scaffolds that the actions use, in order; None unless they make the desired grid."""
    simulation = Simulation(problem)
    simulation.step(*actions)
    return None if simulation.difference().any() else list(dict.fromkeys(simulation.scaffolds))


def replays(world: Any, actions: list[Any], controls: ControlsName, desired: npt.NDArray[np.int8]) -> bool:
    """Whether the actions turn the world's grid into `desired`, by the kernel."""
    state = private_state(world)
    for action in actions:
        step(state, controls, action)
    return bool(np.array_equal(state["grid"][0], desired))
