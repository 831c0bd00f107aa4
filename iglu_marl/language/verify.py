"""Whether an instruction was carried out, and how far, judged by the worlds before and after."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import as_grid
from iglu_marl.language.blocks import Failure
from iglu_marl.language.references import Context
from iglu_marl.language.verbs import Instruction, outcomes


def progress(
    instruction: Instruction,
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    context: Context | None = None,
) -> float | Failure:
    """How much of an instruction is done, in [0, 1]; 1 when all of it is, and nothing else has changed.

    It is 1 - (cells that are not yet as asked) / (cells that had to change), counted over the whole zone: a change that
    was not asked for takes away as much as one that was asked for gives, down to 0. Where the instruction leaves a
    choice, the one counts that is closest. When nothing had to change it is 1 if nothing has, else 0.

    A `Failure` is returned when the instruction cannot be followed from `before` at all.
    """
    found = outcomes(instruction, before, context)
    if isinstance(found, Failure):
        return found
    start, end = as_grid(before, "before"), as_grid(after, "after")
    best = 0.0
    for outcome in found:
        needed = int(np.count_nonzero(outcome.grid != start))
        left = int(np.count_nonzero(outcome.grid != end))
        best = max(best, 1.0 - left / max(1, needed))
    return best


def done(
    instruction: Instruction,
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    context: Context | None = None,
) -> bool:
    """Whether `after` is what an instruction makes of `before`; False also when it cannot be followed."""
    found = progress(instruction, before, after, context)
    return not isinstance(found, Failure) and found == 1.0
