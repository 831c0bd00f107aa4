"""The application: pages, requests for games, and the WebSocket connections of players."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import importlib.resources
import logging
import re
from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from iglu_marl.agents.learned.zoo import pretrained, zoo
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError, IgluMarlError
from iglu_marl.core.files import private_folder
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning import reason_impossible
from iglu_marl.tasks.imported import fitted
from iglu_marl.tasks.voxel_files import read_voxels
from iglu_marl.web.inputs import read_frame
from iglu_marl.web.limits import (
    MESSAGES_AT_ONCE,
    MESSAGES_PER_S,
    POLICY,
    STRUCTURE_BYTES,
    UNPACKED_BYTES,
    WORDS_AT_ONCE,
    WORDS_PER_S,
    Allowance,
    Guard,
    address_of,
    answers_to,
    json_of,
    message_of,
    same_origin,
)
from iglu_marl.web.locks import FileLock
from iglu_marl.web.metrics import metrics
from iglu_marl.web.options import (
    PERSON,
    READING,
    ServerOptions,
    shown_name,
    team_facts,
)
from iglu_marl.web.rooms import CLOSED, LOST, Client, Rooms, Words

if TYPE_CHECKING:
    from iglu_marl.web.sessions import Sessions
    from iglu_marl.web.study import Study

JOIN_S = 10.0  # for the first message
CLOSE_S = 20.0  # for the last messages of a connection that is closed
LOCK = ".server"  # file of a folder that a running server has locked
WATCH_S = 2.0  # between looks at the locks
FLOOD_S = 0.002  # for which a connection that sends too much is not read
NORMAL = (1000, 1001, 1005)  # codes of a connection that its page has closed

_log = logging.getLogger("uvicorn.error")
_SHARED = ("drawing.js", "style.css")  # what these pages share with the replay page
# The replay page has the drawing in its own script; here it is a module.
_EXPORTS = b"\nexport {GROUND, NAMES, Painter, cellOf, clamp, paintCross, paintScene, setColors};\n"


def create_app(options: ServerOptions | None = None, sessions: Sessions | None = None) -> Starlette:
    """Return the server as an ASGI application; `app.state.rooms` has its games.

    sessions: participants of a study, whose page replaces the lobby.
    """
    options = options or ServerOptions()
    if sessions is not None:
        options = options_for(sessions.study, options)
    private_folder(options.folder)
    lock = FileLock(options.folder / LOCK, f"the folder {options.folder} has a running server")
    if sessions is not None:
        try:
            sessions.store.own(sessions.study.name)
        except DataError:
            lock.close()
            raise

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        rooms = app.state.rooms = Rooms(options)
        await rooms.resume()
        if sessions is not None:
            await sessions.resume(rooms)
        tasks = [asyncio.create_task(course) for course in (rooms.clock(), rooms.check_all(), watch(app))]
        yield
        for task in tasks:
            task.cancel()
        await rooms.close()
        if sessions is not None:
            await sessions.close()
        lock.close()

    async def watch(app: Starlette) -> None:
        """Stop the server when another one has the folder or the study."""
        try:
            while True:
                await asyncio.sleep(WATCH_S)
                lock.check()
                if sessions is not None:
                    await sessions.store.check_lock()
        except DataError as error:
            _log.critical("this server stops: %s", error)
            app.state.rooms.draining = True
            app.state.stop(error)

    # participants of a study can neither choose games nor see those of others
    free = [
        Route("/", _page("lobby.html")),
        Route("/api/lobby", lobby),
        Route("/api/games", begin, methods=["POST"]),
    ]
    app = Starlette(
        routes=[
            *(free if sessions is None else [Route("/", _page("study.html")), *sessions.routes()]),
            *_page_of_a_game(),
            Route("/metrics", metrics),
            Route("/healthz", health),
        ],
        middleware=[Middleware(Guard, options.hosts, options.requests_per_s)],
        exception_handlers=answers_to([IgluMarlError, *(() if sessions is None else sessions.failures)]),
        lifespan=lifespan,
    )
    app.state.options, app.state.sessions = options, sessions
    app.state.stop = lambda error: None  # ends the process, see `iglu_marl.web.serving`
    return app


def _page_of_a_game() -> list[BaseRoute]:
    return [
        Route("/play", _page("play.html")),
        Route("/static/{name}", static_file),
        Route("/api/help", help_texts),
        WebSocketRoute("/ws", connection),
    ]


def person_app(page: Any, options: ServerOptions, farewell: str) -> Starlette:
    """Return an application that has one page, see `iglu_marl.web.human`. farewell: text for a person who has left."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        page.loop = asyncio.get_running_loop()
        beats = asyncio.create_task(page.beat())
        yield
        beats.cancel()

    async def left(_: Request) -> Response:
        return PlainTextResponse(farewell)

    app = Starlette(
        routes=[Route("/", left), *_page_of_a_game()],
        middleware=[Middleware(Guard, options.hosts, options.requests_per_s)],
        lifespan=lifespan,
    )
    app.state.rooms = page
    return app


def options_for(study: Study, options: ServerOptions) -> ServerOptions:
    """Return the options of a server that runs a study. Raises `ConfigError` if it cannot."""
    if options.team:
        raise ConfigError(f"the server's team is {options.team!r:.80}, expected none with a study")
    if study.reader == "model":
        builders = (*options.agents.get(Role.BUILDER, ()), READING)
        agents = {**options.agents, Role.BUILDER: tuple(dict.fromkeys(builders))}
        options = dataclasses.replace(options, agents=agents)
    study.check_against(options.tasks, options.agents)
    return dataclasses.replace(
        options,
        agents_named=False,
        examples=study.examples,
        partner_name=study.partner_name,
        back="Continue",
        minutes=study.game_minutes,
        idle_s=study.idle_s,
    )


# ------------------------------------------------------------------------------------------------------- pages


@lru_cache(maxsize=64)
def read_static(name: str) -> bytes:
    """Return a static file. Raises `FileNotFoundError`."""
    if name in _SHARED:
        content = importlib.resources.files("iglu_marl.rendering").joinpath(name).read_bytes()
        return content + _EXPORTS if name == "drawing.js" else content
    return importlib.resources.files(__package__).joinpath("static", name).read_bytes()


def _page(name: str) -> Any:
    async def page(_: Request) -> Response:
        return HTMLResponse(read_static(name))

    return page


async def static_file(request: Request) -> Response:
    """Answer with a script or a style."""
    if match := re.fullmatch(r"[\w-]+\.(js|css)", request.path_params["name"]):
        with contextlib.suppress(FileNotFoundError):
            kind = "css" if match[1] == "css" else "javascript"
            return Response(read_static(match[0]), media_type=f"text/{kind}")
    return PlainTextResponse("There is no such file.", 404)


async def lobby(request: Request) -> Response:
    """Answer with the tasks (name and number of blocks), the agents by role, and who plays."""
    options: ServerOptions = request.app.state.options
    blocks = {name: int((task.target_grid != task.start_grid).sum()) for name, task in options.tasks.items()}
    return JSONResponse(
        {
            "tasks": sorted(blocks.items(), key=lambda item: (item[1], item[0])),
            "agents": {role.value: list(map(shown_name, options.agents.get(role, ()))) for role in Role},
            "about": {
                name: pretrained(name).card["about"]
                for role in Role
                for name in options.agents.get(role, ())
                if name in zoo()
            },
            **team_facts(options.config),
        }
    )


@lru_cache(maxsize=1)
def example_sentences() -> dict[str, list[str]]:
    """Return what scripted agents understand, for example: instructions and questions."""
    from iglu_marl.language.grammar import constructions as grammar

    questions = (f"{text[:-1]}?" for text in grammar.example_sentences("asked_plain"))
    return {
        "instructions": list(grammar.example_requests()),
        "questions": [
            re.sub(r"\bi\b", "I", text)
            for text in questions
            if re.match("What|How|Where|Which|Is|Are|Should", text)
        ],
    }


async def help_texts(_: Request) -> Response:
    """Answer with example sentences."""
    return JSONResponse(await asyncio.to_thread(example_sentences))


async def health(request: Request) -> Response:
    """Answer with the number of running games, how late their steps are (95 %), and whether new games start."""
    rooms: Rooms = request.app.state.rooms
    running = sum(room.playing for room in rooms.rooms.values())
    return JSONResponse(
        {"games": running, "late_ms": round(1000 * rooms.lateness(), 1), "full": rooms.is_full}
    )


# ------------------------------------------------------------------------------------------------------- games


async def begin(request: Request) -> Response:
    """Start a game: {"role", "partner", "task" (null: any)} -> {"token"} of the seat.

    In a game of a team the role is an agent ("builder_1"), and partners are named by agent. With "file" (name and
    content in base 64) the task is to build the structure of this file.
    """
    asked = await json_of(request, STRUCTURE_BYTES)
    rooms: Rooms = request.app.state.rooms
    origin = address_of(request.scope)
    if refusal := rooms.refuses(origin):
        raise HTTPException(503, refusal)
    role, partner, task = asked.get("role", ""), asked.get("partner", PERSON), asked.get("task")
    own = await asyncio.to_thread(task_of_file, asked["file"]) if asked.get("file") else None
    names = partner.values() if isinstance(partner, dict) else [partner]
    if not all(isinstance(name, str) for name in (role, task or "", *names)):
        raise ConfigError("expected names of a role, of partners and of a task")
    seat = await rooms.create(role, partner, own or task, origin)
    return JSONResponse({"token": seat.token})


def task_of_file(file: Any) -> Task:
    """Return the task to build the structure of a file from a page. Raises `ConfigError` if it is unusable."""
    try:
        name, content = Path(file["name"]).name, base64.b64decode(file["content"], validate=True)
        model = read_voxels(name, content=content, unpacked_limit=UNPACKED_BYTES)
        task = Task("", fitted(model, "scale"), task_id=model.name[:40], ids="iglu")
    except IgluMarlError as error:
        raise ConfigError(f"The file cannot be used: {str(error)[:200]}") from None
    except (ValueError, TypeError, KeyError):
        raise ConfigError("The file cannot be used: a file with a name and content is expected") from None
    worlds = Worlds(1)
    worlds.spawn(0, task)
    if reason := reason_impossible(worlds):
        raise ConfigError(f"Nobody can build {model.name!r:.40}: {reason:.200}")
    return task


async def connection(socket: WebSocket) -> None:
    """Serve a player; the first message is {"t": "join", "token", "page": name of the tab}."""
    if not same_origin(socket.headers):
        await socket.close(POLICY)
        return
    await socket.accept()
    rooms: Rooms = socket.app.state.rooms
    try:
        first = await asyncio.wait_for(message_of(socket), JOIN_S)
        token = first.get("token") if first.get("t") == "join" else None
        client = rooms.enter(token, str(first.get("page", ""))[:40]) if isinstance(token, str) else None
    except (WebSocketDisconnect, asyncio.TimeoutError, IgluMarlError):
        client = None
    if client is None:
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            await socket.send_json({"t": "closed", "text": "This game is over, or the link is wrong."})
            await socket.close(POLICY)
        return
    sending, why = asyncio.create_task(_send_all(socket, client)), LOST
    try:
        await _receive_all(socket, client)
    except WebSocketDisconnect as end:
        why = CLOSED if end.code in NORMAL else LOST
    except RuntimeError:
        pass
    finally:
        client.room.leave(client, why=why)
        client.dismiss()
        # not cancelled: the last messages are still sent, and `wait_for` of Python 3.11 can miss a cancellation
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(sending, CLOSE_S)


async def _receive_all(socket: WebSocket, client: Client) -> None:
    """Handle messages until the connection ends or must be closed."""
    messages, words = Allowance(MESSAGES_PER_S, MESSAGES_AT_ONCE), Allowance(WORDS_PER_S, WORDS_AT_ONCE)
    while not client.gone:
        try:
            message = await message_of(socket)
            kind = message.get("t")
            if client.gone:
                break
            if not messages.take():
                await asyncio.sleep(FLOOD_S)
                if kind in ("in", "typing"):
                    continue  # too many: dropped
            if kind == "in":
                client.room.move(client, read_frame(message))
            elif kind == "say":
                _say(client, message, words)
            elif kind == "typing":
                client.room.show_typing(client)
            elif kind == "tutorial":
                client.room.learn(client, str(message.get("step"))[:20])
            elif kind == "leave":
                client.room.leave(client, for_good=True)
                break
            else:
                raise ConfigError(f"t is {kind!r:.40}, expected in, say, typing, tutorial or leave")
        except IgluMarlError as error:
            client.notify("note", text=str(error)[:200])
            await asyncio.sleep(FLOOD_S)


def _say(client: Client, message: dict[str, Any], words: Allowance) -> None:
    text, how, typed_s = message.get("text"), message.get("how"), message.get("typed_s")
    limit = client.room.game.config.max_message_length or 0
    if not isinstance(text, str) or len(text) > limit:
        raise ConfigError(f"the message is too long, expected at most {limit} characters")
    expected = client.room.expects(client)
    if not expected or message.get("n", expected) != expected:
        return  # it was taken before, or comes again after the one before it
    if not words.take():
        client.notify("note", text="You send messages too fast: the next one follows in a moment.")
        return
    known = isinstance(typed_s, int | float) and 0 <= typed_s < 1e6
    how = how if how in ("button", "example") else "typed"
    client.room.say(client, Words(text, how, float(typed_s or 0.0) if known else 0.0))


async def _send_all(socket: WebSocket, client: Client) -> None:
    """Send frames and messages. A slow connection gets fewer, larger frames, and delays nobody."""
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        while True:
            await client.wake.wait()
            client.wake.clear()
            for text in client.due():
                await socket.send_text(text)
            if client.gone:
                break
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await socket.close()
