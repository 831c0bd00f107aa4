"""One split for all corpora: it is the Minecraft corpus's own, never moves, and leaks nothing; the check sees leaks."""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iglu_marl import DataError, Subtasks, Task
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.data import (
    CDMDataset,
    MultiturnDataset,
    SingleturnDataset,
    Split,
    bundled,
    check_split,
)
from iglu_marl.data.splits import SplitWarning, hash_fraction
from iglu_marl.tasks import SessionTasks, TaskSet

TOWER = [(0, y, 0, 1 + (y + 1) % 2) for y in range(-1, 6)]  # seven blocks
PARTS = ("train", "val", "test")


@pytest.fixture
def corpora(shared: Path) -> list[Any]:
    data = shared / "data"
    return [
        CDMDataset(data / "mdc.zip"),
        SingleturnDataset(path=data / "iglu-singleturn.zip"),
        MultiturnDataset(path=data / "iglu-multiturn.zip", dialogs=False),
    ]


def structures(dataset: Any) -> set[str]:
    return {
        dataset.structure_of(name, entry).upper()
        for name, entries in dataset.tasks.items()
        for entry in entries
    }


def test_it_is_the_own_split_of_the_minecraft_corpus(shared: Path) -> None:
    with zipfile.ZipFile(shared / "data" / "mdc.zip") as pack:
        own = json.loads(pack.read("data/logs/splits.json"))
    assert {part: len(own[part]) for part in PARTS} == {"train": 85, "val": 29, "test": 39}
    for part in PARTS:
        assert {Split.of(structure) for structure in own[part]} == {part}
        assert {Split.of(structure.lower()) for structure in own[part]} == {part}
    unnamed = set(TaskSet.ALL) - {structure for part in PARTS for structure in own[part]}
    assert unnamed == {"C3", "C17", "C32", "C38"}
    assert {Split.of(structure) for structure in unnamed} == {Split.TRAIN}


def test_no_structure_is_in_two_parts_of_any_corpora(corpora: list[Any]) -> None:
    parts: dict[str, list[Any]] = {part: [one.split(part) for one in corpora] for part in PARTS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_split(**parts) == []
    for part in PARTS:  # by the names alone, too
        others = [structures(one) for other in PARTS if other != part for one in parts[other]]
        assert set().union(*map(structures, parts[part])).isdisjoint(set().union(*others))
    assert [[len(one) for one in parts[part]] for part in PARTS] == [
        [3702, 1038, 369],
        [1321, 61, 28],
        [0, 317, 69],
    ]
    assert [sum(map(len, one.split().values())) for one in corpora] == [len(one) for one in corpora]


def test_a_split_by_another_hash_leaks_and_is_reported(corpora: list[Any], shared: Path) -> None:
    minecraft, singleturn, _ = corpora
    train = singleturn.filter(where=lambda record: hash_fraction(f"iglu_marl {record['structure']}") < 0.8)
    kept_back = [name for name, part in minecraft.corpus.splits.items() if part == "test"]
    with pytest.warns(SplitWarning, match=r"structures in several parts \(7\): C135 in train and test"):
        shared_ones = check_split(train=[minecraft.split("train"), train], test=kept_back)
    assert {one.names[0] for one in shared_ones} == {"C51", "C53", "C54", "C74", "C78", "C96", "C135"}


def test_what_is_frozen_does_not_move() -> None:
    names = [*TaskSet.ALL, *bundled.load(), "my house", "C158", "C1000"]
    parts = [Split.of(name) for name in names] + [Split.of(blocks_to_grid(TOWER[:n])) for n in range(1, 8)]
    digest = hashlib.sha256(" ".join(parts).encode()).hexdigest()
    assert digest == "8a249ef929fb22610ef0acdabb33f4daa702608d15ea630f7b566272762c01a1"  # of SPLIT_VERSION 1


NEAR = st.tuples(st.integers(-2, 2), st.integers(-1, 7), st.integers(-2, 2))


@given(
    blocks=st.dictionaries(NEAR, st.integers(1, 6), min_size=1),
    shift=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
    turns=st.integers(0, 3),
)
def test_blocks_are_taken_up_to_shifts_and_quarter_turns(
    blocks: dict[tuple[int, int, int], int], shift: tuple[int, int], turns: int
) -> None:
    grid = blocks_to_grid([(*cell, color) for cell, color in blocks.items()])
    moved = np.roll(np.rot90(grid, turns, axes=(1, 2)), shift, axis=(1, 2))
    assert Split.of(grid) is Split.of(moved)
    with warnings.catch_warnings(record=True) as warnings_given:
        warnings.simplefilter("always")
        found = check_split(a=Task("", grid), b=[Task("", moved)])
    assert bool(found) == (len(blocks) >= 6)
    (warned,) = warnings_given
    cannot = "entries that cannot be checked: 1 in a, 1 in b;"
    assert str(warned.message).startswith("structures in" if found else cannot)


def test_the_same_blocks_under_another_name_are_found() -> None:
    session = Subtasks(["one", "more"], [TOWER[:2], TOWER], task_id="s")
    elsewhere = [(x + 3, y, z - 1, color) for x, y, z, color in TOWER]
    train = SessionTasks({"C7": [session]})
    with pytest.warns(SplitWarning, match=r"\(1\): C7 = mine in train and test"):
        (one,) = check_split(train=train, test=SessionTasks({"mine": [Subtasks(["all"], [elsewhere])]}))
    assert one.names == ("C7", "mine")
    assert one.parts == ("train", "test")
    with pytest.warns(SplitWarning):
        check_split(train=train, test=Task("", elsewhere, ids="iglu"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # names of the corpus decide, and what is built onto something is no whole structure
        assert check_split(train=train, test=SessionTasks({"C8": [session]})) == []
        named = Task("", TOWER, starting_grid=TOWER[:1], structure="C9")
        assert check_split(train=train, test=named) == []
        assert check_split(train=[train, session], val=[]) == []
        assert check_split() == []


def test_what_cannot_be_checked_is_said() -> None:
    change = Task("", TOWER, starting_grid=TOWER[:1])
    with pytest.warns(SplitWarning, match=r"cannot be checked: 2 in train, 1 in test; they have neither"):
        assert check_split(train=[change, change], test=[change]) == []


def test_what_has_no_part_is_refused() -> None:
    for nothing in ("", " ", np.zeros((9, 11, 11), np.int8)):
        with pytest.raises(DataError, match="or at least one block"):
            Split.of(nothing)
    with pytest.raises(DataError, match="part 'train' holds 3, expected"):
        check_split(train=3)
