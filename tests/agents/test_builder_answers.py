"""The scripted builder answers questions of the architect, truthfully and without doing anything."""

from __future__ import annotations

import numpy as np
import pytest
from talkers import Instructor
from test_conversation import BLUE, GREEN, RED, TEN

from iglu_marl.agents.scripted.answers import ConversationState, scene_answer
from iglu_marl.agents.scripted.builder_answers import replies
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.language import Context, Failure, make_codec, parse, say

WORLD = ((0, -1, 0, RED), (1, -1, 0, RED), (2, -1, 0, RED), (0, 0, 0, BLUE), (0, 1, 0, BLUE), (5, -1, 5, RED))
CORNER = "5 blocks east and 5 south of the centre, on the ground"
UNKNOWN = say("not_understood")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where are you?", "At the centre, on the ground, facing north."),
        ("Which way are you looking?", "North."),
        ("What do you see?", "6 blocks in all, 4 red and 2 blue; 3 blocks high."),
        ("What did you just do?", "Nothing."),
        ("Are you done?", "Yes."),
        ("What is left to do?", "Nothing more."),
        ("How many blocks are there?", "6."),
        ("How many red blocks are there?", "4."),
        ("Please tell me how many blue blocks there are.", "2."),
        ("How many green blocks do you see?", "0."),
        ("How many blue blocks are on top of the red row?", "2."),
        ("How many blocks are in the red row?", "3 blocks."),
        ("How long is the red row?", "3 blocks."),
        ("What colour is the block on top of the red row?", "Blue."),
        ("What color is the tower?", "Red and blue."),
        ("How high is the tower?", "3 blocks high, from level 1 to level 3."),
        ("Where is the blue tower?", "It starts at the centre, at height 2, going up."),
        ("Do you know where the highest block is?", "At the centre, at height 3."),
        ("Where is the red block in the southeast corner?", f"{CORNER}."),
        ("Is there a red block in the corner?", f"Yes, {CORNER}."),
        ("Is there a blue block in a corner?", "No."),
        ("Is there a yellow block?", "No."),
        ("Do you see the purple row?", "No."),
        ("Is the red row blue?", "No, red."),
        ("Is the highest block at the centre?", "Yes: at the centre, at height 3."),
        ("What is on top of the red row?", "2 blue blocks."),
        ("Is the blue tower on the red row?", "Yes: it starts at the centre, at height 2, going up."),
        (
            "Is the blue tower north of the easternmost block?",
            "Yes: it starts at the centre, at height 2, going up.",
        ),
        ("How many towers are there?", "1."),
        ("What is in the northwest corner?", "Nothing."),
        ("Which block is the highest?", "The blue block at the centre, at height 3."),
        ("How high is the red block?", "There are 4 of them."),
        ("How high is the green tower?", "There is no such thing."),
        ("Is the red block higher than the blue tower?", "There is not exactly one such thing."),
        ("Why is the sky blue?", UNKNOWN),
        ("Are you hungry?", UNKNOWN),
        ("What is a glorp?", UNKNOWN),
    ],
)
def test_questions_are_answered_and_nothing_changes(question: str, answer: str) -> None:
    instructor = Instructor(*WORLD)
    pose = instructor.world.seen_pose[0].copy()
    assert [text.lower() for text in instructor.says(question)] == [answer.lower()]
    assert instructor.blocks == sorted(WORLD)
    assert np.array_equal(instructor.world.seen_pose[0], pose)


@pytest.mark.parametrize(
    "text",
    [
        "Could you put a green block on top of the blue tower?",
        "Can you please place a green block on the blue tower?",
        "Would you mind putting a green block on the blue tower?",
    ],
)
def test_requests_in_the_form_of_a_question_are_followed(text: str) -> None:
    instructor = Instructor(*WORLD)
    assert instructor.says(text) == ["Done."]
    assert (0, 2, 0, GREEN) in instructor.blocks


def test_a_pending_question_stays_open() -> None:
    instructor = Instructor(*WORLD)
    assert instructor.says("Place a block.") == ["Which color?"]
    assert instructor.says("How many red blocks are there?") == ["4."]
    assert instructor.says("Are you finished?") == ["No. Which color?"]
    assert instructor.says("What is left?") == ["Which color?"]
    assert instructor.says("Why do you ask?") == ["Which color?"]
    assert instructor.says("green") == ["Where?"]
    assert instructor.says("Is there a block in the northwest corner?") == ["No."]
    assert instructor.says("in the northwest corner") == ["Done."]
    assert set(instructor.blocks) - set(WORLD) == {(-5, -1, -5, GREEN)}


def test_a_question_does_not_interrupt_the_work() -> None:
    instructor = Instructor()
    assert instructor.step("Build a red row of 3 east from the centre, on the ground.") == ""
    assert instructor.tell("What are you doing?") == "3 blocks to place."
    while not instructor.blocks:
        instructor.step()
    assert instructor.tell("Are you done?") == "No: 2 blocks to place."
    assert instructor.tell("How many blocks are there?") == "1."
    assert instructor.tell("What did you just do?") == "I placed one red block at the centre, on the ground."
    assert instructor.tell("Why is the sky blue?") == UNKNOWN
    while not instructor.agent.idle:
        instructor.step()
    assert instructor.blocks == [(0, -1, 0, RED), (1, -1, 0, RED), (2, -1, 0, RED)]


CONVERSATION = (
    ("Build a tower of 3 yellow blocks 3 west of the centre.", "Done."),
    ("This is the mast.", "Okay."),
    ("How high is the mast?", "3 blocks high, from level 1 to level 3."),
    ("Place a block on top of the mast.", "Which color?"),
    ("What colour is the mast?", "Yellow."),
    ("blue", "Done."),
    ("no, green", "Done."),
    ("What did you just do?", "I made one block green 3 blocks west of the centre, at height 4."),
    ("Remove the top block of the mast.", "Done."),
    ("What did you do?", "I removed one yellow block 3 blocks west of the centre, at height 3."),
    ("Undo that.", "Done."),
    ("What is on top of the mast?", "One green block."),
    ("Make the red row orange.", "Done."),
    ("How many orange blocks are there?", "3."),
)


def test_a_conversation_with_requests_names_questions_and_corrections() -> None:
    instructor = Instructor(*WORLD)
    assert [(text, " ".join(instructor.says(text))) for text, _ in CONVERSATION] == list(CONVERSATION)


def test_requests_are_no_questions() -> None:
    grid = np.array(blocks_to_grid(list(WORLD)), np.int8)
    now = ConversationState(grid, grid, grid, (), grid, Context((), 0.0, (0.0, 0.63, 0.0)))
    for text in (
        "Where the red block is, put a blue one.",
        "Place a red block.",
        "the eastern one",
        "yes",
        "",
    ):
        assert not replies(text, now), text
    for text in TEN:  # those of a builder have another answer, and change nothing
        assert isinstance(parse(text), Failure)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is on top of the red row?", "The blue block at the centre, at height 2."),
        ("What is on top of the blue tower?", "Nothing."),
        ("What is the highest block?", "The blue block at the centre, at height 3."),
    ],
)
def test_things_are_named_in_answers_about_a_scene(question: str, answer: str) -> None:
    grid = np.array(blocks_to_grid(list(WORLD)), np.int8)
    assert scene_answer(question, ConversationState(grid, grid, grid, (), grid, Context())) == answer


def test_answers_can_be_said_with_tokens() -> None:
    codec = make_codec("templates")
    grid = np.array(blocks_to_grid(list(WORLD)), np.int8)
    now = ConversationState(grid, grid, grid, (), grid, Context((), 0.0, (0.0, 0.63, 0.0)))
    for text in ("Where are you?", "What is left?", "Is the red row blue?", "What did you do?"):
        (answer, *_) = replies(text, now)
        assert 1 not in codec.encode(answer), answer
