"""The scripted architect explains: conversations with a person who builds, as they are read.

In a transcript (architect_transcripts.txt) "B:" is said by the builder, "A:" by the architect; "(builds it)" carries
out the request, "(puts ...)" places a block x, y, z, colour. An "A:" after no "B:" is said by the architect of its own
accord.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from talkers import Instructor, Person
from test_conversation import HOUSE

from iglu_marl.core.grid import COLOR_NAMES, index_of
from iglu_marl.core.task import Subtasks
from iglu_marl.language import constructions
from iglu_marl.tasks import BundledTasks

BUNDLED = BundledTasks(mode="structures")
HERE = Path(__file__).parent

TRANSCRIPTS = dict(
    part.split("\n", 1) for part in (HERE / "architect_transcripts.txt").read_text("utf-8").split("## ")[1:]
)


def whole(name: str) -> np.ndarray:
    """The target of a bundled structure."""
    session: Subtasks = BUNDLED.tasks[name][0]
    return np.array(session.create_task(len(session) - 1, start=0).target_grid)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_conversation_reads_well(name: str) -> None:
    person = Person(whole(name), level="shapes")
    lines = TRANSCRIPTS[name].strip().splitlines()
    for before, line in pairwise(["", *lines]):
        if line == "(builds it)":
            request = person.agent._asked
            assert request is not None
            for cell in request.cells:
                person.grid[index_of(cell)] = request.goal[index_of(cell)]
        elif line.startswith("(puts"):
            x, y, z, color = map(int, line.strip("()").split()[1:])
            person.places((x, y, z, color))
        elif line.startswith("A:"):
            assert f"A: {person.says(before[3:] if before.startswith('B:') else '')}" == line


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("So it is a tower?", "No, a red row of three blocks."),
        ("So it's a row of three yellow?", "No, a red row of three blocks."),
        ("So it's a row of four red blocks?", "No, a red row of three blocks."),
        ("It is a red row of three, right?", "Yes, a red row of three blocks."),
        ("So the tower is three high?", "No, 2 blocks high."),
        ("The tower is two blocks high.", "Yes, 2 blocks high."),
        ("Is the tower on top of the green block?", "No: it starts at the centre, at height 2, going up."),
        ("Is the tower on top of the red row?", "Yes: it starts at the centre, at height 2, going up."),
        ("Is the tower red?", "No, blue."),
        ("Does the row have five blocks?", "No, 3 blocks."),
        ("There are two towers.", "No, 1."),
        ("So there are four red blocks?", "No, 3."),
        ("So we need purple?", "No."),
        ("So we need green?", "Yes, 3 blocks west and 2 south of the centre, on the ground."),
        ("Is the green block at the centre?", "No: 3 blocks west and 2 south of the centre, on the ground."),
        ("Does the row go south?", "No, east; it starts at the centre, on the ground."),
        ("Is the tower flat?", "No, 2 blocks high."),
        ("So it's all red in the end?", "No, green, red and blue."),
        ("Is the wall two blocks high?", "There is no such thing in the structure."),
        ("Is the blue tower taller than the red row?", "Yes, 2 and 1."),
        ("Does the red row have as many blocks as the blue tower?", "No, 3 and 2."),
    ],
)
def test_a_claim_gets_yes_or_no_and_the_fact(said: str, answer: str) -> None:
    person = Person(HOUSE, level="shapes")
    person.says()
    assert person.says(said) == answer


@pytest.mark.parametrize("name", ["rook", "train", "snail", "sundial", "traffic-light", "wishing-well"])
def test_numbers_and_heights_are_true_of_every_structure(name: str) -> None:
    """Of all numbers that are claimed, only the true one is confirmed."""
    target = whole(name)
    person = Person(target, level="shapes")
    person.says()
    for color, word in enumerate(COLOR_NAMES[1:], start=1):
        count = int(np.count_nonzero(target == color))
        for claimed in {max(count - 1, 2), count, count + 1} - {0, 1}:
            verdict = person.says(f"So there are {claimed} {word} blocks?").split(",")[0]
            assert verdict == ("Yes" if claimed == count else "No"), (word, claimed, count)
    high = int(np.flatnonzero(target.any(axis=(1, 2))).max()) + 1
    said = person.says("How tall does the whole structure get?").lower()
    assert said == ("one block high." if high == 1 else f"{high} blocks high.")
    assert person.says("How many blocks in all?").startswith(f"{np.count_nonzero(target)} blocks")


def test_it_means_what_was_talked_about_last() -> None:
    person = Person(HOUSE, level="shapes")
    person.says()
    assert person.says("What colour is it?") == "Red."
    assert person.says("Where does the tower go?") == "It starts at the centre, at height 2, going up."
    assert person.says("What colour is it?") == "Blue."
    assert person.says("What does it look like?").startswith("A red row of three blocks, on top of it a blue")
    assert person.says("How big is it?") == "6 blocks: 6 from west to east, 3 from north to south and 3 high."
    person.places((0, -1, 0, 6))
    assert person.says("What colour is it?") == "Red.", "somebody builds: it is the request"


def test_a_name_is_remembered_and_used() -> None:
    person = Person(HOUSE, level="shapes")
    person.says()
    assert person.says("We call it the keel.") == "Okay, the keel."
    assert person.says("Is the keel blue?") == "No, red."
    assert person.says("How long is the keel?") == "3 blocks."
    said = person.says("I'm stuck.")
    assert said.startswith("Let's go block by block. ")
    assert said.endswith(" It belongs to the keel.")


def test_a_builder_that_does_nothing_gets_single_blocks() -> None:
    person = Person(HOUSE, level="shapes", patience=2)
    person.says()
    heard = []
    for _ in range(4):
        person.pose = person.pose - (0.1, 0.0, 0.0, 0.0, 0.0)  # stands still
        heard.append(person.says())
    assert heard[0] == ""
    assert any(said.startswith("Let's go block by block. Place a red block") for said in heard), heard


def test_without_a_request_questions_about_the_whole_are_answered() -> None:
    person = Person(HOUSE, level="shapes")
    assert person.says("How many blocks do we need altogether?") == "6 blocks."
    assert person.says("How many are left?") == "6 blocks to place."
    assert person.says("Is it blue?") == "No, green, red and blue."
    assert "red row" in person.says()


REMARKS = {
    line[3:] for lines in TRANSCRIPTS.values() for line in lines.strip().splitlines() if line[:2] == "A:"
}


@pytest.mark.parametrize("category", ["asked_plain", "asked_loosely", "of_things", "question"])
def test_whatever_the_rules_can_ask_is_answered(category: str) -> None:
    person = Person(HOUSE, level="shapes")
    person.says()
    person.places((0, -1, 0, 6), (4, -1, 4, 1))
    examples = [rule.example for rule in constructions() if rule.category == category and rule.example]
    assert len(examples) > 10
    for example in examples:
        if example not in ("i give up", "thanks"):
            assert person.says(f"{example}?"), example


def test_its_remarks_are_no_instructions_to_a_builder() -> None:
    """The scripted builder neither acts on what is said about the work nor complains about it."""
    remarks = [
        said for said in REMARKS if said.startswith(("No:", "Yes:", "No, ", "Yes, ")) or " to place" in said
    ]
    assert len(remarks) > 10
    for said in remarks:
        instructor = Instructor((0, -1, 0, 6))
        instructor.agent.discourse.overhear("Is it like that?")
        heard = instructor.says(said)
        if not re.fullmatch(
            r"No, ((\d+|one)( blocks?( high)?)?|[a-z]+)\.", said
        ):  # takes back a number or a colour
            assert not heard, said
        assert len(instructor.blocks) == 1, said
