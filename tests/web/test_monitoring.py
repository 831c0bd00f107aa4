"""Numbers for monitoring, a full disk, backups."""

from __future__ import annotations

import base64
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient
from test_pairing import GAMES, PEOPLE, meet, rows
from test_server import ORIGIN, RED, joined
from test_study import ask, to_the_game, written
from typer.testing import CliRunner

from iglu_marl.cli import app as command
from iglu_marl.web import ServerOptions, create_app
from iglu_marl.web import store as db
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.study import read_study

KEY = {"authorization": "Basic " + base64.b64encode(b"me:open sesame").decode()}


@contextmanager
def study(tmp_path: Path) -> Iterator[TestClient]:
    games = tmp_path / "games"
    games.mkdir(exist_ok=True)
    options = ServerOptions(
        folder=games,
        tasks={"one-red": RED},
        hosts=("testserver",),
        requests_per_s=10_000,
        secret="open sesame",
        wait_s=0.1,
    )
    sessions = Sessions(
        read_study(written(tmp_path, GAMES + PEOPLE)), db.Store(f"sqlite:///{games / 'studies.db'}")
    )
    with TestClient(create_app(options, sessions)) as client:
        yield client


def test_who_plays_and_who_is_there(tmp_path: Path) -> None:
    with study(tmp_path) as client:
        tokens = [to_the_game(client, f"P{number}") for number in range(3)]
        numbers = client.get("/metrics", headers=KEY).text
        assert 'iglu_marl_participants{condition="people",stage="game"} 3\n' in numbers
        assert "iglu_marl_games 0\n" in numbers
        seats = meet(client, *tokens[:2])
        with joined(client, seats[tokens[0]]) as one, joined(client, seats[tokens[1]]):
            one.until("status", state="playing")
            assert "iglu_marl_games_playing 1\n" in client.get("/metrics", headers=KEY).text
        with client.websocket_connect("/ws/study", headers=ORIGIN) as socket:
            socket.send_json({"t": "join", "token": tokens[2]})
            socket.receive_json()
        for _ in range(100):  # the server notices that a page is closed a moment later
            kinds = {row["kind"] for row in rows(client, db.EVENTS)}
            if "gone" in kinds:
                break
            time.sleep(0.05)
        assert {"waits", "gone"} <= kinds


def test_no_game_starts_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with study(tmp_path) as client:
        token = to_the_game(client, "P0")
        monkeypatch.setattr("iglu_marl.web.rooms.shutil.disk_usage", lambda _: type("", (), {"free": 10**8}))
        assert ask(client, "game", token=token)["open"]
        assert "iglu_marl_free_bytes 100000000" in client.get("/metrics", headers=KEY).text


def test_a_backup_while_the_server_runs(tmp_path: Path) -> None:
    with study(tmp_path) as client:
        to_the_game(client, "P0")
        place = [
            str(tmp_path / "study.toml"),
            "--folder",
            str(tmp_path / "games"),
            "-o",
            str(tmp_path / "copy.db"),
        ]
        assert CliRunner().invoke(command, ["study", "backup", *place]).exit_code == 0
        again = CliRunner().invoke(command, ["study", "backup", *place])
        assert again.exit_code != 0  # nothing is overwritten
    copy: Any = sqlite3.connect(tmp_path / "copy.db")
    assert copy.execute("SELECT code FROM participants").fetchall() == [("P0",)]
    copy.close()
