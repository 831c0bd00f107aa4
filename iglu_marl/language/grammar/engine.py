"""A grammar as data: rules in a text file, and a parser that returns all readings of a list of words.

The file holds word lists and categories:

    list place: place, put || add, lay          phrases with one meaning
    define two(one, other=None): (one, other)   a maker that is an expression
    color_word: ...                             a category; its rules follow, indented
      <color> {block}       => plain_block      a pattern, and the maker of its value
      (big|very large) [red] <n:number> ; cost 2
      + (on|over||above) <of:ref!near> , it is ; unless far

A pattern consists of words, `{list}`, `<category>` or `<name:category>`, `(one|other)` and `[optional]`. expressions.py
describes what stands behind "=>"; it must use each slot. Without it, the value of the only slot is used. `<_:category>`
is for categories without values. `cost` ranks readings: the parser keeps all readings of least cost, so that ambiguity
is noticed.

All rules are read. Rules marked with `+` are also said (see speaker.py), in order of preference; of their choices and
lists, only the options before `||`. A comma is said but not read. `!flag` holds inside a slot, and `unless` and `only`
name the flags under which a rule is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

from iglu_marl.core.errors import DialogueError, GridError, LanguageError
from iglu_marl.language.grammar.expressions import (
    Constant,
    Definition,
    Expression,
    expression,
    value_of,
)

Read = tuple[Any, int, int]
"""A value, the position after it, and its cost."""
Slots = tuple[tuple[str, Any], ...]
Match = tuple[Slots, int, int]

MAX_READINGS = 48
"""Maximum number of readings of a category at a position; those of least cost are kept."""
MAX_DEPTH = 100
"""Maximum depth of nested categories. People need 28; Python's stack ends at about 200."""


class _TooDeep(Exception):
    """`MAX_DEPTH` is reached. Only used inside the parser."""


_TOKEN = re.compile(r"\s*(<[\w:#!]+>|\{\w+\}|\|\||[()\[\]|,]|[^\s<>{}()\[\]|,]+)")
_RULE = re.compile(
    r"^(?P<said>\+ )?(?P<pattern>.*?)(?:\s*=>\s*(?P<value>[^;]+?))?"
    r"(?:\s*;\s*cost (?P<cost>\d+))?(?:\s*;\s*(?P<when>unless|only) (?P<flag>\w+))?\s*$"
)
NUMBER = "#"  # key of numbers in tables of first words
NAMES = {"name": (False, True), "names": (True, True), "new_name": (False, False), "new_names": (True, False)}
"""Slots of nouns outside the grammar: whether they are plural, and whether they name something that exists."""
OPEN = (NUMBER, "rest", "some", *NAMES)
"""Slots without rules: digits, all words up to the end of the sentence, some of them, and nouns outside the grammar."""


@dataclass(eq=False)
class Word:
    """One word."""

    text: str


@dataclass(eq=False)
class Comma:
    """A comma, which is said but not read."""


@dataclass(eq=False)
class CategorySlot:
    """A named slot for a value of a category. flag: set inside the slot."""

    name: str
    category: str
    flag: str = ""


@dataclass(eq=False)
class Sequence:
    """Patterns in order."""

    parts: list[Node]


@dataclass(eq=False)
class Choice:
    """One of several options.

    optional: or nothing. said: number of options that are said. by_word: options by first word.
    """

    options: list[Node]
    optional: bool = False
    said: int = 0
    by_word: FirstWords | None = None

    @cached_property
    def spoken(self) -> frozenset[Node]:
        """The options that are said."""
        return frozenset(self.options[: self.said])


@dataclass(eq=False)
class FirstWords:
    """Rules or options by the word with which they can begin; each list is made when it is asked for.

    first: first words of categories.
    """

    entries: list[Any]
    first: Mapping[str, set[str]]
    _lists: dict[str, list[Any]] = field(default_factory=dict)

    @cached_property
    def _firsts(self) -> list[tuple[Any, set[str]]]:
        patterns = (one.pattern if isinstance(one, Rule) else one for one in self.entries)
        return [
            (one, _first(pattern, self.first)) for one, pattern in zip(self.entries, patterns, strict=True)
        ]

    @cached_property
    def _words(self) -> set[str]:
        return set().union(*(words for _, words in self._firsts))

    def possible(self, word: str) -> list[Any]:
        """Return what can begin with a word, cheapest first; "": at the end."""
        if (known := self._lists.get(word)) is not None:
            return known
        if word not in self._words:
            word = NUMBER if is_number(word) and NUMBER in self._words else word and "rest"
        if word not in self._lists:
            own = (word, NUMBER) if is_number(word) else (word,)
            keys = ("",) if not word else (*own, *OPEN[1:], "")
            found = (entry for key in keys for entry, words in self._firsts if key in words)
            self._lists[word] = list({id(entry): entry for entry in found}.values())
        return self._lists[word]


Node = Word | Comma | CategorySlot | Sequence | Choice


@dataclass
class Rule:
    """One pattern of a category.

    said: whether it is said too; when: under which flags.
    """

    pattern: Node
    value: Expression | None
    cost: int
    text: str
    said: bool = False
    when: tuple[str, str] | None = None

    @cached_property
    def required(self) -> list[frozenset[str]]:
        """Sets of words, of which every match has one each."""
        return _required(self.pattern)

    def is_said(self, flags: frozenset[str]) -> bool:
        """Return whether it is said under these flags."""
        return self.said and (self.when is None or (self.when[0] == "only") == (self.when[1] in flags))

    @property
    def pattern_text(self) -> str:
        """The pattern as written in the file."""
        match = _RULE.match(self.text)
        assert match is not None
        return match["pattern"]


@dataclass
class Category:
    """All rules of one name."""

    name: str
    rules: list[Rule] = field(default_factory=list)
    by_word: FirstWords | None = None


class Phrases(list[str]):
    """Phrases with one meaning. said: number of phrases, from the first, that are said; the others are only read."""

    said = 0

    @cached_property
    def choice(self) -> Choice:
        """The phrases as a pattern."""
        return Choice([_phrase(phrase) for phrase in self], said=self.said)

    def add(self, text: str) -> None:
        """Add the phrases of a line of the file."""
        before, divided, behind = text.partition("||")
        for part in (before, behind):
            self.extend(phrase for one in part.split(",") if (phrase := one.strip()))
            if part is before:
                self.said = len(self)
        if not divided:
            self.said = len(self)


class _Pattern:
    def __init__(self, text: str, lists: Mapping[str, Phrases]) -> None:
        self.tokens = _TOKEN.findall(text)
        self.lists, self.at, self.text = lists, 0, text

    def sequence(self, *ends: str) -> Node:
        parts: list[Node] = []
        while self.at < len(self.tokens) and self.tokens[self.at] not in ends:
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else Sequence(parts)

    def choice(self, end: str) -> Choice:
        options: list[Node] = []
        said = None
        while not options or self.tokens[self.at - 1] != end:
            options.append(self.sequence("|", "||", end))
            if self.tokens[self.at] == "||":
                said = len(options)
            self.at += 1
        if said is not None and isinstance(options[0], Sequence) and not options[0].parts:
            return Choice(options[1:], said=0)  # "[||red]"
        return Choice(options, said=len(options) if said is None else said)

    def one(self) -> Node:
        token = self.tokens[self.at]
        self.at += 1
        if token == "(":
            return self.choice(")")
        if token == "[":
            choice = self.choice("]")
            choice.optional = True
            return choice
        if token == ",":
            return Comma()
        if token[0] == "<":
            slot, _, flag = token[1:-1].partition("!")
            name, _, category = slot.rpartition(":")
            return CategorySlot(name or category, category, flag)
        if token[0] == "{":
            phrases = self.lists.get(token[1:-1])
            if phrases is None:
                raise LanguageError(f"no word list {token} for the pattern {self.text!r}")
            return phrases.choice
        return _word(token)


_word = cache(Word)  # rules share the nodes of words and of word lists


def _phrase(text: str) -> Node:
    words = [_word(word) for word in text.split()]
    return words[0] if len(words) == 1 else Sequence([*words])


class Grammar:
    """Rules by category.

    Raises `LanguageError` if the file has mistakes.

    Args:
        text: the file.
        makers: functions, dataclasses and constants by name. A maker that raises `DialogueError`, `GridError` or
            `LanguageError` rejects the reading.
        lexicon: (words, value) pairs of categories without rules; `<#>` is any number in digits.

    """

    def __init__(
        self, text: str, makers: Mapping[str, Any], lexicon: Mapping[str, Iterable[tuple[str, Any]]] = {}
    ) -> None:
        self.makers = dict(makers)
        self.lists: dict[str, Phrases] = {}
        self.categories: dict[str, Category] = {}
        self._read_file(text)
        for name, entries in lexicon.items():
            self._add_words(self.categories.setdefault(name, Category(name)), entries)
        self._check()
        self._index()

    @staticmethod
    def _add_words(category: Category, entries: Iterable[tuple[str, Any]]) -> None:
        known = set()
        for phrase, value in entries:
            first = value not in known  # the first phrase of a value is said
            known.add(value)
            category.rules.append(Rule(_phrase(phrase), Constant(value), 0, phrase, said=first))

    def _read_file(self, text: str) -> None:
        rules: list[tuple[str, str]] = []
        name = ""
        joined = re.sub(r"\s*\\\n\s*", " ", text)
        for line in joined.splitlines():
            stated = line.split("# ")[0].rstrip() if not line.startswith("#") else ""
            if not stated:
                continue
            if stated.startswith("define "):
                made = Definition(stated[7:], self.makers)
                self.makers[made.name] = made
            elif stated.startswith("list "):
                key, _, phrases = stated[5:].partition(":")
                if key in self.lists and key != [*self.lists][-1]:
                    raise LanguageError(f"a second list {key!r}, expected its phrases in one place")
                self.lists.setdefault(key, Phrases()).add(phrases)
            elif not stated[0].isspace():
                name = stated.rstrip(":").strip()
                self.categories.setdefault(name, Category(name))
            else:
                rules.append((name, stated.strip()))
        for name, line in rules:
            self.categories[name].rules.append(self._rule(line))

    def _rule(self, line: str) -> Rule:
        match = _RULE.match(line)
        assert match is not None
        pattern = _Pattern(match["pattern"], self.lists).sequence()
        slots = list(dict.fromkeys(slot.name for slot in slots_of(pattern) if slot.name != "_"))
        value = None
        if match["value"] is not None:
            try:
                value = expression(match["value"], slots, _certain(pattern), self.makers)
            except LanguageError as error:
                raise LanguageError(f"{error}, for the rule {line!r}") from None
        elif len(slots) > 1:
            raise LanguageError(
                f"{', '.join(sorted(slots))} need a maker, only one can be the value: {line!r}"
            )
        when = (match["when"], match["flag"]) if match["when"] else None
        return Rule(pattern, value, int(match["cost"] or 0), line, match["said"] is not None, when)

    def _check(self) -> None:
        valued = {name for name, category in self.categories.items() if any(map(_has_value, category.rules))}
        for category in self.categories.values():
            if not category.rules:
                raise LanguageError(f"no rules for the category {category.name!r}")
            patterns = [rule.pattern_text for rule in category.rules]
            twice = next((text for text in patterns if patterns.count(text) > 1), None)
            if twice is not None:
                raise LanguageError(f"two rules of {category.name!r} with the pattern {twice!r}")
            for rule in category.rules:
                for slot in slots_of(rule.pattern):
                    if slot.category not in OPEN and slot.category not in self.categories:
                        raise LanguageError(f"no category <{slot.category}> for the rule {rule.text!r}")
                    if slot.name == "_" and slot.category in valued:
                        raise LanguageError(
                            f"<{slot.category}> has a value that the rule drops: {rule.text!r}"
                        )

    def _index(self) -> None:
        """Find the first words of categories, with "" for those that can be empty, and index rules and options."""
        first: dict[str, set[str]] = {name: set() for name in self.categories}
        users: dict[str, list[str]] = {}
        for name, category in self.categories.items():
            for slot in {slot.category for rule in category.rules for slot in slots_of(rule.pattern)}:
                users.setdefault(slot, []).append(name)
        todo = dict.fromkeys(reversed(self.categories))  # a file begins with the largest parts
        while todo:
            name = next(iter(todo))
            del todo[name]
            found = set[str]().union(*(_first(rule.pattern, first) for rule in self.categories[name].rules))
            if found != first[name]:
                first[name] = found
                todo |= dict.fromkeys(users.get(name, ()))
        for category in self.categories.values():
            category.by_word = FirstWords(category.rules, first)
            for rule in category.rules:
                for choice in _choices(rule.pattern):
                    choice.by_word = FirstWords(choice.options, first)
        self.first = first

    def words_of(self, *categories: str, said: bool = False) -> frozenset[str]:
        """Return the words of categories and of all that they contain; said: only those that are said."""
        found: set[str] = set()
        met, todo = set(categories), [*categories]
        while todo:
            for rule in self.categories[todo.pop()].rules:
                if rule.said or not said:
                    found |= _words(rule.pattern, said)
                    inside = {slot.category for slot in slots_of(rule.pattern)} & self.categories.keys()
                    todo += inside - met
                    met |= inside
        return frozenset(found)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Return the categories that no other one contains."""
        rules = [rule for category in self.categories.values() for rule in category.rules]
        inside = {slot.category for rule in rules for slot in slots_of(rule.pattern)}
        return tuple(name for name in self.categories if name not in inside)


def _has_value(rule: Rule) -> bool:
    return rule.value is not None or slots_of(rule.pattern) != []


def _certain(node: Node) -> set[str]:
    """Return the slot names that every match has."""
    if isinstance(node, CategorySlot):
        return {node.name}
    if isinstance(node, Choice):
        return set() if node.optional else set.intersection(*map(_certain, node.options))
    return set().union(*map(_certain, _parts(node)))


def _required(node: Node) -> list[frozenset[str]]:
    """Return sets of words of which every match has one each."""
    if isinstance(node, Word):
        return [frozenset((node.text,))]
    if not isinstance(node, Choice):
        return [words for part in _parts(node) for words in _required(part)]
    options = [] if node.optional else [_required(option) for option in node.options]
    return [frozenset().union(*(min(one, key=len) for one in options))] if options and all(options) else []


@cache
def slots_of(node: Node) -> list[CategorySlot]:
    """Return the slots of a pattern in order."""
    inside = [slot for part in _parts(node) if not isinstance(part, Word) for slot in slots_of(part)]
    return [node, *inside] if isinstance(node, CategorySlot) else inside


def _choices(node: Node) -> Iterator[Choice]:
    if isinstance(node, Choice):
        yield node
    for part in _parts(node):
        yield from _choices(part)


def _words(node: Node, said: bool = False) -> set[str]:
    """Return the words of a pattern; said: only those that are said."""
    if isinstance(node, Word):
        return {node.text}
    parts = node.options[: node.said] if said and isinstance(node, Choice) else _parts(node)
    return set().union(*(_words(part, said) for part in parts))


def _parts(node: Node) -> list[Node]:
    return node.parts if isinstance(node, Sequence) else node.options if isinstance(node, Choice) else []


def _first(node: Node, first: Mapping[str, set[str]]) -> set[str]:
    """Return the possible first words, with "" if the pattern can be empty."""
    if isinstance(node, Word):
        return {node.text}
    if isinstance(node, Comma):
        return {""}
    if isinstance(node, CategorySlot):
        return {node.category} if node.category in OPEN else first[node.category]
    found: set[str] = {""}
    if isinstance(node, Choice):
        found = found if node.optional else set()
        return found.union(*(_first(option, first) for option in node.options))
    for part in node.parts:
        found = (found - {""}) | _first(part, first)
        if "" not in found:
            break
    return found


def is_number(word: str) -> bool:
    """Return whether a word is a number in the digits 0 to 9."""
    return word.isascii() and word.isdigit()


class Parser:
    """All readings of a list of words.

    Args:
        furthest: index of the first word that no rule got past.
        too_deep: whether some text is nested beyond `MAX_DEPTH`.
        nouns: words that may fill the slots of nouns outside the grammar: singular, whether it is plural, and whether
            it names something that exists.
        spoken: read only what is also said: ten times as fast.

    """

    def __init__(
        self,
        grammar: Grammar,
        said: list[str],
        nouns: Mapping[str, tuple[str, bool, bool]] = {},
        spoken: bool = False,
    ) -> None:
        self.grammar, self.said, self.nouns, self.spoken = grammar, said, nouns, spoken
        self._occurs: dict[int, bool] = {}  # whether the words of a rule occur
        self._words = frozenset(said)
        self.memory: dict[tuple[str, int], list[Read]] = {}
        self.furthest = self.depth = 0
        self.too_deep = False

    def read(self, category: str, at: int = 0) -> list[Read]:
        """Return the readings of a category from a position, cheapest first."""
        key = category, at
        known = self.memory.get(key)
        if known is not None:
            return known
        if self.depth == MAX_DEPTH:
            raise _TooDeep
        self.depth += 1
        self.memory[key] = []  # empty while it is read here: no left recursion
        try:
            self.memory[key] = self._readings(category, at)
        except _TooDeep:
            del self.memory[key]
            self.too_deep = True
            if self.depth > 1:
                raise
            return []
        finally:
            self.depth -= 1
        return self.memory[key]

    def _readings(self, category: str, at: int) -> list[Read]:
        found: dict[tuple[Any, int], int] = {}
        begun = self.grammar.categories[category].by_word
        assert begun is not None
        for rule in begun.possible(self._word(at)):
            if (self.spoken and not rule.said) or not self._has_words(rule):
                continue
            for value, end, cost in self._apply(rule, at):
                if cost < found.get((value, end), 1 << 30):
                    found[value, end] = cost
        readings = ((value, end, cost) for (value, end), cost in found.items())
        return sorted(readings, key=lambda read: read[2])[:MAX_READINGS]

    def _has_words(self, rule: Rule) -> bool:
        known = self._occurs.get(id(rule))
        if known is None:
            known = not any(words.isdisjoint(self._words) for words in rule.required)
            self._occurs[id(rule)] = known
        return known

    def _word(self, at: int) -> str:
        return self.said[at] if at < len(self.said) else ""

    def _apply(self, rule: Rule, at: int) -> Iterator[Read]:
        for slots, end, cost in self._match(rule.pattern, at):
            if rule.value is None:
                value = slots[-1][1] if slots else None
            else:
                given = dict(slots)
                if len(given) < len(slots):
                    continue  # a slot with two values
                try:
                    value = value_of(rule.value, given)
                except (DialogueError, GridError, LanguageError):
                    continue  # the maker rejects the words
            yield value, end, cost + rule.cost

    def _match(self, node: Node, at: int) -> list[Match]:
        """Return the matches of a pattern from a position."""
        if isinstance(node, CategorySlot):
            if node.category in OPEN:
                return self._open(node, at)
            if node.name == "_":
                return [((), end, cost) for _, end, cost in self.read(node.category, at)]
            return [(((node.name, value),), end, cost) for value, end, cost in self.read(node.category, at)]
        if isinstance(node, Choice):
            assert node.by_word is not None
            found: list[Match] = []
            for option in node.by_word.possible(self._word(at)):
                if not self.spoken or option in node.spoken:
                    found += self._match(option, at)
            return [*found, ((), at, 0)] if node.optional else found
        if isinstance(node, Word):
            if at == len(self.said) or self.said[at] != node.text:
                return []
            self.furthest = max(self.furthest, at + 1)
            return [((), at + 1, 0)]
        return self._sequence(node.parts, at) if isinstance(node, Sequence) else [((), at, 0)]

    def _open(self, slot: CategorySlot, at: int) -> list[Match]:
        """Return the matches of a slot without rules."""
        if slot.category in ("rest", "some"):
            end = at
            while end < len(self.said) and self.said[end] != ".":
                end += 1
            stops = range(at + 1 if slot.category == "some" else max(end, at + 1), end + 1)
            return [(((slot.name, tuple(self.said[at:stop])),), stop, 0) for stop in stops]
        word = self.said[at] if at < len(self.said) else ""
        noun = self.nouns.get(word)
        value: Any = None
        if slot.category == NUMBER and is_number(word):
            value = int(word[:6])
        elif noun is not None and NAMES.get(slot.category) in (noun[1:], (noun[1], self._is_given(word, at))):
            value = noun[0]
        if value is None:
            return []
        self.furthest = max(self.furthest, at + 1)
        return [(((slot.name, value),), at + 1, 0)]

    def _is_given(self, noun: str, at: int) -> bool:
        """Return whether a sentence before a position ends with a noun: "This is the roof." can give that name."""
        return any(pair == (noun, ".") for pair in pairwise(self.said[:at]))

    def _sequence(self, parts: list[Node], at: int) -> list[Match]:
        found: list[Match] = [((), at, 0)]
        for part in parts:
            before, found = found, []
            for slots, middle, cost in before:
                for more, end, rest in self._match(part, middle):
                    found.append((slots + more if more else slots, end, cost + rest))
            if not found:
                break
        return found
