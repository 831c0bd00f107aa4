"""Lines of recordings, to change what they say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from iglu_marl.recording.values import chained_line


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a recording."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def chained(lines: Iterable[dict[str, Any]]) -> bytes:
    """Return a recording of these lines, with new hashes."""
    chain, rows = "", []
    for line in lines:
        if "format" in line:  # a new episode
            line = {**line, "previous": chain} if "previous" in line else line
            chain = ""
        row, chain = chained_line({key: value for key, value in line.items() if key != "chain"}, chain)
        rows.append(row)
    return b"".join(rows)
