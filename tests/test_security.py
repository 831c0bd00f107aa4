"""Hostile replies cost little time; private files and keys stay private; the repository holds no key.

Hostile archives, servers and requests have tests beside the other tests of their readers: `data/test_store.py`,
`data/test_fetch.py` and `web/test_server.py`. `ruff` and `test_architecture.py` forbid code that runs what it has read.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from requirements import ROOT

from iglu_marl import Recorder, Task, evaluate, play, raw_env
from iglu_marl.agents import agents_for
from iglu_marl.agents.llm.reading import Unreadable, read_message, read_order
from iglu_marl.language import understand

EMPTY = np.zeros((9, 11, 11), np.int8)
KEY = "sk-3141592653589793"
MOST_S = 3.0  # of processor time
HOSTILE = [
    *("{" * 20_000, "[" * 20_000, '{"a":' * 10_000, "```" * 10_000, "<think>" * 8_000, "(" * 30_000),
    *("²" * 1000, "place red " * 5_000, "\ud800" * 1000, " " * 50_000 + "x", "\n```json" * 8_000),
    *("<|channel|>final<|message|>" * 3_000, "analysis" * 5_000 + "assistantfinal"),
    '{"say": "' + "\\" * 20_000,
    '{"edits": [' + '{"action": "place"},' * 3_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:8]))
def test_hostile_replies_are_read_in_time(text: str) -> None:
    for read in (
        lambda: read_order(text, EMPTY, 30),
        lambda: read_message(text),
        lambda: understand(text[:500], EMPTY),
    ):
        begun = time.process_time()
        with suppress(Unreadable):
            read()
        assert time.process_time() - begun < MOST_S


def test_others_cannot_read_a_private_recording(tmp_path: Path) -> None:
    env = raw_env(
        tasks=Task("", [(0, -1, -2, 6)]),
        builder_sees=("dialog", "inventory", "pose", "grid"),
        builder_can_ask=True,
    )
    before = os.umask(0)
    try:
        with Recorder(tmp_path / "private.jsonl", private=True) as recorder:
            play(env, agents_for(env), seed=0, on_step=recorder)
    finally:
        os.umask(before)
    assert not (tmp_path / "private.jsonl").stat().st_mode & 0o077


def test_a_key_is_in_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("OPENAI_API_KEY", "IGLU_MARL_LLM_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("IGLU_MARL_LLM_RETRIES", "0")
    task = Task("", [(0, -1, -2, 6)], task_id="one")
    for builder in ("scripted", "llm:m@http://127.0.0.1:9/v1"):
        evaluate("scripted", builder, tasks=[task], output=tmp_path / builder[:3], progress=False)
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not any(KEY.encode() in content for content in written)
    assert KEY not in "".join(capfd.readouterr())


def test_no_key_is_in_the_repository() -> None:
    keys = re.compile(
        rb"sk-[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{30,}|-----BEGIN [A-Z ]*PRIVATE KEY"
    )
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    files = [ROOT / os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    if not files:
        pytest.skip("no checkout of git")
    assert not [path for path in files if path.is_file() and keys.search(path.read_bytes())]
