"""Results of the benchmark of language models, from logs of Inspect AI: marks, checks and a table."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import sqrt
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, list_eval_logs, read_eval_log
from inspect_ai.model import ModelConfig

from iglu_marl.agents.llm.messages import Message
from iglu_marl.benchmark.model_players import PLAYERS
from iglu_marl.benchmark.models import LEVELS, VERSION, GameRow, find_level, outcome
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.parsing import wrap_errors
from iglu_marl.core.tables import Code, Table, markdown_table
from iglu_marl.evaluation.metrics import Interval, crossed_share

# ----------------------------------------------------------------------------------------------------------- marks

Allowed = Mapping[str, Container[Any] | None]
"""Settings by name: their allowed values, None for any."""

SHOWN = ("temperature", "reasoning_effort", "reasoning_tokens", "max_tokens")
GENERATION: Allowed = {
    "temperature": (0.0,),
    "max_tokens": range(8192, 10**9),
    **dict.fromkeys(("reasoning_effort", "reasoning_tokens", "reasoning_summary", "reasoning_history")),
    **dict.fromkeys(("max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "batch")),
    **dict.fromkeys(("max_connections", "adaptive_connections", "cache", "cache_prompt")),
}
RUN: Allowed = {
    "epochs": (1,),
    "score_on_error": (False,),
    "log_samples": (True,),
    **dict.fromkeys(("fail_on_error", "continue_on_fail", "retry_on_error", "max_samples", "max_tasks")),
    **dict.fromkeys(("max_subprocesses", "max_sandboxes", "sandbox_cleanup", "sandbox_prebuilt")),
    **dict.fromkeys(("log_realtime", "log_images", "log_model_api", "log_buffer", "log_shared")),
    **dict.fromkeys(("log_refusals", "score_display", "max_dataset_memory")),
}
PROVIDERS = {
    "anthropic", "azureai", "bedrock", "cloudflare", "deepseek", "fireworks", "google", "grok", "groq", "hf",
    "hf-inference-providers", "iglu_marl", "llama-cpp-python", "mistral", "ollama", "openai", "openai-api",
    "openrouter", "perplexity", "sagemaker", "sambanova", "sglang", "together", "vllm",
}  # fmt: skip
"""The strict profile: settings of Inspect AI with their allowed values, and its providers. All else is a mark."""


def _odd(settings: Mapping[str, Any], allowed: Allowed, where: str = "") -> list[str]:
    """Return the settings that are not in the strict profile."""
    odd = []
    for name, value in settings.items():
        values = allowed.get(name, ())
        if value is not None and values is not None and value not in values:
            odd.append(f"{where}{name}={value}")
    return odd


def _players(log: EvalLog) -> list[tuple[str, ModelConfig]]:
    """Return the models of a log by role; "" for the one that plays what no role names."""
    run = log.eval
    usual = ModelConfig(model=run.model, config=run.model_generate_config, args=run.model_args)
    roles = (run.model_roles or {}).items()
    named = [(role, one) for role, part in roles for one in (part if isinstance(part, list) else [part])]
    return [("", usual), *named]


def marks_of(log: EvalLog) -> list[str]:
    """Return what differs from the strict profile and a complete row; [] for a row that can be cited."""
    run, level, marks = log.eval, _level(log), list[str]()
    for role, player in _players(log):
        start = f"{role}: " if role else ""
        provider, _, name = player.model.partition("/")
        marks += _odd(_settings(player.config), GENERATION, start) + _odd(player.args, {}, start)
        if provider not in PROVIDERS:
            marks.append(f"{start}provider {provider}")
        elif provider == "iglu_marl" and name in PLAYERS:
            marks.append(f"{start}no model: {name}")
    marks += _odd(_settings(log.plan.config), GENERATION) + _odd(_settings(run.config), RUN)
    marks += _odd(run.task_args, {"seed": (0,), "games": range(level.count, 10**9), "greedy": None})
    if run.task_version != VERSION:
        marks.append(f"version {run.task_version}")
    if [step.solver for step in log.plan.steps] != ["iglu_marl/play"]:
        marks.append("another solver")
    if [one.name for one in run.scorers or ()] != ["judge"]:
        marks.append("another scorer")
    samples = log.samples or []
    played = {sample.id for sample in samples if _is_played(sample)} & set(range(level.count))
    if len(played) < level.count:
        marks.append(f"{len(played)} of {level.count} games")
    if len(samples) != len({sample.id for sample in samples}):
        marks.append("games several times")
    return list(dict.fromkeys(marks))


def _settings(model: Any) -> dict[str, Any]:
    settings: dict[str, Any] = model.model_dump(exclude_none=True)
    return settings


def _level(log: EvalLog) -> Any:
    package, _, name = log.eval.task.rpartition("/")
    if package not in ("", "iglu_marl"):  # "": of a package that is imported without being installed
        raise ConfigError(f"task is {log.eval.task!r:.80}, expected iglu_marl/LEVEL")
    return find_level(name)


def _is_played(sample: EvalSample) -> bool:
    return sample.error is None and sample.limit is None and "outcome" in sample.metadata


# --------------------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class ModelResult:
    """The games of one model on one level.

    rows: outcomes by number of the game; games that a fault or a limit ended are in none. setting: what the strict
    profile leaves open. tokens: of prompts and replies. cost: in dollars; None without prices.
    """

    level: str
    model: str
    setting: str
    seed: int
    rows: Mapping[int, GameRow]
    marks: Sequence[str]
    tokens: int
    cost: float | None
    log: EvalLog = field(repr=False, compare=False)

    @classmethod
    def of(cls, log: EvalLog) -> ModelResult:
        """Return the result of a log. Raises `ConfigError` if it is of another task."""
        samples = log.samples or []
        level = _level(log)
        rows = {int(one.id): GameRow(**one.metadata["outcome"]) for one in samples if _is_played(one)}
        usage = [use for sample in samples for use in sample.model_usage.values()]
        costs = [use.total_cost for use in usage if use.total_cost is not None]
        roles = dict(_players(log))
        seats = ("architect", "builder") if level.role == "both" else (level.role,)
        names = [roles.get(role, roles[""]).model for role in seats]
        settings = {**_settings(log.plan.config), **_settings(log.eval.model_generate_config)}
        settings |= {"temperature": settings.get("temperature", "default")}
        return cls(
            level=level.name,
            model=" + ".join(dict.fromkeys(names)),
            setting=", ".join(f"{name}={value}" for name, value in settings.items() if name in SHOWN),
            seed=int(log.eval.task_args.get("seed", 0)),
            rows=dict(sorted(rows.items())),
            marks=marks_of(log),
            tokens=sum(
                use.input_tokens
                + use.output_tokens
                + (use.input_tokens_cache_read or 0)
                + (use.input_tokens_cache_write or 0)
                for use in usage
            ),
            cost=sum(costs) if costs else None,
            log=log,
        )

    def total(self, name: str) -> int:
        """Return the sum of a count over all games."""
        return sum(int(getattr(row, name)) for row in self.rows.values())

    @property
    def score(self) -> Interval:
        """Mean score with its 95 % interval, by bootstrap over units (requests, sessions, games).

        Wilson's interval of the units where that has no width, as for 0 and 100 %.
        """
        units = [row.unit for row in self.rows.values()]
        return crossed_share([row.score for row in self.rows.values()], [units], len(set(units)))

    def verify(self) -> list[str]:
        """Repeat all games from their replies, and return what does not agree."""
        level, log = find_level(self.level), self.log
        samples = log.samples or []
        numbers, problems = sorted(int(one.id) for one in samples), []
        count = min(log.eval.task_args.get("games") or level.count, level.count)
        if numbers != list(range(count)):
            problems.append(f"the games are not 0..{count - 1}, each once: {numbers!s:.60}")
        if (log.eval.metadata or {}).get("digest") != level.digest(self.seed, count):
            problems.append("the tasks are others")
        for sample in samples:
            if _is_played(sample) and not _agrees(level, sample, self.seed):
                problems.append(f"game {sample.id} has another outcome")
        return problems


def _agrees(level: Any, sample: EvalSample, seed: int) -> bool:
    """Whether a game has its prompts and outcome when its replies are given again."""
    number = int(sample.id)
    game, chat = level.start(number, seed)
    prompts: list[str] = []
    for reply in [one.text for one in sample.messages if one.role == "assistant"]:
        if not chat:
            return False
        prompts += [Message.of_chat(part).text for part in (chat[1:] if prompts else chat)]
        chat = game.step(reply)[0]
    row, judged = outcome(level, number, seed, game), (sample.scores or {}).get("judge")
    return (
        not chat
        and row == GameRow(**sample.metadata["outcome"])
        and prompts == [one.text for one in sample.messages if one.role != "assistant"]
        and judged is not None
        and isinstance(judged.value, dict)
        and judged.value.get("score") == row.score
    )


def read_results(paths: Iterable[str | os.PathLike[str]]) -> list[ModelResult]:
    """Read logs, and the logs in folders; of a repeated run the newest counts. Raises `DataError`."""
    logs: list[EvalLog] = []
    for path in [os.fspath(path) for path in paths]:
        with wrap_errors(f"{path} is no log of the benchmark of language models"):
            names = [one.name for one in list_eval_logs(path)] if os.path.isdir(path) else [path]
            if not names:
                raise DataError("it has no logs")
            logs += [read_eval_log(name, resolve_attachments=True) for name in names]
    newest = {log.eval.task_id: log for log in sorted(logs, key=lambda log: log.eval.created)}
    return [ModelResult.of(log) for log in newest.values()]


# ---------------------------------------------------------------------------------------------------------- tables

SUMMED = tuple(level.name for level in LEVELS if level.make)
HEADS = (
    "model", "setting", "level", "score", "tokens", "cost", "questions", "wrong", "unread", "marks",
)  # fmt: skip


def summary_score(results: Sequence[ModelResult]) -> Interval:
    """Return the mean of the scores of levels with its interval, from those of the levels."""
    scores = [one.score for one in results]
    value = sum(score.value for score in scores) / len(scores)
    below = sqrt(sum((score.value - score.low) ** 2 for score in scores)) / len(scores)
    above = sqrt(sum((score.high - score.value) ** 2 for score in scores)) / len(scores)
    return scores[0]._replace(value=value, low=max(0.0, value - below), high=min(1.0, value + above))


def _row(level: str, results: Sequence[ModelResult]) -> list[Any]:
    """Return a row of the table for results of one model."""
    games = sum(len(one.rows) for one in results)
    costs = [one.cost for one in results]
    return [
        Code(results[0].model),
        "; ".join(dict.fromkeys(one.setting for one in results)),
        level,
        summary_score(results).text(lambda value: f"{100 * value:.1f}"),
        f"{sum(one.tokens for one in results) / games:.0f}",
        "–" if None in costs else f"${sum(filter(None, costs)):.4g}",
        *(f"{sum(one.total(count) for one in results) / games:.2f}" for count in HEADS[6:9]),
        "; ".join(dict.fromkeys(mark for one in results for mark in one.marks)) or "–",
    ]


def markdown(results: Sequence[ModelResult]) -> str:
    """Return a table with a row for each model and level, and one for each model, as Markdown.

    Scores are in per cent, counts per game. The row of a model has the levels without a corpus. Rows are in the order
    of names and levels, so that the table depends on no clock.
    """
    order = [level.name for level in LEVELS]
    played = sorted((one for one in results if one.rows), key=lambda one: (one.model, order.index(one.level)))
    rows = []
    for _, group in groupby(played, lambda one: one.model):
        own = list(group)
        rows += [_row(one.level, [one]) for one in own]
        if counted := [one for one in own if one.level in SUMMED]:
            levels = len({one.level for one in counted})
            rows.append(_row(f"{levels} of {len(SUMMED)}", counted))
    return markdown_table(Table(HEADS, rows))
