"""Settings and fixtures for all tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from requirements import ROOT, require, shared_folder

# Before anything can import pygame: no window, no sound, no greeting.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
# No line while kernels are compiled: some tests read the error stream.
os.environ.setdefault("IGLU_MARL_PROGRESS", "0")

# No deadlines: the first call of a kernel compiles it. "ci" draws the same examples every time.
hypothesis.settings.register_profile(
    "dev", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("fast", hypothesis.settings.get_profile("dev"), max_examples=10)
hypothesis.settings.register_profile("ci", hypothesis.settings.get_profile("dev"), derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


# Rooms whose tests run what users run: commands, examples, whole libraries, pages.
SYSTEM = ("commands", "examples")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Layers: `system` where marked or in `SYSTEM`, `property` where Hypothesis draws, else `unit`.

    Tests of whole datasets are slow: reading them takes seconds, whichever test comes first.
    """
    for item in items:
        if item.path.parent.name in ("data", "tasks") and "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
        if item.get_closest_marker("system") or item.path.parent.name in SYSTEM:
            item.add_marker("system")
        elif getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("property")
        else:
            item.add_marker("unit")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the repository with golden traces and data; the test is skipped without it."""
    return shared_folder()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """An empty folder with room for 64 KiB; the test is skipped where none can be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        mounted, said = not done.returncode, done.stderr.strip()
    except OSError as error:
        mounted, said = False, str(error)
    require("tmpfs", mounted, f"a small file system cannot be mounted here: {said}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
