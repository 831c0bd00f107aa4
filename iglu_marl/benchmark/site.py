"""The leaderboard: result files as static pages, with the levels, intervals, curves and games to watch."""

from __future__ import annotations

import html
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iglu_marl.benchmark.catalog import FAMILIES, Level, find, levels
from iglu_marl.benchmark.protocol import replayed, verify
from iglu_marl.benchmark.report import controls_text, curves_svg, level_table, score_text
from iglu_marl.benchmark.results import Result, read_result
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import made_folder, write_text
from iglu_marl.core.tables import Code, Table, html_table

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #2f7d6b; --dot: #b4541a; }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 68rem; padding: 1rem }
h1 { line-height: 1.2 } h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem }
h3 { margin: 0; font-size: 1.05rem; overflow-wrap: anywhere }
article { border: 1px solid var(--line); border-radius: .5rem; margin: 1rem 0; padding: 1rem }
article p { margin: .3rem 0 }
dl { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .5rem 0; font-size: .9rem }
dl div { display: flex; gap: .4rem } dt { opacity: .75 } dd { margin: 0; font-variant-numeric: tabular-nums }
.row { display: grid; grid-template-columns: 13rem 1fr 11rem; gap: .2rem 1rem; align-items: center; margin-top: .8rem }
.track { background: var(--line); border-radius: .3rem; height: 1rem; position: relative }
.track i { background: var(--bar); border-radius: .3rem; bottom: 0; opacity: .55; position: absolute; top: 0 }
.track b { background: var(--bar); bottom: -2px; position: absolute; top: -2px; width: 3px }
.track u { background: var(--dot); bottom: -4px; position: absolute; top: -4px; width: 2px }
.notes { font-size: .85rem; grid-column: 1 / -1; overflow-wrap: anywhere } code { font-size: .9em }
svg { display: block; height: auto; max-width: 26rem; width: 100% } .wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top }
@media (max-width: 40rem) { .row { grid-template-columns: 1fr auto } .track { grid-column: 1 / -1; grid-row: 2 } }
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
        shutil.copyfile(path, place / name)
        if not results[name].faults():
            verify(path)
            ranked[name] = results[name]
            watched[name] = _games(path, results[name], place, games)
    found = []
    for family, about in FAMILIES.items():
        found.append(f"<h2>{_text(family)}: {_text(about)}</h2>")
        for level in levels(family):
            own = {name: result for name, result in ranked.items() if result.level == level.name}
            found.append(_article(level, own, watched))
    table = html_table(level_table(list(ranked.values())))
    lacking = [
        (Code(name), Code(result.level), result.name, "; ".join(result.faults()))
        for name, result in results.items()
        if name not in ranked
    ]
    if lacking:
        unranked = html_table(Table(("file", "level", "agent", "what it lacks"), lacking))
        found.append(f'<h2>Files without a place</h2><div class="wide">{unranked}</div>')
    body = f"""<h1>The iglu_marl benchmark</h1>
<p>Success on the test split in per cent: a bar for the 95&nbsp;% interval, a mark for the mean; the thin mark is
chance, a player that always builds the same target. <em>References</em> were not trained: scripted agents, random
ones, codes agreed beforehand. Check a result file:
<code>iglu-marl benchmark verify FILE</code>. To add one, send it with its recordings by a pull request.</p>
{"".join(found)}
<h2>All levels</h2>
<div class="wide">{table}</div>"""
    page = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>iglu_marl benchmark: leaderboard</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body>{body}</body></html>
"""
    return write_text(place / "index.html", page)


def _text(value: object) -> str:
    return html.escape(str(value))


def _games(path: Path, result: Result, place: Path, most: int) -> list[tuple[str, str]]:
    """Write pages of the first recorded games; return their names and titles."""
    from iglu_marl.rendering import ReplayRecorder

    if find(result.level).is_repeated:
        return []  # games of one step
    found = []
    for number in range(min(most, len(result.rows))):
        row, name = result.rows[number], f"{path.stem}.game-{number}.html"
        recorder = ReplayRecorder(f"{result.level}: {result.name}, game {number}")
        replayed(path, number, recorder)
        recorder.write(place / name)
        found.append((name, f"game {number} ({'success' if row.success else 'no success'})"))
    return found


def _article(
    level: Level,
    results: Mapping[str, Result],
    watched: Mapping[str, Sequence[tuple[str, str]]],
) -> str:
    """Return the card of a level."""
    facts: dict[str, Any] = {"steps": level.max_steps, "training": f"{level.budget:,}", "runs": level.seeds}
    held = "; ".join(map(str, level.held_out))
    shown = "".join(
        f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in facts.items()
    )
    entries_first = sorted(results.items(), key=lambda item: item[1].is_reference)
    rows = [_row(name, result, watched[name]) for name, result in entries_first]
    about = f"{_text(level.about)} Held out: {_text(held)}."
    return (
        f'<article id="{_text(level.name)}"><h3>{_text(level.name)}</h3><p>{about}</p><dl>{shown}</dl>'
        f"{''.join(rows) or '<p><em>No agent yet.</em></p>'}{curves_svg(list(results.values()))}</article>"
    )


def _row(name: str, result: Result, games: Sequence[tuple[str, str]]) -> str:
    """Return a result of a level."""
    found = result.interval()
    left, width = 100 * found.low, 100 * (found.high - found.low)
    middle = min(99.5, 100 * found.value)
    marks = f'<i style="left:{left:.1f}%;width:{width:.1f}%"></i><b style="left:{middle:.1f}%"></b>'
    marks += f'<u style="left:{min(99.5, 100 * result.chance):.1f}%"></u>'
    parts = [
        f"supervision: {', '.join(result.supervision)}",
        f"runs {len(result.runs)}",
        f"contents {result.contents}",
        f"training steps {result.budget:,}",
        controls_text(result),
        *result.flags(),
    ]
    links = [f'<a href="{_text(name)}">result file</a>']
    links += [f'<a href="{_text(page)}">{_text(about)}</a>' for page, about in games]
    title = f"{result.name} (reference)" if result.is_reference else result.name
    command = f"<br><code>{_text(result.command)}</code>" if result.command else ""
    return (
        f'<div class="row"><strong>{_text(title)}</strong><div class="track">{marks}</div>'
        f"<span>{_text(score_text(result))}</span>"
        f'<div class="notes">{_text(" · ".join(parts))} · {" · ".join(links)}{command}</div></div>'
    )
