"""What an instruction lacks is asked for, and the answer fills it in: `replies.jsonl`, and the ways to misspell."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from iglu_marl.core.grid import blocks_to_grid, cell_index, color_id
from iglu_marl.language import Context, Discourse, Failure, parse
from iglu_marl.language.grammar.reader import instruction_words, respelled
from iglu_marl.language.grammar.spelling import LONGEST, near
from iglu_marl.language.talk.repair import Understanding, understand, understand_answer
from tests.language.test_paraphrases import cases, expected

YAWS = {None: None, "north": 0.0, "east": 90.0, "south": 180.0, "west": 270.0}
KINDS = ("color", "height", "place", "count", "referent", "direction")
Grid = npt.NDArray[np.int8]


def world_of(blocks: list[Any]) -> Grid:
    """A grid of (x, y, z, colour)."""
    grid = np.zeros((9, 11, 11), np.int8)
    for x, y, z, color in blocks:
        grid[cell_index(x, y, z)] = color_id(color)
    return grid


def verdict(case: dict[str, Any]) -> str:
    """Whether it comes to the world that was expected: used, open, or wrong."""
    grid, context = world_of(case["world"]), Context((), YAWS[case["facing"]])
    heard: Understanding | None = understand(case["said"], grid, context)
    if heard is not None and heard.question is not None:
        heard = understand_answer(heard, case["reply"], grid, context)
    if heard is None or isinstance(heard.found, Failure):
        return "open"
    same = any(np.array_equal(heard.found[0].grid, world) for world in expected(case))
    return "used" if same else "wrong"


@pytest.mark.parametrize("kind", KINDS)
def test_answers_to_each_kind_of_question_are_used(kind: str) -> None:
    mine = [case for case in cases("replies") if case["asks"] == kind]
    found = {case["id"]: verdict(case) for case in mine}
    counts = Counter(found.values())
    assert len(mine) == 40
    assert counts["wrong"] == 0, [name for name, what in found.items() if what == "wrong"]
    assert counts["used"] >= 34, [name for name, what in found.items() if what == "open"]


TWO_RED = [[-3, -1, 0, "red"], [3, -1, 0, "red"]]


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("Put a block on top of the blue block.", "color"),
        ("Place a red block.", "place"),
        ("Extend the blue tower east.", "count"),
        ("Move the blue block.", "place"),
        ("Recolour the blue block.", "color"),
        ("Build a green tower on the ground in the centre.", "height"),
        ("Make the blue tower taller.", "count"),
        ("Copy the blue block 3 blocks over.", "direction"),
        ("Put a red block in the air above the blue block.", "height"),
        ("Remove the red block.", "referent"),
        ("Remove the crimson block.", "word"),
    ],
)
def test_the_question_is_about_what_is_missing(said: str, missing: str) -> None:
    world = world_of([[0, -1, 4, "blue"], [0, 0, 4, "blue"], *TWO_RED])
    if "blue block" in said:
        world[cell_index(0, 0, 4)] = 0
    question = understand(said, world).question
    assert question is not None
    assert question.missing == missing


def test_a_misspelt_word_is_asked_about() -> None:
    grid = world_of([[0, -1, 0, "red"]])
    talk = Discourse()
    heard = talk.hear("Demolishing the red block.", grid)
    assert isinstance(heard.found, Failure)
    assert (heard.found.detail, heard.found.suggestion) == ("demolishing", "demolish")
    heard = talk.hear("yes", grid)
    assert not isinstance(heard.found, Failure)
    assert not heard.found[0].grid.any()


def test_a_colour_completes_a_change() -> None:
    grid = world_of([[0, -1, 0, "red"]])
    heard = understand_answer(understand("Replace the red block.", grid), "blue", grid)
    assert heard is not None
    assert not isinstance(heard.found, Failure)
    assert np.array_equal(heard.found[0].grid, world_of([[0, -1, 0, "blue"]]))


@pytest.mark.parametrize("reply", ["the purple one", "banana", "why?", "the one on the moon"])
def test_what_is_no_answer_changes_nothing(reply: str) -> None:
    grid = world_of(TWO_RED)
    found = understand_answer(understand("Remove the red block.", grid), reply, grid)
    assert found is None or isinstance(found.found, Failure)


THREE_RED = [[-3, -1, 0, "red"], [0, -1, 0, "red"], [3, -1, 0, "red"]]
TOWER = [[3, -1, 0, "green"], [3, 0, 0, "green"]]


@pytest.mark.parametrize(
    ("world", "said", "reply"),
    [
        (THREE_RED, "Remove the red block.", "both of them"),
        (THREE_RED, "Remove the red block.", "not the western one"),
        ([], "Build a tower of three in the centre.", "yellow and green"),
        ([], "Build a tower of three in the centre.", "not red"),
        (TOWER, "Make the green tower taller.", "two red blocks"),
        ([], "Build a row of blue blocks going east from the centre.", "two or three"),
    ],
)
def test_answers_that_leave_it_open_are_no_guess(world: list[Any], said: str, reply: str) -> None:
    grid = world_of(world)
    found = understand_answer(understand(said, grid), reply, grid)
    assert found is None or isinstance(found.found, Failure)


@pytest.mark.parametrize(
    ("reply", "height"),
    [
        ("5 in total", 5),
        ("to level 6", 6),
        ("two green ones", 4),
    ],
)
def test_numbers_in_total_and_in_addition(reply: str, height: int) -> None:
    grid = world_of(TOWER)
    found = understand_answer(understand("Make the green tower taller.", grid), reply, grid)
    assert found is not None
    assert not isinstance(found.found, Failure)
    assert np.array_equal(found.found[0].grid, world_of([[3, y - 1, 0, "green"] for y in range(height)]))


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (
            "Plase a red blok on teh ground in the centre.",
            (("plase", "place"), ("blok", "block"), ("teh", "the")),
        ),
        ("Place a red block in the centre.", ()),
    ],
)
def test_slips_are_put_right_and_known(text: str, changes: tuple[tuple[str, str], ...]) -> None:
    assert parse(text)
    assert respelled(text) == changes


def test_words_longer_than_any_known_are_no_slips() -> None:
    assert max(map(len, instruction_words())) < LONGEST
    assert near("b" * LONGEST, {"b" * (LONGEST - 1)})
    assert not near("b" * (LONGEST + 1), {"b" * LONGEST})
    assert isinstance(parse("remove the " + "b" * 100_000), Failure)


@pytest.mark.parametrize(
    ("text", "word", "suggestion"),
    [
        ("Remove the crimson block.", "crimson", ""),
        ("Remove the black block.", "black", ""),  # one letter from "block", and no slip
        ("Demolishing blocck the purplish red block.", "demolishing", "demolish"),
    ],
)
def test_unknown_words_are_named_with_the_nearest_known_one(text: str, word: str, suggestion: str) -> None:
    failure = parse(text)
    assert isinstance(failure, Failure)
    assert (failure.missing, failure.detail, failure.suggestion) == ("word", word, suggestion)


@pytest.mark.parametrize(
    ("answer", "cell"),
    [("the green one", (0, 2, 0)), ("the blue one", (0, 1, 0)), ("the upper one", (0, 2, 0))],
)
def test_a_reading_is_chosen_by_what_it_would_remove(answer: str, cell: tuple[int, int, int]) -> None:
    """The block "at the top of the blue tower" is its highest, or the one on it."""
    world = blocks_to_grid([(0, -1, 0, 1), (0, 0, 0, 1), (0, 1, 0, 1), (0, 2, 0, color_id("green"))])
    heard = understand("Remove the blocks at the top of the blue tower.", world)
    assert set(heard.found.choices) == {((0, 1, 0),), ((0, 2, 0),)}
    assert understand_answer(heard, answer, world).found[0].cells == (cell,)
