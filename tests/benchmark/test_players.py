"""Players that lack something get chance by a script without the audits' code, which would find a leak."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import level_players
import numpy as np
import pytest

from iglu_marl import Task
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


class Marked(PlacedBlocks):
    """A content with a leak: a block in a corner has the color of the target, and each place another corner."""

    def all(self) -> tuple[Task, ...]:
        """Return all tasks, with the mark at the start."""
        return tuple(self._marked(super().all() or ()))

    def _marked(self, tasks: tuple[Task, ...]) -> Iterator[Task]:
        corners = {(4, 5): (0, 0), (6, 5): (0, 10), (5, 4): (10, 0), (5, 6): (10, 10)}
        for task in tasks:
            ((y, x, z),) = np.argwhere(task.target_grid).tolist()
            start, target = np.zeros_like(task.target_grid), task.target_grid.copy()
            start[(y, *corners[x, z])] = target[(y, *corners[x, z])] = target[y, x, z]
            yield task.replace(target_grid=target, starting_grid=start)


def test_a_leak_in_the_start_is_found() -> None:
    level = dataclasses.replace(find("told-place-v1"), content=Marked(wordings=4))
    contents, _, found = level_players.scores(level, tests=16)
    assert level_players.interval(found["muted"] or 0, contents)[0] > CHANCE


def test_the_script_has_no_code_of_the_audits() -> None:
    tree = ast.parse(Path(level_players.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    ours = {name for name in modules | names if name and name.startswith("iglu_marl")}
    assert ours == {"iglu_marl", "iglu_marl.agents", "iglu_marl.benchmark"}


def test_the_command_prints_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["", "see-place-v1"])
    level_players.main()
    assert "| `see-place-v1` | 4 | 16 | 25.0 | 25.0 (4.6–69.9) |" in capsys.readouterr().out
