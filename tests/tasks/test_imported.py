"""Structures from other programs, written by the libraries of these programs' users."""

import gzip
import json
import struct
import zlib

import numpy as np
import pytest

from iglu_marl.core.errors import DataError, IgluMarlError, TaskError
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.rendering.palette import block_color
from iglu_marl.tasks import import_structure
from iglu_marl.tasks.imported import fitted
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.voxel_colors import GAME_COLORS, nearest_colors, oklab, rgb_of_name
from iglu_marl.tasks.voxel_files import UNPACKED_LIMIT, read_voxels

# Red at the origin, blue two steps east, green on top of the red one, yellow one step south of the blue one:
# different from all its rotations and mirror images.
SHAPE = [(0, 0, 0, "red"), (2, 0, 0, "blue"), (0, 1, 0, "green"), (2, 0, 1, "yellow")]
IDS = {"blue": 1, "yellow": 2, "green": 3, "orange": 4, "purple": 5, "red": 6}
# centred: 3 x 2 x 2 blocks begin at x = -1, z = -1
EXPECTED = sorted((x - 1, y - 1, z - 1, IDS[color]) for x, y, z, color in SHAPE)


def _mcschematic(folder):
    mcschematic = pytest.importorskip("mcschematic")
    build = mcschematic.MCSchematic()
    for x, y, z, color in SHAPE:
        build.setBlock((x + 40, y - 7, z), f"minecraft:{color}_wool")
    build.save(str(folder), "build", mcschematic.Version.JE_1_18_2)
    return folder / "build.schem"


def _region(size=(3, 2, 2), at=(5, 60, -9)):
    litemapy = pytest.importorskip("litemapy")
    region = litemapy.Region(*at, *size)
    xs, ys, zs = (sorted(axis) for axis in (region.range_x(), region.range_y(), region.range_z()))
    for x, y, z, color in SHAPE:
        region[xs[x], ys[y], zs[z]] = litemapy.BlockState(f"minecraft:{color}_concrete")
    return region


def _litematic(folder, size=(3, 2, 2)):
    file = folder / "build.litematic"
    _region(size).as_schematic("build", "me", "for a test").save(str(file))
    return file


def _negative_litematic(folder):
    return _litematic(folder, (-3, 2, -2))


def _litemapy_schem(folder):
    file = folder / "build.schem"
    _region().to_sponge_nbt().save(str(file), gzipped=True)
    return file


def _litemapy_structure(folder):
    file = folder / "build.nbt"
    _region().to_structure_nbt().save(str(file), gzipped=True)
    return file


def _nbtlib_structure(folder):
    nbtlib = pytest.importorskip("nbtlib")
    palette = [{"Name": nbtlib.String(f"minecraft:{color}_terracotta")} for *_, color in SHAPE]
    blocks = [{"state": nbtlib.Int(k), "pos": nbtlib.List[nbtlib.Int](list(SHAPE[k][:3]))} for k in range(4)]
    root = {"size": nbtlib.List[nbtlib.Int]([3, 2, 2]), "palette": nbtlib.List[nbtlib.Compound](palette)}
    file = folder / "build.nbt"
    nbtlib.File({**root, "blocks": nbtlib.List[nbtlib.Compound](blocks)}).save(file)  # not packed
    return file


def _nbtlib_schem_of_version_3(folder, many=200):
    nbtlib = pytest.importorskip("nbtlib")
    numbers = np.zeros((2, 2, 3), int)  # y, z, x
    palette = {"minecraft:air": nbtlib.Int(0)}
    palette |= {f"minecraft:unused_{k}": nbtlib.Int(k) for k in range(1, many)}
    for k, (x, y, z, color) in enumerate(SHAPE):
        palette[f"minecraft:{color}_stained_glass"] = nbtlib.Int(many + k)
        numbers[y, z, x] = many + k
    data = b"".join(bytes([n] if n < 128 else [n & 127 | 128, n >> 7]) for n in numbers.ravel().tolist())
    blocks = {"Palette": nbtlib.Compound(palette), "Data": nbtlib.ByteArray(np.frombuffer(data, np.int8))}
    size = {name: nbtlib.Short(edge) for name, edge in (("Width", 3), ("Height", 2), ("Length", 2))}
    body = {"Version": nbtlib.Int(3), **size, "Blocks": nbtlib.Compound(blocks)}
    file = folder / "build.schem"
    nbtlib.File({"Schematic": nbtlib.Compound(body)}, gzipped=True).save(file)
    return file


def _py_vox_io(folder):
    models = pytest.importorskip("pyvox.models")
    writer = pytest.importorskip("pyvox.writer")
    # z is up there, and y points north
    voxels = [models.Voxel(x, 5 - z, y, k + 1) for k, (x, y, z, _) in enumerate(SHAPE)]
    palette = [models.Color(*GAME_COLORS[IDS[color] - 1].tolist(), 255) for *_, color in SHAPE]
    writer.VoxWriter(
        str(folder / "build.vox"), models.Vox([models.Model(models.Size(9, 9, 9), voxels)], palette)
    ).write()
    return folder / "build.vox"


def _midvoxio(folder):
    writer = pytest.importorskip("midvoxio.writer")
    palette = np.array([(k, k, k, 255) for k in range(256)], np.uint8)
    array = np.zeros((3, 2, 2, 4))
    for k, (x, y, z, color) in enumerate(SHAPE):
        palette[k] = [*GAME_COLORS[IDS[color] - 1], 255]
        array[x, 1 - z, y] = palette[k] / 255
    writer.ArrayWriter(array, palette_arr=palette.tolist()).write(str(folder / "build.vox"))
    return folder / "build.vox"


def _ids(dtype, shape=(4, 3, 5)):
    grid = np.zeros(shape, dtype)
    for x, y, z, color in SHAPE:
        grid[y + 1, x, z + 2] = IDS[color]
    return grid


def _npy(folder):
    np.save(folder / "build.npy", _ids(np.float32))
    return folder / "build.npy"


def _npz(folder):
    np.savez_compressed(folder / "build.npz", grid=_ids(np.int64), other=np.zeros(3))
    return folder / "build.npz"


def _colors_npy(folder):
    grid = np.zeros((2, 3, 2, 4), np.uint8)
    for x, y, z, color in SHAPE:
        grid[y, x, z] = [*block_color(IDS[color]), 255]
    np.save(folder / "build.npy", grid)
    return folder / "build.npy"


def _blocks_npy(folder):
    np.save(folder / "build.npy", np.array([(x, y, z, IDS[color]) for x, y, z, color in SHAPE]))
    return folder / "build.npy"


def _json(folder):
    blocks = [{"x": x, "y": y + 64, "z": z, "type": f"{color}_wool"} for x, y, z, color in SHAPE]
    (folder / "build.json").write_text(json.dumps(blocks))
    return folder / "build.json"


WRITERS = [
    _mcschematic,
    _litemapy_schem,
    _nbtlib_schem_of_version_3,
    _litemapy_structure,
    _nbtlib_structure,
    _litematic,
    _negative_litematic,
    _py_vox_io,
    _midvoxio,
    _npy,
    _blocks_npy,
    _colors_npy,
    _npz,
    _json,
]


@pytest.mark.parametrize("write", WRITERS)
def test_a_file_of_another_program_is_read_with_its_place_and_colors(write, tmp_path):
    file = write(tmp_path)
    task = import_structure(file)
    assert grid_to_blocks(task.target_grid) == EXPECTED
    assert (task.task_id, task.dialog, task.is_invariant) == ("build", "", True)


@pytest.mark.filterwarnings("ignore:.*are unknown")
@pytest.mark.parametrize("write", WRITERS)
def test_a_damaged_file_gives_an_error_that_names_it(write, tmp_path):
    file = write(tmp_path)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [whole[:length] for length in (0, 3, len(whole) // 2, len(whole) - 1)]
    for _ in range(60):
        changed = bytearray(whole)
        for place in rng.integers(len(whole), size=4):
            changed[place] = rng.integers(256)
        damaged.append(bytes(changed))
    if whole[:2] == b"\x1f\x8b":  # also within the packed data
        content = gzip.decompress(whole)
        for _ in range(60):
            changed = bytearray(content)
            changed[rng.integers(len(content))] = rng.integers(256)
            damaged.append(gzip.compress(bytes(changed)))
        damaged += [gzip.compress(content[: len(content) * k // 7]) for k in range(7)]
    errors = []
    for content in damaged:
        try:
            import_structure(file, content=content)
        except IgluMarlError as error:
            errors.append(str(error))
    assert len(errors) >= 4
    assert all("build" in error for error in errors)


def _vox(*chunks):
    body = b"".join(struct.pack("<4s2I", kind, len(content), 0) + content for kind, content in chunks)
    return b"VOX " + struct.pack("<I4s2I", 200, b"MAIN", 0, len(body)) + body


def _text(text):
    return struct.pack("<I", len(text)) + text.encode()


def _table(**entries):
    return struct.pack("<I", len(entries)) + b"".join(
        _text(key) + _text(value) for key, value in entries.items()
    )


def _move(node, child, **frame):
    return b"nTRN", struct.pack("<i", node) + _table() + struct.pack("<4i", child, -1, -1, 1) + _table(
        **frame
    )


def test_a_scene_of_magicavoxel_turns_and_moves_its_models(tmp_path):
    """A bar of two voxels, red and blue, as it is and turned by 90 degrees about the vertical axis."""
    bar = struct.pack("<I8B", 2, 0, 0, 0, 1, 1, 0, 0, 2)
    palette = struct.pack("<8B", *GAME_COLORS[5], 255, *GAME_COLORS[0], 255).ljust(1024, b"\0")
    group = struct.pack("<i", 1) + _table() + struct.pack("<3i", 2, 2, 4)
    shape = _table() + struct.pack("<2i", 1, 0) + _table()
    # rows of the rotation: x' = -y (column 1, negative), y' = x (column 0), z' = z
    turned = 1 | 0 << 2 | 1 << 4
    content = _vox(
        (b"SIZE", struct.pack("<3I", 2, 1, 1)),
        (b"XYZI", bar),
        _move(0, 1),
        (b"nGRP", group),
        _move(2, 3, _t="1 0 0"),
        (b"nSHP", struct.pack("<i", 3) + shape),
        _move(4, 5, _t="1 0 1", _r=str(turned)),
        (b"nSHP", struct.pack("<i", 5) + shape),
        (b"RGBA", palette),
    )
    model = read_voxels(tmp_path / "scene.vox", content=content)
    ids = nearest_colors(model.colors).tolist()
    at = {tuple(cell): color for cell, color in zip(model.cells.tolist(), ids, strict=True)}
    # below: x = 0 red, x = 1 blue; above: one behind the other, red south of blue
    assert sorted((cell[1], color) for cell, color in at.items()) == [(0, 1), (0, 6), (1, 1), (1, 6)]
    red, blue = ({cell[1]: cell for cell, color in at.items() if color == wanted} for wanted in (6, 1))
    assert np.subtract(blue[0], red[0]).tolist() == [1, 0, 0]
    assert np.subtract(blue[1], red[1]).tolist() == [0, 0, -1]


def test_models_without_a_scene_are_refused(tmp_path):
    model = [(b"SIZE", struct.pack("<3I", 1, 1, 1)), (b"XYZI", struct.pack("<I4B", 1, 0, 0, 0, 1))]
    with pytest.raises(DataError, match=r"2 models and no scene .* merge them"):
        import_structure(tmp_path / "a.vox", content=_vox(*model, *model))
    with pytest.raises(DataError, match="XYZI has 8 bytes for 9 voxels"):
        import_structure(
            tmp_path / "a.vox", content=_vox(model[0], (b"XYZI", struct.pack("<I4B", 9, 0, 0, 0, 1)))
        )


def test_json_holds_blocks_boxes_and_lines(tmp_path):
    content = {
        "boxes": [
            {"from": [0, 0, 0], "to": [2, 1, 0], "type": "oak_planks"},
            {"from": [1, 0, 0], "to": [1, 0, 0], "type": "air"},
        ],
        "lines": [{"from": [0, 2, 0], "to": [2, 4, 0], "type": "#ff0000"}],
        "blocks": [[0, 0, 3, 3]],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    grid = import_structure(tmp_path / "a.json").target_grid
    names = {color: int((grid == number).sum()) for color, number in IDS.items()}
    assert names == {"blue": 0, "yellow": 0, "green": 1, "orange": 5, "purple": 0, "red": 3}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[]", "no block"),
        ('[{"x": 0, "y": 0, "z": 0.5, "type": "red"}]', r"blocks\[0\]"),
        ('[{"x": 0, "y": 0, "z": 0, "type": 9}]', r"type of blocks\[0\]"),
        ('{"boxes": [{"from": [0, 0, 0], "to": [999, 999, 999], "type": "red"}]}', "1000 x 1000 x 1000"),
        ('{"tasks": []}', "expected"),
    ],
)
def test_wrong_json_is_refused_with_the_place(content, expected, tmp_path):
    with pytest.raises(DataError, match=expected):
        import_structure(tmp_path / "a.json", content=content.encode())


def test_files_that_unpack_to_more_than_the_limit_are_refused(tmp_path):
    bomb = gzip.compress(b"\x0a\x00\x00" + b"\x00" * (UNPACKED_LIMIT + 10))
    assert len(bomb) < 100_000
    with pytest.raises(DataError, match="unpacks"):
        import_structure(tmp_path / "a.schem", content=bomb)
    endless_list = b"\x0a\x00\x00\x09\x00\x01a\x00\x7f\xff\xff\xff"
    deep = b"\x0a\x00\x00" + b"\x09\x00\x01a\x09\x00\x00\x00\x01" + b"\x09\x00\x00\x00\x01" * 100_000
    for content in (endless_list, deep):
        with pytest.raises(DataError, match=r"a\.nbt"):
            import_structure(tmp_path / "a.nbt", content=zlib.compress(content, wbits=31))
    with pytest.raises(DataError, match="ends in"):
        import_structure(tmp_path / "a.obj")


def test_the_nearest_color_is_by_hue_in_a_perceptual_space():
    # the reference values of the space's author
    assert oklab([255, 255, 255]) == pytest.approx([1, 0, 0], abs=1e-3)
    assert oklab([255, 0, 0]) == pytest.approx([0.628, 0.225, 0.126], abs=1e-3)
    assert oklab([0, 0, 255]) == pytest.approx([0.452, -0.032, -0.312], abs=1e-3)
    assert [block_color(color) for color in range(1, 7)] == [tuple(rgb) for rgb in GAME_COLORS.tolist()]
    assert nearest_colors(GAME_COLORS).tolist() == [1, 2, 3, 4, 5, 6]
    for rgb, name in (
        ((0, 0, 128), "blue"),
        ((53, 57, 157), "blue"),
        ((0, 255, 0), "green"),
        ((84, 109, 27), "green"),
        ((128, 0, 0), "red"),
        ((255, 0, 255), "purple"),
        ((114, 71, 40), "orange"),
        ((220, 210, 160), "yellow"),
    ):
        assert nearest_colors([rgb]).tolist() == [IDS[name]], rgb
    assert rgb_of_name("minecraft:light_blue_wool[a=b]") == ((58, 175, 217), True)
    assert rgb_of_name("minecraft:cave_air") == (None, True)
    with pytest.warns(UserWarning, match="mystery"):
        import_structure("a.json", content=b'[[0, 0, 0, "mod:mystery"]]')


def _cuboid(*size):
    return np.ones(size, np.int8)


@pytest.mark.parametrize(
    ("shape", "fit", "extent"),  # y, x, z
    [
        ((9, 11, 11), "refuse", (9, 11, 11)),
        ((2, 2, 1), "refuse", (2, 2, 1)),
        ((18, 22, 4), "scale", (9, 11, 2)),
        ((10, 4, 4), "scale", (9, 4, 4)),
        ((12, 13, 20), "crop", (9, 11, 11)),
    ],
)
def test_a_structure_is_fitted_into_the_zone(shape, fit, extent, tmp_path):
    np.save(tmp_path / "a.npy", _cuboid(*shape))
    model = read_voxels(tmp_path / "a.npy")
    grid = fitted(model, fit)
    y, x, z = grid.nonzero()
    assert (int(np.ptp(y)) + 1, int(np.ptp(x)) + 1, int(np.ptp(z)) + 1) == extent
    assert y.min() == 0
    assert abs((x.min() + x.max()) / 2 - 5) <= 0.5
    assert abs((z.min() + z.max()) / 2 - 5) <= 0.5
    if fit != "refuse":
        with pytest.raises(TaskError, match=f"{shape[1]} x {shape[0]} x {shape[2]}"):
            fitted(model)


def test_a_dense_grid_of_the_zone_keeps_its_place(tmp_path):
    grid = np.zeros((9, 11, 11), np.int8)
    grid[3, 0, 10] = 4
    np.save(tmp_path / "a.npy", grid)
    assert grid_to_blocks(import_structure(tmp_path / "a.npy").target_grid) == [(-5, 2, 5, 4)]


def test_scaling_takes_the_most_frequent_color_of_each_cell(tmp_path):
    blocks = [(x, 0, 0, 1 if x % 2 else 3) for x in range(22)] + [(x, 0, 1, 1) for x in range(22)]
    np.save(tmp_path / "a.npy", np.array(blocks))
    grid = fitted(read_voxels(tmp_path / "a.npy"), "scale")
    assert grid_to_blocks(grid) == [(x, -1, 0, 1) for x in range(-5, 6)]


def test_a_file_is_a_source_of_tasks(tmp_path):
    np.save(tmp_path / "tall.npy", _cuboid(18, 2, 2))
    assert as_source(f"{tmp_path / 'tall.npy'}:scale").target_grid.any(axis=(1, 2)).sum() == 9
    with pytest.raises(TaskError, match="FILE:scale"):
        as_source(tmp_path / "tall.npy")
    (tmp_path / "a.json").write_text('[[0, 0, 0, "red"]]')
    assert as_source(tmp_path / "a.json").structure == "a"
    (tmp_path / "a.json").write_text("5")
    with pytest.raises(DataError, match="has no 'structures'"):
        as_source(tmp_path / "a.json")


def test_a_pickle_of_goals_is_refused_with_the_command_that_converts_it(tmp_path):
    (tmp_path / "goals.pkl").write_bytes(b"\x80\x03}q\x00.")
    with pytest.raises(DataError, match=r"(?s)trust.*python -c .*goals\.json"):
        as_source(tmp_path / "goals.pkl")
