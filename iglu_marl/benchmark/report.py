"""Tables and plots of results, with the audit of the rung beside each, and comparisons with published results."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.benchmark.audits import CONTROLS, WITHOUT, Audit, read_audits, undefined
from iglu_marl.benchmark.ladder import FAMILIES, MODEL_RUNGS, find, rungs
from iglu_marl.benchmark.results import Result, improvement, iqm
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import made_folder, replacing, write_text
from iglu_marl.core.text import csv_text, markdown_table, markdown_text
from iglu_marl.evaluation.metrics import Interval, share_interval
from iglu_marl.evaluation.report import by_kind

COLUMNS = ("rung", "agent", "split", "runs", "success", "low", "high", "completed", "f1", "steps", "budget")
"""Of the CSV, before those of the controls and of the audit."""


# --------------------------------------------------------------------------------------------------------- numbers


def entries(results: Sequence[Result], audits: Mapping[str, Audit] | None = None) -> list[dict[str, Any]]:
    """A row for each result, JSON-ready: interquartile means over runs, and the rung's audit.

    `success` has its interval (`low`, `high`); `agent: …` are the controls of the agent itself (means over runs),
    `audit: …` those of the rung (None where there are none). audits: by default those that come with the package.
    """
    known = read_audits() if audits is None else audits
    found = []
    for result in results:
        success = result.interval()
        row: dict[str, Any] = dict(
            zip(COLUMNS, (result.rung, result.name, result.split, len(result.runs), *success), strict=False)
        )
        row |= {name: result.interval(name).value for name in ("completed", "f1", "steps")}
        row["budget"] = result.budget
        for name in ("muted", "scrambled", "hidden"):
            taken = [run.controls[name] for run in result.runs if name in run.controls]
            row[f"agent: {name}"] = float(np.mean(taken)) if taken else None
        audit = known.get(result.rung)
        row["audit: chance"] = audit.chance if audit else None
        for name in CONTROLS:
            control = audit.controls.get(name) if audit else None
            row[f"audit: {name}"] = control.success if control else None
        found.append(row)
    return found


def totals(results: Sequence[Result]) -> dict[str, dict[str, Interval]]:
    """By agent and family ("all": the whole ladder) the interquartile mean over rungs and runs, where there are two or
    more rungs; runs are drawn within their rung.
    """
    found: dict[str, dict[str, Interval]] = {}
    for name in dict.fromkeys(result.name for result in results):
        own = [result for result in results if result.name == name]
        for family in (*FAMILIES, "all"):
            scores = [result.scores() for result in own if family in ("all", find(result.rung).family)]
            if len(scores) > 1:
                found.setdefault(name, {})[family] = iqm(scores)
    return found


def comparisons(
    results: Sequence[Result], published: Sequence[Result]
) -> list[tuple[Result, Result, Interval]]:
    """Each result with each published one of the same rung, and the probability that a run of it is better.

    Raises `ConfigError` where the two are of different versions of a rung, or of different splits or tasks.
    """
    found = []
    for ours in results:
        for theirs in published:
            if ours.rung != theirs.rung:
                continue
            for field in ("digest", "split", "tasks"):
                if getattr(ours, field) != getattr(theirs, field):
                    raise ConfigError(
                        f"results of {ours.rung} have {field} {getattr(ours, field)!r} ({ours.name}) and "
                        f"{getattr(theirs, field)!r} ({theirs.name}): they cannot be compared"
                    )
            found.append((ours, theirs, improvement(ours.scores(), theirs.scores())))
    return found


# ---------------------------------------------------------------------------------------------------------- tables


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _interval(interval: Interval) -> str:
    return interval.told(_share)


RESULT_HEADS = (
    *("rung", "agent", "runs", "steps", "success", "completed", "muted", "scrambled", "hidden"),
    *("chance", "best without", "its steps", "scripted", "oracle"),
)


def result_rows(results: Sequence[Result], audits: Mapping[str, Audit] | None = None) -> list[list[str]]:
    """What `RESULT_HEADS` name for each result, as Markdown; shares in per cent."""
    known = read_audits() if audits is None else audits
    rows = []
    for result, entry in zip(results, entries(results, known), strict=True):
        interval = Interval(entry["success"], entry["low"], entry["high"])
        if len(result.runs) == 1:
            interval = share_interval(interval.value, result.episodes)
        rows.append(
            [
                f"`{result.rung}`" + ("" if result.is_current else " (of another version)"),
                markdown_text(result.name),
                str(len(result.runs)),
                f"{result.budget:,}",
                _interval(interval),
                _share(entry["completed"]),
                *(_share(entry[f"agent: {name}"]) for name in ("muted", "scrambled", "hidden")),
                *_without_and_with(known.get(result.rung)),
            ]
        )
    return rows


def _without_and_with(audit: Audit | None) -> list[str]:
    """Chance, the best control that does without what a rung is about, its steps, the scripted builder, the oracle."""
    if audit is None:
        return ["–"] * 5
    without = [part for name in WITHOUT if (part := audit.controls.get(name)) is not None]
    best = max((part.success for part in without), default=None)
    steps = max((part.budget for part in without), default=0)
    reached = [
        part.success if (part := audit.controls.get(name)) else None for name in ("scripted", "oracle")
    ]
    return [_share(audit.chance), _share(best), f"{steps:,}", *map(_share, reached)]


def ladder_rows(results: Sequence[Result], audits: Mapping[str, Audit] | None = None) -> list[list[str]]:
    """The results of all rungs in their order; where there are none, that there is nobody yet."""
    known = read_audits() if audits is None else audits
    rows = []
    for rung in rungs():
        own = result_rows([result for result in results if result.rung == rung.name], known)
        nobody = [f"`{rung.name}`", "nobody yet", *["–"] * 7, *_without_and_with(known.get(rung.name))]
        rows += own or [nobody]
    return rows


def markdown(
    results: Sequence[Result],
    *,
    audits: Mapping[str, Audit] | None = None,
    published: Sequence[Result] = (),
) -> str:
    """All tables as Markdown; shares in per cent. Results of language models have one of their own."""
    known = read_audits() if audits is None else audits
    of_models = [result for result in results if find(result.rung) in MODEL_RUNGS]
    if of_models:
        others = [result for result in results if result not in of_models]
        rest = "\n" + markdown(others, audits=known, published=published) if others else ""
        return model_table(of_models) + rest
    rows = result_rows(results, known)
    text = (
        "Success: interquartile mean over runs in per cent, with its 95 % interval by stratified bootstrap; of "
        "one run over its games (Wilson's). "
        "*Muted*, *scrambled*, *hidden*: the same agents. *Best without*: the best control of the rung's audit that "
        "does without what it is about. Steps are those of training, the agent's and the controls'.\n\n"
        + markdown_table(RESULT_HEADS, rows)
    )
    if few := [result for result in results if len(result.runs) < 5]:
        text += (
            "\nFewer than 5 runs: "
            + ", ".join(f"{result.rung} ({markdown_text(result.name)})" for result in few)
            + ".\n"
        )
    if together := totals(results):
        lines = [
            [markdown_text(name), family, _interval(interval)]
            for name, parts in together.items()
            for family, interval in parts.items()
        ]
        text += "\n" + markdown_table(("agent", "family", "success"), lines)
    if compared := comparisons(results, published):
        lines = [
            [
                f"`{ours.rung}`",
                *map(markdown_text, (ours.name, theirs.name)),
                *map(_interval, (theirs.interval(), better)),
            ]
            for ours, theirs, better in compared
        ]
        text += "\n" + markdown_table(
            ("rung", "agent", "published", "its success", "probability of improvement"), lines
        )
    return text


AUDIT_HEADS = ("rung", "tasks", "steps", "chance", *CONTROLS, "passes")
RUNG_HEADS = ("rung", "what is asked for", "held out", "builder", "steps", "budget", "runs")
UNDEFINED_HEADS = ("control", "not defined, since", "for")


def audit_rows(audits: Mapping[str, Audit]) -> list[list[str]]:
    """The audits of all rungs: steps of training, and shares in per cent, – where a control is not defined."""
    rows = []
    for rung in rungs():
        if (audit := audits.get(rung.name)) is None:
            continue
        shares = [part.success if (part := audit.controls.get(name)) else None for name in CONTROLS]
        verdict = "yes" if audit.passes else "**no**"
        if audit.digest != rung.digest:
            verdict += " (of another version)"
        steps = max((part.budget for part in audit.controls.values() if part), default=0)
        about = f"`{rung.name}`", str(audit.tasks), f"{steps:,}"
        rows.append([*about, _share(audit.chance), *map(_share, shares), verdict])
    return rows


def audit_table(audits: Mapping[str, Audit]) -> str:
    """The audits of all rungs as Markdown."""
    return markdown_table(AUDIT_HEADS, audit_rows(audits))


def rung_rows() -> list[list[str]]:
    """What the rungs are."""
    return [
        [
            f"`{rung.name}`",
            rung.about,
            "; ".join(map(str, rung.held_out)),
            f"{rung.controls}; sees {', '.join((*rung.sees, *(('target',) * rung.sees_target)))}",
            f"{rung.max_steps:,}",
            f"{rung.budget:,}",
            str(rung.seeds),
        ]
        for rung in rungs()
    ]


def undefined_rows() -> list[list[str]]:
    """Which controls rungs cannot have, why, and which rungs."""
    found: dict[tuple[str, str], list[str]] = {}
    for control in CONTROLS:
        for rung in rungs():
            if why := undefined(rung, control):
                found.setdefault((control, why), []).append(f"`{rung.name}`")
    return [[*key, ", ".join(names)] for key, names in found.items()]


def to_csv(results: Sequence[Result], audits: Mapping[str, Audit] | None = None) -> str:
    """A row for each result, with all of `entries`; nothing where a number is missing."""
    rows = entries(results, audits)
    names = list(rows[0]) if rows else list(COLUMNS)
    return csv_text([names, *([row[name] for name in names] for row in rows)])


MODEL_HEADS = (
    "rung", "agent", "games", "success", "F1 of changes", "requests", "tokens", "cost", "unread", "failures",
    "failed games",
)  # fmt: skip


def model_rows(results: Sequence[Result]) -> list[list[str]]:
    """A row for each result; success and F1 in per cent."""
    rows = []
    for result in results:
        took, scores = result.models, result.runs[0].scores
        low, high = took["interval"]
        tokens = took.get("prompt_tokens", 0) + took.get("completion_tokens", 0)
        asked = "requests" in took
        rows.append(
            [
                f"`{result.rung}`" + ("" if result.is_current else " (of another version)"),
                markdown_text(result.name),
                str(took["games"]),
                f"{100 * scores['success']:.1f} ({100 * low:.0f}–{100 * high:.0f})",
                f"{100 * scores['f1']:.1f}",
                *([f"{took['requests']:,}", f"{tokens:,}", f"{took['cost']:.4g}"] if asked else ["–"] * 3),
                str(took.get("parse_failures", "–")),
                by_kind(took["failures"]) if asked else "–",
                str(took["failed"]),
            ]
        )
    return rows


def model_table(results: Sequence[Result]) -> str:
    """Results as Markdown, agents beside each other in each rung."""
    order = [rung.name for rung in MODEL_RUNGS]
    return markdown_table(
        MODEL_HEADS, model_rows(sorted(results, key=lambda result: order.index(result.rung)))
    )


# ----------------------------------------------------------------------------------------------------------- plots


def plot_curves(results: Sequence[Result], path: str | os.PathLike[str]) -> Path:
    """Sample-efficiency curves of results of one rung: interquartile means with intervals, by environment steps.

    Needs matplotlib. Runs are read at the steps of the first. Raises `ConfigError` where no result has curves.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    drawn = [result for result in results if all(run.curve for run in result.runs)]
    if not drawn:
        raise ConfigError("no result has curves, expected one whose runs all have some")
    with mpl.rc_context({"svg.hashsalt": "iglu_marl"}):
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.subplots()
        for result in drawn:
            steps, middle, low, high = curve(result)
            (line,) = axes.plot(steps, middle, label=f"{_plain(result.name)} ({len(result.runs)} runs)")
            axes.fill_between(steps, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
        axes.set(title=drawn[0].rung, xlabel="environment steps", ylabel="success", ylim=(-0.02, 1.02))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        metadata = {"Date": None} if str(path).endswith(".svg") else None
        with replacing(path) as partial:
            figure.savefig(partial, metadata=metadata)
    return Path(path)


def _plain(name: str) -> str:
    """A name as matplotlib shows it, no formula."""
    return name.replace("$", r"\$")


def curve(result: Result) -> tuple[Any, Any, Any, Any]:
    """Environment steps, and the interquartile mean over runs with its interval at each; float64 [n] each."""
    steps = np.array([step for step, _ in result.runs[0].curve], np.float64)
    values = [np.interp(steps, *np.array(run.curve, np.float64).T) for run in result.runs]
    found = np.array([iqm([column], resamples=200) for column in np.array(values).T.tolist()])
    return steps, *found.T


def write(
    results: Sequence[Result],
    folder: str | os.PathLike[str],
    *,
    audits: Mapping[str, Audit] | None = None,
    published: Sequence[Result] = (),
) -> list[Path]:
    """Write benchmark.md, benchmark.csv and, with matplotlib, curves of each rung that has some; returns the paths."""
    place = made_folder(folder)
    paths = [
        write_text(place / "benchmark.md", markdown(results, audits=audits, published=published)),
        write_text(place / "benchmark.csv", to_csv(results, audits)),
    ]
    if importlib.util.find_spec("matplotlib") is not None:
        for name in dict.fromkeys(result.rung for result in results):
            own = [r for r in results if r.rung == name and all(run.curve for run in r.runs)]
            if own:
                paths.append(plot_curves(own, place / f"{name}.svg"))
    return paths
