"""Wordings by all rules of a grammar, for values that no rule which is said words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from iglu_marl.language.grammar.engine import (
    NAMES,
    NUMBER,
    CategorySlot,
    Choice,
    Comma,
    Node,
    Rule,
    Sequence,
    Word,
    slots_of,
)
from iglu_marl.language.grammar.speaker import Speaker, plainest

Words = tuple[str, ...]


class AnyWording:
    """Words values by a speaker, and else by the first rule that makes them, whether or not it is said."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker
        self._known: dict[tuple[str, Any], Words | None] = {}

    def words(self, category: str, value: Any) -> Words | None:
        """Return a wording of a value of a category; None if no rule makes it."""
        key = category, value
        if key not in self._known:
            self._known[key] = None  # while it is worded: no rule of a category for itself
            self._known[key] = next(self.candidates(category, value), None)
        return self._known[key]

    def candidates(self, category: str, value: Any) -> Iterator[Words]:
        """Yield the wordings of a value by each rule."""
        said = self.speaker.wording(category, value)
        if said is not None:
            yield tuple(plainest(said))
        rules = self.speaker.grammar.categories[category].rules
        for rule in sorted(rules, key=lambda rule: rule.cost):
            for slots in self._slots(rule, value):
                words = self._filled(rule.pattern, slots)
                if words is not None:
                    yield words

    def _slots(self, rule: Rule, value: Any) -> list[Mapping[str, Any]]:
        """Return the slots from which a rule makes a value; [] if its makers take no such value."""
        try:
            return [*self.speaker._slots(rule, value)]
        except (AttributeError, IndexError, KeyError, TypeError):
            return []

    def _filled(self, node: Node, slots: Mapping[str, Any]) -> Words | None:
        """Return the first words of a pattern with these slots; None if one of them has no wording."""
        if isinstance(node, Word):
            return (node.text,)
        if isinstance(node, Comma):
            return ()
        if isinstance(node, CategorySlot):
            return self._slot(node, slots)
        if isinstance(node, Choice):
            stated = [any(one.name in slots for one in slots_of(option)) for option in node.options]
            if node.optional and not any(stated):
                return ()
            fitting = (one for one, needed in zip(node.options, stated, strict=True) if needed == any(stated))
            return next((words for one in fitting if (words := self._filled(one, slots)) is not None), None)
        assert isinstance(node, Sequence)
        found: Words = ()
        for part in node.parts:
            words = self._filled(part, slots)
            if words is None:
                return None
            found += words
        return found

    def _slot(self, slot: CategorySlot, slots: Mapping[str, Any]) -> Words | None:
        if slot.name == "_":
            return self.words(slot.category, None)
        if slot.name not in slots:
            return None
        value = slots[slot.name]
        if slot.category == NUMBER:
            return (str(value),) if isinstance(value, int) else None
        if slot.category in NAMES:
            return (value + "s" * NAMES[slot.category][0],)
        return self.words(slot.category, value) if slot.category in self.speaker.grammar.categories else None
