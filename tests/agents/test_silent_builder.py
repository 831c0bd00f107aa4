"""The builder of whole structures of the zoo, `silent-walker-v0`: what its network sees, and that it builds."""

from __future__ import annotations

import importlib.util
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probing import weighed
from requirements import require

import iglu_marl
from iglu_marl import Role, Task
from iglu_marl.agents.learned import zoo
from iglu_marl.benchmark.games import silent_architect
from iglu_marl.tasks import RandomTasks


@pytest.fixture(scope="module")
def silent() -> Any:
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    from iglu_marl.agents.learned import silent

    return silent


def seen(silent: Any, tasks: list[Task], poses: Any) -> Any:
    """What the builder observes in each world."""
    env = gym.make_vec(
        "IGLUGridworldVector-v0",
        num_envs=len(tasks),
        tasks=tasks[0],
        vector_state=True,
        target_egocentric=True,
        builder_sees=("aim", "egocentric"),
        egocentric_radius=silent.RADIUS,
    )
    return env.reset(seed=0, options={"task": tasks, "pose": poses})[0]


def test_a_quarter_turn_of_everything_changes_no_view(silent: Any) -> None:
    cells = [(2, -1, -3, 4), (1, -1, -4, 2)]
    turned = [(-z, y, x, color) for x, y, z, color in cells]
    tasks = [Task("", blocks, invariant=False) for blocks in (cells, turned)]
    poses = [(1.0, -0.25, 0.25, 20.0, -30.0), (-0.25, -0.25, 1.0, 110.0, -30.0)]
    scene, memory = silent.scene_of(seen(silent, tasks, poses)), silent.Memory(2)
    choice = silent.choice_of(scene, memory)
    assert choice.there.sum(1).tolist() == [2, 2]
    views = [*choice, silent.act_view(scene, memory, choice.places[:, 0])]
    for part in views:
        assert np.allclose(part[0], part[1], atol=1e-5)
    assert views[-1].shape == (2, silent.ACT_FEATURES)


def test_views_stay_what_the_weights_were_trained_on(silent: Any) -> None:
    """Weighted sums, as recorded, of what 24 builders see in random worlds, and of the scores."""
    rng, n = np.random.default_rng(2), 24
    tasks = [
        Task("", grid, starting_grid=start) for grid, start in rng.integers(-20, 7, (n, 2, 9, 11, 11)).clip(0)
    ]
    poses = [tuple(rng.uniform((-5, -0.25, -5, 0, -60), (5, 3, 5, 360, 30)).tolist()) for _ in tasks]
    scene, memory = silent.scene_of(seen(silent, tasks, poses)), silent.Memory(n)
    for _ in range(2):
        memory.keep(rng.integers(0, 18, n), rng.uniform(-0.25, 3, n), rng.integers(-2, 3, (n, 3)))
    choice = silent.choice_of(scene, memory)
    assert weighed(memory.active, memory.action, memory.height, memory.goal) == pytest.approx(
        -69.0242, abs=1e-3
    )
    assert weighed(choice.places) == pytest.approx(-573.3354, abs=1e-3)
    assert weighed(choice.there, choice.features) == pytest.approx(-93.0192, abs=1e-3)
    view = silent.act_view(scene, memory, choice.places[:, 0])
    assert weighed(view) == pytest.approx(16.9136, abs=1e-3)
    cells = silent.cell_of_place(choice.places[:, 1], scene.cell, scene.quarter)
    assert weighed(cells) == pytest.approx(23.7667, abs=1e-3)
    builder = zoo.pretrained("silent-walker-v0").for_env(iglu_marl.env(controls="walking"))
    actions, goals = silent.decide(builder._net, scene, memory, np.random.default_rng(0))
    assert weighed(actions, goals) == pytest.approx(18.652, abs=1e-3)


def test_the_walker_of_the_zoo_builds_small_structures(silent: Any) -> None:
    model, source = zoo.pretrained("silent-walker-v0"), RandomTasks(max_blocks=3)
    completed = []
    for seed in range(3):
        env = iglu_marl.raw_env(
            tasks=source, controls="walking", max_steps=150, builder_sees=("pose", "grid")
        )
        agents = {Role.ARCHITECT: silent_architect(env), Role.BUILDER: model.for_env(env, Role.BUILDER)}
        completed.append(iglu_marl.play(env, agents, seed=seed).completed)
    assert sum(completed) >= 2
