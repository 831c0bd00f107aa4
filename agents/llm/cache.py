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

FORMAT, VERSION = "iglu_marl llm reply", 1
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
            if (entry["format"], entry["version"], entry["request"]) != (FORMAT, VERSION, path.stem):
                return None
            stored = entry["reply"]
            text, cut = stored["text"], stored["cut"]
            if type(text) is not str or type(cut) is not bool:
                return None
            text.encode("utf-8")  # raises for a half of a character
            left_out = tuple(map(str, stored.get("left_out", ())))
            return Reply(text, cut=cut, left_out=left_out, cached=True)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            _log.info("the cached reply %s is ignored: %s", path, type(error).__name__)
            return None

    def keep(self, asked: Any, reply: Reply) -> None:
        """Store a reply that a server has sent."""
        path = self.path_of(asked)
        stored = {"text": reply.text, "cut": reply.cut, "left_out": reply.left_out}
        entry = {"format": FORMAT, "version": VERSION, "request": path.stem, "reply": stored}
        try:
            private_folder(self.folder)
            path.parent.mkdir(exist_ok=True)
            write_text(path, json.dumps(entry), mode=PRIVATE)
        except (OSError, ValueError, DataError) as error:
            _log.info("a reply is not cached: %s", type(error).__name__)
