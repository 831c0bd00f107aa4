"""Programs: their types, their text and JSON forms, and what they answer, one world at a time and in batches."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import reference_evaluator as witness
from hypothesis import given, settings
from hypothesis import strategies as st

from iglu_marl import GridError, LanguageError, Worlds
from iglu_marl.core.grid import blocks_to_grid, color_id
from iglu_marl.language.scene.graph import Scene
from iglu_marl.language.scene.interpreter import Programs, ProgramStep, answer
from iglu_marl.language.scene.program import (
    EXTREMES,
    FUNCTIONS,
    MAX_DEPTH,
    RELATIONS,
    SHAPE_NAMES,
    Program,
    Type,
)
from iglu_marl.language.scene.random_scenes import random_world

# ruff: noqa: S301 - only what was pickled a moment ago is read

R, B, Y, G = (color_id(name) for name in ("red", "blue", "yellow", "green"))
# a blue tower of three, a red block on it, north; a red row of three in the middle; east a yellow block
WORLD = blocks_to_grid(
    [(0, y, -2, B) for y in (-1, 0, 1)]
    + [(0, 2, -2, R)]
    + [(x, -1, 0, R) for x in (-1, 0, 1)]
    + [(4, -1, 0, Y)]
)
BLOCKS = "filter_shape(scene(),block)"
TOWER = "unique(filter_color(filter_shape(scene(),tower),blue))"


def of(color: str, shape: str = "block") -> str:
    return f"filter_color(filter_shape(scene(),{shape}),{color})"


# ------------------------------------------------------------------------------------------------------ answers

ANSWERS = {
    f"count({BLOCKS})": 8,
    f"exist({of('green')})": False,
    f"query_size({TOWER})": 3,
    f"query_height({TOWER})": 3,
    f"query_layers({TOWER})": 3,
    "query_color(unique(filter_whole(filter_shape(scene(),tower))))": "mixed",
    f"count(filter_level({of('red')},1))": 3,
    f"query_level(unique(filter_extreme({of('blue')},1,middle)))": 2,
    f"count(filter_extreme({of('red')},1,middle))": 0,  # four, and not in a line
    f"count(filter_extreme({BLOCKS},1,up))": 1,
    f"query_color(unique(filter_extreme({BLOCKS},2,up)))": "blue",
    f"query_color(unique(filter_extreme({BLOCKS},5,up)))": None,  # there are four heights
    f"query_color(unique(filter_extreme({BLOCKS},1,right)))": "yellow",
    f"count(nearest({of('blue')},{of('red')},below))": 1,  # the top of the tower
    f"query_level(unique(nearest({BLOCKS},{TOWER},above)))": 4,
    f"count(nearest({of('red')},unique({of('yellow')}),west))": 1,  # of the three of the row, the last
    f"count(nearest({BLOCKS},unique({of('yellow')}),east))": 0,
    f"count(filter_shape(same_level({TOWER}),row))": 1,
    f"not(exist({of('green')}))": True,
    f"query_color(unique(filter_shape(relate({TOWER},on),block)))": "red",
    f"query_height(unique(filter_shape(relate({TOWER},on),block)))": 4,
    f"query_shape(unique(relate({TOWER},on)))": "block",
    f"query_color(unique({BLOCKS}))": None,  # there are eight
    f"query_color(unique({of('green')}))": None,  # there is none
    f"count(filter_height({BLOCKS},1))": 5,
    f"count(filter_shape(relate(unique({of('yellow')}),west),block))": 7,
    f"count(filter_shape(relate({TOWER},south),block))": 4,
    f"count(filter_shape(relate({TOWER},front),block))": 4,  # the builder looks north
    f"count(filter_shape(relate({TOWER},behind),block))": 0,
    f"count(filter_shape(relate({of('blue')},above),block))": 3,  # two of the tower itself, and the red one
    f"count(filter_shape(relate({of('red')},next_to),block))": 3,
    f"count(union({of('red')},{of('blue')}))": 7,
    f"count(intersect({of('red')},filter_height({BLOCKS},1)))": 3,
    "count(filter_shape(same_color(unique(filter_color(filter_shape(scene(),row),red))),block))": 1,  # its own not
    f"count(filter_shape(same_height({TOWER}),row))": 0,
    "count(filter_shape(same_size(unique(filter_shape(scene(),row))),tower))": 1,
    "count(same_shape(unique(filter_shape(scene(),row))))": 0,
    f"equal_integer(count({of('red')}),4)": True,
    f"greater_than(count({of('red')}),count({of('blue')}))": True,
    f"less_than(count({of('red')}),count({of('blue')}))": False,
    f"equal_color(query_color({TOWER}),blue)": True,
    f"equal_shape(query_shape({TOWER}),row)": False,
    "query_color(unique(filter_shape(filter_size(scene(),4),group)))": "mixed",
    f"exist(intersect(unique({of('yellow')}),relate({TOWER},east)))": True,
}


CODES = {
    name: code for code, name in enumerate(("mixed", "blue", "yellow", "green", "orange", "purple", "red"))
}
CODES |= {name: code for code, name in enumerate(SHAPE_NAMES, start=1)}


@pytest.mark.parametrize(("text", "expected"), ANSWERS.items())
def test_answers_worked_out_by_hand(text: str, expected: object) -> None:
    found = answer(text, WORLD)
    assert found == expected
    assert type(found) is type(expected)
    assert witness.evaluate(Program.parse(text), WORLD) == expected
    batch = Programs([text]).ask_each(WORLD[None], 0)
    number = CODES[expected] if isinstance(expected, str) else int(expected or 0)  # type: ignore[call-overload]
    assert (batch.answered.tolist(), batch.values.tolist()) == ([expected is not None], [number])


def test_every_function_is_worked_out_by_hand() -> None:
    used = {part.function for text in ANSWERS for part in Program.parse(text).walk()}
    assert used == set(FUNCTIONS)


def test_the_builders_frame() -> None:
    text = f"count(filter_shape(relate({TOWER},left),block))"
    assert [answer(text, Scene(WORLD, yaw)) for yaw in (0, 90, 180, 270)] == [1, 0, 2, 4]


def test_things_as_answers_and_every_intermediate_output() -> None:
    trace: list[ProgramStep] = []
    found = answer(f"relate({TOWER},on)", WORLD, trace)
    assert [str(thing) for thing in found] == ["red block at (0, 2, -2)"]
    assert [step.program.function for step in trace] == [
        *("scene", "filter_shape", "filter_color", "unique", "relate"),
    ]
    assert [len(step.value) for step in trace[:3]] == [len(Scene(WORLD)), 2, 1]
    assert trace[3].value.shape == "tower"
    assert trace[4].value == found
    stopped: list[ProgramStep] = []
    assert answer(f"query_color(unique({of('green')}))", WORLD, stopped) is None
    assert [step.program.function for step in stopped] == ["scene", "filter_shape", "filter_color"]


# -------------------------------------------------------------------------------------------------------- types

_SHAPES = {
    Type.THINGS: "scene()",
    Type.THING: "unique(scene())",
    Type.INTEGER: "3",
    Type.COLOR: "red",
    Type.SHAPE: "row",
    Type.BOOLEAN: "exist(scene())",
}
_VALUES = {
    "color": "red",
    "shape": "row",
    "size": "3",
    "height": "2",
    "relation": "on",
    "number": "4",
    "extreme": "up",
}


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.inputs])
def test_every_function_takes_its_kinds_and_no_others(name: str) -> None:
    signature = FUNCTIONS[name]
    value = [] if signature.value is None else [_VALUES[signature.value]]
    right = [_SHAPES[kind] for kind in signature.inputs]
    assert Program.parse(f"{name}({','.join(right + value)})").kind is signature.output
    for place, wanted in enumerate(signature.inputs):
        for kind, text in _SHAPES.items():
            if kind is wanted or (kind is Type.THING and wanted is Type.THINGS):
                continue
            inputs = [Program.parse(part) for part in right]
            inputs[place] = Program.parse(text)
            with pytest.raises(LanguageError, match=f"input {place + 1} of {name} is"):
                Program(name, tuple(inputs), 3 if value in (["3"], ["2"]) else (value or [None])[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found 'the end' at character 0, expected a function"),
        ("count(scene()", r"expected '\)'"),
        ("union(scene())", "expected ',' and 2 arguments"),
        ("count", r"expected '\('"),
        (
            "teapot(scene())",
            "found 'teapot.* at character 0, expected a function, one of scene, filter_color",
        ),
        ("filter_color(scene(),pink)", "carries the color 'pink', expected one of blue, yellow"),
        ("filter_height(scene(),10)", "the height 10, expected an integer in 1..9"),
        ("filter_height(scene(),top)", "the height 'top'"),
        ("filter_size(scene(),0)", "the size 0, expected"),
        ("filter_size(scene(),٣)", "found '٣"),
        ("relate(unique(scene()),near)", "the relation 'near', expected one of north"),
        ("exist(count(scene()))", "input 1 of exist is count, which gives an integer; expected things"),
        ("query_color(scene())", "which gives things; expected a thing"),
        ("equal_color(red,3)", "unknown function|found '3|the color '3'"),
        ("exist(scene()) or", "expected the end"),
        ("count(" * 300, "deep|functions"),
    ],
)
def test_wrong_texts_say_what_is_wrong_and_where(text: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        Program.parse(text)


def test_wrong_values_and_sizes() -> None:
    for value in (True, 2.0, None, "2"):
        with pytest.raises(LanguageError, match="carries the height"):
            Program("filter_height", (Program("scene"),), value)  # type: ignore[arg-type]
    with pytest.raises(LanguageError, match="carries the value 3, expected none"):
        Program("count", (Program("scene"),), 3)
    with pytest.raises(LanguageError, match="expected a Program"):
        Program("count", ("scene",))  # type: ignore[arg-type]
    deep, wide = Program("scene"), Program("scene")
    for _ in range(MAX_DEPTH - 1):
        deep = Program("filter_color", (deep,), "red")
    with pytest.raises(LanguageError, match=f"61 deep; expected 250 and {MAX_DEPTH}"):
        Program("count", (deep,))
    for _ in range(6):
        wide = Program("union", (wide, wide))
    with pytest.raises(LanguageError, match="the program has 255 functions"):
        Program("union", (wide, wide))


def _programs() -> st.SearchStrategy[Program]:
    leaf = st.just(Program("scene"))

    def more(inner: st.SearchStrategy[Program]) -> st.SearchStrategy[Program]:
        def valued(name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Program]:
            return st.builds(lambda things, value: Program(name, (things,), value), inner, values)

        relations, small = st.sampled_from(RELATIONS), st.integers(1, 3)
        return st.one_of(
            valued("filter_color", st.sampled_from(["red", "blue", "green"])),
            valued("filter_shape", st.sampled_from(SHAPE_NAMES)),
            valued("filter_size", st.integers(1, 4)),
            valued("filter_height", small),
            valued("filter_level", small),
            valued("filter_whole", st.none()),
            valued("relate", relations),
            st.builds(
                lambda p, n, way: Program("filter_extreme", (p, Program("number", (), n)), way),
                *(inner, small, st.sampled_from(EXTREMES)),
            ),
            st.builds(lambda p, q, way: Program("nearest", (p, q), way), inner, inner, relations),
            st.builds(
                lambda p, name: Program(name, (Program("unique", (p,)),)),
                *(inner, st.sampled_from(["same_color", "same_size"])),
            ),
            st.builds(
                lambda p, q, name: Program(name, (p, q)),
                *(inner, inner, st.sampled_from(["union", "intersect"])),
            ),
        )

    def end(things: Program, name: str) -> Program:
        if name.startswith("query"):
            return Program(name, (Program("unique", (things,)),))
        return Program(name, (things,))

    things = st.recursive(leaf, more, max_leaves=6)
    return st.builds(
        end, things, st.sampled_from(["count", "exist", "query_color", "query_size", "query_shape"])
    )


@settings(max_examples=80, deadline=None)
@given(_programs())
def test_text_comes_back(program: Program) -> None:
    assert Program.parse(program.text) == Program.of(program.text) == Program.of(program) == program
    assert len(list(program.walk())) == program.nodes == len(program.code)


@settings(max_examples=80, deadline=None)
@given(_programs(), st.integers(0, 10**6), st.floats(0, 360))
def test_any_program_answers_as_the_definitions_say(program: Program, seed: int, yaw: float) -> None:
    grid = random_world(np.random.default_rng(seed), 4)
    scene = Scene(grid, yaw)
    expected = witness.evaluate(program, grid, yaw)
    trace: list[ProgramStep] = []
    assert answer(program, scene) == expected
    assert answer(program, scene, trace) == expected
    (batched,) = Programs([program]).ask_each(grid[None], 0, yaw).answered
    assert batched == (expected is not None)
    for step in trace:
        if step.program.kind is Type.THINGS:
            parts = witness.evaluate(step.program, grid, yaw)
            assert witness.agrees(parts, step.value)
            assert len(step.value) == len(parts)


def test_programs_are_values() -> None:
    text = f"exist(relate({TOWER},on))"
    program = Program.parse(text)
    for twin in (Program.parse(text), copy.deepcopy(program), pickle.loads(pickle.dumps(program))):
        assert twin == program
        assert hash(twin) == hash(program)
    assert program != Program.parse(f"exist(relate({TOWER},above))")
    assert repr(program) == f"Program.parse({text!r})"
    with pytest.raises(AttributeError):
        program.value = 3  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------------ batches


def _grids(n: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([random_world(rng) for _ in range(n)])


def test_worlds_of_a_batch_are_read_in_place() -> None:
    worlds = Worlds(5)
    worlds.grid[3] = WORLD
    holds = Programs([f"exist({of('yellow')})"]).ask_all(worlds.grid, worlds.pose[:, 3]).holds
    assert holds[:, 0].tolist() == [False, False, False, True, False]


def test_wrong_batches_are_refused() -> None:
    programs = Programs([f"count({BLOCKS})"])
    grids = _grids(2)
    for wrong in (grids[0], grids.astype(float), grids[:, :3]):
        with pytest.raises(GridError, match="grids are"):
            programs.ask_all(wrong)
    with pytest.raises(GridError, match="yaw_deg"):
        programs.ask_all(grids, [0.0, float("nan")])
    with pytest.raises(GridError, match="yaw_deg"):
        programs.ask_all(grids, [0.0, 1.0, 2.0])
    for which in (1, -1, [0, 0, 0], 0.5):
        with pytest.raises(LanguageError, match="which is"):
            programs.ask_each(grids, which)
    with pytest.raises(LanguageError, match="gives things"):
        Programs(["scene()"])
    with pytest.raises(LanguageError, match="at least one"):
        Programs([])
