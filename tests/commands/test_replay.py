"""`ReplayArchitect`: a recorded dialogue speaks when the time for it has come. And the demo that replays one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shell import run, run_json

from iglu_marl import (
    AgentError,
    ConfigError,
    Dialogue,
    Role,
    Subtasks,
    Task,
    Utterance,
    parallel_env,
    play,
    raw_env,
    replay,
)
from iglu_marl.agents import OracleBuilder, ReplayArchitect
from iglu_marl.commands.task_selection import all_tasks, chosen_name
from iglu_marl.envs.single import GridworldEnv
from iglu_marl.tasks import TaskSet

A, B = Role.ARCHITECT, Role.BUILDER
ONE = [(0, -1, 0, 1)]
TWO = [*ONE, (1, -1, 0, 2)]
THREE = [*TWO, (2, -1, 0, 3)]
SAID = [
    [Utterance(B, "hi"), Utterance(A, "a blue one"), Utterance(A, "in the middle")],
    [Utterance(B, "so?"), Utterance(A, "yes. yellow to the east")],
    [Utterance(A, "and green")],
]


def session(**options: Any) -> Subtasks:
    return Subtasks(SAID, [ONE, TWO, THREE], task_id="1-row", ids="iglu", invariant=False, **options)


def observed(blocks: Any, x: float = 0.0) -> dict[str, Any]:
    grid = np.zeros((9, 11, 11), np.int32)
    for bx, y, z, color in blocks:
        grid[y + 1, bx + 5, z + 5] = color
    return {"grid": grid, "agentPos": np.array([x, 0, 0, 0, 0], np.float32), "dialog": ""}


def begun(task: Task | None = None, **options: Any) -> ReplayArchitect:
    architect = ReplayArchitect(**options)
    architect.reset(A, 0, task=session(progressive=True)[0] if task is None else task)
    return architect


def test_the_next_turn_is_said_when_the_structure_stands() -> None:
    architect = begun()
    assert architect.act(observed([])) == "a blue one\nin the middle"
    assert architect.act(observed([], 1)) == ""
    assert architect.act(observed([(1, -1, 0, 1)], 2)) == "", "that is another place"
    assert architect.act(observed(ONE, 3)) == "yes. yellow to the east"
    assert not architect.finished
    assert architect.act(observed(TWO, 3)) == "and green"
    assert architect.finished
    assert [architect.act(observed(THREE, 3)) for _ in range(4)] == [""] * 4
    assert architect.turn == 2


def test_the_next_turn_is_said_when_the_builder_has_given_up() -> None:
    architect = begun(patience=2)
    assert architect.act(observed([])) != ""
    assert architect.act(observed([])) == "", "once is not enough"
    assert architect.act(observed([])) == "yes. yellow to the east"
    assert architect.act(observed([])) == ""
    assert architect.act(observed([], 0.1)) == "", "it moves"
    assert architect.act(observed([], 0.1)) == ""
    assert architect.act(observed([], 0.1)) == "and green"


def test_what_is_said_without_a_progressive_task() -> None:
    whole = Task(Dialogue(u for turn in SAID for u in turn), THREE, ids="iglu")
    architect = begun(whole, patience=1)
    heard = [architect.act(observed([])) for _ in range(8)]
    assert [text for text in heard if text] == [u.text for turn in SAID for u in turn if u.role is A]
    last = session()[2]
    assert begun(last).act(observed(TWO)) == "and green"
    silent = begun(Task("", ONE, ids="iglu"))
    assert [silent.act(observed([])) for _ in range(5)] == [""] * 5


def test_an_invariant_task_may_stand_elsewhere() -> None:
    made = Subtasks(SAID[:2], [ONE, TWO], ids="iglu", progressive=True)
    architect = begun(made[0])
    architect.act(observed([]))
    assert architect.act(observed([(3, -1, 3, 1)], 1)) == "yes. yellow to the east"


def test_long_words_are_said_in_parts() -> None:
    architect = begun(message_length=12)
    grid = observed([])
    heard = [architect.act(grid) for _ in range(4)]
    assert heard[:3] == ["a blue one", "in the", "middle"] or heard[:2] == ["a blue one", "in the"]
    assert all(len(text) <= 12 for text in heard)
    long = Task([Utterance(A, "x" * 25)], ONE, ids="iglu")
    architect = begun(long, message_length=10)
    assert [architect.act(grid) for _ in range(3)] == ["x" * 10, "x" * 10, "x" * 5]


def test_misuse_is_refused() -> None:
    with pytest.raises(AgentError, match="patience"):
        ReplayArchitect(patience=0)
    architect = ReplayArchitect()
    with pytest.raises(AgentError, match="call reset"):
        architect.act(observed([]))
    with pytest.raises(AgentError, match="needs the task"):
        architect.reset(A, 0)
    with pytest.raises(AgentError, match="plays the architect"):
        architect.reset(B, 0, task=session()[0])
    with pytest.raises(AgentError, match="needs 'grid'"):
        begun().act({"dialog": ""})
    with pytest.raises(AgentError, match="expected 'text'"):
        ReplayArchitect.for_env(raw_env(chat="tokens"))


@pytest.mark.parametrize("make", [raw_env, parallel_env])
@pytest.mark.parametrize("controls", ["walking", "flying"])
def test_it_plays_with_a_builder(make: Any, controls: Any) -> None:
    recorded = session(progressive=True)
    env = make(tasks=recorded[0], controls=controls, max_steps=2000)
    architect = ReplayArchitect.for_env(env)
    agents = {"architect": architect, "builder": OracleBuilder.for_env(env)}
    played = play(env, agents, seed=0)
    assert played.completed
    assert played.dialogue[0].text.startswith("a blue one")
    spoken = [u.text for u in played.dialogue]
    assert spoken == ["a blue one\nin the middle", "yes. yellow to the east", "and green"][: len(spoken)]


def test_it_speaks_in_a_single_agent_environment() -> None:
    recorded = session(progressive=True)
    env = GridworldEnv(
        "flying", tasks=recorded[0], vector_state=True, architect=ReplayArchitect(), turn_steps=5
    )
    observation, _ = env.reset(seed=0)
    builder = OracleBuilder.for_env(env)
    builder.reset(B, 0, task=env.task)
    over = False
    while not over:
        observation, _, terminated, truncated, _ = env.step(builder.act(observation))
        over = terminated or truncated
    assert terminated
    assert "<Architect> a blue one" in observation["dialog"]
    assert "<Builder>" not in observation["dialog"], "recorded builders are not heard"


# -- the demo


def test_the_demo_takes_any_pair(tmp_path: Path) -> None:
    facts = run_json(
        "demo", *["--architect", "vague", "--builder", "oracle", "--task", "bridge", "-o"], tmp_path
    )
    assert (facts["controls"], facts["completed"], facts["turns"]) == ("walking", True, 1)


def test_the_demo_takes_the_corpus(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    corpus = str(shared / "data" / "mdc.zip")
    facts = run_json("demo", "--data", corpus, *["--task", "C8", "--controls", "flying", "-o"], tmp_path)
    assert (facts["task"], facts["completed"], facts["target_blocks"]) == ("C8", True, 12)
    tasks = all_tasks(data=Path(corpus))
    assert len({chosen_name(tasks, None, seed) for seed in range(4)}) > 1


def test_a_dialogue_of_people_is_spoken_to_a_builder_that_is_named(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    corpus, path = str(shared / "data" / "mdc.zip"), tmp_path / "game.jsonl"
    options = ["--data", corpus, "--task", "C8", "--architect", "replay", "--controls", "flying"]
    (facts,) = run_json("record", path, *options, code=1)["games"]
    assert facts["target_blocks"] == 12
    game = replay(path)
    said = [one.text for one in game.dialogue if one.role is Role.ARCHITECT]
    told = [one.text for one in TaskSet("C8", path=corpus)["C8"].dialogue if one.role is Role.ARCHITECT]
    assert said == told
    with pytest.raises(ConfigError, match="--task-source and --data exclude each other"):
        run("record", f"{path}2", *options, "--task-source", "random")


def test_wrong_options_of_the_demo(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--task-source .*exclude"):
        run("demo", "--task-source", "s.json", "--data", tmp_path)
