"""The server's limits: hosts, origins, size and rate of messages."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from iglu_marl.core.errors import ConfigError, IgluMarlError
from iglu_marl.core.parsing import parse_json

MESSAGE_BYTES = 4096  # of a message
FORM_BYTES = 65_536  # of a form
STRUCTURE_BYTES = 1 << 19  # of a request with a structure's file
UNPACKED_BYTES = 1 << 21  # of such a file, unpacked
POLICY, TOO_LARGE = 1008, 1009  # codes of closing a WebSocket
MESSAGES_PER_S, MESSAGES_AT_ONCE = 40.0, 80.0  # a player sends 20 frames a second
WORDS_PER_S, WORDS_AT_ONCE = 1.0, 6.0  # utterances
REQUESTS_AT_ONCE_S = 10.0  # an address may send the requests of this many seconds in one burst
FREE = "/static/"  # paths whose requests are not counted
ADDRESSES = 10_000  # whose rates are known, at most

_log = logging.getLogger("uvicorn.error")
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-cache",
}


class Allowance:
    """A token bucket: `per_s` events a second, and bursts of `at_once`."""

    def __init__(self, per_s: float, at_once: float) -> None:
        self._per_s, self._at_once = per_s, at_once
        self._left, self._at = at_once, time.monotonic()

    def take(self) -> bool:
        """Return whether one more event may pass now."""
        now = time.monotonic()
        self._left = min(self._at_once, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


def address_of(scope: Mapping[str, Any]) -> str:
    """Return the address that a request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def same_origin(headers: Headers) -> bool:
    """Return whether a request was made by a page of this server."""
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc == headers.get("host")


async def json_of(request: Request, limit: int = FORM_BYTES) -> dict[str, Any]:
    """Return the JSON object that a page of this server has posted. Raises `HTTPException`."""
    if not same_origin(request.headers):
        raise HTTPException(403, "Only pages of this server may send this request.")
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > limit:
                raise HTTPException(413, "The request is too large.")
        content = parse_json(body.decode("utf-8", "replace"), "the request")
    except (ClientDisconnect, IgluMarlError) as error:
        raise HTTPException(400, str(error)[:200]) from None
    if not isinstance(content, dict):
        raise HTTPException(400, "An object is expected.")
    return content


def answers_to(errors: Iterable[type[Exception]]) -> dict[Any, Any]:
    """Return handlers of Starlette that answer errors as JSON; those of the server are logged, and not shown."""

    async def answer(_: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return JSONResponse({"error": error.detail}, error.status_code)
        if isinstance(error, ConfigError):
            return JSONResponse({"error": str(error)[:300]}, 400)
        _log.error("a request has failed: %s", error)
        return JSONResponse({"error": "That did not work. Please try again in a minute."}, 503)

    return dict.fromkeys((HTTPException, *errors), answer)


async def message_of(socket: WebSocket) -> dict[str, Any]:
    """Return the next message. Raises `IgluMarlError` if it is no JSON object, `WebSocketDisconnect` at the end."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code") or 1000)
    text = message.get("text")
    if text is None or len(text) > MESSAGE_BYTES:
        raise WebSocketDisconnect(TOO_LARGE)
    content = parse_json(text, "the message")
    if not isinstance(content, dict):
        raise ConfigError(f"the message is {content!r:.40}, expected an object with the key t")
    return content


class Guard:
    """ASGI middleware that refuses unknown hosts and too many requests, and adds security headers."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], requests_per_s: float) -> None:
        self.app, self.hosts = app, hosts
        at_once = REQUESTS_AT_ONCE_S * requests_per_s
        self._allowance_of = lru_cache(ADDRESSES)(lambda address: Allowance(requests_per_s, at_once))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        host = urlsplit(f"//{Headers(scope=scope).get('host', '')}").hostname
        refusal = None
        if host not in self.hosts:
            refusal = PlainTextResponse("This server does not have that name.", 421)
        elif not scope["path"].startswith(FREE) and not self._allowance_of(address_of(scope)).take():
            refusal = PlainTextResponse("Too many requests.", 429)
        if refusal is None:
            await self.app(scope, receive, self._protecting(send) if scope["type"] == "http" else send)
        elif scope["type"] == "http":
            await refusal(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _protecting(self, send: Send) -> Send:
        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        return protected


def guarded(protocol: Any, head_s: float) -> Any:
    """Return a subclass of a protocol class of uvicorn that ends connections whose requests do not come.

    head_s: seconds in which the head of a request has to come, and again its body.
    """

    class Guarded(protocol):  # type: ignore[misc]
        late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.expect_more()

        def expect_more(self) -> None:
            self.heard()
            self.late = self.loop.call_later(head_s, self.transport.abort)

        def heard(self) -> None:
            if self.late is not None:
                self.late.cancel()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.expect_more()

        def on_headers_complete(self) -> None:
            if self.parser.should_upgrade():
                self.heard()
            else:
                self.expect_more()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self.heard()
            super().on_message_complete()

        def connection_lost(self, error: Exception | None) -> None:
            self.heard()
            super().connection_lost(error)

    return Guarded
