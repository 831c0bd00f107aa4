"""Film two builders who divide a structure: `python docs/assets/team_film.py` writes docs/images/team.gif."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import iglu_marl
from iglu_marl.agents import agents_for
from iglu_marl.evaluation import tasks_of
from iglu_marl.rendering import write_video

EVERY = 4  # steps between two frames


def main(path: Path = Path(__file__).parents[1] / "images" / "team.gif", structure: str = "bridge") -> None:
    """Play a game of one architect and two builders, and write its film."""
    env = iglu_marl.parallel_env(
        builders=2,
        builder_can_ask=True,
        builder_sees=("dialog", "inventory", "pose", "grid"),
        max_turns=None,
        render_mode="rgb_array",
    )
    frames: list[Any] = []
    steps = 0

    def watch(game: Any) -> None:
        nonlocal steps
        if steps % EVERY == 0:
            frames.append(game.render())
        steps += 1

    task = next(task for task in tasks_of("bundled") if task.task_id == structure)
    game = iglu_marl.play(env, agents_for(env), seed=0, options={"task": task}, on_step=watch)
    frames += [env.render()] * 10
    assert game.completed
    print(write_video(path, frames, fps=12), len(frames), "frames")


if __name__ == "__main__":
    main()
