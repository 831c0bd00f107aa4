"""Load test of the server: lateness of ticks, and delay from an input to its state.

`python tests/web/load.py --games 150 --agents 75` starts a server, and the clients in another process. A game of
people has a builder who always moves and an architect who watches. `--agents` games have a scripted partner: half of
them architects for such builders, half of them builders for architects who speak every few seconds. Everything is
recorded. Leave a core for the clients.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import multiprocessing
import os
import resource
import socket
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import uvloop
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from iglu_marl.language import CellEdit, render
from iglu_marl.web import ServerOptions, create_app
from iglu_marl.web.serving import Server, listen
from iglu_marl.web.warming import warm_up

PORT = 8791
ADDRESS, HOST = ("127.0.0.1", PORT), f"127.0.0.1:{PORT}"
HEARING: set[asyncio.Task[Any]] = set()
PATIENCE_S, SETTLE_S = 180.0, 5.0  # until all games are played, and from there on until it is measured


def serve(folder: Path, games: int, seconds: float) -> None:
    """Run the server, and print the lateness of its ticks while all games were played."""
    warm_up()
    options = ServerOptions(folder=folder, games_per_address=10_000, late_s=10.0, requests_per_s=10_000)
    app = create_app(options)

    async def measure() -> None:
        rooms, late = app.state.rooms, list[float]()
        rooms.note_lateness = late.append
        empty, patience = memory_mb(), time.monotonic() + PATIENCE_S

        def playing() -> int:
            return sum(room.playing for room in rooms.rooms.values())

        while playing() < games and time.monotonic() < patience:
            await asyncio.sleep(0.2)
        await asyncio.sleep(SETTLE_S)
        late.clear()
        used, begun = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds)
        took = time.monotonic() - begun
        own = (time.process_time() - used) / took
        p50, p95, p99 = np.percentile(late or [np.nan], [50, 95, 99]) * 1000
        memory, each = memory_mb(), max(playing(), 1)
        print(
            f"{playing()} games; {own:.2f} cores ({1000 * own / each:.1f} ms a second for each game); "
            f"lateness ms p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, max "
            f"{max(late, default=0) * 1000:.0f} in {len(late)} ticks; {memory:.0f} MB, {(memory - empty) / each:.2f} "
            f"MB for each game; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        server.should_exit = True

    async def start() -> None:
        HEARING.add(asyncio.create_task(measure()))

    server = Server(app, options, on_start=start)
    server.serve_at(listen(*ADDRESS))


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def enter(token: str, take: Callable[[str], None] = lambda text: None) -> ClientConnection:
    """Join with a token. take: called with each message."""
    page = await connect(f"ws://{HOST}/ws", origin=f"http://{HOST}", compression=None)  # type: ignore[arg-type]
    await page.send(json.dumps({"t": "join", "token": token}))

    async def hear() -> None:
        with contextlib.suppress(ConnectionClosed):
            async for text in page:
                take(str(text))

    HEARING.add(asyncio.create_task(hear()))
    return page


async def one_game(number: int, agent: bool, delays: list[tuple[float, float]]) -> None:
    """Play a game until the server ends. delays: list of (time, delay) of inputs."""
    with contextlib.suppress(ConnectionClosed):
        if agent and number % 2:
            await explain(await asyncio.to_thread(begin, "scripted", "architect"), number)
        else:
            await walk(await asyncio.to_thread(begin, "scripted" if agent else "person"), number, delays)


async def walk(token: str, number: int, delays: list[tuple[float, float]]) -> None:
    """Play a builder that always moves, and an architect that watches."""
    sent: dict[int, float] = {}
    welcome = asyncio.get_running_loop().create_future()

    def take(text: str) -> None:
        if not welcome.done():
            welcome.set_result(json.loads(text))
        elif (found := text.find('"ack":')) > 0:
            acknowledged = int(text[found + 6 : text.index(",", found)])
            if (at := sent.pop(acknowledged, None)) is not None:
                delays.append((time.monotonic(), time.monotonic() - at))

    builder = await enter(token, take)
    if invitation := next(iter((await welcome)["invites"].values()), ""):
        await enter(invitation)
    due = time.monotonic() + number % 20 / 400
    for count in itertools.count(1):
        due += 0.05
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        sent[count] = time.monotonic()
        held = (1, 4, 2, 8)[count // 12 % 4]
        await builder.send(json.dumps({"t": "in", "n": count, "held": held, "events": [["turn", 3.3, 0]]}))


async def explain(token: str, number: int) -> None:
    """Play an architect that requests a block every few seconds."""
    architect = await enter(token)
    await asyncio.sleep(4.0 * (number * 0.382 % 1.0))  # each at a time of its own
    for count in itertools.count():
        edit = CellEdit.between((count * 7 % 9 - 4, -1, count * 5 % 9 - 4), 0, 6)
        await architect.send(json.dumps({"t": "say", "text": render(edit)}))
        await asyncio.sleep(4.0)


def begin(partner: str, role: str = "builder") -> str:
    """Create a game with an agent or a person; return the token of the own role."""
    body = json.dumps({"role": role, "partner": partner, "task": None}).encode()
    headers = {"origin": f"http://{HOST}", "content-type": "application/json"}
    with urllib.request.urlopen(
        urllib.request.Request(f"http://{HOST}/api/games", body, headers), timeout=60
    ) as answer:
        return str(json.load(answer)["token"])


async def people(games: int, agents: int, seconds: float) -> None:
    """Run all clients."""
    patience = time.monotonic() + PATIENCE_S
    while time.monotonic() < patience:
        try:
            socket.create_connection(ADDRESS, 1.0).close()
            break
        except OSError:
            await asyncio.sleep(0.2)
    begun, delays = time.monotonic() - time.process_time(), list[tuple[float, float]]()
    courses = (one_game(number, number < agents, delays) for number in range(games))
    failures = [one for one in await asyncio.gather(*courses, return_exceptions=True) if one is not None]
    if failures:
        print(f"{len(failures)} games have failed: {failures[0]!r}")
    measured = [delay for at, delay in delays if at > delays[-1][0] - seconds]
    p50, p95, p99 = np.percentile(measured or [np.nan], [50, 95, 99]) * 1000
    cores = time.process_time() / (time.monotonic() - begun)
    print(
        f"input to state ms p50 {p50:.0f}, p95 {p95:.0f}, p99 {p99:.0f}; people took {cores:.2f} cores",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=150)
    parser.add_argument("--agents", type=int, default=75)
    parser.add_argument("--seconds", type=float, default=30.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments = Path(folder), asked.games, asked.seconds
        server = multiprocessing.get_context("spawn").Process(target=serve, args=arguments)
        server.start()
        uvloop.run(people(asked.games, asked.agents, asked.seconds))
        server.join()


if __name__ == "__main__":
    main()
