"""Split of the structures into train, val and test, the same for every corpus, and a check for shared structures.

The corpora share structures: the IGLU sessions build those of the Minecraft Dialogue Corpus. The part is therefore a
function of the structure alone (`Split.of`):

- structures of the Minecraft Dialogue Corpus follow its own split; the four that it does not list are in train;
- others follow a hash of their name, or of their blocks if they have no name: 60 % train, 20 % val, 20 % test.

The split is frozen: a structure never changes its part within a `SPLIT_VERSION`.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import BlockGrid, as_grid, canonical
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.core.task_source import GroupedSource

SPLIT_VERSION = 1
MIN_COMPARED_BLOCKS = 6  # smaller structures are equal by chance

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
    """A structure is in more than one part of a split, or some entries cannot be checked."""


class Split(str, Enum):
    """A part of the split."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"

    __str__ = str.__str__

    @classmethod
    def of(cls, structure: str | BlockGrid) -> Split:
        """Return the part of a structure, given its name ("C17", "c17", "bridge") or its blocks, int8 [9, 11, 11].

        Shifts and quarter turns of the blocks do not matter. Raises `DataError` for an empty name or world.
        """
        name = structure_id(structure) if isinstance(structure, str) else content_id(structure)
        if not name:
            raise DataError(
                f"structure is {structure!r:.40}, expected a structure's name or at least one block"
            )
        known = _CORPUS_ID.fullmatch(name)
        number = int(known[1]) if known else 0
        if 0 < number <= _LISTED:
            return cls.VAL if number in _VAL else cls.TEST if number in _TEST else cls.TRAIN
        part = hash_fraction(_SALT + name)
        return cls.TRAIN if part < 0.6 else cls.VAL if part < 0.8 else cls.TEST


def hash_fraction(key: str) -> float:
    """Map a text to [0, 1) by the first 8 hexadecimal digits of its sha256."""
    return int(hashlib.sha256(key.encode("utf-8")).hexdigest()[:8], 16) / 2**32


def structure_id(name: str) -> str:
    """Return the name of a structure, with names of the Minecraft Dialogue Corpus in its form ("c17" is C17)."""
    known = _CORPUS_ID.fullmatch(name.strip())
    return f"C{int(known[1])}" if known else name.strip()


def content_id(grid: BlockGrid) -> str:
    """Return a hash that is equal for shifts and quarter turns of the same structure; "" for an empty world."""
    form = canonical(as_grid(grid, "structure"))
    return f"sha256:{hashlib.sha256(form).hexdigest()}" if form else ""


class SharedStructure(NamedTuple):
    """A structure in several parts: its names (or its `content_id` if it has none), and the parts."""

    names: tuple[str, ...]
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' = '.join(self.names)} in {' and '.join(self.parts)}"


def check_split(**parts: Any) -> list[SharedStructure]:
    """Return the structures that are in several parts, and issue a `SplitWarning` if there are any.

    `check_split(train=[corpus.split("train"), mine], test=singleturn.split("test"))`

    Structures are equal if their names are equal, or their blocks up to a shift and quarter turns. Blocks are compared
    if not both structures have a name of the Minecraft Dialogue Corpus. Only whole structures of `MIN_COMPARED_BLOCKS`
    or more are compared: the final world of a session, or of a task without starting blocks. Entries without a name
    (`Task.structure`) and without such a structure cannot be checked, which is another `SplitWarning`.

    Args:
        parts: for each part a task source, an iterable of tasks, sessions or structure names, or a list of these.

    Raises:
        DataError: if a part is none of these.

    """
    by_name: dict[str, dict[str, None]] = {}
    by_content: dict[str, tuple[dict[str, None], dict[str, None]]] = {}  # names, parts
    unchecked: Counter[str] = Counter()
    for part, source in parts.items():
        for name, entry in _entries_of(source, part):
            if name:
                by_name.setdefault(structure_id(name), {})[part] = None
            content = _whole(entry)
            unchecked[part] += not name and not content
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
        listed = "; ".join(map(str, shared[:5])) + ("; ..." if len(shared) > 5 else "")
        warnings.warn(f"structures in several parts ({len(shared)}): {listed}", SplitWarning, stacklevel=2)
    if listed := ", ".join(f"{count} in {part}" for part, count in unchecked.items() if count):
        warnings.warn(
            f"entries that cannot be checked: {listed}; they have neither a structure's name nor a whole structure of "
            f"{MIN_COMPARED_BLOCKS} blocks or more",
            SplitWarning,
            stacklevel=2,
        )
    return shared


def _entries_of(source: Any, part: str) -> Iterator[tuple[str, Task | Subtasks | None]]:
    """Yield (structure name or "", task or session) of a part."""
    if isinstance(source, str):
        yield source, None
    elif isinstance(source, (Task, Subtasks)):
        yield source.structure, source
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
    """Return the `content_id` of the final structure of an entry; "" if it is small, or only a change of a start."""
    if entry is None:
        return ""
    task = (entry if isinstance(entry, Task) else entry[len(entry) - 1]).in_ids("iglu")
    grid = task.target_grid if task.full_grid is None and not task.start_grid.any() else task.full_grid
    return content_id(grid) if grid is not None and np.count_nonzero(grid) >= MIN_COMPARED_BLOCKS else ""
