"""Recordings: every view comes back bit for bit, every fault is told, and nothing is lost when a game is broken off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from recorded_lines import chained, lines_of
from typer.testing import CliRunner

import iglu_marl
from iglu_marl import ConfigError, DataError, Recorder, ReplayError, Role, StateError, Task, replay
from iglu_marl.agents import (
    OracleBuilder,
    RandomArchitect,
    RandomBuilder,
    ScriptedArchitect,
    ScriptedBuilder,
    agents_for,
)
from iglu_marl.cli import app
from iglu_marl.language.grammar.vocabulary import SymbolCodec
from iglu_marl.recording import read_recording, repair
from iglu_marl.recording.games import make_game
from iglu_marl.recording.values import (
    controls_to_json,
    from_json,
    task_from_json,
    task_to_json,
    to_json,
)
from iglu_marl.tasks import BundledTasks, RandomTasks

SEES = ("dialog", "inventory", "pose", "grid")
GRID = [(0, -1, -2, 6), (1, -1, -2, 1), (1, 0, -2, 2)]


def game(make: Any = iglu_marl.raw_env, **options: Any) -> Any:
    settings_ = {"tasks": Task("", GRID), "builder_sees": SEES, "max_steps": 200, **options}
    return make(**settings_)


def random_pair(env: Any) -> dict[Role, Any]:
    return {Role.ARCHITECT: RandomArchitect.for_env(env), Role.BUILDER: RandomBuilder.for_env(env)}


def same_actions(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_actions(one[key], other[key]) for key in one)
    if isinstance(one, (np.ndarray, np.generic)):
        return type(one) is type(other) and one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other


def check_same(recorded: Any, again: Any) -> None:
    """Two trajectories tell the same story."""
    assert len(again.turns) == len(recorded.turns)
    for one, other in zip(recorded.turns, again.turns, strict=True):
        assert (one.role, one.reward) == (other.role, other.reward)
        assert same_actions(one.action, other.action)
    assert again.dialogue == recorded.dialogue
    assert np.array_equal(again.grid, recorded.grid)
    assert again.returns == pytest.approx(recorded.returns)
    for name in (
        "seed",
        "terminated",
        "truncated",
        "intersection",
        "builder_steps",
        "architect_turns",
        "task",
    ):
        assert getattr(again, name) == getattr(recorded, name), name


# ------------------------------------------------------------------------------------------------ every view


@pytest.mark.parametrize("chat", ["text", "tokens"])
@pytest.mark.parametrize(
    "make", [iglu_marl.raw_env, iglu_marl.env, iglu_marl.parallel_env], ids=lambda m: m.__name__
)
def test_two_agents_come_back(make: Any, chat: str, tmp_path: Path) -> None:
    turns = {} if make is iglu_marl.parallel_env else {"turn_steps": 7}
    env = game(make, chat=chat, builder_can_ask=True, message_cost=0.01, step_cost=0.001, **turns)
    with Recorder(tmp_path / "game.jsonl") as recorder:
        played = iglu_marl.play(env, agents_for(env), seed=4, on_step=recorder)
    assert played.completed
    check_same(played, replay(tmp_path / "game.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("controls", ["walking", "flying", "human-level", "discrete", "continuous"])
@pytest.mark.parametrize("make", [iglu_marl.raw_env, iglu_marl.parallel_env], ids=lambda m: m.__name__)
def test_random_actions_of_every_encoding_come_back(make: Any, controls: str, tmp_path: Path) -> None:
    env = game(
        make, controls=controls, chat="tokens", vocabulary=9, builder_can_ask=True, select_and_place=True
    )
    with Recorder(tmp_path / "game.jsonl") as recorder:
        played = iglu_marl.play(env, random_pair(env), seed=1, on_step=recorder)
        options = {
            "task": RandomTasks(max_blocks=9).sample(np.random.default_rng(0)),
            "pose": (1, 2.5, -3, 200, 7),
        }
        other = iglu_marl.play(env, random_pair(env), seed=2, options=options, on_step=recorder)
    check_same(played, replay(tmp_path / "game.jsonl"))
    check_same(other, replay(tmp_path / "game.jsonl", episode=1))
    assert replay(tmp_path / "game.jsonl", episode=-1).seed == 2


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("IGLUGridworld-v0", {"action_space": "flying", "render": False}),
        ("IGLUGridworldVector-v0", {"compat": "iglu2022"}),
        ("IGLUGridworldVector-v0", {"discretize": False}),
        ("IGLUSilentBuilder-v0", {}),
        ("IGLUSilentBuilder-v0", {"action_space": "continuous", "visual": False}),
        ("IGLUSilentBuilder-v0", {"action_space": "continuous", "compat": "iglu2021"}),
    ],
)
def test_lone_builders_come_back(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    env = gym.make(name, tasks=BundledTasks(progressive=True), max_steps=60, **options)
    with Recorder(tmp_path / "game.jsonl") as recorder:
        played = iglu_marl.play(env, RandomBuilder.for_env(env), seed=3, on_step=recorder)
    check_same(played, replay(tmp_path / "game.jsonl"))


@pytest.mark.slow
def test_a_progressive_session_continues_in_the_replay(tmp_path: Path) -> None:
    """The oracle builds turn after turn: each brings words and a target that the recording has to know."""
    sessions = BundledTasks(progressive=True).tasks
    session = next(s for found in sessions.values() for s in found if len(s) >= 4)
    env = gym.make("IGLUSilentBuilder-v0", action_space="flying", tasks=session[0], max_steps=2000)
    with Recorder(tmp_path / "game.jsonl") as recorder:
        played = iglu_marl.play(env, OracleBuilder.for_env(env), seed=0, on_step=recorder)
    assert played.completed
    again = replay(tmp_path / "game.jsonl")
    assert again.task == session[len(session) - 1]
    check_same(played, again)


@pytest.mark.parametrize("chat", ["text", "tokens"])
def test_a_live_architect_is_heard_again(chat: str, tmp_path: Path) -> None:
    env = gym.make(
        "IGLUGridworldVector-v0", tasks=Task("", GRID), architect=ScriptedArchitect(), turn_steps=5, chat=chat
    )
    with Recorder(tmp_path / "game.jsonl") as recorder:
        wrapped = recorder.wrap(env)
        played = iglu_marl.play(wrapped, ScriptedBuilder.for_env(env), seed=3)
    assert played.completed
    assert len(played.dialogue) >= 3
    again = replay(tmp_path / "game.jsonl")
    assert again.dialogue == played.dialogue
    assert np.array_equal(again.grid, played.grid)


@pytest.mark.parametrize(
    "make", [iglu_marl.raw_env, iglu_marl.env, iglu_marl.parallel_env], ids=lambda m: m.__name__
)
def test_the_wrapper_writes_what_on_step_writes(make: Any, tmp_path: Path) -> None:
    env = game(make, builder_can_ask=True)
    with Recorder(tmp_path / "a.jsonl") as recorder:
        iglu_marl.play(env, agents_for(env), seed=4, on_step=recorder)
    with Recorder(tmp_path / "b.jsonl") as recorder:
        iglu_marl.play(recorder.wrap(env), agents_for(env), seed=4)
    assert lines_of(tmp_path / "a.jsonl") == lines_of(tmp_path / "b.jsonl")


def test_another_encoding_in_the_middle_of_a_game(tmp_path: Path) -> None:
    """As 0.3.0 wrote it, when a person went from walking to flying: the same world, another environment."""
    walking, flying = game(controls="human-level"), game(controls="flying")
    with Recorder(tmp_path / "a.jsonl") as recorder:
        walking.reset(seed=0)
        recorder.begin(walking, 0)
        for env in (walking, flying):
            env.action_space("builder_0").seed(0)
        for action in ("", walking.action_space("builder_0").sample() | {"yield": 0}):
            role = Role(walking.agent_selection.removesuffix("_0"))
            walking.step(action)
            recorder.note(walking, {role: action})
        flying.reset(options={"task": walking.task})
        flying.set_state(walking.get_state())
        recorder._write({"controls": controls_to_json(flying.episode.controls)})
        for _ in range(5):
            action = flying.action_space("builder_0").sample() | {"yield": 0}
            flying.step(action)
            recorder.note(flying, {Role.BUILDER: action})
        recorder.end(flying)
    again = replay(tmp_path / "a.jsonl")
    assert again.builder_steps == 6
    assert np.array_equal(again.grid, flying.episode.worlds.grid[0])


# ---------------------------------------------------------------------------------------------------- values

numbers = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.none(),
    hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.int8, np.int64, np.uint8]),
        hnp.array_shapes(min_dims=0, max_dims=2, max_side=3),
        elements={"allow_nan": False, "allow_infinity": False},
    ),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
)


@given(
    st.recursive(
        numbers,
        lambda part: (
            st.lists(part, max_size=3)
            | st.dictionaries(st.text().filter(lambda k: k != "~"), part, max_size=3)
        ),
        max_leaves=6,
    )
)
def test_values_come_back_exactly(value: Any) -> None:
    again = from_json(json.loads(json.dumps(to_json(value))))

    def same(one: Any, other: Any) -> bool:
        if isinstance(one, list):
            return len(one) == len(other) and all(map(same, one, other))
        if isinstance(one, dict):
            return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
        if isinstance(one, np.ndarray):
            return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        return type(one) is type(other) and one == other

    assert same(value, again)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"~": 3}, np.array(["a"]), b"bytes", {"a": {2}}])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(DataError, match="cannot be recorded"):
        to_json(value)


def test_an_action_that_cannot_be_recorded_is_not_made(tmp_path: Path) -> None:
    with Recorder(tmp_path / "a.jsonl") as recorder:
        env = recorder.wrap(game())
        env.reset(seed=0)
        with pytest.raises(DataError):
            env.step(object())
        assert env.unwrapped.episode.worlds.turns[0] == 0
        with pytest.raises(iglu_marl.ActionError):
            env.step(7)  # refused by the game: nothing is written
    assert len(lines_of(tmp_path / "a.jsonl")) == 1


def test_tasks_come_back() -> None:
    tasks = [
        *BundledTasks(),
        *BundledTasks(mode="structures"),
        Task("", GRID, invariant=False, ids="iglu2022", structure="C7", unbuilt=True),
    ]
    for task in tasks:
        again = task_from_json(json.loads(json.dumps(task_to_json(task))))
        assert again == task
        assert (again.instruction, again.structure, again.unbuilt) == (
            task.instruction,
            task.structure,
            task.unbuilt,
        )
    older = {
        name: value for name, value in task_to_json(task).items() if name not in ("structure", "unbuilt")
    }
    assert (task_from_json(older), task_from_json(older).structure) == (task, "")
    for wrong in ({"structure": 7}, {"unbuilt": "yes"}):
        with pytest.raises(DataError):
            task_from_json({**task_to_json(task), **wrong})
    for session in BundledTasks(progressive=True).tasks["bridge"]:
        again = task_from_json(json.loads(json.dumps(task_to_json(session[0]))))
        one, other = session[0].next_task, again.next_task
        while one is not None:
            assert other is not None
            assert (other, other.dialogue, other.is_invariant) == (one, one.dialogue, one.is_invariant)
            assert other.structure == one.structure
            one, other = one.next_task, other.next_task
        assert other is None


# ------------------------------------------------------------------------------------------ broken off, damaged


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("recording") / "game.jsonl"
    env = game(controls="flying")
    with Recorder(path) as recorder:
        iglu_marl.play(env, agents_for(env), seed=4, on_step=recorder)
    return path.read_bytes()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1))
def test_cut_anywhere_the_rest_is_whole(recorded: bytes, share: float, tmp_path: Path) -> None:
    cut = round(share * len(recorded))
    path = tmp_path / "cut.jsonl"
    path.write_bytes(recorded[:cut])
    whole = recorded[:cut].count(b"\n") + (recorded[cut : cut + 1] == b"\n")
    if not whole:
        with pytest.raises(DataError, match="has no episode"):
            read_recording(path)
        return
    (episode,) = read_recording(path)
    moves = min(whole - 1, recorded.count(b"\n") - 2)
    assert len(episode.moves) == moves
    assert len(replay(path).turns) == moves


def test_a_cut_recording_takes_further_games(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes(recorded[:-100])
    env = game()
    with Recorder(path) as recorder:
        played = iglu_marl.play(env, agents_for(env), seed=9, on_step=recorder)
    first, second = read_recording(path)
    assert first.end is None
    assert len(replay(first).turns) == len(first.moves) > 5
    check_same(played, replay(second))


@pytest.mark.parametrize("share", [0.7, 0.95])
def test_a_game_that_was_broken_off_resumes(recorded: bytes, share: float, tmp_path: Path) -> None:
    """The same moves in what was resumed: in the end, the file is the one of the whole game."""
    (tmp_path / "whole.jsonl").write_bytes(recorded)
    (whole,) = read_recording(tmp_path / "whole.jsonl")
    path = tmp_path / "cut.jsonl"
    path.write_bytes(recorded[: round(share * len(recorded))])
    with Recorder(path) as recorder:
        env = recorder.wrap(recorder.resume())
        done = len(read_recording(path)[0].moves)
        assert 0 < done < len(whole.moves)
        for move in whole.moves[done:]:
            (action,) = move.actions.values()
            env.step(action)
        recorder.end(env)
    assert path.read_bytes() == recorded
    with Recorder(path) as recorder, pytest.raises(StateError, match="is over"):
        recorder.resume()


def test_a_game_that_does_not_replay_is_not_resumed(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "game.jsonl"
    last = recorded.count(b"\n") - 2
    damaged = changed(recorded, last, lambda line: line.update(state="0" * 16))
    path.write_bytes(damaged[: damaged[:-1].rindex(b"\n") + 1])
    with Recorder(path) as recorder, pytest.raises(ReplayError, match="after the last move"):
        recorder.resume()


def changed(recorded: bytes, number: int, change: Any) -> bytes:
    """Change a line, and compute the hash chain again."""
    lines = [json.loads(line) for line in recorded.splitlines()]
    change(lines[number])
    return chained(lines)


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (0, lambda line: line.update(pose=[0, 0, 0.001, 0, 0]), "line 1: at the start the checksum"),
        (0, lambda line: line.update(pose=[0, 99, 0, 0, 0]), "line 1: the episode cannot begin"),
        (0, lambda line: line["config"].update(right_scale=3), "line 1: at the start"),
        (0, lambda line: line.update(layout="0" * 16), "another layout"),
        (1, lambda line: line["act"].update(architect="Hello."), "line 2: after move 0 the checksum"),
        (3, lambda line: line.update(act={"builder": 5}), "move 2 cannot be made"),
        (3, lambda line: line.update(act={"architect": ""}), "it is the turn of builder_0"),
        (3, lambda line: line.update(rewards={"builder": 7.0}), r"move 2 was paid {'builder': 7.0}, now {}"),
        (-1, lambda line: line["end"].update(intersection=1), "intersection is 3 at the end, recorded is 1"),
        (-1, lambda line: line["end"].update(moves=3), "moves is .* at the end, recorded is 3"),
        (
            -1,
            lambda line: line["end"].update(returns={"builder": 99.0}),
            "returns is .* at the end, recorded is",
        ),
    ],
)
def test_differences_of_every_kind(
    recorded: bytes, number: int, change: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(changed(recorded, number, change))
    with pytest.raises(ReplayError, match=message):
        replay(path)


def test_no_flipped_bit_goes_unseen(recorded: bytes, tmp_path: Path) -> None:
    """The bits of a file with two episodes: places at random, all line feeds, the ends of the episodes."""
    path, content = tmp_path / "flipped.jsonl", b"".join(many(recorded))
    rng = np.random.default_rng(7)
    feeds = [place for place, byte in enumerate(content) if byte == ord("\n")]
    ends = [feed - back for feed in (feeds[-1], feeds[len(feeds) // 2 - 1]) for back in range(1, 30)]
    for place in {*rng.integers(0, len(content), 300).tolist(), *feeds, *ends}:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        with pytest.raises(DataError):
            read_recording(path)


def test_a_changed_line_is_found_by_all_readers(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "changed.jsonl"
    content = recorded.replace(b'"note":""', b'"note":"x"', 1)
    assert content != recorded
    path.write_bytes(content)
    for read in (read_recording, replay):
        with pytest.raises(DataError, match=r"changed\.jsonl, line \d+: the line was changed"):
            read(path)
    with pytest.raises(DataError, match=r"changed\.jsonl cannot be appended to, see `repair`"):
        Recorder(path)
    assert path.read_bytes() == content
    assert invoke("replay", str(path)).exit_code != 0
    assert replay(path, verify=False).turns


def many(recorded: bytes, episodes: int = 2) -> list[bytes]:
    """The episodes of a file that has a game several times."""
    content = chained([json.loads(line) for line in recorded.splitlines() * episodes])
    size = len(recorded.splitlines())
    lines = content.splitlines(keepends=True)
    return [b"".join(lines[first : first + size]) for first in range(0, len(lines), size)]


@pytest.mark.parametrize("order", [[1], [0, 2], [0, 0, 1], [0, 1, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2]])
def test_an_episode_cannot_be_left_out_doubled_or_moved(
    recorded: bytes, order: list[int], tmp_path: Path
) -> None:
    path, episodes = tmp_path / "moved.jsonl", many(recorded, 3)
    path.write_bytes(b"".join(episodes))
    assert len(read_recording(path)) == 3
    path.write_bytes(content := b"".join(episodes[number] for number in order))
    with pytest.raises(
        DataError, match=r"line \d+: an episode before this one is missing, was added or moved"
    ):
        read_recording(path)
    with pytest.raises(DataError, match="see `repair`"):
        Recorder(path)
    assert path.read_bytes() == content
    assert len(read_recording(path, verify=False)) == len(order)
    assert repair(path).lost == []
    assert [len(episode.moves) for episode in read_recording(path)] == [recorded.count(b"\n") - 2] * len(
        order
    )


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (0, lambda line: line.update(format="other"), "line 1: format is 'other'"),
        (0, lambda line: line.update(version=99), "version is 99"),
        (0, lambda line: line.pop("task"), "the header lacks task"),
        (0, lambda line: line.update(view="side"), "view is 'side'"),
        (0, lambda line: line["task"].pop("target_grid"), "the task of the recording cannot be read"),
        (0, lambda line: line["config"].update(no_such_field=1), "the header cannot be used"),
        (2, lambda line: line.update(n=7), "line 3: move 7, expected move 1"),
        (2, lambda line: line.update(act={"nobody": 1}), "line 3: no move of a recording"),
    ],
)
def test_files_that_are_no_recordings(
    recorded: bytes, number: int, change: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(changed(recorded, number, change))
    with pytest.raises(DataError, match=message):
        replay(path)


def test_garbage_in_the_middle_is_no_cut(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    lines = recorded.split(b"\n")
    lines[4] = lines[4][:30]
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=r"line 5: the line is .*, expected a JSON object"):
        read_recording(path)
    for content in (b"", b"\n", b"[1]\n[2]\n", b"\xff\xfe\n\x00\n"):
        path.write_bytes(content)
        with pytest.raises(DataError):
            read_recording(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_recording(tmp_path / "nowhere.jsonl")
    path.write_bytes(recorded)
    with pytest.raises(ConfigError, match="episode is 1, but"):
        replay(path, episode=1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: lines,
        lambda lines: [*lines[:4], lines[4][:30], *lines[5:]],
        lambda lines: [*lines[:4], b"\0" * 50, *lines[5:]],
        lambda lines: [*lines[:4], lines[7], lines[4], *lines[5:]],  # out of order
        lambda lines: [b"\xff", *lines],
        lambda lines: [*lines[:-1], lines[-1][:10]],
    ],
)
def test_a_damaged_recording_is_repaired(recorded: bytes, damage: Any, tmp_path: Path) -> None:
    """Each episode is there to its first damaged line, the next one whole, and both replay; the old file is kept."""
    path = tmp_path / "a.jsonl"
    first, second = many(recorded)
    lines = damage(first.splitlines())
    content = b"".join(line + b"\n" for line in lines) + second
    path.write_bytes(content)
    done = repair(path)
    episodes = read_recording(path)
    assert done.episodes == len(episodes)
    assert done.kept + len(done.lost) == len(content.splitlines())
    assert len(episodes[-1].moves) == recorded.count(b"\n") - 2
    for episode in episodes:
        replay(episode)
    if lines == recorded.splitlines():
        assert (done.damaged, path.read_bytes()) == (None, content)
    else:
        assert done.damaged is not None
        assert done.damaged.read_bytes() == content
        assert done.lost
    assert repair(path).damaged is None, "it is whole now"
    with Recorder(path) as recorder:
        iglu_marl.play(env := game(), random_pair(env), seed=0, on_step=recorder)
    assert len(read_recording(path)) == len(episodes) + 1


def test_a_last_line_without_its_end_is_kept(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(recorded[:-1])
    (episode,) = read_recording(path)
    assert episode.end is not None
    Recorder(path).close()
    assert path.read_bytes() == recorded
    path.write_bytes(recorded[:-1])
    assert repair(path).lost == []
    assert path.read_bytes() == recorded


def test_what_cannot_be_repaired_stays_as_it_is(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for content in (b"", b"[1]\n", recorded.partition(b"\n")[2]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="has no readable episode of a recording"):
            repair(path)
        assert path.read_bytes() == content
    path.write_bytes(recorded + b"{")
    with Recorder(path), pytest.raises(DataError, match=r"is being written by process \d+ on "):
        repair(path)
    path.write_bytes(recorded + b"{")
    Path(f"{path}.damaged").write_bytes(b"")
    with pytest.raises(DataError, match=r"a\.jsonl\.damaged exists already"):
        repair(path)
    assert path.read_bytes() == recorded + b"{"
    with pytest.raises(DataError, match="does not exist"):
        repair(tmp_path / "nowhere.jsonl")


def test_the_repair_command_reports_what_was_lost(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first, second = many(recorded)
    path.write_bytes(first + b"{\n" + second)
    shown = CliRunner().invoke(app, ["record", str(path), "--repair", "--json"])
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    number = len(recorded.splitlines()) + 1
    assert (told["episodes"], told["lost"], told["damaged"]) == (2, [number], f"{path}.damaged")
    assert path.read_bytes() == first + second


def test_nothing_foreign_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in ("my notes\n", "my notes", '{"format":"other'):
        path.write_text(content)
        with pytest.raises(DataError, match="not a recording"):
            Recorder(path)
        assert path.read_text() == content
    with pytest.raises(DataError, match="cannot be written"):
        Recorder(tmp_path / "no" / "folder.jsonl")


def test_calls_at_the_wrong_time(tmp_path: Path) -> None:
    env = game()
    env.reset(seed=0)
    recorder = Recorder(tmp_path / "a.jsonl")
    with pytest.raises(StateError, match="follows no game"):
        recorder(env)
    with pytest.raises(StateError, match="has not seen the reset"):
        recorder.note(env, {Role.ARCHITECT: ""})
    with pytest.raises(StateError, match="expected an environment"):
        recorder.wrap(object())
    recorder.close()
    recorder.close()
    with pytest.raises(StateError, match="is closed"):
        recorder.begin(env, 0)


def test_a_codec_of_ones_own_is_asked_for(tmp_path: Path) -> None:
    env = game(chat="tokens", vocabulary=SymbolCodec(5))
    with Recorder(tmp_path / "a.jsonl") as recorder:
        played = iglu_marl.play(env, random_pair(env), seed=0, on_step=recorder)
    with pytest.raises(ConfigError, match="codec 'symbols'"):
        replay(tmp_path / "a.jsonl")
    check_same(played, replay(tmp_path / "a.jsonl", vocabulary=SymbolCodec(5)))


# -------------------------------------------------------------------------------------------------- commands


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, [*arguments])


@pytest.mark.slow
def test_record_and_replay_commands(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    options = ["--controls", "flying", "--builder", "hasty", "--task", "stepping-stones", "--json"]
    done = invoke("record", str(path), *options)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["games"][0]["completed"]
    assert read_recording(path)[0].header["agents"] == {"architect": "scripted", "builder": "hasty"}
    assert (
        invoke("record", str(path), *options, "--append", "--seed", "5", "--api", "parallel").exit_code == 0
    )
    done = invoke("replay", str(path), "--json", "--upstream", str(tmp_path / "layout"))
    assert done.exit_code == 0, done.output
    episodes = json.loads(done.stdout)["episodes"]
    assert [episode["same"] for episode in episodes] == [True, True]
    assert [episode["view"] for episode in episodes] == ["aec", "parallel"]
    assert episodes[0]["steps"] == told["games"][0]["steps"]
    sessions = iglu_marl.data.read_sessions(tmp_path / "layout")
    assert np.array_equal(next(iter(sessions.values()))[0].structures[-1], replay(path).grid)


def test_the_replay_command_reports_a_difference(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(changed(recorded, 5, lambda line: line.update(state="0" * 16)))
    done = invoke("replay", str(path))
    assert done.exit_code == 1
    assert "line 6: after move 4" in done.stdout
    assert invoke("replay", str(path), "--no-verify").exit_code == 0


SIGHTS = {
    "IGLUGridworld-v0": (
        {},
        {"builder_sees": ("pov", "grid")},
        {"vector_state": True, "target_in_obs": True},
    ),
    "IGLUGridworldVector-v0": ({}, {"target_egocentric": True, "builder_sees": ("hotbar",)}),
    "IGLUSilentBuilder-v0": ({}, {"builder_sees": ("dialog", "pose")}),
    "IGLUSilentBuilderVisual-v0": ({},),
}


@pytest.mark.parametrize("name", SIGHTS)
def test_a_lone_builder_observes_in_a_recording_what_it_observed(name: str, tmp_path: Path) -> None:
    for number, options in enumerate(SIGHTS[name]):
        env = gym.make(name, action_space="walking", tasks=Task("", GRID), **options)
        file = tmp_path / f"{number}.jsonl"
        with Recorder(file) as recorder:
            recorder.wrap(env).reset(seed=0)
        game = make_game(read_recording(file)[0].header)
        assert game.observation_space == env.observation_space
        assert game.config.builder_sees == env.config.builder_sees


@pytest.mark.parametrize(
    ("observes", "keys"),
    [
        (
            {"id": "gridworld", "render": False, "vector_state": True, "target_in_obs": False},
            {"inventory", "compass", "dialog", "agentPos", "grid", "hotbar"},
        ),
        ({"id": "silent", "visual": True}, {"pov", "inventory", "compass", "chat", "hotbar"}),
    ],
)
def test_flags_of_older_recordings_say_what_was_observed(
    observes: dict[str, Any], keys: set[str], tmp_path: Path
) -> None:
    """Before 0.4, `builder_sees` added computed observations to what flags showed; options without effect were kept."""
    env = gym.make("IGLUGridworldVector-v0", tasks=Task("", GRID))
    with Recorder(tmp_path / "game.jsonl") as recorder:
        recorder.wrap(env).reset(seed=0)
    header = read_recording(tmp_path / "game.jsonl")[0].header
    sees = ["pov", "inventory", "compass", "dialog", "hotbar"]
    older = {**header["config"], "builder_sees": sees, "message_cost": 0.5, "egocentric_radius": 3}
    game = make_game({**header, "observes": observes, "config": older})
    assert game.observation_space.keys() == keys
