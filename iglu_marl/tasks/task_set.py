"""The structures of the Minecraft Dialogue Corpus by their ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from iglu_marl.core.errors import DataError, TaskError
from iglu_marl.core.task import Task
from iglu_marl.tasks.listing import LISTED, Listed
from iglu_marl.tasks.source import FiniteSource
from iglu_marl.tasks.structures import DATA_PATH_VARIABLE, Structure, find_structure_files, load_structures

_WHERE = (
    f"pass path=FILE with a JSON file of structures, or set {DATA_PATH_VARIABLE} to such a file "
    "or to a folder with files named structures*.json"
)


def _corpus(path: str | os.PathLike[str] | None) -> tuple[dict[str, Structure], str]:
    """All structures at hand, and where they come from."""
    files = find_structure_files() if path is None else [Path(path)]
    if not files:
        raise DataError(
            f"the structures of the Minecraft Dialogue Corpus are not part of this package: {_WHERE}"
        )
    found: dict[str, Structure] = {}
    for file in files:
        found.update(load_structures(file))
    return found, ", ".join(str(file) for file in files)


class TaskSet(FiniteSource):
    """Structures of the Minecraft Dialogue Corpus: `TaskSet(preset=["C1", "C2", "C3"])`.

    preset: ids C1..C157; `TaskSet.ALL` for all of them. path: a structure file (see `load_structures`);
        by default what `IGLU_DATA_PATH` leads to.

    `TaskSet.ALL` maps each id to its line in the documentation and needs no data; `TaskSet.LISTED` has
    the same with the listed counts as numbers. `task_set["C8"]` is one task. Raises `TaskError` for ids
    that do not exist and `DataError`, saying what to get, for structures that are not at hand.
    """

    ALL: ClassVar[Mapping[str, str]] = MappingProxyType({key: str(listed) for key, listed in LISTED.items()})
    LISTED: ClassVar[Mapping[str, Listed]] = MappingProxyType(LISTED)

    def __init__(
        self, preset: str | Iterable[str] = ("C8",), *, path: str | os.PathLike[str] | None = None
    ) -> None:
        keys = [preset] if isinstance(preset, str) else list(preset)
        for key in keys:
            if key not in LISTED:
                raise TaskError(f"there is no task {key!r} in the list, expected ids C1..C{len(LISTED)}")
        found, place = _corpus(path)
        missing = [key for key in keys if key not in found]
        if missing:
            raise DataError(
                f"{len(missing)} structures are not in {place}: {', '.join(missing[:10])}; {_WHERE}"
            )
        self.structures = {key: found[key] for key in keys}
        super().__init__([structure.task() for structure in self.structures.values()], "TaskSet")

    @property
    def preset(self) -> list[str]:
        """The ids in use."""
        return list(self.structures)

    def __getitem__(self, key: int | str) -> Task:
        if isinstance(key, str):
            if key not in self.structures:
                raise TaskError(f"{key!r} is not in this set, expected one of {', '.join(self.structures)}")
            return self[list(self.structures).index(key)]
        return super().__getitem__(key)
