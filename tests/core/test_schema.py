"""Schemas of JSON documents: what fits, and how the first value that does not is named."""

from __future__ import annotations

import math
from typing import Any

import pytest

from iglu_marl import DataError
from iglu_marl.core.schema import (
    FLAG,
    MOST_WHOLE,
    Entries,
    Maybe,
    check,
    hexadecimal,
    number,
    one_of,
    some_text,
    text,
    whole,
)

FITS: list[tuple[Any, list[Any], list[Any]]] = [  # schema, values that fit, values that do not
    (whole(), [0, MOST_WHOLE], [-1, MOST_WHOLE + 1, 1.0, True, "1", None]),
    (whole(2, 3), [2, 3], [1, 4]),
    (number(), [0, 0.5, 1e300], [10**400, -1e-9, math.inf, math.nan, True, "0"]),
    (number(0, 1), [0, 1, 0.5], [1.0001, -0.0001]),
    (FLAG, [True, False], [0, 1, None, "true"]),
    (some_text(3), ["", "abc"], ["abcd", 3, None]),
    (text("a+", "some a"), ["a", "aa"], ["", "ab", "a\n", 1]),
    (hexadecimal(4), ["09af"], ["09AF", "09a", "09af0", "09ag"]),
    (one_of([3, "x"]), [3, "x"], [3.0, True, "3", None]),
    ([whole()], [[], [1, 2]], [[1, "x"], (1,), {}, None, 3]),
    ((whole(), FLAG), [[1, True]], [[1], [1, True, 2], [True, 1], {}]),
    ({"a": whole(), "b": FLAG}, [{"a": 1, "b": True}], [{"a": 1}, {"a": 1, "b": True, "c": 2}, [], None]),
    (Entries(some_text(2), whole()), [{}, {"ab": 1}], [{"abc": 1}, {"ab": "x"}, []]),
    (Maybe({"a": whole()}), [None, {"a": 1}], [{}, {"a": None}, 3]),
]


@pytest.mark.parametrize(("schema", "valid", "invalid"), FITS)
def test_a_schema_takes_what_it_says(schema: Any, valid: list[Any], invalid: list[Any]) -> None:
    for value in valid:
        check(schema, value)
    for value in invalid:
        with pytest.raises(DataError):
            check(schema, value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": [{"b": 1}, {"b": -1}], "c": None}, "a[1].b is -1, expected an integer of 0 or more"),
        ({"a": [], "c": {"x": {"y": 2}}}, "c.x.y is 2, expected a number in 0..1"),
        ({"a": [], "c": {"x": 3}}, "c.x is 3, expected an object"),
        ({"a": [{}], "c": None}, "a[0].b is missing, expected an integer of 0 or more"),
        ({"a": []}, "c is missing, expected an object, or null"),
        ({"a": [], "c": None, "d": 1}, "d is unknown, expected a, c"),
        ({"a": {}, "c": None}, "a is {}, expected a list"),
        ([], "the content is [], expected an object"),
    ],
)
def test_the_first_that_does_not_fit_is_named(value: Any, said: str) -> None:
    schema = {"a": [{"b": whole()}], "c": Maybe(Entries(some_text(9), {"y": number(0, 1)}))}
    with pytest.raises(DataError) as error:
        check(schema, value)
    assert str(error.value) == said
