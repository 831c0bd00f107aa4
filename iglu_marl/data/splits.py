"""One split of the structures into train, val and test, the same for every corpus, and a check that parts share none.

The corpora are about the same structures: IGLU's sessions build those of the Minecraft Dialogue Corpus. So a part is a
function of the structure alone (`Split.of`). Structures of the Minecraft Dialogue Corpus go where its own split has
them; the four that it does not name are in train, since nobody is tested on them. All others go by a hash of their
name, or of their content where they have none: 60 % train, 20 % val, 20 % test, as in that corpus.

The split is frozen: what is in a part of a `SPLIT_VERSION` stays there.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import BlockGrid, as_grid, canonical
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.core.task_source import GroupedSource

SPLIT_VERSION = 1
FEWEST_BLOCKS = 6  # of a structure that is known by its blocks: smaller ones are alike by chance

_CORPUS_ID = re.compile(r"[cC]0*([1-9][0-9]{0,2})")
_LISTED = 157  # structures of the Minecraft Dialogue Corpus, C1 to C157
_VAL = frozenset(
    {1, 2, 4, 8, 11, 12, 14, 16, 20, 23, 25, 33, 35, 36, 37, 48, 62, 66, 69, 79, 85, 94, 99, 102,
     103, 118, 128, 144, 153}
)  # fmt: skip
_TEST = frozenset(
    {5, 6, 28, 30, 34, 40, 43, 45, 46, 51, 53, 54, 55, 60, 61, 67, 74, 78, 84, 89, 96, 104, 109,
     114, 121, 123, 125, 130, 134, 135, 137, 138, 142, 145, 148, 150, 151, 152, 156}
)  # fmt: skip
_SALT = "iglu_marl structure "


class SplitWarning(UserWarning):
    """Parts that should share no structure do."""


class Split(str, Enum):
    """A part of all structures."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"

    __str__ = str.__str__

    @classmethod
    def of(cls, structure: str | BlockGrid) -> Split:
        """The part of a structure, by its name ("C17", "c17", "bridge") or else its blocks, int8 [9, 11, 11].

        Blocks are taken up to a shift and quarter turns. Raises `DataError` for an empty name or world.
        """
        name = structure_id(structure) if isinstance(structure, str) else content_id(structure)
        if not name:
            raise DataError("nothing has no part in the split, expected a structure's name or its blocks")
        known = _CORPUS_ID.fullmatch(name)
        number = int(known[1]) if known else 0
        if 0 < number <= _LISTED:
            return cls.VAL if number in _VAL else cls.TEST if number in _TEST else cls.TRAIN
        part = hash_fraction(_SALT + name)
        return cls.TRAIN if part < 0.6 else cls.VAL if part < 0.8 else cls.TEST


def hash_fraction(key: str) -> float:
    """A number in [0, 1) that belongs to a text: the first 8 hexadecimal digits of its sha256."""
    return int(hashlib.sha256(key.encode("utf-8")).hexdigest()[:8], 16) / 2**32


def structure_id(name: str) -> str:
    """A structure's name, those of the Minecraft Dialogue Corpus as it writes them ("c17" is C17)."""
    known = _CORPUS_ID.fullmatch(name.strip())
    return f"C{int(known[1])}" if known else name.strip()


def content_id(grid: BlockGrid) -> str:
    """A text that structures share when a shift and quarter turns lead from one to the other; "" for an empty one."""
    form = canonical(as_grid(grid, "structure"))
    return f"sha256:{hashlib.sha256(form).hexdigest()}" if form else ""


class SharedStructure(NamedTuple):
    """A structure that several parts have: its names, or its `content_id` where it has none; and the parts."""

    names: tuple[str, ...]
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' = '.join(self.names)} in {' and '.join(self.parts)}"


def check_split(**parts: Any) -> list[SharedStructure]:
    """The structures that several of these parts have, with a `SplitWarning` when there are any.

    A part is a source of tasks, an iterable of tasks and sessions or of names of structures, or a list of such parts:
    `check_split(train=[corpus.split("train"), mine], test=singleturn.split("test"))`. Structures are the same when
    their names are, or their blocks up to a shift and quarter turns. Blocks are compared where not both have a name of
    the Minecraft Dialogue Corpus, and of whole structures of `FEWEST_BLOCKS` or more alone: what a session, or a task
    without starting blocks, ends with.

    Raises `DataError` for a part that is none of these.
    """
    by_name: dict[str, dict[str, None]] = {}
    by_content: dict[str, tuple[dict[str, None], dict[str, None]]] = {}  # names, parts
    for part, source in parts.items():
        for name, entry in _entries_of(source, part):
            if name:
                by_name.setdefault(structure_id(name), {})[part] = None
            content = _whole(entry)
            if content:
                names, where = by_content.setdefault(content, ({}, {}))
                names[structure_id(name) or content] = where[part] = None
    shared = [SharedStructure((name,), tuple(where)) for name, where in by_name.items() if len(where) > 1]
    known = {one.names[0] for one in shared}
    shared += [
        SharedStructure(tuple(sorted(names)), tuple(where))
        for names, where in by_content.values()
        if len(where) > 1 and not known & names.keys() and not all(map(_CORPUS_ID.fullmatch, names))
    ]
    if shared:
        told = "; ".join(map(str, shared[:5])) + ("; ..." if len(shared) > 5 else "")
        warnings.warn(f"structures in several parts ({len(shared)}): {told}", SplitWarning, stacklevel=2)
    return shared


def _entries_of(source: Any, part: str) -> Iterator[tuple[str, Task | Subtasks | None]]:
    """The tasks and sessions of a part, each with the name of its structure, "" where it has none."""
    if isinstance(source, str):
        yield source, None
    elif isinstance(source, (Task, Subtasks)):
        yield "", source
    elif isinstance(source, GroupedSource):
        of = getattr(source, "structure_of", lambda name, entry: name)
        for name, entries in source.tasks.items():
            yield from ((of(name, entry), entry) for entry in entries)
    elif isinstance(source, Iterable):
        for one in source:
            yield from _entries_of(one, part)
    else:
        raise DataError(
            f"part {part!r} holds {source!r:.80}, expected a source of tasks, tasks, or structures' names"
        )


def _whole(entry: Task | Subtasks | None) -> str:
    """The content of the whole structure that an entry ends with; "" where that is too little, or only a change."""
    if entry is None:
        return ""
    task = (entry if isinstance(entry, Task) else entry[len(entry) - 1]).in_ids("iglu")
    grid = task.target_grid if task.full_grid is None and not task.start_grid.any() else task.full_grid
    return content_id(grid) if grid is not None and np.count_nonzero(grid) >= FEWEST_BLOCKS else ""
