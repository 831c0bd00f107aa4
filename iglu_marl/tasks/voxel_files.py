"""Readers of structures made with other programs: voxel editors, Minecraft, NumPy, and JSON.

| ending | program | read |
|---|---|---|
| `.vox` | MagicaVoxel and others | the visible models of the scene in its first frame, with the colors of the palette |
| `.schem` | WorldEdit and others | Sponge schematic, versions 1 to 3 |
| `.nbt` | Minecraft | structure block |
| `.litematic` | Litematica | all regions |
| `.npy`, `.npz` | NumPy | ids [y, x, z], blocks [n, 4] of x, y, z, id, or colors [y, x, z, 3 or 4] |
| `.json` | yours | blocks, boxes and lines, see `_read_json` |

Files are untrusted: sizes are bounded, and a damaged file raises a `DataError` that names the file and the place.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DataError
from iglu_marl.core.extras import extra
from iglu_marl.core.files import usable_path
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.parsing import MIB, parse_json, read_file, too_large, wrap_errors
from iglu_marl.tasks.voxel_colors import GAME_COLORS, rgb_of_name

FILE_LIMIT = 32 * MIB  # bytes of a file
UNPACKED_LIMIT = 16 * MIB  # bytes of unpacked NBT, whose tags become objects
MAX_CELLS = 1 << 22  # cells of a box around the blocks of a file
MAX_COORDINATE = 1 << 30
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class VoxelModel:
    """Blocks as a file has them: each cell (x east, y up, z south) once, with its color."""

    name: str
    cells: Ints  # [n, 3], in any place
    colors: npt.NDArray[np.uint8]  # [n, 3], red, green, blue
    unknown: tuple[str, ...] = ()  # block names without a known color; they are grey
    in_place: bool = False  # whether the cells are those of the zone, such as of a dense grid [9, 11, 11]

    @property
    def size(self) -> tuple[int, int, int]:
        """Extent (x, y, z) in blocks."""
        x, y, z = (np.ptp(self.cells, axis=0) + 1).tolist()
        return x, y, z


def read_voxels(
    path: str | os.PathLike[str],
    *,
    content: bytes | None = None,
    unpacked_limit: int = UNPACKED_LIMIT,
) -> VoxelModel:
    """Return the blocks of a file (see the table of this module).

    Args:
        path: the file; its ending names the format.
        content: contents of the file, if it is not to be opened.
        unpacked_limit: largest number of bytes of unpacked NBT and arrays.

    Raises:
        DataError: if the file is missing, too large, damaged or empty, or has another ending.

    """
    file = usable_path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise DataError(
            f"{file} ends in {file.suffix!r}, expected one of {', '.join(READERS)}: most voxel editors export .vox; "
            "iglu_marl.tasks.StructureTasks reads files of many structures"
        )
    if content is None:
        content = read_file(file, FILE_LIMIT)
    elif len(content) > FILE_LIMIT:
        raise DataError(too_large(str(file), len(content), FILE_LIMIT))
    with wrap_errors(str(file)):
        names = _Colors(unpacked_limit)
        cells, colors, in_place = reader(content, names)
        cells, colors = _last_of_each_cell(cells, colors)
        if not len(cells):
            raise DataError("it has no block, expected at least one")
        if cells.min() < -MAX_COORDINATE or cells.max() > MAX_COORDINATE:
            raise DataError(f"a block is at {cells.min()} or {cells.max()}, farther than {MAX_COORDINATE:,}")
        return VoxelModel(file.stem, cells, colors, tuple(sorted(names.unknown)), in_place)


class _Colors:
    """The colors of names and ids, the names that are unknown, and the largest size of unpacked data."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.unknown: set[str] = set()

    def of(self, kind: Any, place: str) -> list[int] | None:
        """Return the color of a block's type: a name, an id 1..6, or [red, green, blue]; None for air."""
        if isinstance(kind, str):
            rgb, known = rgb_of_name(kind)
            if not known:
                self.unknown.add(kind[:80])
            return None if rgb is None else list(rgb)
        if type(kind) is int and 0 <= kind <= 6:
            return GAME_COLORS[kind - 1].tolist() if kind else None
        is_rgb = isinstance(kind, list) and len(kind) == 3
        if is_rgb and all(type(part) is int and 0 <= part <= 255 for part in kind):
            return kind
        raise DataError(f"{place} is {kind!r:.60}, expected a color or block name, an id 0..6 or [r, g, b]")


Blocks = tuple[Any, Any, bool]  # cells [n, 3], colors [n, 3], whether they are in their place in the zone


def _last_of_each_cell(cells: Any, colors: Any) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Return each cell once, with the color that was given last."""
    cells = np.asarray(cells, np.int64).reshape(-1, 3)
    colors = np.asarray(colors, np.uint8).reshape(-1, 3)
    _, last = np.unique(cells[::-1], axis=0, return_index=True)
    kept = len(cells) - 1 - last
    return cells[kept], colors[kept]


def _check_volume(*size: int) -> int:
    """Return the number of cells of a box. Raises `DataError` if an edge is not positive or it is too large."""
    volume = 1
    for edge in size:
        volume *= edge if edge > 0 else MAX_CELLS + 1
    if volume > MAX_CELLS:
        raise DataError(f"its size is {' x '.join(map(str, size))}, expected 1 to {MAX_CELLS:,} cells")
    return volume


# ------------------------------------------------------------------------------------------------ MagicaVoxel


def _read_vox(content: bytes, names: _Colors) -> Blocks:
    """Read a .vox file: chunks of id, size of the content, size of the children. Its z is up."""
    if content[:4] != b"VOX ":
        raise DataError(f"it begins with {content[:4]!r}, expected b'VOX '")
    models: list[Ints] = []
    sizes: list[tuple[int, ...]] = []
    palette, scene = _default_palette(), {}
    for kind, body in _chunks(content):
        if kind == b"SIZE":
            sizes.append(struct.unpack_from("<3I", body))
        elif kind == b"XYZI":
            (count,) = struct.unpack_from("<I", body)
            if len(body) != 4 + 4 * count or len(models) >= len(sizes):
                raise DataError(f"chunk XYZI has {len(body)} bytes for {count} voxels, or no SIZE before it")
            voxels = np.frombuffer(body, np.uint8, offset=4).reshape(-1, 4).astype(np.int64)
            models.append(voxels[voxels[:, 3] > 0])  # some write air, as color 0
        elif kind == b"RGBA":
            colors = np.frombuffer(body[:1024], np.uint8).reshape(-1, 4)[:, :3]  # some write fewer than 256
            palette = np.concatenate([colors, palette[len(colors) :]])
        elif kind in (b"nTRN", b"nGRP", b"nSHP"):
            node, children, move = _scene_node(kind, body)
            scene[node] = (kind, children, move)
    if len(models) > 1 and not scene:
        raise DataError(
            f"it has {len(models)} models and no scene that places them: save it with MagicaVoxel 0.99 or later, or "
            "merge them in its world view (select all, then Union)"
        )
    cells, rgb = [np.zeros((0, 3), np.int64)], [np.zeros((0, 3), np.uint8)]
    total = 0
    for number, turn, shift in _placed(scene, 0, np.eye(3, dtype=np.int64), np.zeros(3, np.int64), 0, [0]):
        if not 0 <= number < len(models):
            raise DataError(f"its scene shows model {number}, expected one of {len(models)}")
        voxels, half = models[number], np.array(sizes[number]) // 2
        total += len(voxels)
        if total > MAX_CELLS:
            raise DataError(f"it has more than {MAX_CELLS:,} voxels")
        doubled_centers = 2 * (voxels[:, :3] - half) + 1
        x, y, z = ((doubled_centers @ turn.T + 2 * shift - 1) // 2).T
        cells.append(np.stack([x, z, -y], axis=1))
        rgb.append(palette[voxels[:, 3] - 1])
    return np.concatenate(cells), np.concatenate(rgb), False


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(content):
        if at + 12 > len(content):
            raise DataError(f"it ends at byte {len(content)} within the head of a chunk")
        kind, size, _ = struct.unpack_from("<4s2I", content, at)
        at += 12
        if at + size > len(content):
            raise DataError(f"chunk {kind!r} at byte {at} has {size} bytes, but the file ends before")
        yield kind, content[at : at + size]
        at += size


def _default_palette() -> npt.NDArray[np.uint8]:
    """Return the colors of a file without a palette: a cube of six levels, then ramps of red, green, blue, grey."""
    levels = range(255, -1, -51)
    cube = [(red, green, blue) for red in levels for green in levels for blue in levels][:215]
    ramp = [17 * step for step in (14, 13, 11, 10, 8, 7, 5, 4, 2, 1)]
    ramps = [tuple(level * (axis in (color, 3)) for axis in range(3)) for color in range(3) for level in ramp]
    return np.array([*cube, *ramps, *((level,) * 3 for level in ramp), (0, 0, 0)], np.uint8)


def _scene_node(kind: bytes, body: bytes) -> tuple[int, list[int], dict[str, str]]:
    """Return a node's number, its children (of nSHP: models), and the attributes of its first frame."""
    reader = io.BytesIO(body)

    def number() -> int:
        return int(struct.unpack("<i", reader.read(4))[0])

    def table() -> dict[str, str]:
        return {text(): text() for _ in range(number())}

    def text() -> str:
        return reader.read(number()).decode("utf-8", "replace")

    node, attributes = number(), table()
    if attributes.get("_hidden") == "1":
        return node, [], {}
    if kind == b"nTRN":
        child, *_ = (number() for _ in range(4))  # child, reserved, layer, frames
        return node, [child], table()
    count = number()
    if kind == b"nGRP":
        return node, [number() for _ in range(count)], {}
    return node, [number()] if count else [], {}


def _placed(
    scene: Mapping[int, Any], node: int, turn: Ints, shift: Ints, depth: int, count: list[int]
) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield (model, rotation, translation) of the models of a scene; without a scene the first model."""
    if not scene:
        yield 0, turn, shift
        return
    count[0] += 1
    if node not in scene or depth > 64 or count[0] > 10_000:
        raise DataError(f"its scene has no node {node}, circles, or more than 10,000 nodes")
    kind, children, frame = scene[node]
    if kind == b"nSHP":
        yield from ((model, turn, shift) for model in children)
        return
    move = np.array(frame.get("_t", "0 0 0").split(), np.int64)
    shift, turn = turn @ move + shift, turn @ _rotation(int(frame.get("_r", 4)))
    for child in children:
        yield from _placed(scene, child, turn, shift, depth + 1, count)


def _rotation(packed: int) -> Ints:
    """Return the matrix of a packed rotation: the columns of the entries in rows 0 and 1, then three signs."""
    first, second = packed & 3, packed >> 2 & 3
    turn = np.zeros((3, 3), np.int64)
    for row, column in enumerate((first, second, 3 - first - second)):
        turn[row, column] = -1 if packed >> 4 + row & 1 else 1
    return turn


# ------------------------------------------------------------------------------------------------ Minecraft


class _Strict(io.BytesIO):
    """Bytes of NBT that raise an error where the library would read zeros, or list nothing for ever."""

    _last = b""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size) if size is not None and size >= 0 else b""
        if len(data) != size:
            raise DataError(f"NBT ends after {len(self.getbuffer())} bytes, expected {size} more")
        if size == 4 and self._last == b"\0" and 0 < int.from_bytes(data, "big") < 1 << 31:
            raise DataError("NBT has a list with elements but without a type")
        self._last = data
        return data


def _nbt(content: bytes, limit: int) -> Mapping[str, Any]:
    """Return the root of NBT, which may be packed by gzip."""
    with extra("data"):
        import nbtlib

    if content[:2] == b"\x1f\x8b":
        packed = zlib.decompressobj(wbits=31)
        content = packed.decompress(content, limit + 1)
        if len(content) <= limit and not packed.eof:
            raise DataError("it is cut off: the gzip data do not end")
    if len(content) > limit:
        raise DataError(f"it unpacks to more than {limit:,} bytes, expected a smaller build")
    root: Mapping[str, Any] = nbtlib.File.parse(_Strict(content))
    return root.get("Schematic", root)


def _field(tags: Any, name: str, *, default: Any = None) -> Any:
    found = tags.get(name, default) if isinstance(tags, Mapping) else default
    if found is None:
        raise DataError(f"it has no {name!r}; its fields are {', '.join(tags)!s:.200}")
    return found


def _by_palette(palette: Sequence[Any], index: Any, cells: Ints, names: _Colors) -> Blocks:
    """Return the blocks of cells whose types are numbers in a palette of block names."""
    index = np.asarray(index, np.int64)
    if len(index) and not 0 <= index.min() <= index.max() < len(palette):
        raise DataError(f"a block has type {index.max()}, expected 0..{len(palette) - 1} of its palette")
    solid = np.zeros(len(palette), bool)
    table = np.zeros((len(palette), 3), np.uint8)
    for kind in np.unique(index).tolist():
        color = names.of(str(palette[kind]), "palette")
        if color is not None:
            solid[kind], table[kind] = True, color
    kept = solid[index]
    return cells[kept], table[index[kept]], False


def _read_schem(content: bytes, names: _Colors) -> Blocks:
    tags = _nbt(content, names.limit)
    if "Materials" in tags:
        raise DataError(
            "it is an old MCEdit schematic with numbers for blocks; save it as a Sponge schematic"
        )
    size = [int(_field(tags, edge)) & 0xFFFF for edge in ("Height", "Length", "Width")]
    volume = _check_volume(*size)
    store = tags.get("Blocks", tags)  # version 3
    palette = _field(store, "Palette")
    by_number = {int(number): name for name, number in palette.items()}
    listed = [by_number.get(number, "air") for number in range(min(len(by_number) * 2, MAX_CELLS))]
    data = store.get("Data", store.get("BlockData"))
    index = _varints(np.asarray(_field({"BlockData": data}, "BlockData")).astype(np.uint8))
    if len(index) != volume:
        raise DataError(f"it has {len(index)} blocks, expected {volume} for the size {size}")
    y, z, x = np.unravel_index(np.arange(volume), size)
    return _by_palette(listed, index, np.stack([x, y, z], axis=1), names)


def _varints(data: npt.NDArray[np.uint8]) -> Ints:
    """Return numbers of seven bits a byte, lowest first; the last byte of each is below 128."""
    ends = np.flatnonzero(data < 128)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise DataError("its numbers of blocks end within a number")
    starts = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(len(data)) - np.repeat(starts, ends - starts + 1)
    if place.max() > 4:
        raise DataError("a number of its blocks has more than five bytes")
    return np.add.reduceat((data & 127).astype(np.int64) << 7 * place, starts)


def _read_structure(content: bytes, names: _Colors) -> Blocks:
    tags = _nbt(content, names.limit)
    variants = tags.get("palettes")
    palette = [_field(entry, "Name") for entry in (variants[0] if variants else _field(tags, "palette"))]
    blocks = _field(tags, "blocks")
    cells = np.array([[int(axis) for axis in _field(block, "pos")] for block in blocks], np.int64)
    index = [int(_field(block, "state")) for block in blocks]
    return _by_palette(palette, index, cells.reshape(-1, 3), names)


def _read_litematic(content: bytes, names: _Colors) -> Blocks:
    cells, colors = [], []
    total = 0
    for name, region in _field(_nbt(content, names.limit), "Regions").items():
        size = [int(_field(_field(region, "Size"), axis)) for axis in "yzx"]
        edges = [abs(edge) for edge in size]
        volume = _check_volume(*edges)
        total += volume
        if total > MAX_CELLS:
            raise DataError(f"its regions have more than {MAX_CELLS:,} cells")
        palette = [_field(entry, "Name") for entry in _field(region, "BlockStatePalette")]
        words = np.asarray(_field(region, "BlockStates")).astype(np.int64).view(np.uint64)
        index = _unpacked(words, max(2, (len(palette) - 1).bit_length()), volume, name)
        corner = [int(_field(_field(region, "Position"), axis)) for axis in "yzx"]
        low = [at + min(0, edge + 1) for at, edge in zip(corner, size, strict=True)]
        y, z, x = np.unravel_index(np.arange(volume), edges)
        at = np.stack([x + low[2], y + low[0], z + low[1]], axis=1)
        region_cells, region_colors, _ = _by_palette(palette, index, at, names)
        cells.append(region_cells)
        colors.append(region_colors)
    return np.concatenate(cells), np.concatenate(colors), False


def _unpacked(words: npt.NDArray[np.uint64], bits: int, count: int, place: str) -> Ints:
    """Return numbers of some bits, which lie in 64-bit words one behind the other, lowest first."""
    if len(words) * 64 < bits * count:
        raise DataError(f"region {place!r} has {len(words)} words, too few for {count} blocks of {bits} bits")
    start = np.arange(count, dtype=np.uint64) * np.uint64(bits)
    word, offset = (start >> np.uint64(6)).astype(np.int64), start & np.uint64(63)
    following = np.append(words, np.uint64(0))[word + 1]
    # shifted twice: by 64 at once is undefined
    high = following << (np.uint64(63) - offset) << np.uint64(1)
    return ((words[word] >> offset | high) & np.uint64((1 << bits) - 1)).astype(np.int64)


# ------------------------------------------------------------------------------------------------ NumPy and JSON


def _read_npz(content: bytes, names: _Colors) -> Blocks:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        chosen = [name for name in ("target_grid", "grid", "blocks", "arr_0") if name in members]
        if len(members) != 1 and not chosen:
            raise DataError(
                f"it has the arrays {', '.join(members)!s:.200}, expected one, or one called 'grid'"
            )
        info = members[chosen[0] if chosen else next(iter(members))]
        if info.file_size > names.limit:
            raise DataError(too_large(info.filename, info.file_size, names.limit))
        return _read_npy(archive.read(info), names)


def _read_npy(content: bytes, names: _Colors) -> Blocks:
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if array.dtype.kind not in "iufb" or array.size > 4 * MAX_CELLS:
        raise DataError(
            f"it has dtype {array.dtype} and {array.size:,} numbers, expected numbers, fewer of them"
        )
    if array.ndim == 4 and array.shape[3] in (3, 4) and array.dtype == np.uint8:
        solid = array[..., 3] > 0 if array.shape[3] == 4 else array.any(axis=3)
        y, x, z = solid.nonzero()
        return np.stack([x, y, z], axis=1), array[solid][:, :3], False
    if array.ndim == 2 and array.shape[1] == 4:
        cells, kinds, in_place = array[:, :3], array[:, 3], False
    elif array.ndim == 3:
        y, x, z = array.nonzero()
        cells, kinds = np.stack([x, y, z], axis=1), array[array.nonzero()]
        in_place = array.shape == ZONE_SHAPE
    else:
        raise DataError(
            f"it has shape {array.shape} and dtype {array.dtype}, expected ids [y, x, z], blocks [n, 4], or uint8 "
            "colors [y, x, z, 3 or 4]"
        )
    good = (kinds >= 1) & (kinds <= 6) & (kinds == np.floor(kinds))
    if not good.all() or (cells != np.floor(cells)).any():
        raise DataError(f"it holds {kinds[~good][:1]}, expected color ids 0..6 and whole coordinates")
    return cells.astype(np.int64), GAME_COLORS[kinds.astype(np.int64) - 1], in_place


def _read_json(content: bytes, names: _Colors) -> Blocks:
    """Read blocks, boxes and lines: a list of blocks, or lists of them under "blocks", "boxes" and "lines".

    | entry | |
    |---|---|
    | `{"x": 0, "y": 0, "z": 0, "type": "red"}`, `[0, 0, 0, "red"]` | a block |
    | `{"from": [0, 0, 0], "to": [4, 0, 2], "type": "oak_planks"}` | a box or a line |

    `type` is a color, a Minecraft block, "#rrggbb", [r, g, b] or an id. Later entries replace earlier ones; "air"
    clears.
    """
    whole = parse_json(content, "its text")
    groups = {"blocks": whole} if isinstance(whole, list) else whole
    known = ("blocks", "boxes", "lines")
    if not isinstance(groups, Mapping) or not any(isinstance(groups.get(name), list) for name in known):
        raise DataError(
            'it has no list of blocks such as {"x": 0, "y": 0, "z": 0, "type": "red"}, expected one, or an object with '
            "'blocks', 'boxes' or 'lines'; iglu_marl.data.tasks_from_folder reads files of tasks, and StructureTasks "
            "those with 'structures'"
        )
    world: dict[tuple[int, ...], list[int] | None] = {}
    for group in known:
        for number, entry in enumerate(groups.get(group) or []):
            place = f"{group}[{number}]"
            start, end, kind = _json_entry(entry, place)
            color = names.of(kind, f"the type of {place}")
            cells = _line(start, end) if group == "lines" else _box(start, end)
            world.update((tuple(cell), color) for cell in cells.tolist())
            if len(world) > MAX_CELLS:
                raise DataError(f"{place}: it has more than {MAX_CELLS:,} blocks")
    solid = {cell: color for cell, color in world.items() if color is not None}
    return list(solid), list(solid.values()), False


def _json_entry(entry: Any, place: str) -> tuple[list[int], list[int], Any]:
    """Return both ends of a block, box or line, and its type."""
    start: Any = None
    end: Any = None
    kind: Any = None
    if isinstance(entry, list) and len(entry) == 4:
        start, kind = entry[:3], entry[3]
    elif isinstance(entry, Mapping):
        start = entry.get("from", [entry.get(axis) for axis in "xyz"])
        end, kind = entry.get("to"), entry.get("type")
    end = start if end is None else end
    for corner in (start, end):
        whole = isinstance(corner, list) and all(type(at) is int and abs(at) < 1e6 for at in corner)
        if not whole or len(corner) != 3:
            raise DataError(
                f"{place} is {entry!r:.100}, expected x, y, z and type, or from, to and type, with whole numbers"
            )
    return start, end, kind


def _box(start: list[int], end: list[int]) -> Ints:
    low, high = np.minimum(start, end), np.maximum(start, end)
    _check_volume(*(high - low + 1).tolist())
    axes = [np.arange(first, last + 1) for first, last in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _line(start: list[int], end: list[int]) -> Ints:
    steps = int(np.abs(np.subtract(end, start)).max())
    _check_volume(steps + 1)
    return np.round(np.linspace(start, end, steps + 1)).astype(np.int64)


Reader = Callable[[bytes, _Colors], Blocks]
READERS: dict[str, Reader] = {
    ".vox": _read_vox,
    ".schem": _read_schem,
    ".nbt": _read_structure,
    ".litematic": _read_litematic,
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".json": _read_json,
}
"""The reader of each ending."""


def is_structure_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file's ending is that of a structure from another program; .json is not among them."""
    return Path(path).suffix.lower() in READERS.keys() - {".json"}
