"""The server of the game in the browser: whole games over the wire, who may do what, and what it refuses."""

from __future__ import annotations

import base64
import json
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

import anyio
from llm_server import Misbehaviour, llm_server
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from iglu_marl import ConfigError, DataError, Role, Task, replay
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.recording import read_recording
from iglu_marl.web import ServerOptions, create_app
from iglu_marl.web.inputs import MOST_FRAMES, RemoteHands, read_frame
from iglu_marl.web.limits import MESSAGE_BYTES, STRUCTURE_BYTES, Allowance
from iglu_marl.web.partners import Partner
from iglu_marl.web.rooms import Room, Rooms, check_agents, game_for

ORIGIN = {"origin": "http://testserver"}
RED = Task("", blocks_to_grid([(0, -1, -1, 6)]), invariant=False, task_id="one-red")
BLUE = Task("", blocks_to_grid([(3, -1, 4, 1)]), invariant=False, task_id="one-blue")
# Look down at the floor ahead, walk back and forth, take red, place.
PLACE_RED: list[dict[str, Any]] = [
    {"held": 2, "events": [["turn", 0, -45]]},
    {"held": 1},
    {"events": [["choose", 6], ["place"]]},
]


class Player:
    """A connection that keeps what it was told."""

    def __init__(self, socket: Any) -> None:
        self.socket, self.heard = socket, []  # type: ignore[var-annotated]
        self.number = 0

    def hear(self) -> dict[str, Any]:
        async def next_message() -> Any:
            with anyio.fail_after(30):
                return await self.socket._send_rx.receive()

        message = self.socket.portal.call(next_message)
        if message["type"] == "websocket.close":
            raise WebSocketDisconnect(message.get("code", 1000))
        self.heard.append(json.loads(message["text"]))
        return dict(self.heard[-1])

    def until(self, kind: str, **facts: Any) -> dict[str, Any]:
        """Hear on until a message of a kind with these facts."""
        while True:
            told = self.hear()
            if told["t"] == kind and all(told.get(key) == value for key, value in facts.items()):
                return told

    def invitation(self) -> str:
        """The link to the first open seat."""
        return str(next(iter(self.until("welcome")["invites"].values())))

    def send(self, **message: Any) -> None:
        self.socket.send_text(json.dumps(message))

    def frame(self, **frame: Any) -> None:
        self.number += 1
        self.send(t="in", n=self.number, **frame)


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {
        "folder": tmp_path / "games",
        "tasks": {"one-red": RED, "one-blue": BLUE},
        "hosts": ("testserver",),
    }


@contextmanager
def serving(options: dict[str, Any]) -> Iterator[TestClient]:
    with TestClient(create_app(ServerOptions(**options))) as client:
        yield client


@pytest.fixture
def client(options: dict[str, Any]) -> Iterator[TestClient]:
    with serving(options) as started:
        yield started


def begin(
    client: TestClient, role: str = "builder", partner: str = "person", task: str | None = "one-red"
) -> str:
    answer = client.post("/api/games", json={"role": role, "partner": partner, "task": task}, headers=ORIGIN)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


@contextmanager
def joined(client: TestClient, token: str) -> Iterator[Player]:
    with client.websocket_connect("/ws", headers=ORIGIN) as socket:
        player = Player(socket)
        player.send(t="join", token=token)
        yield player


def only_room(client: TestClient) -> Room:
    (room,) = client.app.state.rooms.rooms.values()  # type: ignore[attr-defined]
    return room  # type: ignore[no-any-return]


def in_loop(client: TestClient, function: Any, *arguments: Any) -> Any:
    """Call something where the server runs."""

    async def call() -> Any:
        return function(*arguments)

    assert client.portal is not None
    return client.portal.call(call)


def play_red(client: TestClient, task: str, speak: bool = True) -> tuple[Player, Player]:
    """Two people play: the architect says what, the builder places a red block north of the centre, and leaves."""
    with ExitStack() as stack:
        builder = stack.enter_context(joined(client, begin(client, task=task)))
        invitation = builder.invitation()
        architect = stack.enter_context(joined(client, invitation))
        architect.until("status", state="playing")
        builder.until("status", state="playing")
        if speak:
            architect.send(t="say", text="A red block one north of the middle.")
            assert builder.until("frame", said=[["architect", "A red block one north of the middle."]])
        for frame in PLACE_RED:
            builder.frame(**frame)
        builder.until("frame", grid=[[0, -1, -1, 6]])
        if task != "one-red":
            builder.send(t="leave")
        architect.until("status", state="over")
    return architect, builder


# ------------------------------------------------------------------------------------------------------- games


def test_two_people_play_to_the_end_and_the_recording_comes_back(
    client: TestClient, options: dict[str, Any]
) -> None:
    architect, builder = play_red(client, "one-red")
    for one, other in ((architect, builder), (builder, architect)):
        assert next(told["token"] for told in other.heard if told["t"] == "welcome") not in json.dumps(
            one.heard
        )
    assert architect.heard[-1]["how"] == "complete"
    first = next(told for told in architect.heard if told["t"] == "frame")
    assert first["whole"]
    assert first["target_grid"] == first["ghost"] == [[0, -1, -1, 6]]
    assert any(told.get("score") == [1, 1] for told in architect.heard)
    (path,) = options["folder"].glob("*.jsonl")
    (recording,) = read_recording(path)
    assert recording.header["agents"] == {"architect": "person", "builder": "person"}
    again = replay(path)
    assert again.completed
    assert [str(said) for said in again.dialogue] == ["<Architect> A red block one north of the middle."]


def test_the_target_never_reaches_the_builder_on_the_wire(options: dict[str, Any]) -> None:
    """In two games that differ in the target alone, the builder hears the same up to the end; the target is in none."""
    wires = []
    for task in ("one-blue", "one-blue", "one-red"):
        with serving({**options, "folder": options["folder"] / f"{len(wires)}", "wait_s": 0.01}) as client:
            _, builder = play_red(client, task)
        frames = [told for told in builder.heard if told["t"] == "frame"]
        known: dict[str, Any] = {}
        for told in frames:
            known.setdefault("keys", set()).update(told)
            known.update(
                {
                    key: value
                    for key, value in told.items()
                    if key in ("agentPos", "grid", "inventory", "body")
                }
            )
        wires.append((known.pop("keys"), known))
        assert not {"target_grid", "ghost", "score"} & wires[-1][0]
        text = json.dumps(builder.heard)
        assert "[3, -1, 4" not in text
        assert "3,-1,4" not in text
        welcome = next(told for told in builder.heard if told["t"] == "welcome")
        assert welcome["task"] == ""  # a name may tell what it is
    assert wires[0] == wires[1] == wires[2]


def test_an_agent_that_fails_ends_nothing(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, observation: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr("iglu_marl.agents.ScriptedArchitect.act", broken)
    with joined(client, begin(client, "builder", "scripted")) as builder:
        assert "stopped working" in builder.until("note")["text"]
        for frame in PLACE_RED:
            builder.frame(**frame)
        assert builder.until("status", state="over")["how"] == "complete"


def test_a_slow_language_model_delays_nobody(options: dict[str, Any]) -> None:
    """Models that do not answer, in as many games as there are threads for agents; another game is played."""
    with llm_server() as slow:
        slow.always = Misbehaviour(stall_s=60.0)
        agents = dict.fromkeys(Role, (f"llm:slow@{slow.url}", "scripted"))
        with serving({**options, "agents": agents}) as client, ExitStack() as stack:
            told = client.get("/api/lobby").json()["agents"]
            assert told == {role.value: ["llm:slow", "scripted"] for role in Role}  # and not where it runs
            waiting = []
            for role in ("builder", "architect"):
                player = stack.enter_context(joined(client, begin(client, role, "llm:slow")))
                assert slow.url not in json.dumps(player.until("welcome"))
                player.until("status", state="playing")
                if role == "architect":
                    player.send(t="say", text="Place a red block.")
                waiting.append(player)
            while slow.at_once < len(waiting):
                waiting[0].hear()
            with joined(client, begin(client, "architect", "scripted")) as architect:
                architect.until("status", state="playing")
                architect.send(t="say", text="Place a red block one north of the middle.")
                assert architect.until("status", state="over")["how"] == "complete"
            for player in waiting:  # their games go on, too
                ticks = player.until("frame")["tick"]
                assert player.until("frame")["tick"] > ticks
            assert [player.until("thinking")["who"] for player in waiting] == ["architect", "builder"]
            assert slow.at_once == len(waiting)  # all that was before anything was answered
            slow.over.set()


@pytest.mark.parametrize("role", list(Role))
def test_language_models_play_with_people(
    options: dict[str, Any], role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGLU_MARL_LLM_CHANGES", "shown")  # the scripted model copies them
    with llm_server() as model:
        model.plan = [Misbehaviour(status=429, headers={"Retry-After": "0.2"})]  # asked again later
        name = f"llm:good@{model.url}"
        with serving({**options, "agents": {role: (name,)}}) as client:
            if role == Role.ARCHITECT:
                with joined(client, begin(client, "builder", "llm:good")) as builder:
                    while not (said := builder.until("frame")["said"]):
                        pass
                    assert "red" in said[0][1]
                return
            with joined(client, begin(client, "architect", "llm:good")) as architect:
                architect.until("status", state="playing")
                architect.send(t="say", text="Place a red block on the ground, 1 block north of the centre.")
                assert architect.until("status", state="over")["how"] == "complete"


class Counting(ThreadPoolExecutor):
    """Counts how often agents think, where it takes time."""

    count = 0

    def submit(self, function: Any, /, *arguments: Any) -> Any:  # type: ignore[override]
        self.count += 1
        thought = super().submit(function, *arguments)
        thought.exception()  # waits
        return thought


def test_a_builder_who_waits_takes_no_time(options: dict[str, Any]) -> None:
    """It waits for three seconds, then places a block as it is told."""
    game, thinking = game_for(RED, "scripted", ServerOptions(**options)), Counting()
    game.reset(seed=0)
    partner, acts, waited = Partner(game, Role.BUILDER, "scripted", thinking, 0), 0, 0
    while game.agents:
        assert game.ticks < 200
        action = partner.decided()
        said = {Role.ARCHITECT: "Place a red block one north of the middle."} if game.ticks == 60 else {}
        waited = thinking.count if game.ticks == 60 else waited
        acts += game.ticks >= 60 and action is not None
        game.tick(said, None if action is None else action["act"])
        partner.consult(game)
    thinking.shutdown()
    assert waited <= 4  # it looks up once a second
    assert thinking.count <= waited + 4  # steps of a plan take no time
    assert acts > 8


# -------------------------------------------------------------------------------------------- coming and going


def test_one_who_walks_on_catches_up_after_a_delay() -> None:
    hands = RemoteHands("human-level")
    for number in range(1, 6):
        hands.take(read_frame({"n": number, "held": 1}))  # five at once, then one a step
    behind = []
    for number in range(6, 106):
        hands.take(read_frame({"n": number, "held": 1, "events": [["turn", 1, 0]]}))
        assert hands.action(0.0, 0.0) is not None
        behind.append(number - hands.ack)
    assert (behind[0], behind[-1]) == (5, 0)


def test_one_comes_back_after_a_reload(client: TestClient) -> None:
    with joined(client, begin(client, "architect")) as architect:
        with joined(client, architect.invitation()) as builder:
            token = builder.until("welcome")["token"]
            builder.until("status", state="playing")
            builder.frame(**PLACE_RED[0])
            builder.until("frame", ack=1)
        assert architect.until("status", state="paused")["here"] == {"architect": True, "builder": False}
        room = only_room(client)
        ticks = room.game.ticks
        with joined(client, token) as builder:
            architect.until("status", state="playing")
            for frame in PLACE_RED[1:]:
                builder.frame(**frame)  # numbered from 1 again
            assert builder.until("status", state="over")["how"] == "complete"
        assert room.game.ticks > ticks
        whole = next(told for told in builder.heard if told["t"] == "frame")
        assert whole["whole"]
        assert whole["agentPos"][3] == -45


def test_a_second_tab_takes_the_place_of_the_first(client: TestClient) -> None:
    token = begin(client, "builder", "scripted")
    with joined(client, token) as first:
        first.until("status", state="playing")
        with joined(client, token) as second:
            second.until("frame", whole=True)
            first.until("elsewhere")
            second.frame(**PLACE_RED[0])
            second.until("frame", ack=1)
            with pytest.raises(WebSocketDisconnect):
                first.until("never")
        assert only_room(client).seats[Role.BUILDER].client is None


def test_an_invitation_holds_once(client: TestClient) -> None:
    with joined(client, begin(client, "architect")) as architect:
        invitation = architect.invitation()
        with joined(client, invitation) as builder:
            assert builder.until("welcome")["token"] not in ("", invitation)
            with joined(client, invitation) as thief:
                assert thief.hear()["t"] == "closed"


@pytest.mark.parametrize("name", ["", "Alex"])
def test_who_types_is_shown_to_who_hears(options: dict[str, Any], name: str) -> None:
    """Unless agents and people look alike."""
    with serving({**options, "partner_name": name}) as client, joined(client, begin(client)) as builder:
        with joined(client, builder.invitation()) as architect:
            architect.until("status", state="playing")
            architect.send(t="typing")
            architect.send(t="say", text="Hello")
            for player in (architect, builder):
                player.until("frame", said=[["architect", "Hello"]])
        shown = [[told["who"] for told in one.heard if told["t"] == "typing"] for one in (architect, builder)]
        assert shown == [[], [] if name else ["architect"]]


def test_one_who_stays_away_ends_the_game(client: TestClient, options: dict[str, Any]) -> None:
    with joined(client, begin(client, "architect")) as architect:
        with joined(client, architect.invitation()) as builder:
            builder.until("status", state="playing")
        architect.until("status", state="paused")
        room = only_room(client)
        in_loop(client, room.check, time.monotonic() + 30)
        assert not room.over
        in_loop(client, room.check, time.monotonic() + 61)
        assert architect.until("status", state="over")["how"] == "left"
    (path,) = options["folder"].glob("*.jsonl")
    assert not replay(path).completed


def test_a_second_server_on_the_same_folder_is_refused(client: TestClient, options: dict[str, Any]) -> None:
    with joined(client, begin(client, "builder", "scripted")) as builder:
        builder.until("status", state="playing")
        with pytest.raises(DataError, match=f"has a running server: .* process {os.getpid()} on "):
            create_app(ServerOptions(**options))
        builder.frame(**PLACE_RED[0])
        builder.until("frame", ack=1)


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"role": "judge"}, 400),
        ({"role": "builder", "partner": ["scripted"]}, 400),
        ({"role": "builder", "task": "../etc"}, 400),
        ([], 400),
        ({"role": "builder", "partner": "x" * STRUCTURE_BYTES}, 413),
    ],
)
def test_games_that_cannot_be(client: TestClient, body: Any, expected: int) -> None:
    answer = client.post("/api/games", json=body, headers=ORIGIN)
    assert answer.status_code == expected
    assert answer.json()["error"]


def dropped(content: bytes, name: str = "mine.json") -> dict[str, Any]:
    file = {"name": name, "content": base64.b64encode(content).decode()}
    return {"role": "builder", "partner": "scripted", "file": file}


def test_a_dropped_file_is_the_task_of_a_game(client: TestClient) -> None:
    blocks = json.dumps([[7, 7, 7, "red"], [7, 8, 7, "#0000ff"]]).encode()
    answer = client.post("/api/games", json=dropped(blocks), headers=ORIGIN)
    assert answer.status_code == 200, answer.text
    task = only_room(client).game.task
    assert grid_to_blocks(task.target_grid) == [(0, -1, 0, 6), (0, 0, 0, 1)]
    assert task.task_id == "mine"


BOX = {"boxes": [{"type": "red", "from": [0] * 3, "to": [9] * 3}]}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (dropped(b"[]"), "no block"),
        (dropped(b"VOX ", "../../x.vox"), "x.vox"),
        (dropped(b"[[0, 0, 0, 1]]", "x.txt"), "ends in"),
        (dropped(json.dumps(BOX).encode()), "Nobody can build"),
        ({**dropped(b""), "file": {"name": "a.vox", "content": "?"}}, "cannot be used"),
        ({**dropped(b""), "file": 7}, "cannot be used"),
    ],
)
def test_an_unusable_file_is_refused_in_words(client: TestClient, asked: Any, expected: str) -> None:
    answer = client.post("/api/games", json=asked, headers=ORIGIN)
    assert answer.status_code == 400
    assert expected in answer.json()["error"]
    assert not client.app.state.rooms.rooms  # type: ignore[attr-defined]


def test_a_server_that_cannot_write_says_nothing_of_itself(
    client: TestClient, options: dict[str, Any]
) -> None:
    shutil.rmtree(options["folder"])
    answer = client.post("/api/games", json={"role": "builder", "partner": "scripted"}, headers=ORIGIN)
    assert answer.status_code == 503
    assert "games" not in answer.text
    assert client.app.state.rooms.rooms == {}  # type: ignore[attr-defined]


@pytest.mark.parametrize("headers", [{}, {"origin": "http://elsewhere.example"}, {"origin": "null"}])
def test_other_pages_begin_and_enter_nothing(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/api/games", json={"role": "builder"}, headers=headers).status_code == 403
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws", headers=headers):
        pass


def test_other_names_of_the_server_are_refused(client: TestClient) -> None:
    """A page of another name that leads here (DNS rebinding) gets nothing."""
    assert client.get("/", headers={"host": "rebound.example"}).status_code == 421
    assert client.get("/").status_code == 200


def test_pages_are_protected(client: TestClient) -> None:
    for path in ("/", "/play", "/static/play.js", "/static/drawing.js", "/api/lobby"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    for page in ("/", "/play"):
        text = client.get(page).text
        assert "<script>" not in text
        assert " style=" not in text
        assert " onclick=" not in text


@pytest.mark.parametrize("name", ["..%2f__init__.py", "server.py", "lobby.html"])
def test_only_static_files_are_served(client: TestClient, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize(
    "message", ["", "[]", '{"t": "in", "n": 1, "held": 9e9}', '{"t": "say", "text": 3}', "[" * 3000]
)
def test_what_is_no_message_is_answered_and_harms_nothing(client: TestClient, message: str) -> None:
    with joined(client, begin(client, "builder", "scripted")) as builder:
        builder.until("status", state="playing")
        builder.socket.send_text(message)
        assert builder.until("note")["text"]
        builder.frame(**PLACE_RED[0])
        builder.until("frame", ack=1)


def test_a_message_that_is_too_large_ends_the_connection(client: TestClient) -> None:
    with joined(client, begin(client, "builder", "scripted")) as builder:
        builder.until("status", state="playing")
        builder.socket.send_text("x" * (MESSAGE_BYTES + 1))
        with pytest.raises(WebSocketDisconnect):
            builder.until("never")


def test_too_many_frames_are_dropped_and_no_word_of_them(client: TestClient) -> None:
    """As after a network that stood still: all comes at once."""
    with joined(client, begin(client, "builder", "scripted")) as builder:
        builder.until("status", state="playing")
        for _ in range(150):
            builder.frame(held=1)
        builder.send(t="say", text="Hello?", n=1)
        for _ in range(150):
            builder.frame(held=1)
        assert builder.until("said")["n"] == 1
        flood = builder.number
        for _ in range(20):  # at the pace of a page
            time.sleep(0.1)
            builder.frame(held=1)
        while builder.hear().get("ack", 0) <= flood:
            pass


def test_words_are_taken_once_and_in_order(client: TestClient) -> None:
    with joined(client, begin(client, "architect", "scripted")) as architect:
        architect.until("status", state="playing")
        for number, text in ((2, "two"), (1, "one"), (1, "one"), (2, "two"), (1, "one")):
            architect.send(t="say", text=text, n=number)
        architect.until("said", n=2)
        token = architect.heard[0]["token"]
        with joined(client, token) as again:
            assert again.until("welcome")["said"] == 2
            again.send(t="say", text="two", n=2)
            again.send(t="say", text="three", n=3)
            again.until("said", n=3)
        said = [one.text for one in only_room(client).game.episode.dialogue.utterances]
        assert [text for text in said if text in ("one", "two", "three")] == ["one", "two", "three"]


def test_who_speaks_too_much_is_told_so(client: TestClient) -> None:
    with joined(client, begin(client, "architect", "scripted")) as architect:
        for number in range(9):
            architect.send(t="say", text=f"{number}")
        assert "too fast" in architect.until("note")["text"]
        architect.send(t="say", text="x" * 201)
        assert "too" in architect.until("note")["text"]


@pytest.mark.parametrize(
    "frame",
    [
        {"n": 0}, {"n": True}, {"n": 1.5}, {"n": 1, "held": -1}, {"n": 1, "held": 64}, {"n": 1, "held": "w"},
        {"n": 1, "events": {}}, {"n": 1, "events": [[]]}, {"n": 1, "events": ["place"]}, {"n": 1, "events": [["fly"]]},
        {"n": 1, "events": [["turn", 1]]}, {"n": 1, "events": [["turn", 1, float("nan")]]},
        {"n": 1, "events": [["turn", 1, 1e9]]}, {"n": 1, "events": [["turn", 1, True]]},
        {"n": 1, "events": [["choose", 0]]}, {"n": 1, "events": [["choose", 2.5]]},
        {"n": 1, "events": [["place"]] * 17},
    ],
)  # fmt: skip
def test_frames_that_cannot_be(frame: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="expected"):
        read_frame(frame)


def test_frames_come_in_order_and_are_bounded() -> None:
    hands = RemoteHands("human-level")
    for number in (2, 1, 2, 3):
        hands.take(read_frame({"n": number, "held": 1, "events": [["turn", number, 0]]}))
    turns = [hands.action(0.0, 0.0)["camera"][0] for _ in range(2)]
    assert turns == [2, 3]
    assert hands.ack == 3
    assert hands.action(0.0, 0.0) is None
    for number in range(4, 1000):
        hands.take(read_frame({"n": number, "events": [["turn", 0.25, 0]]}))
    taken = [hands.action(0.0, 0.0) for _ in range(MOST_FRAMES + 1)]
    assert taken[-1] is None
    assert np.sum([action["camera"][0] for action in taken[:-1]]) <= 0.25 * (MOST_FRAMES + 16)


def test_what_may_pass_comes_back_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("iglu_marl.web.limits.time.monotonic", lambda: now[0])
    allowance = Allowance(2.0, 3.0)
    assert [allowance.take() for _ in range(4)] == [True, True, True, False]
    now[0] = 1.0
    assert [allowance.take() for _ in range(3)] == [True, True, False]


def test_too_many_requests_of_one_address_are_refused(options: dict[str, Any]) -> None:
    with serving({**options, "requests_per_s": 0.5}) as client:
        assert {client.get("/static/play.js").status_code for _ in range(7)} == {200}  # not counted
        codes = [client.get("/api/lobby").status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2


def test_no_game_begins_where_ticks_come_late(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iglu_marl.web.rooms.FEW", 1)
    with serving({**options, "games_per_address": 2}) as client:
        rooms: Rooms = client.app.state.rooms  # type: ignore[attr-defined]
        begin(client)
        begin(client)
        answer = client.post("/api/games", json={"role": "builder"}, headers=ORIGIN)
        assert (answer.status_code, "too many" in answer.json()["error"]) == (503, True)
        assert rooms.refuses("another") == ""
        for _ in range(100):
            rooms.note_lateness(0.2)
        assert "busy" in rooms.refuses("another")


@pytest.mark.parametrize(
    "wrong",
    [
        {"tasks": {}},
        {"wait_s": 0},
        {"agents": {Role.BUILDER: ("nobody",)}},
        {"team": {"players": 4}},
        {"team": {"architects": 2}, "agents": {Role.BUILDER: ("hasty",)}},
    ],
)
def test_servers_that_cannot_be(options: dict[str, Any], wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="expected"):
        ServerOptions(**{**options, **wrong})


def test_an_agent_that_cannot_play_here_is_named_before_the_server_starts(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="the architect 'replay' cannot play here"):
        check_agents(ServerOptions(**{**options, "agents": {Role.ARCHITECT: ("replay",)}}))


def test_numbers_have_a_password(options: dict[str, Any]) -> None:
    with serving(options) as client:
        assert client.get("/metrics", auth=("admin", "")).status_code == 404
    with serving({**options, "secret": "open, please"}) as client:
        for auth in (None, ("admin", "wrong"), ("admin", "")):
            answer = client.get("/metrics", auth=auth)
            assert (answer.status_code, "games" in answer.text) == (401, False)
        assert client.get("/metrics", headers={"authorization": "Basic ???"}).status_code == 401
        assert "iglu_marl_games 0\n" in client.get("/metrics", auth=("anybody", "open, please")).text
