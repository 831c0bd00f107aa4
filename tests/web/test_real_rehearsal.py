"""A rehearsal in real browsers: six participants at once, from the consent to a code, alone and in pairs."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, browser

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")

from test_pages import TWO, keep, say, serving
from test_study import rows_of, written

from iglu_marl import Task
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.web import rehearsal
from iglu_marl.web import store as db
from iglu_marl.web.exporting import export_study
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.study import OVER, read_study

pytestmark = [pytest.mark.slow, pytest.mark.system]

STUDY = """
name = "browsers"
participant = "PID"
consent = "Do you agree?"
instructions = "Build it together."
practice = ["one"]
roles = "swap"
no_partner = "dismiss"
wait_s = 10
least_s = 300
completion_code = "C0DE"
left_code = "LEFT"
dismissed_code = "PART"

[[conditions]]
name = "people"
partner = "person"
tasks = ["two", "two"]

[[quiz]]
name = "who"
text = "Who builds?"
kind = "choice"
options = ["the builder", "nobody"]
expected = "the builder"

[[questions]]
name = "well"
text = "Did it go well?"
kind = "likert"
when = "between"

[[questions]]
name = "else"
text = "What else?"
"""
ONE = Task("", blocks_to_grid([(0, -1, -1, 6)]), invariant=False, task_id="one")
REQUESTS = ("Place a red block one north of the middle.", "Place a blue block on top of it.")
BUILT = ((-45, "6"), (-18, "1"))  # where a builder looks, and the key of the colour, for each of its blocks
LOOK = """
    const {waiting, stage, ready} = document.body.dataset, text = document.getElementById("text")?.textContent;
    if (location.pathname === "/") return ready ? {at: waiting || stage, text} : null;
    if (!window.play?.state.joined || !play.world.body) return null;
    const {state, world} = play, lines = document.querySelectorAll("#lines li");
    return {at: state.status.state, role: state.role, blocks: world.grid.filter((cell) => cell).length,
      pitch: world.body.pitch, said: lines.length, own: document.querySelectorAll("#lines .mine").length};
"""


class Visitor:
    """A person before a browser, who does what the page shows. fates: what builders of first games do."""

    def __init__(self, page: Browser, code: str, fates: list[str]) -> None:
        self.page, self.code, self.fates, self.fate = page, code, fates, ""
        self.text = ""  # of the study's page before a game
        self.outcome = self.shown = ""  # the last stage, and the code that the page shows
        self.waited_s = 0.0

    def take_part(self, address: str) -> None:
        """Go through the study."""
        self.page.open(f"{address}/?PID={self.code}")
        deadline = time.monotonic() + 240
        while not self.outcome:
            assert time.monotonic() < deadline, (self.code, self.page.run(LOOK))
            if (seen := self.page.run(LOOK)) is not None:
                self.act(seen)
            time.sleep(0.2)
            self.waited_s += 0.2 * (seen is not None and seen["at"] == "waiting")

    def act(self, seen: dict[str, Any]) -> None:
        """Do one thing."""
        page, at = self.page, seen["at"]
        if at in OVER:
            self.outcome = at
            self.shown = page.run("return document.querySelector('.code')?.textContent")
        elif at in ("consent", "instructions", "game", "offered"):
            self.text = seen["text"] if at == "game" else self.text
            page.run("document.querySelector('#form button')?.click()")
        elif at in ("quiz", "between", "questions"):
            page.run("document.querySelectorAll('#form input[type=radio]')[0]?.click()")
            page.run("for (const one of document.querySelectorAll('textarea')) one.value = 'Fine.'")
            page.run("document.getElementById('form').requestSubmit()")
            page.wait(f"return document.body.dataset.stage !== '{at}' || document.body.dataset.waiting")
        elif at == "over":
            page.click("#veillinks a")
            page.wait("return location.pathname === '/'")
        elif at == "playing" and seen["role"] == "architect":
            if seen["own"] == seen["blocks"] < len(REQUESTS):
                say(page, REQUESTS[seen["own"]])
                self.until(f"document.querySelectorAll('#lines .mine').length > {seen['own']}")
        elif at == "playing" and seen["said"] > seen["blocks"]:
            self.build(seen)

    def build(self, seen: dict[str, Any]) -> None:
        """Place a block, or do what fate wants after the first one."""
        page, (pitch, key) = self.page, BUILT[seen["blocks"]]
        if self.text.startswith("Game 1") and seen["blocks"] and not self.fate:
            self.fate = self.fates.pop()
            if self.fate == "close":
                keep(page, "rehearsal-builder")
                page.stop()
                self.outcome = "dropped out"
            elif self.fate == "return":
                page.open("about:blank")
                page.back()
        elif self.fate == "leave":  # twice, and once more where the second click comes too late
            page.run("document.getElementById('leave')?.click()")
        elif seen["pitch"] != pitch:
            page.run("play.hands.turn(0, arguments[0])", pitch - seen["pitch"])
            self.until(f"play.world.body.pitch === {pitch}")
        else:
            page.press(key)
            page.press("e")
            self.until(f"play.world.grid.filter((cell) => cell).length > {seen['blocks']}")

    def until(self, script: str) -> None:
        """Wait until a script gives something true, or the game does not go on: it may end at any moment."""
        try:
            self.page.wait(f"return play.state.status.state !== 'playing' || {script}")
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.code}, {self.fate!r}: {self.page.run(LOOK)}") from None


def test_six_people_rehearse_a_study(tmp_path: Path) -> None:
    """One of each pair comes back after another page, leaves too early, or closes the browser for good."""
    study, folder = read_study(written(tmp_path, STUDY)), tmp_path / "games"
    store = db.Store(f"sqlite:///{tmp_path / 'study.db'}")
    fates, codes, begun = (
        ["return", "leave", "close"],
        [f"P{number}" for number in range(6)],
        time.monotonic(),
    )
    with ExitStack() as stack:
        options: dict[str, Any] = {"folder": folder, "wait_s": 5.0, "tasks": {"one": ONE, "two": TWO}}
        address = stack.enter_context(serving(Sessions(study, store), requests_per_s=1000, **options))
        people = []
        for code in codes:
            (tmp_path / code).mkdir()
            people.append(Visitor(stack.enter_context(browser(tmp_path / code, (1280, 800))), code, fates))
        with ThreadPoolExecutor(len(people)) as pool:
            for going in [pool.submit(one.take_part, address) for one in people]:
                going.result()
        for one in people:
            if one.fate != "close":
                assert [text for text in one.page.messages() if "WebSocket" not in text] == []
        rows = {
            table.name: list(store.do(db.rows, table, study.name))
            for table in (db.PARTICIPANTS, db.GAMES, db.EVENTS)
        }
        exported = tmp_path / "exported"
        exported.mkdir()
        recordings = export_study(store, study.name, folder, exported)
    outcomes = {one.code: one.outcome for one in people}
    assert Counter(outcomes.values()) == {"done": 3, "left": 1, "dropped out": 1, "dismissed": 1}
    shown = {"done": "C0DE", "left": "LEFT", "dismissed": "PART", "dropped out": ""}
    assert {one.code: one.shown for one in people} == {code: shown[how] for code, how in outcomes.items()}
    by_code = {row["code"]: row for row in rows["participants"]}
    counted = [game for game in rows["games"] if game["number"] >= 2]
    assert rehearsal._problems(study, folder, outcomes, by_code, rows["games"], counted, rows["events"]) == []
    teams = Counter(row["team"] for row in by_code.values())
    assert teams == {1: 2, 2: 2, 3: 2}
    games: dict[str, list[tuple[str, str]]] = {}
    for game in counted:
        games.setdefault(game["code"], []).append((game["role"], game["how"]))
    roles = {code: [role for role, _ in played] for code, played in games.items()}
    whole = [code for code in codes if outcomes[code] in ("done", "left")]
    assert all(sorted(roles[code]) == ["architect", "builder"] for code in whole)  # both, since they swap
    answers = Counter(row["code"] for row in rows_of(exported / "answers.csv"))
    assert {answers[code] for code in whole} == {3}
    kinds = Counter(row["kind"] for row in rows["events"])
    assert {"came", "waits", "offered", "joined", "said", "back", "left", "away", "short"} <= kinds.keys()
    assert len(recordings) == len({game["recording"] for game in rows["games"]})
    figures = {
        "outcomes": outcomes,
        "games": Counter(game["how"] for game in rows["games"]),
        "events": sum(kinds.values()),
        "waited_s": [round(one.waited_s, 1) for one in people],
        "seconds": round(time.monotonic() - begun, 1),
    }
    print(json.dumps(figures))
