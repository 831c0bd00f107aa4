"""A quick check of a language model: 60 requests as the builder, or 20 structures as the architect.

The requests are turns of the bundled sessions, each in the world and after the dialogue in which it was written, and
simple ones without a colour, about which the builder has to ask.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from iglu_marl.agents.llm.backends import acquire_backend, release_backend
from iglu_marl.agents.llm.messages import ChatRequest, Message, Reply
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.stats import Stats
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.core.errors import ServiceRefusedError
from iglu_marl.core.grid import COLOR_NAMES
from iglu_marl.core.jobs import do_jobs, each
from iglu_marl.core.task import Task
from iglu_marl.data.situations import Situation
from iglu_marl.evaluation.action_prediction import AgentPredictor
from iglu_marl.language import CellEdit, Failure, parse, render
from iglu_marl.tasks import BundledTasks
from iglu_marl.text.game import ChatMessage, TextGame
from iglu_marl.text.rounds import InstructedRound, Rounds

REQUESTS, STRUCTURES = 60, 20
_WITHOUT_COLOR = 4  # every fourth request
_REPLIES = 4  # per request
GOOD, CARELESS = 0.8, 0.1  # right or rightly asked, and wrong, of a builder by itself
OUTCOMES = ("right", "asked", "wrong", "nothing")
Outcome = Literal["right", "asked", "wrong", "nothing"]
Answer = Callable[[list[ChatMessage], int], Reply]


class Checked(NamedTuple):
    """Outcomes of requests: of the model, of the grammar, and of both: the grammar where the model has no edits.

    failed: requests that the service spoilt, which are in no count.
    """

    model: Counter[str]
    grammar: Counter[str]
    reader: Counter[str]
    stats: Stats
    seconds: float
    failed: int = 0

    @property
    def advice(self) -> str:
        """What to use the model for."""
        right, wrong = share(self.model, "right", "asked"), share(self.model, "wrong")
        if right >= GOOD and wrong <= CARELESS:
            return "good enough as a builder (--builder llm), and as a reader (--builder scripted-llm)"
        if _gain(self.reader) > _gain(self.grammar) and share(self.reader, "wrong") <= 2 * CARELESS:
            return "use it as a reader (--builder scripted-llm), not as a builder by itself"
        return "do not use it: the scripted builder alone (--builder scripted) is better"


class CheckedArchitect(NamedTuple):
    """Messages of an architect, those that the builder without a model reads, and structures that stand."""

    messages: int
    read: int
    structures: int
    standing: int
    stats: Stats
    seconds: float
    failed: int = 0

    @property
    def advice(self) -> str:
        """What to use the model for."""
        if self.read >= GOOD * max(1, self.messages) and self.standing >= self.structures / 2:
            return "good enough as an architect for every builder"
        if self.standing:
            return "as an architect only for a builder that reads everything (--builder llm or scripted-llm)"
        return "do not use it as an architect: the scripted one (--architect scripted) is better"


def share(counts: Counter[str], *names: str) -> float:
    """Return the share of these outcomes."""
    return sum(counts[name] for name in names) / max(1, counts.total())


def _gain(counts: Counter[str]) -> float:
    return share(counts, "right", "asked") - share(counts, "wrong")


def check_builder(settings: LLMSettings, count: int = REQUESTS, seed: int = 0) -> Checked:
    """Let a model build `count` requests. Raises `ServiceRefusedError` if every request to it would fail."""
    rounds, began = list(_requests(count, seed)), time.monotonic()
    grammar = AgentPredictor(ScriptedBuilder.for_env)
    plain = [_by_grammar(grammar, part) for part in rounds]
    with _Model(settings) as model:

        def played(number: int) -> Outcome | None:
            return _played(rounds[number], number, settings, model.answer)

        jobs = do_jobs(each(played), range(count), concurrency=model.at_once)
        outcomes = [outcome for _, outcome in sorted(jobs)]
    whole = [(one, other) for one, other in zip(outcomes, plain, strict=True) if one is not None]
    return Checked(
        Counter(one for one, _ in whole),
        Counter(other for _, other in whole),
        Counter(other if one == "nothing" else one for one, other in whole),
        model.stats,
        time.monotonic() - began,
        count - len(whole),
    )


def check_architect(settings: LLMSettings, count: int = STRUCTURES, seed: int = 0) -> CheckedArchitect:
    """Let a model describe `count` structures of up to 8 blocks to the scripted builder. Raises as `check_builder`."""
    began = time.monotonic()
    with _Model(settings) as model:

        def played(number: int) -> tuple[list[str], bool] | None:
            game = TextGame("architect", "scripted", view=settings.view, prompts=settings.prompts)
            messages, done, said, info = game.reset(seed + number), False, [], dict[str, Any]()
            while not done:
                reply = model.answer(messages, number)
                if reply.failure is not None and not reply.failure.is_of_model:
                    return None
                messages, _, done, info = game.step(reply.text)
                said += [info["said"]] if info["said"] else []
            return said, info["completed"]

        games = [game for _, game in do_jobs(each(played), range(count), concurrency=model.at_once) if game]
    said = [text for texts, _ in games for text in texts]
    read = sum(not isinstance(parse(text), Failure) for text in said)
    standing = sum(completed for _, completed in games)
    seconds = time.monotonic() - began
    return CheckedArchitect(len(said), read, len(games), standing, model.stats, seconds, count - len(games))


class _Model:
    """A model with what it takes."""

    def __init__(self, settings: LLMSettings) -> None:
        self.stats = Stats()
        self._settings, self._backend = settings, acquire_backend(settings)
        self.at_once = settings.concurrency if settings.endpoint else settings.batch_size

    def __enter__(self) -> _Model:
        return self

    def __exit__(self, *error: object) -> None:
        release_backend(self._settings)

    def answer(self, chat: list[ChatMessage], seed: int) -> Reply:
        """Return the reply to a chat. Raises `ServiceRefusedError` if every request would fail."""
        (reply,) = self._backend.complete([ChatRequest(tuple(map(Message.of_chat, chat)), seed)])
        self.stats.count(reply, self._backend.cost(reply.prompt_tokens, reply.completion_tokens))
        if reply.failure is not None and reply.failure.is_final:
            raise ServiceRefusedError(f"{self._backend!r}: {reply.failure}. {reply.detail}")
        return reply


def _requests(count: int, seed: int) -> Iterable[InstructedRound]:
    rng, tasks = np.random.default_rng(seed), BundledTasks()
    for number in range(count):
        if number % _WITHOUT_COLOR == 0:
            yield _without_color(rng)
            continue
        task: Task = tasks.sample(rng)
        while (task.start_grid == task.target_grid).all():
            task = tasks.sample(rng)
        yield InstructedRound(
            "", task.start_grid, task.target_grid, ask="needless", before=tuple(task.dialogue)
        )


def _without_color(rng: np.random.Generator) -> InstructedRound:
    """Return the request for a block whose colour is not said."""
    color, (x, z) = int(rng.integers(1, 7)), rng.integers(-5, 6, 2).tolist()
    text, name = render(CellEdit.between((x, -1, z), 0, color)), COLOR_NAMES[color]
    unsaid = text.replace(f"{'an' if name[0] in 'aeiou' else 'a'} {name} block", "a block", 1)
    task = Task(unsaid, [(x, -1, z, color)])
    return InstructedRound(unsaid, task.start_grid, task.target_grid, f"It is {name}.", "needed", False)


def _played(asked: InstructedRound, number: int, settings: LLMSettings, answer: Answer) -> Outcome | None:
    """Return the outcome of a request, None if the service spoilt it."""
    partner = Rounds([asked], "none")
    game = TextGame(
        partner=partner, answers="json" if settings.structured else "lines", view=settings.view,
        max_edits=settings.max_edits, prompts=settings.prompts, max_replies=_REPLIES,
    )  # fmt: skip
    messages, done = game.reset(number, partner.task), False
    while not done:
        reply = answer(messages, number)
        if reply.failure is not None and not reply.failure.is_of_model:
            return None
        messages, _, done, _ = game.step(reply.text)
    if not partner.played or (partner.played[0].built == asked.start).all():
        return "asked" if asked.ask == "needed" and game.counts["questions"] else "nothing"
    (played,) = partner.played
    if asked.ask == "needed":
        return "asked" if played.asked else "wrong"
    return "right" if played.right else "wrong"


def _by_grammar(grammar: AgentPredictor, asked: InstructedRound) -> Outcome:
    """Return the outcome of the scripted builder, which is not told what its questions would bring."""
    game = TextGame(partner=Rounds([asked], "none"))
    game.reset(0, game.partner.task)  # type: ignore[union-attr]
    x, y, z, pitch, yaw = (float(number) for number in game.pose)
    built = grammar(Situation(game.dialogue, game.grid, 0, (x, y, z, yaw, pitch)))
    if (built == asked.start).all():
        return "asked" if asked.ask == "needed" else "nothing"
    return "right" if (built == asked.target).all() and asked.ask != "needed" else "wrong"
