"""One step of one world: the list of its rules."""

from __future__ import annotations

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.clock import speak, tick
from iglu_marl.core.kernels.hands import rewrite, share_change, use_hands
from iglu_marl.core.kernels.motion import jump, move, turn_camera, wrap_yaw
from iglu_marl.core.kernels.records import FLYING, PLACED, REMOVED, WALKING
from iglu_marl.core.kernels.score import complete, pay
from iglu_marl.core.kernels.wrong_cells import shape, shape_before


@jit
def sense(s):
    """Write the observed part of the state, in float32."""
    pose, seen = s["pose"], s["seen_pose"]
    seen[0], seen[1], seen[2], seen[3], seen[4] = pose[0], pose[1], pose[2], pose[4], pose[3]
    held, seen_held = s["inventory"], s["seen_inventory"]
    for i in range(6):
        seen_held[i] = max(0, int(held[i]))
    s["seen_compass"][0] = pose[3] - 360.0 if pose[3] > 180.0 else pose[3]


@jit
def step_one(s, c, team):
    """Run a builder step: colour, jump, camera, hands, motion, yaw; then completion, reward, clocks and shaping.

    team: the worlds of all builders in this one, which has s; None for a lone builder.
    """
    best_before, blocks_before = int(s["best"]), int(s["blocks"])
    given = s["edits"] > 0 and complete(s)  # completed from outside
    shape_before(s)
    if c["hotbar"] > 0:
        s["active"] = c["hotbar"]
    if c["mode"] == WALKING or c["mode"] == FLYING:
        jump(s, c["move"][2], c["mode"] == FLYING)
    turn_camera(s, c["camera"][0], c["camera"][1])
    use_hands(s, c, team)
    move(s, c)
    wrap_yaw(s)
    s["terminated"] = complete(s)
    pay(s, best_before, blocks_before, given)
    tick(s, c["yields"])
    shape(s)
    sense(s)


@jit
def step_at(state, i, controls, j):
    """Run `step_one` for world i with control j, as single environments do."""
    step_one(state[i], controls[j], None)


@jit
def step_until_change(state, i, controls, chosen):
    """Run `step_at` with some of the controls, up to the first that places or removes a block; return their number."""
    for n in range(chosen.shape[0]):
        step_one(state[i], controls[chosen[n]], None)
        if state[i]["event"] == PLACED or state[i]["event"] == REMOVED:
            return n + 1
    return chosen.shape[0]


@jit
def step_many(state, controls):
    """Run `step_one` for every world."""
    for i in range(state.shape[0]):
        step_one(state[i], controls[i], None)


@jit
def step_member_at(team, i, controls, j):
    """Run `step_one` for member i of a team with control j. The other members meet what it changed."""
    step_one(team[i], controls[j], team)
    share_change(team, i)


@jit
def speak_at(state, i):
    """Run `speak` for world i."""
    speak(state[i])


@jit
def sense_at(state, i):
    """Run `sense` for world i, after its pose was set from outside."""
    state[i]["has_potential"] = 0
    sense(state[i])


@jit
def rewrite_at(team, i, blocks):
    """Run `rewrite` for a team, or for one world, and sense what changed."""
    rewrite(team, i, blocks)
    for k in range(team.shape[0]):
        sense(team[k])
