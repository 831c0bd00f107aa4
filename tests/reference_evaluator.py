"""A second implementation of programs: as plain as possible, without regard to speed.

It shares no code with the kernels: things are sets of cells, and each definition of `graph.py` is checked cell by cell.
The tests compare both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.grid import Cell, color_name, grid_to_blocks
from iglu_marl.language.scene.program import Program

_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


class Part(NamedTuple):
    """A thing: shape, colour and cells (x, y, z)."""

    shape: str
    color: str
    cells: frozenset[Cell]

    def span(self, axis: int) -> tuple[int, int]:
        """Return its least and largest coordinate along x, y or z."""
        along = [cell[axis] for cell in self.cells]
        return min(along), max(along)

    @property
    def size(self) -> int:
        """Number of blocks."""
        return len(self.cells)

    @property
    def level(self) -> int:
        """Layer of its bottom, 1 = on the ground."""
        return self.span(1)[0] + 2

    @property
    def height(self) -> int:
        """Layer of its top."""
        return self.span(1)[1] + 2

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.height - self.level + 1


def agrees(expected: Any, found: Any) -> bool:
    """Return whether answers of `evaluate` and of `interpreter.answer` are equal."""
    if isinstance(expected, Part) and hasattr(found, "cells"):
        return expected == Part(found.shape, found.color, frozenset(found.cells))
    if isinstance(expected, list) and isinstance(found, tuple):
        return set(expected) == {Part(thing.shape, thing.color, frozenset(thing.cells)) for thing in found}
    return bool(expected == found)


class Ambiguous(Exception):
    """`unique` did not get exactly one thing."""


def _moved(cell: Cell, step: Cell, times: int = 1) -> Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1], cell[2] + times * step[2]


def _lines(world: dict[Cell, str]) -> Iterator[tuple[str, frozenset[Cell]]]:
    for cell in world:
        for step in _AXES:
            line = [cell]
            while _moved(line[-1], step) in world:
                line.append(_moved(line[-1], step))
            if len(line) > 1 and _moved(cell, step, -1) not in world:
                yield "tower" if step == (0, 1, 0) else "row", frozenset(line)


def _sets(cells: Iterable[Cell], steps: Iterable[Cell]) -> Iterator[frozenset[Cell]]:
    """Return the connected sets of two or more cells, given the steps."""
    left = set(cells)
    while left:
        group: set[Cell] = set()
        edge = {left.pop()}
        while edge:
            group |= edge
            edge = {_moved(cell, step, sign) for cell in edge for step in steps for sign in (1, -1)} & left
            left -= edge
        if len(group) > 1:
            yield frozenset(group)


def _drawn(p: int, q: int) -> Iterator[tuple[str, set[tuple[int, int]]]]:
    """Yield every shape that fills p x q cells (i, j); the second side is upright where it matters."""
    sides = {(i, j) for i in range(p) for j in range(q)}
    left, right = ({(i, j) for i, j in sides if i == end} for end in (0, p - 1))
    low, high = ({(i, j) for i, j in sides if j == end} for end in (0, q - 1))
    across, along = (
        {(i, j) for i, j in sides if 2 * i == p - 1},
        {(i, j) for i, j in sides if 2 * j == q - 1},
    )
    yield "rectangle", sides
    yield "wall", sides
    if p == q:
        yield "square", sides
        yield "staircase", {(i, j) for i, j in sides if j <= i}
        yield "staircase", {(i, j) for i, j in sides if j <= p - 1 - i}
        yield "plus", across | along if across and along else set()
    for one, other in product((left, right), (low, high)):
        yield "l", one | other
    yield from (("t", across | end) for end in (low, high) if across)
    yield from (("t", along | end) for end in (left, right) if along)
    yield from (("u", left | right | end) for end in (low, high) if p > 2)
    yield from (("u", low | high | end) for end in (left, right) if q > 2)
    if p > 2 and q > 2:
        yield "ring", left | right | low | high


def _shapes(cells: frozenset[Cell]) -> set[str]:
    lows = [min(cell[axis] for cell in cells) for axis in range(3)]
    spans = [max(cell[axis] for cell in cells) - lows[axis] + 1 for axis in range(3)]
    found: set[str] = set()
    for a, b in ((0, 2), (0, 1), (2, 1)):
        if spans[3 - a - b] == 1 and spans[a] > 1 and spans[b] > 1:
            flat = {(cell[a] - lows[a], cell[b] - lows[b]) for cell in cells}
            found = {name for name, drawn in _drawn(spans[a], spans[b]) if drawn == flat}
            if b == 2:
                found -= {"wall", "staircase"}
    return found


def _is_diagonal(cells: frozenset[Cell]) -> bool:
    line = sorted(cells)
    steps = {tuple(q - p for p, q in zip(one, other, strict=True)) for one, other in pairwise(line)}
    return len(steps) == 1 and sorted(map(abs, steps.pop())) == [0, 1, 1]


def parts(grid: Any) -> list[Part]:
    """Return all things of a grid."""
    world = {(x, y, z): color_name(color) for x, y, z, color in grid_to_blocks(grid)}
    found = [Part("block", color, frozenset({cell})) for cell, color in world.items()]
    edges = [_moved(a, b, sign) for a, b in combinations(_AXES, 2) for sign in (1, -1)]
    for wanted in (set(world.values()), *({color} for color in sorted(set(world.values())))):
        layer = {cell: color for cell, color in world.items() if color in wanted}
        named = list(_lines(layer))
        for group in _sets(layer, _AXES):
            named += [("group", group), *((name, group) for name in _shapes(group))]
        named += [("diagonal", line) for line in _sets(layer, [*_AXES, *edges]) if _is_diagonal(line)]
        for name, cells in named:
            colors = {layer[cell] for cell in cells}
            found.append(Part(name, colors.pop() if len(colors) == 1 else "mixed", cells))
    return list(dict.fromkeys(found))


def is_whole(part: Part, everything: list[Part]) -> bool:
    """Return whether a part is not part of a larger one of its shape."""
    return not any(other.shape == part.shape and part.cells < other.cells for other in everything)


def _on_map(name: str, yaw_deg: float) -> str:
    if name not in ("behind", "right", "front", "left"):
        return name
    turned = ["behind", "right", "front", "left"].index(name) + round(yaw_deg / 90)
    return ["north", "east", "south", "west"][turned % 4]


def stands(a: Part, b: Part, relation: str, yaw_deg: float) -> bool:
    """Return whether a is in a relation to b."""
    relation = _on_map(relation, yaw_deg)
    ways = {"north": (2, -1), "south": (2, 1), "west": (0, -1), "east": (0, 1)}
    if relation in ways:
        axis, sign = ways[relation]
        return all(sign * (c[axis] - d[axis]) > 0 for c in a.cells for d in b.cells)
    if relation == "next_to":
        sides = {
            _moved(cell, step, sign) for cell in b.cells for step in (_AXES[0], _AXES[2]) for sign in (1, -1)
        }
        return not a.cells & b.cells and bool(a.cells & sides)
    if relation == "below":
        return stands(b, a, "above", yaw_deg)
    over = a.span(1)[0] > b.span(1)[1]
    for axis in (0, 2):
        (low, high), (other_low, other_high) = a.span(axis), b.span(axis)
        over = over and max(low, other_low) <= min(high, other_high)
    if relation == "above":
        return over
    return over and any(_moved(cell, _AXES[1], -1) in b.cells for cell in a.cells)


def _reach(part: Part, direction: str, yaw_deg: float) -> int:
    """Return how far a part reaches; up and down by its top."""
    if direction in ("up", "down"):
        return part.height if direction == "up" else -part.height
    ends = {"north": (2, 0, -1), "south": (2, 1, 1), "west": (0, 0, -1), "east": (0, 1, 1)}
    axis, end, sign = ends[_on_map(direction, yaw_deg)]
    return sign * part.span(axis)[end]


def _middle(line: list[Part]) -> list[Part]:
    starts = sorted(tuple(part.span(axis)[0] for axis in range(3)) for part in line)
    axes = [axis for axis in range(3) if len({start[axis] for start in starts}) > 1]
    if len(axes) > 1 or len(starts) % 2 == 0:
        return []
    return [
        part for part in line if tuple(part.span(axis)[0] for axis in range(3)) == starts[len(starts) // 2]
    ]


def _steps(a: Part, b: Part) -> int:
    return min(sum(abs(p - q) for p, q in zip(c, d, strict=True)) for c in a.cells for d in b.cells)


def evaluate(program: Program, grid: Any, yaw_deg: float = 0.0, found: list[Part] | None = None) -> Any:
    """Return the answer of a program, as `interpreter.answer` (things are `Part`s here), or None.

    found: `parts(grid)`, if known.
    """
    try:
        return _value(program, parts(np.asarray(grid)) if found is None else found, yaw_deg)
    except Ambiguous:
        return None


def _value(program: Program, everything: list[Part], yaw_deg: float) -> Any:
    given = [_value(part, everything, yaw_deg) for part in program.inputs]
    verb, _, name = program.function.partition("_")
    several = [[value] if isinstance(value, Part) else value for value in given]
    if verb == "scene":
        return everything
    if name == "whole":
        return [part for part in several[0] if is_whole(part, everything)]
    if program.value == "middle":
        return _middle(several[0])
    if name == "extreme":
        far = {part: _reach(part, str(program.value), yaw_deg) for part in several[0]}
        ranked = sorted(set(far.values()), reverse=True)[given[1] - 1 : given[1]]
        return [part for part in several[0] if given[1] > 0 and far[part] in ranked]
    if verb == "filter":
        return [part for part in several[0] if getattr(part, name) == program.value]
    if verb == "relate":
        return [a for a in everything if any(stands(a, b, str(program.value), yaw_deg) for b in several[0])]
    if verb == "nearest":
        pairs = [(a, b) for a in several[0] for b in several[1] if stands(a, b, str(program.value), yaw_deg)]
        least = min((_steps(a, b) for a, b in pairs), default=0)
        close = {a for a, b in pairs if _steps(a, b) == least}
        return [a for a in several[0] if a in close]
    if verb == "same" or verb == "query":
        (one,) = several[0]
        if verb == "query":
            return getattr(one, name)
        alike = [part for part in everything if getattr(part, name) == getattr(one, name)]
        return [part for part in alike if not part.cells & one.cells]
    if verb == "unique":
        if len(several[0]) != 1:
            raise Ambiguous
        return several[0][0]
    if verb == "union":
        return [part for part in everything if part in several[0] or part in several[1]]
    if verb == "intersect":
        return [part for part in several[0] if part in several[1]]
    if verb == "not":
        return not given[0]
    if verb in ("count", "exist"):
        return len(several[0]) if verb == "count" else bool(several[0])
    if verb in ("equal", "less", "greater"):
        a, b = given
        return a == b if verb == "equal" else a < b if verb == "less" else a > b
    return program.value
