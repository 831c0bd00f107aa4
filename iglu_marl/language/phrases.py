"""Noun phrases: "the red tower of three blocks that is north of a green row", as values, programs and words.

A phrase says which things are meant. It is a value with three forms: the program that finds the things, any of many
wordings, and (reading those) the phrase itself. All words stand in `questions.json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any, TypeVar

import numpy as np

from iglu_marl.core.errors import LanguageError
from iglu_marl.language.scene.program import COLOR_WORDS, MAX_HEIGHT, RELATIONS, SHAPE_NAMES, Program
from iglu_marl.language.templates import number_of, ordinal_digits, templates

Option = TypeVar("Option")
Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several wordings."""

LIKENESS = ("same_color", "same_height", "same_size")
JOINS = ("and", "or")
MAX_SIZE = 99
_SCENE = Program("scene")


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
    def program(self) -> Program:
        """The things that stand so."""
        others = self.to.program
        if self.definite:
            others = Program("unique", (others,))
        if self.relation in LIKENESS:
            return Program(self.relation, (others,))
        return Program("relate", (others,), self.relation)


@dataclass(frozen=True)
class Phrase:
    """Which things are meant: `Phrase("tower", ("red",), links=(Link("north", Phrase("row")),))`.

    shape: block, row, tower, square or group. colors: none, one, or two ("red or blue"). size: in blocks.
    height: of the lowest layer, 1..9. links: how they stand to others, none, one, or two with `joined` "and" or "or".

    Raises `LanguageError` for unknown names and values out of range.
    """

    shape: str = "block"
    colors: tuple[str, ...] = ()
    size: int | None = None
    height: int | None = None
    links: tuple[Link, ...] = ()
    joined: str | None = None

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
        if self.height is not None and not 1 <= self.height <= MAX_HEIGHT:
            raise LanguageError(f"height is {self.height!r}, expected None or 1..{MAX_HEIGHT}")
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
        """The program that finds the things."""
        parts = [link.program for link in self.links] or [_SCENE]
        found = parts[0]
        if self.joined is not None:
            found = Program("intersect" if self.joined == "and" else "union", tuple(parts))
        found = Program("filter_shape", (found,), self.shape)
        if self.colors:
            colored = [Program("filter_color", (found,), color) for color in self.colors]
            found = colored[0] if len(colored) == 1 else Program("union", tuple(colored))
        if self.size is not None:
            found = Program("filter_size", (found,), self.size)
        if self.height is not None:
            found = Program("filter_height", (found,), self.height)
        return found

    @property
    def is_possible(self) -> bool:
        """False for what no world can hold: a red block on the ground that stands on something, a row of 12."""
        longest = {"row": 11, "tower": 10 - (self.height or 1)}.get(self.shape, MAX_SIZE)
        if self.size is not None and self.size > longest:
            return False
        if self.shape == "square" and self.size not in (None, 4, 9, 16, 25, 36, 49, 64, 81):
            return False
        top = (self.height or 1) + (1 if self.shape == "tower" else 0)
        return top <= MAX_HEIGHT and all(self._can_stand(link) and link.to.is_possible for link in self.links)

    def _can_stand(self, link: Link) -> bool:
        mine, theirs = self.height, link.to.height
        group = "group" in (self.shape, link.to.shape)
        if link.relation in ("on", "next_to") and group:
            return False  # what touches a group belongs to it
        if link.relation in ("on", "above"):
            flat = link.relation == "on" and link.to.shape in ("block", "row")
            return (
                mine != 1
                and theirs != MAX_HEIGHT
                and not (mine and theirs and (mine <= theirs or (flat and mine != theirs + 1)))
            )
        if link.relation == "below":
            return mine != MAX_HEIGHT and theirs != 1 and not (mine and theirs and mine >= theirs)
        if link.relation == "next_to":
            flat = all(shape in ("block", "row") for shape in (self.shape, link.to.shape))
            return not (flat and mine and theirs and mine != theirs)
        if link.relation == "same_height":
            return not (mine and theirs and mine != theirs)
        if link.relation == "same_size":
            sizes = [1 if part.shape == "block" else part.size for part in (self, link.to)]
            return (None in sizes and 1 not in sizes) or sizes[0] == sizes[1]
        if link.relation == "same_color":
            return not (self.colors and link.to.colors and set(self.colors).isdisjoint(link.to.colors))
        return True

    # -- words

    def say(self, plural: bool = False, choose: Choose = first) -> str:
        """The phrase without article: "red tower of three blocks that is north of a green row"."""
        nouns = choose(data()["nouns"][self.shape])
        words = [" or ".join(self.colors)] if self.colors else []
        words.append(nouns[plural])
        if self.size is not None:
            words.append(data()["size"].format(n=say_number(self.size, choose)))
        if self.height is not None:
            words.append(say_height(self.height, choose))
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
    return f" {words}" if definite else f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def say_number(number: int, choose: Choose = first) -> str:
    """A number in words or digits: "three", "3"."""
    spelled = templates()["numbers"]
    return str(choose((spelled[number], str(number)))) if number < len(spelled) else str(number)


def say_height(height: int, choose: Choose = first) -> str:
    """A height: "on the ground", "at height 3", "on the third level"."""
    options = (data()["ground"] if height == 1 else []) + data()["height"]
    ordinal = templates()["ordinals"][height - 1]
    return str(choose(options)).format(n=say_number(height, choose), nth=ordinal)


def say_link(relation: str, choose: Choose = first) -> str:
    """A relation or likeness: "north of", "on top of", "of the same color as"."""
    return str(choose(data()["likeness" if relation in LIKENESS else "relations"][relation]))


# -- reading


def _by_words(entries: Iterator[tuple[str, Any]]) -> dict[str, list[tuple[tuple[str, ...], Any]]]:
    """Wordings by their first word, the longest first."""
    found: dict[str, list[tuple[tuple[str, ...], Any]]] = {}
    for text, meaning in entries:
        parts = tuple(text.split())
        found.setdefault(parts[0], []).append((parts, meaning))
    for options in found.values():
        options.sort(key=lambda option: -len(option[0]))
    return found


@lru_cache(maxsize=1)
def _nouns() -> dict[str, str]:
    return {word: shape for shape, forms in data()["nouns"].items() for pair in forms for word in pair}


@lru_cache(maxsize=1)
def _links() -> dict[str, list[tuple[tuple[str, ...], Any]]]:
    return _by_words(
        (text, name)
        for part in ("relations", "likeness")
        for name, texts in data()[part].items()
        for text in texts
    )


@lru_cache(maxsize=1)
def _heights() -> dict[str, list[tuple[tuple[str, ...], Any]]]:
    entries = [(text, 1) for text in data()["ground"]]
    for height in range(1, MAX_HEIGHT + 1):
        numbers = (templates()["numbers"][height], str(height))
        ordinals = (templates()["ordinals"][height - 1], ordinal_digits(height))
        for text in data()["height"]:
            for n, nth in zip(numbers, ordinals, strict=True):
                entries.append((text.format(n=n, nth=nth), height))
    return _by_words(iter(entries))


class PhraseReader:
    """Reads phrases off a list of words, in every way there is; each `read` yields (meaning, next position)."""

    def __init__(self, said: Sequence[str]) -> None:
        self.said = tuple(said)
        self._found: dict[int, list[tuple[Phrase, int]]] = {}

    def word(self, at: int) -> str:
        """The word at a position; "" behind the end."""
        return self.said[at] if at < len(self.said) else ""

    def _fixed(
        self, table: dict[str, list[tuple[tuple[str, ...], Any]]], at: int
    ) -> Iterator[tuple[Any, int]]:
        for parts, meaning in table.get(self.word(at), ()):
            if self.said[at : at + len(parts)] == parts:
                yield meaning, at + len(parts)

    def height(self, at: int) -> Iterator[tuple[int, int]]:
        """A height."""
        return self._fixed(_heights(), at)

    def relation(self, at: int) -> Iterator[tuple[str, int]]:
        """A relation or likeness."""
        return self._fixed(_links(), at)

    def number(self, at: int) -> Iterator[tuple[int, int]]:
        """A number in words or digits."""
        word, spelled = self.word(at), templates()["numbers"]
        number = spelled.index(word) if word in spelled else number_of(word)
        if number is not None and number < 10_000:
            yield number, at + 1

    def phrase(self, at: int) -> list[tuple[Phrase, int]]:
        """A phrase without article."""
        if at not in self._found:
            self._found[at] = list(self._phrase(at))
        return self._found[at]

    def _phrase(self, at: int) -> Iterator[tuple[Phrase, int]]:
        colors: tuple[str, ...] = ()
        if self.word(at) in COLOR_WORDS:
            colors, at = (self.word(at),), at + 1
            if self.word(at) == "or" and self.word(at + 1) in COLOR_WORDS and self.word(at + 1) != colors[0]:
                colors, at = (*colors, self.word(at + 1)), at + 2
        shape = _nouns().get(self.word(at))
        if shape is None:
            return
        for size, after_size in self._size(shape, at + 1):
            for height, after_height in self._height(after_size):
                base = Phrase(shape, colors, size, height)
                yield base, after_height
                for links, joined, end in self._all_links(after_height):
                    yield Phrase(shape, colors, size, height, links, joined), end

    def _size(self, shape: str, at: int) -> Iterator[tuple[int | None, int]]:
        yield None, at
        if shape != "block" and self.word(at) == "of":
            for size, end in self.number(at + 1):
                if 2 <= size <= MAX_SIZE and _nouns().get(self.word(end)) == "block":
                    yield size, end + 1

    def _height(self, at: int) -> Iterator[tuple[int | None, int]]:
        yield None, at
        yield from self.height(at)

    def _link(self, at: int) -> Iterator[tuple[Link, int]]:
        for relation, after in self.relation(at):
            article = self.word(after)
            if article == "the" or (article in ("a", "an") and relation not in LIKENESS):
                for phrase, end in self.phrase(after + 1):
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
