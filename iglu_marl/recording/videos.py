"""Games as videos, pictures and pages: composed frames of saved states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.progress import Progress

from iglu_marl.recording.reading import Recording
from iglu_marl.recording.replaying import replay
from iglu_marl.recording.rollout import Trajectory

MP4_FPS, MP4_FRAMES = 20.0, 2400  # the speed of the builder, up to two minutes
GIF_FPS, GIF_FRAMES, GIF_SIZE = 10.0, 100, (324, 576)  # small, for web pages; (height, width)
STILL_FRAMES = 20  # repetitions of the last frame: one second


def frames(
    env: Any, states: list[Any], size: tuple[int, int] | None = None
) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the composed frame of each saved state. size: (height, width)."""
    from iglu_marl.envs.rendering import scene_frame

    frame: npt.NDArray[np.uint8] | None = None
    for state in states:
        env.set_state(state)
        frame = env.render() if size is None else scene_frame(env.unwrapped.episode, size)
        yield frame
    if frame is not None:
        yield from [frame] * STILL_FRAMES


def every(states: list[Any], limit: int) -> list[Any]:
    """Return at most `limit` evenly spaced states, including the last."""
    if len(states) <= limit:
        return states
    return [states[int(index)] for index in np.linspace(0, len(states) - 1, limit)]


def write_game_video(path: Path, env: Any, states: list[Any], progress: Progress | None = None) -> Path:
    """Write the game as a video, .mp4 or .gif. A GIF is small and has few frames."""
    from iglu_marl.rendering import write_video

    gif = path.suffix.lower() == ".gif"
    limit, size, fps = (GIF_FRAMES, GIF_SIZE, GIF_FPS) if gif else (MP4_FRAMES, None, MP4_FPS)
    chosen = every(states, limit)
    pictures = frames(env, chosen, size)
    if progress is not None:
        pictures = iter(
            progress.track(pictures, total=len(chosen) + STILL_FRAMES, description=f"{path.suffix[1:]:>6}")
        )
    return write_video(path, pictures, fps)


def write_recording(
    recording: Recording, path: Path, *, verify: bool = True, progress: Progress | None = None
) -> Trajectory:
    """Write a recorded game as a page (.html, or .json for its data), a video (.mp4, .gif), or its last picture (.png).

    Raises `ReplayError` if the game cannot be simulated as recorded.
    """
    from iglu_marl.rendering import ReplayRecorder, write_png

    kind = path.suffix.lower()
    if kind in (".html", ".json"):
        page = ReplayRecorder()
        game = replay(recording, verify=verify, on_step=page)
        page.write(path)
        return game
    states: list[Any] = []
    game = replay(recording, verify=verify, on_step=lambda env: states.append(env.get_state()))
    env = recording.make_env(render_mode="rgb_array")
    env.reset(seed=recording.seed, options={"task": recording.task, "pose": recording.header["pose"]})
    try:
        if kind == ".png":
            write_png(path, next(frames(env, states[-1:])))
        else:
            write_game_video(path, env, states, progress)
    finally:
        env.close()
    return game
