"""Tasks of the benchmark of language models: what an architect says in each round of a game, and what it means.

Each maker samples one game from a generator. Directions are words of the map; a cell is (x, y, z) with north at -z and
the ground at y = -1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, Cell, blocks_to_grid, in_zone
from iglu_marl.text.rounds import Round

Blocks = dict[Cell, int]
WAYS: Mapping[str, tuple[int, int]] = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
_ORDER = tuple(WAYS)
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
OF_A_COLOR = 20  # blocks that a builder has


class Game(NamedTuple):
    """Rounds of a game, and what its games have in common with others, for intervals."""

    rounds: tuple[Round, ...]
    unit: str = ""


Maker = Callable[[np.random.Generator], Game]


def grid_of(blocks: Mapping[Cell, int]) -> BlockGrid:
    """Return the world of these blocks, int8 [9, 11, 11]."""
    return blocks_to_grid([(*cell, color) for cell, color in blocks.items()]).astype(np.int8)


def place(x: int, z: int) -> str:
    """Return a column as text: "2 blocks east and 1 block north of the centre"."""
    parts = [
        f"{abs(number)} block{'s' * (abs(number) > 1)} {ways[number < 0]}"
        for number, ways in ((x, ("east", "west")), (z, ("south", "north")))
        if number
    ]
    return f"{' and '.join(parts)} of the centre" if parts else "at the centre"


def _number(rng: np.random.Generator, low: int, high: int) -> int:
    """Return an integer low..high."""
    return int(rng.integers(low, high + 1))


def _way(rng: np.random.Generator) -> str:
    return _ORDER[int(rng.integers(4))]


def _color(rng: np.random.Generator, *others: int) -> int:
    return int(rng.choice([color for color in range(1, 7) if color not in others]))


def _a(color: int) -> str:
    name = COLOR_NAMES[color]
    return f"a{'n' * (name[0] in 'aeiou')} {name} block"


def _beside(cell: Cell, way: str, steps: int = 1) -> Cell:
    return cell[0] + steps * WAYS[way][0], cell[1], cell[2] + steps * WAYS[way][1]


def _spread(rng: np.random.Generator, count: int, reach: int = 4, gap: int = 3) -> list[Cell]:
    """Return cells on the ground that are at least `gap` apart in x or z."""
    while True:
        cells: list[Cell] = []
        for _ in range(60):
            x, z = (int(number) for number in rng.integers(-reach, reach + 1, 2))
            if all(max(abs(x - a), abs(z - b)) >= gap for a, _, b in cells):
                cells.append((x, -1, z))
            if len(cells) == count:
                return cells


# ------------------------------------------------------------------------------------------------------- questions


def clarification(rng: np.random.Generator) -> Game:
    """Four instructions: two that are complete, although one names its colour indirectly, and two that are not."""
    cells = _spread(rng, 6)
    colors = [int(color) for color in rng.permutation(range(1, 7))[:5]]
    world: Blocks = dict(zip(cells, [*colors, colors[0]], strict=True))  # the first and the last look alike
    twins, single, rounds = (cells[0], cells[-1]), cells[1:-1], []
    for kind in rng.permutation([0, 1, 2, int(rng.integers(3, 5))]).tolist():
        before = dict(world)
        text, answer = _request(rng, world, twins, single.pop(), kind)
        ask, complete = ("needless", True) if kind < 2 else ("needed", False)
        rounds.append(Round(text, grid_of(before), grid_of(world), answer, ask, complete))  # type: ignore[arg-type]
    return Game(tuple(rounds))


def _request(
    rng: np.random.Generator, world: Blocks, twins: tuple[Cell, Cell], base: Cell, kind: int
) -> tuple[str, str]:
    """Change the world, and return the instruction and the answer to a question."""
    color, way, where = _color(rng, world[twins[0]]), _way(rng), place(base[0], base[2])
    while (side := _beside(base, way)) in world or not in_zone(*side):
        way = _way(rng)
    top = (base[0], base[1] + 1, base[2])
    match kind:
        case 0:
            world[top] = world[base]
            return f"Put another block of the same colour on top of the one {where}.", ""
        case 1:
            world[side] = color
            return f"Put {_a(color)} on the ground, directly {way} of the one {where}.", ""
        case 2 if rng.random() < 0.5:
            world[side] = color
            return (
                f"Put a block on the ground, directly {way} of the one {where}.",
                f"It is {COLOR_NAMES[color]}.",
            )
        case 2:
            world[side] = color
            return f"Put {_a(color)} on the ground, right beside the one {where}.", f"To the {way} of it."
        case 3:
            count = _number(rng, 2, 4)
            world.update({(top[0], top[1] + step, top[2]): color for step in range(count)})
            return (
                f"Stack some {COLOR_NAMES[color]} blocks on the one {where}.",
                f"{_NUMBERS[count].title()} of them.",
            )
    x, y, z = twins[int(rng.integers(2))]
    world[(x, y + 1, z)] = color
    name = COLOR_NAMES[world[twins[0]]]
    return f"Put {_a(color)} on top of the {name} one.", f"I mean the one {place(x, z)}."


_SPOTS = {
    f"{name} of the board": (4 * x, 4 * z)
    for name, (x, z) in {
        "in the bottom left corner": (-1, 1), "in the bottom right corner": (1, 1), "in the top left corner": (-1, -1),
        "in the top right corner": (1, -1), "on the middle square": (0, 0), "in the middle of the left side": (-1, 0),
        "in the middle of the right side": (1, 0), "in the middle of the top side": (0, -1),
        "in the middle of the bottom side": (0, 1),
    }.items()
}  # fmt: skip
_RULES = (
    "We build on a board of 9 by 9 squares around the centre; its top is north, its left is west. A right build counts "
    "10 points, a wrong one -10, each question -5."
)


def two_speakers(rng: np.random.Generator) -> Game:
    """Forty trials of two speakers after *Build What I Mean*: eight complete and twelve underspecified ones of each.

    What Pia leaves out (a colour or a number) is that of the structure on the board. What Lisa leaves out is so in four
    of twelve trials.
    """
    kinds = {"Pia": ["full"] * 6 + ["as seen"] * 12, "Lisa": ["full"] * 6 + ["as seen"] * 4 + ["other"] * 8}
    rounds = []
    for speaker in rng.permutation(list(kinds)).tolist():
        for kind in ["full", "full", *rng.permutation(kinds[speaker]).tolist()]:
            rounds.append(_trial(rng, speaker, kind, first=not rounds))
    return Game(tuple(rounds))


def _trial(rng: np.random.Generator, speaker: str, kind: str, first: bool) -> Round:
    """Return a trial: a stack stands on the board, another one is to be built."""
    (_, (a, b)), (spot, (x, z)) = (
        list(_SPOTS.items())[number] for number in rng.permutation(len(_SPOTS))[:2].tolist()
    )
    seen_color, seen_count = _color(rng), _number(rng, 2, 4)
    color = seen_color if kind == "as seen" else _color(rng, seen_color)
    count = seen_count if kind == "as seen" else int(rng.choice([n for n in (2, 3, 4, 5) if n != seen_count]))
    shown = (f"{_NUMBERS[count]} ", f"{COLOR_NAMES[color]} ")
    left_out = -1 if kind == "full" else _number(rng, 0, 1)
    words = "".join(word for number, word in enumerate(shown) if number != left_out)
    text = f"{speaker}: Stack {words}blocks {spot}."
    start = {(a, step - 1, b): seen_color for step in range(seen_count)}
    target = start | {(x, step - 1, z): color for step in range(count)}
    answer = f"{speaker}: {shown[left_out].strip().title()}." if left_out >= 0 else ""
    needed = kind != "full" and speaker == "Lisa"
    return Round(
        f"{_RULES} {text}" if first else text, grid_of(start), grid_of(target), answer,
        "needed" if needed else "needless", kind != "other",
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------ viewpoints

_TURNS = {"left": -1, "right": 1}


def _turned(way: str, turn: int) -> str:
    return _ORDER[(_ORDER.index(way) + turn) % 4]


def viewpoint(rng: np.random.Generator) -> Game:
    """One block, whose place is given from somebody's point of view."""
    while True:
        cells = _spread(rng, 4)
        colors = [int(color) for color in rng.permutation(range(1, 7))[:4]]
        world: Blocks = dict(zip(cells, colors, strict=True))
        color = _color(rng)
        maker = (_walk, _opposite, _facing, _board_turned)[int(rng.integers(4))]
        text, cell = maker(rng, cells, [COLOR_NAMES[one] for one in colors])
        if in_zone(*cell) and cell not in world:
            return Game((Round(text.format(_a(color)), grid_of(world), grid_of(world | {cell: color})),))


def _walk(rng: np.random.Generator, cells: list[Cell], names: list[str]) -> tuple[str, Cell]:
    way, side = _way(rng), ("left", "right")[int(rng.integers(2))]
    ahead, aside = _number(rng, 1, 4), _number(rng, 1, 4)
    last = ("left", "right")[int(rng.integers(2))]
    then = _turned(way, _TURNS[side])
    cell = _beside(_beside(_beside(cells[0], way, ahead), then, aside), _turned(then, _TURNS[last]))
    return (
        f"Go on foot: start on the square of the {names[0]} block and look {way}. Walk {_NUMBERS[ahead]} squares, turn "
        f"{side}, walk {_NUMBERS[aside]}, turn {last}, walk one more. Leave {{}} on the ground where you arrive."
    ).replace("one squares", "one square"), cell


def _opposite(rng: np.random.Generator, cells: list[Cell], names: list[str]) -> tuple[str, Cell]:
    looks, steps = _way(rng), _number(rng, 1, 3)
    sides = {"to the left of": -1, "to the right of": 1, "behind": 0, "in front of": 2}
    side = list(sides)[int(rng.integers(4))]
    return (
        f"I sit at the {_turned(looks, 2)} edge of the board and look {looks}, while you look north. As I see it, {{}} "
        f"belongs on the ground, {_NUMBERS[steps]} squares {side} the {names[0]} one."
    ).replace("one squares", "one square"), _beside(cells[0], _turned(looks, sides[side]), steps)


def _facing(rng: np.random.Generator, cells: list[Cell], names: list[str]) -> tuple[str, Cell]:
    x, _, z = (after - before for before, after in zip(cells[0], cells[1], strict=True))
    side, steps = ("left", "right")[int(rng.integers(2))], _number(rng, 1, 3)
    way = ("east" if x > 0 else "west") if abs(x) > abs(z) else ("south" if z > 0 else "north")
    clear = x == 0 or z == 0
    cell = _beside(cells[0], _turned(way, _TURNS[side]), steps) if clear else (99, 0, 0)
    return (
        f"If you sat on the {names[0]} block and looked at the {names[1]} one, {{}} would be on the ground "
        f"{_NUMBERS[steps]} squares to your {side}. Put it there."
    ).replace("one squares", "one square"), cell


def _board_turned(rng: np.random.Generator, cells: list[Cell], names: list[str]) -> tuple[str, Cell]:
    x, y, z = cells[0]
    if rng.random() < 0.5:
        return (
            f"Turn the board by a quarter clockwise in your mind, seen from above: the {names[0]} block moves "
            "to another square. Put {} on that square, on the ground, as the board stands now.",
            (-z, y, x),
        )
    return (
        f"Where would the {names[0]} block be if the board were mirrored so that east and west swap? Put {{}} there, "
        "on the ground.",
        (-x, y, z),
    )


# ----------------------------------------------------------------------------------------------- large structures


def large(rng: np.random.Generator) -> Game:
    """A structure of 20 to 50 blocks in one message: two parts, and sometimes a copy of all."""
    makers = (_walls, _checkered, _stairs, _pyramid, _window)
    while True:
        parts = [makers[number](rng) for number in rng.permutation(len(makers))[:2].tolist()]
        texts, blocks = [text for text, _ in parts], parts[0][1] | parts[1][1]
        overlap = len(blocks) < sum(len(made) for _, made in parts)
        if rng.random() < 0.4:
            color = _color(rng)
            texts.append(
                "When it stands, mirror the whole across the north-south line through the centre, so that everything "
                f"appears a second time on the other side, but all in {COLOR_NAMES[color]}."
            )
            copies = {(-x, y, z): color for x, y, z in blocks}
            overlap = overlap or bool(copies.keys() & blocks.keys())
            blocks |= copies
        most = max(list(blocks.values()).count(color) for color in range(1, 7))
        if (
            not overlap
            and 20 <= len(blocks) <= 50
            and most <= OF_A_COLOR
            and all(in_zone(*cell) for cell in blocks)
        ):
            return Game((Round(" ".join(texts), grid_of({}), grid_of(blocks)),))


def _corner(rng: np.random.Generator) -> tuple[int, int, str]:
    x, z = (int(number) for number in rng.integers(-5, 4, 2))
    return x, z, place(x, z).replace("at the centre", "the centre column")


def _walls(rng: np.random.Generator) -> tuple[str, Blocks]:
    (x, z, corner), color = _corner(rng), _color(rng)
    wide, deep, high = _number(rng, 3, 4), _number(rng, 3, 5), _number(rng, 1, 2)
    edge = [(a, b) for a in range(wide) for b in range(deep) if a in (0, wide - 1) or b in (0, deep - 1)]
    made = {(x + a, y - 1, z + b): color for a, b in edge for y in range(high)}
    return (
        f"Build the four walls of a room without a roof: {wide} from west to east, {deep} from north to south on the "
        f"outside, {high} high, of {COLOR_NAMES[color]}; its north-west corner is {corner}."
    ), made


def _checkered(rng: np.random.Generator) -> tuple[str, Blocks]:
    (x, z, corner), first = _corner(rng), _color(rng)
    second, wide, deep = _color(rng, first), _number(rng, 3, 4), _number(rng, 3, 5)
    made = {(x + a, -1, z + b): (first, second)[(a + b) % 2] for a in range(wide) for b in range(deep)}
    return (
        f"Lay a floor like a chessboard, {wide} from west to east by {deep} from north to south, of "
        f"{COLOR_NAMES[first]} and {COLOR_NAMES[second]}; the north-west corner is {COLOR_NAMES[first]} and {corner}."
    ), made


def _stairs(rng: np.random.Generator) -> tuple[str, Blocks]:
    (x, z, corner), color, way = _corner(rng), _color(rng), _way(rng)
    steps, (a, b) = _number(rng, 3, 4), WAYS[way]
    edge = _color(rng, color)
    made = {
        (x + a * step, y - 1, z + b * step): color if y < step else edge
        for step in range(steps)
        for y in range(step + 1)
    }
    return (
        f"Make a staircase that climbs to the {way}, {steps} steps, one wide, solid down to the ground. Its lowest "
        f"step is {corner}. The top block of each step is {COLOR_NAMES[edge]}, all below {COLOR_NAMES[color]}."
    ), made


def _pyramid(rng: np.random.Generator) -> tuple[str, Blocks]:
    x, z = (int(number) for number in rng.integers(-4, 5, 2))
    colors = _color(rng), _color(rng)
    made = {(x + a, -1, z + b): colors[0] for a in (-1, 0, 1) for b in (-1, 0, 1)}
    made |= {(x, y, z): colors[1] for y in range(_number(rng, 1, 3))}
    return (
        f"Make a monument: a base of 3 by 3 in {COLOR_NAMES[colors[0]]} around the column {place(x, z)}, and on its "
        f"middle a pillar of {_NUMBERS[len(made) - 9]} in {COLOR_NAMES[colors[1]]}."
    ).replace("column at the centre", "centre column"), made


def _window(rng: np.random.Generator) -> tuple[str, Blocks]:
    (x, z, corner), color = _corner(rng), _color(rng)
    wide, high, pane = 5, _number(rng, 3, 4), _color(rng, color)
    glass = {1: (x + 2, z)} if high == 3 else {1: (x + 2, z), 2: (x + 2, z)}
    made = {(x + a, y - 1, z): color for a in range(wide) for y in range(high)}
    made |= {(a, y - 1, b): pane for y, (a, b) in glass.items()}
    return (
        f"Put up a {COLOR_NAMES[color]} wall from west to east, {wide} long and {high} high, whose west end is "
        f"{corner}. In its middle column all blocks but the lowest and the highest are {COLOR_NAMES[pane]}."
    ), made


# --------------------------------------------------------------------------------------------------------- manners


def partners(rng: np.random.Generator) -> Game:
    """Seven instructions of a partner who is terse, makes mistakes, and leaves out what is needed once or twice."""
    x, z = (int(number) for number in rng.integers(-2, 3, 2))
    cell, color = (x, -1, z), _color(rng)
    world: Blocks = {cell: color}
    text = f"First {_a(color)} {place(x, z)}, on the ground."
    rounds = [Round(text, grid_of({}), grid_of(world), "", "needless")]
    manners = [(_tersely,), (_tersely,), (_further, _correction), (_vaguely,), (_vaguely,)]
    for manner in [part for number in rng.permutation(5).tolist() for part in manners[number]]:
        before, made = dict(world), None
        while made is None:
            world = dict(before)
            made = manner(rng, world, cell, any(one.ask == "needed" for one in rounds))
        text, answer, cell = made
        ask = "needed" if answer else "needless"
        rounds.append(Round(text, grid_of(before), grid_of(world), answer, ask, not answer))  # type: ignore[arg-type]
    return Game(tuple(rounds))


_Said = tuple[str, str, Cell]  # instruction, answer, and the block that is talked about


def _put(world: Blocks, cell: Cell, color: int) -> bool:
    """Place a block; False if it cannot stand there."""
    if cell in world or not in_zone(*cell) or cell[1] > 3:
        return False
    world[cell] = color
    return True


def _tersely(rng: np.random.Generator, world: Blocks, cell: Cell, asked: bool) -> _Said | None:
    color, way, steps = _color(rng), _way(rng), _number(rng, 1, 2)
    name, up = COLOR_NAMES[color], (cell[0], cell[1] + 1, cell[2])
    match _number(rng, 0, 3):
        case 0:
            return (f"{name} on that.", "", up) if _put(world, up, color) else None
        case 1:
            side = _beside(cell, way, steps)
            return (f"same, {steps} {way}.", "", side) if _put(world, side, world[cell]) else None
        case 2:
            return (f"one up, {name}.", "", up) if _put(world, up, color) else None
        case _:
            if world[cell] == color:
                return None
            world[cell] = color
            return f"make it {name}.", "", cell


def _vaguely(rng: np.random.Generator, world: Blocks, cell: Cell, asked: bool) -> _Said | None:
    color, way = _color(rng), _way(rng)
    side = _beside(cell, way)
    if not _put(world, side, color):
        return None
    name, where = COLOR_NAMES[color], f"directly {way} of the last one"
    if not asked:
        return f"Then one more next to it, in {name}.", f"It goes {where}.", side
    if rng.random() < 0.5:
        return f"Now something {where}, at the same height.", f"In {name}.", side
    return f"I would like {name} {where}, at the same height.", "", side


def _further(rng: np.random.Generator, world: Blocks, cell: Cell, asked: bool) -> _Said | None:
    color, way = _color(rng), _way(rng)
    side = _beside(cell, way, 2)
    text = f"Next comes {_a(color)} two blocks {way} of the last one, at the same height."
    return (text, "", side) if _put(world, side, color) else None


def _correction(rng: np.random.Generator, world: Blocks, cell: Cell, asked: bool) -> _Said | None:
    color, way = _color(rng, world[cell]), _way(rng)
    if rng.random() < 0.5:
        world[cell] = color
        return f"Oh no, my mistake. I meant {COLOR_NAMES[color]}.", "", cell
    side, kept = _beside(cell, way), world.pop(cell)
    moved = f"Sorry, that was wrong of me: it should be one block further {way}. The old place stays empty."
    return (moved, "", side) if _put(world, side, kept) else None
