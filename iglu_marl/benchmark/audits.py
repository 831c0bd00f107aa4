"""The audit of a level: shortcut baselines, which lack the message or the target, and references for comparison.

| baseline | |
|---|---|
| `random` | random actions |
| `open loop` | the best fixed action sequence, searched on the measured tasks |
| `timed` | imitation of the oracle from the time alone |
| `muted` | imitation of the oracle from the observation without messages |
| `blind` | imitation of the oracle from the observation without the target |
| `scrambled` | the scripted builder with the instruction of another task |

| reference | |
|---|---|
| `full` | imitation of the oracle with nothing left out; with the target in place of live messages |
| `scripted` | the scripted builder with the scripted architect or the task's dialogue |
| `oracle` | a builder that knows the target |

All of them play the test split of fold 0. Imitation learns from tasks of the same split: from all if it can be
enumerated, else from others; from the training split where start positions or blocks identify the task. A level
passes if no baseline exceeds `TOLERANCE` times chance: the success rate of the best player that always builds the same
target. `timed`, `muted` and `blind` have power if `full`, which trains alike, exceeds chance; otherwise the learner
may be unable to learn the level.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.benchmark.baselines import cells_of_tasks, expert_actions, imitate, open_loop, random_play
from iglu_marl.benchmark.catalog import Level, find
from iglu_marl.benchmark.controls import Scheduled
from iglu_marl.benchmark.games import silent_architect
from iglu_marl.benchmark.protocol import SeatedAgents
from iglu_marl.benchmark.splits import content_key, others, some_of
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import usable_path, write_text
from iglu_marl.core.parsing import parse_json, wrap_errors
from iglu_marl.core.task import Task
from iglu_marl.core.versions import versions
from iglu_marl.tasks.source import FiniteSource

TOLERANCE = 1.2
FORMAT, VERSION = "iglu_marl benchmark audit", 2
AUDITS = Path(__file__).with_name("audits.json")
"""File of the audits that come with the package."""

WITHOUT = ("random", "open loop", "timed", "muted", "blind", "scrambled")
WITH = ("full", "scripted", "oracle")
CONTROLS = (*WITHOUT, *WITH)
UNDEFINED = {
    "see": {
        "muted": "nothing is said",
        "scrambled": "nothing is said",
        "scripted": "nothing is said",
    },
    "team": {
        **dict.fromkeys(("open loop", "timed", "full"), "the learner of the audits plays one builder"),
        "scrambled": "what is said is about parts",
    },
    "symbols": {
        "scrambled": "there are no words without learners",
        "scripted": "there are no words without learners",
    },
}
"""By family, the controls that are not defined, and the reason."""

_ROUNDS = 1000  # approximate number of random episodes
_SEED = 0


class Control(NamedTuple):
    """Success rate of a control, number of episodes, and environment steps of training."""

    success: float
    episodes: int
    budget: int = 0


@dataclass(frozen=True)
class Audit:
    """The controls of a level.

    tasks: number of tasks that they played. chance: success rate of the best fixed target of fold 0. controls: results
    by name; None: not defined on the level.
    """

    level: str
    digest: str
    tasks: int
    chance: float
    controls: Mapping[str, Control | None]

    @property
    def constant(self) -> float:
        """Success rate of the best fixed target that is chosen without knowing what is held out of a run.

        Each target is tested in one fold, so that it is right in one of them.
        """
        return self.chance / max(rule.folds for rule in find(self.level).held_out)

    def share(self, name: str) -> float | None:
        """Return the success rate of a control; None if it was not computed."""
        control = self.controls.get(name)
        return None if control is None else control.success

    @property
    def best_without(self) -> float | None:
        """Success rate of the best shortcut baseline; None if none was computed."""
        return max((share for name in WITHOUT if (share := self.share(name)) is not None), default=None)

    @property
    def passes(self) -> bool:
        """Whether all shortcut baselines stay below `TOLERANCE` times chance.

        They train on the tasks that they are measured on, of which one may be all that a fixed player solves.
        """
        return (self.best_without or 0) <= TOLERANCE * max(self.chance, 1 / self.tasks)

    @property
    def has_power(self) -> bool:
        """Whether the policy of the baselines exceeds chance with the whole observation.

        On team levels, it is that of the scripted team.
        """
        full = self.share("scripted" if self.level.startswith("team-") else "full")
        return full is not None and full > TOLERANCE * max(self.chance, 1 / self.tasks)

    @property
    def verdict(self) -> str:
        """Return "passes", "fails", or "no power"."""
        return "fails" if not self.passes else "passes" if self.has_power else "no power"

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the file."""
        controls = {name: None if part is None else list(part) for name, part in self.controls.items()}
        return {"digest": self.digest, "tasks": self.tasks, "chance": self.chance, "controls": controls}

    @classmethod
    def from_json(cls, level: str, content: Mapping[str, Any]) -> Audit:
        """Read the entry that `to_json` returns."""
        controls = {
            name: None if part is None else Control(float(part[0]), int(part[1]), int(part[2]))
            for name, part in content["controls"].items()
        }
        return cls(level, str(content["digest"]), int(content["tasks"]), float(content["chance"]), controls)


def undefined(level: Level, control: str) -> str:
    """Return the reason why a control is not defined on a level; "" if it is."""
    if control == "blind" and not level.sees_target:
        return "the builder never sees the target"
    family = "symbols" if level.is_pair and "vocabulary" in level.game else level.family
    return UNDEFINED.get(family, {}).get(control, "")


def chance(level: Level, samples: int = 2048) -> float:
    """Return the success rate on the test split of the best player that always builds the same target.

    If the split cannot be enumerated, `samples` tasks choose the target, and as many others measure it.
    """
    source = level.tasks("test")
    if isinstance(source, FiniteSource):
        return max(Counter(map(content_key, source)).values()) / len(source)
    first, second = (Counter(map(content_key, some_of(source, samples, seed))) for seed in (1, 2))
    return second[first.most_common(1)[0][0]] / samples


def audit(
    level: str | Level,
    *,
    budget: int | None = None,
    tasks: int = 128,
    games: int = 16,
    demonstrations: int = 256,
    controls: Sequence[str] = CONTROLS,
    progress: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Compute the controls of a level: its shortcut baselines and references.

    Args:
        level: a level or its name.
        budget: environment steps of the search for a fixed sequence; None: the level's budget.
        tasks: number of tasks of the test split (all, if there are fewer).
        games: number of games of the scripted builder and the oracle.
        demonstrations: number of games that are imitated.
        controls: names of the controls.
        progress: called with the name of each control.

    Raises:
        ConfigError: if the level is unknown.

    """
    level = find(level)
    steps = level.budget if budget is None else min(budget, level.budget)
    tested = some_of(level.tasks("test"), tasks, _SEED)
    rounds = max(1, min(_ROUNDS // len(tested), steps // (level.max_steps * len(tested))))
    sees = tuple(name for name in level.sees if name != "dialog")
    speaks = level.is_pair or level.is_live
    missing = ("target",) if level.sees_target or speaks else ("dialog",)
    shown: list[Any] = []

    def by_learning(*seen: str) -> Control:
        if not shown:
            shown.extend(expert_actions(level, _imitated(level, demonstrations)))
        learned, actions = shown
        policy = imitate(level, learned, actions, seen, _SEED, cells=cells_of_tasks([*learned, *tested]))
        return Control(float(policy.successes(tested).mean()), len(tested), sum(map(len, actions)))

    def by_script(builder: str, control: str = "") -> Control:
        return _scripted(level, builder, tested, games, control)

    todo: dict[str, Callable[[], Control]] = {
        "random": lambda: (
            by_script("random")
            if level.is_team
            else Control(random_play(level, tested, rounds, _SEED), rounds * len(tested))
        ),
        "open loop": lambda: Control(open_loop(level, tested, steps, _SEED), len(tested), steps),
        "timed": by_learning,
        "muted": lambda: by_script("scripted", "muted") if level.is_team else by_learning(*sees),
        "blind": lambda: by_learning(*sees),
        "scrambled": lambda: by_script("scripted", "scrambled"),
        "full": lambda: by_learning(*sees, *missing),
        "scripted": lambda: by_script("scripted"),
        "oracle": lambda: by_script("oracle"),
    }
    found: dict[str, Control | None] = {}
    for name in controls:
        if undefined(level, name):
            found[name] = None
            continue
        progress(name)
        found[name] = todo[name]()
    return Audit(level.name, level.digest, len(tested), chance(level, 16 * tasks), found)


def _imitated(level: Level, count: int) -> list[Task]:
    """Return the tasks of the demonstrations: none in which more than the message identifies a measured task."""
    source = level.tasks("test")
    if not isinstance(source, FiniteSource):
        return some_of(source, count, _SEED + 1)
    starts = [(task.pose, task.start_grid.tobytes()) for task in source]
    contents = [content_key(task) for task in source]
    mixed = len(set(zip(starts, contents, strict=True))) == len(set(starts)) * len(set(contents))
    return list(source) if mixed else some_of(level.tasks("train"), count, _SEED)


def _scripted(level: Level, builder: str, tasks: Sequence[Task], count: int, control: str) -> Control:
    """Play a named builder with each scripted architect, with a team, or with the dialogues of tasks.

    count: number of the tasks to play. control: name of a control; `scrambled` has the message of each other task, in
    at most 4 × `count` games per architect.
    """
    architect: Any = None
    if level.is_team:
        architect = "random" if builder == "random" else "scripted"
    elif builder == "oracle" and (level.is_pair or level.is_live):
        architect = silent_architect
    chosen = slice(count) if level.is_team else slice(None, None, max(1, len(tasks) // count))
    rest = others(tasks) if control == "scrambled" else [[task] for task in tasks]
    games = [(task, other) for task, part in zip(tasks[chosen], rest[chosen], strict=True) for other in part]
    order = np.random.default_rng(_SEED).permutation(len(games))[: 4 * count]
    with SeatedAgents(level, "test", [(architect, builder)], [_SEED], 0) as agents:
        pairs = product([games[place] for place in order], range(len(agents.partners)))
        scheduled = [
            Scheduled(number, task, other, partner) for number, ((task, other), partner) in enumerate(pairs)
        ]
        won = [outcome.success for outcome, _ in agents.play(scheduled, control)]
    return Control(float(np.mean(won)), len(won))


# ----------------------------------------------------------------------------------------------------------- files


def write_audits(audits: Sequence[Audit], path: str | os.PathLike[str]) -> Path:
    """Write audits as JSON, atomically. Audits of other levels in the file are kept."""
    kept = read_audits(path) if usable_path(path).exists() else {}
    kept.update({entry.level: entry for entry in audits})
    content = {
        "format": FORMAT,
        "version": VERSION,
        "versions": versions(),
        "levels": {name: kept[name].to_json() for name in sorted(kept)},
    }
    return write_text(path, json.dumps(content, indent=1) + "\n")


def read_audits(path: str | os.PathLike[str] = AUDITS) -> dict[str, Audit]:
    """Return audits by level, by default those that come with the package.

    Raises `DataError` if the file is damaged or has another format.
    """
    place = f"{path} is no file of audits"
    with wrap_errors(place):
        content = parse_json(Path(path).read_bytes(), place)
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise DataError(
                f"format is {content['format']!r:.60}, version {content['version']!r}, expected {FORMAT!r}"
            )
        return {name: Audit.from_json(name, entry) for name, entry in content["levels"].items()}
