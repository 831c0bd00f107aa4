"""The page /metrics, behind a password: numbers of games and of participants."""

from __future__ import annotations

import base64
import secrets

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response


async def metrics(request: Request) -> Response:
    """Answer a request with the password (basic authentication, any name) in the text format of Prometheus."""
    secret: str = request.app.state.options.secret
    if not secret:
        return PlainTextResponse("There is no such page.", 404)
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    try:
        password = base64.b64decode(given, validate=True).partition(b":")[2]
    except ValueError:
        password = b""
    if scheme.lower() != "basic" or not secrets.compare_digest(password, secret.encode()):
        asks = {"www-authenticate": 'Basic realm="iglu-marl"'}
        return PlainTextResponse("This page has a password.", 401, asks)
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
            ("unwritten", "Writes that wait for the database.", [("", len(sessions.writes))]),
        ]
    lines = []
    for name, meaning, values in found:
        lines += [f"# HELP iglu_marl_{name} {meaning}", f"# TYPE iglu_marl_{name} gauge"]
        lines += [f"iglu_marl_{name}{labels} {value}" for labels, value in values]
    return PlainTextResponse("\n".join(lines) + "\n")
