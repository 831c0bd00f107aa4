"""Tables and plots of results, and the leaderboard: static pages with levels, intervals, curves and games to watch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.benchmark.catalog import CONTROLS, FAMILIES, Level, find, levels
from iglu_marl.benchmark.protocol import verify
from iglu_marl.benchmark.results import Result, improvement, read_result
from iglu_marl.benchmark.strangers import CHANCE, GAMES, ideal_curve, kind_of
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import atomic_write, json_ready, made_folder, write_text
from iglu_marl.core.tables import Code, Markup, Table, csv_text, html_table, markdown_table
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
    place, rows = made_folder(folder), entries(results)
    numbers = [list(row) for row in rows[:1]] + [list(row.values()) for row in rows]
    paths = [
        write_text(place / "benchmark.md", markdown(results)),
        write_text(place / "benchmark.csv", csv_text(numbers)),
    ]
    for name in dict.fromkeys(result.level for result in results):
        if drawing := curves_svg([result for result in results if result.level == name]):
            paths.append(write_text(place / f"{name}.svg", drawing))
    return paths


# ---------------------------------------------------------------------------------------------------------- the board


_STYLE = """
:root { color-scheme: light dark; --line: #8884 }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 80rem; padding: 1rem }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem } h3 { margin-bottom: 0; overflow-wrap: anywhere }
svg { display: block; height: auto; max-width: 26rem; width: 100% } .wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top }
td:nth-last-child(2) { min-width: 12rem }
"""


def write_site(
    paths: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    games: int = 2,
) -> Path:
    """Write the leaderboard, index.html, with copies of the result files; return its path.

    Results with faults have no place on it: they are listed at the end with what they lack. The others are verified.

    Args:
        paths: result files. Recorded games beside them become pages.
        folder: folder of the site.
        games: largest number of recorded games to show for each result.

    Raises:
        DataError: if a file is damaged or cannot be verified, or two have the same name.

    """
    place = made_folder(folder)
    files = {Path(path).name: Path(path) for path in paths}
    if len(files) < len(paths):
        raise DataError(f"two of {len(paths)} result files have the same name, expected different ones")
    ranked: dict[str, Result] = {}
    watched: dict[str, list[str]] = {}
    lacking = []
    for name, path in files.items():
        result = read_result(path)
        with atomic_write(place / name) as copy:
            shutil.copyfile(path, copy)
        if faults := result.faults():
            lacking.append((Code(name), Code(result.level), result.name, "; ".join(faults)))
        else:
            ranked[name], watched[name] = result, _verified(path, result, place, games)
    parts = []
    for family, about in FAMILIES.items():
        parts.append(f"<h2>{family}: {about}</h2>")
        for level in levels(family):
            own = {name: result for name, result in ranked.items() if result.level == level.name}
            parts.append(_article(level, own, watched))
    if lacking:
        table = html_table(Table(("file", "level", "agent", "what it lacks"), lacking))
        parts.append(f'<h2>Files without a place</h2><div class="wide">{table}</div>')
    page = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>iglu_marl benchmark: leaderboard</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body><h1>The iglu_marl benchmark</h1>
<p>Success on the test split in per cent, with its 95&nbsp;% interval. <em>References</em> were not trained: scripted
agents, random ones, codes agreed beforehand. Check a result file: <code>iglu-marl benchmark verify FILE</code>. To add
one, send it with its recordings by a pull request.</p>
{"".join(parts)}</body></html>
"""
    return write_text(place / "index.html", page)


def _verified(path: Path, result: Result, place: Path, most: int) -> list[str]:
    """Verify a result, and write pages of the first recorded games; return their names."""
    from iglu_marl.rendering import ReplayRecorder

    if find(result.level).is_repeated:
        most = 0  # games of one step
    title = f"{result.level}: {result.name}, game"
    watch = {number: ReplayRecorder(f"{title} {number}") for number in range(min(most, len(result.rows)))}
    verify(path, watch)
    return [
        recorder.write(place / f"{path.stem}.game-{number}.html").name for number, recorder in watch.items()
    ]


def _article(level: Level, results: Mapping[str, Result], watched: Mapping[str, Sequence[str]]) -> str:
    """Return a level with a table of its results, entries first, and their curves."""
    held = "; ".join(map(str, level.held_out))
    about = (
        f"{level.about} Held out: {held}. {level.max_steps:,} steps a game, {level.budget:,} of training, "
        f"{level.seeds} runs."
    )
    ordered = dict(sorted(results.items(), key=lambda item: item[1].is_reference))
    table = result_table(list(ordered.values()))
    rows = []
    for (_, _, *row), (name, result) in zip(table.rows, ordered.items(), strict=True):
        pages = {"result file": name, **{f"game {number}": page for number, page in enumerate(watched[name])}}
        links = [f'<a href="{escape(page)}">{title}</a>' for title, page in pages.items()]
        agent = f"{result.name} (reference)" if result.is_reference else result.name
        rows.append([agent, *row, result.command, Markup(" · ".join(links))])
    shown = "<p><em>No agent yet.</em></p>"
    if rows:
        whole = html_table(Table([*table.head[1:], "command", "files"], rows))
        shown = f'<div class="wide">{whole}</div>{curves_svg(list(ordered.values()))}'
    return f'<article id="{level.name}"><h3>{level.name}</h3><p>{escape(about)}</p>{shown}</article>'
