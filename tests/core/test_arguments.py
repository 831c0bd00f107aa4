"""Checks of arguments: what is taken at the edges, and what is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from iglu_marl import ConfigError
from iglu_marl.core.arguments import MAX_SEED, as_count, as_flag, as_number, as_rng, check_flags, check_option


@pytest.mark.parametrize(("value", "expected"), [(2, 2), (5, 5), (np.int8(3), 3), (np.array(4), 4)])
def test_a_count_in_its_range(value: Any, expected: int) -> None:
    found = as_count("n", value, 2, 5)
    assert (found, type(found)) == (expected, int)


@pytest.mark.parametrize("value", [1, 6, -3, True, 3.0, "3", None, [3]])
def test_other_counts_are_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"n is .*, expected an integer in 0?2\.\.5 or None"):
        as_count("n", value, 2, 5, " or None")


def test_a_flag_is_no_count() -> None:
    with pytest.raises(ConfigError):
        as_count("n", True, 0, 5)


@pytest.mark.parametrize("value", [0, 0.0, 1, 2.5, np.float32(2.5)])
def test_a_number_in_its_range(value: Any) -> None:
    found = as_number("x", value, 2.5)
    assert (found, type(found)) == (float(value), float)
    assert as_number("x", value) == value


@pytest.mark.parametrize("value", [-1e-9, 2.5000001, math.nan, math.inf, -math.inf, True, "1", None, 10**400])
def test_other_numbers_are_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"a number in 0\.\.2\.5"):
        as_number("x", value, 2.5)


def test_a_number_without_an_upper_end() -> None:
    assert as_number("x", 1e300) == 1e300
    with pytest.raises(ConfigError, match="a finite number of 0 or more"):
        as_number("x", math.inf)


@pytest.mark.parametrize("value", [0, 1, None, "True", np.bool_(True)])
def test_flags_are_true_or_false(value: Any) -> None:
    assert as_flag("f", True) is True
    assert as_flag("f", False) is False
    check_flags(a=True, b=False)
    with pytest.raises(ConfigError, match=r"^b is"):
        check_flags(a=True, b=value)


def test_options_are_of_a_list() -> None:
    check_option("o", "b", ("a", "b"))
    for value in ("c", "", None, 1, ["a"]):
        with pytest.raises(ConfigError, match="expected one of a, b, or else"):
            check_option("o", value, ("a", "b"), ", or else")


def test_generators_are_made_of_seeds() -> None:
    for seed in (0, 7, MAX_SEED):
        assert as_rng("rng", seed).integers(1 << 30) == np.random.default_rng(seed).integers(1 << 30)
    own = np.random.default_rng(3)
    assert as_rng("rng", own) is own
    assert as_rng("rng", None).integers(1 << 62) != as_rng("rng", None).integers(1 << 62)
    for wrong in (-1, MAX_SEED + 1, 1.5, True):
        with pytest.raises(ConfigError):
            as_rng("rng", wrong)
