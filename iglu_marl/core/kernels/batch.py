"""Steps, utterances, resets and observations of many worlds.

Every kernel takes a range of worlds first..last-1, so that threads can share a batch. Worlds are independent, so
results depend on neither the number of worlds nor the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import CELLS, flat_index
from iglu_marl.core.kernels.clock import speak
from iglu_marl.core.kernels.hands import share_change
from iglu_marl.core.kernels.step import step_one
from iglu_marl.core.kernels.talk import note, note_to_team

Array = npt.NDArray[Any]

# Observations are written for several worlds at a time: passing `ObsBuffers` to a function costs as much as a step.
CHUNK = 32


class ObsBuffers(NamedTuple):
    """Observations of a batch: arrays with a row per world, updated by each step.

    Arrays without rows are not written.
    """

    pose: Array  # float32 [n, 5]: x, y, z, pitch, yaw
    inventory: Array  # float32 [n, 6]
    compass: Array  # float32 [n]
    grid: Array  # int8 [n, 1089]
    target: Array  # the same of the target
    reward: Array  # float64 [n]
    terminated: Array  # bool [n]
    truncated: Array  # bool [n]
    event: Array  # int8 [n]
    counts: Array  # int32 [n, 3]: intersection, blocks of the target, blocks of the build
    scene: Array  # int8 [n, 1089]: what a picture is painted of
    eye: Array  # float64 [n, 5]: from where
    stale: Array  # bool [n]: whether scene or eye changed since this was last put back to False
    ids: Array  # [7]: how a colour id is shown, in the dtype of `grid`
    slots: Array  # int64 [6]: which colour stands where in the inventory
    half_turn: bool  # whether the compass is the yaw less 180, as the 2022 tools have it
    eye_offset: float  # height in `pose` minus height of the eye
    pitch_down: bool  # whether the pitch in `pose` counts downwards


@jit
def show_steps(state, idle, out, first, last):
    """Write what a step changes, for every world that is not idle: senses, reward, ends, edited cell, eye."""
    for i in range(first, last):
        if idle[i]:
            continue
        s = state[i]
        seen, held, eye, change = s["seen_pose"], s["seen_inventory"], s["pose"], s["change"]
        for k in range(6):
            out.inventory[i, k] = held[out.slots[k]]
        out.compass[i] = eye[3] - 180.0 if out.half_turn else s["seen_compass"][0]
        out.reward[i] = s["reward"]
        out.terminated[i], out.truncated[i] = s["terminated"] != 0, s["truncated"] != 0
        edited = change[3] != change[4]
        cell = flat_index(int(change[0]), int(change[1]), int(change[2]))
        if out.pose.shape[0] > 0:
            for k in range(5):
                out.pose[i, k] = seen[k]
            if out.eye_offset != 0.0:
                out.pose[i, 1] = eye[1] + out.eye_offset
            if out.pitch_down:
                out.pose[i, 3] = 0.0 - eye[4]
        if out.event.shape[0] > 0:
            out.event[i] = s["event"]
            out.counts[i, 0], out.counts[i, 1], out.counts[i, 2] = s["best"], s["target_blocks"], s["blocks"]
        if edited and out.grid.shape[0] > 0:
            out.grid[i, cell] = out.ids[change[4]]
        if out.eye.shape[0] > 0:
            if edited:
                out.scene[i, cell] = change[4]
            moved = edited
            for k in range(5):
                moved |= out.eye[i, k] != eye[k]
                out.eye[i, k] = eye[k]
            out.stale[i] |= moved


@jit
def show_grids(state, chosen, out, first, last):
    """Write all cells of the worlds chosen[first..last-1], as after a reset."""
    for j in range(first, last):
        i = chosen[j]
        grid, target = state[i]["grid"].reshape(CELLS), state[i]["target"].reshape(CELLS)
        if out.grid.shape[0] > 0:
            for k in range(CELLS):
                out.grid[i, k] = out.ids[grid[k]]
        if out.target.shape[0] > 0:
            for k in range(CELLS):
                out.target[i, k] = out.ids[target[k]]
        if out.scene.shape[0] > 0:
            for k in range(CELLS):
                out.scene[i, k] = grid[k]
            out.stale[i] = True


@jit
def show_many(state, chosen, idle, out, first, last):
    """Write all observations of the worlds chosen[first..last-1], which are not idle."""
    show_grids(state, chosen, out, first, last)
    for j in range(first, last):
        show_steps(state, idle, out, chosen[j], chosen[j] + 1)


@jit
def begin_many(words, prepared, chosen, numbers, first, last):
    """Copy the states prepared[numbers[j]] to the worlds chosen[j]; both are records as uint64 words."""
    for j in range(first, last):
        source, goal = prepared[numbers[j]], words[chosen[j]]
        for k in range(source.size):
            goal[k] = source[k]


@jit
def step_some(state, controls, numbers, idle, first, last):
    """Step every world that is not idle with controls[numbers[i]]. Returns the number of ended episodes."""
    ended = 0
    for i in range(first, last):
        if not idle[i]:
            s = state[i]
            step_one(s, controls[numbers[i]], None)
            ended += s["terminated"] != 0 or s["truncated"] != 0
    return ended


@jit
def advance_many(state, controls, numbers, idle, out, first, last):
    """Step and observe every world that is not idle. Returns the number of ended episodes."""
    ended = 0
    for low in range(first, last, CHUNK):
        high = min(low + CHUNK, last)
        ended += step_some(state, controls, numbers, idle, low, high)
        show_steps(state, idle, out, low, high)
    return ended


@jit
def converse_some(state, controls, numbers, silent, idle, talk, first, last):
    """In every world that is not idle, let the architect speak, then the builder speak or act.

    silent: the control of a builder that speaks. Returns the number of ended episodes.
    """
    ended = 0
    for i in range(first, last):
        if idle[i]:
            continue
        s = state[i]
        speak(s)
        talk.spoken[i] = note(talk.dialog, talk.length, i, talk.marks[0], talk.architect[i])
        c = controls[numbers[i]]
        if talk.builder.shape[0] > 0:
            if note(talk.dialog, talk.length, i, talk.marks[1], talk.builder[i]) > 0:
                c = silent[1]
        step_one(s, c, None)
        ended += s["terminated"] != 0 or s["truncated"] != 0
    return ended


@jit
def converse_many(state, controls, numbers, silent, idle, talk, out, first, last):
    """Run `converse_some`, and observe the worlds."""
    ended = 0
    for low in range(first, last, CHUNK):
        high = min(low + CHUNK, last)
        ended += converse_some(state, controls, numbers, silent, idle, talk, low, high)
        show_steps(state, idle, out, low, high)
    return ended


@jit
def play_some(state, controls, silent, idle, talk, earned, first, last):
    """In every game of a team that is not idle, let the architects speak, then the builders act in order.

    earned: float64 [n, builders], the rewards of their acts; nan of those that did not act, as the game was over.
    Returns the number of ended episodes.
    """
    ended, builders, architects = 0, earned.shape[1], talk.spoken.shape[1]
    for i in range(first, last):
        if idle[i]:
            continue
        team = state[i * builders : (i + 1) * builders]
        for k in range(architects):
            talk.spoken[i, k] = note_to_team(talk, k, i)
        for k in range(builders):
            earned[i, k] = np.nan
            if team[k]["shaping_scale"] != 0.0:
                team[k]["shaping"] = 0.0
            if architects > 0:
                speak(team[k])
        over, out_of_budget = False, True
        for k in range(builders):
            c = controls[i * builders + k]
            if talk.said.shape[0] > architects and note_to_team(talk, architects + k, i) > 0:
                c = silent[1]
            step_one(team[k], c, team)
            share_change(team, k)
            earned[i, k] = team[k]["reward"]
            out_of_budget = out_of_budget and team[k]["truncated"] != 0
            if team[k]["terminated"] != 0:
                over = True
                break
        if architects == 0 and not np.isnan(earned[i, builders - 1]):  # the next turn starts at once
            for k in range(builders):
                speak(team[k])
        ended += over or out_of_budget
    return ended


@jit
def show_edits(state, idle, earned, out, first, last):
    """Write the edits of each builder of a team into the observations of all, in order."""
    builders = earned.shape[1]
    for i in range(first, last):
        if idle[i]:
            continue
        for k in range(builders):
            change = state[i * builders + k]["change"]
            if np.isnan(earned[i, k]) or change[3] == change[4]:
                continue
            cell = flat_index(int(change[0]), int(change[1]), int(change[2]))
            for row in range(i * builders, (i + 1) * builders):
                if out.grid.shape[0] > 0:
                    out.grid[row, cell] = out.ids[change[4]]
                if out.scene.shape[0] > 0:
                    out.scene[row, cell] = change[4]
                    out.stale[row] = True


@jit
def play_many(state, controls, silent, idle, idle_rows, talk, earned, out, first, last):
    """Run `play_some`, and observe the worlds. idle_rows: `idle` by builder."""
    ended, builders = 0, earned.shape[1]
    for low in range(first, last, CHUNK):
        high = min(low + CHUNK, last)
        ended += play_some(state, controls, silent, idle, talk, earned, low, high)
        show_steps(state, idle_rows, out, low * builders, high * builders)
        show_edits(state, idle, earned, out, low, high)
    return ended
