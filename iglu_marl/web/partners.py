"""Agents that play in real time: they think in a thread, and the game takes what they have decided when it is there."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any

from iglu_marl.agents.registry import partner_for
from iglu_marl.core.dialogue import Role
from iglu_marl.envs.live import LiveGame
from iglu_marl.game.agent import begin, is_idle

TURN_TICKS = 20  # who has nothing to do looks up once a second, and when somebody speaks or ends a turn


class Partner:
    """An agent by name in one role of a game. Making one may take long (models are loaded)."""

    def __init__(self, game: LiveGame, role: Role, name: str, pool: Executor, seed: int | None) -> None:
        self.role, self.name = role, name
        self._agent = partner_for(game, role, name)
        begin(self._agent, role, seed, game.task)
        self._pool = pool
        self._thought: Future[Any] | None = None
        self._asked_at = -TURN_TICKS
        self._asked_about: Any = None
        self._closed = False

    def decided(self) -> Any:
        """The action that it has decided on, once; None while it thinks. Raises what the agent raised."""
        if self._thought is None or not self._thought.done():
            return None
        thought, self._thought = self._thought, None
        return thought.result()

    def consult(self, game: LiveGame) -> None:
        """Show it the game, if it is not thinking and its time has come."""
        if self._thought is not None or self._closed:
            return
        now = len(game.episode.dialogue), game.episode.floor
        waits = self.role == Role.ARCHITECT or is_idle(self._agent)
        if waits and game.ticks - self._asked_at < TURN_TICKS and now == self._asked_about:
            return
        self._asked_at, self._asked_about = game.ticks, now
        self._thought = self._pool.submit(self._agent.act, game.observe(f"{self.role.value}_0"))

    def close(self) -> None:
        """Release what the agent holds, when it has done thinking."""
        self._closed = True
        if self._thought is None or self._thought.cancel():
            self._pool.submit(self._agent.close)
        else:
            self._thought.add_done_callback(lambda _: self._agent.close())
