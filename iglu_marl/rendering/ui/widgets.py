"""The parts of a screen: crosshair, inventory, compass, chat, facts, cards, the text line, framed pictures.

Each is a picture uint8[height, width, 4] (red, green, blue, opacity). Pictures are cached: equal arguments give the
same array. `u` is the scale: 1 in a window of 960 × 600. No widget needs a window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import numpy as np
from PIL import Image, ImageDraw

from iglu_marl.rendering import colors
from iglu_marl.rendering.colors import DIM, PAGE, TEXT
from iglu_marl.rendering.palette import SHADE_TOP, SHADE_X, SHADE_Z, block_color
from iglu_marl.rendering.renderer import Picture
from iglu_marl.rendering.text import TextColor, cut, draw_text, width, wrap_text

Pairs = tuple[tuple[str, str], ...]
Drawing = tuple[Image.Image, ImageDraw.ImageDraw]
P = ParamSpec("P")

SHOWN_UTTERANCES, SHOWN_CHARACTERS = 12, 600  # of a dialogue, and of one utterance
_GLASS = 0.8  # opacity of plates
_NAMES_BESIDE = 420  # times u: from this width on, speakers' names stand in a column of their own
_POINTS = {0: "N", 45: "NE", 90: "E", 135: "SE", 180: "S", 225: "SW", 270: "W", 315: "NW"}


def kept(count: int) -> Callable[[Callable[P, Image.Image]], Callable[P, Picture]]:
    """Cache the last `count` pictures of a drawing function, as read-only arrays; arguments may be arrays."""

    def decorate(draw: Callable[P, Image.Image]) -> Callable[P, Picture]:
        pictures: dict[Any, Picture] = {}  # in the order of their use

        @wraps(draw)
        def widget(*args: P.args, **kwargs: P.kwargs) -> Picture:
            named = (*args, *kwargs, *kwargs.values())
            key = tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in named)
            picture = pictures.pop(key, None)
            if picture is None:
                picture = np.array(draw(*args, **kwargs))
                picture.setflags(write=False)
            pictures[key] = picture
            if len(pictures) > count:
                pictures.pop(next(iter(pictures)), None)
            return picture

        return widget

    return decorate


@lru_cache(maxsize=16)
def rounded_mask(size: tuple[int, int], radius: int) -> Image.Image:
    """Return a smooth mask of a rectangle (width, height) with round corners."""
    wide, high = 4 * size[0], 4 * size[1]
    mask = Image.new("L", (wide, high))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, wide - 1, high - 1), 4 * radius, fill=255)
    return mask.reduce(4)


def _blank(size: tuple[float, float], color: TextColor = (*PAGE, 0)) -> Drawing:
    picture = Image.new("RGBA", (max(1, round(size[0])), max(1, round(size[1]))), color)
    return picture, ImageDraw.Draw(picture)


def _plate(size: tuple[float, float], radius: float, opacity: float = _GLASS) -> Drawing:
    """Return a dark translucent rectangle with round corners."""
    picture, draw = _blank(size, PAGE)
    mask = rounded_mask(picture.size, max(1, round(radius)))
    picture.putalpha(mask.point(lambda value: round(value * opacity)))
    return picture, draw


@kept(8)
def crosshair(u: float) -> Image.Image:
    """Draw a white cross with a dark edge, visible on every background."""
    arm, thick, edge = max(5, round(11 * u)), max(1, round(1.2 * u)), max(1, round(1.1 * u))
    middle = arm + edge
    picture, draw = _blank((2 * middle + 1, 2 * middle + 1))
    for color, grow in (((12, 14, 20, 150), edge), ((255, 255, 255, 235), 0)):
        a, b = arm + grow, thick // 2 + grow
        for dx, dy in ((a, b), (b, a)):
            draw.rectangle((middle - dx, middle - dy, middle + dx, middle + dy), fill=color)
    return picture


def _cube(draw: ImageDraw.ImageDraw, x: float, y: float, side: float, color: int) -> None:
    half, rise = 0.86 * side, 0.5 * side
    far, west, east = (x, y - 2 * rise), (x - half, y - rise), (x + half, y - rise)
    low, low_west, low_east = (x, y + 2 * rise), (x - half, y + rise), (x + half, y + rise)
    for face, shade in (
        ((far, east, (x, y), west), SHADE_TOP),
        ((west, (x, y), low, low_west), SHADE_Z),
        ((east, (x, y), low, low_east), SHADE_X),
    ):
        draw.polygon(face, fill=block_color(color, shade))


@kept(128)
def hotbar(counts: tuple[int, ...] | None, active: int, u: float) -> Image.Image:
    """Draw six slots with key, block and count; the active colour (1..6) is framed. None: counts unknown."""
    v = 2 * u  # drawn larger, for smooth edges
    slot, gap, pad = 58 * v, 6 * v, 7 * v
    picture, _ = _plate((6 * slot + 5 * gap + 2 * pad, slot + 2 * pad), 12 * v)
    draw = ImageDraw.Draw(picture)
    for k in range(6):
        x, y = pad + k * (slot + gap), pad
        chosen = k + 1 == active
        fill, edge, line = (
            ((70, 80, 102, 235), (255, 255, 255), 2.4)
            if chosen
            else ((44, 52, 69, 200), (70, 80, 100, 160), 1.0)
        )
        draw.rounded_rectangle((x, y, x + slot - 1, y + slot - 1), 8 * v, fill, edge, round(line * v))
        _cube(draw, x + 0.52 * slot, y + 0.44 * slot, 0.25 * slot, k + 1)
        draw_text(draw, (x + 0.12 * slot, y + 0.17 * slot), str(k + 1), round(11 * v), DIM)
        if counts is not None:
            color = colors.WARNING if counts[k] == 0 else TEXT
            draw_text(draw, (x + 0.90 * slot, y + 0.85 * slot), str(counts[k]), round(14 * v), color, "r")
    return picture.reduce(2)


@kept(720)
def compass(yaw_deg: int, u: float) -> Image.Image:
    """Draw a strip of the horizon with the compass points; its middle is the line of sight. North is amber."""
    wide, high = 300 * u, 40 * u
    picture, draw = _plate((wide, high), 10 * u)
    line = high * 0.43
    for mark in range(0, 360, 15):
        off = (mark - yaw_deg + 180) % 360 - 180
        if abs(off) > 66:
            continue
        fade = 1.0 - max(0.0, abs(off) - 45) / 24
        x = wide / 2 + off * wide / 150
        if mark in _POINTS:
            color = colors.ACCENT if mark == 0 else TEXT if mark % 90 == 0 else DIM
            size = round((16 if mark % 90 == 0 else 11.5) * u)
            draw_text(draw, (x, line), _POINTS[mark], size, (*color, round(255 * fade)), "m")
        else:
            draw.line((x, line - 4 * u, x, line + 4 * u), (*DIM, round(170 * fade)), round(u) or 1)
    mid, tip = wide / 2, high - 4 * u
    draw.polygon([(mid, tip - 6 * u), (mid - 5 * u, tip), (mid + 5 * u, tip)], fill=(255, 255, 255, 230))
    return picture


def chat(dialogue: Iterable[tuple[str, str]], wide: int, high: int, u: float) -> Picture:
    """Return the latest utterances (speaker, text) that fit into a box; the newest is brighter."""
    latest = list(dialogue)[-SHOWN_UTTERANCES:]
    return _chat(tuple((str(name), str(text)[:SHOWN_CHARACTERS]) for name, text in latest), wide, high, u)


@kept(64)
def _chat(dialogue: Pairs, wide: int, high: int, u: float) -> Image.Image:
    pad, pixels, name_pixels = round(11 * u), round(15 * u), round(11.5 * u)
    beside = wide >= _NAMES_BESIDE * u
    indent, name_step, step, gap = pad + (92 if beside else 9) * u, 0.0 if beside else 16 * u, 20 * u, 7 * u
    room = float(high - 2 * pad)
    shown: list[tuple[str, tuple[str, ...]]] = []  # the newest first
    for speaker, text in reversed(dialogue):
        lines = wrap_text(text, pixels, max(1, round(wide - pad - indent)))
        need = name_step + len(lines) * step + (gap if shown else 0)
        if need > room:
            if shown:
                break
            fits = max(1, int((room - name_step) / step))  # a long one: its beginning
            lines, need = (*lines[: fits - 1], lines[fits - 1] + " …"), room
        shown.append((speaker, lines))
        room -= need
    picture, draw = _plate((wide, high - room if shown else 2 * pad + 16 * u), 10 * u)
    y = float(pad)
    if not shown:
        draw_text(draw, (pad, y + 8 * u), "Nothing has been said yet.", name_pixels, DIM)
    for age, (speaker, lines) in reversed(list(enumerate(shown))):
        color = colors.SPEAKERS.get(speaker.lower().partition(" ")[0], DIM)
        tall = name_step + len(lines) * step
        draw.rounded_rectangle((pad, y + 2 * u, pad + 2.6 * u, y + tall - 2 * u), 1, fill=color)
        name = cut(speaker.capitalize()[:12], name_pixels, 84 * u)
        draw_text(draw, (pad + 9 * u, y + (name_step or step) / 2), name, name_pixels, color)
        for number, line in enumerate(lines):
            place = indent, y + name_step + (number + 0.5) * step
            draw_text(draw, place, line, pixels, colors.OLDER if age else TEXT)
        y += tall + gap
    return picture


@kept(256)
def facts(pairs: Pairs, u: float) -> Image.Image:
    """Draw names and values in one line: "turn 3   step 120". A speaker's name has the speaker's colour."""
    pixels, pad, gap = round(14 * u), 12 * u, 16 * u
    wide = sum(width(name, pixels) + 6 * u + width(value, pixels) + gap for name, value in pairs)
    picture, draw = _plate((2 * pad - gap + wide, 30 * u), 9 * u)
    x = pad
    for name, value in pairs:
        draw_text(draw, (x, 15 * u), name, pixels, DIM)
        x += width(name, pixels) + 6 * u
        draw_text(draw, (x, 15 * u), value, pixels, colors.SPEAKERS.get(value, TEXT))
        x += width(value, pixels) + gap
    return picture


@kept(128)
def score_bar(score: float, goal: float, done: bool, u: float) -> Image.Image:
    """Draw a bar with "score / goal"; green when done."""
    wide, high = 250 * u, 30 * u
    picture, draw = _plate((wide, high), 9 * u)
    share = min(max(score / goal, 0.0), 1.0) if goal else 0.0
    for length, color in (
        (158 * u, colors.BAR),
        (max(share * 158 * u, 10 * u) if share else 0.0, colors.GOOD),
    ):
        if length:
            draw.rounded_rectangle(
                (12 * u, high / 2 - 5 * u, 12 * u + length, high / 2 + 5 * u), 5 * u, fill=color
            )
    text = f"{score:g} / {goal:g}"
    draw_text(draw, (wide - 12 * u, high / 2), text, round(15 * u), colors.GOOD if done else TEXT, "r")
    return picture


@kept(64)
def entry(text: str, cursor: int, wide: int, u: float, caret: bool = True) -> Image.Image:
    """Draw the text line, scrolled to the cursor."""
    high, pad, pixels, line = 38 * u, 13 * u, round(16 * u), max(1, round(1.6 * u))
    picture, draw = _plate((wide, high), 9 * u, 0.9)
    draw.rounded_rectangle(
        (0, 0, picture.width - 1, picture.height - 1), 9 * u, outline=(*colors.ACCENT, 220), width=line
    )
    room = wide - 2 * pad
    inner, pen = _blank((room, high))
    before = width(text[:cursor], pixels)
    shift = min(0.0, room - 3 * u - before)
    draw_text(pen, (shift, high / 2), text, pixels, TEXT)
    if caret:
        x = round(before + shift + u)
        pen.rectangle((x, high * 0.24, x + line - 1, high * 0.76), fill=colors.ACCENT)
    picture.alpha_composite(inner, (round(pad), 0))
    return picture


@kept(64)
def message(text: str, u: float, opacity: float = _GLASS) -> Image.Image:
    """Draw one line on a plate."""
    pixels = round(14 * u)
    picture, draw = _plate((width(text, pixels) + 24 * u, 30 * u), 9 * u, opacity)
    draw_text(draw, (picture.width / 2, picture.height / 2), text, pixels, TEXT, "m")
    return picture


@kept(64)
def title_line(text: str, room: int, u: float) -> Image.Image:
    """Draw a line of larger letters, truncated to `room` pixels."""
    pixels = round(19 * u)
    line = cut(" ".join(text.split())[:SHOWN_CHARACTERS], pixels, room)
    picture, draw = _blank((width(line, pixels), 30 * u))
    draw_text(draw, (0, 15 * u), line, pixels, TEXT)
    return picture


@kept(8)
def legend(u: float) -> Image.Image:
    """Draw the meaning of translucent and framed blocks."""
    pixels, side = round(11.5 * u), round(9 * u)
    entries = (("missing", (104, 113, 131), None), ("not in the target", PAGE, colors.REMOVED))
    wide = sum(width(text, pixels) + 28 * u for text, _, _ in entries)
    picture, draw = _plate((wide + 4 * u, 24 * u), 9 * u, 0.62)
    x = 10 * u
    for text, fill, outline in entries:
        box = (x, 12 * u - side / 2, x + side, 12 * u + side / 2)
        draw.rectangle(box, fill=fill, outline=outline, width=max(1, round(2 * u)))
        draw_text(draw, (x + 14 * u, 12 * u), text, pixels, DIM)
        x += width(text, pixels) + 28 * u
    return picture


@kept(16)
def key_hints(pairs: Pairs, u: float) -> Image.Image:
    """Draw keys and what they do, small, in one line."""
    pixels, gap, middle, half = round(12.5 * u), 15 * u, 14 * u, 9 * u
    wide = sum(width(key, pixels) + 17 * u + width(name, pixels) + gap for key, name in pairs)
    picture, draw = _plate((20 * u - gap + wide, 28 * u), 9 * u, 0.55)
    x = 10 * u
    for key, name in pairs:
        end = x + width(key, pixels) + 10 * u
        draw.rounded_rectangle((x, middle - half, end, middle + half), 4 * u, fill=(66, 76, 98))
        draw_text(draw, ((x + end) / 2, middle), key, pixels, TEXT, "m")
        x = end + 7 * u
        draw_text(draw, (x, middle), name, pixels, (*TEXT, 225))
        x += width(name, pixels) + gap
    return picture


def framed(picture: Picture, title: str, u: float, aside: Picture | None = None) -> Image.Image:
    """Return a picture as a panel with round corners, its title at the left, a widget at the right if there is room."""
    image = Image.fromarray(picture).convert("RGBA")
    image.putalpha(rounded_mask(image.size, max(1, round(10 * u))))
    left, gap = 0, round(8 * u)
    label = message(title, 0.86 * u, 0.62)
    if left + label.shape[1] + 2 * gap < image.width:
        image.alpha_composite(Image.fromarray(label), (gap, gap))
        left = gap + label.shape[1]
    if aside is not None and left + aside.shape[1] + 2 * gap < image.width:
        image.alpha_composite(Image.fromarray(aside), (image.width - gap - aside.shape[1], gap))
    return image


@kept(16)
def corner(anchor: str, u: float) -> Image.Image:
    """Draw the page's colour outside of a round corner, "lt", "rt", "lb" or "rb"."""
    radius = max(1, round(10 * u))
    picture, _ = _blank((2 * radius, 2 * radius), PAGE)
    picture.putalpha(rounded_mask(picture.size, radius).point(lambda value: 255 - value))
    left, top = radius * (anchor[0] == "r"), radius * (anchor[1] == "b")
    return picture.crop((left, top, left + radius, top + radius))
