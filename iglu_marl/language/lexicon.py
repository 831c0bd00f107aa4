"""The words that are understood, and the base of the grammar: rules that give all readings at a position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from typing import Any

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import color_id
from iglu_marl.language.blocks import Reason
from iglu_marl.language.shapes import COMPASS, Direction
from iglu_marl.language.templates import ordinal_digits, templates, verb_templates, words

Ends = Iterator[int]
Readings = Iterator[tuple[Any, int]]


def rule(method: Callable[..., Readings]) -> Callable[..., list[tuple[Any, int]]]:
    """Remembers the readings of a rule at a position; none while it is being read there (no left recursion)."""
    name = method.__name__

    @wraps(method)
    def remembered(self: Words, at: int, clear: bool = False) -> list[tuple[Any, int]]:
        key = name, at, clear
        if key not in self.memory:
            self.memory[key] = []
            self.memory[key] = list(dict.fromkeys(method(self, at, clear) if clear else method(self, at)))
        return self.memory[key]

    return remembered


@lru_cache(maxsize=1)
def phrases() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Word lists by name: each a tuple of phrases, as tuples of words."""
    texts, known = verb_templates(), verb_templates()["understood"]
    lists: dict[str, list[str]] = {
        name: list(value) for name, value in known.items() if isinstance(value, list)
    }
    for direction in Direction:
        name = direction.value
        lists[f"relation {name}"] = [*texts["relations"][name], *texts["far_relations"].get(name, ())]
        lists[f"way {name}"] = list(texts["ways"][name])
        lists[f"extreme {name}"] = [*texts["extremes"][name], *known["extremes"].get(name, ())]
        lists[f"end {name}"] = [texts["ends"][name]]
        lists[f"extreme of {name}"] = known["extreme_of"].get(name, [])
    lists["relation up"] += known["up"]
    lists["relation down"] += known["down"]
    lists["relation front"] += known["in_front"]
    for way in (*COMPASS, Direction.LEFT, Direction.RIGHT):
        lists[f"relation {way.value}"] += [text.format(way=way.value) for text in known["beside_compass"]]
        lists[f"its side {way.value}"] = [text.format(way=way.value) for text in known["its_side"]]
    lists["far up"] = [*texts["far_relations"]["up"]]
    for kind, nouns in texts["nouns"].items():
        lists[f"one {kind}"] = [singular for singular, _ in nouns]
        lists[f"many {kind}"] = [plural for _, plural in nouns]
    lists["one block"] = [*lists["one block"]]
    for start, both in (("next_to", texts["next_to"]), ("in_place", texts["in_place"])):
        lists[start] = [text.replace("{of}", "") for text in both]
    return {name: tuple(dict.fromkeys(tuple(words(text)) for text in texts)) for name, texts in lists.items()}


@lru_cache(maxsize=1)
def _numbers() -> dict[str, int]:
    numbers = {word: number for number, word in enumerate(templates()["numbers"])}
    return numbers | {str(number): number for number in range(100)}


@lru_cache(maxsize=1)
def ordinals() -> dict[str, int]:
    """The numbers that ordinals tell, in words and in digits."""
    numbered = list(enumerate(templates()["ordinals"], start=1))
    return {word: n for n, word in numbered} | {ordinal_digits(n): n for n, _ in numbered}


class Words:
    """A list of known words that rules take apart.

    generous: also reads what people mostly mean by words that leave something open. `furthest` is the first word that
    no rule got past; `lacking` are the reasons for which texts that end too early failed.
    """

    def __init__(self, said: list[str], generous: bool = False) -> None:
        self.said = said
        self.generous = generous
        self.memory: dict[tuple[str, int, bool], list[tuple[Any, int]]] = {}
        self.furthest = 0
        self.lacking: list[Reason] = []

    def get(self, at: int) -> str:
        """The word at a position, "" past the end."""
        return self.said[at] if at < len(self.said) else ""

    def any(self, at: int, name: str) -> Ends:
        """Past any phrase of a list."""
        for phrase in phrases()[name]:
            if tuple(self.said[at : at + len(phrase)]) == phrase:
                self.furthest = max(self.furthest, at + len(phrase))
                yield at + len(phrase)

    def maybe(self, at: int, name: str) -> Ends:
        """Past any phrase of a list, and past nothing."""
        yield at
        yield from self.any(at, name)

    def word(self, at: int, *allowed: str) -> Ends:
        """Past one of some words."""
        if self.get(at) and self.get(at) in allowed:
            self.furthest = max(self.furthest, at + 1)
            yield at + 1

    def optional(self, at: int, *allowed: str) -> Ends:
        """Past one of some words, and past nothing."""
        yield at
        yield from self.word(at, *allowed)

    def lacks(self, reason: Reason, at: int) -> None:
        """Notes what a text would have to go on with, if it ends here."""
        if at >= len(self.said):
            self.lacking.append(reason)

    @rule
    def color(self, at: int) -> Readings:
        """`red`: the id."""
        if self.get(at) in templates()["colors"]:
            self.furthest = max(self.furthest, at + 1)
            yield color_id(self.get(at)), at + 1

    @rule
    def number(self, at: int) -> Readings:
        """`3`, `three`."""
        value = _numbers().get(self.get(at))
        if value is not None:
            self.furthest = max(self.furthest, at + 1)
            yield value, at + 1


def tried(make: Callable[..., Any], *arguments: Any) -> list[Any]:
    """[make(*arguments)], or [] when there is no such thing."""
    try:
        return [make(*arguments)]
    except DialogueError:
        return []
