"""An OpenAI-compatible server on this machine, that obeys or misbehaves; and sensible replies without a model.

`obedient` answers a prompt as a good model would: it reads what the prompt tells, and nothing else. `LLMServer` bills
the tokens that it hands out, one a word, so that a test can compare them with a budget.
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from iglu_marl.agents.llm import ChatRequest, Reply
from iglu_marl.core.grid import COLOR_NAMES
from iglu_marl.language import CellEdit, Failure, parse

LONGEST_S = 20.0
_CHANGE = re.compile(r"^STILL TO DO\n([A-Z].*)$", re.MULTILINE)
_SAID = re.compile(r'^\{"speaker": "(\w+)", "text": ("(?:[^"\\]|\\.)*")', re.MULTILINE)


# ------------------------------------------------------------------------------------------ a model that does as told


def architect_says(prompt: str) -> str:
    """What to say to a prompt that tells what is still to be done."""
    match = _CHANGE.search(prompt)
    return "WAIT" if match is None else match[1]


def builder_does(prompt: str) -> str:
    """The JSON reply to a prompt with a dialogue, whose newest instruction is in plain language."""
    told = [json.loads(text) for speaker, text in _SAID.findall(prompt) if speaker == "architect"]
    found = parse(told[-1]) if told else None
    if found is None or isinstance(found, Failure) or not isinstance(found, CellEdit):
        return json.dumps({"edits": [], "say": "Where exactly?"})
    x, y, z = found.cell
    edit: dict[str, Any] = {"action": "remove", "east": x, "north": -z, "height": y + 2}
    if found.color:
        edit |= {"action": "place", "color": COLOR_NAMES[found.color]}
    return f"I put it there.\n```json\n{json.dumps({'edits': [edit], 'say': ''})}\n```"


def obedient(messages: list[dict[str, Any]]) -> str:
    """The reply of a good model to a chat."""
    content = messages[1]["content"]
    prompt = content if isinstance(content, str) else content[0]["text"]
    return (
        architect_says(prompt) if "You are the architect" in messages[0]["content"] else builder_does(prompt)
    )


def obedient_to_the_last(messages: list[dict[str, Any]]) -> str:
    """The reply of a good model to a chat that has grown turn by turn."""
    return obedient([messages[0], messages[-1]])


def chat_of(request: ChatRequest) -> list[dict[str, Any]]:
    """A request's messages as a server gets them, without pictures."""
    return [{"role": part.speaker, "content": part.text} for part in request.messages]


class ScriptedBackend:
    """A backend without a model: `answer(messages)` gives the text of a reply, or a `Reply`."""

    sees_pictures = True

    def __init__(self, answer: Callable[[list[dict[str, Any]]], Any] = obedient) -> None:
        self.answer = answer
        self.requests: list[ChatRequest] = []
        self.batches: list[int] = []

    def complete(self, requests: Any) -> list[Reply]:
        self.requests += requests
        self.batches.append(len(requests))
        made = [self.answer(chat_of(request)) for request in requests]
        return [text if isinstance(text, Reply) else Reply(text, sent=1) for text in made]

    def fits(self, request: ChatRequest) -> bool:
        return True

    def close(self) -> None:
        pass


def words_of(messages: list[dict[str, Any]]) -> int:
    """The tokens of a chat as this server counts them."""
    total = 0
    for message in messages:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        total += 1 + sum(len(part.split()) for part in parts)
    return total


# ------------------------------------------------------------------------------------------------------- the server


@dataclass
class Misbehaviour:
    """What happens to one request.

    status, headers, body: sent as they are; body None: a proper reply. stall_s: before anything. drip_s: between the
    bytes of the body. cut: only so many bytes of it. chunked, gzipped: the form in which it is sent. reset: the
    connection is reset. text: what the model says. usage: what is said about tokens, instead of the truth. at_once: not
    streamed, even where that was asked for. head_drip_s: between headers that do not end.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    stall_s: float = 0.0
    drip_s: float = 0.0
    cut: int | None = None
    reset: bool = False
    text: str | None = None
    usage: Any = "true"
    finish: str = "stop"
    chunked: bool = False
    gzipped: bool = False
    at_once: bool = False
    head_drip_s: float = 0.0


class LLMServer:
    """Answers chats: `plan` holds what happens to the next requests; after that, to all of them `always`."""

    def __init__(self, answer: Callable[[list[dict[str, Any]]], str] = obedient) -> None:
        self.answer = answer
        self.plan: list[Misbehaviour] = []
        # What a server like this one does to a request (its body, headers and path): None = what is planned.
        self.rule: Callable[[dict[str, Any], dict[str, str], str], Misbehaviour | None] = lambda *_: None
        self.always = Misbehaviour()
        self.seen: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self.times: list[float] = []
        self.prompt_tokens = self.completion_tokens = 0  # billed
        self.at_once = self.most_at_once = 0
        self.over = threading.Event()
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = LONGEST_S
            disable_nagle_algorithm = True  # else each answer takes 40 ms

            def do_POST(self) -> None:
                try:
                    server.handle(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def do_GET(self) -> None:
                if self.path.endswith("/models"):  # whether a server is there
                    self.send_error(404)
                else:
                    self.do_POST()

            def log_message(self, *arguments: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                """Clients hang up: that is what is tested."""

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/v1"

    @property
    def billed(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        content = handler.rfile.read(length)
        with self._lock:
            self.heads.append({name.title(): value for name, value in handler.headers.items()})
            self.times.append(time.monotonic())
            self.seen.append(json.loads(content) if content else {"path": handler.path})
            asked, now = self.seen[-1], self.rule(self.seen[-1], self.heads[-1], handler.path)
            now = now or (self.plan.pop(0) if self.plan else self.always)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            self._answer(handler, asked, now)
        finally:
            with self._lock:
                self.at_once -= 1

    def _answer(self, handler: BaseHTTPRequestHandler, asked: dict[str, Any], now: Misbehaviour) -> None:
        if now.stall_s:
            self.over.wait(min(now.stall_s, LONGEST_S))
        if now.reset:
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.close_connection = True
            handler.connection.close()
            return
        body = self._reply(asked, now) if now.body is None and now.status == 200 else now.body
        body = b"{}" if body is None else body
        form = "application/json"
        if asked.get("stream") and now.body is None and now.status == 200 and not now.at_once:
            body, form = streamed(json.loads(body), bool(asked.get("stream_options"))), "text/event-stream"
        handler.send_response(now.status)
        for name, value in {"Content-Type": form, **now.headers}.items():
            handler.send_header(name, value)
        if now.head_drip_s:
            handler.flush_headers()
            while not self.over.wait(now.head_drip_s):
                handler.send_header("X-More", "a")
                handler.flush_headers()
        if now.gzipped:
            body = gzip.compress(body)
            handler.send_header("Content-Encoding", "gzip")
        if now.chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if now.chunked:
            for place in range(0, len(body), 11):
                part = body[place : place + 11]
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            handler.wfile.write(b"0\r\n\r\n")
            return
        part = body if now.cut is None else body[: now.cut]
        if now.drip_s:
            for place in range(len(part)):
                handler.wfile.write(part[place : place + 1])
                handler.wfile.flush()
                if self.over.wait(now.drip_s):
                    break
        else:
            handler.wfile.write(part)
        if len(part) < len(body):
            handler.close_connection = True

    def _reply(self, asked: dict[str, Any], now: Misbehaviour) -> bytes:
        text = self.answer(asked["messages"]) if now.text is None else now.text
        limit = asked.get("max_tokens") or asked.get("max_completion_tokens") or len(text)
        text = " ".join(text.split(" ")[:limit]) if len(text.split()) > limit else text
        prompt, completion = words_of(asked["messages"]), len(text.split())
        with self._lock:
            self.prompt_tokens += prompt
            self.completion_tokens += completion
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        answer = {
            "id": "chat",
            "object": "chat.completion",
            "created": 0,
            "model": str(asked.get("model")),
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": now.finish}
            ],
            "usage": usage if now.usage == "true" else now.usage,
        }
        return json.dumps(answer).encode()


def streamed(answer: dict[str, Any], with_usage: bool = True) -> bytes:
    """An answer as a stream of events: its text in pieces, a comment, and the usage at the end."""
    (choice,) = answer["choices"]
    text = choice["message"]["content"]
    about = {"id": "chat", "object": "chat.completion.chunk", "created": 0, "model": answer["model"]}
    size = max(9, len(text) // 50)
    pieces = [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    deltas = [{"role": "assistant", "content": ""}, *pieces]
    chunks = [{**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**about, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if with_usage:
        chunks.append({**about, "choices": [], "usage": answer["usage"]})
    return events(*chunks)


def events(*chunks: Any) -> bytes:
    """A stream of events, in which texts are sent as they are."""
    lines = [chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}" for chunk in chunks]
    return "\n\n".join([": a comment", *lines, "data: [DONE]", ""]).encode()


@contextmanager
def llm_server(answer: Callable[[list[dict[str, Any]]], str] = obedient) -> Iterator[LLMServer]:
    """A running server, stopped at the end."""
    server = LLMServer(answer)
    server.thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.http.shutdown()
        server.http.server_close()
        server.thread.join(5)
