"""`iglu-marl serve`: serve the game to browsers."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.study import open_study
from iglu_marl.core.extras import extra
from iglu_marl.game.profiles import team_options

# Limits among the fields of `ServerOptions`.
LIMITS = frozenset(("games", "games_per_address", "requests_per_s", "header_s", "free_mb", "late_s"))
POSITIVE = re.compile(r"(?=.*[1-9])\d*\.?\d+")
LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    host: opt.Host = "127.0.0.1",
    port: opt.Port = 8000,
    public_host: Annotated[
        list[str] | None, Option(help="Host name under which others reach the server; may be repeated.")
    ] = None,
    folder: opt.GamesFolder = opt.GAMES_FOLDER,
    tasks: opt.TaskSource = None,
    data: opt.Data = None,
    architect: Annotated[
        list[str] | None, Option(help="Architect on offer; may be repeated. Default: the scripted ones.")
    ] = None,
    builder: Annotated[
        list[str] | None, Option(help="Builder on offer; may be repeated. Default: the scripted ones.")
    ] = None,
    team: opt.Team = None,
    architects: opt.Architects = None,
    builders: opt.Builders = None,
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    wait: Annotated[
        float, Option(help="Seconds to wait for a person who left.", callback=opt.positive)
    ] = 60.0,
    minutes: Annotated[
        float, Option(help="Maximum length of a game in minutes.", callback=opt.positive)
    ] = 30.0,
    study: Annotated[Path | None, Option(help="Study (TOML) to run instead of the lobby.")] = None,
    db: opt.Database = None,
    secret: Annotated[
        str, Option(envvar="IGLU_MARL_SECRET", help="Password of the page /metrics. Default: no such page.")
    ] = "",
    proxy: Annotated[
        list[str] | None,
        Option(
            help="Address of a proxy whose X-Forwarded-For is believed; may be repeated. Default: 127.0.0.1."
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        Option(metavar="NAME=NUMBER", help=f"Limit of the server; may be repeated: {', '.join(LIMITS)}."),
    ] = None,
) -> None:
    """Serve the game to browsers, for people with agents or with each other. Every game is recorded.

    Ctrl+C ends it.

    Examples: iglu-marl serve; iglu-marl serve --team craft --port 9000; iglu-marl serve --study study.toml
    """
    with extra("web"):
        from iglu_marl.web.serving import Server, listen
    from iglu_marl.commands.task_selection import tasks_of_game
    from iglu_marl.core.dialogue import Role
    from iglu_marl.web import ServerOptions, create_app
    from iglu_marl.web.options import AGENTS
    from iglu_marl.web.rooms import SEATS, check_agents
    from iglu_marl.web.server import example_sentences
    from iglu_marl.web.warming import warm_up

    hosts = tuple(dict.fromkeys([*LOCAL, host, *(public_host or ())]))
    opt.expect("--host", host, host in LOCAL or bool(public_host), "127.0.0.1, or also a --public-host")
    chosen = {Role.ARCHITECT: tuple(architect or ()), Role.BUILDER: tuple(builder or ())}
    agents = {role: names or AGENTS[role] for role, names in chosen.items()}
    counts = {"architects": architects, "builders": builders}
    game: Mapping[str, Any] = {name: count for name, count in counts.items() if count is not None}
    game = game if team is None else team_options(team, game)
    opened = None
    if study is not None:
        opened = open_study(study, db, folder)
        opt.expect("--study", str(study), not game, "no --team, --architects or --builders")
    options = ServerOptions(
        folder=folder,
        tasks=tasks_of_game(game, tasks, data),
        agents=agents,
        team=game,
        hosts=hosts,
        wait_s=wait,
        minutes=minutes,
        secret=secret,
    )
    limits: dict[str, Any] = {}
    for text in limit or ():
        name, _, number = text.partition("=")
        known = name in LIMITS and POSITIVE.fullmatch(number) is not None
        opt.expect("--limit", text, known, "NAME=NUMBER, see --help")
        limits[name] = type(getattr(options, name))(float(number))
    options = dataclasses.replace(options, **limits)
    sessions = None
    if opened is not None:
        from iglu_marl.web.sessions import Sessions

        sessions = Sessions(*opened)
    app = create_app(options, sessions)
    with listen(host, port) as bound:
        games = sum(1 for _ in folder.glob(f"*{SEATS}"))
        print(f"Getting ready, with {games} games to resume …" if games else "Getting ready …", flush=True)
        warm_up()
        check_agents(app.state.options)
        example_sentences()
        address = f"{host if host in LOCAL else hosts[-1]}:{bound.getsockname()[1]}"
        print(f"Play at http://{address}/ (Ctrl+C ends the server).", flush=True)
        with contextlib.suppress(
            ImportError, OSError, ValueError
        ):  # as many connections as the system allows
            import resource

            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        Server(app, options, proxies=proxy or ["127.0.0.1"]).serve_at(bound)
