"""The competition's labels of the structures, and their download."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from pathlib import Path

import pytest
from file_server import file_server
from requirements import shared_folder

from iglu_marl.core.errors import DataError
from iglu_marl.data.packs import registry
from iglu_marl.data.packs.fetch import WrongDataError, fetch_pack
from iglu_marl.data.skills import SKILLS, competition_skills, skills_file

LINES = (
    b"C1: [flying, tall, colors: 4]\nC8: [colors: 2]\nC144: [flying, tall, diagonal , tricky, colors: 3]\n"
)
LABELS = {"C1": ("flying", "tall"), "C8": (), "C144": ("flying", "diagonal", "tricky", "tall")}


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)


def test_the_file_is_fetched_once_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with file_server() as server:
        server.serve("/skills.yaml", LINES)
        facts = {
            "size": len(LINES),
            "sha256": hashlib.sha256(LINES).hexdigest(),
            "url": server.url("/skills.yaml"),
        }
        monkeypatch.setattr(registry, "SKILLS_FILE", dataclasses.replace(registry.SKILLS_FILE, **facts))
        assert competition_skills() is skills_file() is None
        path = fetch_pack("skills", progress=False)
        assert path == skills_file() == tmp_path / "cache" / "packs" / "skills.yaml"
        assert competition_skills() == LABELS
        server.serve("/skills.yaml", LINES.replace(b"C8", b"C9"))
        with pytest.raises(WrongDataError, match="sha256"):
            fetch_pack("skills", force=True, progress=False)
    assert competition_skills() == LABELS


def test_a_path_is_a_file_or_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "gridworld"
    (checkout / "skills").mkdir(parents=True)
    file = checkout / "skills" / "skills.yaml"
    file.write_bytes(LINES)
    for place in (file, checkout, tmp_path):
        assert competition_skills(place) == LABELS
        monkeypatch.setenv("IGLU_DATA_PATH", str(place))
        assert competition_skills() == LABELS
    with pytest.raises(DataError, match=r"has no skills\.yaml"):
        competition_skills(tmp_path / "cache")


@pytest.mark.parametrize("line", ["C1: [round]", "C1 flat", "C0: [flat]", ""])
def test_other_files_are_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "skills.yaml").write_text(f"{line}\n")
    with pytest.raises(DataError, match="expected"):
        competition_skills(tmp_path)


def test_the_published_labels() -> None:
    path = shared_folder() / "data" / "iglu-skills.yaml"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == registry.SKILLS_FILE.sha256
    labels = competition_skills(path) or {}
    assert list(labels) == [f"C{number}" for number in range(1, 158)]
    counts = Counter(skill for found in labels.values() for skill in found)
    assert [counts[skill] for skill in SKILLS] == [32, 124, 36, 42, 115]
