"""Hostile archives, servers, models and browsers; secrets in what is written; the source itself. All run once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import resource
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.trust.driver import ROOT, Figures, expect, main
from iglu_marl import IgluMarlError, Recorder, Task, evaluate, play, raw_env
from iglu_marl.agents import agents_for
from iglu_marl.agents.llm.reading import Unreadable, read_message, read_order
from iglu_marl.core.parsing import check_placeholder
from iglu_marl.core.text import csv_text
from iglu_marl.data import MultiturnDataset
from iglu_marl.data.packs.archive import open_pack
from iglu_marl.data.packs.fetch import Download, FetchError, download

from file_server import file_server  # isort: skip  # the tests' own helpers
from fuzz_targets import Server, a_state, understand  # isort: skip
from made_packs import step_file  # isort: skip
from test_architecture import complaints  # isort: skip
from test_damaged_input import MULTI  # isort: skip

QUICK, FULL = 1, 1
GRID = [(0, -1, -2, 6), (1, -1, -2, 1)]
SECRET = "sk-3141592653589793"  # in the environment and in options, and nowhere else


def timed(most_s: float, what: str, call: Callable[[], object]) -> None:
    """Expect a call to end within some CPU time, with an error of ours or without."""
    begun = time.process_time()
    with contextlib.suppress(IgluMarlError, Unreadable):
        call()
    took = time.process_time() - begun
    expect(took <= most_s, f"{what} took {took:.1f} s")


# ------------------------------------------------------------------------------------------------------ archives


def archives(folder: Path) -> str:
    """Path traversal, links, bombs, false headers: nothing is written, little memory is used."""
    path, found = folder / "bad.zip", []  # type: ignore[var-annotated]
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    members = {
        "../out": b"x",
        "/abs": b"x",
        "a/../../out": b"x",
        "C:\\x": b"x",
        "a\\..\\b": b"x",
        "": b"x",
        "ok.json": b"{}",
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    with open_pack(path) as pack:
        expect(pack.names() == ["ok.json"], f"{pack.names()} can be read")
        expect(pack.read("ok.json") == b"{}", "what is good cannot be read")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in MULTI.items():
            if name != step_file("1-c7", 2):
                archive.writestr(name, content)
        with archive.open(step_file("1-c7", 2), "w", force_zip64=True) as member:
            for _ in range(300):
                member.write(bytes(1 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    timed(20, "a bomb of 300 MiB", lambda: found.extend(MultiturnDataset(path=path, progress=False).ids()))
    expect("2-c7" in found, "a bomb takes others with it")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    expect(grown < 100, f"a bomb makes the process {grown:.0f} MiB larger")
    for head in (
        b"<!--" * 250,
        b"<!--a-->" * 120 + b"<!-",
        b"<?xml" * 200,
        b" <!-- -->" * 110,
        b"\n\t " * 340,
    ):
        timed(0.5, "the first kilobyte", lambda head=head: check_placeholder(head[:1024], "x"))
        path.write_bytes(head * 40)
        timed(0.5, "a file that is no archive", lambda: open_pack(path))
    expect(
        not (folder / "out").exists() and not (folder.parent / "out").exists(),
        "something was written outside",
    )
    return "names, links, bombs, pages"


# ------------------------------------------------------------------------------------------------------- servers


def servers(folder: Path) -> str:
    """Endless, growing, slow and false answers: an error of ours soon, and nothing is installed."""
    with file_server() as files:
        big = bytes(4 << 20)
        packed = zlib.compress(bytes(64 << 20))
        cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
            "endless": ({"body": big, "chunked": True}, {"limit": 1 << 20}),
            "longer than it says": ({"body": big}, {"size": 1000}),
            "exploding": ({"body": big, "gzipped": True, "chunked": True}, {"limit": 1 << 20}),
            "another": ({"body": b"x" * 1000}, {"sha256": hashlib.sha256(b"y").hexdigest()}),
            "a page": ({"body": b"<!doctype html><html>" + b"x" * 900}, {}),
            "slow": ({"body": big[:3000], "slow_s": 0.2, "block": 10}, {"slowest": 1000.0, "window_s": 1.0}),
            "gone": ({"body": packed, "cuts": [0] * 50}, {}),
        }
        for name, (how, known) in cases.items():
            files.serve("/x", **how)  # type: ignore[arg-type]
            target = folder / "served"
            plan = Download(files.url("/x"), target, retries=1, backoff_s=0.01, **known)
            try:
                download(plan, progress=False)
                expect(False, f"{name}: it was installed")
            except FetchError:
                pass
            expect(not target.exists(), f"{name}: something was installed")
            for left in folder.glob("served*"):
                expect(left.stat().st_size <= 5 << 20, f"{name}: {left} has {left.stat().st_size} bytes")
                left.unlink()
        return ", ".join(cases)


# -------------------------------------------------------------------------------------------------- models, people


def models(folder: Path) -> str:
    """Replies and chat that are slow to parse or contain escape sequences."""
    grid = a_state()["grid"][0]
    hostile = [
        "{" * 20_000, "[" * 20_000, '{"a":' * 10_000, "```" * 10_000, "<think>" * 8_000, "(" * 30_000, "²" * 1000,
        "place red " * 5_000, '{"edits": [' + '{"action": "place"},' * 3_000, "\ud800" * 1000,
        "<|channel|>final<|message|>" * 3_000, " " * 50_000 + "x", "\n```json" * 8_000,
        '{"say": "' + "\\" * 20_000, "analysis" * 5_000 + "assistantfinal",
    ]  # fmt: skip
    for text in hostile:
        timed(3, f"a reply {text[:20]!r}...", lambda text=text: read_order(text, grid, 30))
        timed(3, f"a message {text[:20]!r}...", lambda text=text: read_message(text))
        timed(6, f"an instruction {text[:20]!r}...", lambda text=text: understand(text[:500], grid))
    return f"{len(hostile)} replies"


def reports(folder: Path) -> str:
    """Names and texts in reports and tables: no formula, no tag, no script; restricted permissions."""
    evil = "=HYPERLINK(1)|<img src=x onerror=alert(1)>\n</script>`*_[a](javascript:x)"
    os.umask(0)
    env = raw_env(
        tasks=Task(f"<Architect> {evil}", GRID),
        builder_sees=("dialog", "inventory", "pose", "grid"),
        builder_can_ask=True,
    )
    with Recorder(folder / "private.jsonl", private=True) as recorder:
        play(env, agents_for(env), seed=0, on_step=recorder)
    os.umask(0o022)
    expect((folder / "private.jsonl").stat().st_mode & 0o077 == 0, "others can read a private recording")
    result = evaluate(tasks=[Task("x", GRID, task_id=evil)], output=folder / "report", progress=False)
    expect("<img" not in result.markdown(), "a tag in the Markdown")
    page = (folder / "report" / "evaluation.html").read_text(encoding="utf-8")
    expect("<img src=x" not in page and "Content-Security-Policy" in page, "a tag in the page, or no policy")
    for table in (folder / "report").glob("*.csv"):
        cells = re.findall(r'(?:^|,)"?([=+@-][A-Z(][^,"]*)', table.read_text(encoding="utf-8"), re.M)
        expect(not cells, f"{table.name} has a formula: {cells}")
    expect(not csv_text("=1+1").startswith("="), "a formula in a cell")
    return "Markdown, page, tables, modes"


def secrets(folder: Path) -> str:
    """A key in the environment is in no file or output."""
    environment = {
        **os.environ,
        "OPENAI_API_KEY": SECRET,
        "IGLU_MARL_LLM_API_KEY": SECRET,
        "IGLU_MARL_SECRET": SECRET,
    }
    output = folder / "secrets"
    said = ""
    for words in (
        ["evaluate", "--tasks", "bundled", "--count", "1"],
        ["evaluate", "--builder", "llm:m@http://127.0.0.1:9/v1", "--tasks", "bundled", "--count", "1"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "iglu_marl", *words, "--output", str(output)],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        said += done.stdout + done.stderr
    expect(SECRET not in said, "a key is said")
    for path in output.rglob("*"):
        expect(path.is_dir() or SECRET.encode() not in path.read_bytes(), f"a key is in {path.name}")
    return f"{sum(path.is_file() for path in output.rglob('*'))} files"


def browsers(folder: Path) -> str:
    """Requests of other origins are refused; pages have a content security policy."""
    server = Server()
    scope = server._scope("http", "/")
    for headers, wanted in (([(b"host", b"evil")], False), (scope["headers"], True)):
        sent: list[dict[str, Any]] = []
        server._call(
            {**scope, "method": "GET", "headers": headers}, [{"type": "http.request", "body": b""}], sent
        )
        expect((sent[0]["status"] == 200) == wanted, f"{headers}: {sent[0]['status']}")
    headers = dict(sent[0]["headers"])
    expect(
        b"content-security-policy" in headers and headers.get(b"x-content-type-options") == b"nosniff",
        f"{headers}",
    )
    policy = headers[b"content-security-policy"].decode()
    expect("unsafe-eval" not in policy and "default-src" in policy, policy)
    socket = {**server._scope("websocket", "/ws"), "headers": [(b"host", b"h"), (b"origin", b"http://evil")]}
    answered: list[dict[str, Any]] = []
    server._call(socket, [{"type": "websocket.connect"}], answered)
    expect(answered[0]["type"] == "websocket.close", "a page from elsewhere may connect")
    for path in (
        "/replay/..%2f..%2fetc",
        "/replay/../../etc/passwd",
        "/static/../server.py",
        "/static/%2e%2e",
    ):
        sent = []
        server._call({**scope, "method": "GET", "path": path}, [{"type": "http.request", "body": b""}], sent)
        expect(sent[0]["status"] in (400, 404), f"{path}: {sent[0]['status']}")
    return "hosts, origins, policy, paths"


# ------------------------------------------------------------------------------------------------------ the source


def source(folder: Path) -> str:
    """No code execution from data (`tests/test_architecture.py`); no secret in the repository."""
    found = complaints(ROOT)
    expect(not found, "\n".join(found))
    keys = re.compile(
        rb"sk-[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{30,}|-----BEGIN [A-Z ]*PRIVATE KEY"
    )
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False
    ).stdout.split(b"\0")
    for name in filter(None, listed):
        path = ROOT / os.fsdecode(name)
        expect(not path.is_file() or not keys.search(path.read_bytes()), f"{path} holds a key")
    return f"{len(listed) - 1} files"


def drive(amount: int, seed: int) -> Figures:
    os.environ |= {"IGLU_MARL_OFFLINE": "1", "IGLU_MARL_CACHE": tempfile.mkdtemp(prefix="security-cache-")}
    figures: Figures = {}
    with tempfile.TemporaryDirectory(prefix="security-") as place:
        for part in (archives, servers, models, reports, secrets, browsers, source):
            figures[part.__name__] = part(Path(place))
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
