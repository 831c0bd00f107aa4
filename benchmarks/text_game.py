"""Turns per second and core of the text game without a model: messages, parsing, rewards.

`python -m benchmarks.text_game` plays correct games for each role and some partners. Measured is the CPU time of
`reset` and `step`, after a few games that compile kernels and fill caches.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

from iglu_marl.text import TextGame
from iglu_marl.text.export import reference_reply

PLAYED = (
    ("builder", "scripted"),
    ("builder", "vague"),
    ("both", ""),
    ("architect", "scripted"),
    ("architect", "asking"),
)  # role, and its partner
WARM_UP = 2  # games


class Speed(NamedTuple):
    """Number of games and turns, and seconds of CPU time."""

    games: int
    turns: int
    seconds: float


def measured(role: str, partner: str, seconds: float) -> Speed:
    """Play games with consecutive seeds until `seconds` of CPU time have passed."""
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
    begun = time.process_time()
    game.reset(seed)
    used = time.process_time() - begun
    turns, done = 0, False
    while not done:
        reply = reference_reply(game)
        begun = time.process_time()
        _, _, done, _ = game.step(reply)
        used += time.process_time() - begun
        turns += 1
    return turns, used


def main() -> None:
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
