"""Mutations: single wrong edits of the package, which a test of its sub-package must notice.

    python tests/mutations.py draw LIST --seed 3 --count 30   # into a new list; needs `pip install cosmic-ray`
    python tests/mutations.py run LIST                        # those without an outcome

Lists are in `tests/mutations/`. An entry has the lines before and after, with as many lines above the edit as make it
unique. `outcome` is noticed, unnoticed or, given by a person with a `reason`, equivalent: the edit
changes nothing that anybody could see.

The quick tests of the sub-package run first, then the slow ones, golden traces and contracts among
them. All pass without an edit. Where the time is over, the entry is `unfinished`: perhaps it hangs.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 300  # for the quick tests of one mutation, and for the slow ones
EVERYWHERE = (
    "tests/core/test_golden_traces.py",
    "tests/envs/test_contracts.py",
)  # they concern every sub-package
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
HIDDEN = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site", "*.egg-info")

Entry = dict[str, Any]


def sources() -> dict[str, str]:
    """Return the texts of all files of the package, by path from the root."""
    files = [*(ROOT / "iglu_marl").rglob("*.py"), *(ROOT / "agents").rglob("*.py")]
    named = {path.relative_to(ROOT).as_posix(): path for path in files}
    # iglu_marl/agents is a link to agents/
    return {name: named[name].read_text("utf-8") for name in sorted(named) if "iglu_marl/agents/" not in name}


# ------------------------------------------------------------------------------------------------ drawing


_NEVER = frozenset(("name", "newline", "string", "endmarker"))
_MARKS = frozenset("()[]{},:;.=")


def places(text: str) -> Iterator[tuple[str, int]]:
    """Yield all mutations of a file as operator and occurrence. Operators that need arguments are left out."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    found = {name: get_operator(name) for name in operator_names()}
    operators = {name: operator() for name, operator in found.items() if not operator.arguments()}
    count: Counter[str] = Counter()
    for node in ast_nodes(get_ast(text)):
        if (
            node.type in _NEVER or getattr(node, "value", "") in _MARKS
        ):  # most nodes: quicker than to ask each operator
            continue
        for name, operator in operators.items():
            for _ in operator.mutation_positions(node):
                yield name, count[name]
                count[name] += 1


def edited(text: str, operator: str, occurrence: int) -> str | None:
    """Return the text with one mutation; None where it is no Python, or where only annotations differ."""
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


def entry(file: str, old: str, new: str) -> Entry:
    """Return what a list has of an edit: where it is, and the changed lines with what makes them unique."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    start = next(i for i, line in enumerate(before) if [line] != after[i : i + 1])
    end = next(i for i, line in enumerate(reversed(before)) if [line] != after[len(after) - i - 1 :][:1])
    stop, stop_after = max(start + 1, len(before) - end), max(start, len(after) - end)
    around = [
        node.name
        for node in ast.walk(ast.parse(old))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.lineno <= start + 1 <= (node.end_lineno or 0)
    ]
    while start and old.count("".join(before[start:stop])) > 1:
        start -= 1
    texts = {"old": "".join(before[start:stop]), "new": "".join(after[start:stop_after])}
    return {"file": file, "in": ".".join(around) or "module", **texts}


def draw(seed: int, count: int) -> list[Entry]:
    """Return mutations drawn uniformly from all of the package without `language/`, whose tests are sentences."""
    texts = {file: text for file, text in sources().items() if "iglu_marl/language/" not in file}
    everything = [(file, *place) for file, text in texts.items() for place in places(text)]
    print(f"{len(everything):,} mutations of {len(texts)} files")
    random.Random(seed).shuffle(everything)
    entries: list[Entry] = []
    for file, operator, occurrence in everything:
        if len(entries) < count and (new := edited(texts[file], operator, occurrence)):
            names = {"operator": operator.partition("/")[2], "occurrence": occurrence}
            entries.append(entry(file, texts[file], new) | names)
    return entries


# ------------------------------------------------------------------------------------------------ running


def tests_of(change: Entry) -> list[str]:
    """Return the test files of a mutation, those first that name what it changes."""
    if "tests" in change:
        return change["tests"].split()
    parts, stem = Path(change["file"]).parts, Path(change["file"]).stem.strip("_")
    package = "agents" if parts[0] == "agents" else parts[1] if len(parts) > 2 else "commands"
    names = {stem, *change["in"].split(".")} - {"module"}

    def rank(path: Path) -> tuple[bool, int, str]:
        words = set(re.findall(r"\w+", path.read_text("utf-8")))
        return path.stem != f"test_{stem}", -len(names & words), path.name

    files = sorted((ROOT / "tests" / package).glob("test_*.py"), key=rank)
    return list(dict.fromkeys([*(path.relative_to(ROOT).as_posix() for path in files), *EVERYWHERE]))


def notices(root: Path, change: Entry, marks: str) -> str | None:
    """Return the test with these marks that notices a mutation; None if there is none in time."""
    path = root / change["file"]
    text = path.read_text("utf-8")
    path.write_text(text.replace(change["old"], change["new"]), "utf-8")
    command = [*PYTEST, "-m", marks, *tests_of(change)]
    environment = os.environ | {"PYTHONPATH": str(root), "HYPOTHESIS_PROFILE": "ci"}
    change["unfinished"] = False
    try:
        with tempfile.TemporaryFile("w+") as output:
            code = subprocess.run(
                command, cwd=root, env=environment, stdout=output, timeout=LIMIT_S
            ).returncode
            output.seek(0)
            failed = re.findall(r"^(?:FAILED|ERROR) (tests/\S+?\.py(?:::.*?(?=$| - ))?)", output.read(), re.M)
    except subprocess.TimeoutExpired:
        change["unfinished"] = True
        return None
    finally:
        path.write_text(text, "utf-8")
    return (failed or ["collection"])[0] if code not in (0, 5) else None  # 5: no test has these marks


def run(path: Path) -> None:
    """Run the mutations of a list that have no outcome in a copy of the checkout."""
    changes: list[Entry] = json.loads(path.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "checkout"
        shutil.copytree(ROOT, root, symlinks=True, ignore=HIDDEN)
        for marks, before in (("not slow", None), ("slow", "not slow")):
            for change in changes:
                if change.get("tested") != before or change.get("outcome") in ("noticed", "equivalent"):
                    continue
                if sources().get(change["file"], "").count(change["old"]) != 1:
                    raise SystemExit(f"{change['file']} does not have once: {change['old']}")
                begun = time.monotonic()
                test = notices(root, change, marks)
                change |= {"outcome": "noticed" if test else "unnoticed", "tested": marks, "by": test}
                write(path, changes)
                print(f"{change['outcome']:9} {time.monotonic() - begun:4.0f} s {change['file']}", flush=True)


def write(path: Path, changes: list[Entry]) -> None:
    """Write a list."""
    path.write_text(json.dumps(changes, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("draw", "run"))
    parser.add_argument("list", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=30)
    given = parser.parse_args()
    if given.command == "draw":
        write(given.list, draw(given.seed, given.count))
    else:
        run(given.list)
    outcomes = Counter(
        change.get("outcome", "to run") for change in json.loads(given.list.read_text("utf-8"))
    )
    print(f"{outcomes['noticed']} of {outcomes.total() - outcomes['equivalent']} noticed: {dict(outcomes)}")


if __name__ == "__main__":
    main()
