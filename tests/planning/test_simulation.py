"""The world that a plan is worked out in: the log, scaffolds, and undo."""

from __future__ import annotations

import numpy as np
from worlds import world_with

from iglu_marl.core.actions import Action
from iglu_marl.core.worlds import Pose
from iglu_marl.planning.problem import Job, Problem
from iglu_marl.planning.simulation import Simulation, has_done


def test_every_change_is_logged_and_can_be_undone() -> None:
    problem = Problem.of(world_with([], Pose(0.0, -0.25, 0.0, 0.0, -30.0)), [(1, -1, 0, 2)], "walking")
    simulation = Simulation(problem)
    before = simulation.save()
    simulation.step(Action.NOOP, Action.PLACE)
    assert simulation.actions == [int(Action.NOOP), int(Action.PLACE)]
    (scaffold,) = simulation.scaffolds
    assert has_done(simulation.state, Job(scaffold, simulation.active))
    assert simulation.color_at(scaffold) == simulation.active != simulation.wanted_at(scaffold) == 0
    assert simulation.difference().sum() == 2
    simulation.restore(before)
    assert (simulation.actions, simulation.scaffolds) == ([], [])
    np.testing.assert_array_equal(simulation.state, problem.start)
