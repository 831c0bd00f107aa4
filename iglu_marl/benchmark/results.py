"""Result files: the measured runs of one agent on one level, with everything needed to reproduce them."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl._version import __version__
from iglu_marl.benchmark.catalog import MODEL_LEVELS, HasLevel, find
from iglu_marl.benchmark.splits import SPLITS
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import parse_json, wrap_errors
from iglu_marl.core.task import Task
from iglu_marl.evaluation.metrics import Interval, bootstrap_statistic, interquartile_mean, share_interval
from iglu_marl.evaluation.selection import digest

FORMAT, VERSION = "iglu_marl benchmark result", 1
MEASURES = ("success", "completed", "f1", "steps")
"""Measures of a run: success rate, share of completed targets, mean F1, mean number of steps."""


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
class Result(HasLevel):
    """The runs of an agent on a level.

    Args:
        digest: digest of the level when it was played.
        episodes: episodes per run.
        tasks: digest of the tasks.
        budget: environment steps of training.
        runs: one entry per training seed.
        command: command that trained and measured the agent.
        versions: versions of the software.
        models: settings, token counts and cost of language models (`iglu_marl.benchmark.models`).

    """

    level: str
    digest: str
    name: str
    split: str
    episodes: int
    tasks: str
    budget: int
    runs: tuple[Run, ...]
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, measure: str = "success") -> list[float]:
        """Return a measure of each run."""
        return [run.scores[measure] for run in self.runs]

    def interval(self, measure: str = "success") -> Interval:
        """Return the interquartile mean over runs with a bootstrap interval (shares of one run: Wilson's)."""
        if len(self.runs) == 1 and measure in ("success", "completed"):
            return share_interval(self.runs[0].scores[measure], self.episodes)
        return iqm([self.scores(measure)])

    @property
    def is_current(self) -> bool:
        """Whether the level is unchanged since the measurement."""
        return find(self.level).digest == self.digest

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file. The level's key is "rung"."""
        runs = [
            {
                "seed": run.seed,
                "scores": dict(run.scores),
                "controls": dict(run.controls),
                "curve": [list(point) for point in run.curve],
            }
            for run in self.runs
        ]
        names = ("digest", "name", "split", "episodes", "tasks", "budget", "command")
        about = {"rung": self.level} | {name: getattr(self, name) for name in names}
        return {
            "format": FORMAT,
            "version": VERSION,
            **about,
            "versions": dict(self.versions),
            "runs": runs,
        } | ({"models": dict(self.models)} if self.models else {})

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Result:
        """Read the content that `to_json` returns.

        Raises `DataError` if a field has an unexpected type or is out of range.
        """
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise DataError(
                f"format is {content['format']!r:.60}, version {content['version']!r}, expected {FORMAT!r}, {VERSION}"
            )
        texts = {name: content[name] for name in ("rung", "digest", "name", "split", "tasks", "command")}
        for name, text in texts.items():
            _expect(name, text, isinstance(text, str), "text")
        _expect("split", texts["split"], texts["split"] in SPLITS, f"one of {', '.join(SPLITS)}")
        level, runs = find(texts.pop("rung")), content["runs"]
        episodes = played = _number("episodes", content["episodes"], 1, whole=True)
        if not runs:
            raise DataError("there are no runs, expected at least one")
        models = dict(content.get("models", {}))
        if level in MODEL_LEVELS:
            played = _number("models.games", models["games"], 0, episodes, whole=True)
            _number("models.failed", models["failed"], episodes - played, episodes - played, whole=True)
            for name in {"requests", "prompt_tokens", "completion_tokens", "cost"} & models.keys():
                _number(f"models.{name}", models[name])
            for end, share in zip(("low", "high"), models["interval"], strict=True):
                _number(f"models.interval.{end}", share, 0, 1)
        return cls(
            level.name,
            **texts,
            episodes=episodes,
            budget=_number("budget", content["budget"], whole=True),
            runs=tuple(_read_run(run, f"runs[{number}]", played) for number, run in enumerate(runs)),
            versions=dict(content["versions"]),
            models=models,
        )

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


def versions() -> dict[str, str]:
    """Return the versions of this package, Python and NumPy, and the kind of machine."""
    return {
        "iglu_marl": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }


def digest_of(tasks: Sequence[Task]) -> str:
    """Return a hash of the content of tasks, 12 hexadecimal digits."""
    return hashlib.blake2b("".join(map(digest, tasks)).encode(), digest_size=6).hexdigest()


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
