"""Frames and text of `render()`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import COLOR_NAMES, MIN_Y, index_of
from iglu_marl.game.episode import EVENTS, Episode
from iglu_marl.rendering.moment import moment_of, status_of

LETTERS = ".bygopr"  # air, then the colours in the order of their ids


def scene_frame(episode: Episode) -> npt.NDArray[np.uint8]:
    """Return a frame of the builder's view, build, target and dialogue: uint8 [height, width, 3]."""
    from iglu_marl.rendering import composed_frame

    return composed_frame(**moment_of(episode))


class RenderWindow:
    """The window of `render_mode="human"`.

    Escape or the close button close it; the game continues without it.
    """

    def __init__(self) -> None:
        from iglu_marl.rendering import Window

        self.window = Window()

    def show(self, episode: Episode) -> None:
        """Show the episode, and handle the window's events."""
        from iglu_marl.rendering.ui.composed import frame_layers

        window = self.window
        if not window.closed:
            window.open()
            window.draw(frame_layers(moment_of(episode), window.size))
            window.pump()

    def close(self) -> None:
        """Close the window."""
        self.window.close()


def _rows(layer: npt.NDArray[np.int8], builder: tuple[int, int] | None) -> list[str]:
    rows = [[LETTERS[layer[ix, iz]] for ix in range(11)] for iz in range(11)]
    if builder is not None and 0 <= builder[0] <= 10 and 0 <= builder[1] <= 10:
        rows[builder[1]][builder[0]] = "@"
    return [" ".join(row) for row in rows]


def scene_text(episode: Episode) -> str:
    """Return the episode as text: clocks, dialogue, and the layers of build and target side by side."""
    now, worlds = status_of(episode), episode.worlds
    blocks, event = int(worlds.blocks[0]), EVENTS[worlds.event[0]]
    x, y, z, yaw, pitch = (float(value) for value in worlds.pose[0])
    limit = f"/{now['max_steps']}" if now["max_steps"] else ""
    lines = [
        f"step {now['step']}{limit}, turn {now['turn']}, floor: {now['floor']}",
        f"intersection {now['intersection']} of {now['target_blocks']}, {blocks} blocks in the build",
        f"builder at x {x:.2f}, y {y:.2f}, z {z:.2f}, yaw {yaw:.0f}, pitch {pitch:.0f}; last: {event}",
        "",
        episode.dialogue.text or "(nothing said yet)",
    ]
    build, target = worlds.grid[0], worlds.aligned_target(0)
    feet = round(y - 1)  # the layer of the builder's legs
    _, ix, iz = index_of((round(x), feet, round(z)))
    for iy in range(9):
        if iy and not (build[iy].any() or target[iy].any() or feet == iy + MIN_Y):
            continue
        left, right = _rows(build[iy], (ix, iz) if feet == iy + MIN_Y else None), _rows(target[iy], None)
        lines += ["", f"{f'build, y = {iy + MIN_Y}':25}target"]
        lines += [f"{a}    {b}" for a, b in zip(left, right, strict=True)]
    key = ", ".join(f"{letter} {name}" for letter, name in zip(LETTERS, COLOR_NAMES, strict=True))
    return "\n".join([*lines, "", f"{key}, @ builder"])
