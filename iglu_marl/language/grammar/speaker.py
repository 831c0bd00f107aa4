"""Wordings of values by the rules of a grammar that are marked as said, so that all wordings can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from iglu_marl.core.errors import DialogueError, GridError, LanguageError
from iglu_marl.language.grammar.engine import (
    NUMBER,
    CategorySlot,
    Choice,
    Comma,
    Grammar,
    Node,
    Rule,
    Word,
    slots_of,
)
from iglu_marl.language.grammar.expressions import Inverse, makers_of, slots_for, value_of


class _Tree:
    """A tree of wordings, which is hashed once. Subclasses name `__hash__`, else dataclasses make another."""

    @cached_property
    def _hash(self) -> int:
        return hash((*self.__dict__.values(),))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class Together(_Tree):
    """Wordings in order."""

    parts: tuple[Wording, ...]

    __hash__ = _Tree.__hash__


@dataclass(frozen=True)
class OneOf(_Tree):
    """Alternative wordings, the preferred one first."""

    options: tuple[Wording, ...]

    __hash__ = _Tree.__hash__


Wording = str | Together | OneOf
"""All wordings of something: a word, a comma, the end of a sentence ("."), or a combination."""


class Speaker:
    """Says values by a grammar.

    inverses: maker name -> function of its value (and of the constants of the rule) that yields candidate arguments,
    with `None` for omitted ones. Dataclasses need none. Candidates whose maker returns another value are dropped.
    Raises `LanguageError` if a maker of a rule that is said has no inverse.
    """

    def __init__(self, grammar: Grammar, inverses: Mapping[str, Inverse]) -> None:
        self.grammar, self.inverses = grammar, inverses
        for category in grammar.categories.values():
            for rule in category.rules:
                for name in (
                    makers_of(rule.value) - inverses.keys() if rule.said and slots_of(rule.pattern) else ()
                ):
                    raise LanguageError(f"no inverse of {name!r} for the rule {rule.text!r}")
        self.wording = lru_cache(maxsize=1 << 15)(self._wording)

    def _wording(self, category: str, value: Any, flags: frozenset[str] = frozenset()) -> Wording | None:
        """Return all wordings of a value of a category under these flags; None = it cannot be said."""
        options = []
        for rule in self.grammar.categories[category].rules:
            if rule.is_said(flags):
                for slots in self._slots(rule, value):
                    said = self._filled(rule.pattern, slots, flags)
                    if said is not None:
                        options.append(said)
        return _one_of(options)

    def _slots(self, rule: Rule, value: Any) -> Iterator[Mapping[str, Any]]:
        """Return the slot values from which a rule makes a value."""
        names = [slot.name for slot in slots_of(rule.pattern)]
        if rule.value is None:
            if names or value is None:
                yield {names[-1]: value} if names else {}
            return
        for stated in slots_for(rule.value, value, self.inverses) if names else ({},):
            try:
                if stated.keys() <= set(names) and value_of(rule.value, stated) == value:
                    yield stated
            except (TypeError, DialogueError, GridError, LanguageError):
                continue  # a required slot is missing, or the maker rejects them

    def _filled(self, node: Node, slots: Mapping[str, Any], flags: frozenset[str]) -> Wording | None:
        """Fill the slots of a pattern; None if one of them cannot be said."""
        if isinstance(node, Word):
            return node.text
        if isinstance(node, Comma):
            return ","
        if isinstance(node, CategorySlot):
            return self._slot_filled(node, slots, flags)
        if isinstance(node, Choice):
            stated = [any(one.name in slots for one in slots_of(option)) for option in node.options]
            said = [
                self._filled(option, slots, flags)
                for option, needed in zip(node.options[: node.said], stated, strict=False)
                if needed == any(stated)
            ]
            if node.optional and not any(stated):
                said.append("")
            return _one_of([option for option in said if option is not None])
        parts = [self._filled(part, slots, flags) for part in node.parts]
        return None if None in parts else Together(tuple(part for part in parts if part))

    def _slot_filled(
        self, slot: CategorySlot, slots: Mapping[str, Any], flags: frozenset[str]
    ) -> Wording | None:
        if slot.name in slots and slot.category == NUMBER:
            return str(slots[slot.name])
        if slot.name not in slots or slot.category not in self.grammar.categories:
            return None
        return self.wording(slot.category, slots[slot.name], flags | {slot.flag} if slot.flag else flags)


def _one_of(options: list[Wording]) -> Wording | None:
    several = tuple(dict.fromkeys(options))
    return OneOf(several) if len(several) > 1 else several[0] if several else None


def plainest(wording: Wording) -> list[str]:
    """Return the words of the first options."""
    return _chosen(wording, lambda options: options[0])


def any_of(wording: Wording, rng: np.random.Generator) -> list[str]:
    """Return the words of random options."""
    return _chosen(wording, lambda options: options[int(rng.integers(len(options)))])


def _chosen(wording: Wording, choose: Callable[[tuple[Wording, ...]], Wording]) -> list[str]:
    while isinstance(wording, OneOf):
        wording = choose(wording.options)
    if isinstance(wording, str):
        return [wording] if wording else []
    return [word for part in wording.parts for word in _chosen(part, choose)]


def by_weight(wording: Wording, weight: Callable[[str], int]) -> dict[int, tuple[str, ...]]:
    """Yield the preferred words of each total weight, lightest first; options near the first ones win.

    weight: of a word, 0 or more.
    """

    @cache
    def found(of: Wording) -> dict[int, tuple[int, tuple[str, ...]]]:
        best: dict[int, tuple[int, tuple[str, ...]]] = {}

        def add(total: int, far: int, said: tuple[str, ...]) -> None:
            if total not in best or far < best[total][0]:
                best[total] = far, said

        if isinstance(of, str):
            add(weight(of) if of else 0, 0, (of,) if of else ())
        elif isinstance(of, OneOf):
            for number, option in enumerate(of.options):
                for total, (far, said) in found(option).items():
                    add(total, far + number, said)
        else:
            add(0, 0, ())
            for part in of.parts:
                before, best = best, {}
                for total, (far, said) in before.items():
                    for more, (further, then) in found(part).items():
                        add(total + more, far + further, said + then)
        return best

    return {total: said for total, (_, said) in sorted(found(wording).items())}


_VOWELS = "aeiou"
_LETTERS_AS_VOWELS = "aefhilmnorsx"  # "an L shape"


def spelled(words: Iterable[str], sentence: bool = True) -> str:
    """Write words: "an" before vowels, "1 block", capital letters.

    sentence: whether they begin a sentence.
    """
    text = ""
    before = "." if sentence else ""
    said = [*words]
    for number, word in enumerate(said):
        if word == "blocks" and before in ("1", "one"):
            word = "block"
        if word == "a" and number + 1 < len(said):
            after = said[number + 1]
            word = "an" if after[0] in (_VOWELS if len(after) > 1 else _LETTERS_AS_VOWELS) else "a"
        if len(word) == 1 and word.isalpha() and word != "a":
            word = word.upper()  # "an L shape", "I mean"
        if word == ",":
            after = said[number + 1] if number + 1 < len(said) else "."
            text += "" if after in (",", ".") else ","
            continue
        if word == ".":
            text += word
        else:
            start = word[0].upper() + word[1:] if before == "." else word
            text += f" {start}" if text else start
        before = word
    return text
