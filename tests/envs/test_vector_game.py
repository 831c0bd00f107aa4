"""The batched two-agent game: game by game it is `parallel_env`, whatever their number."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import iglu_marl
from iglu_marl import ActionError, AgentError, ConfigError, StateError, Subtasks, Task
from iglu_marl.core.controls import CONTROLS
from iglu_marl.envs import VectorGame
from iglu_marl.language import TemplateCodec
from iglu_marl.tasks import BundledTasks, RandomTasks, SpawnPoses

ARCHITECT, BUILDER = AGENTS = ("architect_0", "builder_0")
FEW = RandomTasks(max_blocks=2, max_dist=3, num_colors=2, max_cache=12)
SIGHTS = ("pov", "inventory", "compass", "dialog", "pose", "grid")
SMALL: dict[str, Any] = {
    "tasks": FEW,
    "max_steps": 11,
    "max_message_length": 4,
    "dialog_length": 18,
    "builder_sees": SIGHTS,
}


def small(**options: Any) -> dict[str, Any]:
    """`SMALL` with other options, and with small pictures if there are any."""
    chosen = {**SMALL, **options}
    return {"pov_size": (12, 16), **chosen} if "pov" in chosen["builder_sees"] else chosen


def make(count: int = 4, **options: Any) -> VectorGame:
    return VectorGame(count, **small(**options))


def sampled(games: VectorGame, rng: np.random.Generator) -> dict[str, Any]:
    """Random actions of all games; most utterances are silence, some have gaps."""
    actions = {agent: games.batched_action_space(agent).sample() for agent in AGENTS}
    words = [actions[ARCHITECT]]
    if "say" in actions[BUILDER]:
        words.append(actions[BUILDER]["say"])
    for said in words:
        said[rng.random(said.shape) < 0.4] = 0
        said[rng.random(len(said)) < 0.5] = 0
    return actions


def row(values: Any, game: int) -> Any:
    return (
        {key: row(value, game) for key, value in values.items()} if isinstance(values, dict) else values[game]
    )


def compare(
    games: VectorGame, steps: int, seed: int = 5, pose: Any = None, moves: Any = None, **options: Any
) -> int:
    """Play all games in `VectorGame` and each in a `parallel_env`; returns how many ended.

    moves: the builder's actions; any by default.
    """
    options = small(chat="tokens", **options)
    options.pop("num_threads", None)
    singles = [iglu_marl.parallel_env(**options) for _ in range(games.num_games)]
    given = {} if pose is None else {"pose": pose}
    seen, _ = games.reset(seed, given)
    now = [env.reset(seed + i, given)[0] for i, env in enumerate(singles)]
    for agent in AGENTS:
        games.batched_action_space(agent).seed(seed)
    rng = np.random.default_rng(seed)
    ended = 0
    for _ in range(steps):
        for i, env in enumerate(singles):
            for agent in AGENTS:
                expected = now[i][agent]
                assert set(seen[agent]) == set(expected)
                for key, value in expected.items():
                    assert np.array_equal(seen[agent][key][i], value), (agent, key, i)
            if env.agents:
                assert np.array_equal(games.state()[i], env.state())
        actions = sampled(games, rng)
        if moves is not None:
            actions[BUILDER] = rng.choice(moves, games.num_games)
        seen, rewards, ends, stops, infos = games.step(actions)
        for agent in AGENTS:
            assert games.batched_observation_space(agent).contains(seen[agent])
        for i, env in enumerate(singles):
            if not env.agents:
                now[i] = env.reset()[0]
                assert (rewards[ARCHITECT][i], rewards[BUILDER][i], stops[BUILDER][i]) == (0, 0, False)
                continue
            now[i], *results, info = env.step({agent: row(actions[agent], i) for agent in AGENTS})
            for agent in AGENTS:
                assert [part[agent][i] for part in (rewards, ends, stops)] == [
                    part[agent] for part in results
                ]
                assert {key: infos[agent][key][i] for key in infos[agent]} == info[agent]
            ended += not env.agents
    return ended


@pytest.mark.parametrize("can_ask", [False, True])
@pytest.mark.parametrize("controls", CONTROLS)
def test_is_parallel_games_side_by_side(controls: str, can_ask: bool) -> None:
    options = {"controls": controls, "builder_can_ask": can_ask, "message_cost": 0.125}
    assert compare(make(**options), 40, **options) >= 8


@pytest.mark.parametrize(
    "options",
    [
        {"vocabulary": 7, "dialog_length": 3, "builder_can_ask": True},
        {"vocabulary": 3, "dialog_length": 1},
        {"rewards": "builder", "message_cost": 0.5, "step_cost": 0.1},
        {"max_turns": 6, "max_steps": None, "builder_sees": ("inventory",), "architect_sees": ("dialog",)},
        {"tasks": BundledTasks(mode="structures"), "size_reward": True, "completion": "cover"},
        {"completion_reward": 10, "rewards": "builder"},
        {"num_threads": 3},
        {"wrong_scale": iglu_marl.Schedule(((0, 0), (3, 3)), "episodes"), "controls": "human-level"},
        {"tasks": SpawnPoses(FEW, y=(0, 3)), "builder_sees": ("pose", "compass")},
        {"builder_sees": ("aim", "egocentric"), "controls": "flying"},
        {"builder_sees": ("egocentric", "dialog"), "egocentric_radius": 1},
        {"controls": "cells-in-reach", "shaping": True},
    ],
    ids=[
        "symbols",
        "short",
        "builder",
        "turns",
        "bundled",
        "completion",
        "threads",
        "schedule",
        "poses",
        "sights",
        "near",
        "cells",
    ],
)
def test_options(options: dict[str, Any]) -> None:
    assert compare(make(**options), 40, **options) >= 8


def test_progressive_sessions_continue_turn_by_turn() -> None:
    worlds = [[(0, -1, -1, 1)], [(0, -1, -1, 1), (0, -1, 1, 1)]]
    session = Subtasks(["one", "two"], worlds, progressive=True)
    options = {"tasks": session[0], "max_steps": 150, "completion_reward": 10}
    games = make(8, **options)
    compare(games, 100, pose=(0, -0.25, 0, 0, -35), moves=[17, 13, 13, 0], **options)
    assert any(task == session[1] for task in games.tasks)
    assert compare(games, 30, pose=(0, -0.25, 0, 0, -35), moves=[17, 13, 13, 0], **options) == 0


def test_same_step_begins_with_an_empty_dialogue() -> None:
    games = make(2, autoreset_mode="SameStep", max_steps=2, dialog_length=8)
    games.reset(0)
    actions = {ARCHITECT: np.array([[9, 5, 0, 0]] * 2), BUILDER: np.zeros(2, int)}
    mark, lengths = TemplateCodec().size, []
    for _ in range(5):
        shown = games.step(actions)[0][ARCHITECT]["dialog"]
        lengths.append(np.count_nonzero(shown[0]))
        assert shown.tolist() == [[*[mark, 9, 5] * (lengths[-1] // 3), *[0] * (8 - lengths[-1])]] * 2
    assert lengths == [3, 0, 3, 0, 3]


@pytest.mark.parametrize(
    "options", [pytest.param({"builder_can_ask": True}, marks=pytest.mark.slow), {"vocabulary": 5}], ids=str
)
def test_states_are_put_back(options: dict[str, Any]) -> None:
    games = make(**options)
    games.reset(3)
    rng = np.random.default_rng(3)
    script = [sampled(games, rng) for _ in range(40)]
    for actions in script[:7]:
        games.step(actions)
    saved = games.get_state()
    stories = []
    twin = make(**options)
    for player in (games, games, twin, copy.deepcopy(games), pickle.loads(pickle.dumps(games))):  # noqa: S301 (our own)
        player.set_state(copy.deepcopy(saved))
        steps = [player.step(actions) for actions in script[7:]]
        stories.append(
            repr([step[:4] for step in steps])
            + repr([step[0][ARCHITECT]["dialog"].tobytes() for step in steps])
            + repr([step[4][BUILDER].get("floor") for step in steps])
        )
    assert len(set(stories)) == 1
    with pytest.raises(StateError):
        games.set_state(make(3).get_state())
    with pytest.raises(StateError):
        games.set_state(None)  # type: ignore[arg-type]


def test_the_agents_share_no_memory() -> None:
    games = make()
    seen, _ = games.reset(0)
    after = games.step({agent: games.batched_action_space(agent).sample() for agent in AGENTS})[0]
    arrays = [value for part in (seen, after) for agent in AGENTS for value in part[agent].values()]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
    games = make(copy=False)
    seen, _ = games.reset(0)
    after = games.step({agent: games.batched_action_space(agent).sample() for agent in AGENTS})[0]
    assert all(
        after[BUILDER][key] is seen[BUILDER][key] or np.shares_memory(after[BUILDER][key], seen[BUILDER][key])
        for key in seen[BUILDER]
    )


def test_shape_of_a_pettingzoo_environment() -> None:
    games = make()
    single = iglu_marl.parallel_env(**small(chat="tokens"))
    assert games.possible_agents == single.possible_agents
    assert games.agents == []
    games.reset(0)
    assert games.agents == single.possible_agents
    for agent in AGENTS:
        assert games.action_space(agent) == single.action_space(agent)
        assert games.observation_space(agent).keys() == single.observation_space(agent).keys()
        assert games.observation_space(agent) is games.observation_space(agent)
    assert games.state_space == single.state_space
    with pytest.raises(AgentError, match="no agent 'judge'"):
        games.observation_space("judge")
    assert make(render_mode="ansi", tasks=Task("", [(0, -1, 0, 1)])).unwrapped.render_mode == "ansi"


def test_what_was_said_is_rendered() -> None:
    games = make(2, render_mode="ansi", builder_can_ask=True, dialog_length=40)
    games.reset(0)
    codec = TemplateCodec()
    said = np.zeros((2, 4), int)
    said[1, :2] = codec.encode("red block")
    asked = np.zeros((2, 4), int)
    asked[1, 1:3] = codec.encode("which block")
    games.step({ARCHITECT: said, BUILDER: {"act": np.zeros(2, int), "say": asked}})
    first, second = games.render()
    assert "(nothing said yet)" in first
    assert "<Architect> red block\n<Builder> which block" in second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chat": "text"}, "chat is 'text'"),
        ({"architect_sees": ("target_view",)}, "target_view"),
        ({"copy": "no"}, "copy is 'no'"),
        ({"autoreset_mode": 4}, "autoreset_mode is 4"),
        ({"turn_steps": 4}, "turn_steps is 4"),
        ({"turns": 4}, "unknown option 'turns'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(**options)


def test_wrong_actions_are_named_and_change_nothing() -> None:
    games = make(2, builder_can_ask=True)
    silence, act = np.zeros((2, 4), int), np.zeros(2, int)
    good: dict[str, Any] = {ARCHITECT: silence, BUILDER: {"act": act, "say": silence}}
    with pytest.raises(StateError, match="call reset"):
        games.step(good)
    games.reset(0)
    before = games.get_state()
    far = silence.copy()
    far[1, 2] = 10**6
    for wrong, message in (
        ({ARCHITECT: silence}, "actions are for"),
        (None, "actions are for None"),
        ({**good, ARCHITECT: far}, "architect_0 are .* in game 1"),
        ({**good, ARCHITECT: silence[:, :3]}, r"int64\[2, 3\]"),
        ({**good, ARCHITECT: silence / 2}, r"float64\[2, 4\]"),
        ({**good, BUILDER: act}, "keys act and say"),
        ({**good, BUILDER: {"act": act + 19, "say": silence}}, "actions is 19 in world 0"),
        ({**good, BUILDER: {"act": act, "say": -1 - silence}}, "actions\\['say'\\] of builder_0 are"),
    ):
        with pytest.raises(ActionError, match=message):
            games.step(wrong)  # type: ignore[arg-type]
    after = games.get_state()
    assert after.batch.worlds.tobytes() == before.batch.worlds.tobytes()
    assert (after.batch.dialogs == before.batch.dialogs).all()
