"""Random worlds to talk about: a few blocks, rows, towers and squares, put down at random."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLORS, ZONE_SHAPE, BlockGrid

_TRIES = 60
_SPREAD = 3.0  # cells: pieces lie around the middle of the zone


class Piece(NamedTuple):
    """Something to put down: a box of blocks of one colour.

    shape: its name. color: the id 1..6. length: blocks along its longest side, 1 for a block.
    """

    shape: str
    color: int
    length: int

    @property
    def blocks(self) -> int:
        """How many blocks it takes."""
        return self.length**2 if self.shape == "square" else self.length

    def extent(self, rng: np.random.Generator) -> tuple[int, int, int]:
        """Its size in layers, x and z, turned at random."""
        k = self.length
        if self.shape == "tower":
            return k, 1, 1
        if self.shape == "row":
            return (1, k, 1) if rng.random() < 0.5 else (1, 1, k)
        if self.shape == "square":
            return ((1, k, k), (k, k, 1), (k, 1, k))[int(rng.integers(3))]
        return 1, 1, 1


def draw_pieces(rng: np.random.Generator, count: int | None = None) -> tuple[Piece, ...]:
    """Random pieces (3 to 9 unless `count` says), 20 blocks of a colour at most."""
    pieces: list[Piece] = []
    used = dict.fromkeys(COLORS, 0)
    colors = rng.permutation(COLORS)[: int(rng.integers(2, 7))]  # few colours make things alike
    for _ in range(int(rng.integers(3, 10)) if count is None else count):
        shape = ("block", "block", "row", "tower", "square")[int(rng.integers(5))]
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
    """The pieces put down at random, on the ground or on what lies there; a fresh int8 grid [9, 11, 11].

    clear: the indices (x, z) of a column that stays empty, for a builder to stand in. A piece that finds no
    room is left out.
    """
    grid = np.zeros(ZONE_SHAPE, dtype=np.int8)
    if clear is not None:
        grid[-1, clear[0], clear[1]] = 1  # nothing fits under it, or on it
    for piece in pieces:
        for _ in range(_TRIES):
            layers, wide, deep = piece.extent(rng)
            x = int(np.clip(round(rng.normal(5, _SPREAD)), 0, 11 - wide))
            z = int(np.clip(round(rng.normal(5, _SPREAD)), 0, 11 - deep))
            filled = grid[:, x : x + wide, z : z + deep].any(axis=(1, 2))
            top = int(np.flatnonzero(filled).max(initial=-1)) + 1
            if top + layers <= ZONE_SHAPE[0] and (top == 0 or rng.random() < 0.6):
                grid[top : top + layers, x : x + wide, z : z + deep] = piece.color
                break
    if clear is not None:
        grid[-1, clear[0], clear[1]] = 0
    return grid


def random_world(rng: np.random.Generator, count: int | None = None) -> BlockGrid:
    """A random world to talk about: `arrange(draw_pieces(rng, count), rng)`."""
    return arrange(draw_pieces(rng, count), rng)
