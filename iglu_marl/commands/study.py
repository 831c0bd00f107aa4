"""`iglu-marl study`: prepare a study, count its participants, export its data, delete a participant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from typer import Argument, Option

from iglu_marl.commands.options import (
    GAMES_FOLDER,
    Data,
    Database,
    GamesFolder,
    Json,
    Seed,
    TaskSource,
    output_file,
    output_folder,
    positive,
)
from iglu_marl.commands.output import print_json, text_console
from iglu_marl.core.extras import extra

if TYPE_CHECKING:
    from iglu_marl.web.store import Store
    from iglu_marl.web.study import Study

StudyFile = Annotated[Path, Argument(metavar="FILE", help="Study (TOML).")]


def open_study(file: Path, db: str | None, folder: Path) -> tuple[Study, Store]:
    """Open a study and its database. Raises `ConfigError` without the extra `web`."""
    from iglu_marl.core.files import private_folder

    with extra("web"):
        from iglu_marl.web.store import Store
        from iglu_marl.web.study import read_study
    study = read_study(file)
    if db is None:
        private_folder(folder)
        db = f"sqlite:///{(folder / 'studies.db').resolve()}"
    return study, Store(db)


def rehearse(
    file: StudyFile,
    participants: Annotated[int, Option(min=1, help="Number of simulated participants.")] = 60,
    every: Annotated[float, Option(help="Mean seconds between two arrivals.", callback=positive)] = 20.0,
    dropouts: Annotated[float, Option(min=0, max=1, help="Share who leave for good at some moment.")] = 0.2,
    seed: Seed = 0,
    tasks: TaskSource = None,
    data: Data = None,
    output: Annotated[
        Path | None, output_folder("New folder with the data, as `study export` writes them.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Try a study with simulated participants, in simulated time: pairs, waits, balance and problems.

    Agents play for the participants. Language models among the partners are replaced by scripted agents.

    Examples: iglu-marl study rehearse study.toml
    """
    from tempfile import TemporaryDirectory

    from iglu_marl.commands.task_selection import all_tasks
    from iglu_marl.core.files import new_folder

    with extra("web"):
        from iglu_marl.web.exporting import export_study
        from iglu_marl.web.rehearsal import Crowd, run_rehearsal
        from iglu_marl.web.study import read_study
    crowd = Crowd(participants, every, dropouts, seed)
    study = read_study(file)
    structures = all_tasks(tasks, data)
    with TemporaryDirectory() as place:
        folder = Path(place)
        with text_console(as_json).status("Rehearsing"):
            report, store = run_rehearsal(study, folder, structures, crowd)
        if output is not None:
            with new_folder(output, private=True) as made:
                export_study(store, study.name, folder, made)
        store.close()
    if not print_json(as_json, report):
        for name, value in report.items():
            for line in value if isinstance(value, list) and value else [value or "none"]:
                text_console().print(f"{name:14} {line}")


def status(
    file: StudyFile, db: Database = None, folder: GamesFolder = GAMES_FOLDER, as_json: Json = False
) -> None:
    """Count the participants by condition and stage.

    Examples: iglu-marl study status study.toml
    """
    study, store = open_study(file, db, folder)
    from iglu_marl.web import store as tables

    rows = store.do(tables.status, study.name)
    store.close()
    if print_json(as_json, rows):
        return
    for row in rows or [{"condition": "nobody yet", "stage": "", "participants": 0}]:
        text_console().print(f"{row['condition']:20} {row['stage']:14} {row['participants']}")


def links(
    file: StudyFile,
    codes: Annotated[list[str], Argument(metavar="CODE…", help="Codes of participants.")],
    address: Annotated[str, Option(help="Address of the server.")] = "http://127.0.0.1:8000",
    folder: GamesFolder = GAMES_FOLDER,
) -> None:
    """Print a signed link for each participant of a study with `links = "signed"`.

    Examples: iglu-marl study links study.toml P1 P2
    """
    with extra("web"):
        from iglu_marl.web.sessions import sign
        from iglu_marl.web.study import CODE, read_study
    from iglu_marl.core.errors import ConfigError

    study = read_study(file)
    for code in codes:
        if CODE.fullmatch(code) is None:
            raise ConfigError(f"the code is {code!r:.80}, expected letters, digits and . : @ - _")
        link = f"{address}/?{study.participant}={quote(code)}&key={sign(folder, study.name, code)}"
        text_console().print(link)


def export(
    file: StudyFile,
    output: Annotated[Path, output_folder("New folder.")] = Path("study"),
    upstream: Annotated[
        bool, Option("--upstream", help="Also write the games in the IGLU multi-turn layout.")
    ] = False,
    db: Database = None,
    folder: GamesFolder = GAMES_FOLDER,
) -> None:
    """Write participants, games, answers and events as CSV, and the recordings of the games.

    Examples: iglu-marl study export study.toml -o data
    """
    from iglu_marl.core.files import new_folder

    study, store = open_study(file, db, folder)
    from iglu_marl.web.exporting import export_study

    with new_folder(output, private=True) as made:
        recordings, counts = export_study(store, study.name, folder, made, upstream)
    store.close()
    text_console().print(f"{output} has {len(recordings)} recordings.")
    for name, count in counts.items():
        text_console().print(f"Sessions: {count}." if name == "sessions" else f"Left out: {count}, {name}.")


def backup(
    file: StudyFile,
    output: Annotated[Path, output_file("New file.")] = Path("studies-backup.db"),
    db: Database = None,
    folder: GamesFolder = GAMES_FOLDER,
) -> None:
    """Copy the database (SQLite) of a study while the server runs.

    Examples: iglu-marl study backup study.toml
    """
    _, store = open_study(file, db, folder)
    store.backup(output)
    store.close()
    text_console().print(f"{output} has the database.")


def forget(
    file: StudyFile,
    code: Annotated[str, Argument(metavar="CODE", help="Code of the participant.")],
    db: Database = None,
    folder: GamesFolder = GAMES_FOLDER,
) -> None:
    """Delete all data of a participant: rows, answers, and recordings of games.

    Examples: iglu-marl study forget study.toml P1
    """
    study, store = open_study(file, db, folder)
    from iglu_marl.web import store as tables

    recordings = store.do(tables.forget, study.name, code)
    store.close()
    for name in recordings:
        for path in (folder / name, (folder / name).with_suffix(".seats")):
            path.unlink(missing_ok=True)
    text_console().print(f"Deleted all data of {code}, and {len(recordings)} recordings.")
