"""The cache of what has been read: right or absent, never half-written, and made once."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iglu_marl.data.packs import cache
from iglu_marl.data.packs.cache import cache_folder, cached, json_array, read_json


@dataclass(frozen=True)
class FakePack:
    location: str = "/some/where.zip"
    fingerprint: str = "zip-1"


PACK = FakePack()


class Builder:
    """Makes arrays, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> dict[str, Any]:
        self.times += 1
        return {
            "grids": np.arange(24, dtype=np.int8).reshape(2, 3, 4),
            "empty": np.zeros((0, 9, 11, 11), np.int8),
            "names": np.array(["c73", "ünïcode"]),
            "floats": [1.5, -0.0],
            "facts": json_array({"reasons": {"no world": 3}, "list": [None, "ß"]}),
        }


def check(found: cache.Arrays) -> None:
    expected = {name: np.asarray(value) for name, value in Builder()().items()}
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    assert read_json(found["facts"]) == {"reasons": {"no world": 3}, "list": [None, "ß"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


def test_what_was_built_is_kept(folder: Path) -> None:
    build = Builder()
    for _ in range(3):
        check(cached(PACK, "sessions", "1", build))
    assert build.times == 1
    assert [path.suffix for path in entries(folder)] == [".npz"]


def test_stale_entries_are_parsed_again_and_replaced(folder: Path) -> None:
    build = Builder()
    changes = [
        (PACK, "sessions", "1"),
        (replace(PACK, fingerprint="zip-2"), "sessions", "1"),
        (replace(PACK, fingerprint="zip-2"), "sessions", "2"),
    ]
    for number, (pack, kind, version) in enumerate(changes, 1):
        for _ in range(2):
            check(cached(pack, kind, version, build))
        assert build.times == number
    assert len(entries(folder)) == 1
    check(cached(PACK, "worlds", "1", build))
    check(cached(replace(PACK, location="/else/where.zip"), "sessions", "1", build))
    assert build.times == 5
    assert len(entries(folder)) == 3


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IGLU_MARL_CACHE", "here")
    assert cache_folder() == tmp_path / "here"
    monkeypatch.setenv("IGLU_MARL_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "iglu_marl"


def test_every_damaged_byte_of_an_array_is_noticed(folder: Path) -> None:
    """Checksums are compared for whole arrays, also for those that numpy would read without the last byte."""
    noise = np.random.default_rng(0).integers(0, 256, 3000, dtype=np.uint8)
    cached(PACK, "noise", "1", lambda: {"noise": noise})
    (path,) = entries(folder)
    whole = path.read_bytes()
    for at in range(0, len(whole), 37):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        np.testing.assert_array_equal(cached(PACK, "noise", "1", lambda: {"noise": noise})["noise"], noise)


def test_without_a_folder_it_works_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "file" / "cache"))
    build = Builder()
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            check(cached(PACK, "sessions", "1", build))
    assert build.times == 2
    assert "the cache is disabled" in caplog.text


def test_a_full_disk_is_no_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        check(cached(PACK, "sessions", "1", Builder()))
    assert entries(folder) == []
    check(cached(PACK, "sessions", "1", Builder()))
    assert len(entries(folder)) == 1
