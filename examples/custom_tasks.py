"""Tasks of your own: from blocks, from a conversation, as a session of several turns, or made up by a class.

    python examples/custom_tasks.py --controls walking

An oracle, which knows the target, shows that each of them can be built.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import typer

import iglu_marl
from iglu_marl import Subtasks, Task
from iglu_marl.agents import agents_for
from iglu_marl.tasks import CustomTasks, TaskSource

BLUE, GREEN, RED = 1, 3, 6

# A grid is int8 [9, 11, 11] with axes [y + 1, x + 5, z + 5] and ids 0 (air) to 6. East is +x, south +z.
ARCH = np.zeros((9, 11, 11), dtype=np.int8)
ARCH[0:3, 3, 2] = ARCH[0:3, 5, 2] = RED
ARCH[2, 4, 2] = BLUE

# Two turns of one session: what is said, and the world after it.
SESSION = Subtasks(
    ["<Architect> Put a green block in the middle.", "<Architect> And a red one on top of it."],
    [[(0, -1, 0, GREEN)], [(0, -1, 0, GREEN), (0, 0, 0, RED)]],
    task_id="signpost",
)


class Lines(TaskSource):
    """Rows of random length. A task source only needs `sample`."""

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Return a row of one colour."""
        rng = self.rng if rng is None else rng
        length, color = int(rng.integers(2, 6)), int(rng.integers(1, 7))
        grid = np.zeros((9, 11, 11), dtype=np.int8)
        grid[0, 4 : 4 + length, 3] = color
        return Task(f"<Architect> Build a row of {length} blocks.", grid, task_id=f"row-{length}")


def main(controls: Literal["flying", "walking"] = "flying", seed: int = 0) -> list[bool]:
    """Let the oracle build every task, and return which were completed."""
    custom = CustomTasks([("<Architect> Build me a red arch with a blue top.", ARCH), SESSION])
    tasks = [*custom, Lines().sample(np.random.default_rng(seed))]
    env = iglu_marl.env(tasks=tasks, controls=controls, max_steps=2000)
    completed = []
    for task in tasks:
        game = iglu_marl.play(env, agents_for(env, builder="oracle"), seed=seed, options={"task": task})
        print(f"{task}\n  completed: {game.completed}, in {game.builder_steps} steps")
        completed.append(game.completed)
    env.close()
    return completed


if __name__ == "__main__":
    typer.run(main)
