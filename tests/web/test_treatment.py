"""What a study does to its participants, and what its tables say: tutorial, practice, words, ends, clocks, locks."""

from __future__ import annotations

import csv
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from test_server import PLACE_RED, Player, joined, only_room
from test_study import ask, rows_of, serving, to_the_game, until_stage, written

from iglu_marl import DataError
from iglu_marl.web import clock
from iglu_marl.web.exporting import export_study
from iglu_marl.web.locks import FileLock
from iglu_marl.web.rehearsal import Crowd, run_rehearsal
from iglu_marl.web.rooms import Rooms
from iglu_marl.web.store import EVENTS, Store
from iglu_marl.web.study import read_study

STUDY = """
name = "words"
instructions = "Build."
least_s = 0
"""
BUILDS = """
[[conditions]]
name = "builds"
partner = "scripted"
tasks = ["one-red"]
"""


def events(client: TestClient) -> list[tuple[str, dict[str, Any]]]:
    store: Store = client.app.state.sessions.store  # type: ignore[attr-defined]
    rows = store.do(lambda one: one.execute(EVENTS.select().order_by(EVENTS.c.id)).mappings().all())
    return [(row["kind"], json.loads(row["detail"])) for row in rows]


def leave(client: TestClient, token: str) -> None:
    """Enter the next game, and leave it at once."""
    with joined(client, ask(client, "game", token=token)["play"]) as player:
        player.until("status", state="playing")
        player.send(t="leave")
        with pytest.raises(WebSocketDisconnect):
            player.until("never")


def build(player: Player) -> None:
    player.until("status", state="playing")
    for frame in PLACE_RED:
        player.frame(**frame)


@pytest.mark.parametrize("end", ["done", "skipped"])
def test_the_tutorial_is_a_game_before_practice(tmp_path: Path, end: str) -> None:
    text = f'{STUDY}practice = ["one-blue"]\ntutorial = "before practice"\n{BUILDS}'
    with serving(written(tmp_path, text), tmp_path / "games") as client:
        token = to_the_game(client, "P1")
        view = ask(client, "enter", token=token)
        assert (view["tutorial"], view["step"], view["steps"]) == (True, 2, 4)
        with joined(client, ask(client, "game", token=token)["play"]) as player:
            assert player.until("welcome")["coach"] is True
            player.send(t="tutorial", step="looked")
            player.send(t="tutorial", step=end)
            assert player.until("status", state="over")["how"] == "tutorial"
        leave(client, token)  # the practice
        with joined(client, ask(client, "game", token=token)["play"]) as player:
            assert player.until("welcome")["coach"] is False
        found = events(client)
    assert [detail["step"] for kind, detail in found if kind == "tutorial"] == ["looked", end]


@pytest.mark.parametrize(
    ("until", "again"), [("", False), ("complete", True), ("blocks:1", True), ("minutes:1", True)]
)
def test_practice_has_a_criterion(tmp_path: Path, until: str, again: bool) -> None:
    text = f'{STUDY}practice = ["one-red"]\npractice_until = "{until}"\n{BUILDS}'
    with serving(written(tmp_path, text), tmp_path / "games") as client:
        token = to_the_game(client, "P1")
        leave(client, token)
        until_stage(client, token, "game")
        for _ in range(100):
            if any(kind == "practice" for kind, _ in events(client)):
                break
        assert ask(client, "enter", token=token)["practice"] is again
        found = [detail for kind, detail in events(client) if kind == "practice"]
        assert found == [{"game": 0, "why": "pressed Leave", "met": not again}]
        with joined(client, ask(client, "game", token=token)["play"]) as player:
            build(player)
            how = player.until("status", state="over")["how"]
        assert how == "complete"
        until_stage(client, token, "done" if not again else "game")


def test_the_tables_say_who_said_what_and_why_a_game_ended(tmp_path: Path) -> None:
    text = f'{STUDY}practice = ["one-red"]\n{BUILDS}'
    study, folder = written(tmp_path, text), tmp_path / "games"
    with serving(study, folder) as client:
        token = to_the_game(client, "P1")
        leave(client, token)
        with joined(client, ask(client, "game", token=token)["play"]) as player:
            player.until("status", state="playing")
            player.until("frame")
            player.send(t="say", text="=What now?", how="typed", typed_s=2.5, n=1)
            player.until("said")
            for frame in PLACE_RED:
                player.frame(**frame)
            player.until("status", state="over")
        store: Store = client.app.state.sessions.store  # type: ignore[attr-defined]
        client.portal.call(client.app.state.sessions.settle)  # type: ignore[attr-defined,union-attr]
        out = tmp_path / "out"
        out.mkdir()
        paths, counts = export_study(store, "words", folder, out, sessions=True)
    games = rows_of(out / "games.csv")
    assert [(row["practice"], row["how"], row["why"]) for row in games] == [
        ("1", "left", "pressed Leave"),
        ("0", "complete", "complete"),
    ]
    said = rows_of(out / "messages.csv")
    (mine,) = [row for row in said if row["code"]]
    assert (mine["code"], mine["player"], mine["to"], mine["text"]) == (
        "P1",
        "builder",
        "architect",
        "'=What now?",
    )
    assert (mine["how"], mine["typed_s"], mine["game"], mine["practice"]) == ("typed", "2.5", "1", "0")
    assert abs(float(mine["at"]) - clock.time()) < 60
    theirs = [row for row in said if not row["code"]]
    assert {(row["player"], row["agent"], row["to"]) for row in theirs} <= {
        ("architect", "scripted", "builder")
    }
    (version,) = rows_of(out / "versions.csv")
    assert (out / version["file"]).read_text("utf-8") == text
    assert len(paths) == 2
    assert sum(counts.values()) == 2, counts


def test_a_second_tab_and_a_return_are_told_apart(tmp_path: Path) -> None:
    with serving(written(tmp_path, STUDY + BUILDS), tmp_path / "games") as client:
        token = to_the_game(client, "P1")
        seat = ask(client, "game", token=token)["play"]
        rooms: Rooms = client.app.state.rooms  # type: ignore[attr-defined]

        async def enter(page: str) -> None:
            rooms.enter(seat, page)

        for page in ("a", "a", "b"):
            client.portal.call(enter, page)  # type: ignore[union-attr]
        client.portal.call(client.app.state.sessions.settle)  # type: ignore[attr-defined,union-attr]
        kinds = [kind for kind, _ in events(client) if kind in ("joined", "away", "back", "elsewhere")]
    assert kinds == ["joined", "away", "back", "elsewhere"]


def test_a_clock_that_was_wrong_expires_nobody_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(written(tmp_path, f"{STUDY}minutes = 10\n{BUILDS}"), tmp_path / "games") as client:
        token = to_the_game(client, "P1")
        now = clock.time
        monkeypatch.setattr(clock, "time", lambda: now() + 36_000)
        assert ask(client, "enter", token=token)["stage"] == "expired"
        monkeypatch.setattr(clock, "time", now)
        assert ask(client, "enter", token=token)["stage"] == "game"


def test_a_full_disk_pauses_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [1e6]
    monkeypatch.setattr(Rooms, "free_mb", property(lambda rooms: free[0]))
    with serving(written(tmp_path, STUDY + BUILDS), tmp_path / "games") as client:
        token = to_the_game(client, "P1")
        free[0] = 100.0
        assert ask(client, "game", token=token)["open"]  # it waits
        free[0] = 1e6
        with joined(client, ask(client, "game", token=token)["play"]) as player:
            player.until("status", state="playing")
            free[0] = 1.0
            assert player.until("status", state="paused")["paused"]
            free[0] = 1e6
            player.until("status", state="playing")

            def full(*_: Any) -> None:
                raise DataError("no space left")

            monkeypatch.setattr(only_room(client)._live, "tick", full)
            assert player.until("status", state="over")["how"] == "disk"
        until_stage(client, token, "game")
        assert "play" in ask(client, "game", token=token)  # again
        client.portal.call(client.app.state.sessions.settle)  # type: ignore[attr-defined,union-attr]


def test_a_lock_that_was_removed_is_taken_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / ".server"
    lock = FileLock(path, "the folder has a running server")
    lock.check()
    path.unlink()
    locked = path.with_name(f".{path.name}.lock")
    locked.unlink()
    with caplog.at_level(logging.ERROR):
        lock.check()
    assert "taken again" in caplog.text
    other = (
        "import sys; from pathlib import Path; from iglu_marl.web.locks import FileLock; "
        "kept = FileLock(Path(sys.argv[1]), 'taken')"
    )
    found = subprocess.run(
        [sys.executable, "-c", other, str(path)], capture_output=True, text=True, check=False
    )
    assert "taken: " in found.stderr
    locked.unlink()
    keep = f"{other}; print('mine', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", keep, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as second:
        assert second.stdout is not None
        assert second.stdout.readline() == "mine\n"
        with pytest.raises(DataError, match="the folder has a running server"):
            lock.check()
        second.communicate("\n")
    lock.close()


NOTEBOOK = Path(__file__).parents[2] / "docs/deploy/analysis.py"


def test_the_notebook_answers_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of docs/studies.md on a rehearsal of 40, beside the rows of the tables."""
    pandas = pytest.importorskip("pandas")
    text = f'{STUDY}consent = "Do you agree?"\npractice = ["one-red"]\ntutorial = "before practice"\n{BUILDS}'
    text += '[[conditions]]\nname = "explains"\nrole = "architect"\ntasks = ["one-red"]\n'
    from test_server import BLUE, RED

    study, folder = read_study(written(tmp_path, text)), tmp_path / "games"
    folder.mkdir()
    report, store = run_rehearsal(study, folder, {"one-red": RED, "one-blue": BLUE}, Crowd(40, 10.0))
    assert report["problems"] == []
    out = tmp_path / "words-study"
    out.mkdir()
    export_study(store, study.name, folder, out)
    code = NOTEBOOK.read_text("utf-8")
    assert len(code.splitlines()) <= 24
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pandas.plotting._core.PlotAccessor.__call__", lambda *_, **__: None)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 (our own file)
    with (out / "games.csv").open(encoding="utf-8") as file:
        games = [row for row in csv.DictReader(file) if row["practice"] == "0"]
    summary = names["summary"]
    assert int(summary["games"].sum()) == len(games)
    assert int(summary["right"].sum()) == sum(int(row["right"] or 0) for row in games)
    said = [row for row in rows_of(out / "messages.csv") if row["code"] and row["practice"] == "0"]
    assert int(summary["words"].sum()) == sum(len(row["text"].lstrip("'").split()) for row in said)
    assert isinstance(names["ends"], pandas.DataFrame)
    assert int(names["ends"].to_numpy().sum()) == len(games)
