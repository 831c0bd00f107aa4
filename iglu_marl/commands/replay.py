"""What `iglu-marl replay` does: simulate recorded games again, compare, show them, and export them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from iglu_marl.commands.demo import GIF_FPS, GIF_FRAMES, GIF_SIZE, MP4_FPS, MP4_FRAMES, every, frames
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, ReplayError
from iglu_marl.envs.two_agent import BUILDER
from iglu_marl.recording import Recording, read_recording, replay


def run(
    files: Sequence[Path],
    *,
    episode: int | None = None,
    verify: bool = True,
    video: Path | None = None,
    html: Path | None = None,
    upstream: Path | None = None,
    dataset: Dataset | None = None,
    as_json: bool = False,
) -> bool:
    """Replay one episode of each file, or all of them; returns whether all came out as recorded.

    video, html, upstream: files, and a folder in the upstream multi-turn layout, of the first of these episodes.
    dataset: the Minari dataset that all of them become, if they came out as recorded.
    Raises `DataError` for a file that is no recording, `ConfigError` for an episode that it does not have.
    """
    chosen = [each for file in files for each in _chosen(file, episode)]
    console = Console(quiet=as_json, highlight=False, soft_wrap=True)
    found = []
    for position, (number, recording) in enumerate(chosen):
        exports = {} if position else {"video": video, "html": html, "upstream": upstream}
        facts = _replayed(recording, number, verify, exports)
        found.append(facts)
        name = f"{recording.path.name}, " if len(files) > 1 else ""
        console.print(name + _line(facts, verify))
        for path in facts["files"]:
            console.print(f"Saved {path}")
    told: dict[str, Any] = {"recording": str(files[0]) if len(files) == 1 else [str(file) for file in files]}
    same = all(facts["same"] for facts in found)
    if dataset is not None and same:
        told["dataset"] = dataset.write([recording for _, recording in chosen])
        console.print("Saved {dataset}: {episodes} episodes, {steps} steps".format_map(told["dataset"]))
    if as_json:
        print(json.dumps({**told, "episodes": found}))
    return same


def _chosen(file: Path, episode: int | None) -> list[tuple[int, Recording]]:
    recordings = read_recording(file)
    if episode is None:
        return list(enumerate(recordings))
    if not -len(recordings) <= episode < len(recordings):
        raise ConfigError(f"--episode is {episode}, but {file} has {len(recordings)}")
    return [(episode % len(recordings), recordings[episode])]


@dataclass(frozen=True)
class Dataset:
    """A Minari dataset to be written: its id, whose part it holds, what is observed ("" = as recorded)."""

    name: str
    agent: str = BUILDER
    sees: str = ""
    append: bool = False

    def write(self, recordings: list[Recording]) -> dict[str, Any]:
        """Write recordings that have been verified; returns the figures."""
        from iglu_marl.recording.offline import write_minari

        sees = [name.strip() for name in self.sees.split(",") if name.strip()]
        made = write_minari(
            recordings, self.name, agent=self.agent, sees=sees, append=self.append, verify=False
        )
        return {"dataset": self.name, "episodes": int(made.total_episodes), "steps": int(made.total_steps)}


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
    """The composed frames of the saved states as a video; a GIF is for pages: few frames, small."""
    from iglu_marl.rendering import write_video

    env = recording.make_env(render_mode="rgb_array")
    env.reset(seed=recording.seed, options={"task": recording.task, "pose": recording.header["pose"]})
    gif = path.suffix.lower() == ".gif"
    limit, size, fps = (GIF_FRAMES, GIF_SIZE, GIF_FPS) if gif else (MP4_FRAMES, None, MP4_FPS)
    try:
        return write_video(path, frames(env, every(states, limit), size), fps)
    finally:
        env.close()
