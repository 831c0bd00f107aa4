"""The gallery of recorded games: a list, and the page that replays one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from iglu_marl.core.errors import IgluMarlError
from iglu_marl.recording import replay
from iglu_marl.rendering import ReplayRecorder
from iglu_marl.rendering.html import replay_page
from iglu_marl.web.options import ServerOptions

MOST = 200  # games in the list
_TAIL = 4096  # bytes at the end of a file, which contain its last line
_MOVES = 40_000  # shown of a game, at most


def facts_of(path: Path) -> dict[str, Any] | None:
    """Return the list's entry of a recording; None if the game is not over or has no moves."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline())
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            end = json.loads(file.read().rstrip(b"\n").rpartition(b"\n")[2])["end"]
        if not end["moves"]:
            return None
        return {
            "name": path.stem,
            "task": str(header["task"]["task_id"] or ""),
            "agents": header["agents"],
            "completed": bool(end["terminated"]),
            "right": int(end["intersection"]),
            "blocks": int(end["target_blocks"]),
            "seconds": round(int(end["moves"]) / 20),
        }
    except (OSError, ValueError, LookupError, TypeError):
        return None


def recordings(folder: Path) -> list[dict[str, Any]]:
    """Return the finished games of a folder, the latest first."""
    found = (facts_of(path) for path in sorted(folder.glob("*.jsonl"), reverse=True)[: 2 * MOST])
    return [facts for facts in found if facts is not None][:MOST]


async def listed(request: Request) -> Response:
    """Answer with the list of games."""
    options: ServerOptions = request.app.state.options
    return JSONResponse(await asyncio.to_thread(recordings, options.folder))


@lru_cache(maxsize=16)
def page_of(path: Path, size: int) -> str:
    """Return the page that replays a recorded game; `size` (bytes of the file) makes the cache notice changes.

    Raises `IgluMarlError` if the game cannot be replayed.
    """
    recorder = ReplayRecorder()
    count = 0

    def note(env: Any) -> None:
        nonlocal count
        count += 1
        if count <= _MOVES:
            recorder(env)

    replay(path, on_step=note)
    return replay_page(recorder.data)


def script_hashes(page: str) -> str:
    """Return the hashes of a page's inline scripts, for its content security policy."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


async def replayed(request: Request) -> Response:
    """Answer with the page that replays a game; `name` is the file's name or its end, the game's name."""
    options: ServerOptions = request.app.state.options
    name = request.path_params["name"]
    if re.fullmatch(r"[\w-]{12,80}", name) is None:
        return PlainTextResponse("There is no such game.", 404)
    path = next(iter(options.folder.glob(f"*{name}.jsonl")), None)
    if path is None or facts_of(path) is None:
        return PlainTextResponse("There is no such game.", 404)
    try:
        page = await asyncio.to_thread(page_of, path, path.stat().st_size)
    except IgluMarlError as error:
        return PlainTextResponse(f"This game cannot be shown: {error}"[:300], 500)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {script_hashes(page)}; img-src data:"
    return HTMLResponse(page, headers={"content-security-policy": policy})
