"""The environments in other people's libraries: Gymnasium's and PettingZoo's wrappers, SB3, TorchRL, SuperSuit.

RLlib and Ray are in test_rllib.py: they need another Gymnasium.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import (
    FlattenObservation,
    FrameStackObservation,
    RecordEpisodeStatistics,
    RecordVideo,
    TimeLimit,
    TransformReward,
)
from gymnasium.wrappers import vector as vector_wrappers
from probing import frozen
from requirements import require

import iglu_marl
from iglu_marl.envs.registration import LANGUAGE_ID
from iglu_marl.envs.wrappers import align, discretize, flatten, mask
from iglu_marl.language.goals import GoalSpace
from iglu_marl.tasks import RandomTasks

pytestmark = pytest.mark.system

TASKS = RandomTasks(max_blocks=3, num_colors=2)
GAME: dict[str, Any] = {
    "tasks": TASKS,
    "chat": "tokens",
    "vocabulary": 7,
    "max_message_length": 1,
    "dialog_length": 4,
    "builder_sees": ("inventory", "dialog", "pose", "grid"),
    "max_steps": 20,
}


def lone(name: str = "IGLUGridworldVector-v0", **options: Any) -> Any:
    more = {"target_in_obs": True} if "Gridworld" in name else {}
    return gym.make(name, **{"tasks": TASKS, "max_steps": 20, **more, **options})


def needs(library: str, reason: str = "the extra 'rl' is not installed") -> None:
    require("rl", importlib.util.find_spec(library) is not None, reason)


def one_thread() -> Any:
    import torch

    torch.set_num_threads(1)
    return torch


# ---------------------------------------------------------------------------------------------------------- Gymnasium

FLAT = {
    "flat": lambda: flatten(lone(), drop=("dialog",)),
    "tokens": lambda: lone(chat="tokens", dialog_length=6),
    "pixels": lambda: lone("IGLUGridworld-v0", chat="tokens", pov_size=(40, 40), dialog_length=6),
    "silent": lambda: discretize(flatten(lone("IGLUSilentBuilder-v0"), drop=("pov", "chat"))),
    "digits": lambda: discretize(flatten(lone(action_space="flying"), drop=("dialog",)), "multidiscrete"),
    "masked": lambda: mask(discretize(flatten(lone(action_space="flying"), drop=("dialog",)))),
}


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("name", FLAT)
def test_gymnasium_checks_wrapped_environments(name: str) -> None:
    check_env(FLAT[name](), skip_render_check=True)


def test_gymnasium_wrappers(tmp_path: Path) -> None:
    films = RecordVideo(
        lone(render_mode="rgb_array", chat="tokens"), str(tmp_path / "films"), episode_trigger=lambda _: True
    )
    env = RecordEpisodeStatistics(TransformReward(TimeLimit(films, 7), lambda reward: reward + 1.0))
    env = FrameStackObservation(FlattenObservation(env), 3)
    plain = lone(chat="tokens")
    observation, _ = env.reset(seed=3)
    first = spaces.flatten(plain.observation_space, plain.reset(seed=3)[0])
    np.testing.assert_array_equal(observation[-1], first)
    total = 0.0
    for step in range(7):
        observation, reward, _, truncated, info = env.step(step)
        _, own, *_ = plain.step(step)
        assert reward == own + 1
        total += float(reward)
    assert truncated
    assert info["episode"]["r"] == total
    assert info["episode"]["l"] == 7
    env.close()
    assert list((tmp_path / "films").glob("*.mp4"))


def test_gymnasium_vector_wrappers() -> None:
    many = gym.make_vec(
        "IGLUGridworldVector-v0", num_envs=3, tasks=TASKS, max_steps=6, chat="tokens", dialog_length=4
    )
    env = vector_wrappers.RecordEpisodeStatistics(flatten(many))
    env = vector_wrappers.NormalizeObservation(vector_wrappers.ClipReward(env, -0.5, 0.5))
    env.reset(seed=0)
    lengths = []
    for step in range(14):
        observations, rewards, *_, infos = env.step(np.full(3, step))
        assert observations.shape == (3, *env.single_observation_space.shape)
        assert np.abs(rewards).max() <= 0.5
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert lengths == [6] * 6


def test_a_spec_makes_the_wrapped_environment_again() -> None:
    env = mask(
        discretize(
            flatten(lone(action_space="flying", chat="tokens", dialog_length=5), words="one-hot"),
            camera_deg=2,
        )
    )
    again = gym.make(env.spec)
    assert str(again) == str(env)
    assert again.observation_space == env.observation_space
    assert frozen(again.reset(seed=2)) == frozen(env.reset(seed=2))
    for action in (1, 5, 17):
        assert frozen(again.step(action)) == frozen(env.step(action))


# ---------------------------------------------------------------------------------------------------------------- SB3


@pytest.mark.filterwarnings("ignore:It seems that your observation (space )?(grid|target_grid) is an image")
@pytest.mark.filterwarnings("ignore:The minimal resolution for an image")  # such as a grid of 9 by 11
@pytest.mark.parametrize("name", FLAT)
def test_sb3(name: str) -> None:
    """Its checker has nothing to say but that a grid might be an image, and PPO learns on it."""
    needs("stable_baselines3")
    one_thread()
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_checker import check_env as check

    env = FLAT[name]()
    check(env)
    if name not in ("digits", "pixels"):  # a vector with digits, and a dict with a picture
        return
    policy = "MlpPolicy" if isinstance(env.observation_space, spaces.Box) else "MultiInputPolicy"
    model = PPO(
        policy, env, n_steps=64, batch_size=64, n_epochs=1, policy_kwargs={"net_arch": [16]}, device="cpu"
    )
    before = [part.clone() for part in model.policy.parameters()]
    model.learn(128)
    assert model.num_timesteps == 128
    assert any((one != two).any() for one, two in zip(before, model.policy.parameters(), strict=True))


@pytest.mark.filterwarnings("ignore:It seems that your observation (space )?grid is an image")
def test_sb3_learns_goals_from_hindsight() -> None:
    """Its buffer puts what was achieved in place of what was desired, and asks what that would have paid."""
    needs("stable_baselines3")
    one_thread()
    from stable_baselines3 import DQN, HerReplayBuffer

    goals = GoalSpace(["There is a red block.", "There is a blue block.", "There are no blocks."])
    env = gym.make(LANGUAGE_ID, goals=goals, scenes="empty", goal_in_obs="multi-hot", max_steps=10)
    policy = {"net_arch": [8]}
    buffer: Any = {"replay_buffer_class": HerReplayBuffer, "replay_buffer_kwargs": {"n_sampled_goal": 4}}
    model = DQN(
        "MultiInputPolicy", env, **buffer, learning_starts=40, seed=0, policy_kwargs=policy, device="cpu"
    )
    model.learn(80)
    drawn = model.replay_buffer.sample(200)
    achieved, desired = (drawn.next_observations["achieved_goal"], drawn.observations["desired_goal"])
    paid = env.unwrapped.compute_reward(achieved.numpy(), desired.numpy())
    assert (drawn.rewards[:, 0].numpy() == paid).all()
    assert paid.any()


def test_sb3_chooses_no_masked_action() -> None:
    needs("sb3_contrib")
    one_thread()
    from sb3_contrib import MaskablePPO

    class Watched(gym.Wrapper):
        chosen: list[int] = []  # noqa: RUF012 (one for all, on purpose)

        def step(self, action: Any) -> Any:
            self.chosen.append(int(self.get_wrapper_attr("action_masks")()[action]))
            return self.env.step(action)

    env = Watched(FLAT["masked"]())
    model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, device="cpu")
    model.learn(128)
    assert set(Watched.chosen) == {1}


# ------------------------------------------------------------------------------------------------------------ TorchRL

TORCHRL = [
    "ignore:PettingZoo in TorchRL is tested using",
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
]


def torchrl_filters(test: Any) -> Any:
    for message in TORCHRL:
        test = pytest.mark.filterwarnings(message)(test)
    return test


@torchrl_filters
@pytest.mark.parametrize("name", ["flat", "tokens", "silent", "digits"])
def test_torchrl_lone_builder(name: str) -> None:
    needs("torchrl")
    one_thread()
    from torchrl.envs.libs.gym import GymWrapper
    from torchrl.envs.utils import check_env_specs

    env = GymWrapper(FLAT[name]())
    check_env_specs(env)
    assert env.rollout(12).batch_size == (12,)


PARALLEL = {
    "flying": lambda: discretize(flatten(iglu_marl.parallel_env(**GAME, controls="flying"))),
    "masked": lambda: mask(align(iglu_marl.parallel_env(**GAME), actions="discrete")),
}


@torchrl_filters
@pytest.mark.parametrize("name", PARALLEL)
def test_torchrl_both_in_every_step(name: str) -> None:
    needs("torchrl")
    one_thread()
    from torchrl.envs import PettingZooWrapper
    from torchrl.envs.utils import check_env_specs

    env = PettingZooWrapper(PARALLEL[name]())
    check_env_specs(env)
    data = env.rollout(50)
    assert data.batch_size == (20,)
    assert env.group_map == {"architect": ["architect_0"], "builder": ["builder_0"]}
    assert data["next", "builder", "done"][-1].all()
    if name == "masked":
        chosen = data["builder", "action_mask"].gather(-1, data["builder", "action"].unsqueeze(-1))
        assert chosen.all(), "random actions keep to the masks"
        assert not data["builder", "action_mask"].all()


TEAMS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "1x1": (None, {}),
    "2x2": (None, {"architects": 2, "builders": 2, "builder_can_ask": True}),
    "1x3": (None, {"builders": 3, "controls": "flying"}),
    "craft": ("craft", {}),
    "assistant": ("assistant", {}),
    "16x16": (None, {"architects": 16, "builders": 16}),
}
TEAM_GAME = {**{name: value for name, value in GAME.items() if name != "tasks"}, "max_steps": 6}


def team_game(make: Any, team: str, **options: Any) -> Any:
    name, own = TEAMS[team]
    return make(name, **{**TEAM_GAME, **own, **options})


@torchrl_filters
@pytest.mark.parametrize("team", TEAMS)
def test_torchrl_plays_teams(team: str) -> None:
    """Groups by role, all in one group, and one for each agent; parallel and in turns."""
    needs("torchrl")
    one_thread()
    from torchrl.envs import PettingZooWrapper
    from torchrl.envs.utils import MarlGroupMapType, check_env_specs

    turns = discretize(team_game(iglu_marl.env, team), "multidiscrete")
    agents = turns.possible_agents
    by_role = {role: [one for one in agents if one.startswith(role)] for role in ("architect", "builder")}
    env = PettingZooWrapper(align(discretize(team_game(iglu_marl.parallel_env, team), "multidiscrete")))
    assert env.group_map == {role: group for role, group in by_role.items() if group}
    check_env_specs(env)
    data = env.rollout(9)
    for group, members in env.group_map.items():
        assert data[group, "observation"].shape[:2] == (len(data), len(members))
    flat = flatten(discretize(team_game(iglu_marl.parallel_env, team), "multidiscrete"))
    alike = team != "assistant"  # where the builders of one group see different things
    env = PettingZooWrapper(flat, group_map=None if alike else MarlGroupMapType.ONE_GROUP_PER_AGENT)
    check_env_specs(env)
    data = env.rollout(9)
    builders = by_role["builder"]
    acted = data["builder", "info", "event"] if alike else data["builder_1", "info", "event"]
    assert acted.shape == (len(data), len(builders) if alike else 1)
    if len(builders) > 1 and by_role["architect"]:
        events = data["next", "architect", "info", "events"]
        assert (events == data["next", "builder", "info", "event"][:, None]).all(), "seen by each architect"
    env = PettingZooWrapper(align(turns), use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)
    check_env_specs(env)
    assert (env.rollout(9)["agents", "mask"].sum(dim=-1) == 1).all(), "one at a time"


# ----------------------------------------------------------------------------------------------------------- SuperSuit


@pytest.mark.parametrize("team", TEAMS)
def test_supersuit_takes_teams(team: str) -> None:
    needs("supersuit")
    import supersuit

    flat = flatten(discretize(team_game(iglu_marl.parallel_env, team)))
    env = supersuit.pad_observations_v0(flat)
    assert len({env.observation_space(agent).shape for agent in env.possible_agents}) == 1
    env.reset(seed=0)
    turns = supersuit.frame_stack_v1(align(discretize(team_game(iglu_marl.env, team))), 2)
    turns.reset(seed=0)
    turns.step(turns.action_space(turns.agent_selection).sample())
    alike = align(discretize(team_game(iglu_marl.parallel_env, team)))
    one = supersuit.pettingzoo_env_to_vec_env_v1(alike)
    many = supersuit.concat_vec_envs_v1(one, 2, base_class="gymnasium")
    observations, _ = many.reset(seed=1)
    agents = len(alike.possible_agents)
    many.action_space.seed(0)
    for _ in range(14):  # beyond the end of episodes
        observations, rewards, *_ = many.step(
            np.stack([many.action_space.sample() for _ in range(2 * agents)])
        )
    assert observations.shape == (2 * agents, *alike.observation_space("builder_0").shape)
    assert observations[:, -agents:].tolist() == np.eye(agents).tolist() * 2
    assert rewards.shape == (2 * agents,)
