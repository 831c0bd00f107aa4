"""Evaluation of teams: who contributed what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from iglu_marl import Task, evaluate, parallel_env, raw_env
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.evaluation.team import TeamTally

PLAIN = ("inventory", "compass", "dialog", "pose", "grid")
NORTH, SOUTH = (0.0, -0.25, 1.0, 0.0, -60.0), (0.0, -0.25, -1.5, 180.0, -30.0)
TWO = Task("", blocks_to_grid([(-3, -1, 0, 6), (-2, -1, 0, 6), (3, -1, 0, 1)]), task_id="two places")


def test_what_each_builder_did_is_counted() -> None:
    env = parallel_env(builders=2, builder_sees=PLAIN, builder_can_ask=True)
    tally = TeamTally()
    env.reset(seed=0, options={"task": TWO, "pose": [NORTH, SOUTH]})
    tally(env)
    still, say = {"act": 0, "say": ""}, {"act": 0, "say": "I do nothing."}
    place, remove = {"act": 17, "say": ""}, {"act": 16, "say": ""}
    for first, second in ((place, still), (still, remove), (say, still), (still, {"act": 1, "say": ""})):
        env.step({"architect_0": "go on", "builder_0": first, "builder_1": second})
        tally(env)
    assert tally.counts == {
        "architect_0": {"messages": 4, "words": 8},
        "builder_0": {
            "steps": 4, "idle": 2, "placed": 1, "removed": 0, "earned": 2.0, "conflicts": 0, "messages": 1, "words": 3,
        },
        "builder_1": {
            "steps": 4, "idle": 2, "placed": 0, "removed": 1, "earned": -2.0, "conflicts": 1, "messages": 0, "words": 0,
        },
    }  # fmt: skip


def test_refused_placements_are_conflicts() -> None:
    env = parallel_env(builders=2, builder_sees=PLAIN)
    tally = TeamTally()
    env.reset(options={"task": TWO, "pose": [(0.0, 0.0, 1.0, 0.0, -45.0), (0.0, 0.0, 0.0, 0.0, 0.0)]})
    tally(env)
    env.step({"architect_0": "", "builder_0": 17, "builder_1": 0})
    tally(env)
    assert [tally.counts[f"builder_{k}"]["conflicts"] for k in range(2)] == [1, 0]


@pytest.mark.parametrize("view", ["aec", "parallel"])
def test_a_team_is_evaluated(view: str, tmp_path: Any) -> None:
    found = evaluate(
        ["scripted", "random"], "scripted", [TWO], view=view, output=tmp_path, seed=1,
        config={
            "architects": 2, "builders": 2, "max_steps": 120,
            "sees": {"architect_0": "half:west", "architect_1": "half:east"},
        },
    )  # fmt: skip
    built, lost = found.rows
    assert built["completed"]
    assert not lost["completed"]
    counts = {
        agent: np.array([one["placed"], one["messages"]])
        for agent, one in built["team"].items()
        if "placed" in one
    }
    assert sum(placed for placed, _ in counts.values()) >= 3
    assert all(placed for placed, _ in counts.values()), "the work is shared"
    assert built["team"]["architect_0"]["messages"] == built["team"]["architect_1"]["messages"] == 1
    rows = {(one["architect"], one["agent"]): one for one in found.teams()}
    assert rows["scripted", "builder_1"]["earned"] == built["team"]["builder_1"]["earned"]
    assert "## Teams" in found.markdown()
    assert found.to_json()["teams"] == found.teams()


def test_a_game_of_two_has_no_counts_by_agent() -> None:
    found = evaluate("scripted", "scripted", [TWO], config={"max_steps": 150})
    assert "team" not in found.rows[0]
    assert found.teams() == []
    assert raw_env().unwrapped.config.is_team is False
