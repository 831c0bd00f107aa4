"""The code examples of the IGLU documentation that need no dataset, in Gymnasium's five-value form.

What changes for a user is the import (`gridworld` becomes `iglu_marl.compat.gridworld`, `iglu` becomes
`iglu_marl.compat.iglu`), `gymnasium` for `gym`, and two values where `reset` and `step` gave one and four.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

import iglu_marl
from iglu_marl import ConfigError, GameConfig, Task
from iglu_marl.compat.gridworld.tasks import DUMMY_TASK
from iglu_marl.tasks import BundledTasks

# ------------------------------------------------------------------------------------ IGLU Gridworld, 2022


def test_the_observation_space() -> None:
    spaces = gym.make("IGLUGridworld-v0").observation_space
    assert sorted(spaces) == ["compass", "dialog", "inventory", "pov"]
    assert spaces["inventory"] == Box(0, 20, (6,), np.float32)
    assert spaces["compass"] == Box(-180, 180, (1,), np.float32)
    assert spaces["pov"] == Box(0, 255, (64, 64, 3), np.uint8)
    assert isinstance(spaces["dialog"], gym.spaces.Text)


@pytest.mark.parametrize("options", [{}, {"render": False}, {"action_space": "flying"}])
def test_vector_state(options: dict[str, Any]) -> None:
    env = gym.make("IGLUGridworld-v0", vector_state=True, **options)
    plain = gym.make("IGLUGridworld-v0", **options)
    assert set(env.observation_space) - set(plain.observation_space) == {"agentPos", "grid"}
    assert env.observation_space["agentPos"].shape == (5,)
    assert env.observation_space["grid"] == Box(-1, 7, (9, 11, 11), np.int32)
    assert ("pov" in env.observation_space.spaces) == options.get("render", True)
    env.set_task(Task("", [(0, -1, 0, 2)], starting_grid=[(2, 3, -4, 6)]))
    obs, _ = env.reset()
    assert obs["grid"][4, 7, 1] == 6
    assert np.count_nonzero(obs["grid"]) == 1
    assert obs["agentPos"].dtype == np.float32


def test_target_in_obs() -> None:
    env = gym.make("IGLUGridworld-v0", target_in_obs=True)
    env.action_space.seed(3)
    assert env.observation_space["target_grid"] == Box(-1, 7, (9, 11, 11), np.int32)
    env.set_task(Task("", [(0, -1, 0, 2), (1, -1, 0, 3)]))
    obs, info = env.reset()
    target = obs["target_grid"]
    assert target[0, 5, 5] == 2
    assert target[0, 6, 5] == 3
    np.testing.assert_array_equal(info["target_grid"], target)
    for _ in range(50):  # fixed within an episode
        np.testing.assert_array_equal(env.step(env.action_space.sample())[0]["target_grid"], target)


def test_the_defaults_and_keywords_of_2022() -> None:
    """A colour that is chosen is placed, an episode has 250 steps, and the reward is the gain in blocks."""
    target = [(0, -1, -1, 2), (1, 3, 1, 4)]
    options = {"compat": "iglu2022", "name": "ours", "fake": False}
    envs = [gym.make(name, **options) for name in ("IGLUGridworld-v0", "IGLUGridworldVector-v0")]
    envs.append(
        gym.make("IGLUGridworldVector-v0", right_placement_scale=5, wrong_placement_scale=3, **options)
    )
    many = gym.make_vec(
        "IGLUGridworldVector-v0", num_envs=1, vectorization_mode="vector_entry_point", **options
    )
    for env in (*envs, many):
        env.unwrapped.set_task(Task("", target, invariant=False))
        env.reset(options={"pose": (0, -0.25, 0, 0, -45)})
        chosen, idle = (np.array([action]) if env is many else action for action in (7, 0))
        assert env.step(chosen)[1] == 1  # green, which is placed: one block of the target
        ends = [env.step(idle)[3] for _ in range(249)]
        assert ends == [False] * 248 + [True]
    env = gym.make(
        "IGLUGridworldVector-v0",
        compat="iglu2022",
        size_reward=False,
        select_and_place=False,
        max_steps=300,
        right_placement_scale=3,
        wrong_placement_scale=0.25,
    )
    env.set_task(Task("", target, invariant=False))
    env.reset(options={"pose": (0, -0.25, 0, 0, -45)})
    assert [env.step(action)[1] for action in (7, 17, 16, 6, 17)] == [0, 3, -3, 0, -0.25]
    config = gym.make("IGLUGridworld-v0", compat="iglu2022", config=GameConfig(max_steps=7)).unwrapped.config
    assert (config.max_steps, config.select_and_place, config.size_reward) == (7, False, False)  # given whole


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"right_placement_scale": 1}, "'right_placement_scale'.*did you mean 'right_scale'"),
        ({"wrong_placement_scale": 1}, "'wrong_placement_scale'.*did you mean 'wrong_scale'"),
        ({"fake": True}, "'fake'.*compat='iglu2022'"),
        ({"name": "x"}, "'name'.*compat='iglu2022'"),
        ({"max_step": 9}, "'max_step'.*did you mean 'max_steps'.*expected one of"),
        ({"teapot": 9}, "'teapot', expected one of"),
        ({"compat": "iglu2022", "max_step": 9}, "'max_step'.*did you mean 'max_steps'"),
        ({"compat": "iglu2022", "right_scale": 1, "right_placement_scale": 1}, "both given, expected one"),
        ({"compat": "iglu1999"}, "compat is 'iglu1999', expected None or one of 'iglu2022'"),
        ({"compat": "iglu2021"}, "compat is 'iglu2021'.*'iglu2021' for the Silent Builder"),
        ({"compat": ["iglu2022"]}, r"compat is \['iglu2022'\], expected None"),
    ],
)
def test_keywords_that_are_not_known(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        gym.make("IGLUGridworld-v0", **options)
    if "compat" not in options:
        with pytest.raises(ConfigError, match=message):
            iglu_marl.raw_env(**options)


@pytest.mark.parametrize("compat", ["iglu2022", None])
def test_the_chat_is_shown_as_it_was_written(compat: Any) -> None:
    """Also in many worlds at once, and when a session goes on."""
    written = "  Bau einen Turm\r\n<architect> und  noch einen \n"
    seen = written if compat else "<Architect> Bau einen Turm\n<Architect> und  noch einen"
    task = Task(written, [(0, -1, -1, 1)])
    many: Any = gym.make_vec(
        "IGLUGridworldVector-v0", num_envs=2, vectorization_mode="vector_entry_point", compat=compat
    )
    one = gym.make("IGLUGridworldVector-v0", compat=compat)
    assert one.reset(options={"task": task})[0]["dialog"] == seen
    assert many.reset(options={"task": task})[0]["dialog"].tolist() == [seen] * 2
    assert one.step(0)[0]["dialog"] == seen
    tokens = gym.make("IGLUGridworldVector-v0", compat=compat, chat="tokens")
    assert tokens.reset(options={"task": task})[0]["dialog"].any()
    short = gym.make("IGLUGridworldVector-v0", compat=compat, dialog_length=20)
    assert len(short.reset(options={"task": task})[0]["dialog"]) <= 20


def test_initialize_world() -> None:
    env = gym.make("IGLUGridworldVector-v0")
    env.set_task(DUMMY_TASK)
    env.initialize_world([(1, -1, 1, 6), (1, 0, 1, 6)], (2, 1.75, 3, 90, -10))
    for _ in range(2):
        obs, _ = env.reset()
        assert np.count_nonzero(obs["grid"]) == 2
        assert obs["grid"][0, 6, 6] == obs["grid"][1, 6, 6] == 6
        assert obs["agentPos"].tolist() == [2, 1.75, 3, -10, 90]
        assert obs["inventory"].tolist() == [20, 20, 20, 20, 20, 18]
    env.set_task(DUMMY_TASK)  # other tasks, another world
    assert not env.reset()[0]["grid"].any()


@pytest.mark.parametrize("ids", [None, "iglu", "iglu2022"])
def test_initialize_world_in_2022_ids(ids: str | None) -> None:
    """There red is 3; whatever table the task is in, the world that is set has the environment's."""
    env = gym.make("IGLUGridworldVector-v0", compat="iglu2022", target_in_obs=True)
    env.set_task(Task("", [(0, -1, 0, 3)], ids=ids))  # green in this project's ids
    env.initialize_world([(1, -1, 1, 3)])
    obs, _ = env.reset()
    assert obs["grid"][0, 6, 6] == 3
    assert env.episode.worlds.grid[0, 0, 6, 6] == 6
    assert obs["target_grid"][0, 5, 5] == (2 if ids == "iglu" else 3)
    assert obs["inventory"].tolist() == [20, 20, 19, 20, 20, 20]


def test_a_window_is_asked_for_by_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gym.make("IGLUGridworld-v0").render_mode is None
    monkeypatch.setenv("IGLU_HEADLESS", "0")
    env = gym.make("IGLUGridworld-v0")
    assert env.render_mode == "human"
    env.reset(seed=1)
    env.step(1)
    env.close()
    assert gym.make("IGLUGridworld-v0", render_mode="ansi").render_mode == "ansi"
    monkeypatch.setenv("IGLU_HEADLESS", "1")
    assert gym.make("IGLUSilentBuilder-v0").render_mode is None


# ------------------------------------------------------------------------------------------- IGLU, 2021


@pytest.mark.parametrize("name", ["IGLUSilentBuilder-v0", "IGLUSilentBuilderVisual-v0"])
def test_silent_builder_observations(name: str) -> None:
    env = gym.make(name)
    spaces = env.observation_space
    keys = {"pov", "inventory", "compass", "chat"}
    assert set(spaces) == (keys if "Visual" in name else keys | {"agentPos", "grid"})
    assert spaces["pov"] == Box(0, 255, (64, 64, 3), np.uint8)
    assert spaces["inventory"] == Box(0, 20, (6,), np.float32)
    assert spaces["compass"] == Dict(angle=Box(-180.0, 180.0, (), np.float32))
    if "Visual" not in name:
        assert spaces["grid"] == Box(-1, 5, (9, 11, 11), np.int32)
    env.set_task(Task("", [(0, -1, 0, 6)], starting_grid=[(1, -1, 0, 2)]))
    obs, info = env.reset(options={"pose": (0, 1, 2, 100, -20)})
    assert obs["compass"]["angle"] == 100
    assert info["target_grid"][0, 5, 5] == 5
    assert info["target_grid"].min() == -1
    if "Visual" not in name:
        assert obs["grid"][0, 6, 5] == 1
        assert obs["agentPos"].tolist() == [0, 1, 2, -20, 100]


@pytest.mark.parametrize("name", ["IGLUSilentBuilder-v0", "IGLUSilentBuilderVisual-v0"])
def test_the_profile_of_2021(name: str) -> None:
    """MineRL's camera, feet instead of eyes, the whole conversation, as it was written."""
    env = gym.make(name, compat="iglu2021")
    obs, info = env.reset(seed=4)
    session = next(
        s for found in BundledTasks().tasks.values() for s in found if s.dialogue.text == obs["chat"]
    )
    assert len(session) > 1  # a whole conversation, and what stood at its end
    np.testing.assert_array_equal(info["target_grid"], session.structures[-1].astype(int) - 1)
    env.set_task(Task("just so", [(0, -1, 0, 6)], starting_grid=[(1, -1, 0, 2)]))
    obs, info = env.reset(options={"pose": (0, -0.25, 2, 100, 0)})
    assert obs["chat"] == "just so"
    assert info["target_grid"].min() == -1
    worlds = env.episode.worlds
    idle = dict.fromkeys(("forward", "back", "left", "right", "jump", "attack", "use", "hotbar"), 0)
    obs = env.step({**idle, "camera": np.array([30, 20], np.float32)})[0]
    assert worlds.pose[0, 3:].tolist() == [120, -30]  # to the right, and down
    if "Visual" not in name:
        assert obs["agentPos"].tolist() == [0, 0, 2, 30, 120]
        assert obs in env.observation_space
        assert env.observation_space["agentPos"].low[1] == -2.75


def test_2021_keeps_to_its_own_environments() -> None:
    with pytest.raises(ConfigError, match="compat is 'iglu2022', expected None or one of 'iglu2021'"):
        gym.make("IGLUSilentBuilder-v0", compat="iglu2022")
    with pytest.raises(ConfigError, match=r"'right_placement_scale'.*did you mean 'right_scale'"):
        gym.make("IGLUSilentBuilder-v0", compat="iglu2021", right_placement_scale=1)
