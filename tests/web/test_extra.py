"""Where the extra is demanded, the other tests of this folder are not skipped in silence."""

from __future__ import annotations

from importlib.util import find_spec

from requirements import require


def test_the_extra_is_there() -> None:
    needed = ("starlette", "uvicorn", "websockets", "sqlalchemy", "httpx2")
    missing = [name for name in needed if find_spec(name) is None]
    require("web", not missing, f"{', '.join(missing)} are not installed")
