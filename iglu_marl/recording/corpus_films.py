"""A corpus as web pages with search and replays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iglu_marl import data
from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.task import Task
from iglu_marl.data.packs.archive import Pack, open_pack
from iglu_marl.data.packs.registry import PACKS
from iglu_marl.data.packs.store import find_pack
from iglu_marl.data.progress import track
from iglu_marl.recording.films import Film, film_of_timeline, film_of_turns, page_of

if TYPE_CHECKING:
    from iglu_marl.data.iglu.singleturn import Game

    Source = data.CDMDataset | data.MultiturnDataset | data.SingleturnDataset

Named = tuple[str, str, str, Film | None]  # session, structure, split, film


def write_corpus_pages(
    source: str,
    corpus: Any,
    output: Path,
    *,
    path: Path | None = None,
    structures: Sequence[str] = (),
    progress: bool | None = None,
) -> dict[str, Any]:
    """Write a corpus as a folder of web pages that search all utterances and replay each session.

    Args:
        source: Name of the corpus: "bundled", or a pack.
        corpus: The corpus, a dataset.
        output: Folder to write.
        path: Place of the pack.
        structures: Structures to show; default: all.
        progress: Whether to show a progress bar; None: on a terminal.

    Returns:
        The number of sessions, the names of those without poses, which are left out, and the file to open.

    Raises:
        ConfigError: If a structure is unknown.

    """
    from iglu_marl.rendering.corpus import CorpusSession, write_corpus

    if structures:
        known = {str(record["structure"]) for record in corpus.records()}
        if unknown := [name for name in structures if name not in known]:
            raise ConfigError(
                f"{source} has no structure {unknown[0]!r}, expected one of {', '.join(sorted(known))}"
            )
        corpus = corpus.filter(structures=list(structures))
    left_out: list[str] = []

    def sessions() -> Iterator[CorpusSession]:
        films, count = _films(source, path, corpus, set(structures))
        for name, built, split, film in track(films, "sessions", count, progress):
            if film is None:
                left_out.append(name)
            else:
                yield CorpusSession(name, page_of(film).data, built, split)

    info = PACKS.get(source)
    title = "Sessions that come with iglu_marl" if info is None else info.title
    about = "" if info is None else f"{info.description} Licence: {info.licence}. {info.citation[0]}."
    index = write_corpus(output, title, sessions(), about=about)
    pages = len(list((index.parent / "sessions").iterdir()))
    return {"source": source, "sessions": pages, "left_out": left_out, "file": str(index)}


def _films(
    source: str, path: Path | None, corpus: Source, structures: set[str]
) -> tuple[Iterator[Named], int]:
    """Return the films of a corpus, and their number."""
    if isinstance(corpus, data.CDMDataset):
        sessions = corpus.sessions()
        return ((s.name, s.structure, s.split or "", _or_none(s)) for s in sessions), len(sessions)
    pack = open_pack(str(data.bundled.files())) if source == "bundled" else find_pack(source, path)
    if isinstance(corpus, data.MultiturnDataset):
        return _sessions(corpus, pack, source != "bundled"), sum(map(len, corpus.tasks.values()))
    games = [game for game in corpus.games.values() if not structures or game.structure in structures]
    return _games(corpus, games, pack), len(games)


def _or_none(session: Any) -> Film | None:
    try:
        return film_of_timeline(session)
    except DataError:
        return None


def _world_file(pack: Pack, name: str) -> bytes | None:
    """Return a world file; None if it is damaged."""
    try:
        return pack.read(name)
    except DataError:
        return None


def _sessions(corpus: data.MultiturnDataset, pack: Pack, in_parts: bool) -> Iterator[Named]:
    parts = corpus.part_names() if in_parts else {}
    with pack:
        for structure, entries in corpus.tasks.items():
            for session in entries:
                name = str(session.task_id)
                files = [_world_file(pack, corpus.file_of(name, turn)) for turn in range(len(session))]
                film = film_of_turns(f"{structure}, {name}", list(session), files)
                yield name, structure, parts.get(name, ""), film


def _games(corpus: data.SingleturnDataset, games: list[Game], pack: Pack) -> Iterator[Named]:
    """Yield the single-turn games: a clear one with its build, an unclear one with the question."""
    parts = {corpus.games[name].structure: part for name, part in corpus.part_names().items()}
    with pack:
        for game in games:
            start = corpus.worlds.get(game.start_path)
            if start is None:
                yield game.game_id, game.structure, "", None
                continue
            said = Dialogue([Utterance(Role.ARCHITECT, game.instruction)]).say(Role.BUILDER, game.question)
            built = corpus.worlds.get(game.rebuilt_path)
            wanted = corpus.worlds.get(game.original_path, start) if built is None else built
            task = Task(
                said, start if built is None else built, starting_grid=start, full_grid=wanted, ids="iglu"
            )
            file = None if built is None else _world_file(pack, game.rebuilt_path)
            film = film_of_turns(f"{game.structure}, {game.game_id}", [task], [file])
            yield game.game_id, game.structure, parts.get(game.structure, ""), film
