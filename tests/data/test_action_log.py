"""Action logs of recorded builders: parsed, replayed to worlds, followed by controls, exported."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_packs import first_hit, stats_blocks, world_by_actions

from iglu_marl import DataError
from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.data import nearest_controls, read_action_log, trajectory_of
from iglu_marl.data.iglu.action_log import (
    ActionLog,
    AvatarMoved,
    Broke,
    BuildRecording,
    CameraRay,
    Changed,
    LogProblem,
    Looked,
    Placed,
    Pressed,
    RecorderVersion,
    SetUp,
    parse_action_log,
    to_blocks,
    undo_stride,
)
from iglu_marl.data.iglu.trajectory import RECORDED_EYE_HEIGHT, to_pose
from iglu_marl.data.iglu.world_files import COLOR_OF_VOXEL, read_voxel_grid, voxel_colors
from iglu_marl.data.packs.archive import Pack, open_pack
from iglu_marl.data.situations import EYE_HEIGHT

STATS = "iglu_multiturn"  # key of stats.json

LOG_TEXT = """0 action start_recover_world_state
1 action select_and_place_block 57 0 63 0 0 64.12 4 0 0 -1
2 block_change  (0, 63, 0, 0, 57)
2 pos_change (0, 63, 6.5)
3 action finish_recover_world_state
10 set_look (-0.25, 6.93e-24)
12 action step_left
13 pos_change (0.5, 63.5, 4.5)
20 action select_and_place_block 60 0 64 0 0.5 64.6 8.5 0 0 -1
21 block_change  (0, 64, 0, 0, 60)
21 pos_change (0.5, 63.5, 4)
30 action break 0 63 0 0.5 64.6 8.5 0 0 -1
31 block_change  (0, 63, 0, 57, 0)
"""


VERBS = {
    AvatarMoved: "pos_change",
    Looked: "set_look",
    Changed: "block_change",
    Placed: "action select_and_place_block",
    Broke: "action break",
}


def verbs_of(log: ActionLog) -> dict[str, int]:
    """The number of events by the verbs of the format."""

    def verb(event: Any) -> str:
        if isinstance(event, Pressed):
            return f"action {event.key}"
        if isinstance(event, SetUp):
            return f"action {'finish' if event.finished else 'start'}_recover_world_state"
        return VERBS[type(event)]

    return dict(Counter(map(verb, log.events)))


def world_file(log: str = LOG_TEXT, blocks: Any = ((0, 64, 0, 60),), **changes: Any) -> dict[str, Any]:
    return {
        "gameId": 19,
        "stepId": 1,
        "avatarInfo": {"pos": [0.5, 63.5, 4], "look": [-0.25, 0]},
        "worldEndingState": {"blocks": [list(block) for block in blocks]},
        "tape": log,
        **changes,
    }


@pytest.fixture(scope="module")
def multiturn(shared: Path) -> Pack:
    return open_pack(shared / "data" / "iglu-multiturn.zip")


@pytest.fixture(scope="module")
def recordings(multiturn: Pack) -> list[BuildRecording]:
    names = [name for name in multiturn.names() if name.startswith("builder-data/")]
    return [read_action_log(multiturn.read(name), name=name) for name in names]


# -- parsing


def test_every_kind_of_line() -> None:
    log = parse_action_log(LOG_TEXT)
    assert log.skipped == ()
    assert log.recorder is RecorderVersion.NEWER
    assert log.events[-1].tick == 31
    aim = CameraRay((0.5, 64.6, 8.5), (0, 0, -1))
    assert log.events[0] == SetUp(0, False)
    assert log.events[3] == AvatarMoved(2, (0, 63, 6.5))
    assert log.events[5] == Looked(10, -0.25, 6.93e-24)
    assert log.events[6] == Pressed(12, "step_left")
    assert log.events[8] == Placed(20, 60, (0, 64, 0), aim)
    assert log.events[9] == Changed(21, (((0, 64, 0), 0, 60),))
    assert log.events[11] == Broke(30, (0, 63, 0), aim)
    assert verbs_of(log)["action select_and_place_block"] == 2
    assert sum(verbs_of(log).values()) == len(log.events) == 13
    assert log.world() == world_by_actions(log) == {(0, 64, 0): 60}
    assert log.world(until=20) == {(0, 63, 0): 57}
    assert [len(world) for _, world in log.worlds()] == [1, 2, 1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("5 jump", LogProblem.UNKNOWN_LINE),
        ("5 action dance", LogProblem.UNKNOWN_LINE),
        ("5 action step_left 3", LogProblem.UNKNOWN_LINE),
        ("-5 pos_change (1, 2, 3)", LogProblem.UNKNOWN_LINE),
        ("5 pos_change (1, 2)", LogProblem.BAD_NUMBERS),
        ("5 pos_change (1, 2, 3", LogProblem.BAD_NUMBERS),
        ("5 pos_change (1, 2, nan)", LogProblem.BAD_NUMBERS),
        ("5 set_look (1e400, 0)", LogProblem.BAD_NUMBERS),
        ("5 block_change  (0.5, 63, 0, 0, 57)", LogProblem.BAD_NUMBERS),
        ("5 block_change", LogProblem.BAD_NUMBERS),
        ("5 action break 0 63 0 1 2 3", LogProblem.BAD_NUMBERS),
        ("5 action select_and_place_block 57 0 63", LogProblem.BAD_NUMBERS),
    ],
)
def test_lines_that_cannot_be_read_are_noted(line: str, problem: LogProblem) -> None:
    log = parse_action_log(f"1 pos_change (0, 63, 0)\n{line}\n6 set_look (0, 1)\n")
    assert [type(event) for event in log.events] == [AvatarMoved, Looked]
    assert [(entry.reason, entry.number) for entry in log.skipped] == [(problem, 2)]
    assert line[:20] in str(log.skipped[0])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("5 pos_change (0, 63, 0)\n4 pos_change (0, 64, 0)\n", LogProblem.BACKWARDS),
        ("5 block_change  (0, 63, 0, 57, 60)\n", LogProblem.UNLIKE),
        ("1 action break 0 63 0\n2 action break 0 63 1 0 0 0 0 0 1\n", LogProblem.MIXED),
    ],
)
def test_odd_orders_and_changes_are_noted(text: str, problem: LogProblem) -> None:
    log = parse_action_log(text)
    assert [entry.reason for entry in log.skipped] == [problem]
    assert len(log.events) == text.count("\n")


def wrong_stride(x: int, y: int, z: int) -> tuple[int, int, int]:
    """How the older recorder wrote a cell: flat index by one layout (x, y, z), read back by another one."""
    index = 99 * (x + 5) + 11 * (y - 63) + (z + 5)
    return index // 99 - 5, index % 99 // 9 + 63, index % 99 % 9 - 5


@given(st.integers(-5, 5), st.integers(63, 71), st.integers(-5, 5))
def test_the_stride_of_the_older_recorder_is_undone(x: int, y: int, z: int) -> None:
    assert undo_stride(wrong_stride(x, y, z)) == (x, y, z)


# -- the shared pack


@pytest.mark.slow
def test_every_file_of_the_multi_turn_pack_is_reproduced(
    recordings: list[BuildRecording], stats: dict[str, Any]
) -> None:
    expected = stats["tape"]
    verbs: Counter[str] = Counter()
    cells: Counter[str] = Counter()
    for recording in recordings:
        log = recording.log
        verbs.update(verbs_of(log))
        assert recording.reproduces, recording.name
        assert world_by_actions(log) == recording.ending, recording.name
        assert log.skipped == (), recording.name
        assert set(log.world(recording.start)) <= {c for _, w in log.worlds() for c in w} or not log.events
        for event in log.events:
            if isinstance(event, Changed):
                for _, old, new in event.changes:
                    cells["cells"] += 1
                    cells["swap" if old and new else "add" if new else "del"] += 1
                    cells["unknown_id"] += new != 0 and new not in COLOR_OF_VOXEL
    assert dict(verbs) == expected["verbs"]
    assert dict(+cells) == expected["block_change_cells"]
    kinds = Counter(recording.log.recorder for recording in recordings)
    replay = expected["replay"]
    assert kinds == {
        RecorderVersion.OLDER: replay["files_short"],
        RecorderVersion.NEWER: replay["files_camera"],
        RecorderVersion.UNKNOWN: replay["files_no_block_actions"],
    }


def test_every_item_of_the_multi_turn_pack(recordings: list[BuildRecording], stats: dict[str, Any]) -> None:
    by_name = {recording.name: recording for recording in recordings}
    forms = {"short": RecorderVersion.OLDER, "camera": RecorderVersion.NEWER}
    for item in stats["items"]:
        recording = by_name[item["path"]]
        expected = item["tape"]
        assert verbs_of(recording.log) == expected["verbs"]
        assert recording.log.recorder is forms[expected["format"]]
        assert max((event.tick for event in recording.log.events), default=0) == expected["last_tick"]
        unknown = [e for e in recording.log.events if isinstance(e, Placed) and e.voxel not in COLOR_OF_VOXEL]
        assert len(unknown) == expected["unknown_block_ids_in_placements"]
        assert (recording.previous is not None) is item["has_prev_world"]
        if recording.previous is not None:
            assert to_blocks(recording.previous) == stats_blocks(item["prev_blocks"])
    previous = sum(recording.previous is not None for recording in recordings)
    assert previous == stats["files_with_prevWorldEndingState"]


def test_action_logs_of_the_single_turn_dataset(shared: Path) -> None:
    pack = open_pack(shared / "data" / "iglu-singleturn.zip")
    names = [n for n in pack.names() if "builder-data/" in n and not n.endswith(".DS_Store")]
    for name in names[::89]:
        content = pack.read(name)
        recording = read_action_log(content, name=name)
        assert recording.reproduces, name
        grid = read_voxel_grid(json.loads(content)["worldEndingState"], name)
        assert to_blocks(recording.ending) == grid_to_blocks(voxel_colors(grid)), name


def test_set_up_ends_where_the_persons_work_begins(recordings: list[BuildRecording]) -> None:
    unmarked = 0
    for recording in recordings:
        world = recording.log.world(recording.start)
        if recording.previous is not None:
            assert world == recording.previous, recording.name
            unmarked += not any(isinstance(e, SetUp) for e in recording.log.events)
    assert unmarked > 10, "files without markers are among them"
    before = {"prevWorldEndingState": {"blocks": [[0, 63, 0, 57], [0, 64, 0, 60]]}}
    without_end = LOG_TEXT.replace("3 action finish_recover_world_state\n", "")
    plain = without_end.replace("0 action start_recover_world_state\n", "")
    logs = [(LOG_TEXT, {}, 3), (without_end, {}, 2), (plain, {}, 0), (plain, before, 21)]
    for log, more, start in logs:
        assert read_action_log(world_file(log, **more)).start == start


# -- trajectories


def test_a_trajectory_by_hand() -> None:
    path = trajectory_of(read_action_log(world_file(), name="hand"))
    assert path.ticks.tolist() == [3, 10, 13, 21, 31]
    assert [(e.frame, e.cell, e.color) for e in path.edits] == [(3, (0, 0, 0), 6), (4, (0, -1, 0), 0)]
    # A block at the engine's cell 0 fills 0..1, so the engine's position 0.5 is our 0; feet at 63 stand on the floor.
    np.testing.assert_allclose(path.poses[0], [-0.5, -0.25, 6.0, 0, 0])
    np.testing.assert_allclose(path.poses[2], [0, 0.25, 4.0, 0, math.degrees(-0.25)])
    assert path.start[0, 5, 5] == 1
    assert [int(grid.sum()) for grid in path.grids()] == [1, 1, 1, 7, 6]
    np.testing.assert_array_equal(path.end, [*path.grids()][-1])
    assert to_pose((0, 63, 0), 0.0, -math.pi / 2)[3] == pytest.approx(90), "east"
    assert to_pose((0, 63, 0), 0.0, math.pi / 2, RECORDED_EYE_HEIGHT)[1:4:2] == pytest.approx((-0.38, 270))
    assert EYE_HEIGHT - 1.5 == -0.25


def test_an_action_log_without_actions() -> None:
    path = trajectory_of(read_action_log(world_file("", blocks=())))
    assert len(path) == 1
    assert path.edits == ()
    followed = nearest_controls(path)
    assert len(followed) == 0
    assert followed.residual["position_max"] == 0


def test_unknown_ids_and_cells_outside_are_kept_apart() -> None:
    log = "1 block_change  (0, 63, 0, 0, 1) (9, 63, 0, 0, 57) (1, 63, 0, 0, 57)\n"
    recording = read_action_log(world_file(log, [(0, 63, 0, 1), (9, 63, 0, 57), (1, 63, 0, 57)]))
    assert recording.reproduces
    assert to_blocks(recording.ending) == [(1, -1, 0, 1)]
    path = trajectory_of(recording)
    assert path.odd == ((1, (0, -1, 0), 1), (1, (9, -1, 0), 57))
    assert len(path.edits) == 1


def test_people_pointed_at_what_they_changed(recordings: list[BuildRecording]) -> None:
    """Poses, gazes and cells fit together: the recorded line of sight meets the edited cell."""
    seen = agreed = 0
    for recording in recordings[::7]:
        world: dict[Any, int] = {}
        for event in recording.log.events:
            if isinstance(event, (Placed, Broke)):
                if event.tick > recording.start and event.aim is not None:
                    hit, before = first_hit(
                        lambda cell, world=world: cell in world or cell[1] < 63, *event.aim
                    )
                    seen += 1
                    agreed += event.cell == (hit if isinstance(event, Broke) else before)
                if isinstance(event, Placed):
                    world[event.cell] = event.voxel
                else:
                    world.pop(event.cell, None)
    assert seen > 50
    assert agreed >= 0.98 * seen


# -- the nearest controls


def test_controls_rebuild_what_people_built(recordings: list[BuildRecording]) -> None:
    space = Controls("continuous").space
    for recording in recordings[::23]:
        path = trajectory_of(recording)
        followed = nearest_controls(path, stride=5)
        assert followed.done.all(), recording.name
        assert followed.grid_error == 0, recording.name
        assert len(followed.actions) == len(followed.position_error)
        assert all(space.contains(action) for action in followed.actions[:20])
        worlds = list(followed.replay())[-1]
        np.testing.assert_array_equal(worlds.grid[0], path.end)
        near = np.abs(path.poses[:, [0, 2]]).max() <= 4.9 and path.poses[:, 1].min() >= -0.25
        if near and not followed.added:
            assert followed.residual["position_mean"] < 0.5
        assert followed.residual["edits"] == len(path.edits)


def test_every_step_is_followed_closely() -> None:
    path = trajectory_of(read_action_log(world_file(), name="hand"))
    followed = nearest_controls(path)
    assert len(followed.actions) == 6
    assert followed.done.tolist() == [True, True]
    assert followed.grid_error == 0
    # It stands at z = 6, a cell outside the walls, at first, and one action may move by one cell.
    assert followed.position_error[0] == pytest.approx(1.0)
    assert followed.position_error[-1] == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(DataError, match="stride"):
        nearest_controls(path, stride=0)


def test_edits_that_are_impossible_are_left_out() -> None:
    cells = [(x, 63, z) for x in (-2, -1, 0) for z in range(-4, 4)]
    lines = [f"{2 * i + 1} block_change  ({x}, {y}, {z}, 0, 57)" for i, (x, y, z) in enumerate(cells)]
    recording = read_action_log(world_file("\n".join(lines), [(*cell, 57) for cell in cells]))
    followed = nearest_controls(trajectory_of(recording))
    assert followed.done.sum() == 20, "there are 20 blocks of a colour"
    assert followed.grid_error == 4
    assert followed.residual["edits_made"] == 20
