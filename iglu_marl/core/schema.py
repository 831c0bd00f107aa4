"""Tables of what a JSON document must hold, and a check against them.

A schema is one of:

| schema | value |
|---|---|
| `Field(test, expected)` | a value that passes the test |
| a dict | an object with exactly these keys |
| a list of one schema | a list of any number of such values |
| a tuple of schemas | a list with one value for each |
| `Entries(key, value)` | an object of any number of such keys and values |
| `Maybe(schema)` | null, or such a value |
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from iglu_marl.core.errors import DataError

MOST_WHOLE = 10**15  # JSON readers of other languages keep integers of this size


@dataclass(frozen=True)
class Field:
    """A single value. test: whether a value is valid. expected: what it says, for the message."""

    test: Callable[[Any], bool]
    expected: str


@dataclass(frozen=True)
class Entries:
    """An object with keys of its own. key: schema of a key. value: schema of a value."""

    key: Field
    value: Schema


@dataclass(frozen=True)
class Maybe:
    """Null, or a value of a schema."""

    schema: Schema


Schema = Field | Entries | Maybe | dict[str, Any] | list[Any] | tuple[Any, ...]


def whole(low: int = 0, high: int = MOST_WHOLE) -> Field:
    """Return the field of an integer."""
    span = f"in {low}..{high}" if high < MOST_WHOLE else f"of {low} or more"
    return Field(lambda value: type(value) is int and low <= value <= high, f"an integer {span}")


def number(low: float = 0, high: float = math.inf) -> Field:
    """Return the field of a finite number."""

    def is_valid(value: Any) -> bool:
        return type(value) in (int, float) and low <= value <= high and abs(value) <= sys.float_info.max

    return Field(
        is_valid, f"a number {f'in {low:g}..{high:g}' if high < math.inf else f'of {low:g} or more'}"
    )


def text(pattern: str, expected: str) -> Field:
    """Return the field of a text that matches a regular expression as a whole."""
    form = re.compile(pattern, re.DOTALL)
    return Field(lambda value: isinstance(value, str) and form.fullmatch(value) is not None, expected)


def some_text(most: int) -> Field:
    """Return the field of a text of at most this number of characters."""
    return Field(
        lambda value: isinstance(value, str) and len(value) <= most, f"a text of at most {most:,} characters"
    )


def hexadecimal(digits: int) -> Field:
    """Return the field of a hash in lower case."""
    return text(f"[0-9a-f]{{{digits}}}", f"{digits} hexadecimal digits")


def one_of(values: Iterable[Any]) -> Field:
    """Return the field of one of these values, of the same type."""
    known = tuple(values)
    return Field(
        lambda value: any(type(value) is type(other) and value == other for other in known),
        f"{'one of ' if len(known) > 1 else ''}{', '.join(map(str, known))}",
    )


FLAG = Field(lambda value: isinstance(value, bool), "true or false")


def check(schema: Any, value: Any, place: str = "") -> None:
    """Check a value against a schema.

    Args:
        schema: what is expected.
        value: a JSON value.
        place: where the value stands, such as "runs[0].seed"; "" for the whole document.

    Raises:
        DataError: for the first value that does not fit; names its place, the value, and what was expected.

    """
    if isinstance(schema, Maybe):
        if value is not None:
            check(schema.schema, value, place)
    elif isinstance(schema, Field):
        _expect(place, value, schema.test(value), schema.expected)
    elif isinstance(schema, list):
        _expect(place, value, isinstance(value, list), "a list")
        for at, part in enumerate(value):
            check(schema[0], part, f"{place}[{at}]")
    elif isinstance(schema, tuple):
        _expect(
            place, value, isinstance(value, list) and len(value) == len(schema), f"a list of {len(schema)}"
        )
        for at, (own, part) in enumerate(zip(schema, value, strict=True)):
            check(own, part, f"{place}[{at}]")
    else:
        _check_object(schema, value, place)


def _check_object(schema: Any, value: Any, place: str) -> None:
    _expect(place, value, isinstance(value, dict), "an object")
    start = f"{place}." if place else ""
    if isinstance(schema, Entries):
        for key, part in value.items():
            check(schema.key, key, f"a key of {place}")
            check(schema.value, part, start + key)
        return
    for key in value:
        if key not in schema:
            raise DataError(f"{start}{key!s:.60} is unknown, expected {', '.join(schema)}")
    for key, own in schema.items():
        if key not in value:
            raise DataError(f"{start}{key} is missing, expected {expected_of(own)}")
        check(own, value[key], start + key)


def expected_of(schema: Any) -> str:
    """Return in words what a schema asks for."""
    if isinstance(schema, Field):
        return schema.expected
    if isinstance(schema, Maybe):
        return f"{expected_of(schema.schema)}, or null"
    if isinstance(schema, dict):
        return f"an object of {', '.join(schema)}"
    return "an object" if isinstance(schema, Entries) else "a list"


def _expect(place: str, value: Any, is_valid: bool, expected: str) -> None:
    if not is_valid:
        raise DataError(f"{place or 'the content'} is {value!r:.60}, expected {expected}")
