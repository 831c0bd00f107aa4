"""What each part brings to the model of edits: trained without it, at one budget (docs/action_prediction.md).

`python -m benchmarks.edits --data mdc.zip --iglu iglu-singleturn.zip -o runs/edits` trains every variant for the same
number of epochs with the same seed, and prints a table of its F1 on the held-out part of the training split, with 95 %
intervals over sessions. Variants that are there already are not trained again; one that was interrupted goes on.

`--keep edits` measures the model in that folder on the parts by which nothing was chosen, prints the figures of the
page's tables, and keeps it in the zoo.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from iglu_marl import Dialogue, Role, __version__
from iglu_marl.agents.learned import zoo
from iglu_marl.agents.learned.checkpoint import DESCRIPTION, TrainedModel
from iglu_marl.agents.learned.decoding import Decoding
from iglu_marl.agents.learned.hybrid import Hybrid
from iglu_marl.agents.learned.text import LENGTH
from iglu_marl.agents.learned.training import TrainingConfig, train
from iglu_marl.commands.predict import oracles, table
from iglu_marl.commands.train import corpus_parts, singleturn_part
from iglu_marl.data.mdc.corpus import Corpus
from iglu_marl.evaluation.action_prediction import (
    Predictions,
    Sample,
    Situation,
    bap_samples,
    predict_actions,
)

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
NAME = "edits-v1"  # of the zoo
DECODINGS: dict[Decoding, str] = {"threshold": "by threshold", "steps": "step by step"}
VARIANTS = (ALL, *SITUATIONS, NO_IGLU, *WORDS)


def changed(samples: Sequence[Sample], change: Change | None) -> list[Sample]:
    if change is None:
        return [*samples]
    return [replace(sample, situation=change(sample.situation)) for sample in samples]


def keep(folder: Path, corpus: Corpus, iglu: Path) -> None:
    """Measure a model as stored (float16), and write it and its card to the zoo."""
    trained = TrainedModel.load(folder, threads=1)
    tensors = {name: part.half().numpy() for name, part in trained.model.state_dict().items()}
    state = {name: torch.from_numpy(part) for name, part in tensors.items()}
    parts = {
        "Minecraft val": [*bap_samples(one for one in corpus.sessions.values() if one.split == "val")],
        "IGLU single turns, test": [*singleturn_part(iglu, "test")],
    }
    results: dict[str, Any] = {}
    console = Console(width=160)
    for part, samples in parts.items():
        rows: dict[str, Predictions] = {}
        for decoding, how in DECODINGS.items():
            model = TrainedModel.of(trained.description, state, decoding)
            for player, first in ((model, ""), (Hybrid(model), ", the grammar first")):
                found = rows[f"{decoding}{first}"] = predict_actions(player, samples)
                scores = {"F1 of net actions": found.interval()}
                if part != "Minecraft val":
                    scores["mean F1 of changes"] = found.mean_f1()
                for score, interval in scores.items():
                    results[f"{part}, {score}, {how}{first}"] = {
                        "value": round(interval.value, 3),
                        "interval": [round(interval.low, 3), round(interval.high, 3)],
                        "games": len(samples),
                    }
        console.print(part, table(rows), table(rows, "v2"), oracles(rows))
        console.print({name: found.mean_f1().text() for name, found in rows.items()})
    notes = trained.notes
    card = {
        "kind": "edit-builder",
        "about": "A builder that reads a dialogue between people, predicts what the person in its place would do, and "
        "does it: the mean of three networks.",
        "roles": ["builder"],
        "game": {
            "controls": "flying",
            "chat": "text",
            "builder_sees": ["dialog", "inventory", "pose", "grid"],
        },
        "network": trained.description,
        "data": f"{notes['corpus']} but {notes['held_out']}, and {notes['further']} about the same structures. Epochs "
        "and thresholds were chosen on what was held out; val and test were not looked at.",
        "budget": f"{notes['training']['epochs']} epochs for each of {len(notes['members'])} seeds, of which the best "
        f"counts; {notes['seconds'] / 60:.0f} minutes of a core in all",
        "results": results,
        "command": "iglu-marl train edits --data mdc.zip --iglu iglu-singleturn.zip --members 3 -o edits",
        "check": f"iglu-marl predict --data mdc.zip --trained {NAME}",
        "versions": {"iglu_marl": __version__, "numpy": np.__version__, "torch": torch.__version__},
    }
    print(zoo.save(NAME, card, tensors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", required=True, help="the Minecraft Dialogue Corpus")
    parser.add_argument("--iglu", required=True, type=Path, help="IGLU's single turns")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=VARIANTS, action="append", help="this variant (may be repeated)")
    parser.add_argument("-o", "--out", type=Path, help="folder of the variants")
    parser.add_argument("--keep", type=Path, help="a folder with a model")
    options = parser.parse_args()
    whole = Corpus.open(options.data)
    if options.keep is not None:
        keep(options.keep, whole, options.iglu)
    if options.out is None:
        return
    corpus, held_out = corpus_parts(whole)
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
            cells.append(predict_actions(model, shown).interval().text())
        print(f"| {name} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
