"""Functional programs over a scene: typed, frozen values with a compact text form.

`exist(relate(unique(filter_color(filter_shape(scene(),tower),blue)),on))` asks whether something stands on the blue
tower. `Program.parse` reads that text, `str(program)` writes it, and `answer` (see `interpreter`) runs it on a scene.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import LanguageError
from iglu_marl.core.grid import COLOR_NAMES
from iglu_marl.language.scene import kernels

MAX_NODES = 250
MAX_DEPTH = 60
MAX_NUMBER = 9999
MAX_HEIGHT = 9

COLOR_WORDS = COLOR_NAMES[1:]
SHAPE_NAMES = (
    *("block", "row", "tower", "square", "group"),
    *("rectangle", "wall", "l", "t", "plus", "staircase", "diagonal", "u", "ring"),
)
RELATIONS = (
    *("north", "east", "south", "west"),
    *("behind", "right", "front", "left"),
    *("above", "below", "on", "next_to"),
)
DIRECTIONS = (*RELATIONS[:8], "up", "down")
EXTREMES = (*DIRECTIONS, "middle")


class Type(str, Enum):
    """Output type of a program. A thing can be used as things: a set of one."""

    THINGS = "things"
    THING = "thing"
    INTEGER = "integer"
    COLOR = "color"
    SHAPE = "shape"
    BOOLEAN = "boolean"

    __str__ = str.__str__


class Function(NamedTuple):
    """The signature of a function: inputs, value, output, and code."""

    inputs: tuple[Type, ...]
    value: str | None
    output: Type
    operation: int
    column: int = 0  # column of the table of things


_T, _U, _I, _C, _S, _B = Type
_K = kernels
FUNCTIONS: dict[str, Function] = {
    "scene": Function((), None, _T, _K.SCENE),
    "filter_color": Function((_T,), "color", _T, _K.FILTER, _K.COLOR),
    "filter_shape": Function((_T,), "shape", _T, _K.FILTER, _K.SHAPE),
    "filter_size": Function((_T,), "size", _T, _K.FILTER, _K.SIZE),
    "filter_height": Function((_T,), "height", _T, _K.FILTER, _K.HEIGHT),
    "filter_level": Function((_T,), "height", _T, _K.FILTER, _K.LEVEL),
    "filter_whole": Function((_T,), None, _T, _K.FILTER, _K.WHOLE),
    "filter_extreme": Function((_T, _I), "extreme", _T, _K.EXTREME),
    "relate": Function((_T,), "relation", _T, _K.RELATE),
    "nearest": Function((_T, _T), "relation", _T, _K.NEAREST),
    "same_color": Function((_U,), None, _T, _K.SAME, _K.COLOR),
    "same_shape": Function((_U,), None, _T, _K.SAME, _K.SHAPE),
    "same_size": Function((_U,), None, _T, _K.SAME, _K.SIZE),
    "same_height": Function((_U,), None, _T, _K.SAME, _K.HEIGHT),
    "same_level": Function((_U,), None, _T, _K.SAME, _K.LEVEL),
    "unique": Function((_T,), None, _U, _K.UNIQUE),
    "union": Function((_T, _T), None, _T, _K.UNION),
    "intersect": Function((_T, _T), None, _T, _K.INTERSECT),
    "count": Function((_T,), None, _I, _K.COUNT),
    "exist": Function((_T,), None, _B, _K.EXIST),
    "query_color": Function((_U,), None, _C, _K.QUERY, _K.COLOR),
    "query_shape": Function((_U,), None, _S, _K.QUERY, _K.SHAPE),
    "query_size": Function((_U,), None, _I, _K.QUERY, _K.SIZE),
    "query_height": Function((_U,), None, _I, _K.QUERY, _K.HEIGHT),
    "query_level": Function((_U,), None, _I, _K.QUERY, _K.LEVEL),
    "query_layers": Function((_U,), None, _I, _K.QUERY, _K.LAYERS),
    "equal_color": Function((_C, _C), None, _B, _K.EQUAL),
    "equal_shape": Function((_S, _S), None, _B, _K.EQUAL),
    "equal_integer": Function((_I, _I), None, _B, _K.EQUAL),
    "less_than": Function((_I, _I), None, _B, _K.LESS),
    "greater_than": Function((_I, _I), None, _B, _K.GREATER),
    "not": Function((_B,), None, _B, _K.NOT),
    "color": Function((), "color", _C, _K.CONSTANT),
    "shape": Function((), "shape", _S, _K.CONSTANT),
    "number": Function((), "number", _I, _K.CONSTANT),
}
"""Every function of the language, by name."""

_WORDS = {"color": COLOR_WORDS, "shape": SHAPE_NAMES, "relation": RELATIONS, "extreme": EXTREMES}
_LIMITS = {"size": (1, MAX_NUMBER), "height": (1, MAX_HEIGHT), "number": (0, MAX_NUMBER)}
_CODES: dict[str, dict[Any, int]] = {
    "color": {name: number for number, name in enumerate(COLOR_WORDS, start=1)},
    "shape": {name: number for number, name in enumerate(SHAPE_NAMES, start=kernels.BLOCK)},
    "relation": {name: number for number, name in enumerate(RELATIONS)},
    "extreme": {name: number for number, name in enumerate(EXTREMES)},
}
_TOKEN = re.compile(r"\s*(?:([a-z_]+)|([0-9]+)|([(),]))")
_MAKES_THINGS = (kernels.SCENE, kernels.RELATE, kernels.SAME)
_PASSES_THINGS = (kernels.FILTER, kernels.UNION, kernels.INTERSECT, kernels.EXTREME, kernels.NEAREST)
_AS_BLOCKS = tuple(name for name in RELATIONS if name not in ("above", "below"))
_ALL_SHAPES = sum(1 << number for number in _CODES["shape"].values())


def _check_value(function: str, wanted: str | None, value: Any) -> None:
    if wanted is None:
        if value is not None:
            raise LanguageError(f"{function} carries the value {value!r}, expected none")
    elif wanted in _WORDS:
        if not isinstance(value, str) or value not in _WORDS[wanted]:
            raise LanguageError(
                f"{function} carries the {wanted} {value!r}, expected one of {', '.join(_WORDS[wanted])}"
            )
    else:
        low, high = _LIMITS[wanted]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise LanguageError(
                f"{function} carries the {wanted} {value!r}, expected an integer in {low}..{high}"
            )


@dataclass(frozen=True, repr=False)
class Program:
    """One function applied to the outputs of others: `Program("count", (Program("scene"),))`.

    Equal and hashed by content.
    Raises `LanguageError` if a function or value is unknown, or the inputs are wrong in number or type.

    Args:
        function: a name in `FUNCTIONS`.
        inputs: programs whose outputs it takes.
        value: the colour, shape, relation, extreme, size, height or number of some functions.

    """

    function: str
    inputs: tuple[Program, ...] = ()
    value: str | int | None = None
    kind: Type = field(init=False, compare=False)  # output type
    nodes: int = field(init=False, compare=False)  # number of functions
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        signature = FUNCTIONS.get(self.function) if isinstance(self.function, str) else None
        if signature is None:
            raise LanguageError(f"unknown function {self.function!r}, expected one of {', '.join(FUNCTIONS)}")
        if not isinstance(self.inputs, tuple):
            object.__setattr__(self, "inputs", tuple(self.inputs))
        if len(self.inputs) != len(signature.inputs):
            raise LanguageError(
                f"{self.function} has {len(self.inputs)} inputs, expected {len(signature.inputs)}"
            )
        nodes, depth = 1, 0
        for number, (given, wanted) in enumerate(zip(self.inputs, signature.inputs, strict=True), start=1):
            if not isinstance(given, Program):
                raise LanguageError(f"input {number} of {self.function} is {given!r:.80}, expected a Program")
            kind = given.kind
            if kind is not wanted and not (kind is Type.THING and wanted is Type.THINGS):
                raise LanguageError(
                    f"input {number} of {self.function} is {given.function}, which gives {_a(kind)}; "
                    f"expected {_a(wanted)}"
                )
            nodes += given.nodes
            depth = max(depth, given.depth)
        _check_value(self.function, signature.value, self.value)
        if nodes > MAX_NODES or depth >= MAX_DEPTH:
            raise LanguageError(
                f"the program has {nodes} functions, {depth + 1} deep; expected {MAX_NODES} and {MAX_DEPTH} at most"
            )
        object.__setattr__(self, "kind", signature.output)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "depth", depth + 1)

    @classmethod
    def parse(cls, text: str) -> Program:
        """Return the program of a compact text; raises `LanguageError` with the position of the mistake."""
        return _Reader(text).program()

    @cached_property
    def text(self) -> str:
        """The compact text form, the inverse of `Program.parse`."""
        if self.operation == kernels.CONSTANT:
            return str(self.value)
        parts = [given.text for given in self.inputs]
        if self.value is not None:
            parts.append(str(self.value))
        return f"{self.function}({','.join(parts)})"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Program.parse({self.text!r})"

    @classmethod
    def of(cls, value: Any) -> Program:
        """Return a program from itself or its compact text."""
        return value if isinstance(value, cls) else cls.parse(value)

    @property
    def operation(self) -> int:
        """Code of its function in `kernels`."""
        return FUNCTIONS[self.function].operation

    def walk(self) -> Iterator[Program]:
        """Yield all functions, inputs before those that take them, in the order of `code`."""
        for given in self.inputs:
            yield from given.walk()
        yield self

    @cached_property
    def code(self) -> npt.NDArray[np.int16]:
        """Code for the kernel: int16 [nodes, 4], see `kernels.execute`."""
        rows: list[tuple[int, int, int, int]] = []

        def add(program: Program) -> int:
            inputs = [add(given) for given in program.inputs] + [0, 0]
            signature = FUNCTIONS[program.function]
            names = _CODES.get(signature.value or "")
            second, number = inputs[1], int(program.value or 0) if names is None else names[program.value]
            if signature.operation == kernels.FILTER:
                second = signature.column
                number = 1 if program.value is None else number  # of a column of truth
            elif signature.operation == kernels.RELATE:
                second = _ALL_SHAPES
            elif signature.operation in (kernels.QUERY, kernels.SAME):
                number = signature.column
            rows.append((signature.operation, inputs[0], second, number))
            return len(rows) - 1

        add(self)
        return np.array(rows, dtype=np.int16)

    @cached_property
    def shapes(self) -> int:
        """Shapes of the things that it can return, as bits `1 << shape code`."""
        if self.operation in (*_PASSES_THINGS, kernels.UNIQUE):
            first, second = self.inputs[0].shapes, self.inputs[-1].shapes
            if self.operation == kernels.UNION:
                return first | second
            if self.operation == kernels.INTERSECT:
                return first & second
            return first & (
                1 << _CODES["shape"][self.value] if self.function == "filter_shape" else _ALL_SHAPES
            )
        return _ALL_SHAPES

    @cached_property
    def wanted(self) -> int:
        """What can matter to the answer, for `kernels.find_things`; other things are not searched for."""
        return int(np.bitwise_or.reduce([0, *self.demands.values()]))

    @cached_property
    def demands(self) -> dict[Program, int]:
        """What matters of the things of each function, as `wanted`."""
        found: dict[Program, int] = {}

        def demand(program: Program, shapes: int, several: int) -> None:
            """several: 1 where things of several colours matter, 2 where it does which ones are whole."""
            operation = program.operation
            if operation in _MAKES_THINGS:
                more = kernels.SEVERAL if several and shapes & ~(1 << kernels.BLOCK) else 0
                found[program] = found.get(program, 0) | shapes | more
            if program.function == "filter_shape":
                shapes &= 1 << _CODES["shape"][program.value]
            several = {"filter_color": several & 2, "filter_whole": 2}.get(program.function, several)
            for number, given in enumerate(program.inputs):
                if operation == kernels.EXIST and given.function == "relate" and given.value in _AS_BLOCKS:
                    demand(given, 1 << kernels.BLOCK, 0)  # a thing in a relation has a block in it
                elif operation == kernels.INTERSECT:
                    demand(given, shapes & program.inputs[1 - number].shapes, several)
                elif operation in _PASSES_THINGS and not (operation == kernels.NEAREST and number):
                    demand(given, shapes, several)
                else:
                    demand(given, _ALL_SHAPES, 1)

        demand(self, _ALL_SHAPES, 1)
        return found

    @cached_property
    def narrow_code(self) -> npt.NDArray[np.int16]:
        """`code` that relates only things that matter to the answer."""
        code = self.code.copy()
        for row, part in zip(code, self.walk(), strict=True):
            if part.operation == kernels.RELATE:
                row[2] = self.demands[part]
        return code

    @cached_property
    def _hash(self) -> int:
        return hash((self.function, self.inputs, self.value))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Program, (self.function, self.inputs, self.value)  # the hash differs between processes


def _a(kind: Type) -> str:
    return {Type.THINGS: "things", Type.INTEGER: "an integer"}.get(kind, f"a {kind}")


class _Reader:
    def __init__(self, text: Any) -> None:
        if not isinstance(text, str):
            raise LanguageError(f"the program is {text!r:.80}, expected a text")
        self.text, self.at = text, 0

    def fail(self, expected: str, at: int) -> LanguageError:
        found = self.text[at : at + 20].strip() or "the end"
        return LanguageError(
            f"program {self.text!r:.80}: found {found!r} at character {at}, expected {expected}"
        )

    def token(self, expected: str) -> tuple[str, int]:
        """Return the next token and its position."""
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise self.fail(expected, self.at)
        self.at = match.end()
        return match[match.lastindex or 0], match.start(match.lastindex or 0)

    def program(self) -> Program:
        program = self.term(None, 0)
        if self.text[self.at :].strip():
            raise self.fail("the end", self.at)
        return program

    def term(self, wanted: Type | None, depth: int) -> Program:
        """Return a function with its arguments in brackets, or a constant of the expected type."""
        name, start = self.token("a function")
        if depth > MAX_DEPTH:
            raise LanguageError(f"program {self.text!r:.80} is more than {MAX_DEPTH} functions deep")
        constants = {Type.INTEGER: "number", Type.COLOR: "color", Type.SHAPE: "shape"}
        bracket = self.text[self.at :].lstrip().startswith("(")
        if not bracket and name[0].isdigit() and wanted in (None, Type.INTEGER):
            return Program("number", (), int(name[:6]))
        if not bracket and wanted is None and name in COLOR_WORDS + SHAPE_NAMES:
            return Program("color" if name in COLOR_WORDS else "shape", (), name)
        if not bracket and wanted in constants and name not in FUNCTIONS:
            return Program(constants[wanted], (), name)
        signature = FUNCTIONS.get(name)
        if signature is None:
            raise self.fail("a function, one of " + ", ".join(FUNCTIONS), start)
        if not bracket:
            raise self.fail("'('", self.at)
        return self.arguments(name, signature, depth)

    def arguments(self, name: str, signature: Function, depth: int) -> Program:
        """Return the arguments in the brackets of a function."""
        self.token("'('")
        inputs: list[Program] = []
        value: Any = None
        total = len(signature.inputs) + (signature.value is not None)
        for number in range(total):
            if number and self.token("','")[0] != ",":
                raise self.fail(f"',' and {total} arguments of {name}", self.at - 1)
            if number < len(signature.inputs):
                inputs.append(self.term(signature.inputs[number], depth + 1))
            else:
                value, start = self.token(f"the {signature.value} of {name}")
                if value in "(),":
                    raise self.fail(f"the {signature.value} of {name}", start)
                value = int(value[:6]) if value[0].isdigit() else value
        end, start = self.token("')'")
        if end != ")":
            raise self.fail(f"')' after {total} arguments of {name}", start)
        return Program(name, tuple(inputs), value)
