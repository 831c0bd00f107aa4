"""Files from outside: how large they may be, and what an error says."""

from __future__ import annotations

from pathlib import Path

import pytest

from iglu_marl import ConfigError, DataError
from iglu_marl.core.parsing import PlaceholderError, decoded, parse_json, read_file, too_large, wrap_errors

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 1234567\n"


def test_a_file_may_be_as_large_as_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"12345")
    assert read_file(path, 5) == b"12345"
    with pytest.raises(DataError, match=r"a\.bin has 5 bytes, expected at most 4"):
        read_file(path, 4)
    with pytest.raises(DataError, match="cannot be read"):
        read_file(tmp_path / "none", 5)
    assert too_large("it", 2000, 1000) == "it has 2,000 bytes, expected at most 1,000 in a file of its kind"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (POINTER, "the 1,234,567 bytes"),
        (POINTER.replace(b"size", b"s"), "the data from"),
        (b"/annex/objects/x", "git annex get"),
        (b"\xef\xbb\xbf <!-- a --> <!DOCTYPE html><html>", "a web page"),
        (b'<?xml version="1.0"?>\n<html lang="en">', "a web page"),
    ],
)
def test_placeholders_are_recognised(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(PlaceholderError, match=words):
        read_file(path, 1000)
    with pytest.raises(PlaceholderError):
        decoded(content, "it")


@pytest.mark.parametrize("content", [b"", b"version 1", b"<htmlx>", b"text <html>", b"<!-- <html> -->"])
def test_other_files_are_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    assert read_file(path, 1000) == content


def test_text_and_json() -> None:
    assert decoded(b"\xef\xbb\xbfa\xc3\xa9", "it") == "a\xe9"
    assert decoded("\ufeffa", "it") == "\ufeffa"
    with pytest.raises(DataError, match=r"it: it is not UTF-8 text: .* at byte 1"):
        decoded(b"a\xff", "it")
    assert parse_json(b'{"a": [1, 2.5, null]}', "it") == {"a": [1, 2.5, None]}
    assert parse_json(r'"\ud83d\ude42 \ud800"', "it") == "\U0001f642 \ufffd"
    assert parse_json(r'"\ud800"', "it", verbatim=True) == "\ud800"
    for text, words in (
        ("{", r"it is not JSON: .* \(line 1, column 2\)"),
        ("[" * 200_000, "brackets too deep"),
        ("1" * 5000, "not in the expected form"),
    ):
        with pytest.raises(ConfigError, match=f"it: .*{words}"):
            parse_json(text, "it", ConfigError)


def test_errors_are_wrapped_once_and_name_their_place() -> None:
    described = r"^line 3: it is not in the expected form \(KeyError: 'a'\)$"
    with pytest.raises(DataError, match=described), wrap_errors("line 3"):
        raise KeyError("a")
    own = DataError("line 3: no")
    with pytest.raises(DataError) as caught, wrap_errors("line 3"):
        raise own
    assert caught.value is own
    with pytest.raises(ConfigError, match=r"^line 3: no$"), wrap_errors("line 3", ConfigError):
        raise own
    with pytest.raises(DataError, match=r"^line 4: line 3: no$"), wrap_errors("line 4"):
        raise own
    with pytest.raises(KeyboardInterrupt), wrap_errors("line 3"):
        raise KeyboardInterrupt
