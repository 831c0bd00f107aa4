"""`examples/dagger_silent_builder.py` and its builder: what it sees, what its teacher shows, what is held out."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from example_programs import load_example

from iglu_marl import Task
from iglu_marl.core.grid import cells_of
from iglu_marl.core.scoring import maximal_intersection


@pytest.fixture(scope="module")
def example(torch: Any) -> ModuleType:
    return load_example("dagger_silent_builder")


def begun(example: ModuleType, tasks: list[Task], poses: Any) -> tuple[Any, Any]:
    env = example.make(tasks[0], len(tasks), 50)
    seen, _ = env.reset(seed=0, options={"task": tasks, "pose": poses})
    return env, seen


def test_a_quarter_turn_of_everything_changes_no_view(example: ModuleType) -> None:
    cells = [(2, -1, -3, 4), (1, -1, -4, 2)]
    turned = [(-z, y, x, color) for x, y, z, color in cells]
    tasks = [Task("", blocks, invariant=False) for blocks in (cells, turned)]
    poses = [(1.0, -0.25, 0.25, 20.0, -30.0), (-0.25, -0.25, 1.0, 110.0, -30.0)]
    _, seen = begun(example, tasks, poses)
    scene, memory = example.scene_of(seen), example.Memory(2)
    choice = example.choice_of(scene, memory)
    assert choice.there.sum(1).tolist() == [2, 2]
    views = [*choice, example.act_view(scene, memory, choice.places[:, 0])]
    for part in views:
        assert np.allclose(part[0], part[1], atol=1e-5)
    assert views[-1].shape == (2, example.ACT_FEATURES)


def test_places_are_cells_of_the_map(example: ModuleType) -> None:
    from iglu_marl.agents.learned.silent import cell_of_place

    task = Task("", [(0, -1, -2, 3)], starting_grid=[(0, -1, -3, 5)], invariant=False)
    for yaw in (0.0, 90.0, 180.0, 270.0):
        _, seen = begun(example, [task], [(0.0, -0.25, 0.0, yaw, -20.0)])
        scene = example.scene_of(seen)
        cells = np.array([[0, -1, -3]])
        place = example.place_of(cells, scene.cell, scene.quarter)
        assert scene.build[(0, *place[0])] == 5
        assert cell_of_place(place, scene.cell, scene.quarter).tolist() == cells.tolist()
        if yaw == 0.0:
            assert seen["aim"][0, 1:7].tolist() == [0, -1, -3, 0, -1, -2]
            assert scene.hit.tolist() == place.tolist()
            assert scene.target[(0, *scene.aimed[0])] == 3


def test_the_controls_see_no_target_or_no_build(example: ModuleType) -> None:
    task = Task("", [(0, -1, -2, 3)], starting_grid=[(0, -1, -3, 5)], invariant=False)
    _, seen = begun(example, [task], [(0.0, -0.25, 0.0, 0.0, -20.0)])
    hidden = example.taken_away(seen, example.Settings(hidden=True))
    assert set(np.unique(hidden["target_egocentric"])) == {0, example.OUTSIDE}
    assert 5 in hidden["egocentric"]
    blind = example.taken_away(seen, example.Settings(blind=True))
    assert set(np.unique(blind["egocentric"])) == {0, example.OUTSIDE}
    assert 3 in blind["target_egocentric"]
    assert not blind["aim"].any()
    assert seen["aim"].any(), "the observation itself is left alone"


def test_the_teacher_leads_from_anywhere_to_the_target(example: ModuleType) -> None:
    task = Task("", [(0, -1, -2, 3), (0, 0, -2, 1), (2, -1, 2, 6)])
    env = example.make(task, 1, 500)
    env.reset(seed=0)
    for action in (1, 1, 13, 13, 15, 15, 15, 15, 15, 15, 17, 1, 4, 12):  # somewhere, with a wrong block
        env.step(np.array([action]))
    done = np.array([False])
    steps = example.shown(env.worlds, 0, most=400)
    while steps and not done:
        action, cell = steps.pop()
        before = env.worlds.grid[0].copy()
        _, _, done, _, _ = env.step(np.array([action]))
        changed = cells_of(env.worlds.grid[0] != before)
        assert done or not len(changed) or changed[0].tolist() == cell.tolist(), "it says what it is about"
    assert done.all()


def test_the_bundled_structures_of_the_test_are_no_others_turned(example: ModuleType) -> None:
    trained, tested = example.bundled(held_out=False), example.bundled(held_out=True)
    assert (len(trained), len(tested)) == (21, 7)
    for task in tested:
        size = np.count_nonzero(task.target_grid)
        assert example.LEAST <= size <= example.MOST
        for other in trained:
            if np.count_nonzero(other.target_grid) == size:
                assert maximal_intersection(other.target_grid, task.target_grid) < size


def test_lessons_are_gone_on_with(example: ModuleType, tmp_path: Path, torch: Any) -> None:
    tiny = example.Settings(minutes=0, worlds=4, limit=10, first=60, fresh=20, batches=1, batch=16)
    first = example.train(tiny, tmp_path / "silent", report=False)
    again = example.train(tiny, tmp_path / "silent", report=False)
    assert {path.suffix for path in tmp_path.iterdir()} == {".pt", ".json"}
    weights = [torch.cat([part.flatten() for part in net.state_dict().values()]) for net in (first, again)]
    assert torch.isfinite(weights[1]).all()
    assert not torch.equal(*weights)
