"""A model of edits on a level of the benchmark: it reads what is said, and the planner does what it predicts.

    python examples/edits_builder.py --level told-ground-v2 --games 2000

The model (`iglu_marl.agents.learned.model`) learns which blocks change after the message of each task of the training
split. Walking is not learned. Needs the extra `rl`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from iglu_marl import benchmark
from iglu_marl.agents.learned.builder import LearnedBuilder
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


def samples(level: benchmark.Level, split: Any, games: int, seed: int) -> list[Sample]:
    """Return messages of a split with the edits that follow them."""
    return [*task_samples(some_of(level.tasks(split), games, seed))]


def trained(level: benchmark.Level, games: int, epochs: int, seed: int) -> TrainedModel:
    """Return the model of a run; the validation split chooses epoch and decoding."""
    level = level.fold(seed)
    shown = samples(level, "train", games, seed)
    validation = samples(level, "validation", min(games, 200), seed)

    def report(row: dict[str, float]) -> None:
        about = f"F1 {row['f1']:.3f} on the validation split, {row['seconds']:.0f} s"
        print(f"seed {seed}, epoch {row['epoch']}: {about}", flush=True)

    with TemporaryDirectory() as folder:
        model = train(shown, validation, folder, replace(CONFIG, epochs=epochs, seed=seed), on_epoch=report)
    reached = model.notes["held_out_f1"]
    return replace(model, decoding=max(reached, key=reached.get))


def as_taught(model: TrainedModel) -> Predictor:
    """Return a predictor that gets what training samples have: one new message, no pose, no earlier edits."""
    return lambda now: model(Situation(now.dialogue, now.grid, len(now.dialogue) - 1))


def main(
    level: str = "told-ground-v2",
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
    models = [trained(chosen, games, epochs, seed) for seed in range(seeds)]
    options = f"--level {level} --games {games} --epochs {epochs} --seeds {seeds} --episodes {episodes}"
    result = benchmark.run(
        chosen,
        [lambda env, model=model: LearnedBuilder.for_env(env, model=as_taught(model)) for model in models],
        name="edit model, planner",
        episodes=episodes,
        supervision=["demonstrations", "planner"],
        command=f"examples/edits_builder.py {options}",
        output=output,
        record=output is not None,
    )
    print(markdown([result]))
    return result


if __name__ == "__main__":
    typer.run(main)
