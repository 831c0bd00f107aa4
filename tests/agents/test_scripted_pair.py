"""The scripted pair builds by language alone: in every view, in text and in tokens, flying and walking."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from requirements import shared_folder
from talkers import Speaker

import iglu_marl
from iglu_marl import Pose, Role, Task, play
from iglu_marl.agents import ScriptedArchitect, ScriptedBuilder, agents_for
from iglu_marl.agents.scripted.state_tracker import StateTracker
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.data import tasks_from_folder
from iglu_marl.language import CellEdit, render, say
from iglu_marl.planning.feasibility import why_impossible
from iglu_marl.planning.problem import Problem
from iglu_marl.tasks import BundledTasks, RandomTasks, StructureTasks

SIGHTS = ("dialog", "pose", "grid")
RED, BLUE, GREEN = 6, 1, 3

# No rotation or shift of it is its mirror image, and every colour appears once.
CHIRAL = Task(
    "", blocks_to_grid([(1, -1, 0, RED), (2, -1, 0, BLUE), (3, -1, 0, GREEN), (3, -1, 1, 2), (3, 0, 1, 4)])
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "ask", "chat", "controls", "turns"),
    [
        (iglu_marl.env, True, "text", "walking", {}),
        (iglu_marl.env, False, "tokens", "flying", {"turn_steps": 1}),
        (iglu_marl.env, True, "tokens", "flying", {}),
        (iglu_marl.env, False, "text", "walking", {"turn_steps": 7}),
        (iglu_marl.env, False, "text", "flying", {"turn_steps": None}),
        (iglu_marl.parallel_env, True, "tokens", "walking", {}),
        (iglu_marl.parallel_env, False, "text", "flying", {}),
    ],
)
def test_pair_completes_random_tasks(view: Any, ask: bool, chat: str, controls: str, turns: Any) -> None:
    env = view(
        tasks=RandomTasks(max_blocks=8, height_levels=3, num_colors=6, allow_float=True),
        controls=controls,
        chat=chat,
        builder_can_ask=ask,
        builder_sees=SIGHTS,
        max_steps=5000,
        max_turns=None,
        **turns,
    )
    pair = agents_for(env)
    for seed in range(5):
        game = play(env, pair, seed=seed)
        assert game.completed, (seed, game.dialogue.text)
        assert np.array_equal(game.grid, game.task.target_grid), "it stands where the map has it"
        assert any(part.role is Role.BUILDER for part in game.dialogue) == (ask and len(game.dialogue) > 1)


def live(name: str, tasks: Any, **options: Any) -> Any:
    """An environment of one agent, to which a scripted architect speaks."""
    limits = {"turn_steps": 10, "max_steps": 5000, "max_turns": None}
    return gym.make(name, tasks=tasks, architect=ScriptedArchitect(), **limits, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chat", "controls"), [("text", "flying"), ("tokens", "walking"), ("text", "human-level")]
)
def test_single_agent_environment_with_a_live_architect(chat: str, controls: str) -> None:
    tasks = RandomTasks(max_blocks=8, height_levels=3, num_colors=6)
    env = live("IGLUGridworldVector-v0", tasks, action_space=controls, chat=chat)
    for seed in range(5):
        assert play(env, agents_for(env), seed=seed).completed


def test_progressive_sessions_are_followed() -> None:
    session = BundledTasks(progressive=True).tasks["bridge"][0]
    env = live("IGLUGridworldVector-v0", session.create_task(0), action_space="flying")
    game = play(env, agents_for(env))
    assert game.completed
    assert np.array_equal(game.grid, session.structures[-1])


def test_recorded_human_words_do_no_harm() -> None:
    """What it understands of them it does; nothing stands there that they do not ask for."""
    env = gym.make("IGLUGridworldVector-v0", tasks=BundledTasks(), max_steps=600)
    for seed in range(5):
        game = play(env, agents_for(env), seed=seed)
        changed = game.grid != game.task.start_grid
        assert np.array_equal(game.grid[changed], game.task.target_grid[changed])


@pytest.mark.slow
@pytest.mark.parametrize("controls", ["flying", "walking"])
def test_bundled_structures(controls: str) -> None:
    env = iglu_marl.env(controls=controls, builder_sees=SIGHTS, max_steps=10_000, max_turns=None)
    pair = agents_for(env)
    tasks = list(BundledTasks(mode="structures"))
    for task in tasks[:: 2 if controls == "flying" else 4]:
        game = play(env, pair, seed=0, options={"task": task})
        assert game.completed, task.task_id


def test_start_with_other_blocks_than_wanted() -> None:
    start = blocks_to_grid([(1, -1, 0, BLUE), (2, -1, 0, BLUE), (-4, -1, -4, RED), (-4, 0, -4, RED)])
    task = Task("", CHIRAL.target_grid, starting_grid=start)
    for controls in ("flying", "walking"):
        env = iglu_marl.env(
            tasks=task, controls=controls, builder_sees=SIGHTS, max_steps=5000, max_turns=None
        )
        game = play(env, agents_for(env))
        assert game.completed
        assert {part.text.split()[0] for part in game.dialogue} == {"Place", "Remove", "Change"}


# --- the builder reads, and knows nothing else ----------------------------------------------------------------


class Mistaken(ScriptedArchitect):
    """Sees another target than there is."""

    def __init__(self, change: Any) -> None:
        super().__init__()
        self.change = change

    def act(self, observation: Any) -> Any:
        return super().act({**observation, "target_grid": self.change(observation["target_grid"])})


def other_colors(target: np.ndarray) -> np.ndarray:
    return np.where(target > 0, target % 6 + 1, 0).astype(target.dtype)


def mirrored(target: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(target[:, ::-1])


@pytest.mark.parametrize("change", [other_colors, mirrored])
@pytest.mark.parametrize("controls", ["flying", "walking"])
def test_wrong_words_lead_to_the_wrong_build(change: Any, controls: Any) -> None:
    env = iglu_marl.env(tasks=CHIRAL, controls=controls, builder_sees=SIGHTS, max_turns=40, max_steps=2000)
    game = play(env, {"architect": Mistaken(change), "builder": ScriptedBuilder(controls)})
    assert not game.completed
    assert game.intersection < game.target_blocks
    assert np.array_equal(game.grid, change(CHIRAL.target_grid))


def test_the_same_words_lead_to_the_same_acts_whatever_the_target() -> None:
    words = [render(CellEdit("place", (x, -1, 2), color=RED)) for x in range(3)]
    games = []
    for target in (CHIRAL.target_grid, mirrored(CHIRAL.target_grid), other_colors(CHIRAL.target_grid)):
        env = iglu_marl.env(tasks=Task("", target), builder_sees=SIGHTS, max_steps=200, max_turns=10)
        game = play(env, {"architect": Speaker(*words), "builder": ScriptedBuilder()})
        games.append([turn.action for turn in game.turns if turn.role is Role.BUILDER])
    assert len(games[0]) > 20
    assert games[0] == games[1] == games[2]


def test_nonsense_leads_to_silence_or_a_question_never_to_a_crash() -> None:
    lines = ("abracadabra", "<Builder> Done.", "Remove everything!", "🏠" * 50, "1 2 3", "\n\n<Architect>\n")
    for ask in (False, True):
        env = iglu_marl.env(tasks=CHIRAL, builder_sees=SIGHTS, builder_can_ask=ask, max_turns=8)
        game = play(env, {"architect": Speaker(*lines), "builder": ScriptedBuilder(can_ask=ask)})
        assert game.builder_steps == game.architect_turns == 8, "it yields at once"
        assert not game.grid.any()
        answers = [part.text for part in game.dialogue if part.role is Role.BUILDER]
        assert bool(answers) == ask


def test_a_builder_on_the_border_of_two_cells_keeps_its_own_coordinates() -> None:
    tracker = StateTracker("walking", select_and_place=False, can_yield=True)
    grid, own = np.zeros((9, 11, 11), np.int8), (0.5 - 1e-9, 0.0, 0.0, 0.0, 0.0)
    tracker.begin(grid, own)
    tracker.correct(grid, (0.5, 0.0, 1.0, 0.0, 0.0))  # as observed in float32, after a push to the south
    assert tracker.world.pose[0].tolist() == [own[0], 0.0, 1.0, 0.0, 0.0]


def test_an_interrupted_instruction_keeps_what_was_built_before() -> None:
    lines = [f"Place a red block on the ground, {n} blocks east of the centre." for n in (1, 2, 3)]
    script = [lines[0], "Place a block.", lines[1], "Gibberish and more.", lines[2]]
    target = Task("", [(n, -1, 0, 6) for n in (1, 2, 3)])
    env = iglu_marl.raw_env(tasks=target, controls="flying", builder_sees=SIGHTS, turn_steps=200)
    agents = {"architect": Speaker(*script), "builder": ScriptedBuilder.for_env(env)}
    game = iglu_marl.play(env, agents, seed=0)
    assert game.completed
    assert game.returns[Role.BUILDER] == 6.0


@pytest.mark.parametrize(
    ("view", "architect", "builder"),
    [(iglu_marl.env, "scripted", "scripted"), (iglu_marl.parallel_env, "vague", "hasty")],
)
def test_a_game_ends_when_nothing_will_happen_any_more(view: Any, architect: str, builder: str) -> None:
    row = [(x, -1, z, RED) for x in range(-5, 5) for z in (-5, -4)]
    task = Task("", blocks_to_grid([*row, (0, -1, 2, RED)]), starting_grid=row, invariant=False)
    env = view(tasks=task, builder_sees=SIGHTS, builder_can_ask=True, max_turns=None, max_steps=5000)
    game = play(env, agents_for(env, architect, builder), seed=0)
    assert any(say("out_of_blocks", RED) in said.text for said in game.dialogue)
    assert (game.truncated, game.terminated) == (True, False)
    assert game.builder_steps < 100
    assert np.array_equal(game.grid, blocks_to_grid(row))


@pytest.mark.parametrize("view", [iglu_marl.env, iglu_marl.parallel_env])
def test_last_words_are_heard_and_heeded(view: Any) -> None:
    env = view(tasks=Task("", [(2, -1, 0, RED)]), builder_sees=SIGHTS, max_turns=None, max_steps=500)
    words: Any = Speaker(render(CellEdit.between((2, -1, 0), 0, RED)))
    words.idle = True  # it knows from the beginning that it says no more than that
    assert play(env, {"architect": words, "builder": ScriptedBuilder.for_env(env)}).completed


# --- the figures ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(root: Path) -> ModuleType:
    """The module benchmarks/pairs.py, which is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        return importlib.import_module("benchmarks.pairs")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "controls", "level"),
    [
        ("random", "walking", "blocks"),
        ("bundled", "flying", "shapes"),
        ("structures-dev.json", "walking", "blocks"),
    ],
)
def test_the_benchmark_of_pairs(
    pairs: ModuleType, capsys: pytest.CaptureFixture[str], tasks: str, controls: str, level: str
) -> None:
    source = str(shared_folder() / "data" / tasks) if tasks.endswith("json") else tasks
    options = ["--controls", controls, "--tasks", source, "--count", "4", "--level", level, "--json"]
    assert pairs.main(options) == 0
    figures = json.loads(capsys.readouterr().out)
    summary = figures["summary"]
    assert summary["games"] == summary["built"] == len(figures["games"]) == 4
    assert figures["settings"]["tasks"] == source
    if level == "shapes":
        assert summary["games_with_shapes"] == 4
        assert summary["mean_saved_with_shapes"] > 0.4
        assert summary["instructions"] < summary["edits"]


IMPOSSIBLE = {
    "21 red in a row and one",
    "21 blue apart",
    "21 red, one stands",
    "21 green of 20 purple",
    "120 afloat, each alone",
    "layer of 121 on the ground",
    "overdrawn, three moved",
}  # the others can be built by a person


def adversarial(pairs: ModuleType, name: str) -> Task:
    """One of the hundred structures of benchmarks/adversarial.jsonl."""
    tasks = tasks_from_folder(pairs.ADVERSARIAL)
    return next(task for task in tasks if str(task.task_id).endswith(f": {name}"))


def test_a_hundred_adversarial_structures(pairs: ModuleType) -> None:
    tasks = list(tasks_from_folder(pairs.ADVERSARIAL))
    assert len({task.task_id for task in tasks}) == len({hash(task) for task in tasks}) == 100
    for task in tasks:
        reason, _ = why_impossible(Problem.of((task.start_grid, Pose()), task.target_grid, "walking"))
        assert bool(reason) == (task.task_id.partition(": ")[2] in IMPOSSIBLE), task.task_id


@pytest.mark.parametrize(
    "name",
    [
        "a closed chamber furnished",
        "the inside of a cube in the upper corner",
        "an arch",
        "a tower between two walls",
        "overdrawn, one moved",
        "a cage around the builder kept",
        "what is inside moved over",
        "one block at the top in the corner",
    ],
)
@pytest.mark.parametrize("controls", ["walking", "discrete"])
def test_adversarial_structures_by_language(pairs: ModuleType, controls: str, name: str) -> None:
    (row,) = pairs.play([adversarial(pairs, name)], controls, ask=True)
    assert row["verdict"] == "built", row["reason"]


@pytest.mark.parametrize("level", ["blocks", pytest.param("shapes", marks=pytest.mark.slow)])
def test_colours_that_are_used_up_are_exchanged(pairs: ModuleType, level: str) -> None:
    """All 20 red and all 20 blue blocks stand where the others belong: one of them is removed first."""
    task = adversarial(pairs, "20 red and 20 blue exchanged")
    (row,) = pairs.play([task], "continuous", level=level, ask=True)
    assert row["verdict"] == "built", row["reason"]


@pytest.mark.slow
def test_tall_structures_of_the_corpus_by_hopping(shared: Path, pairs: ModuleType) -> None:
    for task in StructureTasks(shared / "data" / "structures-dev.json"):
        if task.task_id in ("C81", "C117", "C143"):
            (row,) = pairs.play([task], "discrete", ask=True)
            assert row["verdict"] == "built", (task.task_id, row["reason"])
