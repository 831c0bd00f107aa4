"""Answers of an architect to a builder's questions: short, and true of the target.

The rules of `language/grammar/asked.txt` give a question's kind and the thing that it is about; without a thing it is
about the current request. The table `_ANSWERS` has one function per kind, which returns the possible answers, the
fullest first. `_CHECKS` has what can be asserted ("so the tower is three high?"): the fact that answers it, and whether
it holds. `iglu_marl.language.questions` handles other questions about things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import Cell, cells_of, color_at, color_name, index_of
from iglu_marl.language import (
    Blocks,
    Context,
    DialogueAct,
    Direction,
    Failure,
    Instruction,
    Question,
    Scene,
    answer,
    outcomes,
    render_place,
    say,
)
from iglu_marl.language.grammar.answers import Asked
from iglu_marl.language.grammar.clauses import nouns_of
from iglu_marl.language.grammar.engine import Parser
from iglu_marl.language.grammar.reader import grammar, tokens
from iglu_marl.language.instructions import rendered
from iglu_marl.language.phrases import Phrase
from iglu_marl.language.placing import PlaceGoal, anchors
from iglu_marl.language.questions import parse as parse_question
from iglu_marl.language.references import (
    At,
    Beside,
    Each,
    Item,
    Reference,
    Resolution,
    Unresolved,
    connected,
    resolve,
)
from iglu_marl.language.repair import bare
from iglu_marl.language.scene import MIXED, Thing
from iglu_marl.language.scene.program import Program
from iglu_marl.language.shapes import COMPASS, VECTORS

Grid = npt.NDArray[np.int8]

GO_ON = ("next", "again", "done", "hello", "okay", "there")
"""Kinds that the architect answers with a request, the next or the same one."""
OF_WHOLE = ("whole", "parts", "left", "placed", "finished", "spare", "number", "right", "wrong", "give_up", "scene")
"""Kinds that have an answer without a request."""
_OF_NOTHING = {"number": "0.", "exists": "No.", "number_check": "No, none.", "what": "Nothing.", "float_check": "No."}
_OF_SEVERAL = (*_OF_NOTHING, "color", "place")  # kinds with an answer if more things fit than the words say


@dataclass(frozen=True)
class ConversationState:
    """What an architect knows when it gets a question.

    Args:
        grid, target: int8 [9, 11, 11].
        base: the grid at the time of its request.
        instruction: the request, None if there is none.
        cells: those that it changes, in order.
        goal: the build after the request.
        context: of the builder; its `last` is what "it" means.
        built: the present grid where `grid` is the finished structure.
        parts: cells of the parts of the target, if they are to be named.

    """

    grid: Grid
    target: Grid
    base: Grid
    instruction: Instruction | None
    cells: tuple[Cell, ...]
    goal: Grid
    context: Context
    built: Grid | None = None
    parts: tuple[tuple[Cell, ...], ...] = ()

    @property
    def finished(self) -> ConversationState:
        """The same when the structure is complete."""
        goal = self.target
        return replace(self, grid=goal, base=goal, goal=goal, cells=(), built=self.grid)

    @property
    def open_cells(self) -> list[Cell]:
        """The cells of the request that are not yet right."""
        return [cell for cell in self.cells if color_at(self.grid, cell) != color_at(self.goal, cell)]

    @property
    def about(self) -> list[Cell]:
        """The cells that a question is about: the open ones, or else all of the request."""
        return self.open_cells or list(self.cells)

    def color_of(self, cell: Cell) -> int:
        """Return the colour that the request gives a cell, or that of the block to be removed."""
        return color_at(self.goal, cell) or color_at(self.base, cell)

    @property
    def wrong(self) -> list[Cell]:
        """Blocks placed since the request at a wrong place, and those of a wrong colour."""
        placed = (self.grid != 0) & (self.grid != self.target) & (self.grid != self.base)
        return cells_where(placed & (self.grid != self.goal))


def asked(text: str, category: str = "asked", names: frozenset[str] = frozenset()) -> Asked | None:
    """Return the question in a text, None if it has none of the kinds. names: nouns that name something."""
    said = [word for word in tokens(text) if word != "."]
    nouns = nouns_of(said, names, known_only=True)
    for words in (said, *bare(said, "")):
        readings = Parser(grammar(), words, nouns).read(category)
        found = [(cost, value) for value, end, cost in readings if end == len(words)]
        if found:
            kind: Asked = min(found, key=lambda pair: pair[0])[1]
            return kind
    return None


def question_of(text: str, names: frozenset[str]) -> Asked | None:
    """Return the question or assertion of a builder in a text. names: nouns that name something."""
    found = asked(text, names=names)
    if found is None and "?" in text and isinstance(seen := parse_question(text), Question):
        found = Asked("scene", (("program", seen.program),))
    return found or asked(text, "asked_loosely", names)


def answers(question: Asked, situation: ConversationState) -> list[str]:
    """Return the possible answers, the fullest first; [] for kinds that the request itself answers."""
    about = dict(question.about)
    if question.of_it and situation.cells and set(situation.context.last) >= set(situation.cells):
        about.pop("of", None)
    try:
        if "of" in about and question.kind not in _OF_GRID:
            return of_things(situation.finished, question.kind, **about)
        if question.kind in _CHECKS:
            fact, holds = _CHECKS[question.kind]
            return _verdict(holds(situation, **about), fact(situation))
        if question.kind == "scene":
            situation = situation.finished
        give = _ANSWERS.get(question.kind)
        return [] if give is None else list(give(situation, **about))
    except Unresolved:
        return [_no(situation)] if situation.cells else ["There is no such thing."]


def topic_of(question: Asked, situation: ConversationState) -> tuple[Cell, ...]:
    """Return the cells of the target that a question is about; () if it names nothing."""
    of = dict(question.about).get("of")
    if question.kind in ("whole", "parts"):
        return tuple(cells_where(situation.target != 0))
    if of is None or question.of_it or question.kind in _OF_GRID:
        return ()
    items, _ = things(of, Resolution.of(situation.target, situation.context))
    return tuple(cell for item in items for cell in item)


def scene_answer(text: str, situation: ConversationState) -> str:
    """Return the answer to a question about existing things ("how many red blocks are there?"), "" for other texts."""
    question = parse_question(text) if "?" in text else None
    return next(_scene(situation, question.program)) if isinstance(question, Question) else ""


def _scene(situation: ConversationState, program: Program) -> Iterator[str]:
    scene = Scene(situation.grid, situation.context.yaw_deg or 0.0)
    found = answer(program, scene)
    if isinstance(found, bool):
        while program.name == "not":
            program = program.inputs[0]
        measured = [part for part in program.inputs if part.name.startswith(("count", "query"))]
        facts = listed(str(answer(part, scene)) for part in measured) if measured else ""
        yield f"{'Yes' if found else 'No'}{facts and ', '}{facts}."
    elif isinstance(found, (Thing, tuple)):
        seen = [found] if isinstance(found, Thing) else [thing for thing in found if thing.whole]
        names = [f"the {one.color} {one.shape} {place_of(one.cells[0])}" for one in seen]
        yield f"{capital(listed(names or ['nothing']))}."
    else:
        yield say(DialogueAct.NO_SUCH) if found is None else f"{capital(str(found))}."


def of_things(now: ConversationState, kind: str, of: Reference, **more: Any) -> list[str]:
    """Return the possible answers to a question about things in `now.grid`, the fullest first."""
    setting = Resolution.of(now.grid, now.context)
    items, several = things(of, setting)
    if items and several and kind not in _OF_SEVERAL:
        mine = [item for item in items if not set(item).isdisjoint(setting.last)]
        if len(mine) != 1:
            each = [answers(Asked(kind, tuple(more.items())), replace(now, cells=item)) for item in items]
            if now.built is not None and all(one == each[0] for one in each):
                return each[0]
            counts, where = f"There are {len(items)} of them", "; ".join(place_of(item[0]) for item in items)
            return [f"{counts}: {where}."] * (len(items) < 4) + [f"{counts}."]
        items = mine
    if more.pop("corner", False):
        items = [item for item in items if any(abs(x) == abs(z) == 5 for x, _, z in item)]
    if not items:
        nothing = "There is no such thing." if now.built is None else "There is no such thing in the structure."
        return ["None." if kind == "number" and now.built is not None else _OF_NOTHING.get(kind, nothing)]
    cells = tuple(cell for item in items for cell in item)
    if kind == "number":
        return [f"{_tally(now, items)}."]
    if kind == "number_check":
        return _verdict(len(items) == more["n"], [f"{_tally(now, items)}."])
    if kind == "what":
        return [f"{capital(counted(color_at(now.grid, cell) for cell in cells))}."]
    if kind == "place":
        return [f"{capital(_places(now, items))}.", f"{capital(_places(now, items[:1]))}."]
    if kind == "exists":
        return [f"Yes, {_places(now, items) if len(items) == 1 else _lower(_tally(now, items))}."]
    if kind == "place_check":
        there = {cell for item in things(Blocks((), count=None, **more), setting)[0] for cell in item}
        verdict = "Yes" if all(there & set(item) for item in items) else "No"
        return [f"{verdict}: {_places(now, items)}.", f"{verdict}: {_places(now, items[:1])}."]
    return answers(Asked(kind, tuple(more.items())), replace(now, cells=cells))


def things(of: Reference, setting: Resolution) -> tuple[list[Item], bool]:
    """Return the things that a reference means, and whether they are more than it says."""
    try:
        items, several = resolve(of, setting), False
    except Unresolved as error:
        items, several = list(error.failure.choices), True
    return [item for item in items if any(map(setting.color_at, item))], several  # places can be free


def _places(now: ConversationState, items: list[Item]) -> str:
    """Return where things are, those that touch together."""
    joined = connected(cell for item in items for cell in item) if len(items) > 3 else items
    return "; ".join(_lower(next(_place(replace(now, cells=item)))).rstrip(".") for item in joined)


def _tally(now: ConversationState, items: list[Item]) -> str:
    """Return a number of things, and how many of them are there so far."""
    if now.built is None:
        return str(len(items))
    right = now.built == now.grid
    there = sum(all(right[index_of(cell)] for cell in item) for item in items)
    single = all(len(item) == 1 for item in items)
    count = counted(color_at(now.grid, item[0]) for item in items) if single else str(len(items))
    return f"{capital(count)} in all; {there or 'none'} so far"


def counted(colors: Iterable[int]) -> str:
    """Return numbers of blocks by colour: "2 red blocks and one blue block"; 0 is any colour."""
    counts = Counter(f"{color_name(color)} block" if color else "block" for color in colors)
    return listed(many(count, name) for name, count in counts.most_common())


def mistake(situation: ConversationState, cell: Cell) -> list[str]:
    """Return what is wrong about a block and what to do about it, the fullest form first."""
    there, wanted = color_at(situation.grid, cell), color_at(situation.target, cell)
    names = f"The {color_name(there)} block {place_of(cell)},", f"The {color_name(there)} block"
    if wanted:
        return [say(DialogueAct.MISCOLORED, word=name, other=color_name(wanted)) for name in names]
    return [say(DialogueAct.MISPLACED, word=name) for name in names]


def place_of(cell: Cell) -> str:
    """Describe a cell from the centre: "2 blocks east of the centre, on the ground"."""
    return render_place(At(cell))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _verdict(holds: bool, facts: Iterable[str]) -> list[str]:
    return [f"{'Yes' if holds else 'No'}, {_lower(fact)}" for fact in facts]


def capital(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def cells_where(wanted: npt.NDArray[np.bool_]) -> list[Cell]:
    """Return the cells at which a grid is true."""
    return [(x, y, z) for x, y, z in cells_of(wanted).tolist()]


def listed(names: Iterable[str]) -> str:
    """Return names with commas and "and" between."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def many(count: int, what: str = "block") -> str:
    """Return a number of things in words: "one block", "2 blocks"."""
    return f"one {what}" if count == 1 else f"{count} {what}s"


def _level(cell: Cell) -> int:
    return cell[1] + 2


def _removal(situation: ConversationState) -> bool:
    return all(not color_at(situation.goal, cell) for cell in situation.about)


def _color(situation: ConversationState) -> Iterator[str]:
    colors = list(dict.fromkeys(color_name(situation.color_of(cell)) for cell in situation.about))
    yield f"{capital(listed(colors))}."


def _place(situation: ConversationState) -> Iterator[str]:
    cells = situation.about
    if len(cells) == 1:
        yield f"{capital(place_of(cells[0]))}."
        return
    if ways := _ways(cells):
        yield f"It starts {place_of(cells[0])}, going {listed(ways)}."
    yield f"It starts {place_of(cells[0])}."


def _height(situation: ConversationState) -> Iterator[str]:
    levels = sorted({_level(cell) for cell in situation.about})
    if len(levels) > 1:
        yield f"{len(levels)} blocks high, from level {levels[0]} to level {levels[-1]}."
    yield "On the ground." if levels[0] == 1 else f"On level {levels[0]}."


def _tall(situation: ConversationState) -> Iterator[str]:
    levels = {_level(cell) for cell in situation.cells}
    yield f"{capital(many(max(levels) - min(levels) + 1))} high."


def _extent(situation: ConversationState) -> list[int]:
    """Return the numbers of blocks from west to east, upwards, and from north to south."""
    return [int(n) + 1 for n in np.ptp(situation.cells, axis=0)]


def _long(situation: ConversationState) -> Iterator[str]:
    wide, _, deep = _extent(situation)
    yield f"{capital(many(max(wide, deep)))}."


def _size(situation: ConversationState) -> Iterator[str]:
    wide, high, deep = _extent(situation)
    across = [f"{many(n)} from {way}" for n, way in ((wide, "west to east"), (deep, "north to south")) if n > 1]
    yield f"{capital(many(len(situation.cells)))}: {listed([*across, f'{high} high'])}."
    yield f"{capital(many(len(situation.cells)))}."


def _count(situation: ConversationState) -> Iterator[str]:
    done = len(situation.cells) - len(situation.open_cells)
    if done and situation.open_cells:
        yield f"{capital(many(len(situation.cells)))} in all; {many(len(situation.open_cells))} more."
    yield f"{capital(many(len(situation.about)))}."


def _left(situation: ConversationState) -> Iterator[str]:
    missing = cells_where((situation.target != 0) & (situation.grid != situation.target))
    spare = cells_where((situation.target == 0) & (situation.grid != 0))
    parts = [f"{many(len(missing))} to place"] if missing else []
    parts += [f"{many(len(spare))} to remove"] if spare else []
    yield f"{capital(listed(parts))}." if parts else "Nothing more."


def _number(situation: ConversationState, c: int) -> Iterator[str]:
    yield from of_things(situation.finished, "number", Blocks((c,), count=None))


def _placed(situation: ConversationState) -> Iterator[str]:
    right = int(np.count_nonzero((situation.target != 0) & (situation.grid == situation.target)))
    yield f"{right} of {np.count_nonzero(situation.target)} blocks are right so far."


def _which(situation: ConversationState) -> Iterator[str]:
    cells = situation.about
    if len(cells) > 1:
        yield from _place(situation)
    yield f"The {color_name(situation.color_of(cells[0]))} one {place_of(cells[0])}."


def _shape(situation: ConversationState) -> Iterator[str]:
    yield f"{capital(_named([situation.cells], situation))}."


def _alone(situation: ConversationState) -> Grid:
    """Return a grid with only the cells in question."""
    grid = np.zeros_like(situation.grid)
    for cell in situation.cells:
        grid[index_of(cell)] = situation.color_of(cell)
    return grid


def _named(parts: Iterable[tuple[Cell, ...]], situation: ConversationState) -> str:
    """Describe things by shape, size and colours: "2 towers of four blocks (3 red and 1 blue) and a green block"."""
    found = Counter(_described(replace(situation, cells=cells)) for cells in parts)
    stated = [
        f"{rendered('a_thing', phrase) if n == 1 else f'{n} ' + rendered('things', phrase)}{colors}"
        for (phrase, colors), n in found.items()
    ]
    return listed(stated)


def _described(situation: ConversationState) -> tuple[Phrase, str]:
    """Return the most specific name of cells, and their colours if there are several."""
    grid, size = _alone(situation), len(situation.cells)
    names = [one for one in Scene(grid).things if one.size == size] if size else []
    color = {one.color for one in names} - {MIXED}
    shape = min((one.shape for one in names), key=("group", "rectangle").count, default="group")
    colors = "" if color else f" ({_colors(grid)})"
    return Phrase(shape, tuple(color), size if size > 1 else None), colors


def _colors(grid: Grid) -> str:
    counts = Counter(color_name(int(color)) for color in grid[grid != 0])
    return listed(f"{count} {name}" for name, count in counts.most_common())


def _way(situation: ConversationState) -> Iterator[str]:
    if ways := _ways(situation.about):
        yield f"{capital(listed(ways))}; it starts {place_of(situation.about[0])}."
        yield f"{capital(listed(ways))}."
    else:
        yield from _place(situation)


def _ways(cells: list[Cell]) -> list[str]:
    step = [np.sign(b - a) for a, b in zip(cells[0], cells[-1], strict=True)]
    return [str(way) for way in (*COMPASS, Direction.UP, Direction.DOWN) if _along(VECTORS[way], step)]


def _along(vector: Cell, step: list[Any]) -> bool:
    return any(a and a == b for a, b in zip(vector, step, strict=True))


def _whole(situation: ConversationState) -> Iterator[str]:
    count = f"{capital(many(int(np.count_nonzero(situation.target))))} in all"
    high = int(np.flatnonzero(situation.target.any(axis=(1, 2))).max(initial=-1)) + 1
    stated = f"{count}, {_colors(situation.target)}; {many(high)} high."
    if situation.parts:
        yield f"{capital(_named(situation.parts, situation.finished))}: {_lower(stated)}"
    yield from (stated, f"{count}.")


def _parts(situation: ConversationState) -> Iterator[str]:
    count = capital(many(len(situation.parts), "part"))
    yield f"{count}: {_named(situation.parts, situation.finished)}."
    yield f"{count}."


def _spare(situation: ConversationState) -> Iterator[str]:
    cells = cells_where((situation.grid != 0) & (situation.target == 0))
    if len(cells) > 1:
        yield f"Remove {counted(color_at(situation.grid, cell) for cell in cells)}, the first {place_of(cells[0])}."
    elif cells:
        yield f"Remove the {color_name(color_at(situation.grid, cells[0]))} block {place_of(cells[0])}."
    yield f"{capital(many(len(cells)))} to remove." if cells else "No, there is nothing to remove."


def _right(situation: ConversationState) -> Iterator[str]:
    if situation.wrong:
        yield from (f"No. {text}" for text in mistake(situation, situation.wrong[0]))
    elif not situation.open_cells:
        yield "Yes, that is right."
    elif len(situation.open_cells) < len(situation.cells):
        yield f"Yes, so far: {many(len(situation.open_cells))} more."
    else:
        yield f"No, there is {'a' if _removal(situation) else 'no'} block {place_of(situation.about[0])}."
        yield "No, that is not done."


def _wrong(situation: ConversationState) -> Iterator[str]:
    if situation.wrong:
        yield from mistake(situation, situation.wrong[0])
    else:
        yield from ("No mistake: all that stands there is right.", "Nothing.")


def _finished(situation: ConversationState) -> Iterator[str]:
    if np.array_equal(situation.grid, situation.target):
        yield say(DialogueAct.COMPLETE)
        return
    yield from (f"No: {_lower(text)}" for text in _left(situation))


def _why(situation: ConversationState) -> Iterator[str]:
    yield "That is what the structure looks like."
    yield "It is in the structure."


# -- yes or no, and the correction


def _no(situation: ConversationState) -> str:
    return f"No: {place_of(situation.about[0])}."


def _place_check(situation: ConversationState, where: Any) -> Iterator[str]:
    cell = situation.about[0]
    if isinstance(where, Each):  # "in the corners": one of these
        where = where.where
    setting = Resolution.of(situation.grid, situation.context)
    there = {one for group in anchors(where, setting) for one in group.cells}
    if cell in there or _in_the_way(where, cell, setting):
        yield f"Yes, {place_of(cell)}."
        yield "Yes."
    else:
        yield _no(situation)


def _in_the_way(where: Any, cell: Cell, setting: Resolution) -> bool:
    """Return whether a cell lies on that side of something, at any distance."""
    if not isinstance(where, Beside) or len(where.offset) != 1:
        return False
    vector = setting.vector(((where.offset[0][0], 1),))
    items = resolve(where.of, setting)
    return len(items) == 1 and all(
        sum(v * (a - b) for v, a, b in zip(vector, cell, one, strict=True)) > 0 for one in items[0]
    )


def _is_way(situation: ConversationState, way: Direction) -> bool:
    vector = VECTORS[Resolution.of(situation.grid, situation.context).on_map(way)]
    first, last = situation.about[0], situation.about[-1]
    return _along(vector, [np.sign(b - a) for a, b in zip(first, last, strict=True)])


def _is_meant(situation: ConversationState, of: Any) -> bool:
    items = resolve(of, Resolution.of(situation.grid, situation.context))
    return any(cell in item for item in items for cell in situation.about)


def _is_shape(situation: ConversationState, core: Any) -> bool:
    items, _ = things(core.blocks(None), Resolution.of(_alone(situation), situation.context))
    return any(set(item) == set(situation.cells) for item in items)


def _mirrors(situation: ConversationState) -> list[str]:
    """Return the directions in which the two halves look the same."""
    grid = _alone(situation)
    (x0, _, z0), (x1, _, z1) = np.min(situation.cells, axis=0) + 5, np.max(situation.cells, axis=0) + 5
    box = grid[:, x0 : x1 + 1, z0 : z1 + 1]
    ways = (("west to east", box[:, ::-1]), ("north to south", box[:, :, ::-1]))
    return [way for way, seen in ways if np.array_equal(seen, box)]


def _mirror(situation: ConversationState) -> Iterator[str]:
    ways = _mirrors(situation)
    yield f"from {' and from '.join(ways)}." if ways else "not from west to east, nor from north to south."


def _floating(situation: ConversationState) -> list[Cell]:
    """Return those of the cells that are not connected to the ground."""
    groups = connected(cells_where(situation.goal != 0))
    return [c for group in groups if all(y > -1 for _, y, _ in group) for c in group if c in situation.cells]


def _held(situation: ConversationState) -> Iterator[str]:
    cells = _floating(situation)
    yield f"{many(len(cells))} not connected to the ground." if cells else "all is connected to the ground."


def _remove_check(situation: ConversationState, of: Any) -> Iterator[str]:
    items = resolve(of, Resolution.of(situation.grid, situation.context))
    spare = {
        cell
        for item in items
        for cell in item
        if color_at(situation.grid, cell) != color_at(situation.target, cell)
    }
    whole = {cell for item in items for cell in item}
    if whole and spare == whole:
        yield "Yes, please remove it." if len(whole) == 1 else "Yes, please remove them."
    else:
        yield "No, leave it." if len(whole) == 1 else "No, leave them."


def _put_check(situation: ConversationState, new: Any, mods: Any) -> Iterator[str]:
    found = outcomes(PlaceGoal(new, mods.where), situation.grid, situation.context)
    if not isinstance(found, Failure) and any(_fits(world.grid, situation) for world in found):
        yield "Yes, please."
    else:
        yield f"No: {color_name(situation.color_of(situation.about[0]))}, {place_of(situation.about[0])}."


def _fits(grid: Grid, situation: ConversationState) -> bool:
    changed = grid != situation.grid
    return bool(changed.any()) and bool((grid[changed] == situation.target[changed]).all())


def _give_up(situation: ConversationState) -> Iterator[str]:
    yield say(DialogueAct.GIVE_UP)


_CHECKS: dict[str, tuple[Callable[..., Iterable[str]], Callable[..., bool]]] = {
    "color_check": (_color, lambda now, c: {now.color_of(cell) for cell in now.about} == {c}),
    "count_check": (lambda now: [f"{many(len(now.cells))}."], lambda now, n: len(now.cells) == n),
    "float_check": (_held, lambda now: bool(_floating(now))),
    "ground_check": (_height, lambda now: min(map(_level, now.cells)) == 1),
    "height_check": (_tall, lambda now, n: _extent(now)[1] == n),
    "long_check": (_long, lambda now, n: max(_extent(now)[::2]) == n),
    "mirror_check": (_mirror, lambda now: bool(_mirrors(now))),
    "ref_check": (_which, _is_meant),
    "shape_check": (_shape, _is_shape),
    "way_check": (_way, _is_way),
}
_OF_GRID = ("ref_check", "remove_check")  # kinds about things that exist already
_ANSWERS: dict[str, Callable[..., Iterator[str]]] = {
    "color": _color,
    "count": _count,
    "finished": _finished,
    "give_up": _give_up,
    "height": _height,
    "left": _left,
    "long": _long,
    "number": _number,
    "parts": _parts,
    "place": _place,
    "place_check": _place_check,
    "placed": _placed,
    "put_check": _put_check,
    "remove_check": _remove_check,
    "right": _right,
    "scene": _scene,
    "shape": _shape,
    "size": _size,
    "spare": _spare,
    "tall": _tall,
    "way": _way,
    "which": _which,
    "whole": _whole,
    "why": _why,
    "wrong": _wrong,
}
