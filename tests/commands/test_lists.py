"""`iglu-marl tasks` and `iglu-marl agents`: what there is, by the names that other commands take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from shell import run, run_json

from iglu_marl import ConfigError, Role
from iglu_marl.agents.learned.zoo import zoo
from iglu_marl.agents.registry import known
from iglu_marl.tasks import BundledTasks


def test_every_bundled_structure_is_listed() -> None:
    found = run_json("tasks")
    assert [row["name"] for row in found] == list(BundledTasks().tasks)
    bridge = {"name": "bridge", "blocks": 11, "colours": ["yellow", "green", "red"], "height": 4}
    assert found[1] == {**bridge, "impossible": ""}
    table = run("tasks").output
    assert all(row["name"] in table for row in found)


def test_structures_are_drawn(tmp_path: Path) -> None:
    shape = {"colours": {"1": "blue"}, "structures": {"one": {"blocks": [[0, -1, 0, 1]]}}}
    file, folder = tmp_path / "mine.json", tmp_path / "new" / "pictures"
    file.write_text(json.dumps(shape), "utf-8")
    run("tasks", "--task-source", file, "--pictures", folder)
    assert {path.name for path in folder.iterdir()} == {"one.png", "all.png"}
    with Image.open(folder / "all.png") as sheet:
        assert sheet.size == (240, 270)
        assert len(set(sheet.crop((0, 240, 240, 270)).getdata())) > 2, "its name stands below"


def test_every_agent_is_listed_in_a_line() -> None:
    found = run_json("agents")
    for role in Role:
        assert [row["name"] for row in found if row["role"] == role.value] == list(known(role))
        assert run_json("agents", "--role", role.value) == [row for row in found if row["role"] == role.value]
    assert all(row["about"].endswith((".", '".')) and "\n" not in row["about"] for row in found)
    assert {row["name"] for row in found if row["card"]} == set(zoo())
    assert "single requests, exact 0.85" in run("agents").output
    with pytest.raises(ConfigError, match=r"--role is 'bilder'.*did you mean 'builder'"):
        run("agents", "--role", "bilder")
