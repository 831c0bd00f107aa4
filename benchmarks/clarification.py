"""How a builder copes with instructions that leave something open: `python -m benchmarks.clarification --count 300`.

An instruction that can be carried out is robbed of one thing: a colour, height, place, number, direction, or of what
tells one thing from others like it. Was a question asked, was it about the missing thing, was the answer used, is the
world right in the end, and how many utterances did it take? The control is the whole instruction, about which nothing
has to be asked, and `--guess`, a builder that never asks and takes any of what would fit.

With `--data PACK` (the IGLU single-turn data) also when people asked: of the instructions that an annotator found clear
or not, how well "there is something to ask" tells the unclear ones (F1), beside "always ask".
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track
from rich.table import Table

from iglu_marl.core.grid import COLOR_NAMES, blocks_to_grid
from iglu_marl.data import SingleturnDataset
from iglu_marl.language import Context, Failure, outcomes, parse
from iglu_marl.language.repair import Understanding, answered, understand

Grid = npt.NDArray[np.int8]
MAX_TURNS = 6
MISSING = ("color", "height", "place", "count", "direction", "referent")
_NUMBERS = ("two", "three", "four")
_WAYS = ("north", "east", "south", "west")


@dataclass(frozen=True)
class Case:
    """One instruction: whole, robbed of one thing, and what an architect answers when that is asked for."""

    missing: str
    start: Grid
    whole: str
    vague: str
    answer: str
    goal: Grid


def _landmarks(rng: np.random.Generator, colors: list[int]) -> Grid:
    """Single blocks of these colours on the ground, with room around each of them."""
    spots = [(x, z) for x in (-4, 0, 4) for z in (-4, 0, 4)]
    chosen = rng.choice(len(spots), len(colors), replace=False)
    return blocks_to_grid([(spots[i][0], -1, spots[i][1], c) for i, c in zip(chosen, colors, strict=True)])


def _texts(missing: str, rng: np.random.Generator) -> tuple[list[int], str, str, str]:
    """The colours of the landmarks, the whole instruction, the robbed one, and the answer."""
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
    """A case that lacks this thing; its whole instruction leads to one world."""
    while True:
        colors, whole, vague, answer = _texts(missing, rng)
        start = _landmarks(rng, colors) if colors else np.zeros((9, 11, 11), np.int8)
        told = parse(whole)
        if isinstance(told, Failure):
            raise AssertionError(f"{whole!r} is not understood: {told}")
        found = outcomes(told, start, Context(yaw_deg=0.0))
        if not isinstance(found, Failure) and len(found) == 1:
            return Case(missing, start, whole, vague, answer, found[0].grid)


def _settled(heard: Understanding, goal: Grid) -> bool:
    return not isinstance(heard.found, Failure) and bool(np.array_equal(heard.found[0].grid, goal))


def talk(case: Case, text: str, answer: Callable[[str], str | None]) -> dict[str, Any]:
    """One dialogue: what was asked for, in how many utterances, and whether the world is right in the end."""
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
        following = answered(heard, reply, case.start, context)
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
    """Whether a builder that never asks is right: it takes any of the things that fit."""
    heard = understand(case.vague, case.start, Context(yaw_deg=0.0))
    if not isinstance(heard.found, Failure):
        return _settled(heard, case.goal)
    if not heard.found.choices:
        return False
    choice = heard.found.choices[int(rng.integers(len(heard.found.choices)))]
    changed = np.argwhere(case.start != case.goal)
    cells = {(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in changed}
    return set(choice) == cells


def synthetic(count: int, seed: int, console: Console) -> dict[str, dict[str, float]]:
    """Shares by what is missing: asked, about the missing thing, answer used, success, turns, and the controls."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number in track(range(count), "talking", console=console, transient=True):
        case = make_case(MISSING[number % len(MISSING)], rng)

        def told(missing: str, case: Case = case) -> str | None:
            return case.answer if missing == case.missing else None

        row = talk(case, case.vague, told)
        control = talk(case, case.whole, lambda missing: None)
        row |= {"needless": control["asked"], "whole": control["success"], "guess": guessed(case, rng)}
        rows[case.missing].append(row)
    rows["all"] = [row for part in list(rows.values()) for row in part]
    return {
        name: {key: round(float(np.mean([row[key] for row in part])), 3) for key in part[0]}
        | {"cases": len(part)}
        for name, part in rows.items()
    }


def people(path: str, console: Console) -> dict[str, Any]:
    """Clear and unclear instructions of people: precision, recall and F1 of asking, and of asking always."""
    data = SingleturnDataset(path=path, progress=False, target="original")
    told: list[tuple[bool, bool]] = []
    for game in track(list(data.games.values()), "reading", console=console, transient=True):
        start = data.worlds.get(game.start_path)
        if start is not None:
            heard = understand(game.instruction, np.asarray(start), Context())
            told.append((not game.clear, isinstance(heard.found, Failure)))
    unclear, asks = (np.array(column) for column in zip(*told, strict=True))

    def scores(asked: npt.NDArray[np.bool_]) -> dict[str, float]:
        right = int((asked & unclear).sum())
        precision, recall = right / max(1, int(asked.sum())), right / max(1, int(unclear.sum()))
        both = precision + recall
        f1 = 2 * precision * recall / both if both else 0.0
        return {"precision": round(precision, 3), "recall": round(recall, 3), "f1_unclear": round(f1, 3)}

    always = np.ones_like(asks)
    return {
        "instructions": len(told),
        "unclear": int(unclear.sum()),
        "asked": int(asks.sum()),
        **scores(asks),
        "always_ask": scores(always),
    }


def main(arguments: list[str] | None = None) -> int:
    """Talk, count, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clarification", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="synthetic cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", help="the single-turn data, for the questions of people")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    args = parser.parse_args(arguments)
    console = Console(stderr=True, quiet=args.json and not sys.stderr.isatty())
    figures: dict[str, Any] = {"synthetic": synthetic(args.count, args.seed, console)}
    if args.data:
        figures["people"] = people(args.data, console)
    if args.json:
        print(json.dumps(figures))
        return 0
    columns = ("cases", "asked", "about", "used", "success", "turns", "guess", "needless", "whole")
    table = Table("missing", *columns)
    for name, row in figures["synthetic"].items():
        table.add_row(name, *(f"{row[key]:g}" for key in columns))
    Console().print(table)
    if "people" in figures:
        Console().print(figures["people"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
