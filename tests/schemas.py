"""Every way to leave a field of a format out, or to give it another type, from its schema."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from iglu_marl.core.schema import Entries, Field, Maybe

Way = tuple[Any, ...]  # keys and places in lists; None: any key of an object with keys of its own
JUNK: tuple[Any, ...] = (None, True, -1, 3.5, "", "../x", [], [1, 2], {}, {"x": 1})


def places(schema: Any, way: Way = ()) -> Iterator[Way]:
    """Yield the way to every value of a format."""
    if way:
        yield way
    if isinstance(schema, Maybe):
        yield from (other for other in places(schema.schema, way) if other != way)
    elif isinstance(schema, Entries):
        yield from places(schema.value, (*way, None))
    elif isinstance(schema, dict):
        for key, part in schema.items():
            yield from places(part, (*way, key))
    elif isinstance(schema, (list, tuple)):
        for number, part in enumerate(schema):
            yield from places(part, (*way, number))
    else:
        assert isinstance(schema, Field)


def is_junk(value: Any, valid: Any) -> bool:
    """Whether a value is of another type than a valid one, or a negative number."""
    if isinstance(valid, bool) or not isinstance(valid, (int, float)):
        return type(value) is not type(valid)
    return isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0


def holder_of(content: Any, way: Way) -> tuple[Any, Any]:
    """Return the object or list that holds a value, and the value's key there."""
    for part in way[:-1]:
        content = content[next(iter(content)) if part is None else part]
    return content, next(iter(content)) if way[-1] is None else way[-1]


def broken(content: Any, way: Way) -> Iterator[Any]:
    """Yield copies of a content with other values in a place, and one without it unless it stands in a list."""
    for value in JUNK:
        changed = copy.deepcopy(content)
        holder, last = holder_of(changed, way)
        if is_junk(value, holder[last]):
            holder[last] = value
            yield changed
    if isinstance(way[-1], str):
        changed = copy.deepcopy(content)
        holder, last = holder_of(changed, way)
        del holder[last]
        yield changed
