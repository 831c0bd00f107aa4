"""The grammar as data: mistakes in it are found when it is loaded, and every rule can be shown by an example."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl.core.errors import LanguageError
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.language import Construction, Context, Failure, constructions, done, outcomes, parse
from iglu_marl.language.grammar.constructions import word_lists
from iglu_marl.language.grammar.engine import NOTHING, Grammar, Parser

MAKERS = {
    "add": lambda a, b=0: a + b,
    "even": lambda n: n if n % 2 == 0 else NOTHING,
    "any": lambda **slots: "".join(sorted(slots)),
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
        ("<b:#> => add", "a"),  # a value that the maker needs
        ("[<a:#>] => add", "a"),  # which is not always there
        ("<a:#> <c:#> => add", "c"),  # a value that the maker does not take
        ("<a:#> => subtract", "subtract"),
        ("<a:total> => add", "total"),
        ("{minus} <a:#> => add", "minus"),
        ("<a:#> => add\n  <a:#> => any", "two rules"),
        ("<a:#> => add\nempty:", "empty"),
    ],
)
def test_mistakes_of_a_grammar_are_found_when_it_is_loaded(rule: str, named: str) -> None:
    with pytest.raises(LanguageError, match=named):
        Grammar(f"wrong:\n  {rule}\n", MAKERS)


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
    verbs = [
        one.example
        for one in constructions()
        if one.category in ("put", "taken", "change", "grown", "copies")
    ]
    ends = [one.example for one in constructions() if one.category in ("mod", "told_where", "post", "clause")]
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
