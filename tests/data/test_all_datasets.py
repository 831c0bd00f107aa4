"""What holds for all datasets: seeded draws, copies, the cache, options, tables that cannot be read."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from made_packs import (
    DIALOG_COLUMNS,
    GAME_COLUMNS,
    game,
    step_file,
    table,
    tower,
    world,
    write_zip,
)

from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.data import (
    CDMDataset,
    MultiturnDataset,
    SingleturnDataset,
    clarifying_questions,
    human_evaluation,
    question_bank,
)
from iglu_marl.data.dataset import Dataset
from iglu_marl.data.iglu import human_evaluation as feedback
from iglu_marl.data.packs import cache as packs_cache

SOURCES: dict[str, Callable[..., Dataset]] = {
    "iglu-singleturn": SingleturnDataset,
    "iglu-multiturn": partial(MultiturnDataset, dialogs=False),
    "mdc": CDMDataset,
}


@pytest.fixture(params=SOURCES)
def read(request: pytest.FixtureRequest, shared: Path) -> Callable[..., Dataset]:
    """A function that reads the dataset of a shared pack."""
    return partial(SOURCES[request.param], path=shared / "data" / f"{request.param}.zip")


def test_draws_follow_the_seed(read: Callable[..., Dataset]) -> None:
    data = read()
    data.seed(7)
    first = [data.sample() for _ in range(20)]
    data.seed(7)
    assert [data.reset() for _ in range(20)] == first
    rng = np.random.default_rng(7)
    assert [data.sample(rng) for _ in range(20)] == first
    assert len({task.task_id for task in first}) > 10


def test_copies_and_pickles_are_equal(read: Callable[..., Dataset]) -> None:
    whole = read()
    data = whole.filter(structures=[whole.records()[0]["structure"]])
    for other in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):  # noqa: S301 - made here
        assert list(other) == list(data)
        assert other.records() == data.records()
        assert not next(iter(other)).target_grid.flags.writeable


def test_the_second_reading_comes_from_the_cache(
    read: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read()
    monkeypatch.setattr(packs_cache, "_built", lambda *_: pytest.fail("it was read again"))
    again = read()
    assert list(again) == list(first)
    assert again.report() == first.report()


def test_silent_builders_play_it(read: Callable[..., Dataset]) -> None:
    data = read()
    env = gym.make("IGLUSilentBuilder-v0", max_steps=6)
    env.set_task_generator(data)
    env.action_space.seed(0)
    names = set()
    for episode in range(30):
        observation, info = env.reset(seed=episode)
        names.add(env.task.task_id)
        assert not env.task.is_complete_at_start
        assert observation["chat"] == env.task.dialog
        assert np.array_equal(info["target_grid"] > -1, env.task.target_grid > 0)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            done = terminated or truncated
    assert len(names) > 20


WRONG_OPTIONS: list[tuple[Callable[..., Dataset], dict[str, Any]]] = [
    *((SingleturnDataset, options) for options in ({"rules": "kind"}, {"target": "best"})),
    (SingleturnDataset, {"target": "original", "rules": "strict"}),
    *((kind, {"ids": "voxel"}) for kind in (SingleturnDataset, MultiturnDataset)),
    *((kind, {"task_kwargs": {"size": 1}}) for kind in (SingleturnDataset, MultiturnDataset, CDMDataset)),
    *((kind, {"dataset_version": 2}) for kind in (SingleturnDataset, MultiturnDataset, CDMDataset)),
    *(
        (CDMDataset, {"mode": mode, "upstream_rules": rules})
        for mode, rules in (("turn", False), ("turns", True))
    ),
    (CDMDataset, {"mode": "sessions", "task_kwargs": {"progressive": True}}),
]


@pytest.mark.parametrize(("kind", "options"), WRONG_OPTIONS)
def test_wrong_options_are_refused(kind: Callable[..., Dataset], options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        kind(path="nowhere", **options)


GAMES, BANK, DIALOGS = "clarifying_questions_train.csv", "question_bank.csv", "dialogs.csv"
TABLES: dict[str, tuple[Callable[..., Any], str, str, dict[str, bytes]]] = {
    # reader, file, required column, other files of the pack
    "singleturn": (SingleturnDataset, GAMES, "InputInstruction", {}),
    "questions": (clarifying_questions, GAMES, "qbank", {}),
    "bank": (question_bank, BANK, "qrel", {GAMES: table(GAME_COLUMNS, [game(1)])}),
    "multiturn": (MultiturnDataset, DIALOGS, "StepId", {step_file("1-c1", 2): world(*tower(1))}),
    "feedback": (human_evaluation, feedback.FEEDBACK, "CompletionCode", {}),
}
COLUMNS = {GAMES: GAME_COLUMNS, BANK: "qrel,ClarifyingQuestion", DIALOGS: DIALOG_COLUMNS}


@pytest.mark.parametrize(("reader", "name", "column", "others"), TABLES.values(), ids=TABLES)
def test_a_table_without_a_column_is_refused(
    tmp_path: Path, reader: Any, name: str, column: str, others: dict[str, bytes]
) -> None:
    """What else stands in a table's place: tests/test_damaged_input.py."""
    header = COLUMNS.get(name, ",".join(feedback.COLUMNS)).replace(column, "Other").encode()
    path = write_zip(tmp_path / "pack.zip", {name: header, **others})
    with pytest.raises(DataError, match=f"{re.escape(name)} has no column {column}"):
        reader(path=path)


@pytest.mark.parametrize(("reader", "name", "column", "others"), TABLES.values(), ids=TABLES)
def test_a_pack_without_the_table_is_refused(
    tmp_path: Path, reader: Any, name: str, column: str, others: dict[str, bytes]
) -> None:
    kept = {"target_world_states/x": b"", **others} if name == GAMES else {**others, "other": b""}
    with pytest.raises(DataError, match=name.replace(".", r"\.")):
        reader(path=write_zip(tmp_path / "pack.zip", kept))
