"""Games as videos, pictures and pages: composed frames of their moments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iglu_marl.recording.reading import Recording
from iglu_marl.recording.replaying import replay
from iglu_marl.recording.rollout import Trajectory
from iglu_marl.rendering.moment import moment_of

if TYPE_CHECKING:
    from rich.progress import Progress

    from iglu_marl.rendering.renderer import Picture

MP4_FPS, MP4_FRAMES, MP4_SIZE = 20.0, 2400, (540, 960)  # the speed of the builder, up to two minutes
GIF_FPS, GIF_FRAMES, GIF_SIZE = 10.0, 100, (450, 800)  # small, for web pages; (height, width)
READING_FRAMES = 10  # repetitions of a GIF's frame with a new message: one second
STILL_FRAMES = 20  # repetitions of the last frame: one second


class GameMoments(list[dict[str, Any]]):
    """The moments of a game: an `on_step` of `play` and `replay`."""

    def __call__(self, env: Any) -> None:
        """Add the current moment of an environment."""
        self.append(moment_of(env.unwrapped.episode))

    def write(self, path: Path, title: str | None = None, progress: Progress | None = None) -> Path:
        """Write the game as a page (.html), a video (.mp4, .gif), or its last picture (.png).

        A GIF is small and has few frames. A video begins with the last picture for one frame, then with the first
        message. title: of the page.
        """
        from iglu_marl.rendering import ReplayRecorder, composed_frame, write_png, write_video

        kind = path.suffix.lower()
        if kind == ".html":
            page = ReplayRecorder(title)
            for moment in self:
                page.add(**moment)
            return page.write(path)
        if kind == ".png":
            return write_png(path, composed_frame(**self[-1]))
        limit, size, fps = (
            (GIF_FRAMES, GIF_SIZE, GIF_FPS) if kind == ".gif" else (MP4_FRAMES, MP4_SIZE, MP4_FPS)
        )
        spoken = [number for number, moment in enumerate(self) if moment.get("dialogue")]
        chosen = _evenly(self[spoken[0] if spoken else 0 :], limit)
        if kind == ".gif":
            chosen = _with_time_to_read(chosen)
        chosen = [self[-1], *chosen, *self[-1:] * STILL_FRAMES]  # previews show the first frame

        def pictures() -> Iterator[Picture]:
            for _, same in itertools.groupby(chosen, key=id):
                moment, *again = same
                yield from [composed_frame(**moment, size=size)] * (1 + len(again))

        frames, count = pictures(), len(chosen)
        if progress is not None:
            frames = iter(progress.track(frames, total=count, description=f"{kind[1:]:>6}"))
        return write_video(path, frames, fps)


def _evenly(moments: Sequence[Any], limit: int) -> list[Any]:
    """Return at most `limit` evenly spaced moments, including the last."""
    count = min(limit, len(moments))
    return [moments[int(index)] for index in np.linspace(0, len(moments) - 1, count)]


def _with_time_to_read(moments: Sequence[Any]) -> list[Any]:
    """Return the moments, with those that bring a new message repeated."""
    slower = []
    messages = 0
    for moment in moments:
        slower += [moment] * (1 if len(moment["dialogue"]) == messages else READING_FRAMES)
        messages = len(moment["dialogue"])
    return slower


def write_recording(recording: Recording, path: Path, progress: Progress | None = None) -> Trajectory:
    """Write a recorded game as `GameMoments.write` does.

    Raises `ReplayError` if the game cannot be simulated as recorded.
    """
    moments = GameMoments()
    game = replay(recording, on_step=moments)
    moments.write(path, game.task.task_id, progress)
    return game
