"""Train a network that predicts a builder's edits from text, world and pose, on human data.

    python examples/train_edits.py --data mdc.zip --output edits
    iglu-marl predict --trained edits

The folder gets `model.json`, `weights.npz` and `curve.csv`. With `--members`, networks of successive seeds are trained
in folders of their own, and their mean is the model; after an interruption, the same command trains those that are
missing. Epoch and threshold are chosen by F1 on structures that are held out of the training. Needs the extra `rl`.
"""

from __future__ import annotations

import copy
import csv
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from typer import Option

from iglu_marl import ConfigError, DataError, Dialogue
from iglu_marl.commands.options import PackPath, Seed, integer, output_folder, positive
from iglu_marl.commands.output import stoppable
from iglu_marl.core.extras import extra
from iglu_marl.core.scoring import Counts, micro
from iglu_marl.data.mdc.corpus import Corpus
from iglu_marl.data.situations import Sample
from iglu_marl.data.splits import check_split
from iglu_marl.evaluation.prediction_samples import corpus_parts, singleturn_part

with extra("rl", script=True):
    import torch

    from iglu_marl.agents.learned.checkpoint import DESCRIPTION, TrainedModel
    from iglu_marl.agents.learned.decoding import in_one_look, marginals
    from iglu_marl.agents.learned.examples import Example, examples_of, training_batch
    from iglu_marl.agents.learned.model import EditModel, Ensemble, ModelConfig, losses, tensors
    from iglu_marl.agents.learned.text import LENGTH, RIGHT, UNKNOWN, Vocabulary

THRESHOLDS = tuple(round(0.04 + 0.01 * step, 3) for step in range(37))  # 0.04 to 0.4
WARM_UP = 200  # optimizer steps
WEIGHT_DECAY, WORD_DROPOUT = 0.05, 0.05
AVERAGE = 0.998  # of the weights, per step
LONGEST = 60  # actions: longer sequences are no training examples


def best_threshold(model: EditModel | Ensemble, held_out: Sequence[Example]) -> tuple[float, Counts]:
    """Return the threshold with the highest F1 of held-out actions, and its counts."""
    probabilities = marginals(model, held_out)
    wanted = [{tuple(row) for row in example.actions.tolist()} for example in held_out]
    counts = {}
    for threshold in THRESHOLDS:
        predicted = in_one_look(probabilities, held_out, threshold)
        rows = [{tuple(row) for row in actions.tolist()} for actions in predicted]
        counts[threshold] = micro(
            Counts(len(want & row), len(row), len(want)) for want, row in zip(wanted, rows, strict=True)
        )
    threshold = max(counts, key=lambda key: counts[key].f1)
    return threshold, counts[threshold]


def vocabulary_of(samples: Sequence[Sample], length: int) -> Vocabulary:
    """Return the words of the longest dialogue of each unit."""
    longest: dict[str, Dialogue] = {}
    for sample in samples:
        known = longest.get(sample.unit)
        if known is None or len(sample.situation.dialogue) > len(known):
            longest[sample.unit] = sample.situation.dialogue
    return Vocabulary.of(longest.values(), length=length)


def train(
    samples: Sequence[Sample],
    held_out: Sequence[Sample],
    folder: Path,
    *,
    epochs: int = 24,
    batch_size: int = 32,
    learning_rate: float = 2e-3,
    length: int = LENGTH,
    seed: int = 0,
    **sizes: Any,
) -> TrainedModel:
    """Train a network, and write its best epoch to a folder. sizes: fields of `ModelConfig`."""
    samples = [sample for sample in samples if 0 < len(sample.actions) <= LONGEST]
    if not samples or not held_out:
        raise DataError(f"{len(samples)} samples to train on, {len(held_out)} held out: nothing to learn")
    vocabulary = vocabulary_of(samples, length)
    examples, judged = examples_of(samples, vocabulary), examples_of(held_out, vocabulary)
    torch.manual_seed(seed)
    model: Any = EditModel(ModelConfig(words=len(vocabulary), **sizes))
    model.to(memory_format=torch.channels_last_3d)
    average = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=WEIGHT_DECAY)
    total = epochs * math.ceil(len(examples) / batch_size)
    warm_up = min(WARM_UP, 1 + total // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * step / total))
    )
    folder.mkdir(parents=True, exist_ok=True)
    best: dict[str, Any] = {"held_out_f1": -1.0}
    step, began = 0, time.perf_counter()
    with (folder / "curve.csv").open("w", newline="", encoding="utf-8") as file:
        curve = csv.writer(file)
        names = ("place_loss", "remove_loss", "color_loss", "f1", "precision", "recall")
        curve.writerow(("epoch", "seconds", *names, "threshold"))
        for epoch in range(1, epochs + 1):
            rng = np.random.default_rng([seed, epoch - 1])
            torch.manual_seed(int(rng.integers(2**63)))
            order, parts = rng.permutation(len(examples)), []
            for first in range(0, len(order), batch_size):
                drawn = training_batch([examples[at] for at in order[first : first + batch_size]], rng)
                forgotten = (rng.random(drawn.words.shape) < WORD_DROPOUT) & (drawn.words > RIGHT)
                batch = tensors(replace(drawn, words=np.where(forgotten, UNKNOWN, drawn.words)))
                model.train()
                loss = losses(model(batch), batch)
                optimizer.zero_grad()
                loss.sum().backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                schedule.step()
                kept = min(AVERAGE, (step + 1) / (step + 10))
                with torch.no_grad():
                    for mean, now in zip(average.parameters(), model.parameters(), strict=True):
                        mean.lerp_(now, 1 - kept)
                parts.append(loss.tolist())
                step += 1
            threshold, counts = best_threshold(average, judged)
            scores = (*np.mean(parts, axis=0), counts.f1, counts.precision, counts.recall)
            seconds = time.perf_counter() - began
            curve.writerow((epoch, round(seconds, 1), *(f"{score:.6g}" for score in scores), threshold))
            file.flush()
            shown = "  ".join(f"{name} {score:.3f}" for name, score in zip(names, scores, strict=True))
            print(f"seed {seed}  epoch {epoch}  {seconds:.0f} s  {shown}  at {threshold}", flush=True)
            if counts.f1 > best["held_out_f1"]:
                weights = copy.deepcopy(average.state_dict())
                best = {"held_out_f1": counts.f1, "epoch": epoch, "threshold": threshold}
    average.load_state_dict(weights)
    notes = {**best, "seed": seed, "seconds": round(time.perf_counter() - began, 1)}
    trained = TrainedModel(average.eval(), vocabulary, best["threshold"], notes)
    trained.save(folder)
    return trained


def mean_of(members: Sequence[TrainedModel], held_out: Sequence[Sample], folder: Path) -> TrainedModel:
    """Write the mean of several models, with its threshold, to a folder."""
    model, vocabulary = Ensemble(member.model for member in members), members[0].vocabulary
    threshold, counts = best_threshold(model, examples_of(held_out, vocabulary))
    notes = {"held_out_f1": counts.f1, "members": [member.notes for member in members]}
    trained = TrainedModel(model.eval(), vocabulary, threshold, notes)
    trained.save(folder)
    return trained


def main(
    output: Annotated[Path, output_folder("Folder for model and curve.")],
    data: PackPath = None,
    iglu: Annotated[Path | None, Option(help="IGLU single-turn data (zip or folder) to add.")] = None,
    epochs: Annotated[int, integer(1, "Number of passes over the data.")] = 24,
    batch_size: Annotated[int, integer(1, "Samples per step.")] = 32,
    learning_rate: Annotated[float, Option(help="Maximum learning rate.", callback=positive)] = 2e-3,
    channels: Annotated[int, integer(1, "Width of the convolutions.")] = 32,
    words: Annotated[int, integer(1, "Maximum number of words read, the latest.")] = 64,
    members: Annotated[int, integer(1, "Models of an ensemble, trained from successive seeds.")] = 1,
    seed: Seed = 0,
) -> None:
    """Train a model that predicts edits from text, world and pose, on human data (needs PyTorch)."""
    if (output / DESCRIPTION).exists():
        raise ConfigError(f"{output} holds a model already; choose another folder")
    torch.set_num_threads(1)
    samples, held_out = corpus_parts(Corpus.open(data))
    if iglu is not None:
        structures = {sample.structure for sample in samples}
        samples += [one for one in singleturn_part(iglu, "train", structures) if not one.unbuilt]
    check_split(train=(one.structure for one in samples), held_out=(one.structure for one in held_out))
    print(f"{len(samples)} samples to learn from, {len(held_out)} held out for validation")
    options = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "length": words}
    runs = []
    with stoppable(lambda: f"Finished members are in {output}; the same command trains the others."):
        for number in range(seed, seed + members):
            folder = output if members == 1 else output / f"seed-{number}"
            if (folder / DESCRIPTION).exists():
                runs.append(TrainedModel.load(folder))
            else:
                runs.append(train(samples, held_out, folder, seed=number, channels=channels, **options))
    trained = runs[0] if members == 1 else mean_of(runs, held_out, output)
    print(f"F1 on the held-out part {trained.notes['held_out_f1']:.3f}; model and curve: {output}")


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command()(main)

if __name__ == "__main__":
    app()
