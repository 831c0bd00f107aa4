"""Task sources by name: what `tasks=` and `--task-source` accept besides sources themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iglu_marl.core.errors import ConfigError, DataError, IgluMarlError
from iglu_marl.core.imports import imported
from iglu_marl.core.parsing import parse_json, read_file
from iglu_marl.core.text import similar
from iglu_marl.tasks.bundled import BundledTasks, SessionTasks
from iglu_marl.tasks.imported import FITS, import_structure
from iglu_marl.tasks.random_tasks import RandomTasks
from iglu_marl.tasks.source import source_fault
from iglu_marl.tasks.structures import FILE_LIMIT, StructureTasks
from iglu_marl.tasks.voxel_files import is_structure_file

if TYPE_CHECKING:
    from iglu_marl.data.dataset import Dataset

CORPORA = ("iglu-singleturn", "iglu-multiturn", "mdc")
"""Human data by the name of their pack, see `iglu_marl.data.find_pack`."""
_BUNDLED = {"bundled": "structures", "turns": "turns"}  # modes of `BundledTasks`
NAMES = (*_BUNDLED, "random", *CORPORA)
"""Names of sources: bundled structures, turns of the bundled sessions, random structures, and corpora."""
SPLITS = ("train", "val", "test")


def open_corpus(name: str, path: str | os.PathLike[str] | None = None) -> Dataset:
    """Return one of `CORPORA` as a dataset, without its utterances if a multi-turn pack has none.

    path: a zip or folder. Default: it is looked for, and else fetched, as by `iglu_marl.data.find_pack`.
    """
    from iglu_marl import data

    if name == "mdc":
        return data.CDMDataset(path=path)
    if name == "iglu-singleturn":
        return data.SingleturnDataset(path=path)
    with data.find_pack(name, path) as pack:
        dialogs = pack.has("dialogs.csv")
    return data.MultiturnDataset(path=path, dialogs=dialogs)


def _source(name: str, part: str) -> Any:
    """Return the source of a name, or a part of it by the frozen split (see `iglu_marl.data.Split`)."""
    if name == "random":
        return RandomTasks(max_blocks=8, height_levels=3, num_colors=6)
    if name in CORPORA:
        corpus = open_corpus(name)
        tasks = corpus.split(part) if part else corpus
        if not tasks.tasks:
            raise DataError(f"{corpus.location} has no tasks in the {part} split of {name}")
        return tasks
    mode: Any = _BUNDLED[name]
    if not part:
        return BundledTasks(mode=mode)
    from iglu_marl.data import Split, bundled

    sessions = {structure: own for structure, own in bundled.load().items() if Split.of(structure) == part}
    return SessionTasks(sessions, mode=mode)


def as_source(value: Any, place: str = "tasks", error: type[IgluMarlError] = ConfigError) -> Any:
    """Return a source for `sample_task`: the value itself, or the source that it names.

    Args:
        value: a source (see `sample_task`); one of `NAMES`, or a part of it, such as iglu-singleturn:test; a JSON file
            of structures; a file of `import_structure`, also with :scale or :crop; or FILE.py:Class or module:Class
            of a source that needs no arguments.
        place: where the value was given, for errors.
        error: raised for other values. It names the wrong element of a list.

    """
    if isinstance(value, (str, os.PathLike)):
        return _by_name(os.fspath(value), place, error)
    if fault := source_fault(value, place):
        raise error(fault)
    return value


def _by_name(name: str, place: str, error: type[IgluMarlError]) -> Any:
    base, colon, part = name.partition(":")
    if base in NAMES and (not colon or base != "random"):
        if colon and part not in SPLITS:
            raise error(
                f"{place} is {name!r:.200}, expected {base}, or {base}: with one of {', '.join(SPLITS)}"
            )
        return _source(base, part)
    file, colon, fit = name.rpartition(":")
    if colon and fit in FITS and not os.path.lexists(name):
        return import_structure(file, fit=fit)  # type: ignore[arg-type]
    if ":" in name and fit.isidentifier():
        return _imported(name, place, error)
    if name.endswith(".py"):
        raise error(f"{place} is {name!r}, expected a class in it, as in {name}:Class")
    if not name or not os.path.lexists(name):
        raise error(
            f"{place} is {name!r:.200}{similar(name, NAMES)}, expected {', '.join(NAMES)} (also with :train, :val or "
            ":test), an existing file of structures (.json, .vox, .schem, .nbt, .litematic, .npy, .npz), FILE.py:Class "
            "or module:Class"
        )
    return import_structure(name) if is_imported(name) else StructureTasks(name)


def is_imported(file: str) -> bool:
    """Return whether `import_structure` reads a file: JSON is one of `StructureTasks` if it has 'structures'."""
    if not file.lower().endswith(".json") or not os.path.isfile(file):
        return is_structure_file(file)
    content = parse_json(read_file(Path(file), FILE_LIMIT), file)
    fields = content if isinstance(content, dict) else {}
    return isinstance(content, list) or any(name in fields for name in ("blocks", "boxes", "lines"))


def _imported(name: str, place: str, error: type[IgluMarlError]) -> Any:
    try:
        found = imported(name)
    except (ImportError, AttributeError, ValueError) as fault:
        raise error(f"{place} is {name!r}, which cannot be imported: {fault}") from None
    try:
        source = found() if callable(found) else found
    except TypeError as fault:
        raise error(f"{place} is {name!r}, which cannot be called without arguments: {fault}") from None
    if wrong := source_fault(source, f"what {name} gives"):
        raise error(f"{place} is {name!r}: {wrong}")
    return source
