"""`iglu-marl study`: where the participants of a study stand, its data, and forgetting one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from iglu_marl.commands.options import GAMES_FOLDER, Database, GamesFolder, Json, MinariAgent
from iglu_marl.core.errors import ConfigError

if TYPE_CHECKING:
    from iglu_marl.web.store import Store
    from iglu_marl.web.study import Study

StudyFile = Annotated[Path, Argument(metavar="FILE", help="The study (TOML).")]


def open_study(file: Path, db: str | None, folder: Path) -> tuple[Study, Store]:
    """The study of a file, and its database. Raises `ConfigError` without the extra."""
    from iglu_marl.core.files import private_folder

    try:
        from iglu_marl.web.store import Store
        from iglu_marl.web.study import read_study
    except ImportError:
        raise ConfigError('studies need the extra "web": pip install "iglu_marl[web]"') from None
    study = read_study(file)
    if db is None:
        private_folder(folder)
        db = f"sqlite:///{(folder / 'studies.db').resolve()}"
    return study, Store(db)


def status(
    file: StudyFile, db: Database = None, folder: GamesFolder = GAMES_FOLDER, as_json: Json = False
) -> None:
    """How many participants are where, by condition and stage."""
    from iglu_marl.web import store as tables

    study, store = open_study(file, db, folder)
    rows = store.do(tables.status, study.name)
    store.close()
    if as_json:
        print(json.dumps(rows))
        return
    for row in rows or [{"condition": "nobody yet", "stage": "", "participants": 0}]:
        print(f"{row['condition']:20} {row['stage']:14} {row['participants']}")


def export(
    file: StudyFile,
    output: Annotated[Path, Option("--output", "-o", help="A new folder.")] = Path("study"),
    upstream: Annotated[
        bool, Option("--upstream", help="The games also in the multi-turn layout of the IGLU data.")
    ] = False,
    minari: Annotated[
        str | None, Option(metavar="ID", help="A Minari dataset of the games to write, words/games-v0 say.")
    ] = None,
    agent: MinariAgent = "builder_0",
    db: Database = None,
    folder: GamesFolder = GAMES_FOLDER,
) -> None:
    """Participants, games, answers and events as CSV, and the recordings of the games."""
    from iglu_marl.core.files import new_folder

    study, store = open_study(file, db, folder)
    from iglu_marl.web.exporting import export_study, write_datasets

    with new_folder(output, marker="participants.csv", private=True) as made:
        recordings = export_study(store, study.name, folder, made, upstream)
    store.close()
    print(f"{output} has {len(recordings)} recordings.")
    if minari is not None:
        paths = [output / path.parent.name / path.name for path in recordings]
        for name, episodes in write_datasets(paths, minari, agent).items():
            print(f"The dataset {name} has {episodes} episodes.")


def forget(
    file: StudyFile,
    code: Annotated[str, Argument(metavar="CODE", help="The participant.")],
    db: Database = None,
    folder: GamesFolder = GAMES_FOLDER,
) -> None:
    """Delete all that is kept of a participant: rows, answers, and the recordings of its games."""
    from iglu_marl.web import store as tables

    study, store = open_study(file, db, folder)
    recordings = store.do(tables.forget, study.name, code)
    store.close()
    for name in recordings:
        for path in (folder / name, (folder / name).with_suffix(".seats")):
            path.unlink(missing_ok=True)
    print(f"Nothing is kept of {code} any more; {len(recordings)} recordings are deleted.")
