"""Result files: what came of the runs of one agent on one rung, with all that is needed to read it later."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl._version import __version__
from iglu_marl.benchmark.ladder import find
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import parse_json, reading
from iglu_marl.core.task import Task
from iglu_marl.evaluation.metrics import Interval, bootstrap_statistic, interquartile_mean
from iglu_marl.evaluation.selection import digest

FORMAT, VERSION = "iglu_marl benchmark result", 1
MEASURES = ("success", "completed", "f1", "steps")
"""Of a run: the shares of successes by the rung's rule and of completed targets, the mean F1, the mean steps."""


class Run(NamedTuple):
    """One trained agent, measured. seed: of its training.

    scores: the means of `MEASURES` over the episodes. controls: the share of successes where something is taken away
    from the same agent ("muted", "scrambled", "hidden"). curve: (environment steps, share of successes) in training.
    """

    seed: int
    scores: Mapping[str, float]
    controls: Mapping[str, float] = {}
    curve: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Result:
    """The runs of an agent on a rung.

    rung, digest: of the rung as it was. name: of the agent. split, episodes, tasks: what was played; tasks is the
    digest of all of them. budget: environment steps of training. command: that trained and measured. versions: of what
    it ran on. models: of language models, what they were and took (see `iglu_marl.benchmark.models`).
    """

    rung: str
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
        """A measure of each run."""
        return [run.scores[measure] for run in self.runs]

    def interval(self, measure: str = "success") -> Interval:
        """The interquartile mean over runs, with its bootstrap interval."""
        return iqm([self.scores(measure)])

    @property
    def is_current(self) -> bool:
        """Whether the rung is still what it was."""
        return find(self.rung).digest == self.digest

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        runs = [
            {
                "seed": run.seed,
                "scores": dict(run.scores),
                "controls": dict(run.controls),
                "curve": [list(point) for point in run.curve],
            }
            for run in self.runs
        ]
        names = ("rung", "digest", "name", "split", "episodes", "tasks", "budget", "command")
        about = {name: getattr(self, name) for name in names}
        return {
            "format": FORMAT,
            "version": VERSION,
            **about,
            "versions": dict(self.versions),
            "runs": runs,
        } | ({"models": dict(self.models)} if self.models else {})

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Result:
        """What `to_json` wrote; raises `DataError` for anything else."""
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise DataError(
                f"format is {content['format']!r:.60}, version {content['version']!r}, expected {FORMAT!r}, {VERSION}"
            )
        runs = tuple(
            Run(
                int(run["seed"]),
                {name: float(run["scores"][name]) for name in MEASURES},
                {name: float(value) for name, value in run["controls"].items()},
                tuple((int(steps), float(share)) for steps, share in run["curve"]),
            )
            for run in content["runs"]
        )
        if not runs:
            raise DataError("there are no runs, expected at least one")
        texts: dict[str, Any] = {
            name: str(content[name]) for name in ("rung", "digest", "name", "split", "tasks", "command")
        }
        return cls(
            **texts,
            episodes=int(content["episodes"]),
            budget=int(content["budget"]),
            runs=runs,
            versions=dict(content["versions"]),
            models=dict(content.get("models", {})),
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the file, whole or not at all; returns the path."""
        return write_text(path, json.dumps(self.to_json(), indent=1) + "\n")


def read_result(path: str | os.PathLike[str]) -> Result:
    """A result from its file. Raises `DataError`, naming the file, for a missing, damaged or other one."""
    place = f"{path} is no result of the benchmark"
    with reading(place):
        return Result.from_json(parse_json(Path(path).read_bytes(), place))


def versions() -> dict[str, str]:
    """Of this package, Python and NumPy, and the machine's kind."""
    return {
        "iglu_marl": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }


def digest_of(tasks: Sequence[Task]) -> str:
    """12 hexadecimal digits that belong to the content of tasks."""
    return hashlib.blake2b("".join(map(digest, tasks)).encode(), digest_size=6).hexdigest()


def iqm(scores: Sequence[Sequence[float]], **options: Any) -> Interval:
    """The interquartile mean over all runs on all rungs, with its interval by stratified bootstrap (rliable's).

    scores: of each rung those of its runs; runs are drawn within their rung. options: of `bootstrap_statistic`.
    """
    values = np.concatenate([np.asarray(part, np.float64) for part in scores])
    strata = np.repeat(np.arange(len(scores)), [len(part) for part in scores])
    return bootstrap_statistic(
        lambda counts: interquartile_mean(values, counts), len(values), strata=strata, **options
    )


def improvement(ours: Sequence[float], theirs: Sequence[float], **options: Any) -> Interval:
    """The probability that a run of ours is better than one of theirs, ties by half (rliable's), with its interval."""
    first, second = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    wins = np.sign(first[:, None] - second) / 2 + 0.5

    def share(counts: npt.NDArray[np.float64]) -> float:
        rows, columns = counts[: len(first)], counts[len(first) :]
        return float(rows @ wins @ columns / (rows.sum() * columns.sum()))

    strata = np.repeat([0, 1], [len(first), len(second)])
    return bootstrap_statistic(share, len(first) + len(second), strata=strata, **options)
