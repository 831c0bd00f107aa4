"""The dynamics against recorded episodes of the peer environment: every step, to the last bit."""

from __future__ import annotations

from pathlib import Path

import golden_traces
import gymnasium as gym
import numpy as np
import pytest
from golden_traces import CONTROLS, OUT_OF_RANGE, OWN, Trace, dense
from requirements import shared_place

import iglu_marl
from iglu_marl.core.controls import Controls
from iglu_marl.core.conventions import IGLU2022
from iglu_marl.core.grid import IGLU_ID_OF_IGLU2022, from_iglu2022_ids, to_iglu2022_ids
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Worlds

SHARED = shared_place() / "golden" / "traces"
UNREACHABLE = np.ones((9, 11, 11), np.int8)  # a target that never ends an episode
OWN_NAMES = golden_traces.names(OWN)
SHARED_NAMES = golden_traces.names(SHARED) or ["(none)"]


def through_worlds(trace: Trace) -> None:
    """Replay with every state column compared bit for bit, and what the hands did."""
    meta, columns = trace.meta, trace.columns
    controls = Controls(
        CONTROLS[meta["action_space"]], select_and_place=meta["select_and_place"], conventions=IGLU2022
    )
    worlds = Worlds(1)
    task = Task("", dense(columns["target_blocks"]), starting_grid=columns["start_blocks"], ids="iglu2022")
    worlds.spawn(0, task, pose=meta["pose"])
    grids = trace.grids()
    np.testing.assert_array_equal(grids[-1], columns["grid_final"])
    for row in range(len(trace.actions) + 1):
        where = f"{meta['name']}, row {row}"
        if row:
            worlds.step(controls.encode_batch([trace.actions[row - 1]], check=False))
            assert worlds.event[0] == columns["event"][row - 1], where
            assert worlds.hit[0].tolist() == columns["hit"][row - 1].tolist(), where
            assert worlds.before[0].tolist() == columns["hit_prev"][row - 1].tolist(), where
        assert worlds.position[0].tobytes() == columns["pos"][row].tobytes(), where
        assert worlds.pose[0, 3:].tobytes() == columns["yawpitch"][row].tobytes(), where
        assert worlds.speed[0] == columns["dy"][row], where
        assert worlds.slices[0] == columns["substeps"][row], where
        inventory = worlds.inventory[0][IGLU_ID_OF_IGLU2022[1:] - 1]
        assert inventory.tolist() == columns["inventory"][row].tolist(), where
        assert worlds.active[0] == IGLU_ID_OF_IGLU2022[columns["active"][row]], where
        assert (worlds.grid[0] == from_iglu2022_ids(grids[row])).all(), where


def through_gym(trace: Trace) -> None:
    """Replay through the 2022 environment id in its compatible mode: no translation of anything recorded."""
    meta, columns = trace.meta, trace.columns
    kind = meta["action_space"]
    env = gym.make(
        "IGLUGridworld-v0",
        compat="iglu2022",
        action_space="flying" if kind == "flying" else "walking",
        discretize=kind != "walking_dict",
        select_and_place=meta["select_and_place"],
        vector_state=True,
        render=False,
        max_steps=10**6,  # as recorded; by default 250, as in 2022
    )
    task = Task("", UNREACHABLE, starting_grid=columns["start_blocks"])
    observation, _ = env.reset(options={"task": task, "pose": meta["pose"]})
    grids = trace.grids()
    for row in range(len(trace.actions) + 1):
        where = f"{meta['name']}, row {row}"
        if row:
            observation, _, terminated, truncated, _ = env.step(trace.actions[row - 1])
            assert not terminated, where
            assert not truncated, where
        position = columns["pos"][row].astype(np.float32)
        yaw, pitch = columns["yawpitch"][row].astype(np.float32)
        assert observation["agentPos"].tolist() == [*position, pitch, yaw], where
        assert observation["inventory"].tolist() == np.maximum(columns["inventory"][row], 0).tolist(), where
        assert (observation["grid"] == grids[row]).all(), where
        assert observation["compass"][0] == np.float32(columns["yawpitch"][row][0] - 180), where
        if row % 50 == 0:
            assert observation in env.observation_space, where


@pytest.mark.parametrize("name", OWN_NAMES)
def test_bundled_traces_through_worlds(name: str) -> None:
    through_worlds(golden_traces.load(OWN / f"{name}.npz"))


@pytest.mark.parametrize("name", [name for name in OWN_NAMES if name not in OUT_OF_RANGE])
def test_bundled_traces_through_gym(name: str) -> None:
    through_gym(golden_traces.load(OWN / f"{name}.npz"))


@pytest.mark.parametrize("name", SHARED_NAMES)
def test_shared_traces_through_worlds(name: str, shared: Path) -> None:
    through_worlds(golden_traces.load(shared / "golden" / "traces" / f"{name}.npz"))


@pytest.mark.parametrize("name", [name for name in SHARED_NAMES if name not in OUT_OF_RANGE])
def test_shared_traces_through_gym(name: str, shared: Path) -> None:
    through_gym(golden_traces.load(shared / "golden" / "traces" / f"{name}.npz"))


def test_all_shared_traces_are_there(shared: Path) -> None:
    assert len(golden_traces.names(shared / "golden" / "traces")) == 108


def test_ids_of_2022_are_mapped_by_name() -> None:
    theirs = ["air", "blue", "green", "red", "orange", "purple", "yellow"]
    ours = [iglu_marl.const.id2color[int(from_iglu2022_ids(np.array([k]))[0])] for k in range(7)]
    assert ours == theirs
    grid = np.random.default_rng(0).integers(0, 7, (9, 11, 11))
    assert (to_iglu2022_ids(from_iglu2022_ids(grid)) == grid).all()
    assert not (from_iglu2022_ids(grid) == grid).all()
