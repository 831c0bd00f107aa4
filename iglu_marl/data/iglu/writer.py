"""Writer of the IGLU multi-turn layout (see `multiturn`): `write_sessions(folder, sessions)`.

It writes dialogs.csv and builder-data/<session>/step-N with action logs: the changes of blocks and, in sessions that
`EpisodeRecorder` makes of episodes, the builder's movements and aims.

The layout cannot hold every dialogue: a world before the first turn, a turn that the builder opens or in which the
architect is silent, a turn that ends with an empty world, "$" and control characters. Other readers see such a turn
changed. Our own column `ExactTurns` keeps such sessions unchanged for `iglu_marl.data.read_sessions`.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import new_folder
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, Color, cells_of, color_at, grid_to_blocks
from iglu_marl.core.kernels.ray import gaze
from iglu_marl.core.task import Subtasks
from iglu_marl.data.iglu.multiturn import ANSWER, EXACT, QUESTION, TABLE, WORLDS, structure_of
from iglu_marl.data.iglu.multiturn_dataset import in_ids
from iglu_marl.data.iglu.trajectory import RECORDED_EYE_HEIGHT, START_POSITION
from iglu_marl.data.iglu.world_files import FLOOR_Y, LOG_KEY, VOXEL_OF_COLOR
from iglu_marl.data.report import Report, SkipReason
from iglu_marl.data.situations import EYE_HEIGHT
from iglu_marl.data.task_fields import block_fields, turn_fields

COLUMNS = (
    "PartitionKey RowKey StepId structureId attemptId Role IsHITQualified WorkerId Timestamp instruction views "
    "IsBuiltStructureComplete InputInstruction InputViews InputScreenshotPath IsInstructionClear "
    f"{QUESTION} InputClarifyingQuestion IsClarifyingQuestionClear {ANSWER} InputAnswer4ClarifyingQuestion "
    "IsInstructionQAClear"
).split()
_NAME = re.compile(r"(?!\.{1,2}$)[\w.-]{1,200}")  # a folder name on any file system
_STRUCTURE = re.compile(r"[\w.-]+")

_CAMERA_DISTANCE = 4.0  # of the third-person camera behind the eye

Pose = tuple[float, float, float, float, float]  # eye x, y, z (cells), yaw, pitch (degrees)
Movements = Sequence[tuple[Pose, BlockGrid]]  # pose and world after each step of the builder; empty: unknown
Turn = tuple[Sequence[Utterance], BlockGrid, Movements]  # utterances, the world after them, and the way to it
# Utterances from the architect's on, and the turns that they stand for.
LayoutTurn = tuple[list[Utterance], list[Turn]]


class WriteSkip(SkipReason):
    """Why a session is left out."""

    NO_TURNS = "a session without an utterance of the architect; it is left out"


class _RecordedSession(Subtasks):
    """A session with the builder's movements in each turn."""

    movements: tuple[Movements, ...]


class EpisodeRecorder:
    """Records an episode turn by turn: `play(env, agents, on_step=recorder)`, then `recorder.session(...)`.

    A turn ends when the architect speaks again after the builder changed the world. Utterances after the last change
    belong to no turn, as in the layout, unless they are the architect's first.
    """

    def __init__(self) -> None:
        self._forget(None)

    def _forget(self, episode: Any) -> None:
        self._episode = episode
        self._turns: list[Turn] = []
        self._heard = 0
        self._words: list[Utterance] = []
        self._movements: list[tuple[Pose, BlockGrid]] = []
        start = np.zeros(ZONE_SHAPE, np.int8) if episode is None else episode.worlds.grid[0].copy()
        self._start = self._turn_start = self._world = start  # first; before the open turn; now
        self._steps = -1

    def __call__(self, env: Any) -> None:
        """Record the state of an environment of this package, after each reset and step."""
        episode = env.unwrapped.episode
        steps = int(episode.worlds.steps[0])
        if episode is not self._episode or steps < self._steps or len(episode.dialogue) < self._heard:
            self._forget(episode)
        if not np.array_equal(self._world, episode.worlds.grid[0]):
            self._world = episode.worlds.grid[0].copy()
        if steps > self._steps >= 0:
            self._movements.append((tuple(episode.worlds.pose[0].tolist()), self._world))
        self._steps = steps
        for utterance in episode.dialogue[self._heard :]:
            spoke = any(earlier.role is utterance.role is Role.ARCHITECT for earlier in self._words)
            if spoke and self._built:
                self._turns.append(self._open_turn)
                self._words, self._movements, self._turn_start = [], [], self._world
            self._words.append(utterance)
        self._heard = len(episode.dialogue)

    @property
    def _built(self) -> bool:
        return not np.array_equal(self._turn_start, self._world)

    @property
    def _open_turn(self) -> Turn:
        return self._words, self._world, self._movements

    def session(self, name: str, structure: str | None = None) -> Subtasks:
        """Return the episode so far, under a name such as "1-bridge".

        Raises `DataError` if nothing was built, or the world was edited from outside.
        """
        if self._episode is not None and self._episode.worlds.edits.any():
            raise DataError(
                f"the world of the episode {name!r} was edited from outside, expected changes by the builder alone"
            )
        turns = [*self._turns, *([self._open_turn] if self._built else [])]
        if not turns:
            raise DataError(f"nothing was built in the episode {name!r}, so there is no turn to record")
        said, worlds, movements = zip(*turns, strict=True)
        session = _RecordedSession(
            said,
            worlds,
            starting_grid=self._start if self._start.any() else None,
            task_id=name,
            ids="iglu",
            structure=structure or structure_of(name),
        )
        session.movements = movements
        return session


def _layout_turns(turns: Iterable[Turn]) -> list[LayoutTurn]:
    """Return the turns of a session as the layout can hold them."""
    layout: list[LayoutTurn] = []
    early: list[Utterance] = []  # the builder's, before the architect's first
    silent: list[Turn] = []  # before the architect's first utterance
    for turn in turns:
        utterances = [utterance for utterance in map(_plain, turn[0]) if utterance.text]
        first = next((i for i, u in enumerate(utterances) if u.role is Role.ARCHITECT), len(utterances))
        (layout[-1][0] if layout else early).extend(utterances[:first])
        if first == len(utterances):
            (layout[-1][1] if layout else silent).append(turn)
            continue
        instruction, *others = utterances[first:]
        layout.append(([instruction, *early, *others], [*silent, turn]))
        early, silent = [], []
    return layout


def _plain(utterance: Utterance) -> Utterance:
    """Replace the characters that have another meaning in the table."""
    text = utterance.text.replace("$", "＄")  # full-width
    text = "".join(c if c == "\n" or (c.isprintable() or c == "\t") else " " for c in text).strip()
    return Utterance(utterance.role, text)


def _names(sessions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return unique names of the layout, and structures, for the names and structures of sessions."""
    given = {name for name, _ in sessions}
    names: dict[str, str] = {}  # structure by name
    for name, structure in sessions:
        structure = "-".join(_STRUCTURE.findall(structure)) or "structure"
        if not _NAME.fullmatch(name) or name in names:
            attempts = (f"{attempt}-{structure}" for attempt in itertools.count(1))
            name = next(free for free in attempts if free not in names and free not in given)
        names[name] = structure
    return list(names.items())


def _cell(text: str) -> str:
    """Write `$` for line breaks, unless there are empty lines, which `$` cannot represent."""
    return text if re.search(r"\n\s*\n", text) else text.replace("\n", "$")


def _role_rows(utterances: Sequence[Utterance], is_last: bool) -> Iterator[dict[str, str]]:
    """Yield the role and the further cells of each row of a turn; the last is that of its world."""
    instruction, *others = utterances
    yield {"Role": "architect-normal", "instruction": _cell(instruction.text)}
    question = ""
    for utterance in others:
        text = _cell(utterance.text)
        if utterance.role is Role.BUILDER:
            question = text
            yield {"Role": "builder-cq", "IsInstructionClear": "No", QUESTION: question}
        else:
            yield {"Role": "architect-cq", "InputClarifyingQuestion": question, ANSWER: text}
    complete = "Yes" if is_last else "No"
    yield {"Role": "builder-normal", "IsInstructionClear": "Yes", "IsBuiltStructureComplete": complete}


def _exact_cells(session: Subtasks, turns: Sequence[LayoutTurn]) -> list[str]:
    """Return the cells of the column `EXACT`, the original turns."""
    cells: list[dict[str, Any]] = [
        {"turns": [turn_fields(Dialogue(said), world) for said, world, _ in originals]}
        for _, originals in turns
    ]
    if session.starting_grid is not None:
        cells[0]["start"] = block_fields(session.starting_grid)
    return [_json(cell) for cell in cells]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def write_sessions(
    path: str | os.PathLike[str], sessions: Iterable[Subtasks] | Mapping[str, Iterable[Subtasks]]
) -> Report[WriteSkip]:
    """Write sessions as a folder in the multi-turn layout. The folder is created atomically.

    A name that is not a folder name or is used twice is replaced.

    Args:
        path: a folder that does not exist or is empty.
        sessions: sessions, or a mapping from structures to sessions (`dataset.tasks`).

    Returns:
        The number of sessions and turns, and what is left out.

    Raises:
        DataError: if the folder is in use, or there is nothing to write.

    """
    report = Report[WriteSkip]()
    groups = sessions.items() if isinstance(sessions, Mapping) else [("", sessions)]
    listed = [(entry, structure) for structure, entries in groups for entry in entries]
    for entry, _ in listed:
        if not isinstance(entry, Subtasks):
            raise DataError(f"a session to write is {entry!r:.80}, expected a Subtasks")
    labels = [(entry.task_id or "session", structure or entry.structure) for entry, structure in listed]
    names = _names([(name, structure or structure_of(name)) for name, structure in labels])
    rows: list[dict[str, str]] = []
    with new_folder(path) as folder:
        (folder / WORLDS).mkdir()
        for (session, _), (name, structure) in zip(listed, names, strict=True):
            cells = {"PartitionKey": name, "structureId": structure, "IsHITQualified": "True"}
            attempt = name.partition("-")[0]
            if attempt.isdecimal():
                cells["attemptId"] = attempt
            rows += [{**cells, **row} for row in _write_session(folder / WORLDS / name, session, report)]
        if not report.sessions:
            raise DataError(f"there is no session with a turn to write to {path}, expected at least one")
        with (folder / TABLE).open("w", encoding="utf-8", newline="") as file:
            columns = [*COLUMNS, EXACT] if any(row.get(EXACT) for row in rows) else COLUMNS
            table = csv.DictWriter(file, columns, restval="", extrasaction="ignore", lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    return report


def _write_session(folder: Path, session: Subtasks, report: Report[WriteSkip]) -> Iterator[dict[str, str]]:
    """Write the worlds of a session to its folder, and yield its rows."""
    session = in_ids(session, "iglu")
    movements = session.movements if isinstance(session, _RecordedSession) else ((),) * len(session)
    turns = _layout_turns(zip(session.turns, session.structures, movements, strict=True))
    if not turns:
        report.skip(WriteSkip.NO_TURNS, folder.name)
        return
    world = np.zeros(ZONE_SHAPE, np.int8) if session.starting_grid is None else session.starting_grid
    exact = [""] * len(turns)
    same = [said for said, _ in turns] == [list(turn) for turn in session.turns]
    if not same or world.any() or not all(grid.any() for grid in session.structures):
        exact = _exact_cells(session, turns)
    folder.mkdir()
    step = 0
    for number, (utterances, originals) in enumerate(turns):
        for row in _role_rows(utterances, number == len(turns) - 1):
            is_odd = row["Role"].startswith("architect")  # odd steps are the architect's
            step += 1 if is_odd == (step % 2 == 0) else 2
            row |= {"RowKey": f"{folder.name}-{step}", "StepId": str(step)}
            yield row if row["Role"] != "builder-normal" else {**row, EXACT: exact[number]}
        after, path = originals[-1][1], [step for *_, movements in originals for step in movements]
        (folder / f"step-{step}").write_text(_json(_world_file(world, after, path)), encoding="utf-8")
        world = after
    report.sessions += 1
    report.turns += len(turns)


class _Log:
    """An action log in the form of the newer recorder, and the avatar in the engine's coordinates."""

    def __init__(self) -> None:
        self.text, self.tick = "", 0
        self.feet, self.look, self.view = START_POSITION, (0.0, 0.0), gaze(0.0, 0.0)
        self.stance = ["pos_change (0, 63, 0)", "set_look (0, 0)"]

    def write(self, *events: str) -> None:
        """Write the events of one tick, if there are any."""
        self.tick += bool(events)
        self.text += "".join(f"{self.tick} {event}\n" for event in events)

    def move(self, pose: Pose) -> None:
        x, y, z, yaw, pitch = pose
        feet = (x + 0.5, y - EYE_HEIGHT + FLOOR_Y + 0.5, z + 0.5)
        look = (math.radians(pitch), -math.radians((yaw + 180.0) % 360.0 - 180.0))
        stance = [f"pos_change ({_numbers(feet)})", f"set_look ({_numbers(look)})"]
        self.write(*(event for event in stance if event not in self.stance))
        self.stance, self.feet, self.look, self.view = stance, feet, look, gaze(yaw, pitch)

    def change(self, before: BlockGrid, after: BlockGrid) -> None:
        """Write the actions that lead from one world to another, removals first, and the change."""
        eye = np.add(self.feet, (0.0, RECORDED_EYE_HEIGHT, 0.0))
        aim = _numbers([*(eye - _CAMERA_DISTANCE * np.array(self.view)).tolist(), *self.view], " ")
        changes = []
        for x, y, z in cells_of(before != after).tolist():
            old, new = (_voxel(color_at(world, (x, y, z))) for world in (before, after))
            if old:
                self.write(f"action break {x} {y + FLOOR_Y} {z} {aim}")
            if new:
                self.write(f"action select_and_place_block {new} {x} {y + FLOOR_Y} {z} {aim}")
            changes.append(f"({x}, {y + FLOOR_Y}, {z}, {old}, {new})")
        self.write(*([f"block_change  {' '.join(changes)}"] if changes else []))


def _world_file(before: BlockGrid, after: BlockGrid, movements: Movements) -> dict[str, Any]:
    """Return the contents of a world file: how the world `before` became the world `after`."""
    log = _Log()
    log.write("action start_recover_world_state")
    log.change(np.zeros(ZONE_SHAPE, np.int8), before)
    log.write("action finish_recover_world_state")
    for pose, world in movements:
        log.change(before, world)
        log.move(pose)
        before = world
    log.change(before, after)
    blocks = [[x, y + FLOOR_Y, z, _voxel(color)] for x, y, z, color in grid_to_blocks(after)]
    return {
        "gameId": 19,  # as in every file upstream
        "stepId": 1,
        "avatarInfo": {"pos": list(log.feet), "look": list(log.look)},
        "worldEndingState": {"blocks": blocks},
        LOG_KEY: log.text,
        "clarification_question": "null",
    }


def _numbers(values: Iterable[float], separator: str = ", ") -> str:
    """Format numbers like the recorder: whole numbers without a fraction."""
    rounded = (round(value, 6) for value in values)
    return separator.join(str(int(n)) if n == int(n) else repr(n) for n in rounded)


def _voxel(color: int) -> int:
    return VOXEL_OF_COLOR[Color(color)] if color else 0
