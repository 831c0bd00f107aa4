"""Underspecified instructions: cases, and how the scripted understanding handles them.

One piece of information is removed from a clear instruction: a colour, height, place, number, direction, or the
attribute that identifies a block. Measured: is a question asked, is it about the missing piece, is the answer used, is
the final world right, and how many utterances does it take? Controls: the whole instruction, and a builder that never
asks and guesses (`guess`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import COLOR_NAMES, blocks_to_grid
from iglu_marl.language import Context, Failure, outcomes, parse
from iglu_marl.language.talk.repair import Understanding, understand, understand_answer

Grid = npt.NDArray[np.int8]
MAX_TURNS = 6
MISSING = ("color", "height", "place", "count", "direction", "referent")
_NUMBERS = ("two", "three", "four")
_WAYS = ("north", "east", "south", "west")


@dataclass(frozen=True)
class Case:
    """A clear instruction, the same without one piece of information, and the answer to a question about it."""

    missing: str
    start: Grid
    whole: str
    vague: str
    answer: str
    goal: Grid


def _landmarks(rng: np.random.Generator, colors: list[int]) -> Grid:
    """Return single blocks of these colours on the ground, with free cells around each."""
    spots = [(x, z) for x in (-4, 0, 4) for z in (-4, 0, 4)]
    chosen = rng.choice(len(spots), len(colors), replace=False)
    return blocks_to_grid([(spots[i][0], -1, spots[i][1], c) for i, c in zip(chosen, colors, strict=True)])


def _texts(missing: str, rng: np.random.Generator) -> tuple[list[int], str, str, str]:
    """Return the colours of the landmarks, the whole instruction, the vague one, and the answer."""
    new, one, other = (int(c) for c in rng.permutation(np.arange(1, 7))[:3])
    c, d = COLOR_NAMES[new], COLOR_NAMES[one]
    n, way = _NUMBERS[int(rng.integers(3))], _WAYS[int(rng.integers(4))]
    verb = ("Place", "Put", "Add")[int(rng.integers(3))]
    side = f"directly {way} of the {d} block"
    if missing == "color":
        where = (f"on top of the {d} block", side)[int(rng.integers(2))]
        return [one, other], f"{verb} a {c} block {where}.", f"{verb} a block {where}.", c
    if missing == "height":
        where = f"on top of the {d} block"
        return (
            [one, other],
            f"Build a {c} tower of {n} {where}.",
            f"Build a {c} tower {where}.",
            f"{n} blocks high",
        )
    if missing == "place":
        return [one, other], f"{verb} a {c} block {side}.", f"{verb} a {c} block.", side
    if missing == "count":
        where = f"on top of the {d} block"
        return [one, other], f"Stack {n} {c} blocks {where}.", f"Stack some {c} blocks {where}.", n
    if missing == "direction":
        where = "from the centre, on the ground"
        return (
            [],
            f"Build a {c} row of {n} {way} {where}.",
            f"Build a {c} row of {n} {where}.",
            f"to the {way}",
        )
    act = ("Remove", "Recolour")[int(rng.integers(2))]
    rest = "." if act == "Remove" else f" in {c}."
    return (
        [one, one, other],
        f"{act} the {way}ernmost {d} block{rest}",
        f"{act} the {d} block{rest}",
        f"the {way}ern one",
    )


def make_case(missing: str, rng: np.random.Generator) -> Case:
    """Return a case whose whole instruction leads to one world."""
    while True:
        colors, whole, vague, answer = _texts(missing, rng)
        start = _landmarks(rng, colors) if colors else np.zeros((9, 11, 11), np.int8)
        program = parse(whole)
        if isinstance(program, Failure):
            raise AssertionError(f"{whole!r} is not understood: {program}")
        found = outcomes(program, start, Context(yaw_deg=0.0))
        if not isinstance(found, Failure) and len(found) == 1:
            return Case(missing, start, whole, vague, answer, found[0].grid)


def _settled(heard: Understanding, goal: Grid) -> bool:
    return not isinstance(heard.found, Failure) and bool(np.array_equal(heard.found[0].grid, goal))


def talk(case: Case, text: str, answer: Callable[[str], str | None]) -> dict[str, Any]:
    """Play one dialogue; return what was asked, the number of utterances, and whether the final world is right."""
    context = Context(yaw_deg=0.0)
    heard = understand(text, case.start, context)
    asked: list[str] = []
    turns = 1
    while isinstance(heard.found, Failure) and turns < MAX_TURNS:
        missing = heard.found.missing or "nothing"
        asked.append(missing)
        reply = answer(missing)
        turns += 1
        if reply is None:
            break
        turns += 1
        following = understand_answer(heard, reply, case.start, context)
        if following is None:
            break
        heard = following
    return {
        "asked": bool(asked),
        "about": case.missing in asked[:1],
        "used": bool(asked) and not isinstance(heard.found, Failure),
        "success": _settled(heard, case.goal),
        "turns": turns,
    }


def guessed(case: Case, rng: np.random.Generator) -> bool:
    """Whether a builder that picks one of the candidates without asking is right."""
    heard = understand(case.vague, case.start, Context(yaw_deg=0.0))
    if not isinstance(heard.found, Failure):
        return _settled(heard, case.goal)
    if not heard.found.choices:
        return False
    choice = heard.found.choices[int(rng.integers(len(heard.found.choices)))]
    changed = np.argwhere(case.start != case.goal)
    cells = {(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in changed}
    return set(choice) == cells


def rates(count: int, seed: int) -> dict[str, dict[str, float]]:
    """Return rates by the missing piece of information."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number in range(count):
        case = make_case(MISSING[number % len(MISSING)], rng)

        def reply(missing: str, case: Case = case) -> str | None:
            return case.answer if missing == case.missing else None

        row = talk(case, case.vague, reply)
        control = talk(case, case.whole, lambda missing: None)
        row |= {"needless": control["asked"], "whole": control["success"], "guess": guessed(case, rng)}
        rows[case.missing].append(row)
    rows["all"] = [row for part in list(rows.values()) for row in part]
    return {
        name: {key: round(float(np.mean([row[key] for row in part])), 3) for key in part[0]}
        | {"cases": len(part)}
        for name, part in rows.items()
    }
