"""OpenAI-compatible endpoints: `POST {base}/chat/completions` with retries, rate limit, budget and cache.

The key is read from its environment variable for each request and goes into one header of that request only. It is
stored in no attribute, redirects are not followed, and a key in an answer is redacted. Failures are values
(`Reply.failure`) without exceptions, since the request in an exception would hold the key.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import numpy as np

from iglu_marl import ConfigError
from iglu_marl.agents.llm.budget import Budget, RateLimit, TokenCount, shared_file
from iglu_marl.agents.llm.cache import ReplyCache
from iglu_marl.agents.llm.messages import ChatRequest, Reply, RequestFailure
from iglu_marl.agents.llm.reading import is_unfinished, text_of_calls, text_of_content
from iglu_marl.agents.llm.settings import LOOPBACK, PREFIX, LLMSettings, explain_cut_thoughts
from iglu_marl.core.extras import extra
from iglu_marl.core.text import strip_control
from iglu_marl.data.packs.cache import cache_folder

PER_MESSAGE, PER_REQUEST = 8, 32  # upper bounds of the tokens that a server adds (names of roles, marks)
COMPLETIONS = "/chat/completions"
_BLOCK = 65_536
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_DETAIL = 200
# Messages of servers that reject a request because of its content or the model's answer.
_TOO_LONG = r"context.(?:length|size|window)|maximum context|prompt is too long|too many tokens"
_REJECTIONS = (
    (re.compile(_TOO_LONG, re.I), RequestFailure.TOO_LONG),
    (re.compile(r"content.?(?:filter|policy|management)|responsible.?ai", re.I), RequestFailure.FILTERED),
    (re.compile(r"json_validate_failed|tool_use_failed"), RequestFailure.INVALID),
)
_log = logging.getLogger(__name__)


class _Attempt(NamedTuple):
    """The outcome of one attempt. used: None if the number of billed tokens is unknown."""

    text: str = ""
    failure: RequestFailure | None = None
    detail: str = ""
    used: TokenCount | None = None
    cut: bool = False
    is_transient: bool = False
    retry_after_s: float = 0.0
    served: str = ""


class EndpointBackend:
    """Send chats to a server, several at once, and repeat requests after transient failures.

    `sleep` and `clock` are replaced in tests.
    """

    def __init__(
        self,
        settings: LLMSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        with extra("endpoint"):
            import requests  # noqa: F401
        if not settings.endpoint:
            raise ConfigError("endpoint is empty, expected the base address of a server")
        self.settings = settings
        self.budget = Budget.of(settings)
        shared = shared_file(settings)  # processes that share it need the same clock
        self._limit = RateLimit(
            settings.requests_per_minute,
            file=f"{shared}.rate" if shared and settings.requests_per_minute else "",
            clock=time.time if shared and clock is time.monotonic else clock,
            sleep=sleep,
        )
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._cache = (
            None if settings.cache == "off" else ReplyCache(settings.cache or cache_folder() / "llm")
        )
        self._sleep, self._clock = sleep, clock
        self._rng = np.random.default_rng()  # for waiting times, which do not affect results
        self._idle: list[Any] = []  # sessions that no thread uses now
        self._in_flight: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()  # by request
        self._answered = False  # whether any request has succeeded
        self._lock = threading.Lock()
        self.check_key()

    def __repr__(self) -> str:
        return f"EndpointBackend({self.settings.model!r} at {self.settings.endpoint!r})"

    @property
    def sees_pictures(self) -> bool:
        """Whether the settings say that the model reads pictures."""
        return self.settings.pictures

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return a reply for each request; several are sent at once."""
        if len(requests) < 2 or self.settings.concurrency == 1:
            return [self._complete_one(request) for request in requests]
        with ThreadPoolExecutor(min(self.settings.concurrency, len(requests))) as pool:
            return list(pool.map(self._complete_one, requests))

    def fits(self, request: ChatRequest) -> bool:
        """Estimate whether the chat fits into the context, at two bytes per token; True if its length is unknown."""
        limit = self.settings.context_tokens
        return not limit or self.tokens_bound(request).prompt // 2 + self.settings.max_reply_tokens <= limit

    def tokens_bound(self, request: ChatRequest) -> TokenCount:
        """Return an upper bound of the tokens of a call: no token of a text is shorter than a byte."""
        prompt = PER_REQUEST
        for message in request.messages:
            prompt += PER_MESSAGE + len(message.text.encode("utf-8"))
            prompt += len(message.pictures) * self.settings.picture_tokens
        return TokenCount(prompt, self.settings.max_reply_tokens)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of tokens, in the unit of the prices."""
        return self.budget.cost(TokenCount(prompt_tokens, completion_tokens))

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            sessions, self._idle = self._idle, []
        for session in sessions:
            session.close()

    def check_key(self) -> str:
        """Return the key, "" for none. Raises `ConfigError`, without the key, if it must not be sent."""
        variable, parts = self.settings.key_variable, urlsplit(self.settings.endpoint)
        key = os.environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise ConfigError(f"the key in {variable} has spaces or characters that are not printable ASCII")
        if key and parts.scheme == "http" and parts.hostname not in LOOPBACK and not self.settings.insecure:
            raise ConfigError(
                f"the key in {variable} would go unencrypted to {parts.hostname}: expected an https address, "
                f"no key, or insecure=True ({PREFIX}INSECURE=1)"
            )
        return key

    def _redact(self, text: str) -> str:
        key = os.environ.get(self.settings.key_variable, "").strip()
        return re.sub(re.escape(key), "[key]", text, flags=re.IGNORECASE) if len(key) >= 4 else text

    def _complete_one(self, request: ChatRequest) -> Reply:
        body = self._body(request)
        asked = {"endpoint": self.settings.endpoint.rstrip("/"), **body}
        if self._cache is None:
            return self._find_or_send(request, body, asked)
        # Single flight: of equal requests in several threads, one is sent, and the others read its cached reply.
        with self._lock:
            lock = self._in_flight.setdefault(self._cache.path_of(asked).stem, threading.Lock())
        with lock:
            return self._find_or_send(request, body, asked)

    def _find_or_send(self, request: ChatRequest, body: dict[str, Any], asked: dict[str, Any]) -> Reply:
        if self._cache is not None and (kept := self._cache.find(asked)) is not None:
            self._answered = True
            return Reply(**{**kept, "text": self._redact(kept["text"])}, cached=True)
        reply = self._send_with_retries(request, json.dumps(body).encode("ascii"))
        if reply.failure is not None:
            _log.warning("%s: %s. %s", self.settings.endpoint, reply.failure, reply.detail)
            return reply
        self._answered = True
        if self._cache is not None:
            used = reply.prompt_tokens, reply.completion_tokens
            self._cache.keep(asked, reply.text, reply.cut, used, reply.served)
        return reply

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        """Return the JSON body of a request, which determines the reply."""
        settings = self.settings
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": [part.as_chat() for part in request.messages],
            settings.limit_field: settings.max_reply_tokens,
            "temperature": settings.temperature,
        }
        if request.schema is not None:
            form = {"name": "reply", "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if settings.temperature:
            body |= {"top_p": settings.top_p, "seed": request.seed}
        if settings.stop:
            body["stop"] = list(settings.stop)
        return {name: value for name, value in {**body, **settings.extra}.items() if value is not None}

    def _send_with_retries(self, request: ChatRequest, body: bytes) -> Reply:
        """Send a request until it is answered or fails finally. Each attempt has its own reservation."""
        most, total = self.tokens_bound(request), TokenCount()
        for number in range(self.settings.retries + 1):
            if self._limit.paused_s > self.settings.max_wait_s:
                asked = f"the server has asked to wait {self._limit.paused_s:.0f} s"  # longer than max_wait_s
                return _reply(_Attempt(failure=RequestFailure.RATE_LIMITED, detail=asked), total, number)
            if not self.budget.reserve(most):
                spent = self.budget.spent
                detail = f"{sum(spent)} tokens are spent, and this call may take up to {sum(most)}"
                return _reply(_Attempt(failure=RequestFailure.OVER_BUDGET, detail=detail), total, number)
            used = most
            try:
                self._limit.wait()
                with self._slots:
                    attempt = self._send_once(body)
                used = most if attempt.used is None else attempt.used
            finally:
                self.budget.settle(most, used)
            total = total.plus(used)
            if attempt.retry_after_s:
                self._limit.hold(attempt.retry_after_s)  # for all
            if not attempt.is_transient or number == self.settings.retries:
                return _reply(attempt, total, number + 1)
            if not attempt.retry_after_s:
                wait_s = self.settings.backoff_s * 2**number * float(self._rng.uniform(0.5, 1.5))
                self._sleep(min(wait_s, self.settings.max_wait_s))
        raise AssertionError

    def _send_once(self, body: bytes) -> _Attempt:
        """Send a request once. Network errors are returned as failures."""
        import requests
        import urllib3

        settings, key = self.settings, self.check_key()
        form = "application/json"
        headers = {"Content-Type": form, "Accept": form, "Accept-Encoding": "identity"}
        deadline = self._clock() + settings.timeout_s
        try:
            with (
                self._session() as session,
                session.post(
                    f"{settings.endpoint.rstrip('/')}{COMPLETIONS}",
                    data=body,
                    headers=headers,
                    auth=_Bearer(key),  # an auth object, since .netrc would replace a header
                    timeout=(settings.connect_timeout_s, settings.timeout_s),
                    allow_redirects=False,
                    stream=True,
                ) as response,
            ):
                content = self._receive(response, deadline)
                if isinstance(content, _Attempt):
                    return content
                return self._classify(int(response.status_code), response.headers, content)
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            return _network_failure(error)

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """Lend a session that no other thread uses."""
        import requests

        with self._lock:
            session = self._idle.pop() if self._idle else requests.Session()
        try:
            yield session
        finally:
            with self._lock:
                self._idle.append(session)

    def _receive(self, response: Any, deadline: float) -> bytes | _Attempt:
        """Read the body of an answer, up to the limits of size and time."""
        content = bytearray()
        while block := response.raw.read1(_BLOCK, decode_content=True):
            content += block
            if len(content) > self.settings.reply_bytes:
                detail = f"more than {self.settings.reply_bytes:,} bytes"
                return _Attempt(failure=RequestFailure.TOO_LARGE, detail=detail)
            if self._clock() > deadline:
                detail = f"not whole after {self.settings.timeout_s:g} s"
                return _Attempt(failure=RequestFailure.TIMEOUT, detail=detail, is_transient=True)
        return bytes(content)

    def _classify(self, status: int, headers: Mapping[str, str], content: bytes) -> _Attempt:
        """Classify an answer by status, error code and headers; error texts only refine a rejection."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        fault, used = _error_of(answer), _usage(answer) if status == 200 else TokenCount()
        if status == 200:
            if fault is None:
                served = self._redact(_served(answer, headers))
                return _Attempt(*self._read_answer(answer, content)[:-1], served)
            # Status 200 with an error of the provider. Its code is used only if it is transient or 402.
            status = fault["code"] if fault.get("code") in (402, *_TRANSIENT) else 502
        fault = fault or {"message": content[:2000].decode("utf-8", "replace")}
        codes, said = {str(fault.get("code")), str(fault.get("type"))}, str(fault.get("message", fault))
        if isinstance(fault.get("code"), str) and fault["code"] not in said:
            said = f"{fault['code']}: {said}"
        said = self._redact(" ".join(strip_control(said).split()))[:_DETAIL]
        # Before the first success a rejection is blamed on the settings, later on the request.
        kind = RequestFailure.REJECTED if self._answered else RequestFailure.UNSUITABLE
        detail, passing = f"{status}: {said}", False
        if 300 <= status < 400:
            host = urlsplit(headers.get("Location", "")).hostname or "elsewhere on the same host"
            kind = RequestFailure.REDIRECTED
            detail = f"{status} to {host}; the key is not sent on. Is the endpoint's address right?"
        elif status == 402 or "insufficient_quota" in codes:
            kind = RequestFailure.NO_CREDIT
        elif status == 429:
            kind, passing = RequestFailure.RATE_LIMITED, True
        elif status in _TRANSIENT or (status >= 500 and status not in (501, 505)):
            kind, passing = RequestFailure.SERVER_ERROR, True
        elif status in (403, 404) and self._answered:
            passing = True  # moderation of this request, or no provider at the moment
        elif status in (401, 403):
            kind = RequestFailure.REFUSED
            detail += f". The key is expected in {self.settings.key_variable}"
        elif status == 404:
            kind = RequestFailure.NOT_FOUND
            detail += f". Are the model's name and the endpoint's address right (`{COMPLETIONS}` is added)?"
        else:
            kind = next((one for pattern, one in _REJECTIONS if pattern.search(said)), kind)
            detail += _suggest_setting(fault.get("param"), said, self.settings.limit_field)
        wait_s = _requested_wait_s(headers.get("Retry-After"), fault) if passing else 0.0
        return _Attempt("", kind, self._redact(detail), used, is_transient=passing, retry_after_s=wait_s)

    def _read_answer(self, answer: Any, content: bytes) -> _Attempt:
        """Return the reply in an answer with status 200. content: the raw answer."""
        if answer is None and content.strip() != b"null":
            start = self._redact(strip_control(content[:60].decode("utf-8", "replace")))
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
        text, cut = self._redact(strip_control(text)), finish == "length"
        if cut and is_unfinished(text):
            kind = RequestFailure.THOUGHTS_CUT if self._answered else RequestFailure.UNSUITABLE
            return _Attempt("", kind, explain_cut_thoughts(self.settings, _reasoning_of(answer)), used, cut)
        if text.strip():
            return _Attempt(text, used=used, cut=cut)
        if refusal and isinstance(refusal, str):
            detail = self._redact(strip_control(refusal))[:_DETAIL]
            return _Attempt(failure=RequestFailure.DECLINED, detail=detail, used=used)
        detail = f"finish_reason {finish!r:.40}"
        return _Attempt(failure=RequestFailure.EMPTY, detail=detail, used=used, cut=cut)


class _Bearer:
    """Put the key into the Authorization header."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: Any) -> Any:
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request

    def __repr__(self) -> str:
        return "_Bearer()"


def _reply(attempt: _Attempt, total: TokenCount, sent: int) -> Reply:
    return Reply(
        attempt.text,
        attempt.failure,
        attempt.detail,
        *total,
        sent=sent,
        cut=attempt.cut,
        served=attempt.served,
    )


def _network_failure(error: Exception) -> _Attempt:
    """Return the failure for a connection error. Only a connection that was never made costs nothing."""
    import requests
    import urllib3

    known = requests.exceptions
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    is_new = isinstance(error, known.ConnectionError) and isinstance(
        reason, urllib3.exceptions.NewConnectionError
    )
    name = type(reason if is_new else error).__name__
    if is_new or isinstance(error, (known.ConnectTimeout, known.SSLError)):
        passing = not isinstance(error, known.SSLError)
        return _Attempt("", RequestFailure.UNREACHABLE, name, TokenCount(), is_transient=passing)
    late = isinstance(error, (known.Timeout, urllib3.exceptions.TimeoutError, TimeoutError))
    return _Attempt(
        "", RequestFailure.TIMEOUT if late else RequestFailure.BROKEN_OFF, name, is_transient=True
    )


def _requested_wait_s(header: str | None, fault: Mapping[str, Any]) -> float:
    """Return the seconds that Retry-After (a number or a date) or `retryDelay` asks for; 0 if absent."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    details = fault["details"] if isinstance(fault.get("details"), list) else []
    asked = header or next((str(part["retryDelay"]) for part in details if "retryDelay" in part), "")
    try:
        if seconds := re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)s?\s*", asked):
            return float(seconds[1])
        return max(0.0, float(Retry().parse_retry_after(asked[:100]))) if asked else 0.0
    except (InvalidHeader, ValueError, OverflowError):
        return 0.0


def _suggest_setting(named: Any, said: str, limit_field: str) -> str:
    """Return advice on the setting for a field that the server rejects by name, "" if it names none."""
    for name in (limit_field, "temperature", "top_p", "seed", "stop", "response_format"):
        if name == named or re.search(rf"\b{re.escape(name)}\b", said):
            if name == limit_field:
                return f". What the server calls {name} is the setting limit_field"
            return f""". extra={{"{name}": None}}, {PREFIX}EXTRA='{{"{name}": null}}', leaves it out"""
    return ""


def _error_of(answer: Any) -> dict[str, Any] | None:
    """Return the error in an answer or in its first choice, None if there is none."""
    try:
        whole = answer[0] if isinstance(answer, list) else answer
        choice = (whole.get("choices") or [{}])[0]
        fault = whole.get("error") or choice.get("error")
        fault = fault or (choice.get("finish_reason") == "error" and "finish_reason 'error'")
    except (AttributeError, LookupError, TypeError):
        return None
    return fault if isinstance(fault, dict) else {"message": str(fault)} if fault else None


def _reasoning_of(answer: Any) -> int | None:
    try:
        return int(answer["usage"]["completion_tokens_details"]["reasoning_tokens"])
    except (KeyError, TypeError, ValueError):
        return None


def _served(answer: Any, headers: Mapping[str, str]) -> str:
    """Return what a server says about itself: the model, its fingerprint, and the software."""
    about = answer if isinstance(answer, dict) else {}
    parts = [about.get("model"), about.get("system_fingerprint"), headers.get("Server")]
    return ", ".join(strip_control(part)[:60] for part in parts if isinstance(part, str) and part)


def _usage(answer: Any) -> TokenCount | None:
    """Return the token counts that a server reports, None if they are missing or impossible."""
    try:
        usage = answer["usage"]
        found = TokenCount(usage["prompt_tokens"], usage["completion_tokens"])
    except (KeyError, TypeError):
        return None
    possible = all(type(number) is int and 0 <= number < 10**9 for number in found)
    return found if possible else None
