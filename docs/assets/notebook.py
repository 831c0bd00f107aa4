"""Make the notebook of docs/tutorials/first-steps.md: the same text and code, without outputs.

    python docs/assets/notebook.py

The page is the source. The notebook is kept in the repository because it is what users open, on a forge or in Jupyter,
before anything is installed; without outputs, since they would be copies of what the page says. A test compares them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "tutorials" / "first-steps.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
# A block of Python with what it shows: its output, or a picture of it.
_CODE = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n.*?^```\n)?(?:\n!\[[^\]]*\]\([^)]*\)\n)?", re.MULTILINE | re.DOTALL
)


def cells(page: str) -> list[dict[str, Any]]:
    """The cells of a page: words between code, and code."""
    pieces, end = [], 0
    for code in _CODE.finditer(page):
        pieces += [("markdown", page[end : code.start()]), ("code", code[1])]
        end = code.end()
    pieces.append(("markdown", page[end:]))
    made = []
    for kind, text in pieces:
        if text := text.strip("\n"):
            cell = {
                "cell_type": kind,
                "id": f"cell-{len(made)}",
                "metadata": {},
                "source": text.splitlines(keepends=True),
            }
            made.append({**cell, "execution_count": None, "outputs": []} if kind == "code" else cell)
    return made


def notebook(page: str) -> str:
    """The notebook's file."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": cells(page),
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
