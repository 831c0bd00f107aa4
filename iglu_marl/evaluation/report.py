"""Reports of an evaluation: Markdown, CSV, JSON, and a self-contained HTML page with examples."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from iglu_marl.core.files import made_folder, write_text
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.core.tables import Table, csv_text, html_table, markdown_table, markdown_text
from iglu_marl.core.text import fix_surrogates
from iglu_marl.data.skills import SKILLS
from iglu_marl.evaluation.metrics import PROPERTIES, SCORINGS, Interval, about_skills
from iglu_marl.evaluation.results import MEASURES, Evaluation, group_of, is_scored
from iglu_marl.evaluation.selection import left_out_text

SHARES = ("completed", "exact", "precision", "recall", "f1", "action_f1", *SCORINGS.values())

_PICTURE = (180, 240)  # of a build in the page: height, width
_LINES = 60  # of a transcript in the page
_ERRORS = 20  # shown


def shown(name: str, value: float) -> str:
    """Return a measure as text: shares in per cent, others rounded."""
    if value != value:
        return "–"
    if name in SHARES:
        return f"{value:.1%}" if name in ("completed", "exact") else f"{value:.3f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cell(name: str, interval: Interval) -> str:
    """Return a measure with its interval, such as "87.5% (62.5%–100.0%)"."""
    return interval.text(partial(shown, name))


def measures_of(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the measures in Markdown and HTML; JSON and CSV have all."""
    return (
        evaluation.headline,
        *(name for name in ("completed", "change_f1", "f1", "action_f1") if name != evaluation.headline),
        *("steps", "turns", "words_per_instruction", "questions_per_instruction"),
    )


def played(entry: dict[str, Any]) -> str:
    """Return the number of averaged games, and of failed ones."""
    return f"{entry['games']}" + (f" ({entry['failed']} failed)" if entry["failed"] else "")


# -------------------------------------------------------------------------------------------------------- tables


def tables(evaluation: Evaluation) -> list[Table]:
    """Return all tables: cross-play, pairs, skills, structures, and what else there is to report."""
    headline = evaluation.headline
    crossed = (headline, "completed", "steps", "words_per_instruction")
    found = [_crossed(evaluation, measure) for measure in crossed]
    found += [
        _pairs(evaluation),
        _by_builder(evaluation, "skill", headline, "Skills"),
        _by_builder(evaluation, "structure", headline, "Structures"),
        _by_builder(evaluation, "structure", "completed", "Structures"),
    ]
    if impossible := evaluation.impossible():
        found.append(Table(["structure", "reason"], list(impossible.items()), "Impossible targets"))
    if models := evaluation.models():
        found.append(Table(_MODEL_COLUMNS, _model_rows(models), "Language models"))
    if teams := evaluation.teams():
        notes = ["Means of the games; see `TeamTally`."]
        found.append(Table(_TEAM_COLUMNS, list(map(_team_row, teams)), "Teams", notes))
    if errors := [row for row in evaluation.rows if row["error"]]:
        head = ["architect", "builder", "task", "error"]
        rows = [[row[name] for name in head] for row in errors[:_ERRORS]]
        found.append(Table(head, rows, f"Errors ({len(errors)})"))
    return found


def _pairs(evaluation: Evaluation) -> Table:
    measures = measures_of(evaluation)
    rows = [
        [
            entry["architect"],
            entry["builder"],
            played(entry),
            *(cell(name, entry[name]) for name in measures),
        ]
        for entry in evaluation.summary("architect", "builder")
    ]
    head = ["architect", "builder", "games", *(MEASURES[name].title for name in measures)]
    return Table(head, rows, "Pairs", evaluation.silences())


def _by_builder(evaluation: Evaluation, by: str, measure: str, title: str) -> Table:
    """Return a table with a row per skill or structure, and a column per builder and baseline."""
    builders = _columns(evaluation)
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in evaluation.summary("builder", by):
        groups.setdefault(entry[by], {})[entry["builder"]] = entry
    tasks = {
        name: len({row["key"] for row in evaluation.rows if name in group_of(row, by)}) for name in groups
    }
    order = {name: number for number, name in enumerate((*SKILLS, *PROPERTIES))}
    rows = [
        [
            name,
            str(tasks[name]),
            *(
                cell(measure, groups[name][builder][measure]) if builder in groups[name] else "–"
                for builder in builders
            ),
        ]
        for name in sorted(groups, key=lambda name: order.get(name, len(order)))
    ]
    notes = [about_skills(groups)] if by == "skill" else []
    return Table([by, "tasks", *builders], rows, f"{title}: {MEASURES[measure].title}", notes)


def _crossed(evaluation: Evaluation, measure: str) -> Table:
    builders = _columns(evaluation)
    rows = [
        [architect, *(cell(measure, across[builder]) for builder in builders)]
        for architect, across in evaluation.matrix(measure).items()
    ]
    head = ["architect \\ builder", *builders]
    title = f"Cross-play: {MEASURES[measure].title}"
    return Table(head, rows, title, shades=_shades(evaluation, measure))


def _columns(evaluation: Evaluation) -> list[str]:
    """Return the builders of the tables of cross-play: those of the evaluation, and the baselines."""
    return [*evaluation.settings["builders"], *dict.fromkeys(row["builder"] for row in evaluation.baselines)]


def _shades(evaluation: Evaluation, measure: str) -> list[list[float]]:
    """Return how dark each pair's cell is, 0..1: shares as they are, others between the least and the largest."""
    builders = _columns(evaluation)
    values = [[across[name].value for name in builders] for across in evaluation.matrix(measure).values()]
    known = [value for row in values for value in row if value == value] or [0.0]
    low, high = (0.0, 1.0) if measure in SHARES else (min(known), max(known))
    return [
        [(value - low) / (high - low) if value == value and high > low else 0.0 for value in row]
        for row in values
    ]


def _team_row(entry: dict[str, Any]) -> list[str]:
    values = (entry.get(name, "–") for name in _TEAM_COLUMNS)
    return [value if isinstance(value, str) else f"{value:.3g}" for value in values]


def _about(evaluation: Evaluation) -> str:
    settings = evaluation.settings
    config = settings["config"]
    failed = sum(not is_scored(row) for row in evaluation.rows)
    crossed = {
        "architect": len(settings["architects"]),
        "builder": len(settings["builders"]),
        "task": len(settings["tasks"]),
        "episode": settings["episodes"],
    }
    said = (
        f"{len(evaluation.rows)} games: "
        f"{' × '.join(f'{number} {noun}' + 's' * (number != 1) for noun, number in crossed.items())}; controls "
        f"{config['controls']}, chat {config['chat']}, view {settings['view']}, at most {config['max_steps']} steps, "
        f"seed {settings['seed']}, iglu_marl {settings['iglu_marl']}. In brackets: {evaluation.confidence:.0%} "
        f"bootstrap intervals over {evaluation.clusters()} (Wilson's for 0 and 100 % completed)."
    )
    if left_out := left_out_text(settings.get("left_out", {})):
        said += f" Tasks {left_out}."
    for role, agents in settings.get("agents", {}).items():
        for name, about in agents.items():
            model = ", ".join(
                f"{part} {about[part]}"
                for part in ("model", "endpoint", "view", "prompts")
                if about.get(part)
            )
            said += f" {role}: {name} is {model}."
    again = f" Of these, {failed} failed because of what an agent runs on: they are in no average, and are played "
    return said + (f"{again}again when the evaluation is started again." if failed else "")


def markdown(evaluation: Evaluation) -> str:
    """Return all tables as Markdown."""
    parts = ["# Evaluation\n", f"{markdown_text(_about(evaluation))}\n"]
    return "\n".join([*parts, *map(markdown_table, tables(evaluation))])


_TEAM_COLUMNS = (
    *("architect", "builder", "agent", "games", "steps", "idle", "placed", "removed", "earned", "conflicts"),
    *("messages", "words"),
)
_MODEL_COLUMNS = (
    *("architect", "builder", "role", "games", "requests", "cache_hits", "retries", "prompt_tokens"),
    *("completion_tokens", "cost", "no_ops", "gave_up", "cut", "clipped", "failures", "left_out"),
)


def _model_rows(models: Iterable[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            by_kind(entry.get(name, {})) if name in ("failures", "left_out") else _number(entry.get(name, 0))
            for name in _MODEL_COLUMNS
        ]
        for entry in models
    ]


def by_kind(failures: Mapping[str, int]) -> str:
    """Return counts of failures as text, such as "2 timeout, 1 unreadable"."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(failures.items())) or "none"


def model_lines(models: Iterable[dict[str, Any]]) -> list[str]:
    """Return a line per language model with its requests and failures."""
    return [
        f"{entry['role']} of {entry['architect']} + {entry['builder']}: {entry['requests']} requests; failures: "
        f"{by_kind(entry['failures'])}; {entry['gave_up']} gave up, {entry['clipped']} clipped, {entry['cut']} cut"
        for entry in models
    ]


# ----------------------------------------------------------------------------------------------------------- csv


def pairs_csv(evaluation: Evaluation) -> str:
    """Return a CSV line per pair: every measure with its interval."""
    names = list(MEASURES)
    ends = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    counts = ["games", "errors", "failed"]
    lines = [["architect", "builder", *counts, *ends]]
    for entry in evaluation.summary("architect", "builder"):
        values = [_number(value) for name in names for value in entry[name]]
        lines.append([entry["architect"], entry["builder"], *(str(entry[name]) for name in counts), *values])
    return csv_text(lines)


def games_csv(evaluation: Evaluation) -> str:
    """Return a CSV line per game."""
    left_out = ("dialogue", "grid", "seconds", "models")
    names = [name for name in (evaluation.rows[0] if evaluation.rows else {}) if name not in left_out]
    lines = [names]
    for row in evaluation.rows:
        lines.append(
            [" ".join(map(str, row[n])) if isinstance(row[n], list) else _number(row[n]) for n in names]
        )
    return csv_text(lines)


def models_csv(models: Sequence[dict[str, Any]]) -> str:
    """Return a CSV line per pair and role of a language model: usage, and failures by kind."""
    kinds = sorted({kind for entry in models for kind in entry["failures"]})
    names = [name for name in models[0] if name != "failures"]
    lines = [[*names, *kinds]]
    for entry in models:
        failures = [str(entry["failures"].get(kind, 0)) for kind in kinds]
        lines.append([*(_number(entry[name]) for name in names), *failures])
    return csv_text(lines)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    return str(int(value)) if isinstance(value, bool) else str(value)


# ----------------------------------------------------------------------------------------------------------- page


_STYLE = """
:root{color-scheme:light;--ink:#1d2733;--dim:#5b6876;--line:#dde3ea;--page:#fff;--mark:#24789c}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1080px;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.7rem;margin:0}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}p{color:var(--dim)}
table{border-collapse:collapse;font-size:13px}th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);
text-align:left;white-space:nowrap}th{color:var(--dim);font-weight:600}.wide{overflow-x:auto}
figure{margin:0}figcaption{color:var(--dim);font-size:13px;margin-bottom:.3rem}
details{border:1px solid var(--line);border-radius:8px;margin:.5rem 0;padding:.5rem .9rem}
summary{cursor:pointer}.game{display:flex;flex-wrap:wrap;gap:1rem;margin-top:.6rem}
.game ol{flex:1 1 300px;margin:0;padding-left:1.6rem;max-height:260px;overflow:auto;font-size:13px}
.game b{font-weight:600}img{border-radius:6px}
"""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"  # nothing runs, nothing loads


def page(evaluation: Evaluation) -> str:
    """Return the report as an HTML page without external links."""
    body = [f"<h1>Evaluation</h1><p>{html.escape(_about(evaluation))}</p>"]
    for table in tables(evaluation):
        notes = "".join(f"<p>{html.escape(line)}</p>" for line in table.notes)
        body.append(f'<h2>{html.escape(table.title)}</h2><div class="wide">{html_table(table)}</div>{notes}')
    examples = [_example(evaluation, row) for row in evaluation.rows if "dialogue" in row]
    if examples:
        body.append("<h2>Games</h2>" + "".join(examples))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Evaluation</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _example(evaluation: Evaluation, row: dict[str, Any]) -> str:
    """Return a game as HTML: pictures of target and build, and the dialogue."""
    verdict = "complete" if row["completed"] else f"F1 {row[evaluation.headline]:.2f}"
    if not is_scored(row):
        verdict = "failed"
    title = html.escape(
        f"{row['architect']} + {row['builder']}, {row['task']}: {verdict}, {row['steps']} steps"
    )
    lines = row["dialogue"]
    listed = "".join(
        f"<li><b>{html.escape(role)}</b> {html.escape(text)}</li>" for role, text in lines[:_LINES]
    )
    if len(lines) > _LINES:
        listed += f"<li>… {len(lines) - _LINES} more</li>"
    pictures = [_picture(row["grid"], "the build")]
    names = [task.task_id for task in evaluation.tasks]
    if row["task"] in names:
        target = evaluation.tasks[names.index(row["task"])].in_ids("iglu").target_grid
        pictures.insert(0, _picture(grid_to_blocks(target), "the target"))
    return f'<details><summary>{title}</summary><div class="game">{"".join(pictures)}<ol>{listed}</ol></div></details>'


def _picture(blocks: Iterable[Any], what: str) -> str:
    from PIL import Image

    from iglu_marl.rendering import orbit_view

    file = io.BytesIO()
    image = Image.fromarray(orbit_view(blocks_to_grid(blocks), size=_PICTURE))
    image.quantize(64).save(file, format="PNG", optimize=True)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return (
        f'<figure><figcaption>{what}</figcaption><img alt="{what}" width="{_PICTURE[1]}" height="{_PICTURE[0]}" '
        f'src="data:image/png;base64,{data}"></figure>'
    )


# ---------------------------------------------------------------------------------------------------------- files


def write(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write all reports into a folder, each file atomically. Raises `DataError` if a file cannot be written."""
    made_folder(folder)
    texts = {
        "evaluation.json": json.dumps(evaluation.to_json(), indent=1) + "\n",
        "pairs.csv": pairs_csv(evaluation),
        "games.csv": games_csv(evaluation),
        **({"models.csv": models_csv(models)} if (models := evaluation.models()) else {}),
        "evaluation.md": markdown(evaluation),
        "evaluation.html": page(evaluation),
    }
    return [write_text(folder / name, fix_surrogates(text)) for name, text in texts.items()]
