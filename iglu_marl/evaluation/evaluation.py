"""Evaluation: every architect with every builder on the same tasks, over processes, resumable.

`evaluate(...)` plays, measures and averages. Each game is written to `games.jsonl` in the output folder as soon as it
is over; a killed evaluation, started again with the same arguments, plays what is missing and gives the same tables.
All that is random follows from the seed, the task and the number of the episode, so the order of the games and the
number of processes change nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from iglu_marl._version import __version__
from iglu_marl.agents.registry import game_options
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import made_folder
from iglu_marl.evaluation import report
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.results import FORMAT, VERSION, Row, Tables, is_scored, row_from_json
from iglu_marl.evaluation.runner import EvaluationJob, EvaluationPlan, games
from iglu_marl.evaluation.selection import digest, named, tasks_of
from iglu_marl.game.config import GameConfig

GAMES = "games.jsonl"
SEES = ("dialog", "inventory", "pose", "grid")
DEFAULTS: dict[str, Any] = {
    "builder_can_ask": True,
    "builder_sees": SEES,
    "max_turns": None,
    "max_steps": 5000,
    "controls": "walking",
    "chat": "text",
}
"""Of the game, where nothing else is said, and a trained agent has learned in no other."""


class Evaluation(Tables):
    """What came of an evaluation: one row a game, in the order of agents, tasks and episodes.

    settings: what was played. `summary` averages over any grouping, `matrix` crosses architects and builders, `write`
    makes the files. Intervals are percentile bootstraps over tasks (all episodes of a task are drawn together).
    """

    def markdown(self) -> str:
        """The tables as Markdown."""
        return report.markdown(self)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write evaluation.json, pairs.csv, games.csv, evaluation.md and evaluation.html; returns the paths."""
        return report.write(self, Path(folder))


@contextmanager
def _progress(shown: bool | None, total: int, done: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr; None: where that is a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    disabled = not (console.is_terminal if shown is None else shown)
    with Progress(*columns, console=console, transient=True, disable=disabled) as progress:
        bar = progress.add_task("games", total=total, completed=done)
        yield lambda: progress.advance(bar)


def _checked(
    episodes: int,
    seed: int,
    processes: int,
    concurrency: int,
    examples: int,
    view: str,
    on_error: str,
    resamples: int,
) -> None:
    for name, value, least in (
        ("episodes", episodes, 1),
        ("seed", seed, 0),
        ("processes", processes, 1),
        ("concurrency", concurrency, 1),
        ("examples", examples, 0),
        ("resamples", resamples, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ConfigError(f"{name} is {value!r}, expected an integer of {least} or more")
    for name, text, known in (
        ("view", view, ("aec", "parallel")),
        ("on_error", on_error, ("raise", "count")),
    ):
        if text not in known:
            raise ConfigError(f"{name} is {text!r}, expected one of {', '.join(known)}")


def _numbered(digests: Iterable[str]) -> list[str]:
    """Each digest, with a number where it comes again."""
    seen: Counter[str] = Counter()
    keys = []
    for name in digests:
        keys.append(f"{name}/{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return keys


def evaluate(
    architects: Any = "scripted",
    builders: Any = "scripted",
    tasks: Any = "bundled",
    *,
    count: int | None = None,
    episodes: int = 1,
    seed: int = 0,
    processes: int = 1,
    concurrency: int | None = None,
    output: str | os.PathLike[str] | None = None,
    controls: str | None = None,
    chat: str | None = None,
    view: str = "aec",
    config: Mapping[str, Any] | None = None,
    examples: int = 3,
    on_error: str = "raise",
    confidence: float = 0.95,
    resamples: int = 1000,
    progress: bool | None = None,
) -> Evaluation:
    """Play every architect with every builder on the same tasks, and measure.

    architects, builders: names of `iglu_marl.agents` ("scripted", "terse", "hasty", …), "module:attribute", classes
        with `for_env(env)`, functions of the environment; one, several, or a mapping from names to them. With several
        processes they have to be importable from there, and a script needs its `if __name__ == "__main__":`.
    tasks, count: see `tasks_of`. episodes: games of each pair on each task; they differ in their seeds.
    seed: decides everything random. The n-th game on a task has the same seeds for every pair.
    processes: how many to spread the games over; the result is the same for any number.
    concurrency: games under way at once in each process; None: as many as the settings of LLM agents at an endpoint
        allow requests, else 1. It changes nothing but the time, and helps where agents wait for an endpoint.
    output: a folder; finished games are kept there, and the report. Started again it goes on where it was.
    controls, chat, view ("aec" or "parallel"), config: of the game; `config` has fields of `GameConfig`. By default
        the builder walks, may ask, sees dialog, inventory, pose and grid, and has 5,000 steps; trained agents play in
        the game that they have learned in (`iglu_marl.agents.registry.game_options`).
    examples: how many tasks have their transcripts and builds kept for the report.
    on_error: "raise" what an agent raises, or "count" the game as it stands and go on. A game in which something fails
        that an agent runs on, an endpoint say, is in no average either way, and is played again when the evaluation is
        started again; what would fail in every game ends the evaluation.
    confidence, resamples: of the bootstrap intervals. progress: a bar on stderr; None: on terminals.

    Raises `ConfigError`, `AgentError` or `DataError` for arguments that cannot be used, and `ServiceRefusedError`
    where no game can be played: a key is refused, a model is unknown.
    """
    _checked(
        episodes,
        seed,
        processes,
        1 if concurrency is None else concurrency,
        examples,
        view,
        on_error,
        resamples,
    )
    found = tasks_of(tasks, count=count, seed=seed)
    players = {Role.ARCHITECT: named(architects, Role.ARCHITECT), Role.BUILDER: named(builders, Role.BUILDER)}
    asked = {"controls": controls, "chat": chat, **(config or {})}
    fields = game_options({role: specs.values() for role, specs in players.items()}, DEFAULTS, asked)
    GameConfig.of(None, dict(fields))
    chosen = np.linspace(0, len(found) - 1, min(examples, len(found))).astype(int).tolist()
    plan = EvaluationPlan(
        players[Role.ARCHITECT],
        players[Role.BUILDER],
        found,
        _numbered(digest(task) for task in found),
        episodes,
        fields,
        view,
        int(seed),
        frozenset(chosen),
        on_error,
    )
    concurrency = plan.concurrency() if concurrency is None else concurrency
    rows = _played(plan, processes, concurrency, None if output is None else Path(output), progress)
    settings = {
        **plan.settings(),
        "architects": list(plan.architects),
        "builders": list(plan.builders),
        "tasks": [task.task_id or f"task-{number}" for number, task in enumerate(found)],
        "episodes": episodes,
        "iglu_marl": __version__,
    }
    result = Evaluation(settings, rows, confidence, resamples, found)
    if output is not None:
        result.write(output)
    return result


def _played(
    plan: EvaluationPlan, processes: int, concurrency: int, output: Path | None, progress: bool | None
) -> list[Row]:
    """The rows of all games of a plan, in its order: those that are in the log, and those that are played now."""
    jobs = list(plan.jobs())
    log: RowLog[Row] | None = None
    if output is not None:
        log = RowLog(
            made_folder(output) / GAMES,
            plan.settings(),
            form=(FORMAT, VERSION),
            what="an evaluation",
            from_json=row_from_json,
            to_json=dict,
        )
    known = {_id(row): row for row in (log.rows if log else [])}
    wanted = {job.id: job for job in jobs}
    left = [job for job in jobs if not _is_kept(known.get(job.id), job, plan)]
    rows = {id_: known[id_] for id_ in wanted if id_ in known}
    try:
        with _progress(progress, len(jobs), len(jobs) - len(left)) as advance:
            for row in games(plan, left, processes, concurrency):
                rows[_id(row)] = row
                if log is not None:
                    log.add(row)
                advance()
    finally:
        if log is not None:
            log.close()
    return [rows[job.id] for job in jobs]


def _id(row: Row) -> tuple[str, str, str, int]:
    return row["architect"], row["builder"], row["key"], row["episode"]


def _is_kept(row: Row | None, job: EvaluationJob, plan: EvaluationPlan) -> bool:
    """Whether a game need not be played again: it is known and counts, with its transcript where that is wanted."""
    wanted = job.task in plan.examples and job.episode == 0
    return row is not None and is_scored(row) and ("dialogue" in row or not wanted)
