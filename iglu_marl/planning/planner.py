"""`plan`: from edits to a verified sequence of actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from iglu_marl.core.actions import Action
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import Cell
from iglu_marl.planning.feasibility import why_impossible
from iglu_marl.planning.flying.search import shortest_flight
from iglu_marl.planning.greedy import build
from iglu_marl.planning.problem import Plan, PlanLevel, Problem, check_level
from iglu_marl.planning.simulation import Simulation
from iglu_marl.planning.walking.controller import come_to_rest
from iglu_marl.planning.walking.shortening import shorten
from iglu_marl.planning.walking.viewpoints import shortest_walk

# Other controls only have the plan of the greedy builder.
SEARCH_OF: dict[str, Callable[[Problem, int], list[Any] | None]] = {
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
) -> Plan:
    """Return actions that make the edits, and nothing else.

    Args:
        world: a builder's observation with `grid` and `agentPos`, and optionally `inventory` and `hotbar`; `Worlds`
            (index 0 in any state; it is not changed); or a pair (grid, `Pose`) for a builder at rest with a full
            inventory less the blocks. Without `Worlds` or `hotbar` the active colour is unknown, so the plan selects
            the first colour. A walker observed in the air waits until it lands, since its speed is not observed.
        edits: `Edit`s or rows (x, y, z, color), 0 = remove; or a whole target grid [9, 11, 11].
        controls: "walking" (actions are integers 0..17), "flying", "discrete" or "continuous" (dicts).
        level: "fast": the greedy builder, on foot without unnecessary steps; "shortest": search for a shorter
            plan. See docs/planning.md.
        max_actions: longer plans are given up.

    Returns:
        A plan. The verdict "built" is given after a simulation of all actions.

    Raises:
        PlanningError: for unsupported controls, and for invalid edits and worlds.
        PoseError: for an observation without a valid `agentPos`.
        GridError: for an observation without a valid `grid`.

    """
    level = check_level(level)
    problem = Problem.of(world, edits, controls)
    seen = controls == "walking" and isinstance(world, Mapping)
    waits = [int(Action.NOOP)] * (come_to_rest(problem.start) if seen else 0)
    reason, color = why_impossible(problem)
    if reason:
        return Plan([], "impossible", reason, controls=controls, lacking=color)
    simulation = Simulation(problem)
    reason = build(simulation, max_actions)
    actions = simulation.actions
    if controls == "walking" and not reason:
        actions = shorten(problem, actions)
    if level != "fast" and problem.changes and controls in SEARCH_OF:
        found = SEARCH_OF[controls](problem, max_actions if reason else len(actions))
        reason, actions = ("", found) if found else (reason, actions)
    scaffolds = used_scaffolds(problem, actions)
    if not reason and scaffolds is None:
        reason = "the plan failed in the final simulation"
    return Plan(waits + actions, "unresolved" if reason else "built", reason, scaffolds or [], controls)


def used_scaffolds(problem: Problem, actions: list[Any]) -> list[Cell] | None:
    """Simulate actions: return their scaffolds in order, None unless they make the desired grid."""
    simulation = Simulation(problem)
    simulation.step(*actions)
    return None if simulation.difference().any() else list(dict.fromkeys(simulation.scaffolds))
