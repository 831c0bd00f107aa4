"""What a window shows: the builder's screen, the architect's, and the onlooker's, as layers for a window of any size.

A screen is a list of layers from back to front. An `Eye` is a first-person picture that the window itself draws (with
the painter, or with OpenGL); a `Patch` is a picture at its place. The builder's screen is made from a `BuilderSight`,
which has no place for a target: what a builder may not see cannot get there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.grid import BlockGrid, index_of
from iglu_marl.core.kernels.ray import cast_many
from iglu_marl.core.kernels.records import NO_CELL
from iglu_marl.rendering import hud, palette, views
from iglu_marl.rendering.camera import Camera
from iglu_marl.rendering.painter import GROUND_Y, Lens, paint_scenes
from iglu_marl.rendering.theme import PAGE

Cell = tuple[int, int, int]
Box = tuple[int, int, int, int]  # left, top, right, bottom
Pose = tuple[float, float, float, float, float]  # eye x, y, z, yaw, pitch
Pairs = tuple[tuple[str, str], ...]

WINDOW_SIZE = (600, 960)  # height, width at which u, the scale, is 1
CHAT_WIDTH = 296  # times u
LENS = Lens(fov_deg=70.0)  # a person's; the builder's own pictures have 90 degrees

_FOCUS_IDS = 6  # grid ids 7..12: the block that is looked at
_GLOW = (255, 222, 130)
_GREY = 12  # channels of a grey differ by less
_NEAREST = 0.12  # cells from the eye
GROUND_CELL_Y = -2


class Eye(NamedTuple):
    """A first-person picture of `grid` from `pose` in a box of the window; `focus` is the cell looked at."""

    grid: BlockGrid
    pose: Pose
    box: Box
    focus: Cell | None = None


class Patch(NamedTuple):
    """A picture uint8[height, width, 3 or 4] with its upper left corner at a place of the window."""

    picture: npt.NDArray[np.uint8]
    left: int
    top: int


Layer = Eye | Patch


@dataclass(frozen=True)
class BuilderSight:
    """What a builder's screen is made from.

    grid and pose, or `picture` (uint8[height, width, 3]) where the builder sees no more than that; aim: the pose from
    which the hands would reach now, where that is not the one to draw; inventory: six counts; active: colour id 1..6;
    dialogue: (speaker, text), the latest last; facts: names and values.
    """

    grid: BlockGrid | None = None
    pose: Pose | None = None
    aim: Pose | None = None
    picture: npt.NDArray[np.uint8] | None = None
    inventory: tuple[int, ...] | None = None
    active: int = 1
    yaw_deg: float | None = None
    dialogue: Sequence[tuple[str, str]] = ()
    facts: Pairs = ()


@dataclass(frozen=True)
class ArchitectSight:
    """What an architect's screen is made from: target and build, and how far it has come."""

    target: BlockGrid
    grid: BlockGrid
    aligned: BlockGrid | None = None  # the target as it lies over the build: shown as a ghost
    pose: Pose | None = None
    dialogue: Sequence[tuple[str, str]] = ()
    score: int = 0
    goal: int = 0
    done: bool = False
    facts: Pairs = ()


@dataclass
class Orbit:
    """A camera that goes around: the direction it looks in, and how far down."""

    azimuth_deg: float = views.DEFAULT_AZIMUTH_DEG
    elevation_deg: float = views.DEFAULT_ELEVATION_DEG

    def turn(self, right_deg: float, down_deg: float) -> None:
        """Go on around; the elevation stays within 8..90 degrees."""
        self.azimuth_deg = (self.azimuth_deg + right_deg) % 360.0
        self.elevation_deg = min(90.0, max(8.0, self.elevation_deg + down_deg))


@dataclass
class Overlay:
    """What lies over a screen: the line being typed, a card, a note, keys."""

    typed: tuple[str, int] | None = None  # text and cursor
    prompt: str = ""
    caret: bool = True
    card: tuple[str, Pairs, str] | None = None  # title, keys and meanings, foot
    note: str = ""
    hints: Pairs = ()


def scale_of(size: tuple[int, int]) -> float:
    """u for a window (height, width), in steps, so that pieces are drawn anew only now and then."""
    u = min(size[0] / WINDOW_SIZE[0], size[1] / WINDOW_SIZE[1])
    return max(0.6, round(u * 20) / 20)


# --- first person ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def focus_colors() -> npt.NDArray[np.uint32]:
    """The packed palette with ids 7..12 for the block that is looked at: a little brighter, with a bright rim."""
    entries = palette.ENTRIES_PER_COLOR
    rgb = np.concatenate([palette.RGB, palette.RGB[palette.FIRST_BLOCK :]]).astype(float)
    first = palette.FIRST_BLOCK + _FOCUS_IDS * entries
    rgb[first:] = rgb[first:] * 0.86 + 255 * 0.14
    for shade, light in enumerate((1.0, 0.92, 0.84, 0.7)):
        rgb[first + 2 * shade + 1 :: entries] = np.array((255, 255, 255)) * light
    return palette.pack(np.rint(rgb).astype(np.uint8))


class Gaze:
    """Finds the cell that is looked at, by the rule that also moves the hands."""

    def cell(self, grid: BlockGrid, pose: Pose) -> Cell | None:
        """The solid cell in reach along the gaze (ground has y = -2), or None."""
        hit, before = np.empty((2, 1, 3), np.int8)
        cast_many(np.array(grid, np.int8), np.array([pose], np.float64), hit, before)
        x, y, z = hit[0].tolist()
        return None if x == NO_CELL else (x, y, z)


def paint_eye(eye: Eye, smoothing: int = 2) -> npt.NDArray[np.uint8]:
    """An `Eye` as a picture uint8[height, width, 3] of its box's size, on the CPU."""
    height, width = eye.box[3] - eye.box[1], eye.box[2] - eye.box[0]
    size = height * smoothing, width * smoothing
    grid = scene_of(eye)
    frame = paint_scenes(grid[None], np.array([eye.pose]), size, lens=LENS, colors=focus_colors())[0]
    if smoothing > 1:
        frame = np.asarray(Image.fromarray(frame).reduce(smoothing)).copy()
    glow = ground_glow(eye, frame)
    if glow is not None:
        high, wide = glow.picture.shape[:2]
        part = frame[glow.top : glow.top + high, glow.left : glow.left + wide]
        share = glow.picture[..., 3:] / 255.0
        part[:] = np.rint(part + share * (glow.picture[..., :3] - part.astype(float)))
    return frame


def ground_glow(eye: Eye, frame: npt.NDArray[np.uint8] | None = None) -> Patch | None:
    """A warm light on the ground cell that is looked at, where no block hides it; placed within the eye's box.

    frame: the eye's picture, by whose greys the ground is told from blocks; painted when it is not given.
    """
    if eye.focus is None or eye.focus[1] != GROUND_CELL_Y:
        return None
    height, width = eye.box[3] - eye.box[1], eye.box[2] - eye.box[0]
    camera = Camera(eye.pose, LENS, (height, width))
    x, _, z = eye.focus
    around = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
    corners = np.array([(x + dx, GROUND_Y, z + dz) for dx, dz in around])
    if (camera.axes[2] @ (corners - camera.pose[:3]).T < _NEAREST).any():  # partly beside or behind the eye
        return None
    points = camera.project(corners)
    left, top = np.maximum(np.floor(points.min(axis=0)).astype(int) - 2, 0).tolist()
    right, bottom = np.minimum(np.ceil(points.max(axis=0)).astype(int) + 3, (width, height)).tolist()
    if left >= right or top >= bottom:
        return None
    if frame is None:
        frame = paint_scenes(eye.grid[None], np.array([eye.pose]), (height, width), lens=LENS)[0]
    part = frame[top:bottom, left:right]
    veil = Image.new("L", (part.shape[1] * 2, part.shape[0] * 2))
    path = [((px - left) * 2, (py - top) * 2) for px, py in points]
    draw = ImageDraw.Draw(veil)
    draw.polygon(path, fill=90)
    draw.line([*path, path[0]], fill=255, width=max(3, height // 120), joint="curve")
    # Greys are the ground's alone (and its smoothed lines'): blocks and sky have a hue.
    spread = part.max(axis=2).astype(int) - part.min(axis=2)
    opacity = np.asarray(veil.reduce(2)) * (spread < _GREY)
    glow = np.empty((*opacity.shape, 4), np.uint8)
    glow[..., :3], glow[..., 3] = _GLOW, opacity
    return Patch(glow, left, top)


def scene_of(eye: Eye) -> BlockGrid:
    """The grid to draw with `focus_colors`: the block that is looked at has its own id."""
    if eye.focus is None or eye.focus[1] == GROUND_CELL_Y:
        return eye.grid
    x, y, z = eye.focus
    grid = eye.grid.copy()
    grid[index_of((x, y, z))] += _FOCUS_IDS
    return grid


def scaled(
    picture: npt.NDArray[np.uint8], size: tuple[int, int], smooth: bool = False
) -> npt.NDArray[np.uint8]:
    """A picture as large as fits (height, width) in the middle of a dark page; enlarged smoothly, or in squares."""
    height, width = size
    factor = min(height / picture.shape[0], width / picture.shape[1])
    fitted = max(1, round(picture.shape[1] * factor)), max(1, round(picture.shape[0] * factor))
    page = Image.new("RGB", (width, height), PAGE)
    larger = Image.Resampling.BICUBIC if smooth else Image.Resampling.NEAREST
    method = larger if factor >= 1 else Image.Resampling.LANCZOS
    page.paste(
        Image.fromarray(picture).resize(fitted, method), ((width - fitted[0]) // 2, (height - fitted[1]) // 2)
    )
    return np.asarray(page).copy()


# --- screens -----------------------------------------------------------------------------------------------------


class _Sheet:
    """A window's area, and the layers that are put on it; places are told by an anchor."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.height, self.width = size
        self.u = scale_of(size)
        self.layers: list[Layer] = []

    def put(self, picture: npt.NDArray[np.uint8], x: float, y: float, anchor: str = "lt") -> Box:
        """Put a picture with its anchor (l, m, r and t, m, b) at a place; returns where it lies."""
        height, width = picture.shape[:2]
        left = round(x - {"l": 0, "m": width / 2, "r": width}[anchor[0]])
        top = round(y - {"t": 0, "m": height / 2, "b": height}[anchor[1]])
        self.layers.append(Patch(picture, left, top))
        return left, top, left + width, top + height

    def finish(self, overlay: Overlay, left: float, right: float, bottom: float) -> list[Layer]:
        """The line being typed (between left and right), a note above it, and a card over all."""
        u = self.u
        if overlay.typed is not None:
            text, cursor = overlay.typed
            line = hud.entry(text, cursor, overlay.prompt, round(right - left), u, overlay.caret)
            bottom = self.put(line, left, bottom, "lb")[1] - 8 * u
        if overlay.note:
            self.put(hud.note(overlay.note, u, opacity=0.9), (left + right) / 2, bottom, "mb")
        if overlay.card is not None:
            self.put(hud.shade(self.width, self.height, 0.55), 0, 0)
            self.put(
                hud.card(*overlay.card, min(u, self.height / 560)), self.width / 2, self.height / 2, "mm"
            )
        return self.layers


def _first_person(sheet: _Sheet, sight: BuilderSight, gaze: Gaze) -> None:
    """The eyes, filling the window, with the crosshair."""
    box = (0, 0, sheet.width, sheet.height)
    if sight.grid is not None and sight.pose is not None:
        focus = gaze.cell(sight.grid, sight.aim or sight.pose)
        sheet.layers.append(Eye(sight.grid, sight.pose, box, focus))
    elif sight.picture is not None:
        sheet.put(scaled(sight.picture, (sheet.height, sheet.width)), 0, 0)
    else:
        sheet.put(np.full((sheet.height, sheet.width, 3), PAGE, np.uint8), 0, 0)
    sheet.put(hud.crosshair(sheet.u), sheet.width / 2, sheet.height / 2, "mm")


def _heading(sheet: _Sheet, sight: BuilderSight, left: float, right: float, below: float) -> None:
    """The compass: in the middle of the window where that is free (left..right), else in the free part, else below."""
    yaw = sight.pose[3] if sight.pose is not None else sight.yaw_deg
    if yaw is None:
        return
    strip = hud.compass(round(yaw) % 360, sheet.u)
    half = strip.shape[1] / 2 + 8 * sheet.u
    middle = sheet.width / 2
    if right - left < 2 * half:
        sheet.put(strip, sheet.width - 12 * sheet.u, below + 8 * sheet.u, "rt")
    else:
        sheet.put(strip, min(max(middle, left + half), right - half), 12 * sheet.u, "mt")


def place_in_words(x: float, z: float) -> str:
    """A place on the map, as architects say it: "2 E 3 N" is 2 blocks east and 3 north of the centre."""
    east, south = round(x), round(z)
    parts = [f"{abs(east)} {'E' if east > 0 else 'W'}"] if east else []
    parts += [f"{abs(south)} {'S' if south > 0 else 'N'}"] if south else []
    return " ".join(parts) or "centre"


def _places(sight: BuilderSight, gaze: Gaze) -> Pairs:
    """Where the builder stands, and what it looks at."""
    assert sight.pose is not None
    found = [("you", place_in_words(sight.pose[0], sight.pose[2]))]
    cell = None if sight.grid is None else gaze.cell(sight.grid, sight.aim or sight.pose)
    if cell is not None:
        high = "ground" if cell[1] == GROUND_CELL_Y else f"height {cell[1] + 2}"
        found.append(("aim", f"{place_in_words(cell[0], cell[2])}, {high}"))
    return tuple(found)


def builder_screen(sight: BuilderSight, size: tuple[int, int], overlay: Overlay, gaze: Gaze) -> list[Layer]:
    """A builder's screen (height, width): its eyes, what it holds, where it looks, what was said."""
    sheet = _Sheet(size)
    u, height, width = sheet.u, sheet.height, sheet.width
    gap = round(12 * u)
    _first_person(sheet, sight, gaze)
    talk_width = round(min(CHAT_WIDTH * u, 0.45 * width))
    talk = sheet.put(hud.chat(sight.dialogue, talk_width, round(0.46 * height), u), gap, gap)
    free, below = float(width), float(gap)
    if sight.facts:
        free, _, _, below = sheet.put(hud.facts(sight.facts, u), width - gap, gap, "rt")
    if sight.pose is not None:
        places = hud.facts(_places(sight, gaze), u)
        _, _, _, below = sheet.put(places, width - gap, below + 6 * u, "rt")
    _heading(sheet, sight, talk[2], free, below)
    bar = sheet.put(hud.hotbar(sight.inventory, sight.active, u), width / 2, height - gap, "mb")
    for hints in (overlay.hints, overlay.hints[:1]):
        if hints and hud.hint(hints, u).shape[1] + 2 * gap < bar[0]:
            sheet.put(hud.hint(hints, u), gap, height - gap, "lb")
            break
    reach = min(620 * u, width - 2 * gap) / 2
    return sheet.finish(overlay, width / 2 - reach, width / 2 + reach, bar[1] - gap)


def architect_screen(
    sight: ArchitectSight, size: tuple[int, int], overlay: Overlay, orbit: Orbit
) -> list[Layer]:
    """An architect's screen (height, width): the build, large; the target; how far it is; the talk; the line."""
    sheet = _Sheet(size)
    u, height, width = sheet.u, sheet.height, sheet.width
    sheet.put(_page(height, width), 0, 0)
    gap, head = round(12 * u), round(54 * u)
    side = round(min(0.36 * width, 0.5 * height))
    foot = height - gap - round(46 * u)
    right, top = width - gap - side, head
    tall = views.highest(sight.grid, sight.aligned, sight.target)
    build_size = foot - head, right - 2 * gap
    build = _orbit("Build", build_size, orbit, tall, u, sight.grid, sight.aligned, sight.pose)
    sheet.put(build, gap, head)
    sheet.put(_orbit("Target", (side, side), orbit, tall, u, sight.target), right, top)
    talk_top = top + side + gap
    if foot - talk_top > 40 * u:
        talk = hud.chat(sight.dialogue, side, foot - talk_top, u)
        sheet.put(talk, right, talk_top)
    bar = sheet.put(hud.progress(sight.score, sight.goal, sight.done, u), width - gap, 12 * u, "rt")
    if sight.facts:
        sheet.put(hud.facts(sight.facts, u), gap, 12 * u)
    if overlay.hints:
        hint = hud.hint(overlay.hints, u)
        if gap + _facts_width(sight.facts, u) + hint.shape[1] + 2 * gap < bar[0]:
            sheet.put(hint, bar[0] - gap, 13 * u, "rt")
    return sheet.finish(overlay, gap, width - gap, height - gap / 2)


def _facts_width(pairs: Pairs, u: float) -> int:
    return int(hud.facts(pairs, u).shape[1]) if pairs else 0


def onlooker_screen(
    builder: BuilderSight,
    architect: ArchitectSight,
    size: tuple[int, int],
    overlay: Overlay,
    gaze: Gaze,
    orbit: Orbit,
) -> list[Layer]:
    """All of a game for someone who watches: the builder's eyes, and the build and the target as insets."""
    sheet = _Sheet(size)
    u, height, width = sheet.u, sheet.height, sheet.width
    _first_person(sheet, builder, gaze)
    gap = round(12 * u)
    inset = round(min(0.27 * width, 0.37 * height))
    tall = views.highest(architect.grid, architect.aligned, architect.target)
    bar = sheet.put(hud.progress(architect.score, architect.goal, architect.done, u), width - gap, gap, "rt")
    square = inset, inset
    build = _orbit("Build", square, orbit, tall, u, architect.grid, architect.aligned, architect.pose)
    box = sheet.put(build, width - gap, bar[3] + gap, "rt")
    if box[3] + gap + inset < height:
        goal = _orbit("Target", square, orbit, tall, u, architect.target)
        sheet.put(goal, width - gap, box[3] + gap, "rt")
    talk_width = round(min(CHAT_WIDTH * u, 0.4 * width))
    talk = sheet.put(hud.chat(builder.dialogue, talk_width, round(0.5 * height), u), gap, gap)
    _heading(sheet, builder, talk[2], bar[0], box[3])
    if builder.facts:
        sheet.put(hud.facts(builder.facts, u), gap, height - gap, "lb")
    bottom = height - gap
    middle = (width - inset - gap) / 2
    low = bottom - (40 * u if _facts_width(builder.facts, u) + gap > middle - 200 * u else 0)
    sheet.put(hud.hotbar(builder.inventory, builder.active, u), middle, low, "mb")
    if overlay.hints:
        sheet.put(hud.hint(overlay.hints, u), width - gap, bottom, "rb")
    return sheet.finish(overlay, gap, width - inset - gap, low - 84 * u)


@lru_cache(maxsize=4)
def _page(height: int, width: int) -> npt.NDArray[np.uint8]:
    page = np.full((height, width, 3), PAGE, np.uint8)
    page.setflags(write=False)
    return page


@lru_cache(maxsize=24)
def _orbited(
    title: str,
    size: tuple[int, int],
    grid: bytes,
    ghost: bytes | None,
    pose: Pose | None,
    camera: tuple[float, float, float],
    u: float,
) -> npt.NDArray[np.uint8]:
    shape = (9, 11, 11)
    azimuth, elevation, top = camera
    picture = views.orbit_view(
        np.frombuffer(grid, np.int8).reshape(shape),
        size=size,
        azimuth_deg=azimuth,
        elevation_deg=elevation,
        ghost=None if ghost is None else np.frombuffer(ghost, np.int8).reshape(shape),
        pose=pose,
        top=top,
    )
    return hud.framed(picture, title, u)


def _orbit(
    title: str,
    size: tuple[int, int],
    orbit: Orbit,
    top: float,
    u: float,
    grid: BlockGrid,
    ghost: BlockGrid | None = None,
    pose: Pose | None = None,
) -> npt.NDArray[np.uint8]:
    """An orbit view (height, width) in its frame, kept as long as nothing in it moves."""
    size = max(8, size[0]), max(8, size[1])
    near = None
    if pose is not None:
        x, y, z, yaw, pitch = (round(value, 3) for value in pose)
        near = x, y, z, yaw, pitch
    camera = round(orbit.azimuth_deg, 2), round(orbit.elevation_deg, 2), top
    seen_through = None if ghost is None else ghost.tobytes()
    return _orbited(title, size, grid.tobytes(), seen_through, near, camera, u)


def composite(layers: Sequence[Layer], size: tuple[int, int], smoothing: int = 2) -> npt.NDArray[np.uint8]:
    """The layers as one picture uint8[height, width, 3], without any window."""
    page = Image.new("RGB", (size[1], size[0]), PAGE)
    for layer in layers:
        if isinstance(layer, Eye):
            page.paste(Image.fromarray(paint_eye(layer, smoothing)), layer.box[:2])
            continue
        image: Any = Image.fromarray(layer.picture)
        page.paste(image, (layer.left, layer.top), image if image.mode == "RGBA" else None)
    return np.asarray(page).copy()
