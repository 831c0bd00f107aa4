"""Agents that play in real time: they think beside the game, which takes their decision when it is ready.

They think in threads, which give way to the clock (`warming.SWITCH_S`); language models in threads of their own. An
action without thought is taken at once.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

from iglu_marl.agents.registry import partner_for
from iglu_marl.core.dialogue import Role, Utterance, role_of
from iglu_marl.core.jobs import ThreadPerCall, settle
from iglu_marl.envs.live import LiveGame
from iglu_marl.game.agent import asks_service, begin, is_idle, is_ready
from iglu_marl.recording.rollout import Player

TURN_TICKS = 20  # an idle agent acts once a second, and when others speak or end a turn


class AtOnce(Executor):
    """Runs what is submitted now."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Call a function, and return what it returned or raised."""
        done: Future[Any] = Future()
        settle(done, partial(function, *arguments, **options))
        return done


AT_ONCE, THREAD_PER_CALL = AtOnce(), ThreadPerCall()


class Partner:
    """An agent by name that is a player of a game. Creating one may take long (models are loaded)."""

    def __init__(
        self, game: LiveGame, player: Player, name: str, thinking: Executor, seed: int | None
    ) -> None:
        self.player, self.role = player, role_of(player)
        self._agent = partner_for(game, player, name)
        begin(self._agent, self.role, seed, game.task)
        self._thinking = THREAD_PER_CALL if asks_service(self._agent) else thinking
        self._thought: Future[Any] | None = None
        self._asked_at = -TURN_TICKS
        self._idle_at = 0
        self._asked_about: Any = None
        self._heard: Utterance | None = None  # the last utterance of others
        self._closed = False

    def decided(self) -> Any:
        """Return the action that it has decided on, once; None while it thinks. Raises the agent's errors."""
        if self._thought is None or not self._thought.done():
            return None
        thought, self._thought = self._thought, None
        return thought.result()

    def consult(self, game: LiveGame) -> None:
        """Show the game to the agent, if it is not thinking and its time has come."""
        if self._thought is not None or self._closed:
            return
        heard, own = game.view_of(self.player).dialogue, game.speakers[self.player]
        now = len(heard), game.episode.floor
        waits = self.role == Role.ARCHITECT or is_idle(self._agent)
        if waits and game.ticks - self._asked_at < TURN_TICKS and now == self._asked_about:
            return
        observation = game.observe(game.agent_of[self.player])
        spoken = next((said for said in reversed(heard) if said.speaker != own), None)
        # only the builder of a pair knows all edits before
        edited = self.player != Role.BUILDER and game.edited > self._asked_at
        if is_ready(self._agent) and spoken is self._heard and not edited:
            self._thought = AT_ONCE.submit(self._agent.act, observation)
        else:
            self._thought = self._thinking.submit(self._agent.act, observation)
        self._asked_at, self._asked_about, self._heard = game.ticks, now, spoken

    def is_slow(self, ticks: int) -> bool:
        """Whether it has been thinking for one second, three, five, …; to be asked in every tick of the game."""
        if self._thought is None or self._thought.done():
            self._idle_at = ticks
        return (ticks - self._idle_at) % (2 * TURN_TICKS) == TURN_TICKS

    def close(self) -> None:
        """Close the agent, when it has finished thinking."""
        self._closed = True
        if self._thought is None or self._thought.cancel():
            self._thinking.submit(self._agent.close)
        else:
            self._thought.add_done_callback(lambda _: self._agent.close())
