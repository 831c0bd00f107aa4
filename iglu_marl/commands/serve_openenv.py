"""`iglu-marl serve-openenv`: serve the text game to trainers of language models."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from iglu_marl.commands import options as opt
from iglu_marl.core.extras import extra


def serve_openenv(
    host: opt.Host = "127.0.0.1",
    port: opt.Port = 8000,
    role: Annotated[str, opt.choice("builder", "architect", "both", about="role of the model")] = "builder",
    team: opt.Team = None,
    partner: Annotated[
        str, Option(help="The other agent, by name; none: the dialogue of the task.")
    ] = "scripted",
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    tasks: Annotated[str | None, opt.task_source("those of the team, else random")] = None,
    observations: Annotated[
        str, opt.choice("full", "delta", about="the whole chat, or only new messages after the first")
    ] = "full",
    answers: Annotated[str, opt.choice("json", "tools", about="form of the replies")] = "json",
    text_view: opt.TextView = "layers",
    show_changes: Annotated[
        bool, Option("--show-changes/--hide-changes", help="Show an architect the remaining changes.")
    ] = False,
    reward: Annotated[
        str, opt.choice("change_f1", "intersection", about="measure of the reward")
    ] = "change_f1",
    question_cost: Annotated[float, Option(help="Cost of each message of a builder.")] = 0.02,
    word_cost: Annotated[float, Option(help="Cost of each word.")] = 0.0,
    error_cost: Annotated[float, Option(help="Cost of an unreadable reply.")] = 0.1,
    sessions: Annotated[
        int, Option("--max-sessions", help="Maximum number of games at once.", callback=opt.at_least(1))
    ] = 64,
) -> None:
    """Serve the text game as an environment of OpenEnv.

    Ctrl+C ends it.

    Examples: iglu-marl serve-openenv --role builder
    """
    with extra("openenv"):
        import openenv  # noqa: F401
        import uvicorn
    from iglu_marl.text.openenv import create_app

    print("Getting ready …", flush=True)
    app = create_app(
        sessions=sessions, role=role, team=team, partner=partner, tasks=tasks, observations=observations,
        view=text_view, answers=answers, show_changes=show_changes, reward=reward, question_cost=question_cost,
        word_cost=word_cost, error_cost=error_cost,
    )  # fmt: skip
    print(f"An environment of OpenEnv at http://{host}:{port} (Ctrl+C ends the server).", flush=True)
    uvicorn.run(app, host=host, port=port, log_level="warning")
