"""Rounds: what the partner says after each build, what it counts, and where the next round starts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from iglu_marl import Role
from iglu_marl.core.dialogue import Utterance
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.text import TextGame
from iglu_marl.text.rounds import ALL_SAID, InstructedRound, Rounds

RED, BLUE = (2, -1, -3, 6), (-1, -1, 0, 1)
NOTHING, ONE, TWO = (blocks_to_grid(blocks) for blocks in ([], [RED], [RED, BLUE]))
ROUNDS = (
    InstructedRound("A red one.", NOTHING, ONE, answer="Two east.", ask="needed"),
    InstructedRound("A blue one.", ONE, TWO, pose=(1.0, 2.0, 3.0, 90.0, -30.0)),
    InstructedRound("", TWO, ONE, before=(Utterance(Role.ARCHITECT, "Remove blue."),)),
)


def order(*blocks: tuple[int, int, int, int], say: str = "", action: str = "place") -> str:
    """The reply that places (or removes) these blocks."""
    edits = [
        {"action": action, "color": "red" if color == 6 else "blue", "east": x, "north": -z, "height": y + 2}
        for x, y, z, color in blocks
    ]
    return json.dumps({"edits": edits, "say": say})


def begun(feedback: Any) -> tuple[TextGame, Rounds]:
    partner = Rounds(ROUNDS, feedback)
    game = TextGame(partner=partner, tasks=[partner.task])
    game.reset(0)
    return game, partner


@pytest.mark.parametrize(
    ("feedback", "right", "wrong"),
    [
        ("none", "", ""),
        ("right", "That was right. ", "That was not what I meant; it has been put right. "),
        (
            "target",
            "That was right. ",
            "That was not what I meant. It should have been: red: 2 east, 3 north, height 1. ",
        ),
    ],
)
def test_each_build_is_commented_before_the_next_instruction(feedback: Any, right: str, wrong: str) -> None:
    for blocks, comment in (([RED], right), ([BLUE], wrong)):
        game, partner = begun(feedback)
        assert [each.text for each in game.dialogue] == ["A red one."]
        game.step(order(*blocks))
        assert [each.text for each in game.dialogue][-1] == comment + "A blue one."
        assert [part.right for part in partner.played] == [blocks == [RED]]
        assert (game.grid == ONE).all()
        assert (game.start == ONE).all()
        assert (game.target == TWO).all()


def test_a_game_of_three_rounds() -> None:
    """A question before the build is answered and counted; what a round has said before is said as it is."""
    game, partner = begun("right")
    assert game.pose.tolist() == [0.0] * 5
    replies = [
        order(say="Where?"),
        order(say="Sure?"),
        order(RED),
        order(say="And now?"),
        order(BLUE),
        order(BLUE, action="remove"),
    ]
    over = [game.step(reply)[2] for reply in replies]
    assert over == [False] * 5 + [True]
    architect = [each.text for each in game.dialogue if each.role is Role.ARCHITECT]
    assert architect == [
        "A red one.",
        "Two east.",
        "Two east.",
        "That was right. A blue one.",
        ALL_SAID,
        "Remove blue.",
    ]
    assert [(part.right, part.asked) for part in partner.played] == [(True, 2), (True, 1), (True, 0)]
    assert [np.count_nonzero(part.built) for part in partner.played] == [1, 2, 1]
    assert game.pose.tolist() == [1.0, 2.0, 3.0, -30.0, 90.0]  # pitch before yaw


def test_a_reply_with_nothing_is_an_empty_build() -> None:
    game, partner = begun("right")
    game.step(order())
    assert [(part.right, part.asked) for part in partner.played] == [(False, 0)]
