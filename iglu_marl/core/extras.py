"""Libraries that a plain installation leaves out: an error names the extra that brings them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
        message = f"{library} is not installed; run: pip install 'iglu_marl[{name}]'"
        if script:
            raise SystemExit(message) from None
        raise MissingExtraError(message, name=error.name) from None
