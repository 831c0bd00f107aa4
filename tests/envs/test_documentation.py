"""`help(iglu_marl.env)` and editors tell every option, from the one list in `GameConfig`."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

import iglu_marl
from iglu_marl.core.kernels.records import WORLD, EpisodeRules
from iglu_marl.core.state_bounds import BOUNDS
from iglu_marl.envs import (
    GridworldEnv,
    GridworldVectorEnv,
    LiveGame,
    SilentBuilderEnv,
    SilentBuilderVectorEnv,
    VectorGame,
)
from iglu_marl.envs.aec import AECGame
from iglu_marl.envs.parallel import ParallelGame
from iglu_marl.game.config import (
    SHAPING,
    TEAM_OPTIONS,
    GameConfig,
    GameOptions,
)

FIELDS = {item.name: item for item in dataclasses.fields(GameConfig)}
MAKERS: list[Any] = [
    iglu_marl.env,
    iglu_marl.raw_env,
    iglu_marl.parallel_env,
    AECGame,
    ParallelGame,
    LiveGame,
    VectorGame,
]
BUILDERS: list[Any] = [GridworldEnv, SilentBuilderEnv, GridworldVectorEnv, SilentBuilderVectorEnv]


def test_the_typed_options_are_the_fields() -> None:
    typed = {name: hint.__forward_arg__ for name, hint in GameOptions.__annotations__.items()}
    assert typed == {name: item.type for name, item in FIELDS.items()}


def test_rules_follow_from_the_table_of_options() -> None:
    rules = {rule.name for rule in dataclasses.fields(EpisodeRules)}
    assert rules - {f"shaping_{term}" for term in SHAPING} <= FIELDS.keys()
    assert rules <= BOUNDS.keys() == set(WORLD.names or ())


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_the_signature_names_every_option_with_its_default(maker: Any) -> None:
    parameters = inspect.signature(maker).parameters
    assert all(parameters[name].default == item.default for name, item in FIELDS.items())
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in FIELDS)
    assert not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def test_the_first_sentence_of_each_maker_is_its_own() -> None:
    first = [(inspect.getdoc(maker) or "").splitlines()[0] for maker in (*MAKERS, *BUILDERS)]
    assert len(set(first)) == len(MAKERS) + len(BUILDERS)


# -------------------------------------------------------------------------------------------- the builder alone


NOT_ALONE = {"builder_can_ask", "message_cost", "rewards", *TEAM_OPTIONS}


@pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: builder.__name__)
def test_the_signature_of_a_builder_names_its_options_with_their_defaults(builder: Any) -> None:
    parameters = inspect.signature(builder).parameters
    controls = "human-level" if "Silent" in builder.__name__ else "walking"
    defaults = {name: item.default for name, item in FIELDS.items() if name not in NOT_ALONE}
    named = {name: parameters[name] for name in FIELDS if name in parameters}
    assert {name: one.default for name, one in named.items()} == defaults | {"controls": controls}
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in named.values())
    assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())


@pytest.mark.parametrize("maker", [*MAKERS, *BUILDERS], ids=lambda maker: maker.__name__)
def test_help_lists_the_options(maker: Any) -> None:
    text = inspect.getdoc(maker) or ""
    missing = {name for name, item in FIELDS.items() if item.metadata["doc"] not in text}
    assert text.count("\nOptions") == 1
    assert missing == (NOT_ALONE if maker in BUILDERS else set())
