"""The grammar as data: mistakes in it are found when it is loaded, and every rule can be shown by an example."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl.core.errors import LanguageError
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.language import Context, Failure, constructions, done, outcomes, parse
from iglu_marl.language.grammar.constructions import Construction, word_lists
from iglu_marl.language.grammar.engine import Grammar, Parser
from iglu_marl.language.grammar.expressions import accept
from iglu_marl.language.grammar.speaker import spelled

MAKERS = {
    "add": lambda a, b=0: a + b,
    "even": lambda n: accept(n, n % 2 == 0),
    "any": lambda **slots: "".join(sorted(slots)),
    "drops": lambda a, c: a,
}
TEXT = """
list plus: plus, and also
sum:
  <a:#> => add
  <a:#> {plus} <b:sum> => add
  twice <a:#> [{plus} <b:#>] => add ; cost 2
half:
  (half|a half) of <n:#> => even
named:
  <x:#> (and <y:#>|or <z:#>) => any
"""


def readings(text: str, category: str) -> list[object]:
    said = text.split()
    found = Parser(Grammar(TEXT, MAKERS), said).read(category)
    return [(value, cost) for value, end, cost in found if end == len(said)]


def test_rules_choices_options_lists_and_costs() -> None:
    assert readings("1 plus 2 and also 3", "sum") == [(6, 0)]
    assert readings("twice 4", "sum") == [(4, 2)]
    assert readings("twice 4 plus 3", "sum") == [(7, 2)]
    assert readings("a half of 4", "half") == [(4, 0)]
    assert readings("half of 3", "half") == []
    assert readings("1 or 2", "named") == [("xz", 0)]
    assert readings("1 minus 2", "sum") == []


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("<a:#> <c:#> => drops", "the maker 'drops' drops c"),  # a value that the maker does not use
        ("<a:#> <b:#>", "a, b need a maker"),
        ("(sum|<_:total>)\ntotal:\n  <a:#>", "<total> has a value"),
        ("<b:#> => add", "a"),  # a value that the maker needs
        ("<a:#> <c:#> => add", "c"),  # a value that the maker does not take
        ("<a:#> => subtract", "subtract"),
        ("<a:#> => add\n  <a:#> => any", "two rules"),
        ("<a:#> <b:#> => (a, 1)", "b not used"),
        ("<a:#> => add(c)", "c"),
        ("<a:#> => add(", "no expression"),
        ("{one} <a:#> => add\nlist one: 1\nlist two: 2\nlist one: a", "second list 'one'"),
    ],
)
def test_mistakes_of_a_grammar_are_found_when_it_is_loaded(rule: str, named: str) -> None:
    with pytest.raises(LanguageError, match=named):
        Grammar(f"wrong:\n  {rule}\n", MAKERS)


def test_of_two_slots_for_one_value_none_is_dropped() -> None:
    grammar = Grammar("either:\n  [first <a:#>] [then <b:#>] => add(a or b or 9)\n", MAKERS)
    read = {
        text: Parser(grammar, text.split()).read("either") for text in ("first 1 then 2", "first 1 then 1")
    }
    assert [value for value, end, _ in read["first 1 then 2"] if end == 4] == []
    assert [value for value, end, _ in read["first 1 then 1"] if end == 4] == [1]
    assert [value for value, _, _ in Parser(grammar, ["then", "3"]).read("either")] == [3, 9]


@pytest.mark.parametrize(
    ("definition", "named"),
    [
        ("one(a): other", "other"),
        ("one(a): 1", "a not used"),
        ("one(a, b): a if b != 0 else 2", "b not used"),
        ("one(a): add(a, 1, 2)", "each once"),
        ("one(a, b): a @ b", "no expression"),
    ],
)
def test_mistakes_of_definitions_are_found_when_they_are_loaded(definition: str, named: str) -> None:
    with pytest.raises(LanguageError, match=named):
        Grammar(f"define {definition}\nsum:\n  <a:#> => add\n", MAKERS)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (["a", "orange", "l", "shape"], "An orange L shape"),
        (["a", "l", ",", "."], "An L."),
        (["remove", "it", ".", "then", "stop", "."], "Remove it. Then stop."),
        (["1", "blocks", "north", ",", "2", "blocks", "east"], "1 block north, 2 blocks east"),
    ],
)
def test_words_are_spelled(said: list[str], text: str) -> None:
    assert spelled(said) == text


def test_every_rule_is_shown_by_an_example() -> None:
    found = constructions()
    assert len(found) > 800
    assert all(isinstance(one, Construction) for one in found)
    without = [one for one in found if not one.example]
    assert len(without) < 20, without
    clauses = [one.example for one in found if one.category == "clause"]
    assert len(clauses) > 10
    assert not [text for text in clauses if isinstance(parse(text), Failure)]
    assert "block" in word_lists()["block1"]


@pytest.mark.slow
def test_whatever_the_rules_make_is_an_instruction_or_a_failure_in_every_world() -> None:
    rng = np.random.default_rng(0)
    texts = [one.example for one in constructions()]
    verbs, ends = (
        [one.example for one in constructions() if one.category in names.split()]
        for names in ("put taken change grown copies", "mod explicit_where post clause")
    )
    texts += [f"{verbs[rng.integers(len(verbs))]} {ends[rng.integers(len(ends))]}" for _ in range(600)]
    grid = np.array(blocks_to_grid([(x, y, 0, x % 3 + 1) for x in range(4) for y in range(-1, x)]), np.int8)
    first = parse("Place a red block in the northwest corner.")
    assert not isinstance(first, Failure)
    (made,) = outcomes(first, grid)  # type: ignore[misc]
    context = Context((), 0.0, (0.0, 1.0, 0.0)).after(first, grid, made)
    followed = 0
    for text in texts:
        found = parse(text)
        if isinstance(found, Failure):
            assert str(found)
            continue
        worlds = outcomes(found, made.grid, context)
        if isinstance(worlds, Failure):
            assert str(worlds)
        else:
            assert done(found, made.grid, worlds[0].grid, context), text
            followed += 1
    assert followed > 30
