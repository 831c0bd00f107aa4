"""The game as an environment of OpenEnv: typed actions and observations, and the application that serves them.

Needs openenv (extra `openenv`). Every client has a game of its own, over one WebSocket; the library's own
`GenericEnvClient` plays without anything of ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from openenv.core import GenericEnvClient
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import BaseModel, Field

from iglu_marl.agents.llm.schemas import EDIT_SCHEMA
from iglu_marl.core.errors import ConfigError
from iglu_marl.text.game import ChatMessage, TextGame

SESSIONS = 64  # games at once, at most


def _told(name: str) -> Any:
    """What a property of an edit may be, for schemas; the game itself says what is wrong with another value."""
    return {key: value for key, value in EDIT_SCHEMA["properties"][name].items() if key != "type"}


class EditAction(BaseModel):
    """A block to be placed or removed."""

    action: str = Field(json_schema_extra=_told("action"))
    color: str | None = Field(None, json_schema_extra=_told("color"))
    east: int = Field(json_schema_extra=_told("east"))
    north: int = Field(json_schema_extra=_told("north"))
    height: int = Field(json_schema_extra=_told("height"))


class BuilderAction(Action):
    """A builder's reply."""

    edits: list[EditAction] = Field(default_factory=list)
    say: str = Field("", description="a short message to the architect")


class ArchitectAction(Action):
    """An architect's reply."""

    say: str = Field("", description="the next message to the builder; empty to wait")


class GameObservation(Observation):
    """What the one who plays is to answer (none when the game is over), and what became of the last reply."""

    messages: list[ChatMessage] = Field(default_factory=list)
    score: float = 0.0
    completed: bool = False
    truncated: bool = False
    problem: str = ""


ACTIONS: dict[str, type[Action]] = {"builder": BuilderAction, "architect": ArchitectAction}


class GameEnvironment(Environment):
    """One game. options: as of `TextGame`. `reset` without a seed draws one, which `state` tells."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._game = TextGame(**options)
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> GameObservation:
        """Begin a game; gives its first chat."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        messages = self._game.reset(seed)
        self._state = State(episode_id=episode_id, seed=seed, task=self._game.task.task_id)
        return GameObservation(messages=messages)

    def step(self, action: Action, timeout_s: float | None = None, **_: Any) -> GameObservation:
        """Take a reply. Raises `StateError` when no game is under way."""
        messages, reward, done, info = self._game.step(action.model_dump(exclude={"metadata"}))
        self._state.step_count += 1
        told = {name: info[name] for name in ("score", "completed", "truncated", "problem")}
        return GameObservation(messages=messages, reward=reward, done=done, **told)

    @property
    def state(self) -> State:
        """Number of the episode, seed, task and replies so far."""
        return self._state


def create_app(*, sessions: int = SESSIONS, **options: Any) -> Any:
    """The application (ASGI). sessions: games at once at most. options: as of `TextGame`, for one role.

    A game is begun here: what has to be compiled is compiled before anybody waits for it. Raises `ConfigError`.
    """
    role = options.get("role", "builder")
    if role not in ACTIONS:
        raise ConfigError(f"role is {role!r}, expected one of {', '.join(ACTIONS)}")
    first = TextGame(**options)
    first.reset(seed=0)
    first.step({"say": "Place a red block on the ground, at the centre." if role == "architect" else ""})
    return create_fastapi_app(
        lambda: GameEnvironment(**options), ACTIONS[role], GameObservation, max_concurrent_envs=sessions,
        env_name="iglu_marl",
    )  # fmt: skip


class RemoteGame:
    """A game on such a server, with `reset` and `step` of a `TextGame`. address: http://host:port."""

    def __init__(self, address: str) -> None:
        self._client = GenericEnvClient(base_url=address).sync()

    def reset(self, seed: int) -> list[ChatMessage]:
        """Begin a game; returns the chat that is to be answered."""
        messages: list[ChatMessage] = self._client.reset(seed=seed).observation["messages"]
        return messages

    def step(self, reply: dict[str, Any]) -> tuple[list[ChatMessage], float, bool, dict[str, Any]]:
        """Take a reply: (messages, reward, done, info)."""
        found = self._client.step(reply)
        info = dict(found.observation)
        return info.pop("messages"), float(found.reward or 0.0), found.done, info

    def close(self) -> None:
        """Leave the server."""
        self._client.close()
