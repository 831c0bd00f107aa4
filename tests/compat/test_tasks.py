"""Tasks, sessions and datasets as the tools of 2022 have them: arguments, attributes, iteration."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import reference_scores

import iglu_marl
from iglu_marl import GridError, TaskError, maximal_intersection
from iglu_marl.compat import iglu_datasets
from iglu_marl.compat.gridworld import data, tasks
from iglu_marl.compat.tasks import calc_reward
from iglu_marl.core.grid import to_iglu2022_ids
from iglu_marl.evaluation.metrics import iglu2022_counts
from iglu_marl.evaluation.selection import tasks_of
from iglu_marl.tasks import sample_task

ONE, TWO = np.zeros((2, 9, 11, 11), int)
ONE[0, 5, 5] = 3
TWO[0, 5, 5], TWO[1, 5, 5] = 3, 2
TALK = "<Architect> a red block\n<Builder> where?\n<Architect> in the middle"
ASKED = "<Builder> where?\n<Architect> in the middle"


def positional(thing: Any) -> list[str]:
    found = inspect.signature(thing).parameters.values()
    return [one.name for one in found if one.kind is one.POSITIONAL_OR_KEYWORD]


def test_arguments_have_their_order_and_names() -> None:
    rest = ["starting_grid", "full_grid", "invariant"]
    assert positional(tasks.Task) == ["chat", "target_grid", "last_instruction", *rest]
    assert positional(iglu_datasets.Task) == ["instruction", "target_grid", "dialog", *rest]
    for sessions in (tasks.Subtasks, iglu_datasets.Subtasks):
        assert positional(sessions) == ["dialog", "structure_seq", "invariant", "progressive", "session_id"]
    for dataset in (data.IGLUDataset, data.SingleTurnIGLUDataset, data.CDMDataset):
        assert positional(dataset)[:3] == ["dataset_version", "task_kwargs", "force_download"]
    for dataset in (iglu_datasets.MultiturnDataset, iglu_datasets.SingleturnDataset):
        assert positional(dataset)[:3] == ["dataset_version", "task_kwargs", "force_download"]
    assert positional(tasks.RandomTasks) == [
        "max_blocks", "height_levels", "allow_float", "max_dist", "num_colors", "max_cache",
    ]  # fmt: skip


def of_2022(dialog: Any, target: Any, instruction: Any, *rest: Any) -> Any:
    """A task of `iglu_datasets` with the order of arguments of `gridworld`."""
    return iglu_datasets.Task(instruction, target, dialog, *rest)


@pytest.mark.parametrize("make", [tasks.Task, of_2022])
def test_attributes_of_a_task(make: Any) -> None:
    task = make(TALK, TWO, ASKED, ONE, TWO, False)
    assert task.chat == TALK
    assert task.dialog == "<Architect> a red block"
    assert task.instruction == task.last_instruction == ASKED
    assert (task.target_grid == TWO).all()
    assert (task.starting_grid == ONE).all()
    assert (task.full_grid == TWO).all()
    assert task.invariant is False
    assert task.target_size == 2
    assert make("", TWO, "", [(0, -1, 0, 3)]).starting_grid == [(0, -1, 0, 3)]
    before = make("<Architect> earlier", TWO, "now")  # a dialog without the instruction, as the data's is
    assert before.instruction == "now"


def test_texts_of_a_task_are_as_they_were_written() -> None:
    plain = tasks.Task(TALK, TWO)
    assert plain.last_instruction == "<Architect> in the middle"
    assert (plain.starting_grid, plain.full_grid, plain.invariant) == (None, None, True)
    assert repr(plain) == "Task(2 blocks, '<Architect> in the middle')"
    assert tasks.Task("<Architect> earlier ", TWO, "now").chat == "<Architect> earlier "
    assert tasks.Task("build it", TWO).last_instruction == "build it"
    alone = iglu_datasets.Task("now", TWO)
    assert (alone.chat, alone.dialog) == ("<Architect> now", "")
    before = iglu_datasets.Task("now", TWO, "<Architect> earlier")
    assert (before.chat, before.dialog) == ("<Architect> earlier\n<Architect> now", "<Architect> earlier")


def test_a_task_is_played_as_it_says() -> None:
    task = tasks.Task("  just so ", TWO, starting_grid=[(0, -1, 0, 3)], invariant=False)
    for compat, ids in ((None, TWO), ("iglu2022", TWO)):
        game = gym.make("IGLUGridworldVector-v0", compat=compat, target_in_obs=True)
        game.set_task(task)
        seen, _ = game.reset()
        assert (seen["target_grid"] == ids).all()
        assert (seen["grid"] == ONE).all()
        assert seen["dialog"] == ("  just so " if compat else "<Architect> just so")
    many: Any = gym.make_vec("IGLUGridworldVector-v0", num_envs=2, vectorization_mode="vector_entry_point")
    many.set_task(task)
    assert many.reset()[0]["grid"].sum() == 6
    game.reset(options={"task": task})
    assert game.task.invariant is False
    two = iglu_marl.parallel_env(tasks=[task, task])
    assert two.reset(seed=1)[0]["architect_0"]["target_grid"].any()
    for one in (copy.deepcopy(task), pickle.loads(pickle.dumps(task))):  # noqa: S301 (our own)
        assert one.to_task() == task.to_task()


def test_tasks_are_taken_wherever_tasks_are() -> None:
    task = tasks.Task("a", TWO, ids="iglu2022")
    ours = task.to_task()
    assert next(iter(tasks.CustomTasks([task, ("b", ONE)]))) == ours
    assert tasks_of(task) == tasks_of([task]) == [ours.replace(task_id="task-0")]
    rng = np.random.default_rng(0)
    for source in (task, [task], {"a": [task]}, lambda: task, iter([task])):
        assert sample_task(source, rng) == ours
    with pytest.raises(TaskError):
        sample_task([tasks.Task], rng)  # the class is no task


def test_differences_are_scored_whole_and_played_without_what_goes() -> None:
    """As in an evaluation that subtracts the starting grid before it sets the task."""
    other = np.roll(ONE, 2, axis=1)
    moved = tasks.Task("", other - ONE)
    assert moved.target_size == moved.maximal_intersection(other - ONE) == 2
    game = gym.make("IGLUGridworldVector-v0", compat="iglu2022", target_in_obs=True)
    game.set_task(moved)
    assert (game.reset()[0]["target_grid"] == other).all()
    game.set_task(tasks.Task("", ONE - TWO))
    assert not game.reset()[0]["target_grid"].any()
    with pytest.raises(TaskError, match=r"holds .*9.* expected a color id"):
        game.set_task(tasks.Task("", 3 * ONE))


def test_to_dense() -> None:
    blocks = [(0, -1, 0, 3), (0, 0, 0, 2)]
    assert (tasks.Tasks.to_dense(blocks) == TWO).all()
    assert (tasks.Tasks.to_dense(np.array(blocks)) == TWO).all()
    assert not tasks.Tasks.to_dense([]).any()
    assert not tasks.Tasks.to_dense(None).any()
    dense = tasks.Tasks.to_dense(ONE - TWO)
    assert (dense == ONE - TWO).all()
    assert dense.dtype == np.int32
    for wrong in (np.zeros((9, 11)), [(0, 0, 9, 1)], "red", np.full((9, 11, 11), 0.5), [[[1]], [1]]):
        with pytest.raises(GridError):
            tasks.Tasks.to_dense(wrong)


def test_rewards_are_those_of_the_definition() -> None:
    game = gym.make("IGLUGridworldVector-v0", action_space="walking", right_scale=5, wrong_scale=0.5)
    rng = np.random.default_rng(2)
    game.set_task(tasks.Task("", [(0, -1, -1, 2), (0, 0, -1, 2), (1, -1, -1, 3)]))
    before = game.reset(seed=1, options={"pose": (0, -0.25, 0, 0, -45)})[0]["grid"]
    target, paid = game.task.target_grid, []
    for _ in range(80):
        seen, reward, over, _, _ = game.step(int(rng.choice([7, 8, 12, 13, 16, 17, 17])))
        assert reward == calc_reward(before, seen["grid"], target, right_scale=5, wrong_scale=0.5)
        before = seen["grid"]
        paid.append(reward)
        if over:
            break
    assert len(set(paid)) >= 4
    assert inspect.signature(calc_reward).parameters["right_scale"].default == 2


# ------------------------------------------------------------------------------------------- sessions


def sessions(make: Any) -> Any:
    return make(["<Architect> red", "<Architect> green on it"], [[(0, -1, 0, 3)], TWO])


@pytest.mark.parametrize("make", [tasks.Subtasks, iglu_datasets.Subtasks])
def test_sessions(make: Any) -> None:
    session = sessions(make)
    assert len(session) == 2
    assert session.structure_seq == [[(0, -1, 0, 3)], tasks.Tasks.to_sparse(TWO)]
    assert session.dialog == [["<Architect> red"], ["<Architect> green on it"]]
    first, second = session
    assert type(first) is (tasks.Task if make is tasks.Subtasks else iglu_datasets.Task)
    assert (first.dialog, first.chat) == ("", "<Architect> red")
    assert (second.dialog, second.instruction) == ("<Architect> red", "<Architect> green on it")
    assert (tasks.Tasks.to_dense(second.starting_grid) == ONE).all()
    assert (second.full_grid == TWO).all()
    session.seed(1)
    assert {session.sample().instruction for _ in range(20)} == {"<Architect> red", "<Architect> green on it"}
    assert session.reset().invariant is True
    assert sessions(lambda *given: make(*given, False))[0].invariant is False
    with pytest.raises(TaskError):
        make("one text", [ONE])


def test_the_first_starting_grid() -> None:
    """A list in gridworld, for `Tasks.to_dense`; an array in iglu_datasets, as its document says."""
    assert sessions(tasks.Subtasks)[1].starting_grid == [(0, -1, 0, 3)]
    first = sessions(tasks.Subtasks)[0].starting_grid
    assert first == []
    first.append(1)
    assert sessions(tasks.Subtasks)[0].starting_grid == []
    start = sessions(iglu_datasets.Subtasks)[0].starting_grid
    assert start.shape == (9, 11, 11)
    assert not start.any()


def test_a_session_as_the_task_of_an_environment() -> None:
    game = gym.make("IGLUGridworldVector-v0", compat="iglu2022")
    game.set_task(sessions(tasks.Subtasks))
    seen = [game.reset()[0] for _ in range(20)]
    assert {len(one["dialog"].splitlines()) for one in seen} == {1, 2}
    assert {int(one["grid"].sum()) for one in seen} == {0, 3}
    game.set_task_generator(None)
    assert game.reset()[0]["dialog"]


def test_progressive_sessions_continue_turn_by_turn_in_2022_ids() -> None:
    session = tasks.Subtasks(
        ["red", "green on it"], [[(0, -1, -1, 3)], [(0, -1, -1, 3), (1, -1, -1, 2)]], progressive=True
    )
    game = gym.make("IGLUGridworldVector-v0", compat="iglu2022")
    game.set_task(session[0])
    game.reset(options={"pose": (0, -0.25, 0, 0, -45)})
    seen, _, over, _, info = game.step(8)
    assert not over
    assert seen["dialog"].endswith("green on it")
    assert set(info["target_grid"].ravel().tolist()) == {0, 2, 3}


# ------------------------------------------------------------------------------------------- datasets


@pytest.mark.usefixtures("packs")
def test_iteration_gives_four() -> None:
    found = list(data.IGLUDataset())
    assert [entry[:3] for entry in found] == [("c73", 0, 0), ("c73", 0, 1), ("c118", 0, 0)]
    assert all(type(entry[3]) is tasks.Task for entry in found)
    assert len(data.IGLUDataset()) == 3
    singles = list(iglu_datasets.SingleturnDataset())
    assert [entry[1:3] for entry in singles] == [(0, 1), (1, 1)]
    assert all(type(entry[3]) is iglu_datasets.Task for entry in singles)
    assert type(next(iter(data.SingleTurnIGLUDataset()))[3]) is tasks.Task


@pytest.mark.usefixtures("packs")
def test_colours_of_data_are_those_of_2022() -> None:
    """Red is 3 there; whatever environment plays it, it is red."""
    theirs, ours = data.IGLUDataset(), data.IGLUDataset(ids="iglu")
    for (*_, one), (*_, other) in zip(theirs, ours, strict=True):
        assert set(one.target_grid[one.target_grid != 0].tolist()) == {3}
        assert (one.target_grid == to_iglu2022_ids(other.target_grid)).all()
    for compat, red in ((None, 6), ("iglu2022", 3)):
        for dataset in (theirs, ours):
            game = gym.make("IGLUGridworldVector-v0", compat=compat, tasks=dataset)
            assert game.reset(seed=1)[1]["target_grid"].max() == red
    two = iglu_marl.parallel_env(tasks=theirs)
    assert two.reset(seed=1)[0]["architect_0"]["target_grid"].max() == 6


@pytest.mark.usefixtures("packs")
def test_options_of_datasets() -> None:
    assert all(task.invariant for *_, task in data.IGLUDataset())
    assert not any(task.invariant for *_, task in data.IGLUDataset("v1.0", {"invariant": False}))
    assert data.IGLUDataset(dataset_version="v0.1.0-rc1").dataset_version == "v0.1.0-rc1"
    assert data.IGLUDataset().report().sessions == 2
    assert len(data.IGLUDataset().source.filter(structures="c73")) == 2


@pytest.mark.slow
def test_the_corpus_as_a_dataset(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(shared / "data"))
    corpus = data.CDMDataset(structures=["C1", "C8"])
    task = next(iter(corpus))
    assert list(corpus.tasks) == ["c1", "c8"]
    assert corpus.tasks["c1"] == corpus.tasks["C1"]
    assert len(list(corpus)) == len(corpus)
    assert task.chat.startswith("<Builder> Mission has started.")
    assert not task.target_grid[8].any()  # without the top layer, as upstream reads it
    assert task.dialog + "\n" in task.chat


def test_the_evaluator_of_2022_runs_on_tasks() -> None:
    """Its calls, against loops over every shift and rotation; also on differences, which have negative cells."""
    rng = np.random.default_rng(2)
    for _ in range(6):
        start, target, built = rng.integers(0, 7, (3, 9, 11, 11)) * (rng.random((3, 9, 11, 11)) < 0.01)
        asked = target - start
        task = tasks.Task("", asked)
        assert task.full_size == task.target_size == np.count_nonzero(asked)
        turned = [np.rot90(asked, -turns, axes=(1, 2)) for turns in range(4)]
        assert all(np.array_equal(a, b) for a, b in zip(task.target_grids, turned, strict=True))
        allowed = reference_scores.admissible(asked, True, True)
        shifts = range(-10, 11)
        assert task.admissible == [
            [(dx, dz) for dx in shifts for dz in shifts if allowed[turns, dx + 10, dz + 10]]
            for turns in range(4)
        ]
        counts = reference_scores.match_counts(built, asked)
        for turns, dx, dz in rng.integers((0, -10, -10), (4, 11, 11), (30, 3)).tolist():
            assert task.get_intersection(built, dx, dz, turns) == counts[turns, dx + 10, dz + 10]
        place = task.argmax_intersection(built)
        tool = task.get_intersection(built - start, *place)
        made = np.count_nonzero(built - start)
        assert iglu2022_counts(start, target, built) == (tool, made, task.target_size)
    whole = tasks.Task("", ONE, full_grid=TWO, invariant=False)
    assert (whole.full_size, whole.admissible) == (2, [[(0, 0)], [], [], []])


def test_the_score_of_a_difference() -> None:
    task = tasks.Task("", TWO)
    turned = np.roll(TWO, 2, axis=1)
    assert task.maximal_intersection(turned) == maximal_intersection(turned, TWO) == 2
    assert tasks.Task("", TWO, invariant=False).maximal_intersection(turned) == 0
