"""Things of a world that fit a description."""

from __future__ import annotations

from typing import Any

import numpy as np

from iglu_marl.core.grid import Cell, cell_index, color_name
from iglu_marl.language.meaning.blocks import Reason
from iglu_marl.language.meaning.context import Resolution, Unresolved
from iglu_marl.language.meaning.regions import Item, connected
from iglu_marl.language.meaning.shapes import Kind, Noun
from iglu_marl.language.scene import kernels
from iglu_marl.language.scene.graph import cells_of, find, table_of
from iglu_marl.language.scene.program import DIRECTIONS, RELATIONS, SHAPE_NAMES

RUNS = (Kind.ROW, Kind.COLUMN, Kind.TOWER)


_SHAPES = {"column": "tower", "structure": "group"}


def _named(noun: Noun, colors: tuple[int, ...], setting: Resolution, count: int | None) -> list[Item]:
    """Return the things that a name stands for. count: number of them that was said."""
    named = setting.names.get(noun.word)
    if named is None:
        raise Unresolved(Reason.NO_MATCH, noun.word)
    cells = [
        cell
        for cell in named.cells
        if setting.color_at(cell) and (not colors or setting.color_at(cell) in colors)
    ]
    groups = connected(cells)
    if not named.plural and not (count and count > 1 and len(groups) == count):
        return [tuple(sorted(cells))] if cells else []
    return groups if len(groups) > 1 else [(cell,) for cell in sorted(cells)]


def find_items(
    setting: Resolution, kind: Kind | Noun, colors: tuple[int, ...], count: int | None = None
) -> list[Item]:
    """Return all things of a kind, sorted (defined in `iglu_marl.language.scene`).

    Without `colors`, only whole things; else of one of them, or if `count` is 1 of all. Columns are towers, too.
    """
    if isinstance(kind, Noun):
        return _named(kind, colors, setting, count)
    if kind is Kind.BLOCK:
        return sorted((cell,) for cell, color in setting.blocks.items() if color in (colors or (color,)))
    shape = SHAPE_NAMES.index(_SHAPES.get(kind.value, kind.value)) + 1
    found: list[Item] = []
    together = shape == kernels.GROUP or not colors or count == 1
    for wanted in [colors] if together else [(color,) for color in colors]:
        kept = np.array([color if color in (wanted or range(7)) else 0 for color in range(7)], np.int8)
        table = find(kept[setting.grid], kernels.SEVERAL | 1 << shape)
        things = (table[:, kernels.SHAPE] == shape) & (table[:, kernels.WHOLE] == 1)
        found += cells_of(table, np.flatnonzero(things).tolist())
    return sorted(found) or _built_as(setting, kind, colors)


def _built_as(setting: Resolution, kind: Kind, colors: tuple[int, ...]) -> list[Item]:
    """Return what was built as a thing of this kind and has changed since."""
    for built, cells in setting.shapes:
        left = tuple(
            cell
            for cell in sorted(cells)
            if (color := setting.color_at(cell)) and color in (colors or (color,))
        )
        if built is kind and len(left) > 1:
            return [left]
    return []


def described(blocks: Any) -> str:
    """Describe a reference in a few words, for messages."""
    colors = " or ".join(color_name(color) for color in blocks.colors)
    return " ".join(word for word in (colors, blocks.kind.value) if word)


def furthest(reference: Any, items: list[Item], setting: Resolution) -> list[Item]:
    """Return the `count` items that reach furthest; all that tie for the last place."""
    assert reference.extreme is not None
    direction = DIRECTIONS.index(setting.on_map(reference.extreme))
    table, first = table_of(items)
    reaches_of = {
        item: int(kernels.reach(0, direction, row)) for item, row in zip(items, table[first:], strict=True)
    }
    reach = reaches_of.__getitem__

    ranked = sorted(items, key=lambda item: (-reach(item), item))
    if reference.rank > 1:
        reaches = sorted({reach(item) for item in items}, reverse=True)
        if len(reaches) < reference.rank:
            raise Unresolved(Reason.NO_MATCH, f"{len(reaches)} of {reference.rank} {described(reference)}")
        return [item for item in ranked if reach(item) == reaches[reference.rank - 1]]
    last = ranked[min(reference.count or 1, len(ranked)) - 1]
    return [item for item in ranked if reach(item) >= reach(last)]


def just_mentioned(reference: Any, items: list[Item], count: int, setting: Resolution) -> list[Item]:
    """Return the things that were just spoken of; none if as many stood there before the request began."""
    for cells in _remembered(reference, setting):
        lately = [item for item in items if cells.issuperset(item)]
        lately = [item for item in lately if len(set(map(setting.color_at, item))) == 1]
        if len(lately) == count:
            ats = [cell_index(*item[0]) for item in items]
            start = setting.start if reference.kind is Kind.BLOCK else None
            old = [
                i
                for i, at in zip(items, ats, strict=True)
                if start is not None and start[at] == setting.grid[at]
            ]
            return [] if len(old) == count and old != lately else lately
    return []


def whole_things(reference: Any, cells: set[Cell], setting: Resolution) -> list[Item]:
    """Return the things to which blocks belong, if they are as many as stated: "the two northern ones"."""
    groups = find_items(setting, Kind.STRUCTURE, reference.colors)
    met = [group for group in groups if not cells.isdisjoint(group)]
    alone = reference.extreme is None or len(groups) > len(met)
    return met if alone and len(met) == reference.count and cells <= set().union(*met) else []


def _remembered(reference: Any, setting: Resolution) -> list[set[Cell]]:
    """Return the cells of the last change; for shapes also those of the changes before, the latest first."""
    earlier = reversed(setting.earlier) if reference.kind is not Kind.BLOCK else ()
    return [set(cells) for cells in (setting.last, *earlier)]


def related_items(reference: Any, relation: str, items: list[Item], others: list[Item]) -> list[Item]:
    """Return the items in a relation to all of another: the nearest if one is meant, else all."""
    table, first = table_of([*items, *others])
    count, middle = len(table), first + len(items)
    given, to, out = np.zeros((3, count), np.uint8)
    given[first:middle], to[middle:] = 1, 1
    code = RELATIONS.index(relation)
    if reference.count == 1 and reference.extreme is None and not reference.middle:
        kernels.nearest(table, count, 0, code, given, to, out)
    else:
        kernels.relate(table, count, 0, code, to, 1 << kernels.RECTANGLE | 1 << kernels.GROUP, out)
    return [item for item, fits in zip(items, out[first:middle], strict=True) if fits]


def ranked_by_size(reference: Any, items: list[Item]) -> list[Item]:
    """Return the largest or smallest things, or those of the size of a rank."""
    sizes = sorted({len(item) for item in items}, reverse=reference.by_size == "largest")
    if len(sizes) < reference.rank:
        raise Unresolved(Reason.NO_MATCH, f"{len(sizes)} sizes of {described(reference)}")
    return [item for item in items if len(item) == sizes[reference.rank - 1]]
