"""Result files: the measured runs of one agent on one level, with everything needed to reproduce them."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.catalog import Level, find
from iglu_marl.benchmark.splits import SPLITS, SplitName
from iglu_marl.benchmark.splits import digest_of as digest_of
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import parse_json, wrap_errors
from iglu_marl.evaluation.metrics import (
    Interval,
    bootstrap_statistic,
    crossed_bootstrap,
    crossed_share,
    interquartile_mean,
)

FORMAT, VERSION = "iglu_marl benchmark result", 2
_HASH = re.compile("[0-9a-f]{12}")
MEASURES = ("success", "completed", "f1", "steps")
"""Measures of a run: success rate, share of completed targets, mean F1, mean number of steps."""


CONTROLS = ("muted", "scrambled", "hidden")


class EpisodeRow(NamedTuple):
    """An episode in a result file.

    run: seed of the training run. task: hash of the task's content (`splits.content_digest`). partner: name of the
    architect; "": none. seed: seed of the episode. f1: F1 of the build. changes: number of block changes. steps: number
    of builder steps.
    """

    run: int
    task: str
    partner: str
    seed: int
    success: bool
    completed: bool
    f1: float
    changes: int
    steps: int


class Run(NamedTuple):
    """Measurements of one training run.

    scores: means of `MEASURES` over the episodes. controls: success rates of the same agent "muted", "scrambled" or
    "hidden". curve: (environment steps, success rate) during training.
    """

    seed: int
    scores: Mapping[str, float]
    controls: Mapping[str, float] = {}
    curve: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Result:
    """The runs of an agent on a level.

    Args:
        digest: digest of the level when it was played.
        episodes: episodes per run.
        tasks: digest of the tasks of all runs.
        budget: environment steps of training.
        runs: one entry per training seed.
        command: command that trained and measured the agent.
        versions: versions of the software.
        rows: all episodes, by run and seed.
        privileged: whether an agent gets the task.
        own_actions: whether the builder plays with the game's own actions and observes more than the level shows.
        recordings: name of the file of recorded games, beside the result, and its SHA-256; ("", ""): none.

    """

    level: str
    digest: str
    name: str
    split: SplitName
    episodes: int
    tasks: str
    budget: int
    runs: tuple[Run, ...]
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[EpisodeRow, ...] = ()
    privileged: bool = False
    own_actions: bool = False
    recordings: tuple[str, str] = ("", "")

    def scores(self, measure: str = "success") -> list[float]:
        """Return a measure of each run. Raises `DataError` if a run does not have it."""
        if missing := [run.seed for run in self.runs if measure not in run.scores]:
            raise DataError(
                f"the run {missing[0]} has no {measure!r:.40}, expected one of {', '.join(MEASURES)}"
            )
        return [run.scores[measure] for run in self.runs]

    @property
    def contents(self) -> int:
        """Number of tasks with different content."""
        return len({row.task for row in self.rows})

    def interval(self, measure: str = "success") -> Interval:
        """Return the mean of a measure with its 95 % interval.

        Bootstrap over runs, contents and partners; Wilson's interval of `contents` games where that has no width, as
        for 0 and 100 %.
        """
        top = find(self.level).max_steps if measure == "steps" else 1
        values = [getattr(row, measure) / top for row in self.rows]
        factors = zip(*((row.run, row.task, row.partner) for row in self.rows), strict=True)
        as_share = measure != "steps" or self.contents == 1
        found = (
            crossed_share(values, factors, self.contents) if as_share else crossed_bootstrap(values, factors)
        )
        return Interval(*(top * end for end in found))

    def flags(self, chance: float | None = None) -> list[str]:
        """Return what to know before the result is compared with others. chance: that of the level."""
        level, seeds = find(self.level), {run.seed for run in self.runs}
        found = []
        if self.budget > level.budget:
            found.append(f"budget {self.budget:,} above the level's {level.budget:,}")
        for name in CONTROLS:
            taken = [run.controls[name] for run in self.runs if name in run.controls]
            if taken and chance is not None and float(np.mean(taken)) > chance:
                found.append(f"{name} {np.mean(taken):.1%} above chance {chance:.1%}")
        if self.privileged:
            found.append("gets the task")
        if len(self.runs) < level.seeds:
            found.append(f"{len(self.runs)} of {level.seeds} runs")
        if (played := len({seed % level.folds for seed in seeds})) < level.folds:
            found.append(f"{played} of {level.folds} folds")
        if self.split != "test":
            found.append(f"{self.split} split")
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file. The level's key is "rung"."""
        names = ("digest", "name", "split", "tasks", "budget", "command", "privileged", "own_actions")
        content = {
            "format": FORMAT,
            "version": VERSION,
            "rung": self.level,
            **{name: getattr(self, name) for name in names},
            "versions": dict(self.versions),
            "runs": [
                {"seed": run.seed, "controls": dict(run.controls), "curve": list(map(list, run.curve))}
                for run in self.runs
            ],
            "episodes": [row._asdict() for row in self.rows],
            "recordings": list(self.recordings),
        }
        return {**content, "checksum": checksum(content)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Result:
        """Read the content that `to_json` returns.

        Raises `DataError` if a field has an unexpected type or is out of range, or if the content was edited.
        """
        if content["format"] != FORMAT or content["version"] != VERSION:
            older = "; iglu_marl 0.2.0 reads version 1" if content["version"] == 1 else ""
            raise DataError(
                f"format is {content['format']!r:.60}, version {content['version']!r}, expected {FORMAT!r}, "
                f"{VERSION}{older}"
            )
        texts = {name: content[name] for name in ("rung", "digest", "name", "split", "tasks", "command")}
        for name, text in texts.items():
            _expect(name, text, isinstance(text, str), "text")
        _expect("split", texts["split"], texts["split"] in SPLITS, f"one of {', '.join(SPLITS)}")
        level = find(texts.pop("rung"))
        if not content["runs"]:
            raise DataError("there are no runs, expected at least one")
        budget = _number("budget", content["budget"], whole=True)
        parts = {**texts, "budget": budget, "versions": dict(content["versions"])}
        result = cls(level.name, **parts, **_read_episodes(level, content))
        if {checksum(result.to_json()), checksum(content)} != {content["checksum"]}:
            raise DataError(
                f"checksum is {content['checksum']!r:.60}, expected {checksum(content)}: it was edited"
            )
        return result

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the file atomically and return its path."""
        return write_text(path, json.dumps(self.to_json(), indent=1) + "\n")


def _expect(name: str, value: Any, valid: bool, expected: str) -> None:
    if not valid:
        raise DataError(f"{name} is {value!r:.60}, expected {expected}")


def _number(name: str, value: Any, low: float = 0, high: float = math.inf, whole: bool = False) -> Any:
    """Return a finite number in low..high, or raise `DataError`."""
    valid = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    span = f"{low:g}..{high:g}" if high < math.inf else f"of {low:g} or more"
    kind = "an integer" if whole else "a number"
    _expect(name, value, valid and low <= value <= high and value < math.inf, f"{kind} {span}")
    return value


def checksum(content: Mapping[str, Any]) -> str:
    """Return a hash of a file's content without its checksum, 16 hexadecimal digits."""
    rest = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.blake2b(json.dumps(rest, sort_keys=True).encode(), digest_size=8).hexdigest()


def _read_episodes(level: Level, content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the runs and their episodes, from which the means of runs follow."""
    _expect("digest", content["digest"], content["digest"] == level.digest, level.digest)
    rows = tuple(EpisodeRow(**row) for row in content["episodes"])
    for number, row in enumerate(rows):
        _check_row(f"episodes[{number}]", row, level.max_steps)
    seeds = [run["seed"] for run in content["runs"]]
    each = len(rows) // len(seeds)
    order = [(seed, number) for seed in dict.fromkeys(seeds) for number in range(each)]
    played = [(row.run, row.seed) for row in rows]
    _expect("runs and seeds of the episodes", played, bool(rows) and played == order, "0, 1, … of each run")
    runs = tuple(
        _read_run({**run, "scores": means(rows[number * each :][:each])}, f"runs[{number}]", each)
        for number, run in enumerate(content["runs"])
    )
    controls = {tuple(run.controls) for run in runs}
    _expect(
        "controls", controls, len(controls) == 1 and set(*controls) <= set(CONTROLS), "the same of all runs"
    )
    marks = {name: content[name] for name in ("privileged", "own_actions")}
    for name, mark in marks.items():
        _expect(name, mark, isinstance(mark, bool), "true or false")
    return {"episodes": each, "runs": runs, "rows": rows, "recordings": tuple(content["recordings"]), **marks}


def _check_row(place: str, row: EpisodeRow, max_steps: int) -> None:
    """Raise `DataError` for an episode that no game can have."""
    _expect(f"{place}.task", row.task, bool(_HASH.fullmatch(row.task)), "12 hexadecimal digits")
    _expect(f"{place}.partner", row.partner, isinstance(row.partner, str), "text")
    for name in ("success", "completed"):
        _expect(f"{place}.{name}", getattr(row, name), isinstance(getattr(row, name), bool), "true or false")
    _number(f"{place}.run", row.run, whole=True)
    _number(f"{place}.f1", row.f1, 0, 1)
    _number(f"{place}.steps", row.steps, 0, max_steps, whole=True)
    _number(f"{place}.changes", row.changes, int(row.completed), row.steps, whole=True)
    _expect(f"{place}.success", row.success, row.success <= row.completed, "false: not completed")


def means(rows: Sequence[EpisodeRow]) -> dict[str, float]:
    """Return the means of `MEASURES` over episodes."""
    return {name: float(np.mean([getattr(row, name) for row in rows])) for name in MEASURES}


def _read_run(run: Mapping[str, Any], place: str, episodes: int) -> Run:
    """Read a run of `episodes` games. Its success rates are shares of whole games."""

    def number(name: str, value: Any, high: float = 1) -> float:
        return float(_number(f"{place}.{name}", value, 0, high))

    tops = {"steps": math.inf}
    scores = {name: number(f"scores.{name}", run["scores"][name], tops.get(name, 1)) for name in MEASURES}
    controls = {name: number(f"controls.{name}", value) for name, value in run.get("controls", {}).items()}
    success, completed = scores["success"], scores["completed"]
    for name, share in {"success": success, "completed": completed, **controls}.items():
        off = abs(share * episodes - round(share * episodes))
        _expect(f"{place}: {name}", share, off < 1e-3, f"a share of {episodes} games")
    _expect(f"{place}.scores.success", success, success <= completed, f"at most completed, {completed}")
    curve = tuple(
        (int(number(f"curve[{at}].steps", steps, math.inf)), number(f"curve[{at}].share", share))
        for at, (steps, share) in enumerate(run["curve"])
    )
    return Run(_number(f"{place}.seed", run["seed"], whole=True), scores, controls, curve)


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read a result file. Raises `DataError` if the file is missing, damaged or of another format."""
    place = f"{path} is no result of the benchmark"
    with wrap_errors(place):
        return Result.from_json(parse_json(Path(path).read_bytes(), place))


def iqm(scores: Sequence[Sequence[float]], **options: Any) -> Interval:
    """Return the interquartile mean over all runs on all levels, with a stratified bootstrap interval (as rliable).

    scores: scores of the runs, by level; runs are resampled within their level. options: options of
    `bootstrap_statistic`.
    """
    values = np.concatenate([np.asarray(part, np.float64) for part in scores])
    strata = np.repeat(np.arange(len(scores)), [len(part) for part in scores])
    return bootstrap_statistic(
        lambda counts: interquartile_mean(values, counts), len(values), strata=strata, **options
    )


def improvement(ours: Sequence[float], theirs: Sequence[float], **options: Any) -> Interval:
    """Return the probability of improvement (as rliable): a run of ours beats one of theirs, ties count half."""
    first, second = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    wins = np.sign(first[:, None] - second) / 2 + 0.5

    def share(counts: npt.NDArray[np.float64]) -> float:
        rows, columns = counts[: len(first)], counts[len(first) :]
        return float(rows @ wins @ columns / (rows.sum() * columns.sum()))

    strata = np.repeat([0, 1], [len(first), len(second)])
    return bootstrap_statistic(share, len(first) + len(second), strata=strata, **options)
