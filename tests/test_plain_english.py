"""Code and pages use the terms of the field (CONTRIBUTING.md, *Plain English*).

`python tests/test_plain_english.py [PATH ...]` lists what it finds in files or folders.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Word (a regular expression) -> what to write. Parts of names count as words: `told_of` has "told".
WORDS = {
    r"rungs?": "level",
    r"ladders?": "benchmark",
    r"told|tells?|telling": "is given, is shown, reports, says",
    r"anew": "again",
    r"by lot": "at random",
    r"likewise": "also",
    r"so many": "n",
    r"dear|dearer|dearest": "expensive",
    r"wherein": "in which",
    r"(?<![\"`])tapes?(?![\"`])": "action log",  # quoted: the key of upstream files
    r"the peers?|peer's": "IGLU Gridworld",
    r"(goes|go|gone|going|went) on with": "resumes, continues",
    r"what is none": "what the value is",
    r"the house|house's|tour of": "package, architecture",
    r"floors? ?[1-5]|(one|two|three|four|five) floors|which floor": "layer",
    r"wings?": "package beside core",
    r"doors": "API",
    r"what one can do": "features",
    r"who has learned": "an agent that learned",
}
PATTERNS = {
    re.compile(rf"(?<![A-Za-z])(?:{word})(?![A-Za-z])", re.IGNORECASE): better
    for word, better in WORDS.items()
}
FOLDERS = ("iglu_marl", "agents", "examples", "benchmarks", "docs")
PAGES = ("README.md", "CONTRIBUTING.md")
# Their strings are sentences of players; comments and docstrings are read all the same.
PLAYERS = (
    *("iglu_marl/language/", "iglu_marl/data/bundled/", "agents/scripted/"),
    "iglu_marl/benchmark/catalog.py",  # the digests of levels are made of its strings
)
# Ids of levels, keys of files and the other name of `levels`, which stay.
KEPT = re.compile(
    r"\btold-[a-z]+(-v0)?|([\"`])(told|rungs?|model_rungs)\2|rungs as rungs|benchmark\.rungs", re.I
)
TABLE = re.compile(r"<!-- table: .*?<!-- end -->", re.DOTALL)  # generated from the code
NOT_READ = ("docs/changes.md",)  # generated from the history


def prose_of(path: Path) -> list[tuple[int, str]]:
    """Return (line, text) of what is checked in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        for hidden in (re.compile(r"^```.*?^```", re.M | re.S), TABLE):
            text = hidden.sub(lambda part: "\n" * part[0].count("\n"), text)
    elif path.relative_to(ROOT).as_posix().startswith(PLAYERS):
        return comments_and_docstrings(text)
    return list(enumerate(text.splitlines(), 1))


def comments_and_docstrings(text: str) -> list[tuple[int, str]]:
    found = [
        (token.start[0], token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            words = ast.get_docstring(node, clean=False)
            if words:
                found += list(enumerate(words.splitlines(), node.body[0].lineno))
    return sorted(found)


def complaints(path: Path) -> list[str]:
    """Return a line for each word of a file that has a plainer one."""
    place = path.relative_to(ROOT).as_posix()
    return [
        f"{place}:{line}: {match[0]!r} (write: {better}): {text.strip()[:100]}"
        for line, text in prose_of(path)
        for pattern, better in PATTERNS.items()
        for match in pattern.finditer(KEPT.sub("", text))
    ]


def files_of(folder: Path) -> list[Path]:
    paths = [folder] if folder.is_file() else sorted({*folder.rglob("*.py"), *folder.rglob("*.md")})
    return [path for path in paths if path.relative_to(ROOT).as_posix() not in NOT_READ]


@pytest.mark.parametrize("name", [*FOLDERS, *PAGES])
def test_the_terms_are_those_of_the_field(name: str) -> None:
    found = [line for path in files_of(ROOT / name) for line in complaints(path)]
    assert not found, "\n".join(found[:40])


SPELLINGS = re.compile(r"\b(?:colour|color)", re.IGNORECASE)
# Code, what players say, names of functions and links have a spelling of their own.
QUOTED = re.compile(r"`[^`]*`|\"[^\"\n]*\"|\]\([^)\n]*\)|<[^>\n]*>|^:::.*$", re.MULTILINE)


def spellings_of(path: Path) -> set[str]:
    """Return "colour", "color" or both: how a page spells it."""
    text = QUOTED.sub("", "\n".join(line for _, line in prose_of(path)))
    return {word.lower() for word in SPELLINGS.findall(text)}


def test_a_page_has_one_spelling() -> None:
    pages = [path for name in ("docs", *PAGES) for path in files_of(ROOT / name) if path.suffix == ".md"]
    assert len(pages) > 40
    assert [str(path.relative_to(ROOT)) for path in pages if len(spellings_of(path)) > 1] == []


if __name__ == "__main__":
    for given in sys.argv[1:] or [*FOLDERS, *PAGES]:
        for each in files_of((ROOT / given).resolve()):
            print(*complaints(each), sep="\n", end="\n" if complaints(each) else "")
