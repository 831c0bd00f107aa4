"""A trained model in a folder: `model.json` (sizes, vocabulary, thresholds, how it was made) and `weights.npz`.

The weights are read as plain arrays, without pickle: a model of somebody else's cannot run code.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import torch

from iglu_marl import ConfigError, DataError
from iglu_marl.agents.learned.decoding import (
    Decoding,
    as_actions,
    exceeding,
    most_agreed,
    next_actions,
    sampled,
)
from iglu_marl.agents.learned.examples import Example, example_of
from iglu_marl.agents.learned.model import EditModel, ModelConfig
from iglu_marl.agents.learned.text import Vocabulary
from iglu_marl.agents.learned.zoo import pretrained, zoo
from iglu_marl.core.files import replacing, write_text
from iglu_marl.data.mdc.action_sequences import Action
from iglu_marl.evaluation.action_prediction import Situation

FORMAT, VERSION = "iglu_marl edit model", 2
DESCRIPTION, WEIGHTS = "model.json", "weights.npz"


@dataclass
class TrainedModel:
    """A model with its vocabulary and thresholds; a predictor for `iglu_marl.evaluation.action_prediction`.

    thresholds: by decoding: that of `exceeding`, and the bias of `most_agreed` ("steps"). decoding: the one
    that calls use. notes: how it was made.
    """

    models: list[EditModel]
    vocabulary: Vocabulary
    thresholds: dict[str, float]
    decoding: Decoding = "threshold"
    notes: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"

    def __call__(self, situation: Situation) -> list[Action]:
        """What the model would do in a situation."""
        return self.predict([situation])[0]

    def predict(self, situations: Iterable[Situation]) -> list[list[Action]]:
        """What it would do in each of many situations."""
        return self.actions([self._example(situation) for situation in situations])

    def _example(self, situation: Situation) -> Example:
        return example_of(situation, self.vocabulary, in_line=self.models[0].config.in_line)

    def actions(self, examples: Sequence[Example], decoding: Decoding | None = None) -> list[list[Action]]:
        """The actions for examples; their own are not looked at."""
        chosen: Decoding = decoding or self.decoding
        threshold = self.thresholds[chosen]
        chances, paths = sampled(self.models, examples, device=self.device)
        rows = (
            map(exceeding, chances, examples, repeat(threshold))
            if chosen == "threshold"
            else map(most_agreed, chances, paths, repeat(threshold))
        )
        return [as_actions(part) for part in rows]

    def sureness(self, situation: Situation) -> float:
        """How probable the most probable next action is; doing nothing is one."""
        return float(
            next_actions(self.models, [self._example(situation)], [(0, ())], device=self.device).max()
        )

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that tell this model and its thresholds from others."""
        made = hashlib.blake2b(json.dumps([self.thresholds, self.vocabulary.words]).encode(), digest_size=6)
        for name, part in sorted(self.tensors.items()):
            made.update(name.encode() + part.tobytes())
        return made.hexdigest()

    @property
    def tensors(self) -> dict[str, npt.NDArray[np.float16]]:
        """The weights by name, each model's after its number."""
        return {
            f"{number}.{name}": part.detach().cpu().numpy().astype(np.float16)
            for number, model in enumerate(self.models)
            for name, part in model.state_dict().items()
        }

    @property
    def description(self) -> dict[str, Any]:
        """What is known of it besides the weights, JSON-ready."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": self.models[0].config.to_json(),
            "thresholds": self.thresholds,
            "notes": self.notes,
            "words": self.vocabulary.words,
        }

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the two files; what was there stays whole until the new ones are."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = self.tensors
        with replacing(path / WEIGHTS) as partial, partial.open("wb") as file:
            np.savez_compressed(file, **arrays)
        write_text(path / DESCRIPTION, json.dumps(self.description, indent=1) + "\n")

    @classmethod
    def of(
        cls,
        described: Mapping[str, Any],
        tensors: Mapping[str, npt.NDArray[Any]],
        decoding: Decoding = "threshold",
        device: str = "cpu",
    ) -> TrainedModel:
        """A model of its description and weights. Raises whatever a damaged one makes go wrong."""
        if described["format"] != FORMAT or described["version"] != VERSION:
            raise ValueError(f"format {described['format']!r}, version {described['version']!r}")
        parts: dict[str, dict[str, torch.Tensor]] = {}
        for key, part in tensors.items():
            number, _, name = key.partition(".")
            parts.setdefault(number, {})[name] = torch.from_numpy(part.astype(np.float32))
        models = [EditModel(ModelConfig(**described["model"])) for _ in parts]
        for model, (_, state) in zip(models, sorted(parts.items()), strict=True):
            model.load_state_dict(state)
            model.to(device).eval()
        thresholds = {name: float(described["thresholds"][name]) for name in ("threshold", "steps")}
        vocabulary = Vocabulary(described["words"])
        return cls(models, vocabulary, thresholds, decoding, dict(described["notes"]), device)

    @classmethod
    def named(
        cls, model: str | os.PathLike[str], *, decoding: Decoding = "threshold", threads: int = 0
    ) -> TrainedModel:
        """A model of the zoo by its name, or that in a folder (see `load`)."""
        if Path(model).exists() or str(model) not in zoo():
            return cls.load(model, decoding=decoding, threads=threads)
        if threads:
            torch.set_num_threads(threads)
        found = pretrained(str(model))
        return cls.of(found.card["network"], found.tensors, decoding)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        decoding: Decoding = "threshold",
        device: str = "cpu",
        threads: int = 0,
    ) -> TrainedModel:
        """Read what `save` wrote. Raises `DataError` where no model fits, `ConfigError` for other decodings.

        threads: of PyTorch, in the whole process; 0 leaves them as they are. A single situation is too small to be
        shared among several.
        """
        path = Path(folder)
        if decoding not in get_args(Decoding):
            raise ConfigError(f"decoding is {decoding!r}, expected one of {', '.join(get_args(Decoding))}")
        if threads:
            torch.set_num_threads(threads)
        try:
            described = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
            with (path / WEIGHTS).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                return cls.of(described, dict(file), decoding, device)
        except Exception as error:  # NumPy and PyTorch raise all sorts of things for damaged files
            raise DataError(
                f"{path} holds no model of this version ({error!s:.200}); make one with `iglu-marl train edits`"
            ) from None


def save_tensors(state: Any, path: Path) -> None:
    """`torch.save`, whole or not at all."""
    with (
        replacing(path) as partial,
        partial.open("wb") as file,
    ):  # a file: a name would become part of the content
        torch.save(state, file)
