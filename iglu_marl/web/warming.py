"""What a process does first in which games tick, or agents of such games think."""

from __future__ import annotations

import gc
import sys

from iglu_marl.agents.registry import partner_for
from iglu_marl.core.dialogue import Role
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.task import Task
from iglu_marl.envs.live import LiveGame
from iglu_marl.web.inputs import RemoteHands

SWITCH_S = 0.0005  # for which a thread that computes may hold up the others
GC_THRESHOLDS = 5000, 20, 100  # looking over everything takes 50 ms, in which nothing ticks


def warm_up(agents: bool = True) -> None:
    """Compile what a game needs, which takes half a minute when it has never been done, and a second else.

    And have the process run evenly from here on: threads that compute give way soon, and what is there now is not
    looked over by the garbage collector again and again.
    """
    task = Task("", blocks_to_grid([(0, -1, -2, 6)]))
    for controls in ("human-level", "walking"):
        game = LiveGame(tasks=task, controls=controls, builder_sees=("inventory", "dialog", "pose", "grid"))
        game.reset(seed=0)
        hands = RemoteHands(controls)
        game.tick({Role.ARCHITECT: "Place a red block two north of the middle."}, hands.action(0.0, 0.0))
        for role in Role:
            game.delta(role, -1)
            if agents:
                agent = partner_for(game, role, "scripted")
                agent.reset(role, 0)
                agent.act(game.observe(f"{role.value}_0"))
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
