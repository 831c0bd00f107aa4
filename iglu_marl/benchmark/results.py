"""Result files: the measured runs of one agent on one level, with everything needed to reproduce them."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np

from iglu_marl.benchmark.catalog import CONTROLS, Level, find
from iglu_marl.benchmark.splits import SPLITS, SplitName
from iglu_marl.core import schema
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.evaluation.metrics import Interval, crossed_share, share_interval

FORMAT, VERSION = "iglu_marl benchmark result", 3
SUPERVISION = ("nothing", "target", "agreed", "grammar", "planner", "pretrained", "demonstrations", "reward")
"""What an agent had, see docs/benchmark.md."""
TRAINED = ("demonstrations", "reward")


Count = Annotated[int, schema.whole()]
Flag = Annotated[bool, schema.FLAG]
Hash = Annotated[str, schema.hexadecimal(12)]
Name = Annotated[str, schema.some_text(200)]
Share = Annotated[float, schema.number(0, 1)]


_SHARES = schema.Entries(schema.one_of(CONTROLS), schema.number(0, 1))
_CURVE = [(schema.whole(), schema.number(0, 1))]
_TEXTS = schema.Entries(*[schema.some_text(200)] * 2)
_FILE = schema.text(r"[^./\\:\s][^/\\:]{0,200}\.games\.jsonl", "a file name NAME.games.jsonl")


class EpisodeRow(NamedTuple):
    """An episode in a result file.

    run: seed of the training run. task: hash of the task's content (`splits.content_digest`). partner: name of the
    architect; "": none. seed: seed of the episode. f1: F1 of the build. changes: number of block changes. steps: number
    of builder steps.
    """

    run: Count
    task: Hash
    partner: Name
    seed: Count
    success: Flag
    completed: Flag
    f1: Share
    changes: Count
    steps: Count


class Run(NamedTuple):
    """Measurements of one training run.

    controls: means of the level's measure by the names of `CONTROLS`. curve: (environment steps, success rate) during
    training.
    """

    seed: Count
    controls: Annotated[Mapping[str, float], _SHARES] = {}
    curve: Annotated[tuple[tuple[int, float], ...], _CURVE] = ()


class Recordings(NamedTuple):
    """The file of recorded games beside a result file.

    file: its name. sha256: its SHA-256. games: number of its games: those of the episodes, and after them those of each
    control.
    """

    file: Annotated[str, _FILE]
    sha256: Annotated[str, schema.hexadecimal(64)]
    games: Annotated[int, schema.whole(1)]


def _fields(kind: type) -> dict[str, Any]:
    """Return the schemas of the fields of a class by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}


@dataclass(frozen=True)
class Result:
    """The runs of an agent on a level.

    Args:
        digest: digest of the level when it was played.
        tasks: digest of the tasks of all runs.
        budget: environment steps of training.
        runs: one entry per training seed.
        command: command that trained and measured the agent.
        versions: versions of the software.
        rows: all episodes, by run and seed.
        supervision: what the agents had, names of `SUPERVISION`.
        own_actions: whether the builder plays with the game's own actions and observes more than the level shows.
        recordings: the recorded games; None: none were kept.

    """

    level: Name
    digest: Hash
    name: Name
    split: Annotated[SplitName, schema.one_of(SPLITS)]
    tasks: Hash
    budget: Count
    runs: Annotated[tuple[Run, ...], [_fields(Run)]]
    command: Annotated[str, schema.some_text(10_000)] = ""
    versions: Annotated[Mapping[str, str], _TEXTS] = field(default_factory=dict)
    rows: Annotated[tuple[EpisodeRow, ...], [_fields(EpisodeRow)]] = ()
    supervision: Annotated[tuple[str, ...], [schema.one_of(SUPERVISION)]] = ()
    own_actions: Flag = False
    recordings: Annotated[Recordings | None, schema.Maybe(_fields(Recordings))] = None

    @property
    def episodes(self) -> int:
        """Number of episodes per run."""
        return len(self.rows) // len(self.runs)

    @property
    def is_reference(self) -> bool:
        """Whether this is a row to compare with, of agents without any training, and no entry."""
        return bool(self.supervision) and not {*TRAINED, "pretrained"} & {*self.supervision}

    def mean(self, measure: str) -> float:
        """Return the mean of "success", "completed", "f1" or "steps" over all episodes."""
        return float(np.mean([getattr(row, measure) for row in self.rows]))

    def scores(self, measure: str = "") -> list[float]:
        """Return the mean of such a measure for each run, by default that of the level."""
        values = [getattr(row, measure or find(self.level).measure) for row in self.rows]
        return [float(np.mean(part)) for part in np.reshape(values, (len(self.runs), -1))]

    @property
    def contents(self) -> int:
        """Number of tasks with different content; of strangers, where each has a code of its own."""
        return len({row.partner if find(self.level).is_repeated else row.task for row in self.rows})

    def interval(self) -> Interval:
        """Return the mean of the level's measure with its 95 % interval.

        Bootstrap over runs, contents and partners (with strangers: over runs and partners); Wilson's interval of
        `contents` games where that has no width, as for 0 and 100 %.
        """
        level = find(self.level)
        names = ("run", "partner") if level.is_repeated else ("run", "task", "partner")
        factors = [[getattr(row, name) for row in self.rows] for name in names]
        return crossed_share([getattr(row, level.measure) for row in self.rows], factors, self.contents)

    def control(self, name: str) -> float | None:
        """Return the measure of the same agents in a control, the mean over runs; None if it was not played."""
        taken = [run.controls[name] for run in self.runs if name in run.controls]
        return float(np.mean(taken)) if taken else None

    def faults(self) -> list[str]:
        """Return what the file lacks, and what in it cannot be. A result with faults has no place on the board."""
        level, had = find(self.level), {*self.supervision}
        missing = [name for name in level.agent_controls if self.control(name) is None]
        still = sum(row.steps == 0 for row in self.rows)
        trained = f"{self.budget:,} steps of training"
        checks: list[tuple[Any, str]] = [
            (missing, f"no control {', '.join(missing)}"),
            (self.recordings is None, "no games"),
            (not had, "no supervision"),
            (not self.budget and "reward" in had, "no steps of training"),
            (
                self.budget and not {*TRAINED} & had,
                f"{trained}, supervision: {', '.join(self.supervision) or 'none'}",
            ),
            (self.budget > level.budget, f"budget {self.budget:,} above the level's {level.budget:,}"),
            *((True, fault) for fault in dict.fromkeys(map(self._fault_of_curve, self.runs)) if fault),
            (still, f"{still} episodes without a step of the builder"),
            (self.split != "test", f"{self.split} split"),
        ]
        return [text for is_fault, text in checks if is_fault]

    def _fault_of_curve(self, run: Run) -> str:
        """Return what is wrong with the training of a run; "" if nothing is."""
        steps = [step for step, _ in run.curve]
        if not steps:
            return f"no curve of {self.budget:,} steps of training" if self.budget else ""
        if len(steps) < 2 or steps[0]:
            return "a curve that is not from step 0 on"
        if any(later <= step for step, later in pairwise(steps)):
            return "a curve whose steps do not grow"
        if steps[-1] > self.budget:
            return f"a curve of {steps[-1]:,} steps, above the budget {self.budget:,}"
        return ""

    @property
    def chance(self) -> float:
        """Share of pairs of games with the same content: success of who always builds the same."""
        counts, games = Counter(row.task for row in self.rows).values(), len(self.rows)
        return sum(count * (count - 1) for count in counts) / max(1, games * (games - 1))

    def flags(self) -> list[str]:
        """Return what to know before the result is compared with others, `faults` first.

        Controls above chance, by their interval, are flagged.
        """
        level, seeds = find(self.level), {run.seed for run in self.runs}
        found, chance = self.faults(), self.chance
        for name in CONTROLS:
            share = self.control(name)
            if share is None or name == "cross-play" or level.measure != "success":
                continue
            if share_interval(share, self.contents).low > chance:
                found.append(f"{name} {share:.1%} above chance {chance:.1%}")
        if self.is_reference:
            return found
        if len(self.runs) < level.seeds:
            found.append(f"{len(self.runs)} of {level.seeds} runs")
        if (played := len({seed % level.folds for seed in seeds})) < level.folds:
            found.append(f"{played} of {level.folds} folds")
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        content = {"format": FORMAT, "version": VERSION, **vars(self)}
        content["runs"] = [run._asdict() for run in self.runs]
        content["episodes"] = [row._asdict() for row in content.pop("rows")]
        content["recordings"] = self.recordings and self.recordings._asdict()
        return {**content, "checksum": checksum(content)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Result:
        """Read the content of a file.

        Raises `DataError` if a field has an unexpected type or is out of range, or if the content was edited.
        """
        known = isinstance(content, Mapping) and content.get("format") == FORMAT
        version = content.get("version") if known else None
        if version in (1, 2):
            raise DataError(
                f"version is {version}, expected {VERSION}; iglu_marl 0.{version + 1}.0 reads version {version}"
            )
        schema.check(FILE_SCHEMA, content)
        level = find(content["level"])
        if content["digest"] != level.digest:
            raise DataError(f"digest is {content['digest']}, expected {level.digest} of {level.name}")
        rows = tuple(EpisodeRow(**row) for row in content["episodes"])
        runs = _read_runs(content["runs"], rows, level.measure)
        for at, row in enumerate(rows):
            _check_row(f"episodes[{at}]", row, level)
        kept = content["recordings"] and Recordings(**content["recordings"])
        games = len(rows) * (1 + len(runs[0].controls))
        if kept and kept.games != games:
            raise DataError(f"recordings.games is {kept.games}, expected {games}")
        if checksum(content) != content["checksum"]:
            raise DataError(f"checksum is {content['checksum']}, expected {checksum(content)}: it was edited")
        given = {name: content[name] for name in _FIELDS if name != "rows"}
        supervision = tuple(content["supervision"])
        return cls(**{**given, "supervision": supervision, "runs": runs, "rows": rows, "recordings": kept})

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the file atomically and return its path."""
        return write_text(path, json.dumps(self.to_json(), indent=1) + "\n")


_FIELDS = _fields(Result)
FILE_SCHEMA: Mapping[str, Any] = {
    "format": schema.one_of([FORMAT]),
    "version": schema.one_of([VERSION]),
    **{"episodes" if name == "rows" else name: value for name, value in _FIELDS.items()},
    "checksum": schema.hexadecimal(16),
}
"""All keys of a result file. `Result.from_json` also compares them with each other and with the level."""


def checksum(content: Mapping[str, Any]) -> str:
    """Return a hash of a file's content without its checksum, 16 hexadecimal digits."""
    rest = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.blake2b(json.dumps(rest, sort_keys=True).encode(), digest_size=8).hexdigest()


def _read_runs(
    runs: Sequence[Mapping[str, Any]], rows: Sequence[EpisodeRow], measure: str
) -> tuple[Run, ...]:
    """Read the runs, whose means follow from the episodes. Raises `DataError` if they do not fit each other."""
    if not runs or not rows:
        raise DataError(f"there are {len(runs)} runs and {len(rows)} episodes, expected one or more of each")
    seeds, each = [run["seed"] for run in runs], len(rows) // len(runs)
    order = [(seed, episode) for seed in dict.fromkeys(seeds) for episode in range(each)]
    if [(row.run, row.seed) for row in rows] != order:
        raise DataError(
            f"runs and seeds of the episodes are others, expected 0, 1, … of each of the runs {seeds}"
        )
    for at, run in enumerate(runs):
        if list(run["controls"]) != list(runs[0]["controls"]):
            raise DataError(f"runs[{at}].controls has other names than the first run, expected the same")
        for name, share in run["controls"].items():
            if measure == "success" and abs(share * each - round(share * each)) >= 1e-3:
                raise DataError(f"runs[{at}].controls.{name} is {share}, expected a share of {each} games")
    return tuple(
        Run(**{**run, "curve": tuple((step, float(share)) for step, share in run["curve"])}) for run in runs
    )


def _check_row(place: str, row: EpisodeRow, level: Level) -> None:
    """Raise `DataError` for an episode that no game can have."""
    builders = level.game.get("builders", 1)  # of which each may change a block in a step
    for name, value, low, high in (
        ("steps", row.steps, 0, level.max_steps),
        ("changes", row.changes, int(row.completed), row.steps * builders),
        ("success", row.success, False, row.completed),
    ):
        if not low <= value <= high:
            raise DataError(
                f"{place}.{name} is {value}, expected {low}..{high} by the other fields and the level"
            )


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read a result file. Raises `DataError` if the file is missing, damaged or of another format."""
    place = f"{path} is no result of the benchmark"
    with wrap_errors(place):
        return Result.from_json(parse_json(read_file(Path(path), 512 * MIB), place))


def improvement(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Return the probability of improvement (as rliable): a run of ours beats one of theirs, ties count half.

    Its 95 % interval is a bootstrap over the runs of each; nan for single runs.
    """
    wins = np.sign(np.asarray(ours, np.float64)[:, None] - np.asarray(theirs, np.float64)) / 2 + 0.5
    if wins.size == 1:
        return Interval(float(wins[0, 0]), np.nan, np.nan)
    rng, (first, second) = np.random.default_rng(0), wins.shape
    drawn = [wins[rng.integers(first, size=first)][:, rng.integers(second, size=second)] for _ in range(1000)]
    low, high = np.quantile([part.mean() for part in drawn], [0.025, 0.975])
    return Interval(float(wins.mean()), float(low), float(high))
