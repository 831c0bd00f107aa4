"""The corpora that commands accept by name: the bundled sessions, and the packs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer import Argument

from iglu_marl import data
from iglu_marl.commands.options import one_of
from iglu_marl.data.dataset import Dataset

CORPORA = ("bundled", "iglu-multiturn", "iglu-singleturn", "mdc")


def source_argument(*names: str) -> Any:
    """Return the argument SOURCE of a command, one of some names."""
    return Argument(metavar="SOURCE", help=f"Source: {', '.join(names)}.", callback=one_of(*names))


def open_corpus(name: str, path: Path | None) -> Dataset | Mapping[str, Any]:
    """Return a corpus as a dataset. The bundled sessions and packs without dialogues come by structure."""
    if name == "bundled":
        return data.bundled.load()
    if name == "mdc":
        return data.CDMDataset(path=path)
    if name == "iglu-singleturn":
        return data.SingleturnDataset(path=path)
    with data.find_pack(name, path) as pack:
        dialogs = pack.has("dialogs.csv")
    return data.MultiturnDataset(path=path, dialogs=dialogs)
