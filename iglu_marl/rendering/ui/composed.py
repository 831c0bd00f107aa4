"""From plain arrays to an onlooker's view of a game: the views of a screen, or one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import as_grid
from iglu_marl.rendering.renderer import Picture, check_pose, check_size
from iglu_marl.rendering.ui.layers import composite
from iglu_marl.rendering.ui.screens import ArchitectView, BuilderView, onlooker_screen

FRAME_SIZE, MIN_FRAME_SIZE = (540, 960), (270, 480)

_FACT_LIMIT = 40  # characters
_LIMITS = {"turn": "max_turns", "step": "max_steps"}
_PLACED = {"title", "intersection", "target_blocks", "complete", "over", "floor", "inventory", "active"}
_PLACED |= {*_LIMITS, *_LIMITS.values()}


class GameViews(NamedTuple):
    """The arguments of `onlooker_screen`."""

    builder: BuilderView
    architect: ArchitectView
    title: str


def game_views(
    grid: npt.ArrayLike,
    *,
    pose: Sequence[float] | npt.NDArray[np.floating[Any]],
    others: Sequence[Sequence[float]] = (),
    dialogue: Sequence[tuple[str, str]] = (),
    target: npt.ArrayLike | None = None,
    aligned_target: npt.ArrayLike | None = None,
    status: Mapping[str, Any] | None = None,
) -> GameViews:
    """Return the arguments of `composed_frame` as the views of a screen."""
    build = as_grid(grid)
    eye = check_pose(pose)
    if status is not None and not isinstance(status, Mapping):
        raise RenderError(f"status is {status!r:.60}, expected a mapping or None")
    facts = dict(status or {})
    shown = {name: value for name, value in facts.items() if name not in _PLACED}
    shown |= {} if facts.get("floor") is None else {"turn of": str(facts["floor"]).lower()}
    for name, limit in _LIMITS.items():
        if facts.get(name) is not None:
            most = f" / {_short(facts[limit])}" if facts.get(limit) else ""
            shown[name] = _short(facts[name]) + most
    named = tuple((_short(name).replace("_", " "), _short(value)) for name, value in shown.items())
    inventory = facts.get("inventory")
    builder = BuilderView(
        grid=build,
        pose=eye,
        inventory=None if inventory is None else tuple(int(count) for count in np.ravel(inventory)[:6]),
        active=int(facts.get("active") or 0),
        dialogue=dialogue,
        facts=named,
        others=tuple(map(check_pose, others)),
    )
    architect = ArchitectView(
        target=None if target is None else as_grid(target, "target"),
        grid=build,
        aligned_target=None if aligned_target is None else as_grid(aligned_target, "aligned_target"),
        pose=eye,
        others=builder.others,
        dialogue=dialogue,
        intersection=facts.get("intersection"),
        target_blocks=facts.get("target_blocks") or 0,
        complete=bool(facts.get("complete")),
        facts=named,
    )
    return GameViews(builder, architect, str(facts.get("title") or "Architect & builder"))


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
    """Return a picture uint8[height, width, 3] of the whole game: the onlooker's screen, as in a window.

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
    views = game_views(
        grid,
        pose=pose,
        others=others,
        dialogue=dialogue,
        target=target,
        aligned_target=aligned_target,
        status=status,
    )
    double = 2 * height, 2 * width  # for smooth text
    screen = onlooker_screen(*views, double, smoothing=1)
    return np.array(composite(screen, double, smoothing=1).reduce(2))


def _short(value: Any) -> str:
    text = f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)
    return text[:_FACT_LIMIT]
