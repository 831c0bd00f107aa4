"""The screens of a game, in any size: the builder's, the architect's, and the onlooker's.

A screen is a list of layers from back to front, for a window to draw or for `composite` to combine. A builder's screen
shows what its `BuilderView` has: a target only where a builder observes one, in a team.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from iglu_marl.core.grid import BlockGrid, Cell
from iglu_marl.core.kernels.records import GROUND_Y
from iglu_marl.rendering import orbit
from iglu_marl.rendering.camera import cell_in_sight
from iglu_marl.rendering.colors import PANEL
from iglu_marl.rendering.palette import block_color
from iglu_marl.rendering.renderer import Box, Picture, Viewpoint
from iglu_marl.rendering.ui import widgets
from iglu_marl.rendering.ui.layers import ImageLayer, Layer, SceneLayer, scaled
from iglu_marl.rendering.ui.widgets import Pairs

WINDOW_SIZE = (600, 960)  # height, width at which u, the scale, is 1
CHAT_WIDTH = 296  # times u
Sides = Sequence[tuple[str, npt.NDArray[np.integer[Any]]]]


@dataclass(frozen=True)
class BuilderView:
    """Data of a builder's screen.

    grid and pose, or `picture` (uint8[height, width, 3]) if the world is not observed; aim: the current pose of the
    hands, if it differs from `pose`; inventory: six counts; active: colour id 1..6 in hand; yaw_deg: for the compass,
    if there is no pose; dialogue: (speaker, text), the latest last; facts: names and values; others: the eyes of other
    builders; target and sides: as in `ArchitectView`, of a builder who sees some of the target.
    """

    grid: BlockGrid | None = None
    pose: Viewpoint | None = None
    aim: Viewpoint | None = None
    picture: Picture | None = None
    inventory: tuple[int, ...] | None = None
    active: int = 1
    yaw_deg: float | None = None
    dialogue: Sequence[tuple[str, str]] = ()
    facts: Pairs = ()
    others: Sequence[Viewpoint] = ()
    target: BlockGrid | None = None
    sides: Sides = ()

    @property
    def focus(self) -> Cell | None:
        """The cell within reach of the hands."""
        pose = self.aim or self.pose
        return None if self.grid is None or pose is None else cell_in_sight(self.grid, pose)


@dataclass(frozen=True)
class ArchitectView:
    """Data of an architect's screen: target, build and progress. sides: names and views of sides, int[9, 11]."""

    target: BlockGrid | None
    grid: BlockGrid
    aligned_target: BlockGrid | None = None  # the target as it lies over the build: shown as a ghost
    pose: Viewpoint | None = None
    others: Sequence[Viewpoint] = ()  # poses of the other builders
    dialogue: Sequence[tuple[str, str]] = ()
    intersection: float | None = None
    target_blocks: float = 0
    complete: bool = False
    facts: Pairs = ()
    sides: Sides = ()


@dataclass
class OrbitAngles:
    """Azimuth and elevation of an orbiting camera."""

    azimuth_deg: float = orbit.DEFAULT_AZIMUTH_DEG
    elevation_deg: float = orbit.DEFAULT_ELEVATION_DEG

    def turn(self, right_deg: float, down_deg: float) -> None:
        """Turn the camera; the elevation stays within 8..90 degrees."""
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


class _Canvas:
    """A window's area, and the layers on it; places are given with an anchor."""

    def __init__(self, size: tuple[int, int], smoothing: int = 2) -> None:
        self.height, self.width = size
        self.smoothing = smoothing  # of orbit views
        u = min(size[0] / WINDOW_SIZE[0], size[1] / WINDOW_SIZE[1])
        self.u = max(0.5, round(u * 20) / 20)  # in steps, so that cached widgets are used again
        self.gap = round(12 * self.u)
        self.layers: list[Layer] = []

    def put(self, picture: Picture, x: float, y: float, anchor: str = "lt") -> Box:
        """Put a picture with its anchor (l, m, r and t, m, b) at a place. Return its box."""
        height, width = picture.shape[:2]
        left = round(x - {"l": 0, "m": width / 2, "r": width}[anchor[0]])
        top = round(y - {"t": 0, "m": height / 2, "b": height}[anchor[1]])
        self.layers.append(ImageLayer(picture, left, top))
        return left, top, left + width, top + height

    def first_person(self, view: BuilderView, box: Box) -> None:
        """Add the builder's view, with the crosshair."""
        left, top, right, bottom = box
        if view.grid is not None and view.pose is not None:
            self.layers.append(SceneLayer(view.grid, view.pose, box, view.focus, view.others))
        elif view.picture is not None:
            self.put(scaled(view.picture, (bottom - top, right - left)), left, top)
        self.put(widgets.crosshair(self.u), (left + right) / 2, (top + bottom) / 2, "mm")

    def compass(self, view: BuilderView, left: float, right: float, below: float) -> None:
        """Add the compass: in the middle of the window, within left..right, or else below `below`."""
        yaw = view.pose[3] if view.pose is not None else view.yaw_deg
        if yaw is None:
            return
        strip = widgets.compass(round(yaw) % 360, self.u)
        half = strip.shape[1] / 2 + 8 * self.u
        if right - left < 2 * half:
            self.put(strip, self.width - self.gap, below + 8 * self.u, "rt")
        else:
            self.put(strip, min(max(self.width / 2, left + half), right - half), self.gap, "mt")

    def orbit(self, title: str, box: Box, angles: OrbitAngles, view: ArchitectView) -> None:
        """Add the "Build" with the ghost, or the "Target", in a frame."""
        options: dict[str, Any] = {
            "size": (box[3] - box[1], box[2] - box[0]),
            "azimuth_deg": round(angles.azimuth_deg, 2),
            "elevation_deg": round(angles.elevation_deg, 2),
            "top": orbit.highest(view.grid, view.aligned_target, view.target),
            "smoothing": self.smoothing,
        }
        if title == "Build":
            poses = (*((view.pose,) if view.pose is not None else ()), *view.others)
            rounded = tuple(tuple(round(value, 3) for value in pose) for pose in poses)
            options["pose"] = rounded or None
            options["ghost"] = view.aligned_target
        shown = view.grid if title == "Build" else view.target
        self.put(_orbit_panel(title, self.u, shown, **options), box[0], box[1])

    def goal(self, box: Box, angles: OrbitAngles, view: ArchitectView) -> None:
        """Add the "Target": its blocks, its views from sides, or one beside the other."""
        middle = box[0] if view.target is None else (box[0] + box[2]) // 2
        if view.sides:
            size = box[3] - box[1], box[2] - middle
            names, views = zip(*view.sides, strict=True)
            self.put(_sides_panel(self.u, names, np.array(views), size), middle, box[1])
        if view.target is not None or not view.sides:
            self.orbit("Target", (*box[:2], middle if view.sides else box[2], box[3]), angles, view)

    def progress(self, view: ArchitectView) -> float:
        """Add the progress bar in the upper right corner. Return its left end."""
        if view.intersection is None or not view.target_blocks:
            return self.width
        bar = widgets.score_bar(view.intersection, view.target_blocks, view.complete, self.u)
        return self.put(bar, self.width - self.gap, self.gap, "rt")[0]

    def finish(self, overlay: Overlay, left: float, right: float, bottom: float) -> list[Layer]:
        """Add the line being typed (between left and right), a note above it, and a card over everything."""
        u = self.u
        if overlay.typed is not None:
            text, cursor = overlay.typed
            line = widgets.entry(text, cursor, overlay.prompt, round(right - left), u, overlay.caret)
            bottom = self.put(line, left, bottom, "lb")[1] - 8 * u
        if overlay.note:
            self.put(widgets.message(overlay.note, u, 0.9), (left + right) / 2, bottom, "mb")
        if overlay.card is not None:
            self.put(widgets.backdrop(self.width, self.height, 0.55), 0, 0)
            card = widgets.card(*overlay.card, min(u, self.height / 560))
            self.put(card, self.width / 2, self.height / 2, "mm")
        return self.layers


@widgets.kept(24)
def _orbit_panel(title: str, u: float, grid: BlockGrid | None, **options: Any) -> Image.Image:
    """Return a framed orbit view, cached while nothing in it moves; empty without a grid."""
    if grid is None:
        return widgets.framed(np.full((*options["size"], 3), PANEL, np.uint8), title, u)
    aside = None if options.get("ghost") is None else widgets.legend(u)
    return widgets.framed(orbit.orbit_view(grid, **options), title, u, aside)


@widgets.kept(8)
def _sides_panel(
    u: float, names: tuple[str, ...], views: npt.NDArray[np.integer[Any]], size: tuple[int, int]
) -> Image.Image:
    """Return a framed picture of views from sides [n, 9, 11], one above the other."""
    page = Image.new("RGB", (size[1], size[0]), PANEL)
    high = size[0] // len(names)
    cell = max(1, min(size[1] // 12, (high - round(34 * u)) // 9))
    for number, (side, view) in enumerate(zip(names, views, strict=True)):
        picture = np.array([PANEL, *map(block_color, range(1, 7))], np.uint8)[view[::-1]]
        blocks = Image.fromarray(picture).resize((11 * cell, 9 * cell), Image.Resampling.NEAREST)
        left, top = (size[1] - 11 * cell) // 2, number * high + high - 9 * cell
        page.paste(blocks, (left, top))
        name = Image.fromarray(widgets.message(f"from the {side}", 0.86 * u, 0.62))
        page.paste(name, (round(8 * u), number * high + round(8 * u)), name)
    page.putalpha(widgets.rounded_mask(page.size, max(1, round(10 * u))))
    return page


def place_in_words(x: float, z: float) -> str:
    """Return a place on the map as architects say it: "2 E 3 N" is 2 blocks east and 3 north of the centre."""
    east, south = round(x), round(z)
    parts = [f"{abs(east)} {'E' if east > 0 else 'W'}"] if east else []
    parts += [f"{abs(south)} {'S' if south > 0 else 'N'}"] if south else []
    return " ".join(parts) or "centre"


def _places(view: BuilderView, pose: Viewpoint) -> Pairs:
    """Return the builder's place and the cell in sight."""
    found = [("you", place_in_words(pose[0], pose[2]))]
    if view.focus is not None:
        x, y, z = view.focus
        high = "ground" if y == GROUND_Y else f"height {y + 2}"
        found.append(("aim", f"{place_in_words(x, z)}, {high}"))
    return tuple(found)


def builder_screen(view: BuilderView, size: tuple[int, int], overlay: Overlay) -> list[Layer]:
    """Return a builder's screen of (height, width) pixels: view, inventory, compass, place and dialogue."""
    canvas = _Canvas(size)
    u, height, width, gap = canvas.u, canvas.height, canvas.width, canvas.gap
    canvas.first_person(view, (0, 0, width, height))
    talk_width = round(min(CHAT_WIDTH * u, 0.45 * width))
    talk = canvas.put(widgets.chat(view.dialogue, talk_width, round(0.46 * height), u), gap, gap)
    free, below = float(width), float(gap)
    if view.facts:
        free, _, _, below = canvas.put(widgets.facts(view.facts, u), width - gap, gap, "rt")
    if view.pose is not None:
        places = widgets.facts(_places(view, view.pose), u)
        below = canvas.put(places, width - gap, below + 6 * u, "rt")[3]
    canvas.compass(view, talk[2], free, below)
    if view.grid is not None and (view.target is not None or view.sides):
        side = round(min(0.26 * width, 0.36 * height))
        goal = ArchitectView(view.target, view.grid, sides=view.sides)
        canvas.goal(
            _box(width - gap - side, height - gap - side, width - gap, height - gap), OrbitAngles(), goal
        )
    bar = canvas.put(widgets.hotbar(view.inventory, view.active, u), width / 2, height - gap, "mb")
    for hints in (overlay.hints, overlay.hints[:1]):
        if hints and widgets.key_hints(hints, u).shape[1] + 2 * gap < bar[0]:
            canvas.put(widgets.key_hints(hints, u), gap, height - gap, "lb")
            break
    reach = min(620 * u, width - 2 * gap) / 2
    return canvas.finish(overlay, width / 2 - reach, width / 2 + reach, bar[1] - gap)


def architect_screen(
    view: ArchitectView, size: tuple[int, int], overlay: Overlay, angles: OrbitAngles
) -> list[Layer]:
    """Return an architect's screen of (height, width) pixels: build, target, progress, dialogue, text line."""
    canvas = _Canvas(size)
    u, height, width, gap = canvas.u, canvas.height, canvas.width, canvas.gap
    head, side = round(54 * u), round(min(0.36 * width, 0.5 * height))
    foot, right = height - gap - round(46 * u), width - gap - side
    canvas.orbit("Build", _box(gap, head, right - gap, foot), angles, view)
    canvas.goal(_box(right, head, width - gap, head + side), angles, view)
    talk_top = head + side + gap
    if foot - talk_top > 40 * u:
        canvas.put(widgets.chat(view.dialogue, side, foot - talk_top, u), right, talk_top)
    free = canvas.progress(view)
    left = canvas.put(widgets.facts(view.facts, u), gap, gap)[2] if view.facts else gap
    if overlay.hints:
        hints = widgets.key_hints(overlay.hints, u)
        if left + hints.shape[1] + 2 * gap < free:
            canvas.put(hints, free - gap, 13 * u, "rt")
    return canvas.finish(overlay, gap, width - gap, height - gap / 2)


def _box(left: int, top: int, right: int, bottom: int) -> Box:
    return left, top, max(right, left + 8), max(bottom, top + 8)


def _onlooker_boxes(canvas: _Canvas) -> tuple[Box, Box, Box, Box]:
    """Return an onlooker's boxes of the builder's view, the build, the target, and the dialogue.

    In a wide window, build and target stand one above the other at the right, in a tall one side by side.
    """
    gap, top = canvas.gap, round(52 * canvas.u)
    right, bottom = canvas.width - gap, canvas.height - gap
    if canvas.width > 1.15 * canvas.height:
        tall = (bottom - top - gap) // 2
        left = right - min(round(0.36 * canvas.width), round(1.35 * tall))
        talk = bottom - round(0.26 * (bottom - top))
        build, target = _box(left, top, right, top + tall), _box(left, bottom - tall, right, bottom)
        return _box(gap, top, left - gap, talk - gap), build, target, _box(gap, talk, left - gap, bottom)
    wide, talk = (right - 2 * gap) // 2, bottom - round(0.18 * canvas.height)
    low = talk - gap
    high = low - min(round(0.75 * wide), (low - top) // 2)
    build, target = _box(gap, high, gap + wide, low), _box(right - wide, high, right, low)
    return _box(gap, top, right, high - gap), build, target, _box(gap, talk, right, bottom)


def onlooker_screen(
    builder: BuilderView,
    architect: ArchitectView,
    title: str,
    size: tuple[int, int],
    overlay: Overlay,
    angles: OrbitAngles,
    smoothing: int = 2,
) -> list[Layer]:
    """Return the screen of a spectator: the builder's view, the build, the target, the dialogue, and the progress."""
    canvas = _Canvas(size, smoothing)
    u, gap = canvas.u, canvas.gap
    eyes, build, target, talk = _onlooker_boxes(canvas)
    left, top, right, bottom = eyes
    middle = (left + right) / 2
    canvas.first_person(builder, eyes)
    for anchor in ("lt", "rt", "lb", "rb"):
        corner = left if anchor[0] == "l" else right, top if anchor[1] == "t" else bottom
        canvas.put(widgets.corner(anchor, u), *corner, anchor)
    low = canvas.put(widgets.hotbar(builder.inventory, builder.active, u), middle, bottom - 8 * u, "mb")
    if builder.pose is not None:
        canvas.put(widgets.compass(round(builder.pose[3]) % 360, u), middle, top + 8 * u, "mt")
    canvas.orbit("Build", build, angles, architect)
    canvas.orbit("Target", target, angles, architect)
    wide, high = talk[2] - talk[0], talk[3] - talk[1]
    canvas.put(widgets.chat(builder.dialogue, wide, high, u), talk[0], talk[1])
    free = canvas.progress(architect)
    for count in range(len(builder.facts)):  # the last facts matter most
        plate = widgets.facts(builder.facts[count:], u)
        if plate.shape[1] < 0.62 * canvas.width:
            free = canvas.put(plate, free - 4 * u, gap, "rt")[0]
            break
    canvas.put(widgets.title_line(title, max(1, round(free - 2 * gap)), u), gap + 2 * u, gap)
    if overlay.hints:
        canvas.put(widgets.key_hints(overlay.hints[:1], u), left + 8 * u, top + 8 * u)
    return canvas.finish(overlay, left, right, low[1] - gap)
