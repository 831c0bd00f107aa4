"""Random worlds of a few blocks and shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLORS, ZONE_SHAPE, BlockGrid

_TRIES = 60
_SPREAD = 3.0  # standard deviation of positions, in cells
SIMPLE = ("block", "block", "row", "tower", "square")
"""Shapes of random worlds, as often as they are listed."""
_DRAWN = {
    "l": ("x..", "x..", "xxx"),
    "t": ("xxx", ".x.", ".x."),
    "plus": (".x.", "xxx", ".x."),
    "u": ("x.x", "xxx"),
    "ring": ("xxx", "x.x", "xxx"),
    "staircase": ("..x", ".xx", "xxx"),
    "diagonal": ("..x", ".x.", "x.."),
    "rectangle": ("xxx", "xxx"),
    "wall": ("xxxx", "xxxx"),
}
VARIED = (*SIMPLE, *_DRAWN)
"""All available shapes."""


class Piece(NamedTuple):
    """Blocks of one colour in one shape.

    shape: one of `VARIED`. color: the id 1..6. length: blocks along its longest side, 1 for a block.
    """

    shape: str
    color: int
    length: int

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        if self.shape in _DRAWN:
            return "".join(_DRAWN[self.shape]).count("x")
        return self.length**2 if self.shape == "square" else self.length

    def cells(self, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Return its cells, bool [layers, x, z], rotated at random."""
        k = self.length
        if self.shape in _DRAWN:
            drawn = np.array([[mark == "x" for mark in line] for line in reversed(_DRAWN[self.shape])])
            upright = self.shape in ("wall", "staircase") or rng.random() < 0.5
            turned = drawn[:, :: int(rng.choice((1, -1)))][:, :, None] if upright else drawn[None]
            return turned if rng.random() < 0.5 else turned.swapaxes(1, 2)
        if self.shape == "tower":
            return np.ones((k, 1, 1), np.bool_)
        if self.shape == "row":
            return np.ones((1, k, 1) if rng.random() < 0.5 else (1, 1, k), np.bool_)
        if self.shape == "square":
            return np.ones(((1, k, k), (k, k, 1), (k, 1, k))[int(rng.integers(3))], np.bool_)
        return np.ones((1, 1, 1), np.bool_)


def draw_pieces(
    rng: np.random.Generator, count: int | None = None, shapes: tuple[str, ...] = SIMPLE
) -> tuple[Piece, ...]:
    """Return random pieces (3 to 9, or `count`) of some shapes, with at most 20 blocks per colour."""
    pieces: list[Piece] = []
    used = dict.fromkeys(COLORS, 0)
    colors = rng.permutation(COLORS)[: int(rng.integers(2, 7))]  # few colours, so that things look alike
    for _ in range(int(rng.integers(3, 10)) if count is None else count):
        shape = shapes[int(rng.integers(len(shapes)))]
        color = int(colors[int(rng.integers(len(colors)))])
        length = {"block": 1, "square": 2 + int(rng.random() < 0.2)}.get(shape) or int(rng.integers(2, 5))
        piece = Piece(shape, color, length)
        if used[color] + piece.blocks <= BLOCKS_PER_COLOR:  # type: ignore[index]
            used[color] += piece.blocks  # type: ignore[index]
            pieces.append(piece)
    return tuple(pieces)


def arrange(
    pieces: tuple[Piece, ...], rng: np.random.Generator, clear: tuple[int, int] | None = None
) -> BlockGrid:
    """Put the pieces down at random, on the ground or on other blocks; return an int8 grid [9, 11, 11].

    clear: (x, z) of a column that stays empty for a builder. A piece that does not fit is left out.
    """
    grid = np.zeros(ZONE_SHAPE, dtype=np.int8)
    if clear is not None:
        grid[-1, clear[0], clear[1]] = 1  # nothing fits on or under it
    for piece in pieces:
        for _ in range(_TRIES):
            cells = piece.cells(rng)
            layers, wide, deep = cells.shape
            x = int(np.clip(round(rng.normal(5, _SPREAD)), 0, 11 - wide))
            z = int(np.clip(round(rng.normal(5, _SPREAD)), 0, 11 - deep))
            filled = grid[:, x : x + wide, z : z + deep].any(axis=(1, 2))
            top = int(np.flatnonzero(filled).max(initial=-1)) + 1
            if top + layers <= ZONE_SHAPE[0] and (top == 0 or rng.random() < 0.6):
                grid[top : top + layers, x : x + wide, z : z + deep][cells] = piece.color
                break
    if clear is not None:
        grid[-1, clear[0], clear[1]] = 0
    return grid


def random_world(
    rng: np.random.Generator, count: int | None = None, shapes: tuple[str, ...] = SIMPLE
) -> BlockGrid:
    """Return a random world: `arrange(draw_pieces(rng, count, shapes), rng)`."""
    return arrange(draw_pieces(rng, count, shapes), rng)
