"""`LLMSettings`: model, endpoint, limits and budget, from arguments or environment variables."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from iglu_marl import ConfigError
from iglu_marl.core.arguments import as_count, as_flag, as_number, check_option

PREFIX = "IGLU_MARL_LLM_"
VIEWS = ("layers", "coordinates")
CHANGES = ("hidden", "shown")
THINKING = ("auto", "on", "off")
DTYPES = ("auto", "float32", "float16", "bfloat16")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
RESERVED = (
    "messages", "model", "n", "stream", "stream_options", "max_tokens", "max_completion_tokens"
)  # fmt: skip
KEY_AT = PREFIX + "KEY_AT_"  # followed by the host: the key for that endpoint
_LONGEST = 10**9
LINE_TOKENS, JSON_TOKENS = 10, 40  # of an edit, at most
WORD_TOKENS = 160  # for what is said beside edits


def _setting(
    default: Any,
    text: str,
    least: float | None = None,
    most: float | None = None,
    known: tuple[str, ...] = (),
) -> Any:
    metadata = {"doc": text, "least": least, "most": most, "known": known}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class LLMSettings:
    """Settings of LLM agents.

    Each field is also an environment variable, in capitals after `IGLU_MARL_LLM_`: see `from_environment`. The key is
    not a field: it stays in the environment, and is read for each request. Raises `ConfigError` for a wrong value.
    """

    model: str = _setting("", "name or folder of the model; at an endpoint, its name there")
    endpoint: str = _setting(
        "",
        "base address of an OpenAI-compatible server, `https://…/v1` (Azure: with `?api-version=…`); empty: a local "
        "model (transformers)",
    )
    view: str = _setting(
        "layers",
        "how target and build are shown: " + ", ".join(VIEWS),
        known=VIEWS,
    )
    changes: str = _setting(
        "hidden",
        "whether the architect is shown a list of the remaining changes, as messages that it could copy: hidden, shown",
        known=CHANGES,
    )
    temperature: float = _setting(0.0, "0: greedy decoding; else replies are sampled, by the seed", 0.0, 10.0)
    reply_tokens: int = _setting(
        0,
        "maximal length of a reply; 0: enough for `max_edits`, by default 800, structured 2720",
        0,
        _LONGEST,
    )
    reasoning_tokens: int = _setting(0, "for thoughts, if they count as part of the reply", 0, _LONGEST)
    structured: bool = _setting(False, "the server enforces a JSON schema (`response_format`)")
    context_tokens: int = _setting(
        0, "maximal length of chat and reply; 0: that of the local model, or no limit", 0, _LONGEST
    )
    history: int = _setting(40, "number of newest utterances that are shown", 0, 100_000)
    attempts: int = _setting(2, "requests per decision; a repeated one explains the problem", 1, 10)
    max_edits: int = _setting(64, "maximal number of edits in a builder's reply", 1, 1089)
    prompts: str = _setting("", "folder with your own prompt files (architect.txt, builder.txt)")
    transcript: str = _setting("", "file to which every chat and reply is appended (JSON lines)")
    # -- local models
    device: str = _setting(
        "", "local: device of torch, such as cpu or cuda:1; empty: the first of cuda, mps and cpu"
    )
    dtype: str = _setting(
        "auto",
        "local: " + ", ".join(DTYPES) + "; auto is bfloat16 on a CUDA device, else float32",
        known=DTYPES,
    )
    adapter: str = _setting("", "local: folder or name of an adapter (LoRA) for the model; needs peft")
    thinking: str = _setting(
        "auto", "local: `enable_thinking` of the chat template: auto (not set), on, off", known=THINKING
    )
    # -- endpoints
    key_variable: str = _setting(PREFIX + "KEY", "environment variable that holds the key")
    pictures: bool = _setting(False, "the model reads pictures: those that the agent observes are shown, too")
    headers: Mapping[str, Any] = _setting(
        {}, "additional headers, as JSON; a value `$NAME` is that of an environment variable"
    )
    extra: Mapping[str, Any] = _setting({}, "additional fields of the request, as JSON; null removes one")
    insecure: bool = _setting(False, "allow sending the key unencrypted (http) to another machine")
    timeout_s: float = _setting(
        600.0, "limit for a whole answer; a later one is not requested again", 1e-3, 86_400
    )
    retries: int = _setting(4, "number of retries after transient failures", 0, 100)
    concurrency: int = _setting(4, "maximal number of requests at once", 1, 256)
    cache: str = _setting("", 'folder of cached replies; empty: the user\'s cache folder; "off": no cache')
    # -- budget
    max_total_tokens: int = _setting(0, "limit of tokens sent and received; 0: no limit", 0, 10**15)
    max_cost: float = _setting(0.0, "limit of the cost, in the unit of the prices; 0: no limit", 0.0, 1e12)
    prompt_price: float = _setting(0.0, "price of a million tokens sent", 0.0, 1e12)
    reply_price: float = _setting(0.0, "price of a million tokens received", 0.0, 1e12)
    ledger: str = _setting("", "file that keeps the spending across processes and runs; empty: per process")

    def __post_init__(self) -> None:
        for part in dataclasses.fields(self):
            object.__setattr__(self, part.name, _check_value(part, getattr(self, part.name)))
        if not self.model:
            raise ConfigError(f"model is empty, expected a model's name or folder: model=…, or {PREFIX}MODEL")
        if self.endpoint:
            _check_address(self.endpoint)
        if odd := [name for name in self.extra if name in RESERVED]:
            raise ConfigError(f"extra has {odd[0]!r}, which other settings determine; expected other fields")
        if odd := [name for name, value in self.headers.items() if not isinstance(value, str)]:
            raise ConfigError(f"headers has {odd[0]!r}, expected texts as values")
        if self.structured and not self.endpoint:
            raise ConfigError("structured is True, expected an endpoint: local models do not support schemas")
        if self.max_cost and not (self.prompt_price or self.reply_price):
            raise ConfigError(
                "max_cost is set, expected prices of a million tokens: prompt_price, reply_price"
            )

    @classmethod
    def from_environment(cls, **given: Any) -> LLMSettings:
        """Return the settings from the environment variables; arguments override them.

        The variables are `IGLU_MARL_LLM_MODEL`, `IGLU_MARL_LLM_ENDPOINT`, …; flags are 1, 0, true or false, and
        `headers` and `extra` are JSON. Raises `ConfigError` for an unknown variable or an invalid value.
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
                raise ConfigError(f"the environment variable {variable} is unknown; see LLMSettings")
            found[name] = _parse_variable(fields[name], text, variable)
        if "model" not in {**found, **given}:
            raise ConfigError(
                "model is missing, expected model=… (and endpoint=…, unless it is a local model), or "
                f"{PREFIX}MODEL (and {PREFIX}ENDPOINT)"
            )
        return cls(**{**found, **given})

    @property
    def max_reply_tokens(self) -> int:
        """Maximal number of tokens of a reply with its thoughts."""
        needed = WORD_TOKENS + self.max_edits * (JSON_TOKENS if self.structured else LINE_TOKENS)
        return (self.reply_tokens or needed) + self.reasoning_tokens

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of tokens, in the unit of the prices."""
        return (prompt_tokens * self.prompt_price + completion_tokens * self.reply_price) / 1e6

    @property
    def base_url(self) -> str:
        """The address of the endpoint without its query."""
        return self.endpoint.partition("?")[0].rstrip("/")

    @property
    def query(self) -> dict[str, str]:
        """The query of the endpoint's address."""
        return dict(parse_qsl(urlsplit(self.endpoint).query))

    def request_headers(self) -> dict[str, str]:
        """Return the headers of a request. Raises `ConfigError` if the key must not be sent."""
        secrets, parts = self._secrets(), urlsplit(self.endpoint)
        for origin, secret in secrets.items():
            if not (secret.isascii() and secret.isprintable()) or secret.startswith("$") or " " in secret:
                raise ConfigError(
                    f"the key in {origin} is not set, or has spaces or characters that are not printable ASCII"
                )
            if parts.scheme == "http" and parts.hostname not in LOOPBACK and not self.insecure:
                raise ConfigError(
                    f"the key in {origin} would go unencrypted to {parts.hostname}: expected an https address, "
                    f"no key, or insecure=True ({PREFIX}INSECURE=1)"
                )
        headers = {name: secrets.get(name, text) for name, text in self.headers.items()}
        if key := secrets.get(self.key_variable):
            headers |= {"api-key": key} if self.query else {"Authorization": f"Bearer {key}"}
        return headers

    def _secrets(self) -> dict[str, str]:
        """Return the key and the headers that are secrets, by their variable or name."""
        secrets = {
            name: os.path.expandvars(text) for name, text in self.headers.items() if text.startswith("$")
        }
        key = os.environ.get(self.key_variable, "").strip()
        return {**secrets, self.key_variable: key} if key else secrets

    def redact(self, text: str) -> str:
        """Return a text with `[key]` in place of secrets."""
        for secret in self._secrets().values():
            if len(secret) >= 4:
                text = re.sub(re.escape(secret), "[key]", text, flags=re.IGNORECASE)
        return text

    def describe(self) -> dict[str, Any]:
        """Return the settings that determine the behaviour, JSON-ready."""
        names = (
            "model endpoint adapter dtype thinking temperature reply_tokens reasoning_tokens context_tokens "
            "structured view changes history attempts max_edits extra"
        )
        found: dict[str, Any] = json.loads(json.dumps({name: getattr(self, name) for name in names.split()}))
        return {**found, "headers": sorted(self.headers)}

    def __hash__(self) -> int:
        return hash(json.dumps(dataclasses.asdict(self), sort_keys=True))


def explain_cut_thoughts(settings: LLMSettings, reported: int | None) -> str:
    """Return advice for a reply that ended in its thoughts. reported: their tokens, as the server counts them."""
    thoughts = "no reasoning_tokens" if reported is None else f"{reported} reasoning_tokens"
    return (
        f"the model gave no answer within {settings.max_reply_tokens} tokens (usage: {thoughts}); expected more than "
        f"{settings.reasoning_tokens} in the setting reasoning_tokens ({PREFIX}REASONING_TOKENS)"
    )


def _check_value(part: Any, value: Any) -> Any:
    """Check type and bounds of a field's value, and return it. Raises `ConfigError`."""
    name = part.name
    if part.type.startswith("Mapping"):
        try:
            return json.loads(json.dumps(dict(value), sort_keys=True, allow_nan=False))
        except (TypeError, ValueError):
            raise ConfigError(f"{name} is {value!r:.80}, expected a dict of JSON values") from None
    if part.type == "str":
        if not isinstance(value, (str, os.PathLike)):
            raise ConfigError(f"{name} is {value!r:.80}, expected a text")
        if part.metadata["known"]:
            check_option(name, value, part.metadata["known"])
        return os.fspath(value)
    if part.type == "bool":
        return as_flag(name, value)
    low, high = part.metadata["least"], part.metadata["most"]
    if part.type == "int":
        return as_count(
            name, int(value) if isinstance(value, float) and value == value // 1 else value, low, high
        )
    number = as_number(name, value, high)
    if number < low:
        raise ConfigError(f"{name} is {value!r}, expected a number in {low:g}..{high:g}")
    return number


def _parse_variable(part: Any, text: str, variable: str) -> Any:
    """Parse the value of an environment variable. Raises `ConfigError` naming it."""
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
    """Raise `ConfigError` unless it is a plain base address; the text does not repeat possible secrets."""
    try:
        parts = urlsplit(address)
        odd = parts.query and not re.fullmatch(r"api-version=[\w.-]{1,40}", parts.query)
        secret = bool(parts.username or parts.password or odd or parts.fragment)
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
