"""Recorded games to watch: a list, and the page that replays one."""

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
from iglu_marl.rendering import ReplayRecorder, replay_page
from iglu_marl.web.options import ServerOptions

MOST = 200  # games in the list
_TAIL = 4096  # bytes of a file in which its last line is
_MOVES = 40_000  # of a game that can be shown


def facts_of(path: Path) -> dict[str, Any] | None:
    """What the list tells of a recording; None for one that is not over, or was never begun."""
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
    """The games of a folder that are over, the latest first."""
    found = (facts_of(path) for path in sorted(folder.glob("*.jsonl"), reverse=True)[: 2 * MOST])
    return [facts for facts in found if facts is not None][:MOST]


async def listed(request: Request) -> Response:
    """The list of games, where there is a gallery."""
    options: ServerOptions = request.app.state.options
    if not options.gallery:
        return JSONResponse({"error": "There is no gallery here."}, 404)
    return JSONResponse(await asyncio.to_thread(recordings, options.folder))


@lru_cache(maxsize=16)
def page_of(path: Path, size: int) -> str:
    """The page that replays a recorded game of so many bytes. Raises `IgluMarlError` where it does not come back."""
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
    """The inline scripts of a page of ours, for its content security policy."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


async def replayed(request: Request) -> Response:
    """The page that replays a game; `name` is that of the file, or the end of it: the game's own."""
    options: ServerOptions = request.app.state.options
    name = request.path_params["name"]
    if not options.gallery or re.fullmatch(r"[\w-]{12,80}", name) is None:
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
