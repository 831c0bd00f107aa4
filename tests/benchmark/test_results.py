"""Results: the protocol on agents whose figures are known, files, averages as rliable defines them, reports."""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import io
import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from requirements import ROOT, require, shared_folder
from typer.testing import CliRunner

from iglu_marl import AgentError, ConfigError, DataError, Role, Task
from iglu_marl.agents import RandomBuilder
from iglu_marl.agents.scripted.architect import ScriptedArchitect
from iglu_marl.benchmark import Result, cross_play, find, read_result, report, run, verify
from iglu_marl.benchmark.audits import read_audits
from iglu_marl.benchmark.games import BACKGROUND
from iglu_marl.benchmark.protocol import _scheduled
from iglu_marl.benchmark.results import EpisodeRow, Recordings, Run, improvement, iqm, means
from iglu_marl.benchmark.splits import SPLITS
from iglu_marl.cli import app
from iglu_marl.core.versions import versions
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER
from iglu_marl.evaluation.metrics import (
    bootstrap_statistic,
    crossed_bootstrap,
    interquartile_mean,
    share_interval,
)
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
    *successes: float, level: str = "see-place-v1", name: str = "ours", episodes: int = 8, **fields: Any
) -> Result:
    """A made-up result with a run for each share of successes; each of its episodes has a content of its own."""
    rows = tuple(
        EpisodeRow(run, f"{seed:012x}", "", seed, won, won, float(won), int(won), 3)
        for run, share in enumerate(successes)
        for seed in range(episodes)
        for won in [seed < share * episodes]
    )
    controls = dict.fromkeys(find(level).agent_controls, 0.0)
    runs = tuple(
        Run(run, means(rows[run * episodes :][:episodes]), controls, ((0, 0.0), (100, share)))
        for run, share in enumerate(successes)
    )
    given = {
        "split": "test",
        "tasks": "f" * 12,
        "budget": 100,
        "versions": versions(),
        "rows": rows,
        "recordings": Recordings("ours.games.jsonl", "0" * 64, len(rows) * (1 + len(controls))),
        **fields,
    }
    return Result(level, find(level).digest, name, runs=runs, episodes=episodes, **given)


# -------------------------------------------------------------------------------------------------------- averages


def test_strata_are_drawn_by_themselves() -> None:
    """Two levels, each with runs that are alike: nothing varies. Drawn together they would."""
    scores = [[0.0] * 4, [1.0] * 4]
    assert iqm(scores) == (0.5, 0.5, 0.5)
    values = np.concatenate(scores)
    together = bootstrap_statistic(lambda counts: interquartile_mean(values, counts), 8)
    assert together.low < 0.5 < together.high
    one = bootstrap_statistic(lambda counts: float(counts @ values), 8, strata=np.zeros(8))
    assert one == bootstrap_statistic(lambda counts: float(counts @ values), 8)
    with pytest.raises(ConfigError, match="strata have the shape"):
        bootstrap_statistic(lambda counts: 0.0, 8, strata=np.zeros(3))


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
    many = result(0.5, rows=tuple(rows), episodes=200)
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
    assert not np.isnan([found.interval(name) for name in ("success", "completed", "f1", "steps")]).any()


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


def test_one_episode_has_an_interval(tmp_path: Path) -> None:
    """Neither table nor JSON has a nan where there is one run of one game."""
    one = result(1.0, episodes=1)
    path = one.write(tmp_path / "one.json")
    (row,) = report.entries([read_result(path)])
    assert (row["success"], row["high"]) == (1.0, 1.0)
    assert 0 < row["low"] < 1  # Wilson's
    assert "nan" not in json.dumps(report.entries([one])).lower() + report.markdown([one]) + report.to_csv(
        [one]
    )
    done = CliRunner().invoke(app, ["benchmark", "report", str(path), "--json"])
    assert json.loads(done.output, parse_constant=pytest.fail) == [row]


# -------------------------------------------------------------------------------------------------------- protocol


@pytest.mark.slow
def test_the_scripted_builder_by_the_protocol(tmp_path: Path) -> None:
    path = tmp_path / "scripted.json"
    found = run("told-place-v1", ["scripted"], name="scripted", episodes=6, output=path)
    (only,) = found.runs
    assert (only.scores["success"], only.scores["completed"], only.scores["f1"]) == (1.0, 1.0, 1.0)
    assert only.controls == {"muted": 0.0, "scrambled": 0.0}
    assert read_result(path) == found
    assert found.episodes == 6
    assert found.contents == 4  # all, before any comes again in another wording or direction
    assert found == run("told-place-v1", "scripted", name="scripted", episodes=6)  # alone


@pytest.mark.parametrize("partners", [1, 3])
def test_a_control_gets_each_of_the_other_tasks_once_before_any_again(partners: int) -> None:
    tasks = [Task(str(number), [(x, -1, 0, 1) for x in range(number + 1)]) for number in range(4)]
    level: Any = SimpleNamespace(tasks=lambda split: CustomTasks(tasks))
    begun = set()
    for seed in range(20):
        games = _scheduled(level, "test", seed, 3 * 4 * partners, partners)
        assert [game.number for game in games] == list(range(3 * 4 * partners))
        for partner, task in product(range(partners), tasks):
            mine = [game for game in games if (game.partner, game.task) == (partner, task)]
            assert sorted(tasks.index(game.other) for game in mine) == [
                number for number, other in enumerate(tasks) if other is not task
            ]
        begun.add(games[0].other)
    assert begun == {*tasks[1:]}  # which one is the first depends on the seed


@pytest.mark.slow
def test_pairs_by_the_protocol() -> None:
    words = run("words-place-v1", ["scripted", ("terse", "scripted")], episodes=4)
    assert words.scores() == [1.0, 1.0]
    assert [dict(one.controls) for one in words.runs] == [{"muted": 0.0, "scrambled": 0.0}] * 2
    live = run("told-structures-v1", ["oracle"], episodes=1, controls=False)
    assert live.scores() == [1.0]


def test_a_privileged_builder_gets_another_target_in_the_control() -> None:
    (only,) = run("see-place-v1", ["oracle"], episodes=4).runs
    assert only.scores["success"] == 1.0
    assert only.controls == {"blind": 0.0}


@pytest.mark.slow
def test_a_trained_builder_by_name_sees_what_the_level_shows() -> None:
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    found = run("pictures-ground-v1", ["pov-walker-v1"], episodes=2)
    assert dict(found.runs[0].controls) == {"muted": 0.0, "scrambled": 0.0, "unsighted": 0.0}


class Pointing(Still):
    """An architect of one run: says number `run` of 8 symbols for every meaning."""

    def __init__(self, number: int, env: Any) -> None:
        self.action = np.full(env.action_space(ARCHITECT).shape, number)


class Listening(RandomBuilder):
    """A builder that keeps what it heard."""

    heard: set[int]

    def act(self, observation: Any) -> Any:
        self.heard.update(observation["dialog"][1:].tolist())
        return 0


@pytest.mark.slow
def test_partners_meet_those_of_other_runs() -> None:
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
    run("partners-place-v1", agents, episodes=4, controls=False)
    assert [found - {0} for found in heard] == [{2, 3}, {1, 3}, {1, 2}]
    for part in heard:
        part.clear()
    run("symbols-place-v1", agents, episodes=4, controls=False)
    assert [found - {0} for found in heard] == [{1}, {2}, {3}]


def test_every_task_meets_every_partner(tmp_path: Path) -> None:
    """Each of the four test tasks meets each of the two other architects; runs with less do not fit the file."""
    agents = [(lambda env, number=number: Pointing(number, env), Resting.for_env) for number in range(3)]
    path = tmp_path / "partners.json"
    found = run("partners-place-v1", agents, episodes=8, controls=False, output=path)
    for seed in range(3):
        met = {(row.task, row.partner) for row in found.rows if row.run == seed}
        assert len(met) == 8
        assert {partner for _, partner in met} == {f"run {other}" for other in range(3) if other != seed}
    assert verify(path) == 0


def test_runs_cover_all_combinations() -> None:
    found = run("see-place-v1", ["oracle"] * 6, episodes=4, controls=False)
    assert found.contents == 24
    assert found.flags() == ["no control blind", "no games", "no steps of training", "gets the task"]
    assert run("see-place-v1", ["oracle"] * 2, seeds=(3, 9), episodes=1).flags()[3:] == [
        "2 of 6 runs",
        "1 of 6 folds",
    ]


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

    run("see-place-v1", [Spy], episodes=4, controls=False)
    assert len(seen) == 4 * 6
    assert not any(seen)


def test_recorded_games_are_replayed(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    for level, agents in (
        ("see-place-v1", ["oracle", "random"]),
        ("words-place-v1", [("terse", "scripted")]),
    ):
        found = run(level, agents, episodes=4, controls=False, output=path, record=True)
        assert verify(path) == len(found.rows) == 4 * len(agents)
        assert verify(path) == len(found.rows)
    with pytest.raises(ConfigError, match="record is True without output"):
        run("see-place-v1", ["oracle"], record=True)


def test_flags_stand_beside_a_result() -> None:
    above = result(0.5, budget=400_000)
    above = dataclasses.replace(above, runs=(above.runs[0]._replace(controls={"blind": 1.0}),))
    assert above.flags(0.25) == [
        "budget 400,000 above the level's 300,000",
        "blind 100.0% above chance 25.0%",
        "1 of 6 runs",
        "1 of 6 folds",
    ]
    (row,) = report.entries([above])
    assert row["flags"].startswith("budget 400,000 above the level's 300,000; blind 100.0% above chance")
    assert "budget 400,000 above" in report.markdown([above])


def test_what_cannot_be_run_is_named() -> None:
    for level, agents, options, said in (
        ("see-place-v1", [], {}, "there are 0 agents"),
        ("see-place-v1", ["oracle"], {"episodes": 0}, "0 episodes"),
        ("see-place-v1", ["oracle"], {"budget": -1}, "a budget of -1"),
        ("see-place-v1", ["oracle"], {"name": "x" * 201}, "expected a text of at most 200 characters"),
        (
            "see-place-v1",
            ["oracle"],
            {"curves": [[(0, 1.5)]]},
            r"curves\[0\]\[0\]\[1\] is 1.5, expected a number",
        ),
        ("see-place-v1", ["oracle", RandomBuilder], {}, "agents mixes scripted builders"),
        ("see-place-v1", ["oracle"], {"curves": [[], []]}, "there are 2 curves"),
        ("see-place-v1", ["oracle"] * 2, {"seeds": [3, 3]}, "expected 2 different ones"),
        ("see-place-v1", [("scripted", "oracle")], {}, "expected no architect"),
        ("symbols-place-v1", ["oracle"], {}, "is played by pairs"),
    ):
        with pytest.raises((ConfigError, AgentError), match=said):
            run(level, agents, **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------ cross-play


@pytest.mark.slow
def test_every_architect_plays_with_every_builder() -> None:
    found = cross_play(
        "words-place-v1", {"terse": "terse", "random": "random"}, {"scripted": "scripted"}, games=6
    )
    assert found == {"terse": {"scripted": 1.0}, "random": {"scripted": 0.0}}
    mixed = cross_play("words-place-v1", {"scripted": ScriptedArchitect}, {"own": Resting}, games=3)
    assert mixed == {"scripted": {"own": 0.0}}
    with pytest.raises(ConfigError, match="expected one of pairs"):
        cross_play("see-place-v1", {}, {})


class Naming:
    """An architect of many games with a code made up for the purpose: a symbol for the cell, one for the colour."""

    def begin(self, count: int, seed: int) -> None:
        pass

    def act(self, observations: Any) -> Any:
        grids = observations["target_grid"]
        _, _, x, z = np.argwhere(grids).T
        return np.stack([1 + (x == 6) + 2 * (z == 6) + 3 * (x == 4), grids.max(axis=(1, 2, 3))], axis=1)


class Obeying:
    """A builder of many games that knows the code."""

    def begin(self, count: int, seed: int) -> None:
        self.step = 0

    def act(self, observations: Any) -> Any:
        _, cell, color = observations["dialog"].T
        if self.step == 0:
            self.yaw = np.rint(observations["agentPos"][:, 4] / 90).astype(int)
        self.step += 1
        turns = np.array([0, 1, 3, 2])[(cell - 1 - self.yaw) % 4]  # ahead: nothing; right, round, left
        return [np.full(len(cell), 4), turns, 10 + color % 7, 0 * cell][min(self.step, 4) - 1]


@pytest.mark.slow
def test_symbols_suffice() -> None:
    for split in SPLITS:
        found = cross_play("symbols-place-v1", {"code": Naming()}, {"code": Obeying()}, games=20, split=split)
        assert found == {"code": {"code": 1.0}}
    two = cross_play(
        "partners-place-v1", {"code": Naming(), "noise": "random"}, {"code": Obeying()}, games=20
    )
    assert two["code"]["code"] == 1.0 > two["noise"]["code"]


def test_a_player_meets_all_frozen_partners_but_itself(tmp_path: Path) -> None:
    own, path = "partners-place-mappo-2-v1", tmp_path / "a.json"
    for pair, games in (((BACKGROUND, own), 22), ((own, BACKGROUND), 11)):
        found = run("partners-place-v1", [pair], episodes=games, controls=False, output=path, record=True)
        partners = {row.partner for row in found.rows}
        assert len(partners) == 11
        assert own not in partners
        assert verify(path) == games
    first = found.rows[0]._replace(partner="partners-place-mappo-7-v1")
    dataclasses.replace(found, rows=(first, *found.rows[1:])).write(path)
    with pytest.raises(DataError, match=r"partners are .*mappo-7-v1"):
        verify(path)
    for level, builder, said in (
        ("partners-place-v1", BACKGROUND, "architect and builder are both 'background'"),
        ("words-place-v1", "scripted", "words-place-v1 has no frozen partners"),
    ):
        with pytest.raises(AgentError, match=said):
            run(level, [(BACKGROUND, builder)], episodes=1)


class Resting(Still):
    """A builder that does nothing."""

    def __init__(self, space: Any) -> None:
        self.action = np.zeros(space.shape, int)

    @classmethod
    def for_env(cls, env: Any) -> Resting:
        return cls(env.action_space(BUILDER))


# --------------------------------------------------------------------------------------------------------- reports


def test_a_report_has_the_audit_beside_each_result() -> None:
    results = [result(0.5, 0.5, 0.75, 1.0), result(0.25, level="told-place-v1"), result(0.5, name="theirs")]
    told = report.markdown(results)
    audit = read_audits()["see-place-v1"]
    line = next(line for line in told.splitlines() if line.startswith("| `see-place-v1` | ours"))
    assert "| 4 | 8 | 100 | 68.8 (" in line
    assert f"| {100 * audit.constant:.1f} |" in line
    assert "| ours | all |" in told
    assert "| theirs | all |" not in told
    rows = list(csv.DictReader(io.StringIO(report.to_csv(results))))
    assert [row["agent"] for row in rows] == ["ours", "ours", "theirs"]
    assert (rows[0]["success"], rows[0]["agent: blind"], rows[0]["audit: scripted"]) == ("0.6875", "0.0", "")


def test_names_are_text() -> None:
    """No formula of a spreadsheet, no table, no HTML."""
    bad = "=1 | $\\frac$\n<b>"
    results = [result(0.5, name=bad), result(0.25, level="told-place-v1", name=bad)]
    told = report.markdown(results, published=[result(0.5, name=bad + "2")])
    assert told.count(r"=1 \| $\\frac$ &lt;b&gt;") == 5
    assert "<b>" not in told
    (row, _) = csv.DictReader(io.StringIO(report.to_csv(results)))
    assert row["agent"] == "'" + bad


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "learning").glob("*.json")), ids=lambda path: path.stem
)
def test_a_published_result_of_version_1_fits_its_level(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.name.startswith("told-human"):
        monkeypatch.setenv("IGLU_DATA_PATH", str(shared_folder() / "data"))
    assert verify(path) >= 0


def test_a_report_compares_with_published_results() -> None:
    told = report.markdown([result(0.5, 0.75)], published=[result(0.25, 0.25, name="theirs")])
    assert "| `see-place-v1` | ours | theirs | 25.0 (" in told
    assert told.rstrip().endswith("| 100.0 (100.0–100.0) |")
    with pytest.raises(ConfigError, match=r"tasks 'f+' \(ours\) and 'e+' \(theirs\)"):
        report.comparisons([result(0.5)], [result(0.5, name="theirs", tasks="e" * 12)])
    assert report.comparisons([result(0.5)], [result(0.5, level="told-place-v1")]) == []


def test_reports_are_written_with_curves(tmp_path: Path) -> None:
    made = result(0.5, 1.0, name="<ours>")
    paths = report.write([made], tmp_path / "out")
    assert [path.name for path in paths] == ["benchmark.md", "benchmark.csv", "see-place-v1.svg"]
    drawn = ET.fromstring(paths[2].read_text())
    assert [text.text for text in drawn.findall("{*}text")] == ["100 %", "0", "100 steps", "<ours>"]
    assert report.curve(made) == [(0, 0.0), (100, 0.75)]
