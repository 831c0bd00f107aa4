"""All screens of the browser at three sizes: nothing is cut off, and no button lies under something else.

With IGLU_MARL_PICTURES=FOLDER, a picture of each is kept, to be looked at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, browser

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")

from test_pages import begin, entered, say, serving
from test_study import written
from test_team_pages import PARTS, TEAM

from iglu_marl import ConfigError
from iglu_marl.web import store as db
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.study import read_study

pytestmark = [pytest.mark.slow, pytest.mark.system]

SIZES = ((1280, 800), (844, 390), (390, 844))
STUDY = """
name = "screens"
title = "Words and blocks"
participant = "PID"
minutes = 60
consent = "We record what you write and what you build, and nothing else about you.\\n\\nDo you want to take part?"
instructions = "Somebody describes a **structure**.\\n\\n| key | meaning |\\n|---|---|\\n| W | walk |\\n\\n---\\n\\nAsk"
completion_code = "C1A2B3C4"
return_url = "https://example.org/{code}"
failed_checks = 1
failed_code = "FA1L"
least_s = 0
no_partner = "wait"

[[conditions]]
name = "people"
partner = "person"
tasks = ["two", "two"]

[[quiz]]
name = "who"
text = "What can you do when you are not sure what the other person wants?"
kind = "choice"
options = ["ask in the chat, as often as you like", "leave"]
expected = "ask in the chat, as often as you like"

[[questions]]
name = "age"
text = "How old are you?"
when = "before"

[[questions]]
name = "alone"
text = "How did you find the last game?"
kind = "likert"
low = "very hard, and no fun"
high = "very easy, and great fun"
when = "between"

[[questions]]
name = "clear"
text = "How clear were the instructions?"
kind = "likert"
steps = 11
low = "not at all"
high = "very"

[[questions]]
name = "attention"
text = "Please choose 2 here."
kind = "likert"
expected = "2"

[[questions]]
name = "remarks"
text = "Is there anything that you want to tell us?"
required = false
"""
# Buttons and fields whose middle is not theirs, or lies outside of a page that does not scroll.
COVERED = """
    const still = getComputedStyle(document.body).overflow === "hidden";
    const card = document.querySelector("dialog[open]"), veil = document.getElementById("veil");
    const top = card || (veil?.checkVisibility() ? veil : document);
    return [...top.querySelectorAll("button, input, select, textarea, a")].filter((one) => {
      if (!one.checkVisibility({visibilityProperty: true}) || one.disabled) return false;
      if (!still || card) one.scrollIntoView({block: "center"});
      const {left, top, width, height} = one.getBoundingClientRect();
      const hit = document.elementFromPoint(left + width / 2, top + height / 2);
      return !hit || !(one.contains(hit) || hit.contains(one));
    }).map((one) => one.outerHTML.slice(0, 80));
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Browser]]:
    first, second = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    with browser(first, (1280, 800)) as one, browser(second, (1280, 800)) as other:
        yield one, other


def keep(page: Browser, name: str) -> None:
    if folder := os.environ.get("IGLU_MARL_PICTURES"):
        (Path(folder) / f"{name}.png").write_bytes(page.picture())


def look(page: Browser, name: str) -> None:
    """Check a screen at all sizes; a phone has the controls for fingers."""
    for width, height in SIZES:
        page.emulate(width, height)
        page.run("document.body.classList.toggle('touch', arguments[0])", min(width, height) < 500)
        time.sleep(0.25)
        keep(page, f"{name}-{width}x{height}")
        wide = page.run("return document.documentElement.scrollWidth")
        assert wide <= width, (name, width, height, wide)
        covered = page.run(COVERED)
        page.run("scrollTo(0, 0)")
        assert covered == [], (name, width, height)
    page.emulate(1280, 800)
    page.run("document.body.classList.remove('touch')")


def press(page: Browser, name: str) -> None:
    page.run("document.getElementById(arguments[0]).click()", name)


def over(page: Browser) -> None:
    page.wait("return document.getElementById('veiltitle').textContent === 'Complete!'", 30)


def build(page: Browser) -> None:
    """Build the structure "two"."""
    for pitch, key in ((-45, 6), (-18, 1)):
        page.run(f"play.hands.turn(0, {pitch} - play.world.body.pitch)")
        page.wait(f"return play.world.body.pitch === {pitch}")
        page.run(f"play.hands.choose({key}); play.hands.place()")
        page.wait(f"return play.world.grid.some((cell) => cell === {key})")


def test_a_free_game(pages: tuple[Browser, Browser], tmp_path: Path) -> None:
    page, _ = pages
    with serving(folder=tmp_path) as address:
        page.open(f"{address}/")
        page.wait("return document.body.dataset.ready === 'yes'")
        look(page, "lobby")
        begin(page, address, "builder", "person")
        page.wait("return document.getElementById('waitlink') !== null")
        look(page, "waiting")
        begin(page, address, "builder", "scripted")
        page.wait("return document.querySelectorAll('#lines li').length > 0", 30)
        look(page, "builder-coach")
        press(page, "skip")
        for text in ("What now?", "Where does it go? I see a board, and nothing on it.", "Which colour?"):
            say(page, text)
            time.sleep(0.7)
        look(page, "builder")
        press(page, "help")
        page.wait("return document.getElementById('helpcard').open")
        time.sleep(1.5)
        look(page, "builder-help")
        page.run("document.getElementById('helpcard').close()")
        build(page)
        over(page)
        look(page, "builder-over")
        begin(page, address, "architect", "scripted")
        page.wait("return play.world.target_grid !== null")
        look(page, "architect-coach")
        press(page, "skip")
        say(page, "Place a red block one north of the middle.")
        page.wait("return play.world.score[0] === 1", 30)
        look(page, "architect")
        press(page, "help")
        page.wait("return document.querySelectorAll('.examples button').length > 10", 40)
        look(page, "architect-help")
        page.run("document.getElementById('helpcard').close()")
        page.run("localStorage.clear()")
        page.touch(True)
        page.emulate(390, 844)
        begin(page, address, "builder", "scripted")
        assert page.run("return document.body.classList.contains('touch')")
        assert page.run("return document.getElementById('step').textContent") == "Drag to look around."
        assert page.run("return document.getElementById('words').placeholder") == "Ask the architect"
        keep(page, "touch-390x844")
        page.touch(False)


def test_a_study_of_two(pages: tuple[Browser, Browser], tmp_path: Path) -> None:
    study = read_study(written(tmp_path, STUDY))
    sessions = Sessions(study, db.Store(f"sqlite:///{tmp_path / 'study.db'}"))
    one, other = pages

    async def fails(_: Any) -> Any:
        raise ConfigError("not now")

    def stage(page: Browser, name: str, what: str = "stage") -> None:
        page.wait(f"return document.body.dataset.{what} === '{name}'")
        if page is one:
            look(page, f"study-{name}")

    def send(page: Browser) -> None:
        script = "for (const one of document.querySelectorAll('fieldset')) one.querySelectorAll('input')[0]?.click()"
        page.run(script)
        page.run("for (const one of document.querySelectorAll('textarea')) one.value = 'Nothing.'")
        page.run("document.getElementById('form').requestSubmit()")

    with serving(sessions, folder=tmp_path / "games") as address:
        one.open(f"{address}/")
        one.wait("return document.body.dataset.ready === 'yes'")
        look(one, "study-code")
        one.open(f"{address}/?PID=[[PID]]")
        one.wait("return document.getElementById('trouble').textContent !== ''")
        look(one, "study-placeholder")
        for page in pages:
            page.open(f"{address}/?PID=p{pages.index(page)}")
            stage(page, "consent")
            page.click("#form button")
            stage(page, "instructions")
            page.click("#form button")
            page.click("#form button:last-child")
            stage(page, "quiz")
            send(page)
            stage(page, "before")
            send(page)
            stage(page, "game")
            page.click("#form button")
            if page is one:
                stage(page, "waiting", "waiting")
                whole, sessions.game = sessions.game, fails  # type: ignore[method-assign]
                one.wait("return document.getElementById('trouble').textContent.includes('lost')")
                sessions.game = whole  # type: ignore[method-assign]
                one.wait("return document.getElementById('trouble').textContent === ''")
        stage(one, "offered", "waiting")
        assert one.run("return document.title") == "Your partner is here!"
        one.click("#form button")
        stage(one, "confirmed", "waiting")
        other.click("#form button")
        for page in pages:
            entered(page)
            page.wait("return play.state.status.state === 'playing'")
        builder, architect = sorted(pages, key=lambda page: page.run("return play.state.role"), reverse=True)
        for page in pages:
            assert page.run("return document.getElementById('coach').hidden")
            assert "What now?" not in page.run("return document.getElementById('quick').textContent")
        say(architect, "Please build a tower of two blocks, a red one below and a blue one above it.")
        builder.wait("return document.querySelectorAll('#lines li').length === 1")
        architect.run("document.getElementById('words').focus()")
        architect.press("h")
        look(builder, "study-builder")
        architect.run("document.getElementById('words').value = ''")
        look(architect, "study-architect")
        build(builder)
        for page in pages:
            over(page)
            look(page, "study-over")
            page.click("#veillinks a")
        stage(one, "between")
        send(one)
        stage(other, "between")
        send(other)
        for page in pages:
            stage(page, "game")
            page.click("#form button")
        for page in pages:
            stage(page, "offered", "waiting")
            page.click("#form button")
        for page in pages:
            entered(page)
        one.messages()  # of what was refused above
        leave = "document.getElementById('leave').click();"
        one.run(f"play.connection.socket.close(); {leave} {leave}")  # heard when the connection is back
        one.wait("return location.pathname === '/'")
        other.wait("return play.state.status.how === 'left'")
        assert one.messages() == []
        store = sessions.store
        for name in ("questions", "done", "failed", "expired", "left", "dismissed", "screened", "refused"):
            values = {"stage": name, **({"came": 0.0} if name == "expired" else {})}
            store.do(lambda one, values=values: one.execute(db.PARTICIPANTS.update().values(**values)))
            one.open(f"{address}/?PID=p0")
            stage(one, name)
            if name == "done":
                assert one.run("return document.querySelector('.code').textContent") == "C1A2B3C4"


def test_a_team(pages: tuple[Browser, Browser], tmp_path: Path) -> None:
    page, other = pages
    with serving(folder=tmp_path, team=TEAM, tasks={"parts": PARTS}) as address:
        page.open(f"{address}/")
        page.wait("return document.body.dataset.ready === 'yes'")
        page.run("document.querySelector('select[name=builder_0]').value = 'person'")
        look(page, "team-lobby")
        press(page, "start")
        entered(page)
        page.wait("return document.querySelectorAll('#veillinks input').length === 1")
        look(page, "team-waiting")
        other.open(page.run("return document.querySelector('#veillinks input').value"))
        for one in pages:
            entered(one)
            one.wait("return play.state.status.state === 'playing'")
            one.run("document.getElementById('skip').click()")
        say(page, "Only the west is mine, so please listen to the other architect as well.")
        other.wait("return document.querySelectorAll('#lines li').length > 0")
        look(page, "team-architect")
        look(other, "team-builder")
