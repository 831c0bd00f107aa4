"""The painter against golden frames, against an independent ray caster, and as a `Renderer`."""

from __future__ import annotations

import hashlib
import json
import types

import numpy as np
import pytest
from witness import cast, check_golden_frames, random_grid, scenes

from iglu_marl.core.errors import GridError, RenderError
from iglu_marl.core.grid import COLOR_NAMES
from iglu_marl.rendering import Painter, palette
from iglu_marl.rendering.painter import paint_scenes
from iglu_marl.rendering.renderer import Lens

RNG_SEED = 20240


@pytest.mark.slow
@pytest.mark.parametrize("size", [(64, 64), (48, 96), (37, 21)])
def test_equals_the_ray_caster(size):
    for kind, grid, pose in scenes(np.random.default_rng(RNG_SEED)):
        expected, doubtful = cast(grid, pose, size)
        painted = paint_scenes(grid[None], [pose], size)[0]
        wrong = (painted != expected).any(axis=2)
        assert wrong.mean() <= 0.002, kind
        assert not (wrong & ~doubtful).any(), kind


@pytest.mark.slow
def test_a_distant_narrow_camera_equals_the_ray_caster():
    rng = np.random.default_rng(RNG_SEED)
    lens = Lens(fov_deg=25, near=1.0, far=120.0, ground=6.5)
    for azimuth, elevation in ((0.0, 30.0), (47.0, 60.0), (200.0, 12.0)):
        yaw, pitch = np.radians((azimuth, elevation))
        distance = 35.0
        eye = distance * np.array([-np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)])
        pose = (*eye, azimuth, -elevation)
        grid = random_grid(rng, 120)
        expected, doubtful = cast(grid, pose, (80, 120), lens)
        painted = paint_scenes(grid[None], [pose], (80, 120), lens=lens)[0]
        wrong = (painted != expected).any(axis=2)
        assert wrong.mean() <= 0.003
        assert not (wrong & ~doubtful).any()


def test_recorded_pictures():
    """Every pixel stays what it is in data sets: on round coordinates with their seams, and of random scenes."""
    rng, total = np.random.default_rng(RNG_SEED), hashlib.sha256()
    for number in range(120):
        seams = number % 2 == 0
        pose = rng.uniform((-5, -1, -5, 0, -60), (5, 4, 5, 360, 30))
        if seams:
            units = np.array((0.5, 0.5, 0.5, 90, 180))  # level, along an axis
            pose = np.round(pose / units) * units
        grid = random_grid(rng, number // 2)
        total.update(paint_scenes(grid[None], [pose], (48, 64), lens=Lens(seams=seams)).tobytes())
    assert total.hexdigest()[:16] == "0f43ed4348ab3783"


@pytest.mark.parametrize("size", [64, 256])
def test_golden_frames(shared, size):
    check_golden_frames(shared, size, Painter())


def test_palette_is_the_golden_one(shared):
    golden = json.loads((shared / "golden" / "palette.json").read_text())
    assert palette.RGB[palette.SKY].tolist() == golden["sky"]
    assert palette.RGB[palette.WHITE_FILL].tolist() == golden["ground"]["white"]["fill"]
    assert palette.RGB[palette.WHITE_LINE].tolist() == golden["ground"]["white"]["line"]
    assert palette.RGB[palette.GREY_LINE].tolist() == golden["ground"]["grey"]["line"]
    assert np.abs(palette.RGB[palette.GREY_FILL] - golden["ground"]["grey"]["fill_mean"]).max() <= 0.5
    shades = {"top": 0, "+z": 1, "-z": 1, "+x": 2, "-x": 2, "bottom": 3}
    assert len(golden["blocks"]) == 6
    for block in golden["blocks"].values():
        color = COLOR_NAMES.index(block["name"])
        for face, shade in shades.items():
            for part, name in enumerate(("fill", "border")):
                assert palette.RGB[palette.block_index(color, shade, part)].tolist() == block[face][name]


def test_seams_differ_only_on_round_coordinates():
    plain, seams = Lens(), Lens(seams=True)
    grid = random_grid(np.random.default_rng(RNG_SEED), 20)
    for pose in ((0.37, -0.25, 0.61, 90.0, 0.0), (0.0, 0.0, 0.0, 41.0, -20.0), (0.0, 0.0, 0.0, 90.5, 0.0)):
        first, second = (paint_scenes(grid[None], [pose], (64, 64), lens=lens) for lens in (plain, seams))
        assert (first == second).all(), pose
    for yaw in (0.0, 90.0, 180.0, 270.0, 360.0):
        empty = np.zeros((1, 9, 11, 11), np.int8)
        first, second = (
            paint_scenes(empty, [(0, 0, 0, yaw, 0)], (64, 64), lens=lens)[0] for lens in (plain, seams)
        )
        changed = (first != second).any(axis=2)
        assert 10 <= changed.sum() <= 100, yaw
        lines = palette.RGB[[palette.WHITE_LINE, palette.GREY_LINE]]
        assert all((pixel == lines).all(axis=1).any() for pixel in first[changed])


def worlds_of(count, blocks=30):
    """Something like `Worlds`: grid and pose are strided views of a structured array."""
    rng = np.random.default_rng(RNG_SEED)
    record = np.dtype(
        [("a", "f8"), ("pose", "f8", (5,)), ("grid", "i1", (9, 11, 11)), ("b", "i4")], align=True
    )
    state = np.zeros(count, record)
    for row in state:
        row["grid"] = random_grid(rng, blocks)
        row["pose"] = (*rng.uniform(-4, 4, 3), rng.uniform(0, 360), rng.uniform(-60, 60))
    return types.SimpleNamespace(state=state, grid=state["grid"], pose=state["pose"])


def test_a_batch_is_its_single_frames():
    worlds, painter = worlds_of(7), Painter()
    batch = painter.render(worlds, np.arange(7), (40, 24))
    assert batch.shape == (7, 40, 24, 3)
    assert batch.dtype == np.uint8
    assert len({frame.tobytes() for frame in batch}) == 7
    for number in range(7):
        assert (painter.render(worlds, [number], (40, 24))[0] == batch[number]).all()
        single = painter.render_grid(worlds.grid[number], worlds.pose[number], (40, 24))
        assert (single == batch[number]).all()
    assert (painter.render(worlds, [5, 2], (40, 24)) == batch[[5, 2]]).all()
    assert (painter.render(worlds, [-1], (40, 24)) == batch[[6]]).all()
    assert painter.render(worlds, [], (40, 24)).shape == (0, 40, 24, 3)


def test_out_is_filled_and_returned_and_the_worlds_are_left_alone():
    worlds, painter = worlds_of(3), Painter()
    before = worlds.state.tobytes()
    out = np.full((2, 16, 32, 3), 7, np.uint8)
    assert painter.render(worlds, [2, 0], (16, 32), out) is out
    assert (out == painter.render(worlds, [2, 0], (16, 32))).all()
    assert worlds.state.tobytes() == before


def test_other_strides_types_and_read_only_arrays():
    worlds = worlds_of(4)
    expected = paint_scenes(worlds.grid, worlds.pose, (20, 20))
    wide = np.repeat(worlds.grid, 2, axis=3).astype(np.int64)
    frozen = worlds.pose.copy()
    frozen.setflags(write=False)
    assert (paint_scenes(wide[..., ::2], frozen, (20, 20)) == expected).all()
    assert (paint_scenes(np.asfortranarray(worlds.grid), worlds.pose.tolist(), (20, 20)) == expected).all()
    worlds.grid.setflags(write=False)
    assert (Painter().render(worlds, [3], (20, 20))[0] == expected[3]).all()


def test_an_id_beyond_the_palette_is_air():
    grid = np.zeros((1, 9, 11, 11), np.int8)
    grid[0, 1, 5, 3] = 7
    pose = [(0.0, -0.25, 0.0, 0.0, 0.0)]
    assert (paint_scenes(grid, pose, (16, 16)) == paint_scenes(np.zeros_like(grid), pose, (16, 16))).all()


@pytest.mark.parametrize(
    "size", [(0, 4), (4, -1), (4.5, 4), (4,), (4, 4, 3), None, 64, ("a", "b"), (9000, 4)]
)
def test_bad_sizes(size):
    with pytest.raises(RenderError, match="size is"):
        Painter().render(worlds_of(1), [0], size)


def test_other_bad_input():
    worlds, painter = worlds_of(2), Painter()
    with pytest.raises(IndexError):
        painter.render(worlds, [2], (8, 8))
    with pytest.raises(IndexError):
        painter.render(worlds, [0, 2], (8, 8))
    for out in (
        np.zeros((1, 8, 8, 3)),
        np.zeros((2, 8, 8, 3), np.uint8),
        None,
        np.zeros((1, 8, 16, 3), "u1")[:, :, ::2],
    ):
        if out is not None:
            with pytest.raises(RenderError, match="out"):
                painter.render(worlds, [0], (8, 8), out)
    with pytest.raises(RenderError, match="grids have shape"):
        paint_scenes(np.zeros((9, 11, 11)), [(0, 0, 0, 0, 0)], (8, 8))
    with pytest.raises(RenderError, match="poses"):
        paint_scenes(worlds.grid, worlds.pose[:1], (8, 8))
    with pytest.raises(RenderError, match="poses"):
        paint_scenes(worlds.grid[:1], [(0, np.nan, 0, 0, 0)], (8, 8))
    with pytest.raises(GridError):
        painter.render_grid(np.full((9, 11, 11), 9), (0, 0, 0, 0, 0), (8, 8))
    assert painter.render(worlds, [1], (8, 8)).shape == (1, 8, 8, 3)


@pytest.mark.parametrize(
    "values", [{"fov_deg": 0}, {"fov_deg": 180}, {"near": 0}, {"near": 40}, {"far": 1e9}, {"ground": 30}]
)
def test_bad_lenses(values):
    with pytest.raises(RenderError):
        Lens(**values)


def test_bound_scenes_paint_chosen_scenes_in_their_places() -> None:
    worlds = worlds_of(5)
    grids, poses = np.ascontiguousarray(worlds.grid), np.ascontiguousarray(worlds.pose)
    out = np.full((5, 18, 30, 3), 99, np.uint8)
    draw = Painter().bind(grids, poses, (18, 30), out)
    draw(np.array([4, 0, 3, 1]), 1, 3)
    expected = paint_scenes(worlds.grid, worlds.pose, (18, 30))
    for scene, picture in enumerate(out):
        if scene not in (0, 3):
            assert (picture == 99).all()
            continue
        assert (picture == expected[scene]).all()
    grids[1, 0] = 6
    draw(np.array([1]), 0, 1)
    grid = worlds.grid[1].copy()
    grid[0] = 6
    expected = paint_scenes(grid[None], worlds.pose[1:2], (18, 30))[0]
    assert (out[1] == expected).all(), "arrays are read again"
