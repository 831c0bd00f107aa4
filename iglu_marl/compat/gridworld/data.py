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


class IGLUDataset(DataTasks):
    """The multi-turn data. Further options: those of `iglu_marl.data.MultiturnDataset`, as `path=`."""

    session_type: ClassVar[type[tasks.Subtasks]] = Subtasks

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        ids: str = "iglu2022",
        **options: Any,
    ) -> None:
        super().__init__(data.MultiturnDataset(dataset_version, task_options(task_kwargs), **options), ids)


class SingleTurnIGLUDataset(DataTasks):
    """The single-turn data. Further options: those of `iglu_marl.data.SingleturnDataset`, as `path=`."""

    session_type: ClassVar[type[tasks.Subtasks]] = Subtasks

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        ids: str = "iglu2022",
        **options: Any,
    ) -> None:
        super().__init__(data.SingleturnDataset(dataset_version, task_options(task_kwargs), **options), ids)


class CDMDataset(DataTasks):
    """The Minecraft Dialogue Corpus, a task for each session, as the tools of 2022 read it.

    Further options: those of `iglu_marl.data.CDMDataset`, as `path=`; `upstream_rules=False` reads it whole.
    """

    session_type: ClassVar[type[tasks.Subtasks]] = Subtasks

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        ids: str = "iglu2022",
        upstream_rules: bool = True,
        **options: Any,
    ) -> None:
        made = data.CDMDataset(
            dataset_version=dataset_version,
            task_kwargs=task_options(task_kwargs),
            upstream_rules=upstream_rules,
            **options,
        )
        super().__init__(made, ids)


MultiturnDataset = IGLUDataset
SingleturnDataset = SingleTurnIGLUDataset
