"""Agents of this package as partners of a model in a game of text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from iglu_marl.agents.registry import seated
from iglu_marl.core.dialogue import Role
from iglu_marl.core.task import Task
from iglu_marl.envs.aec import raw_env
from iglu_marl.game.agent import Agent, begin
from iglu_marl.game.config import GameConfig

if TYPE_CHECKING:
    from iglu_marl.text.game import TextGame

SILENCES = 8  # silent turns of all architects until the builders are asked anyway
FREE: dict[str, Any] = {  # the game of a builder who flies, as long as it takes
    "controls": "flying",
    "builder_can_ask": True,
    "builder_sees": ("dialog", "inventory", "pose", "grid"),
    "max_turns": None,
    "max_steps": None,
    "turn_steps": 200,
}


@lru_cache(maxsize=1)
def _pair_env() -> Any:
    """Return an environment for the settings that agents read; it is never stepped."""
    return raw_env(GameConfig(**FREE))


class Architects:
    """Partners for the model's builders. They observe target and build, and builders that stand still."""

    def __init__(self, name: str, config: GameConfig) -> None:
        env = raw_env(config) if config.is_team else _pair_env()
        self._names = config.agents[: config.architects]
        self._agents: list[Agent] = [seated(name, env, agent) for agent in self._names]

    def reset(self, task: Task, seed: int) -> None:
        """Start an episode."""
        for agent in self._agents:
            begin(agent, Role.ARCHITECT, seed, task)

    def answer(self, game: TextGame, said: str) -> None:
        """Say the next utterances, after at most `SILENCES` silent turns."""
        builders = game.config.builders
        pose = np.zeros((builders, 5) if game.config.is_team else 5, np.float32)
        for _ in range(SILENCES):
            before = game.dialogue
            for name, agent in zip(self._names, self._agents, strict=True):
                seat = game.seats[name]
                grids = {"grid": game.grid, **seat.target(game.target)}
                seen = {
                    "dialog": game.dialogue.of_speakers(seat.heard).text, "agentPos": pose,
                    **{key: grid.astype(np.int32) for key, grid in grids.items()},
                }  # fmt: skip
                if text := str(agent.act(seen)):
                    game.say(seat.place.me, text)
            if game.dialogue is not before:
                return


class Builders:
    """Partners for the model's architects. They fly in an environment of their own."""

    def __init__(self, name: str, config: GameConfig) -> None:
        self._env = raw_env(config)
        builders = config.agents[config.architects :]
        self._agents: dict[str, Agent] = {agent: seated(name, self._env, agent) for agent in builders}

    def reset(self, task: Task, seed: int) -> None:
        """Start an episode."""
        self._env.reset(seed=seed, options={"task": task})
        for agent in self._agents.values():
            begin(agent, Role.BUILDER, seed, task)

    def answer(self, game: TextGame, said: str) -> None:
        """Hear what the architects said in this turn, build, and optionally speak."""
        env = self._env
        heard = len(env.unwrapped.episode.dialogue)
        for agent in game.config.agents[: game.config.architects]:
            env.step(game.said[agent])
        while env.agent_selection in self._agents:
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            env.step(self._agents[env.agent_selection].act(observation))
        for utterance in list(env.unwrapped.episode.dialogue)[heard:]:
            if utterance.role is Role.BUILDER:
                game.say((utterance.role, utterance.number), utterance.text)
        game.grid = env.unwrapped.episode.worlds.grid[0].copy()
