"""A page that replays a game in any browser: one HTML file that needs no network and no other file.

`ReplayRecorder` collects a game, as `on_step` of `iglu_marl.play` or moment by moment. Its `data` is JSON-ready;
`replay_page` puts such data into the page, `write_replay` and `read_replay` store it in files.

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
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError
from iglu_marl.core.files import write_text
from iglu_marl.core.grid import BlockGrid, as_grid, cells_of, grid_to_blocks, in_zone, index_of
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.rendering.moment import moment_of
from iglu_marl.rendering.palette import block_color
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
            "colors": ["#{:02x}{:02x}{:02x}".format(*block_color(color)) for color in range(1, 7)],
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
        """Write the page (.html) or the data alone (.json), as `write_replay`."""
        return write_replay(path, self.data)

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in an iframe."""
        return (
            f'<iframe srcdoc="{html.escape(replay_page(self.data))}" sandbox="allow-scripts"'
            ' style="width: 100%; height: 720px; border: 0"></iframe>'
        )


# ------------------------------------------------------------------------------------------------------ files


def replay_page(data: Mapping[str, Any]) -> str:
    """Return the page of a replay. Raises `RenderError` if `data` is not a valid replay."""
    check_replay(data)
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


def write_replay(path: str | os.PathLike[str], data: Mapping[str, Any]) -> Path:
    """Write a replay as a page (.html) or as data (.json), and return the path.

    Raises `RenderError` if the data is invalid, the suffix is another one, or the file cannot be written.
    """
    final = checked_name(path, ".html", ".json")
    if final.suffix.lower() == ".html":
        text = replay_page(data)
    else:
        check_replay(data)
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return write_text(final, text, RenderError)


def read_replay(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the data of a replay from a .json file or from a page.

    Raises `RenderError` if the file cannot be read or holds no valid replay.
    """
    file = Path(path)
    content = read_file(file, _FILE_LIMIT, RenderError, page=True)
    with wrap_errors(str(file), RenderError):
        text = content.decode("utf-8")
    if file.suffix.lower() in (".html", ".htm"):
        text = text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    with wrap_errors(str(file), RenderError):
        data = parse_json(text, f"{file} holds no replay", RenderError, verbatim=True)
        check_replay(data, str(file))
        return dict(data)


# --------------------------------------------------------------------------------------------------- checking


_FILE_LIMIT = 1024 * MIB  # bytes
_LIST = (list, tuple)
_KINDS: dict[str, tuple[type, ...]] = {
    "title": (str,), "moments": (int,), "runs": (Mapping,), "poses": _LIST, "start": _LIST, "edits": _LIST,
    "dialogue": _LIST, "grids": _LIST, "colors": _LIST,
}  # fmt: skip


def check_replay(data: Any, name: str = "the replay") -> None:
    """Raise `RenderError`, naming the place, for data that a page cannot show."""

    def need(fits: bool, what: str, value: Any, expected: str) -> None:
        if not fits:
            raise RenderError(f"{what} of {name} is {value!r:.80}, expected {expected}")

    found = data if isinstance(data, Mapping) else {}
    for key, only in (("format", FORMAT), ("version", VERSION)):
        if found.get(key) != only:
            raise RenderError(f"{name} has the {key} {found.get(key)!r:.60}, expected {only!r}")
    for key, kind in _KINDS.items():
        need(isinstance(data.get(key), kind), repr(key), data.get(key), f"a {kind[0].__name__}")
    moments, poses, colors = data["moments"], data["poses"], data["colors"]
    if moments < 1:
        raise RenderError(f"{name} has no moments")
    need(len(poses) == moments, "the number of poses", len(poses), f"that of moments, {moments}")
    for number, pose in enumerate(poses):
        need(_is_row(pose, 5, int, float), f"pose {number}", pose, "five numbers")
    if "others" in data:
        rows = data["others"]
        need(isinstance(rows, _LIST) and len(rows) == moments, "'others'", rows, "a list of poses a moment")
        for poses in rows:
            fits = isinstance(poses, _LIST) and all(_is_row(pose, 5, int, float) for pose in poses)
            need(fits, "a row of 'others'", poses, "poses of five numbers")
    for number, line in enumerate(data["dialogue"]):
        need(_is_row(line, 2, str), f"utterance {number}", line, "a speaker and a text")
    hexadecimal = _is_row(colors, 6, str) and all(re.fullmatch("#[0-9a-f]{6}", color) for color in colors)
    need(hexadecimal, "'colors'", colors, "six texts like '#00a2e8'")
    for number, blocks in enumerate([data["start"], *data["grids"]]):
        what = f"grid {number - 1}" if number else "the start"
        need(isinstance(blocks, _LIST), what, blocks, "a list of blocks")
        for block in blocks:
            fits = _is_row(block, 4, int) and in_zone(*block[:3]) and 1 <= block[3] <= 6
            need(fits, f"a block in {what}", block, "x, y, z, colour id 1..6 in the zone")
    for link in data.get("links", ()):
        fits = (
            _is_row(link, 2, str)
            and re.fullmatch(r"(\.\./)?(\w[\w.-]*/)*\w[\w.-]*\.html", link[1]) is not None
        )
        need(fits, "a link", link, "a text and a relative page")
    last = 0
    for edit in data["edits"]:
        fits = _is_row(edit, 5, int) and in_zone(*edit[1:4]) and 0 <= edit[4] <= 6
        need(fits and last <= edit[0] < moments, "an edit", edit, "moment, x, y, z, colour id, in order")
        last = edit[0]
    for key, runs in data["runs"].items():
        need(key in STATUS + _PLACES, "a key of 'runs'", key, f"one of {', '.join(_PLACES + STATUS)}")
        need(isinstance(runs, _LIST), f"'runs' for {key!r}", runs, "a list")
        last = -1
        for run in runs:
            fits = (
                isinstance(run, _LIST) and len(run) == 2 and type(run[0]) is int and last < run[0] < moments
            )
            need(fits, f"a run for {key!r}", run, "a moment and a value, in order")
            last = run[0]
            fits, expected = _fits_run(key, run[1], data)
            need(fits, f"a run for {key!r}", run, expected)


def _is_row(value: Any, count: int, *kinds: type) -> bool:
    """Return whether a value is a list of `count` values of these types; floats must be finite."""
    if not isinstance(value, _LIST) or len(value) != count:
        return False
    return all(
        type(part) in kinds and not (type(part) is float and not math.isfinite(part)) for part in value
    )


def _fits_run(key: str, value: Any, data: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether a value may stand in the runs of a key, and what is expected there."""
    if key in _PLACES:
        most = len(data["dialogue"]) if key == "said" else len(data["grids"]) - 1
        fits = 0 <= value <= most if type(value) is int else value is None and key != "said"
        return fits, f"a value of 0..{most}"
    if key == "inventory":
        return _is_row(value, 6, int, float), "six numbers"
    if key == "time_s":
        return _is_row([value], 1, int, float), "seconds"
    return value is None or isinstance(value, (str, int, float, bool)), "a number or a text"
