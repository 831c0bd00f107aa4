"""Play games of a level and apply its success rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.learned.zoo import zoo
from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.random import RandomArchitect
from iglu_marl.agents.registry import known, seated
from iglu_marl.benchmark.catalog import Level, builder_env
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.task import Task
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.evaluation.metrics import change_counts
from iglu_marl.game.agent import Agent
from iglu_marl.recording.rollout import Trajectory, play

Array = npt.NDArray[Any]

# ------------------------------------------------------------------------------------------------------- one by one


class Judged(NamedTuple):
    """Outcome of a game.

    f1: F1 of the changes. changes: number of block changes. steps: number of builder steps.
    """

    success: bool
    completed: bool
    f1: float
    changes: int
    steps: int


Played = Callable[[Trajectory], None]


class ChangeCounter:
    """Count block changes; an `on_step` callback of `play`."""

    def __init__(self) -> None:
        self.count = 0
        self._grid: Array | None = None

    def __call__(self, env: Any) -> None:
        """Compare the build with that of the previous step."""
        grid = env.unwrapped.episode.worlds.grid[0]
        if self._grid is not None:
            self.count += int(np.count_nonzero(grid != self._grid))
        self._grid = grid.copy()


def judged(
    level: Level,
    env: Any,
    agents: Mapping[Any, Agent],
    task: Task,
    seed: int,
    after: Played = lambda game: None,
    on_step: Callable[[Any], None] = lambda env: None,
) -> Judged:
    """Play a task in an environment of the level and apply the level's success rule.

    after: called with the game. on_step: as of `play`.
    """
    changes = ChangeCounter()

    def stepped(env: Any) -> None:
        changes(env)
        on_step(env)

    game = play(env, dict(agents), seed=seed, options={"task": task}, on_step=stepped)
    after(game)
    return judgement(level, game, changes.count, game.builder_steps)


def judgement(level: Level, game: Trajectory, changes: int, steps: int) -> Judged:
    """Return the outcome of a game that ended. Raises `AgentError` if its world was edited from outside."""
    game.check_unedited()
    task = game.task.in_ids("iglu")
    assert game.grid is not None  # since it ended
    counts = change_counts(task.start_grid, task.target_grid, game.grid, invariant=task.is_invariant)
    success = level.is_success(game.task, game.completed, changes)
    return Judged(success, game.completed, float(counts.f1), changes, steps)


def silent_architect(env: Any) -> Agent:
    """Return an architect that says nothing."""
    return RandomArchitect.for_env(env, silence=1.0)


def team_of(level: Level, env: Any, architect: Any, builder: Any) -> dict[str, Agent]:
    """Return the agents of all seats of a team level by name, from one spec for each role; {} on other levels."""
    if not level.is_team:
        return {}
    return {
        agent: seated(builder if role_of(agent) is Role.BUILDER else architect, env, agent)
        for agent in env.possible_agents
    }


def plays_itself(builder: Any) -> bool:
    """Whether a builder is an untrained one of this package, by name.

    Such builders use the game's own actions and observe more than the level shows.
    """
    named = isinstance(builder, str) and builder not in zoo()
    return named and (builder.startswith(NamedModel.PREFIX) or builder in known(Role.BUILDER))


def reference_env(level: Level, split: Any) -> Any:
    """Return the level's game with the observations and actions that scripted builders need."""
    sees = tuple(name for name in dict.fromkeys((*level.sees, "grid", "pose", "dialog")) if name != "pov")
    if level.is_pair or level.is_live:
        return parallel_env(level.config(split, builder_sees=sees))
    return builder_env(level, split, sees=(*sees, *(("target",) * level.sees_target)))
