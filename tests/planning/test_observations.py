"""Plans and executors read a builder's observation, and what they call built stands in the environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from iglu_marl import IgluMarlError, Pose, Task, Worlds
from iglu_marl.core.actions import Action
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.planning import Executor, plan

FAR_AWAY = Task("", [(5, 7, 5, 1)])
BLUE, RED = 1, 6
EDIT = [(1, -1, -2, BLUE)]
STATE = ("inventory", "compass", "dialog", "pose", "grid")
PLANNED = ("walking", "flying", "discrete", "continuous")


def game(controls: str = "walking", sees: tuple[str, ...] = ("hotbar",)) -> Any:
    return gym.make(
        "IGLUGridworldVector-v0",
        action_space=controls,
        tasks=FAR_AWAY,
        builder_sees=(*STATE, *sees),
        max_steps=None,
    ).unwrapped


def select(env: Any, color: int) -> dict[str, Any]:
    """Have a colour in hand."""
    key = {"flying": "inventory"}.get(env.setup.controls.name, "hotbar")
    space = env.action_space
    action: Any = Action.hotbar(color)
    if isinstance(space, gym.spaces.Dict):
        action = {name: np.zeros(part.shape, part.dtype) for name, part in space.items()} | {key: color}
    seen: dict[str, Any] = env.step(action)[0]
    return seen


def run(env: Any, actions: Any) -> dict[str, Any]:
    """The last observation."""
    seen: dict[str, Any] = {}
    for action in actions:
        seen = env.step(action)[0]
    return seen


@pytest.mark.parametrize("hidden", [("hotbar",), ("hotbar", "inventory"), ()])
@pytest.mark.parametrize("controls", PLANNED)
def test_blue_is_blue_after_red_was_selected(controls: Any, hidden: tuple[str, ...]) -> None:
    env = game(controls)
    env.reset()
    seen = select(env, RED)
    assert seen["hotbar"] == [RED]
    shown = {key: value for key, value in seen.items() if key not in hidden}
    made = plan(shown, EDIT, controls)
    assert made.built, made.reason
    assert grid_to_blocks(run(env, made.actions)["grid"]) == EDIT


@pytest.mark.parametrize("form", ["pair", "observation"])
def test_a_plan_without_the_colour_in_hand_selects_it(form: str) -> None:
    seen, _ = game().reset()
    world = (seen["grid"], Pose()) if form == "pair" else {key: seen[key] for key in ("grid", "agentPos")}
    assert Action.HOTBAR_1 in plan(world, EDIT).actions
    assert Action.HOTBAR_1 not in plan(seen, EDIT).actions, "the hotbar shows it"
    assert plan(seen, EDIT).actions == plan(Worlds(1), EDIT).actions


@pytest.mark.parametrize("controls", PLANNED)
@pytest.mark.parametrize("gaze", [(90.0, 0.0), (215.0, -40.0), (0.0, 65.0), (340.0, 25.0)])
def test_the_gaze_is_read_in_its_order(controls: Any, gaze: tuple[float, float]) -> None:
    env = game(controls)
    seen, _ = env.reset(options={"pose": Pose(2.0, -0.25, 3.0, *gaze)})
    assert Pose.from_observation(seen) == Pose(2.0, -0.25, 3.0, *gaze)
    made = plan(seen, EDIT, controls, "fast")
    assert made.built, made.reason
    assert grid_to_blocks(run(env, made.actions)["grid"]) == EDIT


@pytest.mark.parametrize("before", [1, 6, 11])
def test_who_is_seen_in_the_air_lands_first(before: int) -> None:
    env = game()
    env.reset(options={"pose": Pose(0.0, -0.25, 0.0)})
    seen = run(env, [Action.JUMP] + [Action.NOOP] * before)
    assert seen["agentPos"][1] > -0.2
    made = plan(seen, EDIT, "walking", "fast")
    assert grid_to_blocks(run(env, made.actions)["grid"]) == EDIT


@pytest.mark.parametrize("controls", PLANNED)
@pytest.mark.parametrize("hidden", ["", "hotbar"])
def test_an_executor_reads_observations(controls: Any, hidden: str) -> None:
    """Also in the air, after the hand was changed, and after somebody else has built."""
    env, wanted = game(controls), [(1, -1, -2, BLUE), (1, 0, -2, 3)]
    env.reset(options={"pose": Pose(0.3, 3.0, 1.2, 33.0, 12.0)})
    seen, executor, spoiled = select(env, RED), Executor(wanted, controls, replans=3), False
    for number in range(200):
        action = executor.next_action({key: value for key, value in seen.items() if key != hidden})
        if action is None:
            break
        seen = env.step(action)[0]
        assert hidden or RED not in seen["grid"]
        if not spoiled and (number == 4 if controls != "walking" else action == Action.HOTBAR_1):
            seen, spoiled = select(env, RED), True
        if number == 6:
            env.episode.worlds.grid[0, 3, 3, 3], env.episode.worlds.inventory[0, 0] = 1, 19
    assert executor.plan is not None
    assert executor.plan.built
    assert grid_to_blocks(seen["grid"]) == sorted(wanted)


def test_a_stock_that_shows_zero_may_be_less() -> None:
    """Seven rows of red are one block too many: removing one does not give one to place."""
    row = [(x, -1, z, RED) for x in range(-5, 6) for z in (3, 5)]
    seen, _ = game().reset(options={"task": Task("", [(5, 7, 5, 1)], starting_grid=row)})
    assert seen["inventory"][RED - 1] == 0
    made = plan(seen, [(*row[0][:3], 0), (0, -1, -2, RED)])
    assert made.verdict == "impossible"


def test_ids_of_2021_are_read() -> None:
    env = gym.make("IGLUSilentBuilder-v0", tasks=FAR_AWAY, action_space="discrete").unwrapped
    task = FAR_AWAY.replace(starting_grid=[(0, -1, -3, 6)])
    seen, _ = env.reset(options={"task": task})
    made = plan(seen, EDIT, "discrete")
    assert set(grid_to_blocks(run(env, made.actions)["grid"] + 1)) == {*EDIT, (0, -1, -3, 6)}


# --- what is no observation -------------------------------------------------------------------------------------


def test_a_pose_in_the_order_of_agent_pos_is_refused() -> None:
    seen, _ = game().reset()
    for pose in (seen["agentPos"], tuple(seen["agentPos"]), (0.0, 0.0, 0.0, 0.0, 0.0)):
        with pytest.raises(IgluMarlError, match=r"expected .* Pose.*; agentPos has another order"):
            plan((seen["grid"], pose), EDIT)


OKAY = {
    "grid": np.zeros((9, 11, 11), np.int32),
    "agentPos": np.zeros(5, np.float32),
    "inventory": np.full(6, 20, np.float32),
    "hotbar": np.ones(1, np.int32),
}
WRONG = [
    None, 3, "here", [], {}, [[1], [1, 2]], np.zeros(4), np.zeros((3, 5)), np.full(5, np.nan), [1e300] * 5, ["x"] * 5,
    np.zeros((2, 9, 11, 11)), np.full((9, 11, 11), 7), np.full((9, 11, 11), 0.5), np.zeros(6) - 1, np.zeros(1), [7],
    np.array(None), np.array([{}] * 6), float("inf"), True,
]  # fmt: skip
FITS = {"agentPos": (5,), "inventory": (6,), "hotbar": (1,), "grid": (9, 11, 11)}


@pytest.mark.parametrize("key", OKAY)
@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_wrong_entries_are_errors_of_ours(key: str, wrong: Any) -> None:
    for read in (plan, lambda world, edits: Executor(edits).next_action(world)):
        with pytest.raises(IgluMarlError, match=f"(?s){key}.*(expected|shape)"):
            read({**OKAY, key: wrong}, EDIT)


@pytest.mark.parametrize("key", ["grid", "agentPos"])
def test_missing_entries_are_named(key: str) -> None:
    with pytest.raises(IgluMarlError, match=f"the observation is .*'hotbar'.*, expected a dict with '{key}'"):
        plan({name: value for name, value in OKAY.items() if name != key}, EDIT)
