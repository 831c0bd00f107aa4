"""The structures of the Minecraft Dialogue Corpus by id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from iglu_marl.core.errors import DataError, TaskError
from iglu_marl.core.files import usable_path
from iglu_marl.core.task import Task
from iglu_marl.core.task_source import GroupedSource
from iglu_marl.data.packs.registry import DATA_PATH_VARIABLE
from iglu_marl.tasks.corpus_structures import LISTED, Listed
from iglu_marl.tasks.structures import Structure, find_structure_files, load_structures

_WHERE = (
    "run `iglu-marl data fetch mdc` once where there is a network (or pass fetch=True), "
    f"or pass path=FILE with a JSON file of structures or the corpus (a zip or folder), or set {DATA_PATH_VARIABLE} to "
    "one of them, or to a folder with them (structures*.json, mdc.zip)"
)
_MISSING = "the structures of the Minecraft Dialogue Corpus are not part of this package"


def at_hand(key: str) -> bool:
    """Whether a structure is on this machine, in a structure file or in the corpus.

    Raises `DataError` for damaged files and packs.
    """
    if any(key in load_structures(file) for file in find_structure_files()):
        return True
    from iglu_marl.data.packs.store import local_pack  # read when it is needed

    pack = local_pack("mdc")
    if pack is None:
        return False
    with pack:
        return pack.has(f"data/gold-configurations/{key}.xml")


class _Found:
    """Structures and their sessions from all places."""

    def __init__(self) -> None:
        self.structures: dict[str, Structure] = {}
        self.sessions: dict[str, list[Task]] = {}  # whole ones, with their dialogue
        self.places: list[str] = []

    def add_file(self, path: Path) -> None:
        for key, structure in load_structures(path).items():
            self.structures.setdefault(key, structure)
        self.places.append(str(path))

    def add_corpus(self, path: str | os.PathLike[str] | None, keys: list[str], fetch: bool) -> None:
        from iglu_marl.data.mdc.corpus import Corpus
        from iglu_marl.data.mdc.dataset import session_task
        from iglu_marl.data.packs.archive import Pack
        from iglu_marl.data.packs.store import find_pack, local_pack

        if fetch or path is not None:
            pack: Pack | None = find_pack("mdc", path, fetch)
        else:
            pack = local_pack("mdc")
        if pack is None:
            return
        with pack:
            corpus = Corpus(pack, structures=keys)
        for key, grid in corpus.gold.items():
            self.structures[key] = Structure(key, LISTED[key].name, grid)
        for key, sessions in corpus.structures.items():
            tasks = [session_task(session) for session in sessions]
            self.sessions[key] = [task for task in tasks if task is not None]
        self.places.append(corpus.location)


def _find(path: str | os.PathLike[str] | None, keys: list[str], fetch: bool) -> _Found:
    found = _Found()
    if path is not None and Path(path).suffix.lower() == ".json":
        found.add_file(Path(path))
        return found
    files = (
        find_structure_files()
        if path is None
        else sorted(usable_path(path, named=False).glob("structures*.json"))
    )
    try:
        found.add_corpus(path, keys, fetch)
    except DataError as error:
        raise DataError(
            f"the structures of the Minecraft Dialogue Corpus are not available: {error}\nEither {_WHERE}"
        ) from error
    for file in files:
        found.add_file(file)
    if not found.places:
        raise DataError(f"{_MISSING}: {_WHERE}")
    return found


class TaskSet(GroupedSource):
    """Structures of the Minecraft Dialogue Corpus: `TaskSet(preset=["C1", "C2", "C3"])`.

    `TaskSet.ALL` maps each id to its line in the IGLU documentation and needs no data; `TaskSet.LISTED` has the counts
    as numbers. `task_set["C8"]` is the first task of a structure, `task_set.tasks["C8"]` has all. Sampling draws
    a structure, then one of its tasks.

    Args:
        preset: ids C1..C157; `TaskSet.ALL` for all.
        path: the corpus as a zip or folder, or a structure file; by default `IGLU_DATA_PATH` and the user's folder of
            packs. Files structures*.json in the same folder supply structures that the corpus lacks.
        dialog: one task per session, with its dialogue; otherwise, and for structures without sessions, one task
            without dialogue per structure.
        fetch: whether the corpus may be downloaded.

    Raises:
        TaskError: if an id does not exist.
        DataError: if a structure is not on this machine; the message names the download.

    """

    ALL: ClassVar[Mapping[str, str]] = MappingProxyType({key: str(listed) for key, listed in LISTED.items()})
    LISTED: ClassVar[Mapping[str, Listed]] = MappingProxyType(LISTED)

    def __init__(
        self,
        preset: str | Iterable[str] = ("C8",),
        *,
        path: str | os.PathLike[str] | None = None,
        dialog: bool = True,
        fetch: bool = False,
    ) -> None:
        keys = [preset] if isinstance(preset, str) else list(preset)
        for key in keys:
            if key not in LISTED:
                raise TaskError(f"there is no task {key!r} in the list, expected ids C1..C{len(LISTED)}")
        found = _find(path, keys, fetch)
        missing = [key for key in keys if key not in found.structures]
        if missing:
            places = ", ".join(found.places)
            raise DataError(
                f"{len(missing)} structures are not in {places}: {', '.join(missing[:10])}; {_WHERE}"
            )
        self.structures = {key: found.structures[key] for key in keys}
        self.tasks = {}
        for key, structure in self.structures.items():
            sessions = found.sessions.get(key, []) if dialog else []
            built = [task.replace(target_grid=structure.grid) for task in sessions]
            self.tasks[key] = built or [structure.task()]
        if not len(self):
            raise TaskError("TaskSet holds no tasks, expected at least one")

    @property
    def preset(self) -> list[str]:
        """The ids in use."""
        return list(self.tasks)

    def __getitem__(self, key: int | str) -> Task:
        if isinstance(key, str):
            if key not in self.tasks:
                raise TaskError(f"{key!r} is not in this set, expected one of {', '.join(self.tasks)}")
            return self.tasks[key][0]
        return list(self)[key]
