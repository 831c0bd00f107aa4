"""Profiles: those of older tools for the option `compat`, and games of teams by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from iglu_marl.core.arguments import as_count
from iglu_marl.core.conventions import IGLU2021, IGLU2022, OWN, SILENT_BUILDER_2021, Conventions
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLOR_NAMES
from iglu_marl.core.task_source import TaskSource
from iglu_marl.core.text import similar
from iglu_marl.tasks.bundled import BundledTasks, silent_builder_tasks, whole_session_tasks
from iglu_marl.tasks.cube_tasks import CubeTasks


@dataclass(frozen=True)
class Profile:
    """The profile of an older tool, or of an environment itself.

    conventions: numbering of colours and directions. defaults: different defaults of `GameConfig`. spellings: its names
    of our options. idle: its options that have no effect here. keywords: its other options, which raise nothing where
    they have no effect. tasks: returns the default source of tasks.
    """

    conventions: Conventions
    defaults: Mapping[str, Any] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    tasks: Callable[[], TaskSource] = BundledTasks


GRIDWORLD = Profile(OWN)
SILENT_BUILDER = Profile(SILENT_BUILDER_2021, tasks=silent_builder_tasks)
PROFILES: Mapping[str, Profile] = {
    "iglu2021": Profile(IGLU2021, tasks=whole_session_tasks),
    "iglu2022": Profile(
        conventions=IGLU2022,
        defaults={"select_and_place": True, "max_steps": 250, "size_reward": True},
        spellings={"right_placement_scale": "right_scale", "wrong_placement_scale": "wrong_scale"},
        idle=("name", "fake"),
        keywords=("controls", "pov_size", "select_and_place", "size_reward", "max_steps"),
    ),
}


def read_options(
    compat: str | None,
    options: Mapping[str, Any],
    *,
    own: Profile,
    known: tuple[str, ...],
    preset: bool,
) -> tuple[Profile, dict[str, Any], set[str]]:
    """Return a profile, the options under our names, and the names of those that raise where they have no effect.

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
        return own, dict(options), set(options)
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
    theirs = {*profile.keywords, *profile.spellings, *profile.idle}
    return profile, read, options.keys() - theirs


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


# --- teams -----------------------------------------------------------------------------------------------------


def _craft(options: Mapping[str, Any]) -> dict[str, Any]:
    """Three architects who each see one side of a cube, and a builder who flies."""
    sides = ("west", "north", "east", "south")
    architects = as_count("architects", options.get("architects", 3), 1, len(sides))
    return {
        "architects": architects,
        "sees": {f"architect_{number}": f"side:{sides[number]}" for number in range(architects)},
        "tasks": CubeTasks(),
        "controls": "flying",
        "builder_can_ask": True,
        "turn_steps": 100,
        "max_turns": 20,
        "max_steps": 2000,
    }


def _division(options: Mapping[str, Any]) -> dict[str, Any]:
    """Builders who hold different colors."""
    builders = as_count("builders", options.get("builders", 2), 1, len(COLOR_NAMES) - 1)
    stocks = {
        f"builder_{number}": dict.fromkeys(COLOR_NAMES[1 + number :: builders], BLOCKS_PER_COLOR)
        for number in range(builders)
    }
    return {"builders": builders, "inventories": stocks, "builder_can_ask": True}


def _assistant(options: Mapping[str, Any]) -> dict[str, Any]:
    """A builder who sees the target, and one who helps without. Nobody else speaks."""
    return {"architects": 0, "builders": 2, "sees": {"builder_0": "all"}, "builder_can_ask": True}


def _relay(options: Mapping[str, Any]) -> dict[str, Any]:
    """An architect who sees the target talks to a second one who talks to the builder."""
    hearers = {
        "architect_0": "architect_1",
        "architect_1": ("architect_0", "builder_0"),
        "builder_0": "architect_1",
    }
    return {"architects": 2, "sees": {"architect_1": "none"}, "hearers": hearers, "builder_can_ask": True}


TEAMS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "craft": _craft,
    "division": _division,
    "assistant": _assistant,
    "relay": _relay,
}


def team_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a game of a team by name, with `options` in place of its own.

    Raises `ConfigError` for an unknown name.
    """
    if name not in TEAMS:
        raise ConfigError(
            f"config is {name!r:.80}, expected a GameConfig or one of {', '.join(map(repr, TEAMS))}"
        )
    return {**TEAMS[name](options), **options}
