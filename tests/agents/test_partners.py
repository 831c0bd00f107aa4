"""The named partners: all of them finish with each other, each in its manner, and always the same way for a seed."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from talkers import Speaker

import iglu_marl
from iglu_marl import AgentError, Role, Task, Trajectory
from iglu_marl.agents import agents_for
from iglu_marl.agents.scripted import partners
from iglu_marl.agents.scripted.partners import ARCHITECTS, BUILDERS, shortest
from iglu_marl.language import CellEdit, DialogueAct, Failure, parse, parse_small_talk
from iglu_marl.tasks import BundledTasks, RandomTasks

SEES = ("dialog", "inventory", "pose", "grid")
TASKS = [*BundledTasks(mode="structures")][:2]
HOUSE = [(x, y, z, 6) for x, y, z in product((0, 1), (-1, 0), (-3, -2))]


def played(
    architect: str,
    builder: str,
    task: Task | None = None,
    *,
    seed: int = 0,
    options: Any = None,
    **agent_options: Any,
) -> Trajectory:
    config = {"controls": "flying", "builder_can_ask": True, "max_turns": None, "max_steps": 3000}
    env = iglu_marl.raw_env(tasks=task or TASKS[0], builder_sees=SEES, **{**config, **(options or {})})
    agents = agents_for(env, architect, builder)
    if agent_options:
        role = Role.ARCHITECT if architect in ARCHITECTS and builder == "careful" else Role.BUILDER
        name = architect if role is Role.ARCHITECT else builder
        agents[role] = {**ARCHITECTS, **BUILDERS}[name].for_env(env, **agent_options)
    return iglu_marl.play(env, agents, seed=seed)


def said(game: Trajectory, role: Role = Role.ARCHITECT) -> list[str]:
    return [utterance.text for utterance in game.dialogue if utterance.role is role]


def edits(game: Trajectory) -> list[CellEdit]:
    found = [parse(text) for text in said(game)]
    return [edit for edit in found if isinstance(edit, CellEdit)]


# --------------------------------------------------------------------------------------------------- everybody


@pytest.mark.slow
@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("architect", ARCHITECTS)
def test_every_pair_finishes(architect: str, builder: str) -> None:
    assert played(architect, builder, TASKS[len(builder) % 2]).completed


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
def test_every_partner_plays_in_every_form_of_the_game(options: dict[str, Any]) -> None:
    task = Task("", HOUSE[:3])
    for architect in ARCHITECTS:
        assert played(architect, "careful", task, options=options).completed, architect
    for builder in BUILDERS:
        assert played("precise", builder, task, options=options).completed, builder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architect", "builder"),
    [*((name, "hasty") for name in ARCHITECTS), ("precise", "asking"), ("precise", "forgetful")],
)
def test_a_seed_decides_everything(architect: str, builder: str) -> None:
    one, same, other = (played(architect, builder, seed=seed) for seed in (3, 3, 4))
    assert one.dialogue == same.dialogue
    assert [turn.reward for turn in one.turns] == [turn.reward for turn in same.turns]
    assert one.dialogue != other.dialogue or len(one.turns) != len(other.turns)


def test_every_partner_is_in_the_table_of_the_module() -> None:
    table = [line.split("|")[1:3] for line in partners.__doc__.splitlines() if line.startswith("| `")]  # type: ignore[union-attr]
    assert {name.strip(" `"): role.strip() for name, role in table} == {
        **dict.fromkeys(ARCHITECTS, "architect"),
        **dict.fromkeys(BUILDERS, "builder"),
    }


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("talkative", "chatter"),
        ("vague", "vagueness"),
        ("mistaken", "error"),
        ("hasty", "slips"),
        ("forgetful", "lapses"),
        ("asking", "questions"),
    ],
)
def test_shares_are_probabilities(name: str, option: str) -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(AgentError, match=f"{option} is"):
            {**ARCHITECTS, **BUILDERS}[name](**{option: wrong})


# --------------------------------------------------------------------------------------------------- architects


def test_precise_says_what_the_scripted_architect_says() -> None:
    assert said(played("precise", "careful")) == said(played("scripted", "scripted"))


def test_terse_uses_the_fewest_words() -> None:
    precise, terse = played("precise", "careful"), played("terse", "careful")
    assert edits(terse) == edits(precise)
    words = [sum(len(text.split()) for text in said(game)) for game in (precise, terse)]
    assert words[1] < 0.75 * words[0]


@pytest.mark.slow
def test_no_word_of_a_terse_instruction_can_be_left_out() -> None:
    rng = np.random.default_rng(0)
    for task in (RandomTasks(max_blocks=8, height_levels=3, num_colors=6).sample(rng) for _ in range(2)):
        for x, y, z, color in iglu_marl.core.grid.grid_to_blocks(task.target_grid):
            for edit in (
                CellEdit("place", (x, y, z), color=color),
                CellEdit("remove", (x, y, z), old_color=color),
            ):  # type: ignore[arg-type]
                words = shortest(edit).split()
                assert parse(" ".join(words)) == edit
                for gap in range(len(words)):
                    assert parse(" ".join(words[:gap] + words[gap + 1 :])) != edit


def test_talkative_greets_is_polite_and_comments() -> None:
    game = played("talkative", "careful", TASKS[1], options={"turn_steps": 2}, chatter=0.8)
    texts = said(game)
    talk = [found.talk for text in texts if (found := parse_small_talk(text)) is not None]
    assert talk[0] is DialogueAct.GREETING
    assert DialogueAct.OKAY in talk
    assert sum("please" in text for text in texts) >= len(set(edits(game)))
    assert len(edits(game)) > len(set(edits(game)))  # repeats itself, in other words
    precise = played("precise", "careful", TASKS[1])
    words = [sum(len(text.split()) for text in said(each)) for each in (precise, game)]
    assert words[1] > 1.25 * words[0]


def test_vague_is_asked_and_then_says_it_in_full() -> None:
    game = played("vague", "careful")
    questions = [text for text in said(game, Role.BUILDER) if "?" in text]
    asked = [text for text in said(game) if text.startswith(("Place", "Put", "Add"))]
    failures = [parse(text) for text in asked if not parse(text)]
    assert len(questions) == len(failures) > 2
    reasons = {str(failure.reason) for failure in failures if isinstance(failure, Failure)}
    assert reasons == {"no color", "no place"}
    assert len(edits(game)) + len(failures) == game.target_blocks, "only what was missing is told"
    assert game.returns[Role.BUILDER] == 2 * game.target_blocks


def test_vague_without_an_answer_says_it_in_full_too() -> None:
    game = played("vague", "careful", options={"builder_can_ask": False}, vagueness=1.0)
    assert game.completed
    assert len(edits(game)) == game.target_blocks


@pytest.mark.slow
def test_mistaken_names_wrong_blocks_sees_them_and_corrects_them() -> None:
    game = played("mistaken", "careful", error=1.0)
    task = TASKS[0]
    wanted = {block[:3]: block[3] for block in iglu_marl.core.grid.grid_to_blocks(task.target_grid)}
    placed = [edit for edit in edits(game) if str(edit.action) == "place"]
    wrong = [edit for edit in placed if wanted.get(edit.cell) != edit.color]
    assert game.completed
    assert len(wrong) == len(wanted)  # each first telling of a block
    corrected = [edit for edit in edits(game) if str(edit.action) != "place"]
    assert len(corrected) >= 0.8 * len(wrong)
    assert edits(played("mistaken", "careful", error=0.0)) == edits(played("precise", "careful"))


# ------------------------------------------------------------------------------------------------------ builders


def test_careful_does_exactly_the_instruction() -> None:
    game = played("precise", "careful")
    assert game.returns[Role.BUILDER] == 2 * game.target_blocks
    assert "?" not in " ".join(said(game, Role.BUILDER))


@pytest.mark.slow
def test_hasty_slips_and_never_asks() -> None:
    game = played("precise", "hasty", slips=0.5)
    assert game.completed
    assert game.returns[Role.BUILDER] > 0
    assert len(edits(game)) > game.target_blocks  # there was something to put right
    assert "?" not in " ".join(said(played("vague", "hasty"), Role.BUILDER))
    assert said(played("precise", "hasty", slips=0.0)) == said(played("precise", "careful"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Place a block on the ground, 2 blocks east of the centre.", CellEdit("place", (2, -1, 0), color=6)),  # type: ignore[arg-type]
        ("Place a green block 2 blocks east of the centre.", CellEdit("place", (2, -1, 0), color=3)),  # type: ignore[arg-type]
        ("Place a green block at height 2.", CellEdit("place", (0, 0, 0), color=3)),  # type: ignore[arg-type]
    ],
)
def test_hasty_guesses_what_was_not_said(text: str, expected: CellEdit) -> None:
    env = iglu_marl.raw_env(tasks=Task("", HOUSE), controls="flying", builder_sees=SEES, max_steps=300)
    builder = BUILDERS["hasty"].for_env(env, slips=0.0)
    architect = Speaker("Place a red block on the ground, 4 blocks north of the centre.", text)
    game = iglu_marl.play(env, {"architect": architect, "builder": builder}, seed=0)
    x, y, z = expected.cell
    assert game.grid is not None
    assert game.grid[y + 1, x + 5, z + 5] == expected.color
    assert np.count_nonzero(game.grid) == 2


def test_forgetful_needs_the_instruction_again() -> None:
    precise, forgetful = played("precise", "careful"), played("precise", "forgetful", lapses=0.5)
    assert forgetful.completed
    assert len(edits(forgetful)) > len(edits(precise))
    assert set(edits(forgetful)) == set(edits(precise))


def test_asking_asks_before_it_begins() -> None:
    game = played("precise", "asking", questions=1.0)
    questions = [text for text in said(game, Role.BUILDER) if "?" in text]
    assert len(questions) == game.target_blocks
    assert len(edits(game)) == game.target_blocks  # a short answer is enough
    mute = played("precise", "asking", options={"builder_can_ask": False})
    assert said(mute) == said(played("precise", "careful", options={"builder_can_ask": False}))


def test_an_interrupted_instruction_keeps_what_was_built_before() -> None:
    lines = [f"Place a red block on the ground, {n} blocks east of the centre." for n in (1, 2, 3)]
    script = [lines[0], "Place a block.", lines[1], "Gibberish and more.", lines[2]]
    target = Task("", [(n, -1, 0, 6) for n in (1, 2, 3)])
    env = iglu_marl.raw_env(tasks=target, controls="flying", builder_sees=SEES, turn_steps=200)
    agents = {"architect": Speaker(*script), "builder": agents_for(env)[Role.BUILDER]}
    game = iglu_marl.play(env, agents, seed=0)
    assert game.completed
    assert game.returns[Role.BUILDER] == 6.0
    assert said(game) == script
