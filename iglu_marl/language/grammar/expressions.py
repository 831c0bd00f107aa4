"""Expressions behind "=>": how a rule makes its value from its slots, and which slots make a given value.

    => Remove                        a maker or dataclass, called with all slots by name
    => part(which=ends)              the same with a constant; a word that is nothing else is text
    => Each(Sides(of or it, ways))   slots that are named go where they stand, the others to the outer call
    => (n, *more)                    a tuple
    => NORTH                         a registered constant, a number or 'text'
    => accept(Level(n), n < 10)      conditions, attributes and arithmetic as in Python

A slot that is missing is left out of calls and tuples, and None in conditions; `a or b` is the first one that is there
and not None. Two slots with different values do not fit there.

No slot is dropped: an expression must use each of them. A test whether a slot is something else than a constant is no
use of it.
"""

from __future__ import annotations

import ast
import dis
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature
from inspect import signature as signature_of
from types import CodeType
from typing import Any

from iglu_marl.core.errors import LanguageError

Slots = Mapping[str, Any]
Inverse = Callable[..., Iterable[Slots]]
"""The arguments of a maker for a value that it is to make."""
_MISSING = object()


class Rejected(LanguageError):
    """The words of a reading do not fit together. Only used inside the parser."""


def require(fits: object) -> None:
    """Raise `Rejected` unless the words fit together."""
    if not fits:
        raise Rejected


def reject_if(unfit: object) -> None:
    """Raise `Rejected` if the words do not fit together."""
    if unfit:
        raise Rejected


def accept(value: Any, fits: object) -> Any:
    """Return the value; raise `Rejected` unless the words fit together."""
    require(fits)
    return value


@dataclass(frozen=True)
class SlotValue:
    """The value of a slot."""

    name: str


@dataclass(frozen=True)
class Constant:
    """A value without slots."""

    value: Any


@dataclass(frozen=True)
class FirstOf:
    """The first part that is not missing."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class TupleOf:
    """A tuple; the values of the last part are spread if `spread`."""

    parts: tuple[Expression, ...]
    spread: bool = False


@dataclass(frozen=True)
class Call:
    """A call of a maker or dataclass."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Expression]

    @property
    def constants(self) -> dict[str, Any]:
        """The arguments that are constants."""
        return {name: part.value for name, part in self.arguments.items() if isinstance(part, Constant)}


@dataclass(frozen=True)
class Operation:
    """A function of the values of its parts, with None for those that are missing."""

    function: Callable[..., Any]
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Conditional:
    """One of two parts, by a condition; only that part has a value."""

    condition: Expression
    then: Expression
    other: Expression


Expression = SlotValue | Constant | FirstOf | TupleOf | Call | Operation | Conditional
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
}


_COMPUTED = (ast.Compare, ast.Attribute, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Subscript)


def value_of(part: Expression, slots: Slots) -> Any:
    """Return the value for these slots; `_MISSING` if it depends on others.

    Raises `LanguageError` or `DialogueError` or `GridError` if a maker rejects them.
    """
    if isinstance(part, SlotValue):
        return slots.get(part.name, _MISSING)
    if isinstance(part, Constant):
        return part.value
    if isinstance(part, Call):
        given = ((name, value_of(one, slots)) for name, one in part.arguments.items())
        return part.function(**{name: value for name, value in given if value is not _MISSING})
    if isinstance(part, Conditional):
        return value_of(part.then if value_of(part.condition, slots) else part.other, slots)
    stated = [value_of(one, slots) for one in part.parts]
    if isinstance(part, Operation):
        return part.function(*(None if value is _MISSING else value for value in stated))
    stated = [value for value in stated if value is not _MISSING]
    if isinstance(part, FirstOf):
        named = [slots.get(one.name) for one in part.parts if isinstance(one, SlotValue)]
        distinct = {value for value in named if value is not None}
        reject_if(len(distinct) > 1)  # one of them would be dropped
        there = [value for value in stated if value is not None]
        return [*there, *stated, _MISSING][0]
    return (*stated[:-1], *stated[-1]) if part.spread else tuple(stated)


def slots_for(part: Expression, value: Any, inverses: Mapping[str, Inverse]) -> Iterator[dict[str, Any]]:
    """Yield candidates of slots for a value: of inverses of makers, or of the fields of dataclasses."""
    if isinstance(part, SlotValue):
        yield {part.name: value}
    elif isinstance(part, Constant):
        yield from [{}] if value == part.value else []
    elif isinstance(part, FirstOf):
        for option in part.parts:
            yield from slots_for(option, value, inverses)
    elif isinstance(part, Call):
        for stated in _arguments_for(part, value, inverses):
            given = {name: one for name, one in stated.items() if one is not None}
            if given.keys() <= part.arguments.keys():
                yield from _together([(part.arguments[name], one) for name, one in given.items()], inverses)
    elif isinstance(part, Conditional):
        yield from slots_for(part.then, value, inverses)
        yield from slots_for(part.other, value, inverses)
    elif isinstance(part, TupleOf) and isinstance(value, tuple):  # operations are only read
        ends = len(part.parts) - 1
        if part.spread and len(value) > ends:
            value = (*value[:ends], value[ends:])
        if len(value) <= len(part.parts) and (len(value) > ends or not part.spread):
            yield from _together([*zip(part.parts, value, strict=False)], inverses)


def _arguments_for(call: Call, value: Any, inverses: Mapping[str, Inverse]) -> Iterable[Slots]:
    if call.name in inverses:
        return inverses[call.name](value, **call.constants)
    if isinstance(call.function, type) and isinstance(value, call.function):
        return [{name: getattr(value, name) for name in call.arguments}]
    return ()


def _together(
    parts: list[tuple[Expression, Any]], inverses: Mapping[str, Inverse]
) -> Iterator[dict[str, Any]]:
    if not parts:
        yield {}
        return
    for slots in slots_for(*parts[0], inverses):
        for more in _together(parts[1:], inverses):
            yield slots | more


def makers_of(part: Expression | None) -> set[str]:
    """Return the names of the makers of an expression, without dataclasses."""
    if isinstance(part, Call):
        inside = {name for one in part.arguments.values() for name in makers_of(one)}
        return inside if isinstance(part.function, type) else {part.name, *inside}
    return {name for one in getattr(part, "parts", ()) for name in makers_of(one)}


_signature = cache(signature_of)


def _check(call: Call, certain: set[str]) -> None:
    """Raise an error if the arguments do not fit the parameters, or the maker does not use a slot."""
    parameters = _signature(call.function).parameters.values()
    names = {one.name for one in parameters}
    rest = next((one.name for one in parameters if one.kind is one.VAR_KEYWORD), "")
    loose = (SlotValue, FirstOf)
    always = {
        name
        for name, part in call.arguments.items()
        if not isinstance(part, loose) or value_of(part, dict.fromkeys(certain)) is not _MISSING
    }
    needed = {one.name for one in parameters if one.default is one.empty} - {rest}
    wrong = sorted((needed - always) | (set() if rest else call.arguments.keys() - names))
    if wrong:
        raise LanguageError(f"{', '.join(wrong)} of the maker and of the rule do not agree")
    used = _variables(call.function)
    slots = sorted(call.arguments.keys() - call.constants.keys())
    dropped = [name for name in slots if used and (name if name in names else rest) not in used]
    if dropped:
        raise LanguageError(f"the maker {call.name!r} drops {', '.join(dropped)}")


@cache
def _variables(function: Callable[..., Any]) -> frozenset[str]:
    """Return the variables that a function reads; none for a class or a definition."""
    found: set[str] = set()
    todo = [] if isinstance(function, (type, Definition)) else [function.__code__]
    while todo:
        code = todo.pop()
        for one in dis.get_instructions(code):
            if "LOAD_" in one.opname and one.opname.endswith(("FAST", "DEREF", "CLOSURE", "CHECK", "BORROW")):
                found.update(one.argval if isinstance(one.argval, tuple) else (one.argval,))
        todo += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(found)


def expression(text: str, slots: Sequence[str], certain: set[str], known: Mapping[str, Any]) -> Expression:
    """Return the expression in a text.

    Raises `LanguageError` if a name is unknown, a slot is not used, or arguments do not fit a call.

    Args:
        text: Python syntax, as in the head of this module.
        slots: names of slots.
        certain: those of them that are never missing.
        known: makers, dataclasses and constants by name.

    """
    builder = _Builder(slots, certain, known)
    try:
        made = builder.built(ast.parse(text, mode="eval").body, outer=True)
    except LanguageError:
        raise
    except (SyntaxError, ValueError, KeyError) as error:
        raise LanguageError(f"{text!r} is no expression: {error}") from None
    if builder.left:
        raise LanguageError(f"{', '.join(sorted(builder.left))} not used")
    return made


class _Builder:
    """Expressions of syntax trees. left: slots that no part uses so far."""

    def __init__(self, slots: Sequence[str], certain: set[str], known: Mapping[str, Any]) -> None:
        self.slots, self.certain, self.known, self.left = slots, certain, known, set(slots)

    def built(self, node: ast.expr, outer: bool = False, word: bool = False) -> Expression:
        if isinstance(node, ast.Name):
            return self.named(node.id, outer, word)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.call(node.func.id, node.args, node.keywords, outer)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return FirstOf(tuple(map(self.built, node.values)))
        if isinstance(node, ast.IfExp):
            return Conditional(self.built(node.test), self.built(node.body), self.built(node.orelse))
        if isinstance(node, ast.Tuple) and node.elts:
            last = node.elts[-1]
            spread = isinstance(last, ast.Starred)
            parts = [*node.elts[:-1], last.value if isinstance(last, ast.Starred) else last]
            return TupleOf(tuple(map(self.built, parts)), spread)
        if isinstance(node, _COMPUTED) and not isinstance(getattr(node, "operand", None), ast.Constant):
            return self.computed(node)
        return Constant(ast.literal_eval(node))

    def named(self, name: str, outer: bool, word: bool) -> Expression:
        """Return a slot, a constant, a maker of all slots, or a word as text."""
        if name in self.slots and not (outer and name in self.known):
            self.left.discard(name)
            return SlotValue(name)
        constant = name in self.known and not callable(self.known[name])
        if outer and not constant:
            return self.call(name, [], [])
        if not constant and not word:
            raise LanguageError(f"no constant {name!r}")
        return Constant(self.known[name] if constant else name)

    def computed(self, node: Any) -> Expression:
        if isinstance(node, ast.Attribute):
            return Operation(operator.attrgetter(node.attr), (self.built(node.value),))
        if isinstance(node, ast.Subscript):
            return Operation(operator.getitem, (self.built(node.value), self.built(node.slice)))
        if isinstance(node, ast.BinOp):
            return Operation(_OPERATORS[type(node.op)], (self.built(node.left), self.built(node.right)))
        if isinstance(node, ast.UnaryOp):
            return Operation(_OPERATORS[type(node.op)], (self.built(node.operand),))
        left = {*self.left}
        if isinstance(node, ast.BoolOp):  # a and b
            tests = [self.built(value) for value in node.values]
        else:
            parts = [self.built(one) for one in (node.left, *node.comparators)]
            pairs = zip(node.ops, parts, parts[1:], strict=False)
            tests = [Operation(_OPERATORS[type(one)], (left, right)) for one, left, right in pairs]
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and not self._compares(node):
            self.left = left
        *first, last = tests
        for test in reversed(first):
            last = Conditional(test, last, Constant(False))
        return last

    def _compares(self, node: ast.Compare) -> bool:
        """Return whether a comparison is more than "is something else than a constant"."""
        names = {one.id for other in node.comparators for one in ast.walk(other) if isinstance(one, ast.Name)}
        return not isinstance(node.ops[0], ast.NotEq) or not names.isdisjoint(self.slots)

    def call(
        self, name: str, args: list[ast.expr], keywords: list[ast.keyword], outer: bool = True
    ) -> Expression:
        if not callable(self.known.get(name)):
            raise LanguageError(f"no maker {name!r}")
        names = list(_signature(self.known[name]).parameters)
        if len(args) > len(names) or {key.arg for key in keywords} & {None, *names[: len(args)]}:
            raise LanguageError(f"{name!r} takes {', '.join(names)}, each once")
        stated = dict(zip(names, map(self.built, args), strict=False))
        stated |= {key.arg: self.built(key.value, word=outer) for key in keywords if key.arg}
        if outer:
            free = [slot for slot in self.slots if slot in self.left and slot not in stated]
            stated = {slot: SlotValue(slot) for slot in free} | stated
            self.left.difference_update(free)
        made = Call(name, self.known[name], stated)
        _check(made, self.certain)
        return made


class Definition:
    """A maker that is an expression: `name(one, other=None): expression`."""

    def __init__(self, text: str, known: Mapping[str, Any]) -> None:
        head, _, body = text.partition("):")
        (function,) = ast.parse(f"def {head}): ...").body
        assert isinstance(function, ast.FunctionDef)
        self.name, listed = function.name, function.args
        names = [one.arg for one in listed.args]
        given = [value_of(expression(ast.unparse(one), (), set(), known), {}) for one in listed.defaults]
        self.defaults = dict(zip(names[len(names) - len(given) :], given, strict=True))
        self.body = expression(body.strip(), names, {*names}, known)
        kind = Parameter.POSITIONAL_OR_KEYWORD
        parameters = [Parameter(one, kind, default=self.defaults.get(one, Parameter.empty)) for one in names]
        self.__signature__ = Signature(parameters)

    def __call__(self, **slots: Any) -> Any:
        """Return the value for these slots."""
        return value_of(self.body, self.defaults | slots)

    def arguments_for(self, value: Any, inverses: Mapping[str, Inverse]) -> Iterator[Slots]:
        """Yield candidates of arguments for a value, each also without those that are as by default."""
        for stated in slots_for(self.body, value, inverses):
            yield stated
            yield {name: one for name, one in stated.items() if one != self.defaults.get(name, _MISSING)}
