"""Any OpenAI-compatible endpoint: `POST {base}/chat/completions`, with patience, limits, a budget and a cache.

The key is read from its environment variable when a request is sent, goes into one header of that request, and nowhere
else: it is no attribute of anything, redirects are not followed, and where a server echoes it, it is blotted out.
Failures are values (`Reply.failure`), and hold no exception, whose request would hold the key.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from iglu_marl import ConfigError
from iglu_marl.agents.llm.budget import Budget, RateLimit, TokenCount, shared_file
from iglu_marl.agents.llm.cache import ReplyCache, default_folder
from iglu_marl.agents.llm.messages import ChatRequest, Reply, RequestFailure
from iglu_marl.agents.llm.reading import text_of_calls, text_of_content
from iglu_marl.agents.llm.settings import LOOPBACK, PREFIX, LLMSettings
from iglu_marl.core.text import cleaned

PER_MESSAGE, PER_REQUEST = 8, 32  # tokens at most that a server adds: names of roles, marks
COMPLETIONS = "/chat/completions"
_BLOCK = 65_536
_MAY_PASS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_DETAIL = 200
# What servers say about a request that they reject because of what the model is asked or answers.
_TOO_LONG = re.compile(
    r"context.(?:length|size|window)|maximum context|prompt is too long|too many tokens", re.I
)
_FILTERED = re.compile(r"content.?(?:filter|policy|management)|responsible.?ai", re.I)
_INVALID = re.compile(r"json_validate_failed|tool_use_failed")
_NO_CREDIT = re.compile(
    r"insufficient.?(?:quota|funds|balance|credit)|exceeded your current quota|billing", re.I
)
_log = logging.getLogger(__name__)


class _Attempt(NamedTuple):
    """What one sending came to. used: None when nobody knows whether, or how much, it is paid for."""

    text: str = ""
    failure: RequestFailure | None = None
    detail: str = ""
    used: TokenCount | None = None
    cut: bool = False
    may_pass: bool = False
    asked_wait_s: float = 0.0


class EndpointBackend:
    """Sends chats to a server and brings back its replies; several at once, each tried again while that may help.

    sleep, clock: for tests.
    """

    def __init__(
        self,
        settings: LLMSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not settings.endpoint:
            raise ConfigError("endpoint is empty, expected the base address of a server")
        self.settings = settings
        self.budget = Budget.of(settings)
        shared = shared_file(settings)  # with the clock that all processes have
        self._limit = RateLimit(
            settings.requests_per_minute,
            file=f"{shared}.rate" if shared and settings.requests_per_minute else "",
            clock=time.time if shared and clock is time.monotonic else clock,
            sleep=sleep,
        )
        self._under_way = threading.BoundedSemaphore(settings.concurrency)
        self._cache = None if settings.cache == "off" else ReplyCache(settings.cache or default_folder())
        self._sleep, self._clock = sleep, clock
        self._rng = np.random.default_rng()  # of waiting times, which decide nothing
        # Sessions with their connections, of which each is used by one thread at a time.
        self._idle: list[Any] = []
        self._asking: dict[str, tuple[threading.Lock, int]] = {}  # and how many threads want it
        self._answered = False  # whether there ever was a reply
        self._lock = threading.Lock()
        self.check_key()

    def __repr__(self) -> str:
        return f"EndpointBackend({self.settings.model!r} at {self.settings.endpoint!r})"

    # -- Backend

    @property
    def sees_pictures(self) -> bool:
        """Whether the settings say that the model does."""
        return self.settings.pictures

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """One reply for each request, several under way at once."""
        if len(requests) < 2 or self.settings.concurrency == 1:
            return [self._one(request) for request in requests]
        with ThreadPoolExecutor(min(self.settings.concurrency, len(requests))) as pool:
            return list(pool.map(self._one, requests))

    def fits(self, request: ChatRequest) -> bool:
        """By a rough estimate, of two bytes a token; True when the length of the context is not known."""
        limit = self.settings.context_tokens
        return not limit or self.at_most(request).prompt // 2 + self.settings.most_tokens <= limit

    def at_most(self, request: ChatRequest) -> TokenCount:
        """The tokens that a call can come to: no token of a text is shorter than a byte."""
        prompt = PER_REQUEST
        for message in request.messages:
            prompt += PER_MESSAGE + len(message.text.encode("utf-8"))
            prompt += len(message.pictures) * self.settings.picture_tokens
        return TokenCount(prompt, self.settings.most_tokens)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What these tokens cost, in the unit of the prices."""
        return self.budget.cost(TokenCount(prompt_tokens, completion_tokens))

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            sessions, self._idle = self._idle, []
        for session in sessions:
            session.close()

    # -- the key

    def check_key(self) -> str:
        """The key, "" for none. Raises `ConfigError`, which does not name it, when it must not or cannot be sent."""
        variable, parts = self.settings.key_variable, urlsplit(self.settings.endpoint)
        key = os.environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise ConfigError(f"the key in {variable} has characters that no key has")
        if key and parts.scheme == "http" and parts.hostname not in LOOPBACK and not self.settings.insecure:
            raise ConfigError(
                f"the key in {variable} would go unencrypted to {parts.hostname}: expected an https address, "
                f"no key, or insecure=True ({PREFIX}INSECURE=1)"
            )
        return key

    def _blotted(self, text: str) -> str:
        key = os.environ.get(self.settings.key_variable, "").strip()
        return re.sub(re.escape(key), "[key]", text, flags=re.IGNORECASE) if len(key) >= 4 else text

    # -- one request

    def _one(self, request: ChatRequest) -> Reply:
        body = self._body(request)
        asked = {"endpoint": self.settings.endpoint.rstrip("/"), **body}
        with self._alone(asked):
            return self._reply_to(request, body, asked)

    @contextmanager
    def _alone(self, asked: dict[str, Any]) -> Iterator[None]:
        """Where replies are kept: of equal requests in several threads, one is sent, and the others wait for it."""
        if self._cache is None:
            yield
            return
        name = self._cache.path_of(asked).stem
        with self._lock:
            lock, users = self._asking.get(name, (threading.Lock(), 0))
            self._asking[name] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                users = self._asking[name][1]
                self._asking[name] = lock, users - 1
                if users == 1:
                    del self._asking[name]

    def _reply_to(self, request: ChatRequest, body: dict[str, Any], asked: dict[str, Any]) -> Reply:
        if self._cache is not None and (kept := self._cache.find(asked)) is not None:
            self._answered = True
            return Reply(self._blotted(kept["text"]), cut=kept["cut"], cached=True)
        reply = self._persist(request, json.dumps(body).encode("ascii"))
        if reply.failure is not None:
            _log.warning("%s: %s. %s", self.settings.endpoint, reply.failure, reply.detail)
            return reply
        self._answered = True
        if self._cache is not None:
            self._cache.keep(asked, reply.text, reply.cut)
        return reply

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        """The request as the server gets it: everything that decides the reply."""
        settings = self.settings
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": [_message(part.speaker, part.text, part.pictures) for part in request.messages],
            settings.limit_field: settings.most_tokens,
            "temperature": settings.temperature,
            **settings.extra,
        }
        if request.schema is not None:
            form = {"name": "reply", "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if settings.temperature:
            body |= {"top_p": settings.top_p, "seed": request.seed}
        if settings.stop:
            body["stop"] = list(settings.stop)
        return {name: value for name, value in body.items() if value is not None}

    def _persist(self, request: ChatRequest, body: bytes) -> Reply:
        """Send until there is an answer, or nothing more to be hoped for. Each sending has its own reservation."""
        most, total = self.at_most(request), TokenCount()
        for number in range(self.settings.retries + 1):
            if self._limit.closed_s > self.settings.max_wait_s:
                asked = f"the server has asked to wait {self._limit.closed_s:.0f} s"
                return _reply(_Attempt(failure=RequestFailure.RATE_LIMITED, detail=asked), total, number)
            if not self.budget.reserve(most):
                spent = self.budget.spent
                detail = f"{sum(spent)} tokens are spent, and this call may take up to {sum(most)}"
                return _reply(_Attempt(failure=RequestFailure.OVER_BUDGET, detail=detail), total, number)
            used = most
            try:
                self._limit.wait()
                with self._under_way:
                    attempt = self._send(body)
                used = most if attempt.used is None else attempt.used
            finally:
                self.budget.settle(most, used)
            total = total.plus(used)
            if attempt.asked_wait_s:
                self._limit.hold(attempt.asked_wait_s)  # for all
            if not attempt.may_pass or number == self.settings.retries:
                return _reply(attempt, total, number + 1)
            if not attempt.asked_wait_s:
                wait_s = self.settings.backoff_s * 2**number * float(self._rng.uniform(0.5, 1.5))
                self._sleep(min(wait_s, self.settings.max_wait_s))
        raise AssertionError

    def _send(self, body: bytes) -> _Attempt:
        """Send once. Raises nothing that comes from the network."""
        import requests
        import urllib3

        settings, key = self.settings, self.check_key()
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        deadline = self._clock() + settings.timeout_s
        try:
            with (
                self._session() as session,
                session.post(
                    f"{settings.endpoint.rstrip('/')}{COMPLETIONS}",
                    data=body,
                    headers=headers,
                    auth=_Bearer(key),  # an auth, so that no .netrc takes its place
                    timeout=(settings.connect_timeout_s, settings.timeout_s),
                    allow_redirects=False,
                    stream=True,
                ) as response,
            ):
                content = self._receive(response, deadline)
                if isinstance(content, _Attempt):
                    return content
                return self._judge(response, content)
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            return _network_failure(error)

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """A session that nobody else uses for now."""
        import requests

        with self._lock:
            session = self._idle.pop() if self._idle else requests.Session()
        try:
            yield session
        finally:
            with self._lock:
                self._idle.append(session)

    def _receive(self, response: Any, deadline: float) -> bytes | _Attempt:
        """The body of an answer, no longer than it may be, and no later."""
        content = bytearray()
        while block := response.raw.read1(_BLOCK, decode_content=True):
            content += block
            if len(content) > self.settings.reply_bytes:
                detail = f"more than {self.settings.reply_bytes:,} bytes"
                return _Attempt(failure=RequestFailure.TOO_LARGE, detail=detail)
            if self._clock() > deadline:
                detail = f"not whole after {self.settings.timeout_s:g} s"
                return _Attempt(failure=RequestFailure.TIMEOUT, detail=detail, may_pass=True)
        return bytes(content)

    def _judge(self, response: Any, content: bytes) -> _Attempt:
        """What an answer comes to, by its status and its content."""
        status = int(response.status_code)
        if status == 200:
            return self._read(content)
        said = self._blotted(cleaned(_complaint(content)))[:_DETAIL]
        if 300 <= status < 400:
            host = urlsplit(response.headers.get("Location", "")).hostname or "elsewhere on the same host"
            detail = f"{status} to {host}; the key is not sent on. Is the endpoint's address right?"
            return _Attempt(
                failure=RequestFailure.REDIRECTED, detail=self._blotted(detail), used=TokenCount()
            )
        if status in (401, 403):
            detail = f"{status}: {said}. The key is expected in {self.settings.key_variable}"
            return _Attempt(failure=RequestFailure.REFUSED, detail=detail, used=TokenCount())
        kind = self._kind(status, said)
        wait_s = _asked_wait(response.headers.get("Retry-After"))
        passing = kind in (RequestFailure.RATE_LIMITED, RequestFailure.SERVER_ERROR)
        detail = f"{status}: {said}"
        if kind is RequestFailure.NOT_FOUND:
            detail += f". Are the model's name and the endpoint's address right (`{COMPLETIONS}` is added)?"
        return _Attempt(failure=kind, detail=detail, used=TokenCount(), may_pass=passing, asked_wait_s=wait_s)

    def _kind(self, status: int, said: str) -> RequestFailure:
        """What a status that is none of success, and what the server says about it, come to."""
        if status == 402 or (status in (400, 429) and _NO_CREDIT.search(said)):
            return RequestFailure.NO_CREDIT
        if status == 429:
            return RequestFailure.RATE_LIMITED
        if status in _MAY_PASS or (status >= 500 and status not in (501, 505)):
            return RequestFailure.SERVER_ERROR
        if status == 404:
            return RequestFailure.NOT_FOUND
        for pattern, kind in (
            (_TOO_LONG, RequestFailure.TOO_LONG),
            (_FILTERED, RequestFailure.FILTERED),
            (_INVALID, RequestFailure.INVALID),
        ):
            if pattern.search(said):
                return kind
        # One that was never answered dislikes the settings; else it is this request.
        return RequestFailure.REJECTED if self._answered else RequestFailure.UNSUITABLE

    def _read(self, content: bytes) -> _Attempt:
        """The reply in the content of a good answer."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            start = self._blotted(cleaned(content[:60].decode("utf-8", "replace")))
            return _Attempt(failure=RequestFailure.NOT_JSON, detail=f"it begins with {start!r}")
        used = _usage(answer)
        try:
            choice = answer["choices"][0]
            message, finish = choice["message"], choice.get("finish_reason")
            calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
            text = text_of_calls(calls) or text_of_content(message.get("content"))
            refusal = message.get("refusal")
        except (KeyError, IndexError, TypeError, AttributeError):
            text = finish = refusal = None
        if text is None:
            detail = "expected choices[0].message.content"
            return _Attempt(failure=RequestFailure.WRONG_SHAPE, detail=detail, used=used)
        if finish == "content_filter":
            return _Attempt(failure=RequestFailure.FILTERED, detail="by the server", used=used)
        text, cut = self._blotted(cleaned(text)), finish == "length"
        if text.strip():
            return _Attempt(text, used=used, cut=cut)
        if refusal and isinstance(refusal, str):
            detail = self._blotted(cleaned(refusal))[:_DETAIL]
            return _Attempt(failure=RequestFailure.DECLINED, detail=detail, used=used)
        detail = f"finish_reason {finish!r:.40}"
        return _Attempt(failure=RequestFailure.EMPTY, detail=detail, used=used, cut=cut)


class _Bearer:
    """Puts the key into a request's head."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: Any) -> Any:
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request

    def __repr__(self) -> str:
        return "_Bearer()"


def _message(speaker: str, text: str, pictures: Sequence[bytes]) -> dict[str, Any]:
    if not pictures:
        return {"role": speaker, "content": text}
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    for picture in pictures:
        url = "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return {"role": speaker, "content": parts}


def _reply(attempt: _Attempt, total: TokenCount, sent: int) -> Reply:
    return Reply(
        attempt.text,
        attempt.failure,
        attempt.detail,
        prompt_tokens=total.prompt,
        completion_tokens=total.completion,
        sent=sent,
        cut=attempt.cut,
    )


def _network_failure(error: Exception) -> _Attempt:
    """A failure of the connection. Only where there was none, nothing can have to be paid."""
    import requests
    import urllib3

    name = type(error).__name__
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return _Attempt(failure=RequestFailure.UNREACHABLE, detail=name, used=TokenCount(), may_pass=True)
    if isinstance(error, (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError, TimeoutError)):
        return _Attempt(failure=RequestFailure.TIMEOUT, detail=name, may_pass=True)
    if isinstance(error, requests.exceptions.SSLError):
        return _Attempt(failure=RequestFailure.UNREACHABLE, detail=name, used=TokenCount())
    if isinstance(error, requests.exceptions.ConnectionError):
        reason = getattr(error.args[0] if error.args else None, "reason", None)
        if isinstance(reason, urllib3.exceptions.NewConnectionError):
            detail = type(reason).__name__
            return _Attempt(
                failure=RequestFailure.UNREACHABLE, detail=detail, used=TokenCount(), may_pass=True
            )
    return _Attempt(failure=RequestFailure.BROKEN_OFF, detail=name, may_pass=True)


def _asked_wait(header: str | None) -> float:
    """The seconds that a Retry-After asks for, which may be a number or a date; 0 when it asks for nothing."""
    if not header:
        return 0.0
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        return max(0.0, float(Retry().parse_retry_after(header[:100])))
    except (InvalidHeader, ValueError, OverflowError):
        return 0.0


def _complaint(content: bytes) -> str:
    """What a server says about an error, as far as it can be made out."""
    text = content[:2000].decode("utf-8", "replace")
    try:
        said = json.loads(content)["error"]
        text = str(said["message"] if isinstance(said, dict) else said)
        if isinstance(said, dict) and isinstance(said.get("code"), str) and said["code"] not in text:
            text = f"{said['code']}: {text}"
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return " ".join(text.split())


def _usage(answer: Any) -> TokenCount | None:
    """The tokens that a server says to have used; None unless it says so in a way that can be."""
    try:
        usage = answer["usage"]
        found = TokenCount(usage["prompt_tokens"], usage["completion_tokens"])
    except (KeyError, TypeError):
        return None
    possible = all(type(number) is int and 0 <= number < 10**9 for number in found)
    return found if possible else None
