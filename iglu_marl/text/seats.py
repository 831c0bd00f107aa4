"""What an agent of a game of text knows and has."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.llm.decision import ModelClient
from iglu_marl.agents.llm.seat import DoneNotes, TeamSeat
from iglu_marl.core.grid import BLOCKS_PER_COLOR, BlockGrid
from iglu_marl.game.knowledge import Parts

if TYPE_CHECKING:
    from iglu_marl.text.game import TextGame


class TextSeat:
    """One agent of a game: what it sees, hears and has, and what it was shown, if the model plays it."""

    def __init__(self, game: TextGame, agent: str, answers: str) -> None:
        config, self._settings, self._answers = game.config, game.settings, answers
        self.agent, self.place = agent, TeamSeat.of(game.config, agent)
        self.role = self.place.me[0]
        self.heard = config.heard_by(agent)
        self._parts = Parts(config.parts_of(agent)) if config.is_team else None
        self.stock = np.array((config.inventories or {}).get(agent, [BLOCKS_PER_COLOR] * 6), np.int64)

    @cached_property
    def client(self) -> ModelClient:
        """Its prompts and failures."""
        return ModelClient(self.role, self._settings, None, self._answers)

    def begin(self, seed: int) -> None:
        """Start an episode."""
        self.client.begin(seed)
        self.used = np.zeros(6, np.int64)  # blocks by color
        self.shown: tuple[int, BlockGrid] | None = None  # length of the dialogue, and build, of its last chat
        self.done = DoneNotes(self.place)

    def target(self, target: BlockGrid) -> dict[str, npt.NDArray[Any]]:
        """Return what it observes of the target."""
        if self._parts is None:
            return {"target_grid": target}
        mask = self._parts.mask(target)
        return {"target_grid": target * mask, "target_mask": mask, "target_sides": self._parts.sides(target)}


def block_counts(grid: BlockGrid) -> npt.NDArray[np.int64]:
    """Return the number of blocks of each color, int64 [6]."""
    return np.bincount(grid.ravel(), minlength=7)[1:]
