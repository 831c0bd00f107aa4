"""The builder that learns: the curriculum, the example examples/ppo_builder.py, and the curves of its benchmark."""

from __future__ import annotations

import importlib.util
import math
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from example_programs import load_example
from requirements import ROOT, require

import iglu_marl
from iglu_marl import Controls, StateError, Task, TaskError, Worlds
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.language import CellEdit, parse
from iglu_marl.tasks import DUMMY_TASK, Curriculum, RandomTasks

TINY = {
    "num_envs": 8,
    "rollout": 8,
    "minibatch": 32,
    "evaluations": 1,
    "test_episodes": 4,
    "final_episodes": 4,
}


@pytest.fixture(scope="module")
def example() -> ModuleType:
    require("torch", importlib.util.find_spec("torch") is not None, "torch is not installed (extra 'rl')")
    import torch

    torch.set_num_threads(1)
    return load_example("ppo_builder")


def config(example: ModuleType, task: str, **changes: Any) -> Any:
    return replace(example.Config(**example.PRESETS[task]), task=task, **changes)


# ---------------------------------------------------------------------------------------------- the curriculum

ONE, TWO, THREE = (Task(name, [(0, -1, 0, color)]) for color, name in enumerate(("one", "two", "three"), 1))


def drawn(source: Curriculum, count: int = 400) -> Counter[str]:
    rng = np.random.default_rng(0)
    return Counter(source.sample(rng).dialog for _ in range(count))


def test_a_curriculum_goes_on_when_it_goes_well() -> None:
    source = Curriculum([ONE, [TWO], lambda: THREE], threshold=0.75, window=4, rehearsal=0.25)
    assert drawn(source) == {"one": 400}
    assert not source.record([True, True, False])  # three episodes are not yet four
    assert not source.record([False])
    assert not source.record([True])
    assert source.record([True, True, True, True])  # the fourth is left out
    assert source.stage == 1
    counts = drawn(source)
    assert counts.keys() == {"one", "two"}
    assert 70 < counts["one"] < 130
    assert not source.record([True] * 3)
    assert source.record(np.array([1]))
    assert source.stage == 2
    assert not source.record([True] * 100)
    counts = drawn(source)
    assert 20 < counts["one"] < 80
    assert 20 < counts["two"] < 80
    assert repr(source) == "Curriculum(stage 2 of 0..2)"


def test_a_curriculum_is_decided_by_the_seed_and_fills_vector_environments() -> None:
    source = Curriculum([RandomTasks(max_blocks=1), RandomTasks(max_blocks=3)], window=1)
    source.record([True])
    assert [source.sample(np.random.default_rng(3)) for _ in range(2)] == [
        source.sample(np.random.default_rng(3))
    ] * 2
    envs = gym.make_vec("IGLUGridworldVector-v0", num_envs=3, tasks=source, target_in_obs=True)
    first = envs.reset(seed=5)[0]["target_grid"]
    assert np.array_equal(first, envs.reset(seed=5)[0]["target_grid"])


ENVIRONMENTS: dict[str, Callable[[Any], Any]] = {
    "single": lambda tasks: gym.make("IGLUGridworldVector-v0", tasks=tasks).unwrapped,
    "aec": lambda tasks: iglu_marl.raw_env(tasks=tasks),
    "parallel": lambda tasks: iglu_marl.parallel_env(tasks=tasks),
    "vector": lambda tasks: gym.make_vec("IGLUGridworldVector-v0", num_envs=2, tasks=tasks),
    "vector game": lambda tasks: VectorGame(2, tasks=tasks),
    "goals in words": lambda tasks: gym.make("iglu_marl/LanguageGoal-v0", scenes=tasks),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_saved_environment_knows_how_far_its_curriculum_is(name: str) -> None:
    inner = Curriculum([ONE, TWO], window=3)
    source = Curriculum([inner, THREE, ONE], window=2)
    env = ENVIRONMENTS[name]([source])
    env.reset(seed=0)
    source.record([True, False, True])
    inner.record([True, True])
    saved = env.get_state()
    source.record([True])
    assert inner.record([True])
    assert (source.stage, inner.stage) == (1, 1)
    for wrong in ((), source.get_state()), (source.get_state()._replace(stage=3),), (None,):
        with pytest.raises(StateError, match="expected"):
            env.set_state(with_sources(saved, wrong))
    assert (source.stage, inner.stage) == (1, 1)
    env.set_state(pickle.loads(pickle.dumps(saved)))  # noqa: S301 (our own bytes)
    assert (source.stage, inner.stage) == (0, 0)
    assert inner.record([True])  # the third of three
    assert source.record([True])  # the second of two
    with pytest.raises(StateError, match="states of 0 sources"):
        ENVIRONMENTS[name](ONE).set_state(saved)


def with_sources(saved: Any, states: tuple[Any, ...]) -> Any:
    """A saved environment with other states of its task sources."""
    if hasattr(saved, "sources"):
        return saved._replace(sources=states)
    return saved._replace(batch=saved.batch._replace(sources=states))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"stages": []}, "at least one source"),
        ({"stages": DUMMY_TASK}, "a list of at least one"),
        ({"stages": [DUMMY_TASK, 3]}, r"stages\[1\]=3"),
        ({"stages": [DUMMY_TASK], "threshold": 0}, "threshold=0"),
        ({"stages": [DUMMY_TASK], "threshold": 1.5}, "threshold=1.5"),
        ({"stages": [DUMMY_TASK], "threshold": math.nan}, "threshold=nan"),
        ({"stages": [DUMMY_TASK], "window": 0}, "window=0"),
        ({"stages": [DUMMY_TASK], "window": 2.0}, "window=2.0"),
        ({"stages": [DUMMY_TASK], "rehearsal": 1}, "rehearsal=1"),
    ],
)
def test_a_curriculum_refuses(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(TaskError, match=says):
        Curriculum(**arguments)


# ---------------------------------------------------------------------------------------------- what is tested


def shape(grid: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """The blocks of a structure, whatever its shift and rotation."""
    turned = [np.argwhere(np.rot90(grid, quarter, axes=(1, 2))) for quarter in range(4)]
    moved = [tuple(map(tuple, (cells - cells.min(axis=0)).tolist())) for cells in turned]
    return ((int(grid.max()),), *min(moved))  # of one colour


def test_the_pages_say_how_few_structures_the_target_task_has() -> None:
    source, rng = RandomTasks(max_blocks=3), np.random.default_rng(0)
    structures = {shape(source.sample(rng).target_grid) for _ in range(10_000)}
    assert len(structures) == 120
    text = (ROOT / "docs/learning.md").read_text(encoding="utf-8")
    assert "120 structures" in text
    assert "new episodes" not in text


# ---------------------------------------------------------------------------------------------- what is seen


def test_the_look_is_that_of_the_hands(example: ModuleType) -> None:
    rng = np.random.default_rng(0)
    count = 400
    worlds, controls = Worlds(count), Controls("flying")
    grids, poses = np.zeros((count, 9, 11, 11), np.int8), np.zeros((count, 5), np.float32)
    for world in range(count):
        grid = (rng.random((9, 11, 11)) < 0.05).astype(np.int8)
        x, y, z = rng.uniform((-6, -1, -6), (6, 3, 6)).astype(np.float32).tolist()
        yaw, pitch = float(rng.integers(72) * 5), float(rng.integers(-16, 5) * 5)
        worlds.spawn(world, Task("", [], starting_grid=grid), pose=(x, y, z, yaw, pitch))
        grids[world], poses[world] = grid, (x, y, z, pitch, yaw)
    still = {"movement": np.zeros(3, np.float32), "camera": np.zeros(2, np.float32), "inventory": 0}
    worlds.step(controls.encode_batch([{**still, "placement": 1}] * count))
    hit, before, found = example.look(poses, grids)
    theirs, cell = worlds.hit, worlds.before
    expected = (theirs[:, 1] != 127) & (cell[:, 1] != 127)
    assert 100 < expected.sum() < count
    assert np.array_equal(found, expected)
    assert np.array_equal(hit[found], theirs[found])
    assert np.array_equal(before[found], cell[found])


def test_surroundings_turn_with_the_builder(example: ModuleType) -> None:
    aim = np.array([[2, -1, 3]] * 4)
    x, z = example.around(aim, np.arange(4))  # looking north, east, south, west
    ahead = [(int(a), int(b)) for a, b in zip(x[:, 2], z[:, 2], strict=True)]  # the middle of the first row
    right = [(int(a), int(b)) for a, b in zip(x[:, 14], z[:, 14], strict=True)]  # the end of the middle row
    assert ahead == [(2, 1), (4, 3), (2, 5), (0, 3)]
    assert right == [(4, 3), (2, 5), (0, 3), (2, 1)]


def test_held_out_pairs_are_never_trained_but_their_parts_are(example: ModuleType) -> None:
    task = example.LanguageTask(config(example, "language"))
    seen, unseen = (set(task.splits[split].pairs) for split in ("seen", "unseen"))
    assert not seen & unseen
    assert {pair for stage in task.training.stages for pair in stage.pairs} == seen
    assert len(unseen) == 25
    assert {colour for colour, *_ in seen} == {colour for colour, *_ in unseen} == set(range(1, 7))
    assert {pair[1:] for pair in seen} == {pair[1:] for pair in unseen}


def test_instructions_say_the_target(example: ModuleType) -> None:
    rng = np.random.default_rng(0)
    task = example.LanguageTask(config(example, "language"))
    texts = set()
    for _ in range(50):
        drawn = task.splits["unseen"].sample(rng)
        ((x, y, z, colour),) = grid_to_blocks(drawn.target_grid)
        assert parse(drawn.instruction) == CellEdit("place", (x, y, z), color=colour)
        assert (colour, x, z) in task.splits["unseen"].pairs
        assert not drawn.is_invariant
        texts.add(drawn.instruction)
    assert len(texts) > 40


@pytest.mark.parametrize("task", ["target", "language"])
def test_the_control_hides_what_matters(example: ModuleType, task: str) -> None:
    key = {"target": "state", "language": "words"}[task]
    shown, hidden = (example.TASKS[task](config(example, task, blind=blind)) for blind in (False, True))
    seen, _ = shown.make(shown.training, 4).reset(seed=0)
    assert shown.features(seen)[key].any()
    assert not hidden.features(seen)[key].any()


# ---------------------------------------------------------------------------------------------- learning


class Scripted:
    """Looks down until it aims at the ground, places a block of the target's colour there, and then does nothing."""

    def __call__(self, seen: Any) -> tuple[Any, None]:
        import torch

        state = seen["state"].numpy()
        reachable, colours, begun = state[:, 131] > 0, state[:, 125:131], state[:, 139] > 0
        actions = np.where(begun, 0, np.where(reachable, 6 + colours.argmax(axis=1), 15))
        return torch.from_numpy(np.where(np.arange(18) == actions[:, None], 100.0, 0.0)), None


def test_evaluation_counts_what_was_completed(example: ModuleType) -> None:
    task = example.TargetTask(config(example, "target", max_steps=12))
    result = example.evaluate(task, Scripted(), "new", episodes=60, seed=3)
    targets = task.make(task.splits["new"], 60).reset(seed=3)[0]["target_grid"]
    single = (targets > 0).sum(axis=(1, 2, 3)) == 1
    assert 0.1 < single.mean() < 0.6
    assert result["success"] == pytest.approx(single.mean())
    looks = 3  # at -10 degrees nothing is in reach yet
    assert result["length"] == pytest.approx(np.where(single, looks + 1, 12).mean())
    idle = example.evaluate(task, lambda seen: (example.torch.eye(18)[[0] * 60] * 100, None), "new", 60, 3)
    assert idle == {"success": 0, "return": 0, "length": 12}


def test_advantages_by_their_definition(example: ModuleType) -> None:
    settings = config(example, "target", num_envs=3, rollout=6)
    rollout = example.Rollout(settings, {})
    rng = np.random.default_rng(0)
    rollout.rewards[:], rollout.values[:] = rng.normal(size=(2, 6, 3))
    rollout.terminated[2, 0] = rollout.over[2, 0] = rollout.over[3, 1] = True  # world 1 is truncated
    last = rng.normal(size=3).astype(np.float32)
    found = rollout.advantages(last, settings)
    values = np.concatenate([rollout.values, last[None]])
    for world in range(3):
        for t in range(6):
            expected, weight = 0.0, 1.0
            for k in range(t, 6):
                bootstrap = 0.0 if rollout.terminated[k, world] else settings.gamma * values[k + 1, world]
                expected += weight * (rollout.rewards[k, world] + bootstrap - values[k, world])
                weight *= settings.gamma * settings.gae_lambda
                if rollout.over[k, world]:
                    break
            assert found[t, world] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("task", ["target", "language"])
def test_training_is_finite_and_decided_by_the_seed(example: ModuleType, task: str) -> None:
    def records(seed: int) -> list[dict[str, Any]]:
        found = list(example.train(config(example, task, seed=seed, total_steps=192, max_steps=9, **TINY)))
        return [{key: value for key, value in record.items() if key != "seconds"} for record in found]

    first = records(0)
    assert [record["steps"] for record in first] == [0, 192]
    assert math.isfinite(first[-1]["loss"])
    assert first[-1]["final"]
    again, other = records(0), records(1)
    assert first[1:] == again[1:]
    assert first[-1]["loss"] != other[-1]["loss"]


def test_steps_that_only_begin_an_episode_teach_nothing(example: ModuleType) -> None:
    settings = config(example, "target", max_steps=4, **TINY)
    task = example.TargetTask(settings)
    envs = task.make(task.training, 8)
    seen, _ = envs.reset(seed=0)
    policy = example.Policy(task.features(seen), 18, 0, 8)
    rollout = example.Rollout(settings, task.features(seen))
    example.collect(task, envs, policy, rollout, (seen, np.zeros(8, bool)), 1.0)
    assert np.array_equal(rollout.valid[1:], ~rollout.over[:-1])
    assert rollout.over[3].sum() > 4  # truncated after four steps, which the next step makes new
    assert not rollout.rewards[~rollout.valid].any()


def test_one_block_is_learned_in_seconds(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class OneBlock(example.TargetTask):
        def __init__(self, settings: Any) -> None:
            super().__init__(settings)
            self.splits = {"new": DUMMY_TASK}
            self.training = self.splits["new"]

    monkeypatch.setitem(example.TASKS, "target", OneBlock)
    sizes = {"num_envs": 64, "rollout": 16, "minibatch": 256, "hidden": 64, "max_steps": 30}
    tests = {"evaluations": 1, "test_episodes": 100, "final_episodes": 100}
    first, last = example.train(config(example, "target", total_steps=40_000, **sizes, **tests))
    assert first["new"]["success"] < 0.1
    assert last["new"]["success"] > 0.8


def test_the_command_line(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
    records = example.main(
        ["--task", "language", "--blind", "--total-steps", "64", "--max-steps", "3", *tiny]
    )
    assert [record["steps"] for record in records] == [0, 64]
    assert capsys.readouterr().out.count("unseen:") == 2
