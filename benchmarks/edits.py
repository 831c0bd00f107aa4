"""What each part brings to the model of edits: trained without it, at one budget (docs/action_prediction.md).

`python -m benchmarks.edits --data mdc.zip --iglu iglu-singleturn.zip -o runs/edits` trains every variant for the same
number of epochs with the same seed, and prints a table of its F1 on the held-out part of the training split, with 95 %
intervals over sessions. Variants that are there already are not trained again; one that was interrupted goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from iglu_marl import Dialogue, Role
from iglu_marl.agents.learned.checkpoint import DESCRIPTION, TrainedModel
from iglu_marl.agents.learned.text import LENGTH
from iglu_marl.agents.learned.training import TrainingConfig, train
from iglu_marl.commands.train import corpus_parts, singleturn_part
from iglu_marl.data.mdc.corpus import Corpus
from iglu_marl.evaluation.action_prediction import Sample, Situation, predict_actions

Change = Callable[[Situation], Situation]
SITUATIONS: dict[str, Change] = {
    "without the dialogue": lambda known: replace(known, dialogue=Dialogue(), new_from=0),
    "without what was said before its last action": lambda known: replace(
        known, dialogue=Dialogue(known.dialogue[known.new_from :]), new_from=0
    ),
    "without what the builder said": lambda known: replace(
        known,
        dialogue=Dialogue(said for said in known.dialogue if said.role is Role.ARCHITECT),
        new_from=sum(said.role is Role.ARCHITECT for said in known.dialogue[: known.new_from]),
    ),
    "without place and gaze": lambda known: replace(known, pose=None),
    "without its earlier actions": lambda known: replace(known, history=()),
}
WORDS = {"16 words": 16, "160 words": 160}
ALL, NO_IGLU = f"all, {LENGTH} words", "without IGLU's single turns"
VARIANTS = (ALL, *SITUATIONS, NO_IGLU, *WORDS)


def changed(samples: Sequence[Sample], change: Change | None) -> list[Sample]:
    """Samples of whose situations something is not known."""
    if change is None:
        return [*samples]
    return [replace(sample, situation=change(sample.situation)) for sample in samples]


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="the Minecraft Dialogue Corpus")
    parser.add_argument("--iglu", required=True, type=Path, help="IGLU's single turns")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=VARIANTS, action="append", help="this variant (may be repeated)")
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    corpus, held_out = corpus_parts(Corpus.open(options.data))
    further = [*singleturn_part(options.iglu, "train", {sample.structure for sample in corpus})]
    print("| | `threshold` | `steps` |\n|---|---|---|")
    for name in options.only or VARIANTS:
        change = SITUATIONS.get(name)
        folder = options.out / name.replace(" ", "-").replace(",", "").replace("'", "")
        shown = changed(held_out, change)
        if not (folder / DESCRIPTION).exists():
            taught = changed(corpus if name == NO_IGLU else [*corpus, *further], change)
            config = TrainingConfig(epochs=options.epochs, seed=options.seed, length=WORDS.get(name, LENGTH))
            train(taught, shown, folder, config, resume=True)
        cells = []
        for decoding in ("threshold", "steps"):
            model = TrainedModel.load(folder, decoding=decoding, threads=1)
            cells.append(predict_actions(model, shown).interval().told())
        print(f"| {name} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
