"""Check what import-linter and ruff cannot say (see *Architecture* in CONTRIBUTING.md; they run in `make lint`)."""

from __future__ import annotations

import ast
import re
from typing import TypeGuard

import grimp
import pytest
from importlinter.api import read_configuration
from requirements import ROOT

import iglu_marl
from iglu_marl.core.jit import SOURCES

PACKAGE = "iglu_marl"
JIT = f"{PACKAGE}.core.jit"
CAN_RUN_CODE = re.compile(r"(allow_pickle|shell|trust_remote_code)=True|weights_only=False")
# Lines of Python in the package, its agents, examples and benchmarks, with slack: no line is packed to stay below it.
MAX_LINES = 80_000


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE)


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """The syntax trees by place in the package: `core/grid.py`, `agents/oracle.py`."""
    folder = ROOT / PACKAGE  # with iglu_marl/agents, a link
    paths = [*folder.rglob("*.py"), *(folder / "agents").rglob("*.py")]
    places = {path.relative_to(folder).as_posix(): path for path in paths}
    assert {"core/kernels/step.py", "agents/scripted/builder.py"} <= places.keys()
    return {place: ast.parse(path.read_text(encoding="utf-8")) for place, path in sorted(places.items())}


def test_only_agents_use_the_list_of_public_names_and_only_what_lies_below_them(
    graph: grimp.ImportGraph, trees: dict[str, ast.Module]
) -> None:
    """`from iglu_marl import play` could reach any layer; import-linter sees only `iglu_marl`."""
    users = graph.find_modules_that_directly_import(PACKAGE)
    assert users
    assert all(module.startswith(f"{PACKAGE}.agents.") for module in users)
    names = {
        alias.name
        for place, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE and place.startswith("agents/")
        for alias in node.names
    }
    homes = {name: str(getattr(getattr(iglu_marl, name), "__module__", name)) for name in names - {"data"}}
    above = {name: home for name, home in homes.items() if home.split(".")[1] not in ("core", "game")}
    assert above == {}


NAME = re.compile(rf"{PACKAGE}\.(\w+)[\w.]*(:\w+)?")
# Gymnasium makes environments by name, and the registry of agents those that play in the browser.
NAMES_ABOVE = {
    ("agents/registry.py", "iglu_marl.web.human:HumanArchitect"),
    ("agents/registry.py", "iglu_marl.web.human:HumanBuilder"),
}


def test_only_registries_name_what_is_above_them(trees: dict[str, ast.Module]) -> None:
    """By strings, which import-linter does not see."""
    contracts = read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    heights = {name: -row for row, layer in enumerate(layers) for name in layer.split(" | ")}
    above = set()
    for place, tree in trees.items():
        here = heights.get(place.partition("/")[0].removesuffix(".py"), 0)
        for node in ast.walk(tree):
            name = NAME.fullmatch(node.value) if is_text(node) else None
            if name and heights.get(name[1], here) > here:
                above.add((place, name[0]))
    assert above == NAMES_ABOVE


def is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_agents_are_written_with_public_names(graph: grimp.ImportGraph) -> None:
    """Other people write theirs against the same names."""
    private = {
        (agent, module)
        for agent in graph.find_descendants(f"{PACKAGE}.agents")
        for module in graph.find_modules_directly_imported_by(agent)
        if re.search(r"\._|\.core\.kernels|\.grammar\.makers", module)
    }
    assert private == set()


def test_kernels_import_only_what_their_cache_looks_at(graph: grimp.ImportGraph) -> None:
    modules = graph.find_descendants(PACKAGE)

    def is_watched(module: str) -> bool:
        place = module.removeprefix(f"{PACKAGE}.").replace(".", "/") + ".py"
        return SOURCES.fullmatch(place) is not None

    kernels = {module for module in modules if is_watched(module)}
    assert f"{PACKAGE}.core.kernels.step" in kernels
    assert graph.find_modules_that_directly_import(JIT) <= kernels
    without_constants = {JIT, f"{PACKAGE}.core.errors", f"{PACKAGE}.core.kernels"}
    for kernel in kernels:
        ours = graph.find_modules_directly_imported_by(kernel) & modules
        assert ours <= kernels | without_constants, kernel


def test_what_is_read_runs_no_code(trees: dict[str, ast.Module]) -> None:
    """Beside ruff's rules for pickle, eval, exec and shells."""
    calls = [
        (place, node.lineno)
        for place, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and any(CAN_RUN_CODE.fullmatch(ast.unparse(keyword)) for keyword in node.keywords)
    ]
    assert calls == []


def test_one_public_name_means_one_thing(trees: dict[str, ast.Module]) -> None:
    """No two classes have the same name, but in `compat/`, which has the names of older tools on purpose."""
    places: dict[str, list[str]] = {}
    for place, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and place[:7] != "compat/":
                places.setdefault(node.name, []).append(place)
    assert len(places) > 300
    several = {name: where for name, where in places.items() if len(where) > 1}
    # The next rebuild of `language` renames its own.
    assert several.keys() <= {"Ambiguous", "Level", "Sequence"}, several


def test_the_package_keeps_its_size(trees: dict[str, ast.Module]) -> None:
    folders = [ROOT / PACKAGE, ROOT / "examples", ROOT / "benchmarks"]
    paths = {ROOT / PACKAGE / place for place in trees}
    paths |= {path for folder in folders[1:] for path in folder.rglob("*.py")}
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    assert 50_000 < lines <= MAX_LINES
