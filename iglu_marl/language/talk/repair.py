"""Repair of incomplete instructions: ask for what is missing, and fill the answer in.

`understand` reads an utterance in a world. Its result leads to worlds, or to a failure that names what is `missing`;
then the next utterance goes to `understand_answer`. An answer fills a slot of the instruction ("red", "three",
"level 2", "the left one") or a gap of the sentence: "Make the tower taller" lacks a number.

All ways to fill an answer in must agree; else the question stays open. No word is ignored, apart from polite words
around the answer ("um, red I think").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DialogueError, GridError
from iglu_marl.core.grid import Cell, color_id, color_name
from iglu_marl.language.grammar.answers import Above, ColorList, Count, Selection, Toward, Until, ValueOf
from iglu_marl.language.grammar.dialogue_acts import parse_small_talk
from iglu_marl.language.grammar.engine import Parser, is_number
from iglu_marl.language.grammar.instructions import parse
from iglu_marl.language.grammar.makers import counted
from iglu_marl.language.grammar.modifiers import InColor, Modifiers
from iglu_marl.language.grammar.reader import (
    changing_words,
    grammar,
    listed,
    read_filled,
    tokens,
)
from iglu_marl.language.grammar.spelling import near
from iglu_marl.language.meaning.blocks import CellEdit, EditKind, Failure, Reason, walk
from iglu_marl.language.meaning.context import Context, Resolution, Unresolved
from iglu_marl.language.meaning.corrections import Correct, Repeat
from iglu_marl.language.meaning.placing import ANY_COLOR, SAME, OtherSide
from iglu_marl.language.meaning.references import (
    Anaphor,
    AnyOf,
    At,
    Beside,
    Blocks,
    Each,
    Item,
    LastBlock,
    Level,
    PluralAnaphor,
    Spot,
    resolve,
)
from iglu_marl.language.meaning.shapes import COMPASS, Box, Direction, Kind, Noun, shifted
from iglu_marl.language.meaning.statements import AssertCount, Choose, Statement
from iglu_marl.language.meaning.verbs import (
    Ambiguous,
    Build,
    Facing,
    Instruction,
    KeepOnly,
    Pick,
    Place,
    PlaceGoal,
    Remove,
    Resize,
    Sequence,
    SetFocus,
    bind_referent,
    first_place,
    outcomes,
    rebuilt,
)
from iglu_marl.language.meaning.worlds import ExpectedWorld

Grid = npt.NDArray[Any]
Found = tuple[ExpectedWorld, ...] | Failure

MAX_SIZE = 11
_GROUND = -1
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
_GAPS: dict[Reason, tuple[tuple[str, ...], Any]] = {
    Reason.NO_NUMBER: (("number",), 2),
    Reason.NO_DIRECTION: (("direction", "plain_way", "side", "compass"), Direction.NORTH),
    Reason.NO_COLOR: (("tint", "into_color"), color_id("red")),
    Reason.NO_PLACE: (("transfer_piece",), Modifiers((Spot(0, 0),))),
}
"""Categories whose words a sentence may lack, by the reason why it is not understood, with a value of theirs."""


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

    @property
    def complete(self) -> bool:
        """Whether it was read and can be followed."""
        return not isinstance(self.found, Failure)


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
    return Understanding(text, stated.partial, _lacking(stated))


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


def announced_color(text: str) -> int | None:
    """Return the colour that a text announces for what follows: "now we'll switch to red"."""
    ways = bare([word for word in tokens(text) if word != "."])
    found = ((len(said), Parser(grammar(), said).read("color_next")) for said in ways)
    return next((color for length, read in found for color, end, _ in read if end == length), None)


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
        or any(is_number(word) or near(word, grammar().words_of("color")) for word in rest)
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
        if found.reason is Reason.AMBIGUOUS and found.reference is None:
            worlds = [world for _, world in meanings(instruction, grid, context)]
            found = replace(found, choices=tuple(world.cells for world in worlds))
    return Understanding(text, instruction, found)


def meanings(
    instruction: Instruction | None, grid: Grid, context: Context
) -> list[tuple[Any, ExpectedWorld]]:
    """Return the readings that lead to different worlds, each with its world."""
    found: dict[bytes, tuple[Any, ExpectedWorld]] = {}
    for reading in instruction.readings if isinstance(instruction, Ambiguous) else ():
        worlds = outcomes(reading, grid, context)
        if not isinstance(worlds, Failure):
            found.setdefault(worlds[0].grid.tobytes(), (reading, worlds[0]))
    return list(found.values())


def _lacking(failure: Failure) -> Failure:
    """Return the one value without which a sentence cannot be read as a whole, if there is one."""
    if failure.reason is not Reason.NOT_UNDERSTOOD or not begins_with_verb(failure.text):
        return failure
    for reason, gap in _GAPS.items():
        stated = read_filled(failure.text, gap)
        if not isinstance(stated, Failure) and not _mentions(stated, (SetFocus, Correct)):
            return replace(failure, reason=reason, detail="")
    return failure


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
    if (chosen := _chosen(pending, question, reply, grid, context)) is not None:
        return chosen
    whole = parse(reply, context)
    if not isinstance(whole, Failure) and begins_with_verb(reply) and not _mentions(whole, _DEPENDENT):
        return understand(reply, grid, context)
    answer = _Answer(pending, question, grid, context)
    for part in _parts(reply):
        found = answer.filled(part)
        if found is not None:
            return found
    joined = _join_answer(pending, question, reply, grid, context)
    if joined is not None:
        return joined
    if not isinstance(whole, Failure) or begins_with_verb(reply):
        new = understand(reply, grid, context)
    else:
        new = Understanding(reply, whole.partial, _lacking(whole))
    if answer.further is not None and isinstance(new.found, Failure):
        return answer.further
    nothing = new.instruction is None or isinstance(new.instruction, (AssertCount, KeepOnly, SetFocus))
    nothing = nothing and isinstance(new.found, Failure)
    fragment = _is_fragment(reply) or _mentions(new.instruction, (Correct,))  # replaces no instruction
    return None if nothing or fragment else new


def answered_color(reply: str) -> str:
    """Return the colour in an answer, "I mean blue"; "" if there is none."""
    values = (value for said in bare(tokens(reply)) for value in _readings("reply_color", said))
    return next((color_name(value) for value in values if isinstance(value, int)), "")


def _chosen(
    pending: Understanding, question: Failure, reply: str, grid: Grid, context: Context
) -> Understanding | None:
    """Follow an utterance with a choice of the builder, if the answer leaves it to it: "you choose"."""
    said = [word for word in tokens(reply) if word != "."]
    free = (isinstance(value, Choose) or value == InColor(ANY_COLOR) for value in _readings("remark", said))
    if pending.instruction is None or not any(free):
        return None
    stated = {Reason.NO_COLOR: color_name(1), Reason.NO_PLACE: "anywhere"}.get(question.reason)
    if stated is not None:
        return understand_answer(pending, stated, grid, context)
    parts = getattr(pending.instruction, "parts", (pending.instruction,))
    heard = try_instruction(pending.text, Sequence((*parts, Choose())), grid, context)
    return None if isinstance(heard.found, Failure) else heard


def _join_answer(
    pending: Understanding, question: Failure, reply: str, grid: Grid, context: Context
) -> Understanding | None:
    """Read an answer as further pieces of the placement that lacks something."""
    if question.reason not in _LACKING or "?" in reply:
        return None
    text = f"{pending.text.rstrip(' .!')} , {reply}"
    heard = understand(text, grid, context)
    if isinstance(heard.found, Failure) or _placements(heard.instruction) != 1:
        more = isinstance(heard.found, Failure) and heard.found.reason == question.reason
        more = more and _placements(heard.instruction) > 0 and heard.instruction != pending.instruction
        return heard if more else None
    new = getattr(heard.instruction, "new", None)
    if question.reason is Reason.NO_COLOR and new and new.color == SAME and "same" not in tokens(reply):
        return None
    return heard if _placements(pending.instruction) == 1 else None


_LACKING = (Reason.NO_COLOR, Reason.NO_PLACE, Reason.NO_NUMBER, Reason.NO_HEIGHT, Reason.NO_DIRECTION)


def _placements(instruction: Any) -> int:
    """Return the number of instructions besides names, if all of them are placements; else 0."""
    parts = instruction.parts if isinstance(instruction, Sequence) else (instruction,)
    parts = tuple(part for part in parts if not isinstance(part, Statement))
    return len(parts) if all(isinstance(p, (PlaceGoal, Place, Build, CellEdit)) for p in parts) else 0


_DEPENDENT = (Anaphor, LastBlock, PluralAnaphor, Repeat, Correct, AssertCount, Pick)


def is_dependent(instruction: Any) -> bool:
    """Return whether an instruction is about what the last one was about: "make it green"."""
    return _mentions(instruction, _DEPENDENT)


def begins_with_verb(text: str) -> bool:
    """Return whether a text begins like a whole instruction: "could you please put"."""
    verbs = [phrase.split() for name in _VERBS for phrase in grammar().lists[name]]
    said = tokens(text)
    parser = Parser(grammar(), said)
    starts, todo = {0}, [0]
    while todo:
        at = todo.pop()
        ends = {end for name in ("joints", "hedge") for _, end, _ in parser.read(name, at)} - starts
        starts |= ends
        todo += ends
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
    hedges = grammar().categories["hedge"]
    found: list[list[str]] = []
    parser = Parser(grammar(), said)
    starts, todo = {0}, [0]
    while todo:
        at = todo.pop()
        for _, end, _ in parser.read(hedges.name, at):
            if end not in starts:
                starts.add(end)
                todo.append(end)
    ends, todo = {len(said)}, [len(said)]
    while todo:
        at = todo.pop()
        for start in range(at):
            if start not in ends and any(end == at for _, end, _ in parser.read(hedges.name, start)):
                ends.add(start)
                todo.append(start)
    for start, end in sorted(product(starts, ends), key=lambda span: span[1] - span[0]):
        if start < end and said[start:end] not in found:
            found.append(said[start:end])
    return found


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
                if any(end == len(piece) for _, end, _ in Parser(grammar(), piece).read("where")):
                    return None  # its words would be dropped
        return found[0] if found and _same(found) else None

    def _agreed(self, tiers: Iterable[Iterable[Understanding]]) -> Understanding | None:
        """Return the result of the first tier that has any, if all results of that tier agree."""
        for tier in tiers:
            good: list[Understanding] = []
            for heard in tier:
                if not isinstance(heard.found, Failure):
                    good.append(heard)
                elif self.further is None and self._leads_on(heard.found):
                    self.further = heard
            if good:
                return good[0] if _same(good) else None
        return None

    def _leads_on(self, failure: Failure) -> bool:
        """Return whether the question is answered and another one follows."""
        asked = self.question
        unread = failure.reason in (Reason.NOT_UNDERSTOOD, Reason.UNKNOWN_WORD)
        return not unread and (failure.reason, failure.reference) != (asked.reason, asked.reference)

    def _candidates(self, said: list[str]) -> Iterator[Iterable[Understanding]]:
        missing = self.question.missing or ""
        if isinstance(self.pending.instruction, Ambiguous) and self.question.reference is None:
            yield self._choose_reading(said)
        moved = self.pending.instruction is None and self.question.reason is Reason.NO_PLACE
        categories = ("transfer_piece",) if moved else _REPLIES.get(missing, ())
        yield from map(self._with, (value for name in categories for value in _readings(name, said)))
        if self.question.choices and missing == "place":
            yield from map(self._with, _readings("reply_which", said))

    def _choose_reading(self, said: list[str]) -> Iterator[Understanding]:
        found = meanings(self.pending.instruction, self.grid, self.context)
        for number, end, _ in Parser(grammar(), said).read("reply_reading"):
            if end == len(said) and len(found) == 2:
                yield try_instruction(self.pending.text, found[number - 1][0], self.grid, self.context)

    def _with(self, value: Any) -> Iterator[Understanding]:
        try:
            yield from self._with_value(value)
        except Unresolved:
            return

    def _with_value(self, value: Any) -> Iterator[Understanding]:
        fillings: dict[type, Callable[[Any], Iterator[Understanding]]] = {
            Selection: self._select,
            ColorList: self._with_colors,
            Count: self._with_count,
            Until: self._until,
            Toward: self._toward,
            Above: lambda value: self._edited(lambda part: _raised(part, value.steps)),
        }
        value = value.found(self.setting) if isinstance(value, ValueOf) else value
        if value is not None:
            yield from fillings.get(type(value), self._with_plain_value)(value)

    def _with_plain_value(self, value: Any) -> Iterator[Understanding]:
        """Fill in a colour, number, direction or place: into the instruction, or into the gap of the sentence."""
        reason, missing = self.question.reason, self.question.missing
        if self.pending.instruction is None and reason in _GAPS:
            yield self._filled(value, reason)
        elif missing == "direction":
            yield from self._edited(lambda part: _directed(part, value))
        elif missing == "color":
            yield from self._edited(lambda part: _colored(part, value))
        elif missing == "place":
            yield from self._edited(lambda part: _placed(part, value))
        elif missing in ("height", "count"):
            if missing == "height":
                yield from self._edited(lambda part: self._at_level(part, value))
            yield from self._edited(lambda part: _counted(part, value))

    def _filled(self, value: Any, reason: Reason) -> Understanding:
        """Read the sentence with a value in its gap."""
        text = self.pending.text
        stated = read_filled(text, (_GAPS[reason][0], value))
        if isinstance(stated, Failure):
            return Understanding(text, stated.partial, stated)
        return try_instruction(text, stated, self.grid, self.context)

    def _edited(self, change: Callable[[Any], Any]) -> Iterator[Understanding]:
        """Fill the first part that has such a slot."""
        if self.pending.instruction is not None:
            for made in _changed(self.pending.instruction, change):
                yield try_instruction(self.pending.text, made, self.grid, self.context)

    def _at_level(self, part: Any, level: int) -> Any:
        """Place one block at this layer of the column that its place means."""
        if isinstance(part, Place):
            color, wheres = part.color, (part.where,)
        elif (
            isinstance(part, PlaceGoal)
            and part.new.kind is Kind.BLOCK
            and part.new.count == 1
            and part.new.color
        ):
            color, wheres = part.new.color, part.where  # type: ignore[assignment]
        else:
            return None
        columns = None
        for where in wheres:
            found = {(cell[0], cell[2]) for group in where.anchors(self.setting) for cell in group.cells}
            columns = found if columns is None else columns & found
        if columns is None or len(columns) != 1 or not 1 <= level <= 9:
            return None
        (x, z) = columns.pop()
        return CellEdit(EditKind.PLACE, (x, level + _GROUND - 1, z), color=color)

    def _with_colors(self, value: ColorList) -> Iterator[Understanding]:
        """Alternate or list colours: one per block, in the order given."""
        colors = value.colors
        for heard in list(self._with_value(colors[0])):
            if isinstance(heard.found, Failure) or len(heard.found) > 1:
                continue
            cells = heard.found[0].cells
            if len(cells) > 1 and (value.again or len(cells) == len(colors)):
                parts = [
                    CellEdit(EditKind.PLACE, cell, color=colors[i % len(colors)])
                    for i, cell in enumerate(cells)
                ]
                yield try_instruction(heard.text, Sequence(tuple(parts)), self.grid, self.context)

    def _with_count(self, value: Count) -> Iterator[Understanding]:
        """Fill in a number with a colour (which must be that of the blocks), or a total."""
        if value.total:
            yield from self._until(Until("size", value.n))
            return
        for heard in self._with_value(value.n):
            worlds = () if isinstance(heard.found, Failure) else heard.found
            colors = {Resolution(grid=world.grid).color_at(cell) for world in worlds for cell in world.cells}
            if value.color is None or colors <= {value.color}:
                yield heard

    def _until(self, value: Until) -> Iterator[Understanding]:
        for n in range(1, MAX_SIZE + 1):
            for heard in self._with_value(n):
                if not isinstance(heard.found, Failure) and self._reached(value, n, heard.found[0]):
                    yield heard
                    return

    def _reached(self, value: Until, n: int, world: ExpectedWorld) -> bool:
        after = Resolution(grid=world.grid)
        cells = [cell for cell in world.cells if after.color_at(cell)]
        if not cells:
            return False
        box, top = Box.of(cells), max(cell[1] for cell in cells)
        if value.what == "edge":
            return any(5 in (abs(cell[0]), abs(cell[2])) for cell in cells)
        if value.what == "level":
            return top - _GROUND + 1 == value.value
        if value.what == "top":
            return top in {Box.of(item).high[1] for item in resolve(value.value, self.setting)}
        if value.what == "square":
            return box.spans[1] == max(box.spans[0], box.spans[2])
        return max(_run(cells[-1], axis, after) for axis in range(3)) == value.value

    def _toward(self, value: Toward) -> Iterator[Understanding]:
        items = resolve(value.of, self.setting)
        goal = np.mean([cell for item in items for cell in item], axis=0)
        ranked: list[tuple[float, Understanding]] = []
        for way in COMPASS:
            for heard in self._with_value(way):
                if not isinstance(heard.found, Failure):
                    ends = [np.linalg.norm(np.subtract(cell, goal)[[0, 2]]) for cell in heard.found[0].cells]
                    ranked.append((-float(max(ends)) if value.away else float(min(ends)), heard))
        if ranked:
            best = min(rank for rank, _ in ranked)
            yield from (heard for rank, heard in ranked if rank == best)

    def _select(self, which: Selection) -> Iterator[Understanding]:
        reference, choices = self.question.reference, self.question.choices
        instruction = self.pending.instruction
        if instruction is None:
            return
        named = counted(which.core, 1) if reference == Anaphor() and which.core != Blocks() else None
        if which.every and isinstance(reference, Blocks) and which.number in (None, len(choices)):
            named = replace(reference, count=None, middle=False)
        elif which.every and isinstance(reference, AnyOf) and which.number in (None, len(choices)):
            named = reference.of
        if named is not None:
            made = rebuilt(instruction, lambda part: named if part == reference else part)
            yield try_instruction(self.pending.text, made, self.grid, self.context)
        if which.every:
            return
        items = self._filter(which, list(choices), reference)
        if len(items) != 1:
            return
        if isinstance(instruction, Ambiguous) and reference is None:
            reading, _ = meanings(instruction, self.grid, self.context)[choices.index(items[0])]
            yield try_instruction(self.pending.text, reading, self.grid, self.context)
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


def _run(cell: Cell, axis: int, setting: Resolution) -> int:
    size = 1
    for sign in (1, -1):
        step = (sign * (axis == 0), sign * (axis == 1), sign * (axis == 2))
        at = shifted(cell, step)
        while setting.color_at(at):
            size, at = size + 1, shifted(at, step)
    return size


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


def _colored(part: Any, color: int) -> Any:
    if isinstance(part, PlaceGoal) and part.new.color in (None, SAME):
        return replace(part, new=replace(part.new, color=color))
    return None


def _counted(part: Any, n: int) -> Any:
    if not isinstance(part, PlaceGoal):
        return None
    new = part.new
    if new.kind is Kind.BLOCK:
        return replace(part, new=replace(new, count=n, vague=False)) if new.count is None else None
    return replace(part, new=replace(new, sizes=(n,))) if not new.sizes else None


def _directed(part: Any, way: Direction | tuple[Direction, Direction]) -> Any:
    if isinstance(way, tuple):
        return None
    if isinstance(part, Resize) and part.way is None:
        return replace(part, way=way)
    if isinstance(part, PlaceGoal) and part.new.way is None:
        return replace(part, new=replace(part.new, way=way, standing=None))
    return None


def _placed(part: Any, where: Any) -> Any:
    if not isinstance(part, PlaceGoal) or not all(isinstance(stated, Level) for stated in part.where):
        return None
    if isinstance(where, Each):
        return replace(part, new=replace(part.new, each=True), where=(where.where, *part.where))
    return replace(part, where=(where, *part.where))


def _raised(part: Any, steps: int) -> Any:
    where = first_place(part)
    if not isinstance(where, Beside) or [way for way, _ in where.offset] != [Direction.UP]:
        return None
    higher = Beside(((Direction.UP, steps),), where.of)
    return replace(part, where=higher if isinstance(part, Place) else (higher,))
