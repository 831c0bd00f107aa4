"""The benchmark of language models: its levels, games against a server, rows, tables, and other ways to play it."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llm_server import LLMServer, Misbehaviour, llm_server
from requirements import shared_folder
from schemas import broken, places

from iglu_marl.agents.llm import LLMSettings
from iglu_marl.benchmark.model_players import MUST_NOT_WIN, PLAYERS
from iglu_marl.benchmark.model_report import compare, markdown, score_interval
from iglu_marl.benchmark.models import (
    FILE_SCHEMA,
    LEVELS,
    ROW_SCHEMA,
    GameRow,
    ModelResult,
    ModelSeat,
    commitment,
    estimate,
    find_level,
    outcome,
    run_models,
)
from iglu_marl.cli import main
from iglu_marl.core.errors import ConfigError, DataError, ServiceRefusedError
from iglu_marl.rendering.camera import Camera
from iglu_marl.rendering.renderer import EYE_LENS
from iglu_marl.text.rounds import Rounds

GENERATED = [level for level in LEVELS if level.make is not None]
QUICK = ["models-clarification-v1", "models-viewpoint-v1", "models-large-v1", "models-partners-v1"]


def setting(monkeypatch: pytest.MonkeyPatch, server: LLMServer, cache: Path, **more: str) -> None:
    given = {
        "MODEL": "m",
        "ENDPOINT": server.url,
        "CACHE": str(cache),
        "RETRIES": "0",
        "CONCURRENCY": "4",
        **more,
    }
    for name, value in given.items():
        monkeypatch.setenv(f"IGLU_MARL_LLM_{name}", value)


def answers(level: str, games: int) -> dict[str, str]:
    """Replies by prompt: games of even numbers are played right, the others by nonsense."""
    chosen, found = find_level(level), {}
    for number in range(games):
        game, chat = chosen.start(number)
        while chat:
            reply = PLAYERS["oracle" if number % 2 == 0 else "silent"](game, chat)
            found[chat[-1]["content"]] = reply
            chat = game.step(reply)[0]
    return found


def run(player: str, level: str, games: int, folder: Path, **options: Any) -> ModelResult:
    (result,) = run_models(player, [level], games=games, output=folder, **options)
    return result


DIGESTS = {
    "models-clarification-v1": "eead2946805e",
    "models-speakers-v1": "929988f7b441",
    "models-viewpoint-v1": "ba4c0a8ba0f8",
    "models-pictures-v1": "9699594ecc9a",
    "models-large-v1": "b9eaf653e5ba",
    "models-partners-v1": "842207b692f2",
}


@pytest.mark.parametrize("level", GENERATED, ids=lambda level: level.name)
def test_levels_keep_their_games(level: Any) -> None:
    """Results of other games are those of another level, with another version in its name."""
    assert level.digest(0, 10) == DIGESTS[level.name]


def test_tasks_follow_from_the_seed_and_are_what_is_said() -> None:
    for level in GENERATED:
        assert level.digest(0, 3) == level.digest(0, 3) != level.digest(1, 3)
        for number in range(20):
            made = level.game(number)
            for one in made.rounds:  # type: ignore[union-attr]
                assert (one.start != one.target).any()
                assert bool(one.answer) >= (one.ask == "needed")
            if not level.points:
                game, _ = level.start(number)
                assert outcome(level, number, 0, game).score == 0
    asked = Counter(one.ask for n in range(30) for one in find_level(QUICK[0]).game(n).rounds)  # type: ignore[union-attr]
    assert asked["needed"] == asked["needless"] == 60


def test_viewpoints_mean_what_they_say() -> None:
    """The texts are read here by other rules: unit vectors and turns, not names of directions."""
    level, seen = find_level("models-viewpoint-v1"), 0
    ways = {
        "north": np.array([0, -1]),
        "east": np.array([1, 0]),
        "south": np.array([0, 1]),
        "west": np.array([-1, 0]),
    }
    numbers = {"one": 1, "two": 2, "three": 3, "four": 4}
    colors = ("air", "blue", "yellow", "green", "orange", "purple", "red")

    def right(way: Any) -> Any:
        return np.array([-way[1], way[0]])

    for number in range(200):
        (one,) = level.game(number).rounds  # type: ignore[union-attr]
        where = {
            colors[one.start[tuple(at)]]: np.array([at[1] - 5, at[2] - 5]) for at in np.argwhere(one.start)
        }
        (cell,) = np.argwhere(one.start != one.target)
        found, text = np.array([cell[1] - 5, cell[2] - 5]), one.text
        if match := re.search(
            r"of the (\w+) block and look (\w+)\. Walk (\w+), turn (\w+), walk (\w+), turn (\w+)",
            text,
        ):
            way = ways[match[2]]
            at = where[match[1]] + numbers[match[3]] * way
            way = right(way) if match[4] == "right" else -right(way)
            at = at + numbers[match[5]] * way
            at = at + (right(way) if match[6] == "right" else -right(way))
        elif match := re.search(r"look (\w+)\. As .* (\w+) squares? (.*) the (\w+) one\.", text):
            way = ways[match[1]]
            side = {
                "behind": way,
                "in front of": -way,
                "to the right of": right(way),
                "to the left of": -right(way),
            }
            at = where[match[4]] + numbers[match[2]] * side[match[3]]
        elif match := re.search(
            r"on the (\w+) block and looked at the (\w+) one, .* (\w+) squares? to your (\w+)", text
        ):
            way = np.sign(where[match[2]] - where[match[1]])
            at = where[match[1]] + numbers[match[3]] * (right(way) if match[4] == "right" else -right(way))
        elif match := re.search(r"quarter clockwise .* the (\w+) block moves", text):
            at = right(where[match[1]])
        else:
            match = re.search(r"would the (\w+) block be if", text)
            assert match
            at = where[match[1]] * (-1, 1)
        assert (at == found).all(), text
        seen += 1
    assert seen == 200


@pytest.mark.parametrize("level", [*QUICK, "models-sessions-v1"])
def test_policies_do_not_win(level: str, tmp_path: Path) -> None:
    for player in MUST_NOT_WIN:
        rows = run(player, level, 8, tmp_path / player).rows
        assert len(rows) == 8
        assert sum(row.score for row in rows) <= 1, player
    best = run("oracle", level, 8, tmp_path / "oracle")
    assert all(row.success and row.score == 1 for row in best.rows)
    assert best.verify() == []


def test_points_reward_whoever_learns_which_speaker_to_ask(tmp_path: Path) -> None:
    scores = {
        player: run(player, "models-speakers-v1", 2, tmp_path / player).rows
        for player in ("oracle", "ask", "guess")
    }
    assert [[row.score for row in rows] for rows in scores.values()] == [[1, 1], [0, 0], [0, 0]]
    assert [row.questions for row in scores["oracle"]] == [12, 12]
    assert [row.needless for row in scores["ask"]] == [28, 28]
    assert [(row.missing, row.right) for row in scores["guess"]] == [(12, 32), (12, 32)]


def test_a_correction_does_not_help_the_build_that_it_corrects() -> None:
    level = find_level("models-clarification-v1")
    game, _ = level.start(0)
    partner = game.partner
    assert isinstance(partner, Rounds)
    wrong = '{"edits": [{"action": "place", "color": "red", "east": 5, "north": 5, "height": 9}]}'
    chat, _, over, _ = game.step(wrong)
    assert not over
    assert (game.grid == partner.rounds[0].target).all(), "the next round starts where the instruction led"
    assert not partner.played[0].right
    assert game.counts["wrong"] == 1
    assert "That was not what I meant" in chat[-1]["content"]
    game.step('{"edits": [], "say": "Which one?"}')
    assert len(partner.played) == 1


def test_a_model_gets_a_row_with_what_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game that the server spoils is no result. Played again, replies come from the cache, with their cost."""
    level = "models-clarification-v1"
    known = answers(level, 4)
    with llm_server(lambda messages: known[messages[-1]["content"]]) as server:
        setting(monkeypatch, server, tmp_path / "cache", PROMPT_PRICE="1", REPLY_PRICE="2")
        server.plan = [Misbehaviour(500)]
        first = run("llm", level, 4, tmp_path / "out")
        assert (len(first.rows), first.failed) == (3, 1)
        assert first.marks == ["4 of 100 games", "1 of 4 games missing"]
        sent = len(server.seen)
        whole = run("llm", level, 4, tmp_path / "out")
        assert [row.success for row in whole.rows] == [True, False, True, False]
        again = run("llm", level, 4, tmp_path / "again")
        (spoilt,) = {0, 1, 2, 3} - {row.game for row in first.rows}
        assert len(server.seen) - sent == whole.rows[spoilt].requests, "only the spoilt game was played again"
        total = len(server.seen)
        assert run("llm", level, 4, tmp_path / "third").rows == again.rows == whole.rows
        assert len(server.seen) == total, "all replies came from the cache"
    assert again.rows[0].cost > 0
    assert again.rows[0].prompt_tokens > 100
    assert again.served
    kept = ModelResult.read(tmp_path / "again" / f"{level}.json")
    assert kept == again
    assert kept.verify() == []
    assert "| `models-clarification-v1` | llm |" in markdown([kept])


def test_other_settings_cannot_share_a_folder_or_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = "models-viewpoint-v1"
    known = answers(level, 2)
    with llm_server(lambda messages: known[messages[-1]["content"]]) as server:
        setting(monkeypatch, server, tmp_path / "cache")
        strict = run("llm", level, 2, tmp_path / "out")
        monkeypatch.setenv("IGLU_MARL_LLM_TEMPERATURE", "0.7")
        with pytest.raises(ConfigError, match=r"other settings: profile\.temperature"):
            run("llm", level, 2, tmp_path / "out")
        warm = run("llm", level, 2, tmp_path / "warm", max_requests=1)
    assert strict.setting != warm.setting
    assert warm.marks[:2] == ["temperature=0.7", "max_requests=1"]
    (pair,) = compare([strict, warm])
    assert pair.difference.value == 0
    assert "they differ" in markdown([strict, warm])
    tasks = run("oracle", level, 3, tmp_path / "three")
    assert compare([strict, tasks]) == []


@pytest.mark.parametrize(
    ("settings", "at_once", "groups", "many"),
    [
        (None, 3, [[4], [5], [6]], 1),
        (
            LLMSettings("m", endpoint="http://localhost:1", concurrency=4, batch_size=2),
            None,
            [[4], [5], [6]],
            4,
        ),
        (LLMSettings("m", endpoint="http://localhost:1", concurrency=4, batch_size=2), 3, [[4], [5], [6]], 3),
        (LLMSettings("m", batch_size=2), 3, [[4, 5], [6]], 1),
    ],
    ids=["no model", "endpoint", "endpoint, fewer at once", "local"],
)
def test_local_models_play_in_batches_and_remote_ones_at_once(
    settings: LLMSettings | None, at_once: int | None, groups: list[list[int]], many: int
) -> None:
    seat = ModelSeat(next(iter(PLAYERS)))
    seat.settings = settings
    assert seat.groups([4, 5, 6], at_once) == (groups, many)


def test_a_private_seed_is_committed_to(tmp_path: Path) -> None:
    level = "models-viewpoint-v1"
    with pytest.raises(ConfigError, match="salt"):
        run("oracle", level, 2, tmp_path / "no", seed=5)
    result = run("oracle", level, 2, tmp_path / "out", seed=5, salt="a long salt")
    assert result.seed is None
    assert '"seed": 5' not in (tmp_path / "out" / f"{level}.json").read_text()
    assert result.commitment == commitment(5, "a long salt")
    assert result.verify() == ["the seed of the tasks is not published"]
    assert result.verify(5, "a long salt") == []
    assert result.verify(5, "another one") != []
    assert result.verify(6, "a long salt") != []


def test_edited_games_do_not_agree_with_their_replies(tmp_path: Path) -> None:
    result = run("oracle", "models-viewpoint-v1", 2, tmp_path)
    row = result.rows[0]._replace(replies=('{"edits": []}',))
    changed = ModelResult(**{**result.__dict__, "rows": (row, result.rows[1])})
    assert changed.verify() == ["game 0 has another outcome"]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The content of a result file with all its parts."""
    made = run("oracle", "models-viewpoint-v1", 2, tmp_path_factory.mktemp("played"))
    row = made.rows[0]._replace(failures={"timeout": 1})
    whole = ModelResult(**{**made.__dict__, "rows": (row, made.rows[1]), "served": ["a server"]})
    content: dict[str, Any] = json.loads(json.dumps(whole.to_json()))
    return content


def test_the_format_has_the_fields_of_its_classes(played: dict[str, Any]) -> None:
    assert set(ROW_SCHEMA) == set(GameRow._fields)
    assert set(FILE_SCHEMA) == set(played)


@pytest.mark.parametrize("way", list(places(FILE_SCHEMA)), ids=lambda way: ".".join(map(str, way)))
def test_every_field_is_there_and_has_its_type(
    played: dict[str, Any], tmp_path: Path, way: tuple[Any, ...]
) -> None:
    path = tmp_path / "result.json"
    for content in broken(played, way):
        if way == ("profile", None) or (way == ("seed",) and content.get("seed", 0) is None):
            continue  # a setting may be anything, and a seed unknown
        path.write_text(json.dumps(content))
        with pytest.raises(DataError, match=r"result\.json"):
            ModelResult.read(path)


@pytest.mark.parametrize("games", [[1, 0], [0, 0], [0, 2]])
def test_games_are_counted(played: dict[str, Any], tmp_path: Path, games: list[int]) -> None:
    rows = [{**row, "game": game} for row, game in zip(played["rows"], games, strict=True)]
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**played, "rows": rows}))
    with pytest.raises(DataError, match=r"expected some of 0\.\.1 in order"):
        ModelResult.read(path)


def test_intervals_are_of_units_and_never_without_width(tmp_path: Path) -> None:
    best = run("oracle", "models-viewpoint-v1", 10, tmp_path / "a")
    assert score_interval(best).low < 0.8
    few = ModelResult(**{**best.__dict__, "rows": [row._replace(unit="one") for row in best.rows]})
    assert score_interval(few).low < 0.25, "ten games of one structure say as much as one"
    worst = run("silent", "models-viewpoint-v1", 10, tmp_path / "b")
    (pair,) = compare([best, worst])
    assert (pair.difference.value, pair.p < 0.01) == (1, True)
    assert 0.2 < pair.difference.low < 0.6
    assert pair.difference.high == 1
    (pair,) = compare([worst, worst])
    assert (pair.difference.value, pair.p) == (0, 1)
    assert 0.1 < pair.difference.high == -pair.difference.low < 0.4


def test_what_it_costs_is_known_before() -> None:
    settings = LLMSettings(model="m", prompt_price=1.0, reply_price=4.0)
    (one,) = estimate(["models-viewpoint-v1"], games=10, settings=settings)
    assert (one["requests"], one["most_requests"], one["games"]) == (10, 30, 10)
    assert one["cost"] == pytest.approx((one["prompt_tokens"] + 4 * one["reply_tokens"]) / 1e6, rel=0.02)
    assert one["prompt_tokens"] > 3000


def test_two_models_play_together(tmp_path: Path) -> None:
    level = find_level("models-pair-v1")
    assert level.role == "both"
    silent = run("oracle", level.name, 1, tmp_path / "a", partner="silent")
    assert silent.profile["builder"] == {"player": "silent"}
    assert (silent.rows[0].score, len(silent.rows[0].replies)) == (0, 40)


def test_a_team_is_told_what_it_sees_and_no_more(tmp_path: Path) -> None:
    """The reader as an architect knows only its side, which it cannot describe block by block; the oracle knows all."""
    assert [
        run(name, "models-team-v1", 2, tmp_path / name).rows[0].score for name in ("oracle", "reader")
    ] == [
        1,
        0,
    ]


def test_pictures_are_sent_to_models_that_read_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint answers by the pictures alone; another model skips the level."""
    level, replies = find_level("models-pictures-v1"), dict[str, str]()
    for number in range(3):
        game, chat = level.start(number)
        replies[json.dumps(chat[1]["content"][1:])] = PLAYERS["oracle"](game, chat)
    with llm_server(lambda messages: replies[json.dumps(messages[-1]["content"][1:])]) as server:
        setting(monkeypatch, server, tmp_path / "cache", PICTURES="1")
        result = run("llm", level.name, 3, tmp_path / "seen")
        assert [row.score for row in result.rows] == [1, 1, 1]
        assert result.verify() == []
        setting(monkeypatch, server, tmp_path / "cache", PICTURES="0")
        notes: list[str] = []
        options: dict[str, Any] = {"output": tmp_path / "unseen", "progress": notes.append}
        assert run_models("llm", [level.name], games=3, **options) == []
        assert "reads no pictures" in notes[0]
    paid = LLMSettings(model="m", endpoint="http://x/v1", pictures=True, picture_tokens=900)
    (one,) = estimate([level.name], games=2, settings=paid)
    assert one["prompt_tokens"] > 2 * 2 * 900


def test_what_is_seen_in_pictures_means_what_it_says() -> None:
    """The texts are read here by the camera's projection."""
    level = find_level("models-pictures-v1")
    for number in range(100):
        (one,) = level.game(number).rounds
        assert one.pose is not None
        camera = Camera(one.pose, EYE_LENS, (256, 256))
        cells = [(x - 5, y - 1, z - 5) for y, x, z in np.argwhere(one.start).tolist()]
        columns = camera.project(np.array(cells, float))[:, 0]
        assert ((columns > 0) & (columns < 256)).all(), "all blocks are in view"
        far = [math.dist(cell, one.pose[:3]) for cell in cells]
        named, side = re.search(r"the (\w+) block", one.text), re.search(r"directly (.*) the", one.text)
        assert named
        assert side
        first = {
            "leftmost": columns.argmin(), "rightmost": columns.argmax(),
            "nearest": np.argmin(far), "farthest": np.argmax(far),
        }[named[1]]  # fmt: skip
        y, x, z = np.argwhere(one.start != one.target)[0].tolist()
        ahead, right = camera.axes[2] * [1, 0, 1], camera.axes[0]
        step = {
            "to the left of": -right, "to the right of": right, "behind": ahead, "in front of": -ahead,
        }[side[1]]  # fmt: skip
        assert (x - 5, y - 1, z - 5) == tuple(np.rint(np.array(cells[first]) + step / np.linalg.norm(step)))


def test_a_refused_key_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server() as server:
        setting(monkeypatch, server, tmp_path / "cache")
        server.always = Misbehaviour(401)
        with pytest.raises(ServiceRefusedError):
            run("llm", "models-viewpoint-v1", 3, tmp_path / "out")


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["iglu-marl", "llm", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), capsys.readouterr().out

    level, out = "models-viewpoint-v1", str(tmp_path / "out")
    code, said = call("benchmark", "oracle", "--level", level, "--episodes", "2", "-o", out)
    assert code == 0
    assert f"| `{level}` | oracle |" in said
    code, said = call("report", f"{out}/{level}.json", "--verify")
    assert (code, "100.0" in said) == (0, True)
    code, said = call("benchmark", "--level", level, "--llm-model", "m", "--dry-run", "--json")
    assert (code, json.loads(said)[0]["games"]) == (0, 100)


def test_unknown_levels_and_agents_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="models-absolute-v0"):
        run_models("oracle", ["models-absolute-v0"], output=tmp_path)
    with pytest.raises(ConfigError, match="oracle"):
        run_models("nobody", output=tmp_path)


@pytest.mark.slow
def test_what_people_asked_for_is_played_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(shared_folder() / "data"))
    result = run("oracle", "models-human-v1", 20, tmp_path)
    assert all(row.success for row in result.rows)
    assert len({row.unit for row in result.rows}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_pays_for_no_reply_twice(
    end: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """32 games in flight. After a kill only requests whose reply had not arrived are sent again."""
    level, games = "models-clarification-v1", 48
    known, sent = answers(level, games), Counter[str]()

    all_there = threading.Barrier(32)

    def answer(messages: list[dict[str, Any]]) -> str:
        sent[messages[-1]["content"]] += 1
        if sum(sent.values()) <= 32:
            all_there.wait(60)
        time.sleep(0.2)
        return known[messages[-1]["content"]]

    with llm_server(answer) as server:
        setting(monkeypatch, server, tmp_path / "cache", CONCURRENCY="32")
        words = ["llm", "benchmark", "--level", level, "--episodes", str(games), "-o", tmp_path / "out"]
        with subprocess.Popen(
            [sys.executable, "-m", "iglu_marl", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell may have ignored it
        ) as job:
            while sum(sent.values()) < 34 and job.poll() is None:
                time.sleep(0.02)
            job.send_signal(end)
            job.wait(60)
        assert job.returncode != 0
        assert server.most_at_once == 32
        result = run("llm", level, games, tmp_path / "out")
    assert len(result.rows) == games
    twice = sum(count - 1 for count in sent.values())
    assert twice == 0 if end is signal.SIGINT else twice <= 32
    assert sum(row.requests for row in result.rows) == len(sent)
