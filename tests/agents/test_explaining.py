"""The scripted architect explains: conversations with a person who builds, as they are read.

In a transcript "B:" is said by the builder, "A:" by the architect; "(builds it)" carries out the request, "(puts ...)"
places a block x, y, z, colour. An "A:" after no "B:" is what the architect says of its own accord.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from test_conversation import HOUSE, Instructor, Person

from iglu_marl.agents.scripted.answers import cells_where
from iglu_marl.core.grid import COLOR_NAMES, index_of
from iglu_marl.core.task import Subtasks
from iglu_marl.language import Scene, constructions
from iglu_marl.tasks import BundledTasks

BUNDLED = BundledTasks(mode="structures")

TRANSCRIPTS = {
    "bridge": """
B: What are we building?
A: A yellow row of five blocks, 2 red towers of two blocks and 2 green blocks: 11 blocks in all, 5 yellow, 4 red and 2 green; 4 blocks high.
B: How tall does it get in the end?
A: 4 blocks high.
B: Which colours do we need?
A: Red, yellow and green.
B: So there are two towers, right?
A: Yes, 2 in all; none so far.
B: Where does the yellow row go?
A: It starts 2 blocks west of the centre, at height 3, going east.
A: Build a tower of 2 red, yellow and green at 2 blocks west, on the ground.
B: So it's a tower of four red blocks?
A: No, a tower of four blocks (2 red, 1 yellow and 1 green).
B: Let's call it the mast.
A: Okay, the mast.
B: I'm stuck.
A: Let's go block by block. Place a red block on the ground, 2 blocks west of the centre. It belongs to the mast.
(builds it)
A: Place a red block 2 blocks west of the centre, at height 2. It belongs to the mast.
B: How many blocks does the mast have?
A: One block.
B: How many are left?
A: 10 blocks to place.
""",  # noqa: E501
    "mushroom": """
A: Build a tower of 2 yellow, red and orange at the centre, on the ground.
B: So it's on the ground?
A: Yes: it starts at the centre, on the ground, going up.
B: Where does the orange one go?
A: At the centre, at height 4.
(builds it)
B: We call it the stem.
A: Okay, the stem.
A: Build a red square of 3 east and south from 1 west 1 north, level 3.
B: So the square is red?
A: Yes, red.
(builds it)
B: What colour is the stem?
A: Yellow, red and orange.
B: Is the square flat?
A: Yes, one block high.
B: Are any blocks floating?
A: No, all is connected to the ground.
(puts 4 -1 4 1)
B: Did I make a mistake?
A: The blue block 4 blocks east and 4 south of the centre, on the ground, is not right: please take it away.
B: Should I remove something?
A: Remove one blue block: 4 blocks east and 4 south of the centre, on the ground.
B: Is it finished?
A: No: 2 blocks to place and one block to remove.
""",
    "podium": """
B: How big is the whole thing?
A: 12 blocks: 3 from west to east, 2 from north to south and 3 high.
B: How many parts does it have?
A: 5 parts: a blue square of four blocks, a red row of two blocks, an orange row of two blocks, a blue row of two blocks and a yellow row of two blocks.
B: So it's all yellow?
A: No, blue, orange, yellow and red.
A: Build a blue square of 2 south and up from the centre, on the ground.
B: Is it blue?
A: Yes, blue.
B: Can I use red instead?
A: No, blue.
(builds it)
B: How many have I placed so far?
A: 4 of 12 blocks are right so far.
B: What goes on top of it?
A: 2 yellow blocks.
B: So the yellow row is three high?
A: No, one block high.
B: How many green blocks are there?
A: None.
B: Is there anything under the yellow row?
A: Yes, 4 blue blocks in all; 4 so far.
""",  # noqa: E501
    "crown": """
A: Build a yellow T of 7 east and 3 up from 3 west, on the ground.
B: Can you describe the whole structure first?
A: A yellow T shape of nine blocks, 2 towers of two blocks (1 yellow and 1 red) and a blue block: 14 blocks in all, 11 yellow, 2 red and 1 blue; 4 blocks high.
B: Is it symmetrical?
A: Yes, from west to east.
B: How wide is it?
A: 7 blocks.
B: What colour is the bottom layer?
A: Yellow.
B: Where do the red blocks go?
A: 3 blocks west of the centre, at height 3; 3 blocks east of the centre, at height 3.
B: I don't understand.
A: Let's go block by block. Add a yellow block in the middle, on the ground.
(builds it)
B: Is that right?
A: Yes, that is right.
B: There are five yellow blocks?
A: No, 11 yellow blocks in all; 1 so far.
B: Are we nearly there?
A: No: 13 blocks to place.
""",  # noqa: E501
    "letter-k": """
A: Build a green row of 5 south from 1 block west 2 north, on the ground.
B: Is it a tower?
A: No, a green row of five blocks.
B: How long is it?
A: 5 blocks.
(builds it)
B: Thanks. What now?
A: Build a yellow diagonal of 3 east and north from the centre, on the ground.
B: So it goes to the east?
A: Yes, north and east; it starts at the centre, on the ground.
B: Does it touch the ground?
A: Yes, on the ground.
B: Why?
A: That is what the structure looks like.
B: What is the weather like?
A: I can't answer that. Create a diagonal of three yellow blocks east and north from the centre, on the ground.
B: How many more do I need to place?
A: 5 blocks to place.
B: I give up.
A: Never mind, leave it.
""",
}


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
        ("There are two towers.", "No, 1 in all; none so far."),
        ("So there are four red blocks?", "No, 3 red blocks in all; none so far."),
        ("So we need purple?", "No."),
        ("So we need green?", "Yes, 3 blocks west and 2 south of the centre, on the ground."),
        ("Is the green block at the centre?", "No: 3 blocks west and 2 south of the centre, on the ground."),
        ("Does the row go south?", "No, east; it starts at the centre, on the ground."),
        ("Is the tower flat?", "No, 2 blocks high."),
        ("Does the tower touch the ground?", "No, the lowest block is on level 2."),
        ("So it's all red in the end?", "No, green, red and blue."),
        ("Is the row symmetrical?", "Yes, from west to east."),
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


def test_the_parts_make_up_the_whole() -> None:
    """Every part that is named exists in the target, and each block is in one part."""
    from iglu_marl.agents.scripted.decomposition import parts_of

    for name in BUNDLED.tasks:
        target = whole(name)
        parts = parts_of(target)
        assert sorted(cell for part in parts for cell in part) == sorted(cells_where(target != 0)), name
        for part in parts:
            alone = np.zeros_like(target)
            for cell in part:
                alone[index_of(cell)] = target[index_of(cell)]
            assert frozenset(part) in {frozenset(thing.cells) for thing in Scene(alone).things}, (name, part)


def test_it_means_what_was_talked_about_last() -> None:
    person = Person(HOUSE, level="shapes")
    person.says()
    assert person.says("What colour is it?") == "Red."
    assert person.says("Where does the tower go?") == "It starts at the centre, at height 2, going up."
    assert person.says("What colour is it?") == "Blue."
    assert person.says("What does it look like?").startswith("A red row of three blocks, a blue tower")
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
        heard = instructor.says(said)
        if said[4:-1] not in COLOR_NAMES:  # "No, red." takes back a colour
            assert not heard, said
        assert len(instructor.blocks) == 1, said
