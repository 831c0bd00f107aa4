"""What `iglu-marl train edits` does: a text-to-edits model from the Minecraft Dialogue Corpus."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from iglu_marl.action_prediction import Sample, bap_samples, task_samples
from iglu_marl.core.errors import ConfigError
from iglu_marl.data import SingleturnDataset
from iglu_marl.data.dataset import hash_fraction
from iglu_marl.data.mdc import Corpus, Session

HELD_OUT = 0.15  # of the structures of the training split
SALT = "iglu_marl held out "
SINGLETURN_PARTS = {"train": 0.8, "val": 0.2}


@dataclass(frozen=True)
class TrainOptions:
    """The options of the command; `TrainingConfig` validates the rest."""

    data: Path | None
    out: Path
    iglu: Path | None = None
    epochs: int = 24
    batch_size: int = 32
    learning_rate: float = 2e-3
    channels: int = 32
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    threads: int = 1
    resume: bool = False
    json: bool = False


def need_torch(what: str) -> None:
    """Raise `ConfigError` without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        raise ConfigError(f"{what} needs PyTorch: pip install 'iglu_marl[rl]'")


def corpus_parts(corpus: Corpus) -> tuple[list[Sample], list[Sample]]:
    """Samples to train on and to judge by: the training split, cut in two by structure. No other split is touched."""
    train: list[Session] = []
    held_out: list[Session] = []
    for session in corpus.sessions.values():
        if session.split == "train":
            (held_out if hash_fraction(SALT + session.structure) < HELD_OUT else train).append(session)
    return [*bap_samples(train)], [*bap_samples(held_out)]


def singleturn_part(path: Path, part: str, structures: set[str] | None = None) -> Iterator[Sample]:
    """Samples of a part ("train" or "val") of IGLU's single turns, perhaps of some structures alone ("C12").

    The structures are those of the Minecraft Dialogue Corpus.
    """
    dataset = SingleturnDataset(path=path).split(SINGLETURN_PARTS)[part]
    for sample in task_samples(dataset):
        structure = dataset.games[sample.name].structure.upper()
        if structures is None or structure in structures:
            yield sample


def run(options: TrainOptions) -> dict[str, Any]:
    """Train, show each epoch, write the learning curve; returns the notes of the model."""
    need_torch("training")
    from iglu_marl.agents.learned.model import ModelConfig
    from iglu_marl.agents.learned.training import TrainingConfig, train

    console = Console(quiet=options.json, highlight=False)
    corpus = Corpus.open(options.data)
    samples, held_out = corpus_parts(corpus)
    notes: dict[str, Any] = {
        "corpus": "Minecraft Dialogue Corpus, train split",
        "held_out": "15 % of its structures",
    }
    if options.iglu is not None:
        structures = {sample.structure for sample in samples}
        further = list(singleturn_part(options.iglu, "train", structures))
        samples += further
        notes["further"] = f"{len(further)} single turns of IGLU"
    console.print(f"{len(samples)} samples to learn from, {len(held_out)} held out to judge by")

    def show(row: dict[str, float]) -> None:
        console.print(
            f"epoch {row['epoch']:3.0f}  {row['seconds']:6.0f} s  loss {row['place_loss']:6.2f} "
            f"{row['remove_loss']:5.2f} {row['color_loss']:5.2f}  held out: F1 {row['f1']:.3f}  "
            f"precision {row['precision']:.3f}  recall {row['recall']:.3f}  at {row['threshold']:.3f}"
        )

    config = TrainingConfig(
        epochs=options.epochs,
        batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        seed=options.seed,
        device=options.device,
        precision=options.precision,
        threads=options.threads,
        model=ModelConfig(words=0, channels=options.channels),
    )
    trained = train(samples, held_out, options.out, config, resume=options.resume, notes=notes, on_epoch=show)
    if importlib.util.find_spec("matplotlib") is not None:
        from iglu_marl.agents.learned.drawing import draw_curve

        draw_curve(options.out / "curve.csv", options.out / "curve.svg")
    if options.json:
        print(json.dumps(trained.notes))
    console.print(f"F1 on the held-out part {trained.notes['held_out_f1']}; model and curve: {options.out}")
    return trained.notes
