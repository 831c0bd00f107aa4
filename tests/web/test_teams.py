"""Games of a team in the browser: three people and an agent, what each of them is sent, and a killed server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient
from test_pages import entered, keep, say, serving
from test_server import ORIGIN, Player, in_loop, joined, only_room
from typer.testing import CliRunner

from browser import browser
from iglu_marl import ConfigError, Task, replay
from iglu_marl.cli import app
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.recording import read_recording
from iglu_marl.web import ServerOptions, create_app
