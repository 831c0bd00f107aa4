"""Which controls have an effect: every control is tried in a copy of the world.

A step changes few fields of a record unless it edits a block, so only these are restored and compared.
"""

from __future__ import annotations

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.motion import turn_camera, wrap_yaw
from iglu_marl.core.kernels.records import WORLD
from iglu_marl.core.kernels.step import step_one

_OFFSETS = {name: WORLD.fields[name][1] for name in WORLD.names}  # type: ignore[index,union-attr]
# In words of 8 bytes: what lies before the table of matches, and between this table and the grid.
HEAD = -(-_OFFSETS["matches"] // 8)
SMALL, GRID = _OFFSETS["shifts"] // 8, -(-_OFFSETS["grid"] // 8)


@jit
def clear_reports(s):
    """Clear what a step reports and no later step reads."""
    s["reward"] = 0.0
    s["event"] = 0
    s["hit"][:] = 0
    s["before"][:] = 0


@jit
def load(words, trial, s):
    """Copy a world, without the shaping of its reward: what is to be built does not matter."""
    for k in range(words.size):
        trial[k] = words[k]
    s["shaping_scale"] = 0.0


@jit
def restore(words, trial):
    """Copy the fields that a step without an edit changes."""
    for k in range(HEAD):
        trial[k] = words[k]
    for k in range(SMALL, GRID):
        trial[k] = words[k]


@jit
def differ(trial, idle):
    """Return whether two records differ in the fields that `restore` copies."""
    for k in range(HEAD):
        if trial[k] != idle[k]:
            return True
    for k in range(SMALL, GRID):  # noqa: SIM110  # compiled
        if trial[k] != idle[k]:
            return True
    return False


@jit
def turns(c, words, trial, s, idle):
    """Return whether a control turns the camera. idle: the record after doing nothing."""
    if c["camera"][0] == 0.0 and c["camera"][1] == 0.0:
        return False
    restore(words, trial)
    turn_camera(s, c["camera"][0], c["camera"][1])
    wrap_yaw(s)
    return s["pose"][3] != idle["pose"][3] or s["pose"][4] != idle["pose"][4]


@jit
def try_controls(words, team, controls, noop, trials, trial_words, found):
    """Write whether each control has an effect in one world into found, int8 [controls].

    words: the world as uint64 words. team: as of `step_one`. trials: WORLD[2], overwritten; trial_words: the same as
    words, uint64 [2, n].
    """
    s, idle = trials[0], trials[1]
    load(words, trial_words[0], s)
    load(words, trial_words[1], idle)
    step_one(idle, noop[0], team)
    clear_reports(idle)
    for j in range(controls.shape[0]):
        c = controls[j]
        if c["hotbar"] > 0 and c["hotbar"] != idle["active"]:
            found[j] = 1
            continue
        if turns(c, words, trial_words[0], s, idle):
            found[j] = 1
            continue
        restore(words, trial_words[0])
        step_one(s, c, team)
        change = s["change"]
        if change[3] != change[4]:
            found[j] = 1
            load(words, trial_words[0], s)
            continue
        clear_reports(s)
        found[j] = differ(trial_words[0], trial_words[1])


@jit
def effects_many(words, controls, noop, trials, trial_words, found):
    """Run `try_controls` for every world of a lone builder.

    words: uint64 [worlds, n]; found: int8 [worlds, controls].
    """
    for i in range(found.shape[0]):
        try_controls(words[i], None, controls, noop, trials, trial_words, found[i])


@jit
def effects_of_members(state, words, builder, members, controls, noop, trials, trial_words, found):
    """Run `try_controls` for one builder of every team, with rows for each builder of `members`."""
    for i in range(found.shape[0]):
        team = state[i * members : (i + 1) * members]
        row = i * members + builder
        try_controls(words[row], team, controls, noop, trials, trial_words, found[i])
