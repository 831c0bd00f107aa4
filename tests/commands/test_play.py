"""`iglu-marl play`: people's whole games, in real windows on an X server, with keys and mouse."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

pygame = pytest.importorskip("pygame")

from people import PlayedWindow, click, grab, key_down, key_up, move_mouse, press, write, x_display  # noqa: E402

from iglu_marl import ConfigError, DataError, Role  # noqa: E402
from iglu_marl.agents.human.builder import MOUSE_DEG  # noqa: E402
from iglu_marl.cli import app  # noqa: E402
from iglu_marl.commands import human_game  # noqa: E402
from iglu_marl.commands import play as command  # noqa: E402
from iglu_marl.core.errors import RenderError  # noqa: E402
from iglu_marl.recording import Recording, read_recording, replay  # noqa: E402

PICTURES = os.environ.get("IGLU_MARL_PICTURES")  # a folder in which to keep the pictures that are taken here
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


def keep(window: PlayedWindow, name: str) -> None:
    """Keep a picture of the window for people to look at, where asked to."""
    if PICTURES:
        from iglu_marl.rendering import write_png

        write_png(Path(PICTURES) / f"{name}.png", window.read())


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
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Person, bool]]:
    """Runs the command with a person whose story is a generator function of (person, window)."""
    person = Person()

    def note(name: str) -> None:
        made = getattr(human_game, name)

        def noted(*arguments: Any) -> Any:
            person.env = made(*arguments)
            return person.env

        monkeypatch.setattr(human_game, name, noted)

    note("make_env")
    note("carried_over")

    make_agents = human_game.make_agents
    monkeypatch.setattr(human_game, "make_agents", partial(make_agents, step_s=0.0))

    def begin(options: dict[str, Any], story: Story, **window_options: Any) -> tuple[Person, bool]:
        window = PlayedWindow(iter(()), **{"engine": "software", **window_options})
        window.script = story(person, window)
        monkeypatch.setattr(human_game, "Window", lambda title, engine: window)
        done = command.play(**options)
        assert window.closed
        return person, done

    return begin


def check_recording(path: Path, person: Person, complete: bool) -> Recording:
    """The recording is whole, and its moves lead to where the game ended, bit for bit all the way."""
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
    keep(window, "builder-placed")
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
    keep(window, "builder-talks")
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
    keep(window, "builder-near")
    yield from me.put(6, 1.0, -0.5, -2.9)
    assert me.over
    yield
    yield
    keep(window, "result")
    press("return", "\r")
    yield
    raise AssertionError("Enter did not leave the result")


def test_a_builders_whole_game_in_a_window(on_screen: str, file: Path, tmp_path: Path, play: Any) -> None:
    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        yield
        assert pygame.display.get_driver() == "x11"
        yield from build_the_l(me, window, on_screen)

    record = tmp_path / "game.jsonl"
    person, done = play({"tasks": file, "task": "L", "output": record, "seed": 3}, story)
    assert done
    recording = check_recording(record, person, True)
    assert recording.header["agents"] == {"architect": "ScriptedArchitect", "builder": "HumanBuilder"}
    assert recording.task.task_id == "L"
    assert recording.moves[0].actions.keys() == {Role.ARCHITECT}


QUESTIONS = {  # and a part of the useful answer
    "What should I do?": "blue",
    "What color is it?": "Blue.",
    "Where exactly?": "of the centre, on the ground.",
    "how high?": "On the ground.",
    "How many blocks?": "One block.",
    "is it red?": "No, blue.",
    "Is it on the ground?": "Yes",
    "how many blocks are left?": "3 blocks to place.",
    "Did I do something wrong?": "No mistake",
    "sorry, can you say that again?": "blue",
}


def test_ten_questions_at_the_window_get_ten_answers(
    on_screen: str, file: Path, tmp_path: Path, play: Any
) -> None:
    """A person asks, builds something wrong, and is told so without asking."""

    def ask(me: Person, text: str) -> Iterator[None]:
        heard = len(me.said)
        press("t", "t")
        yield
        write(text)
        yield
        press("return", "\r")
        for _ in range(4):
            yield from me.wait(20)
            if len(me.said) > heard + 1:
                return

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        yield
        assert pygame.display.get_driver() == "x11"
        yield from me.wait(1)
        for question, answer in QUESTIONS.items():
            yield from ask(me, question)
            assert me.said[-2] == question
            assert answer in me.said[-1], question
        keep(window, "builder-asks")
        yield from me.walk(1.0, 1.0)
        yield from me.put(4, 1.0, -1.5, -3.0)
        told = len(me.said)
        yield from me.wait(20 * 5)
        assert any("The orange block" in text and "is not right" in text for text in me.said[told:])
        keep(window, "builder-is-told")

    person, done = play({"tasks": file, "task": "L", "output": tmp_path / "game.jsonl", "seed": 3}, story)
    assert not done
    assert person.said


def test_the_same_game_without_a_screen(
    file: Path, tmp_path: Path, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SDL's dummy driver, another size; walking actions one at a time."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    record = tmp_path / "game.jsonl"
    options = {"tasks": file, "task": "L", "output": record, "seed": 3, "controls": "walking"}

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
    check_recording(record, person, False)


def test_flying_and_walking_in_one_game(file: Path, tmp_path: Path, play: Any) -> None:
    """TAB: up into the air, a block placed from there, and down again."""

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        yield from me.wait(1)
        press("tab")
        yield from me.wait(2)
        assert me.env.unwrapped.config.controls == "flying"
        key_down("space")
        yield from me.wait(12)
        key_up("space")
        height = float(me.worlds.pose[0, 1])
        yield from me.wait(5)
        assert me.worlds.pose[0, 1] == height > 1.5  # no gravity
        yield from me.look_at(0.0, -1.5, -2.0)
        yield from me.wait(25)  # five degrees a step
        keep(window, "builder-flies")
        press("tab")
        yield from me.wait(40)
        assert me.env.unwrapped.config.controls == "human-level"
        assert me.worlds.pose[0, 1] == -0.25
        yield from me.put(6, 0.0, -1.5, -2.0)

    record = tmp_path / "game.jsonl"
    person, done = play({"tasks": file, "task": "one", "output": record}, story, size=(400, 640))
    assert done
    recording = check_recording(record, person, True)
    switched = [move.controls["name"] for move in recording.moves if move.controls is not None]
    assert switched == ["flying", "human-level"]


def test_words_of_a_recorded_session(tmp_path: Path, play: Any) -> None:
    """Y asks for what is said next; nobody speaks in between."""

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        yield from me.wait(60)
        first = list(me.said)
        assert len(first) == 1
        press("y", "y")
        yield from me.wait(3)
        press("y", "y")
        yield from me.wait(3)
        assert len(me.said) > 1
        assert me.said[0] == first[0]

    record = tmp_path / "game.jsonl"
    options = {"partner": "replay", "output": record, "seed": 4}
    person, _ = play(options, story, size=(300, 400))
    check_recording(record, person, False)


def test_building_alone(tmp_path: Path, play: Any) -> None:
    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        yield from me.wait(60)
        assert me.said == []
        press(
            "/", "/"
        )  # the key of "?" on many keyboards: what it writes is not told while nothing is written
        yield
        before = int(me.worlds.steps[0])
        yield
        yield
        assert me.worlds.steps[0] == before
        press("escape", "\x1b")
        yield from me.wait(2)
        press("escape", "\x1b")
        yield
        keep(window, "menu")
        press("h", "h")
        yield
        yield
        keep(window, "help")
        before = int(me.worlds.steps[0])
        press("escape", "\x1b")
        yield from me.wait(2)
        assert me.worlds.steps[0] > before
        press("escape", "\x1b")
        press("q", "q")
        yield
        raise AssertionError("Q did not leave the game")

    person, done = play({"partner": "none", "output": tmp_path / "a.jsonl"}, story)
    assert not done
    check_recording(tmp_path / "a.jsonl", person, False)


# ------------------------------------------------------------------------------------------------ the architect


def instruct(me: Person, window: PlayedWindow) -> Iterator[None]:
    """A game of the architect: turn the view, say things, watch."""
    yield
    write("Place a blue block on the ground, 1 block east and 3 north of the centr")
    write("e.")
    keep(window, "architect-writes")
    before = window.read()
    move_mouse(160, 20, held=(1, 0, 0))
    yield
    yield
    keep(window, "architect-turned")
    assert (before != window.read()).mean() > 0.05
    press("return", "\r")
    for _ in range(1000):
        yield
        if me.worlds.blocks[0]:
            break
    keep(window, "architect-watches")
    for text in (
        "Place a red block 1 block east and 3 north of the centre, at height 2.",
        "Place a blue block on the ground, 2 blocks east and 3 north of the centre.",
    ):
        write(text)
        press("return", "\r")
    for _ in range(1000):
        yield
        if me.over:
            break
    yield
    yield
    press("escape")
    yield


@pytest.mark.parametrize("engine", ["software", "opengl"])
def test_an_architects_whole_game_in_a_window(
    on_screen: str, file: Path, tmp_path: Path, play: Any, engine: str
) -> None:
    if engine == "opengl":
        needs_opengl()
    record = tmp_path / "game.jsonl"
    options = {"role": "architect", "tasks": file, "task": "L", "output": record, "seed": 3}
    person, done = play(options, instruct, engine=engine)
    assert done
    recording = check_recording(record, person, True)
    assert recording.header["agents"] == {"architect": "HumanArchitect", "builder": "ScriptedBuilder"}


def test_an_architect_whom_nobody_hears(tmp_path: Path, play: Any) -> None:
    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        for text in ("One.", "", "Two."):
            yield
            write(text)
            press("return", "\r")
        for _ in range(10):
            yield

    options = {"role": "architect", "partner": "none", "output": tmp_path / "a.jsonl"}
    person, done = play(options, story, size=(300, 400))
    assert not done
    assert person.said == ["One.", "Two."]
    check_recording(tmp_path / "a.jsonl", person, False)


def test_both_roles(file: Path, tmp_path: Path, play: Any) -> None:
    """One person explains, and then does it; the two have one window."""

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        yield
        write("A red one, two steps ahead.")
        press("return", "\r")
        yield from me.wait(1)
        yield from me.look_at(0.0, -1.5, -2.0)
        press("y", "y")
        yield
        yield
        write("Yes, there.")
        press("return", "\r")
        yield from me.wait(2)
        yield from me.put(6, 0.0, -1.5, -2.0)

    record = tmp_path / "game.jsonl"
    person, done = play(
        {"role": "both", "tasks": file, "task": "one", "output": record}, story, size=(400, 640)
    )
    assert done
    assert person.said == ["A red one, two steps ahead.", "Yes, there."]
    check_recording(record, person, True)


def needs_opengl() -> None:
    from requirements import require

    from iglu_marl.rendering import Window

    window = Window(engine="opengl", size=(32, 32))
    try:
        window.open()
    except RenderError as error:
        require("opengl", False, str(error))
    window.close()


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("--role king", "--role is 'king', expected one of builder, architect, both"),
        ("--partner ghost", "--partner is 'ghost', expected one of .*scripted.*, none"),
        ("--role architect --partner replay", "--partner is 'replay'"),
        ("--controls swimming", "--controls is 'swimming', expected one of walking, flying"),
        ("--engine steam", "--engine is 'steam', expected one of auto, opengl, software"),
        ("--seed -1", "--seed is -1, expected an integer of 0 or more"),
        ("--partner replay --task-source x.json", "--task-source"),
        ("--task nothing", "--task is 'nothing', expected one of"),
    ],
)
def test_bad_options(wrong: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        CliRunner().invoke(app, ["play", *wrong.split()], catch_exceptions=False)


def test_other_files_are_not_written_to(file: Path, tmp_path: Path, play: Any) -> None:
    record = tmp_path / "game.jsonl"
    record.write_text("precious\n")
    with pytest.raises(DataError, match="not a recording"):
        play({"tasks": file, "task": "one", "output": record}, lambda me, window: iter(()))
    assert record.read_text() == "precious\n"


def test_a_second_game_goes_into_the_same_file(file: Path, tmp_path: Path, play: Any) -> None:
    record = tmp_path / "new" / "games.jsonl"
    options = {"tasks": file, "task": "one", "output": record}
    for _ in range(2):
        play(options, lambda me, window: me.wait(3), size=(300, 400))
    assert len(read_recording(record)) == 2


def test_without_a_display_the_command_says_so(tmp_path: Path) -> None:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER", "XDG_RUNTIME_DIR")
    result = subprocess.run(
        [sys.executable, "-m", "iglu_marl.cli", "play"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name not in hidden},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 2, result.stderr
    assert "no window can be opened" in result.stderr
    assert "DISPLAY" in result.stderr
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------- seats of teams


SEATS = [
    ("craft", "builder_0"),
    ("craft", "architect_1"),
    ("division", "builder_1"),
    ("assistant", "builder_0"),
    ("relay", "architect_1"),
]


@pytest.mark.parametrize(("team", "seat"), SEATS)
def test_a_seat_of_a_team(team: str, seat: str, on_screen: str, tmp_path: Path, play: Any) -> None:
    """The person plays one seat and agents play the others; the recording has all of them."""
    heard: list[str] = []

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        yield
        if seat.startswith("architect"):
            write("Place a red block on the ground, at the centre.")
            press("return", "\r")
            while not me.worlds.grid.any():  # the builder waits until nobody says anything new
                if me.env.agent_selection == seat:
                    press("return", "\r")
                yield
        else:
            press("t", "t")
            yield
            write("Here I am.")
            press("return", "\r")
            for _ in range(60):
                yield
        keep(window, f"{team}-{seat}")
        heard.extend(me.env.unwrapped.episode.view(seat).dialogue.text.splitlines())
        press("escape")
        yield
        press("q", "q")
        yield

    record = tmp_path / "game.jsonl"
    person, done = play({"team": team, "seat": seat, "output": record, "seed": 3}, story)
    assert not done
    agents = read_recording(record)[0].header["agents"]
    assert agents.pop(seat) == ("HumanArchitect" if seat.startswith("architect") else "HumanBuilder")
    assert agents.keys() | {seat} == set(person.env.unwrapped.config.agents)
    assert all(name.startswith("Team") for name in agents.values())
    assert np.array_equal(replay(record).grid, person.worlds.grid[0])
    own = "Place a red block" if seat.startswith("architect") else "Here I am."
    assert any(own in line for line in heard)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--team", "craft", "--seat", "builder_7"), "--seat is 'builder_7'.*expected one of architect_0"),
        (("--team", "craft", "--role", "both"), "--seat is 'both_0'"),
        (("--seat", "builder_0"), "--seat is 'builder_0', expected a seat of a --team"),
    ],
)
def test_a_seat_that_is_none(options: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(app, ["play", *options])
    assert isinstance(result.exception, (ConfigError, SystemExit))
    assert re.search(said, f"{result.output} {result.exception}".replace("\n", " "))
