"""Answers of a server: what they say, and what failed."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from iglu_marl.agents.llm.budget import TokenCount
from iglu_marl.agents.llm.messages import Reply, RequestFailure
from iglu_marl.agents.llm.reading import is_unfinished, text_of_calls, text_of_content
from iglu_marl.agents.llm.settings import PREFIX, LLMSettings, explain_cut_thoughts
from iglu_marl.core.text import strip_control

COMPLETIONS = "/chat/completions"
# The fingerprint of Ollama, and the context at which it cuts prompts by default.
OLLAMA, OLLAMA_CONTEXT = "fp_ollama", 4096
# Parameters without which a request is sent again; `max_tokens` is then called `max_completion_tokens`.
OPTIONAL = ("max_tokens", "temperature", "seed", "stream_options")
_OF_VALUE = re.compile(r"\b(?:range|between|must be|at (?:most|least)|(?:less|greater) than)\b", re.I)
# Messages of servers that reject a request because of its length, its content, the model's answer or the key.
_REJECTIONS = (
    (r"context.(?:length|size|window)|maximum context|prompt is too long|too many tokens", RequestFailure.TOO_LONG),
    (r"content.?(?:filter|policy|management)|responsible.?ai", RequestFailure.FILTERED),
    (r"json_validate_failed|tool_use_failed", RequestFailure.INVALID),
    (
        r"\b(?:invalid|incorrect|wrong|missing|expired|no)[ _](?:\w+ )?(?:x-)?api.?key"
        r"|api.?key.{0,20}(?:invalid|not valid|incorrect|missing|expired|required|not found)",
        RequestFailure.REFUSED,
    ),
)  # fmt: skip
_DETAIL = 200
_SHAPE_ERRORS = (KeyError, IndexError, TypeError, AttributeError)


class Answer(NamedTuple):
    """An answer of a server. content: its JSON, None if it is not JSON. start: the beginning of its text."""

    status: int
    headers: Mapping[str, str]
    content: Any
    start: str = ""

    @classmethod
    def of_bytes(cls, status: int, headers: Mapping[str, str], content: bytes) -> Answer:
        """Read an answer that was not streamed."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        return cls(status, headers, answer, content[:2000].decode("utf-8", "replace"))


class Attempt(NamedTuple):
    """The outcome of one attempt.

    used: None if the number of billed tokens is unknown. rejected: the optional parameter that the server rejects.
    """

    reply: Reply
    used: TokenCount | None = None
    is_transient: bool = False
    retry_after_s: float = 0.0
    rejected: str = ""


def add_chunk(whole: dict[str, Any], chunk: Any) -> None:
    """Add a chunk of a stream to the answer so far, which has the form of one that is not streamed.

    Raises `KeyError`, `IndexError`, `TypeError` or `AttributeError` for a chunk of another form.
    """
    whole |= {
        name: chunk[name] for name in ("usage", "model", "system_fingerprint", "error") if chunk.get(name)
    }
    for part in chunk.get("choices") or ():
        if part.get("index"):  # the first one counts
            continue
        choice = whole.setdefault("choices", [{"message": {}}])[0]
        choice |= {name: part[name] for name in ("finish_reason", "error") if part.get(name)}
        message, delta = choice["message"], part.get("delta") or {}
        for name in ("content", "refusal"):
            message[name] = message.get(name, "") + text_of_content(delta.get(name))
        for call in delta.get("tool_calls") or ():
            calls, index = message.setdefault("tool_calls", {}), call.get("index")
            index = len(calls) if index is None else index  # a server without indices sends each call whole
            function = calls.setdefault(index, {"function": {"arguments": ""}})["function"]
            function["arguments"] += call["function"].get("arguments") or ""
            function["name"] = function.get("name") or call["function"].get("name")


def whole_answer(whole: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer of a stream that has ended, None if it broke off."""
    choice = (whole.get("choices") or [{}])[0]
    if not (whole.get("error") or choice.get("finish_reason") or choice.get("error")):
        return None
    if calls := choice.get("message", {}).get("tool_calls"):
        choice["message"]["tool_calls"] = list(calls.values())
    return whole


@dataclass(frozen=True)
class Judge:
    """Read answers of a server. answered: whether it has answered: then a rejection is no fault of the settings."""

    settings: LLMSettings
    answered: bool

    def attempt(self, answer: Answer, sent: Mapping[str, Any]) -> Attempt:
        """Return the reply in an answer, or its failure by status, error code and headers. sent: the request."""
        status, fault = answer.status, _error_of(answer.content)
        if status == 200:
            used = _usage_of(answer.content)
            if fault is None:
                return Attempt(self._reply(answer, used), used)
            # An error of the provider: its code is used only if it is transient or 402.
            code = fault.get("code")
            status = code if isinstance(code, int) and (code == 402 or _is_passing(code)) else 502
            return self._failure(answer, status, fault, sent)._replace(used=used)
        return self._failure(answer, status, fault or {"message": answer.start}, sent)

    def _failure(
        self, answer: Answer, status: int, fault: Mapping[str, Any], sent: Mapping[str, Any]
    ) -> Attempt:
        """Return the failure for a status and an error; texts only refine a rejection."""
        kinds, settings, answered = RequestFailure, self.settings, self.answered
        codes, said = {str(fault.get("code")), str(fault.get("type"))}, str(fault.get("message", fault))
        if isinstance(fault.get("code"), str) and fault["code"] not in said:
            said = f"{fault['code']}: {said}"
        said = self._clean(" ".join(said.split()))
        kind, rejected, advice = kinds.REJECTED if answered else kinds.UNSUITABLE, "", ""
        # Among others that were answered: moderation, or no provider at the moment.
        passing = _is_passing(status) or (answered and status in (403, 404))
        if 300 <= status < 400:
            host = urlsplit(answer.headers.get("Location", "")).hostname or "elsewhere on the same host"
            kind, said = kinds.REDIRECTED, self._clean(f"to {host}")
            advice = "The key is not sent on. Is the endpoint's address right?"
        elif status == 402 or "insufficient_quota" in codes:
            kind, passing = kinds.NO_CREDIT, False
        elif passing:
            kind = {429: kinds.RATE_LIMITED, 403: kind, 404: kind}.get(status, kinds.SERVER_ERROR)
        elif status in (401, 403):
            kind = kinds.REFUSED
        elif status == 404:
            kind = kinds.NOT_FOUND
            advice = f"Are the model's name and the endpoint's address right (`{COMPLETIONS}` is added)?"
        elif known := [one for pattern, one in _REJECTIONS if re.search(pattern, said, re.I)]:
            kind = known[0]
        else:
            named = _named_parameter(fault.get("param"), said, sent)
            advice = _advice_on(named)
            rejected = named if named in OPTIONAL and not _OF_VALUE.search(said) else ""
        if kind is kinds.REFUSED:
            advice = f"The key is expected in {settings.key_variable}"
        elif kind is kinds.TOO_LONG:
            advice = (
                f"Chat and reply (up to {settings.max_reply_tokens} tokens) exceed the context of the server: enlarge "
                "it there, or set context_tokens, for shorter dialogues, or reply_tokens"
            )
        detail = f"{status}: {said}. {advice}" if advice else f"{status}: {said}"
        wait_s = _requested_wait_s(answer.headers.get("Retry-After"), fault) if passing else 0.0
        return Attempt(Reply("", kind, detail), TokenCount(), passing, wait_s, rejected)

    def _reply(self, answer: Answer, used: TokenCount | None) -> Reply:
        """Return the reply in an answer without an error."""
        kinds, content = RequestFailure, answer.content
        try:
            choice = content["choices"][0]
            message, finish = choice["message"], choice.get("finish_reason")
            calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
            text = text_of_calls(calls) or text_of_content(message.get("content"))
            refusal = message.get("refusal")
        except _SHAPE_ERRORS:
            text = finish = refusal = None
        if text is None:
            begin = f"; it begins with {self._clean(answer.start[:60])!r}" if answer.start else ""
            return Reply("", kinds.WRONG_SHAPE, f"no choices[0].message.content{begin}")
        if finish == "content_filter":
            return Reply("", kinds.FILTERED, "by the server")
        context = self.settings.context_tokens or OLLAMA_CONTEXT
        if content.get("system_fingerprint") == OLLAMA and used is not None and sum(used) >= context:
            detail = (
                f"Ollama cuts without notice what exceeds its context ({OLLAMA_CONTEXT} tokens by default), and this "
                f"chat took {sum(used)}: start it with OLLAMA_CONTEXT_LENGTH=16384, and set context_tokens=16384"
            )
            return Reply("", kinds.TOO_LONG, detail)
        text, cut = self.settings.redact(strip_control(text)), finish == "length"
        if cut and is_unfinished(text):
            kind = kinds.THOUGHTS_CUT if self.answered else kinds.UNSUITABLE
            return Reply("", kind, explain_cut_thoughts(self.settings, _reasoning_of(content)), cut=cut)
        if text.strip():
            return Reply(text, cut=cut)
        if refusal and isinstance(refusal, str):
            return Reply("", kinds.DECLINED, self._clean(refusal))
        return Reply("", kinds.EMPTY, f"finish_reason {finish!r:.40}", cut=cut)

    def _clean(self, text: str) -> str:
        return self.settings.redact(strip_control(text))[:_DETAIL]


def _is_passing(status: int) -> bool:
    """Return whether the same request may succeed later."""
    return status in (408, 409, 425, 429) or (500 <= status < 600 and status not in (501, 505))


def _requested_wait_s(header: str | None, fault: Mapping[str, Any]) -> float:
    """Return the seconds that Retry-After (a number or a date) or `retryDelay` asks for; 0 if absent."""
    details = fault["details"] if isinstance(fault.get("details"), list) else []
    asked = header or next((str(part["retryDelay"]) for part in details if "retryDelay" in part), "")
    if seconds := re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)s?\s*", asked):
        return float(seconds[1])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(asked[:100]).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, IndexError):
        return 0.0


def _named_parameter(param: Any, said: str, sent: Mapping[str, Any]) -> str:
    """Return the parameter of a request that the server rejects by name, "" if it names none."""
    known = [name for name in (*OPTIONAL, "top_p", "stop", "response_format") if name in sent]
    named = (name for name in known if re.search(rf"\b{re.escape(name)}\b", said))
    return str(param) if param in known else next(named, "")


def _advice_on(name: str) -> str:
    """Return advice on the setting for a parameter that the server rejects."""
    if name == "max_tokens":
        return "Its value is that of the settings reply_tokens and reasoning_tokens"
    return f"""extra={{"{name}": None}}, {PREFIX}EXTRA='{{"{name}": null}}', leaves it out""" if name else ""


def _error_of(answer: Any) -> dict[str, Any] | None:
    """Return the error in an answer or in its first choice, None if there is none."""
    try:
        whole = answer[0] if isinstance(answer, list) else answer
        choice = (whole.get("choices") or [{}])[0]
        fault = whole.get("error") or choice.get("error")
        fault = fault or (choice.get("finish_reason") == "error" and "finish_reason 'error'")
    except _SHAPE_ERRORS:
        return None
    return fault if isinstance(fault, dict) else {"message": str(fault)} if fault else None


def _usage_of(answer: Any) -> TokenCount | None:
    """Return the token counts that a server reports, None if they are missing or impossible."""
    try:
        usage = answer["usage"]
        count = TokenCount(usage["prompt_tokens"], usage["completion_tokens"])
    except (KeyError, TypeError):
        return None
    possible = all(type(number) is int and 0 <= number < 10**9 for number in count)
    return count if possible else None


def _reasoning_of(answer: Any) -> int | None:
    try:
        return int(answer["usage"]["completion_tokens_details"]["reasoning_tokens"])
    except (KeyError, TypeError, ValueError):
        return None
