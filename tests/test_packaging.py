"""The three ways to install: wheel, sdist, editable. In each, the folder agents/ is iglu_marl.agents.

Everything is built without isolation, so without a network, from a copy of the repository, and imported by an
interpreter that sees nothing but the installed copy and the dependencies.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from requirements import require

import iglu_marl

pytestmark = pytest.mark.system

if sys.version_info >= (3, 11):
    import tomllib
else:  # a dependency of pytest there
    import tomli as tomllib

# What a copy of the repository leaves out: environments, caches, results.
NOT_COPIED = shutil.ignore_patterns(
    *(".git", ".venv*", "build", "dist", "site", "*.egg-info", "__pycache__"),
    *(".*_cache", ".hypothesis", "iglu-marl-demo"),
)
TOP_FILES = {
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "Dockerfile",
    "requirements-container.txt",
    ".dockerignore",
    "Makefile",
    "NOTICES.md",
    "setup.py",
    "tox.ini",
    "mkdocs.yml",
}
# What else stands at the top of the sdist: folders of the repository, and what setuptools adds.
TOP_FOLDERS = {"agents", "benchmarks", "docs", "examples", "iglu_marl", "tests", "iglu_marl.egg-info"}
MADE = {"MANIFEST.in", "PKG-INFO", "pyproject.toml", "setup.cfg"}

# -S: no site-packages, so none of the .pth files and finders of the environment that runs the tests.
REPORT = """
import json, site, sys
folder, dependencies = sys.argv[1:]
site.addsitedir(folder)
sys.path.append(dependencies)
import importlib.metadata, importlib.util, pkgutil
import iglu_marl, iglu_marl.agents, iglu_marl.core.grid

print(json.dumps({
    "package": iglu_marl.__file__,
    "agents": iglu_marl.agents.__file__,
    "modules": [module.name for module in pkgutil.iter_modules(iglu_marl.agents.__path__)],
    "version": importlib.metadata.version("iglu_marl"),
    "script": [e.value for e in importlib.metadata.distribution("iglu_marl").entry_points],
    "stranger": importlib.util.find_spec("agents") is not None,
}))
"""


def project(root: Path) -> dict[str, object]:
    """The tables of pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def source_folders(root: Path) -> dict[str, Path]:
    """Every package by name, from the folders that have an __init__.py."""
    found = {}
    for folder, name in ((root / "iglu_marl", "iglu_marl"), (root / "agents", "iglu_marl.agents")):
        for init in folder.rglob("__init__.py"):
            found[".".join([name, *init.parent.relative_to(folder).parts])] = init.parent
    return found


def data_files(root: Path) -> list[str]:
    """Every file of the package that is not Python, relative to the installed package."""
    found = []
    for folder, prefix in ((root / "iglu_marl", ""), (root / "agents", "agents/")):
        files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
        names = [path.relative_to(folder).as_posix() for path in files if "__pycache__" not in path.parts]
        found += [prefix + name for name in names]
    return sorted(found)


def run(*command: str | Path, folder: Path) -> str:
    """The output of a command; the test fails with all that it printed if the command does."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def installed(wheel: Path, target: Path) -> Path:
    """The folder into which pip has put a wheel, alone."""
    pip = (sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-compile", "--quiet")
    run(*pip, "--disable-pip-version-check", "--target", target, wheel, folder=wheel.parent)
    return target


def report(folder: Path) -> Any:
    """What an interpreter sees of the copy installed in `folder`."""
    dependencies = sysconfig.get_path("purelib")
    seen = json.loads(run(sys.executable, "-S", "-c", REPORT, folder, dependencies, folder=folder))
    assert seen["version"] == iglu_marl.__version__
    assert seen["script"] == ["iglu_marl.cli:main", "iglu_marl.benchmark.inspect_tasks"]
    assert not seen["stranger"], "a top-level package `agents` would stand in the way of others"
    return seen


@pytest.fixture(scope="module")
def checkout(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that may be built in."""
    missing = [name for name in ("build", "setuptools", "pip") if importlib.util.find_spec(name) is None]
    require("packaging", not missing, f"this environment lacks {', '.join(missing)}")
    version = importlib.metadata.version("setuptools")
    require("packaging", int(version.split(".")[0]) >= 77, f"setuptools {version} is older than 77")
    copy = tmp_path_factory.mktemp("packaging") / "checkout"
    shutil.copytree(root, copy, symlinks=True, ignore=NOT_COPIED)
    return copy


@pytest.fixture(scope="module")
def sdist(checkout: Path) -> Path:
    out = checkout.parent / "sdist"
    run(
        sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", out, checkout, folder=checkout
    )
    (archive,) = out.glob("*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    return build_wheel(checkout, checkout.parent / "wheel")


def build_wheel(source: Path, out: Path) -> Path:
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", out, source, folder=source)
    (archive,) = out.glob("*.whl")
    return archive


def names_in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_agents_are_inside_the_package_from_a_clone_too(checkout: Path) -> None:
    """With nothing installed for editing: the folder that Python is started in comes first."""
    code = "import iglu_marl.agents as found; print(found.__file__, found.ScriptedBuilder.__module__)"
    assert run(sys.executable, "-c", code, folder=checkout).split() == [
        str(checkout / "iglu_marl" / "agents" / "__init__.py"),
        "iglu_marl.agents.scripted.builder",
    ]
    assert run(sys.executable, "-m", "benchmarks.pairs", "--help", folder=checkout)


def test_the_wheel_has_every_file_and_no_other(root: Path, wheel: Path) -> None:
    expected = {f"iglu_marl/{name}" for name in data_files(root)}
    for name, folder in source_folders(root).items():
        expected |= {f"{name.replace('.', '/')}/{path.name}" for path in folder.glob("*.py")}
    assert names_in_wheel(wheel) == expected


def test_the_wheel_imports(root: Path, wheel: Path, tmp_path: Path) -> None:
    target = installed(wheel, tmp_path / "site")
    seen = report(target)
    assert seen["package"] == str(target / "iglu_marl" / "__init__.py")
    assert seen["agents"] == str(target / "iglu_marl" / "agents" / "__init__.py")


def test_the_metadata_says_what_an_index_asks_for(root: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = importlib.metadata.PathDistribution(
            zipfile.Path(archive, name.rpartition("/")[0] + "/")
        ).metadata
        assert {"LICENSE"} <= {path.rpartition("/")[2] for path in archive.namelist()}
    assert metadata["Name"] == "iglu_marl"
    assert metadata["Version"] == iglu_marl.__version__
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    shown = (metadata.get_payload() or metadata["Description"]).strip()
    described = runpy.run_path(str(root / "setup.py"))["described"]
    readme = (root / "README.md").read_text("utf-8")
    assert shown == described(readme, None, iglu_marl.__version__).strip()
    tables = project(root)["project"]
    assert set(metadata.get_all("Provides-Extra")) == set(tables["optional-dependencies"])  # type: ignore[index]
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    core = [entry for entry in metadata.get_all("Requires-Dist") if "extra ==" not in entry]
    assert sorted(entry.lower() for entry in core) == sorted(
        entry.lower()
        for entry in tables["dependencies"]  # type: ignore[index]
    )


def test_links_of_the_package_page_are_absolute_once_there_is_a_home(root: Path) -> None:
    described = runpy.run_path(str(root / "setup.py"))["described"]
    readme = (root / "README.md").read_text("utf-8")
    assert not re.search(r"\]\((?!https?://|#)", described(readme, None, "1.2"))
    assert (
        described("![c](docs/c.png) [a](b.md), [d](https://d.e/f)", None, "1.2") == " a, [d](https://d.e/f)"
    )
    text = described(
        "[a](docs/a.md#b) ![c](docs/c.png) [d](https://d.e/f) [g](#h)", "https://home/it/", "1.2"
    )
    assert text == (
        "[a](https://home/it/blob/v1.2/docs/a.md#b) ![c](https://home/it/raw/v1.2/docs/c.png)"
        " [d](https://d.e/f) [g](#h)"
    )
    assert not re.search(r"\]\((?!https://|#)", described(readme, "https://home/it", "1.2"))


def test_the_version_is_the_same_wherever_it_stands(root: Path) -> None:
    patterns = {
        "README.md": rf"^version {re.escape(iglu_marl.__version__)} ·",
        "CITATION.cff": rf"^version: {re.escape(iglu_marl.__version__)}$",
        "docs/citing.md": rf"version=\{{{re.escape(iglu_marl.__version__)}\}}",
        "CHANGELOG.md": rf"^## \[{re.escape(iglu_marl.__version__)}\]",
    }
    for name, pattern in patterns.items():
        assert re.search(pattern, (root / name).read_text("utf-8"), re.MULTILINE), name


def test_the_container_copies_and_runs_what_there_is(root: Path) -> None:
    """Without a daemon it is not built here; its lines are those of the package."""
    lines = (root / "Dockerfile").read_text("utf-8").splitlines()
    assert 'ENTRYPOINT ["iglu-marl"]' in lines
    extras = project(root)["project"]["optional-dependencies"]  # type: ignore[index]
    (named,) = re.findall(r"/source\[([\w,]+)\]", "\n".join(lines))
    assert set(named.split(",")) <= set(extras)
    ignored = (root / ".dockerignore").read_text("utf-8").split()
    assert {".git", ".venv*"} <= set(ignored)
    assert not {"README.md", "pyproject.toml", "setup.py", "agents", "iglu_marl"} & set(ignored)


def test_the_container_pins_all_packages_and_has_a_user_of_its_own(root: Path) -> None:
    """Packages are pinned by hashes, in the versions promised. Numbers are rules of hadolint."""
    text = (root / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    steps = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    named = {key: [value for name, value in steps if name == key] for key, _ in steps}
    assert all(
        re.fullmatch(r"[\w./-]+:[\w.-]+", base) and ":latest" not in base for base in named["FROM"]
    )  # DL3006, 7
    assert named["USER"][-1] not in ("root", "0")  # DL3002
    for run in named["RUN"]:
        for install in re.findall(r"pip install ([^&]*)", run):
            assert "--no-cache-dir" in install  # DL3042
            assert "--require-hashes" in install or "--no-deps" in install  # DL3013
    lines = (root / "requirements-container.txt").read_text("utf-8").replace("\\\n", " ").splitlines()
    entries = [line for line in lines if line and not line.startswith("#")]
    pinned = re.compile(r"([\w.-]+)==([\w.!+]+)(?:\s+--hash=sha256:[0-9a-f]{64})+")
    assert all(pinned.fullmatch(entry) for entry in entries)
    found = dict(pinned.findall("\n".join(entries)))
    tables: Any = project(root)["project"]
    extras = tables["optional-dependencies"]
    for entry in [*tables["dependencies"], *(extras["web"] + extras["postgresql"])]:
        wanted = Requirement(entry)
        if wanted.name != "tomli":  # for Python 3.10
            assert wanted.specifier.contains(found[wanted.name.lower()]), entry


def test_every_dependency_has_a_lower_bound_and_no_upper_one(root: Path) -> None:
    """An upper bound would stand in the way of everybody's other packages; a broken version may be left out."""
    tables = project(root)["project"]
    entries = [*tables["dependencies"]]  # type: ignore[index]
    for extra in tables["optional-dependencies"].values():  # type: ignore[index]
        entries += extra
    for entry in entries:
        if entry.startswith("iglu_marl["):
            continue
        assert re.fullmatch(
            r"[A-Za-z0-9._-]+(\[[a-z0-9,]+\])?>=[\d.]+(b\d)?(,!=[\d.]+)?(; python_version >= '3\.\d+')?",
            entry,
        ), entry


def test_the_licence_of_every_dependency_is_named(root: Path) -> None:
    tables = project(root)["project"]
    groups = {"": tables["dependencies"], **tables["optional-dependencies"]}  # type: ignore[index]
    wanted: dict[str, set[str]] = {}
    for extra, entries in groups.items():
        for entry in entries:
            wanted.setdefault(re.split(r"[>\[]", entry)[0].lower(), set()).add(extra)
    del wanted["iglu_marl"]  # extras that contain others
    text = (root / "NOTICES.md").read_text(encoding="utf-8").partition("## Dependencies")[2]
    rows = re.findall(r"^\| ([\w.-]+) \| ([a-z, ]*)\| ([^|]+) \| [^|]*\|$", text, re.MULTILINE)
    named = {name.lower(): {part.strip() for part in extras.split(",")} for name, extras, _ in rows}
    named.pop("dependency")
    assert named.keys() == wanted.keys()
    for name, extras in wanted.items():  # a dependency of the package itself has no extra
        assert named[name] == ({""} if "" in extras else extras), name


def test_the_extras_that_messages_and_pages_name_exist(root: Path) -> None:
    extras = set(project(root)["project"]["optional-dependencies"])  # type: ignore[index]
    named = re.compile(r"iglu_marl\[([\w,]+)\]|'\.\[([\w,]+)\]'|extra [`\"'](\w+)[`\"']")
    pages = [*(root / "docs").rglob("*.md"), root / "README.md", root / "CONTRIBUTING.md"]
    folders = ("iglu_marl", "agents", "examples", "benchmarks")
    pages += [path for folder in folders for path in (root / folder).rglob("*.py")]
    found = set()
    for path in pages:
        for match in named.finditer(path.read_text(encoding="utf-8")):
            for name in next(part for part in match.groups() if part).split(","):
                assert name in extras, f"{path.relative_to(root)} names the extra {name!r}"
                found.add(name)
    assert {"minari", "rl"} <= found


def test_every_extra_is_explained(root: Path) -> None:
    extras = set(project(root)["project"]["optional-dependencies"])  # type: ignore[index]
    faq, readme = ((root / page).read_text(encoding="utf-8") for page in ("docs/faq.md", "README.md"))
    assert extras <= set(re.findall(r"^\| `([a-z]+)` \|", faq, re.MULTILINE))
    assert "docs/faq.md#what-do-the-extras-bring" in readme


def test_the_sdist_can_be_tested_and_built(root: Path, sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Debian 12's Python has none
        archive.extractall(tmp_path, **safely)  # type: ignore[arg-type]
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert {path.name for path in unpacked.iterdir()} == TOP_FILES | TOP_FOLDERS | MADE
    for folder in TOP_FOLDERS - {"iglu_marl.egg-info"}:
        kept = {
            path for path in (root / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        }
        if folder == "iglu_marl":  # an archive has the files of agents/ in place of the link
            agents = (root / "agents").rglob("*")
            kept |= {root / "iglu_marl" / path.relative_to(root) for path in agents if path.is_file()}
            kept = {path for path in kept if "__pycache__" not in path.parts}
        there = {path for path in (unpacked / folder).rglob("*") if path.is_file()}
        names = {path.relative_to(root) for path in kept if path.suffix != ".pyc"}
        assert {path.relative_to(unpacked) for path in there} == names, "a stray file, or one that is missing"

    rebuilt = build_wheel(unpacked, tmp_path / "wheel")
    assert names_in_wheel(rebuilt) == names_in_wheel(wheel)
    target = installed(rebuilt, tmp_path / "site")
    seen = report(target)
    assert seen["agents"] == str(target / "iglu_marl" / "agents" / "__init__.py")


def test_the_editable_install_has_agents(root: Path, checkout: Path, tmp_path: Path) -> None:
    hook = "import sys, setuptools.build_meta as backend; backend.build_editable(sys.argv[1])"
    run(sys.executable, "-c", hook, tmp_path, folder=checkout)
    (editable,) = tmp_path.glob("*.whl")
    target = installed(editable, tmp_path / "site")
    seen = report(target)
    assert seen["package"] == str(checkout / "iglu_marl" / "__init__.py")
    assert seen["agents"] == str(checkout / "iglu_marl" / "agents" / "__init__.py")

    # A file that is added later is there without another install.
    added = checkout / "agents" / "added_later.py"
    added.write_text("")
    try:
        assert "added_later" in report(target)["modules"]
    finally:
        added.unlink()


def test_core_dependencies_are_what_the_package_imports(root: Path) -> None:
    """A dependency that nothing lists breaks other people's installs only, so it is looked for here."""
    brought = {"rich", "typing-extensions"}  # by Typer and Gymnasium
    known = {
        "PIL": "pillow",
        "pygame": "pygame-ce",
        "imageio_ffmpeg": "imageio-ffmpeg",
        "markdown_it": "markdown-it-py",
        "OpenGL": "PyOpenGL",
    }
    tables = project(root)["project"]
    listed = brought | {entry.split(">")[0].lower() for entry in tables["dependencies"]}  # type: ignore[index]
    (within,) = [entry for entry in tables["optional-dependencies"]["dev"] if entry.startswith("iglu_marl[")]  # type: ignore[index]
    for extra in re.findall(r"\w+", within)[1:]:
        listed |= {re.split("[>[]", entry)[0].lower() for entry in tables["optional-dependencies"][extra]}  # type: ignore[index]
    rules = project(root)["tool"]["mypy"]["overrides"]  # type: ignore[index]
    overridden = {name for rule in rules if rule.get("ignore_missing_imports") for name in rule["module"]}
    extras = {
        entry.split(">")[0].split("[")[0].lower()
        for name, entries in tables["optional-dependencies"].items()  # type: ignore[index]
        if name not in ("dev", "docs")
        for entry in entries
    }
    for folder in source_folders(root).values():
        for path in folder.glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    names.append(node.module)
                for name in (name.split(".")[0] for name in names):
                    if name in sys.stdlib_module_names or name in ("iglu_marl", "tomli", "tomllib"):
                        continue
                    distribution = known.get(name, name).lower().replace("_", "-")
                    assert distribution in listed | extras, f"{path.name} imports {name}, which nothing lists"
                    absent = (
                        f"{path.name} imports {name} of an extra: mypy needs an override to pass without it"
                    )
                    assert distribution in listed or f"{name}.*" in overridden, absent


def test_workflows_pin_what_they_run(root: Path) -> None:
    """Actions by the hash of a commit, linters by their versions; tests run on pushes and pull requests."""
    for path in (root / ".github" / "workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.*)", path.read_text("utf-8")):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+", used), path
    yaml = pytest.importorskip("yaml")
    flow = yaml.safe_load((root / ".github" / "workflows" / "test.yml").read_text("utf-8"))
    assert {"push", "pull_request"} == flow[True].keys()  # YAML reads `on` as true
    assert [name.partition("-")[0] for name in flow["jobs"]["test"]["strategy"]["matrix"]["system"]] == [
        *("ubuntu", "macos", "windows")
    ]
    steps = (root / ".ci" / "run").read_text(encoding="utf-8")
    for linter in ("import-linter", "mypy", "ruff"):
        assert re.search(rf"\b{linter}==[\d.]+", steps)


def test_a_release_is_tested_on_every_python_and_published_without_a_token(root: Path) -> None:
    yaml = pytest.importorskip("yaml")
    flow = yaml.safe_load((root / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    jobs = flow["jobs"]
    supported = {
        line.rpartition(" ")[2]
        for line in project(root)["project"]["classifiers"]  # type: ignore[index]
        if re.search(r":: 3\.\d+$", line)
    }
    assert supported | {"3.14"} == set(jobs["test"]["strategy"]["matrix"]["python"])
    assert (jobs["test"]["needs"], jobs["publish"]["needs"]) == ("build", "test")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert flow["permissions"] == {"contents": "read"}
    assert "secrets." not in json.dumps(flow)
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text("utf-8"), re.M))
    called = re.findall(r"make ([a-z-]+)", json.dumps(flow))
    assert called
    assert set(called) <= targets
