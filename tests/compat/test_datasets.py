"""The code examples about datasets in the documents of the IGLU tools, with one changed line: the import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from iglu_marl.compat.gridworld.data import IGLUDataset
from iglu_marl.compat.iglu_datasets import MultiturnDataset, Subtasks, Task
from iglu_marl.data import bundled

pytestmark = pytest.mark.usefixtures("packs")


def test_the_structure_of_the_tasks() -> None:
    dataset = MultiturnDataset(dataset_version="v1.0")
    assert sorted(dataset.tasks) == ["c118", "c73"]
    assert isinstance(dataset.tasks["c73"], list)
    session = dataset.tasks["c73"][0]
    assert isinstance(session, Subtasks)
    drawn = {session.sample().instruction for _ in range(30)}
    assert drawn == {
        "<Architect> put a red block\n<Builder> where?\n<Architect> in the middle",
        "<Architect> one more on top",
    }
    for task in (session.sample(), session.reset()):
        assert isinstance(task, Task)


def test_what_sample_effectively_does() -> None:
    dataset = MultiturnDataset()
    dataset.seed(1)
    counts = {"c73": 0, "c118": 0}
    for _ in range(400):
        counts[dataset.sample().task_id.partition("-")[2]] += 1
    assert 160 < counts["c73"] < 240  # structures are equally likely, not turns


def test_the_bundled_sessions_read_as_a_dataset() -> None:
    dataset = IGLUDataset(path=Path(str(bundled.files())))
    assert len(dataset) > 50
    assert not np.array_equal(dataset.sample().target_grid, 0)


@pytest.mark.parametrize("module", ["iglu_datasets", "gridworld.data"])
def test_importing_a_shim_imports_nothing_heavy(module: str, tmp_path: Path) -> None:
    code = (
        f"import iglu_marl.compat.{module}, sys\n"
        "print(*{'pandas', 'requests', 'moderngl', 'pygame', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
