"""Answers of an architect to a builder's questions: short, and true of the target.

The rules of `language/grammar/asked.txt` give a question's kind and the thing that it is about; without a thing it is
about the current request. `_Facts` has one method per kind, which returns the possible answers, the fullest first. What
can be asserted ("so the tower is three high?") is answered with yes or no and the fact. Other questions about
things are those of `iglu_marl.language.scene.questions`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, cells_of, color_at, color_name, index_of
from iglu_marl.language import Blocks, Context, DialogueAct, Scene, answer, say
from iglu_marl.language.grammar.answers import Asked
from iglu_marl.language.grammar.instructions import render_place, rendered
from iglu_marl.language.grammar.scene_sentences import parse_question
from iglu_marl.language.meaning.blocks import Reason
from iglu_marl.language.meaning.context import Resolution, Unresolved
from iglu_marl.language.meaning.references import Anaphor, At, Item, Reference, resolve
from iglu_marl.language.meaning.regions import connected
from iglu_marl.language.meaning.shapes import COMPASS, VECTORS, Direction, Kind, shifted
from iglu_marl.language.meaning.verbs import bind_referent
from iglu_marl.language.scene.graph import MIXED, Thing
from iglu_marl.language.scene.noun_phrases import Phrase
from iglu_marl.language.scene.program import Program
from iglu_marl.language.scene.questions import Question
from iglu_marl.language.talk.discourse import asked

Grid = npt.NDArray[np.int8]

GO_ON = ("next", "again", "done", "hello", "okay", "there")
"""Kinds that the architect answers with a request, the next or the same one."""
OF_WHOLE = ("whole", "left", "finished", "right", "wrong", "give_up")
"""Kinds that have an answer without a request, like questions about things."""
_OF_ANY = re.compile(r"\b(?:of|on|to|above|below|under|over|beside|behind|atop) (?:an?|any|some) ")
_THE_STRUCTURE = Blocks(kind=Kind.STRUCTURE)  # means all blocks of the target
_OF_NOTHING = {
    "number": "0.",
    "exists": "No.",
    "number_check": "No, none.",
    "what": "Nothing.",
    "left": "Nothing more.",
}
_UNTOLD = {
    Reason.NO_DIRECTION: "I can't tell: counted from which end?",
    Reason.NO_VIEW: "I can't tell which way you look.",
}
"""What a question leaves open, by the reason why its reference means nothing."""
_OF_SEVERAL = (*_OF_NOTHING, "color", "place")  # kinds with an answer if more things fit than the words say
_OF_BUILD = ("left", "right")  # kinds that compare things with the build


@dataclass(frozen=True)
class ConversationState:
    """What an architect knows when it gets a question.

    Args:
        grid, target: int8 [9, 11, 11].
        base: the grid at the time of its request.
        cells: those that it changes, in order.
        goal: the build after the request.
        context: of the builder; its `last` is what "it" means.
        built: the present grid where `grid` is the finished structure.
        parts: cells of the parts of the target, if it has names for them.

    """

    grid: Grid
    target: Grid
    base: Grid
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

    def heard(self, text: str) -> ConversationState:
        """The same for a text: "north of a red block" is of any of them, not of the one that was talked about."""
        return replace(self, context=replace(self.context, last=())) if _OF_ANY.search(text.lower()) else self

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
        """The cells of `wrong_blocks`."""
        return wrong_blocks(self.grid, self.target, self.base, self.goal)


def wrong_blocks(grid: Grid, target: Grid, base: Grid, goal: Grid) -> list[Cell]:
    """Return the blocks placed since the request at a wrong place, and those of a wrong colour."""
    return cells_where((grid != 0) & (grid != target) & (grid != base) & (grid != goal))


def question_of(text: str, names: frozenset[str]) -> Asked | None:
    """Return the question or assertion of a builder in a text. names: nouns that name something."""
    found = asked(text, names=names)
    if found is None and "?" in text and isinstance(seen := parse_question(text), Question):
        found = Asked("scene", (("of", seen.program),))
    found = found or asked(text, "asked_loosely", names)
    if found is not None and dict(found.about).get("of") == _THE_STRUCTURE:
        found = Asked(found.kind, tuple({**dict(found.about), "of": Blocks(count=None)}.items()))
    *_, last = re.split(r"[.,;:] ", text)
    return found if found or last == text else question_of(last, names)


def answers(question: Asked, now: ConversationState) -> list[str]:
    """Return the possible answers, the fullest first; [] for kinds that the request itself answers."""
    kind, about = question.kind, dict(question.about)
    facts, fact = _Facts(now), kind.removesuffix("_check")
    of_request = question.of_it and now.cells and set(now.context.last) == set(now.cells)
    of_whole = kind in OF_WHOLE and about.get("of") == Blocks(count=None)
    if of_whole or (of_request and hasattr(facts, fact)):
        about.pop("of", None)
    if about.pop("put", False) and now.cells and not color_at(now.goal, now.about[0]):
        return [f"No, remove the {color_name(now.color_of(now.about[0]))} block {place_of(now.about[0])}."]
    try:
        if kind == "place_check" and "of" not in about:
            with_request = np.where(now.goal != 0, now.goal, now.base)
            return of_things(replace(now, grid=with_request), kind, Anaphor(), **about)
        if kind == "scene":
            return [_scene(now.finished, about["of"])]
        if "of" in about:
            return of_things(now.finished, kind, **about)
        if not now.cells and kind not in OF_WHOLE:
            return list(facts.left())
        if fact != kind and fact in _HOLDS:
            return _verdict(_HOLDS[fact](facts, **about), getattr(facts, fact)())
        return list(give(**about)) if (give := getattr(facts, kind, None)) else []
    except (DialogueError, Unresolved) as error:
        if isinstance(error, Unresolved) and error.failure.reason in _UNTOLD:
            return [_UNTOLD[error.failure.reason]]
        claimed = now.cells and kind in ("place_check", "way_check")
        return [f"No: {place_of(now.about[0])}." if claimed else "There is no such thing."]


def topic_of(question: Asked, now: ConversationState) -> tuple[Cell, ...]:
    """Return the cells of the target that a question is about; () if it names nothing."""
    of = Blocks(count=None) if question.kind == "whole" else dict(question.about).get("of")
    if of in (None, Anaphor()) or question.kind == "scene":
        return ()
    try:
        items, _ = _meant(of, now.finished)
    except Unresolved:
        return ()
    cells = tuple(cell for item in items for cell in item)
    all_of_it = len(cells) == np.count_nonzero(now.finished.grid)
    return () if all_of_it and question.kind not in ("whole", "size") else cells


def scene_answer(text: str, now: ConversationState) -> str:
    """Return the answer to a question about existing things ("how many red blocks are there?"), "" for other texts."""
    question = parse_question(text) if "?" in text else None
    return _scene(now, question.program) if isinstance(question, Question) else ""


def _scene(now: ConversationState, program: Program) -> str:
    scene = Scene(now.grid, now.context.yaw_deg or 0.0)
    found = answer(program, scene)
    if found is None:
        return say(DialogueAct.NO_SUCH)
    if isinstance(found, bool):
        while program.function == "not":
            program = program.inputs[0]
        measured = [part for part in program.inputs if part.function.startswith(("count", "query"))]
        facts = [listed(str(answer(part, scene)) for part in measured)] if measured else []
        found = ", ".join(["Yes" if found else "No", *facts])
    if isinstance(found, (Thing, tuple)):
        seen = [found] if isinstance(found, Thing) else [thing for thing in found if thing.whole]
        names = [f"the {one.color} {one.shape} {place_of(one.cells[0])}" for one in seen]
        found = listed(names)
    return f"{capital(str(found))}."


def of_things(now: ConversationState, kind: str, of: Reference, **more: Any) -> list[str]:
    """Return the possible answers to a question about things in `now.grid`, the fullest first."""
    if kind in _OF_BUILD:
        return _of_build(now, kind, of)
    setting = Resolution.of(now.grid, now.context)
    items, several = _meant(of, now)
    if items and several and kind not in _OF_SEVERAL:
        mine = [item for item in items if not set(item).isdisjoint(setting.last)]
        if len(mine) != 1:
            counts, where = f"There are {len(items)} of them", "; ".join(place_of(item[0]) for item in items)
            return [f"{counts}: {where}."] * (len(items) < 4) + [f"{counts}."]
        items = mine
    if more.pop("corner", False):
        items = [item for item in items if any(abs(x) == abs(z) == 5 for x, _, z in item)]
    if not items:
        return [_OF_NOTHING.get(kind, _nothing(now))]
    cells = tuple(cell for item in items for cell in item)
    if kind == "number":
        return [f"{len(items)}."]
    if kind == "number_check":
        return _verdict(len(items) == more["n"], [f"{len(items)}."])
    if kind == "what":
        return [f"{capital(counted(color_at(now.grid, cell) for cell in cells))}."]
    if kind == "place":
        return [f"{capital(_places(now, items))}.", f"{capital(_places(now, items[:1]))}."]
    if kind == "exists":
        return [f"Yes, {_places(now, items) if len(items) == 1 else len(items)}."]
    if kind == "place_check":
        where = getattr(more["where"], "where", more["where"])  # "in each corner": in one of them
        there = {cell for item in things(Blocks((), count=None, where=where), setting)[0] for cell in item}
        verdict = "Yes" if all(there & set(item) for item in items) else "No"
        return [f"{verdict}: {_places(now, items)}.", f"{verdict}: {_places(now, items[:1])}."]
    return answers(Asked(kind, tuple(more.items())), replace(now, cells=cells))


def _of_build(now: ConversationState, kind: str, of: Reference) -> list[str]:
    """Return the answers about how far things of the target are; if they are right, also about those that stand."""
    grid = now.grid if now.built is None else now.built
    items, _ = _meant(of, replace(now, grid=now.target))
    if kind == "right":
        items += things(of, Resolution.of(grid, now.context))[0]
    if not items:
        return [_OF_NOTHING.get(kind, _nothing(now))]
    cells = tuple(dict.fromkeys(cell for item in items for cell in item))
    goal = grid.copy()  # differs from the build only there
    for cell in cells:
        goal[index_of(cell)] = color_at(now.target, cell)
    base = np.zeros_like(grid)
    about = replace(now, grid=grid, target=goal, goal=goal, base=base, cells=cells, built=None)
    return answers(Asked(kind), about)


def _nothing(now: ConversationState) -> str:
    return "There is no such thing." if now.built is None else "There is no such thing in the structure."


def _meant(of: Reference, now: ConversationState) -> tuple[list[Item], bool]:
    """Return the things that a reference means in `now.grid`: "the tower" is the part that has that name."""
    if (
        isinstance(of, Blocks)
        and of.kind is not Kind.BLOCK
        and of == Blocks(of.colors, of.kind, size=of.size)
    ):
        last = now.context.last
        within = [item for item in things(of, Resolution.of(now.grid, now.context))[0] if {*item} > {*last}]
        parts = now.parts if within else (last, *now.parts)  # the open cells of a tower are no tower
        alone = ((cells, _Facts(replace(now, cells=cells)).alone) for cells in parts if cells)
        named = [cells for cells, grid in alone if things(of, Resolution.of(grid, now.context))[0] == [cells]]
        if len(named) == 1 or named[:1] == [last]:
            return named[:1], False
    return things(of, Resolution.of(now.grid, now.context))


def things(of: Reference, setting: Resolution) -> tuple[list[Item], bool]:
    """Return the things that a reference means, and whether they are more than it says."""
    try:
        items, several = resolve(of, setting), False
    except Unresolved as error:
        if error.failure.reason in _UNTOLD:
            raise
        inner, items, several = error.failure.reference, list(error.failure.choices), True
        if isinstance(inner, Blocks) and inner != of and items:  # "north of a red block": of any of them
            whole: Any = of
            bound: list[Any] = [bind_referent(whole, inner, At(item[0])) for item in items]
            each = [things(one, setting) for one in bound]
            items = list(dict.fromkeys(item for part, _ in each for item in part))
            several = len(items) > 1 and any(more for _, more in each)
    return [item for item in items if any(map(setting.color_at, item))], several  # places can be free


def _places(now: ConversationState, items: list[Item]) -> str:
    """Return where things are, those that touch together."""
    joined = connected(cell for item in items for cell in item) if len(items) > 3 else items
    return "; ".join(_lower(next(_Facts(replace(now, cells=item)).place())).rstrip(".") for item in joined)


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


@lru_cache(maxsize=1089)
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
    *first, last = [*names] or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def many(count: int, what: str = "block") -> str:
    """Return a number of things in words: "one block", "2 blocks"."""
    return f"one {what}" if count == 1 else f"{count} {what}s"


def _named(parts: Iterable[Item], now: ConversationState, touching: bool = True) -> list[str]:
    """Describe things from the ground up, equal ones together, each by where it touches one before.

    "two red towers of two blocks", "on top of them a yellow row of five blocks", "a tower of two blocks (1 red and 1
    blue)". touching: whether to say so.
    """
    groups: dict[tuple[Phrase, str], list[tuple[Cell, ...]]] = {}
    for cells in sorted(parts, key=lambda cells: (min(y for _, y, _ in cells), -len(cells))):
        groups.setdefault(_Facts(replace(now, cells=cells)).described(), []).append(cells)
    said: list[str] = []
    before: list[Item] = []
    ways = _TOUCHING if touching else ()
    while groups:
        near = ((key, word) for word, step in ways for key in groups if _touch(groups[key], before, step))
        (phrase, colors), where = next(near, (next(iter(groups)), ""))
        items = groups.pop((phrase, colors))
        them = f"{where} {'it' if len(before) == 1 else 'them'} " if where else ""
        number = rendered("number_word", len(items)) if 1 < len(items) <= 20 else str(len(items))
        name = rendered("a_thing", phrase) if len(items) == 1 else f"{number} {rendered('things', phrase)}"
        said.append(f"{them}{name}{colors}")
        before = items
    return said


MAX_NAMED = 4  # groups of equal parts in an overview
_TOUCHING = (
    *(("on top of", VECTORS[Direction.DOWN]), ("under", VECTORS[Direction.UP])),
    *(("beside", VECTORS[way]) for way in COMPASS),
)


def _touch(items: list[tuple[Cell, ...]], others: list[tuple[Cell, ...]], step: Cell) -> bool:
    """Return whether each thing has a block that touches one of the others in a direction."""
    cells = {cell for other in others for cell in other}
    return all(any(shifted(cell, step) in cells for cell in item) for item in items)


def overview(target: Grid, parts: list[tuple[Cell, ...]], fits: Callable[[str], bool]) -> str:
    """Return what a structure of several parts looks like: its largest parts, as many as fit; "" if it has one."""
    now = ConversationState(target, target, target, (), target, Context())
    size = _Facts(replace(now, cells=tuple(cells_where(target != 0)))).across
    largest = sorted(parts, key=len, reverse=True)
    for count in sorted({len(parts), *range(1, len(parts))}, reverse=True):
        named = _named(largest[:count], now)
        mainly = "" if count == len(parts) else "mainly "
        said = f"The structure is {size}: {mainly}{listed(named)}."
        if len(named) <= MAX_NAMED and fits(said) and len(parts) > 1:
            return said
    return ""


def _colors(grid: Grid) -> str:
    counts = Counter(color_name(int(color)) for color in grid[grid != 0])
    return listed(f"{count} {name}" for name, count in counts.most_common())


class _Facts:
    """The answers by kind of question, the fullest first."""

    def __init__(self, now: ConversationState) -> None:
        self.now, self.about, self.cells = now, now.about, list(now.cells)
        self.extent = [int(n) + 1 for n in np.ptp(self.cells, axis=0)] if self.cells else [0, 0, 0]

    @cached_property
    def alone(self) -> Grid:
        """A grid with only the cells in question."""
        grid = np.zeros_like(self.now.grid)
        for cell in self.cells:
            grid[index_of(cell)] = self.now.color_of(cell)
        return grid

    def find(self, of: Reference, grid: Grid) -> list[set[Cell]]:
        """Return the cells of the things in a grid that a reference means."""
        return [set(item) for item in things(of, Resolution.of(grid, self.now.context))[0]]

    def color(self) -> Iterator[str]:
        yield f"{capital(listed(dict.fromkeys(color_name(self.now.color_of(cell)) for cell in self.cells)))}."

    def place(self) -> Iterator[str]:
        if len(self.about) == 1:
            yield f"{capital(place_of(self.about[0]))}."
            return
        if ways := self.ways:
            yield f"It starts {place_of(self.about[0])}, going {listed(ways)}."
        yield f"It starts {place_of(self.about[0])}."

    def way(self) -> Iterator[str]:
        stated = capital(listed(self.ways or [""]))
        there = f"{stated}; it starts {place_of(self.about[0])}.", f"{stated}."
        yield from there if self.ways else self.place()

    @property
    def ways(self) -> list[str]:
        """The directions from the first to the last cell."""
        step = np.subtract(self.about[-1], self.about[0])
        if all(thing.size < len(self.cells) for thing in Scene(self.alone).things):
            return []  # several things
        return [str(way) for way, vector in VECTORS.items() if np.dot(vector, step) > 0]

    def which(self) -> Iterator[str]:
        if len(self.about) > 1:
            yield from self.place()
        yield f"The {color_name(self.now.color_of(self.about[0]))} one {place_of(self.about[0])}."

    def height(self) -> Iterator[str]:
        low, high = (edge(cell[1] + 2 for cell in self.cells) for edge in (min, max))
        if low < high:
            yield f"{high - low + 1} blocks high, from level {low} to level {high}."
        yield "On the ground." if low == 1 else f"On level {low}."

    def tall(self) -> Iterator[str]:
        yield f"{capital(many(self.extent[1]))} high."

    def long(self) -> Iterator[str]:
        yield f"{capital(many(max(self.extent[::2])))}."

    def size(self) -> Iterator[str]:
        yield f"{capital(many(len(self.cells)))}: {self.across}."

    @property
    def across(self) -> str:
        """The extent in words: "3 from west to east and 2 high"."""
        wide, high, deep = self.extent
        ways = (wide, "from west to east"), (deep, "from north to south")
        return listed([*(f"{n} {way}" for n, way in ways if n > 1), f"{high} high"])

    def count(self) -> Iterator[str]:
        left = len(self.now.open_cells)
        if 0 < left < len(self.cells):
            yield f"{capital(many(len(self.cells)))} in all; {many(left)} more."
        yield f"{capital(many(len(self.about)))}."

    def shape(self) -> Iterator[str]:
        whole = [self.now.cells]
        parts = connected(self.now.cells) if self.described()[0].shape == "group" else whole
        yield f"{capital(listed(_named(parts, self.now, touching=False)))}."
        yield f"{capital(*_named(whole, self.now))}."

    def described(self) -> tuple[Phrase, str]:
        """Return the most specific name of the cells, and their colours if there are several."""
        size = len(self.cells)
        names = [one for one in Scene(self.alone).things if one.size == size]
        color = {one.color for one in names} - {MIXED}
        shape = min((one.shape for one in names), key=("group", "rectangle").count, default="group")
        return Phrase(
            shape, tuple(color), size if size > 1 else None
        ), "" if color else f" ({_colors(self.alone)})"

    def floating(self) -> Iterator[str]:
        loose = f"{many(len(self.loose))} not connected to the ground."
        yield loose if self.loose else "All is connected to the ground."

    @property
    def loose(self) -> list[Cell]:
        """Those of the cells that are not connected to the ground."""
        groups = connected(cells_where((self.now.goal != 0) | (self.now.base != 0)))
        return [c for group in groups if all(y > -1 for _, y, _ in group) for c in group if c in self.cells]

    def left(self) -> Iterator[str]:
        missing = np.count_nonzero((self.now.target != 0) & (self.now.grid != self.now.target))
        spare = np.count_nonzero((self.now.target == 0) & (self.now.grid != 0))
        parts = [f"{many(int(n))} to {verb}" for n, verb in ((missing, "place"), (spare, "remove")) if n]
        yield f"{capital(listed(parts))}." if parts else _OF_NOTHING["left"]

    def whole(self) -> Iterator[str]:
        target = self.now.target
        count = f"{capital(many(int(np.count_nonzero(target))))} in all"
        high = int(np.flatnonzero(target.any(axis=(1, 2))).max(initial=-1)) + 1
        stated = f"{count}, {_colors(target)}; {many(high)} high."
        if self.now.parts:
            for touching in (True, False):
                yield f"{capital(listed(_named(self.now.parts, self.now.finished, touching)))}: {_lower(stated)}"
        yield from (stated, f"{count}.")

    def right(self) -> Iterator[str]:
        left = len(self.now.open_cells)
        if self.now.wrong:
            yield from (f"No. {text}" for text in mistake(self.now, self.now.wrong[0]))
        elif not self.cells and not np.array_equal(self.now.grid, self.now.target):
            yield f"Yes, so far: {_lower(next(self.left()))}"
        elif not left:
            yield "Yes, that is right."
        elif left < len(self.cells):
            yield f"Yes, so far: {many(left)} more."
        else:
            there = any(color_at(self.now.goal, cell) for cell in self.about)
            yield f"No, there is {'no' if there else 'a'} block {place_of(self.about[0])}."
            yield "No, that is not done."

    def wrong(self) -> Iterator[str]:
        if self.now.wrong:
            yield from mistake(self.now, self.now.wrong[0])
        spare = np.count_nonzero((self.now.grid != 0) & (self.now.grid != self.now.target))
        yield (
            f"No mistake, but {many(int(spare))} to remove."
            if spare
            else "No mistake: all that stands there is right."
        )
        yield "Nothing."

    def finished(self) -> Iterator[str]:
        done = np.array_equal(self.now.grid, self.now.target)
        yield say(DialogueAct.COMPLETE) if done else f"No: {_lower(next(self.left()))}"

    def give_up(self) -> Iterator[str]:
        yield say(DialogueAct.GIVE_UP)


_HOLDS: dict[str, Callable[..., bool]] = {
    "color": lambda facts, c: {facts.now.color_of(cell) for cell in facts.cells} == {c},
    "count": lambda facts, n: len(facts.cells) == n,
    "floating": lambda facts: bool(facts.loose),
    "long": lambda facts, n: max(facts.extent[::2]) == n,
    "shape": lambda facts, core: set(facts.cells) in facts.find(replace(core, count=None), facts.alone),
    "tall": lambda facts, n: facts.extent[1] == n,
    "way": lambda facts, way: Resolution.of(facts.now.grid, facts.now.context).on_map(way) in facts.ways,
}
"""Whether an assertion about a fact holds, by the fact."""
