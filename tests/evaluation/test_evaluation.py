"""`evaluate`: the same tables however they came about, averages by hand, reports that agree with them."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import evaluated_agents
import numpy as np
import pytest
from requirements import TEST_FOLDERS
from typer.testing import CliRunner

import iglu_marl
from iglu_marl import (
    AgentError,
    ConfigError,
    GameConfig,
    Pose,
    Task,
    TaskError,
    evaluate,
)
from iglu_marl.agents import ScriptedArchitect
from iglu_marl.cli import app
from iglu_marl.evaluation import Evaluation, tasks_of
from iglu_marl.evaluation.arena import BestF1
from iglu_marl.evaluation.metrics import SCORINGS, bootstrap
from iglu_marl.evaluation.report import cell, markdown
from iglu_marl.evaluation.report import tables as tables_of
from iglu_marl.evaluation.results import MEASURES
from iglu_marl.evaluation.selection import digest
from iglu_marl.tasks import BundledTasks, RandomTasks

FAST: dict[str, Any] = {
    "controls": "flying",
    "config": {"max_steps": 200},
    "baselines": False,
    "progress": False,
}
PAIRS = (["scripted", "vague"], ["scripted", "hasty"])


def small(count: int = 3) -> list[Task]:
    rng = np.random.default_rng(1)
    return [RandomTasks(max_blocks=4).sample(rng).replace(task_id=f"t{number}") for number in range(count)]


def tables(evaluation: Evaluation) -> str:
    return json.dumps(evaluation.to_json())


@pytest.fixture(scope="module")
def whole() -> Evaluation:
    """Two by two, three tasks, two episodes: what every other way to the same games has to give."""
    return evaluate(*PAIRS, small(), episodes=2, seed=5, **FAST)


# ------------------------------------------------------------------------------------------ the same every way


@pytest.mark.slow
def test_every_pair_plays_every_task(whole: Evaluation) -> None:
    played = [(row["architect"], row["builder"], row["task"], row["episode"]) for row in whole.rows]
    assert played == [
        (a, b, f"t{t}", e) for a in PAIRS[0] for b in PAIRS[1] for t in range(3) for e in range(2)
    ]
    assert all(row["completed"] for row in whole.rows)


def test_pairs_meet_the_same_seeds(whole: Evaluation) -> None:
    seeds: dict[tuple[str, int], set[int]] = {}
    for row in whole.rows:
        seeds.setdefault((row["task"], row["episode"]), set()).add(row["seed"])
    assert all(len(found) == 1 for found in seeds.values())
    assert len({found.pop() for found in seeds.values()}) == 6


@pytest.mark.slow
def test_two_processes_give_the_same_table(whole: Evaluation, tmp_path: Path) -> None:
    spread = evaluate(*PAIRS, small(), episodes=2, seed=5, processes=2, output=tmp_path, **FAST)
    assert tables(spread) == tables(whole)
    assert (tmp_path / "evaluation.json").read_text() == json.dumps(whole.to_json(), indent=1) + "\n"


@pytest.mark.slow
def test_the_order_of_agents_and_tasks_changes_no_game(whole: Evaluation) -> None:
    turned = evaluate(PAIRS[0][::-1], PAIRS[1][::-1], small()[::-1], episodes=2, seed=5, **FAST)

    def games(evaluation: Evaluation) -> dict[Any, Any]:
        left_out = ("seconds", "dialogue", "grid")
        return {
            (row["architect"], row["builder"], row["key"], row["episode"]): {
                name: value for name, value in row.items() if name not in left_out
            }
            for row in evaluation.rows
        }

    assert games(turned) == games(whole)


RUN = """
import sys
from evaluated_agents import Slow
from iglu_marl import evaluate
from iglu_marl.tasks import BundledTasks
if __name__ == "__main__":
    evaluate({"slow": Slow}, ["scripted", "hasty"], list(BundledTasks(mode="structures"))[:4], episodes=3, seed=2,
             controls="flying", config={"max_steps": 400}, progress=False, processes=int(sys.argv[2]), baselines=False,
             output=sys.argv[1])
"""


def run_script(folder: Path, output: Path, processes: int, **options: Any) -> subprocess.Popen[bytes]:
    script = folder / "run.py"
    script.write_text(RUN, encoding="utf-8")
    path = os.pathsep.join([TEST_FOLDERS, os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(script), str(output), str(processes)],
        env={**os.environ, "PYTHONPATH": path},
        **options,
    )


@pytest.mark.slow
def test_a_killed_evaluation_resumes_to_the_same_table(tmp_path: Path) -> None:
    """Killed twice, on two processes and on one; what was played stays played."""
    whole = tmp_path / "whole"
    assert run_script(tmp_path, whole, 2).wait() == 0
    output = tmp_path / "killed"
    kept: list[list[str]] = []
    for processes, least in ((2, 3), (1, 9)):
        running = run_script(tmp_path, output, processes)
        log = output / "games.jsonl"
        while not log.exists() or log.read_bytes().count(b"\n") < 1 + least:
            assert running.poll() is None, "it ended before it could be killed"
            time.sleep(0.005)
        running.send_signal(signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
        kept.append(log.read_text().splitlines())
    assert len(kept[1]) < 25  # a header and 24 games
    assert run_script(tmp_path, output, 1).wait() == 0
    lines = (output / "games.jsonl").read_text().splitlines()
    assert lines[: len(kept[1]) - 1] == kept[1][:-1]  # the last one may have been cut off
    assert len(lines) == 25
    for name in ("evaluation.json", "evaluation.md"):
        assert (output / name).read_bytes() == (whole / name).read_bytes(), name


@pytest.mark.slow
def test_more_builders_tasks_and_episodes_are_added(tmp_path: Path) -> None:
    evaluate("scripted", "scripted", small(2), output=tmp_path, **FAST)
    begun = (tmp_path / "games.jsonl").read_text()
    more = evaluate("scripted", ["scripted", "hasty"], small(3), episodes=2, output=tmp_path, **FAST)
    assert tables(more) == tables(evaluate("scripted", ["scripted", "hasty"], small(3), episodes=2, **FAST))
    log = (tmp_path / "games.jsonl").read_text()
    assert log.startswith(begun)
    assert len(log.splitlines()) == 1 + 12


# ------------------------------------------------------------------------------------------------ averages by hand


def row(architect: str, builder: str, key: str, episode: int = 0, **values: Any) -> dict[str, Any]:
    base = dict.fromkeys(("precision", "recall", "f1", *SCORINGS.values(), "return"), 0.0)
    counts = {"steps": 10, "turns": 1, "instructions": 2, "words": 10, "questions": 0}
    return {
        "architect": architect, "builder": builder, "key": key, "task": f"task {key}", "episode": episode,
        "skills": [], "completed": False, "exact": False, "actions": [0, 0, 1], "error": "", "seed": 0,
        "structure": "",
        **base, **counts, **values,
    }  # fmt: skip


SETTINGS = {
    "seed": 0, "architects": ["a"], "builders": ["b", "c"], "tasks": ["task 0", "task 1"], "episodes": 2,
    "view": "aec", "iglu_marl": "0", "config": {"controls": "walking", "chat": "text", "max_steps": 1},
}  # fmt: skip
ROWS = [
    row("a", "b", "0", completed=True, f1=1.0, actions=[1, 1, 1], words=8, skills=["flat"]),
    row("a", "b", "0", 1, f1=0.5, actions=[0, 1, 9], words=4, instructions=1, skills=["flat"]),
    row("a", "b", "1", completed=True, f1=0.9, actions=[2, 2, 2], questions=3, skills=["flat", "tall"]),
    row("a", "c", "1", error="Oops: it's broken", instructions=0, words=0),
]


def test_averages_are_those_of_the_definition() -> None:
    made = Evaluation(SETTINGS, ROWS, resamples=500)
    first, second = made.summary("architect", "builder")
    assert (first["games"], first["errors"], second["games"], second["errors"]) == (3, 0, 1, 1)
    assert first["completed"].value == pytest.approx(2 / 3)
    assert first["f1"].value == pytest.approx(0.8)
    assert first["action_f1"].value == pytest.approx(2 * 3 / (4 + 12))  # of sums, not of scores
    assert first["words_per_instruction"].value == pytest.approx(22 / 5)
    assert first["questions_per_instruction"].value == pytest.approx(3 / 5)
    assert np.isnan(second["words_per_instruction"].value)
    assert second["f1"].value == 0.0
    assert np.isnan(second["f1"].low)  # one game has no interval
    assert made.matrix("f1")["a"]["b"] == first["f1"]


def test_a_game_whose_service_failed_is_in_no_average() -> None:
    rows = [*ROWS, row("a", "b", "1", 1, scored=False, error="503"), row("a", "d", "1", scored=False)]
    first, second, third = Evaluation(SETTINGS, rows).summary("architect", "builder")
    assert (first["games"], first["errors"], first["failed"]) == (3, 0, 1)
    assert first["f1"] == Evaluation(SETTINGS, ROWS).summary("architect", "builder")[0]["f1"]
    assert (second["failed"], third["games"], third["failed"]) == (0, 0, 1)
    assert np.isnan(third["f1"].value)


def test_all_episodes_of_a_task_are_drawn_together() -> None:
    made = Evaluation(SETTINGS, ROWS, resamples=500)
    assert made.summary("builder")[0]["f1"] == bootstrap([1.5, 0.9], [2.0, 1.0], resamples=500, rng=0)
    assert made.clusters() == "2 tasks"


def test_all_tasks_of_a_structure_are_drawn_together() -> None:
    """Three tasks of C1, one of C2 and one of unknown structure: three clusters, with these sums and sizes."""
    values = (("C1", 1.0), ("C1", 0.5), ("C1", 0.0), ("C2", 0.25), ("", 1.0))
    rows = [row("a", "b", str(n), structure=name, change_f1=f1) for n, (name, f1) in enumerate(values)]
    made = Evaluation({**SETTINGS, "builders": ["b"]}, rows, resamples=500)
    expected = bootstrap([1.5, 0.25, 1.0], [3.0, 1.0, 1.0], resamples=500, rng=0)
    assert made.summary("builder")[0]["change_f1"] == expected
    assert expected.value == 2.75 / 5
    assert made.clusters() == "2 structures and 1 task"
    assert "over 2 structures and 1 task" in markdown(made)
    by_structure = {entry["structure"]: entry for entry in made.summary("structure")}
    assert {name: entry["games"] for name, entry in by_structure.items()} == {"C1": 3, "C2": 1, "task 4": 1}
    assert by_structure["C1"]["change_f1"].value == 0.5
    structures = next(table for table in tables_of(made) if table.title == "Structures: F1 of changes")
    assert [line[:3] for line in structures.rows] == [
        ["C1", "3", "0.500"],
        ["C2", "1", "0.250"],
        ["task 4", "1", "1.000"],
    ]


# ------------------------------------------------------------------------------------------ what doing nothing scores

RED, BLUE = (0, -1, 0, 6), (1, -1, 0, 1)
ONTO = Task("<Architect> a blue one beside it", [RED, BLUE], starting_grid=[RED], task_id="onto")
UNBUILT = Task("<Architect> a red one", [BLUE], starting_grid=[BLUE], task_id="not built", unbuilt=True)
SHORT: dict[str, Any] = {**FAST, "baselines": True, "config": {"max_steps": 60}}


def test_doing_nothing_scores_nothing_beside_every_builder(tmp_path: Path) -> None:
    """Half of the target stands at the start: the F1 of the world is 2 / 3, that of the changes 0."""
    found = evaluate("replay", "oracle", [ONTO], output=tmp_path, **SHORT)
    (game,) = found.rows
    assert (game["change_f1"], game["f1"], game["best_f1"]) == (1.0, 1.0, 1.0)
    assert [row["builder"] for row in found.baselines] == ["nothing", "random"]
    matrix = found.matrix(found.headline)["replay"]
    assert [matrix[name].value for name in ("oracle", "nothing")] == [1.0, 0.0]
    assert found.matrix("f1")["replay"]["nothing"].value == pytest.approx(2 / 3)
    assert found.baselines[1]["steps"] == 60
    text = markdown(found)
    crossed = text.partition("## Cross-play: F1 of changes")[2].split("\n## ")[0]
    assert "| replay | 1.000 | 0.000 |" in crossed
    for title in ("Skills", "Structures"):
        assert (
            "| oracle | nothing | random |"
            in text.partition(f"## {title}: F1 of changes")[2].split("\n## ")[0]
        )
    again = evaluate("replay", "oracle", [ONTO], output=tmp_path, **SHORT)
    assert (tables(again), again.baselines) == (tables(found), found.baselines)
    without = evaluate("replay", "oracle", [ONTO], **{**SHORT, "baselines": False})
    assert (without.baselines, set(without.matrix()["replay"])) == ([], {"oracle"})


@pytest.mark.parametrize(("scoring", "measure"), SCORINGS.items())
def test_the_scoring_chooses_what_comes_first(scoring: str, measure: str) -> None:
    found = evaluate("replay", "oracle", [ONTO], **{**SHORT, "baselines": False}, scoring=scoring)
    assert found.headline == measure
    assert found.matrix(measure)["replay"]["oracle"].value == 1.0
    assert markdown(found).count(f"## Cross-play: {MEASURES[measure].title}\n") == 1


def test_the_best_step_of_an_episode_counts_in_2021() -> None:
    """Two of three blocks are right, then three wrong ones are added: 4 / 5 at the best step, 4 / 8 at the end."""
    far = (5, 7, 5, 1)
    env = iglu_marl.env(tasks=Task("", [RED, BLUE, far], invariant=False))
    env.reset(seed=0)
    best = BestF1()
    for added in ([RED], [BLUE], [(4, -1, z, 2) for z in (0, 1, 2)]):
        env.unwrapped.edit(added)
        best(env)
    worlds = env.unwrapped.episode.worlds
    assert (int(worlds.best[0]), int(worlds.blocks[0])) == (2, 5)
    assert best.value == pytest.approx(4 / 5)
    env.reset(seed=0, options={"task": Task("", [far], invariant=False)})
    best(env)
    assert best.value == 0.0


def test_unbuilt_tasks_are_left_out_or_kept_alike() -> None:
    found = evaluate("replay", "oracle", [UNBUILT, ONTO], **{**SHORT, "baselines": False})
    assert [row["task"] for row in found.rows] == ["onto"]
    assert found.settings["left_out"] == {"unbuilt": 1}
    assert "Tasks left out: 1 unbuilt." in markdown(found)
    kept = evaluate("replay", "oracle", [UNBUILT, ONTO], **SHORT, keep_unbuilt=True)
    assert [(row["task"], row["change_f1"]) for row in kept.rows] == [("not built", 1.0), ("onto", 1.0)]
    nothing = [row["change_f1"] for row in kept.baselines if row["builder"] == "nothing"]
    assert nothing == [1.0, 0.0]
    assert kept.settings["left_out"] == {}
    with pytest.raises(TaskError, match="all tasks are unbuilt"):
        evaluate("replay", "oracle", [UNBUILT], **SHORT)


def test_a_game_counts_for_each_of_its_skills() -> None:
    found = {entry["skill"]: entry for entry in Evaluation(SETTINGS, ROWS).summary("skill")}
    assert {skill: entry["games"] for skill, entry in found.items()} == {"flat": 3, "tall": 1, "plain": 1}
    assert found["tall"]["f1"].value == 0.9


# ----------------------------------------------------------------------------------------------- who and what


@pytest.mark.slow
def test_agents_of_every_kind() -> None:
    found = evaluate(
        {"mute": evaluated_agents.Silent, "named": "evaluated_agents:Silent", "class": ScriptedArchitect},
        [evaluated_agents.builder, "oracle"],
        small(1),
        processes=2,
        **FAST,
    )
    assert found.settings["builders"] == ["builder", "oracle"]
    matrix = found.matrix()
    assert [matrix[name]["builder"].value for name in ("mute", "named", "class")] == [0.0, 0.0, 1.0]
    assert [across["oracle"].value for across in matrix.values()] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ("nobody", "'nobody' is unknown, expected one of .*scripted"),
        ([], "architects is empty"),
        (["vague", "vague"], "has 'vague' twice"),
        ("no.such:Thing", "cannot be imported"),
        ({"x": 5}, "architect is 5"),
    ],
)
def test_agents_that_are_none(agents: Any, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        evaluate(agents, "scripted", small(1), **FAST)


def test_tasks_of_every_kind() -> None:
    structures = list(BundledTasks(mode="structures"))
    assert tasks_of("bundled") == structures
    assert tasks_of("bundled", count=3) == structures[:3]
    assert tasks_of("turns") == list(BundledTasks())
    assert tasks_of(structures[0]) == structures[:1]
    assert tasks_of(BundledTasks().tasks["bridge"][0])[1].task_id
    assert len(tasks_of("random")) == 20
    assert tasks_of("random", count=4, seed=1) == tasks_of("random", count=4, seed=1)
    assert tasks_of("random", count=4, seed=1) != tasks_of("random", count=4, seed=2)
    first, again, other = (tasks_of(RandomTasks(max_cache=4), seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    stock = [tasks_of(RandomTasks(max_cache=3), seed=1) for _ in range(2)]
    assert stock[0] == stock[1]
    assert len(stock[0]) == 3
    for wrong in ([], [1], 7):
        with pytest.raises((ConfigError, ValueError)):
            tasks_of(wrong)
    with pytest.raises(ConfigError, match="count is 0"):
        tasks_of("bundled", count=0)
    with pytest.raises(ConfigError):
        tasks_of("no-such-file.json")


def test_equal_tasks_have_different_keys() -> None:
    task = small(1)[0]
    found = evaluate("scripted", "hasty", [task, task], **FAST)
    assert [row["key"] for row in found.rows] == [digest(task), f"{digest(task)}/1"]
    assert len({row["seed"] for row in found.rows}) == 2


OTHER = {
    "dialog": "<Architect> place a red block",
    "instruction": "place a red block",
    "starting_grid": [(1, -1, 0, 1)],
    "full_grid": [(0, -1, 0, 1), (1, -1, 0, 1)],
    "invariant": False,
    "ids": "iglu",
    "pose": Pose(yaw_deg=90.0),
}


@pytest.mark.parametrize("field", OTHER)
def test_the_hash_of_a_task_depends_on_all_but_its_name(field: str) -> None:
    task = Task("", [(0, -1, 0, 1)], invariant=True, task_id="a")
    assert digest(task) == digest(task.replace(task_id="b")) != digest(task.replace(**{field: OTHER[field]}))
    assert digest(task) == "9604b9ac5934", "as in logs of version 0.3"


@pytest.mark.slow
def test_errors_are_raised_or_counted(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no more"):
        evaluate(evaluated_agents.Broken, "scripted", small(1), **FAST)
    for processes in (1, 2):
        found = evaluate(
            evaluated_agents.Broken, "scripted", small(2), on_error="count", processes=processes, **FAST
        )
        assert found.summary("architect")[0]["errors"] == 2
        assert [row["error"] for row in found.rows] == ["RuntimeError: no more <b>words</b>"] * 2
        assert [row["instructions"] for row in found.rows] == [1, 1]  # as far as the games went
        assert [row["actions"][1] for row in found.rows] == [1, 1]
    assert "## Errors (2)" in markdown(found)


def test_whatever_is_said_is_reported(tmp_path: Path) -> None:
    """Also names that cannot be written as they are."""
    tasks = [small(1)[0].replace(task_id="t\ud800")]
    options = {**FAST, "config": {"max_steps": 200, "max_turns": 7}}
    found = evaluate({"half\udfff": evaluated_agents.Garbled}, "scripted", tasks, output=tmp_path, **options)
    (row,) = found.rows
    assert row["instructions"] == 7
    assert [text for who, text in row["dialogue"] if who == "architect"][:3] == [
        "remove the block ²",
        "place a red block ② east \ufffd",
        "\ufffd",
    ]
    assert "half\ufffd" in (tmp_path / "evaluation.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episodes": 0}, "episodes is 0"),
        ({"processes": 1.5}, "processes is 1.5"),
        ({"view": "side"}, "view is 'side'"),
        ({"config": {"no_such": 1}}, "unknown option 'no_such'"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate("scripted", "scripted", small(1), **{**FAST, **options})


@pytest.mark.parametrize(
    "options", [{"chat": "tokens"}, {"view": "parallel"}, {"controls": "walking"}], ids=str
)
def test_every_form_of_the_game(options: dict[str, str]) -> None:
    assert evaluate("vague", "hasty", small(2), **{**FAST, **options}).matrix()["vague"]["hasty"].value == 1.0


@pytest.mark.parametrize("view", ["aec", "parallel"])
def test_a_team_is_evaluated(view: str) -> None:
    parts = {"architect_0": "half:west", "architect_1": "half:east"}
    game = {"architects": 2, "builders": 2, "max_steps": 120, "sees": parts}
    task = Task("", [(-3, -1, 0, 6), (-2, -1, 0, 6), (3, -1, 0, 1)])
    found = evaluate(["scripted", "random"], "scripted", [task], view=view, seed=1, config=game)
    assert [row["completed"] for row in found.rows] == [True, False]
    assert {speaker for speaker, _ in found.rows[0]["dialogue"]} >= {"architect 0", "architect 1"}


# ------------------------------------------------------------------------------------------------------- reports


def test_tables_agree_with_the_evaluation(whole: Evaluation) -> None:
    text = markdown(whole)
    assert "12 games" not in text
    assert "24 games: 2 architects × 2 builders × 3 tasks × 2 episodes" in text
    assert json.loads(tables(whole))["pairs"][0]["completed"] == [1.0, pytest.approx(0.4385, abs=1e-4), 1.0]
    assert json.loads(tables(Evaluation(SETTINGS, ROWS)))["pairs"][1]["words_per_instruction"] == [None] * 3


# -------------------------------------------------------------------------------------------------------- command


@pytest.mark.slow
def test_evaluate_command(tmp_path: Path) -> None:
    words = ["--architect", "scripted", "--architect", "vague", "--builder", "oracle", "--count", "2"]
    words += ["--controls", "flying", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["evaluate", *words, "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert [entry["builder"] for entry in result["pairs"]] == ["oracle", "oracle", "nothing", "random"]
    assert [entry["completed"][0] for entry in result["pairs"]] == [1.0, 1.0, 0.0, 0.0]
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"games.jsonl", "evaluation.json", "evaluation.md"}
    again = CliRunner().invoke(app, ["evaluate", *words])
    assert again.exit_code == 0, again.output
    assert "evaluation.md" in again.stdout
    assert (tmp_path / "out" / "games.jsonl").read_text().count("\n") == 1 + 4 + 2


def test_a_whole_configuration_is_the_game() -> None:
    config = GameConfig(controls="flying", builder_sees=("dialog", "pose", "grid"), max_steps=40)
    task = Task("", [(0, -1, 0, 1), (0, 0, 0, 1)])
    for given in (config, dataclasses.asdict(config)):
        found = evaluate("scripted", "nothing", task, config=given, progress=False)
        assert [(row["steps"], row["completed"]) for row in found.rows] == [(40, False)]
        assert found.settings["config"]["builder_sees"] == ["dialog", "pose", "grid"]
    found = evaluate("scripted", "scripted", task, config=config, controls="walking", progress=False)
    assert found.settings["config"]["controls"] == "walking"


@pytest.mark.slow
def test_the_baseline_in_the_docs_is_what_the_command_gives(root: Path) -> None:
    """Two of its pairs, played again; should this fail, run the command that stands above the table."""
    text = (root / "docs" / "evaluation.md").read_text(encoding="utf-8").partition("Mean builder steps")[2]
    head, _, *lines = (
        [part.strip() for part in line.strip().strip("|").split("|")]
        for line in re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)[0].splitlines()
    )
    table = {(line[0], name): part for line in lines for name, part in zip(head[1:], line[1:], strict=True)}
    for architect, builder in (("scripted", "scripted"), ("vague", "hasty")):
        found = evaluate(architect, builder, config={"max_steps": 2000}, baselines=False, progress=False)
        assert table[architect, builder] == cell("steps", found.matrix("steps")[architect][builder])
