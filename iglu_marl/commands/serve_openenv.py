"""`iglu-marl serve-openenv`: the game as strings, served to those who train language models."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from iglu_marl.commands.options import (
    Host,
    LLMEndpoint,
    LLMModel,
    LLMViewLong,
    Port,
    TaskSource,
    at_least,
    choice,
)
from iglu_marl.core.errors import ConfigError


def serve_openenv(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    role: Annotated[str, choice("builder", "architect", about="whom the model plays")] = "builder",
    partner: Annotated[
        str, Option(help="Who plays the other, by name; none: the task's own words.")
    ] = "scripted",
    model: LLMModel = None,
    endpoint: LLMEndpoint = None,
    llm_view: LLMViewLong = None,
    tasks: TaskSource = "random",
    observations: Annotated[
        str, choice("full", "delta", about="whole chats, or after the first only what is new")
    ] = "full",
    view: Annotated[str, choice("layers", "coordinates", "auto", about="how builds are told")] = "layers",
    reward: Annotated[str, choice("change_f1", "intersection")] = "change_f1",
    question_cost: Annotated[float, Option(help="Of each message of a builder.")] = 0.0,
    word_cost: Annotated[float, Option(help="Of each word.")] = 0.0,
    error_cost: Annotated[float, Option(help="Of a reply that cannot be read.")] = 0.0,
    sessions: Annotated[int, Option(help="Games at once at most.", callback=at_least(1))] = 64,
) -> None:
    """Serve the game as an environment of OpenEnv. Ends with Ctrl+C."""
    try:
        import openenv  # noqa: F401
        import uvicorn
    except ImportError:
        raise ConfigError('the server needs the extra "openenv": pip install "iglu_marl[openenv]"') from None
    from iglu_marl.text.openenv import create_app

    print("Getting ready …", flush=True)
    app = create_app(
        sessions=sessions, role=role, partner=partner, tasks=tasks, observations=observations, view=view,
        reward=reward, question_cost=question_cost, word_cost=word_cost, error_cost=error_cost,
    )  # fmt: skip
    print(f"An environment of OpenEnv at http://{host}:{port} (Ctrl+C ends the server).", flush=True)
    uvicorn.run(app, host=host, port=port, log_level="warning")
