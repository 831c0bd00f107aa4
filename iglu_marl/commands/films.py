"""Films of what people did: a recorded tape, a session's timeline, or its turns, as scenes in a row."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import BLOCKS_PER_COLOR, BlockGrid, Cell, cells_of, color_name, index_of
from iglu_marl.core.task import Task

if TYPE_CHECKING:
    from iglu_marl.data.mdc.corpus import Session
    from iglu_marl.rendering.renderer import Viewpoint

TICKS_PER_S = 60.0  # of the recorder; the browser drew as often
SPOKEN_S = 2.0  # between two utterances whose time is not known
SHOWN_S = 0.25  # that a block of a tape is shown before the next one comes, at least
PLACED_S = 0.5  # between two blocks whose time is not known
FRAME_S = 0.1  # of what is kept of a tape in a film of turns
FIRST_POSE: Viewpoint = (0.0, -0.25, 0.0, 0.0, 0.0)  # where a builder begins


@dataclass(frozen=True)
class FilmScene:
    """One moment: seconds since the start, the eye and gaze, the world, and how many utterances had been heard."""

    time_s: float
    pose: Viewpoint
    grid: BlockGrid
    heard: int = 0


@dataclass(frozen=True)
class Film:
    """Scenes in order, and what stays the same: title, target, who said what, facts for the result."""

    title: str
    scenes: list[FilmScene]
    target: BlockGrid
    said: list[tuple[str, str]] = field(default_factory=list)
    shifted: bool = False  # whether the build may lie elsewhere than the target
    facts: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------------------------------------- the films


def film_of_tape(content: bytes, name: str, *, set_up: bool = False) -> Film:
    """The film of a world file's tape. Raises `DataError` for what is no world file."""
    from iglu_marl.data.iglu.event_stream import read_recording
    from iglu_marl.data.iglu.trajectory import RECORDED_EYE_HEIGHT, trajectory_of

    recording = read_recording(content, name=name)
    path = trajectory_of(recording, set_up=set_up, eye_height=RECORDED_EYE_HEIGHT)
    scenes, kept = [], np.array(path.start)
    frames_of_edits = [edit.frame for edit in path.edits]
    rows = zip(path.ticks.tolist(), path.poses.tolist(), path.grids(), strict=True)
    for frame, (tick, (x, y, z, yaw, pitch), grid) in enumerate(rows):
        if not np.array_equal(grid, kept):
            kept = grid.copy()
        done = bisect.bisect_right(frames_of_edits, frame)
        scenes.append(FilmScene(tick / TICKS_PER_S, (x, y, z, yaw, pitch), kept, done))
    told = [("builder", _told(edit.cell, edit.color)) for edit in path.edits]
    facts = {
        "recorder": recording.tape.recorder.value,
        "edits": len(path.edits),
        "left_out": len(path.odd) + len(recording.tape.skipped),
        "reproduces_the_end": recording.reproduces,
    }
    return Film(name, scenes, path.end, told, facts=facts)


def _told(cell: Cell, color: int) -> str:
    """An edit in words, for the caption."""
    place = "x {}, y {}, z {}".format(*cell)
    return f"placed {color_name(color)} at {place}" if color else f"removed the block at {place}"


def film_of_session(name: str, data: Path | None) -> Film:
    """The film of a session of the Minecraft Dialogue Corpus, by its name. Raises `DataError` for an unknown one."""
    from iglu_marl.data.mdc.corpus import Corpus

    structure = next((part for part in name.split("-") if part.startswith("C")), "")
    corpus = Corpus.open(data, structures=[structure], fetch=False)
    if name not in corpus.sessions:
        known = ", ".join(list(corpus.sessions)[:3]) or "none of that structure"
        raise DataError(f"{corpus.location} has no session {name!r}; it has {known}")
    return film_of_timeline(corpus.sessions[name])


def film_of_timeline(session: Session) -> Film:
    """The film of a session of the Minecraft Dialogue Corpus. Raises `DataError` without a single pose."""
    from iglu_marl.data.mdc.corpus import HUMAN_EYE_HEIGHT

    times, poses, heard = session.times_s, session.poses(HUMAN_EYE_HEIGHT), session.heard
    scenes: list[FilmScene] = []
    for state in range(len(session)):
        pose = poses[state] if np.isfinite(poses[state]).all() else None
        if pose is None and not scenes:
            continue
        x, y, z, yaw, pitch = scenes[-1].pose if pose is None else pose.tolist()
        # Several states share a second; they are shown one after the other.
        time = float(times[state]) if np.isfinite(times[state]) else 0.0
        time = max(time, scenes[-1].time_s + 0.2) if scenes else time
        scenes.append(FilmScene(time, (x, y, z, yaw, pitch), session.grids[state], int(heard[state])))
    if not scenes:
        raise DataError(f"no state of the session {session.name!r} tells where the builder was")
    said = [(utterance.role.value, utterance.text) for utterance in session.dialogue]
    target = session.final_grid if session.gold is None else session.gold
    facts = {"structure": session.structure, "states": len(session), "utterances": len(said)}
    return Film(f"{session.structure}, {session.name}", scenes, target, said, shifted=True, facts=facts)


def film_of_turns(title: str, tasks: Sequence[Task], tapes: Sequence[bytes | None]) -> Film:
    """The film of a session in turns: the words of each, then what was done, as its tape tells it.

    tasks: of each turn, in order, or a single one. tapes: of each, the world file with which it ends; without one (or
    with a damaged one) the blocks come and go one by one, and the builder stays where it was.
    """
    said: list[tuple[str, str]] = []
    scenes = [FilmScene(0.0, FIRST_POSE, tasks[0].start_grid)]
    for task, tape in zip(tasks, tapes, strict=True):
        if tape is not None and len(scenes) == 1:
            done = next(_done(task, tape, FIRST_POSE), (0.0, FIRST_POSE, task.start_grid))
            scenes[0] = FilmScene(0.0, done[1], task.start_grid)
        for utterance in task.dialogue[len(said) :]:
            said.append((utterance.role.value, utterance.text))
            scenes.append(_after(scenes[-1], SPOKEN_S, len(said), grid=task.start_grid))
        begin = scenes[-1].time_s
        for time, pose, grid in _done(task, tape, scenes[-1].pose):
            scenes.append(FilmScene(begin + time, pose, grid, len(said)))
    final = tasks[-1].target_grid if tasks[-1].full_grid is None else tasks[-1].full_grid
    return Film(title, scenes, final, said)


def _after(scene: FilmScene, seconds: float, heard: int, grid: BlockGrid) -> FilmScene:
    return FilmScene(scene.time_s + seconds, scene.pose, grid, heard)


def _done(task: Task, tape: bytes | None, pose: Viewpoint) -> Iterator[tuple[float, Viewpoint, BlockGrid]]:
    """Seconds, pose and world of what was done in a turn; it ends with its target."""
    from iglu_marl.data.iglu.event_stream import read_recording
    from iglu_marl.data.iglu.trajectory import RECORDED_EYE_HEIGHT, trajectory_of

    time, grid = 0.0, task.start_grid
    try:
        if tape is not None:
            path = trajectory_of(read_recording(tape), eye_height=RECORDED_EYE_HEIGHT)
            edited = {edit.frame for edit in path.edits}
            rows = zip(path.ticks.tolist(), path.poses.tolist(), path.grids(), strict=True)
            for frame, (tick, row, world) in enumerate(rows):
                at = (tick - int(path.ticks[0])) / TICKS_PER_S
                if frame in edited or at >= time + FRAME_S or not frame:
                    # Made-up tapes place several blocks at a time; they are shown one after the other.
                    time = max(at, time + SHOWN_S) if frame in edited else max(at, time)
                    pose = (row[0], row[1], row[2], row[3], row[4])
                    grid = world.copy() if not np.array_equal(world, grid) else grid
                    yield time, pose, grid
    except DataError:
        pass  # a damaged tape; its world is known
    for x, y, z in cells_of(grid != task.target_grid).tolist():
        grid = grid.copy()
        cell = index_of((x, y, z))
        grid[cell] = task.target_grid[cell]
        time += PLACED_S
        yield time, pose, grid


# ------------------------------------------------------------------------------------------------- what is shown


class Moments:
    """The scenes of a film as a page or a picture shows them; the target's alignment is looked for once per world."""

    def __init__(self, film: Film) -> None:
        self.film = film
        self._world: BlockGrid | None = None
        self._aligned = film.target
        self._matched = 0

    def _align(self, grid: BlockGrid) -> None:
        if grid is self._world:
            return
        from iglu_marl.core.scoring import Alignment, align, maximal_intersection

        self._world, target = grid, self.film.target
        if self.film.shifted:
            found = maximal_intersection(grid, target, return_argmax=True)
            self._matched, where = int(found[0]), Alignment(*found[1])
            self._aligned = align(target, where)
        else:
            self._matched = int(np.count_nonzero((grid == target) & (grid != 0)))

    def of(self, scene: FilmScene) -> dict[str, Any]:
        """A scene as the arguments of `composed_frame` and `ReplayRecorder.add`."""
        self._align(scene.grid)
        size = int(np.count_nonzero(self.film.target))
        used = np.bincount(scene.grid.ravel(), minlength=7)[1:]
        return {
            "grid": scene.grid,
            "pose": scene.pose,
            "dialogue": self.film.said[: scene.heard],
            "target": self.film.target,
            "aligned_target": self._aligned,
            "status": {
                "intersection": self._matched,
                "target_blocks": size,
                "complete": bool(self._matched == size == np.count_nonzero(scene.grid)),
                "inventory": (BLOCKS_PER_COLOR - used).tolist(),
                "time_s": round(scene.time_s - self.film.scenes[0].time_s, 2),
            },
        }


def replay_of(film: Film) -> dict[str, Any]:
    """The data of the page that replays a film."""
    from iglu_marl.rendering import ReplayRecorder

    recorder, moments = ReplayRecorder(film.title), Moments(film)
    for scene in film.scenes:
        recorder.add(**moments.of(scene))
    return recorder.data
