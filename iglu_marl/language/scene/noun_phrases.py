"""Noun phrases such as "the red tower of three blocks north of a green row": values with a program and a wording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from iglu_marl.core.errors import LanguageError
from iglu_marl.core.grid import BLOCKS_PER_COLOR
from iglu_marl.language.scene.program import (
    COLOR_WORDS,
    EXTREMES,
    MAX_HEIGHT,
    RELATIONS,
    SHAPE_NAMES,
    Program,
)

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
_SCENE = Program("scene")
_FITS: dict[str, Callable[[int, int, int, int], bool]] = {  # by the lowest and highest layers of two things
    "on": lambda a, b, c, d: a == d + 1,
    "above": lambda a, b, c, d: a > d,
    "below": lambda a, b, c, d: b < c,
    "next_to": lambda a, b, c, d: a <= d and c <= b,
    "same_height": lambda a, b, c, d: b == d,
    "same_level": lambda a, b, c, d: a == c,
}


@dataclass(frozen=True)
class Link:
    """Relation of a phrase to another.

    relation: one of `RELATIONS` or `LIKENESS`. to: the other phrase. definite: "the" one, or "a", any of them.
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
            raise LanguageError(f"{self.relation} takes one thing, expected definite=True")

    @cached_property
    def others(self) -> Program:
        """The program of the other things."""
        return Program("unique", (self.to.meant,)) if self.definite else self.to.program

    @cached_property
    def program(self) -> Program:
        """The program of the things in that relation."""
        if self.relation in LIKENESS:
            return Program(self.relation, (self.others,))
        return Program("relate", (self.others,), self.relation)


@dataclass(frozen=True)
class Phrase:
    """A set of things: `Phrase("tower", ("red",), links=(Link("north", Phrase("row")),))`.

    Raises `LanguageError` if a name is unknown or a value is out of range.

    Args:
        shape: one of `SHAPE_NAMES`.
        colors: none, one, or two ("red or blue").
        size: number of blocks.
        height, level: top and bottom layer, 1..9, 1 = on the ground.
        links, joined: up to two relations, two joined by "and" or "or".
        extreme: the furthest in one of `DIRECTIONS`, or the "middle" one.
        rank: 2 for the second furthest, and so on.

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
                raise LanguageError(f"unknown color {color!r}, expected one of {', '.join(COLOR_WORDS)}")
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
        """Depth of nested references."""
        return max((1 + link.to.depth for link in self.links), default=0)

    @cached_property
    def program(self) -> Program:
        """The program that finds all things that fit."""
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
        """The program that finds the one thing of "the": of several in the relation, the nearest."""
        relations = [link for link in self.links if link.relation in RELATIONS]
        if len(self.links) != 1 or not relations or self.extreme is not None:
            return self.program
        return Program("nearest", (self._like(_SCENE), relations[0].others), relations[0].relation)

    def _like(self, found: Program) -> Program:
        """Filter things by appearance: whole ones, if no colour is given."""
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

    @property
    def sizes(self) -> set[int]:
        """Possible numbers of blocks."""
        sizes = _SIZES[self.shape] if self.size is None else _SIZES[self.shape] & {self.size}
        return {size for size in sizes if size <= BLOCKS_PER_COLOR or not self.colors}

    @property
    def spans(self) -> set[tuple[int, int]]:
        """Possible (lowest layer, highest layer)."""
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
        """False if no world can hold it: a red block on the ground that stands on something, a row of 12."""
        links = all(self._can_stand(link) and link.to.is_possible for link in self.links)
        return bool(self.sizes and self.spans) and links

    def can_be(self, number: int) -> bool:
        """Return whether a world can hold this number of them."""
        shared = 2 if self.shape == "row" else 1  # a block can lie in two rows
        stock = BLOCKS_PER_COLOR * (len(self.colors) or len(COLOR_WORDS))
        return self.is_possible and number * min(self.sizes) <= shared * stock

    def _can_stand(self, link: Link) -> bool:
        other = link.to
        for one, two in ((self, other), (other, self)) if link.relation in ("on", "next_to") else ():
            grows = one.shape not in _LINES or (one.shape == "tower" and link.relation == "on")
            alike = one.colors == two.colors if one.colors else one.shape in ("group", "tower")
            if grows and alike and len(one.colors) < 2:
                return False  # a block that touches it there belongs to it
        if link.relation == "same_size":
            return not self.sizes.isdisjoint(other.sizes)
        if link.relation == "same_color":
            return not (self.colors and other.colors and set(self.colors).isdisjoint(other.colors))
        fits = _FITS.get(link.relation)
        return fits is None or any(fits(*a, *b) for a in self.spans for b in other.spans)
