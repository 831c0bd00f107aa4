"""Trained agents that come with the package, each by its name: `pretrained("pov-walker-v2").for_env(env)`.

An agent is two files in `weights/`: NAME.npz with its tensors, plain arrays that are read without pickle, and
NAME.json, its card. All of them together have 5 MB at most. A name ends in a version: other weights have another
name. A card is an object with

| key | |
|---|---|
| `kind` | a key of `KINDS`: which classes play with these tensors |
| `about` | what it is, in a sentence |
| `roles` | "architect", "builder", or both |
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
import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import Agent, AgentError, DataError, Role
from iglu_marl.core.extras import extra
from iglu_marl.core.files import atomic_write, usable_path, write_text
from iglu_marl.core.parsing import MIB, parse_json, read_file
from iglu_marl.core.text import similar

FOLDER = Path(__file__).with_name("weights")
KINDS: dict[str, dict[Role, str]] = {
    "edit-builder": {Role.BUILDER: "iglu_marl.agents.learned.builder:LearnedBuilder"},
    "pov-builder": {Role.BUILDER: "iglu_marl.agents.learned.pov_builder:PovBuilder"},
}
"""By kind and role, the class: its `for_env(env, model=...)` gets the `Pretrained`."""
PLAYS = ("kind", "about", "roles", "game", "network")  # entries of a card: how the agent plays
CARD = (*PLAYS, "data", "budget", "results", "command", "check", "versions")


@dataclass(frozen=True)
class Pretrained:
    """A trained agent of the zoo. card: see the module's docstring."""

    name: str
    card: Mapping[str, Any]
    folder: Path

    @property
    def roles(self) -> tuple[Role, ...]:
        """Roles that it can play."""
        return tuple(Role(role) for role in self.card["roles"])

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Weights by name. Raises `DataError` if they are missing or damaged."""
        path = self.folder / f"{self.name}.npz"
        try:
            with np.load(io.BytesIO(read_file(path, 256 * MIB)), allow_pickle=False) as file:
                return dict(file)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"{path} holds no weights ({error!s:.200})") from None

    def for_env(self, env: Any, role: Role = Role.BUILDER, **options: Any) -> Agent:
        """Return the agent for an environment.

        Raises `AgentError` if it does not play the role, or PyTorch is missing.
        """
        if role not in self.roles:
            raise AgentError(
                f"{self.name} cannot play the {role}, expected {' or '.join(self.card['roles'])}"
            )
        with extra("rl"):
            found = pkgutil.resolve_name(KINDS[self.card["kind"]][role])
        agent: Agent = found.for_env(env, model=self, **options)
        return agent


@dataclass(frozen=True)
class InRole:
    """An agent of the zoo in one role, for the registry of agents. options: of its `for_env`."""

    name: str
    role: Role
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """What it is, in a sentence."""
        about: str = pretrained(self.name).card["about"]
        return f"The grammar, and {self.name} for what that cannot follow." if self.options else about

    @property
    def game(self) -> Mapping[str, Any]:
        """Options of the environment in which it plays."""
        return dict(pretrained(self.name).card["game"])

    def for_env(self, env: Any, **options: Any) -> Agent:
        """Return the agent for an environment."""
        return pretrained(self.name).for_env(env, self.role, **{**self.options, **options})


def zoo(folder: Path = FOLDER) -> list[str]:
    """Return the names of the trained agents that come with the package, sorted."""
    return sorted(path.stem for path in usable_path(folder, named=False).glob("*.json"))


@lru_cache(maxsize=64)
def pretrained(name: str, folder: Path = FOLDER) -> Pretrained:
    """Return a trained agent by name.

    Raises `AgentError` if the name is unknown. Raises `DataError` if its card is incomplete.
    """
    if name not in zoo(folder):
        names = zoo(folder)
        raise AgentError(
            f"pretrained agent {name!r} is unknown{similar(name, names)}, expected one of {', '.join(names)}"
        )
    path = folder / f"{name}.json"
    card = parse_json(read_file(path, MIB), str(path))
    check_card(card, str(path))
    return Pretrained(name, card, folder)


def check_card(card: Any, where: str) -> None:
    """Raise `DataError` if a card is incomplete."""
    if not isinstance(card, dict) or (missing := [key for key in CARD if not card.get(key)]):
        raise DataError(f"{where} lacks {', '.join(missing) if isinstance(card, dict) else 'everything'}")
    kind, roles = card["kind"], card["roles"]
    if kind not in KINDS:
        raise DataError(f"{where}: kind is {kind!r}, expected one of {', '.join(KINDS)}")
    known = [role.value for role in KINDS[kind]]
    if not isinstance(roles, list) or not set(roles) <= set(known):
        raise DataError(f"{where}: roles is {roles!r:.80}, expected some of {known}")
    for measure, result in card["results"].items():
        if not isinstance(result, dict) or not {"value", "interval", "games"} <= result.keys():
            raise DataError(
                f"{where}: results[{measure!r}] is {result!r:.80}, expected value, interval, games"
            )


def in_role(role: Role) -> dict[str, InRole]:
    """Return the trained agents that play a role, by name; those that predict edits also with the grammar."""
    found = {}
    for name in zoo():
        if role in pretrained(name).roles:
            found[name] = InRole(name, role)
            if pretrained(name).card["kind"] == "edit-builder":
                found[f"{name}+grammar"] = InRole(name, role, {"grammar": True})
    return found


def save(
    name: str, card: Mapping[str, Any], tensors: Mapping[str, npt.NDArray[Any]], folder: Path = FOLDER
) -> Path:
    """Write the two files of an agent and return the path of the card. Raises `DataError` if the card is incomplete."""
    path = folder / f"{name}.json"
    check_card(card, str(path))
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {key: np.asarray(value) for key, value in tensors.items()}
    with atomic_write(folder / f"{name}.npz") as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)
    write_text(path, json.dumps(card, indent=1, ensure_ascii=False) + "\n")
    pretrained.cache_clear()
    return path
