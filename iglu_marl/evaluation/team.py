"""Metrics of teams: what each agent of a game contributed."""

from __future__ import annotations

from typing import Any

import numpy as np

from iglu_marl.core.grid import ZONE_SHAPE, index_of
from iglu_marl.core.kernels.records import PLACE_IN_THE_WAY

NOBODY = -1


class TeamTally:
    """Count what each agent of a team does in a game: `play(env, agents, on_step=tally)`, then `tally.counts`.

    | count | of | meaning |
    |---|---|---|
    | `steps` | builders | steps, also those in which it waits for the others |
    | `idle` | builders | steps without an edit, a motion, a selection or a message |
    | `placed`, `removed` | builders | edits |
    | `earned` | builders | sum of the rewards of its own acts, whoever is paid |
    | `conflicts` | builders | edits of a cell that another builder edited last, and placements where a builder stood |
    | `messages`, `words` | all | what it said |

    A reset starts the counts again.
    """

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, float]] = {}
        self._editors = np.full(ZONE_SHAPE, NOBODY)  # who edited a cell last
        self._steps = self._seen = np.zeros(0)  # of each builder before this move
        self._said = 0

    def __call__(self, env: Any) -> None:
        """Add the last move of a game."""
        episode = env.unwrapped.episode
        worlds, config = episode.worlds, episode.config
        builders = config.agents[config.architects :]
        if not self.counts or not worlds.steps.any() or int(worlds.steps.sum()) < int(self._steps.sum()):
            self._begin(config.agents, builders)
        elif worlds.steps.any():
            fresh = [(said.role.value, said.number or 0) for said in episode.dialogue[self._said :]]
            for row, builder in enumerate(builders):
                if worlds.steps[row] != self._steps[row]:
                    self._add(row, worlds, self.counts[builder], ("builder", row) in fresh)
        for said in episode.dialogue[self._said :]:
            counts = self.counts[f"{said.role.value}_{said.number or 0}"]
            counts["messages"] += 1
            counts["words"] += len(said.text.split())
        self._said = len(episode.dialogue)
        self._steps = worlds.steps.copy()
        self._seen = np.column_stack([worlds.pose, worlds.active])

    def _begin(self, agents: tuple[str, ...], builders: tuple[str, ...]) -> None:
        acts = ("steps", "idle", "placed", "removed", "earned", "conflicts")
        self.counts = {
            agent: dict.fromkeys((*(acts if agent in builders else ()), "messages", "words"), 0)
            for agent in agents
        }
        self._editors = np.full(ZONE_SHAPE, NOBODY)
        self._said = 0

    def _add(self, row: int, worlds: Any, counts: dict[str, float], spoke: bool) -> None:
        *cell, old, new = worlds.change[row].tolist()
        counts["steps"] += 1
        counts["earned"] += float(worlds.reward[row])
        if old != new:
            counts["placed" if new else "removed"] += 1
            where = index_of(tuple(cell))
            counts["conflicts"] += int(self._editors[where] not in (NOBODY, row))
            self._editors[where] = row
        elif worlds.event[row] == PLACE_IN_THE_WAY:
            counts["conflicts"] += 1
        elif not spoke:
            now = (*worlds.pose[row].tolist(), float(worlds.active[row]))
            counts["idle"] += int(now == tuple(self._seen[row].tolist()))
