"""List of everything that can be said: every rule of the grammar with a generated example."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice, product

from iglu_marl.language.grammar.engine import (
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
from iglu_marl.language.grammar.reader import grammar, nouns_of, tokens
from iglu_marl.language.grammar.templates import templates

_WORDS = {name: tuple(texts) for name, texts in templates()["examples"]["without_rules"].items()}
_PLAIN = {name: tuple(texts) for name, texts in templates()["examples"]["with_rules"].items()}
_NAMES = frozenset(("mast", "leg"))
_PLACES = 23  # of which some are examples of requests
_PLACING = ("At ", "Between ", "Next ", "North", "On ", "To your ")  # how these begin
_CHOICES = 24  # examples tried per rule
_KEPT = 4  # examples of a category in other rules


@dataclass(frozen=True)
class Construction:
    """A rule of the grammar.

    Args:
        category: what it makes, such as "clause", "ref" (a reference) or "where" (a place).
        pattern: as in the grammar file, with <categories>, {word lists}, (one|other||only read) and [optional parts].
        said: whether agents say it too.
        card: whether its example is usual English, for a help card.

    """

    category: str
    pattern: str
    said: bool
    card: bool
    _rule: Rule = field(repr=False, compare=False)

    @cached_property
    def example(self) -> str:
        """Words that it reads; "" if they depend on other rules. A first use costs about 2 ms."""
        rules = grammar()
        return next(_readable(rules, rules.categories[self.category], self._rule, _examples()), "")


@lru_cache(maxsize=1)
def constructions() -> tuple[Construction, ...]:
    """Return all rules for instructions, answers and questions."""
    return tuple(
        Construction(category.name, rule.pattern_text, rule.said, rule.when != ("unless", "card"), rule)
        for category in grammar().categories.values()
        if category.name not in _WORDS
        for rule in category.rules
    )


def example_sentences(*categories: str, said: bool = False) -> tuple[str, ...]:
    """Return the examples of the categories' rules that are usual English. said: only those that agents say."""
    rules = (one for one in constructions() if one.card and one.said >= said and one.category in categories)
    examples = (one.example for one in rules)
    return tuple(dict.fromkeys(f"{text[0].upper()}{text[1:]}." for text in examples if text))


@lru_cache(maxsize=1)
def example_requests() -> tuple[str, ...]:
    """Return requests to a builder: what agents say, and a block at the first places of the grammar."""
    places = (
        text[:-1] for text in example_sentences("explicit_where")[:_PLACES] if text.startswith(_PLACING)
    )
    first, *others = (f"Place a red block {text.lower()}." for text in ("in the middle", *places))
    return tuple(dict.fromkeys((first, *example_sentences("put", "clause", "change", said=True), *others)))


@lru_cache(maxsize=1)
def word_lists() -> dict[str, tuple[str, ...]]:
    """Return the phrases of each word list."""
    return {name: tuple(dict.fromkeys(phrases)) for name, phrases in grammar().lists.items()}


@lru_cache(maxsize=1)
def _examples() -> dict[str, tuple[str, ...]]:
    """Return a few texts per category, starting with the rules that need the fewest others."""
    rules = grammar()
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
    """Return the texts of a rule that its category reads, texts with optional parts first."""
    for full in (False, True):
        for text in islice(_texts(rule.pattern, examples, full), _CHOICES):
            said = tokens(text)
            parser = Parser(rules, said, nouns_of(said, _NAMES))
            if said and any(end == len(said) for _, end, _ in parser.read(category.name)):
                yield text


def _texts(node: Node, examples: dict[str, tuple[str, ...]], full: bool) -> Iterator[str]:
    """Return the texts of a pattern; full: with its optional parts."""
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
        for parts in sorted(
            combined, key=lambda parts: len(parts) - len(set(parts))
        ):  # different parts first
            yield " ".join(part for part in parts if part)
