"""The leaderboard: every level, the figures of the files, games to watch, and nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from replay_data import page_data
from requirements import ROOT
from typer.testing import CliRunner

from iglu_marl import DataError
from iglu_marl.benchmark import levels, run
from iglu_marl.benchmark.report import write_site
from iglu_marl.cli import app

PUBLISHED = sorted((ROOT / "docs" / "learning").glob("*.json"))


def test_the_leaderboard_shows_results_and_games(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    found = run(
        "see-ground-v2", ["oracle"], name="<b>oracle</b>", episodes=3, curves=[[(0, 0.0), (100, 0.5)]], budget=100,
        supervision=["reward"], output=path, record=True,
    )  # fmt: skip
    page = write_site([path], tmp_path / "site", games=1).read_text(encoding="utf-8")
    assert all(f'<article id="{level.name}">' in page for level in levels())
    assert "&lt;b&gt;oracle&lt;/b&gt;" in page
    assert "<b>oracle</b>" not in page
    interval = found.interval()
    assert f"<td>100.0 ({100 * interval.low:.1f}–100.0)</td>" in page
    assert "<td>target, reward</td>" in page
    assert page.count("<polyline") == 1
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert (tmp_path / "site" / "mine.json").read_bytes() == path.read_bytes()
    links = re.findall(r'href="(mine\.game-\d\.html)"', page)
    assert links == ["mine.game-0.html"]
    game = page_data(tmp_path / "site" / links[0])
    assert game["moments"] == found.rows[0].steps + 1
    assert len(game["edits"]) == 1


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    paths = [tmp_path / "a.json", tmp_path / "other" / "a.json"]
    with pytest.raises(DataError, match="two of 2 result files have the same name"):
        write_site(paths, tmp_path / "site")


def test_the_command_takes_folders(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    told = CliRunner().invoke(app, ["benchmark", "site", str(tmp_path), str(tmp_path)])
    assert isinstance(told.exception, DataError)
    told = CliRunner().invoke(app, ["benchmark", "site", str(tmp_path), *map(str, PUBLISHED), "--json"])
    assert told.exit_code == 0, told.output
    assert f'"results": {len(PUBLISHED)}' in told.stdout
