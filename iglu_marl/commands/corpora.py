"""The corpora that commands accept by name: the bundled sessions, and the packs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer import Argument

from iglu_marl import data
from iglu_marl.commands.options import one_of
from iglu_marl.data.dataset import Dataset
from iglu_marl.tasks.named import CORPORA as PACKS
from iglu_marl.tasks.named import open_corpus as open_pack

CORPORA = ("bundled", *PACKS)


def source_argument(*names: str) -> Any:
    """Return the argument SOURCE of a command, one of some names."""
    return Argument(metavar="SOURCE", help=f"Source: {', '.join(names)}.", callback=one_of(*names))


def open_corpus(name: str, path: Path | None) -> Dataset | Mapping[str, Any]:
    """Return a corpus as a dataset, or the bundled sessions by structure."""
    return data.bundled.load() if name == "bundled" else open_pack(name, path)
