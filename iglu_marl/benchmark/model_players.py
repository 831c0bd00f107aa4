"""Players without a model for the benchmark of language models: policies, readers by rules, and an oracle.

Policies show what a level gives to those who do not understand. docs/llm_benchmark.md has their scores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from iglu_marl.agents.llm.world_text import describe_changes
from iglu_marl.benchmark.model_tasks import plain_description
from iglu_marl.core.dialogue import Role
from iglu_marl.core.grid import COLORS
from iglu_marl.data.situations import Situation
from iglu_marl.evaluation.action_prediction import AgentPredictor
from iglu_marl.language import CellEdit, render
from iglu_marl.planning import Edit
from iglu_marl.text.game import MESSAGE_LENGTH, ChatMessage, TextGame, edits_of, order_text
from iglu_marl.text.rounds import Rounds

Player = Callable[[TextGame, list[ChatMessage]], str]
QUESTION = "What exactly do you mean?"


def _has_asked(game: TextGame) -> bool:
    """Whether the builder has just asked."""
    is_newest = any(said.role is Role.BUILDER for said in list(game.dialogue)[-2:])
    return is_newest and game.counts["questions"] > 0


def _round(game: TextGame) -> Any:
    """Return the present round; None on levels without rounds."""
    return game.partner.rounds[len(game.partner.played)] if isinstance(game.partner, Rounds) else None


def _message_of(sentences: list[str]) -> str:
    """Return the first sentences that fit into a message."""
    text = ""
    for sentence in sentences:
        if text and len(f"{text} {sentence}") > MESSAGE_LENGTH:
            break
        text = f"{text} {sentence}".strip()
    return text


def _known_target(game: TextGame) -> Any:
    """Return what the architect knows of the target; the build elsewhere."""
    seen = game.seats[game.agent].target(game.target)
    return np.where(seen.get("target_mask", 1), seen["target_grid"], game.grid)


def _random_block(game: TextGame) -> str:
    rng = np.random.default_rng([game.seed, game.counts["replies"]])
    x, z = (int(number) for number in rng.integers(-5, 6, 2))
    edit = Edit(x, -1, z, int(rng.integers(1, 7)))
    if game.turn is Role.BUILDER:
        return order_text([edit])
    return render(CellEdit.between(edit.cell, 0, edit.color))


def oracle(game: TextGame, chat: list[ChatMessage]) -> str:
    """Build the target, after a question where one is needed; describe it in whole shapes."""
    if game.turn is Role.ARCHITECT:
        return _message_of(plain_description(game.grid, _known_target(game))) or "WAIT"
    now = _round(game)
    is_open = now is not None and now.ask == "needed" and not _has_asked(game)
    return order_text([], QUESTION) if is_open else order_text(edits_of(game.grid, game.target)[:64])


@lru_cache(maxsize=1)
def _reader() -> AgentPredictor:
    from iglu_marl.agents.scripted.builder import ScriptedBuilder

    return AgentPredictor(ScriptedBuilder.for_env)


def _read(game: TextGame) -> list[Edit]:
    """Return the edits that the scripted builder makes."""
    if game.view == "own":
        return []  # it reads no pictures
    x, y, z, pitch, yaw = (float(number) for number in game.pose)
    built = _reader()(Situation(game.dialogue, game.grid, 0, (x, y, z, yaw, pitch)))
    return edits_of(game.grid, built)[:64]


def grammar(game: TextGame, chat: list[ChatMessage]) -> str:
    """Read the dialogue by rules; ask once if nothing follows from it."""
    if game.turn is Role.ARCHITECT:
        return describe_changes(game.grid, _known_target(game), 1).split("\n")[0]
    edits = _read(game)
    return order_text(edits) if edits or _has_asked(game) else order_text([], QUESTION)


def always_ask(game: TextGame, chat: list[ChatMessage]) -> str:
    """Ask in each round, then read by rules."""
    if game.turn is Role.ARCHITECT or _has_asked(game):
        return grammar(game, chat)
    return order_text([], QUESTION)


def never_ask(game: TextGame, chat: list[ChatMessage]) -> str:
    """Read by rules; build at random if nothing follows."""
    if game.turn is Role.ARCHITECT:
        return grammar(game, chat)
    edits = _read(game)
    return order_text(edits) if edits else _random_block(game)


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
    return order_text(placed) if game.turn is Role.BUILDER and placed else _random_block(game)


def enumerate_blocks(game: TextGame, chat: list[ChatMessage]) -> str:
    """Place all blocks one by one, or name all blocks of the target."""
    if game.turn is Role.ARCHITECT:
        return _message_of(describe_changes(game.grid, _known_target(game)).split("\n"))
    number = game.seed * 7 + game.counts["replies"]
    place, color = divmod(number, len(COLORS))
    return order_text([Edit(place % 11 - 5, -1, place // 11 % 11 - 5, color + 1)])


PLAYERS: dict[str, Player] = {
    "oracle": oracle,
    "grammar": grammar,
    "always-ask": always_ask,
    "never-ask": never_ask,
    "copy": copy,
    "silent": silent,
    "place-and-remove": place_and_remove,
    "enumerate": enumerate_blocks,
}
MUST_NOT_WIN = tuple(PLAYERS)[1:]
