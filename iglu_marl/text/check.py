"""A quick check of a language model: 60 requests as the builder, or 20 structures as the architect.

The requests are turns of the bundled sessions, each in the world and after the dialogue in which it was written, and
simple ones without a colour, about which the builder has to ask.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from iglu_marl.agents.llm.backends import acquire_backend, release_backend
from iglu_marl.agents.llm.builder import LLMBuilder
from iglu_marl.agents.llm.messages import Backend, ChatRequest, Message
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.stats import Stats
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.core.arguments import check_option
from iglu_marl.core.errors import ServiceRefusedError
from iglu_marl.core.grid import COLOR_NAMES
from iglu_marl.core.jobs import do_jobs, each
from iglu_marl.core.task import Task
from iglu_marl.data.situations import Situation
from iglu_marl.evaluation.action_prediction import AgentPredictor
from iglu_marl.language import CellEdit, Failure, parse, render
from iglu_marl.tasks import BundledTasks
from iglu_marl.text.game import TextGame
from iglu_marl.text.rounds import InstructedRound, Rounds

COUNTS = {"builder": 60, "architect": 20}  # requests, structures
OUTCOMES = ("right", "asked", "wrong", "nothing", "unread")
Outcome = Literal["right", "asked", "wrong", "nothing", "unread"]
GOOD, CARELESS = 0.8, 0.1  # shares of right or rightly asked, and of wrong requests, of a builder by itself
_WITHOUT_COLOR = 4  # every fourth request
_REPLIES = 4  # per request
Play = Callable[[TextGame, int, Task | None], bool]


class Checked(NamedTuple):
    """Outcome of a check.

    shares: of a builder, the shares of `OUTCOMES` of the model, of the grammar, and of the model as a reader, for which
    the grammar reads where no reply can be read. Of an architect, the share of messages that the grammar reads, and of
    structures that stand. failed: games that the service spoilt, in no share.
    """

    shares: Mapping[str, Mapping[str, float]]
    advice: str
    stats: Stats
    seconds: float
    failed: int = 0


def check_model(
    settings: LLMSettings, role: str = "builder", count: int | None = None, seed: int = 0
) -> Checked:
    """Play `count` requests or structures (default: `COUNTS`).

    Raises `ServiceRefusedError` if every request to the model would fail.
    """
    check_option("role", role, COUNTS)
    began, stats, count = time.monotonic(), Stats(), count or COUNTS[role]
    requests = list(_requests(count, seed)) if role == "builder" else []
    play = partial(_play, acquire_backend(settings), settings, stats)

    def work(number: int) -> Any:
        if requests:
            return _built(requests[number], number, settings, play)
        return _described(seed + number, settings, play)

    try:
        at_once = LLMBuilder.games_at_once(settings)
        results = [result for _, result in sorted(do_jobs(each(work), range(count), concurrency=at_once))]
    finally:
        release_backend(settings)
    played = [number for number, result in enumerate(results) if result is not None]
    if requests:
        grammar = AgentPredictor(ScriptedBuilder.for_env)
        plain = [_by_grammar(grammar, requests[number]) for number in played]
        built = [results[number] for number in played]
        both = [other if one == "unread" else one for one, other in zip(built, plain, strict=True)]
        shares = {"the model": _shares(built), "the grammar": _shares(plain), "as a reader": _shares(both)}
        advice = advise_builder(shares)
    else:
        games = [results[number] for number in played]
        said = [not isinstance(parse(text), Failure) for texts, _ in games for text in texts]
        stand = [completed for _, completed in games]
        shares = {"the model": {"messages read": _mean(said), "structures completed": _mean(stand)}}
        advice = advise_architect(*shares["the model"].values())
    return Checked(shares, advice, stats, time.monotonic() - began, count - len(played))


def advise_builder(shares: Mapping[str, Mapping[str, float]]) -> str:
    """Return what a model is good for, by the shares of a builder."""

    def gain(player: str) -> float:
        return shares[player]["right"] + shares[player]["asked"] - shares[player]["wrong"]

    model = shares["the model"]
    if model["right"] + model["asked"] >= GOOD and model["wrong"] <= CARELESS:
        return "good enough as a builder (--builder llm), and as a reader"
    if gain("as a reader") > gain("the grammar") and shares["as a reader"]["wrong"] <= 2 * CARELESS:
        return "use it as a reader (ScriptedBuilder with LLMReader), not as a builder by itself"
    return "do not use it: the scripted builder alone (--builder scripted) is better"


def advise_architect(read: float, completed: float) -> str:
    """Return what a model is good for, by the shares of an architect."""
    if read >= GOOD and completed >= 0.5:
        return "good enough as an architect for every builder"
    if completed:
        return "as an architect only for a builder that reads everything (--builder llm)"
    return "do not use it as an architect: the scripted one (--architect scripted) is better"


def _mean(flags: list[bool]) -> float:
    return sum(flags) / max(1, len(flags))


def _shares(outcomes: list[Outcome]) -> dict[str, float]:
    counts = Counter(outcomes)
    return {name: counts[name] / max(1, len(outcomes)) for name in OUTCOMES}  # type: ignore[index]


def _play(
    backend: Backend, settings: LLMSettings, stats: Stats, game: TextGame, seed: int, task: Task | None
) -> bool:
    """Play a game of a seed and a task, and return False if the service spoilt it."""
    chat, done = game.reset(seed, task), False
    while not done:
        (reply,) = backend.complete([ChatRequest(tuple(map(Message.of_chat, chat)), seed)])
        stats.count(reply, settings.cost(reply.prompt_tokens, reply.completion_tokens))
        if reply.failure is not None and reply.failure.is_final:
            raise ServiceRefusedError(f"{backend!r}: {reply.failure}. {reply.detail}")
        if reply.failure is not None and not reply.failure.is_of_model:
            return False
        chat, _, done, _ = game.step(reply.text)
    return True


def _requests(count: int, seed: int) -> Iterator[InstructedRound]:
    rng, tasks = np.random.default_rng(seed), BundledTasks()
    for number in range(count):
        if number % _WITHOUT_COLOR == 0:
            yield _without_color(rng)
            continue
        task: Task = tasks.sample(rng)
        while (task.start_grid == task.target_grid).all():
            task = tasks.sample(rng)
        said = tuple(task.dialogue)
        yield InstructedRound("", task.start_grid, task.target_grid, ask="needless", before=said)


def _without_color(rng: np.random.Generator) -> InstructedRound:
    """Return the request for a block whose colour is left out."""
    color, (x, z) = int(rng.integers(1, 7)), rng.integers(-5, 6, 2).tolist()
    text, name = render(CellEdit.between((x, -1, z), 0, color)), COLOR_NAMES[color]
    text = text.replace(f"{'an' if name[0] in 'aeiou' else 'a'} {name} block", "a block", 1)
    task = Task(text, [(x, -1, z, color)])
    return InstructedRound(text, task.start_grid, task.target_grid, f"It is {name}.", "needed", False)


def _built(request: InstructedRound, number: int, settings: LLMSettings, play: Play) -> Outcome | None:
    """Return the outcome of a request, None if the service spoilt it."""
    partner = Rounds([request], "none")
    shown: dict[str, Any] = {name: getattr(settings, name) for name in ("view", "prompts", "max_edits")}
    shown["answers"] = "json" if settings.structured else "lines"
    game = TextGame(partner=partner, max_replies=_REPLIES, **shown)
    if not play(game, number, partner.task):
        return None
    needed, asked = request.ask == "needed", game.counts["questions"] > 0
    if not partner.played or (partner.played[0].built == request.start).all():
        if game.counts["unread"] == game.counts["replies"]:
            return "unread"
        return "asked" if needed and asked else "nothing"
    if needed:
        return "asked" if asked else "wrong"
    return "right" if partner.played[0].right else "wrong"


def _by_grammar(grammar: AgentPredictor, request: InstructedRound) -> Outcome:
    """Return the outcome of the scripted builder, whose questions nobody answers."""
    game = TextGame(partner=Rounds([request], "none"))
    game.reset(0, game.partner.task)  # type: ignore[union-attr]
    built = grammar(Situation(game.dialogue, game.grid, 0, (0.0, 0.0, 0.0, 0.0, 0.0)))
    if (built == request.start).all():
        return "asked" if request.ask == "needed" else "nothing"
    return "right" if (built == request.target).all() and request.ask != "needed" else "wrong"


def _described(seed: int, settings: LLMSettings, play: Play) -> tuple[list[str], bool] | None:
    """Return the messages of an architect, and whether the structure stands; None if the service spoilt the game."""
    game = TextGame("architect", "scripted", view=settings.view, prompts=settings.prompts)
    if not play(game, seed, None):
        return None
    said = [utterance.text for utterance in game.dialogue if utterance.role is game.turn]
    return said, game.completed
