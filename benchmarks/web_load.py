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
import itertools
import json
import pstats
import resource
import socket
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
PATIENCE_S, SETTLE_S = 180.0, 5.0  # until all games are played, and from there on until it is measured


def serve(folder: Path, games: int, seconds: float) -> None:
    """The server, which prints at its end how late its ticks were while all games were played."""
    import uvicorn
    import uvloop

    from iglu_marl.web import ServerOptions, create_app, warm_up

    warm_up()
    options = ServerOptions(folder=folder, games_per_address=10_000, late_s=10.0, requests_per_s=10_000)
    app = create_app(options)
    late: list[float] = []
    config = uvicorn.Config(
        app,
        port=PORT,
        log_level="error",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
    )

    async def run() -> None:
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.05)
        rooms = app.state.rooms
        rooms.note_lateness = late.append  # of games that begin from here on
        empty, patience = resident_mb(), time.monotonic() + PATIENCE_S

        def playing() -> int:
            return sum(room.playing for room in rooms.rooms.values())

        while playing() < games and time.monotonic() < patience:
            await asyncio.sleep(0.2)
        await asyncio.sleep(SETTLE_S)
        late.clear()
        used, begun = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds)
        cores = (time.process_time() - used) / (time.monotonic() - begun)
        p50, p95, p99 = np.percentile(late or [np.nan], [50, 95, 99]) * 1000
        memory, each = resident_mb(), max(playing(), 1)
        print(
            f"{playing()} games, {cores:.2f} cores ({1000 * cores / each:.1f} ms a second for each); lateness ms p50 "
            f"{p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, max {max(late, default=0) * 1000:.0f} in {len(late)} ticks; "
            f"{memory:.0f} MB, {(memory - empty) / each:.2f} MB for each game",
            flush=True,
        )
        server.should_exit = True
        await task

    uvloop.run(run())


def resident_mb() -> float:
    """The memory of this process now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def one_game(number: int, agent: bool, delays: list[tuple[float, float]]) -> None:
    """Two people, or one and an agent, until the server ends. delays: gets when and how late an input was seen."""
    with contextlib.suppress(websockets.ConnectionClosed):
        if agent and number % 2:
            await explain(await asyncio.to_thread(begin, "scripted", "architect"))
        else:
            await walk(await asyncio.to_thread(begin, "scripted" if agent else "person"), number, delays)


def connected() -> Any:
    """A connection to the server."""
    return websockets.connect(f"ws://{HOST}/ws", origin=f"http://{HOST}", compression=None)  # type: ignore[arg-type]


async def walk(token: str, number: int, delays: list[tuple[float, float]]) -> None:
    """A builder who is never still, and the architect who looks on where one is invited."""
    async with connected() as builder:
        await builder.send(json.dumps({"t": "join", "token": token}))
        welcome: dict[str, Any] = json.loads(await builder.recv())
        others = [asyncio.create_task(look_on(welcome["invite"]))] if welcome["invite"] else []
        sent: dict[int, float] = {}

        async def send() -> None:
            due = time.monotonic() + number % 20 / 400
            for count in itertools.count(1):
                due += 0.05
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                sent[count] = time.monotonic()
                held = (1, 4, 2, 8)[count // 12 % 4]
                await builder.send(
                    json.dumps({"t": "in", "n": count, "held": held, "events": [["turn", 3.3, 0]]})
                )

        others.append(asyncio.create_task(send()))
        try:
            async for text in builder:
                acknowledged = json.loads(text).get("ack", 0)
                if (at := sent.pop(acknowledged, None)) is not None:
                    delays.append((time.monotonic(), time.monotonic() - at))
        finally:
            for task in others:
                task.cancel()


async def look_on(token: str) -> None:
    """An architect who looks on."""
    async with connected() as architect:
        await architect.send(json.dumps({"t": "join", "token": token}))
        async for _ in architect:
            pass


async def explain(token: str) -> None:
    """An architect who has a builder place a block every few seconds."""
    async with connected() as architect:
        await architect.send(json.dumps({"t": "join", "token": token}))

        async def speak() -> None:
            for count in itertools.count():
                edit = CellEdit.between((count * 7 % 9 - 4, -1, count * 5 % 9 - 4), 0, 6)
                await architect.send(json.dumps({"t": "say", "text": render(edit)}))
                await asyncio.sleep(4.0)

        speaking = asyncio.create_task(speak())
        try:
            async for _ in architect:
                pass
        finally:
            speaking.cancel()


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
    """All who play, as soon as the server is there."""
    patience = time.monotonic() + PATIENCE_S
    while time.monotonic() < patience:
        try:
            socket.create_connection(("127.0.0.1", PORT), 1.0).close()
            break
        except OSError:
            await asyncio.sleep(0.2)
    delays: list[tuple[float, float]] = []
    courses = (one_game(number, number < agents, delays) for number in range(games))
    failures = [one for one in await asyncio.gather(*courses, return_exceptions=True) if one is not None]
    if failures:
        print(f"{len(failures)} games have failed: {failures[0]!r}")
    measured = [delay for at, delay in delays if at > delays[-1][0] - seconds]
    p50, p95, p99 = np.percentile(measured or [np.nan], [50, 95, 99]) * 1000
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
            serve(Path(folder), asked.games, asked.seconds)
        if asked.profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        return
    if asked.part == "people":
        asyncio.run(people(asked.games, asked.agents, asked.seconds))
        return
    options = [f"--{name}={getattr(asked, name)}" for name in ("games", "agents", "seconds")]
    options += ["--profile"] if asked.profile else []
    command = [sys.executable, __file__, *options]
    with subprocess.Popen([*command, "--part=serve"]), subprocess.Popen([*command, "--part=people"]):
        pass  # each prints what it has measured


if __name__ == "__main__":
    main()
