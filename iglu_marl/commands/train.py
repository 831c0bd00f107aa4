"""`iglu-marl train`: a text-to-edits model from the Minecraft Dialogue Corpus, and a builder that sees pictures."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from rich.console import Console
from typer import Option

from iglu_marl.commands.options import Json, Seed, at_least, choice, positive
from iglu_marl.commands.output import stoppable
from iglu_marl.core.errors import ConfigError

if TYPE_CHECKING:
    from iglu_marl.data.mdc.corpus import Corpus, Session
    from iglu_marl.evaluation.action_prediction import Sample

HELD_OUT = 0.15  # of the structures of the training split
SALT = "iglu_marl held out "

Out = Annotated[Path, Option("--out", "-o", help="Folder for the model, its checkpoint and its curve.")]
Resume = Annotated[bool, Option("--resume", help="Go on with the run in the folder.")]


def train_edits(
    out: Out,
    data: Annotated[
        Path | None,
        Option(help="The Minecraft Dialogue Corpus. Default: IGLU_DATA_PATH, then fetched."),
    ] = None,
    iglu: Annotated[
        Path | None, Option(help="Learn from IGLU's single turns, too: their zip or folder.")
    ] = None,
    epochs: Annotated[int, Option(help="How often everything is seen.", callback=at_least(1))] = 24,
    batch_size: Annotated[int, Option(help="Samples of a step.", callback=at_least(1))] = 32,
    learning_rate: Annotated[float, Option(help="At its highest.", callback=positive)] = 2e-3,
    channels: Annotated[int, Option(help="Width of the convolutions.", callback=at_least(1))] = 32,
    words: Annotated[int, Option(help="That are read, the latest.", callback=at_least(1))] = 64,
    members: Annotated[
        int,
        Option(
            help="So many models, of this seed and the next ones; their mean counts.", callback=at_least(1)
        ),
    ] = 1,
    seed: Seed = 0,
    device: Annotated[str, Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    precision: Annotated[str, choice("auto", "float32", "bfloat16")] = "auto",
    threads: Annotated[int, Option(help="Of the processor; 0: as PyTorch likes.", callback=at_least(0))] = 1,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """From words, world and pose to edits: learns from what people did (needs PyTorch)."""
    need_torch("training")
    from iglu_marl.agents.learned.model import ModelConfig
    from iglu_marl.agents.learned.training import TrainingConfig, train
    from iglu_marl.data.mdc.corpus import Corpus
    from iglu_marl.data.splits import check_split

    console = Console(quiet=as_json, highlight=False)
    corpus = Corpus.open(data)
    samples, held_out = corpus_parts(corpus)
    notes: dict[str, Any] = {
        "corpus": "Minecraft Dialogue Corpus, train split",
        "held_out": "15 % of its structures",
    }
    if iglu is not None:
        structures = {sample.structure for sample in samples}
        further = list(singleturn_part(iglu, "train", structures))
        samples += further
        notes["further"] = f"{len(further)} single turns of IGLU"
    check_split(train=(one.structure for one in samples), held_out=(one.structure for one in held_out))
    console.print(f"{len(samples)} samples to learn from, {len(held_out)} held out to judge by")

    def show(row: dict[str, float]) -> None:
        console.print(
            f"seed {row['seed']:.0f}  epoch {row['epoch']:3.0f}  {row['seconds']:6.0f} s  "
            f"loss {row['place_loss']:6.2f} {row['remove_loss']:5.2f} {row['color_loss']:5.2f}  "
            f"held out: F1 {row['f1']:.3f}  precision {row['precision']:.3f}  recall {row['recall']:.3f}  "
            f"at {row['threshold']:.3f}"
        )

    config = TrainingConfig(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        length=words,
        seed=seed,
        device=device,
        precision=precision,
        threads=threads,
        model=ModelConfig(words=0, channels=channels),
    )
    with stoppable(lambda: _stopped(out)):
        trained = train(
            samples, held_out, out, config, members=members, resume=resume, notes=notes, on_epoch=show
        )
    if importlib.util.find_spec("matplotlib") is not None:
        from iglu_marl.agents.learned.plots import draw_curve

        for curve in [*out.glob("curve.csv"), *out.glob("seed-*/curve.csv")]:
            draw_curve(curve, curve.with_suffix(".svg"))
    if as_json:
        print(json.dumps(trained.notes))
    console.print(f"F1 on the held-out part {trained.notes['held_out_f1']}; model and curve: {out}")


def _stopped(folder: Path) -> str:
    if not any(folder.glob("**/checkpoint*")):
        return "Nothing is kept: the first checkpoint was not reached."
    return f"The last checkpoint is in {folder}; the same command with --resume goes on from it."


def need_torch(what: str) -> None:
    """Raise `ConfigError` without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        raise ConfigError(f"{what} needs PyTorch: pip install 'iglu_marl[rl]'")


def corpus_parts(corpus: Corpus) -> tuple[list[Sample], list[Sample]]:
    """Samples to train on and to judge by: the training split, cut in two by structure. No other split is touched."""
    from iglu_marl.data.splits import hash_fraction
    from iglu_marl.evaluation.action_prediction import bap_samples

    train: list[Session] = []
    held_out: list[Session] = []
    for session in corpus.sessions.values():
        if session.split == "train":
            (held_out if hash_fraction(SALT + session.structure) < HELD_OUT else train).append(session)
    return [*bap_samples(train)], [*bap_samples(held_out)]


def singleturn_part(path: Path, part: str, structures: set[str] | None = None) -> Iterator[Sample]:
    """Samples of a part of IGLU's single turns (see `Split`), perhaps of some structures alone ("C12").

    Those for which nothing was recorded are left out.
    """
    from iglu_marl.data import SingleturnDataset
    from iglu_marl.data.splits import structure_id
    from iglu_marl.evaluation.action_prediction import task_samples

    dataset = SingleturnDataset(path=path).split(part).filter(where=lambda record: not record["dropout"])
    for sample in task_samples(dataset):
        structure = structure_id(dataset.games[sample.name].structure)
        if structures is None or structure in structures:
            yield replace(sample, structure=structure)


def train_pov(
    out: Out,
    labels: Annotated[
        int, Option(help="Of the teacher, for the policy.", callback=at_least(1000))
    ] = 1_500_000,
    walks: Annotated[int, Option(help="From which it learns where it is.", callback=at_least(1))] = 100_000,
    sentences: Annotated[int, Option(help="From which it learns to read.", callback=at_least(1))] = 8000,
    reading_steps: Annotated[int, Option(help="Batches of them.", callback=at_least(1))] = 2500,
    knows: Annotated[str, choice("pictures", "memoryless", "blind", "pose")] = "pictures",
    remembers: Annotated[
        bool, Option("--remembers", help="It remembers blocks and its own actions.")
    ] = False,
    begin: Annotated[
        Path | None,
        Option("--begin", help="A model to begin with; its reader and localiser stay as they are."),
    ] = None,
    updates: Annotated[int, Option(help="Batches for 1,000 labels.", callback=at_least(1))] = 30,
    learning_rate: Annotated[float, Option(help="Of the policy.")] = 1e-3,
    seed: Seed = 0,
    resume: Resume = False,
    tensorboard: Annotated[
        bool, Option("--tensorboard", help="Write the curve for TensorBoard, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """A builder that sees pictures, by imitation of the planner on foot (needs PyTorch)."""
    need_torch("training")
    from iglu_marl.agents.learned.pov_builder import load
    from iglu_marl.agents.learned.pov_training import PovConfig, curve_writer, train

    console = Console(quiet=as_json, highlight=False)
    write = curve_writer(out, tensorboard)

    def show(row: dict[str, Any]) -> None:
        write(row)
        console.print(
            f"{row['stage']:8} {row['seconds']:6} s  reading {row['reading']}  walks {row['walks']}  "
            f"labels {row['labels']}  loss {row['loss']:.3f}"
        )

    config = PovConfig(
        sentences=sentences,
        reading_steps=reading_steps,
        walks=walks,
        labels=labels,
        knows=cast(Any, knows),
        remembers=remembers,
        updates=updates,
        learning_rate=learning_rate,
        seed=seed,
    )
    with stoppable(lambda: _stopped(out)):
        train(out, config, resume=resume, begin=load(begin) if begin else None, report=show)
    if as_json:
        print((out / "model.json").read_text(encoding="utf-8"))
    console.print(f"model and curve: {out}")
