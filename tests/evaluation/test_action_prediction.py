"""Builder action prediction: counts against brute force, what a predictor can see, logs that are gone on with."""

from __future__ import annotations

import dataclasses
import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_packs import cache as cache
from typer.testing import CliRunner

from iglu_marl import AgentError, ConfigError, DataError, Dialogue, GridError, Role, Subtasks, Task, TaskError
from iglu_marl.agents import OracleBuilder, RandomBuilder, ScriptedBuilder
from iglu_marl.cli import app
from iglu_marl.core.edits import edited
from iglu_marl.core.grid import NetAction, blocks_to_grid
from iglu_marl.core.scoring import Counts
from iglu_marl.data.mdc.corpus import Corpus, Session
from iglu_marl.data.situations import Sample, Situation
from iglu_marl.evaluation.action_prediction import (
    SCORED_KINDS,
    AgentPredictor,
    Prediction,
    Predictions,
    bap_samples,
    nothing,
    one_more,
    oracle,
    predict_actions,
    published,
    task_samples,
)

EMPTY = blocks_to_grid([])
RED_AT_CENTRE = "Place a red block on the ground at the centre."


def sample(
    target: list[tuple[int, int, int, int]],
    start: list[tuple[int, int, int, int]] = (),  # type: ignore[assignment]
    *,
    text: str = RED_AT_CENTRE,
    name: str = "s/0",
    unit: str = "s",
    **more: Any,
) -> Sample:
    situation = Situation(Dialogue.of(f"<Architect> {text}"), blocks_to_grid(start), **more)
    return Sample(name, unit, situation, blocks_to_grid(target), (), "C1", ("flat",))


# ------------------------------------------------------------------------------------------------------- counts


def test_by_hand() -> None:
    """A recolouring is two actions and one change; a right cell in a wrong colour is no right placement."""
    start = [(0, -1, 0, 1), (1, -1, 0, 2)]
    one = sample([(0, -1, 0, 6), (2, -1, 0, 3)], start)
    made = [(False, 0, -1, 0, 1), (True, 0, -1, 0, 6), (True, 2, -1, 0, 4)]
    row = predict_actions(lambda _: made, [one]).rows[0]
    assert (row.placed, row.removed, row.changed) == (Counts(1, 2, 2), Counts(1, 1, 2), Counts(1, 2, 3))
    assert row.acted.f1 == pytest.approx(2 * 2 / (3 + 4))


def test_published_predictions_are_scored_again_by_their_ids(tmp_path: Path) -> None:
    samples = [sample([(x, -1, 0, 6)], name=f"s/{x}", unit=f"u{x}") for x in range(3)]
    result = predict_actions(lambda _: [(True, 1, -1, 0, 6)], samples, output=tmp_path)
    log = tmp_path / "predictions.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    assert [row["name"] for row in rows] == ["s/0", "s/1", "s/2"]
    assert published(log, samples).rows == result.rows
    assert [row.made for row in published(log, reversed(samples)).rows] == [((True, 1, -1, 0, 6),)] * 3
    head, first, *_ = log.read_text().splitlines()
    (tmp_path / "part.jsonl").write_text(f"{head}\n{first}\n")
    assert [len(row.made) for row in published(tmp_path / "part.jsonl", samples).rows] == [1, 0, 0]
    with pytest.raises(DataError, match="2 ids are of no sample here, 's/1' for one"):
        published(log, samples[:1])
    for text, fault in (
        ("", "wrong.jsonl: it is not JSON"),
        ("{}", "wrong.jsonl: it is not in the expected form"),
        ('{"format": "x"}', "wrong.jsonl: it is no log of predictions"),
        (f"{head}\n[]", "line 2: it is not in the expected form"),
        (f"{head}\n{first}\n{first}", "line 3: the id is 's/0', expected"),
        (head + '\n{"name": "s/0", "made": [[true, 0, 0.5, 0, 1]]}', "line 2: actions are"),
        (head + '\n{"name": "s/0", "made": [[true, 9, 0, 0, 1]]}', "'s/0': action at .9, 0, 0. lies outside"),
    ):
        (tmp_path / "wrong.jsonl").write_text(text)
        with pytest.raises(DataError, match=fault):
            published(tmp_path / "wrong.jsonl", samples)
    with pytest.raises(DataError, match="cannot be read"):
        published(tmp_path / "none.jsonl", samples)


@pytest.mark.parametrize("known", [False, True])
def test_the_average_is_micro_and_the_interval_goes_by_structures_or_sessions(known: bool) -> None:
    rows = [
        Prediction(
            f"{unit}/{n}",
            f"s{n}" if known else unit,
            unit if known else "",
            (),
            Counts(right, 4, 4),
            Counts(0, 0, 0),
            Counts(right, 4, 4),
            (),
        )
        for unit, right in (("a", 4), ("b", 0), ("c", 2))
        for n in range(20)
    ]
    result = Predictions({}, rows, resamples=4000)
    assert result.clusters() == ("3 structures" if known else "3 tasks")
    found = result.interval()
    assert found.value == pytest.approx(0.5)
    # of the 27 equally likely draws of three sessions one is all "b" and one all "a": both are in the 95 %
    assert (found.low, found.high) == (0.0, 1.0)
    assert result.interval("precision", "placed").value == pytest.approx(0.5)
    assert result.mean_f1().value == pytest.approx(0.5)
    uneven = [
        dataclasses.replace(rows[0], placed=Counts(1, 1, 1)),
        dataclasses.replace(rows[20], placed=Counts(0, 0, 9)),
    ]
    assert Predictions({}, uneven).interval().value == pytest.approx(2 / 11)
    assert Predictions({}, uneven).mean_f1("placed").value == pytest.approx(0.5)


def test_nothing_to_do_and_nothing_done() -> None:
    result = predict_actions(nothing, [sample([])])
    assert result.interval().value == 1.0
    result = predict_actions(nothing, [sample([(0, -1, 0, 6)])])
    assert result.interval().value == 0.0
    assert np.isnan(result.interval().low)  # one session has no interval
    assert result.to_json()["tables"]["flat"]["acted"]["counts"] == [0, 0, 1]
    json.dumps(Predictions({}, result.rows[:1]).to_json(), allow_nan=False)  # one unit has no interval


def test_edits_are_checked() -> None:
    for wrong in [(True, 6, 0, 0, 1)], [(True, 0, 0, 0, 0)], [(True, 0, 8, 0, 1)]:
        with pytest.raises(GridError):
            predict_actions(lambda _, wrong=wrong: wrong, [sample([])])
    with pytest.raises(GridError):
        predict_actions(lambda _: np.zeros((2, 2)), [sample([])])
    counted = predict_actions(lambda _: [(True, 6, 0, 0, 1)], [sample([(0, -1, 0, 6)])], on_error="count")
    assert counted.rows[0].made == ()
    assert counted.to_json()["errors"] == {"GridError": 1}
    with pytest.raises(ConfigError):
        predict_actions(nothing, [], on_error="ignore")


# ----------------------------------------------------------------------------------------------------- predictors


def test_one_more_block_on_top() -> None:
    placed = ((NetAction(True, 1, -1, 2, 3), NetAction(False, 0, -1, 0, 1)),)
    start = [(1, -1, 2, 3), (1, 0, 2, 3)]
    first = sample([], start, text="now one more", history=placed).situation
    assert one_more(first) == [(True, 1, 1, 2, 3)]
    assert one_more(sample([], text="a red and a Blue.").situation) == [(True, 0, -1, 0, 1)]
    full = [(0, y, 0, 1 + y % 6) for y in range(-1, 8)]
    assert one_more(sample([], full, text="go on").situation) == []


@pytest.mark.parametrize("controls", ["flying", "walking"])
def test_an_agent_predicts_by_acting(controls: str) -> None:
    predictor = AgentPredictor(ScriptedBuilder.for_env, controls=controls)
    far = sample([(0, -1, 0, 6)], [(3, -1, 3, 2)], pose=(-3.0, 0.25, 4.0, 90.0, 0.0))
    removal = sample([], [(2, -1, 2, 6)], text="Remove the red block.", pose=(0.0, 0.25, 0.0, 20.0, 0.0))
    odd = sample([(0, -1, 0, 6)], pose=(0.0, 0.25, 30.0, 0.0, 0.0))
    unclear = sample([(0, -1, 0, 6)], text="whatever you like")
    result = predict_actions(predictor, [far, removal, odd, unclear])
    assert [tuple(row.acted) for row in result.rows] == [(1, 1, 2), (1, 1, 1), (1, 1, 1), (0, 0, 1)]
    assert result.rows[0].made == ((True, 0, -1, 0, 6),)
    assert predictor.poses_replaced == 1
    predictor.close()


def test_a_turn_has_a_length() -> None:
    short = AgentPredictor(ScriptedBuilder.for_env, controls="walking", max_steps=2)
    assert predict_actions(short, [sample([(0, -1, 0, 6)])]).rows[0].made == ()
    with pytest.raises(ConfigError):
        AgentPredictor(ScriptedBuilder.for_env, max_steps=0)


def test_an_agent_carries_nothing_from_sample_to_sample() -> None:
    both = [sample([(0, -1, 0, 6)]), sample([], text="whatever you like")]
    together = AgentPredictor(ScriptedBuilder.for_env)
    apart = [
        predict_actions(AgentPredictor(ScriptedBuilder.for_env), [one]).rows[0] for one in reversed(both)
    ]
    assert predict_actions(together, both).rows == apart[::-1]
    drawn = [
        predict_actions(AgentPredictor(RandomBuilder.for_env, max_steps=60), both).rows for _ in range(2)
    ]
    assert drawn[0] == drawn[1]


# --------------------------------------------------------------------------------------------------------- leaks


def reachable(thing: Any) -> list[Any]:
    """Everything that references lead to from an object, but for classes and modules."""
    found, queue = {id(thing): thing}, [thing]
    while queue:
        for other in gc.get_referents(queue.pop()):
            if id(other) not in found and not isinstance(other, type) and type(other).__name__ != "module":
                found[id(other)] = other
                queue.append(other)
    return list(found.values())


def test_no_way_leads_from_a_situation_to_what_was_done(shared: Path, cache: Path) -> None:
    session = next(iter(Corpus.open(shared / "data" / "mdc.zip", structures=["C17", "C4"]).sessions.values()))
    assert any(isinstance(thing, Session) for thing in reachable(session)), "the search sees nothing"
    for one in bap_samples([session]):
        things = reachable(one.situation)
        assert not any(isinstance(thing, (Session, Corpus, Sample)) for thing in things)
        grids = [thing for thing in things if isinstance(thing, np.ndarray)]
        assert all(np.array_equal(grid, one.situation.grid) and grid.size == 1089 for grid in grids)
        assert one.situation.grid.base is None or one.situation.grid.base.size == 1089
        texts = [said.text for said in one.situation.dialogue]
        assert texts == [said.text for said in session.dialogue][: len(texts)]


def test_situations_cannot_be_scribbled_on() -> None:
    grid = EMPTY.copy()
    one = Sample("a", "a", Situation(Dialogue(), grid), blocks_to_grid([(0, -1, 0, 1)]), ())
    grid[:] = 3
    assert not one.situation.grid.any()
    with pytest.raises(ValueError, match="read-only"):
        one.situation.grid[0, 0, 0] = 1
    with pytest.raises(GridError):
        Situation(Dialogue(), np.zeros((3, 3), np.int8))


class Spy:
    """A builder that looks wherever it can, and gives up its turn."""

    seen: list[Any] = []  # noqa: RUF012

    def __init__(self, env: Any) -> None:
        self.env = env

    def reset(self, role: Role, seed: int | None) -> None:
        pass

    def act(self, observation: Any) -> Any:
        game = self.env.unwrapped
        Spy.seen += [
            observation,
            game.task.target_grid,
            game.task.full_grid,
            game.episode.worlds.state.copy(),
        ]
        return {"act": self.env.action_space("builder_0")["act"].sample(), "say": "no"}

    def close(self) -> None:
        pass


def test_the_game_does_not_know_the_target() -> None:
    """Two samples that differ in what was done alone are the same game."""
    seen = []
    for target in ([(0, -1, 0, 6)], [(1, 0, 1, 2), (2, 0, 2, 3)]):
        Spy.seen = []
        predict_actions(AgentPredictor(Spy), [sample(target)])
        seen.append(
            [
                np.asarray(thing).tobytes() if isinstance(thing, np.ndarray) else str(thing)
                for thing in Spy.seen
            ]
        )
    assert len(seen[0]) == 4
    assert seen[0] == seen[1]


def test_oracles_are_refused() -> None:
    with pytest.raises(AgentError, match="needs the target"):
        AgentPredictor(OracleBuilder.for_env)


# ------------------------------------------------------------------------------------------------- real sessions


@pytest.mark.slow
def test_the_samples_of_the_corpus(shared: Path, cache: Path) -> None:
    corpus = Corpus.open(shared / "data" / "mdc.zip")
    samples = list(bap_samples(session for session in corpus.sessions.values() if session.split == "val"))
    assert len(samples) == 1321
    assert len({one.unit for one in samples}) == 101
    for one in samples:  # the states that ids go with are those of the corpus
        session, (first, last) = corpus.sessions[one.unit], one.states
        np.testing.assert_array_equal(session.grids[first - 1], one.situation.grid)
        np.testing.assert_array_equal(session.grids[last], one.target)
    by_unit: dict[str, list[Sample]] = {}
    for one in samples:
        by_unit.setdefault(one.unit, []).append(one)
    for one in samples[:200]:
        perfect = predict_actions(lambda _, one=one: list(one.actions), [one]).rows[0]
        assert perfect.acted.f1 == 1.0
        assert perfect.acted.asked == len(one.actions)
        np.testing.assert_array_equal(edited(one.situation.grid, one.actions), one.target)
        earlier = [part.actions for part in by_unit[one.unit] if part.states < one.states]
        assert list(one.situation.history) == earlier
    result = predict_actions(one_more, samples)
    assert result.interval().value == pytest.approx(0.0510, abs=5e-5)


@pytest.mark.slow
def test_the_samples_of_the_published_code(shared: Path, cache: Path) -> None:
    """The paper counts 3,709 and 1,331. Ids are the same by both rules."""
    corpus = Corpus.open(shared / "data" / "mdc.zip")
    for split, count in (("train", 3707), ("val", 1330)):
        sessions = [session for session in corpus.sessions.values() if session.split == split]
        samples = {one.name: one for one in bap_samples(sessions, rules="acl2020")}
        assert len(samples) == count
        assert any(not one.actions for one in samples.values())
        for one in bap_samples(sessions):
            if one.name in samples:
                assert samples[one.name].states == one.states
                assert samples[one.name].actions == one.actions
    with pytest.raises(ConfigError, match="rules is 'v2', expected one of net, acl2020"):
        next(bap_samples([], rules="v2"))


def test_tasks_as_samples() -> None:
    start, target = [(0, -1, 0, 1)], [(0, -1, 0, 2), (0, 0, 0, 2)]
    task = Task(
        "<Architect> yellow ones", blocks_to_grid(target), starting_grid=blocks_to_grid(start), task_id="t"
    )
    (one,) = task_samples([task])
    assert [tuple(action) for action in one.actions] == [
        (False, 0, -1, 0, 1),
        (True, 0, -1, 0, 2),
        (True, 0, 0, 0, 2),
    ]
    assert (one.name, one.invariant, one.situation.new_from) == ("t", False, 0)
    assert predict_actions(lambda _: list(one.actions), [one]).mean_f1().value == 1.0
    turns = list(task_samples(Subtasks(["a", "b"], [target, [*target, (1, -1, 0, 2)]], task_id="s")))
    assert [(turn.name, turn.unit) for turn in turns] == [("s", "s"), ("s/1", "s")]
    (free,) = task_samples([Task("<Architect> a tower", blocks_to_grid([(0, -1, 0, 2), (0, 0, 0, 2)]))])
    moved = predict_actions(lambda _: [(True, 3, -1, 1, 2), (True, 3, 0, 1, 2)], [free]).rows[0]
    assert (moved.changed.f1, moved.acted.f1) == (1.0, 0.0)


def test_what_nobody_built_is_left_out_or_nothing_to_change() -> None:
    start = [(0, -1, 0, 1)]
    unbuilt = dataclasses.replace(sample(start, start, name="u"), unbuilt=True)
    samples = [unbuilt, sample([(0, -1, 0, 6)], name="b")]
    for result in (predict_actions(nothing, samples), oracle(samples)):
        assert [row.name for row in result.rows] == ["b"]
        assert result.settings["left_out"] == {"unbuilt": 1}
    kept = predict_actions(nothing, samples, keep_unbuilt=True)
    assert [row.changed.f1 for row in kept.rows] == [1.0, 0.0]
    assert "left_out" not in kept.settings
    with pytest.raises(TaskError, match="all tasks are unbuilt"):
        predict_actions(nothing, [unbuilt])


def test_the_scoring_chooses_the_mean() -> None:
    """One of two placements, at a shift that IGLU 2022 allows although blocks stand at the start."""
    one = sample([(0, -1, 0, 6), (4, -1, 4, 1), (4, 0, 4, 1)], [(0, -1, 0, 6)])
    made = [(True, 3, -1, 4, 1)]
    by_scoring = {
        scoring: predict_actions(lambda _: made, [one], scoring=scoring).mean_f1().value
        for scoring in ("changes", "iglu2022", "iglu2022-corrected")
    }
    assert by_scoring == pytest.approx({"changes": 0, "iglu2022": 2 / 3, "iglu2022-corrected": 2 / 3})
    with pytest.raises(ConfigError, match="scoring is 'iglu2021'"):
        predict_actions(nothing, [one], scoring="iglu2021")


@pytest.mark.slow
def test_the_table_of_the_single_turns_by_one_command(shared: Path, tmp_path: Path) -> None:
    """Nothing 0, the oracle 1, by the tool of 2022 less; 61 of 317 left out; 8 structures."""
    pack = str(shared / "data" / "iglu-singleturn.zip")
    options = ["predict", "--corpus", "iglu-singleturn", "--data", pack, "--split", "test", "--json"]
    options += ["--builder", "oracle", "--max-steps", "20"]
    done = CliRunner().invoke(app, [*options, "--scoring", "iglu2022", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert list(found) == ["nothing", "random", "oracle"]
    for name, expected in (("nothing", (0, 0, 0)), ("oracle", (1, 0.9645, 1))):
        means = found[name]["mean_f1"]
        assert [means[scoring][0] for scoring in SCORED_KINDS] == pytest.approx(expected, abs=1e-4)
    assert found["nothing"]["settings"]["left_out"] == {"unbuilt": 61}
    assert (found["nothing"]["samples"], found["nothing"]["intervals_over"]) == (256, "8 structures")
    shown = (
        CliRunner().invoke(app, [*options[:-5], "--count", "2", "--keep-unbuilt", "--no-baselines"]).output
    )
    assert "F1 of changes" in shown
    assert "left out" not in shown


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    builders = ["--builder", "one-more", "--builder", "scripted"]
    options = ["predict", "--corpus", "bundled", "--count", "6", *builders]
    done = CliRunner().invoke(app, [*options, "-o", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["scripted"]["samples"] == 6
    assert (tmp_path / "scripted" / "predictions.jsonl").exists()
    shown = CliRunner().invoke(app, [*options, "-o", str(tmp_path)])
    assert "one-more" in shown.output
    assert "F1 of net actions (acl2020)" in shown.output
    log = str(tmp_path / "one-more" / "predictions.jsonl")
    again = ["predict", "--corpus", "bundled", "--count", "6", "--predictions", log]
    rescored = json.loads(CliRunner().invoke(app, [*again, "--json"]).stdout)[log]
    assert rescored["tables"] == found["one-more"]["tables"]
    for wrong in (["--corpus", "x"], ["--split", "x"], ["--scoring", "iglu2021"]):
        assert isinstance(CliRunner().invoke(app, ["predict", *wrong]).exception, ConfigError)
