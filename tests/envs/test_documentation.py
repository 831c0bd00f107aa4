"""`help(iglu_marl.env)` and editors tell every option, from the one list in `GameConfig`."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

import iglu_marl
from iglu_marl.envs import AECGame, ParallelGame, VectorGame
from iglu_marl.game.config import ARCHITECT_SIGHTS, BUILDER_SIGHTS, GameConfig, GameOptions

FIELDS = {item.name: item for item in dataclasses.fields(GameConfig)}
DOORS: list[Any] = [
    iglu_marl.env,
    iglu_marl.raw_env,
    iglu_marl.parallel_env,
    AECGame,
    ParallelGame,
    VectorGame,
]


def test_the_typed_options_are_the_fields() -> None:
    typed = {name: hint.__forward_arg__ for name, hint in GameOptions.__annotations__.items()}
    assert typed == {name: item.type for name, item in FIELDS.items()}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_the_signature_names_every_option_with_its_default(door: Any) -> None:
    parameters = inspect.signature(door).parameters
    assert all(parameters[name].default == item.default for name, item in FIELDS.items())
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in FIELDS)
    assert not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_help_tells_agents_spaces_rewards_ends_and_options(door: Any) -> None:
    text = inspect.getdoc(door)
    assert text is not None
    for title in (
        "Agents",
        "Observations of architect_0",
        "Observations of builder_0",
        "Rewards",
        "Ends",
        "Options",
    ):
        assert f"\n{title}" in text
    assert all(item.metadata["doc"] in text for item in FIELDS.values())
    assert "Discrete(19)" in text
    rows = [line.split() for line in text.splitlines()]
    assert all(any(row[:1] == [name] for row in rows) for name in (*ARCHITECT_SIGHTS, *BUILDER_SIGHTS))


def test_the_first_sentence_of_each_door_is_its_own() -> None:
    first = [(inspect.getdoc(door) or "").splitlines()[0] for door in DOORS]
    assert len(set(first)) == len(DOORS)
