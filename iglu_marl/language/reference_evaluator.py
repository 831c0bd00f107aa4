"""A second opinion: the meaning of programs, written down as plainly as possible and without regard to speed.

Nothing here is shared with the kernels: things are sets of cells, and each definition of `scene.py` is checked
cell by cell. `iglu-marl language check` and the tests compare both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.grid import Cell, color_name, grid_to_blocks
from iglu_marl.language.program import Program

_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


class Part(NamedTuple):
    """A thing: what it is, and its cells (x, y, z)."""

    shape: str
    color: str
    cells: frozenset[Cell]

    def span(self, axis: int) -> tuple[int, int]:
        """From where to where it reaches along x, y or z."""
        along = [cell[axis] for cell in self.cells]
        return min(along), max(along)

    @property
    def height(self) -> int:
        """Of the lowest layer, 1 = on the ground."""
        return self.span(1)[0] + 2


class Ambiguous(Exception):
    """`unique` met no thing, or several."""


def _moved(cell: Cell, step: Cell, times: int = 1) -> Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1], cell[2] + times * step[2]


def _lines(world: dict[Cell, str]) -> Iterator[Part]:
    for cell, color in world.items():
        for step in _AXES:
            line = [cell]
            while world.get(_moved(line[-1], step)) == color:
                line.append(_moved(line[-1], step))
            if len(line) > 1 and world.get(_moved(cell, step, -1)) != color:
                yield Part("tower" if step == (0, 1, 0) else "row", color, frozenset(line))


def _squares(world: dict[Cell, str]) -> Iterator[Part]:
    for cell, color in world.items():
        for u, v in ((_AXES[0], _AXES[2]), (_AXES[0], _AXES[1]), (_AXES[2], _AXES[1])):
            for k in range(2, 12):
                if world.get(_moved(cell, u, k - 1)) != color:
                    break
                inside = {_moved(_moved(cell, u, i), v, j) for i in range(k) for j in range(k)}
                sides = {_moved(side, step, sign) for side in inside for step in (u, v) for sign in (1, -1)}
                if all(world.get(c) == color for c in inside) and all(
                    world.get(c) != color for c in sides - inside
                ):
                    yield Part("square", color, frozenset(inside))


def _groups(world: dict[Cell, str]) -> Iterator[Part]:
    left = set(world)
    while left:
        group: set[Cell] = set()
        edge = {left.pop()}
        while edge:
            group |= edge
            near = {_moved(cell, step, sign) for cell in edge for step in _AXES for sign in (1, -1)}
            edge = near & left
            left -= edge
        if len(group) > 1:
            colors = {world[cell] for cell in group}
            yield Part("group", colors.pop() if len(colors) == 1 else "mixed", frozenset(group))


def parts(grid: Any) -> list[Part]:
    """All things of a grid."""
    world = {(x, y, z): color_name(color) for x, y, z, color in grid_to_blocks(grid)}
    blocks = [Part("block", color, frozenset({cell})) for cell, color in world.items()]
    return [*blocks, *_lines(world), *_squares(world), *_groups(world)]


def stands(a: Part, b: Part, relation: str, yaw_deg: float) -> bool:
    """Whether a stands in a relation to b."""
    if relation in ("behind", "right", "front", "left"):
        compass = ["north", "east", "south", "west"]
        turned = ["behind", "right", "front", "left"].index(relation) + round(yaw_deg / 90)
        relation = compass[turned % 4]
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


def evaluate(program: Program, grid: Any, yaw_deg: float = 0.0, found: list[Part] | None = None) -> Any:
    """The answer of a program, as `interpreter.answer` gives it (things are `Part`s here); None where there is none.

    found: `parts(grid)`, when it is at hand.
    """
    try:
        return _value(program, parts(np.asarray(grid)) if found is None else found, yaw_deg)
    except Ambiguous:
        return None


def _attribute(part: Part, name: str) -> Any:
    return len(part.cells) if name == "size" else getattr(part, name)


def _value(program: Program, everything: list[Part], yaw_deg: float) -> Any:
    given = [_value(part, everything, yaw_deg) for part in program.inputs]
    verb, _, name = program.function.partition("_")
    several = [[value] if isinstance(value, Part) else value for value in given]
    if verb == "scene":
        return everything
    if verb == "filter":
        return [part for part in several[0] if _attribute(part, name) == program.value]
    if verb == "relate":
        return [a for a in everything if any(stands(a, b, str(program.value), yaw_deg) for b in several[0])]
    if verb == "same" or verb == "query":
        (one,) = several[0]
        if verb == "query":
            return _attribute(one, name)
        alike = [part for part in everything if _attribute(part, name) == _attribute(one, name)]
        return [part for part in alike if not part.cells & one.cells]
    if verb == "unique":
        if len(several[0]) != 1:
            raise Ambiguous
        return several[0][0]
    if verb == "union":
        return [part for part in everything if part in several[0] or part in several[1]]
    if verb == "intersect":
        return [part for part in several[0] if part in several[1]]
    if verb in ("count", "exist"):
        return len(several[0]) if verb == "count" else bool(several[0])
    if verb in ("equal", "less", "greater"):
        a, b = given
        return a == b if verb == "equal" else a < b if verb == "less" else a > b
    return program.value
