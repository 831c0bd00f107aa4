"""The protocol: measure agents on a level, also without the message or the target (controls)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from iglu_marl.benchmark.catalog import Level, find, make
from iglu_marl.benchmark.games import Judged, Observing, judged, muted, plays_itself, reference_env, seeing
from iglu_marl.benchmark.results import MEASURES, Result, Run, digest_of, versions
from iglu_marl.benchmark.splits import SplitName, another, some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, ConfigError
from iglu_marl.core.task import Task
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.agent import Agent

Curve = Sequence[tuple[int, float]]


def run(
    level: str | Level,
    agents: Sequence[Any],
    *,
    name: str = "agent",
    split: SplitName = "test",
    episodes: int = 200,
    curves: Sequence[Curve] = (),
    budget: int = 0,
    controls: bool = True,
    command: str = "",
    output: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure the agents of several training runs on a level.

    Scripted builders (given by name) use the game's own actions and observe pose and grid. All other builders play in
    `make(level, split)`. Without an architect, the level's scripted ones speak. On `partners` levels, each architect
    of a learned pair plays with the builders of the other runs.

    Args:
        level: a level or its name.
        agents: one entry per training seed: a builder, or (architect, builder). Each is a name of `iglu_marl.agents`,
            "module:attribute", a class with `for_env(env)`, or a function of the environment.
        name: name of the agent in tables.
        split: split of the tasks.
        episodes: games per run. Tasks of a smaller split are repeated.
        curves: for each run, [(environment steps, success rate)] during training.
        budget: environment steps of training.
        controls: whether to measure the same agents "muted", "scrambled" or with another target ("hidden").
        command: command that trained and measured the agents.
        output: path of the result file.
        progress: called with a line of text for each run.

    Raises:
        ConfigError: if `agents`, `episodes` or `curves` do not fit together.
        AgentError: if an entry of `agents` does not fit the level.

    """
    level = find(level)
    if episodes < 1 or not agents:
        raise ConfigError(
            f"there are {len(agents)} agents and {episodes} episodes, expected 1 or more of each"
        )
    if curves and len(curves) != len(agents):
        raise ConfigError(f"there are {len(curves)} curves, expected one for each of {len(agents)} agents")
    pairs = [_pair(level, entry) for entry in agents]
    tasks = some_of(level.tasks(split), episodes)
    found = []
    for seed in range(len(pairs)):
        progress(f"{level.name} run {seed + 1} of {len(pairs)}")
        scores = _means(_played(level, split, pairs, seed, tasks, episodes, ""))
        taken = {
            control: _means(_played(level, split, pairs, seed, tasks, episodes, control))["success"]
            for control in _controls_of(level) * controls
        }
        curve = tuple((int(steps), float(share)) for steps, share in curves[seed]) if curves else ()
        found.append(Run(seed, scores, taken, curve))
    result = Result(
        level.name,
        level.digest,
        name,
        split,
        episodes,
        digest_of(tasks),
        budget,
        tuple(found),
        command,
        versions(),
    )
    if output is not None:
        result.write(output)
    return result


def _pair(level: Level, entry: Any) -> tuple[Any, Any]:
    """Return architect and builder of an entry. None as the architect: a scripted one, or the task's own dialogue."""
    architect, builder = entry if isinstance(entry, (tuple, list)) else (None, entry)
    if architect is not None and not level.is_pair:
        raise AgentError(f"{level.name} has one builder, expected no architect, got {architect!r:.60}")
    if architect is None and level.is_pair and not level.architects:
        if "vocabulary" in level.game:
            raise AgentError(
                f"{level.name} is played by pairs, expected (architect, builder), got {builder!r:.60}"
            )
        architect = "scripted"
    return architect, builder


def _controls_of(level: Level) -> tuple[str, ...]:
    if level.sees_target:
        return ("hidden",)
    return ("muted",) if level.is_live else ("muted", "scrambled")


def _means(games: Sequence[Judged]) -> dict[str, float]:
    return {name: float(np.mean([getattr(game, name) for game in games])) for name in MEASURES}


def _played(
    level: Level,
    split: SplitName,
    pairs: Sequence[tuple[Any, Any]],
    number: int,
    tasks: Sequence[Task],
    episodes: int,
    control: str,
) -> list[Judged]:
    builder = pairs[number][1]
    env = reference_env(level, split) if plays_itself(builder) else make(level, split)
    two = hasattr(env, "possible_agents")
    player = factory(builder, Role.BUILDER)(env)
    architects = (
        [factory(spec, Role.ARCHITECT)(env) for spec in _speakers(level, split, pairs, number)] if two else []
    )
    games = []
    for episode in range(episodes):
        place = episode % len(tasks)
        task, other = tasks[place], another(tasks, place)
        acting: dict[Role, Agent] = {Role.BUILDER: player}
        if architects:
            acting[Role.ARCHITECT] = architects[episode % len(architects)]
        if control == "muted":
            acting[Role.BUILDER] = Observing(player, muted)
        elif control == "hidden":
            acting[Role.BUILDER] = Observing(player, seeing(other.target_grid), other)
        elif control == "scrambled" and architects:
            acting[Role.ARCHITECT] = Observing(acting[Role.ARCHITECT], seeing(other.target_grid))
        elif control == "scrambled":
            task = task.replace(dialog=other.dialog)
        games.append(judged(level, env, acting, task, episode))
    for agent in (player, *architects):
        agent.close()
    env.close()
    return games


def _speakers(level: Level, split: SplitName, pairs: Sequence[tuple[Any, Any]], number: int) -> Sequence[Any]:
    """Return the architects that play with the builder of a run."""
    own = pairs[number][0]
    if own is None:
        return level.architects.get(split, ("scripted",))
    if level.family == "partners" and len(pairs) > 1:
        return [architect for place, (architect, _) in enumerate(pairs) if place != number]
    return [own]
