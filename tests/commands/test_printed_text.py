"""What commands print of a file's names and texts: one line each, no markup, no control characters."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from recorded_lines import chained
from requirements import require

from iglu_marl import cli
from iglu_marl.benchmark import find
from iglu_marl.benchmark.results import EpisodeRow, Result, Run
from iglu_marl.commands import play as play_command
from iglu_marl.commands import study
from iglu_marl.data import bundled

HOSTILE = "\x1b[31m[/x][bold]\u202e:red_heart:\x9b2J\r\nError: forged\x07"
KEPT = "[31m[/x][bold]:red_heart:2J Error: forged"
FILE_NAME = HOSTILE.replace("/", "\N{DIVISION SLASH}")
BLOCKS = [[0, 0, 0, 1], [1, 0, 0, 1]]


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    structures = {HOSTILE: {"name": HOSTILE, "blocks": BLOCKS}, "plain": {"name": HOSTILE, "blocks": BLOCKS}}
    content = {"colours": {"1": "blue"}, "ground_y": 0, "structures": structures}
    Path("structures.json").write_text(json.dumps(content))

    def run(*words: Any, kept: str = KEPT) -> str:
        monkeypatch.setattr(sys, "argv", ["iglu-marl", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code in (0, 1, 2)
        return checked(capsys, kept)

    return run


def checked(capsys: pytest.CaptureFixture[str], kept: str = KEPT) -> str:
    """All that was printed, once it is seen to be harmless, and to have the text."""
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert all(character.isprintable() for character in shown.replace("\n", "")), repr(shown)
    assert not any(line.startswith("Error: forged") for line in shown.splitlines()), shown
    assert kept in " ".join(shown.split()), shown
    return shown


def test_structures(shell: Callable[..., str]) -> None:
    shell("tasks", "--task-source", "structures.json")
    shell("tasks", "--task-source", "structures.json", "--pictures", FILE_NAME, kept="[bold]")
    unknown = shell("demo", "--task-source", "structures.json", "--task", "[/y]")
    assert "--task is '[/y]', expected one of" in unknown
    shell("show", "plain", "--task-source", "structures.json", "-o", f"{FILE_NAME}.png", kept="[bold]")


def test_games_and_recordings(shell: Callable[..., str]) -> None:
    shell("demo", "--task-source", "structures.json", "--task", HOSTILE, "-o", FILE_NAME)
    shell("record", "game.jsonl", "--task-source", "structures.json", "--builder", "oracle")
    file = Path("game.jsonl")
    written = (
        file.read_text().replace('"scripted"', json.dumps(HOSTILE)).replace('"oracle"', json.dumps(HOSTILE))
    )
    text = chained([json.loads(line) for line in written.splitlines()]).decode()
    file.write_text(text)
    Path(FILE_NAME).joinpath("copy.jsonl").write_text(text)
    shell("replay", file, Path(FILE_NAME) / "copy.jsonl")
    shell("show", file, "-o", f"{FILE_NAME}.html", kept="[bold]")
    file.write_text(text.replace('"task"', json.dumps(HOSTILE)))
    shell("replay", file, kept="Error:")
    shell("record", "--repair", file, kept="")


def test_packs(shell: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    pack = Path(FILE_NAME) / "builder-data" / FILE_NAME
    pack.mkdir(parents=True)
    (pack / "step-2").write_bytes(bundled.files().joinpath("builder-data", "1-bridge", "step-2").read_bytes())
    (pack / FILE_NAME).symlink_to("nothing")
    monkeypatch.setenv("IGLU_DATA_PATH", FILE_NAME)
    for words in ("list", "info", "verify"):
        own = [] if words == "list" else ["iglu-multiturn"]
        shell("data", words, *own, kept="" if words == "list" else "[bold]")
    shell("data", "verify", "iglu-singleturn", "--data", FILE_NAME, kept="[bold]")
    shell("show", f"{FILE_NAME}/step-2", "--data", FILE_NAME, "-o", "film.html", kept="[bold]")
    shell("show", f"{FILE_NAME}/step-3", "--data", FILE_NAME, "-o", "film.html", kept="[bold]")
    shell("questions", "--data", FILE_NAME, kept="[bold]")
    shell("data", "export", "iglu-multiturn", "-o", f"{FILE_NAME}.jsonl", kept="")


def test_results(shell: Callable[..., str]) -> None:
    level, rows = find("see-ground-v2"), (EpisodeRow(0, "0" * 12, "", 0, True, True, 1.0, 1, 3),)
    runs = (Run(0),)
    result = Result(level.name, level.digest, HOSTILE, "test", "0" * 12, 0, runs, rows=rows)
    result.write(Path("result.json"))
    shell("benchmark", "report", "result.json", kept="Error: forged")


def test_what_a_person_played_and_a_study(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    require("web", importlib.util.find_spec("sqlalchemy"), "sqlalchemy is not installed (the extra `web`)")
    play_command.print_games(
        [{"task": HOSTILE, "completed": False, "right": 1, "blocks": 1, "recording": HOSTILE}]
    )
    checked(capsys)
    rows = [{"condition": HOSTILE, "stage": HOSTILE, "participants": 1}]
    store = SimpleNamespace(do=lambda *_: rows, close=lambda: None)
    monkeypatch.setattr(study, "open_study", lambda *_: (SimpleNamespace(name="s"), store))
    study.status(Path("study.toml"))
    checked(capsys)


def test_commands_print_text_in_one_way(root: Path) -> None:
    """Text goes through `text_console`; `print` is for JSON, for tables, and for lines without a value of a file."""
    for path in (root / "iglu_marl" / "commands").glob("*.py"):
        own = path.name in ("output.py", "serve.py", "serve_openenv.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and not own:
                name, given = ast.unparse(node.func), ast.unparse(node)
                assert name not in ("Console", "escape", "typer.echo"), f"{path.name}:{node.lineno}"
                assert name != "print" or "json" in given or "tables_as" in given, (
                    f"{path.name}:{node.lineno}"
                )
