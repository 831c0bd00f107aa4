"""A language model explains a structure to the scripted builder, which understands plain instructions.

    python examples/llm_architect.py --dry-run
    python examples/llm_architect.py --model some-model --endpoint https://host/v1
    python examples/llm_architect.py --model path/to/a/local/chat-model

The key of an endpoint is read from the environment variable IGLU_MARL_LLM_KEY. With --dry-run the class `DryRun` below
answers the prompts instead of a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import typer

import iglu_marl
from iglu_marl.agents import LLMArchitect, ScriptedBuilder
from iglu_marl.agents.llm import ChatRequest, LLMSettings, Reply
from iglu_marl.tasks import BundledTasks


class DryRun:
    """Backend that requests the first remaining change in the prompt."""

    sees_pictures = False

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return one reply per request."""
        return [Reply(self.say(request.messages[1].text), sent=1) for request in requests]

    def say(self, prompt: str) -> str:
        """Return the first remaining change of the prompt."""
        found = re.search(r"^STILL TO DO\n([A-Z].*)$", prompt, re.MULTILINE)
        return "WAIT" if found is None else found[1]

    def fits(self, request: ChatRequest) -> bool:
        """Return whether a chat is short enough: always."""
        return True

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost: zero."""
        return 0.0

    def close(self) -> None:
        """Release nothing."""


def main(
    model: str = "",
    endpoint: str = "",
    task: str = "lighthouse",
    max_steps: int = 2000,
    seed: int = 0,
    dry_run: bool = False,
) -> iglu_marl.Trajectory:
    """Play one game; print dialogue, result and costs.

    model: name, or folder of a local model. endpoint: base address of its server. task: a bundled structure.
    """
    if not (model or dry_run):
        raise SystemExit(
            "error: which model? Give --model (and --endpoint, unless it is a local one), or --dry-run"
        )
    structures = {str(structure.task_id): structure for structure in BundledTasks(mode="structures")}
    if task not in structures:
        raise SystemExit(f"no structure {task!r}, expected one of {', '.join(sorted(structures))}")
    env = iglu_marl.env(
        tasks=structures[task],
        controls="flying",
        builder_can_ask=True,
        builder_sees=("inventory", "dialog", "pose", "grid"),
        max_steps=max_steps,
        max_turns=None,
    )
    options = {"backend": DryRun()} if dry_run else {"settings": LLMSettings(model=model, endpoint=endpoint)}
    architect = LLMArchitect.for_env(env, **options)
    game = iglu_marl.play(env, {"architect": architect, "builder": ScriptedBuilder.for_env(env)}, seed=seed)
    print(game.dialogue)
    print(f"{game.intersection} of {game.target_blocks} blocks, completed: {game.completed}")
    counts = architect.stats
    print(
        f"{counts.requests} requests, {counts.prompt_tokens + counts.completion_tokens} tokens, {dict(counts.failures)}"
    )
    architect.close()
    env.close()
    return game


if __name__ == "__main__":
    try:
        typer.run(main)
    except iglu_marl.IgluMarlError as error:
        raise SystemExit(f"error: {error}") from None
