"""Clauses: texts that no rule covers as a whole, read phrase by phrase.

A text is covered by phrases: whole instructions of the grammar, pieces of a placement (number, colour, shape, size,
place, name) in any order, words without a meaning of their own, and remarks. The cover of least cost counts. Pieces
between two cuts make one placement, and each piece can be given once. A noun that the grammar does not know names what
is placed. Other unknown words belong to no phrase: their sentence is not read, and `Clauses.unread` has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

from iglu_marl.core.errors import DialogueError, GridError, LanguageError
from iglu_marl.language.blocks import CellEdit
from iglu_marl.language.grammar.engine import Contradiction, Parser, is_number
from iglu_marl.language.grammar.makers import Modifiers, Property, Remark, part_corner, put
from iglu_marl.language.placing import BlockSpec, PlaceGoal
from iglu_marl.language.references import Anaphor, At, Beside, Edge, NextTo, Portion, Spot
from iglu_marl.language.shapes import Direction, Kind, Shape
from iglu_marl.language.verbs import Build, Name, Place, Sequence

MAX_STATES = 40
"""Number of partial covers that are kept at each word."""
MAX_WAYS = 6
"""Number of ways to read a text that are tried in the world."""
_CUT, _SKIP, _CLOSE = 3, 40, 0
_SIGNS = {"+x": "east", "-x": "west", "+z": "south", "-z": "north"}
_INFORMAL = {
    "gonna": "going to", "wanna": "want to", "gotta": "have to", "kinda": "kind of", "sorta": "sort of",
    "lemme": "let me", "u": "you", "ur": "your",
}  # fmt: skip
_ORDER = re.compile(
    r"[,(]?\s*(?:that'?s |that is |as |in |written )?(?:\(?\b(?:x\s*(?:,|and|then)\s*z|(z)\s*(?:,|and|then)\s*x)\b\)?"
    r"|\b(?:x|(z)) (?:comes |is |goes )?first(?:,? (?:and |then )?[xz] second)?)(?: order)?(?=\s*(?:[.,;!)]|$))",
    re.I,
)
"""Words that say in which order coordinates are given."""
_BREAKS = (".", ",")
_ON = ((Direction.UP, 1),)
_REMARKING = frozenset(
    ("so", "that", "that's", "which", "because", "since", "like", "for", "you", "i", "we", "or", "whatever", "wherever",
     "please")
)  # fmt: skip
"""Words with which a remark begins behind a comma."""
_EXPLAINING = frozenset(("that", "that's", "which", "so", "because", "since", "as", "like"))
"""Words with which a clause begins that adds to a request."""
_OBJECTS = frozenset(
    ("the", "a", "an", "it", "them", "that", "this", "these", "those", "all", "every", "each", "both")
)
"""Words behind an unknown verb."""
_JOINING = ("and", "then", "but", "so")
_IRREGULAR = {"feet": "foot", "teeth": "tooth", "leaves": "leaf", "shelves": "shelf", "men": "man"}
_FITTING = frozenset(
    ("little", "tiny", "small", "big", "long", "tall", "high", "short", "flat", "solid", "single", "simple", "new",
     "nice", "whole", "square", "round", "wide", "thin", "low")
)  # fmt: skip
"""Adjectives of things."""
_POSED = frozenset(("is", "are", "goes", "go", "comes", "lies", "stands", "hangs", "should", "has"))
"""Verbs that say where something is: "on top lies the lid", "the lid goes on top"."""
_NOT_NEW = frozenset(
    ("each", "every", "both", "all", "any", "of", "to", "from", "on", "in", "at", "with", "than", "as", "like", "off",
     "onto", "into", "under", "below", "above", "behind", "beside", "near", "between", "around", "along", "across",
     "underneath", "beneath", "against", "over", "by", "its", "their", "other", "same", "one", "ones")
)  # fmt: skip
"""Words before a noun, behind which it means something that exists."""


def normal(text: str) -> str:
    """Return a text with signs as words: coordinates, ranges, directions of axes, drawn-out words."""
    text = text.replace("\u2019", "'").replace("\u2212", "-")
    text = re.sub(
        r"\b(?:gonna|wanna|gotta|kinda|sorta|lemme|u|ur)\b",
        lambda word: _INFORMAL[word[0].lower()],
        text,
        flags=re.I,
    )
    text = re.sub(r"\s*(?:->|=>|\u2192)\s*", " becomes ", text)
    text = re.sub(r"\b(red|blue|green|yellow|purple|orange)s\b", r"\1 blocks", text, flags=re.I)
    text = re.sub(r"\bround (?=the|its|it\b|that|this|a )", "around ", text)
    text = re.sub(r"(?<!\w)'?em\b", "them", text)
    text = re.sub(r"([+-][xz])\b(?: direction)?", lambda sign: _SIGNS[sign[1].lower()], text, flags=re.I)
    order = _ORDER.search(text)
    one, two = "zx" if order is not None and "z" in (order[1], order[2]) else "xz"
    text = _ORDER.sub("", text)
    text = re.sub(r"\(\s*(-?\d)\s*,\s*(-?\d)\s*\)", rf" {one} is \1 {two} is \2", text)
    text = re.sub(r"(?<![\w.,])(-?\d),(-?\d)(?![\w,])", rf" {one} is \1 {two} is \2", text)
    text = re.sub(r"along (?:the )?x[- ]axis", "east to west", text, flags=re.I)
    text = re.sub(r"along (?:the )?z[- ]axis", "north to south", text, flags=re.I)
    text = re.sub(r"(-?\d)\s*\.\.\s*(-?\d)", r"\1 to \2", text)
    text = re.sub(r"(\d)x(\d)", r"\1 x \2", text)
    text = re.sub(r"\b([xz])\s*=\s*", r"\1 is ", text, flags=re.I)
    text = re.sub(r"(?<!\d )(\b[xz] (?:is )?-?\d),(?:\s*and)?(?=\s*[xz] )", r"\1 and", text, flags=re.I)
    text = re.sub(r"(?<=\d),(?=\s*-?\d\b)", " and", text)
    text = re.sub(r"([a-z])\1{2,}", r"\1", text)
    text = re.sub(r"(?<![\w)])-(\d)", r" minus \1", text)
    return re.sub(r"\s[=:]\s|:(?=\s)|\s-+\s|\u2014|\u2013", " . ", text)


def singular(word: str) -> tuple[str, bool]:
    """Return the singular of a noun, and whether it is plural."""
    if word in _IRREGULAR:
        return _IRREGULAR[word], True
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y", True
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2], True
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1], True
    return word, False


@dataclass(frozen=True)
class NewNoun:
    """A noun that the grammar does not know: its singular, whether it was plural, and the colour of what it names."""

    word: str
    plural: bool
    color: int | None = None


@dataclass(frozen=True)
class Clauses:
    """What was read of a text: instructions up to the first sentence that was not read, and those that were not."""

    parts: tuple[Any, ...] = ()
    unread: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  # announcements before what was read
    nouns: tuple[NewNoun, ...] = ()


@dataclass(frozen=True)
class _Cover:
    """Phrases that cover the words so far, and their cost."""

    cost: int = 0
    done: tuple[Any, ...] = ()
    open: tuple[Any, ...] = ()  # pieces of the placement that is being read
    whole: bool = False  # ends with a whole instruction: only a break or a joining word may follow

    def closed(self) -> _Cover | None:
        """Return the cover in which the open placement is complete; None if its pieces contradict each other."""
        if not self.open:
            return self
        made = _placement(self.open)
        if made is None:
            return None
        parts, cost = made
        return replace(self, cost=self.cost + cost, done=self.done + parts, open=())


@lru_cache(maxsize=1)
def _own_words() -> frozenset[str]:
    """Return the words that are no names."""
    from iglu_marl.language.grammar.reader import grammar, instruction_words

    return instruction_words() | grammar().words_of(
        "piece", "idle", "naming", "amendment", "repeated", "check"
    )


@lru_cache(maxsize=1)
def _parts() -> frozenset[str]:
    """Return the words of the grammar that are names of parts, too."""
    from iglu_marl.language.grammar.reader import grammar

    return frozenset(grammar().lists["part"])


@lru_cache(maxsize=1)
def _telling() -> frozenset[str]:
    """Return the words that a remark cannot have: colours, numbers, sides and verbs of building."""
    from iglu_marl.language.grammar.reader import grammar

    return _changing() | (grammar().words_of("number", "side") - {"one", "a"})


def asks_for_nothing(said: list[str]) -> bool:
    """Return whether words can be a remark: without colours, verbs of building, and unknown verbs."""
    unknown = said[0] not in _own_words() and (len(said) < 2 or said[1] in _OBJECTS)
    return bool(said) and not unknown and _changing().isdisjoint(said)


@lru_cache(maxsize=1)
def _changing() -> frozenset[str]:
    """Return the colours and the verbs of building."""
    from iglu_marl.language.grammar.reader import grammar

    verbs = [
        grammar().lists[name] for name in ("remove", "replace", "move", "copy", "mirror", "extend", "stack")
    ]
    single = {phrase for phrases in verbs for phrase in phrases if " " not in phrase}
    single |= {"put", "place", "add", "build", "lay", "fill", "connect", "surround", "cover", "take"}
    weak = {"make", "making", "have", "get", "let", "lose", "kill", "change", "want"}
    return (grammar().words_of("color") | single) - weak


def nouns_of(said: list[str], names: Set[str], known_only: bool = False) -> dict[str, tuple[str, bool, bool]]:
    """Return the nouns in a text that the grammar does not know: names, and new ones."""
    if known_only and not names:
        return {}
    known = _own_words()
    found = {}
    for word in said:
        one, plural = singular(word)
        if one in names or word in names:
            found[word] = (one if one in names else word, plural and one in names, True)
        elif not known_only and word.isalpha() and (word not in known or one in _parts()) and len(word) > 1:
            found[word] = (one, plural, False)
    return found


class ClauseReader:
    """Reads a text phrase by phrase. said: words, with "." and "," between."""

    def __init__(self, said: list[str], names: Set[str]) -> None:
        from iglu_marl.language.grammar.reader import grammar

        self.breaks: dict[int, str] = {}
        self.said: list[str] = []
        for word in said:
            if word in _BREAKS:
                if self.breaks.get(len(self.said)) != ".":
                    self.breaks[len(self.said)] = word
            else:
                self.said.append(word)
        self.names = names
        self.parser = Parser(grammar(), self.said, nouns_of(self.said, names))
        self.ends = sorted({at for at, mark in self.breaks.items() if mark == "."} | {len(self.said)})

    def read(self) -> tuple[Clauses, ...]:
        """Return the ways to read the text that cost little more than the first."""
        states: dict[int, list[_Cover]] = {0: [_Cover()]}
        for at in range(len(self.said)):
            covers = self._pruned(states.get(at, []))
            for end, phrase, cost in self._phrases(at) if covers else ():
                for cover in covers:
                    states.setdefault(end, []).extend(self._extended(cover, phrase, cost, at, end))
        covers = [done for cover in states.get(len(self.said), []) if (done := cover.closed()) is not None]
        if not covers:
            return (Clauses((), (" ".join(self.said),), (), self._new_nouns()),)
        covers = sorted(covers, key=lambda cover: cover.cost)
        found = [self._result(cover) for cover in covers if cover.cost <= covers[0].cost + _CLOSE]
        return tuple(dict.fromkeys(found))[:MAX_WAYS]

    def _result(self, cover: _Cover) -> Clauses:
        parts: list[Any] = []
        unread: list[str] = []
        skipped: list[str] = []
        for part in cover.done:
            if isinstance(part, _Unread) and part.announces:
                skipped.append(part.text)
            elif isinstance(part, _Unread) and part.explains:
                skipped += [part.text] * (not unread)
            elif isinstance(part, _Unread):
                parts = [] if part.inside and not unread else parts  # its sentence is not read either
                unread.append(part.text)
            elif not unread:
                parts.append(part)
        found = tuple(_with_names(_with_colors(parts), self.names))
        return Clauses(found, tuple(unread), tuple(skipped) if found else (), self._new_nouns())

    def _new_nouns(self) -> tuple[NewNoun, ...]:
        """Return what the text introduces, each with the colour that is said beside it or behind it."""
        new = [
            at for at, word in enumerate(self.said) if not self.parser.nouns.get(word, ("", False, True))[2]
        ]
        new = [at for at in new if at + 1 not in new]  # the last one of a compound
        chosen = [at for at in new if self._introduces(at)]
        found: dict[str, NewNoun] = {}
        for at, following in zip(chosen, (*chosen[1:], len(self.said)), strict=False):
            colors = [c for i in (at - 1, *range(at + 1, following)) if i >= 0 for c in self._colors(i)]
            word, plural, _ = self.parser.nouns[self.said[at]]
            found.setdefault(word, NewNoun(word, plural, colors[0] if colors and len(chosen) > 1 else None))
        return tuple(found.values())

    def _colors(self, at: int) -> list[int]:
        return [value for value, end, _ in self.parser.read("tint", at) if end == at + 1]

    def _introduces(self, at: int) -> bool:
        """Return whether a noun is that of something new: "the X:", "a yellow X", "here stands the X", "the X is"."""
        first = at
        while first and (
            self.said[first - 1] not in _own_words()
            or self.said[first - 1] in _FITTING
            or (self._colors(first - 1) and first not in self.breaks)
        ):
            first -= 1
        start = max(end for end in (0, *self.breaks) if end <= at)
        stop = min(end for end in (*self.breaks, len(self.said)) if end > at)
        before = self.said[max(start, first - 1) : first]
        opens = self._all_idle(start, first)
        counted = before in (["a"], ["an"], ["another"], ["our"]) or self._numbers(first)
        following = not set(self.said[at + 1 : at + 3]).isdisjoint(_POSED)
        placed = (
            before == ["the"] and self.said[first - 2 : first - 1] != [] and self.said[first - 2] in _POSED
        )
        return counted or placed or (opens and (following or not before or at + 1 == stop))

    def _numbers(self, end: int) -> bool:
        """Return whether a number ends before a word."""
        return any(
            stop == end for at in range(max(0, end - 2), end) for _, stop, _ in self.parser.read("number", at)
        )

    def _all_idle(self, start: int, end: int) -> bool:
        """Return whether words have no meaning of their own."""
        reached = {start}
        for at in range(start, end):
            if at in reached:
                reached.update(stop for _, stop, _ in self.parser.read("idle", at))
        return end in reached

    @staticmethod
    def _pruned(covers: list[_Cover]) -> list[_Cover]:
        best: dict[Any, _Cover] = {}
        for cover in sorted(covers, key=lambda cover: cover.cost):
            best.setdefault((cover.done, cover.open), cover)
        return list(best.values())[:MAX_STATES]

    def _extended(self, cover: _Cover, phrase: Any, cost: int, at: int, end: int) -> Iterator[_Cover]:
        piece = isinstance(phrase, (Property, Modifiers))
        can_cut = at == 0 or at in self.breaks or self.said[at - 1] in _JOINING
        if cover.whole and not can_cut and (piece or phrase is not None):
            return
        if piece and _fits(cover.open, phrase):
            extra = 1 if at in self.breaks and cover.open else 0
            yield _Cover(cover.cost + cost + extra, cover.done, (*cover.open, phrase))
        if phrase is None:
            yield replace(cover, cost=cover.cost + cost, whole=cover.whole and not can_cut)
            return
        if piece and not cover.open:
            return
        closed = cover.closed() if can_cut or not cover.open else None
        if closed is None:
            return
        if piece:
            yield _Cover(closed.cost + cost + _CUT, closed.done, (phrase,))
        else:
            yield _Cover(closed.cost + cost, (*closed.done, phrase), whole=not isinstance(phrase, _Unread))

    def _phrases(self, at: int) -> list[tuple[int, Any, int]]:
        found: list[tuple[int, Any, int]] = []
        start = at == 0 or at in self.breaks or self._after_idle(at)
        stop = next(end for end in self.ends if end > at)
        if start:
            whole = ("amendment", "repeated", "check") if self.breaks.get(at, ".") == "." else ()
            for category in ("clause", "viewed", "naming", *whole):
                least: dict[int, int] = {}
                for value, end, cost in self.parser.read(category, at):  # cheapest first
                    if cost == least.setdefault(end, cost):
                        found.append((end, value, cost + _lacking(value)))
            for value, end, cost in self.parser.read("remark", at):
                found.append((end, None if isinstance(value, Remark) else value, cost + 2))
        pieces = self.parser.read("piece", at)
        kinds = {end for value, end, _ in pieces if value.name == "kind"}
        for value, end, cost in pieces:
            if value.name == "name" and end in kinds:
                continue
            if value.name == "kind":
                word, plural = singular(self.said[end - 1])
                value = replace(value, word=word if word in _parts() else "", plural=plural)
            known = value.name == "name" or (value.name == "kind" and self.said[at - 1 : at] == ["the"])
            if not known or self._may_be_new(at):
                found.append((end, value, cost + 1))
        mods = self.parser.read("mod", at)
        least = {end: min(cost for _, other, cost in mods if other == end) for _, end, _ in mods}
        for value, end, cost in mods:
            if cost > least[end] + 1:
                continue  # "north to south" is no place north of the south
            if self.said[end : end + 1] == ["of"]:
                continue  # a preposition goes with its noun
            one = end == at + 1 and value in (Modifiers(color=value.color), Modifiers(way=value.way))
            if not one or (value.way is not None and self.said[at - 1 : at] != ["the"]):
                found.append((end, value, cost + 1))
        for _, end, cost in self.parser.read("idle", at):
            if self.said[end - 1] != "the" or not self.parser.read("tint", end):  # "the red block" exists
                found.append((end, None, cost + 1))
        found = [one for one in found if one[0] > at]
        if at == 0 or at in self.breaks:
            rest = self.said[at:stop]
            inside = at != 0 and self.breaks[at] == ","
            if self.said[at] == "so" and not _changing().intersection(rest):
                found.append((stop, None, 12 + 2 * len(rest)))  # what follows from the request
            placed = inside and any(end > at + 1 for _, end, _ in self.parser.read("where", at))
            if inside and self.said[at] not in _REMARKING:
                placed = True
            if (
                not placed
                and asks_for_nothing(rest)
                and not _telling().intersection(rest)
                and not any(map(_is_count, rest))
            ):
                found.append((stop, None, (12 + 5 * len(rest)) if inside else (8 + 2 * len(rest))))
            if inside and self.said[at] in _EXPLAINING and _changing().isdisjoint(rest):
                found.append((stop, _Unread(" ".join(rest), True, explains=True), 30 + 3 * len(rest)))
            later = {"it", "them", "they"}.isdisjoint(self.said[stop:])
            plain = asks_for_nothing(rest) and (later or _telling().isdisjoint(rest))
            if not inside and stop < len(self.said) and plain:
                found.append((stop, _Unread(" ".join(rest), False, True), 20 + 3 * len(rest)))
            found.append((stop, _Unread(" ".join(rest), inside), _SKIP * (1 + len(rest) // 4)))
        return found

    def _may_be_new(self, at: int) -> bool:
        """Return whether a noun can be that of something new."""
        if at + 1 not in self.breaks and self.said[at + 1 : at + 2] in (["the"], ["a"], ["an"], ["of"]):
            return False
        while at and (self.said[at - 1] in ("the", "a", "an", "this") or self.parser.read("tint", at - 1)):
            at -= 1
        return at == 0 or at in self.breaks or self.said[at - 1] not in _NOT_NEW

    def _after_idle(self, at: int) -> bool:
        starts = range(max(0, at - 4), at)
        return any(end == at for start in starts for _, end, _ in self.parser.read("idle", start))


def _is_count(word: str) -> bool:
    return is_number(word) or word == "minus"


@dataclass(frozen=True)
class _Unread:
    """Words that are not read.

    inside: from a comma on. announces, explains: before or behind a request, without colours and verbs of building.
    """

    text: str
    inside: bool
    announces: bool = False
    explains: bool = False


def _fits(open_: tuple[Any, ...], phrase: Any) -> bool:
    """Return whether a piece can be added: each is given once."""
    if isinstance(phrase, Modifiers):
        places = {where for part in open_ if isinstance(part, Modifiers) for where in part.where}
        return len(places | set(phrase.where)) <= 3
    names = [part.name for part in open_ if isinstance(part, Property)]
    if phrase.name == "name" and names.count("name") < 2:
        return True
    return phrase.name not in names or (phrase.name == "count" and phrase in open_)


def _placement(pieces: tuple[Any, ...]) -> tuple[tuple[Any, ...], int] | None:
    """Return the instructions that pieces make, and the cost of what is missing; None if they contradict."""
    given = {part.name: part for part in pieces if isinstance(part, Property)}
    mods = Modifiers()
    try:
        for part in pieces:
            if isinstance(part, Modifiers):
                mods = mods.plus(part)
    except Contradiction:
        return None
    mods = replace(mods, where=tuple(dict.fromkeys(mods.where)))
    names = [part for part in pieces if isinstance(part, Property) and part.name == "name"]
    bare = set(given) <= {"name"} or (set(given) == {"name", "count"} and given["count"].value == 1)
    if bare and names and mods == Modifiers():
        return tuple(_Heading(part.value, part.plural, article="count" in given) for part in names), 4
    cost = 0
    if len(names) > 1:
        cost += 6
    try:
        made = _made(given, mods)
    except (DialogueError, GridError, LanguageError):
        return None
    if made is None:
        return None
    goals = made.parts if isinstance(made, Sequence) else (made,)
    cost += sum(map(_lacking, goals))
    if not {"count", "kind", "name", "area", "block", "colors"} & set(given):
        if "color" not in given or not mods.where:
            return None
    stated = tuple(_Heading(part.value, part.plural, True) for part in names[-1:])
    if not stated and "kind" in given and given["kind"].word:
        stated = (_Heading(given["kind"].word, given["kind"].plural, True),)
    return tuple(part for goal in goals for part in (goal, *stated)), cost


def _lacking(goal: Any) -> int:
    """Return the cost of what a placement lacks."""
    return 15 * (goal.new.color is None) + 12 * (not goal.where) if isinstance(goal, PlaceGoal) else 0


@dataclass(frozen=True)
class _Heading:
    """A name that stands before or in what it names."""

    word: str
    plural: bool
    placed: bool = False
    article: bool = False


def _made(given: Mapping[str, Property], mods: Modifiers) -> Any:
    def value(name: str, default: Any = None) -> Any:
        return given[name].value if name in given else default

    kind, count, color = value("kind", Kind.BLOCK), value("count"), value("color")
    sizes = {name: value(name) for name in ("long", "wide", "high", "thick") if name in given}
    area = value("area")
    plural = any(part.plural for part in given.values())
    if value("hollow"):
        mods = mods.plus(Modifiers(hollow=True))
    if value("upright"):
        mods = mods.plus(Modifiers(standing=True))
    if "axis" in given:
        mods = mods.plus(Modifiers(axis=value("axis")))
    if "level" in given:
        mods = mods.plus(Modifiers((value("level"),)))
    mods = replace(mods, where=_within(mods.where))
    if "colors" in given:
        more = {*given} - _BESIDE_COLORS - ({"count"} if count == 1 else set())
        return _colored(value("colors"), kind, mods, more)
    if (count or 1) > 1 or kind is Kind.ROW:
        mods = _with_way(mods)
    if mods.also is not None and count == 2:
        mods = replace(mods, split=True)
    if "total" in given:
        length = {Kind.TOWER: "tall", Kind.COLUMN: "tall", Kind.ROW: "long"}.get(kind, "total")
        mods = mods.plus(Modifiers(**{length: value("total")}))
    if area is not None:
        if not plural and count == prod(area) * sizes.get("high", 1):
            count = None  # as many as it has
        kind, mods = _area(kind, area, sizes, mods)
        if kind is None:
            return None
    elif sizes:
        kind, mods, count = _sized(kind, sizes, given, mods, count)
        if kind is None:
            return None
    if kind in (Kind.TOWER, Kind.ROW) and not sizes and area is None and not plural and (count or 1) > 1:
        mods, count = mods.plus(Modifiers(total=count)), 1  # "a pole: two blue blocks"
    if count is None:
        count = None if plural and kind is Kind.BLOCK else 1
    new = BlockSpec(count, color, kind, vague=count is None and kind is Kind.BLOCK)
    if new.vague and mods.where:
        new = replace(new, vague=False)
    return put(new, mods)


_BESIDE_COLORS = {"kind", "name", "colors", "upright", "block"}


def _colored(colors: tuple[int, ...], kind: Any, mods: Modifiers, more: Set[str]) -> Any:
    """Return a tower or a row of one colour per block; None if that was not said."""
    if len(mods.where) != 1 or more or mods != Modifiers(mods.where, mods.standing, mods.way):
        return None
    (where,), vertical = mods.where, mods.way is not None and mods.way.vertical
    if not isinstance(where, (At, Beside, NextTo, Spot)):
        return None
    on_top = isinstance(where, Beside) and where.offset == _ON and kind is Kind.BLOCK and len(colors) > 2
    if kind in (Kind.TOWER, Kind.COLUMN) or (mods.standing or vertical) or (on_top and mods.way is None):
        return Build(Shape(Kind.TOWER, (len(colors),)), colors, where)
    if kind in (Kind.ROW, Kind.BLOCK) and mods.way is not None:
        return Build(Shape(Kind.ROW, (len(colors),), (mods.way,)), colors, where)
    return None


def _with_way(mods: Modifiers) -> Modifiers:
    """Return modifiers in which a side is the way that a row goes from a fixed place: "from the centre to the west"."""
    fixed = [where for where in mods.where if isinstance(where, (At, Spot))]
    sides = [where for where in mods.where if isinstance(where, Beside) and where.of == Anaphor()]
    if not fixed or len(sides) != 1 or mods.way is not None or len(sides[0].offset) != 1:
        return mods
    way, count = sides[0].offset[0]
    if count != 1 or way.vertical:
        return mods
    return replace(mods, where=tuple(where for where in mods.where if where not in sides), way=way)


def _within(wheres: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return places in which a part that is named together with a thing is a part of it: "on it, in the corner"."""
    on = next((where for where in wheres if isinstance(where, Beside) and where.offset == _ON), None)
    part = next((where for where in wheres if isinstance(where, (Spot, Edge))), None)
    if on is None or part is None or isinstance(on.of, Spot):
        return wheres
    whole: Any = on.of
    if isinstance(part, Edge):
        whole = Portion(whole, "blocks", part.way)
    elif (abs(part.x), abs(part.z)) == (5, 5):
        whole = part_corner((part.x, part.z), whole)
    elif (part.x, part.z) == (0, 0):
        whole = Portion(whole, "middle")
    else:
        return wheres
    return (replace(on, of=whole), *(where for where in wheres if where not in (on, part)))


def _area(kind: Any, area: tuple[int, ...], sizes: dict[str, int], mods: Modifiers) -> tuple[Any, Modifiers]:
    high = sizes.pop("high", None) or sizes.pop("thick", None)
    if sizes:
        return None, mods
    if area[:2] == (1, 1) and high:
        return Kind.TOWER, mods.plus(Modifiers(tall=high))
    if kind in (Kind.BLOCK, Kind.ROW, Kind.TOWER):
        kind = Kind.RECTANGLE
    if high and high > 1:
        area = (*area[:2], high)
    return kind, mods.plus(Modifiers(area=area))


def _sized(
    kind: Any, sizes: dict[str, int], given: Mapping[str, Property], mods: Modifiers, count: int | None
) -> tuple[Any, Modifiers, int | None]:
    thick = sizes.pop("thick", None)
    if thick not in (None, 1):
        sizes["high" if "high" not in sizes else "wide"] = thick
    flat = {name: n for name, n in sizes.items() if name != "high"}
    axis = next((given[name].axis for name in flat if given[name].axis), None)
    if len(flat) == 2:
        (one, n), (two, m) = flat.items()
        if given[two].axis and not given[one].axis:
            n, m, axis = m, n, given[two].axis
        if min(n, m) == 1 and "high" in sizes and sizes["high"] > 1:
            return Kind.WALL, _with_axis(mods.plus(Modifiers(area=(max(n, m), sizes["high"]))), axis), count
        if min(n, m) == 1:
            return Kind.ROW, _with_axis(mods.plus(Modifiers(long=max(n, m))), axis), count
        area = (n, m, sizes["high"]) if sizes.get("high", 1) > 1 else (n, m)
        return Kind.RECTANGLE, _with_axis(mods.plus(Modifiers(area=area)), axis), count
    if len(flat) == 1 and sizes.get("high", 1) > 1:
        (n,) = flat.values()
        if n == 1:
            return Kind.TOWER, mods.plus(Modifiers(tall=sizes["high"])), count
        return Kind.WALL, _with_axis(mods.plus(Modifiers(area=(n, sizes["high"]))), axis), count
    if len(flat) == 1:
        (n,) = flat.values()
        if kind is Kind.WALL:
            return None, mods, count  # its height is missing
        return (
            (Kind.ROW if kind is Kind.BLOCK else kind),
            _with_axis(mods.plus(Modifiers(long=n)), axis),
            count,
        )
    high = sizes.get("high", 1)
    if high == 1:
        return kind, mods, count
    if kind in (Kind.BLOCK, Kind.TOWER, Kind.COLUMN):
        return Kind.TOWER, mods.plus(Modifiers(tall=high)), 1 if count == high else count
    return kind, mods.plus(Modifiers(tall=high)), count


def _with_axis(mods: Modifiers, axis: str | None) -> Modifiers:
    return mods if axis is None or mods.axis is not None else mods.plus(Modifiers(axis=axis))


def _with_colors(parts: list[Any]) -> list[Any]:
    """Give placements without a colour that of the one before: "one red on the left and another on the right"."""
    found: list[Any] = []
    color = None
    for part in parts:
        if isinstance(part, PlaceGoal) and part.new.color is None and color is not None:
            part = replace(part, new=replace(part.new, color=color))
        color = getattr(getattr(part, "new", part), "color", None) or color
        found.append(part)
    return found


def _with_names(parts: list[Any], names: Set[str]) -> Iterator[Any]:
    """Yield the instructions, each followed by the name of what it places.

    A heading names the placements behind it, up to the next heading; the first one of a text that places nothing
    names the whole.
    """
    heading: _Heading | None = None
    met = set(names)
    for number, part in enumerate(parts):
        if isinstance(part, _Heading):
            if not part.placed:
                heading = part
                rest = parts[number + 1 :]
                if part.article and all(isinstance(other, _Heading) for other in rest):
                    yield Name(part.word)
            continue
        yield part
        named = (
            parts[number + 1] if number + 1 < len(parts) and isinstance(parts[number + 1], _Heading) else None
        )
        named = named if named is not None and named.placed else None
        if heading is not None and _places(part):
            yield Name(heading.word, Anaphor(), heading.plural, heading.word in met)
            met.add(heading.word)
        if named is not None and (heading is None or heading.word != named.word):
            yield Name(named.word, Anaphor(), named.plural, named.word in met)
            met.add(named.word)


def _places(part: Any) -> bool:
    return isinstance(part, (PlaceGoal, Place, Build, CellEdit))
