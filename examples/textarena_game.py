"""TextArena: the game of architect and builder as a game of two players, for agents that answer in text.

    python examples/textarena_game.py --games 3

Player 0 is the architect, player 1 the builder. They win together: both earn what the game is worth. The agents here go
by rules of their own; those of TextArena (`ta.agents`) are asked in the same way. Tried with TextArena 0.7.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

from iglu_marl.core.dialogue import Role
from iglu_marl.core.extras import extra
from iglu_marl.text import TextGame
from iglu_marl.text.export import reference_reply

with extra("textarena", script=True):
    import textarena as ta

PLAYERS = (Role.ARCHITECT, Role.BUILDER)


class BuildingGame(ta.Env):
    """The game for TextArena. options: those of `TextGame`."""

    def __init__(self, **options: Any) -> None:
        self.game = TextGame(role="both", **options)

    def reset(self, num_players: int = 2, seed: int | None = None) -> None:
        """Start a game, a random one without a seed."""
        if num_players != len(PLAYERS):
            raise ValueError(f"num_players is {num_players}, expected 2")
        self.state = ta.State(num_players)  # without the seed, with which it would seed the global `random`
        self.state.standard_resets(role_mapping=dict(enumerate(role.value for role in PLAYERS)))
        self.earned = 0.0
        self._ask(self.game.reset(int(np.random.SeedSequence(seed).generate_state(1)[0])))

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Step with the reply of the current player."""
        chat, reward, done, self.state.step_info = self.game.step(action)
        self.earned += reward
        if done:
            self.state.done = True
            self.state.rewards = dict.fromkeys(range(len(PLAYERS)), self.earned)
        else:
            self._ask(chat)
        result: tuple[bool, dict[str, Any]] = self.state.step()
        return result

    def get_observation(self) -> tuple[int, str]:
        """Return the current player, and the chat to answer."""
        player, messages = super().get_observation()
        return player, "\n\n".join(text for _, text, _ in messages)

    def _ask(self, chat: list[dict[str, Any]]) -> None:
        self.state.current_player_id = PLAYERS.index(self.game.turn)
        text = "\n\n".join(message["content"] for message in chat)
        self.state.add_observation(text, ta.ObservationType.PROMPT, to_id=self.state.current_player_id)


ta.register("IgluBuilding-v0", entry_point=BuildingGame)


def reply_of(player: int, observation: str, game: TextGame) -> str:
    """Return the reply of a rule-based player that knows the game."""
    return reference_reply(game)


def main(games: int = 3) -> None:
    """Play games of rule-based players."""
    rewards = []
    for seed in range(games):
        env = ta.make("IgluBuilding-v0")
        env.reset(num_players=2, seed=seed)
        done, turns = False, 0
        while not done:
            player, observation = env.get_observation()
            done, _ = env.step(reply_of(player, observation, env.game))
            turns += 1
        earned, _ = env.close()
        rewards.append(earned)
        print(f"game {seed}: {turns} turns, rewards {earned}")
    print(f"mean reward {np.mean([part[0] for part in rewards]):.2f}")


if __name__ == "__main__":
    typer.run(main)
