"""Files: who may read them."""

from __future__ import annotations

import os
import stat
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
    with new_folder(tmp_path / "new", marker="a", private=True) as made:
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
