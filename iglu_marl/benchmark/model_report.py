"""Tables of the benchmark of language models, and paired comparisons of models on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.benchmark.models import LEVELS, ModelResult
from iglu_marl.core.scoring import Counts, micro
from iglu_marl.core.tables import Code, Table, markdown_table
from iglu_marl.evaluation.metrics import Interval, crossed_bootstrap, crossed_share, share_interval

SWAPS = 9999  # random signs of a paired test
HEADS = (
    "level", "agent", "setting", "games", "score", "rounds right", "F1", "wrong", "needless", "missing", "words",
    "replies", "tokens", "cost", "unread", "marks",
)  # fmt: skip
SUMS = (
    "right", "rounds", "wrong", "needless", "missing", "words", "requests", "unread", "cost", "prompt_tokens",
    "completion_tokens",
)  # fmt: skip
PAIR_HEADS = ("level", "first", "second", "difference", "p", "settings")


def score_interval(result: ModelResult) -> Interval:
    """Return the mean score with its 95 % interval, by bootstrap over units (structures, sessions, games).

    Wilson's interval of the units where that has no width, as for 0 and 100 %.
    """
    units = [row.unit for row in result.rows]
    return crossed_share([row.score for row in result.rows], [units], len(set(units)))


def result_table(results: Sequence[ModelResult]) -> Table:
    """Return a row per result, by level, rows without marks first; shares in per cent.

    Words, replies and tokens are for each right action; wrong changes and questions for each game.
    """
    order = [level.name for level in LEVELS]
    rows: list[list[Any]] = []
    for one in sorted(results, key=lambda one: (order.index(one.level), bool(one.marks))):
        total = {name: sum(getattr(row, name) for row in one.rows) for name in SUMS}
        actions = micro(Counts(*row.actions) for row in one.rows)
        tokens = total["prompt_tokens"] + total["completion_tokens"]
        each = [number / max(1, actions.right) for number in (total["words"], total["requests"], tokens)]
        games = max(1, len(one.rows))
        rows.append(
            [
                Code(one.level), one.name, one.setting, len(one.rows),
                score_interval(one).text(lambda value: f"{100 * value:.1f}") if one.rows else "–",
                f"{100 * total['right'] / max(1, total['rounds']):.1f}", f"{100 * actions.f1:.1f}",
                *(f"{total[name] / games:.2f}" for name in ("wrong", "needless", "missing")),
                *(f"{number:.1f}" if actions.right else "–" for number in each),
                f"{total['cost']:.4g}", total["unread"], "; ".join(one.marks) or "–",
            ]
        )  # fmt: skip
    return Table(HEADS, rows)


class Pair(NamedTuple):
    """Two results on the same games. difference: of the scores, first minus second. p: of a paired sign-flip test."""

    first: ModelResult
    second: ModelResult
    difference: Interval
    p: float


def compare(results: Sequence[ModelResult]) -> list[Pair]:
    """Return the paired differences of all results with the same level, tasks and number of games.

    Games that one of them lacks are left out. The interval is by bootstrap over units; where all differences are equal,
    by Wilson's interval of the share of other ones. The test flips the signs of whole units. Results of other tasks are
    not compared.
    """
    found = []
    for first, second in combinations(results, 2):
        if first.key != second.key:
            continue
        theirs = {row.game: row.score for row in second.rows}
        both = [(row.score - theirs[row.game], row.unit) for row in first.rows if row.game in theirs]
        if not both:
            continue
        gaps, units = (
            np.array([gap for gap, _ in both]),
            np.unique([unit for _, unit in both], return_inverse=True)[1],
        )
        sums = np.bincount(units, weights=gaps)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (SWAPS, len(sums)))
        beyond = np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9
        interval = crossed_bootstrap(gaps, [units])
        if interval.high - interval.low < 1e-9:  # all gaps are equal: others could occur
            other = (1 - share_interval(1.0, len(sums)).low) * (1 + abs(interval.value))
            interval = interval._replace(
                low=max(-1.0, interval.value - other), high=min(1.0, interval.value + other)
            )
        found.append(Pair(first, second, interval, (1 + int(beyond.sum())) / (1 + SWAPS)))
    return found


def markdown(results: Sequence[ModelResult]) -> str:
    """Return the table of results, and the paired differences in per cent, as Markdown."""
    rows = [
        [
            Code(pair.first.level),
            pair.first.name,
            pair.second.name,
            pair.difference.text(lambda value: f"{100 * value:+.1f}"),
            f"{pair.p:.4f}",
            "equal" if pair.first.marks == pair.second.marks else "they differ",
        ]
        for pair in compare(results)
    ]
    tables = [result_table(results), *([Table(PAIR_HEADS, rows)] if rows else [])]
    return "\n".join(map(markdown_table, tables))
