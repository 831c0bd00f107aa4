"""The page /metrics, behind a password: numbers of games and of participants."""

from __future__ import annotations

import base64
import binascii
import secrets

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from iglu_marl.web.options import ServerOptions


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
            "This page has a password.", 401, {"www-authenticate": 'Basic realm="iglu-marl"'}
        )
    return None


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
