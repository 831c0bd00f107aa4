"""One picture of a whole game, for people who watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid, as_grid
from iglu_marl.rendering import orbit
from iglu_marl.rendering.colors import PANEL
from iglu_marl.rendering.renderer import Box, Picture, check_pose, check_size
from iglu_marl.rendering.ui import widgets
from iglu_marl.rendering.ui.layers import ImageLayer, composite
from iglu_marl.rendering.ui.screens import BuilderView, Canvas
from iglu_marl.rendering.ui.widgets import Pairs

FRAME_SIZE, MIN_FRAME_SIZE = (540, 960), (270, 480)
CHAT_SCALE = 1.5  # of the words beside the other parts: films are often shown small

_FACT_LIMIT = 40  # characters
_LIMITS = {"turn": "max_turns", "step": "max_steps"}
_PLACED = {"title", "intersection", "target_blocks", "complete", "over", "floor", "inventory", "active"}
_PLACED |= {*_LIMITS, *_LIMITS.values()}


def composed_frame(
    grid: npt.ArrayLike,
    *,
    pose: Sequence[float] | npt.NDArray[np.floating[Any]],
    others: Sequence[Sequence[float]] = (),
    dialogue: Sequence[tuple[str, str]] = (),
    target: npt.ArrayLike | None = None,
    aligned_target: npt.ArrayLike | None = None,
    status: Mapping[str, Any] | None = None,
    size: tuple[int, int] = FRAME_SIZE,
) -> Picture:
    """Return a picture uint8[height, width, 3] of the whole game: the builder's view, build, target and dialogue.

    `status` fills the header: `title`; `intersection` and `target_blocks` (a bar, green once `complete`); `step` and
    `max_steps`, `turn` and `max_turns` (limits that are 0 or absent are not shown); `floor`, the role whose turn it is;
    `inventory`, six counts; `active`, the colour id in the builder's hand. Other keys are shown as "name value" if
    there is room. Raises `GridError` if a grid is invalid, `RenderError` if `size` is invalid.

    Args:
        grid: the build [9, 11, 11].
        pose: the builder's x, y, z (eye, cells), yaw and pitch (degrees).
        others: poses of the other builders.
        dialogue: (speaker, text) pairs, the latest last; "architect" and "builder" have their colours.
        target: the target as in the task; None: an empty panel.
        aligned_target: the target as it lies over the build, shown as a ghost; None: no ghost.
        status: values by name, see above.
        size: height and width, at least (270, 480).

    """
    height, width = check_size(size)
    if height < MIN_FRAME_SIZE[0] or width < MIN_FRAME_SIZE[1]:
        raise RenderError(f"size is {size!r}, expected at least {MIN_FRAME_SIZE} (height, width)")
    if status is not None and not isinstance(status, Mapping):
        raise RenderError(f"status is {status!r:.60}, expected a mapping or None")
    build, known = as_grid(grid), dict(status or {})
    goal = None if target is None else as_grid(target, "target")
    ghost = None if aligned_target is None else as_grid(aligned_target, "aligned_target")
    inventory = known.get("inventory")
    view = BuilderView(
        grid=build,
        pose=check_pose(pose),
        inventory=None if inventory is None else tuple(int(count) for count in np.ravel(inventory)[:6]),
        active=int(known.get("active") or 0),
        dialogue=dialogue,
        facts=_facts(known),
        others=tuple(map(check_pose, others)),
    )
    canvas = Canvas((2 * height, 2 * width))  # for smooth text
    eyes, build_box, target_box, talk = _boxes(canvas)
    _add_first_person(canvas, view, eyes)
    poses = tuple(tuple(round(value, 3) for value in one) for one in (view.pose, *view.others) if one)
    options: dict[str, Any] = {
        "size": (build_box[3] - build_box[1], build_box[2] - build_box[0]),
        "top": orbit.highest(build, ghost, goal),
        "smoothing": 1,
    }
    canvas.put(_panel("Build", canvas.u, build, pose=poses, ghost=ghost, **options), *build_box[:2])
    canvas.put(_panel("Target", canvas.u, goal, **options), *target_box[:2])
    chat = widgets.chat(dialogue, talk[2] - talk[0], talk[3] - talk[1], CHAT_SCALE * canvas.u)
    canvas.put(chat, talk[0], talk[1])
    _add_header(canvas, view, known)
    return np.array(composite(canvas.layers, (2 * height, 2 * width), smoothing=1).reduce(2))


def frame_layers(moment: Mapping[str, Any], size: tuple[int, int]) -> list[ImageLayer]:
    """Return the composed frame of a moment, see `moment_of`, as the layers of a window of (height, width) pixels."""
    height, width = (max(side, least) for side, least in zip(size, MIN_FRAME_SIZE, strict=True))
    return [ImageLayer(composed_frame(**moment, size=(height, width)), 0, 0)]


def _facts(known: Mapping[str, Any]) -> Pairs:
    """Return the names and values of the header."""
    shown = {name: value for name, value in known.items() if name not in _PLACED}
    shown |= {} if known.get("floor") is None else {"turn of": str(known["floor"]).lower()}
    for name, limit in _LIMITS.items():
        if known.get(name) is not None:
            most = f" / {_short(known[limit])}" if known.get(limit) else ""
            shown[name] = _short(known[name]) + most
    return tuple((_short(name).replace("_", " "), _short(value)) for name, value in shown.items())


def _add_first_person(canvas: Canvas, view: BuilderView, box: Box) -> None:
    """Add the builder's view with crosshair, inventory and compass."""
    left, top, right, bottom = box
    middle, u = (left + right) / 2, canvas.u
    canvas.first_person(view, box)
    for anchor in ("lt", "rt", "lb", "rb"):
        corner = left if anchor[0] == "l" else right, top if anchor[1] == "t" else bottom
        canvas.put(widgets.corner(anchor, u), *corner, anchor)
    canvas.put(widgets.hotbar(view.inventory, view.active, u), middle, bottom - 8 * u, "mb")
    assert view.pose is not None
    canvas.put(widgets.compass(round(view.pose[3]) % 360, u), middle, top + 8 * u, "mt")


@widgets.kept(24)
def _panel(title: str, u: float, grid: BlockGrid | None, **options: Any) -> Image.Image:
    """Return a framed orbit view, cached while nothing in it moves; empty without a grid."""
    if grid is None:
        return widgets.framed(np.full((*options["size"], 3), PANEL, np.uint8), title, u)
    aside = None if options.get("ghost") is None else widgets.legend(u)
    return widgets.framed(orbit.orbit_view(grid, **options), title, u, aside)


def _add_header(canvas: Canvas, view: BuilderView, known: Mapping[str, Any]) -> None:
    """Add the progress at the right, the facts left of it as far as they have room, and the title."""
    u, gap, free = canvas.u, canvas.gap, float(canvas.width)
    if known.get("intersection") is not None and known.get("target_blocks"):
        complete = bool(known.get("complete"))
        bar = widgets.score_bar(known["intersection"], known["target_blocks"], complete, u)
        free = canvas.put(bar, free - gap, gap, "rt")[0]
    for count in range(len(view.facts)):  # the last facts matter most
        plate = widgets.facts(view.facts[count:], u)
        if plate.shape[1] < 0.62 * canvas.width:
            free = canvas.put(plate, free - 4 * u, gap, "rt")[0]
            break
    title = str(known.get("title") or "Architect & builder")
    canvas.put(widgets.title_line(title, max(1, round(free - 2 * gap)), u), gap + 2 * u, gap)


def _box(left: int, top: int, right: int, bottom: int) -> Box:
    return left, top, max(right, left + 8), max(bottom, top + 8)


def _boxes(canvas: Canvas) -> tuple[Box, Box, Box, Box]:
    """Return the boxes of the builder's view, the build, the target, and the dialogue.

    In a wide picture, build and target stand one above the other at the right, in a tall one side by side.
    """
    gap, top = canvas.gap, round(52 * canvas.u)
    right, bottom = canvas.width - gap, canvas.height - gap
    if canvas.width > 1.15 * canvas.height:
        tall = (bottom - top - gap) // 2
        left = right - min(round(0.36 * canvas.width), round(1.35 * tall))
        talk = bottom - round(0.34 * (bottom - top))
        build, target = _box(left, top, right, top + tall), _box(left, bottom - tall, right, bottom)
        return _box(gap, top, left - gap, talk - gap), build, target, _box(gap, talk, left - gap, bottom)
    wide, talk = (right - 2 * gap) // 2, bottom - round(0.18 * canvas.height)
    low = talk - gap
    high = low - min(round(0.75 * wide), (low - top) // 2)
    build, target = _box(gap, high, gap + wide, low), _box(right - wide, high, right, low)
    return _box(gap, top, right, high - gap), build, target, _box(gap, talk, right, bottom)


def _short(value: Any) -> str:
    text = f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)
    return text[:_FACT_LIMIT]
