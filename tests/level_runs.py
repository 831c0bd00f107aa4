"""Duration of a level's run now and at another commit: `python tests/level_runs.py --before FOLDER`.

FOLDER is a checkout of the other commit. A run is `iglu_marl.benchmark.run` with one player of random actions, and an
architect that repeats one message where a learned one is needed. Both commits take turns, each time in a new process
that has played two games before. Durations are CPU seconds, the least of `--times`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from rich.console import Console
from rich.table import Table

_CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import iglu_marl
sys.path[0] = sys.argv[2] + "/tests"
from level_runs import measure
print(measure(sys.argv[3], int(sys.argv[4])))
"""


class Player:
    """Random numbers of actions; everything else is zero."""

    def __init__(self, space: Any) -> None:
        self._space = space

    def reset(self, role: Any, seed: int | None) -> None:
        """Start a game."""
        self.begin(1, seed)
        self._one = True

    def begin(self, count: int, seed: int | None) -> None:
        """Start games side by side."""
        self._rng, self._count, self._one = np.random.default_rng(seed), count, False

    def act(self, observation: Any) -> Any:
        """Return the actions."""
        return self._actions(self._space)

    def _actions(self, space: Any) -> Any:
        if isinstance(space, spaces.Dict):
            return {key: self._actions(part) for key, part in space.items()}
        if isinstance(space, spaces.Discrete):
            found = self._rng.integers(space.n, size=self._count)
        else:
            found = np.zeros((self._count, *space.shape), space.dtype)
        return found[0] if self._one else found

    def close(self) -> None:
        """Release nothing."""


def builder(env: Any) -> Player:
    """Return the builder of an environment."""
    return Player(env.action_space("builder_0") if callable(env.action_space) else env.action_space)


def architect(env: Any) -> Player:
    """Return the architect of an environment."""
    return Player(env.action_space("architect_0"))


def measure(name: str, episodes: int) -> float:
    """Return the CPU seconds of a run."""
    from iglu_marl import benchmark

    level = benchmark.find(name)
    learned = "vocabulary" in level.game and not level.architects
    agents = [(architect, builder) if learned else builder]
    benchmark.run(name, agents, episodes=2)
    start = time.process_time()
    benchmark.run(name, agents, episodes=episodes)
    return time.process_time() - start


def main() -> None:
    """Print a table of levels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("levels", nargs="*", help="names; by default, all that have no pictures and no team")
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--times", type=int, default=2)
    args = parser.parse_args()
    from iglu_marl import benchmark

    names = args.levels or [
        level.name
        for level in benchmark.levels()
        if not level.is_team and "pov" not in level.sees and level.name != "told-human-v1"
    ]
    table, ours = Table("level", "before", "now", "times faster"), Path(__file__).parents[1]
    for name in names:
        took: list[list[float]] = [[], []]
        for turn in range(2 * args.times):
            folder = str((args.before, ours)[turn % 2])
            given = folder, str(ours), name, str(args.episodes)
            command = [sys.executable, "-W", "ignore", "-c", _CHILD, *given]
            ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            took[turn % 2].append(float(ran.stdout))
        before, now = map(min, took)
        table.add_row(name, f"{before:.2f}", f"{now:.2f}", f"{before / now:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
