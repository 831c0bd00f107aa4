"""A cache of endpoint replies on disk: one JSON file per request, named by a digest of the request."""

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
_LARGEST = 16_000_000  # bytes
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

    def find(self, asked: Any) -> dict[str, Any] | None:
        """Return the cached reply, {"text": str, "cut": bool, "kept": tokens, "served": str}, or None."""
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
            kept = tuple(reply.get("kept", (0, 0)))  # entries of earlier versions have neither
            whole = whole and [type(number) for number in kept] == [int, int] and min(kept) >= 0
            found = {
                "text": reply["text"],
                "cut": reply["cut"],
                "kept": kept,
                "served": str(reply.get("served", "")),
            }
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            _log.info("the cached reply %s is ignored: %s", path, type(error).__name__)
            return None
        return found if whole else None

    def keep(
        self, asked: Any, text: str, cut: bool, kept: tuple[int, int] = (0, 0), served: str = ""
    ) -> None:
        """Store a reply. kept: tokens sent and received for it. served: see `Reply`."""
        path = self.path_of(asked)
        reply = {"text": text, "cut": cut, "kept": kept, "served": served}
        entry = {"format": FORMAT, "version": VERSION, "request": path.stem, "reply": reply}
        try:
            private_folder(self.folder)
            path.parent.mkdir(exist_ok=True)
            write_text(path, json.dumps(entry), mode=PRIVATE)
        except (OSError, ValueError, DataError) as error:
            _log.info("a reply is not cached: %s", type(error).__name__)
