"""Decisions of LLM agents: send a request, read the reply, repeat the request if it was unreadable, count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from iglu_marl import AgentError, Role, ServiceError, ServiceRefusedError, Utterance
from iglu_marl.agents.llm.backends import acquire_backend, release_backend
from iglu_marl.agents.llm.messages import Backend, ChatRequest, Message, Reply, RequestFailure
from iglu_marl.agents.llm.prompting import Prompts, quote_dialogue
from iglu_marl.agents.llm.reading import Unreadable, clip
from iglu_marl.agents.llm.schemas import SCHEMAS
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.stats import Stats, append_transcript

GIVE_UP_AFTER = 5  # failures of the service in a row
_ECHO = 2000  # characters of an unreadable reply that the repeated request shows

Result = TypeVar("Result")


class ModelClient:
    """Prompts, backend, counts and recent failures of one agent.

    Args:
        role: role of the agent.
        settings: None = from the environment variables.
        backend: a backend of your own, which is not closed; None = that of the settings, shared by all agents with
            the same settings.
        answers: for replies that come from elsewhere, without a backend: the form that the prompt asks a builder for,
            "lines", "json" or "tools" (an architect: tool calls, or the message). None = JSON if the settings are
            `structured`, else lines.

    """

    def __init__(
        self, role: Role, settings: LLMSettings | None, backend: Backend | None, answers: str | None = None
    ) -> None:
        if settings is None:
            settings = LLMSettings.from_environment() if backend is None else LLMSettings(model="own")
        if backend is not None and not isinstance(backend, Backend):
            raise AgentError(f"backend is {backend!r:.80}, expected an object with complete, fits and close")
        self.role, self.settings = role, settings
        self.answers = answers or ("json" if settings.structured else "lines")
        self.prompts = Prompts(role.value, settings.prompts)
        self.part = self.prompts.fill
        self._backend, self._is_own = backend, backend is not None
        if settings.transcript:
            append_transcript(settings.transcript, {}, None)
        if answers is None and not self.backend.sees_pictures and settings.pictures:
            raise AgentError(f"pictures is True, but {self.backend!r} reads text only; expected False")
        self.episode = -1
        self.begin(None)

    @property
    def backend(self) -> Backend:
        """The source of replies."""
        if self._backend is None:
            self._backend = acquire_backend(self.settings)
        return self._backend

    def begin(self, seed: int | None) -> None:
        """Start an episode; all sampling follows from the seed."""
        self.seed = seed
        self.stats = Stats()
        self.episode += 1
        self.dialogue: list[Utterance] = []
        self.problem = ""  # why the last reply could not be used
        self.fault: ServiceError | None = None  # first failure of the service in this episode
        self._rng = np.random.default_rng(seed)
        self._in_a_row = 0

    def close(self) -> None:
        """Release the backend."""
        if self._backend is not None and not self._is_own:
            self._backend = None
            release_backend(self.settings)

    def ask(
        self,
        compose: Callable[[Sequence[Utterance]], tuple[Message, ...]],
        read: Callable[[str], Result],
    ) -> Result | None:
        """Return the result of a request, or None if no usable reply arrives.

        Args:
            compose: makes the chat from the part of the dialogue that is shown.
            read: parses a reply. If it raises `Unreadable`, the request is repeated with the reason, up to
                `attempts` times in all.

        Raises:
            ServiceRefusedError: if every request would fail.

        """
        if self._in_a_row >= GIVE_UP_AFTER:
            self.stats.no_ops += 1
            return None
        chat = messages = self._fit_chat(compose)
        for attempt in range(1, self.settings.attempts + 1):
            schema = SCHEMAS[self.role] if self.settings.structured else None
            request = ChatRequest(messages, int(self._rng.integers(2**31)), schema)
            (reply,) = self.backend.complete([request])
            self.stats.count(reply, self.settings.cost(reply.prompt_tokens, reply.completion_tokens))
            result, self.problem = None, ""
            try:
                if reply.failure is None:
                    result = read(reply.text)
            except Unreadable as problem:
                self.problem = self._problem_text(str(problem), reply)
            self._note(attempt, request, reply)
            if reply.failure is not None:
                self._failed(reply, reply.failure)
                break
            self._in_a_row = 0
            if not self.problem:
                return result
            self.stats.failures["unreadable"] += 1
            again = self.part("again", problem=self.problem).strip()
            messages = (*chat, Message("assistant", reply.text[-_ECHO:]), Message("user", again))
        self.stats.no_ops += 1
        return None

    def _problem_text(self, problem: str, reply: Reply) -> str:
        limit = self.settings.max_reply_tokens
        return (
            f"{problem} (it was cut off at its limit of {limit} tokens: be brief)" if reply.cut else problem
        )

    def _failed(self, reply: Reply, failure: RequestFailure) -> None:
        at = f" at {self.settings.endpoint}" if self.settings.endpoint else ""
        text = (
            f"the {self.role.value}'s language model {self.settings.model!r}{at}: {failure}. {reply.detail}"
        )
        if failure.is_final:
            raise ServiceRefusedError(text)
        if failure.is_of_model:
            self.problem = self._problem_text(f"it was {failure}", reply)
        else:
            self.fault = self.fault or ServiceError(text)
            self._in_a_row += 1

    def _fit_chat(self, compose: Callable[[Sequence[Utterance]], tuple[Message, ...]]) -> tuple[Message, ...]:
        """Return the chat with as much of the newest dialogue as fits into the context."""
        said = self.dialogue[-self.settings.history :] if self.settings.history else []
        while True:
            messages = compose(said)
            if not said or self.backend.fits(ChatRequest(messages)):
                return messages
            said = said[(len(said) + 3) // 4 :]

    def _note(self, attempt: int, request: ChatRequest, reply: Reply) -> None:
        if self.settings.transcript:
            about = {"role": self.role.value, "episode": self.episode, "game": self.seed, "attempt": attempt}
            append_transcript(self.settings.transcript, {**about, "problem": self.problem}, request, reply)

    def note_section(self) -> str:
        """Return the section on the problem of the last reply, "" if there was none."""
        return self.part("note", problem=self.problem) if self.problem else ""

    def clip_message(self, text: str, limit: int) -> str:
        """Clip a message to the limit of the game; the dialogue shows it clipped."""
        self.stats.clipped += len(text) > limit
        return clip(text, limit)

    def dialogue_section(self, said: Sequence[Utterance], done: Mapping[int, str] | None = None) -> str:
        """Return the dialogue as data. done: number of a message in the dialogue -> what was built for it."""
        first = len(self.dialogue) - len(said)
        of_shown = {number - first: text for number, text in (done or {}).items()}
        return self.part("dialogue", lines=quote_dialogue(said, of_shown))


class ModelAgent:
    """Base of agents that ask a language model."""

    role: ClassVar[Role]
    client: ModelClient

    @classmethod
    def describe(cls, settings: LLMSettings | None = None) -> dict[str, Any]:
        """Return the settings that determine the behaviour, and a digest of the prompts, JSON-ready.

        settings: None = from the environment variables.
        """
        settings = settings or LLMSettings.from_environment()
        return {**settings.describe(), "prompts": Prompts(cls.role.value, settings.prompts).digest}

    @classmethod
    def games_at_once(cls, settings: LLMSettings | None = None) -> int:
        """Return the number of games to play at once: the concurrency of an endpoint, or 1."""
        settings = settings or LLMSettings.from_environment()
        return settings.concurrency if settings.endpoint else 1

    @property
    def stats(self) -> Stats:
        """Counts of the current episode."""
        return self.client.stats

    @property
    def fault(self) -> ServiceError | None:
        """The first failure of the service in the current episode."""
        return self.client.fault

    def close(self) -> None:
        """Release the model. May be called more than once."""
        self.client.close()
