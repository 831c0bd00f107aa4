"""Faults around a server of studies: a database that is full or damaged, jumps of the clock, restarts under load.

The amount is a number of participants for each. A request may be refused (429, 503) but never fails otherwise, and what
the server has acknowledged is there afterwards.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import requests
import uvicorn
from sqlalchemy import text
from test_study import STUDY, ask, serving, written
from trust.driver import Figures, expect, main, show_progress

from iglu_marl import DataError
from iglu_marl.web import ServerOptions, create_app
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.store import Store
from iglu_marl.web.study import read_study

QUICK, FULL = 4, 40
STAGES = ("consent", "instructions", "game")


class Participants:
    """People who go as far as their game, and what was acknowledged to each."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.study = folder, written(folder, STUDY)
        self.games = folder / "games"
        self.known: dict[str, str] = {}  # code -> the stage that was acknowledged
        self.refused = 0

    def serving(self) -> Any:
        """Return a client of a server, which ends with it."""
        return serving(self.study, self.games)

    def ask(self, client: Any, path: str, **body: Any) -> dict[str, Any]:
        """Return an answer, which may be a refusal."""
        found = ask(client, path, **body)
        expect(found["status"] in (200, 429, 503), "the server answered", found)
        self.refused += found["status"] != 200
        return found

    def go(self, client: Any, code: str) -> None:
        """As far as the game, or as far as the server lets them."""
        found = self.ask(client, "enter", code=code)
        while found["status"] == 200 and found["stage"] != "game":
            self.known[code] = found["stage"]
            found = self.ask(client, "next", token=found["token"], stage=found["stage"], agree=True)
        if found["status"] == 200:
            self.known[code] = "game"

    def check(self, client: Any) -> None:
        """Everybody is where they were, and can go on."""
        for code, stage in tuple(self.known.items()):
            found = ask(client, "enter", code=code)
            there = STAGES.index(found["stage"]) if found.get("stage") in STAGES else -1
            expect(there >= STAGES.index(stage), f"{code} was in {stage}, and is in {found}")
        before = self.refused
        for code in tuple(self.known) or ("first",):
            self.go(client, code)
            expect(self.known[code] == "game", code, "cannot go on")
        expect(self.refused == before, "requests are refused after the fault")


def full(people: Participants, codes: list[str], rng: np.random.Generator) -> None:
    """The database cannot grow."""
    with people.serving() as client:
        store = client.app.state.sessions.store
        people.go(client, "before")
        pages = store.do(lambda one: one.execute(text("PRAGMA page_count")).scalar())
        store.do(lambda one: one.execute(text(f"PRAGMA max_page_count = {pages}")))
        for number in range(500):  # until the last page is full
            people.go(client, f"{codes[0]}-{number}")
            if people.refused:
                break
        expect(people.refused, "nothing was refused")
        store.do(lambda one: one.execute(text("PRAGMA max_page_count = 1000000")))
        people.check(client)


def damaged(people: Participants, codes: list[str], rng: np.random.Generator) -> None:
    """Bytes of the database are changed while no server runs: it starts and answers, or says why not."""
    with people.serving() as client:
        for code in codes:
            people.go(client, code)
    path = people.games / "studies.db"
    whole = path.read_bytes()
    for number in range(len(codes)):
        first = 0 if number == 0 else int(rng.integers(len(whole) - 512))
        path.write_bytes(whole[:first] + rng.bytes(512) + whole[first + 512 :])
        with contextlib.suppress(DataError), people.serving() as client:
            for code in (*codes, "another"):
                found = ask(client, "enter", code=code)
                expect(found["status"] in (200, 503), "the server answered", found)
        for beside in people.games.glob("studies.db-*"):
            beside.unlink()
    path.write_bytes(whole)
    with people.serving() as client:
        people.check(client)


def clock(people: Participants, codes: list[str], rng: np.random.Generator) -> None:
    """The clock jumps by up to a year, either way."""
    with people.serving() as client:
        for code in codes:
            with mock.patch("time.time", return_value=time.time() + rng.uniform(-3e7, 3e7)):
                people.go(client, code)
            people.check(client)


@contextlib.contextmanager
def listening(people: Participants) -> Iterator[int]:
    """A server on a port of its own."""
    options = ServerOptions(folder=people.games, requests_per_s=1e6)
    store = f"sqlite:///{people.games / 'studies.db'}"
    tasks = {**options.tasks, "one-red": next(iter(options.tasks.values()))}
    app = create_app(
        dataclasses.replace(options, tasks=tasks),
        Sessions(read_study(people.study), Store(store)),
    )
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="websockets-sansio"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        expect(thread.is_alive(), "the server has not started")
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
        expect(not thread.is_alive(), "the server does not end")


class Network:
    """What `ask` uses of a client, over connections to a port."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def post(self, path: str, **asked: Any) -> requests.Response:
        """Send a request as a page of the server would."""
        return requests.post(self.url + path, **{**asked, "headers": {"origin": self.url}}, timeout=30)


def restarts(people: Participants, codes: list[str], rng: np.random.Generator) -> None:
    """The server restarts while participants come."""
    for number in range(4):
        with ThreadPoolExecutor(4) as pool:
            with listening(people) as port:
                coming = [pool.submit(people.go, Network(port), f"{code}-{number}") for code in codes]
                time.sleep(float(rng.uniform(0, 0.2)))
            for one in coming:
                with contextlib.suppress(requests.ConnectionError):
                    one.result()
        with people.serving() as client:
            people.check(client)


FAULTS: tuple[Callable[[Participants, list[str], np.random.Generator], None], ...] = (
    full, damaged, clock, restarts,
)  # fmt: skip


def drive(amount: int, seed: int) -> Figures:
    """Make each fault, with `amount` participants; return the counts."""
    logging.disable()  # each refusal is logged
    rng = np.random.default_rng(seed)
    figures: Figures = {"faults": 0, "participants": 0, "refused": 0}
    for fault in FAULTS:
        folder = Path(tempfile.mkdtemp(prefix="server-"))
        people = Participants(folder)
        people.games.mkdir()
        try:
            fault(people, [f"{fault.__name__}-{number}" for number in range(amount)], rng)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        figures["faults"] += 1
        figures["participants"] += len(people.known)
        figures["refused"] += people.refused
        show_progress(figures)
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
