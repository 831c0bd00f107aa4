"""Inverses of the makers of rules that are said: from a value to the slots that make it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from iglu_marl.language.grammar.expressions import Slots
from iglu_marl.language.grammar.modifiers import Modifiers
from iglu_marl.language.meaning.blocks import CellEdit, EditKind
from iglu_marl.language.meaning.corrections import Repeat
from iglu_marl.language.meaning.placing import BlockSpec
from iglu_marl.language.meaning.references import At, Beside, Blocks, Spot, is_several
from iglu_marl.language.meaning.shapes import Direction, Kind, Shape
from iglu_marl.language.meaning.verbs import Build, Move, Pick, Place, Remove, Replace

INVERSES: dict[str, Callable[..., Iterable[Slots]]] = {
    "pick": lambda value: [{"where": value.where}] if isinstance(value, Pick) else [],
    "again": lambda value: [{"where": value.where}] if isinstance(value, Repeat) else [],
    "mods_more": lambda value: [{"one": value, "more": Modifiers()}] if value.where else [],
    "mod_where": lambda value: [{"where": value.where[0]}] if value.where else [],
    "core_where": lambda value: [{"core": replace(value, where=None), "where": value.where}],
    "core_middle": lambda value: [{"core": replace(value, middle=False, where=None), "where": value.where}],
    "plain_core": lambda v: [{"colors": v.colors or None, "kind": v.kind, "way": v.extreme}],
    "stuff": lambda value: [{"n": value[0], "colors": value[1] or None}],
    "color_more": lambda value: [{"one": value[0], "more": value[1:]}] if len(value) > 1 else [],
}


def _block(edit: CellEdit) -> Blocks:
    return Blocks(() if edit.old_color is None else (edit.old_color,), where=At(edit.cell))


def put(value: Any, stacked: bool = False) -> Iterator[Slots]:
    if not stacked and isinstance(value, CellEdit) and value.action is EditKind.PLACE:
        yield {"new": BlockSpec(1, value.color), "mods": Modifiers((At(value.cell),))}
    if not stacked and isinstance(value, Place):
        yield {"new": BlockSpec(value.count or 1, value.color), "mods": Modifiers((value.where,))}
    if stacked and isinstance(value, Build) and len(value.colors) == 1 and not is_several(value.where):
        if isinstance(value.where, Beside) and value.where.offset == ((Direction.UP, 1),):
            yield {"new": BlockSpec(value.shape.sizes[0], value.colors[0]), "mods": Modifiers((value.where,))}


def build(value: Any, of: str) -> Iterator[Slots]:
    if isinstance(value, Build):
        kind = value.shape.kind if value.shape.kind in (Kind.TOWER, Kind.PLUS, Kind.L) else "at"
        if of == kind or (of == "beside" and not isinstance(value.where, At)):
            yield {"shape": (value.shape, value.colors), "mods": Modifiers((value.where,))}


def remove(value: Any) -> Iterator[Slots]:
    if isinstance(value, Remove):
        yield {"blocks": value.blocks}
    if isinstance(value, CellEdit) and value.action is EditKind.REMOVE:
        yield {"blocks": _block(value)}


def replace_color(value: Any) -> Iterator[Slots]:
    if isinstance(value, Replace):
        yield {"blocks": value.blocks, "color": value.color}
    if isinstance(value, CellEdit) and value.action is EditKind.REPLACE:
        yield {"blocks": _block(value), "color": value.color}


def move_to(value: Any) -> Iterator[Slots]:
    if isinstance(value, Move) and value.to:
        yield {"blocks": value.blocks, "where": value.to}


def new(value: Any, n: int | None = None) -> Iterator[Slots]:
    if n is not None or (value.count or 0) > 1:
        yield {"n": value.count if n is None else None, "colors": value.color}


def shape_plain(value: tuple[Shape, tuple[int, ...]], **constants: Any) -> Iterator[Slots]:
    shape, colors = value
    ways = (*shape.directions, Direction.UP) if shape.kind is Kind.WALL else shape.directions
    yield {"c": colors[0], "kind": shape.kind, "form": (shape.sizes, ways)}


def shape_counted(value: tuple[Shape, tuple[int, ...]]) -> Iterator[Slots]:
    shape, colors = value
    if shape.line:
        yield {"kind": shape.kind, "n": shape.sizes[0], "c": colors[0], "ways": shape.directions}


def shape_listed(value: tuple[Shape, tuple[int, ...]], **constants: Any) -> Iterator[Slots]:
    shape, colors = value
    size = shape.sizes[0]
    paint: Any = colors if len(colors) == size else (size, colors)
    yield {"kind": shape.kind, "p": paint, "ways": shape.directions}


def run(value: tuple[int, ...], n: int | None = None) -> Iterator[Slots]:
    if len(set(value)) == 1 and n in (None, len(value)):
        yield {"n": len(value) if n is None else None, "c": value[0]}


def runs_more(value: Any) -> Iterator[Slots]:
    first = next((i for i, color in enumerate(value) if color != value[0]), len(value))
    if first < len(value):
        yield {"one": value[:first], "more": value[first:]}


def cell(value: Any, n: int | None = None) -> Iterator[Slots]:
    if isinstance(value, At):
        x, y, z = value.cell
        yield {"place": Spot(x, z), "n": y + 2}


def spot_steps(value: Any) -> Iterator[Slots]:
    if isinstance(value, Spot):
        east = Direction.EAST if value.x > 0 else Direction.WEST
        south = Direction.SOUTH if value.z > 0 else Direction.NORTH
        steps = tuple((way, abs(n)) for way, n in ((east, value.x), (south, value.z)) if n)
        if steps:
            yield {"offset": steps}
        if len(steps) == 2:
            yield {"offset": steps[::-1]}


def beside(value: Any) -> Iterator[Slots]:
    if isinstance(value, Beside) and value.offset:
        *before, (way, n) = value.offset
        stated = {"before": tuple(before) or None, "way": way, "of": value.of}
        yield stated | {"n": n if before or n > 1 else None}


def counted(value: Any, n: int | None = None) -> Iterator[Slots]:
    if isinstance(value, Blocks) and value.unless is None and (n is not None or value.count != 1):
        yield {"n": value.count if n is None else None, "core": replace(value, count=1)}


def core_rank(value: Blocks) -> Iterator[Slots]:
    if value.rank > 1:
        yield {"n": value.rank, "core": replace(value, rank=1, extreme=None), "way": value.extreme}


def core_of(value: Blocks) -> Iterator[Slots]:
    if value.size is not None:
        yield {
            "kind": value.kind,
            "of": (value.size, ()),
            "colors": value.colors or None,
            "way": value.extreme,
        }


INVERSES |= {
    name: one for name, one in vars().items() if getattr(one, "__module__", "") == __name__ and name[0] != "_"
}
INVERSES["replace"] = replace_color
