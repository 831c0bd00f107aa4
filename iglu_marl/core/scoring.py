"""The score: maximal intersection of a build and a target over rotations and shifts.

Source: the published definition of IGLU Gridworld (`shifts="all"`), and what its 2022 implementation computes
(`shifts="inside"`). In episodes, `core/kernels/score.py` updates the same match counts incrementally.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import GridError
from iglu_marl.core.grid import as_dense
from iglu_marl.core.kernels.records import SHIFTS as SHIFTS
from iglu_marl.core.kernels.records import Shifts as Shifts
from iglu_marl.core.kernels.score import count_all, first_alignment, fix_in_place, shift_box


class Alignment(NamedTuple):
    """Position of a target over a build: (x, z) meets (x + dx, z + dz) of the target rotated `rotation` times.

    One more rotation takes the cell (x, z) of every layer to (z, 10 - x) (array indices).
    """

    dx: int
    dz: int
    rotation: int


class IntersectionScores(NamedTuple):
    """Precision, recall and F1 of a build against a target, each in 0..1, and the intersection in blocks."""

    precision: float
    recall: float
    f1: float
    intersection: int


class Counts(NamedTuple):
    """Number of right, made and asked items.

    If nothing is made and nothing asked, all quotients are 1; other quotients by zero are 0.
    """

    right: int
    made: int
    asked: int

    @property
    def precision(self) -> float:
        """Share of the made items that are right, 0..1."""
        return self.right / self.made if self.made else float(not self.asked)

    @property
    def recall(self) -> float:
        """Share of the asked items that were made, 0..1."""
        return self.right / self.asked if self.asked else float(not self.made)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 0..1."""
        return 2 * self.right / (self.made + self.asked) if self.made + self.asked else 1.0


def micro(counts: Iterable[Counts]) -> Counts:
    """Return the sum over many games; its F1 is the micro average."""
    total = np.array([*counts], dtype=object).reshape(-1, 3).sum(axis=0)  # of any size
    return Counts(*(int(number) for number in total))


def _integers(value: npt.ArrayLike, name: str) -> npt.NDArray[np.int64]:
    array = as_dense(value, name)
    if array.dtype.kind not in "iufb":
        raise GridError(f"{name} has dtype {array.dtype}, expected integers")
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.floor(array)).all()):
        raise GridError(f"{name} holds fractions, expected integers")
    return array.astype(np.int64)


def _small_ids(arrays: list[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.int8 | np.int16]]:
    """Return the arrays with ids renumbered if they do not fit int8. Equality is preserved, 0 stays 0."""
    if all(array.min() >= -128 and array.max() <= 127 for array in arrays):
        return [array.astype(np.int8) for array in arrays]
    values = np.unique(np.concatenate([array.ravel() for array in arrays]))
    values = values[values != 0]
    return [np.where(array == 0, 0, np.searchsorted(values, array) + 1).astype(np.int16) for array in arrays]


class Target:
    """A prepared target, to score many builds against.

    `grid`: integers [9, 11, 11] (any ids, 0 = air); `shifts`: "all" or "inside" (only shifts that keep the whole
    target, or `full_grid` when given, in the zone); `invariant=False`: only the map's own alignment counts.
    """

    def __init__(
        self,
        grid: npt.ArrayLike,
        shifts: Shifts = "all",
        invariant: bool = True,
        full_grid: npt.ArrayLike | None = None,
    ) -> None:
        if not isinstance(shifts, str) or shifts not in SHIFTS:
            raise GridError(f"shifts is {shifts!r:.80}, expected one of {SHIFTS}")
        if not isinstance(invariant, (bool, np.bool_)):
            raise GridError(f"invariant is {invariant!r:.80}, expected True or False")
        self.grid = _integers(grid, "target")
        self.size = int(np.count_nonzero(self.grid))
        self.shifts = np.zeros((4, 4), dtype=np.int8)
        if invariant:
            extent = self.grid if full_grid is None else _integers(full_grid, "full_grid")
            shift_box((extent != 0).astype(np.int8), shifts == "inside", self.shifts)
        else:
            fix_in_place(self.shifts)

    def match_counts(self, grid: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Return number of equal blocks, int16[4, 21, 21] by rotation, dx + 10, dz + 10; 0 where not admissible."""
        matches = np.zeros((4, 21, 21), dtype=np.int16)
        build, target = _small_ids([_integers(grid, "grid"), self.grid])
        count_all(build, target, self.shifts, matches)
        return matches

    def score(self, grid: npt.ArrayLike) -> int:
        """Return the maximal intersection of a build with this target, in blocks."""
        return int(self.match_counts(grid).max())

    def alignment(self, grid: npt.ArrayLike) -> tuple[int, Alignment]:
        """Return the maximal intersection and the first alignment (by rotation, dx, dz) that attains it."""
        matches = self.match_counts(grid)
        top = int(matches.max())
        return top, Alignment(*map(int, first_alignment(matches, self.shifts, top)))


@overload
def maximal_intersection(
    grid: npt.ArrayLike,
    target: npt.ArrayLike,
    shifts: Shifts = ...,
    invariant: bool = ...,
    full_grid: npt.ArrayLike | None = ...,
    return_argmax: Literal[False] = ...,
) -> int: ...
@overload
def maximal_intersection(
    grid: npt.ArrayLike,
    target: npt.ArrayLike,
    shifts: Shifts = ...,
    invariant: bool = ...,
    full_grid: npt.ArrayLike | None = ...,
    *,
    return_argmax: Literal[True],
) -> tuple[int, Alignment]: ...
def maximal_intersection(
    grid: npt.ArrayLike,
    target: npt.ArrayLike,
    shifts: Shifts = "all",
    invariant: bool = True,
    full_grid: npt.ArrayLike | None = None,
    return_argmax: bool = False,
) -> Any:
    """Return the largest number of equal blocks of build and target over 4 rotations and all horizontal shifts.

    grid, target: integers [9, 11, 11], axes [y, x, z]; any ids, 0 = air. `shifts="all"` is the published definition
    (what hangs over the edge is cut off); "inside" admits only shifts that keep the whole target, or `full_grid`,
    in the zone, as the 2022 implementation does. `invariant=False`: no rotation, no shift. With `return_argmax` also
    the `Alignment` (dx, dz, rotation): the first one in the order rotation, dx, dz; zeros when there is none.
    Raises `GridError` for wrong shapes or fractions.
    """
    prepared = Target(target, shifts, invariant, full_grid)
    return prepared.alignment(grid) if return_argmax else prepared.score(grid)


def intersection_scores(
    grid: npt.ArrayLike,
    target: npt.ArrayLike,
    shifts: Shifts = "all",
    invariant: bool = True,
    full_grid: npt.ArrayLike | None = None,
) -> IntersectionScores:
    """Precision, recall and F1 from the maximal intersection.

    Precision is intersection / blocks of the build, recall intersection / blocks of the target. An empty build
    of an empty target scores 1; otherwise a quotient by zero is 0.
    """
    prepared = Target(target, shifts, invariant, full_grid)
    common = prepared.score(grid)
    built = int(np.count_nonzero(np.asarray(grid)))
    if built == 0 and prepared.size == 0:
        return IntersectionScores(1.0, 1.0, 1.0, 0)
    precision = common / built if built else 0.0
    recall = common / prepared.size if prepared.size else 0.0
    f1 = 2 * common / (built + prepared.size)
    return IntersectionScores(precision, recall, f1, common)


def align(target: npt.NDArray[Any], alignment: Alignment) -> npt.NDArray[Any]:
    """Return the target at an alignment; blocks outside the zone are cut off.

    target: [9, 11, 11]; returns an array of the same shape and dtype.
    """
    dx, dz, rotation = alignment
    turned = np.rot90(target, -rotation, axes=(1, 2))
    placed = np.zeros_like(turned)
    columns = np.arange(11)
    xs = columns[(columns + dx >= 0) & (columns + dx <= 10)]
    zs = columns[(columns + dz >= 0) & (columns + dz <= 10)]
    placed[:, xs[:, None], zs[None, :]] = turned[:, (xs + dx)[:, None], (zs + dz)[None, :]]
    return placed
