"""What goes to a language model and what comes back: requests, replies, kinds of failure, the `Backend` protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

Speaker = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One message of a chat. pictures: PNG files as bytes, which stand after the text."""

    speaker: Speaker
    text: str
    pictures: tuple[bytes, ...] = ()


class ChatRequest(NamedTuple):
    """One chat to be gone on with. seed: what is drawn at random follows from it. schema: the form of the reply."""

    messages: tuple[Message, ...]
    seed: int = 0
    schema: Mapping[str, Any] | None = None


class RequestFailure(str, Enum):
    """Why there is no reply that can be used. Members compare equal to their texts."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    BROKEN_OFF = "broken off"
    RATE_LIMITED = "rate limited"
    SERVER_ERROR = "server error"
    REFUSED = "key refused"
    NO_CREDIT = "no credit"
    NOT_FOUND = "not found"
    REJECTED = "request rejected"
    UNSUITABLE = "settings rejected"
    REDIRECTED = "redirected"
    TOO_LARGE = "reply too large"
    NOT_JSON = "not JSON"
    WRONG_SHAPE = "wrong shape"
    FILTERED = "filtered"
    DECLINED = "declined"
    INVALID = "invalid"
    EMPTY = "empty"
    TOO_LONG = "prompt too long"
    OVER_BUDGET = "over budget"

    __str__ = str.__str__

    @property
    def is_final(self) -> bool:
        """Whether every request will fail like this."""
        return self in (
            RequestFailure.REFUSED,
            RequestFailure.NO_CREDIT,
            RequestFailure.NOT_FOUND,
            RequestFailure.REDIRECTED,
            RequestFailure.UNSUITABLE,
        )

    @property
    def is_of_model(self) -> bool:
        """Whether it is a part of what the model does; else it is a fault of what the model runs on."""
        return self in (
            RequestFailure.FILTERED,
            RequestFailure.DECLINED,
            RequestFailure.INVALID,
            RequestFailure.EMPTY,
            RequestFailure.TOO_LONG,
        )


@dataclass(frozen=True)
class Reply:
    """What came of a request.

    text: "" with a failure. failure, detail: why there is none; the detail is for people. prompt_tokens,
    completion_tokens: what is counted against the budget, over all attempts; where nobody told, what it can have been
    at most. sent: attempts that went out. cached: it came from the disk. cut: the model came to the limit of its reply.
    """

    text: str = ""
    failure: RequestFailure | None = None
    detail: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    sent: int = 0
    cached: bool = False
    cut: bool = False


@runtime_checkable
class Backend(Protocol):
    """Where replies come from: a model in this process, an endpoint, or something of your own.

    sees_pictures: whether messages may have pictures.
    """

    @property
    def sees_pictures(self) -> bool:
        """Whether messages may have pictures."""

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """One reply for each request, in their order; failures are replies too."""

    def fits(self, request: ChatRequest) -> bool:
        """Whether the chat and its reply are short enough for the model, as far as that is known."""

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What these tokens cost, in the unit of the prices."""

    def close(self) -> None:
        """Release what is held. May be called more than once."""
