"""The command line as a whole: its help, its options, what is imported when. Single commands have their own files."""

from __future__ import annotations

import ast
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from requirements import ROOT
from typer.testing import CliRunner

from iglu_marl import ConfigError, IgluMarlError, __version__
from iglu_marl.cli import PANELS, app, main

HEAVY = (
    "numba",
    "pandas",
    "pygame",
    "requests",
    "scipy",
    "torch",
    "transformers",
    "moderngl",
    "imageio",
    "PIL",
)


def commands(group: Any = None, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands with the words that lead to them."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command


def helps() -> Iterator[str]:
    """The help texts of options and arguments, as they stand in the code."""
    for path in [ROOT / "iglu_marl" / "cli.py", *(ROOT / "iglu_marl" / "commands").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "help" and isinstance(node.value, ast.Constant):
                yield node.value.value


def test_every_command_and_option_has_a_help_text() -> None:
    found = dict(commands())
    assert len(found) >= 20
    for words, command in found.items():
        shown, short = (
            CliRunner().invoke(app, [*words, key], env={"COLUMNS": "300"}) for key in ("--help", "-h")
        )
        assert (shown.exit_code, shown.output) == (0, short.output), words
        assert "Usage: " in shown.output
        assert "<bool>" not in shown.output  # switches take no value
        assert command.help, words
        for param in command.params:
            assert getattr(param, "help", None), (words, param.name)
            assert param.opts[0] in shown.output or param.param_type_name == "argument", (words, param.name)


def test_a_shared_option_is_written_once() -> None:
    counts = Counter(helps())
    assert len(counts) > 80
    assert [text for text, count in counts.items() if count > 1] == []


def test_commands_that_take_agents_take_language_models() -> None:
    found = {
        words: {name for param in command.params for name in param.opts} for words, command in commands()
    }
    takers = {
        words for words, options in found.items() if {"--architect", "--builder", "--partner"} & options
    } - {("llm", "benchmark")}  # models of Inspect AI
    assert len(takers) >= 8
    for words in takers:
        assert {"--llm-model", "--llm-endpoint", "--llm-view"} <= found[words], words


def test_help_imports_nothing_heavy() -> None:
    """Help is shown at once; what a command needs is imported when it runs."""
    code = (
        "import sys; from typer.testing import CliRunner; from iglu_marl.cli import app\n"
        "for words in ([], ['play'], ['show'], ['demo'], ['data', 'browse']):\n"
        "    assert CliRunner().invoke(app, [*words, '--help']).exit_code == 0\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("evaluate --controls swimming", "--controls is 'swimming', expected one of walking, flying, human-level"),
        ("evaluate --concurrency 0", "--concurrency is 0, expected an integer of 1 or more"),
        ("evaluate --sees walls", "--sees is 'walls', expected one of pov, inventory"),
        ("evaluate --task-source nowhere.py:Tasks", "--task-source is 'nowhere.py:Tasks', which cannot be imported"),
        ("record a.jsonl --seed -1", "--seed is -1, expected an integer of 0 or more"),
        ("show kite -o a.png --width 20", "--width is 20, expected 128..4096 pixels"),
        ("demo --task ligthhouse", "--task is 'ligthhouse' (did you mean 'lighthouse'?)"),
        ("evaluate --builder scriptd", "builder 'scriptd' is unknown (did you mean 'scripted'?)"),
        ("benchmark run see-ground", "level is 'see-ground' (did you mean 'see-ground-v2'?)"),
        ("benchmark list picturs", "NAMES is 'picturs' (did you mean 'pictures'?)"),
        ("data info iglu-multiturns", "no pack 'iglu-multiturns' (did you mean 'iglu-multiturn'?)"),
        ("demo --team chess", "--team is 'chess', expected one of craft, division, assistant, relay"),
        ("record x.jsonl --builders 99", "--builders is 99, expected an integer in 1..16"),
        ("evaluate --team division --builders 7 -o x", "--builders is 7, expected an integer in 1..6"),
        ("benchmark run symbols-two-v2 --architect a --architect b", "--architect is"),
        ("data export bundled --format tea -o x", "--format is 'tea', expected one of tasks, layout, parquet, minari"),
        ("data export bundled --format minari -o x", "needs recorded actions"),
        ("play --browser --window --partner ghost", "--partner is 'ghost', expected one of"),
        ("play --browser --window --role architect", "--window is True, expected --role builder"),
        ("play --browser --controls walking", "--controls is 'walking', expected human-level"),
        ("play --browser --window --port 8000", "--port is 8000, expected none"),
        pytest.param(
            "play --browser --team craft --seat builder_7",
            "--seat is 'builder_7'",
            marks=pytest.mark.skipif(find_spec("starlette") is None, reason="the extra 'web' is not installed"),
        ),
    ],
)  # fmt: skip
def test_wrong_values_are_named_as_they_are_typed(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IgluMarlError) as caught:
        CliRunner().invoke(app, words.split(), catch_exceptions=False)
    assert said in str(caught.value)
    assert not list(tmp_path.iterdir())


def written_options() -> Iterator[tuple[str, str]]:
    """Every command with an option or argument for a file or folder to write."""
    names = {"--output", "--pictures", "--upstream"}
    arguments = {"folder": "benchmark site {}", "output": "record {}"}
    for words, command in commands():
        for param in command.params:
            if "PATH" not in str(param.type_descriptor.annotation).upper():
                continue
            if param.param_type_name == "argument" and param.name in arguments:
                yield arguments[param.name], param.name
            elif names & set(param.opts):
                needed = [one.name for one in command.params if one.required and one is not param]
                (option,) = names & set(param.opts)
                yield " ".join([*words, option, "{}", *("x" for _ in needed)]), option


@pytest.mark.parametrize("words", [words for words, _ in written_options()])
@pytest.mark.parametrize("place", ["/proc/nothing", "file/below"])
def test_an_output_that_cannot_be_written_is_refused_first(
    words: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is played or read: nothing else of these commands is right, and that is noticed later."""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    suffix = ".mp4" if words.startswith("show") else ""
    with pytest.raises(ConfigError, match=rf"{place}{suffix}'? cannot be (written|used as a path): "):
        CliRunner().invoke(app, words.format(place + suffix).split(), catch_exceptions=False)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "words",
    [words for words, command in commands() if any(param.required for param in command.params)],
    ids=" ".join,
)
def test_what_is_missing_is_named(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 2
    assert re.search("Missing (argument|option)", done.output)


def test_an_argument_may_follow_a_switch() -> None:
    done = CliRunner().invoke(app, ["benchmark", "list", "--json", "see-ground-v2"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "see-ground-v2" in done.output


def test_the_numbers_of_commands() -> None:
    leaves = [words for words, _ in commands()]
    hint = "make it an option of another command, put it into a group, or raise the limit and say why"
    assert len(leaves) <= 36, hint
    assert len({words[0] for words in leaves}) <= 18, hint


@pytest.mark.parametrize(("words", "command"), list(commands()), ids=lambda value: str(value)[:40])
def test_every_command_has_an_example_and_a_page(words: tuple[str, ...], command: Any) -> None:
    examples = [line.strip() for line in command.epilog.splitlines() if "iglu-marl" in line]
    assert examples
    page = Path(__file__).parents[2] / command.epilog.split("Page: ")[1]
    assert f"iglu-marl {words[0]}" in page.read_text(encoding="utf-8")
    for example in examples:
        assert example.split()[1 : len(words) + 1] == list(words)
        names = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        assert {word for word in example.split() if word.startswith("-")} <= names, example


def test_the_first_panel_has_eight_commands() -> None:
    assert len(next(iter(PANELS.values()))) == 8, "further commands go into the other panels"


def test_every_command_is_in_a_panel() -> None:
    shown = CliRunner().invoke(app, ["-h"], env={"COLUMNS": "80"}).output
    assert [panel for panel in PANELS if f"─ {panel} ─" in shown] == list(PANELS)
    assert "─ Commands ─" not in shown
    named = {name for names in PANELS.values() for name in names}
    assert {words[0] for words in dict(commands())} == named


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "evaluate --controls flying --count 1 --seed 1 -o .",
            "seed was 0, is 1; choose another folder (--output …)",
        ),
        ("data browse bundled -o .", ". is not empty; choose another folder"),
        (
            "evaluate --architect llm -o new",
            "expected --llm-model … (and --llm-endpoint …, unless it is a local model)",
        ),
    ],
)
def test_errors_name_options_not_arguments(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "-o ." in words:
        CliRunner().invoke(app, ["evaluate", "--controls", "flying", "--count", "1", "-o", "."])
    with pytest.raises(IgluMarlError) as caught:
        CliRunner().invoke(app, words.split(), catch_exceptions=False)
    assert said in str(caught.value)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("words", "function", "said"),
    [
        ("evaluate -o new", "iglu_marl.evaluation.evaluate", "Finished games are in new"),
        ("record new.jsonl", "iglu_marl.recording.rollout.play", "0 complete games are in new.jsonl"),
        ("benchmark run told-place-v0", "iglu_marl.benchmark.run", "No result is written"),
    ],
)
def test_a_stopped_command_says_what_is_kept(
    words: str,
    function: str,
    said: str,
    number: signal.Signals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background

    def stopped(*_: Any, **__: Any) -> None:
        signal.raise_signal(number)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(function, stopped)
    monkeypatch.setattr(sys, "argv", ["iglu-marl", *words.split()])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 128 + number
    output = capsys.readouterr().err
    assert "Stopped. " in output
    assert said in output
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("words", "said"), [(["-h"], "Usage: "), (["--version"], f"iglu-marl {__version__}")]
)
def test_the_package_can_be_run(words: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "iglu_marl", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        "evaluate --controls flying --count 1 --max-steps 5 --seed",
        "predict --corpus bundled --split train --builder nothing --count",
    ],
)
def test_each_run_has_a_folder_of_its_own(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run with other options does not stumble over the first one's, not even within a second."""
    monkeypatch.chdir(tmp_path)
    for value in ("1", "2"):
        done = CliRunner().invoke(app, [*words.split(), value], catch_exceptions=False)
        assert done.exit_code == 0
        (folder,) = tmp_path.iterdir()
        assert len(list(folder.iterdir())) == int(value)
        assert str(
            sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[-1].name
        ) in done.output.replace("\n", "")
