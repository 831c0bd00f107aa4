"""Films of people who build: scenes from a world file or a session, and their pages and videos."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import BLOCKS_PER_COLOR, BlockGrid, cells_of, index_of
from iglu_marl.core.parsing import read_file
from iglu_marl.core.task import Task
from iglu_marl.data.iglu.world_files import WORLD_LIMIT
from iglu_marl.data.packs.archive import open_pack
from iglu_marl.data.packs.registry import PACKS
from iglu_marl.data.packs.store import find_pack
from iglu_marl.recording.videos import MP4_FPS, GameMoments

if TYPE_CHECKING:
    from rich.progress import Progress

    from iglu_marl.data.mdc.corpus import Session
    from iglu_marl.rendering import ReplayRecorder
    from iglu_marl.rendering.renderer import Viewpoint

TICKS_PER_S = 60.0  # of the IGLU recorder
SPOKEN_S = 2.0  # between utterances without times
SHOWN_S = 0.25  # minimum time between two edits of a world file
PLACED_S = 0.5  # between edits without times
FRAME_S = 0.1  # time between frames of a world file
LONGEST_PAUSE_S = 1.0  # longer pauses of the recording are cut
SPEED = 2.0  # of videos, relative to the recording
FIRST_POSE: Viewpoint = (0.0, -0.25, 0.0, 0.0, 0.0)  # initial pose of a builder


@dataclass(frozen=True)
class FilmScene:
    """One moment: seconds since the start, eye pose, world, and number of utterances so far."""

    time_s: float
    pose: Viewpoint
    grid: BlockGrid
    heard: int = 0


@dataclass(frozen=True)
class Film:
    """Scenes in order, with title, target, utterances (role, text) and facts for the report."""

    title: str
    scenes: list[FilmScene]
    target: BlockGrid
    said: list[tuple[str, str]] = field(default_factory=list)
    shifted: bool = False  # whether the build may be shifted against the target
    facts: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------------------------------------- the films


def film_of_world_file(content: bytes, name: str) -> Film:
    """Return the film of an IGLU world file. Raises `DataError` for other files."""
    from iglu_marl.data.iglu.action_log import read_action_log
    from iglu_marl.data.iglu.trajectory import trajectory_of

    recording = read_action_log(content, name=name)
    path = trajectory_of(recording)
    film = film_of_turns(name, [Task("", path.end, starting_grid=path.start, ids="iglu")], [content])
    film.facts["edits"] = len(path.edits)
    film.facts["left_out"] = len(path.odd) + len(recording.log.skipped)
    return film


def film_of_session(name: str, data: Path | None) -> Film:
    """Return the film of a session of the Minecraft Dialogue Corpus. Raises `DataError` for an unknown name."""
    from iglu_marl.data.mdc.corpus import Corpus

    structure = next((part for part in name.split("-") if part.startswith("C")), "")
    corpus = Corpus.open(data, structures=[structure], fetch=False)
    if name not in corpus.sessions:
        known = ", ".join(list(corpus.sessions)[:3]) or "none of that structure"
        raise DataError(f"{corpus.location} has no session {name!r}; it has {known}")
    return film_of_timeline(corpus.sessions[name])


def film_of_timeline(session: Session) -> Film:
    """Return the film of a session of the Minecraft Dialogue Corpus. Raises `DataError` if it has no poses."""
    from iglu_marl.data.mdc.corpus import HUMAN_EYE_HEIGHT

    times, poses, heard = session.times_s, session.poses(HUMAN_EYE_HEIGHT), session.heard
    scenes: list[FilmScene] = []
    for state in range(len(session)):
        pose = poses[state] if np.isfinite(poses[state]).all() else None
        if pose is None and not scenes:
            continue
        x, y, z, yaw, pitch = scenes[-1].pose if pose is None else pose.tolist()
        # Several states share a second; show them one after the other.
        time = float(times[state]) if np.isfinite(times[state]) else 0.0
        time = max(time, scenes[-1].time_s + 0.2) if scenes else time
        scenes.append(FilmScene(time, (x, y, z, yaw, pitch), session.grids[state], int(heard[state])))
    if not scenes:
        raise DataError(f"session {session.name!r} has no pose of the builder")
    said = [(utterance.role.value, utterance.text) for utterance in session.dialogue]
    target = session.final_grid if session.gold is None else session.gold
    facts = {"structure": session.structure, "states": len(session), "utterances": len(said)}
    return Film(f"{session.structure}, {session.name}", scenes, target, said, shifted=True, facts=facts)


def film_of_turns(title: str, tasks: Sequence[Task], world_files: Sequence[bytes | None]) -> Film:
    """Return the film of a session: for each turn its utterances, then its edits.

    Args:
        title: Title of the film.
        tasks: Tasks of the turns, in order.
        world_files: World file at the end of each turn. Where it is missing or damaged, the blocks change one by one.

    """
    said: list[tuple[str, str]] = []
    scenes = [FilmScene(0.0, FIRST_POSE, tasks[0].start_grid)]
    for task, file in zip(tasks, world_files, strict=True):
        if file is not None and len(scenes) == 1:
            first = next(_changes(task, file, FIRST_POSE), (0.0, FIRST_POSE, task.start_grid))
            scenes[0] = FilmScene(0.0, first[1], task.start_grid)
        for utterance in task.dialogue[len(said) :]:
            said.append((utterance.role.value, utterance.text))
            scenes.append(_after(scenes[-1], SPOKEN_S, len(said), grid=task.start_grid))
        begin = scenes[-1].time_s
        for time, pose, grid in _changes(task, file, scenes[-1].pose):
            scenes.append(FilmScene(begin + time, pose, grid, len(said)))
    final = tasks[-1].target_grid if tasks[-1].full_grid is None else tasks[-1].full_grid
    return Film(title, scenes, final, said)


def _after(scene: FilmScene, seconds: float, heard: int, grid: BlockGrid) -> FilmScene:
    return FilmScene(scene.time_s + seconds, scene.pose, grid, heard)


def _changes(task: Task, file: bytes | None, pose: Viewpoint) -> Iterator[tuple[float, Viewpoint, BlockGrid]]:
    """Yield seconds, pose and world of a turn, up to its target."""
    from iglu_marl.data.iglu.action_log import read_action_log
    from iglu_marl.data.iglu.trajectory import RECORDED_EYE_HEIGHT, trajectory_of

    time, grid = 0.0, task.start_grid
    try:
        if file is not None:
            path = trajectory_of(read_action_log(file), eye_height=RECORDED_EYE_HEIGHT)
            edited = {edit.frame for edit in path.edits}
            rows = zip(path.ticks.tolist(), path.poses.tolist(), path.grids(), strict=True)
            for frame, (tick, row, world) in enumerate(rows):
                at = (tick - int(path.ticks[0])) / TICKS_PER_S
                if frame in edited or at >= time + FRAME_S or not frame:
                    # Generated files place several blocks at once; show them one after the other.
                    time = max(at, time + SHOWN_S) if frame in edited else max(at, time)
                    pose = (row[0], row[1], row[2], row[3], row[4])
                    grid = world.copy() if not np.array_equal(world, grid) else grid
                    yield time, pose, grid
    except DataError:
        pass  # a damaged file; the target is known
    for x, y, z in cells_of(grid != task.target_grid).tolist():
        grid = grid.copy()
        cell = index_of((x, y, z))
        grid[cell] = task.target_grid[cell]
        time += PLACED_S
        yield time, pose, grid


class Moments:
    """Scenes of a film as pages and pictures show them. The target is aligned once per world."""

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
        """Return a scene as arguments of `composed_frame` and `ReplayRecorder.add`."""
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


def page_of(film: Film) -> ReplayRecorder:
    """Return the page that replays a film."""
    from iglu_marl.rendering import ReplayRecorder

    recorder, moments = ReplayRecorder(film.title), Moments(film)
    for scene in film.scenes:
        recorder.add(**moments.of(scene))
    return recorder


# ---------------------------------------------------------------------------------------------- finding the recording


def load_world_file(text: str, data: Path | None = None) -> tuple[bytes, str]:
    """Return the contents and name of a world file.

    text: a file, or the name of a pack (also "bundled") and a member of it. With `data`, a zip or folder, text is a
    member. Raises `DataError` when there is no such file.
    """
    from iglu_marl.data import bundled

    path = Path(text).expanduser()
    if data is None and os.path.isfile(path):  # False for a name of 5,000 characters, too
        return read_file(path, WORLD_LIMIT), str(path)
    name, _, member = ("", "", text) if data is not None else text.partition("/")
    if data is None and name not in (*PACKS, "bundled"):
        raise DataError(
            f"there is no recording {text!r}: expected a file, or a member of one of the packs "
            f"{', '.join([*PACKS, 'bundled'])}, such as iglu-multiturn/MEMBER"
        )
    place = data or (bundled.files() if name == "bundled" else None)
    with open_pack(place) if place is not None else find_pack(name, fetch=False) as pack:
        return pack.read(member, WORLD_LIMIT), member


# ------------------------------------------------------------------------------------------------------- the pictures


def timeline(film: Film) -> list[FilmScene]:
    """Return the scene of each frame of the video, at twice the speed of the recording; long pauses are cut."""
    times = np.array([scene.time_s for scene in film.scenes])
    shown = np.concatenate([[0.0], np.cumsum(np.minimum(np.diff(times), LONGEST_PAUSE_S * SPEED))]) / SPEED
    count = int(shown[-1] * MP4_FPS + 1e-6) + 1
    picked = np.searchsorted(shown, np.arange(count) / MP4_FPS + 1e-9, side="right") - 1
    picked[-1] = len(film.scenes) - 1
    return [film.scenes[index] for index in picked]


def write_film(film: Film, path: Path, progress: Progress | None = None) -> Path:
    """Write a film as `GameMoments.write` does: as a page, a video, or a picture of its end."""
    kind = path.suffix.lower()
    if kind == ".html":
        return page_of(film).write(path)
    moments = Moments(film)

    def shown(scene: FilmScene) -> dict[str, Any]:
        moment = moments.of(scene)
        time_s = moment["status"].pop("time_s")
        return {**moment, "status": {**moment["status"], "title": film.title, "time": f"{time_s:.0f} s"}}

    of_scene = {id(scene): shown(scene) for scene in film.scenes}
    scenes = film.scenes[-1:] if kind == ".png" else timeline(film)
    return GameMoments(of_scene[id(scene)] for scene in scenes).write(path, progress=progress)
