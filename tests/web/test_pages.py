"""The pages of the game in the browser, in a real one: whole games, both roles, on a desk and on a phone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser, browser

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
uvicorn = pytest.importorskip("uvicorn")

from iglu_marl import Role, Task, Worlds, replay  # noqa: E402
from iglu_marl.core.controls import Controls  # noqa: E402
from iglu_marl.core.grid import blocks_to_grid  # noqa: E402
from iglu_marl.core.worlds import Pose  # noqa: E402
from iglu_marl.language import parse  # noqa: E402
from iglu_marl.web import ServerOptions, create_app  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.system]

TWO = Task("", blocks_to_grid([(0, -1, -1, 6), (0, 0, -1, 1)]), invariant=False, task_id="two")
HOSTILE = "<img src=x onerror='window.hacked=1'></span><script>window.hacked=1</script> &amp;"


@contextmanager
def serving(sessions: Any = None, **options: Any) -> Iterator[str]:
    """A server in a thread; its address."""
    app = create_app(
        ServerOptions(**{"tasks": {"two": TWO}, "games_per_address": 100, **options}),
        sessions,
    )
    config = uvicorn.Config(
        app, port=0, log_level="error", ws="websockets-sansio", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < end
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("games")


@pytest.fixture(scope="module")
def address(games: Path) -> Iterator[str]:
    with serving(folder=games, wait_s=5.0) as address:
        yield address


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("builder"), size=(1400, 900)) as started:
        yield started


@pytest.fixture(scope="module")
def phone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("architect"), size=(500, 900)) as started:
        yield started


def begin(window: Browser, address: str, role: str, partner: str) -> None:
    """Through the lobby into a game."""
    window.open(f"{address}/")
    window.wait("return document.body.dataset.ready === 'yes'")
    window.run(f"document.querySelector('input[value={role}]').click()")
    window.run(f"document.getElementById('partner').value = '{partner}'")
    window.run("document.getElementById('start').click()")
    entered(window)


def entered(window: Browser) -> None:
    window.wait("return window.play !== undefined && play.state.joined && play.world.body !== null")


def say(window: Browser, text: str) -> None:
    window.run("document.getElementById('words').value = arguments[0]", text)
    window.run("document.getElementById('talk').requestSubmit()")


def test_a_file_that_is_dropped_on_the_lobby_is_built(window: Browser, address: str) -> None:
    window.open(f"{address}/")
    window.wait("return document.body.dataset.ready === 'yes'")
    window.run("document.querySelector('input[value=architect]').click()")

    def play(name: str, content: str) -> None:
        window.run(
            """const data = new DataTransfer();
            data.items.add(new File([arguments[1]], arguments[0]));
            document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));""",
            name,
            content,
        )
        window.wait(f"return document.getElementById('task').value === '{name}'")
        window.run("document.getElementById('start').click()")

    for name, content, error in (
        ("empty.json", "[]", "no block"),
        ("large.json", " " * 3_000_000, "too large"),
    ):
        play(name, content)
        window.wait(f"return document.getElementById('trouble').textContent.includes('{error}')")
    assert len(window.messages()) == 2  # of the browser, on the refused requests
    play("mine.json", '[[0, 0, 0, "red"]]')
    entered(window)
    assert window.run("return play.state.facts.task") == "mine"


def test_two_people_play_a_whole_game(window: Browser, phone: Browser, address: str, games: Path) -> None:
    """On a desk with mouse and keys, on a phone with words; what is typed is text whatever it looks like."""
    earlier = set(games.glob("*.jsonl"))  # of other tests
    phone.emulate(390, 844)
    begin(window, address, "builder", "person")
    window.wait("return document.getElementById('waitlink') !== null")
    phone.open(window.run("return document.getElementById('waitlink').value"))
    entered(phone)
    for each in (window, phone):
        each.wait("return play.state.status.state === 'playing'")
        assert each.run("return getComputedStyle(document.getElementById('veil')).display") == "none"
    assert phone.run("return document.documentElement.scrollWidth") <= 390
    phone.click("#words")
    phone.press("h")
    window.wait("return document.getElementById('lines').dataset.typing === 'Architect is typing …'")
    say(phone, "x" * 201)
    expected = "A message has at most 200 characters, this one has 201."
    phone.wait(f"return document.getElementById('note').textContent === '{expected}'")
    assert phone.run("return document.getElementById('words').value.length") == 201, "nothing is lost"
    say(phone, HOSTILE)
    window.wait("return document.querySelectorAll('#lines li').length === 1")
    assert window.run("return document.querySelector('#lines li span').textContent") == HOSTILE
    assert window.run("return document.getElementById('lines').dataset.typing") is None
    window.run("document.getElementById('skip').click()")
    window.click("#view")
    window.wait("return play.hands.locked")
    window.run("play.hands.turn(0, -45)")
    window.press("w")  # walks a step; then back
    window.press("s")
    window.press("6")
    window.press("e")
    window.wait("return play.world.grid.some((cell) => cell === 6)")
    window.press("1")
    window.run("play.hands.turn(0, 27)")
    window.press("e")
    window.wait("return play.state.status.state === 'over'")
    for each in (window, phone):
        each.wait("return document.getElementById('veiltitle').textContent === 'Complete!'")
        assert each.run("return window.hacked") is None
        assert each.messages() == []
    assert window.run("return play.world.target_grid") is None
    (path,) = set(games.glob("*.jsonl")) - earlier
    assert replay(path).completed


def test_one_comes_back_after_a_reload(window: Browser, address: str) -> None:
    begin(window, address, "builder", "scripted")
    window.wait("return document.querySelectorAll('#lines li').length > 0")
    window.run("play.hands.turn(90, -20)")
    window.wait("return Math.abs(play.world.body.yaw - 90) < .01 && play.world.body.pitch === -20")
    said = window.run("return document.getElementById('lines').textContent")
    window.run("location.reload()")
    entered(window)
    window.wait("return play.state.status.state === 'playing'")
    assert window.run("return document.getElementById('lines').textContent").startswith(said)
    assert window.run("return [play.world.body.yaw, play.world.body.pitch]") == [90, -20]
    window.run("play.connection.socket.close()")  # the connection alone is lost
    window.wait("return !play.connection.open")
    window.wait("return play.connection.open && play.state.status.state === 'playing'")
    window.run("play.hands.turn(0, -10)")
    window.wait("return play.world.body.pitch === -30")
    assert window.messages() == []


def test_one_who_goes_to_another_page_is_away(window: Browser, phone: Browser, address: str) -> None:
    """The other sees it at once, although browsers keep pages for the way back; and then that the game goes on."""
    begin(window, address, "builder", "person")
    phone.emulate(390, 844)
    window.wait("return document.getElementById('waitlink') !== null")
    phone.open(window.run("return document.getElementById('waitlink').value"))
    entered(phone)
    phone.wait("return play.state.status.state === 'playing'")
    window.open(f"{address}/")
    phone.wait("return play.state.status.state === 'paused'")
    assert "builder is away" in phone.run("return document.getElementById('veiltitle').textContent")
    window.back()
    entered(window)
    phone.wait("return play.state.status.state === 'playing' && !document.getElementById('veil').open")


def test_what_the_grammar_reads_is_shown_and_completed(window: Browser, address: str) -> None:
    shown = "return [...document.querySelectorAll('#sentences li')].map((one) => one.textContent)"
    begin(window, address, "architect", "scripted")
    window.wait("return document.querySelectorAll('#sentences li').length > 10", 40)
    assert all(parse(sentence) for sentence in window.run(shown))
    window.click("#words")
    for letter in "put a yellow b":
        window.press(letter)
    completions = window.run(shown)
    assert len(completions) > 1
    assert all(one.startswith("put a yellow block ") and parse(one) for one in completions)
    window.press("down")
    window.press("down")
    active = "return document.getElementById(words.getAttribute('aria-activedescendant'))?.textContent"
    assert window.run(active) == completions[1]
    window.press("up")
    window.press("enter")
    assert window.run("return words.value") == completions[0]
    assert window.run("return [lines.children.length, words.getAttribute('aria-expanded')]") == [0, "false"]
    window.press("enter")
    window.wait("return lines.children.length > 0")
    assert window.run(shown) == []
    window.press("m")
    assert {one.split()[0] for one in window.run(shown)} == {"make", "move"}
    window.press("escape")
    assert window.run("return [sentences.hidden, document.activeElement === words]") == [True, True]
    assert window.messages() == []


def test_a_trained_builder_listens(window: Browser, tmp_path: Path) -> None:
    """One that sees pictures alone."""
    pytest.importorskip("torch")
    with serving(folder=tmp_path, agents={Role.BUILDER: ("pov-walker-v2",)}) as address:
        begin(window, address, "architect", "pov-walker-v2")
        say(window, "Place a red block two north of the middle.")
        window.wait("return play.world.grid.some((cell) => cell !== 0)", 60)
        assert window.messages() == []
        window.open("about:blank")


def test_touch_moves_the_builder(phone: Browser, address: str) -> None:
    """The thumb's stick walks, and what is under the thumb is big enough."""
    phone.emulate(390, 844)
    begin(phone, address, "builder", "scripted")
    phone.run("document.body.classList.add('touch')")
    phone.run("document.getElementById('skip').click()")
    left, top, width, height = phone.box("#pad")
    assert width >= 100
    before = phone.run("return play.world.body.z")
    phone.run(
        "const pad = document.getElementById('pad'), [x, y] = arguments; pad.setPointerCapture = () => {};"
        "pad.dispatchEvent(new PointerEvent('pointerdown', {pointerId: 1, clientX: x, clientY: y}));",
        left + width / 2,
        top + 4,
    )
    phone.wait(f"return play.world.body.z < {before} - 1")
    phone.run("document.getElementById('pad').dispatchEvent(new PointerEvent('pointerup', {pointerId: 1}))")
    for button in ("#jump", "#break", "#place"):
        _, _, width, height = phone.box(button)
        assert min(width, height) >= 44
    assert phone.run("return document.documentElement.scrollWidth") <= 390


def test_what_the_page_predicts_is_what_happens(window: Browser, address: str) -> None:
    """Walking, jumping and bumping into blocks: the page's steps against the world's, over 400 steps."""
    window.open(f"{address}/")
    rng = np.random.default_rng(5)
    blocks = [(x, -1, z, 1) for x, z in [(0, -3), (1, -3), (2, -2), (-2, -1), (-2, 2), (0, -4)]]
    blocks.append((0, 0, -4, 2))
    worlds, controls = Worlds(1), Controls("human-level")
    standing = blocks_to_grid(blocks)
    worlds.spawn(0, Task("", standing, starting_grid=standing), pose=Pose())
    keys, turns, poses = [], [], []
    held = 0
    for number in range(400):
        held = int(rng.integers(32)) if number % 7 == 0 else held
        turn = [round(float(value), 4) for value in rng.normal(0, [15, 5])]
        action = controls.space.sample()
        action |= {"camera": np.array(turn, np.float64), "attack": 0, "use": 0, "hotbar": 0}
        action |= {
            key: held >> bit & 1 for bit, key in enumerate(("forward", "back", "left", "right", "jump"))
        }
        records, index = controls.encode(action)
        worlds.step(records[index : index + 1])
        keys.append(held)
        turns.append(turn)
        poses.append([*worlds.pose[0].tolist(), float(worlds.speed[0])])
    script = """
        const [keys, turns, blocks] = arguments;
        return import("/static/motion.js").then((motion) => {
          const grid = new Int8Array(1089), body = {x: 0, y: 0, z: 0, yaw: 0, pitch: 0, speed: 0, slices: 2};
          for (const [x, y, z, color] of blocks) grid[((y + 1) * 11 + x + 5) * 11 + z + 5] = color;
          return keys.map((held, k) => {
            const {x, y, z, yaw, pitch, speed} = motion.stepBody(body, held, ...turns[k], grid);
            return [x, y, z, yaw, pitch, speed];
          });
        });
    """
    predicted = np.array(window.run(script, keys, turns, blocks))
    assert np.abs(predicted - np.array(poses)).max() < 1e-9
    assert np.ptp(predicted[:, :3], axis=0).min() > 1  # it has gone about, and jumped


def test_a_network_that_stands_still_costs_nobody_a_word(
    window: Browser, phone: Browser, tmp_path: Path
) -> None:
    """Six seconds with W held while both write; longer ones: `python -m tests.web.networks`."""
    import networks

    pages = {Role.ARCHITECT: phone, Role.BUILDER: window}
    with networks.study(tmp_path) as (port, store):
        seen = networks.play(pages, port, store, "still", (Role.BUILDER,), 6.0, 0.0)
    assert seen.own is not None
    assert seen.own < 5
    assert seen.other is not None
    assert seen.other < 5.5
    for said in seen.lines.values():
        assert sorted(said) == ["before", "before", "during 1", "during 1", "during 2", "during 2"]
    assert [kind for kind in seen.events if kind != "left"] == ["joined", "joined", "away", "back"]
