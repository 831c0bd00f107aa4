"""The samples of human data that models which predict a builder's edits are trained and scored on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from iglu_marl.data.splits import hash_fraction
from iglu_marl.evaluation.action_prediction import bap_samples, task_samples

if TYPE_CHECKING:
    from iglu_marl.data.mdc.corpus import Corpus, Session
    from iglu_marl.data.situations import Sample

HELD_OUT = 0.15  # share of the structures of the training split
SALT = "iglu_marl held out "


def corpus_parts(corpus: Corpus) -> tuple[list[Sample], list[Sample]]:
    """Split the training split by structure into samples for training and for validation."""
    train: list[Session] = []
    held_out: list[Session] = []
    for session in corpus.sessions.values():
        if session.split == "train":
            (held_out if hash_fraction(SALT + session.structure) < HELD_OUT else train).append(session)
    return [*bap_samples(train)], [*bap_samples(held_out)]


def singleturn_part(path: Path | None, part: str, structures: set[str] | None = None) -> Iterator[Sample]:
    """Yield the recorded samples of a split of IGLU's single turns, of all or of some structures ("C12").

    path: see `SingleturnDataset`. Unbuilt samples are marked.
    """
    from iglu_marl.data import SingleturnDataset

    dataset = SingleturnDataset(path=path).split(part).filter(where=lambda record: not record["dropout"])
    for sample in task_samples(dataset):
        if structures is None or sample.structure in structures:
            yield sample
