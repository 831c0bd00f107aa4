"""Answers of a server: what they say, and what failed."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from iglu_marl.agents.llm.budget import TokenCount
from iglu_marl.agents.llm.messages import RequestFailure
from iglu_marl.agents.llm.reading import is_unfinished, text_of_calls, text_of_content
from iglu_marl.agents.llm.settings import PREFIX, LLMSettings, explain_cut_thoughts
from iglu_marl.core.text import strip_control

COMPLETIONS = "/chat/completions"
OLLAMA, OLLAMA_CONTEXT = (
    "fp_ollama",
    4096,
)  # its fingerprint, and the context at which it cuts prompts by default
# Parameters without which a request is sent again; `max_tokens` is then called `max_completion_tokens`.
OPTIONAL = ("max_tokens", "top_p", "temperature", "seed", "stream_options")
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

    text: str = ""
    failure: RequestFailure | None = None
    detail: str = ""
    used: TokenCount | None = None
    cut: bool = False
    is_transient: bool = False
    retry_after_s: float = 0.0
    served: str = ""
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


def judge(answer: Answer, settings: LLMSettings, answered: bool, sent: Mapping[str, Any]) -> Attempt:
    """Return the reply in an answer, or its failure by status, error code and headers.

    Args:
        answer: the answer of a server.
        settings: those of the request.
        answered: whether the server has answered before: then a rejection is no fault of the settings.
        sent: the body of the request.

    """
    status, fault = answer.status, _error_of(answer.content)
    if status != 200:
        return _failed(answer, status, fault or {"message": answer.start}, settings, answered, sent)
    if fault is not None:  # an error of the provider: its code is used only if it is transient or 402
        code = fault.get("code")
        status = code if isinstance(code, int) and (code == 402 or _is_passing(code)) else 502
        return _failed(answer, status, fault, settings, answered, sent)
    return _replied(answer, settings, answered)


def _failed(
    answer: Answer,
    status: int,
    fault: Mapping[str, Any],
    settings: LLMSettings,
    answered: bool,
    sent: Mapping[str, Any],
) -> Attempt:
    """Return the failure for a status and an error; texts only refine a rejection."""
    kinds = RequestFailure
    codes, said = {str(fault.get("code")), str(fault.get("type"))}, str(fault.get("message", fault))
    if isinstance(fault.get("code"), str) and fault["code"] not in said:
        said = f"{fault['code']}: {said}"
    said = settings.redact(" ".join(strip_control(said).split()))[:_DETAIL]
    kind, rejected, advice = kinds.REJECTED if answered else kinds.UNSUITABLE, "", ""
    passing = _is_passing(status) or (
        answered and status in (403, 404)
    )  # moderation, or no provider at the moment
    if 300 <= status < 400:
        host = urlsplit(answer.headers.get("Location", "")).hostname or "elsewhere on the same host"
        kind, said = kinds.REDIRECTED, f"to {host}; the key is not sent on. Is the endpoint's address right?"
    elif status == 402 or "insufficient_quota" in codes:
        kind, passing = kinds.NO_CREDIT, False
    elif passing:
        kind = {429: kinds.RATE_LIMITED, 403: kind, 404: kind}.get(status, kinds.SERVER_ERROR)
    elif status in (401, 403):
        kind = kinds.REFUSED
    elif status == 404:
        kind = kinds.NOT_FOUND
        advice = f"Are the model's name and the endpoint's address right (`{COMPLETIONS}` is added)?"
    else:
        found = (one for pattern, one in _REJECTIONS if re.search(pattern, said, re.I))
        if (known := next(found, None)) is None:
            rejected = _named_parameter(fault.get("param"), said, sent)
            advice = _advice_on(rejected)
            rejected = rejected if rejected in OPTIONAL and not _OF_VALUE.search(said) else ""
        kind = known or kind
    if kind is kinds.REFUSED:
        advice = f"The key is expected in {settings.key_variable}"
    elif kind is kinds.TOO_LONG:
        advice = (
            f"Chat and reply (up to {settings.max_reply_tokens} tokens) exceed the context of the server: enlarge it "
            "there, or set context_tokens, for shorter dialogues, or reply_tokens"
        )
    detail = f"{status} {said}" if kind is kinds.REDIRECTED else f"{status}: {said}"
    detail = settings.redact(f"{detail}. {advice}" if advice else detail)
    used = _usage_of(answer.content) if answer.status == 200 else TokenCount()
    wait_s = _requested_wait_s(answer.headers.get("Retry-After"), fault) if passing else 0.0
    return Attempt("", kind, detail, used, is_transient=passing, retry_after_s=wait_s, rejected=rejected)


def _replied(answer: Answer, settings: LLMSettings, answered: bool) -> Attempt:
    """Return the reply in an answer with status 200."""
    kinds, content, used = RequestFailure, answer.content, _usage_of(answer.content)
    if content is None and answer.start.strip() != "null":
        start = settings.redact(strip_control(answer.start[:60]))
        return Attempt(failure=kinds.NOT_JSON, detail=f"it begins with {start!r}")
    try:
        choice = content["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
        text, refusal = (
            text_of_calls(calls) or text_of_content(message.get("content")),
            message.get("refusal"),
        )
    except _SHAPE_ERRORS:
        text = finish = refusal = None
    if text is None:
        return Attempt(failure=kinds.WRONG_SHAPE, detail="expected choices[0].message.content", used=used)
    if finish == "content_filter":
        return Attempt(failure=kinds.FILTERED, detail="by the server", used=used)
    if content.get("system_fingerprint") == OLLAMA and used is not None:
        if sum(used) >= (settings.context_tokens or OLLAMA_CONTEXT):
            detail = (
                f"Ollama cuts without notice what exceeds its context ({OLLAMA_CONTEXT} tokens by default), and this "
                f"chat took {sum(used)}: start it with OLLAMA_CONTEXT_LENGTH=16384, and set context_tokens=16384"
            )
            return Attempt(failure=kinds.TOO_LONG, detail=detail, used=used)
    text, cut = settings.redact(strip_control(text)), finish == "length"
    if cut and is_unfinished(text):
        kind = kinds.THOUGHTS_CUT if answered else kinds.UNSUITABLE
        return Attempt("", kind, explain_cut_thoughts(settings, _reasoning_of(content)), used, cut)
    if text.strip():
        return Attempt(text, used=used, cut=cut, served=settings.redact(_served_by(answer)))
    if refusal and isinstance(refusal, str):
        detail = settings.redact(strip_control(refusal))[:_DETAIL]
        return Attempt(failure=kinds.DECLINED, detail=detail, used=used)
    return Attempt(failure=kinds.EMPTY, detail=f"finish_reason {finish!r:.40}", used=used, cut=cut)


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
    known = [name for name in (*OPTIONAL, "stop", "response_format") if name in sent]
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


def _served_by(answer: Answer) -> str:
    """Return what a server says about itself: the model, its fingerprint, and the software."""
    parts = [
        answer.content.get("model"),
        answer.content.get("system_fingerprint"),
        answer.headers.get("Server"),
    ]
    return ", ".join(strip_control(part)[:60] for part in parts if isinstance(part, str) and part)
