"""Scripted agents of teams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from iglu_marl import AgentError, Role, Task, parallel_env, play, raw_env
from iglu_marl.agents.registry import agents_for
from iglu_marl.agents.team import (
    HeardViews,
    TeamArchitect,
    TeamBuilder,
    TeamOracle,
    divide,
    largest_build,
    view_lines,
)
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.game.knowledge import SIDES, side_view
from iglu_marl.tasks import CubeTasks, RandomTasks

PLAIN = ("inventory", "compass", "dialog", "pose", "grid")
APART = Task(
    "", blocks_to_grid([(-3, -1, 0, 6), (-3, 0, 0, 6), (3, -1, 0, 1), (3, 0, 0, 2)]), invariant=False
)


def grids() -> Any:
    rng = np.random.default_rng(4)
    source = RandomTasks(max_blocks=12, height_levels=4, max_dist=3, num_colors=6)
    yield from (source.sample(rng).target_grid for _ in range(20))
    yield from (CubeTasks().sample(rng).target_grid for _ in range(10))


def test_views_in_words_come_back() -> None:
    for grid in (np.zeros((9, 11, 11), np.int8), *grids()):
        heard = HeardViews()
        for side in SIDES:
            view = side_view(grid, side)
            for line in reversed(view_lines(side, view)):  # in any order
                assert side not in heard.whole
                assert len(line) <= 200
                assert heard.hear(line)
            assert np.array_equal(heard.whole[side], view)
    assert not HeardViews().hear("From the north, I see nothing.")


@pytest.mark.parametrize("sides", [SIDES, SIDES[:3], ("west",)])
def test_the_largest_build_with_these_views(sides: tuple[str, ...]) -> None:
    for grid in grids():
        views = {side: side_view(grid, side) for side in sides}
        found = largest_build(views)
        assert all(np.array_equal(side_view(found, side), view) for side, view in views.items())
        assert (found != 0)[grid != 0].all()


def test_the_work_is_divided_by_place_and_color() -> None:
    row = [((x, -1, 0), 1 + abs(x) % 2) for x in range(-4, 4)]
    everything = set(range(1, 7))
    owner = divide(row, [everything, everything])
    assert [owner[cell] for cell, _ in row] == [0] * 4 + [1] * 4
    owner = divide(row, [{1}, {2}])
    assert all(owner[cell] == color - 1 for cell, color in row)
    owner = divide(row, [{1}, everything])
    assert sorted(owner.values()) == [0] * 4 + [1] * 4
    assert divide([], [everything]) == {}


def test_builders_share_a_structure_and_are_faster() -> None:
    steps = {}
    for builders in (1, 2):
        options = {"sees": {"builder_0": "none"}, "builder_can_ask": True, "max_steps": 400}
        env = parallel_env(builders=builders, builder_sees=PLAIN, **options)
        game = play(env, agents_for(env), seed=0, options={"task": APART})
        assert game.completed
        steps[builders] = game.builder_steps
    assert steps[2] < 0.8 * steps[1]
    said = [line.text for line in game.dialogue if line.role is Role.BUILDER]
    assert said == ["I take 2 red.", "I take 1 blue, 1 yellow."]


@pytest.mark.parametrize("make", [raw_env, parallel_env])
@pytest.mark.parametrize(
    "options",
    [
        {"architects": 3, "sees": {f"architect_{k}": f"side:{side}" for k, side in enumerate(SIDES[1:])}},
        {
            "architects": 2, "builders": 2,
            "sees": {"architect_0": "half:west", "architect_1": ("half:east", "layers:0-1")},
        },
        {"builders": 2, "chat": "tokens"},
        {"builders": 2, "controls": "flying"},
        "division",
        "assistant",
        "relay",
    ],
    ids=["sides", "halves", "tokens", "flying", "division", "assistant", "relay"],
)  # fmt: skip
def test_teams_build(make: Any, options: Any) -> None:
    more: dict[str, Any] = {"builder_sees": PLAIN, "builder_can_ask": True, "max_steps": 500}
    env = make(options, **more) if isinstance(options, str) else make(**options, **more)
    game = play(env, agents_for(env), seed=0, options={"task": APART})
    assert game.completed


def test_a_team_of_oracles_builds() -> None:
    env = parallel_env(builders=2, builder_sees=("pose", "grid", "inventory", "dialog"), max_steps=300)
    agents = agents_for(env, builder="oracle")
    game = play(env, agents, seed=0, options={"task": APART})
    assert game.completed
    assert game.builder_steps >= 2, "at most an edit a step and builder"
    oracle = agents["builder_1"]
    assert isinstance(oracle, TeamOracle)
    with pytest.raises(AgentError, match="needs the task"):
        oracle.reset(Role.BUILDER, 0)


def test_what_is_wrong_is_asked_for_again() -> None:
    """A builder that forgets what it heard."""
    env = parallel_env(builders=2, builder_sees=PLAIN, max_steps=500)
    agents = agents_for(env)
    env.reset(seed=0, options={"task": APART})
    for agent in agents.values():
        agent.reset(Role.ARCHITECT if isinstance(agent, TeamArchitect) else Role.BUILDER, 0)
    seen, _ = env.reset(seed=0, options={"task": APART})
    forgotten = False
    for _ in range(500):
        acts = {agent: agents[agent].act(seen[agent]) for agent in env.agents}
        seen, *_ = env.step(acts)
        if len(env.episode.dialogue) == 2 and not forgotten:
            forgotten = True
            for agent in agents.values():
                if isinstance(agent, TeamBuilder):
                    agent._wanted.clear()
        if not env.agents:
            break
    assert forgotten
    assert env.episode.ended[0]
    assert len(env.episode.dialogue) > 2


def test_games_and_roles_that_agents_of_teams_cannot_play() -> None:
    env = raw_env(architects=2, sees={"architect_0": "side:north"}, chat="tokens")
    with pytest.raises(AgentError, match="views of sides in text"):
        agents_for(env)
    with pytest.raises(AgentError, match="cannot play the builder"):
        TeamArchitect.for_seat(raw_env(architects=2), "architect_1").reset(Role.BUILDER, 0)
    with pytest.raises(AgentError, match=r"TeamArchitect\.for_seat"):
        TeamArchitect.for_env(raw_env(architects=2))
