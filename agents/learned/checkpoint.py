"""A trained model in a folder: `model.json` (sizes, vocabulary, threshold, notes) and `weights.npz`, plain arrays."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from iglu_marl import DataError
from iglu_marl.agents.learned.decoding import as_actions, in_one_look, marginals
from iglu_marl.agents.learned.examples import Example, example_of
from iglu_marl.agents.learned.model import EditModel, Ensemble, ModelConfig, network
from iglu_marl.agents.learned.text import LENGTH, Vocabulary
from iglu_marl.agents.learned.zoo import Pretrained, pretrained, read_arrays, zoo
from iglu_marl.core.files import atomic_write, write_text
from iglu_marl.core.grid import NetAction
from iglu_marl.core.parsing import MIB, parse_json, read_file
from iglu_marl.data.situations import Situation

FORMAT, VERSION = "iglu_marl edit model", 1
DESCRIPTION, WEIGHTS = "model.json", "weights.npz"


@dataclass
class TrainedModel:
    """A model with its vocabulary and threshold; a predictor for `iglu_marl.evaluation.action_prediction`.

    threshold: actions with a higher probability are predicted. notes: facts of the training.
    """

    model: EditModel | Ensemble
    vocabulary: Vocabulary
    threshold: float
    notes: dict[str, Any] = field(default_factory=dict)

    def __call__(self, situation: Situation) -> list[NetAction]:
        """Return the predicted edits in a situation, with one thread: more cost time for so little."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return self.actions([example_of(situation, self.vocabulary)])[0]
        finally:
            torch.set_num_threads(threads)

    def predict(self, situations: Iterable[Situation]) -> list[list[NetAction]]:
        """Return the predicted edits in each of many situations."""
        return self.actions([example_of(situation, self.vocabulary) for situation in situations])

    def actions(self, examples: Sequence[Example]) -> list[list[NetAction]]:
        """Return predicted actions for examples, whose own actions are ignored."""
        probabilities = marginals(self.model, examples)
        return [as_actions(rows) for rows in in_one_look(probabilities, examples, self.threshold)]

    @property
    def fingerprint(self) -> str:
        """Hash of weights and threshold, 12 hexadecimal digits."""
        made = hashlib.blake2b(
            json.dumps([self.threshold, self.vocabulary.words, self.vocabulary.length]).encode(),
            digest_size=6,
        )
        for name, part in sorted(self.model.state_dict().items()):
            made.update(name.encode() + part.numpy().tobytes())
        return made.hexdigest()

    @property
    def description(self) -> dict[str, Any]:
        """Return the content of `model.json`."""
        members = list(self.model) if isinstance(self.model, Ensemble) else [self.model]
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": members[0].config.to_json(),
            "members": len(members),
            "thresholds": {"threshold": self.threshold},
            "notes": self.notes,
            "length": self.vocabulary.length,
            "words": self.vocabulary.words,
        }

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write both files atomically."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {name: part.numpy() for name, part in self.model.state_dict().items()}
        with atomic_write(path / WEIGHTS) as partial, partial.open("wb") as file:
            np.savez(file, **arrays)
        write_text(path / DESCRIPTION, json.dumps(self.description, indent=1) + "\n")

    @classmethod
    def of(cls, described: Mapping[str, Any], arrays: Mapping[str, Any]) -> TrainedModel:
        """Make a model from its description and weights. Damaged ones raise various errors."""
        if described["format"] != FORMAT or described["version"] != VERSION:
            raise ValueError(f"format {described['format']!r}, version {described['version']!r}")
        vocabulary = Vocabulary(described["words"], described.get("length", LENGTH))
        model = network(ModelConfig(**described["model"]), described.get("members", 1))
        model.load_state_dict({name: torch.from_numpy(part) for name, part in arrays.items()})
        threshold = float(described["thresholds"]["threshold"])
        return cls(model.eval(), vocabulary, threshold, dict(described["notes"]))

    @classmethod
    def pretrained(cls, model: Pretrained) -> TrainedModel:
        """Return a model of the zoo."""
        return cls.of(model.card["network"], model.tensors)

    @classmethod
    def named(cls, model: str | os.PathLike[str]) -> TrainedModel:
        """Return a model of the zoo by name, or that in a folder (`load`)."""
        if os.path.exists(model) or str(model) not in zoo():
            return cls.load(model)
        return cls.pretrained(pretrained(str(model)))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> TrainedModel:
        """Read what `save` wrote. Raises `DataError` if the files are damaged."""
        path = Path(folder)
        try:
            described = parse_json(read_file(path / DESCRIPTION, 64 * MIB), DESCRIPTION)
            return cls.of(described, read_arrays(path / WEIGHTS))
        except (DataError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DataError(
                f"{path} holds no model of this version ({error!s:.200}); make one with "
                "`examples/train_edits.py`"
            ) from None
