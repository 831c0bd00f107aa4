"""The page /admin: games, lateness of ticks, and the state of a study, behind a password."""

from __future__ import annotations

import base64
import binascii
import html
import secrets
from collections.abc import Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from iglu_marl.web.options import PERSON, ServerOptions
from iglu_marl.web.rooms import Rooms


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


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return an HTML table; all values are escaped."""

    def row(tag: str, values: Iterable[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(value))}</{tag}>" for value in values) + "</tr>"

    return f"<table>{row('th', head)}{''.join(row('td', values) for values in rows)}</table>"


async def page(request: Request) -> Response:
    """Answer with the page, or ask for the password."""
    options: ServerOptions = request.app.state.options
    if not options.secret:
        return PlainTextResponse("There is no such page.", 404)
    if not knows(request, options.secret):
        return PlainTextResponse(
            "This page has a password.", 401, {"www-authenticate": 'Basic realm="admin"'}
        )
    rooms: Rooms = request.app.state.rooms
    games = [
        (
            room.name,
            room.game.task.task_id,
            *(seat.agent or f"{PERSON}{'' if seat.client else ' (away)'}" for seat in room.seats.values()),
            room.status()["how"] or room.status()["state"],
            f"{room.game.ticks / 20:.0f} s",
        )
        for room in rooms.rooms.values()
    ]
    parts = [
        f"<p>Games in progress: {sum(room.playing for room in rooms.rooms.values())}. 95 % of the ticks of the last "
        f"seconds were at most {1000 * rooms.lateness():.1f} ms late.</p>",
        "<h2>Games</h2>",
        table(("game", "task", "one", "other", "state", "time"), games),
    ]
    sessions = request.app.state.sessions
    if sessions is not None:
        rows = [tuple(row.values()) for row in await sessions.status()]
        parts += ["<h2>Participants</h2>", table(("condition", "stage", "participants"), rows)]
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Server</title>'
        '<link rel="stylesheet" href="/static/style.css"><link rel="stylesheet" href="/static/page.css"></head>'
    )
    body = f'<body class="plain"><main><h1>Server</h1>{"".join(parts)}</main></body></html>'
    return HTMLResponse(head + body, headers={"cache-control": "no-store"})
