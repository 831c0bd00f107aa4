"""The game as an environment of OpenEnv: typed actions and observations, and the server application.

Needs the extra `openenv`. Every client plays its own game over one WebSocket; the library's `GenericEnvClient` needs
nothing of this package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import Field

from iglu_marl.agents.llm.schemas import EDIT_SCHEMA
from iglu_marl.text.game import ChatMessage, TextGame

SESSIONS = 64  # maximal number of games at once


class BuilderAction(Action):
    """A builder's reply; the game checks its edits. An architect, in "both", only says."""

    edits: list[dict[str, Any]] = Field(default_factory=list, json_schema_extra={"items": EDIT_SCHEMA})
    say: str = Field("", description="a short message to the others")


class ArchitectAction(Action):
    """An architect's reply."""

    say: str = Field("", description="the next message to the builder; empty to wait")


class GameObservation(Observation):
    """The next chat (empty if the game is over) and its agent, and the outcome of the last reply.

    `rewards` are those of all agents of the model, `reward` that of the agent of the last reply.
    """

    agent: str = ""
    messages: list[ChatMessage] = Field(default_factory=list)
    score: float = 0.0
    completed: bool = False
    truncated: bool = False
    problem: str = ""
    rewards: dict[str, float] = Field(default_factory=dict)


ACTIONS: dict[str, type[Action]] = {
    "builder": BuilderAction,
    "architect": ArchitectAction,
    "both": BuilderAction,
}


class GameEnvironment(Environment):
    """One game. options: those of `TextGame`. `reset` without a seed samples one; `state` has it."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._game = TextGame(**options)
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> GameObservation:
        """Start a game, and return its first chat."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        messages = self._game.reset(seed)
        self._state = State(episode_id=episode_id, seed=seed, task=self._game.task.task_id)
        return GameObservation(messages=messages, agent=self._game.agent)

    def step(self, action: Action, timeout_s: float | None = None, **_: Any) -> GameObservation:
        """Take a reply. Raises `StateError` if no game is in progress."""
        messages, reward, done, info = self._game.step(action.model_dump(exclude={"metadata"}))
        self._state.step_count += 1
        outcome = {name: info[name] for name in ("score", "completed", "truncated", "problem", "rewards")}
        return GameObservation(messages=messages, agent=self._game.agent, reward=reward, done=done, **outcome)

    @property
    def state(self) -> State:
        """Episode id, seed, task and number of replies."""
        return self._state


def create_app(*, sessions: int = SESSIONS, **options: Any) -> Any:
    """Return the ASGI application. It plays one step first, so that clients do not wait for compilation.

    sessions: maximal number of games at once. options: those of `TextGame`. Raises `ConfigError`.
    """
    first = TextGame(**options)
    first.reset(seed=0)
    first.step(
        {"say": "Place a red block on the ground, at the centre." if first.turn == "architect" else ""}
    )
    return create_fastapi_app(
        lambda: GameEnvironment(**options), ACTIONS[first.role], GameObservation, max_concurrent_envs=sessions,
        env_name="iglu_marl",
    )  # fmt: skip
