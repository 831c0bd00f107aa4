"""A page that replays a game in any browser: one HTML file that needs no network and no other file.

`ReplayRecorder` collects a game, as `on_step` of `iglu_marl.play` or moment by moment. Its `data` is JSON-ready;
`replay_page` puts such data into the page.

Every moment of a replay has a pose. Values that change more rarely are stored as runs `[moment, value]`; the last run
up to a moment is valid.

| key | value |
|---|---|
| `format`, `version`, `title` | texts and a number |
| `colors` | the six block colours, "#rrggbb" |
| `moments` | number of moments |
| `poses` | x, y, z of the eye (cells), yaw, pitch (degrees), one row a moment |
| `others` | optional: poses of the other builders, a list of rows a moment |
| `start` | blocks [x, y, z, colour id] before the first moment |
| `edits` | [moment, x, y, z, colour id], id 0 for a removal, in order |
| `dialogue` | [speaker, text], in order |
| `grids` | lists of blocks, for targets and ghosts |
| `runs` | `said` (number of utterances so far), `target` and `ghost` (indices into `grids`, or null), and the status |
| `links` | optional: [text, relative address] of pages that are linked beside the title |
"""

from __future__ import annotations

import html
import importlib.resources
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError
from iglu_marl.core.files import write_text
from iglu_marl.core.grid import BlockGrid, as_grid, cells_of, grid_to_blocks, index_of
from iglu_marl.rendering.moment import moment_of
from iglu_marl.rendering.palette import HEX_COLORS
from iglu_marl.rendering.renderer import check_pose
from iglu_marl.rendering.video import checked_name

FORMAT, VERSION = "iglu_marl replay", 1
STATUS = (
    "step", "max_steps", "turn", "max_turns", "floor", "intersection", "target_blocks", "complete", "over",
    "inventory", "active", "time_s",
)  # fmt: skip
"""Optional values of a moment besides grid, pose and dialogue.

With `time_s` (seconds), the page plays at the pace of the game; pauses of more than a second are shortened. Without
it, each moment takes 1/20 s, and one with a new utterance longer.
"""

_EMPTY: BlockGrid = np.zeros((9, 11, 11), np.int8)
_PLACES = ("said", "target", "ghost")


class ReplayRecorder:
    """Collect the moments of one game: `play(env, agents, on_step=recorder)`, then `recorder.write("game.html")`.

    It reads `env.unwrapped.episode` and changes nothing. When a new episode starts, the recording starts again. Games
    from other sources are added moment by moment with `add`.

    Args:
        title: shown on the page; default: the task's name.

    """

    def __init__(self, title: str | None = None) -> None:
        self.title = title
        self.clear()

    def clear(self) -> None:
        """Discard all moments."""
        self._name = ""
        self._clock = 0
        self._poses: list[list[float]] = []
        self._others: list[list[list[float]]] = []
        self._edits: list[list[int]] = []
        self._start: list[list[int]] = []
        self._grid = _EMPTY
        self._dialogue: list[tuple[str, str]] = []
        self._grids: list[list[list[int]]] = []
        self._place_of: dict[bytes, int] = {}
        self._runs: dict[str, list[list[Any]]] = {}

    @property
    def moments(self) -> int:
        """Number of moments so far."""
        return len(self._poses)

    def __call__(self, env: Any) -> None:
        """Add the current moment of an environment of this package, wrapped or not."""
        episode = env.unwrapped.episode
        moment = moment_of(episode)
        clock, said = moment["status"]["step"] + moment["status"]["turn"], moment["dialogue"]
        if clock < self._clock or said[: len(self._dialogue)] != self._dialogue:
            self.clear()
        self._clock = clock
        self._name = str(getattr(episode.task, "task_id", None) or "")
        self.add(**moment)

    def add(
        self,
        grid: npt.ArrayLike,
        pose: Sequence[float] | npt.NDArray[np.floating[Any]],
        *,
        others: Sequence[Sequence[float]] = (),
        dialogue: Sequence[tuple[str, str]] = (),
        target: npt.ArrayLike | None = None,
        aligned_target: npt.ArrayLike | None = None,
        status: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a moment.

        Raises `GridError` if a grid is invalid, `RenderError` if the pose, the dialogue or a key of the status is
        invalid.

        Args:
            grid: the build [9, 11, 11].
            pose: the eye's x, y, z (cells), yaw and pitch (degrees).
            others: poses of the other builders.
            dialogue: all utterances so far, as (speaker, text).
            target: the target [9, 11, 11].
            aligned_target: the target as it lies over the build; the page shows it as a ghost.
            status: values by keys of `STATUS`.

        """
        build = as_grid(grid)
        eye = check_pose(pose)
        facts = dict(status or {})
        if unknown := facts.keys() - set(STATUS):
            raise RenderError(f"status has {sorted(unknown)!r}, expected keys of {', '.join(STATUS)}")
        said = [(str(speaker), str(text)) for speaker, text in dialogue]
        facts |= {
            "target": self._kept(target, "target"),
            "ghost": self._kept(aligned_target, "aligned_target"),
        }
        moment = len(self._poses)
        if said[: len(self._dialogue)] == self._dialogue:
            self._dialogue = said
        elif self._dialogue[: len(said)] != said:
            raise RenderError(f"the dialogue of moment {moment} does not continue the one before it")
        facts["said"] = len(said)
        if not moment:
            self._start = [list(block) for block in grid_to_blocks(build)]
        else:
            self._note_edits(build, moment)
        self._grid = build
        self._poses.append([round(value, 3) for value in eye])
        self._others.append([[round(value, 3) for value in check_pose(one)] for one in others])
        for name, value in facts.items():
            runs = self._runs.setdefault(name, [])
            if not runs or runs[-1][1] != value:
                runs.append([moment, value])

    def _kept(self, grid: npt.ArrayLike | None, name: str) -> int | None:
        """Return the index of a grid among those of the page; equal grids are stored once."""
        if grid is None:
            return None
        cells = as_grid(grid, name)
        key = cells.tobytes()
        if key not in self._place_of:
            self._place_of[key] = len(self._grids)
            self._grids.append([list(block) for block in grid_to_blocks(cells)])
        return self._place_of[key]

    def _note_edits(self, build: BlockGrid, moment: int) -> None:
        for cell in cells_of(build != self._grid).tolist():
            self._edits.append([moment, *cell, int(build[index_of(cell)])])

    @property
    def data(self) -> dict[str, Any]:
        """The recording so far, JSON-ready."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title or self._name or "Architect & builder",
            "colors": [*HEX_COLORS],
            "moments": len(self._poses),
            "poses": [list(pose) for pose in self._poses],
            **({"others": [[*poses] for poses in self._others]} if any(self._others) else {}),
            "start": self._start,
            "edits": [list(edit) for edit in self._edits],
            "dialogue": [list(line) for line in self._dialogue],
            "grids": self._grids,
            "runs": {name: [list(run) for run in runs] for name, runs in self._runs.items()},
        }

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page (.html), and return the path.

        Raises `RenderError` if there are no moments, the suffix is another one, or the file cannot be written.
        """
        return write_text(checked_name(path, ".html"), replay_page(self.data), RenderError)

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in an iframe."""
        return (
            f'<iframe srcdoc="{html.escape(replay_page(self.data))}" sandbox="allow-scripts"'
            ' style="width: 100%; height: 720px; border: 0"></iframe>'
        )


# ------------------------------------------------------------------------------------------------------ pages


def replay_page(data: Mapping[str, Any]) -> str:
    """Return the page of a replay. Raises `RenderError` if it has no moments."""
    if not data["moments"]:
        raise RenderError("the replay has no moments")
    return filled_page("replay.html", data["title"], data)


def filled_page(template: str, title: str, data: Mapping[str, Any]) -> str:
    """Return a template of this folder, filled with title, data, style and drawing code."""
    folder = importlib.resources.files(__package__)
    # only these letters could end the script element
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    parts = {
        "title": html.escape(title).encode("ascii", "xmlcharrefreplace").decode("ascii"),
        "data": text,
        "style": folder.joinpath("style.css").read_text(encoding="utf-8"),
        "drawing": folder.joinpath("drawing.js").read_text(encoding="utf-8"),
    }
    page = folder.joinpath(template).read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], page)  # one pass: values stay as they are
