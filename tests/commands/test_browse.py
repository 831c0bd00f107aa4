"""`iglu-marl data browse`: what the pages of a corpus hold, and what they do in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser, browser
from made_packs import (
    GAME_COLUMNS,
    cache,  # noqa: F401 - a fixture
    game,
    rebuilt_file,
    start_file,
    table,
    tower,
    world,
    write_zip,
)
from replay_data import page_data
from shell import run_json

from iglu_marl.core.errors import ConfigError, RenderError
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.data import CDMDataset, bundled
from iglu_marl.rendering import ReplayRecorder
from iglu_marl.rendering.corpus import CorpusSession, write_corpus

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cache")]

POSE = (0.0, -0.25, 0.0, 0.0, 0.0)
ATTACK = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>{{data}}\u2028"


def made(name: str, *said: tuple[str, str], blocks: Any = (), **more: str) -> CorpusSession:
    recorder = ReplayRecorder(name)
    recorder.add(blocks_to_grid([]), POSE)
    for count in range(len(said)):
        recorder.add(blocks_to_grid([]), POSE, dialogue=said[: count + 1], status={"time_s": 30.0 * count})
    recorder.add(blocks_to_grid(list(blocks)), POSE, dialogue=said)
    return CorpusSession(name, recorder.data, **more)


class Tags(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the bundled sessions."""
    folder = tmp_path_factory.mktemp("pages") / "bundled"
    assert run_json("data", "browse", "bundled", "-o", folder) == {
        "source": "bundled",
        "sessions": 96,
        "left_out": [],
        "file": str(folder / "index.html"),
    }
    return folder


def test_each_session_has_a_page_that_ends_with_its_world(pages: Path) -> None:
    index = page_data(pages / "index.html")
    known = {row["name"]: row for row in index["sessions"]}
    assert len(known) == len(list((pages / "sessions").iterdir())) == 96
    for structure, sessions in bundled.load().items():
        for session in sessions:
            row = known[str(session.task_id)]
            assert row["structure"] == structure
            final = [list(block) for block in grid_to_blocks(session.structures[-1])]
            assert row["blocks"] == final
            page = page_data(pages / row["file"])
            said = [[utterance.role.value, utterance.text] for utterance in session.dialogue]
            assert page["dialogue"] == said == [line[:2] for line in row["said"]]
            heard = [count for _, count in page["runs"]["said"]]
            assert heard == sorted(heard)
            for number, (*_, moment) in enumerate(row["said"]):
                assert next(at for at, count in page["runs"]["said"] if count > number) == moment
            times = [time for _, time in page["runs"]["time_s"]]
            assert times == sorted(times)
            assert page["runs"]["complete"][-1][1] is True
    links = page_data(pages / "sessions" / "1-birthday-cake.html")["links"]
    assert links == [["All sessions", "../index.html"], ["Next", "2-birthday-cake.html"]]


def test_the_pages_stand_alone(pages: Path) -> None:
    for page in (pages / "index.html", pages / "sessions" / "2-bridge.html"):
        text, tags = page.read_text(encoding="utf-8"), Tags(page).found
        for tag, attributes in tags:
            assert tag not in ("iframe", "object", "embed", "base")
            for name in ("src", "href", "srcset", "action"):
                assert (attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
        assert set(re.findall(r"https?://[^\"'\s]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"\b(?:import|fetch|XMLHttpRequest|WebSocket|eval|innerHTML)\b", text)
        (policy,) = [a["content"] for _, a in tags if a.get("http-equiv") == "Content-Security-Policy"]
        assert "default-src 'none'" in str(policy)


def test_no_text_gets_out_of_its_place(tmp_path: Path) -> None:
    session = made(ATTACK, ("architect", ATTACK), structure=ATTACK, split=ATTACK)
    index = write_corpus(tmp_path / "out", ATTACK, [session, session], about=ATTACK)
    row, other = page_data(index)["sessions"]
    assert (row["name"], row["said"][0][1]) == (ATTACK, ATTACK)
    assert re.fullmatch(r"sessions/[\w-]+\.html", row["file"])
    assert row["file"] != other["file"]
    for page in (index, index.parent / row["file"]):
        scripts = [attributes.get("type") for tag, attributes in Tags(page).found if tag == "script"]
        assert scripts == ["application/json", None]
        assert "<img" not in page.read_text(encoding="utf-8")


def test_folders_in_use_are_kept(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine")
    with pytest.raises(RenderError, match="is not empty"):
        write_corpus(tmp_path / "site", "a", [made("a")])
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    write_corpus(tmp_path / "out", "a", [made("a"), made("A")])
    assert {path.name for path in (tmp_path / "out" / "sessions").iterdir()} == {"a.html", "A-2.html"}


def test_games_of_one_turn(tmp_path: Path) -> None:
    files = {
        "clarifying_questions_train.csv": table(
            GAME_COLUMNS,
            [game(1), game(2, clear="No", ClarifyingQuestion="where?"), game(3, "9-c9/step-2")],
        ),
        start_file("1-c7/step-2"): world(*tower(1)),
        rebuilt_file(1): world(*tower(3), tape=["damaged"]),
    }
    path = write_zip(tmp_path / "iglu-singleturn.zip", files)
    listing = run_json("data", "browse", "iglu-singleturn", "--data", path, "-o", tmp_path / "out")
    assert (listing["sessions"], listing["left_out"]) == (2, ["CQ-game-3"])
    one, two = page_data(tmp_path / "out" / "index.html")["sessions"]
    assert (len(one["blocks"]), len(two["blocks"])) == (3, 1)
    assert [line[:2] for line in two["said"]] == [["architect", "instruction 2"], ["builder", "where?"]]
    with pytest.raises(ConfigError, match="has no structure 'c8', expected one of c7"):
        run_json(
            "data", "browse", "iglu-singleturn", "--data", path, "-o", tmp_path / "none", "--structure", "c8"
        )


def test_a_session_with_a_timeline(shared: Path, tmp_path: Path) -> None:
    listing = run_json(
        "data", "browse", "mdc", "--data", shared / "data", "-o", tmp_path / "out", "--structure", "C1"
    )
    sessions = CDMDataset(path=shared / "data", structures="C1").sessions()
    assert listing["sessions"] == len(sessions) == 4
    rows = page_data(tmp_path / "out" / "index.html")["sessions"]
    for row, session in zip(rows, sessions, strict=True):
        assert (row["name"], row["structure"], row["split"]) == (session.name, "C1", session.split)
        assert row["blocks"] == [list(block) for block in grid_to_blocks(session.final_grid)]
        assert len(row["said"]) == len(session.dialogue)


# -------------------------------------------------------------------------------------------------------- a browser


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser"), size=(1300, 860)) as started:
        yield started


@pytest.fixture
def opened(window: Browser, pages: Path) -> Iterator[Browser]:
    """The index, freshly loaded; whatever is done with it, nothing may be written to the console."""
    window.messages()
    window.open(pages / "index.html", f"?{np.random.default_rng().integers(1 << 30)}")
    window.wait("return window.corpus !== undefined")
    yield window
    assert window.messages() == []


def search(window: Browser, text: str) -> str:
    """Type into the search field; what is said to be found."""
    script = (
        "const field = document.getElementById('search'); field.value = arguments[0];"
        "field.dispatchEvent(new Event('input')); return document.getElementById('found').textContent"
    )
    return str(window.run(script, text))


def texts(window: Browser, selector: str) -> list[str]:
    return list(
        window.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)
    )


def test_searching(opened: Browser, pages: Path) -> None:
    rows = page_data(pages / "index.html")["sessions"]
    said = sum(len(row["said"]) for row in rows)
    assert texts(opened, "#found") == [f"96 sessions, {said} utterances"]
    words = ["candle", "cake"]
    hits = [
        row
        for row in rows
        if all(word in f"{row['name']} {' '.join(t for _, t, _ in row['said'])}".lower() for word in words)
    ]
    assert 0 < len(hits) < 10
    assert search(opened, "Candle  CAKE").startswith(f"{len(hits)} session")
    assert texts(opened, ".session > a") == [row["name"] for row in hits]
    assert {text.lower() for text in texts(opened, "mark")} == set(words)
    assert search(opened, "zzz") == "0 sessions, 0 utterances"
    assert opened.run("return getComputedStyle(document.getElementById('nothing')).display") != "none"
    assert search(opened, "").startswith("96 sessions")


def test_parts_and_orders(opened: Browser) -> None:
    def choose(name: str, value: str) -> None:
        script = (
            "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
            "field.dispatchEvent(new Event('change'))"
        )
        opened.run(script, name, value)

    choose("structure", "bridge")
    assert texts(opened, ".session > a") == ["1-bridge", "2-bridge", "3-bridge"]
    choose("order", "most said")
    counts = [int(re.findall(r"(\d+) utterance", text)[0]) for text in texts(opened, ".facts")]
    assert counts == sorted(counts, reverse=True)
    assert opened.run("return location.hash") == "#structure=bridge&order=most+said"
    assert opened.run("return document.getElementById('split').hidden"), "there are no parts"


def test_from_a_word_to_its_moment_and_back(opened: Browser, pages: Path) -> None:
    search(opened, "candle")
    address = opened.run("return location.href")
    link = opened.run("return document.querySelector('.lines a').getAttribute('href')")
    opened.click(".lines a")
    opened.wait("return window.replay !== undefined")
    file, _, moment = str(link).partition("#")
    assert opened.run("return replay.state.moment") == int(moment) > 0
    now = texts(opened, "#lines li.now")
    assert len(now) == 1
    assert "candle" in now[0].lower()
    assert opened.run("return location.pathname").endswith(file)
    opened.press("end")
    name = opened.run("return replay.data.title.split(', ')[1]")
    (row,) = [row for row in page_data(pages / "index.html")["sessions"] if row["name"] == name]
    built = opened.run("return replay.buildAt(replay.state.moment).filter(Boolean).length")
    assert built == len(row["blocks"])
    opened.back()
    opened.wait("return window.corpus !== undefined")
    assert opened.run("return location.href") == address
    assert opened.run("return document.getElementById('search').value") == "candle"
    opened.click(".picture")
    opened.wait("return window.replay !== undefined")
    opened.click("#links a")
    opened.wait("return window.corpus !== undefined")


def test_pictures_are_drawn_when_they_come_into_sight(opened: Browser) -> None:
    canvases = "[...document.querySelectorAll('.picture canvas')]"
    drawn = (
        f"return {canvases}.filter((canvas) => canvas.width !== 300).length"  # the width of an untouched one
    )
    opened.wait(f"{drawn} > 3")
    shown = opened.run(f"return {canvases}.length")
    assert 0 < opened.run(drawn) < shown < 96
    opened.run("window.scrollTo(0, document.body.scrollHeight)")
    opened.wait(f"return {canvases}.length === 96")
    opened.run("document.getElementById('sessions').lastElementChild.scrollIntoView()")
    opened.wait(f"return {canvases}[95].width !== 300")
    pictures = opened.run(f"return {canvases}.filter((c) => c.width !== 300).map((c) => c.toDataURL())")
    assert all(len(picture) > 2000 for picture in pictures)
    assert len(set(pictures)) > 10


@pytest.mark.parametrize("width", [360, 768, 1300])
def test_nothing_sticks_out(window: Browser, pages: Path, width: int) -> None:
    window.emulate(width, 800)
    try:
        for page, ready in (("index.html", "corpus"), ("sessions/2-mushroom.html", "replay")):
            window.open(pages / page)
            window.wait(f"return window.{ready} !== undefined")
            assert window.run("return document.documentElement.scrollWidth") == width
        if width == 360:  # the timeline stands right below the build, the dialogue follows
            tops = [window.box(part)[1] for part in ("#stage", "#slider", "#chatbox", "#goal")]
            assert tops == sorted(tops)
    finally:
        window.emulate(1300, 860)


def test_hostile_texts_are_only_shown(window: Browser, tmp_path: Path) -> None:
    sessions = [
        made(ATTACK, ("architect", ATTACK), structure=ATTACK, split=ATTACK),
        made("b", ("x", "İİ red"), structure="b", split="b"),
    ]
    index = write_corpus(tmp_path / "out", ATTACK, sessions, about=ATTACK)
    window.messages()
    window.open(index)
    window.wait("return window.corpus !== undefined")
    assert texts(window, "h1") == [ATTACK]
    assert search(window, "hacked") == "1 session, 1 utterance"
    assert search(window, "red") == "1 session, 1 utterance"
    assert window.run("return window.hacked === undefined && document.querySelectorAll('img').length === 0")
    assert window.messages() == []
