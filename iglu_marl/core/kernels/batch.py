"""Many worlds at once: stepped, spoken to, begun and shown.

Every kernel here takes the range of worlds first..last-1, so that threads can share a batch. Worlds do not touch each
other, so results depend on neither the number of worlds nor that of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import CELLS, flat_index
from iglu_marl.core.kernels.clock import speak
from iglu_marl.core.kernels.records import ARCHITECT
from iglu_marl.core.kernels.step import step_one
from iglu_marl.core.kernels.talk import note

Array = npt.NDArray[Any]

# Worlds are shown some at a time: handing the arrays of `Shown` to a function costs as much as a step does.
SHOWN_AT_ONCE = 32


class Shown(NamedTuple):
    """Where a batch is shown: arrays with a row for each world, kept up to date from step to step.

    Arrays without rows are left alone.
    """

    pose: Array  # float32 [n, 5]: x, y, z, pitch, yaw
    inventory: Array  # float32 [n, 6]
    compass: Array  # float32 [n]
    grid: Array  # int8 or int32 [n, 1089], as `ids` says
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
    lift: float  # what the height in `pose` has more than the eye's
    pitch_down: bool  # whether the pitch in `pose` counts downwards


@jit
def show_steps(state, idle, out, first, last):
    """What a step changes, of every world that is not idle: senses, reward, ends, the edited cell, the eye."""
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
            if out.lift != 0.0:
                out.pose[i, 1] = eye[1] + out.lift
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
    """All cells of the worlds chosen[first..last-1], as after a reset."""
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
    """Everything of the worlds chosen[first..last-1], which are not idle."""
    show_grids(state, chosen, out, first, last)
    for j in range(first, last):
        show_steps(state, idle, out, chosen[j], chosen[j] + 1)


@jit
def begin_many(words, prepared, chosen, numbers, first, last):
    """Put the prepared states prepared[numbers[j]] into the worlds chosen[j]; both are records as uint64 words."""
    for j in range(first, last):
        source, goal = prepared[numbers[j]], words[chosen[j]]
        for k in range(source.size):
            goal[k] = source[k]


@jit
def step_some(state, controls, numbers, idle, first, last):
    """`step_one` with control controls[numbers[i]] for every world that is not idle. Returns how many then ended."""
    ended = 0
    for i in range(first, last):
        if not idle[i]:
            s = state[i]
            step_one(s, controls[numbers[i]])
            ended += s["terminated"] != 0 or s["truncated"] != 0
    return ended


@jit
def advance_many(state, controls, numbers, idle, out, first, last):
    """Step and show every world that is not idle. Returns how many then ended."""
    ended = 0
    for low in range(first, last, SHOWN_AT_ONCE):
        high = min(low + SHOWN_AT_ONCE, last)
        ended += step_some(state, controls, numbers, idle, low, high)
        show_steps(state, idle, out, low, high)
    return ended


@jit
def converse_some(state, controls, numbers, silent, idle, talk, first, last):
    """In every world that is not idle the architect speaks, then the builder speaks or acts; or one of them by turns.

    silent: the control of a builder who speaks. Returns how many worlds then ended.
    """
    ended = 0
    for i in range(first, last):
        if idle[i]:
            continue
        s = state[i]
        if s["floor"] == ARCHITECT or not talk.in_turns:
            speak(s)
            talk.spoken[i] = note(talk.dialog, talk.length, i, talk.marks[0], talk.architect[i])
            if talk.in_turns:
                s["reward"] = 0.0
                continue
        else:
            talk.spoken[i] = 0
        c = controls[numbers[i]]
        if talk.builder.shape[0] > 0:
            if note(talk.dialog, talk.length, i, talk.marks[1], talk.builder[i]) > 0:
                c = silent[1]
        step_one(s, c)
        ended += s["terminated"] != 0 or s["truncated"] != 0
    return ended


@jit
def converse_many(state, controls, numbers, silent, idle, talk, out, first, last):
    """`converse_some`, and show the worlds."""
    ended = 0
    for low in range(first, last, SHOWN_AT_ONCE):
        high = min(low + SHOWN_AT_ONCE, last)
        ended += converse_some(state, controls, numbers, silent, idle, talk, low, high)
        show_steps(state, idle, out, low, high)
    return ended
