"""A language model learns to build: imitation of a reference builder, then GRPO by the reward of the game, with TRL.

    python examples/trl_builder.py tuned --steps 100
    python examples/trl_builder.py early --steps 16
    python examples/trl_builder.py grpo --adapter early --grpo --steps 22 --batch 4 --learning-rate 2e-4

The model is SmolLM2 (135 million parameters, extra `pretrained`) with a low-rank adapter, or `--base NAME`. The
scripted architect describes structures of up to three blocks, one block in a message; the model sees the last message.
Success is measured on requests that no training game contains. Needs the extras `trl` and `pretrained`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from iglu_marl.agents import pretrained
from iglu_marl.agents.llm.local import LocalBackend
from iglu_marl.agents.llm.messages import ChatRequest, Message
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.core.extras import extra
from iglu_marl.evaluation.metrics import Interval, share_interval
from iglu_marl.tasks import RandomTasks
from iglu_marl.text import rewards
from iglu_marl.text.export import generated_records

with extra("trl", script=True):
    import torch
    from datasets import Dataset
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

GAME: dict[str, Any] = {
    "tasks": RandomTasks(max_blocks=3, height_levels=2, invariant=False),
    "prompts": str(Path(__file__).with_name("prompts")),
    "history": 1,
}
REPLY_TOKENS = 48
HELD_OUT_SEED = 10**8


def requests(seed: int) -> Iterator[dict[str, Any]]:
    """Yield a turn of each reference game from a seed on: a chat, the right answer, and the worlds before and after."""
    for number in itertools.count(seed):
        turns = list(generated_records([number], **GAME))
        yield turns[number % len(turns)]


def measure(base: str, adapter: str, asked: Sequence[dict[str, Any]]) -> Interval:
    """Return the share of requests that a model carries out exactly, with Wilson's interval."""
    backend = LocalBackend(
        LLMSettings(model=base, adapter=adapter, reply_tokens=REPLY_TOKENS, dtype="bfloat16")
    )
    chats = [
        ChatRequest(tuple(Message(part["role"], part["content"]) for part in one["prompt"])) for one in asked
    ]
    replies = [reply.text for reply in backend.complete(chats)]
    columns = ([one[key] for one in asked] for key in ("start", "target", "role"))
    right = [reward == 1.0 for reward in rewards(replies, *columns)]
    return share_interval(sum(right) / len(right), len(right))


def main(
    output: Path,
    base: str = "smollm2",
    adapter: str = "",
    grpo: bool = False,
    games: int = 1600,
    steps: int = 100,
    batch: int = 8,
    generations: int = 8,
    learning_rate: float = 1e-3,
    held_out: int = 200,
    seed: int = 0,
) -> None:
    """Train an adapter, write it to OUTPUT, and print its success before and after.

    base: a model by name. adapter: where training begins. grpo: by rewards, else by imitation. games: which are
    trained on. steps: of training, each with `batch` requests, times `generations` replies in GRPO.
    """
    torch.manual_seed(seed)
    trained_on = list(itertools.islice(requests(seed * games), games))
    known = {one["prompt"][-1]["content"] for one in trained_on}
    unseen = (one for one in requests(HELD_OUT_SEED) if one["prompt"][-1]["content"] not in known)
    asked = list(itertools.islice(unseen, held_out))
    print("success before", measure(base, adapter, asked).text("{:.3f}".format), flush=True)
    source = pretrained(base)
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
    if adapter:
        model = PeftModel.from_pretrained(model, adapter, is_trainable=True)
    else:
        model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
    settings: dict[str, Any] = {
        "output_dir": str(output), "max_steps": steps, "learning_rate": learning_rate, "seed": seed, "report_to": [],
        "save_strategy": "no", "logging_steps": 5, "use_cpu": not torch.cuda.is_available(), "disable_tqdm": True,
        "bf16": False, "gradient_checkpointing": False, "lr_scheduler_type": "constant" if grpo else "linear",
    }  # fmt: skip
    columns = ("prompt", "start", "target", "role") if grpo else ("prompt", "completion")
    data = Dataset.from_list([{key: one[key] for key in columns} for one in trained_on])
    shared = {"model": model, "processing_class": tokenizer, "train_dataset": data}
    if grpo:
        config = GRPOConfig(
            **settings, per_device_train_batch_size=batch * generations, num_generations=generations,
            max_completion_length=REPLY_TOKENS, beta=0.0,
        )  # fmt: skip
        trainer = GRPOTrainer(**shared, args=config, reward_funcs=rewarded)
    else:
        trainer = SFTTrainer(**shared, args=SFTConfig(**settings, per_device_train_batch_size=batch))
    began = time.perf_counter()
    trainer.train()
    for row in trainer.state.log_history:
        if value := row.get("reward", row.get("loss")):
            print(f"step {row['step']}: {'reward' if grpo else 'loss'} {value:.3f}")
    print(f"{steps} steps in {time.perf_counter() - began:.0f} s")
    trainer.model.save_pretrained(output)
    print("success after", measure(base, str(output), asked).text("{:.3f}".format))


def rewarded(completions: list[Any], start: Any, target: Any, role: Any, **_: Any) -> list[float]:
    """Return the F1 of the changes of each reply."""
    return rewards(completions, start, target, role)


if __name__ == "__main__":
    typer.run(main)
