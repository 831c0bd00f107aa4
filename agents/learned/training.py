"""Training an `EditModel`: on sequences of people, judged by sequences that it never sees.

An epoch is a function of the seed, its number, and the state before it, so a run that was interrupted goes on from its
last epoch (`checkpoint.pt`) as if nothing had happened. The weights that count are a running average over steps. The
epoch, and the thresholds of both decodings, are chosen by F1 on the held-out part.
"""

from __future__ import annotations

import copy
import csv
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch

from iglu_marl import ConfigError, DataError
from iglu_marl.agents.learned.checkpoint import TrainedModel, save_tensors
from iglu_marl.agents.learned.decoding import Path as Made
from iglu_marl.agents.learned.decoding import exceeding, most_agreed, sampled, scored
from iglu_marl.agents.learned.examples import (
    Example,
    State,
    examples_of,
    framed,
    judged_states,
    training_states,
    training_view,
)
from iglu_marl.agents.learned.frames import frame_of
from iglu_marl.agents.learned.lessons import lessons
from iglu_marl.agents.learned.model import EditModel, ModelConfig, batch_of, loss_of, targets_of
from iglu_marl.agents.learned.text import SPECIAL, UNKNOWN, Vocabulary
from iglu_marl.core.files import replacing
from iglu_marl.evaluation.action_prediction import Sample
from iglu_marl.evaluation.metrics import Counts, micro

CHECKPOINT, CURVE = "checkpoint.pt", "curve.csv"
COLUMNS = ("epoch", "seconds", "loss", "held_out_loss")
THRESHOLDS = tuple(round(0.06 + 0.01 * step, 3) for step in range(37))  # 0.06 to 0.42
BIASES = (0.0, 0.5, 1.0, 2.0, 4.0)
WARM_UP = 200  # optimizer steps
_LONGEST = 60  # actions: longer sequences are no training examples


@dataclass(frozen=True)
class TrainingConfig:
    """How to train. Everything random follows from the seed.

    lessons: how many made-up samples (`lessons`) are learned from first, and how often. epochs: over people's, then.
    device: "auto" takes a GPU where there is one. precision: of the arithmetic in the model, "auto" is bfloat16 where
    the machine has instructions for it. average: of the weights, per step. threads: 0 leaves PyTorch's choice.
    """

    epochs: int = 10
    lessons: int = 0
    lesson_epochs: int = 3
    members: int = 1
    batch_size: int = 32
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    word_dropout: float = 0.06
    average: float = 0.998
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    threads: int = 1
    model: ModelConfig = field(default_factory=lambda: ModelConfig(words=0))

    def __post_init__(self) -> None:
        """Raise `ConfigError` for values out of range."""
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected 1 or more")
        for name in ("learning_rate", "weight_decay", "threads", "seed", "lessons", "lesson_epochs"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected 0 or more")
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise ConfigError(f"precision is {self.precision!r}, expected 'auto', 'float32' or 'bfloat16'")

    def here(self) -> TrainingConfig:
        """With device and precision of this machine in place of "auto"."""
        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        precision = self.precision
        if precision == "auto":
            fast = torch.cuda.is_bf16_supported() if device.startswith("cuda") else _cpu_has_bfloat16()
            precision = "bfloat16" if fast else "float32"
        return replace(self, device=device, precision=precision)


def _cpu_has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16; PyTorch has no public question for it everywhere."""
    try:
        return "avx512_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def score(examples: Sequence[Example], made: Sequence[Made]) -> Counts:
    """The micro counts of predicted actions against those of the examples."""
    rows = []
    for example, part in zip(examples, made, strict=True):
        asked, found = {tuple(row) for row in example.actions.tolist()}, set(part)
        rows.append(Counts(len(asked & found), len(found), len(asked)))
    return micro(rows)


class Training:
    """A run of training in a folder; see `train`."""

    def __init__(
        self, samples: Sequence[Sample], held_out: Sequence[Sample], folder: Path, config: TrainingConfig
    ) -> None:
        samples = [sample for sample in samples if 0 < len(sample.actions) <= _LONGEST]
        if not samples or not held_out:
            raise DataError(
                f"{len(samples)} samples to train on and {len(held_out)} to judge by: nothing to learn"
            )
        self.config, self.folder = config.here(), folder
        made_up = lessons(config.lessons)
        self.vocabulary = Vocabulary.of(_whole_dialogues([*samples, *made_up]))
        self.lessons, self.examples, self.held_out = (
            examples_of(part, self.vocabulary, in_line=config.model.in_line)
            for part in (made_up, samples, held_out)
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.model = EditModel(replace(config.model, words=len(self.vocabulary)))
        self.model.to(self.config.device).float()
        self.average = copy.deepcopy(self.model)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.epoch, self.seconds = 0, 0.0
        self.curve: list[dict[str, float]] = []
        self.best: dict[str, Any] = {}

    @property
    def epochs(self) -> int:
        """Of lessons and people's samples."""
        return self.config.epochs + self.config.lesson_epochs * bool(self.lessons)

    def _taught(self, epoch: int) -> list[Example]:
        """The examples of an epoch."""
        return self.lessons if epoch < self.epochs - self.config.epochs else self.examples

    def _steps(self, epochs: int) -> int:
        """Optimizer steps of the first epochs."""
        return sum(math.ceil(len(self._taught(epoch)) / self.config.batch_size) for epoch in range(epochs))

    # -- an epoch

    def run_epoch(self) -> dict[str, float]:
        """Train one epoch, judge, and remember; returns its row of the curve."""
        began = time.perf_counter()
        rng = np.random.default_rng([self.config.seed, self.epoch])
        with torch.random.fork_rng(devices=_cuda(self.config.device)):
            torch.manual_seed(int(rng.integers(2**63)))
            taught, size = self._taught(self.epoch), self.config.batch_size
            order = rng.permutation(len(taught))
            parts = [
                self._step([taught[index] for index in order[first : first + size]], rng, number)
                for number, first in enumerate(range(0, len(order), size), self._steps(self.epoch))
            ]
        judged = self._held_out_loss()
        self.epoch += 1
        self.seconds += time.perf_counter() - began
        row = dict(zip(COLUMNS, (self.epoch, self.seconds, float(np.mean(parts)), judged), strict=True))
        self.curve.append(row)
        if not self.best or judged < self.best["loss"]:
            state = {name: part.detach().clone() for name, part in self.average.state_dict().items()}
            self.best = {"loss": judged, "epoch": self.epoch, "weights": state}
        return row

    def _held_out_loss(self) -> float:
        """The loss of the average model at the start of the held-out examples, halfway through, and at their end."""
        parts = []
        self.average.eval()
        for first in range(0, len(self.held_out), self.config.batch_size):
            part = self.held_out[first : first + self.config.batch_size]
            views = [framed(example, frame_of(example.pose[3])) for example in part]
            with torch.no_grad():
                parts.append(self._loss(self.average, views, [judged_states(view) for view in views]))
        return float(sum(loss for loss, _ in parts) / sum(weight for _, weight in parts))

    def _loss(
        self,
        model: EditModel,
        views: Sequence[Example],
        states: Sequence[Sequence[State]],
        rng: np.random.Generator | None = None,
    ) -> tuple[torch.Tensor, float]:
        """The summed loss of the views' states, and their summed weight. rng: in training, words are forgotten."""
        owners = [index for index, own in enumerate(states) for _ in own]
        prefixes = [prefix for own in states for prefix, _ in own]
        weights = torch.tensor([weight for own in states for _, weight in own], device=self.config.device)
        batch = batch_of(views, prefixes, owners, thin=rng, device=self.config.device)
        if rng is not None:
            words = batch["words"]
            odd = torch.from_numpy(rng.random(tuple(words.shape)) < self.config.word_dropout)
            batch["words"] = words.masked_fill(odd.to(words.device) & (words >= SPECIAL), UNKNOWN)
        found = loss_of(scored(model, batch, self.config.precision), targets_of(batch, views, prefixes))
        return (found * weights).sum(), float(weights.sum())

    @property
    def where(self) -> dict[str, Any]:
        """Device and precision of this machine."""
        return {"device": self.config.device, "precision": self.config.precision}

    def _rate(self, number: int) -> float:
        """The learning rate of a step: a warm-up, then half a cosine."""
        total = self._steps(self.epochs)
        falling = 0.5 * (1 + math.cos(math.pi * min(1.0, number / total)))
        return self.config.learning_rate * min(1.0, (number + 1) / min(WARM_UP, 1 + total // 10)) * falling

    def _step(self, examples: Sequence[Example], rng: np.random.Generator, number: int) -> float:
        """One step of the optimizer; returns the loss."""
        views = [training_view(example, rng) for example in examples]
        self.model.train()
        total, weight = self._loss(self.model, views, [training_states(view, rng) for view in views], rng)
        loss = total / weight
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(number)
        self.optimizer.step()
        kept = min(self.config.average, (number + 1) / (number + 10))
        with torch.no_grad():
            for mean, now in zip(self.average.parameters(), self.model.parameters(), strict=True):
                mean.lerp_(now, 1 - kept)
        return float(loss.detach())

    # -- saving

    def save(self) -> None:
        """Write `checkpoint.pt` and `curve.csv`."""
        state = {
            "settings": self.settings,
            "epoch": self.epoch,
            "seconds": self.seconds,
            "curve": self.curve,
            "best": self.best,
            "model": self.model.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        save_tensors(state, self.folder / CHECKPOINT)
        with (
            replacing(self.folder / CURVE) as partial,
            partial.open("w", newline="", encoding="utf-8") as file,
        ):
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows({key: f"{value:.6g}" for key, value in row.items()} for row in self.curve)

    def load(self) -> None:
        """Go on from `checkpoint.pt`. Raises `DataError` for a damaged one, `ConfigError` for one of another run."""
        path = self.folder / CHECKPOINT
        try:
            state = torch.load(path, map_location=self.config.device, weights_only=True)
            settings = state["settings"]
        except Exception as error:  # torch raises what its unpickler does for damaged or malicious files
            raise DataError(
                f"{path} is no checkpoint ({error!s:.200}); start anew in another folder"
            ) from None
        if settings != self.settings:
            odd = [name for name, value in self.settings.items() if settings.get(name) != value]
            raise ConfigError(f"{path} was begun with other settings ({', '.join(odd)}); use another folder")
        self.model.load_state_dict(state["model"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.seconds = state["epoch"], state["seconds"]
        self.curve, self.best = state["curve"], state["best"]

    @property
    def settings(self) -> dict[str, Any]:
        """What has to be the same in a run that is gone on with."""
        config = {
            name: value for name, value in asdict(self.config).items() if name not in ("threads", "device")
        }
        words = len(self.vocabulary)
        return {**config, "examples": len(self.examples), "held_out": len(self.held_out), "words": words}

    @property
    def best_model(self) -> EditModel:
        """The model of the best epoch, with its weights as they are written."""
        weights = {name: part.half().float() for name, part in self.best["weights"].items()}
        self.average.load_state_dict(weights)
        return self.average.eval()


def finished(members: Sequence[Training], folder: Path, notes: dict[str, Any]) -> TrainedModel:
    """The average of trained models, with a threshold for each decoding; written to a folder."""
    first = members[0]
    models, held_out = [one.best_model for one in members], first.held_out
    chances, paths = sampled(models, held_out, **first.where)
    found = {
        "threshold": {
            threshold: score(held_out, [*map(exceeding, chances, held_out, repeat(threshold))]).f1
            for threshold in THRESHOLDS
        },
        "steps": {
            bias: score(held_out, [*map(most_agreed, chances, paths, repeat(bias))]).f1 for bias in BIASES
        },
    }
    best = {name: max(part, key=lambda key: part[key]) for name, part in found.items()}
    trained = TrainedModel(
        models,
        first.vocabulary,
        best,
        notes={
            **notes,
            "training": first.settings,
            "epochs": [one.best["epoch"] for one in members],
            "held_out_loss": [round(one.best["loss"], 4) for one in members],
            "held_out_f1": {name: part[best[name]] for name, part in found.items()},
            "seconds": round(sum(one.seconds for one in members), 1),
        },
        device=first.config.device,
    )
    trained.save(folder)
    return trained


def _cuda(device: str) -> list[str]:
    return [device] if device.startswith("cuda") else []


def _whole_dialogues(samples: Sequence[Sample]) -> list[Any]:
    """Each dialogue once: the longest of each unit."""
    longest: dict[str, Any] = {}
    for sample in samples:
        known = longest.get(sample.unit)
        if known is None or len(sample.situation.dialogue) > len(known):
            longest[sample.unit] = sample.situation.dialogue
    return list(longest.values())


def train(
    samples: Sequence[Sample],
    held_out: Sequence[Sample],
    folder: str | os.PathLike[str],
    config: TrainingConfig | None = None,
    *,
    resume: bool = False,
    notes: dict[str, Any] | None = None,
    on_epoch: Callable[[dict[str, float]], None] | None = None,
) -> TrainedModel:
    """Train a model on samples, judge it by others after each epoch, and write it to a folder.

    folder: gets `model.json`, `weights.npz`, `curve.csv` and `checkpoint.pt`; further members have the latter two in
    folders of their own. resume: go on from the checkpoint there,
    if there is one; without it, a folder that has one is refused. notes: kept in `model.json`. on_epoch: is called
    with the epoch's row of the curve.

    Raises `ConfigError` and `DataError`.
    """
    config = TrainingConfig() if config is None else config
    path = Path(folder)
    if config.threads:
        torch.set_num_threads(config.threads)
    members = []
    for number in range(config.members):
        own = path if number == 0 else path / f"member-{number}"
        own.mkdir(parents=True, exist_ok=True)
        training = Training(samples, held_out, own, replace(config, seed=config.seed + number))
        if (own / CHECKPOINT).exists():
            if not resume:
                raise ConfigError(
                    f"{own} holds a run already; go on with it (resume), or choose another folder"
                )
            training.load()
        while training.epoch < training.epochs:
            row = training.run_epoch()
            training.save()
            if on_epoch is not None:
                on_epoch(row)
        members.append(training)
    return finished(members, path, notes or {})
