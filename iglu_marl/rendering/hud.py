"""The pieces that a window lays over its pictures: crosshair, inventory, compass, chat, cards, the line being typed.

Each is a picture uint8[height, width, 4] (red, green, blue, opacity), drawn once and kept: equal arguments give the
same array. `u` is the scale: 1 in a window of 960 × 600. No window is needed for any of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.rendering import palette
from iglu_marl.rendering.lettering import RGB, Color, width, wrapped, write
from iglu_marl.rendering.theme import BAR, DIM, GOOD, PAGE, SPEAKERS, TEXT, corners

Sprite = npt.NDArray[np.uint8]
Pairs = tuple[tuple[str, str], ...]

ACCENT: RGB = (255, 196, 61)
WARNING: RGB = (255, 122, 92)
OLDER: RGB = (176, 186, 206)  # utterances before the newest
GLASS = 0.8  # opacity of panels
_SHOWN = 12  # utterances that are looked at
_LONGEST = 600  # characters of one utterance that are shown
_POINTS = {0: "N", 45: "NE", 90: "E", 135: "SE", 180: "S", 225: "SW", 270: "W", 315: "NW"}


def _new(size: tuple[float, float]) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    picture = Image.new("RGBA", (max(1, round(size[0])), max(1, round(size[1]))), (*PAGE, 0))
    return picture, ImageDraw.Draw(picture)


def _panel(
    size: tuple[float, float], radius: float, opacity: float = GLASS, color: RGB = PAGE
) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """A plate of dark glass with round corners."""
    picture = Image.new("RGBA", (max(1, round(size[0])), max(1, round(size[1]))), (*color, 255))
    mask = corners(picture.size, max(1, round(radius)))
    picture.putalpha(mask.point(lambda value: round(value * opacity)))
    return picture, ImageDraw.Draw(picture)


def _done(picture: Image.Image) -> Sprite:
    sprite = np.asarray(picture).copy()
    sprite.setflags(write=False)
    return sprite


def block_color(color: int, shade: int = palette.SHADE_TOP) -> RGB:
    """The fill of a block's side, by colour id 1..6."""
    red, green, blue = palette.RGB[palette.block_index(color, shade, palette.FILL)].tolist()
    return red, green, blue


@lru_cache(maxsize=8)
def crosshair(u: float) -> Sprite:
    """A white cross with a dark edge, so that it shows on everything."""
    arm, thick, edge = max(5, round(11 * u)), max(1, round(1.2 * u)), max(1, round(1.1 * u))
    side = 2 * (arm + edge) + 1
    picture, draw = _new((side, side))
    middle = side // 2
    for color, grow in (((12, 14, 20, 150), edge), ((255, 255, 255, 235), 0)):
        for across in (False, True):
            a, b = arm + grow, thick // 2 + grow
            dx, dy = (a, b) if across else (b, a)
            draw.rectangle((middle - dx, middle - dy, middle + dx, middle + dy), fill=color)
    return _done(picture)


def _cube(draw: ImageDraw.ImageDraw, x: float, y: float, side: float, color: int) -> None:
    """A little block seen from a corner, its middle at (x, y)."""
    half, rise = 0.86 * side, 0.5 * side
    top = [(x, y - 2 * rise), (x + half, y - rise), (x, y), (x - half, y - rise)]
    left = [(x - half, y - rise), (x, y), (x, y + 2 * rise), (x - half, y + rise)]
    right = [(x + half, y - rise), (x, y), (x, y + 2 * rise), (x + half, y + rise)]
    for face, shade in (
        (top, palette.SHADE_TOP), (left, palette.SHADE_Z), (right, palette.SHADE_X),
    ):  # fmt: skip
        draw.polygon(face, fill=(*block_color(color, shade), 255))


@lru_cache(maxsize=128)
def hotbar(counts: tuple[int, ...] | None, active: int, u: float) -> Sprite:
    """Six slots with key, block and count; the active colour (1..6) is framed. None: counts unknown."""
    zoom = 2  # drawn larger, for smooth edges
    slot, gap, pad = 58 * u * zoom, 6 * u * zoom, 7 * u * zoom
    size = 6 * slot + 5 * gap + 2 * pad, slot + 2 * pad
    picture, _ = _panel(size, 12 * u * zoom)
    draw = ImageDraw.Draw(picture)
    for k in range(6):
        x, y = pad + k * (slot + gap), pad
        chosen = k + 1 == active
        box = (x, y, x + slot - 1, y + slot - 1)
        fill = (70, 80, 102, 235) if chosen else (44, 52, 69, 200)
        edge = (255, 255, 255, 255) if chosen else (70, 80, 100, 160)
        draw.rounded_rectangle(
            box, 8 * u * zoom, fill=fill, outline=edge, width=round((2.4 if chosen else 1) * u * zoom)
        )
        _cube(draw, x + 0.52 * slot, y + 0.44 * slot, 0.25 * slot, k + 1)
        write(draw, (x + 0.12 * slot, y + 0.17 * slot), str(k + 1), round(11 * u * zoom), (*DIM, 255))
        if counts is not None:
            color = WARNING if counts[k] == 0 else TEXT
            at = (x + 0.90 * slot, y + 0.85 * slot)
            write(draw, at, str(counts[k]), round(14 * u * zoom), (*color, 255), "r")
    return _done(picture.reduce(zoom))


@lru_cache(maxsize=720)
def compass(yaw_deg: int, u: float) -> Sprite:
    """A strip of the horizon with the compass points; the gaze is its middle. North is amber."""
    wide, high = 300 * u, 40 * u
    picture, draw = _panel((wide, high), 10 * u)
    per_degree = wide / 150
    for mark in range(0, 360, 15):
        off = (mark - yaw_deg + 180) % 360 - 180
        if abs(off) > 66:
            continue
        fade = 1.0 - max(0.0, abs(off) - 45) / 24
        x = wide / 2 + off * per_degree
        if mark in _POINTS:
            color = ACCENT if mark == 0 else TEXT if mark % 90 == 0 else DIM
            size = round((16 if mark % 90 == 0 else 11.5) * u)
            write(draw, (x, high * 0.43), _POINTS[mark], size, (*color, round(255 * fade)), "m")
        else:
            half = 4 * u
            draw.line(
                (x, high * 0.43 - half, x, high * 0.43 + half), (*DIM, round(170 * fade)), round(u) or 1
            )
    mid, tip = wide / 2, high - 4 * u
    draw.polygon([(mid, tip - 6 * u), (mid - 5 * u, tip), (mid + 5 * u, tip)], fill=(255, 255, 255, 230))
    return _done(picture)


def _name(speaker: str) -> tuple[str, RGB]:
    name = str(speaker).lower()
    return name.capitalize()[:12], SPEAKERS.get(name, DIM)


def chat(dialogue: Sequence[tuple[str, str]], wide: int, high: int, u: float) -> Sprite:
    """The latest utterances (speaker, text) that fit into a box; the newest stands out. Empty: one line says so."""
    latest = tuple((str(speaker), str(text)[:_LONGEST]) for speaker, text in list(dialogue)[-_SHOWN:])
    return _chat(latest, wide, high, u)


@lru_cache(maxsize=64)
def _chat(dialogue: Pairs, wide: int, high: int, u: float) -> Sprite:
    pad, pixels, name_pixels = round(11 * u), round(15 * u), round(11.5 * u)
    step, name_step, gap = 20 * u, 16 * u, 7 * u
    room = float(high - 2 * pad)
    shown: list[tuple[str, tuple[str, ...]]] = []
    for speaker, text in reversed(dialogue):
        lines = wrapped(text, pixels, wide - 2 * pad - round(8 * u))
        need = name_step + len(lines) * step + (gap if shown else 0)
        if need > room:
            if not shown:  # a long one: its beginning
                fits = max(1, int((room - name_step) / step))
                shown.append((speaker, (*lines[: fits - 1], lines[fits - 1] + " …")))
                room = 0.0
            break
        shown.append((speaker, lines))
        room -= need
    used = high - room if shown else 2 * pad + name_step
    picture, draw = _panel((wide, used), 10 * u)
    y = float(pad)
    if not shown:
        write(draw, (pad, y + name_step / 2), "Nothing has been said yet.", name_pixels, (*DIM, 255))
    for number, (speaker, lines) in enumerate(reversed(shown)):
        name, color = _name(speaker)
        bright = number == len(shown) - 1
        tall = name_step + len(lines) * step
        draw.rounded_rectangle((pad, y + 2 * u, pad + 2.6 * u, y + tall - 2 * u), 1, fill=(*color, 255))
        write(draw, (pad + 9 * u, y + name_step / 2), name, name_pixels, (*color, 255))
        y += name_step
        for line in lines:
            write(draw, (pad + 9 * u, y + step / 2), line, pixels, (*(TEXT if bright else OLDER), 255))
            y += step
        y += gap
    return _done(picture)


@lru_cache(maxsize=256)
def facts(pairs: Pairs, u: float) -> Sprite:
    """A plate with names and values in one line: "turn 3   step 120"."""
    pixels, pad, gap = round(14 * u), 12 * u, 16 * u
    wide = 2 * pad + gap * max(0, len(pairs) - 1)
    wide += sum(width(name, pixels) + 6 * u + width(value, pixels) for name, value in pairs)
    picture, draw = _panel((wide, 30 * u), 9 * u)
    x = pad
    for name, value in pairs:
        write(draw, (x, 15 * u), name, pixels, (*DIM, 255))
        x += width(name, pixels) + 6 * u
        write(draw, (x, 15 * u), value, pixels, (*TEXT, 255))
        x += width(value, pixels) + gap
    return _done(picture)


@lru_cache(maxsize=128)
def progress(score: int, goal: int, done: bool, u: float) -> Sprite:
    """A bar with "score / goal"; green when done."""
    wide, high, bar = 250 * u, 30 * u, 158 * u
    picture, draw = _panel((wide, high), 9 * u)
    x, middle, half = 12 * u, high / 2, 5 * u
    draw.rounded_rectangle((x, middle - half, x + bar, middle + half), half, fill=(*BAR, 255))
    share = min(max(score / goal, 0.0), 1.0) if goal else 0.0
    if share:
        end = max(x + share * bar, x + 2 * half)
        draw.rounded_rectangle((x, middle - half, end, middle + half), half, fill=(*GOOD, 255))
    write(draw, (wide - 12 * u, middle), f"{score} / {goal}", round(15 * u), GOOD if done else TEXT, "r")
    return _done(picture)


@lru_cache(maxsize=64)
def entry(text: str, cursor: int, prompt: str, wide: int, u: float, caret: bool = True) -> Sprite:
    """The line that is being typed, scrolled so that the cursor is seen; `prompt` stands dim in an empty one."""
    high, pad, pixels = 38 * u, 13 * u, round(16 * u)
    picture, draw = _panel((wide, high), 9 * u, 0.9)
    draw.rounded_rectangle(
        (0, 0, picture.width - 1, picture.height - 1),
        9 * u,
        outline=(*ACCENT, 220),
        width=max(1, round(1.6 * u)),
    )
    room = wide - 2 * pad
    inner, pen = _new((room, high))
    before = width(text[:cursor], pixels)
    shift = min(0.0, room - 3 * u - before)
    if text:
        write(pen, (shift, high / 2), text, pixels, (*TEXT, 255))
    else:
        write(pen, (6 * u, high / 2), prompt, pixels, (*DIM, 255))
    if caret:
        x, thick = round(before + shift + u), max(1, round(1.6 * u))
        pen.rectangle((x, high * 0.24, x + thick - 1, high * 0.76), fill=(*ACCENT, 255))
    picture.alpha_composite(inner, (round(pad), 0))
    return _done(picture)


@lru_cache(maxsize=64)
def note(text: str, u: float, color: Color = TEXT, opacity: float = GLASS) -> Sprite:
    """One line on a plate."""
    pixels = round(14 * u)
    picture, draw = _panel((width(text, pixels) + 24 * u, 30 * u), 9 * u, opacity)
    write(draw, (picture.width / 2, picture.height / 2), text, pixels, color, "m")
    return _done(picture)


@lru_cache(maxsize=16)
def hint(pairs: Pairs, u: float) -> Sprite:
    """Keys and what they do, small, in one line."""
    pixels, gap = round(12.5 * u), 15 * u
    wide = 10 * u + gap * max(0, len(pairs) - 1)
    wide += sum(width(key, pixels) + 17 * u + width(name, pixels) for key, name in pairs)
    picture, draw = _panel((wide + 10 * u, 28 * u), 9 * u, 0.55)
    x = 10 * u
    for key, name in pairs:
        tall = 9 * u
        end = x + width(key, pixels) + 10 * u
        draw.rounded_rectangle((x, 14 * u - tall, end, 14 * u + tall), 4 * u, fill=(66, 76, 98, 255))
        write(draw, ((x + end) / 2, 14 * u), key, pixels, (*TEXT, 255), "m")
        x = end + 7 * u
        write(draw, (x, 14 * u), name, pixels, (*TEXT, 225))
        x += width(name, pixels) + gap
    return _done(picture)


@lru_cache(maxsize=32)
def card(title: str, rows: Pairs, foot: str, u: float) -> Sprite:
    """A card for the middle of the window, with keys and their meanings: help, or a menu."""
    pixels, step, pad = round(15 * u), 27 * u, 26 * u
    left = max((width(key, pixels) for key, _ in rows), default=0.0)
    right = max((width(text, pixels) for _, text in rows), default=0.0)
    gap = 26 * u if left and right else 0.0
    wide = (
        max(left + gap + right, width(title, round(21 * u)), width(foot, round(12.5 * u)), 220 * u) + 2 * pad
    )
    high = 2 * pad + 40 * u + len(rows) * step + (26 * u if foot else 0)
    picture, draw = _panel((wide, high), 14 * u, 0.94)
    write(draw, (pad, pad + 8 * u), title, round(21 * u), (*TEXT, 255))
    y = pad + 44 * u
    for key, text in rows:
        write(draw, (pad, y), key, pixels, (*ACCENT, 255))
        write(draw, (pad + left + gap, y), text, pixels, (*TEXT, 255))
        y += step
    if foot:
        write(draw, (pad, high - pad - 2 * u), foot, round(12.5 * u), (*DIM, 255))
    return _done(picture)


@lru_cache(maxsize=8)
def shade(wide: int, high: int, opacity: float) -> Sprite:
    """A veil over the whole picture."""
    return _done(Image.new("RGBA", (wide, high), (*PAGE, round(255 * opacity))))


def framed(picture: npt.NDArray[Any], title: str, u: float) -> Sprite:
    """A picture uint8[height, width, 3] as a panel with round corners and its name in a corner."""
    image = Image.fromarray(np.ascontiguousarray(picture)).convert("RGBA")
    image.putalpha(corners(image.size, max(1, round(10 * u))))
    if title:
        label = Image.fromarray(note(title, 0.86 * u, opacity=0.62))
        if label.width + 12 * u < image.width:
            image.alpha_composite(label, (round(8 * u), round(8 * u)))
    return _done(image)


__all__ = [
    "card", "chat", "compass", "crosshair", "entry", "facts", "framed", "hint", "hotbar", "note", "progress",
    "shade",
]  # fmt: skip
