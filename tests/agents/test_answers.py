"""Every question that the rules can ask is answered as the grids say, or refused in words.

The questions are random expansions of the rules of `asked.txt`. What they are about stands apart in a random target, so
that its cells are known; the expected answers are computed from these cells, the target and the build alone.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest
from talkers import EMPTY, Person
from test_conversation import BLUE, HOUSE, RED

from iglu_marl.agents.scripted.answers import ConversationState
from iglu_marl.agents.scripted.builder_answers import replies
from iglu_marl.core.grid import COLOR_NAMES, blocks_to_grid, cell_index, cells_of, color_name
from iglu_marl.language import CellEdit, Context, constructions, parse, say
from iglu_marl.language import Scene as LanguageScene
from iglu_marl.language import answer as ask
from iglu_marl.language.grammar.dialogue_acts import parse_small_talk
from iglu_marl.language.grammar.engine import CategorySlot, Choice, Node, Word
from iglu_marl.language.grammar.reader import grammar
from iglu_marl.language.grammar.scene_sentences import parse_question
from iglu_marl.language.scene.questions import Question as SceneQuestion

Cell = tuple[int, int, int]
COLORS = COLOR_NAMES[1:]
WHOLE = ("the structure", "the whole thing", "everything")
PRONOUNS = ("it", "this", "that one")
ANY_REFERENCE = (
    *PRONOUNS,
    "them",
    "you",
    "everything",
    "red",
    "the red block",
    "the purple tower",
    "the keel",
)
OF_WHOLE = ("color", "color_check", "tall", "tall_check", "height", "count", "count_check", "size")
OPEN = ("it", "red blocks", "to do")
MADE_OF_RULES = {
    *("asked", "asked_plain", "asked_loosely", "of_things", "of_builder", "question", "property", "owned"),
    *("is_it", "i_put", "of_request", "any_of", "all_of", "what_at", "those_at", "end_of", "course"),
}
"""Categories that are expanded by their rules; slots of the others get an example."""


@dataclass(eq=False)
class World:
    """A target and a build, both int32 [9, 11, 11]. things: cells by name, of those that stand apart in the target."""

    target: np.ndarray
    grid: np.ndarray
    things: dict[str, list[Cell]]

    @cache  # noqa: B019
    def _talks_about(self, topic: str, level: str) -> tuple[Person, str]:
        person = Person(self.target, self.grid, level=level)
        request = person.says()
        if topic:
            assert person.says(f"Where is {topic}?") != ""
        return person, request

    @property
    def request(self) -> Any:
        """The request of an architect that asks for single blocks."""
        return parse(self._talks_about("", "blocks")[1])

    def answer(self, question: str, topic: str, level: str) -> str:
        """Return the answer of an architect that gave a request, and then said where the topic is."""
        return copy.deepcopy(self._talks_about(topic, level)[0]).says(question)


def worlds(rng: random.Random) -> Iterator[World]:
    """Yield a target with nothing, parts, mistakes, or all of it built, and an empty target with blocks to remove."""
    row, tower, block, stray = rng.sample(COLORS, 4)
    things = {
        f"the {row} row": [(x, -1, -4) for x in range(-4, rng.randint(-2, 1))],
        f"the {tower} tower": [(4, y, -4) for y in range(-1, rng.randint(1, 4))],
        f"the {block} block": [(rng.randint(-4, 4), -1, 4)],
    }
    target = EMPTY.copy()
    for color, cells in zip((row, tower, block), things.values(), strict=True):
        for cell in cells:
            target[cell_index(*cell)] = COLOR_NAMES.index(color)
    target[cell_index(-4, -1, 0)] = COLOR_NAMES.index(row)
    part = np.where(np.random.default_rng(rng.randrange(1000)).random(target.shape) < 0.5, target, 0)
    mistaken, full = part.copy(), target.copy()
    mistaken[cell_index(0, -1, 0)] = COLOR_NAMES.index(rng.choice((stray, block, row)))
    mistaken[cell_index(*things[f"the {tower} tower"][0])] = COLOR_NAMES.index(stray)
    for grid in (EMPTY, part, mistaken, full):
        yield World(target, grid, things)
    yield World(EMPTY, target, {})


class Question:
    """A random expansion of a rule.

    known: about things of a world, of which it notes what they are, else about anything.
    """

    def __init__(self, category: str, rng: random.Random, world: World | None) -> None:
        self.rng, self.world = rng, world
        self.of: list[Cell] | None = None  # cells of the target
        self.thing = self.topic = self.color = self.axis = ""
        self.n = 0
        self.level = rng.choice(("blocks", "shapes"))
        self.rules: list[str] = []
        self.checked = True
        self.text = f"{self._category(category)}{rng.choice('???.')}"

    @property
    def kind(self) -> str:
        """What is asked; "" if that has no known answer."""
        kinds = [kind for rule in self.rules for kind in re.findall(r"kind=(\w+)", rule)]
        clear = self.checked and not re.search(r"right now|\bin it\b", self.text)  # these have two readings
        return kinds[-1] if kinds and clear else ""

    def _category(self, name: str) -> str:
        rule = self.rng.choice(grammar().categories[name].rules)
        self.rules.append(rule.text)
        return self._text(rule.pattern)

    def _text(self, node: Node) -> str:
        if isinstance(node, Word):
            return node.text
        if isinstance(node, CategorySlot):
            return self._slot(node)
        if isinstance(node, Choice):
            skipped = node.optional and self.rng.random() < 0.6
            return "" if skipped else self._text(self.rng.choice(node.options))
        return " ".join(filter(None, map(self._text, getattr(node, "parts", ()))))

    def _slot(self, slot: CategorySlot) -> str:
        name = slot.category
        if self.world is not None and name == "axis":
            said, self.axis = self.rng.choice((("north-south", "z"), ("from east to west", "x")))
            return said
        if self.world is not None and slot.name in ("of", "c", "n"):
            if name == "ref":
                return self._named(self.world)
            if name in ("any_of", "all_of", "color", "tint"):
                self.color = self.rng.choice(COLORS)
                if slot.name == "of":
                    self.of = [
                        *map(tuple, cells_of(self.world.target == COLOR_NAMES.index(self.color)).tolist())
                    ]
                return f"{self.color} blocks" if slot.name == "of" else self.color
            if name == "number":
                self.n = self.rng.randint(2, 4)
                return str(self.n)
        if len(self.rules) < 8 and name in MADE_OF_RULES:
            return self._category(name)
        self.checked = False
        return self.rng.choice(ANY_REFERENCE if name == "ref" else examples(name))

    def _named(self, world: World) -> str:
        if not world.things:
            self.checked = False
            return self.rng.choice(ANY_REFERENCE)
        self.thing = self.rng.choice((*sorted(world.things), *WHOLE))
        if self.thing in WHOLE:
            self.of = [*map(tuple, cells_of(world.target != 0).tolist())]
            return self.thing
        self.of = world.things[self.thing]
        if self.rng.random() < 0.3:
            self.topic = self.thing
            return self.rng.choice(PRONOUNS)
        return self.thing


@cache
def examples(category: str) -> list[str]:
    """Return texts of a category, for slots whose meaning is not checked."""
    made = (rule.example for rule in constructions() if rule.category == category)
    return [*islice(filter(None, made), 6)] or [*OPEN]


def number_in(answer: str) -> int:
    """Return the first number of an answer."""
    found = re.search(r"\b(\d+|one|none|no|nothing|on the ground)\b", answer.lower())
    assert found is not None, answer
    return int(found[1]) if found[1].isdigit() else int(found[1] in ("one", "on the ground"))


def colors_in(answer: str) -> set[str]:
    return {color for color in COLORS if color in answer.lower()}


def place_in(answer: str) -> tuple[int, int]:
    """Return the first place of an answer as x and z."""
    east, south = 0, 0
    for n, way in re.findall(
        r"(\d+)(?: blocks?)? (east|west|north|south)", answer.split(" of the centre")[0]
    ):
        east += {"east": int(n), "west": -int(n)}.get(way, 0)
        south += {"south": int(n), "north": -int(n)}.get(way, 0)
    return east, south


def yes_or_no(answer: str) -> bool | None:
    word = re.match(r"(Yes|No|None|Nothing|The structure is complete)\b", answer)
    return None if word is None else word[1] in ("Yes", "The structure is complete")


def expected(question: Question, world: World) -> tuple[Callable[[str], Any], Any] | None:
    """Return what to look at in the answer, and what it must be; None if that is not known."""
    target, grid, kind = world.target, world.grid, question.kind
    to_place, to_remove = (
        int(((target != 0) & (grid != target)).sum()),
        int(((target == 0) & (grid != 0)).sum()),
    )
    if kind == "finished":
        return yes_or_no, not to_place and not to_remove
    if kind == "placed":
        return number_in, int(((target != 0) & (grid == target)).sum())
    if kind == "left" and question.of is None and not question.color:
        return (lambda answer: re.findall(r"(\w+) blocks? to", answer.lower())), [
            "one" if n == 1 else str(n) for n in (to_place, to_remove) if n
        ]
    if kind == "colors_left":
        return colors_in, {color_name(int(color)) for color in target[(target != 0) & (grid != target)]}
    if kind == "spare":
        return number_in, to_remove
    if question.color and question.of is None and kind in ("number", "left"):
        question.of = [*map(tuple, cells_of(target == COLOR_NAMES.index(question.color)).tolist())]
    if question.of is None and any("of_all" in rule for rule in question.rules):
        question.of, question.thing = [*map(tuple, cells_of(target != 0).tolist())], WHOLE[0]
    if (
        question.of is None
        and not question.color
        and question.level == "blocks"
        and isinstance(world.request, CellEdit)
    ):
        question.of, question.thing = [world.request.cell], "the block"
        if not world.request.after:
            return None
    return None if question.of is None else expected_of(question, world, question.of)


def expected_of(question: Question, world: World, of: list[Cell]) -> tuple[Callable[[str], Any], Any] | None:
    """Return what to look at in the answer to a question about cells, and what it must be."""
    kind, n = question.kind, question.n
    missing = sum(world.grid[cell_index(*cell)] != world.target[cell_index(*cell)] for cell in of)
    if kind in ("number", "left"):
        return number_in, len(of) if kind == "number" else missing
    if kind == "number_check":
        return yes_or_no, len(of) == n
    if "corner" in question.rules[-1] or (kind == "exists" and re.search(r"\bit\b", question.text)):
        return None  # not known: "it" is the structure, or what was talked about
    if kind in ("exists", "missing_check") and not question.thing:
        return yes_or_no, bool(of if kind == "exists" else missing)
    if not of or not question.thing or (question.thing not in world.things and kind not in OF_WHOLE):
        return None
    colors = {color_name(int(world.target[cell_index(*cell)])) for cell in of}
    extent = np.ptp(of, axis=0) + 1
    long, tall = int(max(extent[0], extent[2])), int(extent[1])
    if "n=1" in question.rules[-1]:
        n = 1
    if kind == "right":
        named = world.grid == COLOR_NAMES.index(question.thing.split()[1])
        alike = named & (world.target != world.grid) & question.thing.endswith("block")
        wrong = (
            any(0 != world.grid[cell_index(*c)] != world.target[cell_index(*c)] for c in of) or alike.any()
        )
        return yes_or_no, not wrong and missing < len(of)
    checks = {
        "color_check": colors == {question.color},
        "tall_check": tall == n,
        "long_check": long == n,
        "count_check": len(of) == n,
        "axis_check": question.axis == "x" and question.thing.endswith("row"),
        "ground_check": True,
        "floating_check": False,
        "exists": True,
        "missing_check": missing > 0,
        "complete_check": missing == 0,
    }
    top = int(max(y for _, y, _ in of)) + 2
    numbers = {
        "tall": tall,
        "height": tall if tall > 1 else top,
        "long": long,
        "count": len(of),
        "size": len(of),
    }
    if kind in numbers:
        return number_in, numbers[kind]
    if kind == "place":
        return (lambda answer: place_in(answer) in {(x, z) for x, _, z in of}), True
    if kind == "color":
        return colors_in, colors
    return (yes_or_no, checks[kind]) if kind in checks else None


def problems(count: int, seed: int) -> tuple[list[str], int]:
    """Ask questions; return what is wrong about the answers, and how many were checked against the grids."""
    rng = random.Random(seed)
    found, checked = [], 0
    for number in range(count):
        if number % 100 == 0:
            places = [*worlds(rng)]
        world = rng.choice(places)
        known = rng.random() < 0.7
        category = rng.choice(
            ("asked_plain", "of_things", "asked_loosely") if known else ("asked", "asked_loosely", "question")
        )
        question = Question(category, rng, world if known else None)
        asked = f"{question.text!r} (it: {question.topic}; {question.rules[-1]})"
        try:
            answer = world.answer(question.text, question.topic, question.level)
        except Exception as error:
            found.append(f"{asked} raises {error!r}")
            continue
        if not answer and question.kind != "okay" and parse_small_talk(question.text) is None:
            found.append(f"{asked}: no answer")
        if parse_small_talk(question.text) is None and (truth := expected(question, world)) is not None:
            checked += 1
            look, wanted = truth
            if look(answer) != wanted:
                found.append(f"{asked}: {answer!r}, expected {wanted}")
    return found, checked


@pytest.mark.parametrize("seed", range(2))
def test_random_questions_are_answered_as_the_grids_say(seed: int) -> None:
    found, checked = problems(300, seed)
    assert not found, "\n".join(found)
    assert checked > 60


def problems_of_builder(count: int, seed: int) -> tuple[list[str], int]:
    """The same for questions to a builder; "the structure" can be several to it."""
    rng = random.Random(seed)
    found, checked = [], 0
    for number in range(count):
        if number % 100 == 0:
            *_, full, _ = worlds(rng)
        question = Question(rng.choice(("of_builder", "of_things")), rng, full if number % 4 else None)
        context = Context(tuple(full.things.get(question.topic, ())), 0.0, (0.0, 0.63, 0.0))
        grid = full.grid.astype(np.int8)
        now = ConversationState(grid, grid, grid, (), grid, context)
        answers = replies(question.text, now)
        truth = expected(question, full)
        if truth is not None and question.thing != "the structure":
            checked += 1
            look, wanted = truth
            if not answers or look(answers[0]) != wanted:
                found.append(f"{question.text!r} ({question.rules[-1]}): {answers}, expected {wanted}")
    return found, checked


def test_random_questions_to_a_builder_are_answered_as_the_grid_says() -> None:
    found, checked = problems_of_builder(400, 0)
    assert not found, "\n".join(found)
    assert checked > 60


DONE = say("complete")
ROW = "it starts at the centre, on the ground, going east."
STRAY = "The blue block 4 blocks east and 4 south of the centre, on the ground, is not right: please take it away."


REMOVE_IT = "Yes, please remove the blue block 4 blocks east and 4 south of the centre, on the ground."


@pytest.mark.parametrize(
    ("question", "at_first", "with_a_mistake", "complete"),
    [
        ("Should I take it away?", "There is nothing to remove.", REMOVE_IT, "No, leave them."),
        (
            "Should I remove the blue block?",
            "There is nothing to remove.",
            REMOVE_IT,
            "No, leave them.",
        ),
        (
            "Should I remove everything?",
            "There is nothing to remove.",
            "Only one blue block: 4 blocks east and 4 south of the centre, on the ground.",
            "No, leave them.",
        ),
        (
            "Must I put it?",
            f"Yes, {ROW}",
            "Yes, it starts 1 block east of the centre, on the ground, going east.",
            "Nothing more.",
        ),
        (
            "Can I place a red block now?",
            "Yes: red, at the centre, on the ground.",
            "Yes: red, 1 block east of the centre, on the ground.",
            DONE,
        ),
        (
            "Should I place 2 red blocks?",
            "No: red, at the centre, on the ground.",
            "Yes: red, 1 block east of the centre, on the ground.",
            DONE,
        ),
        (
            "Should I place a red row?",
            "Yes: red, at the centre, on the ground.",
            "Yes: red, 1 block east of the centre, on the ground.",
            DONE,
        ),
        (
            "Should I put a blue one?",
            "No: red, at the centre, on the ground.",
            "No: red, 1 block east of the centre, on the ground.",
            DONE,
        ),
        ("How many more blue?", "2 blocks to place.", "2 blocks to place.", "Nothing more."),
        ("Do I need more blue?", "Yes, 2 blocks to place.", "Yes, 2 blocks to place.", "No, nothing more."),
        (
            "Is the blue tower right?",
            "No, there is no block at the centre, at height 2.",
            "No, there is no block at the centre, at height 2.",
            "Yes, that is right.",
        ),
        (
            "Is the blue block right?",
            "No, there is no block at the centre, at height 2.",
            f"No. {STRAY}",
            "Yes, that is right.",
        ),
        (
            "Is the red row right?",
            "No, there is no block at the centre, on the ground.",
            "Yes, so far: 2 blocks more.",
            "Yes, that is right.",
        ),
        ("What is in the corner?", "Nothing.", "Nothing.", "Nothing."),
        (
            "Is it in the corner?",
            f"No, {ROW}",
            "No, it starts 1 block east of the centre, on the ground, going east.",
            "No, it starts 3 blocks west and 2 south of the centre, on the ground.",
        ),
        (
            "There are only red blocks.",
            "No, green, red and blue.",
            "No, green, red and blue.",
            "No, green, red and blue.",
        ),
    ],
)
def test_questions_about_the_work(question: str, at_first: str, with_a_mistake: str, complete: str) -> None:
    for blocks, answer in (
        ((), at_first),
        (((0, -1, 0, RED), (4, -1, 4, BLUE)), with_a_mistake),
        (None, complete),
    ):
        person = Person(HOUSE, HOUSE if blocks is None else EMPTY, level="shapes")
        person.says()
        person.places(*blocks or ())
        assert person.says(question) == answer


def test_nothing_is_to_be_placed_while_blocks_are_to_be_removed() -> None:
    person = Person(EMPTY, HOUSE)
    person.says()
    removed = "No, remove the blue block at the centre, at height 3."
    for question in ("Must I put it?", "Should I put it at the centre?", "Should I place a green block?"):
        assert person.says(question) == removed
    assert person.says("Is anything wrong?") == "No mistake, but 6 blocks to remove."


@pytest.mark.parametrize("way", ["north of", "east of", "on top of", "next to"])
def test_a_block_of_several_is_any_of_them(way: str) -> None:
    """Architect and builder count the things beside "a red block" as the scene does, and name them."""
    rng = np.random.default_rng(0)
    for _ in range(12):
        cells = rng.permutation([(x, y, z) for x in range(-2, 3) for y in (-1, 0) for z in range(-2, 3)])[:9]
        blocks = [(*map(int, cell), RED if n < 3 else BLUE) for n, cell in enumerate(cells)]
        grid = np.asarray(blocks_to_grid(blocks), np.int8)
        counting = f"How many blue blocks are {way} a red block?"
        asked = parse_question(counting)
        assert isinstance(asked, SceneQuestion)
        count = ask(asked.program, LanguageScene(grid))
        now = ConversationState(grid, grid, grid, (), grid, Context((), 0.0, (0.0, 0.63, 0.0)))
        person = Person(grid, level="shapes")
        person.says()
        for answers in (lambda text: person.says(text), lambda text: replies(text, now)[0]):  # noqa: B023
            assert number_in(answers(counting)) == count
            assert yes_or_no(answers(f"Is there a blue block {way} a red block?")) == bool(count)
            named = re.search(r"(\w+) blue blocks?", answers(f"What is {way} a red block?"))
            assert (number_in(named[0]) if named else 0) == count


def test_questions_about_a_request_that_is_begun() -> None:
    """What the builder calls "it" is what stands of the tower; a mistake of another colour is named."""
    target = blocks_to_grid([(0, y, 0, BLUE) for y in (-1, 0, 1)])
    begun, with_purple = (blocks_to_grid(blocks) for blocks in ([(0, -1, 0, BLUE)], [(4, -1, 4, 5)]))
    person = Person(target, EMPTY, level="shapes")
    person.says()
    person.grid = begun
    assert person.says("What comes on top of it?") == "2 blue blocks."
    person.grid = with_purple
    place = "4 blocks east and 4 south of the centre, on the ground"
    assert person.says("Should I remove the blue block?") == (
        f"No, there is no such thing. Remove one purple block: {place}."
    )
    assert person.says("Is it wrong?") == f"The purple block {place}, is not right: please take it away."
