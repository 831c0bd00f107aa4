"""The protocol: how agents are measured on a rung, each with the controls that it was not trained under."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from iglu_marl.agents.learned.zoo import zoo
from iglu_marl.benchmark.games import Judged, Observing, judged, muted, reference_env, seeing
from iglu_marl.benchmark.ladder import Rung, find, make
from iglu_marl.benchmark.results import MEASURES, Result, Run, digest_of, versions
from iglu_marl.benchmark.splits import SplitName, another, some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, ConfigError
from iglu_marl.core.task import Task
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.agent import Agent

Curve = Sequence[tuple[int, float]]


def run(
    rung: str | Rung,
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
    """Measure the agents of several runs on a rung.

    agents: one entry for each seed of training: a builder, or (architect, builder). Each is a name of
        `iglu_marl.agents`, "module:attribute", a class with `for_env(env)` or a function of the environment. A builder
        that is given by name plays the game itself, sees pose and grid, and has the game's own actions; others, and
        the trained ones of the zoo, play what `make(rung, split)` gives. Without an architect, the scripted ones of
        the rung speak. Learned pairs on the rungs of `partners` are crossed: each architect plays with the builders of
        the other runs.
    episodes: games of each run; of a split with fewer tasks each is played several times.
    curves: of each run what it reached in training, [(environment steps, share of successes)]. budget: environment
        steps of training; command: that trained and measured, for the file.
    controls: whether the same agents also play muted and scrambled, or with another target to see (`hidden`).
    output: the result file to write.

    Raises `ConfigError` and `AgentError` for what does not fit.
    """
    rung = find(rung)
    if episodes < 1 or not agents:
        raise ConfigError(
            f"there are {len(agents)} agents and {episodes} episodes, expected 1 or more of each"
        )
    if curves and len(curves) != len(agents):
        raise ConfigError(f"there are {len(curves)} curves, expected one for each of {len(agents)} agents")
    pairs = [_pair(rung, entry) for entry in agents]
    tasks = some_of(rung.tasks(split), episodes)
    found = []
    for seed in range(len(pairs)):
        progress(f"{rung.name} run {seed + 1} of {len(pairs)}")
        scores = _means(_played(rung, split, pairs, seed, tasks, episodes, ""))
        taken = {
            control: _means(_played(rung, split, pairs, seed, tasks, episodes, control))["success"]
            for control in _controls_of(rung) * controls
        }
        curve = tuple((int(steps), float(share)) for steps, share in curves[seed]) if curves else ()
        found.append(Run(seed, scores, taken, curve))
    result = Result(
        rung.name,
        rung.digest,
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


def _pair(rung: Rung, entry: Any) -> tuple[Any, Any]:
    """Architect and builder of an entry; None where a scripted architect speaks, or the task does."""
    architect, builder = entry if isinstance(entry, (tuple, list)) else (None, entry)
    if architect is not None and not rung.is_pair:
        raise AgentError(f"{rung.name} has one builder, expected no architect, got {architect!r:.60}")
    if architect is None and rung.is_pair and not rung.architects:
        if "vocabulary" in rung.game:
            raise AgentError(
                f"{rung.name} is played by pairs, expected (architect, builder), got {builder!r:.60}"
            )
        architect = "scripted"
    return architect, builder


def _plays_itself(builder: Any) -> bool:
    """Whether a builder plays the game itself, with its own actions, and sees more than the rung shows."""
    return isinstance(builder, str) and builder not in zoo()


def _controls_of(rung: Rung) -> tuple[str, ...]:
    if rung.sees_target:
        return ("hidden",)
    return ("muted",) if rung.is_live else ("muted", "scrambled")


def _means(games: Sequence[Judged]) -> dict[str, float]:
    return {name: float(np.mean([getattr(game, name) for game in games])) for name in MEASURES}


def _played(
    rung: Rung,
    split: SplitName,
    pairs: Sequence[tuple[Any, Any]],
    number: int,
    tasks: Sequence[Task],
    episodes: int,
    control: str,
) -> list[Judged]:
    """The games of one run."""
    builder = pairs[number][1]
    env = reference_env(rung, split) if _plays_itself(builder) else make(rung, split)
    two = hasattr(env, "possible_agents")
    player = factory(builder, Role.BUILDER)(env)
    architects = (
        [factory(spec, Role.ARCHITECT)(env) for spec in _speakers(rung, split, pairs, number)] if two else []
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
        games.append(judged(rung, env, acting, task, episode))
    for agent in (player, *architects):
        agent.close()
    env.close()
    return games


def _speakers(rung: Rung, split: SplitName, pairs: Sequence[tuple[Any, Any]], number: int) -> Sequence[Any]:
    """The architects that a run's builder plays with."""
    own = pairs[number][0]
    if own is None:
        return rung.architects.get(split, ("scripted",))
    if rung.family == "partners" and len(pairs) > 1:
        return [architect for place, (architect, _) in enumerate(pairs) if place != number]
    return [own]
