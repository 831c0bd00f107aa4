"""Training of an `EditModel` on human action sequences, with a held-out part.

An epoch depends on the seed, its number and the state before it only, so an interrupted run resumes from its last
epoch (`checkpoint.pt`) with the same result. The final weights are a running average over steps. The epoch and the
threshold are chosen by F1 on the held-out part.
"""

from __future__ import annotations

import copy
import csv
import io
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from iglu_marl import ConfigError, DataError
from iglu_marl.agents.learned.checkpoint import TENSOR_LIMIT, TrainedModel, save_tensors
from iglu_marl.agents.learned.decoding import in_one_look, marginals, scored
from iglu_marl.agents.learned.examples import Example, examples_of, training_batch
from iglu_marl.agents.learned.model import EditModel, Ensemble, ModelConfig, losses, tensors
from iglu_marl.agents.learned.text import LENGTH, RIGHT, UNKNOWN, Vocabulary
from iglu_marl.core.files import atomic_write, made_folder
from iglu_marl.core.parsing import read_file
from iglu_marl.core.scoring import Counts, micro
from iglu_marl.data.situations import Sample

CHECKPOINT, CURVE = "checkpoint.pt", "curve.csv"
LOSSES, SCORES = ("place_loss", "remove_loss", "color_loss"), ("f1", "precision", "recall")
COLUMNS = ("epoch", "seconds", *LOSSES, *SCORES, "threshold")
THRESHOLDS = tuple(round(0.04 + 0.01 * step, 3) for step in range(37))  # 0.04 to 0.4
WARM_UP = 200  # optimizer steps
_LONGEST = 60  # actions: longer sequences are no training examples

Actions = list[npt.NDArray[np.int64]]


@dataclass(frozen=True)
class TrainingConfig:
    """How to train. Everything random follows from the seed.

    device: "auto" takes a GPU where there is one. precision: of the arithmetic in the model, "auto" is bfloat16 where
    the machine has instructions for it. length: words that are read, the latest. average: of the weights,
    per step. threads: 0 leaves PyTorch's choice.
    """

    epochs: int = 24
    batch_size: int = 32
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    word_dropout: float = 0.05
    length: int = LENGTH
    average: float = 0.998
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    threads: int = 1
    model: ModelConfig = field(default_factory=lambda: ModelConfig(words=0))

    def __post_init__(self) -> None:
        """Raise `ConfigError` for values out of range."""
        for name in ("epochs", "batch_size", "length"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected 1 or more")
        for name in ("learning_rate", "weight_decay", "threads", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected 0 or more")
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise ConfigError(f"precision is {self.precision!r}, expected 'auto', 'float32' or 'bfloat16'")

    def here(self) -> TrainingConfig:
        """Return the configuration with device and precision of this machine instead of "auto"."""
        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        precision = self.precision
        if precision == "auto":
            fast = torch.cuda.is_bf16_supported() if device.startswith("cuda") else _cpu_has_bfloat16()
            precision = "bfloat16" if fast else "float32"
        return replace(self, device=device, precision=precision)


def _cpu_has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16, for which PyTorch has no public query on all platforms."""
    try:
        return "avx512_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def score(examples: Sequence[Example], made: Actions) -> Counts:
    """Return the micro counts of predicted actions against those of the examples."""
    rows = []
    for example, part in zip(examples, made, strict=True):
        asked, found = {tuple(row) for row in example.actions.tolist()}, {tuple(row) for row in part.tolist()}
        rows.append(Counts(len(asked & found), len(found), len(asked)))
    return micro(rows)


class Training:
    """A training run in a folder; see `train`."""

    def __init__(
        self, samples: Sequence[Sample], held_out: Sequence[Sample], folder: Path, config: TrainingConfig
    ) -> None:
        samples = [sample for sample in samples if 0 < len(sample.actions) <= _LONGEST]
        if not samples or not held_out:
            raise DataError(
                f"{len(samples)} samples to train on and {len(held_out)} to judge by: nothing to learn"
            )
        self.config, self.folder = config.here(), folder
        self.vocabulary = Vocabulary.of(_whole_dialogues(samples), length=config.length)
        self.examples = examples_of(samples, self.vocabulary)
        self.held_out = examples_of(held_out, self.vocabulary)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.model = EditModel(replace(config.model, words=len(self.vocabulary)))
        self.model.to(self.config.device).to(memory_format=torch.channels_last_3d)
        self.average = copy.deepcopy(self.model)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.epoch, self.seconds = 0, 0.0
        self.curve: list[dict[str, float]] = []
        self.best: dict[str, Any] = {}

    @property
    def steps(self) -> int:
        """Optimizer steps per epoch."""
        return math.ceil(len(self.examples) / self.config.batch_size)

    # -- an epoch

    def run_epoch(self) -> dict[str, float]:
        """Train and evaluate an epoch; return its row of the curve."""
        began = time.perf_counter()
        rng = np.random.default_rng([self.config.seed, self.epoch])
        with torch.random.fork_rng(devices=_cuda(self.config.device)):
            torch.manual_seed(int(rng.integers(2**63)))
            order, size = rng.permutation(len(self.examples)), self.config.batch_size
            parts = [
                self._step([self.examples[index] for index in order[first : first + size]], rng, number)
                for number, first in enumerate(range(0, len(order), size), self.epoch * self.steps)
            ]
        loss = np.mean(parts, axis=0)
        threshold, best = _best_threshold(self.average, self.held_out, **self._where())
        self.epoch += 1
        self.seconds += time.perf_counter() - began
        scores = (best.f1, best.precision, best.recall)
        row = dict(zip(COLUMNS, (self.epoch, self.seconds, *loss.tolist(), *scores, threshold), strict=True))
        self.curve.append(row)
        if not self.best or best.f1 > self.best["f1"]:
            state = {name: part.detach().clone() for name, part in self.average.state_dict().items()}
            self.best = {"f1": best.f1, "epoch": self.epoch, "threshold": threshold, "weights": state}
        return row

    def _where(self) -> dict[str, Any]:
        return {"device": self.config.device, "precision": self.config.precision}

    def _rate(self, number: int) -> float:
        """Return the learning rate of a step: warm-up, then half a cosine."""
        total = self.config.epochs * self.steps
        falling = 0.5 * (1 + math.cos(math.pi * min(1.0, number / total)))
        return self.config.learning_rate * min(1.0, (number + 1) / min(WARM_UP, 1 + total // 10)) * falling

    def _step(self, examples: Sequence[Example], rng: np.random.Generator, number: int) -> list[float]:
        """Make an optimizer step; return the losses."""
        drawn = training_batch(examples, rng)
        forgotten = (rng.random(drawn.words.shape) < self.config.word_dropout) & (drawn.words > RIGHT)
        drawn = replace(drawn, words=np.where(forgotten, UNKNOWN, drawn.words))
        batch = tensors(drawn, self.config.device)
        self.model.train()
        loss = losses(scored(self.model, batch, self.config.precision), batch)
        self.optimizer.zero_grad()
        loss.sum().backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(number)
        self.optimizer.step()
        kept = min(self.config.average, (number + 1) / (number + 10))
        with torch.no_grad():
            for mean, now in zip(self.average.parameters(), self.model.parameters(), strict=True):
                mean.lerp_(now, 1 - kept)
        return loss.tolist()

    # -- saving

    def save(self) -> None:
        """Write `checkpoint.pt` and `curve.csv`."""
        state = {
            "settings": self.settings(),
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
            atomic_write(self.folder / CURVE) as partial,
            partial.open("w", newline="", encoding="utf-8") as file,
        ):
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows({key: f"{value:.6g}" for key, value in row.items()} for row in self.curve)

    def load(self) -> None:
        """Resume from `checkpoint.pt`.

        Raises `DataError` if it is damaged. Raises `ConfigError` if it is of another run.
        """
        path = self.folder / CHECKPOINT
        try:
            content = io.BytesIO(read_file(path, TENSOR_LIMIT))
            state = torch.load(content, map_location=self.config.device, weights_only=True)
            settings = state["settings"]
        except Exception as error:  # torch raises what its unpickler does for damaged or malicious files
            raise DataError(
                f"{path} is no checkpoint ({error!s:.200}); start again in another folder"
            ) from None
        if settings != self.settings():
            odd = [name for name, value in self.settings().items() if settings.get(name) != value]
            raise ConfigError(f"{path} was begun with other settings ({', '.join(odd)}); use another folder")
        self.model.load_state_dict(state["model"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.seconds = state["epoch"], state["seconds"]
        self.curve, self.best = state["curve"], state["best"]

    def settings(self) -> dict[str, Any]:
        """Return the settings that a resumed run must share."""
        config = {
            name: value for name, value in asdict(self.config).items() if name not in ("threads", "device")
        }
        words = len(self.vocabulary)
        return {**config, "examples": len(self.examples), "held_out": len(self.held_out), "words": words}

    def run(self, on_epoch: Callable[[dict[str, float]], None] | None = None) -> None:
        """Run all remaining epochs; the model is then the best one."""
        while self.epoch < self.config.epochs:
            row = self.run_epoch()
            self.save()
            if on_epoch is not None:
                on_epoch({**row, "seed": self.config.seed})
        self.average.load_state_dict(self.best["weights"])


def _best_threshold(
    model: EditModel | Ensemble, held_out: Sequence[Example], **where: Any
) -> tuple[float, Counts]:
    """Return the threshold with the highest F1, and its counts."""
    found = marginals(model, held_out, **where)
    counts = {threshold: score(held_out, in_one_look(found, held_out, threshold)) for threshold in THRESHOLDS}
    threshold = max(counts, key=lambda key: counts[key].f1)
    return threshold, counts[threshold]


def _finished(runs: Sequence[Training], folder: Path, notes: dict[str, Any]) -> TrainedModel:
    """Write the model of one run, or the mean of several, with its threshold."""
    first = runs[0]
    model = first.average if len(runs) == 1 else Ensemble(run.average for run in runs)
    where: dict[str, Any] = {"device": first.config.device, "precision": first.config.precision}
    threshold, counts = _best_threshold(model, first.held_out, **where)
    facts: dict[str, Any] = {
        **notes,
        "training": first.settings(),
        "epoch": first.best["epoch"],
        "held_out_f1": counts.f1,
        "seconds": round(sum(run.seconds for run in runs), 1),
    }
    if len(runs) > 1:
        facts["members"] = [
            {"seed": run.config.seed, "epoch": run.best["epoch"], "held_out_f1": run.best["f1"]}
            for run in runs
        ]
    trained = TrainedModel(
        model.eval(),
        first.vocabulary,
        threshold,
        notes=facts,
        device=first.config.device,
    )
    trained.save(folder)
    return trained


def _cuda(device: str) -> list[str]:
    return [device] if device.startswith("cuda") else []


def _whole_dialogues(samples: Sequence[Sample]) -> list[Any]:
    """Return the longest dialogue of each unit."""
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
    members: int = 1,
    resume: bool = False,
    notes: dict[str, Any] | None = None,
    on_epoch: Callable[[dict[str, float]], None] | None = None,
) -> TrainedModel:
    """Train a model on samples, judge it by others after each epoch, and write it to a folder.

    folder: gets `model.json`, `weights.pt`, `curve.csv` and `checkpoint.pt`. members: of more than one, with seeds from
    that of `config` on, each is trained in `folder/seed-N`, and their mean is the model. resume: go on from the
    checkpoints there, if there are any; without it, a folder that has one is refused. notes: kept in `model.json`.
    on_epoch: is called with the epoch's row of the curve, and "seed".

    Raises `ConfigError` and `DataError`.
    """
    config = TrainingConfig() if config is None else config
    if members < 1:
        raise ConfigError(f"members is {members!r}, expected 1 or more")
    path = Path(folder)
    if config.threads:
        torch.set_num_threads(config.threads)
    runs = []
    for seed in range(config.seed, config.seed + members):
        own = path if members == 1 else path / f"seed-{seed}"
        made_folder(own)
        run = Training(samples, held_out, own, replace(config, seed=seed))
        if (own / CHECKPOINT).exists():
            if not resume:
                raise ConfigError(
                    f"{own} holds a run already; resume it (resume=True), or choose another folder"
                )
            run.load()
        run.run(on_epoch)
        runs.append(run)
    return _finished(runs, path, notes or {})
