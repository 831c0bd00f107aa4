"""Makers of questions and statements, and their inverses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from iglu_marl.core.grid import color_id, color_name
from iglu_marl.language.grammar.expressions import Slots, require
from iglu_marl.language.meaning.shapes import Direction, Kind
from iglu_marl.language.scene.noun_phrases import Link, Phrase
from iglu_marl.language.scene.program import SHAPE_NAMES
from iglu_marl.language.scene.questions import QUESTION, STATEMENT, Question

_SHAPES = {Kind.STRUCTURE: "group", Kind.COLUMN: "tower"}  # names that differ in scenes


def _shown(kind: Kind, colors: tuple[int, ...] = (), n: int | None = None) -> Any:
    shape = _SHAPES.get(kind, kind.value)
    require(shape in SHAPE_NAMES)
    return Phrase(shape, tuple(map(color_name, colors)), n)


def _asked(kind: str) -> Callable[..., Any]:
    return lambda name, **slots: Question.of(name, kind, **slots)


MAKERS: dict[str, Callable[..., Any]] = {
    "color_word": lambda color: color_name(color),
    "shown": _shown,
    "Link": Link,
    "statement": _asked(STATEMENT),
    "question": _asked(QUESTION),
}


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
    "links": _of_links,
    "statement": _of_asked(STATEMENT),
    "question": _of_asked(QUESTION),
}
