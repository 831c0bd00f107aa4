"""An agent of your own: an object with `reset`, `act` and `close`. `iglu-marl new` writes others.

    python examples/your_own_agent.py --seed 3

It plays with the scripted builder, which understands the instructions of `iglu_marl.language`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

import iglu_marl
from iglu_marl import Role
from iglu_marl.agents import ScriptedBuilder
from iglu_marl.core.grid import cells_of, color_at
from iglu_marl.language import CellEdit, render
from iglu_marl.tasks import RandomTasks


class TalkativeArchitect:
    """Ask for the lowest block that differs from the target, in varied words."""

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode."""
        self.rng = np.random.default_rng(seed)  # all randomness follows from the seed

    def act(self, observation: dict[str, Any]) -> str:
        """Return a message; "" is silence."""
        target, grid = observation["target_grid"], observation["grid"]
        wrong = cells_of(target != grid).tolist()  # (x, y, z), the lowest layer first
        if not wrong:
            return ""
        cell = tuple(wrong[0])
        return render(CellEdit.between(cell, color_at(grid, cell), color_at(target, cell)), self.rng)

    def close(self) -> None:
        """Release nothing."""


def main(seed: int = 0) -> bool:
    """Play one game, print the dialogue, and return whether the structure was completed."""
    env = iglu_marl.env(
        tasks=RandomTasks(max_blocks=6, height_levels=2, num_colors=3),
        controls="flying",
        builder_sees=("pov", "dialog", "pose", "grid"),
        turn_steps=100,
    )
    agents = {"architect": TalkativeArchitect(), "builder": ScriptedBuilder(controls="flying")}
    game = iglu_marl.play(env, agents, seed=seed)
    print(game.dialogue)
    print(f"{game.intersection} of {game.target_blocks} blocks, completed: {game.completed}")
    env.close()
    return game.completed


if __name__ == "__main__":
    typer.run(main)
