"""A hundred structures that are awkward to build, each with what stands at the start; the same at every call.

`python -m benchmarks.pairs --tasks adversarial --ask --controls walking` plays them with the scripted pair.
`IMPOSSIBLE` names those that nobody can build under the rules; every other one can be built by a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, product

import numpy as np

from iglu_marl import Task
from iglu_marl.core.grid import Cell, blocks_to_grid

BLUE, YELLOW, GREEN, ORANGE, PURPLE, RED = range(1, 7)
HIGH = range(-1, 8)  # all levels
CORNERS = ((-5, -5), (-5, 5), (5, -5), (5, 5))

Blocks = dict[Cell, int]
Case = tuple[str, Blocks, Blocks]  # name, what stands at the start, what shall stand

IMPOSSIBLE = frozenset(
    {
        "21 red in a row and one",
        "21 blue apart",
        "21 red, one stands",
        "21 green of 20 purple",
        "120 afloat, each alone",
        "layer of 121 on the ground",
        "overdrawn, three moved",
    }
)


def adversarial_tasks() -> list[Task]:
    families = {
        "caves": _caves(),
        "sealed": _sealed(),
        "overhangs": _overhangs(),
        "corners": _corners(),
        "limits": _limits(),
        "clearing": _clearing(),
        "recolouring": _recolouring(),
        "opening": _opening(),
        "floating": _floating(),
        "layers": _layers(),
    }
    return [
        Task("", _grid(target), starting_grid=_grid(start), invariant=False, task_id=f"{family}: {name}")
        for family, cases in families.items()
        for name, start, target in cases
    ]


def possible(task: Task) -> bool:
    return str(task.task_id).partition(": ")[2] not in IMPOSSIBLE


# -- of what they are made


def _grid(blocks: Blocks) -> np.ndarray:
    return np.array(blocks_to_grid((*cell, color) for cell, color in blocks.items()))


def _box(low: Cell, high: Cell) -> set[Cell]:
    return set(product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))))


def _shell(low: Cell, high: Cell) -> set[Cell]:
    x, y, z = low
    u, v, w = high
    return _box(low, high) - _box((x + 1, y + 1, z + 1), (u - 1, v - 1, w - 1))


def _tower(x: int, z: int, levels: Iterable[int] = HIGH) -> set[Cell]:
    return {(x, y, z) for y in levels}


def _mixed(*parts: Iterable[Cell]) -> Blocks:
    """Cycle through all colours."""
    return {cell: 1 + number % 6 for number, cell in enumerate(sorted(set(chain(*parts))))}


def _plain(cells: Iterable[Cell], color: int) -> Blocks:
    return dict.fromkeys(sorted(cells), color)


def _without(blocks: Blocks, cells: Iterable[Cell]) -> Blocks:
    gone = set(cells)
    return {cell: color for cell, color in blocks.items() if cell not in gone}


def _other(blocks: Blocks, *cells: Cell) -> Blocks:
    """Change the colours of these cells, or of all."""
    return blocks | {cell: 1 + blocks[cell] % 6 for cell in cells or blocks}


# -- families


def _caves() -> Iterator[Case]:
    hill = _mixed(_box((-3, -1, -2), (3, 1, 2)))
    tunnel, crawl = _box((0, -1, 0), (3, 0, 0)), _box((0, -1, 0), (3, -1, 0))
    bend = tunnel | _box((0, -1, -1), (0, 0, 0))
    shaft, chamber = _tower(0, 0, (-1, 0, 1)), _box((-1, -1, -1), (1, 0, 1))
    door = _box((2, -1, 0), (3, 0, 0))
    furniture = {(-1, -1, -1): RED, (-1, -1, 1): BLUE, (1, -1, -1): GREEN, (-1, 0, -1): RED}
    cave, closed = _without(hill, chamber | door), _without(hill, chamber)
    yield "a block at the end of a tunnel", _without(hill, tunnel), _without(hill, tunnel) | {(0, -1, 0): RED}
    yield "a block at the end of a crawl", _without(hill, crawl), _without(hill, crawl) | {(0, -1, 0): RED}
    yield "a wall behind a bend recoloured", _without(hill, bend), _other(_without(hill, bend), (-1, -1, -1))
    yield "a block at the bottom of a shaft", _without(hill, shaft), _without(hill, shaft) | {(0, -1, 0): RED}
    yield "a wall at the bottom of a shaft", _without(hill, shaft), _other(_without(hill, shaft), (-1, -1, 0))
    yield "a furnished chamber", cave, cave | furniture
    yield "a closed chamber furnished", closed, closed | furniture
    yield "a hill with a chamber", {}, cave | furniture
    yield "a tunnel filled", _without(hill, bend), hill
    yield "a tunnel dug", hill, _without(hill, bend)


def _sealed() -> Iterator[Case]:
    small, flat = _mixed(_box((1, -1, 1), (3, 1, 3))), _mixed(_box((-2, -1, -2), (2, 2, 2)))
    heart = (2, 0, 2)
    four = _mixed(_shell((0, -1, -4), (3, 2, -1))) | {(1, 0, -3): RED, (2, 1, -2): BLUE}
    five = _mixed(_shell((-2, -1, -2), (2, 3, 2)))
    yield "the inside of a cube recoloured", small, _other(small, heart)
    yield "the inside of a cube removed", small, _without(small, [heart])
    yield "a hollow cube filled", _without(small, [heart]), small
    yield "two blocks inside a shell", four, four | {(1, 0, -3): GREEN, (2, 1, -2): RED}
    yield "a block inside a great shell", five | {(0, -1, 0): RED}, five | {(0, -1, 0): RED, (0, 0, 0): BLUE}
    yield "a block afloat inside a shell", five | {(0, 1, 0): RED}, five | {(0, 1, 0): BLUE}
    yield "deep inside a solid block", flat, _other(flat, (0, 0, 0), (0, 1, 0))
    afloat = _mixed(_box((-1, 3, -1), (1, 5, 1)))
    yield "the inside of a cube in the air", afloat, _other(afloat, (0, 4, 0))
    corner = _mixed(_box((3, 5, 3), (5, 7, 5)))
    yield "the inside of a cube in the upper corner", corner, _other(corner, (4, 6, 4))
    full = _mixed(_box((-2, -1, -2), (2, 2, 3)))
    yield "two blocks change places in 120", full, full | {(0, 0, 0): full[0, 1, 1], (0, 1, 1): full[0, 0, 0]}
    yield "a sealed cube", {}, small
    yield "a shell with a core", {}, five | {(0, 1, 0): RED}


def _overhangs() -> Iterator[Case]:
    pillar = _tower(0, -2)
    yield "a mushroom", {}, _mixed(_tower(2, 2, range(-1, 5)), _box((0, 4, 0), (4, 4, 4)))
    steps = (_box((-n, n - 1, -n), (n, n - 1, n)) for n in range(4))
    yield "a pyramid upside down", {}, _mixed(*steps)
    yield "a letter T", {}, _mixed(pillar, _box((-5, 7, -2), (5, 7, -2)))
    yield "a long arm at the top", {}, _mixed(_tower(-5, 0), _box((-5, 7, 0), (4, 7, 0)))
    yield (
        "an arch",
        {},
        _mixed(_tower(-3, 1, range(-1, 4)), _tower(3, 1, range(-1, 4)), _box((-3, 4, 1), (3, 4, 1))),
    )
    gallows = _mixed(_tower(-2, 0, range(-1, 6)), _box((-2, 6, 0), (3, 6, 0)), _tower(3, 0, range(1, 6)))
    yield "a gallows", {}, gallows
    yield "a stair without supports", {}, _mixed((n, n - 1, n - 4) for n in range(-0, 6))
    yield "a roof of 49 on a pillar", {}, _mixed(_tower(0, 0, range(-1, 3)), _box((-3, 3, -3), (3, 3, 3)))
    ceiling = _mixed(_tower(-4, 0, range(-1, 6)), _box((-4, 6, -2), (2, 6, 2)))
    yield "icicles", ceiling, ceiling | _plain(_tower(1, 0, range(2, 6)) | _tower(-1, 1, (4, 5)), RED)
    terraces = (_box((-2, y, 4 - y), (2, y, 5)) for y in (1, 3, 5))
    yield "terraces from a wall", {}, _mixed(_box((0, -1, 5), (0, 6, 5)), *terraces)


def _corners() -> Iterator[Case]:
    four = _mixed(*(_tower(x, z) for x, z in CORNERS))
    for x, z in CORNERS:
        yield f"a tower at {x}, {z}", {}, _mixed(_tower(x, z))
    yield "four towers", {}, four
    rim = _box((-5, 7, -5), (5, 7, 5)) - _box((-4, 7, -4), (4, 7, 4))
    yield "four towers with beams", {}, _mixed(four, rim)
    yield "four towers removed", four, {(0, -1, -3): RED}
    yield "four towers recoloured", four, _other(four)
    walls = _box((-5, -1, -5), (0, 6, -5)) | _box((-5, -1, -5), (-5, 6, 0))
    between = _mixed(walls, _tower(-4, -4))
    yield "a tower between two walls", _without(between, _tower(-4, -4)), between
    chimney = _mixed(_shell((3, -1, 3), (5, 7, 5)) | _box((3, 7, 3), (5, 7, 5)))
    yield "a chimney in the corner", {}, _without(chimney, _tower(4, 4, range(8)))


def _limits() -> Iterator[Case]:
    row = _box((-5, -1, -3), (4, -1, -2))
    wall = _box((-2, -1, 2), (2, 2, 2))
    far = _box((-5, -1, 4), (4, -1, 5))
    yield "20 red in rows", {}, _plain(row, RED)
    yield "20 red at the top", {}, _plain(_box((-2, 7, -2), (2, 7, 1)), RED)
    yield "20 of each colour", {}, _mixed(_box((-2, -1, -2), (2, 2, 3)))
    yield "20 red moved", _plain(row, RED), _plain(wall, RED)
    yield "20 red moved up", _plain(row, RED), _plain({(x, y + 1, z) for x, y, z in row}, RED)
    yield (
        "20 red and 20 blue exchanged",
        _plain(row, RED) | _plain(far, BLUE),
        _plain(row, BLUE) | _plain(far, RED),
    )
    yield "21 red in a row and one", {}, _plain(row | {(0, -1, 0)}, RED)
    apart = {(x, y, z) for x in (-4, -2, 0, 2, 4) for z in (-4, -2, 2, 4) for y in (-1,)} | {(0, -1, 0)}
    yield "21 blue apart", {}, _plain(apart, BLUE)
    yield "21 red, one stands", {(0, -1, 4): RED}, _plain(row | {(0, -1, 4)}, RED)
    yield "21 green of 20 purple", _plain(row, PURPLE), _plain(row | {(0, 0, -3)}, GREEN)
    overdrawn = _plain(row | {(5, -1, -3), (5, -1, -2)}, RED)
    moved = _without(overdrawn, [(-5, -1, -3), (-5, -1, -2), (-4, -1, -2)])
    yield "overdrawn, one moved", overdrawn, moved | {(0, -1, 3): RED}
    yield "overdrawn, three moved", overdrawn, moved | _plain([(0, -1, 3), (1, -1, 3), (2, -1, 3)], RED)


def _clearing() -> Iterator[Case]:
    left = {(4, -1, -4): RED}
    rng = np.random.default_rng(14)
    cells = [(x, y, z) for x, y, z in product(range(-5, 6), HIGH, range(-5, 6))]
    dots = _mixed(cells[number] for number in rng.choice(len(cells), 60, replace=False))
    floor = _mixed(_box((-5, -1, -5), (4, -1, 5)))
    cage = _mixed(_shell((-1, -1, -1), (1, 2, 1)))
    yield "60 blocks in the air cleared", dots, left
    yield "60 blocks in the air, others wanted", dots, _mixed({(-x, y, z) for x, y, z in dots})
    yield "a floor of 110 cleared", floor, left
    yield "a floor with a hole in it", floor, _without(floor, [(0, -1, 0)])
    yield "a cage around the builder cleared", cage, left
    yield "a cage around the builder kept", cage, cage | left
    yield "a roof over the builder cleared", _mixed(_box((-4, 1, -4), (4, 1, 4))), left
    yield "a solid block cleared", _mixed(_box((-2, -1, -2), (2, 2, 2))), left
    yield (
        "a block around the builder's eye cleared",
        {(0, -1, 0): RED, (0, 0, 0): BLUE, (0, 1, 0): GREEN},
        left,
    )
    ball = _mixed(_shell((-2, -1, -2), (2, 3, 2)))
    yield (
        "a shell around the builder, filled from the inside",
        ball,
        ball | {(1, 1, 1): RED, (-1, 2, -1): BLUE},
    )


def _recolouring() -> Iterator[Case]:
    wall, tower = _mixed(_box((-4, -1, -3), (4, 4, -3))), _mixed(_tower(3, 3))
    yield "a wall", wall, _other(wall)
    yield "a tower", tower, _other(tower)
    yield "one block in the air", {(2, 5, -2): RED}, {(2, 5, -2): BLUE}
    alone = dict.fromkeys(product((-4, 4), (1, 6), (-4, 4)), RED)
    yield "eight blocks in the air", alone, _plain(alone, BLUE)
    board = _plain(_box((-5, -1, -5), (4, -1, -4)), RED) | _plain(_box((-5, -1, 3), (4, -1, 4)), BLUE)
    yield "all red and blue blocks", board, {cell: RED + BLUE - color for cell, color in board.items()}
    layer = _mixed(_box((-5, 3, -5), (4, 3, 5)))
    yield "a layer in the air, its middle", layer, _other(layer, (0, 3, 0), (-1, 3, 0), (0, 3, 1))
    yield "the foot of a tower", tower, _other(tower, (3, -1, 3))
    full = _mixed(_box((-2, -1, -2), (2, 2, 3)))
    yield "the bottom of 120", full, _other(full, *((0, -1, z) for z in range(-2, 4)))


def _opening() -> Iterator[Case]:
    room = _mixed(_shell((-2, -1, 0), (2, 3, 4)))
    yield "a door", room, _without(room, [(0, -1, 0), (0, 0, 0)])
    yield "a skylight", room, _without(room, [(0, 3, 2), (0, 3, 3)])
    fetched = room | {(1, 0, 3): RED}
    yield "what is inside fetched", fetched, room
    yield "what is inside moved out", fetched, room | {(-4, -1, -4): RED}
    yield "what is inside moved over", fetched, room | {(-1, 0, 1): RED}
    yard, pipe = _mixed(_wall(7)), _mixed(_wall(9, 3), _tower(4, 4))
    hollow = _without(pipe, _tower(4, 4))
    yield "a yard around the builder, a block outside", yard, yard | {(0, -1, -5): RED}
    yield "a pipe, a block at its bottom", hollow, hollow | {(4, -1, 4): RED}
    yield "a pipe, filled", hollow, pipe


def _wall(height: int, size: int = 0) -> set[Cell]:
    """Return four walls: around the centre, or narrow ones in the corner."""
    low, high = (5 - size + 1, 5) if size else (-2, 2)
    levels = range(-1, height - 1)
    return {
        (x, y, z)
        for x, y, z in product(range(low, high + 1), levels, range(low, high + 1))
        if x in (low, high) or z in (low, high)
    }


def _floating() -> Iterator[Case]:
    yield "one block at the top in the corner", {}, {(5, 7, -5): RED}
    yield "the eight corners of the zone", {}, _mixed(product((-5, 5), (-1, 7), (-5, 5)))
    yield "27 blocks, each alone", {}, _mixed(product((-4, 0, 4), (1, 4, 7), (-4, 0, 4)))
    alone = sorted(product(range(-5, 6, 2), (0, 2, 4, 6), range(-5, 6, 2)))
    yield "119 afloat, each alone", {}, _mixed(alone[:119])
    yield "120 afloat, each alone", {}, _mixed(alone[:120])
    yield "a ring in the air", {}, _mixed(_box((-3, 5, -3), (3, 5, 3)) - _box((-2, 5, -2), (2, 5, 2)))
    yield (
        "a chessboard in the air",
        {},
        _mixed((x, 4, z) for x, z in product(range(-3, 4), repeat=2) if (x + z) % 2),
    )
    yield "a diagonal through the zone", {}, _mixed((n, n + 3, n) for n in range(-4, 5))
    cube = _mixed(_box((-1, 2, -1), (1, 4, 1)))
    yield "a cube in the air", {}, cube
    yield "a cube in the air with another inside", {}, _other(cube, (0, 3, 0))


def _layers() -> Iterator[Case]:
    def layer(y: int) -> set[Cell]:
        return _box((-5, y, -5), (4, y, 5))

    yield "layer of 110 on the ground", {}, _mixed(layer(-1))
    yield (
        "layer of 121 on the ground",
        {},
        {cell: 1 + n % 6 for n, cell in enumerate(sorted(_box((-5, -1, -5), (5, -1, 5))))},
    )
    yield "layer of 110 above the ground", {}, _mixed(layer(0))
    yield "layer of 110 at the builder's eye", {}, _mixed(layer(1))
    yield "layer of 110 in the middle", {}, _mixed(layer(3))
    yield "layer of 110 at the top", {}, _mixed(layer(7))
    yield "119 at the top", {}, _mixed(sorted(_box((-5, 7, -5), (5, 7, 5)))[:119])
    yield "a wall across the zone", {}, _mixed(_box((-5, -1, 0), (5, 7, 0)))
    yield "four thin floors", {}, _mixed(*(_box((-2, y, -2), (2, y, 2)) for y in (0, 2, 4, 6)))
    yield "two walls across, low", {}, _mixed(_box((-5, -1, 0), (5, 3, 0)), _box((0, -1, -5), (0, 3, 5)))
