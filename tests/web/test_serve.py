"""`iglu-marl serve` as a process: it serves, and when it is killed no step that anybody was told of is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from typer.testing import CliRunner
from websockets.sync.client import connect

from iglu_marl import replay
from iglu_marl.cli import app
from iglu_marl.recording import read_recording
from iglu_marl.web.gallery import recordings

pytestmark = [pytest.mark.slow, pytest.mark.system]


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "iglu_marl", "serve", "--port", str(port), "--folder", str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "Play at" in line:
                break
        host = f"127.0.0.1:{port}"
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://{host}/api/lobby", timeout=10).close()
                break
            except OSError:
                assert time.monotonic() < end
                assert process.poll() is None
                time.sleep(0.05)
        yield host, process
    finally:
        process.kill()
        process.communicate(timeout=20)


def begin(host: str) -> str:
    body = json.dumps({"role": "builder", "partner": "scripted", "task": "bridge"}).encode()
    asked = urllib.request.Request(
        f"http://{host}/api/games", body, {"origin": f"http://{host}", "content-type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return str(json.load(answer)["token"])


def test_nothing_that_was_told_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    kills = int(os.environ.get("IGLU_MARL_KILLS", "1"))
    for number in range(kills):
        folder = tmp_path / str(number)
        with served(folder) as (host, process), connect(f"ws://{host}/ws", origin=f"http://{host}") as player:  # type: ignore[arg-type]
            player.send(json.dumps({"t": "join", "token": begin(host)}))
            told: dict[str, Any] = {}
            sent = 0
            while told.get("ack", 0) < 10 + number:
                told = json.loads(player.recv(timeout=30))
                if told["t"] == "frame":
                    sent += 1
                    player.send(json.dumps({"t": "in", "n": sent, "held": 1, "events": [["turn", 3.5, 0]]}))
            os.kill(process.pid, signal.SIGKILL)
            process.wait(20)
        (path,) = folder.glob("*.jsonl")
        (recording,) = read_recording(path)
        assert recording.end is None
        assert len(recording.moves) >= told["tick"]
        assert replay(path).builder_steps >= told["tick"]
        assert recordings(folder) == []  # it is not over


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--host", "0.0.0.0"], "--public-host"),
        (["--architect", "nobody"], "nobody"),
        (["--wait", "0"], "--wait"),
        (["--study", "nothing.toml"], "nothing.toml"),
    ],
)
def test_wrong_options(words: list[str], expected: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["serve", "--folder", str(tmp_path), *words])
    assert done.exit_code != 0
    assert expected in str(done.exception)
