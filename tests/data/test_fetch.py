"""Downloads of packs: checked, locked, and never installed unless whole. Against a server on this machine."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import requests
from file_server import FileServer, file_server

from iglu_marl.data.packs import fetch, registry, store
from iglu_marl.data.packs.fetch import FetchError, WrongDataError, fetch_pack


def make_zip(files: dict[str, bytes]) -> bytes:
    """Return a zip with its members stored unpacked, so that tests can damage them by name."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


BODY = make_zip(
    {"repo-1/data/logs/splits.json": b"{}", "repo-1/noise": np.random.default_rng(5).bytes(300_000)}
)
KNOWN = {"size": len(BODY), "sha256": hashlib.sha256(BODY).hexdigest()}
PACK = "mdc.zip"


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxies or data of this machine, and short waits."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("IGLU_DATA_PATH", "IGLU_MARL_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "WAIT_S", 0.0)
    monkeypatch.setattr(fetch, "TIMEOUT_S", (2.0, 0.4))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Upstream of the Minecraft Dialogue Corpus."""
    with file_server() as running:
        running.serve("/x.zip", BODY)
        known_facts(monkeypatch, url=running.url("/x.zip"))
        yield running


def known_facts(monkeypatch: pytest.MonkeyPatch, **facts: Any) -> None:
    monkeypatch.setitem(registry.PACKS, "mdc", dataclasses.replace(registry.PACKS["mdc"], **facts))


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {f"{PACK}.lock"} if folder.exists() else set()


def test_a_pack_is_fetched_once(
    server: FileServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        path = fetch_pack("mdc", tmp_path / "new" / "folder", progress=True)
        assert path.read_bytes() == BODY
    assert files_in(path.parent) == {PACK}
    assert len(server.seen) == 1
    assert server.seen[0].headers["Accept-Encoding"] == "identity"
    assert capsys.readouterr().out == "", "the bar goes to the error stream"


@pytest.mark.parametrize("how", [{"chunked": True}, {"gzipped": True}, {"told_length": "1²"}], ids=str)
@pytest.mark.parametrize("facts", [KNOWN, {}], ids=["known", "unknown"])
def test_servers_of_all_kinds(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: Any, facts: dict[str, Any]
) -> None:
    known_facts(monkeypatch, **facts)
    server.serve("/x.zip", BODY, **how)
    assert fetch_pack("mdc", tmp_path).read_bytes() == BODY


FAILURES = {
    "connection breaks": {"cuts": [100_000, 0]},
    "chunked body breaks": {"chunked": True, "cuts": [100_000, 50_000]},
    "busy": {"statuses": [503, 429]},
    "hangs up": {"statuses": [-1, 502]},
    "silent": {"stall_after": [100_000], "stalls": [0.0, 1.0]},
}


@pytest.mark.parametrize("how", FAILURES.values(), ids=FAILURES)
def test_the_third_try_may_succeed(server: FileServer, tmp_path: Path, how: dict[str, Any]) -> None:
    server.serve("/x.zip", BODY, **{name: list(v) if isinstance(v, list) else v for name, v in how.items()})
    assert fetch_pack("mdc", tmp_path).read_bytes() == BODY
    assert len(server.seen) == 3
    assert files_in(tmp_path) == {PACK}


@pytest.mark.parametrize(
    ("how", "message", "tries"),
    [
        *(({"statuses": [status]}, rf"x\.zip answered {status}", 1) for status in (403, 404)),
        *(({"statuses": [status] * 9}, f"in 3 tries: it answered {status}", 3) for status in (429, 503)),
        ({"cuts": [100_000] * 9}, "in 3 tries: .*broken", 3),
        ({"stalls": [2.0] * 9}, "in 3 tries: .*timed out", 3),
    ],
    ids=str,
)
def test_failures(server: FileServer, tmp_path: Path, how: Any, message: str, tries: int) -> None:
    server.serve("/x.zip", BODY, **how)
    with pytest.raises(FetchError, match=message):
        fetch_pack("mdc", tmp_path)
    assert len(server.seen) == tries
    assert files_in(tmp_path) == set()


CHANGED = BODY[:-1] + bytes([BODY[-1] ^ 1])
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 300000\n"
OTHER_PACK = make_zip({"dialogs.csv": b"PartitionKey"})
HUGE = (b"\0" * 2_000_000, {})
TOO_LARGE = r"at most 400,000|more than the expected 400,000 bytes"
WRONG: dict[str, tuple[Any, dict[str, Any], dict[str, Any], str]] = {
    # body, what is known of the pack, how it is served, message
    "page": (b"\n<!DOCTYPE html><html><body>Sign in</body></html>", KNOWN, {}, "web page"),
    "pointer": (POINTER, {}, {}, "Git LFS pointer.*300,000 bytes"),
    "size": (BODY[:-1], KNOWN, {}, rf"sends {len(BODY) - 1:,} bytes, expected {len(BODY):,}"),
    "hash": (CHANGED, KNOWN, {}, r"its sha256 is \w+, expected \w+; it was removed"),
    "without end": (BODY, {"size": 1000}, {"chunked": True}, "more than the expected 1,000 bytes"),
    "too large": (*HUGE, {}, TOO_LARGE),
    "too large, chunked": (*HUGE, {"chunked": True}, TOO_LARGE),
    "too large, packed": (*HUGE, {"gzipped": True}, TOO_LARGE),
    "another pack": (OTHER_PACK, {}, {}, "is wrong: .*is not mdc: expected.*it looks like iglu-multiturn"),
    "checksum": (BODY.replace(b"{}", b"[]"), {}, {}, "cannot be read: Bad CRC-32"),
    "truncated": (BODY[:-30], {}, {}, "truncated or damaged zip"),
}


@pytest.mark.parametrize(("body", "facts", "how", "message"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("force", [False, True])
def test_other_data_are_never_installed(
    server: FileServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
    facts: dict[str, Any],
    how: dict[str, Any],
    message: str,
    force: bool,
) -> None:
    if force:  # the existing file stays
        fetch_pack("mdc", tmp_path)
    monkeypatch.setattr(fetch, "LARGEST", 400_000)
    known_facts(monkeypatch, **facts)
    server.serve("/x.zip", body, **how)
    with pytest.raises(WrongDataError, match=message):
        fetch_pack("mdc", tmp_path, force=force)
    assert files_in(tmp_path) == ({PACK} if force else set())
    assert not force or (tmp_path / PACK).read_bytes() == BODY


def test_a_pack_is_replaced_on_demand(server: FileServer, tmp_path: Path) -> None:
    fetch_pack("mdc", tmp_path)
    server.files["/x.zip"].body = other = make_zip({"repo-2/data/logs/splits.json": b"{}"})
    assert fetch_pack("mdc", tmp_path).read_bytes() == BODY
    assert fetch_pack("mdc", tmp_path, force=True).read_bytes() == other
    assert files_in(tmp_path) == {PACK}


class ScriptedAdapter:
    """Answers in place of the network: each response has the next of the given headers."""

    def __init__(self, status: int, *headers: dict[str, str]) -> None:
        self.status, self.headers, self.asked = status, list(headers), list[str]()

    def __call__(self, adapter: Any, request: Any, **_: Any) -> requests.Response:
        self.asked.append(request.url)
        response = requests.Response()
        response.status_code, response.url, response.request = self.status, request.url, request
        response.headers.update(self.headers.pop(0))
        response.raw = io.BytesIO()
        return response


@pytest.mark.parametrize(
    "hops", [["http://a/x"], ["https://a/y", "http://a/x", "https://a/z"], ["//b/c", "http:/q"]]
)
def test_https_never_leads_to_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hops: list[str]) -> None:
    adapter = ScriptedAdapter(302, *({"Location": hop} for hop in hops))
    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", lambda *a, **k: adapter(*a, **k))
    with pytest.raises(FetchError, match=r"redirects, expected to an address with https: .*'http:"):
        fetch_pack("mdc", tmp_path, url="https://a/first")
    assert all(url.startswith("https://") for url in adapter.asked)


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip, gzip"])
def test_encodings_that_unpack_to_any_size_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    adapter = ScriptedAdapter(200, {"Content-Encoding": encoding})
    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", lambda *a, **k: adapter(*a, **k))
    with pytest.raises(FetchError, match=f"sends the encoding '{encoding}', expected none or gzip"):
        fetch_pack("mdc", tmp_path, url="https://a/x")


def test_places_that_cannot_be_written(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FetchError, match="cannot be written"):
        fetch_pack("mdc", tmp_path / "file" / "folder")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FetchError, match=r"mdc\.zip cannot be written: No space left on device"):
        fetch_pack("mdc", tmp_path / "full")
    assert files_in(tmp_path / "full") == set()


@pytest.mark.parametrize(
    ("name", "url", "message"),
    [
        ("mdc", "file:///etc/passwd", "expected an address with http"),
        ("nothing", None, "there is no pack 'nothing', expected one of iglu-multiturn"),
    ],
)
def test_wrong_addresses_and_names(name: str, url: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(store.DataError, match=message):
        fetch_pack(name, tmp_path, url=url)


PROGRAM = """
import sys
from iglu_marl.data.packs.fetch import fetch_pack
print(fetch_pack("mdc", sys.argv[1], url=sys.argv[2]))
"""


def start(folder: Path, server: FileServer) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder), server.url("/x.zip")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Any, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
def test_two_processes_fetch_it_once(server: FileServer, tmp_path: Path) -> None:
    file = server.serve("/x.zip", BODY, slow_s=0.05)
    both = [start(tmp_path, server), start(tmp_path, server)]
    wait_for(lambda: server.sent > 100_000, both[0])
    errors = ""
    for process in both:
        out, error = process.communicate(timeout=30)
        assert (process.returncode, out.strip()) == (0, str(tmp_path / PACK)), error
        errors += error
        file.slow_s = 0.0
    assert errors.count("another process is fetching") == 1, "they did not meet"
    assert server.sent == len(BODY)
    assert files_in(tmp_path) == {PACK}


@pytest.mark.parametrize("variable", [None, "new"])
def test_a_pack_that_is_nowhere_is_fetched(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    """It goes to the user's folder of packs, or to the folder that the variable names, which is made."""
    if variable is not None:
        monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / variable))
    for _ in range(2):
        with store.find_pack("mdc") as pack:
            assert pack.location == str(tmp_path / (variable or "cache/packs") / PACK)
            assert pack.names() == ["data/logs/splits.json", "noise"]
            assert pack.root == "repo-1/"
    assert len(server.seen) == 1


def test_downloads_can_be_forbidden(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(store.MissingPackError, match="not on this machine"):
        store.find_pack("mdc", fetch=False)
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    with pytest.raises(store.MissingPackError, match="IGLU_MARL_OFFLINE is set"):
        store.find_pack("mdc")
    assert server.seen == []


def test_published_facts(server: FileServer, tmp_path: Path) -> None:
    """The size and hash in the Git LFS pointer upstream hold for mirrors too; all packs come from GitHub."""
    with pytest.raises(WrongDataError, match="expected 13,977,030"):
        fetch_pack("iglu-multiturn", tmp_path, url=server.url("/x.zip"))
    info = registry.PACKS["iglu-multiturn"]
    assert info.sha256 == "1d87e9bc4028bc4a0bd4e97d07e73beefdda1408b40877a32b1429070cc22a67"
    hosts = {urlsplit(info.url).netloc for info in registry.PACKS.values() if info.name != "mdc"}
    assert hosts == {"github.com"}
