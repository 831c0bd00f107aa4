"""The benchmark of language models: its levels, its games against a server, its rows and tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llm_server import LLMServer, Misbehaviour, architect_says, llm_server, obedient
from requirements import shared_folder

from iglu_marl.benchmark import find, levels, read_result, reference_results, run_models
from iglu_marl.benchmark.catalog import MODEL_LEVELS
from iglu_marl.benchmark.models import EPISODES
from iglu_marl.benchmark.report import markdown, model_table
from iglu_marl.benchmark.results import digest_of
from iglu_marl.benchmark.splits import some_of
from iglu_marl.cli import main
from iglu_marl.core.errors import ConfigError
from iglu_marl.language import Failure, parse
from iglu_marl.language.verbs import expand

NAMES = [level.name for level in MODEL_LEVELS]
HUMAN = "models-human-v0"


def setting(monkeypatch: pytest.MonkeyPatch, server: LLMServer, **more: str) -> None:
    given = {"MODEL": "m", "ENDPOINT": server.url, "CACHE": "off", "RETRIES": "0", "CONCURRENCY": "4", **more}
    for name, value in given.items():
        monkeypatch.setenv(f"IGLU_MARL_LLM_{name}", value)


def test_the_levels_are_fixed_and_are_no_levels_of_learning() -> None:
    assert len(NAMES) == 7
    assert not set(NAMES) & {level.name for level in levels()}
    for level in MODEL_LEVELS:
        assert find(level.name) is level
        if level.name == HUMAN:
            continue
        tasks = some_of(level.tasks("test"), 5)
        assert digest_of(tasks) == digest_of(some_of(level.tasks("test"), 5))
        assert not any(task.is_invariant for task in tasks) or level.architects.get("test") != ("replay",)


def test_relative_places_mean_what_the_grammar_reads() -> None:
    source = find("models-relative-v0").tasks("test")
    rng, seen = np.random.default_rng(0), set()
    for _ in range(60):
        task = source.sample(rng)
        read = parse(task.instruction)
        assert read is not None
        assert not isinstance(read, Failure)
        edits = expand(read, task.start_grid)
        assert not isinstance(edits, Failure), task.instruction
        (edit,) = edits
        built = task.start_grid.copy()
        x, y, z = edit.cell
        built[y + 1, x + 5, z + 5] = edit.color
        assert (built == task.target_grid).all(), task.instruction
        seen.add(task.instruction.split(" block ")[1].split(" the ")[0])
    assert len(seen) == 5


@pytest.mark.slow
def test_a_model_gets_a_row_with_what_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game that the server spoils is no result, and is played when the benchmark is started again."""
    told: list[str] = []
    wanted = ["models-absolute-v0", "models-structures-v0", "models-vision-v0"]
    with llm_server() as server:
        setting(monkeypatch, server)
        server.plan = [Misbehaviour(500), Misbehaviour(text="Hm.")]
        found = run_models("llm", wanted, name="obedient", episodes=2, output=tmp_path, progress=told.append)
        assert [result.level for result in found] == wanted[:2]
        assert told[2].startswith("models-vision-v0: skipped, the model reads no pictures")
        took = found[0].models
        assert (took["games"], took["failed"]) == (1, 1)
        assert took["failures"] == {"server error": 1, "unreadable": 1}
        table = model_table(found)
        assert "1 server error, 1 unreadable" in table
        again = run_models("llm", wanted[:1], name="obedient", episodes=2, output=tmp_path)
        took = again[0].models
        assert (took["games"], took["failed"]) == (2, 0)
        assert took["prompt_tokens"] > 0
        assert took["settings"]["model"] == "m"
        assert again[0].runs[0].scores["success"] == found[1].runs[0].scores["success"] == 1
    kept = read_result(tmp_path / "models-absolute-v0.json")
    assert kept == again[0]
    assert kept.is_current
    assert "| `models-absolute-v0` | obedient | 2 | 100.0 " in markdown([kept])


@pytest.mark.slow
def test_an_architect_sees_pictures_and_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(messages: list[dict[str, Any]]) -> str:
        assert [part["type"] for part in messages[1]["content"]].count("image_url")
        assert architect_says(messages[1]["content"][0]["text"]) == "WAIT", "nothing is told of the target"
        return "WAIT"

    with llm_server(answer) as server:
        setting(monkeypatch, server, PICTURES="true", ATTEMPTS="1")
        (result,) = run_models(f"llm:m@{server.url}", ["models-vision-v0"], episodes=1, output=tmp_path)
    assert result.models["settings"]["view"] == "picture"
    assert result.models["requests"] > 0
    assert result.runs[0].scores["success"] == 0
    assert 0 == result.models["interval"][0] < result.models["interval"][1] < 1  # of one game, Wilson's
    assert read_result(tmp_path / "models-vision-v0.json") == result


@pytest.mark.slow
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(
            sys, "argv", ["iglu-marl", "llm", "benchmark", *words, "-o", str(tmp_path / "out")]
        )
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), capsys.readouterr().out

    with llm_server(obedient) as server:
        setting(monkeypatch, server)
        line = ("llm", "--level", "models-absolute-v0", "--episodes", "1")
        server.always = Misbehaviour(503)
        assert run(*line)[0] == 1
        server.always = Misbehaviour()
        code, said = run(*line)
        assert code == 0
        assert "| `models-absolute-v0` | llm | 1 | 100.0" in said
        assert "| `models-absolute-v0` | random | 20 |" in said, "beside it those that come along"
        code, said = run(*line, "--json")
        assert [part["rung"] for part in json.loads(said)] == ["models-absolute-v0"]


def test_other_levels_are_none_of_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="see-place-v0"):
        run_models("scripted", ["see-place-v0"], output=tmp_path)


def test_rows_that_come_along_are_of_the_levels_as_they_are() -> None:
    found = reference_results()
    assert {result.name for result in found} == {"random", "scripted", "oracle"}
    assert {result.level for result in found} == set(NAMES)
    for result in found:
        assert result.is_current, result.level
        assert result.models["games"] == result.episodes == EPISODES
        if result.level != HUMAN:
            assert result.tasks == digest_of(some_of(find(result.level).tasks("test"), EPISODES)), (
                result.level
            )
    best = {result.level: result.runs[0].scores["success"] for result in found if result.name == "scripted"}
    assert min(share for level, share in best.items() if level != HUMAN) >= 0.9


@pytest.mark.slow
def test_what_people_asked_for_is_played_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(shared_folder() / "data"))
    (result,) = run_models("oracle", [HUMAN], episodes=1, output=tmp_path)
    assert result.runs[0].scores["success"] == 1
