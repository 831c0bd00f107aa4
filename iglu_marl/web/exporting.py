"""Export of a study: tables, recordings, the multi-turn layout of the IGLU data, Minari datasets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.data import EpisodeRecorder, write_sessions
from iglu_marl.recording import Recording, read_recording, replay
from iglu_marl.recording.games import GAME_KEYS
from iglu_marl.web import store as db
from iglu_marl.web.store import Store

RECORDINGS, SESSIONS = "recordings", "sessions"  # folders of an export


def export_study(
    store: Store, study: str, games: Path, output: Path, sessions: bool = False
) -> tuple[list[Path], dict[str, int]]:
    """Write the tables of a study and the recordings of its games into a folder.

    games: the folder with the recordings. sessions: whether to write the multi-turn layout too, one session per game in
    which the architect spoke and something was built, named like its recording. Return the paths of the recordings, and
    for the layout the number of sessions and of the games that it leaves out, by reason.
    """
    names = store.do(db.export, study, output)
    folder = output / RECORDINGS
    folder.mkdir()
    kept = [folder / name for name in dict.fromkeys(names) if (games / name).is_file()]
    for path in kept:
        shutil.copyfile(games / path.name, path)
    missing = len(dict.fromkeys(names)) - len(kept)
    counts = {
        **(_write_sessions(kept, output / SESSIONS) if sessions else {}),
        "without a recording": missing,
    }
    return kept, {name: count for name, count in counts.items() if count}


def _write_sessions(paths: Iterable[Path], folder: Path) -> dict[str, int]:
    found, unbuilt, silent = [], 0, 0
    for path in paths:
        recorder = EpisodeRecorder()
        (recording,) = read_recording(path)
        replay(recording, on_step=recorder)
        try:
            session = recorder.session(path.stem, str(recording.task.task_id or "structure"))
        except DataError:
            unbuilt += 1
            continue
        if any(said.role == Role.ARCHITECT for turn in session.turns for said in turn):
            found.append(session)
        else:
            silent += 1
    if found:
        write_sessions(folder, found)
    return {"sessions": len(found), "nothing was built": unbuilt, "the architect said nothing": silent}


def write_datasets(paths: Sequence[Path], dataset_id: str, agent: str) -> dict[str, int]:
    """Write recordings as Minari datasets, one for each kind of game. Return the number of episodes by dataset.

    dataset_id: such as "words/games-v0"; if there are several kinds, the builder's controls and a number are added
        before the version. agent: whose actions. Raises the errors of `iglu_marl.recording.offline.write_minari`.
    """
    from iglu_marl.recording.offline import write_minari

    kinds: dict[str, list[Recording]] = {}
    for path in paths:
        for recording in read_recording(path):
            role = agent.removesuffix("_0")
            if any(role in move.actions for move in recording.moves):
                kinds.setdefault(_kind(recording.header), []).append(recording)
    stem, dash, version = dataset_id.rpartition("-")
    if not dash:
        raise ConfigError(f"the dataset is {dataset_id!r}, expected an id such as words/games-v0")
    made = {}
    for number, recordings in enumerate(kinds.values(), start=1):
        controls = recordings[0].header["controls"]["name"]
        name = dataset_id if len(kinds) == 1 else f"{stem}-{controls}-{number}-{version}"
        made[name] = int(write_minari(recordings, name, agent=agent).total_episodes)
    return made


def _kind(header: Mapping[str, Any]) -> str:
    return json.dumps({key: header.get(key) for key in GAME_KEYS}, sort_keys=True)
