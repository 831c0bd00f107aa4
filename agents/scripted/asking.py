"""Utterances of a builder about an instruction that it cannot follow: questions, refusals, misspelt words.

A refusal of a text that was not read quotes what was not understood, and shows the two nearest example requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from iglu_marl.core.grid import COLOR_NAMES, color_id
from iglu_marl.language import Blocks, CellEdit, Context, DialogueAct, Failure, say
from iglu_marl.language.grammar.constructions import example_requests
from iglu_marl.language.grammar.reader import tokens
from iglu_marl.language.grammar.templates import templates, words
from iglu_marl.language.meaning.blocks import Reason, walk
from iglu_marl.language.meaning.statements import Name
from iglu_marl.language.meaning.verbs import Ambiguous, Facing
from iglu_marl.language.talk.discourse import asks
from iglu_marl.language.talk.repair import Understanding

_QUESTIONS = {
    "color": DialogueAct.WHICH_COLOR,
    "height": DialogueAct.WHICH_HEIGHT,
    "place": DialogueAct.WHICH_PLACE,
    "count": DialogueAct.WHICH_NUMBER,
    "direction": DialogueAct.WHICH_WAY,
    "referent": DialogueAct.WHICH_ONE,
}
_REFUSALS = {
    Reason.UNKNOWN_WORD: DialogueAct.UNKNOWN_WORD,
    Reason.NO_MATCH: DialogueAct.NO_SUCH,
    Reason.OUTSIDE: DialogueAct.OUTSIDE,
    Reason.OCCUPIED: DialogueAct.OCCUPIED,
}
_UNREAD = (Reason.EMPTY, Reason.UNKNOWN_WORD, Reason.NOT_UNDERSTOOD, Reason.CONTRADICTION)
_POLITE = {"can", "could", "would", "will", "you", "me", "please"}
MOST_WORDS = 6  # maximum length of a quoted part in a refusal

Fits = Callable[[str], bool]


def objection(
    heard: Understanding, fits: Fits, grid: Any, context: Context, *, with_examples: bool = True
) -> str:
    """Return the question about an instruction, or the reason against it: the fullest form that fits a message.

    with_examples: whether a refusal may show example requests; token chat lacks their words.
    """
    failure = heard.found
    assert isinstance(failure, Failure)
    return next(text for text in _forms(heard, failure, grid, context, with_examples) if fits(text))


def _forms(
    heard: Understanding, failure: Failure, grid: Any, context: Context, with_examples: bool
) -> Iterator[str]:
    reason = failure.reason
    if reason is Reason.UNKNOWN_WORD and failure.suggestion:
        yield say(DialogueAct.MEAN_OTHER, word=failure.detail, other=failure.suggestion)
    colors_read = _colors_said(heard.text) <= _colors_of(heard.instruction)
    unread = heard.instruction is None and reason in _UNREAD
    if unread or (failure.missing == "color" and not colors_read):
        yield from _refusals(heard.text, failure, with_examples)
    if reason is Reason.WRONG_COLOR:
        yield say(DialogueAct.WRONG_COLOR, failure.color)
    if reason is Reason.NO_MATCH and isinstance(heard.instruction, CellEdit):
        yield say(DialogueAct.NOTHING_THERE)
    if reason is Reason.AMBIGUOUS:
        if isinstance(failure.reference, Blocks) and len(failure.reference.colors) == 1:
            yield say(DialogueAct.WHICH_BLOCK, failure.reference.colors[0])
    if not asks(failure) and reason in _REFUSALS:
        yield say(_REFUSALS[reason])
    yield say(_QUESTIONS.get(failure.missing or "", DialogueAct.NOT_UNDERSTOOD))


def _refusals(text: str, failure: Failure, with_examples: bool) -> Iterator[str]:
    """Return refusals of a text that was not read, with two example requests, one and none."""
    quoted = " ".join(words(failure.detail)[:MOST_WORDS])
    act = DialogueAct.UNKNOWN_NAMED if failure.reason is Reason.UNKNOWN_WORD else DialogueAct.NOT_READ
    is_said = quoted and f" {quoted} " in f" {' '.join(words(text))} "
    refusal = say(act, word=quoted) if is_said else say(DialogueAct.NOT_UNDERSTOOD)
    if with_examples:
        nearest = sorted(example_requests(), key=lambda example: -_overlap(text, example))[:2]
        for examples in (nearest, nearest[:1]):
            listed = " or ".join(f"\u201c{example}\u201d" for example in examples)
            yield f"{refusal} {templates()['examples_given'].format(listed)}"
    yield refusal


def _overlap(text: str, other: str) -> float:
    """Return the words that two texts share, as a part of the words of both."""
    said, others = set(words(text)) - _POLITE, set(words(other))
    return len(said & others) / len(said | others)


def _colors_said(text: str) -> set[int]:
    return {color_id(word) for word in words(text) if word in COLOR_NAMES[1:]}


def _colors_of(instruction: Any) -> set[int]:
    """Return the colours of the blocks that an instruction refers to."""
    return {color for part in walk(instruction) if isinstance(part, Blocks) for color in part.colors}


def report_done(heard: Understanding, idle: tuple[int, ...], fits: Fits) -> str:
    """Return the report on a finished instruction, with the parts that changed nothing."""
    instruction: Any = heard.instruction
    while isinstance(instruction, (Ambiguous, Facing)):
        instruction = instruction.readings[0] if isinstance(instruction, Ambiguous) else instruction.then
    parts = getattr(instruction, "parts", (instruction,))
    if all(isinstance(part, Name) for part in parts):
        return say(DialogueAct.OKAY)
    idle = tuple(number for number in idle if not isinstance(parts[number], Name))
    names = [part.strip() for part in " ".join(tokens(heard.text)).split(" . ")]
    if len(names) != len(parts):
        names = [f"the {ordinal} part" for ordinal in templates()["ordinals"]]
    stated = " and ".join(names[number] for number in idle if number < len(names))
    forms = (
        say(DialogueAct.UNCHANGED, word=" ".join(stated.split()[:n])) for n in (None, MOST_WORDS) if stated
    )
    return next(filter(fits, forms), say(DialogueAct.DONE))
