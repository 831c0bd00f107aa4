"""What some tests need from the machine. Absent: skipped, with a reason. Absent but demanded: failed.

`IGLU_MARL_REQUIRE` is a comma-separated list of names (`shared,packaging,opengl`); `.ci/run` sets it, so that
nothing is skipped there in silence.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# The folders of the tests, for the PYTHONPATH of a subprocess that imports what lies there.
TEST_FOLDERS = os.pathsep.join(
    str(path) for path in (ROOT / "tests", *(ROOT / "tests").iterdir()) if path.is_dir()
)


def demanded() -> frozenset[str]:
    """The names in `IGLU_MARL_REQUIRE`."""
    names = os.environ.get("IGLU_MARL_REQUIRE", "").split(",")
    return frozenset(name.strip() for name in names if name.strip())


def require(name: str, condition: object, reason: str) -> None:
    """Go on if `condition` holds; else skip the running test, or fail it where `name` is demanded."""
    if condition:
        return
    if name in demanded():
        pytest.fail(f"IGLU_MARL_REQUIRE names {name!r}, but {reason}", pytrace=False)
    pytest.skip(f"{name}: {reason}")


def shared_place() -> Path:
    """Where golden traces and data are looked for: `IGLU_MARL_SHARED`, by default `../shared`."""
    return Path(os.environ.get("IGLU_MARL_SHARED") or ROOT.parent / "shared").resolve()


def shared_folder() -> Path:
    """`shared_place()`; skips the test where it is absent."""
    folder = shared_place()
    require("shared", (folder / "golden").is_dir(), f"{folder} has no folder golden/")
    return folder
