"""`CDMDataset`: the Minecraft Dialogue Corpus as a source of tasks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, canonical
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.data.dataset import Dataset, Record, changes, checked_version, task_options
from iglu_marl.data.mdc.action_sequences import ActionSequence, action_sequences, turns
from iglu_marl.data.mdc.corpus import Corpus, Session

Mode = Literal["turns", "sessions"]
Goal = Literal["final", "gold"]


def without_top_layer(grid: BlockGrid) -> BlockGrid:
    """A copy of a grid without its highest layer (Y = 9 in the corpus), as upstream's loader reads it."""
    cut = np.array(grid)
    cut[8] = 0
    cut.setflags(write=False)
    return cut


def session_task(
    session: Session, *, target: Goal = "final", top_layer: bool = True, invariant: bool | None = None
) -> Task | None:
    """A whole session as one task: all that was said, and the world at its end or the gold structure.

    None when there is no block in the target, or no gold structure.
    """
    grid = session.final_grid if target == "final" else session.gold
    if grid is None:
        return None
    grid = grid if top_layer else without_top_layer(grid)
    if not grid.any():
        return None
    return Task(session.dialogue, grid, invariant=invariant, task_id=session.name, ids="iglu")


class CDMDataset(Dataset):
    """The sessions of the Minecraft Dialogue Corpus: `dataset.tasks["C73"][0]`.

    path: a zip or folder with the corpus; by default it is found, or fetched (see `find_pack`).
    mode: "turns": each session is a `Subtasks`, one turn for each stretch of building between utterances. "sessions":
        each session is one `Task` with everything that was said.
    target: of whole sessions: the "final" world, or the "gold" structure that the architect saw.
    upstream_rules: as upstream's loader has it: whole sessions, final worlds, without the layer Y = 9.
    structures: ids such as "C73" to use (default: all).
    task_kwargs: `invariant` and, in the mode "turns", `progressive` (see `Subtasks`).

    `dataset.corpus` has the timelines and gold structures, `dataset.report()` what was left out and why. Raises
    `ConfigError` for wrong options, `DataError` when there is no corpus.
    """

    groups = ("structure", "session", "builder", "architect")

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        mode: Mode | None = None,
        target: Goal = "final",
        upstream_rules: bool = False,
        structures: str | Iterable[str] | None = None,
        fetch: bool = True,
        follow_links: bool = False,
        progress: bool | None = None,
    ) -> None:
        self.dataset_version = checked_version(dataset_version)
        self.mode: Mode = mode or ("sessions" if upstream_rules else "turns")
        self.target, self.upstream_rules = target, upstream_rules
        if self.mode not in ("turns", "sessions"):
            raise ConfigError(f"mode is {mode!r}, expected 'turns' or 'sessions'")
        if target not in ("final", "gold"):
            raise ConfigError(f"target is {target!r}, expected 'final' or 'gold'")
        if self.mode == "turns" and (target == "gold" or upstream_rules):
            what = "target='gold'" if target == "gold" else "upstream_rules"
            raise ConfigError(f"{what} is for whole sessions; use mode='sessions' with it")
        if upstream_rules and target == "gold":
            raise ConfigError("upstream_rules have the final worlds as targets, and target is 'gold'")
        allowed = ("invariant", "progressive") if self.mode == "turns" else ("invariant",)
        self.task_kwargs = task_options(task_kwargs, allowed)
        self.corpus = Corpus.open(
            path, structures=structures, fetch=fetch, follow_links=follow_links, progress=progress
        )
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
        top_layer = not self.upstream_rules
        return session_task(session, target=self.target, top_layer=top_layer, **self.task_kwargs)

    def session(self, name: str) -> Session:
        """The timeline of a session, by its name (the `task_id` of its tasks)."""
        self.by_id(name)  # raises for others
        return self.corpus.sessions[name]

    def sessions(self) -> list[Session]:
        """The timelines of this dataset's sessions, in its order."""
        return [self.corpus.sessions[str(entry.task_id)] for entry in self.entries()]

    def action_sequences(self) -> list[ActionSequence]:
        """The builder's actions between utterances: samples of the builder action prediction task."""
        return [sequence for session in self.sessions() for sequence in action_sequences(session)]

    # -- parts

    def split_of(self, name: str, entry: Task | Subtasks) -> str | None:
        """The corpus's own split; None for the sessions of the few structures that it does not name."""
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
                # There is no judgement of clarity in this corpus: a question of the builder tells.
                "clear": not any(u.role is Role.BUILDER and "?" in u.text for u in words),
                "utterances": len(words),
                **changes(task.start_grid, task.target_grid),
            }
            for turn, (task, words) in enumerate(zip(tasks, said, strict=True))
        ]


# ---------------------------------------------------------------------------------------------------------- statistics


def colors_of(grids: Iterable[BlockGrid]) -> dict[str, int]:
    """How many blocks of each colour there are, by name."""
    counts = sum((np.bincount(grid.ravel(), minlength=7) for grid in grids), np.zeros(7, np.int64))
    return {COLOR_NAMES[color]: int(counts[color]) for color in range(1, 7)}


def statistics(corpus: Corpus) -> dict[str, Any]:
    """The figures of a corpus by which one can tell that it was read right, JSON-ready."""
    sessions = list(corpus.sessions.values())
    noted = corpus.report().counts
    said = [utterance for session in sessions for utterance in session.dialogue]
    start = "Mission has started."
    starts = [[u.text for u in session.dialogue].index(start) for session in sessions
              if any(u.text == start for u in session.dialogue)]  # fmt: skip
    edits = [(old, new) for session in sessions for old, new in session.edits[:, 4:].tolist()]
    finals = [session.final_grid for session in sessions]
    golds = [session.gold for session in sessions]
    return {
        "sessions": len(sessions),
        "sessions_by_split": dict(Counter(session.split or "none" for session in sessions)),
        "structures": len(corpus.structures),
        "groups": len({session.group for session in sessions}),
        "gold_configurations": len(corpus.gold),
        "world_states": sum(len(session) for session in sessions),
        "utterances": {
            "all_including_start_message": len(said),
            "Architect": sum(u.role is Role.ARCHITECT for u in said),
            "Builder_including_start_message": sum(u.role is Role.BUILDER for u in said),
            "start_messages": sum(place == 0 for place in starts),
            "start_messages_not_first": sum(place > 0 for place in starts),
        },
        "null_fields_in_world_states": {
            "BuilderPosition": noted.get("no_pose", 0),
            "BuilderInventory": noted.get("no_inventory", 0),
            "ScreenshotPath": noted.get("no_picture", 0),
        },
        "edits_between_consecutive_states": {
            "put": sum(not old for old, _ in edits),
            "remove": sum(not new for _, new in edits),
            "recolour": sum(bool(old and new) for old, new in edits),
        },
        "states_with_blocks_outside_11x11": noted.get("outside_zone", 0),
        "final_worlds": {
            "keep_all_9_layers": _blocks(finals),
            "upstream_rule_drops_Y9": _blocks([without_top_layer(grid) for grid in finals]),
            "final_blocks_outside_11x11": sum(len(session.outside()) for session in sessions),
            "final_blocks_in_top_layer_Y9": int(sum(np.count_nonzero(grid[8]) for grid in finals)),
            "equal_to_gold_up_to_shift_and_quarter_turns": sum(
                gold is not None and canonical(final) == canonical(gold)
                for final, gold in zip(finals, golds, strict=True)
            ),
            "equal_to_gold_at_same_place": sum(
                gold is not None and np.array_equal(final, gold)
                for final, gold in zip(finals, golds, strict=True)
            ),
        },
        "gold_blocks": _blocks(corpus.gold.values()),
        "action_sequences": dict(
            Counter(session.split or "none" for session in sessions for _ in action_sequences(session))
        ),
    }


def _blocks(grids: Iterable[BlockGrid]) -> dict[str, Any]:
    by_color = colors_of(grids)
    return {"by_colour": by_color, "total": sum(by_color.values())}
