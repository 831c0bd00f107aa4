"""Cross-play: every architect with every builder, learned or scripted, in batches of games."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.batches import AgentBatch, BatchGame, BatchPlayer, is_batch, judged_many
from iglu_marl.benchmark.catalog import Level, find, make
from iglu_marl.benchmark.games import plays_itself, reference_env
from iglu_marl.benchmark.splits import SplitName, some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.vector_game import VectorGame

Array = npt.NDArray[Any]


def cross_play(
    level: str | Level,
    architects: Mapping[str, Any],
    builders: Mapping[str, Any],
    *,
    games: int = 64,
    split: SplitName = "test",
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """Return the success rate of every architect with every builder: `result[architect][builder]`.

    Args:
        level: a two-agent level or its name.
        architects: by label, a `BatchPlayer`, a name of `iglu_marl.agents`, a class with `for_env(env)`, or a function
            of the environment.
        builders: the same for builders. A builder by name uses the game's own actions and observes pose and grid;
            others use the actions of `make`.
        games: games per pair, on the same tasks.
        split: split of the tasks.
        seed: seed of tasks and agents.

    Raises:
        ConfigError: if the level has a single builder.

    """
    level = find(level)
    if not level.is_pair or level.is_team:
        raise ConfigError(f"level is {level.name!r}, expected one of pairs (architect and builder)")
    tasks = some_of(level.tasks(split), games, seed)
    played = [BatchGame(seed + number, tasks[number % len(tasks)]) for number in range(games)]
    found: dict[str, dict[str, float]] = {name: {} for name in architects}
    for builder_name, builder in builders.items():
        env, single = _games(level, split, games, plays_itself(builder))
        player = _player(builder, Role.BUILDER, single)
        for name, architect in architects.items():
            speaker = _player(architect, Role.ARCHITECT, single)
            outcomes = judged_many(level, env, speaker, player, played)
            found[name][builder_name] = float(np.mean([one.success for one, _ in outcomes]))
        env.close()
    return found


def _games(level: Level, split: SplitName, count: int, own_actions: bool) -> tuple[Any, Any]:
    """Return a batch of games and a single one like them."""
    if not own_actions:
        return make(level, split, count), make(level, split)
    single = reference_env(level, split)
    return VectorGame(count, single.unwrapped.config), single


def _player(spec: Any, role: Role, env: Any) -> BatchPlayer:
    if is_batch(spec):
        player: BatchPlayer = spec
        return player
    return AgentBatch(spec, role, env)
