"""The benchmark of language models by Inspect AI, in the environment that `make adapters` makes.

A scripted endpoint answers our transport and Inspect's provider of OpenAI-compatible servers; Inspect's mock model
gives the same replies. Their scores on the same games are equal. Run by tests/envs/test_adapters.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from inspect_ai import eval as run
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from llm_server import llm_server

from iglu_marl.benchmark.inspect_tasks import MEASURES, building
from iglu_marl.benchmark.model_players import PLAYERS
from iglu_marl.benchmark.models import find_level, run_models

LEVEL, GAMES = "models-clarification-v1", 4


def known_replies() -> dict[str, str]:
    """Replies by prompt: every other game is played right."""
    found = {}
    for number in range(GAMES):
        game, chat = find_level(LEVEL).start(number)
        while chat:
            found[chat[-1]["content"]] = PLAYERS["oracle" if number % 2 == 0 else "guess"](game, chat)
            chat = game.step(found[chat[-1]["content"]])[0]
    return found


def scores(model: Model | str, task: Any, **options: Any) -> dict[str, float]:
    """Means of all measures over the games."""
    (log,) = run(task, model=model, log_dir="logs", display="none", **options)
    assert log.status == "success", log.error
    assert log.results
    assert log.samples
    assert all(len(sample.messages) > 2 for sample in log.samples), "the log has the games"
    return {one.name: one.metrics["mean"].value for one in log.results.scores if one.name in MEASURES}


def replied(text: str) -> ModelOutput:
    """The output of the mock model, with its usage: Inspect would fetch a tokenizer to count."""
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def main() -> None:
    replies = known_replies()

    def mocked(chat: list[Any], *_: Any) -> ModelOutput:
        return replied(replies[chat[-1].text])

    with llm_server(lambda chat: replies[chat[-1]["content"]]) as server:
        os.environ |= {
            "IGLU_MARL_LLM_MODEL": "m", "IGLU_MARL_LLM_ENDPOINT": server.url, "IGLU_MARL_LLM_CACHE": "off",
            "SCRIPTED_API_KEY": "none", "SCRIPTED_BASE_URL": server.url,
        }  # fmt: skip
        (ours,) = run_models("llm", [LEVEL], games=GAMES, output=Path("ours"))
        theirs = scores("openai-api/scripted/m", building(LEVEL, GAMES))
    means = {name: sum(float(getattr(row, name)) for row in ours.rows) / GAMES for name in MEASURES}
    means["right"] = sum(row.right / row.rounds for row in ours.rows) / GAMES
    assert theirs == means, (theirs, means)
    assert means["score"] == 0.5
    model = get_model("mockllm/model", custom_outputs=mocked)
    assert scores(model, "iglu_marl/building", task_args={"level": LEVEL, "games": GAMES}) == means
    assert scores(model, building(LEVEL, GAMES), epochs=2) == means
    pictures()
    print("played")


def pictures() -> None:
    """The model gets the text and the pictures of a message."""
    level = find_level("models-pictures-v1")
    game, chat = level.start(0)
    text, *shown = chat[1]["content"]

    def seen(messages: list[Any], *_: Any) -> ModelOutput:
        first, *images = messages[-1].content
        same = [image.image for image in images] == [part["image_url"]["url"] for part in shown]
        reply = PLAYERS["oracle" if same and first.text == text["text"] else "silent"](game, chat)
        return replied(reply)

    assert scores(get_model("mockllm/model", custom_outputs=seen), building(level.name, 1))["score"] == 1


main()
