"""Language models that predict a builder's edits, fine-tuned on people's dialogues with a low-rank adapter.

The model reads the world, the builder's last edits and the dialogue as text, and writes edits, one per line, as in
Nebula (Chaturvedi et al. 2024): `+red 0 1 -2` places, `-0 1 -2` removes. Coordinates are those of the builder's frame:
blocks to its right, height from 1, blocks behind its middle line. Decoding follows the format and the world: a block is
placed in an empty cell only, and only a filled one is emptied.

A folder holds the adapter (in the form of peft) and `language.json`: the base model, limits and notes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from iglu_marl import ConfigError, DataError, Role
from iglu_marl.agents.bases import pretrained
from iglu_marl.agents.learned.frames import CELLS, cell_of, frame_of, turned
from iglu_marl.agents.learned.text import facing
from iglu_marl.core.extras import extra
from iglu_marl.core.files import made_folder, write_text
from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, NetAction, index_of
from iglu_marl.data.situations import Sample, Situation

DESCRIPTION, FORMAT, VERSION = "language.json", "iglu_marl language model of edits", 1
SHOWN = 40  # blocks of the world, and edits of the time before
MOST_EDITS = 24


@dataclass(frozen=True)
class LanguageConfig:
    """How to fine-tune. Everything random follows from the seed.

    rank: of the adapter's matrices. prompt_tokens: of a prompt, whose oldest utterances are left out. minutes: after
    which no further step begins; 0: no limit. device: "auto" takes a GPU where there is one. threads: of PyTorch; 0
    leaves them.
    """

    base: str = "smollm2"
    epochs: int = 1
    batch_size: int = 16
    learning_rate: float = 1e-3
    rank: int = 8
    prompt_tokens: int = 512
    minutes: float = 0.0
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    threads: int = 0

    def __post_init__(self) -> None:
        """Raise `ConfigError` for values out of range."""
        for name in ("epochs", "batch_size", "rank", "prompt_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected 1 or more")
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise ConfigError(f"precision is {self.precision!r}, expected 'auto', 'float32' or 'bfloat16'")


# ------------------------------------------------------------------------------------------------- text


def frame(situation: Situation) -> int:
    """Return the frame in which a situation is described: by the builder's yaw, or where it is asked to face."""
    yaw = facing(situation.dialogue) if situation.pose is None else situation.pose[3]
    return frame_of(yaw or 0.0)


def edit_line(action: NetAction, turns: int) -> str:
    """Return an edit as a line."""
    x, z = turned(action.x, action.z, turns)
    place = f"{int(x)} {action.y + 2} {int(z)}\n"
    return f"+{COLOR_NAMES[action.color]} {place}" if action.place else f"-{place}"


def prompt(situation: Situation, utterances: int) -> str:
    """Return a situation as text, with the last utterances of the dialogue."""
    turns, grid = frame(situation), situation.grid.ravel()
    done = situation.history[-1][-SHOWN:] if situation.history else ()
    latest = {action.cell for action in done}
    cells = [cell for cell in np.flatnonzero(grid).tolist() if cell_of(cell) not in latest]
    lines = [
        "World:\n",
        *(edit_line(NetAction(True, *cell_of(cell), int(grid[cell])), turns) for cell in cells[:SHOWN]),
    ]
    lines += ["Done:\n", *(edit_line(action, turns) for action in done)]
    first = max(0, len(situation.dialogue) - utterances)
    for index, said in enumerate(situation.dialogue[first:], first):
        new = "*" if index >= situation.new_from else ""
        lines.append(f"{new}{'Builder' if said.role is Role.BUILDER else 'Architect'}: {said.text}\n")
    return "".join(lines) + "Edits:\n"


class Writer:
    """Situations and edits as tokens of a tokenizer."""

    def __init__(self, tokenizer: Any, prompt_tokens: int) -> None:
        self.tokenizer, self.prompt_tokens = tokenizer, prompt_tokens
        self.end = int(tokenizer.eos_token_id)
        self._lines: dict[str, tuple[int, ...]] = {}
        self.longest_line = len(self.line("+orange -5 9 -5\n")) + 2

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, without special ones."""
        return [int(one) for one in self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def line(self, text: str) -> tuple[int, ...]:
        """Return the tokens of an edit."""
        if text not in self._lines:
            self._lines[text] = tuple(self.tokens(text))
        return self._lines[text]

    def prompt(self, situation: Situation) -> list[int]:
        """Return the tokens of a situation, with as many of the last utterances as there is room for."""
        found: list[int] = self.tokens(prompt(situation, 1))
        for utterances in range(2, len(situation.dialogue) + 1):
            longer = self.tokens(prompt(situation, utterances))
            if len(longer) > self.prompt_tokens:
                break
            found = longer
        return found[-self.prompt_tokens :]

    def answer(self, actions: Iterable[NetAction], turns: int) -> list[int]:
        """Return the tokens of edits, and the end."""
        return [token for action in actions for token in self.line(edit_line(action, turns))] + [self.end]

    def possible(self, grid: BlockGrid, turns: int) -> dict[int, Any]:
        """Return the edits that a world allows as a tree of tokens, with the edits as leaves."""
        tree: dict[int, Any] = {}
        for cell in range(CELLS):
            color = int(grid.flat[cell])
            for option in [0] if color else range(1, len(COLOR_NAMES)):
                action = NetAction(bool(option), *cell_of(cell), option or color)
                *first, last = self.line(edit_line(action, turns))
                node = tree
                for token in first:
                    node = node.setdefault(token, {})
                node[last] = action
        return tree


class _Path:
    """The edits written so far, and the tokens that may follow."""

    def __init__(self, writer: Writer, situation: Situation) -> None:
        self.writer, self.grid, self.turns = writer, situation.grid.copy(), frame(situation)
        self.made: list[NetAction] = []
        self._read = 0
        self._root = self._node = writer.possible(self.grid, self.turns)

    def allowed(self, tokens: Sequence[int]) -> list[int]:
        """Return the tokens that may follow those that were written."""
        for token in tokens[self._read :]:
            if token == self.writer.end:
                break
            self._node = self._node[token]
            if isinstance(self._node, NetAction):
                self.made.append(self._node)
                self.grid[index_of(self._node.cell)] = self._node.color if self._node.place else 0
                self._root = self._node = self.writer.possible(self.grid, self.turns)
        self._read = len(tokens)
        if self._node is not self._root:
            return [*self._node]
        return [self.writer.end, *(self._root if len(self.made) < MOST_EDITS else ())]


# ------------------------------------------------------------------------------------------------- the predictor


@dataclass
class LanguageModel:
    """A fine-tuned language model; a predictor for `iglu_marl.evaluation.action_prediction`."""

    model: Any
    writer: Writer
    notes: dict[str, Any] = field(default_factory=dict)

    def __call__(self, situation: Situation) -> list[NetAction]:
        """Return the predicted edits: the most probable tokens among those that the format and the world allow."""
        from transformers import GenerationConfig

        given, end = self.writer.prompt(situation), self.writer.end
        path = _Path(self.writer, situation)
        config = GenerationConfig(
            max_new_tokens=MOST_EDITS * self.writer.longest_line + 1,
            do_sample=False,
            eos_token_id=end,
            pad_token_id=end,
        )
        ids = torch.tensor([given], device=self.model.device)
        with torch.inference_mode():
            self.model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                generation_config=config,
                prefix_allowed_tokens_fn=lambda _, made: path.allowed(made[len(given) :].tolist()),
            )
        return path.made

    @property
    def fingerprint(self) -> str:
        """Hash of the adapter and limits, 12 hexadecimal digits."""
        made = hashlib.blake2b(
            json.dumps([self.notes["base"], self.writer.prompt_tokens]).encode(), digest_size=6
        )
        for name, part in sorted(self.model.named_parameters()):
            if "lora_" in name:
                made.update(name.encode() + part.detach().float().cpu().numpy().tobytes())
        return made.hexdigest()

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> LanguageModel:
        """Read what `train_language` wrote. Raises `DataError` if it is damaged."""
        with extra("pretrained"):
            import peft
        path = Path(folder)
        try:
            described = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
            if (described["format"], described["version"]) != (FORMAT, VERSION):
                raise ValueError(f"format {described['format']!r}, version {described['version']!r}")
            base, tokenizer = _base(described["notes"]["base"], device, "float32")
            model = peft.PeftModel.from_pretrained(base, str(path)).eval()
            return cls(model, Writer(tokenizer, int(described["prompt_tokens"])), described["notes"])
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise DataError(
                f"{path} holds no language model of this version ({error!s:.200}); make one with "
                f"`examples/train_predictors.py llm`"
            ) from None


def _base(name: str, device: str, precision: str) -> tuple[Any, Any]:
    """Return a causal model and its tokenizer."""
    source = pretrained(name)
    with extra("pretrained"):
        import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=getattr(torch, precision))
    return model.to(device), tokenizer


# ------------------------------------------------------------------------------------------------- training


def train_language(
    samples: Sequence[Sample],
    held_out: Sequence[Sample],
    folder: str | os.PathLike[str],
    config: LanguageConfig | None = None,
    *,
    notes: dict[str, Any] | None = None,
    on_step: Callable[[dict[str, float]], None] | None = None,
) -> LanguageModel:
    """Fine-tune a language model on samples, and write its adapter to a folder.

    held_out: the loss per sample on these is noted, before and after. on_step: is called with number, seconds, loss
    (mean over the samples of the step, of the answer's tokens) of each step.

    Raises `ConfigError`, `DataError` and `MissingExtraError`.
    """
    config = config or LanguageConfig()
    samples = [sample for sample in samples if 0 < len(sample.actions) <= MOST_EDITS]
    if not samples:
        raise DataError("no samples with edits: nothing to learn")
    device = config.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = config.precision
    if precision == "auto":
        precision = "bfloat16" if device.startswith("cuda") else "float32"
    if config.threads:
        torch.set_num_threads(config.threads)
    path, began = made_folder(Path(folder)), time.perf_counter()
    base, tokenizer = _base(config.base, device, precision)
    with extra("pretrained"):
        import peft
    torch.manual_seed(config.seed)
    shape = peft.LoraConfig(
        r=config.rank, lora_alpha=2 * config.rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    model = peft.get_peft_model(base, shape)
    writer = Writer(tokenizer, config.prompt_tokens)
    weights = [part for part in model.parameters() if part.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=0.0)
    rng, size = np.random.default_rng(config.seed), config.batch_size
    total = config.epochs * math.ceil(len(samples) / size)
    before = _mean_loss(model, writer, held_out, size)
    order: list[int] = []
    step = 0
    while step < total and not (config.minutes and time.perf_counter() - began > 60 * config.minutes):
        if not order:
            order = rng.permutation(len(samples)).tolist()
        batch, order = [samples[index] for index in order[:size]], order[size:]
        model.train()
        loss = _loss(model, writer, batch)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(1.0, (step + 1) / 10) * (1.0 - step / total)
        optimizer.step()
        step += 1
        if on_step is not None:
            on_step({"step": step, "seconds": time.perf_counter() - began, "loss": loss.item()})
    facts = {
        **(notes or {}),
        "base": config.base,
        "training": vars(config),
        "samples": len(samples),
        "steps": step,
        "seconds": round(time.perf_counter() - began, 1),
        "held_out_loss": {"before": before, "after": _mean_loss(model, writer, held_out, size)},
    }
    try:
        model.save_pretrained(path)
    except Exception as error:  # on a full disk, safetensors raises a class that it does not export
        raise DataError(f"{path} cannot be written: {error!s:.200}") from error
    described = {"format": FORMAT, "version": VERSION, "prompt_tokens": config.prompt_tokens, "notes": facts}
    write_text(path / DESCRIPTION, json.dumps(described, indent=1) + "\n")
    return LanguageModel(model.eval(), writer, facts)


def _loss(model: Any, writer: Writer, samples: Sequence[Sample]) -> torch.Tensor:
    """Return the cross-entropy of the answers, summed over their tokens, as a mean over samples."""
    rows = [
        (writer.prompt(sample.situation), writer.answer(sample.actions, frame(sample.situation)))
        for sample in samples
    ]
    longest, kept = max(len(given) + len(said) for given, said in rows), max(len(said) for _, said in rows)
    ids, seen = (
        torch.full((len(rows), longest), writer.end),
        torch.zeros((len(rows), longest), dtype=torch.long),
    )
    wanted = torch.full((len(rows), kept), -100)
    for index, (given, said) in enumerate(rows):  # padded on the left: the answers are at the end
        ids[index, longest - len(given) - len(said) :] = torch.tensor(given + said)
        seen[index, longest - len(given) - len(said) :] = 1
        wanted[index, kept - len(said) :] = torch.tensor(said)
    out = model(
        input_ids=ids.to(model.device),
        attention_mask=seen.to(model.device),
        logits_to_keep=kept + 1,
        use_cache=False,
    )
    logits = out.logits[:, :-1].float().flatten(0, 1)
    return functional.cross_entropy(logits, wanted.to(model.device).flatten(), reduction="sum") / len(rows)


def _mean_loss(model: Any, writer: Writer, samples: Sequence[Sample], size: int) -> float | None:
    """Return the loss per sample, or None without samples."""
    model.eval()
    with torch.inference_mode():
        parts = [
            _loss(model, writer, samples[first : first + size]).item() * len(samples[first : first + size])
            for first in range(0, len(samples), size)
        ]
    return sum(parts) / len(samples) if samples else None
