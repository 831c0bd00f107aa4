"""A model of edits on a level of the benchmark: it reads what is said, and the planner does what it predicts.

    python examples/edits_builder.py --level told-ground-v1 --games 2000

The model (`iglu_marl.agents.learned.model`) learns which blocks change after each message of the training split. Where
an architect speaks live, the scripted pair plays these games. Walking is not learned. Needs the extra `rl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import typer

from iglu_marl import Dialogue, Role, Task, benchmark, play
from iglu_marl.agents import agents_for
from iglu_marl.agents.learned.builder import LearnedBuilder
from iglu_marl.benchmark.games import reference_env
from iglu_marl.benchmark.report import markdown
from iglu_marl.benchmark.splits import some_of
from iglu_marl.core.extras import extra
from iglu_marl.data.situations import Predictor, Sample, Situation
from iglu_marl.evaluation.action_prediction import task_samples

with extra("rl", script=True):
    from iglu_marl.agents.learned.checkpoint import TrainedModel
    from iglu_marl.agents.learned.model import ModelConfig
    from iglu_marl.agents.learned.training import TrainingConfig, train

# Instructions of a level have no typing errors: a word left out at random is a word too few.
CONFIG = TrainingConfig(
    batch_size=16, learning_rate=5e-3, word_dropout=0.0, average=0.99, model=ModelConfig(words=0, dropout=0.0)
)


def turns(level: benchmark.Level, split: Any, tasks: Iterable[Task], steps: list[int]) -> Iterator[Task]:
    """Yield what the scripted pair makes of each message of the architect, as tasks.

    steps: gets the environment steps of each game.
    """
    env = reference_env(level, split)
    pairs = [agents_for(env, name) for name in level.architects.get(split, ("scripted",))]
    for number, task in enumerate(tasks):
        said: list[Any] = []  # what the architect has said, and the worlds in which it said it
        worlds: list[np.ndarray] = []

        def watch(env: Any, said: list[Any] = said, worlds: list[np.ndarray] = worlds) -> None:
            episode = env.unwrapped.episode
            texts = [one for one in episode.dialogue if one.role is Role.ARCHITECT]
            if len(texts) > len(said):
                said[:] = texts
                worlds.append(episode.worlds.grid[0].copy())

        game = play(env, pairs[number % len(pairs)], seed=number, options={"task": task}, on_step=watch)
        steps.append(game.builder_steps)
        for last, (before, after) in enumerate(zip(worlds, [*worlds[1:], game.grid], strict=True), start=1):
            if not np.array_equal(before, after):
                dialogue = Dialogue(said[:last])
                yield Task(dialogue, after, starting_grid=before, task_id=str(number), ids="iglu")


def samples(level: benchmark.Level, split: Any, games: int, seed: int) -> tuple[list[Sample], int]:
    """Return messages of a split with the edits that follow them, and the environment steps of the games."""
    tasks, steps = some_of(level.tasks(split), games, seed), []
    if level.is_pair or level.is_live:
        tasks = turns(level, split, tasks, steps)
    return [*task_samples(tasks)], sum(steps)


def trained(level: benchmark.Level, games: int, epochs: int, seed: int) -> tuple[TrainedModel, int]:
    """Return the model of a run, and its environment steps; the validation split chooses epoch and decoding."""
    level = level.fold(seed)
    shown, steps = samples(level, "train", games, seed)
    validation, _ = samples(level, "validation", min(games, 200), seed)

    def report(row: dict[str, float]) -> None:
        about = f"F1 {row['f1']:.3f} on the validation split, {row['seconds']:.0f} s"
        print(f"seed {seed}, epoch {row['epoch']}: {about}", flush=True)

    with TemporaryDirectory() as folder:
        model = train(shown, validation, folder, replace(CONFIG, epochs=epochs, seed=seed), on_epoch=report)
    reached = model.notes["held_out_f1"]
    return replace(model, decoding=max(reached, key=reached.get)), steps


def as_taught(model: TrainedModel) -> Predictor:
    """Return a predictor that gets what training samples have: one new message, no pose, no earlier edits."""
    return lambda now: model(Situation(now.dialogue, now.grid, len(now.dialogue) - 1))


def main(
    level: str = "told-ground-v1",
    games: int = 2000,
    epochs: int = 6,
    seeds: int = 6,
    episodes: int = 40,
    output: Path | None = None,
) -> benchmark.Result:
    """Train for each seed, measure all runs on the test split, and show the report.

    games: tasks of the training split. episodes: test games per run. output: the result file.
    """
    chosen = benchmark.find(level)
    models, steps = zip(*(trained(chosen, games, epochs, seed) for seed in range(seeds)), strict=True)
    options = f"--level {level} --games {games} --epochs {epochs} --seeds {seeds} --episodes {episodes}"
    result = benchmark.run(
        chosen,
        [lambda env, model=model: LearnedBuilder.for_env(env, model=as_taught(model)) for model in models],
        name="edit model, planner",
        episodes=episodes,
        budget=max(steps),
        command=f"examples/edits_builder.py {options}",
        output=output,
        record=output is not None,
    )
    print(markdown([result]))
    return result


if __name__ == "__main__":
    typer.run(main)
