"""Answers of an architect to a builder's questions: short, true of the target, and about the current request.

The rules of `language/grammar/asked.txt` give a question's kind and what it names. The table `_ANSWERS` has one
function per kind, which returns the possible answers, the fullest first. `iglu_marl.language.questions` handles
questions about existing things. For other texts the answer is None, and the architect rephrases its request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import Cell, cells_of, color_at, color_name
from iglu_marl.language import (
    Build,
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
from iglu_marl.language.placing import PlaceGoal
from iglu_marl.language.questions import parse as parse_question
from iglu_marl.language.references import At, Beside, Each, Resolution, Unresolved, resolve
from iglu_marl.language.repair import bare
from iglu_marl.language.scene import Thing
from iglu_marl.language.shapes import COMPASS, VECTORS

Grid = npt.NDArray[np.int8]

GO_ON = ("next", "again", "done", "hello", "okay", "there")
"""Kinds that the architect answers with a request, the next or the same one."""


@dataclass(frozen=True)
class ConversationState:
    """What an architect knows when it gets a question.

    Args:
        grid, target: int8 [9, 11, 11].
        base: the grid at the time of its request.
        instruction: the request, None if there is none.
        cells: those that it changes, in order.
        goal: the build after the request.
        context: of the builder.

    """

    grid: Grid
    target: Grid
    base: Grid
    instruction: Instruction | None
    cells: tuple[Cell, ...]
    goal: Grid
    context: Context

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


def answers(question: Asked, situation: ConversationState) -> list[str]:
    """Return the possible answers, the fullest first; [] for kinds that the request itself answers."""
    give = _ANSWERS.get(question.kind)
    if give is None:
        return []
    try:
        return [text for text in give(situation, **dict(question.about)) if text]
    except Unresolved:
        return [_no(situation)]


def scene_answer(text: str, situation: ConversationState) -> str:
    """Return the answer to a question about existing things ("how many red blocks are there?"), "" for other texts."""
    if "?" not in text:
        return ""
    question = parse_question(text)
    if not isinstance(question, Question):
        return ""
    found = answer(question.program, Scene(situation.grid, situation.context.yaw_deg or 0.0))
    if found is None:
        return say(DialogueAct.NO_SUCH)
    if isinstance(found, bool):
        return "Yes." if found else "No."
    if isinstance(found, (Thing, tuple)):
        things = [found] if isinstance(found, Thing) else [thing for thing in found if thing.whole]
        names = [f"the {one.color} {one.shape} {place_of(one.cells[0])}" for one in things]
        found = listed(names or ["nothing"])
    return f"{capital(str(found))}."


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
    wanted = int(np.count_nonzero(situation.target == c))
    there = int(np.count_nonzero((situation.target == c) & (situation.grid == c)))
    verb = "is" if there == 1 else "are"
    yield f"{capital(many(wanted, f'{color_name(c)} block'))} in all; {there} of them {verb} there."


def _which(situation: ConversationState) -> Iterator[str]:
    cells = situation.about
    if len(cells) > 1:
        yield from _place(situation)
    yield f"The {color_name(situation.color_of(cells[0]))} one {place_of(cells[0])}."


def _shape(situation: ConversationState) -> Iterator[str]:
    instruction = situation.instruction
    if isinstance(instruction, Build):
        yield f"A {instruction.shape.kind} of {many(len(situation.cells))}."
    yield f"{capital(many(len(situation.about)))}."


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
    target = situation.target
    colors = Counter(color_name(int(color)) for color in target[target != 0])
    stated = listed(f"{count} {name}" for name, count in colors.most_common())
    high = int(np.flatnonzero(target.any(axis=(1, 2))).max()) + 1 if colors else 0
    yield f"{capital(many(sum(colors.values())))} in all, {stated}; {many(high)} high."
    yield f"{capital(many(sum(colors.values())))} in all."


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
        yield from ("Nothing; all that stands there is right.", "Nothing.")


def _finished(situation: ConversationState) -> Iterator[str]:
    if np.array_equal(situation.grid, situation.target):
        yield say(DialogueAct.COMPLETE)
        return
    yield from (f"No: {text[0].lower()}{text[1:]}" for text in _left(situation))


def _why(situation: ConversationState) -> Iterator[str]:
    yield "That is what the structure looks like."
    yield "It is in the structure."


# -- yes or no, and the correction


def _no(situation: ConversationState) -> str:
    return f"No: {place_of(situation.about[0])}."


def _color_check(situation: ConversationState, c: int) -> Iterator[str]:
    colors = {situation.color_of(cell) for cell in situation.about}
    if colors == {c}:
        yield f"Yes, {color_name(c)}."
    else:
        yield f"No, {listed(sorted(color_name(color) for color in colors))}."


def _place_check(situation: ConversationState, where: Any) -> Iterator[str]:
    cell = situation.about[0]
    if isinstance(where, Each):  # "in the corners": one of these
        where = where.where
    setting = Resolution.of(situation.grid, situation.context)
    there = {one for group in where.anchors(setting) for one in group.cells}
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


def _count_check(situation: ConversationState, n: int) -> Iterator[str]:
    count = len(situation.cells)
    yield f"Yes, {many(count)}." if n == count else f"No, {many(count)}."


def _way_check(situation: ConversationState, way: Direction) -> Iterator[str]:
    setting = Resolution.of(situation.grid, situation.context)
    vector = VECTORS[setting.on_map(way)]
    first, last = situation.about[0], situation.about[-1]
    step = [np.sign(b - a) for a, b in zip(first, last, strict=True)]
    right = _along(vector, step)
    yield from (f"{'Yes' if right else 'No'}: {text[0].lower()}{text[1:]}" for text in _way(situation))


def _ref_check(situation: ConversationState, of: Any) -> Iterator[str]:
    items = resolve(of, Resolution.of(situation.grid, situation.context))
    meant = any(cell in item for item in items for cell in situation.about)
    yield from (f"{'Yes' if meant else 'No'}: {text[0].lower()}{text[1:]}" for text in _which(situation))


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


_ANSWERS: dict[str, Callable[..., Iterator[str]]] = {
    "color": _color,
    "color_check": _color_check,
    "count": _count,
    "count_check": _count_check,
    "finished": _finished,
    "give_up": _give_up,
    "height": _height,
    "left": _left,
    "number": _number,
    "place": _place,
    "place_check": _place_check,
    "put_check": _put_check,
    "ref_check": _ref_check,
    "remove_check": _remove_check,
    "right": _right,
    "shape": _shape,
    "way": _way,
    "way_check": _way_check,
    "which": _which,
    "whole": _whole,
    "why": _why,
    "wrong": _wrong,
}
