"""`iglu-marl replay`: simulate and compare recorded games, and write them as datasets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from iglu_marl.commands.options import Json, MinariAgent, output_folder
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
    upstream: Annotated[
        Path | None, output_folder("Folder to write in the IGLU multi-turn layout.", "--upstream")
    ] = None,
    minari: Annotated[
        str | None, Option(metavar="ID", help="Minari dataset to write, such as iglu/games-v0.")
    ] = None,
    agent: MinariAgent = "builder_0",
    sees: Annotated[
        list[str] | None,
        Option(help="With --minari: observation, such as pov; may be repeated. Default: as recorded."),
    ] = None,
    append: Annotated[bool, Option("--append", help="With --minari: append to an existing dataset.")] = False,
    as_json: Json = False,
) -> bool:
    """Simulate recorded games and compare the states; write them as datasets.

    Exit code 1 at a difference. `iglu-marl show` writes pictures, videos and pages.

    Examples: iglu-marl replay games.jsonl; iglu-marl replay games.jsonl --minari iglu/games-v0
    """
    chosen = [each for file in files for each in _chosen(file, episode, verify)]
    console = text_console(as_json)
    found = []
    for position, (number, recording) in enumerate(chosen):
        # A folder has the first of these games; datasets have all.
        facts = _replayed(recording, number, verify, None if position else upstream)
        found.append(facts)
        name = f"{recording.path.name}, " if len(files) > 1 else ""
        console.print(name + _line(facts, verify))
        for path in facts["files"]:
            console.print(f"Saved {path}")
    facts_of_all: dict[str, Any] = {"recording": str(files[0]) if len(files) == 1 else [*map(str, files)]}
    same = all(facts["same"] for facts in found)
    if minari is not None and same:
        from iglu_marl.recording.offline import write_minari

        recordings = [recording for _, recording in chosen]
        made = write_minari(recordings, minari, agent=agent, sees=sees or (), append=append, verify=False)
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


def _replayed(recording: Recording, number: int, verify: bool, upstream: Path | None) -> dict[str, Any]:
    """Simulate one game, and write it in the IGLU multi-turn layout if a folder is given."""
    from iglu_marl import recording as recordings
    from iglu_marl.data.iglu.writer import EpisodeRecorder, write_sessions

    session = EpisodeRecorder()
    try:
        game = recordings.replay(recording, verify=verify, on_step=[] if upstream is None else [session])
    except ReplayError as error:
        return {"episode": number, "same": False, "difference": str(error), "files": []}
    if upstream is not None:
        structure = str(recording.task.task_id or "structure")
        write_sessions(upstream, [session.session(f"{number + 1}-{structure}", structure)])
    return {
        "episode": number,
        "same": True,
        **game_facts(game),
        "view": recording.view,
        "moves": len(recording.moves),
        "ended": recording.end is not None,
        "chain": recording.chain,
        "return": game.returns.get(Role.BUILDER, 0.0),
        "files": [] if upstream is None else [str(upstream)],
    }
