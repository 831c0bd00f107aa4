"""Many games in the browser at once: how late ticks come, and how long it takes from an input to the state that has it.

`python benchmarks/web_load.py --games 150 --agents 75` starts a server of its own, and in another process the people.
Two people in a game are a builder who walks and turns all the time and an architect who looks on. Scripted agents play
in as many games as `--agents` says: architects who explain to such a builder, and, in every second of these games,
builders who do what a person says every few seconds. Everything is recorded, as always. The load is on the same
machine, so leave a core for it. `--profile` also prints where the server's time goes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import json
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import websockets

from iglu_marl.language import CellEdit, render

PORT = 8791
HOST = f"127.0.0.1:{PORT}"


def serve(folder: Path, seconds: float) -> None:
    """The server, which prints at its end how late its ticks were."""
    import uvicorn

    from iglu_marl.web import ServerOptions, create_app, warm_up

    warm_up()
    options = ServerOptions(folder=folder, games_per_address=10_000, late_s=10.0, requests_per_s=10_000)
    app = create_app(options)
    late: list[float] = []

    async def run() -> None:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                port=PORT,
                log_level="error",
                ws="websockets-sansio",
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=1,
            )
        )
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.05)
        rooms = app.state.rooms
        rooms.note_lateness = late.append  # of games that begin from here on
        print("ready", flush=True)
        empty = resident_mb()
        await asyncio.sleep(seconds / 2)  # games begin
        late.clear()
        used, begun = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds / 2 - 3)
        cores = (time.process_time() - used) / (time.monotonic() - begun)
        playing = sum(room.playing for room in rooms.rooms.values())
        p50, p95, p99 = np.percentile(late, [50, 95, 99]) * 1000
        memory, each = resident_mb(), max(playing, 1)
        print(
            f"{playing} games, {cores:.2f} cores ({1000 * cores / each:.1f} ms a second for each); lateness ms p50 "
            f"{p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, max {max(late) * 1000:.0f} in {len(late)} ticks; "
            f"{memory:.0f} MB, {(memory - empty) / each:.2f} MB for each game",
            flush=True,
        )
        server.should_exit = True
        await task

    import uvloop

    uvloop.run(run())


def resident_mb() -> float:
    """The memory of this process now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def one_game(number: int, agent: bool, delays: list[float], end: float) -> None:
    """Two people, or one and an agent."""
    if agent and number % 2:
        await explain(await asyncio.to_thread(begin, "scripted", "architect"), end)
        return
    token = await asyncio.to_thread(begin, "scripted" if agent else "person")
    async with websockets.connect(f"ws://{HOST}/ws", origin=f"http://{HOST}", compression=None) as builder:
        await builder.send(json.dumps({"t": "join", "token": token}))
        welcome: dict[str, Any] = json.loads(await builder.recv())
        architect = None
        if not agent:
            architect = asyncio.create_task(listen(welcome["invite"], end))
        sent: dict[int, float] = {}

        async def send() -> None:
            with contextlib.suppress(websockets.ConnectionClosed):
                await send_frames()

        async def send_frames() -> None:
            count = 0
            due = time.monotonic() + number % 20 / 400
            while time.monotonic() < end:
                due += 0.05
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                count += 1
                sent[count] = time.monotonic()
                held = (1, 4, 2, 8)[count // 12 % 4]
                await builder.send(
                    json.dumps({"t": "in", "n": count, "held": held, "events": [["turn", 3.3, 0]]})
                )

        sending = asyncio.create_task(send())
        acknowledged = 0
        while time.monotonic() < end:
            told = json.loads(await builder.recv())
            if told.get("ack", 0) > acknowledged:
                acknowledged = told["ack"]
                if acknowledged in sent:
                    delays.append(time.monotonic() - sent[acknowledged])
        await sending
        if architect is not None:
            await architect


async def explain(token: str, end: float) -> None:
    """An architect who has a builder place a block every few seconds, and take it away again."""
    async with websockets.connect(f"ws://{HOST}/ws", origin=f"http://{HOST}", compression=None) as architect:
        await architect.send(json.dumps({"t": "join", "token": token}))

        async def speak() -> None:
            count = 0
            with contextlib.suppress(websockets.ConnectionClosed):
                while time.monotonic() < end:
                    edit = CellEdit.between((count * 7 % 9 - 4, -1, count * 5 % 9 - 4), 0, 6)
                    await architect.send(json.dumps({"t": "say", "text": render(edit)}))
                    count += 1
                    await asyncio.sleep(4.0)

        speaking = asyncio.create_task(speak())
        with contextlib.suppress(websockets.ConnectionClosed):
            while time.monotonic() < end:
                await architect.recv()
        speaking.cancel()


async def listen(token: str, end: float) -> None:
    """An architect who looks on."""
    async with websockets.connect(f"ws://{HOST}/ws", origin=f"http://{HOST}", compression=None) as architect:
        await architect.send(json.dumps({"t": "join", "token": token}))
        with contextlib.suppress(websockets.ConnectionClosed):
            while time.monotonic() < end:
                await architect.recv()


def begin(partner: str, role: str = "builder") -> str:
    """A game with an agent or a person; the token of its builder, or of its architect."""
    import urllib.request

    body = json.dumps({"role": role, "partner": partner, "task": None}).encode()
    headers = {"origin": f"http://{HOST}", "content-type": "application/json"}
    with urllib.request.urlopen(
        urllib.request.Request(f"http://{HOST}/api/games", body, headers), timeout=60
    ) as answer:
        return str(json.load(answer)["token"])


async def people(games: int, agents: int, seconds: float) -> None:
    """All who play."""
    delays: list[float] = []
    end = time.monotonic() + seconds - 1
    courses = (one_game(number, number < agents, delays, end) for number in range(games))
    failures = [one for one in await asyncio.gather(*courses, return_exceptions=True) if one is not None]
    if failures:
        print(f"{len(failures)} games have failed: {failures[0]!r}")
    late = delays[len(delays) // 2 :]
    p50, p95, p99 = np.percentile(late, [50, 95, 99]) * 1000
    print(f"input to state ms p50 {p50:.0f}, p95 {p95:.0f}, p99 {p99:.0f}", flush=True)


def main() -> None:
    """Start both, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=150)
    parser.add_argument("--agents", type=int, default=75)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--profile", action="store_true", help="where the server's time goes; slows it down")
    parser.add_argument("--part", choices=("serve", "people"))
    asked = parser.parse_args()
    if asked.part == "serve":
        profile = cProfile.Profile()
        with tempfile.TemporaryDirectory() as folder, profile if asked.profile else contextlib.nullcontext():
            serve(Path(folder), asked.seconds)
        if asked.profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        return
    if asked.part == "people":
        asyncio.run(people(asked.games, asked.agents, asked.seconds))
        return
    options = [f"--{name}={getattr(asked, name)}" for name in ("games", "agents", "seconds")]
    options += ["--profile"] if asked.profile else []
    command = [sys.executable, __file__, *options]
    with subprocess.Popen([*command, "--part=serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if line.strip() == "ready":
                break
        subprocess.run([*command, "--part=people"], check=False)
        print(server.stdout.read().strip())


if __name__ == "__main__":
    main()
