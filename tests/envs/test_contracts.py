"""The contracts of PettingZoo and Gymnasium, and ours: seeds, copies, saved states, memory, spaces."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.utils import OrderEnforcingWrapper, aec_to_parallel
from probing import (
    ALL_VIEWS,
    CHATS,
    IDS,
    SHORT,
    SYMBOLS,
    TWO_AGENT_VIEWS,
    VIEWS,
    Player,
    begun,
    digest,
    fingerprints,
    frozen,
    short_of,
    story,
    story_options,
)
from requirements import TEST_FOLDERS

import iglu_marl
from iglu_marl import GameConfig, Pose, Task, env, parallel_env, raw_env
from iglu_marl.core.controls import CONTROLS
from iglu_marl.envs.parallel import ParallelGame
from iglu_marl.envs.wrappers import align, discretize, flatten, mask, noise
from iglu_marl.game.config import COMPUTED_SIGHTS
from iglu_marl.tasks import BundledTasks, RandomTasks

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of PettingZoo's own examples
    from pettingzoo.test import (
        api_test,
        parallel_api_test,
        parallel_seed_test,
        render_test,
        seed_test,
        state_test,
    )

# What PettingZoo's tests say about every environment whose observations are dicts, and that they pass an
# option which no environment knows.
GENERIC = (
    "ignore:Observation is not a NumPy array",
    "ignore:Observations are different shapes",
    "ignore:(Observation|Action) space for each agent probably should be",
    "ignore:Agents have different observation space sizes",
    "ignore:unknown reset option 'options'",
)


def generic(test: Any) -> Any:
    for message in GENERIC:
        test = pytest.mark.filterwarnings(message)(test)
    return test


# ------------------------------------------------------------------------------------ PettingZoo's own

PLAIN = ("inventory", "compass", "dialog", "pose", "grid")
TEAM_SIZES = ((1, 1), (1, 2), (2, 1), (2, 2), (0, 2), (4, 3))
WRAPPERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "flattened": (lambda game: flatten(discretize(game)), {"builder_can_ask": True}),
    "aligned": (lambda game: align(discretize(game)), {"builder_can_ask": True}),
    "masked": (lambda game: mask(align(discretize(game), actions="discrete")), {}),
    "noisy": (lambda game: noise(game, drop=0.5, replace=0.5), {}),
}


def team_of(architects: int, builders: int) -> dict[str, Any]:
    """The options of a team whose architects see parts of the target."""
    sides = ("side:north", "half:east", "layers:0-2", "color:red")
    sees = {f"architect_{k}": sides[k % 4] for k in range(architects)} | {"builder_0": "all"}
    heard = {"hearers": {"architect_0": "builder_0"}} if architects else {}
    own = {"architects": architects, "builders": builders, "sees": sees, **heard}
    return {**own, "inventories": {"builder_0": {"red": 5}}, "builder_sees": PLAIN}


def games() -> Iterator[Any]:
    """Yield options of games, how they are wrapped, and what they are called."""
    chats = [
        *(("text", controls, False) for controls in CONTROLS),
        *(("templates", controls, True) for controls in CONTROLS),
        ("text", "walking", True),
        ("symbols", "flying", False),
    ]
    for chat, controls, asks in chats:
        options = {**CHATS[chat], "controls": controls, "builder_can_ask": asks}
        yield pytest.param(options, None, id=f"{chat} {controls} {asks}", marks=pytest.mark.slow)
    for size in TEAM_SIZES:
        asks = size[1] % 2 == 0 and size[0] > 0
        chat = {"chat": ("text", "tokens")[size[0] % 2], "builder_can_ask": asks}
        yield pytest.param({**team_of(*size), **chat}, None, id=str(size))
        for name, (wrap, more) in WRAPPERS.items():
            speaks = SYMBOLS if size[0] or more else {"chat": "tokens"}
            if name != "noisy" or size[0]:
                options = {**team_of(*size), **speaks, "controls": "continuous", **more}
                yield pytest.param(options, wrap, id=f"{size} {name}")


@generic
@pytest.mark.parametrize(("options", "wrap"), [*games()])
def test_pettingzoo(options: dict[str, Any], wrap: Any, capsys: pytest.CaptureFixture[str]) -> None:
    own = wrap or (lambda game: game)
    config = GameConfig(**{**SHORT, **options})
    api_test(own(env(config)), num_cycles=20)
    seed_test(lambda: own(raw_env(config)), num_cycles=10)
    parallel_api_test(own(parallel_env(config)), num_cycles=20)
    parallel_seed_test(lambda: own(parallel_env(config)), num_cycles=10)
    if wrap is None:
        api_test(raw_env(config), num_cycles=5)
        state_test(env(config), parallel_env(config), num_cycles=5)
        render_test(lambda render_mode: env(config, render_mode=render_mode))
    assert "Passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "make", [env, raw_env, parallel_env, *map(VIEWS.get, IDS)], ids=[*TWO_AGENT_VIEWS, *IDS]
)
def test_metadata(make: Any) -> None:
    metadata = make().metadata
    assert set(metadata["render_modes"]) == {"human", "rgb_array", "ansi"}
    assert metadata["render_fps"] > 0
    if make in (env, raw_env, parallel_env):
        assert metadata["name"] == "architect_builder_v0"


def test_conversion_to_parallel() -> None:
    """PettingZoo's own needs agents that step in a cycle, and is told when they do not."""
    config = GameConfig(**{**SHORT, "turn_steps": 1})
    converted, native = aec_to_parallel(raw_env(config)), parallel_env(config)
    assert frozen(converted.reset(seed=3)[0]) == frozen(native.reset(seed=3)[0])
    for action in (1, 5, 17, 18):
        actions = {"architect_0": "go", "builder_0": action}
        seen, expected = converted.step(actions), native.step(actions)
        assert frozen(seen[0]["builder_0"]) == frozen(expected[0]["builder_0"])
        assert frozen(seen[1:4]) == frozen(expected[1:4])
    with pytest.raises(AssertionError, match=r"[Pp]arallel"):
        aec_to_parallel(raw_env(turn_steps=2))


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="this PettingZoo has no make")
@generic
def test_pettingzoo_make() -> None:
    aec = pettingzoo.make("aec", "iglu_marl/architect_builder-v0", turn_steps=2)
    parallel = pettingzoo.make("parallel", "iglu_marl/architect_builder-v0", controls="flying")
    api_test(aec, num_cycles=10)
    parallel_api_test(parallel, num_cycles=10)
    assert aec.unwrapped.config.turn_steps == 2
    assert isinstance(aec, OrderEnforcingWrapper)
    assert isinstance(parallel, ParallelGame)
    with pytest.raises(iglu_marl.ConfigError, match="unknown option 'max_cycles'"):
        pettingzoo.make("parallel", "iglu_marl/architect_builder-v0", max_cycles=5)
    assert parallel.unwrapped.config.controls == "flying"


# ------------------------------------------------------------------------------------- Gymnasium's own

VARIANTS: list[dict[str, Any]] = [
    {},
    *({"action_space": name} for name in CONTROLS),
    {"select_and_place": True},
    {"chat": "tokens"},
    {"chat": "tokens", "vocabulary": 5, "dialog_length": 40},
    {"completion": "cover", "shifts": "inside", "size_reward": True, "step_cost": 0.5},
]
GRIDWORLD_VARIANTS: list[dict[str, Any]] = [
    {"vector_state": True},
    {"target_in_obs": True},
    {"vector_state": True, "target_in_obs": True, "action_space": "flying"},
    {"discretize": False},
    {"compat": "iglu2022", "vector_state": True, "target_in_obs": True},
    {"compat": "iglu2022", "discretize": False},
    {"render": False},
    {"render": True, "render_size": (32, 48)},
    {"builder_sees": COMPUTED_SIGHTS, "target_egocentric": True},
    {
        "builder_sees": COMPUTED_SIGHTS,
        "egocentric_radius": 12,
        "compat": "iglu2022",
        "action_space": "flying",
    },
]
SILENT_VARIANTS: list[dict[str, Any]] = [
    {"compat": "iglu2021", **({"action_space": name} if name else {})} for name in (None, *CONTROLS)
]


@pytest.mark.filterwarnings(
    "ignore:.*For Box action spaces, we recommend using a symmetric and normalized space"
)
@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name in IDS for options in VARIANTS]
    + [(name, options) for name in IDS[:2] for options in GRIDWORLD_VARIANTS]
    + [(name, options) for name in IDS[2:4] for options in SILENT_VARIANTS],
    ids=str,
)
def test_gymnasium(name: str, options: dict[str, Any]) -> None:
    check_env(gym.make(name, **options))


# ------------------------------------------------------------------------------------------------ seeds


@pytest.mark.parametrize("view", ALL_VIEWS)
def test_the_same_seed_gives_the_same_episode(view: str) -> None:
    """Whatever was played before, a seeded reset leads to the same story, resets without a seed included."""
    fresh = begun(view, 0, **story_options(view))  # 0 is a seed
    expected = Player(fresh, 8).moves(fresh, 120)
    assert len({digest(frozen(shown)) for shown in expected}) > 50  # something happens
    used = begun(view, 77, **story_options(view))
    assert Player(used, 8).moves(used, 120) != expected
    for moves in (1, 2, 3, 4, 50):  # in the middle of a turn, and of an episode
        Player(used, 9).moves(used, moves)
        used.reset(seed=0)
        assert Player(used, 8).moves(used, 120) == expected


@pytest.mark.parametrize("view", IDS)
def test_the_seed_of_the_last_reset_is_known(view: str) -> None:
    """Gymnasium's `np_random_seed`: that of the last reset with a seed."""
    game = VIEWS[view](**story_options(view)).unwrapped
    for seed, expected in ((7, 7), (None, 7), (0, 0)):
        game.reset(seed=seed)
        assert game.np_random_seed == expected


@pytest.mark.parametrize("view", VIEWS)
def test_global_generators_are_left_alone(view: str) -> None:
    stories = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002 (shows that they are not used)
        random.seed(seed)
        before = frozen([*np.random.get_state()]), random.getstate()  # noqa: NPY002
        stories.append(story(view, 4, 60, **story_options(view)))
        assert (frozen([*np.random.get_state()]), random.getstate()) == before  # noqa: NPY002
    assert stories[0] == stories[1]


@pytest.mark.slow
def test_same_story_in_another_process() -> None:
    count = 220
    code = f"import json, probing; print(json.dumps(probing.fingerprints({count})))"
    paths = os.pathsep.join([TEST_FOLDERS, *filter(None, [os.environ.get("PYTHONPATH")])])
    for hash_seed in ("1", "424242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert json.loads(done.stdout) == fingerprints(count)


# ------------------------------------------------------------------------------- copies and saved states


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 (our own bytes)


SOURCES: dict[str, Any] = {
    "default": lambda: None,
    "random": lambda: RandomTasks(max_blocks=3, num_colors=3),
    "stock": lambda: RandomTasks(max_blocks=3, max_cache=4),
    "progressive": lambda: BundledTasks(progressive=True),
}


# Each view, and each source in a view of two agents, of one, and in turns.
VIEWS_AND_SOURCES = pytest.mark.parametrize(
    ("view", "source"),
    [
        *((view, "default") for view in ALL_VIEWS),
        *((view, source) for source in SOURCES if source != "default" for view in ("parallel_env", IDS[1])),
        ("raw_env", "progressive"),
    ],
)


@pytest.mark.slow
@VIEWS_AND_SOURCES
def test_copies_and_saved_states_continue_identically(view: str, source: str) -> None:
    """In the game itself, in copies of it, and in others that were used or not."""
    options = story_options(view) | ({} if source == "default" else {"tasks": SOURCES[source]()})
    original = begun(view, 21, **options)
    player = Player(original, 5)
    for moves in (0, 2, 43):  # at the start, in the middle of a turn, after resets
        player.moves(original, moves)
        state = original.unwrapped.get_state()
        others = [copy.deepcopy(original), pickled(original)]
        unused = ALL_VIEWS[view](**options)
        for game in (begun(view, 99, **options), unused if view == "wrapped" else unused.unwrapped):
            game.unwrapped.set_state(pickled(state))
            others.append(game)
        ahead = copy.deepcopy(player).moves(original, 70)
        for game in others:
            assert copy.deepcopy(player).moves(game, 70) == ahead
        for _ in range(2):
            original.unwrapped.set_state(state)
            assert copy.deepcopy(player).moves(original, 70) == ahead
        original.unwrapped.set_state(state)


@pytest.mark.parametrize("view", VIEWS)
def test_a_state_of_any_moment_is_put_back(view: str) -> None:
    """Also between the last moves of an AEC game, when one of its agents is gone."""
    game = begun(view, 22, **{**story_options(view), "max_steps": 2})
    player = Player(game, 6)
    for _ in range(20):
        game.unwrapped.set_state(game.unwrapped.get_state())
        player.move(game)


@pytest.mark.parametrize("view", ALL_VIEWS)
def test_a_saved_state_shares_nothing(view: str) -> None:
    game = begun(view, 23, **story_options(view))
    player = Player(game, 2)
    player.moves(game, 5)
    state = game.unwrapped.get_state()
    image = pickle.dumps(state)
    player.moves(game, 60)
    assert pickle.dumps(state) == image
    game.unwrapped.set_state(state)
    player.moves(game, 60)
    assert pickle.dumps(state) == image


def test_a_copy_of_an_unused_environment() -> None:
    for view, make in ALL_VIEWS.items():
        twin = pickled(make(**story_options(view)))
        shown = [frozen(twin.reset(seed=2)), *Player(twin, 2).moves(twin, 30)]
        assert shown == story(view, 2, 30, **story_options(view)), view


# ------------------------------------------------------------------------------------- spaces and memory


def arrays(value: Any) -> list[np.ndarray]:
    """The arrays in nested observations."""
    if isinstance(value, np.ndarray):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [array for part in parts for array in arrays(part)]


def scribble(value: Any) -> None:
    """Overwrite everything in nested observations and infos."""
    if isinstance(value, np.ndarray):
        value[...] = 77
    elif isinstance(value, dict):
        for part in value.values():
            scribble(part)
        value.clear()


def everything_shown(game: Any) -> list[Any]:
    """What an environment hands out, without a move."""
    if isinstance(game, gym.Env):
        return list(game.reset())
    if hasattr(game, "agent_iter"):
        game.reset()
        return [game.last(), *(game.observe(agent) for agent in game.agents), game.state()]
    return [*game.reset(), game.state()]


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("view", VIEWS)
def test_what_is_shown_shares_no_memory(view: str, chat: str) -> None:
    options = {**story_options(view), **CHATS[chat]}
    scribbled, clean = (begun(view, 13, **options) for _ in range(2))
    one, two = Player(scribbled, 3), Player(clean, 3)
    worlds = scribbled.unwrapped.episode.worlds.state
    for _ in range(6):
        shown = everything_shown(scribbled)
        everything_shown(clean)
        found = arrays(shown)
        assert found
        assert all(array.flags.writeable for array in found)
        assert not any(np.shares_memory(array, worlds) for array in found)
        assert not any(np.shares_memory(a, b) for i, a in enumerate(found) for b in found[:i])
        for part in shown:
            scribble(list(part) if isinstance(part, tuple) else part)
            for inner in part if isinstance(part, tuple) else ():
                scribble(inner)
        assert one.moves(scribbled, 1)[0][1:] is not None
        two.moves(clean, 1)
        assert one.moves(scribbled, 12) == two.moves(clean, 12)


CORNERS = [(8, 12, 8, 360, 90), (-8, 12, -8, 0, -90), (0, 12, 0, 180, 0), (5.5, 9.99, -5.5, 45, 12)]
LOW = [(8, -3, 8, 360, 90), (0, -3, 0, 0, -90), (-8, -3, 0, 90, 90), (0.5, -2.5, 0.5, 0, 0)]
WAIST_DEEP = [(8, -1.25, -8, 360, 90), (0, -1.25, 0, 0, -90)]


@pytest.mark.slow
@pytest.mark.parametrize("controls", CONTROLS)
def test_every_observation_lies_in_its_space(controls: str) -> None:
    """From the corners of what one may start from, held in one direction until something stops it."""
    options = {"action_space": controls, "vector_state": True, "target_in_obs": True, "max_steps": None}
    game = gym.make("IGLUGridworld-v0", **options, tasks=RandomTasks(max_blocks=4), render_size=(2, 2))
    rng = np.random.default_rng(1)
    game.action_space.seed(1)
    seen = []
    for pose in [*CORNERS, *(LOW if controls in ("flying", "continuous") else WAIST_DEEP)]:
        observation, _ = game.reset(seed=4, options={"pose": pose})
        np.testing.assert_array_equal(observation["agentPos"], np.float32(pose)[[0, 1, 2, 4, 3]])
        assert game.observation_space.contains(observation)
        for _ in range(25):
            action = game.action_space.sample()
            for _ in range(rng.integers(1, 40)):
                observation, _, terminated, _, _ = game.step(action)
                assert game.observation_space.contains(observation), observation
                seen.append(observation["agentPos"])
                if terminated:
                    game.reset(options={"pose": pose})
    lowest, highest = np.min(seen, axis=0), np.max(seen, axis=0)
    assert highest[1] > 8 or controls == "discrete"  # falls land at once
    assert lowest[3] == -90
    assert highest[3] == 90
    if controls == "flying":
        assert lowest[1] < -2  # under the ground


@pytest.mark.parametrize("controls", ["walking", "human-level"])
def test_jumping_from_the_highest_start(controls: str) -> None:
    options: dict[str, Any] = {"action_space": controls, "max_steps": None, "tasks": RandomTasks()}
    game = gym.make("IGLUGridworldVector-v0", **options)
    game.reset(seed=0, options={"pose": (0, 12, 0, 0, 0)})
    jump = 5
    if controls == "human-level":
        jump = dict.fromkeys(game.action_space.spaces, 0) | {"jump": 1, "camera": np.zeros(2, np.float32)}
    highest = 12.0
    for _ in range(60):
        observation = game.step(jump)[0]
        assert game.observation_space.contains(observation)
        highest = max(highest, float(observation["agentPos"][1]))
    assert highest > 12.9


def test_state_is_in_comparable_scales() -> None:
    many = [(x, y, z, 1) for x in range(-5, 6) for z in range(-5, 6) for y in range(4)]  # 484 of 20 blue ones
    task = Task("", [(0, -1, 0, 6)], starting_grid=many, pose=Pose(4, 6.625, -8, 90, -45))
    options: dict[str, Any] = {"chat": "tokens", "dialog_length": 5, "vocabulary": 3, "tasks": task}
    turns = raw_env(turn_steps=4, max_steps=10, max_turns=None, builder_can_ask=True, **options)
    turns.reset(seed=0)
    turns.step(np.array([3] * 2 + [0] * 14))
    turns.step({"act": 0, "say": np.zeros(16, int)})
    state = turns.state()
    assert state.shape == turns.unwrapped.state_space.shape == (2200,)
    assert (np.abs(state) <= 1).all()
    eye = turns.unwrapped.episode.worlds.pose[0]
    expected = [0.5, eye[1] / 13.25, -1, -0.5, 0.25]
    np.testing.assert_allclose(state[:5], expected, rtol=1e-6)
    assert state[6:12].tolist() == [-1, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(state[12:17], [1 / 6, 1, 0.1, 1 / 101, 0.25], rtol=1e-6)
    grids = state[17:2195].reshape(2, 9, 11, 11)
    assert set(np.unique(grids[1]).tolist()) == {0, 1}
    assert np.count_nonzero(grids[0]) == len(many)
    np.testing.assert_allclose(state[2195:], [0.8, 0.6, 0.6, 0, 0], rtol=1e-6)  # a mark and two words


# ------------------------------------------------------------------------------------------ reset options


@pytest.mark.parametrize("view", VIEWS)
def test_unknown_reset_options_warn(view: str) -> None:
    game = VIEWS[view]()
    with pytest.warns(UserWarning, match="'taks'"):
        game.reset(seed=1, options={"taks": 3})
    assert Player(game, 1).moves(game, 3)


@pytest.mark.parametrize("view", VIEWS)
def test_reset_to_a_task_and_a_pose(view: str) -> None:
    task = Task("<Architect> a red one", [(2, -1, 3, 6)], starting_grid=[(0, -1, 0, 1), (1, -1, 0, 2)])
    game = VIEWS[view]()
    for _ in range(2):
        game.reset(seed=3, options={"task": task, "pose": Pose(1.5, 3, -2, 90, -30)})
        worlds = game.unwrapped.episode.worlds
        assert game.unwrapped.task == task
        np.testing.assert_array_equal(worlds.grid[0], task.start_grid)
        np.testing.assert_array_equal(worlds.target[0], task.target_grid)
        assert worlds.pose[0].tolist() == [1.5, 3, -2, 90, -30]
        assert worlds.inventory[0].tolist() == [19, 19, 20, 20, 20, 20]
        Player(game, 1).moves(game, 5)
    game.reset(seed=3)
    assert game.unwrapped.episode.worlds.pose[0].tolist() == [0] * 5  # the options held for one episode


def test_the_first_observation_has_the_true_pose() -> None:
    task = Task("", [(0, -1, 0, 1)])
    game = gym.make("IGLUGridworldVector-v0")
    observation, _ = game.reset(options={"task": task, "pose": (1, 2, 3, 270, -15)})
    np.testing.assert_array_equal(observation["agentPos"], np.float32([1, 2, 3, -15, 270]))
    np.testing.assert_array_equal(observation["compass"], np.float32([-90]))


@pytest.mark.parametrize("view", TWO_AGENT_VIEWS)
def test_one_config_or_its_fields(view: str) -> None:
    options = {**short_of(view), "controls": "flying", "builder_can_ask": True}
    config = GameConfig(**options)
    by_config, by_fields = VIEWS[view](config), VIEWS[view](**options)
    by_config.reset(seed=1)
    by_fields.reset(seed=1)
    assert Player(by_config, 1).moves(by_config, 50) == Player(by_fields, 1).moves(by_fields, 50)
    assert VIEWS[view](config, max_steps=7).unwrapped.config.max_steps == 7
