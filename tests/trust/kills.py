"""Kills of a server of many games under load. The amount is a number of kills; with up to 45 games.

All people move, look, build and speak all the time. After each kill (SIGKILL) the server starts again, and everybody
comes back. All that anybody was ever shown is in the recordings.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import test_serve
from trust.driver import Figures, expect, main, show_progress
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from iglu_marl import replay
from iglu_marl.recording import read_recording

QUICK, FULL, GAMES = 3, 30, 45
PATIENT, HASTY = 300.0, 1.0  # seconds that a game waits for those who are away
LIMITS = "games_per_address=10**4, connections_per_address=10**4, requests_per_s=1e4, late_s=1e4"


class Person:
    """One who plays on whatever happens to the server, and keeps what it was shown."""

    numbers = itertools.count()

    def __init__(self, token: str, rng: np.random.Generator) -> None:
        self.token, self.rng, self.role = token, rng, ""
        self.joined = self.tick = 0
        self.said: list[list[str]] = []
        self.poses: dict[int, Any] = {}
        self.invitation = ""

    def take(self, message: dict[str, Any]) -> None:
        """Keep a message; what is shown never goes back."""
        if message["t"] == "welcome":
            self.token, self.role = message["token"], message["role"]
            self.invitation = self.invitation or message["invite"]
            self.joined += 1
        elif message["t"] == "frame":
            before = self.said
            self.said = message["said"] if message["whole"] else [*before, *message["said"]]
            expect(self.said[: len(before)] == before, "sentences are lost", before, self.said)
            expect(message["tick"] >= self.tick, "steps are lost", self.tick, message["tick"])
            self.tick = message["tick"]
            if "agentPos" in message:
                self.poses[self.tick] = message["agentPos"]

    async def play(self, host: str) -> None:
        """Play until the connection breaks."""
        with contextlib.suppress(OSError, WebSocketException):
            async with connect(f"ws://{host}/ws", origin=f"http://{host}", open_timeout=60) as socket:  # type: ignore[arg-type]
                await socket.send(json.dumps({"t": "join", "token": self.token}))
                acting = asyncio.create_task(self.act(socket))
                try:
                    async for text in socket:
                        self.take(json.loads(text))
                finally:
                    acting.cancel()

    async def act(self, socket: Any) -> None:
        """Move and speak."""
        with contextlib.suppress(WebSocketException):
            for number in itertools.count(1):
                await asyncio.sleep(0.05)
                if self.role == "builder":
                    turn = ["turn", float(self.rng.uniform(-20, 20)), float(self.rng.uniform(-10, 9))]
                    place: list[list[Any]] = [["choose", int(self.rng.integers(1, 7))], ["place"]]
                    events = [turn, *(place if self.rng.random() < 0.2 else [])]
                    frame = {"t": "in", "n": number, "held": int(self.rng.integers(16)), "events": events}
                    await socket.send(json.dumps(frame))
                if number % 40 == 1:
                    text = f"number {next(self.numbers)}"
                    await socket.send(json.dumps({"t": "say", "text": text}))


async def play_on(folder: Path, games: int, kills: int, seed: int) -> tuple[list[Person], Figures]:
    """Let all play, kill the server again and again, and return the people and the counts."""
    rng = np.random.default_rng(seed)
    people: list[Person] = []
    figures: Figures = {"games": games, "kills": kills, "returns": 0}
    with test_serve.starting(folder) as start:
        for number in range(kills + 1):
            host, process = await asyncio.to_thread(start)
            try:
                for _ in range(0 if people else games):
                    first = Person(await asyncio.to_thread(test_serve.begin, host, "person"), rng)
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(first.play(host), 0.5)
                    people += [first, Person(first.invitation, rng)]
                before = [one.joined for one in people]
                playing = [asyncio.create_task(one.play(host)) for one in people]
                await asyncio.sleep(float(rng.uniform(2.0, 4.0)))
            finally:
                await asyncio.to_thread(test_serve.kill, process)
            await asyncio.gather(*playing)
            back = sum(one.joined > count for one, count in zip(people, before, strict=True))
            expect(back == len(people), f"after kill {number}, {back} of {len(people)} came back")
            figures["returns"] += back
            show_progress(figures)
    return people, figures


def compare(folder: Path, people: list[Person]) -> Figures:
    """Compare what was shown with the recordings."""
    found = []
    for path in folder.glob("*.jsonl"):
        (recording,) = read_recording(path)
        poses: list[list[float]] = []
        game = replay(recording, on_step=lambda env, seen=poses: seen.append(test_serve.pose_of(env)))
        found.append(([[each.role.value, each.text] for each in game.dialogue], poses))
    for one in people:
        own = [poses for said, poses in found if one.said and said[: len(one.said)] == one.said]
        expect(len(own) == 1, "the dialogue is in one recording", one.said[:2], len(own))
        for tick, pose in one.poses.items():
            expect(np.allclose(pose, own[0][tick], atol=1e-4), "another pose in step", tick)
    return {
        "recordings": len(found),
        "sentences": next(Person.numbers),
        "poses": sum(len(one.poses) for one in people),
    }


def drive(amount: int, seed: int) -> Figures:
    """Kill a server `amount` times; return the counts."""
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    starter = test_serve.STARTER
    try:
        for patience, kills in ((PATIENT, amount), (HASTY, 0)):
            options = f"{LIMITS}, wait_s={patience}"
            test_serve.STARTER = starter.replace("team=json.loads(sys.argv[2])", options)
            if kills:
                people, figures = asyncio.run(play_on(folder, min(GAMES, 2 + amount * 2), kills, seed))
                continue
            with test_serve.starting(folder) as start:  # nobody comes back
                _, process = start()
                deadline = time.monotonic() + 120
                while list(folder.glob("*.seats")):
                    expect(time.monotonic() < deadline, "games do not end")
                    time.sleep(0.2)
                test_serve.kill(process)
        return {**figures, **compare(folder, people), "load": round(os.getloadavg()[0], 1)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
