"""`iglu-marl replay`: simulate, compare and export recorded games."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from iglu_marl.commands.game_video import write_game_video
from iglu_marl.commands.options import Json, MinariAgent, output_file, output_folder
from iglu_marl.commands.output import game_facts, print_json, text_console
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, ReplayError

if TYPE_CHECKING:
    from iglu_marl.recording import Recording


def replay(
    files: Annotated[
        list[Path], Argument(metavar="FILE...", help="Recording; several are possible.", show_default=False)
    ],
    episode: Annotated[
        int | None, Option(help="Index of a game in each recording, from 0. Default: all.")
    ] = None,
    verify: Annotated[
        bool,
        Option("--verify/--no-verify", help="Compare the hash of each line, and the state after each move."),
    ] = True,
    video: Annotated[Path | None, output_file("Video to write, .mp4 or .gif.", "--video")] = None,
    html: Annotated[Path | None, output_file("Replay page to write.", "--html")] = None,
    upstream: Annotated[
        Path | None, output_folder("Folder to write in the IGLU multi-turn layout.", "--upstream")
    ] = None,
    minari: Annotated[
        str | None, Option(metavar="ID", help="Minari dataset to write, such as iglu/games-v0.")
    ] = None,
    agent: MinariAgent = "builder_0",
    sees: Annotated[
        str, Option(help="With --minari: observations, such as pov,dialog. Default: as recorded.")
    ] = "",
    append: Annotated[bool, Option("--append", help="With --minari: append to an existing dataset.")] = False,
    as_json: Json = False,
) -> bool:
    """Simulate recorded games and compare the states; write videos, pages or datasets.

    Exit code 1 at a difference.
    """
    chosen = [each for file in files for each in _chosen(file, episode, verify)]
    console = text_console(as_json)
    found = []
    for position, (number, recording) in enumerate(chosen):
        # Videos, pages and folders have the first of these games; datasets have all.
        exports = {} if position else {"video": video, "html": html, "upstream": upstream}
        facts = _replayed(recording, number, verify, exports)
        found.append(facts)
        name = f"{recording.path.name}, " if len(files) > 1 else ""
        console.print(name + _line(facts, verify))
        for path in facts["files"]:
            console.print(f"Saved {path}")
    facts_of_all: dict[str, Any] = {"recording": str(files[0]) if len(files) == 1 else [*map(str, files)]}
    same = all(facts["same"] for facts in found)
    if minari is not None and same:
        from iglu_marl.recording.offline import write_minari

        keys = [key.strip() for key in sees.split(",") if key.strip()]
        recordings = [recording for _, recording in chosen]
        made = write_minari(recordings, minari, agent=agent, sees=keys, append=append, verify=False)
        facts_of_all["dataset"] = {
            "dataset": minari, "episodes": int(made.total_episodes), "steps": int(made.total_steps)
        }  # fmt: skip
        console.print(
            "Saved {dataset}: {episodes} episodes, {steps} steps".format_map(facts_of_all["dataset"])
        )
    print_json(as_json, {**facts_of_all, "episodes": found})
    return same


def _chosen(file: Path, episode: int | None, verify: bool) -> list[tuple[int, Recording]]:
    from iglu_marl.recording import read_recording

    recordings = read_recording(file, verify=verify)
    if episode is None:
        return list(enumerate(recordings))
    if not -len(recordings) <= episode < len(recordings):
        raise ConfigError(f"--episode is {episode}, but {file} has {len(recordings)}")
    return [(episode % len(recordings), recordings[episode])]


def _line(facts: dict[str, Any], verify: bool) -> str:
    if not facts["same"]:
        return f"episode {facts['episode']}: {facts['difference']}"
    how = "as recorded, bit for bit" if verify else "simulated, not compared"
    how += f", edited from outside {facts['edits']} times" if "edits" in facts else ""
    end = "complete" if facts["completed"] else "not complete" if facts["ended"] else "broken off"
    return (
        f"episode {facts['episode']}: {facts['task'] or 'structure'}, {facts['moves']} moves {how}; {end}, "
        f"{facts['intersection']} of {facts['target_blocks']} blocks, {facts['steps']} builder steps"
    )


def _replayed(
    recording: Recording, number: int, verify: bool, exports: dict[str, Path | None]
) -> dict[str, Any]:
    """Simulate one game, and write its exports."""
    from iglu_marl import recording as recordings

    watchers, writers = _watchers(recording, number, exports)
    try:
        game = recordings.replay(recording, verify=verify, on_step=watchers)
    except ReplayError as error:
        return {"episode": number, "same": False, "difference": str(error), "files": []}
    return {
        "episode": number,
        "same": True,
        **game_facts(game),
        "view": recording.view,
        "moves": len(recording.moves),
        "ended": recording.end is not None,
        "chain": recording.chain,
        "return": game.returns.get(Role.BUILDER, 0.0),
        "files": [str(write()) for write in writers],
    }


def _watchers(
    recording: Recording, number: int, exports: dict[str, Path | None]
) -> tuple[list[Callable[[Any], None]], list[Callable[[], Path]]]:
    """Return the observers of the running game, and the functions that write its exports afterwards."""
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
        from iglu_marl.data.iglu.writer import EpisodeRecorder, write_sessions

        session = EpisodeRecorder()
        watchers.append(session)
        structure = str(recording.task.task_id or "structure")

        def write() -> Path:
            write_sessions(upstream, [session.session(f"{number + 1}-{structure}", structure)])
            return upstream

        writers.append(write)
    return watchers, writers


def _film(recording: Recording, states: list[Any], path: Path) -> Path:
    """Write the composed frames of the saved states as a video."""
    env = recording.make_env(render_mode="rgb_array")
    env.reset(seed=recording.seed, options={"task": recording.task, "pose": recording.header["pose"]})
    try:
        return write_game_video(path, env, states)
    finally:
        env.close()
