"""The page that replays a game: what it holds, and what it does in a real browser."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser, browser
from PIL import Image
from replay_data import page_data

import iglu_marl
from iglu_marl import GridError, Task, play
from iglu_marl.agents import ScriptedArchitect, ScriptedBuilder
from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import ZONE_SHAPE, blocks_to_grid
from iglu_marl.rendering import ReplayRecorder
from iglu_marl.rendering.html import replay_page
from iglu_marl.rendering.painter import paint_scenes
from iglu_marl.rendering.renderer import Lens

pytestmark = pytest.mark.slow  # a browser is started

EMPTY = np.zeros(ZONE_SHAPE, np.int8)
SKY = (128, 176, 255)
POSE = (0.0, -0.25, 0.0, 0.0, 0.0)
HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<!-- <script> -->",
    "</SCRIPT >",
    "<img src=x onerror='window.hacked = 1'>",
    "&lt;b&gt; & &amp; \"quoted\" 'too' \\u003c \\",
    "line\nline\ttab \u2028 \u2029 \x00 \x1b",
    "{{data}} {{title}}",
    "☃ \U0001f600 שלום 中文 é",
    "\ud83d alone",
    "x" * 5000,
    "",
]


class Watched:
    """A recorder, and beside it the plain truth."""

    def __init__(self) -> None:
        self.recorder = ReplayRecorder()
        self.grids: list[Any] = []
        self.poses: list[Any] = []
        self.heard: list[int] = []
        self.scores: list[int] = []

    def __call__(self, env: Any) -> None:
        self.recorder(env)
        episode = env.unwrapped.episode
        self.grids.append(episode.worlds.grid[0].copy())
        self.poses.append(episode.worlds.pose[0].copy())
        self.heard.append(len(episode.dialogue))
        self.scores.append(int(episode.worlds.best[0]))


BLOCKS = [(0, -1, -2, 6), (1, -1, -2, 1), (1, 0, -2, 3), (-2, -1, 0, 2)]


@pytest.fixture(scope="module")
def game() -> Watched:
    """What the scripted pair does with four blocks."""
    env = iglu_marl.env(
        tasks=Task("", BLOCKS, task_id="a <small> corner"),
        builder_sees=("inventory", "compass", "dialog", "pose", "grid"),
    )
    seen = Watched()
    assert play(
        env, {"architect": ScriptedArchitect(), "builder": ScriptedBuilder()}, seed=1, on_step=seen
    ).completed
    return seen


def grid_at(data: dict[str, Any], moment: int) -> Any:
    grid = blocks_to_grid(data["start"]).copy()
    for when, x, y, z, color in data["edits"]:
        if when <= moment:
            grid[y + 1, x + 5, z + 5] = color
    return grid


def value_at(data: dict[str, Any], name: str, moment: int) -> Any:
    return [value for when, value in data["runs"][name] if when <= moment][-1]


# ------------------------------------------------------------------------------------------------------- collecting


def test_the_data_tell_the_whole_game(game: Watched) -> None:
    data = game.recorder.data
    assert data["moments"] == len(game.grids) == game.recorder.moments > 10
    assert data["title"] == "a <small> corner"
    for moment, (grid, pose) in enumerate(zip(game.grids, game.poses, strict=True)):
        assert (grid_at(data, moment) == grid).all()
        assert np.abs(np.array(data["poses"][moment]) - pose).max() <= 0.0005
        assert value_at(data, "said", moment) == game.heard[moment]
        assert value_at(data, "intersection", moment) == game.scores[moment]
    assert value_at(data, "complete", data["moments"] - 1) is True
    assert [speaker for speaker, _ in data["dialogue"]] == ["architect"] * 4
    target = data["grids"][value_at(data, "target", 0)]
    assert sorted(map(tuple, target)) == sorted(BLOCKS)
    ghost = blocks_to_grid(data["grids"][value_at(data, "ghost", data["moments"] - 1)])
    assert (ghost == game.grids[-1]).all()  # at the end the aligned target is the build
    json.dumps(data, allow_nan=False)


def test_moments_from_elsewhere() -> None:
    recorder = ReplayRecorder()
    recorder.add(EMPTY, POSE)
    recorder.add(blocks_to_grid([(1, 2, 3, 4)]), POSE, dialogue=[("architect", "a"), ("narrator", "b")])
    recorder.add(EMPTY, POSE, dialogue=[("architect", "a"), ("narrator", "b"), ("builder", "c")])
    data = recorder.data
    assert data["edits"] == [[1, 1, 2, 3, 4], [2, 1, 2, 3, 0]]
    assert data["runs"] == {"target": [[0, None]], "ghost": [[0, None]], "said": [[0, 0], [1, 2], [2, 3]]}
    for wrong, error, message in (
        ({"grid": np.zeros(3)}, GridError, "shape"),
        ({"pose": (1, 2, 3)}, RenderError, "pose"),
        ({"pose": (1, 2, 3, 4, float("nan"))}, RenderError, "pose"),
        ({"target": np.full(ZONE_SHAPE, 9)}, GridError, "target"),
        ({"status": {"mood": 3}}, RenderError, "mood"),
        ({"dialogue": [("architect", "z")]}, RenderError, "does not continue"),
    ):
        with pytest.raises(error, match=message):
            recorder.add(**{"grid": EMPTY, "pose": POSE, **wrong})  # type: ignore[arg-type]
    assert recorder.data == data  # what is refused leaves no trace


# ------------------------------------------------------------------------------------------------------------ files


class Scripts(HTMLParser):
    """Tags and script contents, as an HTML parser sees them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append((self.tags[-1][0] if self.tags else "", data))


def hostile() -> ReplayRecorder:
    recorder = ReplayRecorder("</title><script>window.hacked = 1</script>{{data}} & ☃ \ud83d")
    said: list[tuple[str, str]] = []
    recorder.add(EMPTY, POSE)
    for number, text in enumerate(HOSTILE):
        speaker = ("architect", "builder", "<b>someone</b>")[number % 3]
        said.append((speaker, text))
        recorder.add(EMPTY, POSE, dialogue=said, status={"step": number, "floor": "</script><i>"})
    return recorder


def test_no_text_gets_out_of_its_place() -> None:
    data = hostile().data
    page = replay_page(data)
    page.encode("utf-8")
    parsed = Scripts(page)
    kinds = [tags for tags in parsed.tags if tags[0] == "script"]
    assert [attributes.get("type") for _, attributes in kinds] == ["application/json", None]
    assert not [tag for tag, attributes in parsed.tags if tag == "img" or "onerror" in attributes]
    assert page.count("<b>") == 0
    (embedded,) = [text for tag, text in parsed.texts if tag == "script" and text.startswith('{"format"')]
    assert json.loads(embedded) == json.loads(json.dumps(data))
    assert not re.search("[<>&]", embedded)


def test_the_page_stands_alone(game: Watched) -> None:
    page = replay_page(game.recorder.data)
    parsed = Scripts(page)
    for tag, attributes in parsed.tags:
        assert tag not in ("iframe", "object", "embed", "base")
        for name in ("src", "href", "srcset", "action"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {
        "http://www.w3.org/2000/svg"
    }  # a name, not an address
    assert not re.search(r"\b(?:import|fetch|XMLHttpRequest|WebSocket|eval|innerHTML)\b", page)
    (policy,) = [a["content"] for t, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert len(page) < 60_000


def test_files(game: Watched, tmp_path: Path) -> None:
    page = game.recorder.write(tmp_path / "game.html")
    assert page_data(page) == json.loads(json.dumps(game.recorder.data))
    for name in ("game.txt", "no/game.html"):
        with pytest.raises(RenderError):
            game.recorder.write(tmp_path / name)
    with pytest.raises(RenderError, match="no moments"):
        ReplayRecorder().write(tmp_path / "empty.html")
    assert [path.name for path in tmp_path.iterdir()] == ["game.html"]


# -------------------------------------------------------------------------------------------------------- a browser


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser"), size=(1300, 860)) as started:
        yield started


@pytest.fixture(scope="module")
def page(game: Watched, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return game.recorder.write(tmp_path_factory.mktemp("page") / "game.html")


@pytest.fixture
def opened(window: Browser, page: Path) -> Iterator[Browser]:
    """The page, freshly loaded; whatever is done with it, nothing may be written to the console."""
    window.messages()
    window.open(page, f"?{np.random.default_rng().integers(1 << 30)}")
    window.wait("return window.replay !== undefined")
    yield window
    assert window.messages() == []


def painted(window: Browser) -> str:
    """The picture of the build, once it is up to date."""
    window.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return str(window.run("return document.getElementById('view').toDataURL()"))


def moment(window: Browser) -> int:
    return int(window.run("return replay.state.moment"))


def test_scrubbing(opened: Browser, game: Watched) -> None:
    last = len(game.grids) - 1
    pictures = set()
    for at in (last, 0, last // 2, last // 3, 2 * last // 3):
        opened.run(
            "const s = document.getElementById('slider'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
            at,
        )
        assert moment(opened) == at
        assert opened.run("return document.getElementById('where').textContent") == f"{at} / {last}"
        assert opened.run("return document.getElementById('score').textContent") == f"{game.scores[at]} / 4"
        later = opened.run("return document.querySelectorAll('#lines li.later').length")
        assert later == 4 - game.heard[at]
        now = opened.run(
            "return [...document.querySelectorAll('#lines li')].findIndex((l) => l.className === 'now')"
        )
        assert now == game.heard[at] - 1
        pictures.add(painted(opened))
    assert len(pictures) == 5
    assert opened.run("return document.body.classList.contains('done')") is False
    opened.press("end")
    assert opened.run("return document.body.classList.contains('done')") is True


def test_the_page_builds_what_was_built(opened: Browser, game: Watched) -> None:
    order = np.random.default_rng(0).permutation(len(game.grids)).tolist()
    built = opened.run("return arguments[0].map((moment) => replay.buildAt(moment))", order)
    for at, cells in zip(order, built, strict=True):
        assert (np.array(cells).reshape(ZONE_SHAPE) == game.grids[at]).all()


def test_keys_and_buttons(opened: Browser, game: Watched) -> None:
    last = len(game.grids) - 1
    heard = [next(k for k, count in enumerate(game.heard) if count > number) for number in range(3)]
    for keys, expected in (
        (["right"], 1),
        (["right"], 2),
        (["shift", "right"], 12),
        (["left"], 11),
        (["home"], 0),
        (["left"], 0),
        (["]"], heard[0]),
        (["]"], heard[1]),
        (["]"], heard[2]),
        (["["], heard[1]),
        (["end"], last),
        (["right"], last),
    ):
        opened.press(*keys)
        assert moment(opened) == expected, keys
    for button, expected in (("first", 0), ("next", 1), ("next", 2), ("back", 1), ("last", last)):
        opened.click(f"#{button}")
        assert moment(opened) == expected, button
    opened.click("#lines li:nth-child(2) button")
    assert moment(opened) == heard[1]
    left, top, width, height = opened.box("#curve")
    opened.drag((left + 0.25 * width, top + height / 2), (left + 0.75 * width, top + height / 2))
    assert abs(moment(opened) - 0.75 * last) <= 1


def test_playing(opened: Browser, game: Watched) -> None:
    opened.run("document.getElementById('speed').value = '16'")
    opened.run("document.getElementById('speed').dispatchEvent(new Event('change'))")
    assert opened.run("return document.getElementById('play').getAttribute('aria-label')") == "Play"
    opened.press("space")
    assert opened.run("return document.getElementById('play').getAttribute('aria-label')") == "Pause"
    opened.wait(f"return replay.state.moment === {len(game.grids) - 1} && !replay.state.playing")
    opened.press("space")  # from the beginning
    opened.wait("return replay.state.moment > 0")
    opened.press("space")
    held = moment(opened)
    assert opened.run("return replay.state.playing") is False
    assert 0 < held <= len(game.grids) - 1
    painted(opened)
    assert moment(opened) == held


def test_looking_around(opened: Browser) -> None:
    opened.run("replay.go(replay.data.moments - 4)")
    first = painted(opened)
    x, y = opened.middle("#view")
    opened.drag((x, y), (x + 100, y + 50))
    assert opened.run("return [replay.state.azimuth, replay.state.elevation]") == [58, 49]
    turned = painted(opened)
    opened.wheel((x, y), -400)
    assert opened.run("return replay.state.zoom") > 1.5
    closer = painted(opened)
    opened.press("r")
    assert painted(opened) == first
    opened.press("g")
    bare = painted(opened)
    opened.press("g")
    opened.press("2")
    above = painted(opened)
    opened.click("#eyes")
    inside = painted(opened)
    assert len({first, turned, closer, bare, above, inside}) == 6
    opened.click("#orbit")
    assert painted(opened) == first


def test_the_builders_eyes_see_what_the_painter_paints(opened: Browser, game: Watched) -> None:
    """But for the ground near the horizon, where its lines are finer than a pixel, and for edges."""
    opened.click("#eyes")
    colored = 0
    for at in range(0, len(game.grids), 10):
        opened.run("replay.go(arguments[0])", at)
        encoded = painted(opened).partition("base64,")[2]
        with Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
            theirs = np.asarray(image.convert("RGB")).astype(int)
        size = theirs.shape[:2]
        ours = paint_scenes(game.grids[at][None], game.poses[at][None], size, lens=Lens())[0].astype(int)
        agree = np.abs(ours - theirs).max(axis=2) <= 24
        vivid = ours.max(axis=2) - ours.min(axis=2) > 60
        vivid &= (ours != SKY).any(axis=2)
        colored += int(vivid.sum())
        assert agree[(ours == SKY).all(axis=2)].mean() > 0.98
        if vivid.sum() > 2000:
            assert agree[vivid].mean() > 0.95, at
            theirs_vivid = (theirs.max(axis=2) - theirs.min(axis=2) > 60) & (theirs != SKY).any(axis=2)
            assert (vivid & theirs_vivid).sum() > 0.95 * (vivid | theirs_vivid).sum(), at
    assert colored > 50_000
