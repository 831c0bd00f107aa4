"""Makers: the functions that rules name after "=>". All public ones of this module are registered at its end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from itertools import product
from typing import Any

from iglu_marl.core.grid import color_id, in_zone
from iglu_marl.language.grammar import modifiers
from iglu_marl.language.grammar.expressions import Rejected, accept, reject_if, require
from iglu_marl.language.grammar.modifiers import (
    PLAIN,
    Modifiers,
    Outside,
    Remark,
    agreed,
)
from iglu_marl.language.grammar.templates import templates
from iglu_marl.language.meaning import corrections, placing, references, statements, verbs
from iglu_marl.language.meaning.blocks import CellEdit, EditKind
from iglu_marl.language.meaning.context import MAX_DISTANCE
from iglu_marl.language.meaning.placing import ALIKE, ANY_COLOR, FIGURES, SAME, BlockSpec, Sides, Spots
from iglu_marl.language.meaning.references import (
    Anaphor,
    At,
    Beside,
    Between,
    Blocks,
    BuilderPosition,
    Each,
    Edge,
    Level,
    NextTo,
    PartOf,
    Portion,
    Recent,
    Spot,
    is_several,
)
from iglu_marl.language.meaning.shapes import COMPASS, VECTORS, Direction, Kind, Shape, plus
from iglu_marl.language.meaning.statements import AssertCount
from iglu_marl.language.meaning.verbs import Build, Place, PlaceGoal, Remove, Replace, Sequence

CORNERS = ((-5, -5), (5, -5), (-5, 5), (5, 5))
BORDER = tuple((x, z) for x in range(-5, 6) for z in range(-5, 6) if max(abs(x), abs(z)) == 5)
Sizes = tuple[int, ...]
Wheres = tuple[Any, ...]
MAKERS: dict[str, Any] = {
    **{
        name: one
        for part in (placing, references, statements, verbs, corrections, modifiers)
        for name, one in vars(part).items()
        if is_dataclass(one)
    },
    **{one.name: one for one in (*Direction, *Kind)},
    "it": Anaphor(),
    "accept": accept,
    "ANY": Blocks(),
    "VECTORS": VECTORS,
    "color_id": color_id,
    "CORNERS": CORNERS,
    "EDGES": ((0, -5), (5, 0), (0, 5), (-5, 0)),
    "BORDER": BORDER,
    "SAME": SAME,
    "ALIKE": ALIKE,
    "ANY_COLOR": ANY_COLOR,
    "COLUMNS": tuple(sorted(product(range(-5, 6), range(-5, 6)), key=lambda at: (math.hypot(*at), at))),
}
"""Functions, dataclasses and constants by their names in rules; the functions below are added at the end."""


def define(name: str, function: Callable[..., Any]) -> None:
    """Register a maker."""
    MAKERS[name] = function


define("is_a", lambda of, names: type(of).__name__ in names.split())
define("size_of", lambda of: len(of))
define("is_alike", lambda of: len(set(of)) < 2)
define("both", lambda one, two: one.plus(two))
define("every_nth", lambda step, first=1: range(first, MAX_DISTANCE, step))
define("other_color", lambda colors: min({1, 2, 3, 4, 5, 6} - {*colors}))


def plain(f: Modifiers, names: str) -> Modifiers:
    """Return modifiers if they have only these fields."""
    f.only(*names.split())
    return f


def altered(whole: Any, **changes: Any) -> Any:
    return replace(whole, **changes)


def rejected() -> None:
    raise Rejected


def spot_steps(offset: Any) -> Any:
    ways = [way for way, _ in offset]
    if any(way.relative for way in ways) and not any(way.vertical for way in ways):
        return Beside(offset, Spot(0, 0))
    reject_if(len(offset) > 2 or not set(ways) <= set(COMPASS) or len({way.axis for way in ways}) < len(ways))
    x, z = (sum(VECTORS[way][axis] * count for way, count in offset) for axis in (0, 2))
    return Spot(x, z)


def cell(place: Spot, n: int) -> Any:
    require(isinstance(place, Spot))
    stated = place.x, n - 2, place.z
    return At(stated) if in_zone(*stated) else Outside(stated)


def between(one: Any, other: Any = None) -> Any:
    if other is None and isinstance(one, Blocks) and one.count == 1 and not one.is_of_several:
        return gap_in(one)
    return Between(one, other)


def gap_in(of: Any) -> Any:
    """Return the free cells inside something, between its blocks."""
    if isinstance(of, (Blocks, Recent)) and of.kind is not Kind.BLOCK:
        of = Blocks(of.colors, where=of.where) if isinstance(of, Blocks) else Blocks(of.colors)
        of = replace(of, count=None)
    elif not isinstance(of, (Anaphor, Blocks)) or (isinstance(of, Blocks) and of.count == 1):
        raise Rejected
    return Between(of if not isinstance(of, Anaphor) else Portion(of, "blocks"))


def counted(core: Blocks, n: int | None = None) -> Blocks:
    """Return `n` things of a phrase that names no number, or the number 1; None = all."""
    reject_if(core.count != 1 and n not in (None, core.count))
    return replace(core, count=n) if core.count == 1 else core


def new_shape(
    kind: Kind, n: int | None = None, way: str | None = None, colors: int = SAME, k: int = 1, e: str = ""
) -> BlockSpec:
    reject_if(e == "high" and kind is Kind.ROW and way != "vertical")
    reject_if(way == "diagonal" or kind is Kind.DIAGONAL)
    if kind in (Kind.ROW, Kind.TOWER) and way is not None:
        kind = Kind.TOWER if way == "vertical" else Kind.ROW
    return BlockSpec(k, colors, kind, () if n is None else (n,))


FIGURE_BLOCKS = {  # number of blocks -> sides of the figures with them
    Kind.PLUS: {n: 2 * n - 1 for n in (3, 5, 7)},
    Kind.X: {n: 2 * n - 1 for n in (3, 5, 7)},
    Kind.RING: {n: 4 * n - 4 for n in range(3, 8)},
    Kind.SQUARE: {n: n * n for n in range(2, 8)},
}


def side_of(kind: Any, k: int | None) -> int:
    """Return the side of a figure of `k` blocks, 0 if there is none."""
    return next((side for side, blocks in FIGURE_BLOCKS.get(kind, {}).items() if blocks == k), 0)


def _shape(kind: Kind, sizes: tuple[int, ...], ways: tuple[Direction, ...]) -> Shape:
    if kind is Kind.PLUS and len(ways) == 2 and len(sizes) == 1:
        return plus(sizes[0], *ways)
    if kind is Kind.WALL and len(ways) == 2 and ways[1] is Direction.UP:
        ways = ways[:1]
    return Shape(kind, sizes, ways)


define("shape_plain", lambda c, kind, form: (_shape(kind, *form), (c,)))
define("shape_counted", lambda kind, n, c, ways: (_shape(kind, (n,), ways), (c,)))


def shape_listed(kind: Kind, p: Any, ways: Any, n: int | None = None) -> Any:
    count, colors = p if isinstance(p[-1], tuple) else (len(p), p)
    require(n in (None, count))
    require(len(colors) > 1)
    return (_shape(kind, (count,), ways), tuple(colors))


def build(shape: Any, mods: Modifiers, before: Modifiers | None = None, of: str = "") -> Any:
    stated = mods if before is None else before.plus(mods)
    reject_if(
        len(stated.where) != 1 or stated != Modifiers(stated.where, each=stated.each, again=stated.again)
    )
    where: Any = stated.where[0]
    formed, colors = shape
    reject_if(stated.again and formed.kind in FIGURES)
    require(isinstance(where, (At, Beside, NextTo, Spot)))
    return Build(formed, colors, where)


def mod_where(where: Any) -> Modifiers:
    return Modifiers((where.where,), each=True) if isinstance(where, Each) else Modifiers((where,))


def put(
    new: Any,
    mods: Modifiers,
    before: Modifiers | None = None,
    before2: Modifiers | None = None,
    stacked: bool = False,
) -> Any:
    for stated in (before, before2):
        if stated is not None:
            mods = stated.plus(mods)
    if stacked and new.kind is Kind.BLOCK and new.count != 1:
        mods = mods.plus(Modifiers(standing=True))
    if mods.origin is not None:  # "a row of 3 to the north from the red block": beside it
        if mods.way is None or mods.where:
            raise Rejected
        mods = replace(mods, where=(Beside(((mods.way, 1),), mods.origin),), origin=None)
    reject_if(mods.four is not None)
    made = _described(new, mods)
    made, wheres = _at_places(made, _merge_at_one_thing(mods.where))
    if mods.total is not None:
        side = mods.total if made.kind in (Kind.TOWER, Kind.ROW) else side_of(made.kind, mods.total)
        if side and not made.sizes and made.count == 1:  # "a tower in the middle, 4 blocks in total"
            made = replace(made, sizes=(side,) if side == mods.total else (side, side))
        return Sequence((PlaceGoal(made, wheres), AssertCount(mods.total)))
    return _complete_value(made, wheres) or PlaceGoal(made, wheres)


def _at_places(made: BlockSpec, wheres: Wheres) -> tuple[BlockSpec, Wheres]:
    """Return new blocks and their places, each adapted to the other."""
    in_place = Beside((), Anaphor())
    if in_place in wheres and any(isinstance(where, (At, Spot)) for where in wheres):
        wheres = tuple(where for where in wheres if where != in_place)  # "in the corner instead"
    require(len(wheres) <= 2)
    if {Edge, Spot} == set(map(type, wheres)) and made.kind is Kind.BLOCK and made.count not in (None, 1):
        made = replace(made, kind=Kind.ROW, sizes=(made.count,), count=1)  # along the edge from there
    return _with_likeness(made, wheres), wheres


def _with_likeness(made: BlockSpec, wheres: Wheres) -> BlockSpec:
    """Return new blocks as tall as what their place is relative to, if no other thing is named."""
    first = next(iter(wheres), None)
    of = getattr(first, "of", None) or getattr(first, "one", None)
    if made.like == Anaphor() and of is not None:
        made = replace(made, like=of)
    return made


def _described(new: BlockSpec, mods: Modifiers) -> BlockSpec:
    """Return new blocks with what the modifiers say of them."""
    kind, count, color = new.kind, new.count, _colored(new, mods)
    if mods.tall == 1 and mods.long is None and (kind not in (Kind.BLOCK, Kind.TOWER) or count != 1):
        mods = replace(mods, tall=None).plus(Modifiers(standing=False))  # "three blocks, one block high"
    kind, sizes, count = _measured(kind, new.sizes, count, mods)
    reject_if(mods.hollow and kind not in FIGURES)
    reject_if(mods.again and kind in FIGURES)  # "in a line"
    reject_if(kind is Kind.TOWER and len(sizes) == 2)
    kind, standing = _positioned(kind, count, new.standing, mods)
    stated = {name: getattr(mods, name) for name in OF_BLOCKS}
    stated = {name: getattr(BlockSpec, name) if value is None else value for name, value in stated.items()}
    new = replace(new, count=count, color=color, kind=kind, sizes=sizes, standing=standing)
    return replace(new, **stated)


def _colored(new: BlockSpec, mods: Modifiers) -> Any:
    """Return the colour on which the noun and the modifiers agree."""
    reject_if(new.color == ANY_COLOR and mods.color is not None)
    color = agreed(new.color or None, mods.color)
    if mods.shade is not None:
        color = accept(ALIKE, color is None)
    return new.color if color is None else color


OF_BLOCKS = ("like", "shade", "way", "each", "gap", "hollow", "centred", "taller", "times", "flat", "axis")
"""Modifiers that are properties of new blocks by the same name."""


def _measured(kind: Any, sizes: Sizes, count: int | None, mods: Modifiers) -> tuple[Any, Sizes, int | None]:
    """Return kind, sizes and number of new blocks with the stated lengths and heights."""
    tall, long = mods.tall, mods.long
    if mods.area is not None:
        return _with_area(kind, sizes, count, mods)
    if tall is None and long is None:
        return kind, sizes, count
    if sizes or (tall and long):
        return *_sized_twice(kind, sizes, mods), count
    n = tall or long or 1
    fitting = Kind.ROW if long else Kind.WALL if mods.like is not None else Kind.TOWER
    if kind is Kind.BLOCK:
        level = tall and mods.standing is False  # "three blocks in a row, three high"
        reject_if(count not in (None, 1, n) or (level and count == n > 1))
        return fitting, (n,), 1
    if kind in (Kind.PLUS, Kind.X, Kind.RING, Kind.SQUARE) and long:
        return kind, (n, n), count  # "a cross three blocks across"
    require(kind is fitting or (kind is Kind.TOWER and tall))
    return kind, (n,), count


def _sized_twice(kind: Any, sizes: tuple[int, ...], mods: Modifiers) -> tuple[Any, tuple[int, ...]]:
    """Return kind and sizes of what has sizes of its own and others, or two others."""
    tall, long = mods.tall, mods.long
    if kind in FIGURES and tall and long and not sizes:
        return kind, (long, tall)
    if kind in (Kind.TOWER, Kind.SQUARE, Kind.RECTANGLE) and tall and len(sizes) == 2:
        return Kind.RECTANGLE, (*sizes, tall)  # "a 2x2 tower 3 blocks high"
    reject_if((*sizes, None) != ((long, tall) if kind is Kind.ROW else (tall, long)))
    return kind, sizes


def _with_area(kind: Any, sizes: Sizes, count: int | None, mods: Modifiers) -> tuple[Any, Sizes, int | None]:
    area = mods.area or ()
    if kind is Kind.BLOCK and count == area[0] * area[-1] and len(area) == 2:
        kind, count = Kind.RECTANGLE, 1  # "four blocks in a 2x2 square"
    reject_if(bool(sizes) or kind in (Kind.BLOCK, Kind.TOWER, Kind.ROW) or area[:2] == (1, 1))
    reject_if(mods.long is not None or (mods.tall and (len(area) > 2 or kind is Kind.WALL)))
    return kind, ((*area, mods.tall) if mods.tall else area), count


def _positioned(
    kind: Any, count: int | None, standing: bool | None, mods: Modifiers
) -> tuple[Any, bool | None]:
    """Return the kind of new blocks, and whether they stand upright."""
    if mods.like == Anaphor() and kind is Kind.BLOCK and count == 1:
        kind = Kind.TOWER  # "a blue one of the same height"
    reject_if(mods.axis is not None and kind is Kind.SQUARE)
    reject_if(mods.like is not None and kind not in (Kind.TOWER, Kind.ROW, Kind.WALL))
    standing = agreed(standing, mods.standing)
    if mods.flat:
        reject_if(bool(standing) or kind in (Kind.TOWER, Kind.WALL))
        standing = False if kind in FIGURES else standing
    if kind is Kind.ROW and standing:
        kind, standing = Kind.TOWER, None
    reject_if(kind is Kind.TOWER and standing is False)
    single = kind is Kind.BLOCK and count == 1
    reject_if(single and any(one is not None for one in (mods.way, mods.axis, standing)))
    return kind, None if single or kind in (Kind.ROW, Kind.TOWER) else standing


def _of_first(wheres: Wheres) -> Wheres:
    """Return places in which parts of "it" are those of the thing of the first place."""
    of = next(
        (of for where in wheres if isinstance(of := getattr(where, "of", None), (Blocks, Portion))), None
    )
    if of is None or len(wheres) == 1:
        return wheres  # "east of the tower, against its top block"
    found = {
        where: of if where.of == Anaphor() else of_it(where.of, of)
        for where in wheres
        if hasattr(where, "of")
    }
    return tuple(replace(where, of=found[where]) if where in found else where for where in wheres)


def _merge_at_one_thing(wheres: Wheres) -> Wheres:
    """Merge two places at one thing: "next to the red block, on its east side" is east of it."""
    wheres = _of_first(wheres)
    levels = tuple(where for where in wheres if isinstance(where, Level))
    if len(wheres) == 3 and len(levels) == 1:
        return (*_merge_at_one_thing(tuple(where for where in wheres if where not in levels)), *levels)
    for one, other in (wheres, wheres[::-1]) if len(wheres) == 2 else ():
        if (found := _at_one_thing(one, other)) is not None:
            return found
    return wheres


def _at_one_thing(one: Any, other: Any) -> Wheres | None:
    """Return the place that two places at one thing mean; None if they are two."""
    if isinstance(one, NextTo):
        if not isinstance(other, Beside) or Anaphor() not in (one.of, other.of):
            return None
        return (other if isinstance(one.of, Anaphor) else Beside(other.offset, one.of),)
    if isinstance(one, Edge):
        return () if isinstance(other, Edge) else None
    return None


_OPEN = ("centred", "axis", "gap", "hollow", "like")
"""Properties of new blocks that a `Place` or `Build` does not have."""


def _complete_value(new: BlockSpec, wheres: Wheres) -> Any:
    """Return the `Place`, `Build` or `CellEdit` of a placement that leaves nothing open, else None."""
    where: Any = wheres[0] if len(wheres) == 1 else None
    if not isinstance(where, (At, Beside, NextTo)) or new.color in (None, SAME, ALIKE, ANY_COLOR):
        return None
    if new.count is None or any(getattr(new, name) not in (None, False, 0) for name in _OPEN):
        return None
    if new.kind is Kind.BLOCK and (new.count == 1 or (is_several(where) and not new.each)):
        return _single_blocks(new, where)
    n = new.sizes[0] if len(new.sizes) == 1 else new.count if new.kind is Kind.BLOCK else 0
    if not 2 <= n <= 11 or (new.kind is not Kind.BLOCK and new.count != 1):
        return None
    shape = _line_of(new, n, where)
    return None if shape is None else Build(shape, (new.color,), where)


def _single_blocks(new: BlockSpec, where: At | Beside | NextTo) -> CellEdit | Place | None:
    """Return the placement of one block, or of several at several things."""
    color = new.color or 0
    if isinstance(where, At):
        return CellEdit(EditKind.PLACE, where.cell, color=color)
    if new.count == 1:
        return Place(color, where)
    one_step = isinstance(where, Beside) and [count for _, count in where.offset] == [1]
    plain = new.standing is None and new.way is None
    return Place(color, where, new.count) if one_step and plain else None


def _line_of(new: BlockSpec, n: int, where: At | Beside | NextTo) -> Shape | None:
    """Return the tower, column or row that new blocks make; None if its direction is open."""
    if new.kind is Kind.TOWER or (new.kind is Kind.BLOCK and new.standing):
        if new.way is not None and not new.way.vertical:
            return None
        below = isinstance(where, Beside) and where.offset[:1] == ((Direction.DOWN, 1),)
        down = below or new.way is Direction.DOWN
        return Shape(Kind.COLUMN, (n,), (Direction.DOWN,)) if down else Shape(Kind.TOWER, (n,))
    if new.kind is Kind.ROW and new.way is not None and not new.way.vertical:
        return Shape(Kind.ROW, (n,), (new.way,))
    return None


def _filling(new: Any) -> Any:
    """Adapt new blocks that fill a place: a row or line without a length is as long as its place."""
    if new.kind is Kind.ROW and not new.sizes:
        return replace(new, kind=Kind.BLOCK, count=None)
    if new.kind in (Kind.ROW, Kind.TOWER) and new.sizes and new.count == 1:
        return replace(new, kind=Kind.BLOCK, count=new.sizes[0], sizes=())
    require(new.kind is Kind.BLOCK)
    return new


def _with_color_of_filling(new: BlockSpec, mods: Modifiers) -> tuple[BlockSpec, Modifiers]:
    """Return what fills a place, with the colour after it; "level" and "one high" describe the place."""
    mods = mods.plus(Modifiers(color=new.color or None))
    new = replace(new, flat=bool(mods.flat) or mods.tall == 1)
    plain = replace(mods, color=None, tall=None if mods.tall == 1 else mods.tall, flat=None)
    return new if mods.color is None else replace(new, color=mods.color), plain


def fill(gap: Any, new: Any, mods: Modifiers = PLAIN) -> Any:
    new = _filling(new)
    new, mods = _with_color_of_filling(new, mods)
    mods.only("where", "total")
    made = PlaceGoal(new, (gap.where if isinstance(gap, Each) else gap, *mods.where), fill=True)
    reject_if(any(isinstance(where, Spots) for where in made.where))
    return made if mods.total is None else Sequence((made, AssertCount(mods.total)))


def connect(one: Any, new: Any, mods: Modifiers, other: Any = None) -> Any:
    place = Between(one, other) if other is not None else between(one)
    new = _filling(new)
    require(isinstance(place, Between))
    new, mods = _with_color_of_filling(new, mods)
    mods.only("where")
    return PlaceGoal(new, (replace(place, line=True), *mods.where), fill=True)


def surround(of: Any, new: Any, mods: Modifiers, four: bool = False) -> Any:
    require(new.kind is Kind.BLOCK)
    which = "four" if mods.four or four or new.count == 4 else "around"
    made = replace(
        new, count=1 if which == "four" else None if new.count == 1 else new.count, each=which == "four"
    )
    reject_if(any(not isinstance(where, Level) for where in mods.where))
    made, mods = _with_color_of_filling(made, mods)
    mods.only("where", "four", "hollow")
    return PlaceGoal(made, (Sides(of, which), *mods.where))


def cover(of: Any, new: Any, mods: Modifiers = PLAIN) -> Any:
    new, mods = _with_color_of_filling(new, mods)
    mods.only("each")
    return PlaceGoal(new, (Beside(((Direction.UP, 1),), of),))


def of_it(reference: Any, of: Any) -> Any:
    if isinstance(reference, Portion) and isinstance(reference.of, Anaphor):
        return replace(reference, of=of)
    if isinstance(reference, Blocks) and reference.where == PartOf(Anaphor()):
        return replace(reference, where=PartOf(of))
    return reference


def to_place(f: Modifiers) -> Any:
    """Return the places that the pieces of a move or a copy say, None for steps."""
    wheres = _merge_at_one_thing(f.where)
    require((f.by is None) == bool(wheres) and (f.gap is None or bool(wheres)))
    if f.gap is not None:  # "to the east of it, with two empty spaces in between"
        require(all(isinstance(where, Beside) and len(where.offset) == 1 for where in wheres))
        wheres = tuple(replace(where, offset=((where.offset[0][0], f.gap + 1),)) for where in wheres)
    return wheres[0] if len(wheres) == 1 else wheres or None


def is_its(to: Any) -> bool:
    return any(getattr(one, "of", None) == Anaphor() for one in (to if isinstance(to, tuple) else (to,)))


def about(wheres: Any, of: Any) -> Any:
    return tuple(verbs.rebuilt(one, lambda it: of if it == Anaphor() else it) for one in wheres)


def remove(blocks: Any) -> Any:
    return verbs.canonical(Remove, {"blocks": blocks})


def colored(blocks: Any, color: int | None = None) -> Any:
    """Return the things of a colour: "the tower, instead of red"."""
    if color is None:
        return blocks
    if not isinstance(blocks, Blocks):
        return Blocks((color,), count=None, where=PartOf(blocks))
    reject_if(blocks.colors and color not in blocks.colors)
    return replace(blocks, colors=(color,))


def replace_(blocks: Any, color: int, n: int | None = None, c: int | None = None) -> Any:
    reject_if(isinstance(blocks, BuilderPosition))
    blocks = colored(blocks, c)
    if n is not None:
        return Replace(blocks, color, n)
    require(not isinstance(blocks, Blocks) or not blocks.is_cell or blocks.colors != (color,))
    return verbs.canonical(Replace, {"blocks": blocks, "color": color})


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
        *templates()["naming"],
    )
)
"""Words for what is built, or where and how; remarks have none of them."""


def nothing(x: tuple[str, ...] = ()) -> Any:
    """Return a remark, unless the words name something to build; "the tower" stands there."""
    pairs = zip(("", *x), x, strict=False)
    reject_if(any(word in _NAMING and not (said == "the" and word in _FORMS) for said, word in pairs))
    return Remark()


MAKERS |= {
    name: one for name, one in vars().items() if getattr(one, "__module__", "") == __name__ and name[0] != "_"
}
MAKERS["replace"] = replace_
MAKERS["NO_MODS"] = PLAIN
