"""Play games of a level, and apply its success rule; and controls: games without a sense or partner that it claims.

docs/benchmark.md lists the controls. Pictures of another game come from a second environment with the other task, where
the same actions are taken. Black pictures show what is reached where all games start alike, so that pictures of another
game are one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.learned.zoo import zoo
from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.registry import known
from iglu_marl.benchmark.catalog import Level, builder_env
from iglu_marl.benchmark.results import EpisodeRow
from iglu_marl.benchmark.splits import content_digest
from iglu_marl.benchmark.strangers import GAMES, Sitting, kind_of
from iglu_marl.core.controls import at_rest
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.task import Task
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.evaluation.metrics import change_counts
from iglu_marl.game.agent import Agent
from iglu_marl.recording.rollout import play
from iglu_marl.recording.values import name_of, to_json


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
) -> tuple[EpisodeRow, dict[str, list[Any]]]:
    """Play a task in an environment of the level and apply the level's success rule.

    Return its row, of run 0 and no partner, and the actions by player, JSON-ready. With a stranger, the game is the
    next one of the sitting, whose blocks follow from the seed. on_step: as of `play`.

    Raises `AgentError` if the world was edited from outside.
    """
    about = (0, content_digest(task), "", seed)
    if level.is_repeated:
        won, changes, action = _play_in_sitting(env, agents[learner(level)], learner(level), seed)
        return EpisodeRow(*about, won, won, float(won), changes, 1), {learner(level).value: [action]}
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
    return EpisodeRow(*about, success, game.completed, float(counts.f1), changes, game.builder_steps), actions


def _play_in_sitting(env: Sitting, agent: Agent, role: Role, number: int) -> tuple[bool, int, list[int]]:
    """Play the next game of a sitting, and return whether it is won, the number of blocks, and the action.

    The first game resets the agent. number: that of the game over all sittings.
    """
    sitting, game = divmod(number, GAMES)
    if game == 0:
        agent.reset(role, sitting)
        env.reset(seed=sitting)
    action = np.asarray(agent.act(env.observation)).astype(np.int64)
    won = env.step(action)[1] > 0
    return won, int(env.sittings.changes[0]), action.tolist()


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


# ---------------------------------------------------------------------------------------------------------- controls


class Scheduled(NamedTuple):
    """A game to play.

    number: its seed. other: task whose message, target or pictures a control gets. dark: whether `unsighted` has black
    pictures.
    """

    number: int
    task: Task
    other: Task
    dark: bool = False


def controlled(
    control: str, game: Scheduled, agents: Mapping[Any, Agent], env: Any, second_env: Callable[[], Any]
) -> dict[Any, Agent]:
    """Return the agents of a game as a control has them.

    Args:
        control: name of the control; "": none.
        game: the game.
        agents: the agents by role or name.
        env: the environment of the game.
        second_env: returns a second environment like it.

    """
    other: Callable[[Any], Any] = partial(_with_target, game.other.target_grid)
    changed: dict[Any, Any] = {}
    for player, agent in agents.items():
        builds = role_of(player) is Role.BUILDER
        if control == "muted" and builds:
            changed[player] = Observing(agent, muted)
        elif control == "blind" and builds:
            changed[player] = Observing(agent, other, game.other)
        elif control == "scrambled" and not builds:
            changed[player] = Observing(agent, other)
        elif control == "unsighted":
            changed[player] = Unsighted(agent, game, second_env)
        elif control == "alone" and not player.endswith("_0"):
            changed[player] = Resting(env.action_space(player))
    return {**agents, **changed}


def muted(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the observation with an empty dialogue."""
    dialog = observation["dialog"]
    return {**observation, "dialog": "" if isinstance(dialog, str) else np.zeros_like(dialog)}


def _with_target(target: npt.NDArray[Any], observation: Mapping[str, Any]) -> dict[str, Any]:
    return {**observation, "target_grid": target.astype(observation["target_grid"].dtype)}


def silenced(level: Level) -> Level:
    """Return the level of a team in which architects are heard by themselves alone: its `muted`."""
    speakers = [f"architect_{number}" for number in range(level.game["architects"])]
    return replace(level, game={**level.game, "hearers": dict.fromkeys(speakers, ())})


class Observing:
    """An agent with other observations.

    see: maps an observation to the one that the agent gets. task: task that a privileged agent gets instead of the
    episode's.
    """

    def __init__(self, agent: Agent, see: Callable[[Any], Any], task: Task | None = None) -> None:
        self.agent, self.see, self.task = agent, see, task

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    def reset(self, role: Role, seed: int | None, **options: Any) -> None:
        """Reset the agent."""
        if self.task is not None and "task" in options:
            options["task"] = self.task
        self.agent.reset(role, seed, **options)

    def act(self, observation: Any) -> Any:
        """Return the agent's action for the changed observation."""
        return self.agent.act(self.see(observation))

    def close(self) -> None:
        """Close the agent."""
        self.agent.close()


class Unsighted(Observing):
    """A builder that gets black pictures, or those of another game with its actions."""

    def __init__(self, agent: Agent, game: Scheduled, second_env: Callable[[], Any]) -> None:
        super().__init__(agent, self._without_pictures)
        self._game, self._second_env = game, second_env
        self._env: Any = None
        self._over = False

    def _without_pictures(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        if "pov" not in observation:  # of a scripted builder
            return dict(observation)
        if self._game.dark:
            return {**observation, "pov": np.zeros_like(observation["pov"])}
        if self._env is None:
            self._env = self._second_env()
            options = {"task": self._game.other}
            self._observed, _ = self._env.reset(seed=self._game.number, options=options)
        return {**observation, "pov": self._observed["pov"].copy()}

    def act(self, observation: Any) -> Any:
        """Return the agent's action, and repeat it in the other game."""
        action = super().act(observation)
        if self._env is not None and not self._over:
            self._observed, _, *ends, _ = self._env.step(action)
            self._over = any(ends)
        return action


class Resting:
    """An agent that does nothing. space: its action space."""

    idle = True

    def __init__(self, space: Any) -> None:
        self._rest = at_rest(space)

    def reset(self, role: Role, seed: int | None) -> None:
        """Do nothing."""

    def act(self, observation: Any) -> Any:
        """Return the action of doing nothing."""
        return self._rest

    def close(self) -> None:
        """Do nothing."""
