"""A server at a port of this machine: the socket, uvicorn's options, and the browser that opens a page."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from iglu_marl.core.errors import ConfigError, IgluMarlError
from iglu_marl.web.limits import MESSAGE_BYTES, guarded
from iglu_marl.web.options import ServerOptions

BACKLOG = 2048  # connections that wait to be accepted
PING_S, SILENT_S = 1.0, 2.5  # a page that does not answer a ping within this time is away


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 is a free one. Raises `ConfigError` if it is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere, this option would share a port that is in use
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(BACKLOG)  # another server may have bound the port, too, until one of them listens
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"no server can listen at {host}, port {port} ({error.strerror}); choose another port, or 0 for a free one"
        ) from error
    return bound


class Server(uvicorn.Server):  # type: ignore[misc]  # of an untyped library
    """A server of an application. on_start: awaited once it accepts connections; its errors stop the server."""

    def __init__(
        self,
        app: Any,
        options: ServerOptions,
        *,
        proxies: Sequence[str] = ("127.0.0.1",),
        on_start: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        config = uvicorn.Config(
            app,
            log_level="warning",
            http=guarded(HttpToolsProtocol, options.header_s),
            ws="websockets-sansio",
            ws_max_size=2 * MESSAGE_BYTES,
            ws_per_message_deflate=False,
            ws_ping_interval=PING_S,
            ws_ping_timeout=SILENT_S,
            server_header=False,
            forwarded_allow_ips=list(proxies),
            timeout_graceful_shutdown=3,
        )
        super().__init__(config)
        app.state.stop = self._stop
        self._on_start = on_start
        self._error: IgluMarlError | None = None

    def _stop(self, error: IgluMarlError) -> None:
        self._error, self.should_exit = error, True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, then call `on_start`."""
        await super().startup(sockets)
        if self._on_start is not None and self.started:
            try:
                await self._on_start()
            except IgluMarlError as error:
                self._stop(error)

    def serve_at(self, bound: socket.socket) -> None:
        """Serve at a socket until the server is stopped; in the main thread, Ctrl+C stops it."""
        with contextlib.suppress(KeyboardInterrupt):
            self.run([bound])
        if self._error is not None:
            raise self._error


def open_page(address: str) -> bool:
    """Open a page in the browser of this desktop, and return whether that was possible.

    Browsers of a terminal are not used: they would take the terminal of the program.
    """
    desktop = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    try:
        return desktop and webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
