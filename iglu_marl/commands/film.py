"""`iglu-marl film`: write a video or page of a person who builds, from an IGLU world file or an MDC session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from typer import Option

from iglu_marl.commands.films import Film, FilmScene, Moments, film_of_session, film_of_world_file, replay_of
from iglu_marl.commands.options import Json, PackPath, choice, ends_in, output_file, positive
from iglu_marl.commands.output import print_json, progress_bar, text_console
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import made_folder
from iglu_marl.core.parsing import read_file
from iglu_marl.data.iglu.world_files import WORLD_LIMIT
from iglu_marl.data.packs.archive import Pack, open_pack
from iglu_marl.data.packs.registry import PACKS
from iglu_marl.data.packs.store import find_pack

if TYPE_CHECKING:
    from iglu_marl.rendering.renderer import Picture

LONGEST_PAUSE_S = 1.0  # longer pauses of the recording are cut
STILL_S = 1.0  # the last picture stays
EYES_SIZE = (540, 960)


def film(
    world_file: Annotated[
        str | None, Option(help="IGLU world file: FILE, PACK.zip/MEMBER, or the name of a pack and /MEMBER.")
    ] = None,
    session: Annotated[str | None, Option(help="Session of the Minecraft Dialogue Corpus, by name.")] = None,
    data: PackPath = None,
    output: Annotated[
        Path,
        output_file(
            "Video (.mp4, .gif) or page (.html) to write.",
            check=ends_in(".mp4", ".gif", ".html"),
            parents=True,
        ),
    ] = Path("recording.mp4"),
    view: Annotated[
        str, choice("composed", "eyes", about="kind of picture; eyes is what the person saw")
    ] = "composed",
    fps: Annotated[float, Option(help="Frames per second.", callback=positive)] = 20.0,
    speed: Annotated[float, Option(help="Speed, relative to the recording.", callback=positive)] = 2.0,
    max_seconds: Annotated[float, Option(help="Maximum length of the video.", callback=positive)] = 120.0,
    set_up: Annotated[bool, Option("--set-up", help="Also show how the tool set up the world.")] = False,
    as_json: Json = False,
) -> None:
    """Write a video or page of a person who builds, from an IGLU world file or a session of the Minecraft corpus."""
    if world_file is not None and session is None:
        shown = film_of_world_file(*load_world_file(world_file, data), set_up=set_up)
    elif session is not None and world_file is None:
        shown = film_of_session(session, data)
    else:
        raise ConfigError(
            "expected one of --world-file and --session, such as --world-file bundled/builder-data/1-bridge/step-2; "
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
        from iglu_marl.rendering.html import write_replay

        path = write_replay(output, replay_of(shown))
    else:
        scenes = timeline(shown, fps, speed, max_seconds)
        path, facts["video_s"] = _write_video(shown, scenes, view, fps, output, as_json)
    facts["file"] = str(path)
    print_json(as_json, facts)
    console = text_console(as_json)
    for key, value in facts.items():
        console.print(f"{key.replace('_', ' '):>20}  {value}")


# ---------------------------------------------------------------------------------------------- finding the recording


def _member(pack: Pack, name: str) -> str:
    """Return the member with this name, or the only one whose name ends with it."""
    if pack.has(name):
        return name
    found = [member for member in pack.names() if member.endswith(f"/{name}")] if name else []
    if len(found) == 1:
        return found[0]
    if found:
        raise DataError(f"the name {name!r} is ambiguous in {pack.location}: {', '.join(found[:3])}")
    raise DataError(
        f"{pack.location} has no file {name!r}; its files are such as {', '.join(pack.names()[:3])}"
    )


def _split(text: str) -> tuple[Callable[[], Pack], str] | None:
    """Return a function that opens the pack of a path, and the member."""
    path = Path(text).expanduser()
    for parent in path.parents:
        if os.path.isfile(parent):
            return partial(open_pack, parent), path.relative_to(parent).as_posix()
    name, _, member = text.partition("/")
    if name in PACKS:
        return partial(find_pack, name, fetch=False), member
    if name == "bundled":
        from iglu_marl.data import bundled

        return partial(open_pack, str(bundled.files())), member
    return None


def load_world_file(text: str, data: Path | None = None) -> tuple[bytes, str]:
    """The contents and name of a world file.

    text: a file; a path that goes on inside a zip (PACK.zip/MEMBER); or the name of a pack (also "bundled") and a
    member of it. With `data`, a zip or folder, text is a member. The end of a member's name is enough where only one
    ends so. Raises `DataError` when there is no such file.
    """
    path = Path(text).expanduser()
    if data is None and os.path.isfile(path):  # False for a name of 5,000 characters, too
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


def frames(film: Film, scenes: list[FilmScene], view: str, fps: float) -> tuple[Iterator[Picture], int]:
    """The pictures of the video, and how many there are. scenes: those of `timeline`."""
    from iglu_marl.rendering import composed_frame
    from iglu_marl.rendering.painter import paint_scenes
    from iglu_marl.rendering.renderer import EYE_LENS

    moments, still = Moments(film), round(STILL_S * fps)

    def picture_of(scene: FilmScene) -> Picture:
        if view == "eyes":
            return paint_scenes(scene.grid[None], [scene.pose], EYES_SIZE, lens=EYE_LENS)[0]
        moment = moments.of(scene)
        status = {**moment["status"], "title": film.title}
        return composed_frame(**{**moment, "status": {**status, "time": f"{status.pop('time_s'):.0f} s"}})

    def draw() -> Iterator[Picture]:
        last: tuple[FilmScene, Picture] | None = None
        for scene in scenes:
            if last is None or scene is not last[0]:
                last = scene, picture_of(scene)
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
