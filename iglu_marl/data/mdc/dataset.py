"""`CDMDataset`: the Minecraft Dialogue Corpus as a source of tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from iglu_marl.core.arguments import check_option
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.data.dataset import Dataset, Record, changes, check_task_options, check_version
from iglu_marl.data.mdc.action_sequences import ActionSequence, action_sequences, turns
from iglu_marl.data.mdc.corpus import Corpus, Session

Mode = Literal["turns", "sessions"]


def without_top_layer(grid: BlockGrid) -> BlockGrid:
    """Return a copy of a grid without its highest layer (Y = 9 in the corpus), as the upstream loader reads it."""
    cut = np.array(grid)
    cut[8] = 0
    cut.setflags(write=False)
    return cut


def session_task(session: Session, *, top_layer: bool = True, invariant: bool | None = None) -> Task | None:
    """Return a whole session as one task, whose target is the final world; None if it has no block."""
    grid = session.final_grid if top_layer else without_top_layer(session.final_grid)
    if not grid.any():
        return None
    return Task(
        session.dialogue,
        grid,
        invariant=invariant,
        task_id=session.name,
        ids="iglu",
        structure=session.structure,
    )


class CDMDataset(Dataset):
    """The sessions of the Minecraft Dialogue Corpus as a task source: `dataset.tasks["C73"][0]`.

    `dataset.corpus` has the timelines and gold structures, `dataset.report()` counts what was skipped.

    Args:
        path: a zip or folder with the corpus; by default see `find_pack`.
        dataset_version: label of a release; there is one release, and any label stands for it.
        task_kwargs: `invariant` and, with mode "turns", `progressive` (see `Subtasks`).
        mode: "turns": each session is a `Subtasks`, with a turn per action sequence. "sessions": each session is one
            `Task` with the whole dialogue.
        upstream_rules: the rules of the upstream loader: whole sessions, final worlds, without the layer Y = 9.
        structures: ids such as "C73" (default: all).
        fetch: whether the pack may be downloaded.
        progress: whether to show a progress bar.

    Raises:
        ConfigError: if an option is wrong.
        DataError: if there is no corpus.

    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        mode: Mode | None = None,
        upstream_rules: bool = False,
        structures: str | Iterable[str] | None = None,
        fetch: bool = True,
        progress: bool | None = None,
    ) -> None:
        self.dataset_version = check_version(dataset_version)
        self.mode: Mode = mode or ("sessions" if upstream_rules else "turns")
        self.upstream_rules = upstream_rules
        check_option("mode", self.mode, ("turns", "sessions"))
        if self.mode == "turns" and upstream_rules:
            raise ConfigError("upstream_rules is for whole sessions; use mode='sessions' with it")
        allowed = ("invariant", "progressive") if self.mode == "turns" else ("invariant",)
        self.task_kwargs = check_task_options(task_kwargs, allowed)
        self.corpus = Corpus.open(path, structures=structures, fetch=fetch, progress=progress)
        self.location, self._report = self.corpus.location, self.corpus.report()
        self.left_out: list[str] = []  # sessions without a block in their target
        self.tasks = {}
        for name, sessions in self.corpus.structures.items():
            for session in sessions:
                entry = self._entry(session)
                if entry is None:
                    self.left_out.append(session.name)
                else:
                    self.tasks.setdefault(name, []).append(entry)

    def _entry(self, session: Session) -> Task | Subtasks | None:
        if self.mode == "turns":
            return turns(session, **self.task_kwargs)
        return session_task(session, top_layer=not self.upstream_rules, **self.task_kwargs)

    def sessions(self) -> list[Session]:
        """Return the timelines of this dataset's sessions, in order."""
        return [self.corpus.sessions[str(entry.task_id)] for entry in self.entries()]

    def action_sequences(self) -> list[ActionSequence]:
        """Return the samples of the builder action prediction task."""
        return [sequence for session in self.sessions() for sequence in action_sequences(session)]

    def split_of(self, name: str, entry: Task | Subtasks) -> str | None:
        """Return the corpus's own split; None for the structures that it does not list."""
        return self.corpus.splits.get(name)

    def _records(self, name: str, entry: Task | Subtasks) -> list[Record]:
        session = self.corpus.sessions[str(entry.task_id)]
        common = {
            "structure": name,
            "session": session.name,
            "split": session.split,
            "builder": session.builder,
            "architect": session.architect,
        }
        tasks = [entry] if isinstance(entry, Task) else list(entry)
        said = [entry.dialogue] if isinstance(entry, Task) else entry.turns
        return [
            {
                **common,
                "turn": turn,
                "instruction": task.instruction,
                # The corpus has no judgement of clarity; a builder's question stands for "unclear".
                "clear": not any(u.role is Role.BUILDER and "?" in u.text for u in words),
                "utterances": len(words),
                **changes(task.start_grid, task.target_grid),
            }
            for turn, (task, words) in enumerate(zip(tasks, said, strict=True))
        ]
