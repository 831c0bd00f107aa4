"""The corpora that commands take by name: the bundled sessions, and the packs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iglu_marl import data

CORPORA = ("bundled", "iglu-multiturn", "iglu-singleturn", "mdc")


def open_corpus(name: str, path: Path | None) -> data.Dataset | Mapping[str, Any]:
    """A corpus as a dataset; the bundled sessions by structure; of a multi-turn pack without its table the worlds."""
    if name == "bundled":
        return data.bundled.load()
    if name == "mdc":
        return data.CDMDataset(path=path)
    if name == "iglu-singleturn":
        return data.SingleturnDataset(path=path)
    with data.find_pack(name, path) as pack:
        dialogs = pack.has("dialogs.csv")
    return data.MultiturnDataset(path=path, dialogs=dialogs)
