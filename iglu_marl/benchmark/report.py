"""Tables and plots of results, with the controls of the level, and comparisons with published results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.benchmark.audits import CONTROLS, Audit, read_audits
from iglu_marl.benchmark.catalog import CONTROLS as AGENT_CONTROLS
from iglu_marl.benchmark.catalog import FAMILIES, find, levels
from iglu_marl.benchmark.codes import kind_of
from iglu_marl.benchmark.ideal import ideal_curve
from iglu_marl.benchmark.results import Result, improvement, iqm
from iglu_marl.benchmark.strangers import CHANCE, GAMES
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import json_ready, made_folder, write_text
from iglu_marl.core.tables import Code, Table, csv_text, markdown_table
from iglu_marl.evaluation.metrics import Interval, crossed_share, interquartile_mean

COLUMNS = (
    "level",
    "agent",
    "split",
    "runs",
    "measure",
    "value",
    "low",
    "high",
    "completed",
    "f1",
    "steps",
    "budget",
)
"""First columns of the CSV; those of the controls follow."""


# --------------------------------------------------------------------------------------------------------- numbers


def entries(results: Sequence[Result], audits: Mapping[str, Audit] | None = None) -> list[dict[str, Any]]:
    """Return a JSON-ready row per result: means with intervals, and the level's controls.

    | key | |
    |---|---|
    | value, low, high | the level's `measure` with its interval |
    | supervision | what the agents had, separated by ", " |
    | contents | number of different contents |
    | audit: chance | success rate of a fixed target (`Audit.constant`) |
    | flags | what to know before comparing the result (`Result.flags`), separated by "; " |
    | agent: … | controls of the agent itself, means over runs |
    | audit: … | controls of the level, None if missing |

    results: results of any levels. audits: audits by level; None: those that come with the package.
    """
    known = read_audits() if audits is None else audits
    found = []
    for result in results:
        about = (result.level, result.name, result.split, len(result.runs), find(result.level).measure)
        row: dict[str, Any] = dict(zip(COLUMNS, (*about, *result.interval()), strict=False))
        row |= {name: result.interval(name).value for name in ("completed", "f1", "steps")}
        row |= {"budget": result.budget, "contents": result.contents}
        row["supervision"] = ", ".join(result.supervision)
        row |= {f"agent: {name}": result.control(name) for name in AGENT_CONTROLS}
        audit = known.get(result.level)
        row["audit: chance"] = audit.constant if audit else None
        row["flags"] = "; ".join(result.flags(row["audit: chance"]))
        row |= {f"audit: {name}": audit.shares.get(name) if audit else None for name in CONTROLS}
        found.append(json_ready(row))
    return found


def totals(results: Sequence[Result]) -> dict[str, dict[str, Interval]]:
    """Return the interquartile mean over levels and runs, by agent and family ("all": the whole benchmark).

    References, results with faults, and families with results on one level are left out. Runs are resampled within
    their level.
    """
    found: dict[str, dict[str, Interval]] = {}
    whole = [result for result in results if not (result.is_reference or result.faults())]
    for name in dict.fromkeys(result.name for result in whole):
        own = [result for result in whole if result.name == name]
        for family in (*FAMILIES, "all"):
            scores = [result.scores() for result in own if family in ("all", find(result.level).family)]
            if len(scores) > 1:
                found.setdefault(name, {})[family] = iqm(scores)
    return found


def comparisons(
    results: Sequence[Result], published: Sequence[Result]
) -> list[tuple[Result, Result, Interval]]:
    """Return pairs of a result and a published one of the same level, with the probability of improvement.

    Raises `ConfigError` if two results have different versions of the level, splits or tasks.
    """
    found = []
    for ours in results:
        for theirs in published:
            if ours.level != theirs.level:
                continue
            for field in ("digest", "split", "tasks"):
                if getattr(ours, field) != getattr(theirs, field):
                    raise ConfigError(
                        f"results of {ours.level} have {field} {getattr(ours, field)!r} ({ours.name}) and "
                        f"{getattr(theirs, field)!r} ({theirs.name}): they cannot be compared"
                    )
            found.append((ours, theirs, improvement(ours.scores(), theirs.scores())))
    return found


# ---------------------------------------------------------------------------------------------------------- tables


def percent(value: float | None) -> str:
    """Return a share in per cent as text, "–" for None."""
    return "–" if value is None else f"{100 * value:.1f}"


def _interval(interval: Interval) -> str:
    return interval.text(percent)


def score_text(result: Result) -> str:
    """Return the level's measure with its interval in per cent, marked where it is not the success rate."""
    return _interval(result.interval()) + {"success": "", "f1": " F1"}[find(result.level).measure]


RESULT_HEADS = (
    *("level", "agent", "supervision", "runs", "contents", "steps", "success", "completed", "controls"),
    *("chance", "best without", "scripted", "oracle", "flags"),
)


def result_table(results: Sequence[Result], audits: Mapping[str, Audit] | None = None) -> Table:
    """Return a row per result, with the controls of its level; shares in per cent."""
    known = read_audits() if audits is None else audits
    rows = [
        [
            Code(result.level),
            result.name,
            entry["supervision"] or "–",
            len(result.runs),
            result.contents,
            f"{result.budget:,}",
            score_text(result),
            percent(entry["completed"]),
            controls_text(result),
            *_audited(known.get(result.level), "scripted", "oracle"),
            entry["flags"] or "–",
        ]
        for result, entry in zip(results, entries(results, known), strict=True)
    ]
    return Table(RESULT_HEADS, rows)


def controls_text(result: Result) -> str:
    """Return the success rates of a result's controls in per cent, such as "muted 0.0, scrambled 2.5"."""
    shares = {name: result.control(name) for name in AGENT_CONTROLS}
    return ", ".join(f"{name} {percent(share)}" for name, share in shares.items() if share is not None) or "–"


def _audited(audit: Audit | None, *names: str) -> list[str]:
    """Return chance, the best shortcut baseline and named controls of a level in per cent."""
    if audit is None:
        return ["–"] * (2 + len(names))
    return [*map(percent, (audit.constant, audit.best_without, *map(audit.shares.get, names)))]


def tables(
    results: Sequence[Result],
    *,
    audits: Mapping[str, Audit] | None = None,
    published: Sequence[Result] = (),
) -> list[Table]:
    """Return the tables of results, of averages over levels, and of comparisons with published results."""
    found = [result_table(results, audits)]
    if together := totals(results):
        rows = [
            [name, family, _interval(interval)]
            for name, parts in together.items()
            for family, interval in parts.items()
        ]
        found.append(Table(("agent", "family", "success"), rows))
    if compared := comparisons(results, published):
        head = ("level", "agent", "published", "its success", "probability of improvement")
        rows = [
            [Code(ours.level), ours.name, theirs.name, _interval(theirs.interval()), _interval(better)]
            for ours, theirs, better in compared
        ]
        found.append(Table(head, rows))
    if repeated := [result for result in results if find(result.level).is_repeated]:
        found.append(sitting_table(repeated))
    return found


def by_game(result: Result) -> list[Interval]:
    """Return the success rate in each game with a stranger, with intervals over runs and strangers."""
    found = []
    for game in range(GAMES):
        rows = [row for row in result.rows if row.seed % GAMES == game]
        factors = zip(*((row.run, row.partner) for row in rows), strict=True)
        strangers = len({row.partner for row in rows})
        found.append(crossed_share([row.success for row in rows], factors, strangers))
    return found


def sitting_table(results: Sequence[Result]) -> Table:
    """Return the success rates by number of the game, beside those of ideal agents with and without memory."""
    rows = []
    for level in dict.fromkeys(result.level for result in results):
        for result in results:
            if result.level == level:
                rows.append([Code(level), result.name, *map(_interval, by_game(result))])
        rows.append([Code(level), "ideal", *map(percent, ideal_curve(kind_of(level)))])
        rows.append([Code(level), "ideal, without memory", *[percent(CHANCE)] * GAMES])
    return Table(("level", "agent", *(f"game {number}" for number in range(1, GAMES + 1))), rows)


ABOUT = (
    "Success: mean in per cent, or F1 of the changes, with its 95 % interval by bootstrap over runs, contents and "
    "partners (Wilson's for 0 and 100 %). *Controls*: the same agents without the messages, the target, the pictures "
    "or their team. *Best without*: the best shortcut baseline of the level. Steps are training steps.\n"
)


def markdown(results: Sequence[Result], **options: Any) -> str:
    """Return all tables as Markdown. options: those of `tables`."""
    return "\n".join([ABOUT, *map(markdown_table, tables(results, **options))])


LEVEL_HEADS = (
    *("level", "chance", "best without", "full", "controls", "oracle"),
    *("best agent", "runs", "success", "gap"),
)


def level_table(results: Sequence[Result], audits: Mapping[str, Audit] | None = None) -> Table:
    """Return a row per level: its controls, its best agent among entries without faults, and the gap to the oracle."""
    known = read_audits() if audits is None else audits
    return Table(LEVEL_HEADS, [_level_row(level.name, results, known.get(level.name)) for level in levels()])


def _level_row(level: str, results: Sequence[Result], audit: Audit | None) -> list[Any]:
    chance, best_without, full, oracle = _audited(audit, "full", "oracle")
    row = [Code(level), chance, best_without, full, "–" if audit is None else audit.verdict, oracle]
    own = [one for one in results if one.level == level and not (one.is_reference or one.faults())]
    if not own:
        return [*row, "–", "–", "–", "–"]
    best = max(own, key=lambda result: result.interval().value)
    gap = (audit.shares.get("oracle", 1.0) if audit else 1.0) - best.interval().value
    return [*row, best.name, len(best.runs), score_text(best), percent(gap)]


AUDIT_HEADS = ("level", "tasks", "chance", *CONTROLS, "verdict")


def audit_table(audits: Mapping[str, Audit]) -> Table:
    """Return the controls of all levels: shares in per cent, "–" where a control is not defined."""
    rows: list[list[Any]] = []
    for level in levels():
        if (audit := audits.get(level.name)) is None:
            continue
        shares = map(audit.shares.get, CONTROLS)
        verdict = audit.verdict
        if audit.digest != level.digest:
            verdict += " (of another version)"
        about = (Code(level.name), audit.tasks, percent(audit.chance))
        rows.append([*about, *map(percent, shares), verdict])
    return Table(AUDIT_HEADS, rows)


def to_csv(results: Sequence[Result], audits: Mapping[str, Audit] | None = None) -> str:
    """Return a CSV row per result with all keys of `entries`; missing numbers are empty."""
    rows = entries(results, audits)
    names = list(rows[0]) if rows else list(COLUMNS)
    return csv_text([names, *([row[name] for name in names] for row in rows)])


# ----------------------------------------------------------------------------------------------------------- plots


_PLOT = (260, 110, 34, 8)  # width and height in units, margins left and elsewhere
_COLORS = ("#2f7d6b", "#b4541a", "#4a5fa8", "#8a4f8f")


def curves_svg(results: Sequence[Result]) -> str:
    """Draw the curves of sample efficiency of a level, interquartile means over runs; "" if there are none."""
    drawn = [result for result in results if all(run.curve for run in result.runs)]
    if not drawn:
        return ""
    wide, high, left, rest = _PLOT
    most = max(max(steps for steps, _ in result.runs[0].curve) for result in drawn) or 1
    labels = [
        (left - 3, 12, "end", "100 %", "currentColor"),
        (left - 3, high - 19, "end", "0", "currentColor"),
        (wide - rest, high - 10, "end", f"{most:,} steps", "currentColor"),
    ]
    lines = [
        f'<path d="M{left} 8V{high - 20}H{wide - rest}" fill="none" stroke="currentColor" stroke-width=".6"/>'
    ]
    for number, result in enumerate(drawn):
        color = _COLORS[number % len(_COLORS)]
        points = " ".join(
            f"{left + (wide - left - rest) * x / most:.1f},{high - 20 - (high - 28) * y:.1f}"
            for x, y in curve(result)
        )
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        labels.append((left + 4, 12 + 9 * number, "start", result.name, color))
    lines += [
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="8" fill="{color}">{escape(text)}</text>'
        for x, y, anchor, text, color in labels
    ]
    about = escape(f"Curves of {', '.join(result.name for result in drawn)}")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" aria-label="{about}">'
    return f"{head}{''.join(lines)}</svg>"


def curve(result: Result) -> list[tuple[float, float]]:
    """Return environment steps, and interquartile means over runs, which are interpolated at those of the first."""
    steps = [step for step, _ in result.runs[0].curve]
    values = [np.interp(steps, *np.array(run.curve, np.float64).T) for run in result.runs]
    return [
        (step, interquartile_mean(column))
        for step, column in zip(steps, zip(*values, strict=True), strict=True)
    ]


def write(
    results: Sequence[Result],
    folder: str | os.PathLike[str],
    *,
    audits: Mapping[str, Audit] | None = None,
    published: Sequence[Result] = (),
) -> list[Path]:
    """Write benchmark.md, benchmark.csv and a plot per level with curves; return the paths."""
    place = made_folder(folder)
    paths = [
        write_text(place / "benchmark.md", markdown(results, audits=audits, published=published)),
        write_text(place / "benchmark.csv", to_csv(results, audits)),
    ]
    for name in dict.fromkeys(result.level for result in results):
        if drawing := curves_svg([result for result in results if result.level == name]):
            paths.append(write_text(place / f"{name}.svg", drawing))
    return paths
