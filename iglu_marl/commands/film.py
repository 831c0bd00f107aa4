"""`iglu-marl film`: a video or page of what a person did, from a recorded tape or session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from typer import Option

from iglu_marl.commands.films import Film, FilmScene, Moments, film_of_session, film_of_tape, replay_of
from iglu_marl.commands.options import (
    Json,
    ends_in,
    one_of,
    positive,
)
from iglu_marl.commands.output import progress_bar, text_console
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import made_folder
from iglu_marl.core.parsing import read_file
from iglu_marl.data.iglu.multiturn import WORLD_LIMIT
from iglu_marl.data.packs.archive import Pack
from iglu_marl.data.packs.registry import PACKS
from iglu_marl.data.packs.store import find_pack, open_pack

if TYPE_CHECKING:
    from iglu_marl.rendering.renderer import Picture

LONGEST_PAUSE_S = 1.0  # of the recording; longer ones are cut
STILL_S = 1.0  # the last picture stays
EYES_SIZE = (540, 960)


def film(
    tape: Annotated[
        str | None, Option(help="A world file: FILE, PACK.zip/MEMBER, or PACK/MEMBER by the pack's name.")
    ] = None,
    session: Annotated[
        str | None, Option(help="A session of the Minecraft Dialogue Corpus, by its name.")
    ] = None,
    data: Annotated[Path | None, Option(help="The zip or folder in which to look for it.")] = None,
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            help="The video, .mp4 or .gif, or a page, .html",
            callback=ends_in(".mp4", ".gif", ".html"),
        ),
    ] = Path("recording.mp4"),
    view: Annotated[
        str, Option(help="composed, or eyes: what the person saw", callback=one_of("composed", "eyes"))
    ] = "composed",
    fps: Annotated[float, Option(help="Pictures a second.", callback=positive)] = 20.0,
    speed: Annotated[float, Option(help="Times as fast as it was.", callback=positive)] = 2.0,
    max_seconds: Annotated[float, Option(help="Length of the video at most.", callback=positive)] = 120.0,
    set_up: Annotated[
        bool, Option("--set-up", help="Also what the tool did to set up the given world.")
    ] = False,
    as_json: Json = False,
) -> None:
    """A video (or page) of what a person did: from a recorded tape, or from a session with its dialogue."""
    if tape is not None and session is None:
        shown = film_of_tape(*load_tape(tape, data), set_up=set_up)
    elif session is not None and tape is None:
        shown = film_of_session(session, data)
    else:
        raise ConfigError(
            "name one of --tape and --session, such as --tape bundled/builder-data/1-bridge/step-2; "
            "iglu-marl data browse lists recordings"
        )
    made_folder(output.parent)
    facts = {
        "recording": shown.title,
        **shown.facts,
        "scenes": len(shown.scenes),
        "recorded_s": round(shown.scenes[-1].time_s - shown.scenes[0].time_s, 1),
    }
    if output.suffix.lower() == ".html":
        from iglu_marl.rendering import write_replay

        path = write_replay(output, replay_of(shown))
    else:
        scenes = timeline(shown, fps, speed, max_seconds)
        path, facts["video_s"] = _write_video(shown, scenes, view, fps, output, as_json)
    facts["file"] = str(path)
    if as_json:
        print(json.dumps(facts))
    console = text_console(as_json)
    for key, value in facts.items():
        console.print(f"{key.replace('_', ' '):>20}  {value}", markup=False)


# ---------------------------------------------------------------------------------------------- finding the recording


def _member(pack: Pack, name: str) -> str:
    """The member of that name, or the only one that ends with it."""
    if pack.has(name):
        return name
    found = [member for member in pack.names() if member.endswith(f"/{name}")] if name else []
    if len(found) == 1:
        return found[0]
    if found:
        raise DataError(
            f"{len(found)} files of {pack.location} end with {name!r}, such as {', '.join(found[:3])}"
        )
    raise DataError(
        f"{pack.location} has no file {name!r}; its files are such as {', '.join(pack.names()[:3])}"
    )


def _split(text: str) -> tuple[Callable[[], Pack], str] | None:
    """How to open the pack that a path leads into, and the member."""
    path = Path(text).expanduser()
    for parent in path.parents:
        if parent.is_file():
            return partial(open_pack, parent), path.relative_to(parent).as_posix()
    name, _, member = text.partition("/")
    if name in PACKS:
        return partial(find_pack, name, fetch=False), member
    if name == "bundled":
        from iglu_marl.data import bundled

        return partial(open_pack, str(bundled.files())), member
    return None


def load_tape(text: str, data: Path | None = None) -> tuple[bytes, str]:
    """The contents and name of a world file.

    text: a file; a path that goes on inside a zip (PACK.zip/MEMBER); or the name of a pack (also "bundled") and a
    member of it. With `data`, a zip or folder, text is a member. The end of a member's name is enough where only one
    ends so. Raises `DataError` when there is no such file.
    """
    path = Path(text).expanduser()
    if data is None and path.is_file():
        return read_file(path, WORLD_LIMIT), str(path)
    way = (partial(open_pack, data), text) if data is not None else _split(text)
    if way is None:
        raise DataError(
            f"there is no recording {text!r}: expected a file, a path into a zip such as iglu-multiturn.zip/MEMBER, or "
            f"a member of one of the packs {', '.join([*PACKS, 'bundled'])}, such as iglu-multiturn/MEMBER"
        )
    with way[0]() as pack:
        name = _member(pack, way[1])
        return pack.read(name, WORLD_LIMIT), name


# ------------------------------------------------------------------------------------------------------- the pictures


def timeline(film: Film, fps: float, speed: float, max_seconds: float) -> list[FilmScene]:
    """The scene of each frame of the video; long pauses are cut, and so is what is beyond `max_seconds`."""
    times = np.array([scene.time_s for scene in film.scenes])
    shown = np.concatenate([[0.0], np.cumsum(np.minimum(np.diff(times), LONGEST_PAUSE_S * speed))]) / speed
    count = int(min(shown[-1], max_seconds) * fps + 1e-6) + 1
    picked = np.searchsorted(shown, np.arange(count) / fps + 1e-9, side="right") - 1
    if shown[-1] <= max_seconds:
        picked[-1] = len(film.scenes) - 1
    return [film.scenes[index] for index in picked]


class _Camera:
    """Draws scenes of a film."""

    def __init__(self, film: Film, view: str) -> None:
        self.film, self.view = film, view
        self.moments = Moments(film)

    def draw(self, scene: FilmScene) -> Picture:
        """The picture of a scene, uint8[height, width, 3]."""
        from iglu_marl.rendering import EYE_LENS, composed_frame, paint_scenes

        if self.view == "eyes":
            return paint_scenes(scene.grid[None], [scene.pose], EYES_SIZE, lens=EYE_LENS)[0]
        moment = self.moments.of(scene)
        time = f"{moment['status'].pop('time_s'):.0f} s"
        return composed_frame(
            **{**moment, "status": {**moment["status"], "title": self.film.title, "time": time}}
        )


def frames(film: Film, scenes: list[FilmScene], view: str, fps: float) -> tuple[Iterator[Picture], int]:
    """The pictures of the video, and how many there are. scenes: those of `timeline`."""
    camera = _Camera(film, view)
    still = round(STILL_S * fps)

    def draw() -> Iterator[Picture]:
        last: tuple[FilmScene, Picture] | None = None
        for scene in scenes:
            if last is None or scene is not last[0]:
                last = scene, camera.draw(scene)
            yield last[1]
        assert last is not None
        yield from [last[1]] * still

    return draw(), len(scenes) + still


def _write_video(
    film: Film, scenes: list[FilmScene], view: str, fps: float, path: Path, as_json: bool
) -> tuple[Path, float]:
    """Write a video; returns its path and its length in seconds."""
    from iglu_marl.rendering import write_video

    pictures, count = frames(film, scenes, view, fps)
    with progress_bar(as_json) as progress:
        shown = progress.track(pictures, total=count, description=path.suffix[1:])
        return write_video(path, shown, fps), round(count / fps, 1)
