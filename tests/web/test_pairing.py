"""Pairs of a study: who waits for whom, what stays over all games, and what follows when somebody goes."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx2")

from sqlalchemy import text
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from test_server import ORIGIN, PLACE_RED, Player, joined
from test_study import ask, rows_of, serving, to_the_game, until_stage, written

from iglu_marl import ConfigError
from iglu_marl.web import store as db
from iglu_marl.web.pairing import GONE_S, READY_S, Queue

GAMES = """
name = "pairs"
completion_code = "C0DE"
left_code = "LEFT"
dismissed_code = "S0RRY"
wait_s = 30
least_s = 5
"""
PEOPLE = """
[[conditions]]
name = "people"
partner = "person"
role = "architect"
tasks = ["one-red", "one-red", "one-red"]
"""


@contextmanager
def study(tmp_path: Path, keys: str = "", conditions: str = PEOPLE) -> Iterator[TestClient]:
    with serving(written(tmp_path, GAMES + keys + conditions), tmp_path / "games") as client:
        yield client


def rooms(client: TestClient) -> list[Any]:
    return [room for room in client.app.state.rooms.rooms.values() if not room.over]  # type: ignore[attr-defined]


def meet(client: TestClient, *tokens: str) -> dict[str, str]:
    """All ask until they have a game; their seats."""
    seats: dict[str, str] = {}
    deadline = time.monotonic() + 20
    for token in itertools.cycle(tokens):
        assert time.monotonic() < deadline
        if "play" in (answer := ask(client, "game", token=token)):
            seats[token] = answer["play"]
        if len(seats) == len(tokens):
            return seats
    raise AssertionError


def play(client: TestClient, seats: dict[str, str], leaves: str = "") -> dict[str, str]:
    """Play a game to its end by placing the block, or until one leaves; what each plays."""
    with contextlib.ExitStack() as stack:
        players = {token: stack.enter_context(joined(client, seat)) for token, seat in seats.items()}
        roles = {token: player.until("welcome")["player"] for token, player in players.items()}
        for player in players.values():
            player.until("status", state="playing")
            player.send(t="say", text="Hello!")
        room = rooms(client)[0]
        deadline = time.monotonic() + 10
        while not all(seat.acted_at for seat in room.seats.values() if seat.agent is None):
            assert time.monotonic() < deadline
        if leaves:
            players[leaves].send(t="leave")
        else:
            builder = next(token for token, role in roles.items() if role.startswith("builder"))
            for frame in PLACE_RED:
                players[builder].frame(**frame)
        for token, player in players.items():
            if token != leaves:
                player.until("status", state="over")
    return roles


def rows(client: TestClient, table: Any) -> list[dict[str, Any]]:
    store = client.app.state.sessions.store  # type: ignore[attr-defined]
    return [dict(row) for row in store.do(lambda c: c.execute(table.select()).mappings().all())]


def until_game(client: TestClient, token: str, number: int) -> None:
    deadline = time.monotonic() + 20
    while ask(client, "enter", token=token).get("game") != number:
        assert time.monotonic() < deadline


# ------------------------------------------------------------------------------------------------------ the queue


def test_one_who_is_silent_is_offered_to_nobody() -> None:
    queue = Queue()
    queue.ask(1, None, 0.0, True)
    assert queue.ask(2, None, GONE_S + 1, True).other is None


def test_who_does_not_confirm_leaves_the_queue_and_the_other_keeps_its_place() -> None:
    queue = Queue()
    queue.ask(1, None, 0.0, False)
    queue.ask(2, None, 1.0, True)
    now = 1.0
    while now < READY_S + 2:  # 1 is there, but does not confirm
        now += 1
        queue.ask(1, None, now, False) if now < READY_S else None
        mine = queue.ask(2, None, now, True)
    assert mine.other is None
    assert mine.since == 1.0
    assert queue.ask(3, None, now + 1, True).other is mine


def test_members_of_a_pair_play_with_each_other_only() -> None:
    queue = Queue()
    first = queue.ask(1, 7, 0.0, True)
    assert queue.ask(3, 8, 0.5, True).other is queue.ask(5, None, 0.6, True).other is None
    assert queue.ask(2, 7, 1.0, True).other is first


# ------------------------------------------------------------------------------------------------------ whole games


@pytest.mark.parametrize("roles", ["fixed", "swap"])
def test_a_pair_keeps_its_members_and_roles(tmp_path: Path, roles: str) -> None:
    first = {"A": "architect", "B": "builder", "D": "architect", "C": "builder"}
    with study(tmp_path, f'roles = "{roles}"\n') as client:
        people = {code: to_the_game(client, code) for code in "ABCD"}
        for number in range(3):
            # A meets B; then D asks before C, so that another order of arrival would change roles
            for pair in ("AB", "DC") if number == 0 else ("BA", "CD"):
                found = play(client, meet(client, *(people[code] for code in pair)))
                for code in pair:
                    swapped = roles == "swap" and number == 1
                    assert (found[people[code]] == first[code]) is not swapped
                    if number < 2:
                        until_game(client, people[code], number + 2)
        for token in people.values():
            until_stage(client, token, "done")
        teams = {row["code"]: row["team"] for row in rows(client, db.PARTICIPANTS)}
        assert teams == {"A": 1, "B": 1, "C": 2, "D": 2}


def test_pairs_rotate_if_the_study_wants_it(tmp_path: Path) -> None:
    with study(tmp_path, 'pairing = "rotate"\n') as client:
        a, b, c, d = (to_the_game(client, code) for code in "ABCD")
        for one, other in ((a, b), (c, d)):
            play(client, meet(client, one, other))
        for token in (a, b, c, d):
            until_game(client, token, 2)
        play(client, meet(client, a, c))


def test_orders_of_tasks_are_rows_of_a_latin_square(tmp_path: Path) -> None:
    conditions = PEOPLE.replace('"one-red", "one-red", "one-red"', '"one-red", "one-blue"')
    with study(tmp_path, 'order = "latin"\n', conditions) as client:
        people = [to_the_game(client, code) for code in "ABCD"]
        for pair in (people[:2], people[2:]):
            meet(client, *pair)
        tasks = {(row["participant"] > 2, row["task"]) for row in rows(client, db.GAMES)}
        assert tasks == {(False, "one-red"), (True, "one-blue")}


def test_a_newcomer_completes_a_pair(tmp_path: Path) -> None:
    """While somebody waits in a condition of people, the next participant gets that condition."""
    alone = '\n[[conditions]]\nname = "alone"\ntasks = ["one-red"]\n'
    with study(tmp_path, "", PEOPLE + alone) as client:
        for number in range(12):
            to_the_game(client, f"P{number}")
        chosen = [row["condition"] for row in rows(client, db.PARTICIPANTS)]
        assert "people" in chosen
        at = 0
        while at < len(chosen):
            if chosen[at] == "people":
                assert chosen[at + 1 : at + 2] in (["people"], [])
                at += 1
            at += 1


@pytest.mark.parametrize(("policy", "answer"), [("dismiss", "stage"), ("agent", "play"), ("wait", "wait")])
def test_what_follows_when_nobody_comes(tmp_path: Path, policy: str, answer: str) -> None:
    keys = f'no_partner = "{policy}"\n'
    with study(tmp_path, keys) as client:
        token = to_the_game(client, "A")
        assert ask(client, "game", token=token)["wait"] > 20
        (queue,) = client.app.state.sessions._queues.values()  # type: ignore[attr-defined]
        queue._waiting[0].since -= 31
        reply = ask(client, "game", token=token)
        assert answer in reply
        if policy == "dismiss":
            assert ask(client, "enter", token=token)["code"] == "S0RRY"
        if policy == "agent":
            with joined(client, reply["play"]) as alone:
                assert alone.until("welcome")["agents"] == {"architect": None, "builder": "agent"}


def test_a_game_in_which_one_has_not_acted_is_played_again_with_another(tmp_path: Path) -> None:
    with study(tmp_path) as client:
        a, b, c = (to_the_game(client, code) for code in "ABC")
        seats = meet(client, a, b)
        with joined(client, seats[a]) as architect:
            with joined(client, seats[b]) as builder:
                architect.until("status", state="playing")
                architect.send(t="say", text="Hello!")
                builder.until("frame")
                builder.send(t="leave")
            assert architect.until("status", state="over")["how"] == "left"
        deadline = time.monotonic() + 20
        while {row["how"] for row in rows(client, db.GAMES)} != {"unplayed"}:
            assert time.monotonic() < deadline
        assert {row["ended_by"] for row in rows(client, db.GAMES)} == {"builder"}
        assert ask(client, "enter", token=a)["game"] == 1
        play(client, meet(client, a, c))  # not with b


def left_at_once(client: TestClient, token: str, act: bool) -> Player:
    with joined(client, ask(client, "game", token=token)["play"]) as player:
        player.until("status", state="playing")
        if act:
            rooms(client)[0].begun_at -= 6  # as if it had lasted longer
            player.frame(**PLACE_RED[0])
            player.until("frame", ack=1)
        player.send(t="leave")
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                player.hear()
    return player


@pytest.mark.parametrize(("act", "stage", "code"), [(False, "left", "LEFT"), (True, "done", "C0DE")])
def test_leaving_at_once_earns_no_completion_code(tmp_path: Path, act: bool, stage: str, code: str) -> None:
    conditions = '\n[[conditions]]\nname = "alone"\ntasks = ["one-red"]\n'
    with study(tmp_path, "", conditions) as client:
        token = to_the_game(client, "A")
        left_at_once(client, token, act)
        until_stage(client, token, stage)
        assert ask(client, "enter", token=token)["code"] == code
        client.app.state.sessions.store.do(db.export, "pairs", tmp_path)  # type: ignore[attr-defined]
        (game,) = rows_of(tmp_path / "games.csv")
        assert (game["how"], game["ended_by"], game["role"]) == ("left", "builder", "builder")
        kinds = [row["kind"] for row in rows(client, db.EVENTS)]
        assert kinds.count("joined") == kinds.count("left") == 1
        assert ("short" in kinds) == (not act)


@pytest.mark.parametrize(
    ("policy", "answer"),
    [("dismiss", {"stage": "dismissed"}), ("wait", {"open": True}), ("agent", {})],
)
def test_what_follows_when_one_of_a_pair_is_gone(tmp_path: Path, policy: str, answer: dict[str, Any]) -> None:
    with study(tmp_path, f'no_partner = "{policy}"\n') as client:
        people = [to_the_game(client, code) for code in "AB"]
        play(client, meet(client, *people))
        for token in people:
            until_game(client, token, 2)
        store = client.app.state.sessions.store  # type: ignore[attr-defined]
        store.do(lambda c: c.execute(text("UPDATE participants SET stage = 'expired' WHERE code = 'A'")))
        found = ask(client, "game", token=people[1])
        assert answer.items() <= found.items()
        assert ("play" in found) == (policy == "agent")
        teams = {row["code"]: row["team"] for row in rows(client, db.PARTICIPANTS)}
        assert teams == ({"A": 1, "B": None} if policy == "wait" else {"A": 1, "B": 1})
        if policy == "agent":
            assert [row["partner"] for row in rows(client, db.GAMES)] == ["person", "person", "scripted"]


# ------------------------------------------------------------------------------------------------- pages that wait


@contextmanager
def waiting(client: TestClient, token: str) -> Iterator[Player]:
    with client.websocket_connect("/ws/study", headers=ORIGIN) as socket:
        page = Player(socket)
        page.send(t="join", token=token)
        yield page


def test_two_pages_wait_and_both_confirm(tmp_path: Path) -> None:
    with study(tmp_path) as client:
        a, b = (to_the_game(client, code) for code in "AB")
        with waiting(client, a) as first, waiting(client, b) as second:
            for page in (first, second):
                page.until("state", offered=True, confirmed=False)
            first.send(t="ready")
            first.until("state", offered=True, confirmed=True)
            assert not rooms(client)
            second.send(t="ready")
            seats = [
                next(message["play"] for message in iter(page.hear, None) if "play" in message)
                for page in (first, second)
            ]
        assert len(set(seats)) == 2
        assert len(rooms(client)) == 1


def test_who_closes_the_page_is_offered_to_nobody(tmp_path: Path) -> None:
    with study(tmp_path) as client:
        a, b = (to_the_game(client, code) for code in "AB")
        with waiting(client, a) as page:
            page.until("state")
        deadline = time.monotonic() + 5
        while not {"waits", "gone"} <= {row["kind"] for row in rows(client, db.EVENTS)}:
            assert time.monotonic() < deadline
        assert "offered" not in ask(client, "game", token=b)


def test_the_numbers_of_a_study(tmp_path: Path) -> None:
    with study(tmp_path) as client:
        a, b = (to_the_game(client, code) for code in "AB")
        state = client.app.state  # type: ignore[attr-defined]
        state.options = dataclasses.replace(state.options, secret="open sesame")
        seats = meet(client, a, b)
        with joined(client, seats[a]) as one, joined(client, seats[b]):
            one.until("status", state="playing")
            numbers = client.get("/metrics", auth=("me", "open sesame")).text
        assert 'iglu_marl_participants{condition="people",stage="game"} 2\n' in numbers
        assert "iglu_marl_games_playing 1\n" in numbers


def test_other_pages_cannot_wait(tmp_path: Path) -> None:
    with study(tmp_path) as client:
        for headers in ({}, {"origin": "http://elsewhere.example"}):
            with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws/study", headers=headers):
                pass


# ---------------------------------------------------------------------------------------------- faults and files


def test_a_study_does_not_change_while_people_are_under_way(tmp_path: Path) -> None:
    with study(tmp_path) as client:
        to_the_game(client, "A")
        first = rows(client, db.PARTICIPANTS)[0]["version"]
    with (
        pytest.raises(ConfigError, match=r"has changed while participants are under way \(1\)"),
        study(tmp_path, 'roles = "swap"\n'),
    ):
        pass
    store = db.Store(f"sqlite:///{tmp_path / 'games' / 'studies.db'}")
    store.do(lambda c: c.execute(text("UPDATE participants SET stage = 'done'")))
    store.close()
    with study(tmp_path, 'roles = "swap"\n') as client:
        to_the_game(client, "B")
        versions = [row["version"] for row in rows(client, db.PARTICIPANTS)]
        assert versions[0] == first != versions[1]
        assert [row["version"] for row in rows(client, db.STUDIES)] == versions
