"""Metrics of languages against hand-made languages whose values are known, and against brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iglu_marl import ConfigError, IgluMarlError
from iglu_marl.evaluation.language_metrics import (
    Rows,
    _edit_distances,
    bag_of_symbols_disentanglement,
    causal_influence,
    mutual_information,
    positional_disentanglement,
    speaker_consistency,
    topographic_similarity,
)
from iglu_marl.evaluation.metrics import Interval, bootstrap, bootstrap_statistic

COLORS, PLACES = 6, 4
MEANINGS = np.array(list(itertools.product(range(COLORS), range(PLACES))))
DISENTANGLEMENTS = (positional_disentanglement, bag_of_symbols_disentanglement)
STRUCTURES = (topographic_similarity, *DISENTANGLEMENTS)


def compositional(meanings: Any = MEANINGS) -> list[list[int]]:
    """A position for each attribute, and a symbol for each value."""
    return [[color, COLORS + place] for color, place in meanings]


def bag(meanings: Any = MEANINGS) -> list[list[int]]:
    """The same symbols in any order, colour first for half of the colours and places."""
    return [list(said)[:: -1 if sum(said) % 2 else 1] for said in compositional(meanings)]


def holistic(seed: int = 0) -> list[list[int]]:
    """A message for each meaning by chance."""
    order = np.random.default_rng(seed).permutation(len(MEANINGS))
    return [compositional()[row] for row in order]


def value(metric: Callable[..., Interval], *rows: Any, **options: Any) -> float:
    return metric(*rows, resamples=1, **options).value


# ------------------------------------------------------------------------------------------ known languages


def test_a_compositional_language() -> None:
    assert value(topographic_similarity, MEANINGS, compositional()) == pytest.approx(1)
    assert value(positional_disentanglement, MEANINGS, compositional()) == pytest.approx(1)
    assert value(bag_of_symbols_disentanglement, MEANINGS, compositional()) == pytest.approx(1)


def test_an_order_free_language_is_disentangled_by_symbols_alone() -> None:
    assert value(bag_of_symbols_disentanglement, MEANINGS, bag()) == pytest.approx(1)
    assert value(positional_disentanglement, MEANINGS, bag()) < 0.4
    # A colour and place in two orders: two substitutions, as far apart as messages of other colours and places.
    assert value(topographic_similarity, MEANINGS, bag()) < 0.9


def test_the_same_symbols_for_both_attributes_are_disentangled_by_positions_alone() -> None:
    said = [[color % 4, place] for color, place in MEANINGS]
    assert value(positional_disentanglement, MEANINGS, said) == pytest.approx(1)
    assert value(bag_of_symbols_disentanglement, MEANINGS, said) < 0.5


def test_holistic_languages_have_no_structure_on_average() -> None:
    found = {
        metric: [value(metric, MEANINGS, holistic(seed)) for seed in range(100)] for metric in STRUCTURES
    }
    assert abs(np.mean(found[topographic_similarity])) < 0.03
    assert np.std(found[topographic_similarity]) < 0.12
    assert all(np.mean(found[metric]) < 0.25 for metric in DISENTANGLEMENTS)
    large = np.array(list(itertools.product(range(16), range(16))))
    said = np.random.default_rng(0).permutation(large)
    assert all(
        abs(value(metric, large, said)) < 0.1 for metric in (topographic_similarity, DISENTANGLEMENTS[0])
    )


def test_constant_messages_show_no_structure_and_tell_nothing() -> None:
    for said in ([[3, 3]] * 24, [[]] * 24):
        assert all(metric(MEANINGS, said, resamples=20) == (0, 0, 0) for metric in STRUCTURES)
        assert mutual_information(MEANINGS, said, resamples=20) == (0, 0, 0)


def test_without_structure_in_the_meanings_there_is_none_to_measure() -> None:
    numbers = np.arange(6)[:, None]
    assert np.isnan(topographic_similarity(numbers, numbers)).all()
    assert np.isnan(topographic_similarity(MEANINGS[:1], [[1]])).all()
    with pytest.raises(ConfigError, match="meanings have 1 attributes, expected 2 or more"):
        positional_disentanglement(numbers, numbers)


def test_different_messages_that_are_all_equally_far_show_no_structure() -> None:
    assert value(topographic_similarity, MEANINGS, np.arange(24)) == 0


def test_a_meaning_that_is_sampled_twice_is_not_compared_with_itself() -> None:
    once = value(topographic_similarity, MEANINGS, holistic())
    twice = value(topographic_similarity, np.tile(MEANINGS, (3, 1)), holistic() * 3)
    assert twice == pytest.approx(once)


def test_the_end_of_a_message_is_a_symbol_of_its_position() -> None:
    said = [[5] if place else [5, 5] for _, place in MEANINGS[MEANINGS[:, 1] < 2]]
    meant = MEANINGS[MEANINGS[:, 1] < 2]
    assert value(positional_disentanglement, meant, said) == pytest.approx(
        1
    )  # the first position is constant


def test_one_position_of_two_attributes_is_half_disentangled() -> None:
    """Symbol 1 is the colour; symbol 2 tells equally of two binary attributes, so its gap is 0."""
    meant = np.array(list(itertools.product(range(2), repeat=3)))
    said = [[first, 2 * second + third] for first, second, third in meant]
    assert value(positional_disentanglement, meant, said) == pytest.approx((1 + 0) / 2)


# ------------------------------------------------------------------------------------------------ brute force


def distance(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """The recursive definition of Levenshtein's distance."""

    @cache
    def rest(i: int, k: int) -> int:
        if i == len(first) or k == len(second):
            return len(first) - i + len(second) - k
        same = rest(i + 1, k + 1) + (first[i] != second[k])
        return min(same, rest(i + 1, k) + 1, rest(i, k + 1) + 1)

    return rest(0, 0)


def ranks(numbers: list[int]) -> np.ndarray:
    """Mean ranks of ties."""
    return np.array([sum(o < n for o in numbers) + sum(o == n for o in numbers) / 2 for n in numbers])


words = st.lists(st.integers(0, 2), max_size=5).map(tuple)


@given(st.lists(words, min_size=1, max_size=6))
def test_edit_distances_are_those_of_the_definition(messages: list[tuple[int, ...]]) -> None:
    expected = [[distance(first, second) for second in messages] for first in messages]
    assert _edit_distances(messages).tolist() == expected


@given(
    st.lists(
        st.tuples(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)), words),
        min_size=2,
        max_size=8,
    )
)
def test_topographic_similarity_is_that_of_the_definition(rows: list[tuple[tuple[int, ...], Any]]) -> None:
    pairs = [(one, two) for one, two in itertools.combinations(rows, 2) if one[0] != two[0]]
    meant = [sum(a != b for a, b in zip(one[0], two[0], strict=True)) for one, two in pairs]
    said = [distance(one[1], two[1]) for one, two in pairs]
    found = value(topographic_similarity, *map(list, zip(*rows, strict=True)))
    if len(set(meant)) < 2:
        assert math.isnan(found)
    elif len(set(said)) < 2:
        assert found == 0
    else:
        assert found == pytest.approx(np.corrcoef(ranks(meant), ranks(said))[0, 1])


# ------------------------------------------------------------------------------------------------ information


def test_information_by_hand() -> None:
    # joint (0, 0) x 2, (1, 1) x 1, (1, 0) x 1: H(x) = 1, H(y) = 0.8113, H(x, y) = 1.5
    plain = 1 + 0.811278 - 1.5
    rows = ([0, 0, 1, 1], [0, 0, 1, 0])
    assert value(mutual_information, *rows, corrected=False) == pytest.approx(plain, abs=1e-5)
    # corrections of Miller and Madow: (1 + 1 - 2) / (2 * 4 * ln 2) = 0
    assert value(mutual_information, *rows) == pytest.approx(plain, abs=1e-5)


def test_the_correction_takes_away_the_bias() -> None:
    rng = np.random.default_rng(0)
    pairs = [rng.integers(6, size=(2, 300)) for _ in range(40)]
    plain = np.mean([value(mutual_information, x, y, corrected=False) for x, y in pairs])
    assert plain == pytest.approx(25 / (2 * 300 * math.log(2)), abs=0.01)
    assert abs(np.mean([value(mutual_information, x, y) for x, y in pairs])) < 0.01


@pytest.mark.parametrize("metric", [mutual_information, speaker_consistency])
def test_information_of_equal_and_of_independent_variables(metric: Callable[..., Interval]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(4, size=(2, 2000))
    same = metric([[symbol, 9] for symbol in x], x, resamples=200)
    assert same.low < 2 < same.high
    assert same.value == pytest.approx(2, abs=0.01)
    apart = metric([[symbol, 9] for symbol in x], y, resamples=200)
    assert abs(apart.value) < 0.01
    assert apart.high < 0.02


def test_causal_influence_of_known_listeners() -> None:
    obeys = np.broadcast_to(np.eye(4), (10, 4, 4))
    assert causal_influence(obeys) == (2, 2, 2)
    deaf = np.broadcast_to(np.full(4, 0.25), (10, 4, 4))
    assert causal_influence(deaf) == (0, 0, 0)
    assert causal_influence(obeys, [0.5, 0.5, 0, 0]).value == pytest.approx(1)
    half = np.concatenate([obeys, deaf])  # obeys in half of the states
    found = causal_influence(half)
    assert found.value == pytest.approx(1)
    assert found.low < 1 < found.high
    each = np.repeat(np.eye(4)[None, 0], 20, axis=0)  # in every state one message alone is ever said
    assert causal_influence(half, each).value == 0


def test_a_listener_that_sees_what_the_speaker_sees_is_coordinated_and_not_influenced() -> None:
    seen = np.random.default_rng(0).integers(4, size=400)
    assert mutual_information(seen, seen, resamples=20).value == pytest.approx(2, abs=0.02)
    policies = np.repeat(np.eye(4)[seen][:, None], 4, axis=1)
    assert causal_influence(policies, resamples=20) == (0, 0, 0)


# -------------------------------------------------------------------------------------------------- intervals


def test_intervals_of_samples() -> None:
    rng = np.random.default_rng(0)
    meant = rng.integers((COLORS, PLACES), size=(400, 2))
    said = np.array(compositional(meant))
    slips = rng.random(400) < 0.2
    said[slips] = rng.permutation(said[slips])
    for metric in STRUCTURES:
        low_first = metric(meant, said, resamples=200)
        assert 0.3 < low_first.low < low_first.value < low_first.high < 0.95
        assert metric(meant, said, resamples=200) == low_first
        assert metric(meant, said, resamples=200, rng=1) != low_first
        narrow = metric(meant, said, resamples=200, confidence=0.5)
        assert low_first.low < narrow.low < narrow.high < low_first.high


def test_a_compositional_language_in_a_sample() -> None:
    """Attributes are correlated by chance there, which the correction takes into account."""
    meant = np.random.default_rng(0).integers((COLORS, PLACES), size=(400, 2))
    said = compositional(meant)
    assert topographic_similarity(meant, said, resamples=50) == pytest.approx((1, 1, 1))
    for metric in DISENTANGLEMENTS:
        assert value(metric, meant, said) < 0.995
        assert value(metric, meant, said, corrected=True) == pytest.approx(1, abs=0.005)


def test_intervals_hold_the_true_value_as_often_as_they_say() -> None:
    """A resample of a sample has twice its bias: corrected once, they held the true value in 20 of 40."""

    def sample(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        meant = rng.integers(12, size=count)
        return meant, np.where(rng.random(count) < 0.3, rng.integers(12, size=count), meant)

    right = 0.7 + 0.3 / 12
    wrong = 0.3 / 12
    true = math.log2(12) + right * math.log2(right) + 11 * wrong * math.log2(wrong)
    found = [
        mutual_information(*sample(1000, np.random.default_rng(seed)), resamples=200) for seed in range(40)
    ]
    assert np.mean([each.value for each in found]) == pytest.approx(true, abs=0.05)
    assert sum(each.low < true < each.high for each in found) >= 34


def test_rows_of_one_unit_are_drawn_together() -> None:
    x = np.random.default_rng(0).integers(4, size=100)
    apart = mutual_information(x, x % 3, resamples=300)
    copies, units = np.repeat(x, 5), np.repeat(np.arange(100), 5)
    together = mutual_information(copies, copies % 3, units=units, resamples=300, corrected=False)
    alone = mutual_information(copies, copies % 3, resamples=300, corrected=False)
    assert together.high - together.low == pytest.approx(apart.high - apart.low, rel=0.25)
    assert alone.high - alone.low < 0.7 * (together.high - together.low)


def test_a_statistic_that_is_a_mean_has_the_interval_of_a_mean() -> None:
    numbers = np.random.default_rng(0).random(50)
    found = bootstrap_statistic(
        lambda weights: float(np.average(numbers, weights=weights)), 50, resamples=5000
    )
    assert found == pytest.approx(bootstrap(numbers, resamples=5000, rng=1), abs=0.005)
    assert np.isnan(bootstrap_statistic(lambda _: np.nan, 3)).all()
    alone = bootstrap_statistic(lambda weights: 1.0 if (weights == 1).all() else np.nan, 9, resamples=5)
    assert alone.value == 1
    assert np.isnan(alone[1:]).all()
    some = bootstrap_statistic(lambda weights: 1.0 if weights.all() else np.nan, 3)
    assert some == (1, 1, 1), "undefined resamples are left out"


# ----------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (([], [[1]]), r"meanings is \[\], expected one row or more"),
        ((5, [[1]]), "meanings is 5, expected one row or more"),
        (([[0, 1], [0]], [[1], [2]]), r"meanings\[1\] has 1 attributes, expected as many as meanings\[0\]"),
        (([[0, 1]], [[1], [2]]), "there are 1 meanings, 2 messages, expected as many of each"),
        (([[0, 1]], ["ab"]), r"messages\[0\] is 'ab', expected integers"),
        (([[0, 1]], [[0.5]]), r"messages\[0\] is \[0.5\], expected integers"),
        (([[0, 1]], [[1, [2]]]), r"messages\[0\] is \[1, \[2\]\], expected integers"),
        (([[0, 1]], [[[1], [2]]]), r"messages\[0\] is \[\[1\], \[2\]\], expected integers"),
    ],
)
def test_rows_that_do_not_fit(rows: tuple[Rows, Rows], said: str) -> None:
    for metric in STRUCTURES:
        with pytest.raises(ConfigError, match=said):
            metric(*rows)


def test_more_that_does_not_fit() -> None:
    with pytest.raises(ConfigError, match="there are 2 first, 3 second"):
        mutual_information([1, 2], [1, 2, 3])
    with pytest.raises(ConfigError, match=r"shape \(2,\), expected \(3,\): one for each"):
        mutual_information([1, 2, 3], [1, 2, 3], units=[0, 1])
    for wrong in ({"confidence": 1.0}, {"resamples": 0}):
        with pytest.raises(ConfigError, match=r"expected 0\.\.1 and 1\.\.1000000"):
            mutual_information([1, 2], [1, 2], **wrong)  # type: ignore[arg-type]
    uniform = np.full((2, 3, 4), 0.25)
    for probabilities, shares in (
        (uniform * 2, None),
        ([[1, [0]]], None),
        (uniform[0], None),
        (uniform, [1.0]),
    ):
        with pytest.raises(IgluMarlError, match=r"(?s)probabilities.*, expected"):
            causal_influence(probabilities, shares)
