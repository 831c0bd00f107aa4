"""What `import iglu_marl` costs and gives: light, complete, and possible where nothing can be written."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import iglu_marl

HEAVY = (
    "moderngl",
    "OpenGL",
    "pygame",
    "pandas",
    "requests",
    "torch",
    "transformers",
    "numba",
    "imageio",
    "PIL",
    "typer",
    "starlette",
    "uvicorn",
    "sqlalchemy",
)


def run_python(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter in `folder`: not in the repository, which would be on its path."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


LEARNING = {"h5py", "minari", "pandas", "pygame", "ray", "stable_baselines3"} | {
    *("tensordict", "torch", "torchrl", "transformers")
}
ROOMS = ("agents", "agents.learned", "agents.llm", "envs", "envs.wrappers", "recording", "tasks")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modules", "heavy"),
    [(["iglu_marl"], set(HEAVY)), ([f"iglu_marl.{room}" for room in ROOMS], LEARNING)],
    ids=["package", "rooms"],
)
def test_importing_imports_nothing_heavy(modules: list[str], heavy: set[str], tmp_path: Path) -> None:
    """Agents and wrappers for learning libraries load these when one is made."""
    code = f"import sys, {', '.join(modules)}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert heavy & set(done.stdout.split()) == set()


LAZY = [
    iglu_marl,
    *(importlib.import_module(f"iglu_marl.{room}") for room in ("agents", "data", "envs", "rendering")),
]


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_every_public_name_is_listed_once_and_loads(package: Any) -> None:
    """The list for type checkers is the list."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    (block,) = [
        node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(block.body)
    listed = [alias.asname for node in imports for alias in node.names]
    assert sorted(set(package.__all__) - {"__version__"}) == sorted(listed)
    assert all(getattr(package, name) is getattr(package, name) for name in package.__all__)


def packages() -> list[Any]:
    """The packages whose names are ours: those of `compat` are the older tools'."""
    found = [each.name for each in pkgutil.walk_packages(iglu_marl.__path__, "iglu_marl.") if each.ispkg]
    assert len(found) > 30
    ours = [name for name in found if not name.startswith("iglu_marl.compat")]
    return [iglu_marl, iglu_marl.const, *map(importlib.import_module, ours)]


def test_there_are_some_200_exports_at_most() -> None:
    counts = {package.__name__: len(getattr(package, "__all__", ())) for package in packages()}
    assert sum(counts.values()) <= 206, counts


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'envv'"):
        iglu_marl.envv  # noqa: B018 - the access is the test
    with pytest.raises(ImportError, match="envv"):
        exec("from iglu_marl import envv")  # noqa: S102 - as a user would write it


@pytest.mark.slow
def test_agents_at_the_root_of_the_repository_are_the_same_classes(root: Path) -> None:
    code = """
import agents, iglu_marl.agents
assert all(getattr(agents, name) is getattr(iglu_marl.agents, name) for name in ("ScriptedBuilder", "OracleBuilder"))
"""
    done = run_python(code, root)
    assert done.returncode == 0, done.stderr


# --- a read-only install ------------------------------------------------------------------------------------


# Import every module (of the optional ones, those that can be), and run one kernel.
IMPORT_ALL = """
import importlib, pkgutil
import iglu_marl
for module in pkgutil.walk_packages(iglu_marl.__path__, "iglu_marl."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        extras = ("inspect_ai", "openenv", "sqlalchemy", "starlette", "torch", "transformers", "uvicorn")
        if error.name.split(".")[0] not in extras:
            raise
import numpy
from iglu_marl.core import grid, jit
assert jit.jit(lambda x: x + 1)(1) == 2
print(iglu_marl.__file__)
"""


@pytest.fixture
def unwritable(root: Path, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A copy of the package, and an environment, in which no cache folder can be made.

    Permissions do not stop root, so files stand where the folders would have to be.
    """
    site = tmp_path / "site"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "iglu_marl", site / "iglu_marl", ignore=ignore)
    for folder in [site, *(path for path in site.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("a file, not a folder")
    blocked = tmp_path / "file"
    blocked.write_text("a file, not a folder")
    environment = {
        "HOME": str(blocked / "home"),
        "XDG_CACHE_HOME": str(blocked / "cache"),
        "NUMBA_CACHE_DIR": str(blocked / "numba"),
        "PYTHONPATH": str(site),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return site, environment


@pytest.mark.slow
def test_without_any_writable_cache_everything_imports_and_kernels_run(
    unwritable: tuple[Path, dict[str, str]],
) -> None:
    site, environment = unwritable
    done = run_python(IMPORT_ALL, site.parent, **environment)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == site / "iglu_marl" / "__init__.py"
