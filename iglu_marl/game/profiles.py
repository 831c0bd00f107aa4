"""How older tools preset, spell and show what is chosen when an environment is made: the table behind `compat`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from iglu_marl.core.conventions import IGLU2022, OWN, Conventions
from iglu_marl.core.errors import ConfigError


@dataclass(frozen=True)
class Profile:
    """One older tool.

    conventions: how it tells colours and directions. defaults: of fields of `GameConfig`, where they are not ours.
    spellings: its keywords that have another name here. idle: its keywords that are taken and change nothing here.
    """

    conventions: Conventions
    defaults: Mapping[str, Any]
    spellings: Mapping[str, str]
    idle: tuple[str, ...]


PROFILES: Mapping[str, Profile] = {
    "iglu2022": Profile(
        conventions=IGLU2022,
        defaults={"select_and_place": True, "max_steps": 250, "size_reward": True},
        spellings={"right_placement_scale": "right_scale", "wrong_placement_scale": "wrong_scale"},
        idle=("name", "fake"),
    ),
}


def read_options(
    compat: str | None, options: Mapping[str, Any], *, preset: bool
) -> tuple[Conventions, dict[str, Any]]:
    """A profile's conventions, and the options in our names, where `preset` says so with the profile's defaults.

    Without `compat`, nothing changes.

    Raises `ConfigError` for an unknown profile, and for an option that is given under both of its names.
    """
    if compat is None:
        return OWN, dict(options)
    if compat not in tuple(PROFILES):
        known = ", ".join(map(repr, PROFILES))
        raise ConfigError(f"compat is {compat!r}, expected None or one of {known}")
    profile = PROFILES[compat]
    read = dict(profile.defaults) if preset else {}
    for name, value in options.items():
        ours = profile.spellings.get(name, name)
        if ours != name and ours in options:
            raise ConfigError(
                f"{name!r} and {ours!r} are both given, expected one of them: they are the same"
            )
        if name not in profile.idle:
            read[ours] = value
    return profile.conventions, read


def hint(name: str, known: Iterable[str]) -> str:
    """What an unknown option was perhaps meant to be, in brackets for a message; "" without an idea."""
    for compat, profile in PROFILES.items():
        if name in profile.spellings:
            return f" (did you mean {profile.spellings[name]!r}? compat={compat!r} takes both names)"
        if name in profile.idle:
            return f" (did you mean to pass compat={compat!r}, which takes it?)"
    close = difflib.get_close_matches(name, known, 1, 0.75)
    return f" (did you mean {close[0]!r}?)" if close else ""
