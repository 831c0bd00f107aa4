"""Games of a team in the browser: three people and an agent, who is sent what, and who comes back."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx2")
pytest.importorskip("uvicorn")

from starlette.testclient import TestClient
from test_server import ORIGIN, PLACE_RED, Player, joined, serving
from test_study import STUDY
from typer.testing import CliRunner

from iglu_marl import ConfigError, Task
from iglu_marl.cli import app
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.web import ServerOptions, create_app
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.store import Store
from iglu_marl.web.study import read_study

TEAM = {
    "architects": 2,
    "builders": 2,
    "sees": {"architect_0": "half:west", "architect_1": ("half:east", "side:east")},
}
PARTS = Task("", blocks_to_grid([(-1, -1, -1, 6), (3, -1, -1, 1)]), invariant=False, task_id="parts")


def task_with(*blocks: tuple[int, int, int, int]) -> dict[str, Task]:
    return {"parts": Task("", blocks_to_grid([(-1, -1, -1, 6), *blocks]), invariant=False, task_id="parts")}


def options_in(folder: Path, **options: Any) -> dict[str, Any]:
    return {"folder": folder, "tasks": {"parts": PARTS}, "team": TEAM, "hosts": ("testserver",), **options}


def begin(client: TestClient, role: str, **partners: str) -> str:
    body = {"role": role, "partner": partners, "task": "parts"}
    answer = client.post("/api/games", json=body, headers=ORIGIN)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


def seated(client: TestClient, stack: ExitStack, role: str, **partners: str) -> dict[str, Player]:
    """Start a game as `role`, with people in all seats that have no partner; all of them are there."""
    first = stack.enter_context(joined(client, begin(client, role, **partners)))
    players = {role: first}
    for name, invitation in first.until("welcome")["invites"].items():
        players[name] = stack.enter_context(joined(client, invitation))
    for player in players.values():
        player.until("status", state="playing")
    return players


# ------------------------------------------------------------------------------------------------ who is sent what


def test_a_part_of_the_plan_reaches_only_who_sees_it(tmp_path: Path) -> None:
    """In two games that differ in the east alone, who sees the west or nothing is sent the same up to the end."""
    team = {**TEAM, "hearers": {"architect_1": ("architect_0",)}}
    wires: dict[str, list[Any]] = {"architect_0": [], "builder_0": []}
    for number, east in enumerate([(3, -1, 4, 1), (5, 0, 2, 2)]):
        options = options_in(tmp_path / f"{number}", team=team, tasks=task_with(east))
        with serving(options) as client, ExitStack() as stack:
            players = seated(client, stack, "architect_1", builder_1="scripted")
            players["architect_1"].send(t="say", text="Between us: it is in the east.")
            assert players["architect_0"].until(
                "frame", said=[["architect 1", "Between us: it is in the east."]]
            )
            for frame in PLACE_RED:
                players["builder_0"].frame(**frame)
            for player in players.values():
                player.until("frame", grid=[[-1, -1, -1, 6]])
            players["builder_0"].send(t="leave")
            for player in (players["architect_0"], players["architect_1"]):
                player.until("status", state="over")
            whole = next(told for told in players["architect_1"].heard if told["t"] == "frame")
            assert list(east) in whole["target_grid"]
            for name, wire in wires.items():
                frames = [told for told in players[name].heard if told["t"] == "frame"]
                falling = ("tick", "agentPos", "others", "body")  # the first frame may be of the next tick
                first = {key: value for key, value in frames[0].items() if key not in falling}
                wire.append(
                    (set().union(*frames), first, {key: frames[-1].get(key) for key in ("grid", "said")})
                )
                assert not {"score", "ghost"} & wire[-1][0]
                assert players[name].heard[0]["task"] == ""  # a name may tell what it is
                assert json.dumps(list(east)) not in json.dumps(players[name].heard)
            builder = players["builder_0"].heard
            assert "Between us" not in json.dumps(builder)
            assert not {"target_grid", "target_mask", "target_sides"} & set().union(*builder)
    for wire in wires.values():
        assert wire[0] == wire[1]


def test_the_lobby_shows_the_seats(tmp_path: Path) -> None:
    held = {"inventories": {"builder_1": {"red": 3}}, "hearers": {"builder_0": "architect_1"}}
    with serving(options_in(tmp_path, team={**TEAM, **held})) as client:
        lobby = client.get("/api/lobby").json()
        assert lobby["agents"] == {"architect": ["scripted"], "builder": ["scripted"]}
        assert list(lobby["speakers"].values()) == ["architect 0", "architect 1", "builder 0", "builder 1"]
        assert lobby["sees"]["architect_1"] == ["half:east", "side:east"]
        assert lobby["inventories"]["builder_1"] == [0, 0, 0, 0, 0, 3]
        assert lobby["hearers"]["builder_0"] == ["architect_1"]


@pytest.mark.parametrize(
    "body", [{"role": "architect"}, {"role": "builder_0", "partner": {"builder_1": "oracle"}}]
)
def test_seats_that_cannot_be(tmp_path: Path, body: Any) -> None:
    with serving(options_in(tmp_path)) as client:
        answer = client.post("/api/games", json=body, headers=ORIGIN)
        assert (answer.status_code, "expected" in answer.json()["error"]) == (400, True)


# ----------------------------------------------------------------------------------------------- coming and going


# -------------------------------------------------------------------------------------------------------- refusals


def test_a_study_has_no_team(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    sessions = Sessions(read_study(tmp_path / "study.toml"), Store(f"sqlite:///{tmp_path / 'study.db'}"))
    with pytest.raises(ConfigError, match=r"the server's team is .* expected none"):
        create_app(ServerOptions(**options_in(tmp_path)), sessions)
    sessions.store.close()


@pytest.mark.parametrize(
    "words", [["--team", "division", "--builders", "3"], ["--architects", "2", "--builders", "2"]]
)
def test_the_command_serves_teams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    served = []
    monkeypatch.setattr(
        "iglu_marl.web.serving.Server.serve_at",
        lambda server, bound: served.append(server.config.app.state.options),
    )
    monkeypatch.setattr("iglu_marl.web.warming.warm_up", lambda: None)
    done = CliRunner().invoke(app, ["serve", "--folder", str(tmp_path), *words])
    assert done.exit_code == 0, done.output
    (options,) = served
    assert (len(options.config.agents), len(options.tasks)) == (4, 32)
