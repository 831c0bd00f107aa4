"""The audits of levels that come with the package: what is reached without the message or the target, and with it.

`python -m benchmarks.audit` makes them.

| baseline | |
|---|---|
| `random` | random actions |
| `open loop` | the best fixed action sequence, searched on the measured tasks |
| `timed` | imitation of the oracle from the time alone |
| `muted` | imitation of the oracle from the observation without messages |
| `blind` | imitation of the oracle from the observation without the target |
| `scrambled` | the scripted builder with the instruction of another task |

| reference | |
|---|---|
| `full` | imitation of the oracle with nothing left out; with the target in place of live messages |
| `scripted` | the scripted builder with the scripted architect or the task's dialogue |
| `oracle` | a builder that knows the target |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from iglu_marl.benchmark.catalog import find
from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors

TOLERANCE = 1.2
FORMAT, VERSION = "iglu_marl benchmark audit", 3
AUDITS = Path(__file__).with_name("audits.json")
"""File of the audits that come with the package."""
WITHOUT = ("random", "open loop", "timed", "muted", "blind", "scrambled")
CONTROLS = (*WITHOUT, "full", "scripted", "oracle")


class Audit(NamedTuple):
    """Success rates of shortcut baselines and references on a level.

    tasks: number of tasks that they played. chance: success rate of the best fixed target of fold 0. shares: success
    rates by name of `CONTROLS`, without those that are not defined on the level.
    """

    level: str
    digest: str
    tasks: int
    chance: float
    shares: Mapping[str, float]

    @property
    def constant(self) -> float:
        """Success rate of the best fixed target that is chosen without knowing what is held out of a run.

        Each target is tested in one fold, so that it is right in one of them.
        """
        return self.chance / max(rule.folds for rule in find(self.level).held_out)

    @property
    def best_without(self) -> float | None:
        """Success rate of the best shortcut baseline; None if none was computed."""
        return max((share for name, share in self.shares.items() if name in WITHOUT), default=None)

    @property
    def passes(self) -> bool:
        """Whether all shortcut baselines stay below `TOLERANCE` times chance.

        They train on the tasks that they are measured on, of which one may be all that a fixed player solves.
        """
        return (self.best_without or 0) <= TOLERANCE * max(self.chance, 1 / self.tasks)

    @property
    def verdict(self) -> str:
        """Return "fails", "passes", or "no power" where the learner stays at chance with the whole observation, too."""
        if not self.passes:
            return "fails"
        full = self.shares.get("full", 0.0)
        return "passes" if full > TOLERANCE * max(self.chance, 1 / self.tasks) else "no power"


def read_audits(path: str | os.PathLike[str] = AUDITS) -> dict[str, Audit]:
    """Return audits by level, by default those that come with the package.

    Raises `DataError` if the file is damaged or has another format.
    """
    place = f"{path} is no file of audits"
    with wrap_errors(place):
        content: Any = parse_json(read_file(Path(path), 512 * MIB), place)
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise DataError(
                f"format is {content['format']!r:.60}, version {content['version']!r}, expected {FORMAT!r}"
            )
        return {name: Audit(name, **entry) for name, entry in content["levels"].items()}
