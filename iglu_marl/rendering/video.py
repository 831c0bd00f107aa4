"""Writers for PNG pictures and GIF or MP4 videos. A failed write leaves no file, and an older one unchanged."""

from __future__ import annotations

import math
import os
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from PIL import Image

from iglu_marl.core.errors import RenderError
from iglu_marl.core.extras import extra
from iglu_marl.core.files import atomic_write
from iglu_marl.rendering.renderer import Picture, check_picture

_SAMPLED = 1 << 15  # pixels of a frame that the palette of a GIF is chosen by, about


def write_png(path: str | os.PathLike[str], frame: Picture) -> Path:
    """Write a frame uint8[height, width, 3] as PNG, and return the path.

    Raises `RenderError` if the suffix is not .png, the array is no picture, or the file cannot be written.
    """
    picture = check_picture(frame, "frame")
    final = checked_name(path, ".png")
    with atomic_write(final, RenderError) as temporary:
        Image.fromarray(picture).save(temporary, format="PNG", optimize=True)
    return final


def write_video(path: str | os.PathLike[str], frames: Iterable[Picture], fps: float = 10.0) -> Path:
    """Write frames uint8[height, width, 3] as .gif or .mp4 (by the suffix), and return the path.

    MP4 frames are written as they arrive. A GIF is written after the last frame, and plays at most 50 frames a second.
    MP4 needs even sides, so the last row or column is doubled where they are odd. Raises `RenderError` if the suffix is
    another one, there are no frames, their shapes differ, or the file cannot be written.

    Args:
        path: file name, ending with .gif or .mp4.
        frames: all of one shape; may be a generator.
        fps: frames a second.

    """
    if not 0 < fps <= 1000:
        raise RenderError(f"fps is {fps!r}, expected a number above 0, at most 1000")
    final = checked_name(path, ".gif", ".mp4")
    with atomic_write(final, RenderError) as temporary:
        write = _write_gif if final.suffix.lower() == ".gif" else _write_mp4
        write(temporary, _alike(frames), fps)
    return final


def _alike(frames: Iterable[Picture]) -> Iterator[Picture]:
    shape = None
    for number, frame in enumerate(frames):
        array = check_picture(frame, f"frame {number}")
        shape = shape or array.shape
        if array.shape != shape:
            raise RenderError(f"frame {number} has shape {array.shape}, expected {shape} as the first one")
        yield array
    if shape is None:
        raise RenderError("no frames to write")


def checked_name(path: str | os.PathLike[str], *suffixes: str) -> Path:
    """Return the path of a file to write; raise `RenderError` for another suffix or a missing folder."""
    final = Path(path)
    if final.suffix.lower() not in suffixes:
        raise RenderError(f"file {final.name!r} ends with {final.suffix!r}, expected {' or '.join(suffixes)}")
    if not final.parent.is_dir():
        raise RenderError(f"folder {str(final.parent)!r} for {final.name!r} does not exist")
    return final


def _write_gif(path: Path, frames: Iterator[Picture], fps: float) -> None:
    """Write a GIF that repeats for ever, with one palette for the whole film, so that flat areas do not flicker.

    The palette depends on all frames, so they wait, compressed, in memory. Nothing is dithered: noise would move.
    """
    kept, samples = [], []
    seen = np.zeros(1 << 24, np.bool_)  # by 0xRRGGBB
    for frame in frames:
        keys = frame @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        seen[keys] = True
        stride = max(1, math.isqrt(keys.size // _SAMPLED))
        samples.append(frame[::stride, ::stride].reshape(1, -1, 3))
        kept.append(zlib.compress(keys.tobytes(), 1))
    colors = np.flatnonzero(seen)
    values = (colors[:, None] >> (16, 8, 0) & 255).astype(np.float32)
    palette = values
    if len(colors) > 255:  # Pillow needs one of 256 entries for pixels that stay as they are
        chosen = Image.fromarray(np.concatenate(samples, axis=1)).quantize(255, Image.Quantize.MEDIANCUT, 1)
        palette = np.array(chosen.getpalette(), np.float32).reshape(-1, 3)[:255]
    nearest = np.zeros(len(seen), np.uint8)
    for part in np.array_split(np.arange(len(colors)), 1 + (len(colors) >> 14)):
        nearest[colors[part]] = np.argmax(values[part] @ palette.T - 0.5 * (palette**2).sum(axis=1), axis=1)

    def indexed(data: bytes) -> Image.Image:
        image = Image.fromarray(nearest[np.frombuffer(zlib.decompress(data), np.uint32).reshape(keys.shape)])
        image.putpalette(palette.astype(np.uint8).tobytes())
        return image

    pictures = map(indexed, kept)
    # Whole hundredths of a second, at least two: players slow down shorter ones.
    hundredths = np.diff(np.rint(np.arange(len(kept) + 1) * max(100.0 / fps, 2.0)))
    delays = (10 * hundredths).astype(int).tolist()
    next(pictures).save(
        path, "GIF", save_all=True, append_images=pictures, duration=delays, loop=0, disposal=1, optimize=True
    )


def _write_mp4(path: Path, frames: Iterator[Picture], fps: float) -> None:
    """Write frames with ffmpeg; raise `OSError` with its message if it fails."""
    with extra("video"):
        import imageio_ffmpeg

    try:
        program = imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise RenderError(f"no ffmpeg to write {path.suffix} with ({error}); write a .gif instead") from error
    first = next(frames)
    height, width = (side + side % 2 for side in first.shape[:2])
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:.9g}", "-i", "-"]
    wanted = ["-c:v", "libx264", "-crf", "10", "-pix_fmt", "yuv420p", f"file:{path}"]
    command = [program, "-y", "-v", "error", *given, *wanted]
    ffmpeg = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ffmpeg.stdin is not None
    try:
        for frame in chain([first], frames):
            odd = ((0, frame.shape[0] % 2), (0, frame.shape[1] % 2), (0, 0))
            ffmpeg.stdin.write(np.pad(frame, odd, mode="edge").data)
    except BrokenPipeError:
        pass  # ffmpeg has ended; its message follows
    except BaseException:
        ffmpeg.kill()
        raise
    finally:
        complaint = ffmpeg.communicate()[1].decode("utf-8", "replace").partition("\n")[0].strip()
    if complaint or ffmpeg.returncode:
        raise OSError(f"ffmpeg ended with {ffmpeg.returncode}: {complaint or 'no message'}")
