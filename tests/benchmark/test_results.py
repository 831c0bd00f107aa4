"""Results: the protocol on agents whose figures are known, files, averages as rliable defines them, reports."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from requirements import ROOT, require
from typer.testing import CliRunner

from iglu_marl import AgentError, ConfigError, DataError, Role
from iglu_marl.agents import RandomBuilder
from iglu_marl.agents.scripted.architect import ScriptedArchitect
from iglu_marl.benchmark import (
    OtherPlay,
    Result,
    cross_play,
    find,
    make,
    read_audits,
    read_result,
    report,
    run,
)
from iglu_marl.benchmark.models import reference_results
from iglu_marl.benchmark.results import Run, improvement, iqm, versions
from iglu_marl.benchmark.splits import SPLITS
from iglu_marl.cli import app
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER
from iglu_marl.evaluation.metrics import bootstrap_statistic, interquartile_mean


def result(*successes: float, level: str = "see-place-v0", name: str = "ours", **fields: Any) -> Result:
    """A made-up result with a run for each share of successes."""
    runs = tuple(
        Run(
            seed,
            {"success": share, "completed": share, "f1": share, "steps": 3.0},
            {"hidden": 0.0},
            ((0, 0.0), (100, share)),
        )
        for seed, share in enumerate(successes)
    )
    digest = fields.pop("digest", find(level).digest)
    given = {
        "split": "test",
        "episodes": 8,
        "tasks": "f" * 12,
        "budget": 100,
        "versions": versions(),
        **fields,
    }
    return Result(level, digest, name, runs=runs, **given)


# -------------------------------------------------------------------------------------------------------- averages


def test_interquartile_means_are_those_of_rliable() -> None:
    assert interquartile_mean(np.arange(8)) == 3.5  # 2, 3, 4, 5
    assert interquartile_mean([0, 1, 2, 3, 100]) == 2  # a quarter of five is cut to one
    assert interquartile_mean([5, 7]) == 6
    assert interquartile_mean([0, 10], counts=[3, 1]) == 0  # 0 0 0 10
    assert np.isnan(interquartile_mean([]))


def test_strata_are_drawn_by_themselves() -> None:
    """Two levels, each with runs that are alike: nothing varies. Drawn together they would."""
    scores = [[0.0] * 4, [1.0] * 4]
    assert iqm(scores) == (0.5, 0.5, 0.5)
    values = np.concatenate(scores)
    together = bootstrap_statistic(lambda counts: interquartile_mean(values, counts), 8)
    assert together.low < 0.5 < together.high
    one = bootstrap_statistic(lambda counts: float(counts @ values), 8, strata=np.zeros(8))
    assert one == bootstrap_statistic(lambda counts: float(counts @ values), 8)
    for wrong in (np.zeros(3), np.arange(8)):
        with pytest.raises(ConfigError, match="strata have the shape"):
            bootstrap_statistic(lambda counts: 0.0, 8, units=np.repeat([0, 1], 4), strata=wrong)


def test_the_probability_of_improvement() -> None:
    assert improvement([1, 2, 3], [0, 0]).value == 1
    assert improvement([1, 1], [1, 1]) == (0.5, 0.5, 0.5)
    assert improvement([0, 2], [1]).value == 0.5
    better = improvement([0.9, 0.8, 0.7, 0.2], [0.1, 0.3, 0.4])
    assert better.value == pytest.approx(10 / 12)
    assert better.low < better.value < better.high


# ----------------------------------------------------------------------------------------------------------- files


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    made = result(0.5, 0.75, command="python train.py --seed 3")
    assert read_result(made.write(tmp_path / "a.json")) == made
    assert made.is_current
    assert not result(0.5, digest="0" * 12).is_current
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "recipe"}, "format is 'recipe'"),
        ({"version": 7}, "version 7"),
        ({"runs": []}, "there are no runs"),
        ({"runs": [{"seed": 0}]}, "scores"),
        ({"episodes": "many"}, "many"),
    ],
)
def test_damaged_results_are_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps({**result(0.5).to_json(), **change}))
    with pytest.raises(DataError, match=rf"b\.json.*{said}"):
        read_result(path)
    with pytest.raises(DataError, match=r"c\.json"):
        read_result(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("rung", "see-everything-v9", "expected one of see-place-v0"),
        ("split", "dev", "expected one of train, test"),
        ("name", 7, "expected text"),
        ("episodes", 0, "expected an integer of 1 or more"),
        ("episodes", 7, "a share of 7 games"),
        ("budget", -1, "expected an integer of 0 or more"),
        ("runs[0].seed", 1.5, "expected an integer of 0 or more"),
        ("runs[0].scores.success", 1.5, "expected a number 0..1"),
        ("runs[0].scores.success", 1.0, "expected at most completed, 0.5"),
        ("runs[0].scores.f1", float("nan"), "expected a number 0..1"),
        ("runs[0].scores.steps", -3, "expected a number of 0 or more"),
        ("runs[0].scores.completed", True, "expected a number 0..1"),
        ("runs[0].scores.completed", 0.55, "completed is 0.55, expected a share of 8 games"),
        ("runs[0].controls.hidden", "none", "expected a number 0..1"),
        ("runs[0].curve[1].share", -0.5, "expected a number 0..1"),
    ],
)
def test_a_result_out_of_range_is_named(tmp_path: Path, field: str, value: Any, expected: str) -> None:
    """The error names file, field, value and what was expected; no measure of it is taken."""
    content = result(0.5).to_json()
    place: Any = content
    *way, last = field.replace("[", ".").replace("]", "").replace("share", "1").split(".")
    for part in way:
        place = place[int(part) if part.isdigit() else part]
    place[int(last) if last.isdigit() else last] = value
    path = tmp_path / "b.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError) as error:
        read_result(path)
    wrong_sum = "a share of" in expected  # of which either may be wrong
    for part in (
        str(path),
        expected,
        *(["runs[0]: "] if wrong_sum else [field.replace("rung", "level"), repr(value)]),
    ):
        assert part in str(error.value)


def test_a_result_of_models_out_of_range_is_named(tmp_path: Path) -> None:
    good = next(entry for entry in reference_results() if entry.level == "models-human-v0")
    for change, said in (
        ({"interval": [0.5, float("nan")]}, r"models.interval.high is nan, expected a number 0..1"),
        ({"games": 21}, "models.games is 21, expected an integer 0..20"),
        ({"failed": 3}, "models.failed is 3, expected an integer 0..0"),
        ({"cost": "much"}, "models.cost is 'much', expected a number of 0 or more"),
    ):
        path = tmp_path / "m.json"
        path.write_text(json.dumps({**good.to_json(), "models": {**good.models, **change}}))
        with pytest.raises(DataError, match=said):
            read_result(path)


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
    found = run("told-place-v0", ["scripted"], name="scripted", episodes=6, output=path)
    (only,) = found.runs
    assert (only.scores["success"], only.scores["completed"], only.scores["f1"]) == (1.0, 1.0, 1.0)
    assert only.controls == {"muted": 0.0, "scrambled": 0.0}
    assert read_result(path) == found
    assert found.episodes == 6
    assert found == run("told-place-v0", ["scripted"], name="scripted", episodes=6)


@pytest.mark.slow
def test_pairs_by_the_protocol() -> None:
    words = run("words-place-v0", ["scripted", ("terse", "scripted")], episodes=4)
    assert words.scores() == [1.0, 1.0]
    assert [dict(one.controls) for one in words.runs] == [{"muted": 0.0, "scrambled": 0.0}] * 2
    live = run("told-structures-v0", ["oracle"], episodes=1, controls=False)
    assert live.scores() == [1.0]


def test_a_privileged_builder_is_told_another_target_where_its_own_is_hidden() -> None:
    (only,) = run("see-place-v0", ["oracle"], episodes=4).runs
    assert only.scores["success"] == 1.0
    assert only.controls == {"hidden": 0.0}


@pytest.mark.slow
def test_a_trained_builder_by_name_sees_what_the_level_shows() -> None:
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    found = run("pictures-ground-v0", ["pov-walker-v1"], episodes=2)
    assert found.runs[0].controls.keys() == {"muted", "scrambled"}
    assert found.runs[0].controls["muted"] == 0.0


class Pointing:
    """An architect of one run: says number `run` of 8 symbols for every meaning. `heard` has who spoke to whom."""

    def __init__(self, number: int, env: Any) -> None:
        self.message = np.full(env.action_space(ARCHITECT).shape, number)

    def reset(self, role: Role, seed: int | None) -> None:
        pass

    def act(self, observation: Any) -> Any:
        return self.message

    def close(self) -> None:
        pass


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
    run("partners-place-v0", agents, episodes=4, controls=False)
    assert [found - {0} for found in heard] == [{2, 3}, {1, 3}, {1, 2}]
    for part in heard:
        part.clear()
    run("symbols-place-v0", agents, episodes=4, controls=False)
    assert [found - {0} for found in heard] == [{1}, {2}, {3}]


def test_what_cannot_be_run_is_named() -> None:
    for level, agents, options, said in (
        ("see-place-v0", [], {}, "there are 0 agents"),
        ("see-place-v0", ["oracle"], {"episodes": 0}, "0 episodes"),
        ("see-place-v0", ["oracle"], {"curves": [[], []]}, "there are 2 curves"),
        ("see-place-v0", [("scripted", "oracle")], {}, "expected no architect"),
        ("symbols-place-v0", ["oracle"], {}, "is played by pairs"),
    ):
        with pytest.raises((ConfigError, AgentError), match=said):
            run(level, agents, **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------ cross-play


@pytest.mark.slow
def test_every_architect_plays_with_every_builder() -> None:
    found = cross_play(
        "words-place-v0", {"terse": "terse", "random": "random"}, {"scripted": "scripted"}, games=6
    )
    assert found == {"terse": {"scripted": 1.0}, "random": {"scripted": 0.0}}
    mixed = cross_play("words-place-v0", {"scripted": ScriptedArchitect}, {"own": Resting}, games=3)
    assert mixed == {"scripted": {"own": 0.0}}
    with pytest.raises(ConfigError, match="expected one of pairs"):
        cross_play("see-place-v0", {}, {})


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
        self.step += 1
        turns = np.array([0, 0, 1, 3, 2])[cell % 5]  # north: nothing; right, round, left
        return [np.full(len(cell), 4), turns, 10 + color % 7, 0 * cell][min(self.step, 4) - 1]


@pytest.mark.slow
def test_symbols_suffice() -> None:
    for split in SPLITS:
        found = cross_play("symbols-place-v0", {"code": Naming()}, {"code": Obeying()}, games=20, split=split)
        assert found == {"code": {"code": 1.0}}
    two = cross_play(
        "partners-place-v0", {"code": Naming(), "noise": "random"}, {"code": Obeying()}, games=20
    )
    assert two["code"]["code"] == 1.0 > two["noise"]["code"]


@pytest.mark.slow
def test_other_play_renames_symbols_and_keeps_silence() -> None:
    level = find("symbols-place-v0")
    games = OtherPlay(make(level, "train", 64), seed=3)
    games.reset(seed=0)
    size = int(games.action_space(ARCHITECT).nvec[0])
    still = np.zeros(64, int)
    said = np.stack([np.arange(64) % size, np.zeros(64, int)], axis=1)
    heard = games.step({ARCHITECT: said, BUILDER: still})[0][BUILDER]["dialog"][:, 1]
    assert (heard[said[:, 0] == 0] == 0).all()
    spoken = said[:, 0] != 0
    assert (heard[spoken] > 0).all()
    assert len(set(heard[said[:, 0] == 1].tolist())) > 1  # another name in other games
    games.reset(seed=0)
    again = games.step({ARCHITECT: np.ones((64, 2), int), BUILDER: still})[0][BUILDER]["dialog"][:, 1:3]
    assert (again[:, 0] == again[:, 1]).all()  # one name within a game
    assert games.num_games == 64
    games.close()


class Resting:
    """A builder that does nothing."""

    def __init__(self, space: Any) -> None:
        self.action = np.zeros(space.shape, int)

    @classmethod
    def for_env(cls, env: Any) -> Resting:
        return cls(env.action_space(BUILDER))

    def reset(self, role: Role, seed: int | None) -> None:
        pass

    def act(self, observation: Any) -> Any:
        return self.action

    def close(self) -> None:
        pass


# --------------------------------------------------------------------------------------------------------- reports


def test_a_report_has_the_audit_beside_each_result() -> None:
    results = [result(0.5, 0.5, 0.75, 1.0), result(0.25, level="told-place-v0"), result(0.5, name="theirs")]
    told = report.markdown(results)
    audit = read_audits()["see-place-v0"]
    line = next(line for line in told.splitlines() if line.startswith("| `see-place-v0` | ours"))
    assert "| 4 | 100 | 62.5 (50.0–" in line  # the mean of 0.5 and 0.75
    assert f"| {100 * audit.chance:.1f} |" in line
    assert "Fewer than 5 runs: see-place-v0 (ours), told-place-v0 (ours), see-place-v0 (theirs)." in told
    assert "| ours | all |" in told
    assert "| theirs | all |" not in told
    rows = list(csv.DictReader(io.StringIO(report.to_csv(results))))
    assert [row["agent"] for row in rows] == ["ours", "ours", "theirs"]
    assert (rows[0]["success"], rows[0]["agent: hidden"], rows[0]["audit: scripted"]) == ("0.625", "0.0", "")
    assert "(of another version)" in report.markdown([result(0.5, digest="0" * 12)])


def test_names_are_text(tmp_path: Path) -> None:
    """No formula of a spreadsheet or of matplotlib, no table, no HTML."""
    bad = "=1 | $\\frac$\n<b>"
    results = [result(0.5, name=bad), result(0.25, level="told-place-v0", name=bad)]
    told = report.markdown(results, published=[result(0.5, name=bad + "2")])
    assert told.count(r"=1 \| $\\frac$ &lt;b&gt;") == 7
    assert "<b>" not in told
    (row, _) = csv.DictReader(io.StringIO(report.to_csv(results)))
    assert row["agent"] == "'" + bad
    if importlib.util.find_spec("matplotlib") is not None:
        report.plot_curves(results[:1], tmp_path / "a.svg")


def test_the_page_shows_the_published_results() -> None:
    published = sorted((ROOT / "docs" / "learning").glob("*-v0_*.json"))
    assert published
    page = (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
    for path in published:
        found = read_result(path)
        assert found.is_current, path.name
        assert f"| {' | '.join(report.overview_rows([found])[0])} |" in page, path.name


def test_a_report_compares_with_published_results() -> None:
    told = report.markdown([result(0.5, 0.75)], published=[result(0.25, 0.25, name="theirs")])
    assert "| `see-place-v0` | ours | theirs | 25.0 (25.0–25.0) | 100.0 (100.0–100.0) |" in told
    with pytest.raises(ConfigError, match=r"tasks 'f+' \(ours\) and 'e+' \(theirs\)"):
        report.comparisons([result(0.5)], [result(0.5, name="theirs", tasks="e" * 12)])
    assert report.comparisons([result(0.5)], [result(0.5, level="told-place-v0")]) == []


def test_reports_are_written_with_curves(tmp_path: Path) -> None:
    require("matplotlib", importlib.util.find_spec("matplotlib") is not None, "matplotlib is not installed")
    paths = report.write([result(0.5, 1.0)], tmp_path / "out")
    assert [path.name for path in paths] == ["benchmark.md", "benchmark.csv", "see-place-v0.svg"]
    assert (
        paths[2].read_bytes() == report.plot_curves([result(0.5, 1.0)], tmp_path / "again.svg").read_bytes()
    )
    steps, middle, low, high = report.curve(result(0.5, 1.0))
    assert (steps.tolist(), middle.tolist()) == ([0.0, 100.0], [0.0, 0.75])
    assert low[1] <= middle[1] <= high[1]
