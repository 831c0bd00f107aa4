"""What the tables of docs/environments/ say of each environment, read off the environment itself."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import iglu_marl
from iglu_marl.envs.base import draw_view
from iglu_marl.envs.language import OBS_TYPES, GoalForm, goal_observer, goal_spaces, make_language_goal
from iglu_marl.envs.registration import GYMNASIUM_IDS, LANGUAGE_ID, PETTINGZOO_ID
from iglu_marl.envs.single import GridworldEnv, SilentBuilderEnv
from iglu_marl.game.chat import make_chat
from iglu_marl.game.config import ARCHITECT_SIGHTS, BUILDER_SIGHTS, TARGET_SIGHTS, GameConfig
from iglu_marl.game.effects import KINDS
from iglu_marl.game.observations import Observer, architect_observer, builder_observer
from iglu_marl.language import TemplateCodec

Rows = list[list[str]]


def spelled(space: spaces.Space[Any]) -> str:
    """Return a space in one line, with short bounds: for a matrix, those of one row."""
    if isinstance(space, spaces.MultiDiscrete):
        sizes = space.nvec.tolist()
        return f"MultiDiscrete({f'[{sizes[0]}] * {len(sizes)}' if len(set(sizes)) == 1 else sizes})"
    if not isinstance(space, spaces.Box):
        return str(space)
    bounds = []
    for bound in (space.low, space.high):
        distinct = np.unique(bound).tolist()
        values = distinct if len(distinct) == 1 else bound.reshape(-1, bound.shape[-1])[0].tolist()
        text = ", ".join(f"{value:g}" for value in values)
        bounds.append(text if len(distinct) == 1 else f"[{text}]")
    return f"Box({bounds[0]}, {bounds[1]}, {space.shape}, {space.dtype})"


def sight_rows(names: tuple[str, ...], field: str) -> list[tuple[str, str, str, bool]]:
    """Return name, key, space and default of each name that `field` may hold."""
    rows = []
    for name in names:
        sees = {"builder_0": "all"} if name in TARGET_SIGHTS else None
        config = GameConfig(**{field: (name,), "sees": sees})  # type: ignore[arg-type]
        shown = observer_of(config, field)
        ((key, space),) = [(name, shown.space[name])] if sees else shown.space.items()
        rows.append((name, key, spelled(space), name in getattr(GameConfig(), field)))
    return rows


def observer_of(config: GameConfig, field: str) -> Observer:
    """Return the observer for `field`, "architect_sees" or "builder_sees", without a game."""
    chat = make_chat(config, None)
    if field == "builder_sees":
        return builder_observer(config, chat)
    return architect_observer(config, chat, draw_view)


def observation_rows() -> list[tuple[str, str, str]]:
    """Return key, condition and space of each possible observation."""
    where: dict[tuple[str, str], list[str]] = {}
    for obs_type in OBS_TYPES:
        for key, space in goal_observer(GameConfig(), obs_type).space.items():
            where.setdefault((key, spelled(space)), []).append(f"obs_type={obs_type!r}")
    rows = [
        (key, "always" if len(when) == len(OBS_TYPES) else " or ".join(when), space)
        for (key, space), when in sorted(where.items())
    ]
    for form in get_args(GoalForm):
        for key, space in goal_spaces(form, TemplateCodec(), 1).items():
            name = "MultiBinary(len(goals))" if isinstance(space, spaces.MultiBinary) else spelled(space)
            rows.append((key, f"goal_in_obs={form!r}", name))
    return rows


def effect_rows() -> Rows:
    """Return for each option where it has an effect, by the kinds in `KINDS`."""
    return [
        [
            f"`{item.name}`",
            *("raises" if kind in item.metadata["without"] else "" for kind in KINDS),
        ]
        for item in dataclasses.fields(GameConfig)
    ]


class Environment(NamedTuple):
    """One of the environments that have a page."""

    page: str  # docs/environments/{page}.md
    made_by: str
    api: str
    maker: Callable[..., Any]  # whose parameters are the arguments
    make: Callable[..., Any]


ENVIRONMENTS = (
    Environment("architect-builder-aec", "iglu_marl.env()", "PettingZoo AEC", iglu_marl.env, iglu_marl.env),
    Environment(
        "architect-builder-parallel",
        "iglu_marl.parallel_env()",
        "PettingZoo parallel",
        iglu_marl.parallel_env,
        iglu_marl.parallel_env,
    ),
    *(
        Environment(
            page,
            f'gym.make("{id_}")',
            "Gymnasium",
            maker,
            lambda id_=id_, **options: gym.make(id_, **options),
        )
        for page, id_, maker in (
            ("gridworld", "IGLUGridworld-v0", GridworldEnv),
            ("gridworld-vector", "IGLUGridworldVector-v0", GridworldEnv),
            ("silent-builder", "IGLUSilentBuilder-v0", SilentBuilderEnv),
            ("silent-builder-visual", "IGLUSilentBuilderVisual-v0", SilentBuilderEnv),
            ("language-goal", LANGUAGE_ID, make_language_goal),
        )
    ),
)


def cell(value: object) -> str:
    return f"`{value}`"


def _of_two(environment: Environment) -> bool:
    return environment.api.startswith("PettingZoo")


def _keys(space: Any) -> str:
    return ", ".join(map(cell, space.spaces))


def facts(environment: Environment) -> Rows:
    """The page's head: how it is made, who acts, what with."""
    env = environment.make()
    rows = [["made by", cell(environment.made_by)]]
    if _of_two(environment):
        kind = environment.api.removeprefix("PettingZoo ").lower()
        rows.append(["by id", cell(f'pettingzoo.make("{kind}", "{PETTINGZOO_ID}")') + " (PettingZoo 1.27)"])
        for agent in env.possible_agents:
            rows.append([f"action of {cell(agent)}", cell(spelled(env.action_space(agent)))])
        rows.append(["`state()`", cell(spelled(env.state_space))])
    else:
        rows.append(["action", cell(spelled_action(env.action_space))])
        rows.append(["observation", _keys(env.observation_space)])
        if environment.maker is not make_language_goal:
            many = environment.made_by.replace("make(", "make_vec(")[:-1] + ", num_envs=64)"
            rows.append(["many at once", cell(many)])
    config = env.unwrapped.config
    limits = [("builder steps", config.max_steps), ("architect turns", config.max_turns)]
    rows.append(["limits", ", ".join(f"{limit} {what}" for what, limit in limits if limit is not None)])
    env.close()
    return rows


def spelled_action(space: gym.Space[Any]) -> str:
    """An action space in one line; of a Dict its keys, for its parts stand in docs/controls.md."""
    return f"Dict({', '.join(space)})" if isinstance(space, gym.spaces.Dict) else spelled(space)


def observations(environment: Environment) -> Rows:
    """Key, space, when it is there; meanings are written by hand."""
    if _of_two(environment):
        return [
            [
                cell(key),
                cell(space),
                role,
                cell(name) + (", by default" if shown else ""),
            ]
            for role, field, names in (
                ("architect", "architect_sees", ARCHITECT_SIGHTS),
                ("builder", "builder_sees", (*BUILDER_SIGHTS, *TARGET_SIGHTS)),
            )
            for name, key, space, shown in sight_rows(names, field)
        ]
    if environment.maker is make_language_goal:
        return [
            [
                cell(key),
                cell(space),
                when if when == "always" else " or ".join(map(cell, when.split(" or "))),
            ]
            for key, when, space in observation_rows()
        ]
    own = environment.make().observation_space
    rows = [[cell(key), cell(spelled(space)), "by default"] for key, space in own.spaces.items()]
    flags = [
        name for name, one in inspect.signature(environment.maker).parameters.items() if one.default is False
    ]
    for flag in (name for name in flags if name not in _fields()):
        more = environment.make(**{flag: True}).observation_space
        rows += [
            [cell(key), cell(spelled(more[key])), cell(f"{flag}=True")]
            for key in more.spaces
            if key not in own.spaces
        ]
    for name in BUILDER_SIGHTS:
        ((key, space),) = environment.make(builder_sees=(name,)).observation_space.spaces.items()
        if key not in own.spaces:
            rows.append([cell(key), cell(spelled(space)), cell(f'"{name}" in builder_sees')])
    if "target_in_obs" in flags:
        key = "wrong_cells"
        space = environment.make(builder_sees=(key,), target_in_obs=True).observation_space[key]
        when = cell(f'"{key}" in builder_sees') + ", with " + cell("target_in_obs=True")
        rows.append([cell(key), cell(spelled(space)), when])
    return rows


def rewards() -> Rows:
    """What a goal in words pays, by which option, how much by default."""
    paid = [
        ("the goal holds after the step", "", 1.0),
        ("it does not", "", 0.0),
        ("each step of the builder", "-step_cost", -GameConfig.step_cost),
    ]
    return [[event, f"`{option}`" if option else "", f"{amount + 0.0:g}"] for event, option, amount in paid]


def _fields() -> set[str]:
    return {field.name for field in dataclasses.fields(GameConfig)}


def arguments(environment: Environment) -> Rows:
    """Those besides the fields of `GameConfig`, with their defaults."""
    config = environment.make().unwrapped.config
    id_ = environment.made_by.split('"')[1] if '"' in environment.made_by else ""
    given = {
        **GYMNASIUM_IDS.get(id_, ("", {}))[1],
        "action_space": config.controls,
        "render_size": config.pov_size,
    }
    return [
        [cell(name), cell(repr(given.get(name, one.default)))]
        for name, one in inspect.signature(environment.maker).parameters.items()
        if name not in _fields() and name != "visual"  # which the ids choose
    ]


def gallery() -> Rows:
    """Picture, link and API of each environment."""
    return [
        [
            f"![{environment.page}](images/gallery/environment-{environment.page}.png)",
            f"[{cell(environment.made_by)}](environments/{environment.page}.md)",
            environment.api,
        ]
        for environment in ENVIRONMENTS
    ]


OF = {environment.page: environment for environment in ENVIRONMENTS}
WITH_OBSERVATIONS = (
    "architect-builder-aec",
    "gridworld",
    "silent-builder",
    "language-goal",
)  # others link to these
TABLES: dict[str, Callable[[], Rows]] = {
    **{f"{page}-facts": lambda page=page: facts(OF[page]) for page in OF},  # type: ignore[misc]
    **{f"{page}-observations": lambda page=page: observations(OF[page]) for page in WITH_OBSERVATIONS},  # type: ignore[misc]
    "gridworld-arguments": lambda: arguments(OF["gridworld"]),
    "language-goal-rewards": rewards,
}
