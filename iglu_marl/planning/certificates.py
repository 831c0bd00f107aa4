"""Checks proofs of impossibility from the rules alone: nothing here is shared with what makes them.

A certificate is the `proof` of a `Plan` with the verdict "impossible": a dict with its `kind` and the numbers of the
argument. The three kinds:

"too few blocks": what is held of a colour and what stands of it are the same in sum for ever, and placing takes one in
hand. So no placement of the colour ends with less than none in hand. `color`, `placed` (cells that shall get it),
`returned` (blocks of it that have to go), `held` (at the start).

"no last step": nothing is held at the end (`held_at_end`, by colour), and no block has to go. Then the last act is no
removal: that of a block placed in between would leave one in hand. It is no placement either, because that needs
something solid among the 26 cells around, and all `floating` blocks of the result are alone.

"out of reach": the builder is so far outside the zone that no step brings it back (`eye_low`, `eye_high`: where the eye
can be), and the `cell` that has to change is farther from there than the hands reach.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.kernels import records as rules
from iglu_marl.planning.edits import desired_grid
from iglu_marl.planning.site import private_world

Blocks = dict[tuple[int, int, int], int]


def check_certificate(world: Any, edits: Any, controls: ControlsName, proof: dict[str, Any]) -> bool:
    """Whether a proof shows that the edits cannot be made in this world; arguments as of `plan`, and its `proof`."""
    start = private_world(world)
    before = _blocks(start.grid[0])
    after = _blocks(np.asarray(desired_grid(start.grid[0], edits)))
    checks = {
        "too few blocks": _too_few_blocks,
        "no last step": _no_last_step,
        "out of reach": _out_of_reach,
    }
    check = checks.get(proof.get("kind", ""))
    if check is None:
        return False
    try:
        return check(start, before, after, controls, {k: v for k, v in proof.items() if k != "kind"})
    except (KeyError, TypeError, ValueError):  # not the numbers that this kind needs
        return False


def _blocks(grid: Any) -> Blocks:
    return {(int(x) - 5, int(y) - 1, int(z) - 5): int(grid[y, x, z]) for y, x, z in np.argwhere(grid)}


def _held(start: Any) -> list[int]:
    return [int(count) for count in start.inventory[0]]


def _too_few_blocks(start: Any, before: Blocks, after: Blocks, controls: str, proof: dict[str, Any]) -> bool:
    color = proof["color"]
    if color not in range(1, 7):
        return False
    placed = sum(1 for cell, other in after.items() if other == color and before.get(cell) != color)
    returned = sum(1 for cell, other in before.items() if other == color and after.get(cell) != color)
    truth = {"color": color, "held": _held(start)[color - 1], "returned": returned, "placed": placed}
    return proof == truth and placed > 0 and truth["held"] + returned - placed < 0


def _no_last_step(start: Any, before: Blocks, after: Blocks, controls: str, proof: dict[str, Any]) -> bool:
    spent = Counter(after.values())
    spent.subtract(Counter(before.values()))
    end = [held - spent[color] for color, held in enumerate(_held(start), start=1)]
    kept = all(after.get(cell) == color for cell, color in before.items())
    alone = all(y > -1 and not any(n in after for n in _around((x, y, z))) for x, y, z in after)
    truth = {"held_at_end": end, "floating": len(after)}
    return proof == truth and max(end) <= 0 and kept and after != before and alone


def _around(cell: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    x, y, z = cell
    return [(x + a, y + b, z + c) for a, b, c in product((-1, 0, 1), repeat=3) if (a, b, c) != (0, 0, 0)]


def _out_of_reach(start: Any, before: Blocks, after: Blocks, controls: str, proof: dict[str, Any]) -> bool:
    cell, low, high = tuple(proof["cell"]), proof["eye_low"], proof["eye_high"]
    if set(proof) != {"cell", "eye_low", "eye_high"} or before.get(cell) == after.get(cell):
        return False
    x, y, z = (float(value) for value in start.pose[0, :3])
    speed = float(start.speed[0])
    # A slice is at most half a step; one that would end outside the limits does not take place.
    edge = 5 + rules.LIMIT
    level, upright = (
        rules.FLY_SPEED * rules.STEP_S / 2,
        (rules.FLY_SPEED + rules.JUMP_SPEED) * rules.STEP_S / 2,
    )
    if controls == "flying":
        fixed = max(abs(x), abs(z)) > edge + level or y > 8 + rules.LIMIT + upright
        box = [x, y, z], [x, y, z]
    else:  # a walker falls and jumps, and the ground may push it aside by 1/4 cell
        aside = rules.PADDING
        fixed = max(abs(x), abs(z)) > edge + aside and max(abs(x), abs(z)) < rules.GROUND_RADIUS
        rise = (rules.JUMP_SPEED**2 + max(speed, 0.0) ** 2) / (2 * rules.GRAVITY)
        floor = rules.GROUND_Y + 0.5
        box = [x - aside, min(y, floor), z - aside], [x + aside, max(y, floor + 2.0) + rise, z + aside]
    gaps = [max(c - 0.5 - top, bottom - c - 0.5, 0.0) for c, bottom, top in zip(cell, *box, strict=True)]
    reach = (rules.RAY_SAMPLES - 1) / rules.RAY_SAMPLES_PER_CELL
    return fixed and (list(low), list(high)) == box and math.hypot(*gaps) > reach + 1e-6
