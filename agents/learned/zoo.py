"""Trained agents that come with the package, each by its name: `pretrained("pov-walker-v2").for_env(env)`.

An agent is two files in `weights/`: NAME.npz with its tensors, plain arrays that are read without pickle, and
NAME.json, its card. All of them together have 5 MB at most. A name ends in a version: other weights have another
name. A card is an object with

| key | |
|---|---|
| `kind` | a key of `KINDS`: which classes play with these tensors |
| `about` | what it is, in a sentence |
| `game` | options of the environment in which it plays |
| `network` | sizes, as its class wants them |
| `data` | what it learned from, and what was held out |
| `budget` | steps, minutes of one core, seeds |
| `results` | by measure: `value`, `interval` (95 %), `games` |
| `command` | what trains it, and `check`: what measures it again |
| `versions` | of this package, NumPy and PyTorch |
"""

from __future__ import annotations

import io
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from iglu_marl import Agent, AgentError, DataError
from iglu_marl.core.extras import extra
from iglu_marl.core.parsing import MIB, parse_json, read_file
from iglu_marl.core.text import similar

FOLDER = Path(__file__).with_name("weights")
KINDS = {
    "edit-builder": "iglu_marl.agents.learned.builder:LearnedBuilder",
    "pov-builder": "iglu_marl.agents.learned.pov_builder:PovBuilder",
}
"""The class by kind: its `for_env(env, model=...)` gets the `Pretrained`."""


@dataclass(frozen=True)
class Pretrained:
    """A trained builder of the zoo. card: see the module's docstring. options: of the `for_env` of its class."""

    name: str
    card: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """What it is, in a sentence."""
        about: str = self.card["about"]
        return f"The grammar, and {self.name} for what that cannot follow." if self.options else about

    @property
    def game(self) -> Mapping[str, Any]:
        """Options of the environment in which it plays."""
        return dict(self.card["game"])

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Weights by name. Raises `DataError` if they are missing or damaged."""
        return read_arrays(FOLDER / f"{self.name}.npz")

    def for_env(self, env: Any, **options: Any) -> Agent:
        """Return the agent for an environment. Raises `MissingExtraError` without PyTorch."""
        with extra("rl"):
            maker = pkgutil.resolve_name(KINDS[self.card["kind"]])
        agent: Agent = maker.for_env(env, model=self, **{**self.options, **options})
        return agent


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file by name. Raises `DataError` if it is missing or damaged."""
    try:
        with np.load(io.BytesIO(read_file(path, 256 * MIB)), allow_pickle=False) as file:
            return dict(file)
    except (OSError, ValueError, EOFError, BadZipFile, AttributeError) as error:
        raise DataError(f"{path} holds no weights ({error!s:.200})") from None


def zoo() -> list[str]:
    """Return the names of the trained agents that come with the package, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@lru_cache(maxsize=64)
def pretrained(name: str) -> Pretrained:
    """Return a trained agent by name. Raises `AgentError` if the name is unknown."""
    if name not in zoo():
        names = zoo()
        raise AgentError(
            f"pretrained agent {name!r} is unknown{similar(name, names)}, expected one of {', '.join(names)}"
        )
    path = FOLDER / f"{name}.json"
    return Pretrained(name, parse_json(read_file(path, MIB), str(path)))


def builders() -> dict[str, Pretrained]:
    """Return the trained builders by name; those that predict edits also with the grammar."""
    named = {}
    for name in zoo():
        named[name] = agent = pretrained(name)
        if agent.card["kind"] == "edit-builder":
            named[f"{name}+grammar"] = replace(agent, options={"grammar": True})
    return named
