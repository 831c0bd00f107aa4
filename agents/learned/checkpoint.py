"""A trained model in a folder: `model.json` (sizes, vocabulary, threshold, notes) and `weights.pt`.

Weights are read as plain tensors (`weights_only`): loading runs no code.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from iglu_marl import DataError
from iglu_marl.agents.learned.decoding import as_actions, in_one_look, marginals
from iglu_marl.agents.learned.examples import Example, example_of
from iglu_marl.agents.learned.model import EditModel, Ensemble, ModelConfig, network
from iglu_marl.agents.learned.text import LENGTH, Vocabulary
from iglu_marl.agents.learned.zoo import Pretrained, pretrained, zoo
from iglu_marl.core.files import atomic_write, write_text
from iglu_marl.core.grid import NetAction
from iglu_marl.core.parsing import MIB, parse_json, read_file
from iglu_marl.data.situations import Situation

FORMAT, VERSION = "iglu_marl edit model", 1
DESCRIPTION, WEIGHTS = "model.json", "weights.pt"
TENSOR_LIMIT = 4096 * MIB  # bytes


@dataclass
class TrainedModel:
    """A model with its vocabulary and threshold; a predictor for `iglu_marl.evaluation.action_prediction`.

    threshold: actions with a higher probability are predicted. notes: facts of the training.
    """

    model: EditModel | Ensemble
    vocabulary: Vocabulary
    threshold: float
    notes: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"

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
        probabilities = marginals(self.model, examples, device=self.device)
        return [as_actions(rows) for rows in in_one_look(probabilities, examples, self.threshold)]

    @property
    def fingerprint(self) -> str:
        """Hash of weights and threshold, 12 hexadecimal digits."""
        made = hashlib.blake2b(
            json.dumps([self.threshold, self.vocabulary.words, self.vocabulary.length]).encode(),
            digest_size=6,
        )
        for name, part in sorted(self.model.state_dict().items()):
            made.update(name.encode() + part.cpu().numpy().tobytes())
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
        save_tensors(self.model.state_dict(), path / WEIGHTS)
        write_text(path / DESCRIPTION, json.dumps(self.description, indent=1) + "\n")

    @classmethod
    def of(
        cls,
        described: Mapping[str, Any],
        state: Mapping[str, torch.Tensor],
        device: str = "cpu",
    ) -> TrainedModel:
        """Make a model from its description and weights. Damaged ones raise various errors."""
        if described["format"] != FORMAT or described["version"] != VERSION:
            raise ValueError(f"format {described['format']!r}, version {described['version']!r}")
        vocabulary = Vocabulary(described["words"], described.get("length", LENGTH))
        model = network(ModelConfig(**described["model"]), described.get("members", 1))
        threshold = float(described["thresholds"]["threshold"])
        model.load_state_dict(state)
        return cls(model.to(device).eval(), vocabulary, threshold, dict(described["notes"]), device)

    @classmethod
    def pretrained(cls, model: Pretrained) -> TrainedModel:
        """Return a model of the zoo."""
        state = {name: torch.from_numpy(part) for name, part in model.tensors.items()}
        return cls.of(model.card["network"], state)

    @classmethod
    def named(cls, model: str | os.PathLike[str], *, threads: int = 0) -> TrainedModel:
        """Return a model of the zoo by name, or that in a folder (`load`)."""
        if Path(model).exists() or str(model) not in zoo():
            return cls.load(model, threads=threads)
        if threads:
            torch.set_num_threads(threads)
        return cls.pretrained(pretrained(str(model)))

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        device: str = "cpu",
        threads: int = 0,
    ) -> TrainedModel:
        """Read what `save` wrote.

        threads: of PyTorch, in the whole process; 0: unchanged. Single situations are too small for several threads.

        Raises `DataError` if the files are damaged.
        """
        path = Path(folder)
        if threads:
            torch.set_num_threads(threads)
        try:
            described = parse_json(read_file(path / DESCRIPTION, 64 * MIB), DESCRIPTION)
            content = io.BytesIO(read_file(path / WEIGHTS, TENSOR_LIMIT))
            state = torch.load(content, map_location=device, weights_only=True)
            return cls.of(described, state, device)
        except Exception as error:  # torch raises what its unpickler does for damaged or malicious files
            raise DataError(
                f"{path} holds no model of this version ({error!s:.200}); make one with "
                "`examples/train_edits.py`"
            ) from None


def save_tensors(state: Any, path: Path) -> None:
    """Call `torch.save` atomically."""
    made = io.BytesIO()  # written to a full disk by torch.save, the error would not name the disk
    torch.save(state, made)
    with atomic_write(path) as partial:
        partial.write_bytes(made.getbuffer())
