"""`iglu-marl play`: play a game in the browser, or build in a window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import new_path, print_json, text_console
from iglu_marl.core.dialogue import Role
from iglu_marl.core.extras import extra
from iglu_marl.core.files import made_folder
from iglu_marl.game.profiles import team_options

FOLDER = Path("iglu-marl-play")
HOST = "127.0.0.1"
MINUTES = 120.0  # maximum length of a game


def play(
    role: Annotated[str, opt.choice("builder", "architect", about="your role")] = "builder",
    partner: Annotated[
        str, Option(help="The other agents, by name; person: a person, by a link.")
    ] = "scripted",
    team: opt.Team = None,
    seat: Annotated[
        str | None, Option(help="Your seat in a team, such as builder_1. Default: the first of your role.")
    ] = None,
    tasks: opt.GameTasks = None,
    data: opt.Data = None,
    task: opt.TaskId = None,
    window: Annotated[
        bool | None,
        Option(
            "--window/--browser",
            help="Build in a window of pygame. Default: the browser, unless only the extra `window` is installed.",
        ),
    ] = None,
    controls: Annotated[
        str,
        Option(
            help="With --window: action encoding of the builder.",
            callback=opt.known_controls,
        ),
    ] = "human-level",
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    seed: opt.Seed = 0,
    port: Annotated[int, opt.port_option("a free one")] = 0,
    folder: opt.GamesFolder = FOLDER,
    as_json: opt.Json = False,
) -> bool:
    """Play in the browser with agents or people. Every game is recorded.

    Ctrl+C ends it. Exit code 1 if a game ended with an incomplete structure. In a window, you build what an architect
    describes.

    Examples: iglu-marl play --role architect; iglu-marl play --team craft; iglu-marl play --window
    """
    if window is None:
        window = find_spec("starlette") is None and find_spec("pygame") is not None
    if window:
        opt.expect("--window", True, role == "builder", "--role builder: an architect plays in the browser")
        opt.expect("--window", True, not team, "no --team: it is in the browser")
        opt.expect("--port", port, port == 0, "none: a window has no port")
        facts = _in_window(partner, tasks, data, task, controls, seed, folder)
    else:
        opt.expect("--controls", controls, controls == "human-level", "human-level; others need --window")
        opt.expect("--seat", seat, seat is None or team is not None, "a seat of a --team")
        player = seat or (role if team is None else f"{role}_0")
        facts = _in_browser(player, partner, team, tasks, data, task, seed, port, folder, as_json)
    if not print_json(as_json, facts):
        print_games(facts)
    return all(game["completed"] for game in facts)


def print_games(games: Iterable[Mapping[str, Any]]) -> None:
    """Print a line for each game that ended."""
    for game in games:
        end = "complete" if game["completed"] else "not complete"
        text_console().print(
            f"{game['task'] or 'structure'}: {end}, {game['right']} of {game['blocks']} blocks. "
            f"Recording: {game['recording']}"
        )


def _in_browser(
    player: str,
    partner: str,
    team: str | None,
    tasks: str | None,
    data: Path | None,
    task: str | None,
    seed: int,
    port: int,
    folder: Path,
    as_json: bool,
) -> list[dict[str, Any]]:
    """Serve games in the browser until Ctrl+C, and return the facts of those that ended.

    player: role or seat of the person.
    """
    from iglu_marl.commands.task_selection import chosen_name, tasks_of_game

    with extra("web"):
        from iglu_marl.web import ServerOptions, create_app
        from iglu_marl.web.options import AGENTS, PERSON
        from iglu_marl.web.rooms import check_agents
        from iglu_marl.web.serving import Server, listen, open_page
        from iglu_marl.web.warming import warm_up
    game = {} if team is None else team_options(team, {})
    structures = tasks_of_game(game, tasks, data)
    agents = {role: partner for role in Role if game or role != player}
    offered = {
        role: tuple(dict.fromkeys((agents[role], *(() if game else AGENTS[role]))))
        if agents.get(role, PERSON) != PERSON
        else AGENTS[role]
        for role in Role
    }
    options = ServerOptions(
        folder=folder,
        tasks=structures,
        agents=offered,
        team=game,
        minutes=MINUTES,
    )
    if game:
        opt.expect_one_of("--seat", player, options.config.agents)
    name = chosen_name(structures, task, seed)
    app = create_app(options)
    before = set(folder.glob("*.jsonl"))
    console = text_console(stderr=as_json)
    with listen(HOST, port) as bound:
        address = f"http://{HOST}:{bound.getsockname()[1]}"

        async def begin() -> None:
            rooms = app.state.rooms
            token = (await rooms.create(player, partner, name, seed=seed)).token
            page = f"{address}/play#{token}"
            opened = open_page(page)
            console.print(f"{'Play' if opened else 'Open this page in a browser to play'}: {page}")
            console.print("Ctrl+C ends it.")

        console.print("Getting ready …")
        warm_up()
        check_agents(options)
        Server(app, options, on_start=begin).serve_at(bound)
    return [facts for path in sorted(set(folder.glob("*.jsonl")) - before) for facts in _facts_of(path)]


def _facts_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the facts of a recorded game, if it is over and has moves."""
    from iglu_marl.recording import read_recording

    recording = read_recording(path)[-1]
    if (end := recording.end) is not None and recording.moves:
        yield {
            "task": recording.task.task_id,
            "completed": bool(end["terminated"]),
            "right": int(end["intersection"]),
            "blocks": int(end["target_blocks"]),
            "seconds": len(recording.moves) // 20,
            "recording": str(path),
        }


def _in_window(
    partner: str,
    tasks: str | None,
    data: Path | None,
    task: str | None,
    controls: str,
    seed: int,
    folder: Path,
) -> list[dict[str, Any]]:
    """Let a person build in a window, and return the facts of the game."""
    from iglu_marl.agents.registry import game_options, partner_for
    from iglu_marl.commands.task_selection import choose_task
    from iglu_marl.envs.aec import raw_env
    from iglu_marl.game.agent import asks_service
    from iglu_marl.recording import Recorder
    from iglu_marl.recording.rollout import play as play_game

    with extra("window"):
        from iglu_marl.agents import WindowBuilder
        from iglu_marl.agents.human.patience import Unhurried
        from iglu_marl.rendering import WindowClosed
    opt.expect_agent("--partner", partner, Role.ARCHITECT)
    chosen = choose_task(tasks, data, task, seed)
    own = {
        "turn_steps": 20,  # the architect can speak once a second
        "max_steps": None,
        "max_turns": None,
        "builder_can_ask": True,
        "builder_sees": ("inventory", "compass", "dialog", "pose", "grid"),
    }
    options = game_options({Role.ARCHITECT: [partner]}, own, {"controls": controls, "chat": "text"})
    env = raw_env(tasks=chosen, **options)
    env.reset(seed=seed)
    builder = WindowBuilder.for_env(env)
    agents: dict[Role, Any] = {
        Role.ARCHITECT: partner_for(env, Role.ARCHITECT, partner),
        Role.BUILDER: builder,
    }
    builder.window.open()  # fails without a display, before a file is written
    made_folder(folder)
    path = new_path(str(folder), str(chosen.task_id or "structure"), suffix=".jsonl")
    names = {str(role): type(agent).__name__ for role, agent in agents.items()}
    if asks_service(agents[Role.ARCHITECT]):
        agents[Role.ARCHITECT] = Unhurried(agents[Role.ARCHITECT], "")
    try:
        with Recorder(path, agents=names, private=True) as recorder:
            try:
                play_game(env, agents, seed=seed, on_step=recorder)
                builder.show_end(env)
            except WindowClosed:
                recorder.end(env)
    finally:
        for agent in agents.values():
            agent.close()
    return [*_facts_of(path)]
