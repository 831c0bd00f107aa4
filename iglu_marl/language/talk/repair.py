"""Repair of incomplete instructions: ask for what is missing, and fill the answer in.

`understand` reads an utterance in a world. Its result leads to worlds, or to a failure that names what is `missing`;
then the next utterance goes to `understand_answer`. An answer fills a slot of the instruction: "red", "three",
"level 2", "the left one".

All ways to fill an answer in must agree; else the question stays open. No word is ignored, apart from polite words
around the answer ("um, red I think").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy.typing as npt

from iglu_marl.core.errors import DialogueError, GridError
from iglu_marl.language.grammar.answers import Selection
from iglu_marl.language.grammar.dialogue_acts import parse_small_talk
from iglu_marl.language.grammar.engine import Parser, is_number
from iglu_marl.language.grammar.instructions import parse
from iglu_marl.language.grammar.makers import counted
from iglu_marl.language.grammar.reader import changing_words, grammar, listed, tokens
from iglu_marl.language.grammar.spelling import nearest
from iglu_marl.language.meaning.blocks import Failure, Reason, walk
from iglu_marl.language.meaning.context import Context, Resolution, Unresolved
from iglu_marl.language.meaning.corrections import Correct, Repeat
from iglu_marl.language.meaning.placing import SAME, OtherSide
from iglu_marl.language.meaning.references import (
    Anaphor,
    AnyOf,
    At,
    Blocks,
    Each,
    Item,
    LastBlock,
    Level,
    PluralAnaphor,
    resolve,
)
from iglu_marl.language.meaning.shapes import Direction, Kind, Noun
from iglu_marl.language.meaning.statements import AssertCount
from iglu_marl.language.meaning.verbs import (
    Ambiguous,
    Facing,
    Instruction,
    KeepOnly,
    Pick,
    PlaceGoal,
    Remove,
    Resize,
    Sequence,
    SetFocus,
    bind_referent,
    outcomes,
    rebuilt,
)
from iglu_marl.language.meaning.worlds import ExpectedWorld

Grid = npt.NDArray[Any]
Found = tuple[ExpectedWorld, ...] | Failure

_VERBS = ("place", "stack", "remove", "replace", "move", "copy", "mirror", "extend")
_REPLIES = {
    "color": ("reply_color",),
    "count": ("reply_count",),
    "height": ("reply_height", "reply_count"),
    "direction": ("reply_direction",),
    "place": ("reply_place",),
    "referent": ("reply_which",),
}
"""Categories of answers by what is missing."""


@dataclass(frozen=True)
class Understanding:
    """The meaning of an utterance in a world.

    instruction: as far as it was given, or None. found: the worlds that it leads to, or why there is none. act: what a
    builder does about it: the "request", or nothing ("remark"), the last request "again", "stop" it, or "cancel" what
    it asked about. words: what a reader says about it.
    """

    text: str
    instruction: Instruction | None
    found: Found
    act: str = "request"
    words: str = ""

    @property
    def question(self) -> Failure | None:
        """The failure to ask about, or None."""
        return self.found if isinstance(self.found, Failure) and self.found.missing is not None else None


def understand(text: str, grid: Grid, context: Context | None = None) -> Understanding:
    """Read an utterance in a world."""
    context = context or Context()
    stated = parse(text, context)
    if _announces(text, stated):
        return Understanding(text, None, Failure(Reason.NOT_UNDERSTOOD, text, text))
    if not isinstance(stated, Failure):
        return try_instruction(text, stated, grid, context)
    if isinstance(stated.partial, PlaceGoal) and stated.reason is Reason.NO_PLACE:  # "two more" may need none
        heard = try_instruction(text, stated.partial, grid, context)
        if not isinstance(heard.found, Failure):
            return heard
    return Understanding(text, stated.partial, stated)


def _announces(text: str, instruction: Any) -> bool:
    """Return whether a text says what comes next, not what to change: "now we'll do red", "we'll break blocks"."""
    parts = getattr(instruction, "parts", (instruction,))
    if not all(isinstance(one, (Correct, Remove)) for one in parts):
        return False
    said = tokens(text)
    goes_on = not listed("going_on").isdisjoint(said)
    bare = listed("objects").isdisjoint(said) and not listed("blockn").isdisjoint(said)
    return all(
        bare and one == Remove(Blocks(count=None))
        if isinstance(one, Remove)
        else goes_on and one in (Correct(one.color), Correct(where=OtherSide()))
        for one in parts
    )


_REQUIRED = re.compile(r"\b(?:it|they|you|th\w+)\b[^.,]*\b(?:should|must|ha[sv]e? to|needs? to)\b", re.I)


@cache
def remarking_words() -> frozenset[str]:
    """Return the words with which a remark can begin: "that looks like a castle", "great job"."""
    return listed("subject") | {phrase.split()[0] for phrase in listed("interjection")}


def is_remark(text: str, context: Context) -> bool:
    """Return whether a text asks for nothing: "Great job so far!"."""
    said = tokens(text)
    pieces = [tokens(piece) for piece in re.split(r"[,.;!\n]", text)]
    rest = [word for piece in pieces if " ".join(piece) not in listed("interjection") for word in piece]
    if "?" in text or said in ([], ["no"], ["nope"]):
        return False
    if not rest:
        return True
    meaningful = changing_words() | listed("acting") | listed("referring")
    meaningful |= grammar().words_of("number", "side") - {"one", "a"}
    if (
        rest[0].split("'")[0] not in remarking_words()
        or any(" ".join(said).startswith(phrase) for phrase in listed("want"))
        or not meaningful.isdisjoint(rest)
        or (begins_with_verb(text) and not grammar().words_of("noun1", "nounn").isdisjoint(said))
        or any(core[0] in listed("locating") for core in bare(said))
        or any(is_number(word) or nearest(word, grammar().words_of("color")) for word in rest)
        or parse_small_talk(text) is not None
        or _REQUIRED.search(text)
    ):
        return False
    stated = parse(text, context)
    return isinstance(stated, Failure) and stated.partial is None


def try_instruction(text: str, instruction: Instruction, grid: Grid, context: Context) -> Understanding:
    """Try an instruction in a world."""
    try:
        found = outcomes(instruction, grid, context)
    except (DialogueError, GridError) as error:
        found = Failure(Reason.NOT_UNDERSTOOD, str(error), text)
    if isinstance(found, Failure):
        found = replace(found, text=text)
        if found.reason is Reason.AMBIGUOUS and found.reference is None:  # two meanings
            return Understanding(text, None, replace(found, reason=Reason.NOT_UNDERSTOOD, choices=()))
    return Understanding(text, instruction, found)


def understand_answer(
    pending: Understanding, reply: str, grid: Grid, context: Context | None = None
) -> Understanding | None:
    """Read the answer to an open question; None if the utterance is no answer.

    A whole instruction without "it" is a new instruction. Anything else is a fragment for the missing part; if another
    part is missing then, that is the next question.
    """
    context = context or Context()
    question = pending.question
    if question is None or question.missing == "word":
        return None
    whole = parse(reply, context)
    if not isinstance(whole, Failure) and begins_with_verb(reply) and not _mentions(whole, _DEPENDENT):
        return understand(reply, grid, context)
    answer = _Answer(pending, question, grid, context)
    for part in _parts(reply):
        found = answer.filled(part)
        if found is not None:
            return found
    if not isinstance(whole, Failure) or begins_with_verb(reply):
        new = understand(reply, grid, context)
    else:
        new = Understanding(reply, whole.partial, whole)
    corrects = _mentions(new.instruction, (Correct,))  # what was done before: "yellow"
    if answer.further is not None and (corrects or isinstance(new.found, Failure)):
        return answer.further
    nothing = new.instruction is None or isinstance(new.instruction, (AssertCount, KeepOnly, SetFocus))
    nothing = nothing and isinstance(new.found, Failure)
    fragment = _is_fragment(reply) or corrects  # replaces no instruction
    return None if nothing or fragment else new


_DEPENDENT = (Anaphor, LastBlock, PluralAnaphor, Repeat, Correct, AssertCount, Pick)


def is_dependent(instruction: Any) -> bool:
    """Return whether an instruction is about what the last one was about: "make it green"."""
    return _mentions(instruction, _DEPENDENT)


def _past(said: list[str], *categories: str) -> set[int]:
    """Return the positions that can be reached by words of these categories alone."""
    parser = Parser(grammar(), said)
    starts, todo = {0}, [0]
    while todo:
        at = todo.pop()
        ends = {end for name in categories for _, end, _ in parser.read(name, at)} - starts
        starts |= ends
        todo += ends
    return starts


def begins_with_verb(text: str) -> bool:
    """Return whether a text begins like a whole instruction: "could you please put"."""
    verbs = [phrase.split() for name in _VERBS for phrase in grammar().lists[name]]
    said = tokens(text)
    starts = _past(said, "joints", "hedge")
    return any(said[at : at + len(verb)] == verb for at in starts for verb in verbs)


def _is_fragment(text: str) -> bool:
    """Return whether a text is no sentence of its own: without a verb, or about "it"."""
    if begins_with_verb(text):
        return False
    if tokens(text)[:1] in (["they"], ["it"], ["them"], ["that"], ["this"]):
        return True
    cores = ((said, Parser(grammar(), said).read("bare")) for said in bare(tokens(text)))
    return any(said[end : end + 1] in ([], ["."]) for said, found in cores for _, end, _ in found)


def _mentions(value: Any, kinds: tuple[type, ...]) -> bool:
    return any(isinstance(part, kinds) for part in walk(value))


def _parts(reply: str) -> list[list[list[str]]]:
    """Return the ways to split an answer: whole, or in the pieces between commas and "so"."""
    pieces = [tokens(piece) for piece in re.split(r"[,.;:!?\u2014]|\bso\b", reply)]
    pieces = [piece for piece in pieces if piece]
    whole = [word for word in tokens(reply) if word != "."]
    return [[whole], pieces] if len(pieces) > 1 else [[whole]]


def bare(said: list[str]) -> list[list[str]]:
    """Return an answer with ever more of the words around it removed."""
    size = len(said)
    ends = [end for end in range(size + 1) if size - end in _past(said[end:], "hedge")]
    spans = sorted(product(_past(said, "hedge"), ends), key=lambda span: span[1] - span[0])
    cores = [said[start:end] for start, end in spans if start < end]
    return [core for number, core in enumerate(cores) if core not in cores[:number]]


def _readings(category: str, said: list[str]) -> list[Any]:
    """Return the values of a category that all words have."""
    found = Parser(grammar(), said).read(category)
    return list(dict.fromkeys(value for value, end, _ in found if end == len(said)))


class _Answer:
    """Fills an answer into the utterance that left a question open."""

    def __init__(self, pending: Understanding, question: Failure, grid: Grid, context: Context) -> None:
        self.pending, self.question, self.grid, self.context = pending, question, grid, context
        self.setting = Resolution.of(grid, context)
        self.further: Understanding | None = None  # answered, but something else is missing

    def filled(self, pieces: list[list[str]]) -> Understanding | None:
        """Return the utterance with the answer in one of these pieces; None if none or several fit."""
        found: list[Understanding] = []
        for piece in pieces:
            for core in bare(piece):
                heard = self._agreed(self._candidates(core))
                if heard is not None:
                    found.append(heard)
                    break
            else:
                if len(piece) not in _past(piece, "hedge"):
                    return None  # its words would be dropped
        return found[0] if found and _same(found) else None

    def _agreed(self, tiers: Iterable[Iterable[Understanding]]) -> Understanding | None:
        """Return the result of the first tier that has any, if all results of that tier agree."""
        for tier in tiers:
            try:
                results = [*tier]
            except Unresolved:
                continue
            good = [heard for heard in results if not isinstance(heard.found, Failure)]
            if good:
                return good[0] if _same(good) else None
            further = (heard for heard in results if self._leads_on(heard.found))
            self.further = self.further or next(further, None)
        return None

    def _leads_on(self, failure: Any) -> bool:
        """Return whether the question is answered and another one follows."""
        asked = self.question
        unread = failure.reason in (Reason.NOT_UNDERSTOOD, Reason.UNKNOWN_WORD)
        return not unread and (failure.reason, failure.reference) != (asked.reason, asked.reference)

    def _candidates(self, said: list[str]) -> Iterator[Iterable[Understanding]]:
        missing = self.question.missing or ""
        values = (value for name in _REPLIES.get(missing, ()) for value in _readings(name, said))
        yield from (self._with(missing, value) for value in values)
        if self.question.choices and missing == "place":
            yield from map(self._select, _readings("reply_which", said))

    def _with(self, missing: str, value: Any) -> Iterator[Understanding]:
        """Fill a value into the first part of the instruction that has such a slot."""
        if isinstance(value, Selection):
            yield from self._select(value)
        elif self.pending.instruction is not None:
            for made in _changed(self.pending.instruction, partial(_CHANGES[missing], value)):
                yield try_instruction(self.pending.text, made, self.grid, self.context)

    def _select(self, which: Selection) -> Iterator[Understanding]:
        reference, choices = self.question.reference, self.question.choices
        instruction = self.pending.instruction
        if instruction is None:
            return
        named: Any = None
        if reference == Anaphor() and which.core != Blocks():
            named = counted(which.core, 1)
        elif which.free and isinstance(reference, Blocks):
            named = AnyOf(replace(reference, count=None))
        elif which.free and isinstance(reference, AnyOf):
            named = replace(reference, stated=True)
        elif which.every and isinstance(reference, Blocks) and which.number in (None, len(choices)):
            named = replace(reference, count=None, middle=False)
        elif which.every and isinstance(reference, AnyOf) and which.number in (None, len(choices)):
            named = reference.of
        if named is not None:
            made = rebuilt(instruction, lambda part: named if part == reference else part)
            yield try_instruction(self.pending.text, made, self.grid, self.context)
        if which.every or which.free:
            return
        items = self._filter(which, list(choices), reference)
        if len(items) != 1:
            return
        try:
            made = bind_referent(instruction, reference, At(items[0][0]))
        except DialogueError:
            return
        yield try_instruction(self.pending.text, made, self.grid, self.context)

    def _filter(self, which: Selection, items: list[Item], reference: Any) -> list[Item]:
        if which.number is not None:
            return [item for item in items if len(item) == which.number]
        core = which.core
        if core.by_size == "largest" and len(set(map(len, items))) == 1:  # "the tallest" of blocks
            core = replace(core, by_size=None, extreme=Direction.UP)
        if core.where is not None:
            items = core.where.fitting(Blocks(count=None), items, self.setting)
        if core.colors or core.size is not None:
            if isinstance(getattr(reference, "kind", None), Noun) and core.kind is Kind.BLOCK:
                return [i for i in items if {*map(self.setting.color_at, i)} <= {*core.colors}]
            kind = reference.kind if core.kind is Kind.BLOCK and isinstance(reference, Blocks) else core.kind
            described = Blocks(core.colors, kind, None, size=core.size)
            fitting = [set(item) for item in resolve(described, self.setting)]
            items = [item for item in items if any(set(item) <= cells for cells in fitting)]
        return core.selected(items, self.setting) if items else []


def _same(found: list[Understanding]) -> bool:
    worlds = {
        None if isinstance(heard.found, Failure) else frozenset(w.grid.tobytes() for w in heard.found)
        for heard in found
    }
    return len(worlds) == 1


def _changed(value: Any, change: Callable[[Any], Any]) -> Iterator[Any]:
    """Change the first part of an instruction for which `change` returns a value; each reading separately."""
    if isinstance(value, Ambiguous):
        for reading in value.readings:
            yield from _changed(reading, change)
        return
    if isinstance(value, Sequence):
        for i, part in enumerate(value.parts):
            for made in _changed(part, change):
                inner = made.parts if isinstance(made, Sequence) else (made,)
                yield Sequence((*value.parts[:i], *inner, *value.parts[i + 1 :]))
                return
        return
    if isinstance(value, Facing):
        for made in _changed(value.then, change):
            yield Facing(value.view, made)
        return
    try:
        made = change(value)
    except (DialogueError, GridError, Unresolved):
        return
    if made is not None:
        yield made


def _colored(color: int, part: Any) -> Any:
    if isinstance(part, PlaceGoal) and part.new.color in (None, SAME):
        return replace(part, new=replace(part.new, color=color))
    return None


def _counted(n: int, part: Any) -> Any:
    if not isinstance(part, PlaceGoal):
        return None
    new = part.new
    if new.kind is Kind.BLOCK:
        return replace(part, new=replace(new, count=n, vague=False)) if new.count is None else None
    return replace(part, new=replace(new, sizes=(n,))) if not new.sizes else None


def _directed(way: Direction, part: Any) -> Any:
    if isinstance(part, Resize) and part.way is None:
        return replace(part, way=way)
    if isinstance(part, PlaceGoal) and part.new.way is None:
        return replace(part, new=replace(part.new, way=way, standing=None))
    return None


def _placed(where: Any, part: Any) -> Any:
    if not isinstance(part, PlaceGoal) or not all(isinstance(stated, Level) for stated in part.where):
        return None
    if isinstance(where, Each):
        return replace(part, new=replace(part.new, each=True), where=(where.where, *part.where))
    return replace(part, where=(where, *part.where))


_CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "color": _colored,
    "count": _counted,
    "height": _counted,
    "direction": _directed,
    "place": _placed,
}
"""How a value is filled in, by what is missing."""
