"""The cache of compiled kernels: where it lies, what makes it anew, and that the game goes on where it fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from iglu_marl.core import jit

pytestmark = pytest.mark.slow  # every test starts processes

# A kernel that calls another of another file, which uses a constant of a third; and whether it was loaded.
KERNEL = """
import sys
import numpy as np
from iglu_marl.core.kernels.body import body_fits
for size in map(int, sys.argv[1:] or ["9"]):
    print(body_fits(np.zeros((size, 11, 11), f"i{size % 8}"), 0, -2, 0))
print(sum(body_fits.stats.cache_hits.values()), "loaded")
"""
FULL_DISK = """
import errno
from numba.core import caching

def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")

caching.IndexDataCacheFile.save = full
"""


def start(code: str, *arguments: str, cache: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        cwd=cache.parent,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> list[str]:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out.split("\n")[:-1]


def run(code: str, *arguments: str, cache: Path, **environment: str) -> list[str]:
    return output(start(code, *arguments, cache=cache, **environment))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "numba"


@pytest.fixture
def site(root: Path, tmp_path: Path) -> Path:
    """A copy of the package, to be edited; in `PYTHONPATH` it comes before the installed one."""
    folder = tmp_path / "site"
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "iglu_marl", folder / "iglu_marl", ignore=leave)
    return folder


def folders(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / "iglu_marl").iterdir() if path.is_dir())


def test_a_generator_is_compiled_into_callers_of_later_processes(cache: Path) -> None:
    code = """
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.ray import cells_along, gaze
@jit
def count(eye, way):
    cells = 0
    for _ in cells_along(eye, way):
        cells += 1
    return cells
eye, way = (0.5, 1.0, 0.5), gaze(30.0, -20.0)
print(len(list(cells_along(eye, way))), count(eye, way))
"""
    first, second = run(code, cache=cache), run(code, cache=cache)
    assert first == second
    one, other = first[0].split()
    assert one == other


def test_the_second_process_loads_what_the_first_compiled(cache: Path) -> None:
    assert run(KERNEL, cache=cache) == ["False", "0 loaded"]
    assert run(KERNEL, cache=cache) == ["False", "1 loaded"]
    assert [folder.name for folder in folders(cache)] == [jit.digest()]


def test_it_lies_in_the_cache_folder_of_the_user_and_never_beside_the_sources(
    site: Path, tmp_path: Path
) -> None:
    home = {"XDG_CACHE_HOME": str(tmp_path / "home"), "NUMBA_CACHE_DIR": "", "PYTHONPATH": str(site)}
    run(KERNEL, cache=tmp_path / "unused", **home)
    assert list((tmp_path / "home" / "iglu_marl" / "kernels" / jit.digest()).glob("*.nbc"))
    assert not [*site.rglob("*.nbi"), *site.rglob("*.nbc")]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("records.py", "GROUND_RADIUS = 18", "GROUND_RADIUS = -1"),
        ("cells.py", "return abs(x) <= GROUND_RADIUS", "return abs(x) > GROUND_RADIUS"),
    ],
    ids=["constant", "callee"],
)
def test_an_edit_in_another_file_is_noticed(site: Path, cache: Path, file: str, old: str, new: str) -> None:
    """`body_fits` calls `cells.solid`, which uses `records.GROUND_RADIUS`; its own file stays as it is."""
    assert run(KERNEL, cache=cache, PYTHONPATH=str(site)) == ["False", "0 loaded"]
    path = site / "iglu_marl" / "core" / "kernels" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert run(KERNEL, cache=cache, PYTHONPATH=str(site)) == ["True", "0 loaded"], "no ground, and it fits"
    assert len(folders(cache)) == 2


def test_old_states_are_swept(cache: Path) -> None:
    place = cache / "iglu_marl"
    for number in range(12):
        folder = place / f"{number:016x}"
        folder.mkdir(parents=True)
        (folder / "kernel.nbc").write_bytes(b"")
        os.utime(folder, (1e9 + number, 1e9 + number))
    (place / "of somebody else").mkdir()
    run(KERNEL, cache=cache)
    kept = {folder.name for folder in folders(cache)}
    latest = {f"{number:016x}" for number in range(13 - jit.KEPT, 12)}
    assert kept == {jit.digest(), *latest, "of somebody else"}


def test_several_processes_compile_the_same_and_different_things(cache: Path) -> None:
    sizes = [["9", "10"], ["10", "9"], ["12"]]
    for process in [start(KERNEL, *some, cache=cache) for some in sizes]:
        assert set(output(process)[:-1]) == {"False"}
    assert run(KERNEL, "9", "10", "12", cache=cache)[-1] == "3 loaded"


LINE = "iglu_marl: compiling kernels, once for this version (up to half a minute)\n"


def test_a_line_says_that_kernels_are_compiled(cache: Path) -> None:
    def errors(**environment: str) -> str:
        process = start(KERNEL, "9", "10", cache=cache, **{"IGLU_MARL_PROGRESS": "", **environment})
        return process.communicate(timeout=300)[1]

    assert errors() == LINE  # two kernels for two types of array
    assert errors() == ""  # loaded
    assert errors(NUMBA_CACHE_DIR=str(cache.with_name("other")), IGLU_MARL_PROGRESS="0") == ""


@pytest.mark.parametrize(
    "stream",
    [
        "None",
        "open('log', 'w')",
        "type('Own', (), dict.fromkeys(['write', 'flush', 'close'], lambda *_: None))()",
    ],
)
def test_a_lost_error_stream_stops_no_kernel(cache: Path, stream: str) -> None:
    code = f"import sys; sys.stderr = {stream}; sys.stderr and sys.stderr.close()" + KERNEL
    assert run(code, cache=cache, IGLU_MARL_PROGRESS="") == ["False", "0 loaded"]


def test_a_damaged_cache_is_compiled_again(cache: Path) -> None:
    run(KERNEL, cache=cache)
    (folder,) = folders(cache)
    for number, path in enumerate(sorted(folder.glob("*.nb?"))):
        path.write_bytes(b"" if number % 2 else path.read_bytes()[:-7])
    assert run(KERNEL, cache=cache) == ["False", "0 loaded"]
    assert run(KERNEL, cache=cache) == ["False", "1 loaded"]


def test_without_a_cache_directory_kernels_still_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file, not a folder")
    process = start(KERNEL, cache=tmp_path / "file", IGLU_MARL_PROGRESS="")
    out, error = process.communicate(timeout=300)
    assert out.split() == ["False", "0", "loaded"]
    assert error == LINE.replace("once for this version", "in every process: no cache folder can be written")


def test_a_disk_that_refuses_to_save_does_not_stop_a_kernel(cache: Path) -> None:
    assert run(FULL_DISK + KERNEL, cache=cache) == ["False", "0 loaded"]
    assert not list(cache.rglob("*.nbc"))
