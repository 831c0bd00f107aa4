"""Tables of an evaluation: averages of the games' measures over any grouping."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import json_ready
from iglu_marl.evaluation.metrics import SCORINGS, Interval, clustered, clusters_text, share_interval
from iglu_marl.game.agent import add_counts

FORMAT, VERSION = "iglu_marl evaluation", 1
BASELINE_BUILDERS = ("nothing", "random")
"""Builders that stand beside those of an evaluation: one that does nothing, and one that acts at random."""
NO_ARCHITECT = "–"  # of the baselines, which hear nothing
RECENT = ("iglu2022_f1", "iglu2022_corrected_f1", "best_f1")  # measures that logs of 0.3 lack

Row = dict[str, Any]


def is_scored(row: Row) -> bool:
    """Whether a game counts in averages: no service that an agent needs failed."""
    return bool(row.get("scored", True))


def row_from_json(value: Any) -> Row:
    """Read a row of a log. Raises `DataError` if a measure of the row is missing or not finite."""
    row = {**value}
    for name, unknown in {"structure": "", **dict.fromkeys(RECENT, math.nan)}.items():
        row.setdefault(name, unknown)
    named = ("architect", "builder", "key", "task", "structure", "error")
    texts = [*(row[name] for name in named), *row["skills"]]
    taken = [
        part(row)
        for name, measure in MEASURES.items()
        if name not in RECENT or name in value
        for part in (measure.above, measure.below)
    ]
    whole = isinstance(row["skills"], list) and isinstance(row["episode"], int)
    whole = whole and all(isinstance(text, str) for text in texts)
    if not whole or not all(map(math.isfinite, taken)):
        raise DataError(f"{value!s:.80} is no row of an evaluation")
    return row


class Measure(NamedTuple):
    """A column of the tables: the quotient of two sums over games."""

    title: str
    above: Callable[[Row], float]
    below: Callable[[Row], float]


def _mean(title: str, name: str) -> Measure:
    return Measure(title, lambda row: float(row[name]), lambda row: 1.0)


def _per_instruction(name: str) -> Measure:
    return Measure(
        f"{name} per instruction", lambda row: float(row[name]), lambda row: float(row["instructions"])
    )


MEASURES: dict[str, Measure] = {
    "completed": _mean("completed", "completed"),
    "exact": _mean("exact", "exact"),
    "change_f1": _mean("F1 of changes", "change_f1"),
    "iglu2022_f1": _mean("F1 (iglu2022)", "iglu2022_f1"),
    "iglu2022_corrected_f1": _mean("F1 (iglu2022-corrected)", "iglu2022_corrected_f1"),
    "best_f1": _mean("F1 at the best step (iglu2021)", "best_f1"),
    "precision": _mean("precision of the world", "precision"),
    "recall": _mean("recall of the world", "recall"),
    "f1": _mean("F1 of the world", "f1"),
    "action_f1": Measure(
        "F1 of net actions (micro)",
        lambda row: 2.0 * row["actions"][0],
        lambda row: float(row["actions"][1] + row["actions"][2]),
    ),
    "steps": _mean("steps", "steps"),
    "turns": _mean("turns", "turns"),
    "steps_per_instruction": _per_instruction("steps"),
    "words_per_instruction": _per_instruction("words"),
    "questions_per_instruction": _per_instruction("questions"),
    "return": _mean("return", "return"),
}


@dataclass
class Evaluation:
    """The result of an evaluation: one row per game, in the order of agents, tasks and episodes.

    `summary` averages over any grouping, `matrix` crosses architects and builders, `write` makes the files. Intervals
    are percentile bootstraps over structures, and over tasks whose structure is unknown; all games of a structure or
    task are drawn together.

    settings: settings of the evaluation. rows: one row per game. baselines: rows of `BASELINE_BUILDERS`.
    scoring: chooses the headline measure, one of `SCORINGS`.
    """

    settings: dict[str, Any]
    rows: list[Row]
    resamples: int = 1000
    baselines: list[Row] = field(default_factory=list)
    scoring: str = "changes"

    @property
    def headline(self) -> str:
        """The measure of the tables that comes first."""
        return SCORINGS[self.scoring]

    def summary(self, *by: str) -> list[dict[str, Any]]:
        """Return averages by columns such as "builder", "structure" or "task"; "skill" counts a game once per skill.

        Each entry has the columns and an `Interval` for each of `MEASURES`: a bootstrap over structures, or Wilson's
        interval of their number if all games were completed, or none. `games` is the number of scored games,
        `errors` that of games in which an agent raised an exception, `failed` that of games that are not scored.

        Averages by "builder" include the baselines; other averages are those of the builders alone.
        """
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in (*self.rows, *self.baselines) if "builder" in by else self.rows:
            for key in itertools.product(*(group_of(row, name) for name in by)):
                groups.setdefault(key, []).append(row)
        return [{**dict(zip(by, key, strict=True)), **self._averages(rows)} for key, rows in groups.items()]

    def _averages(self, played: list[Row]) -> dict[str, Any]:
        rows = [row for row in played if is_scored(row)]
        clusters = [row.get("structure") or row["key"] for row in rows]
        found: dict[str, Any] = {
            "games": len(rows),
            "errors": sum(bool(row["error"]) for row in rows),
            "failed": len(played) - len(rows),
        }
        for name, measure in MEASURES.items():
            made = clustered(
                map(measure.above, rows),
                map(measure.below, rows),
                clusters,
                resamples=self.resamples,
                rng=self.settings["seed"],
            )
            alike = made.value in (0.0, 1.0)  # resamples do not differ
            if alike and name in ("completed", "exact"):
                made = share_interval(made.value, len(set(clusters)))
            found[name] = made
        return found

    def matrix(self, measure: str = "completed") -> dict[str, dict[str, Interval]]:
        """Return a measure of every pair and of the baselines: `matrix()[architect][builder]`.

        Raises `ConfigError` if the measure is unknown.
        """
        if measure not in MEASURES:
            raise ConfigError(f"measure is {measure!r}, expected one of {', '.join(MEASURES)}")
        crossed: dict[str, dict[str, Interval]] = {}
        for entry in self.summary("architect", "builder"):
            crossed.setdefault(entry["architect"], {})[entry["builder"]] = entry[measure]
        baselines = crossed.pop(NO_ARCHITECT, {}) if self.baselines else {}
        return {architect: {**across, **baselines} for architect, across in crossed.items()}

    def clusters(self) -> str:
        """Return what the intervals are drawn over, such as "8 structures"."""
        return clusters_text((row.get("structure", ""), row["key"]) for row in self.rows)

    def models(self) -> list[dict[str, Any]]:
        """Return the usage of language models, summed by architect, builder and role of the model."""
        sums: dict[tuple[str, str, str], dict[str, Any]] = {}
        for row in self.rows:
            for role, counts in row.get("models", {}).items():
                total = sums.setdefault((row["architect"], row["builder"], role), {})
                add_counts(total, {"games": 1, **counts})
        names = ("architect", "builder", "role")
        return [{**dict(zip(names, key, strict=True)), **total} for key, total in sums.items()]

    def silences(self) -> list[str]:
        """Return a line per pair with games in which the architect sent or the builder read no message."""
        lines = []
        pairs: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            pairs.setdefault((row["architect"], row["builder"]), []).append(row)
        for (architect, builder), rows in pairs.items():
            silent = sum(
                not row["instructions"] for row in rows if self.settings["config"].get("architects") != 0
            )
            unread = sum(not row.get("read", 1) for row in rows if row["instructions"])
            for count, what in (
                (silent, "the architect sent no message"),
                (unread, "the builder read no message"),
            ):
                if count:
                    lines.append(f"{architect} + {builder}: {what} in {count} of {len(rows)} games")
        return lines

    def impossible(self) -> dict[str, str]:
        """Return why targets cannot be completed, by name of the task; those that are proved."""
        return {row["task"]: row["impossible"] for row in self.rows if row.get("impossible")}

    def to_json(self) -> dict[str, Any]:
        """Return settings and all tables. The content does not depend on the duration of the games."""
        models, silences = self.models(), self.silences()
        return {
            "format": FORMAT,
            "version": VERSION,
            "settings": self.settings,
            "scoring": self.scoring,
            "headline": self.headline,
            "intervals_over": self.clusters(),
            "pairs": json_ready(self.summary("architect", "builder"), digits=6),
            "skills": json_ready(self.summary("architect", "builder", "skill"), digits=6),
            "structures": json_ready(self.summary("builder", "structure"), digits=6),
            **({"models": models} if models else {}),
            **({"silences": silences} if silences else {}),
            **({"impossible": impossible} if (impossible := self.impossible()) else {}),
        }

    def markdown(self) -> str:
        """Return the tables as Markdown."""
        from iglu_marl.evaluation import report

        return report.markdown(self)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write evaluation.json and evaluation.md; return the paths."""
        from iglu_marl.evaluation import report

        return report.write(self, Path(folder))


def group_of(row: Row, name: str) -> list[str]:
    """Return the values of a row in a column: its skills, or one; a task without a known structure is its own."""
    if name == "skill":
        return row["skills"] or ["plain"]
    return [str(row.get("structure") or row["task"] if name == "structure" else row[name])]
