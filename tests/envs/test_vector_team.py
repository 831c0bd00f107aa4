"""`VectorGame` of teams: game i is the parallel game of this team."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from probing import frozen

from iglu_marl import ConfigError, StateError, parallel_env
from iglu_marl.envs import VectorGame
from iglu_marl.language.goals import GoalSpace, GoalTasks

PLAIN = ("inventory", "compass", "dialog", "pose", "grid")
POSES = [(0.0, 0.0, 1.0, 0.0, -60.0), (0.0, 0.0, -3.0, 180.0, -60.0), (2.0, 0.0, 2.0, 300.0, -50.0)]
WEIGHTS = np.array([1, 3, 3, 3, 3, 1, *[1] * 6, 6, 6, 2, 4, 20, 30, 1], float)


def same(one: Any, other: Any, where: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            same(one[key], other[key], f"{where} {key}")
    else:
        assert np.array_equal(one, other), where


def row(values: Any, game: int) -> Any:
    return (
        {key: row(part, game) for key, part in values.items()} if isinstance(values, dict) else values[game]
    )


def sampled(many: VectorGame, rng: np.random.Generator) -> dict[str, Any]:
    """Return random actions with many edits."""
    actions = {agent: many.batched_action_space(agent).sample() for agent in many.possible_agents}
    for agent in actions:
        if agent.startswith("builder"):
            acts = rng.choice(19, many.num_games, p=WEIGHTS / WEIGHTS.sum())
            if isinstance(actions[agent], dict):
                quiet = rng.random(many.num_games) < 0.8
                actions[agent]["act"] = acts
                actions[agent]["say"][quiet] = 0
            else:
                actions[agent] = acts
    return actions


@pytest.mark.parametrize(
    "options",
    [
        {
            "architects": 2, "builders": 3, "builder_can_ask": True, "message_cost": 0.1, "rewards": "own",
            "sees": {"architect_0": ("half:north", "side:west"), "builder_1": "color:red"},
            "hearers": {"architect_0": "architect_1", "builder_0": ()},
            "inventories": {"builder_0": {"blue": 3}}, "builder_sees": PLAIN, "max_steps": 40,
        },
        {
            "architects": 0, "builders": 2, "max_turns": 30, "max_steps": None,
            "builder_sees": (*PLAIN, "aim", "egocentric", "hotbar"),
        },
        {"architects": 1, "builders": 2, "builder_sees": ("pov", "dialog"), "pov_size": (16, 16), "max_steps": 25},
    ],
    ids=["all options", "no architects", "pictures"],
)  # fmt: skip
def test_each_game_is_a_parallel_game(options: Any) -> None:
    count, rng = 3, np.random.default_rng(1)
    many = VectorGame(count, autoreset_mode="SameStep", **options)
    ones = [parallel_env(chat="tokens", **options) for _ in range(count)]
    poses = dict(zip(("builder_0", "builder_1", "builder_2"), POSES[: options["builders"]], strict=False))
    seen, infos = many.reset(seed=5, options={"pose": poses})
    shown = [one.reset(seed=5 + game, options={"pose": poses}) for game, one in enumerate(ones)]
    for number, agent in enumerate(many.possible_agents):
        many.batched_action_space(agent).seed(number)
    edits = ended = 0
    for _ in range(70):
        for game in range(count):
            for agent in many.possible_agents:
                same(row(seen[agent], game), shown[game][0][agent], agent)
                info = {key: value for key, value in infos[agent].items() if "final" not in key}
                same(row(info, game), shown[game][1][agent], agent)
        same(many.state(), np.stack([one.state() for one in ones]))
        actions = sampled(many, rng)
        seen, rewards, terminated, truncated, infos = many.step(actions)
        shown = []
        for game, one in enumerate(ones):
            mine = {agent: row(actions[agent], game) for agent in many.possible_agents}
            observed, paid, ends, stops, info = one.step(mine)
            for agent in paid:
                assert rewards[agent][game] == pytest.approx(paid[agent])
                assert (terminated[agent][game], truncated[agent][game]) == (ends[agent], stops[agent])
            edits += (one.episode.worlds.event == 1).any()
            if not one.agents:
                ended += 1
                observed, info = one.reset()
            shown.append((observed, info))
    assert edits > 10
    assert ended >= count


def test_words_are_paid_in_the_step_in_which_they_are_said() -> None:
    """Two words cost 2 * 0.25, and three 3 * 0.25; in the step that begins the next episode nobody speaks."""
    many = VectorGame(
        1, architects=2, builders=2, builder_sees=PLAIN, message_cost=0.25, rewards="own", max_steps=2
    )
    many.reset(seed=0)
    actions = {
        agent: np.zeros_like(many.batched_action_space(agent).sample()) for agent in many.possible_agents
    }
    actions["architect_0"][0, :2] = actions["architect_1"][0, :3] = 5
    for paid in ((-0.5, -0.75), (-0.5, -0.75), (0.0, 0.0)) * 2:
        rewards = many.step(actions)[1]
        assert tuple(rewards[f"architect_{k}"][0] for k in range(2)) == paid
        assert rewards["builder_0"][0] == rewards["builder_1"][0] == 0.0


def test_a_team_is_restored() -> None:
    options: Any = {
        "architects": 2, "builders": 2, "builder_can_ask": True, "builder_sees": PLAIN, "max_steps": 20,
        "sees": {"architect_0": "half:west"}, "hearers": {"builder_0": ()},
    }  # fmt: skip
    many, fresh = (VectorGame(4, **options) for _ in range(2))
    many.reset(seed=1, options={"pose": dict(zip(("builder_0", "builder_1"), POSES, strict=False))})
    rng = np.random.default_rng(2)
    for _ in range(30):
        many.step(sampled(many, rng))
    state = many.get_state()
    actions = [sampled(many, rng) for _ in range(30)]
    fresh.set_state(state)
    copied, pickled = copy.deepcopy(many), pickle.loads(pickle.dumps(many))  # noqa: S301 (our own bytes)
    story = [frozen((many.step(each), many.state())) for each in actions]
    for twin in (fresh, copied, pickled):
        assert [frozen((twin.step(each), twin.state())) for each in actions] == story
    with pytest.raises(StateError):
        fresh.set_state(state._replace(heard=None))


def test_what_many_games_of_a_team_do_not_have() -> None:
    with pytest.raises(ConfigError, match="turn_steps is 5, expected no such option"):
        VectorGame(2, builders=2, turn_steps=5)
    goals = GoalTasks(
        GoalSpace(["There is a blue block."]), scenes=lambda rng: np.zeros((9, 11, 11), np.int8)
    )
    with pytest.raises(ConfigError, match="a goal in words"):
        VectorGame(2, builders=2, tasks=goals).reset(seed=0)
