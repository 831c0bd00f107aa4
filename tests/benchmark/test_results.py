"""Results: the protocol on agents whose figures are known, files, averages as rliable defines them, reports."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from requirements import require

from iglu_marl import AgentError, ConfigError, Role, Task
from iglu_marl.agents import RandomBuilder
from iglu_marl.benchmark import Result, find, read_result, report, run, verify
from iglu_marl.benchmark.protocol import _scheduled
from iglu_marl.benchmark.results import EpisodeRow, Recordings, Run, improvement
from iglu_marl.core.versions import versions
from iglu_marl.envs.two_agent import ARCHITECT
from iglu_marl.evaluation.metrics import crossed_bootstrap, share_interval
from iglu_marl.tasks import CustomTasks


class Still:
    """An agent that does nothing: 0, or an array of zeros."""

    action: Any = 0

    def reset(self, role: Role, seed: int | None) -> None:
        pass

    def act(self, observation: Any) -> Any:
        return self.action

    def close(self) -> None:
        pass


def result(
    *successes: float, level: str = "see-ground-v2", name: str = "ours", episodes: int = 8, **fields: Any
) -> Result:
    """A made-up result with a run for each share of successes; each of its episodes has a content of its own."""
    rows = tuple(
        EpisodeRow(run, f"{seed:012x}", "", seed, won, won, float(won), int(won), 3)
        for run, share in enumerate(successes)
        for seed in range(episodes)
        for won in [seed < share * episodes]
    )
    controls = dict.fromkeys(find(level).agent_controls, 0.0)
    runs = tuple(Run(run, controls, ((0, 0.0), (100, share))) for run, share in enumerate(successes))
    given = {
        "split": "test",
        "tasks": "f" * 12,
        "budget": 100,
        "supervision": ("reward",),
        "versions": versions(),
        "rows": rows,
        "recordings": Recordings("ours.games.jsonl", "0" * 64, len(rows) * (1 + len(controls))),
        **fields,
    }
    return Result(level, find(level).digest, name, runs=runs, **given)


# -------------------------------------------------------------------------------------------------------- averages


def test_the_probability_of_improvement() -> None:
    assert improvement([1, 2, 3], [0, 0]).value == 1
    assert improvement([1, 1], [1, 1]) == (0.5, 0.5, 0.5)
    assert improvement([0, 2], [1]).value == 0.5
    better = improvement([0.9, 0.8, 0.7, 0.2], [0.1, 0.3, 0.4])
    assert better.value == pytest.approx(10 / 12)
    assert better.low < better.value < better.high


# ------------------------------------------------------------------------------------------------------- intervals


def test_repeated_tasks_are_no_new_ones() -> None:
    """Four contents are four, however often they are played; episodes alone would give a quarter of the width."""
    rows = [
        EpisodeRow(0, f"{seed % 4:012x}", "", seed, *[seed % 4 < 2] * 2, 0.5, 1, 3) for seed in range(200)
    ]
    many = result(0.5, rows=tuple(rows))
    assert (many.contents, many.interval().value) == (4, 0.5)
    low, high = many.interval()[1:]
    assert high - low >= 0.75
    alone = result(0.5, rows=tuple(row._replace(task=f"{row.seed:012x}") for row in rows), episodes=200)
    low, high = alone.interval()[1:]
    assert 0.1 < high - low < 0.2


def test_runs_and_partners_are_resampled() -> None:
    """What differs by run, or by partner, is no certainty of many episodes."""
    by_run = result(0.0, 1.0, episodes=100).interval()
    assert (by_run.low, by_run.high) == (0.0, 1.0)
    rows = result(0.5, episodes=100).rows
    split = tuple(row._replace(partner=f"run {int(row.success)}") for row in rows)
    by_partner = result(0.5, episodes=100, rows=split).interval()
    assert (by_partner.low, by_partner.high) == (0.0, 1.0)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_or_nothing_has_the_interval_of_its_contents(share: float) -> None:
    found = result(share, share, episodes=16)
    assert found.interval() == share_interval(share, 16)


def test_the_crossed_bootstrap_is_that_of_one_factor_and_covers() -> None:
    """Of one factor, it is the usual bootstrap; of two, it has the variance of both (binomial, a known case)."""
    values = np.repeat([1.0, 0.0], [30, 70])
    one = crossed_bootstrap(values, [np.arange(100)], resamples=4000)
    deviation = np.sqrt(0.3 * 0.7 / 100)
    assert one.value == 0.3
    assert (one.high - one.low) / (2 * 1.96 * deviation) == pytest.approx(1, abs=0.06)
    runs, tasks = np.divmod(np.arange(100), 10)
    effects = np.random.default_rng(0).normal(size=(2, 10))
    both = crossed_bootstrap(effects[0][runs] + effects[1][tasks], [runs, tasks], resamples=4000)
    deviation = np.sqrt(effects.var(axis=1).sum() / 10)
    assert (both.high - both.low) / (2 * 1.96 * deviation) == pytest.approx(1, abs=0.08)


# ----------------------------------------------------------------------------------------------------------- files


# -------------------------------------------------------------------------------------------------------- protocol


@pytest.mark.slow
def test_the_scripted_builder_by_the_protocol(tmp_path: Path) -> None:
    path = tmp_path / "scripted.json"
    found = run("told-ground-v2", ["scripted"], name="scripted", episodes=6, output=path)
    (only,) = found.runs
    assert [found.scores(name) for name in ("success", "completed", "f1")] == [[1.0]] * 3
    assert only.controls == {"muted": 0.0, "scrambled": 0.0}
    assert read_result(path) == found
    assert found.episodes == 6
    assert (found.supervision, found.is_reference) == (("grammar", "planner"), True)
    assert found == run("told-ground-v2", "scripted", name="scripted", episodes=6)  # alone


def test_a_control_gets_each_of_the_other_tasks_once_before_any_again() -> None:
    tasks = [Task(str(number), [(x, -1, 0, 1) for x in range(number + 1)]) for number in range(4)]
    level: Any = SimpleNamespace(tasks=lambda split: CustomTasks(tasks), is_repeated=False)
    begun = set()
    for seed in range(20):
        games = _scheduled(level, "test", seed, 3 * 4)
        assert [game.number for game in games] == list(range(3 * 4))
        for task in tasks:
            mine = [game for game in games if game.task == task]
            assert sorted(tasks.index(game.other) for game in mine) == [
                number for number, other in enumerate(tasks) if other is not task
            ]
        begun.add(games[0].other)
    assert begun == {*tasks[1:]}  # which one is the first depends on the seed


def test_a_privileged_builder_gets_another_target_in_the_control() -> None:
    found = run("see-ground-v2", ["oracle"], episodes=4)
    (only,) = found.runs
    assert found.scores() == [1.0]
    assert only.controls == {"blind": 0.0}
    assert found.supervision == ("target",)
    assert run("see-ground-v2", ["random"], episodes=1).supervision == ("nothing",)


def test_what_people_asked_for_is_measured_by_its_changes() -> None:
    """Of a level whose measure is F1, so are its scores, its controls and its table."""
    level = find("human-turns-v2")
    assert level.measure == "f1"
    row = EpisodeRow(0, "0" * 12, "", 0, False, False, 0.75, 3, 9)
    runs = (Run(0, {"muted": 0.25, "scrambled": 0.5}),)
    found = Result(level.name, level.digest, "ours", "test", "f" * 12, 0, runs, rows=(row,))
    assert (found.scores(), found.scores("completed"), found.interval().value) == ([0.75], [0.0], 0.75)
    assert read_json(found) == found
    score = report.result_table([found]).rows[0][6]
    assert score.startswith("75.0 (")
    assert score.endswith(" F1")


def read_json(found: Result) -> Result:
    return Result.from_json(json.loads(json.dumps(found.to_json())))


@pytest.mark.slow
def test_a_trained_builder_by_name_sees_what_the_level_shows() -> None:
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    level = dataclasses.replace(find("pictures-ground-v2"), max_steps=12)
    found = run(level, ["pov-walker-v2"], episodes=1)
    assert dict(found.runs[0].controls) == {"muted": 0.0, "scrambled": 0.0, "unsighted": 0.0}


class Pointing(Still):
    """An architect of one run: says symbol `number` for every meaning."""

    def __init__(self, number: int, env: Any) -> None:
        self.action = np.full(env.action_space(ARCHITECT).shape, number)


class Listening(RandomBuilder):
    """A builder that keeps what it heard."""

    heard: set[int]

    def act(self, observation: Any) -> Any:
        self.heard.update(observation["dialog"][1:].tolist())
        return super().act(observation)


@pytest.mark.slow
def test_processes_change_nothing(tmp_path: Path) -> None:
    """Parts of two runs in two processes: the rows, recordings and controls of one process, byte for byte."""
    files = []
    for processes in (1, 2):
        path = tmp_path / str(processes) / "kept.json"
        path.parent.mkdir()
        run("told-ground-v2", ["random"] * 2, episodes=4, output=path, record=True, processes=processes)
        files.append([path.read_text(), path.with_suffix(".games.jsonl").read_text()])
    assert files[0] == files[1]


def test_architects_with_symbols_also_meet_the_builder_of_the_next_run(tmp_path: Path) -> None:
    heard: list[set[int]] = [set(), set(), set()]

    def builder(number: int) -> Any:
        def made(env: Any) -> Any:
            agent = Listening.for_env(env)
            agent.heard = heard[number]
            return agent

        return made

    def architect(number: int) -> Any:
        return lambda env: Pointing(number + 1, env)

    agents = [(architect(number), builder(number)) for number in range(3)]
    path = tmp_path / "kept.json"
    run("symbols-ground-v2", agents, episodes=2, controls=False)
    assert [found - {0} for found in heard] == [{1}, {2}, {3}]
    found = run("symbols-ground-v2", agents, episodes=2, output=path, record=True)
    assert [found - {0} for found in heard] == [{1, 3}, {1, 2}, {2, 3}]
    assert [*found.runs[0].controls] == ["muted", "scrambled", "cross-play"]
    assert found.control("cross-play") == 0.0
    assert "cross-play" not in "".join(found.flags())
    assert verify(path) == 3 * 2 * 4
    assert "cross-play" not in run("symbols-ground-v2", agents[:1], episodes=1).runs[0].controls


def test_agents_do_not_get_the_environment_that_they_play_in() -> None:
    """What they are made for has neither the target that they see, nor one of the split that is scored."""
    seen: list[bool] = []

    class Spy(Still):
        def __init__(self, env: Any) -> None:
            self.env = env.unwrapped

        def act(self, observation: Any) -> Any:
            self.env.reset(seed=len(seen))
            seen.append(np.array_equal(self.env.task.target_grid, observation["target_grid"]))
            return 0

    run("see-ground-v2", [Spy], episodes=4, controls=False)
    assert len(seen) == 4 * 24
    assert not any(seen)


def test_flags_stand_beside_a_result() -> None:
    above = result(0.5, budget=4_000_000)
    above = dataclasses.replace(above, runs=(above.runs[0]._replace(controls={"blind": 1.0}),))
    assert dataclasses.replace(above, budget=0).flags()[0] == "no steps of training"
    assert above.flags() == [
        "budget 4,000,000 above the level's 2,000,000",
        "blind 100.0% above chance 0.0%",
        "1 of 6 runs",
        "1 of 6 folds",
    ]
    (row,) = report.entries([above])
    assert row["flags"].startswith(
        "budget 4,000,000 above the level's 2,000,000; blind 100.0% above chance 0.0%; "
    )
    assert "budget 4,000,000 above" in report.markdown([above])


def test_what_cannot_be_run_is_named() -> None:
    for level, agents, options, said in (
        ("see-ground-v2", [], {}, "there are 0 agents"),
        ("see-ground-v2", ["oracle"], {"episodes": 0}, "0 episodes"),
        ("see-ground-v2", ["oracle"], {"record": True}, "record is True without output"),
        ("see-ground-v2", ["oracle"], {"budget": -1}, "budget is -1, expected an integer"),
        ("see-ground-v2", ["oracle"], {"name": "x" * 201}, "expected a text of at most 200 characters"),
        (
            "see-ground-v2",
            ["oracle"],
            {"curves": [[(0, 1.5)]]},
            r"curves\[0\]\[0\]\[1\] is 1.5, expected a number",
        ),
        ("see-ground-v2", ["oracle", RandomBuilder], {}, "agents mixes scripted builders"),
        ("see-ground-v2", ["oracle"], {"curves": [[], []]}, "there are 2 curves"),
        ("see-ground-v2", [("scripted", "oracle")], {}, "is played by a builder alone"),
        ("see-ground-v2", ["oracle"], {"supervision": ["magic"]}, "expected one of nothing, target, agreed"),
        ("symbols-two-v2", ["oracle"], {}, "is played by pairs"),
    ):
        with pytest.raises((ConfigError, AgentError), match=said):
            run(level, agents, **options)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------------- reports


def test_a_report_has_the_controls_beside_each_result() -> None:
    results = [result(0.5, 0.5, 0.75, 1.0), result(0.25, level="told-ground-v2"), result(0.5, name="theirs")]
    line = next(line for line in report.markdown(results).splitlines() if "| ours |" in line)
    assert "| reward | 4 | 8 | 100 | 68.8 (" in line
    assert "| blind 0.0 | 9.7 |" in line  # 4 games of each of 8 contents: 3 of 31 others are equal
    rows = report.entries(results)
    assert [row["agent"] for row in rows] == ["ours", "ours", "theirs"]
    assert (rows[0]["value"], rows[0]["blind"], rows[0]["muted"]) == (0.6875, 0.0, None)


def test_results_of_the_same_tasks_are_compared() -> None:
    results = [result(0.5, 0.75), result(0.25, 0.25, name="theirs")]
    text = report.markdown(results)
    assert text.rstrip().endswith("| `see-ground-v2` | ours | theirs | 100.0 (100.0–100.0) |")
    for fields in ({"tasks": "e" * 12}, {"level": "told-ground-v2"}):
        assert len(report.tables([results[0], result(0.5, 0.5, **fields)])) == 1


def test_reports_are_written_with_curves(tmp_path: Path) -> None:
    made = result(0.5, 1.0, name="<ours>")
    paths = report.write([made], tmp_path / "out")
    assert [path.name for path in paths] == ["benchmark.md", "benchmark.csv", "see-ground-v2.svg"]
    drawn = ET.fromstring(paths[2].read_text())
    assert [text.text for text in drawn.findall("{*}text")] == ["100 %", "0", "100 steps", "<ours>"]
    assert report.curve(made) == [(0, 0.0), (100, 0.75)]
