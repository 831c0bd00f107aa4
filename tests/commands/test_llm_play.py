"""`iglu-marl play --partner llm`: a person at the window, and a server on this machine as the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygame")

import test_play
from llm_server import LLMServer, Misbehaviour, llm_server
from people import PlayedWindow, press
from test_play import Person, check_recording

file, play = test_play.file, test_play.play  # fixtures


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    """A model that takes its time, named by the environment; windows without a screen."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with llm_server() as running:
        running.always = Misbehaviour(stall_s=0.1)
        for name, value in {"MODEL": "m", "ENDPOINT": running.url, "CACHE": "off"}.items():
            monkeypatch.setenv(f"IGLU_MARL_LLM_{name}", value)
        yield running


def test_a_person_builds_what_a_model_asks_for(
    server: LLMServer,
    file: Path,
    tmp_path: Path,
    play: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    waited = 0

    def story(me: Person, window: PlayedWindow) -> Iterator[None]:
        nonlocal waited
        while not me.said:
            waited += 1
            yield
        assert me.said == ["Place a yellow block on the ground, 2 blocks north of the centre."]
        yield from me.put(2, 0.0, -1.5, -2.0)
        yield
        press("return", "\r")
        yield

    structures = json.loads(file.read_text())
    structures["colours"]["2"] = "yellow"
    file.write_text(json.dumps(structures))
    options = {"partner": "llm", "tasks": str(file), "task": "one", "seed": 3, "as_json": True}
    person, done = play(options, story)
    assert done
    assert waited > 3, "the window was looked at while the model thought"
    recording = check_recording(tmp_path, person, True)
    assert recording.header["agents"] == {"architect": "LLMArchitect", "builder": "WindowBuilder"}
    (facts,) = json.loads(capsys.readouterr().out)
    assert facts["completed"]
