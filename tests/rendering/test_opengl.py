"""OpenGL off screen: the painter's pictures, lazily opened, shared, fork-safe, and closed without a trace."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import types
import warnings
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from requirements import ROOT, require
from witness import compare, heap, many_scenes, random_grid

import iglu_marl
from iglu_marl import GameConfig
from iglu_marl.core.errors import RenderError
from iglu_marl.envs.base import make_renderer
from iglu_marl.rendering import Painter, orbit
from iglu_marl.rendering.opengl import devices, renderer
from iglu_marl.rendering.opengl.renderer import AutoRenderer, OpenGLRenderer
from iglu_marl.rendering.painter import paint_scenes
from iglu_marl.rendering.renderer import EYE_LENS, Lens

pytestmark = pytest.mark.opengl

PLAIN = Lens()
POSE = (1.3, 0.4, 2.1, 25.0, -15.0)
SEED = 20240


@pytest.fixture(scope="module")
def description():
    """The driver's name; the tests are skipped without a context."""
    try:
        with_context = OpenGLRenderer()
        name = with_context.context.description
        with_context.close()
    except RenderError as error:
        require("opengl", False, str(error))
    return name


@pytest.fixture
def gl(description):
    """A renderer with the plain lens, closed afterwards."""
    made = OpenGLRenderer(PLAIN)
    yield made
    made.close()


def worlds_of(count, blocks=30):
    rng = np.random.default_rng(SEED)
    grid = np.stack([heap(rng, blocks) for _ in range(count)])
    pose = np.column_stack(
        [
            rng.uniform(-5, 5, (count, 3)) + (0, 3, 0),
            rng.uniform(0, 360, (count, 1)),
            rng.uniform(-60, 20, (count, 1)),
        ]
    )
    return types.SimpleNamespace(grid=grid, pose=pose)


# --- the same pictures -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "count", "every"), [((64, 64), 114, 3), ((96, 64), 76, 4), ((256, 256), 38, 19)]
)
def test_painter_opengl_and_ray_caster_agree(gl, size, count, every):
    found = many_scenes(np.random.default_rng(SEED), count)
    result = compare(gl.render_scenes, partial(paint_scenes, lens=PLAIN), found, size, asked_every=every)
    assert result.pixels == count * size[0] * size[1]
    assert result.agreement >= 0.9995, result
    assert result.worst >= 0.999, result
    assert result.asked > 0
    assert result.refuted == 0, result


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (200, 3), (37, 21)])
def test_odd_sizes(gl, size):
    found = many_scenes(np.random.default_rng(SEED), 38)
    result = compare(gl.render_scenes, partial(paint_scenes, lens=PLAIN), found, size, asked_every=0)
    assert result.different <= max(2, 0.0005 * result.pixels), result


def test_other_lenses_and_palettes(gl):
    rng = np.random.default_rng(SEED)
    colors = orbit.color_table()
    for number in range(8):
        grid = random_grid(rng, 100) + 6 * rng.integers(0, 4, (9, 11, 11)).astype(
            np.int8
        )  # 19..24: not drawn
        camera = orbit.orbit_camera((120, 160), rng.uniform(0, 360), rng.uniform(5, 90), 6.0)
        grid[grid % 6 == 0] = 0
        drawn = OpenGLRenderer(camera.lens)
        one = drawn.render_scenes(grid[None], [camera.pose], camera.size, colors=colors)
        other = paint_scenes(grid[None], [camera.pose], camera.size, lens=camera.lens, colors=colors)
        assert (one != other).any(axis=3).mean() <= 0.0005, number
        assert len(np.unique(one.reshape(-1, 3), axis=0)) > 10
        drawn.close()


def test_the_seams_of_round_coordinates(description):
    """The default lens colours single ground pixels in views along an axis: these are the painter's."""
    eyes = OpenGLRenderer()
    assert eyes.lens == EYE_LENS
    grid = heap(np.random.default_rng(SEED), 12)[None]
    seams = 0
    for yaw in (0.0, 90.0, 180.0, 270.0, 360.0, 45.0):
        pose = [(0.0, 0.0, 0.0, yaw, 0.0)]
        drawn, painted = eyes.render_scenes(grid, pose, (64, 64)), paint_scenes(grid, pose, (64, 64))
        odd = (painted != paint_scenes(grid, pose, (64, 64), lens=PLAIN)).any(axis=3)
        assert (drawn == painted)[odd].all(), yaw
        assert (drawn != painted).any(axis=3).sum() <= 2, yaw
        seams += odd.sum()
    assert seams >= 10
    eyes.close()


# --- the Renderer protocol -------------------------------------------------------------------------------------


def test_large_batches_are_drawn_in_parts(gl, monkeypatch):
    """Several draws, read through pixel buffers; and the same again with parts of other sizes."""
    worlds = worlds_of(23)
    whole = gl.render(worlds, np.arange(23), (24, 40))
    for pixels in (24 * 40 * 5, 24 * 40, 1, 24 * 40 * 22):
        monkeypatch.setattr(renderer, "PIXELS_AT_ONCE", pixels)
        out = np.full_like(whole, 7)
        assert (gl.render(worlds, np.arange(23), (24, 40), out) == whole).all(), pixels


# --- contexts: opened late, shared, closed, put back -------------------------------------------------------------


def test_threads_share_the_context(gl):
    worlds = worlds_of(16)
    expected = Painter(PLAIN).render(worlds, np.arange(16), (64, 64))
    failed = []

    def work(number):
        for _ in range(20):
            picture = gl.render(worlds, [number], (64, 64))[0]
            if (picture != expected[number]).any(axis=2).mean() > 0.0005:
                failed.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert failed == []


def run_script(script, timeout_s, **environment):
    """Run in a process of its own, with the tests' helpers; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", **environment},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


FORK = """
import os
import numpy as np
from iglu_marl.core.errors import RenderError
from iglu_marl.rendering.opengl.renderer import OpenGLRenderer

parent = OpenGLRenderer()
draw = lambda one: one.render_scenes(np.zeros((1, 9, 11, 11), np.int8), np.zeros((1, 5)), (8, 8))
expected = draw(parent)
if os.fork() == 0:
    for one in (parent, OpenGLRenderer()):
        try:
            draw(one)
        except RenderError as error:
            print(error, flush=True)
    parent.close()
    os._exit(0)
os.wait()
assert (draw(parent) == expected).all()
"""


@pytest.mark.slow
def test_a_fork_cannot_draw_after_its_parent(description):
    """It would hang or disturb its parent, and says so."""
    assert run_script(FORK, 60).count("this process was forked after OpenGL had drawn") == 2


# --- devices ---------------------------------------------------------------------------------------------------


def some_devices():
    return [
        devices.Device(0, False, cuda=1),
        devices.Device(1, False, cuda=0),
        devices.Device(2, False),
        devices.Device(3, True),
    ]


@pytest.mark.parametrize(
    ("visible", "numbers"),
    [
        (None, [0, 1, 2, 3]),
        ("0", [1, 2, 3]),
        ("1", [0, 2, 3]),
        ("1,0", [0, 1, 2, 3]),
        (" 0 , 1", [1, 0, 2, 3]),
        ("GPU-aaaaaaaa", [0, 2, 3]),  # ids are not read
        ("7", [0, 2, 3]),  # not a number that EGL knows: perhaps it counts visible devices only
        ("0,-1,1", [1, 2, 3]),
        ("", [2, 3]),
        ("-1", [2, 3]),
        ("NoDevFiles", [2, 3]),
    ],
)
def test_cuda_visible_devices(visible, numbers):
    assert [device.number for device in devices.preferred(some_devices(), visible)] == numbers


# --- where there is none ---------------------------------------------------------------------------------------


@contextmanager
def no_library(monkeypatch):
    """As on a machine without libEGL."""

    def missing(_, name, **__):
        raise OSError(f"{name}: cannot open shared object file")

    devices.load_library.cache_clear()
    monkeypatch.setattr("OpenGL.platform.ctypesloader.loadLibrary", missing)
    yield
    monkeypatch.undo()
    devices.load_library.cache_clear()


def test_without_the_library(monkeypatch):
    with no_library(monkeypatch):
        with pytest.raises(RenderError, match=r"libEGL cannot be loaded.*libegl1.*renderer='painter'"):
            OpenGLRenderer()
        with pytest.raises(RenderError, match="libEGL"):
            iglu_marl.env(renderer="opengl")
        iglu_marl.env(renderer="auto")


def test_without_a_driver(description, monkeypatch):
    import moderngl

    def refuse(**_):
        raise Exception("eglInitialize failed")  # as moderngl does

    monkeypatch.setattr(renderer, "_context", None)
    monkeypatch.setattr(moderngl, "create_context", refuse)
    env = iglu_marl.parallel_env(renderer="opengl")
    with pytest.raises(
        RenderError, match=r"no OpenGL 3\.3 context.*device 0, libGL\.so\.1: eglInitialize failed"
    ):
        env.reset(seed=0)
    assert renderer._context is None


def test_auto_is_the_painter(description, monkeypatch):
    assert type(make_renderer(GameConfig())) is Painter
    assert type(make_renderer(GameConfig(renderer="painter", pov_size=(512, 512)))) is Painter
    assert type(make_renderer(GameConfig(renderer="opengl"))) is OpenGLRenderer
    monkeypatch.setattr(renderer, "gpu_present", lambda: False)
    monkeypatch.setattr("iglu_marl.rendering.opengl.renderer.gpu_present", lambda: False, raising=False)
    assert type(make_renderer(GameConfig(pov_size=(512, 512)))) is Painter
    monkeypatch.setattr("iglu_marl.rendering.opengl.renderer.gpu_present", lambda: True, raising=False)
    assert type(make_renderer(GameConfig(pov_size=(512, 512)))) is AutoRenderer
    assert type(make_renderer(GameConfig(pov_size=(64, 64)))) is Painter


def test_auto_takes_a_gpu_for_large_pictures(description, monkeypatch):
    worlds = worlds_of(2)
    chosen = AutoRenderer(PLAIN)
    small = chosen.render(worlds, [0, 1], (32, 32))
    monkeypatch.setattr(renderer.SharedContext, "software", property(lambda self: False))
    large = chosen.render(worlds, [0, 1], (256, 256))
    assert type(chosen._large) is OpenGLRenderer
    assert (large != Painter(PLAIN).render(worlds, [0, 1], (256, 256))).any(axis=3).mean() <= 5e-4
    assert (small == Painter(PLAIN).render(worlds, [0, 1], (32, 32))).all()
    again = pickle.loads(pickle.dumps(chosen))  # noqa: S301
    assert again.lens == PLAIN
    chosen.close()


def test_auto_does_not_take_a_driver_that_computes_on_the_cpu(description, monkeypatch):
    monkeypatch.setattr(renderer.SharedContext, "software", property(lambda self: True))
    chosen = AutoRenderer(PLAIN)
    chosen.render(worlds_of(1), [0], (256, 256))
    assert type(chosen._large) is Painter


def test_auto_falls_back_and_says_so_once(monkeypatch):
    monkeypatch.setattr(renderer, "_warned", False)
    worlds = worlds_of(1)
    expected = Painter(PLAIN).render(worlds, [0], (256, 256))
    with no_library(monkeypatch):
        with pytest.warns(UserWarning, match=r"a GPU is here, but the painter draws.*libEGL"):
            assert (AutoRenderer(PLAIN).render(worlds, [0], (256, 256)) == expected).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (AutoRenderer(PLAIN).render(worlds, [0], (256, 256)) == expected).all()


@pytest.mark.parametrize(
    ("files", "visible", "present"),
    [
        ([], None, False),
        (["nvidia0"], None, True),
        (["nvidia0"], "", False),
        (["nvidia0"], "-1", False),
        (["nvidia0"], "0", True),
        (["nvidiactl", "nvidia-uvm"], None, False),
        (["dri/card0"], None, False),
        (["dri/renderD128"], "", True),
    ],
)
def test_signs_of_a_gpu(tmp_path, monkeypatch, files, visible, present):
    (tmp_path / "dri").mkdir()
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr(renderer, "DEVICE_FILES", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert renderer.gpu_present() is present


# --- in the game -----------------------------------------------------------------------------------------------
