"""Mutations: single wrong edits of the package, each of which a test of its sub-package must notice.

    python tests/mutations.py draw LIST --seed 3 --count 30   # draws into a new list (needs `pip install cosmic-ray`)
    python tests/mutations.py run LIST                        # runs those without an outcome; --again runs all
    python tests/mutations.py locate LIST                     # finds entries whose code moved, names those lost

A list is a JSON file in `tests/mutations/`. Its entries have the text before and after, with as many lines around the
edit as make it unique, so that they are found again wherever the lines are. `equivalent` is an outcome that a person
gives, with a `reason`: the edited code does the same.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 180  # for the tests of one mutation
FIRST = 3  # test files that run before the others are even collected
# The physics, and what users rely on, concern every package.
EVERYWHERE = ("tests/core/test_golden_traces.py", "tests/envs/test_contracts.py")
PYTEST = (sys.executable, "-m", "pytest", "-x", "-v", "-p", "no:cacheprovider", "-p", "no:xdist")
HIDDEN = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site", "*.egg-info")

Entry = dict[str, Any]


# ------------------------------------------------------------------------------------------------ drawing


def sources() -> list[Path]:
    """The files that are mutated: the package without `language/`, whose tests are sentences."""
    files = [*(ROOT / "iglu_marl").rglob("*.py"), *(ROOT / "agents").rglob("*.py")]
    inside = ("language", "templates", "agents")  # iglu_marl/agents is a link to agents/
    return sorted(path for path in files if path.relative_to(ROOT).parts[1] not in inside)


def places(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield all mutations of a file: operator, its occurrence, line. Operators that take arguments are left out."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name) for name in operator_names()}
    plain = {name: operator() for name, operator in operators.items() if not operator.arguments()}
    count: Counter[str] = Counter()
    for node in ast_nodes(get_ast(text)):
        for name, operator in plain.items():
            for (line, _column), _end in operator.mutation_positions(node):
                yield name, count[name], line
                count[name] += 1


def edited(text: str, operator: str, occurrence: int) -> str | None:
    """Return the text with one mutation; None where it is no Python, or changes annotations alone."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    new = mutate_code(text, get_operator(operator)(), occurrence)
    try:
        return new if new and _without_annotations(new) != _without_annotations(text) else None
    except SyntaxError:
        return None


def _without_annotations(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None):
                setattr(node, name, ast.Constant(None))
    return ast.dump(tree)


def entry(path: Path, old: str, new: str, operator: str, occurrence: int) -> Entry:
    """Return what a list has of a mutation: the changed lines, with lines before them until they are unique."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    start = next(i for i, line in enumerate(before) if i >= len(after) or line != after[i])
    end = next(i for i in range(1, len(before)) if before[-i] != after[-i]) - 1
    last, last_after = max(start + 1, len(before) - end), max(start, len(after) - end)
    first = start
    while first and old.count("".join(before[first:last])) > 1:
        first -= 1
    around = [
        node.name
        for node in ast.walk(ast.parse(old))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.lineno <= start + 1 <= (node.end_lineno or 0)
    ]
    file = path.relative_to(ROOT).as_posix()
    texts = {"old": "".join(before[first:last]), "new": "".join(after[first:last_after])}
    where = {"file": file, "in": ".".join(around) or "module"}
    return where | {"operator": operator.partition("/")[2], "occurrence": occurrence} | texts


def draw(seed: int, count: int) -> list[Entry]:
    """Return mutations that are drawn uniformly from all."""
    texts = {path: path.read_text("utf-8") for path in sources()}
    everything = [(path, *place[:2]) for path, text in texts.items() for place in places(text)]
    print(f"{len(everything):,} mutations of {len(texts)} files")
    random.Random(seed).shuffle(everything)
    entries: list[Entry] = []
    for path, operator, occurrence in everything:
        if len(entries) < count and (new := edited(texts[path], operator, occurrence)):
            entries.append(entry(path, texts[path], new, operator, occurrence))
    return entries


# ------------------------------------------------------------------------------------------------ running


def tests_of(change: Entry) -> list[str]:
    """Return the test files of a mutation, those first that name what it changes."""
    if "tests" in change:
        return change["tests"].split()
    parts = Path(change["file"]).parts
    package = "agents" if parts[0] == "agents" else parts[1] if len(parts) > 2 else "commands"
    stem = Path(change["file"]).stem.strip("_")
    names = [*change["in"].split("."), stem] if change["in"] != "module" else [stem]

    def rank(path: Path) -> tuple[bool, int, str]:
        text = path.read_text("utf-8")
        mentioned = sum(bool(re.search(rf"\b{name}\b", text)) for name in names)
        return path.stem != f"test_{stem}", -mentioned, path.name

    files = sorted((ROOT / "tests" / package).glob("test_*.py"), key=rank)
    return list(dict.fromkeys([*(path.relative_to(ROOT).as_posix() for path in files), *EVERYWHERE]))


class Copy:
    """A copy of the checkout, in which one file at a time is edited."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=HIDDEN)
        own = {"PYTHONPATH": str(self.root), "NUMBA_CACHE_DIR": str(folder / "kernels")}
        self._env = os.environ | own | {"HYPOTHESIS_PROFILE": "ci", "PYTHONUNBUFFERED": "1"}

    def test(self, tests: list[str], limit_s: float, marks: str = "") -> tuple[int | None, str]:
        """Run tests; return pytest's exit code (None: the time was over) and the test that failed or ran last."""
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                [*PYTEST, "-m", marks, *tests],
                cwd=self.root,
                env=self._env,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            output.seek(0)
            text = output.read()
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/\S+?\.py(?:::.*?(?=$| - ))?)", text, re.M)
        begun = re.findall(r"^(tests/\S+\.py::.*?) *(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|$)", text, re.M)
        return code, (failed or begun or [""])[-1]

    def notices(self, change: Entry, tests: list[str], marks: str = "") -> str | None:
        """Return the test that fails with the mutation and passes without it; None if there is none.

        Where the time is over, the test that was running counts if it hangs by itself, too.
        """
        begun = time.monotonic()
        waiting = [tests[:FIRST], tests[FIRST:]]
        path = self.root / change["file"]
        text = path.read_text("utf-8")
        try:
            while waiting and (left := LIMIT_S - time.monotonic() + begun) > 0:
                path.write_text(text.replace(change["old"], change["new"]), "utf-8")
                code, test = self.test(waiting[0], left, marks)
                if code in (0, 5):  # 5: no test has these marks
                    waiting.pop(0)
                    continue
                one = [test] if test else ["--collect-only", *waiting[0]]
                hangs = code is None and self.test(one, 60)[0] != 0
                path.write_text(text, "utf-8")
                if (code or hangs) and self.test(one, 60)[0] == 0:
                    return test or "collection"
                if not test:
                    raise SystemExit("without a mutation, the tests cannot be collected")
                waiting[0] = [*waiting[0], f"--{'deselect' if '::' in test else 'ignore'}={test}"]
            if waiting:
                change["unfinished"] = marks
            return None
        finally:
            path.write_text(text, "utf-8")


def found(change: Entry) -> bool:
    """Whether the text of an entry is in its file once."""
    path = ROOT / change["file"]
    return path.is_file() and path.read_text("utf-8").count(change["old"]) == 1


def run(path: Path, again: bool) -> None:
    """Run the mutations of a list that have no outcome, and write what happens into it."""
    changes: list[Entry] = json.loads(path.read_text("utf-8"))
    if lost := [change["file"] for change in changes if not found(change)]:
        raise SystemExit(f"{len(lost)} entries are not found, in {', '.join(lost)}: see `locate`")
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for marks in ("not slow", "slow"):
            for change in changes:
                outcome = change.get("outcome")
                if outcome == "equivalent" or (marks == "not slow" and outcome and not again):
                    continue
                if marks == "slow" and (outcome == "noticed" or change.get("tested") == "all"):
                    continue
                begun = time.monotonic()
                test = copy.notices(change, tests_of(change), marks)
                change["outcome"] = "noticed" if test else "unnoticed"
                change["tested"] = "quick" if marks == "not slow" else "all"
                change["by"] = test
                path.write_text(json.dumps(changes, indent=1) + "\n", "utf-8")
                seconds = time.monotonic() - begun
                print(f"{change['outcome']:9} {seconds:4.0f} s {change['file']} {change['in']}", flush=True)
    print(summary(changes))


def summary(changes: list[Entry]) -> str:
    """Return the share of noticed mutations, of those that are not equivalent."""
    outcomes = Counter(change.get("outcome", "to be run") for change in changes)
    real = len(changes) - outcomes["equivalent"]
    return f"{outcomes['noticed']} of {real} noticed; {dict(outcomes)}"


def locate(path: Path) -> None:
    """Give entries whose text is elsewhere now, once, their new file; print those lost."""
    changes: list[Entry] = json.loads(path.read_text("utf-8"))
    texts = {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in sources()}
    for change in changes:
        if not found(change):
            places = [file for file, text in texts.items() if text.count(change["old"]) == 1]
            print(f"{change['file']} {change['in']}: {places or 'lost'}")
            if len(places) == 1:
                change["file"] = places[0]
    path.write_text(json.dumps(changes, indent=1) + "\n", "utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("draw", "run", "locate", "share"))
    parser.add_argument("list", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--again", action="store_true", help="run those with an outcome, too")
    given = parser.parse_args()
    if given.command == "draw":
        given.list.write_text(json.dumps(draw(given.seed, given.count), indent=1) + "\n", "utf-8")
    elif given.command == "run":
        run(given.list, given.again)
    elif given.command == "locate":
        locate(given.list)
    print(summary(json.loads(given.list.read_text("utf-8"))))


if __name__ == "__main__":
    main()
