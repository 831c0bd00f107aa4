"""Players that lack something get chance by a script without the audits' code, which would find a leak."""

from __future__ import annotations

import dataclasses

import level_players
import pytest

from iglu_marl.benchmark import find
from iglu_marl.benchmark.splits import PlacedBlocks

CHANCE = 0.25


@pytest.mark.parametrize("name", ["told-place-v1", "symbols-place-v1"])
def test_players_that_lack_the_message_get_chance(name: str) -> None:
    contents, shown, found = level_players.scores(find(name), tests=64)
    assert (contents, found["constant"]) == (4, CHANCE / 4)
    assert shown == len(find(name).tasks("train"))
    for player in ("open loop", "muted", "blind"):
        assert level_players.interval(found[player] or 0, contents)[0] <= CHANCE
    assert level_players.interval(found["full"] or 0, contents)[0] > CHANCE


def test_where_all_start_alike_what_is_said_is_enough() -> None:
    """The same learner has power without eyes: on the level itself, it fails for want of sight."""
    level = dataclasses.replace(find("told-place-v1"), content=PlacedBlocks(wordings=4))
    contents, _, found = level_players.scores(level, tests=16)
    assert level_players.interval(found["blind"] or 0, contents)[0] > CHANCE
