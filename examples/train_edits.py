"""Train a network that predicts a builder's edits from text, world and pose, on human data.

    python examples/train_edits.py --data mdc.zip --output edits
    iglu-marl predict --trained edits

Needs the extra `rl`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from iglu_marl.commands.options import Json, PackPath, Seed, choice, integer, output_folder, positive
from iglu_marl.commands.output import print_json, stoppable, text_console
from iglu_marl.core.extras import extra
from iglu_marl.evaluation.prediction_samples import corpus_parts, singleturn_part

Output = Annotated[Path, output_folder("Folder for model, checkpoint and curve.")]
Epochs = Annotated[int, integer(1, "Number of passes over the data.")]
BatchSize = Annotated[int, integer(1, "Samples per step.")]
LearningRate = Annotated[float, Option(help="Maximum learning rate.", callback=positive)]
Device = Annotated[str, Option(help="Device: auto, cpu, cuda, cuda:1, …")]
Precision = Annotated[str, choice("auto", "float32", "bfloat16", about="floating point format")]
Threads = Annotated[int, integer(0, "Threads; 0 leaves it to PyTorch.")]
Resume = Annotated[bool, Option("--resume", help="Resume the run in the output folder.")]


def train_edits(
    output: Output,
    data: PackPath = None,
    iglu: Annotated[Path | None, Option(help="IGLU single-turn data (zip or folder) to add.")] = None,
    epochs: Epochs = 24,
    batch_size: BatchSize = 32,
    learning_rate: LearningRate = 2e-3,
    channels: Annotated[int, integer(1, "Width of the convolutions.")] = 32,
    words: Annotated[int, integer(1, "Maximum number of words read, the latest.")] = 64,
    members: Annotated[int, integer(1, "Models of an ensemble, trained from successive seeds.")] = 1,
    seed: Seed = 0,
    device: Device = "auto",
    precision: Precision = "auto",
    threads: Threads = 1,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Train a model that predicts edits from text, world and pose, on human data (needs PyTorch)."""
    with extra("rl"):
        from iglu_marl.agents.learned.model import ModelConfig
        from iglu_marl.agents.learned.training import TrainingConfig, train
    from iglu_marl.data.mdc.corpus import Corpus
    from iglu_marl.data.splits import check_split

    console = text_console(as_json)
    corpus = Corpus.open(data)
    samples, held_out = corpus_parts(corpus)
    notes: dict[str, Any] = {
        "corpus": "Minecraft Dialogue Corpus, train split",
        "held_out": "15 % of its structures",
    }
    if iglu is not None:
        structures = {sample.structure for sample in samples}
        further = [one for one in singleturn_part(iglu, "train", structures) if not one.unbuilt]
        samples += further
        notes["further"] = f"{len(further)} single turns of IGLU"
    check_split(train=(one.structure for one in samples), held_out=(one.structure for one in held_out))
    console.print(f"{len(samples)} samples to learn from, {len(held_out)} held out for validation")

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
    with stoppable(lambda: _stopped(output)):
        trained = train(
            samples, held_out, output, config, members=members, resume=resume, notes=notes, on_epoch=show
        )
    print_json(as_json, trained.notes)
    console.print(f"F1 on the held-out part {trained.notes['held_out_f1']:.3f}; model and curve: {output}")


def _stopped(folder: Path) -> str:
    if not any(folder.glob("**/checkpoint*")):
        return "Nothing is kept: there is no checkpoint yet."
    return f"The last checkpoint is in {folder}; the same command with --resume continues."


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command()(train_edits)

if __name__ == "__main__":
    app()
