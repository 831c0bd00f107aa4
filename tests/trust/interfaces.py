"""The interfaces for other programs: text for language models, messages for browsers.

Half of the amount are replies to `TextGame`: correct, wrong and mutated ones. The other half are messages of players
and watchers to the server, without a network.
"""

from __future__ import annotations

import json
import os
import pickle
from typing import Any

import numpy as np
from fuzz_targets import MESSAGES, REPLIES, Server
from trust.driver import Figures, expect, main, show_progress

from iglu_marl import StateError
from iglu_marl.text import TextGame
from iglu_marl.text.game import edits_of, order_text

QUICK, FULL = 1_000, 20_000
COLORS = ("blue", "green", "red", "orange", "purple", "yellow")


def drive(amount: int, seed: int) -> Figures:
    os.environ["IGLU_MARL_OFFLINE"] = "1"
    rng = np.random.default_rng(seed)
    figures = {"replies": 0, "read": 0, "games": 0, "messages": 0, "connections": 0}
    while figures["replies"] < amount // 2:
        text_game(rng, figures)
        show_progress(figures)
    server = Server()
    while figures["messages"] < amount // 2:
        web_game(server, rng, figures)
        show_progress(figures)
    return figures


def text_game(rng: np.random.Generator, figures: dict[str, int]) -> None:
    """Play one game: unreadable replies change nothing, gains add up, and it ends when it reports the end."""
    role = str(rng.choice(("builder", "both")))
    partner = "none" if role == "builder" and rng.random() < 0.8 else "scripted"
    seen = str(rng.choice(("full", "delta")))
    game = TextGame(role, partner, max_replies=int(rng.integers(1, 12)), observations=seen)
    seed = int(rng.integers(10**6))
    game.reset(seed)
    gained, begun = 0.0, game.score
    figures["games"] += 1
    for _ in range(100):
        before, turn = game.grid.copy(), game.turn.value
        text = reply(rng, game)
        messages, reward, done, info = game.step(text)
        figures["replies"] += 1
        figures["read"] += not info["problem"]
        json.dumps([messages, info], allow_nan=False).encode()
        expect(info["role"] == turn, "another has answered")
        if turn == "builder":
            expect(
                not info["problem"] or (game.grid == before).all(),
                f"what could not be read was done: {text!r}",
            )
            expect(
                len(edits_of(before, game.grid)) <= info["edits"] or game.partner == "scripted",
                "other edits were made",
            )
        stock = (
            np.bincount(game.start.ravel(), minlength=7)[1:]
            + 20
            - np.bincount(game.grid.ravel(), minlength=7)[1:]
        )
        expect(stock.min() >= 0, "there are more blocks than there were")
        expect(0.0 <= game.score <= 1.0, f"the score is {game.score}")
        gained += reward
        if rng.random() < 0.1 and not done:
            copied = pickle.loads(pickle.dumps(game))  # noqa: S301 (our own bytes)
            expect(
                (copied.grid == game.grid).all() and copied.dialogue == game.dialogue,
                "a pickled game is another",
            )
        if done:
            break
    paid = game.question_cost * game.counts["questions"] + game.error_cost * game.counts["unread"]
    expect(
        done and abs(gained + paid - (game.score - begun)) < 1e-9,
        f"{gained} was gained and {paid} paid, the score is {game.score}",
    )
    try:
        game.step("")
    except StateError:
        return
    expect(False, "a game that is over goes on")


def reply(rng: np.random.Generator, game: TextGame) -> Any:
    """Return a reply that a model may send."""
    kind = rng.integers(6)
    if kind == 0:
        return str(rng.choice(REPLIES))
    if kind == 1:
        wanted = edits_of(game.grid, game.target)
        return order_text(wanted[: int(rng.integers(1, 4))], "done")
    if kind == 2:
        return "Place a red block at the centre."
    edits = [
        {"action": str(rng.choice(("place", "remove"))), "color": str(rng.choice(COLORS)),
         **{axis: int(rng.integers(-6, 7)) for axis in ("east", "north")}, "height": int(rng.integers(0, 4))}
        for _ in range(int(rng.integers(0, 5)))
    ]  # fmt: skip
    text = json.dumps({"edits": edits, "say": "?" * int(rng.integers(0, 3))})
    if kind == 3:
        return {"content": text}
    if kind == 4:
        at = int(rng.integers(len(text)))
        return text[:at] + str(rng.choice(("", "}", '"', "\ud800", "²", "\0"))) + text[at + 1 :]
    return text


def web_game(server: Server, rng: np.random.Generator, figures: dict[str, int]) -> None:
    """Play one game: all messages follow the protocol, and no player gets another's secrets."""
    for room in server.app.state.rooms.rooms.values():
        room.end("left")
    partner = str(rng.choice(("person", "scripted")))
    role = str(rng.choice(("architect", "builder")))
    status, answer = server.post(
        "/api/games", json.dumps({"role": role, "partner": partner, "task": "one"}).encode()
    )
    expect(status == 200, f"no game begins: {answer!r}")
    token = json.loads(answer)["token"]
    room = server.app.state.rooms.room_of(token)
    number = 0
    for _ in range(6):
        sent = [
            json.dumps(
                {
                    "t": "join",
                    "token": token if rng.random() < 0.8 else str(rng.choice(("", "x", token[:-1]))),
                }
            )
        ]
        for _ in range(int(rng.integers(1, 12))):
            number += 1
            sent.append(message(rng, number))
        sent_back = server.connect(sent)
        figures["messages"] += len(sent)
        figures["connections"] += 1
        expect(sent_back and sent_back[0]["type"] == "websocket.accept", "a connection was not accepted")
        texts = [part["text"] for part in sent_back if part["type"] == "websocket.send"]
        shown = [json.loads(text) for text in texts]
        expect(all("t" in part for part in shown), "a message without a kind")
        others = {seat.token for seat in room.seats.values() if seat.token} - {token}
        expect(not any(other in text for other in others for text in texts), "another's token was sent")
        if role == "builder":
            secret = [
                part
                for part in shown
                if part["t"] == "frame" and {"target_grid", "ghost", "score"} & part.keys()
            ]
            expect(not secret, "the builder was shown the target")
    watched = server.connect(
        [json.dumps({"t": "join", "token": next(iter(room.watch.values()))}), message(rng, 1)]
    )
    expect(not any(token in part.get("text", "") for part in watched), "a watcher was sent a player's token")


def message(rng: np.random.Generator, number: int) -> str:
    """Return a message that a page, or an attacker, may send."""
    kind = rng.integers(5)
    if kind == 0:
        return str(rng.choice(MESSAGES)).split("\n")[0]
    if kind == 1:
        return json.dumps({"t": "say", "text": str(rng.choice(("hi", "x" * 400, "", "²", "<script>")))})
    if kind == 2:
        return str(
            rng.choice(
                ("", "[]", "{", "null", '{"t": 1}', '{"t": "in", "n": 1e400}', "[" * 5000, '"\\ud800"')
            )
        )
    doings = [["turn", float(rng.uniform(-90, 90)), float(rng.uniform(-90, 90))], ["choose", int(rng.integers(0, 8))],
              ["place"], ["remove"], ["yield"], ["turn", 1e9, 0]]  # fmt: skip
    events = [doings[int(rng.integers(len(doings)))] for _ in range(int(rng.integers(0, 4)))]
    return json.dumps({"t": "in", "n": number, "held": int(rng.integers(0, 70)), "events": events})


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
