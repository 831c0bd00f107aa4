"""Hypothesis strategies for everything that can be asked for, used by several test files."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st

from iglu_marl.core.errors import DialogueError
from iglu_marl.language.meaning import verbs as v
from iglu_marl.language.meaning.blocks import CellEdit
from iglu_marl.language.meaning.references import (
    Anaphor,
    At,
    Beside,
    Blocks,
    BuilderPosition,
    LastBlock,
    NextTo,
)
from iglu_marl.language.meaning.shapes import COMPASS, Direction, Kind, Shape

CELLS = list(itertools.product(range(-5, 6), range(-1, 8), range(-5, 6)))
colors = st.integers(1, 6)
cells = st.sampled_from(CELLS)
compass = st.sampled_from(COMPASS)
directions = st.sampled_from(list(Direction))


def built(make: Any, *parts: Any) -> Any:
    """Values of a class, from strategies for its fields; those that the class refuses are left out."""

    def attempt(values: tuple[Any, ...]) -> Any:
        try:
            return make(*values)
        except DialogueError:
            return None

    return st.tuples(*parts).map(attempt).filter(lambda value: value is not None)


@st.composite
def edits(draw: Any) -> CellEdit:
    cell = draw(cells)
    before, after = draw(
        st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] != pair[1])
    )
    edit = CellEdit.between(cell, before, after)
    if edit.old_color is not None and draw(st.booleans()):
        return CellEdit(edit.action, cell, color=edit.color)  # the block's colour is not named
    return edit


offsets = built(
    lambda *steps: Beside(steps, Anaphor()).offset,
    st.tuples(directions, st.integers(1, 9)),
) | built(
    lambda *steps: Beside(steps, Anaphor()).offset,
    st.tuples(directions, st.integers(1, 9)),
    st.tuples(directions, st.integers(1, 9)),
)
simple_blocks = built(
    Blocks,
    st.lists(colors, max_size=3, unique=True).map(tuple),
    st.sampled_from(list(Kind)),
    st.none() | st.integers(1, 9),
    st.none() | directions,
    st.none() | st.integers(2, 9),
)
chosen_blocks = built(
    lambda blocks, extreme, rank: Blocks(blocks.colors, blocks.kind, 1, extreme, blocks.size, None, rank),
    simple_blocks,
    directions,
    st.integers(2, 9),
) | built(
    lambda blocks, where: Blocks(blocks.colors, blocks.kind, 1, None, blocks.size, where, middle=True),
    # "the middle square" is the cell in the centre of the zone
    simple_blocks.filter(lambda blocks: blocks.kind is not Kind.SQUARE or blocks.size),
    st.none() | st.deferred(lambda: places),
)
references = st.deferred(
    lambda: st.sampled_from([Anaphor(), LastBlock()]) | simple_blocks | chosen_blocks | placed_blocks
)
places = st.deferred(
    lambda: (
        cells.map(At)
        | built(Beside, offsets, references | st.just(BuilderPosition()))
        | built(lambda of: Beside((), of), references)
        | built(NextTo, references)
    )
)
placed_blocks = built(
    lambda blocks, where: Blocks(blocks.colors, blocks.kind, blocks.count, None, blocks.size, where),
    simple_blocks,
    places,
)
_ONE_WAY = {Kind.ROW, Kind.COLUMN, Kind.WALL, Kind.STAIRCASE}
_TWO_WAYS = {Kind.SQUARE, Kind.RECTANGLE, Kind.L, Kind.T, Kind.PLUS, Kind.DIAGONAL}
_TWO_SIZES = {Kind.RECTANGLE, Kind.WALL, Kind.L, Kind.T}


@st.composite
def drawn_shapes(draw: Any) -> Any:
    kind = draw(st.sampled_from([kind for kind in Kind if kind not in (Kind.BLOCK, Kind.STRUCTURE)]))
    ways = draw(st.tuples(*[directions] * (1 if kind in _ONE_WAY else 2 if kind in _TWO_WAYS else 0)))
    sizes = draw(st.tuples(*[st.integers(2, 11)] * (2 if kind in _TWO_SIZES else 1)))
    try:
        return Shape(kind, sizes, ways)
    except DialogueError:
        return None


shapes = drawn_shapes().filter(lambda shape: shape is not None)


@st.composite
def drawn_builds(draw: Any) -> v.Build:
    shape = draw(shapes)
    size = shape.sizes[0]
    count = draw(st.sampled_from([1, 2, size])) if shape.line else 1
    return v.Build(shape, draw(st.tuples(*[colors] * count)), draw(places))


sentences = (
    edits()
    | built(v.Place, colors, places, st.none() | st.integers(2, 11))
    | drawn_builds()
    | built(v.Remove, references)
    | built(v.Replace, references, colors)
    | built(v.Move, references, offsets)
    | built(lambda blocks, to: v.Move(blocks, (), to), references, places)
    | built(v.Copy, references, offsets)
    | built(v.Extend, references, directions, st.integers(1, 9))
)
sequences = built(lambda *parts: v.Sequence(parts), sentences, sentences) | built(
    lambda *parts: v.Sequence(parts), sentences, sentences, sentences
)


def instructions() -> Any:
    """Every kind of instruction."""
    return (
        sentences
        | sequences
        | built(v.Pick, places)
        | built(v.Facing, compass, sentences | sequences)
        | built(lambda a, b: v.Sequence((a, v.Facing("south", b))), sentences, sentences)
    )
