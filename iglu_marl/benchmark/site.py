"""The leaderboard: result files as static pages, with the levels, intervals, curves and games to watch."""

from __future__ import annotations

import html
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from iglu_marl.benchmark.catalog import FAMILIES, Level, find, levels
from iglu_marl.benchmark.protocol import verify
from iglu_marl.benchmark.report import curves_svg, result_table
from iglu_marl.benchmark.results import Result, read_result
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import atomic_write, made_folder, write_text
from iglu_marl.core.tables import Code, Markup, Table, html_table

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
    results = {name: read_result(path) for name, path in files.items()}
    watched, ranked = {}, {}
    for name, path in files.items():
        with atomic_write(place / name) as copy:
            shutil.copyfile(path, copy)
        if not results[name].faults():
            ranked[name], watched[name] = results[name], _verified(path, results[name], place, games)
    parts = []
    for family, about in FAMILIES.items():
        parts.append(f"<h2>{family}: {about}</h2>")
        for level in levels(family):
            own = {name: result for name, result in ranked.items() if result.level == level.name}
            parts.append(_article(level, own, watched))
    lacking = [
        (Code(name), Code(result.level), result.name, "; ".join(result.faults()))
        for name, result in results.items()
        if name not in ranked
    ]
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
        links = [f'<a href="{html.escape(page)}">{title}</a>' for title, page in pages.items()]
        agent = f"{result.name} (reference)" if result.is_reference else result.name
        rows.append([agent, *row, result.command, Markup(" · ".join(links))])
    shown = "<p><em>No agent yet.</em></p>"
    if rows:
        whole = html_table(Table([*table.head[1:], "command", "files"], rows))
        shown = f'<div class="wide">{whole}</div>{curves_svg(list(ordered.values()))}'
    return f'<article id="{level.name}"><h3>{level.name}</h3><p>{html.escape(about)}</p>{shown}</article>'
