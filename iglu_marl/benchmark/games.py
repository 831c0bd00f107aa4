"""Play games of a level and apply its success rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.learned.zoo import zoo
from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.registry import known
from iglu_marl.benchmark import strangers
from iglu_marl.benchmark.catalog import Level, builder_env
from iglu_marl.benchmark.codes import kind_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.task import Task
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.evaluation.metrics import change_counts
from iglu_marl.game.agent import Agent
from iglu_marl.recording.rollout import play
from iglu_marl.recording.values import name_of, to_json


class Judged(NamedTuple):
    """Outcome of a game.

    f1: F1 of the changes. changes: number of block changes. steps: number of builder steps.
    """

    success: bool
    completed: bool
    f1: float
    changes: int
    steps: int


def learner(level: Level) -> Role:
    """Return the role of the agent on a level of strangers."""
    return Role.ARCHITECT if kind_of(level.name) == "listen" else Role.BUILDER


def judged(
    level: Level,
    env: Any,
    agents: Mapping[Any, Agent],
    task: Task,
    seed: int,
    on_step: Callable[[Any], None] = lambda env: None,
) -> tuple[Judged, dict[str, list[Any]]]:
    """Play a task in an environment of the level and apply the level's success rule.

    Return the outcome and the actions by player, JSON-ready. With a stranger, the game is the next one of the sitting,
    whose blocks follow from the seed. on_step: as of `play`.

    Raises `AgentError` if the world was edited from outside.
    """
    if level.is_repeated:
        return _judged_in_sitting(env, agents[learner(level)], learner(level), seed)
    grids: list[npt.NDArray[Any]] = []
    changes = 0

    def stepped(env: Any) -> None:
        nonlocal changes
        grid = env.unwrapped.episode.worlds.grid[0]
        changes += int(np.count_nonzero(grid != grids.pop())) if grids else 0
        grids.append(grid.copy())
        on_step(env)

    game = play(env, dict(agents), seed=seed, options={"task": task}, on_step=stepped)
    game.check_unedited()
    own = game.task.in_ids("iglu")
    assert game.grid is not None  # since it ended
    counts = change_counts(own.start_grid, own.target_grid, game.grid, invariant=own.is_invariant)
    success = level.is_success(game.task, game.completed, changes)
    actions: dict[str, list[Any]] = {name_of(player): [] for player in agents}
    for turn in game.turns:
        actions[name_of(turn.role)].append(to_json(turn.action))
    return Judged(success, game.completed, float(counts.f1), changes, game.builder_steps), actions


def _judged_in_sitting(
    env: strangers.Sitting, agent: Agent, role: Role, number: int
) -> tuple[Judged, dict[str, list[Any]]]:
    """Play the next game of a sitting; the first one resets the agent, too. number: of the game, over all sittings."""
    sitting, game = divmod(number, strangers.GAMES)
    if game == 0:
        agent.reset(role, sitting)
        env.reset(seed=sitting)
    action = np.asarray(agent.act(env.observation)).astype(np.int64)
    won = env.step(action)[1] > 0
    changes = int(env.sittings.changes[0])
    return Judged(won, won, float(won), changes, 1), {role.value: [action.tolist()]}


def plays_itself(builder: Any) -> bool:
    """Whether a builder is an untrained one of this package, by name.

    Such builders use the game's own actions and observe more than the level shows.
    """
    named = isinstance(builder, str) and builder not in zoo()
    return named and (builder.startswith(NamedModel.PREFIX) or builder in known(Role.BUILDER))


def reference_env(level: Level, split: Any) -> Any:
    """Return the level's game with the observations and actions that scripted builders need."""
    fields = dict.fromkeys((*level.sees, "grid", "pose", "dialog"))
    level = replace(level, sees=tuple(name for name in fields if name != "pov"))
    return parallel_env(level.config(split)) if level.is_pair else builder_env(level, split)
