"""A cache of endpoint replies on disk: one JSON file per request, named by its digest."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from iglu_marl import DataError
from iglu_marl.agents.llm.messages import Reply
from iglu_marl.core.files import PRIVATE, private_folder, write_text

VERSION = 1
_log = logging.getLogger(__name__)


class ReplyCache:
    """Cached replies. Several processes can share a folder, since files are moved into place whole.

    A damaged file is ignored. If the folder is not writable, nothing is cached.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()

    def path_of(self, asked: Any) -> Path:
        """Return the file of a request; `asked` is JSON-ready and holds everything that determines the reply."""
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        name = hashlib.sha256(text.encode("ascii")).hexdigest()
        return self.folder / name[:2] / f"{name}.json"

    def find(self, asked: Any) -> Reply | None:
        """Return the cached reply, or None."""
        path = self.path_of(asked)
        try:
            entry = json.loads(path.read_bytes())
            stored = entry["reply"]
            text, cut, left_out = stored["text"], stored["cut"], tuple(map(str, stored.get("left_out", ())))
            text.encode("utf-8")  # raises for a half of a character, and if it is no text
            if type(cut) is bool and (entry["version"], entry["request"]) == (VERSION, path.stem):
                return Reply(text, cut=cut, left_out=left_out, cached=True)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        _log.info("the cached reply %s is ignored", path)
        return None

    def keep(self, asked: Any, reply: Reply) -> None:
        """Store a reply that a server has sent."""
        path = self.path_of(asked)
        stored = {"text": reply.text, "cut": reply.cut, "left_out": reply.left_out}
        try:
            private_folder(self.folder)
            path.parent.mkdir(exist_ok=True)
            entry = {"version": VERSION, "request": path.stem, "reply": stored}
            write_text(path, json.dumps(entry), mode=PRIVATE)
        except (OSError, ValueError, DataError) as error:
            _log.info("a reply is not cached: %s", type(error).__name__)
