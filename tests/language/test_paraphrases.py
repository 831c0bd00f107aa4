"""What people say, and the world they expect: instructions (`paraphrases.jsonl`) and answers (`replies.jsonl`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iglu_marl.core.grid import blocks_to_grid, color_id
from iglu_marl.language import Context, Failure, outcomes, parse

YAW = {"north": 0.0, "east": 90.0, "south": 180.0, "west": -90.0}
DONE = 1390  # of 1,608


def cases(name: str = "paraphrases") -> list[dict[str, Any]]:
    """The cases of a file.

    Each has an `id`, the `world` (x, y, z, colour) and where the builder is `facing` (None: no matter), what was
    `said`, and what that changes: `adds` (x, y, z, colour) and `removes` (x, y, z), or `any_of` several changes.
    Paraphrases have a `group` and a list of messages; replies are to what `said` lacks, which a builder `asks`.
    """
    text = Path(__file__).with_name(f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def world(cells: dict[tuple[int, ...], str]) -> np.ndarray:
    return np.array(blocks_to_grid([(*cell, color_id(name)) for cell, name in cells.items()]), np.int8)


def expected(case: dict[str, Any]) -> list[np.ndarray]:
    """The worlds that a case allows."""
    before = {tuple(cell): color for *cell, color in case["world"]}
    found = []
    for change in case.get("any_of", [case]):
        removes = {tuple(cell) for cell in change["removes"]}
        kept = {cell: color for cell, color in before.items() if cell not in removes}
        found.append(world({**kept, **{tuple(cell): color for *cell, color in change["adds"]}}))
    return found


def played(case: dict[str, Any]) -> np.ndarray | Failure:
    """The world after all that was said, or why something of it could not be done."""
    grid = world({tuple(cell): color for *cell, color in case["world"]})
    context = Context((), YAW.get(case["facing"]), (0.0, 1.0, 0.0))
    for text in case["said"]:
        instruction = parse(text, context)
        if isinstance(instruction, Failure):
            return instruction
        found = outcomes(instruction, grid, context)
        if isinstance(found, Failure):
            return found
        context = context.after(instruction, grid, found[0])
        grid = found[0].grid
    return grid


@pytest.fixture(scope="module")
def results() -> dict[str, np.ndarray | Failure]:
    return {case["id"]: played(case) for case in cases()}


def test_most_paraphrases_are_done_and_none_is_done_wrong(results: dict[str, Any]) -> None:
    done = [case for case in cases() if not isinstance(results[case["id"]], Failure)]
    for case in done:
        assert any(np.array_equal(results[case["id"]], grid) for grid in expected(case)), case["said"]
    assert len(done) >= DONE


def test_every_refusal_says_what_it_lacks(results: dict[str, Any]) -> None:
    for result in results.values():
        if isinstance(result, Failure):
            assert result.detail or result.missing not in (None, "word"), result


ROW = [(x, -1, 0, "red") for x in range(3)]
TOWER = [(0, y, 0, "red") for y in (-1, 0, 1)]
RING = [(x, z) for x in (-1, 0, 1) for z in (-1, 0, 1) if (x, z) != (0, 0)]
PAIR = [(-2, -1, 0, "red"), (-2, 0, 0, "red"), (2, -1, 0, "blue"), (2, 0, 0, "blue")]


def result_of(before: list[tuple[Any, ...]], *said: str) -> np.ndarray | Failure:
    """What becomes of a world when something is said."""
    case = {"world": before, "facing": None, "said": said}
    return played(case)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        # what asks for nothing names nothing that could be built
        (PAIR, "Put a green block next to the red tower so that it touches the blue one."),
        (ROW, "Put a green row of 3 south of the row so that there is a block below it."),
        (
            [(0, -1, 0, "red")],
            "Put a row of three green blocks east of the red block forming a T pointing north.",
        ),
        (ROW, "Put blue blocks on top of the row, leaving the middle free."),
        (ROW, "Put a green block in the middle on top of the red."),
        # numbers and gaps that do not fit
        ([(0, -1, 0, "red")], "Put two blue blocks on the red block so that it is five high."),
        ([], "Place red blocks along the north edge with one block space in between."),
        ([], "Put red blocks in the middle."),
        (ROW, "Place two rows of three blue blocks on top of the row."),
        # places that may be one place, or not be there
        (TOWER + [(2, -1, 0, "blue")], "Place a blue block next to the tower and on top of the blue block."),
        (
            [(-3, -1, 0, "red"), (3, -1, 0, "red"), (0, -1, -3, "blue")],
            "Connect all three blocks with green blocks.",
        ),
        # several that are one; corners of what has none
        (TOWER + [(2, -1, 0, "blue"), (2, 0, 0, "blue")], "Remove the top blocks."),
        ([(0, -1, 0, "red")], "Put a blue block on each corner of the block."),
        # what cannot be done again, and which place is meant
        ([], "Build a red tower of 2 in the middle. And again."),
        ([], "Put a 3x3 blue square on the ground in the centre with a red block in the middle of it."),
        ([(0, -1, 0, "red")], "Put a red block on the other side of the red block."),
    ],
)
def test_nothing_that_was_said_is_dropped(before: list[tuple[Any, ...]], said: str) -> None:
    found = result_of(before, said)
    assert isinstance(found, Failure), found
    assert found.missing is not None or found.detail


@pytest.mark.parametrize(
    ("before", "said", "adds"),
    [
        ([(0, -1, 0, "red")], "Put a blue block on the red block. And again.", [(0, 0, 0), (0, 1, 0)]),
        (
            [],
            "Make a blue line from the northwest corner to the southwest corner.",
            [(-5, -1, z) for z in range(-5, 6)],
        ),
        (
            [],
            "Make a blue 3x1 rectangle in the centre going north to south.",
            [(0, -1, z) for z in range(-1, 2)],
        ),
        ([], "Make a hollow 3x3 blue square in the centre.", [(x, -1, z) for x, z in RING]),
        (
            [(1, -1, 0, "red"), (2, -1, 0, "red")],
            "Put a blue block next to the red one on the west.",
            [(0, -1, 0)],
        ),
    ],
)
def test_all_that_was_said_is_done(before: list[Any], said: str, adds: list[tuple[int, ...]]) -> None:
    found = result_of(before, said)
    assert not isinstance(found, Failure), found
    kept: dict[tuple[int, ...], str] = {tuple(cell): color for *cell, color in before}
    assert np.array_equal(found, world({**kept, **dict.fromkeys(adds, "blue")}))


def test_things_and_their_number_are_no_check_of_what_was_done() -> None:
    found = result_of(
        [(0, -1, 0, "red"), (3, -1, 0, "yellow"), (3, 0, 0, "yellow")],
        "Remove the red block and two yellow blocks.",
    )
    assert not isinstance(found, Failure), found
    assert np.array_equal(found, world({}))


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ("Connect the red and blue towers with green blocks.", 0),
        ("Connect the red and blue towers with a line of green blocks on the ground.", -1),
    ],
)
def test_one_row_connects_two_towers(said: str, level: int) -> None:
    before = {tuple(cell): color for *cell, color in PAIR}
    found = result_of(PAIR, said)
    assert not isinstance(found, Failure), found
    assert np.array_equal(found, world({**before, **{(x, level, 0): "green" for x in (-1, 0, 1)}}))


def test_one_block_diagonal_to_another_may_lie_at_any_of_its_corners() -> None:
    found = result_of([(0, -1, 0, "red")], "Place a yellow block diagonal to the red block.")
    assert isinstance(found, Failure)
    assert found.missing == "referent"
    assert len(found.choices) == 4
