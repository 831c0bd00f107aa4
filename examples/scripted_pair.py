"""Two scripted agents build something by language alone: one sees the target, the other only what is said.

    python examples/scripted_pair.py --task lighthouse --controls walking

Any structure that comes with the package can be named.
"""

from __future__ import annotations

from typing import Literal

import typer

import iglu_marl
from iglu_marl.agents import agents_for
from iglu_marl.tasks import BundledTasks


def main(
    task: str = "domino-line", controls: Literal["flying", "walking"] = "walking", seed: int = 0
) -> iglu_marl.Trajectory:
    """Play one game, print the dialogue and the result, and return the trajectory."""
    structures = {known.task_id: known for known in BundledTasks(mode="structures")}
    if task not in structures:
        raise SystemExit(f"no structure {task!r}, expected one of {', '.join(sorted(structures))}")
    env = iglu_marl.env(
        tasks=structures[task],
        controls=controls,
        builder_sees=("dialog", "pose", "grid"),  # never the target
        builder_can_ask=True,
        max_steps=5000,
        max_turns=None,
        render_mode="ansi",
    )
    game = iglu_marl.play(env, agents_for(env), seed=seed)
    print(env.render())
    print(f"\n{game.intersection} of {game.target_blocks} blocks after {game.builder_steps} steps: ", end="")
    print("complete" if game.completed else "not complete")
    env.close()
    return game


if __name__ == "__main__":
    typer.run(main)
