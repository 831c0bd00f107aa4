"""The scripted partners converse: the builder keeps its question, the architect answers, comments and gives up."""

from __future__ import annotations

import re
from typing import Any

import pytest
from talkers import Instructor, Person

from iglu_marl.agents.settings import MESSAGE_CHARACTERS
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.language import DialogueAct, constructions, parse, parse_small_talk, say

RED, BLUE, GREEN = 6, 1, 3
HOUSE = blocks_to_grid(
    [(0, -1, 0, RED), (1, -1, 0, RED), (2, -1, 0, RED), (0, 0, 0, BLUE), (0, 1, 0, BLUE), (-3, -1, 2, GREEN)]
)
TEN = {
    "What should I do?": "red",
    "Which colour is it?": "Red.",
    "Where does it go?": "It starts at the centre, on the ground, going east.",
    "How high should it be?": "On the ground.",
    "How many blocks?": "3 blocks.",
    "Which way?": "East",
    "Is it right?": "No, there is no block at the centre, on the ground.",
    "Is it blue?": "No, red.",
    "How many blocks are left?": "6 blocks to place.",
    "Can you say that again, please?": "red",
}


def test_ten_questions_get_ten_useful_answers() -> None:
    person = Person(HOUSE, level="shapes")
    assert person.says() == "Build a red row of 3 blocks to the east, starting at the centre, on the ground."
    for question, answer in TEN.items():
        assert answer in person.says(question), question


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Should it be on level 2?", "No: it starts at the centre, on the ground, going east."),
        ("To the west?", "No, east; it starts at the centre, on the ground."),
        (
            "What does it look like?",
            "A red row of three blocks, on top of it a blue tower of two blocks and a green block: 6 blocks in all, "
            "3 red, 2 blue and 1 green; 3 blocks high.",
        ),
        ("Are we done?", "No: 6 blocks to place."),
        ("How many red blocks do I need?", "3."),
        ("Are there 3 red blocks?", "Yes, 3."),
        ("Did I do something wrong?", "No mistake: all that stands there is right."),
    ],
)
def test_questions_of_each_kind(question: str, answer: str) -> None:
    person = Person(HOUSE, level="shapes")
    person.says()
    assert person.says(question) == answer


@pytest.mark.parametrize("text", ["I am bored.", "the weather is nice", "?", "blorf"])
def test_anything_else_is_answered_by_the_request_in_other_words(text: str) -> None:
    person = Person(HOUSE, level="shapes")
    first = person.says()
    told = person.says(text)
    assert "red" in told.lower()
    assert told != first or text == "?"


def test_what_stands_wrong_is_named_and_corrected() -> None:
    person = Person(HOUSE, level="shapes", comment_after=3)
    person.says()
    person.places((4, -1, 4, BLUE))
    wrong = "The blue block 4 blocks east and 4 south of the centre, on the ground, is not right: please take it away."
    assert [person.says() for _ in range(4)] == ["", "", wrong, ""]
    assert person.says("What is wrong?") == wrong
    assert person.says("Is it right like this?") == f"No. {wrong}"
    person.places((4, -1, 4, 0), (0, -1, 0, GREEN))
    told = [person.says() for _ in range(4)]
    assert "The green block at the centre, on the ground, is not right: please make it red." in told


def test_it_confirms_what_is_right_and_continues() -> None:
    person = Person(HOUSE, level="shapes")
    person.says()
    person.places((0, -1, 0, RED), (1, -1, 0, RED))
    assert person.says("Is that right?") == "Yes, so far: one block more."
    person.places((2, -1, 0, RED))
    assert person.says("Is that right?") == "Yes, that is right."
    assert "blue" in person.says()


def test_a_builder_who_gives_up_ends_it() -> None:
    person = Person(HOUSE)
    person.says()
    assert person.says("I give up.") == say("give_up")
    assert person.agent.idle
    assert [person.says() for _ in range(3)] == ["", "", ""]
    assert "red" in person.says("What next?"), "unless the builder thinks better of it"
    assert not person.agent.idle


# --------------------------------------------------------------------------------------------------- the builder


def test_a_pending_question_is_filled_by_the_next_utterance() -> None:
    instructor = Instructor()
    assert instructor.says("Place a block.") == ["Which color?"]
    assert instructor.says("um, red I think") == ["Where?"]
    assert instructor.says("in the centre") == ["Done."]
    assert instructor.blocks == [(0, -1, 0, RED)]


def test_which_one_is_taken_from_the_answer() -> None:
    instructor = Instructor((-2, -1, 0, RED), (2, -1, 0, RED), (0, -1, -3, BLUE))
    assert instructor.says("Remove the red block.") == ["Which red one?"]
    assert instructor.says("no, the eastern one") == ["Done."]
    assert instructor.blocks == [(-2, -1, 0, RED), (0, -1, -3, BLUE)]


def test_a_question_stays_open_until_it_is_answered_or_taken_back() -> None:
    instructor = Instructor((0, -1, 0, BLUE))
    assert instructor.says("Put a block on top of the blue block.") == ["Which color?"]
    assert instructor.says("mumble grumble") == ["Which color?"]
    assert instructor.says("no") == [say("okay")]
    assert instructor.says("green")[0] != "Done."
    assert instructor.blocks == [(0, -1, 0, BLUE)]


TWO = ((0, -1, 0, RED), (3, -1, 3, BLUE))


@pytest.mark.parametrize(
    ("texts", "added"),
    [
        (("Put a green block next to it.", "next to the red one, on the left"), set()),
        (("Put a block next to it.", "green", "the red one"), {(0, -1, -1, GREEN)}),
        (("Put a green block.", "a red block in the centre"), set()),
        (("Put a green block.", "there is a red one, west of it"), set()),
        (("Build a green tower on it.", "the blue one", "two"), {(3, 0, 3, GREEN), (3, 1, 3, GREEN)}),
    ],
)
def test_an_answer_does_not_replace_what_was_said(texts: tuple[str, ...], added: set[Any]) -> None:
    instructor = Instructor(*TWO)
    for text in texts:
        answers = instructor.says(text)
    assert set(instructor.blocks) - set(TWO) == added
    assert (answers == ["Done."]) == bool(added)


@pytest.mark.parametrize(
    ("texts", "answers"),
    [
        (("You see the thing over there.", "Put it yonder."), ["I don't know the word 'yonder'."]),
        (("Put a block in the centre.", "Put it over there.", "mumble"), ["Which color?"]),
        (("Put a green block on the tower.", "mumble"), ["I don't know the word 'mumble'."]),
        (("Do you see the red block?", "Take the gizmo."), ["I don't know the word 'gizmo'."]),
    ],
)
def test_a_complaint_is_about_the_newest_text(texts: tuple[str, ...], answers: list[str]) -> None:
    instructor = Instructor(*TWO)
    assert [instructor.says(text) for text in texts][-1] == answers


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Put a green block on the red block. Make the red block red.", "make the red block red"),
        ("Put a green block on the red block and make the red block red.", "the second part"),
        ("Put a green block on the red block. There is a blue block.", "there is a blue block"),
        ("There is a red block. Put a green block on it.", ""),
        ("Make the red block red.", ""),
    ],
)
def test_what_changed_nothing_is_named(text: str, part: str) -> None:
    expected = say("unchanged", word=part) if part else "Done."
    assert Instructor(*TWO).says(text) == [expected]


def test_undo_takes_back_one_instruction_after_the_other() -> None:
    instructor = Instructor()
    instructor.says("Place a red block in the centre.")
    instructor.says("Put a blue block on top of it.")
    instructor.says("Put a green block north of the block you just placed.")
    assert instructor.blocks == [(0, -1, 0, RED), (0, 0, -1, GREEN), (0, 0, 0, BLUE)]
    assert instructor.says("Undo that.") == ["Done."]
    assert instructor.blocks == [(0, -1, 0, RED), (0, 0, 0, BLUE)]
    instructor.says("undo")
    assert instructor.blocks == [(0, -1, 0, RED)]


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Remove the crimson block.", ["I don't know the word 'crimson'."]),
        ("Place a yelow block in the centre.", ["Done."]),
    ],
)
def test_words_that_are_not_known_or_misspelt(text: str, answers: list[str]) -> None:
    assert Instructor().says(text) == answers


@pytest.mark.parametrize(
    "text", ["Can you make a bench?", "Stack four in orange.", "put the blue thing there", "can you jump?"]
)
def test_a_refusal_shows_two_requests_that_can_be_read_and_an_architect_takes_it_for_one(text: str) -> None:
    reply = Instructor().step(text)
    examples = re.findall("\u201c(.+?)\u201d", reply)
    assert len(set(examples)) == 2
    assert all(parse(example) for example in examples)
    assert len(reply) <= MESSAGE_CHARACTERS
    talk = parse_small_talk(reply)
    assert talk is not None
    assert talk.talk in (DialogueAct.UNKNOWN_NAMED, DialogueAct.NOT_READ)
    person, plain = Person(HOUSE), Person(HOUSE)
    assert person.says() == plain.says()
    assert person.says(reply) == plain.says(say("not_understood")) != ""
    assert "can" not in Instructor(tokens=True).step(text), "token chat has no words for it"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a ring of orange", "Where?"),
        ("Stack four in orange.", "I don't understand."),
        ("Make it out of orange blocks.", "I don't understand 'out of orange blocks'."),
        ("Put a block on the red block.", "Which color?"),
        ("Five red towers lying flat, east to west.", "I don't understand 'lying flat east to west'."),
    ],
)
def test_only_what_was_not_said_is_asked_for_and_only_what_was_said_is_quoted(text: str, answer: str) -> None:
    assert Instructor((0, -1, 0, RED)).says(text) == [answer]


def test_yes_takes_the_word_that_was_offered() -> None:
    instructor = Instructor((0, -1, 0, RED))
    asked = instructor.says("Removal the red block.")
    assert asked == ["I don't know the word 'removal'; do you mean 'remove'?"]
    assert instructor.says("yes") == ["Done."]
    assert instructor.blocks == []


@pytest.mark.slow
def test_whatever_place_a_builder_asks_about_is_answered() -> None:
    places = [rule.example for rule in constructions() if rule.category in ("place", "mod", "ground_place")]
    assert len(places) > 100
    for place in places[::2]:
        person = Person(HOUSE)
        person.says()
        assert person.says(f"Is it {place}?"), place
