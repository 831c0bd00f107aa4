"""README.md and docs/: every snippet runs, every command and link exists, every table agrees with the code.

`PYTHONPATH=. python tests/test_docs.py` rewrites the tables of the pages from the code and keeps the columns written by
hand.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import io
import itertools
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import environment_pages
import gymnasium as gym
import numpy as np
import pytest
import typer
from conformance import (
    CLEVR_ROBOT,
    GRIDWORLD,
    IGLU_DATASETS,
    IGLU_TASKS,
    KEYWORDS,
    SILENT_BUILDER,
    Row,
)
from PIL import Image
from requirements import ROOT, require

from benchmarks import conformance as tools
from iglu_marl import Controls, GameConfig
from iglu_marl.benchmark import levels
from iglu_marl.benchmark.models import LEVELS as MODEL_LEVELS
from iglu_marl.cli import app
from iglu_marl.const import id2color, id2color_iglu2022
from iglu_marl.core.actions import Action
from iglu_marl.envs.language import make_language_goal
from iglu_marl.envs.registration import GYMNASIUM_IDS, LANGUAGE_ID, PETTINGZOO_ID
from iglu_marl.game.config import GameOptions
from iglu_marl.game.effects import KINDS as GAMES
from iglu_marl.game.effects import NEEDS
from iglu_marl.game.episode import EVENTS
from iglu_marl.language.scene.program import FUNCTIONS
from iglu_marl.tasks import BundledTasks

pytestmark = pytest.mark.system

README = ROOT / "README.md"
INDEX = ROOT / "docs" / "index.md"
TUTORIALS = ROOT / "docs" / "tutorials" / "index.md"
PAGES = [
    README,
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "environments").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    ROOT / "iglu_marl/data/bundled/README.md",
]
OTHER_PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "NOTICES.md",
    *sorted((ROOT / "docs" / "api").glob("*.md")),
]
WITHOUT_SNIPPETS = {
    "docs/architecture.md",
    "docs/changes.md",
    "docs/comparison.md",
    "docs/compatibility.md",
    "docs/environments/silent-builder-visual.md",
    "docs/gallery.md",
    "docs/glossary.md",
    "docs/learning.md",
    "docs/pov_builder.md",
    "docs/games.md",
    "docs/reliability.md",
    "docs/speed.md",
    "docs/studies.md",  # tests/web/test_study.py follows it
    "docs/tutorials/index.md",
}
EXTRAS = {
    "docs/browser.md": ("web", "starlette"),
    "docs/frameworks.md": ("rl", "stable_baselines3", "torchrl"),
    "docs/offline.md": ("minari", "minari", "h5py"),
    "docs/tutorials/pairs-and-teams.md": ("rl", "torch"),
    "docs/tutorials/ppo.md": ("rl", "stable_baselines3"),
    "docs/text.md": ("pretrained", "transformers", "all_minilm_l6_v2"),
}  # what the snippets of a page import besides, after its name in `IGLU_MARL_REQUIRE`
PYTHONS = {
    "python",
    *(f".venv-{library}/bin/python" for library in ("rllib", "benchmarl", "trl")),
}
KINDS = {"python", "text", "console", "bash", "bibtex", "json", ""}

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OUTPUT = re.compile(r"\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_TABLE = re.compile(r"<!-- table: ([\w-]+) -->\n(.*?)<!-- end -->", re.DOTALL)
_NAME = re.compile(r"`(iglu_marl(?:\.\w+)+)")
_TEST = re.compile(r"`tests/([\w/]+\.py)::(\w+)`")


CONTINUED = "Each code block continues those above."  # what such a page says


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------------------- snippets


class Snippet(NamedTuple):
    line: int
    kind: str
    code: str
    output: str | None  # of the text block right below


def snippets(text: str) -> Iterator[Snippet]:
    """The fenced blocks of a page."""
    for match in _FENCE.finditer(text):
        output = _OUTPUT.match(text, match.end())
        yield Snippet(
            text.count("\n", 0, match.start()) + 1, match[1], match[2], None if output is None else output[1]
        )


def run_page(text: str, name: str) -> int:
    """Run the Python blocks of a page in an empty folder; compare outputs; return how many there are.

    Each runs alone, or after those above it on pages that say so.
    """
    count, begun_in, shared = 0, Path.cwd(), {"__name__": name}
    for snippet in snippets(text):
        if snippet.kind != "python":
            continue
        count += 1
        code = compile("\n" * snippet.line + snippet.code, name, "exec")
        shown = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(shown):
            os.chdir(folder)
            try:
                exec(code, shared if CONTINUED in text else {"__name__": name})  # noqa: S102 (our own pages)
            finally:
                os.chdir(begun_in)
        if snippet.output is not None:
            assert shown.getvalue() == snippet.output, f"{name}, line {snippet.line}"
    return count


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, with no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    monkeypatch.delenv("IGLU_HEADLESS", raising=False)


@pytest.mark.parametrize(
    "snippet",
    [part for part in snippets(read(README)) if part.kind == "python"],
    ids=lambda part: f"line {part.line}",
)
@pytest.mark.usefixtures("elsewhere")
def test_each_snippet_of_the_readme_runs_alone(snippet: Snippet) -> None:
    """As it does for a reader who copies no other."""
    done = subprocess.run([sys.executable, "-c", snippet.code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert snippet.output in (None, done.stdout)


@pytest.mark.parametrize("name", names([page for page in PAGES if page != README]))
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using")
def test_snippets_run_and_print_what_the_page_says(name: str) -> None:
    requirement, *modules = EXTRAS.get(name, ("",))
    for module in modules:
        require(requirement, importlib.util.find_spec(module), f"{module} is not installed")
    count = run_page(read(ROOT / name), name)
    assert count or name in WITHOUT_SNIPPETS


@pytest.mark.parametrize("name", names(PAGES + OTHER_PAGES))
def test_blocks_have_a_known_kind(name: str) -> None:
    """So that no Python escapes the tests by another name."""
    text = read(ROOT / name)
    assert {snippet.kind for snippet in snippets(text)} <= KINDS
    assert len(re.findall("^```", text, re.MULTILINE)) == 2 * len(list(snippets(text)))


@pytest.mark.parametrize("name", names(PAGES))
def test_snippets_import_what_registers_the_ids(name: str) -> None:
    """In the process of the tests they are registered already."""
    makers = re.compile(r"^(?:import|from) (?:gymnasium|minari|pettingzoo)", re.MULTILINE)
    ours = re.compile(r"^(?:import|from) iglu_marl", re.MULTILINE)
    text, above = read(ROOT / name), ""
    for snippet in snippets(text):
        above = above + snippet.code if CONTINUED in text else snippet.code
        if snippet.kind == "python" and makers.search(snippet.code):
            assert ours.search(above), f"{name}, line {snippet.line}"


# -------------------------------------------------------------------------------------------------- commands


def commands(text: str) -> list[str]:
    """The command lines of a page: `$ …` in console blocks, and every line of bash blocks."""
    found = []
    for snippet in snippets(text):
        lines = snippet.code.splitlines()
        if snippet.kind == "console":
            found += [line[2:] for line in lines if line.startswith("$ ")]
        elif snippet.kind == "bash":
            found += [line for line in lines if line.strip()]
    return found


def takes(program: str, option: str) -> bool:
    """Whether a program names an option, or has a parameter of its name from which Typer makes it."""
    name = option.removeprefix("--").removeprefix("no-").replace("-", "_")
    functions = [
        "main",
        *re.findall(r"^ *(?:run_options|app\.command\(.*\))\((\w+)\)", program, re.MULTILINE),
    ]
    of_typer = rf"^def (?:{'|'.join(functions)})\(.*?\) ->"
    made = "".join(re.findall(of_typer, program, re.MULTILINE | re.DOTALL))
    return f'"{option}"' in program or re.search(rf"\b{name}: ", made) is not None


@cache
def cli() -> Any:
    return typer.main.get_command(app)


def options_of(line: str) -> set[str]:
    """The options of the command in a line, or of all commands if it names none."""
    command = cli()
    for word in line.partition("iglu-marl ")[2].split():
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    waiting, found = [command], set()
    for one in waiting:
        waiting += getattr(one, "commands", {}).values()
        found |= {option for part in one.params for option in (*part.opts, *part.secondary_opts)}
    return found


def check_command(command: str) -> None:
    """Raises, or fails, unless the program knows this command with these options. Runs nothing."""
    words = shlex.split(command, comments=True)
    program, *rest = itertools.dropwhile(lambda word: re.match("[A-Z_]+=", word), words)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", read(ROOT / "Makefile"), re.MULTILINE)
        for word in rest:
            assert "=" in word or word in targets, f"make has no target {word!r}"
    elif program == "iglu-marl":
        group: Any = typer.main.get_command(app)
        rest = [re.sub(r"^my_\w+\.py:\w+$", "scripted", word) for word in rest]  # files of the reader
        context = group.make_context("iglu-marl", list(rest))
        name, command_of, options = group.resolve_command(context, rest)
        command_of.make_context(name, options, parent=context)
    elif program == "pip":
        assert rest[0] == "install"
    elif program in PYTHONS and rest:
        if rest[:2] == ["-m", "pytest"]:
            return
        if rest[0] == "-m":
            place = rest[1].replace(".", "/")
            main = f"{place}/__main__.py"
            rest = [main if (ROOT / main).is_file() else f"{place}.py", *rest[2:]]
        text = read(ROOT / rest[0])
        for module in re.findall(r"^from (benchmarks[.\w]*) import", text, re.MULTILINE):  # shared options
            text += read(ROOT / f"{module.replace('.', '/')}.py")
        for word in rest[1:]:
            assert not word.startswith("-") or takes(text, word.partition("=")[0]), f"{rest[0]} has no {word}"
    else:
        assert (ROOT / program).is_file(), (
            f"{program!r} is neither make nor pip nor iglu-marl nor a file here"
        )


def test_options_have_their_present_names() -> None:
    folders = ("examples", "benchmarks", "tests/trust")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    others = "--logdir --help --system --create-home --home-dir --now --token-limit --time-limit"
    scripts = "".join([*map(read, paths), *(f'"{option}"' for option in others.split())])  # of other programs
    for page in PAGES:
        if page.name == "changes.md":  # which has the former names
            continue
        text = read(page)
        in_text = [code for code in re.findall("(?<!`)`([^`]+)`(?!`)", _FENCE.sub("", text)) if "--" in code]
        for line in [line for line in commands(text) if "iglu-marl " in line] + in_text:
            known = options_of(line)
            for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", line):
                ours = option in known or ("iglu-marl " not in line and takes(scripts, option))
                assert ours, f"{page}: no {option} in {line!r}"


@pytest.mark.parametrize("name", names(PAGES + OTHER_PAGES))
def test_commands_exist(name: str) -> None:
    for command in commands(read(ROOT / name)):
        check_command(command)


# ----------------------------------------------------------------------------------------------------- links


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path, text: str) -> list[str]:
    """The relative links and pictures of a page that lead nowhere."""
    found = []
    for link in _LINK.findall(_FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("name", names(PAGES + OTHER_PAGES))
def test_links_and_pictures_lead_somewhere(name: str) -> None:
    assert broken(ROOT / name, read(ROOT / name)) == []


def test_every_page_is_linked_from_the_index() -> None:
    links = {link.partition("#")[0] for link in _LINK.findall(read(INDEX))}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} <= links


def test_every_environment_has_its_page_and_every_picture_of_the_gallery_is_used() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "environments").glob("*.md")}
    assert pages == {environment.page for environment in environment_pages.ENVIRONMENTS}
    made = {*GYMNASIUM_IDS, LANGUAGE_ID}
    assert made <= {environment.made_by.split('"')[1] for environment in environment_pages.ENVIRONMENTS[2:]}
    shown = {
        Path(link).name for link in _LINK.findall(read(ROOT / "docs" / "gallery.md")) if "gallery/" in link
    }
    gallery = script("gallery")
    assert (
        shown
        == {f"{name}.png" for name in gallery.drawings()}
        == {path.name for path in gallery.FOLDER.iterdir()}
    )


@pytest.mark.parametrize("name", ["environment-language-goal", "structure-crane"])
def test_the_pictures_of_the_gallery_are_those_of_the_code(name: str) -> None:
    """`python docs/assets/gallery.py` draws them again. Small differences of rounding are allowed."""
    gallery = script("gallery")
    made = np.asarray(gallery.as_stored(gallery.drawings()[name]()).convert("RGB"), float)
    with Image.open(gallery.FOLDER / f"{name}.png") as picture:
        assert np.abs(made - np.asarray(picture.convert("RGB"), float)).mean() < 2


def test_every_tutorial_and_every_example_is_in_the_list_of_tutorials() -> None:
    """An example's page is the one that links to it."""
    links = {link.partition("#")[0] for link in _LINK.findall(read(TUTORIALS))}
    assert {page.name for page in TUTORIALS.parent.glob("*.md")} - {"index.md"} <= links
    for example in sorted((ROOT / "examples").glob("*.py")):
        assert f"../../examples/{example.name}" in links, f"{example.name} has no row in {TUTORIALS}"


@pytest.mark.parametrize("name", names(PAGES + OTHER_PAGES))
def test_named_tests_and_members_exist(name: str) -> None:
    text = read(ROOT / name)
    for file, test in _TEST.findall(text):
        assert f"\ndef {test}(" in read(ROOT / "tests" / file), f"{file} has no test {test}"
    for dotted in _NAME.findall(_FENCE.sub("", text)):
        if dotted.startswith("iglu_marl.text.openenv") and importlib.util.find_spec("openenv") is None:
            continue
        pkgutil.resolve_name(dotted)  # imports modules on the way, whatever was imported before


# ---------------------------------------------------------------------------------------------------- the architecture

STEPS = re.compile(r"`((?:iglu_marl|agents)/[\w/]+\.py):([\w.]+)`")


def test_every_step_of_the_paths_exists() -> None:
    steps = STEPS.findall(read(ROOT / "docs" / "architecture.md"))
    assert len(steps) >= 25
    for file, name in steps:
        body: Any = ast.parse(read(ROOT / file))
        for part in name.split("."):
            found = [
                node
                for node in body.body
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
            ]
            assert found, f"{file} defines no {name}"
            body = found[0]


def test_the_diagram_is_that_of_the_code() -> None:
    """Packages and arrows; `python docs/assets/architecture.py` draws it again."""
    diagram = script("architecture")
    drawn = read(diagram.PICTURE)
    assert set(re.findall(r'data-package="(\w+)"', drawn)) == set(diagram.packages())
    assert {tuple(pair.split()) for pair in re.findall(r'data-arrow="([\w ]+)"', drawn)} == diagram.arrows()


# ---------------------------------------------------------------------------------------------------- tables


def cell(value: Any) -> str:
    return f"`{value}`"


def spelled(space: gym.Space[Any]) -> str:
    return cell(environment_pages.spelled(space))


def colours() -> list[list[str]]:
    theirs = {name: number for number, name in id2color_iglu2022.items()}
    return [[str(number), name, str(theirs[name])] for number, name in id2color.items()]


def keys_of(controls: Any) -> list[list[str]]:
    return [[cell(key), spelled(space)] for key, space in Controls(controls).space.items()]  # type: ignore[attr-defined]


def effects() -> list[list[str]]:
    """Kinds of environments, with the options that raise there."""
    names = {
        "aec": "`iglu_marl.env`, `raw_env`",
        "parallel": "`parallel_env`",
        "live": "`LiveGame`",
        "vector": "`VectorGame`",
        "single": "a lone builder with a recorded dialogue",
        "instructed": "a lone builder with a live architect",
        "goal": "`LanguageGoal-v0`",
    }
    rows = []
    for number, kind in enumerate(GAMES, 1):
        raising = [row[0] for row in environment_pages.effect_rows() if row[number]]
        allowed = [row[0] for row in environment_pages.effect_rows() if not row[number]]
        text = ", ".join(raising) if len(raising) < len(allowed) else "all but " + ", ".join(allowed)
        rows.append([names[kind], text or "none"])
    return rows


def needs() -> list[list[str]]:
    """What else options need to have an effect."""
    options: dict[str, list[str]] = {}
    for name, (need, _) in NEEDS.items():
        options.setdefault(need, []).append(f"`{name}`")
    return [[", ".join(names), need] for need, names in options.items()]


def ids() -> list[list[str]]:
    functions = [
        ["`iglu_marl.env`, `iglu_marl.raw_env`"],
        ["`iglu_marl.parallel_env`"],
        [cell(PETTINGZOO_ID)],
    ]
    return functions + [[cell(name)] for name in (*GYMNASIUM_IDS, LANGUAGE_ID)]


def functions() -> list[list[str]]:
    """The functions of programs by what they give, as they are written."""
    made: dict[str, list[str]] = {}
    for name, function in FUNCTIONS.items():
        takes = ", ".join((*function.inputs, *([function.value] if function.value else [])))
        made.setdefault(str(function.output), []).append(f"`{name}({takes})`")
    return [[output, ", ".join(calls)] for output, calls in made.items()]


def config() -> list[list[str]]:
    return [row.strip("| ").split(" | ") for row in GameConfig.table().splitlines()[2:]]


def goal_options() -> list[list[str]]:
    """What language goals take besides the fields of `GameConfig`."""
    taken = inspect.signature(make_language_goal).parameters.values()
    own = [one for one in taken if one.name not in GameOptions.__annotations__]
    return [[cell(one.name), cell(repr(one.default))] for one in own]


def measured() -> list[list[str]]:
    """Where the recorded answers of the tools and the answers of this package differ."""
    rows = [row for tool, answers in tools.recorded().items() for row in tools.rows(tool, answers)]
    return [[row.tool, row.item, row.note] for row in rows if row.verdict == "differs"]


def hints(*tables: list[Row]) -> list[list[str]]:
    """What differs, is refused, or needs more than other imports."""
    return [[row.item, row.how] for rows in tables for row in rows if row.how]


def keywords(tool: str) -> list[Row]:
    """The keywords of CLEVR-Robot, or those of gridworld."""
    return [row for row in KEYWORDS if row.item.startswith("CLEVR-Robot") == (tool == "CLEVR-Robot")]


def script(name: str) -> Any:
    """A script of docs/assets as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "assets" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def structures() -> list[list[str]]:
    """Four structures to a row, each with its picture and the length of its words."""
    cells = [
        f"![{task.task_id}](images/gallery/structure-{task.task_id}.png) {task.task_id}, {task.target_size} blocks"
        for task in BundledTasks(mode="structures")
    ]
    return [cells[at : at + 4] for at in range(0, len(cells), 4)]


def level_rows() -> list[list[str]]:
    """All levels: what is asked for, what is held out, the builder, steps, budget, runs."""
    return [
        [
            f"`{level.name}`",
            level.about,
            "; ".join(map(str, level.held_out)),
            f"{level.controls}; sees {', '.join((*level.sees, *(('target',) * level.sees_target)))}",
            f"{level.max_steps:,}",
            f"{level.budget:,}",
            str(level.seeds),
        ]
        for level in levels()
    ]


TABLES: dict[str, Callable[[], list[list[str]]]] = {
    **environment_pages.TABLES,
    "gallery-environments": environment_pages.gallery,
    "gallery-structures": structures,
    "conformance-measured": measured,
    "hints-2022": lambda: hints(GRIDWORLD, keywords("gridworld")),
    "hints-datasets": lambda: hints(IGLU_DATASETS),
    "hints-2021": lambda: hints(SILENT_BUILDER, IGLU_TASKS),
    "hints-clevr": lambda: hints(CLEVR_ROBOT, keywords("CLEVR-Robot")),
    "model-levels": lambda: [
        [f"`{one.name}`", one.about, one.role, str(one.games) if one.make else "all"] for one in MODEL_LEVELS
    ],
    "levels": level_rows,
    "colours": colours,
    "config": config,
    "effects": effects,
    "needs": needs,
    "functions": functions,
    "events": lambda: [[cell(name), str(number)] for number, name in enumerate(EVENTS)],
    "goal-options": goal_options,
    "ids": ids,
    "walking": lambda: [[str(int(action)), cell(action.name.lower())] for action in Action],
    **{name: lambda name=name: keys_of(name) for name in ("flying", "human-level", "discrete", "continuous")},  # type: ignore[misc]
}


def rows_of(table: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    return [[part.strip() for part in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def tables() -> list[tuple[str, str, str]]:
    return [(name, *match) for name in names(PAGES) for match in _TABLE.findall(read(ROOT / name))]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("page", "name", "table"), tables(), ids=lambda value: value if len(value) < 40 else ""
)
def test_tables_agree_with_the_code(page: str, name: str, table: str) -> None:
    rows = rows_of(table)
    if name == "imports":
        for _, line in rows:
            exec(line.strip("`"), {})  # noqa: S102 (our own page)
        return
    made = TABLES[name]()
    width = len(made[0])
    assert [row[:width] for row in rows] == made, "run PYTHONPATH=. python tests/test_docs.py"


def test_every_table_is_in_the_docs() -> None:
    assert {name for _, name, _ in tables()} == {*TABLES, "imports"}


def rewritten(text: str) -> str:
    """A page with its tables as the code has them; what was written by hand stays with its row."""

    def renew(match: re.Match[str]) -> str:
        name, table = match[1], match[2]
        if name not in TABLES:
            return match[0]
        made = TABLES[name]()
        by_hand = {tuple(row[: len(made[0])][:1]): row[len(made[0]) :] for row in rows_of(table)}
        columns = len(table.splitlines()[0].strip("|").split("|"))
        lines = table.splitlines()[:2]
        for row in made:
            rest = by_hand.get(tuple(row[:1]), [""] * (columns - len(row)))
            lines.append("| " + " | ".join([*row, *rest]) + " |")
        return f"<!-- table: {name} -->\n" + re.sub(r"\|  (?=\|)", "| ", "\n".join(lines)) + "\n<!-- end -->"

    return _TABLE.sub(renew, text)


if __name__ == "__main__":
    for path in PAGES:
        old = read(path)
        new = rewritten(old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(f"rewrote {path.relative_to(ROOT)}")
