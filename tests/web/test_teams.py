"""Games of a team in the browser: three people and an agent, and what each of them is sent."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx2")

from browser import browser
from starlette.testclient import TestClient
from test_pages import entered, keep, say
from test_pages import serving as serving_pages
from test_server import ORIGIN, PLACE_RED, Player, in_loop, joined, only_room, serving
from test_study import STUDY

from iglu_marl import ConfigError, Role, Task, replay
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.recording import read_recording
from iglu_marl.web import ServerOptions, create_app
from iglu_marl.web.rooms import Partner, Thinking, check_agents, game_for
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.store import Store
from iglu_marl.web.study import read_study

TEAM = {
    "architects": 2,
    "builders": 2,
    "sees": {"architect_0": "half:west", "architect_1": ("half:east", "side:east")},
}
PARTS = Task("", blocks_to_grid([(-1, -1, -1, 6), (3, -1, -1, 1)]), invariant=False, task_id="parts")


@pytest.mark.slow
@pytest.mark.system
def test_three_people_and_an_agent(tmp_path: Path) -> None:
    """Two architects who each see a part, and a builder, on three screens; the second builder is an agent."""
    for name in ("west", "east", "builder"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        address = stack.enter_context(
            serving_pages(folder=tmp_path / "games", team=TEAM, tasks={"parts": PARTS})
        )
        west, east, builder = (
            stack.enter_context(browser(tmp_path / name, size=(1280, 800)))
            for name in ("west", "east", "builder")
        )
        west.open(f"{address}/")
        west.wait("return document.body.dataset.ready === 'yes'")
        assert (
            len(west.run("return [...document.querySelectorAll('.seat b')].map((one) => one.textContent)"))
            == 4
        )
        for seat in ("architect_1", "builder_0"):
            west.run(f"document.querySelector('select[name={seat}]').value = 'person'")
        keep(west, "team-lobby")
        west.run("document.getElementById('start').click()")
        entered(west)
        west.wait("return document.querySelectorAll('#veillinks input').length === 2")
        keep(west, "team-waiting")
        links = west.run("return [...document.querySelectorAll('#veillinks input')].map((one) => one.value)")
        for page, link in ((east, links[0]), (builder, links[1])):
            page.open(link)
            entered(page)
        for page in (west, east, builder):
            page.wait("return play.state.status.state === 'playing'")
            page.run("document.getElementById('skip').click()")
        assert [page.run("return play.state.facts.speaker") for page in (west, east, builder)] == [
            "architect 0", "architect 1", "builder 0",
        ]  # fmt: skip
        say(west, "Only the west is mine.")
        for page in (east, builder):
            page.wait("return document.getElementById('lines').textContent.includes('Architect 0Only')")
        for page, name in ((west, "west"), (east, "east"), (builder, "builder")):
            keep(page, f"team-{name}")
            page.emulate(844, 390)
            time.sleep(0.3)
            keep(page, f"team-{name}-side")
            page.emulate(1280, 800)
        builder.run("play.hands.turn(0, -45); play.hands.choose(6)")
        builder.wait("return play.world.body.pitch === -45")
        builder.run("play.hands.place()")
        west.wait("return play.world.grid.some((cell) => cell === 6)")
        say(east, "Place a blue block 3 blocks east and 1 block north of the centre, on the ground.")
        builder.wait("return play.state.status.how === 'complete'", 30)
        keep(west, "team-over")
        for page in (west, east, builder):
            assert page.messages() == []
    (path,) = (tmp_path / "games").glob("*.jsonl")
    agents = read_recording(path)[0].header["agents"]
    assert agents == {
        "architect_0": "person",
        "architect_1": "person",
        "builder_0": "person",
        "builder_1": "scripted",
    }
    assert replay(path).completed
