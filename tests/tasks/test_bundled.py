"""The bundled sessions: that every file is read, and that the worlds are sound."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from made_packs import world_by_actions

from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLOR_NAMES, Block, grid_to_blocks
from iglu_marl.core.task import Subtasks
from iglu_marl.data import bundled, read_action_log, read_sessions
from iglu_marl.data.iglu.action_log import to_blocks
from iglu_marl.data.iglu.multiturn import read_rows
from iglu_marl.data.report import Report

Cell = tuple[int, int, int]


@dataclass(frozen=True)
class Turn:
    """One turn: where it stands, and the worlds around it."""

    session: str
    number: int
    before: dict[Cell, str]
    after: dict[Cell, str]

    @property
    def changed(self) -> set[Cell]:
        cells = {*self.before, *self.after}
        return {cell for cell in cells if self.before.get(cell) != self.after.get(cell)}


def named(blocks: list[Block]) -> dict[Cell, str]:
    return {(x, y, z): COLOR_NAMES[color] for x, y, z, color in blocks}


def turns_of(session: Subtasks) -> list[Turn]:
    worlds = [{}, *(named(grid_to_blocks(grid)) for grid in session.structures)]
    return [Turn(str(session.task_id), number, *pair) for number, pair in enumerate(pairwise(worlds))]


SESSIONS = {str(session.task_id): session for sessions in bundled.load().values() for session in sessions}
TURNS = [turn for session in SESSIONS.values() for turn in turns_of(session)]


def floating(world: dict[Cell, str]) -> set[Cell]:
    """The blocks without a way to the floor through the faces of others."""
    left = set(world)
    reached = [cell for cell in world if cell[1] == -1]
    left.difference_update(reached)
    while reached:
        x, y, z = reached.pop()
        steps = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
        near = {(x + dx, y + dy, z + dz) for dx, dy, dz in steps} & left
        left -= near
        reached.extend(near)
    return left


# -- reading


def test_everything_is_read_and_nothing_skipped() -> None:
    report = Report()
    found = read_sessions(bundled.files(), report)
    assert report.skipped == []
    rows = read_rows(bundled.files().joinpath("dialogs.csv").read_bytes(), Report())
    assert report.rows == len(rows)
    folders = {entry.name for entry in bundled.files().joinpath("builder-data").iterdir()}
    assert folders == {row.session for row in rows} == set(SESSIONS)
    steps = {(row.session, f"step-{row.step}") for row in rows if row.step % 2 == 0 and not row.question}
    files = {
        (folder.name, file.name)
        for folder in bundled.files().joinpath("builder-data").iterdir()
        for file in folder.iterdir()
    }
    assert files == steps
    assert report.turns == len(files) == len(TURNS)
    assert {name: len(sessions) for name, sessions in found.items()} == {
        name: len(sessions) for name, sessions in bundled.load().items()
    }


# -- worlds


def test_all_sessions_of_a_structure_end_in_the_same_world() -> None:
    for name, sessions in bundled.load().items():
        final = {session.structures[-1].tobytes() for session in sessions}
        assert len(final) == 1, name
        assert 5 <= np.count_nonzero(sessions[0].structures[-1]) <= 25, name
        assert all(session.starting_grid is None for session in sessions)


def test_every_turn_changes_the_world() -> None:
    assert [turn for turn in TURNS if not turn.changed] == []


def test_blocks_suffice_at_any_time() -> None:
    for turn in TURNS:
        held = Counter(turn.after.values())
        assert max(held.values()) <= BLOCKS_PER_COLOR, (turn.session, turn.number)


def test_nothing_floats_at_any_time() -> None:
    assert {(turn.session, turn.number) for turn in TURNS if floating(turn.after)} == set()


# -- action logs


def test_action_logs_replay_to_their_worlds() -> None:
    """The world at the end of the set-up and at the end, by the recorded changes and by the actions."""
    for name, session in SESSIONS.items():
        before: list[Block] = []
        folder = bundled.files().joinpath("builder-data").joinpath(name)
        steps = sorted(folder.iterdir(), key=lambda file: int(file.name.removeprefix("step-")))
        for file, grid in zip(steps, session.structures, strict=True):
            recording = read_action_log(file.read_bytes(), name=f"{name}/{file.name}")
            log = recording.log
            assert log.skipped == (), recording.name
            assert recording.reproduces, recording.name
            assert to_blocks(log.world(recording.start)) == before, recording.name
            before = grid_to_blocks(grid)
            assert to_blocks(log.world()) == to_blocks(world_by_actions(log)) == before, recording.name
