"""A writer of small GIFs: one palette for the whole film, and of each frame only the pixels that changed.

The palette depends on all frames, so the frames wait, compressed, in memory. The most frequent colours are kept
exactly, so flat areas do not flicker and compress well. The other entries minimise the largest colour error, so rare
bright colours survive. Nothing is dithered: noise would move and compress badly.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from PIL import Image

from iglu_marl.rendering.renderer import Picture

_COLORS = 255  # in the palette; Pillow needs one entry more, for pixels that stay as they are
_FREQUENT = 64  # most frequent colours that are kept exactly
_SAMPLED = 1 << 15  # pixels of a frame that the palette is chosen by, about
_LONGEST = 0xFFFF  # hundredths of a second
_KEY = np.array([1 << 16, 1 << 8, 1], np.uint32)  # a colour times this is 0xRRGGBB
_CHUNK = 1 << 14  # colours compared with the palette at once


def write_gif(path: str | os.PathLike[str], frames: Iterable[Picture], fps: float) -> None:
    """Write frames uint8[height, width, 3], all of one shape, as a GIF that repeats for ever.

    Delays are whole hundredths of a second, at least two (players slow down shorter ones); on average they match `fps`
    up to 50. Equal successive frames become one that is shown longer.
    """
    kept: list[bytes] = []
    samples, starts = [], []
    shape: tuple[int, ...] = ()
    count = 0
    for count, frame in enumerate(frames, start=1):
        shape, data = frame.shape, zlib.compress(frame.tobytes(), 1)
        if kept and data == kept[-1]:
            continue
        kept.append(data)
        starts.append(count - 1)
        stride = max(1, math.isqrt(shape[0] * shape[1] // _SAMPLED))
        samples.append(frame[::stride, ::stride].reshape(-1, 3))
    pictures = _indexed(kept, shape, _chosen(np.concatenate(samples)))
    hundredths = np.diff(np.rint(np.array([*starts, count]) * max(100.0 / fps, 2.0)))
    next(pictures).save(
        path,
        "GIF",
        save_all=True,
        append_images=pictures,
        duration=(10 * np.minimum(hundredths, _LONGEST)).astype(int).tolist(),
        loop=0,
        disposal=1,
        optimize=True,
    )


def _chosen(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return at most 255 colours [n, 3]: the most frequent ones, then repeatedly the one with the largest error."""
    _, first, counts = np.unique(pixels @ _KEY, return_index=True, return_counts=True)
    colors, weights = pixels[first], np.sqrt(counts).astype(np.float32)
    values = colors.astype(np.float32)
    picked = np.argsort(counts, kind="stable")[::-1][:_FREQUENT].tolist()
    errors = np.full(len(colors), np.inf, np.float32)
    for index in picked:
        np.minimum(errors, ((values - values[index]) ** 2).sum(axis=1), out=errors)
    while len(picked) < min(_COLORS, len(colors)):
        picked.append(int(np.argmax(errors * weights)))
        np.minimum(errors, ((values - values[picked[-1]]) ** 2).sum(axis=1), out=errors)
    return colors[picked]


def _indexed(
    kept: list[bytes], shape: tuple[int, ...], palette: npt.NDArray[np.uint8]
) -> Iterator[Image.Image]:
    """Yield the frames with each pixel as the index of the nearest colour of the palette."""
    table = np.full(1 << 24, _COLORS, np.uint8)  # by 0xRRGGBB; those not seen yet have no index
    aims = palette.astype(np.float32)
    half = 0.5 * (aims**2).sum(axis=1)
    for data in kept:
        frame = np.frombuffer(zlib.decompress(data), np.uint8).reshape(shape)
        keys = frame @ _KEY
        new, first = np.unique(keys[table[keys] == _COLORS], return_index=True)
        values = frame[table[keys] == _COLORS][first].astype(np.float32)
        for start in range(0, len(new), _CHUNK):
            part = slice(start, start + _CHUNK)
            table[new[part]] = np.argmax(values[part] @ aims.T - half, axis=1)
        picture = Image.fromarray(table[keys])
        picture.putpalette(palette.tobytes())
        yield picture
