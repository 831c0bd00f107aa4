"""Commands that play games of a team: demo, evaluate, record."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import run, run_json

from iglu_marl import replay
from iglu_marl.recording.reading import read_recording

# options, agents, and whether scripted agents can complete the first task
TEAMS: dict[str, tuple[tuple[str, ...], bool]] = {
    "--team craft": (("architect_0", "architect_1", "architect_2", "builder_0"), False),
    "--team division --controls flying": (("architect_0", "builder_0", "builder_1"), True),
    "--team assistant --controls flying": (("builder_0", "builder_1"), True),
    "--team division --builders 3 --controls flying": (
        ("architect_0", "builder_0", "builder_1", "builder_2"),
        True,
    ),
    "--architects 2 --builders 2 --controls flying": (
        ("architect_0", "architect_1", "builder_0", "builder_1"),
        True,
    ),
}
CRAFT = {"controls": "flying", "turn_steps": 100, "max_turns": 20, "max_steps": 2000}


@pytest.mark.parametrize("options", TEAMS)
def test_a_team_is_recorded(options: str, tmp_path: Path) -> None:
    agents, completed = TEAMS[options]
    path = tmp_path / "team.jsonl"
    (facts,) = run_json("record", path, *options.split(), code=not completed)["games"]
    header = read_recording(path)[0].header
    assert header["agents"] == dict.fromkeys(agents, "scripted")
    assert facts["completed"] == completed
    again = replay(path)
    assert set(again.returns) == set(agents)
    assert (again.intersection, again.builder_steps) == (facts["intersection"], facts["steps"])
    if "craft" in options:
        assert header["config"].items() >= CRAFT.items()
        assert 21 <= facts["target_blocks"] <= 25


@pytest.mark.parametrize("options", ["--team craft", "--architects 2 --builders 2 --controls flying"])
def test_a_team_is_shown(options: str, tmp_path: Path) -> None:
    _, completed = TEAMS[options]
    facts = run_json("demo", *options.split(), "-o", tmp_path, code=not completed)
    assert facts["completed"] == completed
    assert {"demo.png", "dialogue.txt", "replay.html"} <= {file.name for file in tmp_path.iterdir()}
    lines = (tmp_path / "dialogue.txt").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("<Architect 0>") for line in lines)


@pytest.mark.parametrize("options", ["--team craft", "--team assistant --controls flying"])
def test_a_team_is_evaluated(options: str, tmp_path: Path) -> None:
    _, completed = TEAMS[options]
    found = run_json("evaluate", *options.split(), "--count", 1, "-o", tmp_path)
    (pair,) = (pair for pair in found["pairs"] if pair["architect"] != "–")  # no baseline
    assert pair["completed"][0] == completed
    assert "silences" not in found
    if "craft" in options:
        assert found["settings"]["config"].items() >= CRAFT.items()


def test_options_replace_those_of_the_team(tmp_path: Path) -> None:
    path = tmp_path / "team.jsonl"
    craft = "--team craft --architects 2 --max-steps 9 --controls walking --task bridge --api parallel"
    (facts,) = run_json("record", path, *craft.split(), code=1)["games"]
    config = read_recording(path)[0].header["config"]
    assert (config["architects"], config["max_steps"], config["controls"]) == (2, 9, "walking")
    assert (facts["task"], facts["steps"]) == ("bridge", 9)


def test_an_error_of_an_agent_ends_an_evaluation_unless_it_keeps_going(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text(
        "from iglu_marl.agents import ScriptedBuilder\n\n\n"
        "class Broken(ScriptedBuilder):\n"
        "    def act(self, observation):\n"
        "        raise RuntimeError('on purpose')\n"
    )
    words = ["evaluate", "--builder", "broken.py:Broken", "--controls", "flying", "--count", "1", "-o"]
    with pytest.raises(Exception, match="on purpose"):
        run(*words, "out")
    kept = run(*words, "kept", "--keep-going", code=1)  # games failed, but all were played
    assert "1 game ended with an error" in kept.output
