"""Downloads: continued, checked, locked, and never installed unless whole. Against a server on this machine."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import requests
from file_server import FileServer, file_server
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iglu_marl.data.packs import fetch, registry, store
from iglu_marl.data.packs.fetch import Download, FetchError, WrongDataError, download, fetch_pack

BODY = np.random.default_rng(5).bytes(300_000)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 300000\n"


@pytest.fixture(autouse=True)
def this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("IGLU_DATA_PATH", "IGLU_MARL_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server() as running:
        yield running


def plan_for(server: FileServer, folder: Path, path: str = "/x.zip", **fields: Any) -> Download:
    fields = {"retries": 2, "backoff_s": 0.0, "timeout_s": (2.0, 0.4), **fields}
    return Download(server.url(path), folder / "x.zip", **fields)


def known(body: bytes = BODY) -> dict[str, Any]:
    return {"size": len(body), "sha256": hashlib.sha256(body).hexdigest()}


def left_over(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"x.zip", "x.zip.lock"}


# ------------------------------------------------------------------------------------------------ it arrives


def test_a_file_is_fetched_once(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY)
    plan = plan_for(server, tmp_path / "new" / "folder", **known())
    assert download(plan) == plan.target
    assert plan.target.read_bytes() == BODY
    assert left_over(plan.target.parent) == set()
    assert download(plan) == plan.target
    assert len(server.seen) == 1
    assert server.seen[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("how", [{"chunked": True}, {"gzipped": True}, {"etag": None}, {"ranges": False}])
@pytest.mark.parametrize("facts", [known(), {}])
def test_servers_of_all_kinds(server: FileServer, tmp_path: Path, how: Any, facts: dict[str, Any]) -> None:
    server.serve("/x.zip", BODY, **how)
    assert download(plan_for(server, tmp_path, **facts)).read_bytes() == BODY


@pytest.mark.parametrize("told", ["²", "1²", "many", "9" * 5000])
def test_a_length_that_is_no_number_is_no_length(server: FileServer, tmp_path: Path, told: str) -> None:
    server.serve("/x.zip", BODY, told_length=told)
    assert download(plan_for(server, tmp_path, **known())).read_bytes() == BODY


def test_broken_connections_are_continued(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, cuts=[100_000, 0, 0, 50_000])
    assert download(plan_for(server, tmp_path, **known())).read_bytes() == BODY
    assert [seen.status for seen in server.seen] == [200, 206, 206, 206, 206]
    assert server.seen[1].headers["If-Range"] == '"one"'
    assert server.sent < len(BODY) + 3 * fetch.CHUNK, "what had arrived was fetched again"
    assert left_over(tmp_path) == set()


def test_a_date_is_as_good_as_a_tag(server: FileServer, tmp_path: Path) -> None:
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    server.serve("/x.zip", BODY, etag='W/"weak"', modified=date, cuts=[100_000])
    assert download(plan_for(server, tmp_path)).read_bytes() == BODY
    assert server.seen[1].headers["If-Range"] == date
    assert server.seen[1].status == 206


def test_a_broken_chunked_answer_is_continued(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, chunked=True, cuts=[100_000])
    assert download(plan_for(server, tmp_path)).read_bytes() == BODY
    assert [seen.status for seen in server.seen] == [200, 206]


def test_without_tag_date_and_hash_it_starts_anew(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, etag=None, cuts=[100_000])
    assert download(plan_for(server, tmp_path)).read_bytes() == BODY
    assert [seen.status for seen in server.seen] == [200, 200]


@pytest.mark.slow
def test_a_silent_server_is_asked_again(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, stall_after=[100_000], stalls=[0.0, 1.0])
    assert download(plan_for(server, tmp_path, **known())).read_bytes() == BODY
    assert len(server.seen) == 3


def test_busy_servers_are_asked_again(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, statuses=[503, 429], retry_after="0")
    assert download(plan_for(server, tmp_path)).read_bytes() == BODY
    server.serve("/y.zip", BODY, statuses=[-1, 502])
    assert download(plan_for(server, tmp_path / "y", "/y.zip")).read_bytes() == BODY


def test_no_server_decides_how_long_we_wait(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "LONGEST_WAIT_S", 0.05)
    server.serve("/x.zip", BODY, statuses=[503], retry_after="3600")
    begin = time.monotonic()
    assert download(plan_for(server, tmp_path)).read_bytes() == BODY
    assert time.monotonic() - begin < 5


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(1, 100_000),
    cuts=st.lists(st.one_of(st.none(), st.integers(0, 100_000)), max_size=4),
    ranges=st.booleans(),
    etag=st.sampled_from(['"one"', 'W/"one"', None]),
    chunked=st.booleans(),
    hashed=st.booleans(),
)
def test_wherever_it_breaks_the_bytes_are_right(
    server: FileServer,
    tmp_path: Path,
    size: int,
    cuts: list[int | None],
    ranges: bool,
    etag: str | None,
    chunked: bool,
    hashed: bool,
) -> None:
    body = BODY[:size]
    server.serve("/x.zip", body, cuts=list(cuts), ranges=ranges, etag=etag, chunked=chunked)
    folder = tmp_path / "any"
    plan = plan_for(server, folder, retries=5, **(known(body) if hashed else {}))
    assert download(plan).read_bytes() == body
    assert left_over(folder) == set()
    shutil.rmtree(folder)


# --------------------------------------------------------------------------------------- it does not arrive


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_refusals_are_final(server: FileServer, tmp_path: Path, status: int) -> None:
    server.serve("/x.zip", BODY, statuses=[status])
    with pytest.raises(FetchError, match=rf"x\.zip answered {status}"):
        download(plan_for(server, tmp_path))
    assert len(server.seen) == 1
    assert left_over(tmp_path) == set()


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_that_stays_broken(server: FileServer, tmp_path: Path, status: int) -> None:
    server.serve("/x.zip", BODY, statuses=[status] * 20)
    with pytest.raises(FetchError, match=str(status)):
        download(plan_for(server, tmp_path))
    assert len(server.seen) == 3


@pytest.mark.slow
def test_no_answer_at_all(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, stalls=[5.0] * 9)
    with pytest.raises(FetchError, match="timed out"):
        download(plan_for(server, tmp_path, retries=1))


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    plan = Download(f"http://127.0.0.1:{port}/x", tmp_path / "x.zip", backoff_s=0.0)
    with pytest.raises(FetchError, match=r"could not be reached: .*refused"):
        download(plan)


def test_half_a_file_is_kept_for_the_next_run(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, cuts=[100_000, 0, 0, 0])
    plan = plan_for(server, tmp_path, **known())
    with pytest.raises(FetchError, match=r"bytes are kept in .*x\.zip\.part, run it again"):
        download(plan)
    assert not plan.target.exists()
    kept = plan.part.stat().st_size
    assert kept >= 100_000 - fetch.CHUNK
    assert plan.part.read_bytes() == BODY[:kept]
    before = server.sent
    assert download(plan).read_bytes() == BODY
    assert server.sent - before == len(BODY) - kept


def test_without_ranges_it_gives_up_in_the_end(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, ranges=False, cuts=[100_000] * 50)
    with pytest.raises(FetchError, match="could not be fetched whole"):
        download(plan_for(server, tmp_path))
    assert len(server.seen) < 10


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\n<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
        (POINTER, "Git LFS pointer.*300,000 bytes"),
        (BODY[:-1], "sends 299,999 bytes, expected 300,000"),
    ],
    ids=["page", "pointer", "size"],
)
def test_other_data_are_seen_at_once(server: FileServer, tmp_path: Path, body: bytes, message: str) -> None:
    """A sign-in page in the way must not cost what has been fetched so far."""
    file = server.serve("/x.zip", BODY, cuts=[100_000, 0, 0, 0])
    plan = plan_for(server, tmp_path, **known())
    with pytest.raises(FetchError):
        download(plan)
    kept = plan.part.read_bytes()
    file.body, file.etag = body, '"two"'
    with pytest.raises(WrongDataError, match=message):
        download(plan)
    assert not plan.target.exists()
    assert plan.part.read_bytes() == kept
    file.body, file.etag = BODY, '"one"'
    assert download(plan).read_bytes() == BODY
    assert server.seen[-1].status == 206


def test_a_body_without_end(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, chunked=True)
    with pytest.raises(WrongDataError, match="more than the expected 1,000 bytes"):
        download(plan_for(server, tmp_path, size=1000))
    assert left_over(tmp_path) == set()


@pytest.mark.parametrize("how", [{}, {"chunked": True}, {"gzipped": True}])
def test_a_file_of_unknown_size_has_a_limit(server: FileServer, tmp_path: Path, how: Any) -> None:
    server.serve("/x.zip", b"\0" * 2_000_000, **how)
    with pytest.raises(WrongDataError, match=r"at most 100,000|more than the expected 100,000 bytes"):
        download(plan_for(server, tmp_path, limit=100_000))
    assert left_over(tmp_path) == set()


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip, gzip"])
def test_bodies_that_may_unpack_to_anything_are_not_taken(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    answer = SimpleNamespace(status_code=200, headers={"Content-Encoding": encoding}, close=lambda: None)
    session = SimpleNamespace(get=lambda *_, **__: answer, close=lambda: None)
    monkeypatch.setattr(fetch, "_session", lambda plan: session)
    with pytest.raises(FetchError, match=f"sends the encoding '{encoding}', expected none or gzip"):
        download(plan_for(server, tmp_path))


@pytest.mark.parametrize("chunked", [False, True])
def test_a_server_that_is_too_slow_is_left(server: FileServer, tmp_path: Path, chunked: bool) -> None:
    """Each byte comes in time, and all of them would take an hour; what has come is kept."""
    file = server.serve("/x.zip", BODY, slow_s=0.01, block=1, chunked=chunked)
    plan = plan_for(server, tmp_path, slowest=10_000.0, window_s=0.2, **known())
    with pytest.raises(
        FetchError, match=r"sends \d+ bytes a second, expected 10,000 or more; \d+ bytes are kept"
    ):
        download(plan)
    file.slow_s, file.block = 0.0, 1 << 12
    assert download(plan).read_bytes() == BODY
    assert server.seen[-1].status == 206


def test_a_wrong_hash_is_never_installed(server: FileServer, tmp_path: Path) -> None:
    wrong = BODY[:-1] + bytes([BODY[-1] ^ 1])
    file = server.serve("/x.zip", wrong)
    plan = plan_for(server, tmp_path, **known())
    with pytest.raises(WrongDataError, match=r"its sha256 is \w+, expected \w+; it was removed"):
        download(plan)
    assert left_over(tmp_path) == set()
    file.body = BODY
    assert download(plan).read_bytes() == BODY


def test_a_file_that_changes_in_between(server: FileServer, tmp_path: Path) -> None:
    """By its tag, the server sends the new file whole; without one, the hash of the mixture tells."""
    other = BODY[::-1]
    for etag in ('"one"', None):
        file = server.serve("/x.zip", other, etag=etag, cuts=[100_000, 0, 0, 0])
        folder = tmp_path / str(etag).strip('"')
        plan = plan_for(server, folder, **known())
        with pytest.raises(FetchError):
            download(plan)
        assert plan.part.exists()
        file.body, file.etag = BODY, etag and '"two"'
        assert download(plan).read_bytes() == BODY
        assert left_over(folder) == set()


def test_a_part_of_another_address_is_not_used(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY[::-1], cuts=[100_000, 0, 0, 0])
    with pytest.raises(FetchError):
        download(plan_for(server, tmp_path))
    server.serve("/y.zip", BODY)
    assert download(plan_for(server, tmp_path, "/y.zip")).read_bytes() == BODY
    assert "Range" not in server.seen[-1].headers


@pytest.mark.parametrize("note", [None, b"", b"[]", b"\xff", b'{"url": 3}'])
def test_a_part_of_unknown_origin_is_not_used(server: FileServer, tmp_path: Path, note: bytes | None) -> None:
    server.serve("/x.zip", BODY)
    plan = plan_for(server, tmp_path)
    plan.part.write_bytes(b"something else")
    if note is not None:
        plan.note.write_bytes(note)
    assert download(plan).read_bytes() == BODY


def test_the_wrong_part_of_the_file_is_not_used(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, cuts=[100_000], shift_range=True)
    assert download(plan_for(server, tmp_path)).read_bytes() == BODY


def test_a_part_that_is_too_long(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY)
    plan = plan_for(server, tmp_path)
    plan.part.write_bytes(BODY + b"tail")
    note = {"url": plan.url, "etag": '"one"', "modified": "", "total": len(BODY)}
    plan.note.write_text(json.dumps(note))
    assert download(plan).read_bytes() == BODY
    assert [seen.status for seen in server.seen] == [416, 200]


@pytest.mark.parametrize(
    "hops", [["http://a/x"], ["https://a/y", "http://a/x", "https://a/z"], ["//b/c", "http:/q"]]
)
def test_encrypted_addresses_do_not_lead_to_open_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hops: list[str]
) -> None:
    """Not even in between: what is not encrypted is never asked for."""
    asked: list[str] = []

    class Hopping(requests.adapters.HTTPAdapter):
        def send(self, request: Any, *_: Any, **__: Any) -> requests.Response:
            asked.append(request.url)
            answer = requests.Response()
            answer.status_code, answer.url, answer.request = 302, request.url, request
            answer.headers["Location"] = hops[len(asked) - 1]
            answer.raw = io.BytesIO()
            return answer

    def session(plan: Download) -> Any:
        made = real(plan)
        for scheme in ("http://", "https://"):
            made.mount(scheme, Hopping())
        return made

    real = fetch._session
    monkeypatch.setattr(fetch, "_session", session)
    with pytest.raises(FetchError, match=r"redirects to http:.*, expected https; not followed"):
        download(Download("https://a/first", tmp_path / "x.zip"))
    assert all(url.startswith("https://") for url in asked)


def test_a_full_disk(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.serve("/x.zip", BODY)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(FetchError, match="1,000 bytes free, expected 300,000 or more"):
        download(plan_for(server, tmp_path, **known()))


def test_a_folder_that_cannot_be(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FetchError, match="cannot be written"):
        download(plan_for(server, tmp_path / "file" / "folder"))


def test_the_bar_goes_to_the_error_stream(
    server: FileServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.serve("/x.zip", BODY)
    download(plan_for(server, tmp_path), progress=True)
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------------ killed, and two at once

PROGRAM = """
import sys
from pathlib import Path
from iglu_marl.data.packs.fetch import Download, download
url, target, size, sha256 = sys.argv[1:]
print(download(Download(url, Path(target), int(size), sha256, backoff_s=0.0)))
"""


def start(plan: Download) -> subprocess.Popen[str]:
    arguments = [plan.url, str(plan.target), str(plan.size), str(plan.sha256)]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition: Any, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_in_the_middle_nothing_is_lost(server: FileServer, tmp_path: Path) -> None:
    file = server.serve("/x.zip", BODY, slow_s=0.02)
    plan = plan_for(server, tmp_path, **known())
    process = start(plan)
    wait_for(lambda: plan.part.exists() and plan.part.stat().st_size > 100_000, process)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    assert not plan.target.exists()
    kept = plan.part.stat().st_size
    file.slow_s = 0.0
    server.seen.clear()
    assert download(plan).read_bytes() == BODY
    assert server.seen[0].headers["Range"] == f"bytes={kept}-"
    assert server.sent == len(BODY) - kept
    assert left_over(tmp_path) == set()


def test_killed_before_the_last_step(server: FileServer, tmp_path: Path) -> None:
    """All had arrived: the file only has to be checked and moved, which needs no network."""
    plan = plan_for(server, tmp_path, **known())
    plan.part.write_bytes(BODY)
    plan.note.write_text(json.dumps({"url": plan.url, "etag": "", "modified": "", "total": len(BODY)}))
    assert download(plan).read_bytes() == BODY
    assert server.seen == []


@pytest.mark.slow
def test_two_processes_fetch_it_once(server: FileServer, tmp_path: Path) -> None:
    file = server.serve("/x.zip", BODY, slow_s=0.05)
    plan = plan_for(server, tmp_path, **known())
    both = [start(plan), start(plan)]
    wait_for(lambda: server.sent > 100_000, both[0])
    errors = ""
    for process in both:
        out, error = process.communicate(timeout=30)
        assert process.returncode == 0, error
        assert out.strip() == str(plan.target)
        errors += error
        file.slow_s = 0.0
    assert errors.count("another process is fetching") == 1, "they did not meet"
    assert plan.target.read_bytes() == BODY
    assert server.sent == len(BODY)
    assert left_over(tmp_path) == set()


def test_many_threads_fetch_it_once(server: FileServer, tmp_path: Path) -> None:
    server.serve("/x.zip", BODY, slow_s=0.001)
    plan = plan_for(server, tmp_path, **known())
    threads = [threading.Thread(target=download, args=(plan,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert plan.target.read_bytes() == BODY
    assert server.sent == len(BODY)


# ------------------------------------------------------------------------------------------------ whole packs


def make_zip(files: dict[str, bytes]) -> bytes:
    """A zip with its members stored as they are, so that tests can damage them by name."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.fixture
def mdc(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """The corpus as an archive of its repository, upstream being the test's server."""
    body = make_zip({"repo-1/data/logs/splits.json": b"{}", "repo-1.md": b"text " * 100})
    server.serve("/mdc.zip", body)
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    info = dataclasses.replace(registry.PACKS["mdc"], url=server.url("/mdc.zip"))
    monkeypatch.setitem(registry.PACKS, "mdc", info)
    return server


def test_a_pack_that_is_nowhere_is_fetched(mdc: FileServer, tmp_path: Path) -> None:
    with store.find_pack("mdc") as pack:
        assert pack.location == str(tmp_path / "cache" / "packs" / "mdc.zip")
        assert pack.names() == ["data/logs/splits.json"]
        assert pack.root == "repo-1/"
    with store.find_pack("mdc"):
        pass
    assert len(mdc.seen) == 1


def test_a_folder_that_is_not_there_yet_is_made_and_filled(
    mdc: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / "new"))
    for _ in range(2):
        with store.find_pack("mdc") as pack:
            assert pack.location == str(tmp_path / "new" / "mdc.zip")
    assert len(mdc.seen) == 1


def test_fetching_can_be_forbidden(mdc: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(store.MissingPackError, match="not on this machine"):
        store.find_pack("mdc", fetch=False)
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    with pytest.raises(store.MissingPackError, match="IGLU_MARL_OFFLINE is set"):
        store.find_pack("mdc")
    assert mdc.seen == []


def test_without_network_the_error_tells_what_to_do(
    mdc: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mdc.files["/mdc.zip"].statuses = [404]
    with pytest.raises(store.MissingPackError) as caught:
        store.find_pack("mdc")
    message = str(caught.value)
    for part in (
        "answered 404",
        mdc.url("/mdc.zip"),
        "https://github.com/prashant-jayan21/minecraft-dialogue-models",
        str(tmp_path / "cache" / "packs" / "mdc.zip"),
        "IGLU_DATA_PATH",
        "iglu-marl data fetch mdc",
    ):
        assert part in message


def test_another_pack_or_a_damaged_one_is_not_installed(mdc: FileServer, tmp_path: Path) -> None:
    good = mdc.files["/mdc.zip"].body
    damaged = good.replace(b"text text", b"text TEXT")
    inside = good.replace(b"{}", b"[]")
    other = make_zip({"dialogs.csv": b"PartitionKey"})
    for body, message in (
        (other, "is not mdc: expected.*it looks like iglu-multiturn"),
        (damaged, ""),
        (inside, "cannot be read: Bad CRC-32"),
        (good[:-30], "truncated or damaged zip"),
        (b"PK nonsense", "truncated or damaged zip"),
        (b"", "is empty"),
    ):
        mdc.files["/mdc.zip"].body = body
        if not message:  # beside the pack's own folder, and none of our business
            assert fetch_pack("mdc", tmp_path / "fine").exists()
            continue
        with pytest.raises(WrongDataError, match=f"is wrong: .*{message}"):
            fetch_pack("mdc", tmp_path / "other")
        assert not (tmp_path / "other" / "mdc.zip").exists()


def test_fetching_again_keeps_the_old_one_until_the_end(mdc: FileServer, tmp_path: Path) -> None:
    path = fetch_pack("mdc", tmp_path)
    first = path.read_bytes()
    good = mdc.files["/mdc.zip"].body
    mdc.files["/mdc.zip"].body = b"PK nonsense"
    with pytest.raises(WrongDataError):
        fetch_pack("mdc", tmp_path, force=True)
    assert path.read_bytes() == first
    mdc.files["/mdc.zip"].body = good.replace(b"text text", b"TEXT text")
    assert fetch_pack("mdc", tmp_path, force=True) == path
    assert path.read_bytes() != first


def test_known_hashes_hold_for_mirrors_too(mdc: FileServer, tmp_path: Path) -> None:
    mdc.serve("/multi.zip", make_zip({"dialogs.csv": b"PartitionKey"}))
    with pytest.raises(WrongDataError, match="expected 13,977,030"):
        fetch_pack("iglu-multiturn", tmp_path, url=mdc.url("/multi.zip"))


def test_addresses_and_names_are_checked(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="expected an address with http"):
        fetch_pack("mdc", tmp_path, url=f"file://{tmp_path}")
    with pytest.raises(store.DataError, match="there is no pack 'nothing', expected one of iglu-multiturn"):
        fetch_pack("nothing")


def test_pinned_facts() -> None:
    """The size and hash in the Git LFS pointer upstream, and the project pages."""
    info = registry.PACKS["iglu-multiturn"]
    assert info.size == 13_977_030
    assert info.sha256 is not None
    assert info.sha256.startswith("1d87e9bc")
    assert len(info.sha256) == 64
    assert {urlsplit(info.url).netloc for info in registry.PACKS.values()} == {"github.com"}
