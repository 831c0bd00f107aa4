"""Reading of files from outside: a damaged file raises an `IgluMarlError` that names it.

A reader uses `read_file`, `decoded` and `parse_json`, and interprets the content inside `with wrap_errors(place)`.
`check_placeholder` recognises pointers and web pages in place of data.
"""

from __future__ import annotations

import contextlib
import csv
import json
import lzma
import os
import re
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iglu_marl.core.errors import DataError, IgluMarlError
from iglu_marl.core.files import error_reason
from iglu_marl.core.text import paired_escapes

MIB = 1 << 20

# What a damaged archive or member raises, and one that is packed in a way that zipfile does not know.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    tokenize.TokenError,  # of NumPy, for the header of an array
    ValueError,
    RuntimeError,  # encrypted; NotImplementedError for methods; RecursionError for brackets in brackets
    MemoryError,  # a damaged header may ask for any amount
)
# What else the contents of a file raise in a reader that expects others.
_UNEXPECTED = (TypeError, LookupError, AttributeError, ArithmeticError, csv.Error)

_POINTER = b"version https://git-lfs.github.com/spec/"
_ANNEX = b"/annex/objects/"
_COMMENT = rb"<!--(?:(?!-->).)*-->"  # there is one way to read each comment: the check is linear
_WEB_PAGE = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:" + _COMMENT + rb"\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)


class PlaceholderError(DataError):
    """The file is a pointer of Git LFS or git-annex, or a saved web page, instead of data."""


def check_placeholder(head: bytes, place: str) -> None:
    """Raise `PlaceholderError` if the data are a pointer or a web page.

    Args:
        head: the first kilobyte of the data.
        place: name of the data, for the message.

    """
    if head.startswith(_POINTER):
        size = re.search(rb"^size (\d{1,18})\b", head, re.M)
        what = f"the {int(size.group(1)):,} bytes that it stands for" if size else "the data"
        raise PlaceholderError(
            f"{place} is a Git LFS pointer, not the data: run `git lfs pull` in the clone that it comes from, "
            f"or download {what} from the project's page"
        )
    if head.startswith(_ANNEX):
        raise PlaceholderError(
            f"{place} is a git-annex pointer, not the data: run `git annex get` in the clone that it comes from"
        )
    if _WEB_PAGE.match(head[:1024].removeprefix(b"\xef\xbb\xbf")):
        raise PlaceholderError(
            f"{place} is a web page (HTML) saved in place of the data: use the page's download link instead"
        )


@contextlib.contextmanager
def wrap_errors(place: str, error: type[IgluMarlError] = DataError) -> Iterator[None]:
    """Raise `error` with the place for what the code inside raises.

    Args:
        place: the file, and the line or member of it.
        error: an error of this type that names the place passes unchanged.

    """
    try:
        yield
    except (IgluMarlError, *BROKEN, *_UNEXPECTED) as fault:
        named = isinstance(fault, IgluMarlError) and place in str(fault)
        if named and isinstance(fault, error):
            raise
        raise error(str(fault) if named else f"{place}: {_described(fault)}") from fault


def _described(fault: BaseException) -> str:
    if isinstance(fault, IgluMarlError):
        return f"{fault!s:.500}"  # it may show a whole file
    if isinstance(fault, UnicodeDecodeError):
        return f"it is not UTF-8 text: {fault.reason} at byte {fault.start}"
    if isinstance(fault, json.JSONDecodeError):
        return f"it is not JSON: {fault.msg} (line {fault.lineno}, column {fault.colno})"
    if isinstance(fault, RecursionError):
        return "it is not JSON that can be read: brackets too deep within brackets"
    if isinstance(fault, OSError):
        return f"it cannot be read: {error_reason(fault)}"
    return f"it is not in the expected form ({type(fault).__name__}: {fault!s:.120})"


def read_file(path: Path, limit: int) -> bytes:
    """Return the content of a file.

    Raises `DataError`, naming the file, if it has more than `limit` bytes, is a placeholder, or cannot be read.
    """
    with wrap_errors(str(path)):
        without_waiting = getattr(os, "O_NONBLOCK", 0)
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | without_waiting)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):  # it may block, or never end
                raise DataError(f"{path} is a pipe or a device, expected a regular file")
            if status.st_size > limit:
                raise DataError(too_large(str(path), status.st_size, limit))
            content = file.read(limit + 1)
        if len(content) > limit:
            raise DataError(too_large(str(path), len(content), limit))
        check_placeholder(content[:1024], str(path))
        return content


def too_large(place: str, size: int, limit: int) -> str:
    """Return the message for a file that is too large."""
    return f"{place} has {size:,} bytes, expected at most {limit:,} in a file of its kind"


def decoded(text: str | bytes, place: str) -> str:
    """Return the text of a file. Raises `DataError`, naming `place`, if it is not UTF-8 or a placeholder."""
    if isinstance(text, str):
        return text
    check_placeholder(text[:1024], place)
    with wrap_errors(place):
        return text.decode("utf-8-sig")


def parse_json(
    text: str | bytes, place: str, error: type[IgluMarlError] = DataError, *, verbatim: bool = False
) -> Any:
    """Return the value of JSON text. A lone surrogate becomes U+FFFD, unless `verbatim`.

    Raises `error`, naming `place`, if the text is not JSON in UTF-8, or has huge numbers or too deep nesting.
    """
    with wrap_errors(place, error):
        written = decoded(text, place)
        return json.loads(written if verbatim else paired_escapes(written))
