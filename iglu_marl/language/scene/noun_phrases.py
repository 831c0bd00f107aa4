"""Noun phrases such as "the red tower of three blocks north of a green row": values with a program and a wording."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from iglu_marl.core.errors import LanguageError
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
_SCENE = Program("scene")


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
