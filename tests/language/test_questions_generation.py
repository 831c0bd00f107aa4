"""Questions and statements: wording, reading back, generation with answers, goals and their splits."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
import reference_evaluator as witness
from hypothesis import given, settings
from hypothesis import strategies as st

from iglu_marl import LanguageError
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, blocks_to_grid, color_id
from iglu_marl.language.generator import Generator, Record
from iglu_marl.language.goals import (
    SPLITS,
    Goal,
    GoalSpace,
    GoalTask,
    GoalTasks,
    held_out_pairs,
    program_of,
    statement_goals,
)
from iglu_marl.language.grammar.reader import grammar
from iglu_marl.language.grammar.scene_sentences import parse_question as parse
from iglu_marl.language.grammar.scene_sentences import question_text
from iglu_marl.language.grammar.templates import words
from iglu_marl.language.grammar.vocabulary import vocabulary_words
from iglu_marl.language.meaning.blocks import Failure, Reason
from iglu_marl.language.scene.graph import Scene
from iglu_marl.language.scene.noun_phrases import Link, Phrase
from iglu_marl.language.scene.program import COLOR_WORDS, Program
from iglu_marl.language.scene.questions import KINDS, QUESTION, STATEMENT, Question, question_templates
from iglu_marl.language.scene.random_scenes import SIMPLE, VARIED, arrange, draw_pieces, random_world
from iglu_marl.tasks import sample_task

# ruff: noqa: S301 - only what was pickled a moment ago is read

RED = Phrase("block", ("red",))
ROW = Phrase("row", ("orange",), 3)


def pairs(count: int, seed: int) -> Iterator[tuple[Record, BlockGrid, float, bool]]:
    """Yield records about random worlds: record, world, yaw of the builder, whether the world is new."""
    rng, generator = np.random.default_rng(seed), Generator()
    for number in range(count):
        if number % 10 == 0:
            grid = random_world(rng, shapes=SIMPLE if rng.random() < 0.5 else VARIED)
            yaw_deg = float(rng.uniform(0, 360))
            scene = Scene(grid, yaw_deg)
        yield generator.sample(scene, rng), grid, yaw_deg, number % 10 == 0


# ----------------------------------------------------------------------------------------------------- wordings

WORDINGS = {
    ("exist", STATEMENT, ("A", ROW)): "There is an orange row of three blocks.",
    ("exist", QUESTION, ("A", Phrase("tower", (), None, 2))): "Is there a tower at height two?",
    ("exist", STATEMENT, ("A", Phrase(level=1))): "There is a block on the ground.",
    ("exist", STATEMENT, ("A", Phrase("l", ("red",)))): "There is a red L shape.",
    ("exist", QUESTION, ("A", Phrase(links=(Link("on", Phrase(extreme="left")),)))): (
        "Is there a block on the leftmost block?"
    ),
    ("color", QUESTION, ("A", Phrase(extreme="up", rank=2))): "What color is the second block from the top?",
    ("which", QUESTION, ("A", Phrase("tower")), ("E", "up")): "Which tower is the highest?",
    ("what", QUESTION, ("A", Phrase("tower", ("red",))), ("R", "on")): "What is on the red tower?",
    ("tall", QUESTION, ("A", Phrase("wall"))): "How tall is the wall?",
    ("at_least", QUESTION, ("A", RED), ("N", 3)): "Are there at least three red blocks?",
    ("how_many_are", QUESTION, ("A", Phrase("row")), ("C", "red")): "How many rows are red?",
    ("level_is_not", QUESTION, ("A", RED), ("V", 1)): "Is the red block not on the ground?",
    ("starts_higher", STATEMENT, ("A", Phrase("tower")), ("B", Phrase("row"))): (
        "The tower starts higher than the row."
    ),
    ("exist", STATEMENT, ("A", Phrase(links=(Link("north", ROW),)))): (
        "There is a block north of the orange row of three blocks."
    ),
    ("exist", STATEMENT, ("A", Phrase(links=(Link("on", ROW, definite=False),)))): (
        "There is a block on an orange row of three blocks."
    ),
    (
        "exist",
        QUESTION,
        ("A", Phrase(links=(Link("left", RED), Link("same_height", ROW)), joined="or")),
    ): (
        "Is there a block that is either to the left of the red block or at the same height as the orange row of "
        "three blocks?"
    ),
    ("count", QUESTION, ("A", Phrase("square", ("red", "blue")))): "How many red or blue squares are there?",
    ("count_is", STATEMENT, ("A", RED), ("N", 1)): "There is exactly one red block.",
    ("count_is", QUESTION, ("A", RED), ("N", 3)): "Are there exactly three red blocks?",
    ("more_than", STATEMENT, ("A", RED), ("N", 1)): "There is more than one red block.",
    ("none", STATEMENT, ("A", RED)): "There is no red block.",
    ("all_color", QUESTION, ("A", Phrase("tower")), ("C", "green")): "Are all towers green?",
    ("level_is", STATEMENT, ("A", RED), ("V", 1)): "The red block is on the ground.",
    ("height_is", STATEMENT, ("A", RED), ("H", 4)): "The red block is at height four.",
    ("where", STATEMENT, ("A", RED), ("B", ROW), ("R", "next_to")): (
        "The red block is next to the orange row of three blocks."
    ),
}


@pytest.mark.parametrize(("parts", "text"), WORDINGS.items())
def test_preferred_wordings(parts: tuple, text: str) -> None:
    question = Question(parts[0], parts[1], parts[2:])
    assert question_text(question) == text
    assert parse(text) == question


@pytest.mark.parametrize(
    "text",
    [
        "there is a red cube north of the blue column",
        "  There   is a red block, north of the blue tower.",
    ],
)
def test_case_punctuation_and_synonyms_do_not_matter(text: str) -> None:
    tower = Phrase("tower", ("blue",))
    assert parse(text) == Question.of(
        "exist", STATEMENT, A=Phrase("block", ("red",), links=(Link("north", tower),))
    )


def test_numbers_and_heights_in_words_digits_and_ordinals() -> None:
    forms = ["on level 3", "on level three", "on the third level", "on the 3rd level"]
    assert len({parse(f"There are exactly 2 rows of three blocks {form}.") for form in forms}) == 1
    assert parse("Is there a wall at height three?") == parse("is there a wall at height 3")
    assert parse("Is the red block on the floor?") == parse("is the red cube on level 1?")


@pytest.mark.parametrize(
    ("text", "reason", "detail"),
    [
        ("", Reason.EMPTY, ""),
        ("There is a red pyramid.", Reason.UNKNOWN_WORD, "pyramid"),
        ("There is a red.", Reason.NOT_UNDERSTOOD, "there is a red"),
        ("There is a red block?", Reason.NOT_UNDERSTOOD, "there is a red block ?"),
        ("Is there a block north of a blue tower", None, ""),  # a missing question mark is forgiven
        ("There is a block of two blocks.", Reason.NOT_UNDERSTOOD, "there is a block of two blocks"),
        ("The red or blue block is on the ground.", Reason.NOT_UNDERSTOOD, None),
        ("There are exactly 21 blocks.", Reason.NOT_UNDERSTOOD, None),
        ("The block is at height 10.", Reason.NOT_UNDERSTOOD, None),
        (f"There are exactly {'9' * 5000} blocks.", Reason.NOT_UNDERSTOOD, None),
        ("There are exactly ٣ blocks.", Reason.UNKNOWN_WORD, "٣"),
        ("Is the block north of the tower on the ground?", None, ""),
    ],
)
def test_what_cannot_be_read_is_said_and_never_guessed(
    text: str, reason: Reason | None, detail: str | None
) -> None:
    found = parse(text)
    if reason is None:
        assert isinstance(found, Question)
        return
    assert isinstance(found, Failure)
    assert not found
    assert found.reason is reason
    assert detail is None or found.detail == detail


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(sorted(grammar().words_of(*KINDS, said=True))), max_size=14).map(" ".join))
def test_no_words_in_any_order_break_the_parser(text: str) -> None:
    found = parse(text)
    if isinstance(found, Question):
        assert parse(question_text(found)) == found


def test_a_reading_is_never_one_of_two() -> None:
    found = parse("Is the block next to the tower on the ground?")
    assert isinstance(found, Question)
    assert found.template == "where"
    assert dict(found.fillings)["B"] == Phrase("tower", level=1)


def test_questions_are_checked_values() -> None:
    question = Question.of("exist", STATEMENT, A=RED)
    assert pickle.loads(pickle.dumps(question)) == question
    assert question.program == Program.parse("exist(filter_color(filter_shape(scene(),block),red))")
    for wrong, message in (
        (lambda: Question.of("exists", STATEMENT, A=RED), "unknown template 'exists'"),
        (lambda: Question.of("exist", STATEMENT), r"filled in \[\], expected \['A'\]"),
        (lambda: Question.of("count_is", STATEMENT, A=RED, N=0), "0 does not fit slot N"),
        (lambda: Phrase("pyramid"), "unknown shape"),
        (lambda: Phrase("block", size=2), "size of a block"),
        (lambda: Phrase(links=(Link("on", RED), Link("on", RED))), "2 links joined by None"),
        (lambda: Link("near", RED), "unknown relation"),
    ):
        with pytest.raises(LanguageError, match=message):
            wrong()


def test_words_are_in_the_vocabulary_of_token_chat() -> None:
    assert grammar().words_of(*KINDS, said=True) <= set(vocabulary_words())


# --------------------------------------------------------------------------------------------------- generation


@pytest.mark.slow
def test_pairs_are_right_balanced_and_read_back() -> None:
    templates: Counter[str] = Counter()
    truth: Counter[bool] = Counter()
    parts: list[witness.Part] = []
    for record, grid, yaw, fresh in pairs(4000, seed=5):
        parts = witness.parts(grid) if fresh else parts
        assert parse(record.text) == record.question, record.text
        assert parse(record.text).program == record.program
        assert witness.agrees(witness.evaluate(record.program, grid, yaw, parts), record.answer), record.text
        assert record.answer is not None
        templates[record.question.template] += 1
        if isinstance(record.answer, bool):
            truth[record.answer] += 1
    assert templates.keys() == question_templates().keys()
    assert abs(truth[True] - truth[False]) < 0.05 * sum(truth.values())


def test_the_same_seed_gives_the_same_pairs() -> None:
    first, second = ([(r.text, r.answer) for r, *_ in pairs(60, seed=3)] for _ in range(2))
    assert first == second
    assert first != [(r.text, r.answer) for r, *_ in pairs(60, seed=4)]


def test_kinds_can_be_chosen() -> None:
    rng = np.random.default_rng(0)
    records = Generator(kinds=STATEMENT).describe(Scene(random_world(rng)), rng, 40)
    assert {record.question.kind for record in records} == {STATEMENT}
    with pytest.raises(LanguageError):
        Generator(kinds="exclamation")


def test_empty_worlds_have_little_to_say() -> None:
    rng = np.random.default_rng(0)
    records = Generator(kinds=STATEMENT).describe(Scene(np.zeros((9, 11, 11), np.int8)), rng, 5)
    for record in records:
        assert witness.agrees(witness.evaluate(record.program, np.zeros((9, 11, 11), np.int8)), record.answer)


def test_arrangements_leave_room_and_keep_to_the_stock() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        pieces = draw_pieces(rng)
        grid = arrange(pieces, rng, clear=(5, 5))
        assert not grid[:, 5, 5].any()
        assert np.bincount(grid.ravel(), minlength=7)[1:].max() <= 20
        assert 1 <= np.count_nonzero(grid) <= sum(piece.blocks for piece in pieces)


# -------------------------------------------------------------------------------------------------------- goals


def small_world(rng: np.random.Generator) -> BlockGrid:
    """Return a few rows and blocks close together. Blocks may float."""
    grid = np.zeros(ZONE_SHAPE, np.int8)
    for _ in range(rng.integers(2, 5)):
        (y, x, z), (wide, deep) = rng.integers(0, 3, 3), rng.permutation([1, rng.integers(1, 4)])
        grid[y : y + rng.choice([1, 1, 2]), x : x + wide, z : z + deep] = rng.integers(1, 7)
    return grid


@pytest.mark.slow
def test_all_goals_can_be_reached() -> None:
    rng, goals = np.random.default_rng(0), GoalSpace(list(statement_goals())[::3])
    reached = np.zeros(len(goals), bool)
    for _ in range(60):
        reached |= goals.holding(np.stack([small_world(rng) for _ in range(1000)])).any(axis=0)
        if reached.all():
            break
    assert reached.all()
    assert max(len(words(goal.text)) for goal in goals) <= 16, "one message of token chat"


def test_goals_of_a_space() -> None:
    goals = statement_goals()
    grid = blocks_to_grid([(0, -1, 0, color_id("red")), (0, 0, 0, color_id("blue"))])
    holds = goals.holding(grid)
    assert holds.tolist() == [goal.holds(grid) for goal in goals]
    assert goals.holding(np.stack([grid, grid])).tolist() == [holds.tolist()] * 2
    true = {str(goal) for goal, held in zip(goals, holds, strict=True) if held}
    assert {
        "There is a red block.",
        "There is a blue block on a red block.",
        "There is no green block.",
    } <= true
    rng = np.random.default_rng(0)
    assert not any(goals.sample(rng, grid).holds(grid) for _ in range(50))
    only = GoalSpace(["There is a red block."])
    with pytest.raises(LanguageError, match="all 1 goals hold already"):
        only.sample(rng, grid)
    with pytest.raises(LanguageError, match="at least one"):
        GoalSpace([])
    with pytest.raises(LanguageError, match="expected names from"):
        statement_goals(colors=("pink",))


@pytest.mark.parametrize("by", SPLITS)
def test_splits(by: str) -> None:
    goals = statement_goals()
    train, held_out = goals.split(by)
    assert len(train) + len(held_out) == len(goals)
    assert set(train.goals).isdisjoint(held_out.goals)
    assert goals.split(by).train.goals == train.goals
    known = {word for goal in train for word in words(goal.text)}
    new = {word for goal in held_out for word in words(goal.text)} - known
    assert new == ({"all", "as", "many"} if by == "length" else set()), "long programs have their own"
    if by == "length":
        assert max(goal.program.nodes for goal in train) < min(goal.program.nodes for goal in held_out)
    elif by == "combination":
        assert 0.1 < len(held_out) / len(goals) < 0.3
    else:
        bare = re.compile(rf"\b({'|'.join(COLOR_WORDS)}) (block|row|tower|square|group)")
        pair_sets = [
            {tuple(pair) for goal in side for pair in bare.findall(goal.text)} for side in (train, held_out)
        ]
        assert pair_sets[0].isdisjoint(held_out_pairs())
        assert set(held_out_pairs()) <= pair_sets[1]


def test_goals_from_anything() -> None:
    program = Program.parse("exist(filter_color(filter_shape(scene(),block),red))")
    text = "There is a red block."
    question = Question.of("exist", STATEMENT, A=RED)
    for value in (text, (text, program), (text, program.text), Goal(text, program), question):
        goal = Goal.of(value)
        assert (goal.text, goal.program) == (text, program)
        assert program_of(goal) == program
    assert Goal.of(program).text == program.text
    with pytest.raises(LanguageError, match="is no question or statement: unknown word: teapot"):
        Goal.of("There is a teapot.")
    with pytest.raises(LanguageError, match="gives integer, expected a boolean"):
        Goal.of("How many blocks are there?")


def test_goal_tasks() -> None:
    task = GoalTask("There is a red block.")
    assert not task.is_complete_at_start
    assert GoalTask("There is no red block.").is_complete_at_start
    twin = pickle.loads(pickle.dumps(task))
    assert twin == task
    assert hash(twin) == hash(task)
    assert task != GoalTask("There is a blue block.")
    other = task.replace(task_id="x", starting_grid=[(0, -1, 0, 6)])
    assert isinstance(other, GoalTask)
    assert other.goal == task.goal
    assert other.is_complete_at_start
    assert task.replace(goal="There is a blue block.").goal.text == "There is a blue block."
    endless = task.replace(terminate_on_success=False)
    assert endless != task == endless.replace(terminate_on_success=True)
    assert not endless.replace(task_id="x").objective.terminate_on_success
    drawn = sample_task(GoalTasks(scenes=random_world), np.random.default_rng(0))
    assert isinstance(drawn, GoalTask)
    assert not drawn.goal.holds(drawn.start_grid)
