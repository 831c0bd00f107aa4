"""How older tools preset, spell and show what is chosen when an environment is made: the table behind `compat`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from iglu_marl.core.conventions import IGLU2021, IGLU2022, OWN, SILENT_BUILDER_2021, Conventions
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.task_source import TaskSource
from iglu_marl.core.text import similar
from iglu_marl.tasks.bundled import default_tasks, silent_builder_tasks, whole_session_tasks


@dataclass(frozen=True)
class Profile:
    """One older tool, or an environment's own ways.

    conventions: how it tells colours and directions. defaults: of fields of `GameConfig`, where they are not ours.
    spellings: its keywords that have another name here. idle: its keywords that are taken and change nothing here.
    tasks: makes the source of tasks that is played where none is given.
    """

    conventions: Conventions
    defaults: Mapping[str, Any] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    tasks: Callable[[], TaskSource] = default_tasks


GRIDWORLD = Profile(OWN)
SILENT_BUILDER = Profile(SILENT_BUILDER_2021, tasks=silent_builder_tasks)
PROFILES: Mapping[str, Profile] = {
    "iglu2021": Profile(IGLU2021, tasks=whole_session_tasks),
    "iglu2022": Profile(
        conventions=IGLU2022,
        defaults={"select_and_place": True, "max_steps": 250, "size_reward": True},
        spellings={"right_placement_scale": "right_scale", "wrong_placement_scale": "wrong_scale"},
        idle=("name", "fake"),
    ),
}


def read_options(
    compat: str | None,
    options: Mapping[str, Any],
    *,
    own: Profile,
    known: tuple[str, ...],
    preset: bool,
) -> tuple[Profile, dict[str, Any]]:
    """A profile, and the options in our names, where `preset` says so with the profile's defaults.

    own: the profile without `compat`, when options stay as they are. known: the profiles that the environment has.

    Raises `ConfigError` for another profile, and for an option that is given under both of its names.
    """
    if compat is None:
        return own, dict(options)
    if not isinstance(compat, str) or compat not in known:
        raise ConfigError(
            f"compat is {compat!r}, expected None or one of {', '.join(map(repr, known))}: "
            "'iglu2022' for the Gridworld ids, 'iglu2021' for the Silent Builder"
        )
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
    return profile, read


def compat_of(conventions: Conventions) -> str | None:
    """The name of the profile that has these conventions; None for an environment's own."""
    return next((name for name, profile in PROFILES.items() if profile.conventions == conventions), None)


def hint(name: str, known: Iterable[str]) -> str:
    """What an unknown option was perhaps meant to be, in brackets for a message; "" without an idea."""
    for compat, profile in PROFILES.items():
        if name in profile.spellings:
            return f" (did you mean {profile.spellings[name]!r}? compat={compat!r} takes both names)"
        if name in profile.idle:
            return f" (did you mean to pass compat={compat!r}, which takes it?)"
    return similar(name, known)
