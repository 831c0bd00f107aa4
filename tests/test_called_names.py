"""Public functions with values that their annotations allow and nobody wants: errors of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import iglu_marl
from iglu_marl import ConfigError, DataError, GridError, IgluMarlError, Recorder, TaskError, replay
from iglu_marl.agents.learned.zoo import read_arrays
from iglu_marl.agents.llm.prompting import Prompts
from iglu_marl.benchmark.results import read_result
from iglu_marl.core.edits import edited
from iglu_marl.core.files import atomic_write, made_folder, new_folder
from iglu_marl.data import CDMDataset, clarifying_questions, human_evaluation, question_bank
from iglu_marl.data.task_files import OwnTasks
from iglu_marl.evaluation import tasks_of
from iglu_marl.evaluation.metrics import bootstrap
from iglu_marl.recording import read_recording, repair
from iglu_marl.tasks import RandomTasks, StructureTasks
from iglu_marl.tasks.source import FiniteSource
from iglu_marl.text import TextGame, rewards

LONG = "x" * 5000


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TextGame().reset(-1), ConfigError, "seed is -1"),
        (lambda: rewards(["a"], [], [], []), ConfigError, "differ in length"),
        (lambda: edited(np.zeros(3, np.int8), [(True, 0, 0, 0, 1)]), GridError, r"\(3,\)"),
        (lambda: bootstrap([1.0], resamples=10**9), ConfigError, r"resamples is 1000000000, expected 1\.\.1000000"),
        (lambda: FiniteSource([], "mine"), TaskError, "mine holds no tasks"),
        (lambda: tasks_of("bundled", seed=-1), ConfigError, "seed is -1"),
        (lambda: CDMDataset(task_kwargs="invariant"), ConfigError, "task_kwargs is 'invariant', expected a dict"),
    ],
)  # fmt: skip
def test_odd_values_name_what_is_expected(
    call: Callable[[], Any], error: type[IgluMarlError], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def written(path: str) -> None:
    with atomic_write(path) as file:
        file.write_bytes(b"")


def filled(path: str) -> None:
    with new_folder(path):
        pass


@pytest.mark.parametrize("path", [LONG, f"a/{LONG}/b", "\0", "/dev/null/file", "\udfff\0"])
@pytest.mark.parametrize(
    "use",
    [
        Recorder, read_recording, replay, repair, written, filled, made_folder, StructureTasks, question_bank,
        clarifying_questions, human_evaluation,
    ],
)  # fmt: skip
def test_paths_where_no_file_can_be(
    use: Callable[[str], Any], path: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IgluMarlError):
        use(path)
    assert not list(tmp_path.iterdir())


def test_a_path_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (Recorder, written, filled):
        with pytest.raises(DataError, match=r"'\.' cannot be used as a path: it has no file name"):
            use("")


def linked(name: str, use: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Return what uses a folder whose file of this name is a link."""

    def use_folder(place: Path) -> Any:
        (folder := Path(f"{place.name}-folder")).mkdir()
        (folder / name).symlink_to(place.absolute())
        return use(folder)

    return use_folder


def trained(folder: Path) -> Any:
    pytest.importorskip("torch")
    from iglu_marl.agents.learned.checkpoint import TrainedModel

    return TrainedModel.load(folder)


READERS: dict[str, Callable[[Path], Any]] = {
    "recorder": Recorder,
    "recording": read_recording,
    "replay": replay,
    "repair": repair,
    "structures": StructureTasks,
    "tasks": lambda place: list(OwnTasks(place)),
    "random tasks": RandomTasks.load,
    "result": read_result,
    "questions": clarifying_questions,
    "trained model": linked("model.json", trained),
    "trained agent": linked("x.npz", lambda folder: read_arrays(folder / "x.npz")),
    "prompts": linked("builder.txt", lambda folder: Prompts("builder", folder)),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes that have names")
@pytest.mark.parametrize("name", READERS)
def test_pipes_devices_and_folders_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may block, or never end."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for place in (Path("/dev/zero"), Path("pipe")):
        with pytest.raises(IgluMarlError):
            READERS[name](place)
    Path("folder").mkdir()
    with pytest.raises(IgluMarlError):
        READERS[name](Path("folder"))
    assert Path("pipe").is_fifo()


@pytest.mark.slow
def test_exported_names_with_drawn_arguments() -> None:
    """The driver of `make trust`, for a few seconds: it calls many names, and finds nothing."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "trust", "names", "--amount", "5"],
        cwd=(root := Path(iglu_marl.__file__).parents[1]),
        env={**os.environ, "PYTHONPATH": f"{root / 'tests'}{os.pathsep}{root}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(done.stdout.partition("): ")[2])
    assert figures["results"] > 20
    assert figures["calls"] > figures["results"]
