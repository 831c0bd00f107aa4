"""How an LLM agent comes to a decision: ask, read, ask again when it could not be read, count, go on.

A decision is a generator that yields requests and is sent replies, so that one agent can decide alone, in the
background while the world goes on, or together with the agents of other games in one batch.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from iglu_marl import AgentError, Role, ServiceError, ServiceRefusedError, Utterance
from iglu_marl.agents.llm.backends import borrow, give_back
from iglu_marl.agents.llm.messages import Backend, ChatRequest, Message, Reply, RequestFailure
from iglu_marl.agents.llm.prompting import Prompts, quoted
from iglu_marl.agents.llm.reading import Unreadable, clipped
from iglu_marl.agents.llm.schemas import SCHEMAS
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.stats import Stats, Transcript
from iglu_marl.core.dialogue import Codec

GIVE_UP_AFTER = 5  # failed requests in a row
_ECHO = 2000  # characters of an unreadable reply that the model is shown again

Deciding = Generator[ChatRequest, Reply, Any]
Result = TypeVar("Result")


class ModelClient:
    """Prompts, backend, counts and memory of failures of one agent.

    settings: None = from the environment. backend: one of your own, which is not closed; None = that of the settings,
    shared with all agents that have the same.
    """

    def __init__(self, role: Role, settings: LLMSettings | None, backend: Backend | None) -> None:
        if settings is None:
            settings = LLMSettings.from_environment() if backend is None else LLMSettings(model="own")
        if backend is not None and not isinstance(backend, Backend):
            raise AgentError(
                f"backend is {backend!r:.80}, expected an object with complete, fits, cost and close"
            )
        self.role, self.settings = role, settings
        self.prompts = Prompts(role.value, settings.prompts)
        self._own, self._borrowed = backend, None if backend is not None else borrow(settings)
        self._transcript = (
            Transcript(settings.transcript, settings.key_variable) if settings.transcript else None
        )
        if settings.view == "picture" and not self.backend.sees_pictures:
            raise AgentError(
                f"view is 'picture', but {self.backend!r} reads text only; expected another view"
            )
        self.stats, self.total = Stats(), Stats()
        self.episode = -1
        self.begin(None)

    @property
    def backend(self) -> Backend:
        """Where replies come from."""
        if self._own is not None:
            return self._own
        if self._borrowed is None:
            self._borrowed = borrow(self.settings)
        return self._borrowed

    def begin(self, seed: int | None) -> None:
        """Begin an episode: everything drawn follows from the seed."""
        self.seed = seed
        self.total.add(self.stats)
        self.stats = Stats()
        self.episode += 1
        self.dialogue: list[Utterance] = []
        self.problem = ""  # why the last reply could not be used
        self.remark = ""  # what became of it, where it could
        self.fault: ServiceError | None = None  # the first of what the model runs on
        self._rng = np.random.default_rng(seed)
        self._in_a_row = 0

    def close(self) -> None:
        """Give the backend back."""
        if self._borrowed is not None:
            self._borrowed = None
            give_back(self.settings)

    # -- a decision

    def ask(
        self,
        compose: Callable[[Sequence[Utterance]], tuple[Message, ...]],
        read: Callable[[str], Result],
    ) -> Generator[ChatRequest, Reply, Result | None]:
        """What the model wants, or None when that cannot be found out.

        compose: the chat, from the part of the dialogue that is to be shown. read: the meaning of a reply; raises
        `Unreadable`, and the model is told why and asked again, up to `attempts` times in all. Raises
        `ServiceRefusedError` when every request would fail.
        """
        if self._in_a_row >= GIVE_UP_AFTER:
            self.stats.no_ops += 1
            return None
        chat = messages = self._fitting(compose)
        self.remark = ""
        for attempt in range(1, self.settings.attempts + 1):
            schema = SCHEMAS[self.role] if self.settings.structured else None
            request = ChatRequest(messages, int(self._rng.integers(2**31)), schema)
            reply = yield request
            self.stats.count(reply, self.backend.cost(reply.prompt_tokens, reply.completion_tokens))
            if reply.failure is not None:
                self._note(attempt, request, reply, "")
                self._failed(reply, reply.failure)
                break
            self._in_a_row = 0
            try:
                result = read(reply.text)
            except Unreadable as problem:
                self.problem = self._told_problem(str(problem), reply)
                self.stats.parse_failures += 1
                self.stats.failures["unreadable"] += 1
                self._note(attempt, request, reply, self.problem)
                again = self.prompts.fill("again", problem=self.problem).strip()
                messages = (*chat, Message("assistant", reply.text[:_ECHO]), Message("user", again))
                continue
            self.problem = ""
            self._note(attempt, request, reply, "")
            return result
        self.stats.no_ops += 1
        return None

    def _told_problem(self, problem: str, reply: Reply) -> str:
        """What is wrong with a reply, as the model is told."""
        limit = self.settings.most_tokens
        return (
            f"{problem} (it was cut off at its limit of {limit} tokens: be brief)" if reply.cut else problem
        )

    def _failed(self, reply: Reply, failure: RequestFailure) -> None:
        at = f" at {self.settings.endpoint}" if self.settings.endpoint else ""
        told = (
            f"the {self.role.value}'s language model {self.settings.model!r}{at}: {failure}. {reply.detail}"
        )
        if failure.is_final:
            raise ServiceRefusedError(told)
        if failure.is_of_model:
            self.problem = self._told_problem(f"it was {failure}", reply)
        elif self.fault is None:
            self.fault = ServiceError(told)
        if failure in (RequestFailure.OVER_BUDGET, RequestFailure.EMPTY, RequestFailure.FILTERED):
            return  # the next chat may go
        self._in_a_row += 1
        if self._in_a_row == GIVE_UP_AFTER:
            self.stats.gave_up += 1

    def _fitting(self, compose: Callable[[Sequence[Utterance]], tuple[Message, ...]]) -> tuple[Message, ...]:
        """The chat with as much of the newest dialogue as there is room for."""
        said = self.dialogue[-self.settings.history :] if self.settings.history else []
        while True:
            messages = compose(said)
            if not said or self.backend.fits(ChatRequest(messages)):
                self.stats.forgotten += len(self.dialogue) - len(said)
                return messages
            said = said[(len(said) + 3) // 4 :]

    def _note(self, attempt: int, request: ChatRequest, reply: Reply, problem: str) -> None:
        if self._transcript is not None:
            about = {"role": self.role.value, "episode": self.episode, "game": self.seed, "attempt": attempt}
            self._transcript.note(about, request, reply, problem)

    # -- parts of prompts

    def part(self, section: str, **values: object) -> str:
        """A section of the prompts."""
        return self.prompts.fill(section, **values)

    def noted(self) -> str:
        """What was wrong with the last reply, or what became of it, if there is anything to say."""
        if self.problem:
            return self.part("note", problem=self.problem)
        return self.part("remark", remark=self.remark) if self.remark else ""

    def clipped(self, text: str, limit: int) -> str:
        """A message as long as the game allows; the model is told what was left of it."""
        short = clipped(text, limit)
        if short != text:
            self.stats.clipped += 1
            self.remark = (
                f"Your last message had {len(text)} characters, {limit} are allowed. It was clipped to: "
            )
            self.remark += json.dumps(short, ensure_ascii=False)
        return short

    def told(self, said: Sequence[Utterance], done: Mapping[int, str] | None = None) -> str:
        """The end of the dialogue, as data. done: what was done for a message, by its number in the dialogue."""
        first = len(self.dialogue) - len(said)
        of_shown = {number - first: text for number, text in (done or {}).items()}
        return self.part("dialogue", lines=quoted(said, of_shown))

    def channel(self, codec: Codec | None) -> str:
        """Which words a token chat carries; nothing for text."""
        if codec is None:
            return ""
        if codec.name == "symbols":
            return self.part("symbols", words=f"{codec.decode([1])} to {codec.decode([codec.size - 1])}")
        words = [codec.decode([token]) for token in range(1, codec.size)]
        return self.part("words", words=" ".join(word for word in words if "<" not in word))


def unsayable(codec: Codec, text: str) -> list[str]:
    """The words of a text that a vocabulary cannot carry."""

    def bare(word: str) -> str:
        return "".join(letter for letter in word.lower() if letter.isalnum())

    return [word for word in text.split() if bare(word) != bare(codec.decode(codec.encode(word)))]


def check_sayable(codec: Codec, text: str, limit: int) -> None:
    """Raises `Unreadable` unless a token chat can carry a text in one message."""
    if odd := unsayable(codec, text):
        raise Unreadable(f"the channel has no word {odd[0][:40]!r}")
    if (count := len(codec.encode(text))) > limit:
        raise Unreadable(f"it has {count} words, expected at most {limit}")


# -------------------------------------------------------------------------------------------------- coming to an end


class _Call(threading.Thread):
    """A request under way; a daemon, so that leaving a game does not wait for a server."""

    def __init__(self, backend: Backend, request: ChatRequest) -> None:
        super().__init__(daemon=True)
        self.backend, self.request = backend, request
        self.reply: Reply | None = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            (self.reply,) = self.backend.complete([self.request])
        except Exception as error:
            self.error = error


class Decider(ABC):
    """`act` for agents whose decisions are generators: `deciding(observation)`, and `waiting()` in the meantime.

    background: do not wait for a reply, but go on with `waiting()` until it is there; for games with people.
    """

    role: ClassVar[Role]
    client: ModelClient
    background = False
    _course: Deciding | None = None
    _call: _Call | None = None

    @abstractmethod
    def deciding(self, observation: Any) -> Deciding:
        """Decide on an action; yields requests, is sent replies, returns the action."""

    @abstractmethod
    def waiting(self) -> Any:
        """The action while a reply is not there yet."""

    @classmethod
    def describe(cls, settings: LLMSettings | None = None) -> dict[str, Any]:
        """What decides what agents do that are made by `for_env(env)`: settings, and a digest of the prompts.

        settings: None = as the environment variables tell them.
        """
        settings = settings or LLMSettings.from_environment()
        return {**settings.describe(), "prompts": Prompts(cls.role.value, settings.prompts).digest}

    @classmethod
    def games_at_once(cls, settings: LLMSettings | None = None) -> int:
        """In how many games at once agents are to play: as many as may wait for the endpoint, or as make a batch."""
        settings = settings or LLMSettings.from_environment()
        return settings.concurrency if settings.endpoint else settings.batch_size

    @property
    def stats(self) -> Stats:
        """Counts of the present episode."""
        return self.client.stats

    @property
    def total(self) -> Stats:
        """Counts of all episodes."""
        found = Stats()
        found.add(self.client.total)
        found.add(self.client.stats)
        return found

    @property
    def fault(self) -> ServiceError | None:
        """What has failed in the present episode of what the model runs on, the first of it."""
        return self.client.fault

    def act(self, observation: Any) -> Any:
        """The action for an observation.

        Raises `AgentError` when something needed is not observed, and `ServiceRefusedError` when no request can ever
        be answered.
        """
        if not self.background:
            return act_together([self], [observation])[0]
        if self._course is None:
            self._course = self.deciding(observation)
            return self._go_on(None)
        assert self._call is not None
        if self._call.is_alive():
            return self.waiting()
        if self._call.error is not None:
            error = self._call.error
            self.forget_call()
            raise error
        return self._go_on(self._call.reply)

    def _go_on(self, reply: Reply | None) -> Any:
        assert self._course is not None
        try:
            request = self._course.send(reply)  # type: ignore[arg-type]
        except BaseException as end:
            self.forget_call()
            if isinstance(end, StopIteration):
                return end.value
            raise
        self._call = _Call(self.client.backend, request)
        return self.waiting()

    def forget_call(self) -> None:
        """Whatever is under way no longer matters."""
        self._course = self._call = None

    def close(self) -> None:
        """Give the model back. May be called more than once."""
        self.forget_call()
        self.client.close()


def act_together(agents: Sequence[Any], observations: Sequence[Any]) -> list[Any]:
    """The actions of LLM agents of several games, whose requests go to each backend as one batch.

    What comes out is what each `act` alone would give (with a local model: up to rounding).
    """
    if len(agents) != len(observations):
        raise AgentError(f"{len(agents)} agents and {len(observations)} observations, expected one for each")
    actions: list[Any] = [None] * len(agents)
    courses = [agent.deciding(seen) for agent, seen in zip(agents, observations, strict=True)]
    waiting: dict[int, ChatRequest] = {}

    def go_on(number: int, reply: Reply | None) -> None:
        try:
            waiting[number] = courses[number].send(reply)
        except StopIteration as end:
            actions[number] = end.value

    for number in range(len(agents)):
        go_on(number, None)
    while waiting:
        asked, batches = dict(waiting), dict[int, list[int]]()
        waiting.clear()
        for number in asked:
            batches.setdefault(id(agents[number].client.backend), []).append(number)
        for numbers in batches.values():
            replies = agents[numbers[0]].client.backend.complete([asked[number] for number in numbers])
            for number, reply in zip(numbers, replies, strict=True):
                go_on(number, reply)
    return actions
