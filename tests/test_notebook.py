"""The notebook of the first steps: made of its page, and run from its first cell to its last."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_docs import script

pytestmark = pytest.mark.system

# A kernel of the simplest kind: one namespace, and of a cell's last expression what a notebook would show.
KERNEL = """
import ast, json, sys
shown, space = [], {"__name__": "__main__"}
for source in json.load(open(sys.argv[1])):
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), space)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), space) if last else None
    html, png = (getattr(value, name, lambda: None)() for name in ("_repr_html_", "_repr_png_"))
    shown.append("html" if html else "png" if png else None)
    if html:
        assert 'srcdoc="' in html and html.count('"') == 6 and "<script" not in html
print(json.dumps(shown))
"""


@pytest.fixture(scope="module")
def notebook() -> Any:
    return script("notebook")


def test_it_is_made_of_its_page(notebook: Any) -> None:
    """`python docs/assets/notebook.py` makes it again."""
    made = notebook.notebook(notebook.PAGE.read_text(encoding="utf-8"))
    assert notebook.NOTEBOOK.read_text(encoding="utf-8") == made
    cells = json.loads(made)["cells"]
    assert [cell["cell_type"] for cell in cells].count("code") == 5
    assert all(not cell.get("outputs") for cell in cells)
    assert not any("```text" in "".join(cell["source"]) for cell in cells)


def test_its_cells_run_one_after_the_other_without_a_network(notebook: Any, tmp_path: Path) -> None:
    cells = json.loads(notebook.NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (tmp_path / "cells.json").write_text(json.dumps(sources))
    offline = (
        "import socket\ndef refuse(*args): raise OSError('no network')\nsocket.socket.connect = refuse\n"
    )
    command = [sys.executable, "-c", offline + KERNEL, "cells.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [None, "png", None, None, "html"]
    assert (tmp_path / "game.html").is_file()
