"""TRL plays the game with a tool: GRPO of a tiny model, whose words are its calls, each a block in one of three colors.

It is shown the form of a call, and learns which call is rewarded. test_adapters.py runs it.
"""

from __future__ import annotations

import json
import tempfile
import time
from typing import Any

import typer

from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import COLOR_NAMES

with extra("trl", script=True):
    import torch
    from datasets import Dataset
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )
    from trl import GRPOConfig, GRPOTrainer
    from trl.chat_template_utils import qwen3_chat_template

    from iglu_marl.text.trl import BuilderEnvironment, rows

END = "<|im_end|>"
COLORS = COLOR_NAMES[1:4]
TASKS = [Task("", [(0, -1, 0, 1)], task_id="blue")]


def call_of(color: str) -> str:
    """Return a call of the tool that places one block at the centre."""
    edit = {"action": "place", "color": color, "east": 0, "north": 0, "height": 1}
    return f"<tool_call>\n{json.dumps({'name': 'build', 'arguments': {'edits': [edit]}})}\n</tool_call>"


def prompts(tokenizer: Any, seeds: Any) -> list[str]:
    """Return the initial chats of games as text."""
    found = []
    for row in rows(seeds):
        environment = BuilderEnvironment(tasks=TASKS)
        system, user = row["prompt"]
        chat = [system, {**user, "content": environment.reset(**row)}]
        found.append(
            tokenizer.apply_chat_template(
                chat, tools=[environment.build], add_generation_prompt=True, tokenize=False
            )
        )
    return found


def tiny(seed: int = 0) -> tuple[Any, Any]:
    """Return a model with random weights, and a tokenizer in which calls of the tool are words."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    marks = ["<pad>", "<|im_start|>", END]
    letters = pre_tokenizers.ByteLevel.alphabet()
    text = (
        "\n".join(json.dumps(row["prompt"]) for row in rows([0]))
        + qwen3_chat_template
        + " ".join(COLOR_NAMES)
    )
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=marks, initial_alphabet=letters, show_progress=False
    )
    bpe.train_from_iterator([text] * 3, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="<pad>", eos_token=END)
    tokenizer.add_tokens([AddedToken(call_of(name), normalized=False) for name in COLORS])
    tokenizer.chat_template = qwen3_chat_template
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=8192, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )  # fmt: skip
    return LlamaForCausalLM(config), tokenizer


def show_calls(model: Any, tokenizer: Any, steps: int = 30) -> None:
    """Train on calls of random colours, so that the model knows the form of a call."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    begun = prompts(tokenizer, range(len(COLORS)))
    for step in range(steps):
        texts = [one + call_of(COLORS[(place + step) % len(COLORS)]) + END for place, one in enumerate(begun)]
        ids = tokenizer(texts, padding=True, padding_side="left", return_tensors="pt")
        logits = model(**ids, logits_to_keep=3).logits[:, :2]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids["input_ids"][:, -2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(steps: int = 12, generations: int = 8) -> None:
    """Train, and print the mean rewards. generations: times that the game of a step is played."""
    network, tokenizer = tiny()
    show_calls(network, tokenizer)

    def environment() -> Any:
        return BuilderEnvironment(tasks=TASKS)

    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(), max_steps=steps, learning_rate=1e-3, beta=0.0,
        per_device_train_batch_size=generations, num_generations=generations,
        max_completion_length=60, max_tool_calling_iterations=1,
        logging_steps=max(1, steps // 6), report_to=[], save_strategy="no", lr_scheduler_type="constant",
        use_cpu=not torch.cuda.is_available(), disable_tqdm=True,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=network, processing_class=tokenizer, args=config, environment_factory=environment,
        train_dataset=Dataset.from_list(rows(range(1000))),
    )  # fmt: skip
    begun = time.perf_counter()
    trainer.train()
    rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    seconds = time.perf_counter() - begun
    print(f"{steps} steps of {generations} games in {seconds:.0f} s")
    print("mean reward", " ".join(f"{reward:.2f}" for reward in rewards))


if __name__ == "__main__":
    typer.run(main)
