"""What comes from outside: one boundary, so that a damaged file raises an error of ours that names it, and no other.

A reader takes the file by `read_file`, its text by `decoded`, its JSON by `parse_json`, and whatever it makes of them
inside `with reading(place)`. `check_placeholder` recognises what stands where data should be.
"""

from __future__ import annotations

import contextlib
import csv
import json
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iglu_marl.core.errors import DataError, IgluMarlError
from iglu_marl.core.files import why
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
    """A file that stands where data should be: a pointer of Git LFS or git-annex, or a saved web page."""


def check_placeholder(head: bytes, place: str) -> None:
    """Raises `PlaceholderError` if data that start with `head` are a pointer or a web page.

    place: what the data are, for the message. The first kilobyte is enough.
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
def reading(place: str, error: type[IgluMarlError] = DataError) -> Iterator[None]:
    """Whatever goes wrong inside is told as `error`, with the place: what is read there is not what it should be.

    place: the file, and the line or member of it. Errors of that type that name the place stay as they are.
    """
    try:
        yield
    except (IgluMarlError, *BROKEN, *_UNEXPECTED) as fault:
        named = isinstance(fault, IgluMarlError) and place in str(fault)
        if named and isinstance(fault, error):
            raise
        raise error(str(fault) if named else f"{place}: {_told(fault)}") from fault


def _told(fault: BaseException) -> str:
    if isinstance(fault, IgluMarlError):
        return f"{fault!s:.500}"  # it may show a whole file
    if isinstance(fault, UnicodeDecodeError):
        return f"it is not UTF-8 text: {fault.reason} at byte {fault.start}"
    if isinstance(fault, json.JSONDecodeError):
        return f"it is not JSON: {fault.msg} (line {fault.lineno}, column {fault.colno})"
    if isinstance(fault, RecursionError):
        return "it is not JSON that can be read: brackets too deep within brackets"
    if isinstance(fault, OSError):
        return f"it cannot be read: {why(fault)}"
    return f"it is not in the expected form ({type(fault).__name__}: {fault!s:.120})"


def read_file(path: Path, limit: int, error: type[IgluMarlError] = DataError, *, page: bool = False) -> bytes:
    """The contents of a file of at most `limit` bytes. Raises `error`, naming it, for others and for placeholders.

    page: whether it may well be a web page.
    """
    with reading(str(path), error):
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise error(too_large(str(path), size, limit))
            content = file.read(limit + 1)  # a pipe tells no size
        if len(content) > limit:
            raise error(too_large(str(path), len(content), limit))
        if not page:
            check_placeholder(content[:1024], str(path))
        return content


def too_large(place: str, size: int, limit: int) -> str:
    """The message for what is larger than a file of its kind can be."""
    return f"{place} has {size:,} bytes, expected at most {limit:,} in a file of its kind"


def decoded(text: str | bytes, place: str) -> str:
    """The text of a file. Raises `DataError`, naming `place`, for what is not UTF-8, and for placeholders."""
    if isinstance(text, str):
        return text
    check_placeholder(text[:1024], place)
    with reading(place):
        return text.decode("utf-8-sig")


def parse_json(
    text: str | bytes, place: str, error: type[IgluMarlError] = DataError, *, verbatim: bool = False
) -> Any:
    """The value of JSON text, with strings that UTF-8 can hold: a surrogate alone is U+FFFD, unless `verbatim`.

    Raises `error`, naming `place`, for what is none: other text, other encodings, numbers of thousands of digits,
    brackets too deep within brackets.
    """
    with reading(place, error):
        written = decoded(text, place)
        return json.loads(written if verbatim else paired_escapes(written))
