"""Agents that play in real time: they think beside the game, which takes their decision when it is ready.

Scripted agents read and plan in processes: Python code in a thread of the server would delay the clock of all games.
Learned agents and language models think in threads. An action that needs no thought is taken at once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from iglu_marl.agents.registry import partner_for
from iglu_marl.core.dialogue import Role, Utterance, role_of
from iglu_marl.core.processes import end_with_parent
from iglu_marl.envs.live import LiveGame
from iglu_marl.game.agent import Agent, begin, is_idle, is_ready
from iglu_marl.recording.rollout import Player
from iglu_marl.web.options import AGENTS
from iglu_marl.web.warming import warm_up

# Processes of the scripted agents: two, so that one long plan does not delay all games. One core keeps the clock.
PROCESSES = max(1, min(2, (os.cpu_count() or 1) - 1))
TURN_TICKS = 20  # an idle agent acts once a second, and when others speak or end a turn
THREADS = 2  # in which agents think: more would compete with the clock
NICENESS = 10  # of the agents' processes: the clock has priority
_SCRIPTED = frozenset(name for names in AGENTS.values() for name in names)


class Thinking:
    """Where the agents of a server think. processes: for scripted agents; 0 = in threads as the others."""

    def __init__(self, processes: int = 0) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="agent")
        self._count = processes
        self._processes: Executor = self._started() if processes else self._threads

    def _started(self) -> Executor:
        context = multiprocessing.get_context("spawn")  # forks inherit connections, and locks of threads
        pool = ProcessPoolExecutor(self._count, mp_context=context, initializer=_get_ready)
        for _ in range(self._count):
            pool.submit(os.getpid)  # starts a process
        return pool

    def submit(self, name: str, agent: Agent, observation: Any) -> Future[tuple[Agent, Any]]:
        """Let an agent act; the result is the agent in its new state, and its action."""
        if name not in _SCRIPTED:
            return self._threads.submit(_act, agent, observation)
        try:
            return self._processes.submit(_act, agent, observation)
        except BrokenExecutor:  # a process was killed
            self._processes = self._started()
            return self._processes.submit(_act, agent, observation)

    def close(self, agent: Agent) -> None:
        """Close an agent."""
        self._threads.submit(agent.close)

    def shutdown(self) -> None:
        """Stop all threads and processes."""
        for pool in (self._threads, self._processes):
            pool.shutdown(wait=False, cancel_futures=True)


def _get_ready() -> None:
    """Initialise a process in which agents think."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the server, which ends its processes
    if hasattr(os, "nice"):  # not on Windows
        os.nice(NICENESS)
    warm_up()


def _act(agent: Agent, observation: Any) -> tuple[Agent, Any]:
    action = agent.act(observation)
    return agent, action


def act_at_once(agent: Agent, observation: Any) -> Future[tuple[Agent, Any]]:
    """Let an agent act now; the result is as that of `Thinking.submit`."""
    done: Future[Any] = Future()
    try:
        done.set_result(_act(agent, observation))
    except Exception as error:
        done.set_exception(error)
    return done


class Partner:
    """An agent by name that is a player of a game. Creating one may take long (models are loaded)."""

    def __init__(
        self, game: LiveGame, player: Player, name: str, thinking: Thinking, seed: int | None
    ) -> None:
        self.player, self.role, self.name = player, role_of(player), name
        self._agent = partner_for(game, player, name)
        begin(self._agent, self.role, seed, game.task)
        self._thinking = thinking
        self._thought: Future[tuple[Agent, Any]] | None = None
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
        self._agent, action = thought.result()
        return action

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
            self._thought = act_at_once(self._agent, observation)
        else:
            self._thought = self._thinking.submit(self.name, self._agent, observation)
        self._asked_at, self._asked_about, self._heard = game.ticks, now, spoken

    def is_slow(self, ticks: int) -> bool:
        """Whether it has been thinking for one second, three, five, …; to be asked in every tick of the game."""
        waits = self._thought is not None and not self._thought.done()
        if not (waits or getattr(self._agent, "is_thinking", False)):
            self._idle_at = ticks
        return (ticks - self._idle_at) % (2 * TURN_TICKS) == TURN_TICKS

    def close(self) -> None:
        """Close the agent, when it has finished thinking."""
        self._closed = True
        if self._thought is None or self._thought.cancel():
            self._thinking.close(self._agent)
        else:
            self._thought.add_done_callback(lambda _: self._agent.close())
