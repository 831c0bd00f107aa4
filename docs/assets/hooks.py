"""Hooks of MkDocs for this repository.

- Pages link to files outside docs/ (examples, the README of the bundled data, CONTRIBUTING.md), as forges like it. Each
  of these files becomes a page of the site under project/, and the links lead there.
- The tables of the grammar are made when the site is built: 1,800 rows are not kept in the repository.
- So are the games to watch, and the bundled corpus as pages.
- The leaderboard is made of the result files in docs/learning.
"""

from __future__ import annotations

import contextlib
import io
import posixpath
import re
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from iglu_marl.benchmark.report import write_site
from iglu_marl.commands.browse import browse
from iglu_marl.commands.record import record
from iglu_marl.commands.show import show
from iglu_marl.language import constructions
from iglu_marl.language.grammar.constructions import word_lists

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OUTSIDE = "project"  # the site's folder for files from outside docs/
ALWAYS = ("CHANGELOG.md", "CONTRIBUTING.md", "NOTICES.md")  # in the navigation, whoever links to them

_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_LANGUAGES = {".py": "python", ".yml": "yaml", ".toml": "toml"}

# Structure, architect, builder, and what there is to see; seed 3.
GAMES = (
    ("lighthouse", "scripted", "scripted", "one instruction a turn"),
    ("bridge", "vague", "scripted", "colours and places are left out, and asked for"),
    ("letter-k", "scripted", "hasty", "slips that are repaired"),
)

_made = tempfile.TemporaryDirectory(prefix="iglu-marl-docs-")
_sources: dict[str, Path] = {}  # page of the site -> the file outside docs/ that it shows


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file outside docs/ that a page links to, and for those that these link to in turn."""
    _sources.clear()
    waiting = [ROOT / name for name in ALWAYS]
    for file in files.documentation_pages():
        waiting += _outside(file.content_string, DOCS / file.src_uri)
    while waiting:
        path = waiting.pop()
        uri = _page_of(path)
        if uri in _sources:
            continue
        _sources[uri] = path
        text = path.read_text(encoding="utf-8")
        inclusion = InclusionLevel.INCLUDED if path.name in ALWAYS else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, uri, content=_as_page(path, text), inclusion=inclusion))
        if path.suffix == ".md":
            waiting += _outside(text, path)
    made = Path(_made.name)
    if not any(made.iterdir()):
        with contextlib.redirect_stdout(io.StringIO()):
            _write_games(made)
    for path in made.rglob("*.html"):
        files.append(File.generated(config, path.relative_to(made).as_posix(), abs_src_path=str(path)))
    with tempfile.TemporaryDirectory() as folder:
        write_site(sorted((DOCS / "learning").glob("*-v2_*.json")), folder)
        for page in Path(folder).iterdir():
            files.append(File.generated(config, f"leaderboard/{page.name}", content=page.read_bytes()))
    return files


def _write_games(folder: Path) -> None:
    """Play `GAMES`, and write them and the bundled corpus as pages."""
    (folder / "games").mkdir()
    for structure, architect, builder, _ in GAMES:
        file = folder / f"{structure}.jsonl"
        record(file, architect=architect, builder=builder, task=structure, seed=3, as_json=True)
        show(str(file), folder / "games" / f"{structure}.html", as_json=True)
    browse("bundled", folder / "corpus", as_json=True)


def _games() -> list[str]:
    rows = [_row("game", "architect", "builder", "to see"), _row(*["---"] * 4)]
    return rows + [_row(f"[{game[0]}](games/{game[0]}.html)", *game[1:]) for game in GAMES]


def _corpus() -> list[str]:
    return ["[All sessions](corpus/index.html)"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _rules() -> list[str]:
    """Return the table of the grammar's rules. Bars part cells, so choices are shown with strokes."""
    rows = [_row("category", "pattern", "example", "said"), _row(*["---"] * 4)]
    for one in constructions():
        pattern = re.sub(r"!\w+", "", one.pattern).replace(" ,", "").replace("||", " ; ").replace("|", " / ")
        rows.append(_row(one.category, f"`{pattern or 'nothing'}`", one.example, "yes" if one.said else ""))
    return rows


def _word_lists() -> list[str]:
    rows = [_row("list", "words"), _row("---", "---")]
    return rows + [_row(name, ", ".join(phrases)) for name, phrases in word_lists().items()]


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fill in generated tables; lead links to files outside docs/ to their pages."""
    made = {"constructions": _rules, "word-lists": _word_lists, "games": _games, "corpus": _corpus}
    for name, rows in made.items():
        if (mark := f"<!-- generated: {name} -->") in markdown:
            markdown = markdown.replace(mark, "\n".join(rows()))
    here = page.file.src_uri
    origin = _sources.get(here, DOCS / here)

    def turn(match: re.Match[str]) -> str:
        if (origin.parent / match[2]).is_dir():  # a forge lists a folder, a site does not
            return match[1].strip("![](")
        target = _target(match[2], origin)
        if target is None or (origin.is_relative_to(DOCS) and target.is_relative_to(DOCS)):
            return match[0]
        inside = target.is_relative_to(DOCS)
        uri = target.relative_to(DOCS).as_posix() if inside else _page_of(target)
        return f"{match[1]}{posixpath.relpath(uri, posixpath.dirname(here))}{match[3] or ''}{match[4]}"

    # Code is left as it is: pieces between code are turned.
    pieces, end = [], 0
    for code in _CODE.finditer(markdown):
        pieces += [_LINK.sub(turn, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*pieces, _LINK.sub(turn, markdown[end:])])


def _target(link: str, origin: Path) -> Path | None:
    """The file of this repository that a link of a file leads to."""
    if re.match(r"[a-z]+:", link):
        return None
    target = (origin.parent / link).resolve()
    return target if target.is_file() and target.is_relative_to(ROOT) else None


def _outside(text: str, origin: Path) -> list[Path]:
    """The files outside docs/ that a page links to."""
    targets = [_target(match[2], origin) for match in _LINK.finditer(_CODE.sub("", text))]
    return [target for target in targets if target is not None and not target.is_relative_to(DOCS)]


def _page_of(path: Path) -> str:
    name = path.relative_to(ROOT).as_posix()
    return f"{OUTSIDE}/{name}" if path.suffix == ".md" else f"{OUTSIDE}/{name}.md"


def _as_page(path: Path, text: str) -> str:
    """Markdown as it is, anything else as code below its name."""
    if path.suffix == ".md":
        return text
    return f"# {path.relative_to(ROOT).as_posix()}\n\n```{_LANGUAGES.get(path.suffix, 'text')}\n{text}```\n"
