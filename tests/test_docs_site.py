"""The documentation site: it builds without a warning, says everything, loads nothing from elsewhere, and fits a phone.

It is built once, and looked at as a file from a disk, in a headless browser.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import Browser, browser
from PIL import Image
from requirements import require

import iglu_marl

pytestmark = pytest.mark.system

PHONE, DESK = (390, 844), (1280, 900)
# Modules whose public names the API reference lists.
REFERENCE = (
    "agents",
    "agents.llm",
    "benchmark",
    "const",
    "data",
    "envs",
    "envs.wrappers",
    "evaluation",
    "language",
    "planning",
    "rendering",
    "tasks",
    "text",
    "web",
)


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site as `make docs` builds it."""
    missing = [
        name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None
    ]
    require("mkdocs", not missing, f"this environment lacks {', '.join(missing)}: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Page(HTMLParser):
    """The ids of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    assert len(found) > 40
    return found


def test_no_page_is_left_out(root: Path, site: Path, pages: dict[Path, Page]) -> None:
    sources = {path.relative_to(root / "docs") for path in (root / "docs").rglob("*.md")}
    assert {site / path.with_suffix(".html") for path in sources} <= pages.keys()
    for example in (root / "examples").glob("*.py"):
        assert site / "project" / "examples" / f"{example.name}.html" in pages


def listed_elsewhere(name: str, listed: set[str]) -> bool:
    """Whether the same object is listed under the same name of another module."""
    last = name.rpartition(".")[2]
    others = [other for other in listed if other.rpartition(".")[2] == last]
    return any(pkgutil.resolve_name(other) is pkgutil.resolve_name(name) for other in others)


def test_every_public_name_is_in_the_reference(pages: dict[Path, Page]) -> None:
    names = {f"iglu_marl.{name}" for name in iglu_marl.__all__ if name != "__version__"}
    for module in REFERENCE:
        names |= {
            f"iglu_marl.{module}.{name}" for name in importlib.import_module(f"iglu_marl.{module}").__all__
        }
    listed = {name for path, page in pages.items() if path.parent.name == "api" for name in page.ids}
    listed = {name for name in listed if name.startswith("iglu_marl.")}
    missing = {name for name in names - listed if not listed_elsewhere(name, listed)}
    assert missing == set()


def test_the_moving_picture_moves_and_is_small(root: Path) -> None:
    path = root / "docs" / "images" / "demo.gif"
    assert path.stat().st_size < 1_500_000
    with Image.open(path) as picture:
        assert getattr(picture, "n_frames", 1) > 50


# ----------------------------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser"), DESK) as made:
        yield made


LOOK = """
const unseen = each => !each.complete || !each.naturalWidth || (each.closest("article") && each.clientWidth < 40);
const over = [...document.images].filter(unseen).map(each => each.src);
const loaded = performance.getEntriesByType("resource").map(each => each.name);
return {
  wide: document.documentElement.scrollWidth - window.innerWidth,
  images: over,
  elsewhere: loaded.filter(each => !/^(file|data|blob):/.test(each)),
};
"""


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_pages_fit_and_load_nothing_from_elsewhere(
    window: Browser, pages: dict[Path, Page], size: tuple[int, int]
) -> None:
    window.emulate(*size)
    chosen = list(pages) if size == PHONE else list(pages)[::4]
    for path in chosen:
        window.open(path)
        window.wait("return document.readyState == 'complete'")
        assert window.run("return window.innerWidth") == size[0]
        assert window.run(LOOK) == {"wide": 0, "images": [], "elsewhere": []}, path
        assert window.messages() == [], path


def test_the_search_finds(window: Browser, site: Path) -> None:
    """Also where the site is opened from a disk, without a server."""
    window.emulate(*DESK)
    window.open(site / "index.html")
    window.wait("return document.readyState == 'complete'")
    window.run("document.querySelector('input[name=query]').focus()")
    for letter in "scaffold":
        window.press(letter)
    window.wait("return document.querySelectorAll('.md-search-result__item a').length > 0", 20)
    found = window.run("return [...document.querySelectorAll('.md-search-result__item a')].map(a => a.href)")
    assert any("planning.html" in address for address in found), found
    assert window.messages() == []
