"""The builder's screen, in any size: layers from back to front, for a window to draw or for `composite` to combine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iglu_marl.core.grid import BlockGrid, Cell
from iglu_marl.core.kernels.records import GROUND_Y
from iglu_marl.rendering.camera import cell_in_sight
from iglu_marl.rendering.renderer import Box, Picture, Viewpoint
from iglu_marl.rendering.ui import widgets
from iglu_marl.rendering.ui.layers import ImageLayer, Layer, SceneLayer, scaled
from iglu_marl.rendering.ui.widgets import Pairs

WINDOW_SIZE = (600, 960)  # height, width at which u, the scale, is 1
CHAT_HEIGHT = 0.24  # share of the window's height


@dataclass(frozen=True)
class BuilderView:
    """Data of a builder's screen.

    grid and pose, or `picture` (uint8[height, width, 3]) if the world is not observed; aim: the current pose of the
    hands, if it differs from `pose`; inventory: six counts; active: colour id 1..6 in hand; yaw_deg: for the compass,
    if there is no pose; dialogue: (speaker, text), the latest last; facts: names and values; others: the eyes of other
    builders.
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

    @property
    def focus(self) -> Cell | None:
        """The cell within reach of the hands."""
        pose = self.aim or self.pose
        return None if self.grid is None or pose is None else cell_in_sight(self.grid, pose)


@dataclass
class Overlay:
    """What lies over a screen: the line being typed, a note, keys."""

    typed: tuple[str, int] | None = None  # text and cursor
    caret: bool = True
    note: str = ""
    hints: Pairs = ()


class Canvas:
    """A window's area, and the layers on it; places are given with an anchor."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.height, self.width = size
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
    """Return a builder's screen of (height, width) pixels: view, inventory, compass, place, and the chat below."""
    canvas = Canvas(size)
    u, height, width, gap = canvas.u, canvas.height, canvas.width, canvas.gap
    floor = height - round(CHAT_HEIGHT * height)
    canvas.first_person(view, (0, 0, width, floor))
    room = height - floor - 2 * gap - (0 if overlay.typed is None else round(46 * u))
    canvas.put(widgets.chat(view.dialogue, width - 2 * gap, max(1, room), u), gap, floor + gap)
    free, below = float(width), float(gap)
    if view.facts:
        free, _, _, below = canvas.put(widgets.facts(view.facts, u), width - gap, gap, "rt")
    if view.pose is not None:
        places = widgets.facts(_places(view, view.pose), u)
        below = canvas.put(places, width - gap, below + 6 * u, "rt")[3]
    canvas.compass(view, gap, free, below)
    bar = canvas.put(widgets.hotbar(view.inventory, view.active, u), width / 2, floor - gap, "mb")
    for hints in (overlay.hints, overlay.hints[:1]):
        if hints and widgets.key_hints(hints, u).shape[1] + 2 * gap < bar[0]:
            canvas.put(widgets.key_hints(hints, u), gap, floor - gap, "lb")
            break
    if overlay.typed is not None:
        text, cursor = overlay.typed
        entry = widgets.entry(text, cursor, width - 2 * gap, u, overlay.caret)
        canvas.put(entry, gap, height - gap, "lb")
    if overlay.note:
        canvas.put(widgets.message(overlay.note, u, 0.9), width / 2, bar[1] - gap, "mb")
    return canvas.layers
