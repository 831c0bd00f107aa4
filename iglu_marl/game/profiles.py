"""Profiles of older tools for the option `compat`: conventions, defaults and names of options."""

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
    """The profile of an older tool, or of an environment itself.

    conventions: numbering of colours and directions. defaults: different defaults of `GameConfig`. spellings: its names
    of our options. idle: its options that have no effect here. tasks: returns the default source of tasks.
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
    """Return a profile, and the options under our names.

    Args:
        compat: name of a profile, or None.
        options: the given options.
        own: the profile without `compat`; options are unchanged then.
        known: the profiles of the environment.
        preset: whether to include the profile's defaults.

    Raises:
        ConfigError: for another profile, or an option given under both names.

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
    if "size_reward" in profile.defaults and preset:
        _choose_reward(read, options)
    return profile, read


def _choose_reward(read: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Let documented scales replace the reward of 2022 by size, which has none, and fill in the scales of 2022."""
    scales = [name for name in ("right_scale", "wrong_scale") if name in given]
    if scales and given.get("size_reward"):
        raise ConfigError(
            f"size_reward is True and {scales[0]} given, expected one of them: it has no scales"
        )
    if scales:
        read["size_reward"] = False
    if not read["size_reward"]:
        read.update({"right_scale": 1.0, "wrong_scale": 0.1} | read)


def compat_of(conventions: Conventions) -> str | None:
    """Return the name of the profile with these conventions; None for an environment's own."""
    return next((name for name, profile in PROFILES.items() if profile.conventions == conventions), None)


def hint(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for an unknown option, in brackets, or ""."""
    for compat, profile in PROFILES.items():
        if name in profile.spellings:
            return f" (did you mean {profile.spellings[name]!r}? compat={compat!r} takes both names)"
        if name in profile.idle:
            return f" (did you mean to pass compat={compat!r}, which takes it?)"
    return similar(name, known)
