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
GIF_FPS, GIF_FRAMES, GIF_SIZE = 10.0, 100, (324, 576)  # small, for web pages; (height, width)
STILL_FRAMES = 20  # repetitions of the last frame: one second


class GameMoments(list[dict[str, Any]]):
    """The moments of a game: an `on_step` of `play` and `replay`."""

    def __call__(self, env: Any) -> None:
        """Add the current moment of an environment."""
        self.append(moment_of(env.unwrapped.episode))

    def write(self, path: Path, title: str | None = None, progress: Progress | None = None) -> Path:
        """Write the game as a page (.html), a video (.mp4, .gif), or its last picture (.png).

        A GIF is small and has few frames. title: of the page.
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
        chosen = _evenly(self, limit)

        def pictures() -> Iterator[Picture]:
            for _, same in itertools.groupby([*chosen, *chosen[-1:] * STILL_FRAMES], key=id):
                moment, *again = same
                yield from [composed_frame(**moment, size=size)] * (1 + len(again))

        frames, count = pictures(), len(chosen) + STILL_FRAMES
        if progress is not None:
            frames = iter(progress.track(frames, total=count, description=f"{kind[1:]:>6}"))
        return write_video(path, frames, fps)


def _evenly(moments: Sequence[Any], limit: int) -> list[Any]:
    """Return at most `limit` evenly spaced moments, including the last."""
    count = min(limit, len(moments))
    return [moments[int(index)] for index in np.linspace(0, len(moments) - 1, count)]


def write_recording(recording: Recording, path: Path, progress: Progress | None = None) -> Trajectory:
    """Write a recorded game as `GameMoments.write` does.

    Raises `ReplayError` if the game cannot be simulated as recorded.
    """
    moments = GameMoments()
    game = replay(recording, on_step=moments)
    moments.write(path, game.task.task_id, progress)
    return game
