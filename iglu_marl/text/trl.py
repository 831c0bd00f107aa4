"""Environments for TRL's `GRPOTrainer` (`environment_factory`), whose methods are the tools of a model.

>>> from iglu_marl.text.trl import BuilderEnvironment
>>> environment = BuilderEnvironment(partner="scripted")
>>> environment.reset(seed=0).splitlines()[0]
'DIALOGUE SO FAR (newest last)'

TRL is not imported. Every row of the dataset has a `seed` (see `rows`), so that the rollouts of a group play the same
game. The reward is the sum over all turns of the game.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.text.game import TextGame

OVER = "The game is over."


class _Environment:
    _role: Role

    def __init__(self, game: Any = None, **options: Any) -> None:
        if options.get("view") == "picture":
            raise ConfigError("view is 'picture', expected a text: tools of TRL return no pictures")
        own = {**options, "role": self._role.value, "observations": "delta", "answers": "tools"}
        self._game = TextGame(**own) if game is None else game
        self._earned, self._over = 0.0, True

    def reset(self, seed: int = 0, **row: Any) -> str:
        """Start the game of a row, and return the end of its prompt."""
        self._earned, self._over = 0.0, False
        return str(self._game.reset(int(seed))[-1]["content"])

    def get_reward(self) -> float:
        """Return the sum of the rewards of the game so far."""
        return self._earned

    def _step(self, reply: Any) -> str:
        if self._over:
            return OVER
        messages, reward, self._over, _ = self._game.step(reply)
        self._earned += reward
        return OVER if self._over else str(messages[-1]["content"])


class BuilderEnvironment(_Environment):
    """The model builds. options: those of `TextGame`; or `game`, a `RemoteGame` with "delta" and "tools"."""

    _role = Role.BUILDER

    def build(self, edits: list[dict[str, Any]], say: str = "") -> str:
        """Place and remove blocks, and say something to the architect.

        Args:
            edits: Objects with "action" ("place" or "remove"), "color" (to place), "east", "north" and "height".
            say: A short message to the architect; empty for none.

        Returns:
            What has been done, and what the architect says next.

        """
        return self._step({"edits": edits, "say": say})


class ArchitectEnvironment(_Environment):
    """The model instructs a builder. game, options: as of `BuilderEnvironment`."""

    _role = Role.ARCHITECT

    def speak(self, say: str) -> str:
        """Say something to the builder.

        Args:
            say: The message; empty to wait.

        Returns:
            What has been built since, and what the builder says.

        """
        return self._step({"say": say})


def rows(
    seeds: Iterable[int],
    environment: type[_Environment] = BuilderEnvironment,
    *,
    smallest_first: bool = False,
    **options: Any,
) -> list[dict[str, Any]]:
    """Return rows of a dataset, one per game: `prompt` (the rules, and a place for the text of `reset`) and `seed`.

    smallest_first: a curriculum, in the order of the number of blocks to change. options: those of the environment, on
    which its rules depend.
    """
    game = environment(**options)._game
    rules = game.reset(0)[0]

    def size(seed: int) -> int:
        game.reset(seed)
        return int((game.start != game.target).sum())

    order = sorted(seeds, key=size) if smallest_first else seeds
    return [{"prompt": [rules, {"role": "user", "content": ""}], "seed": seed} for seed in order]
