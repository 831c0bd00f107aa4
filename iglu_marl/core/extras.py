"""Libraries that a plain installation leaves out: an error names the extra that brings them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from iglu_marl.core.errors import MissingExtraError


@contextmanager
def extra(name: str, *, script: bool = False) -> Iterator[None]:
    """Import libraries of an extra inside this block.

    Args:
        name: the extra of `pyproject.toml` that has the libraries.
        script: end the program with the message in one line, without a traceback.

    Raises:
        MissingExtraError: if one of them is not installed.

    """
    try:
        yield
    except ImportError as error:
        library = (error.name or str(error)).split(".")[0]
        message = f"{library} is not installed; run: {install_command(name)}"
        if script:
            raise SystemExit(message) from None
        raise MissingExtraError(message, name=error.name) from None


def install_command(name: str) -> str:
    """Return the command that installs an extra from where this package was installed: a clone, or the index."""
    root = Path(__file__).parents[2]
    if (root / "pyproject.toml").is_file():
        return f"pip install -e '{root}[{name}]'"
    origin = json.loads(distribution("iglu_marl").read_text("direct_url.json") or "{}").get("url", "")
    folder = Path(url2pathname(urlsplit(origin).path))
    source = folder if origin.startswith("file:") and folder.is_dir() else "iglu_marl"
    return f"pip install '{source}[{name}]'"
