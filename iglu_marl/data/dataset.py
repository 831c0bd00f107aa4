"""The base of the datasets of recorded games: a source of tasks that can be looked through, split and filtered.

`dataset.tasks` maps a name (a structure, or a start world) to a list of sessions (`Subtasks`) or tasks. Sampling
draws a name, one of its entries, and of a session a turn. Environments take a dataset as their source of tasks;
a subclass may override `sample` or `reset`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.task import ID_TABLES
from iglu_marl.core.task_source import GroupedSource
from iglu_marl.data.report import Report
from iglu_marl.data.splits import Split, hash_fraction

Entry = Any  # a `Task` or a `Subtasks`
Record = dict[str, Any]
AnyDataset = TypeVar("AnyDataset", bound="Dataset")

SPLIT = {"train": 0.8, "val": 0.1, "test": 0.1}  # sizes of parts by a hash
SALT = "iglu_marl "


def changes(start: BlockGrid, target: BlockGrid) -> dict[str, int]:
    """How two worlds differ: numbers of blocks at the start, in the target, added, removed and recoloured."""
    had, has = start != 0, target != 0
    return {
        "start_blocks": int(np.count_nonzero(had)),
        "target_blocks": int(np.count_nonzero(has)),
        "added": int(np.count_nonzero(~had & has)),
        "removed": int(np.count_nonzero(had & ~has)),
        "recolored": int(np.count_nonzero(had & has & (start != target))),
    }


class Dataset(GroupedSource):
    """A source of tasks over `tasks`: names, and for each its sessions or tasks.

    skipped: how many drawn tasks an environment left out because they ask for no change.
    groups: by what `split` can keep things together; the first is the default.
    """

    dataset_version: str
    location: str
    groups: tuple[str, ...] = ("structure",)
    _by_id: dict[str, Entry] | None = None
    _report: Report[Any]

    # -- looking through

    def report(self) -> Report[Any]:
        """What was read and what was left out; of the whole of the data, also after `split` and `filter`."""
        return self._report

    def by_id(self, name: str) -> Entry:
        """The session or task of that id. Raises `DataError` when there is none."""
        if self._by_id is None or name not in self._by_id:
            self._by_id = {}
            for entry in self.entries():
                self._by_id.setdefault(str(entry.task_id), entry)
        if name not in self._by_id:
            known = ", ".join(list(self._by_id)[:5])
            raise DataError(f"{self!r} has no id {name!r}; its {len(self._by_id)} ids are such as {known}")
        return self._by_id[name]

    def ids(self) -> list[str]:
        """The ids that `by_id` knows, in the order of the data."""
        return list(dict.fromkeys(str(entry.task_id) for entry in self.entries()))

    def _records(self, name: str, entry: Entry) -> list[Record]:
        """What is known about each task of an entry. Has the keys of `groups`, "clear" and those of `changes`."""
        raise NotImplementedError

    def records(self) -> list[Record]:
        """One dict per task in the order of iteration: ids, texts, and how much there is to change."""
        return [
            record
            for name, entries in self.tasks.items()
            for entry in entries
            for record in self._records(name, entry)
        ]

    def to_pandas(self) -> Any:
        """`records()` as a `pandas.DataFrame`."""
        import pandas as pd

        return pd.DataFrame(self.records())

    # -- parts

    def structure_of(self, name: str, entry: Entry) -> str:
        """The structure that an entry of `tasks[name]` is about, such as "c135": what a split keeps together."""
        return name

    def split_of(self, name: str, entry: Entry) -> str | None:
        """The part of the frozen split that an entry of `tasks[name]` is in (see `Split`); None: in no part."""
        return Split.of(self.structure_of(name, entry) or name)

    def _parts(
        self: AnyDataset, parts: Iterable[str], part_of: Callable[[str, Entry], str | None]
    ) -> dict[str, AnyDataset]:
        """Datasets of the same kind, each with some of the entries; sessions can be seeded on their own."""
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

    def split(
        self,
        fractions: str | Mapping[str, float] | Sequence[float] | None = None,
        *,
        by: str | None = None,
        salt: str | None = None,
    ) -> Any:
        """Parts that share nothing. `dataset.split("train")`: a part of the frozen split by structure (see `Split`),
        which is the same for all corpora; `dataset.split()`: "train", "val" and "test" of it as a dict.

        Given one of these, entries go by a hash instead:

        fractions: the parts' names and sizes, or sizes of parts named "0", "1", ... (default: train 0.8, val 0.1,
            test 0.1). Sizes are relative. by: what stays together, one of `groups` (default: the first).
        salt: another text gives another split. (It is not empty because data may have been cut by this very hash.)

        Where something goes depends on its own name alone (`hash_fraction(salt + name)`), so that more data never
        move it to another part; the sizes are met on average. A part may be empty. Raises `ConfigError` for
        an unknown part, wrong fractions or an unknown `by`.
        """
        if isinstance(fractions, str) or (fractions is None and by is None and salt is None):
            return self._frozen(fractions, by, salt)
        sizes = _checked_sizes(fractions)
        group = self.groups[0] if by is None else by
        if group not in self.groups:
            raise ConfigError(f"by is {by!r}, expected one of {', '.join(self.groups)}")
        names, bounds = list(sizes), np.cumsum(list(sizes.values()))
        bounds = bounds / bounds[-1]  # the last is 1 exactly

        def part_of(name: str, entry: Entry) -> str:
            key = (SALT if salt is None else salt) + str(self._records(name, entry)[0][group])
            return names[int(np.searchsorted(bounds, hash_fraction(key), side="right"))]

        return self._parts(names, part_of)

    def _frozen(self: AnyDataset, part: str | None, by: str | None, salt: str | None) -> Any:
        """A part of the frozen split, or all three."""
        if by is not None or salt is not None:
            raise ConfigError("the frozen split is by structure; give fractions for another one")
        if part is not None and part not in list(Split):
            raise ConfigError(f"there is no split {part!r}, expected one of {', '.join(Split)}")
        parts = self._parts([split.value for split in Split], self.split_of)
        return parts if part is None else parts[part]

    def part_names(self) -> dict[str, str]:
        """The part of `split()` that each session or task is in, by its id."""
        parts = self.split()
        return {str(entry.task_id): part for part, own in parts.items() for entry in own.entries()}

    def filter(
        self: AnyDataset,
        *,
        max_blocks: int | None = None,
        min_blocks: int | None = None,
        max_changes: int | None = None,
        min_changes: int | None = None,
        clear: bool | None = None,
        structures: Iterable[str] | None = None,
        where: Callable[[Record], object] | None = None,
    ) -> AnyDataset:
        """The part whose tasks meet all conditions; a session stays when each of its turns does.

        max_blocks, min_blocks: blocks of the target. max_changes, min_changes: blocks to add, remove and recolour.
        clear: whether the instruction was clear, that is, no clarifying question was asked. structures: names
        such as "c73". where: is given each task's record (see `records`) and tells whether it may stay.
        """
        wanted = (
            None if structures is None else set([structures] if isinstance(structures, str) else structures)
        )

        def fits(record: Record) -> bool:
            size, todo = record["target_blocks"], record["added"] + record["removed"] + record["recolored"]
            return (
                (max_blocks is None or size <= max_blocks)
                and (min_blocks is None or size >= min_blocks)
                and (max_changes is None or todo <= max_changes)
                and (min_changes is None or todo >= min_changes)
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


def _checked_sizes(fractions: Mapping[str, float] | Sequence[float] | None) -> dict[str, float]:
    """The names and relative sizes of parts."""
    try:
        if fractions is None:
            sizes = dict(SPLIT)
        elif isinstance(fractions, Mapping):
            sizes = {str(name): float(size) for name, size in fractions.items()}
        else:
            sizes = {str(number): float(size) for number, size in enumerate(fractions)}
        good = all(0 <= size < float("inf") for size in sizes.values()) and sum(sizes.values()) > 0
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ConfigError(f"fractions are {fractions!r}, expected numbers of 0 or more, not all 0")
    return sizes


def task_options(task_kwargs: Mapping[str, Any] | None, allowed: Sequence[str]) -> dict[str, Any]:
    """Checked options for tasks. Raises `ConfigError` for a name that is not allowed."""
    options = dict(task_kwargs or {})
    unknown = [str(key) for key in options if key not in allowed]
    if unknown:
        raise ConfigError(f"task_kwargs has {', '.join(unknown)}, expected only {', '.join(allowed)}")
    return options


def checked_version(version: str | None) -> str:
    """The label of a release. There is one release of the data; older labels are taken for it."""
    if version is None:
        return "v1.0"
    if not isinstance(version, str) or not version.strip():
        raise ConfigError(f"dataset_version is {version!r}, expected a label such as 'v1.0'")
    return version


def checked_ids(ids: str) -> str:
    """The name of an id table."""
    if ids not in ID_TABLES:
        raise ConfigError(f"ids is {ids!r}, expected 'iglu' or 'iglu2022'")
    return ids
