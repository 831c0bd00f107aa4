"""How many turns a second of the game as strings a core plays without a model: chats told, replies read, rewards.

`python -m benchmarks.text_game` plays games that go as they should, for each role and some partners: a builder does
what it was told, an architect tells the next instruction. What counts is the processor time of `reset` and `step`; a
few games before it compile kernels and fill caches.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

from iglu_marl.text import TextGame
from iglu_marl.text.export import right_reply

PLAYED = (
    ("builder", "scripted"),
    ("builder", "vague"),
    ("both", ""),
    ("architect", "scripted"),
    ("architect", "asking"),
)  # role, and its partner
WARM_UP = 2  # games


class Speed(NamedTuple):
    """What was played: games and turns, and the seconds of processor time they took."""

    games: int
    turns: int
    seconds: float


def measured(role: str, partner: str, seconds: float) -> Speed:
    """Play games, one seed after the other, for so many seconds of processor time."""
    game = TextGame(role=role, **({"partner": partner} if partner else {}))
    for seed in range(WARM_UP):
        played(game, seed)
    games = turns = 0
    used = 0.0
    while used < seconds:
        made, took = played(game, WARM_UP + games)
        games, turns, used = games + 1, turns + made, used + took
    return Speed(games, turns, used)


def played(game: TextGame, seed: int) -> tuple[int, float]:
    """Play a game; how many turns it had, and the seconds of processor time they took."""
    begun = time.process_time()
    game.reset(seed)
    used = time.process_time() - begun
    turns, done = 0, False
    while not done:
        reply = right_reply(game)
        begun = time.process_time()
        _, _, done, _ = game.step(reply)
        used += time.process_time() - begun
        turns += 1
    return turns, used


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of processor time, for each row")
    asked = parser.parse_args()
    print("| model plays | partner | turns a second | games a second | games |\n|---|---|---|---|---|")
    for role, partner in PLAYED:
        games, turns, used = measured(role, partner, asked.seconds)
        print(
            f"| {role} | {partner or '–'} | {turns / used:.0f} | {games / used:.0f} | {games} |", flush=True
        )


if __name__ == "__main__":
    main()
