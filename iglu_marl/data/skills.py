"""The skills of IGLU's competitions: labels of the structures C1 to C157, published with IGLU Gridworld.

The file of labels is not part of this package: `iglu-marl data fetch skills` downloads it. A line of it is

    C7: [tricky, flying, tall, diagonal, colors: 2]
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import usable_path
from iglu_marl.core.parsing import MIB, read_file
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.registry import DATA_PATH_VARIABLE, SKILLS_FILE

SKILLS = ("flat", "flying", "diagonal", "tricky", "tall")
"""Skills in the order of the competition's tables."""
_LINE = re.compile(r"(C[1-9][0-9]*):\s*\[(.*)\]\s*")
_COLORS = re.compile(r"colors: [1-6]")


def competition_skills(path: str | os.PathLike[str] | None = None) -> dict[str, tuple[str, ...]] | None:
    """Return the skills of each structure: `{"C7": ("flying", "diagonal", "tricky", "tall"), …}`.

    Args:
        path: the file of labels, or a folder with it, such as a checkout of IGLU Gridworld. Default: `IGLU_DATA_PATH`,
            then the folder of downloads; None if it is in neither.

    Raises:
        DataError: if there is no such file in `path`, or a line of it is no line of labels.

    """
    found = skills_file() if path is None else _file_in(usable_path(path, named=False))
    if found is None:
        if path is None:
            return None
        raise DataError(f"{path} has no {SKILLS_FILE.filename}, expected this file or a folder with it")
    return _read(found, found.stat().st_mtime_ns)


def skills_file() -> Path | None:
    """Return the file of labels in `IGLU_DATA_PATH` or the folder of downloads; None if it is in neither."""
    variable = os.environ.get(DATA_PATH_VARIABLE)
    places = [Path(variable).expanduser()] if variable else []
    return next(filter(None, map(_file_in, (*places, pack_folder()))), None)


def _file_in(place: Path) -> Path | None:
    if place.is_file():
        return place if place.suffix == SKILLS_FILE.suffix else None
    names = (SKILLS_FILE.filename, *SKILLS_FILE.usual_names)  # of a folder of packs, or a checkout
    return next((place / name for name in names if (place / name).is_file()), None)


@functools.lru_cache(maxsize=8)
def _read(path: Path, changed_ns: int) -> dict[str, tuple[str, ...]]:
    """Read a file of labels. changed_ns: when it was changed, so that it is read again."""
    labels = {}
    for number, line in enumerate(read_file(path, MIB).decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        words = [] if match is None else [word.strip() for word in match[2].split(",") if word.strip()]
        if match is None or not all(word in SKILLS or _COLORS.fullmatch(word) for word in words):
            raise DataError(
                f"{path}, line {number}: {line!r:.80}, expected such as C7: [flying, tall, colors: 2]"
            )
        labels[match[1]] = tuple(skill for skill in SKILLS if skill in words)
    if not labels:
        raise DataError(f"{path} has no labels, expected lines such as C7: [flying, tall, colors: 2]")
    return labels
