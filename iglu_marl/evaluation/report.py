"""Reports of an evaluation: Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from iglu_marl.core.files import made_folder, write_text
from iglu_marl.core.tables import Table, markdown_table, markdown_text
from iglu_marl.core.text import fix_surrogates
from iglu_marl.data.skills import SKILLS
from iglu_marl.evaluation.metrics import PROPERTIES, SCORINGS, Interval, about_skills
from iglu_marl.evaluation.results import MEASURES, Evaluation, group_of, is_scored
from iglu_marl.evaluation.selection import left_out_text

SHARES = ("completed", "exact", "precision", "recall", "f1", "action_f1", *SCORINGS.values())

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
    """Return the measures in Markdown; JSON has all."""
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
    return Table(head, rows, title)


def _columns(evaluation: Evaluation) -> list[str]:
    """Return the builders of the tables of cross-play: those of the evaluation, and the baselines."""
    return [*evaluation.settings["builders"], *dict.fromkeys(row["builder"] for row in evaluation.baselines)]


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
        f"seed {settings['seed']}, iglu_marl {settings['iglu_marl']}. In brackets: 95 % "
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


_MODEL_COLUMNS = (
    *("architect", "builder", "role", "games", "requests", "cache_hits", "retries", "prompt_tokens"),
    *("completion_tokens", "cost", "no_ops", "cut", "clipped", "failures", "left_out"),
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
    """Return a line per language model with its requests, tokens, cost and failures."""
    return [
        f"{entry['role']} of {entry['architect']} + {entry['builder']}: {entry['requests']} requests, "
        f"{entry['prompt_tokens']:,} tokens sent and {entry['completion_tokens']:,} received, "
        f"cost {entry['cost']:.4g}; failures: {by_kind(entry['failures'])}; {entry['clipped']} clipped, "
        f"{entry['cut']} cut"
        for entry in models
    ]


def _number(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    return str(int(value)) if isinstance(value, bool) else str(value)


# ---------------------------------------------------------------------------------------------------------- files


def write(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write all reports into a folder, each file atomically. Raises `DataError` if a file cannot be written."""
    made_folder(folder)
    texts = {
        "evaluation.json": json.dumps(evaluation.to_json(), indent=1) + "\n",
        "evaluation.md": markdown(evaluation),
    }
    return [write_text(folder / name, fix_surrogates(text)) for name, text in texts.items()]
