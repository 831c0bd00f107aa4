"""Warm-up of a process in which games tick and agents think."""

from __future__ import annotations

import gc
import sys

from iglu_marl.agents.registry import partner_for
from iglu_marl.core.dialogue import Role
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.task import Task
from iglu_marl.envs.live import LiveGame
from iglu_marl.envs.vector import GridworldVectorEnv
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.web.inputs import RemoteHands

SWITCH_S = 0.0005  # for which a busy thread may delay the others
GC_THRESHOLDS = 5000, 20, 100  # a full collection takes 50 ms, in which nothing ticks


def warm_up() -> None:
    """Compile what a live game needs (half a minute the first time), and tune the process for even ticks.

    Busy threads give way sooner, and the garbage collector skips all present objects.
    """
    task = Task("", blocks_to_grid([(0, -1, -2, 6)]))
    for controls in ("human-level", "walking"):
        game = LiveGame(tasks=task, controls=controls, builder_sees=("inventory", "dialog", "pose", "grid"))
        game.reset(seed=0)
        hands = RemoteHands(controls)
        game.tick({Role.ARCHITECT: "Place a red block two north of the middle."}, hands.action(0.0, 0.0))
        for role in Role:
            game.delta(role, -1)
            agent = partner_for(game, role, "scripted")
            agent.reset(role, 0)
            agent.act(game.observe(f"{role.value}_0"))
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


if __name__ == "__main__":  # `make setup`: nobody waits for compilation later
    warm_up()
    many = GridworldVectorEnv(2)
    many.reset(seed=0)
    many.step(many.action_space.sample())
    games = VectorGame(2)
    games.reset(seed=0)
    games.step({name: games.batched_action_space(name).sample() for name in games.possible_agents})
