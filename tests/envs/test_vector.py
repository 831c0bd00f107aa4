"""The vector environments: world by world they are the single ones, whatever their number."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import iglu_marl
from iglu_marl import ActionError, ConfigError, PoseError, StateError, Subtasks, Task, TaskError
from iglu_marl.core.controls import CONTROLS
from iglu_marl.core.schedule import Schedule
from iglu_marl.envs import task_sampling
from iglu_marl.envs.vector import INFO_KEYS, GridworldVectorEnv
from iglu_marl.tasks import BundledTasks, CustomTasks, RandomTasks, SpawnPoses

IDS = ("IGLUGridworld-v0", "IGLUGridworldVector-v0", "IGLUSilentBuilder-v0", "IGLUSilentBuilderVisual-v0")
FEW = RandomTasks(max_blocks=2, max_dist=3, num_colors=2, max_cache=12)
SMALL: dict[str, Any] = {"tasks": FEW, "max_steps": 9}
ONE_AHEAD = Task("", [(4, 0, 4, 1)], invariant=False, pose=(0, -0.25, 0, 0, -50))  # any block is a wrong one


def make(name: str = "IGLUGridworldVector-v0", count: int = 5, **options: Any) -> Any:
    return gym.make_vec(name, num_envs=count, **{**SMALL, **options})


def singles(name: str, count: int, mode: AutoresetMode, **options: Any) -> Any:
    options = {**SMALL, **options}
    return gym.make_vec(
        name, num_envs=count, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )


def same(ours: Any, theirs: Any, mask: Any = ...) -> None:
    """Equal values; data types of grids may differ. `mask`: only these worlds."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for key, value in theirs.items():
            same(ours[key], value, mask)
        return
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert (ours[mask] == theirs[mask]).all()


def same_infos(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert set(ours) == set(theirs)
    for key in theirs:
        if key.startswith("_"):
            same(ours[key], theirs[key])
        elif key == "final_obs":
            for one, other in zip(ours[key], theirs[key], strict=True):
                assert (one is None) == (other is None)
                if other is not None:
                    same(one, other)
        elif key == "final_info":
            for name in INFO_KEYS:
                mask = theirs[key][f"_{name}"]
                same(ours[key][f"_{name}"], mask)
                same(ours[key][name], theirs[key][name], mask)
        else:
            same(ours[key], theirs[key], theirs[f"_{key}"])


def compare(ours: Any, theirs: Any, steps: int, seed: int = 3) -> int:
    """Play the same random actions in both; returns how many episodes ended."""
    ended = 0
    (shown, infos), (expected, expected_infos) = (env.reset(seed=seed) for env in (ours, theirs))
    same(shown, expected)
    same_infos(infos, expected_infos)
    theirs.action_space.seed(seed)
    for _ in range(steps):
        actions = theirs.action_space.sample()
        one, other = ours.step(actions), theirs.step(actions)
        for mine, his in zip(one[:4], other[:4], strict=True):
            same(mine, his)
        assert [part.dtype for part in one[1:4]] == [part.dtype for part in other[1:4]]
        same_infos(one[4], other[4])
        assert ours.observation_space.contains(one[0])
        ended += int((one[2] | one[3]).sum())
    return ended


GERMAN = [Task("so", [(0, -1, 0, 2)]), Task(" und ", [(1, -1, 0, 6)])]


@pytest.mark.parametrize(
    ("name", "mode", "options"),
    [
        (IDS[0], "NextStep", {}),
        (IDS[1], "SameStep", {}),
        (IDS[2], "NextStep", {}),
        (IDS[3], "SameStep", {"tasks": BundledTasks()}),
        (IDS[2], "SameStep", {"compat": "iglu2021", "tasks": GERMAN}),
        (IDS[3], "NextStep", {"compat": "iglu2021", "tasks": GERMAN}),
        *((IDS[1], "NextStep", {"action_space": name}) for name in CONTROLS),
        *((IDS[1], "SameStep", {"action_space": name, "select_and_place": True}) for name in CONTROLS),
    ],
    ids=str,
)
def test_is_single_environments_side_by_side(name: str, mode: str, options: dict[str, Any]) -> None:
    ours = make(name, autoreset_mode=mode, info_keys=INFO_KEYS, num_threads=3, **options)
    theirs = singles(name, 5, AutoresetMode(mode), **options)
    assert compare(ours, theirs, 40) >= 10
    assert ours.action_space == theirs.action_space


OPTIONS: dict[str, dict[str, Any]] = {
    "iglu2022": {
        "compat": "iglu2022",
        "target_in_obs": True,
        "tasks": [Task("", [(0, -1, 0, 2)]), Task("", [(1, -1, 0, 6)])],
    },
    "tokens": {"chat": "tokens", "dialog_length": 40, "tasks": BundledTasks()},
    "cover": {"completion": "cover", "shifts": "inside", "tasks": BundledTasks(mode="structures")},
    "size": {"size_reward": True, "step_cost": 0.25, "tasks": Task("one", [(0, -1, -1, 1)])},
    "sparse": {"sparse_reward": True, "step_cost": 0.25, "tasks": Task("one", [(0, -1, -1, 1)])},
    "keys": {"action_space": "walking", "discretize": False},
    "sights": {"builder_sees": ("aim", "egocentric"), "target_egocentric": True, "action_space": "flying"},
    "near": {"builder_sees": ("egocentric",), "egocentric_radius": 2, "compat": "iglu2022"},
    "shaped": {
        "builder_sees": ("wrong_cells",),
        "target_in_obs": True,
        "compat": "iglu2022",
        "shaping": True,
        "shaping_scale": Schedule(((0, 1), (40, 0.5))),
    },
    "cells": {"action_space": "cells-in-reach", "builder_sees": ("grid",)},
    "function": {"tasks": lambda rng: FEW.sample(rng)},
    "schedule": {
        "wrong_scale": Schedule(((0, 0), (40, 3))),
        "tasks": ONE_AHEAD,
        "action_space": "human-level",
    },
    "poses": {"tasks": SpawnPoses(FEW, pitch_deg=(-60, 0))},
    "fixed poses": {"tasks": [Task("", [(0, -1, 0, 1)], pose=(x, 0, x, 90, -45)) for x in range(3)]},
    "custom": {"tasks": CustomTasks([("a", [(0, -1, 0, 1)]), ("b", [(0, -1, -1, 1), (2, -1, 0, 3)])])},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options(options: dict[str, Any]) -> None:
    mode = AutoresetMode.SAME_STEP if "tasks" in options else AutoresetMode.NEXT_STEP
    ours = make(count=4, autoreset_mode=mode, info_keys=INFO_KEYS, **options)
    assert compare(ours, singles("IGLUGridworldVector-v0", 4, mode, **options), 50) >= 12


def session() -> Subtasks:
    """Two turns, each of a block that one click places; a third that asks for nothing; a fourth."""
    worlds = [[(0, -1, -1, 1)], [(0, -1, -1, 1), (0, -1, 1, 1)]]
    return Subtasks(
        ["one", "two", "look at it", "three"],
        [*worlds, worlds[1], [*worlds[1], (1, -1, 1, 1)]],
        progressive=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "chat"), [("NextStep", "text"), ("SameStep", "tokens")])
def test_progressive_sessions_continue_turn_by_turn(mode: str, chat: str) -> None:
    # Mostly looking down and clicking: turns get reached.
    options = {"tasks": [session()[0], session()[1]], "max_steps": 60, "chat": chat}
    ours = make(count=6, autoreset_mode=mode, info_keys=INFO_KEYS, **options)
    theirs = singles("IGLUGridworldVector-v0", 6, AutoresetMode(mode), **options)
    pose = {"pose": (0, -0.25, 0, 0, -35)}
    same(ours.reset(seed=1, options=pose)[0], theirs.reset(seed=1, options=dict(pose))[0])
    rng = np.random.default_rng(0)
    dialogs, ended = set(), 0
    for _ in range(400):
        actions = rng.choice([17, 17, 16, 13, 0, 14, 15], 6)
        one, other = ours.step(actions), theirs.step(actions)
        for mine, his in zip(one[:4], other[:4], strict=True):
            same(mine, his)
        same_infos(one[4], other[4])
        dialogs |= {str(dialog) for dialog in one[0]["dialog"]}
        ended += int(one[2].sum())
    assert len(dialogs) >= 3


# ---------------------------------------------------------------------------------------------------- memory


def test_copied_observations_share_no_memory() -> None:
    env = make("IGLUSilentBuilder-v0", 3)
    first, _ = env.reset(seed=0)
    kept = copy.deepcopy(first)
    second = env.step(env.action_space.sample())[0]
    for _ in range(12):
        env.step(env.action_space.sample())
    same(first, kept)
    flat = [value for part in (first, second) for value in (*part.values(), part["compass"]["angle"])]
    arrays = [value for value in flat if isinstance(value, np.ndarray)]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def test_a_renderer_of_your_own_draws_many_at_once() -> None:
    class Plain:
        calls: list[int] = []  # noqa: RUF012 (of the test)

        def render(self, worlds: Any, indices: Any, size: tuple[int, int]) -> Any:
            self.calls.append(len(indices))
            return np.stack([np.full((*size, 3), 40 + worlds.active[i], np.uint8) for i in indices])

        def close(self) -> None:
            pass

    env = make("IGLUGridworld-v0", 4, renderer=Plain(), render_size=(2, 3))
    shown, _ = env.reset(seed=0)
    assert shown["pov"].shape == (4, 2, 3, 3)
    assert (shown["pov"] == 41).all()
    assert Plain.calls == [4]


# ------------------------------------------------------------------------------------------- resets and states


def test_some_worlds_are_reset() -> None:
    env = make(count=4, autoreset_mode="Disabled", max_steps=3)
    env.reset(seed=0)
    for _ in range(3):
        truncated = env.step(np.full(4, 13))[3]
    assert truncated.all()
    with pytest.raises(StateError, match="episode of world 0 is over"):
        env.step(np.zeros(4, int))
    shown, _ = env.reset(options={"reset_mask": np.array([True, False, True, True])})
    assert shown["compass"].ravel().tolist() == [0, 15, 0, 0]
    with pytest.raises(StateError, match="episode of world 1"):
        env.step(np.zeros(4, int))
    env.reset(seed=7, options={"reset_mask": np.array([False, True, False, False])})
    env.step(np.zeros(4, int))
    single = gym.make("IGLUGridworldVector-v0", **SMALL)
    single.reset(seed=8)
    assert single.unwrapped.task == env.tasks[1]


@pytest.mark.parametrize("tasks", [list(FEW), FEW], ids=["list", "source"])
def test_a_seed_gives_the_same_tasks_whatever_was_drawn_before(tasks: Any) -> None:
    def story(env: Any) -> list[Any]:
        return [env.reset(seed=seed) and env.tasks.tolist() for seed in (5, None, None)]

    env = make(count=3, tasks=tasks)
    fresh = story(env)
    assert fresh == story(env) == story(make(count=3, tasks=tasks))
    env.reset(seed=8)
    env.reset()
    env.reset(seed=5, options={"reset_mask": np.array([False, True, False])})
    assert env.tasks[1] == fresh[0][1]


def test_tasks_and_poses_for_each_world() -> None:
    env = make(count=3)
    tasks = [Task(f"<Architect> {i}", [(i, -1, 0, 1)]) for i in range(3)]
    poses = [(i, 1, 0, 90 * i, 5) for i in range(3)]
    shown, _ = env.reset(seed=0, options={"task": tasks, "pose": poses})
    assert list(shown["dialog"]) == ["<Architect> 0", "<Architect> 1", "<Architect> 2"]
    assert shown["agentPos"].tolist() == [[0, 1, 0, 5, 0], [1, 1, 0, 5, 90], [2, 1, 0, 5, 180]]
    shown, _ = env.reset(options={"task": tasks[1], "pose": (0, 2, 0, 0, 0)})
    assert set(shown["dialog"]) == {"<Architect> 1"}
    assert (shown["agentPos"][:, 1] == 2).all()
    env.set_task(tasks[2])
    assert set(env.reset()[0]["dialog"]) == {"<Architect> 2"}
    env.set_task_generator(tasks[:2])
    seen = {dialog for _ in range(10) for dialog in env.reset()[0]["dialog"]}
    assert seen == {"<Architect> 0", "<Architect> 1"}


def test_tasks_complete_at_their_start_are_skipped_and_counted() -> None:
    done = Task("", [(0, -1, 0, 1)], starting_grid=[(0, -1, 0, 1)])
    source = CustomTasks([("a", [(0, -1, 0, 1)])])
    source._all = (*source, done)
    env, single = make(count=3, tasks=source), gym.make("IGLUGridworldVector-v0", tasks=[*source])
    for seed in range(20):
        env.reset(seed=seed)
        single.reset(seed=seed)
        assert env.tasks[0] == single.unwrapped.task != done
    assert source.skipped > 5
    source._all = (done, done)
    with pytest.raises(TaskError, match="complete at their start"):
        make(count=3, tasks=source).reset(seed=0)


def test_more_tasks_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_sampling, "KEPT", 20)
    tasks = RandomTasks(max_blocks=3)
    ours = make(count=7, tasks=tasks, max_steps=3, info_keys=INFO_KEYS)
    assert compare(
        ours, singles("IGLUGridworldVector-v0", 7, AutoresetMode.NEXT_STEP, tasks=tasks, max_steps=3), 60
    )
    ours.set_task_generator([Task(str(i), [(0, -1, 0, 1)]) for i in range(50)])
    ours.reset(seed=0)
    for i in range(30):
        ours.reset(options={"task": Task(f"given {i}", [(0, -1, 0, 1)])})
        assert set(ours.reset()[0]["dialog"]) <= {f"<Architect> {i}" for i in range(50)} | {
            str(i) for i in range(50)
        }


@pytest.mark.parametrize("source", [FEW, BundledTasks(), [Task("", [(i, -1, 0, 1)]) for i in range(5)]])
def test_states_are_put_back(source: Any) -> None:
    env = make("IGLUSilentBuilder-v0", 5, tasks=source, max_steps=6)
    env.reset(seed=4)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(40)]
    for action in actions[:9]:
        env.step(action)
    saved = env.get_state()
    stories = []
    other = make("IGLUSilentBuilder-v0", 5, tasks=source, max_steps=6)
    other.reset(seed=99)
    for player in (env, env, other, pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):  # noqa: S301 (our own)
        player.set_state(pickle.loads(pickle.dumps(saved)))  # noqa: S301 (our own)
        story = [player.step(action)[:4] for action in actions[9:]]
        stories.append([copy.deepcopy(part) for part in story])
    for story in stories[1:]:
        for one, first in zip(story, stories[0], strict=True):
            for mine, his in zip(one, first, strict=True):
                same(mine, his)


def test_wrong_states_are_refused() -> None:
    env = make(count=3, tasks=list(FEW))
    env.reset(seed=0)
    before = env.get_state()
    small = make(count=2, tasks=list(FEW))
    small.reset(seed=0)
    broken = before.batch.worlds.copy()
    broken["active"] = 99
    elsewhere = before.batch.worlds.copy()
    elsewhere["change"][0] = [100, 100, 100, 0, 3]  # a cell far outside this world's grid
    wrong: list[dict[str, Any]] = [
        {"worlds": broken},
        {"worlds": elsewhere},
        {"over": before.batch.over[:2]},
    ]
    states = [before._replace(batch=before.batch._replace(**fields)) for fields in wrong]
    more = make(count=3, tasks=[*FEW] * 9)  # its next tasks have higher numbers
    more.reset(seed=0)
    for state in (None, small.get_state(), more.get_state(), *states):
        with pytest.raises(StateError, match=r"state.*expected"):
            env.set_state(state)
        assert env.get_state().batch.worlds.tobytes() == before.batch.worlds.tobytes()


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs is 0"),
        ({"num_envs": True}, "num_envs is True"),
        ({"num_threads": 0}, "num_threads is 0"),
        ({"num_threads": True}, "num_threads is True"),
        ({"autoreset_mode": "never"}, "autoreset_mode is 'never', expected one of"),
        ({"copy": 1}, "copy is 1"),
        ({"info_keys": ("score",)}, "info_keys is"),
        ({"info_keys": "event"}, "info_keys is"),
        ({"architect": iglu_marl.agents.RandomArchitect()}, "architect"),
        ({"stpes": 3}, "unknown option 'stpes'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        GridworldVectorEnv(**options)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seed": -1}, ConfigError, "seed is -1"),
        ({"seed": [1, 2]}, ConfigError, "a list of 3"),
        ({"seed": "a"}, ConfigError, "seed is 'a'"),
        ({"options": 3}, ConfigError, "options is 3"),
        ({"options": {"task": "x"}}, TaskError, "task is 'x'"),
        ({"options": {"task": [Task("", [(0, -1, 0, 1)])]}}, ConfigError, "1 tasks"),
        ({"options": {"pose": (1, 2)}}, PoseError, "pose"),
        ({"options": {"reset_mask": np.array([True])}}, ConfigError, "reset_mask"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, ConfigError, "reset_mask"),
    ],
)
def test_wrong_resets_are_named_and_change_nothing(
    arguments: Any, error: type[Exception], message: str
) -> None:
    env = make(count=3)
    env.reset(seed=1)
    before = env.get_state()
    with pytest.raises(error, match=message):
        env.reset(**arguments)
    assert env.get_state().batch.worlds.tobytes() == before.batch.worlds.tobytes()


WALK = np.zeros(3, np.int64)
FLY = {
    "movement": np.zeros((3, 3), "f4"),
    "camera": np.zeros((3, 2), "f4"),
    "inventory": WALK,
    "placement": WALK,
}


@pytest.mark.parametrize(
    ("controls", "actions", "message"),
    [
        ("walking", np.array([0, 18, 0]), r"actions is 18 in world 1, expected 3 integers in 0\.\.17"),
        ("walking", np.array([0, 1, -1]), "actions is -1 in world 2"),
        ("walking", np.zeros(4, int), r"actions is int64\[4\]"),
        ("walking", np.zeros(3), r"actions is float64\[3\]"),
        ("walking", np.zeros(3, bool), r"actions is bool\[3\]"),
        ("walking", [1, [2], 3], "actions is"),
        ("walking", None, "actions is object"),
        ("flying", {**FLY, "placement": np.array([0, 0, 3])}, r"actions\['placement'\] is 3 in world 2"),
        (
            "flying",
            {**FLY, "camera": np.array([[0, 0], [0, 6], [0, 0]])},
            r"actions\['camera'\] is \[0 6\] in world 1",
        ),
        (
            "flying",
            {**FLY, "movement": np.full((3, 3), np.nan)},
            r"actions\['movement'\] is \[nan nan nan\] in world 0",
        ),
        ("flying", {**FLY, "movement": np.zeros(3)}, r"actions\['movement'\] is float64\[3\]"),
        ("flying", {"movement": 0}, "expected a dict with the keys"),
        ("flying", WALK, "expected a dict with the keys"),
    ],
)
def test_wrong_actions_are_named_and_change_nothing(controls: str, actions: Any, message: str) -> None:
    env = make(count=3, action_space=controls)
    env.reset(seed=1)
    before = env.get_state()
    with pytest.raises(ActionError, match=message):
        env.step(actions)
    assert env.get_state().batch.worlds.tobytes() == before.batch.worlds.tobytes()


def test_steps_before_the_first_reset_are_refused() -> None:
    env = make()
    with pytest.raises(StateError, match="call reset"):
        env.step(np.zeros(5, int))
    with pytest.raises(StateError, match="call reset"):
        env.reset(options={"reset_mask": np.ones(5, bool)})


# ------------------------------------------------------------------------------------------------- Gymnasium


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_knows_them(name: str) -> None:
    env = make(name, 2, tasks=Task("", np.ones((9, 11, 11))))
    assert isinstance(env.metadata["autoreset_mode"], AutoresetMode)
    assert env.spec.id == name
    assert gym.make_vec(env.spec).num_envs == 2
    wrapped = gym.wrappers.vector.RecordEpisodeStatistics(env)
    wrapped.reset(seed=0)
    for _ in range(10):
        infos = wrapped.step(wrapped.action_space.sample())[4]
        if "episode" in infos:
            break
    assert infos["episode"]["l"].max() == 9
    wrapped.close()


def test_pictures_to_look_at() -> None:
    env = make(count=2, render_mode="rgb_array")
    env.reset(seed=0)
    frames = env.render()
    assert len(frames) == 2
    assert frames[0].ndim == 3
    text = make(count=2, render_mode="ansi")
    text.reset(
        seed=0,
        options={"task": [Task("<Architect> a", [(0, -1, 0, 1)]), Task("<Architect> b", [(0, -1, 0, 2)])]},
    )
    assert "<Architect> b" in text.render()[1]
    with pytest.warns(UserWarning, match="no render_mode"):
        assert make().render() is None


def test_worlds_are_initialised() -> None:
    """`initialize_world` does what it does in the single environments, in later episodes too."""
    ours = make(count=3, max_steps=4, info_keys=INFO_KEYS)
    theirs = singles("IGLUGridworldVector-v0", 3, AutoresetMode.NEXT_STEP, max_steps=4)
    compare(ours, theirs, 7)
    for env in (ours, *(env.unwrapped for env in theirs.envs)):
        env.initialize_world([(2, -1, 2, 3), (2, 0, 2, 4)], (1, 0, 0, 90, -20))
    assert compare(ours, theirs, 14) >= 6
    assert (ours.worlds.start[:, 1, 7, 7] == 4).all()
    for env in (ours, *(env.unwrapped for env in theirs.envs)):
        env.set_task_generator(FEW)
    compare(ours, theirs, 14)
    assert not ours.worlds.start.any()
