"""One imitation of each kind of server: what it rejects, how it streams, and how it fails."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_server import LLMServer, Misbehaviour, events, llm_server

from iglu_marl import ConfigError
from iglu_marl.agents.llm import ChatRequest, LLMSettings, Reply, RequestFailure, endpoint
from iglu_marl.agents.llm.endpoint import EndpointBackend
from iglu_marl.agents.llm.messages import Message

KEY = "sk-Tr0ub4dor"
HELLO = ChatRequest((Message("system", "You are a test."), Message("user", "Say hello.")))
Rule = Callable[[dict[str, Any], dict[str, str], str], "Misbehaviour | None"]


def fails(status: int, text: str, **more: Any) -> Misbehaviour:
    return Misbehaviour(status, body=json.dumps({"error": {"message": text, **more}}).encode())


def says(*chunks: Any) -> Misbehaviour:
    """A stream of these events."""
    return Misbehaviour(headers={"Content-Type": "text/event-stream"}, body=events(*chunks))


def part(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of a stream."""
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}
DONE = part(None, "stop", **USAGE)
HI = part({"role": "assistant", "content": "Hello there."})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    monkeypatch.setenv("IGLU_MARL_LLM_KEY", KEY)
    monkeypatch.setattr(endpoint, "BACKOFF_S", 0.001)
    with llm_server(lambda messages: "Hello there.") as running:
        yield running


def ask(server: LLMServer, *, count: int = 1, path: str = "", **more: Any) -> Reply:
    """The last of several replies."""
    settings = {"model": "m", "endpoint": server.url + path, "cache": "off", "retries": 1, **more}
    backend = EndpointBackend(LLMSettings(**settings))
    replies = [backend.complete([HELLO])[0] for _ in range(count)]
    backend.close()
    return replies[-1]


def gpt5(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    """No temperature, no max_tokens, no stop."""
    for name in ("max_tokens", "temperature", "stop"):
        if name in body:
            return fails(
                400, f"Unsupported parameter: '{name}' is not supported with this model.", param=name
            )
    return None


def o_series(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    """No sampling; the message alone names the parameter, and the thoughts come as a number only."""
    for name in ("max_tokens", "temperature", "seed"):
        if name in body:
            return fails(400, f"Unsupported value: '{name}' does not support 0.7 with this model.")
    usage = {**USAGE["usage"], "completion_tokens_details": {"reasoning_tokens": 40}}
    return says(
        part({"role": "assistant", "content": "", "refusal": None}),
        HI,
        part(None, "stop"),
        {"choices": [], "usage": usage},
    )


def azure(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    """Its own header and query; the first chunk has no choice."""
    if not path.endswith("/openai/deployments/d/chat/completions?api-version=2024-10-21"):
        return fails(404, "Resource not found", code="404")
    if head.get("Api-Key") != KEY or "Authorization" in head:
        return fails(401, "Access denied due to invalid subscription key", code="401")
    return says({"choices": [], "prompt_filter_results": []}, HI, DONE)


def gemini(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    """Errors in a list, no seed; each tool call whole and without an index."""
    if "seed" in body:
        about = {
            "code": 400,
            "message": 'Invalid JSON payload received. Unknown name "seed"',
            "status": "INVALID_ARGUMENT",
        }
        return Misbehaviour(400, body=json.dumps([{"error": about}]).encode())
    call = {"id": "", "type": "function", "function": {"name": "build", "arguments": '"Hello there."'}}
    return says(part({"tool_calls": [call]}), DONE)


def openrouter(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    """Comments, thoughts, headers of its own, and an error of a provider in the middle of the first stream."""
    if head.get("X-Title") != "IGLU MARL":
        return fails(400, "X-Title is missing")
    if openrouter.calls == 0:  # type: ignore[attr-defined]
        openrouter.calls = 1  # type: ignore[attr-defined]
        return says(
            ": OPENROUTER PROCESSING", part({"content": "Hel"}), {"error": {"code": 502, "message": "Gone"}}
        )
    return says(": OPENROUTER PROCESSING", part({"content": "", "reasoning": "Well"}), HI, DONE)


def vllm(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    """Tool calls in pieces; the usage in a chunk of its own."""
    pieces = [
        {"index": 0, "function": {"name": "build", "arguments": '"Hello'}},
        {"index": 0, "function": {"arguments": ' there."'}},
    ]
    return says(
        *(part({"tool_calls": [piece]}) for piece in pieces),
        part(None, "tool_calls"),
        {"choices": [], **USAGE},
    )


def llama_cpp(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    """No stream options."""
    return fails(400, "stream_options: unknown field") if "stream_options" in body else None


def ollama(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    return says({**HI, "system_fingerprint": "fp_ollama"}, DONE)


def proxy(body: dict[str, Any], head: dict[str, str], path: str) -> Misbehaviour | None:
    """A header with a secret; it streams nothing."""
    return Misbehaviour(at_once=True) if head.get("X-Proxy-Key") == "pk-1234" else fails(401, "Who are you?")


AZURE = {"path": "/openai/deployments/d?api-version=2024-10-21"}
SAMPLED = {"temperature": 0.7}
SERVERS: dict[str, tuple[Rule, dict[str, Any], tuple[str, ...]]] = {  # settings, and what is left out
    "gpt-5": (gpt5, {}, ("temperature",)),
    "o-series": (o_series, SAMPLED, ("seed", "temperature")),
    "azure": (azure, AZURE, ()),
    "claude": (lambda *_: None, SAMPLED, ()),
    "gemini": (gemini, SAMPLED, ("seed",)),
    "openrouter": (openrouter, {"headers": {"X-Title": "IGLU MARL"}}, ()),
    "vllm": (vllm, {"structured": True}, ()),
    "llama.cpp": (llama_cpp, {}, ()),
    "ollama": (ollama, {}, ()),
    "proxy": (proxy, {"headers": {"X-Proxy-Key": "$MY_PROXY_KEY"}}, ()),
}


@pytest.mark.parametrize("name", SERVERS)
def test_each_kind_of_server_answers(name: str, server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PROXY_KEY", "pk-1234")
    openrouter.calls = 0  # type: ignore[attr-defined]
    server.rule, settings, left_out = SERVERS[name]
    reply = ask(server, count=2, **settings)
    assert (reply.failure, reply.detail, reply.text.strip('"'), reply.sent) == (None, "", "Hello there.", 1)
    assert reply.left_out == left_out
    assert (reply.completion_tokens > 100) == (name == "llama.cpp"), (
        "a server that gives no usage counts as the most"
    )


TOO_SMALL = {
    "vllm": fails(
        400, "'max_tokens' is too large: 800. This model's maximum context length is 1024 tokens and your request has "
        "900 input tokens", param="max_tokens",
    ),
    "llama.cpp": fails(
        400, "the request exceeds the available context size. try increasing it", type="exceed_context_size_error"
    ),
    "openai": fails(400, "Too long.", code="context_length_exceeded"),
    "claude": fails(400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "ollama": says(
        {**HI, "system_fingerprint": "fp_ollama"},
        part(None, "stop", usage={"prompt_tokens": 4000, "completion_tokens": 96}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_SMALL)
@pytest.mark.parametrize("answered", [False, True])
def test_a_context_that_is_too_small_ends_the_run(name: str, answered: bool, server: LLMServer) -> None:
    server.plan = [*[Misbehaviour()] * answered, TOO_SMALL[name]]
    reply = ask(server, count=1 + answered)
    assert reply.failure is RequestFailure.TOO_LONG
    assert reply.failure.is_final
    assert "context_tokens" in reply.detail
    assert len(server.seen) == 1 + answered
    if name == "ollama":
        assert "OLLAMA_CONTEXT_LENGTH=16384" in reply.detail
        server.plan = [TOO_SMALL[name]]
        assert ask(server, context_tokens=16384).failure is None, (
            "its context is as large as it is said to be"
        )


BAD_KEYS = [
    fails(401, "Incorrect API key provided: sk-Tr0ub4dor."),
    fails(403, "Forbidden"),
    Misbehaviour(
        400,
        body=json.dumps(
            [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]
        ).encode(),
    ),
    fails(400, "bad request", code="invalid_api_key"),
    fails(400, "No API key was given"),
]


@pytest.mark.parametrize("now", BAD_KEYS)
def test_a_bad_key_is_called_one(now: Misbehaviour, server: LLMServer) -> None:
    server.plan = [now]
    reply = ask(server)
    assert reply.failure is RequestFailure.REFUSED
    assert "The key is expected in IGLU_MARL_LLM_KEY" in reply.detail
    assert KEY not in reply.detail


@pytest.mark.parametrize(
    "now",
    [
        Misbehaviour(stall_s=19),
        Misbehaviour(drip_s=0.05),
        Misbehaviour(head_drip_s=0.05),
        Misbehaviour(at_once=True, drip_s=0.05),
    ],
)
def test_a_late_reply_is_paid_once(now: Misbehaviour, server: LLMServer) -> None:
    server.always, began = now, time.monotonic()
    reply = ask(server, timeout_s=1.5, retries=4)
    assert time.monotonic() - began < 10
    assert (reply.failure, reply.sent, len(server.seen)) == (RequestFailure.TIMEOUT, 1, 1)
    assert "timeout_s" in reply.detail
    assert reply.completion_tokens == 800, "it may have been billed"


STREAMS = {
    "broken off": (says(HI), RequestFailure.BROKEN_OFF, 2),
    "nothing": (says(), RequestFailure.BROKEN_OFF, 2),
    "a comment": (says(": wait"), RequestFailure.BROKEN_OFF, 2),
    "not JSON": (says(HI, "data: {'a'", DONE), RequestFailure.WRONG_SHAPE, 1),
    "a number": (says("data: 3", DONE), RequestFailure.WRONG_SHAPE, 1),
    "a list": (says([HI], DONE), RequestFailure.WRONG_SHAPE, 1),
    "an odd delta": (says({"choices": [{"delta": 3}]}, DONE), RequestFailure.WRONG_SHAPE, 1),
    "an odd content": (says(part({"content": 3}), DONE), RequestFailure.WRONG_SHAPE, 1),
    "odd choices": (says({"choices": 7}, DONE), RequestFailure.WRONG_SHAPE, 1),
    "an odd call": (says(part({"tool_calls": [7]}), DONE), RequestFailure.WRONG_SHAPE, 1),
    "no text": (says(part({"role": "assistant"}), DONE), RequestFailure.EMPTY, 1),
    "a refusal": (
        says(part({"refusal": "I "}), part({"refusal": "cannot."}), DONE),
        RequestFailure.DECLINED,
        1,
    ),
    "a filter": (says(HI, part(None, "content_filter")), RequestFailure.FILTERED, 1),
    "a quota": (
        says({"error": {"code": "insufficient_quota", "message": "Pay."}}),
        RequestFailure.NO_CREDIT,
        1,
    ),
    "a text as error": (says(HI, {"error": "Overloaded"}), RequestFailure.SERVER_ERROR, 2),
    "an error in the choice": (says(HI, part(None, "error")), RequestFailure.SERVER_ERROR, 2),
    "thoughts": (
        says(part({"reasoning_content": "Well"}), part(None, "length")),
        RequestFailure.UNSUITABLE,
        1,
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_are_no_reply(name: str, server: LLMServer) -> None:
    server.always, kind, sent = STREAMS[name]
    reply = ask(server)
    assert (reply.failure, reply.text, reply.sent) == (kind, "", sent)


def test_texts_come_in_parts(server: LLMServer) -> None:
    parts = [{"type": "reasoning", "text": "Well"}, {"type": "output_text", "text": "there."}]
    server.plan = [
        says(
            part({"content": "Hello "}),
            part({"content": parts}),
            {**HI, "choices": [{"index": 1, "delta": {"content": "x"}}]},
            DONE,
        )
    ]
    assert ask(server).text == "Hello there."


def test_headers_may_be_secrets(server: LLMServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_PROXY_KEY", "pk-1234")
    server.plan = [fails(401, "pk-1234 is unknown")]
    reply = ask(server, headers={"X-Proxy-Key": "$MY_PROXY_KEY"})
    assert "[key] is unknown" in reply.detail
    settings = LLMSettings(
        "m", "http://far.example/v1", headers={"X-Proxy-Key": "$MY_PROXY_KEY"}, key_variable="NONE"
    )
    assert "pk-1234" not in repr(settings)
    for name, address, match in (
        ("MY_PROXY_KEY", "http://far.example/v1", "unencrypted"),
        ("MISSING", "https://far.example/v1", "not set"),
    ):
        with pytest.raises(ConfigError, match=match):
            EndpointBackend(
                LLMSettings("m", address, headers={"X-Proxy-Key": f"${name}"}, key_variable="NONE")
            )
    with pytest.raises(ConfigError, match="a query"):
        LLMSettings("m", "https://host.example/v1?key=abc")
