"""Noun phrases: "the red tower of three blocks that is north of a green row", as values, programs and words.

A phrase says which things are meant. It is a value with three forms: the program that finds the things, any of many
wordings, and (reading those) the phrase itself. All words stand in `questions.json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any, TypeVar

import numpy as np

from iglu_marl.core.errors import LanguageError
from iglu_marl.core.grid import BLOCKS_PER_COLOR
from iglu_marl.language.scene import Thing
from iglu_marl.language.scene.program import (
    COLOR_WORDS,
    EXTREMES,
    MAX_HEIGHT,
    RELATIONS,
    SHAPE_NAMES,
    Program,
)
from iglu_marl.language.templates import number_of, ordinal_digits, templates

Option = TypeVar("Option")
Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several wordings."""

LIKENESS = ("same_color", "same_height", "same_level", "same_size")
JOINS = ("and", "or")
MAX_SIZE = 99
_LINES = ("block", "row", "tower")
_SIDES, _ARMS, _ODD = range(2, 12), range(3, 12), range(3, 12, 2)
_SIZES = {
    "block": {1},
    "row": {*_SIDES},
    "tower": {*range(2, MAX_HEIGHT + 1)},
    "diagonal": {*_SIDES},
    "group": {*range(2, MAX_SIZE + 1)},
    "square": {k * k for k in _SIDES},
    "rectangle": {p * q for p in _SIDES for q in _SIDES},
    "wall": {p * q for p in _SIDES for q in range(2, MAX_HEIGHT + 1)},
    "l": {p + q - 1 for p in _SIDES for q in _SIDES},
    "t": {p + q - 1 for p in _ODD for q in _SIDES},
    "plus": {2 * k - 1 for k in _ODD},
    "u": {p + 2 * q - 2 for p in _ARMS for q in _SIDES},
    "ring": {2 * (p + q) - 4 for p in _ARMS for q in _ARMS},
    "staircase": {k * (k + 1) // 2 for k in range(2, MAX_HEIGHT + 1)},
}
"""The sizes that a shape can have in the zone."""
_SCENE = Program("scene")
_FITS: dict[str, Callable[[int, int, int, int], bool]] = {  # the spans of layers of two things
    "on": lambda a, b, c, d: a == d + 1,
    "above": lambda a, b, c, d: a > d,
    "below": lambda a, b, c, d: b < c,
    "next_to": lambda a, b, c, d: a <= d and c <= b,
    "same_height": lambda a, b, c, d: b == d,
    "same_level": lambda a, b, c, d: a == c,
}


@lru_cache(maxsize=1)
def data() -> dict[str, Any]:
    """The content of `questions.json`."""
    file = resources.files("iglu_marl.language").joinpath("questions.json")
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def first(options: Sequence[Option]) -> Option:
    """The preferred wording."""
    return options[0]


def chooser(rng: np.random.Generator | None) -> Choose:
    """The preferred wordings, or with `rng` random ones."""
    return first if rng is None else lambda options: options[int(rng.integers(len(options)))]


@dataclass(frozen=True)
class Link:
    """How the things of a phrase stand to others.

    relation: one of `RELATIONS` or `LIKENESS`. to: the others. definite: "the" one, or "a", any of them.
    """

    relation: str
    to: Phrase
    definite: bool = True

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS and self.relation not in LIKENESS:
            raise LanguageError(
                f"unknown relation {self.relation!r}, expected one of {', '.join((*RELATIONS, *LIKENESS))}"
            )
        if self.relation in LIKENESS and not self.definite:
            raise LanguageError(f"{self.relation} compares to one thing, expected definite=True")

    @cached_property
    def others(self) -> Program:
        """The things that it leads to."""
        return Program("unique", (self.to.meant,)) if self.definite else self.to.program

    @cached_property
    def program(self) -> Program:
        """The things that stand so."""
        if self.relation in LIKENESS:
            return Program(self.relation, (self.others,))
        return Program("relate", (self.others,), self.relation)


@dataclass(frozen=True)
class Phrase:
    """Which things are meant: `Phrase("tower", ("red",), links=(Link("north", Phrase("row")),))`.

    shape: one of `SHAPE_NAMES`. colors: none, one, or two ("red or blue"). size: in blocks. height: of the top, 1..9.
    links: how they stand to others, none, one, or two with `joined` "and" or "or". level: of the bottom, 1 = on the
    ground. extreme: only what reaches furthest in one of `DIRECTIONS`, or the "middle" one; rank: second, third, ...
    furthest.

    Raises `LanguageError` for unknown names and values out of range.
    """

    shape: str = "block"
    colors: tuple[str, ...] = ()
    size: int | None = None
    height: int | None = None
    links: tuple[Link, ...] = ()
    joined: str | None = None
    level: int | None = None
    extreme: str | None = None
    rank: int = 1

    def __post_init__(self) -> None:
        if self.shape not in SHAPE_NAMES:
            raise LanguageError(f"unknown shape {self.shape!r}, expected one of {', '.join(SHAPE_NAMES)}")
        if len(self.colors) > 2 or len(set(self.colors)) != len(self.colors):
            raise LanguageError(f"colors is {self.colors!r}, expected two different ones at most")
        for color in self.colors:
            if color not in COLOR_WORDS:
                raise LanguageError(f"unknown colour {color!r}, expected one of {', '.join(COLOR_WORDS)}")
        if self.size is not None and not (self.shape != "block" and 2 <= self.size <= MAX_SIZE):
            raise LanguageError(
                f"size of a {self.shape} is {self.size!r}, expected None, or 2..{MAX_SIZE} for other than blocks"
            )
        for name, value in (("height", self.height), ("level", self.level)):
            if value is not None and not 1 <= value <= MAX_HEIGHT:
                raise LanguageError(f"{name} is {value!r}, expected None or 1..{MAX_HEIGHT}")
        if self.extreme not in (None, *EXTREMES):
            raise LanguageError(f"unknown extreme {self.extreme!r}, expected one of {', '.join(EXTREMES)}")
        if not 1 <= self.rank <= (1 if self.extreme in (None, "middle") else MAX_HEIGHT):
            raise LanguageError(f"rank is {self.rank!r}, expected 1..{MAX_HEIGHT} from an end, else 1")
        if len(self.links) > 2 or (len(self.links) == 2) != (self.joined in JOINS):
            raise LanguageError(
                f"{len(self.links)} links joined by {self.joined!r}, expected two by and or or"
            )

    @property
    def depth(self) -> int:
        """How many references stand inside each other, at most."""
        return max((1 + link.to.depth for link in self.links), default=0)

    @cached_property
    def program(self) -> Program:
        """The program that finds all things that are meant."""
        parts = [link.program for link in self.links] or [_SCENE]
        found = parts[0]
        if self.joined is not None:
            found = Program("intersect" if self.joined == "and" else "union", tuple(parts))
        found = self._like(found)
        if self.extreme is None:
            return found
        return Program("filter_extreme", (found, Program("number", (), self.rank)), self.extreme)

    @cached_property
    def meant(self) -> Program:
        """The program that finds what "the" phrase means: of several that stand so to something, the nearest."""
        relations = [link for link in self.links if link.relation in RELATIONS]
        if len(self.links) != 1 or not relations or self.extreme is not None:
            return self.program
        return Program("nearest", (self._like(_SCENE), relations[0].others), relations[0].relation)

    def _like(self, found: Program) -> Program:
        """Those of some things that look as is told: whole ones, where no colour is told."""
        found = Program("filter_shape", (found,), self.shape)
        if self.colors:
            colored = [Program("filter_color", (found,), color) for color in self.colors]
            found = colored[0] if len(colored) == 1 else Program("union", tuple(colored))
        elif self.shape != "block":
            found = Program("filter_whole", (found,))
        for name in ("size", "height", "level"):
            if (value := getattr(self, name)) is not None:
                found = Program(f"filter_{name}", (found,), value)
        return found

    # -- what can be

    @property
    def sizes(self) -> set[int]:
        """The numbers of blocks that such a thing can have."""
        sizes = _SIZES[self.shape] if self.size is None else _SIZES[self.shape] & {self.size}
        return {size for size in sizes if size <= BLOCKS_PER_COLOR or not self.colors}

    @property
    def spans(self) -> set[tuple[int, int]]:
        """The (lowest layer, highest layer) that such a thing can have."""
        low, high = {"block": (1, 1), "row": (1, 1), "wall": (2, 9), "staircase": (2, 9)}.get(
            self.shape, (1, 9)
        )
        if self.shape == "tower":
            low, high = (2, 9) if self.size is None else (self.size, self.size)
        layers = range(1, MAX_HEIGHT + 1)
        spans = ((level, top) for level in layers for top in layers if low <= top - level + 1 <= high)
        return {(a, b) for a, b in spans if self.level in (None, a) and self.height in (None, b)}

    @property
    def is_possible(self) -> bool:
        """False for what no world can hold: a red block on the ground that stands on something, a row of 12."""
        links = all(self._can_stand(link) and link.to.is_possible for link in self.links)
        return bool(self.sizes and self.spans) and links

    def can_be(self, number: int) -> bool:
        """Whether a world can hold so many of them."""
        shared = 2 if self.shape == "row" else 1  # a block can lie in two rows
        stock = BLOCKS_PER_COLOR * (len(self.colors) or len(COLOR_WORDS))
        return self.is_possible and number * min(self.sizes) <= shared * stock

    def _can_stand(self, link: Link) -> bool:
        other = link.to
        for one, two in ((self, other), (other, self)) if link.relation in ("on", "next_to") else ():
            grows = one.shape not in _LINES or (one.shape == "tower" and link.relation == "on")
            alike = one.colors == two.colors if one.colors else one.shape in ("group", "tower")
            if grows and alike and len(one.colors) < 2:
                return False  # what touches it there belongs to it
        if link.relation == "same_size":
            return not self.sizes.isdisjoint(other.sizes)
        if link.relation == "same_color":
            return not (self.colors and other.colors and set(self.colors).isdisjoint(other.colors))
        fits = _FITS.get(link.relation)
        return fits is None or any(fits(*a, *b) for a in self.spans for b in other.spans)

    # -- words

    def say(self, plural: bool = False, choose: Choose = first) -> str:
        """The phrase without article: "red tower of three blocks that is north of a green row"."""
        nouns = choose(data()["nouns"][self.shape])
        words = [" or ".join(self.colors)] if self.colors else []
        words.append(nouns[plural])
        if self.size is not None:
            words.append(data()["size"].format(n=say_number(self.size, choose)))
        if self.extreme is not None:
            ordinal = templates()["ordinals"][self.rank - 1]
            extremes, end = data()["extremes"][self.extreme], data()["ends"].get(self.extreme)
            if self.rank > 1 and choose((True, False)):
                words = [ordinal, *words, end]
            else:
                words = [ordinal] * (self.rank > 1) + [choose(extremes), *words]
        if self.height is not None:
            words.append(say_height(self.height, choose))
        if self.level is not None:
            words.append(say_level(self.level, choose))
        be = "are" if plural else "is"
        told = [
            f"{say_link(link.relation, choose)} {'the' if link.definite else ''}"
            f"{with_article(link.to.say(choose=choose), link.definite)}"
            for link in self.links
        ]
        if len(told) == 2:
            either = "either " if self.joined == "or" else ""
            words.append(f"that {be} {either}{told[0]} {self.joined} {told[1]}")
        elif told:
            words.append(choose(("", f"that {be} ")) + told[0])
        return " ".join(words)


def with_article(words: str, definite: bool) -> str:
    """The words behind "a", "an" or (definite) nothing but a space: "a block", "an orange block"."""
    return f" {words}" if definite else f"{'an' if words[0] in 'aeiouL' else 'a'} {words}"


def say_number(number: int, choose: Choose = first) -> str:
    """A number in words or digits: "three", "3"."""
    spelled = templates()["numbers"]
    return str(choose((spelled[number], str(number)))) if number < len(spelled) else str(number)


def say_height(height: int, choose: Choose = first) -> str:
    """The height of a top: "at height 3"."""
    return str(choose(data()["height"])).format(n=say_number(height, choose))


def say_level(level: int, choose: Choose = first) -> str:
    """The level of a bottom: "on the ground", "on level 3", "on the third level"."""
    options = (data()["ground"] if level == 1 else []) + data()["level"]
    ordinal = templates()["ordinals"][level - 1]
    return str(choose(options)).format(n=say_number(level, choose), nth=ordinal)


def say_thing(thing: Thing) -> str:
    """A thing in words: "a red tower of three blocks"."""
    size = None if thing.shape == "block" else thing.size
    phrase = Phrase(thing.shape, (thing.color,) if thing.color in COLOR_WORDS else (), size)
    said = phrase.say()
    return with_article(said if phrase.colors else f"{thing.color} {said}", definite=False)


def say_answer(value: Any) -> str:
    """An answer in words: "yes", "3", "a red row of two blocks and a blue block", "nothing", "that is not clear".

    Of things that overlap only the largest are told.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Thing):
        return say_thing(value)
    if isinstance(value, tuple):
        told: list[Thing] = []
        for thing in sorted(value, key=lambda thing: (-thing.size, thing.number)):
            if not any(set(thing.cells) <= set(other.cells) for other in told):
                told.append(thing)
        return " and ".join(map(say_thing, told)) or "nothing"
    return "that is not clear" if value is None else str(value)


def things_in_words(value: Any) -> Any:
    """An answer, things in words and all else as it is."""
    return say_answer(value) if isinstance(value, (Thing, tuple)) else value


def say_link(relation: str, choose: Choose = first) -> str:
    """A relation or likeness: "north of", "on top of", "of the same color as"."""
    return str(choose(data()["likeness" if relation in LIKENESS else "relations"][relation]))


# -- reading


_PARTS = {"links": ("relations", "likeness")}  # of `questions.json`, where names differ


def _texts(wordings: Any) -> Iterator[str]:
    if isinstance(wordings, str):
        yield wordings.lower()
    else:
        for part in wordings:
            yield from _texts(part)


def _heights(name: str) -> Iterator[tuple[str, int]]:
    for height in range(1, MAX_HEIGHT + 1):
        numbers = (templates()["numbers"][height], str(height))
        ordinals = (templates()["ordinals"][height - 1], ordinal_digits(height))
        for text in data()[name]:
            yield from ((text.format(n=n, nth=nth), height) for n, nth in zip(numbers, ordinals, strict=True))
    yield from ((text, 1) for text in data()["ground"] if name == "level")


@lru_cache(maxsize=8)
def _wordings(name: str) -> dict[str, list[tuple[tuple[str, ...], Any]]]:
    """Wordings and what they mean: "height", "level", "links" or a part of `questions.json`; by their first word, the
    longest first.
    """
    if name in ("height", "level"):
        entries = list(_heights(name))
    else:
        parts = [data()[part] for part in _PARTS.get(name, (name,))]
        entries = [(text, meaning) for part in parts for meaning in part for text in _texts(part[meaning])]
    found: dict[str, list[tuple[tuple[str, ...], Any]]] = {}
    for text, meaning in entries:
        words = tuple(text.split())
        found.setdefault(words[0], []).append((words, meaning))
    for options in found.values():
        options.sort(key=lambda option: -len(option[0]))
    return found


@lru_cache(maxsize=1)
def _ordinals() -> dict[str, int]:
    numbered = list(enumerate(templates()["ordinals"], start=1))
    return {word: n for n, word in numbered} | {ordinal_digits(n): n for n, _ in numbered}


class PhraseReader:
    """Reads phrases off a list of words, in every way there is; each `read` yields (meaning, next position)."""

    def __init__(self, said: Sequence[str]) -> None:
        self.said = tuple(said)
        self._found: dict[tuple[int, bool], list[tuple[Phrase, int]]] = {}

    def word(self, at: int) -> str:
        """The word at a position; "" behind the end."""
        return self.said[at] if at < len(self.said) else ""

    def read(self, name: str, at: int) -> Iterator[tuple[Any, int]]:
        """Any of the wordings of "height", "level", "links" (relations and likeness), "nouns", "extremes" or "ends"."""
        for parts, meaning in _wordings(name).get(self.word(at), ()):
            if self.said[at : at + len(parts)] == parts:
                yield meaning, at + len(parts)

    def _maybe(self, name: str, at: int) -> Iterator[tuple[Any, int]]:
        yield None, at
        yield from self.read(name, at)

    def number(self, at: int) -> Iterator[tuple[int, int]]:
        """A number in words or digits."""
        word, spelled = self.word(at), templates()["numbers"]
        number = spelled.index(word) if word in spelled else number_of(word)
        if number is not None and number < 10_000:
            yield number, at + 1

    def phrase(self, at: int, definite: bool = False) -> list[tuple[Phrase, int]]:
        """A phrase without article; a definite one may be an extreme one."""
        if (at, definite) not in self._found:
            self._found[at, definite] = list(self._phrase(at, definite))
        return self._found[at, definite]

    def _phrase(self, at: int, definite: bool) -> Iterator[tuple[Phrase, int]]:
        for phrase, start in self._bare(at, definite):
            for height, after_height in self._maybe("height", start):
                for level, after in self._maybe("level", after_height):
                    base = replace(phrase, height=height, level=level)
                    yield base, after
                    for links, joined, end in self._all_links(after):
                        yield replace(base, links=links, joined=joined), end

    def _bare(self, at: int, definite: bool) -> Iterator[tuple[Phrase, int]]:
        """Extreme, colours, noun, size."""
        rank = _ordinals().get(self.word(at)) if definite else None
        start = at + (rank is not None)
        for extreme, middle in self._maybe("extremes", start) if definite else ((None, start),):
            for colors, noun in self._colors(middle):
                for shape, after_noun in self.read("nouns", noun):
                    for size, end in self._size(shape, after_noun):
                        if extreme is None and rank is not None:
                            for way, last in self.read("ends", end):
                                yield Phrase(shape, colors, size, extreme=way, rank=rank), last
                        elif extreme != "middle" or rank is None:
                            yield Phrase(shape, colors, size, extreme=extreme, rank=rank or 1), end

    def _colors(self, at: int) -> Iterator[tuple[tuple[str, ...], int]]:
        one, other = self.word(at), self.word(at + 2)
        if one not in COLOR_WORDS:
            yield (), at
        elif self.word(at + 1) == "or" and other in COLOR_WORDS and other != one:
            yield (one, other), at + 3
        else:
            yield (one,), at + 1

    def _size(self, shape: str, at: int) -> Iterator[tuple[int | None, int]]:
        yield None, at
        if shape != "block" and self.word(at) == "of":
            for size, end in self.number(at + 1):
                for noun, last in self.read("nouns", end):
                    if 2 <= size <= MAX_SIZE and noun == "block":
                        yield size, last

    def _link(self, at: int) -> Iterator[tuple[Link, int]]:
        for relation, after in self.read("links", at):
            article = self.word(after)
            if article == "the" or (article in ("a", "an") and relation not in LIKENESS):
                for phrase, end in self.phrase(after + 1, article == "the"):
                    yield Link(relation, phrase, article == "the"), end

    def _all_links(self, at: int) -> Iterator[tuple[tuple[Link, ...], str | None, int]]:
        for link, end in self._link(at):
            yield (link,), None, end
        if self.word(at) != "that" or self.word(at + 1) not in ("is", "are"):
            return
        start = at + 2
        either = self.word(start) == "either"
        for link, end in self._link(start + either):
            if not either:
                yield (link,), None, end
            join = "or" if either else "and"
            # References inside a pair are simple: else nobody could tell what "and" joins.
            if self.word(end) == join and link.to.depth == 0:
                for other, last in self._link(end + 1):
                    if other.to.depth == 0:
                        yield (link, other), join, last
