"""Verbs and shapes: reading inverts saying, and every instruction does to a world what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import drawn_builds, instructions, sentences, shapes

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, blocks_to_grid, grid_to_blocks
from iglu_marl.language import (
    At,
    Blocks,
    Build,
    CellEdit,
    Context,
    Failure,
    Place,
    Shape,
    TemplateCodec,
    done,
    outcomes,
    parse,
    progress,
    render,
)
from iglu_marl.language.meaning.blocks import Reason
from iglu_marl.language.meaning.references import Anaphor, Beside, NextTo
from iglu_marl.language.meaning.shapes import Direction, Kind, plus, shape_cells
from iglu_marl.language.meaning.verbs import (
    Ambiguous,
    Copy,
    Extend,
    Facing,
    Move,
    Pick,
    Remove,
    Replace,
    Sequence,
    expand,
)
from iglu_marl.language.scene import kernels
from iglu_marl.language.scene.graph import table_of
from iglu_marl.language.scene.program import SHAPE_NAMES

CODEC = TemplateCodec()
BLUE, YELLOW, GREEN, ORANGE, PURPLE, RED = range(1, 7)
LONG = {"max_words": 999, "max_characters": 9999}
seeds = st.integers(0, 2**32).map(np.random.default_rng)


def world(*blocks: tuple[int, int, int, int]) -> np.ndarray:
    return np.array(blocks_to_grid(list(blocks)), dtype=np.int8)


def after(text: str, *blocks: tuple[int, int, int, int], **context: Any) -> Any:
    """The blocks after a text is followed, or the reason why it is not."""
    instruction = parse(text)
    assert not isinstance(instruction, Failure), instruction
    found = outcomes(instruction, world(*blocks), Context(**context))
    if isinstance(found, Failure):
        return found.reason
    results = [grid_to_blocks(outcome.grid) for outcome in found]
    return results[0] if len(results) == 1 else results


def reads_as(text: str, instruction: Any) -> bool:
    """Whether a text is read as an instruction, or has it among its readings ("the two northernmost rows")."""
    found = parse(text)
    return found == instruction or (isinstance(found, Ambiguous) and instruction in found.readings)


# --- words --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(instructions(), seeds)
def test_reading_inverts_saying(instruction: Any, rng: np.random.Generator) -> None:
    for text in (render(instruction, **LONG), render(instruction, rng, **LONG)):
        assert reads_as(text, instruction), text
        tokens = CODEC.encode(text)
        assert 1 not in tokens, "every word is in the vocabulary"
        assert reads_as(CODEC.decode(tokens), instruction)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(sentences | drawn_builds(), seeds)
def test_reading_inverts_every_wording(instruction: Any, rng: np.random.Generator) -> None:
    texts = {render(instruction, rng, **LONG) for _ in range(20)}
    assert len(texts) >= 2
    for text in texts:
        assert reads_as(text, instruction), text


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(instructions(), seeds, st.sampled_from([str.upper, str.lower, str.title, str.swapcase]))
def test_case_punctuation_and_manners_do_not_matter(instruction: Any, rng: Any, change: Any) -> None:
    text = change(render(instruction, rng, **LONG)).replace(",", " --").replace(".", " !")
    assert reads_as(f"  Okay,  please {text}\n", instruction)


@settings(deadline=None)
@given(instructions())
def test_messages_are_short_where_they_can_be(instruction: Any) -> None:
    if len(render(instruction, max_characters=9999)) <= 200:
        assert len(render(instruction)) <= 200
    with pytest.raises(DialogueError, match="no wording within 1 words"):
        render(instruction, max_words=1)


@settings(deadline=None)
@given(shapes, st.integers(1, 6), st.sampled_from([(0, -1, 0), (-5, 7, 5), (3, 2, -4)]))
def test_every_shape_of_one_colour_fits_16_tokens_at_any_cell(shape: Shape, color: int, cell: Any) -> None:
    text = render(Build(shape, (color,), At(cell)), **LONG)
    if not any(way in ("front", "behind") for way in shape.directions):
        text = render(Build(shape, (color,), At(cell)), max_words=16)
        assert len(CODEC.encode(text)) <= 16
    assert parse(text) == Build(shape, (color,), At(cell))


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        (Place(RED, Beside((("up", 1),), Anaphor())), "Place a red block on top of it."),
        (
            Build(Shape("row", (5,), ("east",)), (ORANGE,), Beside((("north", 2),), Blocks((RED,)))),
            "Build an orange row of 5 blocks to the east, starting 2 blocks north of the red block.",
        ),
        (
            Build(Shape("tower", (3,)), (RED, BLUE, BLUE), At((0, -1, 0))),
            "Build a tower of 1 red and 2 blue blocks from bottom to top, at the centre, on the ground.",
        ),
        (
            Build(Shape("wall", (4, 3), ("south",)), (RED,), At((0, -1, 0))),
            "Build a red wall, 4 blocks to the south and 3 up, starting at the centre, on the ground.",
        ),
        (Remove(Blocks((RED,), "row", extreme="up")), "Remove the highest red row."),
        (
            Replace(Blocks((RED,), rank=2, extreme="left"), BLUE),
            "Change the second red block from the left to blue.",
        ),
        (Extend(Blocks((), "tower"), "up", 2), "Extend the tower by 2 upwards."),
        (
            Facing("north", Sequence((Place(RED, Beside((("left", 1),), Anaphor())), Remove(Anaphor())))),
            "Facing north, place a red block left of it. Remove it.",
        ),
        (Pick(At((0, 0, -1))), "The one 1 block north of the centre, at height 2."),
    ],
)
def test_the_preferred_wording(instruction: Any, text: str) -> None:
    assert render(instruction) == text
    assert parse(text) == instruction


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Build a red row of 3 east", Reason.NO_PLACE),
        ("Build a red row of 3 east from 9 north, on the ground", Reason.OUTSIDE),
        ("Build a red row of 30 east from the centre, on the ground", Reason.NOT_UNDERSTOOD),
    ],
)
def test_what_is_no_instruction_fails_with_the_reason(text: str, reason: Reason) -> None:
    found = parse(text)
    assert isinstance(found, Failure)
    assert found.reason is reason, found


def test_two_readings_are_both_kept_and_the_world_decides() -> None:
    text = "Put a green block on the tallest tower."
    found = parse(text)
    assert isinstance(found, Ambiguous)
    assert {found.readings[0].where.of.by_size, found.readings[1].where.of.by_size} == {None, "largest"}
    tall, short = [(0, y, 0, RED) for y in (-1, 0, 1)], [(3, -1, 0, BLUE), (3, 0, 0, BLUE)]
    assert after(text, *tall, *short) == sorted([*tall, *short, (0, 2, 0, GREEN)])
    aloft = [(x, y + 3, z, color) for x, y, z, color in short]
    assert after(text, *tall, *aloft) is Reason.AMBIGUOUS  # the largest or the highest


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("DESTROY every RED cube!!", "Remove all red blocks."),
        ("Stack three blue boxes atop the red one", "Build a blue tower of 3 on top of the red block."),
        (
            "Put an orange block to the left of the highest cube",
            "Place an orange block left of the topmost block.",
        ),
        ("On top of it, place a red block", "Place a red block on it."),
        ("Remove the third block from the top", "Remove the 3rd block from the top."),
    ],
)
def test_other_ways_to_say_it(text: str, same: str) -> None:
    found = parse(text)
    assert not isinstance(found, Failure), found
    assert found == parse(same)


# --- worlds -------------------------------------------------------------------------------------------------

ROW = [(x, -1, 0, RED) for x in range(3)]


@pytest.mark.parametrize(
    ("text", "blocks", "expected"),
    [
        ("Remove the easternmost red block", ROW, ROW[:2]),
        ("Move the red row 1 east", ROW, [(x, -1, 0, RED) for x in range(1, 4)]),
        (
            "Move the blue block on top of the red block",
            [(0, -1, 0, RED), (3, -1, 3, BLUE)],
            [(0, -1, 0, RED), (0, 0, 0, BLUE)],
        ),
        ("Copy the red row 2 north", ROW, [(x, -1, z, RED) for x in range(3) for z in (-2, 0)]),
        ("Extend the red row by 2 to the east", ROW, [(x, -1, 0, RED) for x in range(5)]),
        (
            "Build a tower of red, 2 blue at the centre, on the ground",
            [],
            [(0, -1, 0, RED), (0, 0, 0, 1), (0, 1, 0, 1)],
        ),
        ("Remove it. Place a red block in place of it", [(0, -1, 0, BLUE)], [(0, -1, 0, RED)]),
        (
            "Remove it. Place a red block in place of it",
            [(0, -1, 0, BLUE), (3, -1, 0, BLUE)],
            Reason.NO_MATCH,
        ),
        ("Remove all red blocks. Change it to blue", ROW, [(x, -1, 0, BLUE) for x in range(3)]),
        ("Build a blue tower of 2 on the red row", ROW, Reason.AMBIGUOUS),
        ("Place a blue block left of the red block", ROW[:1], Reason.NO_VIEW),
        ("Place a blue block west of the middle red block", ROW, Reason.OCCUPIED),
        ("Build a blue tower of 9 on the red block", ROW[:1], Reason.OUTSIDE),
        ("Place a red block under the red row of 2", ROW, Reason.NO_MATCH),
        ("Remove the red row of blue blocks", ROW, Reason.NO_MATCH),
    ],
)
def test_what_comes_of_it(text: str, blocks: list[Any], expected: Any) -> None:
    result = after(text, *blocks)
    assert result == (expected if isinstance(expected, Reason) else sorted(expected))


APART = [(-3, -1, 0, RED), (0, -1, 0, RED), (3, -1, 2, RED)]
STACKED = [(0, -1, 0, RED), (0, 0, 0, RED), (0, 1, 0, RED)]
ON_EACH = [(-3, 0, 0, BLUE), (0, 0, 0, BLUE), (3, 0, 2, BLUE)]


@pytest.mark.parametrize(
    ("text", "blocks", "added"),
    [
        ("Place 3 blue blocks on top of the 3 red blocks.", APART, ON_EACH),
        # a tower where there is one place only
        ("Place 3 blue blocks on top of the red block.", APART[1:2], [(0, y, 0, BLUE) for y in range(3)]),
        ("Place 2 blue blocks on top of the 3 red blocks.", STACKED, [(0, 2, 0, BLUE), (0, 3, 0, BLUE)]),
        # so many for each
        (
            "Place 2 blue blocks on top of each red block.",
            APART,
            ON_EACH + [(x, 1, z, BLUE) for x, _, z, _ in APART],
        ),
        # not as many places as blocks, or none for one of them
        ("Place 2 blue blocks on top of the 3 red blocks.", APART, Reason.NO_NUMBER),
        ("Place 4 blue blocks on top of the 4 red blocks.", APART, Reason.NO_MATCH),
        ("Place 3 blue blocks on top of the 3 red blocks.", [*APART, (0, 0, 0, GREEN)], Reason.OCCUPIED),
        ("Place 3 blue blocks under the 3 red blocks.", APART, Reason.OUTSIDE),
        # arranged as they cannot be
        ("Stack 3 blue blocks on top of all 3 red blocks.", APART, Reason.NO_NUMBER),
        ("Place 3 blue blocks in a row on top of the red blocks.", ROW, [(x, 0, 0, BLUE) for x in range(3)]),
        ("On top of the 3 red blocks, place 3 blue blocks vertically.", APART, Reason.NO_NUMBER),
    ],
)
def test_a_number_of_blocks_is_that_of_all_of_them(text: str, blocks: list[Any], added: Any) -> None:
    instruction, before = parse(text), world(*blocks)
    assert not isinstance(instruction, Failure), instruction
    found = outcomes(instruction, before)
    if isinstance(added, Reason):
        assert isinstance(found, Failure)
        assert found.reason is added
        assert not done(instruction, before, world(*blocks, *ON_EACH[:1]))
        return
    assert not isinstance(found, Failure), found
    assert [grid_to_blocks(outcome.grid) for outcome in found] == [sorted([*blocks, *added])]
    assert done(instruction, before, world(*blocks, *added))
    assert not done(instruction, before, world(*blocks, *added[:-1]))
    assert not done(instruction, before, world(*blocks, *added, (5, 7, -5, BLUE)))


def test_a_tower_is_not_shortened_to_nothing() -> None:
    assert after("Make the red tower 3 blocks shorter.", *STACKED) is Reason.NO_NUMBER


@pytest.mark.parametrize(
    "text",
    [
        "Surround the red row with blue blocks.",
        "Put a blue block at each end of the red row.",
        "Put a blue block on all four sides of the red row.",
        "Put a blue block on the north and east sides of the red row.",
        "Build a blue row of 2 east from each red tower.",
    ],
)
def test_a_part_outside_the_zone_is_not_left_out(text: str) -> None:
    row = [(4, -1, 3, RED), (5, -1, 3, RED)]
    towers = [(x, y, 0, RED) for x in (0, 5) for y in (-1, 0)]
    assert after(text, *row, *towers) is Reason.OUTSIDE


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Surround the red block with five blue blocks.", 5),
        ("Put a blue block on all four sides of the red block.", Reason.OUTSIDE),
        ("Put a blue block on every side of the red block.", 4),  # those in the zone
    ],
)
def test_a_number_can_say_that_less_is_wanted(text: str, count: Any) -> None:
    found = after(text, (5, -1, 0, RED))
    assert found == count if isinstance(count, Reason) else len(found) == 1 + count


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("Move it back 2 to the west.", (1, -1, 3)),
        ("Move it over to two west of the centre.", (-2, -1, 0)),
    ],
)
def test_steps_without_a_start_count_from_where_it_is(text: str, cell: Any) -> None:
    assert after(text, (3, -1, 3, RED), last=((3, -1, 3),), yaw_deg=0.0) == [(*cell, RED)]


@pytest.mark.parametrize(
    "text",
    [
        "Build a blue tower of 3 west of the red block, on the ground.",
        "Build a blue tower of 3 west of the red block. It has to touch the ground.",
    ],
)
def test_what_stands_on_the_ground_does_not_start_above_it(text: str) -> None:
    assert after(text, (0, 1, 0, RED)) is Reason.NO_MATCH
    assert min(y for _, y, _, color in after(text, (0, -1, 0, RED)) if color == BLUE) == -1


def test_wrong_numbers_of_blocks_are_refused() -> None:
    on_them = Beside((("up", 1),), Blocks((RED,), count=3))
    assert render(Place(BLUE, on_them, 3)) == "Place 3 blue blocks on top of the 3 red blocks."
    for count, where in (
        (1, on_them),
        (12, on_them),
        (True, on_them),
        (2, Beside((("up", 1),), Blocks((RED,)))),
        (2, Beside((("up", 2),), Blocks((RED,), count=2))),
        (2, Beside((("up", 1),), Anaphor())),
        (2, NextTo(Blocks((RED,), count=2))),
    ):
        with pytest.raises(DialogueError, match=str(count)):
            Place(BLUE, where, count)  # type: ignore[arg-type]


def test_directions_are_those_of_the_builder_unless_others_are_named() -> None:
    for yaw, cell in ((0.0, (-1, 0)), (90.0, (0, -1)), (-90.0, (0, 1)), (700.0, (-1, 0))):
        found = after("Place a red block left of the blue block", (0, -1, 0, BLUE), yaw_deg=yaw)
        assert (cell[0], -1, cell[1], RED) in found, yaw
    assert after("Place a red block left of the blue block", (0, -1, 0, BLUE), yaw_deg=45.0) is Reason.NO_VIEW
    here = {"yaw_deg": 90.0, "position": (0.2, -0.25, 0.0)}
    assert after("Place a red block 2 in front of you", **here) == [(2, -1, 0, RED)]
    assert after("Place a red block behind you", **here) == [(-1, -1, 0, RED)]
    assert after("Place a red block in front of you") is Reason.NO_VIEW


def test_a_view_may_follow_other_clauses_and_holds_until_the_next() -> None:
    found = parse(
        "Remove the red block. Facing north, put a blue block left of the green block. Facing south, put a red block "
        "left of the green block."
    )
    assert isinstance(found, Sequence)
    assert [type(part) for part in found.parts] == [Remove, Facing, Facing]
    assert [part.view for part in found.parts[1:]] == ["north", "south"]


@pytest.mark.parametrize("number", [0, 122])
def test_no_number_of_blocks_can_be_asked_for_that_cannot_be(number: int) -> None:
    before = world((0, -1, 0, RED))
    said = parse("place a red block at the centre on the ground")
    amended = parse(f"make it {number} blocks instead")
    context = Context(last=((0, -1, 0),), before=(said, world()))
    found = outcomes(amended, before, context)
    assert isinstance(found, Failure)
    assert found.reason is Reason.NO_NUMBER


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Remove everything but leave the blue block.", [(5, -1, 0, BLUE)]),
        (
            "Change the red row to green but keep the blue block.",
            [*((x, -1, 0, GREEN) for x in range(3)), (5, -1, 0, BLUE)],
        ),
    ],
)
def test_what_is_to_be_kept_is_kept(text: str, left: list[Any]) -> None:
    found = after(text, *((x, -1, 0, RED) for x in range(3)), (5, -1, 0, BLUE))
    assert sorted(found) == sorted(left)


def test_the_same_again_after_the_same_again_and_a_correction_of_it() -> None:
    grid, context = world(), Context()
    for text in (
        "Put a red block in the northwest corner.",
        "The same in the northeast corner.",
        "And in the southeast corner too.",
        "No, blue.",
    ):
        told = parse(text)
        found = outcomes(told, grid, context)
        assert not isinstance(found, Failure), (text, found)
        context = context.after(told, grid, found[0])
        grid = found[0].grid
    assert sorted(grid_to_blocks(grid)) == [(-5, -1, -5, RED), (5, -1, -5, RED), (5, -1, 5, BLUE)]


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("Put a blue block in the opposite corner.", [(5, -1, 5)]),
        ("Skip one space to the east and put a blue block.", [(-3, -1, -5)]),
        ("Go 2 blocks south and place a blue block.", [(-5, -1, -3)]),
    ],
)
def test_places_relative_to_what_was_mentioned(text: str, added: list[Any]) -> None:
    found = after(text, (-5, -1, -5, RED), last=((-5, -1, -5),))
    assert [block for block in found if block[3] == BLUE] == [(*cell, BLUE) for cell in added]


def test_next_to_leaves_a_choice_and_any_of_it_is_right() -> None:
    before = world((0, -1, 0, BLUE), (1, -1, 0, GREEN))
    instruction = parse("Place a red block next to the blue block")
    assert not isinstance(instruction, Failure)
    found = outcomes(instruction, before)
    assert not isinstance(found, Failure)
    assert len(found) == 3
    for outcome in found:
        assert progress(instruction, before, outcome.grid) == 1.0
        assert done(instruction, before, outcome.grid)
    assert not done(instruction, before, world((0, -1, 0, BLUE), (1, -1, 0, GREEN), (2, -1, 0, RED)))


def test_progress_is_graded_and_harm_counts() -> None:
    before = world()
    instruction = parse("Build a red row of 4 east from the centre, on the ground")
    row = [(x, -1, 0, RED) for x in range(4)]
    grades = [progress(instruction, before, world(*row[:n])) for n in range(5)]  # type: ignore[arg-type]
    assert grades == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert progress(instruction, before, world(*row, (5, 5, 5, RED))) == 0.75  # type: ignore[arg-type]
    assert progress(instruction, before, world((5, 5, 5, RED))) == 0.0  # type: ignore[arg-type]
    assert progress(instruction, world(*row), world(*row)) == 1.0  # type: ignore[arg-type]
    assert progress(instruction, world(*row), world()) == 0.0  # type: ignore[arg-type]
    failed = progress(Remove(Blocks((RED,))), before, before)
    assert isinstance(failed, Failure)
    assert not done(Remove(Blocks((RED,))), before, before)


blocks_of_a_world = st.dictionaries(
    st.tuples(st.integers(-5, 5), st.integers(-1, 7), st.integers(-5, 5)), st.integers(1, 6), max_size=25
).map(lambda cells: world(*((*cell, color) for cell, color in cells.items())))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(instructions(), blocks_of_a_world)
def test_edits_lead_to_the_outcome_and_it_is_verified(instruction: Any, before: np.ndarray) -> None:
    context = Context(((0, -1, 0), (1, -1, 0)), 0.0, (0.0, -0.25, 0.0))
    kept = before.copy()
    edits = expand(instruction, before, context)
    found = outcomes(instruction, before, context)
    assert np.array_equal(before, kept), "the world is left alone"
    if isinstance(edits, Failure):
        assert found == edits
        return
    assert not isinstance(found, Failure)
    grid = before.copy()
    for number, edit in enumerate(edits):
        assert progress(instruction, before, grid, context) >= number / max(1, len(edits)) - 1e-9  # type: ignore[operator]
        x, y, z = edit.cell
        assert grid[y + 1, x + 5, z + 5] == (edit.old_color or 0)
        grid[y + 1, x + 5, z + 5] = edit.after
    assert np.array_equal(grid, found[0].grid)
    assert done(instruction, before, grid, context)


def is_shape(kind: Kind, cells: frozenset[Cell]) -> bool:
    """Return whether cells are exactly a shape of this kind, of any size and direction."""
    table, size = table_of([tuple(cells)])
    box = table[size, kernels.X0 : kernels.Z1 + 1].reshape(3, 2)[[1, 0, 2]]
    shapes = kernels.exact_shapes(table, np.arange(size, dtype=np.int16), size, box)
    name = "tower" if kind is Kind.COLUMN else kind.value
    return bool(shapes >> SHAPE_NAMES.index(name) + 1 & 1)


@settings(max_examples=300)
@given(shapes)
def test_shapes_are_what_they_are_called(shape: Shape) -> None:
    cells = shape_cells(shape, (0, 0, 0), Direction.NORTH)
    assert len(set(cells)) == len(cells)
    assert cells[0] == (0, 0, 0)
    if shape.kind is not Kind.DIAGONAL:
        assert all(
            any(sum(abs(a - b) for a, b in zip(cell, other, strict=True)) == 1 for other in cells[:number])
            for number, cell in enumerate(cells)
            if number
        ), "each block holds on to one before it"
    assert is_shape(shape.kind, frozenset(cells))
    assert not is_shape(shape.kind, frozenset({*cells, (30, 30, 30)}))


def test_sizes_of_shapes() -> None:
    def count(*parts: Any) -> int:
        return len(shape_cells(Shape(*parts), (0, 0, 0)))

    assert count("staircase", (4,), ("east",)) == 10
    assert count("l", (3, 4), ("east", "up")) == 6
    assert count("t", (5, 3), ("east", "down")) == 7
    assert count("plus", (5,), ("east", "south")) == 9
    assert count("wall", (4, 3), ("north",)) == count("rectangle", (4, 3), ("north", "up")) == 12
    assert count("diagonal", (4,), ("east", "up")) == 4
    assert plus(3, Direction.NORTH, Direction.WEST) == Shape("plus", (3,), ("east", "south"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Shape("castle", (3,)),
        lambda: Shape("row", (12,), ("east",)),
        lambda: Shape("l", (3, 3), ("east", "west")),
        lambda: Shape("t", (4, 3), ("east", "up")),
        lambda: Build(Shape("l", (3, 3), ("east", "up")), (RED, BLUE), At((0, 0, 0))),
        lambda: Build(Shape("row", (4,), ("east",)), (RED, BLUE, RED), At((0, 0, 0))),
        lambda: Place(RED, At((0, 0, 0))),
        lambda: Remove(Blocks((RED,), where=At((0, 0, 0)))),
        lambda: Move(Anaphor()),
        lambda: Copy(Anaphor(), (("up", 1), ("down", 1))),
        lambda: Extend(Anaphor(), "up", 0),
        lambda: Facing("north", Facing("south", Remove(Anaphor()))),
        lambda: Sequence((Facing("north", Remove(Anaphor())), Remove(Anaphor()))),
        lambda: At((6, 0, 0)),
        lambda: Blocks(count=0),
        lambda: Blocks(extreme="up", middle=True),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(DialogueError):
        make()


def test_a_block_at_a_cell_is_an_edit_in_sequences_too() -> None:
    found = parse("Remove the red block at the centre, on the ground. Place a red block on it.")
    assert found == Sequence(
        (CellEdit("remove", (0, -1, 0), old_color=RED), Place(RED, Beside((("up", 1),), Anaphor())))
    )
