"""The benchmark of language models as a task of Inspect AI: `inspect eval iglu_marl/building -T level=…`.

Needs the extra `inspect`. The games, prompts and judgement are those of `run_models`; the provider, its sampling,
epochs, limits and logs are Inspect's. In games of two, the model roles `architect` and `builder` name two models.
"""

from __future__ import annotations

import asyncio
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    get_model,
)
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, solver

from iglu_marl.agents.llm.messages import Message
from iglu_marl.benchmark.models import find_level, outcome
from iglu_marl.text.game import ChatMessage as Part

MEASURES = ("score", "success", "right", "needless", "missing", "wrong", "words", "unread")


@task
def building(level: str = "models-clarification-v1", games: int | None = None, seed: int = 0) -> Task:
    """Return the games of a level as a task.

    level: name. games: number of games; None: all. seed: of the tasks.
    """
    chosen = find_level(level)
    samples = []
    for number in range(min(games or chosen.count, chosen.count)):
        game, chat = chosen.start(number, seed)
        unit = outcome(chosen, number, seed, game).unit
        text = Message.of_chat(chat[-1]).text
        samples.append(Sample(text, id=f"{level}/{number}", metadata={"number": number, "unit": unit}))
    return Task(
        MemoryDataset(samples, name=level),
        solver=play(level, seed),
        scorer=judge(),
        config=GenerateConfig(temperature=0.0, max_tokens=800),
    )


@solver
def play(level: str, seed: int) -> Any:
    """Play a game: each turn is one request with the whole chat of the game."""
    chosen = find_level(level)

    async def solve(state: TaskState, generate: Any) -> TaskState:
        number = state.metadata["number"]
        game, chat = chosen.start(number, seed)
        said: list[ChatMessage] = []
        while chat:
            role = game.turn
            asked = [_message(part) for part in chat]
            output = await get_model(role=role.value).generate(asked)
            said += [*asked[1:], output.message] if said else [*asked, output.message]
            chat = (await asyncio.to_thread(game.step, output.completion))[0]
            state.output = output
        state.messages = said
        state.metadata["outcome"] = outcome(chosen, number, seed, game)._asdict()
        return state

    return solve


def _message(part: Part) -> ChatMessage:
    kind, message = ChatMessageSystem if part["role"] == "system" else ChatMessageUser, Message.of_chat(part)
    if not message.pictures:
        return kind(content=message.text)
    pictures = [ContentImage(image=one["image_url"]["url"]) for one in part["content"][1:]]
    return kind(content=[ContentText(text=message.text), *pictures])


@scorer(metrics=[{name: [mean(), stderr(cluster="unit")] for name in MEASURES}])
def judge() -> Any:
    """Return the outcome of a game as scores."""

    async def score(state: TaskState, target: Target) -> Score:
        found = state.metadata["outcome"]
        shares = {name: float(found[name]) for name in MEASURES} | {"right": found["right"] / found["rounds"]}
        return Score(value=shares, metadata={"actions": found["actions"], "unit": found["unit"]})

    return score


__all__ = ["building", "judge", "play"]
