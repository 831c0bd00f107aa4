"""Two people of a study in real browsers, whose network stands still or loses packets: what is noticed, lost, doubled?

`python -m tests.web.networks 3 6 10 30 60` prints a line for each length and each of builder, architect and both, and
one for a minute of 20 % loss. The builder holds W, and both write while nothing comes through.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from browser import Browser, browser

from iglu_marl import Role, Task
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.web import ServerOptions, create_app
from iglu_marl.web import store as db
from iglu_marl.web.serving import Server, listen
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.store import Store
from iglu_marl.web.study import Condition, Study

ROLES = (Role.ARCHITECT, Role.BUILDER)
FAR = Task("", blocks_to_grid([(5, -1, 5, 6)]), invariant=False, task_id="far")
STUDY = Study("net", (Condition("people", ("far",), Role.ARCHITECT, "person"),), idle_s=600.0)
RESEND_S = 0.3  # after which a lost packet comes again


class Network:
    """A proxy for TCP: while `still`, nothing passes; `loss` is the share of packets that come late."""

    def __init__(self, target: int) -> None:
        self.still, self.loss, self._target = False, 0.0, target
        self._loop = asyncio.new_event_loop()
        self.port = self._loop.run_until_complete(self._open())
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    async def _open(self) -> int:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def _connected(self, reader: Any, writer: Any) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(self._carry(reader, back), self._carry(there, writer))

    async def _carry(self, reader: Any, writer: Any) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                late = RESEND_S
                while random.random() < self.loss:
                    await asyncio.sleep(late)
                    late *= 2
                while self.still:
                    await asyncio.sleep(0.02)
                writer.write(data)
                await writer.drain()
        writer.close()


class Seen(NamedTuple):
    """What came of it. own, other: seconds until the pages said so, of those whose network it was and of the others."""

    own: float | None
    other: float | None
    back: float  # after the end
    lines: dict[str, list[str]]  # of each page
    events: list[str]


@contextlib.contextmanager
def study(folder: Path) -> Iterator[tuple[int, Store]]:
    """A server with a study; its port and database."""
    store = Store(f"sqlite:///{folder / 'study.db'}")
    options = ServerOptions(folder=folder / "games", tasks={"far": FAR}, wait_s=90.0, requests_per_s=1000)
    server = Server(create_app(options, Sessions(STUDY, store)), options)
    bound = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_at, args=(bound,), daemon=True)
    thread.start()
    try:
        yield bound.getsockname()[1], store
    finally:
        server.should_exit = True
        thread.join(20)


def ask(port: int, path: str, **body: Any) -> dict[str, Any]:
    headers = {"origin": f"http://127.0.0.1:{port}", "content-type": "application/json"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/study/{path}", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def seats(port: int, name: str) -> list[str]:
    """Two new participants in a game: the tokens of architect and builder."""
    tokens = []
    for number in range(2):
        token = ask(port, "enter", code=f"{name}-{number}")["token"]
        ask(port, "next", token=token, stage="instructions")
        tokens.append(token)
    for _ in range(20):
        found = [ask(port, "game", token=token) for token in tokens]
        if all("play" in one for one in found):
            return [one["play"] for one in found]
    raise AssertionError(found)


def say(page: Browser, text: str) -> None:
    page.run("document.getElementById('words').value = arguments[0]", text)
    page.run("document.getElementById('talk').requestSubmit()")


def lines(page: Browser) -> list[str]:
    script = (
        "return [...document.querySelectorAll('#lines li:not(.pending) span')].map((one) => one.textContent)"
    )
    found: list[str] = page.run(script)
    return found


def play(
    pages: dict[Role, Browser],
    port: int,
    store: Store,
    name: str,
    who: tuple[Role, ...],
    seconds: float,
    loss: float,
) -> Seen:
    """Let the network of some stand still, or lose packets, for a time."""
    network = Network(port)
    for role, token in zip(ROLES, seats(port, name), strict=True):
        pages[role].open("about:blank")
        pages[role].open(f"http://127.0.0.1:{network.port if role in who else port}/play#{token}")
    for page in pages.values():
        page.wait("return window.play !== undefined && play.state.status.state === 'playing'")
        say(page, "before")
    for page in pages.values():
        page.wait("return document.querySelectorAll('#lines li:not(.pending)').length === 2")
    key = "document.dispatchEvent(new KeyboardEvent(arguments[0], {code: 'KeyW', bubbles: true}))"
    pages[Role.BUILDER].run(key, "keydown")
    network.still, network.loss = not loss, loss
    begun, noticed, written = time.monotonic(), dict[Role, float](), 0
    while time.monotonic() - begun < seconds or written < 2:  # a busy machine is slow to write
        if written < 2 and time.monotonic() - begun > (1 + written) * min(seconds / 4, 5):
            written += 1
            for page in pages.values():
                say(page, f"during {written}")
        for role, page in pages.items():
            if page.run(
                "return document.getElementById('net').textContent !== '' || document.getElementById('veil').open"
            ):
                noticed.setdefault(role, round(time.monotonic() - begun, 1))
        time.sleep(0.1)
    network.still, network.loss, ended = False, 0.0, time.monotonic()
    expected = "return play.state.status.state === 'playing' && !play.connection.words.length && play.connection.open"
    for page in pages.values():
        page.wait(expected, 30)
        page.wait("return document.querySelectorAll('#lines li:not(.pending)').length >= 6", 30)
    back = round(time.monotonic() - ended, 1)
    pages[Role.BUILDER].run(key, "keyup")
    time.sleep(0.5)
    said = {str(role): lines(page) for role, page in pages.items()}
    for page in pages.values():
        page.run("play.connection.leave()")
    mine = [noticed[role] for role in who if role in noticed]
    others = [at for role, at in noticed.items() if role not in who]
    return Seen(min(mine, default=None), min(others, default=None), back, said, events(store, name))


def events(store: Store, name: str) -> list[str]:
    """Who was away and back, in order."""
    kinds = ("joined", "away", "back", "elsewhere", "left")
    rows = store.do(db.rows, db.EVENTS, STUDY.name)
    return [row["kind"] for row in rows if row["code"].startswith(f"{name}-") and row["kind"] in kinds]


def main(lengths: list[float]) -> None:
    cases: list[tuple[float, float]] = [*((length, 0.0) for length in lengths), (60.0, 0.2)]
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder = Path(place)
        pages = {}
        for role in ROLES:
            (folder / role).mkdir()
            pages[role] = stack.enter_context(browser(folder / role, size=(1000, 700)))
        port, store = stack.enter_context(study(folder))
        for number, (seconds, loss) in enumerate(cases):
            for who in ((Role.BUILDER,), (Role.ARCHITECT,), ROLES):
                name = f"c{number}{''.join(role[0] for role in who)}"
                seen = play(pages, port, store, name, who, seconds, loss)
                whole = all(
                    sorted(each) == sorted(2 * ["before", "during 1", "during 2"])
                    for each in seen.lines.values()
                )
                print(
                    f"{seconds:.0f} s, loss {loss:.0%}, {' and '.join(who)}: noticed by own page {seen.own} s, by "
                    f"the other {seen.other} s; back after {seen.back} s; every word once: {whole};",
                    *seen.events,
                    flush=True,
                )


if __name__ == "__main__":
    main([float(one) for one in sys.argv[1:]])
