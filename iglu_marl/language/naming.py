"""What a noun can mean that nobody has said before: "the mast", where nothing is called so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from iglu_marl.language.grammar.clauses import listed
from iglu_marl.language.grammar.reader import instruction_words
from iglu_marl.language.grammar.spelling import is_noun
from iglu_marl.language.references import Blocks, Resolution, boxes_of
from iglu_marl.language.regions import Item, connected
from iglu_marl.language.shapes import Box, Noun
from iglu_marl.language.verbs import Name, Sequence, rebuilt, walk

MAX_WAYS = 48
"""Maximum number of ways to understand the new nouns of a text."""


def new_nouns(instruction: Any, names: Set[str]) -> dict[str, Blocks]:
    """Return the references by nouns that name nothing yet, the first of each noun."""
    known = set(names)
    found: dict[str, Blocks] = {}
    for part in getattr(instruction, "parts", (instruction,)):
        for one in walk(part):
            word = one.kind.word if isinstance(one, Blocks) and isinstance(one.kind, Noun) else ""
            new = word and word not in known and not one.kind.cells
            if new and (is_noun(word) or word not in instruction_words()):
                found.setdefault(word, one)
        known |= {part.word} if isinstance(part, Name) else set()
    return found


def ways_to_mean(nouns: Mapping[str, Blocks], setting: Resolution) -> Iterator[dict[str, Item]]:
    """Yield what the nouns can mean; nothing if there are too many ways."""
    options = [_wholes(one, setting) or candidates(one, setting) for one in nouns.values()]
    for items in product(*options) if prod(map(len, options)) <= MAX_WAYS else ():
        if len(set(items)) == len(items):
            yield dict(zip(nouns, items, strict=True))


def taken_as(instruction: Any, meant: Mapping[str, Item]) -> Any:
    """Return the instruction in which nouns mean these cells."""

    def changed(value: Any) -> Any:
        known = isinstance(value, Noun) and value.word in meant and not value.cells
        return replace(value, cells=meant[value.word]) if known else value

    return rebuilt(instruction, changed)


def naming(instruction: Any, nouns: Mapping[str, Blocks], meant: Mapping[str, Item]) -> Any:
    """Return the instruction in which nouns mean these cells, which are called so from now on."""
    plural = {word: nouns[word].count != 1 for word in meant}
    named = [
        Name(word, Blocks(kind=Noun(word, cells), count=None), plural[word]) for word, cells in meant.items()
    ]
    return Sequence((*named, *getattr(instruction, "parts", (instruction,))))


def candidates(reference: Blocks, setting: Resolution) -> list[Item]:
    """Return what a noun can mean: something unlike all else; with a plural, all that are alike."""
    cells = [
        cell for cell, color in setting.blocks.items() if not reference.colors or color in reference.colors
    ]
    colors = sorted({setting.color_at(cell) for cell in cells})
    things = [
        item for color in colors for item in connected(c for c in cells if setting.color_at(c) == color)
    ]
    things = list(dict.fromkeys([*connected(cells), *things]))
    word = getattr(reference.kind, "word", "")
    if reference.count != 1:
        return _alike(things, reference.count, setting)
    parts = [box for item in things if len({*map(setting.color_at, item)}) == 1 for box in boxes_of(item)]
    things = list(dict.fromkeys([*things, *parts]))
    looks = Counter(_look(item, setting) for item in things)
    if not is_noun(word) or word in listed("part_noun"):  # the whole is no part
        things = [item for item in things if boxes_of(item) == [item]]
    return [item for item in things if looks[_look(item, setting)] == 1]


def _wholes(reference: Blocks, setting: Resolution) -> list[Item]:
    """Return what "the shed" can mean: what is connected, except single blocks, and lines if there is more."""
    plain = reference == Blocks(kind=reference.kind)
    if not plain or getattr(reference.kind, "word", "") not in listed("whole_noun"):
        return []
    things = [item for item in connected(setting.blocks) if len(item) > 1]
    return [item for item in things if sum(map(bool, Box.of(item).spans)) > 1] or things


def _alike(things: list[Item], count: int | None, setting: Resolution) -> list[Item]:
    """Return the cells of each group of several things that look alike."""
    groups: dict[Any, list[Item]] = {}
    for item in things:
        groups.setdefault(_look(item, setting), []).append(item)
    found = (group for group in groups.values() if len(group) > 1 and count in (None, len(group)))
    return [tuple(cell for item in group for cell in item) for group in found]


def _look(item: Item, setting: Resolution) -> tuple[Any, ...]:
    """Return colours, sizes and number of blocks of a thing."""
    x, y, z = Box.of(item).spans
    return tuple(sorted(map(setting.color_at, item))), y, *sorted((x, z))
