"""`iglu-marl watch`: a game in a window, with pause, steps, speed and cameras."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

pygame = pytest.importorskip("pygame")

from people import PlayedWindow, move_mouse, post, press  # noqa: E402

from iglu_marl import ConfigError, DataError, Task, raw_env  # noqa: E402
from iglu_marl.cli import app  # noqa: E402
from iglu_marl.commands.game_viewer import Show, live_game, recorded_game, watch_game  # noqa: E402
from iglu_marl.recording import Recorder  # noqa: E402

PICTURES = os.environ.get("IGLU_MARL_PICTURES")  # a folder in which to keep the pictures that are taken here


def keep(window: PlayedWindow, name: str) -> None:
    """Keep a picture of the window for people to look at, where asked to."""
    if PICTURES:
        from iglu_marl.rendering import write_png

        write_png(Path(PICTURES) / f"{name}.png", window.read())


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A game of eight steps, in which a red block is placed in the last."""
    path = tmp_path / "game.jsonl"
    with Recorder(path) as recorder:
        env = recorder.wrap(raw_env(tasks=Task("", [(0, -1, -2, 6), (3, -1, -2, 6)]), turn_steps=10))
        env.reset(seed=1)
        for action in ("Red, ahead.", 11, *[15] * 6, 17):
            env.step(action)
    return path


def shown(path: Path, story: Any, **options: Any) -> Show:
    env, states = recorded_game(path)
    window = PlayedWindow(iter(()), engine="software", size=(360, 576))
    show = Show(env, states, window, **{"speed": 100.0, **options})
    window.script = story(show, window)
    show.run()
    assert window.closed
    return show


def steps(show: Show) -> int:
    return int(show.env.episode.worlds.steps[0])


def test_a_recording_is_watched_to_its_end(recording: Path) -> None:
    def story(show: Show, window: PlayedWindow) -> Iterator[None]:
        for _ in range(400):
            yield
            if not show.playing:
                break
        assert show.cockpit.overlay().note == "The game is over."
        assert steps(show) == 8
        assert show.env.episode.worlds.blocks[0] == 1
        yield
        keep(window, "watch-end")

    show = shown(recording, story)
    assert len(show.seen) == 10


def test_pause_steps_and_speed(recording: Path) -> None:
    def story(show: Show, window: PlayedWindow) -> Iterator[None]:
        yield
        press("space")
        yield
        yield
        assert not show.playing
        before = show.place
        yield
        yield
        assert show.place == before
        for name, place in (("right", before + 1), ("right", before + 2), ("left", before + 1), ("home", 0)):
            press(name)
            yield
            assert show.place == place, name
        assert steps(show) == 0
        press("left")
        yield
        assert show.place == 0
        press("end")
        yield
        assert show.place == before + 2
        for _ in range(20):
            press("right")
            yield
        assert (show.place, show.ended) == (9, True)
        for name, speed in (("up", 2.0), ("up", 4.0), ("down", 2.0), ("down", 1.0), ("down", 0.5)):
            press(name)
            yield
            assert show.speed == speed
        for _ in range(9):
            press("down")
        yield
        assert show.speed == 0.25
        press("home")
        press("space")
        press("up")
        for _ in range(400):
            yield
            if not show.playing:
                break
        assert show.place == 9

    shown(recording, story, speed=1.0)


def test_two_cameras(recording: Path) -> None:
    def story(show: Show, window: PlayedWindow) -> Iterator[None]:
        press("space")
        press("end")
        yield
        yield
        follow = window.read()
        press("c")
        yield
        yield
        orbit = window.read()
        assert show.camera == "orbit"
        assert (follow != orbit).any(axis=2).mean() > 0.3
        move_mouse(90, 10, held=(1, 0, 0))
        post(pygame.MOUSEWHEEL, x=0, y=1)
        yield
        yield
        assert (window.read() != orbit).any(axis=2).mean() > 0.1
        keep(window, "watch-orbit")
        press("f1")
        yield
        yield
        keep(window, "watch-help")
        press("escape", "\x1b")
        press("c")
        yield
        assert show.camera == "follow"

    shown(recording, story)


def test_agents_are_watched_live() -> None:
    """The game is played no further than it is watched; Q in the menu leaves."""
    done: list[int] = []

    def story(window: PlayedWindow) -> Iterator[None]:
        yield
        for _ in range(60):
            yield
        keep(window, "watch-live")
        press("escape", "\x1b")
        press("q", "q")
        done.append(1)
        yield
        raise AssertionError("Q did not leave")

    window = PlayedWindow(iter(()), engine="software")
    window.script = story(window)
    watch_game(*live_game(controls="flying", seed=2), speed=50.0, window=window)
    assert done
    assert window.closed


@pytest.mark.parametrize("team", [None, "division"])
def test_what_is_watched_is_what_is_played(team: str | None) -> None:
    env, states = live_game(seed=1, controls="flying", team=team)
    seen = [state for state, _ in zip(states, range(80), strict=False)]
    env.episode.set_state(seen[0])
    assert env.episode.worlds.steps[0] == 0
    env.episode.set_state(seen[-1])
    assert env.episode.worlds.steps[0] > 20
    assert len(env.episode.worlds.pose) == (1 if team is None else 2)
    again = live_game(seed=1, controls="flying", team=team)[1]
    for state, other in zip(seen, again, strict=False):
        assert np.array_equal(state.world.view(np.uint8), other.world.view(np.uint8))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            "--architect nobody",
            "--architect is 'nobody', expected one of llm, random, replay, scripted, precise",
        ),
        ("--builder nobody", "--builder is 'nobody', expected one of learned, llm, oracle"),
        ("--controls swimming", "--controls is 'swimming', expected one of walking"),
        ("--camera drone", "--camera is 'drone'"),
        ("--engine steam", "--engine is 'steam'"),
        ("--speed 1000", "--speed is 1000.0"),
        ("--seed -1", "--seed is -1"),
        ("--recording nowhere.jsonl", "nowhere.jsonl: it cannot be read"),
    ],
)
def test_bad_options(wrong: str, said: str) -> None:
    with pytest.raises((ConfigError, DataError), match=said):
        CliRunner().invoke(app, ["watch", *wrong.split()], catch_exceptions=False)


def test_no_recording(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        recorded_game(tmp_path / "nowhere.jsonl")


def test_no_such_episode(recording: Path) -> None:
    with pytest.raises(ConfigError, match="episode is 3"):
        recorded_game(recording, episode=3)
