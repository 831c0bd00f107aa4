"""Commands as a user types them, run in this process."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from iglu_marl.cli import app


def run(*words: object, code: int = 0) -> Any:
    """Return the result of a command, which has this exit code. Its errors are raised."""
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def run_json(*words: object, code: int = 0) -> Any:
    """Return what a command prints with --json."""
    return json.loads(run(*words, "--json", code=code).stdout)
