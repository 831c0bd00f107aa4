"""A grammar as data: rules in a text file, and all readings of a list of words by them.

The file holds word lists and categories:

    list place: place, put, add                 phrases with one meaning
    color_word: ...                             a category; its rules follow, indented
      <color> {block}       => plain_block      a pattern, and the maker of its value
      (big|very large) [red] <n:number> ; cost 2

In a pattern stand words, `{list}`, `<category>` or `<name:category>`, `(one|other)` and `[optional]`. The maker is
called with the values of the slots by name; `=> 'text'` is a constant; without a maker the value is that of the only
slot. `cost` tells how far a reading is from the plainest: the readings of least cost are kept, and all of them, so
that two meanings are noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from typing import Any

from iglu_marl.core.errors import DialogueError, GridError, LanguageError

Read = tuple[Any, int, int]
"""A value, the position after it, and its cost."""
Slots = tuple[tuple[str, Any], ...]
Match = tuple[Slots, int, int]

MAX_READINGS = 48
"""So many readings of a category at a position are kept, those of least cost."""

_TOKEN = re.compile(r"\s*(<[\w:#]+>|\{\w+\}|[()\[\]|,]|[^\s<>{}()\[\]|,]+)")
_RULE = re.compile(
    r"^(?P<pattern>.*?)(?:\s*=>\s*(?P<maker>[\w']+)(?:\((?P<more>.*)\))?)?(?:\s*;\s*cost (?P<cost>\d+))?\s*$"
)
NUMBER, ORDINAL = "#", "#th"  # what digits begin with, in tables of first words


# ------------------------------------------------------------------------------------------------------ patterns


@dataclass
class Word:
    """One word."""

    text: str


@dataclass
class CategorySlot:
    """A value of a category, under a name."""

    name: str
    category: str


@dataclass
class Sequence:
    """One after the other."""

    parts: list[Node]


@dataclass
class Choice:
    """One of several; `optional`: or nothing. by_word: the options that can begin with a word."""

    options: list[Node]
    optional: bool = False
    by_word: dict[str, list[Node]] | None = None


Node = Word | CategorySlot | Sequence | Choice


@dataclass
class Rule:
    """One pattern of a category."""

    pattern: Node
    maker: Callable[..., Any] | None
    more: dict[str, Any]
    cost: int
    text: str

    @property
    def pattern_text(self) -> str:
        """The pattern as it was written."""
        match = _RULE.match(self.text)
        assert match is not None
        return match["pattern"]


@dataclass
class Category:
    """All rules of one name."""

    name: str
    rules: list[Rule] = field(default_factory=list)
    by_word: dict[str, list[Rule]] = field(default_factory=dict)


class _Pattern:
    """Reads the text of a pattern."""

    def __init__(self, text: str, lists: Mapping[str, list[str]]) -> None:
        self.tokens = _TOKEN.findall(text)
        self.lists, self.at, self.text = lists, 0, text

    def sequence(self, *ends: str) -> Node:
        parts: list[Node] = []
        while self.at < len(self.tokens) and self.tokens[self.at] not in ends:
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else Sequence(parts)

    def choice(self, end: str) -> list[Node]:
        options = [self.sequence("|", end)]
        while self.tokens[self.at] == "|":
            self.at += 1
            options.append(self.sequence("|", end))
        self.at += 1
        return options

    def one(self) -> Node:
        token = self.tokens[self.at]
        self.at += 1
        if token == "(":
            return Choice(self.choice(")"))
        if token == "[":
            return Choice(self.choice("]"), optional=True)
        if token[0] == "<":
            name, _, category = token[1:-1].rpartition(":")
            return CategorySlot(name or category, category)
        if token[0] == "{":
            phrases = self.lists.get(token[1:-1])
            if phrases is None:
                raise LanguageError(f"no word list {token} for the pattern {self.text!r}")
            return Choice([_phrase(phrase) for phrase in phrases])
        return Word(token)


def _phrase(text: str) -> Node:
    words = [Word(word) for word in text.split()]
    return words[0] if len(words) == 1 else Sequence([*words])


def _constant(text: str) -> Any:
    text = text.strip()
    return (
        int(text)
        if text.lstrip("-").isdigit()
        else {"True": True, "False": False, "None": None}.get(text, text)
    )


# ------------------------------------------------------------------------------------------------------- grammar


class Grammar:
    """Rules by category.

    text: the file. makers: functions by name; one that raises `DialogueError` or `GridError`, or gives `NOTHING`, says
    that the words do not fit together. lexicon: for categories that no rules stand for, all (words, value) of them;
    `<#>` is any number in digits. Raises `LanguageError` for a file with mistakes.
    """

    def __init__(
        self,
        text: str,
        makers: Mapping[str, Callable[..., Any]],
        lexicon: Mapping[str, Iterable[tuple[str, Any]]] = {},
    ) -> None:
        self.makers = makers
        self.lists: dict[str, list[str]] = {}
        self.categories: dict[str, Category] = {}
        for name, entries in lexicon.items():
            category = self.categories[name] = Category(name)
            for phrase, value in entries:
                category.rules.append(Rule(_phrase(phrase), lambda value=value: value, {}, 0, phrase))
        self._read_file(text)
        self._check()
        self._index()

    def _read_file(self, text: str) -> None:
        rules: list[tuple[str, str]] = []
        name = ""
        joined = re.sub(r"\s*\\\n\s*", " ", text)
        for line in joined.splitlines():
            told = line.split("# ")[0].rstrip() if not line.startswith("#") else ""
            if not told:
                continue
            if told.startswith("list "):
                key, _, phrases = told[5:].partition(":")
                self.lists.setdefault(key.strip(), []).extend(
                    phrase.strip() for phrase in phrases.split(",") if phrase.strip()
                )
            elif not told[0].isspace():
                name = told.rstrip(":").strip()
                self.categories.setdefault(name, Category(name))
            else:
                rules.append((name, told.strip()))
        for name, line in rules:
            self.categories[name].rules.append(self._rule(line))

    def _rule(self, line: str) -> Rule:
        match = _RULE.match(line)
        assert match is not None
        maker, more = match["maker"], match["more"]
        constants = dict(part.split("=") for part in more.split(",")) if more else {}
        made: Callable[..., Any] | None = None
        if maker is not None:
            value = _constant(maker.strip("'"))
            made = (lambda: value) if maker[0] == "'" or maker in ("True", "None") else self.makers.get(maker)
            if made is None:
                raise LanguageError(f"no maker {maker!r} for the rule {line!r}")
        return Rule(
            _Pattern(match["pattern"], self.lists).sequence(),
            made,
            {key.strip(): _constant(value) for key, value in constants.items()},
            int(match["cost"] or 0),
            line,
        )

    def _check(self) -> None:
        for category in self.categories.values():
            if not category.rules:
                raise LanguageError(f"no rules for the category {category.name!r}")
            patterns = [rule.pattern_text for rule in category.rules]
            twice = next((text for text in patterns if patterns.count(text) > 1), None)
            if twice is not None:
                raise LanguageError(f"two rules of {category.name!r} with the pattern {twice!r}")
            for rule in category.rules:
                for slot in _slots(rule.pattern):
                    if slot.category not in (NUMBER, "rest") and slot.category not in self.categories:
                        raise LanguageError(f"no category <{slot.category}> for the rule {rule.text!r}")
                if rule.maker is not None:
                    _check_maker(rule)

    # -- first words

    def _index(self) -> None:
        """Which rules and options can begin with which words; "" stands for those that can be empty."""
        first: dict[str, set[str]] = {name: set() for name in self.categories}
        grown = True
        while grown:
            grown = False
            for name, category in self.categories.items():
                found = set().union(*(_first(rule.pattern, first) for rule in category.rules), first[name])
                if found != first[name]:
                    first[name], grown = found, True
        for category in self.categories.values():
            for rule in category.rules:
                for word in _first(rule.pattern, first):
                    category.by_word.setdefault(word, []).append(rule)
                for choice in _choices(rule.pattern):
                    choice.by_word = {}
                    for option in choice.options:
                        for word in _first(option, first):
                            choice.by_word.setdefault(word, []).append(option)
        self.first = first

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of all rules."""
        found: set[str] = set()
        for category in self.categories.values():
            for rule in category.rules:
                found |= _words(rule.pattern)
        return frozenset(found - {NUMBER})


def _check_maker(rule: Rule) -> None:
    """Raises `LanguageError` where a maker does not take what its rule gives, or needs more."""
    assert rule.maker is not None
    parameters = signature(rule.maker).parameters.values()
    given = {slot.name for slot in _slots(rule.pattern)} | set(rule.more)
    always = _certain(rule.pattern) | set(rule.more)
    needed = {one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD}
    taken = (
        given if any(one.kind is one.VAR_KEYWORD for one in parameters) else {one.name for one in parameters}
    )
    wrong = sorted((needed - always) | (given - taken))
    if wrong:
        raise LanguageError(f"{', '.join(wrong)} of the maker and of the rule do not agree: {rule.text!r}")


def _certain(node: Node) -> set[str]:
    """The names of the slots that every match has."""
    if isinstance(node, CategorySlot):
        return {node.name}
    if isinstance(node, Choice):
        return set() if node.optional else set.intersection(*map(_certain, node.options))
    return set().union(*map(_certain, _parts(node)))


def _slots(node: Node) -> Iterator[CategorySlot]:
    if isinstance(node, CategorySlot):
        yield node
    for part in _parts(node):
        yield from _slots(part)


def _choices(node: Node) -> Iterator[Choice]:
    if isinstance(node, Choice):
        yield node
    for part in _parts(node):
        yield from _choices(part)


def _words(node: Node) -> set[str]:
    return {node.text} if isinstance(node, Word) else set().union(*map(_words, _parts(node)))


def _parts(node: Node) -> list[Node]:
    return node.parts if isinstance(node, Sequence) else node.options if isinstance(node, Choice) else []


def _first(node: Node, first: Mapping[str, set[str]]) -> set[str]:
    """The words that something can begin with; with "" among them when it can be empty."""
    if isinstance(node, Word):
        return {node.text}
    if isinstance(node, CategorySlot):
        return {node.category} if node.category in (NUMBER, "rest") else first[node.category]
    if isinstance(node, Choice):
        return set().union(
            *(_first(option, first) for option in node.options), {""} if node.optional else set()
        )
    found: set[str] = {""}
    for part in node.parts:
        found = (found - {""}) | _first(part, first)
        if "" not in found:
            break
    return found


# ------------------------------------------------------------------------------------------------------- reading


def is_number(word: str) -> bool:
    """Whether a word is a number in the digits 0 to 9."""
    return word.isascii() and word.isdigit()


class Parser:
    """All readings of some words. `furthest`: the first word that no rule got past."""

    def __init__(self, grammar: Grammar, said: list[str]) -> None:
        self.grammar, self.said = grammar, said
        self.memory: dict[tuple[str, int], list[Read]] = {}
        self.furthest = 0

    def read(self, category: str, at: int = 0) -> list[Read]:
        """The readings of a category from a position on, those of least cost first."""
        key = category, at
        known = self.memory.get(key)
        if known is not None:
            return known
        self.memory[key] = []  # none while it is being read here: no left recursion
        found: dict[tuple[Any, int], int] = {}
        for rule in self._possible(self.grammar.categories[category].by_word, at):
            for value, end, cost in self._apply(rule, at):
                if cost < found.get((value, end), 1 << 30):
                    found[value, end] = cost
        readings = sorted(
            ((value, end, cost) for (value, end), cost in found.items()), key=lambda read: read[2]
        )
        self.memory[key] = readings[:MAX_READINGS]
        return self.memory[key]

    def _possible(self, table: Mapping[str, list[Any]], at: int) -> list[Any]:
        """The rules or options that can begin here."""
        word = self.said[at] if at < len(self.said) else None
        found = [*table.get(word, ())] if word is not None else []
        if word is not None and is_number(word):
            found += table.get(NUMBER, ())
        if word is not None:
            found += table.get("rest", ())
        known = {id(entry) for entry in found}
        return found + [entry for entry in table.get("", ()) if id(entry) not in known]

    def _apply(self, rule: Rule, at: int) -> Iterator[Read]:
        for slots, end, cost in self._match(rule.pattern, at):
            if rule.maker is None:
                value = slots[-1][1] if slots else None
            else:
                try:
                    value = rule.maker(**dict(slots), **rule.more)
                except (DialogueError, GridError):
                    continue  # words that fit together to nothing that can be
                if value is NOTHING:
                    continue
            yield value, end, cost + rule.cost

    def _match(self, node: Node, at: int) -> Iterator[Match]:
        if isinstance(node, Word):
            if at < len(self.said) and self.said[at] == node.text:
                self.furthest = max(self.furthest, at + 1)
                yield (), at + 1, 0
        elif isinstance(node, CategorySlot):
            if node.category == "rest":
                end = at
                while end < len(self.said) and self.said[end] != ".":
                    end += 1
                if end > at:
                    yield ((node.name, tuple(self.said[at:end])),), end, 0
                return
            if node.category == NUMBER:
                if at < len(self.said) and is_number(self.said[at]):
                    self.furthest = max(self.furthest, at + 1)
                    yield ((node.name, int(self.said[at][:6])),), at + 1, 0
                return
            for value, end, cost in self.read(node.category, at):
                yield ((node.name, value),), end, cost
        elif isinstance(node, Choice):
            assert node.by_word is not None
            for option in self._possible(node.by_word, at):
                yield from self._match(option, at)
            if node.optional:
                yield (), at, 0
        else:
            yield from self._sequence(node.parts, 0, at)

    def _sequence(self, parts: list[Node], number: int, at: int) -> Iterator[Match]:
        if number == len(parts):
            yield (), at, 0
            return
        for slots, middle, cost in self._match(parts[number], at):
            for more, end, rest in self._sequence(parts, number + 1, middle):
                yield slots + more, end, cost + rest


class _Nothing:
    """What a maker gives when the words do not fit together."""


NOTHING = _Nothing()
