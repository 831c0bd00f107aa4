"""What can be said: every rule of the grammar with an example that is made from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

from iglu_marl.language.grammar.engine import (
    NUMBER,
    Category,
    CategorySlot,
    Choice,
    Comma,
    Grammar,
    Node,
    Parser,
    Rule,
    Word,
)
from iglu_marl.language.grammar.reader import grammar, tokens

_WORDS = {
    "number": ("three", "two"),
    "ordinal": ("second", "third"),
    "color": ("red", "blue", "green"),
    NUMBER: ("3", "2", "90"),
    "rest": ("the blocks",),
    "some": ("into a row",),
}
"""What stands for categories without rules."""
_PLAIN = {
    "np": ("the blue block", "the red row", "the red blocks"),
    "ref": ("the blue block", "the red row", "the red blocks", "it"),
    "core1": ("red block", "tower"),
    "coren": ("red blocks", "towers"),
    "plain1": ("red block", "tower"),
    "plainn": ("red blocks", "towers"),
    "tint": ("red", "blue", "green"),
    "told_where": ("on top of the green block", "in the middle"),
    "where": ("on top of the green block", "in the middle", "to the left of it"),
    "spot": ("the middle",),
    "steps": ("two north",),
    "ways": ("north and south", "top and bottom"),
    "new": ("a red block", "three red blocks"),
    "new_line": ("a red row of 3", "a row"),
    "mods": ("on top of the green block", "in the middle in a row", ""),
    "mod": ("on top of the green block", "in the middle"),
    "shape": ("a red row of 3 east",),
    "runs": ("red 2 blue",),
    "again_where": ("on top of the green block",),
}
"""What stands for the commonest categories in the rules of others: plainer than what their first rules make."""
_CHOICES = 24  # so many examples are tried for a rule
_KEPT = 4  # and so many of a category stand for it in others


@dataclass(frozen=True)
class Construction:
    """A rule of the grammar.

    category: what it makes, such as "clause", "ref" (a description) or "where" (a place). pattern: as the grammar file
    has it, with <categories>, {word lists}, (one|other||only read) and [what can be left out]. example: words that it
    reads; "" where they depend on others. said: whether agents say it too.
    """

    category: str
    pattern: str
    example: str
    said: bool


@lru_cache(maxsize=1)
def constructions() -> tuple[Construction, ...]:
    """All rules by which instructions, answers and questions are read and said."""
    rules = grammar()
    examples = _examples(rules)
    return tuple(
        Construction(
            category.name, rule.pattern_text, next(_readable(rules, category, rule, examples), ""), rule.said
        )
        for category in rules.categories.values()
        if category.name not in _WORDS
        for rule in category.rules
    )


@lru_cache(maxsize=1)
def word_lists() -> dict[str, tuple[str, ...]]:
    """The phrases of one meaning that patterns name in braces."""
    return {name: tuple(dict.fromkeys(phrases)) for name, phrases in grammar().lists.items()}


def _examples(rules: Grammar) -> dict[str, tuple[str, ...]]:
    """A few texts of each category: from the rules that need the fewest others on."""
    found: dict[str, tuple[str, ...]] = _WORDS | _PLAIN
    grown = True
    while grown:
        grown = False
        new: dict[str, tuple[str, ...]] = {}
        for name, category in rules.categories.items():
            if name not in found:
                texts = (
                    text
                    for rule in category.rules
                    for text in islice(_readable(rules, category, rule, found), 1)
                )
                new[name] = tuple(islice(texts, _KEPT))
        for name, made in new.items():
            if made:
                found[name], grown = made, True
    return found


def _readable(
    rules: Grammar, category: Category, rule: Rule, examples: dict[str, tuple[str, ...]]
) -> Iterator[str]:
    """The texts of a rule that its category reads: what stands first of all that it leaves open comes first."""
    for full in (False, True):
        for text in islice(_texts(rule.pattern, examples, full), _CHOICES):
            said = tokens(text)
            if said and any(end == len(said) for _, end, _ in Parser(rules, said).read(category.name)):
                yield text


def _texts(node: Node, examples: dict[str, tuple[str, ...]], full: bool) -> Iterator[str]:
    """What a pattern stands for; full: with what can be left out."""
    if isinstance(node, Word):
        yield node.text
    elif isinstance(node, Comma):
        yield ""
    elif isinstance(node, CategorySlot):
        yield from examples.get(node.category, ())
    elif isinstance(node, Choice):
        if node.optional and not full:
            yield ""
        else:
            yield from (text for option in node.options[:2] for text in _texts(option, examples, full))
    else:
        options = [[*islice(_texts(part, examples, full), _KEPT)] for part in node.parts]
        combined = islice(product(*options), 4 * _CHOICES)
        for parts in sorted(combined, key=lambda parts: len(parts) - len(set(parts))):  # not twice the same
            yield " ".join(part for part in parts if part)
