"""A writer of small GIFs: one palette for the whole film, and of each frame only the pixels that changed.

The palette depends on all frames, so the frames wait, compressed, in memory. The most frequent colours are kept
exactly, so flat areas do not flicker and compress well. The other entries minimise the largest colour error, so rare
bright colours survive. Nothing is dithered: noise would move and compress badly.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import GifImagePlugin, Image

from iglu_marl.rendering.renderer import Picture

Keys = npt.NDArray[np.uint32]  # colours as 0xRRGGBB

_COLORS = 255  # in the palette; the last of its 256 entries is transparent: as in the frame before
_SAME = 255
_FREQUENT = 64  # most frequent colours that are kept exactly
_MOST_COLORS = 1 << 17  # with more, the two lowest bits of each channel are dropped
_CHUNK = 1 << 14  # colours compared with the palette at once
_LONGEST = 0xFFFF  # hundredths of a second


def write_gif(path: str | os.PathLike[str], frames: Iterable[Picture], fps: float) -> None:
    """Write frames uint8[height, width, 3], all of one shape, as a GIF that repeats for ever.

    Delays are whole hundredths of a second, at least two (players slow down shorter ones); on average they match `fps`
    up to 50. Equal successive frames become one that is shown longer.
    """
    kept, colors, counts = _gather(frames)
    palette, table = _palette(colors, counts)
    size = kept[0][1][1], kept[0][1][0]
    with open(path, "wb") as file:
        file.write(_header(size, palette))
        shown: Picture | None = None
        for indices, delay in _timed(_indexed(kept, table), fps):
            for block in _frame_blocks(shown, indices, delay):
                file.write(block)
            shown = indices
        file.write(b";")


def _keys(frame: Picture) -> Keys:
    """Return the pixels as 0xRRGGBB, uint32[height, width]."""
    wide = frame.astype(np.uint32)
    keys: Keys = wide[..., 0] << np.uint32(16) | wide[..., 1] << np.uint32(8) | wide[..., 2]
    return keys


def _rgb(keys: Keys) -> npt.NDArray[np.uint8]:
    return np.stack([keys >> 16, keys >> 8 & 255, keys & 255], axis=-1).astype(np.uint8)


Kept = list[tuple[bytes, tuple[int, ...]]]


def _gather(frames: Iterable[Picture]) -> tuple[Kept, Keys, npt.NDArray[np.int64]]:
    """Return the compressed frames, the colours of all of them, and the number of pixels of each colour."""
    kept: Kept = []
    colors, counts = np.zeros(0, np.uint32), np.zeros(0, np.int64)
    for frame in frames:
        kept.append((zlib.compress(frame.tobytes(), 1), frame.shape))
        own, number = np.unique(_keys(frame), return_counts=True)
        merged, place = np.unique(np.concatenate([colors, own]), return_inverse=True)
        totals = np.zeros(len(merged), np.int64)
        np.add.at(totals, place, np.concatenate([counts, number]))
        colors, counts = merged, totals
    return kept, colors, counts


def _palette(
    colors: Keys, counts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the palette uint8[256, 3], and the palette index of every colour 0xRRGGBB, uint8[2^24]."""
    if len(colors) > _MOST_COLORS:
        coarse, place = np.unique(colors & 0xFCFCFC, return_inverse=True)
        chosen = _choose(coarse, np.bincount(place, counts))
        nearest = _nearest(coarse, chosen)[place]
    else:
        chosen = _choose(colors, counts)
        nearest = _nearest(colors, chosen)
    palette = np.zeros((256, 3), np.uint8)
    palette[: len(chosen)] = _rgb(chosen)
    table = np.zeros(1 << 24, np.uint8)
    table[colors] = nearest
    return palette, table


def _choose(colors: Keys, counts: npt.NDArray[Any]) -> Keys:
    """Return at most 255 colours: the most frequent ones, then repeatedly the one with the largest error."""
    if len(colors) <= _COLORS:
        return colors
    values, weights = _rgb(colors).astype(np.float32), np.sqrt(counts).astype(np.float32)
    picked = np.argsort(counts, kind="stable")[::-1][:_FREQUENT].tolist()
    distance = np.full(len(colors), np.inf, np.float32)
    for index in picked:
        np.minimum(distance, ((values - values[index]) ** 2).sum(axis=1), out=distance)
    while len(picked) < _COLORS:
        picked.append(int(np.argmax(distance * weights)))
        np.minimum(distance, ((values - values[picked[-1]]) ** 2).sum(axis=1), out=distance)
    return colors[picked]


def _nearest(colors: Keys, chosen: Keys) -> npt.NDArray[np.uint8]:
    """Return for each colour the index of the nearest chosen one."""
    aims = _rgb(chosen).astype(np.float32)
    found = np.zeros(len(colors), np.uint8)
    half = 0.5 * (aims**2).sum(axis=1)
    for start in range(0, len(colors), _CHUNK):
        part = _rgb(colors[start : start + _CHUNK]).astype(np.float32)
        found[start : start + _CHUNK] = np.argmax(part @ aims.T - half, axis=1)
    return found


def _indexed(kept: Kept, table: npt.NDArray[np.uint8]) -> Iterator[Picture]:
    for data, shape in kept:
        yield table[_keys(np.frombuffer(zlib.decompress(data), np.uint8).reshape(shape))]


def _timed(frames: Iterable[Picture], fps: float) -> Iterator[tuple[Picture, int]]:
    """Yield frames and their delays in hundredths of a second; equal successive frames become one."""
    step = max(100.0 / fps, 2.0)
    waiting: Picture | None = None
    begun = now = 0
    for number, frame in enumerate(frames, start=1):
        if waiting is None or not np.array_equal(frame, waiting):
            if waiting is not None:
                yield waiting, min(now - begun, _LONGEST)
            waiting, begun = frame, now
        now = round(number * step)
    if waiting is not None:
        yield waiting, min(now - begun, _LONGEST)


def _header(size: tuple[int, int], palette: npt.NDArray[np.uint8]) -> bytes:
    """Return the bytes before the first frame: size (width, height), palette, endless repetition."""
    screen = struct.pack("<6sHHBBB", b"GIF89a", *size, 0xF7, 0, 0)
    again = struct.pack("<BBB11sBBHB", 0x21, 0xFF, 11, b"NETSCAPE2.0", 3, 1, 0, 0)
    return screen + palette.tobytes() + again


def _frame_blocks(before: Picture | None, now: Picture, delay: int) -> list[bytes]:
    """Return the blocks of a frame: the box of pixels that differ from `before`, the others transparent."""
    options: dict[str, Any] = {"duration": 10 * delay, "disposal": 1}
    if before is None:
        return GifImagePlugin.getdata(_picture(now), **options)
    changed = before != now
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    box = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    part = np.where(changed[box], now[box], _SAME).astype(np.uint8)
    place = int(columns[0]), int(rows[0])
    return GifImagePlugin.getdata(_picture(part), place, transparency=_SAME, **options)


def _picture(indices: Picture) -> Image.Image:
    """Return an image whose pixels are these palette indices."""
    picture = Image.fromarray(np.ascontiguousarray(indices))
    picture.putpalette(bytes(range(256)) * 3)  # never written: the palette stands in the header
    return picture
