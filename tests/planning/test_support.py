"""What holds on to what, and which scaffolds lead to what floats."""

from __future__ import annotations

from iglu_marl.core.grid import blocks_to_grid, cells_of, index_of
from iglu_marl.planning.support import (
    carries,
    neighbours,
    supported_cells,
    touched_cells,
)


def test_support() -> None:
    filled = blocks_to_grid([(0, 3, 0, 1)]) != 0
    assert supported_cells(filled)[0].all()
    beside = [(-1, 3, 0), (0, 2, 0), (0, 3, -1), (0, 3, 1), (0, 4, 0), (1, 3, 0)]
    assert sorted(neighbours((0, 3, 0))) == beside
    assert [
        cell for cell in map(tuple, cells_of(supported_cells(filled)).tolist()) if cell[1] >= 0
    ] == sorted(beside, key=index_of)
    assert touched_cells(filled)[1:].sum() == 26
    wanted = blocks_to_grid([(1, 3, 0, 1), (0, 3, 1, 2)]) != 0
    assert carries(filled, wanted, (0, 3, 0))
    assert not carries(filled, wanted & False, (0, 3, 0))
    held = filled | (blocks_to_grid([(2, 3, 0, 1), (0, 3, 2, 1)]) != 0)
    assert not carries(held, wanted, (0, 3, 0))
