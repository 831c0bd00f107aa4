"""Files: who may read them."""

from __future__ import annotations

import multiprocessing
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import (
    PRIVATE,
    JsonLines,
    atomic_write,
    check_writable,
    new_folder,
    private_folder,
    write_text,
)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """What is private does not depend on the umask."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private_files_are_their_owners_alone(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "a.bin", mode=PRIVATE) as partial:
        assert mode(partial) == PRIVATE, "also while it is written"
        partial.write_bytes(b"1")
    assert mode(tmp_path / "a.bin") == PRIVATE
    JsonLines(tmp_path / "a.jsonl", PRIVATE).close()
    assert mode(tmp_path / "a.jsonl") == PRIVATE
    with new_folder(tmp_path / "new", private=True) as made:
        assert mode(made) == 0o700
    assert mode(tmp_path / "new") == 0o700
    assert mode(private_folder(tmp_path / "deep" / "folder")) == 0o700


def test_other_files_follow_the_umask(tmp_path: Path) -> None:
    assert mode(write_text(tmp_path / "a.txt", "1")) == 0o666
    JsonLines(tmp_path / "a.jsonl").close()
    assert mode(tmp_path / "a.jsonl") == 0o666


def test_a_replaced_file_is_as_private_as_before(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.txt", "1")
    path.chmod(0o640)
    with atomic_write(path) as partial:
        assert mode(partial) == 0o640
        partial.write_text("2")
    assert (path.read_text(), mode(path)) == ("2", 0o640)


@pytest.mark.parametrize(
    ("name", "form", "writable"),
    [
        ("new", {}, True),
        ("old", {}, True),
        ("new", {"folder": True}, True),
        ("there", {"folder": True}, True),
        ("new/below/it", {"folder": True}, True),
        ("new/below/it", {"parents": True}, True),
        ("new/below", {}, False),
        ("there", {}, False),
        ("old", {"folder": True}, False),
        ("old/below", {"folder": True}, False),
        ("/proc/new", {}, False),
        ("/proc/new", {"folder": True}, False),
        ("/proc/new/below", {"parents": True}, False),
    ],
)
def test_what_can_be_written_is_known_before(
    name: str, form: dict[str, bool], writable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old").touch()
    Path("there").mkdir()
    if writable:
        assert check_writable(name, **form) == Path(name)
    else:
        with pytest.raises(DataError, match=f"{name}'? cannot be (written|used as a path): "):
            check_writable(name, **form)
    assert {path.name for path in tmp_path.iterdir()} == {"old", "there"}
    assert not list(Path("there").iterdir())


def test_a_link_leads_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(write_text(tmp_path / "real" / "a.txt", "1"))
    write_text(link, "2")
    assert link.is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "2"


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.txt", "1")
    path.chmod(0o444)
    with pytest.raises(DataError, match=r"a\.txt cannot be written: it is read-only"):
        write_text(path, "2")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("a.txt", "1")]


FORKED = """
import os, sys, warnings
from contextlib import nullcontext
from pathlib import Path
import iglu_marl
from iglu_marl.core.files import JsonLines, atomic_write, new_folder
from iglu_marl.evaluation.log import RowLog

warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
ends, folder = sys.argv[1], Path(sys.argv[2])
owner = os.getpid()

def fork(*opened):
    if (child := os.fork()) == 0:
        if ends == "close":
            for file in opened:
                file.close()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0

env = iglu_marl.raw_env()
recorder = iglu_marl.Recorder(folder / "recording.jsonl")
recorder.wrap(env).reset(seed=0)
lines = JsonLines(folder / "lines.jsonl")
log = RowLog(folder / "log.jsonl", {}, form=("a", 1), what="tests", from_json=int, to_json=dict)
with atomic_write(folder / "file.txt") as file, new_folder(folder / "new") as new:
    file.write_text("whole")
    (new / "a").write_text("whole")
    fork(recorder, lines, log)
    assert file.exists() and new.exists()
for name in ("recording", "lines", "log"):
    try:
        JsonLines(folder / f"{name}.jsonl")
    except iglu_marl.DataError as error:
        assert f"process {owner}" in str(error)
    else:
        raise AssertionError(name)
for opened in (recorder, lines, log):
    opened.close()
"""


@needs_fork
@pytest.mark.parametrize("ends", ["exit", "close"])
def test_a_forked_process_is_not_the_owner(ends: str, tmp_path: Path) -> None:
    """Its end frees no lock of its parent, and removes no file or folder."""
    command = [sys.executable, "-c", FORKED, ends, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert {entry.name for entry in tmp_path.iterdir()} == {
        *("file.txt", "new", "lines.jsonl", "log.jsonl", "recording.jsonl")
    }


@needs_fork
def test_a_forked_process_cannot_write(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "a.jsonl")
    lines.append({"n": 1})

    def write(result: multiprocessing.queues.SimpleQueue[str]) -> None:
        try:
            lines.append({"n": 2})
        except DataError as error:
            result.put(str(error))

    context = multiprocessing.get_context("fork")
    result = context.SimpleQueue()
    (child := context.Process(target=write, args=(result,))).start()
    child.join()
    assert f"is being written by process {os.getpid()}, of which this one is a fork" in result.get()
    lines.append({"n": 3})
    lines.close()
    assert lines.path.read_bytes() == b'{"n":1}\n{"n":3}\n'
