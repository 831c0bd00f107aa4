"""Replies of endpoints, kept on disk: one small JSON file each, named by everything that decides the reply."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from iglu_marl import DataError
from iglu_marl.core.files import PRIVATE, private_folder, write_text

FORMAT, VERSION = "iglu_marl llm reply", 1
_LARGEST = 16_000_000  # bytes; no reply is that long
_log = logging.getLogger(__name__)


def default_folder() -> Path:
    """Where replies are kept: under `IGLU_MARL_CACHE`, else in the usual place for this user's caches."""
    place = os.environ.get("IGLU_MARL_CACHE")
    if place:
        return Path(place).expanduser() / "llm"
    import platformdirs

    return Path(platformdirs.user_cache_dir("iglu_marl", appauthor=False)) / "llm"


class ReplyCache:
    """Kept replies. Safe with several processes: files are written beside their place and moved there.

    A damaged file counts as none. Where nothing can be written, nothing is kept.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()

    def path_of(self, asked: Any) -> Path:
        """The file of a request; `asked`, JSON-ready, is everything that decides the reply."""
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        name = hashlib.sha256(text.encode("ascii")).hexdigest()
        return self.folder / name[:2] / f"{name}.json"

    def find(self, asked: Any) -> dict[str, Any] | None:
        """The kept reply, {"text": str, "cut": bool}, or None."""
        path = self.path_of(asked)
        try:
            with path.open("rb") as file:
                content = file.read(_LARGEST + 1)
            kept = json.loads(content)
            reply = kept["reply"]
            whole = (
                (kept["format"], kept["version"], kept["request"]) == (FORMAT, VERSION, path.stem)
                and type(reply["text"]) is str
                and reply["text"].encode("utf-8")
                and type(reply["cut"]) is bool
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            _log.info("the kept reply %s is ignored: %s", path, type(error).__name__)
            return None
        return {"text": reply["text"], "cut": reply["cut"]} if whole else None

    def keep(self, asked: Any, text: str, cut: bool) -> None:
        """Keep a reply."""
        path = self.path_of(asked)
        entry = {
            "format": FORMAT,
            "version": VERSION,
            "request": path.stem,
            "reply": {"text": text, "cut": cut},
        }
        try:
            private_folder(self.folder)
            path.parent.mkdir(exist_ok=True)
            write_text(path, json.dumps(entry), mode=PRIVATE)
        except (OSError, ValueError, DataError) as error:
            _log.info("a reply is not kept: %s", type(error).__name__)
