"""What `iglu-marl replay` does: simulate recorded games again, compare, and show them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from iglu_marl.commands.demo import MP4_FPS, MP4_FRAMES, every, frames
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, ReplayError
from iglu_marl.recording import Recording, read_recording, replay


def run(
    file: Path,
    *,
    episode: int | None = None,
    verify: bool = True,
    video: Path | None = None,
    html: Path | None = None,
    upstream: Path | None = None,
    as_json: bool = False,
) -> bool:
    """Replay one episode, or all of them; returns whether all came out as recorded.

    video, html, upstream: files, and a folder in the upstream multi-turn layout, of the episode (by default the first).
    Raises `DataError` for a file that is no recording, `ConfigError` for an episode that it does not have.
    """
    recordings = read_recording(file)
    if episode is not None and not -len(recordings) <= episode < len(recordings):
        raise ConfigError(f"--episode is {episode}, but {file} has {len(recordings)}")
    chosen = list(range(len(recordings))) if episode is None else [episode % len(recordings)]
    console = Console(quiet=as_json, highlight=False, soft_wrap=True)
    found = []
    for number in chosen:
        exports = {"video": video, "html": html, "upstream": upstream} if number == chosen[0] else {}
        facts = _replayed(recordings[number], number, verify, exports)
        found.append(facts)
        console.print(_line(facts, verify))
        for path in facts["files"]:
            console.print(f"Saved {path}")
    if as_json:
        print(json.dumps({"recording": str(file), "episodes": found}))
    return all(facts["same"] for facts in found)


def _line(facts: dict[str, Any], verify: bool) -> str:
    if not facts["same"]:
        return f"episode {facts['episode']}: {facts['difference']}"
    how = "as recorded, bit for bit" if verify else "simulated, not compared"
    end = "complete" if facts["completed"] else "not complete" if facts["ended"] else "broken off"
    return (
        f"episode {facts['episode']}: {facts['task']}, {facts['moves']} moves {how}; {end}, "
        f"{facts['intersection']} of {facts['target_blocks']} blocks, {facts['steps']} builder steps"
    )


def _replayed(
    recording: Recording, number: int, verify: bool, exports: dict[str, Path | None]
) -> dict[str, Any]:
    """Simulate one episode, and write what is wanted of it."""
    watchers, writers = _watchers(recording, number, exports)
    try:
        game = replay(recording, verify=verify, on_step=watchers)
    except ReplayError as error:
        return {"episode": number, "same": False, "difference": str(error), "files": []}
    return {
        "episode": number,
        "same": True,
        "task": game.task.task_id,
        "seed": game.seed,
        "view": recording.view,
        "moves": len(recording.moves),
        "ended": recording.end is not None,
        "completed": game.completed,
        "intersection": game.intersection,
        "target_blocks": game.target_blocks,
        "steps": game.builder_steps,
        "turns": game.architect_turns,
        "return": game.returns.get(Role.BUILDER, 0.0),
        "files": [str(write()) for write in writers],
    }


def _watchers(
    recording: Recording, number: int, exports: dict[str, Path | None]
) -> tuple[list[Callable[[Any], None]], list[Callable[[], Path]]]:
    """What looks at the game while it runs, and what is written of it then."""
    watchers: list[Callable[[Any], None]] = []
    writers: list[Callable[[], Path]] = []
    if (html := exports.get("html")) is not None:
        from iglu_marl.rendering.html import ReplayRecorder

        page = ReplayRecorder()
        watchers.append(page)
        writers.append(lambda: page.write(html))
    if (video := exports.get("video")) is not None:
        states: list[Any] = []
        watchers.append(lambda env: states.append(env.get_state()))
        writers.append(lambda: _film(recording, states, video))
    if (upstream := exports.get("upstream")) is not None:
        from iglu_marl.data.writer import EpisodeRecorder, write_sessions

        session = EpisodeRecorder()
        watchers.append(session)
        structure = str(recording.task.task_id or "structure")

        def write() -> Path:
            write_sessions(upstream, [session.session(f"{number + 1}-{structure}", structure)])
            return upstream

        writers.append(write)
    return watchers, writers


def _film(recording: Recording, states: list[Any], path: Path) -> Path:
    """The composed frames of the saved states as a video."""
    from iglu_marl.rendering import write_video

    env = recording.make_env(render_mode="rgb_array")
    env.reset(seed=recording.seed, options={"task": recording.task, "pose": recording.header["pose"]})
    try:
        return write_video(path, frames(env, every(states, MP4_FRAMES)), MP4_FPS)
    finally:
        env.close()
