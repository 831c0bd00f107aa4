"""Architects whose builders have too few blocks: they ask for what can be placed, say why it ends, and it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import iglu_marl
from iglu_marl import Role, Task, play
from iglu_marl.agents import ScriptedArchitect, ScriptedBuilder, agents_for
from iglu_marl.language import say
from iglu_marl.planning.feasibility import used_up

BLUE, YELLOW, RED = 1, 2, 6
SQUARE = [(x, -1, z, BLUE) for x in range(-2, 3) for z in range(-2, 3)]  # 25 blocks
ELSEWHERE = [(x, -1, z, BLUE) for x in range(-5, -3) for z in range(-5, 5)]  # 20 blocks
SIGHTS = ("dialog", "pose", "grid", "inventory")


def game(task: Task, **options: Any) -> Any:
    limits = {"max_turns": 400, "max_steps": 6000}
    return iglu_marl.raw_env(tasks=task, builder_sees=SIGHTS, **{**limits, **options})


@pytest.mark.parametrize(
    ("blocks", "start", "options", "built", "color"),
    [
        (SQUARE, [], {}, 20, BLUE),
        (SQUARE, [], {"builder_can_ask": True}, 20, BLUE),
        (SQUARE, [], {"controls": "flying"}, 20, BLUE),
        (SQUARE, [], {"chat": "tokens"}, 20, BLUE),
        (SQUARE, ELSEWHERE, {"controls": "flying"}, 20, BLUE),  # they come back when they are removed
        ([*ELSEWHERE, (0, -1, 0, BLUE)], ELSEWHERE, {}, 20, BLUE),
        ([*SQUARE[:6], (4, -1, 4, YELLOW)], [], {"inventories": {"builder_0": {"blue": 5, "yellow": 1}}}, 6, BLUE),
        ([*SQUARE[:4], (4, -1, 4, RED)], [], {"inventories": {"builder_0": {"blue": 4}}}, 4, RED),
    ],
)  # fmt: skip
@pytest.mark.parametrize("level", ["blocks", "shapes"])
def test_the_architect_stops_when_a_color_is_used_up(
    level: Any, blocks: Any, start: Any, options: dict[str, Any], built: int, color: int
) -> None:
    env = game(Task("", blocks, starting_grid=start), **options)
    agents = {
        "architect_0": ScriptedArchitect.for_env(env, level=level),
        "builder_0": ScriptedBuilder.for_env(env),
    }
    trajectory = play(env, agents, seed=0)
    assert (trajectory.terminated, trajectory.truncated, trajectory.intersection) == (False, True, built)
    said = [one.text for one in trajectory.dialogue if one.role is Role.ARCHITECT]
    words = str.maketrans("", "", ":.,'")
    closing = say("out_of_blocks", color).lower().translate(words)
    assert [text.lower().translate(words) for text in said].count(closing) == 1
    assert said[-1].lower().translate(words) == closing
    asked = len(start) + len(blocks) + 3  # a removal or placement at most for each, and few words besides
    assert len(said) <= asked
    assert trajectory.builder_steps < 2000


def test_blocks_that_are_missing_are_not_asked_for() -> None:
    """20 requests for 20 blocks, then the closing line."""
    env = game(Task("", SQUARE))
    trajectory = play(env, agents_for(env), seed=0)
    said = [one.text for one in trajectory.dialogue]
    assert len(said) == len(set(said)) == 21
    assert sum(text.startswith("Place a blue block") for text in said) == 20


@pytest.mark.parametrize(
    ("options", "built"),
    [
        ({"builders": 2, "inventories": {"builder_0": {"blue": 5}, "builder_1": {"blue": 3}}}, 8),
        ({"inventories": {"builder_0": {"blue": 7}}}, 7),
        ({"architects": 2, "inventories": {"builder_0": {"blue": 7}}}, 7),
    ],
)
def test_architects_of_teams_stop_too(options: dict[str, Any], built: int) -> None:
    env = game(Task("", SQUARE), controls="flying", **options)
    trajectory = play(env, agents_for(env), seed=0)
    assert (trajectory.truncated, trajectory.intersection) == (True, built)
    closing = [one for one in trajectory.dialogue if one.text == say("out_of_blocks", BLUE)]
    assert len(closing) == env.unwrapped.config.architects
    assert trajectory.builder_steps < 1500


def test_a_color_is_used_up_when_all_of_it_stands_right() -> None:
    target, grid = np.zeros((2, 9, 11, 11), np.int8)
    target[0, 0, :3], grid[0, 0, :2] = BLUE, BLUE
    assert used_up(grid, target, (2, 0, 0, 0, 0, 0)) == {BLUE}
    assert used_up(grid, target, (3, 0, 0, 0, 0, 0)) == set()
    grid[5, 5, 5] = BLUE  # a wrong one can be taken away
    assert used_up(grid, target, (3, 0, 0, 0, 0, 0)) == set()
    assert used_up(target, target, (2, 0, 0, 0, 0, 0)) == set()
