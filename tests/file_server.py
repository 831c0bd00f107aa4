"""A server of files on 127.0.0.1 for tests: it breaks off, stalls and lies as the test wants."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LONGEST_S = 20.0  # no stall outlives this


@dataclass
class Served:
    """One file, and how it is served. Lists are used up from the front, one entry per request."""

    body: bytes
    chunked: bool = False  # no Content-Length
    gzipped: bool = False
    told_length: str | None = None  # as Content-Length, in place of the true one
    statuses: list[int] = field(default_factory=list)  # answered instead of the file; -1: hang up at once
    cuts: list[int | None] = field(default_factory=list)  # bytes of this answer before the connection breaks
    stalls: list[float] = field(default_factory=list)  # seconds before the head of the answer
    stall_after: list[int | None] = field(default_factory=list)  # bytes of this answer, then silence
    slow_s: float = 0.0  # between blocks
    block: int = 1 << 12


@dataclass
class Seen:
    """One request, and how many bytes of the file its answer had."""

    path: str
    headers: dict[str, str]
    status: int = 0
    sent: int = 0


class FileServer:
    """What is served, and what was asked for. `url("/x.zip")` is the address of a file."""

    def __init__(self) -> None:
        self.files: dict[str, Served] = {}
        self.seen: list[Seen] = []
        self.over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = LONGEST_S

            def do_GET(self) -> None:
                seen = Seen(self.path, dict(self.headers))
                outer.seen.append(seen)
                self.close_connection = True
                with suppress(BrokenPipeError, ConnectionResetError):
                    outer.answer(self, seen)

            def end_headers(self) -> None:
                self.send_header("Connection", "close")
                super().end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    def serve(self, path: str, body: bytes, **how: object) -> Served:
        self.files[path] = Served(body, **how)  # type: ignore[arg-type]
        return self.files[path]

    @property
    def sent(self) -> int:
        return sum(seen.sent for seen in self.seen)

    def answer(self, handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        file = self.files.get(seen.path)
        if file is None:
            self._short(handler, seen, 404)
            return
        if file.stalls:
            self.over.wait(min(file.stalls.pop(0), LONGEST_S))
        status = file.statuses.pop(0) if file.statuses else 0
        if status == -1:
            return
        if status:
            self._short(handler, seen, status)
            return
        body = gzip.compress(file.body) if file.gzipped else file.body
        self._head(handler, seen, file, body)
        self._body(handler, seen, file, body)

    def _short(self, handler: BaseHTTPRequestHandler, seen: Seen, status: int) -> None:
        seen.status = status
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def _head(self, handler: BaseHTTPRequestHandler, seen: Seen, file: Served, body: bytes) -> None:
        seen.status = 200
        handler.send_response(200)
        handler.send_header("Content-Type", "application/zip")
        if file.gzipped:
            handler.send_header("Content-Encoding", "gzip")
        if file.chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", file.told_length or str(len(body)))
        handler.end_headers()

    def _body(self, handler: BaseHTTPRequestHandler, seen: Seen, file: Served, body: bytes) -> None:
        cut = file.cuts.pop(0) if file.cuts else None
        stall = file.stall_after.pop(0) if file.stall_after else None
        end = min(len(body) if limit is None else limit for limit in (cut, stall))
        for at in range(0, end, file.block):
            block = body[at : min(at + file.block, end)]
            framed = b"%x\r\n%s\r\n" % (len(block), block) if file.chunked else block
            handler.wfile.write(framed)
            seen.sent += len(block)
            if file.slow_s:
                time.sleep(file.slow_s)
        if stall is not None and stall < len(body):
            self.over.wait(LONGEST_S)
        elif file.chunked and end == len(body):
            handler.wfile.write(b"0\r\n\r\n")


@contextmanager
def file_server() -> Iterator[FileServer]:
    """A running server, stopped at the end."""
    server = FileServer()
    server.thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.server.shutdown()
        server.server.server_close()
        server.thread.join(5)
