"""`gridworld.data`: `IGLUDataset`, `SingleTurnIGLUDataset`, `CDMDataset`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from iglu_marl import data
from iglu_marl.compat import tasks
from iglu_marl.compat.absent import absent_names
from iglu_marl.compat.gridworld.tasks.task import BUILD_ZONE_SIZE, Subtasks, Task, Tasks
from iglu_marl.compat.tasks import DataTasks

__all__ = [
    "BUILD_ZONE_SIZE",
    "CDMDataset",
    "IGLUDataset",
    "MultiturnDataset",
    "SingleTurnIGLUDataset",
    "SingleturnDataset",
    "Subtasks",
    "Task",
    "Tasks",
]


class _Dataset(DataTasks):
    """A dataset of `iglu_marl.data` with the arguments of the 2022 tools.

    task_kwargs: `invariant` (by default True) and `progressive`. force_download: whether to download the pack again.
    limit: number of sessions or tasks that are kept.
    """

    session_type: ClassVar[type[tasks.Subtasks]] = Subtasks
    source_name: ClassVar[str]
    pack: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        force_download: bool = False,
        limit: int | None = None,
        *,
        ids: str = "iglu2022",
        **options: Any,
    ) -> None:
        wanted = {"invariant": True, **(task_kwargs or {})}
        if self.pack != "iglu-multiturn":  # its tasks have no next turn
            wanted.pop("progressive", None)
        if force_download:
            from iglu_marl.data.packs.fetch import fetch_pack

            options.setdefault("path", fetch_pack(self.pack, force=True))
        options = {**self.defaults, **options, "task_kwargs": wanted}
        source = getattr(data, self.source_name)(dataset_version=dataset_version, **options)
        super().__init__(source, ids, limit)


class IGLUDataset(_Dataset):
    """The multi-turn data. Further options: those of `iglu_marl.data.MultiturnDataset`, as `path=`."""

    source_name = "MultiturnDataset"
    pack = "iglu-multiturn"


class SingleTurnIGLUDataset(_Dataset):
    """The single-turn data. Further options: those of `iglu_marl.data.SingleturnDataset`, as `path=` and `rules=`."""

    source_name = "SingleturnDataset"
    pack = "iglu-singleturn"


class CDMDataset(_Dataset):
    """The Minecraft Dialogue Corpus, a task for each session, as the tools of 2022 read it.

    `tasks["c10"]` and `tasks["C10"]` are the same. Iteration yields tasks alone. Further options: those of
    `iglu_marl.data.CDMDataset`, as `path=`; `upstream_rules=False` reads it whole.
    """

    source_name = "CDMDataset"
    pack = "mdc"
    defaults: ClassVar[Mapping[str, Any]] = {"upstream_rules": True}

    def __iter__(self) -> Iterator[Any]:
        return (task for *_, task in DataTasks.__iter__(self))


MultiturnDataset = IGLUDataset
SingleturnDataset = SingleTurnIGLUDataset

_OWN = "iglu_marl.data, whose datasets have coordinates of the zone and a report()"
__getattr__ = absent_names(
    __name__,
    {"download": "the command `iglu-marl data fetch`"}
    | dict.fromkeys(("VOXELWORLD_GROUND_LEVEL", "fix_log", "fix_xyz", "DATA_PREFIX"), _OWN),
)
