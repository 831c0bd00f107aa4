"""What `render()` shows of an episode: a composed frame, or text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import COLOR_NAMES, MIN_Y, index_of
from iglu_marl.game.episode import EVENTS, Episode

if TYPE_CHECKING:
    from iglu_marl.rendering.screens import ArchitectSight, BuilderSight

LETTERS = ".bygopr"  # air, then the colours in the order of their ids


def status(episode: Episode) -> dict[str, Any]:
    """Where the episode stands: clocks, blocks, intersection, inventory."""
    worlds = episode.worlds
    return {
        "step": int(worlds.steps[0]),
        "max_steps": int(worlds.max_steps[0]),
        "turn": int(worlds.turns[0]),
        "max_turns": int(worlds.max_turns[0]),
        "floor": episode.floor.value,
        "intersection": int(worlds.best[0]),
        "target_blocks": int(worlds.target_blocks[0]),
        "complete": bool(worlds.terminated[0]),
        "inventory": [int(count) for count in worlds.seen_inventory[0]],
    }


def scene_frame(episode: Episode) -> npt.NDArray[np.uint8]:
    """The builder's eyes, the build with the target's ghost, the target, and the dialogue: uint8 [height, width, 3]."""
    return scene_picture(episode)


def scene_picture(
    episode: Episode, size: tuple[int, int] | None = None, title: str | None = None
) -> npt.NDArray[np.uint8]:
    """`scene_frame` in another size (height, width), or with a title."""
    from iglu_marl.rendering import composed_frame

    worlds = episode.worlds
    sized: dict[str, Any] = {} if size is None else {"size": size}
    return composed_frame(
        worlds.grid[0],
        pose=worlds.pose[0],
        dialogue=spoken(episode),
        target=worlds.target[0],
        aligned_target=worlds.aligned_target(0),
        status={**status(episode), **({} if title is None else {"title": title})},
        **sized,
    )


def spoken(episode: Episode) -> list[tuple[str, str]]:
    """The dialogue as (speaker, text)."""
    return [(utterance.role.value, utterance.text) for utterance in episode.dialogue]


class Onlooker:
    """The window of `render_mode="human"`: the builder's eyes, build and target, as someone sees it who watches all.

    Escape or its close button close it; the game goes on without it.
    """

    def __init__(self) -> None:
        from iglu_marl.rendering import Window
        from iglu_marl.rendering.screens import Gaze, Orbit

        self.window = Window()
        self.orbit = Orbit()
        self._gaze = Gaze()

    def show(self, episode: Episode) -> None:
        """Show the episode as it stands, and answer the window's events."""
        from iglu_marl.rendering.screens import Overlay, onlooker_screen

        window = self.window
        if not window.closed:
            window.open()
            builder, architect = onlooker_sights(episode)
            window.draw(onlooker_screen(builder, architect, window.size, Overlay(), self._gaze, self.orbit))
            window.pump()

    def close(self) -> None:
        """Close the window."""
        self.window.close()


def onlooker_sights(episode: Episode) -> tuple[BuilderSight, ArchitectSight]:
    """What an onlooker's screen is made from: all of the episode."""
    from iglu_marl.rendering.screens import ArchitectSight, BuilderSight

    now, worlds = status(episode), episode.worlds
    x, y, z, yaw, pitch = worlds.pose[0].tolist()
    build = worlds.grid[0].copy()
    facts = [("turn", str(now["turn"])), ("step", str(now["step"])), ("floor", now["floor"])]
    builder = BuilderSight(
        grid=build,
        pose=(x, y, z, yaw, pitch),
        inventory=tuple(now["inventory"]),
        active=int(worlds.active[0]),
        dialogue=spoken(episode),
        facts=tuple(facts),
    )
    architect = ArchitectSight(
        target=worlds.target[0].copy(),
        grid=build,
        aligned=worlds.aligned_target(0),
        pose=builder.pose,
        score=now["intersection"],
        goal=now["target_blocks"],
        done=now["complete"],
    )
    return builder, architect


def _rows(layer: npt.NDArray[np.int8], builder: tuple[int, int] | None) -> list[str]:
    """A layer seen from above, north up, west left."""
    rows = [[LETTERS[layer[ix, iz]] for ix in range(11)] for iz in range(11)]
    if builder is not None and 0 <= builder[0] <= 10 and 0 <= builder[1] <= 10:
        rows[builder[1]][builder[0]] = "@"
    return [" ".join(row) for row in rows]


def scene_text(episode: Episode) -> str:
    """The episode as text: clocks, dialogue, and the layers of build and target side by side (north up)."""
    now, worlds = status(episode), episode.worlds
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
