"""The benchmark of language models as tasks of Inspect AI: `inspect eval iglu_marl/requests --model …`.

Needs the extra `inspect`. Prompts, games and judgement are those of `models`; providers, sampling, limits, retries,
caching and logs are Inspect's. In games of two, the model roles `architect` and `builder` name two models. Players
without a model are models of the provider `iglu_marl`, so that every row is made in the same way: `iglu_marl/grammar`.
"""

from __future__ import annotations

import asyncio
import os
import re
from contextvars import ContextVar
from typing import Any

from inspect_ai import Task, task
from inspect_ai import eval as run_tasks
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelCost,
    ModelInfo,
    ModelOutput,
    ModelUsage,
    get_model,
    get_model_info,
    messages_from_openai,
    modelapi,
    set_model_info,
)
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, solver
from inspect_ai.tool import ToolChoice, ToolInfo

from iglu_marl.agents.llm.backends import acquire_backend
from iglu_marl.agents.llm.messages import Backend, ChatRequest, Message
from iglu_marl.agents.llm.named import NamedModel, check_server
from iglu_marl.benchmark.model_players import PLAYERS
from iglu_marl.benchmark.models import LEVELS, VERSION, ModelLevel, find_level, outcome
from iglu_marl.core.errors import ConfigError, ServiceError
from iglu_marl.text.game import ChatMessage as GameMessage
from iglu_marl.text.game import TextGame

_MARKUP = re.compile(r"\[/?bold\]")
MEASURES = ("score", "success", "right", "questions", "needless", "missing", "wrong", "words", "unread")

_playing: ContextVar[tuple[TextGame, list[GameMessage]]] = ContextVar("_playing")


# ----------------------------------------------------------------------------------------------------------- tasks


def _sampling(greedy: bool) -> GenerateConfig:
    return GenerateConfig(temperature=0.0 if greedy else None, max_tokens=8192)


def _as_task(level: ModelLevel) -> Any:
    def made(games: int | None = None, seed: int = 0, greedy: bool = True) -> Task:
        count = min(games or level.count, level.count)
        samples = []
        for number in range(count):
            _, chat = level.start(number, seed)
            unit = level.game(number, seed).unit or str(number)
            text = Message.of_chat(chat[-1]).text
            samples.append(Sample(text, id=number, metadata={"number": number, "unit": unit}))
        return Task(
            MemoryDataset(samples, name=level.name),
            solver=play(level.name, seed, greedy),
            scorer=judge(),
            config=_sampling(greedy),
            version=VERSION,
            continue_on_fail=True,
            metadata={"digest": level.digest(seed, count), "level": level.name, "seed": seed, "games": count},
        )

    made.__name__ = level.name
    made.__doc__ = (
        f"{level.about} games: number of games; None: all. seed: of the tasks. greedy: temperature 0; otherwise the "
        "sampling of the model, for those that refuse a temperature."
    )
    return task(name=level.name)(made)


TASKS = {level.name: _as_task(level) for level in LEVELS}


@solver
def play(level: str, seed: int, greedy: bool = True) -> Any:
    """Play a game: each turn is one request with the whole chat of the game."""
    chosen = find_level(level)

    async def solve(state: TaskState, generate: Any) -> TaskState:
        number = state.metadata["number"]
        game, chat = chosen.start(number, seed)
        messages: list[ChatMessage] = []
        while chat:
            _playing.set((game, chat))
            prompt = await messages_from_openai(chat)
            output = await get_model(role=game.turn.value, config=_sampling(greedy)).generate(prompt)
            if output.stop_reason == "model_length":
                raise ServiceError(
                    f"the context of the model is too small: {output.error or output.completion}"
                )
            messages += [*(prompt[1:] if messages else prompt), output.message]
            chat = (await asyncio.to_thread(game.step, output.completion))[0]
            state.output = output
        state.messages = messages
        state.metadata["outcome"] = outcome(chosen, number, seed, game)._asdict()
        return state

    return solve


@scorer(metrics=[{name: [mean(), stderr(cluster="unit")] for name in MEASURES}])
def judge() -> Any:
    """Return the outcome of a game as scores."""

    async def score(state: TaskState, target: Target) -> Score:
        row = state.metadata["outcome"]
        shares = {name: float(row[name]) for name in MEASURES} | {"right": row["right"] / row["rounds"]}
        return Score(value=shares, metadata={"unit": row["unit"]})

    return score


# -------------------------------------------------------------------------------------------------------- provider


@modelapi("iglu_marl")
class LocalPlayer(ModelAPI):
    """A player without a model (`iglu_marl/copy`), or a small bundled one (`iglu_marl/smollm2`).

    Players without a model see the game itself; the prompt is theirs only to copy.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._backend: Backend | None = None
        if model_name not in PLAYERS:
            self._backend = acquire_backend(NamedModel.of(f"llm:{model_name}@local", None).settings())

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return the reply of the player to the game that is being played."""
        game, chat = _playing.get()
        if self._backend is None:
            text = await asyncio.to_thread(PLAYERS[self.model_name], game, chat)
            return ModelOutput.from_content(self.model_name, text)
        request = ChatRequest(tuple(map(Message.of_chat, chat)))
        (reply,) = await asyncio.to_thread(self._backend.complete, [request])
        output = ModelOutput.from_content(self.model_name, reply.text)
        sent, received = reply.prompt_tokens, reply.completion_tokens
        output.usage = ModelUsage(input_tokens=sent, output_tokens=received, total_tokens=sent + received)
        return output

    def max_connections(self) -> int:
        """Return 1: a local model answers one request at a time."""
        return 1 if self._backend else 8


def find_model(name: str) -> Model:
    """Return a model by name: `openai/gpt-5`, `NAME@https://host/v1`, `smollm2`, or a player without a model.

    Raises `ConfigError` if it cannot be made.
    """
    model, _, address = name.removeprefix(NamedModel.PREFIX).partition("@")
    if not address:
        try:
            return get_model(model if "/" in model else f"iglu_marl/{model}")
        except Exception as error:  # a missing package or key, an unknown provider
            hint = "" if "/" in model else f"; a model of a server is {model}@https://HOST/v1"
            raise ConfigError(f"model {name!r:.80}: {_MARKUP.sub('', str(error))}{hint}") from error
    settings = NamedModel.of(f"{NamedModel.PREFIX}{model}@{address}", None).settings()
    check_server(settings.endpoint)
    key = os.environ.get(settings.key_variable, "none")
    os.environ.setdefault("IGLU_API_KEY", key)
    return get_model(f"openai-api/iglu/{model}", base_url=address, api_key=key)


def set_prices(model: Model, prompts: float, replies: float) -> None:
    """Set what a model costs, in dollars for a million tokens."""
    info = get_model_info(model) or ModelInfo()
    info.cost = ModelCost(input=prompts, output=replies, input_cache_write=prompts, input_cache_read=prompts)
    set_model_info(str(model), info)


__all__ = ["MEASURES", "TASKS", "LocalPlayer", "find_model", "judge", "play", "run_tasks", "set_prices"]
