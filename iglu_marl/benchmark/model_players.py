"""Players without a model for the benchmark of language models: a reader by rules, an oracle, and policies.

Policies show what a level gives to those who do not understand. Where they have to build, they build as well as they
can: "ask" asks in each round and then builds what is meant; "guess" never asks, and is wrong where neither the
instruction nor the context has what is missing.

| player | builder | architect |
|---|---|---|
| `oracle` | knows the target, asks where it is needed | names all remaining blocks |
| `reader` | the scripted builder; it asks if it does not understand | names one block at a time |
| `ask` | asks in each round, then knows the target; of another model always | as `reader` |
| `guess` | never asks; random blocks on levels without questions | names random blocks |
| `copy` | repeats its prompt | repeats its prompt, line by line |
| `silent` | does nothing | says nothing |
| `place and remove` | places a random block and takes it away | as `guess` |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from iglu_marl.agents.llm.world_text import describe_changes
from iglu_marl.core.dialogue import Role
from iglu_marl.core.grid import BlockGrid, index_of
from iglu_marl.data.situations import Situation
from iglu_marl.evaluation.action_prediction import AgentPredictor
from iglu_marl.planning import Edit
from iglu_marl.text.game import MESSAGE_LENGTH, ChatMessage, TextGame, edits_of, order_text
from iglu_marl.text.rounds import Rounds

Player = Callable[[TextGame, list[ChatMessage]], str]
QUESTION = "What exactly do you mean?"


def _asked(game: TextGame) -> bool:
    """Whether the builder has just asked."""
    return (
        any(said.role is Role.BUILDER for said in list(game.dialogue)[-2:]) and game.counts["questions"] > 0
    )


def _round(game: TextGame) -> Any:
    """Return the present round; None on levels without rounds."""
    return game.partner.rounds[len(game.partner.played)] if isinstance(game.partner, Rounds) else None


def _fits(text: str) -> str:
    """Return the sentences that fit into a message."""
    while len(text) > MESSAGE_LENGTH:
        text = text.rpartition("\n")[0]
    return text.replace("\n", " ")


def _target(game: TextGame) -> str:
    return order_text(edits_of(game.grid, game.target)[:64])


def _random(game: TextGame) -> str:
    rng = np.random.default_rng([game.seed, game.counts["replies"]])
    x, z = (int(number) for number in rng.integers(-5, 6, 2))
    edit, grid = Edit(x, -1, z, int(rng.integers(1, 7))), game.grid.copy()
    grid[index_of(edit.cell)] = edit.color
    return (
        order_text([edit])
        if game.turn is Role.BUILDER
        else describe_changes(game.grid, grid, 1).split("\n")[0]
    )


def oracle(game: TextGame, chat: list[ChatMessage]) -> str:
    """Build or describe the target."""
    if game.turn is Role.ARCHITECT:
        return _fits(describe_changes(game.grid, game.target))
    now = _round(game)
    return order_text([], QUESTION) if now and now.ask == "needed" and not _asked(game) else _target(game)


def ask(game: TextGame, chat: list[ChatMessage]) -> str:
    """Ask in each round; then build what is meant."""
    if game.turn is Role.ARCHITECT:
        return reader(game, chat)
    return _target(game) if _asked(game) and _round(game) else order_text([], QUESTION)


def guess(game: TextGame, chat: list[ChatMessage]) -> str:
    """Never ask."""
    now = _round(game)
    return _target(game) if now and now.ask != "never" and now.guess else _random(game)


def copy(game: TextGame, chat: list[ChatMessage]) -> str:
    """Repeat the prompt."""
    if game.turn is Role.BUILDER:
        return "\n".join(str(part["content"]) for part in chat)
    lines = str(chat[-1]["content"]).splitlines()
    return lines[game.counts["replies"] // 2 % len(lines)] or "?"


def silent(game: TextGame, chat: list[ChatMessage]) -> str:
    """Do and say nothing."""
    return order_text([]) if game.turn is Role.BUILDER else "WAIT"


def place_and_remove(game: TextGame, chat: list[ChatMessage]) -> str:
    """Place a random block, and take it away in the next turn."""
    placed = edits_of(game.grid, game.start)
    return order_text(placed) if game.turn is Role.BUILDER and placed else _random(game)


@lru_cache(maxsize=1)
def _reader() -> AgentPredictor:
    from iglu_marl.agents.scripted.builder import ScriptedBuilder

    return AgentPredictor(ScriptedBuilder.for_env)


def reader(game: TextGame, chat: list[ChatMessage]) -> str:
    """Read the dialogue by rules; ask once if nothing follows from it."""
    if game.turn is Role.ARCHITECT:
        seen = game.seats[game.agent].target(game.target)
        known = np.where(seen.get("target_mask", 1), seen["target_grid"], game.grid)
        return describe_changes(game.grid, known, 1).split("\n")[0]
    x, y, z, pitch, yaw = (float(number) for number in game.pose)
    built: BlockGrid = _reader()(Situation(game.dialogue, game.grid, 0, (x, y, z, yaw, pitch)))
    edits = edits_of(game.grid, built)
    return order_text([], QUESTION) if not edits and not _asked(game) else order_text(edits[:64])


PLAYERS: dict[str, Player] = {
    "oracle": oracle, "reader": reader, "ask": ask, "guess": guess, "copy": copy, "silent": silent,
    "place and remove": place_and_remove,
}  # fmt: skip
MUST_NOT_WIN = tuple(islice(PLAYERS, 2, None))
