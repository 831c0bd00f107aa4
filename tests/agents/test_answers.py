"""What the scripted architect answers about the work, and what architect and builder count and name."""

from __future__ import annotations

import re

import numpy as np
import pytest
from talkers import EMPTY, Person
from test_conversation import BLUE, HOUSE, RED

from iglu_marl.agents.scripted.answers import ConversationState
from iglu_marl.agents.scripted.builder_answers import replies
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.language import Context, Scene, answer, say
from iglu_marl.language.grammar.scene_sentences import parse_question
from iglu_marl.language.scene.questions import Question


def number_in(text: str) -> int:
    """Return the first number of an answer."""
    found = re.search(r"\b(\d+|one|none|no|nothing|on the ground)\b", text.lower())
    assert found is not None, text
    return int(found[1]) if found[1].isdigit() else int(found[1] in ("one", "on the ground"))


def yes_or_no(text: str) -> bool | None:
    word = re.match(r"(Yes|No|None|Nothing|The structure is complete)\b", text)
    return None if word is None else word[1] in ("Yes", "The structure is complete")


DONE = say("complete")
ROW = "it starts at the centre, on the ground, going east."
STRAY = "The blue block 4 blocks east and 4 south of the centre, on the ground, is not right: please take it away."


RED_BLOCKS = (
    "No: at the centre, on the ground; 1 block east of the centre, on the ground; 2 blocks east of the centre, on the "
    "ground."
)


@pytest.mark.parametrize(
    ("question", "at_first", "with_a_mistake", "complete"),
    [
        ("How many more blue?", "2 blocks to place.", "2 blocks to place.", "Nothing more."),
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
        ("How many rows are there?", "1.", "1.", "1."),
        ("Is the blue tower two blocks long?", "No, one block.", "No, one block.", "No, one block."),
        (
            "Is it complete?",
            "No: 6 blocks to place.",
            "No: 5 blocks to place and one block to remove.",
            DONE,
        ),
        ("Are there two red blocks?", "No, 3.", "No, 3.", "No, 3."),
        ("Are the red blocks at the centre?", RED_BLOCKS, RED_BLOCKS, RED_BLOCKS),
        (
            "There are only red blocks.",
            "No, green, red and blue.",
            "No, green, red and blue.",
            "No, green, red and blue.",
        ),
    ],
)
def test_questions_about_the_work(question: str, at_first: str, with_a_mistake: str, complete: str) -> None:
    for blocks, expected in (
        ((), at_first),
        (((0, -1, 0, RED), (4, -1, 4, BLUE)), with_a_mistake),
        (None, complete),
    ):
        person = Person(HOUSE, HOUSE if blocks is None else EMPTY, level="shapes")
        person.says()
        person.places(*blocks or ())
        assert person.says(question) == expected


def test_nothing_is_to_be_placed_while_blocks_are_to_be_removed() -> None:
    person = Person(EMPTY, HOUSE)
    person.says()
    removed = "No, remove the blue block at the centre, at height 3."
    assert person.says("Should I put it at the centre?") == removed
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
        assert isinstance(asked, Question)
        count = answer(asked.program, Scene(grid))
        now = ConversationState(grid, grid, grid, (), grid, Context((), 0.0, (0.0, 0.63, 0.0)))
        person = Person(grid, level="shapes")
        person.says()
        for answers in (lambda text: person.says(text), lambda text: replies(text, now)[0]):  # noqa: B023
            assert number_in(answers(counting)) == count
            assert yes_or_no(answers(f"Is there a blue block {way} a red block?")) == bool(count)
            named = re.search(r"(\w+) blue blocks?", answers(f"What is {way} a red block?"))
            assert (number_in(named[0]) if named else 0) == count
