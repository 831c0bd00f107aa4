"""Evaluation: every architect with every builder on the same tasks, in several processes, resumable.

`evaluate` writes each finished game, with dialogue and build, to `games.jsonl` in the output folder. After an
interruption, the same call plays the missing games and returns the same tables. Randomness depends on the seed, the
task and the number of the episode only, not on the order of the games or the number of processes.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from iglu_marl._version import __version__
from iglu_marl.agents.registry import game_options
from iglu_marl.core.arguments import check_option
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import made_folder
from iglu_marl.core.task import Task
from iglu_marl.data.progress import progress_bar
from iglu_marl.envs.aec import raw_env
from iglu_marl.evaluation.arena import Arena, EvaluationPlan
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.metrics import SCORINGS
from iglu_marl.evaluation.results import (
    FORMAT,
    NO_ARCHITECT,
    VERSION,
    Evaluation,
    Row,
    is_scored,
    row_from_json,
)
from iglu_marl.evaluation.run import run
from iglu_marl.evaluation.selection import digest, named, select_tasks
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
"""Options of the game, unless a trained agent needs others."""


class ImpossibleWarning(UserWarning):
    """Targets that no builder can complete are played, and marked in the result."""


def _check_integers(least: int, **values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ConfigError(f"{name} is {value!r}, expected an integer of {least} or more")


def _numbered(digests: Iterable[str]) -> list[str]:
    """Number the repeated entries."""
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
    config: GameConfig | Mapping[str, Any] | None = None,
    baselines: bool = True,
    keep_unbuilt: bool = False,
    scoring: str = "changes",
    on_error: str = "raise",
    resamples: int = 1000,
    progress: bool | None = None,
) -> Evaluation:
    """Play every architect with every builder on the same tasks, and measure the games.

    Args:
        architects: names of `iglu_marl.agents` ("scripted", "vague", …), "module:attribute",
            "path/to/file.py:attribute", classes with `for_env(env)` or without arguments, or functions of the
            environment; one, several, or a mapping from labels to them. With several processes, they must be
            importable there, and scripts need `if __name__ == "__main__":`.
        builders: the same for builders.
        tasks: see `tasks_of`.
        count: see `tasks_of`.
        episodes: games per pair and task, with different seeds.
        seed: seed of everything random. The n-th game on a task has the same seeds for every pair.
        processes: number of worker processes; does not change the result.
        concurrency: concurrent games, in one process; None: as many as LLM agents may send requests, else 1. Does
            not change the result.
        output: folder for finished games and reports. An existing evaluation in it is resumed.
        controls: action encoding of the builder.
        chat: kind of messages.
        view: "aec" or "parallel".
        config: the `GameConfig` of all games, or some of its fields. By default the builder walks, may ask, sees
            dialog, inventory, pose and grid, and has 5,000 steps. Trained agents play in the game that they were
            trained in.
        baselines: whether the tables have the builders "nothing" and "random" beside the others. The random builder
            plays each task once.
        keep_unbuilt: whether tasks are played whose target nobody built (`Task.unbuilt`), as tasks without anything to
            change: such a game is complete at its first step.
        scoring: headline measure of the tables, see `iglu_marl.evaluation.metrics.SCORINGS`. The rows have all.
        on_error: "raise" an agent's exceptions, or "count" the game as it is. If a service fails that an agent needs,
            the game is in no average and is played again when the evaluation resumes.
        resamples: number of bootstrap resamples.
        progress: whether to show a progress bar on stderr; None: on terminals.

    Targets that no builder can complete (with too few blocks, for example) are named in an `ImpossibleWarning` before
    the first game, and marked in the rows and reports.

    Raises:
        ConfigError: if an argument is out of range.
        TaskError: if no task asks for a change.
        AgentError: if an agent cannot be made or cannot play.
        DataError: if `output` holds something else.
        ServiceRefusedError: if a service refuses all requests (unknown model, invalid key).

    """
    at_once = 1 if concurrency is None else concurrency
    _check_integers(1, episodes=episodes, processes=processes, concurrency=at_once, resamples=resamples)
    _check_integers(0, seed=seed)
    check_option("view", view, ("aec", "parallel"))
    check_option("on_error", on_error, ("raise", "count"))
    check_option("scoring", scoring, tuple(SCORINGS))
    found, left_out = select_tasks(tasks, count=count, seed=seed, keep_unbuilt=keep_unbuilt)
    players = {Role.ARCHITECT: named(architects, Role.ARCHITECT), Role.BUILDER: named(builders, Role.BUILDER)}
    asked = {"controls": controls, "chat": chat}
    if isinstance(config, GameConfig):
        fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
        fields |= {name: value for name, value in asked.items() if value is not None} | {"tasks": None}
    else:
        agents = {role: specs.values() for role, specs in players.items()}
        fields = game_options(agents, DEFAULTS, {**asked, **(config or {})})
    impossible = _impossible(raw_env(GameConfig.of(None, dict(fields))), found)
    for number, reason in impossible.items():
        name = found[number].task_id or f"task-{number}"
        warnings.warn(f"the target of {name} is impossible: {reason}", ImpossibleWarning, stacklevel=2)
    keys = _numbered(digest(task) for task in found)
    plan = EvaluationPlan(
        players[Role.ARCHITECT],
        players[Role.BUILDER],
        found,
        keys,
        episodes,
        fields,
        view,
        int(seed),
        on_error,
        baselines,
    )
    if concurrency is None:
        concurrency = plan.concurrency() if processes == 1 else 1
    jobs = list(plan.jobs())
    log: RowLog[Row] = RowLog(
        None if output is None else made_folder(output) / GAMES,
        plan.settings(),
        form=(FORMAT, VERSION),
        what="an evaluation",
        from_json=row_from_json,
        to_json=dict,
    )
    with progress_bar(progress) as shown:
        rows = run(
            partial(Arena, plan),
            jobs,
            log,
            job_id=lambda job: job.id,
            row_id=lambda row: (row["architect"], row["builder"], row["key"], row["episode"]),
            is_done=lambda job, row: is_scored(row),
            on_done=partial(shown.advance, shown.add_task("games", total=len(jobs))),
            processes=processes,
            concurrency=concurrency,
        )
    reasons = {keys[number]: reason for number, reason in impossible.items()}
    rows = [{**row, "impossible": reasons.get(row["key"], "")} for row in rows]
    beside = [*plan.nothing(), *(row for row in rows if row["architect"] == NO_ARCHITECT)]
    rows = [row for row in rows if row["architect"] != NO_ARCHITECT]
    settings = {
        **plan.settings(),
        "architects": list(plan.architects),
        "builders": list(plan.builders),
        "tasks": [task.task_id for task in found],
        "left_out": left_out,
        "episodes": episodes,
        "iglu_marl": __version__,
    }
    result = Evaluation(settings, rows, resamples, beside, scoring)
    if output is not None:
        result.write(output)
    return result


def _impossible(env: Any, tasks: list[Task]) -> dict[int, str]:
    """Return why targets cannot be completed, by number of the task; those that are proved."""
    reasons = {}
    for number, task in enumerate(tasks):
        env.reset(seed=0, options={"task": task})
        if reason := env.unwrapped.episode.reason_impossible():
            reasons[number] = reason
    env.close()
    return reasons
