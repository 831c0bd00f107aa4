"""What an instruction lacks is asked for, and the answer fills it in: `replies.jsonl`, and the ways to misspell."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from iglu_marl.core.grid import cell_index, color_id
from iglu_marl.language import Context, Discourse, Failure, parse
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
    assert len(mine) > 10
    assert counts["wrong"] == 0, [name for name, what in found.items() if what == "wrong"]
    assert counts["used"] >= 0.9 * len(mine), [name for name, what in found.items() if what == "open"]


@pytest.mark.parametrize(
    ("reply", "cells"),
    [
        ("the northwest one", {(-5, -5)}),
        ("in the north west corner", {(-5, -5)}),
        ("all of them", {(x, z) for x in (-5, 5) for z in (-5, 5)}),
        ("any corner", None),
        ("you choose", None),
        ("in the middle", set()),
    ],
)
def test_a_corner_is_chosen_among_four(reply: str, cells: set[tuple[int, int]] | None) -> None:
    grid = world_of([])
    heard = understand("Put a blue block in a corner.", grid)
    assert heard.question is not None
    found = understand_answer(heard, reply, grid)
    if found is None or isinstance(found.found, Failure):
        assert cells == set()
        return
    assert len(found.found) == (4 if cells is None else 1)
    if cells is not None:
        assert {(x, z) for x, _, z in found.found[0].cells} == cells


TWO_RED = [[-3, -1, 0, "red"], [3, -1, 0, "red"]]


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("Put a block on top of the blue block.", "color"),
        ("Place a red block.", "place"),
        ("Build a green tower on the ground in the centre.", "height"),
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
        ([], "Build a row of blue blocks going east from the centre.", "two or three"),
    ],
)
def test_answers_that_leave_it_open_are_no_guess(world: list[Any], said: str, reply: str) -> None:
    grid = world_of(world)
    found = understand_answer(understand(said, grid), reply, grid)
    assert found is None or isinstance(found.found, Failure)


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
