"""Builders as figures in the pictures of others: recorded pictures, all APIs, layouts, renderers and threads alike."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from requirements import require
from witness import heap

from iglu_marl.core.errors import RenderError
from iglu_marl.envs import VectorGame
from iglu_marl.rendering.avatar import draw_others
from iglu_marl.rendering.opengl.renderer import OpenGLRenderer
from iglu_marl.rendering.painter import Painter, paint_scenes
from iglu_marl.tasks import RandomTasks

PAINTER = Painter()
NORTH = np.array((0.0, 0.0, 3.0, 0.0, 0.0))  # an eye that looks along -z
TASKS = RandomTasks(max_blocks=10)
SIZE = (40, 56)
SEED = 6


def picture(grid, pose, *others, size=(64, 64)):
    frame = paint_scenes(grid[None], pose[None], size)[0]
    return draw_others(frame, grid, pose, np.array(others).reshape(-1, 5), PAINTER)


def changed(grid, pose, *others):
    return (picture(grid, pose, *others) != picture(grid, pose)).any(axis=2)


def scenes():
    rng = np.random.default_rng(SEED)
    for number in range(40):
        eyes = rng.uniform((-5, -0.5, -5, 0, -40), (5, 3, 5, 360, 20), (4, 5))
        yield heap(rng, number), eyes[0], eyes[1:]


def test_recorded_pictures() -> None:
    """The pictures of release 0.4, which were drawn one by one by Pillow 11.3."""
    total = hashlib.sha256()
    for grid, pose, others in scenes():
        total.update(picture(grid, pose, *others, size=(48, 80)).tobytes())
    assert total.hexdigest()[:16] == "3cc7ac726db446e2"


EMPTY = np.zeros((9, 11, 11), np.int8)


def test_where_a_figure_stands() -> None:
    """Three cells ahead: from 1.25 cells below the eye to 0.28 above; at a depth of d, a cell is 32 / d pixels."""
    seen = changed(EMPTY, NORTH, (0.0, 0.0, 0.0, 180.0, 0.0))
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    near = 3 - 0.25  # its face
    assert rows[0] == int(32 - 0.28 * 32 / near)
    assert abs(rows[-1] - (32 + 1.25 * 32 / (3 - 0.13))) <= 1
    assert columns[0] == int(32 - 0.25 * 32 / near)
    assert columns[-1] == int(32 + 0.25 * 32 / near)
    assert (seen == seen[:, ::-1])[:, 1:-1].mean() > 0.98


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ((0.0, 0.0, 6.0, 0.0, 0.0), "behind the eye"),
        ((0.0, 0.0, 3.0, 90.0, 0.0), "at the same place"),
        ((0.0, 0.0, 2.7, 0.0, 0.0), "not wholly before the near plane"),
        ((9.0, 0.0, 0.0, 0.0, 0.0), "beside the picture"),
        ((0.0, 0.0, -28.0, 0.0, 0.0), "beyond the far plane"),
    ],
)
def test_figures_out_of_view(other, why) -> None:
    assert not changed(EMPTY, NORTH, other).any(), why


@pytest.mark.parametrize(("z", "share"), [(1, 0.0), (-1, 1.0)])
def test_blocks_hide_figures_behind_them_only(z, share) -> None:
    """A wall between the eye and the figure, or behind the figure."""
    wall = EMPTY.copy()
    wall[:, 2:9, 5 + z] = 3
    other = (0.0, 0.0, 0.0, 45.0, 0.0)
    assert changed(wall, NORTH, other).sum() == share * changed(EMPTY, NORTH, other).sum()


def test_the_nearer_figure_hides_the_farther_one() -> None:
    near, far = (0.0, 0.0, 1.0, 0.0, 0.0), (0.0, 0.0, -1.0, 90.0, 0.0)
    both = picture(EMPTY, NORTH, near, far)
    assert (both == picture(EMPTY, NORTH, far, near)).all()
    mine = changed(EMPTY, NORTH, near)
    assert (both[mine] == picture(EMPTY, NORTH, near)[mine]).all()


def games(**options):
    made = VectorGame(
        6, builders=3, builder_sees=("pov",), tasks=TASKS, pov_size=SIZE, max_steps=9, **options
    )
    poses = np.random.default_rng(1).uniform((-4, -0.25, -4, 0, -30), (4, -0.25, 4, 360, 10), (6, 3, 5))
    made.reset(seed=3, options={"pose": poses})
    return made


def pictures_of(made, steps=14):
    """Return the pictures of each step, and those drawn one by one."""
    for one in made.possible_agents:
        made.batched_action_space(one).seed(4)
    for _ in range(steps):
        actions = {one: made.batched_action_space(one).sample() for one in made.possible_agents}
        seen = made.step(actions)[0]
        yield np.stack([seen[f"builder_{k}"]["pov"] for k in range(3)], axis=1).reshape(18, -1)


def single_pictures(made):
    worlds = made.worlds
    for row in range(len(worlds)):
        first = row // 3 * 3
        others = np.delete(worlds.pose[first : first + 3], row - first, axis=0)
        yield picture(worlds.grid[row], worlds.pose[row], *others, size=SIZE)


def test_batches_and_single_pictures_agree() -> None:
    made = games()
    for seen in pictures_of(made):
        expected = [one.ravel() for one in single_pictures(made)]
        assert (seen == np.stack(expected)).all()


@pytest.mark.opengl
def test_opengl_agrees() -> None:
    try:
        OpenGLRenderer().context  # noqa: B018
    except RenderError as error:
        require("opengl", False, str(error))
    shares = []
    for one, two in zip(pictures_of(games()), pictures_of(games(renderer="opengl")), strict=True):
        shares.append((one == two).mean())
    assert np.mean(shares) >= 0.9995
