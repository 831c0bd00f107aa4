"""All views tell one story: AEC with `turn_steps=1`, parallel, single agent, and bare `Worlds`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probing import LONE_VIEWS, PAIR_VIEWS, driven

from iglu_marl import Controls, Task, Worlds
from iglu_marl.core.controls import CONTROLS
from iglu_marl.core.kernels.records import EpisodeRules
from iglu_marl.game.config import GameConfig
from iglu_marl.tasks import RandomTasks

STEPS = 160
TASK = RandomTasks(max_blocks=8, height_levels=3, max_dist=5, num_colors=6).sample(np.random.default_rng(4))
OPTIONS = {"task": TASK, "pose": (0.0, 2.0, 3.0, 0.0, -30.0)}
SIGHTS = ("pov", "inventory", "compass", "dialog", "pose", "grid", "aim", "egocentric", "hotbar")


class Chatty:
    """An architect that says something in every third turn."""

    def __init__(self) -> None:
        self.turn = 0

    def reset(self, role: Any, seed: int | None) -> None:
        self.turn = 0

    def act(self, observation: Any) -> str:
        self.turn += 1
        return f"turn {self.turn}: place a block" if self.turn % 3 == 1 else ""

    def close(self) -> None:
        pass


def busy_actions(name: str) -> list[Any]:
    """Random actions of the encoding, with many edits."""
    rng = np.random.default_rng(99)
    space = Controls(name).space  # type: ignore[arg-type]
    space.seed(1)
    actions = [space.sample() for _ in range(STEPS)]
    for action in actions:
        if isinstance(action, dict):
            action["camera"] = rng.uniform(-5, 5, 2).astype(np.float32)
            if "attack" in action:
                action["attack"], action["use"] = int(rng.random() < 0.2), int(rng.random() < 0.6)
    return actions


def through_worlds(name: str, actions: list[Any]) -> list[dict[str, Any]]:
    controls = Controls(name)  # type: ignore[arg-type]
    worlds = Worlds(1)
    worlds.spawn(0, TASK, EpisodeRules(max_steps=STEPS), OPTIONS["pose"])
    story = []
    for action in actions:
        worlds.step(controls.encode_batch([action]))
        story.append(
            {
                "state": worlds.seen_pose[0].tolist()
                + worlds.seen_inventory[0].tolist()
                + worlds.seen_compass[0].tolist(),
                "grid": worlds.grid[0].tolist(),
                "reward": worlds.reward[0],
                "end": (bool(worlds.terminated[0]), bool(worlds.truncated[0])),
            }
        )
    return story


def facts(observation: dict[str, Any], reward: float, terminated: bool, truncated: bool) -> dict[str, Any]:
    seen = (observation["agentPos"], observation["inventory"], observation["compass"])
    return {
        "state": [value for part in seen for value in part.tolist()],
        "grid": observation["grid"].tolist(),
        "reward": reward,
        "end": (terminated, truncated),
        "dialog": observation["dialog"],
        "sights": [observation[key].tobytes() for key in ("pov", "aim", "egocentric", "hotbar")],
    }


def through_single(name: str, actions: list[Any]) -> list[dict[str, Any]]:
    env = gym.make(
        "IGLUGridworld-v0",
        action_space=name,
        builder_sees=SIGHTS,
        architect=Chatty(),
        turn_steps=1,
        max_steps=STEPS,
        max_turns=None,
    )
    env.reset(seed=0, options=OPTIONS)
    story = []
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        story.append(facts(observation, reward, terminated, truncated))
    return story


def builder_action(name: str, action: Any, can_ask: bool) -> Any:
    action = action if name == "walking" else {**action, "yield": 0}
    return {"act": action, "say": ""} if can_ask else action


def through_pair(view: str, name: str, actions: list[Any], can_ask: bool) -> list[dict[str, Any]]:
    architect = Chatty()
    options = {"controls": name, "builder_sees": SIGHTS, "builder_can_ask": can_ask, "max_turns": None}
    _, act = driven(view, OPTIONS, says=lambda: architect.act(None), max_steps=STEPS, **options)
    story = []
    for action in actions:
        seen, paid, *ends, _ = act(builder_action(name, action, can_ask))
        assert paid["architect_0"] == paid["builder_0"]
        story.append(facts(seen, paid["builder_0"], *ends))
        if any(ends):
            break
    return story


@pytest.mark.slow
@pytest.mark.parametrize("can_ask", [False, True])
@pytest.mark.parametrize("name", CONTROLS)
def test_one_story(name: str, can_ask: bool) -> None:
    actions = busy_actions(name)
    told = [through_pair(view, name, actions, can_ask) for view in ("aec", "parallel")]
    assert len(told[0]) > 20
    assert told[0] == told[1]
    bare = through_worlds(name, actions)
    assert any(row["reward"] for row in bare), "the script has to edit blocks"
    for row, aec in zip(bare, told[0], strict=False):
        assert {key: aec[key] for key in row} == row
    # A live architect of the single env speaks at its turn's start, so the line after the last step is already there.
    single = through_single(name, actions)
    for row, aec in zip(single, told[0], strict=False):
        assert {**aec, "dialog": ""} == {**row, "dialog": ""}
        assert row["dialog"].startswith(aec["dialog"])


def test_worlds_do_not_depend_on_their_number() -> None:
    actions = busy_actions("walking")
    controls = Controls("walking")
    one, many = Worlds(1), Worlds(5)
    for index in range(5):
        many.spawn(index, TASK, pose=(index - 2, 1, 0, 90 * (index % 4), -40))
    one.spawn(0, TASK, pose=(1, 1, 0, 270, -40))
    for step, action in enumerate(actions):
        one.step(controls.encode_batch([action]))
        others = [actions[(step + 7 * k) % STEPS] for k in range(5)]
        others[3] = action
        many.step(controls.encode_batch(others))
        assert many.state[3].tobytes() == one.state[0].tobytes()


# ---------------------------------------------------------------------------------------------------------- completion

ONE_BLOCK = {"task": Task("", [(0, -1, -2, 6)]), "pose": (0.0, -0.25, 0.0, 0.0, -40.0)}
WRONG_THEN_RIGHT = (6, 17, 16, 11, 17)  # blue: place, break; red: place
VIEWS = ("worlds", *LONE_VIEWS, *PAIR_VIEWS)


def steps_of(view: str, **options: Any) -> tuple[Any, Any]:
    """An environment, reset, and a function that lets the builder act: reward and whether the target is completed."""
    if view == "worlds":
        worlds, controls = Worlds(1), Controls("walking")
        worlds.spawn(0, ONE_BLOCK["task"], GameConfig(**options).rules(), ONE_BLOCK["pose"])

        def act(action: int) -> tuple[Any, Any]:
            worlds.step(controls.encode_batch([action]))
            return worlds.reward[0], worlds.terminated[0]

        return worlds, act
    env, step = driven(view, ONE_BLOCK, **options)

    def act(action: int) -> tuple[Any, Any]:
        _, paid, terminated, *_ = step(action)
        assert len(set(paid.values())) == 1, "both are paid alike"
        return paid["builder_0"], terminated

    return env, act


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    ("options", "rewards"),
    [
        ({}, [0, -1, 1, 0, 2]),
        ({"completion_reward": 10}, [0, -1, 1, 0, 12]),
        ({"completion_reward": 10, "size_reward": True}, [0, 0, 0, 0, 11]),
        ({"completion_reward": 0.5, "step_cost": 0.25}, [-0.25, -1.25, 0.75, -0.25, 2.25]),
        ({"sparse_reward": True}, [0, 0, 0, 0, 1]),
        ({"sparse_reward": True, "step_cost": 0.25}, [-0.25, -0.25, -0.25, -0.25, 0.75]),
    ],
    ids=str,
)
def test_completion_is_paid_alike_everywhere(
    view: str, options: dict[str, Any], rewards: list[float]
) -> None:
    _, act = steps_of(view, **options)
    done = [False] * 4 + [True]
    assert [act(action) for action in WRONG_THEN_RIGHT] == list(zip(rewards, done, strict=True))


@pytest.mark.parametrize("view", VIEWS)
def test_a_saved_state_keeps_what_completion_pays(view: str) -> None:
    env, act = steps_of(view, completion_reward=10)
    for action in WRONG_THEN_RIGHT[:-1]:
        act(action)
    saved = env.get_state()
    assert act(WRONG_THEN_RIGHT[-1]) == (12, True)
    env.set_state(saved)
    assert act(WRONG_THEN_RIGHT[-1]) == (12, True)
    other, act = steps_of(view)  # what a state pays is its own, as with the other scales
    other.set_state(saved)
    assert act(WRONG_THEN_RIGHT[-1]) == (12, True)
