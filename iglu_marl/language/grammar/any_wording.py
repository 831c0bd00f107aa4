"""Wordings by all rules of a grammar, for values that no rule which is said words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from typing import Any

from iglu_marl.language.grammar import inverses
from iglu_marl.language.grammar.engine import NAMES, NUMBER, CategorySlot, Choice, Node, slots_of
from iglu_marl.language.grammar.expressions import Definition, Inverse, Slots
from iglu_marl.language.grammar.makers import OF_BLOCKS
from iglu_marl.language.grammar.modifiers import Modifiers
from iglu_marl.language.grammar.speaker import Speaker, Wording, plainest
from iglu_marl.language.meaning.placing import BlockSpec, Sides
from iglu_marl.language.meaning.references import Anaphor, Between, Blocks, Each, Portion
from iglu_marl.language.meaning.shapes import Kind
from iglu_marl.language.meaning.verbs import PlaceGoal

Words = tuple[str, ...]
_PLAIN = Modifiers()
_UNFIT = (AttributeError, IndexError, KeyError, TypeError)
"""Errors of inverses that get a value of another type than their makers make."""


def altered(value: Any, **_: Any) -> Iterator[Slots]:
    """Yield the value before a change of one of its fields from its default, or of none."""
    yield {"whole": value}
    for name, default in ((one.name, one.default) for one in fields(value)):
        if default is not MISSING and getattr(value, name) != default:
            yield {"whole": replace(value, **{name: default}), name: getattr(value, name)}


def mods_more(value: Modifiers) -> Iterator[Slots]:
    """Yield the first modifier and the others."""
    first = Modifiers(value.where[:1], each=value.each) if value.where else None
    for name in () if first else (name for name, one in vars(value).items() if one != getattr(_PLAIN, name)):
        first = Modifiers(**{name: getattr(value, name)})
        break
    if first is not None:
        rest = {
            name: getattr(_PLAIN, name) for name, one in vars(first).items() if one != getattr(_PLAIN, name)
        }
        yield {"one": first, "more": replace(value, **rest | {"where": value.where[1:]})}


def mod_where(value: Modifiers) -> Iterator[Slots]:
    if len(value.where) == 1:
        yield {"where": Each(value.where[0]) if value.each else value.where[0]}


def _goal(goal: PlaceGoal) -> Iterator[Slots]:
    """Yield new blocks and modifiers that make a goal: what is not part of a noun is a modifier."""
    new = goal.new
    stated = {name: one for name in OF_BLOCKS if (one := getattr(new, name)) != getattr(BlockSpec, name)}
    plain = replace(new, **{name: getattr(BlockSpec, name) for name in stated})
    if stated.get("each") and not goal.where:
        return
    yield {"new": plain, "mods": Modifiers(goal.where, **stated)}
    if new.standing is not None:
        mods = Modifiers(goal.where, standing=new.standing, **stated)
        yield {"new": replace(plain, standing=None), "mods": mods}


def put(value: Any, stacked: bool = False) -> Iterator[Slots]:
    yield from inverses.put(value, stacked)
    if isinstance(value, PlaceGoal) and not value.fill:
        yield from _goal(value)


def between(value: Any) -> Iterator[Slots]:
    if isinstance(value, Between) and not value.line:
        yield {"one": value.one, "other": value.other}


def gap_in(value: Any) -> Iterator[Slots]:
    if isinstance(value, Between) and value.other is None and not value.line:
        yield {"of": value.one}
        if value.one == Portion(Anaphor(), "blocks"):
            yield {"of": Anaphor()}
        if isinstance(value.one, Blocks):
            yield {"of": replace(value.one, count=1, kind=Kind.STRUCTURE)}


def fill(value: Any) -> Iterator[Slots]:
    if isinstance(value, PlaceGoal) and value.fill and value.where:
        yield {"gap": value.where[0], "new": value.new, "mods": Modifiers(value.where[1:])}


def connect(value: Any) -> Iterator[Slots]:
    if isinstance(value, PlaceGoal) and value.fill and isinstance(place := value.where[0], Between):
        stated = {"new": value.new, "mods": Modifiers(value.where[1:])}
        yield {"one": place.one, "other": place.other, **stated}


def surround(value: Any) -> Iterator[Slots]:
    if isinstance(value, PlaceGoal) and isinstance(value.where[0], Sides):
        new = replace(value.new, each=False)
        yield {"of": value.where[0].of, "new": new, "mods": Modifiers(value.where[1:])}


def to_place(value: Any) -> Iterator[Slots]:
    if value is not None:
        yield {"f": Modifiers(value if isinstance(value, tuple) else (value,))}


def new_shape(value: Any) -> Iterator[Slots]:
    if isinstance(value, BlockSpec) and value.kind is not Kind.BLOCK:
        n = value.sizes[0] if value.sizes else None
        yield {
            "kind": value.kind,
            "n": n,
            "colors": value.color,
            "k": value.count if value.count != 1 else None,
        }


_INVERSES: dict[str, Inverse] = {
    "accept": lambda value: [{"value": value}],
    **{
        name: one
        for name, one in vars().items()
        if getattr(one, "__module__", "") == __name__ and name[0] != "_"
    },
}
"""Inverses of makers of rules that are only read; definitions need none."""


class AnyWording(Speaker):
    """Words values by a speaker, and else by the first rule that makes them, whether or not it is said."""

    def __init__(self, speaker: Speaker) -> None:
        makers = speaker.grammar.makers.items()
        defined = {name: self._inverse_of(one) for name, one in makers if isinstance(one, Definition)}
        self.speaker, self.grammar = speaker, speaker.grammar
        self.inverses = {**defined, **speaker.inverses, **_INVERSES}
        self._known: dict[tuple[str, Any], Wording | None] = {}

    def words(self, category: str, value: Any) -> Words | None:
        """Return a wording of a value of a category; None if no rule makes it."""
        self._known.clear()
        said = self._first(category, value)
        return None if said is None else tuple(plainest(said))

    def _first(self, category: str, value: Any) -> Wording | None:
        key = category, value
        if key not in self._known:
            self._known[key] = None  # while it is worded: no rule of a category for itself
            self._known[key] = next(self._candidates(category, value), None)
        return self._known[key]

    def _candidates(self, category: str, value: Any) -> Iterator[Wording]:
        """Yield the wordings of a value by each rule."""
        with suppress(*_UNFIT):
            if (said := self.speaker.wording(category, value)) is not None:
                yield said
        for rule in sorted(self.grammar.categories[category].rules, key=lambda rule: rule.cost):
            with suppress(*_UNFIT):
                for slots in [*self._slots(rule, value)]:
                    if (said := self._filled(rule.pattern, slots, frozenset())) is not None:
                        yield said

    def _inverse_of(self, one: Definition) -> Inverse:
        return lambda value, **_: one.arguments_for(value, self.inverses)

    def _filled(self, node: Node, slots: Mapping[str, Any], flags: frozenset[str]) -> Wording | None:
        if not isinstance(node, Choice):
            return super()._filled(node, slots, flags)
        stated = [any(one.name in slots for one in slots_of(option)) for option in node.options]
        if node.optional and not any(stated):
            return ""
        fitting = (one for one, needed in zip(node.options, stated, strict=True) if needed == any(stated))
        return next((said for one in fitting if (said := self._filled(one, slots, flags)) is not None), None)

    def _slot_filled(
        self, slot: CategorySlot, slots: Mapping[str, Any], flags: frozenset[str]
    ) -> Wording | None:
        if slot.name == "_":
            return self._first(slot.category, None)
        if slot.name not in slots:
            return None
        value = slots[slot.name]
        if slot.category == NUMBER:
            return str(value) if isinstance(value, int) else None
        if slot.category in NAMES:
            return str(value) + "s" * NAMES[slot.category][0]
        return self._first(slot.category, value) if slot.category in self.grammar.categories else None
