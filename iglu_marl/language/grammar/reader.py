"""Reader of texts: words, readings, the instruction, and the failure when there is none."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from itertools import islice, pairwise, product
from typing import Any

from iglu_marl.core.errors import DialogueError, LanguageError
from iglu_marl.core.grid import color_id
from iglu_marl.language.grammar import answers, scene_makers
from iglu_marl.language.grammar.engine import MAX_DEPTH, Grammar, Parser, is_number
from iglu_marl.language.grammar.expressions import reject_if
from iglu_marl.language.grammar.modifiers import Complaint, InColor, Outside, Remark, View
from iglu_marl.language.grammar.spelling import nearest, singular, slips
from iglu_marl.language.grammar.templates import ordinal_digits, templates
from iglu_marl.language.meaning.blocks import CellEdit, Failure, Reason
from iglu_marl.language.meaning.corrections import Correct
from iglu_marl.language.meaning.placing import SAME
from iglu_marl.language.meaning.references import (
    Anaphor,
    At,
    Beside,
    Blocks,
    LastBlock,
    Level,
    NextTo,
    PluralAnaphor,
    Recent,
    Spot,
)
from iglu_marl.language.meaning.shapes import COMPASS, VECTORS, Kind
from iglu_marl.language.meaning.statements import Choose, Keep, Name
from iglu_marl.language.meaning.verbs import (
    Ambiguous,
    Build,
    Facing,
    Pick,
    Place,
    PlaceGoal,
    Replace,
    Sequence,
    SetFocus,
    first_place,
)

MAX_WORDS = 220
MAX_CHOICES = 24
"""Maximum number of ways to correct the unknown words of a text."""
_FILES = ("grammar.txt", "dialogue.txt", "answers.txt", "asked.txt", "questions.txt")
ASKED_OF_SCENES = ("statement", "question")
"""Categories of statements and questions about a scene, in `questions.txt`."""
_ALONE = ("amendment", "repeated")
"""Categories of whole sentences about the last request."""
STATING = (Choose, Keep)
"""Statements that ask for nothing without a request."""
_TIGHT = (At, Beside, NextTo, Spot)  # places without a number of blocks
_WORD = re.compile(r"[^\W0-9_]+(?:'[^\W0-9_]+)*|'s\b|(?:(?<=[\s=(,])-)?[0-9]+(?:st|nd|rd|th)?|[.;!?\n]")
_NUMBERING = re.compile(r"(?:^|(?<=[.\n]))\s*(?:[0-9]{1,2}[.)]|[A-Za-h]\))(?=\s*[A-Za-z])")
_SPELLINGS: dict[str, str] = templates()["spellings"]
_SHORT = frozenset(templates()["before_is"])
"""Words behind which "'s" is a verb."""


@lru_cache(maxsize=1)
def grammar() -> Grammar:
    """Return the grammar of instructions."""
    numbers = {word: n for n, word in enumerate(templates()["numbers"])}
    ordinals: dict[str, int] = {}
    for n, word in enumerate(templates()["ordinals"], start=1):
        ordinals |= {word: n, ordinal_digits(n): n}
    files = resources.files("iglu_marl.language.grammar")
    text = "\n".join(files.joinpath(name).read_text(encoding="utf-8") for name in _FILES)
    lexicon = {
        "number_word": list(numbers.items()),
        "ordinal": list(ordinals.items()),
        "color": [(name, color_id(name)) for name in templates()["colors"]],
    }
    collects = gc.isenabled()
    gc.disable()  # the many objects stay: looking for garbage among them takes as long as making them
    try:
        return Grammar(text, answers.MAKERS | scene_makers.MAKERS, lexicon)
    finally:
        if collects:
            gc.enable()


def tokens(text: str) -> list[str]:
    """Return the words of a text in lower case, with "." between sentences."""
    plain = _NUMBERING.sub(" . ", text.replace("\u2019", "'"))
    found: list[str] = []
    for word in _WORD.findall(plain.lower()):
        if word in ".;!?\n":
            if found and found[-1] != ".":
                found.append(".")
        else:
            if word[0] == "-":
                found, word = [*found, "minus"], word[1:]
            owner = word.removesuffix("'s")
            found += [owner, "'s"] if owner not in (word, "", *_SHORT) else _SPELLINGS.get(word, word).split()
    while found and found[-1] == ".":
        found.pop()
    return found


@dataclass(frozen=True)
class Elided:
    """A placement without its verb, after another one: "and another one south of it"."""

    put: Any


_PLACEMENTS = (PlaceGoal, Place, Build, CellEdit, Elided)  # the next clause may omit its verb


class Reader(Parser):
    """Reads whole texts, clause by clause, at least cost."""

    def __init__(
        self,
        said: list[str],
        names: frozenset[str] = frozenset(),
        spoken: bool = False,
    ) -> None:
        super().__init__(grammar(), said, nouns_of(said, names), spoken)
        self._texts: dict[tuple[int, str], tuple[int, list[tuple[Any, ...]]]] = {}

    def texts(self, at: int, after: str = "") -> tuple[int, list[tuple[Any, ...]]]:
        """Return the cheapest ways to read everything from here: their cost, and the clauses of each."""
        key = at, after
        if key in self._texts:
            return self._texts[key]
        best: tuple[int, list[tuple[Any, ...]]] = (1 << 30, [])
        self._texts[key] = best
        if all(word == "." for word in self.said[at:]):
            best = (0, [()])
        else:
            for value, end, cost in self.clauses(at, after):
                rest_cost, rests = self.texts(end, "put" if isinstance(value, _PLACEMENTS) else "other")
                total = cost + rest_cost
                takes_back = isinstance(value, Complaint) and at > 0 and rests == [()]
                if not rests or total > best[0] or takes_back:
                    continue
                found = [] if total < best[0] else best[1]
                head: tuple[Any, ...] = () if value is None or isinstance(value, Remark) else (value,)
                if isinstance(value, Sequence):
                    head = value.parts
                found = list(dict.fromkeys([*found, *((*head, *rest) for rest in rests)]))[:8]
                best = (total, found)
        self._texts[key] = best
        return best

    @property
    def stuck(self) -> int:
        """Return the first word that no rule got past; if all end too early, the first of the last sentence."""
        if self.furthest < len(self.said):
            return self.furthest
        return max((at for at, _ in self._texts if at < len(self.said)), default=0)

    def clauses(self, at: int, after: str) -> list[tuple[Any, int, int]]:
        """Return the possible next clauses, after joining words."""
        starts = {at: 0}
        todo = [at]
        while todo:
            here = todo.pop()
            for _, end, cost in self.read("joints", here):
                if end not in starts:
                    starts[end] = starts[here] + cost
                    todo.append(end)
        found = [one for start in starts for one in self._clauses_from(start, at, after)]
        if after:
            found += [(value, end, cost + 2) for value, end, cost in self.read("in_color", at)]
            found += self._ending(at, max(starts))
        return found

    def _clauses_from(self, start: int, at: int, after: str) -> Iterator[tuple[Any, int, int]]:
        """Yield the clauses that begin at a word; the verb can only be omitted after joining words from `at` on."""
        if any(map(self._reports, range(at, min(start + 1, len(self.said))))):
            return
        for category in ("clause", "remark", "holds", "picked", "naming", "viewed"):
            yield from self.read(category, start)
        if start == 0 or self.said[start - 1] == ".":
            for category in _ALONE:
                for value, end, cost in self.read(category, start):
                    yield from ((value, at, cost) for at in self._past_hedges(end))
        if after == "put":
            joined = start > at  # "to its left put a blue block, to its right a green one"
            for value, end, cost in self.read("elided" if joined else "fronted", start):
                yield Elided(value), end, cost + 8 * (not joined)
        if at == 0 or start > at:
            yield from self.read("bare", start)

    def _reports(self, at: int) -> bool:
        """Return whether a sentence begins at a word that says what somebody did: "You removed the red block!"."""
        if at and self.said[at - 1] in ("once", "after", "when"):
            return False
        subject = self.said[at].removesuffix("'ve")
        verb = next((word for word in self.said[at + 1 :] if word not in listed("lately")), "")
        return subject in listed("reporting") and (verb.endswith("ed") or verb in listed("past"))

    def _past_hedges(self, at: int) -> list[int]:
        """Return the end of a sentence of which only words such as "please" are left; [] if others are."""
        if self.said[at : at + 1] in ([], ["."]):
            return [at]
        ends = {end for _, end, _ in self.read("hedge", at) if end > at}
        return sorted({last for end in ends for last in self._past_hedges(end)})

    def _ending(self, at: int, last: int) -> list[tuple[Any, int, int]]:
        """Return the joining words at the end of a text, which ask for nothing."""
        words = self.said[at:last]
        repeats = "again" in words and words[0] in (".", "and", "then")  # "again" is an instruction
        return [(None, last, 0)] * (last > at and {*self.said[last:]} <= {"."} and not repeats)


def _share_anaphor(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keep the referent of "it" in "a block north of it and another south of it"."""
    plain = [part.put if isinstance(part, Elided) else part for part in parts]
    plain = [*plain[:1], *(_behind(before, now) for before, now in pairwise(plain))]
    found = [*plain]
    placing = [number for number, part in enumerate(plain) if not isinstance(part, Name)]
    for earlier, number in pairwise(placing):
        before, now = _beside(plain[earlier]), _beside(plain[number])
        if before is None or now is None or not len(now.offset) == len(before.offset) == 1:
            continue
        (way, count), (other, steps) = before.offset[0], now.offset[0]
        if before.of == Anaphor() and isinstance(now.of, Blocks) and (other, steps) == (way.opposite, count):
            # "one to the north and one south of X"
            found[earlier] = _at(plain[earlier], replace(before, of=now.of))
        place = _shared_place(before, now, isinstance(parts[number], Elided))
        found[number] = found[number] if place is None else _at(found[number], place)
    return tuple(found)


def _behind(before: Any, now: Any) -> Any:
    """Return a part whose place depends on the one before: "go 2 east and place a red block"."""
    if isinstance(before, SetFocus) and isinstance(before.at, (Beside, Spot)):
        goes = isinstance(now, PlaceGoal) and not now.where
        return _at(now, before.at if isinstance(before.at, Spot) else Beside((), Anaphor())) if goes else now
    first, then = getattr(first_place(before), "of", None), first_place(now)
    if getattr(first, "nth", None) == 1 and isinstance(then, Beside) and then.of == LastBlock():
        return _at(now, replace(then, of=Recent(count=1, nth=-1)))  # "on the first one and on the last one"
    return now


def _shared_place(before: Beside, now: Beside, elided: bool) -> Beside | None:
    """Return the place that means the same thing as the place before; None if it is another one."""
    its = before.of == now.of == Anaphor()
    ((way, count),), ((other, steps),) = before.offset, now.offset
    single = isinstance(before.of, Blocks) and before.of.kind is Kind.BLOCK and before.of.count == 1
    back = (
        other is way.opposite and steps == count and not single
    )  # "two north of the tower and two south of it"
    if not isinstance(now.of, (Anaphor, LastBlock)) or not (elided or its or back):
        return None
    if other is way.opposite:
        if single or isinstance(before.of, (Anaphor, LastBlock)):
            return Beside(((other, count + steps),), Anaphor())  # past it: both readings are possible now
        return replace(now, of=before.of)
    if elided and its and other.axis != way.axis and other.relative == way.relative:
        # "a block on its north side and one on its east side"
        return Beside(((way.opposite, count), (other, steps)), Anaphor())
    return None


def _at(part: Any, where: Any) -> Any:
    """Return a placement at another place."""
    return replace(part, where=(where,) if isinstance(part, PlaceGoal) else where)


_ITS = (Anaphor(), LastBlock(), PluralAnaphor())


def _apply_colors(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Apply colours that stand behind an instruction: in "put a block there. Make it green." the block is green.

    Raise `Rejected` if it has another colour, or takes none.
    """
    found: list[Any] = []
    for part in parts:
        before: Any = found[-1] if found else None
        put: Any = before.put if isinstance(before, Elided) else before
        new: Any = getattr(put, "new", put)
        takes = hasattr(new, "color") and new.color in (None, SAME)
        color = part.color if isinstance(part, (InColor, Correct, Replace)) else None
        stated = isinstance(part, InColor)
        later = not stated and color and part in (Correct(color), *(Replace(of, color) for of in _ITS))
        if (stated and takes) or (later and takes and isinstance(before, PlaceGoal)):
            new = replace(new, color=color)
            put = replace(put, new=new) if hasattr(put, "new") else new
            found[-1] = replace(before, put=put) if isinstance(before, Elided) else put
        else:
            reject_if(stated)  # nothing has this color
            found.append(part)
    return tuple(found)


def _beside(part: Any) -> Beside | None:
    """Return the place of a placement if it is one horizontal direction from one thing, or from the centre."""
    where = first_place(part)
    if isinstance(where, Level) and len(part.where) == 2:
        where = part.where[1]  # on the ground
    if isinstance(where, Spot) and (where.x == 0) is not (where.z == 0):
        way = next(way for way in COMPASS if VECTORS[way][0] * where.x + VECTORS[way][2] * where.z > 0)
        return Beside(((way, abs(where.x + where.z)),), Spot(0, 0))
    if isinstance(where, Beside) and where.offset and not where.offset[0][0].vertical:
        return where
    return None


def instruction_of(parts: tuple[Any, ...]) -> Any:
    """Return one instruction for the clauses of a text."""
    groups: list[tuple[View | None, list[Any]]] = [(None, [])]
    for part in _share_anaphor(_apply_colors(parts)):
        if isinstance(part, View):
            groups.append((part, []))
        else:
            groups[-1][1].append(part)
    reject_if(not groups[-1][1])  # a view of nothing
    stated: list[Any] = []
    for view, seen in groups:
        whole = seen[0] if len(seen) == 1 else Sequence(tuple(seen)) if seen else None
        stated += seen if view is None or whole is None else [Facing(view.way, whole)]
    return stated[0] if len(stated) == 1 else Sequence(tuple(stated))


@lru_cache(maxsize=4096)
def read_text(text: str, names: frozenset[str] = frozenset()) -> Any:
    """Return the instruction in a text, or a `Failure`. names: nouns that name something."""
    said = tokens(text)
    stated = _read_words(said, text, names)
    known = instruction_words() | names
    unknown = [word for word in unknown_words(said) if not {word, singular(word)[0]} & names]
    if not isinstance(stated, Failure) or not unknown:
        return stated
    options = [sorted(slips(word, known)) if word in unknown else [word] for word in said]
    ways = (_read_words([*words], text, names) for words in islice(product(*options), MAX_CHOICES))
    read = {way for way in ways if not isinstance(way, Failure) or way.partial is not None}
    if len(read) == 1:
        return read.pop()
    return Failure(Reason.UNKNOWN_WORD, unknown[0], text, suggestion=nearest(unknown[0], known))


def _read_words(said: list[str], text: str, names: frozenset[str]) -> Any:
    if not said:
        return Failure(Reason.EMPTY, "", text)
    if len(said) > MAX_WORDS:
        return Failure(Reason.NOT_UNDERSTOOD, f"{len(said)} words", text)
    if isinstance(stated := _read_spoken(said), (CellEdit, Build)):  # no other reading has these
        return stated
    reader = Reader(said, names)
    made = _instructions(reader.texts(0)[1])
    lacks = {one: _lacking(one) for one in made}
    complete = [one for one, lack in lacks.items() if lack is None]
    if complete:
        return complete[0] if len(complete) == 1 else Ambiguous(tuple(complete))
    if made:
        reason, detail = lacks[made[0]] or (Reason.NOT_UNDERSTOOD, "")
        return Failure(reason, detail, text, partial=made[0] if len(made) == 1 else Ambiguous(tuple(made)))
    if reader.too_deep:
        return Failure(Reason.NOT_UNDERSTOOD, f"more than {MAX_DEPTH} nested parts", text)
    return Failure(Reason.NOT_UNDERSTOOD, " ".join(said[reader.stuck :]), text)


@lru_cache(maxsize=1)
def instruction_words() -> frozenset[str]:
    """Return all words of instructions, answers and questions to the architect."""
    rules = grammar()
    return rules.words_of(
        "clause",
        *_ALONE,
        *(name for name in rules.roots if name not in (*ASKED_OF_SCENES, "holds")),
    )


@cache
def listed(name: str) -> frozenset[str]:
    """Return the phrases of a word list."""
    return frozenset(grammar().lists[name])


@cache
def changing_words() -> frozenset[str]:
    """Return the colours and the verbs of building."""
    lists = map(listed, ("remove", "replace", "move", "copy", "mirror", "extend", "stack", "building"))
    single = {phrase for phrases in lists for phrase in phrases if " " not in phrase}
    return (grammar().words_of("color") | single) - listed("weak_verbs")


def nouns_of(said: list[str], names: Set[str]) -> dict[str, tuple[str, bool, bool]]:
    """Return the nouns that the grammar does not know: singular, whether plural, and whether it names something."""
    known = instruction_words()
    found = {}
    for word in said:
        one, plural = singular(word)
        if one in names or word in names:
            found[word] = (one if one in names else word, plural and one in names, True)
        elif word.isalpha() and len(word) > 1 and (word not in known or one in listed("part")):
            found[word] = (one, plural, False)
    return found


@lru_cache(maxsize=1)
def scene_words() -> frozenset[str]:
    """Return all words of questions and statements about a scene."""
    return grammar().words_of(*ASKED_OF_SCENES)


def unknown_words(said: list[str]) -> list[str]:
    """Return the words that no rule has."""
    known = instruction_words()
    return [word for word in said if word not in known and not is_number(word) and word != "."]


def _read_spoken(said: list[str]) -> Any:
    """Return the one instruction that the spoken rules read, or None."""
    words = ["a" if word == "an" else word for word in said]  # as before they were spelled
    for number, word in enumerate(words[1:], start=1):
        if word == "block" and words[number - 1] in ("1", "one"):
            words[number] = "blocks"
    made = _instructions(Reader(words, spoken=True).texts(0)[1])
    return made[0] if len(made) == 1 else None


def _instructions(readings: list[tuple[Any, ...]]) -> list[Any]:
    """Return the instructions of readings that ask for something, and whose parts fit together."""
    made = []
    for parts in readings:
        if not parts or (any(isinstance(part, Pick) for part in parts) and len(parts) > 1):
            continue
        if not all(isinstance(part, (View, SetFocus, *STATING)) for part in parts):
            with suppress(DialogueError, LanguageError):
                made.append(instruction_of(parts))
    return list(dict.fromkeys(made))


def _lacking(value: Any) -> tuple[Reason, str] | None:
    if isinstance(value, PlaceGoal):
        places: tuple[Any, ...] = value.where
        outside = next((where for where in places if isinstance(where, Outside)), None)
        if outside is not None:
            return Reason.OUTSIDE, str(outside.cell)
        if value.new.color is None:
            return Reason.NO_COLOR, ""
        if all(isinstance(where, Level) for where in value.where):
            return Reason.NO_PLACE, ""
        if value.new.vague and not value.fill and all(isinstance(where, _TIGHT) for where in value.where):
            return Reason.NO_NUMBER, ""
    if isinstance(value, Sequence):
        return next((lack for part in value.parts if (lack := _lacking(part)) is not None), None)
    if isinstance(value, Facing):
        return _lacking(value.then)
    return None


def read_question(text: str) -> Any:
    """Return the question or statement about a scene in a text, or a `Failure`."""
    said = [word for word in tokens(text) if word != "."]
    if not said:
        return Failure(Reason.EMPTY, "", text)
    kinds = ASKED_OF_SCENES[-1:] if "?" in text else ASKED_OF_SCENES
    for word in said:
        if word not in scene_words() and not is_number(word):
            return Failure(Reason.UNKNOWN_WORD, word, text)
    parser = Parser(grammar(), said)
    found = {value for kind in kinds for value, end, _ in parser.read(kind) if end == len(said)}
    if len(found) == 1:
        return found.pop()
    stated = " ".join([*said, "?"] if "?" in text else said)
    return Failure(Reason.NOT_UNDERSTOOD, "two readings" if found else stated, text)
