"""`iglu-marl serve-openenv` and the library's own client, in the environment that `make adapters` makes.

Run by tests/envs/test_adapters.py.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.request import urlopen

import pytest
from llm_server import architect_says, builder_does
from openenv.core import GenericEnvClient
from openenv_server import openenv_server

from iglu_marl.text import TextGame


def edits_of(prompt: str) -> Any:
    """The edits of a good builder."""
    return json.loads(builder_does(prompt).partition("```json")[2].strip("` \n"))["edits"]


def builder_games() -> None:
    """Several clients, each in a game of its own, which is the game that `TextGame` plays."""
    with openenv_server() as address:
        schema = json.load(urlopen(f"{address}/schema", timeout=30))["action"]
        properties = schema["properties"]["edits"]["items"]["properties"]
        assert (properties["east"]["minimum"], properties["height"]["maximum"]) == (-5, 9)
        games, clients = (
            [TextGame(), TextGame()],
            [GenericEnvClient(base_url=address).sync() for _ in range(2)],
        )
        chats = [game.reset(seed) for seed, game in enumerate(games)]
        found = [client.reset(seed=seed) for seed, client in enumerate(clients)]
        assert [one.observation["messages"] for one in found] == chats
        assert clients[1].state()["seed"] == 1
        for game, client, one in zip(games, clients, found, strict=True):
            total, done = 0.0, False
            while not done:
                edits = edits_of(one.observation["messages"][1]["content"])
                one, (chat, reward, done, info) = client.step({"edits": edits}), game.step({"edits": edits})
                assert (one.observation["messages"], one.reward, one.done) == (chat, reward, done)
                assert one.observation["completed"] == info["completed"]
                total += reward
            assert abs(total - 1) < 1e-9
        client = clients[0]
        client.reset(seed=1)
        one = client.step(
            {"edits": [{"action": "place", "color": "red", "east": 0, "north": 0, "height": 99}]}
        )
        assert "outside the building zone" in one.observation["problem"]
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            client.step({"moves": []})
        for client in clients:
            client.close()


def other_games() -> None:
    """An architect, and a team."""
    with openenv_server("--role", "architect", "--show-changes") as address:
        client, total = GenericEnvClient(base_url=address).sync(), 0.0
        one = client.reset(seed=3)
        while not one.done:
            one = client.step({"say": architect_says(one.observation["messages"][1]["content"])})
            total += one.reward
        assert abs(total - 1) < 1e-9
        client.close()
    with openenv_server("--role", "both", "--team", "division") as address:
        client, team = GenericEnvClient(base_url=address).sync(), TextGame("both", team="division")
        chat, one = team.reset(0), client.reset(seed=0)
        for reply in (
            {"say": "Place a blue block on the ground, at the centre."},
            {"edits": []},
            {"say": "No."},
        ):
            assert (one.observation["messages"], one.observation["agent"]) == (chat, team.agent)
            one, (chat, *_) = client.step(reply), team.step(reply)
        assert team.agent == "architect_0"
        client.close()


if __name__ == "__main__":
    builder_games()
    other_games()
    print("played")
