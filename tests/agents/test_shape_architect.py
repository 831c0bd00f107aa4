"""The architect that asks for shapes: its decompositions, its references, and the builder that asks back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talkers import Instructor

import iglu_marl
from iglu_marl import Dialogue, Role, Task, play
from iglu_marl.agents import ScriptedArchitect, ScriptedBuilder
from iglu_marl.agents.registry import agents_for, partner_for
from iglu_marl.agents.scripted.decomposition import InstructionStep, decompose
from iglu_marl.agents.scripted.referring import by_loose_reference, by_reference
from iglu_marl.core.grid import blocks_to_grid, cell_index
from iglu_marl.language import (
    At,
    Blocks,
    Build,
    CellEdit,
    Failure,
    Place,
    Shape,
    outcomes,
    parse,
    render,
    say,
)
from iglu_marl.language.meaning.references import Beside
from iglu_marl.language.meaning.verbs import Pick
from iglu_marl.planning.ordering import order_edits
from iglu_marl.planning.support import supported_cells
from iglu_marl.tasks import BundledTasks, RandomTasks

BLUE, YELLOW, GREEN, ORANGE, PURPLE, RED = range(1, 7)
SIGHTS = ("dialog", "inventory", "pose", "grid")
EMPTY = np.zeros((9, 11, 11), np.int8)


def grid_of(*blocks: tuple[int, int, int, int]) -> np.ndarray:
    return np.array(blocks_to_grid(list(blocks)), dtype=np.int8)


WALL = grid_of(*((x, y, 0, RED) for x in range(-2, 2) for y in range(-1, 2)))


def follow(steps: list[InstructionStep], grid: np.ndarray) -> list[np.ndarray]:
    """The builds after each step; each changes what it says, and has one outcome."""
    builds = [grid]
    for step in steps:
        found = outcomes(step.instruction, builds[-1])
        assert not isinstance(found, Failure), step
        assert len(found) == 1
        changed = {
            (int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(found[0].grid != builds[-1])
        }
        assert changed == set(step.cells)
        builds.append(found[0].grid)
    return builds


def floating(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a part of what is new touches neither the ground nor a block that was there."""
    new, reached = (before == 0) & (after != 0), before != 0
    while (more := new & supported_cells(reached) & ~reached).any():
        reached = reached | more
    return bool((new & ~reached).any())


cells = st.tuples(st.integers(-3, 3), st.integers(-1, 3), st.integers(-3, 3))
grids = st.dictionaries(cells, st.sampled_from([RED, BLUE]), max_size=30).map(
    lambda blocks: grid_of(*((*cell, color) for cell, color in blocks.items()))
)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(grids, grids, st.sampled_from(["walking", "flying"]))
def test_a_decomposition_leads_to_the_target_and_is_never_longer(
    start: Any, target: Any, controls: Any
) -> None:
    steps = decompose(start, target, controls)
    assert np.array_equal(follow(steps, start)[-1], target)
    assert len(steps) <= np.count_nonzero(start != target)
    for step in steps:
        assert step.cells, "every step changes something"
        assert all(target[cell_index(*cell)] != start[cell_index(*cell)] for cell in step.cells)


def tasks() -> list[Task]:
    random = RandomTasks(max_blocks=8, height_levels=3, num_colors=6)
    rng = np.random.default_rng(0)
    return [random.sample(rng) for _ in range(60)] + list(BundledTasks(mode="structures"))


@pytest.mark.slow
def test_nothing_floats_that_need_not() -> None:
    for task in tasks():
        blocks = [edit.cell for edit in order_edits(task.start_grid, task.target_grid) if edit.color]
        builds = follow(decompose(task.start_grid, task.target_grid), np.array(task.start_grid))
        grounded = not floating(np.array(task.start_grid), np.array(task.target_grid))
        for before, after in pairwise(builds):
            assert not (grounded and floating(before, after)), task.task_id
        assert len(builds) - 1 <= len(blocks)


def test_decompositions_save_two_fifths_and_more() -> None:
    shares = []
    for task in tasks():
        steps = decompose(task.start_grid, task.target_grid)
        blocks = np.count_nonzero(task.start_grid != task.target_grid)
        if any(len(step.cells) > 1 for step in steps):
            shares.append(1 - len(steps) / blocks)
    assert len(shares) > 60
    assert np.mean(shares) > 0.45


@pytest.mark.parametrize(
    ("shape", "anchor"),
    [
        (Shape("row", (5,), ("east",)), (-2, -1, 0)),
        (Shape("tower", (4,)), (0, -1, 0)),
        (Shape("wall", (4, 3), ("east",)), (0, -1, 0)),
        (Shape("l", (3, 4), ("west", "north")), (0, -1, 0)),
        (Shape("t", (5, 3), ("east", "up")), (0, -1, 0)),
        (Shape("plus", (5,), ("east", "south")), (0, -1, 0)),
        (Shape("staircase", (3,), ("south",)), (0, -1, 0)),
    ],
)
def test_each_shape_is_found(shape: Shape, anchor: Any) -> None:
    built = outcomes(Build(shape, (GREEN,), At(anchor)), EMPTY)
    assert not isinstance(built, Failure)
    (step,) = decompose(EMPTY, built[0].grid)
    assert isinstance(step.instruction, Build)
    assert step.instruction.shape.kind is shape.kind
    (step,) = decompose(built[0].grid, EMPTY)
    assert render(step.instruction) == "Remove all blocks."


def test_colours_in_a_line_are_named_in_one_message() -> None:
    target = grid_of((0, -1, 0, RED), (0, 0, 0, BLUE), (0, 1, 0, BLUE), (0, 2, 0, GREEN))
    (step,) = decompose(EMPTY, target)
    assert render(step.instruction) == (
        "Build a tower of 1 red, 2 blue and 1 green blocks from bottom to top, at the centre, on the ground."
    )


def test_decompositions_keep_to_what_can_be_said_and_done_alone() -> None:
    steps = decompose(EMPTY, WALL, alone=[(0, 0, 0)])
    assert any(step.cells == ((0, 0, 0),) for step in steps)
    assert len(steps) > len(decompose(EMPTY, WALL))
    steps = decompose(EMPTY, WALL, sayable=lambda instruction: isinstance(instruction, CellEdit))
    assert len(steps) == 12


def test_equal_shapes_are_asked_for_together() -> None:
    target = grid_of(*((x, y, z, RED) for x in (-1, 1) for y in (-1, 0) for z in (-1, 1)))
    steps = decompose(
        EMPTY,
        target,
        again=True,
        sayable=lambda instruction: len(render(instruction, max_characters=999)) <= 200,
    )
    assert sum(len(step.cells) for step in steps) == 8
    assert np.array_equal(follow(steps, EMPTY)[-1], target)
    for step in steps:
        assert parse(render(step.instruction)) == step.instruction
    assert render(steps[0].instruction) == (
        "Build a red tower, 2 blocks high, 1 block west and 1 north of the centre, on the ground. "
        "Do the same, starting 1 block west and 1 south of the centre, on the ground."
    )


# --- references ---------------------------------------------------------------------------------------------


def test_references_lead_to_the_same_build() -> None:
    edit = CellEdit("place", (0, 0, 0), color=RED)
    grid = grid_of((0, -1, 0, BLUE), (3, -1, 3, BLUE))
    goal = grid_of((0, -1, 0, BLUE), (3, -1, 3, BLUE), (0, 0, 0, RED))
    told = by_reference(edit, grid, goal, ((0, -1, 0),), lambda instruction: True)
    assert told is not None
    assert render(told.instruction) == "Place a red block on top of it."
    told = by_reference(edit, grid, goal, (), lambda instruction: True)
    assert told is not None
    assert told.instruction == Place(RED, Beside((("up", 1),), Blocks((BLUE,), extreme="north")))
    loose = by_loose_reference(edit, grid, lambda instruction: True)
    assert loose is not None
    assert loose.instruction == Place(RED, Beside((("up", 1),), Blocks((BLUE,))))
    assert loose.meant == (0, -1, 0)
    assert by_loose_reference(edit, EMPTY, lambda instruction: True) is None


# --- the builder --------------------------------------------------------------------------------------------


def test_builder_does_the_same_again_only_when_it_is_done() -> None:
    instructor = Instructor((0, -1, 0, RED), controls="flying")
    assert instructor.tell("Place a blue block on the highest block") == "Done."
    assert instructor.tell("Place a blue block on the highest block") == "Done."
    assert instructor.blocks == [(0, -1, 0, RED), (0, 0, 0, BLUE), (0, 1, 0, BLUE)]


def test_builder_tries_again_what_it_came_to_not_what_it_would_come_to_now() -> None:
    instructor = Instructor((0, -1, 0, RED), controls="flying")
    assert instructor.tell("Place a blue block on the highest block") == "Done."
    instructor.world.grid[0, 1, 5, 5] = 0  # someone takes it away
    assert instructor.tell("Please try again.") == "Done."
    assert instructor.blocks == [(0, -1, 0, RED), (0, 0, 0, BLUE)]


QUESTIONS = {
    "Remove the blue block": "Which blue one?",
    "Place a red block on the green block": "I can't do that: there is no such thing.",
    "Build a red row in the centre": "How many?",
    "Build a red row of 3 in the northwest corner": "Which way?",
    "Build a red tower of 9 on each blue block": "I can't do that: it is outside of the zone.",
    "Place a red block east of the westernmost blue block": "I can't do that: there is a block already.",
    "The one at the centre, on the ground.": "I don't understand.",
}


@pytest.mark.parametrize(("text", "answer"), QUESTIONS.items(), ids=list(QUESTIONS))
def test_builder_asks_or_says_why_not(text: str, answer: str) -> None:
    start = [(0, -1, 0, BLUE), (1, -1, 0, BLUE)]
    instructor = Instructor(*start, controls="walking")
    assert instructor.tell(text) == answer
    assert instructor.blocks == start


@pytest.mark.parametrize("tokens", [False, True])
def test_builder_takes_the_answer_to_its_question(tokens: bool) -> None:
    instructor = Instructor((0, -1, 0, BLUE), (1, -1, 0, BLUE), controls="flying", tokens=tokens)
    assert instructor.tell("Place a red block on the blue block").lower() == "which blue one?"
    assert instructor.tell(render(Pick(At((1, -1, 0))))).lower().strip(".") == "done"
    assert instructor.blocks == [(0, -1, 0, BLUE), (1, -1, 0, BLUE), (1, 0, 0, RED)]
    assert instructor.tell("Remove the blue block").lower() == "which blue one?"
    assert instructor.tell("Remove the red block").lower().strip(".") == "done", "it need not be answered"
    assert instructor.tell("The one at the centre, on the ground").lower().strip(".") == "i don't understand"


# --- the pair -----------------------------------------------------------------------------------------------


def game(task: Task, chat: str = "text", ask: bool = False, controls: Any = "flying", **options: Any) -> Any:
    env = iglu_marl.raw_env(
        tasks=task,
        controls=controls,
        chat=chat,
        builder_can_ask=ask,
        builder_sees=SIGHTS,
        max_turns=None,
        max_steps=20_000,
    )
    pair = {"architect": ScriptedArchitect.for_env(env, **options), "builder": ScriptedBuilder.for_env(env)}
    return play(env, pair, seed=0)


def told(dialogue: Dialogue) -> int:
    return sum(utterance.role is Role.ARCHITECT for utterance in dialogue)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("references", "chat", "ask"),
    [("none", "text", True), ("exact", "tokens", True), ("loose", "text", True), ("loose", "tokens", False)],
)
def test_pair_completes_with_fewer_words(chat: str, ask: bool, references: Any) -> None:
    asked = instructions = blocks = 0
    for task in tasks()[:75:5]:
        played = game(task, chat, ask, level="shapes", references=references)
        assert played.completed, (task.task_id, played.dialogue.text)
        assert np.array_equal(played.grid, task.target_grid)
        instructions += told(played.dialogue)
        blocks += played.target_blocks
        asked += sum("which" in part.text.lower() for part in played.dialogue if part.role is Role.BUILDER)
    assert bool(asked) == (ask and references == "loose")
    assert instructions < (0.75 if references == "loose" else 0.6) * blocks


@pytest.mark.parametrize("controls", ["walking", "flying"])
def test_wrong_blocks_go_at_once(controls: Any) -> None:
    start = grid_of(*((x, -1, -3, BLUE) for x in range(4)), *((x, -1, 3, GREEN) for x in range(4)))
    target = grid_of(*((x, -1, -3, RED) for x in range(4)))
    played = game(Task("", target, starting_grid=start), controls=controls, level="shapes")
    assert played.completed
    assert {part.text for part in played.dialogue} == {
        "Change all blue blocks to red.",
        "Remove all green blocks.",
    }


def test_an_overview_comes_first_and_is_no_request() -> None:
    target = grid_of(
        *((x, y, 0, RED) for x in (-1, 1) for y in (-1, 0)), *((x, 1, 0, BLUE) for x in (-1, 0, 1))
    )
    played = game(Task("", target), ask=True, level="shapes", references="exact", overview=True)
    assert played.completed
    first, *_ = played.dialogue
    assert first.text == (
        "The structure is 3 from west to east and 3 high: two red towers of two blocks and on top of them a blue row "
        "of three blocks."
    )
    assert played.dialogue[1].role is Role.ARCHITECT, "the builder asks nothing"


def test_people_and_language_models_are_asked_for_shapes() -> None:
    env = iglu_marl.raw_env(tasks=Task("", WALL), builder_sees=SIGHTS)
    trainer, *_ = agents_for(env, "scripted", "scripted").values()
    assert isinstance(trainer, ScriptedArchitect)
    assert trainer.level == "blocks"
    person = partner_for(env, Role.BUILDER, "scripted")
    assert isinstance(person, ScriptedBuilder)
    architect = partner_for(env, Role.ARCHITECT, "scripted")
    assert isinstance(architect, ScriptedArchitect)
    assert (architect.level, architect.overview) == ("shapes", True)


def test_an_arm_is_not_called_a_row() -> None:
    bent = grid_of((0, -1, 0, RED), (1, -1, 0, RED), (0, 0, 0, RED))
    edit = CellEdit("place", (1, 0, 0), color=BLUE)
    goal = bent.copy()
    goal[cell_index(1, 0, 0)] = BLUE
    pointed = by_reference(edit, bent, goal, (), lambda instruction: True)
    assert pointed is not None
    assert render(pointed.instruction) == "Place a blue block on top of the easternmost red block."


def test_blocks_are_the_default_and_can_be_placed_by_reference() -> None:
    played = game(Task("", WALL))
    assert played.completed
    assert told(played.dialogue) == 12
    played = game(Task("", WALL), references="exact")
    assert played.completed
    assert told(played.dialogue) == 12
    assert any("on top of" in part.text for part in played.dialogue)


def test_what_the_builder_cannot_do_at_once_is_asked_for_block_by_block() -> None:
    architect = ScriptedArchitect(level="shapes")
    architect.reset(Role.ARCHITECT, 0)
    observation = {
        "target_grid": WALL.astype(np.int32),
        "grid": EMPTY.astype(np.int32),
        "agentPos": np.zeros(5),
    }
    dialog = Dialogue()

    def turn(answer: str) -> str:
        nonlocal dialog
        dialog = dialog.say("builder", answer)
        said: str = architect.act({**observation, "dialog": dialog.text})
        dialog = dialog.say("architect", said)
        return said

    first = parse(turn(""))
    assert isinstance(first, Build)
    assert isinstance(parse(turn(say("unreachable"))), CellEdit)


def test_architect_answers_which_one_it_means() -> None:
    architect = ScriptedArchitect(references="loose")
    architect.reset(Role.ARCHITECT, 0)
    grid = grid_of((0, -1, 0, BLUE), (3, -1, 3, BLUE))
    target = grid_of((0, -1, 0, BLUE), (3, -1, 3, BLUE), (3, 0, 3, RED))
    observation = {"target_grid": target, "grid": grid, "agentPos": np.zeros(5), "dialog": ""}
    assert architect.act(observation) == "Place a red block on top of the blue block."
    answer = architect.act({**observation, "dialog": "<Builder> Which blue one?"})
    assert parse(answer) == Pick(At((3, -1, 3)))
