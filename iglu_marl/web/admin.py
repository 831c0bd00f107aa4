"""The pages /admin and /metrics, behind a password: games with their dialogues, participants of a study, numbers."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from iglu_marl.core.tables import Table, html_table
from iglu_marl.web.options import PERSON, ServerOptions
from iglu_marl.web.rooms import Room

LINES = 4  # of a dialogue
REFRESH_S = 5
GAME_COLUMNS = "game", "task", "players", "state", "last said"
PERSON_COLUMNS = "code", "condition", "stage", "game", "seen"
BALANCE_COLUMNS = "condition", "stage", "participants"


def knows(request: Request, secret: str) -> bool:
    """Return whether a request has the secret as its password (HTTP basic authentication, any name)."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if not secret or scheme.lower() != "basic":
        return False
    try:
        password = base64.b64decode(given, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return False
    return secrets.compare_digest(password, secret.encode())


def refusal(request: Request) -> Response | None:
    """Return the response to a request without the password, or None."""
    options: ServerOptions = request.app.state.options
    if not options.secret:
        return PlainTextResponse("There is no such page.", 404)
    if not knows(request, options.secret):
        return PlainTextResponse(
            "This page has a password.", 401, {"www-authenticate": 'Basic realm="admin"'}
        )
    return None


async def page(request: Request) -> Response:
    """Answer with the page, which loads itself again."""
    if refused := refusal(request):
        return refused
    rooms, sessions = request.app.state.rooms, request.app.state.sessions
    parts = [
        f"<p>Games in progress: {sum(room.playing for room in rooms.rooms.values())}. 95 % of the ticks of the last "
        f"seconds were at most {1000 * rooms.lateness():.1f} ms late. Free space: {rooms.free_mb:.0f} MB.</p>",
        "<h2>Games</h2>",
        html_table(Table(GAME_COLUMNS, [_game(room) for room in rooms.rooms.values() if not room.over])),
    ]
    if sessions is not None:
        parts += [
            "<h2>Participants under way</h2>",
            html_table(Table(PERSON_COLUMNS, [tuple(one.values()) for one in await sessions.under_way()])),
            "<h2>Balance</h2>",
            html_table(Table(BALANCE_COLUMNS, [tuple(row.values()) for row in await sessions.status()])),
        ]
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Server</title>'
        f'<meta http-equiv="refresh" content="{REFRESH_S}"><link rel="stylesheet" href="/static/style.css">'
        '<link rel="stylesheet" href="/static/page.css"></head>'
    )
    body = f'<body class="plain admin"><main><h1>Server</h1>{"".join(parts)}</main></body></html>'
    return HTMLResponse(head + body, headers={"cache-control": "no-store"})


def _game(room: Room) -> tuple[Any, ...]:
    said = [f"{one.speaker}: {one.text}" for one in room.game.episode.dialogue.utterances[-LINES:]]
    seats = room.seats.values()
    people = "\n".join(f"{seat.agent or PERSON}{' (away)' if seat.waits else ''}" for seat in seats)
    state = f"{room.status()['state']}, {room.game.ticks / 20:.0f} s"
    return room.name, room.game.task.task_id, people, state, "\n".join(said)


async def metrics(request: Request) -> Response:
    """Answer with numbers in the text format of Prometheus."""
    if refused := refusal(request):
        return refused
    rooms, sessions = request.app.state.rooms, request.app.state.sessions
    going = [room for room in rooms.rooms.values() if not room.over]
    found = [
        ("games", "Games that are not over.", [("", len(going))]),
        ("games_playing", "Games in which time passes.", [("", sum(room.playing for room in going))]),
        ("connections", "Pages in games.", [("", sum(len(room.clients) for room in rooms.rooms.values()))]),
        ("lateness_seconds", "Lateness of ticks, 95 %.", [("", round(rooms.lateness(), 4))]),
        ("free_bytes", "Free space for recordings.", [("", 1e6 * rooms.free_mb)]),
        ("draining", "Whether no new game starts.", [("", int(rooms.draining))]),
    ]
    if sessions is not None:
        counts = [
            (f'{{condition="{row["condition"]}",stage="{row["stage"]}"}}', row["participants"])
            for row in await sessions.status()
        ]
        found += [
            ("participants", "Participants by condition and stage.", counts),
            ("unwritten", "Writes that wait for the database.", [("", sessions.unwritten)]),
        ]
    lines = []
    for name, meaning, values in found:
        lines += [f"# HELP iglu_marl_{name} {meaning}", f"# TYPE iglu_marl_{name} gauge"]
        lines += [f"iglu_marl_{name}{labels} {value}" for labels, value in values]
    return PlainTextResponse("\n".join(lines) + "\n")
