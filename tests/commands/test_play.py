"""`iglu-marl play`: a builder's whole games in a window on an X server, and games in the browser."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pygame = pytest.importorskip("pygame")

from llm_server import Misbehaviour, llm_server  # noqa: E402
from people import PlayedWindow, click, grab, key_down, key_up, move_mouse, press, write, x_display  # noqa: E402
from requirements import require  # noqa: E402

from iglu_marl import Role  # noqa: E402
from iglu_marl.agents import WindowBuilder  # noqa: E402
from iglu_marl.agents.human.builder import MOUSE_DEG  # noqa: E402
from iglu_marl.commands.play import play as command  # noqa: E402
from iglu_marl.envs import aec  # noqa: E402
from iglu_marl.recording import Recording, read_recording, replay  # noqa: E402
from iglu_marl.rendering import OpenGLRenderer  # noqa: E402

L_SHAPE = [[1, -1, -3, 1], [1, 0, -3, 2], [2, -1, -3, 1]]
STRUCTURES = {
    "colours": {"1": "blue", "2": "red"},
    "structures": {"L": {"blocks": L_SHAPE}, "one": {"blocks": [[0, -1, -2, 2]]}},
}

Story = Callable[["Person", PlayedWindow], Iterator[None]]


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    with x_display() as name:
        yield name


@pytest.fixture
def on_screen(display: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Windows open on the X server."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
    monkeypatch.setenv("DISPLAY", display)
    return display


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of structures: "L", two blue blocks side by side and a red one on the first; "one", a red block."""
    path = tmp_path / "structures.json"
    path.write_text(json.dumps(STRUCTURES), encoding="utf-8")
    return path


def without_a_display() -> dict[str, str]:
    """The environment of a machine without a screen."""
    hidden = (
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "SDL_VIDEODRIVER",
        "SDL_VIDEO_DRIVER",
        "XDG_RUNTIME_DIR",
        "BROWSER",
    )
    return {name: value for name, value in os.environ.items() if name not in hidden}


class Person:
    """Someone at the window, who acts by input alone. The environment is only read."""

    env: Any = None
    turning = 2  # steps until the gaze has followed the mouse

    @property
    def worlds(self) -> Any:
        return self.env.unwrapped.episode.worlds

    @property
    def said(self) -> list[str]:
        return [utterance.text for utterance in self.env.unwrapped.episode.dialogue]

    @property
    def over(self) -> bool:
        return bool(self.worlds.terminated[0])

    def wait(self, steps: int) -> Iterator[None]:
        """Let some steps pass; at least one look at the window."""
        end = int(self.worlds.steps[0]) + steps
        yield
        while self.worlds.steps[0] < end and not self.over:
            yield

    def look_at(self, x: float, y: float, z: float) -> Iterator[None]:
        """Move the mouse until the point is in the crosshair."""
        for _ in range(2):
            px, py, pz, yaw, pitch = self.worlds.pose[0].tolist()
            dx, dy, dz = x - px, y - py, z - pz
            turn = (math.degrees(math.atan2(dx, -dz)) - yaw + 180) % 360 - 180
            lift = math.degrees(math.atan2(dy, math.hypot(dx, dz))) - pitch
            move_mouse(turn / MOUSE_DEG, -lift / MOUSE_DEG)
            yield from self.wait(self.turning)

    def walk(self, x: float, z: float) -> Iterator[None]:
        """Walk to a place, with the key held down."""
        yield from self.look_at(x, float(self.worlds.pose[0, 1]), z)
        key_down("w")
        for _ in range(200):
            if math.hypot(x - self.worlds.pose[0, 0], z - self.worlds.pose[0, 2]) < 0.35:
                break
            yield
        key_up("w")
        yield from self.wait(3)

    def put(self, color: int, x: float, y: float, z: float) -> Iterator[None]:
        """Place a block, by a click at a point on a side of something."""
        press(str(color), str(color))
        yield from self.look_at(x, y, z)
        click(3)
        yield from self.wait(2)

    def hit(self, x: float, y: float, z: float) -> Iterator[None]:
        """Break what is there."""
        yield from self.look_at(x, y, z)
        click(1)
        yield from self.wait(2)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Person, bool]]:
    """Runs the command with a person whose story is a generator function of (person, window)."""
    person, raw_env = Person(), aec.raw_env

    def noted(**options: Any) -> Any:
        person.env = raw_env(**options)
        return person.env

    monkeypatch.setattr(aec, "raw_env", noted)
    monkeypatch.setitem(WindowBuilder.__init__.__kwdefaults__, "step_s", 0.0)

    def begin(options: dict[str, Any], story: Story, **window_options: Any) -> tuple[Person, bool]:
        window = PlayedWindow(iter(()), **window_options)
        window.script = story(person, window)
        monkeypatch.setattr("iglu_marl.rendering.Window", lambda title: window)
        done = command(window=True, folder=tmp_path / "games", **options)
        assert window.closed
        return person, done

    return begin


def check_recording(folder: Path, person: Person, complete: bool) -> Recording:
    """The recording is whole, and its moves lead to where the game ended, bit for bit all the way."""
    (path,) = (folder / "games").iterdir()
    (recording,) = read_recording(path)
    assert recording.end is not None
    assert recording.end["terminated"] == complete
    again = replay(path)
    assert np.array_equal(again.grid, person.worlds.grid[0])
    assert again.dialogue == person.env.unwrapped.episode.dialogue
    assert again.builder_steps == person.worlds.steps[0]
    return recording


# -------------------------------------------------------------------------------------------------- the builder


def build_the_l(me: Person, window: PlayedWindow, on_screen: str | None = None) -> Iterator[None]:
    """A game of the builder: walk, place, break, talk, finish."""
    yield from me.wait(1)
    assert "blue" in me.said[-1]
    yield from me.walk(1.0, 1.0)
    yield from me.put(4, 1.0, -1.5, -3.0)  # orange: wrong
    assert me.worlds.grid[0, 0, 6, 2] == 4
    if on_screen is not None:
        left, top = pygame.display.get_window_position()
        (height, width), seen = window.size, grab(on_screen)
        assert np.array_equal(seen[top : top + height, left : left + width], window.read())
    yield from me.hit(1.0, -1.0, -2.6)
    assert not me.worlds.grid[0].any()
    press("t", "t")
    yield
    write("Sorry, that was orange. Żółtyx")
    press("backspace")
    yield
    before = int(me.worlds.steps[0])
    yield
    yield
    assert me.worlds.steps[0] == before  # the game waits
    press("return", "\r")
    yield from me.wait(2)
    assert "Sorry, that was orange. Żółty" in me.said
    yield from me.put(1, 1.0, -1.5, -3.0)
    yield from me.put(1, 2.0, -1.5, -3.0)
    yield from me.walk(1.0, -0.6)
    yield from me.put(6, 1.0, -0.5, -2.9)
    assert me.over
    yield
    yield
    press("return", "\r")
    yield
    raise AssertionError("Enter did not leave the result")


def test_a_person_builds_what_a_language_model_asks_for(
    file: Path, tmp_path: Path, play: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The window is looked at while the model thinks."""
    waited = 0

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        nonlocal waited
        while not me.said:
            waited += 1
            yield
        assert me.said == ["Place a blue block on the ground, 2 blocks north of the centre."]
        yield from me.put(1, 0.0, -1.5, -2.0)
        yield
        press("return", "\r")
        yield

    file.write_text(json.dumps({**STRUCTURES, "structures": {"one": {"blocks": [[0, -1, -2, 1]]}}}))
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with llm_server() as server:
        server.always = Misbehaviour(stall_s=0.1)
        for name, value in {"MODEL": "m", "ENDPOINT": server.url, "CACHE": "off", "CHANGES": "shown"}.items():
            monkeypatch.setenv(f"IGLU_MARL_LLM_{name}", value)
        options = {"partner": "llm", "tasks": str(file), "task": "one", "seed": 3, "as_json": True}
        person, done = play(options, story)
    assert done
    assert waited > 3
    recording = check_recording(tmp_path, person, True)
    assert recording.header["agents"] == {"architect": "LLMArchitect", "builder": "WindowBuilder"}
    (facts,) = json.loads(capsys.readouterr().out)
    assert facts["completed"]


def test_a_builders_whole_game_in_a_window(on_screen: str, file: Path, tmp_path: Path, play: Any) -> None:
    """With OpenGL: by keys, mouse and chat."""

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        yield
        assert pygame.display.get_driver() == "x11"
        require("opengl", isinstance(window._renderer, OpenGLRenderer), "OpenGL does not run here")
        yield from build_the_l(me, window, on_screen)

    person, done = play({"tasks": str(file), "task": "L", "seed": 3}, story)
    assert done
    recording = check_recording(tmp_path, person, True)
    assert recording.header["agents"] == {"architect": "ScriptedArchitect", "builder": "WindowBuilder"}
    assert recording.task.task_id == "L"
    assert recording.moves[0].actions.keys() == {Role.ARCHITECT}


def test_the_same_game_without_a_screen(
    file: Path, tmp_path: Path, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SDL's dummy driver, another size; walking actions one at a time."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    options = {"tasks": str(file), "task": "L", "seed": 3, "controls": "walking"}

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        me.turning = 40  # five degrees a step
        yield from me.wait(1)
        yield from me.walk(1.0, 1.0)
        yaw = float(me.worlds.pose[0, 3])
        press("left")
        yield from me.wait(3)
        assert (yaw - me.worlds.pose[0, 3]) % 360 == 5
        yield from me.put(1, 1.0, -1.5, -3.0)
        assert np.count_nonzero(me.worlds.grid[0]) == 1

    person, done = play(options, story, size=(300, 400))
    assert not done
    check_recording(tmp_path, person, False)


# --------------------------------------------------------------------------------------------------- bad input


def test_without_a_display_the_command_says_so(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "iglu_marl", "play", "--window"],
        cwd=tmp_path,
        env=without_a_display(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 2, result.stderr
    assert "no window can be opened" in result.stderr
    assert "DISPLAY" in result.stderr
    assert list(tmp_path.iterdir()) == []
