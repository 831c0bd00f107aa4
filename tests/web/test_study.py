"""Studies: their files, the way of participants through them, the balance of conditions, the data that comes out."""

from __future__ import annotations

import asyncio
import csv
import importlib.util
import json
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx2")

from requirements import ROOT, require
from sqlalchemy import insert, text
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient
from test_server import BLUE, ORIGIN, PLACE_RED, RED, in_loop, joined, only_room
from typer.testing import CliRunner

from iglu_marl import ConfigError, DataError, Role, replay
from iglu_marl.cli import app as command
from iglu_marl.data import read_sessions
from iglu_marl.web import ServerOptions, create_app
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.store import ANSWERS as ANSWERED
from iglu_marl.web.store import EVENTS, GAMES, PARTICIPANTS, SCHEMAS, Store, advance, rows
from iglu_marl.web.study import read_study

STUDY = """
name = "words"
title = "Words and blocks"
consent = "We record what you do.\\n\\nDo you agree?"
instructions = "Build what you are told."
completion_code = "C0DE"
participant = "PROLIFIC_PID"

[[conditions]]
name = "precise"
partner = "scripted"
tasks = ["one-red"]

[[conditions]]
name = "vague"
partner = "vague"
tasks = ["one-red"]

[[questions]]
name = "fun"
text = "Was it fun?"
kind = "likert"
low = "no"
high = "yes"

[[questions]]
name = "what"
text = "What was hard?"
required = false

[[questions]]
name = "device"
text = "What have you used?"
kind = "choice"
options = ["mouse", "touch"]
"""
ARCHITECTS = """
[[conditions]]
name = "explains"
role = "architect"
partner = "scripted"
tasks = ["one-red"]
"""
CHECK = """
[[questions]]
name = "check"
text = "Please choose 5."
kind = "likert"
expected = "5"
"""
ANSWERS = {"fun": "6", "what": "=1+1", "device": "mouse"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "games"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def serving(study: Path, folder: Path, url: str | None = None) -> Iterator[TestClient]:
    folder.mkdir(exist_ok=True)
    store = Store(url or f"sqlite:///{folder / 'studies.db'}")
    tasks = {"one-red": RED, "one-blue": BLUE}
    options = ServerOptions(folder=folder, tasks=tasks, hosts=("testserver",), requests_per_s=10_000)
    with TestClient(create_app(options, Sessions(read_study(study), store))) as client:
        yield client


def ask(client: TestClient, path: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/study/{path}", json=body, headers=ORIGIN)
    reply: dict[str, Any] = answer.json()
    return {**reply, "status": answer.status_code}


def to_the_game(client: TestClient, code: str, **quiz: str) -> str:
    """Through consent, instructions and quiz; the participant's token."""
    reply = ask(client, "enter", code=code)
    token = str(reply["token"])
    if reply["stage"] == "consent":
        reply = ask(client, "next", token=token, stage="consent", agree=True)
    reply = ask(client, "next", token=token, stage="instructions")
    if quiz:
        reply = ask(client, "next", token=token, stage="quiz", answers=quiz)
    assert reply["stage"] == "game", reply
    return token


def build_red(client: TestClient, token: str) -> None:
    with joined(client, ask(client, "game", token=token)["play"]) as builder:
        builder.until("status", state="playing")
        for frame in PLACE_RED:
            builder.frame(**frame)
        assert builder.until("status", state="over")["how"] == "complete"


def stage_of(client: TestClient, token: str) -> str:
    return str(ask(client, "enter", token=token)["stage"])


def until_stage(client: TestClient, token: str, stage: str) -> None:
    for _ in range(200):
        if stage_of(client, token) == stage:
            return
    raise AssertionError(stage_of(client, token))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# -------------------------------------------------------------------------------------------------- participants


def test_from_consent_to_the_code(tmp_path: Path, folder: Path) -> None:
    study = written(tmp_path, STUDY)
    with serving(study, folder) as client:
        assert client.get("/").status_code == 200
        for path in ("/api/lobby", "/api/games"):  # nothing but the study
            assert client.get(path).status_code == 404
        assert client.post("/api/games", json={"role": "builder"}, headers=ORIGIN).status_code == 404
        assert client.get("/api/study/parameters").json()["parameter"] == "PROLIFIC_PID"
        assert ask(client, "enter", code="P1")["pages"] == [
            "<p>We record what you do.</p>\n<p>Do you agree?</p>\n"
        ]
        token = to_the_game(client, "P1")
        assert ask(client, "enter", code="P1")["token"] == token  # a reload
        build_red(client, token)
        until_stage(client, token, "questions")
        wrong = ask(client, "next", token=token, stage="questions", answers={"fun": "9"})
        assert wrong["status"] == 400
        reply = ask(client, "next", token=token, stage="questions", answers=ANSWERS)
        assert (reply["stage"], reply["code"]) == ("done", "C0DE")
        assert (
            ask(client, "next", token=token, stage="questions", answers=ANSWERS)["stage"] == "done"
        )  # twice
    runner = CliRunner()
    place = [str(study), "--folder", str(folder)]
    counts = json.loads(runner.invoke(command, ["study", "status", *place, "--json"]).stdout)
    assert [(row["stage"], row["participants"]) for row in counts] == [("done", 1)]
    backup = ["study", "backup", *place, "-o", str(tmp_path / "copy.db")]
    assert [bool(runner.invoke(command, backup).exit_code) for _ in range(2)] == [
        False,
        True,
    ]  # not overwritten
    copy = Store(f"sqlite:///{tmp_path / 'copy.db'}")
    assert [row["code"] for row in copy.do(rows, PARTICIPANTS, "words")] == ["P1"]
    out = tmp_path / "out"
    assert runner.invoke(command, ["study", "export", *place, "-o", str(out)]).exit_code == 0
    (person,) = rows_of(out / "participants.csv")
    assert (person["code"], person["stage"], "token" in person) == ("P1", "done", False)
    assert {row["question"]: row["answer"] for row in rows_of(out / "answers.csv")} == {
        **ANSWERS,
        "what": "'=1+1",
    }
    for kept in (*folder.iterdir(), out):  # recordings, the database and what is beside it, the export
        assert not kept.stat().st_mode & 0o077, kept
    (game,) = rows_of(out / "games.csv")
    assert (game["how"], game["right"], game["task"], game["role"]) == ("complete", "1", "one-red", "builder")
    assert replay(out / "recordings" / game["recording"]).completed
    assert (
        runner.invoke(command, ["study", "forget", str(study), "P1", "--folder", str(folder)]).exit_code == 0
    )
    assert not list(folder.glob("*.jsonl"))
    assert json.loads(runner.invoke(command, ["study", "status", *place, "--json"]).stdout) == []


def test_the_games_in_the_layout_of_iglu(tmp_path: Path, folder: Path) -> None:
    study = written(tmp_path, STUDY + ARCHITECTS)
    with serving(study, folder) as client:
        for number in range(6):
            token = to_the_game(client, f"P{number}")
            seat = ask(client, "game", token=token)["play"]
            with joined(client, seat) as player:
                player.until("status", state="playing")
                if player.heard[0]["role"] == "builder":
                    for frame in PLACE_RED:
                        player.frame(**frame)
                else:
                    player.send(t="say", text="Place a red block one north of the middle.")
                player.until("status", state="over")
            until_stage(client, token, "questions")
    out = tmp_path / "out"
    words = ["study", "export", str(study), "--folder", str(folder), "-o", str(out)]
    done = CliRunner().invoke(command, [*words, "--upstream"])
    assert done.exit_code == 0, done.output
    games = rows_of(out / "games.csv")
    sessions = {each.task_id: each for found in read_sessions(out / "sessions").values() for each in found}
    for game in games:
        again = replay(out / "recordings" / game["recording"])
        session = sessions.get(Path(game["recording"]).stem)
        if session is None:  # nobody spoke: the layout has no place for such a game
            assert not any(said.role == Role.ARCHITECT for said in again.dialogue)
            continue
        assert np.array_equal(session.structures[-1], again.grid)
        assert [str(said) for said in session.turns[-1]] == [str(said) for said in again.dialogue]
    assert any(game["role"] == "architect" for game in games if Path(game["recording"]).stem in sessions)


@pytest.mark.parametrize(("failed_checks", "stage", "code"), [(0, "done", "C0DE"), (1, "failed", "N0")])
def test_checks_of_attention(tmp_path: Path, folder: Path, failed_checks: int, stage: str, code: str) -> None:
    study = written(tmp_path, f'failed_checks = {failed_checks}\nfailed_code = "N0"\n{STUDY}{CHECK}')
    with serving(study, folder) as client:
        for name, answer, expected in (("A", "2", (stage, code)), ("B", "5", ("done", "C0DE"))):
            token = to_the_game(client, name)
            build_red(client, token)
            until_stage(client, token, "questions")
            assert "expected" not in json.dumps(ask(client, "enter", token=token))
            reply = ask(client, "next", token=token, stage="questions", answers={**ANSWERS, "check": answer})
            assert (reply["stage"], reply["code"]) == expected
        store = client.app.state.sessions.store  # type: ignore[attr-defined]
        passed = {(row["code"], row["question"]): row["passed"] for row in store.do(rows, ANSWERED, "words")}
        assert (passed["A", "check"], passed["B", "check"], passed["A", "fun"]) == (0, 1, None)


def test_the_time_of_a_participant_is_limited(tmp_path: Path, folder: Path) -> None:
    study = written(tmp_path, f'minutes = 5\nfailed_code = "LATE"\n{STUDY}')
    with serving(study, folder) as client:
        sessions = client.app.state.sessions  # type: ignore[attr-defined]
        token = to_the_game(client, "P1")
        with joined(client, ask(client, "game", token=token)["play"]) as builder:
            builder.until("status", state="playing")
            room = only_room(client)
            assert 200 < room.until - time.monotonic() <= 300
            in_loop(client, room.check, room.until + 1)
            assert builder.until("status", state="over")["how"] == "time"
        until_stage(client, token, "questions")
        sessions.store.do(lambda c: c.execute(PARTICIPANTS.update().values(came=PARTICIPANTS.c.came - 301)))
        reply = ask(client, "next", token=token, stage="questions", answers=ANSWERS)
        assert (reply["stage"], reply["code"]) == ("expired", "LATE")
        assert ask(client, "enter", code="P1")["stage"] == "expired"


def test_one_who_does_nothing_is_asked_and_noted(tmp_path: Path, folder: Path) -> None:
    study = written(tmp_path, f"idle_s = 40\n{STUDY}")
    with serving(study, folder) as client:
        token = to_the_game(client, "P1")
        with joined(client, ask(client, "game", token=token)["play"]) as builder:
            builder.until("status", state="playing")
            room = only_room(client)
            in_loop(client, room.check, time.monotonic() + 21)
            assert "Are you still there?" in builder.until("note")["text"]
            in_loop(client, room.check, time.monotonic() + 41)
            assert builder.until("status", state="over")["how"] == "idle"
        until_stage(client, token, "questions")
        store = client.app.state.sessions.store  # type: ignore[attr-defined]
        kinds = store.do(lambda c: [row.kind for row in c.execute(EVENTS.select())])
        assert kinds.count("idle") == 1


def test_who_does_not_agree_is_not_asked_again(tmp_path: Path, folder: Path) -> None:
    with serving(written(tmp_path, STUDY), folder) as client:
        token = ask(client, "enter", code="P1")["token"]
        assert ask(client, "next", token=token, stage="consent", agree=False)["stage"] == "refused"
        assert ask(client, "game", token=token) == {"stage": "refused", "status": 200}
        assert ask(client, "enter", code="P1")["stage"] == "refused"


def test_a_game_goes_on_after_a_restart(tmp_path: Path, folder: Path) -> None:
    study = written(tmp_path, STUDY)
    with serving(study, folder) as client:
        token = to_the_game(client, "P1")
        seat = ask(client, "game", token=token)["play"]
        with joined(client, seat) as builder:
            builder.until("status", state="playing")
            builder.frame(**PLACE_RED[0])
            tick = builder.until("frame", ack=1)["tick"]
    with serving(study, folder) as client:
        assert ask(client, "game", token=token)["play"] == seat
        with joined(client, seat) as builder:
            assert builder.until("frame", whole=True)["tick"] >= tick
            for frame in PLACE_RED[1:]:
                builder.frame(**frame)
            assert builder.until("status", state="over")["how"] == "complete"
        until_stage(client, token, "questions")
    (path,) = folder.glob("*.jsonl")
    assert replay(path).completed
    assert not list(folder.glob("*.seats"))


def test_an_end_that_was_not_noted_is_noted_after_a_restart(tmp_path: Path, folder: Path) -> None:
    study = written(tmp_path, STUDY)
    with serving(study, folder) as client:
        token = to_the_game(client, "P1")
        seat = ask(client, "game", token=token)["play"]
        client.app.state.rooms.room_of(seat).on_end.clear()  # type: ignore[attr-defined]  # as if killed then
        with joined(client, seat) as builder:
            builder.until("status", state="playing")
            for frame in PLACE_RED:
                builder.frame(**frame)
            builder.until("status", state="over")
    with serving(study, folder) as client:
        assert stage_of(client, token) == "questions"
        (game,) = client.app.state.sessions.store.do(lambda c: c.execute(GAMES.select()).mappings().all())  # type: ignore[attr-defined]
        assert (game["how"], game["right"]) == ("complete", 1)


def test_a_game_that_cannot_go_on_is_played_anew(tmp_path: Path, folder: Path) -> None:
    study = written(tmp_path, STUDY)
    with serving(study, folder) as client:
        token = to_the_game(client, "P1")
        ask(client, "game", token=token)
    (path,) = folder.glob("*.jsonl")
    path.write_text(path.read_text("utf-8").replace('"state":"', '"state":"x'), "utf-8")
    with serving(study, folder) as client:
        assert stage_of(client, token) == "game"
        build_red(client, token)
        until_stage(client, token, "questions")
    assert len(list(folder.glob("*.jsonl"))) == 2


def test_what_is_no_code_is_refused(tmp_path: Path, folder: Path) -> None:
    with serving(written(tmp_path, STUDY), folder) as client:
        for code in ("", "a b", "x" * 65, 3):
            assert ask(client, "enter", code=code)["status"] == 400
        assert "in place of your code" in ask(client, "enter", code="{{%PROLIFIC_PID%}}")["error"]
        assert ask(client, "enter", token="unknown")["status"] == 400
        assert ask(client, "game", token=3)["status"] == 400


def test_the_study_of_the_page_can_be_taken(tmp_path: Path, folder: Path) -> None:
    """docs/studies.md, followed literally: its file, with the tasks and agents that a server has."""
    (text,) = re.findall(
        r"```text\n(name = .*?)^```$", (ROOT / "docs/studies.md").read_text("utf-8"), re.M | re.S
    )
    study = written(tmp_path, text)
    folder.mkdir()
    options = ServerOptions(folder=folder, hosts=("testserver",))
    sessions = Sessions(read_study(study), Store(f"sqlite:///{folder / 'studies.db'}"))
    with TestClient(create_app(options, sessions)) as client:
        assert client.get("/api/study/parameters").json()["parameter"] == "PROLIFIC_PID"
        token = to_the_game(client, "me", who="ask")
        assert ask(client, "enter", token=token)["practice"]
        with joined(client, ask(client, "game", token=token)["play"]) as player:
            player.until("status", state="playing")
        stage = ask(client, "enter", token=token)
        assert stage["game"] == 1
        assert stage["practice"]  # it was left, and is played again
    done = CliRunner().invoke(command, ["study", "forget", str(study), "me", "--folder", str(folder)])
    assert done.exit_code == 0, done.output


# ------------------------------------------------------------------------------------------ many, and a database


def simulate(study: Path, folder: Path, url: str | None = None) -> list[dict[str, str]]:
    """40 participants at once: some leave, some reload, some open a second tab. Returns the exported rows."""
    rng = np.random.default_rng(3)
    fates = [str(fate) for fate in rng.choice(["whole", "whole", "drop", "tabs"], 40)]
    with serving(study, folder, url) as client:

        def take_part(number: int) -> None:
            code, fate = f"P{number}", fates[number]
            if fate == "tabs":
                with ThreadPoolExecutor(2) as tabs:
                    tokens = {
                        reply["token"]
                        for reply in tabs.map(lambda _: ask(client, "enter", code=code), range(2))
                    }
                assert len(tokens) == 1
            token = to_the_game(client, code)
            if fate == "drop":
                return
            if fate == "tabs":
                with ThreadPoolExecutor(2) as tabs:
                    seats = {
                        reply["play"]
                        for reply in tabs.map(lambda _: ask(client, "game", token=token), range(2))
                    }
                assert len(seats) == 1
            build_red(client, token)
            until_stage(client, token, "questions")
            assert ask(client, "next", token=token, stage="questions", answers=ANSWERS)["code"] == "C0DE"

        with ThreadPoolExecutor(4) as crowd:
            list(crowd.map(take_part, range(40)))
    store = Store(url or f"sqlite:///{folder / 'studies.db'}")
    store.close()
    out = folder.parent / "out"
    place = [str(study), "--folder", str(folder), *(["--db", url] if url else []), "-o", str(out)]
    assert CliRunner().invoke(command, ["study", "export", *place]).exit_code == 0
    people, games = rows_of(out / "participants.csv"), rows_of(out / "games.csv")
    stages = json.loads(CliRunner().invoke(command, ["study", "status", *place[:-2], "--json"]).stdout)
    counted = Counter((row["condition"], row["stage"]) for row in people)
    assert {(row["condition"], row["stage"]): row["participants"] for row in stages} == counted
    balance = Counter(row["condition"] for row in people)
    assert sorted(balance.values()) == [20, 20]
    finished = {f"P{number}" for number, fate in enumerate(fates) if fate != "drop"}
    assert {row["code"] for row in people if row["stage"] == "done"} == finished
    assert {row["code"] for row in rows_of(out / "answers.csv")} == finished
    assert sorted(row["code"] for row in games) == sorted(finished)
    recordings = {path.name for path in (out / "recordings").iterdir()}
    assert recordings == {game["recording"] for game in games}
    return people


def postgres_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.mark.slow
def test_forty_participants_in_postgresql(tmp_path: Path, folder: Path) -> None:
    programs = postgres_programs()
    require("postgresql", programs is not None and has_psycopg(), "PostgreSQL or psycopg is not installed")
    assert programs is not None
    with tempfile.TemporaryDirectory(
        prefix="pg"
    ) as place:  # a short name: sockets have one of 100 characters
        root = os.getuid() == 0
        if root:
            account = pwd.getpwnam("postgres")
            os.chown(place, account.pw_uid, account.pw_gid)
        prefix = ["runuser", "-u", "postgres", "--"] if root else []

        def run(*words: str) -> None:
            subprocess.run([*prefix, *words], check=True, capture_output=True, cwd=place, timeout=60)

        run(str(programs / "initdb"), "-D", f"{place}/data", "-A", "trust", "-U", "tester")
        options = f"-c listen_addresses= -c unix_socket_directories={place} -c fsync=off"
        run(
            str(programs / "pg_ctl"),
            "-D",
            f"{place}/data",
            "-w",
            "-l",
            f"{place}/log",
            "-o",
            options,
            "start",
        )
        try:
            url = f"postgresql+psycopg://tester@/postgres?host={place}"
            simulate(written(tmp_path, STUDY), folder, url)
            own_a_study(Store(url), Store(url))
            take_a_lost_lock_again(Store(url), Store(url))
        finally:
            run(str(programs / "pg_ctl"), "-D", f"{place}/data", "-m", "immediate", "stop")


def has_psycopg() -> bool:
    return importlib.util.find_spec("psycopg") is not None and shutil.which("runuser") is not None


def take_a_lost_lock_again(one: Store, other: Store) -> None:
    """The server of the database ends all connections, as with a restart."""
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname <> '' AND pid <> pg_backend_pid()"
    one.own("words")
    other.do(lambda connection: connection.execute(text(ends)))
    for _ in range(2):  # the loss is noticed, and the lock taken
        asyncio.run(one.check_lock())
    with pytest.raises(DataError, match="has a running server"):
        other.own("words")
    other.do(lambda connection: connection.execute(text(ends)))
    other.own("words")
    asyncio.run(one.check_lock())
    with pytest.raises(DataError, match="has a running server"):
        asyncio.run(one.check_lock())
    other.close()
    one.close()


def own_a_study(one: Store, other: Store) -> None:
    one.own("words")
    with pytest.raises(
        DataError, match=f"'words' has a running server on this database: .*process {os.getpid()}"
    ):
        other.own("words")
    other.own("others")
    one.close()
    other.own("words")
    other.close()


def test_a_study_has_one_server(tmp_path: Path) -> None:
    own_a_study(*(Store(f"sqlite:///{tmp_path / 'x.db'}") for _ in range(2)))


@pytest.mark.parametrize(
    ("version", "reads"), [(4, "release that wrote it"), (99, "a newer iglu_marl reads it")]
)
def test_tables_of_another_version_are_refused(version: int, reads: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    store = Store(url)
    store.do(lambda connection: connection.execute(SCHEMAS.update().values(version=version)))
    store.close()
    with pytest.raises(DataError, match=reads):
        Store(url)


def test_a_damaged_database_is_refused_in_words(tmp_path: Path, folder: Path) -> None:
    """By the server, and by the commands."""
    study = written(tmp_path, STUDY)
    with serving(study, folder) as client:
        to_the_game(client, "P1")
    path = folder / "studies.db"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"seen FLOAT", b"sean FLOAT"))  # in the table's definition
    with pytest.raises(DataError, match=r"the database cannot be used: .*no such column"):
        Sessions(read_study(study), Store(f"sqlite:///{path}"))
    words = ["study", "export", str(study), "--folder", str(folder), "--output", str(tmp_path / "out")]
    assert isinstance(CliRunner().invoke(command, words).exception, DataError)


def test_a_full_database_refuses_newcomers_and_keeps_the_others(tmp_path: Path, folder: Path) -> None:
    with serving(written(tmp_path, STUDY), folder) as client:
        token = to_the_game(client, "first")
        store = client.app.state.sessions.store  # type: ignore[attr-defined]
        pages = store.do(lambda one: one.execute(text("PRAGMA page_count")).scalar())
        store.do(lambda one: one.execute(text(f"PRAGMA max_page_count = {pages}")))
        found = [ask(client, "enter", code=f"P{number}")["status"] for number in range(500)]
        assert set(found) == {200, 503}
        store.do(lambda one: one.execute(text("PRAGMA max_page_count = 1000000")))
        assert stage_of(client, token) == "game"
        for code in ("P0", "P499"):
            assert to_the_game(client, code)


@pytest.mark.parametrize("url", ["nonsense", "nosuch://x"])
def test_databases_that_cannot_be(url: str) -> None:
    with pytest.raises(ConfigError):
        Store(url)


# --------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("name = \"words\"", "name = \"a b\""), "letters"),
        (("name = \"words\"", ""), "the name of the file is None"),
        (("title =", "titel ="), "titel"),
        (("kind = \"likert\"", "kind = \"stars\""), "stars"),
        (("options = [\"mouse\", \"touch\"]", ""), "options of 'device'"),
        (("options = [\"mouse\", \"touch\"]", "options = \"mouse\""), "list"),
        (("tasks = [\"one-red\"]", ""), "tasks of 'precise'"),
        (("name = \"vague\"", "name = \"precise\""), "each once"),
        (("title = ", "wait_s = true\ntitle = "), "wait_s"),
        (("[[conditions]]", "[conditions"), "study.toml"),
        (("title = ", "failed_checks = 1\ntitle = "), "expected 0..0"),
        (("title = ", "idle_s = 0\ntitle = "), "idle_s"),
        (("required = false", "kind = \"likert\"\nexpected = \"9\""), "fits the question"),
        (("title =", "pairing = \"often\"\ntitle ="), "pairing of 'words' is 'often', expected 'fixed' or 'rotate'"),
        (("title =", "pairing = \"rotate\"\nroles = \"swap\"\ntitle ="), "pairing is 'rotate', expected 'fixed' with"),
        (("partner = \"scripted\"", "partner = 3"), "partner of 'precise' is 3, expected a str"),
        (("partner = \"scripted\"", "role = \"judge\""), "'precise' is 'judge', expected architect or builder"),
        (("[[questions]]\nname = \"fun\"", "[[quiz]]\nname = \"fun\""), "expected the right answer"),
        (("kind = \"likert\"", "when = \"soon\""), "'before' or 'between' or 'after'"),
        *((("title =", f"{key}\ntitle ="), expected) for key, expected in {
            "devices = [\"watch\"]": "mouse, touch", "partner_name = \"Alex\"": "expected 'always' or 'never'",
            "quiz_tries = 0": "more than 0", "links = \"secret\"": "'open' or 'signed'",
            "reader = \"rules\"": "'grammar' or 'model'",
            "tutorial = \"before practice\"": "without practice", "tutorial = \"always\"": "'before practice' or 'off'",
            "practice_until = \"blocks:0\"": "'blocks:3'", "practice_until = \"soon\"": "'blocks:3'",
        }.items()),
    ],
)  # fmt: skip
def test_files_that_are_no_study(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    assert change[0] in STUDY
    with pytest.raises(ConfigError, match=expected) as error:
        read_study(written(tmp_path, STUDY.replace(*change)))
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize("change", [("one-red", "nothing"), ('partner = "vague"', 'partner = "oracle"')])
def test_studies_that_the_server_cannot_run(tmp_path: Path, folder: Path, change: tuple[str, str]) -> None:
    with pytest.raises(ConfigError), serving(written(tmp_path, STUDY.replace(*change)), folder):
        pass


def test_a_busy_database_is_tried_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)

    def work(_: Any) -> str:
        if len(pauses) < 6:
            raise OperationalError("INSERT", None, Exception("database is locked"))
        return "written"

    monkeypatch.setattr("iglu_marl.web.store.asyncio.sleep", sleep)
    store = Store(f"sqlite:///{tmp_path / 'study.db'}")
    assert asyncio.run(store.keep(work)) == "written"
    assert pauses == [0.5, 1, 2, 5, 5, 5]


@pytest.mark.parametrize(
    ("wrong", "moves"),
    [({}, True), *(({name: value}, False) for name, value in (
        ("participant", 2), ("before", "consent"), ("before", "quiz"), ("game", 0), ("game", 2),
    ))],
)  # fmt: skip
def test_only_the_tab_that_knows_the_stage_moves_a_participant_on(
    wrong: dict[str, Any], moves: bool, tmp_path: Path
) -> None:
    store = Store(f"sqlite:///{tmp_path / 'study.db'}")
    where = {"participant": 1, "before": "game", "game": 1, **wrong}

    def work(connection: Any) -> tuple[bool, list[Any]]:
        connection.execute(insert(PARTICIPANTS).values(id=1, study="words", stage="game", game=1))
        done = advance(connection, after="questions", next_game=2, **where)
        return done, [tuple(row) for row in connection.execute(text("SELECT stage, game FROM participants"))]

    assert store.do(work) == (moves, [("questions", 2) if moves else ("game", 1)])
