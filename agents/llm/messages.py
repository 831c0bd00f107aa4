"""Requests to a language model, its replies, kinds of failure, and the `Backend` protocol."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

Speaker = Literal["system", "user", "assistant"]
_PNG = "data:image/png;base64,"


class Message(NamedTuple):
    """A message of a chat. pictures: PNG files as bytes, placed after the text."""

    speaker: Speaker
    text: str
    pictures: tuple[bytes, ...] = ()

    def as_chat(self) -> dict[str, Any]:
        """Return it in the usual format: content is the text, or parts: the text, and pictures as data URLs."""
        if not self.pictures:
            return {"role": self.speaker, "content": self.text}
        urls = [_PNG + base64.b64encode(picture).decode("ascii") for picture in self.pictures]
        pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        return {"role": self.speaker, "content": [{"type": "text", "text": self.text}, *pictures]}

    @classmethod
    def of_chat(cls, part: Mapping[str, Any]) -> Message:
        """Read what `as_chat` returns."""
        if isinstance(part["content"], str):
            return cls(part["role"], part["content"])
        text, *pictures = part["content"]
        urls = [picture["image_url"]["url"] for picture in pictures]
        return cls(
            part["role"], text["text"], tuple(base64.b64decode(url.removeprefix(_PNG)) for url in urls)
        )


class ChatRequest(NamedTuple):
    """A chat to be completed. seed: for sampling. schema: JSON schema of the reply."""

    messages: tuple[Message, ...]
    seed: int = 0
    schema: Mapping[str, Any] | None = None


class RequestFailure(str, Enum):
    """Why a request has no usable reply. Members compare equal to their texts."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    BROKEN_OFF = "broken off"
    RATE_LIMITED = "rate limited"
    SERVER_ERROR = "server error"
    REFUSED = "key refused"
    NO_CREDIT = "no credit"
    NOT_FOUND = "not found"
    REJECTED = "request rejected"
    UNSUITABLE = "unsuitable settings"
    REDIRECTED = "redirected"
    TOO_LARGE = "reply too large"
    WRONG_SHAPE = "wrong shape"
    FILTERED = "filtered"
    DECLINED = "declined"
    INVALID = "invalid"
    EMPTY = "empty"
    THOUGHTS_CUT = "thoughts cut off"
    TOO_LONG = "prompt too long"
    OVER_BUDGET = "over budget"

    __str__ = str.__str__

    @property
    def is_final(self) -> bool:
        """Whether every further request would fail in the same way."""
        return self in (
            "key refused", "no credit", "not found", "redirected", "unsuitable settings", "prompt too long"
        )  # fmt: skip

    @property
    def is_of_model(self) -> bool:
        """Whether the model is responsible; otherwise the service is."""
        return self in ("filtered", "declined", "invalid", "empty")


@dataclass(frozen=True)
class Reply:
    """The outcome of a request.

    Attributes:
        text: the reply; "" after a failure.
        failure: why there is no reply.
        detail: explanation of the failure for people.
        prompt_tokens: tokens sent, over all attempts, as counted against the budget; an upper bound if unreported.
        completion_tokens: the same for tokens received.
        sent: number of attempts.
        cached: whether the reply came from the cache.
        cut: whether the reply reached its length limit.
        left_out: parameters of the request that were left out, since the server rejects them.

    """

    text: str = ""
    failure: RequestFailure | None = None
    detail: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    sent: int = 0
    cached: bool = False
    cut: bool = False
    left_out: tuple[str, ...] = ()


@runtime_checkable
class Backend(Protocol):
    """A source of replies: a model in this process, an endpoint, or a class of your own."""

    @property
    def sees_pictures(self) -> bool:
        """Whether messages may have pictures."""

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return a reply for each request, in order; failures are replies too."""

    def fits(self, request: ChatRequest) -> bool:
        """Return whether the chat and its reply fit into the context, as far as its length is known."""

    def close(self) -> None:
        """Release resources. May be called more than once."""
