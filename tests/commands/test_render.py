"""What `render()` gives in each view and mode."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pygame
import pytest
from probing import IDS, TWO_AGENT_VIEWS, VIEWS, Player, begun, story_options

from iglu_marl import StateError, Task

TASK = Task("<Architect> a red block", [(0, -1, -1, 6), (2, 0, 3, 3)], starting_grid=[(2, -1, 3, 2)])
MODES = ("human", "rgb_array", "ansi")


def made(view: str, mode: str | None, **options: Any) -> Any:
    game = VIEWS[view](render_mode=mode, tasks=TASK, **options)
    game.reset(seed=1, options={"pose": (0, -0.25, 0, 0, -45)})
    return game


@pytest.mark.parametrize("view", VIEWS)
def test_rgb_array(view: str) -> None:
    game = made(view, "rgb_array")
    frames = [game.render()]
    player = Player(game, 3)
    for _ in range(25):
        player.move(game)
        frames.append(game.render())
    for frame in frames:
        assert frame.dtype == np.uint8
        assert frame.ndim == 3
        assert frame.shape[2] == 3
        assert frame.shape == frames[0].shape
    assert len({frame.tobytes() for frame in frames}) > 5  # one sees what happens
    assert not np.shares_memory(frames[-1], frames[-2])


@pytest.mark.parametrize("view", VIEWS)
def test_ansi(view: str) -> None:
    game = made(view, "ansi")
    text = game.render()
    assert isinstance(text, str)
    assert "step 0/500" in text
    for letter in "ryg@":  # red and green of the target, the yellow starting block, the builder
        assert letter in text.split("intersection")[1]
    Player(game, 3).moves(game, 25)
    assert game.render() != text


@pytest.mark.parametrize("view", VIEWS)
def test_ansi_shows_the_dialogue(view: str) -> None:
    game = made(view, "ansi")
    if view not in TWO_AGENT_VIEWS:
        assert "<Architect> a red block" in game.render()
        return
    assert "(nothing said yet)" in game.render()
    if view == "parallel_env":
        game.step({"architect_0": "hello there", "builder_0": 0})
    else:
        game.step("hello there")
    assert "<Architect> hello there" in game.render()


def test_ansi_has_the_north_above() -> None:
    game = made(IDS[1], "ansi")
    game.step(17)  # a blue block in the north
    rows = game.render().split("build, y = -1")[1].splitlines()[1:12]
    build = [row.split("    ")[0].split() for row in rows]
    assert build[4][5] == "b"
    assert build[5][5] == "@"
    assert build[8][7] == "y"
    assert all(len(row) == 11 for row in build)


@pytest.mark.parametrize("view", VIEWS)
def test_human(view: str) -> None:
    """With SDL's dummy driver, where a window is only memory; the environment shows each step by itself."""
    game = made(view, "human")
    Player(game, 3).moves(game, 4)
    assert pygame.display.get_surface() is not None
    assert game.render() is None
    game.reset(seed=2)
    assert game.render() is None
    twin = copy.deepcopy(game)  # a window stays where it is
    assert Player(twin, 4).moves(twin, 2)
    twin.close()
    game.close()
    game.close()
    assert pygame.display.get_surface() is None


@pytest.mark.parametrize("view", VIEWS)
def test_without_a_mode_it_warns(view: str) -> None:
    game = made(view, None)
    with pytest.warns(UserWarning, match="render_mode"):
        assert game.render() is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("view", ["raw_env", "parallel_env", *IDS])
def test_before_the_first_reset(view: str, mode: str) -> None:
    game = VIEWS[view](render_mode=mode)
    with pytest.raises(StateError, match=r"reset\(\)"):
        game.render()
    game.reset(seed=1)
    game.render()
    game.close()


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
@pytest.mark.parametrize("view", VIEWS)
def test_looking_changes_nothing(view: str, mode: str) -> None:
    looked, left = (begun(view, 3, render_mode=mode, **story_options(view)) for _ in range(2))
    one, two = Player(looked, 1), Player(left, 1)
    for _ in range(20):
        looked.render()
        assert one.move(looked) == two.move(left)
    assert pickle.dumps(looked.unwrapped.get_state()) == pickle.dumps(left.unwrapped.get_state())


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
@pytest.mark.parametrize("view", VIEWS)
def test_hard_scenes(view: str, mode: str) -> None:
    """Full zones, empty ones, eyes inside of blocks, at the ends of the world, and long talk."""
    full = [(x, y, z, 1 + (x + y + z) % 6) for x in range(-5, 6) for y in range(-1, 8) for z in range(-5, 6)]
    talk = "<Architect> " + "wörds \u2603 \U0001f600 " * 300 + "\n<Builder> " + "x" * 3000
    controls = {"controls": "flying"}
    for task in (
        Task(talk, full),
        Task("", [(0, 0, 0, 1)], starting_grid=full),
        Task("\x00\t", [(0, 0, 0, 1)]),
    ):
        game = VIEWS[view](render_mode=mode, tasks=Task("", [(0, 0, 0, 1)]), **controls)
        for pose in ((0, 3, 0, 0, 90), (8, 12, 8, 360, -90), (0, -3, 0, 45, 0), (5.5, 7.5, -5.5, 0, 0)):
            game.reset(seed=1, options={"task": task, "pose": pose})
            assert len(game.render())


def test_closing_twice() -> None:
    for view, make in VIEWS.items():
        for mode in (None, *MODES):
            game = make(render_mode=mode)
            game.close()
            game.reset(seed=1)
            if mode:
                game.render()
            game.close()
            game.close()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                game.reset(seed=1)  # a closed environment opens again
            assert view
            game.close()
