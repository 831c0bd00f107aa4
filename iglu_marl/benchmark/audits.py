"""The audit of a rung: what is reached without what it is about, and what at best.

| control | |
|---|---|
| `random` | actions by lot |
| `open loop` | the best fixed sequence of actions, searched for on the very tasks |
| `blind` | a policy of the time alone, trained on the very tasks |
| `muted` | a policy of all that the builder sees, but nothing is said to it; trained on the very tasks |
| `hidden` | a policy of all that the builder sees, but the target; trained on the very tasks |
| `scrambled` | the scripted builder, told what belongs to another task |
| `linear` | the policy that the three are made of, with everything, trained on the training split; on the test split |
| `scripted` | the scripted builder, told by the scripted architect or as the task has it |
| `oracle` | a builder that knows the target |

The first six tell what is reached without understanding. Each is given the budget of a learner. A rung passes when none
of them is above `TOLERANCE` times chance: the share of the tasks that the commonest target makes up, which is what one
guess is worth, for a success allows no second one.
"""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iglu_marl._version import __version__
from iglu_marl.agents.random import RandomArchitect
from iglu_marl.benchmark.controls import cells_of_tasks, open_loop, random_play, train
from iglu_marl.benchmark.games import Observing, judged, reference_env, seeing
from iglu_marl.benchmark.ladder import Rung, find
from iglu_marl.benchmark.splits import another, content_key, some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import parse_json, reading
from iglu_marl.core.task import Task
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.agent import Agent

TOLERANCE = 1.2
FORMAT, VERSION = "iglu_marl benchmark audit", 1
AUDITS = Path(__file__).with_name("audits.json")
"""The audits that come with the package."""

WITHOUT = ("random", "open loop", "blind", "muted", "hidden", "scrambled")
WITH = ("linear", "scripted", "oracle")
CONTROLS = (*WITHOUT, *WITH)
UNDEFINED = {
    "see": {
        "muted": "nothing is said",
        "scrambled": "nothing is said",
        "scripted": "nothing is said",
    },
    "symbols": {
        "scrambled": "there are no words without learners",
        "scripted": "there are no words without learners",
    },
}
"""By family, the controls that it cannot have, and why; `hidden` is for builders that see the target."""

_ROUNDS = 1000  # random episodes, about
_SEED = 0


class Control(NamedTuple):
    """What a control reached: the share of successes, over so many episodes, after so many steps of training."""

    success: float
    episodes: int
    budget: int = 0


@dataclass(frozen=True)
class Audit:
    """The controls of a rung. digest: of the rung. tasks: how many were played. chance: see this module.

    controls: by name; None where one is not defined (see `undefined`).
    """

    rung: str
    digest: str
    tasks: int
    chance: float
    controls: Mapping[str, Control | None]

    @property
    def passes(self) -> bool:
        """Whether nothing is above `TOLERANCE` times chance that does without what the rung is about."""
        found = [self.controls[name] for name in WITHOUT if name in self.controls]
        return all(part.success <= TOLERANCE * self.chance for part in found if part is not None)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        controls = {name: None if part is None else list(part) for name, part in self.controls.items()}
        return {"digest": self.digest, "tasks": self.tasks, "chance": self.chance, "controls": controls}

    @classmethod
    def from_json(cls, rung: str, content: Mapping[str, Any]) -> Audit:
        """What `to_json` wrote."""
        controls = {
            name: None if part is None else Control(float(part[0]), int(part[1]), int(part[2]))
            for name, part in content["controls"].items()
        }
        return cls(rung, str(content["digest"]), int(content["tasks"]), float(content["chance"]), controls)


def undefined(rung: Rung, control: str) -> str:
    """Why a rung has no such control; "" where it has it."""
    if control == "hidden" and not rung.sees_target:
        return "the builder never sees the target"
    if control == "linear" and (rung.is_pair or rung.is_live):
        return "it learns alone"
    family = "symbols" if rung.is_pair and "vocabulary" in rung.game else rung.family
    return UNDEFINED.get(family, {}).get(control, "")


def chance(tasks: Sequence[Task]) -> float:
    """The share of the tasks that the commonest target makes up."""
    return max(Counter(map(content_key, tasks)).values()) / len(tasks)


def audit(
    rung: str | Rung,
    *,
    budget: int | None = None,
    tasks: int = 128,
    games: int = 16,
    controls: Sequence[str] = CONTROLS,
    progress: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Compute the controls of a rung.

    budget: environment steps of each control that is trained or searched for; None: the rung's own. tasks: how many are
    played, half of them of each split, all where there are fewer. games: how many of them the scripted builder and the
    oracle play. controls: names. progress: is told the control that is begun. Raises `ConfigError` for an unknown rung.
    """
    rung = find(rung)
    steps = rung.budget if budget is None else min(budget, rung.budget)
    trained, tested = (some_of(rung.tasks(split), tasks // 2, _SEED) for split in ("train", "test"))
    both = trained + tested
    rounds = max(1, min(_ROUNDS // len(both), steps // (rung.max_steps * len(both))))
    sees = tuple(name for name in rung.sees if name != "dialog")

    def by_learning(*seen: str) -> Control:
        policy = train(rung, both, seen, steps, _SEED)
        return Control(float(policy.successes(both).mean()), len(both), steps)

    def linear() -> Control:
        seen = (*rung.sees, *(("target",) * rung.sees_target))
        policy = train(rung, trained, seen, steps, _SEED, cells=cells_of_tasks(both))
        return Control(float(policy.successes(tested).mean()), len(tested), steps)

    def by_script(builder: str, scramble: bool = False) -> Control:
        few = _spread(both, games)
        return Control(_scripted(rung, builder, few, scramble), len(few))

    todo: dict[str, Callable[[], Control]] = {
        "random": lambda: Control(random_play(rung, both, rounds, _SEED), rounds * len(both)),
        "open loop": lambda: Control(open_loop(rung, both, steps, _SEED), len(both), steps),
        "blind": by_learning,
        "muted": lambda: by_learning(*sees),
        "hidden": lambda: by_learning(*sees),
        "scrambled": lambda: by_script("scripted", scramble=True),
        "linear": linear,
        "scripted": lambda: by_script("scripted"),
        "oracle": lambda: by_script("oracle"),
    }
    found: dict[str, Control | None] = {}
    for name in controls:
        if undefined(rung, name):
            found[name] = None
            continue
        progress(name)
        found[name] = todo[name]()
    return Audit(rung.name, rung.digest, len(both), chance(both), found)


def _spread(tasks: Sequence[Task], count: int) -> list[Task]:
    numbers = np.linspace(0, len(tasks) - 1, min(count, len(tasks))).round().astype(int)
    return [tasks[number] for number in np.unique(numbers)]


def _scripted(rung: Rung, builder: str, tasks: Sequence[Task], scramble: bool) -> float:
    """The share of successes of a builder by name, where a scripted architect speaks, or the tasks' own dialogs do."""
    env = reference_env(rung, "test")
    player = factory(builder, Role.BUILDER)(env)
    names: Sequence[Any] = rung.architects.get("test", ("scripted",))
    if builder == "oracle":
        names = (_silent,)
    speakers = (
        [factory(name, Role.ARCHITECT)(env) for name in names] if hasattr(env, "possible_agents") else []
    )
    found = 0
    for number, task in enumerate(tasks):
        other = another(tasks, number)
        agents: dict[Role, Agent] = {Role.BUILDER: player}
        if speakers:
            speaker = speakers[number % len(speakers)]
            agents[Role.ARCHITECT] = Observing(speaker, seeing(other.target_grid)) if scramble else speaker
        elif scramble:
            task = task.replace(dialog=other.dialog)
        found += judged(rung, env, agents, task, number).success
    env.close()
    return found / len(tasks)


def _silent(env: Any) -> Agent:
    return RandomArchitect.for_env(env, silence=1.0)


# ----------------------------------------------------------------------------------------------------------- files


def write_audits(audits: Sequence[Audit], path: str | os.PathLike[str]) -> Path:
    """Write audits as JSON, whole or not at all; those of other rungs that the file has already are kept."""
    kept = read_audits(path) if Path(path).exists() else {}
    kept.update({entry.rung: entry for entry in audits})
    content = {
        "format": FORMAT,
        "version": VERSION,
        "iglu_marl": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "rungs": {name: kept[name].to_json() for name in sorted(kept)},
    }
    return write_text(path, json.dumps(content, indent=1) + "\n")


def read_audits(path: str | os.PathLike[str] = AUDITS) -> dict[str, Audit]:
    """Audits by rung, by default those that come with the package. Raises `DataError` for another or damaged file."""
    place = f"{path} is no file of audits"
    with reading(place):
        content = parse_json(Path(path).read_bytes(), place)
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise DataError(
                f"format is {content['format']!r:.60}, version {content['version']!r}, expected {FORMAT!r}"
            )
        return {name: Audit.from_json(name, entry) for name, entry in content["rungs"].items()}
