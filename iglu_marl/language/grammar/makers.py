"""What the rules of the grammar make of words: one function per name that stands behind "=>"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from iglu_marl.core.grid import Cell, color_id, in_zone
from iglu_marl.language.blocks import CellEdit, EditKind
from iglu_marl.language.grammar.engine import NOTHING
from iglu_marl.language.placing import (
    ALIKE,
    FIGURES,
    SAME,
    Check,
    Clear,
    Corners,
    Either,
    Keep,
    Look,
    New,
    Opposite,
    OtherSide,
    Places,
    Put,
    Sides,
    Spots,
)
from iglu_marl.language.references import (
    At,
    Beside,
    Between,
    Blocks,
    Edge,
    Floating,
    Free,
    It,
    LastBlock,
    Level,
    NextTo,
    PartOf,
    Portion,
    Recent,
    Remaining,
    Spot,
    Them,
    Union,
    You,
    is_several,
)
from iglu_marl.language.shapes import COMPASS, VECTORS, Direction, Kind, Shape, plus
from iglu_marl.language.templates import templates
from iglu_marl.language.verbs import (
    Again,
    Amend,
    Build,
    Copy,
    Extend,
    Facing,
    Mirror,
    Move,
    Pick,
    Place,
    Remove,
    Replace,
    Resize,
    Rotate,
    Swap,
    Then,
    Undo,
)

MAKERS: dict[str, Callable[..., Any]] = {}


def maker(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function known to the rules."""
    MAKERS[function.__name__] = function
    return function


def _value(name: str, function: Callable[..., Any]) -> None:
    MAKERS[name] = function


@dataclass(frozen=True)
class View:
    """Which way one looks, from here on."""

    way: Direction


@dataclass(frozen=True)
class Each:
    """A place at each of several things."""

    where: Any


@dataclass(frozen=True)
class Around:
    """New blocks that bring their place with them: "a border around the red block"."""

    new: New
    where: Any


@dataclass(frozen=True)
class Remark:
    """Words that ask for nothing."""


@dataclass(frozen=True)
class Core:
    """A description without the number of things that it means."""

    colors: tuple[int, ...] = ()
    kind: Kind = Kind.BLOCK
    size: int | None = None
    extreme: Direction | None = None
    where: Any = None
    rank: int = 1
    middle: bool = False
    count: int | None = None
    by_size: str | None = None

    def blocks(self, count: int | None, unless: Any = None) -> Blocks:
        """The description of so many."""
        if self.count is not None and count is not None and self.count != count:
            return NOTHING  # type: ignore[return-value]
        told = count if self.count is None else self.count
        return Blocks(
            self.colors,
            self.kind,
            told,
            self.extreme,
            self.size,
            self.where,
            self.rank,
            self.middle,
            unless,
            self.by_size,
        )


_SINGLE = (
    "standing",
    "way",
    "axis",
    "tall",
    "long",
    "gap",
    "color",
    "like",
    "area",
    "hollow",
    "four",
    "total",
    "flat",
    "centred",
    "bare",
    "until",
    "origin",
    "taller",
    "times",
    "long_side",
    "alone",
)


@dataclass(frozen=True)
class Mods:
    """What is told of new blocks besides what they are."""

    where: tuple[Places, ...] = ()
    standing: bool | None = None
    way: Direction | None = None
    axis: str | None = None
    tall: int | None = None
    long: int | None = None
    each: bool = False
    also: Any = None
    split: bool = False
    one_each: bool = False
    each_of: bool = False  # of its blocks
    gap: int | None = None
    color: int | None = None
    like: Any = None
    area: tuple[int, ...] | None = None
    hollow: bool | None = None
    four: bool | None = None
    total: int | None = None
    flat: bool | None = None
    centred: bool | None = None
    bare: bool | None = None
    until: int | None = None
    origin: Any = None
    taller: int | None = None
    times: float | None = None
    long_side: str | None = None
    alone: bool | None = None
    more: tuple[tuple[Any, Mods], ...] = ()

    def plus(self, other: Mods) -> Mods | None:
        """Both; None where they contradict each other."""
        told: dict[str, Any] = {}
        for name in _SINGLE:
            one, two = getattr(self, name), getattr(other, name)
            if one is not None and two is not None and one != two:
                return None
            told[name] = one if two is None else two
        if self.also is not None and other.also is not None:
            return None
        return Mods(
            (*self.where, *other.where),
            each=self.each or other.each,
            also=self.also or other.also,
            split=self.split or other.split,
            one_each=self.one_each or other.one_each,
            each_of=self.each_of or other.each_of,
            more=(*self.more, *other.more),
            **told,
        )


# ------------------------------------------------------------------------------------------------- small things

for _name in ("same", "same_way", "same_where", "same_new"):
    _value(_name, lambda **slots: next(iter(slots.values())))
_value("one", lambda: 1)
_value("two", lambda: 2)
_value("color_one", lambda one: (one,))
_value("color_more", lambda one, more: (one, *more) if one not in more else NOTHING)
_value("color_named", lambda name: color_id(name))
_value("way", lambda name: Direction(name))
_value("kind", lambda name: Kind(name))
_value("axis", lambda name: name)
_value("step", lambda n, way: (way, n))
_value("steps_one", lambda one: (one,))
_value("steps_more", lambda one, more: (one, *more))
_value("way_two", lambda one, two: (one, two) if one is not two else NOTHING)


@maker
def way_more(**ways: Direction) -> Any:
    told = tuple(ways.values())
    return told if len(set(told)) == len(told) else NOTHING


_value("anywhere", lambda z=None: None)


# ----------------------------------------------------------------------------------------------- cells and places


@maker
def spot_centre(z: Any = None) -> Spot:
    return Spot(0, 0)


@maker
def spot_corner(x: Any, z: Any = None) -> Spot:
    return Spot(*x)


@maker
def corner(up: Direction, over: Direction) -> tuple[int, int]:
    return 5 * VECTORS[over][0], 5 * VECTORS[up][2]


@maker
def corner_of(up: str, over: str) -> tuple[int, int]:
    return corner(Direction(up), Direction(over))


@maker
def spots_list(a: int, b: int, way: Direction, c: int | None = None) -> Any:
    vector = VECTORS[way]
    steps = [n for n in (a, b, c) if n is not None]
    if len(set(steps)) < len(steps) or max(steps) > 5:
        return NOTHING
    return Each(Spots(tuple((vector[0] * n, vector[2] * n) for n in steps)))


_value("ref_centre", lambda: Spot(0, 0))
_value("ref_corner", lambda x: Spot(*x))


@maker
def spot_between(one: Direction, two: Direction) -> Any:
    if one.axis == two.axis:
        return NOTHING
    up, over = (one, two) if one.axis == "z" else (two, one)
    return Spot(*corner(up, over))


@maker
def spot_steps(offset: Any) -> Any:
    ways = [way for way, _ in offset]
    if any(way.relative for way in ways) and not any(way.vertical for way in ways):
        return Beside(offset, Spot(0, 0))
    if len(offset) > 2 or not set(ways) <= set(COMPASS) or len({way.axis for way in ways}) < len(ways):
        return NOTHING
    x, z = (sum(VECTORS[way][axis] * count for way, count in offset) for axis in (0, 2))
    return Spot(x, z)


@dataclass(frozen=True)
class Outside:
    """A cell that is told, and not in the zone."""

    cell: Cell


@maker
def cell(place: Spot, n: int) -> Any:
    if not isinstance(place, Spot):
        return NOTHING
    told = place.x, n - 2, place.z
    return At(told) if in_zone(*told) else Outside(told)


_value("at_cell", lambda cell: cell)
_value("at_spot", lambda place: place)


@maker
def at_level(n: int) -> Any:
    return Level(n) if 1 <= n <= 9 else NOTHING


@maker
def beside(way: Direction, of: Any, n: int = 1, before: Any = ()) -> Any:
    if n < 1:
        return NOTHING
    return Beside((*before, (way, n)), of)


@maker
def beside_each(way: Direction, of: Any) -> Any:
    return Each(Beside(((way, 1),), of))


_value("beside_it", lambda of_it: of_it if isinstance(of_it, Beside) else Beside(((of_it, 1),), It()))
_value("ways_of", lambda ways, of: Each(Sides(of, ways)))
_value("ways_of_it", lambda ways: Each(Sides(It(), ways)))
_value("own_far", lambda n, way: Beside(((way, n),), It()))
_value("next_to", lambda of: NextTo(of))
_value("in_place", lambda of: Beside((), of))
_value("in_its_place", lambda: Beside((), It()))
_value("part_of", lambda of: PartOf(of))
_value("edge", lambda way: Edge(way))


@maker
def between(one: Any, other: Any = None, n: int | None = None) -> Any:
    if other is None and isinstance(one, Blocks) and one.count == 1 and not one.is_of_several:
        return gap_in(one)
    if other is None and isinstance(one, (It, LastBlock)):
        one = Portion(one, "blocks")
    return Between(one, other)


@maker
def gap(of: Any = None) -> Between:
    return of if isinstance(of, Between) else Between()


_CORNERS = ((-5, -5), (5, -5), (-5, 5), (5, 5))
_EDGES = ((0, -5), (5, 0), (0, 5), (-5, 0))


@maker
def corners(z: Any = None) -> Any:
    return Each(Spots(_CORNERS) if z is None or isinstance(z, Remark) else Corners(z))


_value("opposite", lambda of=None: Opposite(of))
_value("other_side", lambda of=None: OtherSide(of))
_value("on_top_of_it", lambda: Beside(((Direction.UP, 1),), It()))


_value(
    "corners_free",
    lambda z=None: Each(Spots(_CORNERS, True)) if z is None or isinstance(z, Remark) else NOTHING,
)


@maker
def corners_two(x: tuple[int, int], y: tuple[int, int]) -> Any:
    return NOTHING if x == y else Each(Spots((x, y)))


@maker
def on_top_of(of: Any) -> Any:
    if not isinstance(of, Blocks) or of.kind not in (Kind.TOWER, Kind.COLUMN):
        return NOTHING  # to what else, and at which end?
    return Beside(((Direction.UP, 1),), of)


@maker
def corners_side(way: Direction, z: Any = None) -> Any:
    vector = VECTORS[way]
    return Each(Spots(tuple((x, z) for x, z in _CORNERS if x * vector[0] + z * vector[2] > 0)))


@maker
def spot_edge(way: Direction) -> Any:
    if way.relative:
        return NOTHING
    return Spot(5 * VECTORS[way][0], 5 * VECTORS[way][2])


@maker
def spot_half(one: Spot, two: Spot) -> Any:
    x, z = one.x + two.x, one.z + two.z
    return NOTHING if x % 2 or z % 2 else Spot(x // 2, z // 2)


_value("edge_middles", lambda: Each(Spots(_EDGES)))
_value(
    "border_all",
    lambda: Spots(tuple((x, z) for x in range(-5, 6) for z in range(-5, 6) if max(abs(x), abs(z)) == 5)),
)
_value(
    "end_of", lambda way, of=None: NOTHING if way is None else Beside(((way, 1),), It() if of is None else of)
)
_value("zero", lambda: 0)


@maker
def gap_in(of: Any) -> Any:
    """The free cells inside of something: between its blocks."""
    if isinstance(of, (Blocks, Recent)) and of.kind is not Kind.BLOCK:
        of = Blocks(of.colors, where=of.where) if isinstance(of, Blocks) else Blocks(of.colors)
        of = replace(of, count=None)
    elif not isinstance(of, (It, Blocks)) or (isinstance(of, Blocks) and of.count == 1):
        return NOTHING
    return Between(of if not isinstance(of, It) else Portion(of, "blocks"))


_value("gap_in_it", lambda: gap_in(It()))
_value("above_of", lambda of: Beside(((Direction.UP, 1),), of))


@maker
def sides(which: str, of: Any) -> Any:
    return Each(Sides(of, which))


_value("on_ends", lambda: Each(Beside(((Direction.UP, 1),), Portion(It(), "ends"))))
_value("sides_of_it", lambda which: Each(Sides(It(), which)))
_value("sides_of_base", lambda: Each(Sides(Portion(It(), "blocks", Direction.DOWN), "four")))


# ---------------------------------------------------------------------------------------------------- references

_value("it", It)
_value("last_block", LastBlock)
_value("you", You)
_value("everything", lambda: Blocks(count=None))
_value("everything_colored", lambda colors: Blocks(tuple(colors), count=None))
_value("everything_at", lambda where: NOTHING if where is None else Blocks(count=None, where=where))
_value("them", Them)
_value("both", lambda: Them(True))
_value("at_end", lambda way, of: PartOf(Portion(of, "ends", way)))
_value("off_ground", lambda: Floating(False))
_value("remaining", lambda: Remaining())
_value("part_extreme_two", lambda way: Blocks(count=None, extreme=way, where=PartOf(It())))
_value("free_top", lambda: Free())
_value("floating", lambda: Floating())
_value("core_floating", lambda core: replace(core, where=Floating()) if core.where is None else NOTHING)
_value("everything_but", lambda but: Blocks(count=None, unless=but))


@maker
def part(which: str, of: Any = None, way: Direction | None = None) -> Any:
    if which == "legs":
        which, way = "ends", None
    if isinstance(of, Blocks) and of.kind is Kind.BLOCK and of.count == 1:
        return NOTHING
    return Portion(It() if of is None else of, which, way)


_value("part_side", lambda way, of: Portion(of, "blocks", way))
_value("part_middle", lambda n, of: Blocks(count=n, middle=True, where=PartOf(of)))
_value("on_middle", lambda of: Beside(((Direction.UP, 1),), Portion(of, "middle")))
_value("between_them", lambda: Between(Them()))
_value("core_atop", lambda core, of: core_where(core, Beside(((Direction.UP, 1),), of)))
_value("part_upper", lambda which, of: Portion(of, which, Direction.UP))
_value("part_lower", lambda which, of: Portion(of, which, Direction.DOWN))
_value("half", lambda way, of: Portion(of, "half", way))
_value("part_top", lambda of: Portion(of, "blocks", Direction.UP))
_value("part_tops", lambda of: _tops(of))
_value("part_bottoms", lambda of: _tops(of, Direction.DOWN))
_value("part_bottom", lambda of: Portion(of, "blocks", Direction.DOWN))
_value("part_end", lambda way, of: Portion(of, "ends", way))
_value("part_far", lambda of: Portion(of, "ends", Direction.BEHIND))
_value("nothing_ref", lambda: NOTHING)


def _tops(of: Any, way: Direction = Direction.UP) -> Any:
    return Blocks(extreme=way, where=PartOf(of)) if isinstance(of, Blocks) and of.count != 1 else NOTHING


@maker
def part_corner(x: tuple[int, int], of: Any = None) -> Any:
    east = Direction.EAST if x[0] > 0 else Direction.WEST
    south = Direction.SOUTH if x[1] > 0 else Direction.NORTH
    side = Portion(It() if of is None else of, "corners", south)
    return Blocks(count=1, extreme=east, where=PartOf(side))


@maker
def extend_both(blocks: Any, n: int, color: int | None = None) -> Any:
    if n != 1:
        return NOTHING
    return Put(New(1, SAME if color is None else color, each=True), (Sides(blocks, "ends"),))


@maker
def part_extreme(way: Direction, n: int = 1) -> Any:
    return Blocks(count=n, extreme=way, where=PartOf(It()))


@maker
def core_area(
    n: int,
    m: int,
    colors: Any = (),
    colors2: Any = (),
    kind: Kind = Kind.RECTANGLE,
    way: Direction | None = None,
) -> Any:
    if colors and colors2:
        return NOTHING
    if kind in (Kind.SQUARE, Kind.RECTANGLE):
        kind = Kind.SQUARE if n == m else Kind.RECTANGLE
    return Core(tuple(colors) or tuple(colors2), kind, n * m, way)


@maker
def core_by_size(by: str, kind: Kind = Kind.BLOCK, colors: Any = (), n: int = 1) -> Any:
    if kind is Kind.BLOCK and n == 1:
        kind = Kind.TOWER
    return Core(tuple(colors), kind, by_size=by, rank=n)


@maker
def plain_core(colors: Any = (), kind: Kind = Kind.BLOCK, way: Direction | None = None) -> Core:
    return Core(tuple(colors), kind, extreme=way)


_value("np_thing", lambda colors: Blocks(tuple(colors), one=True))


@maker
def stuff(n: int | None = None, colors: Any = ()) -> Any:
    return n, tuple(colors)


@maker
def core_of(kind: Kind, of: Any, colors: Any = (), way: Direction | None = None) -> Any:
    size, told = of
    if (told and colors) or kind is Kind.BLOCK:
        return NOTHING
    return Core(tuple(colors) or told, kind, size, way)


@maker
def core_sized(n: int, kind: Kind, colors: Any = (), way: Direction | None = None) -> Any:
    return core_of(kind, (n, ()), colors, way)


@maker
def core_where(core: Core, where: Any) -> Any:
    if isinstance(where, Outside):
        return NOTHING
    if where is None:
        return core
    return replace(core, where=where) if core.where is None else NOTHING


@maker
def core_cell(core: Core, place: Spot, n: int) -> Any:
    where = cell(place, n)
    return NOTHING if where is NOTHING else core_where(core, where)


@maker
def core_extreme(core: Core, way: Direction) -> Any:
    return replace(core, extreme=way) if core.extreme is None and core.rank == 1 else NOTHING


@maker
def core_rank(n: int, core: Core, way: Direction | None = None, of: Any = None) -> Any:
    if of is not None:
        if core.where is not None:
            return NOTHING
        core = replace(core, where=PartOf(of))
    if core.extreme is not None and way is None:
        way, core = core.extreme, replace(core, extreme=None)
    if core.extreme is not None or way is None or not 1 <= n <= 9:
        return NOTHING
    return replace(core, extreme=way, rank=n)


@maker
def core_middle(core: Core, where: Any = None, of: Any = None, n: int | None = None) -> Any:
    if n is not None:
        core = replace(core, count=n)
    if core.extreme is not None or core.rank != 1:
        return NOTHING
    if of is not None:
        where = PartOf(of)
    if where is not None and (core.where is not None or isinstance(where, Outside)):
        return NOTHING
    return replace(core, middle=True, where=where if where is not None else core.where)


@maker
def core_counted(n: int, way: Direction, core: Core) -> Any:
    if core.extreme is not None or n < 2:
        return NOTHING
    return replace(core, extreme=way, count=n)


@maker
def core_centre(core: Core) -> Any:
    return core_where(core, Spot(0, 0))


@maker
def core_several(n: int, core: Core, where: Any = None) -> Any:
    return NOTHING


@maker
def np(n: int, core: Core) -> Any:
    if n < 1:
        return NOTHING
    return core.blocks(n)


@maker
def np_extreme_of(way: Direction, of: Any) -> Any:
    if not isinstance(of, Blocks) or of.extreme is not None or of.middle or of.count == 1:
        return NOTHING
    return replace(of, count=1, extreme=way)


@maker
def np_all(core: Core) -> Any:
    if core.rank != 1 or (core.middle and core.count is None):
        return NOTHING
    return core.blocks(None)


@maker
def np_layer(core: Core) -> Any:
    return core.blocks(None)


@maker
def core_layer(way: Direction | None = None, of: Any = (None, ()), colors: Any = ()) -> Any:
    if of[0] is not None:
        return NOTHING
    return Core(tuple(colors) or of[1], extreme=way)


@maker
def np_some(n: int, core: Core) -> Any:
    return core.blocks(n)


@maker
def np_line(n: int, way: str, colors: Any, post: Any = None) -> Any:
    if way == "diagonal" or not 2 <= n <= 11 or isinstance(post, Outside):
        return NOTHING
    return Blocks(tuple(colors), Kind.TOWER if way == "vertical" else Kind.ROW, 1, size=n, where=post)


@maker
def np_extremes(one: Direction, two: Direction, kind: Kind, colors: Any = (), post: Any = None) -> Any:
    if one is two or isinstance(post, Outside):
        return NOTHING
    return Union(tuple(Blocks(tuple(colors), kind, 1, way, where=post) for way in (one, two)))


@maker
def union(one: Any, more: Any) -> Any:
    parts = (
        *(one.parts if isinstance(one, Union) else (one,)),
        *(more.parts if isinstance(more, Union) else (more,)),
    )
    return Union(parts)


@maker
def union_corners(core: Core, x: tuple[int, int], y: tuple[int, int]) -> Any:
    told = [core_where(core, Spot(*spot)) for spot in (x, y)]
    return NOTHING if x == y or NOTHING in told else Union(tuple(one.blocks(1) for one in told))


@maker
def np_apposed(of: Any, where: Any) -> Any:
    plain = isinstance(of, Blocks) and of.count == 1 and of.where is None
    return replace(of, where=where) if plain and not isinstance(where, Outside) else NOTHING


@maker
def np_but(one: Blocks, but: Any) -> Any:
    if isinstance(but, Blocks) and not but.colors and one.colors and but.kind is one.kind:
        but = replace(but, colors=one.colors)  # "all red blocks except the highest one"
    return replace(one, unless=but)


@maker
def recent(core: Core, n: int | None = None) -> Any:
    if (
        core.where is not None
        or core.rank != 1
        or core.size is not None
        or len(core.colors) > 1
        or core.middle
    ):
        return NOTHING
    return Recent(core.colors, core.kind, n, None, core.extreme)


_value("recent_first", lambda n: Recent(count=n, nth=1) if n > 1 else NOTHING)
_value("recent_last", lambda n: Recent(count=n, nth=-n) if n > 1 else NOTHING)


@maker
def recent_nth(n: int, core: Core = Core()) -> Any:
    if core != Core(core.colors) or len(core.colors) > 1:
        return NOTHING
    return Recent(core.colors, Kind.BLOCK, 1, n)


# ---------------------------------------------------------------------------------------------------- new blocks


@maker
def new(n: int, colors: int) -> New:
    return New(n, colors)


@maker
def new_some(colors: int, vague: str = "") -> New:
    return New(None, colors, vague=vague != "")


@maker
def new_plain(n: int) -> New:
    return New(n, SAME)


@maker
def new_colorless(n: int) -> New:
    return New(n, None)


@maker
def new_shape_colorless(kind: Kind, n: int | None = None) -> New:
    return New(1, None, kind, () if n is None else (n,))


@maker
def new_again() -> New:
    return New(1, SAME, again=True)


@maker
def new_standing(n: int, way: str, colors: int) -> Any:
    return New(n, colors, standing=way == "vertical") if way != "diagonal" else NOTHING


@maker
def new_shape(
    kind: Kind,
    n: int | None = None,
    way: str | None = None,
    colors: int | None = None,
    colors2: int | None = None,
    k: int = 1,
) -> Any:
    if colors is not None and colors2 is not None:
        return NOTHING
    color = colors2 if colors is None else colors
    if kind is Kind.ROW and way == "vertical":
        kind = Kind.TOWER
    elif kind is Kind.ROW and way == "diagonal":
        return NOTHING
    elif kind is Kind.TOWER and way == "horizontal":
        kind = Kind.ROW
    elif way == "diagonal" or kind is Kind.DIAGONAL:
        return NOTHING
    return New(k, SAME if color is None else color, kind, () if n is None else (n,))


def _hollowed(kind: Kind) -> Any:
    return Kind.RING if kind in (Kind.SQUARE, Kind.RECTANGLE, Kind.RING) else NOTHING


@maker
def new_area(
    n: int,
    m: int,
    kind: Kind = Kind.SQUARE,
    colors: int | None = None,
    colors2: int | None = None,
    d: int | None = None,
    k: int | None = None,
    up: Any = None,
    h: str = "",
) -> Any:
    kind = _hollowed(kind) if h else kind
    if kind is NOTHING or (colors is not None and colors2 is not None):
        return NOTHING
    color = colors2 if colors is None else colors
    sizes: tuple[int, ...] = (n, m) if d is None else (n, m, d)
    if kind is Kind.ROW:
        sizes = (max(n, m),)
        if min(n, m) != 1 or d is not None:
            return NOTHING
    if kind is Kind.CUBE and d is None:
        return NOTHING
    if kind is Kind.TOWER and d is not None:
        kind = Kind.RECTANGLE
    standing = True if kind is Kind.WALL else None if up is None else up == "upright"
    return New(1, SAME if color is None else color, kind, sizes, standing=standing)


_FIGURE_BLOCKS = {  # so many blocks have such figures of so many blocks a side
    Kind.PLUS: {n: 2 * n - 1 for n in (3, 5, 7)},
    Kind.X: {n: 2 * n - 1 for n in (3, 5, 7)},
    Kind.RING: {n: 4 * n - 4 for n in range(3, 8)},
    Kind.SQUARE: {n: n * n for n in range(2, 8)},
}


@maker
def new_figure(
    kind: Kind,
    up: Any = None,
    colors: int | None = None,
    colors2: int | None = None,
    k: int | None = None,
    h: str = "",
) -> Any:
    kind = _hollowed(kind) if h else kind
    if kind is NOTHING or (colors is not None and colors2 is not None):
        return NOTHING
    color = colors2 if colors is None else colors
    side = {v: key for key, v in _FIGURE_BLOCKS.get(kind, {}).items()}.get(k, 0) if k else 0
    sizes = (side, side) if side else ()
    return New(1, color, kind, sizes, standing=None if up is None else up == "upright")


@maker
def new_around(of: Any, colors: int | None = None, colors2: int | None = None, k: int | None = None) -> Any:
    color = colors2 if colors is None else colors
    return Around(New(k, color), Sides(of, "around"))


@maker
def new_layer(colors: int | None = None, colors2: int | None = None) -> Any:
    color = colors2 if colors is None else colors
    return New(1, SAME if color is None else color, Kind.RECTANGLE)


# ----------------------------------------------------------------------------------------- shapes told in full


@maker
def dims(n: int, one: Any = None, two: Any = None, m: int | None = None) -> Any:
    return (n,) if m is None else (n, m), tuple(way for way in (one, two) if way is not None)


@maker
def toward_two(one: Any = None, two: Any = None) -> Any:
    return tuple(way for way in (one, two) if way is not None)


@maker
def run(n: int, c: int) -> Any:
    return (c,) * n if 1 <= n <= 11 else NOTHING


@maker
def runs_more(one: Any, more: Any) -> Any:
    return one + more if len(one) + len(more) <= 11 else NOTHING


@maker
def runs_told(one: Any, two: Any, three: Any = ()) -> Any:
    return runs_more(one, two + three)


@maker
def alternating(c: int, d: int, n: int | None = None) -> Any:
    return NOTHING if n is None else (n, (c, d))


def _shape(kind: Kind, sizes: tuple[int, ...], ways: tuple[Direction, ...]) -> Shape:
    if kind is Kind.PLUS and len(ways) == 2 and len(sizes) == 1:
        return plus(sizes[0], *ways)
    if kind is Kind.WALL and len(ways) == 2 and ways[1] is Direction.UP:
        ways = ways[:1]
    return Shape(kind, sizes, ways)


@maker
def shape_plain(c: int, kind: Kind, form: Any) -> Any:
    return _shape(kind, *form), (c,)


@maker
def shape_counted(kind: Kind, n: int, c: int, ways: Any) -> Any:
    return _shape(kind, (n,), ways), (c,)


@maker
def shape_stacked(p: Any) -> Any:
    return (_shape(Kind.TOWER, (len(p),), ()), tuple(p)) if len(set(p)) > 1 else NOTHING


@maker
def shape_listed(kind: Kind, p: Any, ways: Any, n: int | None = None) -> Any:
    count, colors = p if isinstance(p[-1], tuple) else (len(p), p)
    if n not in (None, count):
        return NOTHING
    return (_shape(kind, (count,), ways), tuple(colors)) if len(colors) > 1 else NOTHING


@maker
def build(shape: Any, mods: Mods, before: Mods | None = None, of: str = "") -> Any:
    told = mods if before is None else before.plus(mods)
    if told is None or len(told.where) != 1 or told != Mods(told.where, each=told.each):
        return NOTHING
    where = told.where[0]
    formed, colors = shape
    return Build(formed, colors, where) if isinstance(where, (At, Beside, NextTo, Spot)) else NOTHING


_value("mods_none", Mods)
_value("mod_none", lambda **_: Mods())
_value("mod_upright", lambda: Mods(standing=True))
_value("mod_level", lambda: Mods(standing=False))
_value("mod_way", lambda way, k=None: Mods(way=way))
_value("mod_long_side", lambda axis: Mods(long_side=axis))
_value("mod_axis", lambda axis, k=None: Mods(axis=axis))
_value("mod_tall", lambda n, c=None: Mods(tall=n, color=c))
_value("mod_long", lambda n, c=None: Mods(long=n, color=c))
_value("mod_gap", lambda n, z=None: Mods(gap=n))
_value("mod_flat", lambda: Mods(flat=True))
_value(
    "mod_color",
    lambda color=None, of=None: NOTHING if of is not None else Mods(color=ALIKE if color is None else color),
)
_value("mod_color_of_one", lambda color: Mods(color=color, alone=True))
_value("mod_like", lambda of: Mods(like=of))
_value("mod_like_color", lambda: Mods(color=ALIKE))
_value("put_as", lambda shape, new, mods: put(new, mods))


@maker
def mod_both(where: Any, also: Any) -> Any:
    told = [isinstance(place, NextTo) for place in (where, also)]
    if None in (where, also) or (any(told) and isinstance(also if told[0] else where, (Beside, NextTo))):
        return NOTHING  # "next to the tower and on the blue block": that can be one place
    return Mods(also=(where, also))


@maker
def put_on_what(of: Any, new: Any, mods: Mods) -> Any:
    made = put(new, mods)
    return NOTHING if made is NOTHING or isinstance(made, Then) else Then((Look(of), made))


@maker
def by_doing(of: Any, x: tuple[str, ...], one: Any) -> Any:
    """What something is made into, and by what: the latter, with that in mind; a number that was told is a check."""
    if isinstance(of, You) or _NAMING.difference(_FORMS, _NUMBERS, map(str, _NUMBERS.values())).intersection(
        x
    ):
        return NOTHING
    parts = one.parts if isinstance(one, Then) else (one,)
    if any(isinstance(part, Amend) for part in parts):  # "extend it by 2" does nothing yet
        return NOTHING
    counts = [n for word, n in _NUMBERS.items() if n and {word, str(n)}.intersection(x)]
    told = (*((Look(of),) if not isinstance(of, It) else ()), *parts, *map(Check, counts))
    return told[0] if len(told) == 1 else Then(told)


@dataclass(frozen=True)
class Announced:
    """Something that is told in full by the sentences behind it: their first place, and their colour."""

    color: int | None = None
    where: tuple[Places, ...] = ()


@maker
def announced(mods: Mods, colors: int | None = None, colors2: int | None = None, up: Any = None) -> Any:
    told = [color for color in (colors, colors2, mods.color) if color is not None]
    if mods != Mods(mods.where, mods.standing, color=mods.color, flat=mods.flat) or len(set(told)) > 1:
        return NOTHING
    return Announced(next(iter(told), None), mods.where)


@maker
def mod_with(new: Any, where: Any) -> Any:
    told = mod_where(where)
    if told is NOTHING or not isinstance(getattr(told.where[0], "of", None), (It, Portion)):
        return NOTHING
    return Mods(more=((new, told),))


@maker
def swap(one: Any, other: Any, what: str = "") -> Any:
    return Swap(one, other, what == "color")


@maker
def swap_colored(one: int, other: int, kind: Kind = Kind.BLOCK, x: Any = None) -> Any:
    return NOTHING if one == other else Swap(Blocks((one,), kind, None), Blocks((other,), kind, None), True)


@maker
def swap_two(core: Core, x: Any = None) -> Any:
    return Swap(core.blocks(2))


@maker
def goes_on(n: int, of: Any = None, color: int | None = None, way: Direction | None = None) -> Any:
    return Resize(It() if of is None else of, n, color=color, way=way)


@maker
def move_to_edge(blocks: Any, way: Direction) -> Any:
    return Move(blocks, (), Edge(way))


@maker
def core_end(core: Core, way: Direction, of: Any, n: int | None = None) -> Any:
    if core.where is not None or core.rank != 1 or core.middle or core.extreme is not None:
        return NOTHING
    return replace(core, extreme=way, where=PartOf(of), count=n)


@maker
def beside_corner(x: tuple[int, int], of: Any) -> Any:
    east = Direction.EAST if x[0] > 0 else Direction.WEST
    south = Direction.SOUTH if x[1] > 0 else Direction.NORTH
    return Beside(((south, 1), (east, 1)), of)


@maker
def shape_in_row(p: Any, ways: Any, n: int | None = None) -> Any:
    if n not in (None, len(p)) or len(set(p)) == 1:
        return NOTHING
    return _shape(Kind.ROW, (len(p),), ways), tuple(p)


@maker
def build_listed(kind: Kind, p: Any, mods: Mods, more: Mods, n: int | None = None) -> Any:
    told = mods.plus(more)
    if told is None or n not in (None, len(p)):
        return NOTHING
    ways = () if told.way is None else (told.way,)
    shape = shape_listed(kind, p, ways)
    return NOTHING if shape is NOTHING else build(shape, replace(told, way=None))


@maker
def build_stacked(p: Any, mods: Mods, before: Mods | None = None) -> Any:
    shape = shape_stacked(p)
    return NOTHING if shape is NOTHING else build(shape, mods, before)


_value("mod_like_it", lambda: Mods(like=It()))
_value("mod_times", lambda t, of=None: Mods(like=It() if of is None else of, times=0.5 if t == "half" else 2))
_value("mod_more", lambda n, of=None: Mods(like=It() if of is None else of, taller=n))
_value("mod_less", lambda n, of=None: Mods(like=It() if of is None else of, taller=-n))
_value("mod_bare", lambda: Mods(bare=True))
_value("mod_until", lambda n, k=None, c=None: Mods(until=n))
_value("mod_spot", lambda place: mod_where(place))
_value(
    "look_spot_steps", lambda offset: NOTHING if spot_steps(offset) is NOTHING else Look(spot_steps(offset))
)
_value("look_from", lambda offset: Look(Beside(offset, It())))
_value("keep", lambda of, c=None: Keep(of))


@maker
def look_gap(of: Any) -> Any:
    if isinstance(of, Blocks) and of.kind is not Kind.BLOCK:
        of = replace(of, kind=Kind.BLOCK, count=None, size=None)  # what has a gap is two of its kind
    return Look(of)


_value("remove_middle", lambda of: Remove(Portion(of, "middle")))
_value("remove_ends", lambda of: Remove(Portion(of, "ends")))
_value("look_past", lambda n, way, of=None: Look(Beside(((way, n + 1),), It() if of is None else of)))
_value("mod_origin", lambda of: NOTHING if isinstance(of, Spot) else Mods(origin=of))
_value("mod_centre", lambda: Mods((Spot(0, 0),)))
_value("mod_middle", lambda where: mod_where(where))
_value("mod_centred", lambda: Mods(centred=True))


@maker
def mod_area(n: int, m: int, d: int | None = None, high: bool = False, x: Any = None, **_: Any) -> Mods:
    axis = None if x is None or x.axis not in ("x", "z", "side") else x.axis
    if d is not None:
        return Mods(area=(n, m, d))
    return Mods(area=(m, n) if high else (n, m), axis=axis)


_value("mod_hollow", lambda: Mods(hollow=True))
_value("mod_around", lambda: Mods(four=False))
_value("mod_four", lambda: Mods(four=True))
_value(
    "mod_from_to",
    lambda way, way2: (
        Mods(axis={"x": "x", "z": "z", "side": "side"}[way.axis]) if way2 is way.opposite else NOTHING
    ),
)
_value("mod_ground", lambda: Mods((Level(1),)))
_value("mod_total", lambda n, c=None: Mods(total=n))


@maker
def mod_split(where: Any, also: Any) -> Any:
    return NOTHING if None in (where, also) else Mods(also=(where, also), split=True)


@maker
def mod_two_sides(a: Direction, b: Direction, of: Any, c: Direction | None = None) -> Any:
    ways = tuple(way for way in (a, b, c) if way is not None)
    return NOTHING if len(set(ways)) < len(ways) else Mods((Sides(of, ways),), each=True)


@maker
def mod_start(where: Any, way: Direction) -> Any:
    return NOTHING if where is None or isinstance(where, Each) else Mods((where,), way=way)


_value("mod_each", lambda **_: Mods(each=True))
_value("mod_one_each", lambda of=None: Mods(one_each=True, each_of=of == Core()))


@maker
def mod_where(where: Any, k: Any = None) -> Any:
    if isinstance(where, Each):
        return Mods((where.where,), each=True)
    return NOTHING if where is None else Mods((where,))


@maker
def mod_cell(place: Spot, n: int) -> Any:
    where = cell(place, n)
    return NOTHING if where is NOTHING else mod_where(where)


@maker
def mods_more(one: Mods, more: Mods) -> Any:
    made = one.plus(more)
    return NOTHING if made is None or len(made.where) > 3 else made


@maker
def put(
    new: Any, mods: Mods, before: Mods | None = None, before2: Mods | None = None, stacked: bool = False
) -> Any:
    for told in (before, before2):
        if told is not None:
            more = told.plus(mods)
            if more is None:
                return NOTHING
            mods = more
    if mods.more:  # "with a red block on top"
        made = [put(new, replace(mods, more=())), *(put(other, told) for other, told in mods.more)]
        middle = Beside(
            ((Direction.UP, 1),), Portion(It(), "middle")
        )  # "with a red block in its middle": in or on?
        whole = NOTHING in made or any(isinstance(part, Then) for part in made)
        whole = whole or (new.kind in FIGURES and any(middle in told.where for _, told in mods.more))
        return NOTHING if whole else Then(tuple(made))
    if isinstance(new, Around):
        mods = Mods((new.where, *mods.where), each=mods.each, also=mods.also)
        new = new.new
    if stacked and new.kind is Kind.BLOCK and new.count != 1:
        more = mods.plus(Mods(standing=True))
        if more is None:
            return NOTHING
        mods = more
    if mods.origin is not None:  # "a row of 3 to the north from the red block": beside it
        if mods.way is None or mods.where:
            return NOTHING
        mods = replace(mods, where=(Beside(((mods.way, 1),), mods.origin),), origin=None)
    if mods.also is not None:
        return _both(new, mods)
    made = _described(new, mods)
    if made is NOTHING:
        return NOTHING
    if mods.one_each:
        if made.kind is Kind.BLOCK and made.count not in (None, 1):
            mods = replace(mods, total=made.count)
        made = replace(made, count=1, each=True)
    wheres = _own(mods.where)
    if mods.each_of:  # "on it, one on each block"
        wheres = tuple(
            replace(where, of=Portion(where.of, "blocks"))
            if isinstance(where, Beside) and (isinstance(where.of, It) or getattr(where.of, "count", 0) == 1)
            else where
            for where in wheres
        )
    if Beside((), It()) in wheres and any(isinstance(where, (At, Spot)) for where in wheres):
        wheres = tuple(where for where in wheres if where != Beside((), It()))  # "in the corner instead"
    if mods.four or (made.kind is Kind.BLOCK and made.count == 4):
        four = tuple(replace(where, which="four") for where in wheres if isinstance(where, Sides))
        if four and wheres[0] == replace(four[0], which="around"):
            wheres, made = four, replace(made, count=1, each=True)
    if len(wheres) > 2:
        return NOTHING
    if {Edge, Spot} == set(map(type, wheres)) and made.kind is Kind.BLOCK and made.count not in (None, 1):
        made = replace(made, kind=Kind.ROW, sizes=(made.count,), count=1)  # along the edge from there
    told_from = getattr(wheres[0], "of", None) or getattr(wheres[0], "one", None) if wheres else None
    if made.like == It() and told_from is not None:
        made = replace(made, like=told_from)
    if isinstance(made.like, Blocks) and made.like.kind is Kind.BLOCK and made.kind is not Kind.BLOCK:
        made = replace(made, like=replace(made.like, kind=made.kind))
    if mods.total == 4 and made.count == 1:  # "on each side, four in total"
        wheres = tuple(
            replace(where, which="four") if isinstance(where, Sides) and where.which == "every" else where
            for where in wheres
        )
    if mods.total is not None and made.kind in (Kind.TOWER, Kind.ROW) and not made.sizes and made.count == 1:
        made = replace(made, sizes=(mods.total,))  # "a tower in the middle, 4 blocks in total"
    if mods.total is not None:
        return _checked(made, wheres, mods.total)
    if (
        len(wheres) == 1
        and isinstance(wheres[0], (At, Beside, NextTo))
        and made.color not in (None, SAME, ALIKE)
    ):
        return _in_full(made, wheres[0]) or Put(made, wheres)
    return Put(made, wheres)


@maker
def put_fronted(new: Any, mods: Mods, before: Mods) -> Any:
    plain = isinstance(new, New) and new == New(1, SAME)  # "... of the first one" is no new one
    return NOTHING if plain and mods == Mods() else put(new, mods, before)


@maker
def put_filled(new: New, mods: Mods, color: int, more: Mods) -> Any:
    told = mods.plus(more)
    return NOTHING if told is None or new.color != SAME else put(replace(new, color=color), told)


@maker
def put_color(color: int, where: Any) -> Any:
    """Of "put red on the blue block": one block on one thing."""
    single = isinstance(where, Spot) or (isinstance(where, Beside) and [n for _, n in where.offset] == [1])
    return put(New(1, color), Mods((where,))) if single else NOTHING


def _checked(new: New, wheres: tuple[Any, ...], total: int) -> Any:
    return Then((Put(new, wheres), Check(total)))


def _described(new: New, mods: Mods) -> Any:
    """What is new, with all that is told of it behind it."""
    kind, sizes, standing, count = new.kind, new.sizes, new.standing, new.count
    color = new.color
    if mods.alone and count != 1:
        return NOTHING  # "two blocks: an orange one and ..."
    if mods.color is not None:
        if color not in (None, SAME) and mods.color != color:
            return NOTHING
        color = mods.color
    if mods.area is not None:
        if kind is Kind.BLOCK and count == mods.area[0] * mods.area[-1] and len(mods.area) == 2:
            kind, count = Kind.RECTANGLE, 1  # "four blocks in a 2x2 square"
        if sizes or kind in (Kind.BLOCK, Kind.TOWER, Kind.ROW):
            return NOTHING
        sizes = mods.area
    elif mods.tall is not None or mods.long is not None:
        if kind in FIGURES and mods.tall and mods.long and not sizes:
            sizes = mods.long, mods.tall
        elif kind in (Kind.TOWER, Kind.SQUARE, Kind.RECTANGLE) and mods.tall and len(sizes) == 2:
            kind, sizes = Kind.RECTANGLE, (*sizes, mods.tall)  # "a 2x2 tower 3 blocks high"
        elif sizes or (mods.tall and mods.long):
            return NOTHING
        elif kind in (Kind.PLUS, Kind.X, Kind.RING, Kind.SQUARE) and mods.long:
            sizes = mods.long, mods.long  # "a cross three blocks across"
        elif kind is Kind.BLOCK:
            if count not in (None, 1):
                return NOTHING
            kind, sizes, count = (Kind.TOWER if mods.tall else Kind.ROW), (mods.tall or mods.long or 1,), 1
        elif (kind is Kind.TOWER and mods.tall) or (kind is Kind.ROW and mods.long):
            sizes = (mods.tall or mods.long or 1,)
        else:
            return NOTHING
    if mods.long_side is not None and (kind not in FIGURES or len(sizes) != 2 or mods.axis is not None):
        return NOTHING
    if mods.long_side is not None:
        sizes = max(sizes), min(sizes)
    if (mods.hollow and kind not in FIGURES) or (kind is Kind.TOWER and len(sizes) == 2):
        return NOTHING
    if mods.like is not None and kind is Kind.BLOCK and count == 1 and mods.like == It():
        kind = Kind.TOWER  # "a blue one of the same height"
    if mods.like is not None and kind not in (Kind.TOWER, Kind.ROW):
        return NOTHING
    if mods.standing is not None:
        if standing is not None and mods.standing != standing:
            return NOTHING
        standing = mods.standing
    if mods.flat:
        if standing or kind in (Kind.TOWER, Kind.WALL):
            return NOTHING
        standing = False if kind in FIGURES else standing
    if kind is Kind.ROW and standing:
        kind, standing = Kind.TOWER, None
    if kind is Kind.TOWER and standing is False:
        return NOTHING
    if kind in (Kind.ROW, Kind.TOWER):
        standing = None
    if kind is Kind.BLOCK and count == 1 and not mods.each:
        standing = None
        if mods.way is not None or mods.axis is not None:
            return NOTHING
    return replace(
        new,
        count=count,
        color=color,
        kind=kind,
        sizes=sizes,
        standing=standing,
        way=mods.way,
        axis=mods.long_side or mods.axis,
        each=mods.each,
        gap=mods.gap or 0,
        hollow=bool(mods.hollow),
        like=mods.like,
        taller=mods.taller or 0,
        times=mods.times or 1,
        centred=bool(mods.centred),
        bare_ends=bool(mods.bare),
        until=mods.until,
    )


def _own(wheres: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of "next to the red block, on its east side": to the east of the red block."""
    levels = tuple(where for where in wheres if isinstance(where, Level))
    if len(wheres) == 3 and len(levels) == 1:
        return (*_own(tuple(where for where in wheres if where not in levels)), *levels)
    if len(wheres) == 2:
        for one, other in (wheres, wheres[::-1]):
            if isinstance(one, NextTo) and isinstance(other, Beside) and isinstance(other.of, It):
                return (Beside(other.offset, one.of),)
            if isinstance(one, Beside) and isinstance(other, Beside) and other == Beside(one.offset, It()):
                return (one,)  # said twice
            if isinstance(one, Edge) and isinstance(other, Edge):
                return ()
            up = Beside(((Direction.UP, 1),), It())
            if isinstance(one, Sides) and one.which == "ends" and other == up:  # "on each end of it, on top"
                return (replace(up, of=Portion(one.of, "ends")),)
    return wheres


def _both(new: New, mods: Mods) -> Any:
    """The same at two places; split: one of two at each."""
    if mods.split:
        if new.count != 2:
            return NOTHING
        new, mods = replace(new, count=1), replace(mods, split=False)
    if new.count is None and new.kind is Kind.BLOCK:
        new = replace(new, count=1)
    parts = []
    for where in mods.also:
        told = mod_where(where)
        rest = replace(mods, also=None)
        more = NOTHING if told is NOTHING else told.plus(rest)
        if more is NOTHING or more is None:
            return NOTHING
        parts.append(put(new, more))
    return NOTHING if NOTHING in parts else Then(tuple(parts))


def _in_full(new: New, where: At | Beside | NextTo) -> Any:
    """The plainest value for a placement that leaves nothing open; None when it does."""
    assert new.color is not None
    several = is_several(where)
    if new.bare_ends or new.until is not None or (new.centred and new.kind is Kind.BLOCK):
        return None
    if new.axis is not None or new.count is None or new.gap or new.hollow or new.like is not None:
        return None
    if new.kind is Kind.BLOCK and new.count == 1:
        return (
            CellEdit(EditKind.PLACE, where.cell, color=new.color)
            if isinstance(where, At)
            else Place(new.color, where)
        )
    if (
        isinstance(where, Beside)
        and new.kind is Kind.BLOCK
        and several
        and not new.each
        and new.standing is None
        and new.way is None
    ):
        return (
            Place(new.color, where, new.count) if len(where.offset) == 1 and where.offset[0][1] == 1 else None
        )
    if several and not new.each and new.kind is Kind.BLOCK:
        return None
    n = new.sizes[0] if len(new.sizes) == 1 else new.count if new.kind is Kind.BLOCK else 0
    if n < 2 or n > 11 or (new.kind is not Kind.BLOCK and new.count != 1):
        return None
    if new.kind is Kind.TOWER or (new.kind is Kind.BLOCK and new.standing):
        down = new.way is Direction.DOWN or (
            isinstance(where, Beside) and where.offset[:1] == ((Direction.DOWN, 1),)
        )
        if new.way not in (None, Direction.UP, Direction.DOWN):
            return None
        shape = Shape(Kind.COLUMN, (n,), (Direction.DOWN,)) if down else Shape(Kind.TOWER, (n,))
        return Build(shape, (new.color,), where)
    if new.kind is Kind.ROW and new.way is not None and not new.way.vertical:
        return Build(Shape(Kind.ROW, (n,), (new.way,)), (new.color,), where)
    return None


def _filling(new: Any) -> Any:
    """New blocks that fill a place: a row or a line without a length is as long as it has to be."""
    if isinstance(new, Around):
        return NOTHING
    if new.kind is Kind.ROW and not new.sizes:
        return replace(new, kind=Kind.BLOCK, count=None)
    if new.kind in (Kind.ROW, Kind.TOWER) and new.sizes and new.count == 1:
        return replace(new, kind=Kind.BLOCK, count=new.sizes[0], sizes=())
    return new if new.kind is Kind.BLOCK else NOTHING


@maker
def fill(gap: Any, new: Any, mods: Mods = Mods()) -> Any:
    new = _filling(new)
    if new is NOTHING or (mods != Mods(mods.where, total=mods.total)):
        return NOTHING
    gap = gap.where if isinstance(gap, Each) else gap
    if isinstance(gap, Spots):
        made = Put(replace(new, each=True, count=1 if new.count is None else new.count), (gap, *mods.where))
    else:
        made = Put(new, (gap, *mods.where), fill=True)
    return made if mods.total is None else Then((made, Check(mods.total)))


_value("fill_color", lambda gap, color, mods: fill(gap, New(None, color), mods))


@maker
def connect(one: Any, new: Any, mods: Mods, other: Any = None) -> Any:
    place = Between(one, other) if other is not None else between(one)
    new = _filling(new)
    if NOTHING in (place, new) or not isinstance(place, Between):
        return NOTHING
    if new.color is None:
        new = replace(new, color=mods.color)
    return Put(new, (replace(place, line=True), *mods.where), fill=True)


@maker
def surround(of: Any, new: Any, mods: Mods, four: bool = False) -> Any:
    if not isinstance(new, Around) and new.kind is Kind.RING and not new.sizes:
        new = replace(new, kind=Kind.BLOCK, count=None)
    if isinstance(new, Around) or new.kind is not Kind.BLOCK:
        return NOTHING
    which = "four" if mods.four or four or new.count == 4 else "around"
    made = replace(
        new, count=1 if which == "four" else None if new.count == 1 else new.count, each=which == "four"
    )
    if any(not isinstance(where, Level) for where in mods.where):
        return NOTHING
    return Put(made, (Sides(of, which), *mods.where))


_value("surround_color", lambda of, color, mods: surround(of, New(None, color), mods))


@maker
def cover(of: Any, new: Any, mods: Mods = Mods()) -> Any:
    if isinstance(new, Around) or mods.where:
        return NOTHING
    if new.kind is Kind.RECTANGLE and not new.sizes:
        new = replace(new, kind=Kind.BLOCK, count=None)
    elif new.sizes:
        return Put(new, (Beside(((Direction.UP, 1),), of),))
    return Put(new, (Beside(((Direction.UP, 1),), of),))


_value("cover_color", lambda of, color: Put(New(None, color), (Beside(((Direction.UP, 1),), of),)))


@maker
def put_on_it(of: Any, new: Any, mods: Mods) -> Any:
    made = put(new, mods)
    if made is NOTHING:
        return NOTHING
    several = isinstance(of, Them) or (isinstance(of, (Blocks, Recent)) and of.count != 1)
    if several and isinstance(made, Place) and made.where == Beside(((Direction.UP, 1),), It()):
        return Place(made.color, Beside(((Direction.UP, 1),), of))
    return Then((Look(of), made))


# ------------------------------------------------------------------------------------------- taller, longer, turned


def _grow(of: Any, way: Direction, n: int, color: int | None = None) -> Any:
    if not 1 <= n <= 10:
        return NOTHING
    return Extend(of, way, n, color)


@maker
def taller(of: Any, n: int, color: int | None = None) -> Any:
    return _grow(of, Direction.UP, n, color)


@maker
def longer(of: Any, n: int, way: Direction | None = None) -> Any:
    return Resize(of, n) if way is None else _grow(of, way, n)


@maker
def shorter(of: Any, n: int, way: Direction | None = None) -> Any:
    return Resize(of, -n, way=way)


_value("shorter_it", lambda n, way=None: shorter(It(), n, way))
_value("height_to", lambda of, n: Resize(of, n, True))


@maker
def height_like(
    of: Any, like: Any, color: int | None = None, n: int | None = None, tower: bool = False
) -> Any:
    if isinstance(of, Blocks) and isinstance(like, Blocks) and like.kind is Kind.BLOCK:
        like = replace(
            like, kind=Kind.TOWER if tower else of.kind
        )  # "the green tower, as tall as the red one"
    if isinstance(like, Blocks) and like.unless == It():
        like = replace(like, unless=of)
    return Resize(of, n, True, like, color)


_value("height_alike", lambda of, new=None, x=None: height_like(of, of, getattr(new, "color", None)))


@maker
def more_at_end(n: int, of: Any = None, color: int | None = None) -> Any:
    return Resize(It() if of is None else of, n, color=color)


_value("half_height", lambda of: Resize(of, None, False, None, None, 0.5))
_value("twice", lambda of, way=None: Resize(of, None, False, None, None, 2.0, way))


@maker
def grown_into(of: Any, n: int, way: Direction | None = None, m: Any = None, c: int | None = None) -> Any:
    made = Resize(of, n, True, way=way, color=c)
    return made if c is None else Then((Replace(of, c), replace(made, blocks=It())))


_value("to_edge", lambda of, way: Resize(of, None, True, way=way))


@maker
def copy_to(blocks: Any, where: Any, color: int | None = None) -> Any:
    if isinstance(where, Beside) and isinstance(where.of, It):
        where = replace(where, of=blocks)
    if where is None or isinstance(where, (Each, Outside)):
        return NOTHING
    return Copy(blocks, (), where, color)


@maker
def copy_kind_to(
    blocks: Any, where: Any, kind: Kind | None = None, color: int | None = None, color2: int | None = None
) -> Any:
    if isinstance(blocks, Blocks) and blocks.kind is Kind.BLOCK and kind is not None:
        blocks = replace(blocks, kind=kind)
    return copy_to(blocks, where, color2 if color is None else color)


@maker
def copy_it_to(where: Any, kind: Kind, color: int | None = None, color2: int | None = None) -> Any:
    like = isinstance(where, (Beside, NextTo)) and isinstance(where.of, Blocks)
    of = where.of if like and where.of.kind in (kind, Kind.BLOCK) else Blocks((), kind)
    return copy_kind_to(of, where, kind, color, color2)


@maker
def again(where: Any = Mods, color: int | None = None, k: Any = None) -> Any:
    if where is Mods:  # nothing was told
        return Again()
    plain = where.where if isinstance(where, Each) else where
    return NOTHING if plain is None else Again(where=plain, color=color)


_value("again_side", lambda way: Beside(((way, 1),), It()))
_value("again_ref", lambda of: Again(of=of) if not isinstance(of, (It, You)) else NOTHING)
_value("amend_color", lambda color: Amend(color=color))
_value("amend_corner", lambda x: Amend(where=Spot(*x)))
_value("amend_count", lambda n: Amend(count=n))
_value("amend_way", lambda way: Amend(way=way))
_value(
    "amend_where", lambda where: NOTHING if where is None or isinstance(where, Each) else Amend(where=where)
)
_value("degrees", lambda n: n // 90 if n and n % 90 == 0 and n <= 360 else NOTHING)


@maker
def rotate(of: Any, q: int, about: Any = None, left: bool = False) -> Any:
    if isinstance(about, (Portion, Blocks)):
        about = _of_it(about, of)
    return Rotate(of, -q if left else q, about)


def _of_it(reference: Any, of: Any) -> Any:
    """Its end: the end of what the sentence is about."""
    if isinstance(reference, Portion) and isinstance(reference.of, It):
        return replace(reference, of=of)
    if isinstance(reference, Blocks) and reference.where == PartOf(It()):
        return replace(reference, where=PartOf(of))
    return reference


_value(
    "turned", lambda of, along, q=1: Rotate(of, q, None, along) if along in ("x", "z") and q % 2 else NOTHING
)
_value("pivot_centre", lambda: Spot(0, 0))
_value("pivot_middle", lambda: None)


# -------------------------------------------------------------------------------------------------- only the rest


@maker
def keep_only(of: Any) -> Any:
    return Remove(Blocks(count=None, unless=of))


@maker
def remove_leaving(whole: Any, of: Any) -> Any:
    if isinstance(whole, Portion) or (isinstance(whole, Blocks) and isinstance(whole.where, PartOf)):
        return Remove(whole)  # a part: what is left is the rest of what it is a part of
    return NOTHING if isinstance(whole, You) else Then((Remove(whole), Keep(of)))


@maker
def keep_color(color: int) -> Any:
    return Remove(Blocks(tuple(c for c in range(1, 7) if c != color), count=None))


# ------------------------------------------------------------------------------------------------------ the rest


def _single(blocks: Any) -> Blocks | None:
    return blocks if isinstance(blocks, Blocks) and blocks.is_cell else None


@maker
def remove(blocks: Any, where: Any = None) -> Any:
    if where is not None:
        blocks = np_apposed(blocks, where)
    if isinstance(blocks, You) or blocks is NOTHING:
        return NOTHING
    single = _single(blocks)
    if single is None:
        return Remove(blocks)
    assert isinstance(single.where, At)
    return CellEdit(EditKind.REMOVE, single.where.cell, old_color=next(iter(single.colors), None))


_value("remove_all", lambda **_: Clear())


@maker
def take_off(blocks: Any, of: Any) -> Any:
    if not isinstance(blocks, Blocks) or blocks.where is not None:
        return NOTHING
    on_it = remove(replace(blocks, where=Beside(((Direction.UP, 1),), of)))
    of_it = remove(replace(blocks, where=PartOf(of)))
    if blocks.extreme is not None or blocks.middle:
        return of_it
    return on_it if blocks == Blocks(count=None) else Either((of_it, on_it))


@maker
def remove_two(blocks: Any, more: Any, third: Any = None) -> Any:
    parts = tuple(part for part in (blocks, more, third) if part is not None)
    return NOTHING if any(isinstance(part, You) for part in parts) else Remove(Union(parts))


@maker
def remove_some(n: int, core: Core) -> Any:
    return remove(core.blocks(n)) if n >= 1 else NOTHING


@maker
def replace_(blocks: Any, color: int, n: int | None = None, c: int | None = None) -> Any:
    if isinstance(blocks, You):
        return NOTHING
    if n is not None:
        return Replace(blocks, color, n)
    single = _single(blocks)
    if single is None:
        return Replace(blocks, color)
    assert isinstance(single.where, At)
    return CellEdit(
        EditKind.REPLACE, single.where.cell, color=color, old_color=next(iter(single.colors), None)
    )


MAKERS["replace"] = replace_


@maker
def replace_line(blocks: Any, new: New) -> Any:
    if new.color in (None, SAME) or new.count != 1 or isinstance(blocks, You):
        return NOTHING
    sizes = new.sizes
    return Replace(blocks, new.color, None if not sizes else sizes[0] * (sizes[1] if len(sizes) > 1 else 1))


@maker
def recolor_like(blocks: Any, like: Any) -> Any:
    return NOTHING if isinstance(blocks, You) or isinstance(like, You) else Replace(blocks, like=like)


_value("replace_it", lambda color, n=None: Replace(It(), color, n))
_value("replace_it_line", lambda new: replace_line(It(), new))
_value("move_by", lambda blocks, steps: Move(blocks, steps))
_value("copy", lambda blocks, steps: Copy(blocks, steps))
_value("mirror", lambda blocks, way, about=False: Mirror(blocks, way, about))
_value("extend", lambda blocks, n, way, color=None: Extend(blocks, way, n, color))
_value("pick", lambda where: Pick(where) if isinstance(where, (At, Beside, NextTo)) else NOTHING)


@maker
def move_it_to(where: Any) -> Any:
    return Amend(where=where) if isinstance(where, OtherSide) else move_to(It(), where)


@maker
def move_top(of: Any, where: Any) -> Any:
    if isinstance(of, (It, You)):
        return NOTHING
    return move_to(Blocks(extreme=Direction.UP, where=PartOf(of)), where)


_value("remove_colored", lambda colors: Remove(Blocks(tuple(colors), count=None)))
_value("remove_ground", lambda: Remove(Blocks(count=None, where=Level(1))))


@maker
def np_other(core: Core, n: int | None = None) -> Any:
    return NOTHING if core.rank != 1 or core.middle else core.blocks(n, It())


@maker
def move_to(blocks: Any, where: Any) -> Any:
    return Move(blocks, (), where) if isinstance(where, (At, Beside, NextTo, Spot)) else NOTHING


@maker
def take_to(blocks: Any, where: Any, of: Any = None) -> Any:
    if of is not None:
        if not isinstance(blocks, Blocks) or blocks.where is not None:
            return NOTHING
        blocks = replace(blocks, where=Beside(((Direction.UP, 1),), of))
    return move_to(blocks, where)


@maker
def clear_edge(way: Direction) -> Any:
    return Remove(Blocks(count=None, where=Edge(way)))


@maker
def first_then(later: Any, first: Any) -> Any:
    if isinstance(later, Then) or isinstance(first, Then):
        return NOTHING
    return Then((first, later))


_value("undo", Undo)
_value("view", lambda way: View(way))
_value("look", lambda of, n=None: Look(of))
_value("look_spot", lambda place: Look(place))
_value("undo_two", lambda: Undo(2))


_NUMBERS = {word: n for n, word in enumerate(templates()["numbers"])}
_FORMS = frozenset(
    f"{form}{plural}"
    for form in ["block", "cube", "brick", "row", "tower", "column", "wall", "square", "line", "rectangle"]
    for plural in ("", "s")
)
_NAMING = frozenset(
    (
        *templates()["colors"],
        *_NUMBERS,
        *map(str, range(100)),
        *templates()["ordinals"],
        *COMPASS,
        *(f"{way}{end}" for way in COMPASS for end in ("ern", "ernmost", "wards")),
        *_FORMS,
        *[
            "right",
            "front",
            "behind",
            "up",
            "down",
            "last",
            "top",
            "bottom",
            "highest",
            "lowest",
            "above",
            "below",
            "beneath",
            "under",
            "beside",
            "next",
            "between",
            "corner",
            "corners",
            "edge",
            "edges",
            "end",
            "ends",
            "place",
            "put",
            "build",
            "add",
            "stack",
            "remove",
            "destroy",
            "take",
            "move",
            "replace",
            "change",
            "paint",
            "not",
            "no",
            "without",
            "except",
            "but",
            "only",
            "never",
            "don't",
            "isn't",
            "aren't",
            "touching",
            "touches",
            "touch",
        ],
    )
)
"""Words that tell what is to be built, or where and how: those that ask for nothing have none of them."""


def _names(words: tuple[str, ...]) -> bool:
    """Whether words name something that could be built; not so "the tower", nor "an 8", which is a shape."""
    before = ("", *words)
    return any(
        word in _NAMING
        and not (said == "the" and word in _FORMS)
        and not (said in ("a", "an") and (word in _NUMBERS or word.isdigit()) and number == len(words))
        for number, (said, word) in enumerate(zip(before, words, strict=False), start=1)
    )


@maker
def nothing(**slots: Any) -> Any:
    """Words that ask for nothing; not when they name something that could be built."""
    return NOTHING if any(isinstance(told, tuple) and _names(told) for told in slots.values()) else Remark()


_value("check", lambda n, c=None: Check(n, c))

__all__ = ["MAKERS", "Build", "Facing", "Outside", "Place", "Remark", "Shape", "View"]
