"""`gridworld.data`: `IGLUDataset`, `SingleTurnIGLUDataset`, `CDMDataset`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from iglu_marl import data
from iglu_marl.compat import tasks
from iglu_marl.compat.gridworld.tasks.task import BUILD_ZONE_SIZE, Subtasks
from iglu_marl.compat.tasks import DataTasks, task_options

__all__ = [
    "BUILD_ZONE_SIZE",
    "CDMDataset",
    "IGLUDataset",
    "MultiturnDataset",
    "SingleTurnIGLUDataset",
    "SingleturnDataset",
]


class _Dataset(DataTasks):
    """A dataset of `iglu_marl.data` with the arguments of the 2022 tools."""

    session_type: ClassVar[type[tasks.Subtasks]] = Subtasks
    source_name: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        ids: str = "iglu2022",
        **options: Any,
    ) -> None:
        options = {**self.defaults, **options, "task_kwargs": task_options(task_kwargs)}
        super().__init__(getattr(data, self.source_name)(dataset_version=dataset_version, **options), ids)


class IGLUDataset(_Dataset):
    """The multi-turn data. Further options: those of `iglu_marl.data.MultiturnDataset`, as `path=`."""

    source_name = "MultiturnDataset"


class SingleTurnIGLUDataset(_Dataset):
    """The single-turn data. Further options: those of `iglu_marl.data.SingleturnDataset`, as `path=`."""

    source_name = "SingleturnDataset"


class CDMDataset(_Dataset):
    """The Minecraft Dialogue Corpus, a task for each session, as the tools of 2022 read it.

    Further options: those of `iglu_marl.data.CDMDataset`, as `path=`; `upstream_rules=False` reads it whole.
    """

    source_name = "CDMDataset"
    defaults: ClassVar[Mapping[str, Any]] = {"upstream_rules": True}


MultiturnDataset = IGLUDataset
SingleturnDataset = SingleTurnIGLUDataset
