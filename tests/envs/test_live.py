"""The game in real time: ticks, free speech, what each role is told as JSON, and recordings of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iglu_marl import ActionError, Recorder, Role, StateError, Task, replay
from iglu_marl.core.actions import Action
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.envs import LiveGame
from iglu_marl.recording import read_recording
from iglu_marl.recording.offline import write_minari

GRID = [(0, -1, -2, 6), (1, -1, -2, 1), (1, 0, -2, 2)]
SEES = ("dialog", "inventory", "compass", "pose", "grid")
BUILD = [
    *[Action.LOOK_DOWN] * 9,
    Action.PLACE,
    Action.HOTBAR_3,
    Action.PLACE,
    *[Action.TURN_LEFT] * 6,
    Action.PLACE,
    Action.BREAK,
]


def begun(**options: Any) -> LiveGame:
    game = LiveGame(**{"tasks": Task("", GRID, invariant=False), "builder_sees": SEES, **options})  # type: ignore[arg-type]
    game.reset(seed=0)
    return game


def test_a_tick_without_anything_lets_time_pass() -> None:
    game = begun()
    done = game.tick()
    assert done == ({Role.ARCHITECT: 0.0, Role.BUILDER: 0.0}, None, (), False, False)
    assert game.ticks == game.episode.worlds.steps[0] == 1
    assert game.episode.worlds.turns[0] == 0


def test_speech_is_free_and_keeps_its_order() -> None:
    """Both speak in the tick in which the builder acts: it acts, and only the architect's words are a turn."""
    game = begun()
    for _ in range(9):
        game.tick(act=int(Action.LOOK_DOWN))
    said = {Role.BUILDER: "here?", Role.ARCHITECT: "yes"}
    done = game.tick(said, int(Action.PLACE))
    assert done.edit is not None
    assert [str(each) for each in done.utterances] == ["<Builder> here?", "<Architect> yes"]
    assert game.episode.floor == Role.BUILDER
    assert game.episode.worlds.turns[0] == 1
    game.tick({Role.BUILDER: "  "}, int(Action.YIELD))
    assert len(game.episode.dialogue) == 2
    assert game.episode.floor == Role.ARCHITECT
    game.tick(act=int(Action.FORWARD))  # which one may do although the architect is waited for
    assert game.episode.floor == Role.ARCHITECT


def test_it_ends_as_other_games_do() -> None:
    game = begun(max_steps=2)
    assert not game.tick().truncated
    assert game.tick().truncated
    with pytest.raises(StateError, match="over"):
        game.tick()


# ---------------------------------------------------------------------------------------------------- as JSON


def follow(known: dict[str, Any], told: dict[str, Any]) -> None:
    """What a client does with what it is told."""
    for key, value in told.items():
        if key in ("grid", "target_grid", "ghost"):
            blocks = {} if told["whole"] else known[key]
            blocks.update({tuple(cell): color for *cell, color in value})
            known[key] = {cell: color for cell, color in blocks.items() if color}
        elif key == "said":
            known["said"] = ([] if told["whole"] else known["said"]) + value
        else:
            known[key] = value


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from(BUILD), st.booleans(), st.integers(0, 3)), max_size=60),
    st.integers(1, 4),
)
def test_changes_lead_to_the_whole(moves: list[tuple[Action, bool, int]], lag: int) -> None:
    """Whoever is told the changes now and then knows what is told to one who comes just then."""
    game = begun()
    known: dict[Role, dict[str, Any]] = {role: {} for role in Role}
    since = dict.fromkeys(Role, -1)
    for number, (action, speaks, who) in enumerate([*((a, False, 0) for a in BUILD), *moves]):
        game.tick(
            {Role.BUILDER if who % 2 else Role.ARCHITECT: f"word {number}"} if speaks else {}, int(action)
        )
        for role in Role:
            if number % (lag + (role == Role.BUILDER)) == 0:
                told = json.loads(json.dumps(game.delta(role, since[role])))
                assert told["whole"] == (since[role] < 0)
                follow(known[role], told)
                since[role] = told["tick"]
    for role in Role:
        follow(known[role], game.delta(role, since[role]))
        now: dict[str, Any] = {}
        follow(now, game.snapshot(role))
        assert {**now, "whole": 0} == {**known[role], "whole": 0}
        blocks = [(*cell, color) for cell, color in now["grid"].items()]
        assert np.array_equal(blocks_to_grid(blocks), game.episode.worlds.grid[0])


@pytest.mark.parametrize("role", Role)
def test_what_stays_is_sent_once(role: Role) -> None:
    game = begun()
    for _ in range(20):  # until it stands still
        game.tick()
        game.delta(role, 0)
    game.tick()
    assert set(game.delta(role, game.ticks - 1)) == {"tick", "whole", "floor", "said"}


# ------------------------------------------------------------------------------------------------------- teams

TEAM: dict[str, Any] = {
    "architects": 2,
    "builders": 2,
    "sees": {
        "architect_0": "half:west",
        "architect_1": ("color:blue", "side:north"),
        "builder_1": "layers:0-0",
    },
    "hearers": {"architect_0": "architect_1", "builder_0": ()},
    "builder_sees": ("inventory", "dialog", "pose", "grid"),
}
APART = [(-1, 0, 0, 0, -45), (1, 0, 0, 0, -45)]


def team_begun(blocks: Any, **options: Any) -> LiveGame:
    game = LiveGame(tasks=Task("", blocks, invariant=False), **{**TEAM, **options})
    game.reset(seed=0, options={"pose": APART})
    return game


def test_all_of_a_team_speak_and_act_in_one_tick() -> None:
    game = team_begun([(-1, -1, -1, 1), (1, -1, -1, 1)], message_cost=0.5)
    place = int(Action.PLACE)
    done = game.tick(
        {"builder_0": "mine", "architect_0": "psst, you", "architect_1": "go"},
        dict.fromkeys(game.agents[2:], place),
    )
    assert [each.speaker for each in done.utterances] == ["builder 0", "architect 0", "architect 1"]
    assert done.edit == (-1, -1, -1, 0, 1)
    assert done.terminated
    assert done.rewards == {"architect_0": 3.0, "architect_1": 3.5, "builder_0": 4.0, "builder_1": 4.0}
    assert [len(game.view_of(player).dialogue) for player in game.players] == [2, 2, 2, 1]
    assert game.delta("builder_1", -1)["said"] == [["architect 1", "go"]]
    assert [pose[0] for pose in game.delta("builder_0", -1)["others"]] == [1]
    assert [pose[0] for pose in game.delta("architect_0", -1)["agentPos"]] == [-1, 1]
    assert game.delta("architect_1", -1)["grid"] == [[-1, -1, -1, 1], [1, -1, -1, 1]]
    assert game.episode.worlds.turns.tolist() == [2, 2]


def test_the_turn_of_a_team_passes_when_all_builders_have_ended_it() -> None:
    game = team_begun([(4, -1, 4, 3)])
    for said, acts, floor in (
        ({"architect_0": "go"}, {}, "builder"),
        ({}, {"builder_0": int(Action.YIELD)}, "builder"),
        ({}, {"builder_1": int(Action.YIELD)}, "architect"),
    ):
        game.tick(said, acts)
        assert game.delta("builder_0", -1)["floor"] == floor
    alone = LiveGame("assistant", tasks=Task("", GRID), builder_sees=SEES)
    alone.reset(seed=0)
    alone.tick({}, {"builder_0": int(Action.YIELD), "builder_1": int(Action.YIELD)})
    assert alone.delta("builder_0", -1)["floor"] == "builder"
    assert alone.delta("builder_0", -1)["target_grid"]
    assert "target_grid" not in alone.delta("builder_1", -1)


@pytest.mark.parametrize(
    ("player", "other"),
    [
        ("architect_0", (4, -1, 4, 3)),  # sees the west half
        ("architect_1", (1, -1, 0, 2)),  # sees blue, and the north side, from where this is behind a block
        ("builder_1", (1, 3, -1, 2)),  # sees the lowest layer
        ("builder_0", (4, -1, 4, 3)),  # sees nothing
    ],
)
def test_a_player_is_sent_nothing_of_parts_that_it_does_not_see(player: str, other: Any) -> None:
    """Two games that differ in one block are sent alike to who does not see it, and not to who does."""
    sent = []
    for blocks in ([], [other]):
        game = team_begun([(1, -1, -3, 6), (-1, -1, -1, 1), (2, 0, 3, 5), *blocks])
        lines = [game.snapshot(player)]
        for action in BUILD:
            game.tick({}, dict.fromkeys(("builder_0", "builder_1"), int(action)))
            lines.append(game.delta(player, game.ticks - 1))
        sent.append(json.dumps(lines))
    assert sent[0] == sent[1]
    assert not {"score", "ghost"} & game.snapshot(player).keys()
    assert {"target_grid", "ghost", "score"} <= begun().snapshot(Role.ARCHITECT).keys()
    shown = json.dumps(team_begun([(1, -1, -3, 6), other], sees={player: "all"}).snapshot(player))
    assert json.dumps(list(other)) in shown


@pytest.mark.parametrize(
    ("options", "said", "act", "expected"),
    [
        *(
            ({}, said, None, "expected a dict of texts by role")
            for said in (1, "Place it.", [("architect", "x")])
        ),
        ({}, {Role.BUILDER: "first", "judge": "x"}, None, "judge"),
        ({}, {Role.BUILDER: "first", Role.ARCHITECT: 3}, None, "3"),
        ({}, {Role.BUILDER: "first"}, 99, "99"),
        ({}, {Role.BUILDER: "first"}, {"act": 1}, "act"),
        (
            TEAM,
            {"builder_0": "first", Role.ARCHITECT: "x"},
            None,
            "said has the key .*architect.*, expected 'architect_0'",
        ),
        (TEAM, {"builder_0": "first", "architect_2": "x"}, None, "said has the key 'architect_2'"),
        (TEAM, {"builder_0": "first"}, 17, "act has the key .*builder"),
        (TEAM, {"builder_0": "first"}, {"builder_2": 17}, "act has the key 'builder_2'"),
        (TEAM, {"builder_0": "first"}, {"builder_0": 17, "builder_1": 99}, "99"),
    ],
    ids=str,
)
def test_what_cannot_be_read_changes_nothing(options: Any, said: Any, act: Any, expected: str) -> None:
    """In a team, players are addressed by name."""
    game = begun(**options)
    before = game.episode.worlds.get_state().tobytes()
    with pytest.raises(ActionError, match=expected):
        game.tick(said, act)
    assert game.episode.worlds.get_state().tobytes() == before
    assert len(game.episode.dialogue) == game.ticks == 0


# -------------------------------------------------------------------------------------------------- recordings


def recorded(game: LiveGame, path: Path, said: dict[Any, Any]) -> None:
    """Record a game of random acts, in which builder and architect speak now and then."""
    space = game.action_space("builder_0")["act"]  # type: ignore[index]
    space.seed(3)
    with Recorder(path) as recorder:
        live = recorder.wrap(game)
        live.reset(seed=5)
        while live.agents:
            tick = live.ticks
            now = {role: said[role] for role in Role if tick % (3 if role == "builder" else 4) == 0}
            live.tick(now, space.sample() if tick % 5 else None)


@pytest.mark.parametrize(
    ("controls", "chat", "said"),
    [("walking", "text", "So what?"), ("human-level", "tokens", np.array([3, 1]))],
)
def test_a_recording_comes_back(controls: Any, chat: Any, said: Any, tmp_path: Path) -> None:
    game = begun(controls=controls, chat=chat, message_cost=0.01, max_steps=40)
    recorded(game, tmp_path / "live.jsonl", dict.fromkeys(Role, said))
    again = replay(tmp_path / "live.jsonl")
    assert again.truncated
    assert again.dialogue == game.episode.dialogue
    assert len({utterance.role for utterance in again.dialogue}) == 2
    assert np.array_equal(again.grid, game.episode.worlds.grid[0])
    assert read_recording(tmp_path / "live.jsonl")[0].view == "live"


@pytest.mark.parametrize(
    ("agent", "chat", "said"),
    [("architect_0", "text", "So what?"), ("builder_0", "tokens", np.array([3, 1]))],
)
def test_a_recording_becomes_a_dataset_of_ticks(
    agent: str, chat: Any, said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step for each tick, also where nothing was said and nobody moved."""
    pytest.importorskip("h5py")
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    path = tmp_path / "live.jsonl"
    recorded(
        begun(controls="human-level", chat=chat, message_cost=0.01, max_steps=40),
        path,
        dict.fromkeys(Role, said),
    )
    write_minari(path, "iglu/live-v0", agent=agent)
    (episode,) = minari.load_dataset("iglu/live-v0").iterate_episodes()
    assert len(episode.actions["say"] if agent == "builder_0" else episode.actions) == 40
    assert sum(episode.rewards) == pytest.approx(replay(path).returns[Role(agent[:-2])])
    assert episode.truncations[-1]
