"""`LLMSettings`: which model, where, and what it may spend. From arguments, or from environment variables."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from iglu_marl import ConfigError

PREFIX = "IGLU_MARL_LLM_"
VIEWS = ("layers", "coordinates", "auto", "picture")
CHANGES = ("auto", "shown", "hidden")
DEVICES = ("auto", "cpu", "cuda", "mps")
THINKING = ("auto", "on", "off")
DTYPES = ("auto", "float32", "float16", "bfloat16")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
RESERVED = ("messages", "model", "n", "stream", "max_tokens", "max_completion_tokens")
KEY_AT = PREFIX + "KEY_AT_"  # and the host: the key for that endpoint
_LONGEST = 10**9


def _doc(default: Any, text: str, least: float | None = None, most: float | None = None) -> Any:
    metadata = {"doc": text, "least": least, "most": most}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class LLMSettings:
    """The settings of LLM agents. Frozen; a wrong value raises `ConfigError` naming field, value and expectation.

    Each field is also an environment variable, in capitals after `IGLU_MARL_LLM_`: see `from_environment`. The key is
    no field: it stays in the environment, and is read when a request is sent. `LLMSettings.table()` lists the fields.
    """

    model: str = _doc("", "name or folder of the model; at an endpoint, the name that it has there")
    endpoint: str = _doc(
        "", "base address of an OpenAI-compatible server, `https://…/v1`; empty: a local model (transformers)"
    )
    view: str = _doc(
        "layers",
        "how target and build are told: " + ", ".join(VIEWS) + "; auto is the shorter of the first two",
    )
    changes: str = _doc(
        "auto",
        "whether the architect is told what is still to be done, in words: auto (not with pictures), shown, hidden",
    )
    temperature: float = _doc(0.0, "0: the likeliest reply; else drawn, as the seed says", 0.0, 10.0)
    top_p: float = _doc(1.0, "drawn from the likeliest tokens of this total probability", 1e-6, 1.0)
    reply_tokens: int = _doc(800, "length of a reply at most", 1, _LONGEST)
    reasoning_tokens: int = _doc(
        0,
        "of hidden reasoning before the reply, where the server counts it to the reply's length",
        0,
        _LONGEST,
    )
    structured: bool = _doc(False, "the server keeps replies to a JSON schema (`response_format`)")
    context_tokens: int = _doc(
        0, "length of chat and reply at most; 0: what the local model has, or no limit", 0, _LONGEST
    )
    stop: tuple[str, ...] = _doc((), "texts at which a reply ends")
    history: int = _doc(40, "utterances of the dialogue that are shown, the newest", 0, 100_000)
    attempts: int = _doc(
        2, "requests at most until a reply can be read; the next one says what was wrong", 1, 10
    )
    max_edits: int = _doc(30, "edits in one reply of a builder at most", 1, 1089)
    prompts: str = _doc("", "folder with prompt files of your own (architect.txt, builder.txt)")
    transcript: str = _doc("", "file to which every chat and reply is appended (JSON lines)")
    # -- local models
    device: str = _doc("auto", "local: " + ", ".join(DEVICES))
    dtype: str = _doc("auto", "local: " + ", ".join(DTYPES) + "; auto is bfloat16 on cuda, else float32")
    adapter: str = _doc("", "local: folder or name of an adapter (LoRA) for the model; needs peft")
    thinking: str = _doc(
        "auto", "local: what the chat template is told of `enable_thinking`: auto (nothing), on, off"
    )
    batch_size: int = _doc(8, "local: chats that go through the model at once, at most", 1, 4096)
    # -- endpoints
    key_variable: str = _doc(PREFIX + "KEY", "the environment variable with the key")
    pictures: bool = _doc(False, 'the model sees pictures, as `view="picture"` needs')
    limit_field: str = _doc(
        "max_tokens", "what the server calls `reply_tokens`; others: max_completion_tokens"
    )
    extra: Mapping[str, Any] = _doc({}, "further fields of the request, as JSON; null leaves one out")
    insecure: bool = _doc(False, "the key may go unencrypted (http) to another machine")
    connect_timeout_s: float = _doc(10.0, "to connect", 1e-3, 86_400)
    timeout_s: float = _doc(120.0, "for a whole answer", 1e-3, 86_400)
    retries: int = _doc(4, "times that a request is sent again after a failure that may pass", 0, 100)
    backoff_s: float = _doc(
        1.0, "wait before the first of them; doubled each time, more or less by half", 0, 3600
    )
    max_wait_s: float = _doc(
        60.0, "longest wait; a server that asks for a longer one is given up on", 0, 86_400
    )
    requests_per_minute: float = _doc(0.0, "0: no limit", 0, 1e6)
    concurrency: int = _doc(4, "requests under way at once, at most", 1, 256)
    reply_bytes: int = _doc(4_000_000, "length of an answer at most", 100, _LONGEST)
    cache: str = _doc("", 'folder of kept replies; empty: in the usual place for caches; "off": none')
    # -- what may be spent
    max_total_tokens: int = _doc(0, "tokens of all chats and replies together; 0: no limit", 0, 10**15)
    max_cost: float = _doc(0.0, "in the unit of the prices; 0: no limit", 0.0, 1e12)
    prompt_price: float = _doc(0.0, "of a million tokens sent", 0.0, 1e12)
    reply_price: float = _doc(0.0, "of a million tokens received", 0.0, 1e12)
    picture_tokens: int = _doc(2000, "tokens of a picture at most", 1, _LONGEST)
    ledger: str = _doc("", "file in which the spending is kept, over processes and runs; empty: per process")

    def __post_init__(self) -> None:
        for part in dataclasses.fields(self):
            object.__setattr__(self, part.name, _checked(part, getattr(self, part.name)))
        if not self.model:
            raise ConfigError(f"model is empty, expected a model's name or folder: model=…, or {PREFIX}MODEL")
        for name, known in (
            ("view", VIEWS),
            ("changes", CHANGES),
            ("device", DEVICES),
            ("dtype", DTYPES),
            ("thinking", THINKING),
        ):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}")
        if self.endpoint:
            _check_address(self.endpoint)
        if self.view == "picture" and not (self.pictures and self.endpoint):
            raise ConfigError(
                f"the view is 'picture', expected an endpoint whose model sees them: pictures=True ({PREFIX}PICTURES=1)"
            )
        if odd := [name for name in self.extra if name in (*RESERVED, self.limit_field)]:
            raise ConfigError(f"extra has {odd[0]!r}, which the settings decide; expected other fields")
        if self.structured and not self.endpoint:
            raise ConfigError(
                "structured is True, expected an endpoint; a local model is not kept to a schema"
            )
        if self.max_cost and not (self.prompt_price or self.reply_price):
            raise ConfigError("max_cost needs prices: prompt_price and reply_price, of a million tokens")

    @classmethod
    def from_environment(cls, **given: Any) -> LLMSettings:
        """The settings that the environment variables tell, and those given.

        `IGLU_MARL_LLM_MODEL`, `IGLU_MARL_LLM_ENDPOINT`, … : numbers and flags (1, 0, true, false) as text, `stop` and
        `extra` as JSON. Raises `ConfigError` for a variable that is no setting, and for values that cannot be read.
        """
        fields = {part.name: part for part in dataclasses.fields(cls)}
        found: dict[str, Any] = {}
        named = given.get("key_variable") or os.environ.get(f"{PREFIX}KEY_VARIABLE") or f"{PREFIX}KEY"
        for variable, text in os.environ.items():
            name = variable.removeprefix(PREFIX).lower()
            if not variable.startswith(PREFIX) or variable in (named, f"{PREFIX}KEY") or name in given:
                continue
            if variable.startswith(KEY_AT):
                continue
            if name not in fields:
                raise ConfigError(f"the environment variable {variable} is no setting; see LLMSettings")
            found[name] = _read(fields[name], text, variable)
        if "model" not in {**found, **given}:
            raise ConfigError(
                "which language model? Say model=… (and endpoint=…, unless it is a local one), or set "
                f"{PREFIX}MODEL (and {PREFIX}ENDPOINT)"
            )
        return cls(**{**found, **given})

    @property
    def most_tokens(self) -> int:
        """Of a reply with its hidden reasoning, at most."""
        return self.reply_tokens + self.reasoning_tokens

    def describe(self) -> dict[str, Any]:
        """The settings that decide what agents do, JSON-ready; not how patiently, nor what may be spent."""
        names = (
            *(
                "model",
                "endpoint",
                "adapter",
                "dtype",
                "thinking",
                "temperature",
                "top_p",
                "reply_tokens",
                "stop",
            ),
            *("reasoning_tokens", "context_tokens", "structured", "view", "changes", "history", "attempts"),
            *("max_edits", "extra"),
        )
        found: dict[str, Any] = json.loads(json.dumps({name: getattr(self, name) for name in names}))
        return found

    def __hash__(self) -> int:
        return hash(json.dumps(dataclasses.asdict(self), sort_keys=True))

    @classmethod
    def table(cls) -> str:
        """The fields as a Markdown table."""
        rows = ["| field | default | |", "|---|---|---|"]
        for part in dataclasses.fields(cls):
            default = {} if part.default is dataclasses.MISSING else part.default
            shown = f'"{default}"' if isinstance(default, str) else str(default)
            rows.append(f"| `{part.name}` | `{shown}` | {part.metadata['doc']} |")
        return "\n".join(rows)


def _checked(part: Any, value: Any) -> Any:
    """A value of the field's type and within its bounds. Raises `ConfigError`."""
    name = part.name
    if part.type == "tuple[str, ...]":
        parts = (
            [value] if isinstance(value, str) else list(value) if isinstance(value, (list, tuple)) else [None]
        )
        if not all(isinstance(text, str) and text for text in parts):
            raise ConfigError(f"{name} is {value!r:.80}, expected texts")
        return tuple(parts)
    if part.type.startswith("Mapping"):
        try:
            return json.loads(json.dumps(dict(value), sort_keys=True, allow_nan=False))
        except (TypeError, ValueError):
            raise ConfigError(f"{name} is {value!r:.80}, expected a dict that JSON can hold") from None
    if part.type == "str":
        if not isinstance(value, (str, os.PathLike)):
            raise ConfigError(f"{name} is {value!r:.80}, expected a text")
        return os.fspath(value)
    if part.type == "bool":
        if not isinstance(value, bool):
            raise ConfigError(f"{name} is {value!r:.80}, expected True or False")
        return value
    whole = part.type == "int"
    low, high = part.metadata["least"], part.metadata["most"]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ConfigError(f"{name} is {value!r:.80}, expected a number")
    if (whole and value != int(value)) or not low <= value <= high:
        raise ConfigError(
            f"{name} is {value!r}, expected {'an integer' if whole else 'a number'} {low}..{high}"
        )
    return int(value) if whole else float(value)


def _read(part: Any, text: str, variable: str) -> Any:
    """The value that an environment variable holds. Raises `ConfigError` naming it."""
    try:
        if part.type == "str":
            return text
        if part.type == "bool":
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}[
                text.strip().lower()
            ]
        return json.loads(text)
    except (KeyError, ValueError, RecursionError):
        kind = {"bool": "1 or 0", "int": "an integer", "float": "a number"}.get(part.type, "JSON")
        raise ConfigError(f"{variable} is {text!r:.80}, expected {kind}") from None


def _check_address(address: str) -> None:
    """Raises `ConfigError`, which does not repeat what may be secret, unless it is a plain base address."""
    try:
        parts = urlsplit(address)
        secret = bool(parts.username or parts.password or parts.query or parts.fragment)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        secret, usable = False, False
    if secret:
        raise ConfigError(
            "endpoint has a user, a password, a query or a fragment, expected a base address such as "
            f"https://host/v1; the key belongs into the environment variable {PREFIX}KEY"
        )
    if not usable:
        raise ConfigError(f"endpoint is {address!r:.120}, expected a base address such as https://host/v1")
