"""The command as a whole: how it is called, and what it says about itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from iglu_marl import __version__
from iglu_marl.cli import app


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command and group."""
    yield words
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*words, name))


@pytest.mark.parametrize("words", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_every_command_explains_itself(words: tuple[str, ...]) -> None:
    told = [CliRunner().invoke(app, [*words, option]) for option in ("-h", "--help")]
    assert [done.exit_code for done in told] == [0, 0], told[0].output
    assert told[0].output == told[1].output
    assert "Usage: " in told[0].output


@pytest.mark.parametrize(
    ("words", "said"), [(["-h"], "Usage: "), (["--version"], f"iglu-marl {__version__}")]
)
def test_the_package_can_be_run(words: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "iglu_marl", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
