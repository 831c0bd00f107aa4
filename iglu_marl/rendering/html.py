"""A page that replays a game in any browser: one HTML file that needs no network and no other file.

`ReplayRecorder` collects a game, as `on_step` of `iglu_marl.play` or moment by moment; its `data` is plain and
JSON-ready, `replay_page` puts such data into the page, `write_replay` and `read_replay` keep it in files.

Data of a replay (`FORMAT`, `VERSION`): every moment has a pose; everything that changes more rarely is kept as
runs `[moment, value]`, of which the last one up to a moment counts.

| key | value |
|---|---|
| `format`, `version`, `title` | texts and a number |
| `colors` | the six block colours, "#rrggbb" |
| `moments` | how many there are |
| `poses` | x, y, z of the eye (cells), yaw, pitch (degrees), one row a moment |
| `start` | blocks [x, y, z, colour id] before the first moment |
| `edits` | [moment, x, y, z, colour id], id 0 for a removal, in order |
| `dialogue` | [speaker, text], in order |
| `grids` | lists of blocks, for targets and ghosts |
| `runs` | `said` (utterances heard so far), `target` and `ghost` (places in `grids`, or null), and the status |
"""

from __future__ import annotations

import html
import importlib.resources
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError
from iglu_marl.core.files import write_text
from iglu_marl.core.grid import BlockGrid, as_grid, grid_to_blocks, in_zone
from iglu_marl.rendering.plans import block_color
from iglu_marl.rendering.video import checked_name

FORMAT, VERSION = "iglu_marl replay", 1
STATUS = (
    "step", "max_steps", "turn", "max_turns", "floor", "intersection", "target_blocks", "complete", "over",
    "inventory", "active", "time_s",
)  # fmt: skip
"""What a moment may tell besides grid, pose and dialogue; all of it is optional.

With `time_s`, seconds since some beginning, the page plays at the pace of the game (pauses of more than a second
are cut short); else each moment takes a twentieth of a second, and one with new words longer.
"""

_EMPTY: BlockGrid = np.zeros((9, 11, 11), np.int8)
_PLACES = ("said", "target", "ghost")


class ReplayRecorder:
    """Collects the moments of one game: `play(env, agents, on_step=recorder)`, then `recorder.write("game.html")`.

    It looks at `env.unwrapped.episode` and changes nothing. A new episode (clocks that go back, other words)
    begins a new recording. Games that come from elsewhere are told moment by moment, with `add`. `title` is
    shown on the page; by default it is the task's name.
    """

    def __init__(self, title: str | None = None) -> None:
        self.title = title
        self.clear()

    def clear(self) -> None:
        """Forget what was collected."""
        self._name = ""
        self._clock = 0
        self._poses: list[list[float]] = []
        self._edits: list[list[int]] = []
        self._start: list[list[int]] = []
        self._grid = _EMPTY
        self._dialogue: list[tuple[str, str]] = []
        self._grids: list[list[list[int]]] = []
        self._place_of: dict[bytes, int] = {}
        self._runs: dict[str, list[list[Any]]] = {}

    @property
    def moments(self) -> int:
        """How many moments were collected."""
        return len(self._poses)

    def __call__(self, env: Any) -> None:
        """Add the present moment of an environment of this package, wrapped or not."""
        episode = env.unwrapped.episode
        worlds = episode.worlds
        steps, turns = int(worlds.steps[0]), int(worlds.turns[0])
        said = [(utterance.role.value, utterance.text) for utterance in episode.dialogue]
        if steps + turns < self._clock or said[: len(self._dialogue)] != self._dialogue:
            self.clear()
        self._clock = steps + turns
        self._name = str(getattr(episode.task, "task_id", None) or "")
        self.add(
            worlds.grid[0],
            worlds.pose[0],
            dialogue=said,
            target=worlds.target[0],
            aligned_target=worlds.aligned_target(0),
            status={
                "step": steps,
                "max_steps": int(worlds.max_steps[0]),
                "turn": turns,
                "max_turns": int(worlds.max_turns[0]),
                "floor": str(episode.floor.value),
                "intersection": int(worlds.best[0]),
                "target_blocks": int(worlds.target_blocks[0]),
                "complete": bool(worlds.terminated[0]),
                "over": bool(worlds.terminated[0] or worlds.truncated[0]),
                "inventory": [int(count) for count in worlds.seen_inventory[0]],
                "active": int(worlds.active[0]),
            },
        )

    def add(
        self,
        grid: npt.ArrayLike,
        pose: Sequence[float] | npt.NDArray[np.floating[Any]],
        *,
        dialogue: Sequence[tuple[str, str]] = (),
        target: npt.ArrayLike | None = None,
        aligned_target: npt.ArrayLike | None = None,
        status: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a moment: the build [9, 11, 11], the eye's pose (x, y, z, yaw, pitch), all that was said so far.

        `aligned_target` is the target as it lies over the build (a ghost on the page), `status` has keys of
        `STATUS`. Raises `GridError` for bad grids and `RenderError` for bad poses, texts or keys.
        """
        build = as_grid(grid)
        place = [float(value) for value in pose]
        if len(place) != 5 or not all(map(math.isfinite, place)):
            raise RenderError(f"pose is {pose!r:.80}, expected x, y, z, yaw, pitch")
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
            raise RenderError(f"the dialogue of moment {moment} does not go on from the one before it")
        facts["said"] = len(said)
        if not moment:
            self._start = [list(block) for block in grid_to_blocks(build)]
        else:
            self._note_edits(build, moment)
        self._grid = build
        self._poses.append([round(value, 3) for value in place])
        for name, value in facts.items():
            runs = self._runs.setdefault(name, [])
            if not runs or runs[-1][1] != value:
                runs.append([moment, value])

    def _kept(self, grid: npt.ArrayLike | None, name: str) -> int | None:
        """The place of a grid among those of the page; each is stored once."""
        if grid is None:
            return None
        cells = as_grid(grid, name)
        key = cells.tobytes()
        if key not in self._place_of:
            self._place_of[key] = len(self._grids)
            self._grids.append([list(block) for block in grid_to_blocks(cells)])
        return self._place_of[key]

    def _note_edits(self, build: BlockGrid, moment: int) -> None:
        for iy, ix, iz in np.argwhere(build != self._grid).tolist():
            self._edits.append([moment, ix - 5, iy - 1, iz - 5, int(build[iy, ix, iz])])

    @property
    def data(self) -> dict[str, Any]:
        """What was collected so far, as plain JSON-ready data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title or self._name or "Architect & builder",
            "colors": ["#{:02x}{:02x}{:02x}".format(*block_color(color)) for color in range(1, 7)],
            "moments": len(self._poses),
            "poses": [list(pose) for pose in self._poses],
            "start": self._start,
            "edits": [list(edit) for edit in self._edits],
            "dialogue": [list(line) for line in self._dialogue],
            "grids": self._grids,
            "runs": {name: [list(run) for run in runs] for name, runs in self._runs.items()},
        }

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page (.html) or the data alone (.json); see `write_replay`."""
        return write_replay(path, self.data)


# ------------------------------------------------------------------------------------------------------ files


def replay_page(data: Mapping[str, Any]) -> str:
    """The page for the data of a replay. Raises `RenderError` for data that is none."""
    check_replay(data)
    template = importlib.resources.files(__package__).joinpath("replay.html").read_text(encoding="utf-8")
    # In a script element only these could end it, or end the line of a script.
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    before, _, rest = template.partition("{{title}}")
    between, _, after = rest.partition("{{data}}")
    title = html.escape(data["title"]).encode("ascii", "xmlcharrefreplace").decode("ascii")
    return "".join([before, title, between, text, after])


def write_replay(path: str | os.PathLike[str], data: Mapping[str, Any]) -> Path:
    """Write the data of a replay as a page (.html) or as data (.json), and return the path.

    Raises `RenderError` for data that is none, other suffixes, folders that do not exist, and files that cannot be
    written.
    """
    final = checked_name(path, ".html", ".json")
    if final.suffix.lower() == ".html":
        text = replay_page(data)
    else:
        check_replay(data)
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return write_text(final, text, RenderError)


def read_replay(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The data of a replay from a .json file, or from a page. Raises `RenderError` when it holds none."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RenderError(f"{file} cannot be read: {error}") from None
    if file.suffix.lower() in (".html", ".htm"):
        text = text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    try:
        data = json.loads(text)
    except ValueError as error:
        raise RenderError(f"{file} holds no replay: {error}") from None
    check_replay(data, str(file))
    return dict(data)


# --------------------------------------------------------------------------------------------------- checking


def check_replay(data: Any, name: str = "the replay") -> None:
    """Raises `RenderError`, naming the place, for data that a page cannot show."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        got = data.get("format") if isinstance(data, Mapping) else type(data).__name__
        raise RenderError(f"{name} has the format {got!r:.60}, expected {FORMAT!r}")
    if data.get("version") != VERSION:
        raise RenderError(f"{name} has version {data.get('version')!r:.40}, expected {VERSION}")
    for key, kind in (("title", str), ("moments", int), ("runs", Mapping)):
        if not isinstance(data.get(key), kind):
            raise RenderError(f"{key!r} of {name} is {data.get(key)!r:.60}, expected a {kind.__name__}")
    moments = data["moments"]
    if moments < 1:
        raise RenderError(f"{name} has no moments")
    poses = _list(data, "poses", name)
    if len(poses) != moments:
        raise RenderError(f"{name} has {len(poses)} poses for {moments} moments")
    for number, pose in enumerate(poses):
        if not _numbers(pose, 5):
            raise RenderError(f"pose {number} of {name} is {pose!r:.80}, expected five numbers")
    _check_texts(data, name)
    _check_blocks(_list(data, "start", name), f"start of {name}")
    for number, grid in enumerate(_list(data, "grids", name)):
        _check_blocks(grid, f"grid {number} of {name}")
    last = 0
    for edit in _list(data, "edits", name):
        whole = isinstance(edit, Sequence) and len(edit) == 5 and all(type(value) is int for value in edit)
        if not whole or not (last <= edit[0] < moments and in_zone(*edit[1:4]) and 0 <= edit[4] <= 6):
            raise RenderError(
                f"an edit of {name} is {edit!r:.80}, expected moment, x, y, z, colour id, in order"
            )
        last = edit[0]
    for key, runs in data["runs"].items():
        _check_runs(key, runs, data, name)


def _list(data: Mapping[str, Any], key: str, name: str) -> Sequence[Any]:
    value = data.get(key)
    if not isinstance(value, (list, tuple)):
        raise RenderError(f"{key!r} of {name} is {value!r:.60}, expected a list")
    return value


def _numbers(value: Any, count: int) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) == count
        and all(type(part) in (int, float) and math.isfinite(part) for part in value)
    )


def _check_texts(data: Mapping[str, Any], name: str) -> None:
    for number, line in enumerate(_list(data, "dialogue", name)):
        if not isinstance(line, (list, tuple)) or len(line) != 2 or not all(isinstance(t, str) for t in line):
            raise RenderError(f"utterance {number} of {name} is {line!r:.80}, expected a speaker and a text")
    colors = _list(data, "colors", name)
    if len(colors) != 6 or not all(_is_color(color) for color in colors):
        raise RenderError(f"'colors' of {name} is {colors!r:.80}, expected six texts like '#00a2e8'")


def _is_color(value: Any) -> bool:
    digits = "0123456789abcdef"
    return isinstance(value, str) and len(value) == 7 and value[0] == "#" and set(value[1:]) <= set(digits)


def _check_blocks(blocks: Any, name: str) -> None:
    if not isinstance(blocks, (list, tuple)):
        raise RenderError(f"{name} is {blocks!r:.60}, expected a list of blocks")
    for block in blocks:
        whole = isinstance(block, (list, tuple)) and len(block) == 4 and all(type(v) is int for v in block)
        if not whole or not in_zone(*block[:3]) or not 1 <= block[3] <= 6:
            raise RenderError(
                f"{name} has the block {block!r:.60}, expected x, y, z, colour id 1..6 in the zone"
            )


def _check_runs(key: Any, runs: Any, data: Mapping[str, Any], name: str) -> None:
    if key not in STATUS + _PLACES:
        raise RenderError(f"{name} has runs of {key!r:.60}, expected {', '.join(_PLACES + STATUS)}")
    if not isinstance(runs, (list, tuple)):
        raise RenderError(f"the runs of {key} of {name} are {runs!r:.60}, expected a list")
    last = -1
    for run in runs:
        pair = isinstance(run, (list, tuple)) and len(run) == 2 and type(run[0]) is int
        if not pair or not last < run[0] < data["moments"]:
            raise RenderError(
                f"a run of {key} of {name} is {run!r:.60}, expected a moment and a value, in order"
            )
        last, value = run
        most = len(data["dialogue"]) if key == "said" else len(data["grids"]) - 1
        none = key in ("target", "ghost") and value is None
        if key in _PLACES and not none and (type(value) is not int or not 0 <= value <= most):
            raise RenderError(f"a run of {key} of {name} is {run!r:.60}, expected values of 0..{most}")
        if key == "inventory" and not _numbers(value, 6):
            raise RenderError(f"a run of {key} of {name} is {run!r:.60}, expected six numbers")
        if key == "time_s" and not _numbers([value], 1):
            raise RenderError(f"a run of {key} of {name} is {run!r:.60}, expected seconds")
        plain = value is None or isinstance(value, (str, int, float, bool))
        if key in STATUS and key != "inventory" and not plain:
            raise RenderError(f"a run of {key} of {name} is {run!r:.60}, expected a number or a text")
