"""`iglu-marl serve`: the game in the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from typer import Option

from iglu_marl.commands.options import (
    GAMES_FOLDER,
    Data,
    Database,
    GamesFolder,
    Host,
    LLMEndpoint,
    LLMModel,
    LLMView,
    Port,
    Tasks,
    expect,
    positive,
)
from iglu_marl.commands.study import open_study
from iglu_marl.core.errors import ConfigError

LOCAL = ("127.0.0.1", "localhost", "::1")
# In which scripted agents think. Two, as a long plan of one is not waited for by all then, but one core is the clock's.
PROCESSES = max(1, min(2, (os.cpu_count() or 1) - 1))


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    public_host: Annotated[
        list[str] | None, Option(help="A name under which others reach the server; may be repeated.")
    ] = None,
    folder: GamesFolder = GAMES_FOLDER,
    tasks: Tasks = None,
    data: Data = None,
    architect: Annotated[
        list[str] | None,
        Option(help="An architect to play with; may be repeated. Default: all that are scripted."),
    ] = None,
    builder: Annotated[list[str] | None, Option(help="A builder to play with; may be repeated.")] = None,
    model: LLMModel = None,
    endpoint: LLMEndpoint = None,
    llm_view: LLMView = None,
    replace: Annotated[bool, Option("--replace", help="An agent goes on for a person who leaves.")] = False,
    wait: Annotated[
        float, Option(help="Seconds that a game waits for who has left.", callback=positive)
    ] = 60.0,
    minutes: Annotated[float, Option(help="Minutes of a game at most.", callback=positive)] = 30.0,
    study: Annotated[Path | None, Option(help="A study (TOML), in place of the lobby.")] = None,
    db: Database = None,
    secret: Annotated[
        str,
        Option(envvar="IGLU_MARL_SECRET", help="The password of the page /admin. Default: there is none."),
    ] = "",
    gallery: Annotated[
        bool, Option("--gallery/--no-gallery", help="Whether all can watch recorded games.")
    ] = True,
) -> None:
    """Play in the browser: with agents, or with people by a link. Ends with Ctrl+C; every game is recorded."""
    try:
        import uvicorn
    except ImportError:
        raise ConfigError('the server needs the extra "web": pip install "iglu_marl[web]"') from None
    from iglu_marl.commands.task_selection import all_tasks
    from iglu_marl.core.dialogue import Role
    from iglu_marl.web import ServerOptions, check_agents, create_app, warm_up
    from iglu_marl.web.limits import MESSAGE_BYTES
    from iglu_marl.web.options import AGENTS
    from iglu_marl.web.server import example_sentences

    hosts = tuple(dict.fromkeys([*LOCAL, host, *(public_host or ())]))
    expect("--host", host, host in LOCAL or bool(public_host), "127.0.0.1, or a --public-host besides")
    chosen = {Role.ARCHITECT: tuple(architect or ()), Role.BUILDER: tuple(builder or ())}
    agents = {role: names or AGENTS[role] for role, names in chosen.items()}
    options = ServerOptions(
        folder=folder,
        tasks=all_tasks(tasks, data),
        agents=agents,
        hosts=hosts,
        wait_s=wait,
        replace={role: names[0] for role, names in agents.items()} if replace else {},
        minutes=minutes,
        processes=PROCESSES,
        gallery=gallery,
        secret=secret,
    )
    sessions = None
    if study is not None:
        from iglu_marl.web.sessions import Sessions

        sessions = Sessions(*open_study(study, db, folder))
    app = create_app(options, sessions)
    print("Getting ready …", flush=True)
    warm_up()
    check_agents(options)
    example_sentences()
    print(
        f"Play at http://{host if host in LOCAL else hosts[-1]}:{port}/ (Ctrl+C ends the server).", flush=True
    )
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=2 * MESSAGE_BYTES,
        ws_per_message_deflate=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
