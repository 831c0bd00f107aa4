"""A structure that a person drops on the lobby."""

import base64
import json

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient

from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.web import ServerOptions, create_app

ORIGIN = {"origin": "http://testserver"}


def _asked(content, name="mine.json"):
    file = {"name": name, "content": base64.b64encode(content).decode()}
    return {"role": "builder", "partner": "scripted", "file": file}


def test_a_dropped_file_is_the_task_of_a_game(tmp_path):
    with TestClient(create_app(ServerOptions(folder=tmp_path, hosts=("testserver",)))) as client:
        blocks = json.dumps([[7, 7, 7, "red"], [7, 8, 7, "#0000ff"]]).encode()
        answer = client.post("/api/games", json=_asked(blocks), headers=ORIGIN)
        assert answer.status_code == 200, answer.text
        (room,) = client.app.state.rooms.rooms.values()
        assert grid_to_blocks(room.game.task.target_grid) == [(0, -1, 0, 6), (0, 0, 0, 1)]
        assert room.game.task.task_id == "mine"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (_asked(b"[]"), "no block"),
        (_asked(b"VOX ", "../../x.vox"), "x.vox"),
        (_asked(json.dumps([[x, 0, 0, "red"] for x in range(11)] * 3).encode(), "x.txt"), "ends in"),
        (
            _asked(json.dumps({"boxes": [{"type": "red", "from": [0] * 3, "to": [9] * 3}]}).encode()),
            "Nobody can build",
        ),
        ({**_asked(b""), "file": {"name": "a.vox", "content": "?"}}, "cannot be used"),
        ({**_asked(b""), "file": 7}, "cannot be used"),
    ],
)
def test_an_unusable_file_is_refused_in_words(asked, expected, tmp_path):
    with TestClient(create_app(ServerOptions(folder=tmp_path, hosts=("testserver",)))) as client:
        answer = client.post("/api/games", json=asked, headers=ORIGIN)
        assert answer.status_code == 400
        assert expected in answer.json()["error"]
        assert not client.app.state.rooms.rooms
