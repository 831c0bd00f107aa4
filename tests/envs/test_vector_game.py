"""`VectorGame`: game by game it is `parallel_env` of this pair or team, whatever their number."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from probing import frozen

from iglu_marl import ActionError, AgentError, ConfigError, Schedule, StateError, Subtasks, parallel_env
from iglu_marl.core.controls import CONTROLS
from iglu_marl.envs import VectorGame
from iglu_marl.language import TemplateCodec
from iglu_marl.language.goals import GoalSpace, GoalTasks
from iglu_marl.tasks import BundledTasks, RandomTasks, SpawnPoses

ARCHITECT, BUILDER = AGENTS = ("architect_0", "builder_0")
FEW = RandomTasks(max_blocks=2, max_dist=3, num_colors=2, max_cache=12)
PLAIN = ("inventory", "compass", "dialog", "pose", "grid")
SMALL: dict[str, Any] = {
    "tasks": FEW,
    "max_steps": 11,
    "max_message_length": 4,
    "dialog_length": 18,
    "builder_sees": ("pov", *PLAIN),
}
# Acts of a walking builder that mostly uses its hands, and poses that reach a cell in common.
EDITING = np.repeat(range(19), (1, 3, 3, 3, 3, 1, *[1] * 6, 6, 6, 2, 4, 20, 30, 1))
POSES = [(0.0, 0.0, 1.0, 0.0, -60.0), (0.0, 0.0, -3.0, 180.0, -60.0), (2.0, 0.0, 2.0, 300.0, -50.0)]
NO_WORDS: dict[str, Any] = {"architects": 0, "max_message_length": None, "dialog_length": None}
TEAM: dict[str, Any] = {
    "architects": 2, "builders": 3, "builder_can_ask": True, "message_cost": 0.1, "rewards": "own",
    "sees": {"architect_0": ("half:north", "side:west"), "builder_1": "color:red"},
    "hearers": {"architect_0": "architect_1", "builder_0": ()},
    "inventories": {"builder_0": {"blue": 3}}, "builder_sees": PLAIN, "max_steps": 40,
}  # fmt: skip


def small(**options: Any) -> dict[str, Any]:
    """`SMALL` with other options (None: left out), and with small pictures if there are any."""
    chosen = {
        name: value for name, value in {**SMALL, **options}.items() if value is not None or name not in SMALL
    }
    return {"pov_size": (12, 16), **chosen} if "pov" in chosen["builder_sees"] else chosen


def make(count: int = 4, **options: Any) -> VectorGame:
    return VectorGame(count, **small(**options))


def sampled(games: VectorGame, rng: np.random.Generator, moves: Any = None) -> dict[str, Any]:
    """Random actions of all games, and much silence. moves: what builders do."""
    actions = {agent: games.batched_action_space(agent).sample() for agent in games.possible_agents}
    for agent, action in actions.items():
        asks = isinstance(action, dict) and "say" in action
        if agent.startswith("architect") or asks:
            said = action["say"] if asks else action
            said[rng.random(said.shape) < 0.4] = 0
            said[rng.random(len(said)) < 0.5] = 0
        if agent.startswith("builder") and moves is not None:
            acts = rng.choice(moves, games.num_games)
            actions[agent] = {**action, "act": acts} if asks else acts
    return actions


def row(values: Any, game: int) -> Any:
    """Of the values of all games, in dicts or not, those of one."""
    return (
        {key: row(part, game) for key, part in values.items()} if isinstance(values, dict) else values[game]
    )


def same(one: Any, other: Any, where: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            same(one[key], other[key], f"{where} {key}")
    else:
        assert np.array_equal(one, other), where


def compare(
    games: VectorGame, steps: int, pose: Any = None, moves: Any = None, **options: Any
) -> tuple[int, int]:
    """Play all games in `VectorGame` and each in a `parallel_env`; return how many ended, and edits."""
    options = small(chat="tokens", **options)
    again = options.pop("autoreset_mode", "NextStep") == "SameStep"
    options.pop("num_threads", None)
    singles = [parallel_env(**options) for _ in range(games.num_games)]
    given = {} if pose is None else {"pose": pose}
    seen, infos = games.reset(5, given)
    shown = [one.reset(5 + number, given) for number, one in enumerate(singles)]
    for number, agent in enumerate(games.possible_agents):
        games.batched_action_space(agent).seed(number)
    rng = np.random.default_rng(5)
    ended = edits = 0
    for _ in range(steps):
        for number, one in enumerate(singles):
            for agent in games.possible_agents:
                same(row(seen[agent], number), shown[number][0][agent], agent)
                info = {key: value for key, value in infos[agent].items() if "final" not in key}
                same(row(info, number), shown[number][1][agent], agent)
            if one.agents:
                same(games.state()[number], one.state())
        actions = sampled(games, rng, moves)
        seen, rewards, ends, stops, infos = games.step(actions)
        for agent in games.possible_agents:
            assert games.batched_observation_space(agent).contains(seen[agent])
        for number, one in enumerate(singles):
            if not one.agents:
                shown[number] = one.reset()
                assert not any(part[agent][number] for part in (rewards, ends, stops) for agent in rewards)
                continue
            mine = {agent: row(actions[agent], number) for agent in games.possible_agents}
            observed, *results, info = one.step(mine)
            for agent in results[0]:
                expected = [part[agent] for part in results]
                assert [part[agent][number] for part in (rewards, ends, stops)] == pytest.approx(expected)
            edits += int((one.episode.worlds.event == 1).any())
            ended += not one.agents
            shown[number] = one.reset() if again and not one.agents else (observed, info)
    return ended, edits


@pytest.mark.parametrize("can_ask", [False, True])
@pytest.mark.parametrize("controls", CONTROLS)
def test_is_parallel_games_side_by_side(controls: str, can_ask: bool) -> None:
    options = {"controls": controls, "builder_can_ask": can_ask, "message_cost": 0.125}
    assert compare(make(**options), 40, **options)[0] >= 8


OPTIONS: dict[str, dict[str, Any]] = {
    "symbols": {"vocabulary": 7, "dialog_length": 3, "builder_can_ask": True},
    "short": {"vocabulary": 3, "dialog_length": 1},
    "builder": {"rewards": "builder", "message_cost": 0.5, "step_cost": 0.1},
    "turns": {
        "max_turns": 6, "max_steps": None, "builder_sees": ("inventory",),
        "architect_sees": ("dialog",),
    },
    "bundled": {"tasks": BundledTasks(mode="structures"), "size_reward": True, "completion": "cover"},
    "completion": {"completion_reward": 10, "rewards": "builder"},
    "threads": {"num_threads": 3},
    "schedule": {"wrong_scale": Schedule(((0, 0), (3, 3)), "episodes"), "controls": "human-level"},
    "poses": {"tasks": SpawnPoses(FEW, y=(0, 3)), "builder_sees": ("pose", "compass")},
    "sights": {"builder_sees": ("aim", "egocentric"), "controls": "flying"},
    "near": {"builder_sees": ("egocentric", "dialog"), "egocentric_radius": 1},
    "cells": {"controls": "cells-in-reach", "shaping": True},
    "same step": {"autoreset_mode": "SameStep"},
}  # fmt: skip
TEAMS: dict[str, dict[str, Any]] = {
    "team": TEAM,
    "no architects": {
        **NO_WORDS, "builders": 2, "max_turns": 30, "max_steps": None,
        "builder_sees": (*PLAIN, "aim", "egocentric", "hotbar"),
    },
    "pictures of a team": {
        "builders": 2, "builder_sees": ("pov", "dialog"), "pov_size": (16, 16), "max_steps": 25
    },
}  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options(options: dict[str, Any]) -> None:
    assert compare(make(**options), 40, **options)[0] >= 8


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("options", TEAMS.values(), ids=TEAMS)
def test_teams(options: dict[str, Any], mode: str) -> None:
    options = {**options, "autoreset_mode": mode, "tasks": RandomTasks(max_blocks=4)}
    pose = {f"builder_{number}": POSES[number] for number in range(options["builders"])}
    ended, edits = compare(make(3, **options), 70, pose, EDITING, **options)
    assert ended >= 3
    assert edits > 10


def test_progressive_sessions_continue_turn_by_turn() -> None:
    worlds = [[(0, -1, -1, 1)], [(0, -1, -1, 1), (0, -1, 1, 1)]]
    session = Subtasks(["one", "two"], worlds, progressive=True)
    options = {"tasks": session[0], "max_steps": 150, "completion_reward": 10}
    games = make(8, **options)
    compare(games, 100, (0, -0.25, 0, 0, -35), [17, 13, 13, 0], **options)
    assert any(task == session[1] for task in games.tasks)
    assert compare(games, 30, (0, -0.25, 0, 0, -35), [17, 13, 13, 0], **options)[0] == 0


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


def test_words_are_paid_in_the_step_in_which_they_are_said() -> None:
    """A word costs 0.25; in the step that begins the next episode nobody speaks."""
    team: dict[str, Any] = {"architects": 2, "builders": 2, "builder_sees": PLAIN}
    games = make(1, **team, message_cost=0.25, rewards="own", max_steps=2)
    games.reset(seed=0)
    actions = {agent: np.zeros_like(games.batched_action_space(agent).sample()) for agent in games.agents}
    actions["architect_0"][0, :2] = actions["architect_1"][0, :3] = 5
    for paid in ((-0.5, -0.75), (-0.5, -0.75), (0.0, 0.0)) * 2:
        rewards = games.step(actions)[1]
        assert tuple(rewards[f"architect_{k}"][0] for k in range(2)) == paid
        assert rewards["builder_0"][0] == rewards["builder_1"][0] == 0.0


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"builder_can_ask": True}, marks=pytest.mark.slow),
        {"vocabulary": 5},
        {**TEAM, "max_steps": 20},
    ],
    ids=["asks", "symbols", "team"],
)
def test_states_are_put_back(options: dict[str, Any]) -> None:
    games, fresh = make(**options), make(**options)
    games.reset(3)
    rng = np.random.default_rng(3)
    script = [sampled(games, rng) for _ in range(40)]
    for actions in script[:17]:
        games.step(actions)
    saved = games.get_state()
    stories = []
    for player in (games, games, fresh, copy.deepcopy(games), pickle.loads(pickle.dumps(games))):  # noqa: S301 (our own)
        player.set_state(copy.deepcopy(saved))
        stories.append([frozen((player.step(actions), player.state())) for actions in script[17:]])
    assert all(story == stories[0] for story in stories)
    for wrong in (make(3).get_state(), saved._replace(heard=None) if "builders" in options else None, None):
        with pytest.raises(StateError):
            games.set_state(wrong)


def test_the_agents_share_no_memory() -> None:
    for copies in (True, False):
        games = make(copy=copies)
        seen, _ = games.reset(0)
        after = games.step({agent: games.batched_action_space(agent).sample() for agent in AGENTS})[0]
        assert all(
            np.shares_memory(seen[BUILDER][key], value) != copies for key, value in after[BUILDER].items()
        )
        arrays = [value for part in (seen, after) for agent in AGENTS for value in part[agent].values()]
        assert not copies or not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def test_shape_of_a_pettingzoo_environment() -> None:
    games = make()
    single = parallel_env(**small(chat="tokens"))
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
        ({"turn_steps": 4}, "turn_steps is 4, expected no such option"),
        ({"turns": 4}, "unknown option 'turns'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(**options)


def test_goals_in_words_are_refused() -> None:
    goals = GoalTasks(
        GoalSpace(["There is a blue block."]), scenes=lambda rng: np.zeros((9, 11, 11), np.int8)
    )
    with pytest.raises(ConfigError, match="a goal in words"):
        make(2, builders=2, tasks=goals).reset(seed=0)


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
