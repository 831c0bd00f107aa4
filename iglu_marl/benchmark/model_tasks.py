"""Tasks of the benchmark of language models: what an architect says in each round of a game, and what it means.

Each maker samples a game from a generator. A cell is (x, y, z) with north at -z and the ground at y = -1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, Cell, blocks_to_grid, in_zone
from iglu_marl.text.rounds import InstructedRound

Rng = np.random.Generator
Blocks = dict[Cell, int]
WAYS: Mapping[str, tuple[int, int]] = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
_ORDER = tuple(WAYS)
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
_TURNS = {"left": -1, "right": 1}
OF_A_COLOR = 20  # blocks that a builder has


class RoundsGame(NamedTuple):
    """Rounds of a game. unit: what it has in common with other games (a structure, a session), for intervals."""

    rounds: tuple[InstructedRound, ...]
    unit: str = ""


Maker = Callable[[Rng], RoundsGame]


def _grid(blocks: Mapping[Cell, int]) -> BlockGrid:
    return blocks_to_grid([(*cell, color) for cell, color in blocks.items()]).astype(np.int8)


def _round(
    text: str, start: Blocks, target: Blocks, answer: str = "", needed: bool | None = None
) -> InstructedRound:
    """Return a round in which questions are needed, needless (None: with an answer), or have no use (no answer)."""
    ask: Literal["needed", "needless"] = (
        "needed" if (bool(answer) if needed is None else needed) else "needless"
    )
    return InstructedRound(text, _grid(start), _grid(target), answer, ask, not answer)


def _place(x: int, z: int) -> str:
    """Return a column as text: "2 blocks east and 1 block north of the centre"."""
    sides = ((x, "east" if x > 0 else "west"), (z, "south" if z > 0 else "north"))
    parts = [f"{abs(number)} block{'s' * (abs(number) > 1)} {side}" for number, side in sides if number]
    return f"{' and '.join(parts)} of the centre" if parts else "at the centre"


def _a(color: int) -> str:
    name = COLOR_NAMES[color]
    return f"a{'n' * (name[0] in 'aeiou')} {name} block"


def _number(rng: Rng, low: int, high: int) -> int:
    """Return an integer low..high."""
    return int(rng.integers(low, high + 1))


def _way(rng: Rng) -> str:
    return _ORDER[_number(rng, 0, 3)]


def _color(rng: Rng, *others: int) -> int:
    return int(rng.choice([color for color in range(1, 7) if color not in others]))


def _side(rng: Rng) -> str:
    return ("left", "right")[_number(rng, 0, 1)]


def _turned(way: str, turn: int) -> str:
    """Return a direction after quarter turns to the right."""
    return _ORDER[(_ORDER.index(way) + turn) % 4]


def _beside(cell: Cell, way: str, steps: int = 1) -> Cell:
    return cell[0] + steps * WAYS[way][0], cell[1], cell[2] + steps * WAYS[way][1]


def _scattered(rng: Rng, count: int) -> list[Cell]:
    """Return cells on the ground that are at least 3 apart in x or z."""
    cells: list[Cell] = []
    while len(cells) < count:
        x, z = _number(rng, -4, 4), _number(rng, -4, 4)
        if all(max(abs(x - a), abs(z - b)) >= 3 for a, _, b in cells):
            cells.append((x, -1, z))
        elif rng.random() < 0.02:  # the first ones may leave no room
            cells.clear()
    return cells


def clarification(rng: Rng) -> RoundsGame:
    """Four instructions: two that are complete, although one names its colour indirectly, and two that are not."""
    cells = _scattered(rng, 6)
    colors = [int(color) for color in rng.permutation(range(1, 7))[:5]]
    world: Blocks = dict(zip(cells, [*colors, colors[0]], strict=True))  # the first and the last look alike
    singles, rounds = cells[1:-1], []
    for kind in rng.permutation([0, 1, 2, _number(rng, 3, 5)]).tolist():
        base, color, way = singles.pop(), _color(rng, colors[0]), _way(rng)
        while (side := _beside(base, way)) in world or not in_zone(*side):
            way = _way(rng)
        top, on_ground = (base[0], 0, base[2]), f"{_a(color)} on the ground"
        where, count = f"the one {_place(base[0], base[2])}", _number(rng, 2, 4)
        twin = (cells[0], cells[-1])[_number(rng, 0, 1)]
        text, answer, new = {
            0: (f"Put another block of the same colour on top of {where}.", "", {top: world[base]}),
            1: (f"Put {on_ground}, directly {way} of {where}.", "", {side: color}),
            2: (f"Put {on_ground}, right beside {where}.", f"To the {way} of it.", {side: color}),
            3: (
                f"Put a block on the ground, directly {way} of {where}.", f"It is {COLOR_NAMES[color]}.", {side: color}
            ),
            4: (
                f"Stack some {COLOR_NAMES[color]} blocks on {where}.", f"{_NUMBERS[count].title()} of them.",
                {(base[0], step, base[2]): color for step in range(count)},
            ),
            5: (
                f"Put {_a(color)} on top of the {COLOR_NAMES[colors[0]]} one.",
                f"I mean the one {_place(twin[0], twin[2])}.", {(twin[0], 0, twin[2]): color},
            ),
        }[kind]  # fmt: skip
        rounds.append(_round(text, world, world | new, answer))
        world |= new
    return RoundsGame(tuple(rounds))


_SPOTS = {
    "in the bottom left corner": (-4, 4), "in the bottom right corner": (4, 4), "in the top left corner": (-4, -4),
    "in the top right corner": (4, -4), "on the middle square": (0, 0), "in the middle of the left side": (-4, 0),
    "in the middle of the right side": (4, 0), "in the middle of the top side": (0, -4),
    "in the middle of the bottom side": (0, 4),
}  # fmt: skip
_RULES = (
    "We build on a board of 9 by 9 squares around the centre; its top is north, its left is west. A right build counts "
    "10 points, a wrong one -10, each question -5. "
)


def two_speakers(rng: Rng) -> RoundsGame:
    """Forty trials of two speakers after *Build What I Mean*: eight complete and twelve underspecified ones of each.

    What Pia leaves out (a colour or a number) is that of the stack on the board. What Lisa leaves out is so in four of
    twelve trials.
    """
    kinds = {"Pia": ["full"] * 6 + ["as seen"] * 12, "Lisa": ["full"] * 6 + ["as seen"] * 4 + ["other"] * 8}
    rounds: list[InstructedRound] = []
    for speaker in rng.permutation(list(kinds)).tolist():
        for kind in ["full", "full", *rng.permutation(kinds[speaker]).tolist()]:
            (_, (a, b)), (spot, (x, z)) = (list(_SPOTS.items())[at] for at in rng.permutation(9)[:2].tolist())
            seen_color, seen = _color(rng), _number(rng, 2, 4)
            color = seen_color if kind == "as seen" else _color(rng, seen_color)
            count = seen if kind == "as seen" else int(rng.choice([n for n in (2, 3, 4, 5) if n != seen]))
            words = [_NUMBERS[count], COLOR_NAMES[color], "blocks"]
            left_out = "" if kind == "full" else words.pop(_number(rng, 0, 1))
            text = f"{'' if rounds else _RULES}{speaker}: Stack {' '.join(words)} {spot} of the board."
            start = {(a, step - 1, b): seen_color for step in range(seen)}
            target = start | {(x, step - 1, z): color for step in range(count)}
            needed = bool(left_out) and speaker == "Lisa"
            answer = left_out and f"{speaker}: {left_out.title()}."
            rounds.append(_round(text, start, target, answer, needed)._replace(guess=kind != "other"))
    return RoundsGame(tuple(rounds))


def viewpoint(rng: Rng) -> RoundsGame:
    """One block, whose place is given from somebody's point of view."""
    while True:
        cells = _scattered(rng, 4)
        colors = [int(color) for color in rng.permutation(range(1, 7))[:4]]
        world: Blocks = dict(zip(cells, colors, strict=True))
        name, other = COLOR_NAMES[colors[0]], COLOR_NAMES[colors[1]]
        (x, y, z), color, way, side = cells[0], _color(rng), _way(rng), _side(rng)
        ahead, aside = _number(rng, 1, 4), _number(rng, 2, 4)
        match _number(rng, 0, 4):
            case 0:
                then, last = _turned(way, _TURNS[side]), _side(rng)
                cell = _beside(_beside(cells[0], way, ahead), then, aside)
                cell = _beside(cell, _turned(then, _TURNS[last]))
                text = (
                    f"Go on foot: start on the square of the {name} block and look {way}. Walk {_NUMBERS[ahead]}, turn "
                    f"{side}, walk {_NUMBERS[aside]}, turn {last}, walk one. Leave {_a(color)} on the ground there."
                )
            case 1:
                turns = {"to the left of": -1, "to the right of": 1, "behind": 0, "in front of": 2}
                seen = list(turns)[_number(rng, 0, 3)]
                cell = _beside(cells[0], _turned(way, turns[seen]), aside)
                text = (
                    f"I sit at the {_turned(way, 2)} edge of the board and look {way}. As I see it, {_a(color)} "
                    f"belongs on the ground, {_NUMBERS[aside]} squares {seen} the {name} one."
                )
            case 2:
                a, b = cells[1][0] - x, cells[1][2] - z
                if a and b:
                    continue
                way = next(name for name, (east, south) in WAYS.items() if east * a + south * b > 0)
                cell = _beside(cells[0], _turned(way, _TURNS[side]), aside)
                text = (
                    f"If you sat on the {name} block and looked at the {other} one, {_a(color)} would be on the ground "
                    f"{_NUMBERS[aside]} squares to your {side}. Put it there."
                )
            case 3:
                cell = (-z, y, x)
                text = (
                    f"Turn the board by a quarter clockwise in your mind, seen from above: the {name} block moves to "
                    f"another square. Put {_a(color)} on that square, on the ground, as the board stands now."
                )
            case _:
                cell = (-x, y, z)
                text = (
                    f"Where would the {name} block be if the board were mirrored so that east and west swap? Put "
                    f"{_a(color)} there, on the ground."
                )
        if in_zone(*cell) and cell not in world:
            return RoundsGame((InstructedRound(text, _grid(world), _grid(world | {cell: color})),))


def in_view(rng: Rng) -> RoundsGame:
    """One block beside a block that is named by its place in the builder's view, from an edge of the zone."""
    while True:
        cells, way = _scattered(rng, 4), _way(rng)
        world: Blocks = {cell: _color(rng) for cell in cells}
        ahead, right = np.array(WAYS[way]), np.array(WAYS[_turned(way, 1)])
        places = np.array([(x, z) for x, _, z in cells]) + 4 * ahead
        depth, aside = places @ ahead, places @ right
        if not ((depth > 1) & (abs(aside) <= 0.8 * depth)).all():
            continue
        measures = {"leftmost": (aside, aside / depth), "nearest": (depth, np.hypot(depth, aside))}
        measures |= {"rightmost": (-aside, -aside / depth), "farthest": (-depth, -np.hypot(depth, aside))}
        name = list(measures)[_number(rng, 0, 3)]
        first = {
            int(number) for measure in measures[name] for number in np.flatnonzero(measure == measure.min())
        }
        if len(first) > 1:  # on the ground, and in the picture
            continue
        base = cells[first.pop()]
        turns = {"to the left of": -1, "to the right of": 1, "behind": 0, "in front of": 2}
        seen, color = list(turns)[_number(rng, 0, 3)], _color(rng)
        cell = _beside(base, _turned(way, turns[seen]))
        if in_zone(*cell) and cell not in world:
            text = f"Put {_a(color)} on the ground, directly {seen} the {name} block, as you see it."
            (x, z), yaw = (-4 * ahead).tolist(), 90.0 * _ORDER.index(way)
            made = InstructedRound(
                text, _grid(world), _grid(world | {cell: color}), pose=(x, 0.0, z, yaw, -15.0)
            )
            return RoundsGame((made,))


def large(rng: Rng) -> RoundsGame:
    """A structure of 20 to 50 blocks in one message: two parts, and sometimes a mirror image of all."""
    makers = (_walls, _chessboard, _stairs)
    while True:
        parts = [part(rng) for part in (makers[n] for n in rng.permutation(3)[:2].tolist())]
        texts, blocks = [text for text, _ in parts], parts[0][1] | parts[1][1]
        size = sum(len(made) for _, made in parts)
        if rng.random() < 0.5:
            color = _color(rng)
            texts.append(
                "When it stands, mirror the whole across the north-south line through the centre, so that everything "
                f"appears a second time on the other side, but all in {COLOR_NAMES[color]}."
            )
            blocks, size = blocks | {(-x, y, z): color for x, y, z in blocks}, 2 * size
        most = np.bincount(list(blocks.values())).max()
        if (
            len(blocks) == size
            and 20 <= size <= 50
            and most <= OF_A_COLOR
            and all(in_zone(*cell) for cell in blocks)
        ):
            return RoundsGame((InstructedRound(" ".join(texts), _grid({}), _grid(blocks)),))


def _walls(rng: Rng) -> tuple[str, Blocks]:
    x, z, color = _number(rng, -5, 3), _number(rng, -5, 3), _color(rng)
    wide, deep, high = _number(rng, 3, 4), _number(rng, 3, 5), _number(rng, 1, 2)
    edge = [(a, b) for a in range(wide) for b in range(deep) if a in (0, wide - 1) or b in (0, deep - 1)]
    return (
        f"Build the four walls of a room without a roof: {wide} from west to east, {deep} from north to south on the "
        f"outside, {high} high, of {COLOR_NAMES[color]}; its north-west corner is the column {_place(x, z)}."
    ), {(x + a, y - 1, z + b): color for a, b in edge for y in range(high)}


def _chessboard(rng: Rng) -> tuple[str, Blocks]:
    x, z, first = _number(rng, -5, 3), _number(rng, -5, 3), _color(rng)
    second, wide, deep = _color(rng, first), _number(rng, 3, 4), _number(rng, 3, 5)
    return (
        f"Lay a floor like a chessboard, {wide} from west to east by {deep} from north to south, of "
        f"{COLOR_NAMES[first]} and {COLOR_NAMES[second]}; its north-west corner, {_place(x, z)}, is "
        f"{COLOR_NAMES[first]}."
    ), {(x + a, -1, z + b): (first, second)[(a + b) % 2] for a in range(wide) for b in range(deep)}


def _stairs(rng: Rng) -> tuple[str, Blocks]:
    x, z, color, way, steps = (
        _number(rng, -5, 5),
        _number(rng, -5, 5),
        _color(rng),
        _way(rng),
        _number(rng, 3, 5),
    )
    (a, b), edge = WAYS[way], _color(rng, color)
    return (
        f"Make a staircase that climbs to the {way}, {steps} steps, one wide, solid down to the ground. Its lowest "
        f"step is {_place(x, z)}. The top block of each step is {COLOR_NAMES[edge]}, all below {COLOR_NAMES[color]}."
    ), {(x + a * n, y - 1, z + b * n): color if y < n else edge for n in range(steps) for y in range(n + 1)}


def partners(rng: Rng) -> RoundsGame:
    """Eight instructions of a partner who is terse, makes mistakes, and leaves out what is needed once or twice."""
    x, z, color = _number(rng, -2, 2), _number(rng, -2, 2), _color(rng)
    cell, world = (x, -1, z), {(x, -1, z): color}
    rounds = [_round(f"First {_a(color)} {_place(x, z)}, on the ground.", {}, world)]
    orders = [("on", "up"), ("same",), ("next", "sorry"), ("which side",), ("which color",)]
    for manner in [part for order in rng.permutation(len(orders)).tolist() for part in orders[order]]:
        while True:
            color, way, steps = _color(rng, world[cell]), _way(rng), _number(rng, 1, 2)
            name, kept = COLOR_NAMES[color], COLOR_NAMES[world[cell]]
            beside, up = f"directly {way} of the last one", (cell[0], cell[1] + 1, cell[2])
            text, answer, new, color = {
                "on": (f"{name} on that.", "", up, color),
                "up": (f"one up, {name}.", "", up, color),
                "same": (f"same, {steps} {way}.", "", _beside(cell, way, steps), world[cell]),
                "next": (f"Next {_a(color)}, two {way} of that, equally high.", "", _beside(cell, way, 2), color),
                "sorry": (
                    f"Sorry, wrong: that {kept} one should be {name}, and one further {way}. The old place is empty.",
                    "", _beside(cell, way), color,
                ),
                "which side": (
                    f"Then one more right next to it, in {name}.", f"It goes {beside}.", _beside(cell, way), color
                ),
                "which color": (f"Now something {beside}, equally high.", f"In {name}.", _beside(cell, way), color),
            }[manner]  # fmt: skip
            if new not in world and in_zone(*new) and new[1] < 4:
                break
        before = dict(world)
        if manner == "sorry":
            del world[cell]
        cell, world[new] = new, color
        rounds.append(_round(text, before, world, answer))
    return RoundsGame(tuple(rounds))
