"""Every architect with every builder in games side by side: learned with learned, learned with scripted.

Who plays is made for a batch of games: it has `begin(count, seed)`, and `act(observations)` gives a batch of actions
for a batch of observations. `AgentBatch` makes one of agents that play one game each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.games import Judge, reference_env
from iglu_marl.benchmark.ladder import Rung, find, make
from iglu_marl.benchmark.splits import SplitName, some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.batch_observations import rows
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.agent import Agent

Array = npt.NDArray[Any]


class BatchPlayer(Protocol):
    """Plays one role in many games at once."""

    def begin(self, count: int, seed: int) -> None:
        """Begin `count` games; all chance follows from the seed."""

    def act(self, observations: Any) -> Any:
        """A batch of actions for a batch of observations."""


class AgentBatch:
    """A player of many games made of agents of one kind: one for each game.

    spec: as of `iglu_marl.evaluation.evaluate`. env: a single game like those of the batch.
    """

    def __init__(self, spec: Any, role: Role, env: Any) -> None:
        self._make, self._role, self._env = factory(spec, role), role, env
        self.agents: list[Agent] = []

    def begin(self, count: int, seed: int) -> None:
        """Reset an agent for each game."""
        while len(self.agents) < count:
            self.agents.append(self._make(self._env))
        for number, agent in enumerate(self.agents[:count]):
            agent.reset(self._role, seed + number)

    def act(self, observations: Any) -> Any:
        """What each agent does in its game."""
        count = len(next(iter(observations.values())))
        return _stacked(
            [agent.act(rows(observations, game)) for game, agent in enumerate(self.agents[:count])]
        )


def _stacked(actions: Sequence[Any]) -> Any:
    if isinstance(actions[0], Mapping):
        return {key: _stacked([action[key] for action in actions]) for key in actions[0]}
    return np.stack([np.asarray(action) for action in actions])


def cross_play(
    rung: str | Rung,
    architects: Mapping[str, Any],
    builders: Mapping[str, Any],
    *,
    games: int = 64,
    split: SplitName = "test",
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """The share of successes of every architect with every builder: `found[architect][builder]`.

    architects, builders: by name; a `BatchPlayer`, or what makes agents for an environment (a name of
        `iglu_marl.agents`, a class with `for_env(env)`, a function). A builder given by name has the game's own
        actions, and sees pose and grid; others have the actions of `make`.
    games: of each pair, at the same tasks.

    Raises `ConfigError` for a rung without pairs.
    """
    rung = find(rung)
    if not rung.is_pair:
        raise ConfigError(f"rung is {rung.name!r}, which has no architect to learn; expected one of pairs")
    tasks = some_of(rung.tasks(split), games, seed)
    tasks = [tasks[number % len(tasks)] for number in range(games)]
    found: dict[str, dict[str, float]] = {name: {} for name in architects}
    for builder_name, builder in builders.items():
        env, single = _games(rung, split, games, isinstance(builder, str))
        player = _player(builder, Role.BUILDER, single)
        for name, architect in architects.items():
            speaker = _player(architect, Role.ARCHITECT, single)
            success = side_by_side(rung, env, speaker, player, tasks, seed)
            found[name][builder_name] = float(success.mean())
        env.close()
    return found


def _games(rung: Rung, split: SplitName, count: int, own_actions: bool) -> tuple[Any, Any]:
    """Many games, and one like them."""
    if not own_actions:
        return make(rung, split, count), make(rung, split)
    single = reference_env(rung, split)
    return VectorGame(count, single.unwrapped.config), single


def _player(spec: Any, role: Role, env: Any) -> BatchPlayer:
    if callable(getattr(spec, "begin", None)) and callable(getattr(spec, "act", None)):
        player: BatchPlayer = spec
        return player
    return AgentBatch(spec, role, env)


def side_by_side(
    rung: Rung, games: Any, architect: BatchPlayer, builder: BatchPlayer, tasks: Sequence[Any], seed: int = 0
) -> npt.NDArray[np.bool_]:
    """Play a task in each game of a batch (`make(rung, split, num_envs)`), and tell who succeeds, bool [num_envs]."""
    observations, _ = games.reset(seed=seed, options={"task": list(tasks)})
    judge = Judge(rung, tasks)
    for number, player in enumerate((architect, builder)):
        player.begin(len(tasks), seed + 10_000 * number)
    for _ in range(rung.max_steps):
        actions = {
            ARCHITECT: architect.act(observations[ARCHITECT]),
            BUILDER: builder.act(observations[BUILDER]),
        }
        observations, _, terminated, truncated, infos = games.step(actions)
        judge.after(infos[BUILDER]["event"], terminated[BUILDER], truncated[BUILDER])
        if not judge.playing.any():
            break
    return judge.success


class OtherPlay:
    """A `VectorGame` whose symbols are renamed in each game at random, anew after each reset: other-play.

    A pair that trains in it cannot agree on what a symbol stands for, only on what survives any renaming, and so it
    plays as well with the architects of other runs as with its own (Hu et al., "Other-Play" for Zero-Shot
    Coordination, 2020). games: with token chat. seed: decides the renamings.

    A renaming lasts until its game ends; token 0, silence, keeps its meaning.
    """

    def __init__(self, games: Any, seed: int = 0) -> None:
        self._games, self._rng = games, np.random.default_rng(seed)
        self._size = int(games.action_space(ARCHITECT).nvec.max())
        self._names = self._drawn(np.arange(games.num_games))

    def _drawn(self, chosen: Array) -> Array:
        order = self._rng.random((len(chosen), self._size - 1)).argsort(axis=1) + 1
        return np.concatenate([np.zeros((len(chosen), 1), order.dtype), order], axis=1)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._games, name)

    def reset(self, seed: Any = None, options: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin all games, with new names."""
        self._names = self._drawn(np.arange(self._games.num_games))
        return self._games.reset(seed=seed, options=options)

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """One step; what the architect says reaches the builder under its game's names."""
        said = np.take_along_axis(self._names, np.asarray(actions[ARCHITECT]), axis=1)
        result = self._games.step({**actions, ARCHITECT: said})
        over = np.flatnonzero(result[2][BUILDER] | result[3][BUILDER])
        if len(over):
            self._names[over] = self._drawn(over)
        return result
