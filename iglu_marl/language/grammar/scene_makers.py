"""Makers of questions and statements, and their inverses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from iglu_marl.core.grid import color_id, color_name
from iglu_marl.language.grammar.engine import NOTHING
from iglu_marl.language.phrases import LIKENESS, Link, Phrase
from iglu_marl.language.questions import QUESTION, STATEMENT, Question
from iglu_marl.language.scene.program import SHAPE_NAMES
from iglu_marl.language.shapes import Direction, Kind

_SHAPES = {Kind.STRUCTURE: "group", Kind.COLUMN: "tower"}  # names that differ in scenes


def _color_word(color: int) -> str:
    return color_name(color)


def _stands_on_side(way: Direction) -> Any:
    return NOTHING if way.vertical else way.value


def _shown(kind: Kind, colors: tuple[int, ...] = (), n: int | None = None) -> Any:
    shape = _SHAPES.get(kind, kind.value)
    return Phrase(shape, tuple(map(color_name, colors)), n) if shape in SHAPE_NAMES else NOTHING


def _shown_furthest(of: Phrase, way: str = "", end: Direction | None = None, n: int = 1) -> Any:
    return replace(of, extreme=way if end is None else end.value, rank=n)


def _thing(of: Phrase, height: int | None = None, level: int | None = None, links: Any = ((), None)) -> Any:
    return replace(of, height=height, level=level, links=links[0], joined=links[1])


def _link(r: str, to: Phrase, definite: bool = True) -> Any:
    return Link(r, to, definite)


def _links(one: Link, two: Link | None = None, joined: str | None = None) -> Any:
    if two is None:
        return (one,), None
    # References inside a pair have no references: else "and" is ambiguous.
    return ((one, two), joined) if one.to.depth == two.to.depth == 0 else NOTHING


def _shown_as(name: str, colors: tuple[int, ...] = ()) -> Any:
    return Phrase(name, tuple(map(color_name, colors)))


def _of_it(name: str, to: Phrase, of: Phrase, r: str) -> Any:
    """A thing in a relation to another: "there is a red block; is there a blue one left of it?"."""
    return Question.of("exist", name, A=replace(of, links=(Link(r, to, definite=False),)))


def _asked(kind: str) -> Callable[..., Any]:
    return lambda name, **slots: Question.of(name, kind, **slots)


MAKERS: dict[str, Callable[..., Any]] = {
    "color_word": _color_word,
    "stands": lambda name: name,
    "stands_on_side": _stands_on_side,
    "furthest": lambda way: way.value,
    "shown": _shown,
    "shown_as": _shown_as,
    "shown_furthest": _shown_furthest,
    "thing": _thing,
    "link": _link,
    "links": _links,
    "of_it": _of_it,
    "statement": _asked(STATEMENT),
    "question": _asked(QUESTION),
}


Slots = Mapping[str, Any]


def _directions(value: str) -> Iterator[Slots]:
    if value in Direction.__members__.values():
        yield {"way": Direction(value)}


def _of_shown(value: Phrase) -> Iterator[Slots]:
    stated = {"colors": tuple(map(color_id, value.colors)) or None, "n": value.size}
    for kind in sorted(Kind, key=lambda kind: kind in _SHAPES):
        if _SHAPES.get(kind, kind.value) == value.shape:
            yield {"kind": kind, **stated}


def _of_furthest(value: Phrase, way: str = "") -> Iterator[Slots]:
    if value.extreme is not None:
        of, n = replace(value, extreme=None, rank=1), value.rank if value.rank > 1 else None
        if way or value.extreme == "middle":
            yield {"of": of}
        else:
            yield {"of": of, "n": n, "way": value.extreme}
            yield {"of": of, "n": n, "end": Direction(value.extreme)}


def _of_thing(value: Phrase) -> Iterator[Slots]:
    of = replace(value, height=None, level=None, links=(), joined=None)
    links = (value.links, value.joined) if value.links else None
    yield {"of": of, "height": value.height, "level": value.level, "links": links}


def _of_link(value: Link, definite: bool = True) -> Iterator[Slots]:
    if (value.relation in LIKENESS) <= definite:
        yield {"r": value.relation, "to": value.to}


def _of_links(value: Any, joined: str | None = None) -> Iterator[Slots]:
    links, stated = value
    if stated == joined:
        yield dict(zip(("one", "two"), links, strict=False))


def _of_asked(kind: str) -> Callable[..., Iterator[Slots]]:
    def fillings(value: Question, name: str, N: int | None = None) -> Iterator[Slots]:
        if (value.template, value.kind) == (name, kind):
            stated = dict(value.fillings)
            if N is not None:
                del stated["N"]
            if stated.get("N") != 1:  # other rules say one thing
                yield stated

    return fillings


INVERSES: dict[str, Callable[..., Iterator[Slots]]] = {
    "color_word": lambda value: iter([{"color": color_id(value)}]),
    "stands_on_side": _directions,
    "furthest": _directions,
    "shown": _of_shown,
    "shown_furthest": _of_furthest,
    "thing": _of_thing,
    "link": _of_link,
    "links": _of_links,
    "statement": _of_asked(STATEMENT),
    "question": _of_asked(QUESTION),
}
