"""Tables and plots of results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.benchmark.catalog import CONTROLS, find
from iglu_marl.benchmark.codes import kind_of
from iglu_marl.benchmark.ideal import ideal_curve
from iglu_marl.benchmark.results import Result, improvement
from iglu_marl.benchmark.strangers import CHANCE, GAMES
from iglu_marl.core.files import json_ready, made_folder, write_text
from iglu_marl.core.tables import Code, Table, csv_text, markdown_table
from iglu_marl.evaluation.metrics import Interval


def entries(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return a JSON-ready row per result: means with intervals, and its controls.

    | key | |
    |---|---|
    | value, low, high | the level's `measure` with its interval |
    | supervision | what the agents had, separated by ", " |
    | contents | number of different contents |
    | chance | see `Result.chance` |
    | flags | what to know before comparing the result (`Result.flags`), separated by "; " |
    | muted, scrambled, … | controls, means over runs; None if missing |
    """
    rows = [
        {
            "level": result.level,
            "agent": result.name,
            "split": result.split,
            "runs": len(result.runs),
            "measure": find(result.level).measure,
            **result.interval()._asdict(),
            **{name: result.mean(name) for name in ("completed", "f1", "steps")},
            "budget": result.budget,
            "contents": result.contents,
            "supervision": ", ".join(result.supervision),
            "chance": result.chance,
            "flags": "; ".join(result.flags()),
            **{name: result.control(name) for name in CONTROLS},
        }
        for result in results
    ]
    return [json_ready(row) for row in rows]


# ---------------------------------------------------------------------------------------------------------- tables


def percent(value: float | None) -> str:
    """Return a share in per cent as text, "–" for None."""
    return "–" if value is None else f"{100 * value:.1f}"


def result_table(results: Sequence[Result]) -> Table:
    """Return a row per result; shares in per cent, marked where F1 is the measure."""
    head = ("level", "agent", "supervision", "runs", "contents", "steps")
    rows = []
    for row in entries(results):
        controls = [f"{name} {percent(row[name])}" for name in CONTROLS if row[name] is not None]
        success = Interval(row["value"], row["low"], row["high"]).text(percent)
        rows.append(
            [
                Code(row["level"]),
                row["agent"],
                row["supervision"] or "–",
                row["runs"],
                row["contents"],
                f"{row['budget']:,}",
                success + {"success": "", "f1": " F1"}[row["measure"]],
                percent(row["completed"]),
                ", ".join(controls) or "–",
                percent(row["chance"]),
                row["flags"] or "–",
            ]
        )
    return Table((*head, "success", "completed", "controls", "chance", "flags"), rows)


def tables(results: Sequence[Result]) -> list[Table]:
    """Return the tables of results, of pairs with several runs on the same tasks, and of strangers."""
    parts = [result_table(results)]
    pairs = [
        [Code(ours.level), ours.name, theirs.name, improvement(ours.scores(), theirs.scores()).text(percent)]
        for ours, theirs in combinations(results, 2)
        if (ours.level, ours.tasks) == (theirs.level, theirs.tasks) and len(ours.runs) > 1 < len(theirs.runs)
    ]
    if pairs:
        parts.append(Table(("level", "agent", "other", "probability of improvement"), pairs))
    if repeated := [result for result in results if find(result.level).is_repeated]:
        parts.append(sitting_table(repeated))
    return parts


def by_game(result: Result) -> list[Interval]:
    """Return the success rate in each game with a stranger, with intervals over runs and strangers."""
    parts = [tuple(row for row in result.rows if row.seed % GAMES == game) for game in range(GAMES)]
    return [replace(result, rows=rows).interval() for rows in parts]


def sitting_table(results: Sequence[Result]) -> Table:
    """Return the success rates by number of the game, beside those of ideal agents with and without memory."""
    rows = []
    for level in dict.fromkeys(result.level for result in results):
        for result in results:
            if result.level == level:
                rows.append([Code(level), result.name, *(share.text(percent) for share in by_game(result))])
        rows.append([Code(level), "ideal", *map(percent, ideal_curve(kind_of(level)))])
        rows.append([Code(level), "ideal, without memory", *[percent(CHANCE)] * GAMES])
    return Table(("level", "agent", *(f"game {number}" for number in range(1, GAMES + 1))), rows)


ABOUT = (
    "Success: mean in per cent, or F1 of the changes, with its 95 % interval by bootstrap over runs, contents and "
    "partners (Wilson's for 0 and 100 %). *Controls*: the same agents without the messages, the target, the pictures "
    "or their team. *Chance*: a player that always builds the same. Steps are training steps.\n"
)


def markdown(results: Sequence[Result]) -> str:
    """Return all tables as Markdown."""
    return "\n".join([ABOUT, *map(markdown_table, tables(results))])


def to_csv(results: Sequence[Result]) -> str:
    """Return a CSV row per result with all keys of `entries`; missing numbers are empty."""
    rows = entries(results)
    return csv_text([list(row) for row in rows[:1]] + [list(row.values()) for row in rows])


# ----------------------------------------------------------------------------------------------------------- plots


_COLORS = ("#2f7d6b", "#b4541a", "#4a5fa8", "#8a4f8f")
_AXES = '<path d="M34 8V90H252" fill="none" stroke="currentColor" stroke-width=".6"/>'


def curves_svg(results: Sequence[Result]) -> str:
    """Draw the curves of sample efficiency of a level, means over runs; "" if there are none."""
    drawn = [result for result in results if all(run.curve for run in result.runs)]
    if not drawn:
        return ""
    most = max(max(steps for steps, _ in result.runs[0].curve) for result in drawn) or 1
    labels = [
        (31, 12, "end", "100 %", "currentColor"),
        (31, 91, "end", "0", "currentColor"),
        (252, 100, "end", f"{most:,} steps", "currentColor"),
    ]
    lines = [_AXES]
    for number, result in enumerate(drawn):
        color = _COLORS[number % len(_COLORS)]
        points = " ".join(f"{34 + 218 * x / most:.1f},{90 - 82 * y:.1f}" for x, y in curve(result))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        labels.append((38, 12 + 9 * number, "start", result.name, color))
    lines += [
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="8" fill="{color}">{escape(text)}</text>'
        for x, y, anchor, text, color in labels
    ]
    about = escape(f"Curves of {', '.join(result.name for result in drawn)}")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 260 110" role="img" aria-label="{about}">'
    return f"{head}{''.join(lines)}</svg>"


def curve(result: Result) -> list[tuple[float, float]]:
    """Return environment steps of the first run, and means over runs, interpolated at them."""
    steps = [step for step, _ in result.runs[0].curve]
    values = [np.interp(steps, *np.array(run.curve, np.float64).T) for run in result.runs]
    return list(zip(steps, np.mean(values, axis=0).tolist(), strict=True))


def write(results: Sequence[Result], folder: str | os.PathLike[str]) -> list[Path]:
    """Write benchmark.md, benchmark.csv and a plot per level with curves; return the paths."""
    place = made_folder(folder)
    paths = [
        write_text(place / "benchmark.md", markdown(results)),
        write_text(place / "benchmark.csv", to_csv(results)),
    ]
    for name in dict.fromkeys(result.level for result in results):
        if drawing := curves_svg([result for result in results if result.level == name]):
            paths.append(write_text(place / f"{name}.svg", drawing))
    return paths
