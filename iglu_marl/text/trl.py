"""The game for TRL's `GRPOTrainer`: environments whose methods are the tools of a model (`environment_factory`).

>>> from iglu_marl.text.trl import BuilderEnvironment
>>> environment = BuilderEnvironment(partner="scripted")
>>> environment.reset(seed=0).splitlines()[0]
'DIALOGUE SO FAR (newest last)'

Nothing of TRL is imported. Every row of the dataset has a `seed` (see `rows`), so that the rollouts of a group play the
same game; the reward is that of the game, over all of its turns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from iglu_marl.core.dialogue import Role
from iglu_marl.text.game import TextGame

OVER = "The game is over."
_RULES = "Answer by calls of the tool {tool}, one after the other, until the game is over."


class _Environment:
    _role: Role
    _tool: str

    def __init__(self, game: Any = None, **options: Any) -> None:
        own = {**options, "role": self._role.value, "observations": "delta"}
        self._game = TextGame(**own) if game is None else game
        self._earned, self._over = 0.0, True

    def reset(self, seed: int = 0, **row: Any) -> str:
        """Begin the game of a row; returns what stands at the end of its prompt."""
        self._earned, self._over = 0.0, False
        return str(self._game.reset(int(seed))[-1]["content"])

    def get_reward(self) -> float:
        """The sum of the rewards of the game so far."""
        return self._earned

    def _step(self, reply: Any) -> str:
        if self._over:
            return OVER
        messages, reward, self._over, _ = self._game.step(reply)
        self._earned += reward
        return OVER if self._over else str(messages[-1]["content"])


class BuilderEnvironment(_Environment):
    """The model builds. options: as of `TextGame`; or game: a `RemoteGame` whose observations are "delta"."""

    _role, _tool = Role.BUILDER, "build"

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
    """The model tells a builder what to build. game, options: as of `BuilderEnvironment`."""

    _role, _tool = Role.ARCHITECT, "tell"

    def tell(self, say: str) -> str:
        """Say something to the builder.

        Args:
            say: The message; empty to wait.

        Returns:
            What has been built since, what the builder says, and what is still to be done.

        """
        return self._step({"say": say})


def rows(seeds: Iterable[int], environment: type[_Environment] = BuilderEnvironment) -> list[dict[str, Any]]:
    """Rows of a dataset, a game each: `prompt` (the rules, and a place for what `reset` tells) and `seed`."""
    game = TextGame(role=environment._role.value)
    rules = game.reset(0)[0]
    told = {**rules, "content": f"{rules['content']}\n\n{_RULES.format(tool=environment._tool)}"}
    return [{"prompt": [told, {"role": "user", "content": ""}], "seed": seed} for seed in seeds]
