"""One meaning: questions, statements and the references of instructions find the same things, in random worlds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import reference_evaluator as witness

from iglu_marl.core.grid import COLOR_NAMES, blocks_to_grid, color_id
from iglu_marl.language.grammar.scene_sentences import parse_question as parse
from iglu_marl.language.grammar.scene_sentences import say_answer
from iglu_marl.language.meaning.blocks import Failure, Reason
from iglu_marl.language.meaning.context import Context, Resolution, Unresolved
from iglu_marl.language.meaning.references import Beside, Blocks, Item, NextTo, resolve
from iglu_marl.language.meaning.shapes import Kind
from iglu_marl.language.scene.graph import MIXED, Scene
from iglu_marl.language.scene.interpreter import answer
from iglu_marl.language.scene.noun_phrases import Link, Phrase
from iglu_marl.language.scene.program import COLOR_WORDS, EXTREMES, RELATIONS, SHAPE_NAMES, Program
from iglu_marl.language.scene.questions import QUESTION, Question
from iglu_marl.language.scene.random_scenes import VARIED, random_world

KINDS = {shape: [Kind(shape)] for shape in SHAPE_NAMES if shape in {kind.value for kind in Kind}}
KINDS |= {"tower": [Kind.TOWER, Kind.COLUMN], "group": [Kind.STRUCTURE]}
WAYS = {"above": "up", "below": "down"}
# An instruction's "on" is "above": the nearest touches.
STANDING = tuple(name for name in RELATIONS if name != "on")

Told = tuple[Phrase, Blocks]


def meant(reference: Blocks, setting: Resolution) -> list[Item] | Failure:
    try:
        return resolve(reference, setting)
    except Unresolved as error:
        return error.failure


def _told(scene: Scene, rng: np.random.Generator) -> Told:
    """Something that is there, mostly, as a phrase and as a reference."""
    shapes = list(KINDS)
    shape, color = shapes[int(rng.integers(len(shapes)))], COLOR_WORDS[int(rng.integers(6))]
    there = [found for name in shapes if (found := scene.by_shape[name])]
    if there and rng.random() < 0.85:
        found = there[int(rng.integers(len(there)))]
        thing = found[int(rng.integers(len(found)))]
        shape, color = thing.shape, thing.color
    colors = () if color == MIXED or rng.random() < 0.3 else (color,)
    kinds = KINDS[shape]
    ids = tuple(COLOR_NAMES.index(name) for name in colors)
    return Phrase(shape, colors), Blocks(ids, kinds[int(rng.integers(len(kinds)))])


def _furthest(told: Told, rng: np.random.Generator) -> Told:
    way, rank = EXTREMES[int(rng.integers(len(EXTREMES)))], int(rng.choice((1, 1, 2, 3)))
    if way == "middle":
        return replace(told[0], extreme=way), replace(told[1], middle=True)
    return replace(told[0], extreme=way, rank=rank), replace(told[1], extreme=way, rank=rank)  # type: ignore[arg-type]


def _linked(one: Told, other: Told, relation: str) -> Told:
    where = (
        NextTo(other[1]) if relation == "next_to" else Beside(((WAYS.get(relation, relation), 1),), other[1])
    )  # type: ignore[arg-type]
    return replace(one[0], links=(Link(relation, other[0]),)), replace(one[1], where=where)


def _agree(told: Told, scene: Scene, setting: Resolution) -> str:
    """What became of it, after the question and the reference have been found to say the same."""
    phrase, reference = told
    found = meant(reference, setting)
    there = answer(Question.of("exist", QUESTION, A=replace(phrase, extreme=None, rank=1)).program, scene)
    count, one = (
        answer(Program(*part), scene) for part in (("count", (phrase.program,)), ("unique", (phrase.meant,)))
    )
    if count is None:  # what it is told from is not there, or several
        assert there is None
        assert isinstance(found, Failure)
        return "unclear"
    if count == 0:
        assert isinstance(found, Failure)
        assert found.reason is (Reason.AMBIGUOUS if there and phrase.extreme == "middle" else Reason.NO_MATCH)
        assert one is None
        assert not there or phrase.extreme
        return "none"
    assert there
    if one is None:
        assert isinstance(found, Failure)
        assert found.reason is Reason.AMBIGUOUS
        assert count > 1
        choices = answer(phrase.meant, scene)
        assert {frozenset(item) for item in found.choices} == {frozenset(thing.cells) for thing in choices}
        return "several"
    assert not isinstance(found, Failure), found
    assert [set(item) for item in found] == [set(one.cells)]
    return "one" if count == 1 else "the nearest"


def test_questions_and_references_mean_the_same() -> None:
    rng, seen = np.random.default_rng(0), Counter[str]()
    for _ in range(150):
        grid, yaw_deg = random_world(rng, shapes=VARIED), float(rng.integers(4) * 90 + rng.uniform(-44, 44))
        scene, setting = Scene(grid, yaw_deg), Resolution.of(grid, Context(yaw_deg=yaw_deg))
        for _ in range(10):
            told, relation = _told(scene, rng), STANDING[int(rng.integers(len(STANDING)))]
            if rng.random() < 0.8:
                other = _told(scene, rng)
                told = _linked(told, _furthest(other, rng) if rng.random() < 0.4 else other, relation)
            if rng.random() < 0.15:
                told = _furthest(told, rng)
            seen[_agree(told, scene, setting)] += 1
    assert min(seen[name] for name in ("unclear", "none", "one", "several", "the nearest")) > 20, seen


# -------------------------------------------------------------------------------------------- which one is meant

R, B, G = (color_id(name) for name in ("red", "blue", "green"))


@pytest.mark.parametrize(
    ("relation", "blocks", "expected"),
    [
        ("north", [(0, -1, -1, R), (0, -1, -3, R)], (0, -1, -1)),  # next to it, before one further away
        ("north", [(3, -1, -1, R), (0, -1, -2, R)], (0, -1, -2)),  # two steps, not four
        ("north", [(1, -1, -1, R), (-1, -1, -1, R)], None),  # two steps each
        ("above", [(0, 0, 0, R), (0, 1, 0, R), (0, 4, 0, R)], (0, 0, 0)),  # the one on it
        ("above", [(0, 2, 0, R), (0, 4, 0, R)], (0, 2, 0)),
        ("next_to", [(0, -1, -1, R), (0, -1, 1, R)], None),
    ],
)
def test_of_several_the_nearest_is_meant(relation: str, blocks: list, expected: tuple | None) -> None:
    grid = blocks_to_grid([(0, -1, 0, B), *blocks])
    told = _linked(
        (Phrase("block", ("red",)), Blocks((R,))), (Phrase("block", ("blue",)), Blocks((B,))), relation
    )
    kind = _agree(told, Scene(grid), Resolution.of(grid, Context()))
    assert kind == ("several" if expected is None else "the nearest")
    one = answer(Program("unique", (told[0].meant,)), grid)
    assert (None if one is None else one.cells) == (None if expected is None else (expected,))
    assert answer(Program("count", (told[0].program,)), grid) == len(blocks)


def test_a_number_of_steps_is_exact() -> None:
    grid = blocks_to_grid([(0, -1, 0, B), (0, -1, -1, R), (0, -1, -2, R), (1, -1, -2, R)])
    setting = Resolution.of(grid, Context())
    two = Beside((("north", 2),), Blocks((B,)))  # type: ignore[arg-type]
    assert meant(Blocks((R,), where=two), setting) == [((0, -1, -2),)]
    row = blocks_to_grid([(0, -1, z, B) for z in range(4)] + [(0, -1, -2, R)])
    two = Beside((("north", 2),), Blocks((B,), "row"))  # type: ignore[arg-type]
    assert meant(Blocks(where=two), Resolution.of(row, Context())) == [
        ((0, -1, -2),)
    ]  # none of the row itself


# ------------------------------------------------------------------------------------------------- what people ask

WORLD = blocks_to_grid(
    [(0, y, 0, B) for y in (-1, 0, 1)]
    + [(0, 2, 0, R)]
    + [(x, -1, -3, R) for x in (-1, 0, 1)]
    + [(3, -1, 0, G), (4, -1, 4, G)]
)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Which block is the highest?", "a red block"),
        ("Which tower is the highest?", "a mixed tower of four blocks"),
        ("How tall is the blue tower?", "3"),
        ("On which level is the blue tower?", "1"),
        ("What is on top of the blue tower?", "a red block"),
        ("What is north of the blue tower?", "a red row of three blocks"),
        ("What is on the red row?", "nothing"),
        ("Is there nothing above the blue tower?", "no"),
        ("How many blocks are red?", "4"),
        ("Are there 3 red blocks?", "no"),  # a bare number is exactly that number
        ("Are there at least 3 red blocks?", "yes"),
        ("Is there no orange block?", "yes"),
        ("Isn't there a red row?", "yes"),
        ("Is the highest block not on the ground?", "yes"),
        ("What color is the block north of the blue tower?", "red"),  # three are; one is nearest
        ("What color is the second block from the top?", "blue"),
        ("On which level is the middle blue block?", "2"),
        ("How tall is the green block?", "that is not clear"),
        ("Is the blue tower taller than the red row?", "yes"),
    ],
)
def test_what_people_ask_of_a_scene(asked: str, told: str) -> None:
    question = parse(asked)
    assert isinstance(question, Question)
    value = answer(question.program, WORLD)
    assert say_answer(value) == told
    assert witness.agrees(witness.evaluate(question.program, WORLD), value)
