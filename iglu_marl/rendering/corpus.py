"""A corpus as web pages: a searchable index, and for each session a page with the dialogue beside a timeline.

`write_corpus` writes a folder that works offline: `index.html`, and `sessions/NAME.html` for each session, the page
of `iglu_marl.rendering.html` with links to the index and to its neighbours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iglu_marl.core.errors import RenderError
from iglu_marl.core.files import new_folder
from iglu_marl.rendering.html import filled_page, replay_page

FORMAT, VERSION = "iglu_marl corpus", 1
INDEX, SESSIONS = "index.html", "sessions"


@dataclass(frozen=True)
class CorpusSession:
    """A session of a corpus: name, structure, split, and the data of its replay (see `iglu_marl.rendering.html`)."""

    name: str
    replay: Mapping[str, Any]
    structure: str = ""
    split: str = ""


def write_corpus(
    path: str | os.PathLike[str],
    title: str,
    sessions: Iterable[CorpusSession],
    *,
    about: str = "",
) -> Path:
    """Write the pages of a corpus, and return the path of the index.

    Raises `RenderError`, and writes nothing, if the folder is in use, a replay has no moments, or there is no session.

    Args:
        path: a folder that does not exist yet or is empty.
        title: heading of the index.
        sessions: may be a generator; each session is written when it arrives.
        about: a line below the title, for example the licence.

    """
    rows: list[dict[str, Any]] = []
    files = _files()
    with new_folder(path, error=RenderError) as folder:
        (folder / SESSIONS).mkdir()
        waiting: tuple[str, CorpusSession] | None = None
        before: str | None = None
        for session in sessions:
            file = files(session.name)
            rows.append(_row(session, f"{SESSIONS}/{file}"))
            if waiting is not None:
                _write_session(folder, *waiting, before, file)
                before = waiting[0]
            waiting = file, session
        if waiting is None:
            raise RenderError(f"there is no session to be written to {path}")
        _write_session(folder, *waiting, before, None)
        colors = waiting[1].replay["colors"]
        data = {"format": FORMAT, "version": VERSION, "title": title, "about": about, "colors": colors}
        page = filled_page("corpus.html", title, {**data, "sessions": rows})
        (folder / INDEX).write_text(page, encoding="utf-8", newline="")
    return Path(path) / INDEX


def _files() -> Callable[[str], str]:
    """Return a function that maps session names to unique file names, valid on every file system."""
    taken: set[str] = set()

    def file(name: str) -> str:
        plain = "-".join(re.findall(r"[A-Za-z0-9_]+", name))[:100] or "session"
        own, number = plain, 1
        while own.lower() in taken:
            number += 1
            own = f"{plain}-{number}"
        taken.add(own.lower())
        return f"{own}.html"

    return file


def _write_session(
    folder: Path, file: str, session: CorpusSession, before: str | None, after: str | None
) -> None:
    pages = {"All sessions": f"../{INDEX}", "Previous": before, "Next": after}
    replay = {**session.replay, "links": [[text, page] for text, page in pages.items() if page is not None]}
    (folder / SESSIONS / file).write_text(replay_page(replay), encoding="utf-8", newline="")


def _row(session: CorpusSession, file: str) -> dict[str, Any]:
    replay = session.replay
    world: dict[tuple[int, ...], int] = {tuple(block[:3]): block[3] for block in replay["start"]}
    world |= {tuple(edit[1:4]): edit[4] for edit in replay["edits"]}
    times = replay["runs"].get("time_s") or [[0, 0.0]]
    return {
        "name": session.name,
        "file": file,
        "structure": session.structure,
        "split": session.split,
        "time_s": times[-1][1],
        "blocks": sorted([*cell, color] for cell, color in world.items() if color),
        "said": [
            [speaker, text, moment]
            for (speaker, text), moment in zip(replay["dialogue"], _heard(replay), strict=True)
        ],
    }


def _heard(replay: Mapping[str, Any]) -> Iterator[int]:
    """Yield, for each utterance, the moment at which it is heard."""
    runs = replay["runs"].get("said", [])
    for number in range(len(replay["dialogue"])):
        yield next((moment for moment, count in runs if count > number), replay["moments"] - 1)
