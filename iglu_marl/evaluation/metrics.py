"""Metrics of builds, changes, actions and talk, and how sure one can be of an average.

All of them are counts first (`Counts`: right, made, asked), from which precision, recall and F1 follow; so that sums
over many games (micro averages) and intervals are made of the same numbers.

| function | what is counted |
|---|---|
| `intersection_counts` | blocks of the build that are blocks of the target, at the best rotation and shift |
| `change_counts` | cells changed against the start, as the target has them (IGLU 2022 style) |
| `action_counts` | net actions: placements and removals (builder action prediction, Minecraft Dialogue Corpus) |

Sources: the score of IGLU Gridworld; Jayannavar, Narayan-Chen and Hockenmaier, Learning to Execute Instructions in a
Minecraft Dialogue (ACL 2020) for net actions and their micro average; Efron, Bootstrap Methods (1979).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Dialogue, Role
from iglu_marl.core.errors import ConfigError, GridError
from iglu_marl.core.grid import BlockGrid, NetAction, as_grid, cells_of, color_at
from iglu_marl.core.scoring import Shifts, maximal_intersection
from iglu_marl.recording.rollout import Trajectory

SKILLS = ("flat", "flying", "diagonal", "tricky", "tall")
"""What a structure asks of a builder; see `skills`."""

TALL_Y = (
    2  # from the ground, even in a jump, one sees no top of a block at y = 1: nothing can be put at y = 2
)
_IDS = 7  # air and six colours


# -------------------------------------------------------------------------------------------------------- counts


class Counts(NamedTuple):
    """How many of what was made are right, how many were made, how many were asked for.

    Nothing made where nothing was asked for scores 1; a quotient by zero is 0 otherwise.
    """

    right: int
    made: int
    asked: int

    @property
    def precision(self) -> float:
        """Of what was made, how much is right; in 0..1."""
        return self.right / self.made if self.made else float(not self.asked)

    @property
    def recall(self) -> float:
        """Of what was asked for, how much was made; in 0..1."""
        return self.right / self.asked if self.asked else float(not self.made)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; in 0..1."""
        return 2 * self.right / (self.made + self.asked) if self.made + self.asked else 1.0


def micro(counts: Iterable[Counts]) -> Counts:
    """The sum over many games: its F1 is the micro average."""
    total = np.array([*counts], dtype=np.int64).reshape(-1, 3).sum(axis=0)
    return Counts(*(int(number) for number in total))


def intersection_counts(
    built: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    shifts: Shifts = "all",
    invariant: bool = True,
    full_grid: npt.ArrayLike | None = None,
) -> Counts:
    """Blocks of the build against blocks of the target at the best alignment; see `maximal_intersection`.

    built, target: integers [9, 11, 11]. Raises `GridError` for other arrays.
    """
    common = maximal_intersection(built, target, shifts, invariant, full_grid)
    return Counts(int(common), int(np.count_nonzero(built)), int(np.count_nonzero(target)))


def changes(before: npt.ArrayLike, after: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """What changed in each cell, int8 [9, 11, 11]: 0 for nothing, else 7 × (id before) + (id after)."""
    old, new = as_grid(before, "before"), as_grid(after, "after")
    return np.where(old == new, 0, _IDS * old + new).astype(np.int8)


def change_counts(
    start: npt.ArrayLike,
    target: npt.ArrayLike,
    built: npt.ArrayLike,
    *,
    invariant: bool = False,
    shifts: Shifts = "all",
) -> Counts:
    """Cells that the build changed against the start, and cells that the target changes.

    A change is right when the cell is as the target has it; a recolouring is one change. `invariant`: the changes may
    be rotated and shifted together. Raises `GridError` for grids that are none.
    """
    return intersection_counts(
        changes(start, built), changes(start, target), shifts=shifts, invariant=invariant
    )


def net_actions(before: npt.ArrayLike, after: npt.ArrayLike) -> frozenset[NetAction]:
    """The fewest actions that lead from one grid to another: a recolouring is a removal and a placement."""
    old, new = as_grid(before, "before"), as_grid(after, "after")
    found = set()
    for x, y, z in cells_of(old != new).tolist():
        for place, grid in ((False, old), (True, new)):
            if color := color_at(grid, (x, y, z)):
                found.add(NetAction(place, x, y, z, color))
    return frozenset(found)


def action_counts(before: npt.ArrayLike, target: npt.ArrayLike, built: npt.ArrayLike) -> Counts:
    """Net actions of a build against those that were asked for, at their very cells and in their colours.

    The micro average over samples is the F1 of builder action prediction: `micro(action_counts(...) for ...).f1`.
    """
    asked, made = net_actions(before, target), net_actions(before, built)
    return Counts(len(asked & made), len(made), len(asked))


def exact_match(
    built: npt.ArrayLike, target: npt.ArrayLike, *, shifts: Shifts = "all", invariant: bool = True
) -> bool:
    """Whether the build is the target, up to a rotation and shift where `invariant`."""
    right, made, asked = intersection_counts(built, target, shifts=shifts, invariant=invariant)
    return right == made == asked


# ---------------------------------------------------------------------------------------------------------- talk


class TalkCounts(NamedTuple):
    """Of a dialogue: the architect's utterances and words, the builder's utterances, words and questions."""

    instructions: int
    words: int
    answers: int
    answer_words: int
    questions: int


def talk_counts(dialogue: Dialogue) -> TalkCounts:
    """What was said. Words are what white space separates; a question is a builder's utterance with a "?"."""
    told = [said.text for said in dialogue if said.role is Role.ARCHITECT]
    answered = [said.text for said in dialogue if said.role is Role.BUILDER]
    return TalkCounts(
        len(told),
        sum(len(text.split()) for text in told),
        len(answered),
        sum(len(text.split()) for text in answered),
        sum("?" in text for text in answered),
    )


# -------------------------------------------------------------------------------------------------------- skills


def _neighbours(filled: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.bool_]]:
    """For each of the six sides (down first, up last), whether the cell there is filled; outside is empty."""
    padded = np.pad(filled, 1)
    inner = slice(1, -1)
    down = padded[:-2, inner, inner].copy()
    sides = [
        padded[inner, :-2, inner],
        padded[inner, 2:, inner],
        padded[inner, inner, :-2],
        padded[inner, inner, 2:],
    ]
    return [down, *sides, padded[2:, inner, inner]]


def _grounded(filled: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The blocks from which a way through blocks, from face to face, leads to the ground."""
    reached = np.zeros_like(filled)
    reached[0] = filled[0]
    while True:
        further = filled & (reached | np.logical_or.reduce(_neighbours(reached)))
        if np.array_equal(further, reached):
            return reached
        reached = further


def _diagonal(filled: npt.NDArray[np.bool_], wanted: npt.NDArray[np.bool_]) -> bool:
    """Whether a wanted block meets one of the next layer only along an edge: no block touches both."""
    low, high = filled[:-1], filled[1:]
    for axis in (1, 2):
        for step in (1, -1):
            near = [slice(None)] * 3
            far = [slice(None)] * 3
            near[axis], far[axis] = (slice(None, -1), slice(1, None))[::step]
            here, there = tuple(near), tuple(far)
            meets = low[here] & high[there] & ~high[here] & ~low[there]
            asked = wanted[:-1][here] | wanted[1:][there]
            if bool((meets & asked).any()):
                return True
    return False


def skills(target: npt.ArrayLike, start: npt.ArrayLike | None = None) -> tuple[str, ...]:
    """What building a structure takes, in the order of `SKILLS`; judged by the blocks that `start` lacks.

    The names are those of the IGLU competitions; these are the definitions here:

    - flat: all blocks stand on the ground (y = -1).
    - flying: some block has no way to the ground from face to face through blocks.
    - diagonal: some block meets one of the layer above or below along an edge, and no block touches both by faces.
    - tricky: the order matters beyond bottom up: some block is hidden on all six sides (the ground counts), or it hangs
      with air below it from a neighbour that stands.
    - tall: some block is at y = 2 or higher: the first one there cannot be put on another block from the ground.

    Nothing to place gives (). Raises `GridError` for grids that are none.
    """
    grid = as_grid(target, "target")
    base = np.zeros_like(grid) if start is None else as_grid(start, "start")
    wanted = (grid != 0) & (grid != base)
    if not wanted.any():
        return ()
    filled = grid != 0
    grounded = _grounded(filled)
    down, *others = _neighbours(filled)
    down[0] = True  # the ground
    hidden = wanted & np.logical_and.reduce([down, *others])
    hanging = wanted & grounded & ~down
    found = {
        "flat": not wanted[1:].any(),
        "flying": bool((wanted & ~grounded).any()),
        "diagonal": _diagonal(filled, wanted),
        "tricky": bool(hidden.any() or hanging.any()),
        "tall": bool(wanted[TALL_Y + 1 :].any()),
    }
    return tuple(name for name in SKILLS if found[name])


# ----------------------------------------------------------------------------------------------------- intervals


class Interval(NamedTuple):
    """An average and the ends of its confidence interval.

    All nan when there is nothing to average, the ends alone when there is one entry: it has nothing to vary with.
    """

    value: float
    low: float
    high: float

    def told(self, shown: Callable[[float], str] = "{:.3f}".format) -> str:
        """As text: "0.875 (0.625–1.000)", "0.875" of one entry, "–" of none."""
        if np.isnan(self.value):
            return "–"
        ends = "" if np.isnan(self.low) else f" ({shown(self.low)}–{shown(self.high)})"
        return shown(self.value) + ends


def bootstrap(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Interval:
    """sum(numerators) / sum(denominators) with its percentile bootstrap interval over the entries.

    numerators, denominators: [n], one entry per independent unit (a task with all its episodes, say); without
    denominators the mean. For a micro F1 give 2 × right and made + asked. Resamples whose denominators are all zero
    are left out. Raises `ConfigError` for arguments out of range.
    """
    above = np.asarray(numerators, dtype=np.float64)
    below = np.ones_like(above) if denominators is None else np.asarray(denominators, dtype=np.float64)
    if above.ndim != 1 or above.shape != below.shape:
        raise ConfigError(
            f"numerators and denominators have the shapes {above.shape} and {below.shape}, expected one [n]"
        )
    _check(confidence, resamples)
    if not below.sum():
        return Interval(np.nan, np.nan, np.nan)
    if len(above) == 1:
        return Interval(float(above[0] / below[0]), np.nan, np.nan)
    values = _resampled(above, below, resamples, np.random.default_rng(rng))
    return _percentiles(float(above.sum() / below.sum()), values, confidence)


def bootstrap_statistic(
    statistic: Callable[[npt.NDArray[np.float64]], float],
    count: int,
    *,
    correction: float = 0.0,
    units: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Interval:
    """Any statistic of `count` entries with its percentile bootstrap interval; `bootstrap` is for ratios of sums.

    statistic: of how often each entry counts, float64 [count]: all ones, then how often each was drawn. Resamples in
    which it is undefined (nan) are left out. correction: what the statistic adds to its plain value of the entries
    against a bias; a resample is a sample of a sample, and needs it once more. units: [count], the independent unit
    of each entry (a game with several messages, say): entries of one unit are drawn together; each entry is one
    without them. strata: [count], the stratum of each entry (the task of a run, say): as many units of each stratum
    are drawn as it has; a unit lies in one. Raises `ConfigError` for arguments out of range.
    """
    _check(confidence, resamples)
    groups = np.arange(count) if units is None else np.asarray(units)
    if count < 1 or groups.shape != (count,):
        raise ConfigError(
            f"units have the shape {groups.shape}, expected ({count},): one for each of 1 entry or more"
        )
    _, firsts, groups = np.unique(groups, return_index=True, return_inverse=True)
    layers = np.zeros(count, np.int64) if strata is None else np.asarray(strata)
    if layers.shape != (count,) or (layers != layers[firsts][groups]).any():
        raise ConfigError(
            f"strata have the shape {layers.shape}, expected ({count},): one for each entry of a unit"
        )
    members = [np.flatnonzero(layers[firsts] == layer) for layer in np.unique(layers)]
    if all(len(part) == 1 for part in members):
        return Interval(float(statistic(np.ones(count))), np.nan, np.nan)
    generator, total = np.random.default_rng(rng), len(firsts)

    def draw() -> npt.NDArray[np.float64]:
        chosen = [part[generator.integers(len(part), size=len(part))] for part in members]
        return np.bincount(np.concatenate(chosen), minlength=total).astype(np.float64)

    draws = (draw() for _ in range(resamples))
    values = np.array([statistic(drawn[groups]) for drawn in draws]) + correction
    return _percentiles(float(statistic(np.ones(count))), values[~np.isnan(values)], confidence)


def share_interval(found: float, count: int, *, confidence: float = 0.95) -> Interval:
    """A share of `count` games, with Wilson's interval, which has a width for none and for all of them, too.

    Raises `ConfigError` for a confidence that is not between 0 and 1, or without games.
    """
    _check(confidence, 1)
    if count < 1:
        raise ConfigError(f"count is {count}, expected 1 or more")
    squared = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2 / count
    middle = (found + squared / 2) / (1 + squared)
    half = math.sqrt(squared * (found * (1 - found) + squared / 4)) / (1 + squared)
    return Interval(found, max(0.0, middle - half), min(1.0, middle + half))


def interquartile_mean(values: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> float:
    """The mean without the lowest and the highest quarter of the values (rounded down): rliable's IQM.

    values: [n]; counts: how often each counts, [n], whole numbers, once each by default. nan where nothing is left.
    Source: Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice (2021).
    """
    found = np.asarray(values, np.float64).ravel()
    if counts is not None:
        found = np.repeat(found, np.asarray(counts).astype(np.int64).ravel())
    cut = len(found) // 4
    kept = np.sort(found)[cut : len(found) - cut]
    return float(kept.mean()) if len(kept) else np.nan


def _check(confidence: float, resamples: int) -> None:
    if not 0 < confidence < 1 or resamples < 1:
        raise ConfigError(
            f"confidence is {confidence!r} and resamples {resamples!r}, expected 0..1 and 1 or more"
        )


def _percentiles(value: float, values: npt.NDArray[np.float64], confidence: float) -> Interval:
    """A value with the percentiles of its resamples; nan where it, or each of them, is undefined."""
    if np.isnan(value) or not len(values):
        return Interval(value, np.nan, np.nan)
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(value, float(low), float(high))


def _resampled(
    above: npt.NDArray[np.float64],
    below: npt.NDArray[np.float64],
    resamples: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """The ratio of sums over each resample, float64 [up to resamples]."""
    count = len(above)
    rows = max(1, 2_000_000 // count)  # of the table of draws at once: 16 MB
    found = []
    for first in range(0, resamples, rows):
        drawn = rng.integers(count, size=(min(rows, resamples - first), count))
        sums = below[drawn].sum(axis=1)
        found.append((above[drawn].sum(axis=1)[sums != 0]) / sums[sums != 0])
    return np.concatenate(found)


# ------------------------------------------------------------------------------------------------------ one game


def game_metrics(game: Trajectory, *, shifts: Shifts = "all") -> dict[str, Any]:
    """All metrics of one game, JSON-ready; the counts are kept as [right, made, asked].

    In a progressive session the last turn's task counts. Raises `GridError` for a game without a build.
    """
    if game.grid is None:
        raise GridError("the game has no grid: it was not played to its end")
    task = game.task.in_ids("iglu")
    built: BlockGrid = game.grid
    free = task.is_invariant
    whole = intersection_counts(
        built, task.target_grid, shifts=shifts, invariant=free, full_grid=task.full_grid
    )
    changed = change_counts(task.start_grid, task.target_grid, built, invariant=free, shifts=shifts)
    acted = action_counts(task.start_grid, task.target_grid, built)
    return {
        "completed": game.completed,
        "exact": whole.right == whole.made == whole.asked,
        "blocks": list(whole),
        "changes": list(changed),
        "actions": list(acted),
        "precision": whole.precision,
        "recall": whole.recall,
        "f1": whole.f1,
        "change_f1": changed.f1,
        "action_f1": acted.f1,
        "return": game.returns.get(Role.BUILDER, 0.0),
        "steps": game.builder_steps,
        "turns": game.architect_turns,
        **talk_counts(game.dialogue)._asdict(),
    }
