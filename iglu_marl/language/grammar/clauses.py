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
from functools import cache, lru_cache, reduce
from itertools import chain
from math import prod
from typing import Any

from iglu_marl.core.errors import DialogueError, GridError, LanguageError
from iglu_marl.language.blocks import CellEdit
from iglu_marl.language.grammar.engine import Contradiction, Grammar, Parser, is_number
from iglu_marl.language.grammar.makers import FIGURE_BLOCKS, Modifiers, Property, Purpose, Remark, View, put
from iglu_marl.language.grammar.spelling import is_noun, near, singular
from iglu_marl.language.placing import BlockSpec, Spots
from iglu_marl.language.references import Anaphor, At, Beside, LastBlock, Level, Location, Spot
from iglu_marl.language.regions import FLOOR
from iglu_marl.language.shapes import COMPASS, VECTORS, Direction, Kind, Shape
from iglu_marl.language.templates import templates
from iglu_marl.language.verbs import (
    Build,
    Name,
    Place,
    PlaceGoal,
    Sequence,
    SetFocus,
)

MAX_STATES = 40
"""Number of partial covers that are kept at each word."""
MAX_HEIGHT = 9
MAX_WAYS = 12
"""Number of ways to read a text that are tried in the world."""
_CUT, _SKIP, _CLOSE, _BREAK = 3, 40, 6, {",": 2, ".": 5}
_ORDER = re.compile(
    r"[,(]?\s*(?:that'?s |that is |as |in |written )?(?:\(?\b(?:x\s*(?:,|and|then)\s*z|(z)\s*(?:,|and|then)\s*x)\b\)?"
    r"|\b(?:x|(z)) (?:comes |is |goes )?first(?:,? (?:and |then )?[xz] second)?)(?: order)?(?=\s*(?:[.,;!)]|$))",
    re.I,
)
"""Words that say in which order coordinates are given."""
_BREAKS = (".", ",")
_ON, _UNDER = ((Direction.UP, 1),), ((Direction.DOWN, 1),)
_RESULTING = ("so", "like")
_JOINING = ("and", "then", "but", "so")


def normal(text: str) -> str:
    """Return a text with signs as words: coordinates, ranges, directions of axes, drawn-out words."""
    text = text.replace("\u2019", "'").replace("\u2212", "-")
    for pattern, words in templates()["rewritten"]:
        text = re.sub(pattern, words, text)
    order = _ORDER.search(text)
    one, two = "zx" if order is not None and "z" in (order[1], order[2]) else "xz"
    text = _ORDER.sub("", text)
    for pattern, words in templates()["rewritten_in_order"]:
        text = re.sub(pattern, words.format(one=one, two=two), text)
    return text


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
    dearer: int = 0  # than the cheapest way


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


def _rules() -> Grammar:
    from iglu_marl.language.grammar.reader import grammar  # the reader reads clauses, too

    return grammar()


@cache
def listed(name: str) -> frozenset[str]:
    """Return the phrases of a word list."""
    return frozenset(_rules().lists[name])


@cache
def _fitting() -> frozenset[str]:
    """Return the adjectives of things."""
    return listed("fitting") | listed("adjective") | listed("shape_word")


@cache
def _own_words() -> frozenset[str]:
    """Return the words that are no names."""
    from iglu_marl.language.grammar.reader import OF_CLAUSES, instruction_words

    return instruction_words() | _rules().words_of(*OF_CLAUSES)


@cache
def _telling() -> frozenset[str]:
    """Return the words that a remark cannot have: colours, numbers, sides and verbs of building."""
    return _changing() | (_rules().words_of("number", "side") - {"one", "a"})


def asks_for_nothing(said: list[str]) -> bool:
    """Return whether words can be a remark: without colours, and verbs of building or unknown ones."""
    frames = listed("polite"), listed("joint"), listed("modal")
    while len(said) > 2 and said[0] not in listed("subject") and any(said[0] in one for one in frames):
        said = said[1 + (said[1] == "you") :]  # "could you paint the roof"
    verb = said[0] not in _own_words() or (said[0] in listed("acting") and len(said) > 1)
    return not (verb and {*said[1:2]} <= listed("objects")) and _changing().isdisjoint(said)


@cache
def _details() -> frozenset[str]:
    """Return the words that say how something is built: colours, numbers and sides, and verbs that change it."""
    verbs = {word for name in ("remove", "replace", "move", "mirror", "extend") for word in listed(name)}
    return (_rules().words_of("color", "number", "side") | verbs) - listed("weak_verbs") - {"one", "a"}


@cache
def _changing() -> frozenset[str]:
    """Return the colours and the verbs of building."""
    lists = map(listed, ("remove", "replace", "move", "copy", "mirror", "extend", "stack", "building"))
    single = {phrase for phrases in lists for phrase in phrases if " " not in phrase}
    return (_rules().words_of("color") | single) - listed("weak_verbs")


def nouns_of(said: list[str], names: Set[str], known_only: bool = False) -> dict[str, tuple[str, bool, bool]]:
    """Return the nouns in a text that the grammar does not know: names, and new ones."""
    if known_only and not names:
        return {}
    known = _own_words()
    found = {}
    for word, after in zip(said, (*said[1:], ""), strict=False):
        one, plural = singular(word)
        if "shaped" in (word, after):  # "diamond shaped" says how it looks
            continue
        if one in names or word in names:
            found[word] = (one if one in names else word, plural and one in names, True)
        elif (
            not known_only
            and word.isalpha()
            and (word not in known or one in listed("part"))
            and len(word) > 1
        ):
            found[word] = (one, plural, False)
    return found


class ClauseReader:
    """Reads a text phrase by phrase. said: words, with "." and "," between."""

    def __init__(self, said: list[str], names: Set[str]) -> None:
        self.breaks: dict[int, str] = {}
        self.said: list[str] = []
        for word in said:
            if word in _BREAKS:
                if self.breaks.get(len(self.said)) != ".":
                    self.breaks[len(self.said)] = word
            else:
                self.said.append(word)
        self.names = names
        self.parser = Parser(_rules(), self.said, nouns_of(self.said, names), quick=True)
        self.parser.meant = {at for at in range(len(self.said)) if self._is_meant(at)}
        self.ends = sorted({at for at, mark in self.breaks.items() if mark == "."} | {len(self.said)})

    def read(self) -> tuple[Clauses, ...]:
        """Return the ways to read the text that cost little more than the first, cheapest first."""
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
        found: dict[Clauses, int] = {}
        built: dict[tuple[Any, ...], int] = {}
        for cover in covers:
            if (dearer := cover.cost - covers[0].cost) <= _CLOSE:
                one = self._result(cover)
                colors = tuple(getattr(getattr(part, "new", part), "color", None) for part in one.parts)
                if dearer - built.setdefault(colors, dearer) != 1:  # else only a place has another meaning
                    found.setdefault(one, dearer)
        return tuple(replace(one, dearer=dearer) for one, dearer in [*found.items()][:MAX_WAYS])

    def _result(self, cover: _Cover) -> Clauses:
        parts: list[Any] = []
        unread: list[str] = []
        skipped: list[str] = []
        for part in cover.done:
            if isinstance(part, _Unread) and part.announces:
                skipped.append(part.text)
                parts += [] if part.about is None or unread else [part.about]
            elif isinstance(part, _Unread) and part.explains:
                skipped += [part.text] * (not unread)
            elif isinstance(part, _Unread):
                parts = [] if part.inside and not unread else parts  # its sentence is not read either
                unread.append(part.text)
            elif isinstance(part, Purpose) and not unread:
                parts += [SetFocus(part.of), _Heading(part.word, part.plural)]
            elif not unread:
                parts += part.parts if isinstance(part, Sequence) else (part,)
        found = tuple(_with_names(_with_colors(parts), self.names))
        return Clauses(found, tuple(unread), tuple(skipped) if found else (), self._new_nouns())

    def _new_nouns(self) -> tuple[NewNoun, ...]:
        """Return what the text introduces, each with the colour that is said beside it or behind it."""
        new = [
            at for at, word in enumerate(self.said) if not self.parser.nouns.get(word, ("", False, True))[2]
        ]
        new = [at for at in new if at + 1 not in new and not self._is_done(at)]  # the last one of a compound
        chosen = [at for at in new if self._introduces(at)]
        found: dict[str, NewNoun] = {}
        for at, following in zip(chosen, (*chosen[1:], len(self.said)), strict=False):
            colors = [c for i in (at - 1, *range(at + 1, following)) if i >= 0 for c in self._colors(i)]
            word, plural, _ = self.parser.nouns[self.said[at]]
            found.setdefault(word, NewNoun(word, plural, colors[0] if colors and len(chosen) > 1 else None))
        return tuple(found.values())

    def _is_done(self, at: int) -> bool:
        """Return whether a word is a verb: "it is waving", "nail a red one to it"."""
        doing = self.said[at].endswith("ing") and self.said[max(0, at - 1)] in ("is", "are", "it's", "no")
        inside = at + 1 not in self.breaks
        return doing or (inside and not listed("objects").isdisjoint(self.said[at + 1 : at + 2]))

    def _colors(self, at: int) -> list[int]:
        return [value for value, end, _ in self.parser.read("tint", at) if end == at + 1]

    def _introduces(self, at: int) -> bool:
        """Return whether a noun is that of something new: "the X:", "a yellow X", "here stands the X", "the X is"."""
        first = at
        while first and (
            self.said[first - 1] not in _own_words()
            or self.said[first - 1] in _fitting()
            or (self._colors(first - 1) and first not in self.breaks)
        ):
            first -= 1
        start = max(end for end in (0, *self.breaks) if end <= at)
        stop = min(end for end in (*self.breaks, len(self.said)) if end > at)
        before = self.said[max(start, first - 1) : first]
        opens = self._all_idle(start, first)
        counted = before in (["a"], ["an"], ["another"], ["our"]) or self._numbers(first)
        following = not set(self.said[at + 1 : at + 3]).isdisjoint(listed("is_posed"))
        placed = (
            before == ["the"]
            and self.said[first - 2 : first - 1] != []
            and self.said[first - 2] in listed("is_posed")
        )
        return counted or placed or (opens and (following or not before or at + 1 == stop))

    def _is_meant(self, at: int) -> bool:
        """Return whether a noun may mean something that has no name yet: "of the X", "paint the red X", "on each X"."""
        word, after = self.said[at], self.said[at + 1 : at + 2] if at + 1 not in self.breaks else []
        one = singular(word)[0]
        _, _, named = self.parser.nouns.get(word, ("", False, True))
        if named or (word in _own_words() and not is_noun(one)):
            return False
        if one in listed("opening") or near(word, _own_words()):
            return False
        if not is_noun(one) and word.endswith(tuple(listed("adjectival"))):
            return False
        blocks = is_noun(one) and not (listed("block1") | listed("blockn")).isdisjoint(after)
        known = listed("behind_noun") | listed("placing") | listed("needs")
        ends = not after or after[0] in known or is_number(after[0]) or bool(self._colors(at + 1))
        if not (ends or blocks):
            return False
        first = at
        while first and first not in self.breaks and self._describes(first - 1):
            first -= 1
        owner = first > 1 and self.said[first - 1] == "'s"
        return self._is_meant(first - 2) if owner else self._governs(self._before_article(first), at)

    def _describes(self, at: int) -> bool:
        """Return whether a word can stand between an article and its noun."""
        word = self.said[at]
        read = self._is_adjective(at) or any(end == at + 1 for _, end, _ in self.parser.read("number", at))
        return read or word not in _own_words() or word in _fitting()

    def _is_adjective(self, at: int) -> bool:
        """Return whether a word is a colour, an ordinal or an extreme: "the red", "the second", "the top"."""
        kinds = ("extreme", "ordinal", "tint")
        return any(end == at + 1 for kind in kinds for _, end, _ in self.parser.read(kind, at))

    def _before_article(self, first: int) -> int:
        """Return the position of the word before the article that ends before `first`; -1 if there is none."""
        before = first - 1
        if before < 0 or first in self.breaks or self.said[before] not in listed("definite"):
            return -1
        while before and before not in self.breaks and self.said[before - 1] in ("all", "both", "each"):
            before -= 1
        return before - 1 if before and before not in self.breaks else -1

    def _governs(self, at: int, noun: int) -> bool:
        """Return whether a word is a preposition of places or a verb that changes what is there."""
        if at < 0:
            return not listed("needs").isdisjoint(self.said[noun + 1 : noun + 2])
        word, behind = self.said[at], self.said[noun + 1 : noun + 5]
        end = min(end for end in (*self.breaks, len(self.said)) if end > noun)
        if word in ("make", "turn") and self._colors(end - 1) and not is_number(self.said[end - 2]):
            return True  # "make the hull green" lacks a place for something new
        grows = word in ("make", "build") and not {"longer", "taller", "higher", "wider"}.isdisjoint(behind)
        return word in listed("placing") or word in listed("acting") or grows

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
        if cover.whole and not can_cut and phrase is not None:
            return
        if piece and _fits(cover.open, phrase, joined="and" in self.said[max(0, at - 1) : at + 1]):
            extra = int(bool(cover.open) and at in self.breaks)
            yield _Cover(cover.cost + cost + extra, cover.done, (*cover.open, phrase))
        if phrase is None:
            yield replace(cover, cost=cover.cost + cost, whole=cover.whole and not can_cut)
            return
        closed = cover.closed() if (can_cut if cover.open else not piece) else None
        if closed is None:
            return
        if piece:
            sized = 0 if getattr(phrase, "tall", None) is None else 2  # ", two high, and a …"
            yield _Cover(closed.cost + cost + _CUT + sized, closed.done, (phrase,))
        else:
            yield _Cover(closed.cost + cost, (*closed.done, phrase), whole=not isinstance(phrase, _Unread))

    def _phrases(self, at: int) -> list[tuple[int, Any, int]]:
        """Return the phrases that begin at a word: where each ends, its value or None, and its cost."""
        found = [*self._whole(at), *self._pieces(at), *self._modifiers(at)]
        past = self.said[at] in ("you", "u", "i", "we") and self.parser.read("placed", at)
        for _, end, cost in () if past else self.parser.read("idle", at):  # "the ones you put down"
            if self.said[end - 1] != "the" or not self.parser.read("tint", end):  # "the red block" exists
                found.append((end, None, cost + 1))
        found = [
            (end, value, cost + sum(_BREAK[mark] for stop, mark in self.breaks.items() if at < stop < end))
            for end, value, cost in found
            if end > at
        ]
        stop = next(end for end in self.ends if end > at)
        if at == 0 or at in self.breaks:
            found += self._unread(at, stop)
        elif self.said[at] in _RESULTING and _changing().isdisjoint(self.said[at:stop]):
            rest = self.said[at:stop]  # "so it is a full square", "like the five on a dice"
            found.append((stop, _Unread(" ".join(rest), True, explains=True), 26 + 2 * len(rest)))
        return found

    def _whole(self, at: int) -> Iterator[tuple[int, Any, int]]:
        """Yield instructions and remarks, which begin behind a break or idle words."""
        if at and at not in self.breaks and not self._after_idle(at):
            return
        alone = ("amendment", "repeated", "check") if self.breaks.get(at, ".") == "." else ()
        for category in ("clause", "two_sided", "viewed", "naming", "holds", *alone):
            least: dict[int, int] = {}
            for value, end, cost in self.parser.read(category, at):  # cheapest first
                if cost == least.setdefault(end, cost):
                    yield end, value, cost + _lacking(value) + 8 * isinstance(value, View)
        for value, end, cost in self.parser.read("remark", at):
            yield end, None if isinstance(value, Remark) else value, cost + 2

    def _pieces(self, at: int) -> Iterator[tuple[int, Any, int]]:
        pieces = self.parser.read("piece", at)
        kinds = {end for value, end, _ in pieces if value.name == "kind"}
        for value, end, cost in pieces:
            if (value.name == "name" and end in kinds) or (
                self.said[at] == "still" and at not in self.breaks
            ):
                continue  # "that is still blue" describes
            if value.name == "kind":
                word, plural = singular(self.said[end - 1])
                value = replace(value, word=word if word in listed("part") else "", plural=plural)
            known = value.name == "name" or (value.name == "kind" and self.said[at - 1 : at] == ["the"])
            if not known or self.said[at] == "as" or end > at + 1 or self._may_be_new(at):
                yield end, value, cost + 1

    def _modifiers(self, at: int) -> Iterator[tuple[int, Any, int]]:
        least: dict[int, int] = {}
        for value, end, cost in self.parser.read("mod", at):  # cheapest first
            if cost > least.setdefault(end, cost) + 1:
                continue  # "north to south" is no place north of the south
            if self.said[end : end + 1] == ["of"] and value.area is None:
                continue  # a preposition goes with its noun, but "3x3 of orange"
            if end not in self.breaks and end < len(self.said):
                named = self.said[end] in self.parser.nouns and self._colors(end - 1)
                if named or (self._colors(end) and self._is_adjective(end - 1)):
                    continue  # and "the red" is no thing in "the red stripe", nor "the last" in "the last red"
            one = end == at + 1 and value in (Modifiers(color=value.color), Modifiers(way=value.way))
            if not one or (value.way is not None and self.said[at - 1 : at] != ["the"]):
                yield end, value, cost + 1

    def _unread(self, at: int, stop: int) -> Iterator[tuple[int, Any, int]]:
        """Yield the words up to the end of the sentence as a remark, an explanation, or not read.

        Words before a comma, behind which an instruction begins, are an announcement.
        """
        rest, inside = self.said[at:stop], at != 0 and self.breaks[at] == ","
        idle = _changing().isdisjoint(rest)
        for comma in self.breaks if not inside else ():
            if at < comma < stop and self._orders(comma):
                yield from self._announcement(at, comma, 24)
        if rest[0] == "so" and idle:
            yield stop, None, 12 + 2 * len(rest)  # what follows from the request
        if self._is_remark(at, stop, inside):
            about = None if inside else self._topic(at, stop)
            yield stop, about, (12 + 5 * len(rest)) if inside else (8 + 2 * len(rest))
        if inside and idle and rest[0] in listed("explaining"):
            yield stop, _Unread(" ".join(rest), True, explains=True), 30 + 3 * len(rest)
        end = min(end for end in (*self.breaks, len(self.said)) if end > at)
        if self._is_aside(at, end):
            yield end, _Unread(" ".join(self.said[at:end]), inside, explains=True), 26 + 3 * (end - at)
        if not inside and stop < len(self.said):
            yield from self._opening(at, stop)
        yield stop, _Unread(" ".join(rest), inside), _SKIP * (1 + len(rest) // 4)

    def _is_aside(self, at: int, end: int) -> bool:
        """Return whether a clause with a subject has only words that the grammar does not know, or idle ones."""
        words = self.said[at:end]
        negated = any(word in listed("bare") or word.endswith("n't") for word in words)
        idle = [i for i in range(at, end) if any(stop == i + 1 for _, stop, _ in self.parser.read("idle", i))]
        known = {self.said[i] for i in range(at, end) if i not in idle} & _own_words()
        plain = known <= listed("subject") | listed("modal") and _telling().isdisjoint(words)
        return plain and not negated and words[0] in listed("subject")

    def _is_remark(self, at: int, stop: int, inside: bool) -> bool:
        """Return whether words neither ask for anything nor say how something is built."""
        rest = self.said[at:stop]
        numbered = any(is_number(word) or word == "minus" for word in rest)
        if numbered or not _telling().isdisjoint(rest) or not asks_for_nothing(rest):
            return False
        return not (inside and rest[0] not in listed("remarking")) and None not in self._things(at, stop)

    def _opening(self, at: int, stop: int) -> Iterator[tuple[int, Any, int]]:
        """Yield a sentence before others as an announcement."""
        rest = self.said[at:stop]
        later = {"it", "them", "they"}.isdisjoint(self.said[stop:])
        known = None not in self._things(at, stop) and not self._places(at, stop)
        if known and asks_for_nothing(rest) and (later or _telling().isdisjoint(rest)):
            yield stop, _Unread(" ".join(rest), False, True), 20 + 3 * len(rest)
        else:
            yield from self._announcement(at, stop, 20)

    def _announcement(self, at: int, stop: int, cost: int) -> Iterator[tuple[int, Any, int]]:
        """Yield words that say what will be built, not how: without colours, numbers and sides.

        The thing that they name is what "it" means then; without "it" they must name none.
        """
        words = self.said[at:stop]
        parts = words[0] in _changing() and not listed("building").issuperset(words[:1])
        noun = words[1:2] == ["'s"]  # "break's almost over"
        if (parts and not noun) or not _details().isdisjoint(words[noun:]):
            return
        about = self._topic(at, stop)
        if about is not None or not self._things(at, stop):
            yield stop, _Unread(" ".join(words), False, True, about=about), cost + 3 * len(words)

    def _things(self, at: int, stop: int) -> list[Any]:
        """Return the things that words name with an article."""
        found: list[Any] = []
        while at < stop:
            read = self.parser.read("ref", at) if self.said[at] in ("the", "both") else ()
            inside = [(end, -cost, value) for value, end, cost in read if end <= stop]
            end, _, value = max(inside, key=lambda one: one[:2], default=(at + 1, 0, None))
            alone = end == at + 1
            unknown = self.said[at] == "both" and not self.parser.nouns.keys().isdisjoint(self.said[at:stop])
            found += [None if alone else value] * (unknown or not alone)
            at = end
        return found

    def _places(self, at: int, stop: int) -> bool:
        """Return whether words say where something is relative to a thing: "directly east of it"."""
        return any(
            end <= stop
            and "of" in self.said[start:end]
            and isinstance(value, Beside)
            and value.of != Spot(0, 0)
            for start in range(at, stop)
            for value, end, _ in self.parser.read("explicit_where", start)
        )

    def _topic(self, at: int, stop: int) -> SetFocus | None:
        """Return the only thing that words name, if the rest of the text is about "it"."""
        things = self._things(at, stop)
        refers = not {"it", "its", "them", "they", "their"}.isdisjoint(self.said[stop:])
        return SetFocus(things[0]) if refers and len(things) == 1 and things[0] else None

    def _orders(self, at: int) -> bool:
        """Return whether an instruction with a verb begins at a word or behind idle ones."""
        starts = {at} | {end for _, end, _ in self.parser.read("idle", at)}
        verbs = _changing()
        return any(
            self.said[start] in verbs and any(self.parser.read("clause", start))
            for start in starts
            if start < len(self.said)
        )

    def _may_be_new(self, at: int) -> bool:
        """Return whether a noun can be that of something new."""
        if at + 1 not in self.breaks and self.said[at + 1 : at + 2] in (["the"], ["a"], ["an"], ["of"]):
            return False
        while at and (self.said[at - 1] in ("the", "a", "an", "this") or self.parser.read("tint", at - 1)):
            at -= 1
        begins = any(
            end == at for _, end, _ in (self.parser.read("idle", at - 2) if at > 1 else ())
        )  # "begin with"
        return at == 0 or at in self.breaks or begins or self.said[at - 1] not in listed("not_new")

    def _after_idle(self, at: int) -> bool:
        starts = range(max(0, at - 4), at)
        return any(end == at for start in starts for _, end, _ in self.parser.read("idle", start))


@dataclass(frozen=True)
class _Unread:
    """Words that are not read.

    inside: from a comma on. announces, explains: before or behind a request, without colours and verbs of building.
    about: what an announcement is about.
    """

    text: str
    inside: bool
    announces: bool = False
    explains: bool = False
    about: SetFocus | None = None


def _fits(open_: tuple[Any, ...], phrase: Any, joined: bool) -> bool:
    """Return whether a piece can be added: each is given once. joined: by "and", so that it is no place in a place."""
    if isinstance(phrase, Modifiers):
        places = {where for part in open_ if isinstance(part, Modifiers) for where in part.where}
        levels = [{one for one in of if isinstance(one, Level)} for of in (places, phrase.where)]
        return not (levels[0] and levels[1] - levels[0]) and _places_fit(places, {*phrase.where}, joined)
    names = [part.name for part in open_ if isinstance(part, Property)]
    if phrase.name == "name" and names.count("name") < 2:
        return True
    if phrase.name == "count" and Property("count", 1) in open_ and {"name", "kind"} & {*names}:
        return names.count("count") == 1  # "a mast, four blocks"
    return phrase.name not in names or (phrase.name == "count" and phrase in open_)


def _places_fit(known: set[Location], added: set[Location], joined: bool) -> bool:
    """Return whether places can be added: up to two of things, one of them above or below something, or nine spots."""
    places, more = known | added, {where for where in added if not isinstance(where, Level)}
    spots = {where for where in places if isinstance(where, Spot)}
    before = {where for where in known - added if not isinstance(where, Level)}
    if joined and before and more and not (before | added) <= spots:
        return False
    upright = {
        where.of for where in places if isinstance(where, Beside) and where.offset[:1] in (_ON, _UNDER)
    }
    return len(places - spots) <= 3 - bool(spots) and len(upright) <= 1 and len(spots) <= 9


_NO_KIND = Property("kind", None)


@lru_cache(maxsize=4096)
def _placement(pieces: tuple[Any, ...]) -> tuple[tuple[Any, ...], int] | None:
    """Return the instructions that pieces make, and the cost of what is missing; None if they contradict."""
    given = {part.name: part for part in pieces if isinstance(part, Property)}
    names = [part for part in pieces if isinstance(part, Property) and part.name == "name"]
    placed = (part for part in pieces if isinstance(part, Modifiers))
    try:
        mods = reduce(Modifiers.plus, placed, Modifiers())
        mods = replace(mods, where=tuple(dict.fromkeys(mods.where)))
        if mods == Modifiers() and (heading := _as_heading(given, names)) is not None:
            return heading
        made = _made(given, mods) if _shows(given, mods) else None
    except (DialogueError, GridError, LanguageError):
        return None
    if made is None:
        return None
    goals = made.parts if isinstance(made, Sequence) else (made,)
    kind = given.get("kind", _NO_KIND)
    words = [(part.value, part.plural) for part in names[-1:]] or [(kind.word, kind.plural)] * bool(kind.word)
    called = tuple(_Heading(word, plural, True) for word, plural in words)
    cost = 6 * (len(names) > 1) + sum(map(_lacking, goals))
    return tuple(chain.from_iterable((goal, *called * _places(goal)) for goal in goals)), cost


def _shows(given: Mapping[str, Property], mods: Modifiers) -> bool:
    """Return whether pieces say what is placed, or the colour and place of something."""
    shown = given.keys() & {"count", "kind", "name", "block", "colors"}
    return bool(shown) or mods.area is not None or ("color" in given and mods.where != ())


def _as_heading(given: Mapping[str, Property], names: list[Property]) -> tuple[tuple[Any, ...], int] | None:
    """Return the headings that names or a shape alone are, and their cost; None if there is more."""
    article = "count" in given
    if names and {*given} <= {"name", "count"} and (not article or given["count"].value == 1):
        return tuple(_Heading(part.value, part.plural, article=article) for part in names), 4
    kind = given.get("kind", _NO_KIND)
    if kind.word and {*given} <= {"kind", "count"}:
        return (_Heading(kind.word, kind.plural, article=article),), 7
    return None


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
    """Return the placement of its properties; None if they do not go together."""
    value = {name: part.value for name, part in given.items()}
    kind = value.get("kind", Kind.BLOCK)
    if {"slant", "through", "member"} & value.keys():
        level = mods.plus(Modifiers(standing=False))  # contradicts what stands upright
        level.only("a line", "where", "way", "axis", "color", "total", "origin", "standing")
        return _line(value, kind, mods)
    mods = _centred(_at_spots(_with_properties(value, mods), given))
    if "above" in value or "colors" in value:
        return _of_colors(given, kind, mods)
    plural = any(part.plural for part in given.values())
    kind, mods, count = _with_number(value, kind, mods, plural)
    if count is None and not (plural and kind is Kind.BLOCK):
        count = 1
    vague = count is None and kind is Kind.BLOCK and not mods.where
    return put(BlockSpec(count, value.get("color"), kind, vague=vague), mods)


def _with_properties(value: Mapping[str, Any], mods: Modifiers) -> Modifiers:
    """Return modifiers with the properties that are modifiers, too: hollow, upright, axis."""
    axis = value["toward"].axis if "toward" in value else value.get("axis")
    return mods.plus(Modifiers(hollow=value.get("hollow"), standing=value.get("upright"), axis=axis))


def _with_number(
    value: Mapping[str, Any], kind: Any, mods: Modifiers, plural: bool
) -> tuple[Any, Modifiers, int | None]:
    """Return kind, modifiers and number of new blocks, by what a number of blocks means."""
    count = value.get("count")
    if mods.also is not None and count == 2:
        mods = replace(mods, split=True)
    if "total" in value:
        length = {Kind.TOWER: "tall", Kind.COLUMN: "tall", Kind.ROW: "long"}.get(kind, "total")
        mods = mods.plus(Modifiers(**{length: value["total"]}))
    if mods.area is not None:
        as_many = not plural and count == prod(mods.area) * (mods.tall or 1)
        kind = Kind.RECTANGLE if kind in (Kind.BLOCK, Kind.ROW, Kind.TOWER) else kind
        return kind, mods, None if as_many else count
    return _as_lines(kind, mods, count, plural)


def _as_lines(
    kind: Any, mods: Modifiers, count: int | None, plural: bool
) -> tuple[Any, Modifiers, int | None]:
    """Return kind, modifiers and number of towers, and of one thing that has all blocks: "a pole: two blue blocks"."""
    if count in (None, 1):
        return kind, mods, count
    if kind is Kind.BLOCK and mods.tall not in (None, count) and not (mods.long or mods.wide):
        return Kind.TOWER, mods, count  # "four legs, three high"
    if kind in (Kind.TOWER, Kind.ROW, *FIGURE_BLOCKS) and not plural:
        return kind, mods.plus(Modifiers(total=count)), 1
    return kind, mods, count


_IN_ROWS = {"count", "color", "colors", "kind", "name", "block", "member", "toward", "axis", "goal", "total"}
_LINES = (Kind.BLOCK, Kind.ROW, Kind.DIAGONAL)


_FIRST = ((1, None, None), None)  # the first block of a line, whose place is that of the line


def _line(value: Mapping[str, Any], kind: Any, mods: Modifiers) -> Build | None:
    """Return a row or diagonal by the place of one of its blocks: "the third block from the west is the centre".

    Without that, a diagonal goes through its place or begins there, or goes on from a thing or the last block.
    """
    if not value.keys() <= {*_IN_ROWS, "slant", "through"} or kind not in _LINES:
        return None
    ways, colors = _ways_of_line(value, mods), _colors_of_line(value, mods)
    places = _places_of_line(value, ways, mods)
    heights = [where.height for where in mods.where if isinstance(where, Level)] or [1]
    if not ways or not colors or len(places) != 1 or len(heights) > 1:
        return None
    known = len(ways) > 1 or value.get("member", _FIRST)[0][1] or "toward" in value or mods.way
    at = _placed_block(value, ways, colors, places[0])
    if at is None or not (known or (2 * at + 1 == len(colors) and colors == colors[::-1])):
        return None  # from which end it is counted matters
    where = _start_of_line(places[0], at, ways, heights[0])
    shape = Shape(Kind.DIAGONAL if len(ways) > 1 else Kind.ROW, (len(colors),), ways)
    return None if where is None else Build(shape, colors, where)


def _ways_of_line(value: Mapping[str, Any], mods: Modifiers) -> tuple[Direction, ...]:
    """Return the one or two directions in which a line goes; () if they are not of the compass, or not given."""
    along = {"x": Direction.EAST, "z": Direction.SOUTH}.get(value.get("axis") or mods.axis or "")
    ways: Any = value.get("slant") or value.get("through") or (value.get("toward") or mods.way or along,)
    side = value.get("member", _FIRST)[0][1]
    return ways if ways[0] in COMPASS and side in (None, *ways, ways[0].opposite) else ()


def _colors_of_line(value: Mapping[str, Any], mods: Modifiers) -> tuple[int, ...]:
    """Return the colours of the blocks of a line; () if they are not given, or not as many as the line has."""
    count = value.get("total") or value.get("count") or mods.total or 0
    colors = value.get("colors") or (value.get("color", mods.color),) * count
    fit = len(colors) > 1 and None not in colors and count in (0, 1, len(colors))
    return colors if fit and not {"color", "colors"} <= value.keys() else ()


def _places_of_line(value: Mapping[str, Any], ways: tuple[Direction, ...], mods: Modifiers) -> list[Any]:
    """Return the places of a line and of one of its blocks."""
    spot = value.get("member", _FIRST)[1]
    wheres: list[Any] = [where for where in mods.where if not isinstance(where, Level) and where != spot]
    if not wheres and spot is None and "slant" in value:
        wheres = [Beside(tuple((way, 1) for way in ways), mods.origin or LastBlock())]
    return wheres if spot is None else [*wheres, spot]


def _placed_block(
    value: Mapping[str, Any], ways: tuple[Direction, ...], colors: tuple[int, ...], place: Any
) -> int | None:
    """Return the index of the block of a line that comes to lie at its place; None if there is none."""
    (rank, side, color), spot = value.get("member", _FIRST)
    through = "through" in value or ("toward" in value and isinstance(place, Spot))
    if not rank or (spot is None and through):
        return len(colors) // 2 if len(colors) % 2 else None
    fitting = [at for at, one in enumerate(colors) if color in (None, one)]
    chosen = (fitting[::-1] if side in ways else fitting)[rank - 1 : rank]
    return chosen[0] if chosen else None


def _start_of_line(place: Any, at: int, ways: tuple[Direction, ...], height: int) -> Any:
    """Return where a line begins whose block `at` is at a place of the map; None if it is elsewhere."""
    if not isinstance(place, Spot):
        return None if at else place
    x, z = (-at * sum(VECTORS[way][axis] for way in ways) for axis in (0, 2))
    spot = Spot(place.x + x, place.z + z)
    return spot if len(ways) > 1 else At((spot.x, FLOOR + height - 1, spot.z))


def _of_colors(given: Mapping[str, Property], kind: Any, mods: Modifiers) -> Any:
    """Return a tower or a row of the colours that are listed; None if they do not go together."""
    value: dict[str, Any] = {name: part.value for name, part in given.items()}
    count, colors, rest = value.get("count"), value.get("colors", ()), {*given} - _BESIDE_COLORS
    if "above" in value:  # "red on the ground, on top of it yellow"
        if "color" not in value or colors:
            return None
        colors = ((value["color"],) * (count or 1) + value["above"])[:MAX_HEIGHT]
        rest -= {"color", "above", "count"}
    if "above" in value or given["colors"].axis:
        mods = mods.plus(Modifiers(standing=True))
    stated = {name for name in ("total", "long", "high") if value.get(name) == len(colors)}
    stated |= {"count"} if count in (1, len(colors)) else set()
    if "toward" in value:
        return _line(value | {"colors": colors}, kind, mods)
    return _colored(colors, kind, mods, rest - stated)


_BESIDE_COLORS = {"toward", "axis", "goal", "kind", "name", "colors", "upright", "block"}


def _colored(colors: tuple[int, ...], kind: Any, mods: Modifiers, more: Set[str]) -> Any:
    """Return a tower or a row of one colour per block; None if that was not said."""
    if len(mods.where) != 1 or more or mods != Modifiers(mods.where, mods.standing, mods.way):
        return None
    (place,), vertical = mods.where, mods.way is not None and mods.way.vertical
    where: Any = place
    on_top = isinstance(where, Beside) and where.offset == _ON and kind is Kind.BLOCK and len(colors) > 2
    if kind in (Kind.TOWER, Kind.COLUMN) or (mods.standing or vertical) or (on_top and mods.way is None):
        return Build(Shape(Kind.TOWER, (len(colors),)), colors, where)
    if kind in (Kind.ROW, Kind.BLOCK) and mods.way is not None:
        return Build(Shape(Kind.ROW, (len(colors),), (mods.way,)), colors, where)
    return None


def _at_spots(mods: Modifiers, given: Mapping[str, Property]) -> Modifiers:
    """Return modifiers in which several places of the map have one thing each.

    Raises `Contradiction` if that does not fit the number of things.
    """
    spots = tuple(where for where in mods.where if isinstance(where, Spot))
    if len(spots) < 2:
        return mods
    count = given["count"].value if "count" in given else None
    others = tuple(where for where in mods.where if where not in spots)
    fits = count is None and any(part.plural or part.value == "several" for part in given.values())
    if not (fits or count == len(spots)) or not all(isinstance(where, Level) for where in others):
        raise Contradiction(f"{count or 'one'} and {len(spots)} places")
    return replace(mods, where=(Spots(tuple((one.x, one.z) for one in spots)), *others), each=True)


def _centred(mods: Modifiers) -> Modifiers:
    """Return modifiers in which "centred" without another place is the centre: "on the floor, centred"."""
    if not mods.centred or not all(isinstance(where, Level) for where in mods.where):
        return mods
    return replace(mods, where=(Spot(0, 0), *mods.where), centred=None)


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
        rest = parts[number + 1 :]
        if isinstance(part, _Heading):
            if not part.placed:
                heading = part
                if part.article and all(isinstance(other, _Heading) for other in rest):
                    yield Name(part.word)
            continue
        yield part
        called = [one for one in rest[:1] if isinstance(one, _Heading) and one.placed]
        if heading is not None:
            called = [heading] * _places(part) + [one for one in called if one.word != heading.word]
        for one in called:
            yield Name(one.word, Anaphor(), one.plural, one.word in met)
            met.add(one.word)


def _places(part: Any) -> bool:
    return isinstance(part, (PlaceGoal, Place, Build, CellEdit))
