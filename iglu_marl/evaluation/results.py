"""Tables of an evaluation: what is measured of the games, averaged over any grouping."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.task import Task
from iglu_marl.evaluation.metrics import Interval, bootstrap
from iglu_marl.game.agent import add_counts

FORMAT, VERSION = "iglu_marl evaluation", 1

Row = dict[str, Any]


def is_scored(row: Row) -> bool:
    """Whether a game counts in averages: nothing failed of what the agents run on."""
    return bool(row.get("scored", True))


def row_from_json(value: Any) -> Row:
    """A row of a log. Raises `DataError` for one of which not every measure can be taken, and others (`reading`)."""
    row = dict(value)
    texts = [*(row[name] for name in ("architect", "builder", "key", "task", "error")), *row["skills"]]
    taken = [part(row) for measure in MEASURES.values() for part in (measure.above, measure.below)]
    whole = isinstance(row["skills"], list) and isinstance(row["episode"], int)
    whole = whole and all(isinstance(text, str) for text in texts)
    if not whole or not all(map(math.isfinite, taken)):
        raise DataError(f"{value!s:.80} is no row of an evaluation")
    return row


class Measure(NamedTuple):
    """A column of the tables: what is summed, and what it is divided by, of each game."""

    title: str
    above: Callable[[Row], float]
    below: Callable[[Row], float]


def _mean(title: str, name: str) -> Measure:
    return Measure(title, lambda row: float(row[name]), lambda row: 1.0)


MEASURES: dict[str, Measure] = {
    "completed": _mean("completed", "completed"),
    "exact": _mean("exact", "exact"),
    "precision": _mean("precision", "precision"),
    "recall": _mean("recall", "recall"),
    "f1": _mean("F1", "f1"),
    "change_f1": _mean("F1 of changes", "change_f1"),
    "action_f1": Measure(
        "F1 of net actions (micro)",
        lambda row: 2.0 * row["actions"][0],
        lambda row: float(row["actions"][1] + row["actions"][2]),
    ),
    "steps": _mean("steps", "steps"),
    "turns": _mean("turns", "turns"),
    "steps_per_instruction": Measure(
        "steps per instruction",
        lambda row: float(row["steps"]),
        lambda row: float(row["instructions"]),
    ),
    "words_per_instruction": Measure(
        "words per instruction",
        lambda row: float(row["words"]),
        lambda row: float(row["instructions"]),
    ),
    "questions_per_instruction": Measure(
        "questions per instruction",
        lambda row: float(row["questions"]),
        lambda row: float(row["instructions"]),
    ),
    "return": _mean("return", "return"),
}


@dataclass
class Tables:
    """What came of an evaluation: one row a game, in the order of agents, tasks and episodes.

    settings: what was played. `summary` averages over any grouping, `matrix` crosses architects and builders.
    Intervals are percentile bootstraps over tasks (all episodes of a task are drawn together).
    """

    settings: dict[str, Any]
    rows: list[Row]
    confidence: float = 0.95
    resamples: int = 1000
    tasks: list[Task] = field(default_factory=list, repr=False)

    def summary(self, *by: str) -> list[dict[str, Any]]:
        """Averages by columns such as "architect", "builder", "task"; "skill" counts a game for each of its skills.

        Each entry has the columns, `games`, `errors` (games in which an agent raised something), `failed` (games in
        no average, since what an agent runs on failed), and for each of `MEASURES` an `Interval`.
        """
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            for key in _keys(row, by):
                groups.setdefault(key, []).append(row)
        return [{**dict(zip(by, key, strict=True)), **self._averages(rows)} for key, rows in groups.items()]

    def _averages(self, played: list[Row]) -> dict[str, Any]:
        rows = [row for row in played if is_scored(row)]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(row["key"] for row in rows))}
        where = np.array([numbers[row["key"]] for row in rows], np.intp)
        found: dict[str, Any] = {
            "games": len(rows),
            "errors": sum(bool(row["error"]) for row in rows),
            "failed": len(played) - len(rows),
        }
        for name, measure in MEASURES.items():
            above = np.bincount(where, [measure.above(row) for row in rows], len(numbers))
            below = np.bincount(where, [measure.below(row) for row in rows], len(numbers))
            found[name] = bootstrap(
                above, below, confidence=self.confidence, resamples=self.resamples, rng=self.settings["seed"]
            )
        return found

    def matrix(self, measure: str = "completed") -> dict[str, dict[str, Interval]]:
        """A measure of every pair: `matrix()[architect][builder]`. Raises `ConfigError` for an unknown measure."""
        if measure not in MEASURES:
            raise ConfigError(f"measure is {measure!r}, expected one of {', '.join(MEASURES)}")
        crossed: dict[str, dict[str, Interval]] = {}
        for entry in self.summary("architect", "builder"):
            crossed.setdefault(entry["architect"], {})[entry["builder"]] = entry[measure]
        return crossed

    def models(self) -> list[dict[str, Any]]:
        """What language models took: sums by architect, builder and the role that the model played; often empty."""
        sums: dict[tuple[str, str, str], dict[str, Any]] = {}
        for row in self.rows:
            for role, counts in row.get("models", {}).items():
                total = sums.setdefault((row["architect"], row["builder"], role), {})
                add_counts(total, {"games": 1, **counts})
        names = ("architect", "builder", "role")
        return [{**dict(zip(names, key, strict=True)), **total} for key, total in sums.items()]

    def to_json(self) -> dict[str, Any]:
        """Settings and all tables, JSON-ready; nothing in it depends on how long the games took."""
        models = self.models()
        return {
            "format": FORMAT,
            "version": VERSION,
            "settings": self.settings,
            "confidence": self.confidence,
            "pairs": _plain(self.summary("architect", "builder")),
            "skills": _plain(self.summary("architect", "builder", "skill")),
            "structures": _plain(self.summary("task")),
            **({"models": models} if models else {}),
        }


def _keys(row: Row, by: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    found = row["skills"] or ["plain"] if "skill" in by else [""]
    for skill in found:
        yield tuple(skill if name == "skill" else str(row[name]) for name in by)


def _plain(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Intervals as lists, and nan as null."""

    def value(part: Any) -> Any:
        if isinstance(part, Interval):
            return [None if number != number else round(number, 6) for number in part]
        return part

    return [{name: value(part) for name, part in entry.items()} for entry in entries]
