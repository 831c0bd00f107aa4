"""`iglu-marl serve` as a process: it serves, and when it is killed no step that anybody saw is lost."""

from __future__ import annotations

import json
import resource
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from iglu_marl import replay
from iglu_marl.cli import app
from iglu_marl.recording import read_recording

pytestmark = [pytest.mark.slow, pytest.mark.system]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def until_answered(host: str) -> None:
    end = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(f"http://{host}/healthz", timeout=10).close()
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    port = free_port()
    words = [
        *(sys.executable, "-m", "iglu_marl", "serve"),
        *("--port", str(port), "--folder", str(folder), *options),
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "Play at" in line:
                break
        host = f"127.0.0.1:{port}"
        until_answered(host)
        yield host, process
    finally:
        process.kill()
        process.communicate(timeout=20)


def begin(host: str, partner: Any, role: str = "builder") -> str:
    body = json.dumps({"role": role, "partner": partner, "task": "bridge"}).encode()
    asked = urllib.request.Request(
        f"http://{host}/api/games", body, {"origin": f"http://{host}", "content-type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return str(json.load(answer)["token"])


@pytest.mark.parametrize(("options", "apart"), [((), True), (("--proxy", "192.0.2.1"), False)])
def test_people_behind_a_proxy_are_told_apart(tmp_path: Path, options: tuple[str, ...], apart: bool) -> None:
    """By the address that the proxy names, if it is one that is believed."""
    with served(tmp_path, *options) as (host, _):

        def asked(address: str) -> int:
            request = urllib.request.Request(f"http://{host}/api/lobby", headers={"X-Forwarded-For": address})
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as error:
                error.close()
                return error.code

        deadline = time.monotonic() + 60
        while asked("198.51.100.1") != 429:
            assert time.monotonic() < deadline
        assert asked("198.51.100.2") == (200 if apart else 429)


HEAD = b"GET / HTTP/1.1\r\nHost: "
BODY = (
    b"POST /api/games HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nContent-Length: 9\r\n\r\n{"
)


@pytest.mark.parametrize("sent", [HEAD, BODY])
def test_slow_requests_shut_nobody_out(tmp_path: Path, sent: bytes) -> None:
    """1,100 connections whose requests never end: none is kept for long, and others are answered meanwhile."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, files)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, files[1]))  # as most systems start a process
        host, _ = stack.enter_context(served(tmp_path, "--limit", "header_s=2"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
        port, crowd = int(host.rpartition(":")[2]), []
        for number in range(1100):
            source = (f"127.0.1.{number % 12 + 1}", 0)
            slow = stack.enter_context(
                socket.create_connection(("127.0.0.1", port), 10, source_address=source)
            )
            with suppress(OSError):
                slow.sendall(sent)
            slow.setblocking(False)
            crowd.append(slow)
        asked, waits = urllib.request.Request(f"http://{host}/healthz"), []
        for _ in range(10):  # while they are there
            waited = time.monotonic()
            with socket.create_connection(("127.0.0.1", port), 10, source_address=("127.0.0.2", 0)) as other:
                other.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                assert b"200 OK" in other.recv(1000)
            waits.append(time.monotonic() - waited)
            time.sleep(0.1)
        assert max(waits) < 10  # on a busy machine; 0.1 s on a quiet one
        deadline = time.monotonic() + 60
        while not all(map(is_closed, crowd)):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert answer.status == 200


LOCKED = """
name = "locked"
instructions = "Go."

[[conditions]]
name = "only"
partner = "scripted"
tasks = ["bridge"]
"""


def test_a_locked_database_delays_no_game(tmp_path: Path) -> None:
    """Steps come as ever, requests are answered or refused, and what ended meanwhile is stored afterwards."""
    seconds = 6.0  # SQLite itself waits for five
    (tmp_path / "study.toml").write_text(LOCKED)
    with served(tmp_path / "games", "--study", str(tmp_path / "study.toml"), "--wait", "1") as (host, _):

        def ask(path: str, **body: Any) -> dict[str, Any]:
            headers = {"origin": f"http://{host}", "content-type": "application/json"}
            asked = urllib.request.Request(
                f"http://{host}/api/study/{path}", json.dumps(body).encode(), headers
            )
            try:
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    return dict(json.load(answer))
            except urllib.error.HTTPError as error:
                error.close()
                if error.code != 503:
                    raise
                return {}

        seats, tokens = [], []
        for code in ("stays", "leaves"):
            tokens.append(ask("enter", code=code)["token"])
            ask("next", token=tokens[-1], stage="instructions")
            seats.append(ask("game", token=tokens[-1])["play"])
        with ExitStack() as stack:
            stays, leaves = (Visitor(seat) for seat in seats)
            for one in (stays, leaves):
                one.join(host, stack)
            other = sqlite3.connect(tmp_path / "games/studies.db", isolation_level=None)
            stack.callback(other.close)
            other.execute("BEGIN IMMEDIATE")
            with ThreadPoolExecutor(2) as pool:
                asked = [pool.submit(ask, "enter", code=f"new-{number}") for number in range(2)]
                leaves.socket.send(json.dumps({"t": "leave"}))
                rng, gaps, until = np.random.default_rng(0), [0.0], time.monotonic() + seconds
                while time.monotonic() < until:
                    stays.act(rng)
                    begun = time.monotonic()
                    while stays.hear()["t"] != "frame":
                        pass
                    gaps.append(time.monotonic() - begun)
                other.execute("ROLLBACK")
                for one in asked:
                    one.result()
            assert max(gaps) < 1.0  # 0.1 on a quiet machine
        deadline = time.monotonic() + 30
        while ask("enter", token=tokens[1]).get("stage") != "left":  # before `least_s`
            assert time.monotonic() < deadline
            time.sleep(0.2)


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class Visitor:
    """One who plays on whatever happens to the server, and keeps the frames that it got."""

    def __init__(self, token: str) -> None:
        self.token, self.invitation, self.role = token, "", ""
        self.welcome: dict[str, Any] = {}  # the first one
        self.frames: dict[int, dict[str, Any]] = {}  # frames by tick
        self.said: list[list[str]] = []
        self.sent = self.spoken = 0

    def join(self, host: str, stack: ExitStack) -> None:
        self.socket = stack.enter_context(connect(f"ws://{host}/ws", origin=f"http://{host}"))  # type: ignore[arg-type]
        self.socket.send(json.dumps({"t": "join", "token": self.token}))
        self.sent = 0
        while self.hear()["t"] != "frame":
            pass

    def hear(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=30))
        if message["t"] == "welcome":
            self.token, self.role = message["token"], message["role"]
            self.invitation = self.invitation or next(iter(message["invites"].values()), "")
            self.welcome = self.welcome or message
        if message["t"] == "frame":
            before = list(self.said)
            self.said = list(message["said"]) if message["whole"] else [*before, *message["said"]]
            assert self.said[: len(before)] == before  # nothing that was said is lost
            assert message["tick"] >= max(self.frames, default=0)
            self.frames[message["tick"]] = message
        return message

    def act(self, rng: np.random.Generator) -> None:
        """Walk, turn, place and break; now and then say something."""
        self.sent += 1
        events: list[list[Any]] = [["turn", float(rng.uniform(-20, 20)), float(rng.uniform(-30, 25))]]
        events += [["choose", int(rng.integers(1, 7))], ["place"]] if rng.random() < 0.3 else []
        events += [["remove"]] if rng.random() < 0.1 else []
        self.socket.send(
            json.dumps({"t": "in", "n": self.sent, "held": int(rng.integers(16)), "events": events})
        )
        if self.sent % 30 == 1:
            self.spoken += 1
            self.socket.send(json.dumps({"t": "say", "text": f"number {self.spoken}?"}))


def test_a_team_plays_on_when_the_server_is_killed(tmp_path: Path) -> None:
    """Three people and an agent: the frames of each of them are in one recording of a whole game."""
    rng, reached = np.random.default_rng(), []
    visitors: dict[str, Visitor] = {}
    team = ("--architects", "2", "--builders", "2")
    for _ in range(3):
        with ExitStack() as stack:
            host, process = stack.enter_context(served(tmp_path, *team))
            if not visitors:
                visitors["builder_0"] = Visitor(begin(host, {"builder_1": "scripted"}, "builder_0"))
            for visitor in visitors.values():
                visitor.join(host, stack)
            if len(visitors) == 1:
                for name, token in visitors["builder_0"].welcome["invites"].items():
                    visitors[name] = Visitor(token)
                    visitors[name].join(host, stack)
            for _ in range(25):
                for visitor in visitors.values():
                    visitor.act(rng)
                while visitors["builder_0"].hear()["t"] != "frame":
                    pass
            process.kill()
            for visitor in visitors.values():
                with suppress(ConnectionClosed):  # what it had sent
                    while True:
                        visitor.hear()
        reached.append(max(visitors["builder_0"].frames))
    assert list(visitors) == ["builder_0", "architect_0", "architect_1"]
    assert sorted(set(reached)) == reached  # it went on each time
    with served(tmp_path, *team, "--wait", "1"):  # nobody comes back
        end = time.monotonic() + 30
        while list(tmp_path.glob("*.seats")):
            assert time.monotonic() < end
            time.sleep(0.1)
    (path,) = tmp_path.glob("*.jsonl")
    (recording,) = read_recording(path)
    poses: list[Any] = []
    game = replay(recording, on_step=lambda env: poses.append([pose_of(env, row) for row in range(2)]))
    said = [[each.speaker, each.text] for each in game.dialogue]
    assert {"architect 0", "architect 1", "builder 0"} <= {speaker for speaker, _ in said}
    for name, visitor in visitors.items():
        assert said[: len(visitor.said)] == visitor.said
        own = 0 if name == "builder_0" else slice(None)
        for tick, frame in visitor.frames.items():
            if "agentPos" in frame:
                assert np.allclose(frame["agentPos"], poses[tick][own], atol=1e-4)


def pose_of(env: Any, builder: int = 0) -> list[float]:
    x, y, z, yaw, pitch = env.episode.worlds.pose[builder].tolist()
    return [x, y, z, pitch, yaw]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--host", "0.0.0.0"], "--public-host"),
        (["--architect", "nobody"], "nobody"),
        (["--wait", "0"], "--wait"),
        (["--limit", "folder=3"], "--limit"),
        (["--study", "nothing.toml"], "nothing.toml"),
    ],
)
def test_wrong_options(words: list[str], expected: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["serve", "--folder", str(tmp_path), *words])
    assert done.exit_code != 0
    assert expected in str(done.exception)
