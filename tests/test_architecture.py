"""Check the architecture in the syntax trees: which sub-package may import what (see CONTRIBUTING.md).

`complaints` is the checker. The first test runs it over this repository; the others run it over small made-up
trees, each with one fault, so that a rule which no longer sees its fault is noticed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from requirements import ROOT

from iglu_marl.core.jit import SOURCES

PACKAGE = "iglu_marl"

# Imports point down, or stay in their layer. Side packages stand beside layer 1; layers 2 and up may use them.
LAYERS = {
    "core": 1,
    "const": 1,
    "_version": 1,
    # More: teams, of which each member sees, hears and holds something of its own.
    "game": 2,
    "envs": 3,
    "architect_builder_v0": 3,  # the name by which PettingZoo users import the envs
    "compat": 3,
    "agents": 4,
    "recording": 4,
    "evaluation": 4,
    "benchmark": 4,
    "text": 4,
    "web": 4,
    "cli": 5,
    "commands": 5,
    "__main__": 5,
}
# Side package -> what it may import besides itself.
SIDE_PACKAGES = {
    "tasks": {"core", "const", "data", "_version"},
    "data": {"core", "const", "_version"},
    "language": {"core", "const"},
    "planning": {"core", "const"},
    "rendering": {"core", "const", "_version"},
}
# `from iglu_marl import play`: the names of the facade come from all layers, so only things that act use it.
FACADE_LAYER = 4

# Library -> the only files (or folders) that may import it.
OWNERS = {
    "moderngl": ["rendering/opengl/"],
    "OpenGL": ["rendering/opengl/"],
    "pygame": ["rendering/ui/window.py"],
    "pandas": ["data/"],
    "requests": ["agents/llm/", "data/"],
    "numba": ["core/jit.py"],
    "typer": ["cli.py", "commands/"],
    "pettingzoo": ["envs/", "compat/", "agents/", "recording/"],
    "starlette": ["web/"],
    "uvicorn": ["commands/serve.py", "commands/serve_openenv.py"],
    "openenv": ["text/openenv.py", "commands/serve_openenv.py"],
    "inspect_ai": ["benchmark/inspect_tasks.py"],
    "mcp": ["benchmark/mcp.py"],
    "pydantic": ["text/openenv.py"],
    "sqlalchemy": ["web/"],
    "torch": ["agents/"],
    "transformers": ["agents/"],
    **{
        name: [] for name in ("pickle", "marshal", "shelve", "dill", "joblib")
    },  # what is read can run no code
    "random": [],  # randomness is an argument
}
# File -> what it may not import, although its layer could.
BARRED = {
    "game/episode.py": ["gymnasium"],
    "core/grid.py": [f"{PACKAGE}.core.kernels", f"{PACKAGE}.core.jit"],
}
NOT_FOR_AGENTS = ("core.kernels", "core.lazy", "language.grammar.makers")  # private, without an underscore
JIT = f"{PACKAGE}.core.jit"  # the compiler switch
NO_CONSTANTS = {
    JIT,
    f"{PACKAGE}.core.errors",
}  # what kernels may import although their cache does not look at it

# Lines of Python in the package, its agents, examples and benchmarks. The table by package in the design is an aim for
# readers; this limit has slack, so that no line is packed to stay below it.
MAX_LINES = 85_000

RUNS_CODE = "compat/conformance/runner.py"  # in a process of its own, code that its user names
UNSAFE_CALLS = {"eval", "exec", "compile", "os.system", "os.popen", "asyncio.create_subprocess_shell"}
SAFE_KEYWORDS = {
    "allow_pickle": False,
    "shell": False,
    "trust_remote_code": False,
    "weights_only": True,
}
GENERATORS = {"Generator", "BitGenerator", "SeedSequence", "PCG64", "PCG64DXSM", "Philox", "default_rng"}


@dataclass(frozen=True)
class Import:
    """One imported module, or one name imported from a module."""

    module: str
    name: str | None
    line: int

    @property
    def target(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


@cache
def nodes_of(tree: ast.Module) -> list[ast.AST]:
    """All nodes of a file, which several checks go through."""
    return list(ast.walk(tree))


def imports_of(tree: ast.Module, package: str) -> Iterator[Import]:
    """All imports of a file of `package`: at the top, in functions, for type checkers, and by importlib."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, None, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                base = package.split(".")[: len(package.split(".")) - node.level + 1]
                module = ".".join([*base, module] if module else base)
            yield from (Import(module, alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            by_name = getattr(node.func, "id", "")
            function = node.func.attr if isinstance(node.func, ast.Attribute) else by_name
            if function in ("import_module", "__import__"):
                yield Import(str(node.args[0].value), None, node.lineno)


@dataclass(frozen=True)
class Source:
    """One file: its place inside the installed package, and its syntax tree."""

    place: str  # "core/grid.py", "agents/scripted.py"
    tree: ast.Module

    @property
    def part(self) -> str:
        return self.place.split("/")[0].removesuffix(".py")

    @property
    def package(self) -> str:
        return ".".join([PACKAGE, *self.place.split("/")[:-1]])


@cache
def sources(root: Path) -> list[Source]:
    """The files of the package below `root`, with the top-level folder agents/ at its installed place."""
    found = []
    for folder, prefix in ((root / PACKAGE, ""), (root / "agents", "agents/")):
        for path in sorted(folder.rglob("*.py")):
            place = prefix + path.relative_to(folder).as_posix()
            found.append(Source(place, ast.parse(path.read_text(encoding="utf-8"), filename=place)))
    return found


def package_of(target: Import, packages: set[str]) -> str | None:
    """Return the sub-package that an import of ours leads to; None for the facade (`from iglu_marl import play`)."""
    parts = [*target.module.split("."), *([target.name] if target.name else [])]
    return parts[1] if len(parts) > 1 and parts[1] in packages else None


def check_layer(source: Source, target: Import, packages: set[str]) -> str | None:
    """Imports of ours point down."""
    if target.module.split(".")[0] != PACKAGE or source.place == "__init__.py":
        return None
    other_part, own = package_of(target, packages), source.part
    if other_part == own:
        return None
    if own in SIDE_PACKAGES:
        allowed = sorted(SIDE_PACKAGES[own])
        return (
            None
            if other_part in allowed
            else f"side package {own} imports {target.target}; it may import {allowed}"
        )
    layer = LAYERS.get(own)
    if layer is None:
        return None  # reported once per file
    if other_part in SIDE_PACKAGES:
        return None if layer >= 2 else f"{own} (layer {layer}) imports the side package {other_part}"
    other = FACADE_LAYER if other_part is None else LAYERS.get(other_part, 0)
    return f"{own} (layer {layer}) imports {target.target} (layer {other})" if other > layer else None


def check_owner(source: Source, target: Import) -> str | None:
    """Some libraries have one home; some files may not import what their layer could."""
    library = target.module.split(".")[0]
    homes = OWNERS.get(library)
    if homes is not None and not any(
        source.place == home or (home.endswith("/") and source.place.startswith(home)) for home in homes
    ):
        return f"imports {library}, whose home is {homes or 'nowhere'}"
    for barred in BARRED.get(source.place, []):
        if f"{target.target}.".startswith(f"{barred}."):
            return f"imports {target.target}, which this file may not"
    return None


def check_kernels(source: Source, target: Import) -> str | None:
    """What is compiled, and what that uses, lies in the files by which the cache of kernels goes."""
    if target.module.split(".")[0] != PACKAGE or source.place == "core/jit.py":
        return None
    if SOURCES.fullmatch(source.place) is None:
        return f"compiles kernels, and {SOURCES.pattern} does not match it" if target.module == JIT else None
    path = target.module.removeprefix(f"{PACKAGE}.").replace(".", "/")
    modules = {f"{path}.py", f"{path}/{target.name}.py"}
    if target.module in NO_CONSTANTS or target.target in NO_CONSTANTS or any(map(SOURCES.fullmatch, modules)):
        return None
    return f"is cached, and imports {target.target}, whose edits the cache does not notice"


def check_agents(source: Source, target: Import) -> str | None:
    """Agents are written against public names: `from iglu_marl... import name`, without underscores."""
    if source.part != "agents" or target.module.split(".")[0] != PACKAGE:
        return None
    inside = target.module.startswith(f"{PACKAGE}.agents")
    inside |= (source.place, target.module) == (
        "agents/__init__.py",
        f"{PACKAGE}.core.lazy",
    )  # exports, no agent
    private = any(part.startswith("_") for part in target.target.split("."))
    private |= any(f"{target.target}.".startswith(f"{PACKAGE}.{place}.") for place in NOT_FOR_AGENTS)
    return f"agent imports the private {target.target}" if private and not inside else None


def private_attributes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """`thing._name` where `thing` is neither self nor cls nor super()."""
    for node in nodes_of(tree):
        if not isinstance(node, ast.Attribute):
            continue
        if not node.attr.startswith("_") or node.attr.endswith("__"):
            continue
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id in ("self", "cls", "other"):
            continue
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
            continue
        yield node.lineno, f"agent uses the private attribute {node.attr}"


def global_randomness(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """`np.random.<anything but generators>`, by attribute or by import."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            owner = node.value
            is_numpy = isinstance(owner.value, ast.Name) and owner.value.id in ("np", "numpy")
            if is_numpy and owner.attr == "random" and node.attr not in GENERATORS:
                yield node.lineno, f"uses the global np.random.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy.random":
            yield from (
                (node.lineno, f"uses the global np.random.{alias.name}")
                for alias in node.names
                if alias.name not in GENERATORS
            )


def unsafe_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What could run what was read: `eval(...)`, a shell, `allow_pickle=True`."""
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""
        if called in UNSAFE_CALLS:
            yield node.lineno, f"calls {called}()"
        for keyword in node.keywords:
            safe = SAFE_KEYWORDS.get(keyword.arg or "")
            if safe is not None and getattr(keyword.value, "value", None) is not safe:
                yield node.lineno, f"passes {keyword.arg}={ast.unparse(keyword.value)}"


def complaints(root: Path) -> list[str]:
    """Return every breach of the architecture below `root`, as "place:line: what"."""
    found = []
    files = sources(root)
    packages = {source.part for source in files} | LAYERS.keys() | SIDE_PACKAGES.keys()
    packages.discard("__init__")
    for source in files:
        if source.place != "__init__.py" and source.part not in LAYERS.keys() | SIDE_PACKAGES.keys():
            found.append(f"{source.place}:1: this package has no layer; give it one in {Path(__file__).name}")
        lines = [*global_randomness(source.tree)]
        if source.place != RUNS_CODE:
            lines += unsafe_calls(source.tree)
        if source.part == "agents":
            lines += private_attributes(source.tree)
        for target in imports_of(source.tree, source.package):
            checks = (
                check_layer(source, target, packages),
                check_owner(source, target),
                check_agents(source, target),
                check_kernels(source, target),
            )
            lines += [(target.line, what) for what in checks if what]
        found += [f"{source.place}:{line}: {what}" for line, what in lines]
    return found


@pytest.mark.slow
def test_the_architecture_is_kept(root: Path) -> None:
    places = {source.place for source in sources(root)}
    assert {"__init__.py", "core/grid.py", "core/kernels/step.py"} <= places, (
        "the checker looks at the wrong folder"
    )
    assert complaints(root) == []


def test_the_package_keeps_its_size(root: Path) -> None:
    lines = 0
    for folder in (PACKAGE, "agents", "examples", "benchmarks"):
        for file in (root / folder).rglob("*.py"):
            if file.relative_to(root).parts[:2] != (PACKAGE, "agents"):  # a link to the folder agents/
                lines += len(file.read_text(encoding="utf-8").splitlines())
    assert 50_000 < lines <= MAX_LINES


@pytest.mark.slow
def test_one_public_name_means_one_thing() -> None:
    """No two classes of the package have the same name; `compat/` has the names of older tools on purpose."""
    places: dict[str, list[str]] = {}
    for source in sources(ROOT):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and source.part != "compat":
                places.setdefault(node.name, []).append(source.place)
    assert len(places) > 300
    doubled = {name: where for name, where in places.items() if len(where) > 1}
    assert doubled.keys() <= {"Ambiguous", "Level", "Sequence"}, (
        doubled
    )  # the next rebuild of `language` renames its own


# --- the checker itself -------------------------------------------------------------------------------------

CLEAN = {
    "iglu_marl/__init__.py": "import importlib\n_MEMBERS = {'env': 'iglu_marl.envs.aec'}\n",
    "iglu_marl/core/__init__.py": "",
    "iglu_marl/core/grid.py": "import numpy as np\nfrom iglu_marl.core.errors import GridError\n",
    "iglu_marl/core/errors.py": "class GridError(ValueError): ...\n",
    "iglu_marl/core/jit.py": "import numba\n",
    "iglu_marl/core/kernels/__init__.py": "",
    "iglu_marl/core/kernels/records.py": "import numpy as np\nfrom iglu_marl.core.errors import GridError\n",
    "iglu_marl/core/kernels/ray.py": (
        "from iglu_marl.core.jit import jit\nfrom iglu_marl.core import grid as zone\n"
        "from iglu_marl.core.kernels.records import NO_CELL\nfrom . import records\n"
    ),
    "iglu_marl/const.py": "from iglu_marl.core import grid\n",
    "iglu_marl/game/episode.py": "from ..core import grid\nfrom iglu_marl.tasks import sources\n",
    "iglu_marl/tasks/sources.py": "from iglu_marl.data.packs.store import get\nfrom iglu_marl.core import grid\n",
    "iglu_marl/data/packs/store.py": "import pandas as pd, requests\nfrom iglu_marl._version import __version__\n",
    "iglu_marl/rendering/kernels.py": "from iglu_marl.core.jit import jit\nfrom . import palette\n",
    "iglu_marl/rendering/opengl/renderer.py": "def context():\n    import moderngl\n",
    "iglu_marl/rendering/ui/window.py": "import pygame\n",
    "iglu_marl/envs/aec.py": "import pettingzoo\nfrom iglu_marl.game import a\nfrom ..rendering import b\n",
    "iglu_marl/compat/gridworld.py": "from iglu_marl.envs import aec\n",
    "iglu_marl/recording/rollout.py": "from iglu_marl.envs import aec\nimport iglu_marl.agents\n",
    "iglu_marl/cli.py": "import typer\nfrom iglu_marl import play\nfrom iglu_marl import rollout\n",
    "agents/__init__.py": "from .scripted import ScriptedBuilder\n",
    "agents/scripted.py": (
        "import numpy as np\nfrom iglu_marl import env\nfrom iglu_marl.planning import plan\n"
        "from iglu_marl.agents import _text\n"
        "rng = np.random.default_rng(0)\n"
        "class A:\n    def f(self):\n        return self._x, super()._f()\n"
    ),
    "agents/_text.py": "",
}

FAULTS = {
    # layers
    "core -> game": ("iglu_marl/core/errors.py", "from iglu_marl.game import episode", "layer 1"),
    "core -> side": (
        "iglu_marl/core/errors.py",
        "import iglu_marl.tasks.sources",
        "the side package tasks",
    ),
    "core -> facade": ("iglu_marl/core/errors.py", "from iglu_marl import play", "layer 4"),
    "game -> envs, relative": ("iglu_marl/game/episode.py", "from ..envs import aec", "layer 3"),
    "game -> envs, from the package": ("iglu_marl/game/episode.py", "from .. import envs", "layer 3"),
    "game -> envs, in a function": (
        "iglu_marl/game/episode.py",
        "def f():\n    from iglu_marl.envs.aec import env",
        "layer 3",
    ),
    "game -> envs, for type checkers": (
        "iglu_marl/game/episode.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from iglu_marl.envs import aec",
        "layer 3",
    ),
    "game -> envs, by importlib": (
        "iglu_marl/game/episode.py",
        "import importlib\nm = importlib.import_module('iglu_marl.envs.aec')",
        "layer 3",
    ),
    "envs -> agents": ("iglu_marl/envs/aec.py", "from iglu_marl.agents import scripted", "layer 4"),
    "envs -> facade": ("iglu_marl/envs/aec.py", "import iglu_marl", "layer 4"),
    "rollout -> cli": ("iglu_marl/recording/rollout.py", "from iglu_marl import cli", "layer 5"),
    "agents -> cli": ("agents/scripted.py", "from iglu_marl.cli import main", "layer 5"),
    "side -> game": (
        "iglu_marl/tasks/sources.py",
        "from iglu_marl.game import a",
        "package tasks imports",
    ),
    "side -> side": (
        "iglu_marl/rendering/sheets.py",
        "from ..tasks import x",
        "package rendering imports",
    ),
    "data -> tasks": (
        "iglu_marl/data/packs/store.py",
        "from ...tasks import sources",
        "package data imports",
    ),
    "side -> facade": (
        "iglu_marl/planning/walk.py",
        "from iglu_marl import Task",
        "package planning imports",
    ),
    "a package without a layer": ("iglu_marl/attic/box.py", "import math", "has no layer"),
    "a module without a layer": ("iglu_marl/helpers.py", "import math", "has no layer"),
    # homes
    "moderngl": ("iglu_marl/rendering/orbit.py", "def f():\n    import moderngl", "imports moderngl"),
    "pygame": ("iglu_marl/envs/single.py", "import pygame", "imports pygame"),
    "pandas": ("iglu_marl/tasks/sources.py", "import pandas as pd", "imports pandas"),
    "requests": ("agents/scripted.py", "from requests import get", "imports requests"),
    "numba in grid": ("iglu_marl/core/grid.py", "import numba", "imports numba"),
    "numba in worlds": ("iglu_marl/core/worlds.py", "from numba import njit", "imports numba"),
    "kernels in grid": ("iglu_marl/core/grid.py", "from iglu_marl.core import kernels", "this file may not"),
    "kernels elsewhere": (
        "iglu_marl/core/worlds.py",
        "from iglu_marl.core.jit import jit",
        "compiles kernels",
    ),
    "constants elsewhere": (
        "iglu_marl/core/kernels/ray.py",
        "from iglu_marl.core.task import x",
        "not notice",
    ),
    "constants elsewhere, relative": ("iglu_marl/core/kernels/ray.py", "from .. import task", "not notice"),
    "PettingZoo in game": ("iglu_marl/game/config.py", "import pettingzoo", "imports pettingzoo"),
    "Gymnasium in episode": ("iglu_marl/game/episode.py", "from gymnasium import Env", "this file may not"),
    "torch": ("iglu_marl/envs/single.py", "import torch.nn", "imports torch"),
    # agents use public names
    "private module": ("agents/scripted.py", "from iglu_marl.game._secret import x", "the private"),
    "private kernel": ("agents/scripted.py", "from iglu_marl.core.kernels.ray import x", "the private"),
    "private kernels": ("agents/scripted.py", "from iglu_marl.core import kernels", "the private"),
    "private makers": ("agents/scripted.py", "import iglu_marl.language.grammar.makers", "the private"),
    "private exports": ("agents/scripted.py", "from iglu_marl.core.lazy import x", "the private"),
    "private name": ("agents/scripted.py", "from iglu_marl.game.episode import _secret", "the private"),
    "private attribute": ("agents/scripted.py", "def f(env):\n    return env._x", "private attribute _x"),
    # randomness, safety
    "random": ("iglu_marl/tasks/sources.py", "import random", "imports random"),
    "from random": ("agents/scripted.py", "from random import choice", "imports random"),
    "np.random": ("iglu_marl/core/grid.py", "import numpy\nx = numpy.random.rand()", "global np.random.rand"),
    "from numpy.random": ("iglu_marl/core/grid.py", "from numpy.random import seed", "global np.random.seed"),
    "pickle": ("iglu_marl/data/packs/store.py", "import pickle", "imports pickle"),
    "allow_pickle": ("iglu_marl/data/packs/store.py", "np.load(f, allow_pickle=True)", "allow_pickle"),
    "eval": ("iglu_marl/data/packs/store.py", "x = eval('1')", "calls eval()"),
    "marshal": ("iglu_marl/data/packs/store.py", "from marshal import loads", "imports marshal"),
    "shell": ("iglu_marl/data/packs/store.py", "run('ls', shell=True)", "passes shell=True"),
    "os.system": ("iglu_marl/data/packs/store.py", "import os\nos.system('ls')", "calls os.system()"),
    "torch.load": (
        "iglu_marl/data/packs/store.py",
        "load(f, weights_only=False)",
        "passes weights_only=False",
    ),
}


def write_tree(root: Path, files: dict[str, str]) -> None:
    for place, text in files.items():
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_a_clean_tree_gives_no_complaint(tmp_path: Path) -> None:
    write_tree(tmp_path, CLEAN)
    assert complaints(tmp_path) == []


@pytest.mark.parametrize(("place", "line", "expected"), FAULTS.values(), ids=FAULTS)
def test_every_fault_is_seen(tmp_path: Path, place: str, line: str, expected: str) -> None:
    write_tree(tmp_path, {**CLEAN, place: CLEAN.get(place, "") + line + "\n"})
    found = complaints(tmp_path)
    assert found
    assert all(expected in complaint for complaint in found), found
    assert all(complaint.startswith(place.removeprefix("iglu_marl/") + ":") for complaint in found), found


def test_the_clean_tree_is_not_clean_upside_down(tmp_path: Path) -> None:
    """Each layer is looked at: a package that imports the layer above is reported, whichever it is."""
    write_tree(tmp_path, CLEAN)
    for part, layer in LAYERS.items():
        above = next((other for other, level in LAYERS.items() if level > layer), None)
        if above is None:
            continue
        folder = tmp_path / "agents" if part == "agents" else tmp_path / PACKAGE / part
        folder.mkdir(exist_ok=True)
        path = folder / "climber.py"
        path.write_text(f"import iglu_marl.{above}\n", encoding="utf-8")
        assert any("climber.py" in complaint for complaint in complaints(tmp_path)), part
        path.unlink()
