"""TRL plays the game with a tool: GRPO of a tiny model, whose words are its calls, each a block in one of three colors.

It is shown the form of a call, and learns which call is rewarded. `--model` trains another chat model. With `--both`
two tiny models play with each other, and learn in turn by the rewards of their roles. test_adapters.py runs it.
"""

from __future__ import annotations

import json
import tempfile
import time
from functools import partial
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
        AutoModelForCausalLM,
        AutoTokenizer,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )
    from trl import GRPOConfig, GRPOTrainer
    from trl.chat_template_utils import qwen3_chat_template

    from iglu_marl.text.trl import ArchitectEnvironment, BuilderEnvironment, rows

END = "<|im_end|>"
COLORS = COLOR_NAMES[1:4]
TASKS = [Task("", [(0, -1, 0, 1)], task_id="blue")]
ROLES = (BuilderEnvironment, ArchitectEnvironment)


def call_of(color: str, kind: Any) -> str:
    """Return a call that places one block at the centre, or asks for it."""
    edit = {"action": "place", "color": color, "east": 0, "north": 0, "height": 1}
    call: dict[str, Any] = {"name": "build", "arguments": {"edits": [edit]}}
    if kind is ArchitectEnvironment:
        say = f"Place {'an' if color[0] == 'o' else 'a'} {color} block on the ground, at the centre."
        call = {"name": "speak", "arguments": {"say": say}}
    return f"<tool_call>\n{json.dumps(call)}\n</tool_call>"


def tool_of(environment: Any) -> Any:
    return environment.build if isinstance(environment, BuilderEnvironment) else environment.speak


def prompts(tokenizer: Any, seeds: Any, kind: Any = BuilderEnvironment) -> list[str]:
    """Return the initial chats of games as text."""
    found = []
    for row in rows(seeds, kind):
        environment = kind(tasks=TASKS)
        system, user = row["prompt"]
        chat = [system, {**user, "content": environment.reset(**row)}]
        found.append(
            tokenizer.apply_chat_template(
                chat, tools=[tool_of(environment)], add_generation_prompt=True, tokenize=False
            )
        )
    return found


def player(model: Any, tokenizer: Any, kind: Any) -> Any:
    """Return a function that replies to a chat as the model of a role."""

    def answer(chat: list[dict[str, Any]]) -> str:
        text = tokenizer.apply_chat_template(
            chat, tools=[tool_of(kind())], add_generation_prompt=True, tokenize=False
        )
        ids = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            made = model.generate(**ids, max_new_tokens=4, do_sample=True)
        return str(tokenizer.decode(made[0, ids["input_ids"].shape[1] :], skip_special_tokens=True))

    return answer


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
    calls = [call_of(color, kind) for kind in ROLES for color in COLORS]
    tokenizer.add_tokens([AddedToken(call, normalized=False) for call in calls])
    tokenizer.chat_template = qwen3_chat_template
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=8192, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )  # fmt: skip
    return LlamaForCausalLM(config), tokenizer


def show_calls(model: Any, tokenizer: Any, kind: Any = BuilderEnvironment, steps: int = 30) -> None:
    """Train on calls of random colours, so that the model knows the form of a call."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    begun = prompts(tokenizer, range(len(COLORS)), kind)
    for step in range(steps):
        calls = [call_of(COLORS[(place + step) % len(COLORS)], kind) for place in range(len(begun))]
        texts = [prompt + call + END for prompt, call in zip(begun, calls, strict=True)]
        ids = tokenizer(texts, padding=True, padding_side="left", return_tensors="pt")
        logits = model(**ids, logits_to_keep=3).logits[:, :2]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids["input_ids"][:, -2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(
    model: str | None = None,
    both: bool = False,
    steps: int = 12,
    games: int = 1,
    generations: int = 8,
    learning_rate: float = 1e-3,
) -> None:
    """Train, and print the mean rewards.

    model: a chat model with a template that TRL knows; default: a tiny one. both: two tiny ones learn, one after the
    other. games: different games in a step. generations: times that each is played.
    """
    networks = {}
    for seed, kind in enumerate(ROLES if both else ROLES[:1]):
        if model:
            networks[kind] = [part.from_pretrained(model) for part in (AutoModelForCausalLM, AutoTokenizer)]
        else:
            networks[kind] = tiny(seed)
            show_calls(*networks[kind], kind)
    for kind, (network, tokenizer) in networks.items():
        others = [player(*networks[other], other) for other in networks if other is not kind]
        own: dict[str, Any] = {"tasks": "random" if model else TASKS}
        if others:
            own["other"] = others[0]
        config = GRPOConfig(
            output_dir=tempfile.mkdtemp(), max_steps=steps, learning_rate=learning_rate, beta=0.0,
            per_device_train_batch_size=games * generations, num_generations=generations,
            max_completion_length=2000 if model else 60, max_tool_calling_iterations=10 if model else 1,
            logging_steps=max(1, steps // 6), report_to=[], save_strategy="no", lr_scheduler_type="constant",
            use_cpu=not torch.cuda.is_available(), disable_tqdm=True,
        )  # fmt: skip
        trainer = GRPOTrainer(
            model=network, processing_class=tokenizer, args=config,
            environment_factory=partial(kind, **own),
            train_dataset=Dataset.from_list(rows(range(1000), kind, **own)),
        )  # fmt: skip
        begun = time.perf_counter()
        trainer.train()
        rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
        seconds = time.perf_counter() - begun
        print(f"{kind.__name__}: {steps} steps of {games * generations} games in {seconds:.0f} s")
        print("mean reward", " ".join(f"{reward:.2f}" for reward in rewards))


if __name__ == "__main__":
    typer.run(main)
