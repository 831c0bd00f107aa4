"""Base class of the datasets: a task source that can be searched, split and filtered.

`dataset.tasks` maps a name (a structure, or a start world) to a list of sessions (`Subtasks`) or tasks. Sampling
draws a name, then one of its entries, then a turn if the entry is a session.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from iglu_marl.core.arguments import check_option
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.task_source import GroupedSource
from iglu_marl.data.report import Report
from iglu_marl.data.splits import Split
from iglu_marl.data.task_fields import Entry as Entry
from iglu_marl.data.task_fields import Record as Record

AnyDataset = TypeVar("AnyDataset", bound="Dataset")


def changes(start: BlockGrid, target: BlockGrid) -> dict[str, int]:
    """Count the blocks of two worlds: at the start, in the target, added, removed and recolored."""
    had, has = start != 0, target != 0
    return {
        "start_blocks": int(np.count_nonzero(had)),
        "target_blocks": int(np.count_nonzero(has)),
        "added": int(np.count_nonzero(~had & has)),
        "removed": int(np.count_nonzero(had & ~has)),
        "recolored": int(np.count_nonzero(had & has & (start != target))),
    }


class Dataset(GroupedSource):
    """A task source over `tasks`, a mapping from names to lists of sessions or tasks.

    Attributes:
        skipped: number of sampled tasks that were left out because they ask for no change.

    """

    dataset_version: str
    location: str
    _by_id: dict[str, Entry] | None = None
    _report: Report[Any]

    def report(self) -> Report[Any]:
        """Return the counts of all data read and skipped, also for a part made by `split` or `filter`."""
        return self._report

    def by_id(self, name: str) -> Entry:
        """Return the session or task with this id. Raises `DataError` if there is none."""
        if self._by_id is None or name not in self._by_id:
            self._by_id = {}
            for entry in self.entries():
                self._by_id.setdefault(str(entry.task_id), entry)
        if name not in self._by_id:
            known = ", ".join(list(self._by_id)[:5])
            raise DataError(
                f"{self!r} has no id {name!r}, expected one of its {len(self._by_id)}, such as {known}"
            )
        return self._by_id[name]

    def ids(self) -> list[str]:
        """Return the ids that `by_id` accepts, in the order of the data."""
        return list(dict.fromkeys(str(entry.task_id) for entry in self.entries()))

    def _records(self, name: str, entry: Entry) -> list[Record]:
        """Return a dict per task of an entry, with the keys "structure", "clear" and those of `changes`."""
        raise NotImplementedError

    def records(self) -> list[Record]:
        """Return one dict per task, in the order of iteration: ids, texts, and numbers of changed blocks."""
        return [
            record
            for name, entries in self.tasks.items()
            for entry in entries
            for record in self._records(name, entry)
        ]

    def structure_of(self, name: str, entry: Entry) -> str:
        """Return the structure of an entry of `tasks[name]`, such as "c135". A split keeps structures together."""
        return name

    def split_of(self, name: str, entry: Entry) -> str | None:
        """Return the part of the frozen split (see `Split`) for an entry of `tasks[name]`; None if in no part."""
        return Split.of(self.structure_of(name, entry) or name)

    def _parts(
        self: AnyDataset, parts: Iterable[str], part_of: Callable[[str, Entry], str | None]
    ) -> dict[str, AnyDataset]:
        """Return datasets of this class, each with some of the entries as copies."""
        chosen: dict[str, dict[str, list[Entry]]] = {part: {} for part in parts}
        for name, entries in self.tasks.items():
            for entry in entries:
                part = part_of(name, entry)
                if part is not None:
                    chosen[part].setdefault(name, []).append(copy.copy(entry))
        return {part: self._with(tasks) for part, tasks in chosen.items()}

    def _with(self: AnyDataset, tasks: dict[str, list[Entry]]) -> AnyDataset:
        part = copy.copy(self)
        part.tasks, part.skipped, part._rng, part._by_id = tasks, 0, None, None
        return part

    def split(self, part: str | None = None) -> Any:
        """Return one part of the frozen split by structure (see `Split`), or a dict of all.

        The split is the same for all corpora. Raises `ConfigError` if the part is unknown.
        """
        if part is not None:
            check_option("split", part, [split.value for split in Split])
        parts = self._parts([split.value for split in Split], self.split_of)
        return parts if part is None else parts[part]

    def part_names(self) -> dict[str, str]:
        """Return the part of `split()` for each id of a session or task."""
        parts = self.split()
        return {str(entry.task_id): part for part, own in parts.items() for entry in own.entries()}

    def filter(
        self: AnyDataset,
        *,
        max_blocks: int | None = None,
        clear: bool | None = None,
        structures: Iterable[str] | None = None,
        where: Callable[[Record], object] | None = None,
    ) -> AnyDataset:
        """Return the part whose tasks meet all conditions. A session is kept if all its turns meet them.

        Args:
            max_blocks: largest number of blocks of the target.
            clear: whether the instruction was clear, that is, no clarifying question was asked.
            structures: names such as "c73".
            where: a predicate on a task's record (see `records`).

        """
        wanted = (
            None if structures is None else set([structures] if isinstance(structures, str) else structures)
        )

        def fits(record: Record) -> bool:
            return (
                (max_blocks is None or record["target_blocks"] <= max_blocks)
                and (clear is None or record["clear"] is clear)
                and (wanted is None or record["structure"] in wanted)
                and (where is None or bool(where(record)))
            )

        def part_of(name: str, entry: Entry) -> str | None:
            return "" if all(fits(record) for record in self._records(name, entry)) else None

        return self._parts([""], part_of)[""]

    def __repr__(self) -> str:
        entries = sum(len(entries) for entries in self.tasks.values())
        return f"{type(self).__name__}({len(self.tasks)} names, {entries} entries, {len(self)} tasks)"


def check_task_options(task_kwargs: Mapping[str, Any] | None, allowed: Sequence[str]) -> dict[str, Any]:
    """Return the options for tasks. Raises `ConfigError` for a name that is not in `allowed`."""
    if not isinstance(task_kwargs, (Mapping, type(None))):
        raise ConfigError(f"task_kwargs is {task_kwargs!r:.80}, expected a dict")
    options = dict(task_kwargs or {})
    unknown = [str(key) for key in options if key not in allowed]
    if unknown:
        raise ConfigError(f"task_kwargs has {', '.join(unknown)}, expected only {', '.join(allowed)}")
    return options


def check_version(version: str | None) -> str:
    """Return the label of a release. There is one release of the data; any label stands for it."""
    if version is None or version == "":
        return "v1.0"
    if not isinstance(version, str) or not version.strip():
        raise ConfigError(f"dataset_version is {version!r}, expected a label such as 'v1.0'")
    return version
