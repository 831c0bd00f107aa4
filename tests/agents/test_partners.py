"""The partners with flaws: each in its manner, and always the same way for a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from talkers import Speaker

import iglu_marl
from iglu_marl import AgentError, Role, Task, Trajectory
from iglu_marl.agents import agents_for
from iglu_marl.agents.scripted.partners import HastyBuilder, VagueArchitect
from iglu_marl.language import CellEdit, Failure, parse
from iglu_marl.tasks import BundledTasks

SEES = ("dialog", "inventory", "pose", "grid")
BUNDLED = next(iter(BundledTasks(mode="structures")))
PAIRS = [("vague", "scripted"), ("scripted", "hasty"), ("vague", "hasty")]


def played(
    architect: str = "scripted",
    builder: str = "scripted",
    task: Task = BUNDLED,
    *,
    seed: int = 0,
    options: Any = None,
    **flaws: Any,
) -> Trajectory:
    config = {"controls": "flying", "builder_can_ask": True, "max_turns": None, "max_steps": 3000}
    env = iglu_marl.raw_env(tasks=task, builder_sees=SEES, **{**config, **(options or {})})
    agents = agents_for(env, architect, builder)
    if "vagueness" in flaws:
        agents[Role.ARCHITECT] = VagueArchitect.for_env(env, **flaws)
    elif "slips" in flaws:
        agents[Role.BUILDER] = HastyBuilder.for_env(env, **flaws)
    return iglu_marl.play(env, agents, seed=seed)


def said(game: Trajectory, role: Role = Role.ARCHITECT) -> list[str]:
    return [utterance.text for utterance in game.dialogue if utterance.role is role]


def edits(game: Trajectory) -> list[CellEdit]:
    requests = [parse(text) for text in said(game)]
    return [edit for edit in requests if isinstance(edit, CellEdit)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"controls": "walking", "chat": "tokens"},
        {"controls": "walking", "builder_can_ask": False},
        {"controls": "human-level", "select_and_place": True},
        {"turn_steps": 1, "chat": "tokens", "builder_can_ask": False},
    ],
    ids=str,
)
@pytest.mark.parametrize(("architect", "builder"), PAIRS)
def test_every_pair_finishes_in_every_form_of_the_game(
    architect: str, builder: str, options: dict[str, Any]
) -> None:
    task = Task("", [(0, -1, -3, 6), (0, -1, -2, 6), (0, 0, -3, 6)])
    assert played(architect, builder, task, options=options).completed


@pytest.mark.slow
@pytest.mark.parametrize(("architect", "builder"), PAIRS)
def test_a_seed_decides_everything(architect: str, builder: str) -> None:
    one, same, other = (played(architect, builder, seed=seed) for seed in (3, 3, 4))
    assert one.dialogue == same.dialogue
    assert [turn.reward for turn in one.turns] == [turn.reward for turn in same.turns]
    assert one.dialogue != other.dialogue or len(one.turns) != len(other.turns)


def test_shares_are_probabilities() -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(AgentError, match="vagueness is"):
            VagueArchitect(vagueness=wrong)
        with pytest.raises(AgentError, match="slips is"):
            HastyBuilder(slips=wrong)


def test_vague_is_asked_and_then_says_it_in_full() -> None:
    game = played("vague")
    questions = [text for text in said(game, Role.BUILDER) if "?" in text]
    asked = [text for text in said(game) if text.startswith(("Place", "Put", "Add"))]
    failures = [parse(text) for text in asked if not parse(text)]
    assert len(questions) == len(failures) > 2
    reasons = {str(failure.reason) for failure in failures if isinstance(failure, Failure)}
    assert reasons == {"no color", "no place"}
    assert len(edits(game)) + len(failures) == game.target_blocks, "it adds only what was missing"
    assert game.returns[Role.BUILDER] == 2 * game.target_blocks


def test_vague_without_an_answer_says_it_in_full_too() -> None:
    game = played(options={"builder_can_ask": False}, vagueness=1.0)
    assert game.completed
    assert len(edits(game)) == game.target_blocks


@pytest.mark.slow
def test_hasty_slips_and_never_asks() -> None:
    game = played(slips=0.5)
    assert game.completed
    assert game.returns[Role.BUILDER] > 0
    assert len(edits(game)) > game.target_blocks  # there was something to put right
    assert "?" not in " ".join(said(played("vague", "hasty"), Role.BUILDER))
    assert said(played(slips=0.0)) == said(played())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Place a block on the ground, 2 blocks east of the centre.", (2, -1, 0, 6)),
        ("Place a green block 2 blocks east of the centre.", (2, -1, 0, 3)),
        ("Place a green block at height 2.", (0, 0, 0, 3)),
    ],
)
def test_hasty_guesses_what_was_not_said(text: str, expected: tuple[int, int, int, int]) -> None:
    task = Task("", [(x, -1, -3, 6) for x in range(4)])
    env = iglu_marl.raw_env(tasks=task, controls="flying", builder_sees=SEES, max_steps=300)
    architect = Speaker("Place a red block on the ground, 4 blocks north of the centre.", text)
    game = iglu_marl.play(
        env, {"architect": architect, "builder": HastyBuilder.for_env(env, slips=0.0)}, seed=0
    )
    x, y, z, color = expected
    assert game.grid is not None
    assert game.grid[y + 1, x + 5, z + 5] == color
    assert np.count_nonzero(game.grid) == 2
