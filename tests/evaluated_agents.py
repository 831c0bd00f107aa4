"""Agents for tests of `evaluate`: importable, so that other processes find them too."""

from __future__ import annotations

import time
from typing import Any

from iglu_marl.agents import ScriptedArchitect, ScriptedBuilder


class Silent:
    """Says nothing."""

    @classmethod
    def for_env(cls, env: Any) -> Silent:
        return cls()

    def reset(self, role: Any, seed: int | None) -> None:
        pass

    def act(self, observation: Any) -> str:
        return ""

    def close(self) -> None:
        pass


class Still(Silent):
    """Does nothing."""

    def act(self, observation: Any) -> Any:
        return 0


class Broken(Silent):
    """Says one thing, then raises."""

    def reset(self, role: Any, seed: int | None) -> None:
        self.spoken = False

    def act(self, observation: Any) -> str:
        if self.spoken:
            raise RuntimeError("no more <b>words</b>")
        self.spoken = True
        return "Place a red block on the ground, at the centre."


class Garbled(Silent):
    """Says what no file or terminal takes, and numerals that are no numbers."""

    def reset(self, role: Any, seed: int | None) -> None:
        self.turn = 0

    def act(self, observation: Any) -> str:
        self.turn += 1
        return ("\ud800", "remove the block ²", "place a red block ② east \udfff")[self.turn % 3]


class Slow(ScriptedArchitect):
    """Thinks before each game."""

    def reset(self, role: Any, seed: int | None) -> None:
        time.sleep(0.05)
        super().reset(role, seed)


def builder(env: Any) -> Any:
    """A function of the environment."""
    return ScriptedBuilder.for_env(env)
