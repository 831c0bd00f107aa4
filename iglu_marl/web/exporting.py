"""Export of a study: tables, recordings, the multi-turn layout of the IGLU data."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import DataError
from iglu_marl.data import EpisodeRecorder, write_sessions
from iglu_marl.recording import read_recording, replay
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
    counts = _write_sessions(kept, output / SESSIONS) if sessions else {}
    counts["without a recording"] = missing
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
