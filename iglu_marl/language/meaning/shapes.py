"""Directions and shapes: the cells of words like "row" or "staircase"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell

LONGEST = 11
"""Maximum side of a shape: the width of the build zone."""


class Direction(str, Enum):
    """Directions of the map, and those relative to the builder's view.

    FRONT is towards the builder and BEHIND away from it, as in "in front of the block" and "behind the block".
    """

    NORTH = "north"
    EAST = "east"
    SOUTH = "south"
    WEST = "west"
    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    FRONT = "front"
    BEHIND = "behind"

    __str__ = str.__str__

    @property
    def vertical(self) -> bool:
        """Whether it is up or down."""
        return self in (Direction.UP, Direction.DOWN)

    @property
    def relative(self) -> bool:
        """Whether it depends on the builder's view."""
        return self in _QUARTERS

    @property
    def opposite(self) -> Direction:
        """The opposite direction."""
        return _OPPOSITE[self]

    @property
    def axis(self) -> str:
        """Axis of the direction: "x", "y", "z" of the map, "side", "depth" of the view."""
        return _AXES[self]


COMPASS = (Direction.NORTH, Direction.EAST, Direction.SOUTH, Direction.WEST)
VECTORS: dict[Direction, Cell] = {
    Direction.NORTH: (0, 0, -1),
    Direction.EAST: (1, 0, 0),
    Direction.SOUTH: (0, 0, 1),
    Direction.WEST: (-1, 0, 0),
    Direction.UP: (0, 1, 0),
    Direction.DOWN: (0, -1, 0),
}
# Quarter turns clockwise from the builder's view.
_QUARTERS = {Direction.BEHIND: 0, Direction.RIGHT: 1, Direction.FRONT: 2, Direction.LEFT: 3}
_PAIRS = (
    (Direction.NORTH, Direction.SOUTH, "z"),
    (Direction.EAST, Direction.WEST, "x"),
    (Direction.UP, Direction.DOWN, "y"),
    (Direction.LEFT, Direction.RIGHT, "side"),
    (Direction.FRONT, Direction.BEHIND, "depth"),
)
_OPPOSITE = {a: b for one, other, _ in _PAIRS for a, b in ((one, other), (other, one))}
_AXES = {direction: axis for *pair, axis in _PAIRS for direction in pair}


def facing(yaw_deg: float) -> Direction | None:
    """Return the compass direction of a yaw; None halfway between two."""
    turns = yaw_deg / 90.0
    nearest = round(turns)
    return None if abs(abs(turns - nearest) - 0.5) < 1e-6 else COMPASS[nearest % 4]


def on_map(direction: Direction, view: Direction | None) -> Direction | None:
    """Return the compass direction for a builder that looks to `view`; None if the view is needed and unknown."""
    if not direction.relative:
        return direction
    return None if view is None else COMPASS[(COMPASS.index(view) + _QUARTERS[direction]) % 4]


@dataclass(frozen=True)
class Noun:
    """A name that the architect gave to blocks: "mast". It stands where a `Kind` does."""

    word: str

    @property
    def value(self) -> str:
        """The word."""
        return self.word

    def __str__(self) -> str:
        return self.word


class Kind(str, Enum):
    """Kinds of block groups. Block and structure cannot be built as a `Shape`."""

    BLOCK = "block"
    STRUCTURE = "structure"
    ROW = "row"
    COLUMN = "column"
    TOWER = "tower"
    SQUARE = "square"
    RECTANGLE = "rectangle"
    WALL = "wall"
    L = "l"
    T = "t"
    PLUS = "plus"
    STAIRCASE = "staircase"
    DIAGONAL = "diagonal"
    U = "u"
    H = "h"
    RING = "ring"
    X = "x"
    CUBE = "cube"

    __str__ = str.__str__


LINES = frozenset({Kind.ROW, Kind.COLUMN, Kind.TOWER, Kind.DIAGONAL})
"""Shapes of one size with ordered cells: they can have several colours."""

# Kind -> (number of sizes, number of directions)
_FORM = {
    Kind.ROW: (1, 1),
    Kind.COLUMN: (1, 1),
    Kind.TOWER: (1, 0),
    Kind.SQUARE: (1, 2),
    Kind.RECTANGLE: (2, 2),
    Kind.WALL: (2, 1),
    Kind.L: (2, 2),
    Kind.T: (2, 2),
    Kind.PLUS: (1, 2),
    Kind.STAIRCASE: (1, 1),
    Kind.DIAGONAL: (1, 2),
}
# A plus is symmetric: one direction of each axis, in this order.
_PLUS_ORDER = (Direction.EAST, Direction.RIGHT, Direction.SOUTH, Direction.BEHIND, Direction.UP)


@dataclass(frozen=True)
class Shape:
    """A shape without place and colour: `Shape("row", (5,), ("east",))`.

    kind and what sizes and directions mean:

    | kind | sizes | directions |
    |---|---|---|
    | row | length | where it goes to, horizontal |
    | column | length | up or down |
    | tower | height | none |
    | square | side | the two sides from the first block |
    | rectangle | the two sides | the two sides from the first block |
    | wall | length, height | where it goes to, horizontal |
    | l | the two arms, both with the corner | from the corner |
    | t | bar (odd), stem with its block of the bar | of the bar, of the stem |
    | plus | from end to end (odd) | of the two bars; the first block is the centre |
    | staircase | number of steps | where it rises to; solid below |
    | diagonal | number of blocks | the two at once |

    Raises `DialogueError` for sizes below 2 or above 11, and for directions that do not fit.
    """

    kind: Kind
    sizes: tuple[int, ...]
    directions: tuple[Direction, ...] = ()

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", Kind(self.kind))
            object.__setattr__(self, "directions", tuple(Direction(way) for way in self.directions))
        except ValueError as error:
            raise DialogueError(f"kind or directions of a shape: {error}") from None
        object.__setattr__(self, "sizes", tuple(self.sizes))
        if self.kind not in _FORM:
            raise DialogueError(f"a {self.kind} cannot be built as a shape, expected {', '.join(_FORM)}")
        if (len(self.sizes), len(self.directions)) != _FORM[self.kind]:
            sizes, ways = _FORM[self.kind]
            raise DialogueError(
                f"{self.kind} with sizes {self.sizes} and directions {self.directions}, expected {sizes} and {ways}"
            )
        self._check_sizes()
        self._check_directions()

    def _check_sizes(self) -> None:
        for number, size in enumerate(self.sizes):
            least = 3 if self.kind is Kind.PLUS or (self.kind is Kind.T and number == 0) else 2
            if not isinstance(size, int) or not least <= size <= LONGEST or (least == 3 and size % 2 == 0):
                expected = "an odd number 3..11" if least == 3 else "2..11"
                raise DialogueError(f"{self.kind} with sizes {self.sizes}, expected {expected}")

    def _check_directions(self) -> None:
        ways = self.directions
        flat = self.kind in (Kind.ROW, Kind.WALL, Kind.STAIRCASE)
        wrong = any(way.vertical == flat for way in ways) if flat or self.kind is Kind.COLUMN else False
        if self.kind is Kind.COLUMN:
            wrong = not ways[0].vertical
        if len(ways) == 2:
            level = [way.relative for way in ways if not way.vertical]
            wrong = ways[0].axis == ways[1].axis or len(set(level)) > 1
            if self.kind is Kind.PLUS:
                wrong = wrong or not (
                    set(ways) <= set(_PLUS_ORDER) and sorted(ways, key=_PLUS_ORDER.index) == list(ways)
                )
        if wrong:
            raise DialogueError(f"a {self.kind} does not go {' and '.join(ways)}")

    @property
    def line(self) -> bool:
        """Whether its blocks are ordered, so that they can have several colours."""
        return self.kind in LINES


def plus(size: int, one: Direction, other: Direction) -> Shape:
    """Return a plus along two directions, normalised."""
    ways = [way if way in _PLUS_ORDER else way.opposite for way in (one, other)]
    first, second = sorted(ways, key=_PLUS_ORDER.index)
    return Shape(Kind.PLUS, (size,), (first, second))


def _at(anchor: Cell, *steps: tuple[int, Cell]) -> Cell:
    x, y, z = anchor
    for count, (dx, dy, dz) in steps:
        x, y, z = x + count * dx, y + count * dy, z + count * dz
    return x, y, z


def shape_cells(shape: Shape, anchor: Cell, view: Direction | None = None) -> tuple[Cell, ...]:
    """Return the cells of a shape from its first block, each once, in order; they may lie outside the zone.

    view: the compass direction that the builder looks to, for relative directions.
    Raises `DialogueError` if `view` is needed and missing.
    """
    ways = [on_map(way, view) for way in shape.directions]
    if None in ways:
        raise DialogueError(f"{shape} depends on the builder's view, and view is None")
    vectors = [VECTORS[way] for way in ways if way is not None]
    return _cells(shape.kind, shape.sizes, vectors, anchor)


def _cells(kind: Kind, sizes: tuple[int, ...], vectors: list[Cell], anchor: Cell) -> tuple[Cell, ...]:
    up = VECTORS[Direction.UP]
    n = sizes[0]
    if kind in LINES:
        return tuple(_at(anchor, *((i, way) for way in vectors or [up])) for i in range(n))
    u = vectors[0]
    v = vectors[1] if len(vectors) > 1 else up
    m = sizes[-1]
    if kind in (Kind.SQUARE, Kind.RECTANGLE, Kind.WALL):
        return tuple(_at(anchor, (i, u), (j, v)) for j in range(m) for i in range(n))
    if kind is Kind.STAIRCASE:
        return tuple(_at(anchor, (i, u), (j, up)) for i in range(n) for j in range(i + 1))
    if kind is Kind.PLUS:
        arms = [(sign * i, way) for i in range(1, n // 2 + 1) for way in (u, v) for sign in (-1, 1)]
        return (anchor, *(_at(anchor, arm) for arm in arms))
    middle = n // 2 if kind is Kind.T else 0
    bar = [_at(anchor, (i, u)) for i in range(n)]
    return (*bar, *(_at(anchor, (middle, u), (j, v)) for j in range(1, m)))


@dataclass(frozen=True)
class Box:
    """The smallest box around cells: its lowest and highest cell."""

    low: Cell
    high: Cell

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> Box:
        """Return the box around one or more cells."""
        xs, ys, zs = zip(*cells, strict=True)
        return cls((min(xs), min(ys), min(zs)), (max(xs), max(ys), max(zs)))

    @property
    def spans(self) -> Cell:
        """Steps from end to end along each axis, 0 = flat."""
        return shifted(self.high, scaled(self.low, -1))


def shifted(cell: Cell, by: Cell) -> Cell:
    """Return a cell moved by a vector."""
    return cell[0] + by[0], cell[1] + by[1], cell[2] + by[2]


def scaled(vector: Cell, n: int) -> Cell:
    """Return `n` times a vector."""
    return vector[0] * n, vector[1] * n, vector[2] * n


def dot(a: Cell, b: Cell) -> int:
    """Return the product of two vectors: how far `a` reaches along `b`."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def outermost(cells: Iterable[Cell], vector: Cell) -> list[Cell]:
    """Return the cells that reach furthest along a vector."""
    stated = list(cells)
    far = max(dot(cell, vector) for cell in stated)
    return [cell for cell in stated if dot(cell, vector) == far]


def as_color(value: Any, what: str) -> int:
    """Return a colour id 1..6; raises `DialogueError` if the value is not one."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= int(value) <= 6:
        raise DialogueError(f"{what} is {value!r}, expected a color id 1..6")
    return int(value)


def figure(kind: Kind, width: int, height: int) -> frozenset[tuple[int, int]]:
    """Return the cells (u, v) of a flat figure seen from the front: 0 <= u < width, v upwards.

    Squares, rectangles and walls are full; a ring is their border; U, H, T, L, X and plus look like the letters.
    Raises `DialogueError` if the letter does not exist in these sizes.
    """
    odd = width % 2 == 1 and width >= 3
    possible, drawn = {
        Kind.RING: (width >= 3 and height >= 3, "left right top bottom"),
        Kind.U: (width >= 3 and height >= 2, "left right bottom"),
        Kind.H: (width >= 3 and height >= 3 and height % 2 == 1, "left right across"),
        Kind.T: (odd and height >= 2, "top upright"),
        Kind.L: (width >= 2 and height >= 2, "left bottom"),
        Kind.PLUS: (odd and height >= 3 and height % 2 == 1, "upright across"),
        Kind.X: (odd and width == height, "rising falling"),
    }.get(kind, (True, "all"))
    if not possible:
        raise DialogueError(f"a {kind} of {width} x {height} has no cells, expected larger sizes")

    def lines(u: int, v: int) -> set[str]:
        """Return the lines of a cell that letters have."""
        horizontal = {0: "bottom", height - 1: "top"}.get(v), "across" * (v == height // 2)
        vertical = {0: "left", width - 1: "right"}.get(u), "upright" * (u == width // 2)
        slanted = "rising" * (u == v), "falling" * (u + v == width - 1)
        return {"all", *filter(None, (*horizontal, *vertical, *slanted))}

    wanted = set(drawn.split())
    return frozenset((u, v) for u in range(width) for v in range(height) if wanted & lines(u, v))
