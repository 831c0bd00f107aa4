"""The composed frame: what a person watches. The builder's eyes, the build, the target, and what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid, as_grid
from iglu_marl.rendering import lettering, palette, views
from iglu_marl.rendering.painter import Lens, check_size, paint_scenes
from iglu_marl.rendering.theme import BAR, DIM, GOOD, PAGE, PANEL, RGB, SPEAKERS, TEXT, corners

Box = tuple[int, int, int, int]  # left, top, right, bottom

DEFAULT_SIZE = (540, 960)
MIN_SIZE = (270, 480)

_KEPT_LINES = 12  # utterances that are looked at for the caption
_KEPT_CHARACTERS = 600  # of one utterance
_KEPT_OF_FACT = 40  # characters of a fact in the header


_PLACED = {"title", "intersection", "target_blocks", "complete", "step", "max_steps", "turn", "max_turns"}
_PLACED |= {"floor", "inventory"}


class _Layout:
    """Where things stand in a picture of a given size; u is a 540th of the height."""

    def __init__(self, size: tuple[int, int]) -> None:
        height, width = size
        u = min(height / 540, width / 960)
        self.u = u
        margin, gap = round(16 * u), round(12 * u)
        side = min((width - 2 * margin - 2 * gap) // 3, round(0.57 * height))
        top = round(78 * u)
        left = (width - 3 * side - 2 * gap) // 2
        self.header: Box = (left, round(12 * u), width - left, round(46 * u))
        self.panels: list[Box] = []
        for k in range(3):
            x = left + k * (side + gap)
            self.panels.append((x, top, x + side, top + side))
        self.caption: Box = (left, top + side + gap, width - left, height - margin)


def composed_frame(
    grid: npt.ArrayLike,
    *,
    pose: Sequence[float] | npt.NDArray[np.floating[Any]],
    dialogue: Sequence[tuple[str, str]] = (),
    target: npt.ArrayLike | None = None,
    aligned_target: npt.ArrayLike | None = None,
    status: Mapping[str, Any] | None = None,
    pov: npt.NDArray[np.uint8] | None = None,
    size: tuple[int, int] = DEFAULT_SIZE,
) -> npt.NDArray[np.uint8]:
    """A picture uint8[height, width, 3] of the whole game.

    `grid` is the build and `pose` the builder's x, y, z (eye, cells), yaw and pitch (degrees). `dialogue`
    holds (speaker, text) pairs, the latest last; "architect" and "builder" have their colours. `target` is
    shown as it was asked for (None: an empty panel), `aligned_target` as a ghost over the build (None: no
    ghost). `pov` is the builder's picture uint8[h, w, 3]; without one it is painted anew, smoothly and in
    the panel's resolution.

    `status` fills the header: `title`; `intersection` and `target_blocks` (the bar, green once `complete`);
    `step` and `max_steps`, `turn` and `max_turns` (limits that are 0 or absent are not shown); `floor`, whose
    turn it is; `inventory`, six counts. Anything else is written as "name value" while there is room.

    `size` is (height, width), at least (270, 480). Raises `GridError` for bad grids, `RenderError` for a
    bad size or pov.
    """
    height, width = check_size(size)
    if height < MIN_SIZE[0] or width < MIN_SIZE[1]:
        raise RenderError(f"size is {size!r}, expected at least {MIN_SIZE} (height, width)")
    facts = dict(status or {})
    layout = _layout((height, width))
    picture = Image.new("RGB", (width, height), PAGE)
    build = as_grid(grid)
    goal = None if target is None else as_grid(target, "target")
    aligned = None if aligned_target is None else as_grid(aligned_target, "aligned_target")
    _draw_header(picture, layout, facts)
    top = views.highest(build, aligned, goal)
    side = layout.panels[0][2] - layout.panels[0][0]
    eyes = _eyes(build, pose, side) if pov is None else _fitted(pov, side)
    world = views.orbit_view(build, size=(side, side), ghost=aligned, pose=pose, top=top)
    legend = aligned is not None
    _draw_panel(picture, layout, 0, "Builder's eyes", eyes)
    _draw_panel(picture, layout, 1, "Build", Image.fromarray(world))
    _draw_panel(
        picture, layout, 2, "Target", _target_panel(None if goal is None else goal.tobytes(), top, side)
    )
    _draw_crosshair(picture, layout)
    if legend:
        _draw_legend(picture, layout)
    if facts.get("inventory") is not None:
        _draw_inventory(picture, layout, facts["inventory"])
    _draw_caption(picture, layout, dialogue)
    return np.asarray(picture).copy()


@lru_cache(maxsize=8)
def _layout(size: tuple[int, int]) -> _Layout:
    return _Layout(size)


def _eyes(grid: BlockGrid, pose: Any, side: int) -> Image.Image:
    """The first-person picture, smoothed."""
    frame = paint_scenes(grid[None], np.asarray(pose, float)[None], (2 * side, 2 * side), lens=Lens())[0]
    return Image.fromarray(frame).reduce(2)


def _fitted(pov: npt.NDArray[np.uint8], side: int) -> Image.Image:
    """A given picture in the panel: whole and centred; a small one keeps its square pixels."""
    array = np.asarray(pov)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
        raise RenderError(f"pov is {array.dtype}{list(array.shape)}, expected uint8[height, width, 3]")
    height, width = array.shape[:2]
    scale = side / max(height, width)
    fitted = (max(1, round(width * scale)), max(1, round(height * scale)))
    method = Image.Resampling.NEAREST if scale >= 2 else Image.Resampling.LANCZOS
    panel = Image.new("RGB", (side, side), PANEL)
    image = Image.fromarray(array).resize(fitted, method)
    panel.paste(image, ((side - fitted[0]) // 2, (side - fitted[1]) // 2))
    return panel


@lru_cache(maxsize=16)
def _target_panel(grid: bytes | None, top: float, side: int) -> Image.Image:
    if grid is None:
        return Image.new("RGB", (side, side), PANEL)
    cells = np.frombuffer(grid, np.int8).reshape(9, 11, 11)
    return Image.fromarray(views.orbit_view(cells, size=(side, side), top=top))


def _draw_panel(picture: Image.Image, layout: _Layout, number: int, title: str, image: Image.Image) -> None:
    left, top, right, _ = layout.panels[number]
    u = layout.u
    ImageDraw.Draw(picture).text(
        (left + 2 * u, top - 8 * u), title, DIM, lettering.font(round(14 * u)), anchor="ls"
    )
    picture.paste(image, (left, top), corners((right - left, right - left), round(8 * u)))


def _draw_crosshair(picture: Image.Image, layout: _Layout) -> None:
    left, top, right, bottom = layout.panels[0]
    x, y, arm = (left + right) // 2, (top + bottom) // 2, round(6 * layout.u)
    box = (x - arm, y - arm, x + arm + 1, y + arm + 1)
    crop = picture.crop(box)
    draw = ImageDraw.Draw(crop)
    for color, thick in (((20, 24, 33), 2), ((255, 255, 255), 0)):
        draw.rectangle((arm - thick // 2, 0, arm + thick // 2, 2 * arm), fill=color)
        draw.rectangle((0, arm - thick // 2, 2 * arm, arm + thick // 2), fill=color)
    picture.paste(Image.blend(picture.crop(box), crop, 0.7), box[:2])


def _draw_legend(picture: Image.Image, layout: _Layout) -> None:
    """What translucent and framed blocks mean, at the right above the build's panel."""
    _, top, right, _ = layout.panels[1]
    u, draw = layout.u, ImageDraw.Draw(picture)
    letters, size = lettering.font(round(12 * u)), round(9 * u)
    x, y = float(right - round(2 * u)), top - 8 * u
    for text, fill, outline in (
        ("not in the target", PAGE, views.WRONG),
        ("missing", (104, 113, 131), None),
    ):
        x -= letters.getlength(text)
        draw.text((x, y), text, DIM, letters, anchor="ls")
        x -= 14 * u
        draw.rectangle((x, y - size, x + size, y), fill=fill, outline=outline, width=max(1, round(2 * u)))
        x -= 12 * u


def _draw_inventory(picture: Image.Image, layout: _Layout, inventory: Any) -> None:
    """Six colour chips with counts along the lower edge of the builder's eyes."""
    left, _, right, bottom = layout.panels[0]
    u = layout.u
    counts = [int(count) for count in np.asarray(inventory).ravel()[:6]]
    box = (left + round(8 * u), bottom - round(30 * u), right - round(8 * u), bottom - round(8 * u))
    back = picture.crop(box)
    shade = Image.blend(back, Image.new("RGB", back.size, PAGE), 0.66)
    mask = Image.new("L", back.size)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, back.width - 1, back.height - 1), round(5 * u), fill=255)
    draw = ImageDraw.Draw(shade)
    step = back.width / 6
    for k, count in enumerate(counts):
        x, middle, chip = k * step + 6 * u, back.height / 2, 10 * u
        color = palette.RGB[palette.block_index(k + 1, palette.SHADE_TOP, palette.FILL)].tolist()
        draw.rounded_rectangle((x, middle - chip / 2, x + chip, middle + chip / 2), 2 * u, fill=tuple(color))
        lettering.write(draw, (x + chip + 5 * u, middle), str(count), round(12 * u), TEXT)
    picture.paste(shade, box[:2], mask)


def _draw_header(picture: Image.Image, layout: _Layout, facts: Mapping[str, Any]) -> None:
    left, top, right, bottom = layout.header
    u, draw = layout.u, ImageDraw.Draw(picture)
    middle = (top + bottom) / 2
    title = str(facts.get("title") or "Architect & builder")[:_KEPT_CHARACTERS]
    x = float(right)
    score, goal = facts.get("intersection"), facts.get("target_blocks")
    if score is not None and goal:
        x = _draw_progress(
            draw, layout, float(score), float(goal), bool(facts.get("complete")), right, middle
        )
    for name, limit in (("step", "max_steps"), ("turn", "max_turns")):
        if facts.get(name) is not None:
            value = _short(facts[name]) + (f" / {_short(facts[limit])}" if facts.get(limit) else "")
            x = _fact(draw, layout, x, middle, name, value, TEXT)
    if facts.get("floor") is not None:
        floor = str(facts["floor"]).lower()
        x = _fact(draw, layout, x, middle, "floor", floor, SPEAKERS.get(floor, TEXT))
    for name, value in facts.items():
        if name not in _PLACED and x > left + 0.4 * (right - left):
            x = _fact(draw, layout, x, middle, _short(name).replace("_", " "), _short(value), TEXT)
    pixels = round(20 * u)
    lettering.write(
        draw, (left + 2 * u, middle), lettering.cut(title, pixels, x - left - 24 * u), pixels, TEXT
    )


def _draw_progress(
    draw: ImageDraw.ImageDraw,
    layout: _Layout,
    score: float,
    goal: float,
    done: bool,
    right: float,
    middle: float,
) -> float:
    """The bar with "score / goal" at the right; returns where the next fact ends."""
    u = layout.u
    text, pixels = f"{score:g} / {goal:g}", round(15 * u)
    lettering.write(draw, (right, middle), text, pixels, GOOD if done else TEXT, "r")
    end = right - lettering.width(text, pixels) - 10 * u
    start, half = end - 130 * u, 5 * u
    share = min(max(score / goal, 0.0), 1.0)
    draw.rounded_rectangle((start, middle - half, end, middle + half), half, fill=BAR)
    if share > 0:
        filled = max(start + share * (end - start), start + 2 * half)
        draw.rounded_rectangle((start, middle - half, filled, middle + half), half, fill=GOOD)
    return start - 22 * u


def _fact(
    draw: ImageDraw.ImageDraw, layout: _Layout, right: float, middle: float, name: str, value: str, color: RGB
) -> float:
    """A dim name with its value, right-aligned; returns where the next fact ends."""
    u, pixels = layout.u, round(15 * layout.u)
    lettering.write(draw, (right, middle), value, pixels, color, "r")
    right -= lettering.width(value, pixels) + 6 * u
    lettering.write(draw, (right, middle), name, pixels, DIM, "r")
    return right - lettering.width(name, pixels) - 20 * u


def _short(value: Any) -> str:
    text = f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)
    return text[:_KEPT_OF_FACT]


def _draw_caption(picture: Image.Image, layout: _Layout, dialogue: Sequence[tuple[str, str]]) -> None:
    """The latest utterances that fit, each behind its speaker; the newest in full brightness."""
    left, top, right, bottom = layout.caption
    u, draw = layout.u, ImageDraw.Draw(picture)
    draw.rounded_rectangle((left, top, right - 1, bottom - 1), 8 * u, fill=PANEL)
    pixels = round(16 * u)
    line_height, gap, pad = round(21 * u), round(5 * u), round(10 * u)
    indent = left + round(104 * u)
    room = bottom - top - 2 * pad
    shown: list[tuple[str, tuple[str, ...]]] = []
    for speaker, text in list(dialogue)[: -_KEPT_LINES - 1 : -1]:
        lines = lettering.wrapped(str(text)[:_KEPT_CHARACTERS], pixels, right - indent - pad)
        need = len(lines) * line_height + (gap if shown else 0)
        if need > room:
            if not shown:  # a long utterance: its beginning
                lines = lines[: max(1, room // line_height)]
                shown.append((speaker, (*lines[:-1], lines[-1] + " ...")))
            break
        shown.append((speaker, lines))
        room -= need
    y = top + pad
    for number, (speaker, lines) in enumerate(reversed(shown)):
        latest = number == len(shown) - 1
        name = str(speaker).lower()
        color = SPEAKERS.get(name, DIM)
        draw.rounded_rectangle(
            (left + pad, y + 3 * u, left + pad + 3 * u, y + line_height - 3 * u), 1, fill=color
        )
        middle = y + line_height / 2
        lettering.write(draw, (left + pad + 9 * u, middle), name.capitalize()[:12], round(13 * u), color)
        for line in lines:
            lettering.write(draw, (indent, y + line_height / 2), line, pixels, TEXT if latest else DIM)
            y += line_height
        y += gap
