"""Metrics of builds, changes, actions and talk, and 95 % intervals.

All metrics are counts (`Counts`: right, made, asked), which give precision, recall and F1. Sums over many games (micro
averages) and intervals use the same counts.

| function | what is counted |
|---|---|
| `intersection_counts` | blocks of the build that match the target, at the best rotation and shift |
| `change_counts` | changed cells that match the target |
| `iglu2022_counts` | the score of the IGLU 2022 competition |
| `action_counts` | net placements and removals (builder action prediction, Minecraft Dialogue Corpus) |

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

from iglu_marl.core.arguments import as_number, as_rng
from iglu_marl.core.dialogue import Dialogue, Role, role_of
from iglu_marl.core.edits import net_actions
from iglu_marl.core.errors import ConfigError, GridError
from iglu_marl.core.grid import BlockGrid, as_grid
from iglu_marl.core.scoring import Counts, Shifts, align, maximal_intersection
from iglu_marl.data.skills import SKILLS, competition_skills
from iglu_marl.data.splits import structure_id
from iglu_marl.recording.rollout import Trajectory

PROPERTIES = ("on-ground", "floating", "edge-joined", "enclosed", "high")
"""Properties of a structure; see `properties`."""

SCORINGS = {
    "changes": "change_f1",
    "iglu2022": "iglu2022_f1",
    "iglu2022-corrected": "iglu2022_corrected_f1",
    "iglu2021": "best_f1",
}
"""Headline measures of games by name of the scoring: F1 of the changes; the score of the IGLU 2022 competition as its
tool computes it, and corrected; that of 2021, F1 of the world at the best step."""

HIGH_Y = 2  # first height that cannot be placed from the ground: the top of a block at y = 1 is out of sight
_IDS = 7  # air and six colours
_WIDTH = 1e-9  # of an interval that is a point
_TAIL = 0.025  # on each side of a 95 % interval


# -------------------------------------------------------------------------------------------------------- counts


def intersection_counts(
    built: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    shifts: Shifts = "all",
    invariant: bool = True,
    full_grid: npt.ArrayLike | None = None,
) -> Counts:
    """Count the blocks of the build that match the target at the best alignment (`maximal_intersection`).

    built: build, integers [9, 11, 11]. target: target, integers [9, 11, 11]. shifts: allowed shifts. invariant:
    whether rotations and shifts are allowed. full_grid: see `maximal_intersection`.

    Raises `GridError` if a grid has another shape or type.
    """
    common = maximal_intersection(built, target, shifts, invariant, full_grid)
    return Counts(int(common), int(np.count_nonzero(built)), int(np.count_nonzero(target)))


def changes(before: npt.ArrayLike, after: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return the change of each cell, int8 [9, 11, 11]: 0 for none, else 7 × (id before) + (id after)."""
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
    """Count the cells that the build changed as the target does.

    A recolouring is one change. With `invariant`, the changes may be rotated and shifted together.

    Raises `GridError` if a grid is invalid.
    """
    return intersection_counts(
        changes(start, built), changes(start, target), shifts=shifts, invariant=invariant
    )


def iglu2022_counts(
    start: npt.ArrayLike, target: npt.ArrayLike, built: npt.ArrayLike, *, corrected: bool = False
) -> Counts:
    """Count the changes as the score of the IGLU 2022 competition does.

    The difference target - start is compared with build - start at one rotation and shift that keeps target - start
    inside the zone. The competition's tool takes the one at which target - start and the *build* have most cells in
    common, so that a perfect build may get less than 1. With `corrected`, target - start is compared with
    build - start for this, too.

    Differences are those of the grids' color ids: a recoloring has another one in the ids of 2022.

    Raises `GridError` if a grid is invalid.
    """
    before, wanted, now = (
        as_grid(start, "start"),
        as_grid(target, "target"),
        as_grid(built, "built"),
    )
    asked, made = wanted - before, now - before
    compared = made if corrected else now
    _, place = maximal_intersection(compared, asked, shifts="inside", return_argmax=True)
    right = (align(asked, place) == made) & (made != 0)
    return Counts(int(right.sum()), int(np.count_nonzero(made)), int(np.count_nonzero(asked)))


def action_counts(before: npt.ArrayLike, target: npt.ArrayLike, built: npt.ArrayLike) -> Counts:
    """Count the net actions of a build that match the target's in cell and colour.

    `micro(action_counts(...) for ...).f1` is the F1 of builder action prediction.
    """
    asked, made = net_actions(before, target), net_actions(before, built)
    return Counts(len(asked & made), len(made), len(asked))


def exact_match(
    built: npt.ArrayLike, target: npt.ArrayLike, *, shifts: Shifts = "all", invariant: bool = True
) -> bool:
    """Whether the build is the target, up to a rotation and shift if `invariant`."""
    right, made, asked = intersection_counts(built, target, shifts=shifts, invariant=invariant)
    return right == made == asked


# ---------------------------------------------------------------------------------------------------------- talk


class TalkCounts(NamedTuple):
    """Counts of a dialogue: the architect's utterances and words, the builder's questions."""

    instructions: int
    words: int
    questions: int


def talk_counts(dialogue: Dialogue) -> TalkCounts:
    """Count utterances, words (separated by white space) and questions (builder utterances with a "?")."""
    asked = [said.text for said in dialogue if said.role is Role.ARCHITECT]
    answered = [said.text for said in dialogue if said.role is Role.BUILDER]
    return TalkCounts(
        len(asked), sum(len(text.split()) for text in asked), sum("?" in text for text in answered)
    )


# -------------------------------------------------------------------------------------------------------- skills


def _neighbours(filled: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.bool_]]:
    """Return for each of the six sides (down first, up last) whether the neighbouring cell is filled."""
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
    """Return the blocks that are connected to the ground through faces."""
    reached = np.zeros_like(filled)
    reached[0] = filled[0]
    while True:
        further = filled & (reached | np.logical_or.reduce(_neighbours(reached)))
        if np.array_equal(further, reached):
            return reached
        reached = further


def _diagonal(filled: npt.NDArray[np.bool_], wanted: npt.NDArray[np.bool_]) -> bool:
    """Whether a wanted block meets one of the next layer only along an edge."""
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


def skills(target: npt.ArrayLike, start: npt.ArrayLike | None = None, structure: str = "") -> tuple[str, ...]:
    """Return the skills that a task requires, in the order of `SKILLS`, or else its `properties`.

    structure: name of the structure that the task is a part of, such as "C7". If the competition's labels are on this
    machine (`iglu_marl.data.skills`) and have it, they are returned.

    Raises `GridError` if a grid is invalid.
    """
    labels = (competition_skills() or {}) if structure else {}
    name = structure_id(structure)
    return labels[name] if name in labels else properties(target, start)


def about_skills(names: Iterable[str]) -> str:
    """Return whose the names in a table of `skills` are."""
    given, said = set(names), []
    if given & set(SKILLS):
        said.append(f"{', '.join(SKILLS)}: the competition's labels of the structures C1 to C157.")
    if given & set(PROPERTIES):
        said.append(
            f"{', '.join(PROPERTIES)}: computed from blocks, not the competition's labels (`iglu-marl data fetch "
            "skills`)."
        )
    return " ".join(said)


def properties(target: npt.ArrayLike, start: npt.ArrayLike | None = None) -> tuple[str, ...]:
    """Return the `PROPERTIES` of a structure, in their order, judged by the blocks that `start` lacks.

    | property | definition |
    |---|---|
    | on-ground | all blocks stand on the ground (y = -1) |
    | floating | a block is not connected to the ground through faces |
    | edge-joined | a block meets one of the next layer along an edge, and no block touches both by faces |
    | enclosed | a block is hidden on all six sides (the ground counts), or is held by a neighbour with air below |
    | high | a block is at y = 2 or higher, which cannot be reached from the ground |

    An empty difference gives ().

    Raises `GridError` if a grid is invalid.
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
        "on-ground": not wanted[1:].any(),
        "floating": bool((wanted & ~grounded).any()),
        "edge-joined": _diagonal(filled, wanted),
        "enclosed": bool(hidden.any() or hanging.any()),
        "high": bool(wanted[HIGH_Y + 1 :].any()),
    }
    return tuple(name for name in PROPERTIES if found[name])


# ----------------------------------------------------------------------------------------------------- intervals


class Interval(NamedTuple):
    """An average with the ends of its confidence interval.

    All values are nan if there are no entries; only the ends are nan if there is one.
    """

    value: float
    low: float
    high: float

    def text(self, shown: Callable[[float], str] = "{:.3f}".format) -> str:
        """Return the interval as text: "0.875 (0.625–1.000)"; "0.875" for one entry, "–" for none."""
        if np.isnan(self.value):
            return "–"
        ends = "" if np.isnan(self.low) else f" ({shown(self.low)}–{shown(self.high)})"
        return shown(self.value) + ends


def bootstrap(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike | None = None,
    *,
    resamples: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Interval:
    """Return sum(numerators) / sum(denominators) with a percentile bootstrap interval over the entries.

    Resamples with zero denominators are left out. For a micro F1, give 2 × right and made + asked.

    Args:
        numerators: [n], one entry per independent unit (such as a task with all its episodes).
        denominators: [n]; None: the mean of the numerators.
        resamples: number of resamples.
        rng: generator or seed.

    Raises:
        ConfigError: if shapes differ or an argument is out of range.

    """
    above = np.asarray(numerators, dtype=np.float64)
    below = np.ones_like(above) if denominators is None else np.asarray(denominators, dtype=np.float64)
    if above.ndim != 1 or above.shape != below.shape:
        raise ConfigError(
            f"numerators and denominators have the shapes {above.shape} and {below.shape}, expected one [n]"
        )
    _check(resamples)
    if not below.sum():
        return Interval(np.nan, np.nan, np.nan)
    if len(above) == 1:
        return Interval(float(above[0] / below[0]), np.nan, np.nan)
    values = _resampled(above, below, resamples, as_rng("rng", rng))
    return _percentiles(float(above.sum() / below.sum()), values)


def clustered(
    numerators: Iterable[float],
    denominators: Iterable[float],
    clusters: Iterable[str],
    **options: Any,
) -> Interval:
    """Return sum(numerators) / sum(denominators) with a `bootstrap` interval over clusters, such as structures.

    clusters: the cluster of each entry; entries of a cluster are drawn together. options: those of `bootstrap`.
    """
    entries = list(numerators), list(denominators), list(clusters)
    if len({len(values) for values in entries}) > 1:
        raise ConfigError(
            f"there are {len(entries[0])} numerators, {len(entries[1])} denominators and {len(entries[2])} clusters, "
            "expected as many of each"
        )
    sums: dict[str, list[float]] = {}
    for above, below, cluster in zip(*entries, strict=True):
        total = sums.setdefault(cluster, [0.0, 0.0])
        total[0] += above
        total[1] += below
    summed = np.array(list(sums.values()), np.float64).reshape(-1, 2)
    return bootstrap(summed[:, 0], summed[:, 1], **options)


def clusters_text(units: Iterable[tuple[str, str]]) -> str:
    """Return what intervals are drawn over, such as "8 structures", of (structure or "", task) for each entry."""
    known: set[str] = set()
    others: set[str] = set()
    for structure, task in units:
        (known if structure else others).add(structure or task)
    counts = {"structure": len(known), "task": len(others)}
    listed = [f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count]
    return " and ".join(listed) or "0 tasks"


def crossed_bootstrap(
    values: npt.ArrayLike,
    factors: Iterable[npt.ArrayLike],
    *,
    resamples: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Interval:
    """Return a mean with a percentile bootstrap interval over several factors, such as runs, tasks and partners.

    Each factor's levels are drawn with replacement; an entry counts as often as the product of its levels (Owen, The
    Pigeonhole Bootstrap, 2007). Factors of one level stay as they are.

    Args:
        values: [n], at least one entry.
        factors: for each factor the levels of the entries, [n].
        resamples: number of resamples. Those without entries are left out.
        rng: generator or seed.

    Raises:
        ConfigError: if an argument is out of range.

    """
    _check(resamples)
    found, generator = np.asarray(values, np.float64), as_rng("rng", rng)
    weights = np.ones((resamples, len(found)))
    for factor in factors:
        known, codes = np.unique(np.asarray(factor), return_inverse=True)
        if len(known) > 1:
            drawn = generator.multinomial(len(known), np.full(len(known), 1 / len(known)), size=resamples)
            weights *= drawn[:, codes]
    totals = weights.sum(axis=1)
    means = (weights[totals > 0] @ found) / totals[totals > 0]
    return _percentiles(float(found.mean()), means)


def crossed_share(values: npt.ArrayLike, factors: Iterable[npt.ArrayLike], units: int) -> Interval:
    """Return `crossed_bootstrap` of shares; where that has no width, as for 0 and 1, Wilson's interval of `units`."""
    found = crossed_bootstrap(values, factors)
    return found if found.high - found.low > _WIDTH else share_interval(min(found.value, 1.0), units)


def share_interval(found: float, count: int) -> Interval:
    """Return a share of `count` games with Wilson's interval, which has a positive width for shares of 0 and 1.

    Raises `ConfigError` if `found` is not between 0 and 1, or `count` is below 1.
    """
    as_number("found", found, 1.0)
    if count < 1:
        raise ConfigError(f"count is {count}, expected 1 or more")
    squared = NormalDist().inv_cdf(1 - _TAIL) ** 2 / count
    middle = (found + squared / 2) / (1 + squared)
    half = math.sqrt(squared * (found * (1 - found) + squared / 4)) / (1 + squared)
    return Interval(found, max(0.0, middle - half), min(1.0, middle + half))


def _check(resamples: int) -> None:
    if not 1 <= resamples <= 1_000_000:
        raise ConfigError(f"resamples is {resamples!r}, expected 1..1000000")


def _percentiles(value: float, values: npt.NDArray[np.float64]) -> Interval:
    """Return a value with percentiles of its resamples; nan if they are undefined."""
    if np.isnan(value) or not len(values):
        return Interval(value, np.nan, np.nan)
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    return Interval(value, float(low), float(high))


def _resampled(
    above: npt.NDArray[np.float64],
    below: npt.NDArray[np.float64],
    resamples: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """Return the ratio of sums of each resample, float64 [up to resamples]."""
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
    """Return all metrics of a game, JSON-ready; counts are [right, made, asked].

    In a progressive session, the last turn's task counts. "return" is the mean of the builders.

    Raises `GridError` if the game has no build.
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
    official = {
        name: iglu2022_counts(task.start_grid, task.target_grid, built, corrected=corrected)
        for name, corrected in (("iglu2022", False), ("iglu2022_corrected", True))
    }
    earned = [value for player, value in game.returns.items() if role_of(player) is Role.BUILDER]
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
        **{name: list(counts) for name, counts in official.items()},
        **{f"{name}_f1": counts.f1 for name, counts in official.items()},
        "return": float(np.mean(earned)) if earned else 0.0,
        "steps": game.builder_steps,
        "turns": game.architect_turns,
        **talk_counts(game.dialogue)._asdict(),
    }
