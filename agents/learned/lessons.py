"""Made-up dialogues to learn the words of space from, before people's: the grammar says what each sentence asks for.

An architect asks for one thing after the other, of random blocks, in sentences put together at random; those that the
grammar does not read, or that cannot be done, are not said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from iglu_marl import Dialogue, Role, Utterance
from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, NetAction, blocks_to_grid, cells_of, color_at
from iglu_marl.evaluation.action_prediction import Sample, Situation
from iglu_marl.language import Context, Failure
from iglu_marl.language.repair import understand

MOST_EDITS = 12
_TRIES = 12
_COLORS = COLOR_NAMES[1:]
_NUMBERS = ("two", "three", "four", "five", "2", "3", "4", "5")
_SENTENCES = (
    "{put} a {color} block {where}", "{put} a {color} block {where}", "{put} one {color} block {where}",
    "{put} {n} {color} blocks {where}", "{put} a row of {n} {color} blocks {where}",
    "build a tower of {n} {color} blocks {where}", "stack {n} {color} blocks {where}", "{put} {n} more {where}",
    "{put} another {color} block {where}", "{put} another one {where}", "now {put} a {color} block {where}",
    "{away} the {color} block", "{away} the {color} blocks", "{away} the last block", "{away} it", "{away} that",
    "{away} the block {where}", "{away} the top {color} block", "undo that", "make it {color}",
    "replace the {color} block with a {other} block", "extend the row by {n} to the {side}", "extend it by {n}",
    "do the same {where}",
)  # fmt: skip
_WHERE = (
    "{relation} it", "{relation} it", "{relation} that", "{relation} the last block", "{relation} the {other} block",
    "{relation} the {other} block", "{relation} the {other} tower", "{relation} the {other} row", "in the center",
    "{n} blocks {away_from} it", "{n} blocks {away_from} the {other} block", "on the ground {relation} it",
    "on top", "on the ground",
)  # fmt: skip
_CHOICES = {
    "put": ("put", "place", "add"),
    "away": ("remove", "take away", "delete", "get rid of"),
    "relation": (
        "on top of", "on top of", "above", "to the left of", "to the right of", "left of", "right of", "behind",
        "in front of", "next to", "beside", "below", "under",
    ),
    "away_from": ("to the left of", "to the right of", "behind", "in front of", "above", "north of", "east of"),
    "side": ("left", "right"),
    "n": _NUMBERS,
    "color": _COLORS,
    "other": _COLORS,
}  # fmt: skip


def lessons(count: int, seed: int = 0) -> list[Sample]:
    """So many samples, a few of each made-up dialogue."""
    rng = np.random.default_rng([seed, 17])
    found: list[Sample] = []
    number = 0
    while len(found) < count:
        found += _dialogue(rng, f"lesson-{number}")
        number += 1
    return found[:count]


def _sentence(rng: np.random.Generator, standing: Sequence[int]) -> str:
    """A sentence; the blocks that it refers to are mostly of a colour that stands."""

    def drawn(options: Sequence[str]) -> str:
        return options[int(rng.integers(len(options)))]

    choices = {key: drawn(options) for key, options in _CHOICES.items()}
    if standing and rng.random() < 0.9:
        choices["other"] = COLOR_NAMES[standing[int(rng.integers(len(standing)))]]
    where = drawn(_WHERE).format(**choices)
    return drawn(_SENTENCES).format(where=where, **{**choices, "n": drawn(_NUMBERS)})


def _dialogue(rng: np.random.Generator, name: str) -> Iterator[Sample]:
    blocks: dict[tuple[int, int], int] = {}
    for _ in range(int(rng.integers(0, 6))):
        x, z = rng.integers(-3, 4, 2).tolist()
        blocks[x, z] = int(rng.integers(1, 7))
    grid = blocks_to_grid([(x, -1, z, color) for (x, z), color in blocks.items()])
    context, said = Context(), list[Utterance]()
    history: tuple[tuple[NetAction, ...], ...] = ()
    heard: tuple[int, ...] = ()
    for turn in range(int(rng.integers(2, 7))):
        yaw = float(rng.uniform(0, 360))
        away = rng.uniform(2, 6)
        x, z = -away * np.sin(np.deg2rad(yaw)), away * np.cos(np.deg2rad(yaw))  # it looks at the middle
        pose = (float(x), 0.25, float(z), yaw, float(rng.uniform(-40, -5)))
        context = replace(context, yaw_deg=yaw, position=pose[:3])
        standing = np.unique(grid[grid > 0]).tolist()
        for _ in range(_TRIES):
            text = _sentence(rng, standing)
            read_as = understand(text, grid, context)
            if not isinstance(read_as.found, Failure):
                break
        else:
            return
        outcome = read_as.found[int(rng.integers(len(read_as.found)))]
        actions = _edits(grid, outcome.grid)
        if not 0 < len(actions) <= MOST_EDITS:
            return
        said.append(Utterance(Role.ARCHITECT, text))
        before = grid
        situation = Situation(Dialogue(said), before, turn, pose, history, heard)
        context = context.after(read_as.instruction, before, outcome)
        grid = outcome.grid.astype(np.int8)
        yield Sample(f"{name}/{turn}", name, situation, grid, actions)
        history, heard = (*history, actions), (*heard, turn + 1)


def _edits(before: BlockGrid, after: BlockGrid) -> tuple[NetAction, ...]:
    """What leads from one grid to another: removals from the top down, then placements from the ground up."""
    cells = [(x, y, z) for x, y, z in cells_of(before != after).tolist()]
    cells.sort(key=lambda cell: cell[1])
    out = [NetAction(False, x, y, z, color_at(before, (x, y, z))) for x, y, z in reversed(cells)]
    into = [NetAction(True, x, y, z, color_at(after, (x, y, z))) for x, y, z in cells]
    return tuple(action for action in (*out, *into) if action.color)
