"""OpenAI-compatible endpoints, by the client of the package `openai`, with a budget and a cache.

The key is read from its environment variable for each request and goes into one header of that request only. It is
stored in no attribute, redirects are not followed, and a key in an answer is redacted. Failures are values
(`Reply.failure`) without exceptions, since the request in an exception would hold the key.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from iglu_marl import ConfigError
from iglu_marl.agents.llm.answers import COMPLETIONS, Answer, Attempt, Judge, add_chunk, whole_answer
from iglu_marl.agents.llm.budget import Budget, TokenCount
from iglu_marl.agents.llm.cache import ReplyCache
from iglu_marl.agents.llm.messages import ChatRequest, Reply, RequestFailure
from iglu_marl.agents.llm.settings import PREFIX, LLMSettings
from iglu_marl.core.extras import extra
from iglu_marl.data.packs.cache import cache_folder

PER_MESSAGE, PER_REQUEST = 8, 32  # upper bounds of the tokens that a server adds (names of roles, marks)
CONNECT_TIMEOUT_S = 10.0
BACKOFF_S = 1.0  # before the first retry; doubles each time, ± 50 %
MAX_WAIT_S = 60.0  # if a server asks for more, the request fails
PICTURE_TOKENS = 2000  # upper bound of the tokens of a picture
MAX_BYTES = 4_000_000  # of an answer
_log = logging.getLogger(__name__)
_starting = threading.Lock()


class _TooLarge(Exception):
    """An answer has more than `MAX_BYTES`."""


class EndpointBackend:
    """Send chats to a server, and repeat requests after transient failures. `sleep` is replaced in tests."""

    def __init__(self, settings: LLMSettings, *, sleep: Callable[[float], None] = time.sleep) -> None:
        with extra("endpoint"):
            import openai
        if not settings.endpoint:
            raise ConfigError("endpoint is empty, expected the base address of a server")
        self.settings, self.sees_pictures = settings, settings.pictures
        self.budget = Budget(settings)
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._cache = (
            None if settings.cache == "off" else ReplyCache(settings.cache or cache_folder() / "llm")
        )
        self._sleep = sleep
        self._rng = np.random.default_rng()  # for waiting times, which do not affect results
        self._answered = False  # whether any request has succeeded
        self._left_out: frozenset[str] = frozenset()  # optional parameters that the server rejects
        settings.request_headers()  # raises if the key must not be sent
        self._client = openai.AsyncOpenAI(
            api_key="none",
            base_url=settings.base_url,
            default_query=settings.query,
            max_retries=0,
            timeout=openai.Timeout(settings.timeout_s, connect=CONNECT_TIMEOUT_S),
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={"response": [_limit_size]}
            ),
        )

    def __repr__(self) -> str:
        return f"EndpointBackend({self.settings.model!r} at {self.settings.endpoint!r})"

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return a reply for each request. Several threads may call it at once."""
        return [self._complete_one(request) for request in requests]

    def fits(self, request: ChatRequest) -> bool:
        """Estimate whether the chat fits into the context, at two bytes per token; True if its length is unknown."""
        limit = self.settings.context_tokens
        return not limit or self.tokens_bound(request).prompt // 2 + self.settings.max_reply_tokens <= limit

    def tokens_bound(self, request: ChatRequest) -> TokenCount:
        """Return an upper bound of the tokens of a call: no token of a text is shorter than a byte."""
        prompt = PER_REQUEST
        for message in request.messages:
            prompt += PER_MESSAGE + len(message.text.encode("utf-8"))
            prompt += len(message.pictures) * PICTURE_TOKENS
        return TokenCount(prompt, self.settings.max_reply_tokens)

    def close(self) -> None:
        """Close the connections. Nothing more can be sent."""
        asyncio.run_coroutine_threadsafe(self._client.close(), _event_loop())

    def _complete_one(self, request: ChatRequest) -> Reply:
        body = self._body(request)
        asked = {"endpoint": self.settings.endpoint.rstrip("/"), **body}
        if self.settings.headers:
            asked["headers"] = self.settings.headers
        if self._cache is not None and (reply := self._cache.find(asked)) is not None:
            self._answered = True
            return dataclasses.replace(reply, text=self.settings.redact(reply.text))
        reply = self._send_with_retries(request, body)
        if reply.failure is not None:
            _log.warning("%s: %s. %s", self.settings.endpoint, reply.failure, reply.detail)
            return reply
        self._answered = True
        if self._cache is not None:
            self._cache.keep(asked, reply)
        return reply

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        """Return the JSON body of a request, which determines the reply."""
        settings = self.settings
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": [part.as_chat() for part in request.messages],
            "max_tokens": settings.max_reply_tokens,
            "temperature": settings.temperature,
        }
        if request.schema is not None:
            form = {"name": "reply", "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if settings.temperature:
            body["seed"] = request.seed
        return {name: value for name, value in {**body, **settings.extra}.items() if value is not None}

    def _send_with_retries(self, request: ChatRequest, body: dict[str, Any]) -> Reply:
        """Send a request until it is answered or fails. Each attempt has its own reservation."""
        most, total, sent, retries = self.tokens_bound(request), TokenCount(), 0, 0
        left_out = self._left_out
        while True:
            if not self.budget.reserve(most):
                spent, cost = self.budget.spent, self.settings.cost
                detail = f"{sum(spent)} tokens are spent, and this call may take up to {sum(most)}"
                if self.settings.max_cost:
                    detail += (
                        f"; that is {cost(*spent):.4g} and {cost(*most):.4g}, of {self.settings.max_cost:g}"
                    )
                return Reply("", RequestFailure.OVER_BUDGET, detail, *total, sent=sent)
            used = most
            try:
                with self._slots:
                    attempt = self._send_once(_without(body, left_out))
                used = most if attempt.used is None else attempt.used
            finally:
                self.budget.settle(most, used)
            total, sent = total.plus(used), sent + 1
            if attempt.rejected:
                left_out |= {attempt.rejected}
                continue
            if attempt.reply.failure is None:
                self._left_out = left_out
            backoff_s = min(BACKOFF_S * 2**retries * float(self._rng.uniform(0.5, 1.5)), MAX_WAIT_S)
            wait_s = attempt.retry_after_s or backoff_s
            may_pass = attempt.is_transient and retries < self.settings.retries and wait_s <= MAX_WAIT_S
            if not may_pass or self._client.is_closed():
                named = tuple(sorted(left_out & set(body) - {"max_tokens"}))
                prompt, completion = total
                counts: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
                return dataclasses.replace(attempt.reply, **counts, sent=sent, left_out=named)
            self._sleep(wait_s)
            retries += 1

    def _send_once(self, body: dict[str, Any]) -> Attempt:
        """Send a request once. Errors of the connection are returned as failures."""
        work = self._exchange(body, self.settings.request_headers())
        try:
            limited = asyncio.wait_for(work, self.settings.timeout_s)
            answer = asyncio.run_coroutine_threadsafe(limited, _event_loop()).result()
        except Exception as error:  # of any kind that a server can cause
            return _failure_of(error, self.settings.timeout_s)
        return Judge(self.settings, self._answered).attempt(answer, body)

    async def _exchange(self, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        """Send a request, and return the answer, which some servers do not stream."""
        import openai

        unset = dict.fromkeys(("Authorization", "OpenAI-Organization", "OpenAI-Project"), openai.Omit())
        try:
            stream: Any = await self._client.post(
                COMPLETIONS,
                body={**body, "stream": True},
                cast_to=object,
                stream=True,
                stream_cls=openai.AsyncStream[object],
                options={"headers": {**unset, **headers}},
            )
        except openai.APIStatusError as error:
            return Answer.of_bytes(error.status_code, error.response.headers, error.response.content)
        response = stream.response
        if "text/event-stream" not in response.headers.get("Content-Type", ""):
            return Answer.of_bytes(response.status_code, response.headers, await response.aread())
        whole: dict[str, Any] = {}
        try:
            async for chunk in stream:
                add_chunk(whole, chunk)
        except openai.APIConnectionError:
            raise
        except openai.APIError as error:  # an error object in place of a chunk
            whole = {"error": error.body}
        if (answer := whole_answer(whole)) is None:
            raise ConnectionError("the stream ended without finish_reason")
        return Answer(response.status_code, response.headers, answer)


def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all clients of this process; it runs in a thread of its own."""
    with _starting:
        return _started_loop()


@lru_cache(maxsize=1)
def _started_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


async def _limit_size(response: Any) -> None:
    """Make a response raise `_TooLarge` where its body, uncompressed, exceeds `MAX_BYTES`."""
    read = response.aiter_bytes

    async def limited(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        size = 0
        async for block in read(chunk_size):
            size += len(block)
            if size > MAX_BYTES:
                raise _TooLarge
            yield block

    response.aiter_bytes = limited


def _without(body: Mapping[str, Any], left_out: frozenset[str]) -> dict[str, Any]:
    """Return the body to send, with the parameters that the server accepts."""
    sent = {**body, "stream_options": {"include_usage": True}}
    if "max_tokens" in left_out:
        sent["max_completion_tokens"] = body["max_tokens"]
    return {name: value for name, value in sent.items() if name not in left_out}


def _failure_of(error: Exception, timeout_s: float) -> Attempt:
    """Return the failure for an error of the connection. Only a connection that was never made costs nothing."""
    import openai

    kinds, causes = RequestFailure, [error]
    while isinstance(cause := causes[-1].__cause__ or causes[-1].__context__, Exception):
        causes.append(cause)
    names = [type(cause).__name__ for cause in causes]
    name = names[min(1, len(names) - 1)]
    if {"ConnectError", "ConnectTimeout", "ProxyError"} & {*names}:
        passing = not any(isinstance(cause, ssl.SSLError) for cause in causes)
        return Attempt(Reply("", kinds.UNREACHABLE, name), TokenCount(), is_transient=passing)
    if isinstance(error, _TooLarge):
        return Attempt(Reply("", kinds.TOO_LARGE, f"more than {MAX_BYTES:,} bytes"))
    if isinstance(error, (asyncio.TimeoutError, TimeoutError, openai.APITimeoutError)):
        detail = (
            f"no whole answer after {timeout_s:g} s. It may be paid, so it is not requested again: a model that thinks "
            f"needs a longer timeout_s ({PREFIX}TIMEOUT_S)"
        )
        return Attempt(Reply("", kinds.TIMEOUT, detail))
    if isinstance(error, (ValueError, RecursionError, TypeError, AttributeError, LookupError)):
        return Attempt(Reply("", kinds.WRONG_SHAPE, "expected choices[0].delta.content in the stream"))
    return Attempt(Reply("", kinds.BROKEN_OFF, name), is_transient=True)
